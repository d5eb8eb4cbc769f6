"""Runs the examples in docstrings and in the pages about Python, and compares their output."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import broadloom as bl

MODULES = [
    "broadloom",
    *(module.name for module in pkgutil.walk_packages(bl.__path__, "broadloom.") if module.name != "broadloom._core"),
]
DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *sorted((DOCS / "python").glob("*.md")),
    DOCS / "loops.md",
    DOCS / "random.md",
    Path(__file__).parents[1] / "README.md",
]
#: The packages that the examples of a module or package need in addition.
NEEDS = {"broadloom.dask": "dask.array", "broadloom.onnx": "onnx", "broadloom.arrow": "pyarrow"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    pytest.importorskip(NEEDS.get(".".join(name.split(".")[:2]), "broadloom"))
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS, extraglobs={"np": np, "bl": bl})
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page(page: Path) -> None:
    for package in sorted(
        set(re.findall(r"^>>> (?:import|from) (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    ):
        pytest.importorskip(package)
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, globs={"np": np, "bl": bl})
    assert outcome.failed == 0
