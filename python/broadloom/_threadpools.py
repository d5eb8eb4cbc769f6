"""The number of threads for `threadpoolctl`, which lists and limits the threads of a process's libraries."""

from __future__ import annotations

from typing import Any

from broadloom import _core, _options
from broadloom._registry import registered


@registered("introduce to threadpoolctl")
def introduce(threadpoolctl: Any) -> None:
    """Makes the module `threadpoolctl` know the extension, whose limits are options of the current context."""

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        """The threads of evaluations, which `threadpoolctl` reads and limits."""

        user_api = "broadloom"
        internal_api = "broadloom"
        filename_prefixes = ("_core.abi3",)
        check_symbols = ("PyInit__core",)

        def get_num_threads(self) -> int | None:
            return _options.get_options()["threads"] if self._is_ours() else None

        def set_num_threads(self, num_threads: int) -> None:
            if self._is_ours():
                _options.set_options(threads=num_threads)

        def get_version(self) -> str | None:
            return _core.engine_info()[0] if self._is_ours() else None

        def _is_ours(self) -> bool:
            # An extension module of another package may have the same file name.
            return bool(self.filepath == _core.__file__)

    threadpoolctl.register(Controller)
