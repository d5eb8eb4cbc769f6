"""An implementation of numpy-groupies' `aggregate` over broadloom's functions of segments, for the suites of numpy-groupies and flox.

`numpy_groupies` checks the arguments, resolves the dtype and shapes the result, as for its own implementations; the operations
are those of `OPERATIONS`. There is none that gives lists of values, medians or running sums, and none for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy_groupies import registry, utils_np, validation
from numpy_groupies.aggregate_numpy.base import _aggregate_base

import broadloom as bl

_DTYPES = frozenset(map(np.dtype, "?bhilqBHILQefd"))

#: The operations that ran since this list was cleared.
ran: list[str] = []


# Operations: each takes labels, values, the number of groups, and the dtype of the result; values may be one number for all.


def _ours(values: Any) -> bl.Array:
    values = np.asarray(values)
    if values.dtype not in _DTYPES:
        raise NotImplementedError(f"the package has no {values.dtype}")
    return bl.asarray(values)


def _counts(labels: bl.Array, size: int) -> bl.Array:
    return bl.segment_sum(bl.ones(labels.shape, dtype=bl.int64), labels, size)


def _filled(made: bl.Array, labels: bl.Array, size: int, fill: Any, dtype: Any) -> Any:
    """The results as NumPy's array, with the fill value for groups without values."""
    values = np.array(made).astype(dtype, copy=False)
    values[np.asarray(_counts(labels, size)) == 0] = fill
    return values


def _spread(a: Any, labels: bl.Array) -> Any:
    """One number for all as an array."""
    return np.full(labels.shape, a) if np.ndim(a) == 0 else a


