"""Tests functions that join, shift, repeat and pad arrays, slide windows over them and interpolate: the values are
NumPy's bit for bit, nothing is evaluated before its values are needed, and results are operands like any other array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from random_draws import same

import broadloom as bl

DTYPES = ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64"]
NUMBERS = DTYPES[1:]
SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (0,), (5, 4), (1, 3), (0, 3), (3, 0), (4, 3, 5), (2, 0, 3)]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]

#: The bits of a float's mantissa.
MANTISSA = {"float16": 10, "float32": 23, "float64": 52}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: NumPy under the names that broadloom has.
NUMPY = SimpleNamespace(**{name: value for name, value in vars(np).items() if not name.startswith("_")})
NUMPY.sliding_window = np.lib.stride_tricks.sliding_window_view


def ours(x: Any) -> Any:
    return bl.asarray(x)


def numbers_of(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Finite floats of moderate size, and integers and bools of all values."""
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in MANTISSA:
        return (generator.standard_normal(shape) * 50).astype(dtype)
    size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    return np.frombuffer(generator.bytes(size), dtype).reshape(shape).copy()


def values_of(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """The same with special floats at every second element: NaNs with payloads, infinities, zeros and subnormals."""
    made = numbers_of(dtype, *shape, seed=seed)
    if dtype in MANTISSA:
        bits, width = MANTISSA[dtype], 8 * made.itemsize
        sign, infinity = 1 << (width - 1), ((1 << (width - 1 - bits)) - 1) << bits
        quiet, signalling = infinity | 5 << (bits - 3), infinity | 3
        words = [sign, quiet, infinity, sign | signalling, 1, sign | infinity, 0, infinity - 1, signalling]
        flat = made.reshape(-1)
        flat[::2] = np.resize(np.array(words, f"uint{width}").view(dtype), flat[::2].shape)
    return made


def settled(values: Any) -> np.ndarray:
    """The values with each NaN replaced by the one that computing gives: positive, quiet, and without a payload."""
    values = np.asarray(values)
    is_float = values.dtype.kind == "f"
    return np.asarray(np.where(np.isnan(values), values.dtype.type(np.nan), values) if is_float else values)


#: Operands made of an array in memory. Those of arrays without axes are the first and the last.
OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "memory": lambda x, xp: x,
    "negative steps": lambda x, xp: x[tuple(slice(None, None, step) for step in (-1, -2, 2)[: x.ndim])],
    "transposed": lambda x, xp: xp.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "broadcast": lambda x, xp: xp.broadcast_to(x[:1], x.shape),
    "an expression": lambda x, xp: x * 2 + 1,
}


