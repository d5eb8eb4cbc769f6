"""Tests that SciPy accepts broadloom's arrays, and computes by the namespace's functions if `SCIPY_ARRAY_API` is set."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

PAGE = Path(__file__).parents[3] / "docs" / "python" / "scipy.md"

VALUES = np.random.default_rng(3).standard_normal((60, 40))

#: The program of a process that imports SciPy under `SCIPY_ARRAY_API=1`. It checks which results stay expressions,
#: and their values.
LAZY = """
import numpy as np
import broadloom as bl
from scipy import integrate, special
values = np.linspace(0.1, 3.0, 513)
computed = []
evaluated = bl.Array._evaluated
def counted(self):
    computed.append(self)
    return evaluated(self)
bl.Array._evaluated = counted
functions = {
    "xlogy": lambda x: special.xlogy(x, x),
    "softmax": special.softmax,
    "log_softmax": special.log_softmax,
    "trapezoid": integrate.trapezoid,
    "cumulative_trapezoid": integrate.cumulative_trapezoid,
    "romb": integrate.romb,
}
for name, function in functions.items():
    x = bl.asarray(values) + 0
    made = function(x) * 2
    assert isinstance(made, bl.Array), name
    assert computed == [], name
    np.testing.assert_allclose(np.asarray(made), np.asarray(function(values)) * 2, rtol=1e-13, err_msg=name)
    assert len(computed) == 1 and computed.pop() is made, name
try:
    special.xlogy(bl.asarray(values), values)
except TypeError as error:
    assert "Multiple namespaces" in str(error)
else:
    raise AssertionError("arrays of two namespaces")
print("done", len(functions))
"""


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_scipy_takes_arrays() -> None:
    scipy = pytest.importorskip("scipy")
    ndimage, optimize, special = (pytest.importorskip(f"scipy.{name}") for name in ("ndimage", "optimize", "special"))
    assert scipy is not None
    x = bl.asarray(VALUES)
    assert_close(special.expit(x), special.expit(VALUES))
    assert_close(ndimage.gaussian_filter(x, 1), ndimage.gaussian_filter(VALUES, 1))
    found = optimize.minimize(lambda p: float(bl.sum((bl.asarray(p) - 3) ** 2)), np.zeros(2))
    np.testing.assert_allclose(found.x, [3, 3], atol=1e-4)


def test_scipys_own_python_leaves_expressions() -> None:
    pytest.importorskip("scipy")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    made = subprocess.run([sys.executable, "-c", LAZY], env=environment, capture_output=True, text=True, check=False)
    assert made.stdout.split() == ["done", "6"], made.stderr


def test_the_pages_example_for_the_array_api_runs() -> None:
    pytest.importorskip("scipy")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    check = "for made in (stats.zscore(special.xlogy(x, x)), integrate.trapezoid(bl.sin(x), x=x)):\n    print(type(made).__name__)"
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    command = [sys.executable, "-c", example + check]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert made.stdout.split() == ["Array", "Array"], made.stderr


def test_without_the_variable_scipy_makes_arrays_of_numpy() -> None:
    pytest.importorskip("scipy")
    check = """
import numpy as np
import broadloom as bl
from scipy import integrate, stats
x = bl.asarray(np.linspace(0.1, 3.0, 9))
for made in (stats.zscore(x), integrate.cumulative_trapezoid(x), stats.rankdata(x)):
    print(type(made).__name__)
"""
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    made = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=False)
    assert made.stdout.split() == ["ndarray"] * 3, made.stderr
