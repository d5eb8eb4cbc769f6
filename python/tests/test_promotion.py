"""Tests the promotion rule that is set for the process, and the names that the namespace takes from NumPy."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import operator
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core, _options

VALUES = np.random.default_rng(3).standard_normal((60, 40))


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_promotion_is_numpys_unless_the_standards_is_set() -> None:
    x = bl.asarray(np.array([1, 2]))
    assert (x * 2.5).tolist() == [2.5, 5.0]
    bl.set_options(promotion="strict")
    with pytest.raises(TypeError, match="astype"):
        x * 2.5
    with bl.set_options(promotion="numpy"):
        assert (x * 2.5).tolist() == [2.5, 5.0]
        assert (x / bl.asarray(np.array([2.0, 4.0], "f4"))).dtype == np.float64
        assert bl.sum(x > 1).item() == 1
        assert bl.exp(x).dtype == np.float64
        assert bl.result_type(bl.int64, bl.float32) == np.float64
        assert bl.concat([x, bl.asarray([0.5])]).tolist() == [1, 2, 0.5]
        assert bl.where(x > 1, x, 0.5).tolist() == [0.5, 2]
        assert (bl.asarray([True]) + bl.asarray([True])).tolist() == [True]
        with pytest.raises(OverflowError):
            bl.asarray(np.array([1], "u1")) + 300
    with pytest.raises(TypeError):
        x * 2.5
    before = bl.set_options(promotion="numpy")
    assert (x * 2.5).dtype == np.float64
    bl.set_options(promotion="strict")
    with pytest.raises(TypeError):
        x * 2.5
    with pytest.raises(ValueError, match="expected 'strict' or 'numpy'"):
        bl.set_options(promotion="loose")  # type: ignore[arg-type]
    del before


def test_in_place_operators_keep_the_dtype_as_numpy_does() -> None:
    x = bl.asarray(np.array([1, 2], "i4"))
    with bl.set_options(promotion="strict"), pytest.raises(TypeError, match="in place"):
        x += bl.asarray(np.array([1, 2]))
    with bl.set_options(promotion="numpy"):
        x += bl.asarray(np.array([1, 2]))
        assert x.dtype == np.int32 and x.tolist() == [2, 4]
        with pytest.raises(TypeError, match="float64"):
            x += bl.asarray([0.5, 0.5])
    assert x.tolist() == [2, 4]


def test_the_namespace_has_numpys_other_functions() -> None:
    x = bl.asarray(VALUES)
    assert_close(bl.median(x, axis=0), np.median(VALUES, axis=0))
    assert_close(bl.transpose(x), VALUES.T)
    assert_close(bl.fmax(x, 0.0), np.fmax(VALUES, 0.0))
    assert bl.lib is np.lib
    for name in ("ndarray", "complex64", "testing", "nothing", "_core_of_nothing"):
        assert not hasattr(bl, name)


@pytest.mark.usefixtures("strict")
def test_options_act_when_they_are_called_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # No frame is read, so the caller's use of the result does not matter.
    monkeypatch.delattr("sys._getframe")
    x = bl.asarray(np.array([1, 2]))
    made = bl.set_options(promotion="numpy", contract=True)
    assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]
    with made:
        assert (x * 2.5).tolist() == [2.5, 5.0]
    for _ in range(2):
        with pytest.raises(TypeError):
            x * 2.5
        assert _core.set_semantics() == ("fast", False)
        with made:
            assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]


@pytest.mark.usefixtures("strict")
def test_options_are_given_back_however_a_block_is_entered() -> None:
    x = bl.asarray(np.array([1, 2]))

    def of_a_function() -> Any:
        return bl.set_options(promotion="numpy", contract=True)

    with of_a_function():
        assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(bl.set_options(promotion="numpy", contract=True))
        assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]
    with bl.set_options(promotion="numpy"):
        with bl.set_options(promotion="strict"), pytest.raises(TypeError):
            x * 2.5
        assert (x * 2.5).tolist() == [2.5, 5.0]
    for wrong in ({"accuracy": "high"}, {"promotion": "loose"}):
        with pytest.raises(ValueError, match="expected"):
            bl.set_options(contract=True, **wrong)
    assert _core.set_semantics() == ("fast", False)
    with pytest.raises(TypeError):
        x * 2.5


# Arrays that have a rule of their own.


def with_numpys_rule(values: Any) -> Any:
    return bl.asarray(np.array(values)).promoting_by_numpy()


MADE: dict[str, Any] = {
    "an operator": lambda x: x + 1,
    "a reflected operator": lambda x: 1 - x,
    "an operator with another array": lambda x: bl.asarray(np.array([3, 4])) + x,
    "a function": bl.abs,
    "a conversion": lambda x: bl.astype(x, bl.int32),
    "an index": lambda x: x[::-1],
    "a reduction": lambda x: bl.sum(x, keepdims=True),
    "a view": lambda x: bl.reshape(x, (2, 1)),
    "evaluation": lambda x: bl.evaluate(x + 1),
    "a function of NumPy's": lambda x: np.add(x, 1),
    "a copy": lambda x: x.copy(),
    "pickling": lambda x: pickle.loads(pickle.dumps(x)),
    "pickling as a text": lambda x: pickle.loads(pickle.dumps(bl.arange(10**6).promoting_by_numpy())),
    "a function that computes at once": lambda x: bl.sort(x),
    "concatenation": lambda x: bl.concat([x, x]),
    "a function by NumPy": lambda x: np.partition(x, 1),
    "a jitted function": lambda x: bl.jit(lambda y: y + 1)(x),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.usefixtures("strict")
def test_what_is_made_of_an_array_has_its_rule(name: str) -> None:
    x = with_numpys_rule([1, 2])
    made = MADE[name](x)
    assert (made * 2.5).dtype == np.float64
    with bl.set_options(promotion="strict"):
        assert (made * 2.5).dtype == np.float64
    with pytest.raises(TypeError, match="astype"):
        bl.asarray(np.array([1, 2])) * 2.5


def test_an_array_keeps_its_rule_as_its_elements_are_set() -> None:
    x = with_numpys_rule([1, 2, 3])
    for value in (5, 6):
        x[0] = value
        x += 1
        assert (x * 2.5).tolist() == [2.5 * (value + 1), 7.5 + (value - 5) * 2.5, 10 + (value - 5) * 2.5]


@pytest.mark.usefixtures("strict")
def test_dtypes_are_those_of_the_rule_of_the_arrays() -> None:
    x = with_numpys_rule([1, 2])
    assert bl.result_type(x, bl.float32) == np.float64
    assert bl.exp(x).dtype == np.float64 and bl.sum(x > 1).item() == 1
    assert bl.where(x > 1, x, 0.5).tolist() == [0.5, 2]
    assert bl.concat([x, bl.asarray([0.5])]).tolist() == [1, 2, 0.5]
    assert bl.matmul(x, bl.asarray([0.5, 0.25])).item() == 1
    f = bl.jit(lambda y, c=2.5: y * c)
    assert f(x).tolist() == f(x, c=2.5).tolist() == [2.5, 5.0]
    with pytest.raises(TypeError):
        f(np.array([1, 2]))
    with pytest.raises(TypeError):
        bl.result_type(bl.int64, bl.float32)


# Threads.


def test_threads_are_those_of_the_context() -> None:
    def asked() -> int | None:
        return _options.threads()

    assert asked() is None
    with bl.set_options(threads=3):
        assert asked() == 3
        with bl.set_options(threads=1):
            assert asked() == 1
        copy = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            # A thread has a context of its own, unless it runs in a copy of another.
            assert [pool.submit(asked).result(), pool.submit(copy.run, asked).result()] == [None, 3]
    assert asked() is None
    with pytest.raises(ValueError, match="threads is 0"):
        bl.set_options(threads=0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux lists them")
def test_no_more_threads_are_started_than_the_context_allows() -> None:
    program = """
