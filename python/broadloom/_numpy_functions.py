"""NumPy's functions of elements, and of arrays' properties, as rows of the table in `_numpy_handlers`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from broadloom import _core, _numpy_reductions, _options, _selections
from broadloom._array import Array, check_device
from broadloom._core import Handle
from broadloom._elementwise import clip_by
from broadloom._generated import numpy_reductions
from broadloom._numpy_handlers import FUNCTIONS, array, as_handle, lazy, operand, run_by_numpys_code
from broadloom._numpy_reductions import NO_VALUE, given, only_axis, reduction
from broadloom._tracing import known
from broadloom._ufuncs import (
    BOOL,
    Number,
    Operand,
    Parameter,
    Unsupported,
    as_dtype,
    call,
    common_dtype,
    converted,
    number_as,
    operands_as,
    own_dtype,
)

__all__ = ["FUNCTIONS"]

FUNCTIONS.update(numpy_reductions.FUNCTIONS)
FUNCTIONS.update({np.amax: FUNCTIONS[np.max], np.amin: FUNCTIONS[np.min]})
run_by_numpys_code(np.common_type, np.iscomplexobj, np.isneginf, np.isposinf, np.isrealobj, np.ndim, np.shape)


@lazy(np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Handle:
    x = array(a)
    high, low = (reduction(name, x, axis, None, keepdims) for name in ("max", "min"))
    return _one(np.subtract, high, low)


def _add_cumulative(name: str, of_nan: int) -> None:
    """Adds the functions of the engine's cumulative function: one that replaces NaN by a number, and the standard's."""

    def without_nan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Handle:
        x = array(a)
        x = _core.apply("where", _core.apply("isnan", x), of_nan, x) if x.dtype.kind == "f" else x
        return _numpy_reductions.cumulative(name, x, axis, dtype)

    def of_the_standard(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Handle:
        given = array(x)
        if axis is None and given.ndim > 1:
            raise ValueError(f"{name}: an axis is needed for an array of {given.ndim} axes")
        given = given.reshape([1]) if given.ndim == 0 else given
        return _numpy_reductions.cumulative(name, given, only_axis(name, axis, given.ndim), dtype, include_initial)

    FUNCTIONS[getattr(np, f"nancum{name.removeprefix('cumulative_')}")] = without_nan
    FUNCTIONS[getattr(np, name)] = of_the_standard


_add_cumulative("cumulative_sum", 0)
_add_cumulative("cumulative_prod", 1)


# Element by element.


@lazy(np.nonzero)
def nonzero(a: Any) -> tuple[Array, ...]:
    """The indices of elements that are not 0, by the namespace's function."""
    x = array(a)
    if x.ndim == 0:
        raise Unsupported
    return _selections.nonzero(Array._of(x))


@lazy(np.where)
def _where(condition: Any, x: Any = NO_VALUE, y: Any = NO_VALUE, /) -> Handle | tuple[Array, ...]:
    if x is NO_VALUE and y is NO_VALUE:
        return nonzero(condition)
    if x is NO_VALUE or y is NO_VALUE:
        raise Unsupported
    mask, first, second = converted(array(condition), BOOL), operand(x), operand(y)
    dtype = common_dtype(first, second)
    return _core.apply("where", mask, *operands_as(dtype, first, second))


@lazy(np.clip)
def _clip(
    a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *, min: Any = NO_VALUE, max: Any = NO_VALUE
) -> Handle:
    low, high = (new if given(new) else old if given(old) else None for new, old in ((min, a_min), (max, a_max)))
    handle = array(a)
    bounds = [None if bound is None else operand(bound) for bound in (low, high)]
    weak = (as_dtype(y, common_dtype(handle, y)) if isinstance(y, Parameter) else y for y in bounds)
    function, *operands = clip_by(handle.dtype, handle, *weak)
    return _core.apply(function, *operands, numpy_promotion=True)


