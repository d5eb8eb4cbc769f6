"""A registry through which modules call functions of higher layers by name.

`Array` is in a lower layer than the modules that print it, index it and implement the protocols of NumPy, DLPack, Arrow
and pickle, so it calls them by name. The namespace declares which module defines each name, so that a module is
imported at the first call. Imports therefore only go to lower layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_functions: dict[str, Callable[..., Any]] = {}
_modules: dict[str, str] = {}


def registered(name: str) -> Callable[[F], F]:
    """A decorator that registers a function under a name."""

    def register(function: F) -> F:
        _functions[name] = function
        return function

    return register


def say_where(modules: Mapping[str, str]) -> None:
    """Declares the module in which each name is registered."""
    _modules.update(modules)


def found(name: str) -> Callable[..., Any]:
    """The function registered under a name; KeyError if no module declares it."""
    function = _functions.get(name)
    if function is None:
        import_module(_modules[name])
        function = _functions[name]
    return function
