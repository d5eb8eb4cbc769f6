#!/usr/bin/env python3
"""Writes the modules of the Python package that are generated from the engine's tables.

    python scripts/generate_python.py [EXTENSION]

The tables of functions and of reductions are read from the extension module, `target/debug/lib_core.so` after `cargo
build --workspace --lib`. What the tables do not contain, such as examples and the names of Python's operators, is in
`generate_python.toml`. A test compares the files with the output of this script.
"""

import importlib.machinery
import importlib.util
import re
import sys
import textwrap
import tomllib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "broadloom"
DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WIDTH = 120
HEAD = (
    "# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.\n"
)

#: The words in docstrings for the dtypes that a function takes, and for the dtypes that it returns. The keys are the
#: words in the tables.
TAKES = {
    "bool": "bools",
    "bool, integer": "integers and bools",
    "bool, integer, float": "all dtypes",
    "float": "floats",
    "integer": "integers",
    "integer, float": "numbers",
    "uint64": "uint64",
}
GIVES = {"float": "floats", "int64, uint64, float": "int64 or uint64 for integers and their dtype for floats"}

#: The types and defaults of parameters. Parameters of handlers are objects, since NumPy passes the caller's arguments
#: unchanged, and the handlers check them.
TYPES = DATA["types"] | {
    "handlers": {name: f"object = {kind.split(' = ')[1]}" for name, kind in DATA["types"]["numpy"].items()}
}

#: A handler of the errors of operators, which are called too often for a wrapper.
SHORTEN = ("shorten(error)", "raise")

#: The last line of a module of functions.
TAKE = "take_numpys_arguments(globals(), __all__)\n"


# Text, in the layout of `ruff format`.


def bracketed(head, items, tail, indent=""):
    """A list in brackets: on one line, on a line of its own, or with a line for each item."""
    line = f"{indent}{head}{', '.join(items)}{tail}"
    if len(line) <= WIDTH:
        return line
    middle = f"{indent}    {', '.join(items)}"
    if len(middle) > WIDTH:
        middle = "\n".join(f"{indent}    {item}," for item in items)
    return f"{indent}{head}\n{middle}\n{indent}{tail}"


def definition(name, parameters, result, body, indent="", note=""):
    head = bracketed(f"def {name}(", parameters, f") -> {result}:{note}", indent)
    return "\n".join([head, *(f"{indent}    {line}".rstrip() for line in body)]) + "\n"


def docstring(text, example=(), indent=""):
    """The lines of a docstring: paragraphs of sentences, and an example, which is a list of statements and the value that
    the last one shows."""
    width, lines = WIDTH - len(indent) - 4, []
    for paragraph in f'"""{text}'.split("\n\n"):
        lines += ["", *textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False)]
    del lines[0]
    if not example:
        return [*lines[:-1], f'{lines[-1]}"""'] if len(lines[-1]) + 3 <= width else [*lines, '"""']
    *statements, value = example
    return [*lines, "", *(f">>> {statement}" for statement in statements), *value.split("\n"), '"""']


def module(name, *parts):
    """The module of this name, as a dict from its path in the package to its text."""
    data = DATA["modules"][name]
    title = "\n".join(textwrap.wrap(f'"""{data["doc"]}', WIDTH))
    title += '\n"""' if "\n" in title else '"""'
    gap = "\n\n" if parts[0].startswith(("@", "class", "def")) else "\n"
    text = f"{HEAD}\n{title}\n\nfrom __future__ import annotations\n\n{data['imports']}{gap}" + "\n\n".join(parts)
    return {data.get("path", f"_generated/{name}.py"): text}


def class_of(name, methods):
    """The module of this name, with a class of methods. They call the class's hooks, which its subclass defines."""
    data = DATA["modules"][name]
    hooks = "".join(f"    {hook}\n" for hook in data.get("hooks", ()))
    methods = [hooks, *methods] if hooks else methods
    decorator = f"@{data['decorator']}\n" if "decorator" in data else ""
    head = f'{decorator}class {data["class"]}:\n    """{data["class_doc"]}"""\n\n    __slots__ = ()\n\n'
    return module(name, head + "\n".join(methods))


def names_of(rows):
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(row["name"] for row in rows)) + "]\n"


# Functions of the op table.


