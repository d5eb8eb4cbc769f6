"""The methods that users of NumPy's arrays, and libraries that hold such arrays, call on an array.

Each method calls the NumPy function of the same name, with that function's arguments and dtypes: `x.sum()` is
`numpy.sum(x)`. The results stay expressions if that function's do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from broadloom._registry import found

if TYPE_CHECKING:
    from broadloom._array import Array

NO_VALUE = np._NoValue


def _numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Array:
    """Calls a function of NumPy's without the arguments that the caller did not give."""
    given = {name: value for name, value in kwargs.items() if value is not NO_VALUE}
    made: Array = found("array_function")(function, (), args, given)
    return made


def _axes(given: tuple[Any, ...]) -> Any:
    """The tuple of numbers that a caller passes as `f(2, 3)` or as `f((2, 3))`."""
    return given[0] if len(given) == 1 else given


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

    # Reductions.

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = NO_VALUE,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> Array:
        """The sum of the elements along `axis`, as `numpy.sum`: bools and integers are added as int64 or uint64."""
        return _numpy(np.sum, self, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = NO_VALUE,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> Array:
        """The product of the elements along `axis`, as `numpy.prod`."""
        return _numpy(np.prod, self, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)

    def max(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = NO_VALUE,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> Array:
        """The maximum along `axis`, NaN if an element is NaN, as `numpy.max`."""
        return _numpy(np.max, self, axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def min(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = NO_VALUE,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> Array:
        """The minimum along `axis`, NaN if an element is NaN, as `numpy.min`."""
        return _numpy(np.min, self, axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE
    ) -> Array:
        """The mean along `axis`, float64 of integers, as `numpy.mean`."""
        return _numpy(np.mean, self, axis, dtype=dtype, out=out, keepdims=keepdims, where=where)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = NO_VALUE,
        *,
        where: Any = NO_VALUE,
        mean: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> Array:
        """The variance along `axis`: squared differences from the mean, divided by n - ddof, as `numpy.var`."""
        rest = {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
        return _numpy(np.var, self, axis, dtype=dtype, out=out, ddof=ddof, **rest)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = NO_VALUE,
        *,
        where: Any = NO_VALUE,
        mean: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> Array:
        """The square root of the variance, as `numpy.std`."""
        rest = {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
        return _numpy(np.std, self, axis, dtype=dtype, out=out, ddof=ddof, **rest)

    def any(self, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Array:
        """Whether any element along `axis` is true or not 0."""
        return _numpy(np.any, self, axis, out=out, keepdims=keepdims, where=where)

    def all(self, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Array:
        """Whether all elements along `axis` are true or not 0."""
        return _numpy(np.all, self, axis, out=out, keepdims=keepdims, where=where)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Array:
        """The index of the maximum along `axis`, the first of equals; of all elements in row-major order without
        one."""
        return _numpy(np.argmax, self, axis, out=out, keepdims=keepdims)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Array:
        """The index of the minimum along `axis`, the first of equals; of all elements in row-major order without
        one."""
        return _numpy(np.argmin, self, axis, out=out, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        """Each element added to those before it along `axis`; of all elements in row-major order without one."""
        return _numpy(np.cumsum, self, axis, dtype=dtype, out=out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        """Each element multiplied by those before it along `axis`; of all elements in row-major order without one."""
        return _numpy(np.cumprod, self, axis, dtype=dtype, out=out)

    # Element by element.

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
        *,
        device: str | None = None,
    ) -> Array:
        """The elements converted; floats to integers by truncation, saturating, NaN to 0. Raises TypeError where
        `casting` doesn't allow the conversion. A dtype that broadloom has not gives an array of NumPy's.

        >>> import numpy as np, broadloom as bl
        >>> bl.asarray(np.array([1.5, -2.5, 300.0])).astype("int8").tolist()
        [1, -2, 127]
        """
        made: Array = found("astype")(self, np.dtype(dtype), casting, copy)
        return made

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Array:
        """The elements within bounds, either of which may be None, as `numpy.clip`."""
        return _numpy(np.clip, self, min, max, out=out)

    def round(self, decimals: int = 0, out: Any = None) -> Array:
        """The elements rounded to so many decimals, ties to even, as `numpy.round`."""
        return _numpy(np.round, self, decimals, out=out)

    def conj(self) -> Array:
        """The array: there are no complex numbers."""
        return _numpy(np.real, self)

    def conjugate(self) -> Array:
        """The array: there are no complex numbers."""
        return self.conj()

    @property
    def real(self) -> Array:
        """The array: there are no complex numbers."""
        return _numpy(np.real, self)

    @property
    def imag(self) -> Array:
        """Zeros: there are no complex numbers."""
        return _numpy(np.imag, self)

    # Shapes.

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        """These elements in another shape, one extent of which may be -1: `reshape(2, 3)` or `reshape((2, 3))`."""
        return _numpy(np.reshape, self, _axes(shape), order=order)

    def ravel(self, order: str = "C") -> Array:
        """The elements along one axis, in row-major order."""
        return _numpy(np.ravel, self, order)

    def flatten(self, order: str = "C") -> Array:
        """The elements along one axis, in row-major order: an array of its own, which is no view."""
        made = _numpy(np.ravel, self, order)
        made._views = ()
        return made

    def transpose(self, *axes: Any) -> Array:
        """The axes in another order, reversed by default: `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
        return _numpy(np.transpose, self, _axes(axes) if axes else None)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Two axes exchanged."""
        return _numpy(np.swapaxes, self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Array:
        """Without axes of extent 1: all of them, or those of `axis`."""
        return _numpy(np.squeeze, self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """Every element several times, as `numpy.repeat`."""
        return _numpy(np.repeat, self, repeats, axis)

    # Functions that NumPy computes.

    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: Any = "raise") -> Array:
        """The elements at indices along `axis`; computed by NumPy, unless there is one index."""
        return _numpy(np.take, self, indices, axis, out, mode)

    def dot(self, b: Any, out: Any = None) -> Array:
        """`numpy.dot`; computed by NumPy."""
        return _numpy(np.dot, self, b, out=out)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> None:
        """Sorts this array: its values are evaluated, sorted by NumPy, and replace the expression."""
        # Without an axis, `numpy.sort` would give an array of another shape, so that None is refused.
        axis = operator.index(axis)
        self._overwrite(np.sort(self, axis=axis, kind=kind, order=order, stable=stable)._operand())  # type: ignore

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> Array:
        """The indices that sort the array; computed by NumPy."""
        return _numpy(np.argsort, self, axis, kind=kind, order=order, stable=stable)

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Array:
        """Where values belong in this sorted array; computed by NumPy."""
        return _numpy(np.searchsorted, self, v, side, sorter)

    def nonzero(self) -> tuple[Array, ...]:
        """The indices of the elements that are not 0; computed by NumPy."""
        made: Any = _numpy(np.nonzero, self)
        return tuple(made)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """The elements of diagonals; computed by NumPy."""
        return _numpy(np.diagonal, self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
        """The sum of a diagonal; computed by NumPy."""
        return _numpy(np.trace, self, offset, axis1, axis2, dtype, out)

    # Values.

    def copy(self, order: str = "C") -> Array:
        """An array of the values of now, which no write to shared memory changes."""
        return _numpy(np.copy, self)

    def fill(self, value: Any) -> None:
        """Makes every element the same value."""
        self._overwrite(np.full_like(self, value)._operand())  # type: ignore[attr-defined]

    def item(self, *args: Any) -> bool | int | float:
        """One element as a bool, int or float of Python's: the only one, one by its index in row-major order, or by an
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

    def view(self, dtype: Any = None) -> Any:
        """The bytes of the values as another dtype: an array over the memory of this one, which is evaluated. One of NumPy's
        where `dtype` is a class of NumPy's arrays, or a dtype that there is not.

        >>> import numpy as np, broadloom as bl
        >>> bl.asarray(np.array([1.0], "f4")).view("u4").tolist()
        [1065353216]
        """
        return found("view")(self, dtype)

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the values, in row-major order."""
        return np.asarray(self).tobytes(order)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def flat(self) -> Any:
        """An iterator of the elements in row-major order, as numbers of NumPy's."""
        return np.asarray(self).flat
