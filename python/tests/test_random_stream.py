"""Tests the words of `broadloom.random` against another implementation of Philox, randomgen's, and the streams of
`random_stream`, which other projects' test suites read from a pipe.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import philox_reference as reference
import pytest
from random_draws import same
from random_stream import CHUNK, KEYS, OF_CHILD, SOURCES

import broadloom as bl

#: The words of keys: those of seeds, one with all bits, and one with all words of a counter.
KEY_WORDS = [(20111115, 0, 0, 0), (0, 0, 0, 0), (2**32 - 1,) * 4, (3, 5, 7, 11)]


@pytest.mark.parametrize("words", KEY_WORDS, ids=str)
def test_a_million_words_are_randomgens(words: tuple[int, ...]) -> None:
    randomgen = pytest.importorskip("randomgen")
    seed, counter = words[0] + 2**32 * words[1], 2**64 * words[2] + 2**96 * words[3]
    theirs = randomgen.Philox(key=seed, counter=counter, number=4, width=32).random_raw(10**6)
    # It counts before it computes a block, so it begins one block later.
    same(bl.random.bits(bl.asarray(np.array(words, np.uint32)), 10**6 + 4)[4:], theirs.astype(np.uint32))


@pytest.mark.parametrize("rounds", [reference.ROUNDS, 2])
@pytest.mark.parametrize("source", SOURCES)
def test_streams_are_the_words_of_their_keys(source: str, rounds: int) -> None:
    first, second = islice(SOURCES[source](7, rounds), 2)
    assert first.size == second.size == CHUNK

    def word(key: Any, number: int) -> int:
        return int(reference.blocks(key, number // 4, rounds)[number % 4])

    rng = np.random.default_rng(1)
    for chunk, values in enumerate((first, second)):
        for place in rng.integers(CHUNK, size=20).tolist():
            number = chunk * CHUNK + place
            if source == "stream":
                expected = word(reference.key(7), number)
            elif source == "interleaved":
                expected = word(reference.key(7 + number % KEYS), number // KEYS)
            else:
                child = reference.blocks(reference.key(7), reference.SPLIT + number // OF_CHILD, rounds)
                expected = word(child, number % OF_CHILD)
            assert int(values.reshape(-1)[place]) == expected
