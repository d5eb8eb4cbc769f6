"""Tests broadloom.numexpr: dtypes and values by case, names and frames, `out`, order and casting, hostile texts,
threads, `install`."""

from __future__ import annotations

import builtins
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
import weakref
from collections import ChainMap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import broadloom as bl
import broadloom.numexpr as ne

CASES = Path(__file__).with_name("numexpr_cases.txt")


def cases() -> list[Any]:
    """The cases of the file: text, variables, and what is expected."""
    rows = []
    for number, line in enumerate(CASES.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            rows.append(pytest.param(*line.split(";"), id=f"{number}: {line.strip()}"))
    return rows


def value(text: str) -> Any:
    """A value of a case: a dtype with elements, or a number."""
    match = re.fullmatch(r"(\w+)\[(.*)\]", text)
    if match is None:
        return {"True": True}.get(text) or (float(text) if "." in text else int(text))
    dtype, elements = match[1], [element for element in match[2].split(",") if element]
    if dtype in ("str", "datetime64"):
        return np.array(elements, dtype={"str": "U", "datetime64": "M8[Y]"}[dtype])
    if "int" in dtype:
        return np.array([int(element) for element in elements], dtype)
    return np.array([float(element) for element in elements], dtype)


def same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether arrays are equal with their dtypes, shapes and the signs of their zeros."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    return np.array_equal(x, y, equal_nan=x.dtype.kind == "f") and (
        x.dtype.kind != "f" or np.array_equal(np.signbit(x) & (x == x), np.signbit(y) & (y == y))
    )


@pytest.mark.parametrize(("text", "variables", "expected"), cases())
def test_case(text: str, variables: str, expected: str) -> None:
    text, expected = text.strip(), expected.strip()
    given = {name: value(of) for name, of in (each.split("=", 1) for each in variables.split())}
    if expected.startswith("!"):
        _, kind, *message = expected.split(" ", 2)
        with pytest.raises(getattr(builtins, kind)) as error:
            ne.evaluate(text, given, {})
        assert "".join(message) in str(error.value)
        assert type(ne.validate(text, given, {}, casting="same_kind")) is type(error.value)
        return
    if "[" in expected:
        result = value(expected)
    else:
        dtype, number = expected.split()
        result = np.array(float(number) if "float" in dtype else int(number), dtype)
    for _ in range(2):
        made = ne.evaluate(text, given, {})
        assert type(made) is np.ndarray and made.flags.writeable
        assert same(made, result), (made, made.dtype)
    assert same(ne.evaluate(text, given, {}, disable_cache=True), result)


# Names.


def test_names_are_found_in_the_callers_locals_then_in_its_globals() -> None:
    a = np.array([1.0, 2.0])
    assert ne.evaluate("a + 1").tolist() == [2.0, 3.0]
    scope = {"x": 1, "evaluate": ne.evaluate}
    exec("def f(y):\n    return evaluate('x + y')\nresult = f(2)", scope)
    assert scope["result"] == 3
    assert ne.evaluate("a + b", {"b": 3}, {"a": 1, "b": 7}) == 4


def test_a_scope_may_be_any_mapping() -> None:
    assert ne.evaluate("a + b", ChainMap({"a": 1}, {"b": 2})) == 3
    with pytest.raises(KeyError, match="c"):
        ne.evaluate("a + c", ChainMap({"a": 1}), {})


def test_the_frame_depth_counts_from_the_caller() -> None:
    def through(text: str) -> np.ndarray:
        a = 100
        assert a
        return ne.evaluate(text, _frame_depth=4)

    def again() -> np.ndarray:
        return ne.re_evaluate(_frame_depth=3)

    a = 1
    assert through("a + 1") == 2
    a = 2
    assert again() == 3
    assert a == 2


def test_a_frame_keeps_no_argument_alive() -> None:
    def calls() -> list[int]:
        x = np.arange(1000.0)
        counts = [sys.getrefcount(x)]
        ne.evaluate("x + 1")
        counts.append(sys.getrefcount(x))
        ne.re_evaluate()
        counts.append(sys.getrefcount(x))
        ne.validate("x + 2")
        counts.append(sys.getrefcount(x))
        return counts

    assert len(set(calls())) == 1


