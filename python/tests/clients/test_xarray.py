"""Tests that xarray computes on broadloom's arrays, also in Dask's arrays, without evaluating them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

VALUES = np.random.default_rng(3).standard_normal((60, 40))
WITH_NAN = np.where(VALUES > 2, np.nan, VALUES)
T = np.arange(60)


@pytest.fixture
def numpy_promotion() -> Iterator[None]:
    with bl.set_options(promotion="numpy"):
        yield


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[bl.Array]:
    """The arrays that were expressions when their values were computed."""
    computed: list[bl.Array] = []
    evaluated = bl.Array._evaluated

    def counted(self: bl.Array) -> Any:
        if not self._handle.is_evaluated and self._origin is None:
            computed.append(self)
        return evaluated(self)

    monkeypatch.setattr(bl.Array, "_evaluated", counted)
    return computed


def grid(make: Callable[[np.ndarray], Any] = bl.asarray, values: np.ndarray = WITH_NAN) -> Any:
    return xr.DataArray(make(values), dims=("t", "s"), coords={"t": T}, name="grid")


def blocks(values: np.ndarray) -> Any:
    """A Dask array whose chunks are broadloom's arrays."""
    return da.from_array(bl.asarray(values), chunks=(20, 20), asarray=False)


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


#: Computations whose results stay broadloom's expressions.
LAZY: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda a: (a * 2 + 1) / a,
    "with another": lambda a: a.isel(t=0) + a,
    "with numpy": lambda a: a + np.ones(40),
    "ufunc": lambda a: np.exp(a),
    "mean": lambda a: a.mean("t"),
    "mean of all": lambda a: a.mean(),
    "mean with nan": lambda a: a.mean("t", skipna=False),
    "sum": lambda a: a.sum("s"),
    "sum with nan": lambda a: a.sum("s", skipna=False),
    "sum of many": lambda a: a.sum("t", min_count=50),
    "prod": lambda a: a.prod("t"),
    "std": lambda a: a.std("t"),
    "std with nan": lambda a: a.std("t", ddof=1, skipna=False),
    "var": lambda a: a.var("t", ddof=1),
    "max": lambda a: a.max("t"),
    "min": lambda a: a.min(("t", "s")),
    "any": lambda a: (a > 1).any("t"),
    "all": lambda a: (a < 9).all("t"),
    "np.any": lambda a: np.any(a > 1),
    "np.sum": lambda a: np.sum(a, axis=0),
    "count": lambda a: a.count("t"),
    "cumsum": lambda a: a.cumsum("t"),
    "cumprod": lambda a: a.cumprod("t", skipna=False),
    "where": lambda a: a.where(a > 0),
    "where other": lambda a: a.where(a > 0, 0.0),
    "xr.where": lambda a: xr.where(a > 0, a, -a),
    "isel": lambda a: a.isel(t=3),
    "isel slices": lambda a: a.isel(t=slice(2, 9, 2), s=1),
    "sel": lambda a: a.sel(t=5),
    "loc": lambda a: a.loc[3:5],
    "fillna": lambda a: a.fillna(0),
    "isnull": lambda a: a.isnull(),
    "diff": lambda a: a.diff("t"),
    "roll": lambda a: a.roll(t=2),
    "coarsen": lambda a: a.coarsen(t=3).mean(),
    "coarsen both": lambda a: a.coarsen(t=2, s=4).sum(),
    "transpose": lambda a: a.transpose("s", "t"),
    "clip": lambda a: a.clip(-1, 1),
    "round": lambda a: a.round(1),
    "astype": lambda a: a.astype("f4"),
    "copy": lambda a: a.copy(deep=True),
    "stack": lambda a: a.stack(z=("t", "s")),
    "unstack": lambda a: a.stack(z=("t", "s")).unstack(),
    "expand_dims": lambda a: a.expand_dims("q"),
    "broadcast": lambda a: a.isel(t=0, drop=True).broadcast_like(a),
    "concat": lambda a: xr.concat([a, a + 1], "t"),
    "sortby": lambda a: a.sortby("t", ascending=False),
    "resample": lambda a: a.assign_coords(t=np.datetime64("2001-01-01", "s") + T).resample(t="7s").mean(),
    "apply_ufunc": lambda a: xr.apply_ufunc(lambda x: np.hypot(x, 2.0) + 1, a),
    "apply_ufunc along": lambda a: xr.apply_ufunc(
        lambda x: x.mean(axis=-1), a, input_core_dims=[["s"]], output_core_dims=[[]]
    ),
    "map_blocks": lambda a: a.map_blocks(lambda x: x + 1),
    "cov": lambda a: xr.cov(a, a + 1, "t"),
    "corr": lambda a: xr.corr(a, a * 2 + 1, "t"),
}
#: Computations of xarray that evaluate arrays on the way: by NumPy, or one group, window or index after the other.
#: Their results are broadloom's arrays.
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "median": lambda a: a.median("t"),
    "quantile": lambda a: a.quantile(0.5, "t"),
    "isel indices": lambda a: a.isel(t=[1, 3, 2]),
    "argmax": lambda a: a.fillna(0).argmax("t"),
    "shift": lambda a: a.shift(t=2),
    "pad": lambda a: a.pad(t=1),
    "reindex": lambda a: a.reindex(t=[3, 61, 2]),
    "dropna": lambda a: a.dropna("t"),
    "isin": lambda a: a.isin([1.0]),
    "groupby": lambda a: a.groupby(a.t % 3).mean(),
    "groupby less its mean": lambda a: a.groupby((a.t % 3).rename("g")) - a.groupby((a.t % 3).rename("g")).mean(),
    "groupby_bins": lambda a: a.groupby_bins("t", [0, 20, 60]).sum(),
    "rolling sum": lambda a: a.rolling(t=3).sum(skipna=False),
    "rolling max": lambda a: a.rolling(t=4, center=True).max(),
    "rolling construct": lambda a: a.rolling(t=3).construct("w").mean("w"),
    "differentiate": lambda a: a.differentiate("t"),
    "dot": lambda a: a.fillna(0).dot(a.fillna(0), dim="s"),
    "polyfit": lambda a: a.fillna(0).polyfit("t", 1).polyfit_coefficients,
}
#: Computations that mix floats with integers or bools, and need NumPy's promotion.
BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "mixed": lambda a: (a > 0).astype(int) * 2.5,
    "where of integers": lambda a: a.fillna(0).astype(int).where(a > 0),
    "idxmax": lambda a: a.idxmax("t"),
    "integrate": lambda a: a.integrate("t"),
    "weighted": lambda a: a.weighted(xr.DataArray(np.arange(60.0), dims="t")).mean("t"),
    "rolling mean": lambda a: a.rolling(t=3, min_periods=1).mean(),
}
#: Computations for which xarray always converts to NumPy's arrays.
TO_NUMPY: dict[str, Callable[[Any], Any]] = {
    "interp": lambda a: a.interp(t=[0.5, 1.5]),
    "interpolate_na": lambda a: a.interpolate_na("t"),
    "vectorize": lambda a: xr.apply_ufunc(
        lambda row: float(np.nanmax(row)), a, input_core_dims=[["s"]], vectorize=True
    ),
}


