"""New arrays for results."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from broadloom import LimitError
from broadloom.onnx._types import DType


def new_array(shape: Sequence[int], dtype: DType) -> np.ndarray:
    """An uninitialised array; LimitError if there is not enough memory."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        raise LimitError(f"cannot allocate {prod(shape) * dtype.itemsize} bytes") from None
