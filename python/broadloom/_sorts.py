"""Sorting and searching. Lazy."""

from __future__ import annotations

from operator import index
from typing import Literal, NamedTuple

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._operands import one_axis
from broadloom._operators import handle_of
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import values_of

__all__: list[str] = ["argsort", "searchsorted", "sort", "topk"]


class TopKResult(NamedTuple):
    """The result of `topk`."""

    values: Array
    indices: Array


def sort(x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The elements along an axis in ascending or descending order. Lazy.

    -0 comes before 0, and NaN after all numbers; the descending order is the reverse. Whether a sort is stable makes no
    difference.

    Raises an error that is an IndexError and a ValueError if there is no such axis.

    >>> bl.sort(bl.asarray([2, 3, 1]), descending=True)
    Array([3, 2, 1], dtype=int64)
    """
    handle = handle_of(x)
    return Array._of(_core.sort(handle, one_axis("sort", axis, handle.ndim), descending))


def argsort(x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The indices, as int64, that sort the elements along an axis as `sort` does: -0 before 0, NaNs by their bits. Elements
    of the same bits keep their order. Lazy.

    Raises an error that is an IndexError and a ValueError if there is no such axis.

    >>> bl.argsort(bl.asarray([1, 2, 1, 2]), descending=True)
    Array([1, 3, 0, 2], dtype=int64)
    """
    handle = handle_of(x)
    return Array._of(_core.argsort(handle, one_axis("argsort", axis, handle.ndim), descending))


def topk(x: Array, k: int, /, axis: int = -1, *, largest: bool = True) -> TopKResult:
    """The `k` greatest elements along an axis in descending order, or the `k` least in ascending order, and their indices, as
    int64. Lazy.

    The order is that of `sort`, in which NaNs are greater than numbers. Of equal elements, the one with the lower index is
    first.

    Raises ValueError for a negative `k` and one above the number of elements, and if there is no such axis.

    >>> bl.topk(bl.asarray([3, 9, 5, 9]), 2).indices
    Array([1, 3], dtype=int64)
    """
    handle, count = handle_of(x), index(k)
    at = one_axis("topk", axis, handle.ndim)
    extent = handle.shape[at]
    if count < 0 or extent is not None and count > extent:
        raise ValueError(f"topk: {count} of {extent} elements along axis {axis}")
    first, indices = _core.topk(handle, count, at, largest)
    return TopKResult(Array._of(first), Array._of(indices))


def searchsorted(
    x1: Array, x2: Array, /, side: Literal["left", "right"] = "left", sorter: Array | None = None
) -> Array:
    """For each element of `x2`, the index in `x1`, as int64, before which it is inserted to keep the order: the
    first such index, or the last with `side="right"`. Lazy.

    `x1`, of one axis, is in ascending order, or `sorter` contains the indices that put it in that order. The result has
    the shape of `x2`. -0 and 0 are equal, and NaN comes after all numbers.

    Elements of different dtypes are compared in their common one, as NumPy's: float64 for integers of 64 bits and floats,
    or of int64 and uint64.

    Raises ValueError for an `x1` or a sorter of another rank, an index in it that is out of range, and for another `side`;
    TypeError for a sorter that does not consist of integers. The values of a sorter are computed.

    >>> bl.searchsorted(bl.asarray([1.0, 2.0, 3.0]), bl.asarray([2.0, 9.0]), side="right")
    Array([2, 3], dtype=int64)
    """
    ordered, queries = handle_of(x1), handle_of(x2)
    if ordered.ndim != 1:
        raise ValueError(f"searchsorted: x1 has one axis, this one has {ordered.ndim}")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: `side` is {side!r}, expected 'left' or 'right'")
    if sorter is not None:
        order = handle_of(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError(f"searchsorted: the indices are {order.dtype}, expected integers")
        if order.dims != ordered.dims:
            raise ValueError(f"searchsorted: the sorter has the shape {order.shape}, x1 {ordered.shape}")
        if not order.is_symbolic:
            numbers = values_of(sorter)
            if numbers.size and (numbers.min() < 0 or numbers.max() >= numbers.size):
                raise ValueError(f"searchsorted: the sorter has an index outside of 0 to {numbers.size - 1}")
        ordered = _core.take(ordered, order, 0, "raise")
    dtype = np.result_type(ordered.dtype, queries.dtype)
    one, other = (each if each.dtype == dtype else each.astype(dtype) for each in (ordered, queries))
    return Array._of(_core.searchsorted(one, other, side == "right"))


take_numpys_arguments(globals(), __all__)
