"""Tests the bits of `broadloom.random`: draws that are exact functions of the bits are compared bit for bit with
`philox_reference`, and draws that are elementary functions of them to a few ulp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import philox_reference as reference
import pytest
from random_draws import FAILURES, RANGES, SIZES, TOLERANCE, same, words

import broadloom as bl

SEEDS = [0, 1, 20111115, 2**32 - 1, 2**32, 0x0123456789ABCDEF, 2**63, 2**64 - 1]


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
