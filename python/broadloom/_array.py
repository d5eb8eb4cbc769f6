"""The array: an expression that computes when it is asked for values.

An `Array` holds a handle of an expression, typed when it was built. Asking for all of its values computes them in one pass
and keeps them; asking for one element computes no more than that. Operations are methods of one line over `_core.apply`, so
that what they mean stands in one place, the engine.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any, Self

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom._tracing import refuse, visible_shape, visible_size

Number = bool | int | float

#: An operand with a longer chain of operations behind it is evaluated before it is used, so that a loop which builds on its
#: own results does not compute them again and again.
MAX_DEPTH = 100


class Array:
    """A lazy array: what operators and functions make of other arrays is an expression, computed in one fused loop when its
    values are asked for (by printing, `numpy.asarray`, `bool`, `float`, `int`, `tolist`).

    Made by `broadloom.asarray` and the other creation functions, not by its constructor.
    """

    __slots__ = ("_handle", "_origin", "__weakref__")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    _handle: Handle
    _origin: np.ndarray | None

    def __init__(self) -> None:
        raise TypeError("an Array is made by `broadloom.asarray` and the other creation functions")

    @classmethod
    def _of(cls, handle: Handle, origin: np.ndarray | None = None) -> Self:
        array = object.__new__(cls)
        array._handle = handle
        array._origin = origin
        return array

    # What is known without computing.

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements: one of NumPy's."""
        return self._handle.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None for one that is open, within a function that is being traced."""
        return visible_shape(self._handle)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._handle.ndim

    @property
    def size(self) -> int | None:
        """The number of elements; None where an extent is open."""
        return visible_size(self._handle)

    # Values.

    def _concrete(self, what: str) -> Handle:
        """The handle, of an array that has values: within a function that is being traced, it has none."""
        if self._handle.is_symbolic:
            refuse(what)
        return self._handle

    def _evaluated(self) -> Handle:
        """The handle of the values in memory, which this array keeps."""
        if not self._handle.is_evaluated and self._origin is None:
            self._handle = self._handle.evaluate()
        return self._handle

    def _operand(self) -> Handle:
        """The handle for use in another expression."""
        if self._handle.depth > MAX_DEPTH and not self._handle.is_symbolic:
            self._evaluated()
        return self._handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._concrete("an array of NumPy's")
        if self._origin is not None:
            values = self._origin
        else:
            values = self._evaluated().to_numpy()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to make {np.dtype(dtype)} of {values.dtype}")
            return values.astype(dtype)
        return values.copy() if copy else values

    def __bool__(self) -> bool:
        return bool(self._item("a branch, or bool,"))

    def __int__(self) -> int:
        return int(self._item("int"))

    def __float__(self) -> float:
        return float(self._item("float"))

    def _item(self, what: str) -> Number:
        self._concrete(what)
        if self.size != 1:
            raise ValueError(f"{what}() takes an array of one element, this one has {self.size}")
        return self._handle.item()

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __add__(self, other: Any, /) -> Array:
        return _apply("add", self, other)

    def __mul__(self, other: Any, /) -> Array:
        return _apply("multiply", self, other)

    def __radd__(self, other: Any, /) -> Array:
        return _apply("add", other, self)

    def __rmul__(self, other: Any, /) -> Array:
        return _apply("multiply", other, self)

    def __getitem__(self, key: int | slice | EllipsisType | None | tuple[Any, ...], /) -> Array:
        items = key if isinstance(key, tuple) else (key,)
        return Array._of(self._handle.slice(list(items)))


def _apply(op: str, *operands: Array | Number) -> Array:
    """A function of the op table, of arrays and numbers."""
    return Array._of(_core.apply(op, *(x._operand() if isinstance(x, Array) else x for x in operands)))
