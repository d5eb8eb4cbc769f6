"""Quantiles and medians. Lazy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._operands import extents, several_axes
from broadloom._operators import Number, handle_of
from broadloom._signatures import take_numpys_arguments

__all__: list[str] = ["median", "quantile"]

Axes = int | tuple[int, ...] | None


def quantile(x: Array, q: Array | Number | Sequence[float], /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The quantiles of all elements or of those along axes, for numbers from 0 to 1, whose axes are the first ones of the
    result. Lazy, but for the numbers.

    The quantile q of n elements is at the position q·(n - 1) of the sorted elements, and is interpolated linearly between two
    of them: in float64, whatever the dtype. Integers have quantiles of float64. Where an element is NaN, the result is NaN.

    Raises ValueError for a number that is not from 0 to 1, for axes that don't exist, and if there are no elements; TypeError
    for bool.

    >>> bl.quantile(bl.asarray([10, 40, 20, 30]), bl.asarray([0.5, 0.75]))
    Array([25. , 32.5], dtype=float64)
    """
    numbers = np.asarray(q, np.float64)
    rows, kept = _rows("quantile", handle_of(x), axis, keepdims)
    made = _core.quantile(rows, numbers.ravel().tolist(), -1)
    return Array._of(made.reshape([*numbers.shape, *kept]))


def median(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The median of all elements or of those along axes: the middle one, or half the sum of the middle two. Lazy.

    Sums are computed in float64, and integers have medians of float64. Where an element is NaN, the result is NaN.

    Raises ValueError for axes that don't exist, and if there are no elements; TypeError for bool.

    >>> bl.median(bl.asarray([[3, 1, 2], [7, 5, 9]]), axis=1)
    Array([2., 7.], dtype=float64)
    """
    rows, kept = _rows("median", handle_of(x), axis, keepdims)
    return Array._of(_core.median(rows, -1).reshape(kept))


def _rows(name: str, x: Handle, axis: Axes, keepdims: bool) -> tuple[Handle, list[int]]:
    """The elements of each row along the last axis, and the shape of one result for each row."""
    whole = extents(x)
    axes = tuple(range(x.ndim)) if axis is None else several_axes(name, axis, x.ndim)
    others = [i for i in range(x.ndim) if i not in axes]
    shape = [whole[i] for i in others]
    rows = x.permute_dims([*others, *axes]).reshape([*shape, prod(whole[i] for i in axes)])
    kept = [1 if i in axes else extent for i, extent in enumerate(whole)]
    return rows, kept if keepdims else shape


take_numpys_arguments(globals(), __all__)
