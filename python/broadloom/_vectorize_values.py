"""The values of a function that `vectorize` compiles, and Python's operators on them.

A value is a Python number that is known while the function is compiled, a number of each element (`Var`), a tuple of
values, or another object, such as a module. Operators mean what they mean for Python's numbers. Operations on known
numbers are Python's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom._division import quotient_and_remainder
from broadloom._generated.tables import OPERATORS
from broadloom._operators import Number, float_of
from broadloom._syntax import PYTHON_FUNCTIONS


class Refused(Exception):
    """An error for something that can't be compiled, with what to write instead. The caller adds the place."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.what, self.advice = what, advice


class Var:
    """A number of each element. A weak one takes part in promotion like a Python number."""

    __slots__ = ("handle", "weak")

    def __init__(self, handle: Handle, weak: bool = False) -> None:
        self.handle, self.weak = handle, weak


class Named:
    """An object other than a number: a module, a function, a dtype."""

    __slots__ = ("object",)

    def __init__(self, object: Any) -> None:
        self.object = object


Value: TypeAlias = "Number | Var | Named | tuple[Value, ...]"
#: The condition under which an element takes a path: None if all elements do.
Mask: TypeAlias = Handle | None


class Kind(NamedTuple):
    """The type of a number."""

    dtype: np.dtype[Any]
    weak: bool

    def __str__(self) -> str:
        return str(self.dtype)


#: The type of a value that can be carried by a loop.
Type: TypeAlias = "Kind | tuple[Type, ...]"

BOOL, INT, FLOAT = (np.dtype(name) for name in ("bool", "int64", "float64"))
_KINDS = {bool: Kind(BOOL, False), int: Kind(INT, True), float: Kind(FLOAT, True)}

apply = _core.apply


def is_known(value: Value) -> bool:
    """Whether a value is a number that is known while the function is compiled."""
    return isinstance(value, (bool, int, float))


def kind_of(value: Value) -> Kind:
    """The type of a number; Refused for other values."""
    if isinstance(value, Var):
        return Kind(value.handle.dtype, value.weak)
    if isinstance(value, (bool, int, float)):
        return _KINDS[type(value)]
    raise Refused(f"{shown(value)} is used as a number")


def type_of(value: Value) -> Type:
    """The type of a number or tuple; Refused for other values."""
    if isinstance(value, tuple):
        return tuple(type_of(part) for part in value)
    return kind_of(value)


def shown(value: Value) -> str:
    """A value in an error message."""
    if isinstance(value, Named):
        name = getattr(value.object, "__name__", None)
        return f"`{name}`" if isinstance(name, str) else f"an object of the class {type(value.object).__name__}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "a number"


# Promotion.


def join(a: Kind, b: Kind) -> Kind:
    """The type that two numbers promote to, as NumPy promotes arrays and Python's numbers."""
    if a == b:
        return a
    if a.weak == b.weak:
        return Kind(np.result_type(a.dtype, b.dtype), a.weak)
    strong, weak = (b, a) if a.weak else (a, b)
    if strong.dtype == BOOL:
        return weak
    return Kind(np.result_type(strong.dtype, 0 if weak.dtype == INT else 0.0), False)


def joined(a: Type, b: Type) -> Type:
    """The type that two numbers, or tuples of them, promote to. Refused for a number and a tuple."""
    if isinstance(a, Kind) and isinstance(b, Kind):
        return join(a, b)
    if isinstance(a, Kind) or isinstance(b, Kind) or len(a) != len(b):
        raise Refused("it is a number on one path and a tuple, or tuples of different lengths, on another")
    return tuple(joined(x, y) for x, y in zip(a, b, strict=True))


def common(*values: Value) -> Kind:
    """The type that numbers promote to."""
    kind = kind_of(values[0])
    for value in values[1:]:
        kind = join(kind, kind_of(value))
    return kind


def cast(value: Value, dtype: np.dtype[Any]) -> Handle:
    """A number as an array of a dtype."""
    if isinstance(value, Var):
        return value.handle if value.handle.dtype == dtype else value.handle.astype(dtype)
    if not isinstance(value, (bool, int, float)):
        raise Refused(f"{shown(value)} is used as a number")
    if dtype == BOOL:
        return Handle.full((), bool(value), dtype)
    if dtype.kind == "f":
        return Handle.full((), float_of(value), dtype)
    limits = np.iinfo(dtype)
    if not (math.isfinite(value) and limits.min <= int(value) <= limits.max):
        raise Refused(f"{value} cannot be represented as {dtype}", "write a float, or convert the other operand")
    return Handle.full((), int(value), dtype)