def test_a_namespace_that_is_not_a_functions_stays_as_it_is() -> None:
    class Body:
        x = np.arange(3.0)
        y = ne.evaluate("x * 2")
        z = 5

    assert Body.y.tolist() == [0.0, 2.0, 4.0] and Body.z == 5 and Body.x.tolist() == [0.0, 1.0, 2.0]
    local: dict[str, Any] = {}
    exec("y = 3\nr = evaluate('x + y')\nw = 1", {"x": 1, "evaluate": ne.evaluate}, local)
    assert sorted(local) == ["r", "w", "y"] and local["r"] == 4


# Arguments.


def test_out_is_returned_and_may_be_an_operand() -> None:
    x, y = np.arange(20.0).reshape(2, 10), np.arange(10)
    expected = (x - 3) * y + (x - 3)
    assert ne.evaluate("(x - 3)*y + (x - 3)", out=x) is x
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("length", [20, 1000, 200_000])
@pytest.mark.parametrize("step", [1, -1])
def test_out_that_overlaps_an_operand_is_written_after_it_was_read(length: int, step: int) -> None:
    x = np.arange(float(length))
    source, out = x[: length - 3], x[3:][::step]
    expected = source * 2 + 1
    ne.evaluate("source*2 + 1", out=out)
    assert np.array_equal(out, expected)


