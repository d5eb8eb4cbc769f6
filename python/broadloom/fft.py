"""Fourier transforms: the extension `fft` of the Array API standard, as far as is possible without complex dtypes.

All functions except `fftfreq` and `rfftfreq` evaluate their operand and pass it to `numpy.fft`; float32 is computed as
float32. broadloom has no complex dtypes: complex results are NumPy arrays, and where the standard accepts complex
arrays, NumPy arrays are accepted. `norm` selects where to divide by n: in the inverse transform ("backward"), in the
forward transform ("forward"), or by its square root in both ("ortho"). An axis that does not exist raises IndexError,
and dtypes other than floats and integers raise TypeError.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from broadloom import _core
from broadloom._array import Array, check_device
from broadloom._core import Handle
from broadloom._dtypes import FLOATS, dtype_of
from broadloom._generated import fft as _generated
from broadloom._generated.fft import *
from broadloom._joining import roll
from broadloom._signatures import take_numpys_arguments

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__ += _generated.__all__


def _frequencies(name: str, n: int, d: float, dtype: DTypeLike | None, device: str | None, count: int) -> Array:
    check_device(device)
    wanted = np.dtype(np.float64) if dtype is None else dtype_of(dtype)
    if wanted not in FLOATS:
        raise TypeError(f"{name}: expected a float dtype, not {wanted}")
    if index(n) < 1:
        raise ValueError(f"{name}: the length of the window is {n}, less than 1")
    places = Handle.arange(0, count, 1, np.int64)
    if name == "fftfreq":
        wrapped = _core.apply("subtract", places, n)
        places = _core.apply("where", _core.apply("less", places, (n + 1) // 2), places, wrapped)
    return Array._of(_core.apply("divide", places.astype(np.float64), float(n * d)).astype(wanted))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """The frequencies of the elements of `fft` for `n` samples at a distance `d`: first 0 and the positive ones, then
    the negative ones; float64 by default. They occupy no memory.

    ValueError for `n` below 1; TypeError for a dtype that is not a float dtype.

    >>> bl.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float64)
    """
    return _frequencies("fftfreq", n, d, dtype, device, index(n))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """The frequencies of the elements of `rfft` for `n` samples at a distance `d`; float64 by default. They occupy no
    memory.

    ValueError for `n` below 1; TypeError for a dtype that is not a float dtype.

    >>> bl.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float64)
    """
    return _frequencies("rfftfreq", n, d, dtype, device, index(n) // 2 + 1)


def _shifted(x: Array, axes: int | Sequence[int] | None, sign: int) -> Array:
    chosen = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    for axis in chosen:
        extent = x.shape[axis] or 0
        x = roll(x, extent // 2 if sign > 0 else -(extent // 2), axis=axis)
    return x


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The elements, shifted so that frequency 0 is in the middle of the axes; by default, of all axes. Takes all
    dtypes.

    >>> bl.fft.fftshift(bl.fft.fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float64)
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`.

    >>> bl.fft.ifftshift(bl.asarray([-0.5, -0.25, 0.0, 0.25]))
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float64)
    """
    return _shifted(x, axes, -1)


take_numpys_arguments(globals(), __all__, np.fft)
