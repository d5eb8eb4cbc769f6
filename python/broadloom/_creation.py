"""Creates arrays from NumPy arrays, from values, and by generation.

Generated arrays (full, arange, linspace, eye) occupy no memory: element i is a function of i, computed where it is
used. All functions accept `device`, which must be "cpu" or None, and `dtype`, which must be supported, and raise
ValueError and TypeError otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array, check_device, of_numpy
from broadloom._core import Handle
from broadloom._dtypes import dtype_of
from broadloom._errors import LimitError
from broadloom._introductions import introduce
from broadloom._operands import has_mask, shape_of
from broadloom._operators import Number, float_of, handle_of
from broadloom._registry import found
from broadloom._signatures import take_numpys_arguments

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "arange",
    "array",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | Sequence[int]


def asarray(
    obj: Any, /, dtype: DTypeLike | None = None, *, device: str | None = None, copy: bool | None = None
) -> Array:
    """Converts `obj` to an array: an array, a number, nested sequences of numbers, or an object with memory (a buffer,
    `__array__`, DLPack, or an Arrow array without nulls; see `from_arrow`).

    The memory of a NumPy array is shared if possible, and **read when a value is computed**: a write in between is
    visible. Strided and read-only memory is shared; misaligned memory and memory in another byte order is copied. With
    `copy=True` the current values are copied. (Sharing is the only exception to the rule that an array has the values
    of the time when it was built. Values of an array that was computed as a whole are kept.) With `copy=False`,
    ValueError is raised if a copy is needed: for sequences, for another dtype, and for memory that can't be shared. An
    Array is returned itself, unless a copy or another dtype is requested. If the dtype, shape or memory of a shared
    NumPy array is changed in place, reading its elements raises ValueError.

    TypeError for values of an unsupported dtype, such as complex numbers and strings; OverflowError for an integer that
    `dtype` can't represent.

    >>> memory = np.array([1.0, 2.0])
    >>> x = bl.asarray(memory) * 10
    >>> memory[0] = 7.0
    >>> x
    Array([70., 20.], dtype=float64)
    """
    check_device(device)
    introduce()
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(obj, Array):
        return _of_array(obj, wanted, copy)
    if not isinstance(obj, np.ndarray) and is_of_arrow(obj):
        return _of_array(found("without_nulls")("asarray", obj, copy), wanted, copy)
    if isinstance(obj, (np.ndarray, np.generic)) or not _has_only_dlpack(obj):
        return _of_values(obj, wanted, copy)
    return _of_values(np.from_dlpack(obj), wanted, copy)


def array(obj: Any, /, dtype: DTypeLike | None = None, *, copy: bool | None = True) -> Array:
    """Like `asarray`, but the values are copied by default, as by `numpy.array`. Not in the standard.

    >>> memory = np.array([1.0, 2.0])
    >>> x = bl.array(memory)
    >>> memory[0] = 7.0
    >>> x
    Array([1., 2.], dtype=float64)
    """
    return asarray(obj, dtype=dtype, copy=None if copy and isinstance(obj, (list, tuple, int, float)) else copy)


def _has_only_dlpack(obj: Any) -> bool:
    return hasattr(obj, "__dlpack__") and not hasattr(obj, "__array__") and not hasattr(obj, "__array_interface__")


def is_of_arrow(obj: Any) -> bool:
    """Whether an object is imported by Arrow's interface and not as a NumPy array."""
    # A pandas column, which also exports an Arrow stream, uses NaN where the stream has nulls.
    return hasattr(obj, "__arrow_c_array__") or (hasattr(obj, "__arrow_c_stream__") and not hasattr(obj, "__array__"))


def _of_array(x: Array, dtype: np.dtype[Any] | None, copy: bool | None) -> Array:
    converts = dtype is not None and dtype != x.dtype
    if converts and copy is False:
        raise ValueError(f"asarray: a copy is needed to make {dtype} of {x.dtype}")
    if not converts and not copy:
        return x
    handle = x._operand() if dtype is None or not converts else x._operand().astype(dtype)
    # Reads the memory now if it is shared.
    if copy and not handle.is_evaluated and not handle.is_symbolic:
        handle = _options.evaluated(handle)
    return Array._of(handle)


