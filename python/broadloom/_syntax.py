"""Python's operators, for code that reads or records them: their names by the nodes of a syntax tree, and their functions.

The names are those of the special methods without underscores. A generated table has the engine's function for each.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from broadloom._generated.tables import OPERATORS

#: The name of the operator of each node.
NAMES: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
}

#: The engine's function of each node.
OPS: dict[type[ast.AST], str] = {node: OPERATORS[name] for node, name in NAMES.items()}

#: Python's function for each operator.
PYTHON_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, f"{name}_" if iskeyword(name) else name) for name in OPERATORS
}
