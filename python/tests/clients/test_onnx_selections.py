"""Tests operators of ONNX whose results have a shape that depends on values."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402
from test_onnx import I32, I64, F, model_of  # noqa: E402

import broadloom.onnx as client  # noqa: E402


def test_nonzero_and_unique_end_kernels() -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("NonZero", ["n"], ["places"]),
        helper.make_node("Unique", ["n"], ["values", "first", "inverse", "counts"], sorted=0),
        helper.make_node("Abs", ["values"], ["y"]),
        helper.make_node("Size", ["places"], ["count"]),
    ]
    outputs = {"places": (I64, 2), "y": F, "first": I64, "inverse": I64, "counts": I64, "count": (I64, 0)}
    prepared = client.prepare(model_of(nodes, {"x": (F, ["a", "b"])}, outputs))
    # One plan serves the runs of one shape, and results have other shapes.
    for x in ([[3, 0, 3], [1, 3, 0]], [[0, 0, 0], [0, 0, 0]], [[1, 2, 3], [4, 5, 6]], np.zeros((0, 3))):
        x = np.array(x, np.float32)
        made = prepared.run([x])
        np.testing.assert_array_equal(made.places, np.nonzero(x), strict=False)
        seen = list(dict.fromkeys(x.reshape(-1).tolist()))
        assert made.y.tolist() == seen and made.count == 2 * np.count_nonzero(x)
        flat = x.reshape(-1).tolist()
        assert made.first.tolist() == [flat.index(value) for value in seen]
        assert made.inverse.tolist() == [seen.index(value) for value in flat]
        assert made.counts.tolist() == [flat.count(value) for value in seen]


def test_unique_along_an_axis() -> None:
    x = np.array([[1, 0, 1, 0], [2, 3, 2, 2]], np.int32)
    for axis in (1, -1):
        nodes = [helper.make_node("Unique", ["x"], ["y", "first", "inverse", "counts"], axis=axis)]
        made = client.prepare(
            model_of(nodes, {"x": (I32, [2, 4])}, {"y": (I32, 2), "first": I64, "inverse": I64, "counts": I64})
        ).run([x])
        assert made.y.tolist() == [[0, 0, 1], [2, 3, 2]]
        assert made.first.tolist() == [3, 1, 0]
        assert made.inverse.tolist() == [2, 1, 2, 0]
        assert made.counts.tolist() == [1, 1, 2]
    nodes = [helper.make_node("Unique", ["x"], ["y"], axis=2)]
    prepared = client.prepare(model_of(nodes, {"x": (I32, [2, 4])}, {"y": (I32, 2)}))
    with pytest.raises(ValueError, match="there is no axis 2"):
        prepared.run([x])


def test_a_number_has_no_indices_of_its_own() -> None:
    prepared = client.prepare(model_of([helper.make_node("NonZero", ["x"], ["y"])], {"x": (F, [])}, {"y": (I64, 2)}))
    assert prepared.run([np.float32(2)])[0].shape == (0, 1)
    assert prepared.run([np.float32(0)])[0].shape == (0, 0)
