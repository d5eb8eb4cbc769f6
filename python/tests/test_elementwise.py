"""Tests element-wise functions: each is the engine's function of the same name, with the standard's promotion."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pytest

import broadloom as bl
from broadloom import _elementwise

EXAMPLES = np.array([-2.5, -2.0, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, -np.inf, np.nan])
INTEGERS = np.array([-128, -7, -2, -1, 0, 1, 2, 3, 7, 127], dtype=np.int8)

#: Functions of one operand that have the same names in NumPy and in the standard.
UNARY_EXACT = [
    *["abs", "ceil", "floor", "isfinite", "isinf", "isnan", "negative", "positive", "reciprocal", "round"],
    *["sign", "signbit", "sqrt", "square", "trunc"],
]
UNARY_CLOSE = [
    *["acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log"],
    *["log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"],
]
BINARY_EXACT = [
    *["add", "copysign", "divide", "equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"],
    *["multiply", "nextafter", "not_equal", "subtract"],
]
BINARY_CLOSE = ["atan2", "hypot", "logaddexp", "pow"]
INTEGER_BINARY = ["bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "maximum", "minimum", "remainder"]


def canonical(values: np.ndarray) -> bytes:
    """The bits, with every NaN replaced by the one that computations return."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    # `tobytes` keeps the signs of zeros, which must agree.
    return values.tobytes()


def check(got: bl.Array, expected: np.ndarray, ulps: int = 0) -> None:
    values = np.asarray(got)
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    if ulps == 0:
        assert canonical(values) == canonical(expected)
    else:
        np.testing.assert_array_max_ulp(values, expected, maxulp=ulps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY_EXACT + UNARY_CLOSE)
def test_functions_of_one_float(name: str, dtype: str) -> None:
    x = EXAMPLES.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    check(getattr(bl, name)(bl.asarray(x)), expected, 0 if name in UNARY_EXACT else 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY_EXACT + BINARY_CLOSE)
def test_functions_of_two_floats(name: str, dtype: str) -> None:
    x1, x2 = EXAMPLES.astype(dtype)[:, None], EXAMPLES.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x1, x2)
    if name in ("maximum", "minimum"):
        # For two zeros, NumPy may return either one. broadloom returns the one that the table of functions specifies.
        zeros = (x1 == 0) & (x2 == 0)
        negative = np.signbit(x1) & np.signbit(x2) if name == "maximum" else np.signbit(x1) | np.signbit(x2)
        expected = np.where(zeros, np.where(negative, expected.dtype.type(-0.0), expected.dtype.type(0.0)), expected)
    check(getattr(bl, name)(bl.asarray(x1), bl.asarray(x2)), expected, 0 if name in BINARY_EXACT else 4)


@pytest.mark.parametrize("name", ["abs", "ceil", "floor", "negative", "positive", "round", "sign", "square", "trunc"])
def test_functions_of_one_integer(name: str) -> None:
    expected = INTEGERS if name in ("ceil", "floor", "round", "trunc") else getattr(np, name)(INTEGERS)
    check(getattr(bl, name)(bl.asarray(INTEGERS)), expected)


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_functions_of_two_integers(name: str) -> None:
    x1, x2 = INTEGERS[:, None], INTEGERS
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x1, x2)
    check(getattr(bl, name)(bl.asarray(x1), bl.asarray(x2)), expected)


def test_bits() -> None:
    x = bl.asarray([1, -16], dtype=bl.int16)
    check(bl.bitwise_invert(x), np.array([-2, 15], dtype=np.int16))
    check(bl.bitwise_left_shift(x, 3), np.array([8, -128], dtype=np.int16))
    check(bl.bitwise_right_shift(x, 2), np.array([0, -4], dtype=np.int16))
    check(bl.bitwise_right_shift(x, 100), np.array([0, -1], dtype=np.int16))
    check(bl.bitwise_left_shift(x, 16), np.array([0, 0], dtype=np.int16))


@pytest.mark.usefixtures("strict")
def test_logic() -> None:
    x, y = bl.asarray([True, True, False, False]), bl.asarray([True, False, True, False])
    assert bl.logical_and(x, y).tolist() == [True, False, False, False]
    assert bl.logical_or(x, y).tolist() == [True, True, True, False]
    assert bl.logical_xor(x, y).tolist() == [False, True, True, False]
    assert bl.logical_not(x).tolist() == [False, False, True, True]
    with pytest.raises(TypeError):
        bl.logical_and(bl.asarray([1]), bl.asarray([1]))


