"""Operators that relate each element to the others along axes: softmax and similar functions, and normalisations.

float16 is computed as float32 and rounded at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from broadloom._core import Handle
from broadloom.onnx._graph import Node
from broadloom.onnx._literals import FLOAT32, apply, back, converted, like, select, widened
from broadloom.onnx._reductions import log_shift
from broadloom.onnx._row import Call, Row

#: From this version on, the functions work along one axis. Before, all axes from the given one on were flattened to
#: one.
_ONE_AXIS = 13


def _axis(call: Call, x: Handle, default: int) -> int:
    axis = call.attribute("axis", default)
    if not -x.ndim <= axis <= x.ndim or (axis == x.ndim and call.version >= _ONE_AXIS):
        raise ValueError(f"there is no axis {axis} of rank {x.ndim}")
    return int(axis + x.ndim if axis < 0 else axis)


def _along(call: Call, x: Handle) -> list[int]:
    if call.version >= _ONE_AXIS:
        return [_axis(call, x, -1)]
    return list(range(_axis(call, x, 1), x.ndim))


def _softmax(call: Call, given: Handle) -> Handle:
    x, axes = widened(given), _along(call, given)
    if given.size == 0:
        return given
    # Without axes, each element is reduced by itself.
    top = x.reduce("max", axes, True) if axes else x
    powers = apply("exp", apply("subtract", x, top))
    total = powers.reduce("sum", axes, True) if axes else powers
    return back(apply("divide", powers, total), given)


def _log_softmax(call: Call, given: Handle) -> Handle:
    x, axes = widened(given), _along(call, given)
    if given.size == 0:
        return given
    return back(log_softmax(x, axes), given)


def log_softmax(x: Handle, axes: list[int]) -> Handle:
    """The logarithm of the softmax along axes; without axes, that of each element by itself."""
    shifted = apply("subtract", x, log_shift(x, axes) if axes else x)
    powers = apply("exp", shifted)
    total = powers.reduce("sum", axes, True) if axes else powers
    return apply("subtract", shifted, apply("log", total))


def _hardmax(call: Call, given: Handle) -> Handle:
    if given.size == 0:
        return given
    shape = [extent or 0 for extent in given.shape]
    axis = _axis(call, given, -1 if call.version >= _ONE_AXIS else 1)
    x = given
    if call.version < _ONE_AXIS:
        x = given.reshape([int(np.prod(shape[:axis], dtype=np.int64)), -1])
        axis = 1
    first = x.reduce("argmax", [axis], True)
    made = select(apply("equal", x.indices(axis), first), like(x, 1), like(x, 0))
    return made.reshape(shape)


def _layer_normalization(call: Call, given: Handle, scale: Handle, bias: Handle | None = None) -> Sequence[Handle]:
    x = widened(given) if call.attribute("stash_type", 1) == 1 else given
    axes = list(range(_axis(call, given, -1), given.ndim))
    mean = x.reduce("mean", axes, True)
    centred = apply("subtract", x, mean)
    variance = apply("square", centred).reduce("mean", axes, True)
    deviation = apply("sqrt", apply("add", variance, like(x, call.attribute("epsilon", 1e-5))))
    inverse = apply("reciprocal", deviation)
    made = apply("multiply", back(apply("multiply", centred, inverse), scale), scale)
    if bias is not None:
        made = apply("add", made, bias)
    return [made, converted(mean, FLOAT32), converted(inverse, FLOAT32)]


def _stashed(node: Node, types: Sequence[str | None]) -> list[str | None]:
    return [types[0], "tensor(float)", "tensor(float)"]


def _stash_type(node: Node) -> str | None:
    stash = node.attributes.get("stash_type", 1)
    return None if stash == 1 else f"`stash_type` is {stash}, and float32 alone (1) is supported"


def _lp_normalization(call: Call, given: Handle) -> Handle:
    x, axis = widened(given), call.attribute("axis", -1)
    if call.attribute("p", 2) == 1:
        norm = apply("abs", x).reduce("sum", [axis], True)
    else:
        norm = apply("sqrt", apply("square", x).reduce("sum", [axis], True))
    zero = like(x, 0)
    return back(select(apply("equal", norm, zero), zero, apply("divide", x, norm)), given)


def _order(node: Node) -> str | None:
    order = node.attributes.get("p", 2)
    return None if order in (1, 2) else f"`p` is {order}, and ONNX has 1 and 2"


def _channels(rank: int) -> Callable[[Handle], Handle]:
    return lambda x: x.reshape([-1, *[1] * (rank - 2)]) if rank > 1 else x


def _batch_normalization(
    call: Call, given: Handle, scale: Handle, bias: Handle, mean: Handle, variance: Handle
) -> Handle:
    x, shaped = widened(given), _channels(given.ndim)
    scale, bias, mean, variance = (shaped(back(part, x)) for part in (scale, bias, mean, variance))
    deviation = apply("sqrt", apply("add", variance, like(x, call.attribute("epsilon", 1e-5))))
    normal = apply("divide", apply("subtract", x, mean), deviation)
    return back(apply("add", apply("multiply", normal, scale), bias), given)


def _inference(node: Node) -> str | None:
    training = node.attributes.get("training_mode", 0) or (node.version < 7 and not node.attributes.get("is_test", 0))
    if training or len(node.outputs) > 1:
        return "in training, statistics of a batch are state"
    if node.version < 9 and not node.attributes.get("spatial", 1):
        return "`spatial=0` is not supported"
    return None


def _instance_normalization(call: Call, given: Handle, scale: Handle, bias: Handle) -> Handle:
    x, shaped = widened(given), _channels(given.ndim)
    axes = list(range(2, given.ndim))
    centred = apply("subtract", x, x.reduce("mean", axes, True)) if axes else apply("subtract", x, x)
    variance = apply("square", centred)
    variance = variance.reduce("mean", axes, True) if axes else variance
    deviation = apply("sqrt", apply("add", variance, like(x, call.attribute("epsilon", 1e-5))))
    normal = apply("divide", centred, deviation)
    scale, bias = (shaped(back(part, x)) for part in (scale, bias))
    return back(apply("add", apply("multiply", normal, scale), bias), given)


#: Softmax and similar functions.
SOFTMAX = (
    Row("Hardmax", _hardmax, note="the first of equals; NaN before all numbers"),
    Row("LogSoftmax", _log_softmax, note="without overflow"),
    Row("Softmax", _softmax, note="without overflow"),
)

ROWS = (
    Row("BatchNormalization", _batch_normalization, refuses=_inference, note="inference only"),
    Row("InstanceNormalization", _instance_normalization),
    Row("LayerNormalization", _layer_normalization, gives=_stashed, refuses=_stash_type),
    Row("LpNormalization", _lp_normalization, refuses=_order, note="0 where the norm is 0"),
)
