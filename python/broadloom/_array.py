"""The array: an expression that computes when its values are requested.

An `Array` holds a handle of an expression, whose dtype and shape were inferred when it was built. Requesting all values
computes them in one pass and keeps them; requesting one element computes only that. Operators are one-line methods that
call `_core.apply`, so that only the engine defines what they mean. In-place operators and assignment to elements
replace the handle, and never write to memory.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Self

import numpy as np

from broadloom import _options, _shared_work
from broadloom._core import Buffered, Handle
from broadloom._generated.methods import Reductions
from broadloom._generated.operators import ArrayOperators
from broadloom._hints import advice_on
from broadloom._methods import NumpyMethods
from broadloom._operators import Number, OverArrays, lent, operand, strong
from broadloom._registry import found
from broadloom._tracebacks import methods_show_users_lines, shorten
from broadloom._tracing import refuse, visible_shape, visible_size

#: The maximum depth of an operand, in operations. A deeper operand is evaluated before it is used, so that a loop which
#: builds on its own results does not compute them again and again.
MAX_DEPTH = 100

#: The number of single elements that may be read before the whole array is evaluated. It keeps a loop over the elements
#: from computing their common subexpressions for each of them.
MAX_READS = 16

#: A step from an array to a view of it: a key without arrays, or a function on memory. A view has a linked list of
#: steps, last step first.
Step = Callable[[np.ndarray], np.ndarray] | int | tuple[Any, ...]
Steps = tuple[Any, Step] | None
#: The base of a view: a reference to the array, the array's version when the view was taken, and the steps to the view. For
#: an array that can't be set, a `ReadOnly` object takes the place of the reference.
View = tuple[Callable[[], Any], int, Steps]

#: Held while an array's handle is compared and replaced, so that a thread that keeps computed values does not undo
#: another thread's assignment. Nothing is computed while it is held. It is reentrant because of signal handlers, and no
#: other thread holds it while the process forks.
changing = threading.RLock()
os.register_at_fork(before=changing.acquire, after_in_parent=changing.release, after_in_child=changing.release)

#: The supported editions of the Array API standard.
EDITIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


@methods_show_users_lines
class Array(Buffered, Reductions, NumpyMethods, ArrayOperators):
    """A lazy array. The result of an operator or function is an expression, which is computed in one fused loop when
    its values are requested (by printing, `numpy.asarray`, `bool`, `float`, `int` or `tolist`).

    Arrays are created by `broadloom.asarray` and the other creation functions, not by the constructor.

    Values that were computed as a whole are kept. A single element is computed alone, until 16 elements of an array
    were read. A chain of more than 100 operations is evaluated automatically. Assignment to elements, and in-place
    operators, give an array another expression: memory that it shares is not written, and arrays built from it before
    are not changed. Elements that are set in a view, as in `x[0][1] = 9`, are set in `x`.

    Operators promote dtypes as NumPy 2 does: two integers, or two floats, to the wider one; a Python number takes the
    dtype of the array if that is of its kind. Unsupported dtypes raise TypeError, and shapes that do not broadcast
    raise ValueError. See `set_options` for the standard's rule.

    >>> x = bl.asarray([1.0, 2.0, 3.0])
    >>> 2 * x + x ** 2
    Array([ 3.,  8., 15.], dtype=float64)
    """

    __slots__ = ("__weakref__", "_handle", "_origin", "_reads", "_version", "_views")
    __array_priority__ = 1000

    _handle: Handle
    #: The NumPy array whose memory contains exactly this array's elements; None if an operation was applied since.
    _origin: np.ndarray | None
    #: The number of single elements read since the handle was set.
    _reads: int
    #: The number of assignments to elements so far.
    _version: int
    #: The arrays that assignments to this view are passed on to, nearest first, each with its version when this view
    #: was taken.
    _views: tuple[View, ...]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        # Libraries such as flox make an empty array of the type of an operand so.
        if len(args) == 1 and isinstance(args[0], list) and not args[0] and options.keys() == {"dtype"}:
            return cls._of(Handle.full((0,), 0, options["dtype"]))
        raise TypeError("an Array is made by `broadloom.asarray` and the other creation functions")

    @classmethod
    def _of(cls, handle: Handle, origin: np.ndarray | None = None) -> Self:
        array = Buffered.__new__(cls)
        array._handle = handle
        array._origin = origin
        array._reads = 0
        array._version = 0
        array._views = ()
        if handle.depth >= _shared_work.MIN_DEPTH:
            _shared_work.remember(array)
        return array

    def _made(self, handle: Handle) -> Array:
        """Makes an array of an expression that has this array as an operand. The result's class is `Array`, even if
        this array is of a subclass."""
        return Array._of(handle)

    def promoting_by_numpy(self) -> Array:
        """This array, with NumPy's promotion regardless of `set_options`. Arrays made from the result use NumPy's
        promotion too."""
        return self._taken(Array._of(self._handle.promoting_by_numpy(), self._origin), ())

    def _replace(self, handle: Handle) -> None:
        """Replaces the values of the array, as assignments and in-place operators do. It is no longer a view
        afterwards."""
        with changing:
            # Kept until the lock is released, since freeing these objects may run any code.
            before = self._handle, self._origin
            self._origin = None
            self._reads = 0
            self._handle = handle
            self._version += 1
            self._views = ()
        del before
        if handle.depth >= _shared_work.MIN_DEPTH:
            _shared_work.remember(self)

    def _keep(self, values: Handle, of: Handle) -> None:
        """Keeps the computed values of the handle `of`, unless something else was assigned to the array meanwhile."""
        with changing:
            if self._handle is of:
                self._reads = 0
                self._handle = values

    def __getattr__(self, name: str) -> Any:
        """Raises AttributeError for a missing attribute. If arrays of other libraries have the attribute, or there is a
        function of this name, the message names a replacement."""
        advice = advice_on(name)
        raise AttributeError(
            f"'Array' object has no attribute {name!r}" + (f"; {advice}" if advice else ""), name=name, obj=self
        )

    def _overwrite(self, handle: Handle) -> None:
        """Replaces the values of the array, and the values of the arrays that it is a view of, as methods and `out` do."""
        if self._views:
            self[...] = Array._of(handle)
        else:
            self._replace(handle)

    def _taken(self, made: Array, step: Step) -> Array:
        """Marks `made` as a view of this array: assignment to its elements sets the elements that `step` selects from
        this array's memory."""
        views: list[View] = [(weakref.ref(self), self._version, (None, step))]
        for reference, version, steps in self._views:
            if reference() is not None:
                views.append((reference, version, (steps, step)))
        made._views = tuple(views)
        return made

    # Properties that are known without computing.

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements, as a NumPy dtype."""
        return self._handle.dtype

    @property
    def device(self) -> str:
        """The device of the elements: "cpu"."""
        return "cpu"

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None for a dynamic extent, in a function that is being traced."""
        return visible_shape(self._handle)

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise AttributeError("the shape of an Array can't be set; write x = x.reshape(shape)")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._handle.ndim

    @property
    def size(self) -> int | None:
        """The number of elements; None if an extent is dynamic."""
        return visible_size(self._handle)

    @property
    def nbytes(self) -> int | None:
        """The size of the elements in memory, in bytes; None if an extent is dynamic."""
        size: Any = visible_size(self._handle)
        nbytes: int = size * self.dtype.itemsize
        return nbytes

    @property
    def T(self) -> Array:
        """The transpose of a matrix, an array of two axes; ValueError for another rank.

        >>> bl.asarray([[1, 2, 3], [4, 5, 6]]).T
        Array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int64)
        """
        if self.ndim != 2:
            raise ValueError(f"T is the transpose of a matrix; the array has rank {self.ndim}: see mT and permute_dims")
        return self._taken(Array._of(self._handle.permute_dims([1, 0])), np.transpose)

    @property
    def mT(self) -> Array:
        """The transpose of each matrix in a stack of them: the last two axes are swapped. ValueError below rank 2.

        >>> bl.zeros((4, 2, 3)).mT.shape
        (4, 3, 2)
        """
        rank = self.ndim
        if rank < 2:
            raise ValueError(f"mT is the transpose of matrices; the array has rank {rank}")
        made = Array._of(self._handle.permute_dims([*range(rank - 2), rank - 1, rank - 2]))
        return self._taken(made, lambda memory: memory.swapaxes(-1, -2))

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in EDITIONS:
            raise ValueError(
                f"there is no edition {api_version!r} of the Array API here; there are {', '.join(EDITIONS)}"
            )
        namespace: ModuleType = found("namespace")()
        return namespace

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """The array on a device: itself, since the only device is "cpu"; ValueError for another, or for a stream."""
        check_device(device)
        if stream is not None:
            raise ValueError("the device has no streams")
        return self

    # Values.

    def _concrete(self, what: str) -> Handle:
        """The handle of an array with values. Raises TracerError if the array is traced."""
        if self._handle.is_symbolic:
            refuse(what)
        return self._handle

    def _evaluated(self) -> Handle:
        """The handle of the computed values in memory, which this array keeps."""
        old = self._handle
        if old.is_evaluated or self._origin is not None:
            return old
        made = _shared_work.evaluated(self)
        self._keep(made, old)
        return made

    def _lender(self) -> np.ndarray | None:
        """The NumPy array whose memory contains exactly this array's elements, or None if an operation was applied
        since. ValueError if the dtype, shape or memory of that NumPy array was changed."""
        origin = self._origin
        if origin is not None:
            self._handle.check()
        return origin

    def _operand(self) -> Handle:
        """The handle for use in another expression. A long chain of operations is evaluated first."""
        if self._handle.depth > MAX_DEPTH and not self._handle.is_symbolic:
            self._evaluated()
        return self._handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._concrete("an array of NumPy's")
        origin = self._lender()
        if origin is not None:
            values = origin.view()
            values.flags.writeable = False
        else:
            values = self._evaluated().to_numpy()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to make {np.dtype(dtype)} of {values.dtype}")
            return values.astype(dtype)
        return values.copy() if copy else values

    def __bool__(self) -> bool:
        return bool(self._item("bool"))

    def __int__(self) -> int:
        return int(self._item("int"))

    def __float__(self) -> float:
        return float(self._item("float"))

    def __complex__(self) -> complex:
        return complex(self._item("complex"))

    def __index__(self) -> int:
        if self.ndim != 0 or self.dtype.kind not in "iu":
            raise TypeError(f"an index is an integer without axes; the array is {self.dtype} with {self.ndim} axes")
        return int(self._item("an index"))

    def _item(self, what: str) -> Number:
        self._concrete(what)
        if self.size != 1:
            kind = ValueError if what in ("bool", "item") else TypeError
            advice = {"bool": "; see any and all", "item": "; see tolist, or item(index)"}.get(what, "")
            raise kind(f"{what} takes an array of one element, this one has {self.size}{advice}")
        origin = self._lender()
        if origin is not None:
            value: Number = origin.item()
            return value
        return self._evaluated().item()

    def __round__(self, ndigits: int | None = None, /) -> Any:
        """Without axes, the number rounded as by Python's `round`; otherwise each element rounded as by `numpy.round`."""
        if self.ndim == 0 and not self._handle.is_symbolic:
            number = self._item("round")
            return round(number) if ndigits is None else round(number, ndigits)
        return found("array_function")(np.round, (), (self, 0 if ndigits is None else ndigits), {})

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a single number for an array without axes.

        >>> bl.asarray([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.__array__().tolist()

    def __repr__(self) -> str:
        return str(found("representation")(self))

    def __str__(self) -> str:
        return str(found("elements")(self))

    def __format__(self, spec: str, /) -> str:
        return format(self._item("format"), spec) if spec and self.ndim == 0 else format(str(self), spec)

    # Elements.

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("an array without axes has no length")
        extent = self.shape[0]
        if extent is None:
            self._concrete("len")
        return extent or 0

    def __iter__(self) -> Iterator[Array]:
        if self.ndim == 0:
            raise TypeError("an array without axes cannot be iterated over")
        self._concrete("iteration")
        return self._elements()

    def _elements(self) -> Iterator[Array]:
        # Evaluated only when the first element is requested, since `numpy.iterable`, which libraries call, creates an
        # iterator without using it.
        self._evaluated()
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, value: object, /) -> bool:
        # As in NumPy: the answer is whether any element of `self == value` is true.
        made: Any = self == value
        if not isinstance(made, Array):
            return bool(made)
        return bool(Array._of(made._operand().reduce("any", None, False)))

    def __getitem__(self, key: Any, /) -> Array:
        try:
            if self._reads > MAX_READS and not self._handle.is_symbolic:
                self._evaluated()
                self._reads = 0
            element: Array = found("getitem")(self, key)
        except Exception as error:
            shorten(error)
            raise
        if element._handle.ndim == 0 and not self._handle.is_evaluated:
            self._reads += 1
        return element

    def __setitem__(self, key: Any, value: Any, /) -> None:
        try:
            found("setitem")(self, key, value)
        except Exception as error:
            shorten(error)
            raise

    @property
    def at(self) -> Any:
        """Elements to be replaced in a new array: `x.at[key].set(values)`, and `add`, `multiply`, `min` and `max`. The array is
        not changed."""
        return found("at")(self)

    # DLPack: the memory is exported by `_dlpack`.

    def __dlpack__(
        self,
        /,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return found("dlpack")(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        # The CPU, as NumPy's arrays have it.
        return np.empty(0).__dlpack_device__()

    # Arrow: `_arrow_interface` exports the memory.

    def __arrow_c_schema__(self) -> object:
        return found("schema_capsule")(self.dtype)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        capsules: tuple[object, object] = found("array_capsules")(self, None, requested_schema)
        return capsules

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return found("stream_capsule")(self, None, requested_schema)

    # Protocols of NumPy, Dask and notebooks.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return found("array_ufunc")(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return found("array_function")(func, types, args, kwargs)

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        return found("pickled")(self)

    def _buffer(self) -> np.ndarray:
        # For the buffer protocol. NumPy tries it before `__array__` and discards exceptions, so an interrupt would be
        # lost; therefore nothing is computed here.
        if self._origin is None and not self._handle.is_evaluated:
            raise BufferError("the array is an expression; `broadloom.evaluate` gives it memory")
        return self.__array__()

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any, /) -> Array:
        return self.copy()

    def __dask_tokenize__(self) -> Any:
        return found("token")(self)

    def __sizeof__(self) -> int:
        is_held = self._handle.is_evaluated or self._origin is not None
        return object.__sizeof__(self) + ((self.nbytes or 0) if is_held else 0)

    def _repr_html_(self) -> str:
        return str(found("html")(self))


def check_device(device: str | None) -> None:
    """ValueError unless the device is "cpu" or None."""
    if device is not None and device != "cpu":
        raise ValueError(f"there is no device {device!r}; there is 'cpu'")


def of_numpy(values: np.ndarray, copy: bool | None = None) -> Array:
    """An array over the memory of a NumPy array, or over a copy if the memory can't be shared or a copy is requested.

    TypeError for an unsupported dtype; ValueError if `copy` is False and a copy is needed.
    """
    return Array._of(*lent(values, copy))


def apply(op: str, *operands: Any) -> Array:
    """Applies a function of the op table to arrays and numbers, for the functions of the namespace."""
    try:
        handles = [operand(x) for x in operands]
    except TypeError:
        for x in operands:
            if isinstance(x, OverArrays):
                made: Array = x._apply(op, operands)
                return made
        raise
    if not any(isinstance(x, Handle) for x in handles):
        handles = [strong(x) for x in handles]
    return Array._of(_options.apply(op, *handles))
