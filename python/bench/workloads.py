"""The workloads of `broadloom-bench`, as sources that Python, numexpr and a loop over elements understand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The number of elements in a row, for workloads with long rows.
ROW = 1000
#: The coefficients of the polynomial, of the highest power first.
COEFFICIENTS = (0.3, -1.2, 0.7, 2.1, -0.4, 1.9, -2.3, 0.8, 1.1, -0.6, 0.25)

#: The names that the sources use, which every namespace must define.
NAMES = (
    *("sin", "cos", "exp", "log1p", "tanh", "logaddexp", "sqrt", "abs", "where", "astype"),
    *("sum", "mean", "var", "std", "max", "any", "argmax", "cumulative_sum"),
    *("float32", "uint8", "uint16"),
)


@dataclass(frozen=True)
class Workload:
    """A computation on inputs that are named a, b and c in their order."""

    name: str
    #: An expression, which is also numexpr's text, or statements, which numexpr does not support.
    source: str
    #: Makes the inputs for a dtype and a number of elements. For a reduction, a shape may be passed instead of the
    #: number.
    inputs: Callable[[np.dtype[Any], Any], Sequence[np.ndarray]]
    dtypes: tuple[str, ...] = ("float32", "float64")
    #: The expression that a loop computes from the elements a, b and c. Empty if it is the source itself; None if no
    #: loop is compared.
    element: str | None = ""
    #: The indices at which a loop reads each input to compute element i, or (i, j). Empty if the inputs are read at
    #: that element itself.
    places: tuple[str, ...] = ()
    #: Whether numexpr understands the source.
    has_text: bool = True
    #: Whether IEEE's arithmetic, applied one operation at a time, determines the bits of the result: there are no
    #: functions, and no elements are combined.
    has_exact_bits: bool = True
    #: Whether the workload adds products, which a compiler may contract, although the result's bits don't show it.
    adds_products: bool = False
    #: The group of a reduction, for which results are summarised. Empty for the workloads of `broadloom-bench`.
    group: str = ""
    #: The sizes or shapes of its arrays, such as "1e6" and "1000x100", if they differ from the common ones.
    sizes: tuple[str, ...] = ()
    #: A reduction as loops: a function of the input arrays and, last, of the array that is written to.
    fast: Callable[..., None] | None = None
    #: The maximum difference of a reduction's result from NumPy's, in ulp of the largest element of NumPy's.
    ulps: int = 0

    @property
    def text(self) -> str | None:
        """The workload in numexpr's language, if it has one."""
        return None if "return" in self.source or not self.has_text else self.source

    @property
    def of_elements(self) -> str | None:
        """The statements of a loop's body, the last of which is a `return`; None if no loop is compared."""
        source = self.source if self.element == "" else self.element
        return source if source is None or "return" in source else f"return {source}"

    def function(self, namespace: Any, count: int) -> Callable[..., Any]:
        """The workload as a function of its arrays, which uses the functions of a namespace."""
        body = self.source if "return" in self.source else f"return {self.source}"
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        scope: dict[str, Any] = {name: getattr(namespace, name) for name in NAMES if hasattr(namespace, name)}
        exec(f"def workload({', '.join('abc'[:count])}):\n{lines}", scope)
        return scope["workload"]


def _numbers(dtype: np.dtype[Any], n: int, seed: int, low: float = 0.1, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, n).astype(dtype)


def _integers(dtype: np.dtype[Any] | type, n: int, seed: int, low: int | None = None) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min if low is None else low, limits.max, n, dtype, endpoint=True)


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


