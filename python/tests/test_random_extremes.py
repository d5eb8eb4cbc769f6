"""Tests the maps from bits to distributions for the smallest and largest words, against mpmath. Philox is a permutation of its
counters, so that there is a key with an element of any chosen bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import philox_reference as reference
import pytest
from random_draws import DRAWS

import broadloom as bl

#: The shape of draws, of which one element is computed: the longest that there can be.
LENGTH = 2**48 - 1
SEED = 20111115


@cache
def element_of(bits: int, width: int) -> tuple[bl.Array, int]:
    """A key, and the number of an element whose bits are these: the first of a block."""
    rng, philox_key = np.random.default_rng(width), [SEED, 0]
    while True:
        words = rng.integers(2**32, size=(2**18, 4), dtype=np.uint64)
        words[:, 0] = bits & 0xFFFFFFFF
        if width == 64:
            words[:, 1] = bits >> 32
        counters = reference.counter_of(words, philox_key)
        # One counter of 2**18 belongs to an element of a draw.
        for c0, c1, c2, c3 in counters[counters[:, 1] < 2**14].tolist():
            return bl.asarray(np.array([*philox_key, c2, c3], np.uint32)), (c0 + 2**32 * c1) * (128 // width)


def extremes(width: int) -> list[int]:
    """The smallest and largest bits, with the top bit and without it."""
    half, whole = 2 ** (width - 1), 2**width
    return [0, 1, 2, 1000, half // 2, half - 2, half - 1, half, half + 1, half + half // 2, whole - 2, whole - 1]


def fractions(mp: Any, bits: int, width: int) -> tuple[bool, Any, Any]:
    """The top bit, p and u of some bits, rounded as the definition says."""
    array = np.array([bits], np.dtype(f"u{width // 8}"))
    top, p, u = reference.fractions(array, "float32" if width == 32 else "float64")
    return bool(top[0]), mp.mpf(float(p[0])), mp.mpf(float(u[0]))


#: Each distribution as a function of mpmath, the top bit, p, and u.
MAPS: dict[str, Callable[[Any, bool, Any, Any], Any]] = {
    "normal": lambda mp, top, p, u: (-1 if top else 1) * mp.sqrt(2) * mp.erfinv(1 - 2 * p),
    "exponential": lambda mp, top, p, u: -mp.log(u),
    "laplace": lambda mp, top, p, u: (1 if top else -1) * mp.log(2 * p),
    "logistic": lambda mp, top, p, u: (1 if top else -1) * (mp.log(p) - mp.log(1 - p)),
    "gumbel": lambda mp, top, p, u: -mp.log(-mp.log(p) if top else -mp.log(1 - p)),
    "cauchy": lambda mp, top, p, u: (-1 if top else 1) * mp.cot(mp.pi * p),
}


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", MAPS)
def test_extreme_bits_have_the_quantiles_of_mpmath(name: str, width: int) -> None:
    mp = pytest.importorskip("mpmath").mp
    dtype = np.dtype("float32" if width == 32 else "float64")
    with mp.workdps(60):
        for bits in extremes(width):
            key, element = element_of(bits, width)
            drawn = bl.random.bits(key, LENGTH, dtype=getattr(bl, f"uint{width}"))[element]
            assert int(drawn) == bits
            made = float(getattr(bl.random, name)(key, LENGTH, dtype=getattr(bl, dtype.name))[element])
            expected = MAPS[name](mp, *fractions(mp, bits, width))
            assert np.isfinite(made)
            # The functions that the map is composed of have errors of some units in the last place; where a difference or πp is
            # rounded, of units of numbers near 1.
            scale = max(abs(float(expected)), 1.0 if name in ("cauchy", "logistic") else 0.0)
            assert abs(mp.mpf(made) - expected) <= 4 * np.finfo(dtype).eps * scale, (bits, made, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_numbers_of_extreme_bits_are_in_their_interval(dtype: str) -> None:
    width = 64 if dtype == "float64" else 32
    digits = {"float16": 11, "float32": 24, "float64": 53}[dtype]
    for bits in extremes(width):
        key, element = element_of(bits, width)
        for function, kept, added in ((bl.random.uniform, digits, 0.0), (bl.random.uniform_open, digits - 1, 0.5)):
            made = float(function(key, LENGTH, dtype=getattr(bl, dtype))[element])
            assert made == np.ldexp(float(bits >> (width - kept)) + added, -kept)
            assert 0 <= made < 1 and (made > 0 or function is bl.random.uniform)


@pytest.mark.parametrize("name", [name for name in DRAWS if name != "binomial, small"])
def test_draws_of_extreme_bits_are_finite(name: str) -> None:
    for bits in extremes(64):
        key, element = element_of(bits, 64)
        for place in (element, element // 2):
            made = np.asarray(DRAWS[name](key, LENGTH)[place])
            assert made.dtype.kind != "f" or np.isfinite(made), (bits, made)
