"""Tests NumPy's functions on arrays with nulls, and their evaluation: they return the same results as the namespace's
functions, or are refused with an error that names them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom.arrow import NullableArray

N = NullableArray


def nulls() -> NullableArray:
    return N([1.0, 4.0, 9.0], [True, False, True])


def pairs() -> NullableArray:
    return N([[1, 2], [3, 4]], [[True, False], [True, True]])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: np.sqrt(x), [1.0, None, 3.0]),
        (lambda x: np.add(x, [1.0, 2.0, 3.0]), [2.0, None, 12.0]),
        (lambda x: np.arange(3.0) + x, [1.0, None, 11.0]),
        (lambda x: np.float64(2) * x, [2.0, None, 18.0]),
        (lambda x: np.multiply(bl.asarray([2.0, 2.0, 2.0]), x), [2.0, None, 18.0]),
        (lambda x: np.greater(x, 5), [False, None, True]),
        (lambda x: np.isnan(x), [False, None, False]),
        (lambda x: np.gcd(x.astype(bl.int64), 3), [1, None, 3]),
        (lambda x: np.where(x > 2, x, 0.0), [0.0, None, 9.0]),
        (lambda x: np.clip(x, 2, None), [2.0, None, 9.0]),
        (lambda x: np.clip(x, x - 1, N([0.0, 0.0, 0.0], [True, True, False])), [0.0, None, None]),
        (lambda x: np.round(x / 7, 1), [0.1, None, 1.3]),
        (lambda x: np.astype(x, np.int8), [1, None, 9]),
        (lambda x: np.logical_and(x, [0.0, 0.0, 1.0]), [False, False, True]),
        (lambda x: np.sqrt(x, dtype=np.float32), [1.0, None, 3.0]),
        (lambda x: x + [1.0, 2.0, 3.0], [2.0, None, 12.0]),
        (lambda x: (1.0, 2.0, 3.0) - x, [0.0, None, -6.0]),
    ],
)
def test_functions_of_elements_keep_nulls(call: Callable[[Any], Any], expected: list[Any]) -> None:
    got = call(nulls())
    assert isinstance(got, NullableArray)
    assert got.tolist() == expected


def test_functions_of_two_results() -> None:
    for got in (np.divmod(nulls(), 2), divmod(nulls(), 2)):
        assert [part.tolist() for part in got] == [[0.0, None, 4.0], [1.0, None, 1.0]]
    assert [part.tolist() for part in divmod(10, N([3, 0], [True, False]))] == [[3, None], [1, None]]
    assert [part.tolist() for part in np.modf(nulls() / 2)] == [[0.5, None, 0.5], [0.0, None, 4.0]]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all"])
def test_reductions_skip_nulls(name: str) -> None:
    function, own = getattr(np, name), getattr(bl, name)
    for x in (nulls(), pairs()):
        assert function(x).tolist() == own(x).tolist()
        for axis in range(x.ndim):
            assert function(x, axis).tolist() == own(x, axis=axis).tolist()
            assert function(x, axis=axis, keepdims=True).shape == own(x, axis=axis, keepdims=True).shape


def test_options_of_reductions() -> None:
    assert np.var(nulls(), ddof=1).item() == bl.var(nulls(), correction=1).item()
    assert np.sum(pairs(), dtype=np.float32).dtype == np.float32
    assert np.add.reduce(pairs()).tolist() == [4, 4]
    assert np.maximum.reduce(pairs(), axis=None).item() == 4


def test_properties() -> None:
    assert (np.shape(pairs()), np.ndim(pairs())) == ((2, 2), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.median(x), r"np\.median: .*fill_null or drop_null.*bl\.sum"),
        (lambda x: np.concatenate([x, x]), r"np\.concatenate"),
        (lambda x: np.nansum(x), r"np\.nansum"),
        (lambda x: np.argmax(x), r"np\.argmax"),
        (lambda x: np.cumsum(x), r"np\.cumsum"),
        (lambda x: np.matmul(x, x), r"np\.matmul"),
        (lambda x: np.add.accumulate(x), r"np\.add\.accumulate"),
        (lambda x: np.add.outer(x, x), r"np\.add\.outer"),
        (lambda x: np.sum(x, where=[True, False, True]), "np.sum: `where`"),
        (lambda x: np.sum(x, initial=1.0), "np.sum: `initial`"),
        (lambda x: np.sum(x, out=np.zeros(())), "np.sum: `out`"),
        (lambda x: np.sqrt(x, out=np.zeros(3)), "np.sqrt: `out`"),
        (lambda x: np.sqrt(x, where=[True, False, True]), "np.sqrt: `where`"),
        (lambda x: np.mean(x, dtype=np.float32), "np.mean: `dtype`"),
        (lambda x: np.add(x, None), "add: None is no operand"),
    ],
)
def test_what_would_lose_nulls_is_refused_by_name(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(nulls())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.sum(x, axis="a"), "sum: `axis` is 'a', expected an int"),
        (lambda x: np.add(x, "a"), "add: `x2` is 'a', expected an array or a number"),
        (lambda x: np.add({}, x), "add: `x1` is {}, expected an array or a number"),
        (lambda x: np.round(x, "a"), "round: `decimals` is 'a', expected an int"),
        (lambda x: np.sum(x, axis=7), "sum: axis 7 is out of range for an array of rank 1"),
        (lambda x: x.mean(axis=7), "mean: axis 7 is out of range for an array of rank 1"),
        (lambda x: x.count(axis=-2), "count: axis -2 is out of range for an array of rank 1"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(nulls())
    assert str(caught.value).startswith(message)


def test_another_class_is_asked() -> None:
    class Other:
        def __array_ufunc__(self, *_: object, **__: object) -> str:
            return "asked"

    assert np.add(nulls(), Other()) == "asked"
    assert np.size(nulls()) == 3


def test_evaluate_takes_arrays_with_nulls() -> None:
    x = nulls() * N([2.0, 2.0, 2.0], [True, True, False])
    assert bl.evaluate(x) is x
    assert x.values._handle.is_evaluated and x.validity._handle.is_evaluated
    x = nulls() * 2
    y, z = bl.evaluate(x + 1, bl.asarray([1.0]) * 3)
    assert (y.tolist(), z.tolist()) == ([3.0, None, 19.0], [3.0])
    with pytest.raises(TypeError, match="to_numpy"):
        bl.evaluate(x, out=np.zeros(3))


def test_membership() -> None:
    x = nulls()
    assert 9.0 in x and 4.0 not in x and None in x
    assert None not in N([1.0]) and 1.0 not in N([], None)


@pytest.mark.parametrize("op", [operator.add, operator.eq, divmod])
def test_other_objects_are_refused(op: Callable[[Any, Any], Any]) -> None:
    if op is operator.eq:
        assert (nulls() == "text") is False
    else:
        with pytest.raises(TypeError, match="unsupported operand"):
            op(nulls(), "text")


def test_python_rounds_them() -> None:
    x = N([1.26, 2.5, -1.24], [True, False, True])
    assert round(x, 1).tolist() == [1.3, None, -1.2]
    assert round(x).tolist() == [1.0, None, -1.0]


@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_reductions_take_a_dtype(name: str) -> None:
    values = np.array([0.1, 0.7, 0.3], np.float32)
    made = getattr(N(values, [True, False, True]), name)(dtype=bl.float64)
    assert made.dtype == np.float64
    assert made.tolist() == getattr(np, name)(values[[0, 2]], dtype=np.float64)
