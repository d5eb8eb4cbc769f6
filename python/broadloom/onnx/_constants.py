"""Operators that create values from attributes, shapes and bounds. The values are generated where they are read, except
for the elements of `Constant`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, numpy_helper

from broadloom import arange, eye
from broadloom._core import Handle
from broadloom.onnx._graph import Node
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import extents
from broadloom.onnx._types import DTYPES, tensor

#: The attributes that a `Constant` may have instead of a tensor, with the type of the value.
_VALUES = {
    "value_float": "tensor(float)",
    "value_floats": "tensor(float)",
    "value_int": "tensor(int64)",
    "value_ints": "tensor(int64)",
    "value_string": "tensor(string)",
    "value_strings": "tensor(string)",
}


def is_literal(values: np.ndarray) -> bool:
    """Whether values can be a literal: one number that is not a NaN, whose payload a literal would lose."""
    return bool(values.size == 1 and values.item() == values.item())


def of_array(values: np.ndarray) -> Handle:
    """Values as an operand: a single number as a literal, which rewrite rules can use, and otherwise shared memory."""
    if is_literal(values):
        return Handle.full(list(values.shape), values.item(), values.dtype)
    return Handle.from_numpy(np.ascontiguousarray(values).reshape(values.shape))


def _constant(call: Call) -> Handle:
    value = call.attribute("value")
    if value is not None:
        return of_array(numpy_helper.to_array(value))
    for name, kind in _VALUES.items():
        value = call.attribute(name)
        if value is not None:
            return of_array(np.array(value, dtype=DTYPES[kind]))
    raise ValueError("it has no value")


def _type_of_constant(node: Node, types: Sequence[str | None]) -> list[str | None]:
    value = node.attributes.get("value")
    if value is not None:
        return [tensor(value.data_type)]
    return [next((kind for name, kind in _VALUES.items() if name in node.attributes), "tensor(undefined)")]


def _is_sparse(node: Node) -> str | None:
    return "its value is a sparse tensor" if "sparse_value" in node.attributes else None


def _filling(call: Call) -> TensorProto | None:
    value: TensorProto | None = call.attribute("value")
    return value


def _constant_of_shape(call: Call, _: Handle | None = None) -> Handle:
    shape, value = call.integers(0) or [], _filling(call)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape {shape} has a negative extent")
    if value is None:
        return Handle.full(shape, 0.0, np.dtype("f4"))
    numbers = numpy_helper.to_array(value)
    if numbers.size != 1:
        raise ValueError(f"its value has {numbers.size} elements, not one")
    return Handle.full(shape, numbers.item(), numbers.dtype)


def _type_of_filling(node: Node, types: Sequence[str | None]) -> list[str | None]:
    value = node.attributes.get("value")
    return ["tensor(float)" if value is None else tensor(value.data_type)]


def _range(call: Call, *_: Handle | None) -> Handle:
    bounds = [call.array(number) for number in range(3)]
    dtype = call.result_dtype()
    numbers = []
    for bound in bounds:
        if bound is None or bound.size != 1:
            raise ValueError("start, limit and delta are one number each")
        numbers.append(bound.item())
    if numbers[2] == 0:
        raise ValueError("delta is 0")
    return arange(numbers[0], numbers[1], numbers[2], dtype=dtype)._handle


def _eye_like(call: Call, x: Handle) -> Handle:
    shape = extents(x)
    if len(shape) != 2:
        raise ValueError(f"the shape of a matrix is asked for, and there is {shape}")
    return eye(shape[0], shape[1], k=call.attribute("k", 0), dtype=call.result_dtype())._handle


def _type_of_eye(node: Node, types: Sequence[str | None]) -> list[str | None]:
    dtype = node.attributes.get("dtype")
    return [types[0] if dtype is None else tensor(dtype)]


ROWS = (
    Row("Constant", _constant, gives=_type_of_constant, refuses=_is_sparse, generates=False),
    Row("ConstantOfShape", _constant_of_shape, reads=(0,), gives=_type_of_filling, generates=True),
    Row("EyeLike", _eye_like, gives=_type_of_eye, generates=True),
    Row("Range", _range, reads=(0, 1, 2), generates=True, note="element i is start + i * delta, rounded once"),
)
