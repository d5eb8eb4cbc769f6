"""Reading and assigning elements: `x[key]` and `x[key] = value`.

A key of ints, slices, `...` and None selects a view, which is lazy. A key that contains arrays of ints selects elements,
lazily too (`_gathers`). A key that contains masks evaluates everything (`_selections`). Assignment gives the array another expression or other
memory: arrays built from it before keep the elements that it had then. Assignment to a view also sets the elements of
the arrays that the view was taken from.
"""

from __future__ import annotations

import weakref
from operator import index
from types import EllipsisType
from typing import Any

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array, Steps
from broadloom._buffer import array_over, new_buffer, put, region, taken, written
from broadloom._core import Handle
from broadloom._gathers import selected
from broadloom._operands import as_array
from broadloom._registry import registered
from broadloom._selections import masked
from broadloom._tracing import known, need_extent, refuse
from broadloom._views import located, parents

Number = bool | int | float
Value = Array | np.ndarray | np.generic | Number | list[Any] | tuple[Any, ...]
#: `Item` is an item of a key that selects a view. A key that contains NumPy arrays selects a copy.
Item = int | slice | EllipsisType | None
Items = tuple[Item | np.ndarray, ...]

#: Kinds in ascending order. A value may be assigned to an array of the same kind or a higher one.
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


@registered("getitem")
def getitem(array: Array, key: Any, /) -> Array:
    """The elements at a key, `array[key]`.

    A key of ints, slices, `...` and None, alone or in a tuple, selects a view: it is lazy and has the dtype of the
    array. An int removes its axis, and the result may have rank 0. None adds an axis of extent 1. Slices are clipped as
    in Python.

    A mask, which is an array of bools, selects the elements where it is true. Its shape must be equal to the extents of the
    axes at its place, which become one axis. With a mask, the array and the key are evaluated. Arrays of ints select the elements at these indices, by NumPy's rules: several of them
    broadcast. The result is lazy, and an index that is out of range is an error when it is evaluated.

    Raises IndexError for an index that is out of range, for more indices than axes, for a second `...`, for a mask of
    another shape, and for a key of another type.

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
        # The fast path for the most common key.
        shape = handle.shape
        if shape and shape[0] is not None:
            return array._taken(Array._of(handle.slice([_in_range(key, shape[0], 0)])), key)
    found = selected(array, key)
    if found is not None:
        return found
    if handle.is_symbolic:
        _refuse_arrays(key)
    else:
        found = masked(array, key)
        if found is not None:
            return found
    items = _items(key)
    if any(isinstance(item, np.ndarray) for item in items):
        if handle.is_symbolic:
            refuse("a mask as an index", advice=_INSTEAD)
        return array_over(np.asarray(array)[items], array)
    view = _view(handle, items)
    return array._taken(Array._of(handle, origin) if view is handle else Array._of(view), items)


@registered("setitem")
def setitem(array: Array, key: Any, value: Value, /) -> None:
    """Sets the elements at a key, `array[key] = value`, to a value that broadcasts to them.

    The array gets other memory or another expression. Arrays built from it keep the elements that it had before, and
    the memory of a NumPy array that it shares is not written. The value is computed first, and then stored in a copy of
    the elements. The copy is only made if something else reads the elements: a loop that sets one element after the
    other copies them once. With a mask and a single value, or with the key `...`, nothing is computed yet. Other keys
    with arrays are passed to NumPy.

    The dtype of the array is not changed: the value is converted as by `astype`. If the computation is cancelled, the
    array keeps its elements. Another thread sees either the old or the new elements.

    If the array is a view of `x`, such as `x[0]`, `x.T`, an item of an iteration or the result of a method such as
    `reshape`, the elements are set in `x` too: `x[0][1] = 9` is `x[0, 1] = 9`. ValueError if `x` has other elements now
    than when the view was taken, or is an argument of a function that is being traced.

    Raises IndexError for a key that `array[key]` rejects; ValueError if the value doesn't broadcast; TypeError if its
    kind is above the array's kind, in the order bool, integers, floats; OverflowError for an int that the dtype can't
    represent.

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
    """Assigns elements of a view, and of the arrays that the view was taken from."""
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
    # The view is assigned first, so that it no longer reads the memory of the other arrays, which can then be written
    # in place.
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
        values = converted_value(value, array.dtype)
        if values.ndim == 0:
            array._replace(_masked(array._operand(), mask, values))
            return
    items = _items(key)
    if any(isinstance(item, np.ndarray) for item in items):
        _set_selected(array, items, value)
    else:
        _set_view(array, items, value)


def _items(key: Any) -> Items:
    """The items of a key, with integers as ints and other arrays as NumPy arrays."""
    return tuple(_item(one) for one in (key if isinstance(key, tuple) else (key,)))