def operands_of(x: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
    for name, make in OPERANDS.items():
        if x.ndim or name in ("memory", "an expression"):
            theirs = np.asarray(make(x, NUMPY))
            yield settled(theirs) if name == "an expression" else theirs, make(ours(x), bl)


def value(text: str, xp: Any, **names: Any) -> Any:
    return eval(text, {"xp": xp, **names})


def jitted(text: str) -> Any:
    """The jitted function of one or two arrays whose value a text is."""
    return bl.jit(lambda x, y=None: value(text, bl, x=x, y=y))


def expected_of(text: str, **names: Any) -> Any:
    """NumPy's value of a text, or None if it has none, because the shapes or dtypes do not suit it."""
    try:
        return np.asarray(value(text, NUMPY, **names))
    except (ValueError, IndexError, TypeError):
        return None


# Functions that move elements.

MOVES = (
    "xp.concat([x, x]) | xp.concat([x[:1], x, x[3:0:-1]], axis=0) | xp.concat((x, x[..., ::-2], x[..., :0]), axis=-1)"
    " | xp.concat([x[:, 1:], x], axis=1) | xp.concat([x, x[..., 1:], x[..., :1]], axis=None) | xp.concat([x])"
    " | xp.concat([x, x], axis=None) | xp.stack([x, x]) | xp.stack((x, x[..., ::-1], x), axis=-1)"
    " | xp.stack([x] * 5, axis=-2) | xp.stack([x], axis=1)"
    " | xp.roll(x, 0) | xp.roll(x, 3) | xp.roll(x, -1, axis=0) | xp.roll(x, (1, -6), axis=(0, -1))"
    " | xp.roll(x, 101, axis=(0, 1)) | xp.roll(x, (2, 3), axis=(0, 0)) | xp.roll(x, (-1, 0, 2), axis=(2, 1, 0))"
    " | xp.flip(x) | xp.flip(x, axis=-1) | xp.flip(x, axis=(0, 2)) | xp.diff(x, n=0)"
    " | xp.tile(x, ()) | xp.tile(x, (2,)) | xp.tile(x, (2, 3)) | xp.tile(x, (3, 1, 0)) | xp.tile(x, (1, 2, 1, 2))"
    " | xp.repeat(x, 3) | xp.repeat(x, 2, axis=-1) | xp.repeat(x, 0, axis=0) | xp.repeat(x, xp.asarray([2]), axis=-1)"
    " | xp.repeat(x, xp.asarray([k % 3 for k in range(x.shape[0])], dtype=xp.int64), axis=0)"
    " | xp.sliding_window(x, 2, axis=0) | xp.sliding_window(x, (1,) * x.ndim) | xp.sliding_window(x, x.shape)"
    " | xp.sliding_window(x, (3, 2), axis=(-1, 0)) | xp.sliding_window(x, (2, 2), axis=(0, 0))"
    " | xp.sliding_window(x, 2) | xp.sliding_window(x, 0, axis=0)"
).split(" | ")
DIFFERENCES = (
    "xp.diff(x) | xp.diff(x, axis=0) | xp.diff(x, axis=1, n=2) | xp.diff(x, axis=0, n=3) | xp.diff(x, n=9)"
    " | xp.diff(x, prepend=x[..., :1]) | xp.diff(x, axis=0, append=x[:2])"
    " | xp.diff(x, axis=0, n=2, prepend=x[::-1], append=x)"
).split(" | ")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [*MOVES, *DIFFERENCES])
def test_elements_are_moved_bit_for_bit_and_differences_are_computed(text: str, dtype: str) -> None:
    compared, function = 0, jitted(text)
    for shape in [*SHAPES, (33,), (6, 4), (4, 3, 5)]:
        for theirs, mine in operands_of(values_of(dtype, *shape)):
            expected = expected_of(text, x=theirs)
            if expected is None:
                continue
            compared += 1
            expected = settled(expected) if text in DIFFERENCES else expected
            made = value(text, bl, x=mine)
            assert isinstance(made, bl.Array) and made.shape == expected.shape
            same(made, expected)
            if dtype in ("uint16", "float64") and "xp.asarray" not in text:
                same(function(theirs), expected)
    assert compared >= 4


def test_numbers_of_repetitions_are_computed_if_they_are_an_expression() -> None:
    x, counts = values_of("float32", 5, 4), np.array([0, 3, 1, 0, 2], np.int32)
    same(bl.repeat(ours(x), ours(counts) * 2 + 1, axis=0), np.repeat(x, counts * 2 + 1, axis=0))
    same(bl.repeat(ours(x) * 2, ours(counts)[::-1], axis=-2) + 1, settled(np.repeat(x * 2, counts[::-1], axis=0) + 1))


@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("first", DTYPES)
def test_joined_arrays_have_a_common_dtype(first: str, second: str) -> None:
    common, arrays = np.result_type(first, second), [values_of(first, 3, 4), values_of(second, 3, 4, seed=1)]
    # A conversion computes its NaNs, and elements that have the dtype keep their bits.
    converted = [x if x.dtype == common else settled(x.astype(common)) for x in arrays]
    for text in ("xp.concat([x, y], axis=1)", "xp.concat([y, x[:1], x], axis=None)", "xp.stack([x, y, x], axis=-1)"):
        expected = value(text, NUMPY, x=converted[0], y=converted[1])
        same(value(text, bl, x=ours(arrays[0]), y=ours(arrays[1])), expected)
        same(jitted(text)(*arrays), expected)


