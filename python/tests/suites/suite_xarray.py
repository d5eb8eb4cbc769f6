"""Runs xarray's tests of duck arrays with broadloom's arrays as the duck arrays, and its tests of computations with
broadloom's arrays in place of NumPy's.

The reference is a run with NumPy's arrays in the same place: a test that also fails with NumPy's arrays is not counted.
A test that fails with broadloom's alone is in `xarray_accepted.toml` with the reason, which in most cases is the test
itself. The tests of duck arrays run under both promotion rules; all others under NumPy's.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from suite_pytest import HERE, Run, run_pytest
from suite_report import Report

ACCEPTED = HERE / "xarray_accepted.toml"

#: Files of xarray's tests that get their arrays from a namespace.
DUCKS = ("test_duck_array_wrapping", "test_array_api")
#: Files that make their arrays by `np`. Those of the second row are in the full run only.
QUICK = ("test_namedarray", "test_duck_array_ops")
FULL = ("test_computation", "test_weighted", "test_coarsen", "test_concat", "test_missing")

#: The tests that the quick run selects from the file that has more than a thousand cases.
THINNED = "not test_reduce or sum or mean or var"


def _run(
    package: Path, files: tuple[str, ...], promotion: str, *, ours: bool, jobs: int, select: str, where: Path
) -> Run:
    paths = [str(package / "tests" / f"{name}.py") for name in files]
    arguments = [f"--rootdir={package.parent}", *paths, *(["-k", select] if select else [])]
    environment = {"BROADLOOM_XARRAY_PROMOTION": promotion, "BROADLOOM_XARRAY_MODULES": " ".join(files)}
    if ours:
        arguments = ["-p", "xarray_plugin", *arguments]
    return run_pytest(arguments, cwd=where, jobs=jobs, environment=environment)


def compare(
    ours: Run, theirs: Run | None, rows: list[dict[str, Any]], *, complete: bool
) -> tuple[int, list[str], list[str]]:
    """The number of accepted failures, the errors, and the patterns that were needed. `theirs` is the run with
    NumPy's arrays, if there was one."""
    errors, needed, accepted = [], [], 0
    for test in ours.having("failed", "skipped"):
        name, outcome = _name(test), ours.outcomes[test]
        reference = "passed" if theirs is None else theirs.outcomes.get(test, "missing")
        # Without a reference run, a test that skips itself can't be distinguished from one that is always skipped.
        if reference == outcome or (theirs is None and outcome == "skipped") or reference in ("failed", "xfailed"):
            continue
        pattern = next((row["pattern"] for row in rows if re.fullmatch(row["pattern"], name)), None)
        if pattern is None:
            errors.append(f"{name}: {outcome}, but {reference} with NumPy's: {ours.messages.get(test, '')}")
        else:
            needed.append(pattern)
            accepted += 1
    for test in ours.having("passed"):
        if any(re.fullmatch(row["pattern"], _name(test)) for row in rows):
            errors.append(f"{_name(test)}: accepted as failing, but it passes")
    if complete:
        errors += [
            f"accepted, but no failure needs it: {row['pattern']}" for row in rows if row["pattern"] not in needed
        ]
    return accepted, errors, needed


def _name(test: str) -> str:
    """A test id without the folders above xarray's tests."""
    return test.rpartition("xarray/tests/")[2]


def run(*, full: bool = False, jobs: int = 2, select: str = "", accepted: Path = ACCEPTED) -> Report:
    """Runs the selection with arrays of ours; the full run also with NumPy's in their place."""
    report = Report("xarray's duck arrays", ("xarray", "dask"))
    spec = importlib.util.find_spec("xarray")
    if spec is None or spec.origin is None:
        report.errors.append("xarray is not installed")
        return report
    package = Path(spec.origin).parent
    rows = tomllib.loads(accepted.read_text(encoding="utf-8"))["accepted"]
    files = (*QUICK, *FULL) if full else QUICK
    chosen = select or ("" if full else THINNED)
    plan: list[tuple[tuple[str, ...], str, str]] = [
        (DUCKS, "numpy", select),
        (DUCKS, "strict", select),
        (files, "numpy", chosen),
    ]
    with tempfile.TemporaryDirectory(prefix="broadloom-xarray-") as folder:
        for names, promotion, selection in plan:
            # PERF: each worker imports Dask and xarray, which takes longer than the quick run's tests.
            common: dict[str, Any] = {"jobs": jobs if full else 1, "select": selection, "where": Path(folder)}
            ours = _run(package, names, promotion, ours=True, **common)
            theirs = _run(package, names, promotion, ours=False, **common) if full and names is files else None
            report.seconds += ours.seconds + (theirs.seconds if theirs else 0)
            trouble = ours.trouble or (theirs.trouble if theirs else "")
            if trouble:
                report.errors.append(trouble)
                continue
            here = [row for row in rows if row["file"] in names and row.get("promotion", promotion) == promotion]
            count, errors, _ = compare(ours, theirs, here, complete=not select and (full or names is DUCKS))
            passed = len(ours.having("passed", "xfailed", "xpassed"))
            report.passed += passed
            report.accepted += count
            report.errors += errors
            kind = "tests of duck arrays" if names is DUCKS else "other tests"
            report.notes.append(f"{kind}, promotion {promotion}: {passed} pass, known failures: {count}")
    return report
