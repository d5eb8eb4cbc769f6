"""Evaluates arrays together that have common subexpressions.

In a loop over several variables that depend on each other, each variable is an expression of the same earlier values.
If the variables were evaluated one by one, these values would be recomputed each time. The evaluation of a long
expression therefore also computes the live arrays that share work with it.

Only arrays of at least `MIN_DEPTH` operations are considered, since recomputing a shorter expression costs less than
the search. The latest `CANDIDATES` of them are recorded by weak references. An array is not evaluated together with a
smaller one: an expression of a billion elements whose mean is requested stays an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard
from weakref import ref

from broadloom import _core, _options
from broadloom._core import Handle

if TYPE_CHECKING:
    from broadloom._array import Array

#: Expressions with fewer operations are evaluated alone. Not measured.
MIN_DEPTH = 8

#: The number of recently created arrays that are considered. Not measured.
CANDIDATES = 64

#: The latest arrays are at the end. Threads share the list: each operation on it below is atomic in Python.
_candidates: list[ref[Array]] = []


def remember(array: Array) -> None:
    """Adds an array to the candidates for evaluation with others."""
    _candidates.append(ref(array))
    if len(_candidates) > 2 * CANDIDATES:
        del _candidates[:-CANDIDATES]


def sharing(arrays: Sequence[Array]) -> list[Array]:
    """The live arrays that have common subexpressions with one of these, and are not larger than it."""
    candidates = {
        id(array): array for array in (reference() for reference in _candidates[-CANDIDATES:]) if _is_long(array)
    }
    for array in arrays:
        candidates.pop(id(array), None)
    found: list[Array] = []
    for handle in [array._handle for array in arrays if candidates and _is_long(array)]:
        # The handles are not symbolic, so their sizes are known.
        others = [other for other in candidates.values() if (other._handle.size or 0) <= (handle.size or 0)]
        for other, shares in zip(others, handle.shares_work([other._handle for other in others]), strict=True):
            if shares:
                found.append(candidates.pop(id(other)))
    return found


def _is_long(array: Array | None) -> TypeGuard[Array]:
    return array is not None and array._handle.depth >= MIN_DEPTH and not array._handle.is_symbolic


def evaluated(array: Array) -> Handle:
    """The handle of an array's values in memory. The arrays that share work with it are evaluated as well."""
    handle = array._handle
    together = sharing([array]) if handle.depth >= MIN_DEPTH else []
    if not together:
        return _options.evaluated(handle)
    handles = [other._handle for other in together]
    try:
        made, *others = _core.evaluate_many([handle, *handles], **_options.options())
    except MemoryError:
        # The memory may suffice for the requested array alone.
        return _options.evaluated(handle)
    for other, before, values in zip(together, handles, others, strict=True):
        other._keep(values, before)
    return made
