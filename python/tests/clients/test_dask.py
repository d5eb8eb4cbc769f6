"""Tests Dask over broadloom's arrays: each computation has the same result as over NumPy's chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

da = pytest.importorskip("dask.array")

VALUES = np.random.default_rng(3).standard_normal((60, 40))


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


#: Computations on Dask arrays.
COMPUTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, da: (x * 2 + 1) / 3,
    "comparison": lambda x, da: (x > 0) & (x < 1),
    "sum": lambda x, da: x.sum(axis=0),
    "sum of all": lambda x, da: x.sum(),
    "mean": lambda x, da: x.mean(axis=1),
    "max": lambda x, da: x.max(axis=(0, 1)),
    "argmax": lambda x, da: x.argmax(axis=0),
    "nansum": lambda x, da: da.nansum(x, axis=0),
    "cumsum": lambda x, da: x.cumsum(axis=0),
    "map_blocks": lambda x, da: x.map_blocks(lambda block: np.exp(block) - 1),
    "ufunc": lambda x, da: np.hypot(x, 1.5),
    "where": lambda x, da: da.where(x > 0, x, 0),
    "clip": lambda x, da: x.clip(-1, 1),
    "astype": lambda x, da: x.astype("f4"),
    "transpose": lambda x, da: x.T,
    "dot": lambda x, da: x.T.dot(x),
    "reshape": lambda x, da: x.reshape(-1),
    "rechunk": lambda x, da: x.rechunk((30, 40)),
    "slices": lambda x, da: x[3:50:2, ::-1],
    "indices": lambda x, da: x[[1, 5, 3]],
    "mask": lambda x, da: x[x > 0],
    "concatenate": lambda x, da: da.concatenate([x, x], axis=1),
    "stack": lambda x, da: da.stack([x, x]),
    "roll": lambda x, da: da.roll(x, 3, axis=0),
    "overlap": lambda x, da: x.map_overlap(lambda block: block + 1, depth=1, boundary="reflect"),
    "einsum": lambda x, da: da.einsum("ij,kj->ik", x, x),
    # Computations that divide floats by integers or add bools, for which Dask uses NumPy's promotion.
    "var": lambda x, da: x.var(axis=0),
    "std": lambda x, da: x.std(),
    "count": lambda x, da: (x > 0).sum(),
    "mixed": lambda x, da: (x > 0).astype(int) * 2.5,
}


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_dask_computes_on_chunks_of_ours(name: str, scheduler: str) -> None:
    ours = bl.dask.from_array(bl.asarray(VALUES), chunks=(20, 20))
    theirs = da.from_array(VALUES, chunks=(20, 20))
    built = COMPUTATIONS[name](ours, da)
    made = built.compute(scheduler=scheduler)
    # Dask combines the results of argmax from the chunks in a NumPy array.
    assert isinstance(made, bl.Array) or name == "argmax"
    # Dask doesn't record the array type of an array that is indexed by a mask.
    assert isinstance(built._meta, bl.Array) or name == "mask"
    assert_close(made, COMPUTATIONS[name](theirs, da).compute(scheduler="sync"))


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_dask_computes_on_arrays_that_it_took_itself(name: str) -> None:
    ours = da.from_array(bl.asarray(VALUES), chunks=(20, 20), asarray=False)
    theirs = da.from_array(VALUES, chunks=(20, 20))
    assert_close(COMPUTATIONS[name](ours, da).compute(), COMPUTATIONS[name](theirs, da).compute())


def test_dask_names_arrays_by_their_values() -> None:
    names = {da.from_array(x, asarray=False).name for x in (bl.asarray(VALUES), bl.asarray(VALUES.copy()))}
    assert len(names) == 1
    assert da.from_array(bl.asarray(VALUES) + 1, asarray=False).name not in names


def test_dask_sees_a_type_of_chunks() -> None:
    x, y = bl.asarray(VALUES), da.from_array(VALUES, chunks=(20, 20))
    for made in (x + y, y + x, np.add(x, y)):
        assert isinstance(made, da.Array)
        assert_close(made.compute(), VALUES + VALUES)


def test_dask_stores_into_numpy() -> None:
    out = np.zeros(VALUES.shape)
    (da.from_array(bl.asarray(VALUES), chunks=(20, 20), asarray=False) * 2).store(out)
    assert_close(out, VALUES * 2)


def test_dask_learns_dtypes_by_numpys_promotion() -> None:
    x = bl.dask.from_array(np.arange(6), chunks=4)
    for function in (lambda b: b * 2.5, bl.sin, bl.jit(lambda b: b * 2.5)):
        made = x.map_blocks(function)
        assert made.dtype == np.float64
        np.testing.assert_allclose(np.asarray(made.compute()), np.asarray(function(np.arange(6.0))))
