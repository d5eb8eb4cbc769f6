"""Views that are written through: an array that indexing, `.T`, iteration or a NumPy function on shapes gives knows
from which arrays it was taken, so that setting its elements sets theirs.

Like every expression, a view holds the elements that its array had when the view was taken. If the array was changed
since then, setting elements of the view is an error: its user has seen other elements than those that would be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from broadloom._array import Array, Steps
from broadloom._tracing import refuse


def located(memory: np.ndarray, steps: Steps) -> np.ndarray:
    """The elements of a view, as a part of the memory of the array from which it was taken."""
    order = []
    while steps is not None:
        steps, step = steps
        order.append(step)
    for step in reversed(order):
        if callable(step):
            memory = step(memory)
        else:
            items = step if isinstance(step, tuple) else (step,)
            # With `...` in the key, NumPy gives a single element as an array too.
            memory = memory[items if Ellipsis in items else (*items, ...)]
    return memory


def parents(array: Array) -> list[tuple[Array, Steps]]:
    """The arrays from which a view was taken and that still exist, each with the steps to the view's place in it, the
    nearest array first.

    ValueError if the elements of one of them differ from the view's now; TracerError if one is traced.
    """
    found: list[tuple[Array, Steps]] = []
    for reference, version, steps in array._views:
        parent = reference()
        if parent is None:
            continue
        if parent._handle.is_symbolic:
            refuse(
                "setting elements of a view",
                advice="use broadloom.where(condition, value, x), or x[mask] = value, or set those of a copy, x[key].copy()",
            )
        if parent._version != version and not _has_elements(parent, steps, array):
            raise ValueError(
                "the array that this view was taken from has other elements now: take the view again, set elements of the "
                "array itself, `x[key] = value`, or set those of a copy, `x[key].copy()`"
            )
        found.append((parent, steps))
    return found


def _has_elements(parent: Array, steps: Steps, view: Array) -> bool:
    """Whether the elements of a view are still equal, bit for bit, to those at its place in the array from which it was
    taken."""
    there, here = located(np.asarray(parent), steps), np.asarray(view)
    return bool(there.shape == here.shape and there.dtype == here.dtype and there.tobytes() == here.tobytes())


def view_of(x: Any, made: Array, step: Callable[[np.ndarray], np.ndarray]) -> Array:
    """Makes a result a view of the array `x`, if `x` is one of broadloom's."""
    return x._taken(made, step) if isinstance(x, Array) else made


def view_by(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Any:
    """Makes the results of a NumPy function that gives views of its first argument views of that array."""
    array, *rest = args
    if isinstance(made, Array):
        return array._taken(made, lambda memory: function(memory, *rest, **kwargs))
    for i, one in enumerate(made):
        array._taken(one, lambda memory, i=i: function(memory, *rest, **kwargs)[i])
    return made
