"""Runs ONNX's own backend tests on `broadloom.onnx`, by `onnx.backend.test.BackendTest`.

The tests are in onnx's wheel: the node tests, which it generates, and the small models of its data. Each test must
pass, or be refused by operator or type when its model is prepared. A test that fails is an error. So is one that is
refused although all its operators have a row and all its types are supported, unless `REFUSED` has the reason. Tests
are sorted into kinds by the rows of their operators, so that the counts follow a rule.
"""

from __future__ import annotations

import os
import tempfile
import time
import unittest
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite_report import Report

#: Tests that are refused although their operators and types are supported, with the reason.
REFUSED = {
    "test_batchnorm_example_training_mode": "in training, BatchNormalization has state",
    "test_batchnorm_epsilon_training_mode": "in training, BatchNormalization has state",
    "test_bernoulli": "it has no seed",
    "test_bernoulli_double": "it has no seed",
    "test_bernoulli_double_expanded": "it has no seed",
    "test_bernoulli_expanded": "it has no seed",
}

#: Tests whose expected values are random numbers of NumPy, which no other generator gives. They must run.
OTHER_NUMBERS = {"test_bernoulli_seed", "test_bernoulli_seed_expanded"}

#: The kinds of node tests: purely element-wise, reductions and softmax (with element-wise operators), and the rest.
ELEMENTWISE, REDUCING, OTHER = "element-wise", "reductions and softmax", "shapes, normalisations, constants, bodies"


@dataclass
class Outcome:
    """The outcome of a test: "passed", "refused", "other numbers" or "failed", with the reasons of the refusal or the text of
    the error."""

    name: str
    category: str
    kind: str = OTHER
    verdict: str = "passed"
    text: str = ""
    operators: tuple[str, ...] = ()


@dataclass
class Outcomes:
    """All outcomes, by test name, and how long they took."""

    tests: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    def having(self, verdict: str, category: str = "", kind: str = "") -> list[Outcome]:
        """The tests of one verdict, category and kind."""
        return [
            test
            for test in self.tests
            if test.verdict == verdict and category in ("", test.category) and kind in ("", test.kind)
        ]


class _Collected(unittest.TestResult):
    """Collects errors as exceptions, by test."""

    def __init__(self) -> None:
        super().__init__()
        self.raised: dict[str, BaseException] = {}
        self.skips: dict[str, str] = {}

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.raised[test._testMethodName] = err[1].with_traceback(None)

    addFailure = addError  # noqa: N815

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.skips[test._testMethodName] = reason


def _graphs(model: Any) -> Iterator[Any]:
    """The graph of a model, and the bodies of its operators."""
    waiting = [model.graph]
    while waiting:
        graph = waiting.pop()
        yield graph
        waiting += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]


def _operators(model: Any) -> set[tuple[str, str]]:
    return {(node.domain, node.op_type) for graph in _graphs(model) for node in graph.node}


def _types(model: Any) -> Iterator[str]:
    """The types of a model's values: of its inputs, outputs and initializers, and the types that casts and constants
    name."""
    from broadloom.onnx._types import tensor, type_of

    for graph in _graphs(model):
        for entry in (*graph.input, *graph.output):
            if entry.HasField("type"):
                yield type_of(entry.type)
        for weight in graph.initializer:
            yield tensor(weight.data_type)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype") and attribute.HasField("i"):
                    yield tensor(attribute.i)
                if attribute.HasField("t"):
                    yield tensor(attribute.t.data_type)
                if attribute.name in ("value_string", "value_strings"):
                    yield "tensor(string)"


def kind_of(model: Any) -> str:
    """The kind of a test, by the rows of its operators. Constants, and casts to a type of another value, are not
    counted."""
    from broadloom.onnx._table import KINDS

    neutral = {"Constant"}
    elementwise = {row.name for kind in ("Element by element", "Activations") for row in KINDS[kind]} | neutral
    reducing = elementwise | {row.name for kind in ("Reductions", "Softmax") for row in KINDS[kind]}
    names = {name if not domain else f"{domain}.{name}" for domain, name in _operators(model)}
    if names <= elementwise:
        return ELEMENTWISE
    return REDUCING if names <= reducing else OTHER


def is_ours(model: Any) -> bool:
    """Whether all operators of a model have a row, and all types of its values are supported."""
    from broadloom.onnx._table import CONTROL, SELECTION, TABLE
    from broadloom.onnx._types import DTYPES

    rows = {(row.domain, row.name) for row in TABLE.values()} | {
        ("", name) for name in CONTROL.keys() | SELECTION.keys()
    }
    return _operators(model) <= rows and all(kind in DTYPES for kind in _types(model))


