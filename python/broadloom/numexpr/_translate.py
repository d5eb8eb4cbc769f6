"""Translates an expression, for given dtypes of its variables, to a handle of the engine.

`Translation` follows numexpr's rules for kinds; `KeptDtypes` leaves dtypes and promotion to the engine. Both traverse
the expression once, without recursion, and differ in their treatment of a node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom._division import truncated_remainder
from broadloom._generated.tables import OPERATORS
from broadloom._registry import registered
from broadloom.numexpr import _kinds
from broadloom.numexpr._functions import FUNCTIONS, REDUCTIONS
from broadloom.numexpr._kinds import DTYPES, INEXACT, INTEGERS, LETTERS, NUMBERS, Kind
from broadloom.numexpr._nodes import ExpressionNode, postorder, variables

#: The maximum constant exponent for which a power becomes a product, as in numexpr.
MAX_EXPONENT: Final = 50

#: The engine's function for each operator.
_OPS: Final = OPERATORS | {"div": OPERATORS["truediv"]}

_BITWISE: Final = ("and", "or", "xor")
_COMPARISONS: Final = ("gt", "ge", "lt", "le", "eq", "ne")
#: Operations that numexpr writes with swapped operands, by numexpr's name.
_SWAPPED: Final = {"lt": "gt", "le": "ge"}


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a node: a handle of a kind, or a constant."""

    kind: Kind
    of: Handle | bool | int | float

    @property
    def is_constant(self) -> bool:
        """Whether the value is a number in the text."""
        return not isinstance(self.of, Handle)


def no_operation(op: str, result: Kind, *arguments: Kind) -> NotImplementedError:
    """The error for kinds that an operator or function does not accept. Callers of numexpr look for these words."""
    letters = "".join(LETTERS[kind] for kind in (result, *arguments))
    shown = ", ".join(arguments)
    return NotImplementedError(f"couldn't find matching opcode for '{op}_{letters}': {op} is not defined for {shown}")


def _as(value: Value, kind: Kind) -> Handle | bool | int | float:
    """A value as an operand of an operation in a kind."""
    if not isinstance(value.of, Handle):
        return _kinds.converted(value.of, kind)
    return value.of if value.kind == kind else value.of.astype(DTYPES[kind])


def _handle(value: Value, kind: Kind) -> Handle:
    """A value converted to a kind, as a handle."""
    of = _as(value, kind)
    return of if isinstance(of, Handle) else Handle.full([], of, DTYPES[kind])


def _whole(kind: Kind, op: str, *operands: Handle | bool | int | float) -> Value:
    """The result, of the given kind, of an operation of the engine."""
    return Value(kind, _core.apply(op, *operands))


class Translation:
    """Builds the handle of an expression by numexpr's rules for kinds.

    `aggressive` turns all powers with small constant exponents into products, and `moderate` only the simplest.
    """

    def __init__(self, optimization: str = "aggressive") -> None:
        self._optimization = optimization

    def __call__(self, root: ExpressionNode, inputs: Mapping[str, Handle]) -> Value:
        """The value of an expression for these inputs."""
        values: dict[int, Value] = {}
        for node in postorder(root):
            operands = [values[id(child)] for child in node.children]
            if node.astType == "constant":
                made = Value(_kinds.of_constant(node.value), node.value)
            elif node.astType == "variable":
                made = self._input(inputs[node.value])
            else:
                made = self._operation(node.value, operands, node.axis)
            values[id(node)] = made
        return values[id(root)]

    def _input(self, handle: Handle) -> Value:
        kind = _kinds.of_dtype(handle.dtype)
        return Value(kind, handle if handle.dtype == DTYPES[kind] else handle.astype(DTYPES[kind]))

    def _operation(self, op: str, operands: list[Value], axis: int | None) -> Value:
        if op in REDUCTIONS:
            return _reduction(op, operands[0], axis)
        if op == "where":
            return _where(*operands)
        if op in FUNCTIONS:
            return _function(op, operands)
        if op == "pow":
            return self._power(*operands)
        return _operator(op, operands)

    def _power(self, base: Value, exponent: Value) -> Value:
        x = exponent.of
        if isinstance(x, Handle) or not math.isfinite(x):
            return _operator("pow", [base, exponent])
        if base.kind in INTEGERS and exponent.kind in INTEGERS and x < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        is_half_integer = float(2 * x).is_integer()
        if self._optimization == "aggressive" and is_half_integer and abs(x) <= MAX_EXPONENT:
            made = _product(base, int(abs(x)), int(abs(2 * x)) % 2 == 1)
            return _operator("div", [Value("int", 1), made]) if x < 0 else made
        if self._optimization == "moderate" and x in (-1, 0, 0.5, 1, 2):
            if x == -1:
                return _operator("div", [Value("int", 1), base])
            return _product(base, int(x), x == 0.5)
        return _operator("pow", [base, exponent])


def _product(base: Value, count: int, has_root: bool) -> Value:
    """A power by repeated squaring, low powers first as in numexpr, times the square root if the exponent has a half."""
    made: Value | None = None
    square, left = base, count
    while left:
        if left & 1:
            made = square if made is None else _operator("mul", [made, square])
        left >>= 1
        if left:
            square = _operator("mul", [square, square])
    if has_root:
        kind: Kind = "double" if base.kind in INTEGERS else base.kind
        if kind == "bool":
            raise no_operation("sqrt", kind, base.kind)
        root = _whole(kind, "sqrt", _as(base, kind))
        made = root if made is None else _operator("mul", [made, root])
    return made if made is not None else _function("ones_like", [base])


