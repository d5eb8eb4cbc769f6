"""Elements at computed indices: `take`, `take_along_axis`, and keys that contain arrays of integers.

They are expressions: the indices are computed in the loop that uses the elements, and nothing is evaluated before its values
are needed, but for arrays of no axes in a key, which count as ints. An index out of range is an error of the evaluation.
"""

from __future__ import annotations

from operator import index
from types import EllipsisType
from typing import Any, Literal, NoReturn, TypeGuard

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._errors import ShapeError
from broadloom._operands import as_array, one_axis
from broadloom._operators import handle_of
from broadloom._signatures import take_numpys_arguments
from broadloom._tracing import known

__all__: list[str] = ["take", "take_along_axis"]

Mode = Literal["raise", "clip", "wrap"]

#: The items of a key that select a view.
Basic = int | slice | EllipsisType | None


def take(x: Array, indices: Array, /, axis: int | None = None, *, mode: Mode = "raise") -> Array:
    """The elements at indices along an axis, or in row-major order without one. Lazy.

    `indices` are integers of any dtype and shape; their axes replace the axis in the result. With the mode "raise" negative
    indices count from the end, and any other index out of range is an error. With "clip" they are taken to the first or
    last index, with "wrap" modulo the extent.

    Evaluating the result raises RangeError, which is an IndexError, for an index that is out of range, and in every mode if
    elements are taken of an axis that has none. Raises ValueError if there is no such axis, TypeError for indices that are
    not integers.

    >>> bl.take(bl.asarray([[1, 2, 3], [4, 5, 6]]), bl.asarray([2, 0]), axis=1)
    Array([[3, 1],
           [6, 4]], dtype=int64)
    >>> bl.take(bl.asarray([10, 20, 30]), bl.asarray([-1, 5]), mode="clip")
    Array([10, 30], dtype=int64)
    """
    table, numbers = handle_of(x), _integers("take", indices)
    if axis is None:
        table, axis = table.reshape([-1]), 0
    axis = one_axis("take", axis, table.ndim)
    return Array._of(_core.take(table, numbers, axis, mode))


def take_along_axis(x: Array, indices: Array, /, axis: int = -1) -> Array:
    """The elements at indices along an axis. Each position on the other axes has its own indices. Along the other axes,
    `x` and `indices` broadcast. Negative indices count from the end. Lazy.

    Evaluating the result raises RangeError, which is an IndexError, for an index that is out of range. Raises ValueError if
    there is no such axis, if the ranks differ, or if the other axes do not broadcast; TypeError for indices that are not integers.

    >>> x = bl.asarray([[3, 1, 2], [5, 6, 4]])
    >>> bl.take_along_axis(x, bl.argsort(x))
    Array([[1, 2, 3],
           [4, 5, 6]], dtype=int64)
    """
    table, numbers = handle_of(x), _integers("take_along_axis", indices)
    if table.ndim != numbers.ndim:
        raise ValueError(f"take_along_axis: x has rank {table.ndim}, the indices {numbers.ndim}")
    axis = one_axis("take_along_axis", axis, table.ndim)
    others = [along for along in range(table.ndim) if along != axis]
    extents = [(table.shape[along], numbers.shape[along]) for along in others]
    if any(one != other and not {one, other} & {1, None} for one, other in extents):
        shown = f"x has the shape {table.shape}, the indices {numbers.shape}"
        raise ShapeError(f"take_along_axis: {shown}, which do not broadcast along axes other than {axis}")
    return Array._of(_core.take_along_axis(table, numbers, axis))


def selected(array: Array, key: Any) -> Array | None:
    """The elements at a key that contains arrays of integers, by NumPy's rules; None if it contains none, or a mask."""
    given = key if isinstance(key, tuple) else (key,)
    parts = [part_of(part) for part in given]
    if not any(isinstance(part, Array) for part in parts) or any(is_mask(part) for part in parts):
        return None
    handle = array._handle
    # Beside arrays, an int is an array too. A `...` separates arrays even if it stands for no axis.
    positions = _positions(parts)
    is_adjacent = positions == list(range(positions[0], positions[-1] + 1))
    parts = completed(parts, handle.ndim)
    positions = _positions(parts)
    basic = [slice(None) if i in positions else part for i, part in enumerate(parts)]
    axes = [i for i, part in enumerate(parts) if i in positions]
    view = of_slices(handle, basic)
    numbers = [
        handle_of(as_array(np.asarray(part)) if isinstance(part, int) else part) for part in _at(parts, positions)
    ]
    _check_broadcast(numbers)
    if not is_adjacent:
        others = [axis for axis in range(view.ndim) if axis not in axes]
        view, axes = view.permute_dims([*axes, *others]), list(range(len(axes)))
    return Array._of(_core.gather(view, numbers, axes[0]))


