"""Registers arrays and jitted functions with other packages that the process has loaded. None of them is imported for
this.
"""

from __future__ import annotations

import contextlib
import sys

from broadloom._registry import found

_is_dask_introduced = False
_is_cloudpickle_taught = False
_is_threadpoolctl_told = False


def introduce() -> None:
    """Registers arrays with Dask, jitted functions with cloudpickle, and threads with threadpoolctl, if these packages
    are loaded."""
    global _is_dask_introduced, _is_cloudpickle_taught, _is_threadpoolctl_told
    # A module that is still being imported is incomplete, so an attribute is checked.
    if not _is_dask_introduced and hasattr(sys.modules.get("dask.array"), "register_chunk_type"):
        _is_dask_introduced = True
        # With an unsupported version of Dask, arrays in its tasks are lazy, as elsewhere.
        with contextlib.suppress(ImportError):
            found("introduce to Dask")()
    if not _is_threadpoolctl_told and hasattr(sys.modules.get("threadpoolctl"), "register"):
        _is_threadpoolctl_told = True
        found("introduce to threadpoolctl")(sys.modules["threadpoolctl"])
    if not _is_cloudpickle_taught and hasattr(sys.modules.get("cloudpickle"), "CloudPickler"):
        _is_cloudpickle_taught = True
        found("teach cloudpickle")()
