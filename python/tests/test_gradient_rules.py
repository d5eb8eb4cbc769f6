"""The rule of each function against the derivative that sympy finds, evaluated with 60 digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import broadloom as bl

sympy = pytest.importorskip("sympy")
mpmath = pytest.importorskip("mpmath")

x, y = sympy.symbols("x y", real=True)

#: For each function of one operand, bounds of the argument and the function.
UNARY: dict[str, tuple[float, float, Any]] = {
    "acos": (-0.9999, 0.9999, sympy.acos(x)),
    "acosh": (1.0001, 1e3, sympy.acosh(x)),
    "asin": (-0.9999, 0.9999, sympy.asin(x)),
    "asinh": (-1e3, 1e3, sympy.asinh(x)),
    "atan": (-1e3, 1e3, sympy.atan(x)),
    "atanh": (-0.9999, 0.9999, sympy.atanh(x)),
    "cbrt": (1e-3, 1e3, sympy.cbrt(x)),
    "cos": (-50, 50, sympy.cos(x)),
    "cosh": (-50, 50, sympy.cosh(x)),
    "erf": (-9, 9, sympy.erf(x)),
    "erfc": (-9, 9, sympy.erfc(x)),
    "exp": (-50, 50, sympy.exp(x)),
    "exp2": (-50, 50, 2**x),
    "expm1": (-50, 50, sympy.exp(x) - 1),
    "log": (1e-3, 1e3, sympy.log(x)),
    "log10": (1e-3, 1e3, sympy.log(x, 10)),
    "log1p": (-0.9999, 1e3, sympy.log(1 + x)),
    "log2": (1e-3, 1e3, sympy.log(x, 2)),
    "reciprocal": (1e-2, 1e2, 1 / x),
    "sin": (-50, 50, sympy.sin(x)),
    "sinh": (-50, 50, sympy.sinh(x)),
    "sqrt": (1e-3, 1e3, sympy.sqrt(x)),
    "square": (-9, 9, x**2),
    "tan": (-50, 50, sympy.tan(x)),
    "tanh": (-30, 30, sympy.tanh(x)),
}

#: For each function of two operands, bounds of the arguments and the function.
BINARY: dict[str, tuple[float, float, float, float, Any]] = {
    "atan2": (-9, 9, -9, 9, sympy.atan2(x, y)),
    "divide": (-9, 9, 0.1, 9, x / y),
    "hypot": (-9, 9, -9, 9, sympy.sqrt(x**2 + y**2)),
    "logaddexp": (-90, 90, -90, 90, sympy.log(sympy.exp(x) + sympy.exp(y))),
    "multiply": (-9, 9, -9, 9, x * y),
    "pow": (0.01, 100, -18, 18, x**y),
    "subtract": (-9, 9, -9, 9, x - y),
}

COUNT = 300


def ulps(got: Any, exact: Any, dtype: str) -> float:
    """The error of a result in units in its last place."""
    digits, least = {"float32": (24, -126), "float64": (53, -1022)}[dtype]
    if not np.isfinite(got) and abs(exact) >= mpmath.mpf(2) ** (2 - least):
        return 0.0
    exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), least) if exact else least
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(2) ** (exponent - digits + 1))


def assert_right(name: str, got: Any, derivative: Any, points: tuple[np.ndarray, ...], dtype: str) -> None:
    evaluate = sympy.lambdify((x, y), derivative, "mpmath")
    with mpmath.workdps(60):
        for i, value in enumerate(np.broadcast_to(np.asarray(got), points[0].shape)):
            at = [mpmath.mpf(float(point[i])) for point in points]
            error = ulps(value, mpmath.mpf(evaluate(at[0], at[-1])), dtype)
            assert error <= 4, f"{name} at {[point[i] for point in points]}: {value}, {error} ulps"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name: str, dtype: str) -> None:
    low, high, function = UNARY[name]
    at = np.random.default_rng(len(name)).uniform(low, high, COUNT).astype(dtype)
    got = bl.grad(lambda x: bl.sum(getattr(bl, name)(x)))(at)
    assert str(got.dtype) == dtype
    assert_right(name, got, sympy.diff(function, x), (at,), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name: str, dtype: str) -> None:
    low, high, low2, high2, function = BINARY[name]
    rng = np.random.default_rng(len(name))
    at = rng.uniform(low, high, COUNT).astype(dtype), rng.uniform(low2, high2, COUNT).astype(dtype)
    got = bl.grad(lambda x, y: bl.sum(getattr(bl, name)(x, y)), argnums=(0, 1))(*at)
    for operand, symbol in enumerate((x, y)):
        assert_right(f"{name}, operand {operand}", got[operand], sympy.diff(function, symbol), at, dtype)


def test_quantile_functions() -> None:
    """The exponential magnifies the rounding of the quantile, by 2 y**2 and y**2."""
    for name, low, power in [("erfinv", -1.0, 2), ("ndtri", 0.0, 1)]:
        at = np.random.default_rng(1).uniform(low, 1.0, COUNT)
        values = np.asarray(getattr(bl, name)(bl.asarray(at)))
        got = np.asarray(bl.grad(lambda x, name=name: bl.sum(getattr(bl, name)(x)))(at))
        with mpmath.workdps(40):
            for value, found, quantile in zip(at, got, values, strict=True):
                inverse = mpmath.erfinv(mpmath.mpf(value) if name == "erfinv" else 2 * mpmath.mpf(value) - 1)
                exact = mpmath.exp(inverse**2) * (
                    mpmath.sqrt(mpmath.pi) / 2 if name == "erfinv" else mpmath.sqrt(2 * mpmath.pi)
                )
                assert ulps(found, exact, "float64") <= 4 + power * quantile**2


def test_no_step_overflows() -> None:
    big = 1e200
    for function, at, wanted in [
        (bl.acosh, big, 1 / big),
        (bl.asinh, -big, 1 / big),
        (bl.atan, 1e150, 1e-300),
        (lambda x: bl.hypot(x, big), big, math.sqrt(0.5)),
        (lambda x: bl.atan2(x, big), big, 0.5 / big),
        (lambda x: bl.logaddexp(x, 0.0), 800.0, 1.0),
        (lambda x: bl.logaddexp(x, 800.0), 0.0, 0.0),
        (bl.tanh, 360.0, 4 * math.exp(-720)),
    ]:
        got = float(bl.grad(function)(at))
        assert got == pytest.approx(wanted, rel=1e-12, abs=5e-324)
