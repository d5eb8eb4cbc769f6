"""Expressions of variables, constants, operators and functions, as parsed from a text or built with `E`.

A node has no dtype: the same expression is translated for any dtypes of its variables. An operation on constants only
is computed when it is built, by Python's and NumPy's arithmetic, with limits that keep every text cheap.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from broadloom import LimitError
from broadloom._registry import found
from broadloom._syntax import PYTHON_FUNCTIONS
from broadloom.numexpr import _kinds
from broadloom.numexpr._functions import FUNCTIONS, REDUCTIONS, UNSUPPORTED
from broadloom.numexpr._generated import NodeOperators

#: The maximum number of bits of an integer constant.
MAX_BITS: Final = 4096

#: The error message for a text with `and`, `or`, `not` or chained comparisons.
BOOLEAN: Final = (
    "You can't use Python's standard boolean operators in NumExpr expressions. You should use their bitwise counterparts "
    "instead: '&' instead of 'and', '|' instead of 'or', and '~' instead of 'not'."
)


def _inverted(value: Any) -> Any:
    """`~` of a constant. numexpr treats bools as integers here; Python plans to remove `~` for bools."""
    return ~(int(value) if type(value) is bool else value)


#: Python's function for each operator, by its name in messages, which is `div` for true division.
_PYTHON: Final = PYTHON_FUNCTIONS | {"div": operator.truediv, "invert": _inverted}


class ExpressionNode(NodeOperators):
    """A part of an expression. `astType` is 'variable', 'constant' or 'op', and `value` is the name, number or
    operator.

    Operators build further nodes. Converting a node to bool raises TypeError.
    """

    __slots__ = ("astType", "value", "children", "axis")
    __hash__ = object.__hash__

    def __init__(
        self, kind: str, value: Any, children: tuple[ExpressionNode, ...] = (), axis: int | None = None
    ) -> None:
        self.astType = kind
        self.value = value
        self.children = children
        self.axis = axis

    @property
    def astKind(self) -> str:
        """The kind of the result, where undeclared variables count as double."""
        if self.astType == "constant":
            return _kinds.of_constant(self.value)
        kind: str = found("numexpr kind")(self)
        return kind

    @property
    def real(self) -> ExpressionNode:
        """The node as double: there are no complex numbers."""
        return ConstantNode(float(self.value)) if self.astType == "constant" else call("real", [self])

    @property
    def imag(self) -> ExpressionNode:
        """Zeros: there are no complex numbers."""
        return ConstantNode(0.0) if self.astType == "constant" else call("imag", [self])

    def __bool__(self) -> bool:
        raise TypeError(BOOLEAN)

    def __repr__(self) -> str:
        return f"<{self.astType} {self.value!r} of {len(self.children)} nodes>"

    def __pos__(self) -> ExpressionNode:
        return self

    def _operated(self, name: str, *operands: object) -> ExpressionNode:
        return apply("div" if name == "truediv" else name, *operands)


class ConstantNode(ExpressionNode):
    """A number in an expression.

    >>> ConstantNode(2**40).astKind
    'long'
    """

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        _kinds.of_constant(value)
        super().__init__("constant", value)


class VariableNode(ExpressionNode):
    """A variable of an expression."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__("variable", name)


class Expression:
    """An object whose attributes are variables with the attribute's name."""

    __slots__ = ()

    def __getattr__(self, name: str) -> ExpressionNode:
        if name.startswith("_"):
            raise AttributeError(name)
        return VariableNode(name)


#: Creates variables for expressions written in Python: `E.a + 2*E.b`.
E: Final = Expression()


def node(value: Any) -> ExpressionNode:
    """Converts an operand to a node."""
    if isinstance(value, ExpressionNode):
        return value
    if _kinds.is_constant(value):
        return ConstantNode(value)
    raise TypeError(f"unsupported object type: {type(value)}")


def apply(op: str, *operands: Any) -> ExpressionNode:
    """Applies an operator to operands; constants are folded."""
    nodes = tuple(node(operand) for operand in operands)
    if all(of.astType == "constant" for of in nodes):
        values = [of.value for of in nodes]
        _check_size(op, values)
        with np.errstate(all="ignore"):
            return ConstantNode(_bounded(_PYTHON[op](*values)))
    return ExpressionNode("op", op, nodes)


