"""Tests that Python's threads can share arrays, jitted functions, kernels, texts and tables of the package: the
results are those of one thread.

BROADLOOM_STRESS_SECONDS is the duration of each test.
"""

import os
import threading
import time

import numpy as np

import broadloom as bl
import broadloom.numexpr as ne
from broadloom._bounded import Bounded

THREADS = 8
SECONDS = float(os.environ.get("BROADLOOM_STRESS_SECONDS", "0.5"))


def in_threads(work):
    """Calls `work(thread, turn)` in several threads until the time is over, and raises the first exception of any of
    them."""
    raised = []
    begin = threading.Barrier(THREADS)

    def run(thread):
        begin.wait()
        end, turn = time.monotonic() + SECONDS, 0
        try:
            while time.monotonic() < end and not raised:
                work(thread, turn)
                turn += 1
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_one_jitted_function_called_with_many_kinds_of_arguments():
    function = bl.jit(lambda x, y: bl.where(x > y, x - y, x * 2))
    dtypes = [np.float64, np.float32, np.int64, np.int32, np.uint8]
    cases = []
    for size in (1, 7, 100, 5000):
        for dtype in dtypes:
            x = (np.arange(size) % 23).astype(dtype)
            y = (np.arange(size) % 7).astype(dtype)
            cases.append((x, y, np.where(x > y, x - y, x * dtype(2))))

    def work(thread, turn):
        x, y, expected = cases[(turn * THREADS + thread * 3) % len(cases)]
        made = function(x, y)
        assert made.dtype == expected.dtype
        assert np.array_equal(made, expected)

    in_threads(work)


def test_functions_made_and_traced_at_the_same_time():
    x = np.linspace(0, 1, 1000)

    def work(thread, turn):
        factor = float(thread + turn)
        assert np.array_equal(bl.jit(lambda a: a * factor + 1)(x), x * factor + 1)

    in_threads(work)


def test_one_lazy_array_evaluated_by_all():
    x = np.linspace(0, 1, 10_001)
    expected = np.sqrt(x * x + 1) - x
    state = {"lazy": bl.asarray(x)}

    def renew():
        a = bl.asarray(x)
        state["lazy"] = bl.sqrt(a * a + 1) - a

    renew()

    def work(thread, turn):
        lazy = state["lazy"]
        if turn % 5 == thread % 5:
            renew()
        assert np.array_equal(np.asarray(lazy), expected)
        assert np.array_equal(np.asarray(lazy + 1), expected + 1)

    in_threads(work)


def test_variables_that_are_evaluated_together():
    start = bl.asarray(np.linspace(-1, 1, 101))

    def steps(a, b):
        for _ in range(6):
            a, b = a * 0.5 + b * 0.25, b * 0.5 - a * 0.25
        return a, b

    expected = [np.asarray(array) for array in steps(start, start + 1)]
    shared = steps(start, start + 1)

    def work(thread, turn):
        own = steps(start, start + 1)
        for arrays in (own, shared):
            assert all(np.array_equal(np.asarray(a), b) for a, b in zip(arrays, expected))

    in_threads(work)


def test_assignments_to_arrays_of_their_own_that_share_memory_before():
    base = bl.arange(1000, dtype=bl.float64)

    def work(thread, turn):
        mine = base + 0
        mine[::3] = thread
        mine[1] = turn
        made = np.asarray(mine)
        assert made[0] == thread and made[1] == turn and made[2] == 2 and made[999] == thread
        assert float(base[3]) == 3

    in_threads(work)


def test_reading_undoes_no_assignment():
    array = bl.asarray(np.zeros(50)) + 0

    def work(thread, turn):
        if thread > 0:
            assert len(set(np.asarray(array)[:3])) == 1
            return
        array[3] = turn
        assert float(array[3]) == turn and np.asarray(array)[3] == turn
        # An expression, which all threads evaluate and keep.
        array[...] = array * 2 + 1
        assert float(array[3]) == 2 * turn + 1 and np.asarray(array)[3] == 2 * turn + 1
        array[...] = 0 * array

    in_threads(work)


def test_assignments_to_elements_of_one_array_by_all():
    array = bl.asarray(np.zeros(2 * THREADS))

    def work(thread, turn):
        array[thread] = turn
        # Reads the memory, so that the next assignment makes a copy.
        kept = array + 1 if turn % 3 == 0 else None
        array[THREADS + thread] = -turn
        assert (float(array[thread]), float(array[THREADS + thread])) == (turn, -turn)
        assert kept is None or float(kept[thread]) == turn + 1

    in_threads(work)


def test_one_function_called_in_many_forms():
    x = np.arange(10.0)

    def renewed():
        return bl.jit(lambda x, n: x * n, static_argnames="n")

    state = {"scaled": renewed()}

    def work(thread, turn):
        if turn % 5 == 4:
            state["scaled"] = renewed()
        scaled = state["scaled"]
        n = turn % 5 * THREADS + thread
        assert np.array_equal(scaled(x, n=n), x * n)

    in_threads(work)


def test_texts_of_numexpr():
    a, b = np.arange(5000.0), np.arange(5000.0) % 11

    def work(thread, turn):
        assert np.array_equal(ne.evaluate(f"a * {thread + 1} + b"), a * (thread + 1) + b)
        assert np.array_equal(ne.re_evaluate(local_dict={"a": a, "b": b}), a * (thread + 1) + b)

    in_threads(work)


def test_a_limit_of_threads_holds_in_its_own_thread():
    x = bl.asarray(np.ones(1000))

    def work(thread, turn):
        with bl.set_options(threads=thread + 1):
            assert float(bl.sum(x * 2 + turn)) == 1000 * (2 + turn)
            assert bl.get_options()["threads"] == thread + 1

    in_threads(work)


def test_one_kernel():
    kernel = bl.Kernel.parse("x: float64[n]\nx * 2 + sum(x)")
    # Integers, so that every order of additions gives the same sum.
    x = np.arange(3000.0)

    def work(thread, turn):
        part = x[: 3000 - turn % 2]
        assert np.array_equal(kernel(part), part * 2 + part.sum())

    in_threads(work)


def test_writing_one_array_of_numpys_while_it_is_read():
    # The program has a race: it is not defined which elements a call sees, but each is one that was written, and
    # nothing crashes.
    shared = np.zeros(4096)
    function = bl.jit(lambda x: x + 1)

    def work(thread, turn):
        if thread < 2:
            shared[:] = turn % 2
        else:
            assert set(np.unique(function(shared))) <= {1.0, 2.0}

    in_threads(work)


def test_a_bounded_dictionary_stays_bounded():
    kept = Bounded(16)

    def work(thread, turn):
        kept[thread * 1_000_000 + turn] = turn
        kept.setdefault(-turn, turn)

    in_threads(work)
    kept["last"] = 0
    assert len(kept) <= 16
