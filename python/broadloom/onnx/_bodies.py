"""Lowers the bodies of `If`, `Loop` and `Scan`: opens a scope for each, whose nodes are lowered like those of a graph,
and then checks what the bodies give against what the operator takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from onnx import GraphProto, TensorProto, numpy_helper

from broadloom.onnx._attributes import Values
from broadloom.onnx._errors import InvalidModelError, Unsupported
from broadloom.onnx._graph import Input, Node, Program, program
from broadloom.onnx._scopes import Scope
from broadloom.onnx._types import DTYPES, UNDEFINED, extents_of, tensor, type_of

Types = dict[str, str | None]

INT64, BOOL = "tensor(int64)", "tensor(bool)"


@dataclass
class Body:
    """A body that is being lowered: its attribute, its scope, and its inputs and constants by the program's names."""

    name: str
    graph: GraphProto
    scope: Scope
    inputs: list[Input] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Open:
    """An operator whose bodies are being lowered. `given` are the types of the bodies' inputs, `carried` is the number
    of states, and `first` the position of the first one in the body's outputs."""

    node: Node
    scope: Scope
    given: list[str | None]
    carried: int = 0
    first: int = 0
    bodies: list[Body] = field(default_factory=list)


def values_of(weight: TensorProto) -> np.ndarray:
    """The values of an initializer; InvalidModelError if it has not as many as it declares."""
    try:
        return numpy_helper.to_array(weight)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidModelError(f"the initializer `{weight.name}`: {error}") from None


def opened(node: Node, scope: Scope, types: Sequence[str | None]) -> Open:
    """An operator with bodies, and the types that it passes to them. InvalidModelError if its own inputs don't agree."""
    if node.operator == "If":
        return Open(node, scope, [])
    if node.operator == "Loop":
        states = list(types[2:])
        _check_given(node, node.inputs[2:])
        return Open(node, scope, [INT64, BOOL, *states], len(states), 1)
    values = list(types[1:] if node.version < 9 else types)
    _check_given(node, node.inputs[len(node.inputs) - len(values) :])
    scanned = node.attributes["num_scan_inputs"]
    if not 1 <= scanned <= len(values):
        raise InvalidModelError(f"{node}: `num_scan_inputs` is {scanned}, and it has {len(values)} states and inputs")
    return Open(node, scope, values, len(values) - scanned)


def _check_given(node: Node, names: Sequence[str]) -> None:
    if not all(names):
        raise InvalidModelError(f"{node}: the name of a state or input is empty")


def graphs_of(node: Node) -> dict[str, GraphProto]:
    """The bodies of an operator by attribute. A branch that runs if the condition is true is first."""
    names = ("then_branch", "else_branch") if node.operator == "If" else ("body",)
    return {name: node.attributes[name] for name in names}


def enter(one: Open, name: str, graph: GraphProto, number: int, types: Types, weights: Values) -> list[Unsupported]:
    """Opens the scope of a body, and defines its inputs and constants. Returns the types that are not supported."""
    node, outer = one.node, one.scope
    scope = Scope(
        outer.opsets,
        {},
        outer.attributes,
        f"{outer.prefix}{node.operator}#{number}/",
        outer.within,
        outer.node if outer.within else node.name,
        outer.is_shipped,
        outer=outer,
        path=f"the `{name}` of {node}",
    )
    body = Body(name, graph, scope)
    one.bodies.append(body)
    if len(graph.input) != len(one.given):
        raise InvalidModelError(
            f"{node}: its `{name}` has {len(graph.input)} inputs, and it is given {len(one.given)} values"
        )
    findings = []
    for entry, given in zip(graph.input, one.given, strict=True):
        declared = type_of(entry.type)
        kind = given if declared == UNDEFINED else declared
        if not entry.name or (scope.names and entry.name in scope.names):
            raise InvalidModelError(f"{node}: its `{name}` has two inputs `{entry.name}`")
        if given is not None and kind != given:
            raise InvalidModelError(
                f"{node}: the input `{entry.name}` of its `{name}` is declared {kind}, and is given {given}"
            )
        local = scope.define(entry.name)
        types[local] = kind
        if kind in DTYPES:
            body.inputs.append(Input(local, DTYPES[kind], extents_of(entry.type)))
        elif kind is not None:
            findings.append(_foreign(entry.name, f"it is an input of the type {kind}", scope))
    for weight in graph.initializer:
        kind = tensor(weight.data_type)
        if scope.names and weight.name in scope.names:
            # The default of an input, which is always given.
            if types[scope.names[weight.name]] not in (kind, None):
                raise InvalidModelError(
                    f"{node}: the initializer `{weight.name}` of its `{name}` is {kind}, and the input is not"
                )
            continue
        local = scope.define(weight.name)
        types[local] = kind
        if kind not in DTYPES:
            findings.append(_foreign(weight.name, f"it is an initializer of the type {kind}", scope))
        elif weight.data_location != TensorProto.EXTERNAL:
            body.constants[local] = weights.of(weight)
    for sparse in graph.sparse_initializer:
        types[scope.define(sparse.values.name)] = None
        findings.append(_foreign(sparse.values.name, "it is a sparse initializer", scope))
    return findings


