"""Arrow's PyCapsule interface: exports memory of primitive types to other libraries and imports it from them.

Values are copied only for bools (bits in Arrow, bytes here), for several chunks (which become one array), and for
strided or misaligned memory. A validity bitmap is represented by an array of bools, true where an element is not null.
NumPy packs and unpacks the bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._dtypes import ALL, astype
from broadloom._evaluation import evaluate
from broadloom._generated import elementwise, reductions
from broadloom._registry import registered

#: The names of types by their Arrow format. `_type_name` handles types with parameters.
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
#: Advice about unsupported types, by the first letters of their format.
ADVICE = {
    "n": "cast it to a type of numbers",
    "t": "cast it to int64, or int32, for its numbers",
    "d": "cast it to float64",
    "+s": "take its columns one by one",
    "+r": "decode it",
}
#: The names of primitive types in a dictionary type, by their Arrow format.
PRIMITIVE = dict(
    zip("bcCsSiIlLefg", "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 halffloat float double".split())
)


class Taken(NamedTuple):
    """Memory that was imported from another library."""

    values: np.ndarray
    #: True where elements are not null; None if no element is null.
    valid: np.ndarray | None
    #: Whether the values were copied.
    is_copy: bool


# Export.


@registered("schema_capsule")
def schema_capsule(dtype: np.dtype[Any]) -> object:
    """A PyCapsule of the type of arrays with this dtype: `__arrow_c_schema__`."""
    return _core.arrow_schema(dtype)


@registered("array_capsules")
def array_capsules(values: Array, validity: Array | None = None, requested: object = None) -> tuple[object, object]:
    """PyCapsules of the type and the elements of an array with one axis: `__arrow_c_array__`. All elements are
    computed, and kept by the array.

    The memory is shared, and stays alive until the consumer releases it. If the consumer requests another type, the
    elements are converted to it if it can represent all of them or only rounds floats; otherwise the array's own type
    is used. ValueError unless the array has one axis.
    """
    lent = _lent(values, validity, requested)
    return schema_capsule(lent[0]), _core.arrow_array(*lent)


@registered("stream_capsule")
def stream_capsule(values: Array, validity: Array | None = None, requested: object = None) -> object:
    """A PyCapsule of a stream of one array: `__arrow_c_stream__`. Otherwise like `array_capsules`."""
    return _core.arrow_stream(*_lent(values, validity, requested))


def _lent(
    values: Array, validity: Array | None, requested: object
) -> tuple[np.dtype[Any], int, int, np.ndarray, np.ndarray | None]:
    """The dtype, the length, the null count, and the memory of the values and of the bitmap."""
    values._concrete("an array of Arrow's")
    if values.ndim != 1:
        raise ValueError(
            f"an array of Arrow's has one axis, this one {values.ndim}: give one of its rows, or reshape it"
        )
    values = _converted(values, validity, requested)
    # Evaluated together, so that common subexpressions are computed once.
    evaluate(*(array for array in (values, validity) if array is not None))
    elements = np.asarray(values)
    length = len(elements)
    memory = _packed(elements) if elements.dtype.kind == "b" else np.ascontiguousarray(elements)
    valid = None if validity is None else np.asarray(validity)
    null_count = 0 if valid is None else length - int(np.count_nonzero(valid))
    bitmap = _packed(valid) if valid is not None and null_count else None
    return elements.dtype, length, null_count, memory, bitmap


def _converted(values: Array, validity: Array | None, requested: object) -> Array:
    """The values converted to the type that a consumer requests, if that loses at most digits of floats."""
    wanted = None if requested is None else _core.arrow_field(requested)[1]
    if wanted is None or wanted == values.dtype:
        return values
    made = astype(values, wanted)
    if values.dtype.kind == wanted.kind == "f":
        return made
    is_same = astype(made, values.dtype) == values
    if "f" in (values.dtype.kind, wanted.kind) and "b" not in (values.dtype.kind, wanted.kind):
        floats, integers = (values, wanted) if values.dtype.kind == "f" else (made, values.dtype)
        # Floats outside an integer's range are converted to its minimum or maximum. The maximum may be rounded up as a
        # float and would then seem to convert back exactly.
        beyond = 2.0 ** (8 * integers.itemsize - (integers.kind == "i"))
        is_same = is_same & elementwise.isfinite(floats) & (astype(floats, np.dtype("f8")) < beyond)
    return made if reductions.all(is_same if validity is None else is_same | ~validity) else values


def _packed(bools: np.ndarray) -> np.ndarray:
    return np.packbits(bools, bitorder="little")


# Import.


def taken(obj: Any) -> Taken:
    """Imports the elements of an object that has a method of the interface.

    TypeError for an object without one, and for an array whose type is not numeric or bool; the message names the type.
    ValueError for a struct that violates the interface, and for a capsule that was consumed. OSError, MemoryError or
    ValueError for a stream that fails.
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
        # The older protocol, which pandas arrays implement.
        return taken(obj.__arrow_array__())
    raise TypeError(
        f"from_arrow: `obj` is {type(obj).__name__}, expected an object with __arrow_c_array__ or __arrow_c_stream__; see asarray"
    )


def _joined(dtype: np.dtype[Any], chunks: list[Any]) -> Taken:
    """One array from several chunks; a single chunk is not copied."""
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
    """The name of a type in pyarrow's spelling, as far as the format determines it."""
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
