"""Tests sorts, searches, reductions by label, selections and scatters as parts of lazy and of compiled expressions. Their results
alone are tested in `test_selections` and `test_segments`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl

RNG = np.random.default_rng(34)


def same(got: Any, expected: Any) -> None:
    values, wanted = np.asarray(got), np.asarray(expected)
    assert values.dtype == wanted.dtype and values.shape == wanted.shape
    assert values.tobytes() == wanted.tobytes()


def standardised(x: Any, labels: Any) -> Any:
    means = bl.segment_mean(x, labels, 5)
    centred = x - means[labels]
    return centred / bl.sqrt(bl.segment_mean(centred * centred, labels, 5))[labels]


FUNCTIONS: dict[str, Any] = {
    "standardised": standardised,
    "sort": lambda x, labels: bl.sort(x * 2, descending=True) - bl.max(x),
    "argsort": lambda x, labels: bl.take(x, bl.argsort(x)),
    "rank": lambda x, labels: bl.searchsorted(bl.sort(x), x, side="right") * 1.0,
    "topk": lambda x, labels: bl.sum(bl.topk(x, 3).values) + x,
    "topk indices": lambda x, labels: bl.topk(x, 3, largest=False).indices,
    "isin": lambda x, labels: bl.isin(labels, bl.asarray([1, 4])),
    "median": lambda x, labels: x - bl.median(x),
    "quantile": lambda x, labels: bl.sum(bl.quantile(x, [0.25, 0.5])) + x,
    "unique": lambda x, labels: bl.unique_values(labels, size=7),
    "count": lambda x, labels: bl.segment_sum(bl.ones_like(x), labels, 5),
    "nonzero": lambda x, labels: bl.nonzero(x > 0.5, size=12, fill_value=-1)[0],
    "nonzero of a matrix": lambda x, labels: bl.nonzero(bl.reshape(x, (2, -1)) > 0.9, size=40, fill_value=7)[1],
    "compress": lambda x, labels: bl.compress(labels == 2, x, size=30, fill_value=-1.0),
    "compress columns": lambda x, labels: bl.compress(labels[:10] > 2, bl.reshape(x, (-1, 10)), axis=1, size=4),
    "set": lambda x, labels: x.at[labels].set(labels * 2.0),
    "add": lambda x, labels: bl.zeros(5).at[labels].add(x),
    "add to rows": lambda x, labels: bl.reshape(x, (-1, 10)).at[bl.asarray([1, 1, 0])].add(1.0),
    "multiply": lambda x, labels: x.at[3:7].multiply(x[:4]),
    "min": lambda x, labels: x.at[labels].min(x - 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions_have_the_bits_of_expressions(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = bl.jit(function)
    for n in (100, 40, 1000):
        x, labels = RNG.random(n), RNG.integers(0, 5, n)
        labels[:5] = range(5)
        same(compiled(x, labels), function(bl.asarray(x), bl.asarray(labels)))


def test_expressions_are_lazy_and_explained() -> None:
    memory = np.array([3.0, 1.0, 2.0])
    ordered = bl.sort(bl.asarray(memory)) + 1
    memory[0] = 0.0
    assert np.asarray(ordered).tolist() == [1.0, 2.0, 3.0]
    assert "library routine" in str(bl.explain(bl.segment_sum(bl.asarray(memory), bl.asarray([0, 1, 0]), 2)))


def test_selections_of_a_size() -> None:
    x = bl.asarray([[0, 5, 0], [7, 8, 0]])
    rows, columns = bl.nonzero(x, size=4, fill_value=-1)
    same(rows, np.array([0, 1, 1, -1]))
    same(columns, np.array([1, 0, 1, -1]))
    same(bl.nonzero(x, size=1)[1], np.array([1]))
    same(bl.compress(bl.asarray([True, False, True]), x, axis=1, size=3), np.array([[0, 0, 0], [7, 0, 0]]))
    same(bl.compress(bl.asarray([], dtype=bl.bool), x, size=2, fill_value=9), np.array([9, 9]))
    values = bl.asarray([3.0, -0.0, 0.0, np.nan, 3.0])
    same(bl.unique_values(values, size=4), np.array([-0.0, 3.0, np.nan, -0.0]))
    same(bl.unique_values(values, size=2), np.array([-0.0, 3.0]))
    for call in (
        lambda: bl.nonzero(x, size=-1),
        lambda: bl.nonzero(bl.asarray(1), size=1),
        lambda: bl.compress(bl.asarray([True]), x, size=-1),
        lambda: bl.unique_values(x, size=-1),
        lambda: bl.unique_values(bl.asarray([]), size=2),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("name", ["nonzero", "compress", "unique_values"])
def test_compiled_functions_need_a_size(name: str) -> None:
    call = {
        "nonzero": lambda x: bl.nonzero(x)[0],
        "compress": lambda x: bl.compress(x > 0, x),
        "unique_values": bl.unique_values,
    }[name]
    with pytest.raises(bl.TracerError, match=rf"`{name}`, whose extent depends on values.*{name}\(…, size=…\)"):
        bl.jit(call)(np.ones(3))


def test_errors_name_the_first_element() -> None:
    total = bl.jit(lambda x, labels: bl.segment_sum(x, labels, 3) * 2)
    with pytest.raises(IndexError, match=r"segment_sum: label 4 is out of range for 3 segments, at \[1\]"):
        total(np.ones(4), np.array([0, 4, -2, 9]))
    with pytest.raises(IndexError, match=r"index 9 is out of range"):
        bl.jit(lambda x, i: x.at[i].add(1))(np.ones(4), np.array([0, 9]))
