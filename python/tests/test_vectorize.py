"""`vectorize`: each construct computes what CPython computes for each element, and everything else is refused by its place."""

from __future__ import annotations

import linecache
import math
import os
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import random_functions

import broadloom as bl

Function = Callable[..., Any]

NAN, INF = math.nan, math.inf
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e300, -1e300, 5e-324, INF, -INF, NAN, 2.0**53, -7.25]


def flat(value: Any) -> tuple[Any, ...]:
    return tuple(x for part in value for x in flat(part)) if isinstance(value, tuple) else (value,)


def check(function: Function, *columns: list[Any]) -> None:
    """Compares all combinations of some arguments with CPython, in type and bits."""
    grid = [axis.ravel() for axis in np.meshgrid(*map(np.array, columns), indexing="ij")]
    rows = list(zip(*(axis.tolist() for axis in grid), strict=True))
    found = [np.asarray(part).tolist() for part in flat(bl.vectorize(function, int_division="error")(*grid))]
    for at, row in enumerate(rows):
        got, expected = tuple(part[at] for part in found), flat(function(*row))
        assert [type(x) for x in got] == [type(x) for x in expected], (row, got, expected)
        assert [random_functions.bits(x) for x in got] == [random_functions.bits(x) for x in expected], (
            row,
            got,
            expected,
        )


# Statements.


def assignments(x: float, n: int) -> Any:
    """Texts that are not assigned have no effect."""
    a = b = x + 1
    c: float = a
    d: int
    d, (e, [g, h]) = n, (a, (b, c * 2))
    d += 1
    e -= d
    g *= 2.0
    h **= 1
    d //= 2
    pass
    a, b = b + 1, a
    return a, b, c, d, e, g, h


def branches(x: float, n: int) -> Any:
    y = 0.0
    if x < 0:
        y = -x
    elif n == 1:
        y = x * 2
        if x > 3:
            y += 1
    elif n:
        n = 7
    else:
        y, n = 5.0, n - 1
    if n > 5:
        pass
    else:
        n += 10
    return y, n


def early_returns(x: float, n: int) -> Any:
    if x != x:
        return -1.0
    if n < 0:
        if x > 0:
            return x
        n = -n
    elif n == 2:
        return 0.25
    x = x + n
    if x > 2:
        return x * 2
    else:
        return x * 3


def assigned_by_both(n: int) -> int:
    if n > 0:
        y = n
    elif n < 0:
        return -5
    else:
        y = 8
    return y * 2


def while_loops(n: int, m: int) -> Any:
    count, total = 0, 0.0
    while n > 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n //= 2
        count += 1
        if count > m * 10:
            break
        if count == 3:
            continue
        total += n
    else:
        total = -total
    return n, count, total


def endless(x: float, n: int) -> Any:
    k = 0
    while True:
        y = x * k
        k += 1
        if k > n:
            break
        if k == 4:
            return y, k
    return y + 1, k


def ranges(n: int, m: int, step: int) -> Any:
    total, i, j, k = 0, -1, -2, -3
    for i in range(n):
        total += i
    for j in range(n, m):
        total = total * 2 + j
        j = 100
        m = 0
    for k in range(m, n, step if step else 3):
        total += k * k
    for k in range(n, m + 9, -2):
        total -= k
    for _ in range(3):
        total += 1
    return total, i, j, k


def known_range(n: int) -> Any:
    for i in range(2, 9, 3):
        last = n * i
    return last, i


def else_of_loops(n: int) -> int:
    for k in range(2, 8):
        if n % k == 0:
            found = k
            break
    else:
        found = -1
    for _ in range(n):
        break
    else:
        found += 100
    for _ in range(n, n + 2):
        if n == 3:
            return 77
    else:
        return found
    return 5


def nested(n: int, m: int) -> Any:
    count = total = 0
    for i in range(n):
        for j in range(i, m):
            if (i + j) % 3 == 0:
                continue
            if i * j > 10:
                break
            if i * j == 6 and n == 4:
                return -1, total
            k = 0
            while k < j:
                k += 2
                total += k
                if total > 60:
                    return count, -total
        else:
            count += 100
        count += 1
    return count, total


def loops_in_branches(x: float, n: int) -> Any:
    total = 0.0
    if x > 0:
        k = n
        while k > 0:
            total += x
            k -= 1
        for i in range(n):
            total += i
            if total > 4:
                break
    else:
        for i in range(-3, n, 2):
            total -= i
    return total


def carried_promotes(x: float, n: int) -> Any:
    a, b, c, flag = 0, 0, 1, False
    for _ in range(n):
        c = b
        b = a
        a = a + 0.5 * x
        flag = flag or a > 2
    # These names hold floats from the beginning, and ints in Python.
    return float(a), float(b), float(c), flag


def carried_tuples(x: float, n: int) -> Any:
    state = (x, (n, 0))
    for i in range(5):
        if i == n:
            state = (0.5, (i, -1))
            continue
        state = (state[0] * 2, (state[1][1], state[1][0] + i))
    return state


def pair_sum(x: float, n: int) -> float:
    return x + n


