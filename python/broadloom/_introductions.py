"""Tells other packages about arrays and jitted functions, once these packages are in the process; none of them is
imported for that."""

from __future__ import annotations

import contextlib
import sys

from broadloom._registry import found

_is_dask_introduced = False
_is_cloudpickle_taught = False
_is_threadpoolctl_told = False


def introduce() -> None:
    """Makes arrays known to Dask's arrays, jitted functions to cloudpickle, and threads to threadpoolctl, if they are in the process."""
    global _is_dask_introduced, _is_cloudpickle_taught, _is_threadpoolctl_told
    # A module that is just being imported is not complete.
    if not _is_dask_introduced and hasattr(sys.modules.get("dask.array"), "register_chunk_type"):
        _is_dask_introduced = True
        # With a version of Dask that this package does not know, arrays stay as lazy in Dask's tasks as they are
        # elsewhere.
        with contextlib.suppress(ImportError):
            found("introduce to Dask")()
    if not _is_threadpoolctl_told and hasattr(sys.modules.get("threadpoolctl"), "register"):
        _is_threadpoolctl_told = True
        found("introduce to threadpoolctl")(sys.modules["threadpoolctl"])
    if not _is_cloudpickle_taught and hasattr(sys.modules.get("cloudpickle"), "CloudPickler"):
        _is_cloudpickle_taught = True
        found("teach cloudpickle")()
