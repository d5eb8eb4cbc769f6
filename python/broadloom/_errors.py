"""The exceptions of the engine: a class for each kind of its errors.

Each class also derives from the Python exception that callers of such a function expect: a `DTypeError` is a TypeError.
Attributes say what an error is about, so that no program has to read messages. Python's class comes first among the
bases, since it makes the objects.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArityError",
    "CancelledError",
    "DTypeError",
    "DivisionError",
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
]


class Error(Exception):
    """An error of the engine, of one of the kinds below.

    >>> try:
    ...     bl.asarray([1, 2]) + bl.asarray([1, 2, 3])
    ... except bl.ShapeError as error:
    ...     error.operation, [shape for _, shape in error.operands]
    ('add', [(2,), (3,)])
    """

    #: The name of the function or reduction in the namespace; None if the error is not about one.
    operation: str | None = None
    #: The dtype and the shape of each operand; an extent that is open is given as its name.
    operands: tuple[tuple[Any, tuple[int | str, ...]], ...] = ()
    #: The axis that the caller asked for, or several as a tuple; None if there is none.
    axis: int | tuple[int, ...] | None = None
    #: What a user can do about the error; None if there is nothing to say.
    help: str | None = None
    #: For an error in a text: the line, and the character in that line, both counted from 1.
    place: tuple[int, int] | None = None


class DTypeError(TypeError, Error):
    """Dtypes that do not promote, or that a function does not take."""


class ArityError(TypeError, Error):
    """A wrong number of arguments."""


class ShapeError(ValueError, Error):
    """Shapes that do not broadcast, an axis that there is not, a view that cannot be."""


class LiteralError(ValueError, OverflowError, Error):
    """A number that its dtype cannot hold."""


class UnknownNameError(ValueError, Error):
    """A name that is not bound, or a function that does not exist."""


class LayoutError(ValueError, Error):
    """Memory that is too short, misaligned, or overlapping; or an input of kernels that has none."""


class NoValuesError(LayoutError):
    """The values of an input of kernels, which has none before a kernel runs, were asked for."""


class DivisionError(ZeroDivisionError, Error):
    """An integer division by zero under `int_division="error"`."""


class LimitError(MemoryError, Error):
    """A limit was exceeded, or memory refused."""


class TimeLimitError(TimeoutError, Error):
    """An evaluation took longer than `max_time`."""


class CancelledError(RuntimeError, Error):
    """An evaluation was cancelled."""


class HostError(RuntimeError, Error):
    """A function of the application failed that the engine called."""


class FileError(OSError, Error):
    """An error of the operating system."""


class InternalError(RuntimeError, Error):
    """A defect of broadloom: please report it."""


class TextError(SyntaxError, Error):
    """A text in broadloom's language is wrong; `lineno`, `offset` and `text` say where."""


for _name in __all__:
    # Users know these classes as members of the package, not of this module.
    globals()[_name].__module__ = "broadloom"
