"""Tests `jit`: what is traced, what is returned, which errors name which line, and what is pickled."""

import inspect
import math
import pickle
import threading
from collections import namedtuple
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom._array import Array

Pair = namedtuple("Pair", "left right")


def function(name: str) -> Callable[..., Any]:
    """A function of the op table that is called directly, even if the namespace has no such function."""

    def apply(*operands: Any) -> Array:
        return Array._of(_core.apply(name, *(x._operand() if isinstance(x, Array) else x for x in operands)))

    return apply


greater, where, subtract, divide, sqrt = map(function, ("greater", "where", "subtract", "divide", "sqrt"))


@bl.jit
def importable(x: Any, y: Any) -> Any:
    return x * y + 1


def plain(x: Any) -> Any:
    return x * 3


tripled = bl.jit(plain)


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


# Tracing.


def test_a_function_is_traced_once_for_a_signature() -> None:
    traces = []

    @bl.jit
    def f(x: Any, y: Any) -> Any:
        traces.append(1)
        return x + y

    for n in (3, 4, 1000):
        assert np.array_equal(f(np.arange(float(n)), np.ones(n)), np.arange(n) + 1)
    assert len(traces) == 1
    assert np.array_equal(f(np.ones((2, 3)), np.ones(3)), np.full((2, 3), 2.0))
    assert len(traces) == 2
    # The pattern of equal extents, and of ones, is a part of the signature.
    assert f(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert len(traces) == 3
    assert f(np.ones(3, "f4"), np.ones(3, "f4")).dtype == np.float32
    assert len(traces) == 4


def test_arrays_that_do_not_broadcast_are_an_error_with_their_extents() -> None:
    with pytest.raises(ValueError, match=r"cannot broadcast float64\[3\] with float64\[4\]"):
        importable(np.ones(3), np.ones(4))


def test_a_view_has_a_function_traced_for_each_shape() -> None:
    traces = []

    @bl.jit
    def inner(x: Any) -> Any:
        traces.append(1)
        return x[1:] + x[:-1]

    for n in (3, 5, 3, 5):
        x = np.arange(float(n))
        assert np.array_equal(inner(x), x[1:] + x[:-1])
    assert len(traces) == 1
    assert "float64[d0 - 1]" in inner.text()


def test_only_shapes_of_arguments_make_another_trace() -> None:
    traces = []

    @bl.jit
    def f(x: Any) -> Any:
        traces.append(1)
        return x[1:] * 2

    for _ in range(2):
        with pytest.raises(bl.ShapeError, match="output 0 has the shape"):
            f(np.ones(4), out=np.empty(4))
    assert f(np.ones(4)).tolist() == [2.0, 2.0, 2.0]
    assert len(traces) == 1 and len(f.entries()) == 1


def test_a_shape_that_the_kernel_for_all_extents_refuses_has_a_trace_of_its_own() -> None:
    traces = []

    @bl.jit
    def f(x: Any, y: Any) -> Any:
        traces.append(1)
        return x[1:] * y, x[::2] + x[-3]

    def plain(x: Any, y: Any) -> Any:
        return x[1:] * y, x[::2] + x[-3]

    for n, m in ((5, 4), (9, 8), (6, 5)):
        x, y = np.arange(float(n)), np.arange(3.0, 3.0 + m)
        for made, expected in zip(f(x, y), plain(x, y), strict=True):
            assert np.array_equal(made, expected)
    assert len(traces) == 1
    # A slice of one element is broadcast, as in NumPy, and the bounds of a slice may be out of range.
    two = bl.jit(lambda x, y: x[1:] * y)
    for n, m in ((5, 4), (2, 4), (2, 7), (4, 3)):
        x, y = np.arange(float(n)), np.arange(3.0, 3.0 + m)
        assert np.array_equal(two(x, y), x[1:] * y)
    with pytest.raises(IndexError, match="out of range"):
        f(np.ones(2), np.ones(4))
    with pytest.raises(ValueError, match="cannot broadcast"):
        two(np.ones(5), np.ones(3))


def test_slices_of_open_extents_are_those_of_numpy() -> None:
    forms: list[Callable[[Any], Any]] = [
        lambda x: x[1:] - x[:-1],
        lambda x: x[::-1] + x,
        lambda x: x[::2],
        lambda x: x[-5:],
        lambda x: x[2:9:3] * 2,
        lambda x: x[-2:-9:-1],
        lambda x: x[1:, None] - x[None, :-1],
        lambda x: bl.flip(x) * x,
        lambda x: np.diff(x),
        lambda x: bl.cumulative_sum(x, include_initial=True)[1:] - x,
        lambda x: x / x[:1],
    ]
    for form in forms:
        traces = []

        def counted(x: Any, form: Callable[[Any], Any] = form, traces: list[int] = traces) -> Any:
            traces.append(1)
            return form(x)

        f = bl.jit(counted)
        for n in (0, 2, 3, 15, 16, 17, 100):
            x = (np.arange(float(n)) * 7919) % 401 + 1
            eager = np.asarray(form(bl.asarray(x)))
            made = f(x)
            assert made.shape == eager.shape and made.tobytes() == eager.tobytes()
        assert len(traces) == 1


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x * x.shape[0],
        lambda x: x * x.size,
        lambda x: x * (1 if x.shape[0] == 3 else 10),
        lambda x: x * (10 if x.shape != (3,) else 1),
        lambda x: x * sum(1 for _ in range(x.shape[0])),
        lambda x: x * math.prod(x.shape),
        lambda x: x * {3: 1, 4: 10}[x.shape[0]],
        lambda x: x * (1 if x.shape[0] else 7),
        lambda x: x * (0.5 if 3 < x.shape[0] else 2),
        lambda x: x * divmod(x.shape[0], 2)[0],
    ],
)
def test_what_is_done_with_extents_is_done_with_those_of_the_call(of: Callable[[Any], Any]) -> None:
    f = bl.jit(of)
    for n in (3, 4, 3):
        x = np.arange(float(n))
        assert np.array_equal(f(x), of(x))


