"""Tests calls with NumPy's arrays: memory of every kind, threads, forks, interrupts, and the errors of calls that
can't work."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl
import broadloom.numexpr as ne
from broadloom import _core
from broadloom._core import Dispatch, Entry, Handle, Kernel

PACKAGE = str(Path(bl.__file__).parents[1])


@bl.jit
def combined(x: Any, y: Any) -> Any:
    return x * y + 1


def run(program: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """A program in an interpreter of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )


# Memory.


@pytest.mark.parametrize("extent", [0, 1, 2, 10, 511, 512, 513, 5000, 100_000])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "u8"])
def test_every_length_and_dtype_again_and_again(extent: int, dtype: str) -> None:
    x = (np.arange(extent) % 7).astype(dtype)
    for again in range(3):
        y = np.full(extent, again, dtype)
        made = combined(x, y)
        assert made.dtype == x.dtype and np.array_equal(made, x * y + np.array(1, dtype))
        made[...] = 0  # Nobody else has its memory.


def test_calls_of_several_kinds_take_turns() -> None:
    arrays = [np.arange(float(n)) for n in range(2, 12)] + [np.arange(6.0).reshape(2, 3), np.float32([1, 2])]
    for _ in range(3):
        for x in arrays:
            assert np.array_equal(combined(x, x), x * x + 1)
            assert np.array_equal(combined(x, 3), x * 3 + 1)
            assert np.array_equal(combined(x[::-1], x), x[::-1] * x + 1)


def test_an_array_that_changes_between_calls_is_looked_at_again() -> None:
    x = np.arange(12.0)
    assert np.array_equal(combined(x, x), x * x + 1)
    x.shape = (3, 4)
    assert np.array_equal(combined(x, x), x * x + 1)
    y = x.view("i8")
    assert np.array_equal(combined(y, y), y * y + 1)
    assert np.array_equal(combined(x.T, x.T), (x * x + 1).T)


def test_0_d_arrays_give_0_d_arrays() -> None:
    made = combined(np.array(3.0), np.array(2.0))
    assert isinstance(made, np.ndarray) and made.shape == () and made.item() == 7
    assert combined(np.array(3.0), np.ones(2)).tolist() == [4, 4]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 2)])
def test_nothing_gives_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    for _ in range(2):
        assert combined(x, x).shape == shape
    assert combined(x, x, out=x) is x


@pytest.mark.parametrize("rank", [8, 32, 33, 64])
def test_every_rank_that_numpy_has(rank: int) -> None:
    x = np.ones((1,) * (rank - 2) + (2, 3))
    for _ in range(2):
        assert np.array_equal(combined(x, 2), x * 2 + 1)


@pytest.mark.parametrize(
    "view", [np.s_[::-1], np.s_[:, ::2], np.s_[::2, ::-3], np.s_[1:2], np.s_[:, 3], np.s_[..., None]], ids=str
)
def test_views_are_read_and_written_in_place(view: Any) -> None:
    base = np.arange(400.0).reshape(20, 20)
    x = base[view]
    expected = x * 2 + 1
    assert np.array_equal(combined(x, 2), expected)
    assert np.array_equal(combined(x.T, 2), expected.T)
    assert combined(x, 2, out=x) is x
    assert np.array_equal(x, expected)


def test_views_of_one_shape_and_other_strides_take_turns() -> None:
    base = np.arange(60.0).reshape(10, 6)
    views = [base[::2, ::2], base[:5, :3], base[5:, 3:], base[::-2, ::-2], base[5:, :3], base.T[:3, :5].T]
    for _ in range(3):
        for x in views:
            assert np.array_equal(combined(x, 2), x * 2 + 1)
            assert np.array_equal(combined(x, views[0]), x * views[0] + 1)


def test_broadcast_arrays_are_read() -> None:
    x = np.broadcast_to(np.arange(3.0), (4, 3))
    assert np.array_equal(combined(x, x), x * x + 1)


# out=.


def test_out_that_can_not_be_written_is_refused() -> None:
    x = np.arange(3.0)
    locked = np.zeros(3)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="out: the array is read-only"):
        combined(x, x, out=locked)
    with pytest.raises(TypeError, match="output 0 is float32, it was built for float64"):
        combined(x, x, out=np.zeros(3, "f4"))
    with pytest.raises(ValueError, match=r"output 0 has the shape \[4\], but is \[3\]"):
        combined(x, x, out=np.zeros(4))
    with pytest.raises(TypeError, match="out has 2 arrays, there are 1 results"):
        combined(x, x, out=(x, x))
    with pytest.raises(TypeError, match="out: expected a NumPy array, or a tuple of them"):
        combined(x, x, out=3)
    with pytest.raises(ValueError, match="order of bytes"):
        combined(x, x, out=np.zeros(3, ">f8"))
    one = np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,), writeable=True)
    with pytest.raises(ValueError, match="out: "):
        combined(x, x, out=one)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("length", [20, 20_000])
