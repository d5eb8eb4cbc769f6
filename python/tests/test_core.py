"""Tests the extension module: shared memory, kernels on NumPy's arrays, and errors as exceptions."""

import functools

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom._core import Handle, Kernel


def test_shared_memory_is_read_when_a_value_is_computed() -> None:
    memory = np.array([1.0, 2.0, 3.0])
    y = bl.asarray(memory) * 2
    memory[0] = 10.0
    assert np.array_equal(np.asarray(y), [20.0, 4.0, 6.0])


def test_an_evaluated_array_keeps_its_values() -> None:
    memory = np.array([1.0, 2.0, 3.0])
    y = bl.asarray(memory) * 2
    values = np.asarray(y)
    memory[0] = 10.0
    assert np.array_equal(np.asarray(y), [2.0, 4.0, 6.0])
    assert np.shares_memory(values, np.asarray(y))


@pytest.mark.parametrize("strides", [(slice(None, None, -1),), (slice(None, None, 2),), (slice(5, 1, -2),)])
def test_strided_memory_is_shared(strides: tuple[slice, ...]) -> None:
    memory = np.arange(10, dtype=np.int16)
    x = Handle.from_numpy(memory[strides])
    assert np.array_equal(x.evaluate().to_numpy(), memory[strides])


def test_memory_that_cannot_be_shared_is_refused() -> None:
    with pytest.raises(ValueError, match="order of bytes"):
        Handle.from_numpy(np.array([1.0], dtype=">f8"))
    packed = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    with pytest.raises(ValueError, match="aligned"):
        Handle.from_numpy(packed["b"])
    with pytest.raises(TypeError, match="complex128"):
        Handle.from_numpy(np.array([1j]))


def test_a_text_names_the_place_of_its_error() -> None:
    with pytest.raises(bl.TextError) as error:
        Kernel.parse("x: float32[n]\nsqrt(x) + y")
    assert (error.value.lineno, error.value.offset, error.value.text) == (2, 11, "sqrt(x) + y")
    assert isinstance(error.value, SyntaxError)


def test_a_kernel_runs_on_arrays_of_any_layout() -> None:
    kernel = Kernel.parse("x: float64[n, m]; y: float64[m]; x - y")
    x = np.arange(12.0).reshape(4, 3)
    y = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(kernel.run([x, y])[0], x - y)
    assert np.array_equal(kernel.run([x.T[:, ::-1], np.ones(4)])[0], x.T[:, ::-1] - 1)
    out = np.zeros((8, 3))[::2]
    kernel.run([x, y], out=out)
    assert np.array_equal(out, x - y)


def test_the_table_of_functions_is_what_the_engine_applies() -> None:
    table = {row["name"]: row for row in _core.functions()}
    assert table["clip"]["operands"] == ["x", "lo", "hi"]
    assert (table["exp"]["takes"], table["exp"]["gives"], table["exp"]["laws"]) == (
        "float",
        "the same ≈",
        ["approximate", "nearest"],
    )
    samples = {"bool": True, "integer": 1, "float": 0.5}
    dtypes = {"bool": np.bool_, "integer": np.int32, "float": np.float32}
    for name, row in table.items():
        for kind, value in samples.items():
            operands = [Handle.full((), value, dtypes[kind])] * len(row["operands"])
            if name == "where":
                operands[0] = Handle.full((), True, np.bool_)
            if kind in row["takes"].split(", "):
                given = dtypes[kind]
                if row["gives"] == "bool":
                    given = np.bool_
                elif row["gives"] == "float" and kind != "float":
                    given = np.float64
                assert _core.apply(name, *operands).dtype == given, name
            else:
                with pytest.raises(TypeError):
                    _core.apply(name, *operands)


def test_the_table_of_reductions_is_what_handles_reduce_by() -> None:
    nothing = Handle.from_numpy(np.zeros(0))
    seen = set()
    for row in _core.reductions():
        parameters = {parameter["name"]: parameter for parameter in row["parameters"]}
        if "keepdims" in parameters:
            assert (parameters["keepdims"]["kind"], parameters["keepdims"]["default"]) == ("bool", "false")
            result = functools.partial(nothing.reduce, row["name"])
        elif row["is_scan"]:
            result = functools.partial(nothing.cumulative, row["name"], include_initial=True)
        else:
            continue
        seen.add(row["name"])
        if row["identity"] is None:
            with pytest.raises(ValueError):
                result()
        else:
            np.testing.assert_equal(result().evaluate().to_numpy().item(), row["identity"], row["name"])
    assert {"sum", "nanvar", "vector_norm", "argmin", "cumulative_prod"} <= seen
    for name in ("count", "vecdot", "cumulative_sum", "median"):
        with pytest.raises(ValueError, match=f"there is no reduction `{name}`"):
            nothing.reduce(name)
    with pytest.raises(ValueError, match="there is no cumulative function `sum`"):
        nothing.cumulative("sum")
