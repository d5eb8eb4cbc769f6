"""Tests masks, `nonzero`, `compress`, `topk`, `isin`, `unique_*` and quantiles against NumPy where it has the meaning, and
against definitions written out here otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_draws import same

import broadloom as bl

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]
NAN, INF = float("nan"), float("inf")

every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def values_of(dtype: str, *shape: int) -> Any:
    """Small numbers with many repetitions; floats have zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng(len(shape) + 7)
    values = rng.integers(0, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        for value in (-0.0, NAN, INF, -INF):
            values[rng.random(shape) < 0.1] = value
    return values


# Masks.


@every_dtype
def test_masks_select_as_numpys(dtype: str) -> None:
    for shape in [(0,), (7,), (100_003,), (3, 5), (4, 0, 3), (2, 3, 4)]:
        x, rng = values_of(dtype, *shape), np.random.default_rng(3)
        for rank in range(1, len(shape) + 1):
            mask = rng.random(shape[:rank]) < 0.4
            same(bl.asarray(x)[bl.asarray(mask)], x[mask])
            same(bl.asarray(x)[mask], x[mask])
            same((bl.asarray(x) if dtype == "bool" else bl.asarray(x) * 1)[mask], x[mask])
            same(bl.asarray(x)[::-1][mask], x[::-1][mask])
        for axis in range(len(shape)):
            condition = rng.random(shape[axis]) < 0.6
            same(bl.compress(condition, bl.asarray(x), axis), np.compress(condition, x, axis))
            same(bl.compress(condition[:2], bl.asarray(x), axis=axis), np.compress(condition[:2], x, axis))
        condition = rng.random(min(x.size, 9)) < 0.5
        same(bl.compress(condition, bl.asarray(x)), np.compress(condition, x))


M2, M3, M4 = np.array([True, False]), np.array([True, False, True]), np.array([False, True, True, False])
M23, M34 = np.array([[1, 0, 1], [0, 0, 1]], bool), np.eye(3, 4, dtype=bool)
KEYS: dict[str, Any] = {
    "the last axis": (slice(None), slice(None), M4),
    "after dots": (..., M4),
    "before dots": (M2, ...),
    "between slices": (slice(None), M3, slice(None, None, -2)),
    "two axes": (M23, slice(1, 3)),
    "the last two axes": (..., M34),
    "a new axis": (None, M2, None),
    "an int before": (1, M3),
    "an int after a slice": (0, slice(None), M4),
    "an int apart": (M2, slice(None), 2),
    "two masks": (M2, M3[:2].repeat([1, 2])),
    "a mask and indices": (np.array([0, 1, 1]), np.array([True, True, True])),
    "indices apart": (M2, slice(None), np.array([3, 0, 0])),
    "dots of no axis": (M2, ..., slice(None), np.array([3])),
    "dots between adjacent arrays": (slice(None), np.array([2, 1]), ..., M4),
    "a list": ([True, False],),
    "rank 0": (np.True_,),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_masks_in_keys(key: Any) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    same(bl.asarray(x)[key], x[key])
    converted = tuple(bl.asarray(part) if isinstance(part, np.ndarray) else part for part in key)
    same(bl.asarray(x)[converted], x[key])


def test_refused_masks() -> None:
    x = bl.asarray(np.arange(6).reshape(2, 3))
    same(x[np.zeros((2, 0), bool)], np.zeros(0, np.int64))
    for key in (M3, M23.T, (slice(None), M2), (M23, 0), (M3[:1],)):
        with pytest.raises(IndexError):
            x[key]
    for arguments in [(M23, x), (np.ones(3, bool), x, 0), (np.ones(7, bool), x), (M2, x, 2)]:
        with pytest.raises(ValueError):
            bl.compress(*arguments)
    with pytest.raises(bl.TracerError):
        bl.jit(lambda x: x[x > 0])(np.ones(3))


def test_a_selection_is_evaluated_and_apart_from_its_operand() -> None:
    memory = np.array([1, 2, 3])
    found = bl.asarray(memory)[np.array([True, False, True])]
    memory[0] = 9
    assert np.asarray(found).tolist() == [1, 3]


@every_dtype
def test_indices_of_elements_that_are_not_0(dtype: str) -> None:
    for shape in [(0,), (50,), (100_003,), (3, 5), (0, 4), (2, 3, 4)]:
        x = values_of(dtype, *shape)
        for got, expected in zip(bl.nonzero(bl.asarray(x)), np.nonzero(x), strict=True):
            same(got, expected)


# The first elements.


@every_dtype
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_elements_are_those_of_a_stable_sort(dtype: str, largest: bool) -> None:
    x = values_of(dtype, 5, 40)
    # NumPy's order of floats: NaNs last. −0 before 0 makes no difference to a key that adds a half to zeros.
    ranks = np.unique(x, return_inverse=True, equal_nan=True)[1].reshape(x.shape) * 2
    ranks = ranks + (1 if np.dtype(dtype).kind != "f" else ~np.signbit(x) & (x == 0))
    for axis in (0, 1):
        order = np.argsort(-ranks if largest else ranks, axis=axis, kind="stable")
        for k in (0, 1, 3, x.shape[axis]):
            got = bl.topk(bl.asarray(x), k, axis=axis, largest=largest)
            expected = np.take(order, np.arange(k), axis)
            same(got.indices, expected)
            same(got.values, np.take_along_axis(x, expected, axis))


def test_refused_first_elements() -> None:
    x = bl.asarray([1.0, 2.0])
    for k, axis in [(3, 0), (-1, 0), (1, 1)]:
        with pytest.raises(ValueError):
            bl.topk(x, k, axis=axis)
    with pytest.raises(TypeError):
        bl.topk(x, 1.5)  # type: ignore[arg-type]


# Sets.


@every_dtype
def test_distinct_elements_are_numpys(dtype: str) -> None:
    for shape in [(), (0,), (60,), (3, 0), (4, 5), (100_003,)]:
        x = values_of(dtype, *shape)
        if shape == (100_003,) and np.dtype(dtype).kind == "f":
            x[np.isnan(x)] = 1
        values, first, inverse, counts = np.unique(x, True, True, True, equal_nan=False)
        got = bl.unique_all(bl.asarray(x))
        for ours, expected in zip(got, (x.ravel()[first], first, inverse.reshape(x.shape), counts), strict=True):
            same(ours, expected)
        same(bl.unique_values(bl.asarray(x)), x.ravel()[first])
        same(bl.unique_counts(bl.asarray(x)).counts, counts)
        same(bl.unique_inverse(bl.asarray(x)).inverse_indices, inverse.reshape(x.shape))
        assert np.array_equal(values, np.asarray(got.values), equal_nan=np.dtype(dtype).kind == "f")


@every_dtype
def test_membership_is_numpys(dtype: str) -> None:
    x = values_of(dtype, 30, 7)
    for among in (values_of(dtype, 4), values_of(dtype, 0), values_of(dtype, 2, 3), values_of("int16", 3)):
        same(bl.isin(bl.asarray(x), bl.asarray(among)), np.isin(x, among))
        same(bl.isin(bl.asarray(x), among, invert=True), np.isin(x, among, invert=True))
    assert not bool(bl.isin(bl.asarray(NAN), bl.asarray([NAN])))


# Quantiles.


@pytest.mark.parametrize("dtype", [*INTEGERS, "float64"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 1, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_quantiles_are_numpys(dtype: str, axis: Any, keepdims: bool) -> None:
    x = np.random.default_rng(5).integers(0, 100, (3, 6, 5)).astype(dtype)
    x = x / 7 if dtype == "float64" else x
    for q in (0, 0.3, 0.5, 1.0, [0.25, 0.75], [[0.1], [0.9]]):
        got = bl.quantile(bl.asarray(x), q, axis=axis, keepdims=keepdims)
        expected = np.quantile(x.astype(np.float64), q, axis=axis, keepdims=keepdims)
        same(got, expected)
    same(bl.median(bl.asarray(x), axis=axis, keepdims=keepdims), np.median(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_quantiles_of_short_floats_are_rounded_once(dtype: str) -> None:
    x = np.random.default_rng(6).standard_normal((4, 9)).astype(dtype)
    long = x.astype(np.float64)
    same(bl.quantile(bl.asarray(x), [0.1, 0.6], axis=1), np.quantile(long, [0.1, 0.6], axis=1).astype(dtype))
    same(bl.median(bl.asarray(x), axis=0), np.median(long, axis=0).astype(dtype))


def test_quantiles_of_nan_and_infinity() -> None:
    x = np.array([[1.0, NAN, 2.0], [INF, INF, 1.0], [-INF, 0.0, INF]])
    got = np.asarray(bl.quantile(bl.asarray(x), [0.0, 0.5, 0.75, 1.0], axis=1))
    assert np.isnan(got[:, 0]).all()
    assert got[:, 1].tolist() == [1.0, INF, INF, INF]
    # Between 0 and infinity, the formula has a difference of infinities, as NumPy's.
    assert np.array_equal(got[:, 2], [-INF, 0.0, NAN, INF], equal_nan=True)
    assert np.array_equal(np.asarray(bl.median(bl.asarray(x), axis=1)), [NAN, INF, 0.0], equal_nan=True)


def test_refused_quantiles() -> None:
    x = bl.asarray([1.0, 2.0])
    for q in (-0.1, 1.5, NAN):
        with pytest.raises(ValueError):
            bl.quantile(x, q)
    with pytest.raises(ValueError):
        bl.median(x, axis=1)
    with pytest.raises(ValueError, match="no elements"):
        bl.quantile(bl.asarray(np.zeros((0, 2))), 0.5, axis=0)
    with pytest.raises(TypeError):
        bl.median(bl.asarray([True]))
    assert bl.median(bl.asarray(np.zeros((0, 2))), axis=1).shape == (0,)


def test_arguments_of_numpys() -> None:
    x = np.array([1.0, 4.0, 2.0])
    same(bl.quantile(bl.asarray(x), 0.4, method="lower"), np.quantile(x, 0.4, method="lower"))
    same(bl.isin(bl.asarray([1, 2]), [2], assume_unique=True), np.isin([1, 2], [2]))
