"""Calls SciPy's public functions of `special`, `integrate` and `stats` with broadloom's arrays under
`SCIPY_ARRAY_API=1`.

The reference is SciPy with NumPy's arrays: each call must return the same dtypes and shapes, and values within the
stated distance. A function that, according to SciPy, supports every namespace of the standard must return broadloom's
arrays. If it refuses them, it is in `scipy_accepted.toml` with the reason. The lists of docs/generated/scipy.md are
written from the verdicts, and a run fails if they differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from suite_pytest import HERE
from suite_report import Report

ACCEPTED = HERE / "scipy_accepted.toml"
PAGE = HERE.parents[2] / "docs" / "generated" / "scipy.md"
MODULES = ("special", "integrate", "stats")
BEGIN, END = "<!-- verdicts: begin -->", "<!-- verdicts: end -->"
LIMIT = 600.0

#: The names of verdicts on the page, in the order of its rows.
VERDICTS = {
    "ours": "arrays of broadloom",
    "partly": "arrays of broadloom and of NumPy",
    "numpy": "arrays of NumPy",
    "numbers": "Python's numbers",
    "numpy promotion": 'refused, unless `promotion="numpy"`',
    "refused": "refused",
    "no arrays": "takes numbers only",
}

Outcome = dict[str, Any]


def verdicts(dtype: str, promotion: str = "strict") -> dict[str, Any]:
    """The outcomes of all calls in a dtype under a promotion rule, and the names for which there is no call.

    Raises:
        RuntimeError: if the process fails. The message contains the end of its output.
    """
    command = [sys.executable, str(HERE / "scipy_verdicts.py"), dtype, promotion, *MODULES]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    made = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    if made.returncode != 0:
        raise RuntimeError("\n".join(made.stderr.splitlines()[-5:]))
    found: dict[str, Any] = json.loads(made.stdout)
    return found


def judge(
    outcomes: list[Outcome], by_numpy: list[Outcome], rules: dict[str, Any], kind: str
) -> tuple[int, int, list[str]]:
    """The number of correct calls, the number of accepted refusals, and the errors. Sets `bound` of each outcome,
    and the verdict "numpy promotion" if only that rule accepts the call. `kind` names the run."""
    errors, passed, accepted = [], 0, 0
    promoted = {outcome["call"]: outcome for outcome in by_numpy}
    for outcome in outcomes:
        call = f"{outcome['call']}, {kind}"
        outcome["bound"] = bound = bound_of(outcome, rules)
        if outcome["verdict"] == "refused":
            other = promoted.get(outcome["call"], outcome)
            if outcome["claimed"]:
                errors.append(f"{call}: refused, but SciPy claims it: {outcome['message']}")
            if other["verdict"] != "refused":
                outcome["verdict"], outcome["ulps"], outcome["differs"] = (
                    "numpy promotion",
                    other["ulps"],
                    other["differs"],
                )
            accepted += 1
        elif outcome["claimed"] and outcome["verdict"] != "ours":
            errors.append(f"{call}: gives {outcome['verdict']}, but SciPy claims it")
        else:
            passed += 1
        if outcome["differs"]:
            errors.append(f"{call}: {outcome['differs']}")
        if outcome["ulps"] > bound:
            errors.append(
                f"{call}: {outcome['ulps']:.0f} ulps from SciPy on NumPy's arrays, at most {bound} are stated"
            )
    return passed, accepted, errors


def bound_of(outcome: Outcome, rules: dict[str, Any]) -> int:
    """The distance in ulps that is stated for a call."""
    for row in rules["distance"]:
        if row["module"] == outcome["module"] and outcome["function"] in row["functions"]:
            return int(row["ulps"])
    if outcome["verdict"] in ("ours", "partly", "refused") and outcome["claimed"]:
        return int(rules["claimed"][outcome["module"]])
    return 0


def _check_refusals(outcomes: list[Outcome], rules: dict[str, Any]) -> list[str]:
    """Errors of the list of refusals: a function that isn't on it, and one that needs it no longer."""
    refused = {f"{x['module']}.{x['function']}" for x in outcomes if x["verdict"] in ("refused", "numpy promotion")}
    listed = {name for row in rules["refused"] for name in row["functions"]}
    errors = [f"{name}: refused, and not listed" for name in sorted(refused - listed)]
    return errors + [f"{name}: listed as refused, but it is not" for name in sorted(listed - refused)]


