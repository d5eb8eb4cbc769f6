"""Element-wise functions that differ from their row in the engine's table, or have no row: `clip`, whose bounds may be
omitted, and the parts of complex numbers, which are defined for real numbers too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array, apply
from broadloom._core import Handle
from broadloom._operators import Number, OverArrays, handle_of
from broadloom._signatures import take_numpys_arguments

__all__ = ["clip", "conj", "imag", "real"]


def clip(x: Array, /, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Each element, but at least `min` and at most `max`. Where `min` is greater than `max`, the result is `max`. None
    sets no bound. If any operand is NaN, the result is NaN. Takes numbers, gives the dtype that they promote to.

    >>> bl.clip(bl.asarray([1, 5, 9]), 2, 6)
    Array([2, 5, 6], dtype=int64)
    """
    if (min is None) != (max is None):
        min, max = _with_the_other_bound(x, min, max)
    if min is None:
        return apply("positive", x) if max is None else apply("minimum", x, max)
    return apply("maximum", x, min) if max is None else apply("clip", x, min, max)


def _with_the_other_bound(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of `clip`, one of which is None. Beside an integer that the dtype can't represent, it becomes the limit of
    the dtype, so that the engine takes the integer for a bound, which NumPy's promotion leaves out if it bounds nothing."""
    bound = high if low is None else low
    dtype = x.dtype if isinstance(x, OverArrays) else handle_of(x).dtype
    if type(bound) is not int or dtype.kind not in "iu":
        return low, high
    limits = np.iinfo(dtype)
    if limits.min <= bound <= limits.max:
        return low, high
    return (limits.min, high) if low is None else (low, limits.max)


def conj(x: Array, /) -> Array:
    """The complex conjugate. For a real number, it is the number itself. Takes numbers, gives their dtype.

    >>> bl.conj(bl.asarray([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return apply("positive", x)


def imag(x: Array, /) -> Array:
    """The imaginary part. For a real number, it is 0. Takes numbers, gives their dtype.

    >>> bl.imag(bl.asarray([1.0, 2.0]))
    Array([0., 0.], dtype=float64)
    """
    handle = handle_of(x)
    zero = Handle.full([], 0, handle.dtype)
    return Array._of(_core.apply("where", _core.apply("not_equal", handle, handle), zero, zero))


def real(x: Array, /) -> Array:
    """The real part. For a real number, it is the number itself. Takes numbers, gives their dtype.

    >>> bl.real(bl.asarray([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return apply("positive", x)


take_numpys_arguments(globals(), __all__)
