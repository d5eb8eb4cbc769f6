"""xarray computes on data of ours, and leaves it lazy."""

from __future__ import annotations

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