def test_open_extents_are_none_to_who_looks_at_them() -> None:
    seen = []

    @bl.jit
    def f(x: Any) -> Any:
        seen.append((repr(x.shape), x.shape[1] == None, x.shape == x.shape, x.ndim, x.dtype))  # noqa: E711
        return x

    f(np.ones((2, 1)))
    f(np.ones((3, 1)))
    assert seen == [("(d1, 1)", False, True, 2, np.float64)]


def test_an_exception_of_the_function_is_raised_with_its_own_traceback() -> None:
    @bl.jit
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        f(np.ones(3))
    assert error.traceback[-1].lineno + 1 == line_of(f, "raise KeyError")


def test_functions_made_by_jit_become_a_part_of_another_ones_kernel() -> None:
    f = bl.jit(lambda x: importable(x, 2) + 1)
    assert np.array_equal(f(np.arange(3.0)), np.arange(3) * 2 + 2)
    assert f.text().count("return") == 1
    with pytest.raises(TypeError, match="out= is not for calls within"):
        bl.jit(lambda x: importable(x, 2, out=np.ones(3)))(np.ones(3))


# Arguments.


def test_arguments_bind_as_in_python() -> None:
    @bl.jit
    def f(a: Any, b: Any = 2.0, *rest: Any, c: Any = 3.0, **others: Any) -> Any:
        total = a + b * 10 + c * 100
        for one in (*rest, *others.values()):
            total = total + one * 1000
        return total

    one = np.ones(2)
    assert np.array_equal(f(one), one * 321)
    assert np.array_equal(f(one, one), one * 311)
    assert np.array_equal(f(one, b=one), one * 311)
    assert np.array_equal(f(one, c=one), one * 121)
    assert np.array_equal(f(a=one, c=0, b=0), one)
    assert np.array_equal(f(one, 0, one, one, c=0), one * 2001)
    assert np.array_equal(f(one, z=one), one * 1321)
    with pytest.raises(TypeError, match=r"f\(\): missing a required argument: 'a'"):
        f()
    with pytest.raises(TypeError, match=r"importable\(\): too many positional arguments"):
        importable(one, one, one)
    with pytest.raises(TypeError, match=r"importable\(\): got an unexpected keyword argument 'z'"):
        importable(one, one, z=1)


