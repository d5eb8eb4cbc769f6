"""Tracing state: errors of a trace that needs values, and dynamic extents.

A function is traced with arrays that have no values. Code that requests a value gets a `TracerError`, which names the
user's line. Code that computes with a dynamic extent raises `ExtentNeeded`, and the function is then traced again with
the extents of the call. No trace can therefore silently depend on an extent that is dynamic in its kernel.
"""

from __future__ import annotations

import dis
import linecache
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn, cast

import numpy as np

from broadloom._core import Handle
from broadloom._errors import NoValuesError

#: The folder of the package's own files, as code objects name it.
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: NumPy's folder.
NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep

_RAISE = dis.opmap["RAISE_VARARGS"]

#: Requests made through a method of a traced array, as opposed to a function that computes.
_CONVERSIONS = frozenset(("bool", "int", "float", "complex", "item", "format", "len", "iteration"))

#: The functions that operators compute at once by, as users call them.
_FUNCTIONS = dict.fromkeys(("__matmul__", "__rmatmul__", "__imatmul__"), "matmul")

#: What is asked for by `numpy.add(x, 1, out=memory)` and `memory += x`.
_WRITING = "writing to an array of NumPy's, by `out=` or an in-place operator,"

#: Advice for a conversion to a number.
_UNCONVERTED = "use functions of broadloom, not of `math`, and convert the result outside of the function"

#: Advice for requests of values other than branches.
_INSTEAD = {
    "int": _UNCONVERTED,
    "float": _UNCONVERTED,
    "complex": _UNCONVERTED,
    "item": "index the array instead (`x[0]`), and take the number of the result outside of the function",
    _WRITING: "return the result, and pass `out=` to the compiled function",
    "pickling": "return the array, and pickle the result outside of the function",
    "an array of NumPy's": "use functions of broadloom or NumPy on the array itself, or convert the result outside of the function",
}


class TracerError(TypeError):
    """A function that is being traced by `broadloom.jit` asks for the value of an argument: by a branch (`if x > 0`), by `bool`,
    `int`, `float`, `and`, iteration, or `numpy.asarray`. The message names the line.

    >>> @bl.jit
    ... def relu(x):
    ...     return x if x > 0 else 0.0
    >>> relu(np.array([1.0]))
    Traceback (most recent call last):
    ...
    broadloom.TracerError: ...: `return x if x > 0 else 0.0`: ...
    """

    __module__ = "broadloom"


class ExtentNeeded(BaseException):
    """Raised if code computes with a dynamic extent. It is not an `Exception`, so that no handler in the traced
    function catches it."""


class Tracing(threading.local):
    """The number of nested traces in this thread, and of nested calls by which a loop finds the dtypes of its state."""

    depth = 0
    probes = 0


tracing = Tracing()


def need_extent() -> NoReturn:
    """Causes the function to be traced again with its extents. Outside of a trace, with a traced array that has left
    it, this is an error."""
    if tracing.depth:
        raise ExtentNeeded
    refuse("an open extent")


class OpenExtent:
    """A dynamic extent in a function that is being traced. It prints as its name, and equals itself and None, which the
    standard uses for it. Any other use causes the function to be traced again with the extents of the call."""

    __slots__ = ("_dim",)

    def __init__(self, dim: str) -> None:
        self._dim = dim

    def __repr__(self) -> str:
        return self._dim

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, OpenExtent) and other._dim == self._dim:
            return True
        need_extent()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _needed(self, *_: object) -> NoReturn:
        need_extent()

    __hash__ = __bool__ = __int__ = __float__ = __complex__ = __index__ = _needed
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __neg__ = __pos__ = __invert__ = _needed
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = _needed
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = _needed
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = _needed
    __rlshift__ = __rrshift__ = __round__ = __trunc__ = __floor__ = __ceil__ = __matmul__ = __rmatmul__ = _needed


def visible_shape(handle: Handle) -> tuple[Any, ...]:
    """The shape of a handle as users see it, with an `OpenExtent` for each dynamic extent."""
    shape = handle.shape
    if None not in shape:
        return shape
    return tuple(OpenExtent(dim) if n is None else n for n, dim in zip(shape, handle.dims, strict=True))


def visible_size(handle: Handle) -> int | None:
    """The number of elements of a handle as users see it: an `OpenExtent` if an extent is dynamic."""
    size = handle.size
    return cast("int", OpenExtent("*".join(handle.dims))) if size is None else size


