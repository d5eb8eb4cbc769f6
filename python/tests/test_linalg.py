"""Tests linear algebra by the identities that define a function, or by values computed by hand or by NumPy, for
floats and stacks of matrices."""

from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import linalg

FLOATS = [np.float16, np.float32, np.float64]
STACK = np.array([[[4.0, 2.0], [2.0, 3.0]], [[2.0, 0.0], [0.0, 8.0]]])


def close(got: bl.Array, expected: Any, dtype: Any) -> None:
    values = np.asarray(got)
    assert values.dtype == dtype
    assert values.shape == np.shape(expected)
    tolerance = 32 * float(np.finfo(dtype).eps)
    assert np.allclose(values.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_matrix(dtype: Any) -> None:
    x = bl.asarray(STACK.astype(dtype))
    close(linalg.det(x), [8.0, 16.0], dtype)
    close(linalg.inv(x), [[[0.375, -0.25], [-0.25, 0.5]], [[0.5, 0.0], [0.0, 0.125]]], dtype)
    lower = np.array([[[2.0, 0.0], [1.0, 2.0**0.5]], [[2.0**0.5, 0.0], [0.0, 8.0**0.5]]])
    close(linalg.cholesky(x), lower, dtype)
    close(linalg.cholesky(x, upper=True), lower.mT, dtype)
    root = 17.0**0.5
    eigenvalues = [[(7 - root) / 2, (7 + root) / 2], [2.0, 8.0]]
    close(linalg.eigvalsh(x), eigenvalues, dtype)
    values, vectors = linalg.eigh(x)
    close(values, eigenvalues, dtype)
    wide = np.asarray(vectors).astype(np.float64)
    close(bl.asarray((STACK @ wide).astype(dtype)), wide * np.asarray(values)[:, np.newaxis].astype(np.float64), dtype)
    close(linalg.svdvals(x), np.flip(eigenvalues, -1), dtype)
    close(linalg.matrix_power(x, 2), STACK @ STACK, dtype)
    close(linalg.matrix_power(x, 0), [np.eye(2), np.eye(2)], dtype)
    close(linalg.matrix_power(x, 1), STACK, dtype)
    close(linalg.pinv(x), np.linalg.inv(STACK), dtype)
    sign, logarithm = linalg.slogdet(x)
    close(sign, [1.0, 1.0], dtype)
    close(logarithm, np.log([8.0, 16.0]), dtype)
    close(linalg.solve(x, bl.asarray(np.array([2.0, 8.0], dtype))), [[-1.25, 3.5], [1.0, 1.0]], dtype)
    close(linalg.solve(x, x), [np.eye(2), np.eye(2)], dtype)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 3), (0, 3)])
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...]) -> None:
    values = np.cos(np.arange(np.prod(shape), dtype=np.float64)).reshape(shape)
    x = bl.asarray(values)
    inner = min(shape[-2:])
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(x, mode=mode)
        assert q.shape[-1] == (inner if mode == "reduced" else shape[-2])
        assert np.allclose(np.asarray(q @ r), values)
    for full in (True, False):
        u, s, vh = linalg.svd(x, full_matrices=full)
        assert u.shape[-1] == (shape[-2] if full else inner)
        product = u[..., :inner] * s[..., None, :] @ vh[..., :inner, :]
        assert np.allclose(np.asarray(product), values)


@pytest.mark.parametrize(
    "order, expected",
    [("fro", 30**0.5), (1, 6.0), (-1, 4.0), (np.inf, 7.0), (-np.inf, 3.0), ("nuc", None), (2, None), (-2, None)],
)
def test_norms_of_matrices(order: Any, expected: float | None) -> None:
    values = np.array([[1.0, -2.0], [3.0, 4.0]])
    if expected is None:
        singular = np.linalg.svd(values, compute_uv=False)
        expected = {"nuc": singular.sum(), 2: singular.max(), -2: singular.min()}[order]
    x = bl.asarray(np.stack([values, values]))
    close(linalg.matrix_norm(x, ord=order), [expected] * 2, np.float64)
    assert linalg.matrix_norm(x, ord=order, keepdims=True).shape == (2, 1, 1)
    with pytest.raises(ValueError):
        linalg.matrix_norm(bl.asarray(np.ones(3)))


