# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""Element-wise functions. Operands are arrays and Python numbers. They broadcast, and promote to one dtype as in NumPy
2, or as in the standard under `set_options(promotion="strict")`. Other dtypes than those that a function takes are
converted if NumPy converts them: integers become floats for functions of floats. All functions raise TypeError for
unsupported dtypes and for dtypes that do not promote, and ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from broadloom._array import Array, apply
from broadloom._operators import Number
from broadloom._signatures import by_numpys, take_numpys_arguments

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fma",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "philox_high",
    "philox_low",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def abs(x: Array, /) -> Array:
    """Absolute value; the minimum of a signed dtype stays as it is. Takes numbers, gives their dtype.

    >>> bl.abs(bl.asarray([-2, 3]))
    Array([2, 3], dtype=int64)
    """
    return apply("abs", x)


def acos(x: Array, /) -> Array:
    """The angle whose cosine is x, in [0, π]; NaN outside [−1, 1]. Takes floats, gives their dtype. The error of a
    float is less than one unit in the last place.

    >>> bl.acos(bl.asarray([1.0, 0.0]))
    Array([0.        , 1.57079633], dtype=float64)
    """
    return apply("acos", x)


def acosh(x: Array, /) -> Array:
    """Inverse hyperbolic cosine; NaN below 1. Takes floats, gives their dtype. The error of a float is less than one
    unit in the last place.

    >>> bl.acosh(bl.asarray([1.0, 2.0]))
    Array([0.       , 1.3169579], dtype=float64)
    """
    return apply("acosh", x)


def add(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Sum; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.add(bl.asarray([1, 2]), 10)
    Array([11, 12], dtype=int64)
    """
    return apply("add", x1, x2)


def asin(x: Array, /) -> Array:
    """The angle whose sine is x, in [−π/2, π/2]; NaN outside [−1, 1]. Takes floats, gives their dtype. The error of a
    float is less than one unit in the last place.

    >>> bl.asin(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.57079633], dtype=float64)
    """
    return apply("asin", x)


def asinh(x: Array, /) -> Array:
    """Inverse hyperbolic sine. Takes floats, gives their dtype. The error of a float is less than one unit in the last
    place.

    >>> bl.asinh(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.88137359], dtype=float64)
    """
    return apply("asinh", x)


def atan(x: Array, /) -> Array:
    """The angle whose tangent is x, in [−π/2, π/2]. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.atan(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.78539816], dtype=float64)
    """
    return apply("atan", x)


def atan2(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The angle of the point (x2, x1), in [−π, π]. Takes floats, gives the dtype that they promote to. The error of a
    float is less than one unit in the last place.

    >>> bl.atan2(bl.asarray([1.0, -1.0]), bl.asarray([1.0, -1.0]))
    Array([ 0.78539816, -2.35619449], dtype=float64)
    """
    return apply("atan2", x1, x2)


def atanh(x: Array, /) -> Array:
    """Inverse hyperbolic tangent; ±infinity at ±1, NaN beyond. Takes floats, gives their dtype. The error of a float is
    less than one unit in the last place.

    >>> bl.atanh(bl.asarray([0.0, 1.0]))
    Array([ 0., inf], dtype=float64)
    """
    return apply("atanh", x)