def test_error_function() -> None:
    # 0.8427007929497149 is erf(1) to 16 digits; Abramowitz and Stegun, table 7.1.
    assert float(bl.erf(bl.asarray(1.0))) == pytest.approx(0.8427007929497149, rel=3e-16)
    assert float(bl.erfc(bl.asarray(1.0))) == pytest.approx(0.1572992070502851, rel=3e-16)


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        (np.inf, 2.0, np.inf),
        (np.inf, -2.0, -np.inf),
        (1.0, -np.inf, -0.0),
        (-1.0, np.inf, -0.0),
        (1.0, 0.1, 10.0),
        (0.0, -1.0, -0.0),
        (np.inf, np.inf, np.nan),
        (-7.0, 2.0, -4.0),
    ],
)
def test_floor_divide_is_the_floor_of_the_rounded_quotient(x1: float, x2: float, expected: float) -> None:
    check(bl.floor_divide(bl.asarray(x1), bl.asarray(x2)), np.array(expected))
    check(bl.asarray(x1) // x2, np.array(expected))
    x = bl.asarray(x1)
    x //= x2
    check(x, np.array(expected))


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [(5.0, np.inf, 5.0), (-1.0, np.inf, np.inf), (-0.0, 3.0, 0.0), (7.0, -3.0, -2.0), (1.0, 0.0, np.nan)],
)
def test_remainder_has_the_sign_of_the_divisor(x1: float, x2: float, expected: float) -> None:
    check(bl.remainder(bl.asarray(x1), x2), np.array(expected))


def test_clip() -> None:
    x = bl.asarray([1.0, 5.0, 9.0, bl.nan])
    assert bl.clip(x, 2, 6).tolist()[:3] == [2, 5, 6]
    assert bl.clip(x, min=2).tolist()[:3] == [2, 5, 9]
    assert bl.clip(x, max=6).tolist()[:3] == [1, 5, 6]
    assert bl.clip(x).tolist()[:3] == [1, 5, 9]
    # If the lower bound is above the upper one, the upper one is the result.
    assert bl.clip(x, 8, 2).tolist()[:3] == [2, 2, 2]
    for clipped in (bl.clip(x, 2, 6), bl.clip(x, min=2), bl.clip(x, max=6), bl.clip(x)):
        assert np.isnan(np.asarray(clipped)[3])
    assert bl.clip(x, bl.asarray([[0.0], [4.0]])).shape == (2, 4)


@pytest.mark.usefixtures("strict")
def test_fma_rounds_once() -> None:
    x = [0.1, 3.0, -1.7]
    lost = [float(Fraction(y) ** 2 - Fraction(y * y)) for y in x]
    y = bl.asarray(x)
    assert bl.fma(y, y, -(y * y)).tolist() == lost
    assert bl.fma(y, 2, 1).tolist() == (y * 2 + 1).tolist()
    with pytest.raises(TypeError, match="fma: does not take int64"):
        bl.fma(bl.asarray([1]), 2, 3)


def test_contraction_is_an_option_of_evaluations() -> None:
    y = bl.asarray([0.1, 3.0])
    lost = bl.fma(y, y, -(y * y)).tolist()
    assert bl.evaluate(y * y - y * y, contract=True).tolist() == lost
    with bl.set_options(contract=True):
        assert (y * y - y * y).tolist() == lost
        assert bl.evaluate(y * y - y * y, contract=False).tolist() == [0.0, 0.0]
    assert (y * y - y * y).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match='accuracy is "high"'):
        bl.set_options(accuracy="high")  # type: ignore[arg-type]


