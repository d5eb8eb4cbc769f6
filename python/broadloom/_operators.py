"""The operands of operators (arrays, numbers, and sequences of numbers, as for NumPy's operators), and the functions
that implement operators.

The methods are generated: each calls a function here with the name of one in the engine's op table, so that only the
engine defines its meaning. In-place operators give the array another expression, and never write to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from broadloom import _core, _options
from broadloom._core import Handle
from broadloom._division import quotient_and_remainder
from broadloom._registry import found
from broadloom._tracebacks import methods_show_users_lines

if TYPE_CHECKING:
    from broadloom._array import Array

Number = bool | int | float


@methods_show_users_lines
class Operators:
    """A mixin for classes with a handle: the members that operators need, and the operators that are not functions of
    the op table."""

    __slots__ = ()

    if TYPE_CHECKING:
        _handle: Handle

        def _made(self, handle: Handle) -> Array: ...
        def _operand(self) -> Handle: ...
        def _replace(self, handle: Handle) -> None: ...

    def __divmod__(self, other: Any, /) -> tuple[Array, Array]:
        handle = accepted(other)
        return NotImplemented if handle is NotImplemented else _divided(self, self._operand(), handle)

    def __rdivmod__(self, other: Any, /) -> tuple[Array, Array]:
        handle = accepted(other)
        return NotImplemented if handle is NotImplemented else _divided(self, handle, self._operand())

    def __matmul__(self, other: Any, /) -> Array:
        handle = accepted(other)
        return NotImplemented if handle is NotImplemented else found("matmul")(self, self._made(strong(handle)))

    def __rmatmul__(self, other: Any, /) -> Array:
        handle = accepted(other)
        return NotImplemented if handle is NotImplemented else found("matmul")(self._made(strong(handle)), self)

    def __imatmul__(self, other: Any, /) -> Self:
        made = self.__matmul__(other)
        return NotImplemented if made is NotImplemented else _take_over("matmul", self, made._handle)


class OverArrays:
    """A class composed of arrays, such as arrays with nulls. Element-wise functions, reductions and conversions
    delegate to these methods; other functions reject it."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def dtype(self) -> np.dtype[Any]: ...

    def _apply(self, op: str, operands: tuple[Any, ...]) -> Any:
        """Applies a function of the op table to operands, one of which is this object."""
        raise NotImplementedError

    def _reduce(self, name: str, axis: Any, keepdims: bool, **options: Any) -> Any:
        """Applies a reduction to this object."""
        raise NotImplementedError

    def _arrays(self) -> tuple[Array, ...]:
        """The arrays that this object is composed of, which are evaluated together."""
        raise NotImplementedError


Operated = TypeVar("Operated", bound=Operators)


# Operands.


def lent(values: np.ndarray, copy: bool | None = None) -> tuple[Handle, np.ndarray]:
    """A handle of the memory of a NumPy array (or of a copy if the memory can't be shared or a copy is requested), and
    the array whose memory it is.

    TypeError for an unsupported dtype; ValueError if `copy` is False and a copy is needed.
    """
    if copy:
        values = np.array(values, dtype=values.dtype.newbyteorder("="), order="C")
    try:
        handle = Handle.from_numpy(values)
    except ValueError:
        if copy is False:
            raise
        values = values.astype(values.dtype.newbyteorder("="), order="C")
        handle = Handle.from_numpy(values)
    return handle, values


def accepted(x: Any) -> Any:
    """Converts the operand of an operator. NotImplemented for an object whose own operator may handle the operation."""
    if isinstance(x, Operators):
        return x._operand()
    kind = type(x)
    if kind is float or kind is int or kind is bool:
        return x
    if kind is np.ndarray or kind is np.memmap or isinstance(x, np.generic):
        return lent(np.asarray(x))[0]
    if kind is list or kind is tuple:
        return of_sequence(x)
    if isinstance(x, (int, float, complex)):
        # The engine rejects complex numbers, with its own message.
        return x
    return of_sequence(x) if is_sequence(x) else NotImplemented


def is_sequence(x: Any) -> bool:
    """Whether NumPy would convert an object's elements to an array: it is a sequence other than text, and its class
    does not declare that it handles arrays itself."""
    is_text = isinstance(x, (str, bytes, bytearray, OverArrays))
    return isinstance(x, Sequence) and not is_text and getattr(x, "__array_ufunc__", x) is not None


def of_sequence(x: Sequence[Any]) -> Handle:
    """A handle of the elements of nested sequences, in the dtype that NumPy gives them; TypeError if that is not
    supported."""
    values = np.asarray(x)
    if values.dtype.kind not in "biufc":
        raise TypeError(f"the elements of a {type(x).__name__} are no numbers of one dtype: {x!r:.60}")
    return lent(values)[0]


