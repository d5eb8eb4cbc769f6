"""Pickling and copying of arrays, Dask tokens, and sizes.

An array is pickled as its values, since its expression would need all of its inputs, which are as large. Dask and
pickle read the whole array anyway, so both evaluate it once, and the array keeps the result. An expression that reads
no memory, such as one of `arange`, is pickled as text and computed after unpickling.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array, of_numpy
from broadloom._core import Kernel
from broadloom._registry import registered

#: The approximate size, in bytes, that pickled values need in addition to their memory.
_MARGIN = 150


def from_values(values: np.ndarray, by_numpy: bool = False) -> Array:
    """Unpickles an array from values that no one else uses. An out-of-band buffer may be at any position in a message,
    and is copied if its elements are misaligned."""
    array = of_numpy(values)
    return array.promoting_by_numpy() if by_numpy else array


def from_text(text: str, options: dict[str, Any], by_numpy: bool = False) -> Array:
    """Unpickles an array from the text of an expression that reads no memory."""
    (values,) = Kernel.parse(text, **options).run([])
    return from_values(values, by_numpy)


@registered("pickled")
def reduced(x: Array) -> tuple[Any, tuple[Any, ...]]:
    """The data to be pickled: the values, or the text of an expression that reads no memory, if that is shorter. From
    protocol 5 on, NumPy passes the values out of band to a pickler with a `buffer_callback`, so that they are not
    copied."""
    handle = x._concrete("pickling")
    if x._origin is None and not handle.is_evaluated:
        text = handle.text()
        if len(text) < (x.nbytes or 0) + _MARGIN and not Kernel.parse(text).inputs:
            accuracy, contract = _core.set_semantics()
            return from_text, (text, {"accuracy": accuracy, "contract": contract}, handle.by_numpy)
    return from_values, (np.asarray(x), handle.by_numpy)


@registered("token")
def token(x: Array) -> tuple[str, str, tuple[int, ...], str]:
    """A hash that identifies the values: equal for equal bits, dtype and shape, in every process. The expression is
    evaluated, since an equal text has other values after a write to the memory that it reads, and Dask reads the values
    next."""
    values = np.asarray(x)
    packed = values if values.flags.c_contiguous else np.ascontiguousarray(values)
    digest = hashlib.blake2b(packed.data if packed.size else b"", digest_size=20).hexdigest()
    return "broadloom.Array", values.dtype.str, values.shape, digest
