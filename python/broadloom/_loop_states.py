"""The states of loops: trees of arrays and numbers.

A number in a state takes the dtype that the body gives it. To find that dtype, the engine calls the body with numbers in
place of carried values, which promote like literals. During such a call, a number that a traced function receives
promotes like a literal too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._errors import DTypeError, LiteralError
from broadloom._operators import Number, float_of, operand
from broadloom._scalars import KINDS, Scalar, in_dtype
from broadloom._structure import Piece, Structure, matched, taken_apart
from broadloom._tracing import tracing

Operand = Handle | Number

#: For each kind of number, a dtype that it takes only if it promotes like a literal.
_SMALL: dict[str, np.dtype[Any]] = {"int": np.dtype(np.int8), "float": np.dtype(np.float16)}
#: The functions that convert a number to a higher kind.
_WIDENED: dict[str, Callable[[Number], Number]] = {"int": int, "float": float_of}


class Probe(Array):
    """A carried value for which the engine passes a number, in order to find its dtype."""

    __slots__ = ("_kind",)

    _kind: str

    @classmethod
    def of(cls, handle: Handle) -> Probe:
        probe = cls._of(handle)
        probe._kind = _kind(handle)
        return probe

    def widened(self, kind: str) -> Probe:
        """The number as an int or a float. The kind is not lower than that of the number."""
        op, by = ("multiply", 1.0) if kind == "float" else ("add", 0)
        return Probe.of(_core.apply(op, self._handle, by, numpy_promotion=True))


Leaf = Operand | Scalar | Probe


class State:
    """The carried values of a loop, as the function with this name receives them."""

    __slots__ = ("_function", "_leaves", "_returned", "_structure")

    def __init__(self, function: str, state: Any, words: str = "state") -> None:
        self._function = function
        self._leaves, self._structure = flattened(state, words)
        #: The kinds of the leaves that the body has returned last.
        self._returned: list[str] = []

    def __len__(self) -> int:
        return len(self._leaves)

    def __str__(self) -> str:
        return shown(self._structure)

    def order(self, structure: Structure) -> list[int] | None:
        """The leaves of another structure in the order of the state's. None for different structures."""
        return matched(structure, self._structure)

    def tree(self, handles: list[Handle]) -> Any:
        """The tree with these handles as leaves."""
        return self._structure([Array._of(handle) for handle in handles])

    def called(self, handles: list[Handle], body: Callable[[Any], Any]) -> Any:
        """The result of a function of the state, in one of the engine's calls with these handles."""
        arrays = [self._array(leaf, handle) for leaf, handle in zip(self._leaves, handles, strict=True)]
        is_probe = any(isinstance(array, Probe) for array in arrays)
        tracing.probes += is_probe
        try:
            return body(self._structure(arrays))
        finally:
            tracing.probes -= is_probe

    def next(self, handles: list[Handle], state: Any, body: str = "body") -> list[Operand]:
        """The leaves of the next state, which the body has returned for these handles."""
        leaves, made = flattened(state, f"the {body}'s state")
        order = self.order(made)
        if order is None:
            raise TypeError(f"{self._function}: the state is {self}, but the {body} returns {shown(made)}")
        leaves = [leaves[i] for i in order]
        self._returned = [_kind(leaf) for leaf in leaves]
        return [plain(leaf, handle) for leaf, handle in zip(leaves, handles, strict=True)]

    def operands(self) -> list[Operand]:
        """The leaves of the initial state."""
        return [plain(leaf) for leaf in self._leaves]

    def run(self, build: Callable[[list[Operand]], list[Handle]]) -> list[Handle]:
        """Builds the loop from the leaves of the initial state. If the body gives a number another kind, such as a float for
        the integer 0, the loop is built again with a number of that kind."""
        while True:
            self._returned = []
            try:
                return build(self.operands())
            except (DTypeError, LiteralError):
                if not self._widen():
                    raise

    def _widen(self) -> bool:
        """Converts the numbers in the initial state for which the body has returned a higher kind. Whether there are any."""
        found = False
        for i, kind in enumerate(self._returned):
            leaf = self._leaves[i]
            if not isinstance(leaf, Handle) and KINDS.index(_kind(leaf)) < KINDS.index(kind):
                found = True
                self._leaves[i] = leaf.widened(kind) if isinstance(leaf, Array) else _WIDENED[kind](leaf)
        return found

    @staticmethod
    def _array(leaf: Leaf, handle: Handle) -> Array:
        small = None if isinstance(leaf, Handle) else _SMALL.get(_kind(handle))
        if small is not None and handle.dtype != small:
            # NumPy's rule has a dtype for each pair, also for uint64 and int8.
            made = _core.apply("where", True, handle, Handle.full((), 0, small), numpy_promotion=True)
            if made.dtype == small:
                return Probe.of(handle)
        return Array._of(handle)


def flattened(state: Any, words: str) -> tuple[list[Leaf], Structure]:
    """The leaves of a tree as operands, and its structure. `words` name the tree in errors."""
    leaves: list[Leaf] = []

    def leaf(value: Any) -> Piece:
        try:
            leaves.append(value if isinstance(value, (Scalar, Probe)) else operand(value))
        except TypeError as error:
            raise TypeError(f"{words}: {error}") from None
        return ("leaf", len(leaves) - 1)

    structure = taken_apart(state, leaf)
    return leaves, structure


def plain(leaf: Leaf, other: Leaf | None = None) -> Operand:
    """A leaf as an operand. If it is combined with an array, a traced number has the dtype that a literal would take there."""
    if not isinstance(leaf, Scalar):
        return leaf._handle if isinstance(leaf, Probe) else leaf
    if tracing.probes or not isinstance(other, Handle):
        return leaf._operand()
    return in_dtype(leaf, other.dtype, _core.by_numpy(other))


def shown(structure: Structure) -> str:
    """A structure as a Python expression, with a dot for each leaf."""
    count = sum(kind == "leaf" for kind, _ in structure.pieces)
    return repr(structure([_Dot()] * count))


def _kind(leaf: Leaf) -> str:
    """The kind of a leaf: bool, int or float."""
    if isinstance(leaf, Handle):
        return {"b": "bool", "f": "float"}.get(leaf.dtype.kind, "int")
    return leaf._kind if isinstance(leaf, (Scalar, Probe)) else type(leaf).__name__


class _Dot:
    def __repr__(self) -> str:
        return "·"
