"""numexpr's calls, computed by broadloom: `evaluate("2*a + 3*b")` on NumPy arrays, in one fused pass, with every special case right.

It accepts the calls of numexpr 2.14 and returns the same dtypes. A table in the documentation ("from numexpr") lists
intentional differences. Complex numbers and strings raise a `NotImplementedError`. A text is parsed, and never executed
as Python code.

>>> import numpy as np
>>> import broadloom.numexpr as ne
>>> a, b = np.arange(3), np.array([0.5, 1.5, 2.5])
>>> ne.evaluate("2*a + 3*b")
array([ 1.5,  6.5, 11.5])
>>> ne.evaluate("sum(where(b > 1, a, 0))")
array(3)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from broadloom._core import evaluate, re_evaluate, validate
from broadloom._registry import say_where
from broadloom.numexpr import version
from broadloom.numexpr._install import install, uninstall

if TYPE_CHECKING:
    from broadloom.numexpr._compiled import NumExpr
    from broadloom.numexpr._nodes import E
    from broadloom.numexpr._threads import *
    from broadloom.numexpr._versions import print_versions
    from broadloom.numexpr.necompiler import disassemble

__all__ = [
    "E",
    "MAX_THREADS",
    "NumExpr",
    "detect_number_of_cores",
    "detect_number_of_threads",
    "disassemble",
    "evaluate",
    "get_num_threads",
    "get_vml_version",
    "install",
    "ncores",
    "nthreads",
    "print_versions",
    "re_evaluate",
    "set_num_threads",
    "set_vml_accuracy_mode",
    "set_vml_num_threads",
    "uninstall",
    "use_vml",
    "validate",
]

#: The version of numexpr that this package follows, for callers that request it.
__version__ = version.version

#: Intel's VML is not used.
use_vml: Final = False
is_cpu_amd_intel: Final = False

#: The modules in which names are looked up on first use, so that `install` is cheap and environment variables are read at
#: the same time as numexpr reads them.
_LATER: Final = ("_compiled", "_nodes", "necompiler", "_versions", "_threads")
#: The modules that numexpr's callers import.
_MODULES: Final = ("expressions", "necompiler", "utils")

say_where({"numexpr kind": "broadloom.numexpr._translate"})

for _function in (evaluate, re_evaluate, validate):
    _function.__module__ = __name__  # pickled by the name that users know
del _function


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f"{__name__}.{name}")
    elif name in __all__ or name == "_init_num_threads":
        modules = (importlib.import_module(f"{__name__}.{module}") for module in _LATER)
        value = next(getattr(module, name) for module in modules if hasattr(module, name))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
