"""Converts attributes of nodes to Python values, and resolves references to attributes of a function's caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onnx import AttributeProto, NodeProto, helper

#: The attributes of a node by name.
Attributes = Mapping[str, AttributeProto]


def value_of(attribute: AttributeProto) -> Any:
    """The value of an attribute: a number, a text, a list of these, or an ONNX message."""
    if attribute.type == AttributeProto.UNDEFINED:
        return attribute
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRING:
        return value.decode("utf-8", "replace")
    if attribute.type == AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in value]
    return value


class Values:
    """A cache of what messages of a model contain, since a function that is called often has the same ones at each call."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read
        # The message is stored with its value, so that its id is not reused by another message.
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, message: Any) -> Any:
        """The value of a message."""
        made = self._made.get(id(message))
        if made is None:
            made = self._made[id(message)] = (message, self._read(message))
        return made[1]


def resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> Attributes:
    """The attributes of a node in a function's body, with references replaced by the caller's attributes."""
    found = {}
    for attribute in node.attribute:
        one = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if one is not None:
            found[attribute.name] = one
    return found


def with_attributes(node: NodeProto, attributes: Attributes) -> NodeProto:
    """The node with these attributes. It is copied if its own attributes refer to a caller's."""
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