def _of_values(obj: Any, dtype: np.dtype[Any] | None, copy: bool | None) -> Array:
    if has_mask(type(obj)):
        raise TypeError("asarray: the array has a mask, which would be lost; use its `filled` values")
    if isinstance(obj, (np.ndarray, np.generic)) or hasattr(obj, "__array__"):
        values = np.asarray(obj) if copy is not False else np.asarray(obj, copy=False)
        if dtype is not None and values.dtype.newbyteorder("=") != dtype:
            if copy is False:
                raise ValueError(f"asarray: a copy is needed to make {dtype} of {values.dtype}")
            return Array._of(of_numpy(values, copy)._handle.astype(dtype))
        return of_numpy(values, copy)
    values = np.array(obj, dtype=dtype, copy=copy)
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"asarray: `obj` is {type(obj).__name__}, expected an array, or numbers of one of broadloom's dtypes"
        )
    return of_numpy(values, copy if copy is False else None)


def _filled(name: str, shape: Shape, value: Number, dtype: DTypeLike | None, device: str | None) -> Array:
    check_device(device)
    return Array._of(Handle.full(shape_of(name, shape), value, np.float64 if dtype is None else dtype_of(dtype)))


def _filled_like(x: Array, value: Number | Array, dtype: DTypeLike | None, device: str | None) -> Array:
    """An array with one value everywhere, in the shape of `x`. If the shape is dynamic, because `x` is traced, the
    result is an expression of `x`."""
    handle = handle_of(x)
    wanted = handle.dtype if dtype is None else dtype_of(dtype)
    shape = [extent for extent in handle.shape if extent is not None]
    if len(shape) == handle.ndim:
        return full(shape, value, dtype=wanted, device=device)
    one = full((), value, dtype=wanted, device=device)._operand()
    return Array._of(_core.apply("where", _core.apply("equal", handle, handle), one, one))


