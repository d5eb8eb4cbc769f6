"""The scopes of values while a model is lowered: those of graphs, of functions, and of bodies in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from broadloom.onnx._attributes import Attributes
from broadloom.onnx._graph import Node

Opsets = Mapping[str, int]


@dataclass
class Scope:
    """The context of a node: the opsets of its graph or function, the program's names of values, the callers, and the
    list to which lowered nodes are appended."""

    opsets: Opsets
    names: dict[str, str] | None = None
    attributes: Attributes = field(default_factory=dict)
    prefix: str = ""
    #: The outermost function that is being expanded, and the node of the graph that calls it.
    within: str = ""
    node: str = ""
    #: Whether this is the body of an ONNX operator as shipped with ONNX. Its nodes are ONNX's own operators, and can't
    #: call functions of the model.
    is_shipped: bool = False
    nodes: list[Node] = field(default_factory=list)
    #: The surrounding scope, whose values the body of an `If`, `Loop` or `Scan` may read. A function reads no values of
    #: its callers.
    outer: Scope | None = None
    #: The place in bodies.
    path: str = ""

    def value(self, name: str) -> str:
        """The program's name of a value that a node reads."""
        scope = self
        while scope.outer is not None:
            if scope.names is not None and name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return scope.define(name)

    def define(self, name: str) -> str:
        """The program's name of a value that a node defines. It hides a value with this name in surrounding scopes."""
        if not name or self.names is None:
            return name
        # An input that the caller of a function leaves out has the name "", which is kept.
        return self.names.setdefault(name, f"{self.prefix}{name}")
