"""Reductions and cumulative functions of handles, with NumPy's arguments and dtypes.

`dtype`, `keepdims`, `initial`, `where` and `ddof` have the same meaning as in NumPy. A call that can't be expressed
raises `Unsupported`, and is computed by NumPy.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from broadloom import _core
from broadloom._core import Handle
from broadloom._generated.tables import EXTREMES, IDENTITIES, MOMENTS
from broadloom._ufuncs import (
    BOOL,
    Unsupported,
    converted,
    number_as,
    own_dtype,
)

#: The function that combines an initial value with a result.
COMBINED = {
    "sum": "add",
    "nansum": "add",
    "prod": "multiply",
    "nanprod": "multiply",
    "max": "maximum",
    "min": "minimum",
}
#: The reduction that the method `reduce` of a universal function corresponds to.
REDUCED: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}

#: NumPy's marker for an argument that was not given.
NO_VALUE = np._NoValue


def given(value: Any) -> bool:
    """Whether the caller gave the argument."""
    return value is not None and value is not NO_VALUE


def axis_number(axis: Any) -> int:
    """An axis number as NumPy accepts it: an integer that is not a bool."""
    if isinstance(axis, bool | np.bool):
        raise TypeError("an integer is required for the axis")
    return index(axis)


def axes_of(axis: Any, ndim: int) -> list[int] | None:
    """The axes of a reduction, counted from the first; None for all. As in NumPy, an array without axes accepts 0 and
    -1, which select nothing. Raises `numpy.exceptions.AxisError`."""
    if axis is None:
        return None
    if isinstance(axis, tuple):
        return list(normalize_axis_tuple(tuple(map(axis_number, axis)), ndim))
    number = axis_number(axis)
    return [] if ndim == 0 and number in (0, -1) else [normalize_axis_index(number, ndim)]


def along_axis(x: Handle, axis: Any) -> tuple[Handle, int]:
    """The operand and axis for a function along one axis. Without an axis, the operand is flattened in row-major order.
    As in NumPy, an array without axes accepts 0 and -1, and counts as one element."""
    if axis is None:
        return x.reshape([-1]), 0
    number = axis_number(axis)
    if x.ndim == 0 and number in (0, -1):
        return x.reshape([1]), 0
    return x, normalize_axis_index(number, x.ndim)


def only_axis(name: str, axis: Any, ndim: int) -> int:
    """The axis of a function that accepts a tuple of axes but works along one. ValueError unless there is exactly one."""
    axes = axes_of(axis, ndim)
    axes = list(range(ndim)) if axes is None else axes
    if len(axes) != 1:
        raise ValueError(f"{name} does not allow multiple axes")
    return axes[0]


def _axes_of_reduction(name: str, x: Handle, axis: Any) -> list[int] | None:
    if name.startswith("arg") and axis is not None:
        axis = axis_number(axis)
    axes = axes_of(axis, x.ndim)
    if x.ndim == 0 and axis is not None and not isinstance(axis, tuple) and _counts_along(name, x.dtype):
        raise AxisError(index(axis), 0)
    return axes


def _counts_along(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's function requires the extent of an axis, so that it accepts no axis for an array without axes."""
    return name in ("mean", "var", "std") or (name in MOMENTS and dtype.kind != "f")


def reduction(
    name: str,
    x: Handle,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
    correction: float = 0.0,
) -> Handle:
    """A reduction with NumPy's dtypes: integers are summed as int64 or uint64, and averaged as float64."""
    axes = _axes_of_reduction(name, x, axis)
    keep = bool(keepdims) if given(keepdims) else False
    to = own_dtype(dtype) if given(dtype) else None
    if given(where) and where is not True:
        x = _where(name, x, where, initial)
    if given(initial) and name in EXTREMES and x.size == 0:
        raise Unsupported
    as_bool = x.dtype == BOOL and name in EXTREMES
    if as_bool:
        x = converted(x, np.dtype(np.uint8))
    if to is not None:
        x, to = _in_dtype(name, x, to)
    made = x.reduce(name, axes, keep, dtype=to, correction=correction, numpy_promotion=True)
    if as_bool and not name.startswith("arg"):
        made = converted(made, BOOL)
    if given(initial):
        made = _combined(name, made, initial)
    return made


def _in_dtype(name: str, x: Handle, dtype: np.dtype[Any]) -> tuple[Handle, np.dtype[Any] | None]:
    """For a requested dtype, the operand, possibly converted, and the dtype that the reduction itself has to convert
    to."""
    if name in MOMENTS:
        if dtype.kind != "f":
            raise Unsupported
        return converted(x, dtype), None
    if name in ("any", "all"):
        if dtype != BOOL:
            raise Unsupported
        return x, None
    if dtype == BOOL:
        raise Unsupported
    return (converted(x, dtype), None) if name in EXTREMES else (x, dtype)


def _where(name: str, x: Handle, where: Any, initial: Any) -> Handle:
    """The operand, with excluded elements replaced by the identity element."""
    if isinstance(where, Handle):
        mask = converted(where, BOOL)
    else:
        mask = Handle.from_numpy(np.array(where, dtype=bool))
    if name in IDENTITIES:
        instead = IDENTITIES[name]
    elif name in ("max", "min") and given(initial):
        instead = initial
    else:
        raise Unsupported
    return _core.apply("where", mask, x, number_as(instead, x.dtype))


def _combined(name: str, made: Handle, initial: Any) -> Handle:
    op = COMBINED.get(name)
    if op is None or not isinstance(initial, bool | int | float) or made.dtype == BOOL:
        raise Unsupported
    return _core.apply(op, made, number_as(initial, made.dtype))


def cumulative(name: str, x: Handle, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Handle:
    """`cumulative_sum` or `cumulative_prod`. Without an axis, all elements in row-major order are accumulated."""
    x, axis = along_axis(x, axis)
    to = own_dtype(dtype) if given(dtype) else None
    if to == BOOL:
        raise Unsupported
    if x.dtype == BOOL:
        x = converted(x, np.dtype(np.int64))
    return x.cumulative(name, axis, to, include_initial)


def rounded(x: Handle, decimals: int = 0) -> Handle:
    """`x` rounded to a number of decimals as NumPy does it: scaled by a power of ten, rounded, and scaled back."""
    if x.dtype == BOOL:
        raise Unsupported
    if decimals == 0 or (x.dtype.kind != "f" and decimals > 0):
        return x if x.dtype.kind != "f" else _core.apply("round", x)
    if x.dtype.kind != "f":
        raise Unsupported
    scale = number_as(10.0 ** abs(decimals), x.dtype)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return _core.apply(back, _core.apply("round", _core.apply(there, x, scale)), scale)
