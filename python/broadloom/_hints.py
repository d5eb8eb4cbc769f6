"""Hints for attributes that arrays and the namespace lack: what to write instead of names that other libraries have."""

from __future__ import annotations

import inspect

import numpy as np

from broadloom._registry import found

#: Replacements for attributes that arrays of other libraries have.
ELSEWHERE = (
    dict.fromkeys(
        ("compute", "eval", "evaluate", "execute", "block_until_ready", "persist", "collect", "realize"),
        "broadloom.evaluate(x) computes the values, and x keeps them",
    )
    | dict.fromkeys(("to_numpy", "numpy", "get", "cpu", "values"), "numpy.asarray(x) gives the values")
    | {
        "resize": "broadloom.reshape(x, shape) is the array in another shape",
        "to_arrow": "pyarrow.array(x) has the values",
        "to_pandas": "pandas.Series(x) has the values",
    }
)


def advice_on(name: str) -> str | None:
    """What to write instead of an attribute of arrays that other libraries' arrays have, or that the namespace has."""
    if name in ELSEWHERE or name.startswith("_"):
        return ELSEWHERE.get(name)
    # Without imports on first use, since libraries ask for attributes that arrays lack.
    own = vars(found("namespace")())
    is_own = inspect.isfunction(own.get(name)) and name not in own["_LATER"]
    if is_own or isinstance(vars(np).get(name), np.ufunc | type(np.sum)):
        return f"broadloom.{name} is a function of arrays"
    if name in own["__all__"]:
        return f"see broadloom.{name}"
    return f"numpy.asarray(x).{name} is that of the values" if hasattr(np.ndarray, name) else None
