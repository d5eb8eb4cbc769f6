"""Python numbers in a function that is being traced.

Combined with an array, a traced number becomes an input of the dtype that a Python number would take there, which
`_core` decides. Operations among numbers follow Python's arithmetic: they are recorded, and replayed at each call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._syntax import PYTHON_FUNCTIONS
from broadloom._tracing import refuse, tracing

Number = bool | int | float

#: The source of an operand of a recorded step: ("argument", index), ("step", index), or ("number", the number).
Reference = tuple[str, Any]
Step = tuple[str, tuple[Reference, ...]]

_FUNCTIONS: dict[str, Callable[..., Any]] = PYTHON_FUNCTIONS | {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}

_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
#: The kinds of numbers, in the order of promotion.
KINDS = ("bool", "int", "float")
#: For each kind, a number that stands for a traced one.
_SAMPLES: dict[str, Number] = {"bool": True, "int": 1, "float": 1.0}


class Recorded:
    """A number that recorded steps compute from the arguments of a call; a source of an `Entry`."""

    __slots__ = ("_steps",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps

    def __call__(self, *arguments: Any) -> Number:
        values: list[Any] = []
        for name, references in self._steps:
            values.append(
                _FUNCTIONS[name](
                    *(
                        arguments[value] if kind == "argument" else values[value] if kind == "step" else value
                        for kind, value in references
                    )
                )
            )
        made: Number = values[-1]
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Recorded, (self._steps,)


class Tape:
    """Records the operations on numbers in a trace."""

    def __init__(self, names: Sequence[str]) -> None:
        prefixes = ("scalar_", *(f"scalar{i}_" for i in range(len(names))))
        self._prefix = next(made for made in prefixes if not any(name.startswith(made) for name in names))
        self.steps: list[Step] = []
        self.scalars: list[Scalar] = []

    def argument(self, number: int, name: str, shown: str, kind: str) -> Scalar:
        """The traced number for the argument with this index."""
        return self._scalar(name, shown, kind, ("argument", number))

    def record(self, name: str, operands: tuple[Scalar | Number, ...]) -> Scalar:
        """The traced number for the result of a Python function; records the step."""
        shown = next(x._shown for x in operands if isinstance(x, Scalar))
        references = tuple(x._reference if isinstance(x, Scalar) else ("number", x) for x in operands)
        self.steps.append((name, references))
        at = len(self.steps) - 1
        return self._scalar(f"{self._prefix}{at}", shown, _kind(name, operands), ("step", at))

    def source(self, scalar: Scalar) -> int | Recorded:
        """The source of a kernel's input that a traced number became."""
        kind, at = scalar._reference
        if kind == "argument":
            return int(at)
        needed, waiting = set(), [at]
        while waiting:
            step = waiting.pop()
            if step not in needed:
                needed.add(step)
                waiting.extend(value for kind, value in self.steps[step][1] if kind == "step")
        order = sorted(needed)
        new = {old: position for position, old in enumerate(order)}
        steps = [
            (name, tuple((kind, new[value] if kind == "step" else value) for kind, value in references))
            for name, references in (self.steps[old] for old in order)
        ]
        return Recorded(tuple(steps))

    def _scalar(self, name: str, shown: str, kind: str, reference: Reference) -> Scalar:
        scalar = Scalar._of(Handle.parameter(name, kind))
        scalar._tape, scalar._shown, scalar._kind, scalar._reference = self, shown, kind, reference
        self.scalars.append(scalar)
        return scalar


def _kind(name: str, operands: tuple[Scalar | Number, ...]) -> str:
    """The kind of number that a Python function returns. For an integer power, the exponent is assumed not to be
    negative."""
    if name in _COMPARISONS:
        return "bool"
    if name == "truediv":
        return "float"
    if name in ("floor", "ceil", "trunc") or name == "round" and len(operands) == 1:
        return "int"
    highest = max(KINDS.index(x._kind if isinstance(x, Scalar) else type(x).__name__) for x in operands)
    if name == "round":
        highest = KINDS.index(operands[0]._kind if isinstance(operands[0], Scalar) else type(operands[0]).__name__)
    if name in ("and", "or", "xor"):
        return KINDS[highest]
    return KINDS[max(highest, 1)]


class Scalar(Array):
    """A Python number among the arguments of a function that is being traced, or the result of operations on such
    numbers."""

    __slots__ = ("_kind", "_reference", "_shown", "_tape")

    _kind: str
    _reference: Reference
    #: The name of an argument that the number depends on, for error messages.
    _shown: str
    _tape: Tape

    def widened(self, kind: str) -> Scalar:
        """The number as an int or a float. The kind is not lower than that of the number."""
        return self._tape.record("mul", (self, 1.0)) if kind == "float" else self._tape.record("add", (self, 0))

    def _refuse(self, what: str) -> NoReturn:
        refuse(what, scalar=self._shown)

    def sample(self) -> Handle:
        """A literal of the same kind, which promotes like the number."""
        return Handle.number(_SAMPLES[self._kind])

    def _operand(self) -> Handle:
        return self.sample() if tracing.probes else self._handle

    def __index__(self) -> int:
        self._refuse("an index")

    def _item(self, what: str) -> Number:
        self._refuse(what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse("an array of NumPy's")

    def __repr__(self) -> str:
        return f"<traced {self._kind} of `{self._shown}`>"

    __str__ = __repr__

    def __round__(self, digits: int | None = None) -> Scalar:
        return self._tape.record("round", (self,) if digits is None else (self, digits))


def in_dtype(scalar: Scalar, dtype: np.dtype[Any], by_numpy: bool) -> Handle:
    """A traced number in the dtype that a literal takes when it is combined with this one. A number that the dtype can't
    represent is an error at the call."""
    zero = Handle.full((), 0, dtype)
    return _core.apply("where", True, scalar._operand(), zero, numpy_promotion=by_numpy)


def _is_number(x: Any) -> bool:
    return isinstance(x, Scalar) or type(x) in (bool, int, float)


def _unary(name: str) -> Callable[[Scalar], Scalar]:
    def method(self: Scalar) -> Scalar:
        return self._tape.record(name, (self,))

    return method


def _binary(method_name: str, name: str, *, reflected: bool) -> Callable[[Scalar, Any], Any]:
    of_arrays = getattr(Array, method_name, None)

    def method(self: Scalar, other: Any) -> Any:
        if _is_number(other):
            return self._tape.record(name, (other, self) if reflected else (self, other))
        return NotImplemented if of_arrays is None else of_arrays(self, other)

    return method


for _name in ("neg", "pos", "invert", "abs", "floor", "ceil", "trunc"):
    setattr(Scalar, f"__{_name}__", _unary(_name))
for _name in sorted(_COMPARISONS):
    setattr(Scalar, f"__{_name}__", _binary(f"__{_name}__", _name, reflected=False))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(Scalar, f"__{_name}__", _binary(f"__{_name}__", _name, reflected=False))
    setattr(Scalar, f"__r{_name}__", _binary(f"__r{_name}__", _name, reflected=True))
    # Numbers are immutable, so an in-place operator rebinds the name to a new number.
    setattr(Scalar, f"__i{_name}__", getattr(Scalar, f"__{_name}__"))


def _divmod(self: Scalar, other: Any) -> Any:
    return (self // other, self % other) if _is_number(other) else Array.__divmod__(self, other)


def _rdivmod(self: Scalar, other: Any) -> Any:
    return (other // self, other % self) if _is_number(other) else Array.__rdivmod__(self, other)


for _name, _function in (("__divmod__", _divmod), ("__rdivmod__", _rdivmod)):
    setattr(Scalar, _name, _function)
