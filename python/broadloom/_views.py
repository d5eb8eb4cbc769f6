"""Writable views: a result of indexing, `.T`, iteration and NumPy's functions on shapes records the arrays it was taken
from, so that assignment to its elements sets theirs.

Like every expression, a view has the elements that its array had when it was taken. If the array was changed since,
assignment to the view is an error, since its user would change other elements than those seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom._array import Array, Step, Steps
from broadloom._tracing import refuse


class ReadOnly:
    """Stands in the place of a reference to an array, in the views of an array whose elements can't be set: several of them
    may be one element in memory, or NumPy computed where they are."""

    def __init__(self, function: str) -> None:
        self.message = (
            f"elements of what `{function}` returned can't be set: set elements of the array that it was taken from, "
            "`x[key] = value`, or those of a copy, `x.copy()`"
        )

    def __call__(self) -> ReadOnly:
        return self


def read_only(made: Array, function: str) -> Array:
    """Marks an array as the result of a function whose elements can't be set."""
    made._views = ((ReadOnly(function), 0, None),)
    return made


def located(memory: np.ndarray, steps: Steps) -> np.ndarray:
    """The elements of a view, within the memory of the array that it was taken from."""
    order = []
    while steps is not None:
        steps, step = steps
        order.append(step)
    for step in reversed(order):
        if callable(step):
            memory = step(memory)
        else:
            items = step if isinstance(step, tuple) else (step,)
            # With `...` in the key, even a single element is an array.
            memory = memory[items if Ellipsis in items else (*items, ...)]
    return memory


def parents(array: Array) -> list[tuple[Array, Steps]]:
    """The live arrays that an assignment to a view is passed on to, nearest first, each with the steps to the view.

    ValueError if the elements of one of them differ from the view's now, or if the view is read-only; TracerError if one is
    traced.
    """
    found: list[tuple[Array, Steps]] = []
    for reference, version, steps in array._views:
        parent = reference()
        if parent is None:
            continue
        if isinstance(parent, ReadOnly):
            raise ValueError(parent.message)
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


def view_of(x: Any, made: Array, step: Step) -> Array:
    """Marks an array as a view of another one, if that is one of our arrays."""
    return x._taken(made, step) if isinstance(x, Array) else made


def view_by(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Any:
    """Marks the result of a NumPy function that returns views of its first argument as views of that argument."""
    array, *rest = args
    if isinstance(made, Array):
        return array._taken(made, lambda memory: function(memory, *rest, **kwargs))
    for i, one in enumerate(made):
        array._taken(one, lambda memory, i=i: function(memory, *rest, **kwargs)[i])
    return made
