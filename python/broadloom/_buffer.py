"""NumPy memory that belongs to arrays of broadloom alone.

Results that are put together of parts, and arrays whose elements are set, are written into such a buffer and read
through a view. The handles keep only the view alive, so that the view's death tells that nothing reads the buffer any
more.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from broadloom._array import Array
from broadloom._core import Handle


class Buffer(np.ndarray):
    """Memory that belongs to arrays of broadloom alone. Since it is of its own class, NumPy does not make it the base
    of a view's views: these keep the view alive."""


def new_buffer(shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
    """A buffer whose elements have no values yet."""
    return Buffer(tuple(shape), dtype)


def region(buffer: Buffer, key: tuple[Any, ...] = ()) -> np.ndarray:
    """A part of a buffer as an array of NumPy's own class, for writing, also of a single element."""
    plain = buffer.view(np.ndarray)
    return plain[key if Ellipsis in key else (*key, Ellipsis)]


def array_over(values: Any, *operands: Any) -> Array:
    """An array over a buffer, or over what a function of NumPy's returned, which may be one of NumPy's scalars. It has
    the rule of promotion of the operands that it was made of."""
    view = np.asarray(values).view(np.ndarray)
    return Array._of(_like(Handle.from_numpy(view), *operands), view)


def _like(handle: Handle, *operands: Any) -> Handle:
    """The handle with the rule of promotion of the operands whose values it has."""
    handles = (x._handle if isinstance(x, Array) else x for x in operands)
    has_rule = any(isinstance(x, Handle) and x.by_numpy for x in handles)
    return handle.promoting_by_numpy() if has_rule else handle


def put(array: Array, buffer: Buffer, old: Handle) -> bool:
    """Makes a buffer the memory of an array, unless another thread has changed the array's handle from `old`. Returns
    whether it did."""
    view = buffer.view(np.ndarray)
    handle = _like(Handle.from_numpy(view), old)
    if array._handle is not old:
        return False
    # Nothing is called between these assignments, so that neither another thread nor an interrupt comes between them.
    array._origin = None
    array._reads = 0
    array._handle = handle
    array._origin = view
    return True


def taken(array: Array) -> tuple[Buffer, Handle] | None:
    """The buffer of an array for writing, and the array's new handle, if nothing else reads that buffer; else None. The
    array has its elements all the time.

    Another thread may use the array before the caller has written. If the array still has that handle after the caller
    has written, its elements are set. If not, the array may have other memory, and the caller has to set the elements
    again.
    """
    view, handle = array._origin, array._handle
    if view is None or not isinstance(view.base, Buffer) or view.base.shape != view.shape:
        return None
    buffer, seen = view.base, weakref.ref(view)
    fresh = buffer.view(np.ndarray)
    own = _like(Handle.from_numpy(fresh), handle)
    if array._handle is not handle:
        return None
    # A handle that was derived from the old one keeps the old view alive, and so does an array that `numpy.asarray`
    # returned. Until it is known whether there are any, the array has no origin: other threads that set elements of it
    # make a copy.
    array._origin = None
    array._handle = own
    del view, handle
    if seen() is not None or array._handle is not own:
        return None
    array._origin = fresh
    return buffer, own
