"""The result of one suite, the table of all results, and the block of docs/generated/suites.md that contains it."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

HEAD = """\
| suite | against | passed | excluded | accepted | errors | seconds | verdict |
| --- | --- | --: | --: | --: | --: | --: | --- |"""


@dataclass
class Report:
    """The result of a suite: counts of tests, errors that make the run fail, and facts that the docs state.

    `errors` and `notes` have a line per entry. `skipped` is the reason if the suite didn't run.
    """

    suite: str
    against: tuple[str, ...] = ()
    passed: int = 0
    excluded: int = 0
    accepted: int = 0
    seconds: float = 0.0
    skipped: str = ""
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """One of "passed", "skipped: why" and "N errors"."""
        if self.skipped:
            return f"skipped: {self.skipped}"
        if not self.errors:
            return "passed"
        return "1 error" if len(self.errors) == 1 else f"{len(self.errors)} errors"


def version(package: str) -> str:
    """A package with its version, as in the table; the name alone if it isn't installed as a distribution."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return package


def table(reports: Sequence[Report]) -> str:
    """The reports as a Markdown table."""
    rows = [HEAD]
    for report in reports:
        counts = (report.passed, report.excluded, report.accepted, len(report.errors), f"{report.seconds:.0f}")
        against = ", ".join(version(name) for name in report.against)
        cells = (report.suite, against, *map(str, counts), report.verdict)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def write(page: Path, reports: Sequence[Report], mode: str) -> None:
    """Replaces the block between the marks of `page` by the table, the notes, the date and the versions. Rows and notes
    in the block for suites that were not run are kept.

    Raises:
        ValueError: if the page has no such marks.
    """
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    old, mark, foot = rest.partition(END)
    if not mark:
        raise ValueError(f"{page}: the marks {BEGIN} and {END} are missing")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    earlier = [row for row in old.split("\n") if row.startswith("Run of ")]
    line = f"Run of {day}, `--{mode}`, Python {platform.python_version()}, {version('numpy')}."
    ran = {report.suite for report in reports}
    kept = [row for row in old.split("\n") if row.startswith("| ") and row not in HEAD.split("\n")]
    rows = [row for row in kept if row.split(" | ")[0].removeprefix("| ") not in ran]
    notes = [row for row in old.split("\n") if row.startswith("- ") and row[2:].partition(": ")[0] not in ran]
    notes += [f"- {report.suite}: {note}" for report in reports for note in report.notes]
    if rows and earlier:
        # If the table keeps rows of suites that were not run now, the line keeps the date of their run.
        line = earlier[0]
        notes += [f"- {report.suite}: run of {day}, `--{mode}`" for report in reports]
    whole = "\n".join([HEAD, *rows, *table(reports).split("\n")[2:]])
    block = [BEGIN, "", line, "", whole, *([""] if notes else []), *notes, "", END]
    page.write_text(head + "\n".join(block) + foot, encoding="utf-8")
