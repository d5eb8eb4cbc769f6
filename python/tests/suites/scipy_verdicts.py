"""Makes every call of SciPy's functions with NumPy's arrays and with broadloom's, and prints the outcomes as JSON.

This is a separate process, since SciPy reads `SCIPY_ARRAY_API` when it is imported. The arrays in two results are
compared by position: shape, dtype, and the largest distance of values in units in the last place of the dtype.

    python python/tests/suites/scipy_verdicts.py float64 strict special stats
"""

from __future__ import annotations

import os
import re
import sys

if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"

import json
import warnings
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy_calls
from scipy._lib._array_api import xp_capabilities_table
from scipy_calls import Call

import broadloom as bl

#: The maximum depth at which results within results are compared.
_PARTS = 200
#: The maximum length of an error's message in the table.
_SHOWN = 150

#: Parts of results that are not compared: estimates of an integral's error, which are rounding errors themselves, and
#: the order of regions that have the same estimate.
_NOISE = {
    ("integrate", "cubature"): (".error", ".regions"),
    ("integrate", "qmc_quad"): ("[1]",),
    ("integrate", "tanhsinh"): ("['error']",),
    ("integrate", "nsum"): ("['error']",),
}


@dataclass
class Outcome:
    """The outcome of a call. `verdict` is "ours", "partly", "numpy", "numbers" (no arrays in the result), "refused" or
    "no arrays" (none in the arguments); `message` is the error of a refusal; `differs` states what is wrong with a
    result; `ulps` is the largest distance; `claimed` is whether SciPy states that the function supports any namespace
    of the standard."""

    call: str
    function: str
    module: str
    claimed: bool
    verdict: str = ""
    message: str = ""
    differs: str = ""
    ulps: float = 0.0


def leaves(result: Any) -> list[tuple[str, Any]]:
    """The arrays and numbers in a result, each with its position: within sequences, mappings and the public
    attributes of SciPy's own objects."""
    found: list[tuple[str, Any]] = []
    pending = [("", result)]
    while pending and len(found) < _PARTS:
        where, x = pending.pop()
        if isinstance(x, bl.Array | np.ndarray | np.generic | bool | int | float | complex):
            found.append((where, x))
        elif isinstance(x, tuple | list):
            pending += [(f"{where}[{i}]", one) for i, one in enumerate(x)]
        elif isinstance(x, dict):
            pending += [(f"{where}[{key!r}]", one) for key, one in x.items()]
        elif type(x).__module__.startswith("scipy.") and not isinstance(x, type | ModuleType):
            attributes = getattr(x, "__dict__", {})
            pending += [(f"{where}.{key}", one) for key, one in attributes.items() if not key.startswith("_")]
    return found


def distance(got: np.ndarray, expected: np.ndarray, unit: Any = np.float64) -> float:
    """The largest difference in units in the last place of the expected value, in its dtype or in `unit` if that is
    narrower. The result is infinite if only one value is NaN, if only one is infinite, or if integers differ."""
    if got.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, expected) else np.inf
    if got.dtype.kind == "c":
        return max(distance(got.real, expected.real, unit), distance(got.imag, expected.imag, unit))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if same.all():
        return 0.0
    a, b = got[~same].astype(np.longdouble), expected[~same].astype(np.longdouble)
    narrow = np.abs(expected[~same]).astype(min(expected.dtype, np.dtype(unit)))
    spacing = np.spacing(narrow).astype(np.longdouble)
    ulps = np.abs(a - b) / spacing
    return float(np.max(np.where(np.isfinite(ulps), ulps, np.inf)))


def compare(outcome: Outcome, got: Any, expected: Any, unit: Any) -> None:
    """Sets the verdict, the distance and what differs."""
    left_out = _NOISE.get((outcome.module, outcome.function), ())
    ours, theirs = (
        [(where, x) for where, x in leaves(result) if not where.startswith(left_out)] for result in (got, expected)
    )
    if [where for where, _ in ours] != [where for where, _ in theirs]:
        outcome.differs = f"parts {[where for where, _ in ours]}, expected {[where for where, _ in theirs]}"
        return
    kinds = []
    for (where, x), (_, y) in zip(ours, theirs, strict=True):
        a, b = np.asarray(x), np.asarray(y)
        if isinstance(y, np.ndarray | np.generic) and isinstance(x, bl.Array | np.ndarray | np.generic):
            kinds.append(isinstance(x, bl.Array))
            if a.dtype != b.dtype:
                outcome.differs = outcome.differs or f"result{where} has dtype {a.dtype}, expected {b.dtype}"
        if a.shape != b.shape:
            outcome.differs = outcome.differs or f"result{where} has shape {a.shape}, expected {b.shape}"
        elif a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
            outcome.ulps = max(outcome.ulps, distance(a.astype(b.dtype), b, unit))
    outcome.verdict = ("ours" if all(kinds) else "partly" if any(kinds) else "numpy") if kinds else "numbers"


def takes_arrays(call: Call, space: dict[str, Any]) -> bool:
    """Whether an argument is an array, or a function that makes some."""
    names = set(re.findall(r"[A-Za-z_]\w*", call.arguments))
    return bool(names & {"xp", "rvs_of"}) or any(isinstance(space[name], bl.Array) for name in names & space.keys())


def is_claimed(call: Call) -> bool:
    """Whether SciPy states that the function supports arrays of any namespace of the standard: SciPy tests the function
    with array-api-strict."""
    entry = xp_capabilities_table.get(getattr(scipy_calls.MODULES[call.module], call.function))
    if entry is None or entry["np_only"] or entry["out_of_scope"]:
        return False
    return "array_api_strict" not in [name for name, _ in (*entry["skip_backends"], *entry["xfail_backends"])]


def judge(call: Call, dtype: Any = np.float64) -> Outcome:
    """Makes a call twice and compares the results. What NumPy's arrays raise is raised."""
    outcome = Outcome(call.text, call.function, call.module, is_claimed(call))
    expected = scipy_calls.make(call, np, dtype)
    if not takes_arrays(call, scipy_calls.operands(bl, dtype)):
        outcome.verdict = "no arrays"
        return outcome
    try:
        got = scipy_calls.make(call, bl, dtype)
    except Exception as error:  # whatever SciPy, or an array, raises is the verdict
        outcome.verdict = "refused"
        outcome.message = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:_SHOWN]
        return outcome
    compare(outcome, got, expected, dtype)
    return outcome


def main(dtype: str, promotion: Any, modules: list[str]) -> None:
    """Prints the outcomes of the modules' calls. In a dtype other than float64, only calls of functions that SciPy
    claims are made."""
    warnings.simplefilter("ignore")
    outcomes, untried = [], []
    with np.errstate(all="ignore"), bl.set_options(promotion=promotion):
        for module in modules:
            rows = scipy_calls.calls(module)
            untried += [f"{module}.{name}" for name in {*scipy_calls.public(module)} ^ {call.function for call in rows}]
            for call in rows:
                if dtype == "float64" or is_claimed(call):
                    outcomes.append(asdict(judge(call, np.dtype(dtype).type)))
    print(json.dumps({"outcomes": outcomes, "untried": sorted(untried)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
