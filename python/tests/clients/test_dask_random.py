"""Tests random numbers in Dask: each block draws its part of the whole, whatever the chunks, schedulers and processes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl

da = pytest.importorskip("dask.array")

import broadloom.dask  # noqa: E402

KEY = bl.random.key(20111115)
SHAPE = (37, 41)
MEANS = bl.asarray(np.linspace(0.5, 80.0, 41))

#: The arguments of draws, after the key.
DRAWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "bits": (bl.random.bits, (SHAPE,), {}),
    "uniform, float32": (bl.random.uniform, (SHAPE,), {"dtype": bl.float32}),
    "normal": (bl.random.normal, (SHAPE,), {}),
    "integers": (bl.random.integers, (-3, 2**31 - 9, SHAPE), {}),
    "bernoulli": (bl.random.bernoulli, (0.25, SHAPE), {}),
    "gamma": (bl.random.gamma, (2.5, SHAPE), {}),
    "poisson of arrays": (bl.random.poisson, (MEANS, SHAPE), {}),
}


def assert_same(made: Any, expected: Any) -> None:
    values, wanted = np.asarray(made), np.asarray(expected)
    assert (values.dtype, values.shape) == (wanted.dtype, wanted.shape)
    assert values.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("chunks", [(37, 41), (10, 41), (7, 9), ((30, 7), (1, 40)), 13, "auto"], ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_blocks_are_parts_of_the_undivided_draw(name: str, chunks: Any) -> None:
    function, arguments, options = DRAWS[name]
    expected = function(KEY, *arguments, **options)
    drawn = bl.dask.draw(function, KEY, *arguments, chunks=chunks, **options)
    assert isinstance(drawn._meta, bl.Array) and (drawn.dtype, drawn.shape) == (expected.dtype, expected.shape)
    made = drawn.compute(scheduler="threads")
    assert isinstance(made, bl.Array)
    assert_same(made, expected)
    assert_same(drawn[5:30:2, ::-3].compute(), np.asarray(expected)[5:30:2, ::-3])


def test_keys_decide_names_and_numbers() -> None:
    def drawn(seed: int, *shape: int) -> Any:
        return bl.dask.draw(bl.random.normal, bl.random.key(seed), shape, chunks=5)

    assert drawn(1, 20).name == drawn(1, 20).name
    assert len({drawn(seed, 20).name for seed in range(5)}) == 5
    assert drawn(1, 20).name != drawn(1, 21).name
    assert_same(drawn(1, 21)[:20].compute(), drawn(1, 20).compute())
    # NumPy's arrays are keys, too.
    of_numpy = bl.dask.draw(bl.random.normal, np.array([1, 0, 0, 0], np.uint32), (20,), chunks=5)
    assert of_numpy.name == drawn(1, 20).name


def test_an_array_of_keys_and_an_array_without_axes() -> None:
    keys = bl.random.split(KEY, 6)
    drawn = bl.dask.draw(bl.random.uniform, keys, 10, chunks=(4, 3))
    assert drawn.numblocks == (2, 4)
    assert_same(drawn.compute(), bl.random.uniform(keys, 10))
    assert_same(bl.dask.draw(bl.random.normal, KEY, ()).compute(), bl.random.normal(KEY, ()))


def test_a_block_draws_no_more_than_its_part() -> None:
    # The whole would have a terabyte.
    drawn = bl.dask.draw(bl.random.normal, KEY, 2**37, chunks=2**30)[2**36 + 5 : 2**36 + 1005]
    assert_same(drawn.compute(), bl.random.normal(KEY, 2**37)[2**36 + 5 : 2**36 + 1005])


def test_blocks_are_drawn_in_processes() -> None:
    drawn = bl.dask.draw(bl.random.normal, KEY, SHAPE, chunks=20)
    assert_same((drawn * 2).compute(scheduler="processes", num_workers=2), np.asarray(bl.random.normal(KEY, SHAPE)) * 2)


def test_what_is_no_draw_is_refused() -> None:
    with pytest.raises(TypeError):
        bl.dask.draw(bl.random.normal, np.arange(3), 5)
    with pytest.raises(ValueError):
        bl.dask.draw(bl.random.normal, KEY, (-1,))
