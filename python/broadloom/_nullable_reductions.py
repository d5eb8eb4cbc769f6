"""Reductions of arrays with nulls, which skip the nulls.

Within the loop of the reduction, nulls are replaced by the identity element, and valid elements are counted. The result
is null if fewer than `min_count` elements are valid, by the rules and defaults of `pyarrow.compute`. Dtypes, and the
treatment of NaN, are those of the reductions without nulls.
"""

from __future__ import annotations

import builtins
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom._array import Array
from broadloom._creation import full_like, zeros_like
from broadloom._dtypes import astype
from broadloom._errors import ShapeError
from broadloom._generated import reductions
from broadloom._generated.elementwise import sqrt, where
from broadloom._manipulation import broadcast_to
from broadloom._tracing import known

if TYPE_CHECKING:
    from broadloom._nullable import Masks

Axis = int | tuple[int, ...] | None

#: The default minimum number of valid elements for a result.
MIN_COUNT = {"sum": 1, "prod": 1, "mean": 1, "min": 1, "max": 1, "any": 1, "all": 1, "var": 0, "std": 0}


def reduced(
    values: Array,
    mask: Array | None,
    name: str,
    axis: Axis,
    keepdims: bool,
    skip_nulls: bool = True,
    min_count: int | None = None,
    correction: float = 0.0,
    dtype: Any = None,
) -> tuple[Array, Masks]:
    """A reduction of values that are valid where `mask` is true, or everywhere without a mask. Returns the values and
    masks of the result."""
    if name not in MIN_COUNT:
        raise TypeError(f"{name}: the array may have nulls, which it can't skip; see fill_null and drop_null")
    needed = MIN_COUNT[name] if min_count is None else min_count
    along: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    number = _extent(name, values, axis)
    if mask is None:
        count = full_like(reductions.any(zeros_like(values, dtype=np.bool_), **along), number, dtype=np.int64)
    else:
        count = reductions.count_nonzero(mask, **along)
    enough = count >= needed
    if name in ("any", "all"):
        return _decided(values, mask, name, along, skip_nulls, enough)
    if not skip_nulls and mask is not None:
        enough = enough & (count == number)
    if name in ("min", "max"):
        made = _extreme(values, mask, name, along) if number else zeros_like(count, dtype=values.dtype)
        return made, (enough & (count > 0),)
    if name in ("sum", "prod"):
        made = _total(values, mask, name, along, dtype)
        # The sum of no elements is +0.
        return (where(count == 0, 0, made) if name == "sum" and needed <= 0 else made), (enough,)
    wide, given = _wide(values)
    if name == "mean":
        made = reductions.mean(wide, **along) if mask is None else _divided(_total(wide, mask, "sum", along), count)
        return astype(made, given, copy=False), (enough,)
    made = _variance(wide, mask, along, count, correction)
    enough = enough & (astype(count, np.float64) > correction)
    return astype(sqrt(made) if name == "std" else made, given, copy=False), (enough,)


def _extent(name: str, values: Array, axis: Axis) -> int:
    """The number of elements that are reduced to one. ShapeError if there is no such axis."""
    shape: Any = values.shape
    axes = range(values.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    number = 1
    for one in axes:
        if not -len(shape) <= one < len(shape):
            raise ShapeError(f"{name}: axis {one} is out of range for an array of rank {len(shape)}")
        number *= shape[one]
    return number


def _total(values: Array, mask: Array | None, name: str, along: dict[str, Any], dtype: Any = None) -> Array:
    """A sum or product in which nulls are replaced by the neutral value."""
    if mask is not None:
        # -0 is the identity of float addition. Bools are only added with NumPy's promotion.
        neutral = {"b": name == "prod", "f": 1 if name == "prod" else -0.0}.get(values.dtype.kind, int(name == "prod"))
        values = where(mask, values, neutral)
    added = reductions.sum if name == "sum" else reductions.prod
    return added(values, dtype=dtype, **along)


def _extreme(values: Array, mask: Array | None, name: str, along: dict[str, Any]) -> Array:
    if mask is not None:
        if values.dtype.kind == "b":
            neutral: float = name == "min"
        elif values.dtype.kind == "f":
            neutral = inf if name == "min" else -inf
        else:
            limits = np.iinfo(values.dtype)
            neutral = int(limits.max if name == "min" else limits.min)
        values = where(mask, values, neutral)
    return reductions.min(values, **along) if name == "min" else reductions.max(values, **along)


def _wide(values: Array) -> tuple[Array, np.dtype[Any]]:
    """The values converted for sums of squares, and the dtype of the result. Integers are converted to float64, which is
    then the result's dtype. float16 is converted to float32, and the result is float16."""
    if values.dtype.kind != "f":
        return astype(values, np.float64), np.dtype(np.float64)
    return (astype(values, np.float32) if values.dtype == np.float16 else values), values.dtype


def _divided(total: Array, count: Array) -> Array:
    """A sum divided by a number of elements, rounded once."""
    made = astype(total, np.float64, copy=False) / astype(count, np.float64, copy=False)
    return astype(made, total.dtype, copy=False)


def _variance(wide: Array, mask: Array | None, along: dict[str, Any], count: Array, correction: float) -> Array:
    if mask is None:
        return reductions.var(wide, correction=correction, **along)
    kept = {**along, "keepdims": True}
    mean = _divided(_total(wide, mask, "sum", kept), reductions.count_nonzero(mask, **kept))
    away = wide - broadcast_to(mean, known(wide.shape))
    total = _total(away * away, mask, "sum", along)
    return _divided(total, astype(count, np.float64) - correction)


def _decided(
    values: Array, mask: Array | None, name: str, along: dict[str, Any], skip_nulls: bool, enough: Array
) -> tuple[Array, Masks]:
    """`any` and `all`. If nulls are not skipped, Kleene's logic applies: one valid true (or false) determines the
    result."""
    values = astype(values, np.bool_, copy=False)
    if mask is None:
        return (reductions.any if name == "any" else reductions.all)(values, **along), (enough,)
    if name == "any":
        made = reductions.any(values & mask, **along)
        decided = made
    else:
        made = reductions.all(values | ~mask, **along)
        decided = ~made
    if not skip_nulls:
        enough = enough & (decided | reductions.all(mask, **along))
    return made, (enough,)


def counted(values: Array, mask: Array | None, mode: str, axis: Axis, keepdims: builtins.bool) -> Array:
    """How many elements are valid ("only_valid"), null ("only_null"), or present at all ("all")."""
    if mode not in ("only_valid", "only_null", "all"):
        raise ValueError(f"count: the mode is {mode!r}; there are 'only_valid', 'only_null' and 'all'")
    number = _extent("count", values, axis)
    like = reductions.any(zeros_like(values, dtype=np.bool_), axis=axis, keepdims=keepdims)
    total = full_like(like, number, dtype=np.int64)
    if mode == "all" or mask is None:
        return zeros_like(total) if mode == "only_null" else total
    valid = reductions.count_nonzero(mask, axis=axis, keepdims=keepdims)
    return valid if mode == "only_valid" else total - valid
