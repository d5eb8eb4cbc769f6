"""Dtypes and their promotion. The dtypes are NumPy's own objects. Promotion is queried from the engine, so that there
is only one table of it.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array, check_device
from broadloom._core import Handle
from broadloom._operators import Number, OverArrays, handle_of
from broadloom._tracebacks import shows_users_lines

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

DType = np.dtype[Any]

bool: DType = np.dtype("bool")
int8: DType = np.dtype("int8")
int16: DType = np.dtype("int16")
int32: DType = np.dtype("int32")
int64: DType = np.dtype("int64")
uint8: DType = np.dtype("uint8")
uint16: DType = np.dtype("uint16")
uint32: DType = np.dtype("uint32")
uint64: DType = np.dtype("uint64")
float16: DType = np.dtype("float16")
float32: DType = np.dtype("float32")
float64: DType = np.dtype("float64")

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATS = (float16, float32, float64)
ALL = (bool, *SIGNED, *UNSIGNED, *FLOATS)

#: The kinds of dtypes by the standard's names. float16 counts as a real floating dtype too, though the standard lacks
#: it.
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + FLOATS,
}


def dtype_of(dtype: DTypeLike) -> DType:
    """The dtype that an argument denotes; TypeError if it is not supported."""
    found = np.dtype(dtype).newbyteorder("=")
    if found not in ALL:
        if found.kind == "c":
            raise TypeError(f"there are no complex numbers in broadloom, so no {found}")
        raise TypeError(f"{found} is not a dtype of broadloom; they are {', '.join(map(str, ALL))}")
    return found


@shows_users_lines
def astype(x: Array, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: str | None = None) -> Array:
    """The elements of `x` converted to another dtype.

    A float becomes an integer by truncation, clamped to the dtype's range, and NaN becomes 0. An integer wraps to a
    narrower dtype. Everything except 0 is true. With `copy=False` an array that has the dtype is returned itself.
    TypeError for an unsupported dtype.

    >>> bl.astype(bl.asarray([1.7, -1.7, 300.0]), bl.uint8)
    Array([  1,   0, 255], dtype=uint8)
    """
    check_device(device)
    wanted = dtype_of(dtype)
    if isinstance(x, OverArrays):
        made: Array = x.astype(wanted)
        return made
    if not isinstance(x, Array):
        return Array._of(handle_of(x).astype(wanted))
    if x.dtype == wanted:
        return Array._of(x._handle, x._origin) if copy else x
    return Array._of(x._operand().astype(wanted))


@shows_users_lines
def result_type(*arrays_and_dtypes: Array | Number | DTypeLike) -> DType:
    """The dtype that operands promote to. They are given as arrays, dtypes, or Python numbers, which take the dtype of
    the others.

    Under `promotion="strict"`, DTypeError if they do not promote: kinds do not mix, nor does uint64 with a signed
    integer.

    >>> bl.result_type(bl.int8, bl.uint8, 1)
    dtype('int16')
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: no dtype and no array is given")
    by_numpy = _options.by_numpy(*(x._handle for x in arrays_and_dtypes if isinstance(x, Array)))
    operands = [_operand(x) for x in arrays_and_dtypes]
    if not any(isinstance(x, Handle) for x in operands):
        kinds = [type(x) for x in operands]
        return float64 if float in kinds else int64 if int in kinds else bool
    return _core.result_type("result_type", *operands, numpy_promotion=by_numpy)


def _operand(x: Any) -> Any:
    """An operand of the engine's promotion. Numbers become 0, since their values have no influence."""
    if isinstance(x, (builtins.bool, int, float)) and not isinstance(x, np.generic):
        return type(x)(0)
    if isinstance(x, Array):
        return x._handle
    return _of_dtype(x.dtype if isinstance(x, (np.ndarray, np.generic)) else dtype_of(x))


def _of_dtype(dtype: DType) -> Handle:
    return Handle.full((), 0, dtype)


@shows_users_lines
def can_cast(from_: DTypeLike | Array, to: DTypeLike, /) -> builtins.bool:
    """Whether a dtype, or the dtype of an array, can be promoted to another dtype. The standard leaves open how
    different kinds promote. This function always follows NumPy there, also under `promotion="strict"`, where operators
    refuse different kinds.

    >>> bl.can_cast(bl.int8, bl.int16), bl.can_cast(bl.int16, bl.int8), bl.can_cast(bl.int32, bl.float64)
    (True, False, True)
    """
    source = from_.dtype if isinstance(from_, Array) else dtype_of(from_)
    target = dtype_of(to)
    operands = _of_dtype(source), _of_dtype(target)
    return source == target or _core.result_type("can_cast", *operands, numpy_promotion=True) == target


@shows_users_lines
def isdtype(dtype: DTypeLike, kind: DTypeLike | str | tuple[Any, ...]) -> builtins.bool:
    """Whether a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric", a dtype, or any of a tuple of those. ValueError for an unknown kind.

    >>> bl.isdtype(bl.int16, "integral"), bl.isdtype(bl.int16, (bl.float32, "bool"))
    (True, False)
    """
    found = np.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"there is no kind of dtypes {kind!r}; there are {', '.join(KINDS)}")
        return found in KINDS[kind]
    return builtins.bool(found == np.dtype(kind))


class FloatInfo(NamedTuple):
    """The result of `finfo`. `eps` is the distance from 1 to the next number."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntInfo(NamedTuple):
    """The result of `iinfo`."""

    bits: int
    max: int
    min: int
    dtype: DType


def _asked(of: DTypeLike | Array, name: str, kind: tuple[DType, ...]) -> DType:
    dtype = of.dtype if isinstance(of, Array) else dtype_of(of)
    if dtype not in kind:
        raise TypeError(f"{name}: expected one of {', '.join(map(str, kind))}, not {dtype}")
    return dtype


@shows_users_lines
def finfo(type: DTypeLike | Array, /) -> FloatInfo:
    """The limits of a float dtype, or of an array's dtype; TypeError for another dtype.

    >>> bl.finfo(bl.float32).eps == 2.0 ** -23
    True
    """
    dtype = _asked(type, "finfo", FLOATS)
    info = np.finfo(dtype)
    eps, most, least, smallest = map(float, (info.eps, info.max, info.min, info.smallest_normal))
    return FloatInfo(int(info.bits), eps, most, least, smallest, dtype)


@shows_users_lines
def iinfo(type: DTypeLike | Array, /) -> IntInfo:
    """The limits of an integer dtype, or of an array's dtype; TypeError for another dtype.

    >>> bl.iinfo(bl.int8).max
    127
    """
    dtype = _asked(type, "iinfo", SIGNED + UNSIGNED)
    info = np.iinfo(dtype)
    return IntInfo(int(info.bits), int(info.max), int(info.min), dtype)