def test_anything_that_numpy_takes_is_an_argument() -> None:
    assert importable([1, 2], 3).tolist() == [4, 7]
    assert importable(np.float32(2), np.ones(2, "f4")).dtype == np.float32
    assert importable(np.arange(3, dtype=">i4"), 2).tolist() == [1, 3, 5]
    packed = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    assert importable(packed["b"], 2).tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="importable: `x` is str: the array is <U1; broadloom has bool, int8"):
        importable("a", 2)
    with pytest.raises(TypeError, match="complex128"):
        importable(np.ones(2), np.ones(2, complex))


def test_results_are_arrays_of_ours_if_an_argument_is() -> None:
    x = np.arange(3.0)
    made = bl.jit(lambda x, y: {"sum": x + y, "both": [x, 5]})(bl.asarray(x), x)
    assert isinstance(made["sum"], Array) and isinstance(made["both"][0], Array) and made["both"][1] == 5
    assert np.array_equal(np.asarray(made["sum"]), x + x)


def test_static_arguments_are_values() -> None:
    traces = []

    @bl.jit(static_argnames=("times", "mode"))
    def f(x: Any, times: int, mode: str = "add") -> Any:
        traces.append(times)
        for _ in range(times):
            x = x + 1 if mode == "add" else x * 2
        return x

    x = np.ones(2)
    assert f(x, 3).tolist() == [4, 4]
    assert f(x + 1, times=3).tolist() == [5, 5]
    assert f(x, 3, mode="double").tolist() == [8, 8]
    assert f(x, 3.0 == 3.0).tolist() == [2, 2]
    assert traces == [3, 3, True]
    with pytest.raises(TypeError, match="the static argument `mode` is list, which can't be hashed"):
        f(x, 1, mode=[])
    with pytest.raises(ValueError, match="static_argnames: plain has no parameter `y`"):
        bl.jit(plain, static_argnames="y")


def test_a_method_has_an_instance_that_is_static() -> None:
    class Model:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @bl.jit(static_argnames="self")
        def scaled(self, x: Any) -> Any:
            return x * self.factor

        @bl.jit
        def careless(self, x: Any) -> Any:
            return x

    one, two = Model(2.0), Model(3.0)
    assert one.scaled(np.ones(1)).item() == 2 and two.scaled(x=np.ones(1)).item() == 3
    with pytest.raises(TypeError, match="careless: `self` is Model: the array is object"):
        one.careless(np.ones(1))


def test_options_are_checked_when_a_function_is_made() -> None:
    with pytest.raises(ValueError, match="threads is 0, expected a number of threads from 1 on"):
        bl.jit(plain, threads=0)
    with pytest.raises(ValueError, match="has a parameter `out`"):
        bl.jit(lambda x, out: x)
    with pytest.raises(TypeError, match="jit: `function` is 3, expected a function"):
        bl.jit(3)  # type: ignore[call-overload]
    divided = bl.jit(function("floor_divide"), int_division="error")
    with pytest.raises(ZeroDivisionError, match="integer division by zero"):
        divided(np.ones(2, int), np.zeros(2, int))
    assert bl.jit(function("floor_divide"))(np.ones(2, int), np.zeros(2, int)).tolist() == [0, 0]
    x = np.array([0.1, 3.0])
    lost = [float(Fraction(y) ** 2 - Fraction(y * y)) for y in x.tolist()]
    assert bl.jit(lambda x: x * x - x * x, contract=True)(x).tolist() == lost != [0.0, 0.0]
    assert bl.jit(lambda x: x * x - x * x)(x).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match='accuracy is \'high\', expected "fast" or "nearest"'):
        bl.jit(plain, accuracy="high")


# Numbers.


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "f8"])
def test_a_number_takes_the_dtype_of_an_array(dtype: str) -> None:
    f = bl.jit(lambda x, s: x * s)
    for s in (1, 2, 3):
        made = f(np.arange(3, dtype=dtype), s)
        assert made.dtype == dtype and made.tolist() == [0, s, 2 * s]
    assert len(f.entries()) == 1


