"""Tests reductions by label, counts, histograms and `x.at`. Expected values are loops over the definition of the canonical order,
or NumPy's where that computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

RNG = np.random.default_rng(34)


def pairwise(elements: list[Any], op: Callable[[Any, Any], Any]) -> Any:
    """The elements in adjacent pairs, level by level; the last one without a partner is carried up."""
    while len(elements) > 1:
        pairs = [elements[i : i + 2] for i in range(0, len(elements), 2)]
        elements = [op(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return elements[0]


def canonical(elements: np.ndarray, op: Callable[[Any, Any], Any]) -> Any:
    """The elements of each of 16 lanes in pairs, then the lanes."""
    return pairwise([pairwise(list(elements[lane::16]), op) for lane in range(min(16, len(elements)))], op)


def same_bits(got: Any, expected: np.ndarray) -> None:
    values = np.asarray(got)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    assert values.tobytes() == expected.tobytes()


CASES = [(0, 2), (100, 1), (1000, 7), (1000, 300), (5000, 2000)]


@pytest.mark.parametrize("n, k", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_sums_and_products_in_the_canonical_order(n: int, k: int, dtype: Any, is_sorted: bool) -> None:
    x, labels = (RNG.random(n) + 0.5).astype(dtype), RNG.integers(-1, k, n)
    if is_sorted:
        labels.sort()
    for name, op, nothing in [("sum", np.add, 0), ("prod", np.multiply, 1)]:
        of = [x[labels == label] for label in range(k)]
        expected = np.array([canonical(each, op) if len(each) else nothing for each in of], dtype)
        same_bits(getattr(bl, f"segment_{name}")(bl.asarray(x), bl.asarray(labels), k), expected)


@pytest.mark.parametrize("dtype", "float64 float32 float16 int8 int64 uint16 bool".split())
@pytest.mark.parametrize("shape", [(500,), (500, 3), (500, 2, 2)])
def test_segments_have_the_bits_of_selections(dtype: str, shape: tuple[int, ...]) -> None:
    x = bl.asarray((RNG.random(shape) * 9 - 4 if dtype[0] in "fi" else RNG.random(shape) * 9).astype(dtype))
    labels = RNG.integers(0, 4, 500).astype(np.int16)
    for name in ("sum", "prod", "max", "min", "mean"):
        made = getattr(bl, f"segment_{name}")(x, bl.asarray(labels), 4)
        for label in range(4):
            chosen = bl.asarray(np.asarray(x)[labels == label])
            same_bits(made[label], np.asarray(getattr(bl, name)(chosen, axis=0)))


def test_segments_without_elements() -> None:
    x, labels = bl.asarray([2.0, 3.0]), bl.asarray([-1, 1])
    of = {
        name: np.asarray(getattr(bl, f"segment_{name}")(x, labels, 2)).tolist()
        for name in ("sum", "prod", "max", "min")
    }
    assert of == {"sum": [0.0, 3.0], "prod": [1.0, 3.0], "max": [-np.inf, 3.0], "min": [np.inf, 3.0]}
    assert np.isnan(float(bl.segment_mean(x, labels, 2)[0]))
    small = bl.asarray([2, 3], dtype=bl.int8)
    assert bl.segment_max(small, labels, 2).tolist() == [-128, 3] and bl.segment_min(small, labels, 2).tolist() == [
        127,
        3,
    ]


def test_refusals_of_segments() -> None:
    x = bl.asarray([1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match=r"segment_sum: label 3 is out of range for 3 segments, at \[1\]"):
        np.asarray(bl.segment_sum(x, bl.asarray([0, 3, -2]), 3))
    with pytest.raises(IndexError, match=r"label -2 .* at \[2\]"):
        np.asarray(bl.segment_max(x, bl.asarray([0, 1, -2]), 3))
    with pytest.raises(TypeError, match="labels are integers, not float64"):
        bl.segment_sum(x, x, 3)
    with pytest.raises(ValueError, match="2 labels for the first axis"):
        bl.segment_sum(x, bl.asarray([0, 1]), 3)
    with pytest.raises(ValueError, match="k is -1"):
        bl.segment_sum(x, bl.asarray([0, 1, 2]), -1)
    with pytest.raises(TypeError):
        bl.segment_sum(x, bl.asarray([0, 1, 2]), 1.5)  # type: ignore[arg-type]


def test_bincount() -> None:
    numbers = RNG.integers(0, 50, 3000)
    expected = np.bincount(numbers)
    for dtype in (np.int8, np.uint64, np.int32):
        same_bits(bl.bincount(bl.asarray(numbers.astype(dtype))), expected)
    same_bits(bl.bincount(bl.asarray(numbers), minlength=60), np.bincount(numbers, minlength=60))
    same_bits(bl.bincount(bl.asarray([], dtype=bl.int64), minlength=2), np.zeros(2, np.int64))
    same_bits(bl.bincount(bl.asarray([True, False, True])), np.array([1, 2]))
    weights = RNG.integers(-9, 9, 3000).astype(np.float32)
    same_bits(bl.bincount(bl.asarray(numbers), bl.asarray(weights)), np.bincount(numbers, weights))
    for call in (
        lambda: bl.bincount(bl.asarray([1, -2])),
        lambda: bl.bincount(bl.asarray([1]), minlength=-1),
        lambda: bl.bincount(bl.asarray([1]), bl.asarray([1.0, 2.0])),
    ):
        with pytest.raises(ValueError, match="bincount|segment_sum"):
            call()


@pytest.mark.parametrize("dtype", "float64 float32 float16 int64 int8 uint32 bool".split())
@pytest.mark.parametrize("bins", [1, 7, 100, "sqrt", [0.0, 0.25, 0.3, 4.0], [1, 2, 2, 5]])
@pytest.mark.parametrize("range_", [None, (0, 3), (0.1, 1.7)])
def test_histograms_are_numpys(dtype: str, bins: Any, range_: Any) -> None:
    x = (RNG.standard_normal(4000) * 2).astype(dtype) if dtype != "bool" else RNG.random(4000) < 0.3
    # NumPy's result for bools, but without its warning.
    counts, edges = np.histogram(x.astype(np.uint8) if dtype == "bool" else x, bins, range_)
    made = bl.histogram(bl.asarray(x), bl.asarray(bins) if isinstance(bins, list) else bins, range_)
    same_bits(made[0], counts)
    same_bits(made[1], edges)


def test_values_on_edges_and_calls_that_numpy_takes() -> None:
    x = np.concatenate([np.linspace(0, 1, 101), [np.nan, 2.0]]).astype(np.float32)
    same_bits(bl.histogram(bl.asarray(x), 100, (0.0, 1.0))[0], np.histogram(x, 100, (0.0, 1.0))[0])
    weighed: Any = bl.histogram(bl.asarray([1.0, 2.0]), bins=2, weights=bl.asarray([0.5, 2.0]))  # type: ignore[call-arg]
    assert np.asarray(weighed[0]).tolist() == [0.5, 2.0]
    bounds: Any = np.array([0.0, 0.7])
    same_bits(bl.histogram(bl.asarray(x), 7, tuple(bl.asarray(bounds)))[1], np.histogram(x, 7, tuple(bounds))[1])
    with pytest.raises(ValueError, match="positive"):
        bl.histogram(bl.asarray([1.0]), 0)
    with pytest.raises(ValueError, match="monotonically"):
        bl.histogram(bl.asarray([1.0]), bl.asarray([2.0, 1.0]))


KEYS: list[Any] = [
    2,
    -1,
    slice(1, None, 2),
    [0, 3, 0, -1],
    (slice(None), [1, 1, 0]),
    ([0, 3, 0], [2, 2, 2]),
    (Ellipsis, 1),
    np.arange(12).reshape(4, 3) % 5 == 1,
    np.array([True, False, True, True]),
    (None, 1),
    [],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "min", "max"])
def test_elements_at_a_key(key: Any, name: str) -> None:
    """NumPy's `ufunc.at` applies the values one after the other. With integers in floats the order makes no difference."""
    x = RNG.integers(1, 9, (4, 3)).astype(np.float64)
    value = RNG.integers(1, 9, x[key].shape).astype(np.float64)
    expected = x.copy()
    if name == "set":
        expected[key] = value
    else:
        ufunc: Any = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[name]
        ufunc.at(expected, key, value)
    given = bl.asarray(x)
    of_ours = bl.asarray(key) if isinstance(key, np.ndarray) else key
    same_bits(getattr(given.at[of_ours], name)(bl.asarray(value)), expected)
    same_bits(given, x)


