"""ONNX's operator schemas, read once per version, since each access to the original schema is slow due to conversions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from broadloom.onnx._attributes import Attributes, Values, value_of
from broadloom.onnx._errors import InvalidModelError
from broadloom.onnx._graph import Node
from broadloom.onnx._types import DTYPES, UNDEFINED, element_of


@dataclass(frozen=True)
class Formal:
    """An input or output in a schema, with its type or type parameter. The last one may be variadic."""

    name: str
    type: str
    is_required: bool
    is_homogeneous: bool


@dataclass(frozen=True)
class FormalAttribute:
    """An attribute of a schema: the number and name of its type, and its default."""

    kind: int
    kind_name: str
    is_required: bool
    default: AttributeProto | None
    value: Any


@dataclass(frozen=True)
class Schema:
    """A version of an operator."""

    operator: str
    version: int
    is_deprecated: bool
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    counts: tuple[int, int, int]
    allowed: Mapping[str, frozenset[str]]
    attributes: Mapping[str, FormalAttribute]
    source: Any

    def defaults(self) -> dict[str, AttributeProto]:
        """The defaults of attributes, to which the operator's function body may refer."""
        return {name: formal.default for name, formal in self.attributes.items() if formal.default is not None}

    def attributes_of(self, node: NodeProto, attributes: Attributes, values: Values) -> dict[str, Any]:
        """The values of a node's attributes, and the defaults of the others.

        Raises InvalidModelError if an attribute has another type than in the schema, or a required one is missing.
        """
        found = {name: formal.value for name, formal in self.attributes.items() if formal.default is not None}
        for name, attribute in attributes.items():
            wanted = self.attributes.get(name)
            if wanted is not None and wanted.kind != attribute.type:
                raise InvalidModelError(
                    f"{node.op_type} (node `{node.name}`): the attribute `{name}` is not of the type {wanted.kind_name}"
                )
            found[name] = values.of(attribute)
        for name, formal in self.attributes.items():
            if formal.is_required and name not in found:
                raise InvalidModelError(f"{node.op_type} (node `{node.name}`): the attribute `{name}` is missing")
        return found

    def bound(self, node: Node, types: Sequence[str | None]) -> dict[str, str]:
        """The types bound to the type parameters, from the inputs of a node.

        Raises InvalidModelError for a supported type that the operator doesn't accept, and for inconsistent types.
        """
        least, most, outputs = self.counts
        if not least <= len(types) <= most or len(node.outputs) > outputs:
            raise InvalidModelError(f"{node}: {len(types)} inputs, {len(node.outputs)} outputs")
        bound: dict[str, str] = {}
        for number, kind in enumerate(types):
            formal = self.inputs[min(number, len(self.inputs) - 1)]
            if not node.inputs[number]:
                if formal.is_required:
                    raise InvalidModelError(f"{node}: the input `{formal.name}` is missing")
                continue
            if kind is None or kind == UNDEFINED:
                continue
            parameter = formal.type
            if kind in DTYPES and kind not in self.allowed.get(parameter, (parameter,)):
                raise InvalidModelError(f"{node}: version {self.version} takes no {kind} as `{formal.name}`")
            if parameter in self.allowed and formal.is_homogeneous and bound.setdefault(parameter, kind) != kind:
                raise InvalidModelError(f"{node}: {bound[parameter]} and {kind} are not of one type, cast one of them")
        return bound

    def results(self, node: Node, bound: Mapping[str, str], given: Sequence[str | None]) -> list[str | None]:
        """The types of a node's outputs: the given ones, or else those bound to the type parameters, or the only ones that
        these allow."""
        made: list[str | None] = list(given[: len(node.outputs)])
        for number in range(len(made), len(node.outputs)):
            kind = self.outputs[min(number, len(self.outputs) - 1)].type
            if kind not in self.allowed:
                made.append(kind)
            elif kind in bound or len(self.allowed[kind]) > 1:
                made.append(bound.get(kind))
            else:
                made += self.allowed[kind]
        return made

    def body(self, node: NodeProto, opset: int, types: Sequence[str | None]) -> FunctionProto | None:
        """The function body that ONNX ships for the operator, if there is one for this opset and these types."""
        plain = list(self.source.function_opset_versions)
        dependent = list(self.source.context_dependent_function_opset_versions)
        # If there is no body for the opset, a body for a newer opset is used.
        plain = [version for version in plain if version <= opset] or plain[:1]
        dependent = [version for version in dependent if version <= opset] or dependent[:1]
        function = FunctionProto()
        try:
            if plain:
                function.ParseFromString(self.source.get_function_with_opset_version(max(plain)))
            elif dependent:
                function.ParseFromString(
                    self.source.get_context_dependent_function_with_opset_version(
                        max(dependent), node.SerializeToString(), [_type_proto(kind) for kind in types]
                    )
                )
        except (RuntimeError, ValueError, defs.SchemaError):
            return None
        return function if function.node else None


@lru_cache(maxsize=4096)
def schema_of(operator: str, opset: int, domain: str) -> Schema | None:
    """The schema of an operator in an opset; None if it does not exist."""
    try:
        # onnx's type stubs lack some attributes of a schema.
        found: Any = defs.get_schema(operator, max(1, min(opset, 2**31 - 1)), domain)
    except defs.SchemaError:
        return None
    attributes = {}
    for name, formal in found.attributes.items():
        default = formal.default_value if formal.default_value.name else None
        value = None if default is None else value_of(default)
        attributes[name] = FormalAttribute(int(formal.type), formal.type.name, formal.required, default, value)
    return Schema(
        operator,
        found.since_version,
        found.deprecated,
        tuple(map(_formal, found.inputs)),
        tuple(map(_formal, found.outputs)),
        (found.min_input, found.max_input, found.max_output),
        {x.type_param_str: frozenset(x.allowed_type_strs) for x in found.type_constraints},
        attributes,
        found,
    )


def _formal(formal: Any) -> Formal:
    is_required = formal.option == defs.OpSchema.FormalParameterOption.Single
    return Formal(formal.name, formal.type_str, is_required, formal.is_homogeneous)


def _type_proto(kind: str | None) -> bytes:
    """A type as a serialised message, for function bodies that depend on types."""
    proto = TypeProto()
    if kind is not None:
        proto.tensor_type.elem_type = element_of(kind)
    serialised: bytes = proto.SerializeToString()
    return serialised
