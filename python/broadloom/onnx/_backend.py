"""The backend with ONNX's interface, and the prepared model that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, defs
from onnx.backend import base

from broadloom import Array
from broadloom._core import Kernel
from broadloom.onnx._control import MAX_ITERATIONS, Run
from broadloom.onnx._errors import InvalidModelError, Unsupported, UnsupportedModelError, printable
from broadloom.onnx._graph import Input, Program
from broadloom.onnx._program import of_model, of_node
from broadloom.onnx._runner import Runner
from broadloom.onnx._types import DTYPES

#: The name of the only device in ONNX's interface.
DEVICE = "CPU"


class Prepared(base.BackendRep):
    """A model that is ready to run, as returned by `prepare`.

    Kernels are compiled by the first run for each set of shapes, and used by all later ones. Runs may be concurrent.
    """

    def __init__(self, program: Program, options: Mapping[str, Any], max_iterations: int) -> None:
        """A prepared program that runs with these options of `broadloom.evaluate`, and so many iterations at most."""
        self._program = program
        self._options = dict(options)
        self._max_iterations = max_iterations
        self._runner = Runner(program, self._options)
        self._results = base.namedtupledict("Outputs", list(program.outputs))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs that have to be given, in order."""
        return tuple(entry.name for entry in self._program.inputs if not entry.optional)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""
        return self._program.outputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs the model. Returns its outputs: NumPy arrays in a tuple whose entries also have the model's names.

        `inputs` are arrays (NumPy's, ours, or objects that `numpy.asarray` accepts) in the model's order, or a dict by
        name. Inputs with an initializer may be omitted. The inputs are read during the run, and not kept.

        Raises TypeError for another dtype than the model's and for unknown arguments, ValueError for a wrong shape or
        number of inputs, ZeroDivisionError under `int_division="error"`, LimitError for an array that is too large or a
        loop that is too long, and TimeLimitError beyond `max_time`.
        """
        if kwargs:
            raise TypeError(
                f"run() takes no argument `{printable(next(iter(kwargs)))}`; options are given to `prepare`"
            )
        values = _bound(self._program.inputs, inputs)
        made = self._runner.run(values, Run(self._options, self._max_iterations))
        return self._results(*made)


def _bound(entries: Sequence[Input], inputs: Any) -> dict[str, np.ndarray]:
    """Maps the arguments to names, and checks them against the model's declarations."""
    if isinstance(inputs, Mapping):
        named = dict(inputs)
        unknown = set(named) - {entry.name for entry in entries}
        if unknown:
            raise ValueError(f"the model has no input `{printable(min(map(str, unknown)))}`")
    else:
        given = [inputs] if isinstance(inputs, (np.ndarray, Array)) else list(inputs)
        required = [entry for entry in entries if not entry.optional]
        order = required if len(given) == len(required) else list(entries)
        if not len(required) <= len(given) <= len(entries):
            raise ValueError(f"the model takes {len(required)} inputs, {len(given)} are given")
        named = {entry.name: array for entry, array in zip(order, given)}
    missing = [entry.name for entry in entries if not entry.optional and entry.name not in named]
    if missing:
        raise ValueError(f"the input `{printable(missing[0])}` is not given")
    sizes: dict[str, int] = {}
    return {entry.name: _argument(entry, named[entry.name], sizes) for entry in entries if entry.name in named}


def _argument(entry: Input, value: Any, sizes: dict[str, int]) -> np.ndarray:
    if isinstance(value, (list, tuple, bool, int, float)):
        value = np.asarray(value, dtype=entry.dtype)
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") != entry.dtype:
        raise TypeError(f"the input `{printable(entry.name)}` is {entry.dtype}, not {array.dtype}; cast it")
    if not array.dtype.isnative or not array.flags.aligned:
        array = array.astype(entry.dtype)
    if entry.extents is None:
        return array
    declared = [sizes.get(extent) if isinstance(extent, str) else extent for extent in entry.extents]
    fits = len(declared) == array.ndim and all(a is None or a == b for a, b in zip(declared, array.shape, strict=False))
    if not fits:
        shown = ", ".join("?" if extent is None else str(extent) for extent in entry.extents)
        raise ValueError(
            f"the input `{printable(entry.name)}` has the shape [{printable(shown)}], not {list(array.shape)}"
        )
    for extent, size in zip(entry.extents, array.shape, strict=True):
        if isinstance(extent, str):
            sizes[extent] = size
    return array


def _checked_device(device: str) -> None:
    if not Backend.supports_device(device):
        raise ValueError(f"there is no device {device!r}; the one device is {DEVICE!r}")


def _checked_options(options: dict[str, Any]) -> int:
    """Takes the maximum number of iterations out of the options, and checks the others."""
    most = options.pop("max_iterations", None)
    if most is None:
        most = MAX_ITERATIONS
    if isinstance(most, bool) or not isinstance(most, int):
        raise TypeError(f"max_iterations is {most!r}, expected a number of iterations")
    if most < 0:
        raise ValueError(f"max_iterations is {most}, expected a number of iterations")
    # The engine raises an error for an invalid option.
    Kernel.parse("true", **options)
    return most


class Backend(base.Backend):
    """Runs models on this package, by the interface that `onnx.backend.base.Backend` defines.

    >>> import numpy as np, onnx
    >>> import broadloom.onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 20]>
    ...     scaled (float[N] x) => (float[N] y) { half = Constant <value_float = 0.5> ()
    ...     z = Gelu (x)
    ...     y = Mul (z, half) }''')
    >>> prepared = broadloom.onnx.prepare(model)
    >>> prepared.run([np.array([-1.0, 0.0, 2.0], dtype=np.float32)]).y
    array([-0.07932763,  0.        ,  0.97724986], dtype=float32)
    """

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = DEVICE, **kwargs: Any) -> bool:
        """Whether a model would be prepared: it is valid, and all of it is supported, on this device."""
        try:
            of_model(model)
        except (UnsupportedModelError, InvalidModelError, MemoryError):
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = DEVICE, **kwargs: Any) -> Prepared:
        """Prepares a model for runs. Nothing is computed.

        The options are those of `broadloom.evaluate`: `threads`, `executor`, `vector_width`, `int_division`,
        `accuracy`, `contract`, `max_bytes`, `max_time`; and `max_iterations`, the number of iterations that all loops
        of the model may perform in one run, by default a million.

        Raises UnsupportedModelError, which lists each unsupported operator and type; InvalidModelError for a model that
        breaks a rule of ONNX; LimitError for a model of more than a million operators; ValueError for another device
        than "CPU"; TypeError and ValueError for invalid options.
        """
        _checked_device(device)
        most = _checked_options(kwargs)
        if not isinstance(model, ModelProto):
            raise TypeError(f"expected an onnx.ModelProto, not {type(model).__name__}; onnx.load reads a file")
        return Prepared(of_model(model), kwargs, most)

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = DEVICE, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model for these inputs: `prepare`, and `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = DEVICE,
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node for these inputs, which are in the node's order. There is one input for each distinct
        name, except the empty name.

        `opset_version` is the version of the node's domain, by default the newest one. Other options and errors are
        those of `prepare`; `outputs_info` is not needed.
        """
        _checked_device(device)
        opset = kwargs.pop("opset_version", defs.onnx_opset_version())
        most = _checked_options(kwargs)
        names = list(dict.fromkeys(name for name in node.input if name))
        given = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        if len(given) != len(names):
            raise ValueError(f"the node has {len(names)} inputs, {len(given)} are given")
        values = dict(zip(names, map(np.asarray, given), strict=True))
        dtypes = {name: array.dtype.newbyteorder("=") for name, array in values.items()}
        foreign = [
            Unsupported(name, f"it is an input of the dtype {dtype}, which is not supported")
            for name, dtype in dtypes.items()
            if dtype not in DTYPES.values()
        ]
        if foreign:
            raise UnsupportedModelError(foreign)
        program = of_node(node, dtypes, opset)
        _check_node(node, opset)
        return Prepared(program, kwargs, most).run(values)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device is "CPU", the only one that is supported."""
        return device.partition(":")[0] == DEVICE


def _check_node(node: NodeProto, opset: int) -> None:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {node.domain: opset}
    try:
        onnx.checker.check_node(node, context)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise InvalidModelError(str(error)) from None