def test_out_is_filled_by_broadcasting() -> None:
    a = np.array([1, 2, 3])
    out = np.zeros((2, 3), np.float32)
    assert ne.evaluate("a + 1", out=out) is out
    assert out.tolist() == [[2, 3, 4], [2, 3, 4]]
    with pytest.raises(ValueError, match="broadcast"):
        ne.evaluate("a + 1", out=np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        ne.evaluate("a + 1", out=np.broadcast_to(0.0, 3))
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        ne.evaluate("a + 1", out=[1, 2, 3])


def test_out_of_any_dtype_and_layout() -> None:
    a = np.array([1.5, 2.5])
    swapped, misaligned = np.zeros(2, ">f8"), np.zeros(17, np.uint8)[1:].view(np.float64)
    for out in (swapped, misaligned, np.zeros(4)[::2], np.zeros(2, np.longdouble), np.zeros(2, np.complex128)):
        ne.evaluate("a * 2", out=out)
        assert out.tolist() == [3.0, 5.0]
    one = np.empty(5, "u1")[1:].view("i4")
    assert ne.evaluate("3", out=one).tolist() == [3]
    total = np.zeros((), np.float64)
    ne.evaluate("sum(a)", out=total)
    assert total == 4.0


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_the_order_of_the_result_is_numpys(order: Any) -> None:
    base = np.arange(60.0).reshape(3, 4, 5)
    layouts = [
        base,
        np.asfortranarray(base),
        base.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        base[::-1, :, ::2][:, :, :3],
    ]
    for a in layouts:
        for b in layouts:
            b = b[:, :, : a.shape[2]]
            a = a[:, :, : b.shape[2]]
            made, expected = ne.evaluate("a + b", order=order), np.add(a, b, order=order)
            assert np.array_equal(made, expected) and made.strides == expected.strides
    a = base.transpose(2, 0, 1)
    assert ne.evaluate("2*a", order=order).strides == np.multiply(2, a, order=order).strides


def test_arguments_that_are_wrong_are_named() -> None:
    a = np.arange(3.0)
    with pytest.raises(ValueError, match=r"order must be one of .* \(got 'Z'\)"):
        ne.evaluate("a", order="Z")
    with pytest.raises(ValueError, match="casting must be one of"):
        ne.evaluate("a", casting="x")
    with pytest.raises(ValueError, match="Unknown keyword argument 'foo'"):
        ne.evaluate("a", foo=1)
    with pytest.raises(ValueError, match="'truediv' must be one of"):
        ne.evaluate("a", truediv=3)
    with pytest.raises(ValueError, match="must specify expression as a string"):
        ne.evaluate(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"broadcast together with shapes \(3,\) \(2,\)"):
        ne.evaluate("a + b", {"a": a, "b": np.arange(2.0)})


@pytest.mark.parametrize(
    ("dtype", "casting", "allowed"),
    [
        ("int8", "no", False),
        ("int8", "safe", True),
        ("uint64", "safe", False),
        ("uint64", "same_kind", True),
        ("longdouble", "safe", False),
        ("longdouble", "same_kind", True),
        (">f8", "no", False),
        (">f8", "equiv", True),
    ],
)
def test_casting_of_variables(dtype: str, casting: Any, allowed: bool) -> None:
    a = np.array([1, 2], dtype)
    if allowed:
        assert ne.evaluate("a + 1", casting=casting).tolist() == [2, 3]
    else:
        with pytest.raises(TypeError, match="according to the rule"):
            ne.evaluate("a + 1", casting=casting)


def test_casting_to_out() -> None:
    a = np.array([1.5, -2.5])
    for out, casting in ((np.zeros(2, np.int32), "same_kind"), (np.zeros(2, np.float32), "safe")):
        with pytest.raises(TypeError, match="according to the rule"):
            ne.evaluate("a", out=out, casting=casting)  # type: ignore[arg-type]
    assert ne.evaluate("a", out=np.zeros(2, np.float32)).tolist() == [1.5, -2.5]
    assert ne.evaluate("a", out=np.zeros(2, np.int32), casting="unsafe").tolist() == [1, -2]


def test_values_that_are_no_plain_arrays_are_converted() -> None:
    packed = np.zeros(3, dtype=[("a", "i1"), ("b", "f8"), ("c", "i4")])
    packed["b"], packed["c"] = [1.0, 2.0, 3.0], [4, 5, 6]
    b, c, s, t = packed["b"], packed["c"], np.array([1, 2, 3], ">i4"), [1, 2, 3]
    assert ne.evaluate("b + c + s + t").tolist() == [7.0, 11.0, 15.0]
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert type(ne.evaluate("masked + 1")) is np.ndarray
    lazy = bl.asarray(np.array([1.0, 2.0]))
    assert ne.evaluate("lazy + 1").tolist() == [2.0, 3.0]
    big = 2**63
    assert ne.evaluate("big").dtype == np.int64


def test_shapes_without_elements() -> None:
    a, b = np.zeros((0,), np.int32), np.ones((3, 1))
    made = ne.evaluate("a + b")
    assert made.shape == (3, 0) and made.dtype == np.float64
    assert ne.evaluate("sum(a, axis=0)") == 0
    with pytest.raises(ValueError):
        ne.evaluate("max(a)")


def test_dtypes_may_be_kept() -> None:
    a, b = np.array([1.5, 2.5], np.float16), np.array([200, 100], np.uint8)
    made = ne.evaluate("a * 2.5", keep_dtypes=True)
    assert made.dtype == np.float16 and made.tolist() == [3.75, 6.25]
    made = ne.evaluate("b + b", keep_dtypes=True)
    assert made.dtype == np.uint8 and made.tolist() == [144, 200]
    made = ne.evaluate("where(b > 150, b, 7)", keep_dtypes=True)
    assert made.dtype == np.uint8 and made.tolist() == [200, 7]
    assert ne.evaluate("sin(a) + b", keep_dtypes=True).dtype == np.result_type(np.float16, np.uint8)
    assert ne.evaluate("b + b").dtype == np.int32


def test_powers_are_products_unless_that_is_switched_off() -> None:
    x = np.array([1.1, -2.3, 1e-160])
    assert np.array_equal(ne.evaluate("x**3"), x * (x * x))
    exact = [float(np.longdouble(v) ** 3) for v in x] if np.finfo(np.longdouble).nmant > 60 else (x**3).tolist()
    assert np.array_equal(ne.evaluate("x**3", optimization="none"), exact)
    f = np.array([1.5], np.float32)
    assert ne.evaluate("f**2.0").dtype == np.float32
    assert ne.evaluate("f**2.0", optimization="none").dtype == np.float64


def test_a_quotient_by_a_constant_is_a_quotient() -> None:
    x = np.arange(1.0, 1000.0)
    assert np.array_equal(ne.evaluate("x / 3.0"), x / 3.0)
    assert not np.array_equal(x * (1 / 3.0), x / 3.0)


# re_evaluate and validate.


def test_re_evaluate_takes_the_variables_as_they_are_now() -> None:
    a = np.array([1.0])
    out = np.zeros(1)
    ne.evaluate("a + 1", out=out)
    a = np.array([5.0])
    assert ne.re_evaluate() is out and out[0] == 6.0
    assert ne.re_evaluate({"a": 7}) is out and out[0] == 8.0
    gone = weakref.ref(out)
    del out
    gc.collect()
    assert gone() is None
    assert ne.re_evaluate().tolist() == [6.0]
    assert a.tolist() == [5.0]


def test_what_was_evaluated_last_is_by_thread() -> None:
    barrier, results = threading.Barrier(4), {}

    def run(number: int) -> None:
        x = np.array([1.0])
        with pytest.raises(RuntimeError, match="previous evaluate"):
            ne.re_evaluate()
        assert ne.validate(f"x + {number}") is None
        barrier.wait()
        results[number] = ne.re_evaluate().tolist()
        assert x[0] == 1.0

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [1.0 + number] for number in range(4)}


