"""The loops of a function that `vectorize` compiles: each becomes a loop of the engine, whose state is the names that an
iteration passes on.

`break` and `return` end the iteration of an element by a flag in the state. A loop is walked several times before it is
built, with inputs in place of its state, until the dtypes of the state no longer change.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np

from broadloom import _core
from broadloom._core import Handle
from broadloom._vectorize_expressions import Expressions, Names, Path, Unset
from broadloom._vectorize_source import Source
from broadloom._vectorize_values import (
    BOOL,
    INT,
    Kind,
    Mask,
    Named,
    Refused,
    Type,
    Value,
    Var,
    apply,
    both,
    cast,
    either,
    joined,
    kind_of,
    kinds,
    leaves,
    opposite,
    select,
    type_of,
    value_of,
)

_UNSIGNED = np.dtype("uint64")
_COUNTER, _FLAG = Kind(INT, True), Kind(BOOL, False)
#: The limit of iterations of a loop over a range, which ends by itself.
_NO_LIMIT = 2**64 - 1

#: Keys of the state that are no names of the function.
_INDEX, _LEFT, _GOING, _BROKE, _RETURNED, _RESULT = "<index>", "<left>", "<going>", "<broke>", "<returned>", "<result>"


class Exits:
    """The paths that leave a block other than by its end."""

    def __init__(self) -> None:
        self.breaks: list[Path] = []
        self.continues: list[Path] = []
        self.returns: list[tuple[Path, Value]] = []


class Range(NamedTuple):
    """The values of a `range`: they are the same for all iterations."""

    start: Value
    stop: Value
    step: Value
    #: Whether there is an iteration, as far as it is known.
    is_empty: bool | None

    @property
    def is_plain(self) -> bool:
        return self.step == 1


class Uses(NamedTuple):
    """The names that a loop assigns, those that the function reads anywhere, and those that it reads outside of the loop."""

    stored: set[str]
    read: set[str]
    read_outside: set[str]


class Iteration(NamedTuple):
    """An iteration of a loop: the paths that go on with the next one, and those that end the loop."""

    on: list[Path]
    breaks: list[Path]
    returns: list[tuple[Path, Value]]


class Plan(NamedTuple):
    """The types and ends of a loop, which are known before it is built."""

    #: The types of the names that have a value before the loop.
    carried: dict[str, Type]
    #: The types of other names that have one after it, if it ends by its condition, and if it ends by `break`.
    by_condition: dict[str, Type]
    by_break: dict[str, Type]
    #: The type of what it returns; None if it does not.
    result: Type | None
    #: Whether it ends by its condition, and by `break`.
    ends: bool
    breaks: bool

    @property
    def goes_by_flag(self) -> bool:
        return self.breaks or self.result is not None


class Loops(Expressions):
    """Computes loops. A subclass runs the statements of their bodies."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        #: The number of loops that are being walked, and not built.
        self.walked = 0
        self.plans: dict[object, Plan | None] = {}
        self._known_uses: dict[int, Uses] = {}

    def block(self, statements: list[ast.stmt], path: Path, exits: Exits) -> Path | None:
        """Runs statements; the path after them, or None if no element reaches it."""
        raise NotImplementedError

    def loop(self, node: ast.While | ast.For, path: Path, exits: Exits) -> Path | None:
        """Runs a loop."""
        counter = self._range(node, path) if isinstance(node, ast.For) else None
        if counter is not None and counter.is_empty:
            return self.block(node.orelse, path, exits)
        key = (id(node), counter and counter.is_empty, tuple((name, _print(x)) for name, x in path.names.items()))
        if key not in self.plans:
            self.walked += 1
            try:
                self.plans[key] = self._planned(node, path, counter)
            finally:
                self.walked -= 1
        plan = self.plans[key]
        if plan is None:
            return self.block(node.orelse, path, exits)
        with self.placed(node):
            state = self._built(node, path, counter, plan)
        return self._after(node, path, plan, state, exits)

    # Ranges.

    def _range(self, node: ast.For, path: Path) -> Range:
        call = node.iter
        is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        function = self.value(call.func, path) if is_range and isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(function, Named) or function.object is not range:
            self.source.error(node.iter, "a loop over something else than a range", "write `for … in range(…)`")
        if not isinstance(node.target, ast.Name):
            self.source.error(node.target, "a loop over something else than a name", "write `for i in range(…)`")
        if call.keywords or not 1 <= len(call.args) <= 3:
            self.source.error(call, "`range` takes one to three numbers")
        values = [self.value(argument, path) for argument in call.args]
        for argument, value in zip(call.args, values, strict=True):
            with self.placed(argument):
                is_whole = kind_of(value).dtype.kind in "iub"
            if not is_whole:
                self.source.error(argument, "a float in `range`", "write int(…)")
        start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
        if isinstance(step, int) and step == 0:
            self.source.error(call, "the step of `range` is 0", "write another step")
        is_empty = None
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
            is_empty = not range(start, stop, step)
        return Range(start, stop, step, is_empty)

    # The names that a loop changes.

    def _uses(self, node: ast.While | ast.For) -> Uses:
        """The names that a loop uses."""
        made = self._known_uses.get(id(node))
        if made is None:
            stored = {name for name, is_stored, _ in self.source.uses(node.body) if is_stored}
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                stored.add(node.target.id)
            inside = {id(name) for _, _, name in self.source.uses([node])}
            reads = [(name, id(at)) for name, is_stored, at in self.source.uses(self.source.body) if not is_stored]
            made = Uses(stored, {name for name, _ in reads}, {name for name, at in reads if at not in inside})
            self._known_uses[id(node)] = made
        return made

    def _head(self, node: ast.While | ast.For, path: Path, state: dict[str, Value]) -> Names:
        """The names at the beginning of an iteration."""
        names = dict(path.names)
        for name in self._uses(node).stored:
            names[name] = state.get(
                name, Unset("may have no value here, in the first iteration", "assign it before the loop")
            )
        return names

    def _iterated(self, node: ast.While | ast.For, names: Names, index: Value | None) -> Iteration:
        exits = Exits()
        if index is not None and isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            names = {**names, node.target.id: index}
        end = self.block(node.body, Path(names, None), exits)
        on = exits.continues if end is None else [end, *exits.continues]
        return Iteration(on, exits.breaks, exits.returns)

    def _planned(self, node: ast.While | ast.For, path: Path, counter: Range | None) -> Plan | None:
        """Walks the loop until the types do not change. None if its condition never holds."""
        stored, everywhere, outside = self._uses(node)
        carried: dict[str, Type] = {}
        for name in stored & everywhere:
            before = path.names.get(name)
            if before is not None and not isinstance(before, Unset):
                carried[name] = self._joined(node, name, [before])
        while True:
            names = self._head(node, path, {name: _input(of) for name, of in carried.items()})
            test = self.condition(node.test, Path(names, None)) if isinstance(node, ast.While) else None
            if test is False:
                return None
            made = self._iterated(node, names, None if counter is None else _input(_COUNTER))
            next_types = {
                name: self._joined(node, name, [_input(of), *_values(name, [*made.on, *made.breaks])])
                for name, of in carried.items()
            }
            if next_types == carried:
                break
            carried = next_types
        others = (stored & outside) - carried.keys()
        by_condition: dict[str, Type] = {}
        by_break: dict[str, Type] = {}
        for name in others:
            ons, breaks = _values(name, made.on), _values(name, made.breaks)
            has_iterated = counter is not None and counter.is_empty is False
            if has_iterated and made.on and not any(isinstance(x, Unset) for x in ons):
                by_condition[name] = self._joined(node, name, ons)
            if made.breaks and not any(isinstance(x, Unset) for x in breaks):
                by_break[name] = self._joined(node, name, breaks)
        for name in by_condition.keys() & by_break.keys():
            by_condition[name] = by_break[name] = joined(by_condition[name], by_break[name])
        result = self._joined(node, "return", [value for _, value in made.returns]) if made.returns else None
        return Plan(carried, by_condition, by_break, result, test is not True, bool(made.breaks))

    def _joined(self, node: ast.stmt, name: str, values: list[Value | Unset]) -> Type:
        """The type that the values of a name promote to."""
        made: Type | None = None
        for value in values:
            try:
                if isinstance(value, Unset):
                    raise Refused(value.what)
                made = type_of(value) if made is None else joined(made, type_of(value))
            except Refused as error:
                self.source.error(node, f"`{name}` changes its type in the loop: {error.what}", "use one name for each")
        assert made is not None
        return made

    # The loop of the engine.

    def _layout(
        self, node: ast.While | ast.For, path: Path, counter: Range | None, plan: Plan
    ) -> tuple[dict[str, Type], dict[str, Value]]:
        """The types of the state, in its order, and the values at its beginning, without those that are 0."""
        types: dict[str, Type] = {**plan.carried, **plan.by_condition, **plan.by_break}
        start: dict[str, Value] = {}
        for name in plan.carried:
            value = path.names[name]
            assert not isinstance(value, Unset)
            start[name] = value
        if counter is not None:
            types[_INDEX], start[_INDEX] = _COUNTER, Var(cast(counter.start, INT))
            if not counter.is_plain:
                types[_LEFT], start[_LEFT] = Kind(_UNSIGNED, False), Var(_trips(counter))
        if plan.goes_by_flag:
            types[_GOING], start[_GOING] = _FLAG, True if path.mask is None else Var(path.mask)
        if plan.breaks and node.orelse:
            types[_BROKE] = _FLAG
        if plan.result is not None:
            types[_RETURNED], types[_RESULT] = _FLAG, plan.result
        return types, start

    def _built(self, node: ast.While | ast.For, path: Path, counter: Range | None, plan: Plan) -> dict[str, Value]:
        """The state after the loop."""
        is_counted = counter is not None and counter.is_plain and not plan.goes_by_flag
        types, start = self._layout(node, path, None if is_counted else counter, plan)
        if self.walked:
            return {key: _input(of) for key, of in types.items()}
        if not types:
            if counter is not None:
                return {}
            # The condition never changes.
            types[_LEFT] = _COUNTER
        first = [leaf for key, of in types.items() for leaf in leaves(start.get(key, _zero(of)), of)]

        def condition(state: dict[str, Value], index: Handle | None = None) -> Mask:
            mask = _flag(state, _GOING) if plan.goes_by_flag else path.mask
            if isinstance(node, ast.While):
                test = self.condition(node.test, Path(self._head(node, path, state), mask))
            else:
                assert counter is not None
                test = _is_left(counter, state, index)
            return both(mask, test if isinstance(test, Handle) else None)

        def tested(handles: list[Handle]) -> list[Handle | bool | int | float]:
            made = condition(_state(types, handles))
            return [cast(True, BOOL) if made is None else made]

        def repeated(handles: list[Handle], index: Handle | None = None) -> list[Handle | bool | int | float]:
            state = _state(types, handles)
            at = state.get(_INDEX) if index is None else Var(index, True)
            made = self._iterated(node, self._head(node, path, state), at)
            last = self._next(state, made)
            if counter is not None and not is_counted:
                step = cast(counter.step, INT)
                last[_INDEX] = Var(apply("add", cast(state[_INDEX], INT), step), True)
                if not counter.is_plain:
                    last[_LEFT] = Var(apply("subtract", cast(state[_LEFT], _UNSIGNED), cast(1, _UNSIGNED)))
            return [leaf for key, of in types.items() for leaf in leaves(last[key], of)]

        if is_counted:
            assert counter is not None
            lower, upper = cast(counter.start, INT), cast(counter.stop, INT)
            if path.mask is not None:
                upper = apply("where", path.mask, upper, lower)
            made = _core.fori_loop(lower, upper, lambda handles: repeated(handles[1:], handles[0]), first)
        else:
            made = _core.while_loop(tested, repeated, first, None if counter is None else _NO_LIMIT)
        return _state(types, made)

    def _next(self, state: dict[str, Value], made: Iteration) -> dict[str, Value]:
        """The state after an iteration."""
        last = dict(state)
        paths = [*made.on, *made.breaks]
        for key in state:
            chosen: list[tuple[Mask, Value]] = []
            for path in paths:
                value = path.names.get(key)
                if value is not None and not isinstance(value, Unset):
                    chosen.append((path.mask, value))
            if chosen:
                last[key] = chosen_value(chosen)
        if made.returns:
            last[_RESULT] = chosen_value([(path.mask, value) for path, value in made.returns])
        for key, taken in (
            (_GOING, made.on),
            (_BROKE, made.breaks),
            (_RETURNED, [path for path, _ in made.returns]),
        ):
            if key in state:
                mask = taken[0].mask if taken else None
                for path in taken[1:]:
                    mask = either(mask, path.mask)
                last[key] = Var(mask) if mask is not None else bool(taken)
        return last

    def _after(
        self, node: ast.While | ast.For, path: Path, plan: Plan, state: dict[str, Value], exits: Exits
    ) -> Path | None:
        """The path after a loop, and after its `else`."""
        mask = path.mask
        if plan.result is not None:
            returned = _flag(state, _RETURNED)
            exits.returns.append((Path({}, both(mask, returned)), state[_RESULT]))
            mask = both(mask, opposite(returned))
        by_condition = self._kept(node, path, state, plan.carried | plan.by_condition) if plan.ends else None
        by_break = self._kept(node, path, state, plan.carried | plan.by_break) if plan.breaks else None
        if by_break is None:
            return None if by_condition is None else self.block(node.orelse, Path(by_condition, mask), exits)
        if by_condition is None:
            return Path(by_break, mask)
        if not node.orelse:
            kept = {name: value for name, value in by_break.items() if not isinstance(by_condition[name], Unset)}
            return Path({**by_condition, **kept}, mask)
        broke = _flag(state, _BROKE)
        normal = Path(by_condition, both(mask, opposite(broke)))
        end = self.block(node.orelse, Path(dict(by_condition), normal.mask), exits)
        broken = Path(by_break, both(mask, broke))
        if end is None:
            return broken
        is_whole = end.mask is normal.mask
        return Path(merged(broke, by_break, end.names), mask if is_whole else either(broken.mask, end.mask))

    def _kept(self, node: ast.While | ast.For, path: Path, state: dict[str, Value], names: dict[str, Type]) -> Names:
        """The names after the loop, of which those given have a value."""
        unset = Unset("may have no value here, if the loop ends at once", "assign it before the loop")
        kept = dict(path.names)
        for name in self._uses(node).stored:
            kept[name] = state[name] if name in names else unset
        return kept


