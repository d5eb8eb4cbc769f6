"""The methods that the generated operators and reductions of arrays with nulls call, and the operators that are not
functions of the op table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom._operators import OverArrays
from broadloom._tracebacks import methods_show_users_lines

if TYPE_CHECKING:
    from broadloom._nullable_array import NullableArray

Axis = int | tuple[int, ...] | None


@methods_show_users_lines
class NullableOperators(OverArrays):
    """A base of `NullableArray`, which defines what is declared here."""

    __slots__ = ()

    def _operated(self, op: str, *operands: Any) -> NullableArray:
        """Applies a function of the op table. NotImplemented for an operand whose own operator may handle the
        operation."""
        raise NotImplementedError

    def _paired(self, ufunc: np.ufunc, *operands: Any) -> tuple[NullableArray, NullableArray]:
        """Applies a universal function with two results. NotImplemented for an operand whose own operator may handle
        the operation."""
        raise NotImplementedError

    def _skipping(self, name: str, axis: Axis, **options: Any) -> NullableArray:
        """Applies a reduction of the valid elements."""
        raise NotImplementedError

    def __divmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, self, other)

    def __rdivmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, other, self)

    def __round__(self, ndigits: int | None = None, /) -> NullableArray:
        values: Any = self
        made: NullableArray = np.round(values, 0 if ndigits is None else ndigits)
        return made
