"""Tests permutations and choices of `broadloom.random` against their definitions, from the words of `philox_reference`."""

from __future__ import annotations

from typing import Any

import numpy as np
import philox_reference as reference
import pytest
from random_draws import same, words

import broadloom as bl

KEY = bl.random.key(20111115)


def order(n: int, key: Any = KEY) -> Any:
    return np.argsort(reference.bits64(words(key), n), kind="stable")


@pytest.mark.parametrize("n", [0, 1, 2, 100, 100_003])
def test_a_permutation_sorts_words(n: int) -> None:
    same(bl.random.permutation(KEY, n), order(n))
    same(bl.random.choice(KEY, n, n // 2, replace=False), order(n)[: n // 2])


def test_rows_stay_together() -> None:
    x = np.arange(12).reshape(3, 4)
    for axis in (0, 1, -1):
        expected = np.take(x, order(x.shape[axis]), axis)
        for made in (bl.random.permutation(KEY, x, axis), bl.random.shuffle(KEY, bl.asarray(x), axis=axis)):
            assert isinstance(made, bl.Array)
            same(made, expected)
    same(bl.random.choice(KEY, x, (2, 1), replace=False, axis=1), np.take(x, order(4)[:2].reshape(2, 1), 1))


def test_several_keys() -> None:
    keys = bl.random.split(KEY, 3)
    same(bl.random.permutation(keys, 8), np.stack([order(8, key) for key in np.asarray(keys)]))
    assert bl.random.choice(keys, 8, (2, 2), replace=False).shape == (3, 2, 2)
    for call in (lambda: bl.random.permutation(keys, np.ones(3)), lambda: bl.random.choice(keys, np.ones(3), 2)):
        with pytest.raises(TypeError):
            call()


def test_choices_with_replacement() -> None:
    same(bl.random.choice(KEY, 5, (20, 3)), bl.random.integers(KEY, 0, 5, (20, 3)))
    weights = np.array([0.0, 1.0, 0.0, 2.0, 5.0, 0.0])
    numbers = reference.uniform(words(KEY), 4000, "float64")
    expected = np.searchsorted(np.cumsum(weights), numbers * 8, side="right")
    got = bl.random.choice(KEY, 6, 4000, p=weights)
    same(got, expected)
    assert set(expected.tolist()) == {1, 3, 4}
    same(bl.random.choice(KEY, np.arange(6) * 10, 4000, p=bl.asarray(weights)), expected * 10)
    assert bl.random.choice(KEY, 6).shape == ()


def test_weighted_choices_without_replacement() -> None:
    weights = np.arange(40) % 4
    times = np.asarray(bl.random.exponential(KEY, 40)) / np.where(weights > 0, weights, np.nan)
    expected = np.argsort(times, kind="stable")[:30]
    same(bl.random.choice(KEY, 40, 30, replace=False, p=weights), expected)
    # The first of two is in proportion to the weights.
    keys = bl.random.split(KEY, 20_000)
    first = np.asarray(bl.random.choice(keys, 2, (1,), replace=False, p=[3.0, 1.0]))
    assert abs((first == 0).mean() - 0.75) < 6 * np.sqrt(0.75 * 0.25 / 20_000)


def test_refused_choices() -> None:
    for call in (
        lambda: bl.random.permutation(KEY, -1),
        lambda: bl.random.permutation(KEY, np.ones(3), axis=1),
        lambda: bl.random.choice(KEY, 3, 4, replace=False),
        lambda: bl.random.choice(KEY, 0, 1),
        lambda: bl.random.choice(KEY, 2, 1, p=[1.0]),
        lambda: bl.random.choice(KEY, 2, 1, p=[1.0, -1.0]),
        lambda: bl.random.choice(KEY, 2, 1, p=[0, 0]),
        lambda: bl.random.choice(KEY, 2, 2, replace=False, p=[1, 0]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        bl.random.permutation(bl.asarray([1]), 3)
    with pytest.raises(TypeError):
        bl.random.permutation(KEY, 2.5)  # type: ignore[arg-type]


def test_the_generator_makes_a_key_for_each_call() -> None:
    rng, root = bl.random.Generator(7), bl.random.key(7)
    keys = [bl.random.fold_in(root, i) for i in range(5)]
    same(rng.permutation(9), bl.random.permutation(keys[0], 9))
    same(rng.permutation(np.arange(6).reshape(2, 3), axis=1), np.arange(6).reshape(2, 3)[:, order(3, keys[1])])
    x = bl.asarray([1, 2, 3, 4])
    rng.shuffle(x)
    same(x, np.array([1, 2, 3, 4])[order(4, keys[2])])
    same(rng.choice(5, 3, replace=False), bl.random.choice(keys[3], 5, 3, replace=False))
    assert rng.choice([1.5, 2.5], p=[0, 1]).item() == 2.5
