"""Functions of each element that give floats: powers, roots, exponentials, logarithms, angles.

Operands are as in the other functions of elements. All but `pow` take floats only: an integer array raises a TypeError
that says which conversion to write. Results are off by less than a unit in the last place; those of `sqrt` are the
nearest.
"""

from __future__ import annotations

from broadloom._array import Array, apply
from broadloom._operators import Number
from broadloom._signatures import take_numpys_arguments

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "pow",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


def acos(x: Array, /) -> Array:
    """The angle whose cosine is x, in [0, π]; NaN outside [-1, 1]. Takes floats, gives their dtype.

    >>> bl.acos(bl.asarray([1.0, 0.0]))
    Array([0.        , 1.57079633], dtype=float64)
    """
    return apply("acos", x)


def acosh(x: Array, /) -> Array:
    """The inverse hyperbolic cosine; NaN below 1. Takes floats, gives their dtype.

    >>> bl.acosh(bl.asarray([1.0, 2.0]))
    Array([0.       , 1.3169579], dtype=float64)
    """
    return apply("acosh", x)


def asin(x: Array, /) -> Array:
    """The angle whose sine is x, in [-π/2, π/2]; NaN outside [-1, 1]. Takes floats, gives their dtype.

    >>> bl.asin(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.57079633], dtype=float64)
    """
    return apply("asin", x)


def asinh(x: Array, /) -> Array:
    """The inverse hyperbolic sine. Takes floats, gives their dtype.

    >>> bl.asinh(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.88137359], dtype=float64)
    """
    return apply("asinh", x)


def atan(x: Array, /) -> Array:
    """The angle whose tangent is x, in [-π/2, π/2]. Takes floats, gives their dtype.

    >>> bl.atan(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.78539816], dtype=float64)
    """
    return apply("atan", x)


