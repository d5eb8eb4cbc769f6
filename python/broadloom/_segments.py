"""Reductions by label, counts and histograms, and `x.at[key]`. Reductions and `x.at` are lazy."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._buffer import of_rule
from broadloom._core import Handle
from broadloom._errors import RangeError
from broadloom._indexing import broadcast_value, converted_value
from broadloom._operands import extents
from broadloom._operators import handle_of
from broadloom._registry import registered
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import values_of

__all__: list[str] = [
    "bincount",
    "histogram",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
]


def segment_sum(x: Array, labels: Array, /, k: int) -> Array:
    """The sum of the elements of each label, from 0 to k - 1. Lazy.

    There is a label for each index of the first axis of `x`; other axes are kept. The label -1 omits its elements. Each sum
    has the bits of `bl.sum(x[labels == label], axis=0)`, for any number of threads, and its dtype. Of no elements it is 0.

    Evaluating the result raises RangeError, which is an IndexError, for another label. Raises ValueError for another number of
    labels, TypeError for labels that are not integers.

    >>> bl.segment_sum(bl.asarray([1.0, 2.0, 4.0, 8.0]), bl.asarray([0, 2, 0, -1]), 3)
    Array([5., 0., 2.], dtype=float64)
    """
    return _segments("sum", x, labels, k)


def segment_prod(x: Array, labels: Array, /, k: int) -> Array:
    """The product of the elements of each label, as `segment_sum` has their sum. Of no elements it is 1.

    >>> bl.segment_prod(bl.asarray([2, 3, 4]), bl.asarray([1, 1, 0]), 3)
    Array([4, 6, 1], dtype=int64)
    """
    return _segments("prod", x, labels, k)


def segment_max(x: Array, labels: Array, /, k: int) -> Array:
    """The maximum of the elements of each label, as `segment_sum` has their sum. Of no elements it is -inf, or the lowest
    integer of the dtype.

    >>> bl.segment_max(bl.asarray([2.0, 3.0, 4.0]), bl.asarray([1, 1, 0]), 3)
    Array([  4.,   3., -inf], dtype=float64)
    """
    return _segments("max", x, labels, k)


def segment_min(x: Array, labels: Array, /, k: int) -> Array:
    """The minimum of the elements of each label, as `segment_sum` has their sum. Of no elements it is inf, or the highest
    integer of the dtype.

    >>> bl.segment_min(bl.asarray([2.0, 3.0, 4.0]), bl.asarray([1, 1, 0]), 3)
    Array([ 4.,  2., inf], dtype=float64)
    """
    return _segments("min", x, labels, k)


def segment_mean(x: Array, labels: Array, /, k: int) -> Array:
    """The mean of the elements of each label, as `segment_sum` has their sum. Of no elements it is NaN.

    >>> bl.segment_mean(bl.asarray([2.0, 3.0, 4.0]), bl.asarray([1, 1, 0]), 3)
    Array([4. , 2.5, nan], dtype=float64)
    """
    return _segments("mean", x, labels, k)


def _segments(function: str, x: Array, labels: Array, k: int) -> Array:
    count = index(k)
    if count < 0:
        raise ValueError(f"segment_{function}: k is {count}")
    return Array._of(_core.segments(function, handle_of(x), handle_of(labels), count))


def bincount(x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    """The number of occurrences of each integer from 0 to the maximum, as int64, or the sum of its weights, as float64. The
    result has `minlength` elements at least. Evaluates its operands.

    Weights are added in the order of `sum`. Raises ValueError for a negative integer, and for another number of weights;
    TypeError for elements that are not integers.

    >>> bl.bincount(bl.asarray([1, 3, 1]))
    Array([0, 2, 0, 1], dtype=int64)
    >>> bl.bincount(bl.asarray([1, 3, 1]), bl.asarray([0.5, 1.0, 2.0]))
    Array([0. , 2.5, 0. , 1. ], dtype=float64)
    """
    least, values = index(minlength), values_of(x)
    if least < 0:
        raise ValueError(f"bincount: minlength is {least}")
    numbers = Handle.from_numpy(values.astype(np.int8) if values.dtype == np.bool_ else values)
    weighed = None if weights is None else Handle.from_numpy(values_of(weights))
    try:
        return Array._of(of_rule(_core.bincount(numbers, weighed, least), x))
    except RangeError as error:
        # As in NumPy.
        raise ValueError(str(error)) from None


def histogram(
    x: Array, /, bins: int | str | Array = 10, range: tuple[float, float] | None = None
) -> tuple[Array, Array]:
    """The number of elements in each bin, as int64, and the edges of the bins. Evaluates its operands.

    The bins are NumPy's: as many equal ones as `bins` says, from the minimum to the maximum or within `range`, or those
    between the edges `bins`. A bin contains its left edge, and the last one also its right edge. Other elements and NaNs are
    not counted.

    Raises ValueError for bins that NumPy refuses.

    >>> counts, edges = bl.histogram(bl.asarray([0.0, 1.0, 1.5, 4.0]), 4)
    >>> counts, edges
    (Array([1, 2, 0, 1], dtype=int64), Array([0., 1., 2., 3., 4.], dtype=float64))
    """
    values = values_of(x)
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    within: Any = range and tuple(np.asarray(end)[()] if isinstance(end, Array) else end for end in range)
    try:
        edges = np.histogram_bin_edges(values, np.asarray(bins) if isinstance(bins, Array) else bins, within)
    except (TypeError, ValueError) as error:
        # A new error, whose traceback has no lines of NumPy.
        raise (TypeError if isinstance(error, TypeError) else ValueError)(str(error)) from None
    common = np.result_type(values.dtype, edges.dtype)
    one, other = (Handle.from_numpy(each) for each in (values, edges))
    counts = _core.histogram(*(each if each.dtype == common else each.astype(common) for each in (one, other)))
    return Array._of(of_rule(counts, x)), Array._of(of_rule(other, x))


class At:
    """`x.at`, of which a key selects elements that are replaced in a new array."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Any, /) -> Selected:
        return Selected(self._array, key)


