"""Tests memory that is shared with other libraries, in both directions."""

from typing import Any

import numpy as np
import pytest

import broadloom as bl

DTYPES = [np.bool_, np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32, np.float64]


class Consumer:
    """Provides the methods that `numpy.from_dlpack` calls, and passes given keywords to `__dlpack__`."""

    def __init__(self, array: bl.Array, **keywords: Any) -> None:
        self.array = array
        self.keywords = keywords

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__(**self.keywords)

    def read(self) -> np.ndarray:
        return np.from_dlpack(self)


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype: Any) -> None:
    values = np.array([[0, 1], [1, 1]], dtype)
    for x in (bl.asarray(values), bl.flip(bl.asarray(values)), bl.asarray(values[:0])):
        expected = np.asarray(x)
        assert np.array_equal(np.from_dlpack(x), expected)
        back = bl.from_dlpack(x)
        assert (back.dtype, back.shape) == (dtype, expected.shape)
        assert np.array_equal(np.asarray(back), expected)


def test_the_device_is_that_of_cpus() -> None:
    kind, number = bl.asarray(np.zeros(2)).__dlpack_device__()
    assert (int(kind), number) == (1, 0)
    with pytest.raises(BufferError):
        bl.asarray(np.zeros(2)).__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    with pytest.raises(ValueError, match="cpu"):
        bl.from_dlpack(np.zeros(2), device="cuda")
    assert np.asarray(bl.from_dlpack(np.zeros(2), device="cpu")).tolist() == [0.0, 0.0]


def test_memory_is_lent_read_only_without_a_copy() -> None:
    x = bl.asarray(np.arange(3.0)) * 2
    lent = Consumer(x, max_version=(1, 0)).read()
    assert not lent.flags.writeable
    assert np.shares_memory(lent, np.asarray(x))
    assert Consumer(x, max_version=(1, 0), copy=False).read().tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("version", [{}, {"max_version": None}, {"max_version": (0, 8)}])
def test_a_consumer_that_knows_no_read_only_memory_gets_a_copy(version: dict[str, Any]) -> None:
    memory = np.arange(3.0)
    for x in (bl.asarray(memory) * 1, bl.concat([bl.asarray(memory)]), bl.sort(bl.asarray(memory)), bl.asarray(memory)):
        copied = Consumer(x, **version).read()
        assert copied.tolist() == [0.0, 1.0, 2.0]
        assert not np.shares_memory(copied, np.asarray(x))
        lent = Consumer(x, **version, copy=False).read()
        assert np.shares_memory(lent, np.asarray(x))


def test_read_only_memory_of_numpys_is_never_lent_for_writing() -> None:
    memory = np.arange(3.0)
    memory.flags.writeable = False
    x = bl.asarray(memory)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    assert not np.from_dlpack(x).flags.writeable


def test_a_copy_on_request() -> None:
    x = bl.asarray(np.arange(3.0))
    for version in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0)}):
        copied = Consumer(x, copy=True, **version).read()
        assert not np.shares_memory(copied, np.asarray(x))


def test_lent_memory_outlives_the_array() -> None:
    lent = np.from_dlpack(bl.asarray(np.arange(1000.0)) * 2)
    forced = Consumer(bl.asarray(np.arange(1000.0)) * 2, copy=False).read()
    # If memory of this size had been freed, these arrays would reuse it.
    others = [np.asarray(bl.asarray(np.ones(1000)) * i) for i in range(20)]
    assert len(others) == 20
    assert lent[999] == 1998.0
    assert forced[999] == 1998.0


def test_taken_memory_is_shared_unless_a_copy_is_asked_for() -> None:
    memory = np.arange(3.0)
    shared, copied = bl.from_dlpack(memory) * 1, bl.from_dlpack(memory, copy=True) * 1
    memory[0] = 9.0
    assert np.asarray(shared).tolist() == [9.0, 1.0, 2.0]
    assert np.asarray(copied).tolist() == [0.0, 1.0, 2.0]
    assert np.asarray(bl.from_dlpack(memory[::-1], copy=False)).tolist() == [2.0, 1.0, 9.0]


def test_what_cannot_be_taken() -> None:
    with pytest.raises(AttributeError):
        bl.from_dlpack([1.0])
    with pytest.raises(TypeError, match="complex"):
        bl.from_dlpack(np.ones(2, complex))
