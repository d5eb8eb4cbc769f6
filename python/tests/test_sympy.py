"""Tests functions that sympy's lambdify makes for numexpr: they run on broadloom.numexpr, and agree with sympy's own
evaluation with 40 digits up to rounding."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

import broadloom.numexpr

sympy = pytest.importorskip("sympy")

x, y = sympy.symbols("x y")

POINTS = [(Fraction(1, 4), Fraction(3, 8)), (Fraction(7, 8), Fraction(-5, 2)), (Fraction(3), Fraction(1, 2))]

EXPRESSIONS = [
    x + y,
    x - 3 * y / 7,
    x**2 / 3,
    x**-2,
    x ** sympy.Rational(1, 3),
    x ** sympy.Rational(-1, 2),
    sympy.sqrt(x),
    sympy.sin(x) * sympy.exp(y),
    sympy.cos(x) / 3,
    sympy.tan(x / 4),
    sympy.asin(x / 4) + sympy.acos(x / 4),
    sympy.atan(y),
    sympy.atan2(y, x),
    sympy.sinh(y),
    sympy.cosh(y),
    sympy.tanh(y),
    sympy.asinh(y),
    sympy.acosh(x + 1),
    sympy.atanh(y / 4),
    sympy.log(x + 1),
    sympy.Abs(y),
    sympy.pi * x,
    sympy.E * x,
    10**20 * x,
    sympy.Float("1e-300") * x,
    sympy.Mod(x, sympy.Rational(3, 8)),
    sympy.Piecewise((x, y > 0), (-x, True)),
    sympy.Piecewise((x, y > 0), (y, y < -2), (x * y, True)),
    sympy.ITE(y > 0, x > 1, x < 1),
    sympy.Ne(x, y),
    sympy.Gt(x, y),
]


@pytest.fixture(autouse=True)
def in_place_of_numexpr(monkeypatch: pytest.MonkeyPatch) -> None:
    """`from numexpr import evaluate`, which every function of lambdify starts with, imports broadloom's function."""
    monkeypatch.setitem(sys.modules, "numexpr", broadloom.numexpr)


def expected(expression: sympy.Basic) -> np.ndarray:
    """The expression's values at POINTS, rounded once to float64, or its truth values."""
    values = []
    for first, second in POINTS:
        exact = {x: sympy.Rational(*first.as_integer_ratio()), y: sympy.Rational(*second.as_integer_ratio())}
        value = expression.subs(exact)
        values.append(bool(value) if value in (sympy.true, sympy.false) else float(value.evalf(40)))
    return np.array(values)


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_a_lambdified_expression_has_the_values_of_evalf(expression: sympy.Basic) -> None:
    function = sympy.lambdify((x, y), expression, modules="numexpr")
    assert function.__globals__["evaluate"] is broadloom.numexpr.evaluate
    arrays = np.array(POINTS, dtype=np.float64)
    result = function(arrays[:, 0], arrays[:, 1])
    exact = expected(expression)
    assert result.dtype == exact.dtype
    if exact.dtype == np.bool_:
        np.testing.assert_array_equal(result, exact)
    else:
        # Each function is within an ulp; each text rounds at most four times.
        assert np.all(np.abs(result - exact) <= 4 * np.spacing(np.abs(exact)))


def test_a_piecewise_expression_without_a_default_is_nan_elsewhere() -> None:
    function = sympy.lambdify(x, sympy.Piecewise((x, x > 0)), modules="numexpr")
    np.testing.assert_array_equal(function(np.array([1.5, -1.0])), [1.5, np.nan])


def test_scalars_give_an_array_without_dimensions() -> None:
    function = sympy.lambdify((x, y), x * y, modules="numexpr")
    result = function(2.0, 3.5)
    assert result.shape == () and result == 7.0


def test_complex_numbers_are_refused_as_such() -> None:
    function = sympy.lambdify(x, sympy.I * x, modules="numexpr")
    with pytest.raises(NotImplementedError, match="complex"):
        function(np.array([1.0]))
