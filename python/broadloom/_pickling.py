"""Arrays as values for other processes: pickling, copies, Dask's tokens, sizes.

An array travels as its values: its expression would need all of its inputs, which are as large. Since Dask and pickle
read an array as a whole anyway, both evaluate it once, and the array keeps the result. An expression that reads no
memory, for example one of `arange`, is pickled as its text, and computed where it arrives.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array, of_numpy
from broadloom._core import Kernel
from broadloom._registry import registered

#: The bytes of a pickle of values beside the values' own memory.
_MARGIN = 150


def from_values(values: np.ndarray, by_numpy: bool = False) -> Array:
    """Makes an array over memory that no one else has; unpickling calls this. A buffer that was sent out of band may
    lie anywhere in a message, and is copied if its elements are not aligned."""
    array = of_numpy(values)
    return array.promoting_by_numpy() if by_numpy else array


def from_text(text: str, options: dict[str, Any], by_numpy: bool = False) -> Array:
    """Makes an array of an expression that reads no memory; unpickling calls this."""
    (values,) = Kernel.parse(text, **options).run([])
    return from_values(values, by_numpy)


@registered("pickled")
def reduced(x: Array) -> tuple[Any, tuple[Any, ...]]:
    """The data that pickle stores: the values, or the text of an expression that reads no memory, if that is shorter.
    From protocol 5 on NumPy passes the memory of values out of band if the pickler has a `buffer_callback`, so that the
    memory isn't copied.
    """
    handle = x._concrete("pickling")
    if x._origin is None and not handle.is_evaluated:
        text = handle.text()
        if len(text) < (x.nbytes or 0) + _MARGIN and not Kernel.parse(text).inputs:
            accuracy, contract = _core.set_semantics()
            return from_text, (text, {"accuracy": accuracy, "contract": contract}, handle.by_numpy)
    return from_values, (np.asarray(x), handle.by_numpy)


@registered("token")
def token(x: Array) -> tuple[str, str, tuple[int, ...], str]:
    """The identity of the values for Dask: equal for equal bits, dtype and shape, in every process. An expression is
    evaluated for this: if its inputs' memory is written to, the same text has other values; and Dask reads the values
    next anyway.
    """
    values = np.asarray(x)
    packed = values if values.flags.c_contiguous else np.ascontiguousarray(values)
    digest = hashlib.blake2b(packed.data if packed.size else b"", digest_size=20).hexdigest()
    return "broadloom.Array", values.dtype.str, values.shape, digest
