"""The workloads: most of `broadloom bench`'s, as sources that Python and numexpr understand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Elements of a row, of the workloads that have long ones.
ROW = 1000
#: The coefficients of the polynomial, of the highest power first.
COEFFICIENTS = (0.3, -1.2, 0.7, 2.1, -0.4, 1.9, -2.3, 0.8, 1.1, -0.6, 0.25)

#: The functions that the sources name, in any namespace.
FUNCTIONS = ("sin", "cos", "exp", "sum")


@dataclass(frozen=True)
class Workload:
    """Something to compute, of inputs that are named a, b, c in their order."""

    name: str
    #: An expression, which is numexpr's text too; or statements, which numexpr does not have.
    source: str
    inputs: Callable[[np.dtype[Any], int], Sequence[np.ndarray]]
    dtypes: tuple[str, ...] = ("float32", "float64")

    @property
    def text(self) -> str | None:
        """The workload in numexpr's language, if it has one."""
        return None if "return" in self.source else self.source

    def function(self, namespace: Any, count: int) -> Callable[..., Any]:
        """The workload as a function of so many arrays, with the functions of a namespace."""
        body = self.source if "return" in self.source else f"return {self.source}"
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        scope: dict[str, Any] = {name: getattr(namespace, name) for name in FUNCTIONS}
        exec(f"def workload({', '.join('abc'[:count])}):\n{lines}", scope)
        return scope["workload"]


def _numbers(dtype: np.dtype[Any], n: int, seed: int, low: float = 0.1, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, n).astype(dtype)


def _vectors(count: int, low: float = 0.1, high: float = 2.0) -> Callable[[np.dtype[Any], int], Sequence[np.ndarray]]:
    return lambda dtype, n: [_numbers(dtype, n, seed, low, high) for seed in range(count)]


def _rows(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    rows = max(n // ROW, 1)
    x = _numbers(dtype, rows * ROW, 0).reshape(rows, ROW)
    return [x, _numbers(dtype, ROW, 1)[None, :], _numbers(dtype, ROW, 2, 0.5, 2.0)[None, :]]


def _outer(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    rows = max(n // ROW, 1)
    return [
        _numbers(dtype, rows, 0)[:, None],
        _numbers(dtype, ROW, 1)[None, :],
        _numbers(dtype, rows * ROW, 2).reshape(rows, ROW),
    ]


_HORNER = "a*0.3 + -1.2"
for _coefficient in COEFFICIENTS[2:]:
    _HORNER = f"({_HORNER})*a + {_coefficient}"
WORKLOADS = (
    Workload("add", "a + b", _vectors(2)),
    Workload("triad", "a*b + c", _vectors(3)),
    Workload("ne_readme", "2*a + 3*b", _vectors(2)),
    Workload("ne_cmp", "a*b - 4.1*a > 2.5*b", _vectors(2)),
    Workload("sincos", "sin(a)**2 + cos(b)**2", _vectors(2)),
    Workload("poly10", _HORNER, _vectors(1)),
    Workload("sigmoid", "1/(1 + exp(-a))", _vectors(1, -4.0, 4.0)),
    Workload("pow", "a**b", _vectors(2)),
    Workload("iter10", "for _ in range(10):\n    a = a*a + b\nreturn a", _vectors(2, -0.4, 0.2)),
    Workload("standardize", "(a - b)/c", _rows),
    Workload("outer", "a*b + c", _outer),
    Workload("sum", "sum(a)", _vectors(1)),
    Workload("distance", "sum((a - b)**2)", _vectors(2)),
)
