"""Tests ONNX's operators by version: what older opsets write differently, and what ONNX defines differently than the
engine.

Division must satisfy SONNX's definition of `Div`: quotients within half a unit in the last place of the exact ones.
`Sin` must return the values that SONNX states for special cases, and otherwise values within less than a unit in the
last place.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import defs, helper, numpy_helper  # noqa: E402

import broadloom.onnx as client  # noqa: E402
from broadloom.onnx._table import KINDS, TABLE  # noqa: E402
from broadloom.onnx._types import DTYPES  # noqa: E402

NEWEST = defs.onnx_opset_version()
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
INF, NAN = float("inf"), float("nan")


def run_one(operator: str, arrays: Sequence[Any], opset: int = NEWEST, outputs: int = 1, **attributes: Any) -> Any:
    """The output of one node, or a tuple of several."""
    names = [f"i{number}" if array is not None else "" for number, array in enumerate(arrays)]
    options = {name: attributes.pop(name) for name in ("int_division",) if name in attributes}
    node = helper.make_node(operator, names, [f"o{number}" for number in range(outputs)], **attributes)
    made = client.run_node(node, [x for x in arrays if x is not None], opset_version=opset, **options)
    return made[0] if outputs == 1 else made


def i8(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def f4(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    powers = np.exp(x - x.max(axis=axes, keepdims=True))
    return powers / powers.sum(axis=axes, keepdims=True)


def one_hot(x: np.ndarray, axis: int) -> np.ndarray:
    return (np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
            == np.expand_dims(x.argmax(axis), axis)).astype(x.dtype)  # fmt: skip


def picked(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The elements along axis 1 that labels choose."""
    return np.take_along_axis(x, labels[:, None], 1)[:, 0]


#: A label for each place on the other axes, and the weights of three labels.
LABELS, WEIGHTS = np.arange(8).reshape(2, 4) % 3, f4(1, 2, 4)
#: Angles for each of two places in sequences of three, and what they rotate.
ANGLES = np.arange(12, dtype="f4").reshape(2, 3, 2)
HEADS = np.arange(24, dtype="f4").reshape(2, 1, 3, 4) / 8
TURNED = np.concatenate([
    np.cos(ANGLES)[:, None] * HEADS[..., :2] - np.sin(ANGLES)[:, None] * HEADS[..., 2:],
    np.sin(ANGLES)[:, None] * HEADS[..., :2] + np.cos(ANGLES)[:, None] * HEADS[..., 2:],
], -1)  # fmt: skip


# Versions.


#: Rows of operator, opset, inputs, attributes and expected result, for versions that differ in attributes, inputs or
#: meaning.
def scattered(x: np.ndarray) -> np.ndarray:
    """An array with two rows of its first matrix added to one of its second."""
    made = x.copy()
    for row in x[0, :2]:
        made[1, 2] += row
    return made


