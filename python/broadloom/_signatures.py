"""Arguments that NumPy's functions take beyond the standard's: `bl.sum(x, 0)`, `bl.round(x, 2)`, `bl.mean(x, where=mask)`.

A function of the namespace has the standard's signature. A call that does not fit it but fits the NumPy function with
that name calls the NumPy function, which accepts our arrays and returns expressions if it can.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from broadloom._array import Array, of_numpy
from broadloom._operators import OverArrays, handle_of
from broadloom._tracebacks import refuse, shorten, shows_users_lines, without_frames

#: NumPy's marker for an argument that was not given.
NO_VALUE = np._NoValue


def take_numpys_arguments(namespace: dict[str, Any], names: Sequence[str], of: ModuleType = np) -> None:
    """Makes the functions of a module also accept the arguments of the functions with the same names in a NumPy module.
    The tracebacks of all their errors show the user's lines only."""
    for name in names:
        function, of_numpys = namespace[name], getattr(of, name, None)
        is_own = inspect.isfunction(function) and function.__module__ == namespace["__name__"]
        if is_own:
            namespace[name] = _extended(function, of_numpys) if callable(of_numpys) else shows_users_lines(function)


def _extended(function: Callable[..., Any], of_numpys: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except (TypeError, ValueError):
                # If the arguments fit the signature, the function itself raised the error.
                is_ours = fits(function, args, kwargs) and not _is_numpys_axis(function, args, kwargs)
                if is_ours or not fits(of_numpys, args, kwargs):
                    raise
            made = of_numpys(*args, **kwargs)
            return made if kwargs.get("out") is not None else _ours(made)
        except Exception as error:
            try:
                refuse(error, function, args, kwargs, of_numpys)
            except Exception as said:
                without_frames(said)
                raise
            shorten(error)
            raise

    # Error messages should name the function that the user called.
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    return functools.wraps(function)(call)


def by_numpys(name: str, x: Any, **arguments: Any) -> Array:
    """NumPy's function with this name, with those arguments that were given. It returns an expression if it can."""
    given = {key: value for key, value in arguments.items() if value is not None and value is not NO_VALUE}
    made: Array = getattr(np, name)(x if isinstance(x, OverArrays) else Array._of(handle_of(x)), **given)
    return made


def fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether arguments fit a function's signature."""
    try:
        signature_of(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        # A NumPy function without a signature checks its arguments itself.
        return True
    return True


def _is_numpys_axis(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether None is passed as the axis of a function that requires an axis; NumPy's function then uses the elements
    in row-major order."""
    signature = signature_of(function)
    if signature.bind(*args, **kwargs).arguments.get("axis", 0) is not None:
        return False
    axis = signature.parameters["axis"]
    # expand_dims(x, None) is refused: its axis has no default, and NumPy's handler passes it by position.
    return axis.default is not None and ("axis" in kwargs or axis.default is not axis.empty)


@functools.cache
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function; ValueError for a function of NumPy that has none."""
    return inspect.signature(function)


def _ours(made: Any) -> Any:
    """Converts the result of a NumPy function that was called without our arrays to the types that the namespace
    returns."""
    if isinstance(made, np.ndarray | np.generic) and not isinstance(made, Array) and made.dtype.kind in "biuf":
        return of_numpy(np.asarray(made))
    return type(made)(map(_ours, made)) if type(made) in (list, tuple) else made
