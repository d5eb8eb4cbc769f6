"""Tracebacks that show the lines of the user's program only.

An error that a call of the user's caused has the same traceback whether it was raised by a function, a method or an
operator: without the package's frames. The outermost frame of the package removes them, by `shorten` in a handler of its
own, which costs nothing without an error. Operators and item access have such handlers written out; other methods are
wrapped.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from broadloom._errors import Error, InternalError
from broadloom._registry import found
from broadloom._tracing import PACKAGE, TracerError, has_raise, tracing

#: The flags of the code of a function of any number of arguments.
_TAKES_ANY = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

#: Errors that answer a user's call wherever they are raised: the engine's, and those of NumPy and Python about shapes, axes,
#: indices and numbers.
_ANSWERS = (Error, TracerError, ValueError, IndexError, OverflowError, NotImplementedError)

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def shorten(error: BaseException) -> None:
    """Removes the package's frames from the traceback of an error, in a handler of the package's function that the user
    called, which then writes `raise`. If another function of the package was the caller, it does nothing.

    Frames are kept while a function is traced, since `is_own` reads them, and of errors that may be a bug in the package.
    """
    frames = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    handler = frames[0].tb_frame
    outside = handler.f_back
    if tracing.depth or outside is None or outside.f_code.co_filename.startswith(PACKAGE):
        return
    # The handler's own frame raises the errors of arguments that do not fit a signature.
    if not (frames[-1].tb_frame is handler or _is_answer(error, frames[-1])):
        return
    shown: TracebackType | None = None
    for frame in reversed(frames):
        if not frame.tb_frame.f_code.co_filename.startswith(PACKAGE):
            shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__traceback__ = shown


def _is_answer(error: BaseException, place: TracebackType) -> bool:
    """Whether an error answers a user's call, and is no sign of a bug in the package: by its class, or because a `raise`
    statement of the package raised it."""
    if isinstance(error, _ANSWERS):
        return not isinstance(error, InternalError)
    return place.tb_frame.f_code.co_filename.startswith(PACKAGE) and has_raise(place)


def refuse(
    error: Exception,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    of_numpys: Callable[..., Any] | None = None,
) -> None:
    """Raises an error that names the function and the argument, if an argument is to blame for the error of a failed call.
    For handlers in the public function that the user called."""
    outside = sys._getframe(1).f_back
    is_inner = outside is not None and outside.f_code.co_filename.startswith(PACKAGE)
    if is_inner or function.__name__.startswith("_"):
        return
    said = found("refusal")(error, function, args, kwargs, of_numpys)
    if said is not error:
        raise said from None


def without_frames(error: Exception) -> None:
    """Removes all frames from the traceback of an error that `refuse` raised, unless a function is traced."""
    if not tracing.depth:
        error.__traceback__ = None


def shows_users_lines(function: F) -> F:
    """A decorator for functions and methods: the tracebacks of their errors show the user's lines only."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            try:
                refuse(error, function, args, kwargs)
            except Exception as said:
                without_frames(said)
                raise
            shorten(error)
            raise

    def call_of_one(self: Any) -> Any:
        try:
            return function(self)
        except Exception as error:
            shorten(error)
            raise

    # PERF: most special methods have one parameter, and passing it as it is takes half the time.
    code = inspect.unwrap(function).__code__
    takes_more = code.co_argcount > 1 or code.co_kwonlyargcount or code.co_flags & _TAKES_ANY
    made = call if takes_more or code.co_varnames[:1] != ("self",) else call_of_one
    # Messages and tracebacks should name the function that the user called.
    made.__code__ = made.__code__.replace(co_name=function.__name__)
    return cast("F", functools.wraps(function)(made))


def methods_show_users_lines(kind: C) -> C:
    """A decorator for classes: applies `shows_users_lines` to the public and special methods, and to the properties, that a
    class defines, but for methods with a handler of their own."""
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and not name.endswith("__"):
            continue
        if isinstance(value, property) and value.fget is not None:
            setattr(kind, name, property(shows_users_lines(value.fget), value.fset, value.fdel, value.__doc__))
        elif inspect.isfunction(value) and shorten.__name__ not in value.__code__.co_names:
            setattr(kind, name, shows_users_lines(value))
    return kind
