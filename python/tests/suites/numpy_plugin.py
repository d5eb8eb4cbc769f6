"""A pytest plugin that lets NumPy's own tests call broadloom's functions, and records for each test which functions of the engine
ran in it.

In the files of `FUNCTIONS`, arrays remain NumPy's: the functions under test, also those that the file imports by name, are called
with broadloom's arrays, and their results are converted back. In other files the `np` of the file makes broadloom's arrays, whose keys
and methods are tested. An array of a dtype that the package lacks stays NumPy's, and so does a subclass.

Nothing in NumPy is changed, and nothing in the package but for one thing: an element of an array is computed as soon as it is
selected, since NumPy's tests expect the error of an index at once.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core, _options, _views
from broadloom import _numpy_protocols as _protocols
from broadloom._numpy_handlers import FUNCTIONS as FUNCTIONS_OF_NUMPY
from broadloom._ufuncs import Unsupported

#: The property of a test that lists the functions of the engine.
PROPERTY = "broadloom engine"

#: The functions under test in each file whose arrays stay NumPy's, with the number of their arguments that are arrays.
FUNCTIONS = {
    "test_arraypad": {"pad": 1},
    "test_arraysetops": {
        "intersect1d": 2,
        "isin": 2,
        "setdiff1d": 2,
        "setxor1d": 2,
        "union1d": 2,
        "unique": 1,
        "unique_all": 1,
        "unique_counts": 1,
        "unique_inverse": 1,
        "unique_values": 1,
    },
    "test_histograms": {"histogram": 2},
}

#: The tests that are selected, from a file that also has tests of many other things.
TESTS = {
    "test_multiarray": "Test(Take|Compress|FancyIndexing|Assignment|ZeroRank|ScalarIndexing|Newaxis|Subscripting)::"
    "|TestMethods::test_(compress|sort(?!_degraded)|argsort|searchsorted)"
}

#: Functions of the engine whose calls are recorded.
ENGINE = (
    "bincount compress concat gather histogram isin nonzero pad roll searchsorted sort argsort scatter sliding_window "
    "take take_along_axis topk unique_all unique_counts"
).split()

_DTYPES = frozenset(map(np.dtype, "?bhilqBHILQefd"))

#: The functions of the engine that ran since the current test began.
_ran: set[str] = set()
#: Functions that the package passed to NumPy since a call under test began.
_passed_on: list[str] = []


def _recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        _ran.add(name)
        return made

    return call


@contextmanager
def _raising(name: str) -> Iterator[None]:
    """Records an error that the package raised before it called NumPy: a test of that error has its function."""
    _passed_on.clear()
    try:
        yield
    except Unsupported:
        raise
    except Exception:
        if not _passed_on:
            _ran.add(name)
        raise


# Functions under test, for files whose arrays stay NumPy's.


def _is_ours(x: Any) -> bool:
    """Whether the package has arrays of this class and dtype."""
    return type(x) in (np.ndarray, bl.Array) and x.dtype in _DTYPES


def _operand(x: Any) -> Any:
    """An argument that NumPy would convert to an array, as broadloom's. `Unsupported` if it is no such array."""
    values = x if isinstance(x, np.ndarray) else np.asarray(x)
    if not _is_ours(values):
        raise Unsupported
    return bl.asarray(values)


def _is_bins(x: Any) -> bool:
    """Whether an argument is a number of bins or a rule for them, not their edges."""
    return isinstance(x, int | str)


def _result(made: Any) -> Any:
    """A result as NumPy's function returns it."""
    if isinstance(made, bl.Array):
        return np.asarray(made)
    if isinstance(made, tuple):
        several = map(_result, made)
        return type(made)(*several) if hasattr(made, "_fields") else tuple(several)
    return made


def through_ours(name: str, arrays: int) -> Callable[..., Any]:
    """NumPy's function, called with broadloom's arrays. The first `arrays` positional arguments are arrays.

    For an argument that the package has no array for, NumPy's function computes the result."""
    of_numpys = getattr(np, name)

    @functools.wraps(of_numpys)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = [
                x if i >= arrays or name == "histogram" and _is_bins(x) else _operand(x) for i, x in enumerate(args)
            ]
            with _raising(name):
                made = of_numpys(*given, **kwargs)
        except Unsupported:
            return of_numpys(*args, **kwargs)
        return _result(made)

    return call


# Arrays under test.

#: NumPy's functions that make the arrays of the tests.
CREATION = ("arange", "array", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


def _giving_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        values = function(*args, **kwargs)
        return bl.asarray(values) if type(values) is np.ndarray and values.dtype in _DTYPES else values

    return made


class _Module(ModuleType):
    """A module with other functions in the place of some of its own."""

    def __init__(self, of: ModuleType, functions: dict[str, Any]) -> None:
        super().__init__(of.__name__)
        self.__dict__.update(functions)
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)


