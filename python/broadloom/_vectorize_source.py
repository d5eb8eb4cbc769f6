"""The source of a function that `vectorize` compiles: its syntax tree, the objects that its names refer to, and the
places in its file that errors name.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from broadloom._errors import VectorizeError

#: Statements and expressions that no element can compute, and what to write instead.
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Assert: ("`assert`", "check the arguments before the call, or return nan where the condition does not hold"),
    ast.Raise: ("`raise`", "return nan, or a second result that is a bool"),
    ast.Try: ("`try`", "test for the case with `if`: operations on numbers raise nothing here"),
    ast.TryStar: ("`try`", "test for the case with `if`: operations on numbers raise nothing here"),
    ast.With: ("`with`", "put the call of the whole function in the `with` block"),
    ast.Match: ("`match`", "write `if` and `elif`"),
    ast.Delete: ("`del`", "leave it out"),
    ast.Global: ("`global`", "return the value"),
    ast.Nonlocal: ("`nonlocal`", "return the value"),
    ast.Import: ("`import`", "import the module outside of the function"),
    ast.ImportFrom: ("`import`", "import the module outside of the function"),
    ast.FunctionDef: ("a function in the function", "define it outside of the function"),
    ast.AsyncFunctionDef: ("a function in the function", "define it outside of the function"),
    ast.ClassDef: ("a class in the function", "use numbers and tuples"),
    ast.AsyncFor: ("`async for`", "write `for … in range(…)`"),
    ast.AsyncWith: ("`async with`", "leave it out"),
    ast.Lambda: ("a function in the function", "define it outside of the function"),
    ast.NamedExpr: ("`:=`", "assign to the name in a statement of its own"),
    ast.Dict: ("a dict", "use a variable for each value, or a tuple"),
    ast.Set: ("a set", "use a variable for each value, or a tuple"),
    ast.List: ("a list", "use a variable for each value, or a tuple"),
    ast.ListComp: ("a list", "write a loop that updates a number"),
    ast.SetComp: ("a set", "write a loop that updates a number"),
    ast.DictComp: ("a dict", "write a loop that updates a number"),
    ast.GeneratorExp: ("a generator", "write a loop that updates a number"),
    ast.Await: ("`await`", "leave it out"),
    ast.Yield: ("`yield`", "return the values as a tuple"),
    ast.YieldFrom: ("`yield`", "return the values as a tuple"),
    ast.JoinedStr: ("a text", "use numbers"),
    ast.Starred: ("`*`", "write the values one by one"),
}


class Source:
    """A function's syntax tree and names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Reads the source; VectorizeError if there is none, or if it has syntax that can't be compiled."""
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        code = getattr(function, "__code__", None)
        if not isinstance(function, types.FunctionType) or code is None:
            raise VectorizeError(
                f"vectorize: {self.name} is {type(function).__name__}, which has no source in Python; pass a function "
                f"that is written with `def` or `lambda`"
            )
        self._file = function.__code__.co_filename
        self._line = 0
        # PERF: `inspect.findsource` takes 8 ms, since it looks for the module among all those that are loaded.
        linecache.checkcache(self._file)
        self._lines = linecache.getlines(self._file, function.__globals__)
        first = function.__code__.co_firstlineno - 1
        if first >= len(self._lines):
            raise VectorizeError(
                f"vectorize: there is no source of {self.name}, since it comes from `exec` or an interactive prompt; "
                f"define it in a file or a notebook"
            )
        if self.name == "<lambda>":
            self.node: ast.FunctionDef | ast.Lambda = self._lambda()
        else:
            self.node = self._function(first)
        body = self.node.body
        self.body: list[ast.stmt] = body if isinstance(body, list) else [ast.copy_location(ast.Return(body), body)]
        self.parameters = [parameter.arg for parameter in ast.walk(self.node.args) if isinstance(parameter, ast.arg)]
        if self.node.args.vararg or self.node.args.kwarg:
            self.error(self.node, "a function of any number of arguments", "name each parameter")
        self.stored = {name for name, is_stored, _ in self.uses(self.body) if is_stored}
        self._refuse_syntax()

    def _function(self, first: int) -> ast.FunctionDef:
        lines = inspect.getblock(self._lines[first:])
        self._line = first
        if lines[0][:1].isspace():
            # The block is parsed as the body of an `if` statement, whose line comes before.
            lines = ["if True:\n", *lines]
            self._line -= 1
        for node in ast.walk(self._parsed("".join(lines))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if isinstance(node, ast.FunctionDef) and node.name == self.function.__code__.co_name:
                    return node
                break
        raise VectorizeError(
            f"vectorize: the source of {self.name} is not found in {self._file}; has the file changed?"
        )

    def _lambda(self) -> ast.Lambda:
        code = self.function.__code__
        tree = self._parsed("".join(self._lines))
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
        if len(found) > 1:
            found = _of_code(found, code)
        if len(found) != 1:
            raise VectorizeError(
                f"{self._file}:{code.co_firstlineno}: vectorize: the lambda is not found among those of its line; "
                f"define the function with `def`"
            )
        return found[0]

    def _parsed(self, text: str) -> ast.Module:
        try:
            return ast.parse(text)
        except SyntaxError as error:
            raise VectorizeError(
                f"vectorize: the source of {self.name} in {self._file} can't be read: {error}; has the file changed?"
            ) from None

    def _refuse_syntax(self) -> None:
        for statement in self.body:
            for node in ast.walk(statement):
                if type(node) in _REFUSED and not (isinstance(node, ast.List) and isinstance(node.ctx, ast.Store)):
                    self.error(node, *_REFUSED[type(node)])

    def error(self, node: ast.AST, what: str, advice: str = "") -> NoReturn:
        """Raises VectorizeError for a part of the function."""
        row = self._line + getattr(node, "lineno", 1)
        text = self._lines[row - 1] if row <= len(self._lines) else ""
        column = len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace")) + 1
        code = text.strip()
        code = code if len(code) <= 80 else f"{code[:79]}…"
        made = VectorizeError(f"{self._file}:{row}:{column}: `{code}`: {what}{'; ' * bool(advice)}{advice}")
        made.place, made.help = (row, column), advice or None
        raise made from None

    def uses(self, nodes: Sequence[ast.stmt]) -> Iterator[tuple[str, bool, ast.Name]]:
        """The names in some statements, each with whether it is assigned to. A name of `+=` is used both ways."""
        for root in nodes:
            for node in ast.walk(root):
                if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                    yield node.target.id, False, node.target
                if isinstance(node, ast.Name):
                    yield node.id, isinstance(node.ctx, ast.Store), node

    def is_local(self, name: str) -> bool:
        return name in self.stored or name in self.parameters

    def found(self, node: ast.Name) -> Any:
        """The object that a name outside of the function refers to, at present."""
        function = self.function
        assert isinstance(function, types.FunctionType)
        free = function.__code__.co_freevars
        if node.id in free and function.__closure__ is not None:
            try:
                return function.__closure__[free.index(node.id)].cell_contents
            except ValueError:
                self.error(node, f"`{node.id}` has no value yet", "assign it before the function is called")
        if node.id in function.__globals__:
            return function.__globals__[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        self.error(node, f"there is no `{node.id}`", "is it misspelt?")


def _of_code(lambdas: list[ast.Lambda], code: types.CodeType) -> list[ast.Lambda]:
    """The lambda of a line that has the code; several if that is not known."""
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column is not None
    ]
    # The first instructions of a function have an empty place, and in Python 3.12 all instructions that return a constant.
    places = [(start, end) for start, end in places if start != end]
    if not places:
        return [x for x in lambdas if isinstance(x.body, ast.Constant) and x.body.value in code.co_consts]
    # The instructions of a lambda are within its body. Other lambdas that they are within are around it, and come before.
    around = [
        x
        for x in lambdas
        if (x.body.lineno, x.body.col_offset) <= min(start for start, _ in places)
        and max(end for _, end in places) <= (x.body.end_lineno or 0, x.body.end_col_offset or 0)
    ]
    return around[-1:]
