"""Functions whose derivatives are defined by other functions, with the names and arguments of JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from broadloom import _core
from broadloom._core import Handle
from broadloom._gradients import arrays_of, check_callable, handle_of, handles_like, outputs_of
from broadloom._loop_states import flattened
from broadloom._structure import Structure

__all__: list[str] = ["custom_jvp", "custom_vjp"]


class _Call:
    """A call of a function with a rule, whose arguments at the positions `nondiff` are not differentiated."""

    __slots__ = ("_args", "_nondiff", "_outputs", "_structures", "name")

    def __init__(self, kind: str, fun: Callable[..., Any], args: Sequence[Any], nondiff: Sequence[int]) -> None:
        #: What errors call the function.
        self.name = f"{kind}: the rule of {getattr(fun, '__name__', type(fun).__name__)}"
        self._args, self._nondiff = args, nondiff
        #: The structure and the number of leaves of each differentiated argument.
        self._structures: list[tuple[Structure, int]] = []
        #: The leaves and the structure of the value.
        self._outputs: tuple[list[Handle], Structure] | None = None

    @property
    def before(self) -> list[Any]:
        """The arguments that are not differentiated."""
        return [self._args[i] for i in self._nondiff]

    def _primals(self, handles: list[Handle]) -> tuple[Any, ...]:
        made, at = [], 0
        for structure, count in self._structures:
            made.append(structure(arrays_of(handles[at : at + count])))
            at += count
        return tuple(made)

    def all(self, primals: Sequence[Any]) -> list[Any]:
        """All arguments."""
        differentiated = iter(primals)
        return [arg if i in self._nondiff else next(differentiated) for i, arg in enumerate(self._args)]

    def value(self, kind: str, fun: Callable[..., Any], rule: Callable[..., list[Handle]], is_reverse: bool) -> Any:
        """The value of the function. The rule takes the primals, and tangents or adjoints of their structures or the value's."""
        leaves: list[Handle] = []
        for i, arg in enumerate(self._args):
            if i not in self._nondiff:
                found, structure = flattened(arg, f"{kind}: argument {i}")
                leaves += [handle_of(leaf) for leaf in found]
                self._structures.append((structure, len(found)))

        def called(handles: list[Handle]) -> list[Handle]:
            self._outputs = outputs_of(kind, fun(*self.all(self._primals(handles))))
            return self._outputs[0]

        def derived(primals: list[Handle], given: list[Handle]) -> list[Handle]:
            along = self._value(given) if is_reverse else self._primals(given)
            return rule(self, self._primals(primals), along, primals)

        return self._value(_core.custom_rule(called, leaves, derived, is_reverse))

    def _value(self, handles: list[Handle]) -> Any:
        assert self._outputs is not None
        return self._outputs[1](arrays_of(handles))

    def tangents(self, made: Any) -> list[Handle]:
        """The leaves of a tangent of the value."""
        assert self._outputs is not None
        leaves, structure = self._outputs
        zeros = structure([0] * len(leaves))
        return handles_like(f"{self.name}: the tangents", self._value(leaves), zeros if made is None else made, leaves)

    def adjoints(self, made: Any, primals: list[Handle]) -> list[Handle]:
        """The leaves of a tuple of adjoints of the arguments, of which None is zero."""
        count = len(self._structures)
        if not isinstance(made, (tuple, list)) or len(made) != count:
            got = f"{len(made)} results" if isinstance(made, (tuple, list)) else type(made).__name__
            raise TypeError(f"{self.name}: bwd returns {got}, but must return a tuple with {count} adjoints")
        whole = tuple(
            structure([0] * leaves) if v is None else v
            for v, (structure, leaves) in zip(made, self._structures, strict=True)
        )
        return handles_like(f"{self.name}: the adjoints", self._primals(primals), whole, primals)

    def pair(self, made: Any, function: str, second: str) -> tuple[Any, Any]:
        """A result that has two parts, of which the first is the value."""
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            got = f"{len(made)} results" if isinstance(made, (tuple, list)) else type(made).__name__
            raise TypeError(f"{self.name}: {function} returns {got}, but must return a tuple of the value and {second}")
        return made[0], made[1]


class custom_jvp:  # noqa: N801
    """A function whose derivative is defined by another one, which `defjvp` sets: `rule(primals, tangents)` returns the value and
    its tangent, which is linear in the tangents; None is zero. With `nondiff_argnums`, the rule takes these arguments before the two
    tuples. The value is that of the function itself, and the rule is called when a derivative is made. Both modes use it.

    There is no derivative with respect to other arrays that the function uses: DerivativeError.

    >>> @bl.custom_jvp
    ... def log1pexp(x):
    ...     return bl.log(1 + bl.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     return log1pexp(primals[0]), tangents[0] * (1 - 1 / (1 + bl.exp(primals[0])))
    >>> bl.grad(log1pexp)(800.0)
    Array(1., dtype=float64)
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        check_callable("custom_jvp", fun)
        functools.update_wrapper(self, fun)
        self._fun, self._nondiff = fun, tuple(index(i) for i in nondiff_argnums)
        self._rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule, and returns it."""
        self._rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the rule by a function for each argument, `jvp(tangent, value, *primals)`, whose results are added; None for an
        argument on which the value does not depend."""

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            value = self(*primals)
            total: Any = None
            for jvp, tangent in zip(jvps, tangents, strict=True):
                if jvp is not None:
                    term = jvp(tangent, value, *primals)
                    total = term if total is None else total + term
            return value, total

        self._rule = rule

    def __call__(self, *args: Any) -> Any:
        rule = self._rule
        if rule is None:
            raise TypeError("custom_jvp: the function has no rule; set it by `defjvp`")

        def tangents(call: _Call, primals: Any, along: Any, _: list[Handle]) -> list[Handle]:
            return call.tangents(call.pair(rule(*call.before, primals, along), "it", "its tangent")[1])

        call = _Call("custom_jvp", self._fun, args, self._nondiff)
        return call.value("custom_jvp", self._fun, tangents, is_reverse=False)


class custom_vjp:  # noqa: N801
    """A function whose derivative in reverse mode is defined by two others, which `defvjp` sets: `fwd(*args)` returns the value and
    residuals, and `bwd(residuals, adjoint)` a tuple with the adjoint of each argument, of which None is zero. With
    `nondiff_argnums`, `bwd` takes these arguments first. The value is that of the function itself, and the rules are called when a
    derivative is made. There is no derivative in forward mode, nor with respect to other arrays that the function uses:
    DerivativeError.

    >>> @bl.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, v: (bl.clip(v, -1.0, 1.0),))
    >>> bl.grad(lambda x: 5 * clipped(x))(3.0)
    Array(1., dtype=float64)
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        check_callable("custom_vjp", fun)
        functools.update_wrapper(self, fun)
        self._fun, self._nondiff = fun, tuple(index(i) for i in nondiff_argnums)
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Sets the rules."""
        self._rules = fwd, bwd

    def __call__(self, *args: Any) -> Any:
        if self._rules is None:
            raise TypeError("custom_vjp: the function has no rules; set them by `defvjp`")
        fwd, bwd = self._rules

        def adjoints(call: _Call, primals: Any, along: Any, handles: list[Handle]) -> list[Handle]:
            residuals = call.pair(fwd(*call.all(primals)), "fwd", "residuals")[1]
            return call.adjoints(bwd(*call.before, residuals, along), handles)

        call = _Call("custom_vjp", self._fun, args, self._nondiff)
        return call.value("custom_vjp", self._fun, adjoints, is_reverse=True)
