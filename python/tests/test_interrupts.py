"""Tests that signals, exceptions from other threads and time limits end every computation, in each kind of stage and
in each way of starting one.

Each computation here would take minutes or hours: a run that goes on exceeds the time limit of the process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

PACKAGE = str(Path(bl.__file__).parents[1])

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends a signal")

#: Functions of a row, a square and a long array, one for each kind of stage; they allocate little.
STAGES = """
import ctypes, signal, threading, time
import numpy as np, broadloom as bl

MANY = 2_000_000_000

def costly(x, n):
    for _ in range(n):
        x = bl.sin(x * 1e300)
    return x

def softmax(x):
    e = bl.exp(x - bl.max(x, axis=-1, keepdims=True))
    return e / bl.sum(e, axis=-1, keepdims=True)

row, square = np.arange(512.0) % 7, np.arange(512.0 * 512).reshape(512, 512) % 1999
long = np.full(1 << 22, 1.5)

STAGES = {
    "stored": lambda row, square, long: costly(long, 150),
    "just below what was watched": lambda row, square, long: costly(bl.broadcast_to(square, (15, 512, 512)), 100),
    "generated numbers": lambda row, square, long: bl.sum(bl.arange(0, 20_000_000_000)).astype("f8") + row[0],
    "rows in memory": lambda row, square, long: bl.max(bl.broadcast_to(long, (10**6, 1 << 22)), axis=-1),
    "rows computed": lambda row, square, long: bl.sum(bl.sin(bl.broadcast_to(row[:, None], (512, MANY))), axis=-1),
    "short rows": lambda row, square, long: bl.max(bl.prod(costly(bl.broadcast_to(row, (MANY, 512)), 3), axis=-1)),
    "across": lambda row, square, long: bl.sum(bl.broadcast_to(row, (MANY, 512)), axis=0),
    "across, computed": lambda row, square, long: bl.min(bl.sqrt(bl.broadcast_to(row, (MANY, 512)) + 1), axis=0),
    "panels": lambda row, square, long: bl.sum(bl.sin(bl.broadcast_to(square.T, (MANY, 512, 512)))),
    "several stages": lambda row, square, long: bl.std(bl.broadcast_to(row, (MANY, 512)), axis=0),
    "the place of a maximum": lambda row, square, long: bl.argmax(bl.broadcast_to(row, (MANY, 512)), axis=0),
    "scanned": lambda row, square, long: bl.cumulative_sum(costly(long, 150)),
    "row blocks": lambda row, square, long: softmax(costly(bl.broadcast_to(square, (64, 512, 512)), 100)),
}

def arrays():
    return bl.asarray(row), bl.asarray(square), bl.asarray(long)