def known(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """The extents of a shape, which must not be dynamic."""
    made = tuple(extent for extent in shape if extent is not None)
    if len(made) != len(shape):
        need_extent()
    return made


def refuse(what: str, *, scalar: str | None = None, advice: str | None = None) -> NoReturn:
    """Raises TracerError: `what` was requested of a traced array, or of the traced number that is the argument
    `scalar`. `advice` states what to write instead."""
    frame, called = sys._getframe(1), ""
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, NUMPY)):
        if frame.f_code.co_filename.startswith(PACKAGE):
            called = _name_of(frame) or frame.f_code.co_name
        frame = frame.f_back
    called = _FUNCTIONS.get(called, called)
    if scalar is None and advice is None and what not in _CONVERSIONS and _is_public(called):
        what = _computing(called)
    if what == "iteration":
        what, advice = (
            "iteration, or unpacking,",
            "use broadloom.sum, max, any and the like, or index the array (`x[0]`), if its extents are known to the function",
        )
    raise _error(what, frame.f_code.co_filename, frame.f_lineno, scalar, advice)


def converted(error: Exception) -> TracerError | None:
    """The TracerError for an engine error which says that a traced array has no values, and for an error of NumPy's that a
    TracerError has caused; None for other errors."""
    if isinstance(error.__cause__, TracerError) and type(error) is ValueError and error.__traceback__ is not None:
        innermost = error.__traceback__
        while innermost.tb_next is not None:
            innermost = innermost.tb_next
        if not has_raise(innermost):
            return _of_item(innermost)
    if not isinstance(error, NoValuesError):
        return None
    place, called = error.__traceback__, ""
    at: TracebackType | None = place
    while at is not None:
        code = at.tb_frame.f_code
        if not code.co_filename.startswith((PACKAGE, NUMPY)):
            place, called = at, ""
        elif not called and code.co_filename.startswith(PACKAGE):
            name = _name_of(at.tb_frame) or code.co_name
            called = name if _is_public(name) else ""
        at = at.tb_next
    assert place is not None
    what = _computing(called) if called else "its code"
    return _error(what, place.tb_frame.f_code.co_filename, place.tb_lineno, None, None)


def has_raise(place: TracebackType) -> bool:
    """Whether a `raise` statement raised an error at a place, and not the code of a function in C that was called there."""
    return place.tb_frame.f_code.co_code[place.tb_lasti] == _RAISE


def _of_item(place: TracebackType) -> TracerError:
    """The error for `out[0] = x[0]`, with `out` of NumPy."""
    advice = "compute the elements of the result by functions of arrays, or set them outside of the function"
    what = "setting an element of an array of NumPy's"
    return _error(what, place.tb_frame.f_code.co_filename, place.tb_lineno, None, advice)


def name_of_numpys(function: Callable[..., Any]) -> str:
    """The name by which users call a function of NumPy, such as `numpy.linalg.norm`."""
    module = getattr(function, "__module__", "")
    return f"{module if module in ('numpy.linalg', 'numpy.fft') else 'numpy'}.{function.__name__}"


def _name_of(frame: FrameType) -> str | None:
    """The name of NumPy's function for which a frame runs, or `out=` if its result is to be written to memory."""
    of, code = frame.f_locals, frame.f_code.co_name
    if code == "array_ufunc":
        return "out=" if of["given"].get("out") is not None else name_of_numpys(of["ufunc"])
    return name_of_numpys(of["function"]) if code == "array_function" else None


def _computing(called: str) -> str:
    """What a function asks for, whose name is given."""
    return _WRITING if called == "out=" else f"`{called}`, which computes at once,"


def _is_public(name: str) -> bool:
    """Whether a function of the package or of NumPy is public."""
    if name == "out=" or name.startswith("numpy."):
        return True
    return name.isidentifier() and not name.startswith("_") and name not in ("array_function", "array_ufunc")


def is_own(error: BaseException) -> bool:
    """Whether the package itself raised an error, or an error that caused it, and not the traced function or a signal
    handler that ran in the meantime."""
    known: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None or id(current) in known:
            continue
        known.add(id(current))
        at = current.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        if at is not None and at.tb_frame.f_code.co_filename.startswith(PACKAGE):
            return isinstance(current, (TypeError, ValueError, LookupError, NotImplementedError))
        pending += (current.__cause__, current.__context__)
    return False


def _error(what: str, file: str, line: int, scalar: str | None, advice: str | None) -> TracerError:
    what = "a branch, or bool," if what == "bool" else what
    code = linecache.getline(file, line).strip()
    code = code if len(code) <= 80 else f"{code[:79]}…"
    shown = f" `{code}`:" if code else ""
    if scalar is not None:
        whose = f"the value of the argument `{scalar}`, which is given when the kernel runs"
        advice = advice or f"use broadloom.where(condition, a, b) instead of a branch, or static_argnames={scalar!r}"
    else:
        whose = "the value of a traced array, which has none before the kernel runs"
        if advice is None:
            is_function = what.endswith("computes at once,")
            advice = (
                "call it outside of the function"
                if is_function
                else _INSTEAD.get(what, "use broadloom.where(condition, a, b) instead of a branch")
            )
    return TracerError(f"{file}:{line}:{shown} {what} asks for {whose}; {advice}")