def pair(x: float, n: int) -> Any:
    return (x, n) if n > 1 else (x + 1, -n)


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (assignments, ([1.5, -2.0], [3, 4])),
        (branches, ([-1.0, 2.0, 4.0, NAN], [0, 1, 2, 6])),
        (early_returns, ([-1.0, 2.0, 4.0, NAN, 0.5], [-1, 0, 1, 2])),
        (assigned_by_both, ([-1, 0, 3],)),
        (while_loops, ([0, 1, 6, 7, 27], [0, 1, 12])),
        (endless, ([1.5, -2.0], [0, 1, 3, 4, 9])),
        (ranges, ([-2, 0, 1, 5], [-1, 0, 3, 7], [-2, -1, 0, 1, 2, 5])),
        (known_range, ([1, 2],)),
        (else_of_loops, ([0, 1, 2, 3, 5, 11, 49],)),
        (nested, ([0, 1, 3, 4, 8], [0, 2, 5, 9])),
        (loops_in_branches, ([-1.0, 0.0, 1.5], [0, 1, 4])),
        (carried_promotes, ([1.5], [0, 1, 5])),
        (carried_tuples, ([1.5, -0.0], [0, 3, 9])),
        (pair, ([1.5], [0, 1, 2])),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_statements_mean_what_they_mean_in_python(function: Function, columns: Any) -> None:
    check(function, *columns)


# Expressions.


def divisions(x: float, y: float) -> Any:
    return x // y, x % y, divmod(x, y), x / y


def divisions_of_ints(n: int, m: int) -> Any:
    return n // m, n % m, divmod(n, m), n / m, n // 3, n % -4, -7 // m, True / m, n / 2.5


def powers(x: float, n: int) -> Any:
    return n**2, n**3, 2**n, n**n, x**1, x**0, n**0, pow(n, 2), 4**-1, 2**0.5


def powers_of_known_exponents(n: int) -> Any:
    return n**-1, n**-2


def comparisons(n: int, x: float) -> Any:
    return n < x, n <= x, n == x, n != x, n > x, n >= x, x < n, x <= n, x == n, x != n, x > n, x >= n


def chains(x: float, n: int) -> Any:
    return 0 < x <= n != 3, -1 < n < 3, n == n == 1 < x, 1 < 0 < x, 2 > 1 > n, (n > 0) == (x > 0), True < n, (x > 0) + n


def logic(x: float, n: int) -> Any:
    a, b = x > 0, n > 1
    return (
        a and b,
        a or b,
        not a,
        not x,
        not n,
        x and -x,
        x or 2.5,
        n and n + 1,
        n or 9,
        a and b or not a,
        True and n,
        0 or n,
        float(a and x),
    )


def conditionals(x: float, n: int) -> Any:
    return x if n else -x, 1 if x > 0 else 2 if n > 1 else 3, (n if n > 1 else 0) if True else x


def bits(n: int, m: int) -> Any:
    a, b = n > 0, m > 1
    return n & m, n | m, n ^ m, ~n, n << 2, n >> 1, n << m, a & b, a | b, a ^ b, a & n, +a, -a, 3 & 5, n & 255


def tuples(x: float, n: int) -> Any:
    t = (x, n, (x, 1))
    a, (b, c) = t[0], t[2]
    return t[-2], a, b, c, len(t), t


CONSTANTS = (3, (0.5, True))


class Limits:
    high = 8.0


def constants(x: float) -> Any:
    return x * CONSTANTS[0], CONSTANTS[1], math.pi * x, np.e, Limits.high, x + math.inf, bl.pi, math.tau


def builtins_(x: float, n: int) -> Any:
    return (
        abs(x),
        abs(n),
        abs(x > 0),
        int(x),
        int(n),
        int(x > 0),
        float(n),
        float(x > 0),
        bool(x),
        bool(n),
        round(x),
        round(n),
    )


def extremes(x: float, y: float) -> Any:
    return min(x, y), max(x, y), min(x, y, 0.0), max(-0.0, x, y), min((x, y)), max((x, 1.0, y))


def roundings(x: float) -> Any:
    return math.floor(x), math.ceil(x), math.trunc(x), round(x), int(x), math.floor(3), math.ceil(2.5)


def of_math(x: float, y: float) -> Any:
    return (
        math.fabs(x),
        math.copysign(x, y),
        math.sqrt(math.fabs(x)),
        math.isnan(x),
        math.isinf(x),
        math.isfinite(x),
        math.nextafter(x, y),
    )


def fmod(x: float, y: float) -> float:
    return math.fmod(x, y)


def of_known_numbers(x: float) -> Any:
    return (
        x + math.sin(0.5),
        x * math.log(8.0, 2.0),
        round(2.675, 2) + x,
        math.hypot(3.0, 4.0),
        divmod(7, 2),
        min(1, 2.0),
    )


