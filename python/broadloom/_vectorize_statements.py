"""The statements of a function that `vectorize` compiles, and calls of it.

Both branches of an `if` are computed for all elements, and `where` selects the values of names where they meet. Loops
in a branch run only for the elements that take it.
"""

from __future__ import annotations

import ast
from typing import Any

from broadloom._vectorize_expressions import Names, Path
from broadloom._vectorize_loops import Exits, Loops, chosen_value, merged
from broadloom._vectorize_source import Source
from broadloom._vectorize_values import Value, both, either, opposite


class Statements(Loops):
    """Runs a function, whose arguments are values."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._sources: dict[Any, Source] = {}

    def inlined(self, source: Source, arguments: Names, path: Path) -> Value:
        """The result of a function for the elements of a path."""
        # The tree is kept, since plans of loops are known by their nodes.
        source = self._sources.setdefault(source.function, source)
        before, self.source = self.source, source
        self.calls.append(source.function)
        try:
            exits = Exits()
            end = self.block(source.body, Path(dict(arguments), path.mask), exits)
            if end is not None:
                source.error(
                    source.body[-1], f"`{source.name}` may end without a result", "write `return` on every path"
                )
            if not exits.returns:
                source.error(source.body[-1], f"`{source.name}` never returns", "end its loops by `break` or `return`")
            with self.placed(source.node):
                return chosen_value([(path.mask, value) for path, value in exits.returns])
        finally:
            self.calls.pop()
            self.source = before

    def block(self, statements: list[ast.stmt], path: Path, exits: Exits) -> Path | None:
        after: Path | None = path
        for statement in statements:
            if after is None:
                return None
            after = self._statement(statement, after, exits)
        return after

    def _statement(self, node: ast.stmt, path: Path, exits: Exits) -> Path | None:
        match node:
            case ast.Assign():
                value = self.value(node.value, path)
                for target in node.targets:
                    self._assign(target, value, path)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign(node.target, self.value(node.value, path), path)
            case ast.AugAssign():
                self._augment(node, path)
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self.value(node.value, path)
            case ast.Pass():
                pass
            case ast.If():
                return self._branch(node, path, exits)
            case ast.While() | ast.For():
                return self.loop(node, path, exits)
            case ast.Break():
                exits.breaks.append(path)
                return None
            case ast.Continue():
                exits.continues.append(path)
                return None
            case ast.Return():
                if node.value is None:
                    self.source.error(node, "`return` without a value", "return a number, or several")
                exits.returns.append((path, self.value(node.value, path)))
                return None
            case _:
                self.source.error(node, f"a statement that is not compiled ({type(node).__name__})", "leave it out")
        return path

    def _branch(self, node: ast.If, path: Path, exits: Exits) -> Path | None:
        test = self.condition(node.test, path)
        if isinstance(test, bool):
            return self.block(node.body if test else node.orelse, path, exits)
        masks = both(path.mask, test), both(path.mask, opposite(test))
        chosen = self.block(node.body, Path(dict(path.names), masks[0]), exits)
        other = self.block(node.orelse, Path(dict(path.names), masks[1]), exits)
        if chosen is None or other is None:
            return other if chosen is None else chosen
        is_whole = chosen.mask is masks[0] and other.mask is masks[1]
        mask = path.mask if is_whole else either(chosen.mask, other.mask)
        return Path(merged(test, chosen.names, other.names), mask)

    def _assign(self, target: ast.expr, value: Value, path: Path) -> None:
        if isinstance(target, ast.Name):
            path.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, tuple):
                self.source.error(target, "a number is unpacked", "assign it to one name")
            if len(value) != len(target.elts):
                self.source.error(target, f"a tuple of {len(value)} is unpacked to {len(target.elts)} names")
            for part, item in zip(target.elts, value, strict=True):
                self._assign(part, item, path)
        else:
            self.source.error(target, "an assignment to something else than a name", "return the value")

    def _augment(self, node: ast.AugAssign, path: Path) -> None:
        if not isinstance(node.target, ast.Name):
            self.source.error(node.target, "an assignment to something else than a name", "return the value")
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old, operand = self.value(name, path), self.value(node.value, path)
        with self.placed(node):
            path.names[node.target.id] = self.operated(node.op, old, operand, path)
