"""Tests small ONNX models that would need enormous time or memory: functions that grow exponentially, shapes that
explode, tensors without data.

Each is refused with a typed error before it uses them, or its cost is limited by the length of the model.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

onnx = pytest.importorskip("onnx")

from onnx import AttributeProto, TensorProto, helper, numpy_helper  # noqa: E402

import broadloom.onnx as client  # noqa: E402
from broadloom.onnx import InvalidModelError, UnsupportedModelError, _calls, _control, _lowering, _plan  # noqa: E402

F, I64 = TensorProto.FLOAT, TensorProto.INT64
NEWEST = onnx.defs.onnx_opset_version()
OPSETS = [helper.make_opsetid("own", 1), helper.make_opsetid("", NEWEST)]
PAIR = np.array([-1.0, 2.0], dtype=np.float32)


def model_of(
    nodes: Sequence[Any],
    functions: Sequence[Any] = (),
    weights: dict[str, np.ndarray] | None = None,
    output: int = F,
    rank: int = 1,
) -> Any:
    """A model of an input `x` of float32 and an output `y`."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", F, ["n"])],
        [helper.make_tensor_value_info("y", output, [None] * rank)],
        [numpy_helper.from_array(values, name) for name, values in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10, functions=list(functions))


def function(name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[Any], **options: Any) -> Any:
    return helper.make_function("own", name, inputs, outputs, nodes, OPSETS, **options)


def call(name: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return helper.make_node(name, inputs, outputs, domain="own", **attributes)


def reference(name: str, of: str, kind: int) -> AttributeProto:
    """The attribute of a node that takes the value of its function's attribute."""
    return AttributeProto(name=name, ref_attr_name=of, type=kind)


def doubling(levels: int, *body: Any) -> Any:
    """A model in which each function calls the previous one twice."""
    functions = [function("f0", ["a"], ["b"], body)]
    for level in range(1, levels):
        calls = [call(f"f{level - 1}", [a], [b]) for a, b in (("a", "c"), ("c", "b"))]
        functions.append(function(f"f{level}", ["a"], ["b"], calls))
    return model_of([call(f"f{levels - 1}", ["x"], ["y"])], functions)


# Functions.


@pytest.mark.parametrize(
    "body",
    [helper.make_node("Abs", ["a"], ["b"]), helper.make_node("MeanVarianceNormalization", ["a"], ["b"], axes=[0])],
)
def test_functions_are_counted_before_anything_is_expanded(body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: Any) -> None:
        raise AssertionError("a node was taken")

    monkeypatch.setattr(_lowering.Lowering, "_take", taken)
    model = doubling(60, body)
    assert len(model.SerializeToString()) < 5000
    with pytest.raises(bl.LimitError, match="more than 1000000 operators once its functions are expanded"):
        client.prepare(model)
    assert not client.is_compatible(model)


def test_the_count_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten levels: 2^10 - 1 calls of functions, and 2^9 operators.
    model = doubling(10, helper.make_node("Neg", ["a"], ["b"]))
    monkeypatch.setattr(_calls, "MAX_NODES", 2**10 - 1 + 2**9)
    assert client.run_model(model, [PAIR])[0].tolist() == PAIR.tolist()
    monkeypatch.setattr(_calls, "MAX_NODES", 2**10 - 2 + 2**9)
    with pytest.raises(bl.LimitError, match="operators once its functions are expanded"):
        client.prepare(model)


def test_a_function_that_calls_itself_below_a_bomb_is_an_error() -> None:
    model = doubling(60, call("f59", ["a"], ["b"]))
    with pytest.raises(InvalidModelError, match=r"the function own\.f59 calls itself: own\.f59 → own\.f58 → "):
        client.prepare(model)


def test_a_function_may_call_another_overload_of_its_name() -> None:
    functions = [
        function("f", ["a"], ["b"], [call("f", ["a"], ["b"], overload="plain")]),
        function("f", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], overload="plain"),
    ]
    assert client.run_model(model_of([call("f", ["x"], ["y"])], functions), [PAIR])[0].tolist() == [1, -2]


