"""Element-wise functions: arithmetic, comparisons, rounding, logic and bits.

Operands are arrays and Python numbers. They broadcast, and promote to one dtype as in NumPy 2, or as in the standard
under `set_options(promotion="strict")`. Other dtypes than those that a function is documented to take are converted if
NumPy converts them: integers become floats for functions of floats. The engine's table of functions defines what each
function means, and the documentation here follows it. All functions raise TypeError for unsupported dtypes and for
dtypes that do not promote, and ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from broadloom import _core, _options
from broadloom._array import Array, apply
from broadloom._core import Handle
from broadloom._numpy_reductions import bounds_of
from broadloom._operators import Number, handle_of
from broadloom._signatures import take_numpys_arguments

__all__ = [
    "abs",
    "add",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "divide",
    "equal",
    "floor",
    "floor_divide",
    "fma",
    "greater",
    "greater_equal",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "square",
    "subtract",
    "trunc",
    "where",
]


def abs(x: Array, /) -> Array:
    """The absolute value; the minimum of a signed dtype stays as it is. Takes numbers, gives their dtype.

    >>> bl.abs(bl.asarray([-2, 3]))
    Array([2, 3], dtype=int64)
    """
    return apply("abs", x)


def add(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The sum; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.add(bl.asarray([1, 2]), 10)
    Array([11, 12], dtype=int64)
    """
    return apply("add", x1, x2)


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
    """The bits of `x1` shifted left by `x2`; 0 for a count outside 0…width-1. Takes integers, gives the dtype that they
    promote to.

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
    """The bits of `x1` shifted right by `x2`, keeping the sign; 0, or -1 for a negative value, for a count outside
    0…width-1. Takes integers, gives the dtype that they promote to.

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


def ceil(x: Array, /) -> Array:
    """The least integral value not less than x. Takes numbers, gives their dtype.

    >>> bl.ceil(bl.asarray([1.2, -1.2]))
    Array([ 2., -1.], dtype=float64)
    """
    return apply("ceil", x)


