"""Derivatives by Python's functions, which have JAX's names and arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import broadloom as bl

X = np.array([0.5, -1.5, 2.0])


def near(got: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=tolerance, atol=tolerance)


def test_the_gradient_of_a_function_of_arrays_and_trees() -> None:
    def loss(parameters: dict[str, Any], x: Any, y: Any) -> Any:
        return bl.mean((bl.vecdot(x, parameters["w"]) + parameters["b"] - y) ** 2)

    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    parameters = {"w": rng.standard_normal(3), "b": 0.5}
    value, found = bl.value_and_grad(loss)(parameters, x, y)
    residual = x @ parameters["w"] + 0.5 - y
    near(value, np.mean(residual**2))
    near(found["w"], 2 * residual @ x / 6)
    near(found["b"], 2 * np.mean(residual))
    near(bl.grad(loss, argnums=2)(parameters, x, y), -2 * residual / 6)
    both = bl.grad(loss, argnums=(0, 2))(parameters, x, y)
    assert isinstance(both, tuple) and set(both[0]) == {"w", "b"}


def test_auxiliary_data() -> None:
    def f(x: Any) -> Any:
        return bl.sum(x * x), (x + 1, "name")

    (value, aux), gradient = bl.value_and_grad(f, has_aux=True)(X)
    near(value, np.sum(X * X))
    near(aux[0], X + 1)
    assert aux[1] == "name"
    near(gradient, 2 * X)
    gradient, aux = bl.grad(f, has_aux=True)(X)
    near(gradient, 2 * X)
    near(aux[0], X + 1)


def test_a_branch_that_is_not_taken() -> None:
    assert bl.grad(lambda x: bl.where(x > 0, bl.sqrt(x), 0.0))(0.0) == 0.0
    got = bl.grad(lambda x: bl.sum(bl.where(x > 0, bl.log(x), x)))(np.array([0.0, -1.0, 4.0]))
    assert got.tolist() == [1.0, 1.0, 0.25]


def test_a_jitted_gradient_and_a_gradient_of_a_jitted_function() -> None:
    @bl.jit
    def f(x: Any) -> Any:
        return bl.sum(bl.sin(x) * x)

    wanted = np.cos(X) * X + np.sin(X)
    near(bl.grad(f)(X), wanted)
    jitted = bl.jit(bl.grad(lambda x: bl.sum(bl.sin(x) * x)))
    for n in (3, 2, 1):
        near(jitted(X[:n]), wanted[:n])
    assert isinstance(jitted(X), np.ndarray)
    both = bl.jit(bl.value_and_grad(lambda x, s: bl.sum(x * x) * s, argnums=(0, 1)))
    value, (dx, ds) = both(X, 3.0)
    near(value, 3 * np.sum(X * X))
    near(dx, 6 * X)
    near(ds, np.sum(X * X))


def test_slices_and_jacobians_in_jitted_functions() -> None:
    f = bl.jit(bl.grad(lambda x: bl.sum(x[1:] * x[:-1] * x[::2][0])))
    for n in (4, 3):
        x = np.arange(1.0, n + 1)
        got = f(x)
        plain = bl.grad(lambda x: bl.sum(x[1:] * x[:-1] * x[::2][0]))(x)
        near(got, plain)
        h = 1e-6 * np.eye(n)
        g = lambda x: np.sum(x[1:] * x[:-1]) * x[0]  # noqa: E731
        near(got, [(g(x + h[i]) - g(x - h[i])) / 2e-6 for i in range(n)], 1e-7)
    jacobian = bl.jit(bl.jacfwd(lambda x: x * bl.sum(x)))
    near(jacobian(X), np.sum(X) * np.eye(3) + X[:, None])
    rows = bl.jit(bl.vmap(lambda x: x / bl.sum(x)))
    near(rows(np.array([[1.0, 3.0], [2.0, 2.0]])), [[0.25, 0.75], [0.5, 0.5]])


def test_one_kernel_has_the_gradients_of_slices_of_all_lengths() -> None:
    traces = 0

    def loss(x: Any) -> Any:
        nonlocal traces
        traces += 1
        return bl.sum(x[1:] * x[:-1]) + bl.sum(x[::-2] ** 3) + bl.sum(x[-3:-1])

    gradient = bl.jit(bl.grad(loss))
    for n in (2, 3, 8, 101):
        x = np.linspace(-1.0, 2.0, n)
        wanted = np.zeros(n)
        wanted[1:] += x[:-1]
        wanted[:-1] += x[1:]
        wanted[::-2] += 3 * x[::-2] ** 2
        wanted[-3:-1] += 1
        near(gradient(x), wanted)
    assert traces == 1
    rows = bl.jit(bl.grad(lambda x: bl.sum(bl.exp(x[1:, ::2]))))
    for shape in ((2, 5), (7, 4)):
        x = np.arange(float(np.prod(shape))).reshape(shape) / 30
        wanted = np.zeros(shape)
        wanted[1:, ::2] = np.exp(x[1:, ::2])
        near(rows(x), wanted)
    assert "pad_like" in rows.text()


def test_scipy_minimizes_with_gradients() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def rosenbrock(x: Any) -> Any:
        return bl.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    near(bl.grad(rosenbrock)(x), optimize.rosen_der(x), 1e-12)
    near(bl.hessian(rosenbrock)(x), optimize.rosen_hess(x), 1e-12)
    for both in (bl.value_and_grad(rosenbrock), bl.jit(bl.value_and_grad(rosenbrock))):
        found = optimize.minimize(both, x, jac=True, method="BFGS", options={"gtol": 1e-9})
        near(found.x, np.ones(5), 1e-6)

    t = np.linspace(0, 3, 20)
    y = 2.5 * np.exp(-1.3 * t) + 0.5

    def residuals(p: Any) -> Any:
        return p[0] * bl.exp(-p[1] * bl.asarray(t)) + p[2] - bl.asarray(y)

    found = optimize.least_squares(bl.jit(residuals), [1.0, 1.0, 0.0], jac=bl.jit(bl.jacfwd(residuals)))
    near(found.x, [2.5, 1.3, 0.5], 1e-6)


def test_long_chains_keep_their_variables() -> None:
    def f(x: Any) -> Any:
        for _ in range(300):
            x = x * 1.001 + 0.001
        return bl.sum(x)

    near(bl.grad(f)(X), np.full(3, 1.001**300))

    def g(x: Any) -> Any:
        y, _ = bl.scan(lambda s, _: (s * 1.01, None), x, length=20)
        for _ in range(150):
            y = y + 0.0
        return bl.sum(y)

    near(bl.grad(g)(X), np.full(3, 1.01**20))


def test_second_derivatives() -> None:
    assert bl.grad(bl.grad(lambda x: x**3))(2.0) == 12.0
    hessian = bl.hessian(lambda x: bl.sum(x**3) + x[0] * x[1])(X)
    wanted = np.diag(6 * X)
    wanted[0, 1] = wanted[1, 0] = 1
    near(hessian, wanted)
    along = bl.jvp(bl.grad(lambda x: bl.sum(x**3)), (X,), (np.array([1.0, 0.0, 2.0]),))[1]
    near(along, 6 * X * [1, 0, 2])


def test_tangents_and_adjoints() -> None:
    y, along = bl.jvp(lambda x, s: (x * s, bl.sum(x)), (X, 2.0), (np.ones(3), 1.0))
    near(y[0], 2 * X)
    near(along[0], 2 + X)
    near(along[1], 3.0)
    y, back = bl.vjp(lambda x, s: {"a": x * s}, X, 2.0)
    near(y["a"], 2 * X)
    dx, ds = back({"a": np.array([1.0, 10.0, 100.0])})
    near(dx, [2.0, 20.0, 200.0])
    near(ds, X @ [1, 10, 100])


def test_jacobians() -> None:
    def f(x: Any) -> Any:
        return bl.stack([bl.sum(x**2), bl.prod(x)])

    wanted = np.array([2 * X, math.prod(X) / X])
    near(bl.jacfwd(f)(X), wanted)
    near(bl.jacrev(f)(X), wanted)
    matrix = np.arange(6.0).reshape(2, 3)
    near(bl.jacrev(lambda x: bl.sum(matrix * x, axis=1))(X), matrix)
    near(bl.jacfwd(lambda x: x[0] * bl.asarray(matrix))(X)[:, :, 0], matrix)
    with_aux, aux = bl.jacfwd(lambda x: (x * 2, x.shape), has_aux=True)(X)
    near(with_aux, 2 * np.eye(3))
    assert aux == (3,)


def test_batches() -> None:
    a = np.arange(12.0).reshape(3, 4)
    b = np.arange(4.0)
    near(bl.vmap(lambda x: bl.sum(x * x))(a), np.sum(a * a, axis=1))
    near(bl.vmap(lambda x, y: bl.sum(x * y), in_axes=(0, None))(a, b), a @ b)
    near(bl.vmap(lambda x, y: x - y, in_axes=(1, 0))(a, b), (a - b).T)
    near(bl.vmap(lambda x: x * 2, out_axes=1)(a), 2 * a.T)
    near(bl.vmap(lambda x, y: x + y["z"])(a, y={"z": a}), a + a)
    near(bl.vmap(lambda x: bl.cumulative_sum(x))(a), np.cumsum(a, axis=1))
    near(bl.vmap(lambda x: x[::-1][:2])(a), a[:, ::-1][:, :2])
    near(bl.vmap(lambda x: bl.concat([x, b]))(a), [[*row, *b] for row in a])
    near(bl.vmap(lambda x, i: x[i])(a, np.array([0, 3, 1])), a[[0, 1, 2], [0, 3, 1]])
    near(bl.vmap(lambda i: bl.asarray(b)[i])(np.array([2, 0])), b[[2, 0]])
    near(bl.vmap(bl.vmap(lambda x: x + 1))(a), a + 1)
    near(bl.vmap(bl.grad(lambda x: bl.sum(bl.sin(x))))(a), np.cos(a))
    products = bl.grad(lambda x: bl.sum(bl.vmap(lambda row: bl.prod(row))(x)))(a[1:])
    near(products, [[math.prod(np.delete(row, i)) for i in range(4)] for row in a[1:]])
    sums = bl.vmap(lambda x: bl.scan(lambda s, y: (s + y, s * y), 0.0, x))(a)
    near(sums[0], a.sum(axis=1))
    near(sums[1], [np.concatenate([[0], np.cumsum(row)[:-1]]) * row for row in a])
    doubled = bl.vmap(lambda x: bl.while_loop(lambda y: y < 10, lambda y: y * 2, x))(np.array([1.0, 3.0, 11.0]))
    near(doubled, [16, 12, 11])


def test_stopped_gradients() -> None:
    assert bl.grad(lambda x: x * bl.stop_gradient(x))(3.0) == 3.0
    kept = bl.stop_gradient({"a": np.array([1, 2]), "b": 2.0})
    assert kept["a"].tolist() == [1, 2] and kept["b"] == 2.0


def test_rules_of_the_application() -> None:
    @bl.custom_jvp
    def cube(x: Any) -> Any:
        return x**3

    @cube.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return cube(primals[0]), 5 * primals[0] ** 2 * tangents[0]

    near(cube(X), X**3)
    near(bl.grad(lambda x: bl.sum(cube(x) * 2))(X), 10 * X**2)
    near(bl.jvp(cube, (X,), (np.ones(3),))[1], 5 * X**2)
    near(bl.jit(bl.grad(lambda x: bl.sum(cube(x))))(X), 5 * X**2)
    near(bl.grad(lambda x: bl.grad(cube)(x))(2.0), 20.0)

    product = bl.custom_jvp(lambda x, w: x * w)
    product.defjvps(lambda v, value, x, w: 2 * v * w, None)
    near(bl.grad(lambda x, w: bl.sum(product(x, w)), argnums=(0, 1))(X, X + 1)[0], 2 * (X + 1))

    square = bl.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (square(x), x), lambda x, v: (v * x * 7,))
    near(bl.grad(lambda x: bl.sum(square(x)))(X), 7 * X)

    power = bl.custom_vjp(lambda n, x: {"y": x**n}, nondiff_argnums=(0,))
    power.defvjp(lambda n, x: ({"y": x**n}, x), lambda n, x, v: (v["y"] * n * 100,))
    near(bl.grad(lambda x: bl.sum(power(3, x)["y"]))(X), [300.0] * 3)
    with pytest.raises(bl.DerivativeError, match="reverse mode only"):
        bl.jvp(lambda x: power(3, x)["y"], (X,), (X,))
    with pytest.raises(TypeError, match="has no rule"):
        bl.custom_jvp(bl.sin)(X)


def test_loops() -> None:
    def average(w: Any) -> Any:
        _, means = bl.scan(lambda s, x: (s + (x - s) * w, s), 0.0, X)
        return bl.sum(means * means)

    h = 1e-6
    near(bl.grad(average)(0.3), (average(0.3 + h) - average(0.3 - h)) / (2 * h), 1e-8)
    near(bl.grad(lambda x: bl.fori_loop(0, 5, lambda i, y: y * x, 1.0))(1.5), 5 * 1.5**4)
    root = lambda a: bl.while_loop(lambda x: abs(x * x - a) > 1e-14 * a, lambda x: (x + a / x) / 2, 1.0)  # noqa: E731
    near(bl.jvp(root, (2.0,), (1.0,))[1], 0.5 / math.sqrt(2), 1e-9)


def test_checkpoints_have_the_bits_of_stored_states() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((50, 3))

    def filtered(w: Any, x: Any) -> Any:
        last, ys = bl.scan(lambda s, x: (s + (bl.sin(x) - s) * w, s * x), 0.0, x, reverse=True)
        return bl.sum(ys) + bl.sum(last)

    checkpointed = bl.checkpoint(filtered)
    wanted = [np.asarray(g) for g in bl.grad(filtered, argnums=(0, 1))(0.3, x)]
    # With open extents, a kernel is made for the shape.
    for gradient in (bl.grad(checkpointed, argnums=(0, 1)), bl.jit(bl.grad(checkpointed, argnums=(0, 1)))):
        for got, of_stored in zip(gradient(0.3, x), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(got).view(np.uint64), of_stored.view(np.uint64))
    assert bl.grad(bl.checkpoint(lambda x: bl.fori_loop(0, 10, lambda i, y: y * 2.0, x)))(1.5) == 1024


def test_numpys_functions_and_memory() -> None:
    near(bl.grad(lambda x: np.sum(np.exp(x) * X))(X), np.exp(X) * X)
    near(bl.grad(lambda x: bl.sum(x * X))(X), X)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: bl.grad(lambda x: x)(X), bl.ShapeError, r"grad: float64\[3\] has axes"),
        (lambda: bl.grad(lambda x: x * 1.0)(3), bl.DTypeError, "grad: argument 0 has int64"),
        (lambda: bl.grad(lambda x: x > 0)(3.0), bl.DTypeError, "the result is bool"),
        (lambda: bl.grad(lambda x: bl.nextafter(x, 1.0))(3.0), bl.DerivativeError, "nextafter: there is no derivative"),
        (lambda: bl.grad(lambda x: x, argnums=1)(3.0), ValueError, "argnums has 1"),
        (lambda: bl.grad(lambda x, y: x, argnums=(-2, 0))(3.0, 1.0), ValueError, "argnums names an argument twice"),
        (lambda: bl.grad(lambda x: x if x > 0 else -x)(3.0), bl.TracerError, "x if x > 0"),
        (
            lambda: bl.jvp(lambda x: x, (X,), (1.0,)),
            bl.ShapeError,
            r"tangent 0 is float64\[\], its argument float64\[3\]",
        ),
        (lambda: bl.jvp(lambda x: x, (X,), ((X, X),)), TypeError, "the tangents are"),
        (lambda: bl.vmap(lambda x, y: x, in_axes=(0,))(X, X), bl.ArityError, "in_axes has 1 axes"),
        (lambda: bl.vmap(lambda x: x[0], in_axes=((0, 1),))((X, X)), TypeError, "in_axes is an axis, None or a tuple"),
        (lambda: bl.vmap(lambda x: x, out_axes=None)(X), TypeError, "out_axes is an axis or a tuple"),
        (
            lambda: bl.vmap(lambda x, y: x)(X, X[:2]),
            bl.ShapeError,
            "argument 1 has 2 elements along its axis, argument 0 3",
        ),
        (lambda: bl.vmap(lambda x: x, in_axes=2)(X), ValueError, "axis 2 is out of range"),
        (lambda: bl.grad(3), TypeError, "expected a function"),  # type: ignore[arg-type]
    ],
)
def test_errors(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()
