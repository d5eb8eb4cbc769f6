"""Runs NumPy's own tests, which its wheel contains, with broadloom's functions and arrays in the place of NumPy's.

`numpy_plugin.py` puts them there and records which functions of the engine ran in each test. A test that passes without any of
them is no test of the package. `numpy_exclusions.toml` names the tests that fail or call nothing of the package, each with its
reason: a row that matches no test, or a test that passes by the package's functions, is an error.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from suite_pytest import HERE, Run, run_pytest
from suite_report import Report

EXCLUSIONS = HERE / "numpy_exclusions.toml"

FILES = (
    "lib/tests/test_arraypad.py",
    "lib/tests/test_arraysetops.py",
    "lib/tests/test_histograms.py",
    "_core/tests/test_indexing.py",
    "_core/tests/test_multiarray.py",
)

#: The tests that the quick run leaves out, which are slow or repeat others for each dtype and mode.
THINNED = "not dtype_persistence and not misshaped and not test_multidim and not test_bad_type and not negative"


def judge(
    run: Run, rows: list[dict[str, Any]], *, complete: bool, ran: str = "broadloom engine"
) -> tuple[int, dict[str, int], list[str]]:
    """The number of tests that passed by functions of the package, the number of excluded ones by reason, and the errors.

    With `complete`, a row that no test needs is an error.
    """
    passed, needed, errors = 0, Counter[int](), []
    for test, outcome in sorted(run.outcomes.items()):
        file, _, name = test.rpartition("/")[2].partition(".py::")
        is_ours = bool(run.properties.get(test, {}).get(ran))
        has_passed = outcome in ("passed", "xpassed")
        matching = (i for i, row in enumerate(rows) if row["file"] == file and re.fullmatch(row["pattern"], name))
        row = next(matching, None)
        if row is None:
            passed += has_passed and is_ours
            if not has_passed:
                errors.append(f"{file}::{name}: {outcome}: {run.messages.get(test, '')}")
            elif not is_ours:
                errors.append(f"{file}::{name}: passed, but no function of the package ran")
        else:
            needed[row] += 1
            if has_passed and is_ours:
                errors.append(f"{file}::{name}: excluded, but it passes")
    reasons: Counter[str] = Counter()
    for i, row in enumerate(rows):
        reasons[row["reason"]] += needed[i]
        if complete and not needed[i]:
            errors.append(f"excluded, but there is no such test: {row['file']}::{row['pattern']}")
    return passed, {reason: count for reason, count in reasons.most_common() if count}, errors


def excluded_notes(reasons: dict[str, int]) -> list[str]:
    """The numbers of excluded tests, by their reasons, as one line."""
    return ["excluded: " + "; ".join(f"{count}: {reason}" for reason, count in reasons.items())] if reasons else []


def concluded(
    report: Report, result: Run, rows: list[dict[str, Any]], *, complete: bool, shows_reasons: bool = True
) -> Report:
    """The report with what a run found, as `judge` counts it."""
    report.seconds = result.seconds
    if result.trouble:
        report.errors.append(result.trouble)
        return report
    report.passed, reasons, report.errors = judge(result, rows, complete=complete)
    report.excluded = sum(reasons.values())
    report.notes = excluded_notes(reasons) if shows_reasons else []
    return report


def run(*, full: bool = False, jobs: int = 2, select: str = "", exclusions: Path = EXCLUSIONS) -> Report:
    """Runs the selected tests; the quick run leaves some out."""
    report = Report("NumPy's own tests", ("numpy",))
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    chosen = select or ("" if full else THINNED)
    rows = tomllib.loads(exclusions.read_text(encoding="utf-8"))["excluded"]
    arguments = ["-p", "numpy_plugin", f"--rootdir={package.parent}", "-W", "ignore"]
    arguments += [str(package / file) for file in FILES]
    with tempfile.TemporaryDirectory(prefix="broadloom-numpy-") as folder:
        # PERF: a second worker collects all tests too, which takes longer than running those of the quick run.
        result = run_pytest(
            [*arguments, *(["-k", chosen] if chosen else [])], cwd=Path(folder), jobs=jobs if full else 1
        )
    return concluded(report, result, rows, complete=not chosen, shows_reasons=full)
