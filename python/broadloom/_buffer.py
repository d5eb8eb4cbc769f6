"""Memory of NumPy's that belongs to arrays of ours alone.

Results that are put together of parts, and arrays whose elements are set, are written into such a buffer and read
through a view. The view is what handles keep alive, so that its death tells that nothing reads the buffer any more.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from broadloom._array import Array
from broadloom._core import Handle


class Buffer(np.ndarray):
    """Memory that arrays of ours alone have. Its class keeps NumPy from making it the base of a view's views: those
    keep the view alive."""


def new_buffer(shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
    """A buffer whose elements have no values yet."""
    return Buffer(tuple(shape), dtype)


def region(buffer: Buffer, key: tuple[Any, ...] = ()) -> np.ndarray:
    """A part of a buffer as an array of NumPy's own class, for writing, also of a single element."""
    plain = buffer.view(np.ndarray)
    return plain[key if Ellipsis in key else (*key, Ellipsis)]


def array_over(values: Any, *operands: Any) -> Array:
    """An array over a buffer, or over what a function of NumPy's returned, which may be one of its scalars. It has the rule of
    promotion of the operands that it was made of."""
    view = np.asarray(values).view(np.ndarray)
    return Array._of(_like(Handle.from_numpy(view), *operands), view)


def _like(handle: Handle, *operands: Any) -> Handle:
    """A handle of computed values with the rule of promotion of what they were computed of."""
    handles = (x._handle if isinstance(x, Array) else x for x in operands)
    has_rule = any(isinstance(x, Handle) and x.by_numpy for x in handles)
    return handle.promoting_by_numpy() if has_rule else handle


def put(array: Array, buffer: Buffer, old: Handle) -> bool:
    """Makes a buffer the memory of an array, unless its handle is not the old one any more; whether it did."""
    view = buffer.view(np.ndarray)
    handle = _like(Handle.from_numpy(view), old)
    if array._handle is not old:
        return False
    # Nothing is called between these, so that neither another thread nor an interrupt comes between them.
    array._origin = None
    array._reads = 0
    array._handle = handle
    array._origin = view
    return True


def taken(array: Array) -> tuple[Buffer, Handle] | None:
    """The buffer of an array for writing, and the handle that the array has now, if nothing else reads that buffer; else
    None. The array has its elements all the time.

    Another thread may use the array before the caller has written. If the array has still that handle afterwards, the
    elements are set; if not, it may have other memory, and they are to be set again.
    """
    view, handle = array._origin, array._handle
    if view is None or not isinstance(view.base, Buffer) or view.base.shape != view.shape:
        return None
    buffer, seen = view.base, weakref.ref(view)
    fresh = buffer.view(np.ndarray)
    own = _like(Handle.from_numpy(fresh), handle)
    if array._handle is not handle:
        return None
    # A handle that has been derived from the old one keeps the old view alive, and so does what `numpy.asarray` gave
    # away. Until that is known, the array has no origin: setting elements of it meanwhile makes a copy.
    array._origin = None
    array._handle = own
    del view, handle
    if seen() is not None or array._handle is not own:
        return None
    array._origin = fresh
    return buffer, own
