"""Compares arrays with nulls with the results of `pyarrow.compute` on the same arrays."""

from __future__ import annotations

import math
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom.arrow import NullableArray

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float32(), pa.float64()]
MASKS = {"some": 0.3, "most": 0.9, "none": 0.0, "all": 1.0}


def made(kind: pa.DataType, nulls: float, seed: int, length: int = 301, low: int = 1, high: int = 9) -> pa.Array:
    """A slice of random numbers with random nulls. In memory, the elements that are null have other values."""
    rng = np.random.default_rng([seed, int(nulls * 10)])
    before = int(rng.integers(0, 19))
    if pa.types.is_boolean(kind):
        values = rng.random(before + length) < 0.5
    else:
        values = rng.integers(low, high, before + length).astype(kind.to_pandas_dtype())
    whole = pa.array(values, mask=rng.random(before + length) < nulls, type=kind)
    return whole[before:]


def nullable(array: Any) -> NullableArray:
    found = bl.from_arrow(array, nullable=True)
    assert isinstance(found, NullableArray)
    return found


def same(ours: Any, theirs: Any) -> None:
    """Whether both arrays have the same bits and the same nulls. All NaNs count as equal."""
    if isinstance(theirs, (pa.Scalar, pa.ChunkedArray)):
        theirs = pa.array([theirs.as_py()], theirs.type) if isinstance(theirs, pa.Scalar) else theirs.combine_chunks()
        ours = [ours.tolist()] if ours.ndim == 0 else ours.tolist()
    else:
        ours = ours.tolist()
    expected = theirs.to_pylist()
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected):
        if isinstance(one, float) and isinstance(other, float) and math.isnan(other):
            assert math.isnan(one)
        else:
            assert one == other and type(one) is type(other), (one, other)
            assert not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other)


# Functions of elements.

BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add": (lambda x, y: x + y, pc.add),
    "subtract": (lambda x, y: x - y, pc.subtract),
    "multiply": (lambda x, y: x * y, pc.multiply),
    "equal": (lambda x, y: x == y, pc.equal),
    "not_equal": (lambda x, y: x != y, pc.not_equal),
    "less": (lambda x, y: x < y, pc.less),
    "less_equal": (lambda x, y: x <= y, pc.less_equal),
    "greater": (lambda x, y: x > y, pc.greater),
    "greater_equal": (lambda x, y: x >= y, pc.greater_equal),
    "maximum": (bl.maximum, lambda x, y: pc.max_element_wise(x, y, skip_nulls=False)),
    "minimum": (bl.minimum, lambda x, y: pc.min_element_wise(x, y, skip_nulls=False)),
}


