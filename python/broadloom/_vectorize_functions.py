"""The functions that a function compiled by `vectorize` may call: Python's built-in functions, those of `math`,
element-wise functions of broadloom and NumPy, and the dtypes of NumPy as conversions.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from broadloom import _core, _dtypes, _elementwise
from broadloom._core import Handle
from broadloom._division import truncated_remainder
from broadloom._generated import elementwise, tables
from broadloom._vectorize_values import (
    BOOL,
    FLOAT,
    INT,
    Mask,
    Named,
    Refused,
    Value,
    Var,
    apply,
    binary,
    by_python,
    cast,
    common,
    divisor,
    extreme,
    floating,
    integer,
    kind_of,
    truth,
)

#: A function of a call: it takes the arguments, and the elements that perform the call.
Function = Callable[[Sequence[Value], Mask], Value]

_ROWS = {row["name"]: row for row in _core.functions()}


def function_of(called: Any) -> Function | None:
    """The meaning of an object in a call; None if it has none for numbers."""
    try:
        known = _FUNCTIONS.get(called)
    except TypeError:
        return None
    if known is not None:
        return known
    if isinstance(called, type) and issubclass(called, (np.number, np.bool)):
        return _conversion(np.dtype(called))
    if isinstance(called, np.ufunc) and called in tables.OPS:
        return _of_table(tables.OPS[called])
    return None


def _counted(name: str, count: int, function: Function) -> Function:
    """The function, which takes this number of arguments."""

    def call(values: Sequence[Value], mask: Mask) -> Value:
        if len(values) != count:
            raise Refused(f"`{name}` takes {count} argument{'s' * (count != 1)} here, not {len(values)}")
        return function(values, mask)

    return call


# Python's built-in functions.


def _int(values: Sequence[Value], mask: Mask) -> Value:
    made = by_python(int, *values)
    return Var(cast(values[0], INT)) if made is None else made


def _float(values: Sequence[Value], mask: Mask) -> Value:
    made = by_python(float, *values)
    return Var(cast(values[0], FLOAT)) if made is None else made


def _bool(values: Sequence[Value], mask: Mask) -> Value:
    made = truth(values[0])
    return Var(made) if isinstance(made, Handle) else made


def _abs(values: Sequence[Value], mask: Mask) -> Value:
    made = by_python(abs, *values)
    if made is not None:
        return made
    x = integer(values[0])
    kind = kind_of(x)
    return Var(apply("abs", cast(x, kind.dtype)), kind.weak)


def _extreme(name: str, op: str) -> Function:
    def call(values: Sequence[Value], mask: Mask) -> Value:
        least = 2
        if len(values) == 1 and isinstance(values[0], tuple):
            least, values = 1, values[0]
        if len(values) < least:
            raise Refused(f"`{name}` of {'one number' if values else 'nothing'}", "write at least two numbers")
        return extreme(op, values)

    return call


def _rounded(name: str, op: str, function: Callable[..., Any]) -> Function:
    """A function that rounds a float to an integer, which is weak like an integer of Python's."""

    def call(values: Sequence[Value], mask: Mask) -> Value:
        made = by_python(function, *values)
        if made is not None:
            return made
        x = integer(values[0])
        kind = kind_of(x)
        if kind.dtype.kind != "f":
            return x
        return Var(apply(op, cast(x, kind.dtype)).astype(INT), True)

    return _counted(name, 1, call)


def _round(values: Sequence[Value], mask: Mask) -> Value:
    if len(values) == 2:
        made = by_python(round, *values)
        if made is None:
            raise Refused("`round` with a number of digits", "write round(x * 100) / 100, which rounds twice")
        return made
    return _rounded("round", "round", round)(values, mask)


def _divmod(values: Sequence[Value], mask: Mask) -> Value:
    x, y = values
    return binary("floor_divide", x, y, mask), binary("remainder", x, y, mask)


def _pow(values: Sequence[Value], mask: Mask) -> Value:
    return binary("pow", values[0], values[1], mask)


def _len(values: Sequence[Value], mask: Mask) -> Value:
    if isinstance(values[0], tuple):
        return len(values[0])
    raise Refused("`len` of a number", "pass the length as an argument")


# Functions of `math`.


def _of_floats(name: str, op: str, count: int = 1) -> Function:
    """A function that the engine has for floats, of numbers."""
    of_python = getattr(math, name)

    def call(values: Sequence[Value], mask: Mask) -> Value:
        made = by_python(of_python, *values)
        if made is not None:
            return made
        operands = [floating(value) for value in values]
        kind = common(*operands)
        return Var(apply(op, *(cast(value, kind.dtype) for value in operands)), kind.weak)

    return _counted(f"math.{name}", count, call)