VERSIONS: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    *(("Add", v, [X, f4(1, 2, 3)], {"broadcast": 1, "axis": 1}, X + f4(1, 2, 3)[:, None]) for v in (1, 6)),
    ("Sub", 6, [X, f4(1, 2, 3, 4)], {"broadcast": 1}, X - f4(1, 2, 3, 4)),
    ("Mul", 6, [X, np.array([[2]], "f4")], {"broadcast": 1}, X * 2),
    ("Div", 6, [X, X[0] + 9], {"broadcast": 1, "axis": -2}, X / (X[0] + 9)),
    ("Selu", 1, [f4(2, -1)], {}, f4(2 * 1.0507, 1.0507 * 1.6732 * np.expm1(-1))),
    ("Selu", 22, [f4(2, -1)], {"alpha": 2.0, "gamma": 3.0}, f4(6, 6 * np.expm1(-1))),
    ("Pow", 1, [X, f4(2)], {"broadcast": 1}, X**2),
    ("Greater", 1, [X, X[0]], {"broadcast": 1}, X > X[0]),
    ("And", 1, [X > 0, X[0] > 0], {"broadcast": 1}, (X > 0) & (X[0] > 0)),
    ("Equal", 1, [i8(1, 2), i8(1, 3)], {}, np.array([True, False])),
    ("PRelu", 6, [X, f4(1, 2, 3)], {}, np.where(X < 0, X * f4(1, 2, 3)[:, None], X)),
    ("PRelu", 9, [X, f4(1, 2, 3, 4)], {}, np.where(X < 0, X * f4(1, 2, 3, 4), X)),
    ("Cast", 1, [X], {"to": "DOUBLE"}, X.astype("f8")),
    ("Cast", 6, [X], {"to": 7}, X.astype("i8")),
    ("Clip", 1, [X], {"max": 2.0}, np.minimum(X, 2)),
    ("Clip", 6, [X], {"min": -2.0, "max": 2.0}, np.clip(X, -2, 2)),
    ("Clip", 6, [np.array([INF, 1], "f4")], {}, np.array([np.finfo("f4").max, 1], "f4")),
    ("Clip", 11, [X, np.float32(-2), None], {}, np.maximum(X, -2)),
    ("Clip", 13, [X, np.float32(3), np.float32(1)], {}, np.full_like(X, 1)),
    *(("Compress", v, [X, np.array([False, True, True])], {"axis": 1}, X[:, 1:]) for v in (9, 11)),
    ("Compress", 11, [X, np.array([False, True, False, False, True])], {}, X.reshape(-1)[[1, 4]]),
    *(("ScatterND", v, [X, np.array([[1], [0]]), X], {}, X[::-1]) for v in (11, 13, 16)),
    ("ScatterND", 16, [X, np.array([[1, -1], [1, 2]]), X[0, :2]], {"reduction": "add"}, scattered(X)),
    *(("Softmax", v, [X], {}, softmax(X, (1, 2))) for v in (1, 11)),
    ("Softmax", 11, [X], {"axis": -1}, softmax(X, (2,))),
    ("Softmax", 13, [X], {}, softmax(X, (2,))),
    ("LogSoftmax", 11, [X], {"axis": 0}, np.log(softmax(X, (0, 1, 2)))),
    ("Hardmax", 11, [X], {}, one_hot(X.reshape(2, 12), 1).reshape(X.shape)),
    ("Hardmax", 13, [-X], {"axis": 1}, one_hot(-X, 1)),
    *(("ReduceSum", v, [X], {"axes": [0, 2], "keepdims": 0}, X.sum((0, 2))) for v in (1, 11)),
    ("ReduceSum", 13, [X, i8(0, -1)], {}, X.sum((0, 2), keepdims=True)),
    ("ReduceSum", 13, [X, i8()], {"noop_with_empty_axes": 1}, X),
    ("ReduceSum", 13, [X], {}, X.sum(keepdims=True)),
    ("ReduceMean", 13, [X], {"axes": [-1]}, X.mean(-1, keepdims=True)),
    ("ReduceMean", 18, [X, i8(1)], {"keepdims": 0}, X.mean(1)),
    ("ReduceSumSquare", 18, [X, None], {"noop_with_empty_axes": 1}, X * X),
    ("ReduceLogSum", 18, [X + 8, None], {"noop_with_empty_axes": 1}, np.log(X + 8)),
    ("ReduceMax", 12, [X.astype("i1")], {"axes": [1], "keepdims": 0}, X.astype("i1").max(1)),
    ("ReduceMax", 20, [X > 0, i8(2)], {"keepdims": 0}, (X > 0).any(2)),
    ("ReduceMin", 20, [X > 0, i8(2)], {"keepdims": 0}, (X > 0).all(2)),
    ("ArgMax", 1, [X], {"axis": 1, "keepdims": 0}, X.argmax(1)),
    ("ArgMax", 12, [f4(3, 1, 3)], {"select_last_index": 1, "keepdims": 0}, np.int64(2)),
    ("ArgMin", 13, [f4(3, 1, 1)], {"select_last_index": 0, "keepdims": 0}, np.int64(1)),
    ("CumSum", 11, [X, np.int32(-1)], {"exclusive": 1}, np.cumsum(X, -1) - X),
    ("CumSum", 14, [X, i8(1)], {"reverse": 1}, np.cumsum(X[:, ::-1], 1)[:, ::-1]),
    ("CumSum", 14, [f4(1, 2, 4), np.int64(0)], {"reverse": 1, "exclusive": 1}, f4(6, 4, 0)),
    ("Reshape", 1, [X], {"shape": [0, -1]}, X.reshape(2, 12)),
    ("Reshape", 5, [X, i8(-1, 0, 2)], {}, X.reshape(4, 3, 2)),
    ("Reshape", 14, [X[:0], i8(3, 0)], {"allowzero": 1}, np.zeros((3, 0), "f4")),
    ("Flatten", 1, [X], {"axis": 2}, X.reshape(6, 4)),
    ("Flatten", 11, [X], {"axis": -1}, X.reshape(6, 4)),
    *(("Squeeze", v, [X[:1, :, None]], {"axes": [0, 2]}, X[0]) for v in (1, 11)),
    ("Squeeze", 13, [X[:1, :, None]], {}, X[0]),
    ("Squeeze", 13, [X[:1], i8(-3)], {}, X[0]),
    *(("Unsqueeze", v, [X], {"axes": [0, 4]}, X[None, ..., None]) for v in (1, 11)),
    ("Unsqueeze", 13, [X, i8(-1, 0)], {}, X[None, ..., None]),
    ("Slice", 1, [X], {"axes": [2, 0], "starts": [1, -1], "ends": [-1, 1000]}, X[-1:, :, 1:-1]),
    ("Slice", 10, [X, i8(5, 0), i8(-(2**63), 2**63 - 1), i8(2, 0), i8(-2, 3)], {}, X[::3, :, ::-2]),
    ("Slice", 13, [X, i8(1), i8(3), i8(-1), None], {}, X[..., 1:3]),
    ("Slice", 13, [X, i8(3), i8(1), i8(2), None], {}, X[..., 3:1]),
    ("Transpose", 1, [X], {}, X.T),
    ("Transpose", 13, [X], {"perm": [1, 2, 0]}, X.transpose(1, 2, 0)),
    ("Concat", 1, [X, X], {}, np.concatenate([X, X], 1)),
    ("Concat", 13, [X, X], {"axis": -1}, np.concatenate([X, X], 2)),
    ("Shape", 15, [X], {"start": -2, "end": 10}, i8(3, 4)),
    ("Shape", 1, [X], {}, i8(2, 3, 4)),
    ("Size", 13, [X], {}, np.int64(24)),
    ("Expand", 8, [X[:, :1], i8(3, 1)], {}, np.repeat(X[:, :1], 3, 1)),
    ("Trilu", 14, [X, np.int64(1)], {}, np.triu(X, 1)),
    ("Trilu", 14, [X > 0, np.int64(-1)], {"upper": 0}, np.tril(X > 0, -1)),
    ("EyeLike", 22, [X[0]], {"k": 1, "dtype": 6}, np.eye(3, 4, 1, "i4")),
    ("Range", 11, [np.float32(0.5), np.float32(2), np.float32(0.5)], {}, f4(0.5, 1, 1.5)),
    ("Range", 11, [np.int16(3), np.int16(-4), np.int16(-3)], {}, np.array([3, 0, -3], "i2")),
    ("IsInf", 10, [f4(INF, -INF, NAN)], {"detect_positive": 0}, np.array([False, True, False])),
    ("IsInf", 20, [f4(INF, -INF, NAN)], {"detect_positive": 0, "detect_negative": 0}, np.zeros(3, bool)),
    ("BatchNormalization", 9, [X, *[f4(1, 2, 3)] * 4], {"epsilon": 0.0},
     (X - f4(1, 2, 3)[:, None]) / np.sqrt(f4(1, 2, 3))[:, None] * f4(1, 2, 3)[:, None] + f4(1, 2, 3)[:, None]),
    ("Tile", 1, [X, np.float32(2), np.float32(1)], {}, np.tile(X, (1, 2, 1))),
    *(("Tile", v, [X, i8(1, 0, 3)], {}, np.tile(X, (1, 0, 3))) for v in (6, 13)),
    ("Pad", 1, [X], {"paddings": [0, 1, 0, 0, 0, 2], "value": 1.5},
     np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=1.5)),
    ("Pad", 2, [X], {"pads": [0, 1, -1, 0, 2, 3], "mode": "reflect"},
     np.pad(X[..., 1:], ((0, 0), (1, 2), (0, 3)), mode="reflect")),
    ("Pad", 11, [X, i8(1, 0, 0, 0, 0, 2)], {"mode": "edge"}, np.pad(X, ((1, 0), (0, 0), (0, 2)), mode="edge")),
    ("Pad", 13, [X, i8(0, 0, 1, 0, 0, 0), np.float32(7)], {}, np.pad(X, ((0, 0), (0, 0), (1, 0)), constant_values=7)),
    ("Pad", 18, [X, i8(1, -1), None, i8(-2)], {}, np.pad(X, ((0, 0), (1, 0), (0, 0)))[:, :-1]),
    *(("Pad", v, [X, i8(5, 2), None, i8(2)], {"mode": "wrap"}, np.pad(X, ((0, 0), (0, 0), (5, 2)), mode="wrap"))
      for v in (19, 21, 23)),
    *(("OneHot", v, [i8(0, 2, -1, 5), np.int64(3), f4(-1, 9)], {"axis": 0},
       f4(9, -1, -1, -1, -1, -1, -1, -1, -1, 9, 9, -1).reshape(3, 4)) for v in (9, 11)),
    *(("GatherND", v, [X, i8(0, 2, 1, -1).reshape(2, 2)], {}, X[[0, 1], [2, -1]]) for v in (11, 12, 13)),
    *(("GatherND", v, [X, i8(2, 0).reshape(2, 1)], {"batch_dims": 1}, X[[0, 1], [2, 0]]) for v in (12, 13)),
    ("ReverseSequence", 10, [X, i8(2, 1, 2)], {}, np.stack([X[::-1, 0], X[:, 1], X[::-1, 2]], 1)),
    ("RotaryEmbedding", 23, [HEADS, np.cos(ANGLES), np.sin(ANGLES)], {}, TURNED),
    *(("NegativeLogLikelihoodLoss", v, [X, LABELS], {"reduction": "none"}, -picked(X, LABELS)) for v in (12, 13, 22)),
    ("NegativeLogLikelihoodLoss", 22, [X, np.where(LABELS == 1, -7, LABELS), WEIGHTS], {"ignore_index": -7},
     np.float32(-(picked(X, LABELS) * WEIGHTS[LABELS])[LABELS != 1].sum() / WEIGHTS[LABELS][LABELS != 1].sum())),
    ("NegativeLogLikelihoodLoss", 22, [np.array([[-INF, 0], [1, 2]], "f4"), i8(-1, 1)],
     {"ignore_index": -1, "reduction": "sum"}, np.float32(-2)),
    ("OneHot", 11, [np.array([2**64 - 1, 2**63, 1], "u8"), np.int64(3), f4(0, 1)], {},
     f4(0, 0, 0, 0, 0, 0, 0, 1, 0).reshape(3, 3)),
    *(("SoftmaxCrossEntropyLoss", v, [X, LABELS], {"reduction": "sum"},
       np.float32(-picked(np.log(softmax(X, (1,))), LABELS).sum())) for v in (12, 13)),
    ("Sum", 6, [X, X], {}, X + X),
    ("Mean", 8, [X, X[0], np.float32(1)], {}, (X + X[0] + 1) / 3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "opset", "arrays", "attributes", "expected"),
    VERSIONS,
    ids=[f"{row[0]}-{row[1]}-{number}" for number, row in enumerate(VERSIONS)],
)
def test_versions(operator: str, opset: int, arrays: list[Any], attributes: dict[str, Any], expected: Any) -> None:
    made = run_one(operator, arrays, opset, **attributes)
    assert made.dtype == expected.dtype and made.shape == expected.shape
    # Sums of a few float32, and exponentials, in another order than NumPy's.
    np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-6 if operator == "LogSoftmax" else 0)