def collect(select: str = "") -> Outcomes:
    """Runs the tests whose names contain `select`, on the CPU."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="broadloom-onnx-") as home:
        # The generated tests overflow on purpose.
        warnings.simplefilter("ignore")
        before = os.environ.get("ONNX_HOME")
        os.environ["ONNX_HOME"] = home
        try:
            return _collect(select)
        finally:
            if before is None:
                del os.environ["ONNX_HOME"]
            else:
                os.environ["ONNX_HOME"] = before


def _collect(select: str) -> Outcomes:
    from onnx.backend.test import BackendTest

    from broadloom.onnx import Backend, UnsupportedModelError

    class Strict(Backend):
        """Tells BackendTest that every model is compatible, so that none is skipped in silence."""

        @classmethod
        def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
            return True

    found = Outcomes()
    begin = time.monotonic()
    tests = BackendTest(Strict, __name__)
    for category, case in tests.test_cases.items():
        for method in sorted(name for name in dir(case) if name.startswith("test_") and name.endswith("_cpu")):
            name = method.removesuffix("_cpu")
            if select not in name:
                continue
            result = _Collected()
            case(method).run(result)
            outcome = Outcome(name, category.removeprefix("OnnxBackend").removesuffix("ModelTest"))
            error = result.raised.get(method)
            model = tests._test_items[category.removeprefix("OnnxBackend").removesuffix("Test")][method].proto[0]
            if model is not None:
                outcome.kind = kind_of(model)
            if isinstance(error, UnsupportedModelError):
                outcome.verdict, outcome.operators = "refused", error.operators
                outcome.text = "; ".join(map(str, error.findings[:3]))
                if is_ours(model) and name not in REFUSED:
                    outcome.verdict = "failed"
                    outcome.text = f"refused, though all of it is in the table: {outcome.text}"
            elif isinstance(error, AssertionError) and name in OTHER_NUMBERS:
                outcome.verdict = "other numbers"
            elif error is not None:
                outcome.verdict, outcome.text = "failed", f"{type(error).__name__}: {str(error).strip()[:300]}"
            elif method in result.skips:
                outcome.verdict, outcome.text = "failed", f"skipped: {result.skips[method]}"
            elif not result.testsRun:
                outcome.verdict, outcome.text = "failed", "did not run"
            found.tests.append(outcome)
    found.seconds = time.monotonic() - begin
    return found


#: The page with the table of operators, beside the page of names.
OPERATORS = "onnx-operators.md"
BEGIN, END = "<!-- operators: begin -->", "<!-- operators: end -->"

#: Sets of dtypes, by the words that the docs use for them.
GROUPS = {
    "floats": {"float16", "float", "double"},
    "integers": {f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "bool": {"bool"},
}


def operators() -> str:
    """The table of operators, with the versions of each in onnx, and the dtypes of its first operand in broadloom."""
    from onnx import defs

    from broadloom.onnx._table import CONTROL, KINDS, SELECTION
    from broadloom.onnx._types import DTYPES

    kinds: dict[str, Iterable[Any]] = {
        **KINDS,
        "Selections, whose results have shapes that depend on values": SELECTION.values(),
        "Operators with bodies": CONTROL.values(),
    }
    versions: dict[str, dict[int, Any]] = defaultdict(dict)
    domains = {row.name: row.domain for rows in KINDS.values() for row in rows}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == domains.get(schema.name, ""):
            versions[schema.name][schema.since_version] = schema
    lines = []
    for kind, rows in kinds.items():
        lines += [f"**{kind}**", "", "| operator | versions | dtypes | |", "| --- | --- | --- | --- |"]
        for row in rows:
            newest = versions[row.name][max(versions[row.name])]
            allowed = {x.type_param_str: x.allowed_type_strs for x in newest.type_constraints}
            formal = (newest.inputs or newest.outputs)[0].type_str
            ours = {x[len("tensor(") : -1] for x in allowed.get(formal, [formal]) if x in DTYPES}
            words = []
            for word, group in GROUPS.items():
                words += [word] if group <= ours else sorted(group & ours)
            shown = ", ".join(map(str, sorted(versions[row.name])))
            lines.append(f"| `{row.name}` | {shown} | {', '.join(words)} | {row.note} |")
        lines.append("")
    return "\n".join(lines)


def with_operators(text: str) -> str:
    """The page of operators, with the table between its marks."""
    head, mark, rest = text.partition(BEGIN)
    _, end, foot = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"the marks {BEGIN} and {END} are missing")
    return f"{head}{BEGIN}\n\n{operators()}\n{END}{foot}"


def judge(found: Outcomes, page: Path | None = None) -> list[str]:
    """The errors of a run. If `page` is given, it must be the page that the run would write, and the table of
    operators beside it as well."""
    errors = [f"{test.name}: {test.text}" for test in found.having("failed")]
    verdicts = {test.name: test.verdict for test in found.tests}
    errors += [
        f"{name}: listed as refused ({reason}), but it {verdicts.get(name, 'does not exist')}"
        for name, reason in REFUSED.items()
        if page is not None and verdicts.get(name) != "refused"
    ]
    if page is not None and (not page.exists() or page.read_text(encoding="utf-8") != text_of(found)):
        errors.append(f"{page.name} is not what this run gives; `run.py --only onnx --write` writes it")
    if page is not None:
        text = page.with_name(OPERATORS).read_text(encoding="utf-8")
        if text != with_operators(text):
            errors.append(f"{OPERATORS} has another table of operators; `run.py --only onnx --write` writes it")
    return errors


def run(page: Path, *, select: str = "", write: bool = False) -> Report:
    """Runs the tests, and compares the page of their names or writes it. `select` selects some of the tests, for
    trials."""
    report = Report("ONNX's backend tests", ("onnx",))
    found = collect(select)
    report.seconds = found.seconds
    if not found.tests:
        report.errors.append("no test was selected")
        return report
    if write and not select:
        page.write_text(text_of(found), encoding="utf-8")
        about = page.with_name(OPERATORS)
        about.write_text(with_operators(about.read_text(encoding="utf-8")), encoding="utf-8")
    report.errors = judge(found, None if select else page)
    report.passed = len(found.having("passed"))
    report.excluded = len(found.having("refused")) + len(found.having("other numbers"))
    node = {kind: len(found.having("passed", "Node", kind)) for kind in (ELEMENTWISE, REDUCING, OTHER)}
    report.notes.append("node tests that pass: " + ", ".join(f"{count} {kind}" for kind, count in node.items()))
    return report


def _names(tests: Iterable[Outcome]) -> str:
    return ", ".join(f"`{test.name}`" for test in sorted(tests, key=lambda test: test.name))


def text_of(found: Outcomes) -> str:
    """The page that lists all tests by name."""
    import onnx

    lines = [
        "# ONNX's backend tests, by name",
        "",
        "<!-- Made by `python python/tests/suites/run.py --only onnx --write`; a run fails where it would write another page. -->",
        "",
        f"What `onnx.backend.test.BackendTest` of onnx {onnx.__version__} comes to on `broadloom.onnx.Backend`. [ONNX](../python/onnx.md) has what is",
        "supported, and the rule for the kinds.",
        "",
        "| tests | all | passed | refused | other random numbers |",
        "| --- | --: | --: | --: | --: |",
    ]
    categories = list(dict.fromkeys(test.category for test in found.tests))
    for category in categories:
        counts = [len(found.having(verdict, category)) for verdict in ("passed", "refused", "other numbers")]
        total = sum(test.category == category for test in found.tests)
        lines.append(f"| {category} | {total} | {' | '.join(map(str, counts))} |")
    lines += ["", "## Passed", ""]
    for category in categories:
        kinds = (ELEMENTWISE, REDUCING, OTHER) if category == "Node" else ("",)
        for kind in kinds:
            tests = found.having("passed", category, kind)
            if tests:
                title = f"{category}: {kind}" if kind else category
                lines += [f"### {title} ({len(tests)})", "", _names(tests), ""]
    lines += ["## Other random numbers", ""]
    lines += ["Their expected values are NumPy's random numbers.", "", _names(found.having("other numbers")), ""]
    lines += ["## Refused, by operator", ""]
    lines += ["A test with several operators that are not supported stands with the first of them.", ""]
    lines += ["| operator | tests |", "| --- | --- |"]
    by_operator: dict[str, list[Outcome]] = defaultdict(list)
    for test in found.having("refused"):
        by_operator[test.operators[0] if test.operators else "(types of inputs and outputs)"].append(test)
    lines += [f"| {name} | {_names(tests)} |" for name, tests in sorted(by_operator.items())]
    return "\n".join(lines) + "\n"
