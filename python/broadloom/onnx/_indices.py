"""Operators that move elements: by indices that are computed, by pads, and by repetition. The indices are computed in the loop
that uses the elements; one that is out of range is an error of the run.
"""

from __future__ import annotations

import numpy as np

from broadloom import Array, _core, arange, tile
from broadloom._core import Handle
from broadloom.onnx._literals import INT64, apply, back, converted, like, select, widened
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import axis_of, extents

MODES = ("constant", "edge", "reflect", "wrap")


def _gather(call: Call, x: Handle, indices: Handle) -> Handle:
    return _core.take(x, indices, axis_of(call.attribute("axis", 0), x.ndim), "raise")


def _gather_elements(call: Call, x: Handle, indices: Handle) -> Handle:
    axis, wanted = axis_of(call.attribute("axis", 0), x.ndim), extents(indices)
    if indices.ndim != x.ndim:
        raise ValueError(f"the indices have {indices.ndim} axes, the operand {x.ndim}")
    # Along the other axes, elements at the same places are taken.
    parts = [slice(None) if other == axis else slice(0, extent) for other, extent in enumerate(wanted)]
    part = x.slice(parts)
    if any(has != want for other, (has, want) in enumerate(zip(extents(part), wanted, strict=True)) if other != axis):
        raise ValueError(f"indices of the shape {wanted} for an operand of {extents(x)}")
    return _core.take_along_axis(part, indices, axis)


def _gather_nd(call: Call, x: Handle, indices: Handle) -> Handle:
    shape, wanted, batch = extents(x), extents(indices), call.attribute("batch_dims", 0)
    if not wanted or not 0 < wanted[-1] <= len(shape) - batch or shape[:batch] != wanted[:-1][:batch]:
        raise ValueError(f"indices of the shape {wanted} and {batch} axes of batches for an operand of {shape}")
    rank = len(wanted) - 1
    places = [numbers(shape[axis], axis, rank) for axis in range(batch)]
    places += [indices.slice([*[slice(None)] * rank, number]) for number in range(wanted[-1])]
    return _core.gather(x, places, 0)


def numbers(extent: int, axis: int, rank: int) -> Handle:
    """The numbers from 0 on along one of the axes."""
    numbers = arange(extent, dtype=INT64)._handle
    return numbers.reshape([extent if other == axis else 1 for other in range(rank)])


def _one_hot(call: Call, indices: Handle, _: Handle | None, values: Handle) -> Handle:
    depth = call.integers(1) or []
    if len(depth) != 1 or depth[0] < 0 or extents(values) != [2]:
        raise ValueError("the depth is one number, and the values are those of off and on")
    rank = indices.ndim + 1
    axis = axis_of(call.attribute("axis", -1), rank)
    if indices.dtype == np.uint64:
        # As int64, a large one would be negative.
        indices = apply("minimum", indices, like(indices, depth[0]))
    at = converted(indices, INT64).expand_dims(axis)
    at = select(apply("less", at, like(at, 0)), apply("add", at, like(at, depth[0])), at)
    is_on = apply("equal", at, numbers(depth[0], axis, rank))
    return select(is_on, values.slice([1]), values.slice([0]))


def _pad(
    call: Call, x: Handle, _: Handle | None = None, value: Handle | None = None, __: Handle | None = None
) -> Handle:
    pads = call.attribute("pads", call.attribute("paddings")) if call.version < 11 else call.integers(1)
    axes = [axis_of(axis, x.ndim) for axis in (call.integers(3) or range(x.ndim))]
    mode = call.attribute("mode", "constant")
    if pads is None or len(pads) != 2 * len(axes) or len(set(axes)) < len(axes) or mode not in MODES:
        raise ValueError(f"pads {pads} of {len(axes)} axes by `{mode}`")
    widths, parts = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for number, axis in enumerate(axes):
        before, after = pads[number], pads[number + len(axes)]
        extent = extents(x)[axis]
        if max(-before, 0) + max(-after, 0) > extent:
            raise ValueError(f"pads of {before} and {after} remove more than the {extent} elements of axis {axis}")
        # Negative pads remove elements.
        parts[axis] = slice(max(-before, 0), extent - max(-after, 0))
        widths[axis] = (max(before, 0), max(after, 0))
    filling = like(x, call.attribute("value", 0.0)) if value is None else value.reshape([])
    return _core.pad(x.slice(parts) if parts else x, widths, mode, filling)


