"""Reference code for the tests of `broadloom.random`: Philox4x32-10 and the draws that follow from its definition alone,
written with NumPy and Python's integers.

A key has four words: the two key words of Philox, and the upper two words of its counter. The lower two words of the
counter are the number of a block of four words. The generator is that of Salmon, Moraes, Dror and Shaw, "Parallel random
numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint32]]
Longs = np.ndarray[Any, np.dtype[np.uint64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
INCREMENTS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
ROUNDS = 10

#: Attempt t of a rejection method reads the block of its element, plus t times this number.
ATTEMPT = 2**48
#: The attempt whose block is the additional factor of gamma variates with a < 1.
LAST_ATTEMPT = 2**15 - 1
#: The first block of the children of `split`, and that of the children of `fold_in`.
SPLIT, FOLD = 2**63, 2**63 + 2**32


def philox(counter: Any, key: Any, rounds: int = ROUNDS) -> Words:
    """The output words of counters of the shape [..., 4] and Philox keys of the shape [..., 2], which broadcast."""
    c0, c1, c2, c3 = np.moveaxis(np.asarray(counter, np.uint64), -1, 0)
    k0, k1 = np.moveaxis(np.asarray(key, np.uint64), -1, 0)
    for _ in range(rounds):
        # Products of 32-bit words fit in 64 bits.
        first, second = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (second >> HALF) ^ c1 ^ k0, second & LOW, (first >> HALF) ^ c3 ^ k1, first & LOW
        k0, k1 = (k0 + INCREMENTS[0]) & LOW, (k1 + INCREMENTS[1]) & LOW
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1).astype(np.uint32)


def counter_of(block: Any, key: Any) -> Words:
    """The counters whose output words are these blocks: the inverse of `philox`, each of whose rounds is a permutation."""
    c0, c1, c2, c3 = np.moveaxis(np.asarray(block, np.uint64), -1, 0)
    k0, k1 = (np.uint64(word) for word in key)
    inverses = [np.uint64(pow(int(multiplier), -1, 2**32)) for multiplier in MULTIPLIERS]
    for turn in reversed(range(ROUNDS)):
        r0, r1 = ((k + np.uint64(turn) * increment) & LOW for k, increment in zip((k0, k1), INCREMENTS, strict=True))
        first, third = c3 * inverses[0] & LOW, c1 * inverses[1] & LOW
        upper, lower = MULTIPLIERS[1] * third >> HALF, MULTIPLIERS[0] * first >> HALF
        c0, c1, c2, c3 = first, c0 ^ upper ^ r0, third, c2 ^ lower ^ r1
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1).astype(np.uint32)


def blocks(key: Any, numbers: Any, rounds: int = ROUNDS) -> Words:
    """The blocks of these numbers, which are below 2**64: shape [..., 4] for one key."""
    numbers = np.asarray(numbers, np.uint64)
    k0, k1, c2, c3 = (int(word) for word in key)
    upper = np.full_like(numbers, c2), np.full_like(numbers, c3)
    return philox(np.stack([numbers & LOW, numbers >> HALF, *upper], axis=-1), [k0, k1], rounds)


def key(seed: int) -> Words:
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], np.uint32)


def split(parent: Any, n: int = 2) -> Words:
    return blocks(parent, np.arange(n, dtype=np.uint64) + np.uint64(SPLIT))


def fold_in(parent: Any, data: Any) -> Words:
    return blocks(parent, np.asarray(data).astype(np.uint64) + np.uint64(FOLD))


def joined(low: Words, high: Words) -> Longs:
    """The 64-bit integers of two words."""
    return low.astype(np.uint64) | high.astype(np.uint64) << HALF


def bits32(key: Any, n: int) -> Words:
    return blocks(key, np.arange(-(-n // 4))).reshape(-1)[:n]


def bits64(key: Any, n: int) -> Longs:
    words = bits32(key, 2 * n)
    return joined(words[::2], words[1::2])


def uniform(key: Any, n: int, dtype: str, open: bool = False) -> np.ndarray:
    """The top bits of an element as a fraction, which is exact; half a unit is added for the open interval."""
    digits = {"float16": 11, "float32": 24, "float64": 53}[dtype] - open
    bits = bits64(key, n) if dtype == "float64" else bits32(key, n).astype(np.uint64)
    unused = (64 if dtype == "float64" else 32) - digits
    whole = (bits >> np.uint64(unused)).astype(np.float64)
    made: np.ndarray = np.ldexp(whole + 0.5 if open else whole, -digits)
    rounded = made.astype(dtype)
    assert np.array_equal(rounded.astype(np.float64), made)
    return rounded


def bernoulli(key: Any, n: int, p: Any) -> np.ndarray:
    return np.asarray(np.ldexp(bits32(key, n).astype(np.float64), -32) < p)


def fractions(bits: Any, dtype: str) -> tuple[np.ndarray, Floats, Floats]:
    """What the continuous draws are functions of: whether the top bit is set; p in (0, 1/2], of the other bits; and u in
    (0, 1], of all bits. p and u are rounded to the dtype, and returned as float64."""
    width = bits.dtype.itemsize * 8
    rest = bits & bits.dtype.type(2 ** (width - 1) - 1)
    half, unit = np.dtype(dtype).type(0.5), np.dtype(dtype).type(2.0**-width)
    p, u = ((part.astype(dtype) + half) * unit for part in (rest, bits))
    assert p.dtype == u.dtype == dtype
    return bits >> bits.dtype.type(width - 1) == 1, p.astype(np.float64), u.astype(np.float64)


def element_fractions(key: Any, n: int, dtype: str) -> tuple[np.ndarray, Floats, Floats]:
    return fractions(bits64(key, n) if dtype == "float64" else bits32(key, n), dtype)


def ndtri(p: Floats) -> Floats:
    """The inverse of the normal distribution function. Its relative error is about 1e-16 (Wichura's AS 241)."""
    inverse = NormalDist().inv_cdf
    return np.array([inverse(each) for each in p.tolist()], np.float64)


def normal(top: np.ndarray, p: Floats) -> Floats:
    z = ndtri(p)
    return np.where(top, z, -z)


def integers(key: Any, low: list[int], high: list[int]) -> list[int]:
    """Element i is at least low[i] and less than high[i]: Lemire's method, with Python's integers."""
    made = []
    for i, (first, end) in enumerate(zip(low, high, strict=True)):
        extent = end - first
        width = 32 if extent <= 2**32 else 64
        # Rejections are rare for most ranges, so blocks are computed as they are needed.
        for attempt in range(LAST_ATTEMPT):
            words = [int(word) for word in blocks(key, i + ATTEMPT * attempt)]
            product = (words[0] if width == 32 else words[0] + 2**32 * words[1]) * extent
            if product % 2**width >= (2**width - extent) % extent:
                break
        made.append(first + (product >> width))
    return made


def gamma(key: Any, a: Floats) -> Floats:
    """Element i has the shape parameter a[i] > 0: the method of Marsaglia and Tsang, in float64."""
    made = np.full(a.shape, np.nan)
    index = np.arange(a.size, dtype=np.uint64)
    d = np.where(a >= 1, a, a + 1) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    pending, attempt = np.arange(a.size), 0
    while pending.size:
        words = blocks(key, index[pending] + np.uint64(ATTEMPT * attempt))
        top, p, _ = fractions(joined(words[:, 0], words[:, 1]), "float64")
        u = fractions(joined(words[:, 2], words[:, 3]), "float64")[2]
        x, scale = normal(top, p), d[pending]
        v = (1 + c[pending] * x) ** 3
        with np.errstate(invalid="ignore", divide="ignore"):
            accepted = (v > 0) & (np.log(u) < x * x / 2 + scale - scale * v + scale * np.log(v))
        made[pending[accepted]] = (scale * v)[accepted]
        pending, attempt = pending[~accepted], attempt + 1
    small = a < 1
    words = blocks(key, index[small] + np.uint64(ATTEMPT * LAST_ATTEMPT))
    u = fractions(joined(words[:, 0], words[:, 1]), "float64")[2]
    made[small] *= u ** (1 / a[small])
    return made
