"""Arrays that are evaluated together, since they compute the same things.

In a loop over several variables that depend on each other, each variable is an expression of the same earlier values. Evaluated one
by one, they would compute these again each time. So the evaluation of a long expression also computes the live arrays that share work
with it.

Only arrays of at least `MIN_DEPTH` operations are candidates, and the latest `CANDIDATES` of them are known by weak
references: computing an expression of a few operations again costs less than looking for it. Larger arrays are not
evaluated with a smaller one: an expression of a billion elements whose mean is requested stays an expression.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard
from weakref import ref

from broadloom import _core, _options
from broadloom._core import Handle

if TYPE_CHECKING:
    from broadloom._array import Array

#: Expressions of fewer operations are evaluated alone. The number was not measured.
MIN_DEPTH = 8

#: How many of the latest arrays are candidates for evaluation with others. The number was not measured.
CANDIDATES = 64

_candidates: deque[ref[Array]] = deque(maxlen=CANDIDATES)


def remember(array: Array) -> None:
    """Makes an array a candidate for evaluation with others."""
    _candidates.append(ref(array))


def sharing(arrays: Sequence[Array]) -> list[Array]:
    """The live arrays that share work with one of these arrays, and are no larger than it."""
    candidates = {id(array): array for array in (reference() for reference in tuple(_candidates)) if _is_long(array)}
    for array in arrays:
        candidates.pop(id(array), None)
    found: list[Array] = []
    for handle in [array._handle for array in arrays if candidates and _is_long(array)]:
        # An array that is not symbolic has a size.
        others = [other for other in candidates.values() if other._handle.size <= handle.size]  # type: ignore[operator]
        for other, shares in zip(others, handle.shares_work([other._handle for other in others]), strict=True):
            if shares:
                found.append(candidates.pop(id(other)))
    return found


def _is_long(array: Array | None) -> TypeGuard[Array]:
    return array is not None and array._handle.depth >= MIN_DEPTH and not array._handle.is_symbolic


def evaluated(array: Array) -> Handle:
    """The handle of the values of an array in memory; the arrays that share work with it are evaluated as well."""
    handle = array._handle
    together = sharing([array]) if handle.depth >= MIN_DEPTH else []
    if not together:
        return _options.evaluated(handle)
    handles = [other._handle for other in together]
    try:
        made, *others = _core.evaluate_many([handle, *handles], **_options.options())
    except MemoryError:
        # There may be enough memory for the array that is needed.
        return _options.evaluated(handle)
    for other, before, values in zip(together, handles, others, strict=True):
        # A handle that another thread gave to the array during the run stays.
        if other._handle is before:
            other._keep(values)
    return made