@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3])
def test_out_may_overlap_inputs(length: int, shift: int) -> None:
    memory = np.arange(length + 10.0)
    x, out = memory[5 : 5 + length], memory[5 + shift : 5 + shift + length]
    expected = x * 2 + 1
    combined(x, 2, out=out)
    assert np.array_equal(out, expected)


def test_results_that_overlap_are_refused() -> None:
    both = bl.jit(lambda x: (x + 1, x * 2))
    memory = np.zeros(4)
    with pytest.raises(ValueError, match="outputs 0 and 1 overlap"):
        both(np.ones(3), out=(memory[:3], memory[1:]))


@pytest.mark.parametrize("extent", [10, 600, 20_000])
def test_calls_with_and_without_out_take_turns(extent: int) -> None:
    x = np.arange(float(extent))
    out, strided, narrow = np.zeros(extent), np.zeros(2 * extent)[::2], np.zeros(extent, "f4")
    locked = np.zeros(extent)
    locked.flags.writeable = False
    for n in range(3):
        expected = x * n + 1
        assert np.array_equal(combined(x, float(n)), expected)
        for given in (out, strided):
            assert combined(x, float(n), out=given) is given
            assert np.array_equal(given, expected)
        assert np.array_equal(combined(x, float(n), out=None), expected)
        with pytest.raises(ValueError, match="read-only"):
            combined(x, float(n), out=locked)
        with pytest.raises(TypeError, match="float32"):
            combined(x, float(n), out=narrow)
    combined(x, 2.0, out=x)
    assert np.array_equal(x, np.arange(extent) * 2.0 + 1)


def test_evaluate_again_with_other_orders_casts_and_results() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    for _ in range(3):
        assert ne.evaluate("2*a + b").flags.c_contiguous
        assert ne.evaluate("2*a + b", order="F").flags.f_contiguous
        assert ne.evaluate("2*a + b", casting="no").tolist() == (2 * a + b).tolist()
        out = np.zeros((2, 3))
        assert ne.evaluate("2*a + b", out=out) is out and np.array_equal(out, 2 * a + b)
        narrow = np.zeros((2, 3), "f4")
        assert np.array_equal(ne.evaluate("2*a + b", out=narrow), (2 * a + b).astype("f4"))
        assert ne.re_evaluate() is narrow
        with pytest.raises(TypeError):
            ne.evaluate("2*a + b", out=narrow, casting="safe")
    for s in (1.5, 2, True, 2.5, 3):
        made = ne.evaluate("a*s")
        assert made.dtype == np.float64 and np.array_equal(made, a * s)


# Threads, forks, interpreters.


@pytest.mark.parametrize("length", [10, 100_000])
def test_many_threads_call_one_function(length: int) -> None:
    wrong = []

    def work(seed: int) -> None:
        x = np.arange(float(length)) + seed
        for n in range(50):
            if not np.array_equal(combined(x, float(n)), x * n + 1):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_call_within_the_building_of_a_kernel_is_answered() -> None:
    inner = []

    class Nested(Dispatch):
        def _build(self, signature: Any, shapes: Any) -> Entry:
            if not inner:
                inner.append(None)
                inner[0] = self(np.ones(2))
            x = Handle.input("x", signature[0][1], list(signature[0][2]))
            return Entry(Kernel([("result", _core.apply("add", x, 1))], [x]), [0])

    assert Nested()(np.zeros(3)).tolist() == [1, 1, 1]
    assert inner[0].tolist() == [2, 2]


def _in_child(length: int) -> list[float]:
    x = np.arange(float(length))
    return combined(x, 2.0)[:3].tolist() + combined(x.astype("f4"), x.astype("f4"))[:3].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("length", [10, 300_000])
def test_a_child_process_computes(method: str, length: int) -> None:
    x = np.arange(float(length))
    combined(x, 2.0)
    with multiprocessing.get_context(method).Pool(2) as pool:
        made = pool.map_async(_in_child, [length] * 4).get(timeout=120)
    assert made == [[1.0, 3.0, 5.0, 1.0, 2.0, 5.0]] * 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_function_is_shipped_to_a_child_process(method: str) -> None:
    scaled = bl.jit(lambda x, s: x * s)
    x = np.arange(3.0)
    scaled(x, 2.0)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(scaled, (x, 5.0)).get(timeout=120).tolist() == [0, 5, 10]
        assert pool.apply_async(combined, (x, 5.0)).get(timeout=120).tolist() == [1, 6, 11]


