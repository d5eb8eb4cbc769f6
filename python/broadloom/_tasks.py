"""Whether Dask runs the code at hand, and with how many threads an evaluation may run there.

Dask tells the functions of a task nothing of this, in none of its schedulers, so the stack is looked at: where a task runs,
`Task.__call__` of Dask is on it. Without Dask in the process this costs one look into `sys.modules`.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from broadloom._core import Handle
from broadloom._registry import found

#: The functions of Dask by which it is known, as (module, name): a task runs; a scheduler waits in this thread, and runs
#: tasks in it if it is the synchronous one; a function is called for its `_meta`, to learn which type and dtype it gives.
TASK = ("dask._task_spec", "__call__")
SCHEDULER = ("dask.local", "get_async")
METAS = (("dask.array.utils", "compute_meta"), ("dask.array.core", "apply_infer_dtype"))
_FOUND = (TASK, SCHEDULER, *METAS)
_NAMES = frozenset(name for _, name in _FOUND)

#: Called once, when Dask is first seen in the process.
when_loaded: list[Callable[[], None]] = []

_is_loaded = False
_is_introduced = False


def is_loaded() -> bool:
    """Whether the process has Dask's schedulers."""
    global _is_loaded
    if not _is_loaded and TASK[0] in sys.modules:
        _is_loaded = True
        for function in when_loaded:
            function()
    return _is_loaded


def introduce() -> None:
    """Makes arrays known to Dask's arrays, if they are in the process; see `broadloom.dask`."""
    global _is_introduced
    # A module that is being imported is not complete.
    if not _is_introduced and hasattr(sys.modules.get("dask.array"), "register_chunk_type"):
        _is_introduced = True
        # With another version of Dask than those it knows, arrays stay as lazy in its tasks as they are elsewhere.
        with contextlib.suppress(ImportError):
            found("introduce to Dask")()


def _found() -> Iterator[tuple[str, str]]:
    """The functions of Dask that are being run in this thread, from the innermost to the outermost."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_name
        if name in _NAMES:
            one = (frame.f_globals.get("__name__", ""), name)
            if one in _FOUND:
                yield one
        frame = frame.f_back


def in_dask() -> bool:
    """Whether this is a part of a task of Dask's, or of a call by which Dask learns what a function gives."""
    return (_is_loaded or is_loaded()) and any(one != SCHEDULER for one in _found())


def is_main() -> bool:
    """Whether this is the thread that the application itself began with, which no scheduler of Dask's has for a worker: a process
    that was started for tasks is another's child."""
    if threading.get_ident() != threading.main_thread().ident:
        return False
    # A child has the module from its beginning.
    process = sys.modules.get("multiprocessing.process")
    return process is None or process.parent_process() is None


def threads() -> int | None:
    """How many threads an evaluation in this thread takes at most; None where there is no such limit.

    A worker thread of Dask is one of several that compute at the same time, so that an evaluation has that thread alone, or as many
    as the entry `broadloom.threads` of Dask's configuration says. The synchronous scheduler runs its tasks in the thread of
    its caller, one after the other, and needs no limit.
    """
    if not (_is_loaded or is_loaded()) or is_main():
        return None
    outermost = None
    for one in _found():
        if one not in METAS:
            outermost = one
    if outermost != TASK:
        return None
    from dask import config

    limit: int | None = config.get("broadloom.threads", 1)
    return limit


def options() -> dict[str, Any]:
    """The options of an evaluation in this thread."""
    limit = threads()
    return {} if limit is None else {"threads": limit}


def evaluated(handle: Handle) -> Handle:
    """The handle of the values in memory."""
    return handle.evaluate(**options())


def evaluate_into(handle: Handle, out: np.ndarray) -> None:
    """Computes the values straight into an array of NumPy's."""
    handle.evaluate_into(out, **options())
