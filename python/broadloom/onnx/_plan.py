"""Compiles a program, for arguments of given shapes, to kernels that later runs with the same shapes reuse.

Operators become expressions of the arguments, so that chains of operators are one fused loop. Values that are known
when a plan is built (constants, shapes, and values computed from them) are computed then. An argument whose values
decide a shape counts as known too: the plan is then only valid for these values, and if the argument is large, it is
used for one run only. A `Concat` ends a kernel: its operands are computed into parts of one new array, which is an
argument of the following kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from broadloom import LimitError, _core
from broadloom._core import Handle, Kernel
from broadloom.onnx._constants import is_literal, of_array
from broadloom.onnx._errors import printable
from broadloom.onnx._graph import Node, Program
from broadloom.onnx._memory import new_array
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import concat_axis, extents, parts_along
from broadloom.onnx._table import TABLE

Options = Mapping[str, Any]

#: The maximum size, in bytes, of an output that is known without arguments and whose values a plan keeps.
MAX_KEPT_BYTES = 1 << 16


class ValuesNeeded(Exception):
    """Raised if a plan requires the values of the inputs with these names."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self.names = names


@dataclass
class Step:
    """A kernel, the slots that it reads, and the slots that it fills. The results may be parts of one new array, along
    an axis."""

    kernel: Kernel
    sources: list[int]
    targets: list[int]
    #: The shape and dtype of the array that the results are parts of, and its slot. `parts` are the regions of the
    #: results.
    whole: tuple[tuple[int, ...], np.dtype[Any], int] | None = None
    parts: list[tuple[Any, ...]] = field(default_factory=list)
    #: The dtype as which the array's memory is reinterpreted.
    read_as: np.dtype[Any] | None = None

    def run(self, slots: list[np.ndarray | None]) -> None:
        """Runs the kernel, and fills the slots."""
        arguments: list[Any] = [slots[number] for number in self.sources]
        if self.whole is None:
            for number, values in zip(self.targets, self.kernel.run(arguments), strict=True):
                slots[number] = values
            return
        shape, dtype, slot = self.whole
        buffer = new_array(shape, dtype)
        regions = [buffer[part] for part in self.parts]
        self.kernel.run(arguments, out=regions)
        slots[slot] = buffer if self.read_as is None else buffer.view(self.read_as)
        for number, region in zip(self.targets, regions, strict=True):
            slots[number] = region


