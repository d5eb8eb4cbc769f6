"""Elements of arrays: `x[key]` and `x[key] = value`.

A key of ints, slices, `...` and None is a view, which stays lazy. One with arrays in it selects elements by their
values, and is handed to NumPy, with everything evaluated. To set elements gives the array another expression or
other memory: what was built from the array before keeps the elements that it had then. Elements of a view are set in the arrays
that it was taken from as well.
"""

from __future__ import annotations

import weakref
from operator import index
from types import EllipsisType
from typing import Any

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array, Steps
from broadloom._buffer import array_over, new_buffer, put, region, taken
from broadloom._core import Handle
from broadloom._operands import as_array
from broadloom._registry import registered
from broadloom._tracing import need_extent, refuse
from broadloom._views import located, parents

Number = bool | int | float
Value = Array | np.ndarray | np.generic | Number | list[Any] | tuple[Any, ...]
#: A key of a view, and one of the others.
Item = int | slice | EllipsisType | None
Items = tuple[Item | np.ndarray, ...]

#: A value is set in an array of its kind, or of one further on.
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


@registered("getitem")
def getitem(array: Array, key: Any, /) -> Array:
    """The elements at a key, `array[key]`.

    A key of ints, slices, `...` and None, alone or in a tuple, is a view: lazy, of the dtype of the array. An int
    removes its axis, and what remains may be of rank 0; None is a new axis of extent 1; slices are clipped as
    Python clips them.

    A mask, which is an array of bools, selects the elements where it is true: its shape is that of the leading axes
    of the array, which become one. Arrays of ints select the elements at these indices; several broadcast together.
    With such keys, the array and the key are evaluated, and the result is computed by NumPy, with NumPy's rules for
    keys that the standard leaves open.

    Raises IndexError for an index that is out of range, for more indices than axes, for a second `...`, for a mask
    of another shape, and for a key of another type.

    >>> x = bl.asarray([[1, 2, 3], [4, 5, 6]])
    >>> x[:, ::-2]
    Array([[3, 1],
           [6, 4]], dtype=int64)
    >>> int(x[1, -1])
    6
    >>> x[bl.asarray([[False, False, True], [True, False, False]])]
    Array([3, 4], dtype=int64)
    """
    handle, origin = array._handle, array._origin
    if type(key) is int:
        # The most frequent key, on the shortest way.
        shape = handle.shape
        if shape and shape[0] is not None:
            return array._taken(Array._of(handle.slice([_in_range(key, shape[0], 0)])), key)
    if handle.is_symbolic:
        _refuse_arrays(key)
    items = _items(key)
    if any(isinstance(item, np.ndarray) for item in items):
        if handle.is_symbolic:
            refuse("an array as an index", advice=_INSTEAD)
        return array_over(np.asarray(array)[items], array)
    view = _view(handle, items)
    return array._taken(Array._of(handle, origin) if view is handle else Array._of(view), items)


@registered("setitem")
def setitem(array: Array, key: Any, value: Value, /) -> None:
    """Sets the elements at a key, `array[key] = value`, to a value that broadcasts to them.

    The array gets other memory, or another expression; arrays that were built from it keep the elements that it had
    before, and the memory of a NumPy array that it shares is not written. If the array is what indexing, iteration, a transpose or a
    method such as `reshape` gave of another array, the elements of that one are set as well: `x[0][1] = 9` is `x[0, 1] = 9`. The value is computed, and then put into its
    place, in a copy of the elements that is made unless nothing else reads them: a loop that sets element after
    element copies them once. With a mask and a value of one element, or with the key `...`, nothing is computed
    yet. Other keys with arrays are handed to NumPy.

    The dtype of the array stays: the value is converted, as `astype` converts it. If the computation is cancelled,
    the array keeps its elements. What another thread reads meanwhile are old or new elements.

    Of a view, such as `x[0]`, `x.T` and the items of an iteration, the elements are set in `x` too: `x[0][1] = 9`. ValueError
    if `x` has other elements now than when the view was taken, or is an argument of a function that is being traced.

    Raises IndexError for a key that `array[key]` refuses; ValueError if the value doesn't broadcast; TypeError if
    its kind is above that of the array, in the order bool, integers, floats; OverflowError for an int that the
    dtype doesn't hold.

    >>> x = bl.asarray([1, 2, 3, 4])
    >>> y = x + 1
    >>> x[1:3] = 0
    >>> x, y
    (Array([1, 0, 0, 4], dtype=int64), Array([2, 3, 4, 5], dtype=int64))
    >>> x[bl.asarray([True, True, False, False])] = 9
    >>> x
    Array([9, 9, 0, 4], dtype=int64)
    """
    if array._views:
        _set_through(array, key, value)
    else:
        _set_elements(array, key, value)


