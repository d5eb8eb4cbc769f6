"""Runs pytest in a process of its own and returns the outcome of every test.

A face is the module that `import numexpr` loads in that process, in its workers and in the subprocesses that tests
start. A `sitecustomize.py` that is first on PYTHONPATH installs it before any test or pandas is imported. A run that
exceeds its time limit is killed and counts as failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcomes_plugin import TARGET

HERE = Path(__file__).resolve().parent

INSTALL = "import broadloom.numexpr\n\nbroadloom.numexpr.install()\n"

OPTIONS = ("-p", "no:cacheprovider", "-p", "outcomes_plugin", "-q", "--tb=short")


@dataclass(frozen=True)
class Face:
    """The module that `import numexpr` loads. `start_up` is the Python text that every interpreter runs first to
    install it."""

    name: str
    start_up: str
    ours: bool

    @staticmethod
    def of(name: str) -> Face:
        """`broadloom`, `numexpr` (the installed one), or the path of a Python file that is run at start-up."""
        if name == "broadloom":
            return Face(name, INSTALL, True)
        if name == "numexpr":
            return Face(name, "", False)
        return Face(name, Path(name).read_text(encoding="utf-8"), False)


@dataclass
class Run:
    """Outcomes by test id, one line of message per failed or skipped test, what plugins recorded of tests, and how long the run
    took."""

    outcomes: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    numexpr: str | None = None
    seconds: float = 0.0
    trouble: str = ""
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)

    def having(self, *outcomes: str) -> list[str]:
        """The ids of the tests with one of these outcomes, sorted."""
        return sorted(test for test, outcome in self.outcomes.items() if outcome in outcomes)


def run_pytest(
    arguments: Sequence[str],
    *,
    cwd: Path,
    face: Face | None = None,
    jobs: int = 2,
    environment: Mapping[str, str] | None = None,
    limit: float = 1800.0,
) -> Run:
    """Runs `pytest *arguments` in `cwd` with `jobs` workers under `face`, killed after `limit` seconds."""
    with tempfile.TemporaryDirectory(prefix="broadloom-suite-") as folder:
        target = Path(folder, "outcomes.json")
        paths = [str(HERE), *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
        if face is not None:
            Path(folder, "sitecustomize.py").write_text(face.start_up, encoding="utf-8")
            paths.insert(0, folder)
        variables = {
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            TARGET: str(target),
        }
        workers = ["-n", str(jobs)] if jobs > 1 else []
        begin = time.monotonic()
        status, text = _run([sys.executable, "-m", "pytest", *OPTIONS, *workers, *arguments], cwd, variables, limit)
        seconds = time.monotonic() - begin
        tail = "\n".join(text.rstrip().split("\n")[-15:])
        if status is None:
            return Run(seconds=seconds, trouble=f"did not end within {limit:.0f} s\n{tail}")
        if not target.exists():
            return Run(seconds=seconds, trouble=f"pytest ended with status {status} without any outcome\n{tail}")
        record = json.loads(target.read_text(encoding="utf-8"))
        run = Run(record["outcomes"], record["messages"], record["numexpr"], seconds, "", record["properties"])
        if not run.outcomes:
            run.trouble = f"no test was selected\n{tail}"
        elif status not in (0, 1):
            run.trouble = f"pytest ended with status {status}\n{tail}"
        elif face is not None and face.ours and "broadloom" not in Path(run.numexpr or "").parts:
            run.trouble = f"`import numexpr` gave {run.numexpr}, not broadloom.numexpr"
        return run


def _run(command: Sequence[str], cwd: Path, variables: Mapping[str, str], limit: float) -> tuple[int | None, str]:
    """The status and the output of a command. The status is None if its process group had to be killed."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(variables),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        return None, text
    return process.returncode, text