FINITE = [x for x in SPECIAL if math.isfinite(x)]
NOT_ZERO = [x for x in SPECIAL if x != 0]
EDGES = [0, 5, -(2**63), 2**63 - 1, 2**53 + 1, 2**53, -(2**53) - 1, 2**62]
NEAR = [0.0, 5.0, 5.5, -(2.0**63), 2.0**63, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, INF, -INF, NAN, 1e19, -1e19]


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (divisions, (SPECIAL, NOT_ZERO)),
        (divisions_of_ints, ([-7, -1, 0, 5, 2**40], [-3, -1, 2, 7])),
        (powers, ([1.5, -0.0], [0, 1, 2, 7])),
        (powers_of_known_exponents, ([1, 2, -4],)),
        (comparisons, (EDGES, NEAR)),
        (comparisons, ([0, 2**64 - 1, 2**63, 2**53 + 1], [*NEAR, 2.0**64])),
        (chains, ([-1.0, 0.5, 2.0, NAN], [0, 1, 3])),
        (logic, ([-1.0, 0.0, -0.0, 2.0, NAN], [0, 1, 3])),
        (conditionals, ([-1.0, 2.0], [0, 1, 3])),
        (bits, ([-5, 0, 6], [0, 1, 3])),
        (tuples, ([1.5], [2])),
        (constants, ([1.5],)),
        (builtins_, ([x for x in FINITE if abs(x) < 1e15], [-3, 0, 4])),
        (extremes, (SPECIAL, SPECIAL)),
        (roundings, ([-2.5, -0.0, 0.5, 1.5, 2.5, 7.9, 2.0**53, -1e15 - 0.5],)),
        (of_math, (SPECIAL, SPECIAL)),
        (fmod, (FINITE, NOT_ZERO)),
        (of_known_numbers, ([1.5],)),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_expressions_mean_what_they_mean_in_python(function: Function, columns: Any) -> None:
    check(function, *columns)


def test_functions_of_math_are_those_of_the_engine() -> None:
    x = np.array([0.25, 0.5, 0.75])
    names = "acos asin atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan tanh asinh".split()
    for name in names:
        function = random_functions.compiled(
            0,
            f"def f(x):\n    return math.{name}(x), math.{name}(1)\n"
            if name != "atanh"
            else f"def f(x):\n    return math.{name}(x), x\n",
        )
        np.testing.assert_array_equal(bl.vectorize(function)(x)[0], getattr(bl, name)(bl.asarray(x)))
    y = np.array([2.0, -0.5, 0.0])

    @bl.vectorize
    def two(x, y):  # type: ignore[no-untyped-def]
        return (
            math.atan2(x, y),
            math.hypot(x, y),
            math.pow(x, y),
            math.log(x, 4),
            math.degrees(x),
            math.radians(y),
            math.acosh(y + 3),
        )

    a, b = bl.asarray(x), bl.asarray(y)
    factors = 180 / math.pi, math.pi / 180
    expected = [
        bl.atan2(a, b),
        bl.hypot(a, b),
        a**b,
        bl.log(a) / math.log(4),
        a * factors[0],
        b * factors[1],
        bl.acosh(b + 3),
    ]
    for found, known in zip(two(x, y), expected, strict=True):
        np.testing.assert_array_equal(found, np.asarray(known))


def test_functions_of_broadloom_and_numpy_promote_as_with_arrays() -> None:
    @bl.vectorize
    def f(x, n):  # type: ignore[no-untyped-def]
        return (
            bl.where(n > 1, x, n),
            bl.clip(x, 0, 1),
            np.hypot(x, n),
            bl.astype(n, bl.int8),
            np.float32(x),
            np.sqrt(4),
            np.fabs(n),
            bl.floor_divide(n, 2),
        )

    x, n = np.array([-1.5, 0.5], "f4"), np.array([1, 2], "i2")
    made = f(x, n)
    assert [part.dtype.name for part in made] == [
        "float32",
        "float32",
        "float32",
        "int8",
        "float32",
        "float64",
        "float64",
        "int16",
    ]
    assert [part.tolist() for part in made[:2]] == [[1.0, 0.5], [0.0, 0.5]]
    assert made[5].tolist() == [2.0, 2.0] and made[7].tolist() == [0, 1]


# Calls.


def clamped(x: float, low: float = 0.0, *, high: float = 1.0) -> float:
    if x < low:
        return low
    return high if x > high else x


@bl.vectorize
def triangular(n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n + 1):
        total += i
    return total


@bl.vectorize(["float32(float32)", "float64(float64)"])
def halved(x):  # type: ignore[no-untyped-def]
    return x / 2


def test_functions_call_functions() -> None:
    factor = 3

    def f(x: float, n: int) -> Any:
        a = clamped(x) + clamped(x, high=2.0, low=-1.0)
        b = 0
        while b < n:
            b += clamped(b, 1, high=factor)
        return a, b

    check(f, [-2.0, 0.5, 9.0], [0, 1, 7])

    @bl.vectorize
    def g(n):  # type: ignore[no-untyped-def]
        return triangular(n) + triangular(2), halved(n)

    made = g(np.array([0, 3]))
    assert made[0].tolist() == [3, 9] and made[1].tolist() == [0.0, 1.5]


def test_lambdas_are_told_apart_by_their_place() -> None:
    both = [bl.vectorize(f) for f in (lambda x: x + 1, lambda x: x * 2 if x > 1 else -x)]
    x = np.array([1.0, 3.0])
    assert both[0](x).tolist() == [2.0, 4.0] and both[1](x).tolist() == [-1.0, 6.0]
    f = bl.vectorize(
        lambda x, y=2: (
            x  # over several lines
            + y
        )
    )
    assert f(x).tolist() == [3.0, 5.0]
    outer = lambda x: lambda y: y * 10 if y else 1.0  # noqa: E731
    assert bl.vectorize(outer(0))(x).tolist() == [10.0, 30.0]