def test_a_number_that_does_not_fit_is_an_error_of_the_call() -> None:
    f = bl.jit(lambda x, s: x * s)
    small = np.ones(2, "i1")
    assert f(small, 127).tolist() == [127, 127]
    with pytest.raises(ValueError, match="128 cannot be represented as int8"):
        f(small, 128)
    with pytest.raises(ValueError, match="-1 cannot be represented as uint64"):
        f(np.ones(2, "u8"), -1)
    assert f(np.ones(1, "u8"), 2**64 - 1).tolist() == [2**64 - 1]
    with pytest.raises(ValueError, match="100000.0 cannot be represented as float16"):
        f(np.ones(2, "f2"), 1e5)
    with bl.set_options(promotion="strict"):
        with pytest.raises(TypeError, match="multiply: int8 with the literal 1.5; write astype"):
            f(small, 1.5)
        with pytest.raises(TypeError, match="multiply: int8 with the literal true"):
            f(small, True)
    assert f(small, 1.5).tolist() == [1.5, 1.5] and f(small, True).dtype == np.int8
    # As for a literal, the dtype of the quotient determines the dtype of the number.
    assert bl.jit(divide)(small, 1000).tolist() == [0.001, 0.001]


def test_a_number_becomes_an_input_of_each_dtype_that_it_meets() -> None:
    @bl.jit
    def f(a: Any, b: Any, s: Any) -> Any:
        return a * s, b + s, where(greater(a, s), s, a), s

    a, b = np.array([1.0, 9.0], "f4"), np.array([1, 2], "u1")
    product, total, chosen, number = f(a, b, 3)
    assert (product.dtype, total.dtype, chosen.dtype) == (np.float32, np.uint8, np.float32)
    assert (product.tolist(), total.tolist(), chosen.tolist()) == ([3, 27], [4, 5], [1, 3])
    assert number == 3 and type(number) is int