def test_many_threads_evaluate_at_once() -> None:
    x = np.arange(100_000.0)
    expected, failures = 2 * x + 1, []

    def run() -> None:
        for _ in range(20):
            if not np.array_equal(ne.evaluate("2*x + 1", {"x": x}), expected):
                failures.append(1)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_validate_returns_what_is_wrong() -> None:
    a = np.array([1.0])
    assert ne.validate("a + 1") is None
    assert ne.re_evaluate().tolist() == [2.0]
    assert isinstance(ne.validate("a +"), SyntaxError)
    assert isinstance(ne.validate("a + nothing"), KeyError)
    assert isinstance(ne.validate("~a"), NotImplementedError)
    assert isinstance(ne.validate("a", out=np.zeros(1, np.float32)), TypeError)
    assert ne.validate("a", out=np.zeros(1, np.float32), casting="same_kind") is None


def test_a_text_without_a_cache_is_not_evaluated_again() -> None:
    a = np.array([1.0])
    ne.evaluate("a + 1")
    assert ne.evaluate("a + 2", disable_cache=True).tolist() == [3.0]
    assert ne.re_evaluate().tolist() == [2.0]


# Texts that are hostile, or only long.


@pytest.mark.parametrize("sanitize", [True, False, None])
@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('false')",
        "().__class__.__bases__",
        "a.__class__",
        "a.tolist()",
        "a.T",
        "a[0]",
        "a[()]",
        "lambda: a",
        "[a for a in a]",
        "(a := 3)",
        "{a: a}",
        "{a}",
        "f'{a}'",
        "import os",
        "a; a",
        "eval('a')",
        "sum.__globals__",
        "(3).bit_length()",
        "(3+1).ᵇit_length()",
        "a.real.__class__",
        "...",
        "await a",
        "yield",
        "print(a)",
        "sin(*a)",
        "sin(**a)",
        "a\x00",
        "a if a else a",
        "__a__()",
    ],
)
def test_no_text_reaches_python(text: str, sanitize: bool | None) -> None:
    a = np.arange(3.0)
    with pytest.raises((ValueError, TypeError, SyntaxError, NotImplementedError)):
        ne.evaluate(text, {"a": a}, {}, sanitize=sanitize)


def test_sanitizing_is_by_argument_then_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.array([1.0])
    for text in ("a*2.e-5", "a*2e+5", "a*2E-5", "a*2.0e5", "2.+a", "a.real", "a . imag", "__pd_eval_local_x"):
        assert ne.evaluate(text, {"a": a, "__pd_eval_local_x": a}) is not None
    for setting, sanitize, kind in (
        ("1", None, ValueError),
        ("0", None, SyntaxError),
        ("0", True, ValueError),
        ("1", False, SyntaxError),
    ):
        monkeypatch.setenv("NUMEXPR_SANITIZE", setting)
        with pytest.raises(kind):
            ne.evaluate("import os;", sanitize=sanitize)
    monkeypatch.setenv("NUMEXPR_SANITIZE", "0")
    assert ne.evaluate("__a__", {"__a__": 3}) == 3
    monkeypatch.setenv("NUMEXPR_SANITIZE", "1")
    with pytest.raises(ValueError, match="forbidden"):
        ne.evaluate("__a__", {"__a__": 3})


@pytest.mark.parametrize("text", ["9**9**9**9", "1 << 10**10", "2**(2**100)", "*".join(["2**4000"] * 9), "a" * 200_000])
def test_a_text_that_would_be_expensive_is_refused(text: str) -> None:
    with pytest.raises(bl.LimitError):
        ne.evaluate(text, {}, {})


