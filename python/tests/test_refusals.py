"""Tests arguments of a wrong type: each parameter of each function and method takes a value, or an error names the function,
the argument and what it takes, and nothing inside the package."""

from __future__ import annotations

import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom._numpy_searches import FUNCTIONS as TABLE
from broadloom._options import EvaluationOptions

MATRIX = np.arange(1.0, 10.0).reshape(3, 3) + 9 * np.eye(3)


class Odd:
    """An object that no function takes."""

    def __repr__(self) -> str:
        return "Odd()"


#: Arguments with which each function works, by the names of parameters. For other names, it is an array.
ARGUMENTS: dict[str, Any] = {
    "arrays": [bl.asarray(MATRIX)] * 2,
    "axes": (1, 0),
    "axis": 0,
    "axis1": 0,
    "axis2": 1,
    "device": "cpu",
    "destination": 1,
    "dtype": np.float64,
    "fill_value": 1,
    "from_": np.int8,
    "function": abs,
    "indices": bl.asarray([0]),
    "kind": "integral",
    "n": 1,
    "n_cols": 2,
    "n_rows": 2,
    "num": 3,
    "obj": [1.0],
    "pad_width": 1,
    "repeats": 2,
    "repetitions": (2,),
    "shape": (9,),
    "shift": 1,
    "source": 0,
    "start": 0,
    "stop": 3,
    "to": np.float64,
    "type": np.float64,
    "v": 1.0,
    "value": 1.0,
    "y": 1.0,
}
#: In these functions the names have other meanings.
OTHERS: dict[str, dict[str, Any]] = {
    "iinfo": {"type": np.int8},
    "shape": {"shape": (9,)},
    "searchsorted": {"x1": bl.asarray([1.0, 2.0])},
    "topk": {"k": 1},
    "pad": {"pad_width": 1},
    "sliding_window": {"window_shape": (1, 1)},
    "outer": {"x1": bl.asarray([1.0, 2.0]), "x2": bl.asarray([1.0, 2.0])},
    "tensordot": {"axes": 1},
    "fftn": {"axes": (0, 1)},
    "while_loop": {"cond": lambda x: x < 2, "body": lambda x: x + 1, "state": 0.0},
    "scan": {"step": lambda s, x: (s, x), "state": 0.0, "inputs": bl.asarray([1.0, 2.0])},
    "reduce": {"combine": lambda a, b: a + b, "identity": 0.0, "values": bl.asarray([1.0, 2.0])},
    "cond": {"predicate": bl.asarray([True]), "true_fun": lambda x: x, "false_fun": lambda x: -x, "operands": 1.0},
    "fori_loop": {"lower": 0, "upper": 3, "body": lambda i, x: x + 1, "state": 0.0},
}
#: Functions of functions, which refuse most arguments when the function that they return is called, and one that takes trees.
OF_FUNCTIONS = set("checkpoint grad hessian jacfwd jacrev jvp stop_gradient value_and_grad vjp vmap".split())
#: Names from inside the package.
INTERNAL = re.compile(
    r"_core|Handle|NumpyMethods|Reductions\.|Array\.|NoValue|\b_[a-z]|argument must be|interpreted as an integer"
)


def functions() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    for module in (bl, bl.linalg, bl.fft, bl.arrow):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and name not in OF_FUNCTIONS | {"explain", "set_options", "eig", "eigvals"}:
                yield f"{module.__name__}.{name}", function, ()
    for name, method in inspect.getmembers(bl.Array, inspect.isfunction):
        if not name.startswith("_"):
            yield f"Array.{name}", method, (bl.asarray([1.0, 2.0] if name == "searchsorted" else MATRIX),)
    for name, method in inspect.getmembers(bl.arrow.NullableArray, inspect.isfunction):
        if not name.startswith("_"):
            yield f"NullableArray.{name}", method, (bl.arrow.NullableArray([1.0, 2.0], [True, False]),)


FUNCTIONS = {name: (function, first) for name, function, first in functions()}


def operand(name: str) -> Any:
    if "bitwise" in name:
        return bl.asarray([1, 2])
    return bl.asarray([True, False]) if "logical" in name else bl.asarray(MATRIX)


