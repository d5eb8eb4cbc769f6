"""A pytest plugin that replaces the duck arrays of other libraries, or NumPy's arrays, in xarray's tests by
broadloom's.

Tests of duck arrays name a namespace, which is replaced by `broadloom`, without a list of expected failures. The test
of the array API imports array-api-strict, and gets broadloom instead. Other tests make arrays by the `np` of their
module, which is replaced: its creation functions return broadloom's arrays if the engine supports the dtype. Nothing in
xarray itself is changed.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray as xr

import broadloom as bl

#: The rule of promotion, and the names of test modules whose `np` is replaced.
PROMOTION = "BROADLOOM_XARRAY_PROMOTION"
MODULES = "BROADLOOM_XARRAY_MODULES"

#: NumPy's functions that make the arrays of the tests.
CREATION = ("arange", "array", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")

_DTYPES = frozenset(map(np.dtype, "?bhilBHILefd"))


def _giving_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        values = function(*args, **kwargs)
        return bl.asarray(values) if type(values) is np.ndarray and values.dtype in _DTYPES else values

    return made


class _NumPy(ModuleType):
    """NumPy with other creation functions."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def numpy_of_ours() -> ModuleType:
    """A module that behaves like NumPy, but whose creation functions return broadloom's arrays."""
    module = _NumPy("numpy_of_ours")
    for name in CREATION:
        setattr(module, name, _giving_ours(getattr(np, name)))
    return module


def _install_as_array_api_strict() -> None:
    strict = ModuleType("array_api_strict")
    strict.__dict__.update({name: getattr(bl, name) for name in bl.__all__}, __version__="2.4")
    inner = ModuleType("array_api_strict._array_object")
    inner.Array = bl.Array  # type: ignore[attr-defined]
    sys.modules |= {strict.__name__: strict, inner.__name__: inner}


def pytest_configure(config: pytest.Config) -> None:
    """Installs broadloom's arrays before tests are collected."""
    bl.set_options(promotion=os.environ[PROMOTION])  # type: ignore[arg-type]
    # Otherwise, xarray would use opt_einsum only where it is installed.
    xr.set_options(use_opt_einsum=False)
    module = numpy_of_ours()
    for name in os.environ[MODULES].split():
        if name == "test_array_api":
            _install_as_array_api_strict()
            continue
        tests = importlib.import_module(f"xarray.tests.{name}")
        if name == "test_duck_array_wrapping":
            attributes = {"array": "Array", "constructor": "asarray"}
            tests.NAMESPACE_ARRAYS["broadloom"] = {"attrs": attributes, "xfails": {}}
            tests.NAMESPACES[:] = [pytest.param("broadloom")]
            continue
        tests.np = module  # type: ignore[attr-defined]
        if hasattr(tests, "array"):
            tests.array = module.array
