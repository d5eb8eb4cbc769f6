"""Tests that the published types accept NumPy's arguments where calls accept them: `scripts/test_python.sh lint` checks the
types of this file, and the test runs the calls.
"""

from __future__ import annotations

import numpy as np

import broadloom as bl


def test_types_accept_numpys_arguments() -> None:
    memory = np.arange(6.0).reshape(2, 3)
    mask = memory > 2
    x = bl.asarray(memory, np.float64)
    made: list[tuple[bl.Array, object]] = [
        (bl.sum(x, 0), np.sum(memory, 0)),
        (bl.sum(x, (0, 1), np.float32), np.sum(memory, (0, 1), np.float32)),
        (bl.sum(x, 0, initial=10, where=mask), np.sum(memory, 0, initial=10, where=mask)),
        (bl.max(x, 1, keepdims=True), np.max(memory, 1, keepdims=True)),
        (bl.max(x, 0, initial=3, where=x > 2), np.max(memory, 0, initial=3, where=mask)),
        (bl.any(x > 2, 0, where=mask), np.any(mask, 0, where=mask)),
        (bl.mean(x, 0, np.float32), np.mean(memory, 0, np.float32)),
        (bl.mean(x, where=mask), np.mean(memory, where=mask)),
        (bl.var(x, 1, ddof=1), np.var(memory, 1, ddof=1)),
        (bl.std(x, 0, correction=1), np.std(memory, 0, correction=1)),
        (
            bl.std(x, 1, ddof=0, where=memory < 5, keepdims=True),
            np.std(memory, 1, ddof=0, where=memory < 5, keepdims=True),
        ),
        (bl.argmax(x, 1), np.argmax(memory, 1)),
        (bl.count_nonzero(x, 0), np.count_nonzero(memory, 0)),
        (bl.nansum(x, 0), np.nansum(memory, 0)),
        (bl.round(x / 7, 2), np.round(memory / 7, 2)),
        (bl.diff(x, 1, 0), np.diff(memory, 1, 0)),
        (bl.sort(x, 0), np.sort(memory, 0)),
        (bl.argsort(x, 0), np.argsort(memory, 0)),
        (bl.searchsorted(x[0], x[1], "right"), np.searchsorted(memory[0], memory[1], "right")),
        (bl.take(x, bl.asarray([1]), 1), np.take(memory, [1], 1)),
        (bl.tensordot(x, x, 2), np.tensordot(memory, memory, 2)),
        (bl.flip(x, 0), np.flip(memory, 0)),
        (bl.roll(x, 1, 0), np.roll(memory, 1, 0)),
        (bl.repeat(x, 2, 0), np.repeat(memory, 2, 0)),
        (bl.concat([x, x], 1), np.concatenate([memory, memory], 1)),
        (bl.stack([x, x], 1), np.stack([memory, memory], 1)),
        (bl.tril(x, 1), np.tril(memory, 1)),
        (bl.zeros((2,), np.int8), np.zeros((2,), np.int8)),
        (bl.ones_like(x, np.int8), np.ones_like(memory, np.int8)),
        (bl.full((2,), 1, np.float32), np.full((2,), 1, np.float32)),
        (bl.eye(2, 2, 1, np.int8), np.eye(2, 2, 1, np.int8)),
        (bl.linspace(0, 1, 5, False), np.linspace(0, 1, 5, False)),
    ]
    for array, expected in made:
        values = np.asarray(expected)
        assert array.dtype == values.dtype and array.shape == values.shape
        np.testing.assert_allclose(np.asarray(array), values, rtol=1e-6)
    out = np.zeros(3)
    assert bl.sum(x, 0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]  # type: ignore[comparison-overlap]
