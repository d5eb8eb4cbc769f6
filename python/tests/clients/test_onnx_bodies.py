"""Tests `If`, `Loop` and `Scan` in `broadloom.onnx`: results by the texts of the operators, scopes, plans, refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import AttributeProto, TensorProto, helper, numpy_helper, parser  # noqa: E402

import broadloom.onnx as client  # noqa: E402
from broadloom.onnx import InvalidModelError, UnsupportedModelError, _control, _plan  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 20]>'


def model_of(graph: str, opset: int = 20, functions: str = "", domains: str = "") -> Any:
    """A model of a graph in ONNX's text format."""
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}{domains}]> {graph} {functions}')


def prepare(graph: str, opset: int = 20, **options: Any) -> Any:
    return client.prepare(model_of(graph, opset), **options)


def f4(*values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def i8(value: int) -> np.ndarray:
    return np.array(value, dtype=np.int64)


def flag(value: bool) -> np.ndarray:
    return np.array(value)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans that are made during a test."""
    made: list[Any] = []
    plan: Callable[[Any], Any] = _plan.Tracer.plan

    def counted(tracer: Any) -> Any:
        made.append(plan(tracer))
        return made[-1]

    monkeypatch.setattr(_plan.Tracer, "plan", counted)
    return made


# If.

BRANCHES = """g (bool c, float[N] x) => (float[M] y) {
    two = Constant <value_float = 2.0> ()
    y = If <
        then_branch = t () => (float[N] r) { r = Mul (x, two) },
        else_branch = e () => (float[M] r) { r = Concat <axis = 0> (x, x) }
    > (c)
}"""


def test_a_branch_reads_outer_values_and_has_a_shape_of_its_own() -> None:
    prepared = prepare(BRANCHES)
    x = f4(1, 2)
    for condition in (flag(True), np.array([[True]])):
        np.testing.assert_array_equal(prepared.run({"c": condition.reshape(()), "x": x}).y, x * 2, strict=True)
    np.testing.assert_array_equal(prepared.run([flag(False), x]).y, f4(1, 2, 1, 2), strict=True)


@pytest.mark.parametrize("opset", [8, 11, 13, 16, 19, 21, 23, 24, 25])
def test_a_condition_is_one_element(opset: int) -> None:
    text = """g (bool[N] c, int64 x) => (int64 y) {
        y = If <then_branch = t () => (int64 r) { r = Neg (x) }, else_branch = e () => (int64 s) { s = Abs (x) }> (c) }"""
    prepared = prepare(text, opset)
    assert prepared.run([np.array([True]), i8(3)]).y == -3
    assert prepared.run([np.array([False]), i8(-3)]).y == 3
    for count in (0, 2):
        with pytest.raises(ValueError, match=rf"^If: its condition has the shape \[{count}\], not one element"):
            prepared.run([np.zeros(count, bool), i8(3)])


def test_a_branch_that_is_not_taken_raises_nothing() -> None:
    text = """g (bool c, int32 x, int32 z) => (int32 y) {
        y = If <then_branch = t () => (int32 r) { r = Div (x, z) }, else_branch = e () => (int32 r) { r = Neg (x) }> (c)
    }"""
    prepared = prepare(text, int_division="error")
    three, zero = np.array(3, "i4"), np.array(0, "i4")
    assert prepared.run([flag(False), three, zero]).y == -3
    with pytest.raises(ZeroDivisionError):
        prepared.run([flag(True), three, zero])


# Loop.

#: Counts from 3 down: `n` is decremented as long as it is more than 1, and each iteration gives the number before.
COUNTDOWN = """g (int64 m, bool c, int64 n) => (int64 last, int64[K] seen) {
    one = Constant <value = int64 {1}> ()
    last, seen = Loop <body = b (int64 i, bool before, int64 a) => (bool after, int64 next, int64 old) {
        next = Sub (a, one)
        after = Greater (next, one)
        old = Identity (a)
    }> (INPUTS, n)
}"""


@pytest.mark.parametrize("opset", [11, 13, 16, 19, 21, 23, 24, 25])
@pytest.mark.parametrize(
    ("inputs", "m", "c", "seen"),
    [
        # `for (i = 0; i < m && cond; ++i) cond = ...`
        ("m, c", 10, True, [3, 2]),
        ("m, c", 1, True, [3]),
        ("m, c", 0, True, []),
        ("m, c", -5, True, []),
        ("m, c", 10, False, []),
        # `for (i = 0; cond; ++i) cond = ...`
        ('"", c', 0, True, [3, 2]),
        ('"", c', 9, False, []),
        # `for (i = 0; i < m; ++i) cond = ...`: the condition of the body is ignored.
        ('m, ""', 5, False, [3, 2, 1, 0, -1]),
        ('m, ""', 0, True, []),
    ],
)
def test_loops_end_by_trip_count_and_condition(opset: int, inputs: str, m: int, c: bool, seen: list[int]) -> None:
    made = prepare(COUNTDOWN.replace("INPUTS", inputs), opset).run([i8(m), flag(c), i8(3)])
    np.testing.assert_array_equal(made.seen, np.array(seen, dtype=np.int64), strict=True)
    assert made.last == 3 - len(seen)


def test_the_first_version_of_loop_has_the_same_meaning() -> None:
    text = """g (int64 m, bool c, float[N] x) => (float[N] y, float[K, N] all) {
        y, all = Loop <body = b (int64 i, bool before, float[N] a) => (bool before, float[N] n, float[N] n) {
            n = Add (a, a) }> (m, c, x) }"""
    made = prepare(text, 8).run([i8(3), flag(True), f4(1, 2)])
    np.testing.assert_array_equal(made.y, f4(8, 16), strict=True)
    np.testing.assert_array_equal(made.all, f4([2, 4], [4, 8], [8, 16]), strict=True)


def test_the_body_is_given_the_iteration_and_the_condition() -> None:
    text = """g (int64 m, bool c, int64 x) => (int64 y, int64[K] numbers, bool[K] conditions) {
        four = Constant <value_int = 4> ()
        y, numbers, conditions = Loop <body = b (int64 i, bool c_in, int64 a) => (bool c_out, int64 a_out, int64 j, bool d) {
            a_out = Add (a, i)
            c_out = Less (i, four)
            j = Identity (i)
            d = Identity (c_in)
        }> (m, OPTIONAL, x) }"""
    made = prepare(text.replace("OPTIONAL", "c")).run([i8(100), flag(True), i8(10)])
    assert made.numbers.tolist() == [0, 1, 2, 3, 4] and made.y == 20 and made.conditions.tolist() == [True] * 5
    # Without a condition, the value that the body gives is still carried to the next iteration.
    made = prepare(text.replace("OPTIONAL", '""')).run([i8(7), flag(True), i8(0)])
    assert made.y == 21 and made.conditions.tolist() == [True] * 5 + [False] * 2


def test_states_may_change_their_shape() -> None:
    text = """g (int64 m, float[N] x) => (float[M] y, int64[K] sizes) {
        t = Constant <value = bool {1}> ()
        y, sizes = Loop <body = b (int64 i, bool c, float[A] a) => (bool d, float[B] r, int64 n) {
            d = Identity (c)
            r = Concat <axis = 0> (a, x)
            n = Size (r)
        }> (m, t, x) }"""
    made = prepare(text).run([i8(3), f4(1, 2)])
    assert made.y.tolist() == [1, 2] * 4 and made.sizes.tolist() == [4, 6, 8]


def test_scan_outputs_must_not_change_their_shape() -> None:
    text = """g (int64 m, float[N] x) => (float[M] y, float[K, M] all) {
        t = Constant <value = bool {1}> ()
        y, all = Loop <body = b (int64 i, bool c, float[A] a) => (bool d, float[B] r, float[B] s) {
            d = Identity (c)
            r = Concat <axis = 0> (a, x)
            s = Neg (r)
        }> (m, t, x) }"""
    with pytest.raises(
        ValueError, match=r"output 1 collects values of one shape, and iteration 1 gives \[6\], the first"
    ):
        prepare(text).run([i8(3), f4(1, 2)])


ZERO = """g (int64 m, float[N, 3] x) => (float[N, 3] y, float[K, A, B] s) {
    t = Constant <value = bool {1}> ()
    y, s = Loop <body = b (int64 i, bool c, float[R, Q] a) => (bool d, float[R, Q] r, DECLARED s) {
        d = Identity (c)
        r = Abs (a)
        s = Transpose (a)
    }> (m, t, x) }"""


@pytest.mark.parametrize(
    ("declared", "shape"), [("float[3, 2]", (0, 3, 2)), ("float[Q, R]", (0, 3, 2)), ("float[Q, 2]", (0, 3, 2))]
)
def test_without_iterations_the_declared_shape_counts(declared: str, shape: tuple[int, ...]) -> None:
    made = prepare(ZERO.replace("DECLARED", declared)).run([i8(0), np.ones((2, 3), "f4")])
    assert made.s.shape == shape and made.s.dtype == np.float32 and made.y.tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("declared", ["float[Q, Unknown]", "float[Q, ?]", "float[]", ""])
def test_without_iterations_a_shape_that_is_not_declared_is_an_error(declared: str) -> None:
    prepared = prepare(ZERO.replace("DECLARED", declared))
    assert prepared.run([i8(1), np.ones((2, 3), "f4")]).s.shape == (1, 3, 2)
    with pytest.raises(
        ValueError, match="Loop: there is no iteration, and the body does not declare the shape of output 1"
    ):
        prepared.run([i8(0), np.ones((2, 3), "f4")])


def test_a_scan_output_without_a_name_needs_no_shape() -> None:
    text = ZERO.replace("DECLARED", "").replace("y, s = Loop", 'y, "" = Loop').replace(", float[K, A, B] s)", ")", 1)
    for trips in (0, 2):
        assert prepare(text).run([i8(trips), np.ones((2, 3), "f4")]).y.tolist() == [[1] * 3] * 2


def test_large_results_have_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    # The engine copies large arrays.
    monkeypatch.setattr(_control, "LARGE", 1)
    prepared = prepare(ZERO.replace("DECLARED", "float[Q, R]"))
    x = np.arange(6, dtype="f4").reshape(2, 3)
    for trips in (0, 1, 3):
        made = prepared.run([i8(trips), x[::-1]])
        np.testing.assert_array_equal(made.y, x[::-1], strict=True)
        np.testing.assert_array_equal(made.s, np.broadcast_to(x[::-1].T, (trips, 3, 2)))


def test_iterations_that_do_not_happen_raise_nothing() -> None:
    text = """g (int64 m, int32 x) => (int32 y) {
        t = Constant <value = bool {1}> ()
        one = Constant <value = int32 {1}> ()
        y = Loop <body = b (int64 i, bool c, int32 a) => (bool d, int32 r) {
            d = Identity (c)
            q = Div (one, a)
            r = Sub (a, q)
        }> (m, t, x) }"""
    prepared = prepare(text, int_division="error")
    assert prepared.run([i8(0), np.array(0, "i4")]).y == 0
    assert prepared.run([i8(1), np.array(1, "i4")]).y == 0
    with pytest.raises(ZeroDivisionError):
        prepared.run([i8(2), np.array(1, "i4")])


# Scan.


def scanned(
    state: np.ndarray,
    inputs: list[np.ndarray],
    axes: list[int],
    backwards: list[int],
    out_axes: list[int],
    prepends: list[int],
) -> list[np.ndarray]:
    """The operator's pseudo-code, for a body that adds the elements to the state, and gives the new state and the
    elements' difference."""
    length = inputs[0].shape[axes[0]]
    outs: list[list[np.ndarray]] = [[], []]
    for t in range(length):
        a, b = (
            np.take(x, length - 1 - t if is_backwards else t, axis)
            for x, axis, is_backwards in zip(inputs, axes, backwards, strict=True)
        )
        state = state + a + b
        for out, value, prepended in zip(outs, (state, a - b), prepends, strict=True):
            out.insert(0 if prepended else len(out), value)
    return [state, *(np.stack(out, axis) for out, axis in zip(outs, out_axes, strict=True))]


SCAN = """g (float[2, 3] s, float[A, B, C] x, float[D, E, F] z) => (float[2, 3] last, float[G, H, I] sums, float[J, K, L] rest) {
    last, sums, rest = Scan <num_scan_inputs = 2, ATTRIBUTES
        body = b (float[2, 3] t, float[2, 3] p, float[2, 3] q) => (float[2, 3] u, float[2, 3] v, float[2, 3] w) {
            r = Add (t, p)
            u = Add (r, q)
            v = Identity (u)
            w = Sub (p, q)
        }> (s, x, z) }"""


@pytest.mark.parametrize("opset", [9, 11, 16, 19, 21, 23, 24, 25])
@pytest.mark.parametrize(
    ("axes", "out_axes"), [([0, 0], [0, 0]), ([1, 2], [2, 1]), ([-1, 0], [-1, -3]), ([2, -2], [-2, 0])]
)
def test_scans_take_and_give_any_axis_and_direction(opset: int, axes: list[int], out_axes: list[int]) -> None:
    random = np.random.default_rng(5)
    state = random.integers(-9, 9, (2, 3)).astype("f4")
    inputs = [np.moveaxis(random.integers(-9, 9, (4, 2, 3)).astype("f4"), 0, axis) for axis in axes]
    every = [list(pair) for pair in itertools.product((0, 1), repeat=2)]
    for backwards, prepends in itertools.product(every, every) if opset in (9, 25) else [([0, 1], [1, 0])]:
        attributes = f"scan_input_axes = {axes}, scan_input_directions = {backwards}, "
        attributes += f"scan_output_axes = {out_axes}, scan_output_directions = {prepends},"
        made = prepare(SCAN.replace("ATTRIBUTES", attributes), opset).run([state, *inputs])
        expected = scanned(state, inputs, axes, backwards, out_axes, prepends)
        for ours, theirs in zip(made, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, strict=True)


def test_a_scan_of_no_elements_gives_the_states_and_declared_shapes() -> None:
    prepared = prepare(SCAN.replace("ATTRIBUTES", "scan_output_axes = [1, 2],"))
    state, nothing = np.ones((2, 3), "f4"), np.ones((0, 2, 3), "f4")
    made = prepared.run([state, nothing, nothing])
    assert made.last.tolist() == state.tolist() and made.sums.shape == (2, 0, 3) and made.rest.shape == (2, 3, 0)
    made.last[:] = 7
    assert state.tolist() == [[1] * 3] * 2


def test_the_shapes_of_a_scan_agree() -> None:
    prepared = prepare(SCAN.replace("ATTRIBUTES", ""))
    state, four, three = np.ones((2, 3), "f4"), np.ones((4, 2, 3), "f4"), np.ones((3, 2, 3), "f4")
    with pytest.raises(ValueError, match=r"Scan: its scan inputs have \[4, 3\] elements, which differ"):
        prepared.run([state, four, three])
    with pytest.raises(ValueError, match="Scan: scan input 1 has no axis 3, its rank is 3"):
        prepare(SCAN.replace("ATTRIBUTES", "scan_input_axes = [0, 3],")).run([state, four, four])
    with pytest.raises(ValueError, match="Scan: output 2 has no axis 3, its rank is 3"):
        prepare(SCAN.replace("ATTRIBUTES", "scan_output_axes = [0, 3],")).run([state, four, four])
    grows = """g (float[N] s, float[M, N] x) => (float[K] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[A] t, float[A] p) => (float[B] u) {
            u = Concat <axis = 0> (t, p) }> (s, x) }"""
    with pytest.raises(ValueError, match=r"Scan: state 0 has the shape \[2\], and iteration 0 gives \[4\]"):
        prepare(grows).run([f4(1, 2), np.ones((3, 2), "f4")])


BATCHES = """g (int64[B] lengths, float[B, 2] s, float[B, T, 2] x) => (float[B, 2] y, float[B, T, 2] z) {
    y, z = Scan <num_scan_inputs = 1, directions = [DIRECTION], body = b (float[2] t, float[2] p) => (float[2] u, float[2] v) {
        u = Add (t, p)
        v = Identity (u)
    }> (LENGTHS, s, x) }"""


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("lengths", [None, [4, 1, 3]])
def test_the_first_version_of_scan_has_batches(direction: int, lengths: list[int] | None) -> None:
    random = np.random.default_rng(7)
    s, x = random.integers(-9, 9, (3, 2)).astype("f4"), random.integers(-9, 9, (3, 4, 2)).astype("f4")
    text = BATCHES.replace("DIRECTION", str(direction)).replace("LENGTHS", '""' if lengths is None else "lengths")
    made = prepare(text, 8).run([np.array(lengths or [0] * 3, dtype=np.int64), s, x])
    assert made.y.shape == s.shape and made.z.shape == x.shape
    for batch, length in enumerate(lengths or [4] * 3):
        elements = x[batch, :length][:: -1 if direction else 1]
        sums = s[batch] + np.cumsum(elements, axis=0)
        np.testing.assert_array_equal(made.y[batch], sums[-1], strict=True)
        # The other values are not defined.
        np.testing.assert_array_equal(made.z[batch, :length], sums, strict=True)


def test_batches_that_do_not_fit_are_errors() -> None:
    prepared = prepare(BATCHES.replace("DIRECTION", "0").replace("LENGTHS", "lengths"), 8)
    s, x = np.ones((3, 2), "f4"), np.ones((3, 4, 2), "f4")
    for lengths in ([1, 2, 5], [-1, 1, 1]):
        with pytest.raises(ValueError, match=r"Scan: the lengths \[.*\] do not fit 3 batches of 4 elements"):
            prepared.run([np.array(lengths), s, x])


# Scopes.


def test_bodies_in_bodies_read_all_values_around_them() -> None:
    text = """g (int64 m, float[N] x, bool c) => (float[N] y) {
        t = Constant <value = bool {1}> ()
        w = Abs (x)
        y = Loop <body = outer (int64 i, bool ci, float[N] a) => (bool co, float[N] b) {
            co = Identity (ci)
            k = Cast <to = 1> (i)
            b = Loop <body = inner (int64 j, bool di, float[N] p) => (bool do, float[N] q) {
                do = Identity (di)
                l = Cast <to = 1> (j)
                q = If <
                    then_branch = th () => (float[N] r) { s = Mul (k, w)  u = Add (s, l)  r = Add (p, u) },
                    else_branch = el () => (float[N] r) { r = Sub (p, x) }
                > (c)
            }> (m, t, a)
        }> (m, t, x) }"""
    x = f4(-1, 2)
    prepared = prepare(text)
    for m in (0, 1, 3):
        expected = x + sum(k * np.abs(x) + j for k in range(m) for j in range(m))
        np.testing.assert_array_equal(prepared.run([i8(m), x, flag(True)]).y, np.asarray(expected, "f4"), strict=True)
        np.testing.assert_array_equal(prepared.run([i8(m), x, flag(False)]).y, x - m * m * x, strict=True)


def test_a_body_may_reuse_names_of_values_around_it() -> None:
    f = TensorProto.FLOAT
    value = helper.make_tensor_value_info
    # `x` is the input of the body and `v` its own value, and both names have other values around the body.
    nodes = [
        helper.make_node("Neg", ["v"], ["u"]),
        helper.make_node("Add", ["x", "u"], ["w"]),
        helper.make_node("Identity", ["c"], ["d"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("x", f, ["n"])],
        [value("d", TensorProto.BOOL, []), value("w", f, ["n"])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Abs", ["x"], ["v"]),
            helper.make_node("Loop", ["m", "", "v"], ["looped"], body=body),
            helper.make_node("Add", ["looped", "x"], ["w"]),
        ],
        "graph",
        [value("m", TensorProto.INT64, []), value("x", f, ["n"])],
        [value("w", f, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    x = f4(-1, 2)
    assert client.run_model(model, [i8(3), x]).w.tolist() == (np.abs(x) - 3 * np.abs(x) + x).tolist()


def test_values_of_a_body_are_not_known_outside() -> None:
    text = """g (bool c, float[N] x) => (float[N] y) {
        z = If <then_branch = t () => (float[N] r) { q = Neg (x)  r = Abs (q) }, else_branch = e () => (float[N] r) { r = Abs (x) }> (c)
        y = Add (z, q) }"""
    with pytest.raises(InvalidModelError, match="nothing before it defines its input `q`"):
        prepare(text)


def test_functions_have_bodies_and_bodies_call_functions() -> None:
    functions = """
    <domain: "own", opset_import: ["" : 20, "own" : 1]>
    power <n> (x) => (y) {
        m = Constant <value_int: int = @n> ()
        y = Loop <body = b (int64 i, bool c, a) => (d, r) {
            d = Identity (c)
            k = Constant <value_int: int = @n> ()
            f = CastLike (k, x)
            p = own.times (a, x)
            r = Add (p, f)
        }> (m, "", x)
    }
    <domain: "own", opset_import: ["" : 20]>
    times (a, b) => (c) { c = Mul (a, b) }
    """
    text = "g (float[N] x) => (float[N] y, float[N] z) { y = own.power <n = 2> (x) z = own.power <n = 1> (y) }"
    made = client.run_model(model_of(text, functions=functions, domains=', "own" : 1'), [f4(1, 3)])
    y = (f4(1, 3) * f4(1, 3) + 2) * f4(1, 3) + 2
    np.testing.assert_array_equal(made.y, y, strict=True)
    np.testing.assert_array_equal(made.z, y * y + 1, strict=True)


def test_constants_of_a_body_and_around_it() -> None:
    text = """g (int64 m, float[N] x) => (float[N] y) <float[2] w = {1, 2}> {
        y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) <float[2] v = {10, 20}> {
            p = Add (a, w)
            r = Add (p, v) }> (m, "", x) }"""
    prepared = prepare(text)
    assert prepared.run([i8(2), f4(0, 0)]).y.tolist() == [22, 44]
    # They are constants of the body's kernels, and no arguments.
    (body,) = prepared._runner.bodies
    assert not body.program.captured and len(body.program.constants) == 2


def test_a_value_that_is_given_replaces_the_constant_of_an_input() -> None:
    model = model_of("""g (int64 m, float[N] x) => (float[N] y) {
        y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) <float[2] v = {10, 20}> { r = Add (a, v) }> (m, "", x) }""")
    body = model.graph.node[0].attribute[0].g
    body.initializer[0].name, body.node[0].input[1] = "a", "a"
    assert client.run_model(model, [i8(2), f4(1, 2)]).y.tolist() == [4, 8]
    body.initializer[0].CopyFrom(numpy_helper.from_array(i8(1), "a"))
    with pytest.raises(
        InvalidModelError, match=r"the initializer `a` of its `body` is tensor\(int64\), and the input is not"
    ):
        client.prepare(model)


def test_an_argument_replaces_the_constant_that_a_body_reads() -> None:
    text = """g (int64 m, float[N] x, float[2] w) => (float[N] y) <float[2] w = {1, 2}> {
        y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) { r = Add (a, w) }> (m, "", x) }"""
    prepared = prepare(text)
    assert prepared.run([i8(2), f4(0, 0)]).y.tolist() == [2, 4]
    assert prepared.run([i8(2), f4(0, 0), f4(10, 20)]).y.tolist() == [20, 40]


def test_results_share_no_memory() -> None:
    text = """g (int64 m, bool c, float[N] x) => (float[N] a, float[N] b, float[N] d, float[K, N] e, float[N] f, float[N] x2) {
        a, d, e = Loop <body = l (int64 i, bool q, float[N] p, float[N] o) => (bool q, float[N] p, float[N] p, float[N] o) {
            z = Neg (p) }> (m, "", x, x)
        b = If <then_branch = t () => (float[N] r) { r = Identity (x) }, else_branch = s () => (float[N] r) { r = Identity (a) }> (c)
        f = Identity (x)
        x2 = Identity (b)
    }"""
    prepared = prepare(text)
    for trips, condition in itertools.product((0, 2), (True, False)):
        x = f4(1, 2)
        made = prepared.run([i8(trips), flag(condition), x])
        for one, other in itertools.combinations([x, *made], 2):
            assert not np.may_share_memory(one, other)
        assert all(array.tolist() == [1, 2] for array in (made.a, made.b, made.d, made.x2, made.f))
        assert made.e.tolist() == [[1, 2]] * trips


def test_a_result_that_is_a_slice_shares_no_memory() -> None:
    text = """g (int64 m, float[N] x) => (float[1] y) {
        zero = Constant <value_ints = [0]> ()
        y0 = Slice (x, zero, zero)
        y = Loop <body = b (int64 i, bool c, float[A] a) => (bool c, float[1] e) {
            one = Constant <value_int = 1> ()
            first = Unsqueeze (i, zero)
            next = Add (i, one)
            last = Unsqueeze (next, zero)
            e = Slice (x, first, last) }> (m, "", y0) }"""
    x = f4(5, 6, 7)
    made = prepare(text).run([i8(2), x])
    assert made.y.tolist() == [6]
    made.y[:] = 0
    assert x.tolist() == [5, 6, 7]


# Plans.

SUM = """g (int64 m, float[N] x) => (float[N] y) {
    t = Constant <value = bool {1}> ()
    h = Constant <value_float = 0.5> ()
    y = Loop <body = b (int64 i, bool c, float[N] a) => (bool d, float[N] r) {
        d = Identity (c)
        p = Mul (a, h)
        r = Add (p, x)
    }> (m, t, x) }"""


def test_a_body_is_compiled_once(plans: list[Any]) -> None:
    prepared = prepare(SUM)
    prepared.run([i8(1), f4(1, 2)])
    first = len(plans)
    for trips in (50, 0, 7):
        prepared.run([i8(trips), f4(1, 2)])
    assert len(plans) == first
    (body,) = prepared._runner.bodies
    assert [len(segment.plans) for segment in body.segments] == [1]
    # Another shape takes one plan more.
    prepared.run([i8(50), f4(1, 2, 3)])
    assert len(body.segments[0].plans) == 2


def test_bodies_in_bodies_are_compiled_once(plans: list[Any]) -> None:
    text = """g (int64 m, float[N] x) => (float[N] y) {
        y = Loop <body = o (int64 i, bool c, float[N] a) => (bool c, float[N] b) {
            b = Loop <body = n (int64 j, bool d, float[N] p) => (bool d, float[N] q) { q = Add (p, x) }> (m, "", a)
        }> (m, "", x) }"""
    prepared = prepare(text)
    assert prepared.run([i8(20), f4(1)]).y == 401
    inner = prepared._runner.bodies[0].bodies[0]
    assert [len(segment.plans) for segment in inner.segments] == [1] and len(plans) <= 3


def test_a_slice_by_the_iteration_takes_no_plan_for_each(plans: list[Any]) -> None:
    text = """g (float[N] x) => (float y, float[K, 1] all) {
        zero = Constant <value_ints = [0]> ()
        m = Size (x)
        s = Constant <value_float = 0.0> ()
        y, all = Loop <body = b (int64 i, bool c, float a) => (bool c, float r, float[1] e) {
            first = Unsqueeze (i, zero)
            one = Constant <value_int = 1> ()
            next = Add (i, one)
            last = Unsqueeze (next, zero)
            e = Slice (x, first, last, zero)
            f = Squeeze (e)
            r = Add (a, f)
        }> (m, "", s) }"""
    prepared = prepare(text)
    x = np.arange(1, 200, dtype=np.float32)
    made = prepared.run([x])
    assert made.y == x.sum() and made.all.tolist() == x[:, None].tolist()
    assert not np.may_share_memory(made.all, x)
    assert len(plans) <= 4
    with pytest.raises(ValueError, match=r"^Slice in the `body` of Loop: there is no axis 5 of rank 1"):
        prepare(
            text.replace("zero)\n            f", "five)\n            f").replace(
                "m =", "five = Constant <value_ints = [5]> () m ="
            )
        ).run([x])


def test_a_slice_by_a_shape_does_not_cut_a_body() -> None:
    text = """g (int64 m, float[N] x) => (float[N] y) {
        y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) {
            n = Shape (a)
            zero = Constant <value_ints = [0]> ()
            s = Slice (x, zero, n)
            r = Add (a, s) }> (m, "", x) }"""
    prepared = prepare(text)
    assert prepared.run([i8(2), f4(1, 2)]).y.tolist() == [3, 6]
    assert len(prepared._runner.bodies[0].segments) == 1


def test_operators_without_a_body_between_them_are_one_kernel(plans: list[Any]) -> None:
    text = """g (bool c, float[N] x) => (float[N] y, float[N] z) {
        a = Neg (x)
        b = If <then_branch = t () => (float[N] r) { r = Abs (a) }, else_branch = e () => (float[N] r) { r = Exp (a) }> (c)
        p = Mul (x, x)
        z = Sub (p, x)
        q = Add (b, x)
        y = Mul (q, q) }"""
    made = prepare(text).run([flag(True), f4(-2, 3)])
    np.testing.assert_array_equal(made.y, f4(0, 36))
    np.testing.assert_array_equal(made.z, f4(6, 6))
    # The plans are those before the branch, of the branch, and after it.
    assert [len(plan.steps) for plan in plans] == [1, 1, 1]


def test_a_body_finds_values_that_decide_a_shape() -> None:
    text = """g (int64 m, float[6] x, int64[2] shape) => (float[A, B] y) {
        t = Constant <value = bool {1}> ()
        y0 = Reshape (x, shape)
        y = Loop <body = b (int64 i, bool c, float[A, B] a) => (bool c, float[A, B] r) {
            n = Neg (a)
            r = Reshape (n, shape) }> (m, t, y0) }"""
    prepared = prepare(text)
    for shape in ([2, 3], [3, 2]):
        made = prepared.run([i8(3), np.arange(6, dtype="f4"), np.array(shape)])
        np.testing.assert_array_equal(made.y, -np.arange(6, dtype="f4").reshape(shape), strict=True)


# Refusals, and models that are not valid.


def test_what_a_body_contains_is_refused_by_name_and_path() -> None:
    text = """g (int64 m, bool c, float[2, 2] x) => (float[2, 2] y) {
        [l] y = Loop <body = b (int64 i, bool d, float[2, 2] a) => (bool d, float[2, 2] r) {
            [f] r = If <
                then_branch = t () => (float[2, 2] s) { [product] s = MatMul (a, x) },
                else_branch = e () => (float[2, 2] s) { n = TfIdfVectorizer (a)  s = Identity (a) }
            > (c)
        }> (m, "", x) }"""
    model = model_of(text)
    assert not client.is_compatible(model)
    with pytest.raises(UnsupportedModelError) as caught:
        client.prepare(model)
    lines = str(caught.value).splitlines()[1:]
    around = "of If (node `f`) in the `body` of Loop (node `l`)): the operator is not supported"
    assert lines == [
        f"- MatMul-13 (node `product`, in the `then_branch` {around}",
        f"- TfIdfVectorizer-9 (in the `else_branch` {around}",
    ]
    assert caught.value.operators == ("MatMul", "TfIdfVectorizer")


def test_types_in_bodies_are_refused() -> None:
    text = """g (bool c, float[N] x) => (float[N] y) {
        y = If <
            then_branch = t () => (float[N] r) { s = SequenceConstruct (x)  z = Constant <value_int = 0> ()  r = SequenceAt (s, z) },
            else_branch = e () => (float[N] r) { q = Cast <to = 16> (x)  r = Cast <to = 1> (q) }
        > (c) }"""
    with pytest.raises(UnsupportedModelError) as caught:
        prepare(text)
    assert caught.value.operators == ("Cast", "SequenceAt", "SequenceConstruct")
    assert "tensor(bfloat16)" in str(caught.value)


def test_a_sequence_as_a_state_is_refused() -> None:
    text = """g (int64 m, float[N] x) => (float[N] y, seq(float[N]) s) {
        e = SequenceEmpty ()
        y, s = Loop <body = b (int64 i, bool c, float[N] a, seq(float[N]) p) => (bool c, float[N] r, seq(float[N]) q) {
            r = Neg (a)
            q = SequenceInsert (p, a) }> (m, "", x, e) }"""
    with pytest.raises(UnsupportedModelError) as caught:
        prepare(text)
    assert {"SequenceEmpty", "SequenceInsert", "p", "s"} <= {finding.name for finding in caught.value.findings}


def test_a_body_that_a_function_is_given_is_refused() -> None:
    model = model_of("g (bool c, float[N] x) => (float[N] y) { y = own.f (c, x) }", domains=', "own" : 1')
    node = helper.make_node("If", ["c"], ["y"])
    for name in ("then_branch", "else_branch"):
        node.attribute.append(AttributeProto(name=name, ref_attr_name=name, type=AttributeProto.GRAPH))
    opsets = [helper.make_opsetid("", 20)]
    model.functions.append(
        helper.make_function("own", "f", ["c", "x"], ["y"], [node], opsets, ["then_branch", "else_branch"])
    )
    with pytest.raises(UnsupportedModelError, match="If-19 .*its body is an attribute of a function"):
        client.prepare(model)


def test_data_of_a_body_in_another_file_is_refused() -> None:
    model = model_of("""g (int64 m, float[N] x) => (float[N] y) {
        y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) <float[2] v = {1, 2}> { r = Add (a, v) }> (m, "", x) }""")
    weight = model.graph.node[0].attribute[0].g.initializer[0]
    weight.ClearField("float_data")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="secret")
    with pytest.raises(UnsupportedModelError, match="v: its data is in another file"):
        client.prepare(model)
    with pytest.raises(UnsupportedModelError, match="v: its data is in another file"):
        client.run_node(model.graph.node[0], [i8(1), f4(1, 2)], opset_version=20)


def test_one_node_runs() -> None:
    node = model_of(SUM.replace("h)", "a)").replace("(p, x)", "(p, a)")).graph.node[2]
    # Its body reads nothing around it.
    made = client.run_node(node, [i8(2), flag(True), f4(1, 2)], opset_version=20)
    a = f4(1, 2)
    for _ in range(2):
        a = a * a + a
    np.testing.assert_array_equal(made[0], a, strict=True)
    with pytest.raises(InvalidModelError, match="nothing before it defines its input `h`"):
        client.run_node(model_of(SUM).graph.node[2], [i8(2), flag(True), f4(1, 2)], opset_version=20)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("(int64 i, bool c, float[N] a)", "(int64 i, bool c)", "its `body` has 2 inputs, and it is given 3 values"),
        ("(bool d, float[N] r)", "(bool d)", "its `body` has 1 outputs, and 2 values are carried on"),
        (
            "float[N] a)",
            "double[N] a)",
            r"the input `a` of its `body` is declared tensor\(double\), and is given tensor\(float\)",
        ),
        (
            "int64 i,",
            "int32 i,",
            r"the input `i` of its `body` is declared tensor\(int32\), and is given tensor\(int64\)",
        ),
        (
            "d = Identity (c)",
            "d = Identity (i)",
            r"the output `d` of its `body` is declared tensor\(bool\), and is tensor\(int64\)",
        ),
        ("(bool d, float[N] r)", "(i, float[N] r)", r"the condition that its `body` gives is tensor\(int64\)"),
        ("(bool d, float[N] r)", "(bool d, d)", r"state 0 is tensor\(float\), and its `body` gives tensor\(bool\)"),
        ("(bool d, float[N] r)", "(bool d, float[N] none)", "nothing defines the output `none` of its `body`"),
        ("y = Loop", "y, z = Loop", "it has 2 outputs, and its body 1 for them"),
        ("(m, t, x)", '(m, t, "")', "the name of a state or input is empty"),
        ("int64 i, bool c", "int64 c, bool c", "its `body` has two inputs `c`"),
        ("(m, t, x)", "(m, m, x)", r"takes no tensor\(int64\) as `cond`"),
        (
            "p = Mul (a, h)",
            "p = Mul (a, i)",
            r"Mul in the `body` of Loop: tensor\(float\) and tensor\(int64\) are not of one type",
        ),
        ("r = Add (p, x)", "r = Add (p, x) p = Neg (x)", "`b.*p` is defined twice|Neg .*`.*p` is defined twice"),
        ("p = Mul (a, h)", "p = Mul (a, y)", "nothing before it defines its input `y`"),
    ],
)
def test_a_loop_that_does_not_fit_its_body_is_named(old: str, new: str, text: str) -> None:
    assert old in SUM
    with pytest.raises(InvalidModelError, match=text):
        prepare(SUM.replace(old, new))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ("scan_input_axes = [0],", "`scan_input_axes` has 1 entries, for 2 values"),
        ("scan_output_axes = [0, 1, 2],", "`scan_output_axes` has 3 entries, for 2 values"),
        ("scan_input_directions = [0, 2],", r"`scan_input_directions` is \[0, 2\], and a direction is 0 or 1"),
        ("scan_output_directions = [1],", "`scan_output_directions` has 1 entries, for 2 values"),
    ],
)
def test_a_scan_that_does_not_fit_its_attributes_is_named(attributes: str, text: str) -> None:
    with pytest.raises(InvalidModelError, match=f"Scan: {text}"):
        prepare(SCAN.replace("ATTRIBUTES", attributes))


