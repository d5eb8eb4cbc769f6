"""NumPy's functions that sort, search, select and count, as further rows of the table in `_numpy_handlers`.

They call the namespace's functions of these names, which have the same meaning, and adapt arguments and the treatment of
zeros and NaNs where NumPy's differ. NumPy computes calls with other arguments, and those that it refuses, so that its own error is raised.
"""

from __future__ import annotations

from operator import index
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from broadloom import _core, _gathers, _interpolation, _segments, _selections, _sets, _sorts, _statistics
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._errors import ShapeError
from broadloom._numpy_functions import nonzero
from broadloom._numpy_handlers import array, lazy, operand
from broadloom._numpy_manipulation import FUNCTIONS
from broadloom._numpy_reductions import along_axis
from broadloom._operands import extents
from broadloom._registry import registered
from broadloom._ufuncs import BOOL, Unsupported, common_dtype, lend, operands_as

__all__ = ["FUNCTIONS"]

FLOAT64 = np.dtype(np.float64)


def _values(x: Any) -> Array:
    """An argument as one of our arrays, for a function that computes at once."""
    handle = array(x)
    if handle.is_symbolic:
        raise Unsupported
    return Array._of(handle)


# Sorting.


def _to_be_sorted(a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> tuple[Handle, int]:
    """The operand and the axis of a sort, whose other arguments are NumPy's."""
    if order is not None or isinstance(axis, bool):
        raise Unsupported
    if kind is not None or stable is not None:
        # NumPy checks its arguments.
        np.sort([], kind=kind, stable=stable)
    x = array(a)
    if x.ndim == 0:
        raise Unsupported
    return along_axis(x, axis)


def _with_equal_keys(x: Handle) -> Handle:
    """The elements with one zero and one NaN: -0 and 0, which the engine puts in order, are equal to NumPy, and so are all NaNs."""
    if x.dtype.kind != "f":
        return x
    made = _core.apply("where", _core.apply("equal", x, 0.0), 0.0, x)
    return _core.apply("where", _core.apply("isnan", x), float("nan"), made)


@lazy(np.argsort)
def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Handle:
    x, axis = _to_be_sorted(a, axis, kind, order, stable)
    return _core.argsort(_with_equal_keys(x), axis, False)


@lazy(np.sort)
def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Handle:
    x, axis = _to_be_sorted(a, axis, kind, order, stable)
    if x.dtype.kind == "f" and (stable or kind in ("stable", "mergesort")):
        return _core.take_along_axis(x, _core.argsort(_with_equal_keys(x), axis, False), axis)
    return _core.sort(x, axis, False)


@lazy(np.lexsort)
def _lexsort(keys: Any, axis: Any = -1) -> Handle:
    several = [_with_equal_keys(array(key)) for key in keys]
    if (
        not several
        or several[0].ndim == 0
        or isinstance(axis, bool)
        or any(key.dims != several[0].dims for key in several)
    ):
        raise Unsupported
    _, axis = along_axis(several[0], index(axis))
    made = _core.argsort(several[0], axis, False)
    for key in several[1:]:
        in_order = _core.take_along_axis(key, made, axis)
        made = _core.take_along_axis(made, _core.argsort(in_order, axis, False), axis)
    return made


# Searching.


@lazy(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    ordered = array(a)
    if ordered.ndim != 1 or side not in ("left", "right"):
        raise Unsupported
    order = None if sorter is None else Array._of(array(sorter))
    return _sorts.searchsorted(Array._of(ordered), Array._of(array(v)), side=side, sorter=order)


@lazy(np.digitize)
def _digitize(x: Any, bins: Any, right: bool = False) -> Handle:
    values = np.asarray(_values(bins))
    np.digitize(np.empty(0), values, right)
    if np.isnan(values).any():
        raise Unsupported
    side: Literal["left", "right"] = "left" if right else "right"
    elements = Array._of(array(x))
    if values.size and values[0] > values[-1]:
        return (values.size - _sorts.searchsorted(Array._of(array(values[::-1])), elements, side=side))._operand()
    return _sorts.searchsorted(Array._of(array(values)), elements, side=side)._operand()


@lazy(np.isin)
def _isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    elements, among = Array._of(array(element)), Array._of(array(test_elements))
    # NumPy's algorithms have the same result, but that of tables takes no floats.
    if kind not in (None, "sort", "table") or kind == "table" and "f" in (elements.dtype.kind, among.dtype.kind):
        raise Unsupported
    return _sets.isin(elements, among, invert=invert)


@lazy(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    if period is not None or not all(end is None or isinstance(end, float | int) for end in (left, right)):
        raise Unsupported
    at, points, values = (Array._of(array(each)) for each in (x, xp, fp))
    return _interpolation.interp(at, points, values, left, right)


# Selecting.


@lazy(np.flatnonzero)
def _flatnonzero(a: Any) -> Array:
    return nonzero(array(a).reshape([-1]))[0]


@lazy(np.argwhere)
def _argwhere(a: Any) -> Any:
    return np.stack(nonzero(a), axis=1)


@lazy(np.compress)
def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Array:
    mask = array(condition)
    x, axis = along_axis(array(a), axis)
    # NumPy takes further elements of a condition that are false.
    if mask.ndim != 1 or extents(mask)[0] > extents(x)[axis]:
        raise Unsupported
    return _selections.compress(Array._of(mask), Array._of(x), axis)


@lazy(np.extract)
def _extract(condition: Any, arr: Any) -> Array:
    return _compress(array(condition).reshape([-1]), arr)


@lazy(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Array:
    x, numbers = array(arr), array(indices)
    if axis is None:
        x, axis = x.reshape([-1]), 0
    if numbers.dtype.kind not in "iu" or numbers.ndim != x.ndim:
        raise Unsupported
    try:
        return _gathers.take_along_axis(Array._of(x), Array._of(numbers), axis=axis)
    except ShapeError:
        raise Unsupported from None


@lazy(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Handle:
    masks, choices, made = [array(mask) for mask in condlist], [operand(x) for x in choicelist], operand(default)
    if not masks or len(masks) != len(choices) or any(mask.dtype != BOOL for mask in masks):
        raise Unsupported
    dtype = common_dtype(*choices, made)
    for mask, choice in zip(reversed(masks), reversed(choices), strict=True):
        made = _core.apply("where", mask, *operands_as(dtype, choice, made))
    return array(made)


# Sets.


@lazy(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = _values(ar)
    # To the engine, each NaN is a value of its own.
    if axis is not None or equal_nan and x.dtype.kind == "f" and bool(np.any(np.isnan(x))):
        raise Unsupported
    if not (return_index or return_inverse):
        values, counts = _sets.unique_counts(x)
        return (values, counts) if return_counts else values
    found = _sets.unique_all(x)
    asked = (return_index, found.indices), (return_inverse, found.inverse_indices), (return_counts, found.counts)
    return (found.values, *(part for is_asked, part in asked if is_asked))


def _add_unique(*names: str) -> None:
    for name in names:
        ours = getattr(_sets, name)
        FUNCTIONS[getattr(np, name)] = lambda x, /, ours=ours: ours(_values(x))


_add_unique("unique_all", "unique_counts", "unique_inverse", "unique_values")


def _distinct(x: Any, assume_unique: bool) -> Any:
    return np.ravel(_values(x)) if assume_unique else _unique(x)


@lazy(np.union1d)
def _union1d(ar1: Any, ar2: Any) -> Any:
    return _unique(np.concatenate((_values(ar1), _values(ar2)), axis=None))


@lazy(np.intersect1d)
def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    if not return_indices:
        both = np.sort(np.concatenate((_distinct(ar1, assume_unique), _distinct(ar2, assume_unique))))
        return both[:-1][both[1:] == both[:-1]]
    if assume_unique:
        raise Unsupported
    (one, of_one), (other, of_other) = _unique(ar1, return_index=True), _unique(ar2, return_index=True)
    both = np.concatenate((one, other))
    order = np.argsort(both, stable=True)
    both = both[order]
    is_in_both = both[1:] == both[:-1]
    return both[:-1][is_in_both], of_one[order[:-1][is_in_both]], of_other[order[1:][is_in_both] - one.size]


@lazy(np.setxor1d)
def _setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = np.sort(np.concatenate((_distinct(ar1, assume_unique), _distinct(ar2, assume_unique))))
    if both.size == 0:
        return both
    differs = np.concatenate(([True], both[1:] != both[:-1], [True]))
    return both[differs[1:] & differs[:-1]]


@lazy(np.setdiff1d)
def _setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = _distinct(ar1, assume_unique)
    return first[_isin(first, ar2, invert=True)]


# Counting, and statistics of sorted elements.


@lazy(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Array:
    numbers, weighed = _values(x), None if weights is None else _values(weights)
    if numbers.ndim != 1 or not np.can_cast(numbers.dtype, np.intp, "safe"):
        raise Unsupported
    if weighed is not None and (
        weighed.shape != numbers.shape or numbers.size == 0 or not np.can_cast(weighed.dtype, FLOAT64, "safe")
    ):
        raise Unsupported
    return _segments.bincount(numbers, weighed, index(minlength))


@lazy(np.histogram)
def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    if density or weights is not None:
        raise Unsupported
    edges: Any = bins if isinstance(bins, int | np.integer | str) else _values(bins)
    return _segments.histogram(_values(a), edges, range)


@lazy(np.median)
def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    x, axes = _with_axes(a, axis)
    return _statistics.median(x, axes, keepdims=keepdims)


def _with_axes(a: Any, axis: Any) -> tuple[Array, tuple[int, ...] | None]:
    """The operand and the axes of a function of the sorted elements along axes, of which there are some."""
    x = array(a)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim)
    if x.ndim == 0 or x.dtype == BOOL or axes == () or 0 in x.shape:
        raise Unsupported
    return Array._of(x), axes


def _add_quantile(function: Any, whole: int) -> None:
    @lazy(function)
    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Array:
        (x, axes), numbers = _with_axes(a, axis), np.asarray(_values(q))
        if method != "linear" or weights is not None:
            raise Unsupported
        if numbers.dtype.kind in "iu" and x.dtype == FLOAT64:
            numbers = numbers.astype(FLOAT64)
        numbers = numbers if whole == 1 else numbers / whole
        # NumPy computes in narrow dtypes of elements and numbers, and subtracts integers as such, which is exact for narrow ones.
        if numbers.dtype != FLOAT64 or x.dtype != FLOAT64 and (x.dtype.kind == "f" or x.dtype.itemsize > 4):
            raise Unsupported
        return _statistics.quantile(x, Array._of(lend(np.asarray(numbers))), axes, keepdims=keepdims)


_add_quantile(np.quantile, 1)
_add_quantile(np.percentile, 100)


@registered("search_of_numpy")
def search_of_numpy(function: Any) -> Any:
    """What computes one of NumPy's functions; None if NumPy does."""
    return FUNCTIONS.get(function)
