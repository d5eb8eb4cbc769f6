"""Operations on arrays with nulls, which are represented by lazy values and lazy validity masks.

The result of an element-wise function is null where an operand is null. Values and masks are separate expressions; one
loop computes both if both are requested. Masks stay separate until they are needed, so that a mask shared by both
operands is not combined with itself. Values at nulls are meaningless, and never cause an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from broadloom._array import Array, apply
from broadloom._creation import asarray, full, ones, zeros_like
from broadloom._dtypes import astype
from broadloom._generated import elementwise
from broadloom._manipulation import broadcast_to
from broadloom._operators import OverArrays
from broadloom._tracing import known

#: Integer functions in which a null divisor must not cause a division by zero.
DIVISIONS = ("divmod", "floor_divide", "fmod", "remainder", "trunc_divide")

#: `Parts` are the values and the masks of an operand. An element is valid if all masks are true.
Masks = tuple[Array, ...]
Parts = tuple[Any, Masks]


def parts(x: Any) -> Parts:
    """The values and masks of an operand. None is a null."""
    if isinstance(x, OverArrays):
        nullable: Any = x
        return nullable.values, nullable._masks
    if x is None:
        return None, (full((), False),)
    return x, ()


def united(*masks: Masks) -> Masks:
    """The masks without duplicates."""
    return tuple({id(mask): mask for several in masks for mask in several}.values())


def combined(masks: Masks) -> Array | None:
    """A mask that is true where all masks are; None if there are none."""
    if not masks:
        return None
    one, *others = masks
    for other in others:
        one = one & other
    return one


def of_elements(op: str, operands: tuple[Any, ...], function: Callable[..., Any] | None = None) -> tuple[Any, Masks]:
    """Applies an element-wise function to operands that may have nulls. The function is `op` from the op table, unless
    `function`, which may have several results, is given."""
    if op == "where" and function is None:
        return _chosen(*operands)
    if any(x is None for x in operands):
        raise TypeError(f"{op}: None is no operand; `is_null` says which elements are null")
    split = [parts(x) for x in operands]
    values, masks = [x for x, _ in split], united(*(masks for _, masks in split))
    is_zero = type(values[-1]) is int and values[-1] == 0
    if op in DIVISIONS and masks and (is_zero or not isinstance(values[1], (bool, int, float))):
        divisor = zeros_like(asarray(values[0])) if is_zero else asarray(values[1])
        if divisor.dtype.kind in "iu":
            mask = combined(masks)
            assert mask is not None
            values[1] = elementwise.where(mask, divisor, 1)
    made = apply(op, *values) if function is None else function(*values)
    if op in ("logical_and", "bitwise_and", "logical_or", "bitwise_or") and made.dtype.kind == "b":
        return made, _decided(split, op.endswith("or"))
    return made, masks


def _decided(split: list[Parts], by: bool) -> Masks:
    """The mask of `and` (or `or`) in Kleene's logic: a valid false (or true) determines the result regardless of the
    other operand."""
    (a, of_a), (b, of_b) = split
    first, second = combined(of_a), combined(of_b)
    a_decides, b_decides = (x if by else ~x for x in (astype(asarray(x), np.bool_, copy=False) for x in (a, b)))
    if first is None and second is None:
        return ()
    if first is None or second is None:
        mask, decides = (second, a_decides) if first is None else (first, b_decides)
        assert mask is not None
        return (mask | decides,)
    if first is second:
        return (first,)
    return ((first & second) | (first & a_decides) | (second & b_decides),)


def _chosen(condition: Any, x: Any, y: Any) -> tuple[Array, Masks]:
    """`where`: null if the condition is null, and otherwise as the selected operand."""
    (chooses, of_condition), (x, of_x), (y, of_y) = (parts(one) for one in (condition, x, y))
    if x is None and y is None:
        raise TypeError("where: one of the two must have a dtype, but both are None")
    if x is None or y is None:
        other = asarray(y if x is None else x)
        null = full((), False, dtype=other.dtype) if other.dtype.kind == "b" else full((), 0, dtype=other.dtype)
        x, y = (null, y) if x is None else (x, null)
    made = elementwise.where(chooses, x, y)
    if not of_x and not of_y:
        return made, of_condition
    if of_x and len(of_x) == len(of_y) and all(a is b for a, b in zip(of_x, of_y)):
        return made, united(of_condition, of_x)
    true = full((), True)
    first, second = combined(of_x), combined(of_y)
    chosen = elementwise.where(chooses, true if first is None else first, true if second is None else second)
    return made, united(of_condition, (chosen,))


def mask_of(values: Array, masks: Masks) -> Array | None:
    """The combined mask in the shape of the values; None if there are no masks."""
    mask = combined(masks)
    if mask is None or mask.shape == values.shape:
        return mask
    return broadcast_to(mask, known(values.shape))


def with_none(values: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """The values as Python numbers, with None for nulls."""
    made = values.astype(object)
    made[~valid] = None
    return made


def everywhere(values: Array) -> Array:
    """A mask that is true for all elements."""
    return ones(known(values.shape), dtype=np.bool_)
