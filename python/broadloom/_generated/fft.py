# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""Fourier transforms that `numpy.fft` computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from broadloom._array import Array
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import transformed, transformed_to_real

Norm = Literal["backward", "ortho", "forward"]
#: Complex results are NumPy arrays, which are also accepted as operands.
Complex = np.ndarray

__all__ = [
    "fft",
    "fftn",
    "hfft",
    "ifft",
    "ifftn",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftn",
]


def fft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The discrete Fourier transform along an axis, cut or filled up with zeros to `n` elements. The result is complex.

    >>> bl.fft.fft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return transformed(np.fft.fft, x, n=n, axis=axis, norm=norm)


def fftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The discrete Fourier transform along several axes, all of them by default. The result is complex.

    >>> bl.fft.fftn(bl.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return transformed(np.fft.fftn, x, s=s, axes=axes, norm=norm)


def hfft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The discrete Fourier transform, which is real, of a signal whose other half is the conjugate of `x`.

    >>> bl.fft.hfft(np.array([1 + 0j, 2, 3]))
    Array([ 8., -2.,  0., -2.], dtype=float64)
    """
    return transformed_to_real(np.fft.hfft, x, n=n, axis=axis, norm=norm)


def ifft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The inverse of `fft`. The result is complex.

    >>> bl.fft.ifft(bl.asarray([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return transformed(np.fft.ifft, x, n=n, axis=axis, norm=norm)


def ifftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The inverse of `fftn`. The result is complex.

    >>> bl.fft.ifftn(bl.ones((2, 2)))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return transformed(np.fft.ifftn, x, s=s, axes=axes, norm=norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The inverse of `hfft`. The result is complex.

    >>> bl.fft.ihfft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([ 2.5-0.j , -0.5-0.5j, -0.5-0.j ])
    """
    return transformed(np.fft.ihfft, x, n=n, axis=axis, norm=norm)


def irfft(x: Array | Complex, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of `rfft`: `n` real numbers along the axis. The default of `n` is 2 * (m - 1), where m is the extent
    of the axis.

    >>> bl.fft.irfft(np.array([10, -2 + 2j, -2]))
    Array([1., 2., 3., 4.], dtype=float64)
    """
    return transformed_to_real(np.fft.irfft, x, n=n, axis=axis, norm=norm)


def irfftn(
    x: Array | Complex, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """The inverse of `rfftn`: real numbers.

    >>> bl.fft.irfftn(np.array([[4 + 0j, 0], [0, 0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    return transformed_to_real(np.fft.irfftn, x, s=s, axes=axes, norm=norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Complex:
    """The first half of `fft` of real numbers. The other half is its conjugate. The result is complex.

    >>> bl.fft.rfft(bl.asarray([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return transformed(np.fft.rfft, x, n=n, axis=axis, norm=norm)


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Complex:
    """The discrete Fourier transform of real numbers along several axes. Along the last one, only the half for
    frequencies from 0 on is returned. The result is complex.

    >>> bl.fft.rfftn(bl.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return transformed(np.fft.rfftn, x, s=s, axes=axes, norm=norm)


take_numpys_arguments(globals(), __all__, np.fft)