@dataclass
class Plan:
    """A sequence of steps over numbered slots. A slot contains an argument, a constant, or a result of a step."""

    arguments: list[tuple[int, str]]
    constants: list[tuple[int, np.ndarray]]
    slots: int
    steps: list[Step]
    #: For each output, its slot or its values. A known output that is too large to be kept is a handle, which each run
    #: computes.
    outputs: list[int | np.ndarray | Handle]
    options: Options

    def run(self, values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Runs the plan for arguments of its shapes, and returns the outputs."""
        slots: list[np.ndarray | None] = [None] * self.slots
        for number, name in self.arguments:
            slots[number] = values[name]
        for number, constant in self.constants:
            slots[number] = constant
        for step in self.steps:
            step.run(slots)
        made: list[np.ndarray] = []
        for output in self.outputs:
            if isinstance(output, np.ndarray):
                made.append(output.copy())
            elif isinstance(output, Handle):
                made.append(new_array(extents(output), output.dtype))
                output.evaluate_into(made[-1], None, **self.options)
            else:
                found = slots[output]
                assert found is not None
                made.append(found)
        return made


class Tracer:
    """Builds a plan. Values are represented by handles, by name.

    A value is known if its handle does not depend on an input of a kernel. A generated value (a literal or a range)
    becomes part of a kernel's expression. Other known values become inputs of kernels where they are combined with
    unknown ones.
    """

    def __init__(
        self, program: Program, shapes: Mapping[str, tuple[int, ...]], known: Mapping[str, np.ndarray], options: Options
    ) -> None:
        self._program = program
        self._options = options
        self._handles: dict[str, Handle] = {}
        self._generated: set[str] = set()
        #: The inputs of kernels, by slot.
        self._inputs: dict[int, Handle] = {}
        self._promoted: dict[str, Handle] = {}
        self._values: dict[str, np.ndarray] = {}
        self._makers: dict[str, Node] = {}
        self._wholes: dict[str, int] = {}
        self._steps: list[Step] = []
        self._arguments: list[tuple[int, str]] = []
        self._constants: list[tuple[int, np.ndarray]] = []
        self._slots = 0
        for entry in program.inputs:
            if entry.name in shapes and entry.name not in known:
                self._arguments.append((self._slots, entry.name))
                self._handles[entry.name] = self._input(entry.dtype, shapes[entry.name])
        for name, values in {**program.constants, **known}.items():
            if name not in self._handles:
                self._know(name, values)

    def plan(self) -> Plan:
        """Builds the plan.

        Raises ValuesNeeded, or an error of an operator, with the operator's name.
        """
        for node in self._program.nodes:
            try:
                self._build(node, TABLE[node.operator])
            except (ValueError, TypeError, LimitError) as error:
                raise type(error)(printable(f"{node}: {error}")) from None
        outputs = self._finish()
        return Plan(self._arguments, self._constants, self._slots, self._steps, outputs, self._options)

    def _input(self, dtype: np.dtype[Any], shape: Sequence[int]) -> Handle:
        """An input of kernels whose values are in a new slot."""
        handle = Handle.input(f"x{self._slots}", dtype, list(shape))
        self._inputs[self._slots] = handle
        self._slots += 1
        return handle

    def _know(self, name: str, values: np.ndarray) -> None:
        self._handles[name] = of_array(values)
        # The memory of a model's weights is shared by its plans.
        self._values[name] = values
        if is_literal(values):
            self._generated.add(name)

    def _build(self, node: Node, row: Row) -> None:
        names, operands = self._operands(node, row)
        if node.operator in ("Concat", "BitCast") and any(x is not None and x.is_symbolic for x in operands):
            self._cut(Call(node, self), names, [x for x in operands if x is not None])
            return
        results = self._results(node, row, operands)
        generated = row.generates
        if generated is None:
            generated = any(names) and all(name in self._generated for name in names if name)
        for name, handle in zip(node.outputs, results):
            if not name:
                continue
            self._handles[name] = handle
            self._makers[name] = node
            if generated:
                self._generated.add(name)
            elif not handle.is_symbolic and handle.size == 1:
                # A single number becomes a literal, which rewrite rules can use.
                self._know(name, self.read(name, 1))

    def _operands(self, node: Node, row: Row) -> tuple[list[str], list[Handle | None]]:
        """The names and handles of the operands of a build function; "" and None for those that it reads by name."""
        names = [name if number not in row.reads else "" for number, name in enumerate(node.inputs)]
        is_open = any(self._handles[name].is_symbolic for name in names if name)
        return names, [(self._usable(name) if is_open else self._handles[name]) if name else None for name in names]

    def _results(self, node: Node, row: Row, operands: Sequence[Handle | None]) -> list[Handle]:
        made = row.build(Call(node, self), *operands)
        return [made] if isinstance(made, Handle) else list(made)

    def traced(self, part: Program, given: Mapping[str, Handle]) -> list[Handle]:
        """The outputs of a part of a program, with these handles as its inputs. No value of the part becomes a literal, since
        its derivative is computed."""
        self._handles.update(given)
        for node in part.nodes:
            row = TABLE[node.operator]
            results = self._results(node, row, self._operands(node, row)[1])
            for name, handle in zip(node.outputs, results):
                if name:
                    self._handles[name] = handle
                    self._makers[name] = node
        return [self._handles[name] for name in part.outputs]

    def _usable(self, name: str) -> Handle:
        """A value as an operand that can be combined with unknown values."""
        handle = self._handles[name]
        if handle.is_symbolic or name in self._generated:
            return handle
        if name not in self._promoted:
            values = self._values_of(name)
            self._constants.append((self._slots, values))
            self._promoted[name] = self._input(values.dtype, values.shape)
        return self._promoted[name]

    def read(self, name: str, most: int) -> np.ndarray:
        """The values of a known operand; ValuesNeeded for an unknown one. ValueError for more than `most` elements,
        before they are computed."""
        size = self._handles[name].size or 0
        if size > most:
            raise ValueError(f"`{name}` has {size} elements, and decides a shape; there can be {most}")
        return self._values_of(name)

    def allocate(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """A new array; LimitError if it is larger than `max_bytes` or the available memory."""
        self._check_bytes(shape, dtype)
        return new_array(shape, dtype)

    def evaluate_into(self, x: Handle, out: np.ndarray) -> None:
        """Computes a known value into an array."""
        x.evaluate_into(out, None, **self._options)

    def _check_bytes(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        """LimitError for an array that is larger than `max_bytes`."""
        size, limit = prod(shape) * dtype.itemsize, self._options.get("max_bytes")
        if limit is not None and size > limit:
            raise LimitError(
                f"the result takes {size} bytes, the limit is {limit}; the option max_bytes sets the limit"
            )

    def _values_of(self, name: str) -> np.ndarray:
        if name not in self._values:
            handle = self._handles[name]
            if handle.is_symbolic:
                raise ValuesNeeded(self._origins(name))
            self._values[name] = handle.evaluate(None, **self._options).to_numpy()
        return self._values[name]

    def _origins(self, name: str) -> frozenset[str]:
        """The arguments from which an unknown value is computed."""
        arguments = {name for _, name in self._arguments}
        waiting, seen, found = [name], {name}, set()
        while waiting:
            one = waiting.pop()
            if one in arguments:
                found.add(one)
            elif one in self._makers:
                new = {x for x in self._makers[one].inputs if x and x not in seen and self._handles[x].is_symbolic}
                seen |= new
                waiting.extend(new)
        return frozenset(found)

    def _cut(self, call: Call, names: Sequence[str], operands: Sequence[Handle]) -> None:
        """Ends the current kernel: computes operands into parts of one array, which becomes an input of the following
        kernels, as do its parts."""
        shapes = [extents(x) for x in operands]
        dtype = operands[0].dtype
        whole, parts = list(shapes[0]), [(Ellipsis,)]
        if len(shapes) > 1:
            axis, whole = concat_axis(call, shapes)
            parts = parts_along(axis, shapes)
        self._check_bytes(whole, dtype)
        kernel, sources = self._kernel(operands)
        targets = []
        for name, x, shape in zip((name for name in names if name), operands, shapes, strict=True):
            targets.append(self._slots)
            place = self._input(dtype, shape)
            if x.is_symbolic and name in self._makers:
                self._handles[name] = place
        result = call.node.outputs[0]
        result_dtype = call.result_dtype()
        read_as = None if result_dtype == dtype else result_dtype
        step = Step(kernel, sources, targets, (tuple(whole), dtype, self._slots), parts, read_as)
        self._wholes[result] = self._slots
        self._handles[result] = self._input(result_dtype, whole)
        self._makers[result] = call.node
        self._steps.append(step)

    def _kernel(self, roots: Sequence[Handle]) -> tuple[Kernel, list[int]]:
        named = [(f"r{number}", handle) for number, handle in enumerate(roots)]
        # Only the inputs that are used: a model with many cuts has many inputs, and each kernel would have all of them.
        slots = sorted(int(name.removeprefix("x")) for name in _core.input_names(roots))
        return Kernel(named, [self._inputs[slot] for slot in slots], **self._options), slots

    def _finish(self) -> list[int | np.ndarray | Handle]:
        """Builds the last kernel, and returns the location of each output."""
        outputs: list[int | np.ndarray | Handle] = []
        roots: list[Handle] = []
        targets: list[int] = []
        taken: set[int] = set()
        sources_end = self._slots
        known = [x for x in self._program.outputs if not self._handles[x].is_symbolic]
        large = {x for x in known if (self._handles[x].size or 0) * self._handles[x].dtype.itemsize > MAX_KEPT_BYTES}
        known = [x for x in known if x not in large]
        values = _core.evaluate_many([self._handles[x] for x in known], None, **self._options) if known else []
        found = {name: made.to_numpy() for name, made in zip(known, values, strict=True)}
        for name in self._program.outputs:
            if name in found:
                outputs.append(found[name])
            elif name in large:
                outputs.append(self._handles[name])
            elif name in self._wholes and self._wholes[name] not in taken:
                taken.add(self._wholes[name])
                outputs.append(self._wholes[name])
            else:
                roots.append(self._handles[name])
                targets.append(sources_end + len(targets))
                outputs.append(targets[-1])
        if roots:
            kernel, sources = self._kernel(roots)
            self._steps.append(Step(kernel, sources, targets))
            self._slots += len(targets)
        return outputs
