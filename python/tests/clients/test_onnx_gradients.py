"""ONNX's operator `Gradient`, against derivatives by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import parser  # noqa: E402

import broadloom.onnx as client  # noqa: E402
from broadloom import LimitError  # noqa: E402

HEADER = '<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>\n'
X, W = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32), np.array([0.5, -1.0], dtype=np.float32)


def run(text: str, *values: Any) -> tuple[Any, ...]:
    return tuple(client.prepare(parser.parse_model(HEADER + text)).run(list(values)))


def test_a_sum_of_products() -> None:
    # z = Σ x w exp(w) over the rows: ∂z/∂x = w exp(w), ∂z/∂w = Σ x (1 + w) exp(w).
    text = """
        g (float[2,2] x, float[2] w) => (float z, float[2,2] dx, float[2] dw) {
            e = Exp (w)
            p = Mul (x, w)
            q = Mul (p, e)
            z = ReduceSum <keepdims = 0> (q)
            dx, dw = ai.onnx.preview.training.Gradient <xs = ["x", "w"], y = "z"> (x, w) }"""
    z, dx, dw = run(text, X, W)
    e = np.exp(W)
    np.testing.assert_allclose(z, np.sum(X * W * e), rtol=1e-6)
    np.testing.assert_allclose(dx, [W * e] * 2, rtol=1e-6)
    np.testing.assert_allclose(dw, X.sum(axis=0) * (1 + W) * e, rtol=1e-6)


def test_other_values_than_those_of_the_tensors_that_are_named() -> None:
    # h is an intermediate tensor, and the derivative is that at k. Of y, which has axes, the sum is differentiated.
    text = """
        g (float[2] x, float[2] k) => (float[2] y, float[2] dh) {
            h = Add (x, x)
            s = Mul (h, h)
            three = Constant <value_float = 3.0> ()
            y = Mul (s, three)
            dh = ai.onnx.preview.training.Gradient <xs = ["h"], y = "y"> (k) }"""
    y, dh = run(text, np.array([1.0, 2.0], dtype=np.float32), np.array([10.0, 100.0], dtype=np.float32))
    np.testing.assert_array_equal(y, [12.0, 48.0])
    np.testing.assert_array_equal(dh, [60.0, 600.0])


def test_fixed_tensors_omitted_outputs_and_constants() -> None:
    text = """
        g (float[2] x) => (float[2] dw, float[2] none) <float[2] c = {2.0, 4.0}> {
            p = Mul (x, c)
            y = Mul (p, x)
            dx, dw = ai.onnx.preview.training.Gradient <xs = ["x", "c"], y = "y"> (x, c)
            none = ai.onnx.preview.training.Gradient <xs = ["c"], zs = ["x"], y = "x"> (c, x) }"""
    dw, none = run(text, np.array([3.0, 5.0], dtype=np.float32))
    np.testing.assert_array_equal(dw, [9.0, 25.0])
    np.testing.assert_array_equal(none, [0.0, 0.0])


def test_the_gradient_of_a_gradient() -> None:
    # y = x³ w: ∂y/∂x = 3x² w, of which the derivatives are 6x w and 3x².
    text = """
        g (float[2] x, float[2] w) => (float[2] first, float[2] dxx, float[2] dxw) {
            s = Mul (x, x)
            c = Mul (s, x)
            y = Mul (c, w)
            first = ai.onnx.preview.training.Gradient <xs = ["x"], zs = ["w"], y = "y"> (x, w)
            dxx, dxw = ai.onnx.preview.training.Gradient <xs = ["x", "w"], y = "first"> (x, w) }"""
    x, w = np.array([2.0, 3.0], dtype=np.float32), np.array([1.0, 10.0], dtype=np.float32)
    first, dxx, dxw = run(text, x, w)
    np.testing.assert_array_equal(first, [12.0, 270.0])
    np.testing.assert_array_equal(dxx, [12.0, 180.0])
    np.testing.assert_array_equal(dxw, [12.0, 27.0])


def test_values_that_are_known_beforehand() -> None:
    text = """
        g () => (float[2] dx) {
            x = Constant <value_floats = [2.0, 3.0]> ()
            y = Mul (x, x)
            dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) }"""
    np.testing.assert_array_equal(run(text)[0], [4.0, 6.0])


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (
            """g (float[2] x) => (float[2] dx) {
                y = Concat <axis = 0> (x, x)
                dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) }""",
            NotImplementedError,
            r"ai\.onnx\.preview\.training\.Gradient-1: there is no gradient through Concat",
        ),
        (
            """g (float[2] x) => (float[2] dx) {
                y = Mul (x, x)
                dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "z"> (x) }""",
            ValueError,
            "nothing before it defines `z`",
        ),
        (
            """g (float[2] x) => (float[2] dx) {
                y = Mul (x, x)
                dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x, x) }""",
            ValueError,
            "2 inputs for 1 tensors",
        ),
    ],
)
def test_errors(text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        client.prepare(parser.parse_model(HEADER + text))


def test_gradients_within_each_other_have_a_limit() -> None:
    lines = ["y0 = Mul (x, x)"]
    gradient = "ai.onnx.preview.training.Gradient"
    lines += [f'y{i + 1} = {gradient} <xs = ["x"], y = "y{i}"> (x)' for i in range(20)]
    text = "g (float[2] x) => (float[2] y20) { " + "\n".join(lines) + " }"
    with pytest.raises(LimitError, match="more than 16 operators `Gradient` within each other"):
        client.prepare(parser.parse_model(HEADER + text))
