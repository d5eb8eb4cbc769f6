"""The function by which the generated draws call the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from broadloom import _core
from broadloom._array import Array
from broadloom._dtypes import dtype_of
from broadloom._operands import shape_of
from broadloom._operators import handle_of, operand

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def drawn(name: str, shape: int | Sequence[int], dtype: DTypeLike | None, key: Any, *parameters: Any) -> Array:
    """A draw by its name. The parameters are those of the distribution."""
    extents = shape_of(name, shape)
    wanted = None if dtype is None else dtype_of(dtype)
    return Array._of(_core.draw(name, extents, wanted, handle_of(key), *map(operand, parameters)))