def test_opsets_before_seven_broadcast_only_if_told() -> None:
    with pytest.raises(ValueError, match="`broadcast` is not set"):
        run_one("Add", [X, X[0]], 6)
    with pytest.raises(ValueError, match="from axis 0 on"):
        run_one("Add", [X, f4(1, 2, 3)], 6, broadcast=1, axis=0)
    with pytest.raises(ValueError, match="shapes differ"):
        run_one("Max", [X, X[0]], 6)


def test_splits() -> None:
    for opset, arrays, attributes, sizes in (
        (1, [X], {"axis": 2, "split": [1, 3]}, [1, 3]),
        (2, [X], {"axis": 2}, [2, 2]),
        (13, [X, i8(3, 1)], {"axis": -1}, [3, 1]),
        (18, [X], {"axis": 2, "num_outputs": 3}, [2, 2, 0]),
        (18, [X], {"axis": 1, "num_outputs": 2}, [2, 1]),
    ):
        made = run_one("Split", arrays, opset, len(sizes), **attributes)
        axis = int(attributes["axis"])
        for part, expected in zip(made, np.split(X, np.cumsum(sizes)[:-1], axis), strict=True):
            np.testing.assert_array_equal(part, expected)
    with pytest.raises(ValueError, match="are not the 4 along axis 2"):
        run_one("Split", [X, i8(3, 2)], 13, 2, axis=2)


