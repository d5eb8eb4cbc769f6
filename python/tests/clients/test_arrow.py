"""Tests that arrays can be passed to pyarrow, Polars and pandas and back, by Arrow's PyCapsule interface."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom.arrow import NullableArray

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

TYPES = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
]
POLARS = {
    pa.bool_(): pl.Boolean,
    pa.int8(): pl.Int8,
    pa.int16(): pl.Int16,
    pa.int32(): pl.Int32,
    pa.int64(): pl.Int64,
    pa.uint8(): pl.UInt8,
    pa.uint16(): pl.UInt16,
    pa.uint32(): pl.UInt32,
    pa.uint64(): pl.UInt64,
    pa.float16(): pl.Float16,
    pa.float32(): pl.Float32,
    pa.float64(): pl.Float64,
}


def values_of(kind: pa.DataType, length: int, seed: int = 0) -> np.ndarray:
    """Random bit patterns as numbers, without NaN, which is not equal to itself."""
    dtype = np.dtype(kind.to_pandas_dtype())
    rng = np.random.default_rng([seed, length])
    if dtype.kind == "b":
        return rng.random(length) < 0.5
    values = np.frombuffer(rng.bytes(length * dtype.itemsize), dtype).copy()
    return np.where(np.isnan(values), 0, values).astype(dtype) if dtype.kind == "f" else values


def array_of(kind: pa.DataType, length: int, nulls: float = 0.3, seed: int = 0) -> pa.Array:
    mask = np.random.default_rng([seed, length, 1]).random(length) < nulls
    return pa.array(values_of(kind, length, seed), mask=mask if nulls else None, type=kind)


def address(values: Any) -> int:
    """The address of the first element."""
    if isinstance(values, pa.Array):
        buffer = values.buffers()[1]
        return int(buffer.address) + values.offset * values.type.bit_width // 8
    return int(np.asarray(values).__array_interface__["data"][0])


# There and back.


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_arrays_of_pyarrow_come_with_their_nulls(kind: pa.DataType) -> None:
    for length in (0, 1, 7, 8, 9, 63, 64, 65, 1000):
        for nulls in (0.0, 0.4, 1.0):
            whole = array_of(kind, length, nulls)
            for start in {0, 1, 3, 8, 13, length // 2, length}:
                for taken in (length, 5):
                    part = whole.slice(min(start, length), taken)
                    found = bl.from_arrow(part)
                    assert isinstance(found, NullableArray if part.null_count else bl.Array)
                    assert (found.dtype, found.shape) == (kind.to_pandas_dtype(), (len(part),))
                    assert found.tolist() == part.to_pylist()
                    assert pa.array(found).equals(part) and pa.array(found).type == kind


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_the_same_bits_go_to_pyarrow(kind: pa.DataType) -> None:
    values = values_of(kind, 77)
    for ours in (
        bl.asarray(values),
        bl.asarray(values)[::-1][::-1],
        bl.where(bl.asarray(values == values), bl.asarray(values), values),
    ):
        there = pa.array(ours)
        there.validate(full=True)
        assert there.type == kind and there.null_count == 0 and there.buffers()[0] is None
        if kind != pa.bool_():
            assert there.buffers()[1].to_pybytes()[: values.nbytes] == values.tobytes()
        assert pa.chunked_array(ours).to_pylist() == there.to_pylist() == values.tolist()
    valid = np.arange(77) % 3 > 0
    there = pa.array(NullableArray(values, valid))
    there.validate(full=True)
    assert there.null_count == 26 and there.to_pylist() == pa.array(values, mask=~valid).to_pylist()
    chunked = pa.chunked_array(NullableArray(values, valid))
    assert chunked.null_count == 26 and chunked.chunk(0).equals(there)
    assert pa.array(NullableArray(values, np.ones(77, bool))).buffers()[0] is None


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_polars_both_ways(kind: pa.DataType) -> None:
    for nulls in (0.0, 0.4):
        theirs = array_of(kind, 100, nulls)
        series = pl.Series("x", theirs)
        assert series.dtype == POLARS[kind]
        found = bl.from_arrow(series[13:90])
        assert found.dtype == kind.to_pandas_dtype() and found.tolist() == theirs[13:90].to_pylist()
        back = pl.Series("x", found)
        assert back.dtype == POLARS[kind] and back.to_list() == series[13:90].to_list()
        chunks = pl.concat([series, series[5:20]], rechunk=False)
        assert chunks.n_chunks() == 2
        assert bl.from_arrow(chunks).tolist() == chunks.to_list()
    frame = pl.DataFrame({"a": [1.0, None, 3.0]}).with_columns(
        b=pl.Series(bl.from_arrow(pl.Series([1.0, 4.0, 9.0])) * 2)
    )
    assert frame["b"].to_list() == [2.0, 8.0, 18.0]


def test_chunks_and_columns() -> None:
    chunks = [array_of(pa.int32(), n, nulls, n) for n, nulls in ((5, 0.0), (0, 0.0), (9, 0.5), (3, 1.0))]
    for some in (chunks, chunks[:1], chunks[:2], chunks[1:2], []):
        column = pa.chunked_array(some, pa.int32())
        found = bl.from_arrow(column)
        assert found.dtype == np.int32 and found.tolist() == column.to_pylist()
    table = pa.table({"a": pa.chunked_array(chunks), "b": pa.chunked_array([array_of(pa.bool_(), 17)])})
    assert bl.from_arrow(table["a"]).tolist() == table["a"].to_pylist()
    assert bl.from_arrow(table["b"]).tolist() == table["b"].to_pylist()
    assert bl.from_arrow(table.slice(3, 9)["a"]).tolist() == table["a"].to_pylist()[3:12]


def test_columns_of_pandas() -> None:
    for column in (
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        pd.Series([1.5, None], dtype="double[pyarrow]"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([1, 2], dtype="Int16"),
        pd.Series([1.0, 2.0]),
    ):
        expected = [None if value is pd.NA else value for value in column.tolist()]
        assert bl.from_arrow(column).tolist() == expected
        assert bl.from_arrow(column.array if not isinstance(column.dtype, np.dtype) else column).tolist() == expected
    x = bl.from_arrow(pd.Series([1, None, 3], dtype="int64[pyarrow]")) * 10
    back = pd.Series(pd.arrays.ArrowExtensionArray(pa.array(x)))
    assert back.dtype == "int64[pyarrow]" and back.sum() == 40
    # A column of NumPy's values has NaN, not null.
    assert np.isnan(np.asarray(bl.asarray(pd.Series([1.0, np.nan])))[1])


def test_kinds_of_results() -> None:
    full, gaps = pa.array([1, 2]), pa.array([1, None])
    assert isinstance(bl.from_arrow(full), bl.Array) and isinstance(bl.from_arrow(gaps), NullableArray)
    assert isinstance(bl.from_arrow(full, nullable=True), NullableArray)
    assert isinstance(bl.from_arrow(full, nullable=False), bl.Array)
    assert isinstance(bl.from_arrow(NullableArray([1, 2], [True, True]), nullable=False), bl.Array)
    x = bl.asarray([1, 2]) + 1
    assert bl.from_arrow(x) is x and isinstance(bl.from_arrow(x, nullable=True), NullableArray)
    assert not x._handle.is_evaluated
    for nulls in (gaps, NullableArray([1, 2], [True, False]), pl.Series([1, None])):
        with pytest.raises(ValueError, match="1 elements are null"):
            bl.from_arrow(nulls, nullable=False)


def test_asarray_takes_what_has_no_nulls() -> None:
    full = pa.array([1.0, 2.0])
    assert bl.asarray(full).tolist() == [1.0, 2.0] and address(bl.asarray(full)) == address(full)
    assert bl.asarray(full, dtype=bl.float32).dtype == np.float32
    assert address(bl.asarray(full, copy=False)) == address(full) != address(bl.asarray(full, copy=True))
    assert bl.asarray(pa.array([True, False])).tolist() == [True, False]
    with pytest.raises(ValueError, match="copy"):
        bl.asarray(pa.array([True, False]), copy=False)
    with pytest.raises(ValueError, match="`from_arrow` keeps them"):
        bl.asarray(pa.array([1.0, None]))
    with pytest.raises(TypeError, match="string"):
        bl.asarray(pa.array(["a"]))
    assert bl.asarray(pa.chunked_array([[1.0], [2.0]])).tolist() == [1.0, 2.0]
    assert bl.asarray(pl.Series([1, 2])).tolist() == [1, 2]


# Memory is shared.


@pytest.mark.parametrize("kind", TYPES[1:], ids=str)
def test_values_are_not_copied(kind: pa.DataType) -> None:
    for theirs in (array_of(kind, 1000, 0.0), array_of(kind, 1000, 0.3), array_of(kind, 1000, 0.3)[13:]):
        found = bl.from_arrow(theirs)
        values = found.values if isinstance(found, NullableArray) else found
        assert address(values) == address(theirs)
        assert address(pa.array(found)) == address(theirs)
        assert not np.asarray(values).flags.writeable
    ours = bl.asarray(values_of(kind, 1000))
    assert address(pa.array(ours)) == address(ours)
    made = bl.where(ours == ours, ours, ours)
    assert address(pa.array(made)) == address(made)
    assert address(pl.Series(made).to_arrow()) == address(made)
    series = pl.Series(values_of(kind, 1000), dtype=POLARS[kind])
    assert address(bl.from_arrow(series)) == address(series.to_arrow())
    chunked = pa.chunked_array([array_of(kind, 1000, 0.0)])
    assert address(bl.from_arrow(chunked)) == address(chunked.chunk(0))


def test_strided_and_misaligned_memory_is_copied() -> None:
    values = np.arange(20.0)
    assert pa.array(bl.asarray(values)[::2]).to_pylist() == values[::2].tolist()
    assert pa.array(bl.asarray(values[::-3])).to_pylist() == values[::-3].tolist()
    raw = pa.py_buffer(b"\x00" + np.arange(5, dtype=np.int32).tobytes())
    misaligned = pa.Array.from_buffers(pa.int32(), 5, [None, raw.slice(1)])
    assert misaligned.buffers()[1].address % 4 == 1
    assert bl.from_arrow(misaligned).tolist() == [0, 1, 2, 3, 4]
    assert (bl.from_arrow(pa.chunked_array([misaligned])) + 1).tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="not aligned"):
        bl.asarray(misaligned, copy=False)


def test_what_is_exported_is_computed_once_and_kept() -> None:
    x = NullableArray(np.arange(4.0), [True, False, True, True])
    y = bl.sqrt(x + 1)
    assert not y.values._handle.is_evaluated
    first, second = pa.array(y), pa.array(y)
    assert y.values._handle.is_evaluated
    assert address(first) == address(second)
    del x, y
    assert first.to_pylist() == [1.0, None, 3**0.5, 2.0]


# Types and shapes.

REFUSED = [
    pa.null(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(4),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.decimal32(5, 2),
    pa.decimal64(5, 2),
    pa.decimal128(5, 2),
    pa.decimal256(5, 2),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ns", "Europe/Paris"),
    pa.duration("ms"),
    pa.month_day_nano_interval(),
]
NESTED = {
    "list": pa.list_(pa.int8()),
    "large_list": pa.large_list(pa.int8()),
    "list_view": pa.list_view(pa.int8()),
    "large_list_view": pa.large_list_view(pa.int8()),
    "fixed_size_list[3]": pa.list_(pa.int8(), 3),
    "struct": pa.struct({"a": pa.int8()}),
    "map": pa.map_(pa.string(), pa.int8()),
    "dense_union": pa.dense_union([pa.field("a", pa.int8())]),
    "sparse_union": pa.sparse_union([pa.field("a", pa.int8())]),
    "run_end_encoded": pa.run_end_encoded(pa.int16(), pa.int8()),
}


@pytest.mark.parametrize("kind", REFUSED, ids=str)
def test_other_types_are_refused_by_name(kind: pa.DataType) -> None:
    array = pa.array([None], kind) if not pa.types.is_union(kind) else pa.nulls(0, kind)
    for obj in (array, pa.chunked_array([array])):
        with pytest.raises(TypeError) as raised:
            bl.from_arrow(obj)
        assert f"the array is {kind}; broadloom has bool, int8" in str(raised.value)


@pytest.mark.parametrize("name", NESTED)
def test_nested_types_are_refused_by_name(name: str) -> None:
    empty = pa.chunked_array([], NESTED[name])
    with pytest.raises(TypeError) as raised:
        bl.from_arrow(empty)
    assert f"the array is {name}; broadloom has" in str(raised.value)


def test_refusals_say_what_to_do() -> None:
    for obj, name, advice in [
        (pa.array(["a", "b"]).dictionary_encode(), "dictionary<values=string, indices=int32>", "decode it"),
        (pa.array([1.0]).dictionary_encode(), "dictionary<values=double, indices=int32>", "decode it"),
        (pa.table({"a": [1]}), "struct", "columns"),
        (pa.record_batch({"a": [1]}), "struct", "columns"),
        (pl.DataFrame({"a": [1]}), "struct", "columns"),
        (pl.Series(["a"]), "string_view", ""),
        (pl.Series([1], dtype=pl.Date), "date32[day]", "cast it"),
        (pl.Series([1], dtype=pl.Decimal(10, 2)), "decimal128(10, 2)", "float64"),
    ]:
        with pytest.raises(TypeError) as raised:
            bl.from_arrow(obj)
        assert f"the array is {name}; " in str(raised.value) and advice in str(raised.value)
    for other in ([1, 2], np.ones(2), 1, None, pa.int64()):
        with pytest.raises(TypeError, match="__arrow_c_array__"):
            bl.from_arrow(other)
    # A library that does not know an extension type reads its storage type.
    extension = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8()))
    assert bl.from_arrow(extension).tolist() == [1, None]


def test_arrays_of_another_rank_are_not_lent() -> None:
    for x in (bl.ones((2, 3)), bl.asarray(1.0), NullableArray(np.ones((2, 2)))):
        for method in ("__arrow_c_array__", "__arrow_c_stream__"):
            with pytest.raises(ValueError, match="one axis"):
                getattr(x, method)()
    assert pa.array(bl.ones((2, 3))[0]).to_pylist() == [1.0, 1.0, 1.0]

    @bl.jit
    def exported(x: Any) -> Any:
        x.__arrow_c_array__()
        return x

    with pytest.raises(bl.TracerError):
        exported(np.ones(3))


def test_the_schema_is_known_without_computing() -> None:
    for kind in TYPES:
        x = bl.zeros(3, dtype=kind.to_pandas_dtype())
        lazy = bl.where(x == x, x, x)
        assert pa.field(lazy).type == pa.field(NullableArray(lazy)).type == kind
        assert pa.field(lazy).nullable and not lazy._handle.is_evaluated


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        ("int32", 2**31 - 1, pa.float32()),
        ("int64", 2**63 - 1, pa.float64()),
        ("uint64", 2**64 - 1, pa.float64()),
        ("float64", 2.0**63, pa.int64()),
        ("float32", 2.0**31, pa.int32()),
        ("float16", np.inf, pa.int32()),
        ("float16", -np.inf, pa.int32()),
        ("float64", 256.0, pa.uint8()),
        ("float32", np.nan, pa.int8()),
    ],
)
def test_a_requested_type_whose_end_the_value_is_beyond_is_not_taken(
    dtype: str, value: float, wanted: pa.DataType
) -> None:
    x = bl.asarray(np.array([0, value], dtype))
    assert pa.Array._import_from_c_capsule(*x.__arrow_c_array__(wanted.__arrow_c_schema__())).type == dtype.replace(
        "float64", "double"
    ).replace("float32", "float").replace("float16", "halffloat")


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        ("int32", -(2**31), pa.float32()),
        ("int32", 2**24, pa.float32()),
        ("float64", -(2.0**63), pa.int64()),
        ("float32", 255.0, pa.uint8()),
        ("float64", 2.0**31 - 1, pa.int32()),
    ],
)
def test_a_requested_type_that_holds_the_values_is_taken(dtype: str, value: float, wanted: pa.DataType) -> None:
    x = bl.asarray(np.array([0, value], dtype))
    made = pa.Array._import_from_c_capsule(*x.__arrow_c_array__(wanted.__arrow_c_schema__()))
    assert made.type == wanted and made[1].as_py() == value


def test_a_consumer_may_ask_for_another_type() -> None:
    assert pa.array(bl.asarray([1, 2]), pa.float32()).equals(pa.array([1, 2], pa.float32()))
    assert pa.array(NullableArray([1, 300], [True, False]), pa.int8()).equals(pa.array([1, None], pa.int8()))
    assert pa.array(bl.asarray([0.1]), pa.float32()).equals(pa.array([0.1]).cast(pa.float32()))
    assert pa.chunked_array(bl.asarray([1, 2]), pa.uint8()).type == pa.uint8()
    # Values that the requested type can't represent are exported in the array's own type, as the interface prescribes.
    for values, kind in (([1, 300], pa.int8()), ([0.5], pa.int8()), ([np.nan], pa.int64()), ([1], pa.string())):
        x = bl.asarray(values)
        capsules = x.__arrow_c_array__(kind.__arrow_c_schema__())
        assert pa.DataType._import_from_c_capsule(capsules[0]) == pa.array(x).type
    with pytest.raises(TypeError, match="capsule"):
        bl.asarray([1]).__arrow_c_array__(pa.int8())


def test_neither_pyarrow_nor_polars_is_imported() -> None:
    code = "import sys, broadloom, broadloom.arrow; sys.exit(any(n in sys.modules for n in ('pyarrow', 'polars', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
