"""Element-wise operators: arithmetic, comparisons, logic, bits, rounding, casts.

ONNX's own rules ensure equal dtypes before a kernel is built, so no promotion takes place. Integers wrap, and division
by zero follows the option `int_division`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from broadloom._core import Handle
from broadloom._division import truncated_remainder
from broadloom.onnx._graph import Node
from broadloom.onnx._literals import BOOL, FLOAT64, INT64, apply, as_float, back, converted, like, literal, select
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import extents
from broadloom.onnx._types import UNDEFINED, tensor

#: The first opset whose operators broadcast as in NumPy.
_NUMPY_BROADCASTING = 7


def aligned(call: Call, x: Handle, y: Handle) -> Handle:
    """The second operand, reshaped for the broadcasting rule before opset 7: if the attribute `broadcast` is set, the
    operand's axes correspond to those of `x` from `axis` on, or to the last axes. From opset 7 on, the operand is not
    changed."""
    if call.version >= _NUMPY_BROADCASTING:
        return y
    shape = [extent or 0 for extent in y.shape]
    if not call.attribute("broadcast", 0):
        if x.shape != y.shape:
            raise ValueError(f"shapes {list(x.shape)} and {shape} differ, and `broadcast` is not set")
        return y
    if y.size == 1:
        return y.reshape([])
    axis = call.attribute("axis")
    start = x.ndim - y.ndim if axis is None else axis + x.ndim if axis < 0 else axis
    behind = x.ndim - start - y.ndim
    part = x.shape[start : start + y.ndim]
    if start < 0 or behind < 0 or any(extent not in (1, whole) for extent, whole in zip(shape, part, strict=True)):
        raise ValueError(f"shape {shape} is no part of {list(x.shape)} from axis {start} on")
    return y.reshape([*shape, *[1] * behind])


def unary(name: str) -> Callable[[Call, Handle], Handle]:
    """An operator that is a function of the engine with one operand."""
    return lambda call, x: apply(name, x)


def binary(name: str) -> Callable[[Call, Handle, Handle], Handle]:
    """An operator that is a function of the engine with two operands."""
    return lambda call, x, y: apply(name, x, aligned(call, x, y))


def folded(name: str) -> Callable[..., Handle]:
    """An operator of one or more operands, which are combined from first to last. Before opset 8, all operands must
    have the same shape."""

    def build(call: Call, *operands: Handle) -> Handle:
        if call.version < 8 and len({x.shape for x in operands}) > 1:
            raise ValueError(f"shapes differ: {', '.join(str(list(x.shape)) for x in operands)}")
        result = operands[0]
        for x in operands[1:]:
            result = apply(name, result, x)
        return result

    return build


def _mean(call: Call, *operands: Handle) -> Handle:
    total = folded("add")(call, *operands)
    return apply("divide", total, like(total, len(operands)))


def _div(call: Call, x: Handle, y: Handle) -> Handle:
    return apply("divide" if x.dtype.kind == "f" else "trunc_divide", x, aligned(call, x, y))


def _mod(call: Call, x: Handle, y: Handle) -> Handle:
    if not call.attribute("fmod", 0):
        return apply("remainder", x, y)
    if x.dtype.kind == "f":
        return truncated_remainder(x, y)
    rest = apply("remainder", x, y)
    if x.dtype.kind == "u":
        return rest
    zero = like(x, 0)
    opposite = apply("less", apply("bitwise_xor", x, y), zero)
    return select(apply("logical_and", opposite, apply("not_equal", rest, zero)), apply("subtract", rest, y), rest)


def _pow(call: Call, x: Handle, y: Handle) -> Handle:
    y = aligned(call, x, y)
    if x.dtype == y.dtype:
        return apply("pow", x, y)
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return apply("pow", x.astype(FLOAT64), y.astype(FLOAT64)).astype(x.dtype)
    if y.dtype == np.uint64:
        # Powers of odd numbers modulo 2^64 have a period that divides 2^62; powers of even numbers with such exponents
        # are 0.
        bound = literal(2**62, y.dtype)
        reduced = apply("add", apply("bitwise_and", y, literal(2**62 - 1, y.dtype)), bound)
        y = select(apply("greater_equal", y, bound), reduced, y)
    return apply("pow", x.astype(INT64), y.astype(INT64)).astype(x.dtype)


def _shift(call: Call, x: Handle, y: Handle) -> Handle:
    left = call.attribute("direction") == "LEFT"
    return apply("bitwise_left_shift" if left else "bitwise_right_shift", x, y)


def _direction(node: Node) -> str | None:
    direction = node.attributes.get("direction")
    return None if direction in ("LEFT", "RIGHT") else f"`direction` is {direction!r}, not LEFT or RIGHT"


def _clip(call: Call, x: Handle, least: Handle | None = None, most: Handle | None = None) -> Handle:
    if call.version < 11:
        least, most = (None if v is None else like(x, v) for v in (call.attribute("min"), call.attribute("max")))
    bounds = [b if b is None or b.ndim == 0 else b.reshape([]) for b in (least, most)]
    if bounds[0] is not None:
        x = apply("maximum", x, bounds[0])
    return x if bounds[1] is None else apply("minimum", x, bounds[1])


def _cast(call: Call, x: Handle, _: Handle | None = None) -> Handle:
    return converted(x, call.result_dtype())


#: The element types, as named by attributes before opset 6.
_NAMED = {"FLOAT": 1, "DOUBLE": 11, "FLOAT16": 10, "BOOL": 9, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5}
_NAMED |= {"INT32": 6, "INT64": 7, "STRING": 8, "UINT32": 12, "UINT64": 13}


def _target(node: Node, types: Sequence[str | None]) -> list[str | None]:
    to = node.attributes.get("to")
    return [tensor(_NAMED.get(to.upper(), 0) if isinstance(to, str) else to) if to is not None else UNDEFINED]


def _bit_cast(call: Call, x: Handle) -> Handle:
    """Reinterprets the bits of a known value. For unknown values, the plan reinterprets memory, with a step like that
    of `Concat`."""
    values = call.values.allocate(extents(x), x.dtype)
    call.values.evaluate_into(x, values)
    return Handle.from_numpy(values.view(call.result_dtype()))


def _target_like(node: Node, types: Sequence[str | None]) -> list[str | None]:
    return [types[1]]


def _is_infinite(call: Call, x: Handle) -> Handle:
    negative, positive = call.attribute("detect_negative", 1), call.attribute("detect_positive", 1)
    if negative and positive:
        return apply("isinf", x)
    if not negative and not positive:
        return select(apply("isinf", x), literal(False, BOOL), literal(False, BOOL))
    return apply("equal", x, like(x, float("-inf") if negative else float("inf")))


def _erf(call: Call, x: Handle) -> Handle:
    return apply("erf", x) if x.dtype.kind == "f" else back(apply("erf", as_float(x)), x)


_WRAPS = "integers wrap"
_DIV = "integers lose the fraction of the quotient; x/0 is 0, or an error by `int_division`; MIN/-1 wraps"
_MOD = "floats with `fmod=0` as from version 28 on, in every version; x mod 0 of integers is 0, or an error by `int_division`"
_POW = "operands of two dtypes are raised as float64, two integers as int64; a negative power of integers loses its fraction"
_NAN = "NaN if an operand is NaN; -0 is less than +0"
_CAST = "floats to integers saturate, NaN gives 0; integers wrap; anything but 0 is true"
_CLIP = "NaN stays; the maximum wins where the minimum is greater"

ROWS = (
    Row("Abs", unary("abs"), note="the minimum of a signed dtype stays"),
    Row("Acos", unary("acos")),
    Row("Acosh", unary("acosh")),
    Row("Add", binary("add"), note=_WRAPS),
    Row("And", binary("logical_and")),
    Row("Asin", unary("asin")),
    Row("Asinh", unary("asinh")),
    Row("Atan", unary("atan")),
    Row("Atanh", unary("atanh")),
    Row(
        "BitCast",
        _bit_cast,
        gives=_target,
        generates=False,
        note="cuts the kernel: the memory is read as another dtype",
    ),
    Row("BitShift", _shift, refuses=_direction, note="a count outside 0…width-1 gives 0, or -1 of a negative value"),
    Row("BitwiseAnd", binary("bitwise_and")),
    Row("BitwiseNot", unary("bitwise_invert")),
    Row("BitwiseOr", binary("bitwise_or")),
    Row("BitwiseXor", binary("bitwise_xor")),
    Row("Cast", _cast, gives=_target, note=_CAST),
    Row("CastLike", _cast, gives=_target_like, note=_CAST),
    Row("Ceil", unary("ceil")),
    Row("Clip", _clip, note=_CLIP),
    Row("Cos", unary("cos")),
    Row("Cosh", unary("cosh")),
    Row("Div", _div, note=_DIV),
    Row("Equal", binary("equal")),
    Row("Erf", _erf, note="of integers as float64, without the fraction"),
    Row("Exp", unary("exp")),
    Row("Floor", unary("floor")),
    Row("Greater", binary("greater")),
    Row("GreaterOrEqual", binary("greater_equal")),
    Row("IsInf", _is_infinite),
    Row("IsNaN", unary("isnan")),
    Row("Less", binary("less")),
    Row("LessOrEqual", binary("less_equal")),
    Row("Log", unary("log")),
    Row("Max", folded("maximum"), note=_NAN),
    Row("Mean", _mean),
    Row("Min", folded("minimum"), note=_NAN),
    Row("Mod", _mod, note=_MOD),
    Row("Mul", binary("multiply"), note=_WRAPS),
    Row("Neg", unary("negative"), note=_WRAPS),
    Row("Not", unary("logical_not")),
    Row("Or", binary("logical_or")),
    Row("Pow", _pow, note=_POW),
    Row("Reciprocal", unary("reciprocal")),
    Row("Round", unary("round"), note="ties to even"),
    Row("Sign", unary("sign"), note="NaN gives NaN"),
    Row("Sin", unary("sin")),
    Row("Sinh", unary("sinh")),
    Row("Sqrt", unary("sqrt")),
    Row("Sub", binary("subtract"), note=_WRAPS),
    Row("Sum", folded("add")),
    Row("Tan", unary("tan")),
    Row("Tanh", unary("tanh")),
    Row("Where", lambda call, condition, x, y: select(condition, x, y)),
    Row("Xor", binary("logical_xor")),
)
