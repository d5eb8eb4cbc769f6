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
from broadloom._views import read_only, view_of

__all__ = ["clip", "conj", "imag", "real"]


def clip(x: Array, /, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Each element, but at least `min` and at most `max`. Where `min` is greater than `max`, the result is `max`. None
    sets no bound. If any operand is NaN, the result is NaN. Takes numbers, gives the dtype that they promote to.

    >>> bl.clip(bl.asarray([1, 5, 9]), 2, 6)
    Array([2, 5, 6], dtype=int64)
    """
    return apply(*clip_by(x.dtype if isinstance(x, OverArrays) else handle_of(x).dtype, x, min, max))


def clip_by(dtype: np.dtype[Any], x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    """The function of the engine, and its operands, that clips elements of a dtype to bounds, either of which may be None.

    Beside an integer, the other bound of integers is the limit of their dtype: NumPy's promotion leaves out a bound of
    `clip` that bounds nothing, so that the dtype need not represent it."""
    if type(high if low is None else low) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = limits.min if low is None else low, limits.max if high is None else high
    if low is None:
        return ("positive", x) if high is None else ("minimum", x, high)
    return ("maximum", x, low) if high is None else ("clip", x, low, high)


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
    made = _core.apply("where", _core.apply("not_equal", handle, handle), zero, zero)
    return read_only(Array._of(made), "imag")


def real(x: Array, /) -> Array:
    """The real part. For a real number, it is the number itself. Takes numbers, gives their dtype.

    >>> bl.real(bl.asarray([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return view_of(x, apply("positive", x), ())


take_numpys_arguments(globals(), __all__)
