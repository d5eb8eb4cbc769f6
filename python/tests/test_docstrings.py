"""The examples in docstrings and in the pages about Python run, and give what they show."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import broadloom as bl

MODULES = [
    "broadloom",
    *(module.name for module in pkgutil.walk_packages(bl.__path__, "broadloom.") if module.name != "broadloom._core"),
]
PAGES = sorted((Path(__file__).parents[2] / "docs" / "python").glob("*.md")) + [Path(__file__).parents[1] / "README.md"]
#: What the examples of a module or page need beside the package.
NEEDS = {"broadloom.dask": "dask.array", "dask.md": "dask.array"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "broadloom"))
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS, extraglobs={"np": np, "bl": bl})
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page(page: Path) -> None:
    pytest.importorskip(NEEDS.get(page.name, "broadloom"))
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, globs={"np": np, "bl": bl})
    assert outcome.failed == 0
