"""Tests indexing: what keys select, which errors they raise, and that setting elements changes no other array."""

import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

import broadloom as bl
from broadloom._core import Handle

CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

BASIC: list[Any] = [
    (),
    ...,
    0,
    -1,
    (1, 2, 3),
    (..., 1),
    (1, ..., -1),
    (0, slice(None), -4),
    slice(None, None, -1),
    (slice(5, None), 0),
    (slice(-100, 100), slice(100, -100, -2)),
    (slice(None), slice(2, 0, -1), slice(None, None, 3)),
    (slice(1, 1), 1),
    (slice(None, None, 2**70), slice(-(2**70), 2**70)),
    None,
    (None, 1, None, ..., None),
    (..., None, 0),
    np.int8(1),
    (np.uint64(1), slice(np.int16(0), np.int16(2))),
]


@pytest.mark.parametrize("key", BASIC)
def test_a_view_is_numpys(key: Any) -> None:
    expected = CUBE[key]
    for x in (bl.asarray(CUBE), bl.asarray(CUBE) * 1):
        got = x[key]
        assert isinstance(got, bl.Array)
        assert got.dtype == np.int32
        assert got.shape == expected.shape
        assert np.array_equal(np.asarray(got), expected)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_view_of_any_shape_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(hn.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    key = data.draw(hn.basic_indices(shape, allow_newaxis=True))
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert np.array_equal(np.asarray(bl.asarray(values)[key]), values[key])
    x, expected = bl.asarray(values.copy()), values.copy()
    expected[key] = -1
    x[key] = -1
    assert np.array_equal(np.asarray(x), expected)


def test_all_of_shared_memory_is_that_memory() -> None:
    memory = np.arange(3)
    assert np.shares_memory(np.asarray(bl.asarray(memory)[...]), memory)


def test_bounds_may_be_arrays_of_rank_0() -> None:
    x, two = bl.asarray(CUBE), bl.asarray(np.array(2))
    assert np.array_equal(np.asarray(x[1, two]), CUBE[1, 2])


def test_a_view_is_lazy_and_an_element_computes_no_more_than_itself() -> None:
    memory = np.arange(6.0)
    x = bl.asarray(memory) * 2
    last = x[-1]
    memory[-1] = 10.0
    assert float(last) == 20.0
    assert not x._handle.is_evaluated


@pytest.mark.parametrize(
    "key",
    [
        2,
        -3,
        (0, 0, 4),
        (0, 0, 0, 0),
        (..., ...),
        1.0,
        "a",
        (0, None, 0, 0, 0),
        np.float64(1),
        np.array([0.0]),
        ([0, 1], [0, 1, 2]),
    ],
)
def test_a_key_that_selects_nothing_is_an_index_error(key: Any) -> None:
    x = bl.asarray(CUBE)
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 0
    assert np.array_equal(np.asarray(x), CUBE)


def test_arrays_of_floats_are_no_keys_whoever_made_them() -> None:
    x = bl.asarray(CUBE)
    for key in (np.array([0.0]), bl.asarray([0.0]), bl.asarray([0.0]) + 1, (slice(None), bl.asarray([0.0]))):
        with pytest.raises(IndexError, match="an array of float64 is no key"):
            x[key]
        with pytest.raises(IndexError, match="an array of float64 is no key"):
            bl.jit(lambda y, key=key: y[key])(CUBE)


@pytest.mark.parametrize(
    "key", [(slice(None), (0,)), ((0, 1), (2, 0)), ((0, 1),), (((1, 0), (0, 0)),), (0, ()), (..., (3, -1))]
)
def test_a_tuple_in_a_key_is_an_array_of_indices(key: Any) -> None:
    expected, x = CUBE.copy(), bl.asarray(CUBE) + 0
    assert np.array_equal(np.asarray(x[key]), expected[key])
    x[key] = expected[key] = -1
    assert np.array_equal(np.asarray(x), expected)


def test_arrays_of_indices_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(IndexError, match=r"do not broadcast: \(2,\), \(3,\)"):
        bl.asarray(CUBE)[[0, 1], [0, 1, 2]]


def test_a_step_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        bl.asarray(CUBE)[::0]


MASKS = [
    CUBE > 7,
    CUBE[:, :, 0] > 4,
    np.array([True, False]),
    np.array(True),
    np.array(False),
    np.zeros((2, 3, 4), bool),
    np.zeros((2, 0), bool),
]


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_selects_elements_in_row_major_order(mask: np.ndarray) -> None:
    expected = CUBE[mask] if mask.size else CUBE[:0, 0]
    for key in (bl.asarray(mask), mask, (bl.asarray(mask),)):
        got = bl.asarray(CUBE)[key]
        assert got.dtype == np.int32
        assert got.shape == expected.shape
        assert np.array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 4, 1)])