@pytest.mark.parametrize("kind", INTEGERS + FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_a_null_in_gives_a_null_out(name: str, kind: pa.DataType) -> None:
    ours, theirs = BINARY[name]
    for nulls in MASKS.values():
        x, y = made(kind, nulls, 1), made(kind, 0.3, 2)
        same(ours(nullable(x), nullable(y)), theirs(x, y))
        same(ours(nullable(x), 3), theirs(x, pa.scalar(3, kind)))
        same(ours(nullable(x), bl.asarray(y.fill_null(2))), theirs(x, y.fill_null(2)))
        same(ours(bl.asarray(y.fill_null(2)), nullable(x)), theirs(y.fill_null(2), x))
        same(ours(np.asarray(y.fill_null(2)), nullable(x)), theirs(y.fill_null(2), x))


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "negative": (lambda x: -x, pc.negate),
    "abs": (lambda x: abs(x), pc.abs),
    "sqrt": (bl.sqrt, pc.sqrt),
    "floor": (bl.floor, pc.floor),
    "round": (bl.round, lambda x: pc.round(x, round_mode="half_to_even")),
    "isnan": (bl.isnan, pc.is_nan),
    "isfinite": (bl.isfinite, pc.is_finite),
    "sign": (bl.sign, pc.sign),
    "reciprocal": (bl.reciprocal, lambda x: pc.divide(pa.scalar(1.0, x.type), x)),
    "square": (bl.square, lambda x: pc.multiply(x, x)),
}


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name: str, kind: pa.DataType) -> None:
    ours, theirs = UNARY[name]
    for nulls in MASKS.values():
        x = pc.divide(made(kind, nulls, 3, low=-9), pa.scalar(2, kind))
        same(ours(nullable(x)), theirs(x))


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "cbrt", "erf"])
def test_functions_that_are_not_rounded_exactly_give_what_they_give_without_nulls(name: str) -> None:
    x = made(pa.float64(), 0.3, 4)
    found = getattr(bl, name)(nullable(x))
    plain = np.asarray(getattr(bl, name)(bl.asarray(x.fill_null(1))))
    assert found.tolist() == [None if null else value for value, null in zip(plain.tolist(), x.is_null().to_pylist())]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_a_null_divisor_is_no_division_by_zero(kind: pa.DataType) -> None:
    x = pa.array([7, 8, None, 10], kind)
    zeros_below = pa.Array.from_buffers(
        kind, 4, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([2, 0, 3, 0], kind.to_pandas_dtype()))]
    )
    assert zeros_below.to_pylist() == [2, None, 3, None]
    quotient = nullable(x) // nullable(zeros_below)
    bl.evaluate(quotient.values, quotient.validity, int_division="error")
    same(quotient, pc.divide(x, zeros_below))
    rest = nullable(x) % nullable(zeros_below)
    bl.evaluate(rest.values, int_division="error")
    assert rest.tolist() == [1, None, None, None]
    with pytest.raises(ZeroDivisionError):
        bl.evaluate((nullable(x) // bl.zeros(4, dtype=quotient.dtype)).values, int_division="error")


def test_ands_and_ors_follow_kleenes_logic() -> None:
    three = [True, False, None]
    x, y = (pa.array([pair[i] for pair in ((a, b) for a in three for b in three)], pa.bool_()) for i in (0, 1))
    for ours, theirs in (
        (lambda a, b: a & b, pc.and_kleene),
        (lambda a, b: a | b, pc.or_kleene),
        (lambda a, b: a ^ b, pc.xor),
        (bl.logical_and, pc.and_kleene),
        (bl.logical_or, pc.or_kleene),
        (bl.logical_xor, pc.xor),
    ):
        same(ours(nullable(x), nullable(y)), theirs(x, y))
        for fixed in (True, False):
            same(ours(nullable(x), fixed), theirs(x, pa.scalar(fixed)))
            same(ours(bl.asarray(np.full(9, fixed)), nullable(y)), theirs(pa.array([fixed] * 9), y))
        same(ours(nullable(x), nullable(x)), theirs(x, x))
    same(~nullable(x), pc.invert(x))
    # Values in memory at null elements have no effect.
    below = pa.Array.from_buffers(pa.bool_(), 4, [pa.py_buffer(b"\x00"), pa.py_buffer(b"\x05")])
    fixed = pa.array([True, False, False, True])
    same(nullable(below) & nullable(fixed), pc.and_kleene(below, fixed))
    same(nullable(below) | nullable(fixed), pc.or_kleene(below, fixed))


def test_bits_of_integers_are_null_in_null_out() -> None:
    x, y = made(pa.uint8(), 0.3, 5, high=255), made(pa.uint8(), 0.3, 6, high=255)
    same(nullable(x) & nullable(y), pc.bit_wise_and(x, y))
    same(nullable(x) | nullable(y), pc.bit_wise_or(x, y))
    same(nullable(x) ^ nullable(y), pc.bit_wise_xor(x, y))
    same(~nullable(x), pc.bit_wise_not(x))


@pytest.mark.parametrize("kind", [pa.int32(), pa.float64(), pa.bool_()], ids=str)
def test_where_takes_the_nulls_of_what_it_chooses(kind: pa.DataType) -> None:
    for seed, (of_condition, of_x, of_y) in enumerate(
        [(0.3, 0.3, 0.3), (0, 0.5, 0), (0.5, 0, 0), (0, 0, 0.5), (1, 1, 1)]
    ):
        condition = made(pa.bool_(), of_condition, seed)
        x, y = made(kind, of_x, seed + 10), made(kind, of_y, seed + 20)
        same(bl.where(nullable(condition), nullable(x), nullable(y)), pc.if_else(condition, x, y))
        same(bl.where(nullable(condition), nullable(x), nullable(x)), pc.if_else(condition, x, x))
        null = pa.scalar(None, kind)
        same(bl.arrow.if_else(nullable(condition), nullable(x), None), pc.if_else(condition, x, null))
        same(bl.arrow.if_else(nullable(condition), None, nullable(x)), pc.if_else(condition, null, x))
    with pytest.raises(TypeError, match="both are None"):
        bl.arrow.if_else(nullable(condition), None, None)


def test_the_operators_take_broadcast_masks() -> None:
    x = NullableArray(np.arange(6.0).reshape(2, 3), [[True, False, True], [True, True, False]])
    row = NullableArray([1.0, 2.0, 3.0], [False, True, True])
    assert (x + row).tolist() == [[None, None, 5.0], [None, 6.0, None]]
    assert (x - x.mean()).tolist() == [[-2.25, None, -0.25], [0.75, 1.75, None]]
    assert (x / x.sum(axis=1, keepdims=True)).tolist() == [[0.0, None, 1.0], [3 / 7, 4 / 7, None]]
    assert x.sum(axis=0).tolist() == [3.0, 4.0, 2.0]
    assert NullableArray(x, [True, False, True]).tolist() == [[0.0, None, 2.0], [3.0, None, None]]


def test_none_is_no_operand() -> None:
    x = NullableArray([1.0, 2.0])
    for ours in (lambda: x == None, lambda: x + None, lambda: bl.maximum(x, None)):  # type: ignore[arg-type]  # noqa: E711
        with pytest.raises(TypeError, match="is_null"):
            ours()
    with pytest.raises(TypeError):
        x + "text"
    assert (x == "text") is False


# Random chains of operations.


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions(seed: int) -> None:
    """Tests random expressions over integers that do not overflow, with comparisons, choices and Kleene's
    three-valued logic."""
    rng = random.Random(seed)
    numbers = [(nullable(x), x) for x in (made(pa.int64(), 0.3, seed * 9 + i, low=-5, length=97) for i in range(3))]
    bools = [(nullable(x), x) for x in (made(pa.bool_(), 0.3, seed * 9 + i, length=97) for i in range(2))]
    for _ in range(12):
        (a, of_a), (b, of_b) = rng.choice(numbers[-4:]), rng.choice(numbers[-4:])
        (p, of_p), (q, of_q) = rng.choice(bools[-4:]), rng.choice(bools[-4:])
        match rng.randrange(7):
            case 0:
                numbers.append((a + b, pc.add(of_a, of_b)))
            case 1:
                numbers.append((a - b, pc.subtract(of_a, of_b)))
            case 2:
                numbers.append((bl.where(p, a, b), pc.if_else(of_p, of_a, of_b)))
            case 3:
                bools.append((a < b, pc.less(of_a, of_b)))
            case 4:
                bools.append((p & q, pc.and_kleene(of_p, of_q)))
            case 5:
                bools.append((p | ~q, pc.or_kleene(of_p, pc.invert(of_q))))
            case 6:
                numbers.append((bl.arrow.if_else(q, a, None), pc.if_else(of_q, of_a, pa.scalar(None, pa.int64()))))
    for ours, theirs in (*numbers[-4:], *bools[-4:]):
        same(ours, theirs)
        assert pa.array(ours).equals(theirs)
        if ours.dtype.kind == "i":
            same(ours.sum(), pc.sum(theirs))
            same(ours.max(), pc.max(theirs))
        else:
            same(ours.any(skip_nulls=False), pc.any(theirs, skip_nulls=False))


# Reductions.

#: Pairs of broadloom's and pyarrow's reductions, for numbers whose sums and products are exact.
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (lambda x, **o: x.sum(**o), pc.sum),
    "prod": (lambda x, **o: x.prod(**o), pc.product),
    "mean": (lambda x, **o: x.mean(**o), pc.mean),
    "min": (lambda x, **o: x.min(**o), pc.min),
    "max": (lambda x, **o: x.max(**o), pc.max),
}
LIMITS: list[dict[str, Any]] = [
    {},
    {"skip_nulls": False},
    {"min_count": 0},
    {"min_count": 2},
    {"min_count": 7},
    {"min_count": 1000},
    {"skip_nulls": False, "min_count": 0},
    {"skip_nulls": False, "min_count": 7},
]


@pytest.mark.parametrize("kind", INTEGERS + FLOATS, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_skip_nulls(name: str, kind: pa.DataType) -> None:
    ours, theirs = REDUCTIONS[name]
    # Products of at most this many numbers up to 8 are exact in float32.
    for length in (0, 1, 7):
        for nulls in MASKS.values():
            x = made(kind, nulls, 7, length=length)
            for limits in LIMITS:
                expected = theirs(x, **limits)
                found = ours(nullable(x), **limits)
                assert found.shape == ()
                # pyarrow adds float32 as float64.
                wide = (
                    expected.as_py()
                    if kind != pa.float32() or expected.as_py() is None
                    else float(np.float32(expected.as_py()))
                )
                same(found, pa.scalar(wide, expected.type))


@pytest.mark.parametrize("kind", [pa.int16(), pa.uint64(), pa.float64()], ids=str)
def test_reductions_of_long_arrays(kind: pa.DataType) -> None:
    x = made(kind, 0.4, 8, length=100_003)
    for name in ("sum", "mean", "min", "max"):
        ours, theirs = REDUCTIONS[name]
        same(ours(nullable(x)), theirs(x))
    same(bl.sum(nullable(x)), pc.sum(x))
    same(bl.mean(nullable(x)), pc.mean(x))
    assert bl.sum(nullable(x), dtype=bl.float64 if kind == pa.float64() else bl.int32).item() == pc.sum(x).as_py()


def exact_variance(x: pa.Array, ddof: int) -> float | None:
    from fractions import Fraction

    given = [Fraction(value) for value in x.to_pylist() if value is not None]
    if len(given) <= ddof:
        return None
    mean = sum(given) / len(given)
    return float(sum((value - mean) ** 2 for value in given) / (len(given) - ddof))


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.float32(), pa.float64()], ids=str)
def test_variances(kind: pa.DataType) -> None:
    few = 2**-22 if kind == pa.float32() else 2**-50
    for length in (0, 1, 2, 9, 301):
        for nulls in MASKS.values():
            x = made(kind, nulls, 9, length=length)
            for ddof in (0, 1):
                expected = exact_variance(x, ddof)
                for limits in LIMITS:
                    found, root = nullable(x).var(ddof=ddof, **limits), nullable(x).std(ddof=ddof, **limits)
                    theirs = pc.variance(x, ddof=ddof, **limits).as_py()
                    assert (found.item() is None) == (root.item() is None) == (theirs is None)
                    if theirs is not None:
                        assert expected is not None
                        assert float(found) == pytest.approx(expected, rel=few, abs=0)
                        assert float(root) == pytest.approx(math.sqrt(expected), rel=few, abs=0)
            if length > 2 and nulls == 0.3:
                assert float(bl.var(nullable(x), correction=1)) == pytest.approx(exact_variance(x, 1), rel=few)


