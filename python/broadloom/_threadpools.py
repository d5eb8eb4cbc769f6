"""The number of threads for `threadpoolctl`, which lists and limits those of the libraries of a process."""

from __future__ import annotations

from typing import Any

from broadloom import _core, _options
from broadloom._registry import registered


@registered("introduce to threadpoolctl")
def introduce(threadpoolctl: Any) -> None:
    """Makes a module `threadpoolctl` know the extension: its limits are options of the context at hand."""

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        """The threads of evaluations."""

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
            # Extension modules of other packages may have this file name.
            return bool(self.filepath == _core.__file__)

    threadpoolctl.register(Controller)
