"""Traces: calls a function with arrays that have no values, and compiles its operations to a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from broadloom import _core, _options
from broadloom._arguments import Form, Slot, names_of
from broadloom._array import Array
from broadloom._core import Entry, Handle, Kernel
from broadloom._scalars import Recorded, Scalar, Tape
from broadloom._structure import Piece, Structure, taken_apart
from broadloom._tracing import ExtentNeeded, TracerError, converted, is_own, tracing

#: A signature as `_core.Dispatch` passes it: ("array", dtype, dims) or ("scalar", kind) per argument.
Signature = tuple[tuple[Any, ...], ...]


class Conditions(NamedTuple):
    """The calls that a trace holds for."""

    form: Form
    #: Whether NumPy's promotion is used.
    by_numpy: bool
    signature: Signature
    #: The shapes that the trace is restricted to; None if it holds for all shapes of the signature.
    shapes: tuple[tuple[int, ...], ...] | None


class Traced(Entry):
    """The result of a trace: an entry, and the conditions that it was traced for."""

    conditions: Conditions
    #: The kernel's number of threads, if the context of a call determined it.
    threads: int | None
    _parts: tuple[list[int | Recorded], Structure, list[np.ndarray]]

    def __new__(
        cls,
        conditions: Conditions,
        kernel: Kernel,
        sources: list[int | Recorded],
        structure: Structure,
        captured: list[np.ndarray],
        threads: int | None = None,
    ) -> Traced:
        rebuild = None if structure.is_one_leaf else structure
        made = super().__new__(cls, kernel, sources, rebuild, conditions.shapes is not None, captured)
        made.conditions, made.threads = conditions, threads
        made._parts = sources, structure, captured
        return made

    def with_kernel(self, kernel: Kernel, threads: int | None) -> Traced:
        """The same trace with a kernel of other options."""
        return Traced(self.conditions, kernel, *self._parts, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return Traced, (self.conditions, self.kernel, *self._parts, self.threads)


def shown(signature: Signature) -> str:
    parts = [f"{part[1]}[{','.join(map(str, part[2]))}]" if part[0] == "array" else part[1] for part in signature]
    return f"({', '.join(parts)})"


def trace(
    function: Callable[..., Any],
    parameters: inspect.Signature | None,
    conditions: Conditions,
    options: dict[str, Any],
    by_shape: bool,
) -> Traced:
    """Traces the function with dynamic extents. If it needs the values of extents, or `by_shape` is true, traces it with
    the shapes of the conditions."""
    arrays = [part for part in conditions.signature if part[0] == "array"]
    if not by_shape and any(isinstance(dim, str) for part in arrays for dim in part[2]):
        try:
            return _trace_once(function, parameters, conditions._replace(shapes=None), options)
        except ExtentNeeded:
            pass
        except Exception as error:
            # With known extents, an operation that the package rejected may succeed, or raise an error that makes sense
            # to the caller.
            if isinstance(error, TracerError) or not is_own(error):
                raise
    return _trace_once(function, parameters, conditions, options)


def _trace_once(
    function: Callable[..., Any],
    parameters: inspect.Signature | None,
    conditions: Conditions,
    options: dict[str, Any],
) -> Traced:
    form, by_numpy, signature, shapes = conditions
    names = names_of(parameters, form)
    tape = Tape(names)
    # An option set by `set_options` also applies inside the function, which may set another one.
    carries_rule = by_numpy and not _options.by_numpy()
    inputs: list[Handle] = []
    sources: list[int | Recorded] = []
    given: list[Any] = []
    fixed = iter(shapes or ())
    for number, (name, part) in enumerate(zip(names, signature, strict=True)):
        if part[0] == "array":
            handle = Handle.input(name, part[1], part[2] if shapes is None else next(fixed))
            inputs.append(handle)
            sources.append(number)
            given.append(Array._of(handle.promoting_by_numpy() if carries_rule else handle))
        else:
            given.append(tape.argument(number, name, name, part[1]))

    def filled(slot: Slot) -> Any:
        return given[slot[1]] if slot[0] == "given" else slot[1].value

    outputs: list[Handle] = []

    def leaf(value: Any) -> Piece:
        if not isinstance(value, Array):
            return ("constant", value)
        handle = value._handle
        if handle not in outputs:
            outputs.append(handle)
        return ("number" if isinstance(value, Scalar) else "leaf", outputs.index(handle))

    _core.begin_trace()
    tracing.depth += 1
    try:
        try:
            result = function(*map(filled, form.positional), **{name: filled(slot) for name, slot in form.keywords})
        except Exception as error:
            tracer = converted(error)
            if tracer is None:
                raise
            raise tracer from None
        structure = taken_apart(result, leaf)
        outputs = [_core.capture(handle) for handle in outputs]
    except BaseException:
        _core.abandon_trace()
        raise
    else:
        captured = _core.end_trace()
    finally:
        tracing.depth -= 1
    roots = [("result" if len(outputs) == 1 else f"result{i}", handle) for i, handle in enumerate(outputs)]
    kernel_inputs = list(inputs)
    for scalar in tape.scalars:
        for handle in scalar._handle.parameter_inputs():
            kernel_inputs.append(handle)
            sources.append(tape.source(scalar))
    for number, (handle, _) in enumerate(captured):
        kernel_inputs.append(handle)
        sources.append(len(signature) + number)
    try:
        kernel = Kernel(roots, kernel_inputs, **options)
    except ValueError as error:
        raise converted(error) or error from None
    return Traced(conditions, kernel, sources, structure, [values for _, values in captured])
