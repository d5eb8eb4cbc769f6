"""Computes the expected values of `test_gradients_from_jax.py` by JAX, and writes them and their inputs to `gradient_cases.json`.

    python python/tests/make_gradient_cases.py

It takes some eight minutes, which XLA needs to compile the functions. JAX (0.10.2 when the file was made) runs with 64-bit
floats on the CPU. Each case is a function, written here for JAX and in the test for broadloom under the same name, and the
inputs, which are drawn by a generator seeded by the name. The transforms applied to a case follow from its result: `value`,
`jvp`, `grad`, `value_and_grad`, `vmap` of the gradient and `hessian` if it is a number, and `value`, `jvp`, `vjp`, `jacfwd`,
`jacrev` and `vmap` if it is an array. Floats are written in hexadecimal, so that no digit is lost.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erf, erfc, erfinv, ndtri

jax.config.update("jax_enable_x64", True)

#: The largest number of elements of an argument for which second derivatives are computed.
MAX_HESSIAN = 9
BATCH = 3

#: How the elements of an input are drawn.
DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0.5, 2.0, shape),
    "inside": lambda rng, shape: rng.uniform(-0.8, 0.8, shape),
    "above": lambda rng, shape: rng.uniform(1.2, 3.0, shape),
    "unit": lambda rng, shape: rng.uniform(0.1, 0.9, shape),
}

# The functions are listed by name with the draws and the shapes of their arguments.
CASES: dict[str, tuple[str, Callable[..., Any]]] = {}
#: Cases to which only these transforms are applied.
ONLY: dict[str, tuple[str, ...]] = {}


def case(name: str, inputs: str, function: Callable[..., Any], only: tuple[str, ...] = ()) -> None:
    assert name not in CASES, name
    CASES[name] = inputs, function
    if only:
        ONLY[name] = only


# Functions of one operand, summed.
case("sin", "normal:5", lambda x: jnp.sum(jnp.sin(x)))
case("cos", "normal:5", lambda x: jnp.sum(jnp.cos(x) * x))
case("tan", "inside:5", lambda x: jnp.sum(jnp.tan(x)))
case("asin", "inside:5", lambda x: jnp.sum(jnp.asin(x)))
case("acos", "inside:5", lambda x: jnp.sum(jnp.acos(x) * x))
case("atan", "normal:5", lambda x: jnp.sum(jnp.atan(x)))
case("sinh", "normal:5", lambda x: jnp.sum(jnp.sinh(x)))
case("cosh", "normal:5", lambda x: jnp.sum(jnp.cosh(x) * x))
case("tanh", "normal:5", lambda x: jnp.sum(jnp.tanh(x)))
case("asinh", "normal:5", lambda x: jnp.sum(jnp.asinh(x)))
case("acosh", "above:5", lambda x: jnp.sum(jnp.acosh(x)))
case("atanh", "inside:5", lambda x: jnp.sum(jnp.atanh(x)))
case("exp", "normal:5", lambda x: jnp.sum(jnp.exp(x) * x))
case("exp2", "normal:5", lambda x: jnp.sum(jnp.exp2(x)))
case("expm1", "normal:5", lambda x: jnp.sum(jnp.expm1(x) * x))
case("log", "positive:5", lambda x: jnp.sum(jnp.log(x) * x))
case("log2", "positive:5", lambda x: jnp.sum(jnp.log2(x)))
case("log10", "positive:5", lambda x: jnp.sum(jnp.log10(x)))
case("log1p", "positive:5", lambda x: jnp.sum(jnp.log1p(x) * x))
case("sqrt", "positive:5", lambda x: jnp.sum(jnp.sqrt(x)))
case("cbrt", "positive:5", lambda x: jnp.sum(jnp.cbrt(x)))
case("square", "normal:5", lambda x: jnp.sum(jnp.square(x)))
case("reciprocal", "positive:5", lambda x: jnp.sum(jnp.reciprocal(x)))
case("abs", "normal:5", lambda x: jnp.sum(jnp.abs(x) * x))
case("negative", "normal:5", lambda x: jnp.sum(-x * x * x))
case("positive", "normal:5", lambda x: jnp.sum(+x * x))
case("erf", "normal:5", lambda x: jnp.sum(erf(x)))
case("erfc", "normal:5", lambda x: jnp.sum(erfc(x) * x))
case("erfinv", "inside:5", lambda x: jnp.sum(erfinv(x)))
case("ndtri", "unit:5", lambda x: jnp.sum(ndtri(x)))
case("sign and floor", "normal:5", lambda x: jnp.sum(jnp.sign(x) * x**2 + jnp.floor(x) * x))
case("ceil and trunc", "normal:5", lambda x: jnp.sum(jnp.ceil(x) * x**3 + jnp.trunc(x) * x))
case("round", "normal:5", lambda x: jnp.sum((x - jnp.round(x)) ** 2))

# Functions of several operands, summed.
case("add and subtract", "normal:5 normal:5", lambda x, y: jnp.sum((x + y) * (x - y)))
case("multiply", "normal:5 normal:5", lambda x, y: jnp.sum(x * y * x))
case("divide", "normal:5 positive:5", lambda x, y: jnp.sum(x / y))
case("pow", "positive:5 normal:5", lambda x, y: jnp.sum(jnp.pow(x, y)))
case("pow by a number", "positive:5", lambda x: jnp.sum(x**2.5 + x**-1.5))
case("pow by an integer", "normal:5", lambda x: jnp.sum(x**3 - 2 * x**2))
case("number to a power", "normal:5", lambda x: jnp.sum(2.5**x))
case("atan2", "normal:5 normal:5", lambda y, x: jnp.sum(jnp.atan2(y, x)))
case("hypot", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.hypot(x, y)))
case("logaddexp", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.logaddexp(x, y)))
case("maximum", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.maximum(x, y) * x))
case("minimum", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.minimum(x, y) * y))
case("remainder", "normal:5 positive:5", lambda x, y: jnp.sum(jnp.remainder(x, y) * x))
case("copysign", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.copysign(x, y) * x * x))
case("fma", "normal:5 normal:5 normal:5", lambda x, y, z: jnp.sum((x * y + z) * x))
case("clip", "normal:5", lambda x: jnp.sum(jnp.clip(x, -0.5, 0.75) * x))
case("clip to arrays", "normal:5 inside:5", lambda x, y: jnp.sum(jnp.clip(x, y - 0.5, y + 0.5) ** 2))
case("where", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.where(x > 0, x * y, y * y)))
case("where by another", "normal:5 normal:5", lambda x, y: jnp.sum(jnp.where(y < 0.1, jnp.exp(x), jnp.sin(x) * y)))
case("floor_divide", "normal:5 positive:5", lambda x, y: jnp.sum(jnp.floor_divide(x, y) * x * y))
case("astype of floats", "normal:5", lambda x: jnp.sum(x.astype(jnp.float32).astype(jnp.float64) * 2.0 + x))
case("comparison as a number", "normal:5", lambda x: jnp.sum((x > 0).astype(jnp.float64) * x * x))

# Element by element, with an array as the result.
case("elementwise product", "normal:4 normal:4", lambda x, y: x * y + jnp.sin(x))
case("elementwise quotient", "normal:4 positive:4", lambda x, y: x / (1.0 + y * y))
case("elementwise tanh", "normal:4", lambda x: jnp.tanh(x) * jnp.exp(-x * x))
case("outer product", "normal:3 normal:4", lambda x, y: x[:, None] * y[None, :])
case("outer difference", "normal:3 normal:4", lambda x, y: jnp.exp(-((x[:, None] - y[None, :]) ** 2)))
case("row and column", "normal:3,1 normal:1,4", lambda x, y: jnp.sin(x) * y + x)
case("broadcast number", "normal: normal:4", lambda a, x: jnp.exp(a * x) + a)
case("polar to Cartesian", "positive:3 normal:3", lambda r, t: jnp.stack([r * jnp.cos(t), r * jnp.sin(t)]))
case("Cartesian to polar", "normal:3 normal:3", lambda x, y: jnp.stack([jnp.hypot(x, y), jnp.atan2(y, x)]))
case(
    "spherical to Cartesian",
    "positive:3",
    lambda v: jnp.stack(
        [v[0] * jnp.sin(v[1]) * jnp.cos(v[2]), v[0] * jnp.sin(v[1]) * jnp.sin(v[2]), v[0] * jnp.cos(v[1])]
    ),
)
case("logistic map twice", "unit:4", lambda x: 3.7 * (3.7 * x * (1 - x)) * (1 - 3.7 * x * (1 - x)))
case("chain of twelve", "normal:4", lambda x: chain_of_twelve(x))
case("constant result", "normal:4", lambda x: jnp.ones(3) + 0.0 * x[:3])

# Reductions.
case("sum of all", "normal:2,3", lambda x: jnp.sum(x) ** 2)
case("sum along axis 0", "normal:2,3", lambda x: jnp.sum(x * x, axis=0))
case("sum along axis 1 kept", "normal:2,3", lambda x: x * jnp.sum(x, axis=1, keepdims=True))
case("sum along two axes", "normal:2,3,2", lambda x: jnp.sum(jnp.sin(x), axis=(0, 2)))
case("mean", "normal:2,3", lambda x: jnp.mean(x * x))
case("mean along an axis", "normal:2,3", lambda x: jnp.mean(x**3, axis=-1))
case("var", "normal:7", lambda x: jnp.var(x))
case("var corrected", "normal:2,4", lambda x: jnp.var(x, axis=1, correction=1))
case("std", "normal:7", lambda x: jnp.std(x))
case("std along an axis", "normal:3,4", lambda x: jnp.std(x, axis=0))
case("prod", "normal:5", lambda x: jnp.prod(x))
case("prod along an axis", "positive:2,3", lambda x: jnp.prod(x, axis=1))
case("max", "normal:5", lambda x: jnp.max(x) ** 2)
case("min", "normal:5", lambda x: jnp.min(x) * jnp.sum(x))
case("max along an axis", "normal:3,4", lambda x: jnp.max(x, axis=0) ** 2)
case("min along an axis", "normal:3,4", lambda x: jnp.min(x, axis=1, keepdims=True) * x)
case("range of values", "normal:6", lambda x: jnp.max(x) - jnp.min(x))
case("norm 1", "normal:5", lambda x: jnp.linalg.vector_norm(x, ord=1))
case("norm 2", "normal:5", lambda x: jnp.linalg.vector_norm(x))
case("norm 3", "normal:5", lambda x: jnp.linalg.vector_norm(x, ord=3))
case("norm 1.5", "positive:5", lambda x: jnp.linalg.vector_norm(x, ord=1.5))
case("norm inf", "normal:5", lambda x: jnp.linalg.vector_norm(x, ord=jnp.inf))
case("norm along an axis", "normal:3,4", lambda x: jnp.linalg.vector_norm(x, axis=1))
case("vecdot", "normal:5 normal:5", lambda x, y: jnp.vecdot(x, y))
case("vecdot of rows", "normal:2,3 normal:2,3", lambda x, y: jnp.vecdot(x, y) ** 2)
case("vecdot broadcast", "normal:2,3 normal:3", lambda x, y: jnp.vecdot(x, y))
case("nansum", "normal:5", lambda x: jnp.nansum(x * x))
case("nanmean", "normal:5", lambda x: jnp.nanmean(jnp.exp(x)))
case("cumulative_sum", "normal:5", lambda x: jnp.cumulative_sum(x * x))
case("cumulative_sum of rows", "normal:2,4", lambda x: jnp.cumulative_sum(jnp.sin(x), axis=1))
case("cumulative_sum of columns", "normal:3,2", lambda x: jnp.cumulative_sum(x, axis=0) ** 2)
case("cumulative_sum with initial", "normal:4", lambda x: jnp.cumulative_sum(x, include_initial=True) ** 2)
case("cumulative_prod", "positive:5", lambda x: jnp.cumulative_prod(x))
case("cumulative_prod of rows", "positive:2,3", lambda x: jnp.cumulative_prod(x, axis=1))
case("weighted mean", "normal:5 positive:5", lambda x, w: jnp.sum(x * w) / jnp.sum(w))
case("geometric mean", "positive:5", lambda x: jnp.exp(jnp.mean(jnp.log(x))))
case("harmonic mean", "positive:5", lambda x: 5.0 / jnp.sum(1.0 / x))
case("skewness", "normal:6", lambda x: jnp.mean((x - jnp.mean(x)) ** 3) / jnp.var(x) ** 1.5)
case(
    "correlation",
    "normal:6 normal:6",
    lambda x, y: (
        jnp.sum((x - jnp.mean(x)) * (y - jnp.mean(y)))
        / jnp.sqrt(jnp.sum((x - jnp.mean(x)) ** 2) * jnp.sum((y - jnp.mean(y)) ** 2))
    ),
)
case("logsumexp", "normal:5", lambda x: jnp.max(x) + jnp.log(jnp.sum(jnp.exp(x - jnp.max(x)))))
case("total variation", "normal:6", lambda x: jnp.sum(jnp.abs(x[1:] - x[:-1])))

# Views.
case("reshape", "normal:6", lambda x: jnp.reshape(x, (2, 3)) * jnp.asarray([1.0, 2.0, 3.0]))
case("reshape to a row of rows", "normal:2,2,2", lambda x: jnp.sin(jnp.reshape(x, (4, 2)))[:, 1])
case("permute_dims", "normal:2,3", lambda x: jnp.permute_dims(x, (1, 0)) ** 2)
case("permute three axes", "normal:2,3,2", lambda x: jnp.permute_dims(x, (2, 0, 1))[1] * 3.0)
case("matrix transpose", "normal:3,3", lambda x: x * x.T)
case("broadcast_to", "normal:3", lambda x: jnp.broadcast_to(x, (2, 3)) ** 2)
case("broadcast_to a column", "normal:3,1", lambda x: jnp.sum(jnp.broadcast_to(x, (3, 4)) ** 3))
case("expand_dims", "normal:3", lambda x: jnp.expand_dims(x, axis=0) * jnp.expand_dims(x, axis=1))
case("squeeze", "normal:3,1", lambda x: jnp.squeeze(x, axis=1) ** 2)
case("flip", "normal:5", lambda x: x * jnp.flip(x))
case("flip of rows", "normal:2,3", lambda x: x * jnp.flip(x, axis=1))
case("slice", "normal:6", lambda x: x[1:4] ** 2)
case("slice with a step", "normal:7", lambda x: jnp.exp(x[1::2]))
case("slice backwards", "normal:6", lambda x: x[::-2] * x[0])
case("slice of two axes", "normal:3,4", lambda x: x[1:, ::2] ** 2)
case("integer index", "normal:3,2", lambda x: x[1] * x[-1])
case("elements", "normal:4", lambda x: x[0] * x[1] + x[2] * x[3] * x[0])
case("concat", "normal:2 normal:3", lambda x, y: jnp.concat([x * x, y, x]))
case("concat of columns", "normal:2,1 normal:2,2", lambda x, y: jnp.concat([jnp.sin(x), y * y], axis=1))
case("stack", "normal:3 normal:3", lambda x, y: jnp.stack([x * y, x + y, y], axis=1))
case("roll", "normal:5", lambda x: x * jnp.roll(x, 2))
case("roll of columns", "normal:2,3", lambda x: x * jnp.roll(x, 1, axis=1))
case("tile", "normal:3", lambda x: jnp.tile(x, 2) * jnp.arange(6.0))
case("repeat", "normal:3", lambda x: jnp.repeat(x, 2) ** 2 * jnp.arange(6.0))
case("diff", "normal:5", lambda x: jnp.diff(x) ** 2)
case("second difference", "normal:6", lambda x: jnp.sum(jnp.diff(x, n=2) ** 2))
case("pad with zeros", "normal:4", lambda x: jnp.pad(x, 1)[:-2] + 2.0 * x * jnp.pad(x, 1)[2:])
case("pad with edges", "normal:4", lambda x: jnp.pad(x, 2, mode="edge") ** 2)
case("pad by reflection", "normal:4", lambda x: jnp.pad(x, 2, mode="reflect") ** 2)
case("pad by wrapping", "normal:4", lambda x: jnp.pad(x, 1, mode="wrap") ** 3)
case("triangle", "normal:3,3", lambda x: jnp.sum(jnp.tril(x) ** 2) + jnp.sum(jnp.triu(x, k=1)))
case("windows", "normal:6", lambda x: jnp.sum(jnp.stack([x[0:4], x[1:5], x[2:6]], axis=1) ** 2, axis=1))
case("convolution by slices", "normal:7 normal:3", lambda x, k: k[0] * x[:-2] + k[1] * x[1:-1] + k[2] * x[2:])
case(
    "Laplacian",
    "normal:4,4",
    lambda u: jnp.sum((u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) ** 2),
)
case("one view of another", "normal:2,6", lambda x: jnp.reshape(jnp.flip(x[:, 1:5], axis=1), (4, 2)).T * 2.0)
case("moveaxis", "normal:2,3,2", lambda x: jnp.moveaxis(x, 0, 2)[1] ** 2)
case("difference of means", "normal:3,4", lambda x: jnp.mean(x, axis=0)[1:] - jnp.mean(x, axis=1))

# Gathers and segments.
case("take", "normal:5", lambda x: jnp.take(x, jnp.asarray([3, 0, 4])) ** 2)
case("take with repeats", "normal:4", lambda x: jnp.take(x, jnp.asarray([1, 1, 3, 1, 0])) ** 2)
case("take of rows", "normal:4,2", lambda x: jnp.take(x, jnp.asarray([2, 2, 0]), axis=0) ** 2)
case("take of columns", "normal:2,4", lambda x: jnp.take(x, jnp.asarray([[1, 3], [0, 1]]), axis=1))
case("take_along_axis", "normal:2,3", lambda x: jnp.take_along_axis(x, jnp.asarray([[2, 0], [1, 1]]), axis=1) ** 2)
case("index by an array", "normal:5", lambda x: x[jnp.asarray([4, -1, 2])] * x[:3])
case("index by two arrays", "normal:3,4", lambda x: x[jnp.asarray([0, 2, 0]), jnp.asarray([1, 3, 1])] ** 2)
case(
    "index of an index",
    "normal:5",
    lambda x: jnp.take(jnp.take(x, jnp.asarray([4, 2, 2, 0])), jnp.asarray([1, 2, 1])) ** 3,
)
case("table by a computed index", "normal:5 positive:4", lambda t, x: t[jnp.floor(x * 2.0).astype(jnp.int64)] * x)
case("segment_sum", "normal:6", lambda x: jax.ops.segment_sum(x * x, jnp.asarray([0, 2, 0, 1, 2, 0]), 3))
case(
    "segment_mean of a part",
    "normal:5",
    lambda x: jax.ops.segment_sum(x[:4] ** 2, jnp.asarray([1, 0, 1, 1]), 2) / jnp.asarray([1.0, 3.0]),
)

# Loops. States and steps act element by element.
case("fori_loop of powers", "positive:4", lambda x: lax.fori_loop(0, 5, lambda i, p: p * x, jnp.ones_like(x)))
case("fori_loop of the logistic map", "unit:3", lambda x: lax.fori_loop(0, 6, lambda i, s: 2.9 * s * (1 - s), x))
case("fori_loop with its counter", "normal:3", lambda x: lax.fori_loop(0, 4, lambda i, s: s * 0.5 + x * i, x * x))
case(
    "fori_loop of Newton's method",
    "positive:3",
    lambda a: lax.fori_loop(0, 6, lambda i, s: 0.5 * (s + a / s), jnp.ones_like(a)),
)
case(
    "fori_loop of two states",
    "normal:3 normal:3",
    lambda x, y: jnp.stack(lax.fori_loop(0, 3, lambda i, s: (s[0] + 0.1 * s[1], s[1] - 0.1 * jnp.sin(s[0])), (x, y))),
)
case("fori_loop in a sum", "inside:4", lambda x: jnp.sum(lax.fori_loop(0, 5, lambda i, s: jnp.tanh(s + x), x) ** 2))
case("scan of a sum", "normal:5", lambda x: lax.scan(lambda s, v: (s + v, s * v), 0.0, x)[1])
case(
    "scan of a filter",
    "normal:6 unit:",
    lambda x, a: lax.scan(lambda s, v: (a * s + (1 - a) * v, a * s + (1 - a) * v), x[0], x)[1],
)
case("scan of columns", "normal:4,3", lambda x: lax.scan(lambda s, v: (jnp.tanh(s + v), s * v), jnp.zeros(3), x)[1])
case("scan with its last state", "normal:5 normal:", lambda x, s0: lax.scan(lambda s, v: (jnp.sin(s) + v, s), s0, x)[0])
case("scan in reverse", "normal:5", lambda x: lax.scan(lambda s, v: (0.9 * s + v, s), 0.5, x, reverse=True)[1])
case(
    "scan of two inputs",
    "normal:4 normal:4",
    lambda x, y: jnp.sum(lax.scan(lambda s, v: (s * v[0] + v[1], s), 1.0, (x, y))[1] ** 2),
)
case(
    "scan of two states",
    "normal:5",
    lambda x: lax.scan(lambda s, v: ((s[0] + v, s[1] * 0.5 + s[0] * v), s[1]), (0.1, 0.2), x)[1],
)
case("scan of a captured value", "normal:5 normal:", lambda x, w: lax.scan(lambda s, v: (s + w * v * s, s), 1.0, x)[1])
case(
    "scan without inputs", "normal:3", lambda x: lax.scan(lambda s, _: (s * 0.5 + jnp.sin(s), s), x, None, length=4)[1]
)
case(
    "scan of a maximum",
    "normal:6",
    lambda x: lax.scan(lambda s, v: (jnp.maximum(s, v), jnp.maximum(s, v)), -10.0, x)[1],
)
case(
    "linear recurrence",
    "normal:4 inside:4",
    lambda x, a: lax.scan(lambda s, v: (v[1] * s + v[0], v[1] * s + v[0]), 0.0, (x, a))[1],
)
case("pendulum", "positive:2", lambda v: jnp.stack(lax.fori_loop(0, 8, pendulum, (v[0], v[1]))))
case(
    "Lotka and Volterra",
    "positive:4",
    lambda v: jnp.stack(
        lax.fori_loop(
            0,
            5,
            lambda i, s: (s[0] + 0.1 * s[0] * (v[0] - v[1] * s[1]), s[1] + 0.1 * s[1] * (v[2] * s[0] - v[3])),
            (1.0, 0.5),
        )
    ),
)
case(
    "while_loop of a square root",
    "above:3",
    lambda a: jax.vmap(lambda a: lax.while_loop(lambda s: s * s - a > 1e-3, lambda s: 0.5 * (s + a / s), a))(a),
    ("value", "jvp", "jacfwd"),
)
case(
    "while_loop of powers",
    "above:3",
    lambda x: jax.vmap(lambda x: lax.while_loop(lambda s: s < 20.0, lambda s: s * x, x))(x),
    ("value", "jvp", "jacfwd"),
)
case(
    "cond of an array",
    "normal:5",
    lambda x: jax.vmap(lambda x: lax.cond(x > 0, lambda x: jnp.sin(x), lambda x: x * x, x))(x),
)
case(
    "cond of a number",
    "normal: normal:4",
    lambda p, x: lax.cond(p > 0.0, lambda x: jnp.exp(x) * p, lambda x: x * p * p, x),
)
# A table in a batch is no part of these cases.
ADJOINTS = ("value", "jvp", "grad", "value_and_grad", "vjp")
case(
    "scan of elements of a table",
    "normal:6 positive:5",
    lambda t, x: jnp.sum(
        lax.scan(
            lambda s, v: (jnp.sin(s) * jnp.take(t, jnp.floor(v * 3.0).astype(jnp.int64) % 6) + v, s * jnp.take(t, 0)),
            0.5,
            x,
        )[1]
    ),
    only=ADJOINTS,
)
case(
    "scan of elements at states in reverse",
    "normal:6 positive:5",
    lambda t, x: lax.scan(
        lambda s, v: (jnp.take(t, jnp.floor(jnp.abs(s) * 4.0).astype(jnp.int64) % 6) * v + 0.5 * s, s),
        0.3,
        x,
        reverse=True,
    )[1],
    only=ADJOINTS,
)
case(
    "fori_loop of elements of a table",
    "normal:4 normal:3",
    lambda t, x: jnp.sum(lax.fori_loop(0, 7, lambda i, s: jnp.sin(s) * jnp.take(t, i % 4) + x, x)),
    only=ADJOINTS,
)
case(
    "cond of elements of a table",
    "normal:4 normal:6",
    lambda t, x: jnp.where(x > 0, jnp.take(t, jnp.clip(jnp.floor(x * 2.0), 0, 3).astype(jnp.int64)) * x, x * x),
    only=ADJOINTS,
)

# Test functions of optimisation.
case("Rosenbrock", "normal:6", lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))
case(
    "Beale",
    "normal:2",
    lambda v: (
        (1.5 - v[0] + v[0] * v[1]) ** 2 + (2.25 - v[0] + v[0] * v[1] ** 2) ** 2 + (2.625 - v[0] + v[0] * v[1] ** 3) ** 2
    ),
)
case("Himmelblau", "normal:2", lambda v: (v[0] ** 2 + v[1] - 11.0) ** 2 + (v[0] + v[1] ** 2 - 7.0) ** 2)
case(
    "Ackley",
    "normal:4",
    lambda x: (
        -20.0 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(x * x))) - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * x))) + 20.0 + jnp.e
    ),
)
case("Rastrigin", "normal:5", lambda x: 50.0 + jnp.sum(x * x - 10.0 * jnp.cos(2 * jnp.pi * x)))
case("Styblinski and Tang", "normal:5", lambda x: jnp.sum(x**4 - 16.0 * x**2 + 5.0 * x) / 2)
case(
    "Griewank",
    "normal:4",
    lambda x: jnp.sum(x * x) / 4000.0 - jnp.prod(jnp.cos(x / jnp.sqrt(jnp.arange(1.0, 5.0)))) + 1.0,
)
case(
    "Branin",
    "positive:2",
    lambda v: (
        (v[1] - 5.1 / (4 * jnp.pi**2) * v[0] ** 2 + 5 / jnp.pi * v[0] - 6.0) ** 2
        + 10.0 * (1 - 1 / (8 * jnp.pi)) * jnp.cos(v[0])
        + 10.0
    ),
)
case(
    "Powell",
    "normal:4",
    lambda v: (v[0] + 10 * v[1]) ** 2 + 5 * (v[2] - v[3]) ** 2 + (v[1] - 2 * v[2]) ** 4 + 10 * (v[0] - v[3]) ** 4,
)
case("Levy", "normal:4", lambda x: levy(x))
case(
    "Booth and Matyas",
    "normal:2",
    lambda v: (
        (v[0] + 2 * v[1] - 7) ** 2 + (2 * v[0] + v[1] - 5) ** 2 + 0.26 * (v[0] ** 2 + v[1] ** 2) - 0.48 * v[0] * v[1]
    ),
)
case(
    "Easom",
    "above:2",
    lambda v: -jnp.cos(v[0]) * jnp.cos(v[1]) * jnp.exp(-((v[0] - jnp.pi) ** 2) - (v[1] - jnp.pi) ** 2),
)
case("McCormick", "normal:2", lambda v: jnp.sin(v[0] + v[1]) + (v[0] - v[1]) ** 2 - 1.5 * v[0] + 2.5 * v[1] + 1.0)
case(
    "Zakharov",
    "normal:4",
    lambda x: (
        jnp.sum(x * x) + jnp.sum(0.5 * jnp.arange(1.0, 5.0) * x) ** 2 + jnp.sum(0.5 * jnp.arange(1.0, 5.0) * x) ** 4
    ),
)

# Statistics, learning, physics and finance.
case("softmax", "normal:4", lambda x: jnp.exp(x - jnp.max(x)) / jnp.sum(jnp.exp(x - jnp.max(x))))
case("softmax of rows", "normal:2,3", lambda x: softmax(x))
case("log softmax", "normal:4", lambda x: x - jnp.max(x) - jnp.log(jnp.sum(jnp.exp(x - jnp.max(x)))))
case(
    "cross-entropy of rows",
    "normal:3,4",
    lambda x: -jnp.mean(jnp.take_along_axis(jnp.log(softmax(x)), jnp.asarray([[1], [3], [0]]), axis=1)),
)
case("logistic regression", "normal:3 normal:", lambda w, b: logistic_loss(w, b))
case("linear regression", "normal:3 normal:", lambda w, b: jnp.mean((jnp.sum(FEATURES * w, axis=1) + b - TARGETS) ** 2))
case(
    "ridge regression",
    "normal:3",
    lambda w: jnp.mean((jnp.sum(FEATURES * w, axis=1) - TARGETS) ** 2) + 0.1 * jnp.sum(w * w),
)
case(
    "two layers",
    "normal:3,2 normal:2",
    lambda w, v: jnp.mean((jnp.sum(jnp.tanh(jnp.sum(FEATURES[:, :, None] * w, axis=1)) * v, axis=1) - TARGETS) ** 2),
)
case(
    "layer normalisation",
    "normal:2,4",
    lambda x: (x - jnp.mean(x, axis=1, keepdims=True)) / jnp.sqrt(jnp.var(x, axis=1, keepdims=True) + 1e-3),
)
case(
    "attention",
    "normal:3,2 normal:3,2",
    lambda q, k: jnp.sum(softmax(jnp.sum(q[:, None, :] * k[None, :, :], axis=2))[:, :, None] * k[None, :, :], axis=1),
)
case("gelu", "normal:5", lambda x: 0.5 * x * (1 + erf(x / jnp.sqrt(2.0))))
case("silu", "normal:5", lambda x: x / (1 + jnp.exp(-x)))
case("softplus", "normal:5", lambda x: jnp.logaddexp(x, 0.0))
case("elu", "normal:5", lambda x: jnp.where(x > 0, x, jnp.expm1(x)))
case("relu", "normal:5", lambda x: jnp.sum(jnp.maximum(x, 0.0) ** 2))
case("Huber", "normal:5", lambda r: jnp.sum(jnp.where(jnp.abs(r) < 0.7, 0.5 * r * r, 0.7 * (jnp.abs(r) - 0.35))))
case("entropy", "unit:5", lambda p: -jnp.sum(p / jnp.sum(p) * jnp.log(p / jnp.sum(p))))
case("divergence", "unit:4 unit:4", lambda p, q: jnp.sum(p * (jnp.log(p) - jnp.log(q))))
case(
    "cosine similarity",
    "normal:4 normal:4",
    lambda x, y: jnp.sum(x * y) / (jnp.linalg.vector_norm(x) * jnp.linalg.vector_norm(y)),
)
case(
    "normal log density",
    "normal:5 normal: positive:",
    lambda x, m, s: jnp.sum(-0.5 * ((x - m) / s) ** 2 - jnp.log(s) - 0.5 * jnp.log(2 * jnp.pi)),
)
case(
    "mixture log likelihood",
    "normal:5 normal:2",
    lambda x, m: jnp.sum(jnp.log(jnp.sum(jnp.exp(-0.5 * (x[:, None] - m[None, :]) ** 2), axis=1))),
)
case(
    "kernel density",
    "normal:4 positive:",
    lambda x, h: jnp.mean(jnp.exp(-0.5 * ((x[:, None] - x[None, :]) / h) ** 2) / h),
)
case(
    "sum of distances",
    "normal:4,2",
    lambda p: jnp.sum(jnp.sqrt(jnp.sum((p[:, None, :] - p[None, :, :]) ** 2, axis=2) + 0.01)),
)
case("Lennard-Jones", "above:5", lambda r: jnp.sum(4.0 * (r**-12 - r**-6)))
case("Coulomb energy of a chain", "normal:4", lambda x: jnp.sum(1.0 / (1.0 + jnp.abs(jnp.diff(x)))))
case("Planck", "positive:4", lambda x: x**3 / jnp.expm1(x))
case(
    "Kepler's equation",
    "unit:3 inside:3",
    lambda e, m: lax.fori_loop(0, 5, lambda i, s: s - (s - 0.9 * e * jnp.sin(s) - m) / (1 - 0.9 * e * jnp.cos(s)), m),
)
case(
    "great-circle distance",
    "inside:4",
    lambda v: (
        2
        * jnp.asin(
            jnp.sqrt(jnp.sin((v[2] - v[0]) / 2) ** 2 + jnp.cos(v[0]) * jnp.cos(v[2]) * jnp.sin((v[3] - v[1]) / 2) ** 2)
        )
    ),
)
case("Black and Scholes", "above:5", lambda v: black_scholes(v))
case("present value", "normal:5 unit:", lambda c, r: jnp.sum(c * (1 + r) ** -jnp.arange(5.0)))
case(
    "moving average by sums",
    "normal:6",
    lambda x: (jnp.cumulative_sum(x)[2:] - jnp.concat([jnp.zeros(1), jnp.cumulative_sum(x)[:-3]])) / 3,
)
case("polynomial by Horner's rule", "normal:4 inside:3", lambda c, x: ((c[3] * x + c[2]) * x + c[1]) * x + c[0])
case("trapezoidal rule", "normal:6", lambda y: jnp.sum((y[1:] + y[:-1]) / 2) * 0.2)
case("determinant of 2 by 2", "normal:2,2", lambda a: a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
case(
    "inverse of 2 by 2",
    "positive:4",
    lambda v: jnp.stack([v[3] + 3, -v[1], -v[2], v[0] + 3]) / ((v[0] + 3) * (v[3] + 3) - v[1] * v[2]),
)
case(
    "matrix product by broadcasting",
    "normal:2,3 normal:3,2",
    lambda a, b: jnp.sum(a[:, :, None] * b[None, :, :], axis=1),
)
case("quadratic form", "normal:3 normal:3,3", lambda x, a: jnp.sum(x[:, None] * a * x[None, :]))

# Programs that call the transforms. Only their value is compared.
PROGRAM = ("value",)
case("Hessian by a vector", "normal:4 normal:4", lambda x, v: jax.jvp(jax.grad(rosenbrock), (x,), (v,))[1], PROGRAM)
case(
    "Hessian by a vector in reverse",
    "normal:4 normal:4",
    lambda x, v: jax.grad(lambda x: jnp.sum(jax.grad(rosenbrock)(x) * v))(x),
    PROGRAM,
)
case(
    "third derivative",
    "positive:",
    lambda x: jax.grad(jax.grad(jax.grad(lambda x: jnp.sin(x) * jnp.log(x))))(x),
    PROGRAM,
)
case("fourth derivative forwards", "positive:", lambda x: fourth(lambda x: jnp.exp(jnp.sin(x)), x), PROGRAM)
case(
    "reverse over reverse",
    "normal:3",
    lambda x: jax.jacrev(jax.jacrev(lambda x: jnp.prod(x) * jnp.sum(x * x)))(x),
    PROGRAM,
)
case(
    "forward over forward",
    "normal:3",
    lambda x: jax.jacfwd(jax.jacfwd(lambda x: jnp.prod(x) * jnp.sum(x * x)))(x),
    PROGRAM,
)
case(
    "Laplacian of a function",
    "normal:3",
    lambda x: jnp.sum(jnp.eye(3) * jax.hessian(lambda x: jnp.sum(jnp.sin(x)) * jnp.exp(x[0]))(x)),
    PROGRAM,
)
case(
    "second argument",
    "normal:3 positive:3",
    lambda x, y: jax.grad(lambda x, y: jnp.sum(x * jnp.log(y)), argnums=1)(x, y),
    PROGRAM,
)
case(
    "arguments in another order",
    "normal:3 positive:3",
    lambda x, y: jax.grad(lambda x, y: jnp.sum(jnp.pow(y, x)), argnums=(1, 0))(x, y),
    PROGRAM,
)
case("auxiliary results", "normal:3", lambda x: jax.grad(lambda x: (jnp.sum(x**3), x * 2.0), has_aux=True)(x), PROGRAM)
case(
    "value, auxiliary results and gradient",
    "normal:3",
    lambda x: jax.value_and_grad(lambda x: (jnp.sum(x**3), x * 2.0), has_aux=True)(x),
    PROGRAM,
)
case("gradient of each row", "normal:3,4", lambda x: jax.vmap(jax.grad(rosenbrock))(x), PROGRAM)
case(
    "gradient of each column", "normal:4,3", lambda x: jax.vmap(jax.grad(rosenbrock), in_axes=1, out_axes=1)(x), PROGRAM
)
case(
    "gradients with a shared argument",
    "normal:4,3 normal:3",
    lambda x, w: jax.vmap(jax.grad(lambda w, row: jnp.tanh(jnp.sum(w * row))), in_axes=(None, 0))(w, x),
    PROGRAM,
)
case(
    "vmap of vmap",
    "normal:3 normal:4",
    lambda x, y: jax.vmap(lambda a: jax.vmap(lambda b: jnp.sin(a * b) + a)(y))(x),
    PROGRAM,
)
case(
    "vmap along the last axis",
    "normal:2,3,4",
    lambda x: jax.vmap(lambda m: m * jnp.sum(m, axis=0), in_axes=-1, out_axes=-1)(x),
    PROGRAM,
)
case(
    "vmap of a scan",
    "normal:3,5",
    lambda x: jax.vmap(lambda row: lax.scan(lambda s, v: (0.5 * s + v, s), 0.0, row)[1])(x),
    PROGRAM,
)
case(
    "gradient of a vmap", "normal:3,4", lambda x: jax.grad(lambda x: jnp.sum(jax.vmap(rosenbrock)(x) ** 2))(x), PROGRAM
)
case("Jacobian of a vmap", "normal:3", lambda x: jax.jacrev(jax.vmap(lambda v: jnp.sin(v) * v))(x), PROGRAM)
case("two pullbacks of one vjp", "normal:3", lambda x: pullbacks(x), PROGRAM)
case(
    "pullback of several results",
    "normal:3",
    lambda x: jax.vjp(lambda x: (jnp.sin(x), jnp.sum(x * x)), x)[1]((jnp.asarray([1.0, 2.0, 3.0]), jnp.asarray(0.5))),
    PROGRAM,
)
case(
    "pushforward of several results",
    "normal:3 normal:3",
    lambda x, t: jax.jvp(lambda x: (jnp.sin(x), jnp.sum(x * x)), (x,), (t,)),
    PROGRAM,
)
case(
    "Jacobians of two arguments",
    "normal:2 normal:3",
    lambda x, y: jax.jacfwd(lambda x, y: x[:, None] * jnp.sin(y)[None, :], argnums=(0, 1))(x, y),
    PROGRAM,
)
case("stop_gradient", "normal:4", lambda x: jax.grad(lambda x: jnp.sum(x * lax.stop_gradient(x * x)))(x), PROGRAM)
case("custom_jvp", "normal:4", lambda x: jax.grad(lambda x: jnp.sum(custom_softplus(x) * x))(x), PROGRAM)
case("custom_vjp", "normal:4", lambda x: jax.grad(lambda x: jnp.sum(clipped(x) ** 2))(x), PROGRAM)
case("gradient of jit", "normal:4", lambda x: jax.grad(jax.jit(rosenbrock))(x), PROGRAM)
case("jit of a gradient", "normal:4", lambda x: jax.jit(jax.grad(rosenbrock))(x), PROGRAM)
case(
    "gradient in a gradient",
    "positive:",
    lambda x: jax.grad(lambda x: x * jax.grad(lambda y: x * y * y * y)(x))(x),
    PROGRAM,
)
case(
    "implicit Newton step",
    "positive:3",
    lambda x: x - jax.vmap(jax.grad(lambda v: v**3 - v))(x) / jax.vmap(jax.grad(jax.grad(lambda v: v**3 - v)))(x),
    PROGRAM,
)

FEATURES = jnp.asarray(np.random.default_rng(11).normal(size=(6, 3)).round(3))
TARGETS = jnp.asarray(np.random.default_rng(12).normal(size=6).round(3))
LABELS = jnp.asarray([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])


def chain_of_twelve(x: Any) -> Any:
    for k in range(4):
        x = jnp.sin(x) * (1.0 + 0.1 * k) + x * 0.5
    return x


def pendulum(i: Any, s: Any) -> Any:
    angle, speed = s
    speed = speed - 0.1 * jnp.sin(angle)
    return angle + 0.1 * speed, speed


def levy(x: Any) -> Any:
    w = 1.0 + (x - 1.0) / 4.0
    middle = jnp.sum((w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * jnp.sin(jnp.pi * w[:-1] + 1.0) ** 2))
    return jnp.sin(jnp.pi * w[0]) ** 2 + middle + (w[-1] - 1.0) ** 2 * (1.0 + jnp.sin(2 * jnp.pi * w[-1]) ** 2)


def softmax(x: Any) -> Any:
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return e / jnp.sum(e, axis=1, keepdims=True)


def logistic_loss(w: Any, b: Any) -> Any:
    z = jnp.sum(FEATURES * w, axis=1) + b
    return jnp.mean(jnp.logaddexp(z, 0.0) - LABELS * z)


def black_scholes(v: Any) -> Any:
    spot, strike, rate, volatility, time = v[0], v[1], v[2] * 0.02, v[3] * 0.1, v[4]
    d1 = (jnp.log(spot / strike) + (rate + volatility * volatility / 2) * time) / (volatility * jnp.sqrt(time))
    d2 = d1 - volatility * jnp.sqrt(time)
    return spot * 0.5 * erfc(-d1 / jnp.sqrt(2.0)) - strike * jnp.exp(-rate * time) * 0.5 * erfc(-d2 / jnp.sqrt(2.0))


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def fourth(f: Callable[[Any], Any], x: Any) -> Any:
    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    return derivative(derivative(derivative(derivative(f))))(x)


def pullbacks(x: Any) -> Any:
    y, back = jax.vjp(lambda x: jnp.sin(x) * x, x)
    return y, back(jnp.ones(3)), back(jnp.asarray([0.0, 2.0, -1.0]))


@jax.custom_jvp
def custom_softplus(x: Any) -> Any:
    return jnp.log(1.0 + jnp.exp(x))


@custom_softplus.defjvp
def custom_softplus_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    # The derivative is wrong by a factor of 2 on purpose, to show that the rule is used.
    return custom_softplus(x), 2.0 * t / (1.0 + jnp.exp(-x))


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return x * x


def clipped_forward(x: Any) -> Any:
    return x * x, x


def clipped_backward(x: Any, g: Any) -> Any:
    return (jnp.clip(g * 2.0 * x, -0.5, 0.5),)


clipped.defvjp(clipped_forward, clipped_backward)


def draw(name: str, inputs: str, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(zlib.crc32((name + " batch" * len(batch)).encode()))
    arrays = []
    for one in inputs.split():
        kind, extents = one.split(":")
        shape = batch + tuple(int(n) for n in extents.split(",") if n)
        arrays.append(np.asarray(DRAWS[kind](rng, shape), np.float64))
    return arrays


def encoded(value: Any) -> Any:
    """An array as its shape and its elements in hexadecimal, or a list of such for a tuple."""
    if isinstance(value, tuple | list):
        return [encoded(v) for v in value]
    array = np.asarray(value)
    assert array.dtype == np.float64 and np.isfinite(array).all(), (array.dtype, array)
    return {"shape": list(array.shape), "elements": [float(v).hex() for v in array.ravel()]}


def expected(name: str, inputs: str, function: Callable[..., Any]) -> dict[str, Any]:
    arguments = draw(name, inputs)
    tangents = draw(name + " tangents", " ".join("normal:" + one.split(":")[1] for one in inputs.split()))
    everything = tuple(range(len(arguments)))
    only = ONLY.get(name)
    value = function(*arguments)
    result: dict[str, Any] = {"inputs": encoded(arguments), "tangents": encoded(tangents), "expected": {}}

    def add(transform: str, compute: Callable[[], Any]) -> None:
        if only is None or transform in only:
            result["expected"][transform] = encoded(compute())

    add("value", lambda: value)
    if isinstance(value, tuple | list):
        return result
    add("jvp", lambda: jax.jvp(function, tuple(arguments), tuple(tangents)))
    batch = draw(name, inputs, (BATCH,))
    if value.ndim == 0:
        add("grad", lambda: jax.grad(function, argnums=everything)(*arguments))
        add("value_and_grad", lambda: jax.value_and_grad(function)(*arguments))
        add("vmap", lambda: jax.vmap(jax.grad(function))(*batch))
        if arguments[0].size <= MAX_HESSIAN:
            add("hessian", lambda: jax.hessian(function)(*arguments))
    else:
        cotangent = draw(name + " cotangent", "normal:" + ",".join(map(str, value.shape)))[0]
        result["cotangent"] = encoded(cotangent)
        add("vjp", lambda: jax.vjp(function, *arguments)[1](cotangent))
        add("jacfwd", lambda: jax.jacfwd(function, argnums=everything)(*arguments))
        add("jacrev", lambda: jax.jacrev(function, argnums=everything)(*arguments))
        add("vmap", lambda: jax.vmap(function)(*batch))
    if "vmap" in result["expected"]:
        result["batch"] = encoded(batch)
    return result


def main() -> None:
    # One case stands on each line, so that a change of a case changes one line.
    lines = [f"{json.dumps(name)}: {json.dumps(expected(name, *entry))}" for name, entry in CASES.items()]
    path = Path(__file__).with_name("gradient_cases.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
