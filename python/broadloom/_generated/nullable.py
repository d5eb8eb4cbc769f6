# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""The operators and reductions of arrays with nulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broadloom._operators import OverArrays
from broadloom._tracebacks import methods_show_users_lines, shorten

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from broadloom._nullable_array import NullableArray


@methods_show_users_lines
class NullableMethods(OverArrays):
    """Operators and reductions, each one call of a function of the engine."""

    __slots__ = ()

    _operated: Callable[..., NullableArray]
    _skipping: Callable[..., NullableArray]

    def __abs__(self, /) -> NullableArray:
        try:
            return self._operated("abs", self)
        except Exception as error:
            shorten(error)
            raise

    def __neg__(self, /) -> NullableArray:
        try:
            return self._operated("negative", self)
        except Exception as error:
            shorten(error)
            raise

    def __pos__(self, /) -> NullableArray:
        try:
            return self._operated("positive", self)
        except Exception as error:
            shorten(error)
            raise

    def __invert__(self, /) -> NullableArray:
        try:
            return self._operated("bitwise_invert", self)
        except Exception as error:
            shorten(error)
            raise

    def __add__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("add", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __radd__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("add", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __sub__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("subtract", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rsub__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("subtract", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __mul__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("multiply", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rmul__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("multiply", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __truediv__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rtruediv__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("divide", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __floordiv__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("floor_divide", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rfloordiv__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("floor_divide", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __mod__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("remainder", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rmod__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("remainder", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __pow__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("pow", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rpow__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("pow", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __and__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_and", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rand__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_and", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __or__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_or", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ror__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_or", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __xor__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_xor", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rxor__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_xor", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __lshift__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_left_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rlshift__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_left_shift", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __rshift__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_right_shift", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __rrshift__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("bitwise_right_shift", other, self)
        except Exception as error:
            shorten(error)
            raise

    def __eq__(self, other: object, /) -> NullableArray:  # type: ignore[override]
        try:
            return self._operated("equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ne__(self, other: object, /) -> NullableArray:  # type: ignore[override]
        try:
            return self._operated("not_equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __lt__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("less", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __le__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("less_equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __gt__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("greater", self, other)
        except Exception as error:
            shorten(error)
            raise

    def __ge__(self, other: object, /) -> NullableArray:
        try:
            return self._operated("greater_equal", self, other)
        except Exception as error:
            shorten(error)
            raise

    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """The sum. Integers are added as int64 or uint64, and wrap; floats in their own dtype. Nulls are skipped."""
        return self._skipping("sum", axis, dtype=dtype, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def prod(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """The product, with the dtypes of the sum. Nulls are skipped."""
        return self._skipping("prod", axis, dtype=dtype, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def max(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """The maximum, NaN if an element is NaN; −0 is less than +0. Nulls are skipped."""
        return self._skipping("max", axis, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def min(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """The minimum, NaN if an element is NaN; −0 is less than +0. Nulls are skipped."""
        return self._skipping("min", axis, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def any(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """Whether any element is true or not 0. Nulls are skipped. If nulls are not skipped, a true one decides, and
        else a null makes the result null."""
        return self._skipping("any", axis, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def all(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """Whether all elements are true or not 0. Nulls are skipped. If nulls are not skipped, a false one decides, and
        else a null makes the result null."""
        return self._skipping("all", axis, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        keepdims: bool = False,
    ) -> NullableArray:
        """The sum, divided by the number of elements. Nulls are skipped. With a dtype, the elements are converted to it
        first."""
        return self._skipping("mean", axis, dtype=dtype, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def var(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        ddof: float = 0.0,
        skip_nulls: bool = True,
        min_count: int = 0,
        keepdims: bool = False,
    ) -> NullableArray:
        """The sum of the squared differences from the mean, divided by n - correction. Nulls are skipped. Null where
        there are not more valid elements than `ddof`."""
        return self._skipping("var", axis, ddof=ddof, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)

    def std(
        self,
        axis: int | tuple[int, ...] | None = None,
        *,
        ddof: float = 0.0,
        skip_nulls: bool = True,
        min_count: int = 0,
        keepdims: bool = False,
    ) -> NullableArray:
        """The square root of the variance. Nulls are skipped."""
        return self._skipping("std", axis, ddof=ddof, skip_nulls=skip_nulls, min_count=min_count, keepdims=keepdims)