def merged(condition: Handle, a: Names, b: Names) -> Names:
    """The names where two paths meet: those of the first where the condition holds."""
    made: Names = {}
    for name in {**a, **b}:
        x, y = a.get(name), b.get(name)
        if x is None or y is None or isinstance(x, Unset) or isinstance(y, Unset):
            made[name] = Unset(
                "may have no value here, since one branch does not assign it", "assign it before the branch"
            )
            continue
        try:
            made[name] = select(condition, x, y)
        except Refused as error:
            made[name] = Unset(f"differs between the paths to here: {error.what}", "use two names")
    return made


def chosen_value(values: list[tuple[Mask, Value]]) -> Value:
    """The value of the path that an element takes; Refused for values that do not promote."""
    made = values[-1][1]
    for mask, value in reversed(values[:-1]):
        made = value if mask is None else select(mask, value, made)
    return made


def _trips(counter: Range) -> Handle:
    """The number of iterations of a range, which may exceed the largest int64."""
    start, stop, step = (cast(value, INT) for value in (counter.start, counter.stop, counter.step))
    zero = cast(0, INT)
    is_up = apply("greater", step, zero)
    span = apply("where", is_up, apply("subtract", stop, start), apply("subtract", start, stop)).astype(_UNSIGNED)
    size = apply("where", is_up, step, apply("negative", step)).astype(_UNSIGNED)
    one = cast(1, _UNSIGNED)
    divisor = apply("maximum", size, one)
    trips = apply("add", apply("floor_divide", apply("subtract", span, one), divisor), one)
    is_any = apply(
        "where",
        is_up,
        apply("less", start, stop),
        apply("logical_and", apply("greater", start, stop), apply("less", step, zero)),
    )
    return apply("where", is_any, trips, cast(0, _UNSIGNED))