def test_numbers_among_themselves_follow_python() -> None:
    traces = []

    @bl.jit
    def f(x: Any, i: Any, j: Any, r: Any) -> Any:
        traces.append(1)
        return (
            x * (i / j + r),
            (i // j, -i % j, i**j, i & j, i << 2, ~i, abs(-i), round(r, 1), math.floor(r), i == j, 1 - i, i < r, +i),
        )

    for i, j, r in ((7, 2, 2.25), (3, 5, -1.75)):
        x = np.arange(3.0)
        array, numbers = f(x, i, j, r)
        assert np.array_equal(array, x * (i / j + r))
        expected = (
            i // j,
            -i % j,
            i**j,
            i & j,
            i << 2,
            ~i,
            abs(-i),
            round(r, 1),
            math.floor(r),
            i == j,
            1 - i,
            i < r,
            +i,
        )
        assert numbers == expected and [type(x) for x in numbers] == [type(x) for x in expected]
    assert len(traces) == 1
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        f(np.arange(3.0), 1, 0, 1.0)


def test_a_number_that_is_added_in_place_gets_another_name() -> None:
    @bl.jit
    def f(x: Any, s: Any) -> Any:
        t = s
        t += 1
        return x * s, x * t

    a, b = f(np.ones(1), 2)
    assert (a.item(), b.item()) == (2, 3)


def test_a_long_chain_of_numbers_is_replayed() -> None:
    @bl.jit
    def f(x: Any, s: Any) -> Any:
        for _ in range(5000):
            s = s + s - s
        return x + s

    assert f(np.zeros(1), 2).item() == 2


# Errors of tracing.


def branch(x: Any) -> Any:
    if x:
        return x
    return x + 1


def conjunction(x: Any) -> Any:
    return x and x


def to_int(x: Any) -> Any:
    return range(int(x))


def to_float(x: Any) -> Any:
    return float(x) + 1


def to_numpy(x: Any) -> Any:
    return np.asarray(x)


@pytest.mark.parametrize(
    ("of", "text", "what", "instead"),
    [
        (branch, "if x:", "a branch, or bool,", "broadloom.where(condition, a, b)"),
        (conjunction, "x and x", "a branch, or bool,", "broadloom.where(condition, a, b)"),
        (to_int, "int(x)", "int", "functions of broadloom, not of `math`"),
        (to_float, "float(x)", "float", "functions of broadloom, not of `math`"),
        (to_numpy, "np.asarray(x)", "an array of NumPy's", "functions of broadloom or NumPy on the array itself"),
    ],
)
@pytest.mark.parametrize("x", [np.ones(3), np.ones(()), np.ones((1, 1)), 2.5], ids=["1-d", "0-d", "ones", "number"])
def test_asking_for_a_value_names_the_line(
    of: Callable[[Any], Any], text: str, what: str, instead: str, x: Any
) -> None:
    f = bl.jit(of)
    with pytest.raises(bl.TracerError) as error:
        f(x)
    message = str(error.value)
    assert isinstance(error.value, TypeError)
    assert message.startswith(f"{__file__}:{line_of(of, text)}: `")
    assert text in message and f"{what} asks for the value of" in message
    is_number = isinstance(x, float)
    assert ("broadloom.where(condition, a, b)" if is_number else instead) in message
    assert ("static_argnames='x'" in message) == is_number


@pytest.mark.parametrize("name", ["unique_counts", "unique_all"])
def test_a_function_that_computes_at_once_is_named(name: str) -> None:
    f = bl.jit(lambda x: getattr(bl, name)(x)[0] + 1)
    with pytest.raises(bl.TracerError) as error:
        f(np.ones(3))
    message = str(error.value)
    assert message.startswith(f"{__file__}:") and f"`{name}`, which computes at once, asks for the value" in message
    assert message.endswith("call it outside of the function")


def test_a_traced_array_that_is_carried_out_of_its_trace_has_no_values() -> None:
    carried = []

    @bl.jit
    def f(x: Any) -> Any:
        carried.append(x)
        return x

    f(np.ones(3))
    with pytest.raises(bl.TracerError, match="a branch, or bool,"):
        bool(carried[0])
    with pytest.raises(bl.TracerError, match="an open extent asks for"):
        carried[0].shape[0] + 1


def test_a_trace_that_failed_leaves_nothing_behind() -> None:
    memory = np.ones(3)

    @bl.jit
    def fails(x: Any) -> Any:
        return x + bl.asarray(memory) if x else x

    with pytest.raises(bl.TracerError):
        fails(np.ones(3))
    # Outside of a trace, memory is read instead of captured.
    assert np.array_equal(np.asarray(bl.asarray(memory) + 1), memory + 1)
    assert importable(np.ones(3), 1).tolist() == [2, 2, 2]


# Results.


def test_results_are_put_together_as_they_were_returned() -> None:
    @bl.jit
    def f(x: Any, y: Any) -> Any:
        z = x + y
        return {"a": z, 2: [x, (z, Pair(y, None)), ()], "c": "text"}

    x, y = np.arange(3.0), np.ones(3)
    made = f(x, y)
    assert list(made) == ["a", 2, "c"] and made["c"] == "text"
    x_again, (z, pair), nothing = made[2]
    assert type(pair) is Pair and pair.right is None and nothing == ()
    assert np.array_equal(made["a"], x + y) and z is made["a"]
    assert np.array_equal(x_again, x) and not np.shares_memory(x_again, x)
    assert np.array_equal(pair.left, y)


def test_a_function_may_return_an_input_a_constant_and_the_same_array_twice() -> None:
    x = np.arange(3.0)
    assert np.array_equal(bl.jit(lambda x: x)(x), x)
    assert bl.jit(lambda x: 7)(x) == 7
    assert bl.jit(lambda x: None)(x) is None
    assert bl.jit(lambda: 7)() == 7
    one, two = bl.jit(lambda x: (x, x))(x)
    assert one is two and np.array_equal(one, x)
    filled = Array._of(_core.Handle.full((2,), 7, "i2"))
    assert bl.jit(lambda x: filled)(x).tolist() == [7, 7]
    assert bl.jit(lambda x: (x, filled))(x)[1].dtype == np.int16


def test_out_is_written_to() -> None:
    x, y = np.arange(3.0), np.ones(3)
    out = np.zeros(3)
    assert importable(x, y, out=out) is out
    assert out.tolist() == [1, 2, 3]
    importable(x, y=y, out=x)
    assert x.tolist() == [1, 2, 3]
    both = np.zeros(3), np.zeros(3)
    made = bl.jit(lambda x, y: {"a": x + y, "b": x * y})(x, y, out=both)
    assert made["a"] is both[0] and made["b"] is both[1]
    assert (both[0].tolist(), both[1].tolist()) == ([2, 3, 4], [1, 2, 3])


# Captured values.


def test_memory_that_a_function_finds_is_read_at_each_call() -> None:
    found, strided = np.ones(3), np.arange(6.0)
    traces = []

    @bl.jit
    def f(x: Any) -> Any:
        traces.append(1)
        return x + bl.asarray(found) + bl.asarray(found) * bl.asarray(strided[::2])

    x = np.zeros(3)
    for value in (1.0, 5.0, 7.0, 7.0):
        found[:] = value
        strided += 1
        assert np.array_equal(f(x), found + found * strided[::2])
    # The extents of captured memory are numbers, and symbolic extents don't broadcast with them.
    assert len(traces) == 2
    with pytest.raises(ValueError, match="cannot broadcast"):
        f(np.zeros(4))


def test_of_a_captured_expression_the_values_are_those_of_the_trace() -> None:
    memory = np.ones(3)
    expression = bl.asarray(memory) * 2
    f = bl.jit(lambda x: (x + expression, expression))
    assert f(np.zeros(3))[0].tolist() == [2, 2, 2]
    memory[:] = 9
    total, alone = f(np.zeros(3))
    assert total.tolist() == [2, 2, 2] and alone.tolist() == [2, 2, 2]


def test_captured_memory_that_is_changed_in_shape_is_refused() -> None:
    found = np.ones(4)
    f = bl.jit(lambda x: x + bl.asarray(found))
    assert f(np.ones(4)).tolist() == [2] * 4
    assert f(np.ones(4)).tolist() == [2] * 4
    found.shape = (2, 2)
    with pytest.raises(ValueError, match="shape|rank|dims|axes"):
        f(np.ones(4))


# Texts, and pickling.


def test_text_and_explain_are_of_the_signature() -> None:
    f = bl.jit(lambda x, unused, s: x * s)
    with pytest.raises(TypeError, match="missing a required argument"):
        f.text()
    assert f.text(np.ones(3), np.ones(2), 1).splitlines()[:3] == [
        "x: float64[d0]",
        "unused: float64[d0_1]",
        "s__float64: float64[]",
    ]
    assert f.text() == f.text(np.ones(7), np.ones(2), 1)
    assert "float32" in f.text(np.ones(3, "f4"), np.ones(2), s=1)
    assert "multiply" in f.explain(np.ones(3), np.ones(2), 1)


def test_names_that_texts_can_not_have_are_replaced() -> None:
    names: dict[str, Any] = {}
    exec("def f(true, größe, captured_0): return true + größe * captured_0", names)
    f = bl.jit(names["f"])
    assert f(np.ones(1), np.ones(1), 3.0).item() == 4
    assert [line.split(":")[0] for line in f.text().splitlines()[:3]] == ["arg0", "arg1", "arg2"]


def test_a_function_that_can_be_imported_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(importable)) is importable
    again = pickle.loads(pickle.dumps(tripled))
    assert again is not tripled and again(np.ones(2)).tolist() == [3, 3]


