"""Tests functions that NumPy computes: if the standard and NumPy differ, the result is the standard's, otherwise
NumPy's."""

from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom._core import Handle

NAN = float("nan")
TABLE = np.array([[3, 1, 2, 1], [5, 5, 4, 6]], dtype=np.int16)


def plain(x: bl.Array) -> list[Any]:
    return np.asarray(x).tolist()


def test_equal_elements_keep_their_order_and_negative_zero_comes_first() -> None:
    x = bl.asarray(np.array([0.0, 1.0, -0.0, 1.0, -1.0]))
    assert plain(bl.argsort(x, descending=True)) == [1, 3, 0, 2, 4]
    assert plain(bl.argsort(x)) == [4, 2, 0, 1, 3]
    zeros = np.asarray(bl.sort(x, descending=True))[2:4]
    assert np.signbit(zeros).tolist() == [False, True]
    assert np.signbit(np.asarray(bl.sort(x))[1:3]).tolist() == [True, False]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("stable", [True, False])
def test_sorting_along_an_axis(axis: int, stable: bool) -> None:
    x, ascending = bl.asarray(TABLE), np.sort(TABLE, axis=axis)
    for descending, expected in [(False, ascending), (True, np.flip(ascending, axis))]:
        options: dict[str, Any] = {"axis": axis, "descending": descending, "stable": stable}
        got, order = bl.sort(x, **options), bl.argsort(x, **options)
        assert got.dtype == np.int16
        assert order.dtype == np.int64
        assert np.array_equal(np.asarray(got), expected)
        assert np.array_equal(np.take_along_axis(TABLE, np.asarray(order), axis), expected)


def test_nan_is_greater_than_all_numbers_in_either_order() -> None:
    x = bl.asarray(np.array([NAN, 1.0, np.inf, NAN]))
    assert plain(bl.argsort(x)) == [1, 2, 0, 3]
    assert plain(bl.argsort(x, descending=True)) == [0, 3, 2, 1]
    assert np.array_equal(np.asarray(bl.sort(x, descending=True)), [NAN, NAN, np.inf, 1.0], equal_nan=True)
    assert plain(bl.searchsorted(bl.sort(x), bl.asarray(np.array([NAN, 2.0])))) == [2, 1]


def test_sorting_leaves_its_operand_alone() -> None:
    memory = np.array([2, 1])
    assert plain(bl.sort(bl.asarray(memory))) == [1, 2]
    assert memory.tolist() == [2, 1]
    assert plain(bl.sort(bl.asarray(np.zeros((0, 2))))) == []
    with pytest.raises(IndexError):
        bl.sort(bl.asarray(memory), axis=1)
    with pytest.raises(ValueError):
        bl.argsort(bl.asarray(np.array(1)))


def test_searchsorted_has_the_shape_of_what_is_searched() -> None:
    x1, x2 = bl.asarray(np.array([1, 3, 3, 5])), bl.asarray(np.array([[3, 0], [9, 4]]))
    assert plain(bl.searchsorted(x1, x2)) == [[1, 0], [4, 3]]
    assert plain(bl.searchsorted(x1, x2, side="right")) == [[3, 0], [4, 3]]
    point = bl.searchsorted(x1, bl.asarray(np.array(3)))
    assert (point.shape, point.dtype, int(point)) == ((), np.int64, 1)
    unsorted = bl.asarray(np.array([5, 3, 1, 3]))
    for dtype in (np.int8, np.uint64):
        sorter = bl.asarray(np.array([2, 1, 3, 0], dtype))
        assert plain(bl.searchsorted(unsorted, x2, sorter=sorter)) == [[1, 0], [4, 3]]
    for call in (lambda: bl.searchsorted(x2, x1), lambda: bl.searchsorted(x1, x2, side="middle")):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="integers"):
        bl.searchsorted(x1, x2, sorter=bl.asarray(np.zeros(4)))
    for outside in (-1, 4, np.uint64(2**63)):
        with pytest.raises(ValueError, match="outside of 0 to 3"):
            bl.searchsorted(x1, x2, sorter=np.array([0, 1, 2, outside], np.array(outside).dtype))


def test_nonzero_has_an_array_of_indices_for_each_axis() -> None:
    rows, columns = bl.nonzero(bl.asarray(np.array([[0.0, NAN], [-0.0, 2.0]])))
    assert (plain(rows), plain(columns), rows.dtype) == ([0, 1], [1, 1], np.int64)
    with pytest.raises(ValueError, match="rank 0"):
        bl.nonzero(bl.asarray(np.array(1)))