def test_any_and_all() -> None:
    for nulls in MASKS.values():
        for seed in range(5):
            x = made(pa.bool_(), nulls, seed, length=4)
            for limits in LIMITS:
                same(nullable(x).any(**limits), pc.any(x, **limits))
                same(nullable(x).all(**limits), pc.all(x, **limits))
    empty = pa.array([], pa.bool_())
    for limits in LIMITS:
        same(nullable(empty).any(**limits), pc.any(empty, **limits))
        same(nullable(empty).all(**limits), pc.all(empty, **limits))
    assert bool(bl.any(NullableArray([0.0, 2.0], [True, True]))) and not bl.all(
        NullableArray([0.0, 2.0], [True, False])
    )


@pytest.mark.parametrize("nulls", MASKS.values(), ids=MASKS)
def test_counts(nulls: float) -> None:
    x = made(pa.int8(), nulls, 10)
    for mode in ("only_valid", "only_null", "all"):
        assert int(nullable(x).count(mode)) == pc.count(x, mode).as_py()
    assert nullable(x).null_count == x.null_count
    with pytest.raises(ValueError, match="only_valid"):
        nullable(x).count("none")


def test_a_sum_keeps_the_sign_of_zero_and_drops_no_value() -> None:
    for values, mask, count, expected in [
        ([-0.0, 5.0], [True, False], 1, -0.0),
        ([1.0, 2.0], [False, False], 0, 0.0),
        ([np.nan, np.inf], [False, True], 1, np.inf),
    ]:
        found = NullableArray(values, mask).sum(min_count=count).item()
        assert isinstance(found, float) and math.copysign(1, found) == math.copysign(1, expected) and found == expected