def test_another_function_is_pickled_by_its_kernels() -> None:
    captured = np.ones(3)
    f = bl.jit(lambda x, s=1, *, k=2: {"a": x * (s + 1) + bl.asarray(captured), "s": s}, threads=1)
    with pytest.raises(pickle.PicklingError, match="call it before"):
        pickle.dumps(f)
    x = np.arange(3.0)
    assert f(x, 3)["a"].tolist() == [1, 5, 9]
    again = pickle.loads(pickle.dumps(f))
    made = again(x, 4)
    assert made["a"].tolist() == [1, 6, 11] and made["s"] == 4
    assert again(x=x, s=5)["s"] == 5
    assert again.text() == f.text()
    with pytest.raises(
        TypeError, match=r"was pickled without its function, with the kernels for \(float64\[d0\], int\); there is none"
    ):
        again(x.astype("f4"), 4)
    twice = pickle.loads(pickle.dumps(again))
    assert twice(x, 4)["a"].tolist() == [1, 6, 11]


def test_cloudpickle_ships_kernels_too() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    f = bl.jit(lambda x: x * 2)
    f(np.ones(2))
    assert pickle.loads(cloudpickle.dumps(f))(np.ones(2)).tolist() == [2, 2]


def test_a_kernel_is_pickled_by_its_text_and_options() -> None:
    kernel = _core.Kernel.parse("x: int32[n]; unused: float32[m]; y: int32[n]; x // y", int_division="error")
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.text, again.id, again.inputs) == (kernel.text, kernel.id, kernel.inputs)
    ones = np.ones(2, "i4")
    with pytest.raises(ZeroDivisionError):
        again.run([ones, np.ones(1, "f4"), ones * 0])
    built = bl.jit(lambda a, unused, b: b * a + 1).entry(np.ones(2), np.ones(3), 2.0).kernel
    again = pickle.loads(pickle.dumps(built))
    assert (again.id, again.inputs, again.outputs) == (built.id, built.inputs, built.outputs)