@pytest.mark.parametrize("count", [0, -1, 4])
def test_a_scan_has_an_input(count: int) -> None:
    text = SCAN.replace("ATTRIBUTES", "").replace("num_scan_inputs = 2", f"num_scan_inputs = {count}")
    with pytest.raises(InvalidModelError, match=f"`num_scan_inputs` is {count}, and it has 3 states and inputs"):
        prepare(text)


def test_branches_agree() -> None:
    with pytest.raises(
        InvalidModelError, match=r"output 0 is tensor\(float\) in one branch, and tensor\(bool\) in the other"
    ):
        prepare(BRANCHES.replace("(float[M] r) { r = Concat <axis = 0> (x, x) }", "(bool[M] r) { r = IsNaN (x) }"))
    with pytest.raises(InvalidModelError, match="its branches have 1 and 2 outputs"):
        prepare(BRANCHES.replace("=> (float[M] r) {", "=> (float[M] r, float[N] s) { s = Neg (x) "))


def test_errors_of_a_body_name_the_place() -> None:
    text = """g (int64 m, float[N] x, float[M] z) => (float[N] y) {
        [l] y = Loop <body = b (int64 i, bool c, float[N] a) => (bool c, float[N] r) { [sum] r = Add (a, z) }> (m, "", x) }"""
    with pytest.raises(ValueError, match=r"^Add \(node `sum`\) in the `body` of Loop \(node `l`\): .*broadcast"):
        prepare(text).run([i8(1), f4(1, 2), f4(1, 2, 3)])
