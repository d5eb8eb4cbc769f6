"""The draws of `broadloom.random` that tests go through, and comparisons of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

Draw = Callable[[Any, Any], Any]

SIZES = [0, 1, 3, 5, 4097]

#: A range of which about half of the 32-bit words are rejected, one of which about half of the 64-bit words are, and one
#: between them, whose words are hardly ever rejected.
RANGES = {"32 bits": (-5, 2**31 - 4), "64 bits": (-(2**62) - 1, 2**62), "between": (17, 2**40 + 3)}

#: Each draw as a function of a key and a shape.
DRAWS: dict[str, Draw] = {
    "bits": lambda key, shape: bl.random.bits(key, shape),
    "bits, uint64": lambda key, shape: bl.random.bits(key, shape, dtype=bl.uint64),
    "uniform": lambda key, shape: bl.random.uniform(key, shape),
    "uniform, float32, open": lambda key, shape: bl.random.uniform_open(key, shape, dtype=bl.float32),
    "uniform, float16": lambda key, shape: bl.random.uniform(key, shape, dtype=bl.float16),
    "normal": lambda key, shape: bl.random.normal(key, shape),
    "normal, float32": lambda key, shape: bl.random.normal(key, shape, dtype=bl.float32),
    "exponential": lambda key, shape: bl.random.exponential(key, shape),
    "laplace": lambda key, shape: bl.random.laplace(key, shape),
    "logistic": lambda key, shape: bl.random.logistic(key, shape),
    "gumbel": lambda key, shape: bl.random.gumbel(key, shape),
    "gumbel, float32": lambda key, shape: bl.random.gumbel(key, shape, dtype=bl.float32),
    "cauchy": lambda key, shape: bl.random.cauchy(key, shape),
    "lognormal": lambda key, shape: bl.random.lognormal(key, 0.5, shape),
    "bernoulli": lambda key, shape: bl.random.bernoulli(key, 0.3, shape),
    "integers, 32 bits": lambda key, shape: bl.random.integers(key, *RANGES["32 bits"], shape),
    "integers, 64 bits": lambda key, shape: bl.random.integers(key, *RANGES["64 bits"], shape),
    "integers, int8": lambda key, shape: bl.random.integers(key, -3, 100, shape, dtype=bl.int8),
    "gamma": lambda key, shape: bl.random.gamma(key, 2.5, shape),
    "gamma, float32": lambda key, shape: bl.random.gamma(key, 0.4, shape, dtype=bl.float32),
    "beta": lambda key, shape: bl.random.beta(key, 0.7, 3.0, shape),
    "chisquare": lambda key, shape: bl.random.chisquare(key, 3.0, shape),
    "student_t": lambda key, shape: bl.random.student_t(key, 4.0, shape),
    "poisson, small": lambda key, shape: bl.random.poisson(key, 2.5, shape),
    "poisson, large": lambda key, shape: bl.random.poisson(key, 200.0, shape),
    "binomial, small": lambda key, shape: bl.random.binomial(key, 9, 0.4, shape),
    "binomial, large": lambda key, shape: bl.random.binomial(key, 1000, 0.6, shape),
    "geometric": lambda key, shape: bl.random.geometric(key, 0.15, shape),
}

TOLERANCE = {"float32": 1e-6, "float64": 1e-13}

WHOLE = {"poisson", "binomial", "geometric"}

FAILURES = (bl.Error, TypeError, ValueError)

every_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def same(got: Any, expected: Any) -> None:
    """Asserts that dtypes, shapes and bits are equal."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)
    assert got.tobytes() == expected.tobytes()


def words(key: Any) -> np.ndarray:
    """The words of a key, for the reference code."""
    return np.asarray(key)
