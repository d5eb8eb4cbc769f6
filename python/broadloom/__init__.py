"""Lazy arrays: whole expressions as one fused loop, with every special case right."""

from broadloom._array import Array
from broadloom._core import CancelledError, Kernel, LimitError, TextError
from broadloom._creation import asarray
from broadloom._evaluation import evaluate
from broadloom._notebook import Explanation, explain, show_versions

__all__ = [
    "Array",
    "CancelledError",
    "Explanation",
    "Kernel",
    "LimitError",
    "TextError",
    "asarray",
    "evaluate",
    "explain",
    "show_versions",
]