def leaves(value: Value, of: Type) -> list[Handle]:
    """The numbers of a value as arrays of the type's dtypes."""
    if isinstance(of, Kind):
        return [cast(value, of.dtype)]
    assert isinstance(value, tuple)
    return [leaf for part, kind in zip(value, of, strict=True) for leaf in leaves(part, kind)]


def kinds(of: Type) -> list[Kind]:
    """The types of the numbers of a value."""
    return [of] if isinstance(of, Kind) else [kind for part in of for kind in kinds(part)]


def value_of(of: Type, handles: Sequence[Handle]) -> Value:
    """The value of a type with these numbers."""
    if isinstance(of, Kind):
        return Var(handles[0], of.weak)
    made: list[Value] = []
    at = 0
    for part in of:
        count = len(kinds(part))
        made.append(value_of(part, handles[at : at + count]))
        at += count
    return tuple(made)


def integer(value: Value) -> Value:
    """A bool as an integer, as in Python's arithmetic."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Var) and value.handle.dtype == BOOL:
        return Var(value.handle.astype(INT), True)
    return value


def floating(value: Value) -> Value:
    """An integer or a bool as a float."""
    value = integer(value)
    if isinstance(value, int):
        return float_of(value)
    kind = kind_of(value)
    return value if kind.dtype.kind == "f" else Var(cast(value, FLOAT), kind.weak)


# Conditions.


def both(a: Mask, b: Mask) -> Mask:
    return b if a is None else a if b is None else apply("logical_and", a, b)


def either(a: Mask, b: Mask) -> Mask:
    return None if a is None or b is None else apply("logical_or", a, b)


def opposite(a: Handle) -> Handle:
    return apply("logical_not", a)


def truth(value: Value) -> bool | Handle:
    """Whether a value is true, as in a condition of Python's."""
    if isinstance(value, Var):
        return (
            value.handle
            if value.handle.dtype == BOOL
            else apply("not_equal", value.handle, cast(0, value.handle.dtype))
        )
    if isinstance(value, Named):
        raise Refused(f"{shown(value)} is used as a condition")
    return bool(value)


def select(condition: Handle, a: Value, b: Value) -> Value:
    """The first value where the condition holds, else the second; Refused for values that do not promote."""
    if a is b or (is_known(a) and type(a) is type(b) and repr(a) == repr(b)):
        return a
    if isinstance(a, Named) and isinstance(b, Named) and a.object is b.object:
        return a
    of = joined(type_of(a), type_of(b))
    made = [apply("where", condition, x, y) for x, y in zip(leaves(a, of), leaves(b, of), strict=True)]
    return value_of(of, made)


# Arithmetic.

#: Python's function for each function of the engine that is an operator.
_PYTHON = {OPERATORS[name]: function for name, function in PYTHON_FUNCTIONS.items()}

#: The largest exponent and count of bits for which operations on known integers are computed by Python.
_MOST_BITS = 1024


def by_python(function: Callable[..., Any], *operands: Value) -> Value | None:
    """The result of a function of Python's for known numbers; None if one is not known, or where Python raises."""
    if not all(map(is_known, operands)):
        return None
    try:
        made = function(*operands)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return made if type(made) in (bool, int, float) else None


def unary(op: str, x: Value) -> Value:
    """The operators `-`, `+` and `~`."""
    kind_of(x)
    x = integer(x)
    made = by_python(_PYTHON[op], x)
    if made is not None:
        return made
    kind = kind_of(x)
    return Var(apply(op, cast(x, kind.dtype)), kind.weak)


