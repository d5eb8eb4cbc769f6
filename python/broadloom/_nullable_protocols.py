"""NumPy's functions applied to arrays with nulls: `__array_ufunc__` and `__array_function__` of `NullableArray`.

Element-wise functions return null where an operand is null, and reductions skip nulls, like the functions of the
namespace; dtypes are NumPy's. A function that would lose nulls, or compute with the values at nulls, raises an error
that names it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from broadloom import _nullable
from broadloom._array import Array
from broadloom._numpy_handlers import arguments_of
from broadloom._numpy_reductions import NO_VALUE, REDUCED, given
from broadloom._operators import OverArrays
from broadloom._registry import found

#: Creates an array with nulls from values and masks.
Make = Callable[[Array, _nullable.Masks], Any]

_REDUCTIONS: dict[Any, str] = {
    getattr(np, name): name for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
}
#: Element-wise functions that are not universal functions, with the number of operands that may have nulls.
_OF_ELEMENTS: dict[Any, int] = {
    np.astype: 1,
    np.clip: 3,
    np.fix: 1,
    np.imag: 1,
    np.isclose: 2,
    np.isneginf: 1,
    np.isposinf: 1,
    np.nan_to_num: 1,
    np.real: 1,
    np.round: 1,
}
_PROPERTIES: dict[Any, str] = {np.shape: "shape", np.ndim: "ndim", np.size: "size"}


def _refuse(name: str) -> TypeError:
    return TypeError(
        f"{name}: an array of the operands may have nulls, which this function would lose; replace or drop them first with "
        "fill_null or drop_null. Functions of elements keep nulls, and bl.sum and its like skip them"
    )


def _wrapped(made: Any, masks: _nullable.Masks, make: Make) -> Any:
    return tuple(make(x, masks) for x in made) if isinstance(made, tuple) else make(made, masks)


def of_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], make: Make) -> Any:
    """The result of a universal function, or of one of its methods."""
    name = f"np.{ufunc.__name__}"
    if method == "reduce" and ufunc in REDUCED:
        return _reduced(f"{name}.reduce", REDUCED[ufunc], *inputs, **{"axis": 0, **kwargs})
    if method != "__call__":
        raise _refuse(f"{name}.{method}")
    if ufunc.signature is not None:
        raise _refuse(name)
    _check_options(name, kwargs, ("dtype", "casting", "order", "subok", "signature", "sig"))
    made, masks = _nullable.of_elements(ufunc.__name__, inputs, lambda *values: ufunc(*values, **kwargs))
    return _wrapped(made, masks, make)


def unknown_operand(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """NotImplemented if another operand may know the universal function; else raises TypeError, which names the operand."""
    if any(hasattr(type(x), "__array_ufunc__") for x in operands if not isinstance(x, (OverArrays, np.ndarray))):
        return NotImplemented
    error = TypeError(f"{ufunc.__name__} takes arrays and numbers")
    raise found("refusal_of_numpys")(error, ufunc.__name__, {}, operands) from None


def of_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], make: Make) -> Any:
    """The result of another NumPy function."""
    try:
        return _by_function(function, args, kwargs, make)
    except Exception as error:
        said = found("refusal_of_numpys")(error, function.__name__, arguments_of(function, args, kwargs), ())
        if said is not error:
            raise said from None
        raise


def _by_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], make: Make) -> Any:
    name = f"np.{function.__name__}"
    if function in _PROPERTIES and len(args) == 1 and not kwargs:
        return getattr(args[0], _PROPERTIES[function])
    if function in _REDUCTIONS:
        try:
            named = inspect.signature(function).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        return _reduced(name, _REDUCTIONS[function], named.pop("a"), **named)
    if function is np.where and len(args) == 3:
        return make(*_nullable.of_elements("where", args))
    count = _OF_ELEMENTS.get(function)
    if count is None or any(isinstance(x, OverArrays) for x in (*args[count:], *kwargs.values())):
        raise _refuse(name)
    _check_options(name, kwargs, kwargs.keys() - {"out", "where"})
    is_operand = [x is not None and i < count for i, x in enumerate(args)]

    def applied(*values: Any) -> Any:
        left = iter(values)
        return function(*(next(left) if is_one else x for x, is_one in zip(args, is_operand, strict=True)), **kwargs)

    operands = tuple(x for x, is_one in zip(args, is_operand, strict=True) if is_one)
    made, masks = _nullable.of_elements(function.__name__, operands, applied)
    return _wrapped(made, masks, make)


def _check_options(name: str, kwargs: dict[str, Any], allowed: Any) -> None:
    for option in kwargs.keys() - set(allowed):
        if option in ("out", "where") and kwargs[option] in (None, True):
            continue
        raise TypeError(f"{name}: `{option}` is not supported for arrays with nulls")


def _reduced(name: str, bare: str, x: Any, **options: Any) -> Any:
    """A reduction with NumPy's arguments; `name` is its name in the namespace."""
    axis, keepdims = options.pop("axis", None), options.pop("keepdims", False)
    if not isinstance(x, OverArrays):
        raise _refuse(name)
    left = {option: value for option, value in options.items() if given(value) and (option, value) != ("where", True)}
    taken: dict[str, Any] = {}
    if bare in ("var", "std"):
        taken["correction"] = float(left.pop("correction", 0)) + float(left.pop("ddof", 0))
    if "dtype" in left:
        if bare not in ("sum", "prod"):
            raise TypeError(f"{name}: `dtype` is not supported for arrays with nulls; see astype")
        taken["dtype"] = np.dtype(left.pop("dtype"))
    for option in left:
        raise TypeError(f"{name}: `{option}` is not supported for arrays with nulls")
    return x._reduce(bare, axis, bool(keepdims) if keepdims is not NO_VALUE else False, **taken)
