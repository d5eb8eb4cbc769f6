"""Tests the array object: operators, conversions, the time of evaluation, and printing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core, _options
from broadloom._array import MAX_DEPTH, MAX_READS, Array
from broadloom._core import Handle
from broadloom._shared_work import MIN_DEPTH

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
IN_PLACE = {name: getattr(operator, "i" + name.strip("_")) for name in ARITHMETIC + BITS}

#: The shape of an array that no memory can hold. Evaluating all of it fails.
HUGE = (10**6, 10**6, 10**3)


def traced(*dims: int | str, dtype: str = "float64") -> Array:
    return Array._of(Handle.input("x", dtype, list(dims)))


def same(got: Array, expected: np.ndarray) -> bool:
    values = np.asarray(got)
    return got.dtype == expected.dtype and got.shape == expected.shape and values.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS)
def test_operators_are_those_of_numpy_on_integers(name: str) -> None:
    op = getattr(operator, name)
    x, y = np.array([7, 2, 5, 0], dtype=np.int32), np.array([1, 2, 3, 4], dtype=np.int32)
    a, b = bl.asarray(x), bl.asarray(y)
    assert same(op(a, b), op(x, y))
    assert same(op(a, 3), op(x, 3))
    assert same(op(3, b), op(3, y))
    # NumPy's arrays are operands on both sides.
    for mixed in (op(a, y), op(x, b)):
        assert isinstance(mixed, Array)
        assert same(mixed, op(x, y))


@pytest.mark.parametrize("name", ["and_", "or_", "xor", "eq", "ne"])
def test_operators_are_those_of_numpy_on_bools(name: str) -> None:
    op = getattr(operator, name)
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert same(op(bl.asarray(x), bl.asarray(y)), op(x, y))
    assert same(op(bl.asarray(x), True), op(x, True))
    assert same(op(True, bl.asarray(x)), op(True, x))


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.abs, operator.invert])
def test_unary_operators(op: Callable[[Any], Any]) -> None:
    x = np.array([-3, 0, 5], dtype=np.int16)
    assert same(op(bl.asarray(x)), op(x))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "mod", "pow", *BITS])
def test_in_place_operators_replace_the_values_of_one_object(name: str) -> None:
    memory = np.array([7, 2, 5, 0])
    x = bl.asarray(memory)
    alias, before = x, x + 0
    x = IN_PLACE[name](x, 2)
    expected = getattr(operator, name)(memory, 2)
    assert x is alias
    assert same(x, expected)
    # Expressions that were built before keep their values, and the memory of the array keeps its elements.
    assert same(before, np.array([7, 2, 5, 0]))
    assert memory.tolist() == [7, 2, 5, 0]


def test_in_place_division_of_floats() -> None:
    x = bl.asarray([1.0, 2.0], copy=None)
    x /= 4
    assert same(x, np.array([0.25, 0.5]))


def test_in_place_operators_keep_dtype_and_shape() -> None:
    x = bl.asarray([1, 2])
    with pytest.raises(TypeError, match="in place: the result is float64"):
        x /= 2
    y = bl.asarray([1], dtype=bl.int8)
    with bl.set_options(promotion="strict"), pytest.raises(TypeError, match="in place: the result is int64"):
        y += bl.asarray([1])
    with pytest.raises(ValueError, match="in place"):
        y += bl.asarray([1, 2], dtype=bl.int8)
    assert y.tolist() == [1]


def test_in_place_matrix_product() -> None:
    x = bl.asarray([[1, 2], [3, 4]])
    alias = x
    x @= bl.asarray([[0, 1], [1, 0]])
    assert x is alias
    assert x.tolist() == [[2, 1], [4, 3]]


class Foreign:
    """An object that defines its own operators with arrays."""

    def __radd__(self, other: object) -> str:
        return "reflected"

    def __rmatmul__(self, other: object) -> str:
        return "reflected"


def test_foreign_objects_may_answer_for_themselves() -> None:
    x = bl.asarray([1.0])
    assert x + Foreign() == "reflected"
    assert x @ Foreign() == "reflected"
    with pytest.raises(TypeError, match="unsupported operand"):
        x - Foreign()  # type: ignore[operator]
    assert (x == None).tolist() == [False]  # noqa: E711
    assert (x != "text").tolist() == [True]


def test_scalars_of_numpy_have_their_own_dtype_and_those_of_python_do_not() -> None:
    x = bl.asarray([1.0], dtype=bl.float32)
    assert (x + 1.0).dtype == bl.float32
    assert (x + np.float64(1)).dtype == bl.float64
    assert (np.float64(1) * x).dtype == bl.float64


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("int8", 300), ("uint8", -1), ("float32", 1e40), ("float32", 10**40), ("int64", 2**63), ("int64", 2**200)],
)
def test_a_number_that_the_dtype_does_not_hold_is_an_error(dtype: str, number: float) -> None:
    for kind in (ValueError, OverflowError):
        with bl.set_options(promotion="strict"), pytest.raises(kind, match="cannot be represented"):
            bl.asarray([1], dtype=dtype) + number
    x = bl.asarray([1], dtype=dtype)
    if dtype == "float32":
        assert (x + number).tolist() == [np.inf]
    else:
        with pytest.raises(OverflowError, match="cannot be represented"):
            x + number


def test_an_integer_of_any_size_is_rounded_to_a_float() -> None:
    assert float(bl.asarray(1.0) * 10**40) == 1e40
    assert float(10**40 / bl.asarray(2.0)) == 5e39


def test_kinds_do_not_mix_by_the_standard() -> None:
    with bl.set_options(promotion="strict"):
        with pytest.raises(TypeError, match="int64 and float64"):
            bl.asarray([1]) + bl.asarray([1.0])
        with pytest.raises(TypeError):
            bl.asarray([1]) + 0.5
    with pytest.raises(NotImplementedError, match="complex"):
        bl.asarray([1.0]) + 1j


def test_conversions_give_the_types_of_python() -> None:
    assert type(bool(bl.asarray(True))) is bool
    assert type(int(bl.asarray(2, dtype=bl.uint8))) is int
    assert type(float(bl.asarray(0.5, dtype=bl.float32))) is float
    assert complex(bl.asarray(0.5)) == 0.5 + 0j
    assert [10, 20, 30][bl.asarray(2, dtype=bl.int8)] == 30
    assert bool(bl.asarray(bl.nan)) is True
    assert bool(bl.asarray(-0.0)) is False
    assert int(bl.asarray(2**64 - 1, dtype=bl.uint64)) == 2**64 - 1
    assert f"{bl.asarray(1.0) / 3:.2f}" == "0.33"
    with pytest.raises(TypeError):
        operator.index(bl.asarray(1.0))
    with pytest.raises(ValueError, match="any and all"):
        bool(bl.asarray([True, False]))
    with pytest.raises(TypeError):
        float(bl.asarray([1.0, 2.0]))


def test_an_array_has_no_hash_and_is_not_constructed() -> None:
    with pytest.raises(TypeError):
        hash(bl.asarray(1))
    with pytest.raises(TypeError, match="asarray"):
        Array()


def test_making_an_iterator_computes_nothing() -> None:
    x = bl.asarray(np.arange(3.0)) + 1
    assert np.iterable(x)
    elements = iter(x)
    assert not x._handle.is_evaluated
    assert [float(element) for element in elements] == [1, 2, 3]
    assert x._handle.is_evaluated
    with pytest.raises(TypeError, match="without axes"):
        iter(bl.asarray(1.0))


def test_the_type_of_an_array_makes_empty_arrays() -> None:
    """As flox does for the blocks of Dask arrays."""
    for dtype in ("float32", "int64", "bool"):
        made = Array([], dtype=np.dtype(dtype))
        assert (made.shape, str(made.dtype)) == ((0,), dtype)
    with pytest.raises(TypeError, match="an Array is made by"):
        Array([1.0], dtype=np.dtype("float32"))


def test_length_and_iteration() -> None:
    x = bl.asarray([[1, 2], [3, 4]]) + 1
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[2, 3], [4, 5]]
    assert 5 in x[1]
    with pytest.raises(TypeError):
        len(bl.asarray(1))
    with pytest.raises(TypeError):
        iter(bl.asarray(1))


def test_attributes() -> None:
    x = bl.zeros((2, 3, 4), dtype=bl.float32)
    assert (x.shape, x.ndim, x.size, x.nbytes, x.device) == ((2, 3, 4), 3, 24, 96, "cpu")
    assert x.mT.shape == (2, 4, 3)
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="matrix"):
        x.T  # noqa: B018
    with pytest.raises(ValueError):
        bl.zeros(3).mT  # noqa: B018
    with pytest.raises(ValueError):
        x.to_device("gpu")
    assert x.__array_namespace__() is bl
    assert x.__array_namespace__(api_version="2024.12") is bl
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.12")


# The time of evaluation.


def test_one_element_does_not_evaluate_the_whole() -> None:
    x = bl.full(HUGE, 2.0) * 3
    assert float(x[0, 1, 2]) == 6.0
    assert float(bl.sum(x[5, 6])) == 6000.0


def test_a_loop_over_elements_evaluates_the_whole() -> None:
    x = bl.asarray(np.arange(100.0)) + 1
    for i in range(MAX_READS):
        assert float(x[i]) == i + 1
        assert not x._handle.is_evaluated
    for i in range(100):
        assert float(x[i]) == i + 1
    assert x._handle.is_evaluated


def test_views_do_not_count_as_reads() -> None:
    x = bl.full(HUGE, 2.0)
    for _ in range(3 * MAX_READS):
        x[1:]
    assert not x._handle.is_evaluated


def test_a_whole_evaluation_is_kept() -> None:
    memory = np.array([1.0, 2.0])
    x = bl.asarray(memory) * 2
    assert repr(x) == "Array([2., 4.], dtype=float64)"
    memory[:] = 0
    assert x.tolist() == [2.0, 4.0]
    assert np.shares_memory(np.asarray(x), np.asarray(x))


def test_a_chain_evaluates_itself() -> None:
    x = bl.asarray([0])
    for _ in range(20 * MAX_DEPTH):
        x = x + 1
        assert x._handle.depth <= MAX_DEPTH + 1
    assert int(x) == 20 * MAX_DEPTH


def test_a_chain_in_place_evaluates_itself() -> None:
    x = bl.asarray([0])
    for _ in range(20 * MAX_DEPTH):
        x += 1
    assert x._handle.depth <= MAX_DEPTH + 1
    assert int(x) == 20 * MAX_DEPTH


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of arrays of each evaluation."""
    runs: list[int] = []

    def counting(evaluate: Callable[..., Any], of: Callable[[Any], int]) -> Callable[..., Any]:
        def run(given: Any, *rest: Any, **options: Any) -> Any:
            runs.append(of(given))
            return evaluate(given, *rest, **options)

        return run

    monkeypatch.setattr(_options, "evaluated", counting(_options.evaluated, lambda _: 1))
    monkeypatch.setattr(_core, "evaluate_many", counting(_core.evaluate_many, len))
    return runs