def check(made: Any, expected: Any) -> None:
    assert made.dims == expected.dims and set(made.coords) == set(expected.coords)
    assert_close(made.data, expected.data)


@pytest.mark.parametrize("name", LAZY)
def test_data_stay_an_expression(name: str, evaluations: list[bl.Array]) -> None:
    made = LAZY[name](grid() + 0)
    assert type(made.data) is bl.Array and evaluations == []
    check(made, LAZY[name](grid(np.asarray) + 0))


@pytest.mark.parametrize("name", COMPUTED)
def test_results_are_ours_where_values_are_needed(name: str) -> None:
    made = COMPUTED[name](grid())
    assert type(made.data) is bl.Array
    check(made, COMPUTED[name](grid(np.asarray)))


@pytest.mark.usefixtures("numpy_promotion")
@pytest.mark.parametrize("name", LAZY | COMPUTED | BY_NUMPY)
def test_results_under_numpys_promotion(name: str) -> None:
    function = (LAZY | COMPUTED | BY_NUMPY)[name]
    made = function(grid())
    assert type(made.data) is bl.Array
    check(made, function(grid(np.asarray)))


@pytest.mark.parametrize("name", ["mixed", "where of integers", "idxmax", "integrate"])
def test_mixed_kinds_are_refused_in_words(name: str) -> None:
    with bl.set_options(promotion="strict"), pytest.raises(TypeError, match='astype.*promotion="numpy"'):
        BY_NUMPY[name](grid())


@pytest.mark.parametrize("name", TO_NUMPY)
def test_what_xarray_computes_with_numpy(name: str) -> None:
    made = TO_NUMPY[name](grid())
    assert type(made.data) is np.ndarray
    check(made, TO_NUMPY[name](grid(np.asarray)))


def test_a_chain_is_one_evaluation(evaluations: list[bl.Array]) -> None:
    nir, red = grid(values=VALUES**2), grid(values=np.abs(VALUES))
    ndvi = (nir - red) / (nir + red)
    means = ndvi.where(ndvi > -0.5, 0.0).clip(-1, 1).mean("t", skipna=False)
    assert evaluations == [] and not means.data._handle.is_evaluated
    values = means.values
    assert evaluations == [means.data]
    a, b = VALUES**2, np.abs(VALUES)
    expected = (a - b) / (a + b)
    assert_close(values, np.clip(np.where(expected > -0.5, expected, 0.0), -1, 1).mean(0))
    assert means.values is not None and len(evaluations) == 1


def test_elements_have_numpys_bits() -> None:
    made, expected = ((a * 2 - 1) / (a * a + 3) for a in (grid(), grid(np.asarray)))
    assert np.asarray(made.data).tobytes() == expected.values.tobytes()


