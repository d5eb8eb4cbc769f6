# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""The operators of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from broadloom._operators import Operators, equality, forward, in_place, reflected
from broadloom._options import apply

if TYPE_CHECKING:
    from broadloom._array import Array


class ArrayOperators(Operators):
    """The operators of arrays, each one call of a function of the engine."""

    __slots__ = ()

    def __abs__(self, /) -> Array:
        return self._made(apply("abs", self._operand()))

    def __neg__(self, /) -> Array:
        return self._made(apply("negative", self._operand()))

    def __pos__(self, /) -> Array:
        return self._made(apply("positive", self._operand()))

    def __invert__(self, /) -> Array:
        return self._made(apply("bitwise_invert", self._operand()))

    def __add__(self, other: object, /) -> Array:
        return forward("add", self, other)

    def __radd__(self, other: object, /) -> Array:
        return reflected("add", self, other)

    def __iadd__(self, other: object, /) -> Self:
        return in_place("add", self, other)

    def __sub__(self, other: object, /) -> Array:
        return forward("subtract", self, other)

    def __rsub__(self, other: object, /) -> Array:
        return reflected("subtract", self, other)

    def __isub__(self, other: object, /) -> Self:
        return in_place("subtract", self, other)

    def __mul__(self, other: object, /) -> Array:
        return forward("multiply", self, other)

    def __rmul__(self, other: object, /) -> Array:
        return reflected("multiply", self, other)

    def __imul__(self, other: object, /) -> Self:
        return in_place("multiply", self, other)

    def __truediv__(self, other: object, /) -> Array:
        return forward("divide", self, other)

    def __rtruediv__(self, other: object, /) -> Array:
        return reflected("divide", self, other)

    def __itruediv__(self, other: object, /) -> Self:
        return in_place("divide", self, other)

    def __floordiv__(self, other: object, /) -> Array:
        return forward("floor_divide", self, other)

    def __rfloordiv__(self, other: object, /) -> Array:
        return reflected("floor_divide", self, other)

    def __ifloordiv__(self, other: object, /) -> Self:
        return in_place("floor_divide", self, other)

    def __mod__(self, other: object, /) -> Array:
        return forward("remainder", self, other)

    def __rmod__(self, other: object, /) -> Array:
        return reflected("remainder", self, other)

    def __imod__(self, other: object, /) -> Self:
        return in_place("remainder", self, other)

    def __pow__(self, other: object, /) -> Array:
        return forward("pow", self, other)

    def __rpow__(self, other: object, /) -> Array:
        return reflected("pow", self, other)

    def __ipow__(self, other: object, /) -> Self:
        return in_place("pow", self, other)

    def __and__(self, other: object, /) -> Array:
        return forward("bitwise_and", self, other)

    def __rand__(self, other: object, /) -> Array:
        return reflected("bitwise_and", self, other)

    def __iand__(self, other: object, /) -> Self:
        return in_place("bitwise_and", self, other)

    def __or__(self, other: object, /) -> Array:
        return forward("bitwise_or", self, other)

    def __ror__(self, other: object, /) -> Array:
        return reflected("bitwise_or", self, other)

    def __ior__(self, other: object, /) -> Self:
        return in_place("bitwise_or", self, other)

    def __xor__(self, other: object, /) -> Array:
        return forward("bitwise_xor", self, other)

    def __rxor__(self, other: object, /) -> Array:
        return reflected("bitwise_xor", self, other)

    def __ixor__(self, other: object, /) -> Self:
        return in_place("bitwise_xor", self, other)

    def __lshift__(self, other: object, /) -> Array:
        return forward("bitwise_left_shift", self, other)

    def __rlshift__(self, other: object, /) -> Array:
        return reflected("bitwise_left_shift", self, other)

    def __ilshift__(self, other: object, /) -> Self:
        return in_place("bitwise_left_shift", self, other)

    def __rshift__(self, other: object, /) -> Array:
        return forward("bitwise_right_shift", self, other)

    def __rrshift__(self, other: object, /) -> Array:
        return reflected("bitwise_right_shift", self, other)

    def __irshift__(self, other: object, /) -> Self:
        return in_place("bitwise_right_shift", self, other)

    def __eq__(self, other: object, /) -> Array:  # type: ignore[override]
        return equality("equal", self, other)

    def __ne__(self, other: object, /) -> Array:  # type: ignore[override]
        return equality("not_equal", self, other)

    def __lt__(self, other: object, /) -> Array:
        return forward("less", self, other)

    def __le__(self, other: object, /) -> Array:
        return forward("less_equal", self, other)

    def __gt__(self, other: object, /) -> Array:
        return forward("greater", self, other)

    def __ge__(self, other: object, /) -> Array:
        return forward("greater_equal", self, other)
