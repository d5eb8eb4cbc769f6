"""A pytest plugin that runs numpy-groupies' own tests on the implementation over broadloom's functions of segments, in the place
of the package's implementations, and records which operations ran in each test."""

from __future__ import annotations

import pytest
from groupies_implementation import DISPATCH, IMPLEMENTATION, pytest_runtest_call  # noqa: F401 (pytest finds the hook here)
from numpy_groupies.tests import helpers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of the file `conftest.py` beside the package, which its wheel lacks."""
    parser.addoption("--seed", type=int, default=42)


def _register() -> None:
    """Makes the implementation the only one that is tested."""
    helpers._implementations[:] = [IMPLEMENTATION]
    helpers._backend_names.clear()
    helpers._backend_names[IMPLEMENTATION] = "broadloom"
    helpers._dispatch_of = lambda impl: DISPATCH if impl is IMPLEMENTATION else None


# At once, since a fixture of `conftest.py`, which is imported after the plugins, copies the list.
_register()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Selects the tests of every implementation."""
    items[:] = [item for item in items if "impl" in getattr(item, "fixturenames", ())]
