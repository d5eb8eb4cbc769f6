"""Tests the derivative of each element-wise function of floats against its closed form, evaluated with 60 digits by mpmath.

`RULES` has a row for each operand: the domain of each operand, and the derivative. The reverse mode gives it as the pullback
of ones, the forward mode as the tangent of a tangent of ones for this operand and of zeros for the others. The bound is 4 ulps
as decision 15 defines them, with the exceptions that are listed in `WIDER` with their reasons. The closed forms themselves are
compared with numeric derivatives of the functions, so that a mistake in the table is found without broadloom.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

DIGITS = 60
POINTS = 2000
BOUND = 4
DTYPES = [np.float32, np.float64]

Draw = Callable[[np.random.Generator, int, type], np.ndarray]


def spread(low: float | None = None, high: float | None = None, signs: str = "both") -> Draw:
    """Numbers of which the logarithm is uniform, from 2^low to 2^high; over all normal numbers by default."""

    def draw(rng: np.random.Generator, n: int, dtype: type) -> np.ndarray:
        info = np.finfo(dtype)
        first = info.minexp if low is None else low
        last = info.maxexp - 1 if high is None else high
        magnitudes = np.ldexp(rng.uniform(1, 2, n), rng.integers(int(first), int(last), n))
        # A quarter of the points have ordinary size, where errors of the formula matter most to users.
        k = n // 4
        magnitudes[:k] = np.clip(np.abs(rng.normal(size=k)) * 2 + 1e-3, 2.0**first, 2.0**last)
        if signs == "both":
            magnitudes *= rng.choice([-1.0, 1.0], n)
        return magnitudes.astype(dtype)

    return draw


def between(a: float, b: float, ends: bool = True) -> Draw:
    """Numbers between a and b; a third of them lie close to an end, at distances of which the logarithm is uniform."""

    def draw(rng: np.random.Generator, n: int, dtype: type) -> np.ndarray:
        x = rng.uniform(a, b, n)
        if ends:
            k = n // 6
            bits = np.finfo(dtype).nmant
            x[:k] = a + (b - a) * 2.0 ** -rng.uniform(1, bits, k)
            x[k : 2 * k] = b - (b - a) * 2.0 ** -rng.uniform(1, bits, k)
            x[2 * k : 3 * k] = (a + b) / 2 + (b - a) / 2 * 2.0 ** -rng.uniform(1, 60, k) * rng.choice([-1.0, 1.0], k)
        x = x.astype(dtype)
        return x[(x > a) & (x < b)]

    return draw


def by_dtype(single: Draw, double: Draw) -> Draw:
    return lambda rng, n, dtype: (single if dtype is np.float32 else double)(rng, n, dtype)


def exponents(scale: float) -> Draw:
    """Arguments of an exponential function with a derivative that neither overflows nor underflows completely."""
    return by_dtype(between(-103 * scale, 88.7 * scale), between(-744 * scale, 709.7 * scale))


def integers(a: int, b: int) -> Draw:
    return lambda rng, n, dtype: rng.integers(a, b + 1, n).astype(dtype)


ALL = spread()
ABOVE = spread(signs="positive")
MODERATE = spread(-20, 20)
NEAR_ONE = between(0.5, 2)


class Rule(NamedTuple):
    function: str
    #: The number of the operand by which the function is differentiated.
    operand: int
    domains: tuple[Draw, ...]
    derivative: Callable[..., Any]
    #: What tells the rows of one operand apart.
    part: str = ""

    @property
    def key(self) -> str:
        return f"{self.function}-{self.operand}" + f"-{self.part}" * bool(self.part)


def ndtri(p: Any) -> Any:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def logistic(d: Any) -> Any:
    return 1 / (1 + mp.exp(-d))


def clipped(which: int) -> Callable[..., Any]:
    """The derivative of clip by one operand: 1 if the result is that operand."""

    def derivative(x: Any, lo: Any, hi: Any) -> int:
        least = max(x, lo)
        return int(which == (2 if least > hi else 1 if lo > x else 0))

    return derivative


RULES = [
    Rule("abs", 0, (ALL,), lambda x: mp.sign(x)),
    Rule("acos", 0, (between(-1, 1),), lambda x: -1 / mp.sqrt((1 - x) * (1 + x))),
    Rule("acosh", 0, (spread(0, None, "positive"),), lambda x: 1 / mp.sqrt((x - 1) * (x + 1))),
    Rule("acosh", 0, (between(1, 2),), lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), "near 1"),
    Rule("add", 0, (ALL, ALL), lambda x, y: 1),
    Rule("add", 1, (ALL, ALL), lambda x, y: 1),
    Rule("asin", 0, (between(-1, 1),), lambda x: 1 / mp.sqrt((1 - x) * (1 + x))),
    Rule("asinh", 0, (ALL,), lambda x: 1 / mp.sqrt(1 + x * x)),
    Rule("atan", 0, (ALL,), lambda x: 1 / (1 + x * x)),
    Rule("atan2", 0, (ALL, ALL), lambda y, x: x / (x * x + y * y)),
    Rule("atan2", 1, (ALL, ALL), lambda y, x: -y / (x * x + y * y)),
    Rule("atan2", 0, (MODERATE, MODERATE), lambda y, x: x / (x * x + y * y), "moderate"),
    Rule("atan2", 1, (MODERATE, MODERATE), lambda y, x: -y / (x * x + y * y), "moderate"),
    Rule("atanh", 0, (between(-1, 1),), lambda x: 1 / ((1 - x) * (1 + x))),
    Rule("cbrt", 0, (ALL,), lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2)),
    Rule("ceil", 0, (ALL,), lambda x: 0),
    Rule("clip", 0, (MODERATE, MODERATE, MODERATE), clipped(0)),
    Rule("clip", 1, (MODERATE, MODERATE, MODERATE), clipped(1)),
    Rule("clip", 2, (MODERATE, MODERATE, MODERATE), clipped(2)),
    Rule("copysign", 0, (ALL, ALL), lambda x, y: mp.sign(x) * mp.sign(y)),
    Rule("copysign", 1, (ALL, ALL), lambda x, y: 0),
    Rule("cos", 0, (ALL,), lambda x: -mp.sin(x)),
    Rule("cosh", 0, (exponents(0.99),), lambda x: mp.sinh(x)),
    Rule("divide", 0, (ALL, ALL), lambda x, y: 1 / y),
    Rule("divide", 1, (ALL, ALL), lambda x, y: -x / (y * y)),
    Rule("erf", 0, (between(-28, 28),), lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    Rule("erf", 0, (between(-3, 3),), lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), "moderate"),
    Rule("erfc", 0, (between(-28, 28),), lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    Rule("erfc", 0, (between(-3, 3),), lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x), "moderate"),
    Rule("erfinv", 0, (between(-1, 1),), lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2)),
    Rule("exp", 0, (exponents(1),), lambda x: mp.exp(x)),
    Rule("exp2", 0, (exponents(1.4427),), lambda x: mp.power(2, x) * mp.log(2)),
    Rule("expm1", 0, (exponents(1),), lambda x: mp.exp(x)),
    Rule("floor", 0, (ALL,), lambda x: 0),
    Rule("floor_divide", 0, (MODERATE, MODERATE), lambda x, y: 0),
    Rule("floor_divide", 1, (MODERATE, MODERATE), lambda x, y: 0),
    Rule("fma", 0, (MODERATE, MODERATE, MODERATE), lambda x, y, z: y),
    Rule("fma", 1, (MODERATE, MODERATE, MODERATE), lambda x, y, z: x),
    Rule("fma", 2, (MODERATE, MODERATE, MODERATE), lambda x, y, z: 1),
    Rule("hypot", 0, (ALL, ALL), lambda x, y: x / mp.sqrt(x * x + y * y)),
    Rule("hypot", 1, (ALL, ALL), lambda x, y: y / mp.sqrt(x * x + y * y)),
    Rule("hypot", 0, (MODERATE, MODERATE), lambda x, y: x / mp.sqrt(x * x + y * y), "moderate"),
    Rule("log", 0, (ABOVE,), lambda x: 1 / x),
    Rule("log10", 0, (ABOVE,), lambda x: 1 / (x * mp.log(10))),
    Rule("log1p", 0, (ABOVE,), lambda x: 1 / (1 + x), "above 0"),
    Rule("log1p", 0, (between(-1, 1),), lambda x: 1 / (1 + x), "moderate"),
    Rule("log2", 0, (ABOVE,), lambda x: 1 / (x * mp.log(2))),
    Rule("logaddexp", 0, (MODERATE, MODERATE), lambda x, y: logistic(x - y)),
    Rule("logaddexp", 1, (MODERATE, MODERATE), lambda x, y: logistic(y - x)),
    Rule("logaddexp", 0, (between(-9, 9), between(-9, 9)), lambda x, y: logistic(x - y), "moderate"),
    Rule("logaddexp", 0, (exponents(0.45), exponents(0.45)), lambda x, y: logistic(x - y), "far apart"),
    Rule("logaddexp", 1, (exponents(0.45), exponents(0.45)), lambda x, y: logistic(y - x), "far apart"),
    Rule("maximum", 0, (ALL, ALL), lambda x, y: int(x > y)),
    Rule("maximum", 1, (ALL, ALL), lambda x, y: int(y > x)),
    Rule("minimum", 0, (ALL, ALL), lambda x, y: int(x < y)),
    Rule("minimum", 1, (ALL, ALL), lambda x, y: int(y < x)),
    Rule("multiply", 0, (ALL, ALL), lambda x, y: y),
    Rule("multiply", 1, (ALL, ALL), lambda x, y: x),
    Rule("ndtri", 0, (between(0, 1),), lambda p: mp.sqrt(2 * mp.pi) * mp.exp(ndtri(p) ** 2 / 2)),
    Rule("negative", 0, (ALL,), lambda x: -1),
    Rule("positive", 0, (ALL,), lambda x: 1),
    Rule("pow", 0, (spread(-10, 10, "positive"), spread(-6, 6)), lambda x, y: y * mp.power(x, y - 1)),
    Rule("pow", 1, (spread(-10, 10, "positive"), spread(-6, 6)), lambda x, y: mp.power(x, y) * mp.log(x)),
    Rule("pow", 0, (NEAR_ONE, spread(-3, 9)), lambda x, y: y * mp.power(x, y - 1), "near 1"),
    Rule("pow", 1, (NEAR_ONE, spread(-3, 9)), lambda x, y: mp.power(x, y) * mp.log(x), "near 1"),
    Rule("pow", 0, (spread(-10, 10), integers(-9, 9)), lambda x, y: y * mp.power(x, y - 1), "integral"),
    # The power underflows or overflows where its derivative does not, or the other way round.
    Rule("pow", 0, (ALL, integers(-3, 4)), lambda x, y: y * mp.power(x, y - 1), "all"),
    Rule("pow", 0, (ABOVE, between(-2, 3)), lambda x, y: y * mp.power(x, y - 1), "all positive"),
    Rule("reciprocal", 0, (ALL,), lambda x: -1 / (x * x)),
    Rule("remainder", 0, (spread(-6, 6), spread(-6, 6)), lambda x, y: 1),
    Rule("remainder", 1, (spread(-6, 6), spread(-6, 6)), lambda x, y: -mp.floor(x / y)),
    Rule("round", 0, (ALL,), lambda x: 0),
    Rule("sign", 0, (ALL,), lambda x: 0),
    Rule("sin", 0, (ALL,), lambda x: mp.cos(x)),
    Rule("sinh", 0, (exponents(0.99),), lambda x: mp.cosh(x)),
    Rule("sqrt", 0, (ABOVE,), lambda x: 1 / (2 * mp.sqrt(x))),
    Rule("square", 0, (ALL,), lambda x: 2 * x),
    Rule("subtract", 0, (ALL, ALL), lambda x, y: 1),
    Rule("subtract", 1, (ALL, ALL), lambda x, y: -1),
    Rule("tan", 0, (ALL,), lambda x: mp.sec(x) ** 2),
    Rule("tan", 0, (between(-1.6, 1.6),), lambda x: mp.sec(x) ** 2, "one period"),
    Rule("tanh", 0, (exponents(0.5),), lambda x: mp.sech(x) ** 2),
    Rule("tanh", 0, (between(-3, 3),), lambda x: mp.sech(x) ** 2, "moderate"),
    Rule("trunc", 0, (ALL,), lambda x: 0),
]

#: The functions themselves, for the numeric derivatives.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "acos": mp.acos,
    "acosh": mp.acosh,
    "add": lambda x, y: x + y,
    "asin": mp.asin,
    "asinh": mp.asinh,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "atanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "ceil": mp.ceil,
    "clip": lambda x, lo, hi: min(max(x, lo), hi),
    "copysign": lambda x, y: abs(x) * mp.sign(y),
    "cos": mp.cos,
    "cosh": mp.cosh,
    "divide": lambda x, y: x / y,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": mp.erfinv,
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "floor": mp.floor,
    "floor_divide": lambda x, y: mp.floor(x / y),
    "fma": lambda x, y, z: x * y + z,
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "log": mp.log,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "maximum": max,
    "minimum": min,
    "multiply": lambda x, y: x * y,
    "ndtri": ndtri,
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "pow": mp.power,
    "reciprocal": lambda x: 1 / x,
    "remainder": lambda x, y: x - y * mp.floor(x / y),
    "round": mp.nint,
    "sign": mp.sign,
    "sin": mp.sin,
    "sinh": mp.sinh,
    "sqrt": mp.sqrt,
    "square": lambda x: x * x,
    "subtract": lambda x, y: x - y,
    "tan": mp.tan,
    "tanh": mp.tanh,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
}

#: Functions of floats that have no row: their reason.
WITHOUT_ROW = {
    "nextafter": "differentiation refuses it; test_gradient_special_points.py tests the error",
    "where": "its first operand is a bool; test_where_selects_the_derivative tests it",
}

#: Wider bounds, as functions of the operands, with the reasons.
WIDER: dict[str, tuple[str, Callable[..., float]]] = {
    "erfinv": (
        # With y = erfinv(x), the derivative is √π/2·exp(y²). An error of one ulp of y, at most 2⁻ᵖ⁺¹ relative to y, changes
        # it by 2y² times as much, and y is rounded before the rule sees it.
        "the derivative is a function of the rounded result",
        lambda x: BOUND + 4 * float(mp.erfinv(x)) ** 2,
    ),
    "ndtri": (
        # With y = ndtri(p), the derivative is √(2π)·exp(y²/2), which an error of one ulp of y changes by y² times as much.
        "the derivative is a function of the rounded result",
        lambda p: BOUND + 2 * float(ndtri(p)) ** 2,
    ),
}


def ulps(got: float, exact: Any, dtype: type) -> float:
    """The error of a result in ulps, as decision 15 of the design defines it. A result of infinity counts as 2^(emax + 1)."""
    info = np.finfo(dtype)
    if np.isnan(got):
        return float("inf")
    top = mp.mpf(2) ** int(info.maxexp)
    exact = mp.mpf(exact)
    exact = max(-top, min(top, exact))
    value = mp.mpf(float(got)) if np.isfinite(got) else (top if got > 0 else -top)
    if value == exact:
        return 0.0
    # frexp gives a significand from ½ up to 1.
    exponent = int(mpmath.frexp(exact)[1]) - 1 if exact else int(info.minexp)
    exponent = min(max(exponent, int(info.minexp)), int(info.maxexp) - 1)
    return float(abs(value - exact) / mp.mpf(2) ** (exponent - int(info.nmant)))


@functools.cache
def points(rule_key: str, dtype: type) -> tuple[np.ndarray, ...]:
    rule = BY_KEY[rule_key]
    rng = np.random.default_rng(zlib.crc32(f"{rule_key} {np.dtype(dtype)}".encode()))
    columns = [draw(rng, POINTS, dtype) for draw in rule.domains]
    n = min(map(len, columns))
    assert n > POINTS // 2
    return kept(rule, tuple(c[:n] for c in columns), dtype)


def kept(rule: Rule, columns: tuple[np.ndarray, ...], dtype: type) -> tuple[np.ndarray, ...]:
    """The points without those where the derivative is not the closed form."""
    keep = np.ones(len(columns[0]), bool)
    if rule.function in ("maximum", "minimum", "clip"):
        # Ties are special points.
        for a in range(len(columns)):
            for b in range(a):
                keep &= columns[a] != columns[b]
    if rule.function == "acosh":
        keep &= columns[0] > 1
    if rule.function in ("hypot", "abs", "copysign"):
        keep &= columns[0] != 0
    if rule.function == "pow" and rule.operand == 0 and rule.part in ("", "near 1"):
        # Where the power is subnormal or overflows, a formula that contains it loses digits if the exponent is not small. The
        # rows of small exponents keep these points, since x^(y − 1) has all digits there.
        with np.errstate(all="ignore"):
            power = np.abs(columns[0].astype(dtype) ** columns[1])
        keep &= (power >= 4 * np.finfo(dtype).tiny) & np.isfinite(power)
    if rule.function == "hypot":
        # A subnormal result has few significant bits, and the quotient by it no more of them.
        keep &= np.hypot(columns[0].astype(np.float64), columns[1].astype(np.float64)) >= np.finfo(dtype).tiny
    if rule.function in ("remainder", "floor_divide"):
        # The quotient is not so close to an integer that rounding decides.
        quotient = columns[0].astype(np.float64) / columns[1].astype(np.float64)
        keep &= np.abs(quotient - np.round(quotient)) > 1e-5
    return tuple(c[keep] for c in columns)


BY_KEY = {rule.key: rule for rule in RULES}
assert len(BY_KEY) == len(RULES)


def in_reverse(rule: Rule, columns: tuple[np.ndarray, ...]) -> np.ndarray:
    y, pullback = bl.vjp(getattr(bl, rule.function), *map(bl.asarray, columns))
    return np.asarray(pullback(bl.ones_like(y))[rule.operand])


def forwards(rule: Rule, columns: tuple[np.ndarray, ...]) -> np.ndarray:
    tangents = [np.full_like(c, k == rule.operand) for k, c in enumerate(columns)]
    _, tangent = bl.jvp(getattr(bl, rule.function), tuple(map(bl.asarray, columns)), tuple(map(bl.asarray, tangents)))
    return np.asarray(tangent)


def assert_accurate(
    rule: Rule, columns: tuple[np.ndarray, ...], derivatives: dict[str, np.ndarray], dtype: type
) -> None:
    for mode, got in derivatives.items():
        assert (got.dtype, got.shape) == (np.dtype(dtype), columns[0].shape), mode
    wider = WIDER.get(rule.function)
    failures, count, worst = [], 0, 0.0
    with mp.workdps(DIGITS):
        for k in range(len(columns[0])):
            operands = [mp.mpf(float(c[k])) for c in columns]
            exact = rule.derivative(*operands)
            seen: list[float] = []
            for mode, got in derivatives.items():
                if got[k] in seen:
                    continue
                seen.append(got[k])
                error = ulps(got[k], exact, dtype)
                # The wider bound costs an evaluation of the function, so that it is computed only where it matters.
                if error > BOUND and (wider is None or error > wider[1](*operands)):
                    count += 1
                    worst = max(worst, error)
                    if len(failures) < 5:
                        where = ", ".join(float(c[k]).hex() for c in columns)
                        failures.append(
                            f"{mode}: {float(got[k])!r} at ({where}), exact {mpmath.nstr(exact, 20)}: {error:.3g} ulps"
                        )
    assert not count, f"{count} results are off by up to {worst:.3g} ulps:\n" + "\n".join(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", BY_KEY)
def test_derivative_is_accurate(key: str, dtype: type) -> None:
    rule = BY_KEY[key]
    columns = points(key, dtype)
    derivatives = {"reverse": in_reverse(rule, columns), "forward": forwards(rule, columns)}
    assert_accurate(rule, columns, derivatives, dtype)


def ends_of_range(dtype: type) -> np.ndarray:
    """The smallest and the largest positive numbers: subnormal ones, those around the smallest normal one, and up to the
    largest one."""
    info = np.finfo(dtype)
    tiny, largest = dtype(info.tiny), dtype(info.max)
    smallest = dtype(info.smallest_subnormal)
    some = [smallest, smallest * dtype(3), tiny / dtype(1024), tiny * dtype(0.3), np.nextafter(tiny, dtype(0)), tiny]
    some += [tiny * dtype(1.37), tiny * dtype(2), tiny * dtype(5), largest / dtype(4), largest * dtype(0.3)]
    some += [largest * dtype(0.7), np.nextafter(largest, dtype(0)), largest]
    return np.array(some, dtype)


ENDS = [
    *(
        "asinh",
        "atan",
        "cbrt",
        "cos",
        "log",
        "log10",
        "log1p",
        "log2",
        "reciprocal",
        "sin",
        "sqrt",
        "square",
        "tan",
        "tanh",
    ),
    *("erf", "erfc", "exp", "exp2", "expm1", "sinh", "cosh", "abs", "negative"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ENDS)
def test_derivative_is_accurate_at_the_ends_of_the_range(name: str, dtype: type) -> None:
    """A derivative overflows or underflows only where the exact one does."""
    rule = next(rule for rule in RULES if rule.function == name)
    x = ends_of_range(dtype)
    if name not in ("log", "log10", "log2", "sqrt", "log1p"):
        x = np.concatenate([x, -x])
    if name in ("erf", "erfc", "exp", "exp2", "expm1", "sinh", "cosh", "tanh"):
        # 60 digits do not reach the exponents of the exact derivatives of the largest arguments, which are 0 or infinite.
        x = x[np.abs(x) < 1]
    columns = (x,)
    assert_accurate(rule, columns, {"reverse": in_reverse(rule, columns), "forward": forwards(rule, columns)}, dtype)


INF = float("inf")

#: Derivatives at infinity and at the ends of domains: the limits of the closed forms from within the domain.
LIMITS: dict[str, list[tuple[float, float]]] = {
    "acos": [(-1, -INF), (1, -INF)],
    "acosh": [(1, INF), (INF, 0)],
    "asin": [(-1, INF), (1, INF), (0, 1)],
    "asinh": [(-INF, 0), (0, 1), (INF, 0)],
    "atan": [(-INF, 0), (0, 1), (INF, 0)],
    "atanh": [(-1, INF), (0, 1), (1, INF)],
    "cbrt": [(-INF, 0), (0, INF), (INF, 0)],
    "cos": [(0, 0)],
    "cosh": [(-INF, -INF), (0, 0), (INF, INF)],
    "erf": [(-INF, 0), (INF, 0)],
    "erfc": [(-INF, 0), (INF, 0)],
    "erfinv": [(-1, INF), (1, INF)],
    "exp": [(-INF, 0), (0, 1), (INF, INF)],
    "exp2": [(-INF, 0), (INF, INF)],
    "expm1": [(-INF, 0), (0, 1), (INF, INF)],
    "log": [(0, INF), (1, 1), (INF, 0)],
    "log10": [(0, INF), (INF, 0)],
    "log1p": [(-1, INF), (0, 1), (INF, 0)],
    "log2": [(0, INF), (INF, 0)],
    "ndtri": [(0, INF), (1, INF)],
    "reciprocal": [(-INF, 0), (0, -INF), (1, -1), (INF, 0)],
    "sin": [(0, 1)],
    "sinh": [(-INF, INF), (0, 1), (INF, INF)],
    "sqrt": [(0, INF), (1, 0.5), (INF, 0)],
    "square": [(-INF, -INF), (0, 0), (INF, INF)],
    "tan": [(0, 1)],
    "tanh": [(-INF, 0), (0, 1), (INF, 0)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_derivative_at_infinity_and_at_the_ends_of_the_domain(name: str, dtype: type) -> None:
    rule = next(rule for rule in RULES if rule.function == name)
    x, exact = (np.array(column, dtype) for column in zip(*LIMITS[name], strict=True))
    np.testing.assert_array_equal(in_reverse(rule, (x,)), exact)
    np.testing.assert_array_equal(forwards(rule, (x,)), exact)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_selects_the_derivative(dtype: type) -> None:
    rng = np.random.default_rng(5)
    condition = rng.integers(0, 2, 100).astype(bool)
    x, y, g = (rng.normal(size=100).astype(dtype) for _ in range(3))
    _, pullback = bl.vjp(lambda x, y: bl.where(bl.asarray(condition), x, y), bl.asarray(x), bl.asarray(y))
    of_x, of_y = pullback(bl.asarray(g))
    np.testing.assert_array_equal(np.asarray(of_x), np.where(condition, g, dtype(0)))
    np.testing.assert_array_equal(np.asarray(of_y), np.where(condition, dtype(0), g))


def test_every_function_of_floats_has_a_row() -> None:
    """Each function of floats that gives floats has a row for each operand."""
    rows = {(rule.function, rule.operand) for rule in RULES}
    for function in _core.functions():
        name = function["name"]
        if "float" not in function["takes"] or function["gives"] == "bool" or name in WITHOUT_ROW:
            continue
        for operand in range(len(function["operands"])):
            assert (name, operand) in rows, (name, operand)


@pytest.mark.parametrize("key", BY_KEY)
def test_closed_form_is_the_derivative(key: str) -> None:
    """The numeric derivative of mpmath agrees with the closed form at several points."""
    rule = BY_KEY[key]
    columns = points(key, np.float64)
    function = FUNCTIONS[rule.function]
    order = tuple(int(k == rule.operand) for k in range(len(columns)))
    checked = 0
    with mp.workdps(DIGITS):
        for k in range(len(columns[0])):
            operands = [mp.mpf(float(c[k])) for c in columns]
            # Differences are taken with a fixed step, so that the operands have to be of ordinary size.
            if checked == 5 or not all(1e-3 < abs(x) < 20 for x in operands):
                continue
            if rule.function in ("erfinv", "ndtri", "atanh") and abs(operands[0]) > 0.99:
                continue
            numeric = (
                mpmath.diff(function, tuple(operands), order)
                if len(operands) > 1
                else mpmath.diff(function, operands[0])
            )
            exact = mp.mpf(rule.derivative(*operands))
            assert abs(numeric - exact) <= mp.mpf(10) ** -20 * max(1, abs(exact)), (operands, numeric, exact)
            checked += 1
    assert checked == 5