def float_of(x: Number) -> float:
    """A number as a float; ValueError for an integer that is too large."""
    try:
        return float(x)
    except OverflowError:
        raise ValueError("an integer of this size cannot be represented as float64") from None


def strong(x: Handle | Number) -> Handle:
    """A number as an array of its own dtype, which takes part in promotion like an array's."""
    return x if isinstance(x, Handle) else Handle.from_numpy(np.asarray(x))


def operand(x: Any) -> Handle | Number:
    """Converts the operand of a function; TypeError if it is neither an array nor a number."""
    handle: Handle | Number = accepted(x)
    if handle is NotImplemented:
        advice = "fill_null and drop_null" if isinstance(x, OverArrays) else "asarray"
        raise TypeError(f"expected an array, a bool, an int or a float, not {type(x).__name__}; see {advice}")
    return handle


def handle_of(x: Any) -> Handle:
    """The handle of an operand that must be an array, or be convertible to one."""
    return strong(operand(x))


# The functions that implement the operators.


def forward(op: str, x: Operators, other: Any) -> Array:
    handle = accepted(other)
    if handle is NotImplemented and hasattr(other, "__arrow_c_array__") and not isinstance(other, OverArrays):
        # Otherwise `==` would compare the identity of the two objects.
        raise TypeError(f"{op}: an array of Arrow's is no operand; see from_arrow")
    return NotImplemented if handle is NotImplemented else x._made(_options.apply(op, x._operand(), handle))


#: What a class has that compares itself with arrays.
_PROTOCOLS = (
    "__array_ufunc__ __array_priority__ __array__ __array_namespace__ __arrow_c_array__ __arrow_c_stream__ __dlpack__"
).split()
#: Comparisons of classes whose objects equal no number.
_OF_NO_NUMBERS: tuple[Any, ...] = (object.__eq__, dict.__eq__, set.__eq__, frozenset.__eq__, slice.__eq__)


def equality(op: str, x: Operators, other: Any) -> Array:
    """`==` and `!=`. As in NumPy, operands that are not numbers are allowed, and are compared with each element: None and
    texts equal no element."""
    if other is None or isinstance(other, (str, bytes)):
        return x._made(_constant(op == "not_equal", x._operand()))
    try:
        made = forward(op, x, other)
        if made is not NotImplemented or any(hasattr(type(other), protocol) for protocol in _PROTOCOLS):
            return made
        if type(other).__eq__ in _OF_NO_NUMBERS:
            return x._made(_constant(op == "not_equal", x._operand()))
        values = np.asarray(other)
    except (TypeError, NotImplementedError):
        if not isinstance(other, (np.ndarray, np.generic, complex)) and not is_sequence(other):
            raise
        values = np.asarray(other)
        if values.dtype.kind in "biuf":
            raise
    # NumPy compares texts, objects and complex numbers.
    elements = np.asarray(x)
    return x._made(lent(np.asarray(elements == values if op == "equal" else elements != values))[0])


def _constant(value: bool, x: Handle) -> Handle:
    """One truth value for all elements. It is an expression of the array, since the extents may be dynamic."""
    return _core.apply("logical_or" if value else "logical_and", _core.apply("equal", x, x), value)


def reflected(op: str, x: Operators, other: Any) -> Array:
    handle = accepted(other)
    return NotImplemented if handle is NotImplemented else x._made(_options.apply(op, handle, x._operand()))


def _divided(x: Operators, dividend: Any, divisor: Any) -> tuple[Array, Array]:
    remainder = _options.apply("remainder", dividend, divisor)
    first, second = quotient_and_remainder(dividend, divisor, remainder)
    return x._made(first), x._made(second)


def in_place(op: str, x: Operated, other: Any) -> Operated:
    handle = accepted(other)
    return NotImplemented if handle is NotImplemented else _take_over(op, x, _options.apply(op, x._operand(), handle))


def _take_over(op: str, x: Operated, made: Handle) -> Operated:
    """The result of an in-place operator, which must not change the dtype or shape. With NumPy's promotion, a result of
    the same kind is converted to the array's dtype, as in NumPy."""
    old = x._handle
    if made.dtype != old.dtype:
        is_converted = np.can_cast(made.dtype, old.dtype, "same_kind")
        if not (is_converted and _options.by_numpy(old, made)):
            advice = '; promote as NumPy does (set_options(promotion="numpy"))' if is_converted else ""
            raise TypeError(f"{op} in place: the result is {made.dtype}, the array {old.dtype}{advice}")
        made = made.astype(old.dtype)
    if made.shape != old.shape or (made.is_symbolic and made.dims != old.dims):
        raise ValueError(f"{op} in place: the result has the shape {made.shape}, the array {old.shape}")
    x._replace(made)
    return x