def test_the_mean_of_halfs_is_not_limited_by_their_range() -> None:
    values = np.full(70_000, 2.0, np.float16)
    x = NullableArray(values, np.arange(70_000) % 70 != 0)
    assert x.mean().item() == 2.0 and x.mean().dtype == np.float16
    assert x.var().item() == 0.0 and x.std().dtype == np.float16


def test_nan_is_a_value() -> None:
    x = pa.array([1.0, float("nan"), None])
    # pyarrow's minimum and maximum skip NaN; broadloom's follow the Array API.
    assert math.isnan(nullable(x).max()) and math.isnan(nullable(x).sum())
    same(nullable(x).is_null(), x.is_null())
    same(nullable(x).is_null(nan_is_null=True), x.is_null(nan_is_null=True))
    same(bl.arrow.is_valid(nullable(x)), x.is_valid())


def test_what_skips_no_nulls_is_refused() -> None:
    x = NullableArray([1.0, 2.0], [True, False])
    for function in (
        bl.argmax,
        bl.nansum,
        bl.cumulative_sum,
        bl.sort,
        bl.flip,
        bl.linalg.vector_norm,
        bl.median,
        np.sort,
    ):
        with pytest.raises(TypeError):
            function(x)
    # Conversions to arrays without nulls raise an error instead of losing the nulls.
    for function in (bl.asarray, np.asarray, bl.jit(lambda y: y + 1)):
        with pytest.raises(ValueError, match="1 elements are null"):
            function(x)
    with pytest.raises(ValueError, match="1 elements are null"):
        bl.asarray([1.0, 2.0])[:] = x
    with pytest.raises(TypeError, match="fill_null and drop_null"):
        bl.cumulative_sum(x)
    with pytest.raises(TypeError, match="fill_null and drop_null"):
        bl.argmax(x)


