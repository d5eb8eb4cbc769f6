"""Calls SciPy's public functions with one kind of arrays, as the tables of this folder describe.

A row of `scipy_special.txt`, `scipy_integrate.txt` or `scipy_stats.txt` contains names and the text of their arguments.
The text is evaluated with the arrays of `operands`, which are the same numbers whatever namespace makes them.
Distributions of one variable have no row: their method `cdf` is called with the parameters of SciPy's own tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import integrate, optimize, special, stats
from scipy.stats import _distr_params

HERE = Path(__file__).resolve().parent
MODULES = {"special": special, "integrate": integrate, "stats": stats}

#: The parameters of distributions of one variable, as in SciPy's own tests.
_PARAMETERS: dict[str, tuple[float, ...]] = {
    name: parameters
    for name, parameters in reversed([*_distr_params.distcont, *_distr_params.distdiscrete])
    if isinstance(name, str)
}


@dataclass(frozen=True)
class Call:
    """A call of a function in `scipy.MODULE`: the function's name, a method's name if it calls one, and the text of
    the arguments."""

    module: str
    name: str
    arguments: str

    @property
    def text(self) -> str:
        """The call as it is written."""
        return f"{self.module}.{self.name}({self.arguments})"

    @property
    def function(self) -> str:
        """The public name."""
        return self.name.partition(".")[0]


def calls(module: str) -> list[Call]:
    """The calls of one module in the order of its file, followed by the calls of its distributions."""
    rows = []
    for line in (HERE / f"scipy_{module}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            names, _, arguments = line.partition(" (")
            rows += [Call(module, name, arguments.removesuffix(")")) for name in names.split()]
    if module == "stats":
        rows += list(_of_distributions())
    return rows


def _of_distributions() -> Iterator[Call]:
    for name in stats.__all__:
        found = getattr(stats, name)
        if isinstance(found, stats.rv_continuous | stats.rv_discrete):
            parameters = "".join(f", {value!r}" for value in _PARAMETERS[name])
            yield Call("stats", f"{name}.cdf", f"{'D' if isinstance(found, stats.rv_continuous) else 'K'}{parameters}")


def public(module: str) -> list[str]:
    """The names of a module's functions and distributions: not its modules, its classes, and the functions that set
    how errors are reported."""
    found = MODULES[module]
    return sorted(
        {name for name in found.__all__ if not isinstance(getattr(found, name), ModuleType | type)}
        - {"geterr", "seterr"}
    )


def operands(xp: Any, dtype: Any = np.float64) -> dict[str, Any]:
    """The variables that the texts use: the same numbers as arrays of a namespace, where floats have the given dtype."""
    rng = np.random.default_rng(20)

    def floats(values: Any) -> Any:
        return xp.asarray(np.array(values, dtype=dtype))

    def whole(values: Any) -> Any:
        return xp.asarray(np.array(values, dtype=np.int64))

    sample = rng.standard_normal(33)
    several = rng.standard_normal((4, 33))
    counts = [[16, 18, 16, 14, 12], [8, 10, 7, 12, 13], [5, 9, 11, 8, 10]]
    return {
        "xp": xp,
        "np": np,
        "math": math,
        "stats": stats,
        "X": floats([-2.5, -0.75, 0.3, 1.5, 4.0]),
        "XX": floats([[-2.5, -0.75, 0.3], [1.5, 4.0, 0.5]]),
        "P": floats([0.25, 0.5, 1.5, 3.0, 6.5]),
        "Q": floats([2.0, 0.75, 1.25, 3.5, 5.0]),
        "U": floats([0.05, 0.3, 0.5, 0.8, 0.95]),
        "V": floats([0.4, 0.1, 0.7, 0.6, 0.35]),
        "K": floats([0, 1, 2, 3, 5]),
        "N": whole([0, 1, 2, 3, 5]),
        "M": whole([1, 1, 2, 3, 2]),
        "D": floats([0.1, 0.25, 0.5, 0.75, 0.9]),
        "S": floats(sample),
        "T": floats(np.linspace(-2, 3, 33) ** 3),
        "R": floats(rng.standard_normal(33) + 0.4),
        "G": floats(rng.gamma(2.0, size=33)),
        "SS": floats(several),
        "DD": floats(rng.standard_normal((33, 2))),
        "RR": floats(np.sort(rng.integers(1, 9, 33))),
        "ZZ": floats(np.linspace(0.1, 0.9, 18).reshape(2, 9)),
        "I": whole(rng.integers(0, 9, 33)),
        "C": floats(counts[0]),
        "F": floats([15, 17, 16, 15, 13]),
        "CC": whole(counts),
        "L": whole([[8, 2], [1, 5]]),
        "A0": floats(0.25),
        "B0": floats(1.5),
        "A1": floats([1.0]),
        "B9": floats([9.0]),
        "A2": floats([0.0, 0.25]),
        "B2": floats([1.0, 1.5]),
        **_functions(xp, dtype),
    }


def _functions(xp: Any, dtype: Any) -> dict[str, Any]:
    """The functions and methods that calls take; those that draw numbers start again for each call."""
    rng = np.random.default_rng(1)

    def mean_of(x: Any, axis: int = -1) -> Any:
        return xp.mean(x, axis=axis)

    def difference_of(x: Any, y: Any, axis: int = -1) -> Any:
        return xp.mean(x, axis=axis) - xp.mean(y, axis=axis)

    def rvs_of(size: Any) -> Any:
        return xp.asarray(rng.standard_normal(size).astype(dtype))

    def test_of(x: Any, y: Any, axis: int = -1) -> Any:
        return stats.ttest_ind(x, y, axis=axis).pvalue

    def ishigami(x: Any) -> Any:
        return np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0])

    def optimizer(function: Any, **options: Any) -> Any:
        return optimize.differential_evolution(function, rng=1, **options)

    class normal:  # noqa: N801  stands for a distribution
        @staticmethod
        def cdf(x: Any) -> Any:
            return special.ndtr(x)

    return {
        "mean_of": mean_of,
        "difference_of": difference_of,
        "rvs_of": rvs_of,
        "test_of": test_of,
        "ishigami": ishigami,
        "optimizer": optimizer,
        "normal": normal,
        "qrng": stats.qmc.Halton(2, rng=1),
        "permutations": stats.PermutationMethod(n_resamples=20, rng=np.random.default_rng(1)),
        "simulations": stats.MonteCarloMethod(n_resamples=20, rng=np.random.default_rng(1)),
    }


def make(call: Call, xp: Any, dtype: Any = np.float64) -> Any:
    """The result of a call with arrays of a namespace."""
    function: Callable[..., Any] = MODULES[call.module]
    for part in call.name.split("."):
        function = getattr(function, part)
    space = {**operands(xp, dtype), "function": function}
    return eval(f"function({call.arguments})", space)
