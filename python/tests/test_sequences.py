"""Tests lists, tuples and nested sequences as operands: they are taken element by element, as by NumPy's operators;
`in` and None are as in NumPy."""

from __future__ import annotations

import array
import datetime
import operator
from collections import deque
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import Array

BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le gt ge eq ne".split()
X = np.array([[7, 2, 5], [1, 0, 3]])
SEQUENCES: list[Any] = [
    [1, 2, 3],
    (1, 2, 3),
    [[1], [2]],
    ((1, 2, 3), [4, 5, 6]),
    range(1, 4),
    [],
    [5],
    deque([1, 2, 3]),
]


def same(got: Any, expected: Any) -> bool:
    values = np.asarray(got)
    return isinstance(got, Array) and got.dtype == expected.dtype and values.tobytes() == expected.tobytes()


@pytest.mark.parametrize("other", SEQUENCES, ids=repr)
@pytest.mark.parametrize("name", BINARY)
def test_operators_take_sequences(name: str, other: Any) -> None:
    op = getattr(operator, name)
    if isinstance(other, list) and not other:
        x: Any = np.zeros((2, 0), dtype=np.float64)
        if name in ("and_", "or_", "xor", "lshift", "rshift"):
            pytest.skip("an empty list is float64")
    else:
        x = X
    with np.errstate(divide="ignore", invalid="ignore"):
        assert same(op(bl.asarray(x), other), op(x, other))
        assert same(op(other, bl.asarray(x)), op(other, x))


def test_other_operators_take_sequences() -> None:
    x = bl.asarray(X)
    assert same(x @ [1, 2, 3], X @ [1, 2, 3])
    assert same([1, 2] @ x, [1, 2] @ X)
    for got, expected in zip(divmod(x, [2, 3, 4]), np.divmod(X, [2, 3, 4]), strict=True):
        assert same(got, expected)
    for got, expected in zip(divmod([2, 3, 4], x + 1), np.divmod([2, 3, 4], X + 1), strict=True):
        assert same(got, expected)
    alias = x
    x += [1, 2, 3]
    assert x is alias and same(x, X + [1, 2, 3])
    some = [1, 2, 3]
    some += bl.asarray(X)  # type: ignore[arg-type,assignment]
    assert same(some, X + [1, 2, 3])


def test_functions_take_sequences() -> None:
    assert same(bl.add([1, 2], [3, 4]), np.add([1, 2], [3, 4]))
    assert same(bl.sqrt([1.0, 4.0]), np.sqrt([1.0, 4.0]))
    assert same(bl.where([True, False], [1, 2], 0), np.where([True, False], [1, 2], 0))
    assert same(bl.sum([[1, 2], [3, 4]], axis=0), np.sum([[1, 2], [3, 4]], axis=0))
    assert same(bl.concat([[1, 2], (3,)]), np.concatenate([[1, 2], (3,)]))


def test_sequences_of_other_things() -> None:
    x = bl.asarray([1.0, 2.0])
    assert same(x + [bl.asarray(1.0), bl.asarray([2.0])[0] * 2], np.array([2.0, 6.0]))
    assert same(x + [np.float64(1), 2], np.array([2.0, 4.0]))
    assert same(x * array.array("d", [3, 4]), np.array([3.0, 8.0]))
    for other in (["a", "b"], [None, 1], {"a": 1}, "ab", b"ab", None, object()):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            x < other  # noqa: B015
    with pytest.raises(ValueError, match="inhomogeneous"):
        x + [[1.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="broadcast"):
        x + [1.0, 2.0, 3.0]


def test_the_issues_example() -> None:
    assert (bl.asarray([1, 2]) == [1, 2]).tolist() == [True, True]
    assert (bl.asarray([1, 2]) != (1, 3)).tolist() == [False, True]


@pytest.mark.parametrize("other", [None, "a", b"a", ["a", "b"], [1.0, None], [1j, 1.0], np.array(["a", "b"])], ids=repr)
def test_equality_with_what_is_no_number(other: Any) -> None:
    x = np.array([1.0, np.nan])
    for op in (operator.eq, operator.ne):
        assert same(op(bl.asarray(x), other), np.asarray(op(x, other)))
        # If the left operand is a NumPy array, the result is a NumPy array.
        assert np.array_equal(np.asarray(op(other, bl.asarray(x))), op(x, other))


class Two:
    def __eq__(self, other: object) -> bool:
        return other == 2


@pytest.mark.parametrize(
    "other",
    [{1, 2}, frozenset(), {"a": 1}, object(), slice(1), ..., int, 1j, 2 + 0j, datetime.date(2026, 1, 1), bytearray(b"ab"), Two()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_equality_with_other_objects_is_numpys(other: Any) -> None:
    for x in (np.array([1, 2]), np.array([[True, False]]), np.array(2.0)):
        for op in (operator.eq, operator.ne):
            assert same(op(bl.asarray(x), other), np.asarray(op(x, other)))
        assert (other in bl.asarray(x)) == (other in x)


def test_objects_that_know_arrays_compare_themselves() -> None:
    class Own:
        __array_ufunc__ = None

        def __eq__(self, other: object) -> Any:
            return "own"

    assert (bl.asarray([1, 2]) == Own()) == "own"
    found = bl.jit(lambda x: x == object())(np.array([1, 2]))
    assert found.tolist() == [False, False]


def test_equality_with_none_while_tracing() -> None:
    @bl.jit
    def both(x: Any) -> Any:
        return (x == None) | (x > 1), x != None  # noqa: E711

    first, second = both(np.array([1.0, 2.0]))
    assert (first.tolist(), second.tolist()) == ([False, True], [True, True])


@pytest.mark.parametrize(
    "value",
    [3, 9, None, "a", [1, 0, 3], [7, 0, 0], [[7], [9]], np.int64(5), (0,), object()],
    ids=lambda value: type(value).__name__,
)
def test_membership_is_numpys(value: Any) -> None:
    assert (value in bl.asarray(X)) == (value in X)
    assert (value in bl.asarray(X)[0, :1]) == (value in X[0, :1]) if np.ndim(value) == 0 else True


def test_membership_of_arrays_without_axes_and_nan() -> None:
    assert 3 in bl.asarray(3) and 4 not in bl.asarray(3)
    assert bl.nan not in bl.asarray([1.0, bl.nan])
    with pytest.raises(ValueError, match="broadcast"):
        [1, 2] in bl.asarray([1, 2, 3])  # noqa: B015
    with pytest.raises(bl.TracerError):
        bl.jit(lambda x: 1.0 in x)(np.ones(2))


def test_objects_that_meet_arrays_themselves() -> None:
    class Own(list[int]):
        __array_ufunc__ = None

        def __radd__(self, other: object) -> str:
            return "own"

    assert bl.asarray([1]) + Own() == "own"


def test_an_array_in_a_list_is_found() -> None:
    x = bl.asarray(1.0)
    assert x in [x]
