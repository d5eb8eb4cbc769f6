"""The expressions of a function that `vectorize` compiles.

Both sides of a conditional expression, of `and` and of `or` are computed for all elements, and `where` selects. What
could raise an error takes the condition of its elements into account.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

import numpy as np

from broadloom._core import Handle
from broadloom._errors import Error, VectorizeError
from broadloom._jit import JitFunction
from broadloom._syntax import OPS
from broadloom._vectorize_functions import function_of
from broadloom._vectorize_source import Source
from broadloom._vectorize_values import (
    Mask,
    Named,
    Refused,
    Value,
    Var,
    apply,
    binary,
    both,
    cast,
    compare,
    opposite,
    select,
    shown,
    truth,
    type_of,
    unary,
)

#: Advice for objects that are no functions of elements, by their names.
_INSTEAD = {
    "print": "leave it out, or return the value as another result",
    "range": "write `for … in range(…)`",
    "sum": "add the values with `+`, or in a loop",
    "any": "write `or`",
    "all": "write `and`",
    "len": "pass the length as an argument",
    "isinstance": "leave it out: every value is a number",
    "enumerate": "write `for … in range(…)`",
    "zip": "write `for … in range(…)`",
    "complex": "use two floats",
}

#: The maximum number of calls within each other.
MAX_CALLS = 50


class Unset:
    """The state of a name that may have no value: a reason for the error of its use."""

    __slots__ = ("advice", "what")

    def __init__(self, what: str, advice: str) -> None:
        self.what, self.advice = what, advice


#: The values of the names of a function.
Names: TypeAlias = "dict[str, Value | Unset]"


class Path:
    """A place that elements reach: the values of names there, and which elements reach it."""

    __slots__ = ("mask", "names")

    def __init__(self, names: Names, mask: Mask) -> None:
        self.names, self.mask = names, mask

    def where(self, condition: Handle) -> Path:
        """The path of the elements for which the condition holds, with the same names."""
        return Path(self.names, both(self.mask, condition))


class Expressions:
    """Computes expressions. A subclass runs the functions that they call."""

    def __init__(self, source: Source) -> None:
        self.source = source
        #: The functions whose calls lead to the place that is compiled.
        self.calls: list[Any] = []

    def inlined(self, source: Source, arguments: Names, path: Path) -> Value:
        """The result of a function that is called."""
        raise NotImplementedError

    def called(self, function: Any) -> tuple[Source, Any] | None:
        """The source of a function made by `vectorize`, and its signatures; None for another object."""
        raise NotImplementedError

    def value(self, node: ast.expr, path: Path) -> Value:
        """The value of an expression for the elements of a path."""
        compute = self._TABLE.get(type(node))
        if compute is None:
            self.source.error(node, f"an expression that is not compiled ({type(node).__name__})", "use numbers")
        with self.placed(node):
            made: Value = compute(self, node, path)
        return made

    @contextlib.contextmanager
    def placed(self, node: ast.AST) -> Iterator[None]:
        """Names the place of this part of the function in errors."""
        source = self.source
        try:
            yield
        except Refused as error:
            source.error(node, error.what, error.advice)
        except VectorizeError:
            raise
        except (Error, OverflowError) as error:
            source.error(node, str(error))

    def condition(self, node: ast.expr, path: Path) -> bool | Handle:
        """Whether an expression is true."""
        value = self.value(node, path)
        with self.placed(node):
            return truth(value)

    def _constant(self, node: ast.Constant, path: Path) -> Value:
        if isinstance(node.value, (bool, int, float)):
            return node.value
        if node.value is None:
            raise Refused("None, which is no number", "use nan, or a bool beside the number")
        raise Refused(f"{type(node.value).__name__}, which is no real number", "use numbers")

    def _name(self, node: ast.Name, path: Path) -> Value:
        found = path.names.get(node.id)
        if isinstance(found, Unset):
            raise Refused(f"`{node.id}` {found.what}", found.advice)
        if found is not None:
            return found
        if self.source.is_local(node.id):
            raise Refused(f"`{node.id}` has no value here", "assign it before")
        return self._constant_of(node.id, self.source.found(node))

    def _constant_of(self, name: str, found: Any) -> Value:
        """The value of an object from outside of the function."""
        if isinstance(found, (bool, int, float)) and type(found) in (bool, int, float):
            return found
        if isinstance(found, np.generic) and found.dtype.kind in "biuf":
            return Var(Handle.full((), found.item(), found.dtype))
        if type(found) is tuple:
            return tuple(self._constant_of(name, part) for part in found)
        if hasattr(found, "__array__") and not isinstance(found, type):
            raise Refused(f"`{name}` is an array from outside of the function", "make it a parameter")
        return Named(found)

    def _attribute(self, node: ast.Attribute, path: Path) -> Value:
        of = self.value(node.value, path)
        if not isinstance(of, Named):
            raise Refused(f"`.{node.attr}` of {shown(of)}", "call a function with it")
        try:
            found = getattr(of.object, node.attr)
        except AttributeError as error:
            raise Refused(str(error), "is it misspelt?") from None
        return self._constant_of(node.attr, found)

    def _tuple(self, node: ast.Tuple, path: Path) -> Value:
        return tuple(self.value(part, path) for part in node.elts)

    def _subscript(self, node: ast.Subscript, path: Path) -> Value:
        of = self.value(node.value, path)
        if not isinstance(of, tuple):
            raise Refused(f"an index of {shown(of)}", "pass the element as an argument")
        if isinstance(node.slice, ast.Slice):
            raise Refused("a slice", "unpack the tuple")
        index = self.value(node.slice, path)
        if not isinstance(index, int):
            raise Refused("an index that differs between elements", "choose with a conditional expression")
        try:
            return of[index]
        except IndexError:
            raise Refused(f"the index {index} of {shown(of)}") from None

    def _binary(self, node: ast.BinOp, path: Path) -> Value:
        return self.operated(node.op, self.value(node.left, path), self.value(node.right, path), path)

    def operated(self, op: ast.operator, x: Value, y: Value, path: Path) -> Value:
        """The value of an operator."""
        if type(op) not in OPS:
            raise Refused("a matrix product", "write the sums of products")
        return binary(OPS[type(op)], x, y, path.mask)

    def _unary(self, node: ast.UnaryOp, path: Path) -> Value:
        x = self.value(node.operand, path)
        if not isinstance(node.op, ast.Not):
            return unary(OPS[type(node.op)], x)
        test = truth(x)
        return Var(opposite(test)) if isinstance(test, Handle) else not test

    def _compare(self, node: ast.Compare, path: Path) -> Value:
        left = self.value(node.left, path)
        made: bool | Handle = True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand, path)
            test = truth(self._compared(op, left, right))
            if test is False:
                return False
            if isinstance(test, Handle):
                # The operands after it are evaluated only for the elements for which it holds.
                path, made = path.where(test), test if isinstance(made, bool) else _all(made, test)
            left = right
        return made if isinstance(made, bool) else Var(made)

    def _compared(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        if type(op) in OPS:
            return compare(OPS[type(op)], left, right)
        if isinstance(op, (ast.In, ast.NotIn)):
            raise Refused("`in`", "write `==` and `or`")
        raise Refused("`is`", "write `==`")

    def _boolean(self, node: ast.BoolOp, path: Path) -> Value:
        return self._rest(node, 0, path)

    def _rest(self, node: ast.BoolOp, at: int, path: Path) -> Value:
        """The value of the operands from one on."""
        first = self.value(node.values[at], path)
        if at + 1 == len(node.values):
            return first
        test = truth(first)
        is_and = isinstance(node.op, ast.And)
        if isinstance(test, bool):
            return self._rest(node, at + 1, path) if test is is_and else first
        rest = self._rest(node, at + 1, path.where(test if is_and else opposite(test)))
        if isinstance(first, Var) and test is first.handle and type_of(rest) == type_of(first):
            return Var(apply("logical_and" if is_and else "logical_or", test, cast(rest, test.dtype)))
        return select(test, rest, first) if is_and else select(test, first, rest)

    def _conditional(self, node: ast.IfExp, path: Path) -> Value:
        test = self.condition(node.test, path)
        if isinstance(test, bool):
            return self.value(node.body if test else node.orelse, path)
        chosen = self.value(node.body, path.where(test))
        other = self.value(node.orelse, path.where(opposite(test)))
        return select(test, chosen, other)

    def _call(self, node: ast.Call, path: Path) -> Value:
        called = self.value(node.func, path)
        if not isinstance(called, Named):
            raise Refused(f"a call of {shown(called)}")
        positional = [self.value(argument, path) for argument in node.args]
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Refused("`**`", "write the values one by one")
            keywords[keyword.arg] = self.value(keyword.value, path)
        function = function_of(called.object)
        if function is not None:
            if keywords:
                raise Refused(f"the keyword `{next(iter(keywords))}`", "pass the arguments by their positions")
            return function(positional, path.mask)
        return self._of_user(called.object, positional, keywords, path)

    def _of_user(self, called: Any, positional: list[Value], keywords: dict[str, Value], path: Path) -> Value:
        known = self.called(called)
        if known is None:
            if not isinstance(called, types.FunctionType) or called.__module__.partition(".")[0] == "broadloom":
                _refuse_call(called)
            known = Source(called), None
        source, signatures = known
        if source.function in self.calls or len(self.calls) >= MAX_CALLS:
            raise Refused(f"`{source.name}` calls itself", "write a loop")
        arguments = arguments_of(source, positional, keywords)
        if signatures is not None:
            arguments = signatures.fitted(source.name, arguments)
        # The place of the call is the one that errors of its own arguments name.
        return self.inlined(source, {name: self._argument(name, value) for name, value in arguments.items()}, path)

    def _argument(self, name: str, value: Any) -> Value:
        return value if isinstance(value, (Var, Named, tuple)) else self._constant_of(name, value)

    _TABLE: dict[type[ast.expr], Any] = {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Tuple: _tuple,
        ast.Subscript: _subscript,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.BoolOp: _boolean,
        ast.IfExp: _conditional,
        ast.Call: _call,
    }


def _all(a: Handle, b: Handle) -> Handle:
    made = both(a, b)
    assert made is not None
    return made


def arguments_of(source: Source, positional: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of parameters, with defaults. Refused if they do not fit."""
    try:
        bound = inspect.signature(source.function).bind(*positional, **keywords)
    except TypeError as error:
        raise Refused(f"{source.name}(): {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _refuse_call(called: Any) -> NoReturn:
    """Raises Refused for a call of something else than a function of elements."""
    name = getattr(called, "__name__", type(called).__name__)
    module = getattr(called, "__module__", None) or ""
    if isinstance(called, JitFunction):
        raise Refused(f"`{name}` is a function of arrays", "decorate it with `vectorize` instead of `jit`")
    if module.partition(".")[0] in ("broadloom", "numpy"):
        advice = "call it outside of the function, with arrays"
        raise Refused(f"`{name}` is no function of elements", _INSTEAD.get(name, advice))
    if module == "math":
        advice = "use the functions of `math` that broadloom has, or compute it outside of the function"
        raise Refused(f"`math.{name}` has no equivalent for arrays", advice)
    advice = "pass the result as an argument"
    raise Refused(f"a call of `{name}`, whose source can't be read", _INSTEAD.get(name, advice))
