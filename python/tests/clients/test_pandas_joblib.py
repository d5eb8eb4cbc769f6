"""Tests that pandas accepts broadloom's arrays, and that joblib and cloudpickle transfer them."""

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


# `jit` as an engine of pandas.


def frame() -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        {"a": [1.0, 2.5, np.nan, 4.0], "b": [3, 1, 2, 5], "name": ["w", "x", "y", "z"]}, index=list("pqrs")
    )


def assert_frames(made: Any, expected: Any) -> None:
    import pandas.testing

    check = pandas.testing.assert_frame_equal if expected.ndim == 2 else pandas.testing.assert_series_equal
    check(made, expected, rtol=1e-14)


@pytest.mark.parametrize("engine", [bl.jit, bl.jit(threads=1)], ids=["jit", "with options"])
def test_functions_of_rows_are_one_kernel(engine: Any) -> None:
    data = frame()
    assert_frames(data.apply(lambda row: row["a"] * 2 + row.b, axis=1, engine=engine), data["a"] * 2 + data["b"])
    scaled = data.apply(lambda row, by, plus=0.0: row["b"] * by + plus, axis=1, engine=engine, args=(3,), plus=0.5)
    assert_frames(scaled, (data["b"] * 3 + 0.5).rename(None))
    both = data.apply(lambda row: (row.a + 1, row.b * 2), axis=1, engine=engine)
    assert both[0].equals(data["a"] + 1) and both[1].tolist() == [6, 2, 4, 10] and both.index.tolist() == list("pqrs")
    constant = data.apply(lambda row: 7, axis=1, engine=engine)
    assert constant.tolist() == [7] * 4


def test_functions_of_columns_run_on_each() -> None:
    data = frame()[["a", "b"]]
    assert_frames(data.apply(lambda x: x * 2.0 + 1, engine=bl.jit), data * 2.0 + 1)
    assert_frames(data.apply(lambda x: (x * x).sum(), engine=bl.jit), (data * data).sum(skipna=False))
    raw = data.apply(lambda x: x - x.max(), engine=bl.jit, raw=True)
    assert_frames(raw, data.astype(float) - data.max(skipna=False))
    rows = data.apply(lambda x: x.sum(), engine=bl.jit, raw=True, axis=1)
    assert_frames(rows, data.sum(axis=1, skipna=False))


def test_functions_of_elements_run_on_the_whole_series() -> None:
    data = frame()
    expected = data["b"] * 10 + 1
    assert_frames(data["b"].map(lambda x: x * 10 + 1, engine=bl.jit), expected)
    filled = data["a"].map(lambda x: bl.where(bl.isnan(x), -1.0, x), engine=bl.jit)
    assert filled.tolist() == [1.0, 2.5, -1.0, 4.0]
    kept = data["a"].map(lambda x: bl.where(bl.isnan(x), -1.0, x), na_action="ignore", engine=bl.jit)
    assert_frames(kept, data["a"])


def test_a_function_is_compiled_once() -> None:
    traces = []

    def twice(row: Any) -> Any:
        traces.append(row)
        return row["b"] * 2

    data = frame()
    for _ in range(3):
        data.apply(twice, axis=1, engine=bl.jit)
    assert len(traces) == 1


def test_what_cannot_be_compiled_is_refused_by_name() -> None:
    data = frame()
    with pytest.raises(TypeError, match="column 'name'.*astype"):
        data.apply(lambda row: row["name"], axis=1, engine=bl.jit)
    with pytest.raises(TypeError, match="column 'name'.*astype"):
        data.apply(lambda x: x, engine=bl.jit)
    with pytest.raises(AttributeError, match=r"no 'sum'.*DataFrame.sum\(axis=1\)"):
        data.apply(lambda row: row.sum(), axis=1, engine=bl.jit)
    with pytest.raises(KeyError, match="nothing"):
        data.apply(lambda row: row["nothing"], axis=1, engine=bl.jit)
    with pytest.raises(TypeError, match="^the Series is (str|object), of which"):
        pytest.importorskip("pandas").Series(["a"]).map(lambda x: x, engine=bl.jit)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda row: row, "the function returns a row; return an element, or a tuple"),
        (lambda row: {"x": row.b}, "the function returns a dict; return an element, or a tuple"),
        (np.sum, r"has its elements alone, .*, and is no array; for sums .* DataFrame.sum\(axis=1\)"),
        (sum, r"and can't be iterated over; for sums .* DataFrame.sum\(axis=1\)"),
        (lambda row: (row, row.b), "and is no array"),
    ],
)
def test_rows_as_a_whole_are_refused(function: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        frame()[["a", "b"]].apply(function, axis=1, engine=bl.jit)


def test_functions_of_numpys_are_compiled() -> None:
    data = frame()[["a", "b"]]
    assert_frames(data.apply(np.sqrt, engine=bl.jit), np.sqrt(data))
    assert_frames(data.apply(np.sum, engine=bl.jit), data.sum(skipna=False))
    assert_frames(data["b"].map(np.exp2, engine=bl.jit), np.exp2(data["b"]))
    lengths = data.apply(lambda row: row.b * len(row), axis=1, engine=bl.jit)
    assert lengths.tolist() == (data["b"] * 2).tolist()
