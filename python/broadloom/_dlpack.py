"""DLPack: shares memory with other libraries and imports memory from them, without a copy where possible.

The exported memory is NumPy's view of the values. It is read-only, which consumers of DLPack 1.0 and later are told.
Older consumers can't be told and get a copy, unless they forbid one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom._array import Array, check_device
from broadloom._creation import asarray
from broadloom._registry import registered
from broadloom._tracebacks import shows_users_lines
from broadloom._views import view_of

__all__ = ["from_dlpack"]


@registered("dlpack")
def dlpack(
    array: Array,
    /,
    *,
    stream: None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The values as a DLPack capsule: `Array.__dlpack__`. All values are computed, and kept by the array.

    A consumer that passes a `max_version` of (1, 0) or later gets memory that is marked as read-only. Another consumer
    gets a copy or, with `copy=False`, memory that it must not write.

    Raises BufferError for another device than the CPU, and, with `copy=False` and no such `max_version`, if the memory
    belongs to a read-only NumPy array; RuntimeError for a stream.

    >>> np.from_dlpack(bl.asarray([1, 2]))
    array([1, 2])
    """
    values = np.asarray(array)
    takes_flags = max_version is not None and max_version[0] >= 1
    if not (takes_flags or copy or values.flags.writeable):
        if copy is None:
            copy = True
        else:
            values = _writeable(array, values)
    return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@shows_users_lines
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array, which has a method `__dlpack__`.

    The memory is shared, and read when a value is computed, as by `asarray`. With `copy=True`, the current values are
    copied.

    Raises AttributeError if `x` has no such method; ValueError for another device than "cpu"; BufferError if the memory
    can't be exported, or, with `copy=False`, only as a copy; ValueError, with `copy=False`, if it can't be shared;
    TypeError for unsupported dtypes.

    >>> bl.from_dlpack(np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    check_device(device)
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"from_dlpack: `x` is {type(x).__name__}, which has no method `__dlpack__`")
    if isinstance(x, Array) and not copy:
        return view_of(x, Array._of(x._handle, x._origin), ())
    return asarray(np.from_dlpack(x, copy=copy), copy=False if copy is False else None)


class _Writeable:
    """Wraps memory of the engine so that NumPy considers it writeable. The array that NumPy makes keeps it alive."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        address = values.__array_interface__["data"][0]
        self.__array_interface__ = {**values.__array_interface__, "data": (address, False)}


def _writeable(array: Array, values: np.ndarray) -> np.ndarray:
    """A writeable view, for a consumer that can't be told that the memory is read-only."""
    origin = array._lender()
    if origin is None:
        return np.asarray(_Writeable(values))
    if origin.flags.writeable:
        return origin
    raise BufferError("the memory is that of a read-only NumPy array; a consumer before DLPack 1.0 gets a copy only")
