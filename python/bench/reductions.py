"""Reductions, scans and pipelines of rows for `compare.py --group`, each also as the loops that Numba compiles for
`numba_fast`.

A row names its group and has sizes of its own, because vectors, long rows and short rows take different paths.
Inputs of sums and scans are odd integers: each partial sum is exact in float32, so results have the same bits in any
order of addition and are compared exactly. The loops write to `out`; a scalar result is an array of one element.
Constants are made by `a.dtype.type`, so that they have the dtype of the input: with Python's floats, Numba would
compute float32 in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, sqrt
from typing import Any

import numpy as np
from workloads import Workload

#: Sizes of vectors: in the second-level cache, in the third-level cache or near it, and in memory.
VECTORS = ("1e4", "1e6", "1e7")
#: Shapes of matrices: rows of the usual length, short rows, and long rows.
MATRICES = ("1000x1000", "10000x100", "100x32000")
#: Shapes of square matrices, in the cache or near it, and in memory.
SQUARES = ("1000x1000", "5000x5000")

Inputs = Callable[[np.dtype[Any], Any], Sequence[np.ndarray]]


def _uniform(count: int) -> Inputs:
    """Arrays of numbers from 0.1 to 2."""
    return lambda dtype, shape: [
        np.random.default_rng(seed).uniform(0.1, 2.0, shape).astype(dtype) for seed in range(count)
    ]


def _odd_integers(count: int) -> Inputs:
    """Arrays of odd integers from -15 to 15, without zeros, so that a missing element changes a sum.

    Partial sums of them or of their products are random walks, whose standard deviation after 1e7 steps is at most 85 *
    1e7**0.5 = 2.7e5: a sixtieth of 2**24, up to which float32 can represent all integers.
    """
    return lambda dtype, shape: [
        (2 * np.random.default_rng(seed).integers(-8, 8, shape) + 1).astype(dtype) for seed in range(count)
    ]


def _of_mean_one(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    """An array of 0, 1 and 2 whose mean is exactly 1, so that all sums of a variance are exact in float32 up to 1e7 elements."""
    half = np.random.default_rng(0).integers(0, 3, n // 2)
    return [np.concatenate([half, 2 - half]).astype(dtype)]


def _last_is_farthest(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    """Two arrays whose difference of largest magnitude is negative and comes last, so that a lost sign or element
    changes the result."""
    a, b = _uniform(2)(dtype, n)
    b[-1] = 4
    return [a, b]


def _vector_sum(a: np.ndarray, out: np.ndarray) -> None:
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i]
    out[0] = total


def _dot(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i] * b[i]
    out[0] = total


def _max_difference(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    most = abs(a[0] - b[0])
    for i in range(a.size):
        most = max(most, abs(a[i] - b[i]))
    out[0] = most


def _var(a: np.ndarray, out: np.ndarray) -> None:
    number = a.dtype.type
    total = squares = number(0)
    for i in range(a.size):
        total += a[i]
    mean = total / number(a.size)
    for i in range(a.size):
        squares += (a[i] - mean) * (a[i] - mean)
    out[0] = squares / number(a.size)


def _sum_exp(a: np.ndarray, out: np.ndarray) -> None:
    total = a.dtype.type(0)
    for i in range(a.size):
        total += exp(a[i])
    out[0] = total


def _any_false(a: np.ndarray, out: np.ndarray) -> None:
    # A loop that ends at the first true element is not vectorized: it took four times as long at 1e5 elements.
    found = False
    for i in range(a.size):
        found |= a[i] > 10
    out[0] = found


def _argmax(a: np.ndarray, out: np.ndarray) -> None:
    most, place = a[0], 0
    for i in range(a.size):
        if a[i] > most:
            most, place = a[i], i
    out[0] = place


def _softmax(a: np.ndarray, out: np.ndarray) -> None:
    number = a.dtype.type
    for i in range(a.shape[0]):
        most = a[i, 0]
        for j in range(a.shape[1]):
            most = max(most, a[i, j])
        total = number(0)
        for j in range(a.shape[1]):
            out[i, j] = exp(a[i, j] - most)
            total += out[i, j]
        scale = number(1) / total
        for j in range(a.shape[1]):
            out[i, j] *= scale


def _layer_norm(a: np.ndarray, out: np.ndarray) -> None:
    number = a.dtype.type
    columns = number(a.shape[1])
    for i in range(a.shape[0]):
        total = squares = number(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        mean = total / columns
        for j in range(a.shape[1]):
            squares += (a[i, j] - mean) * (a[i, j] - mean)
        scale = number(1) / sqrt(squares / columns + number(1e-5))
        for j in range(a.shape[1]):
            out[i, j] = (a[i, j] - mean) * scale


def _z_score(a: np.ndarray, out: np.ndarray) -> None:
    number = a.dtype.type
    rows = number(a.shape[0])
    mean, scale = np.zeros(a.shape[1], a.dtype), np.zeros(a.shape[1], a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            mean[j] += a[i, j]
    for j in range(a.shape[1]):
        mean[j] /= rows
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            scale[j] += (a[i, j] - mean[j]) * (a[i, j] - mean[j])
    for j in range(a.shape[1]):
        scale[j] = number(1) / sqrt(scale[j] / rows)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = (a[i, j] - mean[j]) * scale[j]


def _row_sums(a: np.ndarray, out: np.ndarray) -> None:
    for i in range(a.shape[0]):
        total = a.dtype.type(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total


def _column_sums(a: np.ndarray, out: np.ndarray) -> None:
    out[:] = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j]


def _cumulative_sum(a: np.ndarray, out: np.ndarray) -> None:
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i]
        out[i] = total


def _cumulative_rows(a: np.ndarray, out: np.ndarray) -> None:
    for i in range(a.shape[0]):
        total = a.dtype.type(0)
        for j in range(a.shape[1]):
            total += a[i, j]
            out[i, j] = total


def _cumulative_columns(a: np.ndarray, out: np.ndarray) -> None:
    out[0] = a[0]
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = out[i - 1, j] + a[i, j]


def _matrix_sum(a: np.ndarray, out: np.ndarray) -> None:
    total = a.dtype.type(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j]
    out[0] = total


def _matrix_max(a: np.ndarray, out: np.ndarray) -> None:
    most = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            most = max(most, a[i, j])
    out[0] = most


def _row(
    group: str, name: str, source: str, fast: Callable[..., None], sizes: Sequence[str], inputs: Inputs, ulps: int = 0
) -> Workload:
    """A row of the table that is computed by array functions and by loops of its own, but not by a loop over
    elements or by numexpr."""
    return Workload(
        name,
        source,
        inputs,
        element=None,
        has_text=False,
        has_exact_bits=False,
        group=group,
        sizes=tuple(sizes),
        fast=fast,
        ulps=ulps,
    )


_SOFTMAX = "e = exp(a - max(a, axis=-1, keepdims=True))\nreturn e/sum(e, axis=-1, keepdims=True)"
_LAYER_NORM = "(a - mean(a, axis=-1, keepdims=True))/sqrt(var(a, axis=-1, keepdims=True) + 1e-5)"
_TRANSPOSED = (
    _row("transposed", "matrix_sum", "sum(a)", _matrix_sum, SQUARES, _odd_integers(1)),
    _row("transposed", "transposed_sum", "sum(a.T)", _matrix_sum, SQUARES, _odd_integers(1)),
    _row("transposed", "matrix_max", "max(a)", _matrix_max, SQUARES, _uniform(1)),
    _row("transposed", "transposed_max", "max(a.T)", _matrix_max, SQUARES, _uniform(1)),
)
#: The rows. The last number, if there is one, is the tolerance in ulp of the largest result. It is two to seven times
#: the largest difference of a peer from NumPy at these sizes with AVX2 or AVX-512 (sum_exp 40, softmax 4.3,
#: layer_norm 5.7, z_score 49). For var it is 1, so that the mean may be computed from means of parts. The tolerance
#: is the same for float64, where it detects wrong formulas that float32 can't tell apart: dividing by n - 1 at 1e7
#: elements is an error of 4e8 ulp.
REDUCTIONS = (
    _row("vectors", "vector_sum", "sum(a)", _vector_sum, VECTORS, _odd_integers(1)),
    _row("vectors", "dot", "sum(a*b)", _dot, VECTORS, _odd_integers(2)),
    _row("vectors", "max_difference", "max(abs(a - b))", _max_difference, VECTORS, _last_is_farthest),
    _row("vectors", "var", "var(a)", _var, VECTORS, _of_mean_one, 16),
    _row("vectors", "sum_exp", "sum(exp(a))", _sum_exp, VECTORS, _uniform(1), 128),
    _row("vectors", "any_false", "any(a > 10)", _any_false, VECTORS, _uniform(1)),
    _row("argmax", "argmax", "argmax(a)", _argmax, VECTORS, _uniform(1)),
    _row("pipelines", "softmax", _SOFTMAX, _softmax, MATRICES, _uniform(1), 32),
    _row("pipelines", "layer_norm", _LAYER_NORM, _layer_norm, MATRICES, _uniform(1), 32),
    _row("pipelines", "z_score", "(a - mean(a, axis=0))/std(a, axis=0)", _z_score, MATRICES, _uniform(1), 128),
    _row("sums", "row_sums", "sum(a, axis=-1)", _row_sums, MATRICES, _odd_integers(1)),
    _row("sums", "column_sums", "sum(a, axis=0)", _column_sums, MATRICES, _odd_integers(1)),
    _row("scans", "cumulative_sum", "cumulative_sum(a)", _cumulative_sum, VECTORS, _odd_integers(1)),
    _row("scans", "cumulative_rows", "cumulative_sum(a, axis=-1)", _cumulative_rows, MATRICES, _odd_integers(1)),
    _row("scans", "cumulative_columns", "cumulative_sum(a, axis=0)", _cumulative_columns, MATRICES, _odd_integers(1)),
    *(replace(row, dtypes=("float64",)) for row in _TRANSPOSED),
)
#: The groups of rows, in their order.
GROUPS = tuple(dict.fromkeys(row.group for row in REDUCTIONS))
