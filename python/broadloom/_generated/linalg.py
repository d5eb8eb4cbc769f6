# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""Linear algebra that `numpy.linalg` computes."""

from __future__ import annotations

from typing import Literal

import numpy as np

from broadloom._array import Array
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import EighResult, SlogdetResult, SVDResult, several, through

__all__ = [
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "matrix_norm",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The triangular factor of symmetric positive-definite matrices: L with L @ L.mT == x, or U with U.mT @ U == x if
    `upper` is true. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't positive-definite, or not square.

    >>> bl.linalg.cholesky(bl.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float64)
    """
    return through(np.linalg.cholesky, x, upper=upper)


def det(x: Array, /) -> Array:
    """The determinants of square matrices. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> round(float(bl.linalg.det(bl.asarray([[1.0, 2.0], [3.0, 4.0]]))), 12)
    -2.0
    """
    return through(np.linalg.det, x)


def eigh(x: Array, /) -> EighResult:
    """The eigenvalues, in ascending order, and eigenvectors, in columns, of symmetric matrices, of which the lower
    triangle is read: `(eigenvalues, eigenvectors)`. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> bl.linalg.eigh(bl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float64)
    """
    return EighResult(*several(np.linalg.eigh, x))


def eigvalsh(x: Array, /) -> Array:
    """The eigenvalues of symmetric matrices, of which the lower triangle is read, in ascending order. It is computed at
    once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> bl.linalg.eigvalsh(bl.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float64)
    """
    return through(np.linalg.eigvalsh, x)


def inv(x: Array, /) -> Array:
    """The inverses of square matrices. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that is singular, or not square.

    >>> bl.linalg.inv(bl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float64)
    """
    return through(np.linalg.inv, x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """The norms of matrices: the Frobenius norm by default or for None, the nuclear norm, or the norm for an `ord` of
    1, -1, 2, -2, inf or -inf. It is computed at once, by NumPy.

    Raises ValueError for another `ord`, and for an array of fewer than two axes.

    >>> float(bl.linalg.matrix_norm(bl.asarray([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    return through(np.linalg.matrix_norm, x, keepdims=keepdims, ord=ord)


def slogdet(x: Array, /) -> SlogdetResult:
    """The determinants of square matrices as sign and logarithm of the absolute value, `(sign, logabsdet)`: for a
    determinant of 0, they are 0 and -inf. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that isn't square.

    >>> sign, logabsdet = bl.linalg.slogdet(bl.asarray([[0.0, 1.0], [1.0, 0.0]]))
    >>> float(sign), float(logabsdet)
    (-1.0, 0.0)
    """
    return SlogdetResult(*several(np.linalg.slogdet, x))


def solve(x1: Array, x2: Array, /) -> Array:
    """The solutions X of x1 @ X == x2, for square matrices `x1`; an `x2` of one axis is a single column, which is used
    for all of them. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for a matrix that is singular, or not square; ValueError for shapes that don't
    fit.

    >>> bl.linalg.solve(bl.asarray([[2.0, 0.0], [0.0, 4.0]]), bl.asarray([2.0, 2.0]))
    Array([1. , 0.5], dtype=float64)
    """
    return through(np.linalg.solve, x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of matrices, `(U, S, Vh)`: x == U[..., :K] * S[..., None, :] @ Vh[..., :K, :]
    for K singular values, in descending order. U and Vh are square. If `full_matrices` is false, U has K columns and Vh
    has K rows. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for an array of fewer than two axes, or if there is no convergence.

    >>> bl.linalg.svd(bl.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    Array([4., 3.], dtype=float64)
    """
    return SVDResult(*several(np.linalg.svd, x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """The singular values of matrices in descending order. It is computed at once, by NumPy.

    Raises `numpy.linalg.LinAlgError` for an array of fewer than two axes, or if there is no convergence.

    >>> bl.linalg.svdvals(bl.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float64)
    """
    return through(np.linalg.svdvals, x)


take_numpys_arguments(globals(), __all__, np.linalg)