def zeros(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """Zeros; float64 by default. ValueError for a negative extent.

    >>> bl.zeros((2, 2))
    Array([[0., 0.],
           [0., 0.]], dtype=float64)
    """
    return _filled("zeros", shape, 0, dtype, device)


def ones(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """Ones; float64 by default. ValueError for a negative extent.

    >>> bl.ones(3, dtype=bl.int8)
    Array([1, 1, 1], dtype=int8)
    """
    return _filled("ones", shape, 1, dtype, device)


def empty(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """An array whose values do not matter. They are zeros, which occupy no memory. float64 by default.

    >>> bl.empty((2, 3)).shape
    (2, 3)
    """
    return _filled("empty", shape, 0, dtype, device)


def full(
    shape: Shape, fill_value: Number | Array, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Array:
    """An array with one value everywhere. The default dtype is bool, int64 or float64, by the kind of the number, or
    the dtype of a value that is an array without axes.

    ValueError for a negative extent, and for a number that `dtype` can't represent; TypeError for a float with an
    integer dtype.

    >>> bl.full((2,), 7)
    Array([7, 7], dtype=int64)
    """
    check_device(device)
    if isinstance(fill_value, (Array, np.ndarray, np.generic, list, tuple)):
        value = asarray(fill_value, dtype=dtype)
        return Array._of(value._operand().broadcast_to(shape_of("full", shape)))
    if isinstance(fill_value, complex):
        raise NotImplementedError("full: there are no complex numbers in broadloom")
    if not isinstance(fill_value, (int, float)):
        raise TypeError(f"full: `fill_value` is {type(fill_value).__name__}, expected a number")
    wanted = np.asarray(fill_value).dtype if dtype is None else dtype_of(dtype)
    return Array._of(_full(shape_of("full", shape), fill_value, dtype_of(wanted)))


def _full(shape: tuple[int, ...], value: Number, dtype: np.dtype[Any]) -> Handle:
    if dtype.kind == "f":
        number = float_of(value)
        if isfinite(number):
            with np.errstate(over="ignore"):
                if np.isinf(np.float64(number).astype(dtype)):
                    raise ValueError(f"full: {value} cannot be represented as {dtype}")
        return Handle.full(shape, number, dtype)
    if isinstance(value, float):
        raise TypeError(f"full: {value} is no {dtype}; give an integer or another dtype")
    if dtype.kind == "b":
        if not isinstance(value, bool):
            raise TypeError(f"full: {value} is no bool; give True or False")
    elif not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise ValueError(f"full: {value} cannot be represented as {dtype}")
    return Handle.full(shape, value, dtype)


def zeros_like(x: Array, /, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """Zeros of the shape of `x`, and of its dtype by default.

    >>> bl.zeros_like(bl.asarray([1, 2, 3]))
    Array([0, 0, 0], dtype=int64)
    """
    return _filled_like(x, False, dtype, device)


def ones_like(x: Array, /, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """Ones of the shape of `x`, and of its dtype by default.

    >>> bl.ones_like(bl.asarray([1.0, 2.0]), dtype=bl.bool)
    Array([ True,  True], dtype=bool)
    """
    return _filled_like(x, True, dtype, device)


def empty_like(x: Array, /, dtype: DTypeLike | None = None, *, device: str | None = None) -> Array:
    """An array of the shape of `x`, and of its dtype by default, whose values do not matter.

    >>> bl.empty_like(bl.asarray([1, 2, 3])).dtype
    dtype('int64')
    """
    return zeros_like(x, dtype=dtype, device=device)


def full_like(
    x: Array, /, fill_value: Number | Array, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Array:
    """An array with one value everywhere, in the shape of `x`, and of its dtype by default. The errors are those of
    `full`.

    >>> bl.full_like(bl.asarray([1, 2, 3]), -1)
    Array([-1, -1, -1], dtype=int64)
    """
    return _filled_like(x, fill_value, dtype, device)


def _python_number(x: Any, name: str) -> int | float:
    """Converts a bound to a Python number."""
    if isinstance(x, (Array, np.ndarray, np.generic)):
        x = x.item()
    if isinstance(x, (bool, int)):
        return int(x)
    if isinstance(x, float):
        return x
    raise TypeError(f"{name}: expected numbers, not {type(x).__name__}")


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Array:
    """The numbers `start`, `start + step`, …, up to but excluding `stop`. If only one argument is passed, it is `stop`, and
    `start` is 0.

    The default dtype is int64 if all arguments are integers (uint64 if int64 can't represent them), or else float64.
    There are ceil((stop - start) / step) numbers, or none if that is negative. Element i is start + i * step: exact for
    integers, and rounded once for floats.

    ValueError for a step of 0, and for an element that an integer dtype can't represent.

    >>> bl.arange(2, 10, 3)
    Array([2, 5, 8], dtype=int64)
    """
    check_device(device)
    if stop is None:
        start, stop = 0, start
    bounds = [_python_number(x, "arange") for x in (start, stop, step)]
    if bounds[2] == 0:
        raise ValueError("arange: the step is 0")
    if not all(isinstance(x, int) for x in bounds):
        wanted = np.dtype(np.float64) if dtype is None else dtype_of(dtype)
        return Array._of(_float_range(bounds, wanted))
    first, end, by = (int(x) for x in bounds)
    values = range(first, end, by)
    if dtype is None:
        fits = not values or max(values[0], values[-1]) < 2**63
        wanted = np.dtype(np.int64 if fits else np.uint64)
    else:
        wanted = dtype_of(dtype)
    return Array._of(_float_range(bounds, wanted) if wanted.kind == "f" else _integer_range(values, wanted))


def _float_range(bounds: list[int | float], dtype: np.dtype[Any]) -> Handle:
    start, stop, step = bounds
    if dtype.kind != "f" and all(float(x).is_integer() for x in (start, step)):
        return _integer_range(range(int(start), ceil(stop) if step > 0 else -ceil(-stop), int(step)), dtype)
    return Handle.arange(float_of(start), float_of(stop), float_of(step), np.float64).astype(dtype)


def _integer_range(values: range, dtype: np.dtype[Any]) -> Handle:
    """The elements of an integer range. If the engine can't represent all three bounds, they are computed as index *
    step + start in wrapping arithmetic, which is exact for elements that fit the dtype."""
    if not values:
        return Handle.full([0], 0, dtype)
    if abs(values.stop - values.start) // abs(values.step) >= np.iinfo(np.int64).max:
        raise LimitError("arange: there are more elements than memory can address")
    if dtype.kind == "b":
        raise TypeError("arange: bool has no numbers; give another dtype")
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if min(values[0], values[-1]) < least or max(values[0], values[-1]) > most:
        raise ValueError(f"arange: elements from {values[0]} to {values[-1]} cannot be represented as {dtype}")
    if all(least <= x <= most for x in (values.start, values.stop, values.step)):
        return Handle.arange(values.start, values.stop, values.step, dtype)
    places = Handle.arange(0, len(values), 1, np.int64)
    step, start = ((x + 2**63) % 2**64 - 2**63 for x in (values.step, values.start))
    return _core.apply("add", _core.apply("multiply", places, step), start).astype(dtype)


def linspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Array:
    """`num` numbers from `start` to `stop`, evenly spaced; without `stop` if `endpoint` is false. float64 by default.

    They are computed as float64. For another dtype, they are rounded once (down for an integer dtype). ValueError for a
    negative `num`.

    >>> bl.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    check_device(device)
    wanted = np.dtype(np.float64) if dtype is None else dtype_of(dtype)
    count = index(num)
    if count < 0:
        raise ValueError(f"linspace: {count} numbers are asked for")
    bounds = [float_of(_python_number(x, "linspace")) for x in (start, stop)]
    made = Handle.linspace(bounds[0], bounds[1], count, np.float64, bool(endpoint))
    if wanted.kind in "iu":
        made = _core.apply("floor", made)
    return Array._of(made.astype(wanted))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Array:
    """A matrix with ones where the column index is the row index plus `k`, and zeros elsewhere. Square and float64 by
    default.

    ValueError for a negative extent.

    >>> bl.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float64)
    """
    check_device(device)
    rows, columns = shape_of("eye", (n_rows, n_rows if n_cols is None else n_cols))
    diagonal = max(-rows, min(index(k), columns))
    return Array._of(Handle.eye(rows, columns, diagonal, np.float64 if dtype is None else dtype_of(dtype)))


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid: for n arrays of one axis, n arrays with n axes, each of which varies along one axis.
    With `indexing="xy"` the first two axes are swapped; with "ij" they are in order.

    The results are views without memory of their own. ValueError for an array with more axes, and for another
    `indexing`.

    >>> x, y = bl.meshgrid(bl.asarray([1, 2, 3]), bl.asarray([10, 20]))
    >>> x + y
    Array([[11, 12, 13],
           [21, 22, 23]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    vectors = [handle_of(x) for x in arrays]
    if any(x.ndim > 1 for x in vectors):
        raise ValueError("meshgrid: an array has more than one axis")
    sizes = [x.size or 0 for x in vectors]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = [sizes[i] for i in order]
    grids = []
    for axis, x in zip(order, vectors, strict=True):
        column = [1] * len(shape)
        column[axis] = x.size or 0
        grids.append(Array._of(x.reshape(column).broadcast_to(shape)))
    return tuple(grids)


def _triangle(x: Array, k: int, name: str, op: str) -> Array:
    handle = handle_of(x)
    if handle.ndim < 2:
        raise ValueError(f"{name} takes matrices; the array has rank {handle.ndim}")
    # Beyond these bounds, all diagonals are kept or none.
    bound = 2**62
    diagonal = max(-bound, min(index(k), bound))
    offset = _core.apply("subtract", handle.indices(-1), handle.indices(-2))
    zero = Handle.full([], 0, handle.dtype)
    return Array._of(_core.apply("where", _core.apply(op, offset, diagonal), handle, zero))


def tril(x: Array, /, k: int = 0) -> Array:
    """The lower triangle of each matrix in `x`: the elements above the diagonal `k` become zeros. The main diagonal is
    0, and diagonals above it have positive numbers.

    ValueError below rank 2.

    >>> bl.tril(bl.ones((3, 3), dtype=bl.int8))
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int8)
    """
    return _triangle(x, k, "tril", "less_equal")


def triu(x: Array, /, k: int = 0) -> Array:
    """The upper triangle of each matrix in `x`: the elements below the diagonal `k` become zeros. The main diagonal is
    0, and diagonals above it have positive numbers.

    ValueError below rank 2.

    >>> bl.triu(bl.ones((3, 3), dtype=bl.int8), k=1)
    Array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]], dtype=int8)
    """
    return _triangle(x, k, "triu", "greater_equal")


take_numpys_arguments(globals(), __all__)
