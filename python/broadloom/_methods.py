"""The methods of NumPy arrays, for users and libraries that call them on our arrays.

Each method has the arguments and dtypes of the NumPy function with that name: `x.sum()` is `numpy.sum(x)`. The result
is lazy if the function's is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadloom._registry import found
from broadloom._tracebacks import methods_show_users_lines
from broadloom._ufuncs import Casting, Number

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from broadloom._array import Array
    from broadloom._core import Handle


NO_VALUE = np._NoValue

Order = Literal["C", "F", "A", "K"]
SortKind = Literal["quicksort", "mergesort", "heapsort", "stable"]


def of_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Array:
    """Calls a NumPy function without the arguments that were not given."""
    # PERF: arguments need not be bound to a signature without `out`, which is half of a method's time.
    given = {
        name: value for name, value in kwargs.items() if value is not NO_VALUE and (value is not None or name != "out")
    }
    made: Array = found("array_function")(function, (), args, given)
    return made


def _axes(given: tuple[Any, ...]) -> Any:
    """The tuple (2, 3), for calls as `f(2, 3)` and as `f((2, 3))`."""
    return given[0] if len(given) == 1 else given


def _numpys_key(key: Any) -> Any:
    """A key of `flat` whose arrays are NumPy's."""
    if isinstance(key, tuple):
        return tuple(map(_numpys_key, key))
    return np.asarray(key) if isinstance(key, NumpyMethods) else key


