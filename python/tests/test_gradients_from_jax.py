"""Tests gradients of 265 functions against JAX's: the values of `gradient_cases.json`, which `make_gradient_cases.py` computes
by JAX, agree within 1e-12.

The functions have the names of those in the script, and are written here for broadloom. JAX is not needed to run the tests.
The tolerance is relative to each element; elements that cancel to less than a hundredth of the largest element of the
array are compared with an absolute tolerance of 1e-14 of that largest element.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

FILE: dict[str, Any] = json.loads(Path(__file__).with_name("gradient_cases.json").read_text())

CASES: dict[str, Callable[..., Any]] = {}


def case(name: str, function: Callable[..., Any]) -> None:
    assert name not in CASES, name
    CASES[name] = function


# Functions of one operand, summed.
case("sin", lambda x: bl.sum(bl.sin(x)))
case("cos", lambda x: bl.sum(bl.cos(x) * x))
case("tan", lambda x: bl.sum(bl.tan(x)))
case("asin", lambda x: bl.sum(bl.asin(x)))
case("acos", lambda x: bl.sum(bl.acos(x) * x))
case("atan", lambda x: bl.sum(bl.atan(x)))
case("sinh", lambda x: bl.sum(bl.sinh(x)))
case("cosh", lambda x: bl.sum(bl.cosh(x) * x))
case("tanh", lambda x: bl.sum(bl.tanh(x)))
case("asinh", lambda x: bl.sum(bl.asinh(x)))
case("acosh", lambda x: bl.sum(bl.acosh(x)))
case("atanh", lambda x: bl.sum(bl.atanh(x)))
case("exp", lambda x: bl.sum(bl.exp(x) * x))
case("exp2", lambda x: bl.sum(bl.exp2(x)))
case("expm1", lambda x: bl.sum(bl.expm1(x) * x))
case("log", lambda x: bl.sum(bl.log(x) * x))
case("log2", lambda x: bl.sum(bl.log2(x)))
case("log10", lambda x: bl.sum(bl.log10(x)))
case("log1p", lambda x: bl.sum(bl.log1p(x) * x))
case("sqrt", lambda x: bl.sum(bl.sqrt(x)))
case("cbrt", lambda x: bl.sum(bl.cbrt(x)))
case("square", lambda x: bl.sum(bl.square(x)))
case("reciprocal", lambda x: bl.sum(bl.reciprocal(x)))
case("abs", lambda x: bl.sum(bl.abs(x) * x))
case("negative", lambda x: bl.sum(-x * x * x))
case("positive", lambda x: bl.sum(+x * x))
case("erf", lambda x: bl.sum(bl.erf(x)))
case("erfc", lambda x: bl.sum(bl.erfc(x) * x))
case("erfinv", lambda x: bl.sum(bl.erfinv(x)))
case("ndtri", lambda x: bl.sum(bl.ndtri(x)))
case("sign and floor", lambda x: bl.sum(bl.sign(x) * x**2 + bl.floor(x) * x))
case("ceil and trunc", lambda x: bl.sum(bl.ceil(x) * x**3 + bl.trunc(x) * x))
case("round", lambda x: bl.sum((x - bl.round(x)) ** 2))

# Functions of several operands, summed.
case("add and subtract", lambda x, y: bl.sum((x + y) * (x - y)))
case("multiply", lambda x, y: bl.sum(x * y * x))
case("divide", lambda x, y: bl.sum(x / y))
case("pow", lambda x, y: bl.sum(bl.pow(x, y)))
case("pow by a number", lambda x: bl.sum(x**2.5 + x**-1.5))
case("pow by an integer", lambda x: bl.sum(x**3 - 2 * x**2))
case("number to a power", lambda x: bl.sum(2.5**x))
case("atan2", lambda y, x: bl.sum(bl.atan2(y, x)))
case("hypot", lambda x, y: bl.sum(bl.hypot(x, y)))
case("logaddexp", lambda x, y: bl.sum(bl.logaddexp(x, y)))
case("maximum", lambda x, y: bl.sum(bl.maximum(x, y) * x))
case("minimum", lambda x, y: bl.sum(bl.minimum(x, y) * y))
case("remainder", lambda x, y: bl.sum(bl.remainder(x, y) * x))
case("copysign", lambda x, y: bl.sum(bl.copysign(x, y) * x * x))
case("fma", lambda x, y, z: bl.sum(bl.fma(x, y, z) * x))
case("clip", lambda x: bl.sum(bl.clip(x, -0.5, 0.75) * x))
case("clip to arrays", lambda x, y: bl.sum(bl.clip(x, y - 0.5, y + 0.5) ** 2))
case("where", lambda x, y: bl.sum(bl.where(x > 0, x * y, y * y)))
case("where by another", lambda x, y: bl.sum(bl.where(y < 0.1, bl.exp(x), bl.sin(x) * y)))
case("floor_divide", lambda x, y: bl.sum(bl.floor_divide(x, y) * x * y))
case("astype of floats", lambda x: bl.sum(x.astype(bl.float32).astype(bl.float64) * 2.0 + x))
case("comparison as a number", lambda x: bl.sum((x > 0).astype(bl.float64) * x * x))

# Element by element, with an array as the result.
case("elementwise product", lambda x, y: x * y + bl.sin(x))
case("elementwise quotient", lambda x, y: x / (1.0 + y * y))
case("elementwise tanh", lambda x: bl.tanh(x) * bl.exp(-x * x))
case("outer product", lambda x, y: x[:, None] * y[None, :])
case("outer difference", lambda x, y: bl.exp(-((x[:, None] - y[None, :]) ** 2)))
case("row and column", lambda x, y: bl.sin(x) * y + x)
case("broadcast number", lambda a, x: bl.exp(a * x) + a)
case("polar to Cartesian", lambda r, t: bl.stack([r * bl.cos(t), r * bl.sin(t)]))
case("Cartesian to polar", lambda x, y: bl.stack([bl.hypot(x, y), bl.atan2(y, x)]))
case(
    "spherical to Cartesian",
    lambda v: bl.stack([v[0] * bl.sin(v[1]) * bl.cos(v[2]), v[0] * bl.sin(v[1]) * bl.sin(v[2]), v[0] * bl.cos(v[1])]),
)
case("logistic map twice", lambda x: 3.7 * (3.7 * x * (1 - x)) * (1 - 3.7 * x * (1 - x)))
case("chain of twelve", lambda x: chain_of_twelve(x))
case("constant result", lambda x: bl.ones(3) + 0.0 * x[:3])

# Reductions.
case("sum of all", lambda x: bl.sum(x) ** 2)
case("sum along axis 0", lambda x: bl.sum(x * x, axis=0))
case("sum along axis 1 kept", lambda x: x * bl.sum(x, axis=1, keepdims=True))
case("sum along two axes", lambda x: bl.sum(bl.sin(x), axis=(0, 2)))
case("mean", lambda x: bl.mean(x * x))
case("mean along an axis", lambda x: bl.mean(x**3, axis=-1))
case("var", lambda x: bl.var(x))
case("var corrected", lambda x: bl.var(x, axis=1, correction=1))
case("std", lambda x: bl.std(x))
case("std along an axis", lambda x: bl.std(x, axis=0))
case("prod", lambda x: bl.prod(x))
case("prod along an axis", lambda x: bl.prod(x, axis=1))
case("max", lambda x: bl.max(x) ** 2)
case("min", lambda x: bl.min(x) * bl.sum(x))
case("max along an axis", lambda x: bl.max(x, axis=0) ** 2)
case("min along an axis", lambda x: bl.min(x, axis=1, keepdims=True) * x)
case("range of values", lambda x: bl.max(x) - bl.min(x))
case("norm 1", lambda x: bl.linalg.vector_norm(x, ord=1))
case("norm 2", lambda x: bl.linalg.vector_norm(x))
case("norm 3", lambda x: bl.linalg.vector_norm(x, ord=3))
case("norm 1.5", lambda x: bl.linalg.vector_norm(x, ord=1.5))
case("norm inf", lambda x: bl.linalg.vector_norm(x, ord=bl.inf))
case("norm along an axis", lambda x: bl.linalg.vector_norm(x, axis=1))
case("vecdot", lambda x, y: bl.vecdot(x, y))
case("vecdot of rows", lambda x, y: bl.vecdot(x, y) ** 2)
case("vecdot broadcast", lambda x, y: bl.vecdot(x, y))
case("nansum", lambda x: bl.nansum(x * x))
case("nanmean", lambda x: bl.nanmean(bl.exp(x)))
case("cumulative_sum", lambda x: bl.cumulative_sum(x * x))
case("cumulative_sum of rows", lambda x: bl.cumulative_sum(bl.sin(x), axis=1))
case("cumulative_sum of columns", lambda x: bl.cumulative_sum(x, axis=0) ** 2)
case("cumulative_sum with initial", lambda x: bl.cumulative_sum(x, include_initial=True) ** 2)
case("cumulative_prod", lambda x: bl.cumulative_prod(x))
case("cumulative_prod of rows", lambda x: bl.cumulative_prod(x, axis=1))
case("weighted mean", lambda x, w: bl.sum(x * w) / bl.sum(w))
case("geometric mean", lambda x: bl.exp(bl.mean(bl.log(x))))
case("harmonic mean", lambda x: 5.0 / bl.sum(1.0 / x))
case("skewness", lambda x: bl.mean((x - bl.mean(x)) ** 3) / bl.var(x) ** 1.5)
case(
    "correlation",
    lambda x, y: (
        bl.sum((x - bl.mean(x)) * (y - bl.mean(y)))
        / bl.sqrt(bl.sum((x - bl.mean(x)) ** 2) * bl.sum((y - bl.mean(y)) ** 2))
    ),
)
case("logsumexp", lambda x: bl.max(x) + bl.log(bl.sum(bl.exp(x - bl.max(x)))))
case("total variation", lambda x: bl.sum(bl.abs(x[1:] - x[:-1])))

# Views.
case("reshape", lambda x: bl.reshape(x, (2, 3)) * bl.asarray([1.0, 2.0, 3.0]))
case("reshape to a row of rows", lambda x: bl.sin(bl.reshape(x, (4, 2)))[:, 1])
case("permute_dims", lambda x: bl.permute_dims(x, (1, 0)) ** 2)
case("permute three axes", lambda x: bl.permute_dims(x, (2, 0, 1))[1] * 3.0)
case("matrix transpose", lambda x: x * x.T)
case("broadcast_to", lambda x: bl.broadcast_to(x, (2, 3)) ** 2)
case("broadcast_to a column", lambda x: bl.sum(bl.broadcast_to(x, (3, 4)) ** 3))
case("expand_dims", lambda x: bl.expand_dims(x, axis=0) * bl.expand_dims(x, axis=1))
case("squeeze", lambda x: bl.squeeze(x, axis=1) ** 2)
case("flip", lambda x: x * bl.flip(x))
case("flip of rows", lambda x: x * bl.flip(x, axis=1))
case("slice", lambda x: x[1:4] ** 2)
case("slice with a step", lambda x: bl.exp(x[1::2]))
case("slice backwards", lambda x: x[::-2] * x[0])
case("slice of two axes", lambda x: x[1:, ::2] ** 2)
case("integer index", lambda x: x[1] * x[-1])
case("elements", lambda x: x[0] * x[1] + x[2] * x[3] * x[0])
case("concat", lambda x, y: bl.concat([x * x, y, x]))
case("concat of columns", lambda x, y: bl.concat([bl.sin(x), y * y], axis=1))
case("stack", lambda x, y: bl.stack([x * y, x + y, y], axis=1))
case("roll", lambda x: x * bl.roll(x, 2))
case("roll of columns", lambda x: x * bl.roll(x, 1, axis=1))
case("tile", lambda x: bl.tile(x, 2) * bl.arange(6.0))
case("repeat", lambda x: bl.repeat(x, 2) ** 2 * bl.arange(6.0))
case("diff", lambda x: bl.diff(x) ** 2)
case("second difference", lambda x: bl.sum(bl.diff(x, n=2) ** 2))
case("pad with zeros", lambda x: bl.pad(x, 1)[:-2] + 2.0 * x * bl.pad(x, 1)[2:])
case("pad with edges", lambda x: bl.pad(x, 2, mode="edge") ** 2)
case("pad by reflection", lambda x: bl.pad(x, 2, mode="reflect") ** 2)
case("pad by wrapping", lambda x: bl.pad(x, 1, mode="wrap") ** 3)
case("triangle", lambda x: bl.sum(bl.tril(x) ** 2) + bl.sum(bl.triu(x, k=1)))
case("windows", lambda x: bl.sum(bl.sliding_window(x, 3, axis=0) ** 2, axis=1))
case("convolution by slices", lambda x, k: k[0] * x[:-2] + k[1] * x[1:-1] + k[2] * x[2:])
case("Laplacian", lambda u: bl.sum((u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) ** 2))
case("one view of another", lambda x: bl.reshape(bl.flip(x[:, 1:5], axis=1), (4, 2)).T * 2.0)
case("moveaxis", lambda x: bl.moveaxis(x, 0, 2)[1] ** 2)
case("difference of means", lambda x: bl.mean(x, axis=0)[1:] - bl.mean(x, axis=1))

# Gathers and segments.
case("take", lambda x: bl.take(x, bl.asarray([3, 0, 4])) ** 2)
case("take with repeats", lambda x: bl.take(x, bl.asarray([1, 1, 3, 1, 0])) ** 2)
case("take of rows", lambda x: bl.take(x, bl.asarray([2, 2, 0]), axis=0) ** 2)
case("take of columns", lambda x: bl.take(x, bl.asarray([[1, 3], [0, 1]]), axis=1))
case("take_along_axis", lambda x: bl.take_along_axis(x, bl.asarray([[2, 0], [1, 1]]), axis=1) ** 2)
case("index by an array", lambda x: x[bl.asarray([4, -1, 2])] * x[:3])
case("index by two arrays", lambda x: x[bl.asarray([0, 2, 0]), bl.asarray([1, 3, 1])] ** 2)
case("index of an index", lambda x: bl.take(bl.take(x, bl.asarray([4, 2, 2, 0])), bl.asarray([1, 2, 1])) ** 3)
case("table by a computed index", lambda t, x: t[bl.floor(x * 2.0).astype(bl.int64)] * x)
case("segment_sum", lambda x: bl.segment_sum(x * x, bl.asarray([0, 2, 0, 1, 2, 0]), 3))
case(
    "segment_mean of a part", lambda x: bl.segment_sum(x[:4] ** 2, bl.asarray([1, 0, 1, 1]), 2) / bl.asarray([1.0, 3.0])
)

# Loops. States and steps act element by element.
case("fori_loop of powers", lambda x: bl.fori_loop(0, 5, lambda i, p: p * x, bl.ones_like(x)))
case("fori_loop of the logistic map", lambda x: bl.fori_loop(0, 6, lambda i, s: 2.9 * s * (1 - s), x))
case("fori_loop with its counter", lambda x: bl.fori_loop(0, 4, lambda i, s: s * 0.5 + x * i, x * x))
case("fori_loop of Newton's method", lambda a: bl.fori_loop(0, 6, lambda i, s: 0.5 * (s + a / s), bl.ones_like(a)))
case(
    "fori_loop of two states",
    lambda x, y: bl.stack(bl.fori_loop(0, 3, lambda i, s: (s[0] + 0.1 * s[1], s[1] - 0.1 * bl.sin(s[0])), (x, y))),
)
case("fori_loop in a sum", lambda x: bl.sum(bl.fori_loop(0, 5, lambda i, s: bl.tanh(s + x), x) ** 2))
case("scan of a sum", lambda x: bl.scan(lambda s, v: (s + v, s * v), 0.0, x)[1])
case("scan of a filter", lambda x, a: bl.scan(lambda s, v: (a * s + (1 - a) * v, a * s + (1 - a) * v), x[0], x)[1])
case("scan of columns", lambda x: bl.scan(lambda s, v: (bl.tanh(s + v), s * v), bl.zeros(3), x)[1])
case("scan with its last state", lambda x, s0: bl.scan(lambda s, v: (bl.sin(s) + v, s), s0, x)[0])
case("scan in reverse", lambda x: bl.scan(lambda s, v: (0.9 * s + v, s), 0.5, x, reverse=True)[1])
case("scan of two inputs", lambda x, y: bl.sum(bl.scan(lambda s, v: (s * v[0] + v[1], s), 1.0, (x, y))[1] ** 2))
case("scan of two states", lambda x: bl.scan(lambda s, v: ((s[0] + v, s[1] * 0.5 + s[0] * v), s[1]), (0.1, 0.2), x)[1])
case("scan of a captured value", lambda x, w: bl.scan(lambda s, v: (s + w * v * s, s), 1.0, x)[1])
case("scan without inputs", lambda x: bl.scan(lambda s, _: (s * 0.5 + bl.sin(s), s), x, None, length=4)[1])
case("scan of a maximum", lambda x: bl.scan(lambda s, v: (bl.maximum(s, v), bl.maximum(s, v)), -10.0, x)[1])
case("linear recurrence", lambda x, a: bl.scan(lambda s, v: (v[1] * s + v[0], v[1] * s + v[0]), 0.0, (x, a))[1])
case("pendulum", lambda v: bl.stack(bl.fori_loop(0, 8, pendulum, (v[0], v[1]))))
case(
    "Lotka and Volterra",
    lambda v: bl.stack(
        bl.fori_loop(
            0,
            5,
            lambda i, s: (s[0] + 0.1 * s[0] * (v[0] - v[1] * s[1]), s[1] + 0.1 * s[1] * (v[2] * s[0] - v[3])),
            (1.0, 0.5),
        )
    ),
)
case("while_loop of a square root", lambda a: bl.while_loop(lambda s: s * s - a > 1e-3, lambda s: 0.5 * (s + a / s), a))
case("while_loop of powers", lambda x: bl.while_loop(lambda s: s < 20.0, lambda s: s * x, x))
case("cond of an array", lambda x: bl.cond(x > 0, lambda x: bl.sin(x), lambda x: x * x, x))
case("cond of a number", lambda p, x: bl.cond(p > 0.0, lambda x: bl.exp(x) * p, lambda x: x * p * p, x))
case(
    "scan of elements of a table",
    lambda t, x: bl.sum(
        bl.scan(lambda s, v: (bl.sin(s) * t[bl.floor(v * 3.0).astype(bl.int64) % 6] + v, s * t[0]), 0.5, x)[1]
    ),
)
case(
    "scan of elements at states in reverse",
    lambda t, x: bl.scan(
        lambda s, v: (t[bl.floor(bl.abs(s) * 4.0).astype(bl.int64) % 6] * v + 0.5 * s, s), 0.3, x, reverse=True
    )[1],
)
case(
    "fori_loop of elements of a table",
    lambda t, x: bl.sum(bl.fori_loop(0, 7, lambda i, s: bl.sin(s) * t[i % 4] + x, x)),
)
case(
    "cond of elements of a table",
    lambda t, x: bl.cond(
        x > 0.0,
        lambda x: t[bl.clip(bl.floor(x * 2.0), 0, 3).astype(bl.int64)] * x,
        lambda x: x * x,
        x,
    ),
)

# Test functions of optimisation.
case("Rosenbrock", lambda x: bl.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))
case(
    "Beale",
    lambda v: (
        (1.5 - v[0] + v[0] * v[1]) ** 2 + (2.25 - v[0] + v[0] * v[1] ** 2) ** 2 + (2.625 - v[0] + v[0] * v[1] ** 3) ** 2
    ),
)
case("Himmelblau", lambda v: (v[0] ** 2 + v[1] - 11.0) ** 2 + (v[0] + v[1] ** 2 - 7.0) ** 2)
case(
    "Ackley",
    lambda x: -20.0 * bl.exp(-0.2 * bl.sqrt(bl.mean(x * x))) - bl.exp(bl.mean(bl.cos(2 * bl.pi * x))) + 20.0 + bl.e,
)
case("Rastrigin", lambda x: 50.0 + bl.sum(x * x - 10.0 * bl.cos(2 * bl.pi * x)))
case("Styblinski and Tang", lambda x: bl.sum(x**4 - 16.0 * x**2 + 5.0 * x) / 2)
case("Griewank", lambda x: bl.sum(x * x) / 4000.0 - bl.prod(bl.cos(x / bl.sqrt(bl.arange(1.0, 5.0)))) + 1.0)
case(
    "Branin",
    lambda v: (
        (v[1] - 5.1 / (4 * bl.pi**2) * v[0] ** 2 + 5 / bl.pi * v[0] - 6.0) ** 2
        + 10.0 * (1 - 1 / (8 * bl.pi)) * bl.cos(v[0])
        + 10.0
    ),
)
case(
    "Powell",
    lambda v: (v[0] + 10 * v[1]) ** 2 + 5 * (v[2] - v[3]) ** 2 + (v[1] - 2 * v[2]) ** 4 + 10 * (v[0] - v[3]) ** 4,
)
case("Levy", lambda x: levy(x))
case(
    "Booth and Matyas",
    lambda v: (
        (v[0] + 2 * v[1] - 7) ** 2 + (2 * v[0] + v[1] - 5) ** 2 + 0.26 * (v[0] ** 2 + v[1] ** 2) - 0.48 * v[0] * v[1]
    ),
)
case("Easom", lambda v: -bl.cos(v[0]) * bl.cos(v[1]) * bl.exp(-((v[0] - bl.pi) ** 2) - (v[1] - bl.pi) ** 2))
case("McCormick", lambda v: bl.sin(v[0] + v[1]) + (v[0] - v[1]) ** 2 - 1.5 * v[0] + 2.5 * v[1] + 1.0)
case(
    "Zakharov",
    lambda x: bl.sum(x * x) + bl.sum(0.5 * bl.arange(1.0, 5.0) * x) ** 2 + bl.sum(0.5 * bl.arange(1.0, 5.0) * x) ** 4,
)

# Statistics, learning, physics and finance.
case("softmax", lambda x: bl.exp(x - bl.max(x)) / bl.sum(bl.exp(x - bl.max(x))))
case("softmax of rows", lambda x: softmax(x))
case("log softmax", lambda x: x - bl.max(x) - bl.log(bl.sum(bl.exp(x - bl.max(x)))))
case(
    "cross-entropy of rows",
    lambda x: -bl.mean(bl.take_along_axis(bl.log(softmax(x)), bl.asarray([[1], [3], [0]]), axis=1)),
)
case("logistic regression", lambda w, b: logistic_loss(w, b))
case("linear regression", lambda w, b: bl.mean((bl.sum(FEATURES * w, axis=1) + b - TARGETS) ** 2))
case("ridge regression", lambda w: bl.mean((bl.sum(FEATURES * w, axis=1) - TARGETS) ** 2) + 0.1 * bl.sum(w * w))
case(
    "two layers",
    lambda w, v: bl.mean((bl.sum(bl.tanh(bl.sum(FEATURES[:, :, None] * w, axis=1)) * v, axis=1) - TARGETS) ** 2),
)
case(
    "layer normalisation",
    lambda x: (x - bl.mean(x, axis=1, keepdims=True)) / bl.sqrt(bl.var(x, axis=1, keepdims=True) + 1e-3),
)
case(
    "attention",
    lambda q, k: bl.sum(softmax(bl.sum(q[:, None, :] * k[None, :, :], axis=2))[:, :, None] * k[None, :, :], axis=1),
)
case("gelu", lambda x: 0.5 * x * (1 + bl.erf(x / bl.sqrt(2.0))))
case("silu", lambda x: x / (1 + bl.exp(-x)))
case("softplus", lambda x: bl.logaddexp(x, 0.0))
case("elu", lambda x: bl.where(x > 0, x, bl.expm1(x)))
case("relu", lambda x: bl.sum(bl.maximum(x, 0.0) ** 2))
case("Huber", lambda r: bl.sum(bl.where(bl.abs(r) < 0.7, 0.5 * r * r, 0.7 * (bl.abs(r) - 0.35))))
case("entropy", lambda p: -bl.sum(p / bl.sum(p) * bl.log(p / bl.sum(p))))
case("divergence", lambda p, q: bl.sum(p * (bl.log(p) - bl.log(q))))
case("cosine similarity", lambda x, y: bl.sum(x * y) / (bl.linalg.vector_norm(x) * bl.linalg.vector_norm(y)))
case("normal log density", lambda x, m, s: bl.sum(-0.5 * ((x - m) / s) ** 2 - bl.log(s) - 0.5 * bl.log(2 * bl.pi)))
case(
    "mixture log likelihood", lambda x, m: bl.sum(bl.log(bl.sum(bl.exp(-0.5 * (x[:, None] - m[None, :]) ** 2), axis=1)))
)
case("kernel density", lambda x, h: bl.mean(bl.exp(-0.5 * ((x[:, None] - x[None, :]) / h) ** 2) / h))
case("sum of distances", lambda p: bl.sum(bl.sqrt(bl.sum((p[:, None, :] - p[None, :, :]) ** 2, axis=2) + 0.01)))
case("Lennard-Jones", lambda r: bl.sum(4.0 * (r**-12 - r**-6)))
case("Coulomb energy of a chain", lambda x: bl.sum(1.0 / (1.0 + bl.abs(bl.diff(x)))))
case("Planck", lambda x: x**3 / bl.expm1(x))
case(
    "Kepler's equation",
    lambda e, m: bl.fori_loop(0, 5, lambda i, s: s - (s - 0.9 * e * bl.sin(s) - m) / (1 - 0.9 * e * bl.cos(s)), m),
)
case(
    "great-circle distance",
    lambda v: (
        2
        * bl.asin(
            bl.sqrt(bl.sin((v[2] - v[0]) / 2) ** 2 + bl.cos(v[0]) * bl.cos(v[2]) * bl.sin((v[3] - v[1]) / 2) ** 2)
        )
    ),
)
case("Black and Scholes", lambda v: black_scholes(v))
case("present value", lambda c, r: bl.sum(c * (1 + r) ** -bl.arange(5.0)))
case(
    "moving average by sums",
    lambda x: (bl.cumulative_sum(x)[2:] - bl.concat([bl.zeros(1), bl.cumulative_sum(x)[:-3]])) / 3,
)
case("polynomial by Horner's rule", lambda c, x: ((c[3] * x + c[2]) * x + c[1]) * x + c[0])
case("trapezoidal rule", lambda y: bl.sum((y[1:] + y[:-1]) / 2) * 0.2)
case("determinant of 2 by 2", lambda a: a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
case(
    "inverse of 2 by 2",
    lambda v: bl.stack([v[3] + 3, -v[1], -v[2], v[0] + 3]) / ((v[0] + 3) * (v[3] + 3) - v[1] * v[2]),
)
case("matrix product by broadcasting", lambda a, b: bl.sum(a[:, :, None] * b[None, :, :], axis=1))
case("quadratic form", lambda x, a: bl.sum(x[:, None] * a * x[None, :]))

# Programs that call the transforms. Only their value is compared.
case("Hessian by a vector", lambda x, v: bl.jvp(bl.grad(rosenbrock), (x,), (v,))[1])
case("Hessian by a vector in reverse", lambda x, v: bl.grad(lambda x: bl.sum(bl.grad(rosenbrock)(x) * v))(x))
case("third derivative", lambda x: bl.grad(bl.grad(bl.grad(lambda x: bl.sin(x) * bl.log(x))))(x))
case("fourth derivative forwards", lambda x: fourth(lambda x: bl.exp(bl.sin(x)), x))
case("reverse over reverse", lambda x: bl.jacrev(bl.jacrev(lambda x: bl.prod(x) * bl.sum(x * x)))(x))
case("forward over forward", lambda x: bl.jacfwd(bl.jacfwd(lambda x: bl.prod(x) * bl.sum(x * x)))(x))
case("Laplacian of a function", lambda x: bl.sum(bl.eye(3) * bl.hessian(lambda x: bl.sum(bl.sin(x)) * bl.exp(x[0]))(x)))
case("second argument", lambda x, y: bl.grad(lambda x, y: bl.sum(x * bl.log(y)), argnums=1)(x, y))
case("arguments in another order", lambda x, y: bl.grad(lambda x, y: bl.sum(bl.pow(y, x)), argnums=(1, 0))(x, y))
case("auxiliary results", lambda x: bl.grad(lambda x: (bl.sum(x**3), x * 2.0), has_aux=True)(x))
case(
    "value, auxiliary results and gradient",
    lambda x: bl.value_and_grad(lambda x: (bl.sum(x**3), x * 2.0), has_aux=True)(x),
)
case("gradient of each row", lambda x: bl.vmap(bl.grad(rosenbrock))(x))
case("gradient of each column", lambda x: bl.vmap(bl.grad(rosenbrock), in_axes=1, out_axes=1)(x))
case(
    "gradients with a shared argument",
    lambda x, w: bl.vmap(bl.grad(lambda w, row: bl.tanh(bl.sum(w * row))), in_axes=(None, 0))(w, x),
)
case("vmap of vmap", lambda x, y: bl.vmap(lambda a: bl.vmap(lambda b: bl.sin(a * b) + a)(y))(x))
case("vmap along the last axis", lambda x: bl.vmap(lambda m: m * bl.sum(m, axis=0), in_axes=-1, out_axes=-1)(x))
case("vmap of a scan", lambda x: bl.vmap(lambda row: bl.scan(lambda s, v: (0.5 * s + v, s), 0.0, row)[1])(x))
case("gradient of a vmap", lambda x: bl.grad(lambda x: bl.sum(bl.vmap(rosenbrock)(x) ** 2))(x))
case("Jacobian of a vmap", lambda x: bl.jacrev(bl.vmap(lambda v: bl.sin(v) * v))(x))
case("two pullbacks of one vjp", lambda x: pullbacks(x))
case(
    "pullback of several results",
    lambda x: bl.vjp(lambda x: (bl.sin(x), bl.sum(x * x)), x)[1]((bl.asarray([1.0, 2.0, 3.0]), bl.asarray(0.5))),
)
case("pushforward of several results", lambda x, t: bl.jvp(lambda x: (bl.sin(x), bl.sum(x * x)), (x,), (t,)))
case(
    "Jacobians of two arguments",
    lambda x, y: bl.jacfwd(lambda x, y: x[:, None] * bl.sin(y)[None, :], argnums=(0, 1))(x, y),
)
case("stop_gradient", lambda x: bl.grad(lambda x: bl.sum(x * bl.stop_gradient(x * x)))(x))
case("custom_jvp", lambda x: bl.grad(lambda x: bl.sum(custom_softplus(x) * x))(x))
case("custom_vjp", lambda x: bl.grad(lambda x: bl.sum(clipped(x) ** 2))(x))
case("gradient of jit", lambda x: bl.grad(bl.jit(rosenbrock))(x))
case("jit of a gradient", lambda x: bl.jit(bl.grad(rosenbrock))(x))
case("gradient in a gradient", lambda x: bl.grad(lambda x: x * bl.grad(lambda y: x * y * y * y)(x))(x))
case(
    "implicit Newton step",
    lambda x: x - bl.vmap(bl.grad(lambda v: v**3 - v))(x) / bl.vmap(bl.grad(bl.grad(lambda v: v**3 - v)))(x),
)

FEATURES = bl.asarray(np.random.default_rng(11).normal(size=(6, 3)).round(3))
TARGETS = bl.asarray(np.random.default_rng(12).normal(size=6).round(3))
LABELS = bl.asarray([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])


def chain_of_twelve(x: Any) -> Any:
    for k in range(4):
        x = bl.sin(x) * (1.0 + 0.1 * k) + x * 0.5
    return x


def pendulum(i: Any, s: Any) -> Any:
    angle, speed = s
    speed = speed - 0.1 * bl.sin(angle)
    return angle + 0.1 * speed, speed


def levy(x: Any) -> Any:
    w = 1.0 + (x - 1.0) / 4.0
    middle = bl.sum((w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * bl.sin(bl.pi * w[:-1] + 1.0) ** 2))
    return bl.sin(bl.pi * w[0]) ** 2 + middle + (w[-1] - 1.0) ** 2 * (1.0 + bl.sin(2 * bl.pi * w[-1]) ** 2)


def softmax(x: Any) -> Any:
    e = bl.exp(x - bl.max(x, axis=1, keepdims=True))
    return e / bl.sum(e, axis=1, keepdims=True)


def logistic_loss(w: Any, b: Any) -> Any:
    z = bl.sum(FEATURES * w, axis=1) + b
    return bl.mean(bl.logaddexp(z, 0.0) - LABELS * z)


def black_scholes(v: Any) -> Any:
    spot, strike, rate, volatility, time = v[0], v[1], v[2] * 0.02, v[3] * 0.1, v[4]
    d1 = (bl.log(spot / strike) + (rate + volatility * volatility / 2) * time) / (volatility * bl.sqrt(time))
    d2 = d1 - volatility * bl.sqrt(time)
    return spot * 0.5 * bl.erfc(-d1 / bl.sqrt(2.0)) - strike * bl.exp(-rate * time) * 0.5 * bl.erfc(-d2 / bl.sqrt(2.0))


def rosenbrock(x: Any) -> Any:
    return bl.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def fourth(f: Callable[[Any], Any], x: Any) -> Any:
    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: bl.jvp(f, (x,), (bl.ones_like(x),))[1]

    return derivative(derivative(derivative(derivative(f))))(x)


def pullbacks(x: Any) -> Any:
    y, back = bl.vjp(lambda x: bl.sin(x) * x, x)
    return y, back(bl.ones(3)), back(bl.asarray([0.0, 2.0, -1.0]))


@bl.custom_jvp
def custom_softplus(x: Any) -> Any:
    return bl.log(1.0 + bl.exp(x))


@custom_softplus.defjvp
def custom_softplus_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    # The derivative is wrong by a factor of 2 on purpose, to show that the rule is used.
    return custom_softplus(x), 2.0 * t / (1.0 + bl.exp(-x))


@bl.custom_vjp
def clipped(x: Any) -> Any:
    return x * x


def clipped_forward(x: Any) -> Any:
    return x * x, x


def clipped_backward(x: Any, g: Any) -> Any:
    return (bl.clip(g * 2.0 * x, -0.5, 0.5),)


clipped.defvjp(clipped_forward, clipped_backward)


def array(encoded: dict[str, Any]) -> np.ndarray:
    elements = [float.fromhex(e) for e in encoded["elements"]]
    return np.array(elements, np.float64).reshape(encoded["shape"])


def arrays(encoded: list[dict[str, Any]]) -> list[np.ndarray]:
    return [array(e) for e in encoded]


def assert_agrees(got: Any, expected: Any, place: str = "the result") -> None:
    """Compares arrays, or tuples of them with the same structure."""
    if isinstance(expected, list):
        assert isinstance(got, tuple | list), f"{place} is a {type(got).__name__}, not a tuple"
        assert len(got) == len(expected), f"{place} has {len(got)} parts, not {len(expected)}"
        for k, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_agrees(g, e, f"{place}[{k}]")
        return
    values, exact = np.asarray(got), array(expected)
    assert values.dtype == np.float64, place
    assert values.shape == exact.shape, place
    tolerance = np.maximum(1e-12 * np.abs(exact), 1e-14 * np.max(np.abs(exact), initial=0.0))
    wrong = ~(np.abs(values - exact) <= tolerance)
    assert not wrong.any(), f"{place}: {values[wrong]} instead of {exact[wrong]}"


def computed(transform: str, function: Callable[..., Any], entry: dict[str, Any]) -> Any:
    """The result of a transform. `value_and_grad` takes NumPy's arrays, and the other transforms arrays of broadloom."""
    numpys = arrays(entry["inputs"])
    inputs = [bl.asarray(a) for a in numpys]
    everything = tuple(range(len(inputs)))
    if transform == "value":
        return function(*inputs)
    if transform == "grad":
        return bl.grad(function, argnums=everything)(*inputs)
    if transform == "value_and_grad":
        return bl.value_and_grad(function)(*numpys)
    if transform == "jvp":
        return bl.jvp(function, tuple(inputs), tuple(bl.asarray(t) for t in arrays(entry["tangents"])))
    if transform == "vjp":
        y, pullback = bl.vjp(function, *inputs)
        assert_agrees(y, entry["expected"]["value"], "the value")
        return pullback(bl.asarray(array(entry["cotangent"])))
    if transform == "jacfwd":
        return bl.jacfwd(function, argnums=everything)(*inputs)
    if transform == "jacrev":
        return bl.jacrev(function, argnums=everything)(*inputs)
    if transform == "hessian":
        return bl.hessian(function)(*inputs)
    assert transform == "vmap"
    batch = [bl.asarray(a) for a in arrays(entry["batch"])]
    return bl.vmap(bl.grad(function) if "grad" in entry["expected"] else function)(*batch)


def test_file_has_the_cases() -> None:
    assert set(CASES) == set(FILE)


@pytest.mark.parametrize(
    ("name", "transform"), [(name, transform) for name, entry in FILE.items() for transform in entry["expected"]]
)
def test_agrees_with_jax(name: str, transform: str) -> None:
    entry = FILE[name]
    assert_agrees(computed(transform, CASES[name], entry), entry["expected"][transform])


# One call of each function must compile to the same values as the call outside of `jit`.
@pytest.mark.parametrize("name", [name for name, entry in FILE.items() if "grad" in entry["expected"]])
def test_jitted_gradient_agrees_with_jax(name: str) -> None:
    entry = FILE[name]
    inputs = arrays(entry["inputs"])
    gradient = bl.jit(bl.grad(CASES[name], argnums=tuple(range(len(inputs)))))
    assert_agrees(gradient(*inputs), entry["expected"]["grad"])