def _item(one: Any) -> Item | np.ndarray:
    if type(one) is int or one is None or one is Ellipsis:
        return one
    if isinstance(one, slice):
        return slice(*(None if bound is None else index(bound) for bound in (one.start, one.stop, one.step)))
    if isinstance(one, (Array, np.ndarray, list, tuple, bool, np.bool_)):
        values = np.empty(0, np.intp) if isinstance(one, (list, tuple)) and not one else np.asarray(one)
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
    """A slice whose bounds are clipped to the axis. A slice of the whole axis becomes `slice(None)`."""
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
    """The view that a key without arrays selects. If it selects everything, the handle itself is returned."""
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
            # The engine has its own error message for a dynamic extent.
            ranges.append(item if extent is None else _clipped(item, extent))
            kept += 1
        elif isinstance(item, int):
            ranges.append(item if extent is None else _in_range(item, extent, axis))
    if any(part != slice(None) for part in ranges):
        handle = handle.slice(ranges)
    for axis in new_axes:
        handle = handle.expand_dims(axis)
    return handle


def converted_value(value: Value, dtype: np.dtype[Any]) -> Handle:
    """A value converted to the dtype of the array that it is assigned to."""
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
        # Copies the current values of the NumPy array, which may be written to later.
        given = as_array(given.copy())
    handle = given._operand()
    return handle if handle.dtype == dtype else handle.astype(dtype)


def broadcast_value(values: Handle, target: Handle) -> Handle:
    """A value broadcast to the shape that it is assigned to. As in NumPy, it may have additional leading axes of extent
    1."""
    while values.ndim > target.ndim and values.shape[0] == 1:
        values = values.squeeze(0)
    if values.dims == target.dims:
        return values
    shape = target.shape
    if None in shape:
        raise ValueError(f"a value of shape {values.dims} can't be set where the shape is {target.dims}")
    return values.broadcast_to(known(shape))


def _set(array: Array, key: tuple[Any, ...], values: np.ndarray, steps: Steps = None) -> None:
    """Assigns elements of the array, or of the view that `steps` lead to, in memory that nothing else reads: in a copy,
    or in place. The array has either the old elements or the new ones, even after an interrupt, and concurrent
    assignments by other threads are not lost."""
    while True:
        found = taken(array)
        if found is None:
            version, old = array._version, array._handle
            buffer = new_buffer(known(old.shape), old.dtype)
            _options.evaluate_into(old, region(buffer))
            located(region(buffer), steps)[key] = values
            if put(array, buffer, old, version):
                return
        else:
            buffer, own = found
            located(region(buffer), steps)[key] = values
            if written(array, own):
                return


#: Advice for an array as an index in a traced function.
_INSTEAD = "use broadloom.where(mask, x, other), or select the elements outside of the function"


def _refuse_arrays(key: Any) -> None:
    """Raises TracerError if a key contains a traced array, since the number of elements would depend on its values."""
    for one in key if isinstance(key, tuple) else (key,):
        if isinstance(one, Array) and one._handle.is_symbolic:
            refuse("a mask as an index", advice=_INSTEAD)


def _computed(value: Value, dtype: np.dtype[Any]) -> np.ndarray:
    """The value to be assigned, in separate memory, so that it does not read the memory being written."""
    if isinstance(value, Array):
        # The value itself may read the buffer. After it has been evaluated, the buffer can be written without a copy.
        value._evaluated()
        lender = value._lender()
        if lender is not None and value.dtype == dtype:
            return lender
    return converted_value(value, dtype).to_numpy()


#: The description of unsupported assignments to a traced array, and advice.
_SETTING = "setting elements other than by a mask and one value"
_SETTING_INSTEAD = "use broadloom.where(condition, value, x), or x[mask] = value"


def _set_view(array: Array, items: Items, value: Value) -> None:
    handle = array._handle
    view = _view(handle, items)
    values = broadcast_value(converted_value(value, handle.dtype), view)
    if view is handle:
        array._replace(values)
        return
    if values.size == 0:
        return
    if handle.is_symbolic:
        refuse(_SETTING, advice=_SETTING_INSTEAD)
    there = _computed(value, handle.dtype)
    # NumPy also accepts additional leading axes of extent 1. With `...` in the key, even a single element is an array.
    del handle, view, values
    _set(array, items if Ellipsis in items else (*items, Ellipsis), there)


def _set_selected(array: Array, items: Items, value: Value) -> None:
    if array._handle.is_symbolic:
        refuse(_SETTING, advice=_SETTING_INSTEAD)
    _set(array, items, _computed(value, array.dtype))


def _sole_mask(key: Any) -> Array | None:
    """The mask, if the key consists of one mask only, else None."""
    one = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(one, Array) and one.dtype == np.bool_:
        return one
    if isinstance(one, (np.ndarray, np.bool_, bool)) and np.asarray(one).dtype == np.bool_:
        # Copies the current values of the NumPy array, which may be written to later.
        return as_array(np.array(one))
    return None


def _masked(handle: Handle, mask: Array, value: Handle) -> Handle:
    """The elements, with `value` where the mask, which covers the leading axes, is true."""
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
