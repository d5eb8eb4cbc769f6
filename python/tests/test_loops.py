"""Loops: each expected value is computed by a Python loop over numbers, element by element."""

import re
import threading
import time
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import broadloom as bl


def escape(c: complex, limit: int = 30) -> tuple[float, float, int]:
    x = y = 0.0
    n = 0
    while n < limit and x * x + y * y <= 4:
        x, y = x * x - y * y + c.real, 2 * x * y + c.imag
        n += 1
    return x, y, n


CX = np.linspace(-2.0, 0.5, 23)
CY = np.linspace(-1.25, 1.25, 17).reshape(17, 1)
EXPECTED = [np.array([[escape(complex(cx, cy))[i] for cx in CX] for cy in CY[:, 0]]) for i in range(3)]


def mandelbrot(cx: Any, cy: Any) -> Any:
    def body(state: dict[str, Any]) -> dict[str, Any]:
        x, y = state["x"], state["y"]
        return {"x": x * x - y * y + cx, "y": 2 * x * y + cy}

    start = {"x": 0.0, "y": 0.0}
    last, n = bl.while_loop(lambda state: state["x"] ** 2 + state["y"] ** 2 <= 4, body, start, limit=30, counts=True)
    return last["x"], last["y"], n


@pytest.mark.parametrize("make", [bl.asarray, np.asarray], ids=["ours", "numpy"])
def test_each_element_iterates_by_itself(make: Any) -> None:
    for found, expected in zip(mandelbrot(make(CX), make(CY)), EXPECTED, strict=True):
        assert isinstance(found, bl.Array)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_jitted_function_has_loops() -> None:
    compiled = bl.jit(mandelbrot)
    for found, expected in zip(compiled(CX, CY), EXPECTED, strict=True):
        np.testing.assert_array_equal(found, expected)
    # Another length runs the same kernel.
    x, _, n = compiled(CX[:5], CY[:3])
    np.testing.assert_array_equal(x, EXPECTED[0][:3, :5])
    np.testing.assert_array_equal(n, EXPECTED[2][:3, :5])
    assert "while" in compiled.text()
    assert len(compiled.entries()) == 1
    parallel = bl.jit(mandelbrot, threads=2)
    np.testing.assert_array_equal(parallel(CX, CY)[2], EXPECTED[2])


Point = namedtuple("Point", "x n")


@pytest.mark.parametrize(
    "state, body",
    [
        ((1.0, 0), lambda s: (s[0] * 2, s[1] + 1)),
        ([1.0, 0], lambda s: [s[0] * 2, s[1] + 1]),
        (Point(1.0, 0), lambda s: Point(s.x * 2, s.n + 1)),
        ({"a": (1.0,), "b": [0]}, lambda s: {"a": (s["a"][0] * 2,), "b": [s["b"][0] + 1]}),
    ],
    ids=["tuple", "list", "named tuple", "nested"],
)
def test_a_state_is_a_tree(state: Any, body: Any) -> None:
    limit = bl.asarray([1.0, 5.0, 100.0])

    def leaves(state: Any) -> list[Any]:
        if isinstance(state, dict):
            return [leaf for part in state.values() for leaf in leaves(part)]
        return [leaf for part in state for leaf in leaves(part)] if isinstance(state, (tuple, list)) else [state]

    made = bl.while_loop(lambda s: leaves(s)[0] < limit, body, state)
    assert type(made) is type(state)
    x, n = leaves(made)
    assert np.asarray(x).tolist() == [1.0, 8.0, 128.0]
    assert np.asarray(n).tolist() == [0, 3, 7] and n.dtype == bl.int64


def test_numbers_take_the_dtype_of_the_body() -> None:
    x = bl.asarray(np.array([1, 3], "f4"))
    y, n = bl.while_loop(lambda s: s[0] < 9, lambda s: (s[0] * x + 1, s[1] + 1), (0, 0))
    assert (y.dtype, n.dtype) == (bl.float32, bl.int64)
    # 0, 1, 2, …, 9 and 0, 1, 4, 13
    assert np.asarray(y).tolist() == [9.0, 13.0] and np.asarray(n).tolist() == [9, 3]

    @bl.jit
    def steps(x: Any, start: Any, most: Any) -> Any:
        return bl.while_loop(lambda y: y < most, lambda y: y * x + 1, start)

    for start, most in [(0, 9), (0.5, 9), (0.5, 4.5)]:
        expected = []
        for factor in (1.0, 3.0):
            value = float(start)
            while value < most:
                value = value * factor + 1
            expected.append(value)
        found = steps(np.array([1, 3], "f4"), start, most)
        assert found.dtype == np.float32 and found.tolist() == expected