def test_bodies_that_onnx_ships_do_not_call_functions_of_the_model() -> None:
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[0])
    within = helper.make_node("MeanVarianceNormalization", ["a"], ["b"], axes=[0])
    own = helper.make_function("", "Sub", ["a", "c"], ["b"], [within], OPSETS)
    model = model_of([node], [own])
    assert client.run_model(model, [PAIR])[0].tolist() == client.run_model(model_of([node]), [PAIR])[0].tolist()


def test_expansions_of_a_function_share_its_attributes() -> None:
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(reference("value_floats", "v", AttributeProto.FLOATS))
    calls = []
    for number in range(50):
        calls.append(call("one", [f"a{number}"], [f"a{number + 1}"]))
        calls[-1].attribute.append(reference("v", "v", AttributeProto.FLOATS))
    functions = [
        function("one", ["a"], ["b"], [constant, helper.make_node("Add", ["a", "c"], ["b"])], attributes=["v"]),
        function("all", ["a0"], ["a50"], calls, attributes=["v"]),
    ]
    prepared = client.prepare(model_of([call("all", ["x"], ["y"], v=[1.0, 2.0])], functions))
    constants = [node for node in prepared._runner.program.nodes if node.operator == "Constant"]
    assert len(constants) == 50 and len({id(node.attributes["value_floats"]) for node in constants}) == 1
    assert prepared.run([PAIR]).y.tolist() == [49, 102]


# Tensors.


def test_defaults_of_functions_do_not_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(PAIR.tobytes())
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(reference("value", "v", AttributeProto.TENSOR))
    add = function("add", ["a"], ["b"], [constant, helper.make_node("Add", ["a", "c"], ["b"])])
    default = add.attribute_proto.add(name="v", type=AttributeProto.TENSOR)
    default.t.CopyFrom(TensorProto(data_type=F, dims=[2], data_location=TensorProto.EXTERNAL))
    default.t.external_data.add(key="location", value="secret")
    with pytest.raises(UnsupportedModelError, match="add: its data is in another file"):
        client.prepare(model_of([call("add", ["x"], ["y"])], [add]))


@pytest.mark.parametrize(
    "dims", [[1 << 40], [1 << 62, 1 << 62], [0, 1 << 62, 1 << 62], [-1], [-1, -1], [1] * 100, [3], [1], []]
)
def test_tensors_that_promise_more_than_they_have_are_no_models(dims: list[int]) -> None:
    tensor = TensorProto(name="w", data_type=F, dims=dims, raw_data=PAIR.tobytes())
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])])
    model.graph.initializer.append(tensor)
    with pytest.raises(InvalidModelError):
        client.prepare(model)
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    with pytest.raises((InvalidModelError, ValueError)):
        client.run_model(model_of([constant, helper.make_node("Add", ["x", "w"], ["y"])]), [PAIR])


# Shapes.


def filled(shape: Sequence[int], *nodes: Any, **options: Any) -> Any:
    """A model with a value `c` of this shape, which takes no memory until it is computed."""
    made = helper.make_node("ConstantOfShape", ["shape"], ["c"])
    return model_of([made, *nodes], weights={"shape": np.array(shape, dtype=np.int64)}, **options)


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        (helper.make_node("Abs", ["c"], ["y"]), [1 << 45]),
        (helper.make_node("Abs", ["c"], ["y"]), [1 << 62, 1 << 62]),
        (helper.make_node("Concat", ["c", "c"], ["y"], axis=0), [1 << 45]),
        (helper.make_node("BitCast", ["c"], ["y"], to=F), [1 << 45]),
    ],
)
def test_shapes_beyond_memory_are_errors_that_name_the_operator(node: Any, shape: list[int]) -> None:
    prepared = client.prepare(filled(shape, node, rank=len(shape)))
    with pytest.raises((bl.LimitError, ValueError)) as caught:
        prepared.run([PAIR])
    assert (
        node.op_type in str(caught.value) or "allocate" in str(caught.value) or "ConstantOfShape" in str(caught.value)
    )


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Abs", ["c"], ["y"]),
        helper.make_node("Concat", ["c", "c"], ["y"], axis=0),
        helper.make_node("Concat", ["x", "c"], ["y"], axis=0),
        helper.make_node("BitCast", ["c"], ["y"], to=F),
    ],
)
def test_max_bytes_holds_for_every_operator(node: Any) -> None:
    prepared = client.prepare(filled([1 << 22], node), max_bytes=1 << 20)
    with pytest.raises(bl.LimitError, match="the limit is 1048576; the option max_bytes sets the limit"):
        prepared.run([PAIR])