def _operator(op: str, operands: list[Value]) -> Value:
    kinds = [operand.kind for operand in operands]
    common = _kinds.highest(kinds)
    name = _SWAPPED.get(op, op)
    shown = kinds[::-1] if op in _SWAPPED else kinds
    if op in _COMPARISONS:
        of: Kind = "int" if common == "bool" and op not in ("eq", "ne") else common
        return _whole("bool", _OPS[op], *(_as(operand, of) for operand in operands))
    if common == "bool" and op in ("add", "mul"):
        op = name = "or" if op == "add" else "and"
    result: Kind = "double" if op == "div" and common not in INEXACT else common
    if op in ("lshift", "rshift"):
        takes: tuple[Kind, ...] = INTEGERS
    elif op in _BITWISE or op == "invert":
        takes = ("bool", *INTEGERS)
    else:
        takes = NUMBERS
    if result not in takes:
        raise no_operation(name, result, *shown)
    return _whole(result, _OPS[op], *(_as(operand, result) for operand in operands))


def _where(condition: Value, then: Value, otherwise: Value) -> Value:
    common = _kinds.highest([condition.kind, then.kind, otherwise.kind])
    if condition.kind != "bool":
        raise no_operation("where", common, condition.kind, then.kind, otherwise.kind)
    branches = [_as(then, common), _as(otherwise, common)]
    if not any(isinstance(branch, Handle) for branch in branches):
        branches[0] = _handle(then, common)
    return Value(common, _core.apply("where", _handle(condition, "bool"), *branches))


def _function(name: str, operands: list[Value]) -> Value:
    function = FUNCTIONS[name]
    kinds = [operand.kind for operand in operands]
    kind = _kinds.highest(kinds)
    if kind in INTEGERS:
        kind = kind if function.keeps_integers else "double"
    elif function.least is not None:
        kind = _kinds.highest([kind, function.least])
    if function.is_test:
        of: Kind = kinds[0] if kinds[0] == "float" else "double"
        return _whole("bool", function.op, _as(operands[0], of))
    match function.op:
        case "(copy)":
            return Value(kind, _handle(operands[0], kind))
        case "(zeros_like)" | "(ones_like)":
            is_one = function.op == "(ones_like)"
            if is_one and kind == "bool":
                raise no_operation("ones_like", kind, kind)
            return Value(kind, _filled(_handle(operands[0], operands[0].kind), is_one).astype(DTYPES[kind]))
        case "(fmod)":
            return Value(kind, truncated_remainder(_handle(operands[0], kind), _handle(operands[1], kind)))
    return _whole(kind, function.op, *(_as(operand, kind) for operand in operands))


def _filled(like: Handle, one: bool) -> Handle:
    """Whether the elements are one or zero, as bools, for ones or zeros in the shape of a handle."""
    return _core.apply("logical_or" if one else "logical_and", like.astype(DTYPES["bool"]), one)


def _reduction(name: str, of: Value, axis: int | None) -> Value:
    handle = _handle(of, of.kind)
    if of.kind == "bool":
        letters = LETTERS[of.kind] * 2
        raise NotImplementedError(
            f"couldn't find matching opcode for '{name}_{letters}n': {name} is not defined for bool"
        )
    if axis is not None and axis >= handle.ndim:
        raise ValueError(f"reduction axis is out of bounds: {name} along axis {axis} of {handle.ndim} dimensions")
    dtype = DTYPES[of.kind] if name in ("sum", "prod") else None
    return Value(of.kind, handle.reduce(name, None if axis is None else [axis], dtype=dtype))


class KeptDtypes(Translation):
    """Builds the handle of an expression with the engine's dtypes and NumPy's promotion. Constants are weakly typed."""

    def _input(self, handle: Handle) -> Value:
        return Value("double", handle)

    def _operation(self, op: str, operands: list[Value], axis: int | None) -> Value:
        of = [operand.of for operand in operands]
        if op in REDUCTIONS:
            return Value(
                "double", self._whole(of[0]).reduce(op, None if axis is None else [axis], numpy_promotion=True)
            )
        if op == "where":
            return Value("double", self._apply("where", *of))
        if op not in FUNCTIONS:
            return Value("double", self._apply(_OPS[op], *of))
        return Value("double", self._function(FUNCTIONS[op].op, of))

    def _function(self, op: str, of: list[Handle | bool | int | float]) -> Handle:
        first = self._whole(of[0])
        match op:
            case "(copy)":
                return first
            case "(zeros_like)" | "(ones_like)":
                return _filled(first, op == "(ones_like)").astype(first.dtype)
            case "(fmod)":
                magnitudes = [self._apply("abs", operand) for operand in of]
                return self._apply("copysign", self._apply("remainder", *magnitudes), of[0])
        return self._apply(op, *of)

    @staticmethod
    def _whole(of: Handle | bool | int | float) -> Handle:
        return of if isinstance(of, Handle) else Handle.number(of)

    @staticmethod
    def _apply(op: str, *operands: Handle | bool | int | float) -> Handle:
        return _core.apply(op, *operands, numpy_promotion=True)


@registered("numexpr kind")
def kind_of(root: ExpressionNode) -> Kind:
    """The kind of an expression, if all its variables are double."""
    inputs = {name: Handle.input(f"v{i}", np.float64, []) for i, name in enumerate(variables(root))}
    return Translation()(root, inputs).kind