def _is_left(counter: Range, state: dict[str, Value], index: Handle | None) -> Handle:
    """Whether there is another integer in a range."""
    if counter.is_plain:
        return apply("less", cast(state[_INDEX], INT) if index is None else index, cast(counter.stop, INT))
    return apply("greater", cast(state[_LEFT], _UNSIGNED), cast(0, _UNSIGNED))


def _state(types: dict[str, Type], handles: list[Handle]) -> dict[str, Value]:
    state: dict[str, Value] = {}
    at = 0
    for key, of in types.items():
        count = len(kinds(of))
        state[key] = value_of(of, handles[at : at + count])
        at += count
    return state


def _input(of: Type) -> Value:
    """A value of a type, without values of its own."""
    return value_of(of, [Handle.input("v", kind.dtype, []) for kind in kinds(of)])


def _zero(of: Type) -> Value:
    return value_of(of, [cast(0, kind.dtype) for kind in kinds(of)])


def _flag(state: dict[str, Value], key: str) -> Handle:
    return cast(state[key], BOOL)


def _values(name: str, paths: list[Path]) -> list[Value | Unset]:
    missing = Unset("it has no value on one path", "")
    return [path.names.get(name, missing) for path in paths]


def _print(value: Value | Unset) -> object:
    """The part of a value that decides the types in a loop."""
    if isinstance(value, Var):
        return str(value.handle.dtype), value.weak
    if isinstance(value, tuple):
        return tuple(map(_print, value))
    if isinstance(value, Named):
        return id(value.object)
    return "" if isinstance(value, Unset) else (type(value).__name__, repr(value))
