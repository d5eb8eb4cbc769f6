"""Functions with rules of the application. The expected values are those of JAX 0.9 in float64, or follow from the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl


def near(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-14)


product = bl.custom_jvp(lambda x, y: x * y)
product.defjvp(lambda p, t: (product(*p), t[0] * p[1] + p[0] * t[1]))


def test_rules_in_bodies_of_loops() -> None:
    near(bl.grad(lambda a: bl.fori_loop(0, 2, lambda i, c: product(c, a), a))(2.0), 12.0)
    value, tangent = bl.jvp(lambda a: bl.while_loop(lambda c: c < 20, lambda c: product(c, a), a), (2.0,), (1.0,))
    near(value, 32.0)
    near(tangent, 80.0)
    steps = lambda a: bl.scan(lambda s, x: (product(s, x * a), s * s), a, np.array([1.0, 2.0, 3.0]))[0]  # noqa: E731
    near(bl.grad(steps)(2.0), 192.0)
    near(bl.jit(bl.grad(steps))(2.0), 192.0)
    near(bl.grad(bl.grad(steps))(2.0), 288.0)


def test_a_rule_is_used_in_its_own_derivative() -> None:
    f = bl.custom_jvp(bl.exp)
    f.defjvp(lambda p, t: (f(p[0]), t[0] * f(p[0]) * 2))
    near(bl.grad(f)(0.0), 2.0)
    near(bl.grad(bl.grad(f))(0.0), 4.0)
    near(bl.grad(bl.grad(bl.grad(f)))(0.0), 8.0)
    square = bl.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (square(x), x), lambda x, v: (v * square(x) * 7,))
    near(bl.grad(square)(2.0), 28.0)
    near(bl.grad(bl.grad(square))(2.0), 196.0)


def test_batches() -> None:
    x, w = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([1.0, 10.0, 100.0])
    # The derivatives that the rules state are 7 and 11 times the true ones.
    dot = bl.custom_jvp(lambda x, w: bl.sum(x * w))
    dot.defjvp(lambda p, t: (dot(*p), bl.sum(t[0] * p[1] * 7) + bl.sum(p[0] * t[1] * 11)))
    reverse = bl.custom_vjp(lambda x, w: bl.sum(x * w))
    reverse.defvjp(lambda x, w: (reverse(x, w), (x, w)), lambda r, v: (v * r[1] * 7, v * r[0] * 11))
    for f in (dot, reverse):
        near(bl.vmap(f, in_axes=(0, None))(x, w), x @ w)
        near(bl.vmap(bl.grad(f), in_axes=(0, None))(x, w), np.array([w, w]) * 7)
        total = lambda x, w, f=f: bl.sum(bl.vmap(f, in_axes=(0, None))(x, w))  # noqa: E731
        near(bl.grad(total)(x, w), np.array([w, w]) * 7)
        near(bl.grad(total, argnums=1)(x, w), [55.0, 77.0, 99.0])
        near(bl.jit(bl.grad(total, argnums=1))(x, w), [55.0, 77.0, 99.0])
    none = bl.custom_vjp(lambda x, w: x * w)
    none.defvjp(lambda x, w: (x * w, w), lambda w, v: (v * w, None))
    near(bl.grad(lambda w: bl.sum(bl.vmap(none, in_axes=(0, None))(x, w)))(w), [0.0] * 3)


def test_none_is_zero() -> None:
    times = bl.custom_vjp(lambda x, y: x * y)
    times.defvjp(lambda x, y: (times(x, y), (x, y)), lambda r, v: (v * r[1] * 10, None))
    near(bl.grad(times, argnums=(0, 1))(2.0, 3.0), [30.0, 0.0])
    trees = bl.custom_vjp(lambda tree, n: tree["a"] * tree["b"] * n)
    trees.defvjp(lambda tree, n: (trees(tree, n), tree), lambda tree, v: ({"a": v, "b": v * 2}, None))
    found = bl.grad(lambda tree: trees(tree, 3))({"a": 2.0, "b": 5.0})
    near([found["a"], found["b"]], [1.0, 2.0])
    constant = bl.custom_jvp(lambda x: x + 1)
    constant.defjvp(lambda p, t: (p[0], None))
    near(bl.grad(constant)(2.0), 0.0)


def test_an_array_in_memory_is_an_argument_in_a_kernel() -> None:
    weights = np.array([1.0, 2.0, 4.0])
    slope = bl.jit(bl.grad(lambda x: bl.sum(product(x, weights))))
    near(slope(np.array([1.0, 1.0, 1.0])), weights)


def by_bwd(bwd: Any, fwd: Any = lambda x, y: (x * y, None)) -> Any:
    named = bl.custom_vjp(area)
    named.defvjp(fwd, bwd)
    return bl.grad(named)(2.0, 3.0)


def by_rule(rule: Any) -> Any:
    named = bl.custom_jvp(area)
    named.defjvp(rule)
    return bl.grad(named)(2.0, 3.0)


def area(x: Any, y: Any) -> Any:
    return x * y


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: by_bwd(lambda r, v: v),
            TypeError,
            "custom_vjp: the rule of area: bwd returns Array, but must return a tuple with 2 adjoints",
        ),
        (
            lambda: by_bwd(lambda r, v: (v,)),
            TypeError,
            "custom_vjp: the rule of area: bwd returns 1 results, but must return a tuple with 2 adjoints",
        ),
        (
            lambda: by_bwd(lambda r, v: (v, v), lambda x, y: x * y),
            TypeError,
            "custom_vjp: the rule of area: fwd returns Array, but must return a tuple of the value and residuals",
        ),
        (
            lambda: by_bwd(lambda r, v: ((v, v), v)),
            TypeError,
            r"custom_vjp: the rule of area: the adjoints are \(\(·, ·\), ·\), but must be \(·, ·\)",
        ),
        (
            lambda: by_rule(lambda p, t: t[0] * p[1]),
            TypeError,
            "custom_jvp: the rule of area: it returns Array, but must return a tuple of the value and its tangent",
        ),
        (
            lambda: by_rule(lambda p, t: (p[0], (t[0], t[1]))),
            TypeError,
            r"custom_jvp: the rule of area: the tangents are \(·, ·\), but must be ·",
        ),
        (lambda: by_rule(lambda p, t: (p[0], t[0] ** 2)), bl.DerivativeError, "the rule is not linear in the tangents"),
        (lambda: by_rule(lambda p, t: 1 / 0), ZeroDivisionError, "division by zero"),
    ],
)
def test_errors_name_the_rule(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_an_array_that_a_function_uses_is_not_differentiated() -> None:
    def outer(x: Any) -> Any:
        f = bl.custom_jvp(lambda y: x * y)
        f.defjvp(lambda p, t: (p[0], t[0]))
        return f(x)

    with pytest.raises(
        bl.DerivativeError, match="uses an array that is differentiated and is not one of its arguments"
    ):
        bl.grad(outer)(2.0)
