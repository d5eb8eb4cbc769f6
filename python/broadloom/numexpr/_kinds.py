"""numexpr's kinds of values, and the kinds that its operators and functions accept and return.

numexpr has five real kinds, ordered bool < int < long < float < double. Operands are converted to the highest kind
among them. Names of operators and letters of kinds are numexpr's too, since callers look for them in messages.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

Kind = Literal["bool", "int", "long", "float", "double"]

#: The kinds, lowest first.
KINDS: Final[tuple[Kind, ...]] = ("bool", "int", "long", "float", "double")

#: The dtype of each kind's values.
DTYPES: Final[dict[Kind, np.dtype[Any]]] = {
    "bool": np.dtype(np.bool_),
    "int": np.dtype(np.int32),
    "long": np.dtype(np.int64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}

#: The letter of each kind in the names of numexpr's operations.
LETTERS: Final[dict[Kind, str]] = {"bool": "b", "int": "i", "long": "l", "float": "f", "double": "d"}

INTEGERS: Final = ("int", "long")
INEXACT: Final = ("float", "double")
NUMBERS: Final = INTEGERS + INEXACT

_INT32 = np.iinfo(np.int32)


def of_dtype(dtype: np.dtype[Any]) -> Kind:
    """The kind in which values of a dtype are computed.

    Raises `NotImplementedError` for complex numbers and strings, and `ValueError` for anything else that is no number.

    >>> of_dtype(np.dtype(np.uint16)), of_dtype(np.dtype(np.uint32)), of_dtype(np.dtype(np.float16))
    ('int', 'long', 'float')
    """
    match dtype.kind:
        case "b":
            return "bool"
        case "i":
            return "long" if dtype.itemsize > 4 else "int"
        case "u":
            return "long" if dtype.itemsize >= 4 else "int"
        case "f":
            return "double" if dtype.itemsize > 4 else "float"
        case "c":
            raise NotImplementedError(f"broadloom.numexpr has no complex numbers, a variable is {dtype.name}")
        case "S" | "U" | "T":
            raise NotImplementedError(f"broadloom.numexpr has no strings, a variable is {dtype.name}")
    raise ValueError(f"unknown type {dtype.name}")


def of_constant(value: Any) -> Kind:
    """The kind of a constant: for a Python integer the lowest that can represent it, and double for a Python float.

    >>> of_constant(1), of_constant(2**40), of_constant(1.0), of_constant(np.float32(1))
    ('int', 'long', 'double', 'float')
    """
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, np.int64):
        return "long"
    if isinstance(value, (int, np.integer)):
        return "int" if _INT32.min <= value <= _INT32.max else "long"
    if isinstance(value, (np.float32, np.float16)):
        return "float"
    if isinstance(value, (float, np.floating)):
        return "double"
    if isinstance(value, (complex, np.complexfloating)):
        raise NotImplementedError("broadloom.numexpr has no complex numbers")
    if isinstance(value, (str, bytes)):
        raise NotImplementedError("broadloom.numexpr has no strings")
    raise TypeError(f"unsupported object type: {type(value)}")


def is_constant(value: Any) -> bool:
    """Whether a value is allowed in an expression as a constant."""
    return isinstance(value, (bool, int, float, complex, str, bytes, np.generic))


def converted(value: Any, kind: Kind) -> bool | int | float:
    """A constant converted to a kind, as a Python number.

    Raises `OverflowError` for an integer that the kind can't represent.
    """
    with np.errstate(over="ignore"):
        made: bool | int | float = DTYPES[kind].type(value).item()
    return made


def highest(kinds: list[Kind]) -> Kind:
    """The kind to which operands of these kinds are converted."""
    return KINDS[max(KINDS.index(kind) for kind in kinds)]
