"""Tests ONNX's random operators: a node draws from the key of its seed, and one without a seed is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

import broadloom as bl  # noqa: E402
import broadloom.onnx as client  # noqa: E402

TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
X = np.linspace(0, 1, 24, dtype="f4").reshape(4, 6)


def run_one(operator: str, arrays: Sequence[Any] = (), opset: int = 22, **attributes: Any) -> np.ndarray:
    names = [f"i{number}" for number in range(len(arrays))]
    made: np.ndarray = client.run_node(
        helper.make_node(operator, names, ["o"], **attributes), list(arrays), opset_version=opset
    )[0]
    return made


def same(made: np.ndarray, expected: Any) -> None:
    expected = np.asarray(expected)
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    assert made.tobytes() == expected.tobytes()


#: Seeds, and their keys.
SEEDS = {
    0.0: bl.random.key(0),
    42.0: bl.random.key(42),
    -3.0: bl.random.key(-3),
    2.0**40: bl.random.key(2**40),
    1.5: bl.random.fold_in(bl.random.key(0), 0x3FC00000),
    2.0**63: bl.random.fold_in(bl.random.key(0), 0x5F000000),
    -1e-40: bl.random.fold_in(bl.random.key(0), int(np.float32(-1e-40).view(np.uint32))),
    float("inf"): bl.random.fold_in(bl.random.key(0), 0x7F800000),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_are_keys(seed: float) -> None:
    made = run_one("RandomNormal", shape=[50], seed=seed, dtype=TYPES["float64"])
    same(made, bl.random.normal(SEEDS[seed], 50))


@pytest.mark.parametrize("opset", [8, 22])
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_are_scaled_draws(dtype: str, opset: int) -> None:
    key, kind = bl.random.key(7), np.dtype(dtype).type
    options = {"shape": [3, 5], "seed": 7.0, "dtype": TYPES[dtype], "opset": opset}
    uniform = bl.random.uniform(key, (3, 5), dtype=getattr(bl, dtype))
    same(run_one("RandomUniform", **options), uniform)
    same(run_one("RandomUniform", low=-2.0, high=6.0, **options), uniform * kind(8) + kind(-2))
    normal = bl.random.normal(key, (3, 5), dtype=bl.float64 if dtype == "float64" else bl.float32)
    same(run_one("RandomNormal", **options), np.asarray(normal).astype(dtype))
    wide = normal.dtype.type
    scaled = np.asarray(normal * wide(0.5) + wide(10.0)).astype(dtype)
    same(run_one("RandomNormal", mean=10.0, scale=0.5, **options), scaled)


def test_operators_like_another_array_have_its_shape_and_dtype() -> None:
    key = bl.random.key(9)
    for x in (X, X.astype("f8"), X.astype("f2")):
        dtype = getattr(bl, str(x.dtype))
        same(run_one("RandomUniformLike", [x], seed=9.0), bl.random.uniform(key, x.shape, dtype=dtype))
    same(run_one("RandomNormalLike", [X.astype("f8")], seed=9.0), bl.random.normal(key, X.shape))
    made = run_one("RandomNormalLike", [np.arange(6)], seed=9.0, dtype=TYPES["float32"])
    same(made, bl.random.normal(key, 6, dtype=bl.float32))


def test_bernoulli() -> None:
    drawn = np.asarray(bl.random.bernoulli(bl.random.key(3), X, X.shape))
    same(run_one("Bernoulli", [X], seed=3.0), drawn.astype("f4"))
    for dtype, kind in (("bool", TensorProto.BOOL), ("int32", TensorProto.INT32), ("float64", TensorProto.DOUBLE)):
        same(run_one("Bernoulli", [X], seed=3.0, dtype=kind), drawn.astype(dtype))
    ends = run_one("Bernoulli", [np.array([0.0, 1.0] * 500)], seed=3.0, opset=15)
    assert ends.reshape(-1, 2).sum(axis=0).tolist() == [0, 500]


def test_multinomial() -> None:
    weights = np.array([[1.0, 2.0, 5.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
    with np.errstate(divide="ignore"):
        logarithms = np.log(weights).astype("f4")
    n = 100_000
    made = run_one("Multinomial", [logarithms], seed=5.0, sample_size=n, dtype=TensorProto.INT64)
    assert (made.dtype, made.shape) == (np.int64, (2, n))
    counts = np.bincount(made[0], minlength=4)
    expected = n * weights[0] / weights[0].sum()
    # Six standard deviations.
    assert (abs(counts - expected) <= 6 * np.sqrt(expected)).all() and (made[1] == 2).all()
    one = run_one("Multinomial", [logarithms.astype("f2")], seed=5.0, opset=7)
    assert (one.dtype, one.shape) == (np.int32, (2, 1))


def test_numbers_are_fused_and_the_same_in_each_run_and_iteration() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        noisy (float[N] x) => (float[N] y, float[N] z) {
            n = RandomNormalLike <seed = 7.0> (x)
            y = Add (x, n)
            count = Constant <value_int = 3> ()
            true = Constant <value = bool {1}> ()
            z = Loop (count, true, x) <body = step (int64 i, bool c, float[N] s) => (bool d, float[N] t) {
                d = Identity (c)
                m = RandomNormalLike <seed = 7.0> (s)
                t = Add (s, m)
            }>
        }""")
    prepared = client.prepare(model)
    for n in (5, 1000, 5):
        noise = np.asarray(bl.random.normal(bl.random.key(7), n, dtype=bl.float32))
        made = prepared.run([np.ones(n, "f4")])
        same(made.y, noise + np.float32(1))
        same(made.z, ((noise + np.float32(1)) + noise) + noise)


@pytest.mark.parametrize(
    "operator", ["RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Bernoulli", "Multinomial"]
)
def test_an_operator_without_a_seed_is_refused(operator: str) -> None:
    takes = not operator.startswith("Random") or operator.endswith("Like")
    shape = {} if takes else {"shape": [2]}
    for seed in ({}, {"seed": float("nan")}):
        with pytest.raises(client.UnsupportedModelError, match="it has no `seed`"):
            run_one(operator, [X] if takes else [], **shape, **seed)


def test_errors() -> None:
    with pytest.raises(client.InvalidModelError, match=r"RandomNormal.*it gives no tensor\(int64\)"):
        run_one("RandomNormal", shape=[2], seed=1.0, dtype=TensorProto.INT64)
    with pytest.raises(client.InvalidModelError, match=r"RandomUniformLike.*it gives no tensor\(int64\)"):
        run_one("RandomUniformLike", [np.arange(3)], seed=1.0)
    with pytest.raises(client.InvalidModelError, match=r"Multinomial.*it gives no tensor\(float\)"):
        run_one("Multinomial", [X], seed=1.0, dtype=TensorProto.FLOAT)
    with pytest.raises(client.UnsupportedModelError, match="bfloat16"):
        run_one("RandomNormal", shape=[2], seed=1.0, dtype=TensorProto.BFLOAT16)
    with pytest.raises(ValueError, match="negative extent"):
        run_one("RandomNormal", shape=[2, -1], seed=1.0)
    with pytest.raises(ValueError, match="rank 1, not 2"):
        run_one("Multinomial", [X[0]], seed=1.0)
