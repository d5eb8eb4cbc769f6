"""Makes this package importable under numexpr's name.

A finder at the front of `sys.meta_path` imports this package at the first `import numexpr`. Installing therefore costs
almost nothing at the start of an interpreter, and environment variables are read at the same time as numexpr reads
them.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

_NAME: Final = "numexpr"
_SERVED: Final = "broadloom.numexpr"


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        # `import` returns the module that is in sys.modules after this.
        sys.modules[name] = importlib.import_module(_SERVED + name.removeprefix(_NAME))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        parent, _, name = fullname.partition(".")
        if parent != _NAME:
            return None
        if name and importlib.util.find_spec(f"{_SERVED}.{name}") is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=not name)


_FINDER = _Finder()


def install() -> None:
    """Makes `import numexpr` import this package, in this process, from now on. Calling it again has no effect.

    It must be called before numexpr is imported, and therefore before pandas is. Each subprocess needs its own call. A
    file `broadloom.pth` in the folder of an environment's site packages, with the line
    `import broadloom.numexpr; broadloom.numexpr.install()`, makes the call in every interpreter of that environment.

    Raises `RuntimeError` if numexpr itself is imported already.
    """
    present = sys.modules.get(_NAME)
    if present is not None and present is not sys.modules.get(_SERVED):
        raise RuntimeError("numexpr is imported already: call broadloom.numexpr.install() before it, and before pandas")
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Undoes `install`: the next `import numexpr` imports numexpr itself. Modules that have already imported this
    package under numexpr's name keep it."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    served = sys.modules.get(_SERVED)
    if served is not None and sys.modules.get(_NAME) is served:
        for name in [name for name in sys.modules if name.partition(".")[0] == _NAME]:
            del sys.modules[name]
