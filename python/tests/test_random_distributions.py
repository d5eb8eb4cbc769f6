"""Tests the distributions of `broadloom.random`, and parameters at the ends of their ranges.

Draws are compared with SciPy's distributions. The seeds are fixed, so a p-value that passes once passes always; a correct draw
has a p-value below `LEAST_P` once in a million tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_draws import TOLERANCE, WHOLE, same

import broadloom as bl

LEAST_P = 1e-6
#: The number of elements in tests of distributions, for draws without and with rejections.
MANY, FEWER = 500_000, 100_000


def kolmogorov_p(values: np.ndarray, distribution: Any) -> float:
    """The p-value of the two-sided test of Kolmogorov and Smirnov, for many values of a continuous distribution."""
    special = pytest.importorskip("scipy.special")
    n = values.size
    levels = distribution.cdf(np.sort(values).astype(np.float64))
    steps = np.arange(n + 1) / n
    distance = max(np.max(steps[1:] - levels), np.max(levels - steps[:-1]))
    return float(special.kolmogorov(np.sqrt(n) * distance))


def bins_p(values: np.ndarray, distribution: Any) -> float:
    """The p-value of a chi-square test, for values of any distribution. Bins end at quantiles, those of the tails too,
    and at least ten values are expected in each."""
    special = pytest.importorskip("scipy.special")
    n = values.size
    tail = np.array([1e-4, 3e-4, 1e-3, 3e-3])
    ends = np.unique(distribution.ppf(np.concatenate([tail, np.arange(1, 100) / 100, 1 - tail])))
    levels = distribution.cdf(ends)
    kept, last = [], 0.0
    for i, level in enumerate(levels):
        if n * (level - last) >= 10 and n * (1 - level) >= 10:
            kept.append(i)
            last = level
    assert kept, "the distribution has one bin"
    expected = n * np.diff(np.concatenate([[0], levels[kept], [1]]))
    counted = np.diff(np.concatenate([[0], np.searchsorted(np.sort(values), ends[kept], side="right"), [n]]))
    return float(special.chdtrc(len(kept), np.sum((counted - expected) ** 2 / expected)))


#: SciPy's name of a continuous distribution, and its parameters.
CONTINUOUS = {
    "uniform": "uniform",
    "normal": "norm",
    "exponential": "expon",
    "laplace": "laplace",
    "logistic": "logistic",
    "gumbel": "gumbel_r",
    "cauchy": "cauchy",
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str, dtype: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.asarray(getattr(bl.random, name)(bl.random.key(2024), MANY, dtype=getattr(bl, dtype)))
    distribution = getattr(stats, CONTINUOUS[name])()
    assert np.isfinite(values).all()
    assert kolmogorov_p(values, distribution) > LEAST_P
    assert bins_p(values, distribution) > LEAST_P


#: A draw with parameters, and SciPy's name and parameters of its distribution.
DISTRIBUTIONS: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...]]] = [
    ("lognormal", (0.7,), "lognorm", (0.7,)),
    *(("gamma", (a,), "gamma", (a,)) for a in (0.2, 1.0, 7.5)),
    *(("chisquare", (df,), "chi2", (df,)) for df in (0.5, 1.0, 2.0, 5.0, 300.0)),
    *(("student_t", (df,), "t", (df,)) for df in (0.5, 1.0, 3.0, 40.0)),
    ("student_t", (np.inf,), "norm", ()),
    *(("beta", ab, "beta", ab) for ab in ((0.4, 0.6), (1.0, 1.0), (0.5, 4.0), (3.0, 1.5), (60.0, 80.0))),
    *(("poisson", (lam,), "poisson", (lam,)) for lam in (1e-3, 0.5, 3.0, 9.5, 10.0, 11.0, 29.0, 31.0, 150.0, 1e4, 1e8)),
    *(
        ("binomial", (n, p), "binom", (n, p))
        for n, p in (
            (1, 0.3),
            (2, 0.5),
            (15, 0.5),
            (15, 0.97),
            (25, 0.39),
            (25, 0.41),
            (40, 0.75),
            (70, 0.14),
            (70, 0.86),
            (1000, 0.002),
            (1000, 0.5),
            (1000, 0.99),
            (10**6, 0.2),
            (10**9, 1e-9),
            (10**9, 0.7),
        )
    ),
    *(("geometric", (p,), "geom", (p,)) for p in (0.999, 0.7, 0.5, 0.1, 1e-3, 1e-7)),
]


@pytest.mark.parametrize("case", DISTRIBUTIONS, ids=lambda case: f"{case[0]}{case[1]}")
def test_distributions_with_parameters(case: tuple[str, tuple[Any, ...], str, tuple[Any, ...]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    name, parameters, of_scipy, theirs = case
    values = np.asarray(getattr(bl.random, name)(bl.random.key(4711), *parameters, FEWER))
    assert values.dtype == (np.int64 if name in WHOLE else np.float64)
    assert np.isfinite(values).all()
    assert bins_p(values, getattr(stats, of_scipy)(*theirs)) > LEAST_P


@pytest.mark.parametrize(
    "case",
    [
        ("gamma", (0.7,), "gamma"),
        ("beta", (0.8, 2.0), "beta"),
        ("chisquare", (3.0,), "chi2"),
        ("student_t", (3.0,), "t"),
        ("lognormal", (0.7,), "lognorm"),
    ],
    ids=lambda case: case[0],
)
def test_distributions_with_parameters_in_float32(case: tuple[str, tuple[Any, ...], str]) -> None:
    stats = pytest.importorskip("scipy.stats")
    name, parameters, of_scipy = case
    values = np.asarray(getattr(bl.random, name)(bl.random.key(4712), *parameters, FEWER, dtype=bl.float32))
    assert values.dtype == np.float32 and np.isfinite(values).all()
    assert bins_p(values, getattr(stats, of_scipy)(*parameters)) > LEAST_P


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16"])
def test_counts_have_a_dtype(dtype: str) -> None:
    key = bl.random.key(13)
    for name, parameters in (("poisson", (30.0,)), ("binomial", (50, 0.3)), ("geometric", (0.2,))):
        made = getattr(bl.random, name)(key, *parameters, 1000, dtype=getattr(bl, dtype))
        same(made, np.asarray(getattr(bl.random, name)(key, *parameters, 1000)).astype(dtype))


def paired_p(left: np.ndarray, right: np.ndarray) -> float:
    """The p-value of a chi-square test that pairs of uniform variates fall evenly into the squares of a grid."""
    special = pytest.importorskip("scipy.special")
    cells = 16
    counted = np.bincount((left * cells).astype(int) * cells + (right * cells).astype(int), minlength=cells**2)
    expected = left.size / cells**2
    return float(special.chdtrc(cells**2 - 1, np.sum((counted - expected) ** 2 / expected)))


def test_elements_and_keys_are_independent() -> None:
    key = bl.random.key(99)

    def uniform(key: Any) -> np.ndarray:
        return np.asarray(bl.random.uniform(key, 200_000))

    own, next_seed = uniform(key), uniform(bl.random.key(100))
    first, second = np.asarray(bl.random.uniform(bl.random.split(key), 200_000))
    folded = uniform(bl.random.fold_in(key, 0))
    pairs = [
        (own[::2], own[1::2]),
        (own[:-7], own[7:]),
        (own, next_seed),
        (own, first),
        (first, second),
        (first, folded),
        (folded, uniform(bl.random.fold_in(key, 1))),
    ]
    assert min(paired_p(*pair) for pair in pairs) > LEAST_P


# Parameters at the ends of their ranges.


def test_counts_at_the_ends_of_their_parameters() -> None:
    key = bl.random.key(21)
    nan = np.nan

    def drawn(name: str, *parameters: Any) -> list[int]:
        """The distinct values of some elements."""
        made = np.asarray(getattr(bl.random, name)(key, *parameters, 50))
        assert made.dtype == np.int64
        return [int(value) for value in np.unique(made)]

    assert drawn("poisson", 0.0) == [0]
    for lam in (-1.0, -1e-300, nan):
        assert drawn("poisson", lam) == [-1]
    for n in (0, 1, 30, 10**6, 2**40):
        assert drawn("binomial", n, 0.0) == [0]
        assert drawn("binomial", n, 1.0) == [n]
    for n, p in ((10, -0.1), (10, 1.5), (10, nan), (-1, 0.5)):
        assert drawn("binomial", n, p) == [-1]
    assert drawn("binomial", 0, 0.4) == [0]
    assert drawn("geometric", 1.0) == [1]
    assert min(drawn("geometric", 0.9)) == 1


def test_counts_with_parameters_of_each_element() -> None:
    key = bl.random.key(22)
    lam = bl.asarray(np.array([0.0, -1.0, np.nan, 4.0, 500.0]))
    made = np.asarray(bl.random.poisson(key, lam, (3, 5)))
    assert made[:, :3].tolist() == [[0, -1, -1]] * 3 and (made[:, 3:] >= 0).all()
    n, p = np.array([5, 5, -5, 5, 2000]), np.array([0.0, 1.0, 0.5, np.nan, 0.5])
    made = np.asarray(bl.random.binomial(key, bl.asarray(n), bl.asarray(p), (3, 5)))
    assert made[:, :4].tolist() == [[0, 5, -1, -1]] * 3 and (abs(made[:, 4] - 1000) < 300).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_beta_stays_in_its_interval_where_both_gamma_variates_vanish(dtype: str) -> None:
    made = np.asarray(bl.random.beta(bl.random.key(23), 1e-3, 1e-3, 20_000, dtype=getattr(bl, dtype)))
    assert ((made >= 0) & (made <= 1)).all()
    # Six standard deviations of the number of values near 1; a value between the ends is rare.
    assert abs(np.count_nonzero(made > 0.5) - 10_000) < 6 * np.sqrt(5000)
    assert np.count_nonzero((made > 0.1) & (made < 0.9)) < 150


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_student_t_of_infinite_freedom_is_finite(dtype: str) -> None:
    made = np.asarray(bl.random.student_t(bl.random.key(24), np.inf, 10_000, dtype=getattr(bl, dtype)))
    assert np.isfinite(made).all() and abs(made.std() - 1) < 0.05 and np.abs(made).max() < 7


#: A draw as a function of a key, a shape, and a parameter.
PARAMETERS: dict[str, tuple[Callable[[Any, Any, Any], Any], list[float]]] = {
    "bernoulli": (lambda key, shape, p: bl.random.bernoulli(key, p, shape), [0.1, 0.5, 1.0]),
    "lognormal": (lambda key, shape, sigma: bl.random.lognormal(key, sigma, shape), [0.0, 0.5, 2.0]),
    "gamma": (lambda key, shape, a: bl.random.gamma(key, a, shape), [0.1, 1.0, 30.0]),
    "beta": (lambda key, shape, a: bl.random.beta(key, a, 2.0, shape), [0.1, 1.0, 30.0]),
    "chisquare": (lambda key, shape, df: bl.random.chisquare(key, df, shape), [0.1, 2.0, 30.0]),
    "student_t": (lambda key, shape, df: bl.random.student_t(key, df, shape), [0.5, 2.0, 30.0]),
    "poisson": (lambda key, shape, lam: bl.random.poisson(key, lam, shape), [0.1, 8.0, 1e3]),
    "binomial": (lambda key, shape, p: bl.random.binomial(key, 100, p, shape), [0.01, 0.3, 0.9]),
    "geometric": (lambda key, shape, p: bl.random.geometric(key, p, shape), [0.01, 0.5, 1.0]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_element_has_its_own_parameter(name: str) -> None:
    draw, values = PARAMETERS[name]
    key = bl.random.key(25)
    made = draw(key, (3, 101), bl.asarray(np.array(values)[:, None]))
    assert made.shape == (3, 101)
    for row, value in enumerate(values):
        same(made[row], np.asarray(draw(key, (3, 101), value))[row])