def calls(name: str) -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """Calls with one wrong argument each: the parameter's name, the argument, and the arguments of the call."""
    function, first = FUNCTIONS[name]
    parameters = list(inspect.signature(function).parameters.values())[len(first) :]
    good = ARGUMENTS | OTHERS.get(name.rpartition(".")[2], {})
    for place, parameter in enumerate(parameters):
        # A dict may be the state of a loop, whose body then fails by itself; test_loops.py has wrong states. The operands of
        # `cond` are arguments of the caller's functions.
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name in ("state", "operands"):
            continue
        annotation = str(parameter.annotation)
        takes_floats = re.search("float|Number|Array|Any|Shape", annotation)
        for wrong in (Odd(), {"a": 1}, "wrong", *(() if takes_floats else (0.5,))):
            before = [p for p in parameters[:place] if p.kind is not p.KEYWORD_ONLY]
            before = [p for p in before if p.default is p.empty or p.kind is p.POSITIONAL_ONLY]
            after = [p for p in parameters[place + 1 :] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            args = [good.get(p.name, operand(name)) for p in before if p.kind is not p.VAR_POSITIONAL]
            kwargs = {p.name: good.get(p.name, operand(name)) for p in after}
            args += [
                good.get(p.name, operand(name))
                for p in parameters[place + 1 :]
                if p.default is p.empty and p.kind is p.POSITIONAL_ONLY
            ]
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                args.insert(len(before), wrong)
            else:
                kwargs[parameter.name] = wrong
            yield parameter.name, wrong, (*first, *args), kwargs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_argument_is_refused_by_name(name: str) -> None:
    function, short = FUNCTIONS[name][0], name.rpartition(".")[2]
    for argument, wrong, args, kwargs in calls(name):
        try:
            function(*args, **kwargs)
        except Exception as error:
            said = str(error)
            assert re.search(rf"\b{short}\b", said), (argument, wrong, said)
            assert re.search(rf"\b{argument}\b", said), (argument, wrong, said)
            assert not INTERNAL.search(said), (argument, wrong, said)
            frames = traceback.extract_tb(error.__traceback__)
            assert {frame.filename for frame in frames} == {__file__}, (argument, wrong, said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_keyword_lists_those_that_exist(name: str) -> None:
    function, first = FUNCTIONS[name]
    parameters = list(inspect.signature(function).parameters.values())[len(first) :]
    if not parameters:
        pytest.skip("it has no keywords")
    args = (bl.asarray(MATRIX) + 1,) if name == "broadloom.evaluate" else first
    with pytest.raises(TypeError) as caught:
        function(*args, unknown=1)
    said = str(caught.value)
    assert re.search(r"no (argument|option) `unknown`; (there are|the arguments are) ", said), said
    listed = said.partition("; ")[2]
    for parameter in parameters:
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            assert re.search(rf"\b{parameter.name}\b", listed) or "no option" in said, (parameter.name, said)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.sum(axis=0.5), "sum: `axis` is 0.5, expected an int, a tuple of ints or None"),
        (lambda x: x.sum(axis="a"), "sum: `axis` is 'a', expected an int, a tuple of ints or None"),
        (lambda x: bl.sum(x, axis="a"), "sum: `axis` is 'a', expected an int, a tuple of ints or None"),
        (lambda x: bl.sum(x, initial="a"), "sum: `initial` is 'a', expected a number or None"),
        (lambda x: x.reshape("a"), "reshape: `shape` is 'a', expected an int or a sequence of ints"),
        (lambda x: x.max(out=1), "max: `out` is 1, expected an array or None"),
        (lambda x: bl.add(x, "a"), "add: `x2` is 'a', expected an array or a number"),
        (lambda x: bl.zeros(2, dtype="wrong"), "zeros: `dtype` is 'wrong', expected a dtype of numbers or None"),
        (lambda x: bl.concat(3), "concat: `arrays` is 3, expected a sequence of arrays"),
        (lambda x: bl.fft.fft(x, norm="a"), "fft: `norm` is 'a', expected 'backward', 'ortho' or 'forward'"),
        (lambda x: bl.jit(len, static_argnames=3), "jit: `static_argnames` is 3"),
        (lambda x: bl.evaluate(x + 1, progress=0.5), "evaluate: `progress` is 0.5"),
        (lambda x: np.sum(x, axis="a"), "sum: `axis` is 'a', expected an int, a tuple of ints or None"),
        (lambda x: np.sum(x, initial="a"), "sum: `initial` is 'a', expected a number or None"),
        (lambda x: np.max(x, out=1), "max: `out` is 1, expected an array or None"),
        (lambda x: np.reshape(x, "a"), "reshape: `shape` is 'a', expected an int, a tuple of ints or None"),
        (lambda x: np.var(x, ddof="a"), "var: `ddof` is 'a', expected a number"),
        (lambda x: np.clip(x, "a", 2), "clip: `a_min` is 'a', expected an array, a number or None"),
        (lambda x: np.sort(x, axis=0.5), "sort: `axis` is 0.5, expected an int, a tuple of ints or None"),
        (lambda x: np.add(x, "a"), "add: `x2` is 'a', expected an array or a number"),
        (lambda x: np.add({}, x), "add: `x1` is {}, expected an array or a number"),
        (lambda x: np.sin(x, dtype="wrong"), "sin: `dtype` is 'wrong', expected a dtype of numbers or None"),
        (lambda x: np.add.reduce(x, "a"), "add.reduce: `axis` is 'a', expected an int, a tuple of ints or None"),
        (lambda x: np.add.outer(x, "a"), "add.outer: `x2` is 'a', expected an array or a number"),
        (lambda x: x.mean(axis=[0]), "mean: `axis` is [0], expected an int, a tuple of ints or None"),
        (lambda x: np.sum(x, axis=[0, 1]), "sum: `axis` is [0, 1], expected an int, a tuple of ints or None"),
        (lambda x: np.where(x > 1, "a", 1), "where: `x` is 'a', expected an array or a number"),
        (lambda x: np.where(x > 1, 1, "a"), "where: `y` is 'a', expected an array or a number"),
        (lambda x: np.transpose(x, axes="a"), "transpose: `axes` is 'a', expected an int, a tuple of ints or None"),
        (
            lambda x: np.transpose(x, (0, 1.5)),
            "transpose: `axes` is (0, 1.5), expected an int, a tuple of ints or None",
        ),
        (lambda x: np.ravel(x, "x"), "ravel: `order` is 'x', expected 'C', 'F', 'A' or 'K'"),
        (
            lambda x: np.sort(x, kind="a"),
            "sort: `kind` is 'a', expected 'quicksort', 'mergesort', 'heapsort', 'stable' or None",
        ),
        (lambda x: np.delete(x, 0.5), "delete: `obj` is 0.5, expected an int, a slice or an array"),
        (lambda x: np.quantile(x, "a"), "quantile: `q` is 'a', expected an array or a number"),
        (lambda x: bl.Kernel.parse(1), "Kernel.parse: `text` is 1, expected a str"),
        (lambda x: bl.Kernel.parse(b"true"), "Kernel.parse: `text` is b'true', expected a str"),
        (
            lambda x: bl.Kernel.parse("true", promotion=1),
            "Kernel.parse: `promotion` is 1, expected 'strict', 'numpy' or None",
        ),
        (lambda x: bl.Kernel.parse("true", unknown=1), "Kernel.parse: there is no option `unknown`; there are threads"),
        (
            lambda x: bl.set_options("numpy"),
            "set_options: options are passed by name, as in set_options(threads=2); there are",
        ),
        (lambda x: bl.arrow.NullableArray("a"), "NullableArray: values: "),
        (
            lambda x: bl.arrow.NullableArray([1], [True, False]),
            "NullableArray: a validity of shape (2,) for values of shape (1,)",
        ),
        (lambda x: bl.fft.fft(x, axis=5), "fft: axis 5 is out of bounds for array of dimension 2"),
        (lambda x: bl.fft.rfftn(x, axes=(0, 7)), "rfftn: axis 7 is out of bounds for array of dimension 2"),
        (lambda x: bl.jit(functools.partial(max, 1))("a"), "partial: an argument is str: the array is <U1"),
        (lambda x: bl.Array([1.0]), "an Array is made by `broadloom.asarray`"),
    ],
)
def test_messages(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(bl.asarray(MATRIX))
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("axis", [Odd(), "wrong", 0.5, {"a": 1}])
def test_a_wrong_axis_of_numpys_functions_is_named(axis: Any) -> None:
    x, named = bl.asarray(MATRIX), 0
    for function in (getattr(np, name) for name in np.__all__ if type(getattr(np, name)) is type(np.sum)):
        parameters = inspect.signature(function).parameters
        required = [p for p in parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        if "axis" not in parameters or len([p for p in required if p.name != "axis"]) != 1:
            continue
        first = [x, x] if function in (np.concatenate, np.stack) else x
        with pytest.raises(TypeError) as caught:
            function(first, axis=axis)
        assert str(caught.value).startswith(f"{function.__name__}: `axis` is {axis!r}, expected "), caught.value
        named += 1
    assert named > 20


#: Arguments of NumPy's functions for which the functions work, beside those in `ARGUMENTS`.
NUMPYS = {
    "bins": bl.asarray([1.0, 2.0]),
    "choicelist": [bl.asarray(MATRIX)],
    "condition": MATRIX > 5,
    "condlist": [bl.asarray(MATRIX > 5)],
    "fp": bl.asarray([1.0, 2.0]),
    "obj": 1,
    "q": 0.5,
    "reps": 2,
    "tup": [bl.asarray(MATRIX)] * 2,
    "window_shape": (2, 2),
    "xp": bl.asarray([1.0, 2.0]),
}
#: NumPy's arguments whose errors are about something else: they are ignored, are no arguments of the elements, NumPy needs a
#: further argument for them, or looks for arrays in them before the package is asked.
UNNAMED = {"choicelist", "condlist", "device", "from_", "include_initial", "subok", "to", "where"}


@pytest.mark.parametrize("function", TABLE, ids=lambda function: function.__name__)
def test_a_wrong_argument_of_numpys_functions_is_refused_by_name(function: Callable[..., Any]) -> None:
    parameters = list(inspect.signature(function).parameters.values())
    parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p for p in parameters if p.default is p.empty]
    for parameter in parameters:
        for wrong in (Odd(), {"a": 1}, "wrong"):
            given = {p.name: (ARGUMENTS | NUMPYS).get(p.name, bl.asarray(MATRIX)) for p in required}
            given[parameter.name] = wrong
            by_position = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in given]
            is_ours = any(isinstance(x, (bl.Array, list)) for x in [*by_position, *given.values()])
            if parameter.name in UNNAMED or not is_ours:
                continue
            try:
                function(*by_position, **given)
            except (TypeError, ValueError) as error:
                said = str(error)
                assert re.match(rf"{function.__name__}: `{parameter.name}` is ", said), (parameter.name, wrong, said)


