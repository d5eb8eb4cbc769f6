"""Tests the layers of the package that ARCHITECTURE.md lists: imports point to lower layers, and form no cycle.

Every import counts, those within functions too, but not those for type checkers alone. A module that is named in a string is
imported by name, and counts as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "broadloom"

#: The layers from the lowest to the highest. A module may import modules of its own layer and of lower ones.
LAYERS: dict[str, tuple[str, ...]] = {
    "handles and errors": (
        "_arguments",
        "_bounded",
        "_core",
        "_division",
        "_errors",
        "_generated",
        "_generated.tables",
        "_introductions",
        "_kernels",
        "_numpy_reductions",
        "_options",
        "_registry",
        "_structure",
        "_syntax",
        "_tracing",
        "_tracebacks",
        "_ufuncs",
    ),
    "array and dispatch": (
        "_array",
        "_evaluation",
        "_generated.methods",
        "_generated.operators",
        "_hints",
        "_jit",
        "_methods",
        "_operators",
        "_refusals",
        "_scalars",
        "_shared_work",
        "_threadpools",
        "_traces",
    ),
    "functions": (
        "_buffer",
        "_creation",
        "_draws",
        "_dtypes",
        "_elementwise",
        "_gathers",
        "_generated.elementwise",
        "_generated.fft",
        "_generated.linalg",
        "_generated.random",
        "_generated.reductions",
        "_gradient_rules",
        "_gradients",
        "_indexing",
        "_inspection",
        "_interpolation",
        "_joining",
        "_loop_states",
        "_loops",
        "_manipulation",
        "_operands",
        "_reductions",
        "_signatures",
        "_segments",
        "_selections",
        "_sets",
        "_sorts",
        "_statistics",
        "_through_numpy",
        "_vectorize",
        "_vectorize_expressions",
        "_vectorize_functions",
        "_vectorize_loops",
        "_vectorize_source",
        "_vectorize_statements",
        "_vectorize_values",
        "_views",
        "fft",
        "linalg",
        "random",
    ),
    "protocols": (
        "_arrow_interface",
        "_dlpack",
        "_generated.numpy_reductions",
        "_notebook",
        "_pandas",
        "_numpy_functions",
        "_numpy_handlers",
        "_numpy_manipulation",
        "_numpy_searches",
        "_numpy_protocols",
        "_pickling",
        "_printing",
        "_shipping",
    ),
    "arrays with nulls": (
        "_generated.nullable",
        "_nullable",
        "_nullable_array",
        "_nullable_printing",
        "_nullable_protocols",
        "_nullable_reductions",
        "arrow",
    ),
    "namespace": ("",),
    "clients": ("dask", "numexpr", "onnx"),
}

#: The modules that clients import besides the public namespace.
FOR_CLIENTS = {
    "broadloom._bounded",
    "broadloom._core",
    "broadloom._division",
    "broadloom._generated.tables",
    "broadloom._options",
    "broadloom._registry",
    "broadloom._syntax",
}

#: Packages that need not be installed, which may be imported within functions.
OPTIONAL = {"cloudpickle", "dask", "tqdm"}

#: The namespace imports one client, so that `broadloom.dask` is found and arrays are registered with Dask. None of the
#: client's other code runs before the client is used.
FOUND_LATER = {("broadloom", "broadloom.dask")}

MAX_LINES = 500


class Import(NamedTuple):
    """An import of a module: its position, and whether it is in a function."""

    source: str
    target: str
    line: int
    in_function: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
NAMES = {*MODULES, "broadloom._core"}


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(source: str, node: ast.AST) -> Iterator[str]:
    """The modules that a statement imports, or a string names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{source}:{node.lineno}: a relative import"
        for alias in node.names:
            module = f"{node.module}.{alias.name}"
            yield module if module in NAMES else str(node.module)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value and node.value in NAMES:
        # A module may name its own package as the one from which users import its classes (`__module__`).
        if not source.startswith(f"{node.value}."):
            yield node.value


def imports(source: str, tree: ast.AST) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, in_function = waiting.pop()
        for target in imported(source, node):
            if target != source:
                yield Import(source, target, getattr(node, "lineno", 0), in_function)
        if is_for_type_checkers(node):
            continue
        inner = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        waiting.extend((child, inner) for child in ast.iter_child_nodes(node))


IMPORTS = [one for name, path in MODULES.items() for one in imports(name, ast.parse(path.read_text()))]


def components(edges: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module: modules that reach each other."""

    def reached(start: str) -> set[str]:
        seen, waiting = set(), [start]
        while waiting:
            for target in edges.get(waiting.pop(), set()) - seen:
                seen.add(target)
                waiting.append(target)
        return seen

    reach = {name: reached(name) for name in edges}
    found: list[set[str]] = []
    for name in edges:
        component = {other for other in reach[name] if name in reach.get(other, set())}
        if component and component not in found:
            found.append(component)
    return found


def edges(found: list[Import]) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {name: set() for name in NAMES}
    for one in found:
        if one.target in NAMES and (one.source, one.target) not in FOUND_LATER:
            made[one.source].add(one.target)
    return made


def place(module: str) -> str:
    """The name by which the layers list a module. For a module in a folder, it is the name of the folder, except that
    generated modules are listed one by one, since their layers differ."""
    parts = module.split(".")[1:]
    return ".".join(parts if parts[:1] == ["_generated"] else parts[:1])


def layer_of(module: str) -> int:
    top = place(module)
    found = [i for i, names in enumerate(LAYERS.values()) if top in names]
    assert len(found) == 1, f"{module} is in {len(found)} layers"
    return found[0]


def test_components_are_found() -> None:
    assert components({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [{"b", "c"}, {"d"}]


def test_imports_are_found_wherever_they_are() -> None:
    text = "import broadloom.fft\nif TYPE_CHECKING:\n    import broadloom.arrow\ndef f():\n    g('broadloom._jit')"
    found = {(one.target, one.in_function) for one in imports("broadloom", ast.parse(text))}
    assert found == {("broadloom._jit", True), ("broadloom.fft", False)}


def test_imports_form_no_cycle() -> None:
    assert components(edges(IMPORTS)) == []


def test_imports_point_to_lower_layers() -> None:
    wrong = [
        f"{one.source}:{one.line} imports {one.target}"
        for one in IMPORTS
        if one.target in NAMES
        and layer_of(one.target) > layer_of(one.source)
        and (one.source, one.target) not in FOUND_LATER
    ]
    assert wrong == []


def test_clients_import_what_users_do() -> None:
    clients = LAYERS["clients"]
    wrong = [
        f"{one.source}:{one.line} imports {one.target}"
        for one in IMPORTS
        if (client := one.source.split(".")[1:2]) and client[0] in clients
        if one.target.startswith("broadloom._") and one.target not in FOR_CLIENTS
    ]
    assert wrong == []


def test_functions_import_optional_packages_alone() -> None:
    inside = [one for one in IMPORTS if one.in_function]
    wrong = [
        f"{one.source}:{one.line} imports {one.target}" for one in inside if one.target.split(".")[0] not in OPTIONAL
    ]
    assert wrong == []
    assert len(inside) <= 10


@pytest.mark.parametrize("name", [name for name in MODULES if "._generated" not in name])
def test_files_have_one_subject_each(name: str) -> None:
    assert len(MODULES[name].read_text().splitlines()) <= MAX_LINES


def test_every_module_has_a_layer() -> None:
    listed = {name for names in LAYERS.values() for name in names}
    assert listed == set(map(place, NAMES))
