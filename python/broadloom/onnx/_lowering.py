"""Lowers a model's nodes to operators of the table, and determines the type of every value.

Calls of functions are expanded: functions of the model, and the bodies that ONNX ships for operators without a row in
the table. Nodes must be in order, so that every value is defined once and before it is read. This is checked, and so
are types. All unsupported operators and types are collected, and nothing is computed. There is no recursion: pending
nodes are on a stack. All expansions of a function share the values of its attributes, so that a large attribute is in
memory once. A body of `If`, `Loop` or `Scan` is lowered in a scope of its own, to nodes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import AttributeProto, FunctionProto, NodeProto, defs

from broadloom import LimitError
from broadloom.onnx import _bodies, _calls, _gradients
from broadloom.onnx._attributes import Attributes, Values, by_name, resolved, value_of, with_attributes
from broadloom.onnx._calls import domain_of, functions_by_key, key_of, name_of
from broadloom.onnx._errors import InvalidModelError, Unsupported
from broadloom.onnx._graph import Node
from broadloom.onnx._schemas import Schema, schema_of
from broadloom.onnx._scopes import Opsets, Scope
from broadloom.onnx._table import CONTROL, SELECTION, TABLE
from broadloom.onnx._types import DTYPES


@dataclass(frozen=True)
class Site:
    """A node that is being lowered: its message and scope, its attributes, its values by the program's names, and the types
    of its inputs."""

    proto: NodeProto
    scope: Scope
    attributes: Attributes
    inputs: list[str]
    outputs: list[str]
    types: list[str | None]

    @property
    def node(self) -> str:
        """The name of the graph's node: the node itself, or the one whose function is being expanded."""
        return self.scope.node if self.scope.within else self.proto.name