import os, sys
import numpy as np
import broadloom as bl

x = np.ones(4_000_000)
f = bl.jit(lambda x: bl.exp(x) * 2 + 1)
with bl.set_options(threads=int(sys.argv[1])):
    before = len(os.listdir("/proc/self/task"))
    f(x), f(x=x), bl.evaluate(bl.asarray(x) * 2 + 1)
    print(len(os.listdir("/proc/self/task")) - before)
"""
    environment = os.environ | {"RAYON_NUM_THREADS": "4"}
    made = [
        subprocess.run(
            [sys.executable, "-c", program, threads], capture_output=True, text=True, check=True, env=environment
        ).stdout
        for threads in ("1", "2")
    ]
    assert made == ["0\n", "1\n"]


def test_a_jitted_function_has_one_class() -> None:
    f = bl.jit(lambda x: x * 2.5)
    of = {type(f), type(bl.jit(lambda x, n: x, static_argnames="n"))}
    with bl.set_options(promotion="numpy"):
        of |= {type(f), type(bl.jit(lambda x: x))}
        assert f(np.array([1, 2])).tolist() == [2.5, 5.0]
    assert len(of) == 1


# NumPy's rule, compared with NumPy.

#: The functions whose operands NumPy promotes, by our names and NumPy's.
PROMOTED = {
    name: getattr(
        np,
        {
            "atan2": "arctan2",
            "pow": "power",
            "bitwise_left_shift": "left_shift",
            "bitwise_right_shift": "right_shift",
        }.get(name, name),
    )
    for name in (
        "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide "
        "greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
        "nextafter not_equal pow remainder subtract"
    ).split()
}
ALONE = {
    name: getattr(
        np,
        {
            "acos": "arccos",
            "asin": "arcsin",
            "atan": "arctan",
            "acosh": "arccosh",
            "asinh": "arcsinh",
            "atanh": "arctanh",
            "bitwise_invert": "invert",
            "round": "rint",
        }.get(name, name),
    )
    for name in (
        "abs acos acosh asin asinh atan atanh bitwise_invert cbrt ceil cos cosh exp exp2 expm1 floor isfinite isinf isnan log log10 "
        "log1p log2 logical_not negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"
    ).split()
}
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
NUMBERS = [True, 3, 2.5, -1, 300, 2**40, 2**63, 2**70, 2**200, 1e300]


def outcome(function: Any, *operands: Any) -> Any:
    """The values of a result, or the kind of error."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))
    except (TypeError, OverflowError) as error:
        return TypeError if isinstance(error, TypeError) else OverflowError
    except ValueError as error:
        assert "negative integer powers" in str(error)
        return None


