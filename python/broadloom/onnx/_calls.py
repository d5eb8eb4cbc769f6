"""Computes the size of a model after expansion of its functions, before anything is expanded.

If each function calls another one twice, the size grows exponentially with the length of the model. The number of
operators is therefore counted once per function, from the called functions upwards, with a stack and without recursion.
The nodes of bodies count as nodes of the graph or function that contains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, GraphProto, NodeProto

from broadloom import LimitError
from broadloom.onnx._errors import InvalidModelError

#: The maximum number of operators in a model after expansion of its functions.
MAX_NODES = 1_000_000

#: The maximum nesting of function calls.
MAX_DEPTH = 500

#: The maximum nesting of bodies of operators, also through calls of functions. Protobuf reads messages that are nested
#: 100 deep, and a body takes three.
MAX_BODIES = 30

#: The key of a function: its domain, name and overload.
Key = tuple[str, str, str]


def domain_of(proto: NodeProto | FunctionProto) -> str:
    """The domain; "" for both spellings of ONNX's own domain."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def key_of(proto: NodeProto) -> Key:
    """The key of the function that a node calls; a model may have no such function."""
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
    #: The called functions, and the number of bodies around each call.
    calls: list[tuple[Key, int]]
    #: The number of operators and calls, including those of the called functions counted so far.
    nodes: int
    #: The nesting of bodies.
    bodies: int = 0
    depth: int = 0


def functions_by_key(functions: Iterable[FunctionProto]) -> dict[Key, FunctionProto]:
    """The functions of a model by key."""
    return {(domain_of(function), function.name, function.overload): function for function in functions}


def bodies_within(nodes: Iterable[NodeProto]) -> Iterator[tuple[GraphProto, int]]:
    """The graphs in attributes of nodes, and in those of their nodes, each with its depth; LimitError beyond the
    maximum."""
    waiting = [(nodes, 1)]
    while waiting:
        some, depth = waiting.pop()
        for node in some:
            for attribute in node.attribute:
                for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                    if depth > MAX_BODIES:
                        raise _too_deep()
                    yield graph, depth
                    waiting.append((graph.node, depth + 1))


def _too_deep() -> LimitError:
    return LimitError(f"bodies of operators are nested more than {MAX_BODIES} deep")


def check_growth(nodes: Sequence[NodeProto], functions: Mapping[Key, FunctionProto]) -> None:
    """Checks the size of a graph after expansion of its functions. LimitError for too many operators, or for calls or
    bodies that are nested too deeply; InvalidModelError for a function that calls itself."""
    sizes: dict[Key, _Count] = {}
    graph = _count(("", "", ""), nodes, functions)
    stack, within = [graph], set[Key]()
    while stack:
        one = stack[-1]
        if one.calls:
            key, bodies = one.calls[-1]
            if key in sizes:
                one.calls.pop()
                called = sizes[key]
                # The exact number could have as many digits as the model has functions.
                one.nodes = min(one.nodes + called.nodes, MAX_NODES + 1)
                one.depth = max(one.depth, called.depth + 1)
                one.bodies = max(one.bodies, called.bodies + bodies)
            elif key in within:
                chain = [x.key for x in stack[1:]]
                chain = [*chain[chain.index(key) :], key]
                raise InvalidModelError(f"the function {name_of(key)} calls itself: {' → '.join(map(name_of, chain))}")
            else:
                within.add(key)
                stack.append(_count(key, functions[key].node, functions))
            continue
        stack.pop()
        within.discard(one.key)
        sizes[one.key] = one
    if graph.nodes > MAX_NODES:
        raise LimitError(f"the model has more than {MAX_NODES} operators once its functions are expanded")
    if graph.depth > MAX_DEPTH:
        raise LimitError(f"functions call functions more than {MAX_DEPTH} deep")
    if graph.bodies > MAX_BODIES:
        raise _too_deep()


def _count(key: Key, nodes: Sequence[NodeProto], functions: Mapping[Key, FunctionProto]) -> _Count:
    found = _Count(key, [], 0)
    for some, depth in [(nodes, 0), *((graph.node, depth) for graph, depth in bodies_within(nodes))]:
        found.calls += [(key, depth) for key in map(key_of, some) if key in functions]
        found.nodes += len(some)
        found.bodies = max(found.bodies, depth)
    # The first call is on top of the stack, and counted first.
    found.calls.reverse()
    return found