# Padding.

WIDTHS: list[Any] = [0, 1, (2, 0), (7, 12), 40, [[3, 1]], ((0, 1), (2, 0)), ((0, 0), (2, 1)), ((1, 0), (0, 0), (6, 2))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_padded_arrays_are_numpys(mode: Any, dtype: str) -> None:
    compared = 0
    for shape in SHAPES:
        for theirs, mine in operands_of(values_of(dtype, *shape)):
            for width in WIDTHS:
                expected = expected_of("xp.pad(x, w, mode=mode)", x=theirs, w=width, mode=mode)
                if expected is None:
                    with pytest.raises(ValueError):
                        bl.pad(mine, width, mode=mode)
                    continue
                compared += 1
                made = bl.pad(mine, width, mode=mode)
                assert isinstance(made, bl.Array)
                same(made, expected)
    assert compared > 150


@pytest.mark.parametrize("mode", MODES)
def test_padding_through_numpys_protocol(mode: Any) -> None:
    for shape in [(1,), (7,), (5, 4)]:
        theirs, mine = values_of("float32", *shape), ours(values_of("float32", *shape))
        for width in (1, (2, 0), ((3, 4),)):
            made = np.pad(mine, width, mode=mode)
            assert isinstance(made, bl.Array)
            same(made, np.pad(theirs, width, mode=mode))
    same(np.pad(ours(np.ones(3, np.int8)), 2, constant_values=7), np.array([7, 7, 1, 1, 1, 7, 7], np.int8))
    for value in (0, 7):
        with pytest.raises(ValueError, match="unsupported keyword arguments for mode 'edge'"):
            np.pad(ours(np.ones(3)), 1, "edge", constant_values=value)


@pytest.mark.parametrize("mode", MODES)
def test_random_widths_of_random_shapes(mode: Any) -> None:
    generator = np.random.default_rng(3)
    for _ in range(100):
        shape = generator.integers(1, 6, generator.integers(1, 5)).tolist()
        x, widths = numbers_of("uint16", *shape), generator.integers(0, 12, (len(shape), 2)).tolist()
        expected = np.pad(x, widths, mode=mode)
        same(bl.pad(ours(x), widths, mode=mode), expected)
        same(bl.pad(ours(x) * 3, tuple(map(tuple, widths)), mode=mode) - 1, expected * 3 - 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_has_the_dtype_of_the_array(dtype: str) -> None:
    x = values_of(dtype, 3, 2)
    finite: list[Any] = [1, True, 2.75, -0.0, np.float64(0.1), np.int8(3)]
    for constant in finite if x.dtype.kind in "iu" else [*finite, np.nan, np.inf]:
        for width in (1, [[1, 2], [0, 1]]):
            expected = np.pad(x, width, constant_values=constant)
            same(bl.pad(ours(x), width, "constant", constant), expected)
            same(bl.pad(ours(x), width, constant_values=constant), expected)
    if x.dtype.kind in "iu":
        limits = np.iinfo(dtype)
        for limit in map(int, (limits.min, limits.max, limits.max - 1)):
            same(bl.pad(ours(x[:1, 0]), (1, 0), constant_values=limit), np.array([limit, x[0, 0]], dtype))


# Results as operands.

# The arrays x and y have the same shape and dtype.
EXPRESSIONS = [
    *(
        "xp.concat([x, y]) * 2 + 1 | xp.concat([x * 2, y + 1], axis=-1) - 1 | xp.concat([x, y], axis=None)[::-3] + 1"
        " | xp.concat([x, x * y, y])[1:-1] - xp.concat([y, x, x + y])[1:-1] | xp.stack([x, y, x])[1:] * y"
        " | xp.concat([xp.stack([x, y], axis=0), xp.stack([y, x], axis=0)], axis=-1) + x[:1, ..., :1]"
        " | xp.stack([x + y, x - y], axis=-1)[..., 1] * x | xp.roll(x * y, 5) - y"
        " | xp.roll(x, 1, axis=0) + xp.roll(x, -1, axis=0) - 2 * x"
        " | xp.where(x > y, xp.roll(x, 1, axis=-1), xp.flip(y, axis=-1)) * 3"
        " | xp.flip(xp.roll(x, (1, 2), axis=(0, -1)) + y, axis=0)[1:] * 2"
        " | xp.tile(x, (2,)) - xp.concat([y, y], axis=-1) | xp.repeat(x, 2, axis=0)[::-2] - x * y"
        " | xp.repeat(x + y, xp.asarray([2]), axis=-1) * xp.repeat(y, 2, axis=-1)"
        " | xp.diff(x * y, axis=0, prepend=y[:1]) + x | xp.diff(xp.pad(x, 2, mode='wrap'), n=2) * 3"
        " | xp.sliding_window(x, 2, axis=0)[..., 0] * xp.sliding_window(y + 1, 2, axis=0)[..., 1]"
        " | xp.sliding_window(xp.pad(x, 1, mode='edge'), 3, axis=0) * 2 + 1"
    ).split(" | "),
    *(
        form.replace("MODE", f"mode='{mode}'")
        for mode in MODES
        for form in (
            "xp.pad(x, 1, MODE)[2:] - xp.pad(x * 2 + y, 1, MODE)[:-2]",
            "(xp.pad(x, ((2, 2),), MODE)[..., 4:] + xp.pad(x, (2, 2), MODE)[..., :-4])[2:-2] * 3",
            "xp.pad(xp.pad(x + y, 1, MODE)[1:] * 2, (0, 3), MODE) + 1",
        )
    ),
]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str, dtype: str) -> None:
    compared, function = 0, jitted(text)
    for shape in [(1,), (2,), (9,), (1000,), (5, 4), (6, 4), (17, 33), (4, 3, 5)]:
        for make in (numbers_of, values_of):
            x, y = make(dtype, *shape), make(dtype, *shape, seed=1)
            expected = expected_of(text, x=x, y=y)
            if expected is not None:
                compared += 1
                same(value(text, bl, x=ours(x), y=ours(y)), settled(expected))
                if "xp.asarray" not in text:
                    same(function(x, y), settled(expected))
    assert compared >= 6


JOINED = [
    *(
        "xp.concat([x, x[:3], x]) | xp.concat([x[..., 1:], x[..., ::-1]], axis=-1) | xp.concat([x, x[:2]], axis=None)"
        " | xp.stack([x, x[..., ::-1], x]) | xp.stack([x, x], axis=-1) | xp.roll(x, 3)"
        " | xp.roll(x, (-1, 2), axis=(0, -1)) | xp.flip(x) | xp.tile(x, (3,)) | xp.repeat(x, 2, axis=0)"
        " | xp.sliding_window(x, 3, axis=0)"
    ).split(" | "),
    *(f"xp.pad(x, {width}, mode='{mode}')" for mode in MODES for width in ("2", "(0, 35)")),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", JOINED)
def test_reductions_are_those_of_an_array_in_memory(text: str, dtype: str) -> None:
    names = ("any", "count_nonzero") if dtype == "bool" else ("sum", "max", "cumulative_sum")
    for shape in [(1000,), (33, 41), (3, 5, 70)]:
        x = numbers_of(dtype, *shape)
        reference = bl.asarray(np.ascontiguousarray(value(text, NUMPY, x=x)))
        for name in names:
            reduce = getattr(bl, name)
            for axis in [*range(reference.ndim), *([None] if name != "cumulative_sum" else [])]:
                expected = np.asarray(reduce(reference, axis=axis))
                if np.dtype(dtype).kind in "iu":
                    same(expected, getattr(np, name)(np.asarray(reference), axis=axis))
                same(reduce(value(text, bl, x=ours(x)), axis=axis), expected)
                if axis == 0:
                    same(jitted(f"xp.{name}({text}, axis=0)")(x), expected)
        same(bl.sum(value(text, bl, x=ours(x)) * 2 + 1), bl.sum(reference * 2 + 1))


# Stencils.

WEIGHTS = [0.1, -0.7, 1.3, 0.9, -3.1, 0.3, 1.7, -0.2, 0.6]
ENDS = (-2, -1, None)

#: The indices of the elements that stand before the first element and behind the last.
BEFORE_AND_BEHIND = {"edge": (0, -1), "reflect": (1, -2), "symmetric": (0, -1), "wrap": (-1, 0)}


def nine_point(padded: Any) -> Any:
    """The sum of the weighted shifts of a padded array, which are added row by row."""
    total = padded[:-2, :-2] * WEIGHTS[0]
    for k in range(1, 9):
        i, j = divmod(k, 3)
        total = total + padded[i : ENDS[i], j : ENDS[j]] * WEIGHTS[k]
    return total


def nine_point_of(x: np.ndarray, mode: Any) -> np.ndarray:
    """The same computed from the elements' indices, without a mode of `numpy.pad`."""
    around = np.pad(x, 1)
    if mode != "constant":
        before, behind = BEFORE_AND_BEHIND[mode]
        rows, columns = ([before, *range(n), behind] for n in x.shape)
        around[...] = x[rows][:, columns]
    return settled(nine_point(around))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_a_stencil_of_nine_points(mode: Any, threads: int) -> None:
    @bl.jit
    def stencil(x: Any) -> Any:
        return nine_point(bl.pad(x, 1, mode=mode))

    with bl.set_options(threads=threads):
        for shape in [(2, 2), (3, 5), (16, 17), (701, 1103)]:
            for make in (numbers_of, values_of):
                x = make("float32", *shape)
                expected = nine_point_of(x, mode)
                same(nine_point(bl.pad(ours(x), 1, mode=mode)), expected)
                same(nine_point(bl.pad(ours(x.T.copy()).T, 1, mode=mode)), expected)
                same(nine_point(bl.pad(ours(x) * 2 + 1, 1, mode=mode)), nine_point_of(x * 2 + 1, mode))
                same(stencil(x), expected)


@pytest.mark.parametrize("mode", MODES)
def test_steps_of_a_stencil_without_an_evaluation_between_them(mode: Any) -> None:
    def steps(x: Any) -> Any:
        for _ in range(4):
            x = nine_point(bl.pad(x, 1, mode=mode))
        return x

    x = numbers_of("float32", 40, 37)
    expected = x
    for _ in range(4):
        expected = nine_point_of(expected, mode)
    same(steps(ours(x)), expected)
    same(bl.jit(steps)(x), expected)


LARGE = [
    *"xp.concat([x, x * 2 + 1, x[::-1]]) | xp.stack([x, x[::-1]], axis=1) | xp.roll(x, 99) | xp.diff(x)".split(" | "),
    *(f"xp.pad(x, (1_000_000, 7), mode='{mode}')" for mode in MODES),
]


@pytest.mark.parametrize("dtype", ["uint16", "float32", "float64"])
@pytest.mark.parametrize("text", LARGE)
def test_results_do_not_depend_on_the_number_of_threads(text: str, dtype: str) -> None:
    x = numbers_of(dtype, 400_003)
    theirs = np.asarray(value(text, NUMPY, x=x))
    of_memory = {name: np.asarray(getattr(bl, name)(ours(theirs), axis=0)) for name in ("sum", "max", "cumulative_sum")}
    for threads in (1, 3):
        with bl.set_options(threads=threads):
            same(value(text, bl, x=ours(x)), theirs)
            for name, expected in of_memory.items():
                same(getattr(bl, name)(value(text, bl, x=ours(x)), axis=0), expected)


# Laziness.


def test_nothing_is_evaluated_before_values_are_needed() -> None:
    memory = np.arange(6.0).reshape(2, 3)
    x, y = ours(memory) * 2, ours(memory[::-1]) + 1
    texts = [text for text in EXPRESSIONS if "asarray" not in text]
    made = [value(text, bl, x=x, y=y) for text in texts]
    assert not any(array._handle.is_evaluated for array in (x, y, *made))
    # An evaluation reads what the memory contains then.
    memory[...] = memory[::-1] * 0.1 - 1
    for array, text in zip(made, texts, strict=True):
        same(array, value(text, NUMPY, x=memory * 2, y=memory[::-1] + 1))


def test_setting_elements_changes_no_array_made_before() -> None:
    texts = ["xp.concat([x, x])", "xp.stack([x, x])", "xp.pad(x, 2, mode='wrap')", "xp.sliding_window(x, 2)"]
    x, before, after = bl.asarray(np.arange(5), copy=True), np.arange(5), np.array([77, 1, 2, 3, 4])
    made = [value(text, bl, x=x) for text in texts]
    x[0] = 77
    for array, text in zip(made, texts, strict=True):
        same(array, value(text, NUMPY, x=before))
        same(value(text, bl, x=x), value(text, NUMPY, x=after))


def test_windows_are_not_copied() -> None:
    # The windows have 4e10 elements here, and 48 MB below.
    memory = np.arange(400_000.0)
    for mine, theirs in ((ours(memory), memory), (ours(memory) * 2 + 1, memory * 2 + 1)):
        windows, expected = bl.sliding_window(mine, 200_000), NUMPY.sliding_window(theirs, 200_000)
        assert windows.shape == expected.shape
        same(windows[::50_000, ::40_000] * 3, expected[::50_000, ::40_000] * 3)
    short = memory[:20_000] / 7
    sums = bl.evaluate(bl.sum(bl.sliding_window(ours(short), 300), axis=-1), max_bytes=2_000_000)
    same(sums, bl.sum(ours(np.ascontiguousarray(NUMPY.sliding_window(short, 300))), axis=-1))


# Interpolation.


def near(got: Any, expected: Any) -> None:
    """Asserts that float64 results are within 4 units in the last place, or are both NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (np.float64, expected.shape)
    close = abs(got - expected) <= 4 * np.spacing(abs(expected))
    assert np.all(close | (got == expected) | (np.isnan(got) & np.isnan(expected)))


@pytest.mark.parametrize("ends", [{}, {"left": -7.5}, {"right": np.nan}, {"left": np.inf, "right": 3}], ids=repr)
@pytest.mark.parametrize("nodes", [1, 2, 7, 1000])
def test_interpolation(nodes: int, ends: dict[str, Any]) -> None:
    generator = np.random.default_rng(2)
    xp, fp = np.cumsum(generator.random(nodes) + 1e-3) - nodes / 4, generator.standard_normal(nodes)

    @bl.jit
    def function(x: Any, xp: Any, fp: Any) -> Any:
        return bl.interp(x, xp, fp, **ends)

    same(bl.interp(ours(xp), ours(xp), ours(fp), **ends), fp)
    same(function(xp, xp, fp), fp)
    for shape in [*SHAPES, (1001,)]:
        inside = generator.random(shape) * (xp[-1] - xp[0] + 2) + xp[0] - 1
        special = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0, xp[0], xp[-1], np.nextafter(xp[-1], np.inf)], shape)
        for x in (inside, special):
            for theirs, mine in operands_of(x):
                near(bl.interp(mine, ours(xp), ours(fp), **ends), np.interp(theirs, xp, fp, **ends))
            near(function(x, xp, fp), np.interp(x, xp, fp, **ends))
            # Nodes that are views and expressions, and a result that is an operand.
            near(bl.interp(ours(x), ours(xp[::-1].copy())[::-1], ours(fp) * 2), np.interp(x, xp, fp * 2))
            near(bl.interp(ours(x), ours(xp) + 1, ours(fp), **ends) * 2, np.interp(x, xp + 1, fp, **ends) * 2)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_interpolation_is_in_float64(dtype: str) -> None:
    x, xp, fp = (np.array(values, dtype) for values in ([0, 1, 2, 3, 60, 100], [1, 3, 64], [5, 100, 7]))
    for arrays in ((x, xp, fp), (x, xp * 1.0, fp * 1.0), (x / 4, xp, fp)):
        near(bl.interp(*map(ours, arrays)), np.interp(*arrays))


def test_interpolation_between_values_that_are_not_finite() -> None:
    xp, x = np.arange(8.0), np.arange(-1, 9, 0.25)
    fp = np.array([0.0, np.inf, np.inf, 1.0, np.nan, 2.0, -np.inf, 3.0])
    near(bl.interp(ours(x), ours(xp), ours(fp)), np.interp(x, xp, fp))
    near(bl.interp(ours(xp), ours(xp), ours(fp)), fp)


def test_interpolation_does_not_depend_on_the_number_of_threads() -> None:
    x, xp, fp = numbers_of("float64", 400_003), np.arange(-200.0, 200.0), numbers_of("float64", 400, seed=1)
    found = []
    for threads in (1, 3):
        with bl.set_options(threads=threads):
            found.append(np.asarray(bl.interp(ours(x), ours(xp), ours(fp))))
    near(found[0], np.interp(x, xp, fp))
    same(found[1], found[0])


# Errors.

WRONG = {
    ValueError: "bl.concat([]) | bl.concat([x, x[:, 1:]]) | bl.concat([x, x[0]]) | bl.concat([x[0, 0], x[0, 0]])"
    " | bl.stack([]) | bl.stack([x, x[:1]]) | bl.roll(x, 1, axis=2) | bl.roll(x, (1, 2), axis=(0, 1, 0))"
    " | bl.flip(x, axis=-3) | bl.tile(x, (2, -1)) | bl.repeat(x, -1) | bl.repeat(x, bl.asarray([1, 2, 3]), axis=0)"
    " | bl.diff(x, axis=2) | bl.diff(x[0, 0]) | bl.diff(x, n=-1) | bl.diff(x, prepend=x[:1])"
    " | bl.pad(x, -1) | bl.pad(x, ((0, 1), (2, -1)), mode='edge') | bl.pad(x, 1, mode='nearest')"
    " | bl.pad(x, ((1, 1), (1, 1), (1, 1))) | bl.pad(x, (1, 2, 3)) | bl.pad(x[:0], 1, mode='wrap')"
    " | bl.sliding_window(x, 3, axis=0) | bl.sliding_window(x, -1, axis=0) | bl.sliding_window(x, 2)"
    " | bl.sliding_window(x, (2, 2), axis=0) | bl.interp(x, bl.asarray([1.0, 2.0]), bl.asarray([1.0]))"
    " | bl.interp(x, x[0, :0], x[0, :0]) | bl.interp(x, x, x)",
    # An axis out of range is an error of either class.
    (IndexError, ValueError): "bl.concat([x, x], axis=2) | bl.concat([x, x], axis=-3) | bl.stack([x, x], axis=3)"
    " | bl.stack([x, x], axis=-4) | bl.repeat(x, 2, axis=2) | bl.sliding_window(x, 1, axis=2)",
    TypeError: "bl.pad(x, 1.5)",
}


@pytest.mark.parametrize("kind, text", [(kind, text) for kind, texts in WRONG.items() for text in texts.split(" | ")])
def test_errors(kind: Any, text: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(kind):
        eval(text, {"bl": bl, "x": ours(x)})
    with pytest.raises((kind, bl.TracerError) if "repeat(x, bl.asarray" in text else kind):
        bl.jit(lambda x: eval(text, {"bl": bl, "x": x}))(x)