@pytest.mark.parametrize("name", sorted(ALONE))
def test_functions_of_one_operand_have_numpys_dtypes(name: str) -> None:
    for dtype in DTYPES:
        x = np.array([1, 0], dtype)
        expected, made = outcome(ALONE[name], x), outcome(getattr(bl, name), bl.asarray(x))
        if name == "round" and dtype[0] in "iu":
            expected = x  # As in the standard, and by `numpy.round`; NumPy's `rint` returns floats.
        assert getattr(made, "dtype", made) == getattr(expected, "dtype", expected), dtype


@pytest.mark.parametrize("name", sorted(PROMOTED))
def test_functions_of_two_operands_have_numpys_dtypes(name: str) -> None:
    ours, theirs = getattr(bl, name), PROMOTED[name]
    is_exact = name.startswith(("equal", "not_equal", "less", "greater", "logical", "bitwise", "add", "max", "min"))
    for dtype in DTYPES:
        x = np.array([1, 0, 1], dtype) if dtype == "?" else np.array([1, 0, 100], dtype)
        if dtype == "i8":
            x[1] = -(2**63)
        if dtype == "u8":
            x[1] = 2**64 - 1
        others = [np.array([1, 1, 2]).astype(other) for other in DTYPES]
        for other in [*others, *NUMBERS]:
            lent = bl.asarray(other) if isinstance(other, np.ndarray) else other
            for order in (1, -1):
                pair, our_pair = (x, other)[::order], (bl.asarray(x), lent)[::order]
                expected, made = outcome(theirs, *pair), outcome(ours, *our_pair)
                if expected is None or expected is OverflowError and (dtype == "?" or name.startswith("logical")):
                    # Skips cases that broadloom defines differently: a negative power is the exact value, truncated;
                    # bools are compared with any integer, and any integer is true.
                    continue
                assert getattr(made, "dtype", made) == getattr(expected, "dtype", expected), (pair, made, expected)
                if is_exact and isinstance(expected, np.ndarray):
                    assert np.array_equal(made, expected, equal_nan=expected.dtype.kind == "f"), (pair, made, expected)


def test_values_that_are_chosen_have_numpys_dtypes() -> None:
    for a in DTYPES:
        for b in DTYPES:
            x, y = np.ones(2, a), np.ones(2, b)
            expected = np.where([True, False], x, y).dtype
            assert bl.where(bl.asarray([True, False]), bl.asarray(x), bl.asarray(y)).dtype == expected
            assert bl.result_type(a, b) == expected
            assert bl.concat([bl.asarray(x), bl.asarray(y)]).dtype == expected