def test_concatenations_that_double_stop_at_max_bytes() -> None:
    names = ["x", *(f"d{number}" for number in range(59)), "y"]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in zip(names, names[1:])]
    with pytest.raises(bl.LimitError, match="the option max_bytes sets the limit"):
        client.prepare(model_of(nodes), max_bytes=1 << 20).run([PAIR])


@pytest.mark.parametrize("operator", ["Reshape", "Expand", "Squeeze", "Unsqueeze", "ReduceSum"])
def test_what_decides_a_shape_is_not_computed_if_it_is_too_long(operator: str) -> None:
    bounds = {"a": np.array(1, dtype=np.int64), "b": np.array(10**15, dtype=np.int64), "d": np.array(1, dtype=np.int64)}
    nodes = [helper.make_node("Range", ["a", "b", "d"], ["s"]), helper.make_node(operator, ["x", "s"], ["y"])]
    with pytest.raises(ValueError, match=f"{operator}: `s` has 999999999999999 elements, and decides a shape"):
        client.run_model(model_of(nodes, weights=bounds), [PAIR])


@pytest.mark.parametrize("bound", [np.inf, np.nan, 3e38])
def test_ranges_without_an_end_are_errors(bound: float) -> None:
    bounds = {"a": np.float32(0), "b": np.float32(bound), "d": np.float32(1e-38)}
    weights = {name: np.array(value) for name, value in bounds.items()}
    with pytest.raises((ValueError, bl.LimitError), match="^Range: |memory"):
        client.run_model(model_of([helper.make_node("Range", ["a", "b", "d"], ["y"])], weights=weights), [PAIR])


# Plans.


def test_a_cut_takes_no_more_inputs_than_it_reads() -> None:
    names = ["x", *(f"c{number}" for number in range(49)), "y"]
    nodes = [helper.make_node("Concat", [a], [b], axis=0) for a, b in zip(names, names[1:])]
    prepared = client.prepare(model_of(nodes))
    assert prepared.run([PAIR]).y.tolist() == PAIR.tolist()
    (plan,) = prepared._runner.segments[0].plans.values()
    assert len(plan.steps) == 50 and max(len(step.sources) for step in plan.steps) == 1


def test_plans_do_not_keep_large_values() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["y"])]
    prepared = client.prepare(model_of(nodes))
    for extent in (4, _plan.MAX_KEPT_BYTES):
        for _ in range(2):
            made = prepared.run([np.ones(extent, dtype=np.float32)]).y
            assert made.flags.writeable and made.tolist() == [0] * extent
            made[:] = 1
    kept = [
        output
        for plan in prepared._runner.segments[0].plans.values()
        for output in plan.outputs
        if isinstance(output, np.ndarray)
    ]
    assert [values.size for values in kept] == [4]


# Bodies.

ENDLESS = """<ir_version: 10, opset_import: ["" : 20]>
g (float[N] x, bool c) => (float[N] y) {
    [l] y = Loop <body = b (int64 i, bool d, float[N] a) => (bool d, float[N] r) { r = Neg (a) }> ("", c, x) }"""
COUNTED = """<ir_version: 10, opset_import: ["" : 20]>
g (float[N] x, int64 m) => (float[N] y, float[K, N] all) {
    [l] y, all = Loop <body = b (int64 i, bool d, float[N] a) => (bool d, float[N] r, float[N] s) {
        r = Neg (a)  s = Abs (a) }> (m, "", x) }"""


