"""Joins, shifts and pads arrays, and slides windows over them: functions whose result can't be expressed by strides, but for
windows. The results are expressions: the loops that use them read each part where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._operands import extents, one_axis, promoted
from broadloom._operators import handle_of
from broadloom._signatures import take_numpys_arguments

__all__ = ["concat", "pad", "roll", "sliding_window", "stack"]

Axes = int | tuple[int, ...]
Mode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
Number = bool | int | float
Widths = int | tuple[int, int] | Sequence[tuple[int, int]]


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """The arrays joined along an axis; without an axis, flattened in row-major order first. Lazy.

    The result has the arrays' common dtype.

    Raises ValueError if the arrays differ in rank or in another extent, or if there are none; TypeError if their
    dtypes are of different kinds.

    >>> bl.concat([bl.asarray([1, 2]), bl.asarray([3])])
    Array([1, 2, 3], dtype=int64)
    """
    handles = _operands("concat", arrays)
    if axis is None:
        handles = [handle if handle.ndim == 1 else handle.reshape([-1]) for handle in handles]
        axis = 0
    shapes = [extents(handle) for handle in handles]
    first = shapes[0]
    if not first:
        raise ValueError("concat: an array of rank 0 has no axis to be joined along; `stack` makes one")
    axis = one_axis("concat", axis, len(first))
    for number, shape in enumerate(shapes):
        if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            differing = f"{list(first)} and, at {number}, {list(shape)}"
            raise ValueError(f"concat: shapes may differ along axis {axis} only; there are {differing}")
    return Array._of(_core.concat("concat", handles, axis))


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """The arrays, all of the same shape, joined along a new axis, which is axis `axis` of the result. Lazy.

    The result has the arrays' common dtype.

    Raises ValueError if the shapes differ, or if there are no arrays; TypeError if their dtypes are of different
    kinds.

    >>> bl.stack([bl.asarray([1, 2]), bl.asarray([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    handles = _operands("stack", arrays)
    shapes = [extents(handle) for handle in handles]
    axis = one_axis("stack", axis, len(shapes[0]) + 1)
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f"stack: shapes differ: {list(shapes[0])} and, at {number}, {list(shape)}")
    return Array._of(_core.concat("stack", [handle.expand_dims(axis) for handle in handles], axis))


def roll(x: Array, /, shift: int | tuple[int, ...], axis: Axes | None = None) -> Array:
    """The elements shifted along axes by a number of positions, toward larger indices if it is positive. Elements that
    are shifted beyond the end reappear at the start. Without an axis, the elements are shifted in row-major order. Lazy.

    Raises ValueError if there is no such axis, or if there are not as many numbers as axes.

    >>> bl.roll(bl.asarray([1, 2, 3, 4]), 1)
    Array([4, 1, 2, 3], dtype=int64)
    """
    handle = handle_of(x)
    shape = extents(handle)
    if axis is None:
        flat = roll(Array._of(handle.reshape([-1])), shift, axis=0)
        return Array._of(flat._handle.reshape(shape))
    axes = [one_axis("roll", one, len(shape)) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    places = [index(one) for one in (shift if isinstance(shift, (tuple, list)) else (shift,))]
    if len(places) == 1:
        places *= len(axes)
    elif len(axes) == 1:
        axes *= len(places)
    if len(places) != len(axes):
        raise ValueError(f"roll: {len(places)} shifts and {len(axes)} axes")
    for one in dict.fromkeys(axes):
        moved = sum(places_along for along, places_along in zip(axes, places, strict=True) if along == one)
        handle = _core.roll(handle, moved % max(shape[one], 1), one)
    return Array._of(handle)


def pad(x: Array, /, pad_width: Widths, mode: Mode = "constant", constant_values: Number = 0) -> Array:
    """The array with additional elements before and after those along each axis: of one width, of a width before and one
    after, or of such a pair for each axis. Lazy.

    They continue `a b c d` by a number ("constant"), by `a a` before and `d d` after it ("edge"), `c b` and `c b`
    ("reflect"), `b a` and `d c` ("symmetric"), or `c d` and `a b` ("wrap"). Wider ones go on in the same way, and the axes
    are padded in order.

    Raises ValueError for a negative width, another number of pairs than axes, an unknown mode, and an axis without elements
    that is to be continued by elements of its own; TypeError for widths that are not integers.

    >>> bl.pad(bl.asarray([1, 2, 3]), (2, 1), mode="reflect")
    Array([3, 2, 1, 2, 3, 2], dtype=int64)
    >>> bl.pad(bl.asarray([1, 2]), 1, constant_values=9)
    Array([9, 1, 2, 9], dtype=int64)
    """
    handle = handle_of(x)
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu" and widths.size:
        raise TypeError(f"pad: `pad_width` is {pad_width!r}, expected an int, a pair of ints or a sequence of pairs")
    rank = len(extents(handle))
    pairs = [(int(before), int(after)) for before, after in np.broadcast_to(widths, (rank, 2))]
    if any(width < 0 for pair in pairs for width in pair):
        raise ValueError(f"pad: a width is negative: {pad_width}")
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"pad: `mode` is {mode!r}, expected constant, edge, reflect, symmetric or wrap")
    value = handle.dtype.type(constant_values).item()
    return Array._of(_core.pad(handle, pairs, mode, value))


def sliding_window(x: Array, /, window_shape: int | tuple[int, ...], axis: Axes | None = None) -> Array:
    """All windows of adjacent elements: along each axis, the number of windows takes the place of the extent, and the elements
    of a window are along new last axes, one for each number of `window_shape`. Without axes there is a number for each axis.
    Lazy, and a view: windows take no memory.

    Raises ValueError for a window that is longer than its axis, and for another number of lengths than axes.

    >>> bl.sliding_window(bl.asarray([1, 2, 4, 8]), 3)
    Array([[1, 2, 4],
           [2, 4, 8]], dtype=int64)
    """
    handle = handle_of(x)
    lengths = [index(one) for one in (window_shape if np.iterable(window_shape) else (window_shape,))]
    rank = len(extents(handle))
    axes = range(rank) if axis is None else normalize_axis_tuple(axis, rank, allow_duplicate=True)
    if len(lengths) != len(axes):
        raise ValueError(f"sliding_window: {len(lengths)} lengths of windows and {len(axes)} axes")
    if any(length < 0 for length in lengths):
        raise ValueError(f"sliding_window: a length is negative: {window_shape}")
    for length, one in zip(lengths, axes, strict=True):
        handle = _core.sliding_window(handle, length, one)
    return Array._of(handle)


def _operands(name: str, arrays: Any) -> list[Handle]:
    """The handles of arrays, converted to their common dtype."""
    handles = [handle_of(x) for x in arrays]
    if not handles:
        raise ValueError(f"{name}: there are no arrays")
    dtype = promoted(name, handles)
    return [handle if handle.dtype == dtype else handle.astype(dtype) for handle in handles]


take_numpys_arguments(globals(), __all__)
