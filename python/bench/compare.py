"""Times NumPy, numexpr, Numba, JAX and broadloom on the same arrays, and writes the table of the docs.

    python python/bench/compare.py --sizes 10 1e5 1e7 --threads 1 2 --write docs/python/performance.md

All of them compute the same workload in turns within one run, and the least of the rounds counts: the machine is shared, so
ratios are to be trusted, not nanoseconds. What was compiled is compiled before the clock runs. JAX computes in float32
unless told otherwise; here it is told. `engine` is the time of the same kernel run from Rust, without Python.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from workloads import WORKLOADS, Workload  # noqa: E402

Run = Callable[[], Any]
#: The seconds that so many calls take.
Timer = Callable[[int], float]
PEERS = ("numpy", "numexpr", "numba", "jax")
BEGIN, END = "<!-- table: written by python/bench/compare.py -->", "<!-- end of the table -->"


def numexpr_run(workload: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """The workload by numexpr; None where it has no text, or numexpr is not installed."""
    try:
        import numexpr
    except ImportError:
        return None
    if workload.text is None:
        return None
    numexpr.set_num_threads(threads)
    names, text = dict(zip("abc", arrays)), workload.text

    def run() -> Any:
        return numexpr.evaluate(text, local_dict=names)

    return run


def numba_run(workload: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """The workload as a parallel Numba function over NumPy's names."""
    try:
        import numba
    except ImportError:
        return None
    numba.set_num_threads(threads)
    # Numba's parallel loops take operands of one shape only.
    is_parallel = len({x.shape for x in arrays}) == 1
    compiled = numba.njit(parallel=is_parallel, fastmath=False)(workload.function(np, len(arrays)))
    return lambda: compiled(*arrays)


def jax_run(workload: Workload, arrays: Sequence[np.ndarray], threads: int) -> Run | None:
    """The workload by jax.jit on arrays of its own; JAX takes all threads of the process's affinity."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(workload.function(jax.numpy, len(arrays)))
    own = [jax.numpy.asarray(x) for x in arrays]
    return lambda: compiled(*own).block_until_ready()


def timer(run: Run) -> Timer:
    """Times calls from Python."""

    def seconds(calls: int) -> float:
        begun = time.perf_counter()
        for _ in range(calls):
            run()
        return time.perf_counter() - begun

    return seconds


def our_timers(workload: Workload, arrays: Sequence[np.ndarray], threads: int) -> dict[str, Timer]:
    """The workload by `broadloom.numexpr.evaluate`, `@bl.jit`, and by the engine alone."""
    import broadloom as bl
    import broadloom.numexpr as ne
    from broadloom import _core

    timers: dict[str, Timer] = {}
    if workload.text is not None:
        ne.set_num_threads(threads)
        names, text = dict(zip("abc", arrays)), workload.text

        def evaluate() -> Any:
            return ne.evaluate(text, local_dict=names)

        timers["evaluate"] = timer(evaluate)
    jitted = bl.jit(workload.function(bl, len(arrays)), threads=threads)
    timers["jit"] = timer(lambda: jitted(*arrays))
    jitted(*arrays)
    kernel = jitted.entries()[-1].kernel
    timers["engine"] = lambda calls: _core.engine_seconds(kernel, list(arrays), calls)
    return timers


def of_one_call(timer: Timer, least: float) -> float:
    """The seconds of one call, of so many calls that they take `least` seconds."""
    calls = 1
    while (took := timer(calls)) < least:
        calls = max(2 * calls, int(calls * least / max(took, 1e-9)))
    return took / calls


def measured(timers: dict[str, Timer], rounds: int, least: float) -> dict[str, float]:
    """The least seconds of a call of each, taking turns."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, timer in timers.items():
            timer(2)
            took = of_one_call(timer, least)
            best[name] = min(best.get(name, took), took)
    return best


def row(workload: Workload, dtype: str, n: int, threads: int, options: SimpleNamespace) -> dict[str, float]:
    """The seconds of each way of computing a workload."""
    arrays = list(workload.inputs(np.dtype(dtype), n))
    timers = our_timers(workload, arrays, threads)
    function = workload.function(np, len(arrays))
    peers: dict[str, Run | None] = {"numpy": lambda: function(*arrays)}
    for name, make in (("numexpr", numexpr_run), ("numba", numba_run), ("jax", jax_run)):
        if name in options.peers:
            peers[name] = make(workload, arrays, threads)
    timers.update({name: timer(run) for name, run in peers.items() if run is not None and name in options.peers})
    return measured(timers, options.rounds, options.least)


def shown(took: dict[str, float], name: str) -> str:
    """A cell: a time in a fitting unit."""
    if name not in took:
        return "–"
    time_of = took[name]
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if time_of < 1000 * size:
            return f"{time_of / size:.3g} {unit}"
    return f"{time_of:.3g} s"


def cpu() -> str:
    """The class of CPU, by its vectors."""
    from broadloom import _core

    return {128: "128-bit vectors", 256: "AVX2", 512: "AVX-512"}[_core.engine_info()[1]]


def main() -> None:
    """Reads the arguments, times, prints, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["10", "1e5", "1e7"], help="elements of an array")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--workloads", nargs="+", default=[w.name for w in WORKLOADS])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.02, help="seconds that a measurement takes at least")
    parser.add_argument("--write", type=Path, help="a page whose table is replaced")
    options = parser.parse_args()
    columns = ["engine", "evaluate", "jit", *options.peers]
    lines = [f"| workload | dtype | n | threads | {' | '.join(columns)} |", "|---" * (4 + len(columns)) + "|"]
    chosen = [w for w in WORKLOADS if w.name in options.workloads]
    for threads in options.threads:
        for workload in chosen:
            for dtype in (d for d in workload.dtypes if d in options.dtypes):
                for size in options.sizes:
                    n = int(float(size))
                    took = row(workload, dtype, n, threads, SimpleNamespace(**vars(options)))
                    cells = " | ".join(shown(took, name) for name in columns)
                    lines.append(f"| {workload.name} | {dtype} | {n:.0e} | {threads} | {cells} |".replace("e+0", "e"))
                    print(lines[-1], flush=True)
    if options.write:
        versions = ", ".join(
            f"{name} {version(name)}" for name in ("numpy", "numexpr", "numba", "jax") if version(name)
        )
        head = (
            f"{date.today()}, {cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}.\n"
            f"`python python/bench/compare.py {' '.join(sys.argv[1:])}`\n"
        )
        page = options.write.read_text()
        before, rest = page.split(BEGIN)
        after = rest.split(END)[1]
        options.write.write_text(before + BEGIN + "\n\n" + head + "\n" + "\n".join(lines) + "\n\n" + END + after)


def version(package: str) -> str | None:
    """The version of a package that is installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
