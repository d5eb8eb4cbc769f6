"""Sets, selection and matrix products: functions of the Array API standard that evaluate their operands and pass them to
NumPy.

Where NumPy differs from the standard, the standard is followed. Results are in memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from broadloom import _options
from broadloom._array import Array
from broadloom._buffer import array_over
from broadloom._errors import ShapeError
from broadloom._operands import as_array, one_axis, promoted
from broadloom._operators import handle_of
from broadloom._registry import registered
from broadloom._signatures import take_numpys_arguments

__all__: list[str] = [
    "matmul",
    "nonzero",
    "tensordot",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


def values_of(x: Array) -> np.ndarray:
    """The values of an operand, computed, as a NumPy array that must not be written to."""
    return np.asarray(as_array(x))


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The indices, as int64, of the elements that are not 0, in row-major order: one array for each axis. Evaluates
    its operand and is computed by NumPy.

    Raises ValueError for an array of rank 0.

    >>> bl.nonzero(bl.asarray([0, 5, 0, 7]))[0]
    Array([1, 3], dtype=int64)
    """
    values = values_of(x)
    if values.ndim == 0:
        raise ValueError("nonzero: an array of rank 0 has no indices")
    return tuple(array_over(_indices(found), x) for found in np.nonzero(values))


def unique_all(x: Array, /) -> UniqueAllResult:
    """The distinct values of an array, in ascending order; the index of the first occurrence of each value, in
    row-major order; the indices that reconstruct the array from the values; and the number of occurrences of each
    value. Evaluates its operand and is computed by NumPy.

    Each NaN is a value of its own; -0 and 0 are the same value. Indices and counts are int64; the inverse indices have
    the shape of `x`.

    >>> result = bl.unique_all(bl.asarray([3, 1, 3]))
    >>> result.values, result.counts, result.inverse_indices
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64), Array([1, 0, 1], dtype=int64))
    """
    values = values_of(x)
    unique, first, inverse, counts = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    inverse = inverse.reshape(values.shape)
    return UniqueAllResult(array_over(unique, x), *(array_over(_indices(each), x) for each in (first, inverse, counts)))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The distinct values of an array, in ascending order, and the number of occurrences of each value, as int64.
    Evaluates its operand and is computed by NumPy.

    Each NaN is a value of its own; -0 and 0 are the same value.

    >>> values, counts = bl.unique_counts(bl.asarray([3, 1, 3]))
    >>> values, counts
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    unique, counts = np.unique(values_of(x), return_counts=True, equal_nan=False)
    return UniqueCountsResult(array_over(unique, x), array_over(_indices(counts), x))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The distinct values of an array, in ascending order, and the indices, as int64 and in the shape of the array,
    that reconstruct the array from the values. Evaluates its operand and is computed by NumPy.

    Each NaN is a value of its own; -0 and 0 are the same value.

    >>> values, inverse = bl.unique_inverse(bl.asarray([[3, 1], [3, 3]]))
    >>> inverse
    Array([[1, 0],
           [1, 1]], dtype=int64)
    """
    values = values_of(x)
    unique, inverse = np.unique(values, return_inverse=True, equal_nan=False)
    return UniqueInverseResult(array_over(unique, x), array_over(_indices(inverse.reshape(values.shape)), x))


def unique_values(x: Array, /) -> Array:
    """The distinct values of an array, in ascending order. Evaluates its operand and is computed by NumPy.

    Each NaN is a value of its own; -0 and 0 are the same value.

    >>> bl.unique_values(bl.asarray([3, 1, 3]))
    Array([1, 3], dtype=int64)
    """
    return array_over(np.unique(values_of(x), equal_nan=False), x)


@registered("matmul")
def matmul(x1: Array, x2: Array, /) -> Array:
    """The matrix product, `x1 @ x2`. Evaluates its operands and is computed by NumPy.

    The last two axes are the axes of matrices, of shapes (M, K) and (K, N); the other axes broadcast. An array of one
    axis represents a row on the left and a column on the right, and has no axis in the result. Both arrays are numeric,
    and of the same kind.

    Raises ValueError for an array of rank 0 and for shapes that don't fit, TypeError for other dtypes.

    >>> bl.matmul(bl.asarray([[1, 2], [3, 4]]), bl.asarray([1, 1]))
    Array([3, 7], dtype=int64)
    """
    a, b = _promoted_values("matmul", x1, x2)
    try:
        made = np.matmul(a, b)
    except ValueError:
        # NumPy's message is about the signature of its function.
        shown = " with ".join(f"{x.dtype}[{','.join(map(str, x.shape))}]" for x in (a, b))
        raise ShapeError(f"matmul: cannot multiply {shown}: {_misfit(a, b)}") from None
    return array_over(made, x1, x2)


def _misfit(a: np.ndarray, b: np.ndarray) -> str:
    """Why two arrays have no matrix product."""
    if a.ndim == 0 or b.ndim == 0:
        return "an array of rank 0 is no matrix"
    columns, rows = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if columns != rows:
        return f"the rows of the first have {columns} elements, the columns of the second {rows}"
    return f"the other axes, {list(a.shape[:-2])} and {list(b.shape[:-2])}, do not broadcast"


def tensordot(x1: Array, x2: Array, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """The sums of products over axes of two arrays: over the last `axes` axes of `x1` and the first `axes` axes of
    `x2`, or over the axes that two sequences list. Evaluates its operands and is computed by NumPy.

    The axes of the result are the other axes of `x1`, followed by the other axes of `x2`. Both arrays are numeric, and
    of the same kind.

    Raises ValueError for axes that differ in extent or in number, that are repeated, or that don't exist; TypeError for
    other dtypes.

    >>> x = bl.asarray([[1, 2], [3, 4]])
    >>> bl.tensordot(x, x, axes=((0,), (0,)))
    Array([[10, 14],
           [14, 20]], dtype=int64)
    """
    a, b = _promoted_values("tensordot", x1, x2)
    if isinstance(axes, (tuple, list)):
        first, second = axes
        along_a = [one_axis("tensordot", axis, a.ndim) for axis in first]
        along_b = [one_axis("tensordot", axis, b.ndim) for axis in second]
    else:
        number = index(axes)
        if not 0 <= number <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: {number} axes of arrays of rank {a.ndim} and {b.ndim}")
        along_a, along_b = list(range(a.ndim - number, a.ndim)), list(range(number))
    extents_a, extents_b = [a.shape[axis] for axis in along_a], [b.shape[axis] for axis in along_b]
    if extents_a != extents_b or len(set(along_a)) != len(along_a) or len(set(along_b)) != len(along_b):
        raise ValueError(f"tensordot: axes {along_a} and {along_b}, of extents {extents_a} and {extents_b}, don't fit")
    return array_over(np.tensordot(a, b, axes=(along_a, along_b)), x1, x2)


def _indices(values: np.ndarray) -> np.ndarray:
    """Indices in the dtype that all functions use for them."""
    return values.astype(np.int64, copy=False)


def _promoted_values(name: str, x1: Any, x2: Any) -> tuple[np.ndarray, np.ndarray]:
    """The values of two numeric operands, which NumPy promotes to the same dtype as the engine. TypeError if they don't
    promote."""
    a, b = values_of(x1), values_of(x2)
    handles = [handle_of(x1), handle_of(x2)]
    if promoted(name, handles) == np.bool_ and not _options.by_numpy(*handles):
        instead = 'write astype(x, int64), or promote as NumPy does (set_options(promotion="numpy"))'
        raise TypeError(f"{name}: the arrays are bool, expected numbers; {instead}")
    return a, b


def computable(values: np.ndarray) -> np.ndarray:
    """The values in a dtype that LAPACK supports."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def several(function: Callable[..., Any], *operands: Array, **options: Any) -> tuple[Array, ...]:
    """The results of a function of `numpy.linalg`. If it computed float16 operands as float32, they are converted to
    float16."""
    given = [values_of(x) for x in operands]
    results = function(*map(computable, given), **options)
    is_half = all(values.dtype == np.float16 for values in given)
    made = (np.asarray(result).astype(np.float16) if is_half else result for result in results)
    return tuple(array_over(result, *operands) for result in made)