def _set_through(array: Array, key: Any, value: Value) -> None:
    """Sets elements of a view, and of the arrays that it was taken from."""
    found = parents(array)
    if not found:
        array._views = ()
        _set_elements(array, key, value)
        return
    if isinstance(value, Array):
        value._evaluated()
    items = _items(key)
    is_whole = any(item is Ellipsis or isinstance(item, np.ndarray) for item in items)
    at = items if is_whole else (*items, Ellipsis)
    # First here, so that the view reads the memory of the others no more, which is then written in place.
    _set_elements(array, key, value)
    there = np.array(np.asarray(array)[at])
    done = 0
    try:
        for parent, steps in found:
            _set(parent, at, there, steps)
            done += 1
    except BaseException:
        parent, steps = found[min(done, len(found) - 1)]
        array._replace(array_over(located(np.asarray(parent), steps).copy(), array)._handle)
        raise
    finally:
        array._views = tuple((weakref.ref(parent), parent._version, steps) for parent, steps in found)


def _set_elements(array: Array, key: Any, value: Value) -> None:
    mask = _sole_mask(key)
    if mask is not None:
        values = _converted(value, array.dtype)
        if values.ndim == 0:
            array._replace(_masked(array._operand(), mask, values))
            return
    items = _items(key)
    if any(isinstance(item, np.ndarray) for item in items):
        _set_selected(array, items, value)
    else:
        _set_view(array, items, value)


def _items(key: Any) -> Items:
    """The parts of a key, with what has integers as ints, and other arrays as NumPy's."""
    return tuple(_item(one) for one in (key if isinstance(key, tuple) else (key,)))


def _item(one: Any) -> Item | np.ndarray:
    if type(one) is int or one is None or one is Ellipsis:
        return one
    if isinstance(one, slice):
        return slice(*(None if bound is None else index(bound) for bound in (one.start, one.stop, one.step)))
    if isinstance(one, (Array, np.ndarray, list, bool, np.bool_)):
        values = np.asarray(one) if not isinstance(one, list) or one else np.empty(0, np.intp)
        if values.dtype.kind not in "biu":
            raise IndexError(f"an array of {values.dtype} is no key: arrays of ints and of bools are")
        return int(values) if values.ndim == 0 and values.dtype.kind != "b" else values
    try:
        return index(one)
    except TypeError:
        kind = type(one).__name__
        raise IndexError(f"a key is an int, a slice, `...`, None, or an array of ints or bools, not {kind}") from None


def _in_range(number: int, extent: int, axis: int) -> int:
    if not -extent <= number < extent:
        raise IndexError(f"index {number} is out of range for axis {axis}, which has {extent} elements")
    return number


def _clipped(item: slice, extent: int) -> slice:
    """A slice with bounds within the axis, as a range of the engine; all of the axis is `slice(None)`."""
    start, stop, step = item.indices(extent)
    count = len(range(start, stop, step))
    if count == 0:
        return slice(None) if extent == 0 else slice(0, 0)
    if count == 1:
        return slice(None) if extent == 1 else slice(start, start + 1)
    if count == extent and step == 1:
        return slice(None)
    return slice(start, stop if stop >= 0 else None, step)


def _view(handle: Handle, items: Items) -> Handle:
    """The view that a key without arrays gives; the handle itself if that is all of it."""
    shape = handle.shape
    rank = len(shape)
    indexed = sum(item is not None and item is not Ellipsis for item in items)
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("a key has one `...` at most")
    if indexed > rank:
        raise IndexError(f"{indexed} indices are too many for an array of rank {rank}")
    place = dots[0] if dots else len(items)
    ranges: list[int | slice] = []
    new_axes: list[int] = []
    kept = 0
    for item in (*items[:place], *[slice(None)] * (rank - indexed), *items[place + 1 :]):
        if item is None:
            new_axes.append(kept)
            kept += 1
            continue
        axis, extent = len(ranges), shape[len(ranges)]
        if isinstance(item, slice):
            # The engine has its own words for an extent that is open.
            ranges.append(item if extent is None else _clipped(item, extent))
            kept += 1
        elif isinstance(item, int):
            ranges.append(item if extent is None else _in_range(item, extent, axis))
    if any(part != slice(None) for part in ranges):
        handle = handle.slice(ranges)
    for axis in new_axes:
        handle = handle.expand_dims(axis)
    return handle


def _converted(value: Value, dtype: np.dtype[Any]) -> Handle:
    """A value in the dtype of the array that it is set in."""
    is_number = isinstance(value, (bool, int, float))
    given = value if isinstance(value, Array) else np.asarray(value)
    kind = given.dtype.kind
    if kind not in KINDS and not (is_number and isinstance(value, int)):
        raise TypeError(f"a value of {given.dtype} can't be set in an array of {dtype}")
    if KINDS.get(kind, 1) > KINDS[dtype.kind]:
        what = type(value).__name__ if is_number else f"an array of {given.dtype}"
        raise TypeError(f"{what} can't be set in an array of {dtype}; convert it with `astype`")
    if is_number:
        return Handle.from_numpy(np.asarray(value, dtype))
    if isinstance(given, np.ndarray):
        # What NumPy's array has now is set, whatever is written to it later.
        given = as_array(given.copy())
    handle = given._operand()
    return handle if handle.dtype == dtype else handle.astype(dtype)