def parsed(text: str) -> Any:
    return onnx.parser.parse_model(text)


def within(levels: int) -> Any:
    """A model with a node in this many bodies of `If`. It is built from the outside: protobuf copies no deeper message."""
    model = model_of([helper.make_node("If", ["t"], ["y"])], weights={"t": np.array(True)})
    node = model.graph.node[0]
    for level in range(levels):
        for name in ("then_branch", "else_branch"):
            graph = node.attribute.add(name=name, type=AttributeProto.GRAPH).g
            graph.name = "branch"
            graph.output.append(helper.make_tensor_value_info(f"r{level}", F, ["n"]))
            graph.node.add(op_type="Neg", input=["x"], output=[f"r{level}"])
        node = node.attribute[0].g.node[0]
        if level + 1 < levels:
            node.op_type, node.input[0] = "If", "t"
    return model


@pytest.mark.parametrize("levels", [31, 60, 2000])
def test_bodies_that_are_nested_deeply_hit_a_limit(levels: int) -> None:
    model = within(levels)
    with pytest.raises(bl.LimitError, match="bodies of operators are nested more than 30 deep"):
        client.prepare(model)
    assert not client.is_compatible(model)


def test_bodies_may_be_nested_up_to_the_limit() -> None:
    model = within(30)
    assert client.run_model(model, [PAIR])[0].tolist() == [1, -2]


def test_functions_that_nest_bodies_hit_the_limit_before_they_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(levels: int) -> Any:
        functions = []
        for level in range(levels):
            inner = call(f"f{level + 1}", ["a"], ["b"]) if level + 1 < levels else helper.make_node("Neg", ["a"], ["b"])
            body = helper.make_graph([inner], "body", [], [helper.make_tensor_value_info("b", F, ["n"])])
            branch = helper.make_node("If", ["t"], ["r"], then_branch=body, else_branch=body)
            true = helper.make_node("Constant", [], ["t"], value=numpy_helper.from_array(np.array(True)))
            functions.append(function(f"f{level}", ["a"], ["r"], [true, branch]))
        return model_of([call("f0", ["x"], ["y"])], functions)

    assert client.run_model(nested(3), [PAIR])[0].tolist() == [1, -2]

    def taken(*_: Any) -> None:
        raise AssertionError("a node was taken")

    monkeypatch.setattr(_lowering.Lowering, "_take", taken)
    # Both branches of a function call the next one.
    with pytest.raises(bl.LimitError, match="more than 1000000 operators once its functions are expanded"):
        client.prepare(nested(200))
    monkeypatch.setattr(_calls, "MAX_BODIES", 10)
    with pytest.raises(bl.LimitError, match="bodies of operators are nested more than 10 deep"):
        client.prepare(nested(11))


def test_nodes_of_bodies_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # The operator, its body's call, and the function's node.
    body = 'y = Loop <body = b (int64 i, bool d, float[N] a) => (bool d, float[N] r) { r = own.f (a) }> (m, "", x)'
    model = parsed(f"""<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
        g (float[N] x, int64 m) => (float[N] y) {{ {body} }}
        <domain: "own", opset_import: ["" : 20]> f (a) => (b) {{ b = Neg (a) }}""")
    monkeypatch.setattr(_calls, "MAX_NODES", 3)
    assert client.run_model(model, [PAIR, np.array(1)])[0].tolist() == [1, -2]
    monkeypatch.setattr(_calls, "MAX_NODES", 2)
    with pytest.raises(bl.LimitError, match="more than 2 operators"):
        _calls.check_growth(model.graph.node, _calls.functions_by_key(model.functions))


def test_a_function_that_calls_itself_in_a_body_is_an_error() -> None:
    model = parsed("""<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
        g (float[N] x, bool c) => (float[N] y) { y = own.f (x, c) }
        <domain: "own", opset_import: ["" : 20, "own" : 1]> f (a, c) => (b) {
            b = If <then_branch = t () => (r) { r = own.f (a, c) }, else_branch = e () => (r) { r = Neg (a) }> (c) }""")
    with pytest.raises(InvalidModelError, match=r"the function own\.f calls itself"):
        client.prepare(model)


