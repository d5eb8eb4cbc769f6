"""Lazy arrays: whole expressions as one fused loop, with every special case right."""

from broadloom._array import Array
from broadloom._core import CancelledError, Kernel, LimitError, TextError
from broadloom._creation import asarray
from broadloom._jit import jit
from broadloom._tracing import TracerError

__all__ = ["Array", "CancelledError", "Kernel", "LimitError", "TextError", "TracerError", "asarray", "jit"]
