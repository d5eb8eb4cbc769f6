"""Tests reductions and cumulative functions over axes, with the standard's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadloom as bl

VALUES = np.array([[[3, -1, 4], [1, 5, -9]], [[2, 6, 5], [3, 5, 8]]])
AXES = [None, 0, 1, -1, (0, 1), (2, 0), (0, 1, 2), ()]
NAMES = ["sum", "prod", "max", "min", "any", "all", "count_nonzero"]
MOMENTS = ["mean", "var", "std"]
NAN = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


def check(got: bl.Array, expected: Any, dtype: Any = None) -> None:
    expected = np.asarray(expected)
    assert (got.dtype, got.shape) == (np.dtype(dtype or expected.dtype), expected.shape)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_of_integers(name: str, axis: Any, keepdims: bool) -> None:
    expected = getattr(np, name)(VALUES, axis=axis, keepdims=keepdims)
    check(getattr(bl, name)(bl.asarray(VALUES), axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", [*NAMES, *MOMENTS])
def test_reductions_of_floats(name: str, axis: Any, keepdims: bool) -> None:
    x = VALUES * 0.5
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    check(getattr(bl, name)(bl.asarray(x), axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("name", NAN)
def test_reductions_of_what_is_not_nan(name: str, axis: Any) -> None:
    x = VALUES[0] * 0.5
    x[0, 1] = np.nan
    check(getattr(bl, name)(bl.asarray(x), axis=axis), getattr(np, name)(x, axis=axis))
    # The function without the prefix propagates NaN.
    if name.removeprefix("nan") in NAMES + MOMENTS:
        assert np.isnan(float(getattr(bl, name.removeprefix("nan"))(bl.asarray(x))))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name: str, axis: Any, keepdims: bool) -> None:
    expected = getattr(np, name)(VALUES, axis=axis, keepdims=keepdims)
    check(getattr(bl, name)(bl.asarray(VALUES), axis=axis, keepdims=keepdims), expected, "int64")


def test_places_of_nan_and_of_equals() -> None:
    assert int(bl.argmax(bl.asarray([1.0, bl.nan, 3.0, bl.nan]))) == 1
    assert int(bl.argmin(bl.asarray([2.0, 1.0, 1.0]))) == 1


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *[(dtype, "int64") for dtype in ("int8", "int16", "int32", "int64")],
        *[(dtype, "uint64") for dtype in ("uint8", "uint16", "uint32", "uint64")],
        *[(dtype, dtype) for dtype in ("float16", "float32", "float64")],
    ],
)
def test_sums_of_integers_are_wide_and_floats_keep_their_dtype(name: str, dtype: str, expected: str) -> None:
    x = bl.ones(3, dtype=dtype)
    assert getattr(bl, name)(x).dtype == np.dtype(expected)
    assert getattr(bl, name)(x, dtype=bl.float32).dtype == bl.float32


def test_the_dtype_of_a_sum_is_that_in_which_it_is_added() -> None:
    x = bl.asarray([200, 100], dtype=bl.uint8)
    assert int(bl.sum(x)) == 300
    assert int(bl.sum(x, dtype=bl.uint8)) == 300 - 256
    assert float(bl.sum(bl.asarray([2.0**24, 1.0, 1.0], dtype=bl.float32), dtype=bl.float64)) == 2.0**24 + 2


def test_means_of_integers_are_float64() -> None:
    x = np.array([1, 2, 4], dtype=np.int8)
    for name in MOMENTS:
        check(getattr(bl, name)(bl.asarray(x)), getattr(np, name)(x), "float64")
    check(bl.mean(bl.asarray([True, False])), 0.5)


@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_correction(correction: float) -> None:
    x = VALUES * 0.5
    for name in ("var", "std", "nanvar", "nanstd"):
        got = getattr(bl, name)(bl.asarray(x), axis=1, correction=correction)
        with np.errstate(all="ignore"):
            check(got, getattr(np, name)(x, axis=1, ddof=correction))


def test_what_is_made_of_nothing() -> None:
    nothing = bl.zeros((0, 2))
    assert bl.sum(nothing).item() == 0.0
    assert bl.prod(nothing, axis=0).tolist() == [1.0, 1.0]
    assert bl.all(nothing).item() is True
    assert bl.any(nothing).item() is False
    assert np.isnan(bl.mean(nothing).item())
    assert np.isnan(bl.var(bl.asarray([1.0]), correction=1).item())
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(bl, name)(nothing)
        assert getattr(bl, name)(nothing, axis=1).shape == (0,)


@pytest.mark.parametrize("axis", [3, -4, (0, 0), (1, -2)])
def test_axes_that_there_are_not(axis: Any) -> None:
    with pytest.raises(ValueError):
        bl.sum(bl.asarray(VALUES), axis=axis)


@pytest.mark.usefixtures("strict")
def test_sums_of_bools_count_them() -> None:
    values = np.array([[True, True, False], [True, True, True]])
    x = bl.asarray(values)
    for axis in (None, 0, 1):
        for name in ("sum", "prod", "nansum", "nanprod"):
            check(getattr(bl, name)(x, axis=axis), getattr(np, name)(values, axis=axis))
        check(bl.count_nonzero(x, axis=axis), np.count_nonzero(values, axis=axis))
    assert bl.sum(x, dtype=bl.float32).dtype == np.float32
    with pytest.raises(TypeError, match="add"):
        x + x


@pytest.mark.parametrize("name", ["var", "std"])
def test_ddof_is_a_name_of_the_correction(name: str) -> None:
    got, expected = getattr(bl, name), getattr(np, name)(VALUES, axis=1, ddof=1)
    check(got(bl.asarray(VALUES), axis=1, ddof=1), expected)
    check(got(bl.asarray(VALUES), axis=1, correction=1), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("include_initial", [False, True])
def test_cumulative_functions(name: str, axis: int, include_initial: bool) -> None:
    expected = getattr(np, name)(VALUES, axis=axis, include_initial=include_initial)
    check(getattr(bl, name)(bl.asarray(VALUES), axis=axis, include_initial=include_initial), expected)


def test_cumulative_functions_of_more_axes_need_one() -> None:
    assert bl.cumulative_sum(bl.asarray([1, 2])).tolist() == [1, 3]
    assert bl.cumulative_sum(bl.asarray([], dtype=bl.int64), include_initial=True).tolist() == [0]
    with pytest.raises(ValueError, match="axis"):
        bl.cumulative_sum(bl.asarray(VALUES))


def test_products_of_vectors() -> None:
    x, y = VALUES, np.array([2, 0, 1])
    check(bl.vecdot(bl.asarray(x), bl.asarray(y)), (x * y).sum(axis=-1))
    check(bl.vecdot(bl.asarray(x), bl.asarray(x), axis=-2), (x * x).sum(axis=-2))
    with pytest.raises(ValueError):
        bl.vecdot(bl.asarray(x), bl.ones(2, dtype=bl.int64))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_differences(axis: int, n: int) -> None:
    x = VALUES.reshape(4, 3)
    check(bl.diff(bl.asarray(x), axis=axis, n=n), np.diff(x, axis=axis, n=n))


def test_differences_with_what_stands_beside() -> None:
    x = VALUES.reshape(4, 3)
    before, after = np.full((4, 2), 7), np.full((4, 1), -7)
    got = bl.diff(bl.asarray(x), axis=1, n=2, prepend=bl.asarray(before), append=bl.asarray(after))
    check(got, np.diff(x, axis=1, n=2, prepend=before, append=after))
    assert bl.diff(bl.asarray([True, True, False])).tolist() == [False, True]
    with pytest.raises(ValueError):
        bl.diff(bl.asarray(x), axis=2)
    with pytest.raises(ValueError):
        bl.diff(bl.asarray(x), n=-1)
