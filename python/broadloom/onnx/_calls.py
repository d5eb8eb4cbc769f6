"""The size of a model whose functions are expanded, known before anything is expanded.

Functions that each call another one twice grow exponentially with the length of the model, so the operators are counted
once per function, starting with functions that call no others. The calls are followed with a stack and without
recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, NodeProto

from broadloom import LimitError
from broadloom.onnx._errors import InvalidModelError

#: The most operators that a model may have once its functions are expanded.
MAX_NODES = 1_000_000

#: How deep calls of functions may be nested.
MAX_DEPTH = 500

#: The domain, name and overload of a function, which identify it.
Key = tuple[str, str, str]


def domain_of(proto: NodeProto | FunctionProto) -> str:
    """The domain of a node or function: "" for both spellings of ONNX's own domain."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def key_of(proto: NodeProto) -> Key:
    """The key of the function that a node calls, if the model has a function with this key."""
    return domain_of(proto), proto.op_type, proto.overload


def name_of(key: Key) -> str:
    """The name of a function in messages."""
    domain, name, overload = key
    shown = f"{domain}.{name}" if domain else name
    return f"{shown}:{overload}" if overload else shown


@dataclass
class _Count:
    """A function whose operators are being counted."""

    key: Key
    calls: list[Key]
    #: The number of operators and calls, with those of the called functions that were counted so far.
    nodes: int
    depth: int = 0


def functions_by_key(functions: Iterable[FunctionProto]) -> dict[Key, FunctionProto]:
    """The functions of a model by their keys."""
    return {(domain_of(function), function.name, function.overload): function for function in functions}


def check_growth(nodes: Sequence[NodeProto], functions: Mapping[Key, FunctionProto]) -> None:
    """Raises LimitError for a graph that has too many operators once these functions are expanded, or calls that are
    nested too deep; InvalidModelError for a function that calls itself."""
    sizes: dict[Key, tuple[int, int]] = {}
    graph = _Count(("", "", ""), _calls(nodes, functions), len(nodes))
    stack, within = [graph], set[Key]()
    while stack:
        one = stack[-1]
        if one.calls:
            key = one.calls[-1]
            if key in sizes:
                one.calls.pop()
                nodes_of, depth = sizes[key]
                # The count is bounded: the exact number may have as many digits as the model has functions.
                one.nodes = min(one.nodes + nodes_of, MAX_NODES + 1)
                one.depth = max(one.depth, depth + 1)
            elif key in within:
                chain = [x.key for x in stack[1:]]
                chain = [*chain[chain.index(key) :], key]
                raise InvalidModelError(f"the function {name_of(key)} calls itself: {' → '.join(map(name_of, chain))}")
            else:
                body = functions[key].node
                within.add(key)
                stack.append(_Count(key, _calls(body, functions), len(body)))
            continue
        stack.pop()
        within.discard(one.key)
        sizes[one.key] = (one.nodes, one.depth)
    if graph.nodes > MAX_NODES:
        raise LimitError(f"the model has more than {MAX_NODES} operators once its functions are expanded")
    if graph.depth > MAX_DEPTH:
        raise LimitError(f"functions call functions more than {MAX_DEPTH} deep")


def _calls(nodes: Iterable[NodeProto], functions: Mapping[Key, FunctionProto]) -> list[Key]:
    # The order is reversed, so that the first call is the first to be counted.
    return [key for key in map(key_of, nodes) if key in functions][::-1]
