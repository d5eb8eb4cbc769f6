"""Tests `take`, `take_along_axis` and indexing by arrays of integers: the values are NumPy's bit for bit, nothing is
evaluated before its values are needed, and an index out of range is an error of the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn
from random_draws import same

import broadloom as bl

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64"]
LENGTHS = [0, 1, 7, 33, 1000, 100_003]
MODES = ["raise", "clip", "wrap"]


def ours(x: Any) -> Any:
    return bl.asarray(x)


def take(x: Any, indices: Any, **options: Any) -> Any:
    return bl.take(ours(x), indices, **options)


def table_of(dtype: str, *shape: int) -> np.ndarray:
    """An array of arbitrary bits, so that floats include NaNs of many payloads."""
    generator = np.random.default_rng(0)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    return np.frombuffer(generator.bytes(size), dtype).reshape(shape).copy()


def indices_of(dtype: str, n: int, *shape: int, reach: int = 1) -> np.ndarray:
    """Random indices from `-reach * n` to `reach * n - 1`, as far as the dtype has them."""
    limits = np.iinfo(dtype)
    low, high = max(-reach * n, int(limits.min)), min(reach * n, int(limits.max) + 1)
    return np.asarray(np.random.default_rng(1).integers(low, high, shape, dtype=dtype))


MAKERS: list[Callable[[Any], Any]] = [ours, lambda a: ours(a) + 0, np.asarray, lambda a: a.tolist()]
every_maker = pytest.mark.parametrize("make", MAKERS, ids=["ours", "computed", "numpy", "list"])


# Dtypes, shapes and axes.


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_copied_bit_for_bit(dtype: str, index: str) -> None:
    for n, length in [*((97, length) for length in LENGTHS), (1, 7), (7, 1000), (100_003, 1000)]:
        table, indices = table_of(dtype, n), indices_of(index, n, length)
        same(take(table, ours(indices)), table[indices])
        same(take(table, indices, axis=0, mode="raise"), table[indices])
        same(ours(table)[ours(indices)], table[indices])


@pytest.mark.parametrize("dtype, bits", [("float16", 10), ("float32", 23), ("float64", 52)])
@pytest.mark.parametrize("mode", MODES)
def test_nans_keep_their_payloads_and_zeros_their_signs(mode: str, dtype: str, bits: int) -> None:
    width = 8 * np.dtype(dtype).itemsize
    sign, infinity = 1 << (width - 1), ((1 << (width - 1 - bits)) - 1) << bits
    # Zeros, subnormal numbers, infinities, signalling NaNs and quiet ones.
    words = [0, 1, infinity, infinity | 1, infinity | 3, infinity | 1 << (bits - 1), infinity | 5 << (bits - 3)]
    table = np.array(words + [word | sign for word in words], f"uint{width}").view(dtype)
    indices = np.random.default_rng(2).integers(0, 14, 333)
    same(take(table, indices, mode=mode), table[indices])
    same(ours(table)[indices], table[indices])
    same(bl.take_along_axis(ours(table), ours(indices)), table[indices])


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("mode", MODES)
@every_maker
def test_the_axes_of_the_indices_replace_the_axis(make: Any, mode: Any, axis: int | None) -> None:
    table = table_of("int32", 4, 5, 6)
    for shape in [(), (1,), (3,), (2, 3), (2, 1, 2)]:
        indices = indices_of("int64", 4, *shape, reach=1 if mode == "raise" else 50)
        made = take(table, make(indices), axis=axis, mode=mode)
        assert isinstance(made, bl.Array)
        same(made, np.take(table, indices, axis=axis, mode=mode))
    same(bl.take(ours(table), ours([3, -1]), axis), np.take(table, [3, -1], axis))
    # An array of rank 0 has one element when it is flattened.
    same(take(np.array(5.5), make(np.array([0, 0])), mode=mode), np.array([5.5, 5.5]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape, axis", [((0,), 0), ((0,), None), ((0, 3), 0), ((3, 0), 1), ((0, 3), None)])
def test_an_empty_axis_has_no_element_for_any_index(mode: Any, shape: tuple[int, ...], axis: int | None) -> None:
    table = np.zeros(shape, np.float32)
    for indices in (np.array([0]), np.array(0), np.array([[-1, 5]])):
        with pytest.raises(IndexError):
            np.asarray(take(table, ours(indices), axis=axis, mode=mode))
    for none in (np.zeros(0, np.int32), np.zeros((3, 0), np.uint8)):
        same(take(table, ours(none), axis=axis, mode=mode), np.take(table, none, axis=axis, mode=mode))
    # The other axis of the table has elements.
    same(take(np.zeros((0, 3)), ours([2, 0]), axis=1, mode=mode), np.zeros((0, 2)))


@pytest.mark.parametrize("indices", [[True, False], [0.0, 1.0], np.array(1.0), np.array(True), np.ones(2, "f2")])
@pytest.mark.parametrize("mode", MODES)
def test_indices_are_integers(mode: str, indices: Any) -> None:
    for given_indices in (indices, ours(indices)):
        with pytest.raises(TypeError):
            np.asarray(take([3, 4], given_indices, mode=mode))
    with pytest.raises((TypeError, IndexError)):
        np.asarray(bl.take_along_axis(ours([3, 4]), ours(np.atleast_1d(indices))))


def test_a_float_of_no_axes_is_no_index() -> None:
    x = bl.asarray([[1, 2], [3, 4]])
    for index in (bl.asarray(1.7), np.asarray(1.7), np.float64(1.0)):
        with pytest.raises(IndexError):
            x[index, bl.asarray([0, 1])]


@pytest.mark.parametrize("options", [{"axis": 2}, {"axis": -3}, {"mode": "nearest"}, {"mode": ""}])
def test_an_axis_or_a_mode_that_does_not_exist(options: dict[str, Any]) -> None:
    with pytest.raises(IndexError if "axis" in options else (ValueError, TypeError)):
        np.asarray(take(np.zeros((2, 3)), ours([0]), **options))


# Modes and indices out of range.


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_modes(mode: Any, index: str) -> None:
    for n, length in [(n, length) for n in (1, 7, 33) for length in LENGTHS]:
        table, indices = table_of("float32", n), indices_of(index, n, length, reach=3)
        same(take(table, ours(indices), mode=mode), np.take(table, indices.astype(np.int64), mode=mode))


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("n", [1, 5, 7, 64])
def test_extreme_indices_are_out_of_range_and_do_not_overflow(n: int, index: str) -> None:
    # Values at the limits of dtypes, and values whose lower 32 bits or offsets in bytes are small.
    exponents = (7, 8, 15, 16, 31, 32, 33, 59, 60, 61, 62, 63, 64)
    every = [s * 2**e + d for e in exponents for s in (1, -1) for d in (-5, -1, 0, 1, 3)]
    limits, table = np.iinfo(index), table_of("int64", n)
    values = [value for value in every if limits.min <= value <= limits.max and not -n <= value < n]
    indices = ours(np.array(values, index))
    same(take(table, indices, mode="clip"), table[[min(max(value, 0), n - 1) for value in values]])
    same(take(table, indices, mode="wrap"), table[[value % n for value in values]])
    for k in range(len(values)):
        for made in (take(table, indices[k]), ours(table)[indices[k:]], bl.take_along_axis(ours(table), indices[k:])):
            with pytest.raises(bl.RangeError):
                np.asarray(made)


@pytest.mark.parametrize("bad", [7, -8, 100, -100])
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_a_bad_index_at_any_place_is_an_error_of_the_evaluation(length: int, bad: int) -> None:
    table = table_of("int64", 7)
    for place in {0, length // 2, max(length - 2, 0), length - 1}:
        indices = indices_of("int8", 7, length)
        indices[place] = bad
        for make in MAKERS[:2]:
            made = take(table, make(indices))
            for result in (made, bl.sum(made), take(table, make(indices), axis=0) + 1, made):
                with pytest.raises(bl.RangeError) as raised:
                    np.asarray(result)
                assert isinstance(raised.value, IndexError) and isinstance(raised.value, bl.Error)
                assert str(bad) in str(raised.value)


def test_the_message_has_the_first_bad_index() -> None:
    made = take(bl.arange(5), [0, 7, 9])
    assert made.shape == (3,)
    with pytest.raises(bl.RangeError, match="7"):
        np.asarray(made)
    with pytest.raises(bl.RangeError, match="; take with mode="):
        np.asarray(bl.arange(5)[bl.asarray([7])])
    indices = indices_of("int64", 50, 331, 1009)
    indices[200, 3:], indices[330, 1008], indices[200, 2] = 888_888, -999_999, -777_777
    for threads in (1, 3):
        for order in (indices, np.asfortranarray(indices)):
            with bl.set_options(threads=threads), pytest.raises(bl.RangeError, match="-777777"):
                np.asarray(take(table_of("float64", 50), ours(order)))


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_take_along_axis(dtype: str, index: str) -> None:
    table = table_of(dtype, 5, 6, 7)
    for axis, shape in enumerate([(9, 6, 7), (5, 2, 1), (1, 1, 33), (0, 6, 7), (1, 6, 7), (1, 1, 1)], -3):
        indices = indices_of(index, table.shape[axis], *shape)
        same(bl.take_along_axis(ours(table), ours(indices), axis=axis), np.take_along_axis(table, indices, axis))
    # The last axis is the default, and the axes of the table are broadcast as well.
    for x, indices in [(table, indices_of(index, 7, 5, 1, 4)), (table[:1], indices_of(index, 7, 5, 6, 4))]:
        same(bl.take_along_axis(ours(x), ours(indices) + 0), np.take_along_axis(x, indices, -1))
        indices[-1, -1, -1] = 7
        made = bl.take_along_axis(ours(x), ours(indices))
        with pytest.raises(bl.RangeError):
            np.asarray(made)
        with pytest.raises(ValueError):
            bl.take_along_axis(ours(x), ours(indices[0]))


def test_indices_that_do_not_broadcast_along_other_axes_are_refused() -> None:
    x, indices = ours(np.zeros((3, 4))), ours(np.zeros((2, 2), int))
    with pytest.raises(
        bl.ShapeError, match=r"take_along_axis: x has the shape \(3, 4\), the indices \(2, 2\), .* other than 1"
    ):
        bl.take_along_axis(x, indices)
    assert bl.take_along_axis(x, indices[:1]).shape == (3, 2)


# Indexing.

ARRAYS = {
    "i": np.array([3, 0, -1, 3]),
    "j": np.array([1, -2, 0, 2], np.int8),
    "k": np.array([[0], [-4], [2]], np.int32),
    "z": np.array(2),
}
KEYS = (
    "i | k | i, j | k, i | i, j, k | :, i | :, i, k | i, :, j | k, 1:3, j | ..., i | i, ..., k | None, i | :, i, None, j"
    " | i, 1:3 | ::-1, k, ::2 | 2, i | i, -1 | 2, :, i | i, :, 2 | z | :, z | z, z, z | z, :, i | i, z"
    # An ellipsis separates arrays even if it stands for no axis.
    " | None, i, ..., j, k | None, 2, ..., k, 0"
).split(" | ")


def selected(x: Any, key: str, arrays: dict[str, Any]) -> Any:
    return eval(f"x[{key}]", {"x": x, **arrays})


@pytest.mark.parametrize("key", KEYS)
@every_maker
def test_keys_of_arrays(make: Callable[[Any], Any], key: str) -> None:
    arrays = {name: make(array) for name, array in ARRAYS.items()}
    for dtype in ("bool", "int8", "uint64", "float16", "float64"):
        table = table_of(dtype, 5, 6, 7)
        same(selected(ours(table), key, arrays), selected(table, key, ARRAYS))
    table = table_of("int32", 5, 6, 7)
    same(selected(ours(table)[::-1] * 3, key, arrays), selected(table[::-1] * 3, key, ARRAYS))
    same(selected(bl.permute_dims(ours(table.T), (2, 1, 0)), key, arrays), selected(table, key, ARRAYS))
    # An index that is out of range on each axis, in each array.
    for name in ARRAYS.keys() & set(key):
        for bad in (7, -8):
            wrong = np.where(ARRAYS[name] == ARRAYS[name].max(), bad, ARRAYS[name])
            with pytest.raises(IndexError):
                np.asarray(selected(ours(table), key, arrays | {name: make(wrong)}))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_key_of_any_shape(data: st.DataObject) -> None:
    shape = data.draw(hn.array_shapes(min_dims=1, max_dims=4, max_side=5))
    whole = data.draw(hn.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))

    def part(extent: int) -> Any:
        if data.draw(st.booleans()):
            return data.draw(st.one_of(st.slices(extent), st.integers(-extent, extent - 1)))
        own = tuple(n if data.draw(st.booleans()) else 1 for n in whole)[data.draw(st.integers(0, len(whole))) :]
        dtype = data.draw(st.sampled_from([np.int8, np.int64]))
        return data.draw(hn.arrays(dtype, own, elements=st.integers(-extent, extent - 1)))

    head = data.draw(st.integers(0, len(shape)))
    tail = data.draw(st.integers(0, len(shape) - head))
    key = [*map(part, shape[:head]), ..., *map(part, shape[len(shape) - tail :])]
    if data.draw(st.booleans()):
        key.insert(data.draw(st.integers(0, len(key))), None)
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    same(ours(values)[tuple(ours(p) if isinstance(p, np.ndarray) else p for p in key)], values[tuple(key)])


def test_an_empty_list_selects_nothing() -> None:
    table = table_of("float32", 5, 6)
    same(ours(table)[[]], table[[]])
    same(ours(table)[:, []], table[:, []])
    # An array without rows has no row for any index.
    with pytest.raises(IndexError):
        np.asarray(ours(table[:0])[[0]])


# Laziness, expressions and jitted functions.


def test_nothing_is_evaluated_or_checked_before_values_are_needed() -> None:
    memory, places = np.arange(6.0), np.array([0, 99, 5])
    table, indices = ours(memory) * 2, ours(places) + 0
    made = [take(table, indices), table[indices], bl.take_along_axis(table, indices), table[indices][1:] + 1]
    assert [x.shape for x in made] == [(3,), (3,), (3,), (2,)]
    assert not any(x._handle.is_evaluated for x in (table, indices, *made))
    # An evaluation reads what the memory contains then: the index is in range by now.
    memory[3], places[1] = 50.0, 3
    for x, expected in zip(made, ([0, 100, 10], [0, 100, 10], [0, 100, 10], [101, 11]), strict=True):
        same(x, np.array(expected, np.float64))


def test_setting_elements_changes_no_array_made_before() -> None:
    table, indices = bl.asarray(np.arange(5), copy=True), bl.asarray(np.array([0, 4, 0]), copy=True)
    made = take(table, indices), table[indices]
    table[0], indices[1] = 77, 2
    for before, after in zip(made, (take(table, indices), table[indices]), strict=True):
        same(before, np.array([0, 4, 0]))
        same(after, np.array([77, 2, 77]))


@pytest.mark.parametrize("after", ["y", "y[2:5]", "y[0]", "y[::2]", "xp.sum(y)", "xp.where(w, y, 0)"])
@pytest.mark.parametrize("jitted", [False, True])
def test_a_part_of_a_result_depends_on_all_of_its_indices(jitted: bool, after: str) -> None:
    table, indices = table_of("int64", 5), np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 5, 0, 1])

    def part(t: Any, i: Any, w: Any, xp: Any = bl) -> Any:
        return eval(after, {"y": t[i], "w": w, "xp": xp})

    run: Any = bl.jit(part) if jitted else lambda *arrays: part(*map(ours, arrays))
    with pytest.raises(IndexError):
        np.asarray(run(table, indices, indices > 5))
    indices[9] = -5
    same(run(table, indices, indices > 5), part(table, indices, indices > 5, np))


def test_a_table_of_computed_floats() -> None:
    values, indices = np.linspace(-3, 3, 50), indices_of("int64", 50, 1000)
    made = bl.exp(ours(values))[ours(indices)]
    same(made, np.asarray(bl.exp(ours(values)))[indices])
    np.testing.assert_allclose(made, np.exp(values)[indices], rtol=1e-15)
    x = np.random.default_rng(3).random(1000)
    same(take(values, bl.astype(ours(x) * 10, bl.int32)), values[(x * 10).astype(np.int32)])


# A table has 40 rows of 6 elements, an index is from -40 to 39, and a weight has the shape of the indices.
EXPRESSIONS = [
    "xp.take(t, i, axis=0) * 2",
    "xp.take(t, i)",
    "xp.take(t, i * 5, axis=0, mode='clip')",
    "xp.take(t, i * 5, axis=-2, mode='wrap') + 1",
    "xp.take(t, xp.astype(i * 3 % 40, xp.int32), axis=0)",
    "xp.take_along_axis(t, t % 6, axis=-1)",
    "xp.sum(xp.take(t[:, 1], i) * w)",
    "xp.sum(t[i]) + xp.sum(t[i], axis=0) + t[0]",
    "(t * 7 - 1)[i]",
    "t[i] - t[-1 - i]",
    "t[t[i, 0] % 40] + t[i][..., :1]",
    "t[::-1][t[:, 2] % 40][i]",
    "t[i, i % 6] + w",
    "t.T[:, i]",
    "t[::2][i // 2]",
    "xp.broadcast_to(t[:, 3:4], (40, 6))[i]",
    "xp.moveaxis(t[i], -1, 0)",
    "t[i][..., 1::2]",
    "xp.max(t[i], axis=-1)",
    "xp.argmax(t[i] % 1000, axis=-1)",
    "xp.cumulative_sum(t[i], axis=-1)",
    "xp.where(w > 0, t[i, 0], w)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("jitted", [False, True])
def test_expressions(jitted: bool, text: str) -> None:
    def expression(t: Any, i: Any, w: Any, xp: Any = bl) -> Any:
        return eval(text, {"t": t, "i": i, "w": w, "xp": xp})

    run: Any = bl.jit(expression) if jitted else lambda *arrays: expression(*map(ours, arrays))
    table = np.random.default_rng(4).integers(-(2**40), 2**40, (40, 6))
    for shape in [(4,), (1,), (0,), (33,), (2, 3), (1000,), (7,), (100_003,)]:
        for index in ("int64", "int16"):
            indices, weights = indices_of(index, 40, *shape), table_of("int64", *shape) >> 20
            same(run(table, indices, weights), expression(table, indices, weights, np))


VIEWS = ["x[::2]", "x[::-1]", "x.T", "xp.broadcast_to(x[2], (12, 12))", "x[:, 3::-2]"]


@pytest.mark.parametrize("of_table", VIEWS)
@pytest.mark.parametrize("of_indices", VIEWS)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_views(axis: int | None, of_indices: str, of_table: str) -> None:
    table, indices = table_of("float32", 12, 12), indices_of("int32", 2, 12, 12)
    x, i = eval(of_table, {"x": table, "xp": np}), eval(of_indices, {"x": indices, "xp": np})
    same(take(x, ours(i), axis=axis), np.take(x, i, axis=axis))
    lazy_x, lazy_i = eval(of_table, {"x": ours(table), "xp": bl}), eval(of_indices, {"x": ours(indices), "xp": bl})
    same(take(lazy_x, lazy_i, axis=axis), np.take(x, i, axis=axis))


def test_a_jitted_function_raises_and_is_called_again() -> None:
    run: Any = bl.jit(lambda t, i: bl.take(t, i, axis=0) * 2)
    for shape in [(5,), (7, 3), (2, 1, 4), (100_003,), (1,), (6,)]:
        table = table_of("int64", *shape) >> 1
        for extents in [(4,), (2, 3), (), (0,), (1,), (1000,)]:
            indices = indices_of("int64", shape[0], *extents)
            same(run(table, indices), table[indices] * 2)
            for bad in (shape[0], -shape[0] - 1) if indices.size else ():
                wrong = indices.copy()
                wrong[(-1,) * wrong.ndim] = bad
                with pytest.raises(IndexError):
                    np.asarray(run(table, wrong))
                same(run(table, indices), table[indices] * 2)
    with pytest.raises(TypeError):
        np.asarray(run(np.arange(3), np.array([0.0])))


@pytest.mark.parametrize("dtype", ["int64", "int8", "float32", "float64"])
def test_results_do_not_depend_on_the_number_of_threads(dtype: str) -> None:
    table = (np.random.default_rng(5).integers(-50, 50, 300_007) / 3).astype(dtype)
    indices, found = indices_of("int32", table.size, 1_000_003), []
    for threads in (1, 3):
        with bl.set_options(threads=threads):
            lazy = take(table, ours(indices))
            products = lazy * ours(table)[ours(indices[::-1])]
            found.append([*map(np.asarray, (lazy, bl.sum(products), bl.cumulative_sum(lazy), bl.argmax(lazy)))])
    same(found[0][0], table[indices])
    for one, three in zip(*found, strict=True):
        same(three, one)