def _reduced(function: str, labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    if function in ("sum", "prod"):
        dtype = utils_np.minimum_dtype_scalar(fill, dtype, a)
    else:
        dtype = utils_np.minimum_dtype(fill, dtype or a.dtype)
    values = np.asarray(_spread(a, labels)).astype(dtype, copy=False)
    return _filled(getattr(bl, f"segment_{function}")(_ours(values), labels, size), labels, size, fill, dtype)


def _len(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    return _filled(_counts(labels, size), labels, size, fill, int)


def _tested(
    function: str, test: Callable[[Any], Any], labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any
) -> Any:
    validation.check_boolean(fill)
    flags = _ours(np.asarray(test(_spread(a, labels)), dtype=bool)).astype("uint8")
    return _filled(getattr(bl, f"segment_{function}")(flags, labels, size), labels, size, fill, bool)


def _as_floats(a: Any, name: str) -> Any:
    """Values for a mean. As in every implementation, integers whose sum leaves the range of float64 are refused."""
    if validation.is_scalar_input(a):
        raise ValueError(f"cannot take {name} with scalar a")
    if a.dtype.kind in "iu" and a.size:
        validation.check_integer_mean_overflow(a.size, max(int(a.max()), -int(a.min())))
    return _ours(a).astype("float64") if a.dtype.kind in "biu" else _ours(a)


def _mean(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    return _filled(bl.segment_mean(_as_floats(a, "mean"), labels, size), labels, size, fill, dtype)


def _deviations(labels: bl.Array, x: bl.Array, size: int) -> bl.Array:
    return x - bl.take(bl.segment_mean(x, labels, size), labels)


def _var(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any, ddof: int = 0, root: bool = False) -> Any:
    if not validation.is_scalar_input(a) and a.dtype.kind in "iu" and a.size:
        low, high = int(a.min()), int(a.max())
        if a.size * max(high, -low) > validation.EXACT_FLOAT64_INTEGER_LIMIT:
            validation.check_integer_variance_span_overflow(low, high)
            # Exact in integers: the differences from a value of the group.
            first = np.asarray(bl.zeros(size, dtype=a.dtype.name).at[labels].set(_ours(a)))
            a = (a - first[np.asarray(labels)]).astype(np.int64)
    x = _ours(a).astype("float64") if np.ndim(a) else _as_floats(a, "variance")
    squares = bl.segment_sum(_deviations(labels, x, size) ** 2, labels, size)
    left = bl.maximum(_counts(labels, size) - ddof, 0)
    variance = squares / left.astype("float64")
    made = np.array(bl.sqrt(variance) if root else variance)
    if not np.isnan(fill):
        made[np.asarray(left) == 0] = fill
    return made.astype(dtype, copy=False)


def _moment(power: int, labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    """The skewness (3) or the excess kurtosis (4) as pandas has it, of groups of as many values at least."""
    d = _deviations(labels, _as_floats(a, "moments").astype("float64"), size)
    n = _counts(labels, size).astype("float64")
    second, other = bl.segment_sum(d**2, labels, size), bl.segment_sum(d**power, labels, size)
    if power == 3:
        made = n * bl.sqrt(n - 1) / (n - 2) * other / second**1.5
    else:
        less = (n - 2) * (n - 3)
        made = n * (n + 1) * (n - 1) * other / (less * second**2) - 3 * (n - 1) ** 2 / less
    made = bl.where(n < power, bl.nan, bl.where(second == 0, 0.0, made))
    return _filled(made, labels, size, fill, np.float64).astype(dtype, copy=False)


def _sum_of_squares(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    x = _ours(a.astype(dtype, copy=False) if a.dtype.kind in "iu" else a)
    return _filled(bl.segment_sum(x * x, labels, size), labels, size, fill, dtype)


def _set(is_first: bool, labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    """The last value of each group, since the last one that is set wins; or the first one, of the values in reverse."""
    dtype = utils_np.minimum_dtype(fill, dtype or a.dtype)
    x, at = _ours(np.asarray(a).astype(dtype, copy=False)), labels
    if is_first:
        x, at = bl.flip(x), bl.flip(labels)
    base = _ours(np.full(size, fill, dtype=dtype))
    return np.array(base.at[at].set(x))


def _extreme(
    function: str, labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any, _nansqueeze: bool = False
) -> Any:
    """The index of the first extreme of each group."""
    x = _ours(a)
    is_nan = bl.isnan(x) if a.dtype.kind == "f" else bl.zeros(x.shape, dtype=bl.bool)
    if _nansqueeze and a.dtype.kind == "f":
        x = bl.where(is_nan, _ours(np.asarray(-np.inf if function == "max" else np.inf, a.dtype)), x)
    extreme = bl.take(getattr(bl, f"segment_{function}")(x, labels, size), labels)
    n = len(labels)
    found = bl.where((x == extreme) & ~is_nan, bl.arange(n), n)
    made = np.array(bl.segment_min(found, labels, size))
    made[(np.asarray(_counts(labels, size)) == 0) | (made >= n)] = fill
    return made.astype(dtype, copy=False)


def _trapezoid(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any, dx: float = 1.0) -> Any:
    x = _ours(a).astype("float64")
    zeros, n = bl.zeros(size), _counts(labels, size)
    ends = zeros.at[labels].set(x) + zeros.at[bl.flip(labels)].set(bl.flip(x))
    made = (bl.segment_sum(x, labels, size) - 0.5 * ends) * dx
    return _filled(bl.where(n < 2, 0.0, made), labels, size, fill, dtype or np.float64)


def _order(labels: bl.Array, keys: bl.Array) -> bl.Array:
    """The indices of the values, ordered by their labels and then by their keys."""
    order = bl.argsort(keys)
    return bl.take(order, bl.argsort(bl.take(labels, order)))


def _sort(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any, reverse: bool = False) -> Any:
    """The values of each group in order, at the places of that group."""
    x = _ours(a)
    keys = (~x if a.dtype.kind in "iub" else -x) if reverse else x
    return np.array(x.at[bl.argsort(labels)].set(bl.take(x, _order(labels, keys))))


def _nunique(labels: bl.Array, a: Any, size: int, fill: Any, dtype: Any) -> Any:
    """The number of values of each group that differ from the one before, in order; NaNs are one value."""
    x = _ours(a)
    order = _order(labels, x)
    group, values = bl.take(labels, order), bl.take(x, order)
    is_same = bl.roll(values, 1) == values
    if a.dtype.kind == "f":
        is_same = is_same | bl.isnan(bl.roll(values, 1)) & bl.isnan(values)
    is_new = ~(is_same & (bl.roll(group, 1) == group)) | (bl.arange(len(labels)) == 0)
    return _filled(bl.segment_sum(is_new.astype("int64"), group, size), labels, size, fill, dtype or np.int64)


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: partial(_reduced, name) for name in ("sum", "prod", "min", "max")},
    "len": _len,
    "mean": _mean,
    "var": _var,
    "std": partial(_var, root=True),
    "skew": partial(_moment, 3),
    "kurt": partial(_moment, 4),
    "sumofsquares": _sum_of_squares,
    "all": partial(_tested, "min", lambda a: a),
    "any": partial(_tested, "max", lambda a: a),
    "allnan": partial(_tested, "min", np.isnan),
    "anynan": partial(_tested, "max", np.isnan),
    "first": partial(_set, True),
    "last": partial(_set, False),
    "argmax": partial(_extreme, "max"),
    "argmin": partial(_extreme, "min"),
    "trapezoid": _trapezoid,
    "sort": _sort,
    "nunique": _nunique,
}


# The implementation.


def _operation(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(group_idx: Any, a: Any, size: int, fill_value: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        if np.iscomplexobj(a):
            raise NotImplementedError("the package has no complex numbers")
        made = function(bl.asarray(group_idx), a, int(size), fill_value, dtype, **kwargs)
        ran.append(name)
        return made

    return call


def _of_a_caller(function: Any) -> registry.Resolved:
    return registry.Resolved(registry.custom_callable(function), None)


def _registry() -> registry.Registry:
    made = {name: _operation(name, function) for name, function in OPERATIONS.items()}
    made |= {f"nan{name}": made[name] for name in made if name not in registry.funcs_no_separate_nan}
    return registry.Registry(made, utils_np.aliasing, _of_a_caller)


DISPATCH = _registry()


class _Implementation(ModuleType):
    """A module with the names of `numpy_groupies.aggregate_numpy` that aggregate."""

    def __init__(self) -> None:
        super().__init__("aggregate_broadloom")
        self._functions = registry.bind_functions(self.aggregate, registry.function_names())

    @staticmethod
    def aggregate(
        group_idx: Any,
        a: Any,
        func: Any = "sum",
        size: Any = None,
        fill_value: Any = registry.DEFAULT_FILL_VALUE,
        order: str = "C",
        dtype: Any = None,
        axis: int | None = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        if out is not None:
            raise NotImplementedError("out= is only supported by the numba implementation")
        given: dict[str, Any] = {"size": size, "fill_value": fill_value, "order": order, "dtype": dtype, "axis": axis}
        return _aggregate_base(group_idx, a, func=func, _dispatch=DISPATCH, **given, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(name) from None


IMPLEMENTATION = _Implementation()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Records the operations that ran in a test, for plugins that import the hook."""
    ran.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("broadloom engine", sorted(set(ran))))