def sentences(row, same):
    """The docstring of a function: its result, the dtypes that it takes and returns, its error, and whether the
    standard defines it. `same` is the phrase for the dtype of the operands."""
    gives = "bool" if row["takes"] == "bool" else row["gives"].removesuffix(" ≈")
    made = [row["doc"], DATA["docs"].get(row["name"], "")]
    made.append(f"Takes {TAKES[row['takes']]}, gives {same if gives == 'the same' else GIVES.get(gives, gives)}.")
    if row["gives"].endswith("≈"):
        made.append("The error of a float is less than one unit in the last place.")
    if row["name"] in DATA["not_standard"]:
        made.append("Not in the standard.")
    return " ".join(filter(None, made))


def elementwise(functions):
    """The functions of the op table."""
    rows = [row for row in functions if row["name"] not in DATA["by_hand"]]
    parts = []
    for row in rows:
        name, operands = row["name"], row["operands"]
        typed = [f"{x}: {'Array' if x in ('x', 'condition') else 'Array | Number'}" for x in operands]
        text = sentences(row, "their dtype" if operands == ["x"] else "the dtype that they promote to")
        body = [*docstring(text, DATA["examples"].get(name, ())), f'return apply("{name}", {", ".join(operands)})']
        numpys = DATA["numpys_arguments"].get(name, {})
        if numpys:
            call = f'by_numpys("{name}", {", ".join(operands)}, {", ".join(f"{x}={x}" for x in numpys)})'
            body[-1:] = [f"if {' or '.join(numpys)}:", f"    return {call}", body[-1]]
        parts.append(definition(name, [*typed, "/", *(f"{x}: {kind}" for x, kind in numpys.items())], "Array", body))
    return module("elementwise", names_of(rows), *parts, TAKE)


def tables(functions, table):
    """Tables for hand-written modules: Python's operators, NumPy's universal functions that are in the op table, and the
    kinds of reductions."""
    names = {row["name"]: row["name"] for row in functions if isinstance(getattr(np, row["name"], None), np.ufunc)}
    rows = [row for row in table if row["name"] not in DATA["by_hand"] and not row["is_scan"]]
    operators = [(name, op) for rows in DATA["operators"].values() for name, op in rows.items()]
    made = {
        "OPERATORS: dict[str, str]": {f'"{name}"': f'"{op}"' for name, op in operators},
        "OPS: dict[np.ufunc, str]": {f"np.{name}": f'"{op}"' for name, op in sorted((names | DATA["ufuncs"]).items())},
        "IDENTITIES: dict[str, int]": {
            f'"{row["name"]}"': int(row["identity"]) for row in rows if row["identity"] in (0, 1)
        },
        "EXTREMES": [f'"{row["name"]}"' for row in rows if row["identity"] is None],
        "MOMENTS": [f'"{row["name"]}"' for row in rows if row["takes"] == "float"],
    }
    text = ""
    for name, values in made.items():
        if isinstance(values, dict):
            text += f"{name} = {{\n" + "".join(f"    {key}: {value},\n" for key, value in values.items()) + "}\n"
        else:
            text += bracketed(f"{name} = frozenset({{", values, "})") + "\n"
    return module("tables", text)


# Reductions.


def parameters(words, types):
    """The parameters named in `words`, with types and defaults. The default in a word `name=default` overrides the
    table's."""
    made = []
    for word in words:
        name, _, default = word.partition("=")
        kind, _, usual = types.get(name, "").partition(" = ")
        made.append("*" if name == "*" else f"{name}: {kind} = {default or usual}")
    return made


def calling(function, first, words, indent, left_out=()):
    """A `return` statement with a call. The arguments are `first`, the axis, and the other parameters as keywords."""
    names = [word.partition("=")[0] for word in words if word not in ("*", "axis", *left_out)]
    return bracketed(f"return {function}(", [*first, "axis", *(f"{x}={x}" for x in names)], ")", indent).strip()


def one_axis(row):
    """The type of the axis, for a function that accepts only one axis."""
    return {"axis": "int | None = None"} if row["is_scan"] or row["name"] in DATA["of_one_axis"] else {}


def reductions(table):
    """The reductions and scans of the namespace. Their parameters are NumPy's, in NumPy's order, and the standard's."""
    rows = [row for row in table if row["name"] not in DATA["by_hand"]]
    numpys = {name: words for row, name, words in listed(table, DATA["numpy"]) if name == row["name"]}
    parts = []
    for row in rows:
        name = row["name"]
        words = [*numpys.get(name, ["*"])]
        words += [x["name"] for x in row["parameters"] if x["kind"] != "operand" and x["name"] not in words]
        if row["is_scan"]:
            function = "accumulated"
        else:
            function = "moment" if row["takes"] == "float" else "added" if "dtype" in words else "reduced"
        doc = docstring(sentences(row, "their dtype"), DATA["examples"].get(name, ()))
        body = [*doc, calling(function, [f'"{name}"', "x"], words, "    ")]
        typed = ["x: Array", "/", *parameters(words, TYPES["numpy"] | TYPES["standard"] | one_axis(row))]
        parts.append(definition(name, typed, "Array", body))
    return module("reductions", names_of(rows), *parts, TAKE)


