"""What modules call in layers above their own: functions that register themselves here, under names.

`Array` is below the modules that print it, index it and speak the protocols of NumPy, DLPack, Arrow and pickle, so it calls them by
name. The namespace says which module has a name, so that a module is imported at the first call that needs it; by imports, modules
know layers below them only.
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
    """Says by name in which module a function registers itself."""
    _modules.update(modules)


def found(name: str) -> Callable[..., Any]:
    """The function of a name; KeyError if no module has it."""
    function = _functions.get(name)
    if function is None:
        import_module(_modules[name])
        function = _functions[name]
    return function