def bitwise_and(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Bitwise and. Takes integers and bools, gives the dtype that they promote to.

    >>> bl.bitwise_and(bl.asarray([12, 10]), 6)
    Array([4, 2], dtype=int64)
    """
    return apply("bitwise_and", x1, x2)


def bitwise_invert(x: Array, /) -> Array:
    """Every bit inverted; not, for bool. Takes integers and bools, gives their dtype.

    >>> bl.bitwise_invert(bl.asarray([0, 5]))
    Array([-1, -6], dtype=int64)
    """
    return apply("bitwise_invert", x)


def bitwise_left_shift(x1: Array | Number, x2: Array | Number, /) -> Array:
    """x1 shifted left by x2 bits; 0 for a count outside 0…width−1. Takes integers, gives the dtype that they promote
    to.

    >>> bl.bitwise_left_shift(bl.asarray([1, 3]), 4)
    Array([16, 48], dtype=int64)
    """
    return apply("bitwise_left_shift", x1, x2)


def bitwise_or(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Bitwise or. Takes integers and bools, gives the dtype that they promote to.

    >>> bl.bitwise_or(bl.asarray([12, 10]), 1)
    Array([13, 11], dtype=int64)
    """
    return apply("bitwise_or", x1, x2)


def bitwise_right_shift(x1: Array | Number, x2: Array | Number, /) -> Array:
    """x1 shifted right by x2 bits, keeping the sign; 0, or −1 for a negative value, for a count outside 0…width−1.
    Takes integers, gives the dtype that they promote to.

    >>> bl.bitwise_right_shift(bl.asarray([16, -16]), 2)
    Array([ 4, -4], dtype=int64)
    """
    return apply("bitwise_right_shift", x1, x2)


def bitwise_xor(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Bitwise exclusive or. Takes integers and bools, gives the dtype that they promote to.

    >>> bl.bitwise_xor(bl.asarray([12, 10]), 6)
    Array([10, 12], dtype=int64)
    """
    return apply("bitwise_xor", x1, x2)


def cbrt(x: Array, /) -> Array:
    """Cube root. Takes floats, gives their dtype. The error of a float is less than one unit in the last place. Not in
    the standard.

    >>> bl.cbrt(bl.asarray([27.0, -8.0]))
    Array([ 3., -2.], dtype=float64)
    """
    return apply("cbrt", x)


def ceil(x: Array, /) -> Array:
    """The least integral value not less than x. Takes numbers, gives their dtype.

    >>> bl.ceil(bl.asarray([1.2, -1.2]))
    Array([ 2., -1.], dtype=float64)
    """
    return apply("ceil", x)


def copysign(x1: Array | Number, x2: Array | Number, /) -> Array:
    """x1 with the sign bit of x2, a stored NaN's included. Takes floats, gives the dtype that they promote to.

    >>> bl.copysign(bl.asarray([1.0, 2.0]), bl.asarray([-0.0, 3.0]))
    Array([-1.,  2.], dtype=float64)
    """
    return apply("copysign", x1, x2)


def cos(x: Array, /) -> Array:
    """Cosine of an angle in radians, of any size. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.cos(bl.asarray([0.0, 1.0]))
    Array([1.        , 0.54030231], dtype=float64)
    """
    return apply("cos", x)


def cosh(x: Array, /) -> Array:
    """Hyperbolic cosine. Takes floats, gives their dtype. The error of a float is less than one unit in the last place.

    >>> bl.cosh(bl.asarray([0.0, 1.0]))
    Array([1.        , 1.54308063], dtype=float64)
    """
    return apply("cosh", x)


def divide(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Quotient; integers are converted to float64 first. Takes numbers, gives floats.

    >>> bl.divide(bl.asarray([1, 3]), 2)
    Array([0.5, 1.5], dtype=float64)
    """
    return apply("divide", x1, x2)


def equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 equals x2; NaN equals nothing. Takes all dtypes, gives bool.

    >>> bl.equal(bl.asarray([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("equal", x1, x2)


def erf(x: Array, /) -> Array:
    """Error function: 2/√π times the integral of exp(−t²) from 0 to x. Takes floats, gives their dtype. The error of a
    float is less than one unit in the last place. Not in the standard.

    >>> bl.erf(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.84270079], dtype=float64)
    """
    return apply("erf", x)


def erfc(x: Array, /) -> Array:
    """1 − erf(x), without a loss of digits where that is small. Takes floats, gives their dtype. The error of a float
    is less than one unit in the last place. Not in the standard.

    >>> bl.erfc(bl.asarray([0.0, 1.0]))
    Array([1.        , 0.15729921], dtype=float64)
    """
    return apply("erfc", x)


def erfinv(x: Array, /) -> Array:
    """Inverse of the error function; ±infinity at ±1, NaN beyond. Takes floats, gives their dtype. The error of a float
    is less than one unit in the last place. Not in the standard.

    >>> bl.erfinv(bl.asarray([0.5, -1.0]))
    Array([0.47693628,       -inf], dtype=float64)
    """
    return apply("erfinv", x)


def exp(x: Array, /) -> Array:
    """e to the power x. Takes floats, gives their dtype. The error of a float is less than one unit in the last place.

    >>> bl.exp(bl.asarray([0.0, 1.0]))
    Array([1.        , 2.71828183], dtype=float64)
    """
    return apply("exp", x)


def exp2(x: Array, /) -> Array:
    """2 to the power x. Takes floats, gives their dtype. The error of a float is less than one unit in the last place.
    Not in the standard.

    >>> bl.exp2(bl.asarray([3.0, -1.0]))
    Array([8. , 0.5], dtype=float64)
    """
    return apply("exp2", x)


def expm1(x: Array, /) -> Array:
    """exp(x) − 1, without a loss of digits near 0. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.expm1(bl.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], dtype=float64)
    """
    return apply("expm1", x)


def floor(x: Array, /) -> Array:
    """The greatest integral value not greater than x. Takes numbers, gives their dtype.

    >>> bl.floor(bl.asarray([1.2, -1.2]))
    Array([ 1., -2.], dtype=float64)
    """
    return apply("floor", x)


def floor_divide(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Floor of the quotient; of floats, of the rounded quotient. Integer x/0 is 0, MIN/−1 wraps. Takes numbers, gives
    the dtype that they promote to.

    >>> bl.floor_divide(bl.asarray([7, -7]), 2)
    Array([ 3, -4], dtype=int64)
    """
    return apply("floor_divide", x1, x2)


def fma(x1: Array | Number, x2: Array | Number, x3: Array | Number, /) -> Array:
    """x1·x2 + x3, rounded once: the product is exact. Takes floats, gives the dtype that they promote to. Not in the
    standard.

    >>> x = bl.asarray([0.1, 3.0])
    >>> bl.fma(x, x, -(x * x))
    Array([-8.32667268e-19,  0.00000000e+00], dtype=float64)
    """
    return apply("fma", x1, x2, x3)


def greater(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 is greater than x2. Takes numbers, gives bool.

    >>> bl.greater(bl.asarray([1, 3]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("greater", x1, x2)


def greater_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 is greater than x2, or equal. Takes numbers, gives bool.

    >>> bl.greater_equal(bl.asarray([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("greater_equal", x1, x2)


def hypot(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The square root of x1² + x2², without overflow on the way. Takes floats, gives the dtype that they promote to.
    The error of a float is less than one unit in the last place.

    >>> bl.hypot(bl.asarray([3.0]), 4.0)
    Array([5.], dtype=float64)
    """
    return apply("hypot", x1, x2)


def isfinite(x: Array, /) -> Array:
    """Whether x is neither infinite nor NaN. Takes numbers, gives bool.

    >>> bl.isfinite(bl.asarray([1.0, bl.inf, bl.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return apply("isfinite", x)


def isinf(x: Array, /) -> Array:
    """Whether x is infinite. Takes numbers, gives bool.

    >>> bl.isinf(bl.asarray([1.0, bl.inf, bl.nan]))
    Array([False,  True, False], dtype=bool)
    """
    return apply("isinf", x)


def isnan(x: Array, /) -> Array:
    """Whether x is NaN. Takes numbers, gives bool.

    >>> bl.isnan(bl.asarray([1.0, bl.inf, bl.nan]))
    Array([False, False,  True], dtype=bool)
    """
    return apply("isnan", x)


def less(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 is less than x2. Takes numbers, gives bool.

    >>> bl.less(bl.asarray([1, 3]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("less", x1, x2)


def less_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 is less than x2, or equal. Takes numbers, gives bool.

    >>> bl.less_equal(bl.asarray([2, 3]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("less_equal", x1, x2)


def log(x: Array, /) -> Array:
    """Natural logarithm; −infinity at 0, NaN below. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.log(bl.asarray([1.0, 10.0]))
    Array([0.        , 2.30258509], dtype=float64)
    """
    return apply("log", x)


def log10(x: Array, /) -> Array:
    """Logarithm to base 10; −infinity at 0, NaN below. Takes floats, gives their dtype. The error of a float is less
    than one unit in the last place.

    >>> bl.log10(bl.asarray([1.0, 1000.0]))
    Array([0., 3.], dtype=float64)
    """
    return apply("log10", x)


def log1p(x: Array, /) -> Array:
    """log(1 + x), without a loss of digits near 0. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.log1p(bl.asarray([0.0, 1e-20]))
    Array([0.e+00, 1.e-20], dtype=float64)
    """
    return apply("log1p", x)


def log2(x: Array, /) -> Array:
    """Logarithm to base 2; −infinity at 0, NaN below. Takes floats, gives their dtype. The error of a float is less
    than one unit in the last place.

    >>> bl.log2(bl.asarray([1.0, 8.0]))
    Array([0., 3.], dtype=float64)
    """
    return apply("log2", x)


def logaddexp(x1: Array | Number, x2: Array | Number, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow on the way. Takes floats, gives the dtype that they promote to. The
    error of a float is less than one unit in the last place.

    >>> bl.logaddexp(bl.asarray([1000.0]), 1000.0)
    Array([1000.69314718], dtype=float64)
    """
    return apply("logaddexp", x1, x2)


def logical_and(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether both are true. Takes bools, gives bool.

    >>> bl.logical_and(bl.asarray([True, False]), True)
    Array([ True, False], dtype=bool)
    """
    return apply("logical_and", x1, x2)


def logical_not(x: Array, /) -> Array:
    """Whether x is false. Takes bools, gives bool.

    >>> bl.logical_not(bl.asarray([True, False]))
    Array([False,  True], dtype=bool)
    """
    return apply("logical_not", x)


def logical_or(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether either is true. Takes bools, gives bool.

    >>> bl.logical_or(bl.asarray([True, False]), False)
    Array([ True, False], dtype=bool)
    """
    return apply("logical_or", x1, x2)


def logical_xor(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether one is true, but not both. Takes bools, gives bool.

    >>> bl.logical_xor(bl.asarray([True, False]), True)
    Array([False,  True], dtype=bool)
    """
    return apply("logical_xor", x1, x2)


def maximum(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The greater of both; NaN if either is, and −0 is less than +0. Takes numbers, gives the dtype that they promote
    to.

    >>> bl.maximum(bl.asarray([1.0, 5.0]), 3.0)
    Array([3., 5.], dtype=float64)
    """
    return apply("maximum", x1, x2)


def minimum(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The less of both; NaN if either is, and −0 is less than +0. Takes numbers, gives the dtype that they promote to.

    >>> bl.minimum(bl.asarray([1.0, 5.0]), 3.0)
    Array([1., 3.], dtype=float64)
    """
    return apply("minimum", x1, x2)


def multiply(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Product; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.multiply(bl.asarray([1, 2]), 10)
    Array([10, 20], dtype=int64)
    """
    return apply("multiply", x1, x2)


def ndtri(x: Array, /) -> Array:
    """Quantile of the standard normal distribution: the inverse of its distribution function; −infinity at 0, infinity
    at 1, NaN outside [0, 1]. Takes floats, gives their dtype. The error of a float is less than one unit in the last
    place. Not in the standard.

    >>> bl.ndtri(bl.asarray([0.5, 0.975]))
    Array([0.        , 1.95996398], dtype=float64)
    """
    return apply("ndtri", x)


def negative(x: Array, /) -> Array:
    """−x; integers wrap. Takes numbers, gives their dtype.

    >>> bl.negative(bl.asarray([1, -2]))
    Array([-1,  2], dtype=int64)
    """
    return apply("negative", x)


def nextafter(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The next value of the dtype after x1 towards x2; x2 where they are equal. Takes floats, gives the dtype that they
    promote to.

    >>> bl.nextafter(bl.asarray([1.0]), 2.0) - 1.0
    Array([2.22044605e-16], dtype=float64)
    """
    return apply("nextafter", x1, x2)


def not_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether x1 does not equal x2; NaN equals nothing. Takes all dtypes, gives bool.

    >>> bl.not_equal(bl.asarray([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("not_equal", x1, x2)


def philox_high(key: Array | Number, upper: Array | Number, block: Array | Number, /) -> Array:
    """Words 2 and 3, word 2 in the low half, of a block of Philox4x32-10: its key, the upper half of its counter, and
    the lower half, which numbers blocks. Takes uint64, gives the dtype that they promote to."""
    return apply("philox_high", key, upper, block)


def philox_low(key: Array | Number, upper: Array | Number, block: Array | Number, /) -> Array:
    """Words 0 and 1, word 0 in the low half, of a block of Philox4x32-10: its key, the upper half of its counter, and
    the lower half, which numbers blocks. Takes uint64, gives the dtype that they promote to."""
    return apply("philox_low", key, upper, block)


def positive(x: Array, /) -> Array:
    """x. Takes numbers, gives their dtype.

    >>> bl.positive(bl.asarray([1, -2]))
    Array([ 1, -2], dtype=int64)
    """
    return apply("positive", x)


def pow(x1: Array | Number, x2: Array | Number, /) -> Array:
    """x1 to the power x2. Integers wrap; a negative integer exponent gives the exact value truncated, and 0 for base 0.
    Takes numbers, gives the dtype that they promote to. The error of a float is less than one unit in the last place.

    >>> bl.pow(bl.asarray([2, 3]), 3)
    Array([ 8, 27], dtype=int64)
    """
    return apply("pow", x1, x2)


def reciprocal(x: Array, /) -> Array:
    """1/x. Takes floats, gives their dtype.

    >>> bl.reciprocal(bl.asarray([4.0, -0.0]))
    Array([0.25, -inf], dtype=float64)
    """
    return apply("reciprocal", x)


def remainder(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Remainder with the sign of x2, as Python's %. Integer x%0 is 0, MIN%−1 is 0. Takes numbers, gives the dtype that
    they promote to.

    >>> bl.remainder(bl.asarray([7, -7]), 3)
    Array([1, 2], dtype=int64)
    """
    return apply("remainder", x1, x2)


def round(x: Array, /, decimals: int = 0) -> Array:
    """The nearest integral value, ties to even. Takes numbers, gives their dtype.

    >>> bl.round(bl.asarray([0.5, 1.5, 1.2]))
    Array([0., 2., 1.], dtype=float64)
    """
    if decimals:
        return by_numpys("round", x, decimals=decimals)
    return apply("round", x)


def sign(x: Array, /) -> Array:
    """−1, 0 or 1 as x is negative, 0 or positive; NaN for NaN. Takes numbers, gives their dtype.

    >>> bl.sign(bl.asarray([-3.0, 0.0, 2.0]))
    Array([-1.,  0.,  1.], dtype=float64)
    """
    return apply("sign", x)


def signbit(x: Array, /) -> Array:
    """Whether the sign bit is set, a stored NaN's included. Takes floats, gives bool.

    >>> bl.signbit(bl.asarray([0.0, -0.0]))
    Array([False,  True], dtype=bool)
    """
    return apply("signbit", x)


def sin(x: Array, /) -> Array:
    """Sine of an angle in radians, of any size. Takes floats, gives their dtype. The error of a float is less than one
    unit in the last place.

    >>> bl.sin(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.84147098], dtype=float64)
    """
    return apply("sin", x)


def sinh(x: Array, /) -> Array:
    """Hyperbolic sine. Takes floats, gives their dtype. The error of a float is less than one unit in the last place.

    >>> bl.sinh(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.17520119], dtype=float64)
    """
    return apply("sinh", x)


def sqrt(x: Array, /) -> Array:
    """Square root, correctly rounded; NaN below 0. Takes floats, gives their dtype.

    >>> bl.sqrt(bl.asarray([2.0, -0.0]))
    Array([ 1.41421356, -0.        ], dtype=float64)
    """
    return apply("sqrt", x)


def square(x: Array, /) -> Array:
    """x·x; integers wrap. Takes numbers, gives their dtype.

    >>> bl.square(bl.asarray([2, -3]))
    Array([4, 9], dtype=int64)
    """
    return apply("square", x)


def subtract(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Difference; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.subtract(bl.asarray([1, 2]), 10)
    Array([-9, -8], dtype=int64)
    """
    return apply("subtract", x1, x2)


def tan(x: Array, /) -> Array:
    """Tangent of an angle in radians, of any size. Takes floats, gives their dtype. The error of a float is less than
    one unit in the last place.

    >>> bl.tan(bl.asarray([0.0, 1.0]))
    Array([0.        , 1.55740772], dtype=float64)
    """
    return apply("tan", x)


def tanh(x: Array, /) -> Array:
    """Hyperbolic tangent. Takes floats, gives their dtype. The error of a float is less than one unit in the last
    place.

    >>> bl.tanh(bl.asarray([0.0, 1.0]))
    Array([0.        , 0.76159416], dtype=float64)
    """
    return apply("tanh", x)


def trunc(x: Array, /) -> Array:
    """The integer part, toward zero. Takes numbers, gives their dtype.

    >>> bl.trunc(bl.asarray([1.7, -1.7]))
    Array([ 1., -1.], dtype=float64)
    """
    return apply("trunc", x)


def where(condition: Array, x2: Array | Number, x3: Array | Number, /) -> Array:
    """x2 where the condition holds, else x3. Takes all dtypes, gives the dtype that they promote to.

    >>> x = bl.asarray([1.0, -2.0, 3.0])
    >>> bl.where(x > 0, x, 0.0)
    Array([1., 0., 3.], dtype=float64)
    """
    return apply("where", condition, x2, x3)


take_numpys_arguments(globals(), __all__)
