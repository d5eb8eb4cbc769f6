# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""Draws from distributions. `key` is a key of `broadloom.random`, or an array of keys along all axes but the last: the
result then has a draw for each. Other arrays and numbers broadcast to the result. Each row has the map from bits: w is
a word of 32 bits, b has the bits of the dtype (32, or 64 for float64), n is their number, s is the top bit of b and r
has the others, p = (r + ½)/2ⁿ and u = (b + ½)/2ⁿ, where r and b are rounded to the dtype, and then the sums. All
functions raise TypeError for an array that is no key and for a dtype that the distribution does not have, and
ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broadloom._array import Array
from broadloom._draws import drawn
from broadloom._operators import Number

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


__all__ = [
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "cauchy",
    "chisquare",
    "exponential",
    "gamma",
    "geometric",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "poisson",
    "student_t",
    "uniform",
    "uniform_open",
]


def bits(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Random bits. Gives uint32 or uint64, by default uint32.

    >>> bl.random.bits(bl.random.key(0), 4)
    Array([1713891541, 3781805453, 3159862348, 2600524760], dtype=uint32)
    """
    return drawn("bits", shape, dtype, key)


def uniform(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Uniform in [0, 1): the upper 24 bits of w · 2⁻²⁴, or 53 of 64 · 2⁻⁵³; for float16 11 · 2⁻¹¹. Gives float, by
    default float64."""
    return drawn("uniform", shape, dtype, key)


def uniform_open(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Uniform in (0, 1): the upper 23 bits of w, and ½, · 2⁻²³, or 52 of 64 · 2⁻⁵²; for float16 10 · 2⁻¹⁰. Gives float,
    by default float64."""
    return drawn("uniform_open", shape, dtype, key)


def integers(
    key: Array, low: Array | Number, high: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None
) -> Array:
    """Uniform integers from low up to, but not including, high, without bias (Lemire, 2019); low, where no integer is
    between them. Gives integer, by default int64.

    >>> bl.random.integers(bl.random.key(5), 0, 10, 8)
    Array([7, 3, 9, 6, 6, 5, 9, 6], dtype=int64)
    """
    return drawn("integers", shape, dtype, key, low, high)


def bernoulli(key: Array, p: Array | Number, shape: int | Sequence[int]) -> Array:
    """True with probability p: w · 2⁻³² < p. Gives bool."""
    return drawn("bernoulli", shape, None, key, p)


def normal(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The standard normal distribution: ndtri(p) if s, else -ndtri(p). Gives float32 or float64, by default float64."""
    return drawn("normal", shape, dtype, key)


def exponential(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The exponential distribution of mean 1: 0 - log(u). Gives float32 or float64, by default float64."""
    return drawn("exponential", shape, dtype, key)


def laplace(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The Laplace distribution of scale 1: log(2p) if s, else 0 - log(2p). Gives float32 or float64, by default
    float64."""
    return drawn("laplace", shape, dtype, key)


def logistic(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The logistic distribution of scale 1: log(p) - log1p(-p) if s, else its negative. Gives float32 or float64, by
    default float64."""
    return drawn("logistic", shape, dtype, key)


def gumbel(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The Gumbel distribution: -log(E), with E = -log(p) if s, else -log1p(-p). Gives float32 or float64, by default
    float64."""
    return drawn("gumbel", shape, dtype, key)


def cauchy(key: Array, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The Cauchy distribution: -1/tan(πp) if s, else 1/tan(πp). Gives float32 or float64, by default float64."""
    return drawn("cauchy", shape, dtype, key)


def lognormal(key: Array, sigma: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """exp(sigma · x), x of the standard normal distribution. Gives float32 or float64, by default float64."""
    return drawn("lognormal", shape, dtype, key, sigma)


def gamma(key: Array, a: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The gamma distribution of shape a and scale 1 (Marsaglia and Tsang, 2000). Gives float32 or float64, by default
    float64."""
    return drawn("gamma", shape, dtype, key, a)


def beta(
    key: Array, a: Array | Number, b: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None
) -> Array:
    """The beta distribution: x/(x + y), x and y of gamma distributions of shapes a and b. Gives float32 or float64, by
    default float64."""
    return drawn("beta", shape, dtype, key, a, b)


def chisquare(key: Array, df: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The χ² distribution of df degrees of freedom: 2x, x of a gamma distribution of shape df/2. Gives float32 or
    float64, by default float64."""
    return drawn("chisquare", shape, dtype, key, df)


def student_t(key: Array, df: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Student's t distribution of df degrees of freedom: a normal variate times sqrt(df/2 / x), x of a gamma
    distribution of shape df/2. Gives float32 or float64, by default float64."""
    return drawn("student_t", shape, dtype, key, df)


def poisson(key: Array, lam: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The Poisson distribution of mean lam: by inversion below 10, else PTRS (Hörmann, 1993); -1 for no valid mean.
    Gives integer, by default int64."""
    return drawn("poisson", shape, dtype, key, lam)


def binomial(
    key: Array, n: Array | Number, p: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None
) -> Array:
    """Successes among n trials of probability p: by inversion where n · min(p, 1 - p) < 10, else BTRS (Hörmann, 1993);
    -1 for no valid n or p. Gives integer, by default int64."""
    return drawn("binomial", shape, dtype, key, n, p)


def geometric(key: Array, p: Array | Number, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """The number of the first successful trial of probability p: 1 + floor(log(u) / log1p(-p)), u of 64 bits; -1 for no
    valid p. Gives integer, by default int64."""
    return drawn("geometric", shape, dtype, key, p)
