"""ONNX's operator `Gradient`, of its training operators: the derivative of one tensor for others, which the node names.

The operators between these tensors are built a second time, over variables, since the node may be given other values than
those of the tensors that it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from broadloom import LimitError, _core
from broadloom._core import Handle
from broadloom.onnx._graph import Input, Node, Program, program
from broadloom.onnx._row import Call, Row
from broadloom.onnx._types import DTYPES

DOMAIN = "ai.onnx.preview.training"

#: Operators that end a kernel, through which there is no gradient.
BARRIERS = frozenset({"BitCast", "Concat"})

#: The largest number of gradients within each other.
MAX_NESTING = 16


def part(given: Sequence[str], y: str, nodes: Sequence[Node], types: Mapping[str, str | None], prefix: str) -> Program:
    """The operators that compute `y` from given tensors. The values have names of their own, with this prefix, except those
    that are captured."""
    inputs = [Input(name, DTYPES[types[name] or ""]) for name in given]
    known = set(given)
    made = program(inputs, {}, [node for node in nodes if known.isdisjoint(node.outputs)], [y], types)
    if extent(made.nodes)[1] >= MAX_NESTING:
        raise LimitError(f"the model has more than {MAX_NESTING} operators `Gradient` within each other")
    own = {*given, *(name for node in made.nodes for name in node.outputs if name)}
    names = {name: f"{prefix}{name}" for name in own}

    inputs = [replace(entry, name=names[entry.name]) for entry in inputs]
    nodes = [_renamed(node, names) for node in made.nodes]
    return replace(made, inputs=tuple(inputs), nodes=tuple(nodes), outputs=(names.get(y, y),))


def extent(nodes: Sequence[Node]) -> tuple[int, int]:
    """The number of operators, with those of gradients among them, and the number of gradients within each other."""
    within = [extent(node.attributes["part"].nodes) for node in nodes if "part" in node.attributes]
    return len(nodes) + sum(count for count, _ in within), max((depth + 1 for _, depth in within), default=0)


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    """The node with other names of values. The operators of a gradient also read values that they capture."""
    attributes = node.attributes
    if "part" in attributes:
        within = attributes["part"]
        nodes = tuple(_renamed(one, names) for one in within.nodes)
        attributes = {**attributes, "part": replace(within, nodes=nodes)}
    inputs, outputs = (tuple(names.get(name, name) for name in some) for some in (node.inputs, node.outputs))
    return replace(node, attributes=attributes, inputs=inputs, outputs=outputs)


def _gradient(call: Call, *operands: Handle) -> list[Handle]:
    """The adjoints of the tensors `xs`. Of a `y` with axes, it is the sum that is differentiated. The operands after those of
    `xs` and `zs` are captured, and are read by name."""
    between: Program = call.attribute("part")
    variables = [_core.variable(x) for x in operands[: len(call.attribute("xs"))]]
    given = [*variables, *operands[len(variables) : len(between.inputs)]]
    names = [entry.name for entry in between.inputs]
    (y,) = call.values.traced(between, dict(zip(names, given, strict=True)))
    total = y.reduce("sum", list(range(y.ndim)), False) if y.ndim else y
    return _core.grad(total, variables)[: len(call.node.outputs)]


ROWS = (
    Row(
        "Gradient",
        _gradient,
        domain=DOMAIN,
        generates=False,
        note="of `ai.onnx.preview.training`; not through `Concat` and bodies",
    ),
)