def through(function: Callable[..., Any], *operands: Array, **options: Any) -> Array:
    """The result of a function of `numpy.linalg` that has a single one."""
    return several(lambda *given: (function(*given, **options),), *operands)[0]


def transformed(function: Callable[..., Any], x: Any, **options: Any) -> np.ndarray:
    """The result of a function of `numpy.fft`, whose names are the standard's. If extents are given without axes, they are
    those of the last axes."""
    name = function.__name__
    if not isinstance(x, (Array, np.ndarray)):
        raise TypeError(f"{name}: expected an array, not {type(x).__name__}")
    values = np.asarray(x)
    if values.dtype.kind not in "iufc":
        raise TypeError(f"{name}: does not take {values.dtype}")
    if options.get("s") is not None and options["axes"] is None:
        options["axes"] = range(-len(options["s"]), 0)
    along = (options["axis"],) if "axis" in options else options["axes"] or ()
    for axis in along:
        one_axis(name, axis, values.ndim)
    made: np.ndarray = function(values, **options)
    return made


def transformed_to_real(function: Callable[..., Any], x: Any, **options: Any) -> Array:
    """The result of a function of `numpy.fft` whose results are real."""
    return array_over(transformed(function, x, **options), x)


take_numpys_arguments(globals(), __all__)