def test_a_mask_of_another_shape_is_an_index_error(shape: tuple[int, ...]) -> None:
    x, mask = bl.asarray(CUBE), bl.asarray(np.ones(shape, bool))
    with pytest.raises(IndexError):
        x[mask]
    with pytest.raises(IndexError):
        x[mask] = 0
    with pytest.raises(IndexError):
        x[mask] = bl.asarray(np.zeros(2, np.int32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
def test_arrays_of_ints_broadcast_together(dtype: Any) -> None:
    rows, columns = np.array([[0], [1]], dtype), np.array([2, 0, 2], dtype)
    x = bl.asarray(CUBE)
    assert np.array_equal(np.asarray(x[bl.asarray(rows), bl.asarray(columns), -1]), CUBE[rows, columns, -1])
    assert np.array_equal(np.asarray(x[rows, columns]), CUBE[rows, columns])
    assert np.array_equal(np.asarray(x[[1, 0]]), CUBE[[1, 0]])
    with pytest.raises(IndexError):
        np.asarray(x[bl.asarray(np.array([2], dtype))])


# Setting.


@pytest.mark.parametrize("key", BASIC)
def test_setting_a_view_sets_what_it_selects(key: Any) -> None:
    values = np.arange(CUBE[key].size, dtype=np.int32).reshape(CUBE[key].shape) - 100
    for given_values in (-5, bl.asarray(np.array(-5, np.int32)), bl.asarray(values), bl.asarray(values) * 1, values):
        for x in (bl.asarray(CUBE), bl.asarray(CUBE) * 1):
            expected = CUBE.copy()
            expected[key] = np.asarray(given_values)
            x[key] = given_values
            assert x.dtype == np.int32
            assert np.array_equal(np.asarray(x), expected)


@pytest.mark.parametrize("mask", MASKS)
def test_setting_by_a_mask(mask: np.ndarray) -> None:
    expected = CUBE.copy()
    if mask.size:
        expected[mask] = 50
    for value in (50, bl.asarray(np.array(50, np.int32)), np.array(50)):
        for key in (mask, bl.asarray(mask)):
            x = bl.asarray(CUBE)
            x[key] = value
            assert np.array_equal(np.asarray(x), expected)


def test_setting_by_a_mask_and_one_value_is_lazy() -> None:
    memory = np.arange(4.0)
    x = bl.asarray(memory)
    x[x == 0.0] = 9.0
    memory[3] = 30.0
    assert np.asarray(x).tolist() == [9.0, 1.0, 2.0, 30.0]


def test_setting_by_a_mask_of_numpys_counts_what_the_mask_is_now() -> None:
    x, mask = bl.asarray(np.arange(3)), np.array([True, False, True])
    x[mask] = 9
    mask[:] = False
    assert np.asarray(x).tolist() == [9, 1, 9]
    values = np.array([1, 2, 3])
    x[...] = values
    values[:] = 0
    assert np.asarray(x).tolist() == [1, 2, 3]


def test_setting_several_values_by_a_mask_and_by_arrays_of_ints() -> None:
    x, expected = bl.asarray(CUBE), CUBE.copy()
    mask = CUBE % 5 == 0
    expected[mask] = np.arange(mask.sum())
    x[bl.asarray(mask)] = bl.asarray(np.arange(mask.sum()))
    assert np.array_equal(np.asarray(x), expected)
    expected[[1, 0], :, [2, 3]] = 0
    x[[1, 0], :, [2, 3]] = 0
    assert np.array_equal(np.asarray(x), expected)


def test_other_arrays_and_shared_memory_keep_their_elements() -> None:
    memory = np.arange(4)
    x = bl.asarray(memory)
    before, alias, view = x + 10, x[...], x[1:]
    x[0] = 7
    after, seen = x + 10, np.asarray(x)
    x[1] = 8
    x[2:] = x[:2]
    assert np.asarray(x).tolist() == [7, 8, 7, 8]
    assert memory.tolist() == [0, 1, 2, 3]
    assert np.asarray(before).tolist() == [10, 11, 12, 13]
    assert np.asarray(alias).tolist() == [0, 1, 2, 3]
    assert np.asarray(view).tolist() == [1, 2, 3]
    assert np.asarray(after).tolist() == [17, 11, 12, 13]
    assert seen.tolist() == [7, 1, 2, 3]
    assert not seen.flags.writeable


def test_an_alias_and_what_numpy_was_given_keep_the_elements_of_a_buffer() -> None:
    x = bl.asarray(np.arange(4))
    x[0] = 7
    alias, part, exported = bl.astype(x, x.dtype), np.asarray(x)[1:], np.from_dlpack(x)
    x[1] = 8
    assert np.asarray(alias).tolist() == [7, 1, 2, 3]
    assert part.tolist() == [1, 2, 3]
    assert exported.tolist() == [7, 1, 2, 3]
    alias[3] = 0
    assert np.asarray(x).tolist() == [7, 8, 2, 3]
    assert np.asarray(alias).tolist() == [7, 1, 2, 0]


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="memory is freed at once where references are counted")
def test_a_loop_over_elements_copies_them_once() -> None:
    x = bl.asarray(np.zeros(1 << 20))
    x[0] = 1.0
    tracemalloc.start()
    for i in range(1, 50):
        x[i] = x[i - 1] + 1.0
        x[100 + i : 102 + i] = bl.asarray(np.array([float(i)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.asarray(x[:50]).tolist() == [float(i) for i in range(1, 51)]
    assert np.asarray(x[100:104]).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert peak < 1 << 20


def test_a_value_has_to_be_of_the_arrays_kind_or_below() -> None:
    ints, floats, bools = bl.asarray(np.arange(3)), bl.asarray(np.arange(3.0)), bl.asarray(np.ones(3, bool))
    for x, value in [
        (ints, 1.0),
        (bools, 1),
        (bools, bl.asarray(np.arange(3))),
        (ints, bl.asarray(np.arange(3.0))),
        (ints, np.arange(3.0)),
        (floats, 1j),
        (floats, "1"),
    ]:
        for key in (0, slice(None), ..., [True, False, True]):
            with pytest.raises(TypeError):
                x[key] = value
    with pytest.raises(OverflowError):
        bl.asarray(np.zeros(3, np.int8))[0] = 128
    floats[0], floats[1:] = True, bl.asarray(np.array([5, 6], np.uint8))
    assert np.asarray(floats).tolist() == [1.0, 5.0, 6.0]
    narrow = bl.asarray(np.zeros(2, np.int8))
    narrow[...] = bl.asarray(np.array([300, -1]))
    assert np.asarray(narrow).tolist() == [44, -1]


def test_a_value_has_to_broadcast() -> None:
    x = bl.asarray(CUBE)
    for key, shape in [(0, (2, 4)), (..., (3, 3, 4)), ((0, 0), (3,)), (CUBE > 3, (2,))]:
        with pytest.raises(ValueError):
            x[key] = bl.asarray(np.zeros(shape, np.int32))
    with pytest.raises(ValueError, match="broadcast"):
        x[0] = bl.asarray(np.zeros((2, 3, 4), np.int32))
    assert np.array_equal(np.asarray(x), CUBE)
    x[0] = bl.asarray(np.ones((1, 1, 3, 1), np.int32))
    assert np.all(np.asarray(x)[0] == 1)


def test_setting_the_array_to_itself_reversed() -> None:
    x = bl.asarray(np.arange(5))
    x[1] = 1
    x[:] = x[::-1]
    assert np.asarray(x).tolist() == [4, 3, 2, 1, 0]
    x[1:] = x[:-1]
    assert np.asarray(x).tolist() == [4, 4, 3, 2, 1]


def test_elements_of_a_traced_array() -> None:
    x = bl.Array._of(Handle.input("x", "float32", ["n"]))
    mask = bl.Array._of(Handle.input("mask", "bool", ["n"]))
    x[mask] = 1.5
    assert x.shape == (None,)
    assert x._handle.is_symbolic
    for key, dims in (
        (0, []),
        (slice(1, None), ["n - 1"]),
        (slice(None, None, -2), ["ceil(n / 2)"]),
        ((slice(-5, None), None), ["min(n, 5)", "1"]),
    ):
        assert x[key]._handle.dims == dims
    for key in (slice(-5, 3),):
        with pytest.raises(ValueError, match="no simple form"):
            x[key]
        with pytest.raises(ValueError):
            x[key] = 1.0
    with pytest.raises(bl.TracerError):
        x[mask]
    fixed = bl.Array._of(Handle.input("y", "float32", [3]))
    assert fixed[1:].shape == (2,)
    with pytest.raises(bl.TracerError, match="setting elements other than by a mask"):
        fixed[0] = 1.0
