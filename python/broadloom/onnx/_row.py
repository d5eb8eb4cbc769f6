"""The row of an operator in the table, and the arguments of its build function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from broadloom._core import Handle
from broadloom.onnx._graph import Node, Program
from broadloom.onnx._types import DType

#: The maximum number of elements of an input whose values decide a shape, unless the operator has more outputs. No
#: shape has more axes.
MAX_NUMBERS = 64


class Known(Protocol):
    """Access to values that are known."""

    def read(self, name: str, most: int) -> np.ndarray:
        """The known values with this name; ValueError for more than `most` elements."""


class Values(Known, Protocol):
    """Access to values that are known while a plan is built, computed with the model's options."""

    def allocate(self, shape: Sequence[int], dtype: DType) -> np.ndarray:
        """A new array; LimitError if it is larger than `max_bytes` or the available memory."""

    def evaluate_into(self, x: Handle, out: np.ndarray) -> None:
        """Computes a known value into an array."""

    def traced(self, part: Program, given: Mapping[str, Handle]) -> list[Handle]:
        """The outputs of operators that are built with these handles as inputs."""


class Reading:
    """An operator, and the values of the inputs that decide a shape."""

    def __init__(self, node: Node, values: Known) -> None:
        self.node = node
        self.values = values

    @property
    def version(self) -> int:
        """The since-version of the operator's schema."""
        return self.node.version

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or its default in the schema, or else `default`."""
        return self.node.attributes.get(name, default)

    def has(self, number: int) -> bool:
        """Whether an optional input is given."""
        return number < len(self.node.inputs) and bool(self.node.inputs[number])

    def array(self, number: int) -> np.ndarray | None:
        """The values of an input; None if it is not given."""
        most = max(MAX_NUMBERS, len(self.node.outputs))
        return self.values.read(self.node.inputs[number], most) if self.has(number) else None

    def integers(self, number: int) -> list[int] | None:
        """The values of an input that decides a shape, as Python numbers; None if it is omitted."""
        values = self.array(number)
        return None if values is None else [int(x) for x in values.reshape(-1)]


class Call(Reading):
    """An operator that is being built: its node, and the values of the inputs that its row reads."""

    values: Values

    def result_dtype(self, number: int = 0) -> DType:
        """The dtype of an output."""
        return self.node.result_dtype(number)


Built = Handle | Sequence[Handle]


@dataclass(frozen=True)
class Row:
    """An ONNX operator, and how it is composed of the engine's functions, for every version of its schema.

    `build` receives the call and a handle for each input; None for an omitted input and for those listed in `reads`,
    whose values decide a shape. `gives` returns the types of outputs that the schema does not determine, from the node
    and its input types. `refuses` returns the reason why a node is unsupported, or None. `note` describes how ONNX
    differs from the engine.
    """

    name: str
    build: Callable[..., Built]
    reads: tuple[int, ...] = ()
    gives: Callable[[Node, Sequence[str | None]], Sequence[str | None]] | None = None
    refuses: Callable[[Node], str | None] | None = None
    note: str = ""
    #: Whether the result is generated from an index and numbers, without memory. None means that it is if all its
    #: operands are.
    generates: bool | None = None
    #: The domain of the operator; ONNX's own is "".
    domain: str = ""
