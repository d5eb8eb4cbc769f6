"""The table of `__array_function__`: for each of NumPy's functions, a handler that computes it for our arrays; and the
conversions of arguments that handlers share.

A handler has the arguments of its function, but its caller handles `out`. It returns a handle, a list of handles, or a
value that is known without computing, or raises `Unsupported` to pass a call on to NumPy. The handlers of reductions are
generated, and call `reduced` and `accumulated`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from broadloom import _numpy_reductions
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._numpy_reductions import NO_VALUE, given, reduction
from broadloom._operands import has_mask
from broadloom._signatures import signature_of
from broadloom._ufuncs import Number, Operand, Parameter, Unsupported, lend

Result = Handle | list[Handle] | Any

#: The implementation of each NumPy function.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Result]] = {}

F = TypeVar("F", bound=Callable[..., Any])


def lazy(*functions: Callable[..., Any]) -> Callable[[F], F]:
    """A decorator that adds a function to the table, for these NumPy functions."""

    def add(function: F) -> F:
        for name in functions:
            FUNCTIONS[name] = function
        return function

    return add


def run_by_numpys_code(*functions: Callable[..., Any]) -> None:
    """Adds functions to the table whose own code, in Python, only calls attributes of arrays and functions in the table."""
    FUNCTIONS.update({function: inspect.unwrap(function) for function in functions})


def arguments_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call of NumPy's function by their names, except defaults. Only the keywords, if neither the function
    nor its handler has a signature that the call fits."""
    for one in (function, FUNCTIONS.get(function)):
        try:
            signature = signature_of(one) if one is not None else inspect.Signature()
            bound = signature.bind(*args, **kwargs).arguments
        except (TypeError, ValueError):
            continue
        return {name: value for name, value in bound.items() if value is not signature.parameters[name].default}
    return kwargs


#: The types of numbers among the arguments of a traced function.
_KINDS = {"bool": bool, "int": int, "float": float}


def operand(x: Any) -> Operand:
    """The handle of an object that NumPy would convert to an array. Python numbers are kept, since they promote
    differently."""
    if isinstance(x, Array):
        handle: Handle = x._operand()
        if type(x) is Array:
            return handle
        return Parameter(handle, _KINDS[x._kind]) if hasattr(x, "_kind") else handle
    if isinstance(x, (Handle, Parameter)):
        return x
    if type(x) in (bool, int, float):
        number: Number = x
        return number
    if isinstance(x, (np.ndarray, np.generic, list, tuple)):
        if has_mask(type(x)):
            raise Unsupported
        return lend(np.asarray(x))
    raise Unsupported


def array(x: Any) -> Handle:
    """The handle of an object that NumPy would convert to an array."""
    return as_handle(operand(x))


def as_handle(x: Operand) -> Handle:
    """The handle of an operand. For a number, it has the dtype of the number in NumPy."""
    if isinstance(x, Handle):
        return x
    return x.handle if isinstance(x, Parameter) else lend(np.asarray(x))


def reduced(
    name: str,
    a: Any,
    axis: Any,
    *,
    dtype: Any = None,
    keepdims: Any,
    initial: Any = None,
    where: Any = True,
    mean: Any = None,
    ddof: Any = 0,
    correction: Any = NO_VALUE,
) -> Handle:
    """A reduction by its name in the engine, with NumPy's arguments."""
    if given(mean):
        raise Unsupported
    mask = array(where) if isinstance(where, Array | np.ndarray) else where
    less = float(correction if given(correction) else ddof)
    return reduction(name, array(a), axis, dtype, keepdims, initial, mask, less)


def accumulated(name: str, a: Any, axis: Any, *, dtype: Any) -> Handle:
    """A cumulative function by its name in the engine, with NumPy's arguments."""
    return _numpy_reductions.cumulative(name, array(a), axis, dtype)
