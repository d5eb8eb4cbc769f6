"""Operators that combine elements along axes: reductions, argmax and argmin, cumulative sums.

Depending on the version, axes are an attribute or an input. ONNX's definitions for empty inputs and for bools are
implemented here: the maximum of no elements is the minimum of its dtype, or -infinity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from broadloom._core import Handle
from broadloom.onnx._literals import apply, as_float, back, like, literal, select
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import axis_of
from broadloom.onnx._types import DType


def axes_of(call: Call, x: Handle) -> list[int]:
    """The axes of a reduction: the given ones, or else all axes, or none with `noop_with_empty_axes`."""
    axes = call.attribute("axes")
    if axes is None:
        axes = call.integers(1)
    if not axes:
        return [] if call.attribute("noop_with_empty_axes", 0) else list(range(x.ndim))
    return [axis_of(axis, x.ndim) for axis in axes]


def _reduced(call: Call, name: str, x: Handle, axes: list[int], dtype: DType | None = None) -> Handle:
    if not axes:
        return x
    return x.reduce(name, axes, bool(call.attribute("keepdims", 1)), dtype=dtype)


def _total(call: Call, x: Handle, axes: list[int], name: str = "sum") -> Handle:
    return _reduced(call, name, x, axes, x.dtype if x.dtype.kind in "iu" else None)


def _added(name: str) -> Callable[..., Handle]:
    return lambda call, x, _=None: _total(call, x, axes_of(call, x), name)


def _composed(inner: str | None, outer: str | None = None, wraps: bool = False) -> Callable[..., Handle]:
    """A sum of a function of the elements, or a function of such a sum. It is computed in floats, unless integers wrap."""

    def build(call: Call, x: Handle, _: Handle | None = None) -> Handle:
        wide = x if wraps and x.dtype.kind != "f" else as_float(x)
        total = _total(call, wide if inner is None else apply(inner, wide), axes_of(call, x))
        return back(total if outer is None else apply(outer, total), x)

    return build


def _mean(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    axes = axes_of(call, x)
    if x.dtype.kind == "f":
        return _reduced(call, "mean", x, axes)
    # The truncated quotient of a sum computed in 64 bits.
    wide = x.astype(np.dtype("i8" if x.dtype.kind == "i" else "u8"))
    count = int(np.prod([x.shape[axis] or 0 for axis in axes], dtype=np.int64))
    return back(apply("trunc_divide", _total(call, wide, axes), like(wide, max(count, 1))), x)


def _log_sum_exp(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    wide, axes = as_float(x), axes_of(call, x)
    if any(x.shape[axis] == 0 for axis in axes):
        return back(apply("log", _total(call, wide, axes)), x)
    if not axes:
        return x
    keepdims = bool(call.attribute("keepdims", 1))
    shift = log_shift(wide, axes)
    total = apply("exp", apply("subtract", wide, shift)).reduce("sum", axes, keepdims)
    shift = log_shift(wide, axes, keepdims)
    return back(apply("add", apply("log", total), shift), x)


def log_shift(x: Handle, axes: list[int], keepdims: bool = True) -> Handle:
    """The maximum along axes, which is subtracted before exponentials are taken so that none overflows; 0 where it is
    infinite."""
    top = x.reduce("max", axes, keepdims)
    return select(apply("isfinite", top), top, like(top, 0))


def _extreme(name: str) -> Callable[..., Handle]:
    def build(call: Call, x: Handle, _: Handle | None = None) -> Handle:
        axes = axes_of(call, x)
        if x.dtype.kind == "b":
            return _reduced(call, "any" if name == "max" else "all", x, axes)
        if not any(x.shape[axis] == 0 for axis in axes):
            return _reduced(call, name, x, axes)
        keepdims = call.attribute("keepdims", 1)
        shape = [1 if axis in axes else n or 0 for axis, n in enumerate(x.shape) if keepdims or axis not in axes]
        return literal(_of_nothing(name, x.dtype), x.dtype).broadcast_to(shape)

    return build


def _of_nothing(name: str, dtype: DType) -> float:
    if dtype.kind == "f":
        return float("-inf" if name == "max" else "inf")
    return int(np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max)


def _index(name: str) -> Callable[[Call, Handle], Handle]:
    def build(call: Call, x: Handle) -> Handle:
        axis, keepdims = call.attribute("axis", 0), bool(call.attribute("keepdims", 1))
        if not call.attribute("select_last_index", 0):
            return x.reduce(name, [axis], keepdims)
        found = x.flip(axis).reduce(name, [axis], keepdims)
        return apply("subtract", like(found, (x.shape[axis] or 0) - 1), found)

    return build


def _cumulative(name: str) -> Callable[..., Handle]:
    def build(call: Call, x: Handle, _: Handle | None = None) -> Handle:
        given = call.integers(1) or []
        if len(given) != 1 or not -x.ndim <= given[0] < x.ndim:
            raise ValueError(f"the axis of an array of rank {x.ndim} is {given}")
        axis, reverse, exclusive = given[0] % x.ndim, call.attribute("reverse", 0), call.attribute("exclusive", 0)
        if reverse:
            x = x.flip(axis)
        made = x.cumulative(name, axis, x.dtype, bool(exclusive))
        if exclusive:
            made = made.slice([*[slice(None)] * axis, slice(0, x.shape[axis])])
        return made.flip(axis) if reverse else made

    return build


_NOTHING = "of nothing the least value of the dtype, or -infinity; bools by any"
_NOTHING_MIN = "of nothing the greatest value of the dtype, or infinity; bools by all"
_ROOT = "integers as float64, without the fraction"

ROWS = (
    Row("ArgMax", _index("argmax"), note="the first NaN before all numbers"),
    Row("ArgMin", _index("argmin"), note="the first NaN before all numbers"),
    Row("CumProd", _cumulative("cumulative_prod"), reads=(1,)),
    Row("CumSum", _cumulative("cumulative_sum"), reads=(1,)),
    Row("ReduceL1", _composed("abs", wraps=True), reads=(1,)),
    Row("ReduceL2", _composed("square", "sqrt"), reads=(1,), note=_ROOT),
    Row("ReduceLogSum", _composed(None, "log"), reads=(1,), note=_ROOT),
    Row("ReduceLogSumExp", _log_sum_exp, reads=(1,), note=f"without overflow; {_ROOT}"),
    Row("ReduceMax", _extreme("max"), reads=(1,), note=_NOTHING),
    Row("ReduceMean", _mean, reads=(1,), note="of integers without the fraction; of nothing NaN, or 0"),
    Row("ReduceMin", _extreme("min"), reads=(1,), note=_NOTHING_MIN),
    Row("ReduceProd", _added("prod"), reads=(1,), note="integers wrap"),
    Row("ReduceSum", _added("sum"), reads=(1,), note="integers wrap"),
    Row("ReduceSumSquare", _composed("square", wraps=True), reads=(1,), note="integers wrap"),
)
