"""Fixtures for all tests: each test begins with the default options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broadloom import _core, _options


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    """Restores the options that a test has set."""
    before = _core.set_promotion(), _core.set_semantics(), _options._context.get()
    yield
    _core.set_promotion(before[0])
    _core.set_semantics(*before[1])
    _options._context.set(before[2])


@pytest.fixture
def strict() -> None:
    """The standard's rule of promotion."""
    _core.set_promotion(False)
