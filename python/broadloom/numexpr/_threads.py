"""The number of threads of computations, by numexpr's functions and environment variables.

`NUMEXPR_MAX_THREADS` limits the number. `NUMEXPR_NUM_THREADS`, or else `OMP_NUM_THREADS`, sets it when this module is
imported, which is at the first expression or the first call of a function about threads.
"""

from __future__ import annotations

import operator
import os
from typing import Final, SupportsIndex

from broadloom._core import numexpr_threads

__all__ = [
    "MAX_THREADS",
    "_init_num_threads",
    "detect_number_of_cores",
    "detect_number_of_threads",
    "get_num_threads",
    "get_vml_num_threads",
    "get_vml_version",
    "ncores",
    "nthreads",
    "set_num_threads",
    "set_vml_accuracy_mode",
    "set_vml_num_threads",
]

_DEFAULT_MAX = 64
#: The environment variables that set the number of threads; the first that is set counts.
_VARIABLES = ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS")
#: The maximum number of threads without a setting.
_SAFE = 16


def _max_threads() -> int:
    try:
        return max(int(os.environ.get("NUMEXPR_MAX_THREADS", "")), 1)
    except ValueError:
        return _DEFAULT_MAX


#: The maximum number that `set_num_threads` accepts.
MAX_THREADS: Final = _max_threads()

_threads = 1


def detect_number_of_cores() -> int:
    """The number of processors that are online."""
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """The maximum number of threads that computations use."""
    return _threads


def set_num_threads(nthreads: SupportsIndex) -> int:
    """Sets the maximum number of threads that computations use, and returns the previous number.

    Raises `TypeError` for an argument that is not an integer, and `ValueError` for a number below 1 or above
    `MAX_THREADS`.

    >>> before = set_num_threads(1)
    >>> set_num_threads(before)
    1
    """
    global _threads
    threads = operator.index(nthreads)
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"the number of threads must be from 1 to {MAX_THREADS} (NUMEXPR_MAX_THREADS), not {threads}")
    before, _threads = _threads, threads
    numexpr_threads(min(threads, 255))
    return before


def _init_num_threads() -> int:
    """Sets the number of threads that the environment requests, and returns it."""
    requests = filter(None, map(os.environ.get, _VARIABLES))
    default = MAX_THREADS if os.environ.get("NUMEXPR_MAX_THREADS") else min(detect_number_of_cores(), _SAFE)
    requested = int(next(requests, default))
    set_num_threads(min(max(requested, 1), MAX_THREADS))
    return requested


def detect_number_of_threads() -> int:
    """The number of threads that the environment requests, or else the number of processors."""
    for name in _VARIABLES:
        try:
            return min(int(os.environ.get(name, "")), MAX_THREADS)
        except ValueError:
            continue
    return min(detect_number_of_cores(), MAX_THREADS)


def set_vml_accuracy_mode(mode: str | None) -> None:
    """Without an effect: Intel's VML is not used."""


def set_vml_num_threads(nthreads: int) -> None:
    """Without an effect: Intel's VML is not used."""


def get_vml_num_threads() -> None:
    """None: Intel's VML is not used."""


def get_vml_version() -> None:
    """None: Intel's VML is not used."""


#: The number of processors, and the number of threads that the environment requested.
ncores = detect_number_of_cores()
nthreads = _init_num_threads()
