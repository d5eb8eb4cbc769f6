"""Operators and programs after expansion of functions. The bodies of `If`, `Loop` and `Scan` are programs of their own,
which read values of the surrounding program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from broadloom.onnx._types import DTYPES, DType

#: The extents that a type declares: numbers, names, and None for undeclared ones. None for an unknown rank.
Extents = tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class Node:
    """An operator of a model after expansion of functions. Its values are identified by name; "" means an omitted one.

    `version` is the since-version of its schema, `attributes` includes the schema's defaults, and `types` are the types
    of the outputs. `within` is the function that contains it, and `path` is the place in bodies of other operators.
    """

    operator: str
    name: str
    version: int
    attributes: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[str | None, ...] = ()
    within: str = ""
    domain: str = ""
    path: str = ""
    bodies: tuple[Program, ...] = ()

    def __str__(self) -> str:
        shown = f"{self.operator} (node `{self.name}`)" if self.name else self.operator
        shown = f"{shown} of {self.within}" if self.within else shown
        return f"{shown} in {self.path}" if self.path else shown

    @property
    def reads(self) -> list[str]:
        """The names of all values that it reads, those that its bodies capture too."""
        captured = (entry.name for body in self.bodies for entry in body.captured)
        return [*filter(None, self.inputs), *captured]

    def result_dtype(self, number: int) -> DType:
        """The dtype of an output."""
        name = self.types[number]
        assert name is not None
        return DTYPES[name]


@dataclass(frozen=True)
class Input:
    """An input of a program: its dtype, its extents, and whether it is optional because an initializer provides a
    default."""

    name: str
    dtype: DType
    extents: Extents = None
    optional: bool = False


@dataclass(frozen=True)
class Program:
    """The operators to be run, with values identified by name. `nodes` contains only those that the outputs depend on.

    A body also has `captured`, the values of the surrounding program that it reads, and `declared`, the extents that
    the types of its outputs declare.
    """

    inputs: tuple[Input, ...]
    constants: Mapping[str, np.ndarray]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    captured: tuple[Input, ...] = ()
    declared: tuple[Extents, ...] = ()


def program(
    inputs: Sequence[Input],
    constants: Mapping[str, np.ndarray],
    nodes: Sequence[Node],
    outputs: Sequence[str],
    types: Mapping[str, str | None],
    declared: Iterable[Extents] = (),
) -> Program:
    """The program of the nodes that the outputs depend on. Values that it does not define are captured; `types` has
    their types."""
    needed = dict.fromkeys(outputs)
    kept: list[Node] = []
    for node in reversed(nodes):
        if not needed.keys().isdisjoint(filter(None, node.outputs)):
            kept.append(node)
            needed.update(dict.fromkeys(node.reads))
    own = {entry.name for entry in inputs} | constants.keys()
    own.update(name for node in kept for name in node.outputs)
    captured = []
    for name in needed:
        # A type that is not supported has been found where the value is defined, and the model is refused.
        kind = types[name]
        if name not in own and kind in DTYPES:
            captured.append(Input(name, DTYPES[kind]))
    used = {name: values for name, values in constants.items() if name in needed}
    return Program(tuple(inputs), used, tuple(reversed(kept)), tuple(outputs), tuple(captured), tuple(declared))
