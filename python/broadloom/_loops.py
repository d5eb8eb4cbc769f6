"""Loops and conditionals over the elements of arrays, and recurrences along an axis.

The functions of a loop are called with arrays that have no values, and the engine records what they compute. A state is
a tree of tuples, lists and dicts; its leaves are passed to the engine in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle
from broadloom._loop_states import Leaf, Operand, State, flattened, plain, shown
from broadloom._operators import operand
from broadloom._scalars import Scalar
from broadloom._structure import Structure, matched
from broadloom._tracebacks import shows_users_lines

__all__: list[str] = ["cond", "fori_loop", "reduce", "scan", "while_loop"]


@shows_users_lines
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, limit: int | None = None, counts: bool = False
) -> Any:
    """Repeats `body` for each element while `cond` holds, and returns the last state.

    A state is an array or a number, or a tuple, list or dict of states. `cond(state)` is a bool for each element, and
    `body(state)` is the next state, with the same structure, shapes and dtypes. The two are called with arrays that
    have no values, as a function is by `jit`, and may use other arrays. The loop has the shape to which the state and
    these arrays broadcast. A Python number in the state takes the dtype that the body gives it. The keys of a dict may have
    any order; the last state has the order of the initial one.

    Each element performs its own iterations, as a scalar program would: once its condition is false, which is tested
    before each iteration, its values do not change any more. Iterations that it does not perform raise no errors.

    An element ends after `limit` iterations. Without a limit, more than a million iterations of an element raise
    LimitError when the result is computed. With `counts=True`, returns the state and the number of iterations of each
    element, int64.

    Raises TypeError or ValueError for functions that are not element-wise (reductions, views), and for a state whose
    structure, shapes or dtypes change. It names a carried value by its position among the leaves of the state.

    >>> a = bl.asarray([2.0, 9.0, 1e-6])
    >>> bl.while_loop(lambda x: abs(x * x - a) > 1e-15 * a, lambda x: (x + a / x) / 2, 1.0, limit=100)
    Array([1.41421356e+00, 3.00000000e+00, 1.00000000e-03], dtype=float64)
    """
    of = State("while_loop", state)
    count = len(of)

    def tested(handles: list[Handle]) -> list[Operand]:
        made, structure = flattened(cond(of.tree(handles[:count])), "the condition's result")
        if not structure.is_one_leaf:
            raise TypeError(f"while_loop: the condition returns {shown(structure)}, but must return one array of bools")
        return [plain(made[0])]

    def repeated(handles: list[Handle]) -> list[Operand]:
        state = handles[:count]
        made = of.next(state, of.called(state, body))
        made.extend(_core.apply("add", handle, 1) for handle in handles[count:])
        return made

    most = None if limit is None else index(limit)
    if most is not None and most < 0:
        raise ValueError(f"while_loop: the limit is {most}, but must be at least 0")
    most = None if most is None else min(most, 2**64 - 1)
    counted = [Handle.full([], 0, "int64")] if counts else []
    made = of.run(lambda leaves: _core.while_loop(tested, repeated, [*leaves, *counted], most))
    last = of.tree(made[:count])
    return (last, Array._of(made[count])) if counts else last


@shows_users_lines
def fori_loop(lower: Array | int, upper: Array | int, body: Callable[[Any, Any], Any], state: Any) -> Any:
    """Repeats `body` for each integer from `lower` up to `upper`, exclusive, and returns the last state.

    `body(i, state)` is the next state, as in `while_loop`. The bounds may be arrays, so that each element has its own
    range, which may be empty. The integer is int64 if both bounds are Python integers, and otherwise has the dtype to
    which the arrays promote.

    Raises TypeError for bounds that are no integers, and what `while_loop` raises.

    >>> n = bl.asarray([3, 0, 5])
    >>> bl.fori_loop(0, n, lambda i, total: total + i, 0)
    Array([ 3,  0, 10], dtype=int64)
    """
    of = State("fori_loop", state)

    def repeated(handles: list[Handle]) -> list[Operand]:
        i, carried = Array._of(handles[0]), handles[1:]
        return of.next(carried, of.called(carried, lambda state: body(i, state)))

    bounds = _in_common(lower, upper)
    return of.tree(of.run(lambda leaves: _core.fori_loop(*bounds, repeated, leaves)))


def _in_common(lower: Any, upper: Any) -> tuple[Operand, Operand]:
    """Two bounds as operands."""
    first, second = (x if isinstance(x, Scalar) else operand(x) for x in (lower, upper))
    return plain(first, second), plain(second, first)


@shows_users_lines
def cond(
    predicate: Array | bool,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:
    """Computes `true_fun(*operands)` for the elements where `predicate` holds, and `false_fun(*operands)` for the others.

    The functions return an array or a number, or the same tree of tuples, lists and dicts of them. The results are those
    of `where`, with the same dtypes; they have the shape to which the predicate and the arrays used in the functions
    broadcast. Errors occur for exactly the elements that take the branch. The interpreter skips an expensive branch where
    no element of a tile takes it; machine code computes it for all elements. Reductions and views in the functions are
    computed for all elements.

    Raises TypeError or ValueError for a predicate that is not bool, and for results that differ in structure or have no
    common dtype or shape.

    >>> a, b = bl.asarray([7, 8]), bl.asarray([2, 0])
    >>> bl.evaluate(bl.cond(b != 0, lambda: a // b, lambda: -1), int_division="error")
    Array([ 3, -1], dtype=int64)
    """
    structures: list[Structure] = []
    #: The leaves that each function has returned, and those that each is combined with.
    returned: list[list[Leaf]] = []
    others: list[list[Leaf]] = []

    def branch(function: Callable[..., Any]) -> Callable[[list[Handle]], list[Operand]]:
        def leaves(_: list[Handle]) -> list[Operand]:
            found, structure = flattened(function(*operands), "a result")
            structures.append(structure)
            order = matched(structure, structures[0])
            if order is None:
                raise TypeError(f"cond: one function returns {shown(structures[0])}, the other {shown(structure)}")
            returned.append([found[i] for i in order])
            if others:
                return [plain(leaf, other) for leaf, other in zip(returned[-1], others[-len(returned)], strict=True)]
            return [leaf.sample() if isinstance(leaf, Scalar) else plain(leaf) for leaf in returned[-1]]

        return leaves

    def build() -> list[Handle]:
        return _core.cond(operand(predicate), branch(true_fun), branch(false_fun))

    made = build()
    if any(isinstance(leaf, Scalar) for leaves in returned for leaf in leaves):
        # The other function's result determines the dtype of a traced number, so both must have been called.
        others, returned = returned[:], []
        made = build()
    return structures[0]([Array._of(handle) for handle in made])


@shows_users_lines
def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,
    inputs: Any = None,
    axis: int = 0,
    reverse: bool = False,
    *,
    length: int | None = None,
) -> tuple[Any, Any]:
    """Runs `step` at each index of an axis, one after another, and returns the last state and all outputs.

    A state is an array or a number, or a tuple, list or dict of states; so are the inputs and the outputs.
    `step(state, x)` takes the elements of the inputs at one index, and returns the next state and the outputs at this
    index, or None for no outputs. It is called with arrays that have no values, as a function is by `jit`, and works
    element by element along all other axes. Arrays that it uses are the same at each index, and lack the axis, except
    those of which it takes elements (`table[state, x]`). Initial states broadcast to the other axes; a Python number in
    the state takes the dtype that the step gives it.

    Without inputs, `length` is the number of steps. With `reverse=True`, the steps run from the last index to the
    first. An axis without elements leaves the initial state. `jax.lax.scan(f, init, xs)` has the same arguments, for
    the first axis.

    The steps are performed in order, so a running sum rounds otherwise than `cumulative_sum`, which adds pairwise.

    Raises TypeError or ValueError for a step that is not element-wise (reductions, views), for a state whose structure,
    shapes or dtypes change, and for inputs that have no such axis or different lengths along it.

    >>> x = bl.asarray([8.0, 0.0, 4.0])
    >>> def average(mean, x):
    ...     mean = mean + (x - mean) / 2
    ...     return mean, mean
    >>> last, means = bl.scan(average, 0.0, x)
    >>> means
    Array([4., 2., 3.], dtype=float64)
    """
    of = State("scan", state)
    count = len(of)
    given, elements = ([], None) if inputs is None else flattened(inputs, "inputs")
    outputs: list[Structure | None] = [None]

    def stepped(handles: list[Handle]) -> list[Operand]:
        carried = handles[:count]
        x = None if elements is None else elements([Array._of(handle) for handle in handles[count:]])
        returned = of.called(carried, lambda state: step(state, x))
        if not isinstance(returned, tuple) or len(returned) != 2:
            kind = "array" if isinstance(returned, Array) else type(returned).__name__
            what = f"tuple of {len(returned)}" if isinstance(returned, tuple) else kind
            raise TypeError(
                f"scan: the step returns {'an' if what[0] in 'aeio' else 'a'} {what}, but must return a tuple of the next "
                f"state and the outputs"
            )
        made = of.next(carried, returned[0], "step")
        if returned[1] is None:
            outputs[0] = None
            return made
        leaves, outputs[0] = flattened(returned[1], "the step's outputs")
        return made + [plain(leaf) for leaf in leaves]

    steps = None if length is None else index(length)
    if steps is not None and steps < 0:
        raise ValueError(f"scan: the length is {steps}, but must be at least 0")
    along, arrays = index(axis), [plain(leaf) for leaf in given]
    made = of.run(lambda leaves: _core.scan(stepped, leaves, arrays, along, bool(reverse), steps))
    last = of.tree(made[:count])
    return last, None if outputs[0] is None else outputs[0]([Array._of(handle) for handle in made[count:]])


@shows_users_lines
def reduce(combine: Callable[[Any, Any], Any], identity: Any, values: Any, axis: int = 0) -> Any:
    """Reduces values together along an axis by a function of two elements.

    The values are an array, or a tuple, list or dict of arrays, which broadcast to one shape. `combine(a, b)` takes the
    elements to the left and those to the right, and returns one element of each value, with the same structure and
    dtypes. It is called with arrays that have no values, as a function is by `jit`, and works element by element along
    all other axes. `identity` is the result for an axis without elements, and is otherwise combined with nothing; a
    Python number in it takes the dtype of the value.

    Elements are combined in the order of `sum`: those whose numbers are equal modulo 16 as a binary tree of adjacent
    pairs, then the 16 results in the same way, on every machine and for any number of threads. The order does not
    combine neighbours first, so `combine` should be associative and commutative. `jax.lax.reduce(values, identity, combine, [axis])`
    has its arguments in another order, and states no order of the elements.

    Raises TypeError or ValueError for a function that is not element-wise (reductions, views), for results of another
    structure, shape or dtype, and for values that have no such axis or different lengths along it.

    >>> x = bl.asarray([2.0, 7.0, 1.0, 7.0])
    >>> def larger(a, b):
    ...     is_left = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    ...     return bl.where(is_left, a[0], b[0]), bl.where(is_left, a[1], b[1])
    >>> bl.reduce(larger, (-bl.inf, -1), (x, bl.arange(4)))
    (Array(7., dtype=float64), Array(1, dtype=int64))
    """
    of = State("reduce", identity, "identity")
    count = len(of)
    given, made = flattened(values, "values")
    order = of.order(made)
    if order is None:
        raise TypeError(f"reduce: the identity is {of}, but the values are {shown(made)}")

    def combined(handles: list[Handle]) -> list[Operand]:
        right = of.tree(handles[count:])
        return of.next(handles[:count], of.called(handles[:count], lambda left: combine(left, right)), "function")

    along, arrays = index(axis), [plain(given[i]) for i in order]
    # A number of the identity has the dtype of the value, so that no other kind of number would fit.
    return of.tree(_core.reduce(combined, of.operands(), arrays, along))
