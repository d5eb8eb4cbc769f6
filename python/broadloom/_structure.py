"""Flattens the return value of a function to a list of arrays, and rebuilds it: nested tuples, named tuples, lists and
dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: The maximum number of parts of a return value. It also ends the flattening of a container that contains itself.
MAX_PARTS = 1 << 17

#: An instruction of a stack machine that rebuilds a structure: ("leaf", index), ("number", index) for a result that is
#: returned as a Python number, ("constant", object), ("tuple", length), ("list", length), ("named", (type, length)) or
#: ("dict", keys).
Piece = tuple[str, Any]


class Structure:
    """The structure of a return value. Called with the list of results, it returns the rebuilt value."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces

    def __call__(self, results: Sequence[Any]) -> Any:
        made: list[Any] = []
        for kind, what in self.pieces:
            if kind == "leaf":
                made.append(results[what])
            elif kind == "number":
                made.append(results[what].item())
            elif kind == "constant":
                made.append(what)
            else:
                count = _count(kind, what)
                parts = made[len(made) - count :]
                del made[len(made) - count :]
                if kind == "tuple":
                    made.append(tuple(parts))
                elif kind == "list":
                    made.append(parts)
                elif kind == "named":
                    made.append(what[0](*parts))
                else:
                    made.append(dict(zip(what, parts, strict=True)))
        return made[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Structure, (self.pieces,)

    @property
    def is_one_leaf(self) -> bool:
        """Whether the return value is the first result alone."""
        return self.pieces == (("leaf", 0),)


def _count(kind: str, what: Any) -> int:
    """The number of parts of a piece: of a container, or 0."""
    if kind in ("leaf", "number", "constant"):
        return 0
    return len(what) if kind == "dict" else what[1] if kind == "named" else what


def taken_apart(value: Any, leaf: Callable[[Any], Piece]) -> Structure:
    """Flattens a value. `leaf` returns the piece for anything that is not a container."""
    pieces: list[Piece] = []
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        if len(pieces) + len(waiting) > MAX_PARTS:
            raise ValueError(f"the result of a function contains itself, or has more than {MAX_PARTS} parts")
        item, is_piece = waiting.pop()
        if is_piece:
            pieces.append(item)
            continue
        parts: list[Any]
        if isinstance(item, tuple):
            parts = list(item)
            named = hasattr(item, "_fields")
            waiting.append((("named", (type(item), len(parts))) if named else ("tuple", len(parts)), True))
        elif isinstance(item, list):
            parts = item
            waiting.append((("list", len(parts)), True))
        elif isinstance(item, dict):
            parts = list(item.values())
            waiting.append((("dict", tuple(item)), True))
        else:
            pieces.append(leaf(item))
            continue
        waiting.extend((part, False) for part in reversed(parts))
    return Structure(tuple(pieces))


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Applies a function to everything in a structure that is not a container."""
    leaves: list[Any] = []

    def leaf(item: Any) -> Piece:
        leaves.append(function(item))
        return ("leaf", len(leaves) - 1)

    return taken_apart(value, leaf)(leaves)


def matched(structure: Structure, like: Structure) -> list[int] | None:
    """The leaves of one structure in the order of another, which has the same containers. The keys of dicts may have
    another order. None for different structures."""
    order: list[int] = []
    waiting = [(_tree(structure), _tree(like))]
    while waiting:
        (kind, what, parts), (of_kind, of_what, of_parts) = waiting.pop()
        if kind == of_kind == "leaf":
            order.append(what)
        elif kind == of_kind == "dict" and what != of_what and set(what) == set(of_what):
            named = dict(zip(what, parts, strict=True))
            waiting.extend((named[key], part) for key, part in reversed(list(zip(of_what, of_parts, strict=True))))
        elif (kind, what) == (of_kind, of_what):
            waiting.extend(reversed(list(zip(parts, of_parts, strict=True))))
        else:
            return None
    return order


#: A node of a structure: the kind and the object of its piece, and its parts.
_Node = tuple[str, Any, list[Any]]


def _tree(structure: Structure) -> _Node:
    made: list[_Node] = []
    for kind, what in structure.pieces:
        count = _count(kind, what)
        parts = made[len(made) - count :]
        del made[len(made) - count :]
        made.append((kind, what, parts))
    return made[0]
