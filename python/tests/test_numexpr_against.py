"""Compares broadloom.numexpr with numexpr on the same texts. Dtypes and errors are the same, and so are values, bit for
bit if the arithmetic is exact. If they differ on purpose, the case states this and NumPy is the reference. Skipped
without numexpr."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import broadloom.numexpr as ours

theirs = pytest.importorskip("numexpr", reason="numexpr is the reference")
if theirs.__version__ != ours.__version__ or theirs is ours:
    pytest.skip(f"the reference is numexpr {ours.__version__}", allow_module_level=True)

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


def values(dtype: str, seed: int) -> np.ndarray:
    """Small numbers of a dtype, of which integers have zeros and both signs."""
    random = np.random.default_rng(seed)
    match np.dtype(dtype).kind:
        case "b":
            return random.random(24) > 0.5
        case "i":
            return random.integers(-5, 6, 24).astype(dtype)
        case "u":
            return random.integers(0, 9, 24).astype(dtype)
    return (random.standard_normal(24) * 3).astype(dtype)


FIRST = {dtype: values(dtype, 1) for dtype in DTYPES}
SECOND = {dtype: values(dtype, 2) for dtype in DTYPES}


def outcome(module: Any, text: str, variables: dict[str, Any], **options: Any) -> Any:
    """The result, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return module.evaluate(text, local_dict=variables, global_dict={}, **options)
        except Exception as error:
            return error


def opcode(error: Exception) -> str:
    """The name of the missing operation in an error."""
    return str(error).partition("'")[2].partition("'")[0]


def agree(text: str, variables: dict[str, Any], exact: bool, **options: Any) -> None:
    expected, made = outcome(theirs, text, variables, **options), outcome(ours, text, variables, **options)
    if isinstance(expected, SystemError):  # numexpr fails at random when it reduces int32
        assert isinstance(made, np.ndarray)
        return
    if isinstance(expected, Exception) or isinstance(made, Exception):
        assert type(made) is type(expected), (made, expected)
        assert not isinstance(expected, NotImplementedError) or opcode(made) == opcode(expected)
        return
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    if exact:
        assert np.array_equal(made, expected, equal_nan=made.dtype.kind == "f")
    else:
        digits = 1e-5 if made.dtype == np.float32 else 1e-12
        assert np.allclose(made, expected, rtol=digits, atol=0, equal_nan=True)


