# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""The operators of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from broadloom._operators import Operators, equality, forward, in_place, reflected
from broadloom._options import apply
from broadloom._tracebacks import shorten

if TYPE_CHECKING:
    from broadloom._array import Array


class ArrayOperators(Operators):
    """The operators of arrays, each one call of a function of the engine."""

    __slots__ = ()

    def __abs__(self, /) -> Array:
        try:
            return self._made(apply("abs", self._operand()))
        except Exception as error:
            shorten(error)
            raise

    def __neg__(self, /) -> Array:
        try:
            return self._made(apply("negative", self._operand()))
        except Exception as error:
            shorten(error)
            raise

    def __pos__(self, /) -> Array:
        try:
            return self._made(apply("positive", self._operand()))
        except Exception as error:
            shorten(error)
            raise

    def __invert__(self, /) -> Array:
        try:
            return self._made(apply("bitwise_invert", self._operand()))
        except Exception as error:
            shorten(error)
            raise

    def __add__(self, other: object, /) -> Array:
        try:
            return forward("add", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __radd__(self, other: object, /) -> Array:
        try:
            return reflected("add", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __iadd__(self, other: object, /) -> Self:
        try:
            return in_place("add", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __sub__(self, other: object, /) -> Array:
        try:
            return forward("subtract", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rsub__(self, other: object, /) -> Array:
        try:
            return reflected("subtract", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __isub__(self, other: object, /) -> Self:
        try:
            return in_place("subtract", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __mul__(self, other: object, /) -> Array:
        try:
            return forward("multiply", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rmul__(self, other: object, /) -> Array:
        try:
            return reflected("multiply", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __imul__(self, other: object, /) -> Self:
        try:
            return in_place("multiply", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __truediv__(self, other: object, /) -> Array:
        try:
            return forward("divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rtruediv__(self, other: object, /) -> Array:
        try:
            return reflected("divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __itruediv__(self, other: object, /) -> Self:
        try:
            return in_place("divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __floordiv__(self, other: object, /) -> Array:
        try:
            return forward("floor_divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rfloordiv__(self, other: object, /) -> Array:
        try:
            return reflected("floor_divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ifloordiv__(self, other: object, /) -> Self:
        try:
            return in_place("floor_divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __mod__(self, other: object, /) -> Array:
        try:
            return forward("remainder", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rmod__(self, other: object, /) -> Array:
        try:
            return reflected("remainder", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __imod__(self, other: object, /) -> Self:
        try:
            return in_place("remainder", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __pow__(self, other: object, /) -> Array:
        try:
            return forward("pow", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rpow__(self, other: object, /) -> Array:
        try:
            return reflected("pow", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ipow__(self, other: object, /) -> Self:
        try:
            return in_place("pow", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __and__(self, other: object, /) -> Array:
        try:
            return forward("bitwise_and", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rand__(self, other: object, /) -> Array:
        try:
            return reflected("bitwise_and", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __iand__(self, other: object, /) -> Self:
        try:
            return in_place("bitwise_and", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __or__(self, other: object, /) -> Array:
        try:
            return forward("bitwise_or", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ror__(self, other: object, /) -> Array:
        try:
            return reflected("bitwise_or", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ior__(self, other: object, /) -> Self:
        try:
            return in_place("bitwise_or", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __xor__(self, other: object, /) -> Array:
        try:
            return forward("bitwise_xor", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rxor__(self, other: object, /) -> Array:
        try:
            return reflected("bitwise_xor", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ixor__(self, other: object, /) -> Self:
        try:
            return in_place("bitwise_xor", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __lshift__(self, other: object, /) -> Array:
        try:
            return forward("bitwise_left_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rlshift__(self, other: object, /) -> Array:
        try:
            return reflected("bitwise_left_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ilshift__(self, other: object, /) -> Self:
        try:
            return in_place("bitwise_left_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rshift__(self, other: object, /) -> Array:
        try:
            return forward("bitwise_right_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rrshift__(self, other: object, /) -> Array:
        try:
            return reflected("bitwise_right_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __irshift__(self, other: object, /) -> Self:
        try:
            return in_place("bitwise_right_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __eq__(self, other: object, /) -> Array:  # type: ignore[override]
        try:
            return equality("equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ne__(self, other: object, /) -> Array:  # type: ignore[override]
        try:
            return equality("not_equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __lt__(self, other: object, /) -> Array:
        try:
            return forward("less", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __le__(self, other: object, /) -> Array:
        try:
            return forward("less_equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __gt__(self, other: object, /) -> Array:
        try:
            return forward("greater", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ge__(self, other: object, /) -> Array:
        try:
            return forward("greater_equal", self, other)
        except Exception as error:
            shorten(error)
            raise
