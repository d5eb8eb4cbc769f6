"""Makes operators of the table from a model's nodes, with the type of every value known.

Functions are expanded where they are called: those of the model, and those that ONNX ships as the body of an operator
that has no row. A value has to be defined once, and before it is read: this is checked, as are types and dtypes. All
that is not supported is collected, and nothing is computed. There is no recursion: nodes that are waiting are in a
stack. All expansions of a function share the values of its attributes, so that a large attribute is in memory once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnx import FunctionProto, NodeProto, defs

from broadloom import LimitError
from broadloom.onnx import _calls
from broadloom.onnx._attributes import Attributes, Values, by_name, resolved, with_attributes
from broadloom.onnx._calls import domain_of, functions_by_key, key_of, name_of
from broadloom.onnx._errors import InvalidModelError, Unsupported
from broadloom.onnx._row import Node
from broadloom.onnx._schemas import schema_of
from broadloom.onnx._table import TABLE
from broadloom.onnx._types import DTYPES

Opsets = Mapping[str, int]


@dataclass
class Scope:
    """The surroundings of a node: the opsets of its graph or function, the names that the function's values have in the
    program, and the callers."""

    opsets: Opsets
    names: dict[str, str] | None = None
    attributes: Attributes = field(default_factory=dict)
    prefix: str = ""
    #: The name of the outermost of the functions that are being expanded, and the name of the node of the graph that
    #: calls it.
    within: str = ""
    node: str = ""
    #: Whether the node is in a body that ONNX ships: its nodes are ONNX's own operators, and never calls of the model's
    #: functions.
    is_shipped: bool = False

    def value(self, name: str) -> str:
        """The name of a value in the program."""
        if not name or self.names is None:
            return name
        # The name of an input that the caller leaves out is "", and stays "".
        return self.names.setdefault(name, f"{self.prefix}{name}")


class Lowering:
    """A program in the making: `nodes` in order, `types` of all values, and `findings`."""

    def __init__(self, types: Mapping[str, str], functions: Iterable[FunctionProto] = ()) -> None:
        """A lowering that starts with these values, for a model with these functions."""
        self.nodes: list[Node] = []
        self.types: dict[str, str | None] = dict(types)
        self.findings: list[Unsupported] = []
        self._functions = functions_by_key(functions)
        self._values = Values()
        self._expanded = 0
        self._stack: list[tuple[NodeProto, Scope]] = []
        self._seen = 0

    def run(self, nodes: Sequence[NodeProto], opsets: Opsets) -> None:
        """Lowers the nodes of a graph.

        Raises InvalidModelError, and LimitError for too many nodes, which are counted before any function is expanded.
        """
        _calls.check_growth(nodes, self._functions)
        top = Scope(dict(opsets))
        self._stack = [(node, top) for node in reversed(nodes)]
        while self._stack:
            # The nodes of bodies that ONNX ships are counted when they are expanded.
            self._seen += 1
            if self._seen > _calls.MAX_NODES:
                raise LimitError(
                    f"the model has more than {_calls.MAX_NODES} operators once its functions are expanded"
                )
            self._take(*self._stack.pop())

    def _take(self, proto: NodeProto, scope: Scope) -> None:
        attributes = resolved(proto, scope.attributes)
        inputs = [scope.value(name) for name in proto.input]
        outputs = [scope.value(name) for name in proto.output]
        place = scope.node if scope.within else proto.name
        for name in inputs:
            if name and name not in self.types:
                raise InvalidModelError(
                    f"{proto.op_type} (node `{place}`): nothing before it defines its input `{name}`: it is missing, or part of a cycle"
                )
        for name in outputs:
            if name and name in self.types:
                raise InvalidModelError(f"{proto.op_type} (node `{place}`): `{name}` is defined twice")
        types = [self.types[name] if name else None for name in inputs]
        key = key_of(proto)
        function = None if scope.is_shipped else self._functions.get(key)
        if function is not None:
            self._expand(function, proto, scope, name_of(key), attributes)
            return
        self._operator(proto, scope, attributes, inputs, outputs, types)

    def _find(self, proto: NodeProto, scope: Scope, reason: str, version: int | None, outputs: Sequence[str]) -> None:
        place = scope.node if scope.within else proto.name
        self.findings.append(Unsupported(proto.op_type, reason, domain_of(proto), version, place, scope.within))
        for name in outputs:
            if name:
                self.types.setdefault(name, None)

    def _operator(
        self,
        proto: NodeProto,
        scope: Scope,
        attributes: Attributes,
        inputs: list[str],
        outputs: list[str],
        types: list[str | None],
    ) -> None:
        domain = domain_of(proto)
        if domain not in scope.opsets:
            raise InvalidModelError(f"{proto.op_type} (node `{proto.name}`): the model imports no opset of `{domain}`")
        opset = scope.opsets[domain]
        schema = schema_of(proto.op_type, opset, domain)
        if schema is None:
            self._find(proto, scope, "there is no such operator, and no function of this name", opset, outputs)
            return
        version = schema.version
        if schema.is_deprecated:
            self._find(proto, scope, f"opset {opset} has it no more", version, outputs)
            return
        row = TABLE.get(proto.op_type) if domain == "" else None
        if row is None:
            body = schema.body(with_attributes(proto, attributes), opset, types)
            if body is None:
                self._find(proto, scope, "the operator is not supported", version, outputs)
            else:
                self._expand(body, proto, scope, proto.op_type, attributes, schema.defaults())
            return
        node = Node(
            proto.op_type,
            proto.name if not scope.within else scope.node,
            version,
            schema.attributes_of(proto, attributes, self._values),
            tuple(inputs),
            tuple(outputs),
            within=scope.within,
            domain=domain,
        )
        refusal = row.refuses(node) if row.refuses is not None else None
        if refusal is not None:
            self._find(proto, scope, refusal, version, outputs)
            return
        bound = schema.bound(node, types)
        made = schema.results(node, bound, row.gives(node, types) if row.gives is not None else ())
        for name, kind in zip(outputs, made, strict=True):
            if name:
                self.types[name] = kind
        foreign = sorted({kind for kind in (*types, *made) if kind is not None and kind not in DTYPES})
        if foreign:
            self._find(proto, scope, f"the type {', '.join(foreign)} is not supported", version, ())
        self.nodes.append(replace(node, types=tuple(made)))

    def _expand(
        self,
        function: FunctionProto,
        proto: NodeProto,
        scope: Scope,
        name: str,
        attributes: Attributes,
        defaults: Attributes | None = None,
    ) -> None:
        """Replaces a call by the nodes of the called function. `attributes` are those of the call, and `defaults` those
        of the operator's schema if ONNX ships the body."""
        if len(proto.input) > len(function.input) or len(proto.output) > len(function.output):
            raise InvalidModelError(
                f"{name} (node `{proto.name}`): {len(proto.input)} inputs, {len(proto.output)} outputs"
            )
        self._expanded += 1
        names = {formal: "" for formal in function.input}
        names |= {formal: scope.value(actual) for formal, actual in zip(function.input, proto.input)}
        inputs = set(function.input)
        for formal, actual in zip(function.output, proto.output):
            if actual and formal not in inputs:
                names[formal] = scope.value(actual)
        given = {**(defaults or {}), **by_name(function.attribute_proto), **attributes}
        opsets = {opset.domain if opset.domain != "ai.onnx" else "": opset.version for opset in function.opset_import}
        if defaults is not None:
            # A body that ONNX ships may not say for which opset it is written.
            opsets.setdefault("", scope.opsets.get("", defs.onnx_opset_version()))
        inner = Scope(
            opsets,
            names,
            given,
            f"{name}#{self._expanded}/",
            scope.within or name,
            scope.node if scope.within else proto.name,
            defaults is not None,
        )
        # A result that is one of the function's inputs becomes a copy of it.
        for formal, actual in zip(function.output, proto.output):
            if actual and formal in inputs:
                copy = NodeProto(op_type="Identity", input=[formal], output=[f"#{formal}"])
                inner.names = inner.names or {}
                inner.names[f"#{formal}"] = scope.value(actual)
                self._stack.append((copy, inner))
        self._stack.extend((node, inner) for node in reversed(function.node))
