"""Linear algebra: the extension `linalg` of the Array API standard, for real dtypes.

Norms of vectors, products of vectors, and transposes are lazy. The other functions evaluate their operands and pass
them to `numpy.linalg`, which computes float16 as float32, and integers as float64. A failure there, such as for the
inverse of a singular matrix, raises `numpy.linalg.LinAlgError`, which is a ValueError. An array with more than two axes
is a stack of matrices in the last two axes.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np

from broadloom._array import Array, apply
from broadloom._buffer import array_over
from broadloom._manipulation import matrix_transpose
from broadloom._operands import as_array, extents, promoted, several_axes
from broadloom._operators import handle_of
from broadloom._reductions import vecdot
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import matmul, tensordot, values_of
from broadloom._views import read_only

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


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


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The triangular factor of symmetric positive-definite matrices: L with L @ L.mT == x, or U with U.mT @ U == x if
    `upper` is true. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't positive-definite, or not square.

    >>> bl.linalg.cholesky(bl.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float64)
    """
    return _through(lambda a: np.linalg.cholesky(a, upper=upper), x)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements along an axis. Its number is negative, since it is counted from
    the last axis. Evaluates its operands and is computed by NumPy.

    Raises ValueError if the axis has another extent, or is not negative, or if the other axes don't broadcast;
    TypeError for dtypes that don't promote.

    >>> bl.linalg.cross(bl.asarray([1, 0, 0]), bl.asarray([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    """
    a, b = values_of(x1), values_of(x2)
    place = index(axis)
    if not -min(a.ndim, b.ndim) <= place < 0:
        raise ValueError(f"cross: axis {place} is not one of both arrays, counted from the last as -1")
    if a.shape[place] != 3 or b.shape[place] != 3:
        raise ValueError(f"cross: vectors have 3 elements, these {a.shape[place]} and {b.shape[place]}")
    if promoted("cross", [a.dtype, b.dtype]) == np.bool_:
        raise TypeError("cross: the arrays are bool, expected numbers")
    return array_over(np.linalg.cross(a, b, axis=place), x1, x2)


def det(x: Array, /) -> Array:
    """The determinants of square matrices. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> round(float(bl.linalg.det(bl.asarray([[1.0, 2.0], [3.0, 4.0]]))), 12)
    -2.0
    """
    return _through(np.linalg.det, x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices, `offset` positions above the main one. A single axis replaces the last two. Evaluates
    its operand and is computed by NumPy, as a view of the values.

    Raises ValueError for an array of fewer than two axes.

    >>> bl.linalg.diagonal(bl.asarray([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int64)
    """
    made = array_over(np.linalg.diagonal(_matrices("diagonal", x), offset=index(offset)), x)
    return read_only(made, "diagonal")


def eig(x: Array, /) -> NoReturn:
    """Refused: eigenvalues of general matrices are complex numbers, which broadloom lacks. Raises NotImplementedError."""
    _refuse_complex("eig", "eigh")


def eigvals(x: Array, /) -> NoReturn:
    """Refused, as `eig` is. Raises NotImplementedError."""
    _refuse_complex("eigvals", "eigvalsh")


def _refuse_complex(name: str, of_symmetric: str) -> NoReturn:
    raise NotImplementedError(
        f"linalg.{name}: eigenvalues of general matrices are complex, and there are no complex numbers in broadloom; "
        f"{of_symmetric} is for symmetric matrices"
    )


def eigh(x: Array, /) -> EighResult:
    """The eigenvalues, in ascending order, and eigenvectors, in columns, of symmetric matrices: `(eigenvalues,
    eigenvectors)`. Evaluates its operand and is computed by NumPy, which reads the lower triangle.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> bl.linalg.eigh(bl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float64)
    """
    return EighResult(*_several(np.linalg.eigh, x))


def eigvalsh(x: Array, /) -> Array:
    """The eigenvalues of symmetric matrices in ascending order. Evaluates its operand and is computed by NumPy,
    which reads the lower triangle.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> bl.linalg.eigvalsh(bl.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float64)
    """
    return _through(np.linalg.eigvalsh, x)


def inv(x: Array, /) -> Array:
    """The inverses of square matrices. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that is singular, or not square.

    >>> bl.linalg.inv(bl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float64)
    """
    return _through(np.linalg.inv, x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """The norms of matrices: the Frobenius norm by default, the nuclear norm, or the norm for an `ord` of 1, -1, 2, -2,
    inf or -inf. Evaluates its operand and is computed by NumPy.

    Raises ValueError for another `ord`, and for an array of fewer than two axes.

    >>> float(bl.linalg.matrix_norm(bl.asarray([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    order = "fro" if ord is None else ord
    return _through(lambda a: np.linalg.matrix_norm(a, keepdims=keepdims, ord=order), x)


def matrix_power(x: Array, n: int, /) -> Array:
    """Square matrices raised to the power n. For a negative n, their inverses are raised to the power -n; for 0, the
    result is the identity. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square, or for the inverse of one that is singular.

    >>> bl.linalg.matrix_power(bl.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float64)
    """
    return _through(lambda a: np.linalg.matrix_power(a, index(n)), x)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The ranks of matrices, as int64: the number of singular values above `rtol` times the largest, where `rtol` is
    the larger extent times the dtype's epsilon by default. Evaluates its operands and is computed by NumPy.

    Raises ValueError for an array of fewer than two axes.

    >>> int(bl.linalg.matrix_rank(bl.asarray([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    tolerance = _tolerance(rtol, x)
    ranks = np.linalg.matrix_rank(_computable(_matrices("matrix_rank", x)), rtol=tolerance)
    return array_over(np.asarray(ranks).astype(np.int64, copy=False), x)


def outer(x1: Array, x2: Array, /) -> Array:
    """The products of each element of one vector with each element of another, in the shape (N, M). Lazy.

    Raises ValueError for arrays of another rank than 1, TypeError for dtypes that don't promote.

    >>> bl.linalg.outer(bl.asarray([1, 2]), bl.asarray([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int64)
    """
    a, b = handle_of(x1), handle_of(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: vectors have one axis, these {a.ndim} and {b.ndim}")
    return apply("multiply", Array._of(a.expand_dims(1)), Array._of(b.expand_dims(0)))


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The Moore-Penrose inverses of matrices; singular values up to `rtol` times the largest count as 0, where
    `rtol` is the larger extent times the dtype's epsilon by default. Evaluates its operands and is computed by
    NumPy.

    Raises ValueError for an array of fewer than two axes.

    >>> bl.linalg.pinv(bl.asarray([[2.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float64)
    """
    tolerance = _tolerance(rtol, x)
    return _through(lambda a: np.linalg.pinv(a, rtol=tolerance), x)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The factors of matrices, `(Q, R)` with Q @ R == x: Q with orthonormal columns, R upper triangular. For a matrix
    of M rows and N columns, Q has min(M, N) columns, or M columns if the mode is "complete". Evaluates its operand and
    is computed by NumPy.

    Raises ValueError for another mode, and for an array of fewer than two axes.

    >>> bl.linalg.qr(bl.asarray([[1.0], [2.0], [2.0]])).R.shape
    (1, 1)
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr: mode is {mode!r}, expected "reduced" or "complete"')
    return QRResult(*_several(lambda a: np.linalg.qr(a, mode=mode), x))


def slogdet(x: Array, /) -> SlogdetResult:
    """The determinants of square matrices as sign and logarithm of the absolute value, `(sign, logabsdet)`: for a
    determinant of 0, they are 0 and -inf. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> sign, logabsdet = bl.linalg.slogdet(bl.asarray([[0.0, 1.0], [1.0, 0.0]]))
    >>> float(sign), float(logabsdet)
    (-1.0, 0.0)
    """
    return SlogdetResult(*_several(np.linalg.slogdet, x))


def solve(x1: Array, x2: Array, /) -> Array:
    """The solutions X of x1 @ X == x2, for square matrices `x1`; an `x2` of one axis is a single column, which is used
    for all of them. Evaluates its operands and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that is singular, or not square; ValueError for shapes that don't
    fit.

    >>> bl.linalg.solve(bl.asarray([[2.0, 0.0], [0.0, 4.0]]), bl.asarray([2.0, 2.0]))
    Array([1. , 0.5], dtype=float64)
    """
    return _through(np.linalg.solve, x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of matrices, `(U, S, Vh)`: x == U[..., :K] * S[..., None, :] @ Vh[..., :K, :]
    for K singular values, in descending order. U and Vh are square. If `full_matrices` is false, U has K columns and Vh
    has K rows. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for an array of fewer than two axes, or if there is no convergence.

    >>> bl.linalg.svd(bl.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    Array([4., 3.], dtype=float64)
    """
    return SVDResult(*_several(lambda a: np.linalg.svd(a, full_matrices=full_matrices), x))


def svdvals(x: Array, /) -> Array:
    """The singular values of matrices in descending order. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for an array of fewer than two axes, or if there is no convergence.

    >>> bl.linalg.svdvals(bl.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float64)
    """
    return _through(np.linalg.svdvals, x)


def trace(x: Array, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of matrices, `offset` places above the main one. Integers are summed as int64 or
    uint64, unless a dtype is given. Evaluates its operand; its diagonal is a view by NumPy, whose sum stays lazy.

    Raises ValueError for an array of fewer than two axes, TypeError for an array of bools.

    >>> int(bl.linalg.trace(bl.asarray([[1, 2], [3, 4]])))
    5
    """
    return Array._of(diagonal(x, offset=offset)._handle.reduce("sum", [-1], False, dtype))


def vector_norm(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """The norms of vectors along one, several or all axes: sum(abs(x) ** ord) ** (1 / ord); the largest and
    smallest abs(x) for inf and -inf, and the number of elements that are not 0 for an `ord` of 0. Lazy.

    Takes floats; integers become float64, as in NumPy. Raises ValueError if there is no such axis.

    >>> float(bl.linalg.vector_norm(bl.asarray([3.0, 4.0])))
    5.0
    """
    handle = handle_of(x)
    axes = None if axis is None else list(several_axes("vector_norm", axis, handle.ndim))
    return Array._of(handle.reduce("vector_norm", axes, keepdims, ord=float(ord)))


def _matrices(name: str, x: Array) -> np.ndarray:
    values = values_of(x)
    if values.ndim < 2:
        raise ValueError(f"{name}: a matrix has two axes or more, the array has {values.ndim}")
    return values


def _computable(values: np.ndarray) -> np.ndarray:
    """The values in a dtype that LAPACK supports."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _tolerance(rtol: float | Array | None, x: Array) -> Any:
    """A tolerance for NumPy. The default depends on the operand's own dtype, which may be narrower than the dtype of
    the computation."""
    if rtol is not None:
        return np.asarray(rtol)
    handle = as_array(x)._handle
    if handle.dtype != np.float16:
        return None
    return max(extents("linalg", handle)[-2:], default=0) * float(np.finfo(np.float16).eps)


def _several(function: Callable[..., Any], *operands: Array) -> tuple[Array, ...]:
    """The results of a function of `numpy.linalg`. If it computed float16 operands as float32, they are converted to
    float16."""
    given = [values_of(x) for x in operands]
    results = function(*map(_computable, given))
    is_half = all(values.dtype == np.float16 for values in given)
    made = (np.asarray(result).astype(np.float16) if is_half else result for result in results)
    return tuple(array_over(result, *operands) for result in made)


def _through(function: Callable[..., Any], *operands: Array) -> Array:
    """The result of a function of `numpy.linalg` that has a single one."""
    return _several(lambda *given: (function(*given),), *operands)[0]


take_numpys_arguments(globals(), __all__, np.linalg)