def test_the_first_elements_in_each_version() -> None:
    for opset, arrays, attributes, axis, sign in (
        (1, [X], {"k": 2, "axis": 0}, 0, -1),
        (10, [X, i8(2)], {"axis": 1}, 1, -1),
        (11, [X, i8(3)], {"largest": 0}, 2, 1),
    ):
        values, indices = run_one("TopK", arrays, opset, 2, **attributes)
        order = np.argsort(sign * X, axis, kind="stable").take(range(values.shape[axis]), axis)
        np.testing.assert_array_equal(indices, order, strict=True)
        np.testing.assert_array_equal(values, np.take_along_axis(X, order, axis), strict=True)


#: The operators with rows by hand, above. All other operators have the same node in all versions, and are run in each
#: version.
BY_HAND = {row[0] for row in VERSIONS} | {
    "Split",
    "TopK",
    "Constant",
    "ConstantOfShape",
    "BitShift",
    "BitCast",
    "CumProd",
}
#: Random operators and gradients have tests of their own.
OTHERS = {row.name for kind in ("Random numbers", "Gradients") for row in KINDS[kind]}
SAME = sorted(set(TABLE) - BY_HAND - OTHERS)


@pytest.mark.parametrize("operator", SAME)
def test_an_operator_is_the_same_in_every_opset_that_has_it(operator: str) -> None:
    newest = defs.get_schema(operator, NEWEST)
    versions = {s.since_version for s in defs.get_all_schemas_with_history() if s.name == operator and s.domain == ""}
    kinds = {constraint.type_param_str: constraint.allowed_type_strs for constraint in newest.type_constraints}
    arrays = []
    for formal in newest.inputs[: max(newest.min_input, 1)]:
        allowed = kinds.get(formal.type_str, [formal.type_str])
        kind = next(k for k in ("tensor(float)", "tensor(int32)", "tensor(bool)") if k in allowed)
        arrays.append((np.abs(X) / 20 + 0.1).astype(DTYPES[kind]))
    if operator == "Acosh":
        arrays = [x + 1 for x in arrays]
    if operator in ("InstanceNormalization", "LayerNormalization"):
        arrays[1:] = [f4(*range(1, X.shape[1 if operator[0] == "I" else 2] + 1))] * (len(arrays) - 1)
    if operator == "Where":
        arrays[0] = X > 0
    expected = run_one(operator, arrays)
    assert versions
    for opset in sorted(versions):
        made = run_one(operator, arrays, opset)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected, strict=True)


