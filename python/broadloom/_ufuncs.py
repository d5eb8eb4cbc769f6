"""NumPy's universal functions as expressions, with NumPy's own dtypes.

`numpy.ufunc.resolve_dtypes` determines the loop that a call runs in. Each operand is converted to the loop's dtype, and
the engine's function is applied to operands of that dtype. `numpy.add(x, y)` therefore has the same dtype as for NumPy
arrays, even if operators of arrays promote as the standard does. The functions here accept and return handles, not
arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom._division import quotient_and_remainder
from broadloom._generated.tables import OPS

Number = bool | int | float
#: NumPy's rules for conversions.
Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


class Parameter(NamedTuple):
    """A Python number that is passed to a kernel when it runs. It promotes like the number."""

    handle: Handle
    kind: type


#: The operands of the functions here.
Operand = Handle | Parameter | Number

#: A function that builds the result from operands that all have the loop's dtype.
Build = Callable[..., Handle]


class Unsupported(Exception):
    """Raised if a call can't be expressed. The operands are then evaluated, and NumPy computes the result."""


#: The dtypes that the engine supports.
DTYPES = frozenset(np.dtype(name) for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
BOOL = np.dtype(bool)
COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def own_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype, if the engine supports it."""
    made: np.dtype[Any] = np.dtype(dtype)
    if made not in DTYPES or not made.isnative:
        raise Unsupported
    return made


def lend(values: np.ndarray) -> Handle:
    """A handle of the memory of a NumPy array, or of a copy if it can't be shared."""
    if values.dtype.newbyteorder("=") not in DTYPES:
        raise Unsupported
    try:
        return Handle.from_numpy(values)
    except ValueError:
        return Handle.from_numpy(np.array(values, dtype=values.dtype.newbyteorder("="), order="C", subok=False))


def converted(x: Handle, dtype: np.dtype[Any]) -> Handle:
    """The handle converted to a dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


def number_as(value: Number, dtype: np.dtype[Any]) -> Number:
    """The number converted to the dtype of the arrays it is combined with, as NumPy does it. OverflowError for an
    integer out of range."""
    made: Number = np.asarray(value, dtype=dtype).item()
    return made


def as_dtype(x: Operand, dtype: np.dtype[Any]) -> Handle | Number:
    """An operand in a dtype; a number is kept."""
    if isinstance(x, Handle):
        return converted(x, dtype)
    return converted(x.handle, dtype) if isinstance(x, Parameter) else number_as(x, dtype)


def kind(x: Operand) -> Any:
    """The properties of an operand that NumPy's promotion depends on: its dtype, or the type of a Python number."""
    if isinstance(x, Handle):
        return x.dtype
    found = x.kind if isinstance(x, Parameter) else type(x)
    return BOOL if found is bool else found


def operands_as(dtype: np.dtype[Any], *operands: Operand) -> list[Handle | Number]:
    """The operands in one dtype. Numbers stay literals in the expression, unless there are only numbers."""
    made = [as_dtype(x, dtype) for x in operands]
    numbers = [x for x in made if not isinstance(x, Handle)]
    if len(numbers) == len(made):
        made[0] = Handle.full((), numbers[0], dtype)
    return made


def common_dtype(*operands: Operand) -> np.dtype[Any]:
    """The dtype to which NumPy promotes the operands."""
    made = np.result_type(*(x.kind() if isinstance(x, Parameter) else getattr(x, "dtype", x) for x in operands))
    return own_dtype(made)


# Functions that are not in the op table, but composed of functions in it.


def _apply(op: str) -> Build:
    def build(*operands: Handle | Number) -> Handle:
        return _core.apply(op, *operands, numpy_promotion=True)

    return build


def _without_nan(op: str) -> Build:
    """`fmax` and `fmin`: if one operand is NaN, the result is the other one."""
    extreme = _apply(op)

    def build(a: Handle | Number, b: Handle | Number) -> Handle:
        made = extreme(a, b)
        if made.dtype.kind != "f":
            return made
        full = [x if isinstance(x, Handle) else Handle.full((), x, made.dtype) for x in (a, b)]
        first = _core.apply("where", _core.apply("isnan", full[1]), full[0], made)
        return _core.apply("where", _core.apply("isnan", full[0]), full[1], first)

    return build


def _scaled(factor: float) -> Build:
    def build(x: Handle) -> Handle:
        return _core.apply("multiply", x, number_as(factor, x.dtype))

    return build


def _reciprocal(x: Handle) -> Handle:
    if x.dtype.kind != "f":
        raise Unsupported
    return _core.apply("reciprocal", x)


def _conjugate(x: Handle) -> Handle:
    return x if x.dtype == BOOL else _core.apply("positive", x)


def _power(base: Handle | Number, exponent: Handle | Number) -> Handle:
    if type(exponent) is int and exponent < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return _core.apply("pow", base, exponent)


def _quotient_and_remainder(a: Handle | Number, b: Handle | Number) -> tuple[Handle, Handle]:
    return quotient_and_remainder(a, b, _core.apply("remainder", a, b))


#: The implementation of each universal function. Functions that are not in the table are computed by NumPy.
UFUNCS: dict[np.ufunc, Callable[..., Handle | tuple[Handle, ...]]] = {
    **{ufunc: _apply(op) for ufunc, op in OPS.items()},
    np.reciprocal: _reciprocal,
    np.fmax: _without_nan("maximum"),
    np.fmin: _without_nan("minimum"),
    np.conjugate: _conjugate,
    np.power: _power,
    np.degrees: _scaled(180 / math.pi),
    np.rad2deg: _scaled(180 / math.pi),
    np.radians: _scaled(math.pi / 180),
    np.deg2rad: _scaled(math.pi / 180),
    np.divmod: _quotient_and_remainder,
}


@lru_cache(maxsize=4096)
def _loop(ufunc: np.ufunc, kinds: tuple[Any, ...], signature: Any, casting: str | None) -> tuple[np.dtype[Any], ...]:
    arguments: dict[str, Any] = {"casting": casting or "same_kind"}
    if signature is not None:
        arguments["signature"] = signature
    given: Any = kinds + (None,) * ufunc.nout
    dtypes = ufunc.resolve_dtypes(given, **arguments)
    if not all(dtype in DTYPES for dtype in dtypes):
        raise Unsupported
    return dtypes


def loop(
    ufunc: np.ufunc, operands: tuple[Operand, ...], dtype: Any, signature: Any, casting: Any
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of operands and results in NumPy's loop for the call. Raises NumPy's TypeError if there is no loop,
    and `Unsupported` if the engine lacks a dtype."""
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    if signature is not None and not isinstance(signature, str):
        signature = tuple(None if part is None else np.dtype(part) for part in signature)
    dtypes = _loop(ufunc, tuple(map(kind, operands)), signature, casting)
    return dtypes


def call(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    dtype: Any = None,
    signature: Any = None,
    casting: Any = None,
) -> tuple[Handle, ...]:
    """The results of a universal function.

    Raises `Unsupported` for a function or dtype that the engine lacks, TypeError if NumPy has no loop for the operands,
    and OverflowError for a number that the loop's dtype can't represent.
    """
    build = UFUNCS.get(ufunc)
    if build is None:
        raise Unsupported
    dtypes = loop(ufunc, operands, dtype, signature, casting)
    inputs, results = dtypes[: ufunc.nin], dtypes[ufunc.nin :]
    if inputs.count(inputs[0]) == len(inputs):
        try:
            given = operands_as(inputs[0], *operands)
        except OverflowError:
            if ufunc in COMPARISONS:
                raise Unsupported from None  # NumPy compares with integers of any size.
            raise
    else:
        given = [operands_as(dtype, x)[0] for x, dtype in zip(operands, inputs, strict=True)]
    made = build(*given)
    if isinstance(made, Handle):
        return (converted(made, results[0]),)
    return tuple(converted(x, dtype) for x, dtype in zip(made, results, strict=True))
