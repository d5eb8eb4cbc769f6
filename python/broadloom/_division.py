"""The pair of `divmod`: quotient and remainder that belong together, as Python defines them for floats.

`//` is the floor of the quotient as it is rounded to the dtype, which the Array API standard prefers: 1.0 // 0.1 is 10.0. The
remainder is exact, so that the quotient that belongs to it is another: 9.0 here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom import _core
from broadloom._core import Handle

Number = bool | int | float


def quotient_and_remainder(a: Handle | Number, b: Handle | Number, remainder: Handle) -> tuple[Handle, Handle]:
    """The pair of two operands, whose remainder is given, and is returned as it is; both operands are converted to its dtype.

    Of floats, the steps are those of CPython's `float.__divmod__`, which NumPy takes as well. A divisor of 0 gives the
    quotient of `/` and NaN.
    """
    dtype = remainder.dtype
    if dtype.kind != "f":
        return _core.apply("floor_divide", *(_as(x, dtype) for x in (a, b))), remainder
    # NumPy computes those of float16 in float32, and rounds once.
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    return _as(_float_quotient(*(_as(_as(x, dtype), wide) for x in (a, b))), dtype), remainder


def _as(x: Handle | Number, dtype: np.dtype[Any]) -> Handle:
    if not isinstance(x, Handle):
        return Handle.full((), x, dtype)
    return x if x.dtype == dtype else x.astype(dtype)


def _float_quotient(x: Handle, y: Handle) -> Handle:
    apply = _core.apply
    # The remainder of the quotient that is truncated has the sign of x, and is exact.
    rest = apply("copysign", apply("remainder", apply("abs", x), apply("abs", y)), x)
    quotient = apply("divide", apply("subtract", x, rest), y)
    signs_differ = apply("not_equal", apply("less", rest, 0.0), apply("less", y, 0.0))
    is_above = apply("logical_and", apply("not_equal", rest, 0.0), signs_differ)
    quotient = apply("where", is_above, apply("subtract", quotient, 1.0), quotient)
    # It is an integer but for the rounding of these steps.
    floor = apply("floor", quotient)
    nearest = apply("where", apply("greater", apply("subtract", quotient, floor), 0.5), apply("add", floor, 1.0), floor)
    ratio = apply("divide", x, y)
    nearest = apply("where", apply("equal", quotient, 0.0), apply("copysign", 0.0, ratio), nearest)
    return apply("where", apply("equal", y, 0.0), ratio, nearest)