@pytest.mark.parametrize("name", ["body", "then_branch", "else_branch"])
def test_bodies_without_outputs_are_no_models(name: str) -> None:
    empty = helper.make_graph([], "", [], [])
    if name == "body":
        node = helper.make_node("Loop", ["", "", "x"], ["y"], body=empty)
    else:
        node = helper.make_node("If", ["t"], ["y"], then_branch=empty, else_branch=empty)
    with pytest.raises(InvalidModelError, match=r"inputs, and it is given|it has 1 outputs, and its body 0 for them"):
        client.prepare(model_of([node], weights={"t": np.array(True)}))


@pytest.mark.parametrize("limit", [0, 1, 1000])
def test_iterations_are_limited(limit: int) -> None:
    endless = client.prepare(parsed(ENDLESS), max_iterations=limit)
    with pytest.raises(bl.LimitError) as caught:
        endless.run([PAIR, np.array(True)])
    text = f"Loop (node `l`): more than {limit} iterations in one run; the option max_iterations sets the limit"
    assert str(caught.value) == text
    counted = client.prepare(parsed(COUNTED), max_iterations=limit)
    assert counted.run([PAIR, np.array(limit)]).all.shape == (limit, 2) or limit == 0
    with pytest.raises(bl.LimitError) as caught:
        counted.run([PAIR, np.array(limit + 1)])
    assert str(caught.value) == text


def test_what_can_never_be_within_the_limit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(*_: Any) -> None:
        raise AssertionError("an iteration began")

    scan = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x, float[M, N] z) => (float[N] y) {
        [l] y = Scan <num_scan_inputs = 1, body = b (float[N] a, float[N] e) => (float[N] r) { r = Add (a, e) }> (x, z) }"""
    monkeypatch.setattr(_control.Run, "iterate", begun)
    many = np.broadcast_to(PAIR, (2_000_000, 2))
    forever = ENDLESS.replace('("", c, x)', '("", "", x)')
    for text, arguments in [
        (COUNTED, [PAIR, np.array(2**63 - 1)]),
        (COUNTED, [PAIR, np.array(1_000_001)]),
        (forever, [PAIR, np.array(True)]),
        (scan, [PAIR, many]),
    ]:
        with pytest.raises(bl.LimitError, match=r"\(node `l`\): more than 1000000 iterations in one run"):
            client.run_model(parsed(text), arguments)


def test_the_iterations_of_all_loops_are_limited_together() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x, int64 m) => (float[N] y) {
        [o] y = Loop <body = b (int64 i, bool d, float[N] a) => (bool d, float[N] r) {
            [n] r = Loop <body = c (int64 j, bool e, float[N] p) => (bool e, float[N] q) { q = Neg (p) }> (m, "", a)
        }> (m, "", x) }"""
    prepared = client.prepare(parsed(text), max_iterations=110)
    assert prepared.run([PAIR, np.array(10)]).y.tolist() == PAIR.tolist()
    with pytest.raises(
        bl.LimitError, match=r"Loop \(node `n`\) in the `body` of Loop \(node `o`\): more than 110 iter"
    ):
        prepared.run([PAIR, np.array(11)])


