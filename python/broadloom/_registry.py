"""Calls from a module into modules of layers above it: functions there register themselves here, under names.

`Array` is below the modules that print it, index it and speak the protocols of NumPy, DLPack, Arrow and pickle, so it
calls their functions by name. The namespace says which module registers a name, so that the module is imported at the
first call that needs it. By imports, modules know only the layers below them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_functions: dict[str, Callable[..., Any]] = {}
_modules: dict[str, str] = {}


def registered(name: str) -> Callable[[F], F]:
    """Registers the function below it under a name."""

    def register(function: F) -> F:
        _functions[name] = function
        return function

    return register


def say_where(modules: Mapping[str, str]) -> None:
    """Says for each name which module registers a function under it."""
    _modules.update(modules)


def found(name: str) -> Callable[..., Any]:
    """The function that is registered under a name; KeyError if no module has one."""
    function = _functions.get(name)
    if function is None:
        import_module(_modules[name])
        function = _functions[name]
    return function
