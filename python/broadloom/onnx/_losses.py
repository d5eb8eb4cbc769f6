"""Losses of a classification, computed from scores along axis 1 and a label for each place on the other axes.

float16 is computed as float32 and rounded at the end.
"""

from __future__ import annotations

from broadloom import _core
from broadloom._core import Handle
from broadloom.onnx._literals import INT64, apply, back, converted, like, select, widened
from broadloom.onnx._normalization import log_softmax
from broadloom.onnx._row import Built, Call, Row


def _likelihood(call: Call, x: Handle, labels: Handle, weights: Handle | None) -> Handle:
    """The negative logarithm of the probability of each label, times its weight; their mean or sum, unless `reduction` says
    none. `ignore_index` is a label whose elements have no weight."""
    at = converted(labels, INT64)
    ignored = call.attribute("ignore_index")
    is_ignored = None if ignored is None else apply("equal", at, like(at, ignored))
    if is_ignored is not None:
        # What is ignored need not be the index of a class.
        at = select(is_ignored, like(at, 0), at)
    weight = None if weights is None else _core.take(widened(weights), at, 0, "raise")
    if is_ignored is not None:
        weight = like(x, 1) if weight is None else weight
        weight = select(is_ignored, like(weight, 0), weight)
    found = apply("negative", _core.take_along_axis(x, at.expand_dims(1), 1).squeeze(1))
    if is_ignored is not None:
        # An infinite score times a weight of 0 would be NaN.
        found = select(is_ignored, like(found, 0), found)
    loss = found if weight is None else apply("multiply", found, weight)
    reduction = call.attribute("reduction", "mean")
    axes = list(range(loss.ndim))
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.reduce("sum", axes, False)
    if reduction != "mean":
        raise ValueError(f"`reduction` is {reduction!r}, not none, sum or mean")
    if weight is None:
        return loss.reduce("mean", axes, False)
    return apply("divide", loss.reduce("sum", axes, False), weight.reduce("sum", axes, False))


def _has_classes(x: Handle, labels: Handle) -> None:
    if x.ndim < 2 or labels.ndim != x.ndim - 1:
        raise ValueError(f"scores of rank {x.ndim} and labels of rank {labels.ndim}")


def _negative_log_likelihood(call: Call, x: Handle, labels: Handle, weights: Handle | None = None) -> Handle:
    _has_classes(x, labels)
    return back(_likelihood(call, widened(x), labels, weights), x)


def _softmax_cross_entropy(call: Call, x: Handle, labels: Handle, weights: Handle | None = None) -> Built:
    _has_classes(x, labels)
    logarithms = log_softmax(widened(x), [1])
    made = [back(_likelihood(call, logarithms, labels, weights), x), back(logarithms, x)]
    return made[: len(call.node.outputs)]


ROWS = (
    Row("NegativeLogLikelihoodLoss", _negative_log_likelihood),
    Row("SoftmaxCrossEntropyLoss", _softmax_cross_entropy),
)
