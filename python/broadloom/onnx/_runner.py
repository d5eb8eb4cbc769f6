"""Runs a program in parts: its segments, whose plans are kept, and between them the operators with bodies, those whose results have a
shape that depends on values, and slices whose bounds differ between iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from broadloom.onnx._control import Run, Values
from broadloom.onnx._errors import printable
from broadloom.onnx._graph import Node, Program
from broadloom.onnx._plan import Options
from broadloom.onnx._row import Reading
from broadloom.onnx._segments import Segment, stages
from broadloom.onnx._shapes import sliced
from broadloom.onnx._table import CONTROL, SELECTION


@dataclass(frozen=True)
class _Step:
    """An operator that the backend runs, and the constants that it reads."""

    node: Node
    constants: Mapping[str, np.ndarray]
    bodies: list[Runner]


class Runner:
    """A program that is ready to run. Its bodies are runners too, so that plans of a body are made once for all its
    iterations."""

    def __init__(self, program: Program, options: Options, around: Mapping[str, np.ndarray] | None = None) -> None:
        """A program that runs with these options of `broadloom.evaluate`. `around` are the constants around a body, which
        it may capture."""
        constants = {entry.name: around[entry.name] for entry in program.captured if around and entry.name in around}
        captured = tuple(entry for entry in program.captured if entry.name not in constants)
        constants |= program.constants
        self.program = replace(program, constants=constants, captured=captured)
        # An argument replaces the constant that is the default of an input.
        known = {name: x for name, x in constants.items() if name not in {entry.name for entry in program.inputs}}
        self._stages: list[tuple[Segment, list[_Step]]] = []
        for stage in stages(self.program, around is not None):
            controls = [
                _Step(
                    node,
                    {name: constants[name] for name in node.reads if name in constants},
                    [Runner(body, options, known) for body in node.bodies],
                )
                for node in stage.controls
            ]
            self._stages.append((Segment(stage.program, options), controls))

        outputs = self.program.outputs
        #: Whether there is one segment, which gives the outputs in their order.
        self._is_plain = len(self._stages) == 1 and self._stages[0][0].program.outputs == outputs
        cuts = [step.node for _, controls in self._stages for step in controls]
        #: The results that are views of other arrays.
        self._views = frozenset(node.outputs[0] for node in cuts if node.operator == "Slice")

    @property
    def segments(self) -> list[Segment]:
        """The segments of the program, without those of its bodies."""
        return [segment for segment, _ in self._stages]

    @property
    def bodies(self) -> list[Runner]:
        """The bodies of the program's own operators."""
        return [body for _, controls in self._stages for step in controls for body in step.bodies]

    def run(self, values: Values, run: Run) -> list[np.ndarray]:
        """The outputs of the program, which are arrays of their own."""
        if self._is_plain:
            # PERF: most models have no body.
            return self._stages[0][0].run(values)
        found = dict(values)
        for segment, controls in self._stages:
            if segment.program.outputs:
                found.update(zip(segment.program.outputs, segment.run(found), strict=True))
            for step in controls:
                node, values = step.node, {**step.constants, **found}
                if node.bodies:
                    results = CONTROL[node.operator].run(node, step.bodies, values, run)
                elif node.operator in SELECTION:
                    results = SELECTION[node.operator].run(node, values, run)
                else:
                    results = [_sliced(node, values)]
                found.update({name: x for name, x in zip(node.outputs, results, strict=True) if name})
        shared = set(self._views)
        made = []
        for name in self.program.outputs:
            made.append(run.copied(found[name]) if name in shared else found[name])
            shared.add(name)
        return made


class _Known:
    """The values of one run, for an operator whose bounds are read from them."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def read(self, name: str, most: int) -> np.ndarray:
        size = self._values[name].size
        if size > most:
            raise ValueError(f"`{name}` has {size} elements, and decides a shape; there can be {most}")
        return self._values[name]


def _sliced(node: Node, values: Values) -> np.ndarray:
    try:
        return sliced(Reading(node, _Known(values)), values[node.inputs[0]])
    except ValueError as error:
        raise ValueError(printable(f"{node}: {error}")) from None
