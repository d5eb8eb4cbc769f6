"""Tests `broadloom.random`: the bits of each draw follow from its definition, views and jitted functions see the same
bits, and the other draws have their distributions.

Draws that are exact functions of the bits are compared bit for bit with `philox_reference`, and draws that are elementary
functions of them to a few ulp. Draws whose method the documentation leaves open are compared with SciPy's distributions.
The seeds are fixed, so a p-value that passes once passes always; a correct draw has a p-value below `LEAST_P` once in a
million tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import philox_reference as reference
import pytest

import broadloom as bl

Draw = Callable[[Any, Any], Any]

SEEDS = [0, 1, 20111115, 2**32 - 1, 2**32, 0x0123456789ABCDEF, 2**63, 2**64 - 1]
SIZES = [0, 1, 3, 5, 4097]
LEAST_P = 1e-6
#: The number of elements in tests of distributions, for draws without and with rejections.
MANY, FEWER = 500_000, 100_000

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


# The reference code.


def test_the_reference_has_the_published_vectors() -> None:
    ones = 0xFFFFFFFF
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    assert reference.philox([0] * 4, [0] * 2).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert reference.philox([ones] * 4, [ones] * 2).tolist() == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert reference.philox(*pi).tolist() == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    # A key's upper words and the two halves of a block's number are the counter.
    block = reference.blocks([*pi[1], *pi[0][2:]], pi[0][0] | pi[0][1] << 32)
    assert block.tolist() == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


# Keys.


@pytest.mark.parametrize("seed", SEEDS)
def test_a_key_consists_of_the_words_of_its_seed(seed: int) -> None:
    key = bl.random.key(seed)
    assert isinstance(key, bl.Array)
    same(key, np.array([seed % 2**32, seed // 2**32, 0, 0], np.uint32))


@pytest.mark.parametrize("seed", SEEDS)
def test_children_are_blocks_that_no_draw_reads(seed: int) -> None:
    key = bl.random.key(seed)
    same(bl.random.split(key), reference.split(words(key), 2))
    same(bl.random.split(key, 5), reference.split(words(key), 5))
    same(bl.random.split(key, 5)[:3], bl.random.split(key, 3))
    for data in (0, 1, 77, 2**31, 2**32 - 1):
        same(bl.random.fold_in(key, data), reference.fold_in(words(key), data))
    # The children of a child have the words of their parent in all four places.
    child = bl.random.split(bl.random.fold_in(key, 3), 4)[2]
    expected = reference.split(reference.fold_in(words(key), 3), 4)[2]
    same(child, expected)
    same(bl.random.bits(child, 9), reference.bits32(expected, 9))
    same(bl.random.fold_in(child, 8), reference.fold_in(expected, 8))


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.int32])
def test_an_array_folded_in_makes_an_array_of_keys(dtype: Any) -> None:
    key = bl.random.key(9)
    data = np.array([[0, 1, 2], [500, 2**31 - 1, 3]], dtype)
    keys = bl.random.fold_in(key, bl.asarray(data))
    assert keys.shape == (2, 3, 4)
    same(keys, reference.fold_in(words(key), data))
    same(keys[1, 0], bl.random.fold_in(key, 500))
    same(bl.random.fold_in(key, bl.asarray(data[0])), keys[0])


@pytest.mark.parametrize(
    "key",
    [np.zeros(4), np.zeros(4, np.float32), np.zeros(3, np.uint32), np.zeros((4, 3), np.uint32), np.uint32(1)],
    ids=["float64", "float32", "three words", "three words in each row", "no axis"],
)
@pytest.mark.parametrize("name", ["bits", "normal", "gamma", "split", "fold_in"])
def test_an_array_that_is_no_key_is_refused(name: str, key: Any) -> None:
    arguments = {"split": (2,), "fold_in": (1,), "gamma": (5, 1.0)}.get(name, (5,))
    with pytest.raises(FAILURES):
        np.asarray(getattr(bl.random, name)(bl.asarray(key), *arguments))


# Draws that are exact functions of the bits.


def test_bits_are_those_of_other_implementations() -> None:
    # The C++ standard defines philox4x32 by its ten thousandth number.
    made = bl.random.bits(bl.random.key(20111115), [10000])
    assert made.dtype == bl.uint32 and int(np.asarray(made)[-1]) == 1955073260
    expected = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], np.uint32)
    same(bl.random.bits(bl.random.key(0), [4]), expected)
    same(
        bl.random.bits(bl.random.key(0), 2, dtype=bl.uint64),
        np.array([0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C], np.uint64),
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", SIZES)
def test_bits(seed: int, n: int) -> None:
    key = bl.random.key(seed)
    same(bl.random.bits(key, n), reference.bits32(words(key), n))
    same(bl.random.bits(key, n, dtype=bl.uint32), reference.bits32(words(key), n))
    same(bl.random.bits(key, n, dtype=bl.uint64), reference.bits64(words(key), n))


@pytest.mark.parametrize("open", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [*SIZES, 100_003])
def test_uniform(dtype: str, open: bool, n: int) -> None:
    key = bl.random.key(123)
    made = np.asarray((bl.random.uniform_open if open else bl.random.uniform)(key, n, dtype=getattr(bl, dtype)))
    same(made, reference.uniform(words(key), n, dtype, open))
    assert np.all((made > 0 if open else made >= 0) & (made < 1))


@pytest.mark.parametrize("p", [0.0, 2.0**-32, 0.3, 0.5, 1 - 2.0**-32, 1.0])
@pytest.mark.parametrize("n", SIZES)
def test_bernoulli(p: float, n: int) -> None:
    key = bl.random.key(5)
    made = bl.random.bernoulli(key, p, n)
    assert made.dtype == bl.bool
    same(made, reference.bernoulli(words(key), n, p))
    if p in (0, 1):
        assert np.all(np.asarray(made) == bool(p))


def test_bernoulli_compares_without_rounding_to_float32() -> None:
    # The probability is between an element and the next greater fraction of 32 bits.
    key = bl.random.key(6)
    drawn = reference.bits32(words(key), 100)
    for i in (0, 17, 99):
        fraction = int(drawn[i]) / 2**32
        assert not np.asarray(bl.random.bernoulli(key, fraction, 100))[i]
        assert np.asarray(bl.random.bernoulli(key, fraction + 2.0**-33, 100))[i]


INTEGERS: dict[str, tuple[int, int, str]] = {
    "one value": (41, 42, "int64"),
    "a die": (1, 7, "int64"),
    "half of the words rejected": (*RANGES["32 bits"], "int64"),
    "a quarter rejected": (0, 3 * 2**30, "int64"),
    "one value less than 32 bits": (-7, 2**32 - 8, "int64"),
    "32 bits": (-(2**31), 2**31, "int64"),
    "one value more than 32 bits": (0, 2**32 + 1, "int64"),
    "between": (*RANGES["between"], "int64"),
    "half of the pairs of words rejected": (*RANGES["64 bits"], "int64"),
    "63 bits": (-(2**63), 0, "int64"),
    "almost all of int64": (-(2**63), 2**63 - 1, "int64"),
    "almost all of uint64": (0, 2**64 - 1, "uint64"),
    "great values of uint64": (2**64 - 100, 2**64 - 3, "uint64"),
    "almost all of int32": (-(2**31), 2**31 - 1, "int32"),
    "almost all of uint32": (0, 2**32 - 1, "uint32"),
    "int16": (-300, 30_000, "int16"),
    "int8": (-100, 100, "int8"),
    "uint8": (0, 200, "uint8"),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    low, high, dtype = INTEGERS[name]
    key = bl.random.fold_in(bl.random.key(11), 4)
    n = 1003
    expected = reference.integers(words(key), [low] * n, [high] * n)
    assert all(low <= value < high for value in expected)
    same(bl.random.integers(key, low, high, n, dtype=getattr(bl, dtype)), np.array(expected, dtype))


def test_integers_are_int64_by_default() -> None:
    assert bl.random.integers(bl.random.key(1), 0, 10, 3).dtype == bl.int64


def test_integers_with_bounds_of_each_element() -> None:
    key = bl.random.key(12)
    low = np.array([[0], [-50], [-1], [-(2**62) - 1]])
    high = np.array([1, 10, 2**31 + 1, 2**32, 2**32 + 2, 2**62])
    lows, highs = (np.broadcast_to(bound, (4, 6)) for bound in (low, high))
    expected = reference.integers(words(key), lows.ravel().tolist(), highs.ravel().tolist())
    made = bl.random.integers(key, bl.asarray(low), bl.asarray(high), (4, 6))
    same(made, np.array(expected).reshape(4, 6))
    expected = reference.integers(words(key), [-3] * 24, highs.ravel().tolist())
    same(bl.random.integers(key, -3, bl.asarray(high), (4, 6)), np.array(expected).reshape(4, 6))
    # Each member of a batch of keys has the same bounds.
    keys = bl.random.split(key, 3)
    made = bl.random.integers(keys, 0, bl.asarray(high), 6)
    for member in range(3):
        same(made[member], np.array(reference.integers(words(keys)[member], [0] * 6, high.tolist())))


@pytest.mark.parametrize("bounds", [(5, 5), (5, 4), (0, -(2**62)), (0, 0)])
def test_an_empty_range_is_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(FAILURES):
        bl.random.integers(bl.random.key(1), *bounds, 3)


# Draws that are elementary functions of the bits.


def cauchy(top: Any, p: Any, u: Any) -> Any:
    size = 1 / np.tan(np.pi * p)
    return np.where(top, -size, size)


def logistic(top: Any, p: Any, u: Any) -> Any:
    size = np.log(p) - np.log1p(-p)
    return np.where(top, size, -size)


#: For each draw, its function of the top bit, p and u, and its absolute error in units of the dtype's epsilon, where
#: the formula has a difference that cancels or, for cauchy, an angle that is rounded.
MAPS: dict[str, tuple[Callable[[Any, Any, Any], Any], int]] = {
    "normal": (lambda top, p, u: reference.normal(top, p), 0),
    "exponential": (lambda top, p, u: 0 - np.log(u), 0),
    "laplace": (lambda top, p, u: np.where(top, np.log(2 * p), 0 - np.log(2 * p)), 0),
    "logistic": (logistic, 4),
    "gumbel": (lambda top, p, u: -np.log(np.where(top, -np.log(p), -np.log1p(-p))), 4),
    "cauchy": (cauchy, 4),
}
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}


def close(got: Any, expected: Any, dtype: str, epsilons: float = 0, scale: Any = 1.0) -> None:
    """Asserts that the results are near to the reference; `scale` is the condition of the function."""
    got = np.asarray(got)
    assert (got.dtype, got.shape) == (np.dtype(dtype), expected.shape)
    error = np.abs(got.astype(np.float64) - expected)
    bound = TOLERANCE[dtype] * scale * np.abs(expected) + epsilons * np.finfo(dtype).eps
    assert np.all(error <= bound), (np.argmax(error - bound), np.max(error - bound))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", MAPS)
def test_elementary_functions_of_the_bits(name: str, dtype: str) -> None:
    function, epsilons = MAPS[name]
    for key, n in ((bl.random.key(2**40 + 7), 100_003), (bl.random.split(bl.random.key(3), 2)[1], 5)):
        made = getattr(bl.random, name)(key, n, dtype=getattr(bl, dtype))
        close(made, function(*reference.element_fractions(words(key), n, dtype)), dtype, epsilons)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sigma", [1.0, 0.25, 3.0, 0.0])
def test_lognormal(sigma: float, dtype: str) -> None:
    key, n = bl.random.key(77), 20_001
    top, p, _ = reference.element_fractions(words(key), n, dtype)
    exponent = sigma * reference.normal(top, p)
    made = bl.random.lognormal(key, sigma, n, dtype=getattr(bl, dtype))
    # The exponential function turns an absolute error of its argument into a relative one.
    close(made, np.exp(exponent), dtype, scale=1 + np.abs(exponent))
    if sigma == 1:
        same(bl.random.lognormal(key, 1.0, n, dtype=getattr(bl, dtype)), made)


#: Seeds and elements whose 32 bits are as near to the ends of a range as float32 can tell: found by a search.
EXTREMES = {
    "u is 1 and p is 1/2": (13045, 138, 0xFFFFFFD7),
    "p is 1/2 without the top bit": (52137, 1715, 0x7FFFFFFB),
    "p is small with the top bit": (482, 4083, 0x80000029),
    "u and p are small": (42591, 93, 0x00000029),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_bits_at_the_ends_of_their_range(name: str) -> None:
    seed, i, bits = EXTREMES[name]
    key = bl.random.key(seed)
    assert int(np.asarray(bl.random.bits(key, 4097))[i]) == bits
    for function, (formula, epsilons) in MAPS.items():
        made = np.asarray(getattr(bl.random, function)(key, 4097, dtype=bl.float32))
        expected = formula(*reference.element_fractions(words(key), 4097, "float32"))
        assert np.isfinite(made[i])
        close(made[i], expected[i], "float32", epsilons)
    exponential = np.asarray(bl.random.exponential(key, 4097, dtype=bl.float32))
    assert not np.signbit(exponential).any()
    opened = np.asarray(bl.random.uniform_open(key, 4097, dtype=bl.float32))
    assert 0 < opened[i] < 1
    assert np.asarray(bl.random.uniform(key, 4097, dtype=bl.float32))[i] < 1


# Gamma variates, whose rejections are defined too.


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("a", [1e-3, 0.1, 0.5, 0.999, 1.0, 1.5, 10.0, 1e6])
def test_gamma(a: float, dtype: str) -> None:
    key, n = bl.random.key(31), 5003
    with np.errstate(under="ignore"):
        expected = reference.gamma(words(key), np.full(n, a))
    made = np.asarray(bl.random.gamma(key, a, n, dtype=getattr(bl, dtype)))
    assert made.dtype == dtype
    # A power has a relative error in proportion to the logarithm of its result. Subnormal results have fewer digits.
    rtol, atol = {"float32": 1e-6, "float64": 2e-12}[dtype], float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(made, expected, rtol=rtol, atol=atol)
    if dtype == "float32":
        rounded = np.asarray(bl.random.gamma(key, a, n)).astype(np.float32)
        np.testing.assert_array_equal(made, rounded)


def test_gamma_with_a_parameter_of_each_element() -> None:
    a = np.array([[0.0, -1.0, np.nan, np.inf, -np.inf], [0.25, 1.0, 3.0, 1e4, 0.0]])
    made = np.asarray(bl.random.gamma(bl.random.key(8), bl.asarray(a), (2, 5)))
    np.testing.assert_array_equal(made[0], [0, np.nan, np.nan, np.inf, np.nan])
    expected = reference.gamma(words(bl.random.key(8)), np.where(a > 0, np.minimum(a, 1e4), 1).ravel()).reshape(2, 5)
    np.testing.assert_allclose(made[1, :4], expected[1, :4], rtol=1e-12)
    assert made[1, 4] == 0


@pytest.mark.parametrize("a, expected", [(0.0, 0.0), (-2.0, np.nan), (np.nan, np.nan), (np.inf, np.inf)])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_gamma_at_the_ends_of_its_parameter(a: float, expected: float, dtype: str) -> None:
    made = np.asarray(bl.random.gamma(bl.random.key(8), a, 7, dtype=getattr(bl, dtype)))
    np.testing.assert_array_equal(made, np.full(7, expected, dtype))


# Distributions.


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
WHOLE = {"poisson", "binomial", "geometric"}


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


# What holds for every draw.


@every_draw
def test_an_element_depends_on_the_key_and_its_place_alone(draw: Draw) -> None:
    key = bl.random.key(41)
    lazy = draw(key, 4097)
    assert isinstance(lazy, bl.Array) and lazy.shape == (4097,)
    whole = np.asarray(lazy)
    assert whole.dtype == lazy.dtype
    same(lazy, whole)
    for n in SIZES:
        same(draw(key, n), whole[:n])
    for shape in ([3, 5], (3, 5), (2, 3, 7), (1, 1), (17, 241), (0, 3), (4, 0), [9], (3, 1, 2)):
        same(draw(key, shape), whole[: int(np.prod(shape))].reshape(shape))
    same(draw(key, ()), whole[0])
    same(draw(key, []), whole[0])
    other = np.asarray(draw(bl.random.key(42), 4097))
    assert whole.tobytes() != other.tobytes()


@every_draw
def test_a_batch_of_keys_draws_what_each_key_draws(draw: Draw) -> None:
    key = bl.random.key(43)
    keys = bl.random.split(key, 3)
    for shape in ((), (7,), (3, 5)):
        made = draw(keys, shape)
        assert made.shape == (3, *shape)
        same(made, np.stack([np.asarray(draw(keys[member], shape)) for member in range(3)]))
    same(draw(keys[::-1], 7), np.asarray(draw(keys, 7))[::-1])
    folded = bl.random.fold_in(key, bl.asarray(np.arange(6).reshape(2, 3)))
    made = draw(folded, 5)
    assert made.shape == (2, 3, 5)
    same(made[1, 2], draw(bl.random.fold_in(key, 5), 5))
    same(draw(folded[:0], 5), np.asarray(made)[:0])


@every_draw
def test_a_view_has_the_bits_of_the_whole(draw: Draw) -> None:
    key = bl.random.key(44)
    whole = np.asarray(draw(key, (37, 111)))

    def drawn() -> Any:
        # A new array each time, so that the view is computed without the values of the whole.
        return draw(key, (37, 111))

    same(drawn()[5:20], whole[5:20])
    same(drawn()[::-1], whole[::-1])
    same(drawn()[30:2:-3, 100:3:-7], whole[30:2:-3, 100:3:-7])
    same(drawn()[3], whole[3])
    same(drawn()[:, -1], whole[:, -1])
    same(drawn()[36, 110], whole[36, 110])
    same(drawn().T, whole.T)
    same(drawn().T[7:, ::-2], whole.T[7:, ::-2])
    same(bl.reshape(drawn(), (111, 37)), whole.reshape(111, 37))
    same(bl.reshape(drawn().T, (-1,))[5:], whole.T.reshape(-1)[5:])
    same(draw(key, 4107)[::-1], np.asarray(draw(key, 4107))[::-1])
    same(bl.broadcast_to(draw(key, (37, 1)), (2, 37, 3)), np.broadcast_to(np.asarray(draw(key, (37, 1))), (2, 37, 3)))


@every_draw
def test_a_jitted_function_draws_the_same_bits(draw: Draw) -> None:
    jitted = bl.jit(lambda key: draw(key, (13, 79)))
    reversed_columns = bl.jit(lambda key: draw(key, (13, 79)).T[::-1])
    child = bl.jit(lambda key: draw(bl.random.fold_in(key, 3), 9))
    for seed in (45, 2**50 + 1):
        key = bl.random.key(seed)
        whole = np.asarray(draw(key, (13, 79)))
        same(jitted(key), whole)
        same(jitted(np.asarray(key)), whole)
        same(reversed_columns(key), whole.T[::-1])
        same(child(key), draw(bl.random.fold_in(key, 3), 9))
    keys = bl.random.split(bl.random.key(46), 2)
    same(jitted(keys), draw(keys, (13, 79)))


@every_draw
def test_any_number_of_threads_draws_the_same_bits(draw: Draw) -> None:
    key = bl.random.key(47)
    made = []
    for threads in (1, 2):
        with bl.set_options(threads=threads):
            made.append(np.asarray(draw(key, (251, 401))))
    same(made[0], made[1])
    same(bl.jit(lambda key: draw(key, (251, 401)), threads=2)(key), made[0])
    same(made[0].ravel()[:1000], draw(key, 1000))


def test_draws_fuse_with_other_operations() -> None:
    key, x = bl.random.key(48), np.linspace(0, 1, 1001)
    uniform, normal = (np.asarray(draw(key, 1001)) for draw in (bl.random.uniform, bl.random.normal))
    same(bl.random.uniform(key, 1001) * 2 - 1, uniform * 2 - 1)
    same(bl.asarray(x) + bl.random.normal(key, 1001), x + normal)
    same(bl.jit(lambda key, x: x + bl.random.normal(key, 1001))(key, x), x + normal)
    same(bl.random.uniform(key, 1001) - bl.random.uniform(key, 1001), np.zeros(1001))
    hits = bl.random.bernoulli(key, 0.25, 1001)
    assert int(bl.sum(bl.where(hits, 1, 0))) == np.count_nonzero(np.asarray(hits))
    assert float(bl.max(bl.random.uniform(key, 1001))) == uniform.max()


def test_keys_are_derived_inside_a_jitted_function() -> None:
    key = bl.random.key(49)
    same(bl.jit(lambda key: bl.random.split(key, 3))(key), bl.random.split(key, 3))
    same(
        bl.jit(lambda key, data: bl.random.fold_in(key, data))(key, np.arange(4)), bl.random.fold_in(key, bl.arange(4))
    )
    made = bl.jit(lambda key: bl.random.uniform(bl.random.split(key, 3)[1], 5))(key)
    same(made, bl.random.uniform(bl.random.split(key, 3)[1], 5))
    same(
        bl.jit(lambda key: bl.random.uniform(bl.random.split(key, 3), 5))(key),
        bl.random.uniform(bl.random.split(key, 3), 5),
    )


@pytest.mark.parametrize("shape", [-1, (3, -2)])
def test_a_negative_extent_is_refused(shape: Any) -> None:
    with pytest.raises(FAILURES):
        bl.random.uniform(bl.random.key(1), shape)


#: The parameters, after the shape, of each draw that has a dtype.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bits": (),
    "normal": (),
    "exponential": (),
    "laplace": (),
    "logistic": (),
    "gumbel": (),
    "cauchy": (),
    "lognormal": (1.0,),
    "integers": (0, 5),
    "gamma": (2.0,),
    "beta": (2.0, 3.0),
    "chisquare": (2.0,),
    "student_t": (2.0,),
    "poisson": (2.0,),
    "binomial": (5, 0.5),
    "geometric": (0.5,),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_float16_is_refused_except_by_uniform(name: str) -> None:
    with pytest.raises(bl.Error):
        getattr(bl.random, name)(bl.random.key(1), *ARGUMENTS[name], 3, dtype=bl.float16)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint16", "float32", "bool"])
def test_bits_are_unsigned_integers_of_32_or_64_bits(dtype: str) -> None:
    with pytest.raises(FAILURES):
        bl.random.bits(bl.random.key(1), 3, dtype=getattr(bl, dtype))


def test_default_dtypes() -> None:
    key = bl.random.key(1)
    assert bl.random.uniform(key, 3).dtype == bl.float64
    for name, arguments in ARGUMENTS.items():
        expected = {"bits": bl.uint32}.get(name, bl.int64 if name in WHOLE | {"integers"} else bl.float64)
        assert getattr(bl.random, name)(key, *arguments, 3).dtype == expected


# The generator with NumPy's methods.

SIZE = (2, 3)

#: A call of a method, the same call with NumPy's names of the parameters, and the draw that it is for its key.
METHODS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Draw]] = {
    "random": (lambda g: g.random(SIZE), lambda g: g.random(size=SIZE), lambda key, n: bl.random.uniform(key, n)),
    "uniform": (
        lambda g: g.uniform(-2.0, 6.0, SIZE),
        lambda g: g.uniform(low=-2.0, high=6.0, size=SIZE),
        lambda key, n: bl.random.uniform(key, n) * 8 - 2,
    ),
    "integers": (
        lambda g: g.integers(-4, 10, SIZE),
        lambda g: g.integers(low=-4, high=10, size=SIZE),
        lambda key, n: bl.random.integers(key, -4, 10, n),
    ),
    "integers from 0": (
        lambda g: g.integers(10, None, SIZE),
        lambda g: g.integers(10, size=SIZE),
        lambda key, n: bl.random.integers(key, 0, 10, n),
    ),
    "integers and their end": (
        lambda g: g.integers(1, 6, SIZE, endpoint=True),
        lambda g: g.integers(low=1, high=6, size=SIZE, endpoint=True),
        lambda key, n: bl.random.integers(key, 1, 7, n),
    ),
    "integers of int16": (
        lambda g: g.integers(1, 6, SIZE, bl.int16),
        lambda g: g.integers(1, 6, size=SIZE, dtype=bl.int16),
        lambda key, n: bl.random.integers(key, 1, 6, n, dtype=bl.int16),
    ),
    "standard_normal": (
        lambda g: g.standard_normal(SIZE),
        lambda g: g.standard_normal(size=SIZE),
        lambda key, n: bl.random.normal(key, n),
    ),
    "normal": (
        lambda g: g.normal(100.0, 2.5, SIZE),
        lambda g: g.normal(loc=100.0, scale=2.5, size=SIZE),
        lambda key, n: bl.random.normal(key, n) * 2.5 + 100,
    ),
    "lognormal": (
        lambda g: g.lognormal(1.5, 0.5, SIZE),
        lambda g: g.lognormal(mean=1.5, sigma=0.5, size=SIZE),
        lambda key, n: bl.exp(bl.random.normal(key, n) * 0.5 + 1.5),
    ),
    "standard_exponential": (
        lambda g: g.standard_exponential(SIZE),
        lambda g: g.standard_exponential(size=SIZE),
        lambda key, n: bl.random.exponential(key, n),
    ),
    "exponential": (
        lambda g: g.exponential(3.0, SIZE),
        lambda g: g.exponential(scale=3.0, size=SIZE),
        lambda key, n: bl.random.exponential(key, n) * 3,
    ),
    "laplace": (
        lambda g: g.laplace(-50.0, 3.0, SIZE),
        lambda g: g.laplace(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.laplace(key, n) * 3 - 50,
    ),
    "logistic": (
        lambda g: g.logistic(-50.0, 3.0, SIZE),
        lambda g: g.logistic(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.logistic(key, n) * 3 - 50,
    ),
    "gumbel": (
        lambda g: g.gumbel(-50.0, 3.0, SIZE),
        lambda g: g.gumbel(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.gumbel(key, n) * 3 - 50,
    ),
    "standard_cauchy": (
        lambda g: g.standard_cauchy(SIZE),
        lambda g: g.standard_cauchy(size=SIZE),
        lambda key, n: bl.random.cauchy(key, n),
    ),
    "standard_gamma": (
        lambda g: g.standard_gamma(2.5, SIZE),
        lambda g: g.standard_gamma(shape=2.5, size=SIZE),
        lambda key, n: bl.random.gamma(key, 2.5, n),
    ),
    "gamma": (
        lambda g: g.gamma(2.5, 4.0, SIZE),
        lambda g: g.gamma(shape=2.5, scale=4.0, size=SIZE),
        lambda key, n: bl.random.gamma(key, 2.5, n) * 4,
    ),
    "beta": (
        lambda g: g.beta(2.0, 0.5, SIZE),
        lambda g: g.beta(a=2.0, b=0.5, size=SIZE),
        lambda key, n: bl.random.beta(key, 2.0, 0.5, n),
    ),
    "chisquare": (
        lambda g: g.chisquare(3.0, SIZE),
        lambda g: g.chisquare(df=3.0, size=SIZE),
        lambda key, n: bl.random.chisquare(key, 3.0, n),
    ),
    "standard_t": (
        lambda g: g.standard_t(3.0, SIZE),
        lambda g: g.standard_t(df=3.0, size=SIZE),
        lambda key, n: bl.random.student_t(key, 3.0, n),
    ),
    "poisson": (
        lambda g: g.poisson(40.0, SIZE),
        lambda g: g.poisson(lam=40.0, size=SIZE),
        lambda key, n: bl.random.poisson(key, 40.0, n),
    ),
    "binomial": (
        lambda g: g.binomial(100, 0.4, SIZE),
        lambda g: g.binomial(n=100, p=0.4, size=SIZE),
        lambda key, n: bl.random.binomial(key, 100, 0.4, n),
    ),
    "geometric": (
        lambda g: g.geometric(0.05, SIZE),
        lambda g: g.geometric(p=0.05, size=SIZE),
        lambda key, n: bl.random.geometric(key, 0.05, n),
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_generator_draws_from_a_key_of_its_call(name: str) -> None:
    positional, named, draw = METHODS[name]
    seed = 2**40 + 5
    one, two = bl.random.Generator(seed), bl.random.Generator(seed)
    calls = [np.asarray(positional(one)) for _ in range(3)]
    for number, made in enumerate(calls):
        expected = np.asarray(draw(bl.random.fold_in(bl.random.key(seed), number), SIZE))
        assert (made.dtype, made.shape) == (expected.dtype, SIZE)
        if made.dtype.kind == "f":
            np.testing.assert_allclose(made, expected, rtol=1e-13, atol=1e-13)
        else:
            np.testing.assert_array_equal(made, expected)
        lazy = named(two)
        assert isinstance(lazy, bl.Array)
        same(lazy, made)
    # Small counts may repeat by chance, but not in three calls of this seed.
    assert any(made.tobytes() != calls[0].tobytes() for made in calls[1:])


def test_the_generator_counts_its_calls() -> None:
    seed = 17
    generator = bl.random.Generator(seed)
    key = bl.random.key(seed)
    same(generator.random(5), bl.random.uniform(bl.random.fold_in(key, 0), 5))
    same(generator.standard_normal(4), bl.random.normal(bl.random.fold_in(key, 1), 4))
    # The number of a call is that of its method call, whenever the array is evaluated.
    third, fourth = generator.random(3), generator.integers(1000, size=3)
    same(fourth, bl.random.integers(bl.random.fold_in(key, 3), 0, 1000, 3))
    same(third, bl.random.uniform(bl.random.fold_in(key, 2), 3))
    assert np.asarray(generator.random()).shape == ()
    same(generator.random((2, 2)), bl.random.uniform(bl.random.fold_in(key, 5), (2, 2)))
    assert (
        np.asarray(bl.random.Generator(18).random(5)).tobytes()
        != np.asarray(bl.random.Generator(17).random(5)).tobytes()
    )


@pytest.mark.parametrize("arguments", [(0,), (5, 5), (5, 4)])
def test_an_empty_range_of_the_generator_is_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(FAILURES):
        bl.random.Generator(1).integers(*arguments, size=3)


def test_the_generators_defaults_are_numpys() -> None:
    seed, key = 19, bl.random.fold_in(bl.random.key(19), 0)

    def generator() -> Any:
        return bl.random.Generator(seed)

    same(generator().uniform(size=4), bl.random.uniform(key, 4))
    same(generator().normal(size=4), bl.random.normal(key, 4))
    same(generator().exponential(size=4), bl.random.exponential(key, 4))
    same(generator().laplace(size=4), bl.random.laplace(key, 4))
    same(generator().logistic(size=4), bl.random.logistic(key, 4))
    same(generator().gumbel(size=4), bl.random.gumbel(key, 4))
    same(generator().lognormal(size=4), bl.random.lognormal(key, 1.0, 4))
    same(generator().gamma(2.0, size=4), bl.random.gamma(key, 2.0, 4))