def _is(name: str) -> Function:
    """A question about a float, whose answer is a bool."""
    of_floats = _of_floats(name, name)

    def call(values: Sequence[Value], mask: Mask) -> Value:
        made = of_floats(values, mask)
        return Var(made.handle) if isinstance(made, Var) else made

    return call


def _log(values: Sequence[Value], mask: Mask) -> Value:
    if len(values) == 2:
        return binary("divide", _LOG(values[:1], mask), _LOG(values[1:], mask), mask)
    return _LOG(values, mask)


def _fmod(values: Sequence[Value], mask: Mask) -> Value:
    made = by_python(math.fmod, *values)
    if made is not None:
        return made
    x, y = floating(values[0]), floating(values[1])
    kind = common(x, y)
    return Var(truncated_remainder(cast(x, kind.dtype), cast(y, kind.dtype)), kind.weak)


def _times(function: Callable[..., Any], factor: float) -> Function:
    def call(values: Sequence[Value], mask: Mask) -> Value:
        made = by_python(function, *values)
        return binary("multiply", floating(values[0]), factor, mask) if made is None else made

    return _counted(f"math.{function.__name__}", 1, call)


# Functions of the engine's table, by the names of broadloom and NumPy.


def _of_table(op: str, of_floats: bool = False) -> Function:
    """A function of the engine. The operands promote, as in a call with arrays."""

    def call(values: Sequence[Value], mask: Mask) -> Value:
        if of_floats:
            values = [floating(value) for value in values]
        first: list[Handle] = []
        if op == "where":
            first = [cast(values[0], kind_of(values[0]).dtype)]
            values = values[1:]
        kind = common(*values)
        operands = [cast(value, kind.dtype) for value in values]
        if op in ("floor_divide", "remainder", "trunc_divide") and kind.dtype.kind != "f":
            operands[1] = divisor(operands[1], values[1], mask)
        made = apply(op, *first, *operands, numpy_promotion=True)
        return Var(made, kind.weak and made.dtype in (INT, FLOAT))

    return _counted(op, len(_ROWS[op]["operands"]), call)


def _conversion(dtype: np.dtype[Any]) -> Function:
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise Refused(
            f"a conversion to {dtype}", "broadloom has bool, int8 to int64, uint8 to uint64, float16 to float64"
        )

    def call(values: Sequence[Value], mask: Mask) -> Value:
        return Var(cast(values[0], dtype) if dtype != BOOL else cast(_bool(values, mask), BOOL))

    return _counted(dtype.name, 1, call)


def _astype(values: Sequence[Value], mask: Mask) -> Value:
    to = values[1]
    if not isinstance(to, Named):
        raise Refused("`astype` to a number", "name a dtype, such as broadloom.float32")
    return _conversion(np.dtype(to.object))(values[:1], mask)


def _made() -> dict[Any, Function]:
    functions: dict[Any, Function] = {
        builtins.int: _counted("int", 1, _int),
        builtins.float: _counted("float", 1, _float),
        builtins.bool: _counted("bool", 1, _bool),
        builtins.abs: _counted("abs", 1, _abs),
        builtins.min: _extreme("min", "less"),
        builtins.max: _extreme("max", "greater"),
        builtins.round: _round,
        builtins.divmod: _counted("divmod", 2, _divmod),
        builtins.pow: _counted("pow", 2, _pow),
        builtins.len: _counted("len", 1, _len),
        math.fabs: _of_floats("fabs", "abs"),
        math.pow: _of_floats("pow", "pow", 2),
        math.fmod: _counted("math.fmod", 2, _fmod),
        math.log: _log,
        math.degrees: _times(math.degrees, 180.0 / math.pi),
        math.radians: _times(math.radians, math.pi / 180.0),
        np.fabs: _of_table("abs", of_floats=True),
        np.float_power: _of_table("pow", of_floats=True),
        _dtypes.astype: _counted("astype", 2, _astype),
        _elementwise.clip: _of_table("clip"),
    }
    for name, row in _ROWS.items():
        if row["class"] == "floating" and hasattr(math, name) and name != "log":
            functions[getattr(math, name)] = _of_floats(name, name, len(row["operands"]))
    for name in ("isnan", "isinf", "isfinite"):
        functions[getattr(math, name)] = _is(name)
    for name in ("floor", "ceil", "trunc"):
        functions[getattr(math, name)] = _rounded(f"math.{name}", name, getattr(math, name))
    for name in elementwise.__all__:
        functions[getattr(elementwise, name)] = _of_table(name)
    return functions


_LOG = _of_floats("log", "log")
_FUNCTIONS = _made()
