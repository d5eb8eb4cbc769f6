"""The exceptions of the engine: a class for each kind of error.

Each class also inherits from the built-in exception that callers expect: a `DTypeError` is a TypeError. Attributes
describe the failed operation, so that programs need not parse messages. The built-in class is the first base, since it
creates the objects.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArityError",
    "CancelledError",
    "DTypeError",
    "DerivativeError",
    "DivisionError",
    "RangeError",
    "Error",
    "FileError",
    "HostError",
    "InternalError",
    "LayoutError",
    "LimitError",
    "LiteralError",
    "NoValuesError",
    "ShapeError",
    "TextError",
    "TimeLimitError",
    "UnknownNameError",
    "VectorizeError",
]


class Error(Exception):
    """The base class of the engine's errors.

    >>> try:
    ...     bl.asarray([1, 2]) + bl.asarray([1, 2, 3])
    ... except bl.ShapeError as error:
    ...     error.operation, [shape for _, shape in error.operands]
    ('add', [(2,), (3,)])
    """

    #: The name of the function or reduction in the namespace; None if the error is not about one.
    operation: str | None = None
    #: The dtype and shape of each operand; a dynamic extent is given by its name.
    operands: tuple[tuple[Any, tuple[int | str, ...]], ...] = ()
    #: The requested axis, or several; None if there is none.
    axis: int | tuple[int, ...] | None = None
    #: Advice, if there is any.
    help: str | None = None
    #: The line and column in a text, from 1, if the error is about a text.
    place: tuple[int, int] | None = None


class DTypeError(TypeError, Error):
    """Dtypes that do not promote, or that a function does not take."""


class ArityError(TypeError, Error):
    """A wrong number of arguments."""


class ShapeError(ValueError, Error):
    """Shapes that do not broadcast, an axis that does not exist, or an impossible view."""


class LiteralError(ValueError, OverflowError, Error):
    """A number that its dtype cannot represent."""


class UnknownNameError(ValueError, Error):
    """A name that is not bound, or a function that does not exist."""


class LayoutError(ValueError, Error):
    """Memory that is too short, misaligned or overlapping, or missing for a kernel's input."""


class NoValuesError(LayoutError):
    """The values of an input of a kernel were requested, which do not exist before the kernel runs."""


class DivisionError(ZeroDivisionError, Error):
    """An integer division by zero under `int_division="error"`."""


class RangeError(IndexError, Error):
    """An index outside of its axis."""


class DerivativeError(NotImplementedError, Error):
    """An operation has no derivative, or none of the requested mode."""


class LimitError(MemoryError, Error):
    """A limit was exceeded, or memory could not be allocated."""


class TimeLimitError(TimeoutError, Error):
    """An evaluation took longer than `max_time`."""


class CancelledError(RuntimeError, Error):
    """An evaluation was cancelled."""


class HostError(RuntimeError, Error):
    """A host function, which the engine called, failed."""


class FileError(OSError, Error):
    """An error of the operating system."""


class InternalError(RuntimeError, Error):
    """A defect of broadloom: please report it."""


class TextError(SyntaxError, Error):
    """A text in broadloom's language is wrong; `lineno`, `offset` and `text` specify the place."""


class VectorizeError(TypeError, Error):
    """Something in a function that `broadloom.vectorize` can't compile; the message has its file, line and column, and what
    to write instead.

    >>> @bl.vectorize
    ... def total(x):
    ...     return sum(x)
    >>> try:
    ...     total(np.ones(3))
    ... except bl.VectorizeError as error:
    ...     error.place
    (3, 12)
    """


for _name in __all__:
    # Sets the public module of the classes.
    globals()[_name].__module__ = "broadloom"
