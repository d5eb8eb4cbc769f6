# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""Reductions, and cumulative functions along an axis. `axis` is an axis, a tuple of axes, or None for all axes;
negative axes count from the end. With `keepdims`, reduced axes are kept with extent 1. Sums and products of floats are
computed in a fixed order, regardless of the layout and the number of threads. All functions raise ValueError for an
axis that does not exist or is listed twice, and TypeError for an unsupported dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadloom._array import Array
from broadloom._operators import Number
from broadloom._reductions import accumulated, added, moment, reduced
from broadloom._signatures import NO_VALUE, take_numpys_arguments

if TYPE_CHECKING:
    from numpy._globals import _NoValueType as NoValue
    from numpy.typing import DTypeLike

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "std",
    "sum",
    "var",
]


def sum(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The sum. Integers are added as int64 or uint64, and wrap; floats in their own dtype. The sum of nothing is 0.
    Bools are counted, as int64. `dtype` is the dtype in which elements are added. Takes numbers, gives int64 or uint64
    for integers and their dtype for floats.

    >>> bl.sum(bl.asarray([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int64)
    """
    return added("sum", x, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


def prod(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The product, with the dtypes of the sum. The product of nothing is 1. Takes numbers, gives int64 or uint64 for
    integers and their dtype for floats.

    >>> bl.prod(bl.asarray([1, 2, 3, 4]))
    Array(24, dtype=int64)
    """
    return added("prod", x, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


def max(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The maximum, NaN if an element is NaN; −0 is less than +0. ValueError for a maximum of nothing. Takes numbers,
    gives their dtype.

    >>> bl.max(bl.asarray([[1, 5], [3, 4]]), axis=1)
    Array([5, 4], dtype=int64)
    """
    return reduced("max", x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def min(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The minimum, NaN if an element is NaN; −0 is less than +0. ValueError for a minimum of nothing. Takes numbers,
    gives their dtype.

    >>> bl.min(bl.asarray([[1, 5], [3, 4]]), axis=0, keepdims=True)
    Array([[1, 4]], dtype=int64)
    """
    return reduced("min", x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def any(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """Whether any element is true or not 0. NaN is not 0. `out` is as in `numpy.any`. Takes all dtypes, gives bool.

    >>> bl.any(bl.asarray([[0, 0], [0, 2]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return reduced("any", x, axis, out=out, keepdims=keepdims, where=where)


def all(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """Whether all elements are true or not 0. NaN is not 0. `out` is as in `numpy.all`. Takes all dtypes, gives bool.

    >>> bool(bl.all(bl.asarray([1.0, 2.0]) > 0))
    True
    """
    return reduced("all", x, axis, out=out, keepdims=keepdims, where=where)


def mean(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The sum, divided by the number of elements. NaN of nothing. Of integers and bools float64. Takes floats, gives
    their dtype.

    >>> bl.mean(bl.asarray([1.0, 2.0, 6.0]))
    Array(3., dtype=float64)
    """
    return moment("mean", x, axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


def var(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    mean: Array | np.ndarray | NoValue = NO_VALUE,
    correction: float = 0.0,
) -> Array:
    """The sum of the squared differences from the mean, divided by n - correction. NaN where n - correction is not
    positive. `ddof` is NumPy's name of `correction`. Dtypes are those of `mean`. Takes floats, gives their dtype.

    >>> bl.var(bl.asarray([1.0, 2.0, 3.0]), correction=1)
    Array(1., dtype=float64)
    """
    return moment(
        "var",
        x,
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
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    mean: Array | np.ndarray | NoValue = NO_VALUE,
    correction: float = 0.0,
) -> Array:
    """The square root of the variance. `ddof` is NumPy's name of `correction`. Dtypes are those of `mean`. Takes
    floats, gives their dtype.

    >>> bl.std(bl.asarray([[0.0, 4.0], [3.0, 3.0]]), axis=1)
    Array([2., 0.], dtype=float64)
    """
    return moment(
        "std",
        x,
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
    x: Array, /, axis: int | None = None, out: Array | np.ndarray | None = None, *, keepdims: bool = False
) -> Array:
    """The index of the maximum: the first of equals, the first NaN before all numbers. Without an axis, the index is
    that in row-major order. ValueError for a maximum of nothing. Takes numbers, gives int64.

    >>> bl.argmax(bl.asarray([[1, 5], [3, 4]]), axis=1)
    Array([1, 1], dtype=int64)
    """
    return reduced("argmax", x, axis, out=out, keepdims=keepdims)


def argmin(
    x: Array, /, axis: int | None = None, out: Array | np.ndarray | None = None, *, keepdims: bool = False
) -> Array:
    """The index of the minimum: the first of equals, the first NaN before all numbers. Without an axis, the index is
    that in row-major order. ValueError for a minimum of nothing. Takes numbers, gives int64.

    >>> bl.argmin(bl.asarray([3.0, 1.0, 1.0]))
    Array(1, dtype=int64)
    """
    return reduced("argmin", x, axis, out=out, keepdims=keepdims)


def count_nonzero(x: Array, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Array:
    """How many elements are true or not 0; NaNs are counted. Takes all dtypes, gives int64.

    >>> bl.count_nonzero(bl.asarray([[0, 7], [8, 9]]), axis=0)
    Array([1, 2], dtype=int64)
    """
    return reduced("count_nonzero", x, axis, keepdims=keepdims)


def nansum(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The sum of the elements that are not NaN. Takes numbers, gives int64 or uint64 for integers and their dtype for
    floats. Not in the standard.

    >>> bl.nansum(bl.asarray([1.0, bl.nan, 2.0]))
    Array(3., dtype=float64)
    """
    return added("nansum", x, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The product of the elements that are not NaN. Takes numbers, gives int64 or uint64 for integers and their dtype
    for floats. Not in the standard.

    >>> bl.nanprod(bl.asarray([3.0, bl.nan, 2.0]))
    Array(6., dtype=float64)
    """
    return added("nanprod", x, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


def nanmax(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The maximum of the elements that are not NaN; NaN if there are none. Takes numbers, gives their dtype. Not in the
    standard.

    >>> bl.nanmax(bl.asarray([1.0, bl.nan, 2.0]))
    Array(2., dtype=float64)
    """
    return reduced("nanmax", x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def nanmin(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    initial: Number | NoValue | None = NO_VALUE,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The minimum of the elements that are not NaN; NaN if there are none. Takes numbers, gives their dtype. Not in the
    standard.

    >>> bl.nanmin(bl.asarray([1.0, bl.nan, 2.0]))
    Array(1., dtype=float64)
    """
    return reduced("nanmin", x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def nanmean(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
) -> Array:
    """The mean of the elements that are not NaN; NaN if there are none. Elements are converted to `dtype` first. Takes
    floats, gives their dtype. Not in the standard.

    >>> bl.nanmean(bl.asarray([1.0, bl.nan, 2.0]))
    Array(1.5, dtype=float64)
    """
    return moment("nanmean", x, axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


def nanvar(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    mean: Array | np.ndarray | NoValue = NO_VALUE,
    correction: float = 0.0,
) -> Array:
    """The variance of the elements that are not NaN. Elements are converted to `dtype` first. `ddof` is NumPy's name of
    `correction`. Takes floats, gives their dtype. Not in the standard.

    >>> bl.nanvar(bl.asarray([1.0, bl.nan, 3.0]))
    Array(1., dtype=float64)
    """
    return moment(
        "nanvar",
        x,
        axis,
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=where,
        mean=mean,
        correction=correction,
    )


def nanstd(
    x: Array,
    /,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Array | np.ndarray | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Array | np.ndarray | bool | NoValue = NO_VALUE,
    mean: Array | np.ndarray | NoValue = NO_VALUE,
    correction: float = 0.0,
) -> Array:
    """The standard deviation of the elements that are not NaN. Elements are converted to `dtype` first. `ddof` is
    NumPy's name of `correction`. Takes floats, gives their dtype. Not in the standard.

    >>> bl.nanstd(bl.asarray([1.0, bl.nan, 5.0]))
    Array(2., dtype=float64)
    """
    return moment(
        "nanstd",
        x,
        axis,
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=where,
        mean=mean,
        correction=correction,
    )


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Each element added to those before it; after 0, if the initial element is included. Only an array of one axis may
    leave out the axis. Dtypes are those of `sum`. Takes numbers, gives int64 or uint64 for integers and their dtype for
    floats.

    >>> bl.cumulative_sum(bl.asarray([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int64)
    """
    return accumulated("cumulative_sum", x, axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Each element multiplied by those before it; after 1, if the initial element is included. Only an array of one
    axis may leave out the axis. Dtypes are those of `sum`. Takes numbers, gives int64 or uint64 for integers and their
    dtype for floats.

    >>> bl.cumulative_prod(bl.asarray([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int64)
    """
    return accumulated("cumulative_prod", x, axis, dtype=dtype, include_initial=include_initial)


take_numpys_arguments(globals(), __all__)