def test_arguments_broadcast_and_are_passed_as_python_passes_them() -> None:
    @bl.vectorize
    def f(x, y, k=2, *, offset=1.0):  # type: ignore[no-untyped-def]
        return x * k + offset, y

    x, y = np.array([1.0, 2.0]), np.array([[1], [2], [3]])
    first, second = f(x, y)
    # Each result has the shape of all arguments.
    assert first.shape == second.shape == (3, 2)
    assert first[2].tolist() == [3.0, 5.0] and second[:, 1].tolist() == [1, 2, 3]
    assert f(x, y=3, k=np.array([3, 1]), offset=0)[0].tolist() == [3.0, 2.0]
    assert f([1, 2], 3)[0].tolist() == [3.0, 5.0]
    with pytest.raises(TypeError, match=r"f\(\): missing a required argument: 'y'"):
        f(x)
    with pytest.raises(TypeError, match=r"f\(\): got an unexpected keyword argument 'z'"):
        f(x, y, z=1)
    with pytest.raises(bl.ShapeError):
        f(x, np.ones(3))
    with pytest.raises(TypeError, match="`y`"):
        f(x, "text")
    assert bl.vectorize(lambda x: 1)(np.ones((2, 3))).tolist() == [[1] * 3] * 2
    out = np.empty(2)
    assert bl.vectorize(lambda x: x + 1)(x, out=out) is out and out.tolist() == [2.0, 3.0]


def test_arrays_give_lazy_arrays_and_numpys_give_numpys() -> None:
    f = bl.vectorize(lambda x, n: x if n > 1 else x / 2)
    x, n = np.array([1.0, 2.0]), np.array([1, 2])
    assert type(f(x, n)) is np.ndarray
    for made in (f(bl.asarray(x), n), f(x, n=bl.asarray(n))):
        assert isinstance(made, bl.Array) and not made._handle.is_evaluated
        assert made.tolist() == [0.5, 2.0]
    later = f(bl.asarray(x), 1)
    x[0] = 7.0
    assert later.tolist() == [3.5, 1.0]
    # Without arrays, the result is what `jit` returns.
    assert type(f(3.0, 1)) is type(bl.jit(bl.sqrt)(2.0)) and f(3.0, 1) == 1.5
    assert f(np.float32(3.0), 1).dtype == np.float32
    assert "where" in f.text(x, n) and "where" in f.explain(x, n) and repr(f) == "<vectorize of <lambda>>"


def test_a_jitted_function_calls_vectorized_ones() -> None:
    @bl.jit
    def f(n, k):  # type: ignore[no-untyped-def]
        return bl.sum(triangular(n) * k)

    assert f(np.array([1, 2, 3]), 2) == 20
    assert f(np.array([4]), 3) == 30


def test_kernels_are_kept_by_dtypes() -> None:
    f = bl.vectorize(lambda x, y: x + y)
    for x, y, dtype in [
        (np.ones(2, "f4"), 1.5, "float32"),
        (np.ones(5, "f4"), 2.5, "float32"),
        (np.ones(2, "f4"), np.float64(1.5), "float64"),
        (np.ones(2, "i1"), 1, "int8"),
        (np.ones(2, "i1"), 1.5, "float64"),
        (np.ones(2, "?"), np.ones(2, "?"), "int64"),
    ]:
        assert f(x, y).dtype.name == dtype
    assert len(f.entries()) == 5


# Dtypes.


def test_numbers_are_weak_and_branches_promote() -> None:
    x = np.array([-1.0, 2.0], "f4")

    @bl.vectorize
    def f(x, n):  # type: ignore[no-untyped-def]
        sign = 1.0 if x < 0 else -1.0
        total, one = 0, x if n > 1 else n
        for i in range(3):
            total = total + i * x
        half = 0.5
        if n:
            half = x
        count = 2 if n > 1 else x > 0
        return (
            sign * x,
            total,
            one,
            half,
            math.floor(x) * x,
            float(x) * x,
            int(x),
            round(x),
            x // 2,
            i,
            (n > 1) * x,
            count * x,
        )

    made = f(x, np.array([1, 2], "i2"))
    names = "float32 float32 float32 float32 float32 float64 int64 int64 float32 int64 float32 float32"
    assert [part.dtype.name for part in made] == names.split()
    assert made[1].tolist() == [-3.0, 6.0] and made[2].tolist() == [1.0, 2.0]
    assert made[10].tolist() == [0.0, 2.0] and made[11].tolist() == [0.0, 4.0]


def test_integers_of_different_dtypes_are_compared_by_their_values() -> None:
    @bl.vectorize
    def f(n, m, k):  # type: ignore[no-untyped-def]
        below = 0
        for i in range(-2, 3):
            below += i < n
        return n < m, m <= n, n == m, m > -1, n > -1, below, n < 300, k < 300, k > -5, max(n, m)

    made = f(np.array([1, 2**64 - 1], "u8"), np.array([-1, 2**63 - 1]), np.array([7, 255], "u1"))
    expected = [[False, False], [True, True], [False, False], [False, True], [True, True], [3, 5], [True, False]]
    assert [part.tolist() for part in made[:7]] == expected
    assert made[7].all() and made[8].all()