# Operations that ONNX defines differently.


def test_of_nothing() -> None:
    empty = np.zeros((2, 0), "f4")
    assert run_one("ReduceMax", [empty, i8(1)], keepdims=0).tolist() == [-INF, -INF]
    assert run_one("ReduceMin", [empty, i8(1)], keepdims=0).tolist() == [INF, INF]
    assert run_one("ReduceMax", [empty.astype("i4"), i8(1)]).tolist() == [[-(2**31)], [-(2**31)]]
    assert run_one("ReduceMin", [empty.astype("u1"), i8(1)]).tolist() == [[255], [255]]
    assert run_one("ReduceMax", [empty > 0, i8(1)], keepdims=0).tolist() == [False, False]
    assert run_one("ReduceMin", [empty > 0, i8(1)], keepdims=0).tolist() == [True, True]
    assert run_one("ReduceSum", [empty, i8(1)], keepdims=0).tolist() == [0, 0]
    assert run_one("ReduceProd", [empty, i8(1)], keepdims=0).tolist() == [1, 1]
    assert run_one("ReduceLogSumExp", [empty, i8(1)], keepdims=0).tolist() == [-INF, -INF]
    assert np.isnan(run_one("ReduceMean", [empty, i8(1)], keepdims=0)).all()
    assert run_one("Softmax", [empty]).shape == run_one("Hardmax", [empty]).shape == (2, 0)


