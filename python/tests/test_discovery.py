"""Tests what users inspect: names, the version, options, hints, and kernels that are called."""

from __future__ import annotations

import ast
import importlib
import math
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl


def test_the_version_is_that_of_the_package() -> None:
    assert bl.__version__ == bl.show_versions(as_dict=True)["broadloom"]  # type: ignore[index]


def test_all_names_are_listed_and_there() -> None:
    names = dir(bl)
    assert {"median", "sum", "array", "explain", "dask", "__version__"} <= {*names, "dask"}
    assert [name for name in bl.__all__ if not hasattr(bl, name)] == []
    for name in ("nanmedian", "percentile", "cov", "fmax"):
        assert name in names and getattr(bl, name) is getattr(np, name)


def test_names_that_are_imported_late_are_those_that_their_modules_list() -> None:
    listed = [vars(importlib.import_module(module)).get("__all__", ()) for module in set(bl._LATER.values())]
    assert {name for names in listed for name in names} - set(bl.arrow.__all__) <= bl._LATER.keys() <= set(bl.__all__)


def test_an_array_is_a_copy() -> None:
    memory = np.array([1.0, 2.0])
    x, y = bl.array(memory), bl.array(memory, copy=None)
    memory[0] = 7.0
    assert x.tolist() == [1.0, 2.0] and y.tolist() == [7.0, 2.0]
    assert bl.array([1, 2], dtype=bl.float32).dtype == np.float32
    assert bl.array([1, 2], np.float32).dtype == np.float32


@pytest.mark.parametrize(
    "name", ["compute", "eval", "to_numpy", "numpy", "execute", "persist", "to_pandas", "to_arrow"]
)
def test_methods_and_functions_of_other_libraries_are_hinted_at(name: str) -> None:
    for where in (bl.asarray([1]), bl):
        with pytest.raises(AttributeError, match="no attribute.*(evaluate|asarray|pandas.Series|pyarrow.array)"):
            getattr(where, name)
    assert not hasattr(bl.asarray([1]), "nothing")
    with pytest.raises(AttributeError, match="nothing'$"):
        _ = bl.asarray([1]).nothing