def test_variables_of_a_loop_are_evaluated_together(counted: list[int]) -> None:
    c = np.linspace(-0.25, 0.25, 100)
    cr, ci = bl.asarray(c), bl.asarray(c[::-1].copy())
    zr, zi, count = cr * 0, ci * 0, bl.zeros(100, dtype=bl.int64)
    expected = (c * 0, c * 0)
    for _ in range(100):
        r2, i2 = zr * zr, zi * zi
        count = count + bl.astype(r2 + i2 < 4, bl.int64)
        zr, zi = r2 - i2 + cr, 2 * zr * zi + ci
        expected = expected[0] ** 2 - expected[1] ** 2 + c, 2 * expected[0] * expected[1] + c[::-1]
    assert np.array_equal(zr, expected[0]) and np.array_equal(zi, expected[1])
    assert count.tolist() == [100] * 100
    # Each variable depends on 300 operations, none of which is computed twice. At the end, three expressions of a few
    # operations remain.
    assert sum(runs > 1 for runs in counted) <= 3 and len(counted) <= 6


def test_an_array_is_evaluated_with_those_that_share_its_work(counted: list[int]) -> None:
    x = bl.asarray(np.arange(4.0))
    long = x
    for _ in range(MIN_DEPTH):
        long = long + 1.0
    twice, total, other = long * 2.0, bl.sum(long), x
    for _ in range(MIN_DEPTH):
        other = other - 1.0
    float(total)
    assert counted == [1], "arrays that are larger than a requested one stay expressions"
    bl.evaluate(twice)
    assert counted == [1, 2] and long._handle.is_evaluated and not other._handle.is_evaluated
    del twice
    twice = long * 2.0
    np.asarray(other)
    assert counted == [1, 2, 1] and not twice._handle.is_evaluated


