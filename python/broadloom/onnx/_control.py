"""`If`, `Loop` and `Scan`: the backend runs their bodies, which are compiled like models, and counts iterations.

An iteration looks at the clock and at the limits before it begins. Results are arrays of their own, as those of bodies
are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from time import monotonic
from typing import Any, Protocol

import numpy as np

from broadloom import LimitError, TimeLimitError
from broadloom._core import Handle
from broadloom.onnx._graph import Extents, Node, Program
from broadloom.onnx._memory import new_array

#: The maximum number of iterations of all loops in one run of a model, unless an option sets another one.
MAX_ITERATIONS = 1_000_000

#: The size in bytes from which an array is copied by the engine, which can be interrupted.
LARGE = 1 << 24

Values = Mapping[str, np.ndarray]


class Run:
    """One run of a model: its options, the iterations of all its loops so far, and the time at which it has to end."""

    def __init__(self, options: Mapping[str, Any], max_iterations: int = MAX_ITERATIONS) -> None:
        self.options = options
        self.most = max_iterations
        self._iterations = 0
        self._limit: float | None = options.get("max_time")
        self._end = None if self._limit is None else monotonic() + self._limit

    def iterate(self, node: Node) -> None:
        """Counts an iteration of a loop. LimitError if there are too many, TimeLimitError if the time is over."""
        self.expect(node, 1)
        self._iterations += 1
        self.check_time(node)

    def expect(self, node: Node, iterations: int) -> None:
        """LimitError if so many more iterations are too many."""
        if self._iterations + iterations > self.most:
            raise LimitError(
                f"{node}: more than {self.most} iterations in one run; the option max_iterations sets the limit"
            )

    def check_time(self, node: Node) -> None:
        """TimeLimitError if the time is over."""
        if self._end is not None and monotonic() > self._end:
            raise TimeLimitError(
                f"{node}: the run was stopped by its time limit of {self._limit} s after {self._iterations} iterations; "
                "the option max_time sets the limit"
            )

    def copy(self, source: np.ndarray, out: np.ndarray) -> None:
        """Copies an array into another one, such that it can be interrupted."""
        if source.nbytes < LARGE:
            out[...] = source
        else:
            Handle.from_numpy(source).evaluate_into(out, None, **self.options)

    def copied(self, source: np.ndarray) -> np.ndarray:
        """A copy of an array."""
        made = new_array(source.shape, source.dtype)
        self.copy(source, made)
        return made


class Body(Protocol):
    """A body that is ready to run."""

    @property
    def program(self) -> Program:
        """Its program."""

    def run(self, values: Values, run: Run) -> list[np.ndarray]:
        """Its outputs, for its inputs and for captured values. `values` may have names of no input."""


@dataclass(frozen=True)
class Control:
    """An operator with bodies. `run` receives the node, its bodies, the values around it by name, and the run; it
    returns the values of the node's outputs. `note` describes what the specification leaves open."""

    name: str
    run: Callable[[Node, Sequence[Body], Values, Run], list[np.ndarray]]
    note: str = ""


def _one(node: Node, name: str, values: np.ndarray) -> Any:
    if values.size != 1:
        raise ValueError(f"{node}: its {name} has the shape {list(values.shape)}, not one element")
    return values.item()


def _input(node: Node, number: int, values: Values) -> np.ndarray | None:
    name = node.inputs[number] if number < len(node.inputs) else ""
    return values[name] if name else None


def _captured(body: Body, values: Values) -> dict[str, np.ndarray]:
    """The values around a body that it captures. A constant may be in the body itself instead."""
    return {entry.name: values[entry.name] for entry in body.program.captured if entry.name in values}