@pytest.mark.parametrize(
    ("where", "name", "words"),
    [
        (bl.asarray([1]), "exp", "broadloom.exp is a function of arrays"),
        (bl.asarray([1]), "median", "broadloom.median is a function of arrays"),
        (bl.asarray([1]), "ptp", "broadloom.ptp is a function of arrays"),
        (bl.asarray([1]), "put", "broadloom.put is a function of arrays"),
        (bl.asarray([1]), "unique_all", "broadloom.unique_all is a function of arrays"),
        (bl.asarray([1]), "Kernel", "see broadloom.Kernel"),
        (bl.asarray([1]), "jit", "see broadloom.jit"),
        (bl.asarray([1]), "linalg", "see broadloom.linalg"),
        (bl.asarray([1]), "strides", "numpy.asarray(x).strides"),
        (bl.asarray([1]), "resize", "broadloom.reshape(x, shape)"),
        (bl, "fromiter", "numpy.fromiter is NumPy's alone; see asarray"),
        (bl, "nothing", "module 'broadloom' has no attribute 'nothing'"),
        (bl.linalg, "nothing", "module 'broadloom.linalg' has no attribute 'nothing'"),
    ],
)
def test_names_of_numpys_that_are_elsewhere_are_hinted_at(where: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(where, name)
    assert str(caught.value).endswith(words) or f"; {words}" in str(caught.value)
    if where is bl:
        assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_the_shape_is_not_set() -> None:
    x = bl.asarray(np.zeros((2, 3)))
    with pytest.raises(AttributeError, match=r"write x = x\.reshape\(shape\)"):
        x.shape = (6,)


def test_asking_for_an_attribute_imports_nothing() -> None:
    code = "import sys, broadloom as bl; hasattr(bl.asarray(1), 'dask'), hasattr(bl.asarray(1), 'random')"
    made = subprocess.run(
        [sys.executable, "-c", f"{code}; print('broadloom.dask' in sys.modules)"], stdout=subprocess.PIPE
    )
    assert made.stdout.split() == [b"False"]


def test_functions_of_other_libraries_are_hinted_at() -> None:
    for name in ("compute", "eval"):
        with pytest.raises(AttributeError, match="evaluate"):
            getattr(bl, name)


def test_functions_of_numpy_are_known_to_type_checkers() -> None:
    stub = ast.parse((Path(bl.__file__).parent / "_generated" / "numpy_names.pyi").read_text())
    typed = {name.asname for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    numpys = {name for name in dir(bl) if name[0] != "_" and getattr(bl, name) is getattr(np, name, None)} - {
        *bl.__all__
    }
    assert numpys - typed == set()
    # Other versions of NumPy have other functions.
    assert {name for name in typed - numpys if hasattr(np, str(name))} == set()


# Options.


def test_options_are_shown_as_they_are_set() -> None:
    assert bl.get_options() | {"threads": 0} == {
        "promotion": "numpy",
        "accuracy": "fast",
        "contract": False,
        "threads": 0,
    }
    with bl.set_options(threads=3, promotion="strict", contract=True, accuracy="nearest"):
        assert bl.get_options() == {"promotion": "strict", "accuracy": "nearest", "contract": True, "threads": 3}
    with pytest.raises(TypeError, match="no option `thread`; there are promotion, accuracy, contract, threads"):
        bl.set_options(thread=2)
    with pytest.raises(TypeError, match="no option `thread`; there are threads, executor"):
        bl.evaluate(bl.asarray([1.0]) + 1, thread=2)
    with pytest.raises(TypeError, match="no option `thread`; there are static_argnames, threads"):
        bl.jit(lambda x: x + 1, thread=2)(np.ones(1))


@pytest.mark.parametrize(
    ("variables", "threads"),
    [
        ({"BROADLOOM_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"OMP_NUM_THREADS": "5,2"}, 5),
        ({"BROADLOOM_NUM_THREADS": "many", "RAYON_NUM_THREADS": "4"}, 4),
    ],
)
def test_threads_are_set_by_the_environment(variables: dict[str, str], threads: int) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    code = "import broadloom as bl; print(bl.get_options()['threads'], bl.show_versions(as_dict=True)['threads'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean | variables)
    assert ran.stdout.split() == [str(threads)] * 2, ran.stderr


def test_threadpoolctl_shows_and_limits_the_threads() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    bl.asarray([1.0])

    def shown() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "broadloom"]

    with bl.set_options(threads=4):
        assert shown() == [4]
        with threadpoolctl.threadpool_limits(2, user_api="broadloom"):
            assert shown() == [2] and bl.get_options()["threads"] == 2
        assert shown() == [4]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"threads": "a"}, TypeError, "threads is 'a', expected a number of threads from 1 on"),
        ({"threads": 2.5}, TypeError, "threads is 2.5, expected"),
        ({"threads": -1}, ValueError, "threads is -1, expected"),
        ({"threads": 2**70}, ValueError, "threads is 11"),
        ({"contract": "x"}, TypeError, "contract is 'x', expected True or False"),
    ],
)
def test_values_that_an_option_does_not_take_are_refused_by_its_name(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    before = bl.get_options()
    with pytest.raises(error, match=words):
        bl.set_options(**options)
    assert bl.get_options() == before
    if "threads" in options:
        with pytest.raises(error, match=words):
            bl.evaluate(bl.asarray([1.0]) + 1, **options)


# Kernels.


def test_a_kernel_is_called_with_arrays_by_place_by_name_or_in_a_dict() -> None:
    kernel = bl.Kernel.parse("x: float64[n]; k: float64; return x * k")
    x = np.array([1.0, 2.0])
    calls: list[Any] = [
        kernel(x, 3),
        kernel(x, k=3.0),
        kernel(k=np.array(3.0), x=x),
        kernel({"x": x, "k": 3}),
        kernel({"x": bl.asarray(x)}, k=3),
        kernel([1, 2], 3),
    ]
    for made in calls:
        assert type(made) is np.ndarray and made.tolist() == [3.0, 6.0]
    out = np.empty(2)
    assert kernel(x, 2, out=out) is out and out.tolist() == [2.0, 4.0]


def test_a_kernel_returns_as_many_results_as_it_has() -> None:
    kernel = bl.Kernel.parse("x: float64[n]\nmore = x + 1\ntwice = x * 2\nreturn more, twice")
    made = kernel(np.array([3.0]))
    assert isinstance(made, tuple) and [values.tolist() for values in made] == [[4.0], [6.0]]


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "kernel: the input `x` is missing; its inputs are `x`, `k`"),
        (([1.0],), {"x": [1.0]}, "kernel: the input `x` is given twice"),
        ((None, 1.0), {}, "kernel: the input `x` is float64"),
        (("a", 1.0), {}, "could not convert string to float: 'a'"),
        (([1.0], 1j), {}, "kernel: the input `k` is "),
        (([1.0],), {"z": 1}, "no input `z`; its inputs are `x`, `k`"),
        (([1.0], 1, 2), {}, "kernel: it has 2 inputs, not 3"),
        (({"x": [1.0], 3: 1},), {}, "no input `3`"),
        ((np.array([1], "i1"), 1), {}, "int8"),
    ],
)
def test_a_call_that_a_kernel_does_not_take_is_refused_by_name(
    args: tuple[Any, ...], kwargs: dict[str, Any], words: str
) -> None:
    kernel = bl.Kernel.parse("x: float64[n]; k: float64; return x * k")
    with pytest.raises(TypeError, match=words):
        kernel(*args, **kwargs)


# Traced functions.


def set_an_element(x: Any) -> Any:
    x[0] = 1
    return x


def set_an_element_of_numpys(x: Any) -> Any:
    out = np.zeros(2)
    out[0] = x[0, 0]
    return out


def add_to_numpys(x: Any) -> Any:
    out = np.zeros((2, 2))
    out += x
    return out