class Selected:
    """The elements `x.at[key]`, of which each method returns a new array. The values broadcast to `x[key]`, and are converted
    to the dtype of `x` as by an assignment. Elements that the key does not select keep their bits.

    An element may be selected several times. The methods raise what `x[key] = values` does."""

    __slots__ = ("_array", "_key")

    def __init__(self, array: Array, key: Any) -> None:
        self._array, self._key = array, key

    def set(self, values: Any, /) -> Array:
        """The array with these elements; of several values of an element the last one in row-major order.

        >>> bl.zeros(4).at[bl.asarray([1, 3, 1])].set(bl.asarray([5.0, 6.0, 7.0]))
        Array([0., 7., 0., 6.], dtype=float64)
        """
        return self._scattered("scatter", values)

    def add(self, values: Any, /) -> Array:
        """The array with the sum of its values added to each element, in the order of `sum`.

        >>> bl.ones(3).at[bl.asarray([0, 2, 0])].add(bl.asarray([1.0, 2.0, 3.0]))
        Array([5., 1., 3.], dtype=float64)
        """
        return self._scattered("scatter_add", values)

    def multiply(self, values: Any, /) -> Array:
        """The array with each element multiplied by the product of its values.

        >>> bl.asarray([2, 3]).at[bl.asarray([1, 1])].multiply(5)
        Array([ 2, 75], dtype=int64)
        """
        return self._scattered("scatter_multiply", values)

    def min(self, values: Any, /) -> Array:
        """The array with the minimum of each element and its values.

        >>> bl.asarray([2, 7]).at[1].min(5)
        Array([2, 5], dtype=int64)
        """
        return self._scattered("scatter_min", values)

    def max(self, values: Any, /) -> Array:
        """The array with the maximum of each element and its values.

        >>> bl.asarray([2, 7]).at[:].max(5)
        Array([5, 7], dtype=int64)
        """
        return self._scattered("scatter_max", values)

    def _scattered(self, mode: str, values: Any) -> Array:
        handle = self._array._operand()
        shape = extents(handle)
        # The number of each element that the key selects, in row-major order.
        numbers = Handle.arange(0, prod(shape), 1, np.int64).reshape(list(shape))
        places = Array._of(numbers)[self._key]._operand()
        new = broadcast_value(converted_value(values, handle.dtype), places)
        if 0 in places.shape:
            return Array._of(of_rule(handle, self._array))
        if handle.dtype == np.bool_ and mode != "scatter":
            # As numbers, of which a sum may be large.
            old, new = handle.astype(np.int64), new.astype(np.int64)
            return Array._of(_core.scatter(mode, old, places, new).astype(np.bool_))
        return Array._of(_core.scatter(mode, handle, places, new))


@registered("at")
def _at(array: Array) -> At:
    return At(array)


take_numpys_arguments(globals(), __all__)
