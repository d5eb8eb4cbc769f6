"""Runs other projects' test suites against this package, and prints the results.

    python python/tests/suites/run.py --quick            what CI runs
    python python/tests/suites/run.py --full --write     everything, and the pages suites.md, scipy.md and onnx-*.md of docs/generated

The package has to be importable (installed, or its folder on PYTHONPATH with the extension in it), and the extra
`test` installs the suites' own packages. The status is 1 if a suite has an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import suite_array_api
import suite_flox
import suite_groupies
import suite_numexpr
import suite_numpy
import suite_onnx
import suite_pandas
import suite_scipy
import suite_xarray
from suite_pytest import Face
from suite_report import Report, table, write

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "generated" / "suites.md"

# The maximum number of errors of a suite that are printed. The others are only counted.
SHOWN = 200


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Runs the test suites of others against broadloom.")
    add = parser.add_argument
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="the selection that CI runs (the default)")
    mode.add_argument("--full", action="store_true", help="all of pandas' numexpr paths, more array-api examples")
    add(
        "--only",
        choices=["numexpr", "pandas", "array-api", "xarray", "scipy", "onnx", "numpy", "groupies", "flox"],
        action="append",
        help="this suite; may be repeated",
    )
    add("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}, and scipy.md and onnx-*.md beside it")
    add("--jobs", type=int, default=2, help="workers per suite (2)")
    add("--select", default="", help="run a part only, as pytest's -k has it")
    add("--face", default="broadloom", help="what answers to `numexpr`: broadloom, numexpr, or a file run at start-up")
    add("--module", default="broadloom", help="the array namespace under test")
    add("--array-api-tests", type=Path, help=f"the suite's folder; else ${suite_array_api.VARIABLE} or a copy near by")
    add("--flox", type=Path, help=f"the folder of flox's source distribution; else ${suite_flox.VARIABLE}")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suites that the command line asks for; returns the status."""
    options = _parser().parse_args(arguments)
    face = Face.of(options.face)
    common = {"full": options.full, "jobs": options.jobs, "select": options.select}
    suites: dict[str, Callable[[], Report]] = {
        "numexpr": lambda: suite_numexpr.run(face, jobs=options.jobs, select=options.select),
        "pandas": lambda: suite_pandas.run(face, **common),
        "array-api": lambda: suite_array_api.run(
            options.module, folder=suite_array_api.find(options.array_api_tests, ROOT), **common
        ),
        "xarray": lambda: suite_xarray.run(**common),
        "scipy": lambda: suite_scipy.run(write=options.write),
        "onnx": lambda: suite_onnx.run(
            PAGE.with_name("onnx-tests.md"), select=options.select, write=options.write and not options.select
        ),
        "numpy": lambda: suite_numpy.run(**common),
        "groupies": lambda: suite_groupies.run(**common),
        "flox": lambda: suite_flox.run(folder=options.flox, **common),
    }
    reports = []
    for name in options.only or suites:
        report = suites[name]()
        reports.append(report)
        print(f"{report.suite}: {report.verdict} ({report.passed} passed, {report.seconds:.0f} s)")
        print("".join(f"  {error}\n" for error in report.errors[:SHOWN]), end="")
        if len(report.errors) > SHOWN:
            print(f"  … and {len(report.errors) - SHOWN} more")
        print("".join(f"  note: {note}\n" for note in report.notes), end="", flush=True)
    print(f"\n{table(reports)}")
    if options.write:
        write(PAGE, reports, "full" if options.full else "quick")
    return int(any(report.errors for report in reports))


if __name__ == "__main__":
    sys.exit(main())