# Threads.


def test_first_calls_of_many_threads_trace_at_most_twice() -> None:
    traces = []
    begin = threading.Barrier(8)

    @bl.jit
    def f(x: Any) -> Any:
        traces.append(1)
        return x * 2 + 1

    made: list[Any] = []

    def run() -> None:
        begin.wait()
        made.append(f(np.arange(5.0)))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and all(np.array_equal(x, np.arange(5.0) * 2 + 1) for x in made)
    assert len(traces) <= 2


def test_a_result_that_contains_itself_is_an_error() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        bl.jit(lambda x: endless)(np.ones(3))


def test_options_that_no_number_can_be_are_errors_of_their_values() -> None:
    for options in ({"threads": -1}, {"threads": 10**30}, {"max_bytes": -1}, {"vector_width": 10**10}):
        with pytest.raises(ValueError):
            bl.jit(lambda x: x + 1, **options)(np.ones(3))  # type: ignore[arg-type]


# Static arguments that are equal but not identical.


def test_static_zeros_with_signs_have_kernels_of_their_own() -> None:
    f = bl.jit(lambda x, c: x * c, static_argnames="c")
    x = np.ones(1)
    for zero in (0.0, -0.0, np.float32(0.0), np.float32(-0.0), 0.0):
        assert np.signbit(f(x, zero)).item() == bool(np.signbit(zero))
    g = bl.jit(lambda x, c: x * next(iter(c))[0], static_argnames="c")
    for zero in (0.0, -0.0):
        assert np.signbit(g(x, ((zero,),))).item() == bool(np.signbit(zero))
        assert np.signbit(g(x, frozenset([(zero,)]))).item() == bool(np.signbit(zero))


def test_items_of_static_arguments_have_their_types() -> None:
    f = bl.jit(lambda x, c: x * c[0], static_argnames="c")
    x = np.array([3], "i1")
    assert f(x, (2,)).dtype == np.int8
    assert f(x, (2.0,)).dtype == np.float64
    kinds = bl.jit(lambda x, c: (x, [type(item).__name__ for item in c]), static_argnames="c")
    assert kinds(x, (1,))[1] == ["int"]
    assert kinds(x, (True,))[1] == ["bool"]
    assert kinds(x, frozenset([1.0]))[1] == ["float"]
    assert kinds(x, frozenset([1]))[1] == ["int"]


def test_static_arguments_that_are_the_same_share_a_kernel() -> None:
    traces = []

    @bl.jit(static_argnames="c")
    def f(x: Any, c: Any) -> Any:
        traces.append(c)
        return x + 1

    for _ in range(2):
        f(np.ones(1), float("nan"))
        f(np.ones(1), (1, ("a", frozenset([2, (3.0, None)]))))
        f(np.ones(1), frozenset())
    assert len(traces) == 3
    with pytest.raises(TypeError, match="the static argument `c` is tuple, which can't be hashed"):
        f(np.ones(1), (1, [2]))


