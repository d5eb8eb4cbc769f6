"""Tests functions on shapes: views stay lazy, and joined parts are computed directly into the result. Each result is
NumPy's, which follows the standard here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom._core import Handle

CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
ROW = np.array([1.5, -2.0, 3.0], dtype=np.float32)
EMPTY = np.zeros((0, 3), dtype=np.int8)
POINT = np.array(7, dtype=np.uint16)

SAME_IN_NUMPY: list[tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray]] = [
    (lambda x: bl.broadcast_to(x, (4, 2, 3)), lambda x: np.broadcast_to(x, (4, 2, 3)), CUBE[:, :, 0]),
    (lambda x: bl.broadcast_to(x, (0,)), lambda x: np.broadcast_to(x, (0,)), POINT),
    (lambda x: bl.expand_dims(x, 1), lambda x: np.expand_dims(x, 1), CUBE),
    (lambda x: bl.expand_dims(x, axis=-4), lambda x: np.expand_dims(x, -4), CUBE),
    (lambda x: bl.expand_dims(x, 3), lambda x: np.expand_dims(x, 3), CUBE),
    (lambda x: bl.expand_dims(x, (-1, 0)), lambda x: np.expand_dims(x, (-1, 0)), CUBE),
    (lambda x: bl.flip(x), lambda x: np.flip(x), CUBE),
    (lambda x: bl.flip(x, axis=-2), lambda x: np.flip(x, -2), CUBE),
    (lambda x: bl.flip(x, axis=(0, 2)), lambda x: np.flip(x, (0, 2)), CUBE),
    (lambda x: bl.flip(x), lambda x: np.flip(x), POINT),
    (lambda x: bl.flip(x, axis=0), lambda x: np.flip(x, 0), EMPTY),
    (lambda x: bl.matrix_transpose(x), lambda x: np.matrix_transpose(x), CUBE),
    (lambda x: bl.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), CUBE),
    (lambda x: bl.moveaxis(x, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0)), CUBE),
    (lambda x: bl.moveaxis(x, (2, 0), (0, 1)), lambda x: np.moveaxis(x, (2, 0), (0, 1)), CUBE),
    (lambda x: bl.moveaxis(x, (0, 2), (1, 0)), lambda x: np.moveaxis(x, (0, 2), (1, 0)), CUBE),
    (lambda x: bl.permute_dims(x, (2, 0, 1)), lambda x: np.permute_dims(x, (2, 0, 1)), CUBE),
    (lambda x: bl.permute_dims(x, ()), lambda x: np.permute_dims(x, ()), POINT),
    (lambda x: bl.repeat(x, 3), lambda x: np.repeat(x, 3), CUBE),
    (lambda x: bl.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, axis=1), CUBE),
    (lambda x: bl.repeat(x, 0, axis=-1), lambda x: np.repeat(x, 0, axis=-1), CUBE),
    (lambda x: bl.repeat(x, 4), lambda x: np.repeat(x, 4), POINT),
    (lambda x: bl.repeat(x, 2, axis=0), lambda x: np.repeat(x, 2, axis=0), EMPTY),
    (lambda x: bl.reshape(x, (-1, 2)), lambda x: np.reshape(x, (-1, 2)), CUBE),
    (lambda x: bl.reshape(x, (4, 6)), lambda x: np.reshape(x, (4, 6)), CUBE.T),
    (lambda x: bl.reshape(x, ()), lambda x: np.reshape(x, ()), ROW[:1]),
    (lambda x: bl.reshape(x, (5, 0)), lambda x: np.reshape(x, (5, 0)), EMPTY),
    (lambda x: bl.roll(x, 5), lambda x: np.roll(x, 5), CUBE),
    (lambda x: bl.roll(x, -1, axis=2), lambda x: np.roll(x, -1, axis=2), CUBE),
    (lambda x: bl.roll(x, (1, -6), axis=(0, 2)), lambda x: np.roll(x, (1, -6), axis=(0, 2)), CUBE),
    (lambda x: bl.roll(x, 101, axis=(1, -1)), lambda x: np.roll(x, 101, axis=(1, -1)), CUBE),
    (lambda x: bl.roll(x, (1, 1), axis=(1, 1)), lambda x: np.roll(x, (1, 1), axis=(1, 1)), CUBE),
    (lambda x: bl.roll(x, 1, axis=()), lambda x: np.roll(x, 1, axis=()), CUBE),
    (lambda x: bl.roll(x, -3), lambda x: np.roll(x, -3), POINT),
    (lambda x: bl.roll(x, 2, axis=0), lambda x: np.roll(x, 2, axis=0), EMPTY),
    (lambda x: bl.squeeze(x, 0), lambda x: np.squeeze(x, 0), CUBE[:1]),
    (lambda x: bl.squeeze(x, (-1, 0)), lambda x: np.squeeze(x, (-1, 0)), CUBE[:1, :, :1]),
    (lambda x: bl.squeeze(x, (0, 2)), lambda x: np.squeeze(x, (0, 2)), CUBE[:1, :, :1]),
    (lambda x: bl.tile(x, (2,)), lambda x: np.tile(x, (2,)), CUBE),
    (lambda x: bl.tile(x, (2, 1, 0)), lambda x: np.tile(x, (2, 1, 0)), CUBE),
    (lambda x: bl.tile(x, (2, 3, 2)), lambda x: np.tile(x, (2, 3, 2)), ROW),
    (lambda x: bl.tile(x, ()), lambda x: np.tile(x, ()), CUBE),
    (lambda x: bl.tile(x, (3, 2)), lambda x: np.tile(x, (3, 2)), EMPTY),
    (lambda x: bl.concat([x, x], axis=-1), lambda x: np.concat([x, x], axis=-1), CUBE),
    (lambda x: bl.concat((x,), axis=None), lambda x: np.concat((x,), axis=None), CUBE),
    (lambda x: bl.concat([x, x], axis=None), lambda x: np.concat([x, x], axis=None), POINT),
    (lambda x: bl.concat([x, x]), lambda x: np.concat([x, x]), EMPTY),
    (lambda x: bl.stack([x, x, x], axis=1), lambda x: np.stack([x, x, x], axis=1), CUBE),
    (lambda x: bl.stack([x, x], axis=-1), lambda x: np.stack([x, x], axis=-1), CUBE),
    (lambda x: bl.stack([x, x]), lambda x: np.stack([x, x]), POINT),
]


@pytest.mark.parametrize("ours, theirs, values", SAME_IN_NUMPY)
def test_shapes_are_numpys(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], values: np.ndarray) -> None:
    expected = theirs(values)
    for x in (bl.asarray(values), bl.asarray(values) * 1):
        got = np.asarray(ours(x))
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("values", [CUBE, ROW, EMPTY])
@pytest.mark.parametrize("axis", [0, -1])
def test_unstack_gives_the_slices_along_an_axis(values: np.ndarray, axis: int) -> None:
    got = bl.unstack(bl.asarray(values), axis=axis)
    expected = np.unstack(values, axis=axis)
    assert isinstance(got, tuple)
    assert [x.tolist() for x in map(np.asarray, got)] == [x.tolist() for x in expected]


def test_broadcast_arrays_gives_a_tuple_of_arrays_with_their_dtypes() -> None:
    got = bl.broadcast_arrays(bl.asarray(CUBE), bl.asarray(ROW[:, np.newaxis]), bl.asarray(POINT))
    assert type(got) is tuple
    expected = np.broadcast_arrays(CUBE, ROW[:, np.newaxis], POINT)
    for x, y in zip(got, expected, strict=True):
        assert x.dtype == y.dtype
        assert np.array_equal(np.asarray(x), y)
    assert bl.broadcast_arrays() == ()
    with pytest.raises(ValueError, match="broadcast"):
        bl.broadcast_arrays(bl.asarray(ROW), bl.asarray(ROW[:2]))


@pytest.mark.usefixtures("strict")
def test_joined_arrays_have_the_dtype_that_theirs_promote_to() -> None:
    small, wide = bl.asarray(np.array([-1], np.int8)), bl.asarray(np.array([200], np.uint8))
    for joined in (bl.concat([small, wide]), bl.stack([small, wide])):
        assert joined.dtype == np.int16
        assert np.asarray(joined).ravel().tolist() == [-1, 200]
    with pytest.raises(TypeError, match="astype"):
        bl.concat([small, bl.asarray(ROW)])
    with pytest.raises(TypeError, match="stack"):
        bl.stack([bl.asarray(np.array([1], np.uint64)), small])


def test_repeats_of_an_array_are_one_number_for_each_element() -> None:
    x = bl.asarray(CUBE)
    for dtype in (np.int8, np.int64, np.uint64):
        counts = np.array([2, 0, 1], dtype=dtype)
        got = bl.repeat(x, bl.asarray(counts), axis=1)
        assert np.array_equal(np.asarray(got), np.repeat(CUBE, [2, 0, 1], axis=1))
    assert np.array_equal(np.asarray(bl.repeat(x, bl.asarray(np.array([2])))), np.repeat(CUBE, 2))
    assert np.array_equal(np.asarray(bl.repeat(x, bl.asarray(np.array(2)))), np.repeat(CUBE, 2))
    with pytest.raises(TypeError, match="float32"):
        bl.repeat(bl.asarray(ROW), bl.asarray(ROW))


def test_lists_are_taken_as_numpy_takes_them() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for ours, theirs in [
        (bl.repeat(bl.asarray(x), [1, 2], axis=0), np.repeat(x, [1, 2], axis=0)),
        (bl.repeat(bl.asarray(x), (2,)), np.repeat(x, (2,))),
        (bl.expand_dims(bl.asarray(x), [0, 2]), np.expand_dims(x, [0, 2])),
        (bl.diff(bl.asarray(x), prepend=0), np.diff(x, prepend=0)),
        (bl.diff(bl.asarray(x), axis=0, append=1.5), np.diff(x, axis=0, append=1.5)),
        (bl.diff(bl.asarray(x), prepend=[[0], [1]]), np.diff(x, prepend=[[0], [1]])),
        (bl.diff(bl.asarray(x, dtype=bl.float32), prepend=0), np.diff(x.astype("f4"), prepend=0)),
    ]:
        assert ours.dtype == theirs.dtype and np.array_equal(np.asarray(ours), theirs)
    with pytest.raises(TypeError, match="repeat: the numbers of repetitions are float64"):
        bl.repeat(bl.asarray(x), [1.5, 2], axis=0)


def test_views_are_lazy() -> None:
    memory = np.arange(6.0)
    x = bl.asarray(memory) * 2
    views = [
        bl.broadcast_to(x, (2, 6)),
        bl.expand_dims(x, 0),
        bl.flip(x),
        bl.moveaxis(bl.expand_dims(x, 0), 0, 1),
        bl.permute_dims(bl.expand_dims(x, 0), (1, 0)),
        bl.matrix_transpose(bl.expand_dims(x, 0)),
        bl.repeat(x, 2),
        bl.reshape(x, (2, 3)),
        bl.squeeze(bl.expand_dims(x, 0), 0),
        bl.tile(x, (2,)),
        bl.unstack(x)[1],
        bl.broadcast_arrays(x, bl.expand_dims(x, 1))[0],
    ]
    memory[:] = 1.0
    for view in views:
        assert np.all(np.asarray(view) == 2.0)


def test_a_copy_on_request_has_the_values_of_now() -> None:
    memory = np.arange(6.0)
    x = bl.asarray(memory)
    now, later = bl.reshape(x, (2, 3), copy=True), bl.reshape(x, (2, 3), copy=False)
    memory[0] = 9.0
    assert np.asarray(now)[0, 0] == 0.0
    assert np.asarray(later)[0, 0] == 9.0


def test_joined_arrays_are_read_only_and_nobody_elses() -> None:
    joined = bl.concat([bl.asarray(ROW), bl.asarray(ROW)])
    seen = np.asarray(joined)
    assert not seen.flags.writeable
    assert np.shares_memory(seen, np.asarray(joined))


def test_errors_have_the_types_of_the_standard() -> None:
    x = bl.asarray(CUBE)
    for axis in (4, -5):
        with pytest.raises(IndexError):
            bl.expand_dims(x, axis)
    for call in (
        lambda: bl.squeeze(x, 0),
        lambda: bl.squeeze(bl.asarray(CUBE[:1]), (0, 0)),
        lambda: bl.flip(x, axis=3),
        lambda: bl.permute_dims(x, (0, 1)),
        lambda: bl.permute_dims(x, (0, 0, 1)),
        lambda: bl.moveaxis(x, (0, 1), 0),
        lambda: bl.moveaxis(x, (0, 0), (0, 1)),
        lambda: bl.reshape(x, (5, -1)),
        lambda: bl.reshape(x, (-1, -1)),
        lambda: bl.reshape(x, (-2, 12)),
        lambda: bl.broadcast_to(x, (2, 3, 5)),
        lambda: bl.repeat(x, -1),
        lambda: bl.tile(x, (-1,)),
        lambda: bl.roll(x, (1, 2), axis=(0, 1, 2)),
        lambda: bl.roll(x, 1, axis=3),
        lambda: bl.concat([]),
        lambda: bl.stack([]),
        lambda: bl.concat([x, bl.asarray(CUBE[0])]),
        lambda: bl.concat([x, bl.asarray(CUBE[:, :2])], axis=0),
        lambda: bl.concat([bl.asarray(POINT)]),
        lambda: bl.stack([x, bl.asarray(CUBE[:1])]),
        lambda: bl.stack([x], axis=4),
        lambda: bl.unstack(x, axis=3),
        lambda: bl.unstack(bl.asarray(POINT)),
        lambda: bl.matrix_transpose(bl.asarray(ROW)),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: bl.flip({1, 2}), lambda: bl.concat(["a"]), lambda: bl.expand_dims(x, 1.0)):
        with pytest.raises(TypeError):
            call()
    assert bl.flip([1, 2]).tolist() == [2, 1]


def test_arrays_of_numpys_are_operands() -> None:
    assert np.asarray(bl.concat([ROW, bl.asarray(ROW)])).tolist() == [1.5, -2.0, 3.0, 1.5, -2.0, 3.0]
    assert bl.flip(CUBE).shape == (2, 3, 4)


def test_functions_of_traced_arrays_say_what_they_need() -> None:
    x = bl.Array._of(Handle.input("x", "float32", ["n", 3]))
    assert bl.permute_dims(x, (1, 0)).shape == (3, None)
    assert bl.matrix_transpose(x).shape == (3, None)
    assert [y.shape for y in bl.broadcast_arrays(x, x)] == [(None, 3), (None, 3)]
    for call in (lambda: bl.concat([x, x]), lambda: bl.tile(x, (2,)), lambda: bl.roll(x, 1), lambda: bl.unstack(x)):
        with pytest.raises(ValueError, match="open"):
            call()


def test_shapes_broadcast() -> None:
    assert bl.broadcast_shapes((7,), (5, 1), ()) == (5, 7) and bl.broadcast_shapes() == ()
    with pytest.raises(ValueError):
        bl.broadcast_shapes((2,), (3,))
    for wrong in ((2.0,), (True,), ("a",)):
        with pytest.raises(TypeError, match="broadcast_shapes: .*(is no extent|expected a tuple of ints)"):
            bl.broadcast_shapes(wrong)  # type: ignore[arg-type]


def test_several_arrays_are_a_tuple_and_scalars_are_searched_for() -> None:
    x = bl.asarray([1.0, 2.0, 3.0])
    assert type(bl.broadcast_arrays(x, x)) is type(bl.meshgrid(x, x)) is tuple
    assert int(bl.searchsorted(x, 2.5)) == 2 and int(bl.searchsorted(x, 2, side="right")) == 2
    assert bl.expand_dims(x, axis=(0, -1)).shape == (1, 3, 1)
    assert bl.__array_api_version__ == "2025.12" and x.__array_namespace__(api_version="2025.12") is bl


def test_joined_results_are_written_to_any_memory() -> None:
    x = np.arange(12.0).reshape(3, 4)
    whole = np.zeros((8, 10))
    bl.evaluate(bl.concat([bl.asarray(x), bl.asarray(x) * 2], axis=1), out=whole[1:7:2, ::-1][:, :8])
    assert (whole[1:7:2, ::-1][:, :8] == np.concatenate([x, x * 2], 1)).all() and np.count_nonzero(whole) == 22
    turned = np.zeros((8, 3))
    bl.evaluate(bl.concat([bl.asarray(x), bl.asarray(x) + 1], axis=1), out=turned.T)
    assert (turned.T == np.concatenate([x, x + 1], 1)).all()


@pytest.mark.parametrize("shift", [1, -3])
def test_joined_results_may_overlap_what_is_read(shift: int) -> None:
    memory = np.arange(20.0)
    bl.evaluate(bl.roll(bl.asarray(memory), shift) + 0, out=memory)
    assert (memory == np.roll(np.arange(20.0), shift)).all()
    memory = np.arange(20.0)
    x = bl.asarray(memory[:10])
    bl.evaluate(bl.concat([x * 2, x + 1]), out=memory)
    assert (memory == np.concatenate([np.arange(10.0) * 2, np.arange(10.0) + 1])).all()


@pytest.mark.parametrize("shape", [(True, -1), (np.True_, -1), [True, 6], True])
def test_a_bool_is_no_extent(shape: Any) -> None:
    for call in (lambda: bl.reshape(bl.ones(6), shape), lambda: np.reshape(bl.ones(6), shape), lambda: bl.zeros(shape)):
        with pytest.raises(TypeError, match="bool|`shape` is"):
            call()
