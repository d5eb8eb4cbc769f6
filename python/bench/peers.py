"""The peers of the workloads: libraries and compilers, each in a process of its own.

    python python/bench/peers.py NAME

Reads requests as lines of JSON from standard input, and answers with the seconds that the requested number of calls
took. Each peer has its own process for three reasons: it may need another interpreter (Numba with Intel's vector
library needs an older Numba), JAX can be limited to one processor if one thread is requested, and the threads of one
library don't disturb another.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from loops import c_loop, numba_fast_loop, numba_loop  # noqa: E402
from recurrences import RECURRENCES, Recurrence, by_lfilter, by_numba, in_c  # noqa: E402
from reductions import REDUCTIONS  # noqa: E402
from workloads import WORKLOADS, Workload  # noqa: E402

Run = Callable[[], Any]
#: Settings with which peers compile for AVX2, also on a processor with wider vectors.
OF_AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "GCC_ARCH": "haswell",
}
#: Bytes of a huge page on most systems.
HUGE_PAGE = 2 << 20
#: The flags of gcc, for arithmetic as IEEE 754 defines it and for faster arithmetic.
ARCH = f"-march={os.environ.get('GCC_ARCH', 'native')}"
STRICT = (ARCH, "-ffp-contract=off")
FAST = (ARCH, "-ffast-math")
#: The peers that have no option to give up IEEE's arithmetic. Whether one keeps it in a row is found by the bits of
#: its results.
STANDARD = ("numpy", "numexpr", "numba", "numba_svml", "jax", "gcc")
PEERS = (*STANDARD, "gcc_fast", "numba_fast", "gcc_vectors", "lfilter")


def of_numpy(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run:
    """Runs the workload by NumPy, which allocates arrays for intermediate values and the result."""
    function = given.function(np, len(arrays))
    return lambda: function(*arrays)


def of_numexpr(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """Runs the workload by numexpr; None if it has no text."""
    if given.text is None or any(x.dtype == np.float16 for x in arrays):
        return None
    import numexpr

    numexpr.set_num_threads(threads)
    names, text = dict(zip("abc", arrays)), given.text
    return lambda: numexpr.evaluate(text, local_dict=names)


def placed(array: np.ndarray, place: int) -> np.ndarray:
    """Returns a copy in huge pages, at an offset within a page that no other array of a workload has.

    A load waits for a pending store if its address is a whole number of pages behind the store's, and most allocators
    begin all large arrays at the same offset in a page. Huge pages are used because the sets of the second-level cache
    that small pages occupy are random in each process: at 10⁵ elements, ratios varied by a fifth.
    """
    area = mmap.mmap(-1, HUGE_PAGE + 8192 + array.nbytes)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        area.madvise(mmap.MADV_HUGEPAGE)
    memory = np.frombuffer(area, np.uint8)
    first = -memory.ctypes.data % HUGE_PAGE + 64 + 576 * place
    copy = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def result_of(given: Workload, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """NumPy's result, in memory that the caller may write. Of a recurrence, the result of the plain loop in C."""
    if isinstance(given, Recurrence):
        return OF_RECURRENCES["gcc"](given, arrays, memory_for(given, arrays))()
    return placed(np.ascontiguousarray(given.function(np, len(arrays))(*arrays)), len(arrays) + 1)


