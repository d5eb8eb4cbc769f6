"""The result of a function, taken apart into arrays, and put together again. It may consist of nested tuples, named
tuples, lists and dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: A result of more parts than these is refused: a container that contains itself would be taken apart for ever.
MAX_PARTS = 1 << 17

#: A step that puts a structure together of the last values of a stack: ("leaf", number of a result), ("number", number
#: of a result) for a result that is returned as a Python number, ("constant", object), ("tuple", length), ("list",
#: length), ("named", (type, length)), ("dict", keys).
Piece = tuple[str, Any]


class Structure:
    """The structure of what a function returns: called with the list of results, it puts together what the function
    returns."""

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
                count = len(what) if kind == "dict" else what[1] if kind == "named" else what
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
        """Whether the structure is the first result, and nothing else."""
        return self.pieces == (("leaf", 0),)


def taken_apart(value: Any, leaf: Callable[[Any], Piece]) -> Structure:
    """The structure of a value. `leaf` gives the piece for each part that is no container."""
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
    """A structure with a function applied to each part that is no container."""
    leaves: list[Any] = []

    def leaf(item: Any) -> Piece:
        leaves.append(function(item))
        return ("leaf", len(leaves) - 1)

    return taken_apart(value, leaf)(leaves)
