"""A model that may run: its inputs, constants, operators in order, and outputs.

A program is made of a `ModelProto`, which ONNX's own checker and the lowering check, or of one node. All that can be
refused without knowing a value is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, defs, numpy_helper

from broadloom.onnx._errors import InvalidModelError, Unsupported, UnsupportedModelError
from broadloom.onnx._lowering import Lowering
from broadloom.onnx._row import Node
from broadloom.onnx._types import DTYPES, DType, extents_of, tensor, type_of


@dataclass(frozen=True)
class Input:
    """An input of a model: its dtype; its extents (numbers, names or None, or None in their place if the rank is open);
    and whether an initializer is its value if it is not given."""

    name: str
    dtype: DType
    extents: tuple[int | str | None, ...] | None = None
    optional: bool = False


@dataclass(frozen=True)
class Program:
    """A model that may run. Values are identified by names; `nodes` are those that the outputs need."""

    inputs: tuple[Input, ...]
    constants: Mapping[str, np.ndarray]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]


def of_model(model: ModelProto) -> Program:
    """The program of a model.

    Raises UnsupportedModelError, InvalidModelError, and LimitError for too many operators.
    """
    _check_names(model)
    opsets = _opsets(model)
    graph = model.graph
    findings = list(_outside(model))
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
    return _program(inputs, _weights(graph.initializer), lowering, [entry.name for entry in graph.output])


def of_node(node: NodeProto, types: Mapping[str, DType], opset: int) -> Program:
    """The program of one node, with inputs of these dtypes; errors as those of a model."""
    names = {name: next(kind for kind, dtype in DTYPES.items() if dtype == types[name]) for name in types}
    lowering = Lowering(names)
    lowering.run([node], {node.domain if node.domain != "ai.onnx" else "": opset})
    if lowering.findings:
        raise UnsupportedModelError(lowering.findings)
    inputs = [Input(name, dtype) for name, dtype in types.items()]
    return _program(inputs, {}, lowering, [name for name in node.output if name])


def _opsets(model: ModelProto) -> dict[str, int]:
    opsets: dict[str, int] = {}
    for entry in model.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise InvalidModelError(f"two opsets of `{domain or 'ai.onnx'}` are imported")
    if not opsets and model.ir_version < 3:
        # Before models had an opset there was only opset 1.
        opsets[""] = 1
    version = opsets.get("", 1)
    if version > defs.onnx_opset_version():
        newest = f"onnx {onnx.__version__} reads up to opset {defs.onnx_opset_version()}"
        raise UnsupportedModelError([Unsupported("opset", f"opset {version} is newer: {newest}")])
    if version < 1:
        raise InvalidModelError(f"there is no opset {version}")
    return opsets


def _check_names(model: ModelProto) -> None:
    """Raises an error for names that are not UTF-8: these come as bytes, which nothing after this has to expect."""
    graph = model.graph
    names: list[Any] = [entry.domain for entry in model.opset_import]
    names += [entry.name for entries in (graph.input, graph.output, graph.initializer) for entry in entries]
    names += [entry.values.name for entry in graph.sparse_initializer]
    for entry in graph.input:
        names += [dim.dim_param for dim in entry.type.tensor_type.shape.dim]
    for function in model.functions:
        names += [function.domain, function.name, function.overload, *function.input, *function.output]
        names += [*function.attribute, *(entry.domain for entry in function.opset_import)]
        names += [attribute.name for attribute in function.attribute_proto]
    for nodes in (graph.node, *(function.node for function in model.functions)):
        for node in nodes:
            names += [node.op_type, node.domain, node.overload, node.name, *node.input, *node.output]
            names += [name for attribute in node.attribute for name in (attribute.name, attribute.ref_attr_name)]
    if not all(isinstance(name, str) for name in names):
        raise InvalidModelError("a name is not valid UTF-8")


def _outside(model: ModelProto) -> Iterator[Unsupported]:
    """A finding for each tensor whose data is in a file beside the model."""
    for name, weight in _tensors(model):
        if weight.data_location == TensorProto.EXTERNAL:
            yield Unsupported(name, "its data is in another file: load the model with `onnx.load`, which reads it")


def _tensors(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    for weight in model.graph.initializer:
        yield weight.name, weight
    bodies: Iterable[Iterable[NodeProto]] = (model.graph.node, *(function.node for function in model.functions))
    owners = [(node.name or node.op_type, node.attribute) for nodes in bodies for node in nodes]
    # The defaults of a function's attributes take the place of attributes that a caller leaves out.
    owners += [(function.name, function.attribute_proto) for function in model.functions]
    for name, attributes in owners:
        for attribute in attributes:
            if attribute.HasField("t"):
                yield name, attribute.t
            for tensor_of_list in attribute.tensors:
                yield name, tensor_of_list


def _check(model: ModelProto) -> None:
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise InvalidModelError(str(error)) from None


def _weights(initializers: Iterable[TensorProto]) -> dict[str, np.ndarray]:
    constants = {}
    for weight in initializers:
        try:
            constants[weight.name] = numpy_helper.to_array(weight)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidModelError(f"the initializer `{weight.name}`: {error}") from None
    return constants


def _program(
    inputs: Sequence[Input], constants: Mapping[str, np.ndarray], lowering: Lowering, outputs: Sequence[str]
) -> Program:
    for name in outputs:
        if name not in lowering.types:
            raise InvalidModelError(f"nothing defines the output `{name}`")
    needed = set(outputs)
    kept = []
    for node in reversed(lowering.nodes):
        if needed.intersection(filter(None, node.outputs)):
            kept.append(node)
            needed.update(filter(None, node.inputs))
    used = {name: values for name, values in constants.items() if name in needed}
    return Program(tuple(inputs), used, tuple(reversed(kept)), tuple(outputs))
