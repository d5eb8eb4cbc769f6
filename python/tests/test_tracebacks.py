"""Tests that the tracebacks of errors show the user's lines and no frames of the package, unless the error may be a bug in the
package."""

from __future__ import annotations

import operator
import os
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _registry

PACKAGE = os.path.dirname(bl.__file__) + os.sep

ROWS: Any = bl.asarray(np.ones((2, 3)))
FOUR: Any = bl.asarray(np.ones(4))
FLOATS: Any = bl.asarray(np.arange(3.0))
BYTES: Any = bl.asarray(np.array([1, 2, 3], np.uint8))
MASK: Any = BYTES > 1
NONE: Any = bl.asarray(np.zeros(0))
NULLS: Any = bl.arrow.NullableArray([1.0, 2.0], [True, False])


def copied() -> Any:
    return FLOATS.copy()


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "an operator": (lambda: ROWS + FOUR, bl.ShapeError),
    "an operator with the array on the right": (lambda: [1, 2] + FLOATS, bl.ShapeError),
    "an operator in place": (lambda: operator.iadd(copied(), FOUR), bl.ShapeError),
    "an operator in place that changes the dtype": (lambda: operator.iadd(BYTES.copy(), 0.5), TypeError),
    "an operator with one operand": (lambda: -MASK, bl.DTypeError),
    "an operator and a number": (lambda: BYTES + 300, bl.LiteralError),
    "an operator and a complex number": (lambda: FLOATS + 1j, NotImplementedError),
    "a comparison": (lambda: ROWS < FOUR, bl.ShapeError),
    "equality": (lambda: ROWS == FOUR, bl.ShapeError),
    "divmod": (lambda: divmod(ROWS, FOUR), bl.ShapeError),
    "a matrix product": (lambda: ROWS @ FOUR, bl.ShapeError),
    "an operator of nulls": (lambda: NULLS + FLOATS, bl.ShapeError),
    "an index": (lambda: FLOATS[5], IndexError),
    "an index of an unknown kind": (lambda: FLOATS["x"], IndexError),
    "too many indices": (lambda: FLOATS[0, 1], IndexError),
    "an array as an index": (lambda: FLOATS[[9]].tolist(), IndexError),
    "an index of nulls": (lambda: NULLS[5], IndexError),
    "an assignment": (lambda: operator.setitem(copied(), 9, 1), IndexError),
    "an assignment of another shape": (lambda: operator.setitem(copied(), slice(2), FOUR), bl.ShapeError),
    "an assignment to a selection": (lambda: operator.setitem(copied(), [0, 1], [1, 2, 3]), ValueError),
    "bool": (lambda: bool(FLOATS), ValueError),
    "float": (lambda: float(FLOATS), TypeError),
    "len": (lambda: len(FLOATS[0]), TypeError),
    # The method of arrays that raises the error is called by the package, and leaves its frames to the outer method.
    "len, by a method that the package calls": (lambda: len(NULLS[0]), TypeError),
    "iteration": (lambda: list(FLOATS[0]), TypeError),
    "an array as an index of a list": (lambda: [1, 2][FLOATS], TypeError),
    "a property": (lambda: FLOATS.T, ValueError),
    "an attribute": (lambda: FLOATS.nothing, AttributeError),
    "a reduction": (lambda: ROWS.sum(axis=9), np.exceptions.AxisError),
    "a reduction of nothing": (lambda: NONE.max(), bl.ShapeError),
    "a reduction with an unknown argument": (lambda: ROWS.sum(colour=1), TypeError),
    "a reduction of nulls": (lambda: NULLS.sum(axis=9), bl.ShapeError),
    "another method": (lambda: ROWS.reshape(7), bl.ShapeError),
    "a method that NumPy computes": (lambda: FLOATS.sort(axis=9), IndexError),
    "item": (lambda: FLOATS.item(), ValueError),
    "a function": (lambda: bl.add(ROWS, FOUR), bl.ShapeError),
    "a function that NumPy lacks": (lambda: bl.fma(ROWS, FOUR, FLOATS), bl.ShapeError),
    "a function with NumPy's arguments": (lambda: bl.sum(ROWS, 9, where=True), np.exceptions.AxisError),
    "a function that computes": (lambda: bl.evaluate(FLOATS, out=np.ones(4)), ValueError),
    "an array of texts": (lambda: bl.asarray(np.array(["x"])), bl.DTypeError),
    "a creation function": (lambda: bl.zeros((-1,)), ValueError),
    "a function of NumPy's": (lambda: np.sum(ROWS, axis=9), np.exceptions.AxisError),
    "a universal function": (lambda: np.add(ROWS, FOUR), bl.ShapeError),
    "options": (lambda: bl.set_options(colour=1), TypeError),
}


def frames_of_package(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]


@pytest.mark.parametrize("name", ERRORS)
def test_tracebacks_show_no_frames_of_the_package(name: str) -> None:
    function, kind = ERRORS[name]
    with pytest.raises(kind) as caught:
        function()
    assert frames_of_package(caught.value) == []
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1] == "<lambda>"


def test_the_error_of_a_matrix_product_names_the_shapes() -> None:
    for function, words in [
        (lambda: ROWS @ FOUR, r"matmul: cannot multiply float64\[2,3\] with float64\[4\]: .* 3 elements, .* 4"),
        (lambda: bl.matmul(ROWS, ROWS), r"float64\[2,3\] with float64\[2,3\]: .* 3 elements, .* 2"),
        (lambda: ROWS @ FLOATS[0], r"float64\[2,3\] with float64\[\]: an array of rank 0"),
        (lambda: bl.ones((2, 1, 3)) @ bl.ones((4, 3, 1)), r"the other axes, \[2\] and \[4\], do not broadcast"),
    ]:
        with pytest.raises(bl.ShapeError, match=words):
            function()


@pytest.mark.parametrize("operation", [lambda: FLOATS + FLOATS, lambda: FLOATS[0], lambda: FLOATS.sum()])
@pytest.mark.parametrize("error", [KeyError, AttributeError, bl.InternalError])
def test_errors_that_may_be_bugs_keep_their_frames(
    monkeypatch: pytest.MonkeyPatch, operation: Callable[[], Any], error: type[Exception]
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error("a bug")

    monkeypatch.setattr("broadloom._generated.operators.forward", broken)
    for name in ("getitem", "array_function"):
        monkeypatch.setitem(_registry._functions, name, broken)
    with pytest.raises(error, match="a bug") as caught:
        operation()
    assert frames_of_package(caught.value)


def test_functions_of_the_user_keep_their_frames() -> None:
    def progress(done: int, total: int) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough") as caught:
        bl.evaluate(FLOATS + 1, progress=progress)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == ["test_functions_of_the_user_keep_their_frames", "progress"]