def memory_for(given: Workload, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Memory for the result, filled with wrong values, so that a loop that writes nothing is detected."""
    if isinstance(given, Recurrence):
        memory = placed(given.memory(arrays), len(arrays) + 1)
    else:
        memory = result_of(given, arrays)
    memory.fill(1)
    return memory


def of_numba(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """The workload as a loop compiled by Numba, or as a function of arrays if it is not a loop."""
    if any(x.dtype == np.float16 for x in arrays):
        return None
    if given.of_elements is not None:
        return numba_loop(given, arrays, memory_for(given, arrays), threads)
    import numba

    numba.set_num_threads(threads)
    compiled = numba.njit(parallel=threads > 1, fastmath=False)(given.function(np, len(arrays)))
    return lambda: compiled(*arrays)


def of_numba_fast(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """A reduction as loops that Numba compiles with `fastmath`, always on one thread. None for other workloads."""
    return given.fast and numba_fast_loop(given.fast, arrays, memory_for(given, arrays))


def of_jax(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run:
    """Runs the workload by jax.jit on JAX's own arrays. JAX uses the processors that its process may run on."""
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(given.function(jax.numpy, len(arrays)))
    own = [jax.numpy.asarray(x) for x in arrays]
    return lambda: compiled(*own).block_until_ready()


def of_gcc(flags: Sequence[str]) -> Callable[[Workload, Sequence[np.ndarray], int], Run | None]:
    """The workload as a loop in C, by gcc with these flags."""

    def make(given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
        if given.of_elements is None or any(x.dtype == np.float16 for x in arrays):
            return None
        return c_loop(given, arrays, memory_for(given, arrays), threads, flags)

    return make


MAKERS: dict[str, Callable[[Workload, Sequence[np.ndarray], int], Run | None]] = {
    "numpy": of_numpy,
    "numexpr": of_numexpr,
    "numba": of_numba,
    "numba_svml": of_numba,
    "jax": of_jax,
    "gcc": of_gcc(STRICT),
    "gcc_fast": of_gcc(FAST),
    "numba_fast": of_numba_fast,
}

#: The peers of recurrences, each on one thread.
OF_RECURRENCES: dict[str, Callable[[Recurrence, Sequence[np.ndarray], np.ndarray], Run | None]] = {
    "numba": by_numba,
    "numba_svml": by_numba,
    "lfilter": by_lfilter,
    "gcc": partial(in_c, flags=STRICT),
    "gcc_vectors": partial(in_c, flags=STRICT, kind="_vectors"),
}


def made(peer: str, given: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """The run of a workload by a peer. None if the peer doesn't offer it."""
    if isinstance(given, Recurrence):
        make = OF_RECURRENCES.get(peer)
        return make and make(given, arrays, memory_for(given, arrays))
    return MAKERS[peer](given, arrays, threads) if peer in MAKERS else None


def workload(name: str) -> Workload:
    """The workload with this name."""
    return next(w for w in (*WORKLOADS, *REDUCTIONS, *RECURRENCES) if w.name == name)


def arrays_of(name: str, dtype: str, n: int | Sequence[int]) -> list[np.ndarray]:
    """A workload's inputs, with the given number of elements or shape. They are the same in every process."""
    arrays = workload(name).inputs(np.dtype(dtype), n)
    return [placed(array, place) for place, array in enumerate(arrays, 1)]


def timed(run: Run, calls: int) -> float:
    """The seconds that the given number of calls take."""
    begun = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - begun


class Peer:
    """A peer's process, as the comparing process sees it."""

    def __init__(self, name: str, threads: int, python: str = sys.executable, width: int | None = None) -> None:
        self.name = name
        # Waiting threads sleep, since they would otherwise occupy processors that other peers need.
        environment = os.environ | {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
        if name == "numba_svml":
            # The folder in which the package icc_rt has installed Intel's vector library.
            environment["LD_LIBRARY_PATH"] = str(Path(python).parent.parent / "lib")
        if width == 256:
            environment |= OF_AVX2
        command = [python, __file__, name, str(threads)]
        if name == "jax" and threads < (os.cpu_count() or 1):
            command = ["taskset", "-c", f"0-{threads - 1}", *command]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Sends a request to the process, and returns the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"{self.name} ended"}

    def begin(self, name: str, dtype: str, n: int | Sequence[int], check: Path) -> dict[str, Any]:
        """Prepares a workload and checks its result. The answer has `same_bits`, or the `error` if the workload
        can't be timed."""
        return self.ask(begin=name, dtype=dtype, n=n, check=str(check))

    def timer(self) -> Callable[[int], float]:
        """Times calls of the workload that was begun."""
        return lambda calls: float(self.ask(calls=calls)["seconds"])

    def close(self) -> None:
        """Ends the process."""
        self.process.terminate()
        self.process.wait()


def compare_with_numpy(given: Workload, result: Any, expected: np.ndarray) -> None:
    """Raises AssertionError unless a result is near NumPy's, or equal to it in a reduction that has no tolerance."""
    tolerance = {"rtol": 2e-2 if expected.dtype == np.float16 else 1e-4, "atol": 1e-5}
    if given.group:
        ulp = np.finfo(expected.dtype).eps * np.max(np.abs(expected)) if given.ulps else 0
        tolerance = {"rtol": 0, "atol": given.ulps * ulp}
    np.testing.assert_allclose(result, expected, **tolerance, err_msg=given.name)


def prepare(peer: str, threads: int, request: dict[str, Any]) -> tuple[Run, bool] | None:
    """Returns the run of a workload and whether its result has the expected bits. The result must be near the
    expected one."""
    given = workload(request["begin"])
    arrays = arrays_of(given.name, request["dtype"], request["n"])
    run = made(peer, given, arrays, threads)
    if run is None:
        return None
    expected, result = np.load(request["check"]), np.asarray(run())
    compare_with_numpy(given, result, expected)
    return run, bool(np.array_equal(result.reshape(expected.shape), expected))


def serve(peer: str, threads: int) -> None:
    """Answers requests until standard input ends."""
    run: Run | None = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        if "begin" in request:
            try:
                prepared = prepare(peer, threads, request)
                run, answer = prepared[0] if prepared else None, {"error": "not offered"}
                if prepared:
                    answer = {"same_bits": prepared[1]}
            except Exception as error:  # Any error: the row omits this peer and states the error.
                run, answer = None, {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        elif run is not None:
            answer = {"seconds": timed(run, request["calls"])}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
