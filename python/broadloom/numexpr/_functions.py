"""The functions that a text may call: numexpr's names, the kinds that they take and give, and the operations that
compute them.

Its table is read by the parser (names and numbers of arguments), by the folding of constants (NumPy's function), and by
the translation (everything else).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from broadloom.numexpr._kinds import Kind


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a text may call."""

    #: numexpr's name of the operation, which its messages show.
    opcode: str
    #: The engine's operation that computes the function; for a name in brackets the translation makes the operation.
    op: str
    #: The Python function that computes the value for constants.
    fold: Callable[..., Any]
    arity: int = 1
    #: The lowest kind in which the function computes, if arguments are bool or inexact.
    least: Kind | None = "float"
    #: Whether integers stay integers; otherwise the function computes them as double.
    keeps_integers: bool = False
    #: Whether the result is a bool.
    is_test: bool = False


def _same(value: Any) -> Any:
    return value


def _one(value: Any) -> Any:
    return type(value)(1)


def _plain(name: str, op: str | None = None) -> Function:
    return Function(name, op or name, getattr(np, name))


def _double(name: str, arity: int = 2) -> Function:
    return Function(name, name, getattr(np, name), arity, "double")


def _test(name: str) -> Function:
    return Function(name, name, getattr(np, name), 1, "double", is_test=True)


#: The functions of a text by their names.
FUNCTIONS: Final[dict[str, Function]] = {
    "copy": Function("copy", "(copy)", _same, least=None, keeps_integers=True),
    "ones_like": Function("ones_like", "(ones_like)", _one, least=None, keeps_integers=True),
    "sqrt": _plain("sqrt"),
    "sin": _plain("sin"),
    "cos": _plain("cos"),
    "tan": _plain("tan"),
    "arcsin": _plain("arcsin", "asin"),
    "arccos": _plain("arccos", "acos"),
    "arctan": _plain("arctan", "atan"),
    "sinh": _plain("sinh"),
    "cosh": _plain("cosh"),
    "tanh": _plain("tanh"),
    "arcsinh": _plain("arcsinh", "asinh"),
    "arccosh": _plain("arccosh", "acosh"),
    "arctanh": _plain("arctanh", "atanh"),
    "log": _plain("log"),
    "log1p": _plain("log1p"),
    "log10": _plain("log10"),
    "log2": _plain("log2"),
    "exp": _plain("exp"),
    "expm1": _plain("expm1"),
    "abs": _plain("absolute", "abs"),
    "ceil": _plain("ceil"),
    "floor": _plain("floor"),
    "fmod": Function("fmod", "(fmod)", np.fmod, 2),
    "arctan2": Function("arctan2", "atan2", np.arctan2, 2),
    "hypot": _double("hypot"),
    "nextafter": _double("nextafter"),
    "copysign": _double("copysign"),
    "maximum": _double("maximum"),
    "minimum": _double("minimum"),
    "round": Function("round", "round", np.round, 1, "double", keeps_integers=True),
    "sign": Function("sign", "sign", np.sign, 1, "double", keeps_integers=True),
    "trunc": _double("trunc", 1),
    "real": Function("real", "(copy)", np.real, 1, "double"),
    "imag": Function("imag", "(zeros_like)", np.imag, 1, "double"),
    "conj": Function("conjugate", "(copy)", np.conj, 1, "float"),
    "isnan": _test("isnan"),
    "isfinite": _test("isfinite"),
    "isinf": _test("isinf"),
    "signbit": _test("signbit"),
}

#: The names of reductions, which are over one axis or all.
REDUCTIONS: Final = ("sum", "prod", "min", "max")

#: numexpr's functions that are refused, with what they would need.
UNSUPPORTED: Final[dict[str, str]] = {"complex": "complex numbers", "contains": "strings"}
