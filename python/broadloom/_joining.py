"""Joins arrays: functions of the Array API standard whose result can't be expressed by strides.

Each part is computed directly into its place in the memory of the result, without temporary arrays. The result is in
memory when the function returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from operator import index
from typing import Any

from broadloom import _options
from broadloom._array import Array
from broadloom._buffer import array_over, new_buffer, region
from broadloom._core import Handle
from broadloom._operands import extents, one_axis, promoted
from broadloom._operators import handle_of
from broadloom._signatures import take_numpys_arguments

__all__ = ["concat", "roll", "stack"]

Axes = int | tuple[int, ...]


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """The arrays joined along an axis; without an axis, flattened in row-major order first.

    The result has the arrays' common dtype. It is computed at once: each array directly into its part of one new
    buffer.

    Raises ValueError if the arrays differ in rank or in another extent, or if there are none; TypeError if their
    dtypes are of different kinds.

    >>> bl.concat([bl.asarray([1, 2]), bl.asarray([3])])
    Array([1, 2, 3], dtype=int64)
    """
    handles = _operands("concat", arrays)
    if axis is None:
        handles = [handle if handle.ndim == 1 else handle.reshape([-1]) for handle in handles]
        axis = 0
    shapes = [extents("concat", handle) for handle in handles]
    first = shapes[0]
    if not first:
        raise ValueError("concat: an array of rank 0 has no axis to be joined along; `stack` makes one")
    axis = one_axis("concat", axis, len(first))
    for number, shape in enumerate(shapes):
        if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            differing = f"{list(first)} and, at {number}, {list(shape)}"
            raise ValueError(f"concat: shapes may differ along axis {axis} only; there are {differing}")
    total = sum(shape[axis] for shape in shapes)
    buffer = new_buffer((*first[:axis], total, *first[axis + 1 :]), handles[0].dtype)
    start = 0
    for handle, shape in zip(handles, shapes, strict=True):
        end = start + shape[axis]
        _options.evaluate_into(handle, region(buffer, (*(slice(None),) * axis, slice(start, end))))
        start = end
    return array_over(buffer, *handles)


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """The arrays, all of the same shape, joined along a new axis, which is axis `axis` of the result.

    The result has the arrays' common dtype. It is computed at once: each array directly into its part of one new
    buffer.

    Raises ValueError if the shapes differ, or if there are no arrays; TypeError if their dtypes are of different
    kinds.

    >>> bl.stack([bl.asarray([1, 2]), bl.asarray([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    handles = _operands("stack", arrays)
    shapes = [extents("stack", handle) for handle in handles]
    first = shapes[0]
    axis = one_axis("stack", axis, len(first) + 1)
    for number, shape in enumerate(shapes):
        if shape != first:
            raise ValueError(f"stack: shapes differ: {list(first)} and, at {number}, {list(shape)}")
    buffer = new_buffer((*first[:axis], len(handles), *first[axis:]), handles[0].dtype)
    for number, handle in enumerate(handles):
        _options.evaluate_into(handle, region(buffer, (*(slice(None),) * axis, number)))
    return array_over(buffer, *handles)


def roll(x: Array, /, shift: int | tuple[int, ...], axis: Axes | None = None) -> Array:
    """The elements shifted along axes by a number of positions, toward larger indices if it is positive. Elements that
    are shifted beyond the end reappear at the start. Without an axis, the elements are shifted in row-major order.

    The result is computed at once: each block of elements directly into its part of one new buffer.

    Raises ValueError if there is no such axis, or if there are not as many numbers as axes.

    >>> bl.roll(bl.asarray([1, 2, 3, 4]), 1)
    Array([4, 1, 2, 3], dtype=int64)
    """
    handle = handle_of(x)
    if axis is None:
        flat = roll(Array._of(handle.reshape([-1])), shift, axis=0)
        return Array._of(flat._handle.reshape(extents("roll", handle)))
    shape = extents("roll", handle)
    axes = [one_axis("roll", one, len(shape)) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    places = [index(one) for one in (shift if isinstance(shift, (tuple, list)) else (shift,))]
    if len(places) == 1:
        places *= len(axes)
    elif len(axes) == 1:
        axes *= len(places)
    if len(places) != len(axes):
        raise ValueError(f"roll: {len(places)} shifts and {len(axes)} axes")
    shifts = [0] * len(shape)
    for one, places_along in zip(axes, places, strict=True):
        shifts[one] = (shifts[one] + places_along) % max(shape[one], 1)
    buffer = new_buffer(shape, handle.dtype)
    # Along an axis that is shifted by s, the last s elements move to the start, and the other elements follow them.
    along = [
        [(slice(None), slice(None))] if s == 0 else [(slice(n - s, n), slice(0, s)), (slice(0, n - s), slice(s, n))]
        for n, s in zip(shape, shifts, strict=True)
    ]
    for parts in product(*along):
        part = handle.slice([source for source, _ in parts])
        _options.evaluate_into(part, region(buffer, tuple(to for _, to in parts)))
    return array_over(buffer, handle)


def _operands(name: str, arrays: Any) -> list[Handle]:
    """The handles of arrays, converted to their common dtype."""
    handles = [handle_of(x) for x in arrays]
    if not handles:
        raise ValueError(f"{name}: there are no arrays")
    dtype = promoted(name, handles)
    return [handle if handle.dtype == dtype else handle.astype(dtype) for handle in handles]


take_numpys_arguments(globals(), __all__)