def test_views_of_one_array_share_no_work() -> None:
    x = bl.asarray(np.arange(8.0))
    y, z = x[1:]._handle, x[:-1]._handle
    assert (_core.apply("exp", y)).shares_work([_core.apply("exp", z), _core.apply("exp", y), z]) == [False] * 3
    both = _core.apply("exp", y)
    assert _core.apply("add", both, z).shares_work([_core.apply("negative", both), z]) == [True, False]


def test_values_of_numpy_are_read_only_and_copies_are_not() -> None:
    memory = np.array([1.0])
    for x in (bl.asarray(memory), bl.asarray(memory) + 1):
        assert not np.asarray(x).flags.writeable
        assert np.array(x).flags.writeable
    assert np.asarray(bl.asarray([1.5]), dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        np.asarray(bl.asarray([1.5]), dtype=np.float32, copy=False)


@pytest.mark.parametrize(
    "use", [bool, int, float, complex, operator.index, list, np.asarray, Array.item, Array.tolist, len]
)
def test_a_traced_array_has_no_values(use: Callable[[Any], Any]) -> None:
    array = traced(dtype="int64") if use is operator.index else traced("n")
    with pytest.raises(bl.TracerError, match="asks for the value of a traced array"):
        use(array)
    assert repr(traced("n", 3)) == "Array(traced, shape=(n, 3), dtype=float64)"


def test_a_number_made_of_a_traced_array_has_no_value() -> None:
    with pytest.raises(bl.TracerError, match="asks for the value of a traced array"):
        bool(bl.sum(traced("n")) > 0)


def test_operators_build_on_traced_arrays() -> None:
    x = traced("n")
    y = -((2 * x + 1) ** 2)
    assert y._handle.shape == (None,)
    y += x
    assert y._handle.is_symbolic


# Printing.


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6).reshape(2, 3),
        np.array(1.5),
        np.array([True, False]),
        np.arange(1001),
        np.arange(2000.0).reshape(2, 1000),
        np.linspace(0, 1, 40),
        np.ones((3, 500), dtype=np.float32) / 3,
        np.arange(3**8).reshape((3,) * 8),
        np.array([], dtype=np.int8),
        np.zeros((0, 3)),
        np.array([1e-300, 1.0, -np.inf, np.nan]),
        np.arange(100),
    ],
    ids=lambda values: f"{values.dtype}{list(values.shape)}",
)
def test_elements_are_laid_out_as_numpy_lays_them_out(values: np.ndarray) -> None:
    with np.printoptions(linewidth=75):
        expected = np.array2string(values, separator=", ", prefix="Array(") if values.size else "[]"
        plain = str(values)
    # An array in memory, and an expression, of which only the corners are computed.
    arrays = (bl.asarray(values), bl.where(bl.full(values.shape, True), bl.asarray(values), bl.asarray(values)))
    for x in arrays:
        with np.printoptions(linewidth=75):
            text = repr(x)
        assert text.startswith(f"Array({expected},")
        assert text.endswith(f"dtype={values.dtype})")
        assert max(map(len, text.split("\n"))) <= 75
        with np.printoptions(linewidth=75):
            assert str(x) == plain


