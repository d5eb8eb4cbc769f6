"""Tests arrays in other processes, copies, the buffer protocol, and identity."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

import broadloom as bl

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_an_array_is_pickled_by_its_values(protocol: int, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for x in (bl.asarray(values), np.where(True, bl.asarray(values), bl.asarray(values)), bl.asarray(values.T)):
        there = pickle.loads(pickle.dumps(x, protocol))
        assert type(there) is bl.Array
        assert there.dtype == values.dtype and there.shape == x.shape
        np.testing.assert_array_equal(np.asarray(there), np.asarray(x))


def test_an_expression_is_pickled_as_values_of_now() -> None:
    memory = np.arange(3.0)
    there = pickle.loads(pickle.dumps(bl.asarray(memory) * 2))
    memory[:] = 9
    assert there.tolist() == [0, 2, 4]
    assert (there + 1).tolist() == [1, 3, 5]


def test_memory_travels_out_of_band() -> None:
    x = bl.evaluate(bl.asarray(np.arange(100_000.0)) + 1)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(text) < 1000 and len(buffers) == 1
    # No copy is made on either side.
    assert np.shares_memory(np.frombuffer(buffers[0]), np.asarray(x))
    there = pickle.loads(text, buffers=buffers)
    assert np.shares_memory(np.asarray(there), np.asarray(x))
    np.testing.assert_array_equal(np.asarray(there), np.asarray(x))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: x.copy()])
def test_a_copy_does_not_see_later_writes(copied: object) -> None:
    memory = np.arange(3.0)
    x = bl.asarray(memory)
    snapshots = [copied(x), copied(x * 2)]  # type: ignore[operator]
    memory[:] = 9
    assert [y.tolist() for y in snapshots] == [[0, 1, 2], [0, 2, 4]]
    other = snapshots[0]
    other.fill(5)
    assert x.tolist() == [9, 9, 9] and copied(other).tolist() == [5, 5, 5]  # type: ignore[operator]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_in_memory_are_a_buffer(dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    x = bl.asarray(values) if dtype == "?" else bl.evaluate(bl.asarray(values) * 1)
    with memoryview(x) as view:  # type: ignore[arg-type]
        assert view.shape == (2, 3) and view.readonly and view.nbytes == x.nbytes
        np.testing.assert_array_equal(np.asarray(view), values)
    assert np.asarray(x).dtype == values.dtype and np.shares_memory(np.asarray(x), np.asarray(x))
    assert not np.asarray(x).flags.writeable
    assert b"".join([x]) == values.tobytes()  # type: ignore[list-item]


def test_an_expression_has_no_buffer_and_is_not_computed_for_one() -> None:
    x = bl.asarray(np.arange(3.0)) + 1
    with pytest.raises(BufferError, match="evaluate"):
        memoryview(x)  # type: ignore[arg-type]
    assert not x._handle.is_evaluated
    assert np.asarray(x).tolist() == [1, 2, 3]
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"123").readinto(bl.evaluate(x))  # type: ignore[arg-type]


def test_values_are_a_buffer_through_numpy() -> None:
    x = bl.asarray(np.arange(3.0)) + 1
    assert memoryview(np.asarray(x)).tolist() == [1, 2, 3]


def double(x: bl.Array) -> bl.Array:
    return x * 2


def test_arrays_go_to_other_processes_and_back() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        made = pool.map(double, [bl.asarray(np.arange(3.0)), bl.asarray(np.arange(3.0)) + 1])
    assert [x.tolist() for x in made] == [[0, 2, 4], [2, 4, 6]]


def test_a_token_identifies_the_values() -> None:
    values = np.arange(6.0).reshape(2, 3)
    tokens = [
        bl.asarray(values).__dask_tokenize__(),
        bl.asarray(values.copy()).__dask_tokenize__(),
        (bl.asarray(values) + 0).__dask_tokenize__(),
        bl.asarray(np.asfortranarray(values)).__dask_tokenize__(),
    ]
    assert len(set(tokens)) == 1
    others = [values + 1, values.reshape(3, 2), values.astype("f4"), values[:, :2], values.view("i8"), values[:0]]
    distinct = {bl.asarray(other).__dask_tokenize__() for other in others} | set(tokens)
    assert len(distinct) == len(others) + 1


def test_a_token_is_the_same_in_another_process() -> None:
    program = "import broadloom as bl, numpy as np; print((bl.asarray(np.arange(5)) + 1).__dask_tokenize__())"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str((bl.asarray(np.arange(5)) + 1).__dask_tokenize__())


def test_a_token_follows_what_was_written_to_shared_memory() -> None:
    memory = np.arange(3.0)
    x = bl.asarray(memory)
    before = x.__dask_tokenize__()
    memory[0] = 5
    assert x.__dask_tokenize__() != before


def test_the_size_of_an_array_is_that_of_its_values_in_memory() -> None:
    x = bl.asarray(np.ones(1000)) + 1
    assert sys.getsizeof(x) < 1000 and x.nbytes == 8000
    bl.evaluate(x)
    assert sys.getsizeof(x) > 8000


def test_a_buffer_that_is_not_aligned_is_copied() -> None:
    x = bl.evaluate(bl.asarray(np.arange(5.0)) + 1)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    # A message in which the elements begin at an odd offset.
    message = bytearray(b"?" * 3) + bytes(buffers[0])
    there = pickle.loads(text, buffers=[memoryview(message)[3:]])
    message[3:] = bytes(40)
    assert there.tolist() == [1, 2, 3, 4, 5] and (there * 2).tolist() == [2, 4, 6, 8, 10]


@pytest.mark.parametrize("protocol", [2, 5])
def test_an_expression_that_reads_no_memory_is_pickled_as_its_text(protocol: int) -> None:
    n = 1_000_000
    for x in (
        bl.arange(n),
        bl.ones((10, n), dtype=bl.float32) * 2,
        bl.sum(bl.arange(n)),
        bl.sqrt(bl.linspace(0, 1, n)),
    ):
        text = pickle.dumps(x, protocol)
        assert len(text) < 1000 and not x._handle.is_evaluated
        there = pickle.loads(text)
        assert there.dtype == x.dtype and there.shape == x.shape
        np.testing.assert_array_equal(np.asarray(there), np.asarray(x))
    # An array that was evaluated, or that reads memory, is pickled by its values.
    for y in (bl.evaluate(bl.arange(1000) + 0), bl.arange(1000) + bl.asarray(np.arange(1000))):
        assert len(pickle.dumps(y, protocol)) > 4000


def test_the_text_has_the_meaning_that_was_set() -> None:
    third = bl.full(3, 1 / 3)
    with bl.set_options(contract=True):
        x = third * third - third * third
        text = pickle.dumps(x)
        expected = x.tolist()
    assert expected != [0.0] * 3 and pickle.loads(text).tolist() == expected


def test_a_pickled_jit_is_an_engine_of_pandas_in_another_process() -> None:
    code = "import pickle, sys; print(hasattr(pickle.loads(sys.stdin.buffer.read()), '__pandas_udf__'))"
    ran = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(bl.jit), capture_output=True, check=True)
    assert ran.stdout.split() == [b"True"]
