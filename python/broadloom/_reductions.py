"""Functions by which the generated reductions call the engine, and functions along an axis that differ from their row
in the engine's table or have no row.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._dtypes import bool as bool_
from broadloom._dtypes import dtype_of
from broadloom._joining import concat
from broadloom._operands import extents
from broadloom._operators import Number, OverArrays, handle_of
from broadloom._signatures import NO_VALUE, by_numpys, take_numpys_arguments

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["diff", "vecdot"]

Axis = int | tuple[int, ...] | None


def _axes(axis: Axis) -> list[int] | None:
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        return [index(one) for one in axis]
    return [index(axis)]


def reduced(
    name: str, x: Array, axis: Axis, *, keepdims: bool, out: Any = None, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Array:
    """A reduction by its name. With `out`, `initial` or `where`, NumPy's function is called; so in the next functions."""
    if out is not None or not (initial is where is NO_VALUE):
        return by_numpys(name, x, axis=axis, keepdims=keepdims, out=out, initial=initial, where=where)
    return _reduced(name, x, axis, keepdims, numpy_promotion=_options.by_numpy())


def added(
    name: str,
    x: Array,
    axis: Axis,
    *,
    dtype: DTypeLike | None,
    keepdims: bool,
    out: Any,
    initial: Any,
    where: Any,
) -> Array:
    """A sum or product of elements, in a dtype."""
    if out is not None or not (initial is where is NO_VALUE):
        return by_numpys(name, x, axis=axis, dtype=dtype, keepdims=keepdims, out=out, initial=initial, where=where)
    wanted = None if dtype is None else dtype_of(dtype)
    # The standard leaves sums of bools open; all libraries that support them count the true elements.
    counts = (x if isinstance(x, OverArrays) else handle_of(x)).dtype == bool_
    return _reduced(name, x, axis, keepdims, dtype=wanted, numpy_promotion=counts or _options.by_numpy())


def moment(
    name: str,
    x: Array,
    axis: Axis,
    *,
    keepdims: bool,
    dtype: DTypeLike | None,
    out: Any,
    where: Any,
    mean: Any = NO_VALUE,
    correction: float = 0.0,
    ddof: float = 0.0,
) -> Array:
    """A mean, or a variance or its square root, of elements that are converted to a dtype first. `ddof` is NumPy's name
    of `correction`."""
    less = correction + ddof
    if out is not None or not (where is mean is NO_VALUE):
        options = {"dtype": dtype, "keepdims": keepdims, "out": out, "where": where, "mean": mean}
        return by_numpys(name, x, axis=axis, **options, ddof=less or None)
    if dtype is not None:
        x = Array._of(handle_of(x).astype(dtype_of(dtype)))
    # If means of integers are supported, the standard specifies float64 as their dtype.
    return _reduced(name, x, axis, keepdims, correction=float(less), numpy_promotion=True)


def _reduced(name: str, x: Array, axis: Axis, keepdims: bool, **options: Any) -> Array:
    if isinstance(x, OverArrays):
        made: Array = x._reduce(name, axis, keepdims, **options)
        return made
    return Array._of(handle_of(x).reduce(name, _axes(axis), bool(keepdims), **options))


def accumulated(name: str, x: Array, axis: int | None, *, dtype: DTypeLike | None, include_initial: bool) -> Array:
    """A cumulative function by its name."""
    wanted = None if dtype is None else dtype_of(dtype)
    at = None if axis is None else index(axis)
    return Array._of(handle_of(x).cumulative(name, at, wanted, bool(include_initial)))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sum of the products of two arrays along an axis, which has the same extent in both. The other axes broadcast.
    Takes numbers, gives the dtype that they promote to. For bools, as in NumPy, the result is true if both elements
    are true at any position.

    >>> bl.vecdot(bl.asarray([[1, 2], [3, 4]]), bl.asarray([10, 1]))
    Array([12, 34], dtype=int64)
    """
    return Array._of(handle_of(x1).vecdot(handle_of(x2), index(axis)))


def _differences(handle: Handle, axis: int) -> Handle:
    before: list[int | slice] = [slice(None)] * axis
    op = "not_equal" if handle.dtype.kind == "b" else "subtract"
    return _core.apply(op, handle.slice([*before, slice(1, None)]), handle.slice([*before, slice(None, -1)]))


def diff(
    x: Array,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: Array | Number | None = None,
    append: Array | Number | None = None,
) -> Array:
    """The differences between adjacent elements along an axis, applied `n` times. The elements of `prepend` and
    `append` are added before and after those of `x`; a number is added along the whole axis. Takes numbers and gives
    their dtype; for bools, whether adjacent elements differ.

    ValueError for a negative `n`, and for shapes that can't be joined.

    >>> bl.diff(bl.asarray([1, 4, 9, 16]))
    Array([3, 5, 7], dtype=int64)
    """
    handle = handle_of(x)
    rank, at, times = handle.ndim, index(axis), index(n)
    if times < 0:
        raise ValueError(f"diff: n is {n}, less than 0")
    if times == 0:
        return Array._of(handle)
    if not -rank <= at < rank:
        raise ValueError(f"diff: axis {axis} is out of range for an array of rank {rank}")
    if prepend is not None or append is not None:
        parts = [_beside(handle, part, at % rank) for part in (prepend, Array._of(handle), append) if part is not None]
        handle = concat(parts, axis=at)._operand()
    extent = handle.shape[at % rank]
    if extent is not None and times > extent:
        times = extent
    array = Array._of(handle)
    for _ in range(times):
        array = Array._of(_differences(array._operand(), at % rank))
    return array


def _beside(handle: Handle, part: Array | Number, axis: int) -> Array:
    """An array to be joined with another one along an axis. A number becomes one element in all other axes."""
    made = handle_of(part)
    if made.ndim == 0:
        shape = extents(handle)
        made = made.broadcast_to((*shape[:axis], 1, *shape[axis + 1 :]))
    return Array._of(made)


take_numpys_arguments(globals(), __all__)
