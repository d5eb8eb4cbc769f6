"""Makes the program of a model: its inputs, constants, operators in order, and outputs.

It is made from a `ModelProto`, which ONNX's own checker and the lowering check, or from a single node. Everything that
can be rejected without knowing values is rejected here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, defs

from broadloom.onnx._bodies import values_of
from broadloom.onnx._calls import bodies_within
from broadloom.onnx._errors import InvalidModelError, Unsupported, UnsupportedModelError
from broadloom.onnx._graph import Input, Program, program
from broadloom.onnx._lowering import Lowering
from broadloom.onnx._types import DTYPES, DType, extents_of, tensor, type_of


def of_model(model: ModelProto) -> Program:
    """The program of a model.

    Raises UnsupportedModelError, InvalidModelError, and LimitError for too many operators.
    """
    _check_names(model)
    opsets = _opsets(model)
    graph = model.graph
    findings = list(_outside(_tensors(model)))
    initial = {entry.name for entry in graph.initializer}
    types: dict[str, str] = {}
    inputs: list[Input] = []
    for entry in graph.input:
        kind = type_of(entry.type)
        if not entry.name or entry.name in types:
            raise InvalidModelError(f"the graph has two inputs `{entry.name}`")
        types[entry.name] = kind
        if kind not in DTYPES:
            findings.append(Unsupported(entry.name, f"it is an input of the type {kind}, which is not supported"))
        else:
            inputs.append(Input(entry.name, DTYPES[kind], extents_of(entry.type), entry.name in initial))
    for weight in graph.initializer:
        kind = tensor(weight.data_type)
        if kind not in DTYPES:
            findings.append(
                Unsupported(weight.name, f"it is an initializer of the type {kind}, which is not supported")
            )
        if types.get(weight.name, kind) != kind:
            raise InvalidModelError(f"the initializer `{weight.name}` is {kind}, the input {types[weight.name]}")
        types[weight.name] = kind
    for sparse in graph.sparse_initializer:
        findings.append(Unsupported(sparse.values.name, "it is a sparse initializer, which is not supported"))
        types[sparse.values.name] = f"sparse_{tensor(sparse.values.data_type)}"
    lowering = Lowering(types, model.functions)
    try:
        lowering.run(graph.node, opsets)
    except InvalidModelError:
        if findings or lowering.findings:
            raise UnsupportedModelError([*findings, *lowering.findings]) from None
        raise
    findings += lowering.findings
    for entry in graph.output:
        kind = type_of(entry.type)
        if kind not in DTYPES and kind != "tensor(undefined)":
            findings.append(Unsupported(entry.name, f"it is an output of the type {kind}, which is not supported"))
    if findings:
        raise UnsupportedModelError(findings)
    _check(model)
    weights = {weight.name: values_of(weight) for weight in graph.initializer}
    return _program(inputs, weights, lowering, [entry.name for entry in graph.output])


def of_node(node: NodeProto, types: Mapping[str, DType], opset: int) -> Program:
    """The program of a single node, with inputs of these dtypes. Errors are those of `of_model`."""
    names = {name: next(kind for kind, dtype in DTYPES.items() if dtype == types[name]) for name in types}
    findings = list(_outside(_tensors_in([node])))
    lowering = Lowering(names)
    lowering.run([node], {node.domain if node.domain != "ai.onnx" else "": opset})
    findings += lowering.findings
    if findings:
        raise UnsupportedModelError(findings)
    inputs = [Input(name, dtype) for name, dtype in types.items()]
    return _program(inputs, {}, lowering, [name for name in node.output if name])


def _opsets(model: ModelProto) -> dict[str, int]:
    opsets: dict[str, int] = {}
    for entry in model.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise InvalidModelError(f"two opsets of `{domain or 'ai.onnx'}` are imported")
    if not opsets and model.ir_version < 3:
        # Models from before opsets were declared have opset 1.
        opsets[""] = 1
    version = opsets.get("", 1)
    if version > defs.onnx_opset_version():
        newest = f"onnx {onnx.__version__} reads up to opset {defs.onnx_opset_version()}"
        raise UnsupportedModelError([Unsupported("opset", f"opset {version} is newer: {newest}")])
    if version < 1:
        raise InvalidModelError(f"there is no opset {version}")
    return opsets


def _check_names(model: ModelProto) -> None:
    """Checks names: one that is not UTF-8 is represented as bytes, which later code does not expect."""
    names: list[Any] = [entry.domain for entry in model.opset_import]
    graphs = list(_graphs(model))
    for graph in graphs:
        names += [entry.name for entries in (graph.input, graph.output, graph.initializer) for entry in entries]
        names += [entry.values.name for entry in graph.sparse_initializer]
        for entry in (*graph.input, *graph.output):
            names += [dim.dim_param for dim in entry.type.tensor_type.shape.dim]
    for function in model.functions:
        names += [function.domain, function.name, function.overload, *function.input, *function.output]
        names += [*function.attribute, *(entry.domain for entry in function.opset_import)]
        names += [attribute.name for attribute in function.attribute_proto]
    for nodes in (*(graph.node for graph in graphs), *(function.node for function in model.functions)):
        for node in nodes:
            names += [node.op_type, node.domain, node.overload, node.name, *node.input, *node.output]
            names += [name for attribute in node.attribute for name in (attribute.name, attribute.ref_attr_name)]
    if not all(isinstance(name, str) for name in names):
        raise InvalidModelError("a name is not valid UTF-8")


def _graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The model's graph, and the bodies in it and in its functions."""
    yield model.graph
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        yield from (graph for graph, _ in bodies_within(nodes))


def _outside(tensors: Iterable[tuple[str, TensorProto]]) -> Iterator[Unsupported]:
    """Tensors whose data is stored in files outside of the model, which are unsupported."""
    for name, weight in tensors:
        if weight.data_location == TensorProto.EXTERNAL:
            yield Unsupported(name, "its data is in another file: load the model with `onnx.load`, which reads it")


def _tensors(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    for weight in model.graph.initializer:
        yield weight.name, weight
    yield from _tensors_in(model.graph.node)
    for function in model.functions:
        yield from _tensors_in(function.node)
        # The defaults of a function's attributes replace those that its caller omits.
        yield from _attributes(function.name, function.attribute_proto)


def _tensors_in(nodes: Sequence[NodeProto]) -> Iterator[tuple[str, TensorProto]]:
    bodies = [graph for graph, _ in bodies_within(nodes)]
    for some in (nodes, *(graph.node for graph in bodies)):
        for node in some:
            yield from _attributes(node.name or node.op_type, node.attribute)
    for graph in bodies:
        yield from ((weight.name, weight) for weight in graph.initializer)


def _attributes(owner: str, attributes: Iterable[AttributeProto]) -> Iterator[tuple[str, TensorProto]]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield owner, attribute.t
        for tensor_of_list in attribute.tensors:
            yield owner, tensor_of_list


def _check(model: ModelProto) -> None:
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise InvalidModelError(str(error)) from None


def _program(
    inputs: Sequence[Input], constants: Mapping[str, np.ndarray], lowering: Lowering, outputs: Sequence[str]
) -> Program:
    for name in outputs:
        if name not in lowering.types:
            raise InvalidModelError(f"nothing defines the output `{name}`")
    return program(inputs, constants, lowering.nodes, outputs, lowering.types)
