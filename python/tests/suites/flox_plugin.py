"""A pytest plugin that makes flox's engine "numba" the implementation over broadloom's functions of segments, and records which of
its operations ran in each test.

flox passes an engine's functions on to an implementation of numpy-groupies: "numpy" stays numpy-groupies' own, with which many of
flox's tests compare. What the implementation lacks, numpy-groupies' own computes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy_groupies
import pytest
from groupies_implementation import IMPLEMENTATION, pytest_runtest_call  # noqa: F401 (pytest finds the hook here)


def _aggregate(*args: Any, **kwargs: Any) -> Any:
    try:
        return IMPLEMENTATION.aggregate(*args, **kwargs)
    except NotImplementedError:
        return numpy_groupies.aggregate_numpy.aggregate(*args, **kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Installs the implementation."""
    numpy_groupies.aggregate_numba = SimpleNamespace(aggregate=_aggregate)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Selects the tests of each engine, with ours."""
    items[:] = [item for item in items if _engine(item) == "numba"]


def _engine(item: pytest.Item) -> Any:
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None