V = np.array([1, 2], "f4")
INTS = np.array([1, 2], "i4")


@pytest.mark.parametrize(
    "function, v, n, expected",
    [
        (lambda v, n: bl.while_loop(lambda s: s < 5, lambda s: s * n + v, 0.0), V, 1.0, [5, 6]),
        (lambda v, n: bl.while_loop(lambda s: s < 5, lambda s: v + n * s, 0), V, 1, [5, 6]),
        (lambda v, n: bl.while_loop(lambda s: s < 5, lambda s: bl.maximum(s, n) + v, 0.0), V, 1.0, [5, 5]),
        (lambda v, n: bl.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + v, n), (v, v * 0))[1], V, 0.5, [0.5, 0.5]),
        (lambda v, n: bl.fori_loop(0, 3, lambda i, s: s * n + v, 0.0), V, 2.0, [7, 14]),
        (lambda v, n: bl.fori_loop(n, v, lambda i, s: i, -1), INTS, 0, [0, 1]),
        (lambda v, n: bl.fori_loop(-v, n, lambda i, s: s + i, 0), INTS, 2, [0, -2]),
        (lambda v, n: bl.scan(lambda s, x: (s * n + x, None), 0.0, v)[0], V, 2.0, 4),
        (lambda v, n: bl.scan(lambda s, x: (s + x, s * n), 0.0, v)[1], V, 2.0, [0, 2]),
        (lambda v, n: bl.cond(v > 1, lambda: n, lambda: v), V, 5.0, [1, 5]),
        (lambda v, n: bl.cond(v > 1, lambda: (v, n), lambda: (n * 2, v))[0], V, 5.0, [10, 2]),
        (lambda v, n: bl.cond(v > 1, lambda x, y: x, lambda x, y: y, n, v), INTS, 5, [1, 5]),
    ],
)  # fmt: skip
def test_a_number_that_a_traced_function_receives_promotes_like_a_literal(
    function: Any, v: Any, n: Any, expected: Any
) -> None:
    compiled = bl.jit(function)
    found = compiled(v, n)
    assert (found.dtype, found.tolist()) == (v.dtype, expected)
    literal = function(bl.asarray(v), n)
    assert (literal.dtype, literal.tolist()) == (v.dtype, expected)
    # No attempt to find the dtypes leaves an input of another dtype behind.
    assert {dtype for _, dtype, _ in compiled.entries()[0].kernel.inputs} == {v.dtype}


def test_numpys_functions_take_numbers_of_a_state_as_numbers() -> None:
    def last(v: Any, n: Any) -> Any:
        return bl.while_loop(lambda s: s < 5, lambda s: np.add(np.multiply(s, v), n), 0.0)

    # 0, 1, …, 5 and 0, 1, 3, 7
    for found in [last(bl.asarray(V), 1.0), bl.jit(last)(V, 1.0)]:
        assert (found.dtype, found.tolist()) == (np.float32, [5, 7])


def test_a_number_that_does_not_fit_is_an_error_at_the_call() -> None:
    x = np.array([1, 2], "i1")
    for function in [
        lambda x, n: bl.cond(x > 1, lambda: n, lambda: x),
        lambda x, n: bl.while_loop(lambda s: s < 9, lambda s: s + x + n, 0),
    ]:
        compiled = bl.jit(function)
        assert compiled(x, 7).dtype == np.int8
        with pytest.raises(bl.LiteralError, match="1000 cannot be represented as int8"):
            compiled(x, 1000)