def test_dtypes_of_several_operands_are_numpys_in_any_order() -> None:
    for several in itertools.product(DTYPES, repeat=3):
        assert bl.result_type(*several) == np.result_type(*several), several
    for dtype in DTYPES:
        for number in (True, 1, 1.0):
            assert bl.result_type(dtype, number) == bl.result_type(number, dtype) == np.result_type(dtype, number)


def test_reductions_of_bools_have_numpys_dtypes() -> None:
    values = np.array([[True, False, True], [False, False, True]])
    x = bl.asarray(values)
    for ours, theirs in [
        (bl.cumulative_sum, np.cumsum),
        (bl.cumulative_prod, np.cumprod),
        (bl.max, np.max),
        (bl.min, np.min),
        (bl.argmax, np.argmax),
        (bl.argmin, np.argmin),
    ]:
        made, expected = ours(x, axis=1), theirs(values, axis=1)  # type: ignore[operator]
        assert made.dtype == expected.dtype and np.array_equal(made, expected), ours
    with pytest.raises(ValueError, match="max"):
        bl.max(x[:0], axis=0)


@pytest.mark.parametrize("product", ["vecdot", "matmul", "tensordot"])
def test_inner_products_have_numpys_dtypes(product: str) -> None:
    keywords = {"axes": 1} if product == "tensordot" else {}
    for a in DTYPES:
        for b in DTYPES:
            x, y = np.array([1, 0, 2]).astype(a), np.array([0, 1, 1]).astype(b)
            made = getattr(bl, product)(bl.asarray(x), bl.asarray(y), **keywords)
            expected = np.asarray(getattr(np, product)(x, y, **keywords))
            assert made.dtype == expected.dtype and made.item() == expected.item(), (a, b)
    with pytest.raises(ValueError, match="elements"):
        bl.vecdot(bl.asarray([1, 2]), bl.asarray([1.0, 2.0, 3.0]))


def test_norms_of_integers_are_float64() -> None:
    norm = bl.linalg.vector_norm(bl.asarray([3, 4]))
    assert norm.dtype == np.float64 and norm.item() == 5.0


@pytest.mark.parametrize("bounds", [(-1, 300), (0, 255), (-1, None), (None, 300), (5, 300), (-(2**70), 2**70), (2, 9)])
def test_bounds_beyond_a_dtype_bound_nothing(bounds: tuple[int | None, int | None]) -> None:
    values = np.array([0, 7, 255], np.uint8)
    x = bl.asarray(values)
    expected = np.clip(values, *bounds)
    # bl.clip also takes arrays of NumPy's, and traced ones.
    traced = bl.jit(lambda y: bl.clip(y, *bounds))(values)
    for made in (bl.clip(x, *bounds), bl.clip(values, *bounds), traced, x.clip(*bounds), np.clip(x, *bounds)):
        assert made.dtype == np.uint8 and np.array_equal(made, expected)
    nulls = bl.clip(bl.arrow.NullableArray(values), *bounds)
    assert nulls.dtype == np.uint8 and nulls.tolist() == expected.tolist()
    with bl.set_options(promotion="strict"), pytest.raises(bl.LiteralError):
        bl.clip(x, -1, 300)
    with pytest.raises(OverflowError):
        bl.clip(x, 300, None)


def test_a_bound_that_bounds_nothing_takes_no_part_in_promotion() -> None:
    values, wide = np.array([0, 7, 255], np.uint8), np.array([300, -1, 5], np.int16)
    x, y = bl.asarray(values), bl.asarray(wide)
    for made, expected in [
        (bl.clip(x, -1, y), np.clip(values, -1, wide)),
        (bl.clip(x, y, 300), np.clip(values, wide, 300)),
        (bl.clip(x, -1, 2.5), np.clip(values, -1, 2.5)),
        (bl.clip(x, True, 300), np.clip(values, True, 300)),
    ]:
        assert made.dtype == expected.dtype and np.array_equal(made, expected)


def test_bools_are_clipped_as_numpy_does() -> None:
    values = [np.array(row) for row in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1] * 2, [0, 1] * 4)]
    x, low, high = (row.astype(bool) for row in values)
    made, expected = bl.clip(bl.asarray(x), bl.asarray(low), bl.asarray(high)), np.clip(x, low, high)
    assert made.dtype == expected.dtype and np.array_equal(made, expected)