@methods_show_users_lines
class Flat:
    """The elements of an array in row-major order, as `flat` of NumPy's arrays."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._elements = np.asarray(array).flat

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        return next(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, key: Any, /) -> Any:
        return np.asarray(self._array).flat[_numpys_key(key)]

    def __setitem__(self, key: Any, value: Any, /) -> None:
        values = np.array(self._array)
        values.flat[_numpys_key(key)] = value
        self._array[...] = values
        # As in NumPy, an assignment begins the iteration again.
        self._elements = values.flat

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(self._array).flat.__array__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._elements, name)


@methods_show_users_lines
class NumpyMethods:
    """The methods of `numpy.ndarray` that make sense for an array whose values are not changed.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.arange(6.0)).reshape(2, 3)
    >>> x.mean(axis=0).tolist()
    [1.5, 2.5, 3.5]
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def shape(self) -> tuple[int | None, ...]: ...
        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int | None: ...
        def _overwrite(self, handle: Handle) -> None: ...

    # Element by element.

    def astype(
        self,
        dtype: DTypeLike,
        order: Order = "K",
        casting: Casting = "unsafe",
        subok: bool = True,
        copy: bool = True,
        *,
        device: str | None = None,
    ) -> Array:
        """The elements converted to a dtype. Floats are truncated to integers and saturated, and NaN becomes 0. Raises
        TypeError if `casting` doesn't allow the conversion. For an unsupported dtype, the result is a NumPy array.

        >>> import numpy as np, broadloom as bl
        >>> bl.asarray(np.array([1.5, -2.5, 300.0])).astype("int8").tolist()
        [1, -2, 127]
        """
        made: Array = found("astype")(self, np.dtype(dtype), casting, copy, device)
        return made

    def clip(
        self,
        min: Array | Number | None = None,
        max: Array | Number | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Array:
        """The elements within bounds, either of which may be None, as by `numpy.clip`."""
        return of_numpy(np.clip, self, min, max, out=out)

    def round(self, decimals: int = 0, out: Array | np.ndarray | None = None) -> Array:
        """The elements rounded to a number of decimals, ties to even, as by `numpy.round`."""
        return of_numpy(np.round, self, decimals, out=out)

    def conj(self) -> Array:
        """The array: there are no complex numbers."""
        return of_numpy(np.real, self)

    def conjugate(self) -> Array:
        """The array: there are no complex numbers."""
        return self.conj()

    @property
    def real(self) -> Array:
        """The array: there are no complex numbers."""
        return of_numpy(np.real, self)

    @property
    def imag(self) -> Array:
        """Zeros: there are no complex numbers."""
        return of_numpy(np.imag, self)

    # Shapes.

    def reshape(
        self, *shape: int | Sequence[int], order: Literal["C", "F", "A"] = "C", copy: bool | None = None
    ) -> Array:
        """These elements in another shape, one extent of which may be -1: `reshape(2, 3)` or `reshape((2, 3))`."""
        return of_numpy(np.reshape, self, _axes(shape), order=order, copy=NO_VALUE if copy is None else copy)

    def ravel(self, order: Order = "C") -> Array:
        """The elements along one axis, in row-major order."""
        return of_numpy(np.ravel, self, order)

    def flatten(self, order: Order = "C") -> Array:
        """A copy of the elements along one axis, in row-major order."""
        made = of_numpy(np.ravel, self, order)
        made._views = ()
        return made

    def transpose(self, *axes: int | Sequence[int] | None) -> Array:
        """The axes in another order, reversed by default: `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
        return of_numpy(np.transpose, self, _axes(axes) if axes else None)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """The array with two axes exchanged."""
        return of_numpy(np.swapaxes, self, axis1, axis2)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Array:
        """The array without axes of extent 1: all of them, or only those in `axis`."""
        return of_numpy(np.squeeze, self, axis)

    def repeat(self, repeats: int | Array, axis: int | None = None) -> Array:
        """Every element several times, as by `numpy.repeat`."""
        return of_numpy(np.repeat, self, repeats, axis)

    # Sorting, searching and selecting.

    def take(
        self,
        indices: int | Array,
        axis: int | None = None,
        out: Array | np.ndarray | None = None,
        mode: Literal["raise", "wrap", "clip"] = "raise",
    ) -> Array:
        """The elements at indices along `axis`, as by `numpy.take`."""
        return of_numpy(np.take, self, indices, axis, out, mode)

    def sort(
        self, axis: int = -1, kind: SortKind | None = None, order: None = None, *, stable: bool | None = None
    ) -> None:
        """Sorts this array: it becomes the expression of its sorted elements."""
        # Without an axis, `numpy.sort` would return an array of another shape.
        axis = operator.index(axis)
        made = of_numpy(np.sort, self, axis=axis, kind=kind, order=order, stable=stable)
        self._overwrite(made._operand())

    def argsort(
        self, axis: int | None = -1, kind: SortKind | None = None, order: None = None, *, stable: bool | None = None
    ) -> Array:
        """The indices that sort the array; equal elements keep their order."""
        return of_numpy(np.argsort, self, axis, kind=kind, order=order, stable=stable)

    def searchsorted(
        self, v: Array | Number, side: Literal["left", "right"] = "left", sorter: Array | None = None
    ) -> Array:
        """Where values belong in this sorted array, as by `numpy.searchsorted`."""
        return of_numpy(np.searchsorted, self, v, side, sorter)

    def nonzero(self) -> tuple[Array, ...]:
        """The indices of the elements that are not 0, as by `numpy.nonzero`. Evaluates the array."""
        made: Any = of_numpy(np.nonzero, self)
        return tuple(made)

    # Functions that NumPy computes.

    def dot(self, b: Array | Number, out: Array | np.ndarray | None = None) -> Array:
        """`numpy.dot`; computed by NumPy."""
        return of_numpy(np.dot, self, b, out=out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """The elements of diagonals; computed by NumPy."""
        return of_numpy(np.diagonal, self, offset, axis1, axis2)

    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Array:
        """The sum of a diagonal; computed by NumPy."""
        return of_numpy(np.trace, self, offset, axis1, axis2, dtype, out)

    # Values.

    def copy(self, order: Order = "C") -> Array:
        """A copy of the current values, which later writes to shared memory do not change."""
        return of_numpy(np.copy, self)

    def fill(self, value: Array | Number) -> None:
        """Makes every element the same value."""
        self._overwrite(of_numpy(np.full_like, self, value)._operand())

    def item(self, *args: int | tuple[int, ...]) -> bool | int | float:
        """One element as a Python bool, int or float: the only one, or the one at an index in row-major order, or at an
        index per axis. No other element is computed. TypeError without an index if there is not exactly one element.

        >>> import numpy as np, broadloom as bl
        >>> (bl.asarray(np.arange(6.0)) * 2).item(4)
        8.0
        """
        x: Any = self
        if not args:
            only: bool | int | float = x._item("item")
            return only
        index = _axes(args)
        if not isinstance(index, tuple):
            x, index = self.ravel(), (index,)
        if len(index) != x.ndim:
            raise ValueError("incorrect number of indices for array")
        one: bool | int | float = x._operand().slice([operator.index(i) for i in index]).item()
        return one

    def view(self, dtype: DTypeLike | None = None) -> Any:
        """The bytes of the values interpreted as another dtype: an array over the memory of this one, which is
        evaluated. The result is a NumPy array if `dtype` is a class of NumPy arrays, or an unsupported dtype.

        >>> import numpy as np, broadloom as bl
        >>> bl.asarray(np.array([1.0], "f4")).view("u4").tolist()
        [1065353216]
        """
        return found("view")(self, dtype)

    def tobytes(self, order: Literal["C", "F", "A"] | None = "C") -> bytes:
        """The bytes of the values, in row-major order."""
        return np.asarray(self).tobytes(order)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def flat(self) -> Flat:
        """The elements in row-major order: an iterator of NumPy scalars, whose elements can be set."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = np.resize(np.asarray(value), self.size)
