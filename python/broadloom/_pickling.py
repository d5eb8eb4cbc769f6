"""Arrays as values for other processes: pickling, copies, Dask's tokens, sizes.

An array travels by its values: the expression that makes them would need all of its inputs, which are as large. Since
Dask and pickle read an array as a whole anyway, both evaluate it once, and the array keeps the result.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from broadloom._array import Array


def from_values(values: np.ndarray) -> Array:
    """An array over memory that nobody else has: what unpickling calls. A buffer that came out of band may lie anywhere in a
    message, and is copied where its elements are not aligned."""
    from broadloom._array import of_numpy

    return of_numpy(values)


def reduced(x: Array) -> tuple[Any, tuple[np.ndarray]]:
    """What pickle takes: the values. From protocol 5 on NumPy gives their memory out of band where the pickler has a
    `buffer_callback`, so that it isn't copied."""
    return from_values, (np.asarray(x),)


def token(x: Array) -> tuple[str, str, tuple[int, ...], str]:
    """What identifies the values: equal for equal bits, dtype and shape, in every process. An expression is evaluated:
    the same text over memory that was written to in between has other values, and Dask reads the values next."""
    values = np.asarray(x)
    packed = values if values.flags.c_contiguous else np.ascontiguousarray(values)
    digest = hashlib.blake2b(packed.data if packed.size else b"", digest_size=20).hexdigest()
    return "broadloom.Array", values.dtype.str, values.shape, digest
