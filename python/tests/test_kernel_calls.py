"""Tests successive calls of a `Kernel`: each sees its own arrays, whatever the last call was bound to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl

KERNEL = bl.Kernel.parse("x: float64[n]\ny: float64[m,n]\nreturn x * y + 1")


def shaped(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.arange(float(rows * columns)).reshape(rows, columns)
    return values[0] + 1, values


def test_shapes_take_turns() -> None:
    for rows, columns in [(2, 3), (2, 3), (3, 2), (2, 3), (1, 6), (6, 1), (2, 3)]:
        x, y = shaped(rows, columns)
        for _ in range(2):
            assert np.array_equal(KERNEL.run([x, y])[0], x * y + 1)
            x, y = x + 1, y * 2


def test_layouts_take_turns() -> None:
    x, y = shaped(3, 3)
    for other in (y, y.T, y[::-1], y, y[:, ::-1]):
        assert np.array_equal(KERNEL.run([x, other])[0], x * other + 1)
        assert np.array_equal(KERNEL.run([x[::-1], other])[0], x[::-1] * other + 1)


@pytest.mark.parametrize(
    "arrays", [lambda x, y: [x.astype("f4"), y], lambda x, y: [x], lambda x, y: [y, x], lambda x, y: [x, y, y]]
)
def test_other_arrays_are_refused_after_a_call_too(arrays: Any) -> None:
    x, y = shaped(2, 3)
    assert np.array_equal(KERNEL.run([x, y])[0], x * y + 1)
    with pytest.raises((TypeError, ValueError)):
        KERNEL.run(arrays(x, y))
    assert np.array_equal(KERNEL.run([x, y])[0], x * y + 1)
