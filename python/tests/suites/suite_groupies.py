"""Runs numpy-groupies' own tests, which its wheel contains, on an implementation over broadloom's functions of segments.

`groupies_plugin.py` is that implementation, and records which of its operations ran in each test. A test that passes without any
is no test of the package. `groupies_exclusions.toml` names the tests that skip themselves or run no operation, with reasons.
"""

from __future__ import annotations

import importlib.util
import tempfile
import tomllib
from pathlib import Path

from suite_numpy import concluded
from suite_pytest import HERE, run_pytest
from suite_report import Report

EXCLUSIONS = HERE / "groupies_exclusions.toml"

#: The files that have tests of every implementation.
FILES = "api axis collect complex dtypes funcs moments nan nunique quantile registry".split()

#: The files of the quick run.
QUICK = ("api", "funcs", "moments", "nan", "nunique")


def run(*, full: bool = False, jobs: int = 2, select: str = "", exclusions: Path = EXCLUSIONS) -> Report:
    """Runs the tests of every implementation; the quick run takes some files."""
    report = Report("numpy-groupies' own tests", ("numpy_groupies",))
    spec = importlib.util.find_spec("numpy_groupies")
    if spec is None or spec.origin is None:
        report.errors.append("numpy_groupies is not installed: its wheel has the tests")
        return report
    package = Path(spec.origin).parent
    files = [f"test_{name}" for name in (FILES if full else QUICK)]
    rows = [row for row in tomllib.loads(exclusions.read_text(encoding="utf-8"))["excluded"] if row["file"] in files]
    arguments = ["-p", "groupies_plugin", f"--rootdir={package.parent}", "-W", "ignore"]
    arguments += [str(package / "tests" / f"{file}.py") for file in files]
    with tempfile.TemporaryDirectory(prefix="broadloom-groupies-") as folder:
        # PERF: a second worker takes longer to start than the tests take.
        result = run_pytest([*arguments, *(["-k", select] if select else [])], cwd=Path(folder), jobs=1)
    return concluded(report, result, rows, complete=not select, shows_reasons=full)