@pytest.mark.parametrize(
    "state, body",
    [
        ((0, 1), lambda s: (s[1] + 1, s[0] * 0.5)),
        ((0, 1.5), lambda s: (s[1], s[0])),
        ((0, 0, 1.5), lambda s: (s[1], s[2], s[0])),
        ((False, 2), lambda s: (s[1], s[0])),
        ((True, 1, 0.5), lambda s: (s[1], s[2], s[0])),
    ],
)
def test_numbers_that_change_places_find_their_dtypes(state: Any, body: Any) -> None:
    expected = state
    for _ in range(4):
        expected = body(expected)
    kind = bl.float64 if float in map(type, expected) else bl.int64

    def last(*state: Any) -> Any:
        return bl.while_loop(lambda s: s[0] > -1, body, state, limit=4)

    scanned = bl.scan(lambda s, _: (body(s), None), state, length=4)[0]
    counted, n = bl.while_loop(lambda s: s[0] > -1, body, state, limit=4, counts=True)
    assert n.item() == 4
    for found in [
        last(*state),
        bl.jit(last)(*state),
        scanned,
        counted,
        bl.fori_loop(0, 4, lambda i, s: body(s), state),
    ]:
        assert [x.dtype for x in found] == [kind] * len(state)
        assert [x.item() for x in found] == [float(x) for x in expected]


def test_numbers_change_places_in_a_loop_of_a_loop() -> None:
    def body(s: Any) -> Any:
        return s[1] + 1, s[0] * 0.5

    expected: Any = (0, 1)
    for _ in range(6):
        expected = body(expected)

    def last(a: Any, b: Any) -> Any:
        return bl.fori_loop(0, 2, lambda i, s: bl.fori_loop(0, 3, lambda j, t: body(t), s), (a, b))

    for found in [last(0, 1), bl.jit(last)(0, 1)]:
        assert [(x.dtype, x.item()) for x in found] == [(bl.float64, value) for value in expected]


def test_the_dtype_of_an_array_in_a_state_does_not_change() -> None:
    x = bl.asarray([1, 2])
    with pytest.raises(bl.DTypeError, match="carried value 1 is int64, but becomes float64"):
        bl.while_loop(lambda s: s[0] < 5, lambda s: (s[1] + 1, s[0] * 0.5), (0, x))


def test_the_keys_of_dicts_may_have_another_order() -> None:
    x = bl.asarray([1.0, 2.0])
    start = {"a": x, "b": {1: 0.0, "c": (x * 10, x * 100)}}

    def body(s: Any) -> Any:
        inner = {"c": (s["b"]["c"][0], s["a"]), 1: s["b"][1] + 1}
        return {"b": inner, "a": s["a"] * 2}

    for found in [
        bl.while_loop(lambda s: s["a"] < 4, body, start),
        bl.fori_loop(0, bl.asarray([2, 1]), lambda i, s: body(s), start),
        bl.cond(x > 0, lambda: bl.fori_loop(0, bl.asarray([2, 1]), lambda i, s: body(s), start), lambda: body(start)),
    ]:
        assert list(found) == ["a", "b"] and list(found["b"]) == [1, "c"]
        assert found["a"].tolist() == [4.0, 4.0] and found["b"][1].tolist() == [2.0, 1.0]
        assert [part.tolist() for part in found["b"]["c"]] == [[10.0, 20.0], [2.0, 2.0]]
    last, outputs = bl.scan(lambda s, x: ({"q": x, "p": s["p"] + x}, {"z": x, "y": s["q"]}), {"p": 0.0, "q": 0.0}, x)
    assert last["p"].item() == 3.0 and last["q"].item() == 2.0
    assert outputs["z"].tolist() == [1.0, 2.0] and outputs["y"].tolist() == [0.0, 1.0]
    with pytest.raises(TypeError, match=r"the state is \{'a': ·, 'b': ·\}, but the body returns \{'b': ·, 'c': ·\}"):
        bl.while_loop(lambda s: s["a"] < 4, lambda s: {"b": s["b"], "c": s["a"]}, {"a": x, "b": x})
    with pytest.raises(TypeError, match=r"one function returns \{'a': \(·,\)\}, the other \{'a': \[·\]\}"):
        bl.cond(x > 0, lambda: {"a": (x,)}, lambda: {"a": [x]})