def call(name: str, arguments: list[Any]) -> ExpressionNode:
    """Calls a function; constants are folded. Raises `TypeError` for an unknown name or a wrong number of arguments."""
    if name in UNSUPPORTED:
        raise NotImplementedError(f"broadloom.numexpr has no {UNSUPPORTED[name]}: {name}()")
    if name in REDUCTIONS:
        if not 1 <= len(arguments) <= 2:
            raise TypeError(f"{name}() takes an expression and an axis, {len(arguments)} arguments were given")
        return _reduction(name, node(arguments[0]), arguments[1] if len(arguments) == 2 else None)
    arity = 3 if name == "where" else FUNCTIONS[name].arity
    if len(arguments) != arity:
        raise TypeError(f"{name}() takes {arity} arguments, {len(arguments)} were given")
    nodes = tuple(node(argument) for argument in arguments)
    if name == "where":
        condition, then, otherwise = nodes
        if condition.astType == "constant":
            return then if condition.value else otherwise
        return ExpressionNode("op", "where", (condition, then, otherwise))
    if all(of.astType == "constant" for of in nodes):
        with np.errstate(all="ignore"):
            return ConstantNode(_bounded(FUNCTIONS[name].fold(*(_foldable(of.value) for of in nodes))))
    return ExpressionNode("op", name, nodes)


def _foldable(value: Any) -> Any:
    """A constant that NumPy's functions accept. An integer beyond int64 becomes a float."""
    return value if not isinstance(value, int) or -(2**63) <= value < 2**63 else float(value)


def _reduction(name: str, of: ExpressionNode, axis: Any) -> ExpressionNode:
    if isinstance(axis, ExpressionNode):
        if axis.astType != "constant":
            raise TypeError(f"{name}(): the axis must be a constant")
        axis = axis.value
    if axis is not None:
        axis = operator.index(axis)
        if axis < 0:
            raise ValueError("negative axis are not supported")
    return of if of.astType == "constant" else ExpressionNode("op", name, (of,), axis)


def _check_size(op: str, values: list[Any]) -> None:
    """Raises an error if an operation would compute a huge integer."""
    if op not in ("pow", "lshift") or not all(isinstance(value, int) for value in values):
        return
    base, exponent = values
    small = (-1, 0, 1) if op == "pow" else (0,)
    bits = exponent * base.bit_length() if op == "pow" else exponent + base.bit_length()
    if bits > MAX_BITS and base not in small:
        raise LimitError(f"a constant of more than {MAX_BITS} bits, by {op}")


def _bounded(value: Any) -> Any:
    if isinstance(value, complex):
        raise NotImplementedError(f"broadloom.numexpr has no complex numbers, constants give {value}")
    if isinstance(value, int) and value.bit_length() > 2 * MAX_BITS:
        raise LimitError(f"a constant of more than {2 * MAX_BITS} bits")
    return value


def postorder(root: ExpressionNode) -> Iterator[ExpressionNode]:
    """Every node once, in postorder: after its operands."""
    seen: set[int] = set()
    stack: list[tuple[ExpressionNode, bool]] = [(root, False)]
    while stack:
        of, is_left = stack.pop()
        if is_left:
            yield of
        elif id(of) not in seen:
            seen.add(id(of))
            stack.append((of, True))
            stack.extend((child, False) for child in reversed(of.children))


def variables(root: ExpressionNode) -> list[str]:
    """The names of an expression's variables, sorted."""
    return sorted({of.value for of in postorder(root) if of.astType == "variable"})


def constants(root: ExpressionNode) -> tuple[Any, ...]:
    """The distinct constants, sorted within each kind."""
    found: dict[tuple[str, str], Any] = {}
    for of in postorder(root):
        if of.astType == "constant":
            found.setdefault((of.astKind, repr(of.value)), of.value)
    ordered = sorted(found.items(), key=lambda item: (item[0][0], math.isnan(item[1]), item[1]))
    return tuple(value for _, value in ordered)


def is_elementwise(root: ExpressionNode) -> bool:
    """Whether the expression contains no reduction."""
    return not any(of.astType == "op" and of.value in REDUCTIONS for of in postorder(root))
