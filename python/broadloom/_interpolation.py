"""Linear interpolation between the points of a table."""

from __future__ import annotations

import numpy as np

from broadloom._array import Array
from broadloom._elementwise import clip
from broadloom._gathers import take
from broadloom._generated.elementwise import isnan, where
from broadloom._operands import as_array
from broadloom._signatures import take_numpys_arguments
from broadloom._sorts import searchsorted

__all__: list[str] = ["interp"]


def interp(x: Array, xp: Array, fp: Array, left: float | None = None, right: float | None = None) -> Array:
    """The function that has the values `fp` at the points `xp`, which increase, and is linear between them, at `x`, as float64.
    Before the first point it is `left`, or the first value, and after the last one `right`, or the last value. Of NaN it is NaN.

    The places of `x` among the points are computed at once; what follows is an expression.

    Raises ValueError unless `xp` and `fp` have one axis of the same extent, which is not 0.

    >>> bl.interp(bl.asarray([0.5, 3.0]), bl.asarray([0.0, 1.0]), bl.asarray([10.0, 20.0]))
    Array([15., 20.], dtype=float64)
    """
    points, values = (_float64(given) for given in (xp, fp))
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        shapes = f"xp has the shape {points.shape}, fp {values.shape}"
        raise ValueError(f"interp: {shapes}; both have one axis of the same extent, at least 1")
    at = _float64(x)
    last = points.size - 1
    if last > 0:
        place = clip(searchsorted(points, at, side="right") - 1, 0, last - 1)
        x0, x1, y0, y1 = (take(of, place + beside) for of in (points, values) for beside in (0, 1))
        slope = (y1 - y0) / (x1 - x0)
        # NumPy's formula, which begins at the other end if the value at this one is infinite.
        inner = slope * (at - x0) + y0
        other = slope * (at - x1) + y1
        level = where(isnan(other) & (y0 == y1), y0, other)
        between = where(at == x0, y0, where(isnan(inner), level, inner))
        inside = where(at == points[last], values[last], between)
    else:
        inside = values[0]
    before = values[0] if left is None else left
    after = values[last] if right is None else right
    outside = where(at < points[0], before, where(at > points[last], after, inside))
    return outside if last == 0 else where(isnan(at), at, outside)


def _float64(x: Array) -> Array:
    return (x if isinstance(x, Array) else as_array(np.asarray(x))).astype(np.dtype(np.float64))


take_numpys_arguments(globals(), __all__)