def test_a_text_may_be_long_or_is_refused() -> None:
    a = np.array([1.0])
    assert ne.evaluate("+".join(["a"] * 500)).tolist() == [500.0]
    # The length of text that Python's parser accepts differs between versions. Versions from 3.14 on accept 40 000
    # terms.
    for text, value in (
        ("+".join(["a"] * 40_000), 40_000),
        ("-" * 50_000 + "a", 1),
        ("(" * 5000 + "a" + ")" * 5000, 1),
    ):
        try:
            made = ne.evaluate(text)
        except (bl.LimitError, SyntaxError):
            continue
        assert made.tolist() == [value]


def test_only_some_plans_are_kept() -> None:
    from broadloom.numexpr import _plans

    for number in range(2 * _plans.MAX_PLANS):
        assert ne.evaluate(f"{number} + 1", {}, {}) == number + 1
    assert len(_plans.PLANS) <= _plans.MAX_PLANS


# NumExpr and E.


def test_numexpr_objects() -> None:
    x = np.array([1.0, 2.0])
    function = ne.NumExpr(
        2.0 * ne.E.a + 3.0 * ne.E.b * ne.E.c, signature=[("a", np.double), ("c", np.double), ("b", np.double)]
    )
    assert function.input_names == ("a", "c", "b") and function.signature == b"ddd"
    assert function(x, x, np.array([10.0, 10.0])).tolist() == [32.0, 64.0]
    assert function.run(1, 2, 3) == 20.0
    assert ne.NumExpr("2*x", [("x", float)])(np.array([1.5], np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match="rule 'safe'"):
        ne.NumExpr("2*x", [("x", float)])(x)
    with pytest.raises(ValueError, match="number of inputs"):
        function(x)
    with pytest.raises(ValueError, match="don't match"):
        ne.NumExpr("x", [("y", float)])
    assert ne.NumExpr("(a + 1)*(a - 1)", [("a", np.int32)]).constants == (1,)
    with pytest.raises(NotImplementedError, match="bytecode"):
        ne.disassemble(function)


def test_expressions_in_python_have_the_operators_of_texts() -> None:
    a, b = ne.E.a, ne.E.b
    values = np.array([5, 6, 7]), np.array([2, 3, 4])
    kinds = [("a", np.int64), ("b", np.int64)]
    for made, text in [
        (a // b + 7 // b, "a // b + 7 // b"),
        (a % b - 7 % b, "a % b - 7 % b"),
        ((a & b) | (a ^ 3) | (1 << b) >> 1, "(a & b) | (a ^ 3) | (1 << b) >> 1"),
        (-a * +b + ~a, "-a * +b + ~a"),
        (2 - a / b, "2 - a / b"),
        ((a > b) & (a >= b) & (b < a) & (b <= a) & (a != b), "(a > b) & (a >= b) & (b < a) & (b <= a) & (a != b)"),
        (2**a + b, "2**a + b"),
        ((a == 5) | (b == 3), "(a == 5) | (b == 3)"),
    ]:
        assert np.array_equal(ne.NumExpr(made, kinds)(*values), ne.evaluate(text, {"a": values[0], "b": values[1]}))
    with pytest.raises(TypeError, match="'&' instead of 'and'"):
        bool(a)
    with pytest.raises(TypeError, match="unsupported object type"):
        a + np.arange(3)


# Threads.


def test_the_number_of_threads() -> None:
    before = ne.get_num_threads()
    try:
        assert ne.set_num_threads(2) == before
        assert ne.set_num_threads(1) == 2
        a = np.arange(10.0)
        for threads in (1, 3, 6, 2):
            ne.set_num_threads(threads)
            assert np.array_equal(ne.evaluate("a*2"), a * 2)
        for wrong in (0, -1, 10**6):
            with pytest.raises(ValueError, match="number of threads"):
                ne.set_num_threads(wrong)
        with pytest.raises(TypeError):
            ne.set_num_threads(1.5)  # type: ignore[arg-type]
    finally:
        ne.set_num_threads(before)


def in_subprocess(code: str, **environment: str) -> str:
    """The output of a Python process."""
    path = os.pathsep.join([str(Path(bl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMEXPR_NUM_THREADS": "5", "OMP_NUM_THREADS": "3"}, "5 64"),
        ({"NUMEXPR_NUM_THREADS": "", "OMP_NUM_THREADS": "3"}, "3 64"),
        ({"NUMEXPR_NUM_THREADS": "", "OMP_NUM_THREADS": "", "NUMEXPR_MAX_THREADS": "4"}, "4 4"),
        ({"NUMEXPR_NUM_THREADS": "9", "NUMEXPR_MAX_THREADS": "4"}, "4 4"),
    ],
)
def test_the_environment_sets_threads(environment: dict[str, str], expected: str) -> None:
    code = "import broadloom.numexpr as ne; print(ne.get_num_threads(), ne.MAX_THREADS)"
    assert in_subprocess(code, **environment) == expected


# The package under numexpr's name.


def test_install_serves_the_package_as_numexpr() -> None:
    code = """
import importlib.util, sys, broadloom.numexpr
broadloom.numexpr.install(); broadloom.numexpr.install()
assert "broadloom.numexpr._plans" not in sys.modules
import os; os.environ["NUMEXPR_MAX_THREADS"] = "4"
import numexpr, numexpr.utils
from numexpr.expressions import ConstantNode
from numexpr import E, NumExpr, disassemble, evaluate, re_evaluate, use_vml, validate
assert numexpr is broadloom.numexpr and numexpr.MAX_THREADS == 4 and numexpr.__version__ == "2.14.2"
assert numexpr.utils.detect_number_of_cores() >= 1 and numexpr.version.version == "2.14.2"
assert importlib.util.find_spec("numexpr.interpreter") is None and numexpr.utils is broadloom.numexpr.utils
import numexpr._plans
assert numexpr._plans is sys.modules["broadloom.numexpr._plans"]
assert numexpr.__spec__.name == "broadloom.numexpr"
broadloom.numexpr.uninstall()
assert not any(name.split(".")[0] == "numexpr" for name in sys.modules)
print("good")
"""
    assert in_subprocess(code) == "good"


def test_install_refuses_where_numexpr_is_imported() -> None:
    code = """
import sys, types
sys.modules["numexpr"] = types.ModuleType("numexpr")
import broadloom.numexpr
try:
    broadloom.numexpr.install()
except RuntimeError as error:
    print(error)
"""
    assert "imported already" in in_subprocess(code)


def test_a_pth_file_installs_for_an_environment(tmp_path: Path) -> None:
    (tmp_path / "broadloom.pth").write_text("import broadloom.numexpr; broadloom.numexpr.install()\n", encoding="utf-8")
    code = f"import site; site.addsitedir({str(tmp_path)!r}); import numexpr; print(numexpr.__name__)"
    assert in_subprocess(code) == "broadloom.numexpr"


def test_functions_are_pickled_by_name() -> None:
    for function in (ne.evaluate, ne.re_evaluate, ne.validate):
        assert pickle.loads(pickle.dumps(function)) is function


def test_importing_broadloom_does_not_import_this() -> None:
    assert in_subprocess("import sys, broadloom; print('broadloom.numexpr' in sys.modules)") == "False"


def test_sympy_lambdifies_to_it() -> None:
    pytest.importorskip("sympy")
    code = """
import broadloom.numexpr; broadloom.numexpr.install()
import numpy as np, sympy
x, y = sympy.symbols("x y")
f = sympy.lambdify((x, y), sympy.Piecewise((sympy.sin(x)**2 / 3 + sympy.pi*y, x > 0), (abs(x) + x**(-2), True)), modules="numexpr")
x, y = np.array([1.0, -2.0]), np.array([0.5, 1.0])
expected = np.where(x > 0, np.sin(x)**2/3 + np.pi*y, abs(x) + 1/x**2)
assert np.allclose(f(x, y), expected, rtol=1e-15)
print("good")
"""
    assert in_subprocess(code) == "good"


def test_children_of_a_fork_evaluate() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork")
    code = """
import os, numpy as np, broadloom.numexpr as ne
ne.set_num_threads(2)
x = np.arange(1e6)
ne.evaluate("2*x + 1")
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(ne.evaluate("2*x + 1"), 2*x + 1) and ne.evaluate("3*x")[1] == 3 else 1)
print(os.waitpid(child, 0)[1])
"""
    assert in_subprocess(code) == "0"


def test_objects_with_attributes_are_no_scopes() -> None:
    with pytest.raises(TypeError):
        ne.evaluate("a", SimpleNamespace(a=1))  # type: ignore[arg-type]


def test_inverting_a_constant_bool_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [int(ne.evaluate(text)) for text in ("~True", "~False", "~3")] == [-2, -1, -4]
