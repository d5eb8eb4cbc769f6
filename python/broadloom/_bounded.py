"""A bounded cache for later calls, which evicts the oldest entry first, like the tables of the extension module."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: The default maximum number of entries.
ENTRIES = 64


class Bounded(dict[K, V]):
    """A dictionary that evicts its oldest entry when it is full. Threads may share it."""

    __slots__ = ("entries",)

    def __init__(self, entries: int = ENTRIES) -> None:
        super().__init__()
        self.entries = entries

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self._drop()

    def setdefault(self, key: K, default: V) -> V:
        """The value of a key. A missing key is added with the default."""
        made = super().setdefault(key, default)
        self._drop()
        return made

    def _drop(self) -> None:
        while len(self) > self.entries:
            try:
                oldest = next(iter(self))
            except (RuntimeError, StopIteration):
                # Another thread changes the dictionary, and removes the surplus entries itself.
                return
            self.pop(oldest, None)