def unpack(x: Any) -> Any:
    a, b = x
    return a + b


@pytest.mark.parametrize(
    ("function", "asked", "instead"),
    [
        (lambda x: np.partition(x, 1), "`numpy.partition`", "call it outside"),
        (lambda x: np.allclose(x, 1), "`numpy.allclose`", "call it outside"),
        (lambda x: np.linalg.norm(x), "`numpy.linalg.norm`", "call it outside"),
        (lambda x: np.fft.fft(x), "`numpy.fft.fft`", "call it outside"),
        (lambda x: np.vectorize(abs)(x), "an array of NumPy's", "functions of broadloom or NumPy"),
        (set_an_element_of_numpys, "setting an element of an array of NumPy's", "functions of arrays"),
        (add_to_numpys, "writing to an array of NumPy's, by `out=` or an in-place operator,", "compiled function"),
        (lambda x: np.add(x, 1, out=np.zeros((2, 2))), "writing to an array of NumPy's", "pass `out=`"),
        (lambda x: pickle.dumps(x), "pickling", "outside of the function"),
        (lambda x: bl.nonzero(x), "`nonzero`", ""),
        (lambda x: x @ x, "`matmul`", "call it outside"),
        (lambda x: np.eye(2) @ x, "`numpy.matmul`", "call it outside"),
        (lambda x: x[x > 1], "a mask as an index", r"where\(mask, x, other\)"),
        (set_an_element, "setting elements", r"where\(condition, value, x\)"),
        (lambda x: x[0].__setitem__(0, 1), "setting elements", r"where\(condition, value, x\)"),
        (unpack, "iteration, or unpacking,", "index the array"),
        (lambda x: sum(x), "iteration, or unpacking,", "broadloom.sum"),
        (lambda x: 1 if x > 0 else 2, "a branch, or bool,", "where"),
    ],
)
def test_errors_of_traced_functions_say_what_was_asked_and_what_to_write(
    function: Any, asked: str, instead: str
) -> None:
    with pytest.raises(bl.TracerError, match=f"test_discovery.*{asked}.* asks for .*; .*{instead}"):
        bl.jit(function)(np.ones((2, 2)))


def test_a_users_error_about_a_traced_array_is_passed_on() -> None:
    def convert(x: Any) -> Any:
        try:
            return float(x[0, 0])
        except bl.TracerError as error:
            raise ValueError("setting an array element with a sequence.") from error

    with pytest.raises(ValueError, match="^setting an array element with a sequence.$"):
        bl.jit(convert)(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (lambda x: float(x[0]), "functions of broadloom, not of `math`"),
        (lambda x: math.sqrt(x), "functions of broadloom, not of `math`"),
        (lambda x: x.item(), "index the array instead"),
        (lambda x: np.asarray(x), "functions of broadloom or NumPy on the array itself"),
    ],
)
def test_conversions_of_traced_arrays_are_advised_on(function: Any, instead: str) -> None:
    # The message also quotes the source line, which contains the same words. The pattern requires them after the
    # quotation.
    with pytest.raises(bl.TracerError, match=f" asks for .*; .*{instead}"):
        bl.jit(function)(np.ones((2, 2)))


@pytest.mark.parametrize("function", [lambda x: np.partition(x, 1), lambda x: bl.sum(x, axis=4)])
def test_tracebacks_of_traced_functions_show_the_users_lines(function: Any) -> None:
    def outer(x: Any) -> Any:
        return function(x)

    with pytest.raises((bl.TracerError, bl.ShapeError)) as caught:
        bl.jit(outer)(np.ones((2, 2)))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames][1:] == ["outer", "<lambda>"]
    assert {frame.filename for frame in frames} == {__file__}


@pytest.mark.parametrize("function", [lambda x: bl.sum(x, axis=4), lambda x: bl.reshape(x, (7,))])
def test_tracebacks_of_functions_show_the_users_lines(function: Any) -> None:
    with pytest.raises(bl.ShapeError) as caught:
        function(bl.asarray(np.ones((2, 2))))
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_tracebacks_of_other_errors_stay_as_they_are() -> None:
    def outer(x: Any) -> Any:
        try:
            return {}[x.ndim]
        except KeyError as error:
            raise LookupError("none") from error

    with pytest.raises(LookupError, match="none") as caught:
        bl.jit(outer)(np.ones(2))
    assert isinstance(caught.value.__cause__, KeyError)
    assert any("_traces.py" in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))


#: What `broadloom.asarray` and operators do not need.
LATER = "_jit _loops _notebook _numpy_protocols _pandas _refusals _scalars _segments _sorts _through_numpy _vectorize arrow dask fft linalg random".split()


def test_modules_that_few_programs_need_are_imported_on_first_use() -> None:
    code = "import sys, broadloom as bl; bl.asarray([1.0]) + 1; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
    assert not {f"broadloom.{name}" for name in LATER} & set(run.stdout.split())
    assert bl.jit.__name__ == "jit" and bl.linalg.__name__ == "broadloom.linalg" and bl.sort is bl._sorts.sort
