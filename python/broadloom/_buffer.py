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
    """A part of a buffer as an array of NumPy's own class, for writing; of one element, too."""
    plain = buffer.view(np.ndarray)
    return plain[key if Ellipsis in key else (*key, Ellipsis)]


def array_over(values: Any) -> Array:
    """An array over a buffer, or over what a function of NumPy's returned, which may be one of its scalars."""
    view = np.asarray(values).view(np.ndarray)
    return Array._of(Handle.from_numpy(view), view)


def put(array: Array, buffer: Buffer) -> None:
    """Makes a buffer the memory of an array."""
    view = buffer.view(np.ndarray)
    array._replace(Handle.from_numpy(view))
    array._origin = view


def taken(array: Array) -> Buffer | None:
    """The buffer of an array, taken out of it, if nothing else reads that buffer; else None, and the array stays as
    it is.

    The caller puts the buffer back, with `put`, whatever happens.
    """
    view = array._origin
    if view is None or not isinstance(view.base, Buffer) or view.base.shape != view.shape:
        return None
    buffer, handle, seen = view.base, array._handle, weakref.ref(view)
    # A handle that has been derived from this one keeps the view alive, and so does what `numpy.asarray` gave away.
    array._handle, array._origin = Handle.full(buffer.shape, 0, buffer.dtype), None
    del view, handle
    view = seen()
    if view is None:
        return buffer
    array._handle, array._origin = Handle.from_numpy(view), view
    return None