def test_a_range_is_a_loop_over_its_integers() -> None:
    n = bl.asarray([0, 1, 5, -3])
    total = bl.fori_loop(-2, n, lambda i, total: total + i, 0)
    assert np.asarray(total).tolist() == [sum(range(-2, n)) for n in (0, 1, 5, -3)]
    low = bl.asarray(np.array([[120], [-128]], "i1"))
    high = bl.asarray(np.array([127, 125], "i1"))
    last, count = bl.fori_loop(low, high, lambda i, s: (i, s[1] + 1), (low, 0))
    assert last.dtype == bl.int8 and np.asarray(last).tolist() == [[126, 124], [126, 124]]
    assert np.asarray(count).tolist() == [[7, 5], [255, 253]]
    power = bl.jit(lambda x, n: bl.fori_loop(0, n, lambda _, y: y * x, 1.0))
    assert power(np.array([2.0, 3.0]), np.array([10, 0])).tolist() == [1024.0, 1.0]
    assert power(np.array([2.0, 3.0]), 3).tolist() == [8.0, 27.0]


def test_loops_contain_loops() -> None:
    n = bl.asarray([1, 6, 27])

    def halved(state: tuple[Any, Any]) -> tuple[Any, Any]:
        return bl.while_loop(lambda s: s[0] % 2 == 0, lambda s: (s[0] // 2, s[1] + 1), state)

    def body(state: tuple[Any, Any]) -> tuple[Any, Any]:
        n, steps = halved(state)
        odd = n != 1
        return bl.where(odd, n * 3 + 1, n), bl.where(odd, steps + 1, steps)

    _, steps = bl.while_loop(lambda s: s[0] != 1, body, (n, 0))
    assert np.asarray(steps).tolist() == [0, 8, 111]


def test_the_rule_of_promotion_is_that_of_the_state() -> None:
    x = bl.asarray(np.array([1, 2], "i4"))
    made = bl.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x), (x, np.zeros(2)))
    assert made[1].dtype == bl.float64 and np.asarray(made[1]).tolist() == [2.0, 2.0]
    with bl.set_options(promotion="strict"), pytest.raises(TypeError, match="cannot promote"):
        bl.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x), (x, np.zeros(2)))


def test_the_result_is_an_array_like_others() -> None:
    x = bl.asarray([1.0, 3.0])
    y, n = bl.while_loop(lambda y: y < 20, lambda y: y * 2, x, counts=True)
    assert bl.sum(y + n).__float__() == 32 + 24 + 5 + 3
    assert float(y[1]) == 24.0 and n[0] == 5
    x = np.array([1.0, 3.0])
    lent = bl.while_loop(lambda y: y < 20, lambda y: y * 2, x)
    x[1] = 19.0
    assert np.asarray(lent).tolist() == [32.0, 38.0]
    assert bl.while_loop(lambda y: y < 20, lambda y: y * 2, 3, limit=0).item() == 3