def atan2(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The angle of the point (`x2`, `x1`), in [-π, π]. Takes floats, gives the dtype that they promote to.

    >>> bl.atan2(bl.asarray([1.0, -1.0]), bl.asarray([1.0, -1.0]))
    Array([ 0.78539816, -2.35619449], dtype=float64)
    """
    return apply("atan2", x1, x2)


def atanh(x: Array, /) -> Array:
    """The inverse hyperbolic tangent; infinite at ±1, NaN beyond. Takes floats, gives their dtype.

    >>> bl.atanh(bl.asarray([0.0, 1.0]))
    Array([ 0., inf], dtype=float64)
    """
    return apply("atanh", x)


def cbrt(x: Array, /) -> Array:
    """The cube root. Takes floats, gives their dtype. Not in the standard.

    >>> bl.cbrt(bl.asarray([27.0, -8.0]))
    Array([ 3., -2.], dtype=float64)
    """
    return apply("cbrt", x)


def cos(x: Array, /) -> Array:
    """The cosine of an angle in radians, of any size. Takes floats, gives their dtype.

    >>> bl.cos(bl.asarray([0.0, 1.0]))
    Array([1.        , 0.54030231], dtype=float64)
    """
    return apply("cos", x)


def cosh(x: Array, /) -> Array:
    """The hyperbolic cosine. Takes floats, gives their dtype.

    >>> bl.cosh(bl.asarray([0.0, 1.0]))
    Array([1.        , 1.54308063], dtype=float64)
    """
    return apply("cosh", x)


def erf(x: Array, /) -> Array:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x. Takes floats, gives their dtype. Not in the
    standard.

    >>> bl.erf(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.84270079], dtype=float64)
    """
    return apply("erf", x)


def erfc(x: Array, /) -> Array:
    """1 - erf(x), without a loss of digits where that is small. Takes floats, gives their dtype. Not in the standard.

    >>> bl.erfc(bl.asarray([0.0, 1.0]))
    Array([1.        , 0.15729921], dtype=float64)
    """
    return apply("erfc", x)


def exp(x: Array, /) -> Array:
    """e to the power x. Takes floats, gives their dtype.

    >>> bl.exp(bl.asarray([0.0, 1.0]))
    Array([1.        , 2.71828183], dtype=float64)
    """
    return apply("exp", x)


def exp2(x: Array, /) -> Array:
    """2 to the power x. Takes floats, gives their dtype. Not in the standard.

    >>> bl.exp2(bl.asarray([3.0, -1.0]))
    Array([8. , 0.5], dtype=float64)
    """
    return apply("exp2", x)


def expm1(x: Array, /) -> Array:
    """exp(x) - 1, without a loss of digits near 0. Takes floats, gives their dtype.

    >>> bl.expm1(bl.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], dtype=float64)
    """
    return apply("expm1", x)


def hypot(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The square root of x1² + x2², without overflow on the way. Takes floats, gives the dtype that they promote to.

    >>> bl.hypot(bl.asarray([3.0]), 4.0)
    Array([5.], dtype=float64)
    """
    return apply("hypot", x1, x2)


def log(x: Array, /) -> Array:
    """The natural logarithm; -infinity at 0, NaN below. Takes floats, gives their dtype.

    >>> bl.log(bl.asarray([1.0, 10.0]))
    Array([0.        , 2.30258509], dtype=float64)
    """
    return apply("log", x)


def log10(x: Array, /) -> Array:
    """The logarithm to base 10; -infinity at 0, NaN below. Takes floats, gives their dtype.

    >>> bl.log10(bl.asarray([1.0, 1000.0]))
    Array([0., 3.], dtype=float64)
    """
    return apply("log10", x)


def log1p(x: Array, /) -> Array:
    """log(1 + x), without a loss of digits near 0. Takes floats, gives their dtype.

    >>> bl.log1p(bl.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], dtype=float64)
    """
    return apply("log1p", x)


def log2(x: Array, /) -> Array:
    """The logarithm to base 2; -infinity at 0, NaN below. Takes floats, gives their dtype.

    >>> bl.log2(bl.asarray([1.0, 8.0]))
    Array([0., 3.], dtype=float64)
    """
    return apply("log2", x)


def logaddexp(x1: Array | Number, x2: Array | Number, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow on the way. Takes floats, gives the dtype that they promote to.

    >>> bl.logaddexp(bl.asarray([1000.0]), 1000.0)
    Array([1000.69314718], dtype=float64)
    """
    return apply("logaddexp", x1, x2)


def pow(x1: Array | Number, x2: Array | Number, /) -> Array:
    """`x1` to the power `x2`. Integers wrap; a negative exponent of integers gives the exact value without its fraction, and
    0 for base 0. Takes numbers, gives the dtype that they promote to.

    >>> bl.pow(bl.asarray([2, 3]), 3)
    Array([ 8, 27], dtype=int64)
    """
    return apply("pow", x1, x2)


def sin(x: Array, /) -> Array:
    """The sine of an angle in radians, of any size. Takes floats, gives their dtype.

    >>> bl.sin(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.84147098], dtype=float64)
    """
    return apply("sin", x)


def sinh(x: Array, /) -> Array:
    """The hyperbolic sine. Takes floats, gives their dtype.

    >>> bl.sinh(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.17520119], dtype=float64)
    """
    return apply("sinh", x)


def sqrt(x: Array, /) -> Array:
    """The square root, correctly rounded; NaN below 0. Takes floats, gives their dtype.

    >>> bl.sqrt(bl.asarray([2.0, -0.0]))
    Array([ 1.41421356, -0.        ], dtype=float64)
    """
    return apply("sqrt", x)


def tan(x: Array, /) -> Array:
    """The tangent of an angle in radians, of any size. Takes floats, gives their dtype.

    >>> bl.tan(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.55740772], dtype=float64)
    """
    return apply("tan", x)


def tanh(x: Array, /) -> Array:
    """The hyperbolic tangent. Takes floats, gives their dtype.

    >>> bl.tanh(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.76159416], dtype=float64)
    """
    return apply("tanh", x)


take_numpys_arguments(globals(), __all__)
