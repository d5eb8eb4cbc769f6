"""Tests Fourier transforms: NumPy computes them, and real results are broadloom's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl

VALUES = np.arange(24.0).reshape(2, 3, 4) ** 1.5


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_along_an_axis(name: str, norm: Any) -> None:
    for options in ({}, {"n": 5}, {"axis": 0}):
        got = getattr(bl.fft, name)(bl.asarray(VALUES), norm=norm, **options)
        expected = getattr(np.fft, name)(VALUES, norm=norm, **options)
        assert isinstance(got, np.ndarray if expected.dtype.kind == "c" else bl.Array)
        assert got.dtype == expected.dtype and np.array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_axes(name: str) -> None:
    for options in ({}, {"axes": (0, 1)}, {"s": (2, 2), "axes": (1, 2)}):
        got = getattr(bl.fft, name)(bl.asarray(VALUES), **options)
        expected = getattr(np.fft, name)(VALUES, **options)
        assert got.dtype == expected.dtype and np.array_equal(np.asarray(got), expected)
    # In the standard, extents without axes are those of the last axes.
    expected = getattr(np.fft, name)(VALUES, s=(2, 2), axes=(-2, -1))
    assert np.array_equal(np.asarray(getattr(bl.fft, name)(bl.asarray(VALUES), s=(2, 2))), expected)


def test_a_transform_and_back() -> None:
    x = bl.asarray(VALUES.astype(np.float32))
    back = bl.fft.irfft(bl.fft.rfft(x), n=4)
    assert back.dtype == bl.float32
    np.testing.assert_allclose(np.asarray(back), np.asarray(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.1])
def test_frequencies(n: int, d: float) -> None:
    for name in ("fftfreq", "rfftfreq"):
        got, expected = getattr(bl.fft, name)(n, d=d), getattr(np.fft, name)(n, d=d)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=4e-16, atol=0)
        assert getattr(bl.fft, name)(n, dtype=bl.float32).dtype == bl.float32
    with pytest.raises(ValueError):
        bl.fft.fftfreq(0)
    with pytest.raises(TypeError):
        bl.fft.fftfreq(n, dtype=bl.int64)


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str, axes: Any) -> None:
    x = VALUES[:, :, :3]
    assert np.array_equal(
        np.asarray(getattr(bl.fft, name)(bl.asarray(x), axes=axes)), getattr(np.fft, name)(x, axes=axes)
    )


def test_dtypes_that_have_no_transform() -> None:
    with pytest.raises(TypeError, match="bool"):
        bl.fft.fft(bl.asarray([True]))
    with pytest.raises(TypeError, match="array"):
        bl.fft.fft([1.0])  # type: ignore[arg-type]