def test_the_rule_of_promotion_is_numpys_always(strict: None) -> None:
    f = bl.vectorize(lambda x, n: x + n * 0.5 if n > 0 else n)
    x, n = np.array([1, 2], "f4"), np.array([1, -2], "i4")
    for made in (f(x, n), np.asarray(f(bl.asarray(x), n))):
        assert made.dtype == np.float64 and made.tolist() == [1.5, -2.0]


def test_signatures_choose_by_safe_conversions() -> None:
    assert halved(np.ones(2, "f4")).dtype == np.float32
    assert halved(np.ones(2, "i2")).dtype == np.float32
    assert halved(np.ones(2, "i8")).dtype == np.float64
    assert halved(np.ones(2, "f4"))[0] == 0.5 and halved(bl.asarray([1, 2]))[1] == 1.0

    @bl.vectorize([(bl.int64, np.int8), "float32(int16, double)", "(f8, b1)"])
    def f(x, y):  # type: ignore[no-untyped-def]
        return x + y

    assert f(np.ones(2, "u4"), np.ones(2, "i1")).dtype == np.int64
    assert f(np.ones(2, "i2"), np.ones(2, "i2")).dtype == np.float32
    assert f(np.ones(2, "f4"), True).dtype == np.float64
    assert f(np.ones(2, "u4"), 100).tolist() == [101, 101]
    with pytest.raises(bl.LiteralError, match="1000 cannot be represented as int8"):
        f(np.ones(2, "u4"), 1000)
    with pytest.raises(
        bl.VectorizeError,
        match=r"f: no signature takes \(float32, int16\) by a safe conversion; there are \(int64, int8\); ",
    ):
        f(np.ones(2, "f4"), np.ones(2, "i2"))
    with pytest.raises(bl.VectorizeError, match=r"no signature takes \(int64, float64\)"):
        bl.vectorize(["int64(int64, int64)"])(lambda x, y: x + y)(np.ones(2, "i8"), 0.5)
    one = bl.vectorize("int32(int32)")(lambda x: x * 2)
    assert one(np.ones(2, "i2")).dtype == np.int32
    with pytest.raises(bl.VectorizeError, match="returns 2 values"):
        bl.vectorize("int32(int32)")(lambda x: (x, x))(np.ones(2, "i2"))
    for wrong in ("float64", "float65(int64)", "float64(", ["float64()"], 3, (), ("a",), []):
        with pytest.raises((TypeError, ValueError), match="signature"):
            bl.vectorize(wrong)  # type: ignore[call-overload]


def test_operations_that_raise_in_python_mean_what_they_mean_for_arrays() -> None:
    @bl.vectorize
    def f(x, n):  # type: ignore[no-untyped-def]
        return (
            n // 0,
            n % 0,
            x / 0,
            x // 0.0,
            x % 0.0,
            n + 9223372036854775807,
            n**-n,
            math.sqrt(x),
            math.log(0.0),
            1 / 0,
            int(x * 1e300),
            n << 64,
        )

    x, n = np.array([-1.0]), np.array([2])
    expected = [0, 0, -INF, -INF, NAN, -(2**63) + 1, 0, NAN, -INF, INF, -(2**63), 0]
    assert [random_functions.bits(part.tolist()[0]) for part in f(x, n)] == [random_functions.bits(y) for y in expected]