def test_nan_and_zeros_of_max_and_min() -> None:
    assert np.isnan(run_one("Max", [f4(NAN, 1), f4(1, NAN)])).all()
    assert np.isnan(run_one("ReduceMin", [f4(1, NAN)], keepdims=0))
    assert not np.signbit(run_one("Max", [f4(-0.0, 0.0), f4(0.0, -0.0)])).any()
    assert np.signbit(run_one("Min", [f4(-0.0, 0.0), f4(0.0, -0.0)])).all()
    assert run_one("ArgMax", [f4(1, NAN, 5, NAN)], keepdims=0) == 1
    assert np.isnan(run_one("Clip", [f4(NAN), np.float32(0), np.float32(1)])).all()
    assert np.isnan(run_one("Relu", [f4(NAN)])).all()


def test_casts_saturate() -> None:
    x = f4(NAN, INF, -INF, 300.7, -1.9)
    assert run_one("Cast", [x], to=2).tolist() == [0, 255, 0, 255, 0]
    assert run_one("Cast", [x], to=7).tolist() == [0, 2**63 - 1, -(2**63), 300, -1]
    assert run_one("Cast", [x], to=9).all()
    assert run_one("Cast", [i8(300, -1)], to=2).tolist() == [44, 255]
    assert run_one("CastLike", [i8(2), np.zeros(3, "f2")]).dtype == np.float16


def test_powers_of_two_dtypes() -> None:
    assert run_one("Pow", [np.array([2, -3], "i4"), f4(0.5, 3)]).tolist() == [1, -27]
    assert run_one("Pow", [f4(2, -3), i8(-1, 3)]).tolist() == [0.5, -27]
    base, exponents = np.array([3, -3, 2, -1, 0, 1], "i8"), np.array([2**63 + 5] * 6, "u8")
    expected = [pow(int(b), int(e), 2**64) for b, e in zip(base, exponents)]
    assert run_one("Pow", [base, exponents]).astype("u8").tolist() == expected
    assert run_one("Pow", [i8(2, 1, -1, 0), i8(-1, -5, -3, -2)]).tolist() == [0, 1, -1, 0]


def test_moduli() -> None:
    a, b = np.array([7, -7, 7, -7, -128, 5], "i1"), np.array([3, 3, -3, -3, -1, 0], "i1")
    assert run_one("Mod", [a, b]).tolist() == [1, 2, -2, -1, 0, 0]
    assert run_one("Mod", [a, b], fmod=1).tolist() == [1, -1, 1, -1, 0, 0]
    x, y = f4(7.5, -7.5, 5, -0.0, INF, 1e38), f4(2, 2, INF, 3, 2, 1e-3)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(run_one("Mod", [x, y], fmod=1), np.fmod(x, y))
    assert np.signbit(run_one("Mod", [f4(-4), f4(2)], fmod=1)).all()
    assert run_one("Mod", [f4(-7.5, 7.5), f4(2, -2)]).tolist() == [0.5, -0.5]