def listed(table, data):
    """Each reduction that a table of parameters lists, with its name in that table and its parameters in order."""
    words = {name: words.split() for words, names in data.items() for name in names}
    for row in table:
        for name in {row["name"], DATA["numpys_names"].get(row["name"])} & words.keys():
            yield row, name, words[name]


def methods(table):
    """The reductions among the methods of NumPy's arrays."""
    for row, name, words in listed(table, DATA["numpy"]):
        if hasattr(np.ndarray, name):
            doc = docstring(f"{row['doc']} Arguments and dtypes are those of `numpy.{name}`.", indent="    ")
            body = [*doc, calling("of_numpy", [f"np.{name}", "self"], words, "        ")]
            typed = ["self", *parameters(words, TYPES["numpy"] | one_axis(row))]
            yield definition(name, typed, "Array", body, "    ")


def nullable_methods(table):
    """The methods of arrays with nulls that reduce."""
    for row, name, words in listed(table, DATA["nullable"]):
        text = f"{row['doc']} Nulls are skipped. {DATA['nullable_docs'].get(name, '')}".strip()
        body = [*docstring(text, indent="    "), calling("self._skipping", [f'"{name}"'], words, "        ")]
        yield definition(name, ["self", *parameters(words, TYPES["nullable"])], "NullableArray", body, "    ")


def handlers(table):
    """The handlers of NumPy's reductions for `__array_function__`."""
    parts, rows = [], ""
    for row, name, words in listed(table, DATA["numpy"]):
        function = "accumulated" if row["is_scan"] else "reduced"
        body = [calling(function, [f'"{row["name"]}"', "a"], words, "    ", left_out=["out"])]
        parts.append(definition(f"_{name}", ["a: object", *parameters(words, TYPES["handlers"])], "Handle", body))
        rows += f"    np.{name}: _{name},\n"
    parts.append(f"FUNCTIONS: dict[Callable[..., object], Callable[..., Handle]] = {{\n{rows}}}\n")
    return module("numpy_reductions", *parts)


# Random draws.


def draws(table):
    """The draws of `broadloom.random`."""
    parts = []
    for row in table:
        name, words = row["name"], {x["name"]: x for x in row["parameters"]}
        operands = [x for x, word in words.items() if word["kind"] == "operand"]
        typed = [f"{x}: Array{'' if x == 'key' else ' | Number'}" for x in operands]
        typed.append("shape: int | Sequence[int]")
        text = f"{row['doc']} Gives {row['gives'].replace(', ', ' or ')}."
        if "dtype" in words:
            typed.append("dtype: DTypeLike | None = None")
            text = text.removesuffix(".") + f", by default {words['dtype']['default']}."
        call = [f'"{name}"', "shape", "dtype" if "dtype" in words else "None", *operands]
        body = [*docstring(text, DATA["draw_examples"].get(name, ())), f"return drawn({', '.join(call)})"]
        parts.append(definition(name, typed, "Array", body))
    return module("random", names_of(table), *parts)


# Functions that NumPy computes.


def through_numpy(name, calls):
    """The functions of an extension of the standard that NumPy's module of its name computes. `calls` are the functions to
    call, by the type of the result."""
    parts = []
    for function, row in DATA["through_numpy"][name].items():
        operands, result = row.get("operands", ["x"]), row.get("result", "Array")
        options = [x.partition(":")[0] for x in row.get("options", ())]
        call = calls.get(result, f"{result}(*several(")
        words = [f"np.{name}.{function}", *operands, *(f"{x}={x}" for x in options)]
        text = DATA["modules"][name]["of_each"].get(result, DATA["modules"][name]["of_each"]["all"])
        text = f"{row['doc']} {text}".strip() + (f"\n\nRaises {row['raises']}." if "raises" in row else "")
        statement = bracketed(f"return {call}", words, ")" * call.count("("), "    ").strip()
        kind = row.get("takes", "Array")
        typed = [*(f"{x}: {kind}" for x in operands), "/", *(["*", *row["options"]] if options else ())]
        parts.append(definition(function, typed, result, [*docstring(text, row["example"]), statement]))
    rows = [{"name": function} for function in DATA["through_numpy"][name]]
    return module(name, names_of(rows), *parts, TAKE.replace("__all__", f"__all__, np.{name}"))


