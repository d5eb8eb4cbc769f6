"""Tests dtypes, their promotion, conversion and limits, and the namespace's inspection functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import broadloom as bl

ALL = [
    *[bl.bool, bl.int8, bl.int16, bl.int32, bl.int64, bl.uint8, bl.uint16, bl.uint32, bl.uint64],
    *[bl.float16, bl.float32, bl.float64],
]


def test_dtypes_are_those_of_numpy() -> None:
    assert bl.float32 == np.dtype("float32")
    assert bl.zeros(1, dtype=np.int8).dtype is np.zeros(1, dtype=np.int8).dtype
    assert len({hash(dtype) for dtype in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((bl.int8, bl.int16), bl.int16),
        ((bl.uint8, bl.int8), bl.int16),
        ((bl.int32, bl.uint32, bl.int8), bl.int64),
        ((bl.float32, bl.float64), bl.float64),
        ((bl.bool, bl.bool), bl.bool),
        ((bl.int8, 1), bl.int8),
        ((1.0, bl.float32), bl.float32),
        ((1, bl.float32, 2.0), bl.float32),
        ((True, bl.bool), bl.bool),
        ((1,), bl.int64),
        ((1, 1.0), bl.float64),
        ((True,), bl.bool),
    ],
)
def test_result_type(of: tuple[Any, ...], expected: Any) -> None:
    assert bl.result_type(*of) == expected
    assert bl.result_type(*(bl.ones(1, dtype=x) if isinstance(x, np.dtype) else x for x in of)) == expected


@pytest.mark.parametrize(
    "of", [(bl.int8, bl.float32), (bl.uint64, bl.int8), (bl.bool, bl.int8), (bl.int8, 1.0), (bl.bool, 1)]
)
@pytest.mark.usefixtures("strict")
def test_kinds_do_not_promote(of: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="result_type"):
        bl.result_type(*of)


@pytest.mark.parametrize("source", ALL)
def test_can_cast_where_promotion_leads(source: Any) -> None:
    for target in ALL:
        expected = np.promote_types(source, target) == target
        assert bl.can_cast(source, target) is expected
        assert bl.can_cast(bl.ones(1, dtype=source), target) is expected
        # If the standard's rule allows the promotion, its result is the same as NumPy's.
        try:
            assert (bl.result_type(source, target) == target) is expected
        except TypeError:
            pass


def test_kinds() -> None:
    kinds = {
        "bool": ALL[:1],
        "signed integer": ALL[1:5],
        "unsigned integer": ALL[5:9],
        "integral": ALL[1:9],
        "real floating": ALL[9:],
        "complex floating": [],
        "numeric": ALL[1:],
    }
    for kind, members in kinds.items():
        assert [dtype for dtype in ALL if bl.isdtype(dtype, kind)] == members
    assert bl.isdtype(bl.int8, ("bool", bl.int8)) is True
    assert bl.isdtype(bl.int8, bl.int16) is False
    with pytest.raises(ValueError, match="floating"):
        bl.isdtype(bl.int8, "float")


def test_conversion() -> None:
    x = bl.asarray([-1.5, 300.0, bl.nan, bl.inf])
    # Floats are truncated and saturated. NaN becomes 0, or true for bool.
    assert bl.astype(x, bl.int8).tolist() == [-1, 127, 0, 127]
    assert bl.astype(x, bl.bool).tolist() == [True] * 4
    assert bl.astype(bl.asarray([300, -1]), bl.uint8).tolist() == [44, 255]
    assert bl.astype(x, bl.float64, copy=False) is x
    copied = bl.astype(x, bl.float64)
    copied[0] = 0.0
    assert float(x[0]) == -1.5
    assert x.astype(bl.float32).dtype == bl.float32
    with pytest.raises(TypeError, match="complex"):
        bl.astype(x, "complex64")
    with pytest.raises(TypeError):
        bl.astype(x, "datetime64[s]")
    with pytest.raises(ValueError):
        bl.astype(x, bl.float32, device="gpu")


def test_limits_of_floats() -> None:
    info = bl.finfo(bl.float64)
    limits = (sys.float_info.epsilon, sys.float_info.max, -sys.float_info.max, sys.float_info.min)
    assert (info.eps, info.max, info.min, info.smallest_normal) == limits
    assert (info.bits, info.dtype) == (64, bl.float64)
    assert type(bl.finfo(bl.asarray(1, dtype=bl.float32)).eps) is float
    with pytest.raises(TypeError, match="int8"):
        bl.finfo(bl.int8)


def test_limits_of_integers() -> None:
    for bits in (8, 16, 32, 64):
        signed, unsigned = bl.iinfo(f"int{bits}"), bl.iinfo(bl.zeros(1, dtype=f"uint{bits}"))
        assert (signed.bits, signed.min, signed.max) == (bits, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        assert (unsigned.bits, unsigned.min, unsigned.max) == (bits, 0, 2**bits - 1)
    assert bl.iinfo(bl.int8).dtype == bl.int8
    with pytest.raises(TypeError):
        bl.iinfo(bl.float32)


def test_the_namespace_says_what_it_can() -> None:
    info = bl.__array_namespace_info__()
    assert info.devices() == ["cpu"]
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {"real floating": bl.float64, "integral": bl.int64, "indexing": bl.int64}
    assert info.dtypes() == {str(dtype): dtype for dtype in ALL if dtype != bl.float16}
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == ["bool", "uint8", "uint16", "uint32", "uint64"]
    assert info.dtypes(kind="complex floating") == {}
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    with pytest.raises(ValueError):
        info.dtypes(kind="float")
    with pytest.raises(ValueError):
        info.dtypes(device="gpu")


def test_the_rank_that_the_namespace_names_is_the_limit() -> None:
    assert bl.ones((1,) * 64).ndim == 64
    with pytest.raises(bl.LimitError):
        bl.ones((1,) * 65)


def test_all_names_are_there_once() -> None:
    assert len(set(bl.__all__)) == len(bl.__all__)
    for name in bl.__all__:
        assert hasattr(bl, name)


@pytest.mark.parametrize("x", [np.int16(3), np.array([1.5, 2.5]), np.array(7, "u1")])
def test_arrays_of_numpy_are_converted(x: Any) -> None:
    made = bl.astype(x, bl.float32)
    assert type(made) is bl.Array and made.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(made), np.asarray(x, np.float32))
