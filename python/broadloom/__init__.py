"""Lazy arrays: whole expressions as one fused loop, with every special case right.

The package is a namespace of the Python Array API standard, edition 2024.12.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from broadloom import (
    _creation,
    _dlpack,
    _dtypes,
    _elementwise,
    _exponential,
    _joining,
    _manipulation,
    _reductions,
    _through_numpy,
    arrow,
    fft,
    linalg,
)
from broadloom._array import Array
from broadloom._core import CancelledError, Kernel, LimitError, TextError, TimeLimitError
from broadloom._creation import *
from broadloom._dlpack import *
from broadloom._dtypes import *
from broadloom._elementwise import *
from broadloom._evaluation import evaluate
from broadloom._exponential import *
from broadloom._inspection import __array_namespace_info__
from broadloom._jit import jit
from broadloom._joining import *
from broadloom._manipulation import *
from broadloom._notebook import Explanation, explain, show_versions
from broadloom._promotion import set_options
from broadloom._reductions import *
from broadloom._through_numpy import *
from broadloom._tracing import TracerError
from broadloom.arrow import from_arrow

__array_api_version__ = "2024.12"

#: Euler's number.
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
#: An axis of extent 1, in an index.
newaxis = None
pi = 3.141592653589793

__all__ = [
    "Array",
    "CancelledError",
    "Explanation",
    "Kernel",
    "LimitError",
    "TextError",
    "TimeLimitError",
    "TracerError",
    "__array_api_version__",
    "__array_namespace_info__",
    "arrow",
    "e",
    "evaluate",
    "explain",
    "fft",
    "from_arrow",
    "inf",
    "jit",
    "linalg",
    "nan",
    "newaxis",
    "pi",
    "set_options",
    "show_versions",
]
__all__ += _creation.__all__
__all__ += _dlpack.__all__
__all__ += _dtypes.__all__
__all__ += _elementwise.__all__
__all__ += _exponential.__all__
__all__ += _joining.__all__
__all__ += _manipulation.__all__
__all__ += _reductions.__all__
__all__ += _through_numpy.__all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """NumPy's functions that the standard has not: `broadloom.median` is `numpy.median`, which takes arrays; and modules for
        packages that need not be there."""
        if name == "dask":
            return import_module("broadloom.dask")
        if name.startswith("_"):
            raise AttributeError(f"module 'broadloom' has no attribute {name!r}")
        from broadloom._numpy_protocols import of_numpy

        return of_numpy(name)
