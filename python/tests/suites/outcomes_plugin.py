"""A pytest plugin that writes the outcome of every test to a JSON file, which the runners of this folder read.

There is one record per test id: "passed", "failed", "skipped", "xfailed" or "xpassed". A failing fixture counts as
failed. With pytest-xdist only the controller writes. The file also names the module that was imported as `numexpr`,
so that a runner can't compare a suite with itself.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import pytest

TARGET = "BROADLOOM_SUITE_OUTCOMES"


class Outcomes:
    """Collects reports and writes them when the session ends."""

    def __init__(self, target: Path) -> None:
        """Takes the file that is written at the end."""
        self.target = target
        self.outcomes: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.properties: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Records one phase (setup, call, teardown) of a test. If a phase fails, the test has failed."""
        if report.when == "call" and report.user_properties:
            self.properties[report.nodeid] = dict(report.user_properties)
        if report.failed:
            outcome = "failed"
        elif report.when == "call" or report.skipped:
            outcome = report.outcome
            if hasattr(report, "wasxfail"):
                outcome = "xfailed" if report.skipped else "xpassed"
        else:
            return
        if self.outcomes.get(report.nodeid) != "failed":
            self.outcomes[report.nodeid] = outcome
        if outcome in ("failed", "skipped") and report.nodeid not in self.messages:
            self.messages[report.nodeid] = _last_line(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Records a file that can't be collected as one failed test with the file's name."""
        if report.failed:
            self.outcomes[report.nodeid or "collection"] = "failed"
            self.messages[report.nodeid or "collection"] = _last_line(report)

    def pytest_sessionfinish(self) -> None:
        """Writes the file in one step, so that a killed session leaves none."""
        record = {
            "numexpr": _file_of("numexpr"),
            "outcomes": self.outcomes,
            "messages": self.messages,
            "properties": self.properties,
        }
        unfinished = self.target.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(record), encoding="utf-8")
        unfinished.replace(self.target)


def _file_of(module: str) -> str | None:
    """The file that `import module` loads in this process. It is imported here even if only pytest's workers
    imported it before."""
    try:
        return importlib.import_module(module).__file__
    except ImportError:
        return None


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The line of a report that names the error."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return str(text.strip().split("\n")[0][:300])


def pytest_configure(config: pytest.Config) -> None:
    """Registers the collector in the process that sees all reports."""
    target = os.environ.get(TARGET)
    if target and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(Path(target)), "broadloom-outcomes")
