"""Arrow: arrays of pyarrow, Polars and other libraries that have its PyCapsule interface, with their nulls.

`from_arrow` imports them without a copy, and `pyarrow.array(x)`, `polars.Series(x)` and so on accept our arrays. Arrays
with nulls are of class `NullableArray`: element-wise functions return null for a null, and reductions skip nulls.
Neither pyarrow nor Polars is imported.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from broadloom import _nullable
from broadloom._array import Array, of_numpy
from broadloom._arrow_interface import taken
from broadloom._nullable_array import NullableArray
from broadloom._operators import Number
from broadloom._registry import registered
from broadloom._signatures import take_numpys_arguments

#: Arrays, and what can be converted to one of either class.
Arrays = Array | NullableArray

__all__ = ["NullableArray", "drop_null", "fill_null", "from_arrow", "if_else", "is_null", "is_valid"]


def from_arrow(obj: Any, /, *, nullable: bool | None = None) -> Any:
    """Imports an object that has a method of Arrow's PyCapsule interface: a pyarrow array or chunked array, a column of
    a pyarrow table, or a Polars or pandas series.

    Returns an `Array` if no element is null, else a `NullableArray`. With `nullable=True`, always a `NullableArray`, so
    that code does not depend on the data; with `nullable=False`, always an `Array`, and ValueError if there are nulls.
    An Array or NullableArray is accepted as it is.

    Types are bool, int8 to int64, uint8 to uint64, float16, float32 and float64; others raise a TypeError that names
    the type. The memory of numbers is shared, and released when no array reads it any more. Bools are converted from
    bits to bytes, chunks are joined to one array, and misaligned memory is copied.

    Raises TypeError for an object without such a method; ValueError for structs that violate the interface, and for
    capsules that were consumed before; OSError, MemoryError or ValueError for a stream that fails.

    >>> bl.from_arrow(bl.arrow.NullableArray([1, 2, 3], [True, False, True])) + 10
    NullableArray([11, null, 13], dtype=int64)
    """
    if isinstance(obj, NullableArray):
        found = obj
    elif isinstance(obj, Array):
        return NullableArray(obj) if nullable else obj
    else:
        values, valid, _ = taken(obj)
        array = of_numpy(values)
        if valid is None:
            return NullableArray(array) if nullable else array
        found = NullableArray._of(array, (of_numpy(valid),))
    if nullable is False:
        return without_nulls("from_arrow", found)
    return found


@registered("without_nulls")
def without_nulls(name: str, obj: Any, copy: bool | None = None) -> Array:
    """The values of an Arrow object that has no nulls. ValueError if it has, or if `copy` is False and a copy is
    needed."""
    if isinstance(obj, NullableArray):
        nulls, array = obj.null_count, obj.values
    else:
        values, valid, is_copy = taken(obj)
        if is_copy and copy is False:
            raise ValueError(f"{name}: a copy is needed of bools, which are bits there, and of chunks")
        nulls = 0 if valid is None else len(valid) - int(np.count_nonzero(valid))
        array = of_numpy(values, False if copy is False else None)
    if nulls:
        _refuse_nulls(name, nulls)
    return array


def _refuse_nulls(name: str, nulls: int) -> NoReturn:
    raise ValueError(
        f"{name}: {nulls} elements are null, which would be lost; `from_arrow` keeps them, and `fill_null` replaces them"
    )


def is_null(x: Arrays, /, *, nan_is_null: bool = False) -> Array:
    """Where elements are null, or NaN if that is to count as null, as bools. Takes arrays with nulls and without.

    >>> bl.arrow.is_null(bl.arrow.NullableArray([1, 2], [True, False]))
    Array([False,  True], dtype=bool)
    """
    return NullableArray(x).is_null(nan_is_null)


def is_valid(x: Arrays, /, *, nan_is_null: bool = False) -> Array:
    """Where elements are not null, as bools. Takes arrays with nulls and without.

    >>> bl.arrow.is_valid(bl.arrow.NullableArray([1, 2], [True, False]))
    Array([ True, False], dtype=bool)
    """
    return NullableArray(x).is_valid(nan_is_null)


def fill_null(x: Arrays, value: Arrays | Number, /) -> Any:
    """The elements, with each null replaced by a value: `NullableArray.fill_null`. Takes arrays with nulls and without.

    >>> bl.arrow.fill_null(bl.arrow.NullableArray([1, 2], [True, False]), 0)
    Array([1, 0], dtype=int64)
    """
    return NullableArray(x).fill_null(value)


def drop_null(x: Arrays, /) -> Array:
    """The elements that are not null. Takes arrays with nulls and without.

    >>> bl.arrow.drop_null(bl.arrow.NullableArray([1, 2], [True, False]))
    Array([1], dtype=int64)
    """
    return NullableArray(x).drop_null()


def if_else(condition: Arrays, x: Arrays | Number | None, y: Arrays | Number | None, /) -> NullableArray:
    """`x` where the condition is true, else `y`. The result is null where the condition or the selected element is
    null. None is a null.

    >>> x = bl.asarray([1.0, -2.0, 3.0])
    >>> bl.arrow.if_else(x > 0, x, None)
    NullableArray([1.0, null, 3.0], dtype=float64)
    """
    return NullableArray._of(*_nullable.of_elements("where", (condition, x, y)))


take_numpys_arguments(globals(), __all__)