def clip(x: Array, /, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Each element, but at least `min` and at most `max`, which wins where `min` is greater; None sets no bound. NaN in any
    operand gives NaN. Takes numbers, gives the dtype that they promote to.

    >>> bl.clip(bl.asarray([1, 5, 9]), 2, 6)
    Array([2, 5, 6], dtype=int64)
    """
    if isinstance(x, Array) and _options.by_numpy(x._operand()):
        min, max = bounds_of(x.dtype, min, max)
    if min is None:
        return apply("positive", x) if max is None else apply("minimum", x, max)
    return apply("maximum", x, min) if max is None else apply("clip", x, min, max)


def conj(x: Array, /) -> Array:
    """The complex conjugate, which of a real number is the number. Takes numbers, gives their dtype.

    >>> bl.conj(bl.asarray([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return apply("positive", x)


def copysign(x1: Array | Number, x2: Array | Number, /) -> Array:
    """`x1` with the sign of `x2`. Takes floats, gives the dtype that they promote to.

    >>> bl.copysign(bl.asarray([1.0, 2.0]), bl.asarray([-0.0, 3.0]))
    Array([-1.,  2.], dtype=float64)
    """
    return apply("copysign", x1, x2)


def divide(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The quotient. Takes numbers, gives the float dtype that they promote to; integers are converted to float64
    first.

    >>> bl.divide(bl.asarray([1, 3]), 2)
    Array([0.5, 1.5], dtype=float64)
    """
    return apply("divide", x1, x2)


def equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether `x1` equals `x2`; NaN equals nothing. Takes all dtypes, gives bool.

    >>> bl.equal(bl.asarray([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("equal", x1, x2)


def floor(x: Array, /) -> Array:
    """The greatest integral value not greater than x. Takes numbers, gives their dtype.

    >>> bl.floor(bl.asarray([1.2, -1.2]))
    Array([ 1., -2.], dtype=float64)
    """
    return apply("floor", x)


def floor_divide(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The floor of the quotient; of floats, of the quotient as it is rounded to their dtype. An integer divided by 0 is 0.
    Takes numbers, gives the dtype that they promote to.

    >>> bl.floor_divide(bl.asarray([7, -7]), 2)
    Array([ 3, -4], dtype=int64)
    """
    return apply("floor_divide", x1, x2)


def fma(x1: Array | Number, x2: Array | Number, x3: Array | Number, /) -> Array:
    """`x1 * x2 + x3`, rounded once: the product is exact. Takes floats, gives the dtype that they promote to.

    >>> x = bl.asarray([0.1, 3.0])
    >>> bl.fma(x, x, -(x * x))
    Array([-8.32667268e-19,  0.00000000e+00], dtype=float64)
    """
    return apply("fma", x1, x2, x3)


def greater(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether `x1` is greater than `x2`. Takes numbers, gives bool.

    >>> bl.greater(bl.asarray([1, 3]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("greater", x1, x2)


def greater_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether `x1` is greater than `x2`, or equal. Takes numbers, gives bool.

    >>> bl.greater_equal(bl.asarray([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return apply("greater_equal", x1, x2)


def imag(x: Array, /) -> Array:
    """The imaginary part, which of a real number is 0. Takes numbers, gives their dtype.

    >>> bl.imag(bl.asarray([1.0, 2.0]))
    Array([0., 0.], dtype=float64)
    """
    handle = handle_of(x)
    zero = Handle.full([], 0, handle.dtype)
    return Array._of(_core.apply("where", _core.apply("not_equal", handle, handle), zero, zero))


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
    """Whether `x1` is less than `x2`. Takes numbers, gives bool.

    >>> bl.less(bl.asarray([1, 3]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("less", x1, x2)


def less_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether `x1` is less than `x2`, or equal. Takes numbers, gives bool.

    >>> bl.less_equal(bl.asarray([2, 3]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("less_equal", x1, x2)


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
    """The greater of both; NaN if either is, and -0 is less than +0. Takes numbers, gives the dtype that they promote
    to.

    >>> bl.maximum(bl.asarray([1.0, 5.0]), 3.0)
    Array([3., 5.], dtype=float64)
    """
    return apply("maximum", x1, x2)


def minimum(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The less of both; NaN if either is, and -0 is less than +0. Takes numbers, gives the dtype that they promote to.

    >>> bl.minimum(bl.asarray([1.0, 5.0]), 3.0)
    Array([1., 3.], dtype=float64)
    """
    return apply("minimum", x1, x2)


def multiply(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The product; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.multiply(bl.asarray([1, 2]), 10)
    Array([10, 20], dtype=int64)
    """
    return apply("multiply", x1, x2)


def negative(x: Array, /) -> Array:
    """-x; integers wrap. Takes numbers, gives their dtype.

    >>> bl.negative(bl.asarray([1, -2]))
    Array([-1,  2], dtype=int64)
    """
    return apply("negative", x)


def nextafter(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The next value of the dtype after `x1` towards `x2`; `x2` where they are equal. Takes floats, gives the dtype that they
    promote to.

    >>> bl.nextafter(bl.asarray([1.0]), 2.0) - 1.0
    Array([2.22044605e-16], dtype=float64)
    """
    return apply("nextafter", x1, x2)


def not_equal(x1: Array | Number, x2: Array | Number, /) -> Array:
    """Whether `x1` does not equal `x2`; NaN equals nothing. Takes all dtypes, gives bool.

    >>> bl.not_equal(bl.asarray([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """
    return apply("not_equal", x1, x2)


def positive(x: Array, /) -> Array:
    """x. Takes numbers, gives their dtype.

    >>> bl.positive(bl.asarray([1, -2]))
    Array([ 1, -2], dtype=int64)
    """
    return apply("positive", x)


def real(x: Array, /) -> Array:
    """The real part, which of a real number is the number. Takes numbers, gives their dtype.

    >>> bl.real(bl.asarray([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    return apply("positive", x)


def reciprocal(x: Array, /) -> Array:
    """1 / x. Takes floats, gives their dtype.

    >>> bl.reciprocal(bl.asarray([4.0, -0.0]))
    Array([0.25, -inf], dtype=float64)
    """
    return apply("reciprocal", x)


def remainder(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The remainder of the division, with the sign of `x2`, as Python's %; of an integer by 0 it is 0. Takes numbers, gives
    the dtype that they promote to.

    >>> bl.remainder(bl.asarray([7, -7]), 3)
    Array([1, 2], dtype=int64)
    """
    return apply("remainder", x1, x2)


def round(x: Array, /) -> Array:
    """The nearest integral value, ties to even. Takes numbers, gives their dtype.

    >>> bl.round(bl.asarray([0.5, 1.5, 1.2]))
    Array([0., 2., 1.], dtype=float64)
    """
    return apply("round", x)


def sign(x: Array, /) -> Array:
    """-1, 0 or 1 as x is negative, 0 or positive; NaN for NaN. Takes numbers, gives their dtype.

    >>> bl.sign(bl.asarray([-3.0, 0.0, 2.0]))
    Array([-1.,  0.,  1.], dtype=float64)
    """
    return apply("sign", x)


def signbit(x: Array, /) -> Array:
    """Whether the sign bit is set. Takes floats, gives bool.

    >>> bl.signbit(bl.asarray([0.0, -0.0]))
    Array([False,  True], dtype=bool)
    """
    return apply("signbit", x)


def square(x: Array, /) -> Array:
    """x * x; integers wrap. Takes numbers, gives their dtype.

    >>> bl.square(bl.asarray([2, -3]))
    Array([4, 9], dtype=int64)
    """
    return apply("square", x)


def subtract(x1: Array | Number, x2: Array | Number, /) -> Array:
    """The difference; integers wrap. Takes numbers, gives the dtype that they promote to.

    >>> bl.subtract(bl.asarray([1, 2]), 10)
    Array([-9, -8], dtype=int64)
    """
    return apply("subtract", x1, x2)


def trunc(x: Array, /) -> Array:
    """The integral part, toward zero. Takes numbers, gives their dtype.

    >>> bl.trunc(bl.asarray([1.7, -1.7]))
    Array([ 1., -1.], dtype=float64)
    """
    return apply("trunc", x)


def where(condition: Array, x1: Array | Number, x2: Array | Number, /) -> Array:
    """`x1` where the condition holds, else `x2`. Takes a bool condition and values of all dtypes, gives the dtype that the
    values promote to.

    >>> x = bl.asarray([1.0, -2.0, 3.0])
    >>> bl.where(x > 0, x, 0.0)
    Array([1., 0., 3.], dtype=float64)
    """
    return apply("where", condition, x1, x2)


take_numpys_arguments(globals(), __all__)
