"""Compares composed models with `onnx.reference.ReferenceEvaluator`: random graphs bit for bit, models of layers
with a small tolerance.

Random graphs use operators whose result IEEE 754 or integer arithmetic defines exactly, so that no tolerance is
needed. ONNX leaves the sign of some zeros open (the maximum of -0 and 0), so nothing is divided by them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper, parser  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import broadloom.onnx as client  # noqa: E402

ELEMENTS = {
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "int": TensorProto.INT32,
    "bool": TensorProto.BOOL,
}
DTYPES = {"float": "f4", "double": "f8", "int": "i4", "bool": "?"}
#: These shapes broadcast to each other.
SHAPES = [(2, 3), (1, 3), (2, 1), (3,), ()]

#: (operator, types that it takes, attributes): operators of one operand that keep type and rank.
UNARY: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("Abs", ("float", "double", "int"), {}),
    ("Neg", ("float", "double", "int"), {}),
    ("Sign", ("float", "double", "int"), {}),
    ("Floor", ("float", "double"), {}),
    ("Ceil", ("float", "double"), {}),
    ("Round", ("float", "double"), {}),
    ("Sqrt", ("float", "double"), {}),
    ("Not", ("bool",), {}),
    ("BitwiseNot", ("int",), {}),
    ("LeakyRelu", ("float", "double"), {"alpha": 0.5}),
    ("Identity", ("float", "double", "int", "bool"), {}),
]
BINARY = [
    ("Add", ("float", "double", "int")),
    ("Sub", ("float", "double", "int")),
    ("Mul", ("float", "double", "int")),
    ("And", ("bool",)),
    ("Or", ("bool",)),
    ("Xor", ("bool",)),
    ("BitwiseAnd", ("int",)),
    ("BitwiseXor", ("int",)),
]
COMPARISONS = [("Less", ("float", "double", "int")), ("GreaterOrEqual", ("float", "double", "int"))]
#: For floats, these operators leave the sign of a zero open, so a graph contains either them or quotients.
EXTREMES = ["Max", "Min"]


class Graph:
    """A random graph under construction: its nodes, and the type and shape of each value."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.nodes: list[Any] = []
        self.values: dict[str, tuple[str, tuple[int, ...]]] = {}
        self.inputs: dict[str, np.ndarray] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.has_quotients = draw(st.booleans())

    def source(self) -> None:
        """Adds an input or an initializer."""
        kind, shape = self.draw(st.sampled_from(sorted(DTYPES))), self.draw(st.sampled_from(SHAPES))
        name = f"s{len(self.values)}"
        random = np.random.default_rng(self.draw(st.integers(0, 2**32)))
        values = random.normal(0, 3, shape).astype(DTYPES[kind])
        if kind in ("float", "double"):
            special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape).astype(DTYPES[kind])
            values = np.where(random.random(shape) < 0.15, special, values)
        (self.inputs if self.draw(st.booleans()) else self.weights)[name] = np.asarray(values, DTYPES[kind])
        self.values[name] = (kind, shape)

    def pick(self, kinds: tuple[str, ...]) -> str | None:
        """Picks a value of one of these types; None if there is none."""
        found = [name for name, (kind, _) in self.values.items() if kind in kinds]
        return self.draw(st.sampled_from(found)) if found else None

    def add(self, operator: str, operands: list[str], kind: str, shape: tuple[int, ...], **attributes: Any) -> str:
        """Adds a node, and returns the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], **attributes))
        self.values[name] = (kind, shape)
        return name

    def constant(self, values: Any) -> str:
        """Adds an initializer of integers, for axes and shapes, and returns its name."""
        name = f"c{len(self.weights)}"
        self.weights[name] = np.array(values, dtype=np.int64)
        return name

    def step(self) -> None:
        """Adds one more operator, if there is a value for it."""
        kind_of_step = self.draw(
            st.sampled_from(["unary", "binary", "compare", "where", "cast", "extreme", "shape", "reduce"])
        )
        getattr(self, f"_{kind_of_step}")()

    def _unary(self) -> None:
        operator, kinds, attributes = self.draw(st.sampled_from(UNARY))
        x = self.pick(kinds)
        if x is not None:
            self.add(operator, [x], *self.values[x], **attributes)

    def _pair(self, kinds: tuple[str, ...]) -> tuple[str, str, str, tuple[int, ...]] | None:
        x = self.pick(kinds)
        if x is None:
            return None
        kind = self.values[x][0]
        y = self.pick((kind,))
        assert y is not None
        return x, y, kind, np.broadcast_shapes(self.values[x][1], self.values[y][1])

    def _binary(self) -> None:
        table = [*BINARY, *([("Div", ("float", "double"))] if self.has_quotients else [])]
        operator, kinds = self.draw(st.sampled_from(table))
        pair = self._pair(kinds)
        if pair is not None:
            self.add(operator, [pair[0], pair[1]], pair[2], pair[3])

    def _compare(self) -> None:
        operator, kinds = self.draw(st.sampled_from(COMPARISONS))
        pair = self._pair(kinds)
        if pair is not None:
            self.add(operator, [pair[0], pair[1]], "bool", pair[3])

    def _extreme(self) -> None:
        pair = self._pair(("int",) if self.has_quotients else ("float", "double", "int"))
        if pair is not None:
            self.add(self.draw(st.sampled_from(EXTREMES)), [pair[0], pair[1]], pair[2], pair[3])

    def _where(self) -> None:
        condition, pair = self.pick(("bool",)), self._pair(("float", "double", "int", "bool"))
        if condition is not None and pair is not None:
            shape = np.broadcast_shapes(self.values[condition][1], pair[3])
            self.add("Where", [condition, pair[0], pair[1]], pair[2], shape)

    def _cast(self) -> None:
        # ONNX leaves conversions of NaN and of out-of-range floats to integers open.
        x = self.pick(("int", "bool"))
        if x is not None:
            to = self.draw(st.sampled_from(["double", "int", "bool", "float"]))
            self.add("Cast", [x], to, self.values[x][1], to=ELEMENTS[to])

    def _shape(self) -> None:
        x = self.pick(tuple(DTYPES))
        if x is None or not self.values[x][1]:
            return
        kind, shape = self.values[x]
        choice = self.draw(st.sampled_from(["reverse", "transpose twice", "reshape", "concat", "expand"]))
        last = len(shape) - 1
        if choice == "reverse":
            bounds = [self.constant([n]) for n in (-1, -(2**31), last, -1)]
            self.add("Slice", [x, *bounds], kind, shape)
        elif choice == "transpose twice":
            first = self.add("Transpose", [x], kind, shape[::-1])
            self.add("Transpose", [first], kind, shape)
            # A value of the shape (3, 2) does not broadcast with the others.
            del self.values[first]
        elif choice == "reshape":
            first = self.add("Reshape", [x, self.constant([-1])], kind, (int(np.prod(shape)),))
            del self.values[first]
            self.add("Reshape", [first, self.constant(shape)], kind, shape)
        elif choice == "concat":
            twice = (*shape[:-1], 2 * shape[-1])
            first = self.add("Concat", [x, x], kind, twice, axis=last)
            del self.values[first]
            bounds = [self.constant([n]) for n in (1, 1 + shape[-1], last)]
            self.add("Slice", [first, *bounds], kind, shape)
        else:
            made = np.broadcast_shapes(shape, (2, 3))
            self.add("Expand", [x, self.constant((2, 3))], kind, made)

    def _reduce(self) -> None:
        kinds = ("int",) if self.has_quotients else ("float", "double", "int")
        x = self.pick(kinds)
        if x is None or not self.values[x][1]:
            return
        kind, shape = self.values[x]
        table = ["ReduceMax", "ReduceMin", *(["ReduceSum", "CumSum"] if kind == "int" else [])]
        operator = self.draw(st.sampled_from(table))
        if operator == "CumSum":
            self.add(operator, [x, self.constant(-1)], kind, shape, reverse=self.draw(st.integers(0, 1)))
        else:
            self.add(operator, [x, self.constant([-1])], kind, (*shape[:-1], 1))

    def model(self) -> Any:
        """The model. Its outputs are the last values that no node reads."""
        read = {name for node in self.nodes for name in node.input}
        made = [name for name in self.values if name.startswith("v") and name not in read]
        outputs = made[-4:] or list(self.values)[:1]
        for number, name in enumerate(outputs):
            self.nodes.append(helper.make_node("Identity", [name], [f"out{number}"]))
        graph = helper.make_graph(
            self.nodes,
            "random",
            [_info(name, *self.values[name]) for name in self.inputs],
            [_info(f"out{number}", *self.values[name]) for number, name in enumerate(outputs)],
            [numpy_helper.from_array(values, name) for name, values in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _info(name: str, kind: str, shape: tuple[int, ...]) -> Any:
    return helper.make_tensor_value_info(name, ELEMENTS[kind], shape)


@given(st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_random_graphs_have_the_values_of_the_reference(data: st.DataObject) -> None:
    graph = Graph(data.draw)
    for _ in range(data.draw(st.integers(1, 5))):
        graph.source()
    for _ in range(data.draw(st.integers(1, 15))):
        graph.step()
    model = graph.model()
    prepared = client.prepare(model)
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, graph.inputs)
        for _ in range(2):
            made = prepared.run(graph.inputs)
            for ours, theirs in zip(made, expected, strict=True):
                np.testing.assert_array_equal(ours, np.asarray(theirs), strict=True)


LAYERS = {
    "a chain": (
        """<ir_version: 9, opset_import: ["" : 20]>
        g (float[N, M] x) => (float[N, M] y) {
            mean = ReduceMean <keepdims = 1> (x)
            c = Sub (x, mean)
            g = Gelu (c)
            two = Constant <value_float = 2.0> ()
            y = Mul (g, two) }"""
    ),
    "attention's weights": (
        """<ir_version: 9, opset_import: ["" : 20]>
        g (float[N, M] x) => (float[N, M] y, int64[N] best) {
            s = Constant <value_float = 0.125> ()
            z = Mul (x, s)
            zero = Constant <value_float = 0.0> ()
            low = Constant <value_float = -1000.0> ()
            kept = Greater (x, zero)
            masked = Where (kept, z, low)
            y = Softmax <axis = -1> (masked)
            best = ArgMax <axis = -1, keepdims = 0> (masked) }"""
    ),
    "a layer norm with a shape that is computed": (
        """<ir_version: 9, opset_import: ["" : 18]>
        g (float[N, M] x) => (float[K] y) {
            shape = Shape <start = 1> (x)
            one = Constant <value = float[1] {1.0}> ()
            scale = Expand (one, shape)
            n = LayerNormalization (x, scale)
            s = Softplus (n)
            flat = Constant <value_ints = [-1]> ()
            y = Reshape (s, flat) }"""
    ),
    "an older opset": (
        """<ir_version: 4, opset_import: ["" : 9]>
        g (float[N, M] x) => (float[N, M] y) {
            a = Softmax <axis = 1> (x)
            b = Clip <min = 0.05, max = 0.5> (a)
            c = Log (b)
            m = ReduceSum <axes = [1]> (c)
            y = Div (c, m) }"""
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_models_of_layers_are_close_to_the_reference(name: str) -> None:
    model = parser.parse_model(LAYERS[name])
    prepared, reference = client.prepare(model), ReferenceEvaluator(model)
    for shape in ((7, 33), (1, 5), (64, 128)):
        x = np.random.default_rng(len(name)).standard_normal(shape).astype("f4")
        for ours, theirs in zip(prepared.run([x]), reference.run(None, {"x": x}), strict=True):
            assert ours.dtype == theirs.dtype
            # float32 sums of up to 128 terms, added in another order.
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
