# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.

"""NumPy's reductions of our arrays, as expressions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from broadloom._core import Handle
from broadloom._numpy_handlers import accumulated, reduced
from broadloom._numpy_reductions import NO_VALUE


def _sum(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("sum", a, axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _prod(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("prod", a, axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _max(
    a: object,
    axis: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("max", a, axis, keepdims=keepdims, initial=initial, where=where)


def _min(
    a: object,
    axis: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("min", a, axis, keepdims=keepdims, initial=initial, where=where)


def _any(
    a: object, axis: object = None, out: object = None, keepdims: object = NO_VALUE, *, where: object = NO_VALUE
) -> Handle:
    return reduced("any", a, axis, keepdims=keepdims, where=where)


def _all(
    a: object, axis: object = None, out: object = None, keepdims: object = NO_VALUE, *, where: object = NO_VALUE
) -> Handle:
    return reduced("all", a, axis, keepdims=keepdims, where=where)


def _mean(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("mean", a, axis, dtype=dtype, keepdims=keepdims, where=where)


def _var(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    ddof: object = 0,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
    mean: object = NO_VALUE,
    correction: object = NO_VALUE,
) -> Handle:
    return reduced(
        "var", a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction
    )


def _std(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    ddof: object = 0,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
    mean: object = NO_VALUE,
    correction: object = NO_VALUE,
) -> Handle:
    return reduced(
        "std", a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction
    )


def _argmax(a: object, axis: object = None, out: object = None, *, keepdims: object = NO_VALUE) -> Handle:
    return reduced("argmax", a, axis, keepdims=keepdims)


def _argmin(a: object, axis: object = None, out: object = None, *, keepdims: object = NO_VALUE) -> Handle:
    return reduced("argmin", a, axis, keepdims=keepdims)


def _count_nonzero(a: object, axis: object = None, *, keepdims: object = NO_VALUE) -> Handle:
    return reduced("count_nonzero", a, axis, keepdims=keepdims)


def _nansum(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("nansum", a, axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _nanprod(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("nanprod", a, axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _nanmax(
    a: object,
    axis: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("nanmax", a, axis, keepdims=keepdims, initial=initial, where=where)


def _nanmin(
    a: object,
    axis: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    initial: object = NO_VALUE,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("nanmin", a, axis, keepdims=keepdims, initial=initial, where=where)


def _nanmean(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
) -> Handle:
    return reduced("nanmean", a, axis, dtype=dtype, keepdims=keepdims, where=where)


def _nanvar(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    ddof: object = 0,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
    mean: object = NO_VALUE,
    correction: object = NO_VALUE,
) -> Handle:
    return reduced(
        "nanvar", a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction
    )


def _nanstd(
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    ddof: object = 0,
    keepdims: object = NO_VALUE,
    *,
    where: object = NO_VALUE,
    mean: object = NO_VALUE,
    correction: object = NO_VALUE,
) -> Handle:
    return reduced(
        "nanstd", a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction
    )


def _cumsum(a: object, axis: object = None, dtype: object = None, out: object = None) -> Handle:
    return accumulated("cumulative_sum", a, axis, dtype=dtype)


def _cumprod(a: object, axis: object = None, dtype: object = None, out: object = None) -> Handle:
    return accumulated("cumulative_prod", a, axis, dtype=dtype)


FUNCTIONS: dict[Callable[..., object], Callable[..., Handle]] = {
    np.sum: _sum,
    np.prod: _prod,
    np.max: _max,
    np.min: _min,
    np.any: _any,
    np.all: _all,
    np.mean: _mean,
    np.var: _var,
    np.std: _std,
    np.argmax: _argmax,
    np.argmin: _argmin,
    np.count_nonzero: _count_nonzero,
    np.nansum: _nansum,
    np.nanprod: _nanprod,
    np.nanmax: _nanmax,
    np.nanmin: _nanmin,
    np.nanmean: _nanmean,
    np.nanvar: _nanvar,
    np.nanstd: _nanstd,
    np.cumsum: _cumsum,
    np.cumprod: _cumprod,
}
