"""Compares random models of `If`, `Loop` and `Scan` with `onnx.reference.ReferenceEvaluator`, bit for bit.

Their operators have results that IEEE 754 or integer arithmetic defines exactly. The reference evaluator scans along
the first axis forwards alone, joins scan outputs of a loop along an axis that they have, and needs an iteration for
them: the models keep to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import broadloom.onnx as client  # noqa: E402

ELEMENTS = {
    "float": TensorProto.FLOAT,
    "int": TensorProto.INT32,
    "long": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
DTYPES = {"float": "f4", "int": "i4", "long": "i8", "bool": "?"}
UNARY = {"float": ["Abs", "Neg", "Floor", "Sign"], "int": ["Abs", "Neg", "Sign", "BitwiseNot"], "bool": ["Not"]}
BINARY = {"float": ["Add", "Sub", "Mul"], "int": ["Add", "Sub", "Mul", "BitwiseXor"], "bool": ["And", "Or", "Xor"]}
ROW = 3

Type = tuple[str, tuple[int, ...]]


class Models:
    """Makes the nodes of random models. Every name is used once, and the names of a scope map to types."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.names = 0
        self.weights: dict[str, np.ndarray] = {}
        self.made: dict[str, Type] = {}

    def name(self, start: str) -> str:
        self.names += 1
        return f"{start}{self.names}"

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def among(self, some: Any) -> Any:
        return list(some)[int(self.random.integers(len(some)))]

    def weight(self, values: Any) -> str:
        name = self.name("w")
        self.weights[name] = np.asarray(values)
        return name

    def numbers(self, kind: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(self.random.normal(0, 3, shape)).astype(DTYPES[kind])

    def of(self, values: dict[str, Type], kind: str, shape: tuple[int, ...] | None = None) -> list[str]:
        return [name for name, (k, s) in values.items() if k == kind and shape in (None, s)]

    def node(self, nodes: list[Any], values: dict[str, Type], operator: str, inputs: list[str], type_: Type) -> str:
        name = self.name("v")
        nodes.append(helper.make_node(operator, inputs, [name]))
        values[name] = type_
        return name

    def nodes(self, values: dict[str, Type], count: int, depth: int) -> list[Any]:
        """Adds operators to a scope, some of them with bodies."""
        nodes: list[Any] = []
        for _ in range(count):
            if depth and self.chance(0.35):
                nodes.append(self.among([self.branch, self.loop, self.scan])(values, depth - 1))
                continue
            kind = self.among([kind for kind in UNARY if self.of(values, kind)])
            one = self.among(self.of(values, kind))
            if self.chance(0.3):
                self.node(nodes, values, self.among(UNARY[kind]), [one], values[one])
                continue
            other = self.among(self.of(values, kind))
            shape = np.broadcast_shapes(values[one][1], values[other][1])
            if kind != "bool" and self.chance(0.3):
                self.node(nodes, values, "Less", [one, other], ("bool", shape))
            elif kind != "bool" and self.chance(0.2):
                condition = self.among(self.of(values, "bool"))
                shape = np.broadcast_shapes(shape, values[condition][1])
                self.node(nodes, values, "Where", [condition, one, other], (kind, shape))
            else:
                self.node(nodes, values, self.among(BINARY[kind]), [one, other], (kind, shape))
        return nodes

    def body(
        self, inputs: dict[str, Type], around: dict[str, Type], wanted: list[Type], depth: int, condition: bool = False
    ) -> Any:
        """A body whose outputs have these types; if `condition`, the first of them is one of its iteration."""
        values = {**around, **inputs}
        nodes = self.nodes(values, int(self.random.integers(1, 6)), depth)
        outputs = []
        for position, (kind, shape) in enumerate(wanted):
            if condition and position == 0 and self.chance(0.7):
                bound = self.weight(np.int64(self.random.integers(0, 4)))
                found = [self.node(nodes, values, "Less", [next(iter(inputs)), bound], ("bool", ()))]
            else:
                # The values of the body, if it has any of this type.
                found = self.of(values, kind, shape)[-4:]
            name = self.name("o")
            nodes.append(helper.make_node("Identity", [self.among(found)], [name]))
            outputs.append(_info(name, (kind, shape)))
        return helper.make_graph(nodes, self.name("body"), [_info(name, inputs[name]) for name in inputs], outputs)

    def types(self, values: dict[str, Type], most: int) -> list[str]:
        named = [name for name in values if values[name][0] != "long"]
        return [self.among(named) for _ in range(int(self.random.integers(1, most + 1)))]

    def results(self, values: dict[str, Type], types: list[Type]) -> list[str]:
        names = [self.name("v") for _ in types]
        self.made.update(zip(names, types))
        values.update({name: x for name, x in zip(names, types) if x[1] in ((), (ROW,))})
        return names

    def branch(self, values: dict[str, Type], depth: int) -> Any:
        wanted = [values[name] for name in self.types(values, 2)]
        bodies = {f"{name}_branch": self.body({}, values, wanted, depth) for name in ("then", "else")}
        condition = self.among(self.of(values, "bool", ()))
        return helper.make_node("If", [condition], self.results(values, wanted), **bodies)

    def loop(self, values: dict[str, Type], depth: int) -> Any:
        states = self.types(values, 3)
        types = [values[name] for name in states]
        scans: list[Type] = [(self.among(["float", "int"]), (ROW,))] * int(self.random.integers(0, 3))
        names = {self.name("i"): ("long", ()), self.name("c"): ("bool", ())}
        inputs = {**names, **{self.name("s"): x for x in types}}
        body = self.body(inputs, values, [("bool", ()), *types, *scans], depth, condition=True)
        trips = int(self.random.integers(1 if scans else 0, 5))
        starts = self.weight(np.array(bool(scans) or self.chance(0.8)))
        given = [self.weight(np.int64(trips)), starts, *states]
        results = self.results(values, [*types, *((kind, (-1, ROW)) for kind, _ in scans)])
        return helper.make_node("Loop", given, results, body=body)

    def scan(self, values: dict[str, Type], depth: int) -> Any:
        states = self.types(values, 2)
        types = [values[name] for name in states]
        kinds = [self.among(["float", "int"]) for _ in range(int(self.random.integers(1, 3)))]
        length = int(self.random.integers(1, 5))
        scanned = [self.weight(self.numbers(kind, (length, ROW))) for kind in kinds]
        scans: list[Type] = [(self.among(["float", "int"]), (ROW,))] * int(self.random.integers(0, 3))
        inputs = {self.name("s"): x for x in types} | {self.name("e"): (kind, (ROW,)) for kind in kinds}
        body = self.body(inputs, values, [*types, *scans], depth)
        results = self.results(values, [*types, *((kind, (length, ROW)) for kind, _ in scans)])
        return helper.make_node("Scan", [*states, *scanned], results, body=body, num_scan_inputs=len(kinds))

    def model(self) -> tuple[Any, dict[str, np.ndarray]]:
        """A model and its inputs. Its outputs are results of operators with bodies."""
        shapes = [(kind, shape) for kind in UNARY for shape in ((), (ROW,))]
        inputs = {self.name("x"): x for x in shapes}
        values = dict(inputs)
        nodes: list[Any] = []
        for make in (self.branch, self.loop, self.scan):
            nodes += self.nodes(values, 3, 2)
            nodes.append(make(values, 2))
        results = [name for node in nodes for name in node.output if name in self.made]
        graph = helper.make_graph(
            nodes,
            "random",
            [_info(name, x) for name, x in inputs.items()],
            [_info(name, (self.made[name][0], (None,) * len(self.made[name][1]))) for name in results],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        return model, {name: self.numbers(*x) for name, x in inputs.items()}


def _info(name: str, type_: tuple[str, Any]) -> Any:
    return helper.make_tensor_value_info(name, ELEMENTS[type_[0]], type_[1])


def bits(array: np.ndarray) -> bytes:
    """The bits of an array. NaNs are equal."""
    return np.where(array != array, np.zeros_like(array) + 99, array).tobytes() + (array != array).tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_have_the_values_of_the_reference(seed: int) -> None:
    models = Models(seed)
    model, inputs = models.model()
    prepared = client.prepare(model)
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, inputs)
        for _ in range(2):
            made = prepared.run(inputs)
            assert len(made) == len(expected) >= 3
            for name, ours, theirs in zip(prepared.outputs, made, map(np.asarray, expected), strict=True):
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), name
                assert bits(ours) == bits(theirs), (name, ours, theirs)


def test_random_models_have_every_operator_in_every_other() -> None:
    found = set()
    for seed in range(60):
        waiting = [("", node) for node in Models(seed).model()[0].graph.node]
        while waiting:
            around, node = waiting.pop()
            bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
            if bodies:
                found.add((around, node.op_type))
            waiting += [(node.op_type, inner) for body in bodies for inner in body.node]
    names = ("If", "Loop", "Scan")
    assert found == {(around, name) for around in ("", *names) for name in names}
