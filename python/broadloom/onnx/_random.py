"""Random operators. A node draws from the key of its seed, so that its numbers are the same in every run and iteration. ONNX
lets a backend choose a seed where there is none; such a node is refused here, since nobody could get its numbers again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import isnan

import numpy as np

from broadloom import Array, arange, argmax, random
from broadloom._core import Handle
from broadloom.onnx._errors import InvalidModelError
from broadloom.onnx._graph import Node
from broadloom.onnx._literals import FLOAT32, FLOAT64, INT64, apply, converted, like, literal, select
from broadloom.onnx._row import Call, Row
from broadloom.onnx._shapes import extents
from broadloom.onnx._types import DType, tensor

UINT32 = np.dtype("u4")
FLOATS = ("tensor(float16)", "tensor(float)", "tensor(double)", "tensor(bfloat16)")
INDICES = ("tensor(int32)", "tensor(int64)")


def key_of_seed(seed: float) -> Array:
    """The key of a node's seed, a float32: `key(seed)` for a whole number of 64 bits, else the child of `key(0)` whose number
    has the bits of the seed."""
    if seed.is_integer() and -(2**63) <= seed < 2**63:
        return random.key(int(seed))
    return random.fold_in(random.key(0), int(np.float32(seed).view(np.uint32)))


def _key(call: Call) -> Array:
    """The key of a node, as an expression of its words: a kernel contains no memory but its inputs."""
    words = np.asarray(key_of_seed(float(call.attribute("seed")))).tolist()
    number = arange(4, dtype=INT64)._handle
    made = literal(words[3], UINT32)
    for at in (2, 1, 0):
        made = select(apply("equal", number, like(number, at)), literal(words[at], UINT32), made)
    return Array._of(made)


def _has_no_seed(node: Node) -> str | None:
    seed = node.attributes.get("seed")
    # ONNX's reference takes NaN for no seed.
    return "it has no `seed`, so its numbers could not be reproduced" if seed is None or isnan(seed) else None


def _uniform(call: Call, shape: Sequence[int], dtype: DType) -> Handle:
    low, high = call.attribute("low"), call.attribute("high")
    made = random.uniform(_key(call), shape, dtype=dtype)._handle
    if (low, high) == (0, 1):
        return made
    return apply("add", apply("multiply", made, like(made, high - low)), like(made, low))


def _normal(call: Call, shape: Sequence[int], dtype: DType) -> Handle:
    wide = FLOAT64 if dtype == FLOAT64 else FLOAT32
    made = random.normal(_key(call), shape, dtype=wide)._handle
    mean, scale = call.attribute("mean"), call.attribute("scale")
    if (mean, scale) != (0, 1):
        made = apply("add", apply("multiply", made, like(made, scale)), like(made, mean))
    return converted(made, dtype)


Drawn = Callable[[Call, Sequence[int], DType], Handle]


def _of_shape(draw: Drawn) -> Callable[[Call], Handle]:
    """An operator whose shape is an attribute."""

    def build(call: Call) -> Handle:
        shape = list(call.attribute("shape"))
        if any(extent < 0 for extent in shape):
            raise ValueError(f"the shape {shape} has a negative extent")
        return draw(call, shape, call.result_dtype())

    return build


def _like(draw: Drawn) -> Callable[[Call, Handle], Handle]:
    """An operator whose result has the shape of its operand."""
    return lambda call, x: draw(call, extents(x), call.result_dtype())


def _bernoulli(call: Call, p: Handle) -> Handle:
    drawn = random.bernoulli(_key(call), Array._of(p), extents(p))._handle
    return converted(drawn, call.result_dtype())


def _multinomial(call: Call, x: Handle) -> Handle:
    """The class with the largest sum of its logarithm and of a Gumbel variate: a class without probability is never
    chosen."""
    if x.ndim != 2:
        raise ValueError(f"the logarithms of probabilities have the rank {x.ndim}, not 2")
    rows, classes = extents(x)
    samples = call.attribute("sample_size")
    if samples < 0:
        raise ValueError(f"`sample_size` is {samples}")
    noise = random.gumbel(_key(call), (rows, samples, classes), dtype=FLOAT64)
    sums = apply("add", converted(x, FLOAT64).expand_dims(1), noise._handle)
    return converted(argmax(Array._of(sums), axis=2)._handle, call.result_dtype())


def _gives(allowed: Collection[str] = ()) -> Callable[[Node, Sequence[str | None]], list[str | None]]:
    """The type that the attribute `dtype` names, or else that of the operand. InvalidModelError if the operator has no such
    result."""

    def result(node: Node, types: Sequence[str | None]) -> list[str | None]:
        dtype = node.attributes.get("dtype")
        kind = types[0] if dtype is None else tensor(dtype)
        if allowed and kind is not None and kind not in allowed:
            raise InvalidModelError(f"{node}: it gives no {kind}; the attribute `dtype` names another type")
        return [kind]

    return result


ROWS = (
    Row("Bernoulli", _bernoulli, gives=_gives(), refuses=_has_no_seed),
    Row("Multinomial", _multinomial, gives=_gives(INDICES), refuses=_has_no_seed, note="argmax(x + gumbel)"),
    *(
        Row(name, build, gives=_gives(FLOATS), refuses=_has_no_seed, generates=True, note=note)
        for name, build, note in (
            ("RandomNormal", _of_shape(_normal), "mean + scale · normal; float16 is rounded from float32"),
            ("RandomNormalLike", _like(_normal), "the same"),
            ("RandomUniform", _of_shape(_uniform), "low + (high − low) · uniform, in the result's dtype"),
            ("RandomUniformLike", _like(_uniform), "the same"),
        )
    ),
)