# Nulls, elements, conversions.


@pytest.mark.parametrize("kind", [pa.int16(), pa.float64(), pa.bool_()], ids=str)
@pytest.mark.parametrize("nulls", MASKS.values(), ids=MASKS)
def test_elements(kind: pa.DataType, nulls: float) -> None:
    x, other = made(kind, nulls, 11), made(kind, 0.5, 12)
    ours = nullable(x)
    value = True if kind == pa.bool_() else 7
    same(ours.fill_null(value), x.fill_null(value))
    assert isinstance(ours.fill_null(value), bl.Array) and isinstance(ours.fill_null(nullable(other)), NullableArray)
    same(ours.fill_null(nullable(other)), pc.coalesce(x, other))
    same(ours.drop_null(), x.drop_null())
    same(ours.is_null(), x.is_null())
    same(ours[5:200:3], x[5:200:3])
    same(ours[::-1], x[::-1])
    mask = made(pa.bool_(), 0.3, 13)
    same(ours.filter(nullable(mask)), x.filter(mask))
    same(ours[nullable(mask)], x.filter(mask))
    same(ours.filter(nullable(mask), "emit_null"), x.filter(mask, null_selection_behavior="emit_null"))
    same(ours[mask.fill_null(False).to_numpy(zero_copy_only=False)], x.filter(mask.fill_null(False)))
    indices = pa.array([3, 0, None, 300, 3])
    same(ours.take(nullable(indices)), x.take(indices))
    same(ours[nullable(indices)], x.take(indices))
    same(ours[np.array([3, 0, 300])], x.take(pa.array([3, 0, 300])))
    assert [one.item() for one in ours] == x.to_pylist() == ours.to_pylist()
    assert ours[3].item() == x[3].as_py() and len(ours) == len(x)
    with pytest.raises(IndexError):
        ours.take([301]).to_pylist()
    with pytest.raises(TypeError):
        ours.filter([1, 0])


