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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadloom import _core
from broadloom._array import Array, check_device
from broadloom._buffer import array_over
from broadloom._core import Handle
from broadloom._dtypes import FLOATS, dtype_of
from broadloom._joining import roll
from broadloom._signatures import take_numpys_arguments

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]
#: Complex results are NumPy arrays, which are also accepted as operands.
Complex = np.ndarray


def _values(name: str, x: Any) -> np.ndarray:
    if not isinstance(x, (Array, np.ndarray)):
        raise TypeError(f"{name}: expected an array, not {type(x).__name__}")
    values = np.asarray(x)
    if values.dtype.kind not in "iufc":
        raise TypeError(f"{name}: does not take {values.dtype}")
    return values


def _axes(s: Sequence[int] | None, axes: Sequence[int] | None) -> Sequence[int] | None:
    """The last axes, if only extents are given."""
    return range(-len(s), 0) if s is not None and axes is None else axes


def fft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The discrete Fourier transform along an axis, cut or filled up with zeros to `n` elements. The result is complex.

    >>> bl.fft.fft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return np.fft.fft(_values("fft", x), n=n, axis=axis, norm=norm)


def ifft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The inverse of `fft`. The result is complex.

    >>> bl.fft.ifft(bl.asarray([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return np.fft.ifft(_values("ifft", x), n=n, axis=axis, norm=norm)


def fftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The discrete Fourier transform along several axes, all of them by default. The result is complex.

    >>> bl.fft.fftn(bl.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return np.fft.fftn(_values("fftn", x), s=s, axes=_axes(s, axes), norm=norm)


def ifftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The inverse of `fftn`. The result is complex.

    >>> bl.fft.ifftn(bl.ones((2, 2)))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return np.fft.ifftn(_values("ifftn", x), s=s, axes=_axes(s, axes), norm=norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The first half of `fft` of real numbers. The other half is its conjugate. The result is complex.

    >>> bl.fft.rfft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return np.fft.rfft(_values("rfft", x), n=n, axis=axis, norm=norm)


def irfft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of `rfft`: `n` real numbers along the axis. The default of `n` is 2 * (m - 1), where m is the extent
    of the axis.

    >>> bl.fft.irfft(np.array([10, -2 + 2j, -2]))
    Array([1., 2., 3., 4.], dtype=float64)
    """
    return array_over(np.fft.irfft(_values("irfft", x), n=n, axis=axis, norm=norm), x)


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The discrete Fourier transform of real numbers along several axes. Along the last one, only the half for frequencies
    from 0 on is returned. The result is complex.

    >>> bl.fft.rfftn(bl.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return np.fft.rfftn(_values("rfftn", x), s=s, axes=_axes(s, axes), norm=norm)


def irfftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """The inverse of `rfftn`: real numbers.

    >>> bl.fft.irfftn(np.array([[4 + 0j, 0], [0, 0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    return array_over(np.fft.irfftn(_values("irfftn", x), s=s, axes=_axes(s, axes), norm=norm), x)


def hfft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The discrete Fourier transform, which is real, of a signal whose other half is the conjugate of `x`.

    >>> bl.fft.hfft(np.array([1 + 0j, 2, 3]))
    Array([ 8., -2.,  0., -2.], dtype=float64)
    """
    return array_over(np.fft.hfft(_values("hfft", x), n=n, axis=axis, norm=norm), x)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The inverse of `hfft`. The result is complex.

    >>> bl.fft.ihfft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([ 2.5-0.j , -0.5-0.5j, -0.5-0.j ])
    """
    return np.fft.ihfft(_values("ihfft", x), n=n, axis=axis, norm=norm)


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
