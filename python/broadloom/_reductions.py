"""Reductions, and what is accumulated along an axis.

`axis` is an axis, several as a tuple, or None for all of them; axes count from the end if they are negative. With `keepdims`
the axes stay, with extent 1. Sums and products of floats are formed in one order, which neither a layout nor a number of
threads changes. All functions raise ValueError for an axis that there is not, or that is named twice, and TypeError for a
dtype that they do not take.
"""

from __future__ import annotations

import builtins
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._dtypes import bool as bool_
from broadloom._dtypes import dtype_of
from broadloom._joining import concat
from broadloom._operators import OverArrays, handle_of
from broadloom._signatures import take_numpys_arguments

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
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
    "vecdot",
]

Axis = int | tuple[int, ...] | None


def _axes(axis: Axis) -> list[int] | None:
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        return [index(one) for one in axis]
    return [index(axis)]


def _reduce(name: str, x: Array, axis: Axis, keepdims: bool, **options: Any) -> Array:
    if isinstance(x, OverArrays):
        made: Array = x._reduce(name, axis, keepdims, **options)
        return made
    options.setdefault("numpy_promotion", _options.by_numpy())
    return Array._of(handle_of(x).reduce(name, _axes(axis), builtins.bool(keepdims), **options))


def _added(name: str, x: Array, axis: Axis, dtype: DTypeLike | None, keepdims: bool) -> Array:
    wanted = None if dtype is None else dtype_of(dtype)
    # The standard leaves open what sums of bools are; every library that has them counts the elements that are true.
    counts = (x if isinstance(x, OverArrays) else handle_of(x)).dtype == bool_
    return _reduce(name, x, axis, keepdims, dtype=wanted, numpy_promotion=counts or _options.by_numpy())


def _moment(name: str, x: Array, axis: Axis, keepdims: bool, correction: float = 0.0) -> Array:
    # The standard leaves open whether there are means of integers; if there are, they have to be float64.
    return _reduce(name, x, axis, keepdims, correction=float(correction), numpy_promotion=True)


def _as(x: Array, dtype: DTypeLike | None) -> Array:
    return x if dtype is None else Array._of(handle_of(x).astype(dtype_of(dtype)))