class _Collected:
    """A scan output: the values of all iterations, along a new axis. One without a name is not collected."""

    def __init__(self, node: Node, number: int, axis: int = 0, is_reversed: bool = False) -> None:
        self._node, self._number, self._axis, self._is_reversed = node, number, axis, is_reversed
        self._pieces: list[np.ndarray] = []
        self._shape: tuple[int, ...] = ()

    def add(self, piece: np.ndarray, run: Run) -> None:
        if not self._node.outputs[self._number]:
            return
        if not self._pieces:
            self._shape = piece.shape
        elif piece.shape != self._shape:
            raise ValueError(
                f"{self._node}: output {self._number} collects values of one shape, and iteration {len(self._pieces)} "
                f"gives {list(piece.shape)}, the first one gave {list(self._shape)}"
            )
        self._pieces.append(piece)
        self._check_bytes(len(self._pieces) * piece.nbytes, run)

    def _check_bytes(self, size: int, run: Run) -> None:
        limit = run.options.get("max_bytes")
        if limit is not None and size > limit:
            raise LimitError(
                f"{self._node}: output {self._number} takes {size} bytes after {len(self._pieces)} iterations, the "
                f"limit is {limit}; the option max_bytes sets the limit"
            )

    def whole(self, run: Run, declared: Extents, sizes: Mapping[str, int], length: int = 0) -> np.ndarray:
        """The values of all iterations, in an array that is at least `length` long and ends with zeros. Without
        iterations, its extents are those that the body declares; `sizes` has those with a name."""
        if not self._node.outputs[self._number]:
            return np.empty(0)
        if not self._pieces:
            self._shape = self._declared(declared, sizes)
        count, rank = max(len(self._pieces), length), len(self._shape) + 1
        if not -rank <= self._axis < rank:
            raise ValueError(f"{self._node}: output {self._number} has no axis {self._axis}, its rank is {rank}")
        axis = self._axis % rank
        shape, dtype = (*self._shape[:axis], count, *self._shape[axis:]), self._node.result_dtype(self._number)
        self._check_bytes(prod(shape) * dtype.itemsize, run)
        made = new_array(shape, dtype)
        by_iteration = np.moveaxis(made, axis, 0)
        pieces = self._pieces[::-1] if self._is_reversed else self._pieces
        for number, piece in enumerate(pieces):
            run.copy(piece, by_iteration[number, ...])
        by_iteration[len(pieces) :] = 0
        return made

    def _declared(self, declared: Extents, sizes: Mapping[str, int]) -> tuple[int, ...]:
        found = [] if declared is None else [sizes.get(x) if isinstance(x, str) else x for x in declared]
        if declared is None or None in found:
            raise ValueError(
                f"{self._node}: there is no iteration, and the body does not declare the shape of output {self._number}"
            )
        return tuple(extent for extent in found if extent is not None)


def _sizes(program: Program, values: Values) -> dict[str, int]:
    """The extents with names that the inputs of a body declare, for these values."""
    sizes: dict[str, int] = {}
    for entry in program.inputs:
        if entry.extents is not None and entry.name in values and values[entry.name].ndim == len(entry.extents):
            named = zip(entry.extents, values[entry.name].shape, strict=True)
            sizes.update({name: extent for name, extent in named if isinstance(name, str)})
    return sizes


def _if(node: Node, bodies: Sequence[Body], values: Values, run: Run) -> list[np.ndarray]:
    taken = bodies[0 if _one(node, "condition", values[node.inputs[0]]) else 1]
    run.check_time(node)
    return taken.run(_captured(taken, values), run)[: len(node.outputs)]


def _loop(node: Node, bodies: Sequence[Body], values: Values, run: Run) -> list[np.ndarray]:
    (body,) = bodies
    most, condition = _input(node, 0, values), _input(node, 1, values)
    trips = None if most is None else int(_one(node, "trip count", most))
    goes_on = True if condition is None else bool(_one(node, "condition", condition))
    if condition is None:
        # The condition that the body gives is ignored: all iterations run, without end if no trip count is given.
        run.expect(node, run.most + 1 if trips is None else trips)
    names = [entry.name for entry in body.program.inputs]
    states = [values[name] for name in node.inputs[2:]]
    given = _captured(body, values)
    collected = {number: _Collected(node, number) for number in range(len(states), len(node.outputs))}
    done, last = 0, goes_on
    while (goes_on or condition is None) and (trips is None or done < trips):
        run.iterate(node)
        given.update(zip(names, [np.array(done, np.int64), np.array(last), *states], strict=True))
        made = body.run(given, run)
        done, last = done + 1, bool(_one(node, "condition of the body", made[0]))
        goes_on = last
        states = made[1 : 1 + len(states)]
        for number, pieces in collected.items():
            pieces.add(made[1 + number], run)
    if not done:
        states = [run.copied(state) for state in states]
    sizes = _sizes(body.program, dict(zip(names[2:], states)))
    declared = body.program.declared[1:]
    return [
        *states[: len(node.outputs)],
        *(pieces.whole(run, declared[number], sizes) for number, pieces in collected.items()),
    ]


def _flags(node: Node, name: str, count: int) -> list[int]:
    given: list[int] | None = node.attributes.get(name)
    return [0] * count if given is None else given


