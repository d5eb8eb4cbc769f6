"""Operators on shapes: views of an expression, which move no element, and queries of a shape.

Depending on the version, extents, axes and slices are attributes or inputs; the values of such inputs are read when a
kernel is built. `Concat` is not a view: each operand is computed directly into its part of a new array, which the
following kernels read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from broadloom import Array, tril, triu
from broadloom._core import Handle
from broadloom.onnx._graph import Node
from broadloom.onnx._literals import INT64, literal
from broadloom.onnx._row import Call, Reading, Row


def extents(x: Handle) -> list[int]:
    """The shape of an operand. It is always known when a kernel is built."""
    return [extent or 0 for extent in x.shape]


def _given(call: Call, name: str, number: int) -> list[int] | None:
    """A list of integers that is an attribute in older versions and an input in newer ones."""
    found = call.attribute(name)
    return call.integers(number) if found is None else list(found)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the first; ValueError if it does not exist."""
    if not -rank <= axis < rank:
        raise ValueError(f"there is no axis {axis} of rank {rank}")
    return axis % rank


def _reshape(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    wanted, shape = _given(call, "shape", 1) or [], extents(x)
    zero_is_zero = bool(call.attribute("allowzero", 0))
    if zero_is_zero and -1 in wanted and 0 in wanted:
        raise ValueError(f"with `allowzero`, the shape {wanted} has both 0 and -1")
    made: list[int] = []
    for axis, extent in enumerate(wanted):
        if extent < -1:
            raise ValueError(f"the shape {wanted} has the extent {extent}")
        if extent == 0 and not zero_is_zero:
            if axis >= len(shape):
                raise ValueError(f"the shape {wanted} copies axis {axis}, which rank {len(shape)} has not")
            extent = shape[axis]
        made.append(extent)
    if -1 in made:
        size, others = x.size or 0, prod(extent for extent in made if extent != -1)
        if made.count(-1) > 1 or (size % others if others else size):
            raise ValueError(f"{shape} has no shape {wanted}")
        made[made.index(-1)] = size // others if others else 0
    return x.reshape(made)


def _flatten(call: Call, x: Handle) -> Handle:
    shape, axis = extents(x), call.attribute("axis", 1)
    if not -x.ndim <= axis <= x.ndim:
        raise ValueError(f"there is no axis {axis} of rank {x.ndim}")
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape([prod(shape[:axis]), prod(shape[axis:])])


def _squeeze(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    shape, axes = extents(x), _given(call, "axes", 1)
    if axes is None:
        gone = {axis for axis, extent in enumerate(shape) if extent == 1}
    else:
        gone = {axis_of(axis, x.ndim) for axis in axes}
    for axis in gone:
        if shape[axis] != 1:
            raise ValueError(f"axis {axis} of {shape} has not the extent 1")
    return x.reshape([extent for axis, extent in enumerate(shape) if axis not in gone])


def _unsqueeze(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    axes = _given(call, "axes", 1) or []
    rank = x.ndim + len(axes)
    new = {axis_of(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise ValueError(f"the axes {axes} name one twice")
    old = iter(extents(x))
    return x.reshape([1 if axis in new else next(old) for axis in range(rank)])


def _transpose(call: Call, x: Handle) -> Handle:
    order = call.attribute("perm")
    return x.permute_dims(list(range(x.ndim))[::-1] if order is None else list(order))


def _expand(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    wanted = call.integers(1) or []
    if any(extent < 0 for extent in wanted):
        raise ValueError(f"the shape {wanted} has a negative extent")
    return x.broadcast_to([int(n) for n in _broadcast(extents(x), wanted)])


def _broadcast(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """The shape that two shapes broadcast to. NumPy's function is not used, since it limits the number of axes and the
    sizes."""
    rank = max(len(one), len(other))
    pairs = zip([1] * (rank - len(one)) + list(one), [1] * (rank - len(other)) + list(other), strict=True)
    made = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise ValueError(f"shapes {list(one)} and {list(other)} do not broadcast")
        made.append(b if a == 1 else a)
    return made


def _clamped(start: int, end: int, step: int, extent: int) -> slice:
    """A slice clamped by ONNX's rules, as a Python slice."""
    if step == 0:
        raise ValueError("a step is 0")
    if extent == 0:
        return slice(0, 0)
    start, end = (bound + extent if bound < 0 else bound for bound in (start, end))
    if step > 0:
        start, end = (min(max(bound, 0), extent) for bound in (start, end))
        return slice(start, max(start, end), min(step, extent))
    start, end = min(max(start, 0), extent - 1), min(max(end, -1), extent - 1)
    if end >= start:
        return slice(0, 0)
    return slice(start, None if end < 0 else end, max(step, -extent))


def _regions(call: Reading, shape: Sequence[int]) -> list[slice]:
    """The region that a `Slice` takes of a shape, as Python slices."""
    if call.version < 10:
        starts, ends = (list(call.attribute(name, [])) for name in ("starts", "ends"))
        axes, steps = call.attribute("axes"), None
    else:
        starts, ends = call.integers(1) or [], call.integers(2) or []
        axes, steps = call.integers(3), call.integers(4)
    axes = list(range(len(starts))) if axes is None else list(axes)
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ValueError(f"starts, ends, axes and steps have {len(starts)}, {len(ends)}, {len(axes)}, {len(steps)}")
    items = [slice(None)] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = axis_of(axis, len(shape))
        if items[at] != slice(None):
            raise ValueError(f"axis {axis} is named twice")
        items[at] = _clamped(start, end, step, shape[at])
    return items


def _slice(call: Call, x: Handle, *_: Handle | None) -> Handle:
    items: list[int | slice] = [*_regions(call, extents(x))]
    return x.slice(items) if items else x


def sliced(call: Reading, x: np.ndarray) -> np.ndarray:
    """The view of an array that a `Slice` takes, for bounds that differ between iterations."""
    region: tuple[Any, ...] = (*_regions(call, x.shape), ...)
    view: np.ndarray = x[region]
    return view


def _split(call: Call, x: Handle, _: Handle | None = None) -> list[Handle]:
    axis, count = axis_of(call.attribute("axis", 0), x.ndim), len(call.node.outputs)
    extent, sizes = extents(x)[axis], _given(call, "split", 1)
    if sizes is None:
        parts = call.attribute("num_outputs", count)
        if parts != count:
            raise ValueError(f"`num_outputs` is {parts}, and there are {count} outputs")
        if call.version < 18 and extent % count:
            raise ValueError(f"an axis of {extent} has no {count} equal parts")
        size = -(-extent // count)
        sizes = [max(0, min(size, extent - size * number)) for number in range(count)]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != extent:
        raise ValueError(f"parts of {sizes} for {count} outputs are not the {extent} along axis {axis}")
    made, start = [], 0
    for size in sizes:
        made.append(x.slice([*[slice(None)] * axis, slice(start, start + size)]))
        start += size
    return made


def _numbers(values: Sequence[int]) -> Handle:
    return Handle.from_numpy(np.array(values, dtype=np.int64))


def _shape(call: Call, x: Handle) -> Handle:
    shape = extents(x)
    first, last = call.attribute("start", 0), call.attribute("end")
    # Python's slices are clamped as ONNX requires.
    return _numbers(shape[first : None if last is None else last])


def _size(call: Call, x: Handle) -> Handle:
    return literal(prod(extents(x)), INT64)


def _trilu(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    triangle = triu if call.attribute("upper", 1) else tril
    return triangle(Array._of(x), k=(call.integers(1) or [0])[0])._handle


def concat_axis(call: Call, shapes: Sequence[Sequence[int]]) -> tuple[int, list[int]]:
    """The axis of a `Concat`, and the shape of its result; ValueError for incompatible operands."""
    first = list(shapes[0])
    axis = axis_of(call.attribute("axis", 1), len(first))
    for shape in shapes:
        if len(shape) != len(first) or [*shape[:axis], *shape[axis + 1 :]] != first[:axis] + first[axis + 1 :]:
            raise ValueError(f"shapes {first} and {list(shape)} may differ along axis {axis} only")
    first[axis] = sum(shape[axis] for shape in shapes)
    return axis, first


def parts_along(axis: int, shapes: Sequence[Sequence[int]]) -> list[tuple[Any, ...]]:
    """The regions of the operands in the result of a `Concat`."""
    parts: list[tuple[Any, ...]] = []
    start = 0
    for shape in shapes:
        parts.append((*[slice(None)] * axis, slice(start, start + shape[axis])))
        start += shape[axis]
    return parts


def _concat(call: Call, *operands: Handle) -> Handle:
    """Concatenates known values. For unknown values, the plan has a step that does it."""
    shapes = [extents(x) for x in operands]
    axis, whole = concat_axis(call, shapes)
    values = call.values.allocate(whole, operands[0].dtype)
    for x, part in zip(operands, parts_along(axis, shapes), strict=True):
        call.values.evaluate_into(x, values[part])
    return Handle.from_numpy(values)


def _one_type(node: Node) -> str | None:
    return None if any(node.inputs) else "it has no operands"


ROWS = (
    Row(
        "Concat",
        _concat,
        generates=False,
        refuses=_one_type,
        note="cuts the kernel: operands are computed into their places",
    ),
    Row("Expand", _expand, reads=(1,)),
    Row("Flatten", _flatten),
    Row("Identity", lambda call, x: x),
    Row("Reshape", _reshape, reads=(1,)),
    Row("Shape", _shape, generates=False),
    Row("Size", _size, generates=True),
    Row("Slice", _slice, reads=(1, 2, 3, 4)),
    Row("Split", _split, reads=(1,)),
    Row("Squeeze", _squeeze, reads=(1,)),
    Row("Transpose", _transpose),
    Row("Trilu", _trilu, reads=(1,)),
    Row("Unsqueeze", _unsqueeze, reads=(1,)),
)