X = bl.asarray([1.0, 2.0])


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: bl.while_loop(lambda x: x + 1, lambda x: x, X), TypeError, "the condition must be bool, not float64"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x > 1, X), TypeError, "carried value 0 is float64, but becomes bool"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: bl.sum(x), X), ValueError, "is made by sum"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x[::-1], X), ValueError, "does not work element by element"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: (x, x), X), TypeError, r"the state is ·, but the body returns \(·, ·\)"),
        (lambda: bl.while_loop(lambda s: s[0] < 1, lambda s: [s[0]], (X,)), TypeError, r"the state is \(·,\), but the body returns \[·\]"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: None, X), TypeError, "expected an array"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x, "y"), TypeError, "while_loop: state: expected an array"),
        (lambda: bl.while_loop(lambda x: "y", lambda x: x, X), TypeError, "the condition's result: expected an array"),
        (lambda: bl.while_loop(lambda x: (x > 1, x > 2), lambda x: x, X), TypeError, r"the condition returns \(·, ·\)"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x, ()), (TypeError, ValueError), "there is no carried value"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x, X, limit=-1), ValueError, "the limit is -1"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x, X, limit=1.5), TypeError, "`limit` is 1.5, expected an int or None"),
        (lambda: bl.fori_loop(0, 1.5, lambda i, x: x, X), TypeError, "`upper` is 1.5, expected an array or an int"),
        (lambda: bl.fori_loop(0, 3, lambda i, x: (x, i), X), TypeError, "fori_loop: the state is ·"),
        (lambda: bl.while_loop(lambda s: s[0] < 1, lambda s: s, (X,) * 65), bl.LimitError, "65 carried values, the limit is 64"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x if x > 1 else x, X), bl.TracerError, "use broadloom.where"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: np.asarray(x), X), bl.TracerError, "has none"),
        (lambda: bl.while_loop(lambda x: x < 1, lambda x: x / 0 + 1 // int("x"), X), ValueError, "invalid literal"),
    ],
)  # fmt: skip
def test_what_is_no_loop_is_refused(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_an_exception_of_a_function_is_raised_as_it_is() -> None:
    class Special(Exception):
        pass

    def body(x: Any) -> Any:
        raise Special

    with pytest.raises(Special):
        bl.while_loop(lambda x: x < 1, body, X)
    # The loop is not affected by an earlier failure.
    assert np.asarray(bl.while_loop(lambda x: x < 4, lambda x: x * 2, X)).tolist() == [4.0, 4.0]


def test_an_array_of_a_loop_has_no_values_outside() -> None:
    kept = []

    def body(x: Any) -> Any:
        kept.append(x)
        return x + 1

    bl.while_loop(lambda x: x < 1, body, X)
    with pytest.raises((bl.TracerError, ValueError)):
        np.asarray(kept[0] + 1)


def test_an_element_that_does_not_end_is_an_error() -> None:
    x = bl.while_loop(lambda x: x > 0, lambda x: x * 1, bl.asarray([-1.0, 0.0, 2.0]))
    with pytest.raises(bl.LimitError, match="element 2"):
        np.asarray(x)


def test_loops_end_at_an_interrupt_and_a_time_limit() -> None:
    x = bl.fori_loop(0, 2**62, lambda i, x: x + 1, bl.asarray([0]))
    since = time.monotonic()
    with pytest.raises(bl.TimeLimitError):
        bl.evaluate(x, max_time=0.2)
    assert time.monotonic() - since < 5
    timer = threading.Timer(0.3, _interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        np.asarray(x)
    assert time.monotonic() - since < 10


def _interrupt() -> None:
    import _thread

    _thread.interrupt_main()


def test_evaluating_one_value_of_a_loop_evaluates_the_others() -> None:
    x, n = bl.while_loop(lambda x: x < 9, lambda x: bl.exp(x * 0.5 + 1) - bl.sin(x) * 2 + abs(x), X, counts=True)
    np.asarray(x)
    assert n._handle.is_evaluated


SIGNED = np.array([4.0, -9.0, 0.25, np.nan, np.inf])


def test_each_element_takes_its_branch() -> None:
    def roots(x: Any) -> Any:
        return bl.cond(x >= 0, lambda: {"y": bl.sqrt(x), "k": 1}, lambda: {"y": -x, "k": -1})

    for found in [roots(bl.asarray(SIGNED)), bl.jit(roots)(SIGNED)]:
        np.testing.assert_array_equal(np.asarray(found["y"]), [2.0, 9.0, 0.5, np.nan, np.inf])
        np.testing.assert_array_equal(np.asarray(found["k"]), [1, -1, 1, -1, 1])
    # Operands are passed to both functions, as in JAX.
    scaled = bl.cond(bl.asarray(SIGNED) > 0, lambda x, k: x * k, lambda x, k: x - k, bl.asarray(SIGNED), 2)
    np.testing.assert_array_equal(np.asarray(scaled), [8.0, -11.0, 0.5, np.nan, np.inf])


def depths(parent: Any, first: Any) -> Any:
    return bl.while_loop(lambda s: s[0] > 0, lambda s: (parent[s[0]], s[1] + 1), (first, 0))[1]


def test_loops_take_elements_at_indices_that_they_compute() -> None:
    parent = np.array([(i - 1) // 2 for i in range(1000)])
    parent[0] = 0
    first = np.arange(1000)
    wanted = [(i + 1).bit_length() - 1 for i in range(1000)]
    for found in [depths(bl.asarray(parent), bl.asarray(first)), bl.jit(depths)(parent, first)]:
        np.testing.assert_array_equal(np.asarray(found), wanted)
    # A state without axes is an index as well.
    assert int(depths(bl.asarray(parent), 999)) == 9
    # Elements of two axes, by `fori_loop` and `take`.
    x, ends = np.arange(12.0).reshape(3, 4), np.array([3, 0, 2, 1])
    table = bl.asarray(x)
    diagonal = bl.fori_loop(0, bl.asarray(ends), lambda i, y: y * 2 + table[i, i + 1], 0.0)
    np.testing.assert_array_equal(np.asarray(diagonal), [4 * 1 + 2 * 6 + 11, 0, 2 * 1 + 6, 1])
    wrapped = bl.fori_loop(0, 5, lambda i, y: y + bl.take(table[1], i, axis=0, mode="wrap"), bl.zeros(2))
    np.testing.assert_array_equal(np.asarray(wrapped), [4 + 5 + 6 + 7 + 4] * 2)


def runs(table: Any, bits: Any) -> Any:
    return bl.scan(lambda s, bit: (table[s, bit], table[s, bit]), 0, bits)[1]


def composed(table: Any, x: Any) -> Any:
    return bl.reduce(lambda a, b: table[(a * 3 + b) % 7], 0, x, axis=1)


def test_steps_take_elements_at_indices_that_they_compute() -> None:
    table = np.array([[0, 1], [0, 2], [0, 2]])
    bits = np.arange(500) * 7 % 11 % 2
    state, wanted = 0, []
    for bit in bits:
        state = int(table[state, bit])
        wanted.append(state)
    for found in [runs(bl.asarray(table), bl.asarray(bits)), bl.jit(runs)(table, bits)]:
        np.testing.assert_array_equal(np.asarray(found), wanted)
    # Of 2 elements, there is one combination.
    cycle, pairs = np.arange(7) * 3 % 7, np.arange(40).reshape(20, 2)
    for found in [composed(bl.asarray(cycle), bl.asarray(pairs)), bl.jit(composed)(cycle, pairs)]:
        np.testing.assert_array_equal(np.asarray(found), cycle[(pairs[:, 0] * 3 + pairs[:, 1]) % 7])
    for fails in [lambda: runs(bl.asarray(table), bl.asarray([0, 2])), lambda: bl.jit(runs)(table, [0, 2])]:
        with pytest.raises(IndexError):
            np.asarray(fails())


def test_an_index_out_of_range_is_an_error_in_active_elements() -> None:
    table = bl.asarray([1, 2, 3])

    def followed(first: list[int], bound: int) -> Any:
        return bl.while_loop(lambda i: i < bound, lambda i: table[i], bl.asarray(first))

    np.testing.assert_array_equal(np.asarray(followed([0, 2, 99, 1], 3)), [3, 3, 99, 3])
    with pytest.raises(IndexError):
        np.asarray(followed([0, 3], 4))
    index = bl.asarray([2, 7, 0])
    taken = bl.cond(index < 3, lambda: table[index], lambda: -1)
    np.testing.assert_array_equal(np.asarray(taken), [3, -1, 1])
    with pytest.raises(ValueError, match="depends on a carried value"):
        bl.while_loop(lambda i: i < 3, lambda i: bl.take(i, table, axis=0), table)


def test_a_branch_that_is_not_taken_does_not_fail() -> None:
    a, b = np.array([7, 8, -9]), np.array([2, 0, 2])

    def divided(a: Any, b: Any, least: int) -> Any:
        return bl.cond(b >= least, lambda: a // b, lambda: -1)

    def run(least: int) -> Any:
        return bl.evaluate(divided(bl.asarray(a), bl.asarray(b), least), int_division="error")

    compiled = bl.jit(divided, int_division="error")
    for function in [run, lambda least: compiled(a, b, least)]:
        np.testing.assert_array_equal(np.asarray(function(1)), [3, -1, -5])
        with pytest.raises(ZeroDivisionError):
            function(0)


def test_what_is_no_conditional_is_refused() -> None:
    x = bl.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match="cond: the predicate must be bool, not float64"):
        bl.cond(x, lambda: x, lambda: x)
    with pytest.raises(TypeError, match="one function returns .*, the other"):
        bl.cond(x > 1, lambda: (x, x), lambda: x)
    with pytest.raises(ValueError, match="a reason"):

        def fails() -> bl.Array:
            raise ValueError("a reason")

        bl.cond(x > 1, lambda: x, fails)


def columns(step: Any, state: float, x: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """The last states and the outputs of a scalar loop for each column."""
    moved = np.moveaxis(x, axis, 0)
    last, outputs = np.empty(moved.shape[1:]), np.empty(moved.shape)
    order = range(len(moved))[::-1] if reverse else range(len(moved))
    for column in np.ndindex(moved.shape[1:]):
        s = state
        for i in order:
            s, outputs[(i, *column)] = step(s, float(moved[(i, *column)]))
        last[column] = s
    return last, np.moveaxis(outputs, 0, axis)


@pytest.mark.parametrize("shape", [(1,), (50,), (30, 7), (7, 30), (3, 4, 5)])
def test_a_scan_is_a_scalar_loop_for_each_column(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(5).normal(size=shape)

    def step(s: Any, v: Any) -> tuple[Any, Any]:
        following = s * 0.5 + v
        return following, following - s

    for axis in range(-len(shape), len(shape)):
        for reverse in (False, True):
            expected = columns(step, 0.25, x, axis, reverse)
            for got in (
                bl.scan(step, 0.25, bl.asarray(x), axis, reverse),
                bl.jit(lambda x, a=axis, r=reverse: bl.scan(step, 0.25, x, axis=a, reverse=r))(bl.asarray(x)),
            ):
                np.testing.assert_array_equal(np.asarray(got[0]), expected[0])
                np.testing.assert_array_equal(np.asarray(got[1]), expected[1])


def test_states_inputs_and_outputs_of_scans_are_trees() -> None:
    x, n = bl.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), bl.asarray([[1], [2], [3]])
    w = bl.asarray([10.0, 100.0])

    def step(state: Any, inputs: Any) -> Any:
        total, (count,) = state["total"], state["rest"]
        total = total + inputs[0] * w
        return {"total": total, "rest": (count + inputs[1],)}, [{"t": total}, count]

    state, outputs = bl.scan(step, {"total": 0.0, "rest": (0,)}, (x, n))
    np.testing.assert_array_equal(np.asarray(state["total"]), [90.0, 1200.0])
    np.testing.assert_array_equal(np.asarray(state["rest"][0]), [6, 6])
    np.testing.assert_array_equal(np.asarray(outputs[0]["t"]), [[10, 200], [40, 600], [90, 1200]])
    np.testing.assert_array_equal(np.asarray(outputs[1]), [[0, 0], [1, 1], [3, 3]])
    assert outputs[1].dtype == bl.int64

    last, nothing = bl.scan(lambda s, x: (s * 2, None), bl.asarray([1, 3]), length=4)
    assert nothing is None
    np.testing.assert_array_equal(np.asarray(last), [16, 48])
    last, powers = bl.scan(lambda s, x: (s * 3, s), 1, length=3, reverse=True)
    np.testing.assert_array_equal(np.asarray(powers), [9, 3, 1])
    start = bl.jit(lambda s, x: bl.scan(lambda s, v: (s + v, s), s, x))
    for first in (1.0, 2.0):
        np.testing.assert_array_equal(np.asarray(start(first, w)[1]), [first, first + 10])


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (
            lambda: bl.scan(lambda s, x: s, 0.0, X),
            TypeError,
            "scan: the step returns an array, but must return a tuple",
        ),
        (lambda: bl.scan(lambda s, x: ((s, s), x), 0.0, X), TypeError, "scan: the state is ·, but the step returns"),
        (lambda: bl.scan(lambda s, x: (bl.sum(s), x), 0.0, X), ValueError, "scan: state 0 is made by sum"),
        (lambda: bl.scan(lambda s, x: (s, x), 0.0, X, 5), ValueError, "which has no axis 5"),
        (lambda: bl.scan(lambda s, x: (s, x), 0.0), TypeError, "neither inputs nor a length"),
        (lambda: bl.scan(lambda s, x: (s, x), 0.0, length=-1), ValueError, "the length is -1"),
        (lambda: bl.scan(lambda s, x: (s, x), 0.0, X, length=7), ValueError, "the length 7"),
        (lambda: bl.scan(lambda s, x: (s + x, x), bl.asarray(1, dtype=bl.int8), X), TypeError, "astype"),
    ],
)
def test_what_can_not_be_a_scan_is_refused(build: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        build()


def test_an_exception_of_a_step_is_raised() -> None:
    def step(s: Any, x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bl.scan(step, 0.0, X)


@pytest.mark.parametrize("shape", [(1,), (40,), (1000,), (7, 40), (70, 3, 5)])
def test_a_reduction_by_addition_is_a_sum(shape: tuple[int, ...]) -> None:
    x = bl.asarray(np.random.default_rng(7).normal(size=shape))
    for axis in range(-len(shape), len(shape)):
        expected = np.asarray(bl.sum(x, axis=axis))
        for got in (
            bl.reduce(lambda a, b: a + b, 0, x, axis),
            bl.jit(lambda x, axis=axis: bl.reduce(lambda a, b: a + b, 0, x, axis=axis))(x),
        ):
            np.testing.assert_array_equal(np.asarray(got), expected)


def test_values_of_reductions_are_trees() -> None:
    x = bl.asarray([[1.0, 5.0], [3.0, 2.0], [5.0, 5.0]])
    scale = bl.asarray([1.0, -1.0])

    def larger(a: Any, b: Any) -> Any:
        is_left = (a["x"] * scale > b["x"] * scale) | ((a["x"] == b["x"]) & (a["at"][0] < b["at"][0]))
        return {"x": bl.where(is_left, a["x"], b["x"]), "at": [bl.where(is_left, a["at"][0], b["at"][0])]}

    best = bl.reduce(larger, {"x": -1.0, "at": [-1]}, {"x": x, "at": [bl.arange(3)[:, None]]})
    np.testing.assert_array_equal(np.asarray(best["x"]), [5.0, 2.0])
    np.testing.assert_array_equal(np.asarray(best["at"][0]), [2, 1])
    assert (best["x"].dtype, best["at"][0].dtype) == (bl.float64, bl.int64)
    empty = bl.reduce(larger, {"x": -1.0, "at": [-1]}, {"x": x[:0], "at": [bl.arange(0)[:, None]]})
    np.testing.assert_array_equal(np.asarray(empty["at"][0]), [-1, -1])
    scaled = bl.jit(lambda x, identity: bl.reduce(lambda a, b: a * b, identity, x))
    np.testing.assert_array_equal(np.asarray(scaled(X, 2.5)), np.asarray(bl.prod(X, axis=0)))
    np.testing.assert_array_equal(np.asarray(scaled(X[:0], 2.5)), np.full(X.shape[1:], 2.5))


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (
            lambda: bl.reduce(lambda a, b: (a, b), 0, X),
            TypeError,
            "reduce: the state is ·, but the function returns (·, ·)",
        ),
        (lambda: bl.reduce(lambda a, b: a, (0, 0), X), TypeError, "the identity is (·, ·), but the values are ·"),
        (lambda: bl.reduce(lambda a, b: bl.sum(a), 0, X), ValueError, "reduce: array 0 is made by sum"),
        (lambda: bl.reduce(lambda a, b: a > b, 0, X), TypeError, "reduce: array 0"),
        (lambda: bl.reduce(lambda a, b: (a + b) / 2, 0, bl.arange(3)), TypeError, "int64, but becomes float64"),
        (lambda: bl.reduce(lambda a, b: a + b, 0, X, 7), ValueError, "no axis 7"),
    ],
)
def test_what_can_not_be_reduced_is_refused(build: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        build()


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_numbers_begin_loops_over_every_integer(dtype: str) -> None:
    x = bl.asarray(np.array([1, 2, 3], dtype))
    assert bl.reduce(lambda a, b: a + b, 0, x).dtype == x.dtype
    last, sums = bl.scan(lambda s, v: (s + v, s), 0, x)
    assert (last.dtype, sums.dtype, int(last)) == (x.dtype, x.dtype, 6)
    np.testing.assert_array_equal(np.asarray(bl.while_loop(lambda s: s < 9, lambda s: s + x, 0)), [9, 10, 9])
