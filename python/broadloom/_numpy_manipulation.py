"""NumPy's functions of shapes and layouts, as further rows of the table in `_numpy_handlers`.

Most return views of the engine, which move no element. Functions that join arrays call the namespace's own functions with
operands converted to the dtype of NumPy's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from broadloom import _core, _creation, _gathers, _joining, _manipulation, _reductions
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._numpy_functions import FUNCTIONS
from broadloom._numpy_handlers import array, lazy, run_by_numpys_code
from broadloom._numpy_reductions import NO_VALUE, along_axis, axes_of, axis_number
from broadloom._operands import extents, shape_of
from broadloom._ufuncs import Casting, Unsupported, common_dtype, converted, own_dtype
from broadloom._views import view_of

__all__ = ["FUNCTIONS"]


run_by_numpys_code(np.dstack, np.hstack, np.moveaxis, np.rollaxis, np.vstack)

# Views.


@lazy(np.broadcast_to)
def _broadcast_to(array_: Any, shape: Any, subok: bool = False) -> Handle:
    return array(array_).broadcast_to(shape_of("broadcast_to", shape))


@lazy(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    operands = [x if isinstance(x, Array) else Array._of(array(x)) for x in args]
    return _manipulation.broadcast_arrays(*operands)


@lazy(np.reshape)
def _reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: bool | None = None
) -> Handle | Array:
    if shape is None:
        shape = newshape
    if shape is None or order == "A" or (copy and order == "F"):
        raise Unsupported
    x = array(a)
    if order == "F":
        extents = shape_of("reshape", shape, -1)
        x = x.permute_dims(list(range(x.ndim))[::-1]).reshape(extents[::-1])
        return x.permute_dims(list(range(len(extents)))[::-1])
    return _manipulation.reshape(Array._of(x), shape, copy=copy)


@lazy(np.ravel)
def _ravel(a: Any, order: str = "C") -> Handle:
    x = array(a)
    if order == "F":
        x = x.permute_dims(list(range(x.ndim))[::-1])
    elif order != "C":
        raise Unsupported
    return x.reshape([-1])


@lazy(np.transpose)
def _transpose(a: Any, axes: Any = None) -> Handle:
    x = array(a)
    if axes is None:
        return x.permute_dims(list(range(x.ndim))[::-1])
    return x.permute_dims(list(normalize_axis_tuple(axes, x.ndim, "axes")))


@lazy(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Handle:
    x = array(a)
    axes = list(range(x.ndim))
    first, second = (normalize_axis_index(axis, x.ndim) for axis in (axis1, axis2))
    axes[first], axes[second] = axes[second], axes[first]
    return x.permute_dims(axes)


@lazy(np.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Handle:
    return _swapaxes(x, -1, -2)


@lazy(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Handle:
    x = array(a)
    if axis is None:
        axes = [along for along, extent in enumerate(x.shape) if extent == 1]
    else:
        axes = axes_of(axis, x.ndim) or []
    for along in sorted(axes, reverse=True):
        x = x.squeeze(along)
    return x


@lazy(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Array:
    return _manipulation.expand_dims(Array._of(array(a)), tuple(axis) if isinstance(axis, list) else axis)


@lazy(np.flip)
def _flip(m: Any, axis: Any = None) -> Array:
    return _manipulation.flip(Array._of(array(m)), axis=axis)


@lazy(np.flipud)
def _flipud(m: Any) -> Array:
    return _flip(m, 0)


@lazy(np.fliplr)
def _fliplr(m: Any) -> Array:
    return _flip(m, 1)


def _at_least(x: Handle, rank: int) -> Handle:
    """Adds axes as `numpy.atleast_3d` does: in front, and the third one at the end."""
    for axis in (0, 0, 2)[x.ndim : rank] if x.ndim else (0,) * rank:
        x = x.expand_dims(axis)
    return x


def _add_at_least(function: Any, rank: int) -> None:
    def at_least(*arys: Any) -> Any:
        made = [view_of(x, Array._of(_at_least(array(x), rank)), function) for x in arys]
        return made[0] if len(made) == 1 else tuple(made)

    FUNCTIONS[function] = at_least


for _rank, _function in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d), 1):
    _add_at_least(_function, _rank)


# Functions that join arrays.


def _sequence(arrays: Any) -> Sequence[Any]:
    if not isinstance(arrays, list | tuple) or not arrays:
        raise Unsupported
    return arrays


def _joined(function: Callable[..., Array], handles: list[Handle], axis: int, dtype: Any, casting: Casting) -> Handle:
    to = own_dtype(dtype) if dtype is not None else common_dtype(*handles)
    for x in handles:
        if not np.can_cast(x.dtype, to, casting):
            raise TypeError(f"Cannot cast array data from {x.dtype!r} to {to!r} according to the rule '{casting}'")
    return function([Array._of(converted(x, to)) for x in handles], axis=axis)._operand()


@lazy(np.concatenate)
def _concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Casting = "same_kind"
) -> Handle:
    handles = [array(x) for x in _sequence(arrays)]
    if axis is not None:
        axis = axis_number(axis)
    else:
        handles, axis = [x.reshape([-1]) for x in handles], 0
    if any(x.ndim == 0 for x in handles):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    return _joined(_joining.concat, handles, normalize_axis_index(axis, handles[0].ndim), dtype, casting)


@lazy(np.stack)
def _stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Casting = "same_kind") -> Handle:
    handles = [array(x) for x in _sequence(arrays)]
    if len({x.shape for x in handles}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return _joined(_joining.stack, handles, normalize_axis_index(axis, handles[0].ndim + 1), dtype, casting)


@lazy(np.append)
def _append(arr: Any, values: Any, axis: Any = None) -> Handle:
    return _concatenate([array(arr), array(values)], axis)


@lazy(np.delete)
def _delete(arr: Any, obj: Any, axis: Any = None) -> Handle:
    x = array(arr)
    if x.ndim == 0 or isinstance(axis, bool) or isinstance(obj, Array) and obj._handle.is_symbolic:
        raise Unsupported
    x, axis = along_axis(x, axis)
    try:
        kept = np.delete(np.arange(extents(x)[axis]), np.asarray(obj) if isinstance(obj, Array) else obj)
    except (IndexError, ValueError):
        # NumPy's error for the array names its axis.
        raise Unsupported from None
    return _core.take(x, Handle.from_numpy(kept), axis, "raise")


@lazy(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Handle:
    return _joining.roll(Array._of(array(a)), shift, axis=axis)._operand()


@lazy(np.lib.stride_tricks.sliding_window_view)
def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Handle:
    if writeable or not isinstance(x, Array):
        raise Unsupported
    return _joining.sliding_window(x, window_shape, axis=axis)._operand()


_handle = array

#: Modes of `np.pad` that NumPy computes.
OTHER_PADS = ("empty", "linear_ramp", "maximum", "mean", "median", "minimum")


def _is_by_axis(pad_width: Any) -> bool:
    return isinstance(pad_width, dict) and all(isinstance(axis, int) for axis in pad_width)


@lazy(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Handle:
    value = options.pop("constant_values", 0) if mode == "constant" else 0
    if options or mode in OTHER_PADS or callable(mode) or _is_by_axis(pad_width):
        raise Unsupported
    if np.ndim(value) > 0:
        raise Unsupported
    x = _handle(array)
    with np.errstate(all="ignore"):
        # NumPy assigns the value to elements, which wraps integers.
        value = np.asarray(value).astype(x.dtype).item()
    return _joining.pad(Array._of(x), pad_width, mode, constant_values=value)._operand()


@lazy(np.tile)
def _tile(A: Any, reps: Any) -> Handle:
    return _manipulation.tile(Array._of(array(A)), reps)._operand()


@lazy(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Handle:
    x, axis = along_axis(array(a), axis)
    if not isinstance(repeats, int | np.integer):
        given = array(repeats)
        if given.is_symbolic or given.shape != (x.shape[axis],) or not np.can_cast(given.dtype, np.int64, "safe"):
            raise Unsupported
        return _manipulation.repeat(Array._of(x), Array._of(converted(given, np.dtype(np.int64))), axis=axis)._operand()
    return _manipulation.repeat(Array._of(x), int(repeats), axis=axis)._operand()


@lazy(np.take)
def _take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: _gathers.Mode = "raise") -> Handle:
    x, axis = along_axis(array(a), axis)
    if isinstance(indices, int | np.integer) and not isinstance(indices, bool) and mode == "raise":
        return x.slice([*[slice(None)] * axis, int(indices)])
    if mode not in ("raise", "clip", "wrap") or isinstance(indices, bool):
        raise Unsupported
    taken: Array = _gathers.take(Array._of(x), indices, axis=axis, mode=mode)
    return taken._operand()


@lazy(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Array:
    x = array(a)
    if n < 0 or x.ndim == 0:
        raise Unsupported
    axis = normalize_axis_index(axis, x.ndim)
    parts = [x if part is x else _beside(x, array(part), axis) for part in (prepend, x, append) if part is not NO_VALUE]
    if n and len(parts) > 1:
        x = _concatenate(parts, axis)
    return _reductions.diff(Array._of(x), axis=axis, n=n)


def _beside(x: Handle, part: Handle, axis: int) -> Handle:
    """An array to be joined with another one along an axis. An array without axes becomes one element in all other axes."""
    if part.ndim > 0:
        return part
    shape = extents(x)
    return part.broadcast_to([*shape[:axis], 1, *shape[axis + 1 :]])


# Triangles, grids and the parts along an axis.


def _add_triangle(function: Any, ours: Callable[[Array, int], Array]) -> None:
    @lazy(function)
    def triangle(m: Any, k: Any = 0) -> Array:
        x = array(m)
        if x.ndim < 2 or not isinstance(k, int | np.integer):
            raise Unsupported
        return ours(Array._of(x), int(k))


_add_triangle(np.tril, _creation.tril)
_add_triangle(np.triu, _creation.triu)


@lazy(np.meshgrid)
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    if sparse or not copy:
        raise Unsupported
    return _creation.meshgrid(*(Array._of(array(x).reshape([-1])) for x in xi), indexing=indexing)


def _unstack(x: Any, /, *, axis: Any = 0) -> tuple[Array, ...]:
    if type(axis) is not int:
        raise Unsupported
    return _manipulation.unstack(Array._of(array(x)), axis=axis)


if hasattr(np, "unstack"):
    FUNCTIONS[np.unstack] = _unstack