def _taken_at_once(take: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(take)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = take(*args, **kwargs)
        return made if made.is_symbolic else _options.evaluated(made)

    return call


def _numpy_of_ours() -> ModuleType:
    """A module that behaves like NumPy, but whose creation functions return broadloom's arrays."""
    random = {name: _giving_ours(getattr(np.random, name)) for name in ("permutation", "rand", "randint", "random")}
    functions = {name: _giving_ours(getattr(np, name)) for name in CREATION}
    return _Module(np, functions | {"random": _Module(np.random, random), "may_share_memory": _may_share_memory})


def _may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether one array is a view of the other: an assignment to its elements sets those of the other."""
    if isinstance(a, bl.Array) and isinstance(b, bl.Array):
        return bool(_views.parents(a)) or bool(_views.parents(b))
    return np.may_share_memory(a, b)


def _with_keys_computed_at_once() -> None:
    """Records the keys of arrays, and computes the selected elements at once, so that the error of an index is raised."""
    get, put = bl.Array.__getitem__, bl.Array.__setitem__

    def getitem(self: bl.Array, key: Any, /) -> bl.Array:
        with _raising("getitem"):
            made = get(self, key)
            if not made._handle.is_symbolic:
                made._evaluated()
        _ran.add("getitem")
        return made

    def setitem(self: bl.Array, key: Any, value: Any, /) -> None:
        with _raising("setitem"):
            put(self, key, value)
        _ran.add("setitem")

    bl.Array.__getitem__ = getitem  # type: ignore[method-assign]
    bl.Array.__setitem__ = setitem  # type: ignore[method-assign]


def _computing_with_numpy(module: ModuleType, kind: str, name: str) -> None:
    """Makes the reference that a class of tests computes for itself run on NumPy's arrays."""
    original = getattr(getattr(module, kind), name)
    inside = FunctionType(original.__code__, module.__dict__ | {"np": np})

    def call(self: Any, array: Any, indices: Any) -> Any:
        made, is_view = inside(self, np.asarray(array), _protocols.to_numpy(indices))
        return bl.asarray(made), is_view

    setattr(getattr(module, kind), name, call)


def _with(module: ModuleType, kind: str, name: str, old: str, new: str) -> None:
    """Replaces a statement of a method of a class of tests."""
    source = textwrap.dedent(inspect.getsource(getattr(getattr(module, kind), name)))
    if source.count(old) != 1:
        raise ValueError(f"{kind}.{name} has not one {old!r}")
    space = module.__dict__.copy()
    exec(source.replace(old, new), space)
    setattr(getattr(module, kind), name, FunctionType(space[name].__code__, module.__dict__))


def _refuses(error: type[Exception], array: Any, key: Any) -> None:
    """Asserts that a key is refused, or that it selects no element: an index on which no element of the result depends is not
    checked."""
    try:
        made = array[key]
    except error:
        return
    assert made.size == 0, f"{key} is not refused"


def _comparing_numpys(module: ModuleType) -> None:
    """Makes NumPy's comparisons, which ask for its own class, compare the values of broadloom's arrays."""
    for name, function in list(vars(module).items()):
        if name.startswith("assert_") and not name.startswith("assert_raises"):
            setattr(module, name, _of_numpys(function))


def _of_numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*_protocols.to_numpy(args), **kwargs)

    return call


def _install(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2]
    module.pytest = _Module(pytest, {"raises": _Raises.raises})  # type: ignore[attr-defined]
    if hasattr(module, "assert_raises_regex"):
        module.assert_raises_regex = _Raises.assert_raises_regex
    if name in FUNCTIONS:
        functions = {function: through_ours(function, arrays) for function, arrays in FUNCTIONS[name].items()}
        module.np = _Module(np, functions)  # type: ignore[attr-defined]
        for function in functions.keys() & vars(module).keys():
            setattr(module, function, functions[function])
        return
    module.np = _numpy_of_ours()  # type: ignore[attr-defined]
    _comparing_numpys(module)
    module.HAS_REFCOUNT = False  # type: ignore[attr-defined]
    if name == "test_indexing":
        automated = "TestMultiIndexingAutomated"
        _computing_with_numpy(module, automated, "_get_multi_index")
        module._refuses = _refuses  # type: ignore[attr-defined]
        for name in ("_check_multi_index", "_check_single_index"):
            _with(
                module,
                automated,
                name,
                "assert_raises(type(e), arr.__getitem__, index)",
                "_refuses(type(e), arr, index)",
            )
        # `x += 1` makes another expression, and `x[...] += 1` sets the elements of the array that `x` is a view of.
        _with(module, automated, "_compare_index_result", "indexed_arr += 1000", "indexed_arr[...] += 1000")


class _Raises:
    """NumPy's tests of errors compare their classes, but not their texts, which are the package's own."""

    @staticmethod
    def raises(expected: Any, *args: Any, match: Any = None, **kwargs: Any) -> Any:
        return pytest.raises(expected, *args, **kwargs)

    @staticmethod
    def assert_raises_regex(expected: Any, text: str, *args: Any, **kwargs: Any) -> Any:
        return pytest.raises(expected, *args, **kwargs)


def _record_what_numpy_computes() -> None:
    by_numpy = _protocols._by_numpy

    def passed_on(function: Any, args: Any, kwargs: Any) -> Any:
        _passed_on.append(function.__name__)
        return by_numpy(function, args, kwargs)

    _protocols._by_numpy = passed_on


def pytest_configure(config: pytest.Config) -> None:
    """Prepares the package before tests are collected."""
    bl.set_options(promotion="numpy")
    for name in ENGINE:
        setattr(_core, name, _recorded(name, getattr(_core, name)))
    _record_what_numpy_computes()
    FUNCTIONS_OF_NUMPY[np.take] = _taken_at_once(FUNCTIONS_OF_NUMPY[np.take])
    _with_keys_computed_at_once()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects tests, and installs broadloom's functions in their files."""
    items[:] = [item for item in items if _is_selected(item)]
    for module in {item.module: None for item in items if isinstance(item, pytest.Function)}:
        _install(module)


def _is_selected(item: pytest.Item) -> bool:
    file, _, name = item.nodeid.partition(".py::")
    pattern = TESTS.get(file.rpartition("/")[2])
    return pattern is None or re.match(pattern, name) is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Records the functions of the engine that ran in a test."""
    _ran.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, sorted(_ran)))