def _reverse_sequence(call: Call, x: Handle, lengths: Handle) -> Handle:
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    if x.ndim < 2 or {time, batch} != {0, 1}:
        raise ValueError(f"the axes of time and of batches are 0 and 1, not {time} and {batch}")
    length = converted(lengths, INT64).reshape([-1 if axis == batch else 1 for axis in range(x.ndim)])
    at = numbers(extents(x)[time], time, x.ndim)
    # What follows a sequence stays where it is.
    reversed_at = apply("subtract", apply("subtract", length, like(length, 1)), at)
    return _core.take_along_axis(x, select(apply("less", at, length), reversed_at, at), time)


def _rotary_embedding(
    call: Call, given: Handle, cosines: Handle, sines: Handle, positions: Handle | None = None
) -> Handle:
    """Pairs of elements as complex numbers, rotated by the angles of their positions; float16 is computed as float32."""
    x = widened(given)
    if x.ndim == 3:
        heads = call.attribute("num_heads", 0)
        batch, length, hidden = extents(x)
        if heads < 1 or hidden % heads:
            raise ValueError(f"{hidden} elements in {heads} heads")
        x = x.reshape([batch, length, heads, hidden // heads])
    else:
        x = x.permute_dims([0, 2, 1, 3])
    caches = (widened(cosines), widened(sines))
    if positions is not None:
        caches = (_core.take(caches[0], positions, 0, "raise"), _core.take(caches[1], positions, 0, "raise"))
    cos, sin = (cache.expand_dims(2) for cache in caches)
    turned = call.attribute("rotary_embedding_dim", 0) or extents(x)[-1]
    everything = [slice(None)] * 3
    if call.attribute("interleaved", 0):
        pair = [x.slice([*everything, slice(first, turned, 2)]) for first in (0, 1)]
    else:
        half = turned // 2
        pair = [x.slice([*everything, part]) for part in (slice(0, half), slice(half, turned))]
    real = apply("subtract", apply("multiply", cos, pair[0]), apply("multiply", sin, pair[1]))
    imaginary = apply("add", apply("multiply", sin, pair[0]), apply("multiply", cos, pair[1]))
    if call.attribute("interleaved", 0):
        rotated = _core.concat("RotaryEmbedding", [real.expand_dims(4), imaginary.expand_dims(4)], 4)
        rotated = rotated.reshape([*extents(x)[:3], turned])
    else:
        rotated = _core.concat("RotaryEmbedding", [real, imaginary], 3)
    made = _core.concat("RotaryEmbedding", [rotated, x.slice([*everything, slice(turned, None)])], 3)
    return back(made.reshape(extents(given)) if given.ndim == 3 else made.permute_dims([0, 2, 1, 3]), given)


def _tile(call: Call, x: Handle, *_: Handle | None) -> Handle:
    times = call.integers(1) or []
    if call.version < 6:
        axis = axis_of((call.integers(2) or [0])[0], x.ndim)
        times = [times[0] if other == axis else 1 for other in range(x.ndim)]
    if len(times) != x.ndim:
        raise ValueError(f"{len(times)} repetitions of {x.ndim} axes")
    return tile(Array._of(x), tuple(times))._handle


ROWS = (
    Row("Gather", _gather, generates=False),
    Row("GatherElements", _gather_elements, generates=False),
    Row("GatherND", _gather_nd, generates=False),
    Row("OneHot", _one_hot, reads=(1,)),
    Row("Pad", _pad, reads=(1, 3)),
    Row("ReverseSequence", _reverse_sequence, generates=False),
    Row("RotaryEmbedding", _rotary_embedding),
    Row("Tile", _tile, reads=(1, 2)),
)
