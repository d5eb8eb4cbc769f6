"""Attributes of nodes as values of Python, and those of a function's caller in the place of references to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnx import AttributeProto, NodeProto

_FIELDS = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.TENSOR: "t",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.GRAPH: "g",
    AttributeProto.TYPE_PROTO: "tp",
}
_LISTS = {AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints"}


def value_of(attribute: AttributeProto) -> Any:
    """The value of an attribute: a number, a text, a list of these, or a message of ONNX's."""
    kind = attribute.type
    if kind in _FIELDS:
        return getattr(attribute, _FIELDS[kind])
    if kind in _LISTS:
        return list(getattr(attribute, _LISTS[kind]))
    if kind == AttributeProto.STRING:
        return attribute.s.decode("utf-8", "replace")
    if kind == AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in attribute.strings]
    return attribute


def resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """A node of a function's body, with the attributes of the caller in the place of references to them."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            made.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            value = made.attribute.add()
            value.CopyFrom(given[attribute.ref_attr_name])
            value.name = attribute.name
    return made


def by_name(attributes: Iterable[AttributeProto]) -> dict[str, AttributeProto]:
    """Attributes by name."""
    return {attribute.name: attribute for attribute in attributes}
