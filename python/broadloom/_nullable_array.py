"""The class of arrays with nulls, `broadloom.arrow.NullableArray`: values and masks as one array. Its operators and
methods are short calls of `_nullable` and `_nullable_reductions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from broadloom import _nullable
from broadloom import _nullable_protocols as protocols
from broadloom._array import Array, of_numpy
from broadloom._arrow_interface import array_capsules, stream_capsule, taken
from broadloom._creation import asarray, is_of_arrow
from broadloom._dtypes import astype
from broadloom._errors import ShapeError
from broadloom._evaluation import evaluate
from broadloom._generated import elementwise
from broadloom._generated.nullable import NullableMethods
from broadloom._manipulation import broadcast_to
from broadloom._nullable import Masks
from broadloom._nullable_printing import nullable as printed
from broadloom._nullable_reductions import Axis, counted, reduced
from broadloom._operands import has_mask
from broadloom._operators import Number, OverArrays
from broadloom._tracebacks import methods_show_users_lines

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@methods_show_users_lines
class NullableArray(NullableMethods):
    """A lazy array whose elements may be null. It consists of `values` and a mask, `validity`, which is true where they
    are valid.

    `values` is anything that `bl.asarray` or `bl.from_arrow` accepts, or a NumPy masked array. `validity` is an array
    of bools that broadcasts to its shape, or None if all values are valid. TypeError for a mask of another dtype,
    ValueError for one of another shape.

    Operators and element-wise functions, such as `bl.exp(x)`, return null where an operand is null. `&` and `|` of
    bools follow Kleene's logic, where a valid false (or true) determines the result. Reductions, such as `bl.sum(x)` or
    `x.sum()`, skip nulls, and return null if fewer than `min_count` elements are valid or, with `skip_nulls=False`, if
    one is null. All operations are lazy: values and mask are expressions, which one loop computes. Dtypes, promotion
    and the treatment of NaN are as without nulls; a NaN is not a null.

    >>> x = bl.arrow.NullableArray([1.0, 4.0, 9.0], [True, False, True])
    >>> bl.sqrt(x) * 10
    NullableArray([10.0, null, 30.0], dtype=float64)
    >>> x.sum(), (x > 5).tolist()
    (NullableArray(10.0, dtype=float64), [False, None, True])
    """

    __slots__ = ("__weakref__", "_mask", "_masks", "values")

    #: The values. Those at nulls are meaningless.
    values: Array
    #: The masks. An element is valid if all of them are true.
    _masks: Masks
    #: The combined mask, once it was requested.
    _mask: Array | None

    def __init__(self, values: Any, validity: Any = None) -> None:
        if not isinstance(values, (np.ndarray, Array, OverArrays)) and _gives_arrow(values):
            memory, valid, _ = taken(values)
            own: Masks = () if valid is None else (of_numpy(valid),)
            values = of_numpy(memory)
        elif has_mask(type(values)):
            values, own = np.ma.getdata(values), _nullable.united((asarray(~np.ma.getmaskarray(values)),))
        else:
            values, own = _nullable.parts(values)
        try:
            self.values = asarray(values)
        except TypeError as error:
            if type(error) is not TypeError:
                raise
            raise TypeError(f"NullableArray: values: {error}") from None
        self._mask = None
        self._masks = own
        if validity is not None:
            mask = asarray(validity)
            if mask.dtype.kind != "b":
                raise TypeError(f"NullableArray: the validity is {mask.dtype}, not bool")
            shape: Any = self.values.shape
            try:
                mask = mask if mask.shape == shape else broadcast_to(mask, shape)
            except ValueError:
                raise ShapeError(
                    f"NullableArray: a validity of shape {mask.shape} for values of shape {shape}"
                ) from None
            self._masks = _nullable.united(own, (mask,))

    @classmethod
    def _of(cls, values: Array, masks: Masks) -> NullableArray:
        array = cls.__new__(cls)
        array.values = values
        array._masks = masks
        array._mask = None
        return array

    def _arrays(self) -> tuple[Array, ...]:
        mask = self._validity()
        return (self.values,) if mask is None else (self.values, mask)

    def _validity(self) -> Array | None:
        """The mask in the shape of the values, or None if there are no nulls."""
        if self._mask is None and self._masks:
            self._mask = _nullable.mask_of(self.values, self._masks)
            assert self._mask is not None
            self._masks = (self._mask,)
        return self._mask

    # Properties that are known without computing.

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """The number of elements, null or not."""
        return self.values.size or 0

    @property
    def validity(self) -> Array:
        """Where elements are valid, as bools."""
        mask = self._validity()
        return _nullable.everywhere(self.values) if mask is None else Array._of(mask._handle, mask._origin)

    # Values.

    def evaluate(self) -> NullableArray:
        """Computes values and mask in one pass, and keeps them. Returns the array itself."""
        self._computed()
        return self

    def _computed(self) -> tuple[np.ndarray, np.ndarray | None]:
        mask = self._validity()
        if mask is None:
            return np.asarray(self.values), None
        evaluate(self.values, mask)
        return np.asarray(self.values), np.asarray(mask)

    @property
    def null_count(self) -> int:
        """The number of null elements. It is computed when it is requested."""
        mask = self._validity()
        return 0 if mask is None else self.size - int(np.count_nonzero(np.asarray(mask)))

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, with None for nulls."""
        values, valid = self._computed()
        if valid is None or valid.all():
            return values.tolist()
        return _nullable.with_none(values, valid).tolist()

    def to_pylist(self) -> Any:
        """`tolist`, by pyarrow's name."""
        return self.tolist()

    def to_numpy(self, fill_value: Number | None = None) -> np.ndarray:
        """The elements as a NumPy array, without a copy if none is null.

        Nulls become `fill_value`. Without it, as in pyarrow, they become NaN, for which integers are converted to
        float64; bools become objects, with None for nulls.
        """
        values, valid = self._computed()
        if valid is None or valid.all():
            return values
        if fill_value is None:
            if values.dtype.kind == "b":
                return _nullable.with_none(values, valid)
            fill_value = np.nan
            values = values if values.dtype.kind == "f" else values.astype(np.float64)
        filled = values.copy()
        filled[~valid] = fill_value
        return filled

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        nulls = self.null_count
        if nulls:
            raise ValueError(f"{nulls} elements are null, which would be lost; see to_numpy, fill_null and drop_null")
        return self.values.__array__(dtype, copy)

    def item(self) -> bool | int | float | None:
        """The value of an array of one element; None if it is null. ValueError for another number of elements."""
        values, valid = self._computed()
        if values.size != 1:
            raise ValueError(f"item takes an array of one element, this one has {values.size}")
        value: bool | int | float = values.item()
        return value if valid is None or valid.item() else None

    def _number(self, what: str) -> Any:
        value = self.item()
        if value is None:
            raise TypeError(f"a null is no {what}; `item` gives None")
        return value

    def __bool__(self) -> bool:
        return bool(self._number("bool"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[NullableArray]:
        self._computed()
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object, /) -> bool:
        """Whether a valid element equals the value, or, for None, whether one is null."""
        if value is None:
            return self.null_count > 0
        return self._operated("equal", self, value).any(min_count=0).item() is True

    def __repr__(self) -> str:
        return printed(self.values, self._validity())

    # Elements.

    def __getitem__(self, key: Any, /) -> NullableArray:
        """The elements at a key, as of an array. Where a mask is null, the element is not selected. Where an index is
        null, the result is null."""
        if isinstance(key, NullableArray):
            return self.filter(key) if key.dtype.kind == "b" else self.take(key)
        mask = self._validity()
        if mask is not None and isinstance(key, (Array, np.ndarray, list)):
            self._computed()
        return NullableArray._of(self.values[key], () if mask is None else (mask[key],))

    def filter(
        self, mask: Array | NullableArray, null_selection_behavior: Literal["drop", "emit_null"] = "drop"
    ) -> NullableArray:
        """The elements where a mask of bools is true. Where the mask is null, nothing is selected ("drop"), or a null
        ("emit_null")."""
        if null_selection_behavior not in ("drop", "emit_null"):
            raise ValueError(f"filter: {null_selection_behavior!r} is neither 'drop' nor 'emit_null'")
        given = NullableArray(mask)
        if given.dtype.kind != "b":
            raise TypeError(f"filter: the mask is {given.dtype}, not bool")
        chosen, known = given.values, given._validity()
        if known is None:
            return self[chosen]
        if null_selection_behavior == "drop":
            return self[chosen & known]
        selected = chosen | ~known
        made = self[selected]
        return NullableArray._of(made.values, _nullable.united(made._masks, (known[selected],)))

    def take(self, indices: Array | NullableArray) -> NullableArray:
        """The elements at indices; null where an index is null. An index out of range is an error of the evaluation."""
        given = NullableArray(indices)
        if given.dtype.kind not in "iu":
            raise TypeError(f"take: the indices are {given.dtype}, not integers")
        made = self[given.fill_null(0)]
        return NullableArray._of(made.values, _nullable.united(made._masks, given._masks))

    # Nulls.

    def is_null(self, nan_is_null: bool = False) -> Array:
        """Where elements are null, or NaN if that is to count as null, as bools."""
        return ~self.is_valid(nan_is_null)

    def is_valid(self, nan_is_null: bool = False) -> Array:
        """Where elements are not null, as bools."""
        if nan_is_null and self.dtype.kind == "f":
            return self.validity & ~elementwise.isnan(self.values)
        return self.validity

    def fill_null(self, value: Array | NullableArray | Number) -> Any:
        """The elements, with each null replaced by a number or by the element of an array; the result is an Array. If
        the value is a NullableArray, elements that are null in both stay null, and the result is a NullableArray.

        TypeError for a value that the dtype can't represent, as in `bl.where`.
        """
        mask = self.validity
        if not isinstance(value, NullableArray):
            return elementwise.where(mask, self.values, value)
        return NullableArray._of(elementwise.where(mask, self.values, value.values), (mask | value.validity,))

    def drop_null(self) -> Array:
        """The elements that are not null. They are computed, and copied if one is null."""
        _, valid = self._computed()
        return self.values if valid is None or valid.all() else self.values[valid]

    def astype(self, dtype: DTypeLike) -> NullableArray:
        """The elements converted as by `bl.astype`; nulls stay."""
        return NullableArray._of(astype(self.values, dtype), self._masks)

    # Functions of elements, reductions.

    def _operated(self, op: str, *operands: Any) -> NullableArray:
        given = _operands(operands)
        return NotImplemented if given is None else self._apply(op, given)

    def _paired(self, ufunc: np.ufunc, *operands: Any) -> tuple[NullableArray, NullableArray]:
        return NotImplemented if _operands(operands) is None else ufunc(*operands)

    def __divmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, self, other)

    def __rdivmod__(self, other: Any, /) -> tuple[NullableArray, NullableArray]:
        return self._paired(np.divmod, other, self)

    def __round__(self, ndigits: int | None = None, /) -> NullableArray:
        values: Any = self
        made: NullableArray = np.round(values, 0 if ndigits is None else ndigits)
        return made

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given = _operands(inputs)
        if given is None:
            return protocols.unknown_operand(ufunc, inputs)
        return protocols.of_ufunc(ufunc, method, given, kwargs, self._of)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return protocols.of_function(function, args, kwargs, self._of)

    def _apply(self, op: str, operands: tuple[Any, ...]) -> NullableArray:
        return NullableArray._of(*_nullable.of_elements(op, operands))

    def _reduce(
        self, name: str, axis: Any, keepdims: bool, numpy_promotion: bool = False, **options: Any
    ) -> NullableArray:
        # The promotion rule is that of the reductions from which this one is composed.
        return NullableArray._of(*reduced(self.values, self._validity(), name, axis, keepdims, **options))

    def count(
        self,
        mode: Literal["only_valid", "only_null", "all"] = "only_valid",
        axis: Axis = None,
        *,
        keepdims: bool = False,
    ) -> Array:
        """The number of valid elements, of nulls with the mode "only_null", or of all elements with "all". ValueError
        for another mode."""
        return counted(self.values, self._validity(), mode, axis, keepdims)

    def _skipping(
        self, name: str, axis: Axis, *, dtype: DTypeLike | None = None, ddof: float = 0, **options: Any
    ) -> NullableArray:
        if name == "mean":
            given = self if dtype is None else self.astype(dtype)
            return given._reduce(name, axis, **options)
        return self._reduce(name, axis, dtype=dtype, correction=float(ddof), **options)

    # Arrow.

    def __arrow_c_schema__(self) -> object:
        return self.values.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return array_capsules(self.values, self._validity(), requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return stream_capsule(self.values, self._validity(), requested_schema)


#: The types accepted as the other operand of an operator.
OPERANDS = (NullableArray, Array, np.ndarray, np.generic, bool, int, float, complex, type(None))


def _gives_arrow(values: Any) -> bool:
    """Whether the values may come with Arrow nulls. Unlike `is_of_arrow`, this includes objects such as pandas columns,
    which are otherwise converted as NumPy arrays without nulls."""
    return is_of_arrow(values) or hasattr(values, "__arrow_c_stream__")


def _operands(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Converts operands of element-wise functions: Arrow arrays and sequences become arrays. None if an operand is an
    unsupported object."""
    made = tuple(_operand(x) for x in given)
    return made if all(isinstance(x, OPERANDS) for x in made) else None


def _operand(x: Any) -> Any:
    if isinstance(x, OPERANDS):
        return x
    if isinstance(x, (list, tuple)):
        return asarray(x)
    return NullableArray(x) if _gives_arrow(x) else x
