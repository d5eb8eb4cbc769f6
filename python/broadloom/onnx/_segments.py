"""A program without bodies, with the plans that were made for its runs; and the cut of a program with bodies into such
parts. A body is also cut at slices whose bounds differ between iterations, so that one plan serves all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from broadloom._bounded import Bounded
from broadloom.onnx._graph import Input, Node, Program
from broadloom.onnx._plan import Options, Plan, Tracer, ValuesNeeded
from broadloom.onnx._table import SELECTION

#: The maximum size, in bytes, of arguments whose values decide a shape and which are therefore part of a plan's cache
#: key. With larger arguments, a plan is used for one run only.
MAX_KNOWN_BYTES = 1 << 16


class Segment:
    """A program without bodies. Kernels are compiled by the first run for each set of shapes, and used by all later
    ones. Runs may be concurrent."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program = program
        self.plans: Bounded[tuple[Any, ...], Plan] = Bounded()
        #: The inputs whose values decide a shape.
        self.known: frozenset[str] = frozenset()
        self._names = tuple(entry.name for entry in program.inputs)
        self._options = options

    def run(self, values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs of the program, which are arrays of their own. `values` may have names of no input."""
        return self._plan_for(values).run(values)

    def _plan_for(self, values: Mapping[str, np.ndarray]) -> Plan:
        shapes = tuple(values[name].shape if name in values else None for name in self._names)
        for _ in range(len(self._names) + 1):
            known = {name: values[name] for name in self.known if name in values}
            if sum(array.nbytes for array in known.values()) > MAX_KNOWN_BYTES:
                break
            key = (shapes, tuple((name, array.tobytes()) for name, array in sorted(known.items())))
            plan = self.plans.get(key)
            if plan is not None:
                return plan
            known = {name: array.copy() for name, array in known.items()}
            try:
                plan = self._plan(shapes, known)
            except ValuesNeeded as needed:
                self.known |= needed.names
                continue
            self.plans[key] = plan
            return plan
        return self._plan(shapes, {name: values[name] for name in self._names if name in values})

    def _plan(self, shapes: Sequence[tuple[int, ...] | None], known: Mapping[str, np.ndarray]) -> Plan:
        given = {name: shape for name, shape in zip(self._names, shapes, strict=True) if shape is not None}
        return Tracer(self.program, given, known, self._options).plan()


@dataclass(frozen=True)
class Stage:
    """A program without bodies, and the operators that the backend runs after it: those with bodies, and slices."""

    program: Program
    controls: tuple[Node, ...]


def _cuts(program: Program, is_body: bool) -> set[int]:
    """The positions of the operators that the backend runs: those with bodies, those whose results have a shape that depends on
    values, and slices in a body whose bounds depend on the values that the body is given."""
    varying = {entry.name for entry in (*program.inputs, *program.captured)} if is_body else set()
    found = set()
    for position, node in enumerate(program.nodes):
        if (
            node.bodies
            or node.operator in SELECTION
            or (node.operator == "Slice" and not varying.isdisjoint(node.inputs[1:]))
        ):
            found.add(position)
        if node.operator not in ("Shape", "Size") and not varying.isdisjoint(node.reads):
            varying.update(filter(None, node.outputs))
    return found


def stages(program: Program, is_body: bool) -> list[Stage]:
    """The stages of a program. An operator is in the first stage that all its values are known in, so that operators
    with no cut between them are compiled together."""
    cuts = _cuts(program, is_body)
    levels: dict[str, int] = {}
    nodes: list[list[Node]] = [[]]
    controls: list[list[Node]] = [[]]
    arguments = {entry.name: entry for entry in (*program.inputs, *program.captured)}
    makers: dict[str, tuple[Node, int]] = {}
    for position, node in enumerate(program.nodes):
        is_cut = position in cuts
        level = max((levels.get(name, 0) for name in node.reads), default=0)
        (controls if is_cut else nodes)[level].append(node)
        for number, name in enumerate(node.outputs):
            if name:
                levels[name] = level + is_cut
                makers[name] = node, number
        if is_cut and level + 1 == len(nodes):
            nodes.append([])
            controls.append([])
    # The values that a later stage or a cut reads, or that are outputs.
    wanted = {name for some in controls for node in some for name in node.reads} | set(program.outputs)
    for level, some in enumerate(nodes):
        wanted.update(name for node in some for name in node.reads if levels.get(name, 0) < level)
    found = []
    for level, some in enumerate(nodes):
        made = dict.fromkeys(name for node in some for name in node.outputs if name)
        ordered = dict.fromkeys((*program.outputs, *made))
        # The first stage copies outputs that are arguments or constants.
        outputs = [name for name in ordered if name in wanted and (name in made or level == 0 and name not in levels)]
        read = dict.fromkeys(name for node in some for name in node.reads if name not in made)
        read.update(dict.fromkeys(name for name in outputs if name not in made))
        inputs = [arguments[name] for name in read if name in arguments]
        inputs += [
            Input(name, node.result_dtype(number)) for name in read if name in makers for node, number in [makers[name]]
        ]
        constants = {name: program.constants[name] for name in read if name in program.constants}
        found.append(Stage(Program(tuple(inputs), constants, tuple(some), tuple(outputs)), tuple(controls[level])))
    return found
