# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""The methods of arrays that reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadloom._methods import NO_VALUE, of_numpy
from broadloom._tracebacks import methods_show_users_lines

if TYPE_CHECKING:
    from numpy._globals import _NoValueType as NoValue
    from numpy.typing import DTypeLike

    from broadloom._array import Array


@methods_show_users_lines
class Reductions:
    """The methods of `numpy.ndarray` that reduce or accumulate."""

    __slots__ = ()

    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        initial: bool | int | float | NoValue | None = NO_VALUE,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """The sum. Integers are added as int64 or uint64, and wrap; floats in their own dtype. Arguments and dtypes are
        those of `numpy.sum`."""
        return of_numpy(np.sum, self, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)

    def prod(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        initial: bool | int | float | NoValue | None = NO_VALUE,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """The product, with the dtypes of the sum. Arguments and dtypes are those of `numpy.prod`."""
        return of_numpy(np.prod, self, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)

    def max(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        initial: bool | int | float | NoValue | None = NO_VALUE,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """The maximum, NaN if an element is NaN; −0 is less than +0. Arguments and dtypes are those of `numpy.max`."""
        return of_numpy(np.max, self, axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def min(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        initial: bool | int | float | NoValue | None = NO_VALUE,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """The minimum, NaN if an element is NaN; −0 is less than +0. Arguments and dtypes are those of `numpy.min`."""
        return of_numpy(np.min, self, axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def any(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        *,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """Whether any element is true or not 0. Arguments and dtypes are those of `numpy.any`."""
        return of_numpy(np.any, self, axis, out=out, keepdims=keepdims, where=where)

    def all(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        *,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """Whether all elements are true or not 0. Arguments and dtypes are those of `numpy.all`."""
        return of_numpy(np.all, self, axis, out=out, keepdims=keepdims, where=where)

    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
        keepdims: bool | NoValue = NO_VALUE,
        *,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    ) -> Array:
        """The sum, divided by the number of elements. Arguments and dtypes are those of `numpy.mean`."""
        return of_numpy(np.mean, self, axis, dtype=dtype, out=out, keepdims=keepdims, where=where)

    def var(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
        ddof: float = 0,
        keepdims: bool | NoValue = NO_VALUE,
        *,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
        mean: Array | np.ndarray | NoValue = NO_VALUE,
        correction: float | NoValue = NO_VALUE,
    ) -> Array:
        """The sum of the squared differences from the mean, divided by n - correction. Arguments and dtypes are those
        of `numpy.var`."""
        return of_numpy(
            np.var,
            self,
            axis,
            dtype=dtype,
            out=out,
            ddof=ddof,
            keepdims=keepdims,
            where=where,
            mean=mean,
            correction=correction,
        )

    def std(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
        ddof: float = 0,
        keepdims: bool | NoValue = NO_VALUE,
        *,
        where: Array | np.ndarray | bool | NoValue = NO_VALUE,
        mean: Array | np.ndarray | NoValue = NO_VALUE,
        correction: float | NoValue = NO_VALUE,
    ) -> Array:
        """The square root of the variance. Arguments and dtypes are those of `numpy.std`."""
        return of_numpy(
            np.std,
            self,
            axis,
            dtype=dtype,
            out=out,
            ddof=ddof,
            keepdims=keepdims,
            where=where,
            mean=mean,
            correction=correction,
        )

    def argmax(
        self, axis: int | None = None, out: Array | np.ndarray | None = None, *, keepdims: bool | NoValue = NO_VALUE
    ) -> Array:
        """The index of the maximum: the first of equals, the first NaN before all numbers. Arguments and dtypes are
        those of `numpy.argmax`."""
        return of_numpy(np.argmax, self, axis, out=out, keepdims=keepdims)

    def argmin(
        self, axis: int | None = None, out: Array | np.ndarray | None = None, *, keepdims: bool | NoValue = NO_VALUE
    ) -> Array:
        """The index of the minimum: the first of equals, the first NaN before all numbers. Arguments and dtypes are
        those of `numpy.argmin`."""
        return of_numpy(np.argmin, self, axis, out=out, keepdims=keepdims)

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Array | np.ndarray | None = None
    ) -> Array:
        """Each element added to those before it; after 0, if the initial element is included. Arguments and dtypes are
        those of `numpy.cumsum`."""
        return of_numpy(np.cumsum, self, axis, dtype=dtype, out=out)

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Array | np.ndarray | None = None
    ) -> Array:
        """Each element multiplied by those before it; after 1, if the initial element is included. Arguments and dtypes
        are those of `numpy.cumprod`."""
        return of_numpy(np.cumprod, self, axis, dtype=dtype, out=out)
