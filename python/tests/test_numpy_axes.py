"""Tests that NumPy's functions take the same axes for broadloom's arrays as for NumPy's, also for arrays without axes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom._numpy_searches import FUNCTIONS

ARRAYS = [
    np.array(3.5),
    np.array(7),
    np.array(True),
    np.float64(2),
    np.arange(3.0),
    np.ones((2, 1)),
    np.arange(6).reshape(1, 2, 3),
]

AXES: list[Any] = [
    0,
    -1,
    1,
    -2,
    None,
    (),
    (0,),
    (-1,),
    (0, 0),
    (0, -1),
    (0, 1),
    [0],
    True,
    0.0,
    "a",
    np.int64(0),
    np.array(0),
]

#: Arguments that come between the array and the axis.
BETWEEN: dict[Any, tuple[Any, ...]] = {
    np.take: (0,),
    np.repeat: (2,),
    np.roll: (1,),
    np.append: (np.ones((1, 2, 3)),),
    np.delete: (0,),
    np.percentile: (25.0,),
    np.quantile: (0.25,),
    np.take_along_axis: (np.zeros((1, 2, 1), int),),
}

#: Not compared here: functions of several arrays, and one that returns overlapping memory.
LEFT_OUT = {np.concatenate, np.stack, np.lib.stride_tricks.sliding_window_view}

ALONG_AXES = sorted(
    (f for f, ours in FUNCTIONS.items() if "axis" in inspect.signature(ours).parameters and f not in LEFT_OUT),
    key=lambda f: f.__name__,
)

UFUNCS = [np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or, np.subtract, np.bitwise_or]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(call: Callable[[Any], Any], x: Any) -> Any:
    """The dtype, shape and elements of a result, or that it is an error."""
    try:
        made = np.asarray(call(x))
    except (TypeError, ValueError, IndexError):
        return "an error"
    return made.dtype, made.shape, made.tolist()


def check(call: Callable[[Any], Any], what: str) -> None:
    for x in ARRAYS:
        expected = outcome(call, np.asarray(x))
        assert outcome(call, bl.asarray(x)) == expected, f"{what} of {x!r}"
        if expected != "an error":
            # The result must be an array of broadloom or plain data, not an array of NumPy.
            assert isinstance(call(bl.asarray(x)), bl.Array | int | list | tuple), what


#: `numpy.roll` fails for an array without axes if no axes are given, because it unpacks an empty tuple; broadloom
#: returns the array.
CALLS = [
    pytest.param(function, axis, id=f"{function.__name__}-{axis!r}")
    for function in ALONG_AXES
    for axis in AXES
    if not (function is np.roll and type(axis) is tuple and not axis)
]


@pytest.mark.parametrize(("function", "axis"), CALLS)
def test_functions_take_the_axes_that_numpy_takes(function: Any, axis: Any) -> None:
    between = BETWEEN.get(function, ())
    check(lambda x: function(x, *between, axis=axis), f"axis={axis!r}")
    if "keepdims" in inspect.signature(FUNCTIONS[function]).parameters:
        check(lambda x: function(x, *between, axis=axis, keepdims=True), f"axis={axis!r}, keepdims")


@pytest.mark.parametrize("axis", AXES, ids=repr)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_methods_of_ufuncs_take_the_axes_that_numpy_takes(ufunc: np.ufunc, method: str, axis: Any) -> None:
    check(lambda x: getattr(ufunc, method)(x, axis=axis), f"{method} with axis={axis!r}")


@pytest.mark.parametrize("axis", AXES, ids=repr)
@pytest.mark.parametrize("axis_of", ["concatenate", "stack"])
def test_what_joins_takes_the_axes_that_numpy_takes(axis_of: str, axis: Any) -> None:
    check(lambda x: getattr(np, axis_of)([x, x], axis=axis), f"axis={axis!r}")


@pytest.mark.parametrize("axis", AXES, ids=repr)
def test_sorting_in_place_keeps_the_shape(axis: Any) -> None:
    def sorted_in_place(x: Any) -> Any:
        x = x.copy()
        x.sort(axis=axis)
        return x

    check(sorted_in_place, f"axis={axis!r}")


def test_traced_numbers_have_the_axes_too() -> None:
    f = bl.jit(lambda x, s: np.sum(s, axis=0) + np.max(s, axis=-1) + np.cumsum(s, axis=0) + np.repeat(s, 3, axis=0) + x)
    assert f(np.arange(3.0), 2.0).tolist() == [8, 9, 10]
    assert f(np.arange(3.0), np.array(2.0)).tolist() == [8, 9, 10]


@pytest.mark.parametrize(
    "name", ["sum", "max", "argmax", "mean", "any", "cumulative_sum", "squeeze", "flip", "count_nonzero"]
)
@pytest.mark.parametrize("axis", [0, -1])
def test_the_namespace_knows_no_axis_of_an_array_without_axes(name: str, axis: int) -> None:
    with pytest.raises(ValueError, match="axis"):
        getattr(bl, name)(bl.asarray(3.5), axis=axis)