@pytest.mark.parametrize("to", INTEGERS + FLOATS, ids=str)
def test_casts(to: pa.DataType) -> None:
    x = made(pa.int16(), 0.3, 14)
    same(nullable(x).astype(to.to_pandas_dtype()), x.cast(to))
    same(bl.astype(nullable(x), to.to_pandas_dtype()), x.cast(to))


def test_to_numpy_is_pyarrows() -> None:
    for kind in (pa.int64(), pa.float32(), pa.bool_()):
        for nulls in MASKS.values():
            x = made(kind, nulls, 15)
            expected, found = x.to_numpy(zero_copy_only=False), nullable(x).to_numpy()
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            if not x.null_count:
                np.testing.assert_array_equal(np.asarray(nullable(x)), expected)
    x = NullableArray([1, 2, 3], [True, False, True])
    assert x.to_numpy(0).tolist() == [1, 0, 3] and x.to_numpy(0).dtype == np.int64
    assert x.values.tolist() == [1, 2, 3]


def test_numbers_of_python() -> None:
    x = NullableArray([1.5], [True])
    assert (float(x), int(x), bool(x), x.item()) == (1.5, 1, True, 1.5)
    null = NullableArray([1.5], [False])
    assert null.item() is None
    for kind in (float, int, bool):
        with pytest.raises(TypeError, match="null"):
            kind(null)
    with pytest.raises(ValueError, match="one element"):
        float(NullableArray([1.0, 2.0]))
    with pytest.raises(TypeError):
        hash(x)


def test_arrays_of_pyarrow_as_arguments() -> None:
    x = pa.array([1, None, 3])
    assert NullableArray(x).tolist() == [1, None, 3]
    assert NullableArray([5, 6, 7]).filter(pa.array([True, None, True])).tolist() == [5, 7]
    assert NullableArray([5, 6, 7]).take(x[:2]).tolist() == [6, None]
    assert bl.arrow.is_null(x).tolist() == [False, True, False]
    assert bl.arrow.fill_null(x, 0).tolist() == [1, 0, 3] and bl.arrow.drop_null(x).tolist() == [1, 3]
    assert NullableArray(pa.array([1, 2]), pa.array([True, False])).tolist() == [1, None]


def test_numpys_promotion() -> None:
    x = NullableArray([1, 2], [True, False])
    with bl.set_options(promotion="strict"), pytest.raises(TypeError, match="astype"):
        x * 2.5
    with bl.set_options(promotion="numpy"):
        assert (x * 2.5).tolist() == [2.5, None] and bl.exp(x).dtype == np.float64
        for nulls in MASKS.values():
            of_bools = made(pa.bool_(), nulls, 16)
            for name in ("sum", "prod"):
                ours, theirs = REDUCTIONS[name]
                assert ours(nullable(of_bools)).item() == theirs(of_bools).as_py()
            same(nullable(of_bools).mean(), pc.mean(of_bools))
    bools = NullableArray([True, True, True], [True, False, True])
    assert (bools.sum().item(), bools.prod().item(), bools.sum().dtype) == (2, 1, np.int64)
    for refused in ("min", "max"):
        with bl.set_options(promotion="strict"), pytest.raises(TypeError, match="bool"):
            getattr(bools, refused)()
    assert (bools.min().item(), (~bools).max().item(), bools.min().dtype) == (True, False, np.bool_)


