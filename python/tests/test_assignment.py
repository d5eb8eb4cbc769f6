"""Random sequences of assignments to arrays that are built from each other: each array has the elements that a copy of
NumPy's has, no array that NumPy was given changes, and neither does memory that is shared."""

import random
from typing import Any

import numpy as np
import pytest

import broadloom as bl

LENGTH = 5
STEPS = 30


def random_key(choice: random.Random) -> Any:
    start, stop = choice.randrange(-LENGTH, LENGTH), choice.randrange(-LENGTH, LENGTH + 1)
    return choice.choice(
        [
            start,
            slice(start, stop, choice.choice([1, 2, -1, -3])),
            slice(None, None, -1),
            ...,
            np.array([choice.random() < 0.5 for _ in range(LENGTH)]),
            np.array(choice.sample(range(LENGTH), 2)),
        ]
    )


class Pairs:
    """Arrays of ours, each with an array of NumPy's that has the elements it should have."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice
        self.memory = [np.array([choice.randrange(100) for _ in range(LENGTH)]) for _ in range(2)]
        self.pairs = [(bl.asarray(memory), memory.copy()) for memory in self.memory]
        self.shared = [memory.copy() for memory in self.memory]
        self.given: list[tuple[np.ndarray, np.ndarray]] = []

    def assign(self) -> None:
        (x, x_copy), (y, y_copy) = self.choice.choice(self.pairs), self.choice.choice(self.pairs)
        key = random_key(self.choice)
        count = x_copy[key].size
        number = self.choice.randrange(100)
        values, expected = self.choice.choice(
            [
                (number, number),
                (y[0], y_copy[0]),
                (y[:count], y_copy[:count]),
                (y[:count] * 2 + 1, y_copy[:count] * 2 + 1),
            ]
        )
        if np.ndim(x_copy[key]) == 0 and np.ndim(expected) != 0:
            values, expected = y[1] + 1, y_copy[1] + 1
        x_copy[key] = np.copy(expected)
        x[key] = values

    def build(self) -> None:
        (x, x_copy), (y, y_copy) = self.choice.choice(self.pairs), self.choice.choice(self.pairs)
        shift = self.choice.randrange(LENGTH)
        made = [
            (x + y, x_copy + y_copy),
            (x[...], x_copy.copy()),
            (x[::-1], x_copy[::-1].copy()),
            (bl.asarray(x, copy=True), x_copy.copy()),
            (bl.roll(x, shift), np.roll(x_copy, shift)),
            (bl.asarray(np.asarray(x)) * 1, x_copy.copy()),
        ]
        self.pairs.append(self.choice.choice(made))

    def give(self) -> None:
        x, x_copy = self.choice.choice(self.pairs)
        values = self.choice.choice([np.asarray, np.from_dlpack])(x)[self.choice.choice([0, 1]) :]
        self.given.append((values, x_copy[LENGTH - len(values) :].copy()))

    def drop(self) -> None:
        if len(self.pairs) > 3:
            del self.pairs[self.choice.randrange(len(self.pairs))]

    def check(self) -> None:
        for x, expected in self.pairs:
            assert np.array_equal(np.asarray(x), expected)
        for values, expected in self.given:
            assert np.array_equal(values, expected)
        for memory, expected in zip(self.memory, self.shared, strict=True):
            assert np.array_equal(memory, expected)


@pytest.mark.parametrize("seed", range(200))
def test_assignments_change_one_array(seed: int) -> None:
    choice = random.Random(seed)
    pairs = Pairs(choice)
    for _ in range(STEPS):
        choice.choice([pairs.assign, pairs.assign, pairs.assign, pairs.build, pairs.give, pairs.drop])()
    pairs.check()