def test_each_nan_is_a_value_of_its_own_and_zeros_are_one() -> None:
    x = bl.asarray(np.array([[NAN, 2.0, -0.0], [0.0, NAN, 2.0]]))
    result = bl.unique_all(x)
    values = np.asarray(result.values)
    assert np.array_equal(values, [0.0, 2.0, NAN, NAN], equal_nan=True)
    assert plain(result.counts) == [2, 2, 1, 1]
    assert plain(result.indices) == [2, 1, 0, 4]
    assert result.inverse_indices.shape == (2, 3)
    again = values[np.asarray(result.inverse_indices)]
    assert np.array_equal(again, np.asarray(x), equal_nan=True)
    assert [y.dtype for y in result] == [np.float64, np.int64, np.int64, np.int64]
    assert np.array_equal(np.asarray(bl.unique_values(x)), values, equal_nan=True)
    counts = bl.unique_counts(x)
    assert counts._fields == ("values", "counts")
    assert plain(counts.counts) == [2, 2, 1, 1]
    inverse = bl.unique_inverse(x)
    assert inverse._fields == ("values", "inverse_indices")
    assert plain(inverse.inverse_indices) == plain(result.inverse_indices)
    assert result._fields == ("values", "indices", "inverse_indices", "counts")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_values_of_arrays_without_axes_and_without_elements(shape: tuple[int, ...]) -> None:
    result = bl.unique_all(bl.asarray(np.zeros(shape, np.int8)))
    assert result.values.dtype == np.int8
    assert result.values.shape == (0 if 0 in shape else 1,)
    assert result.inverse_indices.shape == shape


def test_take_selects_along_an_axis() -> None:
    x = bl.asarray(TABLE)
    for dtype in (np.int8, np.uint64):
        got = bl.take(x, bl.asarray(np.array([2, 0, 2], dtype)), axis=1)
        assert got.dtype == np.int16
        assert plain(got) == [[2, 3, 2], [4, 5, 4]]
    assert plain(bl.take(x, bl.asarray(np.array([-1])), axis=-2)) == [[5, 5, 4, 6]]
    assert plain(bl.take(bl.asarray(np.array([7, 8])), bl.asarray(np.array([1, 0])))) == [8, 7]
    assert plain(bl.take(x, bl.asarray(np.array([0, 3])))) == [TABLE[0, 0], TABLE[0, 3]]
    assert bl.take(x, bl.asarray(np.array([[0]])), axis=0).shape == (1, 1, 4)
    with pytest.raises(IndexError):
        plain(bl.take(x, bl.asarray(np.array([4])), axis=1))
    with pytest.raises(TypeError, match="integers"):
        bl.take(x, bl.asarray(np.array([0.0])), axis=1)


def test_take_along_axis_broadcasts_the_other_axes() -> None:
    x = bl.asarray(TABLE)
    assert plain(bl.take_along_axis(x, bl.asarray(np.array([[0, -1]])))) == [[3, 1], [5, 6]]
    assert plain(bl.take_along_axis(x, bl.asarray(np.array([[1, 0, 1, 0]])), axis=0)) == [[5, 1, 4, 1]]
    with pytest.raises(ValueError, match="rank"):
        bl.take_along_axis(x, bl.asarray(np.array([0])))


@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 0))]
)
def test_matrix_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.arange(np.prod(shape), dtype=np.int64).reshape(shape) for shape in shapes)
    expected = a @ b
    for got in (bl.matmul(bl.asarray(a), bl.asarray(b)), bl.asarray(a) @ bl.asarray(b)):
        assert isinstance(got, bl.Array)
        assert got.shape == expected.shape
        assert np.array_equal(np.asarray(got), expected)


@pytest.mark.usefixtures("strict")
def test_products_promote_as_operators_do() -> None:
    a, b = bl.asarray(np.array([100], np.int8)), bl.asarray(np.array([200], np.uint8))
    assert bl.matmul(a, b).dtype == np.int16
    assert int(bl.matmul(a, b)) == 20000
    assert bl.tensordot(a, b, axes=1).dtype == np.int16
    assert np.asarray(bl.matmul(a, a)) == np.int8(100 * 100 % 256)
    for x in (bl.asarray(np.ones(1)), bl.asarray(np.ones(1, bool))):
        with pytest.raises(TypeError):
            bl.matmul(a, x)
    with pytest.raises(TypeError, match="bool"):
        bl.matmul(bl.asarray(np.ones(1, bool)), bl.asarray(np.ones(1, bool)))
    with pytest.raises(ValueError):
        bl.matmul(a, bl.asarray(np.array(1, np.int8)))
    with pytest.raises(ValueError):
        bl.matmul(a, bl.asarray(np.ones(2, np.int8)))


@pytest.mark.parametrize("axes", [0, 1, ((1,), (0,)), ((-1, 0), (0, -1)), ((), ())])
def test_tensordot(axes: Any) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0, 12.0).reshape(3, 2)
    got = bl.tensordot(bl.asarray(a), bl.asarray(b), axes=axes)
    assert np.array_equal(np.asarray(got), np.tensordot(a, b, axes=axes))


@pytest.mark.parametrize(
    "axes", [2, 3, -1, ((0,), (0, 1)), ((0, 0), (1, 2)), ((0, 0), (1, 1)), ((2,), (0,)), ((0,), (0,))]
)
def test_axes_that_do_not_fit(axes: Any) -> None:
    a, b = bl.asarray(np.ones((2, 3))), bl.asarray(np.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="tensordot"):
        bl.tensordot(a, b, axes=axes)


def test_operands_are_evaluated_once() -> None:
    x = bl.asarray(np.array([3.0, 1.0])) * 2
    bl.unique_values(x)
    assert x._handle.is_evaluated


def test_a_traced_array_has_no_values() -> None:
    x = bl.Array._of(Handle.input("x", "int64", ["n"]))
    for function in (bl.unique_counts, bl.unique_values, bl.nonzero, lambda x: bl.matmul(x, x)):
        with pytest.raises(bl.TracerError, match="asks for the value of a traced array"):
            function(x)