def test_shifts_beyond_the_width() -> None:
    x, by = np.array([1, -1, 5], "i4"), np.array([40, 40, -1], "i4")
    assert run_one("BitShift", [x, by], direction="RIGHT").tolist() == [0, -1, 0]
    assert run_one("BitShift", [x, by], direction="LEFT").tolist() == [0, 0, 0]
    x = np.array([1, 128], "u1")
    assert run_one("BitShift", [x, np.array([1, 1], "u1")], 11, direction="LEFT").tolist() == [2, 0]


def test_bit_casts() -> None:
    assert run_one("BitCast", [f4(1, -0.0)], to=6).tolist() == [0x3F800000, -(2**31)]
    assert run_one("BitCast", [np.array([0x3C00], "u2")], to=10).tolist() == [1.0]
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("BitCast", ["a"], ["b"], to=6),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["N"])], [helper.make_tensor_value_info("y", 6, ["N"])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)])
    np.testing.assert_array_equal(client.run_model(model, [X[0, 0]]).y, -((-X[0, 0]).view("i4")))


def test_overflow_does_not_reach_results() -> None:
    big = f4(1000, 1000)
    assert run_one("Softmax", [big]).tolist() == [0.5, 0.5]
    np.testing.assert_allclose(run_one("LogSoftmax", [big]), np.log(f4(0.5, 0.5)), rtol=1e-6)
    np.testing.assert_allclose(run_one("ReduceLogSumExp", [big], keepdims=0), 1000 + np.log(2), rtol=1e-7)
    assert run_one("Softplus", [f4(1000, -1000)]).tolist() == [1000, 0]
    assert run_one("Sigmoid", [f4(1000, -1000)]).tolist() == [1, 0]
    assert run_one("ReduceL2", [np.full(4, 300, "f2")], keepdims=0) == 600
    assert run_one("Gelu", [f4(-INF, INF, -10)])[1:].tolist() == [INF, pytest.approx(-7.619853e-23, rel=1e-6)]


def test_constants() -> None:
    for attributes, expected in (
        ({"value": numpy_helper.from_array(X)}, X),
        ({"value_float": 0.5}, np.float32(0.5)),
        ({"value_floats": [1.0, 2.0]}, f4(1, 2)),
        ({"value_int": 3}, np.int64(3)),
        ({"value_ints": [3, 4]}, i8(3, 4)),
    ):
        made = run_one("Constant", [], **attributes)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected, strict=True)
    filling = numpy_helper.from_array(np.array([3], "u1"))
    np.testing.assert_array_equal(run_one("ConstantOfShape", [i8(2, 0, 3)], value=filling), np.zeros((2, 0, 3), "u1"))
    np.testing.assert_array_equal(run_one("ConstantOfShape", [i8(2)]), np.zeros(2, "f4"), strict=True)


# SONNX.

