"""Operands of the functions on shapes: arrays, their axes, and the dtype that several promote to.

Axes are checked here rather than by the engine, since the standard and NumPy's users expect an error that is an
`IndexError` and a `ValueError` at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from broadloom import _core, _promotion
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._creation import asarray


def as_array(x: Array | np.ndarray | np.generic) -> Array:
    """An operand as an array: one of ours, or one of NumPy's, whose memory is shared.

    Raises TypeError for anything else: a number has no dtype of its own, and a list may mean many.
    """
    if isinstance(x, Array):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        return asarray(x)
    raise TypeError(f"an operand is {type(x).__name__}; expected an array, as `asarray` makes one")


def one_axis(name: str, axis: Any, rank: int) -> int:
    """The axis counted from the first one; `AxisError` if there is none of this number."""
    number = index(axis)
    if not -rank <= number < rank:
        raise AxisError(number, rank, name)
    return number % rank


def several_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """One axis or a tuple of them, counted from the first one; ValueError if one comes twice."""
    given: Iterable[Any] = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = tuple(one_axis(name, axis, rank) for axis in given)
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: an axis comes twice in {axes}")
    return found


def extents(name: str, handle: Handle) -> tuple[int, ...]:
    """The extents of a handle; ValueError if one is open, in a function that is being traced."""
    shape = handle.shape
    if None in shape:
        dims = ",".join(handle.dims)
        raise ValueError(f"{name}: the extents of {handle.dtype}[{dims}] are open, and its result depends on them")
    return shape  # type: ignore[return-value]


@lru_cache(maxsize=256)
def _promoted_pair(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    # Of all functions, `where` is the one that takes every dtype and gives what two promote to.
    return _core.apply("where", True, Handle.full((), 0, a), Handle.full((), 0, b)).dtype


def promoted(name: str, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that several promote to; TypeError if they are of different kinds."""
    if _promotion.by_numpy():
        return np.result_type(*dtypes)
    result = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype != result:
            try:
                result = _promoted_pair(result, dtype)
            except TypeError as error:
                message = f"{name}: {result} and {dtype} do not promote to one dtype; convert one with `astype`"
                raise TypeError(message) from error
    return result
