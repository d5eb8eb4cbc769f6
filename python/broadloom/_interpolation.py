"""Linear interpolation between the points of a table."""

from __future__ import annotations

import numpy as np

from broadloom._array import Array
from broadloom._gathers import take
from broadloom._generated.elementwise import isnan, where
from broadloom._operands import as_array, extents
from broadloom._signatures import take_numpys_arguments

__all__: list[str] = ["interp"]


def interp(x: Array, xp: Array, fp: Array, left: float | None = None, right: float | None = None) -> Array:
    """The function that has the values `fp` at the points `xp`, which increase, and is linear between them, at `x`, as float64.
    Before the first point it is `left`, or the first value, and after the last one `right`, or the last value. Of NaN it is NaN.
    Lazy.

    Raises ValueError unless `xp` and `fp` have one axis of the same extent, which is not 0.

    >>> bl.interp(bl.asarray([0.5, 3.0]), bl.asarray([0.0, 1.0]), bl.asarray([10.0, 20.0]))
    Array([15., 20.], dtype=float64)
    """
    at, points, values = (_float64(given) for given in (x, xp, fp))
    shape, of_values = extents(points._operand()), extents(values._operand())
    if len(shape) != 1 or shape != of_values or shape[0] == 0:
        raise ValueError(
            f"interp: xp has the shape {shape}, fp {of_values}; both have one axis of the same extent, at least 1"
        )
    last = shape[0] - 1
    inside = values[0]
    if last > 0:
        place = _place(at, points, last)
        x0, x1, y0, y1 = (take(of, place + beside) for of in (points, values) for beside in (0, 1))
        slope = (y1 - y0) / (x1 - x0)
        # NumPy's formula, which begins at the other end if the value at this one is infinite.
        inner = slope * (at - x0) + y0
        other = slope * (at - x1) + y1
        level = where(isnan(other) & (y0 == y1), y0, other)
        between = where(at == x0, y0, where(isnan(inner), level, inner))
        inside = where(at == points[last], values[last], between)
    before = values[0] if left is None else left
    after = values[last] if right is None else right
    outside = where(at < points[0], before, where(at > points[last], after, inside))
    return outside if last == 0 else where(isnan(at), at, outside)


def _place(at: Array, points: Array, last: int) -> Array:
    """The index of the last point that is not above an element, at most the one before the last, by bisection."""
    place = where(isnan(at), 0, 0)
    step = 1 << (last.bit_length() - 1)
    while step > 0:
        further = place + step
        reaches = (further < last) & (take(points, further, mode="clip") <= at)
        place = where(reaches, further, place)
        step //= 2
    return place


def _float64(x: Array) -> Array:
    return (x if isinstance(x, Array) else as_array(np.asarray(x))).astype(np.dtype(np.float64))


take_numpys_arguments(globals(), __all__)
