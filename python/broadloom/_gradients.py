"""Derivatives of functions, and functions over a batch, with the names and arguments of JAX.

A function is called once, with arrays that have no values while it runs, and the engine differentiates the expressions that it
returns. Arguments and results are arrays or numbers, or trees of tuples, lists and dicts of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._errors import ArityError, DerivativeError, DTypeError, ShapeError
from broadloom._loop_states import Leaf, flattened, plain, shown
from broadloom._operands import as_array, extents
from broadloom._structure import Structure, mapped, matched
from broadloom._tracebacks import shows_users_lines
from broadloom._tracing import need_extent, tracing

__all__: list[str] = [
    "checkpoint",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]


class Variables:
    """The arguments of a function with respect to which it is differentiated, as variables, among all of its arguments."""

    __slots__ = ("_numbers", "_structures", "args", "handles")

    def __init__(self, function: str, args: Sequence[Any], argnums: int | Sequence[int] | None) -> None:
        self._numbers = argnums
        #: The arguments with which the function is called.
        self.args = list(args)
        #: The variables.
        self.handles: list[Handle] = []
        #: For each differentiated argument, its structure and its number of leaves.
        self._structures: list[tuple[Structure, int]] = []
        for number in self._chosen(function, len(args)):
            leaves, structure = flattened(args[number], f"{function}: argument {number}")
            made = [_variable(function, number, leaf) for leaf in leaves]
            self.args[number] = structure([Array._of(handle) for handle in made])
            self.handles += made
            self._structures.append((structure, len(made)))

    def _chosen(self, function: str, count: int) -> list[int]:
        numbers = self._numbers
        if numbers is None:
            return list(range(count))
        chosen = [index(i) for i in numbers] if isinstance(numbers, Sequence) else [index(numbers)]
        for i in chosen:
            if not -count <= i < count:
                raise ValueError(f"{function}: argnums has {i}, but the function got {count} positional arguments")
        chosen = [i % count for i in chosen]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"{function}: argnums names an argument twice: {numbers}")
        return chosen

    def called(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """The result of the function for the variables."""
        return _core.differentiated(function, tuple(self.args), kwargs)

    def tree(self, leaves: Sequence[Any]) -> Any:
        """The leaves of the arguments in the structure of these: of one argument, or a tuple with one for each."""
        made, at = [], 0
        for structure, count in self._structures:
            made.append(structure(leaves[at : at + count]))
            at += count
        return tuple(made) if self._numbers is None or isinstance(self._numbers, Sequence) else made[0]


def handle_of(leaf: Leaf) -> Handle:
    """A leaf of a tree as an array's handle."""
    operand = plain(leaf)
    return operand if isinstance(operand, Handle) else as_array(operand)._handle


def _variable(function: str, number: int, leaf: Leaf) -> Handle:
    handle = handle_of(leaf)
    if handle.dtype.kind != "f":
        raise DTypeError(
            f"{function}: argument {number} has {handle.dtype}, but derivatives are with respect to floats; write astype(x, "
            f"float64), or leave it out of argnums"
        )
    return _core.variable(handle)


