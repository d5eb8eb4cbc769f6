"""ONNX's types by the names that its schemas use, and the dtypes of supported ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto

DType = np.dtype[Any]

#: The dtype of each supported type of tensors.
DTYPES: dict[str, DType] = {
    f"tensor({name})": np.dtype(dtype)
    for name, dtype in {
        "bool": "bool",
        "int8": "i1",
        "int16": "i2",
        "int32": "i4",
        "int64": "i8",
        "uint8": "u1",
        "uint16": "u2",
        "uint32": "u4",
        "uint64": "u8",
        "float16": "f2",
        "float": "f4",
        "double": "f8",
    }.items()
}

#: The type of tensors with each dtype.
NAMES: dict[DType, str] = {dtype: name for name, dtype in DTYPES.items()}

UNDEFINED = "tensor(undefined)"


def tensor(element: int) -> str:
    """The type of tensors whose elements have the type of this number."""
    try:
        return f"tensor({TensorProto.DataType.Name(element).lower()})"
    except ValueError:
        return UNDEFINED


def type_of(proto: TypeProto) -> str:
    """The name of a type: `tensor(float)`, `seq(tensor(int64))`. Types within types are followed in a loop."""
    around: list[str] = []
    while True:
        kind = proto.WhichOneof("value")
        if kind == "tensor_type":
            inner = tensor(proto.tensor_type.elem_type)
        elif kind == "sparse_tensor_type":
            inner = f"sparse_{tensor(proto.sparse_tensor_type.elem_type)}"
        elif kind == "sequence_type":
            around.append("seq")
            proto = proto.sequence_type.elem_type
            continue
        elif kind == "optional_type":
            around.append("optional")
            proto = proto.optional_type.elem_type
            continue
        else:
            inner = "map" if kind == "map_type" else UNDEFINED
        for name in reversed(around):
            inner = f"{name}({inner})"
        return inner


def extents_of(proto: TypeProto) -> tuple[int | str | None, ...] | None:
    """The extents that a tensor's type declares: numbers, names, and None for an extent that it does not declare; None
    in the place of all if the rank is open."""
    if not proto.HasField("tensor_type") or not proto.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in proto.tensor_type.shape.dim
    )


def element_of(kind: str) -> int:
    """The number of a tensor type's element type; 0 for a type that is no tensor."""
    name = kind.removeprefix("tensor(").removesuffix(")").upper() if kind.startswith("tensor(") else "UNDEFINED"
    return int(TensorProto.DataType.Value(name))
