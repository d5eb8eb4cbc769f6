"""Tests the engine's exceptions: each kind has a class, and attributes describe the failed operation."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core, _errors

X = bl.asarray(np.array([[1, 2, 3], [4, 5, 6]], np.int32))
FLOAT32, INT32, INT64 = np.dtype("f4"), np.dtype("i4"), np.dtype("i8")

#: An expression that fails; the class of its exception, and the built-in class that it derives from; the operation,
#: operands and axis that the exception names.
CASES: dict[str, tuple[Callable[[], Any], type[bl.Error], type[Exception], str | None, Any, Any]] = {
    "kinds that do not mix": (
        lambda: X + bl.asarray(np.float32([1])),
        bl.DTypeError,
        TypeError,
        "add",
        ((INT32, (2, 3)), (FLOAT32, (1,))),
        None,
    ),
    "dtypes without a common one": (
        lambda: bl.result_type(X, bl.float32),
        bl.DTypeError,
        TypeError,
        "result_type",
        ((INT32, (2, 3)), (FLOAT32, ())),
        None,
    ),
    "arrays that are joined and do not promote": (
        lambda: bl.concat([X, bl.asarray(np.float32([[1, 2, 3]]))]),
        bl.DTypeError,
        TypeError,
        "concat",
        ((INT32, (2, 3)), (FLOAT32, (1, 3))),
        None,
    ),
    "matrices that do not promote": (
        lambda: bl.matmul(X, bl.asarray(np.float32([1, 2, 3]))),
        bl.DTypeError,
        TypeError,
        "matmul",
        ((INT32, (2, 3)), (FLOAT32, (3,))),
        None,
    ),
    "shapes that do not broadcast": (
        lambda: X * bl.asarray(np.array([1, 2])),
        bl.ShapeError,
        ValueError,
        "multiply",
        ((INT32, (2, 3)), (INT64, (2,))),
        None,
    ),
    "an axis that there is not": (lambda: bl.sum(X, axis=2), bl.ShapeError, ValueError, "sum", ((INT32, (2, 3)),), 2),
    "a scan along such an axis": (
        lambda: bl.cumulative_sum(X, axis=5),
        bl.ShapeError,
        ValueError,
        "cumulative_sum",
        ((INT32, (2, 3)),),
        5,
    ),
    "a shape of other elements": (
        lambda: X._handle.reshape([4]),
        bl.ShapeError,
        ValueError,
        "reshape",
        ((INT32, (2, 3)),),
        None,
    ),
    "an axis that cannot go": (
        lambda: X._handle.squeeze(1),
        bl.ShapeError,
        ValueError,
        "squeeze",
        ((INT32, (2, 3)),),
        1,
    ),
    "a literal beyond the dtype": (
        lambda: X + 2**40,
        bl.LiteralError,
        ValueError,
        "add",
        ((INT32, (2, 3)), (INT64, ())),
        None,
    ),
    "a division by zero": (
        lambda: bl.evaluate(X // 0, int_division="error"),
        bl.DivisionError,
        ZeroDivisionError,
        None,
        (),
        None,
    ),
    "a limit of bytes": (lambda: bl.evaluate(X + X, max_bytes=1), bl.LimitError, MemoryError, None, (), None),
    "a limit of time": (
        lambda: bl.evaluate(bl.sum(bl.sin(bl.arange(10.0**8))), max_time=1e-9),
        bl.TimeLimitError,
        TimeoutError,
        None,
        (),
        None,
    ),
    "a text": (lambda: bl.Kernel.parse("x: float64[n]\nreturn x +"), bl.TextError, SyntaxError, None, (), None),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("strict")
def test_an_error_has_the_class_of_its_kind_and_says_what_it_is_about(name: str) -> None:
    fails, kind, of_python, operation, operands, axis = CASES[name]
    with pytest.raises(of_python) as found:
        fails()
    error: Any = found.value
    assert type(error) is kind and isinstance(error, bl.Error)
    assert (error.operation, error.operands, error.axis) == (operation, operands, axis)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and again.args == error.args and again.operands == operands


def test_an_open_extent_is_a_name() -> None:
    traced = bl.Kernel.parse("x: float64[n,3]\nreturn x + 1")
    assert traced.inputs[0][2] == ["n", "3"]

    @bl.jit
    def f(x: Any) -> Any:
        with pytest.raises(bl.DTypeError) as found:
            bl.bitwise_and(x, 1)
        operands.append(found.value.operands[0])
        return x + 1

    operands: list[Any] = []
    f(np.ones((2, 3)))
    assert operands == [(np.dtype("f8"), ("d1", "d0"))]


def test_an_error_of_a_text_knows_its_place() -> None:
    with pytest.raises(bl.TextError) as found:
        bl.Kernel.parse("x: float64[n]\nreturn x + unknown")
    error = found.value
    assert error.place == (2, 12) == (error.lineno, error.offset)
    assert error.help is None or error.help in str(error)


@pytest.mark.usefixtures("strict")
def test_advice_is_an_attribute() -> None:
    with pytest.raises(bl.DTypeError) as found:
        X * 2.5
    assert found.value.help is not None and "astype" in found.value.help


def test_a_traced_array_has_no_values() -> None:
    @bl.jit
    def f(x: Any) -> Any:
        return bl.nonzero(x)[0]

    with pytest.raises(bl.TracerError, match="nonzero"):
        f(np.ones(3))
    handle = _core.Handle.input("x", "f8", ["n"])
    with pytest.raises(bl.NoValuesError):
        handle.evaluate()
    with pytest.raises(bl.NoValuesError):
        handle.evaluate_into(np.ones(3))


def test_every_class_is_public_and_of_one_of_pythons() -> None:
    assert set(_errors.__all__) <= set(bl.__all__)
    for name in _errors.__all__:
        kind = getattr(bl, name)
        assert kind is getattr(_errors, name) and kind.__module__ == "broadloom" and kind.__doc__
        of_python = [base for base in kind.__mro__[1:] if base.__module__ == "builtins"]
        assert kind is bl.Error or (issubclass(kind, bl.Error) and of_python[0] is not Exception)
