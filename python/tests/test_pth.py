"""Tests a `.pth` file that installs broadloom.numexpr under numexpr's name in every interpreter of an environment,
also for pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import broadloom.numexpr

RECIPE = "import broadloom.numexpr; broadloom.numexpr.install()"

# `addsitedir` reads the `.pth` files of a folder in the same way as an interpreter reads those of site-packages at its
# start.
START = "import os, site, sys; site.addsitedir(sys.argv[1]); "


def run(folder: Path, script: str) -> str:
    """The output of a new interpreter that starts with the recipe."""
    (folder / "broadloom.pth").write_text(f"{RECIPE}\n", encoding="utf-8")
    command = [sys.executable, "-c", START + script, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_recipe_is_the_one_that_install_tells() -> None:
    assert RECIPE in (broadloom.numexpr.install.__doc__ or "")


def test_numexpr_is_imported_when_it_is_asked_for_and_reads_the_environment_then(tmp_path: Path) -> None:
    script = (
        "print('numexpr' in sys.modules); os.environ['NUMEXPR_MAX_THREADS'] = '4'; import numexpr, numexpr.utils; "
        "print(numexpr.__name__, numexpr.MAX_THREADS, numexpr.evaluate('2 * x', {'x': 3}))"
    )
    assert run(tmp_path, script).split() == ["False", "broadloom.numexpr", "4", "6"]


def test_pandas_takes_it_for_numexpr(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    script = (
        "import pandas; from pandas.core.computation import check, expressions; "
        "print(check.ne.__name__, check.NUMEXPR_INSTALLED, expressions.USE_NUMEXPR); "
        "print(pandas.eval('x + 1', engine='numexpr', local_dict={'x': pandas.Series([1, 2])}).tolist())"
    )
    assert run(tmp_path, script).split("\n") == ["broadloom.numexpr True True", "[2, 3]"]
