"""Arrays as values for other processes: pickling, copies, Dask's tokens, sizes.

An array travels by its values: the expression that makes them would need all of its inputs, which are as large. Since
Dask and pickle read an array as a whole anyway, both evaluate it once, and the array keeps the result. An expression that reads no
memory, of `arange` and the like, is pickled as its text, and computed where it arrives.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array, of_numpy
from broadloom._core import Kernel
from broadloom._registry import registered

#: What the values themselves take in a pickle besides their memory.
_MARGIN = 150


def from_values(values: np.ndarray, by_numpy: bool = False) -> Array:
    """An array over memory that no one else has: what unpickling calls. A buffer that came out of band may lie anywhere in a
    message, and is copied where its elements are not aligned."""
    array = of_numpy(values)
    return array.promoting_by_numpy() if by_numpy else array


def from_text(text: str, options: dict[str, Any], by_numpy: bool = False) -> Array:
    """An array of an expression that reads no memory: what unpickling calls."""
    (values,) = Kernel.parse(text, **options).run([])
    return from_values(values, by_numpy)


@registered("pickled")
def reduced(x: Array) -> tuple[Any, tuple[Any, ...]]:
    """What pickle takes: the values, or the text of an expression that reads no memory, if that is shorter. From protocol 5 on NumPy
    gives the memory of values out of band where the pickler has a `buffer_callback`, so that it isn't copied."""
    handle = x._concrete("pickling")
    if x._origin is None and not handle.is_evaluated:
        text = handle.text()
        if len(text) < (x.nbytes or 0) + _MARGIN and not Kernel.parse(text).inputs:
            accuracy, contract = _core.set_semantics()
            return from_text, (text, {"accuracy": accuracy, "contract": contract}, handle.by_numpy)
    return from_values, (np.asarray(x), handle.by_numpy)


@registered("token")
def token(x: Array) -> tuple[str, str, tuple[int, ...], str]:
    """What identifies the values: equal for equal bits, dtype and shape, in every process. An expression is evaluated:
    the same text over memory that was written to in between has other values, and Dask reads the values next."""
    values = np.asarray(x)
    packed = values if values.flags.c_contiguous else np.ascontiguousarray(values)
    digest = hashlib.blake2b(packed.data if packed.size else b"", digest_size=20).hexdigest()
    return "broadloom.Array", values.dtype.str, values.shape, digest
