"""Operators whose results have a shape that depends on values. They end a kernel: the backend computes them from the values that
the kernels before them give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom.onnx._control import Run, Values
from broadloom.onnx._graph import Node


@dataclass(frozen=True)
class Selection:
    """An operator of this kind. `run` receives the node, the values around it by name, and the run; it returns the values of the
    node's outputs, which are arrays of their own. `note` describes how ONNX differs from the engine."""

    name: str
    run: Callable[[Node, Values, Run], list[np.ndarray]]
    note: str = ""


def _nonzero(node: Node, values: Values, run: Run) -> list[np.ndarray]:
    x = values[node.inputs[0]]
    run.check_time(node)
    if x.ndim == 0:
        return [np.empty((0, int(x != 0)), np.int64)]
    found = _core.nonzero(Handle.from_numpy(x))
    return [np.stack([indices.to_numpy() for indices in found])]


def _unique(node: Node, values: Values, run: Run) -> list[np.ndarray]:
    x, axis = values[node.inputs[0]], node.attributes.get("axis")
    run.check_time(node)
    if axis is None:
        found, first, inverse, counts = (part.to_numpy() for part in _core.unique_all(Handle.from_numpy(x)))
        inverse = inverse.reshape(-1)
    else:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"{node}: there is no axis {axis}, the rank is {x.ndim}")
        first, inverse, counts = _unique_rows(np.moveaxis(x, axis, 0))
        found = np.take(x, first, axis)
    if not node.attributes["sorted"]:
        # In the order of first occurrences.
        order = np.argsort(first)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        found = np.take(found, order, axis or 0)
        first, inverse, counts = first[order], places[inverse], counts[order]
    return [found, first, inverse, counts][: len(node.outputs)]


def _unique_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The indices of the first occurrences of the distinct elements along the first axis, in ascending order of their elements;
    the number of the distinct one for each; and the number of occurrences."""
    rows = x.reshape(len(x), -1)
    # The last key is the first to be compared. The sort is stable, so that the first row of equal ones is the first occurrence.
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ordered = rows[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=len(rows))
    return order[starts].astype(np.int64), inverse, counts.astype(np.int64)


SELECTIONS = (
    Selection("NonZero", _nonzero, "of a number, one column without rows if it is not 0"),
    Selection("Unique", _unique, "each NaN is a value of its own"),
)
