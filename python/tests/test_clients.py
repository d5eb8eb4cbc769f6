"""Libraries that hold arrays of ours, or are handed them: xarray, pandas, SciPy, joblib."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import broadloom as bl

VALUES = np.random.default_rng(3).standard_normal((60, 40))
WITH_NAN = np.where(VALUES > 2, np.nan, VALUES)


@pytest.fixture
def numpy_promotion() -> Iterator[None]:
    with bl.set_options(promotion="numpy"):
        yield


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


# xarray.

XARRAY: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda a: (a * 2 + 1) / a,
    "with another": lambda a: a.isel(t=0) + a,
    "with numpy": lambda a: a + np.ones(40),
    "ufunc": lambda a: np.exp(a),
    "mean": lambda a: a.mean("t"),
    "mean of all": lambda a: a.mean(),
    "mean with nan": lambda a: a.mean("t", skipna=False),
    "sum": lambda a: a.sum("s"),
    "std": lambda a: a.std("t"),
    "var": lambda a: a.var("t", ddof=1),
    "max": lambda a: a.max("t"),
    "median": lambda a: a.median("t"),
    "quantile": lambda a: a.quantile(0.5, "t"),
    "where": lambda a: a.where(a > 0),
    "where other": lambda a: a.where(a > 0, 0.0),
    "isel": lambda a: a.isel(t=3),
    "isel slices": lambda a: a.isel(t=slice(2, 9, 2), s=1),
    "isel indices": lambda a: a.isel(t=[1, 3, 2]),
    "sel": lambda a: a.sel(t=5),
    "fillna": lambda a: a.fillna(0),
    "isnull": lambda a: a.isnull(),
    "cumsum": lambda a: a.cumsum("t"),
    "diff": lambda a: a.diff("t"),
    "shift": lambda a: a.shift(t=2),
    "roll": lambda a: a.roll(t=2),
    "pad": lambda a: a.pad(t=1),
    "coarsen": lambda a: a.coarsen(t=3).mean(),
    "groupby": lambda a: a.groupby(a.t % 3).mean(),
    "transpose": lambda a: a.transpose("s", "t"),
    "clip": lambda a: a.clip(-1, 1),
    "astype": lambda a: a.astype("f4"),
    "copy": lambda a: a.copy(deep=True),
}
XARRAY_BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "count": lambda a: a.count("t"),
    "mixed": lambda a: (a > 0).astype(int) * 2.5,
    "idxmax": lambda a: a.idxmax("t"),
}


@pytest.mark.parametrize("name", XARRAY | XARRAY_BY_NUMPY)
def test_xarray_computes_on_data_of_ours(name: str, request: pytest.FixtureRequest) -> None:
    xr = pytest.importorskip("xarray")
    if name in XARRAY_BY_NUMPY:
        request.getfixturevalue("numpy_promotion")
    function = (XARRAY | XARRAY_BY_NUMPY)[name]
    t = np.arange(60)
    made = function(xr.DataArray(bl.asarray(WITH_NAN), dims=("t", "s"), coords={"t": t}))
    expected = function(xr.DataArray(WITH_NAN, dims=("t", "s"), coords={"t": t}))
    assert isinstance(made.data, bl.Array)
    assert made.dims == expected.dims
    assert_close(made.data, expected.data)


def test_xarray_computes_when_values_are_asked_for() -> None:
    xr = pytest.importorskip("xarray")
    a = xr.DataArray(bl.asarray(VALUES), dims=("t", "s")) * 2 + 1
    assert not a.data._handle.is_evaluated
    assert_close(a.values, VALUES * 2 + 1)
    assert "60" in repr(a) and "<" in a._repr_html_()


def test_xarray_chunks_data_of_ours_with_dask() -> None:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    made = xr.DataArray(bl.asarray(VALUES), dims=("t", "s")).chunk({"t": 20}).mean("t", skipna=False).compute()
    assert_close(made.data, VALUES.mean(0))


# pandas, SciPy, joblib.


def test_pandas_takes_arrays() -> None:
    pd = pytest.importorskip("pandas")
    x = bl.asarray(VALUES) * 2
    assert_close(pd.Series(np.asarray(x[0])), VALUES[0] * 2)
    assert_close(pd.Series(x[0]), VALUES[0] * 2)
    assert_close(pd.DataFrame(x), VALUES * 2)
    frame = pd.DataFrame({"a": VALUES[:, 0]})
    frame["b"] = bl.asarray(frame["a"].to_numpy()) + 1
    assert_close(frame["b"], VALUES[:, 0] + 1)


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


# Promotion.


def test_promotion_is_the_standards_unless_set() -> None:
    x = bl.asarray(np.array([1, 2]))
    with pytest.raises(TypeError, match="astype"):
        x * 2.5
    with bl.set_options(promotion="numpy"):
        assert (x * 2.5).tolist() == [2.5, 5.0]
        assert (x / bl.asarray(np.array([2.0, 4.0], "f4"))).dtype == np.float64
        assert bl.sum(x > 1).item() == 1
        assert bl.exp(x).dtype == np.float64
        assert bl.result_type(bl.int64, bl.float32) == np.float64
        assert bl.concat([x, bl.asarray([0.5])]).tolist() == [1, 2, 0.5]
        assert bl.where(x > 1, x, 0.5).tolist() == [0.5, 2]
        assert (bl.asarray([True]) + bl.asarray([True])).tolist() == [True]
        with pytest.raises(OverflowError):
            bl.asarray(np.array([1], "u1")) + 300
    with pytest.raises(TypeError):
        x * 2.5
    before = bl.set_options(promotion="numpy")
    assert (x * 2.5).dtype == np.float64
    bl.set_options(promotion="strict")
    with pytest.raises(TypeError):
        x * 2.5
    with pytest.raises(ValueError, match="expected 'strict' or 'numpy'"):
        bl.set_options(promotion="loose")  # type: ignore[arg-type]
    del before


def test_the_namespace_has_numpys_other_functions() -> None:
    x = bl.asarray(VALUES)
    assert_close(bl.median(x, axis=0), np.median(VALUES, axis=0))
    assert_close(bl.transpose(x), VALUES.T)
    assert_close(bl.fmax(x, 0.0), np.fmax(VALUES, 0.0))
    for name in ("ndarray", "complex64", "random", "nothing", "_core_of_nothing"):
        assert not hasattr(bl, name)