def test_what_an_element_does_not_reach_raises_nothing() -> None:
    def safe(n: int, m: int) -> Any:
        a = n // m if m else -1
        b = m != 0 and n % m == 1
        c = m == 0 or n // m > 2
        d = 0 < m < n // m
        total = 0
        if m:
            total += divmod(n, m)[0]
            for i in range(n // m):
                total += n // (m - i) if m - i else 0
        while m and n // m > total:
            total += 1
        return a, b, c, d, total, bl.remainder(n, m) if m else 0

    columns = np.array([7, 7, -8, 9]), np.array([2, 0, 0, 4])
    found = bl.vectorize(safe, int_division="error")(*columns)
    for at, (n, m) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        bare = int(np.remainder(n, m)) if m else 0
        a, b, c, d, total, _ = safe(n, m) if not m else (*safe(n, m)[:5], 0)
        assert [part.tolist()[at] for part in found] == [a, b, c, d, total, bare]
    with pytest.raises(bl.DivisionError):
        bl.vectorize(lambda n, m: n // m if m < 9 else 0, int_division="error")(*columns)


def grown(x: float, n: int) -> float:
    """Never ends if x is not positive; divides by n."""
    while x < 10:
        x += x
        for i in range(2):
            x += n // n
            x += 0 * i
    return x


def test_loops_run_only_for_the_elements_that_reach_them() -> None:
    def f(x: float, n: int) -> Any:
        a = b = c = d = 0.0
        if x > 0 and n:
            a = grown(x, n)
            while b < 10:
                b += x
            while True:
                c += x
                if c > 10:
                    break
            for i in range(3):
                d += i // n
            for i in range(0, 9, 2):
                d -= i // n
        for _ in range(n):
            d += divmod(n, n)[0]
        e = grown(x, n) if n and x > 1 else 0.0
        while x > 0 and n and a < grown(x, n):
            a += 1.0
        return a, b, c, d, e

    check(f, [-1.0, 0.0, 1.5], [0, 1, 2])

    def g(x: float, n: int) -> float:
        for i in range(3):
            if n == i:
                break
        else:
            while x < 10:
                x *= 2
        return x

    # The loop after `else` does not end for elements that end by `break`.
    check(g, [-1.0], [0, 1, 2])
    check(g, [1.5], [0, 7])

    def within(x: float, n: int) -> float:
        total = 0.0
        for _ in range(n):
            y = 1.0
            while y < 10:
                y += x
            total += y
        return total

    # The inner loop would not end, but is not reached.
    check(within, [-1.0], [0, -1])
    check(within, [1.5], [0, 3])

    def few(n: int) -> int:
        total = 0
        if n < 100:
            for i in range(n):
                total += i
        return total

    n = np.array([5, 2**62])
    assert bl.vectorize(few, max_time=30)(n).tolist() == [10, 0]

    def h(n: int, step: int) -> int:
        count = 0
        for _ in range(n, 0, step):
            count += 1
        for _ in range(0, n, step):
            count += 1
        return count

    # A range of step 0, which is an error in Python, is empty.
    assert bl.vectorize(h, int_division="error")(np.array([5, 5, 5]), np.array([0, -2, 2])).tolist() == [0, 3, 3]


def test_a_loop_that_does_not_end_is_an_error() -> None:
    def f(x: float) -> float:
        while x > 0:
            x = x + 1
        return x

    with pytest.raises(bl.LimitError, match="element 1"):
        bl.vectorize(f)(np.array([-1.0, 2.0]))

    def waiting(x: float) -> float:
        while x > 0:
            pass
        for _ in range(3):
            y = x  # noqa: F841
        return x

    # Loops of which no value is used are not computed.
    assert bl.vectorize(waiting)(np.array([-1.0, 2.0])).tolist() == [-1.0, 2.0]

    def many(n: int) -> int:
        k = 0
        for k in range(0, n, 2):  # noqa: B007
            pass
        for _ in range(n // 2):
            k += 1
        return k

    # A range ends by itself.
    assert bl.vectorize(many)(np.array([2_100_000])).tolist() == [many(2_100_000)]


def test_ranges_end_at_the_last_integers() -> None:
    low, high = -(2**63), 2**63 - 1

    def up(n: int) -> int:
        count = 0
        for i in range(9223372036854775800, 9223372036854775807, n):
            count += i % 10
        return count

    def down(n: int) -> int:
        count = 0
        for i in range(-9223372036854775800, -9223372036854775807, n):
            count += i % 10
        return count

    def wide(a: int, b: int, step: int) -> int:
        count = 0
        for _ in range(a, b, step):
            count += 1
        return count

    check(up, [1, 2, 5, high])
    check(down, [-1, -2, -5, low])
    check(wide, [low, high, 0], [low, high, 0], [2**61, -(2**61), high, low])


# Refusals.

REFUSED: list[tuple[str, int, int, str, str]] = [
    # The body of a function of x, n and m; the line and the column of the error; what is refused, and the advice.
    ("assert x", 2, 5, "`assert`", "return nan"),
    ("raise x", 2, 5, "`raise`", "return nan"),
    ("try:\n        x = 1\n    except E:\n        pass", 2, 5, "`try`", "`if`"),
    ("with x:\n        pass", 2, 5, "`with`", "whole function"),
    ("match n:\n        case 1:\n            x = 2.0", 2, 5, "`match`", "`elif`"),
    ("del x", 2, 5, "`del`", "leave it out"),
    ("global g", 2, 5, "`global`", "return the value"),
    ("import math", 2, 5, "`import`", "outside"),
    ("from math import pi", 2, 5, "`import`", "outside"),
    ("def g():\n        pass", 2, 5, "a function in the function", "outside"),
    ("class A:\n        pass", 2, 5, "a class", "tuples"),
    ("g = lambda: 1", 2, 9, "a function in the function", "outside"),
    ("if (y := x) > 1:\n        pass", 2, 9, "`:=`", "statement of its own"),
    ("y = [x]", 2, 9, "a list", "a tuple"),
    ("y = {x}", 2, 9, "a set", "a tuple"),
    ("y = {1: x}", 2, 9, "a dict", "a tuple"),
    ("y = [x for _ in range(3)]", 2, 9, "a list", "loop"),
    ("y = max(x for _ in range(3))", 2, 12, "a generator", "loop"),
    ("yield x", 2, 5, "`yield`", "as a tuple"),
    ("y = f'{x}'", 2, 9, "a text", "numbers"),
    ("y = 'x'", 2, 9, "str, which is no real number", "numbers"),
    ("y = 2j", 2, 9, "complex, which is no real number", "numbers"),
    ("y = None", 2, 9, "None", "nan"),
    ("y = math.hypot(*(x, x))", 2, 20, "`\\*`", "one by one"),
    ("y = max(**x)", 2, 9, "`\\*\\*`", "one by one"),
    ("é = x[0]", 2, 9, "an index of a number", "pass the element"),
    ("y = (x, n)[m]", 2, 9, "an index that differs between elements", "conditional"),
    ("y = (x, n)[2]", 2, 9, "the index 2 of a tuple of 2", ""),
    ("y = (x, n)[:1]", 2, 9, "a slice", "unpack"),
    ("y = x.real", 2, 9, "`.real` of a number", "function"),
    ("y = math.sine(x)", 2, 9, "no attribute 'sine'", "misspelt"),
    ("y = sine(x)", 2, 9, "there is no `sine`", "misspelt"),
    ("y = x @ x", 2, 9, "a matrix product", "sums of products"),
    ("y = x in (1, 2)", 2, 9, "`in`", "`or`"),
    ("y = n is m", 2, 9, "`is`", "`==`"),
    ("y = (x, n) + 1", 2, 9, "a tuple of 2 is used as a number", ""),
    ("y = (x, n) < 1", 2, 9, "a tuple of 2 is used as a number", ""),
    ("y = math + 1", 2, 9, "`math` is used as a number", ""),
    ("if math:\n        pass", 2, 8, "`math` is used as a condition", ""),
    ("y = x & n", 2, 9, "bitwise_and: does not take float64", ""),
    ("y = n + 2 ** 64", 2, 9, "18446744073709551616 cannot be represented as int64", "a float"),
    ("y = x(1)", 2, 9, "a call of a number", ""),
    ("print(x)", 2, 5, "a call of `print`", "another result"),
    ("y = sum((x, n))", 2, 9, "a call of `sum`", "`\\+`"),
    ("y = bl.sum(x)", 2, 9, "`sum` is no function of elements", "`\\+`"),
    ("y = bl.mean(x)", 2, 9, "`mean` is no function of elements", "outside"),
    ("y = np.median(x)", 2, 9, "`median` is no function of elements", "outside"),
    ("y = np.bitwise_count(n)", 2, 9, "`bitwise_count` is no function of elements", "outside"),
    ("y = math.gamma(x)", 2, 9, "`math.gamma` has no equivalent", "outside"),
    ("y = math.sqrt(x, n)", 2, 9, "`math.sqrt` takes 1 argument here, not 2", ""),
    ("y = round(x, 2)", 2, 9, "`round` with a number of digits", "round\\(x \\* 100\\) / 100"),
    ("y = max(x, key=n)", 2, 9, "the keyword `key`", "by their positions"),
    ("y = max(x)", 2, 9, "`max` of one number", "at least two"),
    ("y = len(x)", 2, 9, "`len` of a number", "as an argument"),
    ("y = np.complex64(x)", 2, 9, "a conversion to complex64", "float64"),
    ("y = jitted(x)", 2, 9, "`triangular` is a function of arrays", "`vectorize` instead of `jit`"),
    ("y = helper(x)", 2, 9, "missing a required argument: 'b'", ""),
    ("y = again(x)", 2, 12, "`again` calls itself", "a loop"),
    ("y = array * x", 2, 9, "`array` is an array from outside of the function", "a parameter"),
    ("for i in (1, 2):\n        pass", 2, 14, "a loop over something else than a range", "range"),
    ("for i, j in range(3):\n        pass", 2, 9, "a loop over something else than a name", "range"),
    ("for i in range(x):\n        pass", 2, 20, "a float in `range`", "int"),
    ("for i in range(1, 2, 0):\n        pass", 2, 14, "the step of `range` is 0", "step"),
    ("for i in range(1, 2, 3, 4):\n        pass", 2, 14, "`range` takes one to three numbers", ""),
    ("a, b = x", 2, 5, "a number is unpacked", "one name"),
    ("a, b = x, n, m", 2, 5, "a tuple of 3 is unpacked to 2 names", ""),
    ("x[0] = 1", 2, 5, "an assignment to something else than a name", "return"),
    ("x.a += 1", 2, 5, "an assignment to something else than a name", "return"),
    ("return", 2, 5, "`return` without a value", "return a number"),
    ("if n:\n        return x", 6, 5, "", ""),
    ("y = y + 1", 2, 9, "`y` has no value here", "before"),
    ("if n:\n        y = 1\n    y = y", 4, 9, "`y` may have no value here, since one branch", "before the branch"),
    (
        "for i in range(n):\n        y = 1\n    y = y",
        4,
        9,
        "`y` may have no value here, if the loop ends at once",
        "before the loop",
    ),
    (
        "for i in range(n):\n        y = 1\n        break\n    y = y",
        5,
        9,
        "`y` may have no value here, if the loop ends at once",
        "before the loop",
    ),
    (
        "for i in range(n):\n        if i:\n            x = y\n        y = x",
        4,
        17,
        "`y` may have no value here, in the first iteration",
        "before the loop",
    ),
    (
        "y = x\n    for i in range(n):\n        y = (y, y)",
        3,
        5,
        "`y` changes its type in the loop: it is a number on one path and a tuple",
        "one name for each",
    ),
    (
        "y = x\n    if n:\n        y = (x, x)\n    y = y",
        5,
        9,
        "`y` differs between the paths to here: it is a number on one path and a tuple",
        "two names",
    ),
]

NAMES = {
    "np": np,
    "bl": bl,
    "jitted": bl.jit(triangular.__wrapped__),
    "array": np.ones(3),
    "helper": lambda a, b: a,
}


@pytest.fixture
def made_of_text() -> Iterator[Callable[[str], Function]]:
    def make(text: str) -> Function:
        function = random_functions.compiled(-1, text)
        function.__globals__.update(NAMES)
        return function  # type: ignore[no-any-return]

    yield make
    linecache.cache.pop("<random -1>", None)


def again(x: float) -> float:
    return again(x - 1) if x > 0 else x


@pytest.mark.parametrize(
    ("body", "line", "column", "what", "advice"), REFUSED, ids=[row[0].split("\n")[0] for row in REFUSED]
)
def test_what_is_refused_is_refused_by_its_place(
    made_of_text: Callable[[str], Function], body: str, line: int, column: int, what: str, advice: str
) -> None:
    text = f"def f(x, n, m):\n    {body}\n    return x\n"
    if what == "":
        text, line, what, advice = (
            text.replace("\n    return x\n", "\n"),
            2,
            "`f` may end without a result",
            "every path",
        )
    if "again" in body:
        text = "def f(x, n, m):\n    return again(x)\n"
    function = made_of_text(text)
    file = "<random -1>"
    if "again" in body:
        function.__globals__["again"] = again
        file, line = __file__, again.__code__.co_firstlineno + 1
    with pytest.raises(bl.VectorizeError) as caught:
        bl.vectorize(function)(np.array([1.0]), np.array([1]), np.array([2]))
    error = caught.value
    assert error.place == (line, column), str(error)
    assert str(error).removeprefix("vectorize: ").startswith(f"{file}:{line}:{column}: `"), str(error)
    assert re.search(f": [^`]*{what}" if what[0] != "`" else f": {what}", str(error)), str(error)
    assert re.search(advice, error.help or "") and isinstance(error, TypeError)
    assert error.__cause__ is None and error.__suppress_context__


def test_syntax_is_refused_when_the_function_is_decorated() -> None:
    with pytest.raises(bl.VectorizeError, match=r"test_vectorize.py:\d+:13: `assert x > 0, x`: `assert`") as caught:

        @bl.vectorize
        def f(x):  # type: ignore[no-untyped-def]
            assert x > 0, x
            return x

    assert caught.value.place is not None and caught.value.place[1] == 13


def test_functions_without_source_say_so() -> None:
    names: dict[str, Any] = {}
    exec("def f(x): return x\ng = lambda x: x", names)
    for function in (names["f"], names["g"]):
        with pytest.raises(bl.VectorizeError, match="there is no source of .*; define it in a file or a notebook"):
            bl.vectorize(function)
    for other in (math.sin, np.sin, len, Limits, triangular, bl.jit(again), Limits().__init__):  # type: ignore[misc]
        with pytest.raises(bl.VectorizeError, match="has no source in Python; pass a function"):
            bl.vectorize(other)
    with pytest.raises(bl.VectorizeError, match="any number of arguments; name each parameter"):
        bl.vectorize(lambda *x: x[0])
    with pytest.raises(ValueError, match="parameter `out`"):
        bl.vectorize(lambda out: out)
    with pytest.raises(TypeError, match="no option `nopython`; there are threads"):
        bl.vectorize(nopython=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="threads is 'a'"):
        bl.vectorize(lambda x: x, threads="a")  # type: ignore[call-overload]


def test_a_function_that_is_nested_too_deeply_is_refused(made_of_text: Callable[[str], Function]) -> None:
    function = made_of_text(f"def f(x):\n    return x{' + 1.0' * 900}\n")
    with pytest.raises(bl.VectorizeError, match="nested too deeply"):
        bl.vectorize(function)(np.ones(1))
    long = made_of_text("def f(x):\n" + "    x = x * 1.5 - 1.0\n" * 3000 + "    return x\n")
    assert bl.vectorize(long)(np.array([2.0])).tolist() == [2.0]


def test_functions_are_pickled_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(triangular)) is triangular
    made = pickle.loads(pickle.dumps(bl.vectorize("float32(float32, int64)", threads=1)(pair_sum)))
    assert made(np.ones(2, "f4"), 3).dtype == np.float32 and made._options == {"threads": 1}
    # Kernels are pickled of a function that can't be imported.
    f = bl.vectorize(lambda x: x if x > 1 else -x)
    assert f(np.array([1.0, 3.0])).tolist() == [-1.0, 3.0]
    assert pickle.loads(pickle.dumps(f))(np.array([1.0, 3.0])).tolist() == [-1.0, 3.0]


def test_names_outside_of_the_function_are_read_when_it_is_compiled() -> None:
    factor = 2

    def f(x: float) -> float:
        return x * factor

    g = bl.vectorize(f)
    assert g(np.array([1.0])) == 2.0
    factor = 3
    assert g(np.array([1.0])) == 2.0
    assert g(np.array([1.0], "f4")) == 3.0


def test_a_function_that_never_returns_is_refused(made_of_text: Callable[[str], Function]) -> None:
    for body in ("pass", "n = n + 1"):
        f = bl.vectorize(made_of_text(f"def f(n):\n    while True:\n        {body}\n    return n\n"))
        with pytest.raises(bl.VectorizeError, match="`f` never returns; end its loops by `break`"):
            f(np.array([1, 2]))


# Random functions.


def test_random_functions_agree_with_cpython() -> None:
    count = 3000 if os.environ.get("BROADLOOM_TESTS") == "thorough" else 300
    for seed in range(count):
        found = random_functions.compare(seed)
        assert found is None, found


def test_random_functions_reach_every_construct() -> None:
    text = "".join(random_functions.Generator(seed).function() for seed in range(300))
    for words in (
        "while True",
        "break",
        "continue",
        "else:",
        "elif",
        "for k",
        "//",
        "%",
        " or ",
        " and ",
        "**",
        "return",
        "divmod",
        "math.fmod",
    ):
        assert text.count(words) > 20, words
