"""Tests gradients where the derivative of a formula is NaN, ambiguous or refused: decision 28 of the design, and the rules
for ties, kinks, zeros, loops, repeated reads and errors.

The expected values are written by hand. Where JAX gives another value, a comment says which, and why ours differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

INF, NAN = float("inf"), float("nan")
DTYPES = [np.float32, np.float64]


def array(values: Any, dtype: Any = np.float64) -> bl.Array:
    return bl.asarray(np.array(values, dtype))


def gradient(function: Callable[..., Any], *arguments: Any, argnums: int | tuple[int, ...] = 0) -> Any:
    """The gradient by reverse mode, as NumPy's arrays, of the sum of a function's result."""
    arguments = tuple(a if isinstance(a, bl.Array) else array(a) for a in arguments)
    result = bl.grad(lambda *a: bl.sum(function(*a)), argnums=argnums)(*arguments)
    return tuple(map(np.asarray, result)) if isinstance(argnums, tuple) else np.asarray(result)


def tangent(function: Callable[..., Any], arguments: Iterable[Any], tangents: Iterable[Any]) -> np.ndarray:
    """The tangent by forward mode."""
    primals = tuple(a if isinstance(a, bl.Array) else array(a) for a in arguments)
    moved = tuple(t if isinstance(t, bl.Array) else array(t) for t in tangents)
    return np.asarray(bl.jvp(function, primals, moved)[1])


def same_bits(got: Any, expected: Any) -> None:
    """Compares values with the signs of zeros; a NaN is any NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    np.testing.assert_array_equal(got, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


def canonical_sum(values: Iterable[Any]) -> Any:
    """The sum in the order of decision 18: 16 lanes of the elements whose numbers are equal modulo 16; pairwise within each
    lane, with an odd element carried, and pairwise over the lanes."""

    def pairwise(terms: list[Any]) -> Any:
        while len(terms) > 1:
            pairs = range(0, len(terms) - 1, 2)
            terms = [terms[k] + terms[k + 1] for k in pairs] + terms[len(terms) - len(terms) % 2 :]
        return terms[0]

    terms = list(values)
    return pairwise([pairwise(terms[lane::16]) for lane in range(min(16, len(terms)))])


def terms(n: int, seed: int = 0, dtype: type = np.float64, shows_direction: bool = False) -> np.ndarray:
    """Numbers of which the sum in the canonical order differs from that of one after the other, from either end, if they are
    more than three; and, on request, from the canonical sum of the reversed numbers. For some lengths, such as powers of 2,
    the latter is always the same."""
    for attempt in range(1000):
        values = np.random.default_rng((seed, attempt)).normal(size=n).astype(dtype)
        forwards, backwards = dtype(0), dtype(0)
        for value in values:
            forwards = forwards + value
        for value in values[::-1]:
            backwards = backwards + value
        sums = [canonical_sum(values)] + [canonical_sum(values[::-1])] * shows_direction
        if n < 4 or len({*sums, forwards, backwards}) == len(sums) + 2 - (forwards == backwards):
            return values
    raise AssertionError("the order of the sum is never visible")


def test_canonical_sum() -> None:
    assert canonical_sum([1.0, 2.0, 4.0]) == 7.0
    # Elements 0 and 16 are of one lane, and are added first.
    values = [0.0] * 17
    values[0], values[1], values[16] = 1e16, 1.0, -1e16
    assert canonical_sum(values) == 1.0
    values[0], values[1], values[2], values[3] = 1e16, 1.0, 1.0, -1e16
    assert canonical_sum(values[:4]) == (1e16 + 1.0) + (1.0 - 1e16)


# Branches that are not taken.

#: A function whose formula has no derivative at some of the points, where `where` selects something else; the points and the
#: gradient. JAX gives NaN at these points: "gradients contain NaN where using where" in its FAQ.
UNTAKEN: dict[str, tuple[Callable[..., Any], list[float], list[float]]] = {
    "sqrt": (lambda x: bl.where(x > 0, bl.sqrt(x), 0.0), [-1, 0, 4], [0, 0, 0.25]),
    "log": (lambda x: bl.where(x > 0, bl.log(x), 0.0), [-1, 0, 2], [0, 0, 0.5]),
    "log10": (lambda x: bl.where(x > 0, bl.log10(x), x), [-1, 0], [1, 1]),
    "log1p": (lambda x: bl.where(x > -1, bl.log1p(x), 0.0), [-3, -1, 1], [0, 0, 0.5]),
    "division by zero": (lambda x: bl.where(x != 0, 1 / x, 0.0), [0, 2], [0, -0.25]),
    "zero by zero": (lambda x: bl.where(x != 0, bl.sin(x) / x, 1.0), [0], [0]),
    "reciprocal": (lambda x: bl.where(x != 0, bl.reciprocal(x), x), [0, 4], [1, -0.0625]),
    "square root by pow": (lambda x: bl.where(x > 0, x**0.5, 0.0), [-1, 0, 4], [0, 0, 0.25]),
    "power of the argument": (lambda x: bl.where(x > 0, 2.0 * bl.pow(x, x), 0.0), [-1, 0, 1], [0, 0, 2]),
    "exp that overflows": (lambda x: bl.where(x < 100, bl.exp(x), 1.0), [1000, 0], [0, 1]),
    "acos": (lambda x: bl.where(bl.abs(x) < 1, bl.acos(x), 0.0), [-2, -1, 0, 1], [0, 0, -1, 0]),
    "asin": (lambda x: bl.where(bl.abs(x) < 1, bl.asin(x), 0.0), [-2, -1, 0, 1], [0, 0, 1, 0]),
    "acosh": (lambda x: bl.where(x > 1, bl.acosh(x), x), [0, 1], [1, 1]),
    "atanh": (lambda x: bl.where(bl.abs(x) < 1, bl.atanh(x), 0.0), [-2, 1, 0.5], [0, 0, 4 / 3]),
    "erfinv": (lambda x: bl.where(bl.abs(x) < 1, bl.erfinv(x), 0.0), [-1, 1, 2], [0, 0, 0]),
    "ndtri": (lambda x: bl.where((x > 0) & (x < 1), bl.ndtri(x), 0.0), [-1, 0, 1], [0, 0, 0]),
    "cbrt": (lambda x: bl.where(x != 0, bl.cbrt(x), 0.0), [0, 8], [0, 1 / 12]),
    "tan and division": (lambda x: bl.where(x > 0, bl.tan(1 / x), x), [0, -1], [1, 1]),
    "product with NaN": (lambda x: bl.where(x > 0, x * NAN, x), [-1], [1]),
    "product with infinity": (lambda x: bl.where(x > 0, x * INF, x), [-1], [1]),
    "other branch": (lambda x: bl.where(x <= 0, 0.0, bl.sqrt(x)), [-1, 0, 4], [0, 0, 0.25]),
    "nested": (
        lambda x: bl.where(x > 0, bl.where(x > 1, bl.log(x - 1), bl.log(x)), -x),
        [-1, 0, 0.5, 3],
        [-1, -1, 2, 0.5],
    ),
    "scaled": (lambda x: 3.0 * bl.where(x > 0, bl.sqrt(x), 0.0), [-1, 0, 4], [0, 0, 0.75]),
    "hypot far outside": (lambda x: bl.where(x > 0, bl.hypot(bl.log(x), x), 0.0), [-1, 0], [0, 0]),
    "atan2 of infinities": (lambda x: bl.where(x > 0, bl.atan2(1 / x, 1 / x), x), [0, -1], [1, 1]),
    "logaddexp of infinities": (lambda x: bl.where(x > 0, bl.logaddexp(1 / x, bl.log(x)), x), [0, -1], [1, 1]),
    "fma": (lambda x: bl.where(x > 0, bl.fma(x, 1 / x, bl.log(x)), x), [0, -1], [1, 1]),
    "remainder": (lambda x: bl.where(x > 0, bl.remainder(1.0, x), x), [0, -1], [1, 1]),
    "reduction": (lambda x: bl.where(bl.sum(x) > 100, bl.prod(1 / x), bl.sum(x)), [0, 0, 2], [1, 1, 1]),
    "norm": (lambda x: bl.where(bl.sum(x) > 100, bl.sqrt(bl.sum(x * x)), 0.0), [0, 0], [0, 0]),
    "standard deviation": (lambda x: bl.where(bl.sum(x) > 100, bl.std(x), 0.0), [2, 2], [0, 0]),
    "cumulative product": (lambda x: bl.where(x > 100, bl.cumulative_prod(1 / x), x), [0, 0], [1, 1]),
    "cond": (lambda x: bl.cond(x > 0, lambda v: bl.sqrt(v), lambda v: 0.0 * v, x), [-1, 0, 4], [0, 0, 0.25]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNTAKEN)
def test_branch_that_is_not_taken_contributes_nothing(name: str, dtype: type) -> None:
    function, points, expected = UNTAKEN[name]
    x = array(points, dtype)
    np.testing.assert_allclose(gradient(function, x), np.array(expected, dtype), rtol=4 * np.finfo(dtype).eps, atol=0)
    compiled = bl.jit(bl.grad(lambda x: bl.sum(function(x))))(np.array(points, dtype))
    np.testing.assert_array_equal(compiled, gradient(function, x))


ELEMENTWISE = [
    name for name in UNTAKEN if name not in ("reduction", "norm", "standard deviation", "cumulative product")
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_branch_that_is_not_taken_contributes_nothing_forwards(name: str) -> None:
    function, points, expected = UNTAKEN[name]
    np.testing.assert_allclose(tangent(function, [points], [np.ones(len(points))]), expected, rtol=1e-15, atol=0)


def test_second_derivative_of_a_branch_that_is_not_taken_is_zero() -> None:
    def function(x: Any) -> Any:
        return bl.where(x > 0, bl.sqrt(x), x * x)

    for x, expected in [(-1.0, 2.0), (0.0, 2.0), (4.0, -1 / 32)]:
        assert float(bl.grad(bl.grad(function))(array(x))) == expected
        assert float(bl.jacfwd(bl.jacfwd(function))(array(x))) == expected
        assert float(bl.hessian(function)(array(x))) == expected


#: Functions of which the derivative depends on values, with points where it is infinite, NaN or negative.
DEPENDS_ON_VALUES: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "sqrt": (bl.sqrt, [0, -1, 4]),
    "log": (bl.log, [0, -1, 2]),
    "reciprocal": (bl.reciprocal, [0, 2, -2]),
    "sin": (bl.sin, [3, INF, 0]),
    "cos": (bl.cos, [3, INF, 1]),
    "exp": (bl.exp, [INF, NAN, 0]),
    "square": (bl.square, [INF, NAN, -3]),
    "cbrt": (bl.cbrt, [0, 1, -1]),
    "acos": (bl.acos, [1, 2, 0]),
    "cosh": (bl.cosh, [-1, -INF, 1]),
    "abs": (bl.abs, [-1, NAN, 1]),
    "product with an array": (lambda x: x * array([-3, NAN, INF]), [1, -1, 0]),
    "product with infinity": (lambda x: x * INF, [1, -1, 0]),
    "quotient by zero": (lambda x: x / 0.0, [1, -1, 0]),
    "quotient of a number": (lambda x: 2.0 / x, [1, -1, 0]),
    "cube": (lambda x: x**3.0, [-1, INF, NAN]),
    "power of a number": (lambda x: (-2.0) ** x, [1, 2, 0.5]),
}


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("name", DEPENDS_ON_VALUES)
def test_product_with_an_exact_zero_is_positive_zero(name: str, zero: float) -> None:
    """An adjoint or tangent of ±0 times a derivative that depends on values is +0, whatever the derivative is."""
    function, points = DEPENDS_ON_VALUES[name]
    x, zeros = array(points), array(np.full(len(points), zero))
    _, pullback = bl.vjp(function, x)
    same_bits(pullback(zeros)[0], np.zeros(len(points)))
    same_bits(tangent(function, [x], [zeros]), np.zeros(len(points)))


def test_product_of_two_operands_with_a_zero_adjoint_is_zero_for_both() -> None:
    for function in (bl.multiply, bl.divide, bl.pow, bl.atan2, bl.hypot, bl.logaddexp, bl.remainder):
        x, y = array([0, INF, NAN, -2]), array([0, INF, 1, -3])
        _, pullback = bl.vjp(function, x, y)
        for part in pullback(array(np.zeros(4))):
            same_bits(part, np.zeros(4))
        same_bits(tangent(function, [x, y], [np.zeros(4), np.zeros(4)]), np.zeros(4))


def test_nan_of_a_branch_that_is_taken_is_kept() -> None:
    assert np.isnan(gradient(lambda x: bl.where(x < 0, bl.sin(x), 0.0), [-INF])).all()
    assert np.isnan(gradient(bl.sin, [NAN, INF])).all()
    assert np.isnan(gradient(lambda x: x * NAN, [1.0])).all()
    # The selected branch of sqrt at 0 has an infinite derivative, which is not hidden.
    same_bits(gradient(lambda x: bl.where(x >= 0, bl.sqrt(x), 0.0), [0.0]), [INF])


# Ties and NaN shares.


@pytest.mark.parametrize("function", [bl.maximum, bl.minimum])
def test_ties_of_two_operands_share_evenly(function: Callable[..., Any]) -> None:
    x, y = array([1, -2, INF, 0]), array([1, -2, INF, 0])
    for part in gradient(function, x, y, argnums=(0, 1)):
        same_bits(part, np.full(4, 0.5))
    # One array as both operands gets both halves.
    same_bits(gradient(lambda x: function(x, x), x), np.ones(4))
    same_bits(tangent(function, [x, y], [np.full(4, 3.0), np.full(4, 5.0)]), np.full(4, 4.0))


def test_nan_of_maximum_and_minimum_gets_the_adjoint() -> None:
    # JAX compares by ==, so that a NaN gets nothing. The NaNs of the result share here.
    for function in (bl.maximum, bl.minimum):
        x, y = array([NAN, 1, NAN]), array([1, NAN, NAN])
        of_x, of_y = gradient(function, x, y, argnums=(0, 1))
        same_bits(of_x, [1, 0, 0.5])
        same_bits(of_y, [0, 1, 0.5])


#: A function, the array and the gradient.
SHARES: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "max of one": (bl.max, [1, 5, 3], [0, 1, 0]),
    "max of two": (bl.max, [1, 3, 3, 2], [0, 0.5, 0.5, 0]),
    "max of three": (bl.max, [3, 3, 1, 3], [1 / 3, 1 / 3, 0, 1 / 3]),
    "max of all": (bl.max, [2, 2, 2, 2, 2], [0.2] * 5),
    "max of infinities": (bl.max, [INF, 0, INF], [0.5, 0, 0.5]),
    "max times 2": (lambda x: 2.0 * bl.max(x), [3, 3, 1, 3], [2 / 3, 2 / 3, 0, 2 / 3]),
    "min of one": (bl.min, [1, 5, 3], [1, 0, 0]),
    "min of two": (bl.min, [4, 3, 3, 5], [0, 0.5, 0.5, 0]),
    "min of three": (bl.min, [-3, -3, 1, -3], [1 / 3, 1 / 3, 0, 1 / 3]),
    # JAX gives NaN: no element equals the maximum, so that it divides by a count of 0. The NaNs of the result share here.
    "max of a NaN": (bl.max, [1, NAN, 3], [0, 1, 0]),
    "max of two NaNs": (bl.max, [NAN, 3, NAN, INF], [0.5, 0, 0.5, 0]),
    "min of two NaNs": (bl.min, [NAN, 3, NAN, -INF], [0.5, 0, 0.5, 0]),
    "nanmax": (bl.nanmax, [NAN, 3, 1, 3], [0, 0.5, 0, 0.5]),
    "nanmin": (bl.nanmin, [NAN, 3, 1, 3], [0, 0, 1, 0]),
    "max of rows": (lambda x: bl.max(x, axis=1), [[1, 1], [0, 2], [NAN, 5]], [[0.5, 0.5], [0, 1], [1, 0]]),
    "min of columns": (lambda x: bl.min(x, axis=0), [[1, 1], [1, 2], [5, 1]], [[0.5, 0.5], [0.5, 0], [0, 0.5]]),
    "max of two axes": (lambda x: bl.max(x, axis=(0, 1)), [[2, 1], [2, 2]], [[1 / 3, 0], [1 / 3, 1 / 3]]),
    "max norm": (lambda x: bl.linalg.vector_norm(x, ord=bl.inf), [3, -3, 1], [0.5, -0.5, 0]),
    "max norm at the origin": (lambda x: bl.linalg.vector_norm(x, ord=bl.inf), [0, 0], [0, 0]),
    "min norm": (lambda x: bl.linalg.vector_norm(x, ord=-bl.inf), [3, -2, 4], [0, -1, 0]),
    # clip is minimum(maximum(x, lo), hi), so that x shares a tie with a limit.
    "clip": (lambda x: bl.clip(x, -1.0, 1.0), [-2, -1, 0, 1, 2], [0, 0.5, 1, 0.5, 0]),
    "relu": (lambda x: bl.maximum(x, 0.0), [-1, 0, 1], [0, 0.5, 1]),
    "range of a constant array": (lambda x: bl.max(x) - bl.min(x), [2, 2], [0, 0]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SHARES)
def test_ties_and_nans_of_reductions_share_evenly(name: str, dtype: type) -> None:
    function, x, expected = SHARES[name]
    # Each share is one rounded division of the adjoint by the count.
    np.testing.assert_array_equal(gradient(function, array(x, dtype)), np.array(expected).astype(dtype))


@pytest.mark.parametrize("name", [name for name in SHARES if "norm" not in name])
def test_tangents_of_ties_are_means(name: str) -> None:
    """The forward mode is the transpose of the reverse mode: the tangents of tied elements are averaged."""
    function, x, expected = SHARES[name]
    moved = np.arange(1.0, 1.0 + np.size(x)).reshape(np.shape(x))
    got = tangent(lambda x: bl.sum(function(x)), [x], [moved])
    np.testing.assert_allclose(got, np.sum(np.array(expected) * moved), rtol=1e-14)


def test_limits_of_clip_share() -> None:
    x, lo, hi = array([-1, 1, 0, -2, 2]), array([-1, -1, -1, -1, -1]), array([1, 1, 1, 1, 1])
    of_x, of_lo, of_hi = gradient(bl.clip, x, lo, hi, argnums=(0, 1, 2))
    same_bits(of_x, [0.5, 0.5, 1, 0, 0])
    same_bits(of_lo, [0.5, 0, 0, 1, 0])
    same_bits(of_hi, [0, 0.5, 0, 0, 1])


# Kinks and steps.


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivative_of_abs_at_zero_is_zero(dtype: type) -> None:
    # JAX gives 1 at both zeros.
    x = array([-2, -0.0, 0.0, 2], dtype)
    np.testing.assert_array_equal(gradient(bl.abs, x), [-1, 0, 0, 1])
    np.testing.assert_array_equal(tangent(bl.abs, [x], [array([5, 5, 5, 5], dtype)]), [-5, 0, 0, 5])


@pytest.mark.parametrize("function", [bl.sign, bl.floor, bl.ceil, bl.round, bl.trunc])
def test_derivative_of_a_step_function_is_zero(function: Callable[..., Any]) -> None:
    x = array([-2, -1.5, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, INF])
    np.testing.assert_array_equal(gradient(function, x), np.zeros(9))
    np.testing.assert_array_equal(tangent(function, [x], [np.ones(9)]), np.zeros(9))


def test_derivative_of_floor_divide_is_zero() -> None:
    for part in gradient(bl.floor_divide, [-2, 4, 5], [2, 2, 2], argnums=(0, 1)):
        np.testing.assert_array_equal(part, np.zeros(3))


def test_derivative_of_remainder_at_multiples_of_the_divisor() -> None:
    of_x, of_y = gradient(bl.remainder, [4, -4, 5, -5], [2, 2, 2, 2], argnums=(0, 1))
    np.testing.assert_array_equal(of_x, np.ones(4))
    np.testing.assert_array_equal(of_y, [-2, 2, -2, 3])


def test_derivative_of_a_comparison_is_zero() -> None:
    def function(x: Any) -> Any:
        return (x > 0).astype(bl.float64) * 3.0 + bl.where(x == 0, 1.0, 2.0)

    np.testing.assert_array_equal(gradient(function, [-1, 0, 2]), np.zeros(3))


def test_norm_1_has_derivative_zero_at_zeros() -> None:
    np.testing.assert_array_equal(gradient(lambda x: bl.linalg.vector_norm(x, ord=1), [0, -3, 2]), [0, -1, 1])


# The origin.


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivative_of_hypot_at_the_origin_is_zero(dtype: type) -> None:
    # JAX gives ½ for both operands.
    x, y = array([0, 0.0, -0.0, 3, 0], dtype), array([0, -0.0, 0, 0, -2], dtype)
    of_x, of_y = gradient(bl.hypot, x, y, argnums=(0, 1))
    np.testing.assert_array_equal(of_x, [0, 0, 0, 1, 0])
    np.testing.assert_array_equal(of_y, [0, 0, 0, 0, -1])
    np.testing.assert_array_equal(tangent(bl.hypot, [x, y], [array([1] * 5, dtype)] * 2), [0, 0, 0, 1, -1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 1.5, 2, 3, 4])
def test_derivative_of_a_norm_at_the_origin_is_zero(order: float, dtype: type) -> None:
    # JAX gives NaN for orders above 1.
    def norm(x: Any) -> Any:
        return bl.linalg.vector_norm(x, ord=order)

    x = array([0, 0, 0], dtype)
    np.testing.assert_array_equal(gradient(norm, x), np.zeros(3))
    np.testing.assert_array_equal(tangent(norm, [x], [array([1, 2, 3], dtype)]), 0)


def test_derivative_of_a_norm_of_rows_is_zero_for_rows_of_zeros() -> None:
    x = array([[3, 4], [0, 0], [0, -2]])
    got = gradient(lambda x: bl.linalg.vector_norm(x, axis=1), x)
    np.testing.assert_allclose(got, [[0.6, 0.8], [0, 0], [0, -1]], rtol=1e-15)


# Powers at 0.

#: x, y, the derivative by x, and that by y; None where it does not exist.
POWERS: list[tuple[float, float, float | None, float | None]] = [
    (0.0, 0.0, 0.0, None),
    (0.0, 0.5, INF, 0.0),
    (0.0, 1.0, 1.0, 0.0),
    (0.0, 1.5, 0.0, 0.0),
    (0.0, 2.0, 0.0, 0.0),
    (0.0, 3.0, 0.0, 0.0),
    (0.0, -1.0, -INF, None),
    (0.0, -2.0, -INF, None),
    (-0.0, 1.0, 1.0, None),
    (-0.0, 2.0, 0.0, None),
    (-2.0, 3.0, 12.0, None),
    (-2.0, 2.0, -4.0, None),
    (-2.0, 1.0, 1.0, None),
    (-2.0, 0.0, 0.0, None),
    (-2.0, -1.0, -0.25, None),
    (1.0, 5.0, 5.0, 0.0),
    (4.0, 0.5, 0.25, 2 * np.log(4.0)),
    (2.0, 0.0, 0.0, np.log(2.0)),
    # The power underflows or overflows, and its derivative does not.
    (1e-200, 2.0, 2e-200, 0.0),
    (1e155, 2.0, 2e155, INF),
]


@pytest.mark.parametrize(("x", "y", "by_x", "by_y"), POWERS)
def test_derivative_of_pow(x: float, y: float, by_x: float | None, by_y: float | None) -> None:
    got_x, got_y = gradient(bl.pow, x, y, argnums=(0, 1))
    if by_x is not None:
        np.testing.assert_allclose(got_x, by_x, rtol=1e-15)
    if by_y is not None:
        np.testing.assert_allclose(got_y, by_y, rtol=1e-15)


@pytest.mark.parametrize(
    ("exponent", "derivatives"),
    [(0, [0, 0, 0]), (1, [1, 0, 0]), (2, [0, 2, 0]), (3, [0, 0, 6]), (4, [0, 0, 0])],
)
def test_derivatives_of_powers_by_numbers_at_zero(exponent: int, derivatives: list[float]) -> None:
    for number in (exponent, float(exponent)):

        def function(x: Any, number: float = number) -> Any:
            return x**number

        for expected in derivatives:
            function = bl.grad(function)
            assert float(function(array(0.0))) == expected


# Products.


def others(x: list[float]) -> list[float]:
    """The derivative of a product by each factor: the product of the others."""
    return [float(np.prod([v for j, v in enumerate(x) if j != k])) for k in range(len(x))]


@pytest.mark.parametrize(
    "x",
    [[2, 3, 4], [2, 0, 3], [0, 2], [0], [0, 5, 0], [0, 0, 0], [0, 0, 2, 3], [-0.0, 2, 3], [INF, 2], [0, INF], [5]],
)
def test_derivative_of_prod_with_zeros(x: list[float]) -> None:
    # Divisions of the product by a factor would give NaN at zeros.
    np.testing.assert_array_equal(gradient(bl.prod, x), others(x))
    ones = np.eye(len(x))
    got = [tangent(bl.prod, [x], [one]) for one in ones]
    np.testing.assert_array_equal(got, others(x))


def test_derivative_of_prod_of_many_elements() -> None:
    """More elements than the canonical order has lanes; the factors are powers of 2, so that the products are exact."""
    x = 2.0 ** np.random.default_rng(8).integers(-3, 4, 50)
    np.testing.assert_array_equal(gradient(bl.prod, x), np.prod(x) / x)
    x[[20, 33]] = 0
    np.testing.assert_array_equal(gradient(bl.prod, x), np.zeros(50))
    x[33] = 2
    expected = np.zeros(50)
    expected[20] = np.prod(np.delete(x, 20))
    np.testing.assert_array_equal(gradient(bl.prod, x), expected)


def test_derivative_of_prod_along_an_axis() -> None:
    x = [[2, 0, 3], [0, 0, 5], [1, 2, 3]]
    np.testing.assert_array_equal(gradient(lambda x: bl.prod(x, axis=1), x), [others(row) for row in x])
    columns = np.array([others(list(c)) for c in np.array(x).T]).T
    np.testing.assert_array_equal(gradient(lambda x: bl.prod(x, axis=0, keepdims=True), x), columns)


def test_second_derivative_of_prod_with_two_zeros() -> None:
    got = bl.hessian(bl.prod)(array([0, 0, 3]))
    np.testing.assert_array_equal(np.asarray(got), [[0, 3, 0], [3, 0, 0], [0, 0, 0]])


def test_derivative_of_nanprod() -> None:
    np.testing.assert_array_equal(gradient(bl.nanprod, [2, NAN, 0, 5]), [0, 0, 10, 0])


def test_nans_get_no_adjoint_from_nansum_and_nanmean() -> None:
    same_bits(gradient(bl.nansum, [2, NAN, 5]), [1, 0, 1])
    same_bits(gradient(bl.nanmean, [2, NAN, 5]), [0.5, 0, 0.5])


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # By a, b and c of a + a·b + a·b·c.
        ([2, 0, 3], [1, 8, 0]),
        ([0, 2, 3], [9, 0, 0]),
        ([0, 0, 3], [1, 0, 0]),
        ([2, 3, 0], [4, 2, 6]),
        ([0, 0, 0], [1, 0, 0]),
        ([2, 3, 4], [16, 10, 6]),
    ],
)
def test_derivative_of_cumulative_prod_with_zeros(x: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(gradient(bl.cumulative_prod, x), expected)
    np.testing.assert_array_equal(gradient(lambda x: bl.cumulative_prod(x, include_initial=True), x), expected)
    got = gradient(lambda x: bl.cumulative_prod(x, axis=1), [x, [1, 1, 1]])
    np.testing.assert_array_equal(got, [expected, [3, 2, 1]])
    each = [tangent(lambda x: bl.sum(bl.cumulative_prod(x)), [x], [one]) for one in np.eye(3)]
    np.testing.assert_array_equal(each, expected)


def test_derivative_of_cumulative_sum_is_the_reversed_sum() -> None:
    weights = array([1, 2, 4, 8, 16])
    got = gradient(lambda x: bl.cumulative_sum(x) * weights, [5, NAN, INF, 0, 1])
    np.testing.assert_array_equal(got, [31, 30, 28, 24, 16])
    weights = array([1, 2, 4, 8])
    got = gradient(lambda x: bl.cumulative_sum(x, include_initial=True) * weights, [5, 6, 7])
    np.testing.assert_array_equal(got, [14, 12, 8])
    got = gradient(lambda x: bl.cumulative_sum(x, axis=0) * array([[1, 2], [4, 8]]), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(got, [[5, 10], [4, 8]])


# Several uses, and broadcasting.


def test_contributions_of_several_uses_add_last_use_first() -> None:
    def function(x: Any) -> Any:
        first = x * 1e16
        second = x * -1e16
        third = x * 1.0
        return first + second + third

    # (1 + −1e16) + 1e16 is 0, since 1 is lost in the first addition; the order of the uses would give (1e16 − 1e16) + 1 = 1.
    same_bits(gradient(function, [1.0, 2.0]), [0.0, 0.0])

    def function_in_reverse(x: Any) -> Any:
        first = x * 1.0
        second = x * -1e16
        third = x * 1e16
        return first + second + third

    same_bits(gradient(function_in_reverse, [1.0, 2.0]), [1.0, 1.0])


def test_contributions_of_many_uses_add_one_after_the_other() -> None:
    factors = np.random.default_rng(2).normal(size=20)

    def function(x: Any) -> Any:
        uses = [x * float(factor) for factor in factors]
        total = uses[0]
        for use in uses[1:]:
            total = total + use
        return total

    expected = factors[-1]
    for factor in factors[-2::-1]:
        expected = expected + factor
    same_bits(gradient(function, [3.0]), [expected])


def test_one_array_as_two_arguments_has_two_gradients() -> None:
    memory = np.array([1.0, 2.0, 3.0])
    shared = bl.asarray(memory)
    for x, y in [(shared, shared), (bl.asarray(memory), bl.asarray(memory))]:
        of_x, of_y = gradient(lambda x, y: x * x * y, x, y, argnums=(0, 1))
        np.testing.assert_array_equal(of_x, 2 * memory**2)
        np.testing.assert_array_equal(of_y, memory**2)
        np.testing.assert_array_equal(gradient(lambda x, y: x * y, x, y, argnums=0), memory)
        np.testing.assert_array_equal(gradient(lambda x, y=y: x * x * y, x), 2 * memory**2)
        of_x = bl.grad(lambda x, y: bl.sum(x * x * y))(memory, memory)
        np.testing.assert_array_equal(np.asarray(of_x), 2 * memory**2)
        np.testing.assert_array_equal(tangent(lambda x, y: x * y, [x, y], [np.ones(3), np.zeros(3)]), memory)


def test_gradient_of_an_argument_that_is_not_used_is_zero() -> None:
    same_bits(gradient(lambda x, y: y * 2.0, [1, NAN], [3, 4]), np.zeros(2))
    same_bits(gradient(lambda x: bl.ones(3), [1, INF]), np.zeros(2))
    same_bits(tangent(lambda x, y: y * 2.0, [[1, 2], [3, 4]], [[1, 1], [0, 0]]), np.zeros(2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 3, 8, 16, 17, 40, 1000])
def test_adjoint_of_broadcasting_is_a_sum_in_the_canonical_order(n: int, dtype: type) -> None:
    values = terms(n, dtype=dtype)
    x = array(values, dtype)
    expected = canonical_sum(values)
    same_bits(gradient(lambda w: w * x, array(0.5, dtype)), expected)
    same_bits(gradient(lambda w: w * x, array([0.5], dtype)), [expected])
    same_bits(gradient(lambda w: bl.broadcast_to(w, (n,)) * x, array([0.5], dtype)), [expected])


def test_adjoint_of_broadcast_rows_and_columns() -> None:
    weights = np.array([terms(37, j) for j in range(21)]).T.copy()
    w = array(weights)
    of_row, of_column = gradient(
        lambda row, column: (row + column) * w, np.zeros((1, 21)), np.zeros((37, 1)), argnums=(0, 1)
    )
    same_bits(of_row, [[canonical_sum(weights[:, j]) for j in range(21)]])
    same_bits(of_column, [[canonical_sum(weights[i])] for i in range(37)])
    # Elements that are summed along two axes are numbered in C order.
    same_bits(gradient(lambda x: x * w, array(0.0)), canonical_sum(weights.ravel()))
    same_bits(gradient(lambda x: x * w, np.zeros(21)), [canonical_sum(weights[:, j]) for j in range(21)])


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_gradients_have_the_same_bits_on_any_number_of_threads(threads: int) -> None:
    values = np.random.default_rng(9).normal(size=300_000)

    def loss(w: Any, x: Any) -> Any:
        return bl.mean(bl.tanh(w * x))

    x = bl.asarray(values)
    bl.set_options(threads=1)
    expected = np.asarray(bl.grad(loss)(array(0.7), x))
    bl.set_options(threads=threads)
    same_bits(np.asarray(bl.grad(loss)(array(0.7), x)), expected)
    same_bits(np.asarray(bl.jit(bl.grad(loss))(np.array(0.7), values)), expected)


# Repeated reads.


def test_adjoint_of_a_gather_sums_repeated_reads() -> None:
    same_bits(gradient(lambda x: bl.take(x, array([1, 1, 3, 1], int)), [5, 6, 7, 8]), [0, 3, 0, 1])
    weights = array([1, 2, 4, 8])
    same_bits(gradient(lambda x: x[array([1, -1, 3, 0], int)] * weights, [5, 6, 7, 8]), [8, 1, 0, 6])
    got = gradient(lambda x: bl.take(x, array([2, 0, 2], int), axis=0) * array([[1], [2], [4]]), np.ones((3, 2)))
    same_bits(got, [[2, 2], [0, 0], [5, 5]])
    got = gradient(
        lambda x: bl.take_along_axis(x, array([[0, 0], [1, 0]], int), axis=1) * array([[1, 2], [4, 8]]), np.ones((2, 2))
    )
    same_bits(got, [[3, 0], [8, 4]])
    got = gradient(lambda x: bl.take(x, array([7, -9, 1], int), mode="clip") * array([1, 2, 4]), [5, 6, 7])
    same_bits(got, [2, 4, 1])
    got = gradient(lambda x: bl.take(x, array([4, -1, 0], int), mode="wrap") * array([1, 2, 4]), [5, 6, 7])
    same_bits(got, [4, 1, 2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_adjoint_of_a_gather_sums_in_the_canonical_order(dtype: type) -> None:
    indices = np.random.default_rng(6).integers(0, 5, 200)
    weights = np.zeros(200, dtype)
    for k in range(5):
        weights[indices == k] = terms(np.sum(indices == k), k, dtype)
    got = gradient(lambda x: bl.take(x, bl.asarray(indices)) * bl.asarray(weights), array(np.ones(6), dtype))
    expected = [canonical_sum(weights[indices == k]) for k in range(5)] + [0.0]
    same_bits(got, np.array(expected, dtype))


def test_adjoint_of_overlapping_windows_sums_their_contributions() -> None:
    got = gradient(lambda x: bl.sliding_window(x, 3, axis=0) * array([1, 10, 100]), np.ones(5))
    same_bits(got, [1, 11, 111, 110, 100])
    got = gradient(lambda x: bl.pad(x, 2, mode="edge") * array([1, 2, 4, 8, 16, 32]), np.ones(2))
    same_bits(got, [7, 56])
    got = gradient(lambda x: bl.repeat(x, 3) * array([1, 2, 4, 8, 16, 32]), np.ones(2))
    same_bits(got, [7, 56])


def test_an_error_of_an_index_stays_an_error() -> None:
    with pytest.raises(bl.RangeError):
        np.asarray(bl.grad(lambda x: bl.sum(bl.take(x, array([5], int))))(array([1, 2])))


def test_adjoints_of_segments() -> None:
    labels = array([0, 1, -1, 0, 1], int)
    weights = array([1, 10])
    same_bits(gradient(lambda x: bl.segment_sum(x, labels, 2) * weights, np.ones(5)), [1, 10, 0, 1, 10])
    same_bits(gradient(lambda x: bl.segment_mean(x, labels, 2) * weights, np.ones(5)), [0.5, 5, 0, 0.5, 5])
    # Ties share, and elements without a label get nothing.
    got = gradient(lambda x: bl.segment_max(x, labels, 2) * weights, [2, 3, 9, 2, 1])
    same_bits(got, [0.5, 10, 0, 0.5, 0])
    got = gradient(lambda x: bl.segment_min(x, labels, 2) * weights, [2, 3, -9, 5, 3])
    same_bits(got, [1, 5, 0, 0, 5])
    got = gradient(lambda x: bl.segment_prod(x, labels, 2) * weights, [0, 3, 7, 4, 0])
    same_bits(got, [4, 0, 0, 0, 30])


# Dtypes.


def test_gradient_has_the_dtype_of_the_argument() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        got = gradient(lambda x: x.astype(bl.float64) ** 2, array([1, 3], dtype))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, [2, 6])
    # The adjoint is rounded once, to the dtype of the argument.
    got = gradient(lambda x: x.astype(bl.float64) * 0.1, array([1], np.float32))
    np.testing.assert_array_equal(got, np.float32([0.1]))
    of_x, of_y = gradient(lambda x, y: x * y, array([3], np.float32), array([0.1]), argnums=(0, 1))
    assert (of_x.dtype, of_y.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(of_x, np.float32([0.1]))


def test_python_numbers_are_arguments() -> None:
    assert float(bl.grad(lambda x: x * x)(3.0)) == 6.0
    value, derivative = bl.value_and_grad(lambda x: x**3)(2.0)
    np.testing.assert_allclose((float(value), float(derivative)), (8.0, 12.0), rtol=1e-15)
    assert [float(v) for v in bl.jvp(lambda x: x * x, (3.0,), (1.0,))] == [9.0, 6.0]


def test_random_draws_are_constants() -> None:
    draws = bl.random.normal(bl.random.key(5), (4,))
    got = gradient(lambda x: x * bl.random.normal(bl.random.key(5), (4,)), np.ones(4))
    np.testing.assert_array_equal(got, np.asarray(draws))


def test_integers_that_are_not_differentiated_are_allowed() -> None:
    got = gradient(lambda x, n: x * n, array([1, 2]), array([3, 4], np.int64))
    np.testing.assert_array_equal(got, [3, 4])
    got = gradient(lambda x: x * bl.argmax(x), array([1, 2]))
    np.testing.assert_array_equal(got, [1, 1])


# What is refused.


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "bool"])
@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian"])
def test_integers_are_refused_as_arguments(transform: str, dtype: str) -> None:
    function = getattr(bl, transform)(lambda x: bl.sum(x * 2.0))
    with pytest.raises(bl.DTypeError, match=dtype):
        function(array([1, 0], dtype))


def test_error_names_the_argument() -> None:
    def loss(x: Any, count: Any) -> Any:
        return bl.sum(x * count)

    x, count = array([1, 2]), array([3, 4], np.int32)
    with pytest.raises(bl.DTypeError, match=r"count|argument 1"):
        bl.grad(loss, argnums=1)(x, count)
    with pytest.raises(bl.DTypeError, match=r"count|argument 1"):
        bl.grad(loss, argnums=(0, 1))(x, count)
    assert np.asarray(bl.grad(loss)(x, count)).tolist() == [3, 4]


def test_integers_are_refused_as_results() -> None:
    with pytest.raises(bl.DTypeError, match="int64"):
        bl.grad(lambda x: bl.argmax(x))(array([1, 2]))
    with pytest.raises(bl.DTypeError, match="bool"):
        bl.grad(lambda x: bl.any(x > 0))(array([1, 2]))


def test_gradient_of_an_array_is_refused_with_advice() -> None:
    for transform in (bl.grad, bl.value_and_grad):
        with pytest.raises(bl.Error, match="sum"):
            transform(lambda x: x * 2.0)(array([1, 2]))


@pytest.mark.parametrize("argnums", [1, 5, -2, (0, 1)])
def test_argnums_out_of_range_are_refused(argnums: Any) -> None:
    with pytest.raises((bl.Error, ValueError, TypeError), match="argnums"):
        bl.grad(lambda x: bl.sum(x), argnums=argnums)(array([1, 2]))


def test_nextafter_is_refused_by_name() -> None:
    x, y = array([1, 2]), array([3, 4])
    for k in range(2):
        with pytest.raises(bl.Error, match="nextafter"):
            bl.grad(lambda x, y: bl.sum(bl.nextafter(x, y)), argnums=k)(x, y)
    with pytest.raises(bl.Error, match="nextafter"):
        bl.jvp(bl.nextafter, (x, y), (x, y))
    # Nothing has to be differentiated.
    same_bits(gradient(lambda x: x * bl.nextafter(bl.stop_gradient(x), y), x), np.nextafter([1.0, 2.0], [3.0, 4.0]))
    same_bits(gradient(lambda x: x * bl.nextafter(y, 0.0), x), np.nextafter([3.0, 4.0], 0.0))


#: Functions that NumPy computes, as host functions do.
COMPUTED_AT_ONCE: dict[str, Callable[..., Any]] = {
    "i0": lambda x: bl.i0(x),
    "sinc": lambda x: bl.sinc(x),
    "det": lambda x: bl.linalg.det(bl.reshape(x, (2, 2))),
}


@pytest.mark.parametrize("name", COMPUTED_AT_ONCE)
def test_functions_that_need_values_are_refused_by_name(name: str) -> None:
    with pytest.raises((bl.Error, bl.TracerError), match=name):
        bl.grad(lambda x: bl.sum(COMPUTED_AT_ONCE[name](x)))(array([1, 2, 3, 5]))


def test_branch_of_python_on_a_value_is_right_or_refused() -> None:
    """JAX takes the branch of the value under `grad`, and refuses it under `jit`. Never is the gradient that of another branch."""
    for x, expected in [(2.0, 4.0), (-2.0, -1.0)]:
        try:
            got = bl.grad(lambda x: x * x if x > 0 else -x)(array(x))
        except bl.TracerError:
            continue
        assert float(got) == expected


def test_tangents_and_cotangents_of_other_shapes_or_dtypes_are_refused() -> None:
    x = array([1, 2])
    with pytest.raises((bl.Error, TypeError, ValueError)):
        bl.jvp(bl.sin, (x,), (array([1, 2, 3]),))
    with pytest.raises((bl.Error, TypeError, ValueError)):
        bl.jvp(bl.sin, (x,), (x, x))
    with pytest.raises((bl.Error, TypeError, ValueError)):
        bl.jvp(bl.sin, (x,), (array([1, 2], np.int64),))
    with pytest.raises((bl.Error, TypeError, ValueError)):
        bl.vjp(bl.sin, x)[1](array([1, 2, 3]))


def test_vmap_refuses_axes_of_different_extents() -> None:
    with pytest.raises((bl.Error, ValueError)):
        bl.vmap(lambda x, y: x * y)(array([1, 2]), array([1, 2, 3]))
    with pytest.raises((bl.Error, ValueError, TypeError)):
        bl.vmap(lambda x: x)(array(1.0))


# Transforms.


def test_stop_gradient() -> None:
    x = array([1, 2, -3])
    same_bits(np.asarray(bl.stop_gradient(x)), [1, 2, -3])
    same_bits(gradient(lambda x: bl.stop_gradient(x) * 3.0, x), np.zeros(3))
    same_bits(gradient(lambda x: x * bl.stop_gradient(x), x), [1, 2, -3])
    same_bits(gradient(lambda x: x + bl.stop_gradient(bl.round(x) - x), [0.4, 1.6]), [1, 1])
    same_bits(tangent(lambda x: x * bl.stop_gradient(x), [x], [np.ones(3)]), [1, 2, -3])
    # The derivative of a stopped part may be infinite.
    same_bits(gradient(lambda x: x + bl.stop_gradient(bl.sqrt(x)), [0.0]), [1])
    hessian = bl.hessian(lambda x: bl.sum(x * x * bl.stop_gradient(x)))(x)
    np.testing.assert_array_equal(np.asarray(hessian), np.diag([2.0, 4.0, -6.0]))


def test_custom_jvp() -> None:
    @bl.custom_jvp
    def log1pexp(x: Any) -> Any:
        return bl.log(1.0 + bl.exp(x))

    @log1pexp.defjvp
    def log1pexp_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return log1pexp(x), t * (1.0 - 1.0 / (1.0 + bl.exp(x)))

    # The example of JAX's documentation: without the rule, the derivative at 1000 is NaN.
    np.testing.assert_array_equal(gradient(log1pexp, [0.0, 1000.0]), [0.5, 1.0])
    np.testing.assert_array_equal(tangent(log1pexp, [[0.0]], [[2.0]]), [1.0])
    # The rule is differentiated: σ′(0) is ¼.
    assert float(bl.grad(bl.grad(log1pexp))(array(0.0))) == 0.25
    np.testing.assert_array_equal(np.asarray(bl.vmap(bl.grad(log1pexp))(array([0, 1000]))), [0.5, 1.0])
    np.testing.assert_array_equal(bl.jit(bl.grad(log1pexp))(np.array(0.0)), 0.5)
    assert float(log1pexp(array(0.0))) == float(bl.log(array(2.0)))


def test_custom_jvp_of_several_arguments() -> None:
    @bl.custom_jvp
    def product(x: Any, y: Any) -> Any:
        return x * y

    # The derivatives are exchanged on purpose.
    product.defjvps(lambda t, ans, x, y: t * x, lambda t, ans, x, y: t * y)
    of_x, of_y = gradient(product, [2.0], [5.0], argnums=(0, 1))
    assert (float(of_x[0]), float(of_y[0])) == (2.0, 5.0)


def test_custom_jvp_with_an_argument_that_is_not_differentiated() -> None:
    from functools import partial

    @partial(bl.custom_jvp, nondiff_argnums=(0,))
    def apply(f: Any, x: Any) -> Any:
        return f(x)

    @apply.defjvp
    def apply_jvp(f: Any, primals: Any, tangents: Any) -> Any:
        return f(primals[0]), 7.0 * tangents[0]

    np.testing.assert_array_equal(gradient(lambda x: apply(bl.sin, x), [1.0]), [7.0])


def test_custom_vjp() -> None:
    @bl.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return bl.sin(x) * y

    def forward(x: Any, y: Any) -> Any:
        return f(x, y), (x, y)

    def backward(residuals: Any, g: Any) -> Any:
        x, y = residuals
        # The derivatives are wrong on purpose.
        return g * y * 10.0, g * x * 100.0

    f.defvjp(forward, backward)
    of_x, of_y = gradient(f, [1.0, 2.0], [3.0, 4.0], argnums=(0, 1))
    np.testing.assert_array_equal(of_x, [30, 40])
    np.testing.assert_array_equal(of_y, [100, 200])
    value, _ = bl.value_and_grad(lambda x: bl.sum(f(x, array([2.0]))))(array([0.0]))
    assert float(value) == 0.0
    got = bl.jit(bl.grad(lambda x, y: bl.sum(f(x, y))))(np.array([1.0]), np.array([3.0]))
    np.testing.assert_array_equal(got, [30])
    with pytest.raises((bl.Error, TypeError), match="custom_vjp"):
        bl.jvp(f, (array([1.0]), array([3.0])), (array([1.0]), array([1.0])))


def test_nested_gradients_of_order_three() -> None:
    third = bl.grad(bl.grad(bl.grad(lambda x: x**5)))
    np.testing.assert_allclose(float(third(array(2.0))), 240.0, rtol=1e-14)
    np.testing.assert_allclose(float(bl.grad(bl.grad(bl.grad(bl.sin)))(array(0.5))), -np.cos(0.5), rtol=1e-15)
    np.testing.assert_allclose(np.asarray(bl.vmap(third)(array([0, 1, 2]))), [0, 60, 240], rtol=1e-14)
    # Each mixture of modes gives ∂³(x⁵)/∂x³.
    for outer in (bl.grad, bl.jacfwd, bl.jacrev):
        for middle in (bl.grad, bl.jacfwd, bl.jacrev):
            for inner in (bl.grad, bl.jacfwd, bl.jacrev):
                got = outer(middle(inner(lambda x: x**5)))(array(2.0))
                np.testing.assert_allclose(float(got), 240.0, rtol=1e-14)
    # The third derivative of Σx³ is 6 on the diagonal.
    cube = np.asarray(bl.jacfwd(bl.hessian(lambda x: bl.sum(x**3)))(array([1, 2])))
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = expected[1, 1, 1] = 6
    np.testing.assert_allclose(cube, expected, rtol=1e-14)


def test_nested_transforms_do_not_mix_their_variables() -> None:
    assert float(bl.grad(lambda x: x * bl.grad(lambda y: x + y)(array(2.0)))(array(1.0))) == 1.0
    assert float(bl.grad(lambda x: x * bl.grad(lambda y: x * y)(array(2.0)))(array(3.0))) == 6.0

    def derivative(f: Callable[[Any], Any], x: Any) -> Any:
        return bl.jvp(f, (x,), (array(1.0),))[1]

    assert float(derivative(lambda x: x * derivative(lambda y: x + y, array(2.0)), array(1.0))) == 1.0


def test_has_aux() -> None:
    got, aux = bl.grad(lambda x: (bl.sum(x * x), {"twice": x * 2.0}), has_aux=True)(array([1, 2]))
    np.testing.assert_array_equal(np.asarray(got), [2, 4])
    np.testing.assert_array_equal(np.asarray(aux["twice"]), [2, 4])
    (value, aux), got = bl.value_and_grad(lambda x: (bl.sum(x * x), x), has_aux=True)(array([1, 2]))
    assert float(value) == 5.0
    np.testing.assert_array_equal(np.asarray(aux), [1, 2])
    np.testing.assert_array_equal(np.asarray(got), [2, 4])
    y, pullback, aux = bl.vjp(lambda x: (x * x, x + 1.0), array([1, 2]), has_aux=True)
    np.testing.assert_array_equal(np.asarray(y), [1, 4])
    np.testing.assert_array_equal(np.asarray(pullback(array([1, 1]))[0]), [2, 4])
    np.testing.assert_array_equal(np.asarray(aux), [2, 3])


def test_vjp_returns_a_tuple_and_argnums_decide_the_structure() -> None:
    x, y = array([1, 2]), array([3, 4])
    assert isinstance(bl.vjp(lambda x: x * 2.0, x)[1](x), tuple)
    assert isinstance(bl.grad(lambda x, y: bl.sum(x * y), argnums=(1,))(x, y), tuple)
    np.testing.assert_array_equal(np.asarray(bl.grad(lambda x, y: bl.sum(x * y), argnums=-1)(x, y)), [1, 2])
    assert np.shape(np.asarray(bl.jacrev(lambda x: bl.sum(x) * array([1, 2, 3]))(x))) == (3, 2)


def test_vmap() -> None:
    x = array([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(np.asarray(bl.vmap(bl.sum)(x)), [6, 15])
    np.testing.assert_array_equal(np.asarray(bl.vmap(bl.sum, in_axes=1)(x)), [5, 7, 9])
    got = bl.vmap(lambda row, y: row * y, in_axes=(0, None), out_axes=1)(x, array([1, 10, 100]))
    np.testing.assert_array_equal(np.asarray(got), [[1, 4], [20, 50], [300, 600]])
    first, second = bl.vmap(lambda row: (row[0], row * 2.0))(x)
    np.testing.assert_array_equal(np.asarray(first), [1, 4])
    np.testing.assert_array_equal(np.asarray(second), 2 * np.asarray(x))
    got = bl.vmap(lambda row: bl.max(row) + bl.sum(row[::-1][:2]))(x)
    np.testing.assert_array_equal(np.asarray(got), [8, 17])


# jit, vectorize and texts.


def test_gradient_and_jit_in_both_orders() -> None:
    def loss(x: Any) -> Any:
        return bl.sum(bl.tanh(x) * x)

    x = np.random.default_rng(10).normal(size=50)
    eager = np.asarray(bl.grad(loss)(bl.asarray(x)))
    same_bits(bl.jit(bl.grad(loss))(x), eager)
    same_bits(np.asarray(bl.grad(bl.jit(loss))(bl.asarray(x))), eager)
    same_bits(np.asarray(bl.grad(loss)(x)), eager)
    value, got = bl.jit(bl.value_and_grad(loss))(x)
    same_bits(got, eager)
    np.testing.assert_allclose(value, np.sum(np.tanh(x) * x), rtol=1e-14)


def test_one_kernel_differentiates_arrays_of_all_lengths() -> None:
    gradient_of_loss = bl.jit(bl.grad(lambda x: bl.sum(x * x) / 2.0))
    for n in (1, 2, 17, 1000):
        x = np.arange(float(n))
        same_bits(gradient_of_loss(x), x)
    mean = bl.jit(bl.grad(lambda x: bl.mean(x)))
    for n in (1, 4, 32):
        same_bits(mean(np.ones(n)), np.full(n, 1 / n))


def test_gradient_of_a_vectorized_function() -> None:
    @bl.vectorize
    def f(x: Any) -> Any:
        y = 1.0
        for _ in range(3):
            y = y * x
        if x > 0:
            return y
        return -x

    np.testing.assert_array_equal(gradient(f, [2.0, -1.0, 0.0]), [12, -1, -1])
    np.testing.assert_array_equal(tangent(f, [[2.0, -1.0]], [[1.0, 2.0]]), [12, -2])


def test_gradient_in_a_text() -> None:
    kernel = bl.Kernel.parse("x: float64[n]\ny = sum(x * x * x)\nreturn y, g = grad(y, x)")
    y, got = kernel(np.array([1.0, 2.0, 3.0]))
    assert float(y) == 36.0
    np.testing.assert_array_equal(got, [3, 12, 27])
    kernel = bl.Kernel.parse("x: float64\ny = x * x * x\ng = grad(y, x)\nreturn grad(g, x)")
    assert float(kernel(np.array(2.0))) == 12.0
    with pytest.raises(bl.TextError, match=r"grad\(sum\("):
        bl.Kernel.parse("x: float64[n]\ny = x * x\nreturn grad(y, x)")
    with pytest.raises((bl.TextError, bl.DTypeError), match="grad"):
        bl.Kernel.parse("x: int64[n]\ny = sum(x * x)\nreturn grad(y, x)")


# Loops.


def test_scan_backwards_is_exact() -> None:
    n = 60
    got = gradient(lambda x: bl.scan(lambda s, v: (s * 0.5 + v, s), 0.0, x)[0], np.ones(n))
    same_bits(got, 0.5 ** np.arange(n)[::-1])
    got = gradient(lambda x: bl.scan(lambda s, v: (s * 0.5 + v, s), 0.0, x, reverse=True)[0], np.ones(n))
    same_bits(got, 0.5 ** np.arange(n))
    # The states before each step: 0, x₀, x₀ + x₁, …
    got = gradient(lambda x: bl.scan(lambda s, v: (s + v, s), 0.0, x)[1], np.ones(n))
    same_bits(got, np.arange(n)[::-1].astype(float))
    # By the initial state, which is multiplied by 2 in each step.
    got = gradient(lambda s: bl.scan(lambda s, v: (s * v, 0.0 * s), s, array(np.full(30, 2.0)))[0], array(1.0))
    same_bits(got, 2.0**30)


def test_scan_of_columns_and_along_axis_1() -> None:
    x = np.ones((4, 3))
    weights = array([1, 10, 100])
    expected = np.outer(0.5 ** np.arange(4)[::-1], [1, 10, 100])
    got = gradient(lambda x: bl.scan(lambda s, v: (s * 0.5 + v, s), 0.0, x)[0] * weights, x)
    same_bits(got, expected)
    got = gradient(lambda x: bl.scan(lambda s, v: (s * 0.5 + v, s), 0.0, x, axis=1)[0] * weights, x.T.copy())
    same_bits(got, expected.T)


def test_second_derivative_through_a_scan() -> None:
    def tenth_power(w: Any) -> Any:
        return bl.scan(lambda s, _: (s * w, s), 1.0, length=10)[0]

    assert float(bl.grad(tenth_power)(array(2.0))) == 10 * 2**9
    assert float(bl.grad(bl.grad(tenth_power))(array(2.0))) == 90 * 2**8
    assert float(bl.grad(bl.grad(bl.grad(tenth_power)))(array(2.0))) == 720 * 2**7
    assert float(bl.jvp(bl.grad(tenth_power), (array(2.0),), (array(1.0),))[1]) == 90 * 2**8


def test_branch_that_is_not_taken_in_a_scan() -> None:
    def step(s: Any, v: Any) -> Any:
        return s + bl.where(v > 0, bl.sqrt(v), 0.0), s

    same_bits(gradient(lambda x: bl.scan(step, 0.0, x)[0], [-1, 0, 4]), [0, 0, 0.25])
    # JAX gives NaN for the first two.
    same_bits(
        gradient(lambda x: bl.fori_loop(0, 3, lambda i, s: s + bl.where(x > 0, bl.log(x), 0.0), 0.0 * x), [0, -1, 2]),
        [0, 0, 1.5],
    )


@pytest.mark.parametrize("n", [3, 5, 13, 17, 40, 300])
def test_captured_value_of_a_scan_numbers_its_contributions_last_step_first(n: int) -> None:
    values = terms(n, shows_direction=True)
    # The state is a sum, so that each step contributes its input to the adjoint of w.
    got = gradient(lambda w: bl.scan(lambda s, v: (s + w * v, s), 0.0, array(values))[0], array(0.5))
    same_bits(got, canonical_sum(values[::-1]))


def test_fori_loop_of_a_fixed_number_of_trips_backwards() -> None:
    x = [1.0, 2.0, -3.0]
    same_bits(gradient(lambda x: bl.fori_loop(0, 4, lambda i, s: s * x, x), x), 5 * np.array(x) ** 4)
    # Σ i·x for i from 2 up to 5.
    same_bits(gradient(lambda x: bl.fori_loop(2, 6, lambda i, s: s + i * x, 0.0 * x), x), np.full(3, 14.0))
    # Loops without a trip are the identity.
    same_bits(gradient(lambda x: bl.fori_loop(3, 3, lambda i, s: s * 100.0, x), x), np.ones(3))
    same_bits(gradient(lambda x: bl.fori_loop(3, 0, lambda i, s: s * 100.0, x), x), np.ones(3))


def test_fori_loop_of_varying_trips_forwards_and_not_backwards() -> None:
    trips = array([1, 2, 3], np.int64)

    def power(x: Any) -> Any:
        return bl.fori_loop(0, trips, lambda i, s: s * x, 1.0 + 0.0 * x)

    # n·xⁿ⁻¹
    same_bits(tangent(power, [[5, 5, 5]], [[1, 1, 1]]), [1, 10, 75])
    with pytest.raises(bl.Error, match="fori_loop"):
        bl.grad(lambda x: bl.sum(power(x)))(array([5, 5, 5]))


def test_while_loop_forwards_and_not_backwards() -> None:
    def doubled(x: Any) -> Any:
        return bl.while_loop(lambda s: s < 100, lambda s: s * 2.0, x)

    x = array([1, 30, 200])
    same_bits(tangent(doubled, [x], [[1, 1, 1]]), [128, 4, 1])
    same_bits(np.asarray(bl.jacfwd(doubled)(x)), np.diag([128.0, 4.0, 1.0]))
    for transform in (bl.grad, bl.value_and_grad):
        with pytest.raises(bl.Error, match="while_loop"):
            transform(lambda x: bl.sum(doubled(x)))(x)
    for call in (
        lambda: bl.vjp(doubled, x)[1](x),
        lambda: bl.jacrev(doubled)(x),
        lambda: bl.hessian(lambda x: bl.sum(doubled(x)))(x),
    ):
        with pytest.raises(bl.Error, match="while_loop"):
            call()
    # The loop is a constant here.
    same_bits(gradient(lambda x: x * bl.stop_gradient(doubled(x)), x), [128, 120, 200])
    same_bits(gradient(lambda y: y * doubled(x), [1.0, 1.0, 1.0]), [128, 120, 200])


def test_limit_of_a_while_loop_forwards() -> None:
    got = tangent(lambda x: bl.while_loop(lambda s: s < 1e9, lambda s: s * x, x, limit=3), [[2.0, 3.0]], [[1.0, 1.0]])
    # x⁴
    same_bits(got, [32, 108])


def test_cond_computes_the_gradient_of_the_branch_that_is_taken() -> None:
    def function(p: Any, x: Any) -> Any:
        return bl.cond(p > 0, lambda x: x * x, lambda x: -x, x)

    same_bits(gradient(function, [1, -1, 0], [3, 3, 5], argnums=1), [6, -1, -1])
    same_bits(gradient(function, array(1.0), [3, 4], argnums=1), [6, 8])
    same_bits(gradient(function, [1, -1], [3, 3], argnums=0), [0, 0])
