"""Writes random words to standard output, for test suites that read a generator from a pipe.

    python python/tests/random_stream.py stream | dieharder -a -g 200
    python python/tests/random_stream.py interleaved | dieharder -a -g 200
    python python/tests/random_stream.py split | dieharder -a -g 200
    python python/tests/random_stream.py stream --rounds 2 | dieharder -a -g 200

The words are those of one key; of the keys of adjacent seeds, one word of each in turn; or the first words of each child
of a key, one child after the other. With another number of rounds than ten they are the reference code's, not the
product's: a suite that finds nothing in two rounds proves nothing about ten.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import count

import numpy as np
import philox_reference as reference

import broadloom as bl

#: The number of words that are written at a time.
CHUNK = 2**20
#: The number of keys that take turns.
KEYS = 64
#: The number of words that are taken from each child of a key.
OF_CHILD = 256

Words = reference.Words


def of_key(key: Words, chunk: int, length: int, rounds: int) -> Words:
    """The words of a key from `chunk * length` on."""
    first = chunk * length
    if rounds == reference.ROUNDS:
        whole = bl.random.bits(bl.asarray(key), first + length)
        return np.asarray(whole[first:])
    numbers = np.arange(first // 4, (first + length) // 4, dtype=np.uint64)
    return reference.blocks(key, numbers, rounds).reshape(-1)


def split_of(key: Words, first: int, length: int, rounds: int) -> Words:
    """The children of a key from `first` on."""
    if rounds == reference.ROUNDS:
        return np.asarray(bl.random.split(bl.asarray(key), first + length)[first:])
    return reference.blocks(key, np.arange(first, first + length, dtype=np.uint64) + np.uint64(reference.SPLIT), rounds)


def stream(seed: int, rounds: int) -> Iterator[Words]:
    """The words of one key."""
    for chunk in count():
        yield of_key(reference.key(seed), chunk, CHUNK, rounds)


def interleaved(seed: int, rounds: int) -> Iterator[Words]:
    """Word 0 of the keys of adjacent seeds, then word 1 of each."""
    keys = [reference.key(seed + number) for number in range(KEYS)]
    for chunk in count():
        yield np.stack([of_key(key, chunk, CHUNK // KEYS, rounds) for key in keys], axis=-1)


def split(seed: int, rounds: int) -> Iterator[Words]:
    """The first words of each child of a key; of each child of the next seed, when there are no more."""
    at_once = CHUNK // OF_CHILD
    for parent in count(seed):
        for first in range(0, 2**32, at_once):
            children = split_of(reference.key(parent), first, at_once, rounds)
            if rounds == reference.ROUNDS:
                yield np.asarray(bl.random.bits(bl.asarray(children), OF_CHILD))
            else:
                yield np.stack([of_key(child, 0, OF_CHILD, rounds) for child in children])


SOURCES = {"stream": stream, "interleaved": interleaved, "split": split}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("--seed", type=int, default=35)
    parser.add_argument("--rounds", type=int, default=reference.ROUNDS)
    options = parser.parse_args()
    bl.set_options(threads=1)
    try:
        for words in SOURCES[options.source](options.seed, options.rounds):
            sys.stdout.buffer.write(np.ascontiguousarray(words).data)
    except BrokenPipeError:
        # The reader has had enough. Python would flush the closed pipe again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