# Operators.


def operators(result, call, left_out=(), is_in_place=False, handler=()):
    """The methods of operators. `call` returns the expression that a method evaluates, for a way of calling an
    operator, its function and its name. `handler` is the body of a handler of its errors."""
    table = {
        kind: {name: op for name, op in rows.items() if name not in left_out}
        for kind, rows in DATA["operators"].items()
    }

    def method(name, way, op, prefix=""):
        typed = ["self", *([] if way == "unary" else ["other: object"]), "/"]
        note = "  # type: ignore[override]" if way == "equality" else ""
        made = "Self" if way == "in_place" else result
        body = [f"return {call(way, op, name)}"]
        if handler:
            body = ["try:", f"    {body[0]}", "except Exception as error:", *(f"    {line}" for line in handler)]
        return definition(f"__{prefix}{name}__", typed, made, body, "    ", note)

    for name, op in table["unary"].items():
        yield method(name, "unary", op)
    for name, op in table["binary"].items():
        yield method(name, "forward", op)
        yield method(name, "reflected", op, "r")
        if is_in_place:
            yield method(name, "in_place", op, "i")
    for name, op in table["compared"].items():
        yield method(name, "equality" if name in ("eq", "ne") else "forward", op)


def of_arrays(way, op, name):
    return f'self._made(apply("{op}", self._operand()))' if way == "unary" else f'{way}("{op}", self, other)'


def by_hook(is_named):
    """Methods of operators that call `_operated` with the name of the engine's function or of Python's operator."""

    def call(way, op, name):
        operands = {"unary": "self", "reflected": "other, self"}.get(way, "self, other")
        return f'self._operated("{name if is_named else op}", {operands})'

    return call


# The tables, and the files.


def files(core):
    """The text of each generated file, by its path in the package."""
    functions = sorted(core.functions(), key=lambda row: row["name"])
    table = core.reductions()
    with_nulls = operators("NullableArray", by_hook(is_named=False), handler=SHORTEN)
    return (
        {"_generated/__init__.py": f'{HEAD}"""Modules that follow from the engine\'s tables."""\n'}
        | elementwise(functions)
        | tables(functions, table)
        | reductions(table)
        | draws(core.draws())
        | class_of("methods", methods(table))
        | handlers(table)
        | class_of("operators", operators("Array", of_arrays, is_in_place=True, handler=SHORTEN))
        | class_of("nullable", [*with_nulls, *nullable_methods(table)])
        | class_of("numexpr", operators("ExpressionNode", by_hook(is_named=True), left_out=["abs", "pos"]))
        | through_numpy("linalg", {"Array": "through("})
        | through_numpy("fft", {"Array": "transformed_to_real(", "Complex": "transformed("})
    )


def names_of_numpy():
    """The stub with NumPy's functions that the namespace contains under their own names and does not replace, for type
    checkers and editors: `broadloom.ptp` is `numpy.ptp`. A test compares the names with those that the namespace
    finds, and not the text, since other versions of NumPy have other functions."""
    modules = [*PACKAGE.glob("_*.py"), *(PACKAGE / "_generated").glob("*.py")]
    listed = re.findall(r"^__all__(?:: list\[str\])? = \[(.*?)\]", "".join(path.read_text() for path in modules), re.M | re.S)
    own = {*re.findall(r'"(\w+)"', "".join(listed)), "lib"}
    kinds = (np.ufunc, type(np.sum))
    names = sorted(name for name in np.__all__ if isinstance(getattr(np, name), kinds) and name not in own)
    rows = "".join(f"    {name} as {name},\n" for name in names)
    return f"{HEAD}\nfrom numpy import (\n{rows})\nfrom numpy import lib as lib\n"


def read_core(path):
    """The extension module, without the package around it, whose generated modules may be missing."""
    loader = importlib.machinery.ExtensionFileLoader("broadloom._core", str(path))
    core = importlib.util.module_from_spec(importlib.util.spec_from_loader("broadloom._core", loader))
    loader.exec_module(core)
    return core


def main():
    core = read_core(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "debug" / "lib_core.so")
    for path, text in files(core).items():
        (PACKAGE / path).parent.mkdir(exist_ok=True)
        (PACKAGE / path).write_text(text, encoding="utf-8")
    (PACKAGE / "_generated" / "numpy_names.pyi").write_text(names_of_numpy(), encoding="utf-8")


if __name__ == "__main__":
    main()