def _scan(node: Node, bodies: Sequence[Body], values: Values, run: Run) -> list[np.ndarray]:
    if node.version < 9:
        return _scan_of_batches(node, bodies, values, run)
    arrays = [values[name] for name in node.inputs]
    return _scanned(node, bodies[0], _captured(bodies[0], values), arrays, run)


def _scanned(
    node: Node,
    body: Body,
    given: dict[str, np.ndarray],
    arrays: Sequence[np.ndarray],
    run: Run,
    most: int | None = None,
) -> list[np.ndarray]:
    """The results of a scan of these states and inputs; of at most `most` elements of the inputs."""
    program, scanned = body.program, node.attributes["num_scan_inputs"]
    kept = len(arrays) - scanned
    states, inputs = list(arrays[:kept]), arrays[kept:]
    names = [entry.name for entry in program.inputs]
    backwards = _flags(node, "directions" if node.version < 9 else "scan_input_directions", scanned)
    sequences = []
    for number, (array, axis) in enumerate(zip(inputs, _flags(node, "scan_input_axes", scanned), strict=True)):
        if not -array.ndim <= axis < array.ndim:
            raise ValueError(f"{node}: scan input {number} has no axis {axis}, its rank is {array.ndim}")
        sequences.append(np.moveaxis(array, axis, 0))
    lengths = [len(sequence) for sequence in sequences]
    if len(set(lengths)) > 1:
        raise ValueError(f"{node}: its scan inputs have {lengths} elements, which differ")
    length = lengths[0] if most is None else most
    run.expect(node, length)
    outputs = len(program.outputs) - kept
    axes = _flags(node, "scan_output_axes", outputs)
    prepends = _flags(node, "scan_output_directions", outputs)
    collected = {
        number: _Collected(node, number, axes[number - kept], bool(prepends[number - kept]))
        for number in range(kept, len(node.outputs))
    }
    for step in range(length):
        run.iterate(node)
        elements = [
            sequence[length - 1 - step if is_backwards else step, ...]
            for sequence, is_backwards in zip(sequences, backwards, strict=True)
        ]
        given.update(zip(names, [*states, *elements], strict=True))
        made = body.run(given, run)
        for number, (old, new) in enumerate(zip(states, made)):
            if old.shape != new.shape:
                raise ValueError(
                    f"{node}: state {number} has the shape {list(old.shape)}, and iteration {step} gives {list(new.shape)}"
                )
        states = made[:kept]
        for number, pieces in collected.items():
            pieces.add(made[number], run)
    if not length:
        states = [run.copied(state) for state in states]
    sizes = _sizes(program, dict(zip(names, states)))
    return [
        *states[: len(node.outputs)],
        *(pieces.whole(run, program.declared[number], sizes, lengths[0]) for number, pieces in collected.items()),
    ]


def _scan_of_batches(node: Node, bodies: Sequence[Body], values: Values, run: Run) -> list[np.ndarray]:
    """The first version of `Scan`: states and inputs have an axis of batches, each of which is a scan of its own. The
    sequences of a batch may be shorter than the axis."""
    (body,) = bodies
    arrays = [values[name] for name in node.inputs[1:]]
    given = _captured(body, values)
    if not all(array.ndim for array in arrays) or len({len(array) for array in arrays}) > 1:
        raise ValueError(f"{node}: its states and inputs have no common axis of batches")
    batches, scanned = len(arrays[0]), arrays[-1]
    if scanned.ndim < 2:
        raise ValueError(f"{node}: a scan input has no axis of elements, its shape is {list(scanned.shape)}")
    lengths = _input(node, 0, values)
    counts = [scanned.shape[1]] * batches if lengths is None else [int(n) for n in lengths.reshape(-1)]
    if len(counts) != batches or not all(0 <= count <= scanned.shape[1] for count in counts):
        raise ValueError(
            f"{node}: the lengths {counts[:16]} do not fit {batches} batches of {scanned.shape[1]} elements"
        )
    if not batches:
        raise ValueError(f"{node}: there is no batch")
    collected = [_Collected(node, number) for number in range(len(node.outputs))]
    for batch in range(batches):
        run.check_time(node)
        made = _scanned(node, body, given, [array[batch, ...] for array in arrays], run, counts[batch])
        for pieces, piece in zip(collected, made, strict=True):
            pieces.add(piece, run)
    return [pieces.whole(run, None, {}) for pieces in collected]


CONTROLS = (
    Control("If", _if, "compiles and runs the branch that is taken"),
    Control("Loop", _loop, "without a condition, ignores that of its body"),
    Control("Scan", _scan, "version 8: what follows a shorter sequence is 0"),
)