ARITHMETIC = [
    *(f"a {op} b" for op in ("+", "-", "*", "/", "//", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=")),
    "where(a > b, a, b)",
    "where(a, a, b)",
    "copysign(a, b)",
    "nextafter(a, b)",
    "maximum(a, b)",
    "minimum(a, b)",
    "fmod(a, b)",
]


@pytest.mark.parametrize("text", ARITHMETIC)
def test_two_operands_exactly(text: str) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        agree(text, {"a": FIRST[first], "b": SECOND[second]}, True)


@pytest.mark.parametrize("text", ["a ** b", "arctan2(a, b)", "hypot(a, b)"])
def test_two_operands_closely(text: str) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        agree(text, {"a": FIRST[first], "b": SECOND[second]}, False)


def test_remainders_are_exact() -> None:
    """numexpr rounds twice or more in a - b*floor(a/b)."""
    for first, second in itertools.product(DTYPES, DTYPES):
        a, b = FIRST[first], SECOND[second]
        expected = outcome(theirs, "a % b", {"a": a, "b": b})
        made = outcome(ours, "a % b", {"a": a, "b": b})
        if isinstance(expected, Exception):
            assert type(made) is type(expected) and opcode(made) == opcode(expected)
            continue
        assert made.dtype == expected.dtype
        with np.errstate(all="ignore"):
            remainder = np.remainder(a.astype(made.dtype), b.astype(made.dtype))
        assert np.array_equal(made, remainder, equal_nan=made.dtype.kind == "f")


EXACT = [
    "copy",
    "ones_like",
    "sqrt",
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sign",
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
]
EXACT += ["real", "imag", "min", "max"]
ROUNDED = ["sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"]
ROUNDED += ["log", "log1p", "log10", "log2", "exp", "expm1", "sum", "prod"]


@pytest.mark.parametrize("name", EXACT + ROUNDED)
def test_functions(name: str) -> None:
    for dtype in DTYPES:
        agree(f"{name}(a)", {"a": FIRST[dtype]}, name in EXACT)


CONSTANTS = [
    "-a",
    "~a",
    "+a",
    "a",
    "a.real",
    "a.imag",
    "a+1",
    "a*2.5",
    "a/2",
    "a//2",
    "a%3",
    "a-3000000000",
    "a+True",
    "1-a",
]
CONSTANTS += [
    "2/a",
    "a<3",
    "a==True",
    "a<2.5",
    "where(a>1, 2, 3)",
    "where(a>1, a, 2.5)",
    "where(True, a, 2)",
    "a<<1",
    "1<<a",
]
CONSTANTS += ["a&1", "a|3", "a^True", "a//2.5", "sin(1)+a", "2**40+a", "where(a!=0.0, 2, a)", "where(a > 10, a<3, a>3)"]
CONSTANTS += [
    "sum(a, 0)",
    "sum(a, axis=0)",
    "max(a, axis=1)",
    "sum(a, axis=-1)",
    "a*1e400",
    "~(a>1)",
    "-(a>1)",
    "(a>1)+(a<3)",
]
CONSTANTS += ["a+2**31", "maximum(a, 3)", "fmod(a, 2)", "fmod(7, a)", "arctan2(1, a)", "5+3*2", "3/2", "a*(3/2)"]
CONSTANTS += [
    "a**2",
    "a**3",
    "a**7",
    "a**0",
    "a**0.5",
    "a**2.5",
    "a**-1",
    "a**2.0",
    "a**1",
    "a**-2.0",
    "a**-0.5",
    "a**2.3",
]


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants(text: str) -> None:
    for dtype in DTYPES:
        agree(text, {"a": FIRST[dtype]}, False)


@pytest.mark.parametrize("optimization", ["none", "moderate", "aggressive"])
@pytest.mark.parametrize("text", ["a**2", "a**3", "a**0.5", "a**-1", "a**2.0", "a**1", "a**0", "2**a"])
def test_optimizations(text: str, optimization: str) -> None:
    for dtype in DTYPES:
        if optimization == "moderate" and text == "a**-1" and dtype == "?":
            continue  # numexpr divides integers in this case
        agree(text, {"a": FIRST[dtype]}, False, optimization=optimization)


BASE = np.random.default_rng(1).standard_normal((4, 5, 6))
LAYOUTS = {
    "row-major": BASE,
    "column-major": np.asfortranarray(BASE),
    "first two axes swapped": BASE.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "last axis outermost": BASE.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "reversed": BASE[::-1],
    "rows reversed": BASE[:, :, ::-1],
    "every second": np.repeat(BASE, 2, axis=1)[:, ::2],
    "one of the first": BASE[:1],
    "one of the second": BASE[:, :1],
    "vector": BASE[0, 0],
    "column-major matrix": np.asfortranarray(BASE[0]),
    "repeated": np.broadcast_to(BASE[0, 0], (4, 5, 6)),
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("first", LAYOUTS)
def test_layouts_of_results(first: str, order: str) -> None:
    for second in LAYOUTS.values():
        variables = {"a": LAYOUTS[first], "b": second}
        expected, made = (outcome(module, "a + 2*b", variables, order=order) for module in (theirs, ours))
        assert made.strides == expected.strides and np.array_equal(made, expected)


VARIABLES: dict[str, Any] = {
    "a": np.arange(6.0),
    "i": np.arange(6, dtype="i4"),
    "l": np.arange(6),
    "f": np.arange(6, dtype="f4"),
    "h": np.arange(6, dtype="f2"),
    "g": np.arange(6, dtype="g"),
    "u": np.arange(6, dtype="u8"),
    "s": np.arange(6, dtype="i1"),
    "swapped": np.arange(6, dtype=">f8"),
    "listed": [1, 2, 3, 4, 5, 6],
    "integer": 3,
    "number": 2.5,
    "truth": True,
    "large": 2**63,
    "single": np.float32(3),
}


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("name", VARIABLES)
def test_casting_of_variables(name: str, casting: str) -> None:
    agree(f"{name} + 1", VARIABLES, True, casting=casting)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", "c16", "g", ">f8", "O"])
def test_casting_to_out(dtype: str, casting: str) -> None:
    for text in ("a", "i", "l", "f", "a > 2", "l + 1", "integer"):
        if dtype == "O" and casting in ("no", "equiv"):
            continue
        agree(text, VARIABLES, True, casting=casting, out=np.zeros(6, dtype))


@pytest.mark.parametrize("shape", [(6,), (2, 6), (1,), (3,), (), (2, 3), (3, 2), (1, 6), (6, 1), (4, 2, 3)])
def test_shapes_of_out(shape: tuple[int, ...]) -> None:
    variables = {"a": np.arange(6.0), "m": np.arange(6.0).reshape(2, 3), "s": 3.0}
    for text, order in itertools.product(("a", "a + 1", "m", "s", "s + 1", "m + s"), "CF"):
        agree(text, variables, True, out=np.zeros(shape, order=order))  # type: ignore[call-overload]


TEXTS = [
    "",
    " a",
    "a\n",
    "a\n+a",
    "(a\n+a)",
    "a # c",
    "a;a",
    "zz",
    "a.b",
    "a+",
    "a b",
    "a..b",
    "é",
    "a@a",
    "a=1",
    "x:=a",
    "[a]",
]
TEXTS += [
    "a[0]",
    "`a`",
    "a!",
    "foo(a)",
    "sin(a",
    "a.T",
    "a . real",
    "1.5.real",
    "__import__('os')",
    "__a__",
    "None",
    "True",
]
TEXTS += [
    "a<a<a",
    "not a",
    "a and a",
    "sin",
    "sin + 1",
    "a + None",
    "1/0",
    "2**70",
    "sum(a, axis=1.0)",
    "~1.5",
    "1 << -1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    agree(text, {"a": np.arange(3.0), "é": 2, "__a__": 1}, True)