class Lowering:
    """A program under construction: `nodes` in order, the `types` of all values, and `findings`."""

    def __init__(self, types: Mapping[str, str], functions: Iterable[FunctionProto] = ()) -> None:
        self.nodes: list[Node] = []
        self.types: dict[str, str | None] = dict(types)
        self.findings: list[Unsupported] = []
        self._functions = functions_by_key(functions)
        self._values = Values(value_of)
        self._expanded = 0
        self._weights = Values(_bodies.values_of)
        #: Nodes to be lowered, and operators that are complete once the nodes of their bodies are lowered.
        self._stack: list[tuple[NodeProto, Scope] | _bodies.Open] = []
        self._seen = 0

    def run(self, nodes: Sequence[NodeProto], opsets: Opsets) -> None:
        """Lowers the nodes of a graph.

        Raises InvalidModelError, or LimitError for too many nodes, which are counted before any function is expanded.
        """
        _calls.check_growth(nodes, self._functions)
        top = Scope(dict(opsets), nodes=self.nodes)
        self._stack = [(node, top) for node in reversed(nodes)]
        while self._stack:
            entry = self._stack.pop()
            if isinstance(entry, _bodies.Open):
                self._add(_bodies.closed(entry, self.types), entry.scope)
                continue
            # The nodes in bodies shipped with ONNX are counted when these are expanded.
            self._count(1)
            self._take(*entry)

    def _count(self, nodes: int) -> None:
        self._seen += nodes
        if self._seen > _calls.MAX_NODES:
            raise LimitError(f"the model has more than {_calls.MAX_NODES} operators once its functions are expanded")

    def _take(self, proto: NodeProto, scope: Scope) -> None:
        attributes = resolved(proto, scope.attributes)
        inputs = [scope.value(name) for name in proto.input]
        outputs = [scope.define(name) for name in proto.output]
        types = [self.types.get(name) if name else None for name in inputs]
        site = Site(proto, scope, attributes, inputs, outputs, types)
        for name in inputs:
            if name and name not in self.types:
                raise InvalidModelError(
                    f"{proto.op_type} (node `{site.node}`): nothing before it defines its input `{name}`: it is missing, or part of a cycle"
                )
        for name in outputs:
            if name and name in self.types:
                raise InvalidModelError(f"{proto.op_type} (node `{site.node}`): `{name}` is defined twice")
        key = key_of(proto)
        function = None if scope.is_shipped else self._functions.get(key)
        if function is not None:
            self._expand(function, site, name_of(key))
        else:
            self._operator(site)

    def _find(self, site: Site, reason: str, version: int | None, is_skipped: bool = True) -> None:
        """Adds a finding. The results of a node that is skipped have no type."""
        proto, scope = site.proto, site.scope
        found = Unsupported(proto.op_type, reason, domain_of(proto), version, site.node, scope.within, scope.path)
        self.findings.append(found)
        for name in site.outputs if is_skipped else ():
            if name:
                self.types.setdefault(name, None)

    def _operator(self, site: Site) -> None:
        proto, scope, types, domain = site.proto, site.scope, site.types, domain_of(site.proto)
        if domain not in scope.opsets:
            raise InvalidModelError(f"{proto.op_type} (node `{proto.name}`): the model imports no opset of `{domain}`")
        opset = scope.opsets[domain]
        schema = schema_of(proto.op_type, opset, domain)
        if schema is None:
            self._find(site, "there is no such operator, and no function of this name", opset)
            return
        version = schema.version
        if schema.is_deprecated:
            self._find(site, f"opset {opset} has it no more", version)
            return
        if domain == "" and proto.op_type in CONTROL:
            self._open(site, schema)
            return
        row = TABLE.get(proto.op_type)
        if row is not None and row.domain != domain:
            row = None
        if row is None and not (domain == "" and proto.op_type in SELECTION):
            body = schema.body(with_attributes(proto, site.attributes), opset, types)
            if body is None:
                self._find(site, "the operator is not supported", version)
            else:
                self._expand(body, site, proto.op_type, schema.defaults())
            return
        if row is not None and domain == _gradients.DOMAIN:
            self._gradient(site, schema)
            return
        node = self._node(site, schema)
        refusal = row.refuses(node) if row is not None and row.refuses is not None else None
        if refusal is not None:
            self._find(site, refusal, version)
            return
        bound = schema.bound(node, types)
        made = schema.results(node, bound, row.gives(node, types) if row is not None and row.gives is not None else ())
        self._check_types(site, version, [*types, *made])
        self._add(replace(node, types=tuple(made)), scope)

    def _node(self, site: Site, schema: Schema) -> Node:
        return Node(
            site.proto.op_type,
            site.node,
            schema.version,
            schema.attributes_of(site.proto, site.attributes, self._values),
            tuple(site.inputs),
            tuple(site.outputs),
            within=site.scope.within,
            domain=domain_of(site.proto),
            path=site.scope.path,
        )

    def _check_types(self, site: Site, version: int, types: Sequence[str | None]) -> None:
        foreign = sorted({kind for kind in types if kind is not None and kind not in DTYPES})
        if foreign:
            self._find(site, f"the type {', '.join(foreign)} is not supported", version, is_skipped=False)

    def _add(self, node: Node, scope: Scope) -> None:
        """Adds a node to the program or body that is being lowered, and defines its results."""
        for name, kind in zip(node.outputs, node.types, strict=True):
            if name:
                self.types[name] = kind
        scope.nodes.append(node)

    def _open(self, site: Site, schema: Schema) -> None:
        """Puts the nodes of an operator's bodies on the stack, above the operator itself."""
        if any(entry.ref_attr_name and entry.type == AttributeProto.GRAPH for entry in site.proto.attribute):
            self._find(site, "its body is an attribute of a function, which is not supported", schema.version)
            return
        node = self._node(site, schema)
        schema.bound(node, site.types)
        self._check_types(site, schema.version, site.types)
        one = _bodies.opened(node, site.scope, site.types)
        self._stack.append(one)
        for name, graph in _bodies.graphs_of(node).items():
            self._expanded += 1
            self.findings += _bodies.enter(one, name, graph, self._expanded, self.types, self._weights)
        for body in reversed(one.bodies):
            self._stack.extend((within, body.scope) for within in reversed(body.graph.node))

    def _gradient(self, site: Site, schema: Schema) -> None:
        """Adds a gradient, with the operators between the tensors that it names."""
        node = self._node(site, schema)
        schema.bound(node, site.types)
        count = len(node.attributes["xs"])
        named = [*node.attributes["xs"], *node.attributes.get("zs", ()), node.attributes["y"]]
        names = [site.scope.value(name) for name in named]
        for name, own in zip(named, names, strict=True):
            if own not in self.types:
                raise InvalidModelError(f"{node}: nothing before it defines `{name}`, which it names")
        if len(site.inputs) != len(names) - 1 or len(node.outputs) > count or not all(site.inputs):
            raise InvalidModelError(f"{node}: {len(site.inputs)} inputs for {len(names) - 1} tensors")
        self._check_types(site, schema.version, [*site.types, *(self.types[name] for name in names)])
        if any(self.types[name] not in DTYPES for name in names):
            return
        self._expanded += 1
        prefix = f"{node.operator}#{self._expanded}/"
        part = _gradients.part(names[:-1], names[-1], site.scope.nodes, self.types, prefix)
        self._count(_gradients.extent(part.nodes)[0])
        for barrier in part.nodes:
            if barrier.bodies or barrier.operator in SELECTION or barrier.operator in _gradients.BARRIERS:
                self._find(site, f"there is no gradient through {barrier.operator}", schema.version)
                return
        inputs = (*node.inputs, *(entry.name for entry in part.captured))
        attributes = {**node.attributes, "part": part}
        made = tuple(site.types[: len(node.outputs)])
        self._add(replace(node, inputs=inputs, attributes=attributes, types=made), site.scope)

    def _expand(self, function: FunctionProto, site: Site, name: str, defaults: Attributes | None = None) -> None:
        """Replaces a call of a function by the function's nodes. `defaults` are the defaults of an operator's attributes,
        for a body shipped with ONNX."""
        proto, scope = site.proto, site.scope
        if len(proto.input) > len(function.input) or len(proto.output) > len(function.output):
            raise InvalidModelError(
                f"{name} (node `{proto.name}`): {len(proto.input)} inputs, {len(proto.output)} outputs"
            )
        self._expanded += 1
        names = {formal: "" for formal in function.input}
        names |= dict(zip(function.input, site.inputs))
        formals = set(function.input)
        for formal, actual in zip(function.output, site.outputs):
            if actual and formal not in formals:
                names[formal] = actual
        given = {**(defaults or {}), **by_name(function.attribute_proto), **site.attributes}
        opsets = {opset.domain if opset.domain != "ai.onnx" else "": opset.version for opset in function.opset_import}
        if defaults is not None:
            # A body shipped with ONNX may omit its opset.
            opsets.setdefault("", scope.opsets.get("", defs.onnx_opset_version()))
        inner = Scope(
            opsets,
            names,
            given,
            f"{name}#{self._expanded}/",
            scope.within or name,
            site.node,
            defaults is not None,
            nodes=scope.nodes,
            path=scope.path,
        )
        # A result that is directly an input becomes a copy of it.
        for formal, actual in zip(function.output, site.outputs):
            if actual and formal in formals:
                copy = NodeProto(op_type="Identity", input=[formal], output=[f"#{formal}"])
                inner.names = inner.names or {}
                inner.names[f"#{formal}"] = actual
                self._stack.append((copy, inner))
        self._stack.extend((node, inner) for node in reversed(function.node))