@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), (1.5, TypeError), ("9", TypeError), (True, TypeError)])
def test_the_limit_of_iterations_is_a_number(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_iterations is .*, expected a number of iterations"):
        client.prepare(parsed(ENDLESS), max_iterations=value)
    assert client.prepare(parsed(COUNTED), max_iterations=None).run([PAIR, np.array(1)]).y.tolist() == [1, -2]


def test_scan_outputs_stop_at_max_bytes() -> None:
    prepared = client.prepare(parsed(COUNTED), max_bytes=1 << 10)
    assert prepared.run([PAIR, np.array(128)]).all.nbytes == 1 << 10
    with pytest.raises(bl.LimitError, match=r"Loop \(node `l`\): output 1 takes 1032 bytes after 129 iter.* max_bytes"):
        prepared.run([PAIR, np.array(1000)])


def test_states_that_double_stop_at_max_bytes() -> None:
    text = ENDLESS.replace("float[N] y", "float[M] y").replace("float[N] r", "float[M] r")
    text = text.replace("Neg (a)", "Concat <axis = 0> (a, a)")
    with pytest.raises(bl.LimitError, match="the option max_bytes sets the limit"):
        client.prepare(parsed(text), max_bytes=1 << 20).run([PAIR, np.array(True)])


def test_the_time_of_all_iterations_is_limited() -> None:
    prepared = client.prepare(parsed(ENDLESS), max_time=0.2, max_iterations=2**62)
    begin = time.monotonic()
    with pytest.raises(bl.TimeLimitError, match=r"Loop \(node `l`\): the run was stopped by its time limit of 0.2 s"):
        prepared.run([PAIR, np.array(True)])
    assert 0.2 <= time.monotonic() - begin < 2


INTERRUPTED = """
import signal, sys, time
import numpy as np, onnx
import broadloom.onnx

prepared = broadloom.onnx.prepare(onnx.parser.parse_model(sys.argv[1]), max_iterations=2**62)
x = np.ones(int(sys.argv[2]), dtype=np.float32)
arguments = {"x": x, "c": np.array(True), "m": np.array(2**62)}
arguments = {name: arguments[name] for name in prepared.inputs}
asked = []
def interrupt(*_):
    asked.append(time.monotonic())
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.7)
try:
    prepared.run(arguments)
except KeyboardInterrupt:
    print(time.monotonic() - asked[0])
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs the timers of POSIX")
@pytest.mark.parametrize("size", [2, 1 << 22])
@pytest.mark.parametrize(
    "text",
    [
        ENDLESS,
        ENDLESS.replace("Neg (a)", "Softmax <axis = 0> (a)"),
        COUNTED.replace("Abs (a)", "ReduceMax (a)").replace("[K, N]", "[K, M]").replace("float[N] s", "float[M] s"),
    ],
)
def test_an_interrupt_ends_a_loop(text: str, size: int) -> None:
    child = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, text, str(size)], capture_output=True, text=True, timeout=60
    )
    assert child.returncode == 0, child.stderr
    assert float(child.stdout) < 0.3


def test_damaged_bodies_give_errors_of_their_own() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x, int64 m) => (float[N] y, float[K, N] all, float[L, N] z) {
        y, all = Loop <body = b (int64 i, bool d, float[N] a) => (bool e, float[N] r, float[N] s) <float[1] w = {1}> {
            e = Identity (d)  s = Abs (a)
            r = If <then_branch = t () => (float[N] u) { u = Add (a, w) }, else_branch = f () => (float[N] v) { v = Neg (x) }> (d)
        }> (m, "", x)
        z = Scan <num_scan_inputs = 1, scan_output_axes = [0], body = c (float[N] p) => (float[N] q) { q = Neg (p) }> (all) }"""
    whole, random = parsed(text).SerializeToString(), np.random.default_rng(8)
    client.run_model(parsed(text), [PAIR, np.array(2)])
    outcomes = set()
    for _ in range(2500):
        bytes_ = bytearray(whole)
        for at in random.integers(0, len(bytes_), random.integers(1, 4)):
            bytes_[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.integers(256)])
        try:
            damaged = onnx.ModelProto.FromString(bytes(bytes_))
        except Exception:
            continue
        try:
            prepared = client.prepare(damaged, max_iterations=1000)
        except (UnsupportedModelError, InvalidModelError, MemoryError) as error:
            outcomes.add(type(error))
            continue
        try:
            prepared.run([PAIR, np.array(2)])
            outcomes.add(None)
        except (TypeError, ValueError, MemoryError) as error:
            outcomes.add(type(error))
    assert {UnsupportedModelError, InvalidModelError, ValueError, None} <= outcomes
