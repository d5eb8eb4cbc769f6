"""Elements of an array by their index."""

from __future__ import annotations

from typing import Any

from broadloom._array import Array


def getitem(array: Array, key: Any, /) -> Array:
    """The elements at one int or slice per leading axis."""
    items = key if isinstance(key, tuple) else (key,)
    return Array._of(array._handle.slice(list(items)))
