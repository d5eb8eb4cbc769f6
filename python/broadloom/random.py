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
from broadloom._core import Handle
from broadloom._gathers import take
from broadloom._generated import random as _generated
from broadloom._generated.random import *
from broadloom._operands import as_array, one_axis, shape_of
from broadloom._operators import handle_of, operand
from broadloom._through_numpy import values_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from broadloom._operators import Number

    Size = int | Sequence[int] | None

__all__ = ["Generator", "choice", "fold_in", "key", "permutation", "shuffle", "split"]
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


def permutation(key: Array, x: Array | int, axis: int = 0) -> Array:
    """The numbers below `x` in a random order, as int64, or the elements of an array in a random order along an axis, along
    which rows stay together. Lazy.

    TypeError for an array that is no key or is not a single one for an array; ValueError for a negative number, and if there is
    no such axis.

    >>> bl.sort(bl.random.permutation(bl.random.key(5), 4))
    Array([0, 1, 2, 3], dtype=int64)
    """
    if not isinstance(x, (Array, np.ndarray)):
        return Array._of(_core.random_permutation(handle_of(key), _number("permutation", x)))
    extents = np.shape(x)
    at = one_axis("permutation", axis, len(extents))
    order = _core.random_permutation(handle_of(key), extents[at])
    if order.ndim != 1:
        raise TypeError("permutation: several keys permute numbers, not the elements of an array")
    return take(as_array(x), Array._of(order), axis=at)


def shuffle(key: Array, x: Array, axis: int = 0) -> Array:
    """The elements of an array in a random order along an axis: `permutation` of an array.

    >>> bl.random.shuffle(bl.random.key(5), bl.asarray([[1, 2], [3, 4]]), axis=1).shape
    (2, 2)
    """
    return permutation(key, as_array(x), axis)


def choice(
    key: Array,
    a: Array | Sequence[Any] | int,
    shape: int | Sequence[int] = (),
    replace: bool = True,
    p: Array | Sequence[float] | None = None,
    axis: int = 0,
) -> Array:
    """Numbers below `a`, or elements of an array along an axis, that are chosen at random: with replacement or each at most
    once, with equal probabilities or in proportion to the weights `p`, whose sum may be any. The choice is computed, and elements
    are taken lazily.

    TypeError for an array that is no key or is not a single one for an array; ValueError for weights that are negative, NaN, or
    of another number, for a sum of 0, and if there are fewer elements, or positive weights, than are to be chosen.

    >>> bl.random.choice(bl.random.key(5), bl.asarray([1.5, 2.5]), 3, p=[0, 1])
    Array([2.5, 2.5, 2.5], dtype=float64)
    """
    weights = None if p is None else Handle.from_numpy(np.asarray(p))
    extents = shape_of("choice", shape)
    is_array = isinstance(a, (list, tuple, Array, np.ndarray)) and np.ndim(a) > 0
    x = as_array(a if isinstance(a, Array) else np.asarray(a)) if is_array else None
    at = 0 if x is None else one_axis("choice", axis, x.ndim)
    n = _number("choice", a) if x is None else np.shape(x)[at]
    chosen = _core.random_choice(_values_of(key), n, extents, replace, weights)
    if x is None:
        return Array._of(chosen)
    if chosen.ndim != len(extents):
        raise TypeError("choice: several keys choose numbers, not elements of an array")
    return take(x, Array._of(chosen), axis=at)


def _values_of(key: Array) -> Handle:
    """The handle of a key, whose values are computed."""
    return Handle.from_numpy(values_of(key))


def _number(name: str, n: Any) -> int:
    """The number of elements of a permutation or choice."""
    number = index(n)
    if number < 0:
        raise ValueError(f"{name}: a negative number of elements, {number}")
    return number


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
        made: Array = getattr(_generated, name)(self._key(), *parameters, size, **options)
        return made

    def _key(self) -> Array:
        """The key of the next call."""
        return fold_in(self._root, next(self._calls))

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

    def permutation(self, x: Array | int, axis: int = 0) -> Array:
        """The numbers below `x`, or the elements of an array along an axis, in a random order."""
        return permutation(self._key(), x, axis)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Puts the elements of an array in a random order along an axis, as an assignment to it."""
        x[...] = shuffle(self._key(), x, axis)

    def choice(
        self,
        a: Array | Sequence[Any] | int,
        size: Size = None,
        replace: bool = True,
        p: Array | Sequence[float] | None = None,
        axis: int = 0,
    ) -> Array:
        """Numbers below `a`, or elements of an array along an axis, that are chosen at random, with weights `p` of any sum."""
        return choice(self._key(), a, () if size is None else size, replace, p, axis)