def _quotients(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    divisors = _integers(dtype, n, 1)
    divisors[divisors == 0] = 1
    return [_integers(dtype, n, 0), divisors]


def _masked(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    return [_numbers(dtype, n, 0), _numbers(dtype, n, 1), _integers(np.uint8, n, 2) > 127]


def _mixed(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    return [_integers(np.int16, n, 0), _numbers(dtype, n, 1), _integers(np.uint8, n, 2) // np.uint8(128)]


def _beside_row_of_3(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    rows = -(-n // 3)
    return [_numbers(dtype, 3 * rows, 0).reshape(rows, 3), _numbers(dtype, 3, 1)[None, :]]


def _beside_column_of_3(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    columns = -(-n // 3)
    return [_numbers(dtype, 3 * columns, 0).reshape(3, columns), _numbers(dtype, 3, 1)[:, None]]


def _squares(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    side = max(int(n**0.5), 1)
    return [_numbers(dtype, side * side, seed).reshape(side, side) for seed in range(2)]


_HORNER = "a*0.3 + -1.2"
for _coefficient in COEFFICIENTS[2:]:
    _HORNER = f"({_HORNER})*a + {_coefficient}"
_BLEND = "astype((astype(a, uint16)*astype(c, uint16) + astype(b, uint16)*(255 - astype(c, uint16)))//255, uint8)"
WORKLOADS = (
    Workload("add", "a + b", _vectors(2)),
    Workload("triad", "a*b + c", _vectors(3)),
    Workload("ne_readme", "2*a + 3*b", _vectors(2)),
    Workload("ne_cmp", "a*b - 4.1*a > 2.5*b", _vectors(2), adds_products=True),
    Workload("sincos", "sin(a)**2 + cos(b)**2", _vectors(2), has_exact_bits=False, adds_products=True),
    Workload("poly10", _HORNER, _vectors(1)),
    Workload("sigmoid", "1/(1 + exp(-a))", _vectors(1, -4.0, 4.0), has_exact_bits=False),
    Workload("pow", "a**b", _vectors(2), has_exact_bits=False),
    Workload("gamma", "a**2.2", _vectors(1, 0.0, 1.0), ("float32",), has_exact_bits=False),
    Workload("softplus", "log1p(exp(a))", _vectors(1, -10.0, 10.0), has_exact_bits=False),
    Workload(
        "gelu",
        "0.5*a*(1 + tanh(0.7978845608028654*(a + 0.044715*(a*a*a))))",
        _vectors(1, -3.0, 3.0),
        has_exact_bits=False,
        adds_products=True,
    ),
    Workload(
        "logaddexp",
        "logaddexp(a, b)",
        _vectors(2, 0.0, 10.0),
        element="m = a if a > b else b\nk = b if a > b else a\nreturn m + log1p(exp(k - m))",
        has_text=False,
        has_exact_bits=False,
    ),
    Workload("masked_update", "where(c, a + 0.1*b, a)", _masked),
    Workload(
        "u8_blend", _BLEND, lambda dtype, n: [_integers(dtype, n, i) for i in range(3)], ("uint8",), has_text=False
    ),
    Workload("i32_divmod_sum", "a//b + a%b", _quotients, ("int32",), has_text=False),
    Workload("f16_axpy", "1.7*a + b", _vectors(2), ("float16",)),
    Workload("mixed", "where(c != 0, astype(a, float32)*b, b)", _mixed, ("float32",), has_text=False),
    Workload("iter10", "for _ in range(10):\n    a = a*a + b\nreturn a", _vectors(2, -0.4, 0.2)),
    Workload("standardize", "(a - b)/c", _rows, places=("i, j", "0, j", "0, j")),
    Workload("outer", "a*b + c", _outer, places=("i, 0", "0, j", "i, j")),
    Workload("short_rows", "a + b", _beside_row_of_3, places=("i, j", "0, j")),
    Workload("short_columns", "a + b", _beside_column_of_3, places=("i, j", "i, 0")),
    Workload("transposed", "return a + b.T", _squares, element="a + b", places=("i, j", "j, i")),
    Workload("reversed", "return a[::-1] + b", _vectors(2), element="a + b", places=("n - 1 - i", "i")),
    Workload(
        "every_second",
        "return a[::2] + b[::2]",
        lambda dtype, n: [_numbers(dtype, 2 * n, seed) for seed in range(2)],
        element="a + b",
        places=("2*i", "2*i"),
    ),
    Workload("sum", "sum(a)", _vectors(1), element=None, has_exact_bits=False),
    Workload("distance", "sum((a - b)**2)", _vectors(2), element=None, has_exact_bits=False, adds_products=True),
)
