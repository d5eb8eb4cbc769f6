"""Tests that `divmod` returns the same pair as Python and NumPy, bit for bit; `//` stays the floor of the rounded
quotient."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 2.0, 0.3, 7.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")]
PAIRS = list(itertools.product(SPECIAL, SPECIAL))


def values(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Special values, random ones, and multiples, whose quotient is rounded to an integer."""
    random = np.random.default_rng(1)
    small = random.normal(size=2000)
    multiples = random.integers(1, 1000, 2000)
    x = np.concatenate([[a for a, _ in PAIRS], small * 100, multiples * 0.1, -multiples * 0.3])
    y = np.concatenate([[b for _, b in PAIRS], small[::-1], np.full(2000, 0.1), np.full(2000, 0.3)])
    with np.errstate(all="ignore"):
        return x.astype(dtype), y.astype(dtype)


def bits(x: Any) -> bytes:
    """The bits, with one pattern for NaN."""
    made = np.array(x)
    made[np.isnan(made)] = np.nan
    return made.tobytes()


@pytest.mark.parametrize("function", [divmod, np.divmod, bl.divmod])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_pair_is_numpys(function: Callable[..., Any], dtype: str) -> None:
    x, y = values(dtype)
    with np.errstate(all="ignore"):
        quotient, remainder = np.divmod(x, y)
    got = function(bl.asarray(x), bl.asarray(y))
    assert [bits(part) for part in got] == [bits(quotient), bits(remainder)]
    assert {part.dtype for part in got} == {np.dtype(dtype)}


def test_the_pair_is_pythons() -> None:
    for a, b in PAIRS:
        if b != 0:
            expected = divmod(a, b)
            for got in (divmod(bl.asarray(a), b), divmod(a, bl.asarray(b))):
                assert [bits(float(part)) for part in got] == [bits(part) for part in expected], (a, b)


def test_the_floor_of_the_quotient_stays() -> None:
    one = bl.asarray(1.0)
    assert float(one // 0.1) == 10.0
    assert [float(part) for part in divmod(one, 0.1)] == [9.0, 1.0 % 0.1]
    assert float(bl.floor_divide(one, 0.1)) == 10.0


def test_pairs_of_integers() -> None:
    x = np.array([7, -7, 7, -7, 0], dtype=np.int32)
    y = np.array([2, 2, -2, -2, 5], dtype=np.int32)
    for got in (divmod(bl.asarray(x), bl.asarray(y)), np.divmod(bl.asarray(x), y)):
        assert [part.tolist() for part in got] == [part.tolist() for part in np.divmod(x, y)]
    assert [part.tolist() for part in divmod(7, bl.asarray([2, -2]))] == [[3, -4], [1, -1]]


def test_pairs_of_traced_arrays_and_numbers() -> None:
    @bl.jit
    def pair(x: Any, y: Any) -> Any:
        return divmod(x, y)

    x = np.array([1.0, -1.0, 7.5])
    assert [part.tolist() for part in pair(x, 0.1)] == [part.tolist() for part in np.divmod(x, 0.1)]

    @bl.jit
    def scaled(x: Any, a: float, b: float) -> Any:
        quotient, remainder = divmod(a, b)
        return x * quotient + remainder

    assert scaled(x, 1.0, 0.1).tolist() == (x * 9.0 + 1.0 % 0.1).tolist()


def test_foreign_operands_are_refused() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(bl.asarray([1.0]), "text")  # type: ignore[operator]