def sum(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """The sum; of nothing 0. Integers are added as int64 or uint64, floats in their own dtype, unless `dtype` says in which;
    bools are counted, as int64.

    >>> bl.sum(bl.asarray([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int64)
    """
    return _added("sum", x, axis, dtype, keepdims)


def prod(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """The product; of nothing 1. Dtypes are those of `sum`.

    >>> bl.prod(bl.asarray([1, 2, 3, 4]))
    Array(24, dtype=int64)
    """
    return _added("prod", x, axis, dtype, keepdims)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The maximum, NaN if an element is NaN. Takes numbers, gives their dtype. ValueError for a maximum of nothing.

    >>> bl.max(bl.asarray([[1, 5], [3, 4]]), axis=1)
    Array([5, 4], dtype=int64)
    """
    return _reduce("max", x, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The minimum, NaN if an element is NaN. Takes numbers, gives their dtype. ValueError for a minimum of nothing.

    >>> bl.min(bl.asarray([[1, 5], [3, 4]]), axis=0, keepdims=True)
    Array([[1, 4]], dtype=int64)
    """
    return _reduce("min", x, axis, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The sum divided by the number of elements; NaN of nothing. Takes floats and gives their dtype; of integers and bools
    float64.

    >>> bl.mean(bl.asarray([1.0, 2.0, 6.0]))
    Array(3., dtype=float64)
    """
    return _moment("mean", x, axis, keepdims)


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, ddof: float = 0.0) -> Array:
    """The variance: the sum of the squared differences from the mean, divided by n - `correction`; NaN where that is not
    positive. `ddof` is NumPy's name of `correction`. Dtypes are those of `mean`.

    >>> bl.var(bl.asarray([1.0, 2.0, 3.0]), correction=1)
    Array(1., dtype=float64)
    """
    return _moment("var", x, axis, keepdims, correction + ddof)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, ddof: float = 0.0) -> Array:
    """The standard deviation: the square root of `var`.

    >>> bl.std(bl.asarray([[0.0, 4.0], [3.0, 3.0]]), axis=1)
    Array([2., 0.], dtype=float64)
    """
    return _moment("std", x, axis, keepdims, correction + ddof)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Array:
    """Whether any element is true, or not 0; of nothing false. Takes all dtypes, gives bool. NaN is not 0.
    `out` is as in `numpy.any`.

    >>> bl.any(bl.asarray([[0, 0], [0, 2]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _reduce("any", x, axis, keepdims) if out is None else np.any(x, axis=axis, keepdims=keepdims, out=out)


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Array:
    """Whether all elements are true, or not 0; of nothing true. Takes all dtypes, gives bool. NaN is not 0.
    `out` is as in `numpy.all`.

    >>> bool(bl.all(bl.asarray([1.0, 2.0]) > 0))
    True
    """
    return _reduce("all", x, axis, keepdims) if out is None else np.all(x, axis=axis, keepdims=keepdims, out=out)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the maximum along an axis, or in row-major order: the first of equals, the first NaN before all
    numbers. Takes numbers, gives int64. ValueError for a maximum of nothing.

    >>> bl.argmax(bl.asarray([[1, 5], [3, 4]]), axis=1)
    Array([1, 1], dtype=int64)
    """
    return _reduce("argmax", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the minimum along an axis, or in row-major order: the first of equals, the first NaN before all
    numbers. Takes numbers, gives int64. ValueError for a minimum of nothing.

    >>> bl.argmin(bl.asarray([3.0, 1.0, 1.0]))
    Array(1, dtype=int64)
    """
    return _reduce("argmin", x, axis, keepdims)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements are true, or not 0. Takes all dtypes, gives int64.

    >>> bl.count_nonzero(bl.asarray([[0, 7], [8, 9]]), axis=0)
    Array([1, 2], dtype=int64)
    """
    return _reduce("count_nonzero", x, axis, keepdims)


def nansum(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """The sum of the elements that are not NaN; else as `sum`. Not in the standard.

    >>> bl.nansum(bl.asarray([1.0, bl.nan, 2.0]))
    Array(3., dtype=float64)
    """
    return _added("nansum", x, axis, dtype, keepdims)


def nanprod(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """The product of the elements that are not NaN; else as `prod`. Not in the standard.

    >>> bl.nanprod(bl.asarray([3.0, bl.nan, 2.0]))
    Array(6., dtype=float64)
    """
    return _added("nanprod", x, axis, dtype, keepdims)


def nanmax(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The maximum of the elements that are not NaN, NaN if there are none; else as `max`. Not in the standard.

    >>> bl.nanmax(bl.asarray([1.0, bl.nan, 2.0]))
    Array(2., dtype=float64)
    """
    return _reduce("nanmax", x, axis, keepdims)


def nanmin(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The minimum of the elements that are not NaN, NaN if there are none; else as `min`. Not in the standard.

    >>> bl.nanmin(bl.asarray([1.0, bl.nan, 2.0]))
    Array(1., dtype=float64)
    """
    return _reduce("nanmin", x, axis, keepdims)


def nanmean(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """The mean of the elements that are not NaN, converted to `dtype`; NaN if there are none. Else as `mean`. Not in the
    standard.

    >>> bl.nanmean(bl.asarray([1.0, bl.nan, 2.0]))
    Array(1.5, dtype=float64)
    """
    return _moment("nanmean", _as(x, dtype), axis, keepdims)


def nanvar(
    x: Array,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0.0,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The variance of the elements that are not NaN, converted to `dtype`; else as `var`. `ddof` is NumPy's name of
    `correction`. Not in the standard.

    >>> bl.nanvar(bl.asarray([1.0, bl.nan, 3.0]))
    Array(1., dtype=float64)
    """
    return _moment("nanvar", _as(x, dtype), axis, keepdims, correction + ddof)


def nanstd(
    x: Array,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0.0,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The standard deviation of the elements that are not NaN, converted to `dtype`; else as `std`. `ddof` is NumPy's name of
    `correction`. Not in the standard.

    >>> bl.nanstd(bl.asarray([1.0, bl.nan, 5.0]))
    Array(2., dtype=float64)
    """
    return _moment("nanstd", _as(x, dtype), axis, keepdims, correction + ddof)


def _accumulated(name: str, x: Array, axis: int | None, dtype: DTypeLike | None, include_initial: bool) -> Array:
    wanted = None if dtype is None else dtype_of(dtype)
    at = None if axis is None else index(axis)
    return Array._of(handle_of(x).cumulative(name, at, wanted, builtins.bool(include_initial)))


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Each element added to those before it along an axis, which only an array of one axis may leave out; after a 0, if
    the initial element is included. Dtypes are those of `sum`.

    >>> bl.cumulative_sum(bl.asarray([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int64)
    """
    return _accumulated("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Each element multiplied by those before it along an axis, which only an array of one axis may leave out; after a 1,
    if the initial element is included. Dtypes are those of `sum`.

    >>> bl.cumulative_prod(bl.asarray([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int64)
    """
    return _accumulated("cumulative_prod", x, axis, dtype, include_initial)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sum of the products along an axis, which both arrays have with the same extent; the other axes broadcast. Takes
    numbers, gives the dtype that they promote to; of bools, as in NumPy, whether both are true anywhere.

    >>> bl.vecdot(bl.asarray([[1, 2], [3, 4]]), bl.asarray([10, 1]))
    Array([12, 34], dtype=int64)
    """
    return Array._of(handle_of(x1).vecdot(handle_of(x2), index(axis)))


def _differences(handle: Handle, axis: int) -> Handle:
    before: list[int | slice] = [slice(None)] * axis
    op = "not_equal" if handle.dtype.kind == "b" else "subtract"
    return _core.apply(op, handle.slice([*before, slice(1, None)]), handle.slice([*before, slice(None, -1)]))


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """The differences between neighbours along an axis, `n` times over; with the elements of `prepend` before, and of `append`
    after those of `x`. Takes numbers and gives their dtype; of bools, whether neighbours differ.

    ValueError for a negative `n`, and for shapes that do not fit beside each other.

    >>> bl.diff(bl.asarray([1, 4, 9, 16]))
    Array([3, 5, 7], dtype=int64)
    """
    handle = handle_of(x)
    rank, at, times = handle.ndim, index(axis), index(n)
    if not -rank <= at < rank:
        raise ValueError(f"diff: axis {axis} is out of range for an array of rank {rank}")
    if times < 0:
        raise ValueError(f"diff: n is {n}, less than 0")
    if prepend is not None or append is not None:
        parts = [part for part in (prepend, Array._of(handle), append) if part is not None]
        handle = concat(parts, axis=at)._operand()
    extent = handle.shape[at % rank]
    if extent is not None and times > extent:
        times = extent
    array = Array._of(handle)
    for _ in range(times):
        array = Array._of(_differences(array._operand(), at % rank))
    return array


take_numpys_arguments(globals(), __all__)
