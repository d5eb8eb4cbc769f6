"""Runs flox's own tests with an engine over broadloom's functions of segments.

flox's wheel has no tests: they are taken from its source distribution, whose folder a variable or an option names. Of its tests,
those of `test_core.py` that each engine passes are run; `flox_plugin.py` makes the engine "numba" ours and records which
operations ran. `flox_exclusions.toml` has the tests that run none, or that need packages which are not installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import tempfile
import tomllib
from pathlib import Path

from suite_numpy import concluded
from suite_pytest import HERE, run_pytest
from suite_report import Report

EXCLUSIONS = HERE / "flox_exclusions.toml"

#: The variable that names the folder of flox's source distribution.
VARIABLE = "BROADLOOM_FLOX_SOURCES"

#: The engines in flox's `conftest.py`, in whose place "numba" is tested.
ENGINES = re.compile(r"params=\[\n.*?\n    \],", re.DOTALL)

#: Left out: thousands of cases of several labels and chunks, which differ in flox's own code and not in the engine.
THINNED = "not test_groupby_reduce_all and not agg_dask and not cubed and not scan"


def run(
    *, folder: Path | None, full: bool = False, jobs: int = 2, select: str = "", exclusions: Path = EXCLUSIONS
) -> Report:
    """Runs the tests of each engine that are in the folder; the quick run runs none."""
    report = Report("flox's own tests", ("flox", "numpy_groupies"))
    given = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if given is None or not full:
        report.skipped = f"${VARIABLE} names no folder" if given is None else "only in the full run"
        return report
    if importlib.util.find_spec("flox") is None:
        report.errors.append("flox is not installed")
        return report
    rows = tomllib.loads(exclusions.read_text(encoding="utf-8"))["excluded"]
    chosen = select or THINNED
    with tempfile.TemporaryDirectory(prefix="broadloom-flox-") as place:
        tests = Path(place, "flox_tests")
        shutil.copytree(given / "tests", tests)
        conftest = tests / "conftest.py"
        text = conftest.read_text(encoding="utf-8")
        text, found = ENGINES.subn('params=["numba"],', text)
        if found != 1:
            report.errors.append("flox's conftest.py has another list of engines")
            return report
        conftest.write_text(text, encoding="utf-8")
        arguments = ["-p", "flox_plugin", f"--rootdir={place}", "-W", "ignore", str(tests / "test_core.py")]
        result = run_pytest([*arguments, "-k", chosen], cwd=Path(place), jobs=jobs)
    return concluded(report, result, rows, complete=not select)
