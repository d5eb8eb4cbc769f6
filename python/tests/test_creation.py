"""Tests creation functions: which memory they share, what they copy, and the elements of their results."""

from __future__ import annotations

from array import array as buffer
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom._core import Handle, Kernel


class Exporter:
    """An object that provides its memory only by DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def same(got: bl.Array, expected: np.ndarray) -> bool:
    values = np.asarray(got)
    return got.dtype == expected.dtype and values.shape == expected.shape and values.tobytes() == expected.tobytes()


# asarray: what is shared.


@pytest.mark.parametrize("copy", [None, False])
def test_memory_of_numpy_is_shared(copy: bool | None) -> None:
    memory = np.arange(10.0)[::-2]
    x = bl.asarray(memory, copy=copy)
    y = x + 1
    memory[0] = -1.0
    assert float(x[0]) == -1.0
    assert float(y[0]) == 0.0


def test_a_copy_has_the_values_of_now() -> None:
    memory = np.array([1.0, 2.0])
    shared = bl.asarray(memory)
    copies = [
        bl.asarray(memory, copy=True),
        bl.asarray(memory, copy=True, dtype=bl.float32),
        bl.asarray(shared, copy=True),
        bl.asarray(shared, copy=True, dtype=bl.int8),
        bl.asarray(shared * 1, copy=True),
    ]
    memory[:] = 9
    for x in copies:
        assert x.tolist() == [1, 2]
    assert shared.tolist() == [9, 9]


def test_an_array_is_returned_itself_unless_a_copy_is_asked_for() -> None:
    x = bl.asarray([1, 2])
    assert bl.asarray(x) is x
    assert bl.asarray(x, copy=False, dtype=bl.int64) is x
    y = bl.asarray(x, copy=True)
    y[0] = 5
    assert x.tolist() == [1, 2]
    with pytest.raises(ValueError, match="copy"):
        bl.asarray(x, dtype=bl.float32, copy=False)


def test_read_only_memory_is_shared() -> None:
    memory = np.arange(3)
    memory.flags.writeable = False
    assert bl.asarray(memory, copy=False).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0], dtype=">f8"),
        np.array([(0, 1.0), (0, 2.0)], dtype=[("a", "i1"), ("b", "f8")])["b"],
        np.frombuffer(b"\0" + np.array([1.0, 2.0]).tobytes(), dtype=np.float64, offset=1),
    ],
    ids=["swapped", "packed", "misaligned"],
)
def test_memory_that_cannot_be_shared_is_copied_unless_forbidden(values: np.ndarray) -> None:
    assert same(bl.asarray(values), np.array([1.0, 2.0]))
    assert same(bl.asarray(values, copy=True), np.array([1.0, 2.0]))
    assert same(bl.asarray(values, dtype=bl.float32), np.array([1, 2], dtype=np.float32))
    with pytest.raises(ValueError):
        bl.asarray(values, copy=False)


@pytest.mark.parametrize("obj", [1.0, [1.0, 2.0], (1, 2), [[True]]])
def test_numbers_and_sequences_are_copied_unless_forbidden(obj: Any) -> None:
    assert same(bl.asarray(obj), np.asarray(obj))
    with pytest.raises(ValueError):
        bl.asarray(obj, copy=False)


def test_values_have_the_dtype_of_their_kind_or_the_one_that_is_given() -> None:
    assert bl.asarray(True).dtype == bl.bool
    assert bl.asarray([1]).dtype == bl.int64
    assert bl.asarray([1, 2.0]).dtype == bl.float64
    assert bl.asarray([]).dtype == bl.float64
    assert int(bl.asarray([2**64 - 1], dtype=bl.uint64)[0]) == 2**64 - 1
    assert same(bl.asarray([True, False], dtype=bl.float32), np.array([1, 0], dtype=np.float32))
    assert same(bl.asarray(np.float32(1.5)), np.array(1.5, dtype=np.float32))
    with pytest.raises(OverflowError):
        bl.asarray([300], dtype=bl.int8)


def test_conversions_are_those_of_astype() -> None:
    values = np.array([300.7, -np.inf, np.nan])
    assert bl.asarray(values, dtype=bl.int8).tolist() == [127, -128, 0]


def test_objects_with_memory() -> None:
    numbers = buffer("d", [1.0, 2.0])
    x = bl.asarray(numbers, copy=False)
    numbers[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    memory = np.array([1, 2], dtype=np.int16)
    x = bl.asarray(Exporter(memory))
    memory[0] = 7
    assert same(x, np.array([7, 2], dtype=np.int16))


@pytest.mark.parametrize(
    "obj", [1j, [1j], np.array([1j]), np.array(["a"]), "text", None, [2**70], np.datetime64(0, "s")]
)
def test_what_has_no_dtype_of_ours_is_a_type_error(obj: Any) -> None:
    with pytest.raises(TypeError):
        bl.asarray(obj)


def test_complex_dtypes_are_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match="complex"):
        bl.asarray([1.0], dtype="complex128")
    with pytest.raises(TypeError, match="complex"):
        bl.asarray(np.array([1j]))


def test_a_mask_is_not_lost_silently() -> None:
    with pytest.raises(TypeError, match="mask"):
        bl.asarray(np.ma.masked_array([1.0, 2.0], [True, False]))


@pytest.mark.parametrize(
    "make",
    [
        lambda device: bl.asarray([1], device=device),
        lambda device: bl.zeros(1, device=device),
        lambda device: bl.full(1, 2, device=device),
        lambda device: bl.arange(1, device=device),
        lambda device: bl.eye(1, device=device),
        lambda device: bl.linspace(0, 1, 2, device=device),
        lambda device: bl.zeros_like(bl.ones(1), device=device),
        lambda device: bl.full_like(bl.ones(1), 2, device=device),
    ],
)
def test_the_device_is_the_cpu(make: Any) -> None:
    assert make("cpu").device == "cpu"
    with pytest.raises(ValueError, match="gpu"):
        make("gpu")


# Arrays made from a shape alone.


def test_filled_arrays() -> None:
    assert same(bl.zeros((2, 3)), np.zeros((2, 3)))
    assert same(bl.ones(4, dtype=bl.uint8), np.ones(4, dtype=np.uint8))
    assert same(bl.full((), 2.5, dtype=bl.float16), np.array(2.5, dtype=np.float16))
    assert bl.empty((0, 5)).shape == (0, 5)
    assert same(bl.full(2, -0.0, dtype=bl.float32), np.full(2, -0.0, dtype=np.float32))
    assert same(bl.full(2, 2**64 - 1, dtype=bl.uint64), np.full(2, 2**64 - 1, dtype=np.uint64))
    assert same(bl.full(2, 10**30, dtype=bl.float64), np.full(2, 1e30))
    assert same(bl.full(2, [1, 2]), np.full(2, [1, 2]))  # type: ignore[arg-type]
    assert [bl.full(1, value).dtype for value in (True, 1, 1.0)] == [bl.bool, bl.int64, bl.float64]
    assert same(bl.full((2,), bl.asarray(3, dtype=bl.int8)), np.full(2, 3, dtype=np.int8))
    x = bl.ones((2, 1), dtype=bl.int16)
    assert same(bl.zeros_like(x), np.zeros((2, 1), dtype=np.int16))
    assert same(bl.full_like(x, 7), np.full((2, 1), 7, dtype=np.int16))
    assert same(bl.ones_like(x, dtype=bl.bool), np.ones((2, 1), dtype=bool))
    with pytest.raises(ValueError, match="negative"):
        bl.zeros((2, -1))
    for value, dtype in ((1e300, bl.float32), (70000, bl.float16), (10**400, bl.float64)):
        with pytest.raises(ValueError, match="represented"):
            bl.full(1, value, dtype=dtype)
    assert bl.full(1, bl.inf, dtype=bl.float16).tolist() == [bl.inf]
    assert bl.zeros(np.array([1, 2])).shape == (1, 2)
    with pytest.raises(TypeError, match="full: `fill_value` is {1, 2}, expected"):
        bl.full(2, {1, 2})  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="complex"):
        bl.full(2, 1j)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="300"):
        bl.full(1, 300, dtype=bl.int8)
    with pytest.raises(TypeError):
        bl.full(1, 0.5, dtype=bl.int8)


def test_filled_arrays_take_no_memory() -> None:
    x = bl.ones((10**6, 10**6, 1000)) + bl.zeros(1000)
    assert float(x[-1, -1, -1]) == 1.0


# Ranges.


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [
        ((5,), None),
        ((2, 10, 3), None),
        ((10, 2, -3), None),
        ((5, 2), None),
        ((0, 128), "int8"),
        ((-128, 128), "int8"),
        ((127, -129, -1), "int8"),
        ((255, -1, -5), "uint8"),
        ((2**63 - 4, 2**63), "int64"),
        ((-(2**63), -(2**63) + 10, 3), "int64"),
        ((-(2**63) + 5, -(2**63) - 1, -1), "int64"),
        ((2**64 - 3, 2**64), "uint64"),
        ((2**64 - 1, 2**64 - 10, -4), "uint64"),
        ((2**63, 2**63 + 2), None),
        ((0, 100, 2**70), "uint8"),
    ],
)
def test_ranges_of_integers_are_exact(arguments: tuple[int, ...], dtype: str | None) -> None:
    expected = list(range(*arguments))
    x = bl.arange(*arguments, dtype=dtype)
    assert x.tolist() == expected
    assert x.dtype == np.dtype(dtype or ("uint64" if expected and expected[0] >= 2**63 else "int64"))


@pytest.mark.parametrize(
    ("arguments", "size"),
    [((0.0, 1.0, 0.1), 10), ((1.0, 0.0, -0.25), 4), ((0.5,), 1), ((0.0, -1.0), 0), ((0, 5.5), 6)],
)
def test_ranges_of_floats(arguments: tuple[float, ...], size: int) -> None:
    x = bl.arange(*arguments)
    assert (x.dtype, x.shape) == (bl.float64, (size,))
    start = arguments[0] if len(arguments) > 1 else 0.0
    step = arguments[2] if len(arguments) > 2 else 1.0
    # Every element is rounded once or twice, never by accumulation.
    assert x.tolist() == [start + i * step for i in range(size)]


def test_ranges_of_another_dtype_than_their_bounds() -> None:
    assert bl.arange(0, 5.5, dtype=bl.int64).tolist() == [0, 1, 2, 3, 4, 5]
    assert bl.arange(5.0, -0.5, -1.0, dtype=bl.int8).tolist() == [5, 4, 3, 2, 1, 0]
    assert same(bl.arange(0, 1, 0.1, dtype=bl.float32), (np.arange(10) * 0.1).astype(np.float32))
    assert same(bl.arange(3, dtype=bl.float32), np.arange(3, dtype=np.float32))


def test_ranges_that_there_are_not() -> None:
    with pytest.raises(ValueError, match="step"):
        bl.arange(0, 1, 0)
    with pytest.raises(ValueError, match="int8"):
        bl.arange(0, 129, dtype=bl.int8)
    with pytest.raises(TypeError, match="bool"):
        bl.arange(2, dtype=bl.bool)
    with pytest.raises(bl.LimitError):
        bl.arange(10**30)
    assert bl.arange(-(10**30)).tolist() == []
    with pytest.raises(ValueError):
        bl.arange(0.0, np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("start", "stop"), [(0.0, 1.0), (-1.0, 1e30), (5.0, -5.0), (0.1, 0.1)])
def test_evenly_spaced_numbers(start: float, stop: float, dtype: str) -> None:
    for num in (2, 3, 10, 101):
        x = np.asarray(bl.linspace(start, stop, num, dtype=dtype))
        assert (x.dtype, x.shape) == (np.dtype(dtype), (num,))
        assert x[0] == np.dtype(dtype).type(start) and x[-1] == np.dtype(dtype).type(stop)
        # Without the end, the numbers are those of a range with one more number, except the last.
        assert same(bl.linspace(start, stop, num - 1, dtype=dtype, endpoint=False), x[:-1])
        np.testing.assert_allclose(x, np.linspace(start, stop, num), rtol=1e-6 if dtype == "float32" else 1e-14, atol=0)


def test_few_evenly_spaced_numbers() -> None:
    assert bl.linspace(3, 5, 1).tolist() == [3.0]
    assert bl.linspace(3, 5, 0).tolist() == []
    assert bl.linspace(3, 5, 0, endpoint=False).tolist() == []
    assert bl.linspace(0, 10, 5, dtype=bl.int64).tolist() == [0, 2, 5, 7, 10]
    with pytest.raises(ValueError):
        bl.linspace(0, 1, -1)


# Matrices and grids.


@pytest.mark.parametrize("k", [0, 1, -1, 3, -3, 10, -10, 10**30, -(10**30)])
def test_matrices_with_a_diagonal(k: int) -> None:
    bounded = max(-5, min(k, 5))
    assert same(bl.eye(3, 4, k=k), np.eye(3, 4, k=bounded))
    assert same(bl.eye(3, k=k, dtype=bl.bool), np.eye(3, k=bounded, dtype=bool))
    matrices = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    assert same(bl.tril(bl.asarray(matrices), k=k), np.tril(matrices, bounded))
    assert same(bl.triu(bl.asarray(matrices), k=k), np.triu(matrices, bounded))


def test_triangles_of_other_values() -> None:
    assert bl.tril(bl.full((2, 2), True)).tolist() == [[True, False], [True, True]]
    assert bl.triu(bl.asarray([[np.nan, 1.0], [np.inf, np.nan]]))[1, 0].item() == 0.0
    with pytest.raises(ValueError, match="matrices"):
        bl.tril(bl.ones(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids(indexing: str) -> None:
    vectors = [np.arange(2), np.arange(3) * 1.5, np.array([True, False])]
    for count in range(4):
        grids = bl.meshgrid(*map(bl.asarray, vectors[:count]), indexing=indexing)
        assert type(grids) is tuple
        for got, expected in zip(grids, np.meshgrid(*vectors[:count], indexing=indexing), strict=True):
            assert same(got, expected)


def test_grids_that_there_are_not() -> None:
    with pytest.raises(ValueError, match="indexing"):
        bl.meshgrid(bl.ones(1), indexing="yx")
    with pytest.raises(ValueError, match="axis"):
        bl.meshgrid(bl.ones((1, 1)))


def test_filled_arrays_and_triangles_of_traced_arrays() -> None:
    x = bl.Array._of(Handle.input("x", "float64", ["n", "n"]))
    made = {
        "zeros": bl.zeros_like(x, dtype=bl.int8),
        "ones": bl.ones_like(x),
        "full": bl.full_like(x, 7.5),
        "tril": bl.tril(x),
        "imag": bl.imag(x),
    }
    kernel = Kernel([(name, y._handle) for name, y in made.items()], [x._handle])
    values = np.array([[np.nan, 1.0], [2.0, 3.0]])
    expected = [
        np.zeros((2, 2), dtype=np.int8),
        np.ones((2, 2)),
        np.full((2, 2), 7.5),
        np.tril(values),
        np.zeros((2, 2)),
    ]
    for got, wanted in zip(kernel.run([values]), expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_arange_takes_a_dtype_by_its_place() -> None:
    made, expected = bl.arange(0, 3, 1, bl.float32), np.arange(0, 3, 1, np.float32)
    assert made.dtype == expected.dtype and np.array_equal(made, expected)
