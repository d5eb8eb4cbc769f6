"""Distinct elements, of evaluated operands, and whether elements occur in another array. Without a size, the number of distinct
elements depends on values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._buffer import of_rule
from broadloom._core import Handle
from broadloom._operands import extents
from broadloom._operators import handle_of
from broadloom._selections import needs_size, sized
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import values_of

__all__: list[str] = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAllResult:
    """The distinct values of an array, in ascending order; the index of the first occurrence of each value, in
    row-major order; the indices that reconstruct the array from the values; and the number of occurrences of each
    value. Evaluates its operand.

    Each NaN is a value of its own; -0 and 0 are the same value, and the first occurrence decides which of them. Indices and
    counts are int64; the inverse indices have the shape of `x`.

    >>> result = bl.unique_all(bl.asarray([3, 1, 3]))
    >>> result.values, result.counts, result.inverse_indices
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64), Array([1, 0, 1], dtype=int64))
    """
    found = _core.unique_all(Handle.from_numpy(values_of(x)))
    return UniqueAllResult(*(Array._of(of_rule(part, x)) for part in found))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The distinct values of an array, in ascending order, and the number of occurrences of each value, as int64.
    Evaluates its operand.

    Each NaN is a value of its own; -0 and 0 are the same value.

    >>> values, counts = bl.unique_counts(bl.asarray([3, 1, 3]))
    >>> values, counts
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    values, counts = _core.unique_counts(Handle.from_numpy(values_of(x)))
    return UniqueCountsResult(Array._of(of_rule(values, x)), Array._of(of_rule(counts, x)))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The distinct values of an array, in ascending order, and the indices, as int64 and in the shape of the array,
    that reconstruct the array from the values. Evaluates its operand.

    Each NaN is a value of its own; -0 and 0 are the same value.

    >>> values, inverse = bl.unique_inverse(bl.asarray([[3, 1], [3, 3]]))
    >>> inverse
    Array([[1, 0],
           [1, 1]], dtype=int64)
    """
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Array, /, *, size: int | None = None) -> Array:
    """The distinct values of an array, in ascending order. Evaluates its operand, unless a size is given: the result then has
    this many elements, the first ones, and if there are fewer, the first one takes the place of the others. Functions
    that are compiled need a size.

    Each NaN is a value of its own; -0 and 0 are the same value.

    Raises ValueError for a negative size, and for a size and no elements.

    >>> bl.unique_values(bl.asarray([3, 1, 3]))
    Array([1, 3], dtype=int64)
    >>> bl.unique_values(bl.asarray([3, 1, 3]), size=3)
    Array([1, 3, 1], dtype=int64)
    """
    if size is None:
        needs_size("unique_values", handle_of(x))
        return unique_counts(x).values
    handle = handle_of(x)
    extents(handle)
    return Array._of(_core.unique_sized(handle, sized("unique_values", size)))


def isin(x1: Array, x2: Array, /, *, invert: bool = False) -> Array:
    """Whether each element of `x1` is equal to an element of `x2`, or, if `invert`, to none. Lazy.

    -0 and 0 are equal, and NaN is equal to nothing. Elements of different dtypes are compared in their common one, as NumPy's.

    >>> bl.isin(bl.asarray([1, 5, 2]), bl.asarray([2, 1]))
    Array([ True, False,  True], dtype=bool)
    """
    values, among = handle_of(x1), handle_of(x2)
    extents(among)
    dtype = np.result_type(values.dtype, among.dtype)
    one, other = (each if each.dtype == dtype else each.astype(dtype) for each in (values, among))
    found = Array._of(_core.isin(one, other))
    return ~found if invert else found


take_numpys_arguments(globals(), __all__)