def binary(op: str, x: Value, y: Value, mask: Mask) -> Value:
    """An operator of two numbers. It raises nothing for elements that the mask excludes."""
    kind_of(x), kind_of(y)
    is_bitwise = op in ("bitwise_and", "bitwise_or", "bitwise_xor")
    if not (is_bitwise and kind_of(x).dtype == kind_of(y).dtype == BOOL):
        x, y = integer(x), integer(y)
    is_large = op in ("pow", "bitwise_left_shift") and isinstance(y, int) and y > _MOST_BITS
    made = None if is_large else by_python(_PYTHON[op], x, y)
    if made is not None:
        return made
    if op == "pow" and kind_of(x).dtype.kind in "iu" and isinstance(y, int) and y < 0:
        # Python's result is a float as well.
        x, y = floating(x), float(y)
    kind = common(x, y)
    if op == "divide" and kind.dtype.kind != "f":
        kind = Kind(FLOAT, kind.weak)
    a, b = cast(x, kind.dtype), cast(y, kind.dtype)
    if op in ("floor_divide", "remainder"):
        if kind.dtype.kind == "f":
            remainder = apply("remainder", a, b)
            return Var(remainder if op == "remainder" else quotient_and_remainder(a, b, remainder)[0], kind.weak)
        b = divisor(b, y, mask)
    return Var(apply(op, a, b), kind.weak)


def divisor(handle: Handle, value: Value, mask: Mask) -> Handle:
    """The divisor of a division of integers. It is 1 for the elements that the mask excludes: under
    `int_division="error"`, a division that an element does not perform must not raise."""
    if mask is None or (is_known(value) and value != 0):
        return handle
    return apply("where", mask, handle, cast(1, handle.dtype))


_SWAPPED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def compare(op: str, x: Value, y: Value) -> Value:
    """A comparison, exact for an integer and a float as well."""
    kinds_of_both = kind_of(x), kind_of(y)
    if not all(kind.dtype == BOOL for kind in kinds_of_both) or op not in ("equal", "not_equal"):
        x, y = integer(x), integer(y)
    made = by_python(_PYTHON[op], x, y)
    if made is not None:
        return made
    if kind_of(x).dtype.kind == "f" and kind_of(y).dtype.kind in "iu":
        x, y, op = y, x, _SWAPPED.get(op, op)
    if kind_of(x).dtype.kind in "iu" and kind_of(y).dtype.kind == "f" and not _is_exact(x):
        return Var(_compared_exactly(op, x, y))
    if kind_of(x).dtype.kind in "iu" and kind_of(y).dtype.kind in "iu":
        # The engine compares integers of different dtypes by their values.
        return Var(apply(op, _operand(x), _operand(y), numpy_promotion=True))
    dtype = common(x, y).dtype
    return Var(apply(op, cast(x, dtype), cast(y, dtype)))


def _operand(x: Value) -> Handle | Number:
    """A number as an operand of the engine."""
    if isinstance(x, Var):
        return x.handle
    assert isinstance(x, (bool, int, float))
    return x


def _is_exact(x: Value) -> bool:
    """Whether an integer is converted to a float without rounding, whichever it is."""
    if isinstance(x, int):
        return abs(x) < 2**1023 and float(x) == x
    return kind_of(x).dtype.itemsize < 8


def _compared_exactly(op: str, x: Value, y: Value) -> Handle:
    """A comparison of an integer of 64 bits with a float. Rounding the integer to a float keeps the order, so the
    integers themselves are compared only where the rounded one equals the float."""
    kind = kind_of(x)
    a, b = cast(x, kind.dtype), cast(y, FLOAT)
    rounded = a.astype(FLOAT)
    # Where the two are equal, the float is beyond the integers only if it is the power of two above them.
    beyond = apply("greater_equal", b, cast(2.0 ** (63 if kind.dtype.kind == "i" else 64), FLOAT))
    whole = b.astype(kind.dtype)
    if op in ("less", "less_equal"):
        tie = apply("logical_or", beyond, apply(op, a, whole))
    else:
        inner = "equal" if op == "not_equal" else op
        tie = apply("logical_and", opposite(beyond), apply(inner, a, whole))
    tie = apply("logical_and", apply("equal", rounded, b), tie)
    if op == "equal":
        return tie
    if op == "not_equal":
        return opposite(tie)
    return apply("logical_or", apply("less" if op.startswith("less") else "greater", rounded, b), tie)


def extreme(op: str, values: Sequence[Value]) -> Value:
    """Python's `min` ("less") and `max` ("greater"): a later value replaces an earlier one if it compares so."""
    made = values[0]
    kind_of(made)
    for value in values[1:]:
        test = truth(compare(op, value, made))
        made = select(test, value, made) if isinstance(test, Handle) else value if test else made
    return made
