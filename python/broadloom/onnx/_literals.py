"""Numbers from attributes as operands, and wider dtypes for intermediate results."""

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
    """A number converted to a dtype by ONNX's rules: a float that is too large becomes infinite, and a float for an
    integer dtype is truncated."""
    with np.errstate(all="ignore"):
        converted = np.asarray(value).astype(dtype).item()
    return Handle.full([], converted, dtype)


def like(x: Handle, value: float) -> Handle:
    """A number in the dtype of an operand."""
    return literal(value, x.dtype)


def select(condition: Handle, x: Handle, y: Handle) -> Handle:
    """`x` where the condition is true, else `y`."""
    return apply("where", condition, x, y)


def converted(x: Handle, dtype: DType) -> Handle:
    """An operand in a dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


def widened(x: Handle) -> Handle:
    """Converts float16 to float32, since a sequence of float16 operations would lose digits; other dtypes are kept."""
    return x.astype(FLOAT32) if x.dtype == np.float16 else x


def as_float(x: Handle) -> Handle:
    """A float operand in a dtype wide enough for intermediate results; integers become float64."""
    return widened(x) if x.dtype.kind == "f" else x.astype(FLOAT64)


def back(made: Handle, x: Handle) -> Handle:
    """A result converted to the dtype of the operand that it was computed from."""
    return converted(made, x.dtype)
