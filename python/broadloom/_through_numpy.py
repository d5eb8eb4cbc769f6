"""Matrix products: functions of the Array API standard that evaluate their operands and pass them to
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

__all__: list[str] = ["matmul", "tensordot"]


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