def _check_broadcast(numbers: list[Handle]) -> None:
    """Raises IndexError, as NumPy does, if the arrays of indices of a key do not broadcast."""
    shapes = [handle.shape for handle in numbers]
    if len(shapes) < 2 or any(None in shape for shape in shapes):
        return
    try:
        np.broadcast_shapes(*map(known, shapes))
    except ValueError:
        shown = ", ".join(map(str, shapes))
        raise IndexError(f"the arrays of indices of a key have shapes that do not broadcast: {shown}") from None


def _positions(parts: list[Any]) -> list[int]:
    return [i for i, part in enumerate(parts) if isinstance(part, (Array, int))]


def _at(parts: list[Any], positions: list[int]) -> list[Any]:
    return [parts[i] for i in positions]


def part_of(part: Any) -> Array | Basic:
    """An item of a key: arrays of one or more axes, and lists and tuples, as arrays."""
    if isinstance(part, Array):
        if part.dtype.kind not in "biu":
            _refused(part.dtype)
        return part if part.ndim > 0 or part.dtype == np.bool_ or part._handle.is_symbolic else int(part)
    if isinstance(part, (list, tuple)):
        part = np.asarray(part) if len(part) else np.empty(0, np.intp)
    if isinstance(part, (np.ndarray, np.bool_, bool)):
        values = np.asarray(part)
        if values.dtype.kind not in "biu":
            _refused(values.dtype)
        return as_array(values) if values.ndim or values.dtype.kind == "b" else int(values)
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    try:
        return index(part)
    except TypeError:
        kind = type(part).__name__
        raise IndexError(f"a key is an int, a slice, `...`, None, or an array of ints or bools, not {kind}") from None


def _refused(dtype: np.dtype[Any]) -> NoReturn:
    raise IndexError(f"an array of {dtype} is no key: arrays of ints and of bools are")


def is_mask(part: Any) -> TypeGuard[Array]:
    return isinstance(part, Array) and part.dtype == np.bool_


def axes_of(part: Any) -> int:
    """The number of axes that an item of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_mask(part) else 1


def completed(parts: list[Any], rank: int) -> list[Any]:
    """The items of a key without `...`, one for each axis or the axes of a mask, and None for each new one."""
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("a key has one `...` at most")
    indexed = sum(axes_of(part) for part in parts)
    if indexed > rank:
        raise IndexError(f"{indexed} indices are too many for an array of rank {rank}")
    place = dots[0] if dots else len(parts)
    return [*parts[:place], *[slice(None)] * (rank - indexed), *parts[place + 1 :]]


def of_slices(handle: Handle, parts: list[Any]) -> Handle:
    """The view that slices select, with a new axis for each None."""
    ranges = [part for part in parts if part is not None]
    for axis, part in enumerate(ranges):
        if part.step == 0:
            raise ValueError("slice step cannot be zero")
        extent = handle.shape[axis]
        ranges[axis] = part if extent is None else _clipped(part, extent)
    if any(part != slice(None) for part in ranges):
        handle = handle.slice(ranges)
    for axis, part in enumerate(parts):
        if part is None:
            handle = handle.expand_dims(axis)
    return handle


def _clipped(part: slice, extent: int) -> slice:
    start, stop, step = part.indices(extent)
    count = len(range(start, stop, step))
    if count == 0:
        return slice(0, 0)
    return slice(start, stop if stop >= 0 else None, step)


def _integers(name: str, indices: Any) -> Handle:
    """The handle of indices; TypeError if they are not integers."""
    if isinstance(indices, (list, tuple, int)):
        indices = as_array(np.empty(0, np.intp) if indices in ([], ()) else np.asarray(indices))
    handle = handle_of(indices)
    if handle.dtype.kind not in "iu":
        raise TypeError(f"{name}: the indices are {handle.dtype}, not integers")
    return handle


take_numpys_arguments(globals(), __all__)
