"""Tests ONNX models in `broadloom.onnx`: which are refused and how, versions of operators, arguments, and plans."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import broadloom as bl

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import broadloom.onnx as client  # noqa: E402
from broadloom.onnx import InvalidModelError, UnsupportedModelError  # noqa: E402

F, D, I64, I32, B = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
NEWEST = onnx.defs.onnx_opset_version()


def model_of(
    nodes: Sequence[Any],
    inputs: dict[str, tuple[int, Any]],
    outputs: dict[str, int | tuple[int, int]],
    opset: int = NEWEST,
    weights: dict[str, np.ndarray] | None = None,
    domains: Sequence[Any] = (),
    functions: Sequence[Any] = (),
) -> Any:
    """Makes a model of nodes. Inputs are given by name with element type and shape, outputs with element type and
    rank, 1 by default."""
    ranked = {name: x if isinstance(x, tuple) else (x, 1) for name, x in outputs.items()}
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, [None] * rank) for name, (kind, rank) in ranked.items()],
        [numpy_helper.from_array(values, name) for name, values in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), *domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))


def run_one(operator: str, arrays: Sequence[Any], opset: int = NEWEST, outputs: int = 1, **attributes: Any) -> Any:
    """The output of one node, or a tuple of several."""
    names = [f"i{number}" if array is not None else "" for number, array in enumerate(arrays)]
    node = helper.make_node(operator, names, [f"o{number}" for number in range(outputs)], **attributes)
    made = client.run_node(node, [x for x in arrays if x is not None], opset_version=opset)
    return made[0] if outputs == 1 else made


def f4(*values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def i8(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


# Refusals.


def test_every_operator_that_is_not_supported_is_named() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["a"], name="product"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("TfIdfVectorizer", ["b"], ["c"], name="places"),
        helper.make_node("Mystery", ["b"], ["d"], name="own", domain="example"),
    ]
    model = model_of(nodes, {"x": (F, [2, 2])}, {"c": F, "d": F}, domains=[helper.make_opsetid("example", 3)])
    assert not client.is_compatible(model)
    with pytest.raises(UnsupportedModelError) as caught:
        client.prepare(model)
    error = caught.value
    assert error.operators == ("MatMul", "Mystery", "TfIdfVectorizer")
    assert [(x.name, x.domain, x.since_version, x.node) for x in error.findings] == [
        ("MatMul", "", 13, "product"),
        ("TfIdfVectorizer", "", 9, "places"),
        ("Mystery", "example", 3, "own"),
    ]
    assert "MatMul-13 (node `product`): the operator is not supported" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.findings == error.findings and str(copy) == str(error)


def test_an_operator_in_the_body_of_another_is_named_with_it() -> None:
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], name="q")
    outputs = {"y": TensorProto.UINT8, "s": F, "z": TensorProto.UINT8}
    with pytest.raises(UnsupportedModelError, match=r"QuantizeLinear-\d+ \(node `q`, in the body of Dynamic") as caught:
        client.prepare(model_of([node], {"x": (F, [3])}, outputs))
    assert caught.value.operators == ("DynamicQuantizeLinear",)


@pytest.mark.parametrize(
    "kind",
    ["BFLOAT16", "COMPLEX64", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "STRING", "UINT4"],
)
def test_a_type_that_is_not_supported_is_named(kind: str) -> None:
    element = getattr(TensorProto, kind)
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": (element, [2])}, {"y": element})
    with pytest.raises(UnsupportedModelError) as caught:
        client.prepare(model)
    assert {x.name for x in caught.value.findings} == {"x", "Identity", "y"}
    assert f"tensor({kind.lower()})" in str(caught.value)


def test_sequences_and_optionals_are_refused() -> None:
    tensor = helper.make_tensor_type_proto(F, [2])
    for kind in (helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor)):
        value = helper.make_value_info("x", kind)
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [value])
        graph.output[0].name = "y"
        with pytest.raises(UnsupportedModelError, match=r"(seq|optional)\(tensor\(float\)\)"):
            client.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)]))


def test_a_type_within_the_graph_is_named() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.BFLOAT16, name="short"),
        helper.make_node("Cast", ["a"], ["y"], to=F),
        helper.make_node("Constant", [], ["text"], value_string=b"no"),
    ]
    with pytest.raises(UnsupportedModelError) as caught:
        client.prepare(model_of(nodes, {"x": (F, [2])}, {"y": F}))
    assert [x.name for x in caught.value.findings] == ["Cast", "Cast", "Constant"]
    assert "tensor(bfloat16)" in str(caught.value) and "tensor(string)" in str(caught.value)


def test_data_in_another_file_is_refused() -> None:
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, [2])}, {"y": F}, weights={"w": f4(1, 2)})
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../../secret")
    with pytest.raises(UnsupportedModelError, match=r"w: its data is in another file"):
        client.prepare(model)


def test_a_newer_opset_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match=f"opset {NEWEST + 1} is newer"):
        client.prepare(model_of([helper.make_node("Abs", ["x"], ["y"])], {"x": (F, [1])}, {"y": F}, NEWEST + 1))


def test_training_is_refused() -> None:
    node = helper.make_node("BatchNormalization", list("xsbmv"), ["y", "m2", "v2"], training_mode=1)
    inputs = {"x": (F, [2, 3]), **{name: (F, [3]) for name in "sbmv"}}
    with pytest.raises(UnsupportedModelError, match="in training"):
        client.prepare(model_of([node], inputs, {"y": F}))


# Models that are not valid.


def test_a_cycle_and_a_missing_value_are_named() -> None:
    cycle = [helper.make_node("Abs", ["b"], ["a"], name="first"), helper.make_node("Abs", ["a"], ["b"])]
    with pytest.raises(InvalidModelError, match=r"Abs \(node `first`\): nothing before it defines its input `b`"):
        client.prepare(model_of(cycle, {"x": (F, [1])}, {"b": F}))
    with pytest.raises(InvalidModelError, match="'z' is not an output of any node"):
        client.prepare(model_of([helper.make_node("Abs", ["x"], ["y"])], {"x": (F, [1])}, {"z": F}))
    twice = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]
    with pytest.raises(InvalidModelError, match="`y` is defined twice"):
        client.prepare(model_of(twice, {"x": (F, [1])}, {"y": F}))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (helper.make_node("Add", ["x", "n"], ["y"]), r"tensor\(float\) and tensor\(int64\) are not of one type"),
        (helper.make_node("Sin", ["n"], ["y"]), r"takes no tensor\(int64\)"),
        (helper.make_node("Cast", ["x"], ["y"]), "`to` is missing"),
        (helper.make_node("Softmax", ["x"], ["y"], axis=1.5), "`axis` is not of the type INT"),
        (helper.make_node("Abs", ["x", "x"], ["y"]), "2 inputs, 1 outputs"),
        (helper.make_node("Add", ["x", ""], ["y"]), "the input `B` is missing"),
    ],
)
def test_a_node_that_breaks_its_schema_is_named(node: Any, text: str) -> None:
    with pytest.raises(InvalidModelError, match=text):
        client.prepare(model_of([node], {"x": (F, [2]), "n": (I64, [2])}, {"y": F}))


def test_names_are_shown_without_what_a_terminal_would_obey() -> None:
    evil = "\x1b[2J\u202e\n\x07"
    shown = r"\x1b[2J\u202e"
    x = {"x": (F, [2])}
    for model, error in [
        (model_of([helper.make_node(f"No{evil}", ["x"], ["y"], name=f"n{evil}")], x, {"y": F}), UnsupportedModelError),
        (model_of([helper.make_node("Abs", [f"w{evil}"], ["y"])], x, {"y": F}), InvalidModelError),
        (model_of([helper.make_node("Softmax", ["x"], ["y"], axis=7, name=f"n{evil}")], x, {"y": F}), ValueError),
    ]:
        with pytest.raises(error) as raised:
            client.prepare(model).run([f4(1, 2)])
        text = str(raised.value)
        assert shown in text, text
        assert all(c.isprintable() or c == "\n" for c in text), text
    prepared = client.prepare(
        model_of([helper.make_node("Abs", [f"a{evil}"], ["y"])], {f"a{evil}": (F, [2])}, {"y": F})
    )
    for inputs in ({}, {f"b{evil}": f4(1, 2)}, [f4(1)], [np.array([1, 2])]):
        with pytest.raises((ValueError, TypeError)) as raised:
            prepared.run(inputs)
        assert raised.value.args[0].replace("\n", "").isprintable()


def test_a_function_that_calls_itself_is_an_error() -> None:
    opsets = [helper.make_opsetid("own", 1), helper.make_opsetid("", NEWEST)]
    functions = [
        helper.make_function("own", name, ["a"], ["b"], [helper.make_node(other, ["a"], ["b"], domain="own")], opsets)
        for name, other in (("ping", "pong"), ("pong", "ping"))
    ]
    node = helper.make_node("ping", ["x"], ["y"], domain="own")
    with pytest.raises(InvalidModelError, match="ping → own.pong → own.ping"):
        client.prepare(model_of([node], {"x": (F, [2])}, {"y": F}, domains=opsets[:1], functions=functions))


def test_functions_that_grow_exponentially_hit_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from broadloom.onnx import _calls

    monkeypatch.setattr(_calls, "MAX_NODES", 10_000)
    opsets = [helper.make_opsetid("own", 1), helper.make_opsetid("", NEWEST)]
    functions = [helper.make_function("own", "f0", ["a"], ["b"], [helper.make_node("Abs", ["a"], ["b"])], opsets)]
    for level in range(1, 40):
        calls = [helper.make_node(f"f{level - 1}", [a], [b], domain="own") for a, b in (("a", "c"), ("c", "b"))]
        functions.append(helper.make_function("own", f"f{level}", ["a"], ["b"], calls, opsets))
    node = helper.make_node("f39", ["x"], ["y"], domain="own")
    with pytest.raises(bl.LimitError, match="more than 10000 operators"):
        client.prepare(model_of([node], {"x": (F, [2])}, {"y": F}, domains=opsets[:1], functions=functions))


def test_functions_that_are_nested_deeply_hit_a_limit() -> None:
    opsets = [helper.make_opsetid("own", 1), helper.make_opsetid("", NEWEST)]
    functions = [
        helper.make_function(
            "own", f"f{n}", ["a"], ["b"], [helper.make_node(f"f{n + 1}", ["a"], ["b"], domain="own")], opsets
        )
        for n in range(2000)
    ]
    model = model_of(
        [helper.make_node("f0", ["x"], ["y"], domain="own")],
        {"x": (F, [2])},
        {"y": F},
        domains=opsets[:1],
        functions=functions,
    )
    with pytest.raises(bl.LimitError, match="more than 500 deep"):
        client.prepare(model)


def test_damaged_models_give_errors_of_their_own() -> None:
    nodes = [
        helper.make_node("Slice", ["x", "starts", "ends"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=-1),
        helper.make_node("Cast", ["b"], ["c"], to=D),
        helper.make_node("ReduceSum", ["c", "starts"], ["y"], keepdims=0),
    ]
    model = model_of(nodes, {"x": (F, [4, 3])}, {"y": D}, weights={"starts": i8(0), "ends": i8(3)})
    whole, random = model.SerializeToString(), np.random.default_rng(8)
    outcomes = set()
    for _ in range(1500):
        text = bytearray(whole)
        for at in random.integers(0, len(text), random.integers(1, 4)):
            text[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.integers(256)])
        try:
            damaged = onnx.ModelProto.FromString(bytes(text))
        except Exception:
            continue
        try:
            prepared = client.prepare(damaged)
        except (UnsupportedModelError, InvalidModelError, MemoryError) as error:
            outcomes.add(type(error))
            continue
        try:
            prepared.run([np.ones((4, 3), "f4")])
        except (TypeError, ValueError, MemoryError) as error:
            outcomes.add(type(error))
    assert {UnsupportedModelError, InvalidModelError, ValueError} <= outcomes


def test_a_function_of_the_model_takes_attributes_and_gives_inputs_back() -> None:
    opsets = [helper.make_opsetid("own", 1), helper.make_opsetid("", NEWEST)]
    scale = helper.make_node("LeakyRelu", ["a"], ["b"])
    attribute = scale.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    function = helper.make_function("own", "both", ["a"], ["b", "a"], [scale], opsets, ["slope"])
    node = helper.make_node("both", ["x"], ["y", "z"], domain="own", slope=0.5)
    model = model_of([node], {"x": (F, [2])}, {"y": F, "z": F}, domains=opsets[:1], functions=[function])
    made = client.run_model(model, [f4(-2, 3)])
    np.testing.assert_array_equal(made.y, f4(-1, 3))
    np.testing.assert_array_equal(made.z, f4(-2, 3))


def test_a_graph_of_many_thousand_nodes_runs() -> None:
    count = 5000
    nodes = [helper.make_node("Add", [f"v{n}", "one"], [f"v{n + 1}"]) for n in range(count)]
    model = model_of(nodes, {"v0": (F, [3])}, {f"v{count}": F}, weights={"one": f4(1)})
    np.testing.assert_array_equal(client.run_model(model, [f4(0, 1, 2)])[0], f4(0, 1, 2) + count)


@pytest.mark.parametrize(
    ("operator", "arrays"),
    [
        ("ConstantOfShape", [i8(2**40, 2**40)]),
        ("ConstantOfShape", [i8(2**44)]),
        ("Expand", [f4(1), i8(2**62)]),
        ("Expand", [f4(1), i8(2**44)]),
        ("Range", [i8(0), i8(2**62), i8(1)]),
    ],
)
def test_a_result_that_no_memory_holds_is_an_error(operator: str, arrays: list[np.ndarray]) -> None:
    arrays = [x.reshape([]) for x in arrays] if operator == "Range" else arrays
    with pytest.raises(MemoryError):
        run_one(operator, arrays)


def test_an_initializer_without_its_data_is_an_error() -> None:
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, [2])}, {"y": F}, weights={"w": f4(1, 2)})
    model.graph.initializer[0].dims[0] = 2**40
    with pytest.raises(InvalidModelError):
        client.prepare(model)


# Arguments and results.


def test_arguments_are_checked_against_the_model() -> None:
    model = model_of(
        [helper.make_node("Add", ["x", "y"], ["z"])], {"x": (F, ["N", 2]), "y": (F, ["N", 1])}, {"z": (F, 2)}
    )
    prepared = client.prepare(model)
    assert prepared.inputs == ("x", "y") and prepared.outputs == ("z",)
    x, y = np.ones((3, 2), "f4"), np.ones((3, 1), "f4")
    expected = x + y
    for inputs in ([x, y], (bl.asarray(x), y), {"y": y, "x": x}, [x.tolist(), y.tolist()]):
        np.testing.assert_array_equal(prepared.run(inputs).z, expected)
    np.testing.assert_array_equal(prepared.run([x.astype(">f4"), y])["z"], expected)
    with pytest.raises(TypeError, match="`x` is float32, not float64"):
        prepared.run([x.astype("f8"), y])
    with pytest.raises(ValueError, match=r"`y` has the shape \[N, 1\], not \[4, 1\]"):
        prepared.run([x, np.ones((4, 1), "f4")])
    with pytest.raises(ValueError, match=r"`x` has the shape \[N, 2\], not \[3\]"):
        prepared.run([x[:, 0], y])
    with pytest.raises(ValueError, match="takes 2 inputs, 1 are given"):
        prepared.run([x])
    with pytest.raises(ValueError, match="`y` is not given"):
        prepared.run({"x": x})
    with pytest.raises(ValueError, match="no input `q`"):
        prepared.run({"x": x, "y": y, "q": x})
    with pytest.raises(TypeError, match="`threads`"):
        prepared.run([x, y], threads=1)


def test_an_initializer_stands_for_an_input_that_is_left_out() -> None:
    model = model_of(
        [helper.make_node("Mul", ["x", "w"], ["y"])], {"x": (F, [2]), "w": (F, [2])}, {"y": F}, weights={"w": f4(2, 3)}
    )
    prepared = client.prepare(model)
    np.testing.assert_array_equal(prepared.run([f4(1, 1)]).y, f4(2, 3))
    np.testing.assert_array_equal(prepared.run([f4(1, 1), f4(5, 7)]).y, f4(5, 7))
    np.testing.assert_array_equal(prepared.run({"x": f4(1, 1)}).y, f4(2, 3))


def test_results_are_arrays_of_their_own() -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["y"]),
        helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0]),
    ]
    prepared = client.prepare(model_of(nodes, {"x": (F, [2])}, {"y": F, "c": F}))
    x = f4(1, 2)
    first = prepared.run([x])
    first.y[0], first.c[0] = 9, 9
    assert x.tolist() == [1, 2]
    assert prepared.run([x]).c.tolist() == [1, 2]


def test_options_and_devices() -> None:
    model = model_of([helper.make_node("Div", ["x", "y"], ["z"])], {"x": (I32, [1]), "y": (I32, [1])}, {"z": I32})
    zero, one = np.zeros(1, "i4"), np.ones(1, "i4")
    assert client.run_model(model, [one, zero]).z.tolist() == [0]
    with pytest.raises(ZeroDivisionError):
        client.run_model(model, [one, zero], int_division="error")
    assert client.prepare(model, "CPU:0", threads=1, executor="interp").run([one, one]).z.tolist() == [1]
    assert client.supports_device("CPU") and not client.supports_device("CUDA")
    for call in (lambda: client.prepare(model, "CUDA"), lambda: client.prepare(model, int_division="wrong")):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        client.prepare(model, colour="red")
    with pytest.raises(TypeError, match="ModelProto"):
        client.prepare("model.onnx")  # type: ignore[arg-type]


def test_errors_of_a_run_name_the_node() -> None:
    model = model_of(
        [helper.make_node("Add", ["x", "y"], ["z"], name="sum")], {"x": (F, ["N"]), "y": (F, ["M"])}, {"z": F}
    )
    with pytest.raises(ValueError, match=r"Add \(node `sum`\): .*broadcast"):
        client.run_model(model, [np.ones(2, "f4"), np.ones(3, "f4")])


def test_promotion_that_is_set_does_not_matter() -> None:
    with bl.set_options(promotion="numpy"):
        made = run_one("Div", [np.array([7], "i4"), np.array([2], "i4")])
    assert made.dtype == np.int32 and made.tolist() == [3]


def test_importing_the_package_imports_no_onnx() -> None:
    code = (
        "import sys, broadloom; assert 'onnx' not in sys.modules; import broadloom.onnx; assert 'onnx' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Plans.


def test_plans_are_used_again() -> None:
    model = model_of([helper.make_node("Abs", ["x"], ["y"])], {"x": (F, ["N"])}, {"y": F})
    prepared = client.prepare(model)
    for size in (3, 4, 3, 4):
        assert prepared.run([-np.ones(size, "f4")]).y.tolist() == [1] * size
    assert len(prepared._runner.segments[0].plans) == 2


def test_values_that_decide_a_shape_are_part_of_a_plan() -> None:
    nodes = [
        helper.make_node("Add", ["s", "t"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
        helper.make_node("Shape", ["y"], ["z"]),
        helper.make_node("Mul", ["s", "factors"], ["scaled"]),
    ]
    inputs = {"x": (F, [2, 3, 4]), "s": (I64, [2]), "t": (I64, [2]), "factors": (I64, [2])}
    prepared = client.prepare(model_of(nodes, inputs, {"y": (F, 2), "z": I64, "scaled": I64}))
    shape = i8(0, 0)
    for rows, columns, given in ((2, 12, shape), (4, 6, shape), (2, 12, i8(0, 0))):
        # The first plan must not see what is written to its array when the third call uses it.
        given[:] = rows - 1, columns
        made = prepared.run([X, given, i8(1, 0), i8(10, 100)])
        np.testing.assert_array_equal(made.y, X.reshape(rows, columns))
        assert made.z.tolist() == [rows, columns]
        assert made.scaled.tolist() == [10 * (rows - 1), 100 * columns]
    assert len(prepared._runner.segments[0].plans) == 2 and prepared._runner.segments[0].known == {"s", "t"}


def test_a_shape_that_large_data_decides_is_for_one_run() -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["n"], keepdims=0),
        helper.make_node("Range", ["zero", "n", "one"], ["y"]),
        helper.make_node("Add", ["x", "one"], ["z"]),
    ]
    weights = {"zero": np.int64(0), "one": np.int64(1)}
    model = model_of(
        nodes, {"x": (I64, ["N"])}, {"y": I64, "z": I64}, weights={k: np.array(v) for k, v in weights.items()}
    )
    prepared = client.prepare(model)
    for top in (5, 3):
        x = np.full(100_000, top, dtype=np.int64)
        made = prepared.run([x])
        assert made.y.tolist() == list(range(top))
        np.testing.assert_array_equal(made.z, x + 1)
    assert not prepared._runner.segments[0].plans


def test_concat_cuts_a_kernel_and_computes_nothing_twice() -> None:
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"]),
        helper.make_node("Neg", ["x"], ["b"]),
        helper.make_node("Concat", ["a", "w", "b", "a"], ["c"], axis=1),
        helper.make_node("Sub", ["c", "one"], ["d"]),
        helper.make_node("Concat", ["d", "c"], ["e"], axis=0),
        helper.make_node("Add", ["a", "b"], ["f"]),
    ]
    weights = {"w": np.full((2, 1), 7, "f4"), "one": f4(1)}
    model = model_of(nodes, {"x": (F, [2, 3])}, dict.fromkeys("ecfa", (F, 2)), weights=weights)
    x = X[:, :, 0].copy()
    prepared = client.prepare(model)
    made = prepared.run([x])
    (plan,) = prepared._runner.segments[0].plans.values()
    assert ["multiply" in step.kernel.text or " * " in step.kernel.text for step in plan.steps] == [True, False, False]
    c = np.concatenate([x * x, weights["w"], -x, x * x], axis=1)
    np.testing.assert_array_equal(made.c, c)
    np.testing.assert_array_equal(made.e, np.concatenate([c - 1, c]))
    np.testing.assert_array_equal(made.f, x * x - x)
    np.testing.assert_array_equal(made.a, x * x)
    made.c[:] = 0
    np.testing.assert_array_equal(made.a, x * x)
    with pytest.raises(ValueError, match="may differ along axis 1 only"):
        run_one("Concat", [np.ones((2, 2), "f4"), np.ones((3, 2), "f4")], axis=1)


def test_a_chain_is_one_kernel() -> None:
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["a"]),
        helper.make_node("Gelu", ["a"], ["b"]),
        helper.make_node("Mul", ["b", "scale"], ["y"]),
    ]
    model = model_of(nodes, {"x": (F, ["N"])}, {"y": F}, weights={"mean": f4(0.5), "scale": f4(2)})
    prepared = client.prepare(model)
    prepared.run([X.reshape(-1)])
    (plan,) = prepared._runner.segments[0].plans.values()
    assert len(plan.steps) == 1 and not plan.constants
    assert plan.steps[0].kernel.explain().count("kernel 1") <= 1