def _with_aux(function: str, made: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise TypeError(f"{function}: with has_aux, the function must return a tuple of its result and other data")
    return made[0], mapped(made[1], lambda x: Array._of(_core.settled(x._handle)) if isinstance(x, Array) else x)


def outputs_of(function: str, made: Any) -> tuple[list[Handle], Structure]:
    leaves, structure = flattened(made, f"{function}: the result")
    return [handle_of(leaf) for leaf in leaves], structure


def arrays_of(handles: Sequence[Handle]) -> list[Array]:
    return [Array._of(handle) for handle in handles]


def _derived(build: Callable[[], list[Handle]], variables: Sequence[Handle]) -> list[Handle]:
    """Makes derivatives. If that fails and extents are open, the function that is being traced is traced again with the extents as
    numbers, since the derivative of a range needs them."""
    try:
        return build()
    except (DerivativeError, ShapeError):
        if tracing.depth and any(None in handle.shape for handle in variables):
            need_extent()
        raise


def check_callable(function: str, fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"{function}: `fun` is {type(fun).__name__}, expected a function")


@shows_users_lines
def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that computes `fun` and its gradient with respect to the arguments with the positions `argnums`.

    `fun` returns one number; with `has_aux`, a tuple of it and of other data, and the value is such a tuple then. The
    gradient has the structure of the argument, or is a tuple with one for each of several positions. `fun` is called with
    arrays that have no values, as by `jit`.

    Raises TypeError for arguments without floats and for a result that is no float; ShapeError for a result with axes;
    DerivativeError for operations that have no derivative.

    >>> value, slope = bl.value_and_grad(lambda x: bl.sum(x**2))(np.array([1.0, 2.0]))
    >>> value, slope
    (Array(5., dtype=float64), Array([2., 4.], dtype=float64))
    """
    check_callable("value_and_grad", fun)

    @functools.wraps(fun)
    def evaluated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        variables = Variables("grad", args, argnums)
        value, aux = _with_aux("value_and_grad", variables.called(fun, kwargs), has_aux)
        y = as_array(value)._handle
        found = _derived(lambda: _core.grad(y, variables.handles), variables.handles)
        gradients = variables.tree(arrays_of(found))
        made = Array._of(_core.settled(y))
        return ((made, aux) if has_aux else made), gradients

    return shows_users_lines(evaluated)


@shows_users_lines
def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of `fun`, as `value_and_grad` does; with `has_aux`, a tuple of the gradient and the
    other data.

    >>> bl.grad(lambda x: bl.sum(bl.where(x > 0, bl.sqrt(x), 0.0)))(np.array([0.0, 4.0]))
    Array([0.  , 0.25], dtype=float64)
    """
    both = value_and_grad(fun, argnums, has_aux)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return shows_users_lines(gradient)


@shows_users_lines
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun(*primals)` and its derivative along `tangents`, which have the structures, shapes and dtypes of the
    primals; with `has_aux`, also the other data that `fun` returns.

    >>> bl.jvp(bl.sin, (0.0,), (2.0,))
    (Array(0., dtype=float64), Array(2., dtype=float64))
    """
    check_callable("jvp", fun)
    variables = Variables("jvp", primals, None)
    along = handles_like("jvp: the tangents", tuple(primals), tuple(tangents), variables.handles)
    made, aux = _with_aux("jvp", variables.called(fun, {}), has_aux)
    outputs, structure = outputs_of("jvp", made)
    found = structure(arrays_of(_derived(lambda: _core.jvp(outputs, variables.handles, along), variables.handles)))
    value = structure(arrays_of([_core.settled(handle) for handle in outputs]))
    return (value, found, aux) if has_aux else (value, found)


@shows_users_lines
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun(*primals)`, and a function of adjoints of the value: it returns a tuple of the adjoints of the primals.
    With `has_aux`, also the other data that `fun` returns.

    >>> y, back = bl.vjp(lambda x, s: x * s, np.array([1.0, 2.0]), 3.0)
    >>> back(np.array([1.0, 10.0]))
    (Array([ 3., 30.], dtype=float64), Array(21., dtype=float64))
    """
    check_callable("vjp", fun)
    variables = Variables("vjp", primals, None)
    made, aux = _with_aux("vjp", variables.called(fun, {}), has_aux)
    outputs, structure = outputs_of("vjp", made)

    @shows_users_lines
    def back(adjoints: Any) -> tuple[Any, ...]:
        along = handles_like("vjp: the adjoints", made, adjoints, outputs)
        found = _derived(lambda: _core.vjp(outputs, along, variables.handles), variables.handles)
        tree: tuple[Any, ...] = variables.tree(arrays_of(found))
        return tree

    value = structure(arrays_of([_core.settled(handle) for handle in outputs]))
    return (value, back, aux) if has_aux else (value, back)


def handles_like(what: str, of: Any, given: Any, handles: Sequence[Handle]) -> list[Handle]:
    """The leaves of a tree that has the structure of another one, whose leaves are these handles."""
    leaves, structure = flattened(given, what)
    wanted = flattened(of, what)[1]
    order = matched(structure, wanted)
    if order is None:
        raise TypeError(f"{what} are {shown(structure)}, but must be {shown(wanted)}")
    made = []
    for i, handle in zip(order, handles, strict=True):
        leaf = plain(leaves[i], handle)
        made.append(leaf if isinstance(leaf, Handle) else Handle.full((), leaf, handle.dtype))
    return made


def _jacobian(name: str, is_forward: bool, fun: Any, argnums: int | Sequence[int], has_aux: bool) -> Callable[..., Any]:
    check_callable(name, fun)

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        variables = Variables(name, args, argnums)
        made, aux = _with_aux(name, variables.called(fun, kwargs), has_aux)
        outputs, structure = outputs_of(name, made)
        for handle in (*variables.handles, *outputs):
            extents(handle)
        rows = [
            variables.tree(arrays_of([_core.jacobian(y, x, is_forward) for x in variables.handles])) for y in outputs
        ]
        return (structure(rows), aux) if has_aux else structure(rows)

    return shows_users_lines(jacobian)


@shows_users_lines
def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the Jacobian of `fun` by forward mode, which costs about as much as `fun` for each element of the
    argument. Its shape is that of the result, followed by that of the argument.

    >>> bl.jacfwd(lambda x: x * bl.sum(x))(np.array([1.0, 2.0]))
    Array([[4., 1.],
           [2., 5.]], dtype=float64)
    """
    return _jacobian("jacfwd", True, fun, argnums, has_aux)


@shows_users_lines
def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the Jacobian of `fun` by reverse mode, which costs about as much as `fun` for each element of the
    result. Its shape is that of `jacfwd`.

    >>> bl.jacrev(lambda x: x * bl.sum(x))(np.array([1.0, 2.0]))
    Array([[4., 1.],
           [2., 5.]], dtype=float64)
    """
    return _jacobian("jacrev", False, fun, argnums, has_aux)


@shows_users_lines
def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the second derivatives of `fun`: the Jacobian, by forward mode, of the one by reverse mode.

    >>> bl.hessian(bl.prod)(np.array([2.0, 3.0]))
    Array([[0., 1.],
           [1., 0.]], dtype=float64)
    """
    return jacfwd(jacrev(fun, argnums, has_aux), argnums, has_aux)


@shows_users_lines
def stop_gradient(x: Any) -> Any:
    """The argument, an array, a number or a tree of them, as constants for derivatives.

    >>> bl.grad(lambda x: x * bl.stop_gradient(x))(3.0)
    Array(3., dtype=float64)
    """
    leaves, structure = flattened(x, "stop_gradient: `x`")
    return structure([Array._of(_core.stop_gradient(plain(leaf))) for leaf in leaves])


@shows_users_lines
def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes `fun`, whose scans and `fori_loop`s take less memory in reverse mode: of n states, those before about
    √n blocks of steps are kept, and the others are computed again, block by block. The derivatives have the same bits, except that
    a derivative of theirs in reverse mode adds contributions block by block.

    The states of 2√n steps are stored, not of n, and each is computed once more. What the steps contribute to the adjoints of
    inputs, and of other arrays that they use, is stored for all steps. Other values of `fun` are stored or computed again as the cost
    model decides, with `checkpoint` or without.

    >>> def grown(x):
    ...     return bl.fori_loop(0, 1000, lambda i, y: y + 0.001 * y, x)
    >>> bl.grad(bl.checkpoint(grown))(1.0) == bl.grad(grown)(1.0)
    Array(True, dtype=bool)
    """
    check_callable("checkpoint", fun)

    @functools.wraps(fun)
    def with_fewer_states(*args: Any, **kwargs: Any) -> Any:
        return _core.checkpointed(fun, args, kwargs)

    return with_fewer_states


@shows_users_lines
def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that computes `fun` for each index of an axis of its arguments, as one expression.

    `in_axes` is the axis of each positional argument, or a tuple with one for each; None for an argument that is the same for each
    index. An argument may be a tree, all of whose leaves have the axis. Arguments by keyword have the indices along axis 0. The
    results have the indices along `out_axes`, which is one axis, or a tuple with one for each result of a tuple that `fun`
    returns. `fun` is called once, with arrays that lack the axis and have no values, as by `jit`.

    Raises ValueError for axes that do not exist or have different extents.

    >>> normed = bl.vmap(lambda row: row / bl.sum(row))(np.array([[1.0, 3.0], [2.0, 2.0]]))
    >>> normed
    Array([[0.25, 0.75],
           [0.5 , 0.5 ]], dtype=float64)
    """
    check_callable("vmap", fun)

    @functools.wraps(fun)
    def over_batch(*args: Any, **kwargs: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArityError(f"vmap: in_axes has {len(axes)} axes for {len(args)} positional arguments")
        given: list[Leaf] = []
        structures: list[tuple[Structure, int]] = []
        of_leaves: list[int | None] = []
        named = [(f"argument {number}", arg, axis) for number, (arg, axis) in enumerate(zip(args, axes, strict=True))]
        named += [(f"argument {name}", arg, 0) for name, arg in kwargs.items()]
        for name, arg, axis in named:
            leaves, structure = flattened(arg, f"vmap: {name}")
            given += leaves
            structures.append((structure, len(leaves)))
            of_leaves += [None if axis is None else _axis("in_axes", axis)] * len(leaves)
        returned: list[Structure] = []

        def called(handles: list[Handle]) -> list[Handle]:
            arrays, at, called_with = arrays_of(handles), 0, []
            for structure, count in structures:
                called_with.append(structure(arrays[at : at + count]))
                at += count
            by_name = dict(zip(kwargs, called_with[len(args) :], strict=True))
            made, structure = outputs_of("vmap", fun(*called_with[: len(args)], **by_name))
            returned.append(structure)
            return made

        handles = [handle_of(leaf) for leaf in given]
        for handle, axis in zip(handles, of_leaves, strict=True):
            if axis is not None:
                extents(handle)
        made = arrays_of(_core.vmap(called, handles, of_leaves))
        result = returned[0](made)
        if isinstance(out_axes, (tuple, list)):
            if not isinstance(result, tuple) or len(result) != len(out_axes):
                raise ShapeError(
                    f"vmap: out_axes has {len(out_axes)} axes, but the function does not return as many results"
                )
            return tuple(_moved(tree, _axis("out_axes", axis)) for tree, axis in zip(result, out_axes, strict=True))
        return _moved(result, _axis("out_axes", out_axes))

    return shows_users_lines(over_batch)


def _axis(parameter: str, axis: Any) -> int:
    try:
        return index(axis)
    except TypeError:
        allowed = "an axis, None" if parameter == "in_axes" else "an axis"
        raise TypeError(f"vmap: {parameter} is {allowed} or a tuple of them, and has {axis!r}") from None


def _moved(tree: Any, to: int) -> Any:
    """A tree of arrays with the first axis of each moved to another position."""

    def moved(x: Array) -> Array:
        rank = x.ndim
        if not -rank <= to < rank:
            raise ShapeError(f"vmap: out_axes has {to}, but a result has {rank} axes")
        order = list(range(1, rank))
        order.insert(to % rank, 0)
        return Array._of(x._handle.permute_dims(order))

    return tree if to == 0 else mapped(tree, moved)