OPTIONS: dict[str, list[Any]] = {
    "threads": ["a", 1.5, {}],
    "executor": ["a", 3],
    "vector_width": ["a", 3, 128.0],
    "int_division": ["a", 3],
    "accuracy": ["a", 3],
    "contract": ["a", 3],
    "max_bytes": ["a", 3.5],
    "max_time": ["a", {}],
}
WITH_OPTIONS: dict[str, Callable[..., Any]] = {
    "jit": lambda **options: bl.jit(abs, **options),
    "jit, as a decorator": lambda **options: bl.jit(**options),
    "vectorize": lambda **options: bl.vectorize(lambda x: x + 1, **options),
    "vectorize, as a decorator": lambda **options: bl.vectorize(**options),
    "evaluate": lambda **options: bl.evaluate(bl.asarray(MATRIX) + 1, **options),
    "explain": lambda **options: bl.explain(bl.asarray(MATRIX) + 1, **options),
    "Kernel.parse": lambda **options: bl.Kernel.parse("true", **options),
}


@pytest.mark.parametrize("name", WITH_OPTIONS)
@pytest.mark.parametrize("option", OPTIONS)
def test_a_wrong_option_is_refused_by_name(name: str, option: str) -> None:
    assert set(OPTIONS) == set(EvaluationOptions.__annotations__)
    for wrong in OPTIONS[option]:
        with pytest.raises((TypeError, ValueError)) as caught:
            WITH_OPTIONS[name](**{option: wrong})
        words = rf"{name.partition(',')[0]}: `?{option}`? is {re.escape(repr(wrong))}, expected "
        assert re.match(words, str(caught.value)), caught.value
        assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}
    assert WITH_OPTIONS[name](**{option: None}) is not None


