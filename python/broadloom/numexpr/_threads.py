"""How many threads computations use, as numexpr's functions and environment variables set it.

`NUMEXPR_MAX_THREADS` bounds the number. `NUMEXPR_NUM_THREADS`, or else `OMP_NUM_THREADS`, sets it when this module is
imported: with the first expression, or when threads are first asked for.
"""

from __future__ import annotations

import operator
import os
from typing import Final, SupportsIndex

from broadloom._core import numexpr_threads

_DEFAULT_MAX = 64
#: The most threads if none of the environment variables sets a number.
_SAFE = 16


def _max_threads() -> int:
    try:
        return max(int(os.environ.get("NUMEXPR_MAX_THREADS", "")), 1)
    except ValueError:
        return _DEFAULT_MAX


#: The largest number that `set_num_threads` takes.
MAX_THREADS: Final = _max_threads()

_threads = 1


def detect_number_of_cores() -> int:
    """The number of processors that are online."""
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """The number of threads that computations use at most."""
    return _threads


def set_num_threads(nthreads: SupportsIndex) -> int:
    """Sets the number of threads that computations use at most, and returns what it was.

    Raises `TypeError` for what is no integer, and `ValueError` for a number below 1 or above `MAX_THREADS`.

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
    """Sets the number of threads that the environment asks for, and returns the number asked for."""
    for name in ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name):
            requested = int(os.environ[name])
            break
    else:
        requested = MAX_THREADS if os.environ.get("NUMEXPR_MAX_THREADS") else min(detect_number_of_cores(), _SAFE)
    set_num_threads(min(max(requested, 1), MAX_THREADS))
    return requested


def detect_number_of_threads() -> int:
    """The number of threads that the environment asks for, or else the number of processors."""
    for name in ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"):
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


#: The number of processors, and the number of threads that the environment asked for.
ncores = detect_number_of_cores()
nthreads = _init_num_threads()
