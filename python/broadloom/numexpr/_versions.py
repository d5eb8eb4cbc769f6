"""The versions of the software that computes, under the names by which numexpr's callers ask for them."""

from __future__ import annotations

import sys

import numpy as np

from broadloom._core import engine_info
from broadloom.numexpr import _threads
from broadloom.numexpr.version import version


def print_versions() -> None:
    """Prints the versions of the software that computes."""
    of_engine, bits, refusal = engine_info()
    print(f"broadloom {of_engine}, as numexpr {version}")
    print(f"vectors of {bits} bits, " + (f"no compiler: {refusal}" if refusal else "with a compiler"))
    print(f"NumPy {np.__version__}, Python {sys.version}")
    print(f"{_threads.get_num_threads()} threads of at most {_threads.MAX_THREADS}, {_threads.ncores} cores")