def test_integers_are_compared_with_integers_of_any_size() -> None:
    huge = 10**400
    for dtype in "i1 i8 u1 u8".split():
        values = np.array([0, 1, 100], dtype)
        x = bl.asarray(values)
        for number in (huge, -huge):
            assert (x < number).tolist() == (values < number).tolist()
            assert (number < x).tolist() == (number < values).tolist()
            assert not bl.any(x == number) and bl.all(x != number)
    with pytest.raises(ValueError, match="cannot be represented as float64"):
        bl.asarray([1.0]) < huge  # noqa: B015
    for number in (huge, -huge):
        with pytest.raises(
            bl.LiteralError, match="^add: an integer of 128 bits or more cannot be represented as int64$"
        ):
            bl.asarray([1]) + number


# The standard's rule: an error names the option that allows the operation, for every way of writing the operation.

INTEGERS, FLOATS = bl.asarray([1, 0, 2]), bl.asarray([0.5, 1.0, 2.0])
BYTES, TRUTHS = bl.asarray(np.array([1, 2, 255], np.uint8)), bl.asarray([True, False, True])
REFUSED: dict[str, Any] = {
    "array * array of NumPy's": lambda: FLOATS * np.arange(3),
    "array of NumPy's * array": lambda: np.arange(3) * FLOATS,
    "pow": lambda: bl.pow(INTEGERS, 2.5),
    "power": lambda: bl.power(INTEGERS, 2.5),
    "sqrt": lambda: bl.sqrt(INTEGERS),
    "sqrt of NumPy's": lambda: np.sqrt(INTEGERS),
    "integers beyond the dtype": lambda: BYTES < 300,
    "integers beyond the dtype, reflected": lambda: 300 > BYTES,
    "integers beyond the dtype, by NumPy": lambda: np.less(BYTES, 300),
    "an operator in place": lambda: operator.iadd(BYTES.copy(), bl.asarray(np.array([1], np.uint16))),
    "where": lambda: bl.where(INTEGERS, 1, 2),
    "bounds beyond the dtype": lambda: bl.clip(BYTES, -1, 300),
    "a lower bound beyond the dtype": lambda: bl.clip(BYTES, -1),
    "an upper bound beyond the dtype": lambda: bl.clip(BYTES, max=300),
    "clip of bools": lambda: bl.clip(TRUTHS, TRUTHS, TRUTHS),
    "vecdot": lambda: bl.vecdot(INTEGERS, FLOATS),
    "cumulative_sum": lambda: bl.cumulative_sum(TRUTHS),
    "max": lambda: bl.max(TRUTHS),
    "vector_norm": lambda: bl.linalg.vector_norm(INTEGERS),
    "matmul": lambda: bl.matmul(TRUTHS, TRUTHS),
    "within jit": lambda: bl.jit(lambda x: np.arange(3) * x)(np.ones(3)),
    "concat": lambda: bl.concat([INTEGERS, FLOATS]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_by_the_standards_rule_name_the_option(name: str) -> None:
    REFUSED[name]()
    with bl.set_options(promotion="strict"):
        with pytest.raises((TypeError, ValueError), match=r"set_options\(promotion=\"numpy\"\)"):
            REFUSED[name]()
        with bl.set_options(promotion="numpy"):
            REFUSED[name]()


@pytest.mark.usefixtures("strict")
def test_numpys_functions_take_what_the_standards_rule_takes() -> None:
    assert np.add(FLOATS, 2).tolist() == [2.5, 3.0, 4.0]
    assert (np.ones(3) * FLOATS).dtype == np.float64
    assert np.multiply(FLOATS.promoting_by_numpy(), np.arange(3)).tolist() == [0.0, 1.0, 4.0]
    assert np.logical_and(TRUTHS, TRUTHS).tolist() == [True, False, True]


def test_refusals_of_a_text_name_the_keyword() -> None:
    with pytest.raises(bl.TextError, match=r"\(promotion=\"numpy\"\)"):
        bl.Kernel.parse("x: int64[n]; return x * 2.5")
    kernel = bl.Kernel.parse("x: int64[n]; return x * 2.5", promotion="numpy")
    assert kernel(np.array([2])).tolist() == [5.0]


@pytest.mark.usefixtures("strict")
def test_a_number_beyond_a_float_dtype_names_the_option() -> None:
    for number in (2**70, 1e9, -(10**30)):
        with pytest.raises(bl.LiteralError, match=r'represented as float16; .*promotion="numpy"'):
            bl.asarray(np.float16([1.0])) * number
    with bl.set_options(promotion="numpy"):
        assert (bl.asarray(np.float16([1.0])) * 2**70).tolist() == [np.inf]