@pytest.mark.usefixtures("strict")
def test_where() -> None:
    condition = bl.asarray([True, False])
    check(bl.where(condition, bl.asarray([1, 2], dtype=bl.int8), 5), np.array([1, 5], dtype=np.int8))
    check(bl.where(condition, 0.5, bl.asarray(2.0, dtype=bl.float32)), np.array([0.5, 2], dtype=np.float32))
    check(bl.where(condition, 1, 2), np.array([1, 2]))
    # A NaN that is not selected has no effect.
    check(bl.where(condition, bl.asarray([1.0, np.nan]), bl.asarray([np.nan, 2.0])), np.array([1.0, 2.0]))
    with pytest.raises(TypeError):
        bl.where(bl.asarray([1, 0]), 1, 2)


def test_parts_of_real_numbers() -> None:
    x = np.array([1.5, -0.0, np.inf, np.nan])
    check(bl.real(bl.asarray(x)), x)
    check(bl.conj(bl.asarray(x)), x)
    check(bl.imag(bl.asarray(x)), np.zeros(4))


def test_functions_of_numbers_alone_give_arrays_of_their_own_dtype() -> None:
    check(bl.sqrt(4.0), np.array(2.0))
    assert (bl.add(1, 2) + bl.asarray([1], dtype=bl.int8)).dtype == bl.int64
    check(bl.sqrt([4.0]), np.array([2.0]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="asarray"):
        bl.sqrt({4.0})  # type: ignore[arg-type]


@pytest.mark.usefixtures("strict")
def test_functions_of_floats_do_not_take_integers() -> None:
    with pytest.raises(TypeError, match="astype"):
        bl.sin(bl.asarray([1]))


SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("names", [SIGNED, UNSIGNED, ["float16", "float32", "float64"]])
def test_promotion_within_a_kind_is_to_the_wider(names: list[str]) -> None:
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            made = bl.add(bl.ones(1, dtype=first), bl.ones(1, dtype=second))
            assert made.dtype == np.dtype(names[max(i, j)])


@pytest.mark.usefixtures("strict")
def test_promotion_of_signed_and_unsigned() -> None:
    for i, unsigned in enumerate(UNSIGNED[:3]):
        for j, signed in enumerate(SIGNED):
            made = bl.add(bl.ones(1, dtype=unsigned), bl.ones(1, dtype=signed))
            assert made.dtype == np.dtype(SIGNED[max(i + 1, j)])
    with pytest.raises(TypeError):
        bl.add(bl.ones(1, dtype=bl.uint64), bl.ones(1, dtype=bl.int8))


@pytest.mark.parametrize("name", _elementwise.__all__)
def test_functions_written_by_hand_have_positional_operands_and_an_example(name: str) -> None:
    function = getattr(bl, name)
    first = next(iter(inspect.signature(function).parameters.values()))
    assert first.kind is inspect.Parameter.POSITIONAL_ONLY
    assert ">>> " in function.__doc__ and f"bl.{name}(" in function.__doc__


SPREAD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -0.1,
    7.5,
    -7.5,
    2.0,
    1e300,
    -1e300,
    5e-324,
    1e16,
    -0.7434992493538084,
    np.inf,
    -np.inf,
    np.nan,
]


def test_divmod_is_pythons() -> None:
    for dtype in ("f8", "f4", "f2"):
        with np.errstate(all="ignore"):
            x, y = np.repeat(SPREAD, len(SPREAD)).astype(dtype), np.tile(SPREAD, len(SPREAD)).astype(dtype)
            expected = np.divmod(x, y)
        for made in (divmod(bl.asarray(x), bl.asarray(y)), np.divmod(bl.asarray(x), bl.asarray(y))):
            for ours, theirs in zip(made, expected, strict=True):
                assert ours.dtype == theirs.dtype
                assert np.array_equal(ours, theirs, equal_nan=True)
            is_number = ~np.isnan(expected[0])
            assert np.array_equal(np.signbit(made[0])[is_number], np.signbit(expected[0])[is_number])
    finite = [(a, b) for a in SPREAD for b in SPREAD if b != 0]
    for a, b in finite:
        quotient, remainder = divmod(bl.asarray(a), b)
        assert np.array_equal([float(quotient), float(remainder)], divmod(a, b), equal_nan=True), (a, b)
    assert [float(part) for part in divmod(bl.asarray(1.0), 0.1)] == [9.0, 0.09999999999999995]
    assert float(bl.asarray(1.0) // 0.1) == 10.0
    assert [part.tolist() for part in divmod(7, bl.asarray([2, -3]))] == [[3, -3], [1, -2]]
