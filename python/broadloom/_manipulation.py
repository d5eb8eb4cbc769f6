"""Functions of the Array API standard that move elements without changing them.

A result that strides can express is a view of an expression, which the engine pushes down to the inputs; nothing is
computed. A view has the dtype of its operand. Functions that join several arrays are in `_joining`.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._operands import as_array, extents, one_axis, several_axes, shape_of
from broadloom._operators import handle_of
from broadloom._signatures import take_numpys_arguments
from broadloom._views import read_only, view_of

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "squeeze",
    "tile",
    "unstack",
]

Axes = int | tuple[int, ...]


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """The arrays, each broadcast to the shape that all of them broadcast to. Lazy.

    Raises ValueError if there is no such shape.

    >>> x, y = bl.broadcast_arrays(bl.asarray([1, 2, 3]), bl.asarray([[4], [5]]))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    operands = [as_array(x) for x in arrays]
    handles = [x._operand() for x in operands]
    if len({tuple(handle.dims) for handle in handles}) <= 1:
        return tuple(operands)
    shape = broadcast_shapes(*(extents(handle) for handle in handles))
    return tuple(
        view_of(x, Array._of(handle), ())
        if handle.shape == shape
        else read_only(Array._of(handle.broadcast_to(shape)), "broadcast_arrays")
        for x, handle in zip(operands, handles, strict=True)
    )


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all of these shapes broadcast to; `()` if there are none.

    Raises ValueError if there is no such shape, TypeError for extents that are not integers.

    >>> bl.broadcast_shapes((7,), (5, 1), ())
    (5, 7)
    """
    wrong = [
        extent for shape in shapes for extent in shape if isinstance(extent, bool) or not hasattr(extent, "__index__")
    ]
    if wrong:
        raise TypeError(f"broadcast_shapes: {wrong[0]!r} is no extent")
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """The array repeated along new leading axes and axes of extent 1, so that it has the shape. Lazy. Elements of the
    result can't be set.

    Raises ValueError if it doesn't broadcast to the shape.

    >>> bl.broadcast_to(bl.asarray([1, 2]), (3, 2)).shape
    (3, 2)
    """
    return read_only(Array._of(handle_of(x).broadcast_to(shape_of("broadcast_to", shape))), "broadcast_to")


def expand_dims(x: Array, /, axis: Axes) -> Array:
    """The array with a new axis of extent 1, which is axis `axis` of the result, or with several new axes. Lazy.

    Raises an error that is an IndexError and a ValueError, if `axis` is beyond -N-1 … N, where N is the rank.

    >>> bl.expand_dims(bl.asarray([1, 2]), axis=-1).shape
    (2, 1)
    """
    handle = handle_of(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    for one in sorted(several_axes("expand_dims", axis, handle.ndim + count)):
        handle = handle.expand_dims(one)
    return view_of(x, Array._of(handle), lambda memory: np.expand_dims(memory, axis))


def flip(x: Array, /, axis: Axes | None = None) -> Array:
    """The array with the elements along one, several or all axes in reverse. Lazy.

    Raises ValueError if there is no such axis.

    >>> bl.flip(bl.asarray([[1, 2], [3, 4]]), axis=1)
    Array([[2, 1],
           [4, 3]], dtype=int64)
    """
    handle = handle_of(x)
    axes = range(handle.ndim) if axis is None else several_axes("flip", axis, handle.ndim)
    for one in axes:
        handle = handle.flip(one)
    return view_of(x, Array._of(handle), lambda memory: np.flip(memory, axis))


def matrix_transpose(x: Array, /) -> Array:
    """The array with its last two axes exchanged: the shape (…, M, N) becomes (…, N, M). Lazy.

    Raises ValueError for an array of fewer than two axes.

    >>> bl.matrix_transpose(bl.asarray([[1, 2, 3]])).shape
    (3, 1)
    """
    handle = handle_of(x)
    rank = handle.ndim
    if rank < 2:
        raise ValueError(f"matrix_transpose: a matrix has two axes or more, the array has {rank}")
    made = Array._of(handle.permute_dims([*range(rank - 2), rank - 1, rank - 2]))
    return view_of(x, made, lambda memory: memory.swapaxes(-1, -2))


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """The array with some axes moved to other positions, and the remaining axes in their original order. Lazy.

    Raises ValueError if there is no such axis, if one is listed twice, or if the numbers of sources and destinations
    differ.

    >>> bl.moveaxis(bl.asarray([[[1, 2, 3]], [[4, 5, 6]]]), 0, -1).shape
    (1, 3, 2)
    """
    handle = handle_of(x)
    sources = several_axes("moveaxis", source, handle.ndim)
    destinations = several_axes("moveaxis", destination, handle.ndim)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: {len(sources)} sources and {len(destinations)} destinations")
    order = [axis for axis in range(handle.ndim) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return view_of(x, Array._of(handle.permute_dims(order)), lambda memory: memory.transpose(order))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """The array with its axes in another order: axis i of the result is axis `axes[i]` of `x`. Lazy.

    Raises ValueError unless `axes` contains every axis once.

    >>> bl.permute_dims(bl.asarray([[1, 2, 3]]), (1, 0)).shape
    (3, 1)
    """
    order = [index(axis) for axis in axes]
    return view_of(x, Array._of(handle_of(x).permute_dims(order)), lambda memory: memory.transpose(order))


def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Each element, or each slice along an axis, several times in sequence. Without an axis, the elements are repeated
    in row-major order.

    The result is lazy. If `repeats` is an array with a number for each element, it is evaluated, since the shape of the result
    depends on the numbers.

    Raises ValueError for a negative number or an array of another length, TypeError if `repeats` does not consist of
    integers.

    >>> bl.repeat(bl.asarray([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int64)
    >>> bl.repeat(bl.asarray([1, 2]), bl.asarray([3, 1]))
    Array([1, 1, 1, 2], dtype=int64)
    """
    handle = as_array(x)._operand()
    if axis is None and handle.ndim != 1 or handle.ndim == 0:
        handle, axis = handle.reshape([-1]), axis or 0
    axis = one_axis("repeat", 0 if axis is None else axis, handle.ndim)
    shape = extents(handle)
    before, extent, after = shape[:axis], shape[axis], shape[axis + 1 :]
    counts = repeats if isinstance(repeats, Array) else np.asarray(repeats)
    if counts.ndim > 0:
        numbers = np.asarray(counts)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"repeat: the numbers of repetitions are {numbers.dtype}, expected integers")
        at = np.repeat(np.arange(extent), numbers.astype(np.int64))
        return Array._of(_core.take(handle, Handle.from_numpy(at), axis, "raise"))
    times = index(repeats)
    if times < 0:
        raise ValueError(f"repeat: {times} repetitions")
    spread = handle.expand_dims(axis + 1).broadcast_to([*before, extent, times, *after])
    return Array._of(spread.reshape([*before, extent * times, *after]))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements, in row-major order, in another shape. One extent may be -1: it is inferred from the number of
    elements. Lazy.

    Nothing is copied, unless `copy=True` is passed. The elements are then computed at once, into memory of the result's
    own.

    Raises ValueError if the shape has another number of elements.

    >>> bl.reshape(bl.asarray([1, 2, 3, 4]), (2, -1))
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """
    handle = handle_of(x).reshape(shape_of("reshape", shape, least=-1))
    if copy:
        return Array._of(_options.evaluated(handle))
    return view_of(x, Array._of(handle), lambda memory: memory.reshape(shape))


def squeeze(x: Array, /, axis: Axes) -> Array:
    """The array without one or several axes of extent 1. Lazy.

    Raises ValueError if an axis has another extent, or if there is no such axis.

    >>> bl.squeeze(bl.asarray([[[1], [2]]]), axis=(0, 2)).shape
    (2,)
    """
    handle = handle_of(x)
    for one in sorted(several_axes("squeeze", axis, handle.ndim), reverse=True):
        handle = handle.squeeze(one)
    return view_of(x, Array._of(handle), lambda memory: np.squeeze(memory, axis))


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """The array repeated along each axis. The last number is for the last axis. If there are fewer numbers than axes,
    or fewer axes than numbers, ones are added in front. Lazy.

    Raises ValueError for a negative number.

    >>> bl.tile(bl.asarray([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    handle = handle_of(x)
    times = shape_of("tile", repetitions)
    extra = len(times) - handle.ndim
    shape = (1,) * extra + extents(handle)
    times = (1,) * -extra + times
    apart = [extent for axis in shape for extent in (1, axis)]
    spread = [extent for axis, number in zip(shape, times, strict=True) for extent in (number, axis)]
    whole = [axis * number for axis, number in zip(shape, times, strict=True)]
    return Array._of(handle.reshape(apart).broadcast_to(spread).reshape(whole))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis, without it: a tuple of as many arrays as the axis has elements. Lazy.

    Raises ValueError if there is no such axis.

    >>> first, second = bl.unstack(bl.asarray([[1, 2], [3, 4]]), axis=1)
    >>> first, second
    (Array([1, 3], dtype=int64), Array([2, 4], dtype=int64))
    """
    handle = handle_of(x)
    if handle.ndim == 0:
        raise AxisError(axis, 0, "unstack")
    axis = one_axis("unstack", axis, handle.ndim)
    before = [slice(None)] * axis

    def part(at: int) -> Array:
        key: Any = (*before, at, ...)
        return view_of(x, Array._of(handle.slice([*before, at])), lambda memory: memory[key])

    return tuple(map(part, range(extents(handle)[axis])))


take_numpys_arguments(globals(), __all__)
