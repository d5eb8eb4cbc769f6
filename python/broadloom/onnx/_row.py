"""The row of an operator in the table, and the objects that its function is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from broadloom._core import Handle
from broadloom.onnx._types import DTYPES, DType

#: The most elements of an input whose values decide a shape, unless the operator has more outputs: no shape has more
#: axes.
MAX_NUMBERS = 64


@dataclass(frozen=True)
class Node:
    """One operator of a model whose functions are expanded. Inputs and outputs are names of values, "" if one is left
    out.

    `version` is the since-version of its schema; `attributes` has the schema's defaults in it. `types` are those of the
    outputs.
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

    def __str__(self) -> str:
        shown = f"{self.operator} (node `{self.name}`)" if self.name else self.operator
        return f"{shown} of {self.within}" if self.within else shown


class Values(Protocol):
    """Values that are known while a plan is made, computed under the options of the model."""

    def read(self, name: str, most: int) -> np.ndarray:
        """The values that have a name; ValueError for more than `most` elements."""

    def allocate(self, shape: Sequence[int], dtype: DType) -> np.ndarray:
        """A new array; LimitError if it is larger than `max_bytes`, or than memory."""

    def evaluate_into(self, x: Handle, out: np.ndarray) -> None:
        """Computes the values of a known handle into an array."""


class Call:
    """An operator that is being built: its node, and the values of the inputs that its row reads."""

    __slots__ = ("node", "values")

    def __init__(self, node: Node, values: Values) -> None:
        """A call of a node, in a plan that has these known values."""
        self.node = node
        self.values = values

    @property
    def version(self) -> int:
        """The since-version of the operator's schema."""
        return self.node.version

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: the node's, else the schema's default, else the given default."""
        return self.node.attributes.get(name, default)

    def has(self, number: int) -> bool:
        """Whether an optional input is given."""
        return number < len(self.node.inputs) and bool(self.node.inputs[number])

    def array(self, number: int) -> np.ndarray | None:
        """The values of an input; None if it is not given."""
        most = max(MAX_NUMBERS, len(self.node.outputs))
        return self.values.read(self.node.inputs[number], most) if self.has(number) else None

    def integers(self, number: int) -> list[int] | None:
        """The values of an input that decides a shape, as Python numbers; None if the input is not given."""
        values = self.array(number)
        return None if values is None else [int(x) for x in values.reshape(-1)]

    def result_dtype(self, number: int = 0) -> DType:
        """The dtype of an output."""
        name = self.node.types[number]
        assert name is not None
        return DTYPES[name]


Built = Handle | Sequence[Handle]


@dataclass(frozen=True)
class Row:
    """One operator of ONNX: how it is built of the engine's functions, for every version of its schema.

    `build` takes the call and a handle per input; it is None for inputs that are left out, and for those in `reads`,
    whose values decide a shape. `gives` are the types of outputs that the schema leaves open, by node and input types.
    `refuses` says why a node can't run, if it can't. `note` says what ONNX defines otherwise than the engine.
    """

    name: str
    build: Callable[..., Built]
    reads: tuple[int, ...] = ()
    gives: Callable[[Node, Sequence[str | None]], Sequence[str | None]] | None = None
    refuses: Callable[[Node], str | None] | None = None
    note: str = ""
    #: Whether the result is generated from an index and numbers, in no memory; None if it is generated where all
    #: operands are.
    generates: bool | None = None