@pytest.mark.parametrize("name", [name for name in WITH_OPTIONS if name != "Kernel.parse"])
def test_the_rule_of_promotion_is_no_option_of_an_evaluation(name: str) -> None:
    with pytest.raises(
        TypeError, match=rf"^{name.partition(',')[0]}: there is no option `promotion`; there are .*threads, "
    ):
        WITH_OPTIONS[name](promotion="numpy")


def test_numpys_own_errors_stay() -> None:
    x = bl.asarray(MATRIX)
    for call in (lambda x: np.sum(x, axis=7), lambda x: np.sort(x, axis=7), lambda x: np.add.reduce(x, axis=7)):
        with pytest.raises(np.exceptions.AxisError, match="^axis 7 is out of bounds for array of dimension 2$"):
            call(x)

    class Other:
        def __array_ufunc__(self, *_: object, **__: object) -> str:
            return "asked"

    assert np.add(x, Other()) == "asked"
    with pytest.raises(ZeroDivisionError):
        np.apply_along_axis(lambda row: 1 / 0, 0, x)


def test_an_error_that_is_not_about_an_argument_stays() -> None:
    x = bl.asarray(MATRIX)
    stop = ValueError("stop")

    def progress(done: int, total: int) -> None:
        raise stop

    class Raising:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise stop

    for call in (lambda: bl.evaluate(x + 1, progress=progress), lambda: bl.asarray(Raising())):
        with pytest.raises(ValueError, match="^stop$") as caught:
            call()
        assert caught.value is stop and stop.args == ("stop",)
    for out in ([np.zeros(2)], np.zeros(2), (np.zeros(2),)):
        with pytest.raises(ValueError, match="shape"):
            bl.evaluate(x + 1, out=out)  # type: ignore[call-overload]
    with pytest.raises(bl.ShapeError, match="^sum: "):
        bl.sum(x, axis=7)
    with pytest.raises(bl.TracerError, match="asks for the values|a branch"):
        bl.jit(lambda x: bl.sort(x) if x > 0 else x)(MATRIX)
    with pytest.raises(ValueError, match="^there is no device|^zeros: there is no device 'gpu'"):
        bl.zeros(3, device="gpu")
