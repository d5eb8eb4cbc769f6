"""The functions of a text: numexpr's names, the kinds that they accept and return, and the operations that compute
them.

One table is used by the parser (names and numbers of arguments), by constant folding (NumPy's function), and by the
translation (all other fields).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from broadloom._generated.tables import OPS
from broadloom.numexpr._kinds import Kind


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a text can call."""

    #: numexpr's name of the operation, which its error messages contain.
    opcode: str
    #: The engine's function. A name in parentheses is handled by the translation.
    op: str
    #: The function that folds constants.
    fold: Callable[..., Any]
    arity: int = 1
    #: The minimum kind of the computation, for arguments of kind bool and of inexact kinds.
    least: Kind | None = "float"
    #: Whether integers remain integers; otherwise they are computed as double.
    keeps_integers: bool = False
    #: Whether the result is a bool.
    is_test: bool = False


def _same(value: Any) -> Any:
    return value


def _one(value: Any) -> Any:
    return type(value)(1)


def _numpys(names: str, least: Kind = "float", **options: bool) -> dict[str, Function]:
    """Functions that both NumPy and the engine implement. The names are those of numexpr, which NumPy shares; the op
    table lists the engine's names."""
    ufuncs: list[np.ufunc] = [getattr(np, name) for name in names.split()]
    return {
        name: Function(name, OPS[ufunc], ufunc, ufunc.nin, least, **options)
        for name, ufunc in zip(names.split(), ufuncs, strict=True)
    }


#: The functions by name.
FUNCTIONS: Final[dict[str, Function]] = {
    "copy": Function("copy", "(copy)", _same, least=None, keeps_integers=True),
    "ones_like": Function("ones_like", "(ones_like)", _one, least=None, keeps_integers=True),
    **_numpys("sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh arctan2"),
    **_numpys("log log1p log10 log2 exp expm1 ceil floor"),
    **_numpys("hypot nextafter copysign maximum minimum trunc", "double"),
    **_numpys("isnan isfinite isinf signbit", "double", is_test=True),
    "abs": Function("absolute", "abs", np.absolute),
    "fmod": Function("fmod", "(fmod)", np.fmod, 2),
    "round": Function("round", "round", np.round, 1, "double", keeps_integers=True),
    "sign": Function("sign", "sign", np.sign, 1, "double", keeps_integers=True),
    "real": Function("real", "(copy)", np.real, 1, "double"),
    "imag": Function("imag", "(zeros_like)", np.imag, 1, "double"),
    "conj": Function("conjugate", "(copy)", np.conj, 1, "float"),
}

#: Reductions, along an axis or over all elements.
REDUCTIONS: Final = ("sum", "prod", "min", "max")

#: numexpr's functions of unsupported types, with the type.
UNSUPPORTED: Final[dict[str, str]] = {"complex": "complex numbers", "contains": "strings"}
