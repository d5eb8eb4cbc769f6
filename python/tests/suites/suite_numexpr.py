"""Runs numexpr's own tests, which its wheel contains, with broadloom.numexpr in place of numexpr.

The test file is copied out of the wheel, since inside of it `numexpr` would be the real package.
numexpr_exclusions.toml names the tests that need not pass. An exclusion that matches nothing or that isn't needed
any more is an error. So is a test that skips itself, as numexpr's tests do if NotImplementedError is raised.
"""

from __future__ import annotations

import ast
import copy
import importlib.metadata
import re
import tempfile
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite_pytest import HERE, Face, Run, run_pytest
from suite_report import Report

EXCLUSIONS = HERE / "numexpr_exclusions.toml"
FILE = "test_numexpr.py"
SETTINGS = "[pytest]\nmarkers =\n    thread_unsafe\nfaulthandler_timeout = 300\n"


@dataclass(frozen=True)
class Cut:
    """A method of the suite that is run without some of its statements and list elements; `suffix` names the copy."""

    test: str
    statements: tuple[str, ...]
    elements: tuple[str, ...]
    suffix: str = "_cut"


class _Cutter(ast.NodeTransformer):
    """Removes statements and list elements from a function, and counts how often each pattern matched."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.matched = {pattern: 0 for pattern in (*cut.statements, *cut.elements)}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                kept = [child for child in value if not self._goes(child)]
                if value and not kept and name == "body":
                    kept = [ast.Pass()]
                setattr(node, name, kept)
        return super().generic_visit(node)

    def _goes(self, child: object) -> bool:
        if isinstance(child, ast.stmt):
            text = ast.unparse(child)
            pattern = next((one for one in self.cut.statements if text.startswith(one)), None)
        elif isinstance(child, ast.expr):
            text = ast.unparse(child)
            pattern = next((one for one in self.cut.elements if text == one), None)
        else:
            return False
        if pattern is None:
            return False
        self.matched[pattern] += 1
        return True


def with_cuts(text: str, cuts: Sequence[Cut]) -> str:
    """The test file with a shortened copy after each method from which statements are removed.

    Raises:
        ValueError: if a test or one of its patterns isn't found.
    """
    lines = text.split("\n")
    insertions: list[tuple[int, str]] = []
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    for cut in cuts:
        class_name, _, name = cut.test.partition("::")
        body = classes[class_name].body if class_name in classes else []
        method = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == name), None)
        if method is None or method.end_lineno is None:
            raise ValueError(f"cut: there is no test {cut.test}")
        cutter = _Cutter(cut)
        shorter = cutter.visit(copy.deepcopy(method))
        missing = [pattern for pattern, count in cutter.matched.items() if count == 0]
        if missing:
            raise ValueError(f"cut: {cut.test} has no {missing[0]!r}")
        shorter.name += cut.suffix
        insertion = textwrap.indent(ast.unparse(shorter), " " * method.col_offset)
        insertions.append((method.end_lineno, f"\n{insertion}"))
    for line, insertion in sorted(insertions, reverse=True):
        lines.insert(line, insertion)
    return "\n".join(lines)


def judge(run: Run, excluded: Sequence[str], *, complete: bool) -> tuple[int, int, list[str]]:
    """The number of tests that passed, the number that are excluded, and the errors of a run.

    `excluded` are patterns; with `complete`, one that matches no test is an error.
    """
    errors = []
    patterns = [re.compile(pattern) for pattern in excluded]
    matched = {pattern.pattern: 0 for pattern in patterns}
    passed = 0
    for test, outcome in sorted(run.outcomes.items()):
        name = test.partition("::")[2] or test
        pattern = next((pattern for pattern in patterns if pattern.fullmatch(name)), None)
        if pattern is not None:
            matched[pattern.pattern] += 1
            if outcome == "passed":
                errors.append(f"{name}: excluded, but it passes")
        elif outcome == "passed":
            passed += 1
        else:
            errors.append(f"{name}: {outcome}: {run.messages.get(test, '')}")
    if complete:
        errors += [f"excluded, but there is no such test: {text}" for text, count in matched.items() if count == 0]
    return passed, sum(matched.values()), errors


def run(face: Face, *, jobs: int = 2, select: str = "", exclusions: Path = EXCLUSIONS) -> Report:
    """Runs the suite under a face. `select` is pytest's -k, for trials with a part of it."""
    report = Report("numexpr's own tests", ("numexpr",))
    try:
        wheel = importlib.metadata.distribution("numexpr")
    except importlib.metadata.PackageNotFoundError:
        report.errors.append("numexpr is not installed: its wheel has the tests")
        return report
    source = Path(str(wheel.locate_file(f"numexpr/tests/{FILE}"))).read_text(encoding="utf-8")
    table = tomllib.loads(exclusions.read_text(encoding="utf-8"))
    cuts = [Cut(row["test"], tuple(row.get("statements", ())), tuple(row.get("elements", ()))) for row in table["cut"]]
    with tempfile.TemporaryDirectory(prefix="broadloom-numexpr-") as folder:
        Path(folder, FILE).write_text(with_cuts(source, cuts), encoding="utf-8")
        Path(folder, "pytest.ini").write_text(SETTINGS, encoding="utf-8")
        arguments = [FILE, "-W", "ignore", *(["-k", select] if select else [])]
        result = run_pytest(arguments, cwd=Path(folder), face=face, jobs=jobs, limit=900)
    report.seconds = result.seconds
    if result.trouble:
        report.errors.append(result.trouble)
        return report
    excluded = [row["pattern"] for row in table["excluded"]]
    report.passed, report.excluded, report.errors = judge(result, excluded, complete=not select)
    return report
