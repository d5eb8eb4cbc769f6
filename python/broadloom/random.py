"""Random numbers as expressions: the same element from the same key everywhere, without memory and without state.

A key is an array of four uint32 words. Element i of a draw is a function of the key and of i in C order, so that slices,
chunks and threads see the numbers of the whole. Two draws of one key have the same bits: `split` makes independent keys.

>>> first, second = bl.random.split(bl.random.key(0))
>>> bool(abs(bl.mean(bl.random.normal(first, 10**6))) < 0.005)
True

`Generator` is an object with the names of NumPy's methods, which makes a key for each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._generated import random as _generated
from broadloom._generated.random import *
from broadloom._operands import shape_of
from broadloom._operators import handle_of, operand

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from broadloom._operators import Number

    Size = int | Sequence[int] | None

__all__ = ["Generator", "fold_in", "key", "split"]
__all__ += _generated.__all__


def key(seed: int) -> Array:
    """The key of a seed: its low word, its high word, and two zeros. A negative seed is taken modulo 2⁶⁴.

    ValueError for a seed outside of -2⁶³…2⁶⁴-1.

    >>> bl.random.key(7)
    Array([7, 0, 0, 0], dtype=uint32)
    """
    number = index(seed)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"key: the seed {number} has more than 64 bits")
    return Array._of(_core.random_key(number % 2**64))


def split(key: Array, n: int = 2) -> Array:
    """`n` independent keys, along a new axis before that of the words. Key j is the same however many are made.

    TypeError for an array that is no key; ValueError for a negative `n`.

    >>> bl.random.split(bl.random.key(5), 3).shape
    (3, 4)
    """
    number = index(n)
    if number < 0:
        raise ValueError(f"split: {number} keys are asked for")
    return Array._of(_core.random_split(handle_of(key), number))


def fold_in(key: Array, data: Array | int) -> Array:
    """A key made of a key and a number; for an array of numbers, a key for each, along a new last axis. Numbers are taken
    modulo 2³².

    TypeError for an array that is no key, and for numbers that are no integers.

    >>> bl.random.fold_in(bl.random.key(5), bl.asarray([1, 2, 3])).shape
    (3, 4)
    """
    number = data % 2**32 if isinstance(data, int) else operand(data)
    return Array._of(_core.random_fold_in(handle_of(key), number))


class Generator:
    """Draws with the names and parameters of the methods of `numpy.random.Generator`, but not its numbers. Call number c, from
    0, draws from the key `fold_in(key(seed), c)`. `size=None` gives the shape to which the parameters broadcast. Results
    are lazy, and keep their numbers.

    >>> rng = bl.random.Generator(7)
    >>> bool((rng.normal(10.0, 0.1, size=1000) > 9).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self._root = key(seed)
        self._calls = count()

    def _draw(self, name: str, size: Size, *parameters: Any, dtype: DTypeLike | None = None, of: Any = ()) -> Array:
        """A draw from the next key. `of` are the operands besides the parameters that have a part in the shape."""
        shapes = [np.shape(x) for x in (*parameters, *of)]
        if size is None:
            size = np.broadcast_shapes(*shapes)
        else:
            extents = shape_of(name, size)
            if np.broadcast_shapes(extents, *shapes) != extents:
                raise ValueError(f"{name}: the parameters do not broadcast to the size {extents}")
        options = {} if dtype is None else {"dtype": dtype}
        made: Array = getattr(_generated, name)(fold_in(self._root, next(self._calls)), *parameters, size, **options)
        return made

    def random(self, size: Size = None, dtype: DTypeLike = np.float64) -> Array:
        """Uniform numbers in [0, 1)."""
        return self._draw("uniform", size, dtype=dtype)

    def uniform(self, low: Array | Number = 0.0, high: Array | Number = 1.0, size: Size = None) -> Array:
        """Uniform numbers in [low, high), rounded, so that `high` may occur."""
        return low + (high - low) * self._draw("uniform", size, of=(low, high))

    def integers(
        self,
        low: Array | int,
        high: Array | int | None = None,
        size: Size = None,
        dtype: DTypeLike = np.int64,
        endpoint: bool = False,
    ) -> Array:
        """Uniform integers from `low` to `high`, which is excluded unless `endpoint` is true; from 0 to `low` if `high` is
        None."""
        first, bound = (0, low) if high is None else (low, high)
        return self._draw("integers", size, first, bound + 1 if endpoint else bound, dtype=dtype)

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64) -> Array:
        """The standard normal distribution."""
        return self._draw("normal", size, dtype=dtype)

    def normal(self, loc: Array | Number = 0.0, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The normal distribution of mean `loc` and standard deviation `scale`."""
        return loc + scale * self._draw("normal", size, of=(loc, scale))

    def lognormal(self, mean: Array | Number = 0.0, sigma: Array | Number = 1.0, size: Size = None) -> Array:
        """The exponential of a normal variate of this mean and standard deviation."""
        # The sum is exponentiated, since the exponentials of its parts overflow earlier.
        exp: Any = np.exp
        made: Array = exp(mean + sigma * self._draw("normal", size, of=(mean, sigma)))
        return made

    def standard_exponential(self, size: Size = None, dtype: DTypeLike = np.float64) -> Array:
        """The exponential distribution of mean 1."""
        return self._draw("exponential", size, dtype=dtype)

    def exponential(self, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The exponential distribution of mean `scale`."""
        return scale * self._draw("exponential", size, of=(scale,))

    def laplace(self, loc: Array | Number = 0.0, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The Laplace distribution."""
        return loc + scale * self._draw("laplace", size, of=(loc, scale))

    def logistic(self, loc: Array | Number = 0.0, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The logistic distribution."""
        return loc + scale * self._draw("logistic", size, of=(loc, scale))

    def gumbel(self, loc: Array | Number = 0.0, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The Gumbel distribution."""
        return loc + scale * self._draw("gumbel", size, of=(loc, scale))

    def standard_cauchy(self, size: Size = None) -> Array:
        """The Cauchy distribution."""
        return self._draw("cauchy", size)

    def standard_gamma(self, shape: Array | Number, size: Size = None, dtype: DTypeLike = np.float64) -> Array:
        """The gamma distribution of scale 1."""
        return self._draw("gamma", size, shape, dtype=dtype)

    def gamma(self, shape: Array | Number, scale: Array | Number = 1.0, size: Size = None) -> Array:
        """The gamma distribution."""
        return scale * self._draw("gamma", size, shape, of=(scale,))

    def beta(self, a: Array | Number, b: Array | Number, size: Size = None) -> Array:
        """The beta distribution."""
        return self._draw("beta", size, a, b)

    def chisquare(self, df: Array | Number, size: Size = None) -> Array:
        """The χ² distribution of `df` degrees of freedom."""
        return self._draw("chisquare", size, df)

    def standard_t(self, df: Array | Number, size: Size = None) -> Array:
        """Student's t distribution of `df` degrees of freedom."""
        return self._draw("student_t", size, df)

    def poisson(self, lam: Array | Number = 1.0, size: Size = None) -> Array:
        """The Poisson distribution of mean `lam`, int64."""
        return self._draw("poisson", size, lam)

    def binomial(self, n: Array | int, p: Array | Number, size: Size = None) -> Array:
        """Successes among `n` trials of probability `p`, int64."""
        return self._draw("binomial", size, n, p)

    def geometric(self, p: Array | Number, size: Size = None) -> Array:
        """The number of the first successful trial of probability `p`, int64."""
        return self._draw("geometric", size, p)