def test_sums_at_indices_are_in_the_canonical_order() -> None:
    x, at, values = RNG.random(5), RNG.integers(0, 4, 400), RNG.random(400)
    sums = [canonical(values[at == i], np.add) for i in range(4)]
    expected = np.array([x[i] + sums[i] for i in range(4)] + [x[4]])
    same_bits(bl.asarray(x).at[bl.asarray(at)].add(bl.asarray(values)), expected)


def test_elements_that_are_not_selected_keep_their_bits() -> None:
    x = np.array([0x7FF8000000000123, 0xFFF0000000000001, 0x8000000000000000, 0], np.uint64).view(np.float64)
    for name in ("set", "add", "multiply", "min", "max"):
        made = np.asarray(getattr(bl.asarray(x).at[3], name)(1.0))
        assert made[:3].tobytes() == x[:3].tobytes(), name


def test_values_at_a_key_are_converted_as_by_assignment() -> None:
    x = bl.asarray([1, 2, 3], dtype=bl.int8)
    same_bits(x.at[[0, 0]].add(100), np.array([-55, 2, 3], np.int8))
    same_bits(x.at[1:].set(bl.asarray([7, 8])), np.array([1, 7, 8], np.int8))
    same_bits(bl.asarray([True, False]).at[1].set(True), np.array([True, True]))
    same_bits(bl.asarray(2.0).at[...].add(1), np.array(3.0))
    with pytest.raises(TypeError):
        x.at[0].set(1.5)
    with pytest.raises(IndexError):
        np.asarray(x.at[bl.asarray([3])].add(1))
    with pytest.raises(ValueError):
        x.at[:2].set(bl.asarray([1, 2, 3]))