"""

#: The ways in which each function is computed.
WAYS = {
    "evaluate": "bl.evaluate(function(*arrays()))",
    "threads": "bl.evaluate(function(*arrays()), threads=1)",
    "out": "(lambda x: bl.evaluate(x, out=np.zeros(x.shape, x.dtype)))(function(*arrays()))",
    "several": "(lambda *xs: bl.evaluate(*xs, out=[np.zeros(x.shape, x.dtype) for x in xs]))(function(*arrays()), bl.ones(3))",
    "jit": "bl.jit(function)(row, square, long)",
    "asarray": "np.asarray(function(*arrays()))",
}


def run(code: str, timeout: float = 150) -> str:
    program = STAGES + textwrap.dedent(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])}
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, env=environment
    )
    assert made.returncode == 0, (made.stdout, made.stderr)
    return made.stdout


@pytest.mark.parametrize("way", WAYS)
def test_a_signal_ends_each_kind_of_stage(way: str) -> None:
    # The limit is some seconds for a computation that takes tenths of a second, so that slow machines stay within it.
    made = run(
        f"""
        class Alarm(Exception):
            pass

        def handler(number, frame):
            sent.append(time.monotonic())
            raise Alarm

        signal.signal(signal.SIGALRM, handler)
        for name, function in STAGES.items():
            sent = []
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                {WAYS[way]}
            except Alarm:
                took = time.monotonic() - sent[0]
                print("ok" if took < 5 else f"{{name}}: {{took}} s")
            else:
                print(name, "went on")
        """
    )
    assert set(made.splitlines()) == {"ok"} and made.count("ok") == 13, made


def test_a_worker_thread_leaves_signals_to_the_main_thread_and_is_ended_from_there() -> None:
    made = run(
        """
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for name, function in STAGES.items():
            ended, over = [], threading.Event()

            def work():
                try:
                    bl.evaluate(function(*arrays()))
                except BaseException as error:
                    ended.append(type(error))
                over.set()

            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                over.wait()
            except KeyboardInterrupt:
                pass
            assert not ended and not over.is_set()
            ask = ctypes.pythonapi.PyThreadState_SetAsyncExc
            assert ask(ctypes.c_ulong(thread.ident), ctypes.py_object(InterruptedError)) == 1
            over.wait(20)
            print("ok" if ended == [InterruptedError] else f"{name}: {ended}")
        """
    )
    assert set(made.splitlines()) == {"ok"} and made.count("ok") == 13, made


def test_an_interpreter_ends_while_a_daemon_thread_computes() -> None:
    made = run(
        """
        x = STAGES["generated numbers"](*arrays())
        threading.Thread(target=lambda: bl.evaluate(x), daemon=True).start()
        time.sleep(0.3)
        print("ok")
        """,
        timeout=60,
    )
    assert made == "ok\n"


def test_nothing_is_loaded_from_numpy_after_the_import() -> None:
    # Loading runs Python code, in which the handler of a signal may raise: the extension module would panic.
    made = run(
        """
        import sys

        sys.modules["numpy._core.multiarray"] = None
        print(bl.asarray([1.0, 2.0]).tolist(), np.asarray(bl.asarray(row)[:2] + 1), bl.jit(lambda x: x * 2)(row)[1].item())
        """
    )
    assert made == "[1.0, 2.0] [1. 2.] 2.0\n"


@pytest.fixture
def endless() -> Iterator[bl.Array]:
    yield bl.sum(bl.broadcast_to(bl.asarray(np.ones(5)), (1 << 40, 5)))


def test_a_time_limit(endless: bl.Array) -> None:
    match = r"time limit of 60ms.*; the option max_time sets the limit"
    with pytest.raises(bl.TimeLimitError, match=match):
        bl.evaluate(endless, max_time=0.06)
    with pytest.raises(TimeoutError, match=match):
        bl.evaluate(endless, out=np.zeros(()), max_time=0.06)
    text = "a: float64[5]; return sum(broadcast_to(a, [1000000000000, 5]))"
    with pytest.raises(bl.TimeLimitError, match=match):
        bl.Kernel.parse(text, max_time=0.06).run([np.ones(5)])
    summed = bl.jit(lambda x: bl.sum(bl.broadcast_to(x, (1 << 40, 5))), max_time=0.06)
    for _ in range(3):
        with pytest.raises(bl.TimeLimitError, match=match):
            summed(np.ones(5))


def test_a_time_limit_that_is_kept() -> None:
    x = bl.asarray(np.arange(4.0))
    assert bl.evaluate(x * 2, max_time=100).tolist() == [0, 2, 4, 6]
    double: Any = bl.jit(lambda x: x * 2, max_time=100.5)
    for _ in range(3):
        assert double(np.arange(4.0)).tolist() == [0, 2, 4, 6]
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="max_time is .*, expected a number of seconds"):
            bl.evaluate(x * 2, max_time=wrong)
    with pytest.raises(TypeError):
        bl.evaluate(x * 2, max_time="long")


class Enough(Exception):
    """The exception that handlers of signals raise here."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def handler(number: int, frame: Any) -> None:
        raise Enough

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.signal(signal.SIGALRM, before)


def test_jit_passes_on_what_the_handler_of_a_signal_raises(alarm: None) -> None:
    traces = []

    @bl.jit
    def function(x: Any) -> Any:
        traces.append(x.shape)
        if len(traces) == 1:
            os.kill(os.getpid(), signal.SIGALRM)
        return x + 1

    with pytest.raises(Enough):
        function(np.ones(3))
    assert len(traces) == 1
    assert function(np.ones(3)).tolist() == [2, 2, 2]


def test_jit_passes_on_what_the_function_raises_and_traces_again_where_the_package_does() -> None:
    traces = []

    @bl.jit
    def wrong(x: Any) -> Any:
        traces.append(None)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        wrong(np.ones(3))
    assert len(traces) == 1

    @bl.jit
    def refused(x: Any) -> Any:
        traces.append(None)
        try:
            return bl.reshape(x, (3, 1))
        except ValueError as error:
            raise RuntimeError("no reshape") from error

    assert refused(np.arange(3.0)).tolist() == [[0], [1], [2]] and len(traces) == 3


def test_jit_evaluates_nothing_for_a_trace_that_failed() -> None:
    captured = bl.sum(bl.broadcast_to(bl.asarray(np.ones(5)), (1 << 40, 5)))

    @bl.jit
    def wrong(x: Any) -> Any:
        y = x + captured
        raise LookupError(str(y.dtype))

    with pytest.raises(LookupError):
        wrong(np.ones(3))