def _foreign(name: str, what: str, scope: Scope) -> Unsupported:
    return Unsupported(name, f"{what}, which is not supported", node=scope.node, within=scope.within, path=scope.path)


def closed(one: Open, types: Types) -> Node:
    """The operator with its bodies, whose nodes are lowered, and with the types of its results.

    Raises InvalidModelError if bodies give other types or numbers of values than the operator takes.
    """
    node = one.node
    programs, results = [], []
    for body in one.bodies:
        made = _program(body, node, types)
        kinds = [types[name] for name in made.outputs]
        _check_carried(one, body, kinds)
        programs.append(made)
        results.append(kinds[one.first :])
    wanted = results[0]
    if len(results) > 1:
        if len(results[1]) != len(wanted):
            raise InvalidModelError(f"{node}: its branches have {len(wanted)} and {len(results[1])} outputs")
        for number, (first, second) in enumerate(zip(*results, strict=True)):
            if first is not None and second is not None and first != second:
                raise InvalidModelError(f"{node}: output {number} is {first} in one branch, and {second} in the other")
    if node.operator == "Scan":
        _check_flags(node, node.attributes["num_scan_inputs"], len(wanted) - one.carried)
    if len(node.outputs) > len(wanted):
        raise InvalidModelError(f"{node}: it has {len(node.outputs)} outputs, and its body {len(wanted)} for them")
    return replace(node, types=tuple(wanted[: len(node.outputs)]), bodies=tuple(programs))


def _program(body: Body, node: Node, types: Types) -> Program:
    outputs = []
    for entry in body.graph.output:
        name = body.scope.value(entry.name)
        if name not in types or not name:
            raise InvalidModelError(f"{node}: nothing defines the output `{entry.name}` of its `{body.name}`")
        declared, kind = type_of(entry.type), types[name]
        if kind is not None and declared not in (UNDEFINED, kind):
            raise InvalidModelError(
                f"{node}: the output `{entry.name}` of its `{body.name}` is declared {declared}, and is {kind}"
            )
        outputs.append(name)
    declared_extents = [extents_of(entry.type) for entry in body.graph.output]
    return program(body.inputs, body.constants, body.scope.nodes, outputs, types, declared_extents)


def _check_carried(one: Open, body: Body, kinds: Sequence[str | None]) -> None:
    """Checks that a body gives a condition, if its operator takes one, and each state with its type."""
    node = one.node
    if len(kinds) < one.first + one.carried:
        raise InvalidModelError(
            f"{node}: its `{body.name}` has {len(kinds)} outputs, and {one.first + one.carried} values are carried on"
        )
    if one.first and kinds[0] not in (BOOL, None):
        raise InvalidModelError(f"{node}: the condition that its `{body.name}` gives is {kinds[0]}")
    last = one.given[2:] if one.first else one.given[: one.carried]
    for number, given in enumerate(last):
        kind = kinds[one.first + number]
        if given is not None and kind is not None and given != kind:
            raise InvalidModelError(f"{node}: state {number} is {given}, and its `{body.name}` gives {kind}")


def _check_flags(node: Node, inputs: int, outputs: int) -> None:
    """Checks that a scan has an axis and a direction for each input and output, if it has any."""
    for name in (
        "directions",
        "scan_input_directions",
        "scan_output_directions",
        "scan_input_axes",
        "scan_output_axes",
    ):
        found, count = node.attributes.get(name), outputs if "output" in name else inputs
        if found is not None and len(found) != count:
            raise InvalidModelError(f"{node}: `{name}` has {len(found)} entries, for {count} values")
        if found is not None and "directions" in name and not {0, 1}.issuperset(found):
            raise InvalidModelError(f"{node}: `{name}` is {list(found)}, and a direction is 0 or 1")
