"""Tests NumPy's memory whose description (dtype, shape, strides, address) is changed in place while broadloom uses it.

A handle keeps the description with which it was made. Reading elements raises an error as long as the memory does
not have this description.
"""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import broadloom as bl
import broadloom.numexpr as ne

READERS: dict[str, Callable[[bl.Array], Any]] = {
    "tolist": lambda x: x.tolist(),
    "repr": repr,
    "str": str,
    "asarray of NumPy": np.asarray,
    "memoryview": memoryview,
    "bytes": lambda x: np.asarray(x).tobytes(),
    "an element": lambda x: float(x[(1,) * x.ndim]),
    "iteration": lambda x: [float(element) for element in x],
    "a view": lambda x: x[::-1].tolist(),
    "an expression": lambda x: (x + 1).tolist(),
    "a reduction": lambda x: float(bl.sum(x)),
    "evaluate": bl.evaluate,
    "evaluate of an expression": lambda x: bl.evaluate(x * 2),
    "evaluate of several": lambda x: bl.evaluate(x * 2, bl.sum(x)),
    "evaluate into": lambda x: bl.evaluate(x + 1, out=np.empty((8,))),
    "several into": lambda x: bl.evaluate(x + 1, x - 1, out=(np.empty((8,)), np.empty((8,)))),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "asarray with a copy": lambda x: bl.asarray(x, copy=True).tolist(),
    "pickle": pickle.dumps,
    "a selection": lambda x: x[bl.asarray([0, 1])].tolist(),
    "setting an element": lambda x: x.__setitem__(0, 3.0),
    "setting elements of another": lambda x: bl.zeros((9,)).__setitem__(slice(1, None), x),
    "concat": lambda x: bl.concat([x, x]).tolist(),
    "a function of NumPy's": lambda x: np.dot(x, x),
    "a ufunc": lambda x: np.add(x, 1).tolist(),
    "matmul": lambda x: (x @ x).tolist(),
    "DLPack": lambda x: np.from_dlpack(x),
    "an older DLPack": lambda x: x.__dlpack__(copy=False),
    "a jitted function": lambda x: bl.jit(lambda v: v + 1)(x),
    "numexpr": lambda x: ne.evaluate("x + 1", {"x": x}),
    "a notebook": lambda x: x._repr_html_(),
    "saving": lambda x: np.save(io.BytesIO(), x),
}


def change_dtype(a: np.ndarray) -> None:
    a.dtype = np.dtype("i8")


def change_width(a: np.ndarray) -> None:
    a.dtype = np.dtype("u1")


def change_order(a: np.ndarray) -> None:
    a.dtype = a.dtype.newbyteorder()


def change_fields(a: np.ndarray) -> None:
    a.dtype = np.dtype([("x", "f4"), ("y", "f4")])


def change_shape(a: np.ndarray) -> None:
    a.shape = (2, 4)


def change_strides(a: np.ndarray) -> None:
    a.strides = (0,)


def grow(a: np.ndarray) -> None:
    a.resize((1 << 20,), refcheck=False)


def shrink(a: np.ndarray) -> None:
    a.resize((3,), refcheck=False)


CHANGES = [change_dtype, change_width, change_order, change_fields, change_shape, change_strides, grow, shrink]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # NumPy has deprecated some of these assignments.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", READERS)
def test_what_reads_changed_memory_raises(name: str, change: Callable[[np.ndarray], None]) -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    change(memory)
    with pytest.raises(ValueError, match="NumPy array"):
        READERS[name](x)
    # Properties that are known without reading the memory are still available.
    assert (x.dtype, x.shape, x.ndim, x.size, len(x)) == (np.dtype("f8"), (8,), 1, 8, 8)


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_built_before_the_change_raises_too(change: Callable[[np.ndarray], None]) -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    built = [x + 1, bl.sum(x), x[2:], bl.exp(x) * bl.asarray(np.ones(8)), x[3]]
    evaluated = bl.evaluate(x + 1)
    change(memory)
    for one in built:
        with pytest.raises(ValueError, match="NumPy array"):
            one.tolist()
    assert evaluated.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (change_dtype, lambda a: setattr(a, "dtype", np.dtype("f8"))),
        (change_shape, lambda a: setattr(a, "shape", (8,))),
    ],
)
def test_memory_that_is_described_as_before_is_read_again(change: Any, back: Callable[[np.ndarray], None]) -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    y = x + 1
    change(memory)
    with pytest.raises(ValueError, match="NumPy array"):
        y.tolist()
    back(memory)
    memory[0] = 7
    assert (x.tolist()[0], y.tolist()[0]) == (7, 8)


def test_the_message_says_what_it_was_and_is() -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    memory.dtype = np.dtype("i8")
    with pytest.raises(ValueError, match=r"was float64\[8\] when its memory was shared, and is int64\[8\] now"):
        repr(x)
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    memory.strides = (0,)
    with pytest.raises(ValueError, match=r"float64\[8\], has other strides"):
        repr(x)


@pytest.mark.parametrize("key", [slice(None, None, 2), slice(4, None), slice(None, None, -1)])
def test_views_of_memory_that_was_resized_raise(key: slice) -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory[key])
    y = x + 1
    memory.resize((1 << 20,), refcheck=False)
    for one in (x, y):
        with pytest.raises(ValueError, match="was moved or freed"):
            one.tolist()


def test_views_do_not_mind_what_their_base_is_called() -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory[::2])
    memory.dtype = np.dtype("i8")
    assert x.tolist() == [0, 2, 4, 6]


def test_a_write_and_a_lock_change_no_description() -> None:
    memory = np.arange(4.0)
    x = bl.asarray(memory)
    y = x + 1
    memory[0] = 9
    memory.setflags(write=False)
    assert (x.tolist(), y.tolist()) == ([9, 1, 2, 3], [10, 2, 3, 4])
    assert np.asarray(x).tolist() == [9, 1, 2, 3]


def test_an_array_that_is_given_away_as_a_view_keeps_its_description() -> None:
    x = bl.asarray(np.arange(4.0))
    for given in (np.asarray(x), np.asarray(bl.evaluate(x + 0)), np.from_dlpack(x)):
        given.dtype = np.dtype("i8")
        given.shape = (2, 2)
        assert x.tolist() == [0, 1, 2, 3]


def test_lenders_by_the_buffer_protocol_cannot_be_resized() -> None:
    memory = bytearray(np.arange(4.0).tobytes())
    x = bl.asarray(np.frombuffer(memory))
    with pytest.raises(BufferError):
        memory.clear()
    assert x.tolist() == [0, 1, 2, 3]


def test_what_a_jitted_function_captured_raises() -> None:
    memory = np.arange(8.0)
    x = bl.asarray(memory)
    f = bl.jit(lambda v: v + x)
    assert f(np.ones(8)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    memory.dtype = np.dtype("i8")
    with pytest.raises(ValueError, match="array was resized, or changed its dtype"):
        f(np.ones(8))
    memory.dtype = np.dtype("f8")
    memory.shape = (2, 4)
    with pytest.raises(ValueError):
        f(np.ones(8))
