"""Lazy arrays: whole expressions as one fused loop, with every special case right.

The package implements the Python Array API standard, edition 2025.12.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from broadloom import _core, _creation, _dlpack, _dtypes, _elementwise, _errors, _joining, _manipulation, _reductions
from broadloom._array import Array
from broadloom._creation import *
from broadloom._dlpack import *
from broadloom._dtypes import *
from broadloom._elementwise import *
from broadloom._errors import *
from broadloom._evaluation import evaluate
from broadloom._generated import elementwise as _generated_elementwise
from broadloom._generated import reductions as _generated_reductions
from broadloom._generated.elementwise import *
from broadloom._generated.reductions import *
from broadloom._inspection import __array_namespace_info__
from broadloom._joining import *
from broadloom._kernels import Kernel
from broadloom._manipulation import *
from broadloom._options import get_options, set_options
from broadloom._reductions import *
from broadloom._registry import found, registered, say_where
from broadloom._tracebacks import shorten
from broadloom._tracing import TracerError

if TYPE_CHECKING:
    from broadloom import (
        _gathers,
        _gradient_rules,
        _gradients,
        _interpolation,
        _loops,
        _notebook,
        _segments,
        _selections,
        _sets,
        _sorts,
        _statistics,
        _through_numpy,
        _vectorize,
        arrow,
        fft,
        linalg,
        random,
    )
    from broadloom import dask as dask
    from broadloom._gathers import *
    from broadloom._generated.numpy_names import *
    from broadloom._gradient_rules import *
    from broadloom._gradients import *
    from broadloom._interpolation import *
    from broadloom._jit import jit
    from broadloom._loops import *
    from broadloom._notebook import *
    from broadloom._segments import *
    from broadloom._selections import *
    from broadloom._sets import *
    from broadloom._sorts import *
    from broadloom._statistics import *
    from broadloom._through_numpy import *
    from broadloom._vectorize import *
    from broadloom.arrow import from_arrow

__version__: str = _core.engine_info()[0]
__array_api_version__ = "2025.12"

#: Euler's number.
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
#: In an index: a new axis of extent 1.
newaxis = None
pi = 3.141592653589793

__all__ = [
    "Array",
    "Kernel",
    "TracerError",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
    "arrow",
    "e",
    "evaluate",
    "fft",
    "from_arrow",
    "get_options",
    "inf",
    "jit",
    "linalg",
    "nan",
    "newaxis",
    "pi",
    "random",
    "set_options",
]
__all__ += _creation.__all__
__all__ += _dlpack.__all__
__all__ += _dtypes.__all__
__all__ += _elementwise.__all__
__all__ += _errors.__all__
__all__ += _generated_elementwise.__all__
__all__ += _generated_reductions.__all__
__all__ += _joining.__all__
__all__ += _manipulation.__all__
__all__ += _reductions.__all__
if TYPE_CHECKING:
    __all__ += _loops.__all__
    __all__ += _notebook.__all__
    __all__ += _segments.__all__
    __all__ += _selections.__all__
    __all__ += _sets.__all__
    __all__ += _sorts.__all__
    __all__ += _statistics.__all__
    __all__ += _through_numpy.__all__
    __all__ += _gathers.__all__
    __all__ += _gradient_rules.__all__
    __all__ += _gradients.__all__
    __all__ += _interpolation.__all__
    __all__ += _vectorize.__all__

# Modules that are imported on first use, since they are slow to import and most programs need few of them.

say_where(
    {
        "array_capsules": "broadloom._arrow_interface",
        "array_function": "broadloom._numpy_protocols",
        "array_ufunc": "broadloom._numpy_protocols",
        "astype": "broadloom._numpy_protocols",
        "at": "broadloom._segments",
        "elements": "broadloom._printing",
        "getitem": "broadloom._indexing",
        "html": "broadloom._notebook",
        "introduce to Dask": "broadloom.dask",
        "introduce to threadpoolctl": "broadloom._threadpools",
        "matmul": "broadloom._through_numpy",
        "names_of_numpy": "broadloom._numpy_protocols",
        "of_numpy": "broadloom._numpy_protocols",
        "pickled": "broadloom._pickling",
        "pickled function": "broadloom._shipping",
        "refusal": "broadloom._refusals",
        "refusal_of_numpys": "broadloom._refusals",
        "representation": "broadloom._printing",
        "schema_capsule": "broadloom._arrow_interface",
        "search_of_numpy": "broadloom._numpy_searches",
        "setitem": "broadloom._indexing",
        "stream_capsule": "broadloom._arrow_interface",
        "teach cloudpickle": "broadloom._shipping",
        "token": "broadloom._pickling",
        "token of function": "broadloom._shipping",
        "view": "broadloom._numpy_protocols",
        "without_nulls": "broadloom.arrow",
    }
)

#: The names in the namespace that such modules define, which are their `__all__`.
_LATER = {
    name: module
    for module, names in {
        "broadloom._loops": "cond fori_loop reduce scan while_loop",
        "broadloom._notebook": "Explanation explain show_versions",
        "broadloom._pandas": "jit",
        "broadloom._segments": "bincount histogram segment_max segment_mean segment_min segment_prod segment_sum",
        "broadloom._selections": "compress nonzero",
        "broadloom._sets": "isin unique_all unique_counts unique_inverse unique_values",
        "broadloom._sorts": "argsort searchsorted sort topk",
        "broadloom._statistics": "median quantile",
        "broadloom._through_numpy": "matmul tensordot",
        "broadloom._gathers": "take take_along_axis",
        "broadloom._gradient_rules": "custom_jvp custom_vjp",
        "broadloom._gradients": "checkpoint grad hessian jacfwd jacrev jvp stop_gradient value_and_grad vjp vmap",
        "broadloom._interpolation": "interp",
        "broadloom._vectorize": "vectorize",
        "broadloom.arrow": "from_arrow",
    }.items()
    for name in names.split()
}
if not TYPE_CHECKING:
    __all__ += sorted(_LATER.keys() - set(__all__))

#: The modules in the namespace that are imported on first use.
_MODULES = {
    "arrow": "broadloom.arrow",
    "dask": "broadloom.dask",
    "fft": "broadloom.fft",
    "linalg": "broadloom.linalg",
    "random": "broadloom.random",
}


@registered("namespace")
def _namespace() -> ModuleType:
    return sys.modules[__name__]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports on first use: names in modules that are imported late, and NumPy's functions that the standard lacks.
        `broadloom.ptp` is `numpy.ptp`, which accepts arrays."""
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name in _LATER:
            globals()[name] = value = getattr(import_module(_LATER[name]), name)
            return value
        if name.startswith("_"):
            raise AttributeError(f"module 'broadloom' has no attribute {name!r}")
        try:
            return found("of_numpy")(name)
        except AttributeError as error:
            shorten(error)
            raise

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *found("names_of_numpy")()})
