"""Gradients against JAX's, on functions that are written once for both namespaces; skipped without JAX."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax: Any = pytest.importorskip("jax")
jnp: Any = pytest.importorskip("jax.numpy")
jax.config.update("jax_enable_x64", True)

OfArrays = Callable[[Any, Any, Any], Any]

#: Functions of a namespace, an array of shape [4, 5] and one of shape [5]. Their results are summed.
FUNCTIONS: dict[str, OfArrays] = {
    "polynomial": lambda m, x, w: x**3 - 2 * x * w + w**2,
    "quotient": lambda m, x, w: x / (1 + w * w) - w / (2 + x * x),
    "sin of products": lambda m, x, w: m.sin(x * w) * m.cos(x - w),
    "tan": lambda m, x, w: m.tan(x / 3) + m.tanh(w * x),
    "exponentials": lambda m, x, w: m.exp(x) * m.expm1(w) + m.exp(-x * x),
    "logarithms": lambda m, x, w: m.log(1 + x * x) * m.log1p(w * w) + m.log2(2 + w * w) + m.log10(3 + x * x),
    "roots": lambda m, x, w: m.sqrt(1 + x * x) * m.sqrt(2 + w * w),
    "inverse functions": lambda m, x, w: m.asin(m.tanh(x) / 2) + m.acos(m.tanh(w) / 3) + m.atan(x * w),
    "hyperbolic functions": lambda m, x, w: m.sinh(x) * m.cosh(w) + m.asinh(x * w),
    "inverse hyperbolic functions": lambda m, x, w: m.acosh(2 + x * x) * m.atanh(m.tanh(w) / 2),
    "angles": lambda m, x, w: m.atan2(x, 1 + w * w) + m.hypot(x, w),
    "logaddexp": lambda m, x, w: m.logaddexp(3 * x, w),
    "powers": lambda m, x, w: m.pow(1 + x * x, w) + m.pow(1 + w * w, 1.5),
    "choices": lambda m, x, w: m.where(x > w, x * w, m.exp(x)) + m.maximum(x, w) * m.minimum(x, 2 * w),
    "absolute values": lambda m, x, w: abs(x) * m.sign(w) + m.abs(x * w),
    "roundings": lambda m, x, w: m.floor(3 * x) * w + m.round(x * 2) * x,
    "remainder": lambda m, x, w: m.remainder(7 * x, 1 + w * w),
    "clip": lambda m, x, w: m.clip(x * w, -0.5, 0.5) * x,
    "softmax": lambda m, x, w: _softmax(m, x) * w,
    "cross-entropy": lambda m, x, w: -m.log(_softmax(m, x * w)) * m.sin(w) ** 2,
    "layer norm": lambda m, x, w: _normed(m, x) * w,
    "logistic regression": lambda m, x, w: m.log1p(m.exp(-m.sum(x * w, axis=-1))),
    "variance": lambda m, x, w: m.var(x * w, axis=0) + m.std(x) * w,
    "mean": lambda m, x, w: m.mean(x * x, axis=1) ** 2,
    "products": lambda m, x, w: m.prod(x + 2, axis=1) * m.prod(w),
    "extremes": lambda m, x, w: m.max(x * w, axis=0) + m.min(x, axis=(0, 1)) * w,
    "squared distances": lambda m, x, w: m.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1) * m.sum(w),
    "slices": lambda m, x, w: x[1:, ::2] * x[:-1, ::-2] + w[1:4],
    "differences": lambda m, x, w: (x[:, 1:] - x[:, :-1]) ** 2 * w[:-1],
    "shapes": lambda m, x, w: m.reshape(m.permute_dims(x, (1, 0)), (2, 10)) ** 2 * m.sum(w),
    "joined": lambda m, x, w: m.concat([x, x * w, x[:2]], axis=0) ** 2,
    "stacked": lambda m, x, w: m.stack([x, m.sin(x)], axis=1) * w,
    "flipped and rolled": lambda m, x, w: m.flip(x, axis=1) * m.roll(x, 2, axis=1) + w,
    "cumulative sums": lambda m, x, w: m.cumulative_sum(x * w, axis=1) ** 2,
    "broadcast": lambda m, x, w: m.broadcast_to(w, (4, 5)) * x + m.expand_dims(w, axis=1)[:4] * x,
    "rosenbrock": lambda m, x, w: 100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2,
    "normal density": lambda m, x, w: m.exp(-(((x - w) / (1 + w * w)) ** 2) / 2) / (1 + w * w),
    "a chain": lambda m, x, w: _chain(m, x, w),
    "gelu": lambda m, x, w: x * w * (1 + m.tanh(0.797 * (x + 0.044715 * x**3))) / 2,
    "huber": lambda m, x, w: m.where(abs(x - w) < 1, (x - w) ** 2 / 2, abs(x - w) - 0.5),
}


def _softmax(m: Any, x: Any) -> Any:
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def _normed(m: Any, x: Any) -> Any:
    return (x - m.mean(x, axis=-1, keepdims=True)) / m.sqrt(m.var(x, axis=-1, keepdims=True) + 1e-5)


def _chain(m: Any, x: Any, w: Any) -> Any:
    for _ in range(20):
        x = m.sin(x * w + 0.1) + x / 2
    return x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_agreement(name: str) -> None:
    function = FUNCTIONS[name]
    rng = np.random.default_rng(len(name))
    x, w = rng.standard_normal((4, 5)), rng.standard_normal(5)

    def total(m: Any) -> Callable[[Any, Any], Any]:
        return lambda x, w: m.sum(function(m, x, w))

    wanted, (dx, dw) = jax.value_and_grad(total(jnp), argnums=(0, 1))(x, w)
    for both in (bl.value_and_grad(total(bl), argnums=(0, 1)), bl.jit(bl.value_and_grad(total(bl), argnums=(0, 1)))):
        value, found = both(x, w)
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.asarray(found[0]), dx, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.asarray(found[1]), dw, rtol=1e-12, atol=1e-12)
    along = rng.standard_normal((4, 5)), rng.standard_normal(5)
    _, wanted = jax.jvp(total(jnp), (x, w), along)
    np.testing.assert_allclose(np.asarray(bl.jvp(total(bl), (x, w), along)[1]), wanted, rtol=1e-11, atol=1e-11)
    # The Hessian's product with a vector.
    _, wanted = jax.jvp(lambda x: jax.grad(total(jnp))(x, w), (x,), (along[0],))
    got = bl.jvp(lambda x: bl.grad(total(bl))(x, w), (x,), (along[0],))[1]
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-11, atol=1e-11)