def test_of_a_large_array_the_corners_are_computed() -> None:
    x = bl.full(HUGE, 1.0) + 0.5
    text = repr(x)
    assert text.startswith("Array([[[1.5, 1.5, 1.5, ..., 1.5, 1.5, 1.5],")
    assert text.endswith("shape=(1000000, 1000000, 1000), dtype=float64)")
    assert not x._handle.is_evaluated


def test_print_options_of_numpy_hold() -> None:
    x = bl.asarray([1 / 3, 2 / 3, 1.0, 2.0, 3.0])
    with np.printoptions(precision=2, threshold=3, edgeitems=1):
        assert repr(x) == "Array([0.33, ..., 3.  ], shape=(5,), dtype=float64)"
        assert repr(x + 0) == "Array([0.33, ..., 3.  ], shape=(5,), dtype=float64)"


class Meanwhile:
    """A substitute for a handle, which performs another action while it is evaluated."""

    def __init__(self, handle: Handle, then: Callable[[], None]) -> None:
        self.handle, self.then = handle, then

    is_evaluated = False
    depth = 1

    def evaluate(self) -> Handle:
        self.then()
        return self.handle.evaluate()


def test_what_is_set_while_an_array_is_evaluated_stays() -> None:
    x = bl.asarray(np.arange(3.0)) + 1
    seven = bl.full((3,), 7.0)._handle
    x._handle = Meanwhile(x._handle, lambda: x._replace(seven))  # type: ignore[assignment]
    assert x._evaluated().to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert x.tolist() == [7.0, 7.0, 7.0]


def test_what_progress_sets_stays() -> None:
    x = bl.asarray(np.zeros(1 << 20)) + 1
    calls = []

    def progress(done: int, total: int) -> None:
        if not calls:
            x[0] = 5
        calls.append(done)

    bl.evaluate(x, progress=progress)
    assert calls
    assert x[:2].tolist() == [5.0, 1.0]
