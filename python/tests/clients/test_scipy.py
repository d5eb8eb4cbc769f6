"""SciPy takes arrays of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl

VALUES = np.random.default_rng(3).standard_normal((60, 40))


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_scipy_takes_arrays() -> None:
    scipy = pytest.importorskip("scipy")
    ndimage, optimize, special = (pytest.importorskip(f"scipy.{name}") for name in ("ndimage", "optimize", "special"))
    assert scipy is not None
    x = bl.asarray(VALUES)
    assert_close(special.expit(x), special.expit(VALUES))
    assert_close(ndimage.gaussian_filter(x, 1), ndimage.gaussian_filter(VALUES, 1))
    found = optimize.minimize(lambda p: float(bl.sum((bl.asarray(p) - 3) ** 2)), np.zeros(2))
    np.testing.assert_allclose(found.x, [3, 3], atol=1e-4)


def plus_one(x: bl.Array) -> bl.Array:
    return x + 1
