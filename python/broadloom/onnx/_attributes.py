"""Attributes of nodes as Python values. In the body of a function, references to attributes are replaced by the
attributes of the function's caller."""

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
#: The attributes of a node by name.
Attributes = Mapping[str, AttributeProto]

_LISTS = {AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints"}


def value_of(attribute: AttributeProto) -> Any:
    """The value of an attribute: a number, a text, a list of these, or one of ONNX's messages."""
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


class Values:
    """The Python values of attributes, each made once: a function that is called often has the same attributes at each
    call."""

    def __init__(self) -> None:
        """No values yet."""
        # The message is kept with its value, so that no other message can get the same `id`.
        self._made: dict[int, tuple[AttributeProto, Any]] = {}

    def of(self, attribute: AttributeProto) -> Any:
        """The value of an attribute."""
        made = self._made.get(id(attribute))
        if made is None:
            made = self._made[id(attribute)] = (attribute, value_of(attribute))
        return made[1]


def resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> Attributes:
    """The attributes of a node of a function's body, in which references are replaced by the caller's attributes."""
    found = {}
    for attribute in node.attribute:
        one = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if one is not None:
            found[attribute.name] = one
    return found


def with_attributes(node: NodeProto, attributes: Attributes) -> NodeProto:
    """The node with these attributes. It is a copy if the node's own attributes refer to a caller's."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for name, attribute in attributes.items():
        value = made.attribute.add()
        value.CopyFrom(attribute)
        value.name = name
    return made


def by_name(attributes: Iterable[AttributeProto]) -> dict[str, AttributeProto]:
    """Attributes by name."""
    return {attribute.name: attribute for attribute in attributes}
