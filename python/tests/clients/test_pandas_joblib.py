"""pandas takes arrays of ours; joblib and cloudpickle ship them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import broadloom as bl

VALUES = np.random.default_rng(3).standard_normal((60, 40))


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_pandas_takes_arrays() -> None:
    pd = pytest.importorskip("pandas")
    x = bl.asarray(VALUES) * 2
    assert_close(pd.Series(np.asarray(x[0])), VALUES[0] * 2)
    assert_close(pd.Series(x[0]), VALUES[0] * 2)
    assert_close(pd.DataFrame(x), VALUES * 2)
    frame = pd.DataFrame({"a": VALUES[:, 0]})
    frame["b"] = bl.asarray(frame["a"].to_numpy()) + 1
    assert_close(frame["b"], VALUES[:, 0] + 1)


def plus_one(x: bl.Array) -> bl.Array:
    return x + 1


def test_joblib_ships_arrays() -> None:
    joblib = pytest.importorskip("joblib")
    made = joblib.Parallel(n_jobs=2)(joblib.delayed(plus_one)(bl.asarray(VALUES)) for _ in range(3))
    for x in made:
        assert_close(x, VALUES + 1)


def test_cloudpickle_ships_functions_over_arrays() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    x = bl.asarray(VALUES)
    shipped = pickle.loads(cloudpickle.dumps(lambda y: y + x))
    assert_close(shipped(1.0), VALUES + 1)
