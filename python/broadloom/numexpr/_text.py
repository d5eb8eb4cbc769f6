"""Parses a text to an expression.

The text is parsed by Python's own parser and never executed. A node of the syntax tree that is not explicitly allowed
is an error, so a text can't access a Python object, with or without `sanitize`. Trees are traversed without recursion.
"""

from __future__ import annotations

import ast
import os
import re
from typing import Any, Final

from broadloom import LimitError
from broadloom._syntax import NAMES
from broadloom.numexpr import _nodes
from broadloom.numexpr._functions import FUNCTIONS, REDUCTIONS, UNSUPPORTED
from broadloom.numexpr._nodes import BOOLEAN, ConstantNode, ExpressionNode, VariableNode

#: The maximum length of a text, in characters.
MAX_LENGTH: Final = 100_000

#: The names of operators in messages, by the nodes of a syntax tree.
_OPERATORS: Final = NAMES | {ast.Div: "div"}

_QUOTED = re.compile(r"'[^']*'")
_FORBIDDEN = re.compile(
    r"[;:\[]"  # what statements, lambdas, slices and subscripts need
    r"|(?<!\w)__\w+__(?!\w)"  # names with two underscores at both ends
    r"|\.(?=\w)(?!(?:real|imag|j|\d+j?|\d*[eE][+-]?\d+j?)\b)"  # attributes except real and imag; not the digits of a number
)


def is_sane(text: str) -> bool:
    """Whether a text passes numexpr's test for forbidden characters, which is made before the text is parsed.

    >>> is_sane("a.real * 2.5e-3"), is_sane("a.__class__"), is_sane("a[0]")
    (True, False, False)
    """
    return _FORBIDDEN.search(_QUOTED.sub("", re.sub(r"\s+", "", text))) is None


def sanitizes(sanitize: bool | None) -> bool:
    """Whether texts are tested: as the caller specifies, or else the environment variable `NUMEXPR_SANITIZE`; by
    default yes."""
    if sanitize is not None:
        return sanitize
    return bool(int(os.environ.get("NUMEXPR_SANITIZE") or 1))


def parse(text: str, sanitize: bool | None = None) -> ExpressionNode:
    """The expression of a text.

    Raises `SyntaxError` for a text that Python can't parse, `ValueError` for a text that is not an expression of
    arrays, `TypeError` for unknown operators and arguments, and `LimitError` for a text that is too long or too deeply
    nested.

    >>> float(parse("2*a + sin(1 - 1)").children[1].value)
    0.0
    """
    if not isinstance(text, str):
        raise ValueError("must specify expression as a string")
    if len(text) > MAX_LENGTH:
        raise LimitError(f"the expression has {len(text)} characters, at most {MAX_LENGTH} are parsed")
    if sanitizes(sanitize) and not is_sane(text):
        raise ValueError(f"Expression {text} has forbidden control characters.")
    try:
        tree = compile(text, "<expr>", "eval", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (MemoryError, RecursionError) as error:
        raise LimitError("the expression is nested too deeply") from error
    except SyntaxError:
        raise
    except ValueError as error:
        raise SyntaxError(f"the expression can't be parsed: {error}") from error
    assert isinstance(tree, ast.Expression)
    made = _built(tree.body)
    if not isinstance(made, ExpressionNode):
        raise TypeError("unsupported expression type: None")
    return made


def _parts(tree: ast.AST) -> list[ast.expr]:
    """The operands of a node of the syntax tree. Raises an error for a node that is not allowed."""
    match tree:
        case ast.Constant() | ast.Name():
            return []
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) not in _OPERATORS:
                raise TypeError("unsupported operand type(s) for @: matrix products are no element-wise operation")
            return [left, right]
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.IfExp():
            raise TypeError(BOOLEAN)
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, ops=ops, comparators=others):
            if len(ops) > 1:
                raise TypeError(BOOLEAN)
            if type(ops[0]) not in _OPERATORS:
                raise TypeError("`is` and `in` are no operators of an expression")
            return [left, others[0]]
        case ast.Attribute(value=value, attr="real" | "imag"):
            return [value]
        case ast.Call():
            return _arguments(tree)
        case ast.JoinedStr():
            raise NotImplementedError("broadloom.numexpr has no strings")
        case ast.Tuple():
            raise TypeError("unsupported expression type: a tuple")
        case ast.Attribute(attr=name):
            raise ValueError(f"an expression has no attributes but real and imag: .{name}")
    raise ValueError(f"an expression has no {type(tree).__name__}")


def _arguments(tree: ast.Call) -> list[ast.expr]:
    name = tree.func.id if isinstance(tree.func, ast.Name) else None
    if name is None or not (name == "where" or name in FUNCTIONS or name in REDUCTIONS or name in UNSUPPORTED):
        raise TypeError(f"{name or 'an expression'} is not callable: it is no function of an expression")
    arguments = list(tree.args)
    for keyword in tree.keywords:
        if keyword.arg != "axis" or name not in REDUCTIONS or len(arguments) != 1:
            raise TypeError(f"{name}() got an unexpected keyword argument {keyword.arg!r}")
        arguments.append(keyword.value)
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        raise TypeError(f"{name}(): an argument after * must be an iterable, there are none in an expression")
    return arguments


def _made(tree: ast.AST, parts: list[Any]) -> ExpressionNode | None:
    """The expression for a node of the syntax tree, given those of its operands. None for the constant None, which is
    allowed as an axis."""
    match tree:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=value):
            if value is Ellipsis:
                raise TypeError("unsupported expression type: ...")
            return ConstantNode(value)
        case ast.Name(id=name):
            if name == "where" or name in FUNCTIONS or name in REDUCTIONS or name in UNSUPPORTED:
                raise TypeError(f"unsupported operand: {name} is a function")
            return VariableNode(name)
        case ast.UnaryOp(op=ast.UAdd()):
            of = _nodes.node(parts[0])
            return ConstantNode(+of.value) if of.astType == "constant" else of
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            return _nodes.apply(_OPERATORS[type(op)], *parts)
        case ast.Compare(ops=ops):
            return _nodes.apply(_OPERATORS[type(ops[0])], *parts)
        case ast.Attribute(attr=name):
            of = _nodes.node(parts[0])
            return of.real if name == "real" else of.imag
        case ast.Call(func=ast.Name(id=name)):
            return _nodes.call(name, parts)
    raise ValueError(f"an expression has no {type(tree).__name__}")


def _built(root: ast.expr) -> ExpressionNode | None:
    made: list[ExpressionNode | None] = []
    stack: list[tuple[ast.AST, int]] = [(root, -1)]
    while stack:
        tree, count = stack.pop()
        if count < 0:
            parts = _parts(tree)
            stack.append((tree, len(parts)))
            stack.extend((part, -1) for part in reversed(parts))
        else:
            first = len(made) - count
            of = made[first:]
            del made[first:]
            made.append(_made(tree, of))
    return made[0]
