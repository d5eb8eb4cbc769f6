"""The Array API's conformance suite, edition 2024.12, without complex numbers and its files for linear algebra and FFT.

The suite is not on PyPI; its folder comes from the command line, an environment variable, or a copy beside the
repository. If there is none, the step reports that it is skipped. The suite is copied before it runs, since it writes
to its own folder. Deadlines are off, so that no outcome depends on the speed of the machine; the quick run derives its
examples from the tests' names, so that it is the same everywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection
from pathlib import Path

from suite_pytest import HERE, Run, run_pytest
from suite_report import Report

VARIABLE = "BROADLOOM_ARRAY_API_TESTS"
ACCEPTED = HERE / "array_api_accepted.toml"
AT_MOST = 3

EDITION = "2024.12"
TESTS = "array_api_tests"
SELECTION = "not imag and not real and not conj"


def find(given: Path | None, root: Path) -> Path | None:
    """The suite's folder, or None if there is none.

    It is the given folder, or else the folder that the environment names, or else `shared/vendor/array-api-tests`
    beside the repository at `root`.

    Raises:
        FileNotFoundError: if a named folder does not contain the suite.
    """
    named = given or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None:
        if not (named / TESTS).is_dir():
            raise FileNotFoundError(f"{named}: there is no {TESTS} in it")
        return named
    beside = root.parent / "shared" / "vendor" / "array-api-tests"
    return beside if (beside / TESTS).is_dir() else None


def judge(run: Run, accepted: Collection[str]) -> tuple[int, list[str]]:
    """The number of accepted failures, and the errors of a run. `accepted` contains test ids."""
    errors = []
    if len(accepted) > AT_MOST:
        errors.append(f"{len(accepted)} failures are accepted, which is more than {AT_MOST}")
    failed = run.having("failed")
    errors += [f"{test}: {run.messages.get(test, '')}" for test in failed if test not in accepted]
    for test in accepted:
        outcome = run.outcomes.get(test, "does not exist")
        if outcome != "failed":
            errors.append(f"{test}: accepted as failing, but it {outcome}")
    return len([test for test in failed if test in accepted]), errors


def run(
    module: str,
    *,
    folder: Path | None,
    full: bool = False,
    jobs: int = 2,
    select: str = "",
    accepted: Path = ACCEPTED,
) -> Report:
    """Runs the suite against the namespace `module`.

    `select` narrows the selection, for trials. Accepted failures then need not occur.
    """
    report = Report("array-api-tests", (f"edition {EDITION}",))
    if folder is None:
        report.skipped = f"there is no copy of the suite ({VARIABLE} names one)"
        return report
    selection = f"{SELECTION} and ({select})" if select else SELECTION
    has_fft = _has(module, "fft")
    if not has_fft:
        selection += " and not fft"
        report.notes.append("the extension `fft` is not provided, so the tests of its names are left out")
    arguments = [TESTS, "-k", selection, "--disable-deadline", "-W", "ignore"]
    arguments += ["--max-examples", "200"] if full else ["--max-examples", "20", "--derandomize"]
    arguments += [f"--ignore={TESTS}/test_linalg.py", f"--ignore={TESTS}/test_fft.py"]
    environment = {
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        "ARRAY_API_TESTS_MODULE": module,
        "ARRAY_API_TESTS_VERSION": EDITION,
    }
    with tempfile.TemporaryDirectory(prefix="broadloom-array-api-") as place:
        copy = Path(place, "suite")
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis", ".git"))
        result = run_pytest(arguments, cwd=copy, jobs=jobs, environment=environment)
    report.seconds = result.seconds
    if result.trouble:
        report.errors.append(result.trouble)
        return report
    rows = tomllib.loads(accepted.read_text(encoding="utf-8"))["accepted"]
    report.passed = len(result.having("passed"))
    report.accepted, report.errors = judge(result, [] if select else [row["test"] for row in rows])
    report.notes.append(f"{len(result.having('skipped'))} tests skip themselves")
    return report


def _has(module: str, name: str) -> bool:
    """Whether a module has an attribute, determined in another process."""
    question = f"import importlib, sys; sys.exit(0 if hasattr(importlib.import_module({module!r}), {name!r}) else 9)"
    return subprocess.run([sys.executable, "-c", question], check=False, stderr=subprocess.DEVNULL).returncode != 9
