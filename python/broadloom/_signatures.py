"""Arguments that NumPy's functions take beyond the standard's: `bl.sum(x, 0)`, `bl.round(x, 2)`, `bl.mean(x, where=mask)`.

A function of the namespace has the standard's signature. If a call does not fit that signature, but fits the NumPy
function of the same name, it calls the NumPy function, which takes broadloom's arrays and gives expressions where it
can.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from broadloom._array import Array, of_numpy


def take_numpys_arguments(namespace: dict[str, Any], names: Sequence[str], of: ModuleType = np) -> None:
    """Makes functions of a module take the arguments of the functions of the same names in a module of NumPy's as well."""
    for name in names:
        function, of_numpys = namespace[name], getattr(of, name, None)
        is_own = inspect.isfunction(function) and function.__module__ == namespace["__name__"]
        if is_own and callable(of_numpys):
            namespace[name] = _extended(function, of_numpys)


def _extended(function: Callable[..., Any], of_numpys: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            # Arguments that fit the signature were refused by the function itself.
            is_ours = _fits(function, args, kwargs) and not _is_numpys_axis(function, kwargs)
            if is_ours or not _fits(of_numpys, args, kwargs):
                raise
        made = of_numpys(*args, **kwargs)
        return made if kwargs.get("out") is not None else _ours(made)

    # Errors should name the function that the user has called.
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    return functools.wraps(function)(call)


def _fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function takes such arguments, as far as its signature tells."""
    try:
        _signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        # A NumPy function without a signature raises an error itself.
        return True
    return True


def _is_numpys_axis(function: Callable[..., Any], kwargs: dict[str, Any]) -> bool:
    """Whether None is given as the axis of a function that needs one; NumPy's function then takes the elements in
    row-major order."""
    return kwargs.get("axis", 0) is None and _signature(function).parameters["axis"].default is not None


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _ours(made: Any) -> Any:
    """A result of NumPy's for arguments without broadloom's arrays, converted to broadloom's arrays."""
    if isinstance(made, np.ndarray | np.generic) and not isinstance(made, Array) and made.dtype.kind in "biuf":
        return of_numpy(np.asarray(made))
    return type(made)(map(_ours, made)) if type(made) in (list, tuple) else made
