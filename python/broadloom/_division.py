"""The remainder of C, and the two results of `divmod`.

The quotient and the remainder of `divmod` are consistent with each other, as Python defines them for floats.

`//` is the floor of the quotient after rounding it to the dtype, as the Array API standard prefers: 1.0 // 0.1 is 10.0.
The remainder is exact, so the quotient that is consistent with it differs: here it is 9.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom import _core
from broadloom._core import Handle

Number = bool | int | float


def quotient_and_remainder(a: Handle | Number, b: Handle | Number, remainder: Handle) -> tuple[Handle, Handle]:
    """The quotient consistent with a given remainder of two operands, and the remainder itself. The operands are
    converted to the remainder's dtype.

    For floats, the steps are those of CPython's `float.__divmod__`, as in NumPy. For a divisor of 0, the results are
    the quotient of `/` and NaN.
    """
    dtype = remainder.dtype
    if dtype.kind != "f":
        return _core.apply("floor_divide", *(_as(x, dtype) for x in (a, b))), remainder
    # NumPy computes float16 in float32 and rounds once.
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    return _as(_float_quotient(*(_as(_as(x, dtype), wide) for x in (a, b))), dtype), remainder


def truncated_remainder(x: Handle | Number, y: Handle | Number) -> Handle:
    """The remainder of floats with the sign of `x`: C's `fmod`. It is computed from magnitudes, whose remainder is exact and
    has no sign to consider."""
    apply = _core.apply
    return apply("copysign", apply("remainder", apply("abs", x), apply("abs", y)), x)


def _as(x: Handle | Number, dtype: np.dtype[Any]) -> Handle:
    if not isinstance(x, Handle):
        return Handle.full((), x, dtype)
    return x if x.dtype == dtype else x.astype(dtype)


def _float_quotient(x: Handle, y: Handle) -> Handle:
    apply = _core.apply
    rest = truncated_remainder(x, y)
    quotient = apply("divide", apply("subtract", x, rest), y)
    signs_differ = apply("not_equal", apply("less", rest, 0.0), apply("less", y, 0.0))
    is_above = apply("logical_and", apply("not_equal", rest, 0.0), signs_differ)
    quotient = apply("where", is_above, apply("subtract", quotient, 1.0), quotient)
    # An integer, except for rounding errors in these steps.
    floor = apply("floor", quotient)
    nearest = apply("where", apply("greater", apply("subtract", quotient, floor), 0.5), apply("add", floor, 1.0), floor)
    ratio = apply("divide", x, y)
    nearest = apply("where", apply("equal", quotient, 0.0), apply("copysign", 0.0, ratio), nearest)
    return apply("where", apply("equal", y, 0.0), ratio, nearest)