def test_a_static_argument_of_any_depth_is_one() -> None:
    f = bl.jit(lambda x, c: x + len(c), static_argnames="c")
    deep: Any = ()
    for _ in range(200_000):
        deep = (deep,)
    assert f(np.ones(1), deep).item() == 2
    assert f(np.ones(1), deep).item() == 2


# The rule of promotion.


@pytest.mark.parametrize("options", [{}, {"static_argnames": "c"}])
def test_a_kernel_is_of_the_rule_of_promotion_that_it_was_traced_under(options: dict[str, Any]) -> None:
    f = bl.jit(lambda x, c=None: x * 2.5, **options)
    x = np.array([1, 2])
    bl.set_options(promotion="strict")
    for _ in range(2):
        with pytest.raises(TypeError):
            f(x)
        with bl.set_options(promotion="numpy"):
            for _ in range(2):
                assert f(x).tolist() == [2.5, 5.0]
                assert f(x=x).tolist() == [2.5, 5.0]
            assert "2.5" in f.text(x) and "2.5" in f.text(x=x)
            made_within = bl.jit(lambda x: x * 2.5)
            out = np.empty(2)
            assert made_within(x, out=out) is out and out.tolist() == [2.5, 5.0]
            assert np.asarray(made_within(bl.asarray(x))).tolist() == [2.5, 5.0]
        with pytest.raises(TypeError):
            f(x=x)
        with pytest.raises(TypeError):
            made_within(x)


def test_a_rule_of_promotion_within_a_function_is_of_its_trace() -> None:
    @bl.jit
    def f(x: Any) -> Any:
        with bl.set_options(promotion="numpy"):
            return x * 2.5

    assert f(np.array([2])).tolist() == [5.0]
    assert f(np.array([4])).tolist() == [10.0]
    assert pickle.loads(pickle.dumps(f))(np.array([4])).tolist() == [10.0]


# Generated names.


@pytest.mark.parametrize(
    "text",
    [
        "n, n__float32: x * n + n__float32",
        "n__float32, n: x * n + n__float32",
        "n, n__float32, arg1: x * n + n__float32 + arg1 - arg1",
        "n, scalar_0: x * (n + n) + scalar_0 - n",
        "n, scalar_0__float32: x * (n + n) + scalar_0__float32 - n",
        "n, scalar0_0, scalar_1: x * (n + n) + scalar_1 - n + scalar0_0 - scalar0_0",
    ],
)
def test_names_that_are_made_differ_from_those_of_parameters(text: str) -> None:
    of = eval(f"lambda x, {text}")
    f = bl.jit(of)
    x = np.arange(3, dtype=np.float32)
    numbers = [2.0, 5.0, 7.0][: of.__code__.co_argcount - 1]
    assert f(x, *numbers).tolist() == of(x, *numbers).tolist()
    arrays = [np.float32(number) * x for number in numbers]
    assert f(x, *arrays).tolist() == of(x, *arrays).tolist()
    is_n = [name == "n" for name in inspect.signature(of).parameters][1:]
    mixed = [number if n else array for n, number, array in zip(is_n, numbers, arrays, strict=True)]
    assert f(x, *mixed).tolist() == of(x, *mixed).tolist()


def test_parameters_that_are_called_as_others_are_renamed() -> None:
    names: dict[str, Any] = {}
    exec("def f(arg1, größe, arg2, true): return arg1 + größe * arg2 - true", names)
    f = bl.jit(names["f"])
    assert f(np.ones(1), np.ones(1), 3.0, np.ones(1)).item() == 3
    exec("def g(größe, arg0, *, arg1): return größe + arg0 * arg1", names)
    assert bl.jit(names["g"])(np.ones(1), 2.0, arg1=np.ones(1)).item() == 3


def test_an_exception_is_not_hidden_by_what_was_captured_before() -> None:
    # No memory could hold all elements.
    line = bl.asarray(np.ones(10**6))
    huge = line[:, None, None] + line[:, None] + line

    class Own(Exception):
        pass

    @bl.jit
    def fails(x: Any) -> Any:
        x + huge
        raise Own

    with pytest.raises(Own):
        fails(np.ones(1))
    # After the trace, memory is read instead of captured.
    assert (bl.asarray(np.ones(3)) + 1).tolist() == [2, 2, 2]
