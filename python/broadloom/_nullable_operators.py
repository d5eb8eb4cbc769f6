"""The operators of arrays with nulls, each of which is a line over a function of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom._operators import OverArrays

if TYPE_CHECKING:
    from broadloom._nullable_array import NullableArray


class NullableOperators(OverArrays):
    """The operators of `NullableArray`. `_operated` decides what an operand is, and what becomes of its nulls."""

    __slots__ = ()

    def _operated(self, op: str, *operands: Any) -> NullableArray:
        """Applies a function of the op table; NotImplemented if an operand is of a class that may compute the result
        itself."""
        raise NotImplementedError

    def _paired(self, ufunc: np.ufunc, *operands: Any) -> tuple[NullableArray, NullableArray]:
        """Applies a universal function with two results; NotImplemented if an operand is of a class that may compute
        them itself."""
        raise NotImplementedError

    def __add__(self, other: Any, /) -> NullableArray:
        return self._operated("add", self, other)

    def __radd__(self, other: Any, /) -> NullableArray:
        return self._operated("add", other, self)

    def __sub__(self, other: Any, /) -> NullableArray:
        return self._operated("subtract", self, other)

    def __rsub__(self, other: Any, /) -> NullableArray:
        return self._operated("subtract", other, self)

    def __mul__(self, other: Any, /) -> NullableArray:
        return self._operated("multiply", self, other)

    def __rmul__(self, other: Any, /) -> NullableArray:
        return self._operated("multiply", other, self)

    def __truediv__(self, other: Any, /) -> NullableArray:
        return self._operated("divide", self, other)

    def __rtruediv__(self, other: Any, /) -> NullableArray:
        return self._operated("divide", other, self)

    def __floordiv__(self, other: Any, /) -> NullableArray:
        return self._operated("floor_divide", self, other)

    def __rfloordiv__(self, other: Any, /) -> NullableArray:
        return self._operated("floor_divide", other, self)

    def __mod__(self, other: Any, /) -> NullableArray:
        return self._operated("remainder", self, other)

    def __rmod__(self, other: Any, /) -> NullableArray:
        return self._operated("remainder", other, self)

    def __pow__(self, other: Any, /) -> NullableArray:
        return self._operated("pow", self, other)

    def __rpow__(self, other: Any, /) -> NullableArray:
        return self._operated("pow", other, self)

    def __divmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, self, other)

    def __rdivmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, other, self)

    def __and__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_and", self, other)

    def __rand__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_and", other, self)

    def __or__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_or", self, other)

    def __ror__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_or", other, self)

    def __xor__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_xor", self, other)

    def __rxor__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_xor", other, self)

    def __lshift__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_left_shift", self, other)

    def __rlshift__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_left_shift", other, self)

    def __rshift__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_right_shift", self, other)

    def __rrshift__(self, other: Any, /) -> NullableArray:
        return self._operated("bitwise_right_shift", other, self)

    def __eq__(self, other: Any, /) -> NullableArray:  # type: ignore[override]
        return self._operated("equal", self, other)

    def __ne__(self, other: Any, /) -> NullableArray:  # type: ignore[override]
        return self._operated("not_equal", self, other)

    def __lt__(self, other: Any, /) -> NullableArray:
        return self._operated("less", self, other)

    def __le__(self, other: Any, /) -> NullableArray:
        return self._operated("less_equal", self, other)

    def __gt__(self, other: Any, /) -> NullableArray:
        return self._operated("greater", self, other)

    def __ge__(self, other: Any, /) -> NullableArray:
        return self._operated("greater_equal", self, other)

    def __abs__(self, /) -> NullableArray:
        return self._operated("abs", self)

    def __neg__(self, /) -> NullableArray:
        return self._operated("negative", self)

    def __pos__(self, /) -> NullableArray:
        return self._operated("positive", self)

    def __invert__(self, /) -> NullableArray:
        return self._operated("bitwise_invert", self)
