"""The modules that `scripts/generate_python.py` writes are current, and say what the engine's tables say."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom._generated import elementwise, reductions, tables

PACKAGE = Path(bl.__file__).parent
GENERATED = [*sorted((PACKAGE / "_generated").glob("*.py")), PACKAGE / "numexpr" / "_generated.py"]
SCRIPT = Path(__file__).parents[2] / "scripts" / "generate_python.py"
TABLES = {row["name"]: row for row in (*_core.functions(), *_core.reductions())}

DRAWS = {row["name"]: row for row in _core.draws()}

#: Not in the namespace: the division of ONNX, which is another function for floats, and a product of extents.
NOT_HERE = {"trunc_divide", "count"}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate_python", SCRIPT)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_files_are_what_the_script_writes(generator: ModuleType) -> None:
    written = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in GENERATED}
    assert written == generator.files(_core), "run scripts/generate_python.py"


def test_the_data_are_of_functions_that_there_are(generator: ModuleType) -> None:
    assert set(generator.DATA["draw_examples"]) <= DRAWS.keys()
    for names in ("by_hand", "not_standard", "of_one_axis", "numpys_arguments", "docs", "examples"):
        assert set(generator.DATA[names]) <= TABLES.keys(), names


@pytest.mark.parametrize("name", TABLES)
def test_every_function_of_the_tables_is_in_the_namespace(name: str) -> None:
    assert (name in bl.__all__ or name in bl.linalg.__all__) != (name in NOT_HERE)


@pytest.mark.parametrize("name", DRAWS)
def test_every_draw_of_the_table_is_a_function_of_random(name: str) -> None:
    assert name in bl.random.__all__
    function = getattr(bl.random, name)
    assert list(inspect.signature(function).parameters) == [row["name"] for row in DRAWS[name]["parameters"]]
    assert " ".join(DRAWS[name]["doc"].split()) in " ".join(function.__doc__.split())


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.stem)
def test_types_are_written_out(path: Path) -> None:
    names = {node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)}
    assert "Any" not in names


@pytest.mark.parametrize("name", elementwise.__all__)
def test_functions_of_elements_have_their_operands(name: str, generator: ModuleType) -> None:
    signature = inspect.signature(getattr(bl, name))
    more = generator.DATA["numpys_arguments"].get(name, ())
    assert list(signature.parameters) == [*TABLES[name]["operands"], *more]
    operands = [signature.parameters[x] for x in TABLES[name]["operands"]]
    assert {x.kind for x in operands} == {inspect.Parameter.POSITIONAL_ONLY}
    assert signature.return_annotation == "Array"


@pytest.mark.parametrize("name", reductions.__all__)
def test_reductions_have_their_parameters(name: str) -> None:
    parameters = inspect.signature(getattr(bl, name)).parameters
    for row in TABLES[name]["parameters"]:
        is_by_name = parameters[row["name"]].kind is not inspect.Parameter.POSITIONAL_ONLY
        assert is_by_name == (row["kind"] != "operand")
    assert not any(x.kind in (x.VAR_POSITIONAL, x.VAR_KEYWORD) for x in parameters.values())


@pytest.mark.parametrize("name", [*elementwise.__all__, *reductions.__all__])
def test_the_help_says_what_the_table_says_and_an_example_calls_the_function(name: str, generator: ModuleType) -> None:
    words = " ".join(getattr(bl, name).__doc__.split())
    assert TABLES[name]["doc"] in words
    assert name not in generator.DATA["examples"] or f"bl.{name}(" in words.split(">>>", 1)[1]


def test_operators_are_the_functions_that_numpys_are(generator: ModuleType) -> None:
    x, y = np.array([5, -7, 3]), np.array([2, 2, 3])
    operators = generator.DATA["operators"]
    for name, op in operators["unary"].items():
        made = getattr(bl.asarray(x), f"__{name}__")()
        assert made.tolist() == getattr(x, f"__{name}__")().tolist() == getattr(bl, op)(bl.asarray(x)).tolist()
    for name in (*operators["binary"], *operators["compared"]):
        for method in (f"__{name}__", *([f"__r{name}__", f"__i{name}__"] if name in operators["binary"] else [])):
            if method not in ("__itruediv__", "__pow__", "__rpow__", "__ipow__"):
                made = getattr(bl.asarray(x.copy()), method)(bl.asarray(y))
                assert made.tolist() == getattr(x.copy(), method)(y).tolist(), method
    assert (bl.asarray(x) ** bl.asarray(y)).tolist() == [25, 49, 27]
    assert set(dir(np.ndarray)) & {f"__{name}__" for name in operators["binary"]} <= set(dir(bl.Array))


@pytest.mark.parametrize(("ufunc", "op"), tables.OPS.items(), ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_universal_functions_take_the_operands_of_the_engines(ufunc: np.ufunc, op: str) -> None:
    assert ufunc.nin == len(TABLES[op]["operands"])
