"""NumPy memory that only our arrays use.

Results that are assembled from parts, and arrays whose elements are assigned, are written into such a buffer and read
through a view. Handles keep the view alive and not the buffer, so that the end of the view's life shows that the buffer
has no readers left.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from broadloom._array import Array, changing
from broadloom._core import Handle


class Buffer(np.ndarray):
    """Memory that only our arrays use. It is a subclass of `ndarray` because NumPy would otherwise make it the base of
    views of the view, which then would not keep the view alive."""


def new_buffer(shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
    """An uninitialised buffer."""
    return Buffer(tuple(shape), dtype)


def region(buffer: Buffer, key: tuple[Any, ...] = ()) -> np.ndarray:
    """A part of a buffer as a plain `ndarray` for writing. It is an array even for a single element."""
    plain = buffer.view(np.ndarray)
    return plain[key if Ellipsis in key else (*key, Ellipsis)]


def array_over(values: Any, *operands: Any) -> Array:
    """An array over a buffer, or over the result of a NumPy function, which may be a NumPy scalar. It uses NumPy's
    promotion if one of the operands does."""
    view = np.asarray(values).view(np.ndarray)
    return Array._of(of_rule(Handle.from_numpy(view), *operands), view)


def of_rule(handle: Handle, *operands: Any) -> Handle:
    """The handle, with NumPy's promotion if one of the operands that it was computed from uses that."""
    handles = (x._handle if isinstance(x, Array) else x for x in operands)
    has_rule = any(isinstance(x, Handle) and x.by_numpy for x in handles)
    return handle.promoting_by_numpy() if has_rule else handle


def put(array: Array, buffer: Buffer, old: Handle, version: int) -> bool:
    """Makes a buffer the memory of an array, as an assignment, unless the array has another handle or version by now.
    Returns whether it did."""
    view = buffer.view(np.ndarray)
    handle = of_rule(Handle.from_numpy(view), old)
    with changing:
        if array._handle is not old or array._version != version:
            return False
        array._reads = 0
        array._handle = handle
        array._origin = view
        array._version += 1
        return True


def written(array: Array, own: Handle) -> bool:
    """Counts an assignment that was written to the memory of the handle that `taken` returned. Returns False if the
    array has another handle by now, so that the assignment may be lost."""
    with changing:
        if array._handle is not own:
            return False
        array._version += 1
        return True


def taken(array: Array) -> tuple[Buffer, Handle] | None:
    """Takes the buffer of an array for writing, if nothing else reads it. Returns the buffer and the array's new
    handle, or None. The array has its elements at all times.

    Another thread may use the array before the caller has written. `written` tells whether the assignment was
    successful. Otherwise the array may have other memory, and the caller must repeat the assignment.
    """
    with changing:
        view, handle = array._origin, array._handle
        if view is None or not isinstance(view.base, Buffer) or view.base.shape != view.shape:
            return None
        buffer, seen = view.base, weakref.ref(view)
        fresh = buffer.view(np.ndarray)
        own = of_rule(Handle.from_numpy(fresh), handle)
        if array._handle is not handle:
            return None
        # A handle derived from the old one keeps the old view alive, and so does an array that `numpy.asarray` returned.
        # While this is being checked, the array has no origin, so that an assignment by a signal handler makes a copy.
        array._origin = None
        array._handle = own
        del view, handle
        if seen() is not None or array._handle is not own:
            return None
        array._origin = fresh
        return buffer, own
