"""Numbers of attributes as operands, and the dtypes that are wide enough to compute in."""

from __future__ import annotations

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom.onnx._types import DType

apply = _core.apply

FLOAT32 = np.dtype("f4")
FLOAT64 = np.dtype("f8")
INT64 = np.dtype("i8")
BOOL = np.dtype("bool")


def literal(value: float, dtype: DType) -> Handle:
    """A number as ONNX casts it to a dtype: a float that is too large becomes infinite, and a float for a dtype of
    integers loses its fraction."""
    with np.errstate(all="ignore"):
        converted = np.asarray(value).astype(dtype).item()
    return Handle.full([], converted, dtype)


def like(x: Handle, value: float) -> Handle:
    """A number in the dtype of an operand."""
    return literal(value, x.dtype)


def select(condition: Handle, x: Handle, y: Handle) -> Handle:
    """x where the condition holds, else y."""
    return apply("where", condition, x, y)


def widened(x: Handle) -> Handle:
    """The operand; float16 becomes float32, since several operations of short floats in a row would lose digits."""
    return x.astype(FLOAT32) if x.dtype == np.float16 else x


def as_float(x: Handle) -> Handle:
    """The operand in a dtype of floats that is wide enough to compute in; integers become float64."""
    return widened(x) if x.dtype.kind == "f" else x.astype(FLOAT64)


def back(made: Handle, x: Handle) -> Handle:
    """A result converted to the dtype of the operand of which it was computed."""
    return made if made.dtype == x.dtype else made.astype(x.dtype)