def test_ranks() -> None:
    values = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1e-9]]])
    ranks = linalg.matrix_rank(bl.asarray(values))
    assert ranks.dtype == np.int64
    assert np.asarray(ranks).tolist() == [1, 2]
    assert np.asarray(linalg.matrix_rank(bl.asarray(values), rtol=1e-6)).tolist() == [1, 1]
    tolerances = bl.asarray(np.array([1e-6, 1e-12]))
    assert np.asarray(linalg.matrix_rank(bl.asarray(values), rtol=tolerances)).tolist() == [1, 2]
    # 1e-3 is below 2 epsilons of float16, but not of float32, in which the rank is computed.
    assert int(linalg.matrix_rank(bl.asarray(np.array([[1.0, 0.0], [0.0, 1e-3]], np.float16)))) == 1
    with pytest.raises(ValueError):
        linalg.matrix_rank(bl.asarray(np.ones(3)))
    narrow = bl.asarray(np.array([[1.0, 0.0], [0.0, 1e-3]]))
    assert np.asarray(linalg.pinv(narrow, rtol=0.01)).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_products_of_vectors_are_lazy() -> None:
    memory = np.array([1.0, 2.0, 3.0])
    x = bl.asarray(memory)
    outer, norm, dot = linalg.outer(x, x), linalg.vector_norm(x, ord=1), linalg.vecdot(x, x)
    memory[:] = [1.0, 0.0, 2.0]
    assert np.asarray(outer).tolist() == [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 4.0]]
    assert float(norm) == 3.0
    assert float(dot) == 5.0
    with pytest.raises(ValueError):
        linalg.outer(x, outer)
    ints = bl.asarray(np.array([2, 3]))
    with bl.set_options(promotion="strict"), pytest.raises(TypeError):
        linalg.outer(x, ints)
    with bl.set_options(promotion="numpy"):
        assert np.asarray(linalg.outer(ints, x)).tolist() == [[2.0, 0.0, 4.0], [3.0, 0.0, 6.0]]
        assert bl.concat([ints, x]).dtype == np.float64
        assert bl.matmul(x[:2], ints).dtype == np.float64


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_norms_of_vectors(order: float, axis: Any) -> None:
    values = np.array([[1.0, -2.0, 4.0], [3.0, 5.0, -1.0]])
    for keepdims in (True, False):
        expected = np.linalg.vector_norm(values, axis=axis, keepdims=keepdims, ord=order)
        close(linalg.vector_norm(bl.asarray(values), axis=axis, keepdims=keepdims, ord=order), expected, np.float64)


def test_cross_products() -> None:
    a, b = np.arange(12).reshape(2, 3, 2), np.arange(3, 9).reshape(3, 2)
    got = linalg.cross(bl.asarray(a), bl.asarray(b), axis=-2)
    assert np.array_equal(np.asarray(got), np.cross(a, np.broadcast_to(b, a.shape), axis=-2))
    small = linalg.cross(bl.asarray(np.array([0, 0, 100], np.int8)), bl.asarray(np.array([100, 0, 0], np.uint8)))
    assert (small.dtype, np.asarray(small).tolist()) == (np.int16, [0, 10000, 0])
    with pytest.raises(TypeError, match="bool"):
        linalg.cross(bl.asarray(np.ones(3, bool)), bl.asarray(np.ones(3, bool)))
    for axis in (-1, 1, -3):
        with pytest.raises(ValueError):
            linalg.cross(bl.asarray(a), bl.asarray(b), axis=axis)


@pytest.mark.parametrize("offset", [0, 1, -1, 5])
def test_diagonals_and_traces(offset: int) -> None:
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    x = bl.asarray(values)
    diagonal, trace = linalg.diagonal(x, offset=offset), linalg.trace(x, offset=offset)
    assert diagonal.dtype == np.int8
    assert np.array_equal(np.asarray(diagonal), np.linalg.diagonal(values, offset=offset))
    assert trace.dtype == np.int64
    assert np.array_equal(np.asarray(trace), np.linalg.trace(values, offset=offset))
    assert linalg.trace(bl.asarray(values.astype(np.uint8))).dtype == np.uint64
    assert linalg.trace(x, dtype=np.float32).dtype == np.float32
    assert linalg.trace(bl.asarray(values.astype(np.float32))).dtype == np.float32
    with pytest.raises(ValueError):
        linalg.diagonal(bl.asarray(np.ones(3)))


def test_a_diagonal_leaves_numpys_memory_writeable() -> None:
    memory = np.ones((2, 2))
    x = bl.asarray(memory)
    linalg.diagonal(x)
    linalg.matrix_power(x, 1)
    memory[0, 0] = 3.0
    assert np.asarray(x)[0, 0] == 3.0


def test_what_fails_in_numpy_raises_its_error() -> None:
    for call in (
        lambda: linalg.inv(bl.asarray(np.zeros((2, 2)))),
        lambda: linalg.cholesky(bl.asarray(-np.eye(2))),
        lambda: linalg.det(bl.asarray(np.ones((2, 3)))),
    ):
        with pytest.raises(np.linalg.LinAlgError):
            call()
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(bl.asarray(np.eye(2)), mode="raw")


def test_results_have_the_names_of_the_standard() -> None:
    x = bl.asarray(np.eye(2))
    assert linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.qr(x)._fields == ("Q", "R")
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    assert linalg.matmul is bl.matmul
    assert linalg.tensordot is bl.tensordot
    assert linalg.vecdot is bl.vecdot
    assert linalg.matrix_transpose is bl.matrix_transpose


@pytest.mark.parametrize("name", ["eig", "eigvals"])
def test_complex_results_are_refused_by_name(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"linalg.{name}: .*complex.*symmetric"):
        getattr(linalg, name)(bl.asarray([[0.0, 1.0], [-1.0, 0.0]]))


def test_the_rest_of_numpys_functions_is_there() -> None:
    x = np.array([[4.0, 1.0], [2.0, 3.0]])
    assert float(bl.linalg.norm(bl.asarray(x))) == np.linalg.norm(x)
    assert isinstance(bl.linalg.cond(bl.asarray(x)), bl.Array)
    solution = bl.linalg.lstsq(bl.asarray(x), bl.asarray([1.0, 2.0]))[0]
    np.testing.assert_array_equal(np.asarray(solution), np.linalg.lstsq(x, [1.0, 2.0])[0])
    with pytest.raises(bl.linalg.LinAlgError):
        bl.linalg.inv(bl.asarray(np.zeros((2, 2))))
    assert {name for name in np.linalg.__all__ if name not in dir(bl.linalg)} == set()