def _broadcast(values: Handle, target: Handle) -> Handle:
    """A value in the shape of what it is set in; leading axes of extent 1 may be more, as in NumPy."""
    while values.ndim > target.ndim and values.shape[0] == 1:
        values = values.squeeze(0)
    if values.dims == target.dims:
        return values
    shape = target.shape
    if None in shape:
        raise ValueError(f"a value of shape {values.dims} can't be set where the shape is {target.dims}")
    return values.broadcast_to(shape)  # type: ignore[arg-type]


def _set(array: Array, key: tuple[Any, ...], values: np.ndarray, steps: Steps = None) -> None:
    """Sets elements, of the view that the steps lead to, in memory that nothing else reads: of a copy, or in place. The array
    has either the old elements or the new ones, whatever interrupts this, and what other threads set meanwhile is not lost."""
    while True:
        found = taken(array)
        if found is None:
            old = array._handle
            buffer = new_buffer(old.shape, old.dtype)  # type: ignore[arg-type]
            _options.evaluate_into(old, region(buffer))
            located(region(buffer), steps)[key] = values
            if put(array, buffer, old):
                array._version += 1
                return
        else:
            buffer, own = found
            located(region(buffer), steps)[key] = values
            if array._handle is own:
                array._version += 1
                return


#: What to write in a traced function instead of an array as an index.
_INSTEAD = "use broadloom.where(mask, x, other), or select the elements outside of the function"


def _refuse_arrays(key: Any) -> None:
    """TracerError for a key with a traced array in it, whose values say how many elements there are."""
    for one in key if isinstance(key, tuple) else (key,):
        if isinstance(one, Array) and one._handle.is_symbolic:
            refuse("an array as an index", advice=_INSTEAD)


def _computed(value: Value, dtype: np.dtype[Any]) -> np.ndarray:
    """A value that is to be set, in memory of its own, so that it does not read what is written."""
    if isinstance(value, Array):
        # It may be what still reads the buffer: once it has memory, the buffer needs no copy.
        value._evaluated()
        lender = value._lender()
        if lender is not None and value.dtype == dtype:
            return lender
    return _converted(value, dtype).to_numpy()


#: Setting elements of a traced array, and what to write instead.
_SETTING = "setting elements other than by a mask and one value"
_SETTING_INSTEAD = "use broadloom.where(condition, value, x), or x[mask] = value"


def _set_view(array: Array, items: Items, value: Value) -> None:
    handle = array._handle
    view = _view(handle, items)
    values = _broadcast(_converted(value, handle.dtype), view)
    if view is handle:
        array._replace(values)
        return
    if values.size == 0:
        return
    if handle.is_symbolic:
        refuse(_SETTING, advice=_SETTING_INSTEAD)
    there = _computed(value, handle.dtype)
    # As here, leading axes of extent 1 may be more for NumPy. With `...` in the key, an element is an array as well.
    del handle, view, values
    _set(array, items if Ellipsis in items else (*items, Ellipsis), there)


def _set_selected(array: Array, items: Items, value: Value) -> None:
    if array._handle.is_symbolic:
        refuse(_SETTING, advice=_SETTING_INSTEAD)
    _set(array, items, _computed(value, array.dtype))


def _sole_mask(key: Any) -> Array | None:
    """The mask that is all of a key, or None."""
    one = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(one, Array) and one.dtype == np.bool_:
        return one
    if isinstance(one, (np.ndarray, np.bool_, bool)) and np.asarray(one).dtype == np.bool_:
        # What NumPy's array has now counts, whatever is written to it later.
        return as_array(np.array(one))
    return None


def _masked(handle: Handle, mask: Array, value: Handle) -> Handle:
    """The elements, but one value where a mask of the leading axes is true."""
    where, shape = mask._operand(), handle.shape
    if where.ndim > len(shape):
        raise IndexError(f"a mask of rank {where.ndim} is too large for an array of rank {len(shape)}")
    if where.dims != handle.dims[: where.ndim]:
        if None in (*where.shape, *shape[: where.ndim]):
            need_extent()
        if any(m not in (n, 0) for m, n in zip(where.shape, shape, strict=False)):
            raise IndexError(f"a mask of shape {list(where.shape)} is not of the leading axes of {list(shape)}")
        return handle
    for _ in range(len(shape) - where.ndim):
        where = where.expand_dims(where.ndim)
    return _core.apply("where", where, value, handle)
