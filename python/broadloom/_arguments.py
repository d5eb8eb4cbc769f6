"""The arguments of a call of a function compiled by `jit`: their assignment to parameters, and their conversion for the
extension module.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import struct
from typing import Any, NamedTuple

import numpy as np

from broadloom._core import Handle

#: The source of a parameter's value: ("given", index of the argument) or ("static", `Static`).
Slot = tuple[Any, ...]


class Form(NamedTuple):
    """The way in which a call passes arguments to the function: the sources of positional and of keyword arguments."""

    positional: tuple[Slot, ...]
    keywords: tuple[tuple[str, Slot], ...]


def in_order(
    bound: inspect.BoundArguments, signature: inspect.Signature
) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """The arguments of a call in the order of the parameters. Arguments after an omitted one are passed as keywords."""
    positional: list[tuple[str, Any]] = []
    keywords: list[tuple[str, Any]] = []
    is_complete = True
    for name, parameter in signature.parameters.items():
        if name not in bound.arguments:
            is_complete = False
            continue
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend((name, x) for x in value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.extend(value.items())
        elif parameter.kind is parameter.KEYWORD_ONLY or not is_complete:
            keywords.append((name, value))
        else:
            positional.append((name, value))
    return positional, keywords


def argument(function: str, name: str, value: Any) -> Any:
    """Converts an argument for the extension module: an exact `numpy.ndarray` that can be shared, or a Python number."""
    if type(value) in (bool, int, float):
        return value
    values = np.asarray(value)
    try:
        Handle.from_numpy(values)
    except TypeError as error:
        shown = f"`{name}`" if name else "an argument"
        raise TypeError(f"{function}: {shown} is {type(value).__name__}: {error}") from None
    except ValueError:
        values = values.astype(values.dtype.newbyteorder("="), order="C")
    return values


class Static:
    """The value of a static argument, as a key that distinguishes kernels. Two keys are equal if their types and values
    are equal, including the items of tuples and frozensets and the bits of floats."""

    __slots__ = ("_hash", "_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key(value)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Static, (self.value,)


#: Marks on the stack: the next item of a frozenset begins; all items of a frozenset are done.
_BEGIN, _END = object(), object()


def _key(value: Any) -> tuple[Any, ...]:
    """The key of a static argument. It is flat, since tuples may be deeply nested: a tuple is encoded as its length,
    followed by the keys of its items. TypeError if a part can't be hashed."""
    made: list[list[Any]] = [[]]
    waiting: list[tuple[Any, Any]] = [(None, value)]
    while waiting:
        mark, item = waiting.pop()
        if mark is _BEGIN:
            made.append([])
            continue
        kind = type(item)
        if mark is _END:
            items = frozenset(tuple(made.pop()) for _ in range(len(item)))
            made[-1].append((kind, items))
        elif issubclass(kind, tuple) and kind.__eq__ is tuple.__eq__:
            made[-1].append((kind, len(item)))
            waiting.extend((None, part) for part in reversed(item))
        elif issubclass(kind, frozenset) and kind.__eq__ is frozenset.__eq__:
            waiting.append((_END, item))
            for part in item:
                waiting += ((None, part), (_BEGIN, None))
        else:
            made[-1].append((kind, _bits(item)))
    return tuple(made[0])


def _bits(item: Any) -> Any:
    """The value by which an item is compared. For a float, it is the bits, since zeros of both signs compare equal and
    NaNs don't. For any other item, it is the item itself."""
    hash(item)
    if isinstance(item, float):
        return struct.pack("d", item)
    if isinstance(item, complex):
        return struct.pack("dd", item.real, item.imag)
    return item.tobytes() if isinstance(item, np.floating) else item


@functools.lru_cache(maxsize=1024)
def can_be_named(name: str) -> bool:
    """Whether an input of a kernel may have the name."""
    try:
        Handle.input(name, "bool", []).text()
    except ValueError:
        return False
    return True


def names_of(signature: inspect.Signature | None, form: Form) -> list[str]:
    """A name for each argument that is passed, valid in a kernel's text."""
    parameters: list[str] = []
    if signature is not None:
        parameters = [
            name for name, p in signature.parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    positional = [(parameters[i] if i < len(parameters) else "", slot) for i, slot in enumerate(form.positional)]
    given = [(name, slot[1]) for name, slot in (*positional, *form.keywords) if slot[0] == "given"]
    taken = [name for name, _ in given]
    names: list[str] = []
    for name, number in given:
        usable = name.isascii() and not name.startswith("captured_") and name not in names and can_be_named(name)
        # A number becomes one or more inputs, which are named by the number's name, `__` and a dtype.
        if not usable or any(other.startswith(f"{name}__") for other in taken):
            tries = (f"arg{number}" + (f"_{i}" if i else "") for i in itertools.count())
            name = next(new for new in tries if not any(x == new or x.startswith(f"{new}__") for x in taken))
        names.append(name)
    return names