def test_printing_shows_names_and_values() -> None:
    a = grid(values=VALUES) * 2
    assert "(t: 60, s: 40)" in repr(a) and f"{VALUES[0, 0] * 2:.8f}"[:8] in repr(a)
    assert "<" in a._repr_html_() and "grid" in a._repr_html_()
    assert "Array" in repr(xr.Dataset({"a": a}))


def test_datasets() -> None:
    ours, theirs = (
        xr.Dataset({"a": grid(make), "b": grid(make).isel(t=0, drop=True)}, attrs={"from": "here"})
        for make in (bl.asarray, np.asarray)
    )
    functions: list[Callable[[Any], Any]] = [
        lambda d: d * 2 + d.b,
        lambda d: d.mean("s"),
        lambda d: d.where(d.a > 0),
        lambda d: d.fillna(0.0).max(),
        lambda d: d.assign(c=d.a - d.b).drop_vars("a"),
        lambda d: d.isel(t=slice(1, 9)),
        lambda d: xr.merge([d, xr.Dataset({"c": d.a + 1})]),
        lambda d: xr.concat([d, d], "t", data_vars="minimal"),
        lambda d: d.groupby(d.t % 2).mean(),
        lambda d: d.coarsen(t=2).sum(),
        lambda d: d.map(np.tanh),
    ]
    for function in functions:
        made, expected = function(ours), function(theirs)
        assert set(made) == set(expected)
        for name in expected.data_vars:
            assert type(made[name].data) is bl.Array
            check(made[name], expected[name])


def test_comparisons_of_xarray() -> None:
    a = grid()
    xr.testing.assert_identical(a, grid())
    xr.testing.assert_equal(a, grid(np.asarray))
    xr.testing.assert_allclose(a + 1e-12, a)
    assert a.equals(grid(np.asarray)) and not a.equals(a + 1)
    with pytest.raises(AssertionError, match="Differing values"):
        xr.testing.assert_identical(a, a + 1)


@pytest.mark.parametrize("method", ["compute", "load", "persist"])
def test_loading_keeps_data_ours(method: str) -> None:
    for a in (grid() + 1, grid(blocks) + 1):
        made = getattr(a, method)()
        data = made.data if method != "persist" or isinstance(made.data, bl.Array) else made.data.compute()
        assert type(data) is bl.Array
        assert_close(data, WITH_NAN + 1)


@pytest.mark.usefixtures("numpy_promotion")
@pytest.mark.parametrize(
    "name", ["arithmetic", "mean", "sum", "std", "max", "count", "where", "isel slices", "coarsen", "concat", "fillna"]
)
def test_dask_arrays_of_ours(name: str) -> None:
    made = LAZY[name](grid(blocks))
    assert type(made.data) is da.Array and isinstance(made.data._meta, bl.Array | np.ndarray)
    check(made.compute(), LAZY[name](grid(np.asarray)))


@pytest.mark.parametrize("name", ["groupby", "rolling sum", "isel indices"])
def test_dask_arrays_of_ours_where_values_are_needed(name: str) -> None:
    check(COMPUTED[name](grid(blocks)).compute(), COMPUTED[name](grid(np.asarray)))


def test_apply_ufunc_over_dask_gets_chunks_of_ours() -> None:
    kinds = set()

    def function(x: Any) -> Any:
        kinds.add(type(x))
        return bl.tanh(x) * 2 + 1 if isinstance(x, bl.Array) else x

    made = xr.apply_ufunc(function, grid(blocks), dask="parallelized", output_dtypes=[np.float64]).compute()
    assert type(made.data) is bl.Array and bl.Array in kinds
    assert_close(made.data, np.tanh(WITH_NAN) * 2 + 1)


def test_chunking_data_of_ours() -> None:
    made = grid(values=VALUES).chunk({"t": 20}).mean("t", skipna=False).compute()
    assert_close(made.data, VALUES.mean(0))


@pytest.mark.usefixtures("numpy_promotion")
def test_files_and_back(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("zarr")
    a = (grid() * 2).to_dataset()
    encoding = {"grid": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999}}
    a.to_netcdf(tmp_path / "a.nc", engine="scipy", encoding=encoding)
    a.to_zarr(tmp_path / "a.zarr", consolidated=False)
    grid(blocks).to_dataset().to_zarr(tmp_path / "b.zarr", consolidated=False)
    packed = xr.load_dataset(tmp_path / "a.nc", engine="scipy")
    np.testing.assert_allclose(packed.grid.values, WITH_NAN * 2, atol=0.006)
    assert packed.grid.encoding["scale_factor"] == 0.01
    with xr.open_zarr(tmp_path / "a.zarr", chunks=None, consolidated=False) as opened:
        assert_close(opened.grid.values, WITH_NAN * 2)
    with xr.open_zarr(tmp_path / "b.zarr", consolidated=False) as opened:
        assert_close(opened.grid.data.map_blocks(bl.asarray).compute(), WITH_NAN)