def test_construction() -> None:
    masked = np.ma.masked_array([1, 2, 3], [False, True, False])
    assert NullableArray(masked).tolist() == [1, None, 3]
    with pytest.raises(TypeError, match="not bool"):
        NullableArray([1, 2], [1, 0])
    with pytest.raises(ValueError):
        NullableArray([1, 2], [True, False, True])
    x = NullableArray(masked)
    assert pickle.loads(pickle.dumps(x + 1)).tolist() == [2, None, 4]
    x.validity[0] = False
    assert x.tolist() == [1, None, 3]
    assert repr(x) == "NullableArray([1, null, 3], dtype=int64)"
    assert repr(NullableArray([True, False], [False, True])) == "NullableArray([null, False], dtype=bool)"
    long = NullableArray(np.arange(2000.0), np.arange(2000) % 2 == 0)
    assert repr(long) == "NullableArray([0.0, null, 2.0, ..., null, 1998.0, null], shape=(2000,), dtype=float64)"
    assert repr(NullableArray(np.empty(0))) == "NullableArray([], shape=(0,), dtype=float64)"


def test_nothing_is_computed_before_values_are_asked_for() -> None:
    memory, mask = np.array([1.0, 4.0, 9.0]), np.array([True, True, True])
    x = bl.sqrt(NullableArray(memory, mask)) + 1
    total = x.sum()
    memory[0], mask[1] = 100.0, False
    assert x.tolist() == [11.0, None, 4.0]
    assert total.item() == 15.0


def test_values_and_nulls_of_a_chain_are_one_loop() -> None:
    x, y = (NullableArray(np.ones(1000), np.arange(1000) % k > 0) for k in (2, 3))
    plan = str(bl.explain(bl.arrow.fill_null(bl.exp(x * 2 + y), 0.0)))
    assert "plan (1 kernel, 0 temporaries" in plan
    # The plan contains a loop over the elements, which adds and counts, and a loop over the single result.
    plan = str(bl.explain(bl.arrow.fill_null((x * y - 1).mean(), 0.0)))
    assert "plan (2 kernels, 2 temporaries" in plan and "kernel 1 over []" in plan


def test_kleenes_logic_without_a_null() -> None:
    x = bl.from_arrow(pa.array([True, False]), nullable=True)
    assert (x & x).tolist() == [True, False] and (x | True).tolist() == [True, True]
    assert bl.logical_and(x, np.array([False, True])).tolist() == [False, False]


def test_a_null_over_zero_is_no_division_by_zero() -> None:
    x = bl.from_arrow(pa.array([None, None], pa.int64()))
    assert bl.evaluate((x // 0).values, int_division="error").shape == (2,)
    assert (x // 0).tolist() == [None, None]
    with pytest.raises(ZeroDivisionError):
        bl.evaluate((bl.from_arrow(pa.array([None, 1])) // 0).values, int_division="error")


def test_nulls_come_with_chunks_and_columns() -> None:
    chunked = pa.chunked_array([[1], [None]])
    for x in (chunked, pl.Series([1, None]), pd.Series([1, None], dtype="Int64")):
        assert NullableArray(x).tolist() == [1, None]
        assert bl.arrow.is_null(x).tolist() == [False, True]
        assert bl.arrow.fill_null(x, 7).tolist() == [1, 7]
        assert bl.arrow.drop_null(x).tolist() == [1]
    x = bl.from_arrow(pa.array([1, 2, 3]), nullable=True)
    assert x.filter(pl.Series([True, None, False])).tolist() == [1]
    assert x.take(pl.Series([2, None])).tolist() == [3, None]


def test_arrays_of_arrow_are_operands_beside_nulls_and_refused_beside_arrays() -> None:
    x = bl.from_arrow(pa.array([1, None, 3]))
    assert (x == pa.array([1, 2, None])).tolist() == [True, None, None]
    assert (x + pa.chunked_array([[1], [2, 3]])).tolist() == [2, None, 6]
    for compare in (operator.eq, operator.ne, operator.add):
        with pytest.raises(TypeError, match="from_arrow|operand"):
            compare(bl.asarray([1, 2]), pa.array([1, 2]))
