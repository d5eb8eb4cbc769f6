# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""The operators of expressions for numexpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broadloom.numexpr._nodes import ExpressionNode


class NodeOperators:
    """The operators that build nodes."""

    __slots__ = ()

    _operated: Callable[..., ExpressionNode]

    def __neg__(self, /) -> ExpressionNode:
        return self._operated("neg", self)

    def __invert__(self, /) -> ExpressionNode:
        return self._operated("invert", self)

    def __add__(self, other: object, /) -> ExpressionNode:
        return self._operated("add", self, other)

    def __radd__(self, other: object, /) -> ExpressionNode:
        return self._operated("add", other, self)

    def __sub__(self, other: object, /) -> ExpressionNode:
        return self._operated("sub", self, other)

    def __rsub__(self, other: object, /) -> ExpressionNode:
        return self._operated("sub", other, self)

    def __mul__(self, other: object, /) -> ExpressionNode:
        return self._operated("mul", self, other)

    def __rmul__(self, other: object, /) -> ExpressionNode:
        return self._operated("mul", other, self)

    def __truediv__(self, other: object, /) -> ExpressionNode:
        return self._operated("truediv", self, other)

    def __rtruediv__(self, other: object, /) -> ExpressionNode:
        return self._operated("truediv", other, self)

    def __floordiv__(self, other: object, /) -> ExpressionNode:
        return self._operated("floordiv", self, other)

    def __rfloordiv__(self, other: object, /) -> ExpressionNode:
        return self._operated("floordiv", other, self)

    def __mod__(self, other: object, /) -> ExpressionNode:
        return self._operated("mod", self, other)

    def __rmod__(self, other: object, /) -> ExpressionNode:
        return self._operated("mod", other, self)

    def __pow__(self, other: object, /) -> ExpressionNode:
        return self._operated("pow", self, other)

    def __rpow__(self, other: object, /) -> ExpressionNode:
        return self._operated("pow", other, self)

    def __and__(self, other: object, /) -> ExpressionNode:
        return self._operated("and", self, other)

    def __rand__(self, other: object, /) -> ExpressionNode:
        return self._operated("and", other, self)

    def __or__(self, other: object, /) -> ExpressionNode:
        return self._operated("or", self, other)

    def __ror__(self, other: object, /) -> ExpressionNode:
        return self._operated("or", other, self)

    def __xor__(self, other: object, /) -> ExpressionNode:
        return self._operated("xor", self, other)

    def __rxor__(self, other: object, /) -> ExpressionNode:
        return self._operated("xor", other, self)

    def __lshift__(self, other: object, /) -> ExpressionNode:
        return self._operated("lshift", self, other)

    def __rlshift__(self, other: object, /) -> ExpressionNode:
        return self._operated("lshift", other, self)

    def __rshift__(self, other: object, /) -> ExpressionNode:
        return self._operated("rshift", self, other)

    def __rrshift__(self, other: object, /) -> ExpressionNode:
        return self._operated("rshift", other, self)

    def __eq__(self, other: object, /) -> ExpressionNode:  # type: ignore[override]
        return self._operated("eq", self, other)

    def __ne__(self, other: object, /) -> ExpressionNode:  # type: ignore[override]
        return self._operated("ne", self, other)

    def __lt__(self, other: object, /) -> ExpressionNode:
        return self._operated("lt", self, other)

    def __le__(self, other: object, /) -> ExpressionNode:
        return self._operated("le", self, other)

    def __gt__(self, other: object, /) -> ExpressionNode:
        return self._operated("gt", self, other)

    def __ge__(self, other: object, /) -> ExpressionNode:
        return self._operated("ge", self, other)