INTEGERS = [np.dtype(code) for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
FLOATS = [np.dtype(code) for code in ("f2", "f4", "f8")]


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_div_of_integers_discards_the_fraction(dtype: np.dtype[Any]) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = [n for n in (low, low + 1, -35, -1, 0, 1, 3, 5, 35, high // 3, high - 1, high) if low <= n <= high]
    a, b = (np.array(part, dtype) for part in zip(*[(a, b) for a in numbers for b in numbers if b], strict=True))
    made = run_one("Div", [a, b])
    # MIN / -1 exceeds the range of the dtype, and wraps around.
    expected = [truncated(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert made.dtype == dtype
    assert made.tolist() == [low if x > high else x for x in expected]
    zeros = np.zeros_like(a)
    assert not run_one("Div", [a, zeros]).any()
    with pytest.raises(ZeroDivisionError):
        run_one("Div", [a, zeros], int_division="error")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_div_of_floats_is_the_nearest_to_the_exact_quotient(dtype: np.dtype[Any]) -> None:
    info = np.finfo(dtype)
    random = np.random.default_rng(5)
    numbers = [1, 3, 4.5, 0.1, float(info.max), float(info.tiny), float(info.smallest_subnormal), *random.random(20)]
    values = np.array([*numbers, *(-n for n in numbers)], dtype)
    a, b = (x.reshape(-1) for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        made = run_one("Div", [a, b])
    precision, least = info.nmant + 1, int(np.log2(float(info.smallest_subnormal)))
    for x, y, got in zip(a.tolist(), b.tolist(), made.tolist(), strict=True):
        exact = Fraction(x) / Fraction(y)
        if np.isinf(got):
            assert abs(exact) >= Fraction(float(info.max)) + Fraction(2) ** (int(info.maxexp) - precision - 1)
            continue
        size = abs(exact)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= Fraction(2) ** exponent > size
        ulp = Fraction(2) ** max(exponent - precision + 1, least)
        assert abs(Fraction(got) - exact) <= ulp / 2


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_div_of_floats_by_zero(dtype: np.dtype[Any]) -> None:
    a = np.array([4.5, -4.5, 4.5, -4.5, 0.0, -0.0, 0.0, NAN], dtype)
    b = np.array([0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, 0.0], dtype)
    made = run_one("Div", [a, b])
    assert made[:4].tolist() == [INF, -INF, -INF, INF] and np.isnan(made[4:]).all()


def test_the_examples_of_div() -> None:
    a, b = np.array([[3, 4.5], [16, 1], [25.5, 24.25]], "f4"), np.array([[3, 2], [4, 0], [5, 4]], "f4")
    expected = np.array([[1, 2.25], [4, INF], [5.1, 6.0625]], "f4")
    np.testing.assert_array_equal(run_one("Div", [a, b]), expected)
    assert run_one("Div", [i8(6, 5, -35), i8(3, 3, 3)]).tolist() == [2, 1, -11]
    a, b = np.array([[10, 10], [21, 1], [30, 9]]), np.array([[3, 2], [4, 1], [5, 4]])
    assert run_one("Div", [a, b]).tolist() == [[3, 5], [5, 1], [6, 2]]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sin_of_special_cases(dtype: np.dtype[Any]) -> None:
    made = run_one("Sin", [np.array([NAN, INF, -INF, 0.0, -0.0], dtype)])
    assert np.isnan(made[:3]).all() and made[3:].tolist() == [0, 0]
    assert np.signbit(made[3:]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sin_is_within_a_unit_in_the_last_place(dtype: np.dtype[Any]) -> None:
    mpmath = pytest.importorskip("mpmath")
    info = np.finfo(dtype)
    random = np.random.default_rng(6)
    scales = np.exp2(random.uniform(-20, min(float(info.maxexp) - 1, 1000), 200))
    x = np.array([*(random.choice([-1, 1], 200) * scales), np.pi, 710 / 226, float(info.max), float(info.tiny)], dtype)
    x = np.concatenate([x, np.linspace(-10, 10, 200, dtype=dtype)])
    made = run_one("Sin", [x])
    assert (np.abs(made) <= 1).all()
    with mpmath.workprec(1400):
        for argument, got in zip(x.tolist(), made.tolist(), strict=True):
            exact = mpmath.sin(mpmath.mpf(argument))
            exponent = mpmath.frexp(exact)[1] - 1 if exact else info.minexp
            ulp = mpmath.mpf(2) ** (max(exponent, int(info.minexp)) - info.nmant)
            assert abs(mpmath.mpf(got) - exact) < ulp


def test_a_sigmoid_far_below_zero_keeps_its_digits() -> None:
    x = np.array([-103.0, -90.0, -89.0, -88.0, 90.0, np.inf, -np.inf, np.nan], np.float32)
    (made,) = client.run_node(helper.make_node("Sigmoid", ["x"], ["y"]), [x])
    with np.errstate(over="ignore"):
        expected = (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)
    np.testing.assert_array_almost_equal_nulp(np.asarray(made)[:-1], expected[:-1], 2)
    assert np.isnan(np.asarray(made)[-1])
