"""Dictionaries that keep results for later calls, up to a number: the oldest entry is dropped first, as in the tables
of the extension module."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: The most entries that are kept unless another number is given.
ENTRIES = 64


class Bounded(dict[K, V]):
    """A dictionary that drops its oldest entry when it has too many. Threads may share it."""

    __slots__ = ("entries",)

    def __init__(self, entries: int = ENTRIES) -> None:
        super().__init__()
        self.entries = entries

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self._drop()

    def setdefault(self, key: K, default: V) -> V:
        """The value of a key, which is the default from now on if it had none."""
        made = super().setdefault(key, default)
        self._drop()
        return made

    def _drop(self) -> None:
        while len(self) > self.entries:
            # Another thread may have dropped the same entry.
            self.pop(next(iter(self)), None)
