"""The pair of `divmod`: a quotient and a remainder that belong together, as Python defines them for floats.

`//` is the floor of the quotient as it is rounded to the dtype, which the Array API standard prefers: 1.0 // 0.1 is
10.0. The remainder is exact, so that another quotient belongs to it: 9.0 in this example.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom import _core
from broadloom._core import Handle

Number = bool | int | float


def quotient_and_remainder(a: Handle | Number, b: Handle | Number, remainder: Handle) -> tuple[Handle, Handle]:
    """The quotient and the remainder of two operands. The remainder was computed before, and is returned as it is; both
    operands are converted to its dtype.

    For floats, the quotient is computed by the steps of CPython's `float.__divmod__`, which NumPy uses as well. A
    divisor of 0 gives the quotient of `/` and NaN.
    """
    dtype = remainder.dtype
    if dtype.kind != "f":
        return _core.apply("floor_divide", *(_as(x, dtype) for x in (a, b))), remainder
    # As NumPy, quotients of float16 are computed in float32 and rounded once.
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    return _as(_float_quotient(*(_as(_as(x, dtype), wide) for x in (a, b))), dtype), remainder


def _as(x: Handle | Number, dtype: np.dtype[Any]) -> Handle:
    if not isinstance(x, Handle):
        return Handle.full((), x, dtype)
    return x if x.dtype == dtype else x.astype(dtype)


def _float_quotient(x: Handle, y: Handle) -> Handle:
    apply = _core.apply
    # The remainder of the truncating division has the sign of x, and is exact.
    rest = apply("copysign", apply("remainder", apply("abs", x), apply("abs", y)), x)
    quotient = apply("divide", apply("subtract", x, rest), y)
    signs_differ = apply("not_equal", apply("less", rest, 0.0), apply("less", y, 0.0))
    is_above = apply("logical_and", apply("not_equal", rest, 0.0), signs_differ)
    quotient = apply("where", is_above, apply("subtract", quotient, 1.0), quotient)
    # The quotient is an integer, except for the rounding errors of these steps.
    floor = apply("floor", quotient)
    nearest = apply("where", apply("greater", apply("subtract", quotient, floor), 0.5), apply("add", floor, 1.0), floor)
    ratio = apply("divide", x, y)
    nearest = apply("where", apply("equal", quotient, 0.0), apply("copysign", 0.0, ratio), nearest)
    return apply("where", apply("equal", y, 0.0), ratio, nearest)