@lazy(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> Handle:
    return _numpy_reductions.rounded(array(a), operator.index(decimals))


@lazy(np.fix)
def _fix(x: Any, out: Any = None) -> Handle:
    return _one(np.trunc, array(x))


@lazy(np.real)
def _real(val: Any) -> Handle:
    return array(val)


@lazy(np.imag)
def _imag(val: Any) -> Handle:
    return _filled_like(array(val), 0)


@lazy(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    made = array(x)
    if made.dtype.kind != "f":
        return made if copy else x
    limits = np.finfo(made.dtype)
    values = (nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    for value, is_it in zip(values, (None, float("inf"), float("-inf")), strict=True):
        at = _core.apply("isnan", made) if is_it is None else _core.apply("equal", made, is_it)
        made = _core.apply("where", at, number_as(float(value), made.dtype), made)
    if not copy:
        if not isinstance(x, Array):
            raise Unsupported
        x._overwrite(made)
        return x
    return made


@lazy(np.isclose)
def _isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Handle:
    x, y = operand(a), operand(b)
    if not isinstance(rtol, float | int) or not isinstance(atol, float | int):
        raise Unsupported
    right = as_handle(y)
    difference = _one(np.absolute, _one(np.subtract, *_not_bools(x, y)))
    bound = _one(np.add, atol, _one(np.multiply, rtol, _one(np.absolute, right)))
    near = _one(np.logical_and, _one(np.less_equal, difference, bound), _one(np.isfinite, right))
    return _one(np.logical_or, near, _equal(x, y, equal_nan))


def _one(ufunc: np.ufunc, *operands: Operand) -> Handle:
    """The result of a universal function that has one."""
    return call(ufunc, operands)[0]


def _equal(x: Operand, y: Operand, equal_nan: bool) -> Handle:
    same = _one(np.equal, x, y)
    if not equal_nan:
        return same
    return _one(np.logical_or, same, _one(np.logical_and, _one(np.isnan, as_handle(x)), _one(np.isnan, as_handle(y))))


def _not_bools(x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The operands converted so that their difference is signed: for integers, NumPy computes it in float64."""
    if common_dtype(x, y).kind == "f":
        return x, y
    return converted(as_handle(x), np.dtype(np.float64)), y


@lazy(np.allclose)
def _allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> bool:
    return bool(_isclose(a, b, rtol, atol, equal_nan).reduce("all").item())


@lazy(np.array_equal)
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    return bool(_equal(x, y, equal_nan).reduce("all").item())


# Properties that are known without computing.


@lazy(np.size)
def _size(a: Any, axis: Any = None) -> int | None:
    x = a if isinstance(a, Array) else array(a)
    if axis is None:
        return x.size
    made: int | None = 1
    for along in normalize_axis_tuple(axis, x.ndim):
        extent = x.shape[along]
        made = None if made is None or extent is None else made * extent
    return made


def _without_values(x: Any) -> Any:
    return x.dtype if isinstance(x, Array) else x


@lazy(np.result_type)
def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*map(_without_values, arrays_and_dtypes))


@lazy(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_without_values(from_), _without_values(to), casting)


# Arrays in the shape of another array.


def _filled_like(x: Handle, value: Number, dtype: Any = None, shape: Any = None) -> Handle:
    to = own_dtype(dtype) if dtype is not None else x.dtype
    if shape is None:
        extents: Sequence[Any] = x.shape
    else:
        extents = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if None in extents:
        # The extents of a traced array are only known when the kernel runs, so the result is an expression of the
        # array.
        filled = Handle.full((), number_as(value, to), to)
        return _core.apply("where", Handle.full((), True, BOOL), filled, converted(x, to))
    return Handle.full([operator.index(extent) for extent in extents], number_as(value, to), to)


def _add_like(value: int, *functions: Any) -> None:
    @lazy(*functions)
    def like(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Handle:
        check_device(device)
        return _filled_like(array(a), value, dtype, shape)


_add_like(0, np.zeros_like, np.empty_like)
_add_like(1, np.ones_like)


@lazy(np.full_like)
def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Handle:
    check_device(device)
    x = array(a)
    if type(fill_value) in (bool, int, float):
        return _filled_like(x, fill_value, dtype, shape)
    value = converted(array(fill_value), own_dtype(dtype) if dtype is not None else x.dtype)
    like = _filled_like(x, 0, dtype, shape)
    return value.broadcast_to(known(like.shape))


@lazy(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Handle:
    x = array(a)
    return x if x.is_symbolic else _options.evaluated(x)


@lazy(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Handle:
    check_device(device)
    return converted(array(x), own_dtype(dtype))
