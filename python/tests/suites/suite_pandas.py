"""Runs pandas' tests of its numexpr paths, with broadloom.numexpr installed under numexpr's name before pandas is
imported.

The reference is numexpr itself in the same environment: a test that doesn't pass with broadloom.numexpr runs once more
with the real package, and is an error if it passes there. A test that skips itself counts as not passed, since pandas
skips all of them if it finds no suitable numexpr. The full run includes the whole selection with both packages, and
more of pandas' test files, whose frames and series use numexpr.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from suite_pytest import HERE, Face, Run, run_pytest
from suite_report import Report

ACCEPTED = HERE / "pandas_accepted.toml"

QUICK = ("test_expressions.py", "computation")
FULL = (
    *QUICK,
    "arithmetic/test_numeric.py",
    "frame/test_arithmetic.py",
    "frame/test_query_eval.py",
    "series/test_arithmetic.py",
)

# The tests of the folder `computation` are parametrised by pandas' engine; tests with its Python engine don't call
# numexpr.
QUICK_SELECTION = "test_expressions or numexpr"


def compare(ours: Run, theirs: Run, accepted: Sequence[str], *, complete: bool) -> tuple[int, list[str], list[str]]:
    """The number of accepted failures, the errors, and notes on failures that also occur with numexpr.

    `theirs` contains at least the tests that don't pass in `ours`. An expected failure (xfail) in `theirs` is a
    failure. With `complete`, a pattern of `accepted` that nothing needs is an error.
    """
    errors, notes = [], []
    patterns = [re.compile(pattern) for pattern in accepted]
    needed = {pattern.pattern: 0 for pattern in patterns}
    for test in ours.having("failed", "skipped"):
        name = _name(test)
        outcome, reference = ours.outcomes[test], theirs.outcomes.get(test, "missing")
        pattern = next((pattern for pattern in patterns if pattern.fullmatch(name)), None)
        if reference == "missing":
            errors.append(f"{name}: {outcome}, and not run with numexpr")
        elif reference == outcome or (outcome, reference) == ("failed", "xfailed"):
            if reference == "failed":
                notes.append(f"fails with numexpr, too: {name}")
        elif pattern is not None:
            needed[pattern.pattern] += 1
        else:
            errors.append(f"{name}: {outcome}, but {reference} with numexpr: {ours.messages.get(test, '')}")
    for test in ours.having("passed"):
        if any(pattern.fullmatch(_name(test)) for pattern in patterns):
            errors.append(f"{_name(test)}: accepted as failing, but it passes")
    if complete:
        errors += [f"accepted, but no failure needs it: {text}" for text, count in needed.items() if count == 0]
    return sum(needed.values()), errors, notes


def _name(test: str) -> str:
    """A test id without the folders above pandas' tests."""
    return test[max(test.find("pandas/tests/"), 0) :]


def run(face: Face, *, full: bool = False, jobs: int = 2, select: str = "", accepted: Path = ACCEPTED) -> Report:
    """Runs the selection with one of the modules as `numexpr`, and then the tests that don't pass with the real
    numexpr.

    `select` is pytest's -k, which replaces the selection's own, for trials.
    """
    report = Report("pandas' numexpr paths", ("pandas", "numexpr"))
    spec = importlib.util.find_spec("pandas")
    if spec is None or spec.origin is None:
        report.errors.append("pandas is not installed")
        return report
    package = Path(spec.origin).parent
    root = f"--rootdir={package.parent}"
    selection = select or ("" if full else QUICK_SELECTION)
    arguments = [root, *(str(package / "tests" / name) for name in (FULL if full else QUICK))]
    arguments += ["-k", selection] if selection else []
    reference = Face.of("numexpr")
    with tempfile.TemporaryDirectory(prefix="broadloom-pandas-") as folder:
        where = Path(folder)
        ours = run_pytest(arguments, cwd=where, face=face, jobs=jobs)
        report.seconds = ours.seconds
        if ours.trouble:
            report.errors.append(ours.trouble)
            return report
        doubtful = ours.having("failed", "skipped")
        theirs = Run()
        if full:
            theirs = run_pytest(arguments, cwd=where, face=reference, jobs=jobs)
        elif doubtful:
            listed = where / "tests.txt"
            listed.write_text("".join(f"{package.parent / test}\n" for test in doubtful), encoding="utf-8")
            theirs = run_pytest([root, f"@{listed}"], cwd=where, face=reference, jobs=jobs)
        report.seconds += theirs.seconds
    if theirs.trouble:
        report.errors.append(f"with numexpr: {theirs.trouble}")
        return report
    rows = tomllib.loads(accepted.read_text(encoding="utf-8"))["accepted"]
    patterns = [row["pattern"] for row in rows]
    report.passed = len(ours.having("passed", "xfailed", "xpassed"))
    report.accepted, report.errors, report.notes = compare(ours, theirs, patterns, complete=full and not select)
    if full:
        passed, failed = theirs.having("passed", "xfailed", "xpassed"), theirs.having("failed")
        report.notes.insert(0, f"with numexpr itself {len(passed)} pass and {len(failed)} fail")
    return report
