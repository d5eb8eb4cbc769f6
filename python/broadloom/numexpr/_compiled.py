"""`NumExpr`: an expression whose variables have fixed kinds, to be called on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from broadloom._core import Plan
from broadloom.numexpr import _nodes, _plans, _text
from broadloom.numexpr._kinds import LETTERS, Kind
from broadloom.numexpr._nodes import ExpressionNode
from broadloom.numexpr._translate import Translation

#: The types allowed in a signature. numexpr's `float` is float32, and it has no `int`.
_TYPES: Final[dict[Any, Kind]] = {
    bool: "bool",
    np.bool_: "bool",
    np.int32: "int",
    np.int64: "long",
    int: "long",
    float: "float",
    np.float32: "float",
    np.float64: "double",
}


class NumExpr:
    """An expression to be called on arrays, in the order of `input_names`.

    `ex` is a text, or an expression built from `E`'s variables. `signature` has a name and a type for each variable:
    bool, numpy.int32, numpy.int64, float (numexpr's name for float32), numpy.float32 or numpy.float64. Without it,
    variables are float64, in the order of their names. Arrays are cast to those types, by default only if the cast is
    'safe'.

    Raises the exceptions of `evaluate` for a text, and `ValueError` if `signature` lists other names than the
    expression contains.

    >>> import numpy as np
    >>> f = NumExpr("2*a + b", [("a", np.float64), ("b", np.float64)])
    >>> f(np.array([1.0, 2.0]), np.array([3, 4]))
    array([5., 8.])
    """

    def __init__(
        self,
        ex: str | ExpressionNode,
        signature: Sequence[tuple[str, Any]] = (),
        sanitize: bool = True,
        **kwargs: Any,
    ) -> None:
        translation = Translation(_plans.optimization_of(kwargs))
        root = _text.parse(ex, sanitize) if isinstance(ex, str) else _nodes.node(ex)
        found = _nodes.variables(root)
        names = [name for name, _ in signature] or found
        if sorted(names) != found:
            raise ValueError(f"input names ({names}) don't match those found in expression ({set(found)})")
        kinds: dict[str, Kind] = {name: _kind(given) for name, given in signature}
        kinds = kinds or {name: "double" for name in names}
        builder = _plans.Builder(root, names, translation, kinds)
        is_elementwise = _nodes.is_elementwise(root)
        if is_elementwise:
            builder.build(tuple(("array", np.dtype(np.bool_), ()) for _ in names), None, 1, "unsafe")
        #: The names of the variables, in the order in which a call accepts their values.
        self.input_names = tuple(names)
        #: The letters of the variables' kinds, in that order.
        self.signature = "".join(LETTERS[kinds[name]] for name in names).encode()
        #: The constants in the expression.
        self.constants = _nodes.constants(root)
        self._plan = Plan(names, builder, is_elementwise)

    def __call__(
        self,
        *args: Any,
        out: np.ndarray | None = None,
        order: str = "K",
        casting: str = "safe",
        ex_uses_vml: bool = False,
    ) -> np.ndarray:
        """The value of the expression for these arrays and numbers; `out`, `order` and `casting` are those of
        `evaluate`."""
        return self._plan.run(args, out, order, casting)

    run = __call__

    def __repr__(self) -> str:
        return f"<NumExpr of {', '.join(self.input_names) or 'no variables'}>"


def _kind(given: Any) -> Kind:
    if given in _TYPES:
        return _TYPES[given]
    if given in (complex, np.complex64, np.complex128):
        raise NotImplementedError("broadloom.numexpr has no complex numbers")
    if given in (str, bytes):
        raise NotImplementedError("broadloom.numexpr has no strings")
    raise KeyError(given)
