"""Operators that put elements at computed indices, put elements in order, or select them. An index that is out of range is an error
of the run."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from broadloom import _core
from broadloom._core import Handle
from broadloom.onnx._indices import numbers
from broadloom.onnx._literals import INT64, apply, converted, like, select
from broadloom.onnx._row import Built, Call, Row
from broadloom.onnx._shapes import axis_of, extents

MODES = {
    "none": "scatter",
    "add": "scatter_add",
    "mul": "scatter_multiply",
    "max": "scatter_max",
    "min": "scatter_min",
}


def _scatter_elements(call: Call, x: Handle, indices: Handle, updates: Handle) -> Handle:
    shape, wanted, axis = extents(x), extents(indices), axis_of(call.attribute("axis", 0), x.ndim)
    if len(wanted) != len(shape) or extents(updates) != wanted:
        raise ValueError(f"updates of {extents(updates)} at indices of {wanted} for an operand of {shape}")
    if any(has < want for other, (has, want) in enumerate(zip(shape, wanted, strict=True)) if other != axis):
        raise ValueError(f"indices of the shape {wanted} for an operand of {shape}")
    places = [indices if other == axis else numbers(extent, other, len(wanted)) for other, extent in enumerate(wanted)]
    return _scattered(call, x, _positions(places, shape, wanted), updates)


def _scatter_nd(call: Call, x: Handle, indices: Handle, updates: Handle) -> Handle:
    shape, wanted = extents(x), extents(indices)
    if not wanted or not 0 < wanted[-1] <= len(shape):
        raise ValueError(f"indices of the shape {wanted} for an operand of {shape}")
    count, inner = wanted[-1], shape[wanted[-1] :]
    if extents(updates) != [*wanted[:-1], *inner]:
        raise ValueError(f"updates of {extents(updates)} at indices of {wanted} for an operand of {shape}")
    rank, outer = len(wanted) - 1 + len(inner), wanted[:-1]
    every = [slice(None)] * len(outer)
    places = [indices.slice([*every, number]).reshape([*outer, *[1] * len(inner)]) for number in range(count)]
    places += [numbers(extent, len(outer) + other, rank) for other, extent in enumerate(inner)]
    return _scattered(call, x, _positions(places, shape, [*outer, *inner]), updates)


def _positions(places: Sequence[Handle], shape: Sequence[int], wanted: Sequence[int]) -> Handle:
    """The positions in row-major order of tuples of indices, and -1 for those that are out of range."""
    at, is_inside = like(places[0].astype(INT64), 0), None
    for axis, index in enumerate(places):
        extent, index = shape[axis], converted(index, INT64)
        index = select(apply("less", index, like(index, 0)), apply("add", index, like(index, extent)), index)
        inside = apply(
            "logical_and",
            apply("greater_equal", index, like(index, 0)),
            apply("less", index, like(index, extent)),
        )
        is_inside = inside if is_inside is None else apply("logical_and", is_inside, inside)
        at = apply("add", apply("multiply", at, like(at, extent)), index)
    assert is_inside is not None
    return select(is_inside, at, like(at, -1)).broadcast_to(list(wanted))


def _scattered(call: Call, x: Handle, positions: Handle, updates: Handle) -> Handle:
    reduction = call.attribute("reduction", "none")
    if reduction not in MODES:
        raise ValueError(f"`reduction` is {reduction!r}, not one of {', '.join(MODES)}")
    return _core.scatter(MODES[reduction], x, positions, updates)


def _top_k(call: Call, x: Handle, _: Handle | None = None) -> Built:
    axis = axis_of(call.attribute("axis", -1), x.ndim)
    count = [call.attribute("k")] if call.version < 10 else call.integers(1) or []
    if len(count) != 1 or not 0 <= count[0] <= extents(x)[axis]:
        raise ValueError(f"{count} of {extents(x)[axis]} elements")
    made = _core.topk(x, count[0], axis, bool(call.attribute("largest", 1)))
    return list(made[: len(call.node.outputs)])


def _compress(call: Call, x: Handle, _: Handle | None) -> Handle:
    condition, axis = call.array(1), call.attribute("axis")
    if condition is None or condition.ndim != 1:
        raise ValueError("the condition has one axis")
    if axis is None:
        x, axis = x.reshape([prod(extents(x))]), 0
    axis = axis_of(axis, x.ndim)
    count = extents(x)[axis]
    chosen = [number for number, is_chosen in enumerate(condition.tolist()) if is_chosen]
    if chosen and chosen[-1] >= count:
        raise ValueError(f"a condition of {len(condition)} elements for {count}")
    before = [slice(None)] * axis
    # The condition is known while the kernel is built, so that the result is joined from parts.
    parts = [x.slice([*before, slice(number, number + 1)]) for number in chosen]
    return _core.concat("Compress", parts or [x.slice([*before, slice(0, 0)])], axis)


ROWS = (
    Row("Compress", _compress, reads=(1,)),
    Row("ScatterElements", _scatter_elements, generates=False),
    Row("ScatterND", _scatter_nd, generates=False),
    Row("TopK", _top_k, reads=(1,), generates=False),
)
