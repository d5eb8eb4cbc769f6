"""Quantiles and medians, by the engine. The operands are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._buffer import of_rule
from broadloom._core import Handle
from broadloom._operands import several_axes
from broadloom._operators import Number
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import values_of

__all__: list[str] = ["median", "quantile"]

Axes = int | tuple[int, ...] | None


def quantile(x: Array, q: Array | Number | Sequence[float], /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The quantiles of all elements or of those along axes, for numbers from 0 to 1, whose axes are the first ones of the
    result. Evaluates its operands.

    The quantile q of n elements is at the position q·(n - 1) of the sorted elements, and is interpolated linearly between two
    of them: in float64, whatever the dtype. Integers have quantiles of float64. Where an element is NaN, the result is NaN.

    Raises ValueError for a number that is not from 0 to 1, for axes that don't exist, and if there are no elements; TypeError
    for bool.

    >>> bl.quantile(bl.asarray([10, 40, 20, 30]), bl.asarray([0.5, 0.75]))
    Array([25. , 32.5], dtype=float64)
    """
    values, numbers = values_of(x), np.asarray(q, np.float64)
    rows, kept = _rows("quantile", values, axis, keepdims)
    made = _core.quantile(Handle.from_numpy(rows), numbers.ravel().tolist(), -1)
    return Array._of(of_rule(made.reshape([*numbers.shape, *kept]), x))


def median(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The median of all elements or of those along axes: the middle one, or half the sum of the middle two. Evaluates its
    operand.

    Sums are computed in float64, and integers have medians of float64. Where an element is NaN, the result is NaN.

    Raises ValueError for axes that don't exist, and if there are no elements; TypeError for bool.

    >>> bl.median(bl.asarray([[3, 1, 2], [7, 5, 9]]), axis=1)
    Array([2., 7.], dtype=float64)
    """
    rows, kept = _rows("median", values_of(x), axis, keepdims)
    return Array._of(of_rule(_core.median(Handle.from_numpy(rows), -1).reshape(kept), x))


def _rows(name: str, values: np.ndarray, axis: Axes, keepdims: bool) -> tuple[np.ndarray, list[int]]:
    """The values with the elements of each row along the last axis, and the shape of one result for each row."""
    axes = tuple(range(values.ndim)) if axis is None else several_axes(name, axis, values.ndim)
    others = [i for i in range(values.ndim) if i not in axes]
    row = int(np.prod([values.shape[i] for i in axes], dtype=np.int64))
    shape: Any = [values.shape[i] for i in others]
    rows = np.transpose(values, [*others, *axes]).reshape([*shape, row])
    kept = [1 if i in axes else extent for i, extent in enumerate(values.shape)]
    return rows, kept if keepdims else shape


take_numpys_arguments(globals(), __all__)