def test_a_subinterpreter_is_refused() -> None:
    made = run(
        """
        import broadloom as bl, numpy as np
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        other = interpreters.create()
        code = '''
        try:
            import broadloom._core
        except ImportError as error:
            print("refused:", error, flush=True)
        '''
        import textwrap
        interpreters.run_string(other, textwrap.dedent(code))
        print(bl.jit(lambda x: x + 1)(np.ones(1)))
        """
    )
    assert "refused:" in made.stdout and "[2.]" in made.stdout, (made.stdout, made.stderr)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there is no signal to send")
def test_an_interrupt_ends_a_long_run() -> None:
    made = run(
        """
        import os, signal, threading, time
        import numpy as np, broadloom as bl

        @bl.jit(threads=1)
        def slow(x):
            for _ in range(60):
                x = x * x + 1e-3
            return x

        slow(np.ones(10))
        x, out = np.full(40_000_000, 0.1), np.zeros(40_000_000)
        main, sent = threading.get_ident(), []

        def interrupt():
            # The run writes its first elements before its last ones, and this thread sees them: the GIL is released.
            while not out[0]:
                pass
            sent.append(time.monotonic())
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            slow(x, out=out)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - sent[0], out[-1])
        else:
            print("ran to the end", out[-1])
        print(slow(np.ones(1)).shape)
        """
    )
    assert made.stdout.startswith("interrupted"), (made.stdout, made.stderr)
    _, seconds, last = made.stdout.splitlines()[0].split()
    assert float(seconds) < 1 and float(last) == 0
    assert made.stdout.splitlines()[1] == "(1,)"


@pytest.mark.parametrize(
    "way", ["jitted(x, y)", "float(expression(x, y))", 'ne.evaluate("sum(sin(x * y))", {"x": x, "y": y})']
)
def test_an_interrupt_ends_a_reduction_of_what_is_broadcast(way: str) -> None:
    # The broadcast operand has so many elements that the reduction takes minutes: a run that is not interrupted
    # exceeds the time limit.
    made = run(
        f"""
        import signal
        import numpy as np, broadloom as bl, broadloom.numexpr as ne

        def expression(x, y):
            return bl.sum(bl.sin(bl.asarray(x) * bl.asarray(y)))

        jitted = bl.jit(lambda x, y: bl.sum(bl.sin(x * y)))
        x, y = np.ones((400_000, 1)), np.ones((1, 400_000))
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            {way}
        except KeyboardInterrupt:
            print("interrupted")
        """,
        timeout=40,
    )
    assert made.stdout == "interrupted\n", (made.stdout, made.stderr)


class Resizing:
    """Changes an array while its own values are requested."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.array.resize(4, refcheck=False)
        return np.ones(1)


def test_an_array_that_is_resized_while_others_are_converted_is_not_read_where_it_was() -> None:
    b = np.full(3_000_000, 7.0)
    assert ne.evaluate("b + c", {"b": b, "c": Resizing(b)}).tolist() == [8.0] * 4


def test_an_array_that_out_resizes_is_an_error() -> None:
    b = np.full(3_000_000, 7.0)

    class Outputs:
        def __iter__(self) -> Iterator[np.ndarray]:
            b.resize(4, refcheck=False)
            return iter([np.zeros(3_000_000)])

    f = bl.jit(lambda x: x + 1)
    with pytest.raises(ValueError, match="was resized"):
        f(b, out=Outputs())


def test_a_captured_array_that_changes_its_dtype_is_an_error() -> None:
    w = np.ones(3)
    f = bl.jit(lambda x: x + w)
    x = np.ones(3)
    assert f(x).tolist() == [2.0, 2.0, 2.0]
    w.dtype = np.int64  # type: ignore[misc]
    with pytest.raises(ValueError, match="changed its dtype"):
        f(x)


def test_masked_arrays_are_not_imported_to_look_for_them() -> None:
    made = run(
        """
        import sys
        import numpy as np
        import broadloom as bl

        known = "numpy.ma" in sys.modules
        x = bl.asarray([1.0, 2.0])
        np.add(x, np.ones(2)), np.sum(x), np.concatenate([x, np.ones(2)])
        print(known, "numpy.ma" in sys.modules)
        """
    )
    assert made.stdout == "False False\n", (made.stdout, made.stderr)
