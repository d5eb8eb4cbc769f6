"""Arrow's PyCapsule interface, both ways: arrays of primitive types are shared with other libraries and taken from
them.

Values are not copied, but for bools, which are bits in Arrow and bytes here, for chunks, which become one array, and for memory
that is strided or misaligned. A validity bitmap is an array of bools here, true where an element is not null; bits are
packed and unpacked by NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from broadloom import _core
from broadloom import _elementwise as elementwise
from broadloom import _reductions as reductions
from broadloom._array import Array
from broadloom._dtypes import ALL, astype
from broadloom._evaluation import evaluate
from broadloom._registry import registered

#: The names of types by their format strings; types whose format strings have parameters are in `_type_name`.
NAMES = {
    "n": "null",
    "z": "binary",
    "Z": "large_binary",
    "vz": "binary_view",
    "u": "string",
    "U": "large_string",
    "vu": "string_view",
    "tdD": "date32[day]",
    "tdm": "date64[ms]",
    "tts": "time32[s]",
    "ttm": "time32[ms]",
    "ttu": "time64[us]",
    "ttn": "time64[ns]",
    "tiM": "month_interval",
    "tiD": "day_time_interval",
    "tin": "month_day_nano_interval",
    "+l": "list",
    "+L": "large_list",
    "+vl": "list_view",
    "+vL": "large_list_view",
    "+s": "struct",
    "+m": "map",
    "+r": "run_end_encoded",
}
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
#: What a user can do about an unsupported type, by the first letters of its format string.
ADVICE = {
    "n": "cast it to a type of numbers",
    "t": "cast it to int64, or int32, for its numbers",
    "d": "cast it to float64",
    "+s": "take its columns one by one",
    "+r": "decode it",
}
#: The names of primitive types by their format strings, as messages about dictionaries use them.
PRIMITIVE = dict(
    zip("bcCsSiIlLefg", "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 halffloat float double".split())
)


class Taken(NamedTuple):
    """An array whose memory was taken from another library."""

    values: np.ndarray
    #: The mask of the elements that are not null; None if no element is null.
    valid: np.ndarray | None
    #: Whether the values are in memory of their own.
    is_copy: bool


# Arrays for other libraries.


@registered("schema_capsule")
def schema_capsule(dtype: np.dtype[Any]) -> object:
    """A capsule with the schema of arrays of a dtype: what `__arrow_c_schema__` returns."""
    return _core.arrow_schema(dtype)


@registered("array_capsules")
def array_capsules(values: Array, validity: Array | None = None, requested: object = None) -> tuple[object, object]:
    """Capsules with the schema and the elements of an array of one axis: what `__arrow_c_array__` returns. All elements
    are computed, and kept by the array.

    The memory is shared, and stays until the consumer releases it. If the consumer asks for another type, it gets that
    type if the type holds all values exactly or only rounds floats, and else the array's own. ValueError for an array
    that has not one axis.
    """
    lent = _lent(values, validity, requested)
    return schema_capsule(lent[0]), _core.arrow_array(*lent)


@registered("stream_capsule")
def stream_capsule(values: Array, validity: Array | None = None, requested: object = None) -> object:
    """A capsule with a stream of one array: what `__arrow_c_stream__` returns. It works as `array_capsules` does."""
    return _core.arrow_stream(*_lent(values, validity, requested))


def _lent(
    values: Array, validity: Array | None, requested: object
) -> tuple[np.dtype[Any], int, int, np.ndarray, np.ndarray | None]:
    """The extension's arguments for an array: its dtype, length, number of nulls, and the memory of its values and its
    validity bitmap.
    """
    values._concrete("an array of Arrow's")
    if values.ndim != 1:
        raise ValueError(
            f"an array of Arrow's has one axis, this one {values.ndim}: give one of its rows, or reshape it"
        )
    values = _converted(values, validity, requested)
    # In one pass, so that what values and mask have in common is computed once.
    evaluate(*(array for array in (values, validity) if array is not None))
    elements = np.asarray(values)
    length = len(elements)
    memory = _packed(elements) if elements.dtype.kind == "b" else np.ascontiguousarray(elements)
    valid = None if validity is None else np.asarray(validity)
    null_count = 0 if valid is None else length - int(np.count_nonzero(valid))
    bitmap = _packed(valid) if valid is not None and null_count else None
    return elements.dtype, length, null_count, memory, bitmap


def _converted(values: Array, validity: Array | None, requested: object) -> Array:
    """The values in the type that a consumer asks for, if the conversion loses nothing but digits of floats; else the
    values as they are."""
    wanted = None if requested is None else _core.arrow_field(requested)[1]
    if wanted is None or wanted == values.dtype:
        return values
    made = astype(values, wanted)
    if values.dtype.kind == wanted.kind == "f":
        return made
    is_same = astype(made, values.dtype) == values
    if "f" in (values.dtype.kind, wanted.kind) and "b" not in (values.dtype.kind, wanted.kind):
        floats, integers = (values, wanted) if values.dtype.kind == "f" else (made, values.dtype)
        # Floats beyond an integer dtype's range are converted to its ends. As a float, such an end may be rounded to
        # the float that was converted, so that comparing alone would not find the loss.
        beyond = 2.0 ** (8 * integers.itemsize - (integers.kind == "i"))
        is_same = is_same & elementwise.isfinite(floats) & (astype(floats, np.dtype("f8")) < beyond)
    return made if reductions.all(is_same if validity is None else is_same | ~validity) else values


def _packed(bools: np.ndarray) -> np.ndarray:
    return np.packbits(bools, bitorder="little")


# Arrays from other libraries.


def taken(obj: Any) -> Taken:
    """The elements of an object that has one of the interface's methods.

    TypeError for an object without one, and for an array of another type than those of numbers and bools, by its name;
    ValueError for what is not as the interface has it, and for a capsule that was consumed; OSError, MemoryError or ValueError
    for a stream that fails.
    """
    if hasattr(obj, "__arrow_c_array__"):
        capsules = obj.__arrow_c_array__()
        if not isinstance(capsules, tuple) or len(capsules) != 2:
            raise TypeError("from_arrow: __arrow_c_array__ of the object gives no pair of capsules")
        dtype = _dtype_of(_core.arrow_field(capsules[0]))
        return _joined(dtype, [_core.arrow_chunk(capsules[1], dtype)])
    if hasattr(obj, "__arrow_c_stream__"):
        stream = _core.ArrowStream(obj.__arrow_c_stream__())
        dtype = _dtype_of(stream.field())
        return _joined(dtype, list(iter(lambda: stream.next(dtype), None)))
    if hasattr(obj, "__arrow_array__"):
        # pandas' own arrays have an older method, which makes an array of pyarrow's.
        return taken(obj.__arrow_array__())
    raise TypeError(
        f"from_arrow: expected an object with __arrow_c_array__ or __arrow_c_stream__, not {type(obj).__name__}; see asarray"
    )


def _joined(dtype: np.dtype[Any], chunks: list[Any]) -> Taken:
    """One array made of chunks, without a copy if there is only one chunk."""
    parts = [_elements(dtype, chunk) for chunk in chunks if chunk[0]]
    if not parts:
        return Taken(np.empty(0, dtype), None, False)
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([part.values for part in parts])
    if all(part.valid is None for part in parts):
        return Taken(values, None, True)
    valid = [np.ones(len(part.values), np.bool_) if part.valid is None else part.valid for part in parts]
    return Taken(values, np.concatenate(valid), True)


def _elements(dtype: np.dtype[Any], chunk: tuple[int, int, np.ndarray, np.ndarray | None, int]) -> Taken:
    length, null_count, data, bitmap, bit = chunk
    is_copy = dtype.kind == "b"
    values = _unpacked(data, bit, length) if is_copy else data.view(dtype)
    valid = None if bitmap is None or null_count == 0 else _unpacked(bitmap, bit, length)
    return Taken(values, None if valid is None or valid.all() else valid, is_copy)


def _unpacked(data: np.ndarray, bit: int, length: int) -> np.ndarray:
    return np.unpackbits(data, count=bit + length, bitorder="little")[bit:].view(np.bool_)


def _dtype_of(field: tuple[str, np.dtype[Any] | None, str | None]) -> np.dtype[Any]:
    text, dtype, of_values = field
    if dtype is not None:
        return dtype
    if of_values is not None:
        name = f"dictionary<values={_type_name(of_values)}, indices={_type_name(text)}>"
        advice = "decode it"
    else:
        name = _type_name(text)
        advice = next((advice for start, advice in ADVICE.items() if text.startswith(start)), "")
    raise TypeError(
        f"from_arrow: the array is {name}; broadloom has {', '.join(map(str, ALL))}{'; ' if advice else ''}{advice}"
    )


def _type_name(text: str) -> str:
    """The name of a format string's type, as pyarrow prints it, as far as the format string tells it."""
    start, _, rest = text.partition(":")
    if text in NAMES:
        return NAMES[text]
    if text in PRIMITIVE:
        return PRIMITIVE[text]
    if start == "d":
        precision, _, scale = rest.partition(",")
        scale, _, bits = scale.partition(",")
        return f"decimal{bits or 128}({precision}, {scale})"
    if start == "w":
        return f"fixed_size_binary[{rest}]"
    if start == "+w":
        return f"fixed_size_list[{rest}]"
    if start in ("+ud", "+us"):
        return "dense_union" if start == "+ud" else "sparse_union"
    unit = UNITS.get(start[2:])
    if start[:2] == "ts" and unit:
        return f"timestamp[{unit}, tz={rest}]" if rest else f"timestamp[{unit}]"
    if start[:2] == "tD" and unit:
        return f"duration[{unit}]"
    return f"of the format {text!r}"
