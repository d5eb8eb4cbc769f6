"""Operands of the functions on shapes: conversion to arrays, checks of axes, and the common dtype.

Axes are checked here and not by the engine, since the standard and NumPy's users expect an error that is both an
`IndexError` and a `ValueError`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from broadloom import _core
from broadloom._array import Array, of_numpy
from broadloom._core import Handle
from broadloom._operators import handle_of
from broadloom._tracing import known, need_extent, tracing


def as_array(x: Any) -> Array:
    """The operand of a function as an array; TypeError if it can't be converted."""
    if isinstance(x, Array):
        return x
    return of_numpy(x) if type(x) is np.ndarray else Array._of(handle_of(x))


def has_mask(kind: type) -> bool:
    """Whether a class is a NumPy masked array. If `numpy.ma` was not imported there are none, so it is not imported for
    the check."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and issubclass(kind, masked)


def one_axis(name: str, axis: Any, rank: int) -> int:
    """The axis counted from the first; `AxisError` if it does not exist."""
    return normalize_axis_index(index(axis), rank, name)


def several_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """One axis or a tuple of axes, counted from the first; ValueError for duplicates."""
    return normalize_axis_tuple(axes, rank, name)


def shape_of(name: str, shape: Any, least: int = 0) -> tuple[int, ...]:
    """The extents of a shape, or similar numbers; a single one becomes a tuple. ValueError for a number below `least`, TypeError
    for a bool."""
    numbers: tuple[int, ...]
    if any(isinstance(one, bool | np.bool) for one in (shape if isinstance(shape, list | tuple) else (shape,))):
        raise TypeError(f"{name}: an extent is an int, not a bool")
    try:
        numbers = (index(shape),)
    except TypeError:
        numbers = tuple(map(index, shape))
    if any(number < least for number in numbers):
        raise ValueError(f"{name}: there is a negative number in {numbers}")
    return numbers


def extents(handle: Handle) -> tuple[int, ...]:
    """The extents of a handle. If one is open, the function that is being traced is traced again with those of the call; outside
    of a trace it is a ValueError."""
    shape = handle.shape
    if None in shape and tracing.depth:
        need_extent()
    if None in shape:
        dims = ",".join(handle.dims)
        raise ValueError(f"the extents of {handle.dtype}[{dims}] are open, and the result depends on them")
    return known(shape)


def promoted(name: str, handles: Sequence[Handle]) -> np.dtype[Any]:
    """The dtype to which the operands of a function promote; DTypeError if they don't."""
    return _core.result_type(name, *handles, numpy_promotion=_core.by_numpy(*handles))
