"""The arguments of a call of a function made by `jit`: which parameters they are of, and what the extension is given for them."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from broadloom._core import Handle


def in_order(
    bound: inspect.BoundArguments, signature: inspect.Signature
) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """The arguments of a call by their parameters: positional ones as long as none is left out, and keywords."""
    positional: list[tuple[str, Any]] = []
    keywords: list[tuple[str, Any]] = []
    is_complete = True
    for name, parameter in signature.parameters.items():
        if name not in bound.arguments:
            is_complete = False
            continue
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend((name, x) for x in value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.extend(value.items())
        elif parameter.kind is parameter.KEYWORD_ONLY or not is_complete:
            keywords.append((name, value))
        else:
            positional.append((name, value))
    return positional, keywords


def argument(function: str, name: str, value: Any) -> Any:
    """An argument as the extension takes it: an array of NumPy's own class that can be shared, or a number of Python's."""
    if type(value) in (bool, int, float):
        return value
    values = np.asarray(value)
    try:
        Handle.from_numpy(values)
    except TypeError as error:
        shown = f"`{name}`" if name else "an argument"
        raise TypeError(f"{function}: {shown} is {type(value).__name__}: {error}") from None
    except ValueError:
        values = values.astype(values.dtype.newbyteorder("="), order="C")
    return values


@functools.lru_cache(maxsize=1024)
def can_be_named(name: str) -> bool:
    """Whether an input of kernels can have the name."""
    try:
        Handle.input(name, "bool", []).text()
    except ValueError:
        return False
    return True
