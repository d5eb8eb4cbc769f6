"""Linear algebra: the extension `linalg` of the Array API standard, for real dtypes.

Norms of vectors, products of vectors, and transposes are lazy. The other functions evaluate their operands and pass
them to `numpy.linalg`, which computes float16 as float32, and integers as float64. A failure there, such as for the
inverse of a singular matrix, raises `numpy.linalg.LinAlgError`, which is a ValueError. An array with more than two axes
is a stack of matrices in the last two axes.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from broadloom._array import Array, apply
from broadloom._buffer import array_over
from broadloom._generated import linalg as _generated
from broadloom._generated.linalg import *
from broadloom._manipulation import matrix_transpose
from broadloom._operands import as_array, extents, promoted, several_axes
from broadloom._operators import handle_of
from broadloom._reductions import vecdot
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import QRResult, computable, matmul, several, tensordot, through, values_of
from broadloom._views import read_only

if TYPE_CHECKING:
    from numpy.linalg import LinAlgError as LinAlgError
    from numpy.linalg import cond as cond
    from numpy.linalg import lstsq as lstsq
    from numpy.linalg import multi_dot as multi_dot
    from numpy.linalg import norm as norm
    from numpy.linalg import tensorinv as tensorinv
    from numpy.linalg import tensorsolve as tensorsolve
    from numpy.typing import DTypeLike

__all__ = [
    "cross",
    "diagonal",
    "eig",
    "eigvals",
    "matmul",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
__all__ += _generated.__all__


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
    if promoted("cross", [handle_of(x1), handle_of(x2)]) == np.bool_:
        raise TypeError("cross: the arrays are bool, expected numbers")
    return array_over(np.linalg.cross(a, b, axis=place), x1, x2)


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


def matrix_power(x: Array, n: int, /) -> Array:
    """Square matrices raised to the power n. For a negative n, their inverses are raised to the power -n; for 0, the
    result is the identity. Evaluates its operand and is computed by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square, or for the inverse of one that is singular.

    >>> bl.linalg.matrix_power(bl.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float64)
    """
    return through(np.linalg.matrix_power, x, n=index(n))


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The ranks of matrices, as int64: the number of singular values above `rtol` times the largest, where `rtol` is
    the larger extent times the dtype's epsilon by default. Evaluates its operands and is computed by NumPy.

    Raises ValueError for an array of fewer than two axes.

    >>> int(bl.linalg.matrix_rank(bl.asarray([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    tolerance = _tolerance(rtol, x)
    ranks = np.linalg.matrix_rank(computable(_matrices("matrix_rank", x)), rtol=tolerance)
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
    return through(np.linalg.pinv, x, rtol=tolerance)


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
    return QRResult(*several(np.linalg.qr, x, mode=mode))


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


def _tolerance(rtol: float | Array | None, x: Array) -> Any:
    """A tolerance for NumPy. The default depends on the operand's own dtype, which may be narrower than the dtype of
    the computation."""
    if rtol is not None:
        return np.asarray(rtol)
    handle = as_array(x)._handle
    if handle.dtype != np.float16:
        return None
    return max(extents(handle)[-2:], default=0) * float(np.finfo(np.float16).eps)


take_numpys_arguments(globals(), __all__, np.linalg)

#: The names of `numpy.linalg` that the standard lacks. Its functions accept arrays.
_NUMPYS = ("LinAlgError", "cond", "lstsq", "multi_dot", "norm", "tensorinv", "tensorsolve")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _NUMPYS:
            return getattr(np.linalg, name)
        raise AttributeError(f"module 'broadloom.linalg' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_NUMPYS})
