"""numexpr's module of this name, for callers that import it: evaluation. There is no bytecode."""

from typing import Any, NoReturn

from broadloom._core import evaluate, re_evaluate, validate
from broadloom.numexpr import _nodes, _text
from broadloom.numexpr._compiled import NumExpr

__all__ = ["NumExpr", "disassemble", "evaluate", "getExprNames", "re_evaluate", "validate"]


def getExprNames(text: str, context: Any = None, sanitize: bool = True) -> tuple[list[str], bool]:
    """The names of an expression's variables, and False, since Intel's VML is not used.

    >>> getExprNames("2*b + a")
    (['a', 'b'], False)
    """
    return _nodes.variables(_text.parse(text, sanitize)), False


def disassemble(nex: Any) -> NoReturn:
    """Raises `NotImplementedError`: expressions are compiled to machine code, there is no bytecode."""
    raise NotImplementedError(
        "broadloom.numexpr has no bytecode to disassemble; `broadloom.explain` shows how it computes"
    )