def _names(outcomes: list[Outcome]) -> str:
    return ", ".join(f"`{name}`" for name in sorted({x["function"] for x in outcomes}, key=str.lower))


def _distance(bound: int) -> str:
    return "same bits" if bound == 0 else f"{bound} ulps"


def rendered(outcomes: list[Outcome], rules: dict[str, Any]) -> str:
    """The lists of the page: the functions of each module, sorted by verdict and stated distance, and the reasons of
    refusals."""
    lines = []
    for module in MODULES:
        of_module = [x for x in outcomes if x["module"] == module]
        functions = {x["function"] for x in of_module}
        claimed = {x["function"] for x in of_module if x["claimed"]}
        lines += [f"### scipy.{module}", ""]
        lines += [f"{len(functions)} functions, of which SciPy claims {len(claimed)} for every namespace.", ""]
        lines += ["| result | distance | claimed | functions |", "| --- | --- | --- | --- |"]
        # A function with several calls is listed under the least favourable verdict.
        order = list(VERDICTS)
        worst: dict[str, Outcome] = {}
        for x in of_module:
            known = worst.setdefault(x["function"], x)
            if (order.index(x["verdict"]), x["bound"]) > (order.index(known["verdict"]), known["bound"]):
                worst[x["function"]] = x
        groups: dict[tuple[int, bool, int], list[Outcome]] = {}
        for x in worst.values():
            has_values = x["verdict"] not in ("refused", "no arrays")
            key = (order.index(x["verdict"]), not x["claimed"], x["bound"] if has_values else -1)
            groups.setdefault(key, []).append(x)
        for (verdict, unclaimed, bound), rows in sorted(groups.items()):
            how = "–" if bound < 0 else _distance(bound)
            lines.append(
                f"| {VERDICTS[order[verdict]]} | {how} | {'no' if unclaimed else 'yes'} | {len(rows)}: {_names(rows)} |"
            )
        lines.append("")
    lines += ["### Why some are refused", ""]
    lines += [f"- {', '.join(f'`{name}`' for name in row['functions'])}: {row['reason']}" for row in rules["refused"]]
    lines += ["", "### Why values differ", ""]
    lines += [
        f"- {row['module']}: {', '.join(f'`{name}`' for name in row['functions'])}, at most {row['ulps']} ulps: {row['reason']}"
        for row in rules["distance"]
    ]
    return "\n".join(lines)


def _page(block: str, page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, mark, foot = rest.partition(END)
    if not mark:
        raise ValueError(f"{page}: the marks {BEGIN} and {END} are missing")
    return f"{head}{BEGIN}\n\n{block}\n\n{END}{foot}"


def run(*, write: bool = False, accepted: Path = ACCEPTED, page: Path = PAGE) -> Report:
    """Makes all calls in float64, and calls of functions for which SciPy claims support in float32 too. With `write`,
    the lists are written to the page."""
    report = Report("SciPy's functions", ("scipy",))
    rules = tomllib.loads(accepted.read_text(encoding="utf-8"))
    begin = time.monotonic()
    try:
        double, single, by_numpy = verdicts("float64"), verdicts("float32"), verdicts("float64", "numpy")
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        report.errors.append(str(error))
        return report
    report.seconds = time.monotonic() - begin
    report.errors += [
        f"{name}: public, and no call of the table has it, or the other way round" for name in double["untried"]
    ]
    for found, kind in ((double, "float64"), (single, "float32")):
        passed, refused, errors = judge(found["outcomes"], by_numpy["outcomes"], rules, kind)
        report.passed += passed
        report.accepted += refused
        report.errors += errors
    report.errors += _check_refusals(double["outcomes"], rules)
    claimed = {(x["module"], x["function"]) for x in double["outcomes"] if x["claimed"]}
    report.notes.append(
        f"all {len(claimed)} functions that SciPy claims for every namespace take arrays and give such arrays"
    )
    text = _page(rendered(double["outcomes"], rules), page)
    if write:
        page.write_text(text, encoding="utf-8")
    elif text != page.read_text(encoding="utf-8"):
        report.errors.append(f"{page.name}: the lists differ from the verdicts; `--only scipy --write` writes them")
    return report
