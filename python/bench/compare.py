"""Compares the speed of broadloom with that of NumPy, numexpr, Numba, JAX and loops compiled by gcc, and writes the
tables of the docs.

    python python/bench/compare.py --sizes 10 1e5 1e7 --threads 1 2 --write docs/generated/python-performance.md
    python python/bench/compare.py --group reductions

All of them compute the same workload on equal arrays, alternately, each in a process of its own. The minimum over
the rounds counts. Since the machine is shared, only ratios are reliable, not nanoseconds.

Every result is first compared with NumPy's. In a row of plain arithmetic, a peer is counted as keeping IEEE's
arithmetic if its result has the same bits as NumPy's. In the other rows (functions, bools, reductions), bits don't show
this; in such a row that adds products, a peer that contracts products is not counted. JAX contracts them. numexpr
computes in float64 if a literal is combined with float32. Peers that don't keep IEEE's arithmetic are compared with
broadloom's option `contract`.

`engine` is the time of the kernel alone, without Python. It writes to existing memory, as the loops of Numba and gcc
do. `--svml PYTHON` names an interpreter with numba 0.60 and icc_rt, with which Numba uses Intel's vector library. `gcc`
is strict, and `gcc_fast` has -ffast-math and libmvec.

`--group` selects reductions, scans and pipelines of rows instead of these workloads. Each has its own sizes, and is
compared with NumPy, JAX and `numba_fast`: explicit loops that Numba compiles with fastmath=True, on one thread
whatever `--threads` is. The last lines compare the time of `engine` with that of the fastest peer, for each group
and size: the geometric mean of the ratios, and the row with the largest one.

`--group loops` selects loops of elements and recurrences along an axis (`recurrences.py`). `engine` is the kernel of a
function with `while_loop`, `fori_loop` or `scan`, `jit` is that function called from Python, and `vectorize` the kernel
of a Python function of numbers. The peers are Numba, `scipy.signal.lfilter`, and loops in C: `gcc` one element at a
time, and `gcc_vectors` with AVX2. The last lines compare the speeds with the goals.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from peers import PEERS, STANDARD, Peer, arrays_of, compare_with_numpy, result_of, timed  # noqa: E402
from recurrences import RECURRENCES, Recurrence  # noqa: E402
from reductions import GROUPS, REDUCTIONS  # noqa: E402
from workloads import WORKLOADS, Workload  # noqa: E402

#: The seconds that the given number of calls take.
Timer = Callable[[int], float]
#: The default of `--sizes`: numbers of elements of an array.
SIZES = ("10", "1e5", "1e7")
#: The marker in a page at the beginning of the table for a class of CPU, or of the only table, for all CPUs.
BEGIN = "<!-- table, {cpu}: written by python/bench/compare.py -->"
BEGIN_ONLY = "<!-- table: written by python/bench/compare.py -->"
END = "<!-- end of the table -->"
#: The peer that broadloom is compared with.
EXACT = "the best peer that keeps IEEE's arithmetic"
FAST = "the best of those that don't, gcc -ffast-math above all (ours with `contract`)"
#: The peer with which reductions are compared. Each peer adds in an order of its own, so the bits of results don't show
#: which ones keep IEEE's arithmetic.
FASTEST = "the fastest peer"
#: The peers of reductions and of loops, if no others are named.
REDUCTION_PEERS = ("numpy", "jax", "numba_fast")
LOOP_PEERS = ("numba", "lfilter", "gcc", "gcc_vectors")
#: The number of elements whose bits are compared. With a hundred, contracted and uncontracted sums might agree.
PROBES = 100_000
#: The largest value with which a row counts in a mean, so that one fast row can't outweigh slow ones.
CAP = 1.5


def our_timers(workload: Workload, arrays: Sequence[np.ndarray], threads: int, width: int | None) -> dict[str, Timer]:
    """Runs the workload by `broadloom.numexpr.evaluate`, by `@bl.jit`, and by the engine alone, also with contraction.

    Raises AssertionError if one of the results isn't near NumPy's.
    """
    if isinstance(workload, Recurrence):
        return timers_of_loops(workload, arrays, threads, width)
    import broadloom as bl
    import broadloom.numexpr as ne
    from broadloom import _core

    timers: dict[str, Timer] = {}
    result = result_of(workload, arrays)
    if workload.text is not None and width is None and arrays[0].dtype != np.float16:
        ne.set_num_threads(threads)
        names, text = dict(zip("abc", arrays)), workload.text
        timers["evaluate"] = lambda calls: timed(lambda: ne.evaluate(text, local_dict=names), calls)
    options = {"threads": threads} if width is None else {"threads": threads, "vector_width": width}
    for name, contract in (("engine", False), ("contract", True)):
        jitted = bl.jit(workload.function(bl, len(arrays)), contract=contract, **options)
        ours = np.asarray(jitted(*arrays))
        result = result.reshape(ours.shape)
        if not contract:  # Contraction may change the outcome of a comparison between nearly equal numbers.
            compare_with_numpy(workload, ours, result)
        kernel = jitted.entries()[-1].kernel
        # The result is written to existing memory, as by the loops of Numba and gcc.
        timers[name] = lambda calls, kernel=kernel, result=result: _core.engine_seconds(
            kernel, list(arrays), [result], calls
        )
        if name == "engine":
            timers["jit"] = lambda calls, jitted=jitted: timed(lambda: jitted(*arrays), calls)
    return timers


def timers_of_loops(row: Recurrence, arrays: Sequence[np.ndarray], threads: int, width: int | None) -> dict[str, Timer]:
    """Runs the row by `while_loop`, `fori_loop` or `scan`, and by `vectorize`. The results must be those in C."""
    import broadloom as bl
    from broadloom import _core

    options: dict[str, Any] = {"threads": threads} if width is None else {"threads": threads, "vector_width": width}
    made = {"engine": bl.jit(row.loop(bl), **options)}
    if row.numbers is not None:
        made["vectorize"] = bl.vectorize(**options)(row.numbers(float))
    result = result_of(row, arrays)
    timers: dict[str, Timer] = {}
    for name, function in made.items():
        compare_with_numpy(row, np.asarray(function(*arrays)), result)
        kernel = function.entries()[-1].kernel
        timers[name] = lambda calls, kernel=kernel: _core.engine_seconds(kernel, list(arrays), [result], calls)
    timers["jit"] = lambda calls: timed(lambda: made["engine"](*arrays), calls)
    return timers


def of_one_call(timer: Timer, least: float) -> float:
    """The seconds of one call, measured over so many calls that they take at least `least` seconds."""
    calls = 1
    while (took := timer(calls)) < least:
        calls = max(2 * calls, int(calls * least / max(took, 1e-9)))
    return took / calls


def measured(timers: dict[str, Timer], rounds: int, least: float) -> dict[str, float]:
    """The minimum time of a call of each contender, in seconds. The contenders alternate."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, timer in timers.items():
            timer(2)
            took = of_one_call(timer, least)
            best[name] = min(best.get(name, took), took)
    return best


def shown(took: dict[str, float], name: str) -> str:
    """The text of a cell: a time in a suitable unit."""
    if name not in took:
        return "–"
    time_of = took[name]
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if time_of < 1000 * size:
            return f"{time_of / size:.3g} {unit}"
    return f"{time_of:.3g} s"


class Ratios:
    """The speed of broadloom relative to the fastest peer, over the rows of a size and a number of threads."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, int, str], list[tuple[float, str]]] = {}
        #: A line for each speed with a goal.
        self.goals: list[str] = []

    def note(
        self, workload: Workload, dtype: str, size: str, threads: int, took: dict[str, float], ieee: set[str]
    ) -> str:
        """Counts a row, in which the peers `ieee` keep IEEE's arithmetic. Returns the text of its cell: the ratio
        and the fastest peer."""
        cell, given = "–", [peer for peer in PEERS if peer in took]
        if isinstance(workload, Recurrence):
            self.note_aims(workload, dtype, size, took)
            best = min(given, key=took.__getitem__, default=None)
            return cell if best is None else f"{took[best] / took['engine']:.2f} {best}"
        comparisons = [
            ("contract", FAST, [peer for peer in given if peer not in ieee or peer not in STANDARD]),
            ("engine", EXACT, [peer for peer in given if peer in ieee and peer in STANDARD]),
        ]
        for ours, against, peers in [("engine", FASTEST, given)] if workload.group else comparisons:
            if peers and ours in took:
                best = min(peers, key=took.__getitem__)
                ratio = took[best] / took[ours]
                rows = self.rows.setdefault((workload.group, size, threads, against), [])
                rows.append((ratio, f"`{workload.name}` {dtype}"))
                cell = f"{ratio:.2f} {best}" if ours == "engine" else cell
        return cell

    def note_aims(self, row: Recurrence, dtype: str, size: str, took: dict[str, float]) -> None:
        """Compares the speed in a row with its goal."""
        for aim in row.aims:
            peers = [peer for peer in aim.peers if peer in took]
            if dtype in aim.dtypes and peers:
                best = min(peers, key=took.__getitem__)
                speeds = [f"{took[best] / took[name]:.2f} ({name})" for name in ("engine", "vectorize") if name in took]
                self.goals.append(
                    f"- `{row.name}` {dtype}, {size}: {' and '.join(speeds)} × the speed of {best}; goal: {aim.ratio:.2f}"
                )

    def summary(self) -> list[str]:
        """Returns a line for each size and number of threads: the capped geometric mean, and the rows below 0.9.

        For a group of reductions, a line contains ratios of times instead of speeds: their geometric mean, which isn't
        capped, and the worst row.
        """
        lines = list(self.goals)
        for (group, size, threads, against), rows in self.rows.items():
            place = f"{size}, {threads} thread{'s'[: threads - 1]}"
            if group:
                mean = math.exp(-sum(math.log(ratio) for ratio, _ in rows) / len(rows))
                ratio, worst = min(rows)
                lines.append(
                    f"- {group}, {place}: {mean:.2f} × the time of {against} over {len(rows)} rows; worst: {worst} {1 / ratio:.2f}"
                )
            else:
                mean = math.exp(sum(math.log(min(ratio, CAP)) for ratio, _ in rows) / len(rows))
                slow = ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(rows) if ratio < 0.9) or "none"
                lines.append(
                    f"- {place}: {mean:.2f} × the speed of {against} over {len(rows)} rows, "
                    f"each counted for {CAP} at most; below 0.9: {slow}"
                )
        return lines


def has_exact_bits(peer: Peer, workload: Workload, dtype: str, check: Path) -> bool:
    """Whether a peer's result has NumPy's bits, for enough elements to tell. True also if the peer doesn't offer the
    workload."""
    np.save(check, result_of(workload, arrays_of(workload.name, dtype, PROBES)))
    return bool(peer.begin(workload.name, dtype, PROBES, check).get("same_bits", True))


def contracts_products(peer: Peer, check: Path) -> bool:
    """Whether a peer contracts: the bits of its result differ from a product that is rounded, added, and rounded again."""
    triad = next(w for w in WORKLOADS if w.name == "triad")
    return not has_exact_bits(peer, triad, "float64", check)


def extents(size: str) -> int | tuple[int, ...]:
    """The number of elements of an array, as in "1e6", or the shape of a matrix, as in "1000x100"."""
    return tuple(map(int, size.split("x"))) if "x" in size else int(float(size))


def sizes_of(workload: Workload, asked: Sequence[str] | None) -> Sequence[str]:
    """The sizes of a workload: the sizes passed to `--sizes`, or the default ones. For a reduction, the sizes in its row,
    of which `--sizes` selects some. For a loop, the sizes passed that have as many axes as the one in its row."""
    if isinstance(workload, Recurrence) and asked is not None:
        return [size for size in asked if ("x" in size) == ("x" in workload.sizes[0])]
    if workload.sizes:
        return [size for size in workload.sizes if asked is None or size in asked]
    return SIZES if asked is None else asked


def cpu(width: int | None) -> str:
    """The class of the CPU, which is determined by the vectors in use."""
    from broadloom import _core

    return {128: "128-bit vectors", 256: "AVX2", 512: "AVX-512"}[width or _core.engine_info()[1]]


def version(package: str) -> str | None:
    """The version of a package that is installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def arguments() -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--sizes", nargs="+", help=f"elements of an array, {' '.join(SIZES)} by default; of reductions, which of theirs"
    )
    parser.add_argument("--threads", nargs="+", type=int, help="1 2 by default; of loops, 1")
    parser.add_argument(
        "--group",
        nargs="+",
        choices=("reductions", *GROUPS, "loops"),
        help="other rows in place of the workloads: reductions, all or these groups of them, or loops",
    )
    parser.add_argument("--workloads", nargs="+", help="names of workloads, or with --group of its rows")
    parser.add_argument("--dtypes", nargs="+", help="float32 and so on; by default all of each workload")
    parser.add_argument("--peers", nargs="*", choices=PEERS)
    parser.add_argument("--svml", metavar="PYTHON", help="an interpreter with numba 0.60 and icc_rt")
    parser.add_argument(
        "--vector-width",
        type=int,
        choices=(128, 256, 512),
        help="the most bits of our vectors; 256 has the peers take AVX2, too",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.02, help="seconds that a measurement takes at least")
    parser.add_argument("--write", type=Path, help="a page whose table is replaced")
    options = parser.parse_args()
    rows: Sequence[Workload] = WORKLOADS
    if options.group == ["loops"]:
        rows = RECURRENCES
    elif options.group:
        if "loops" in options.group:
            parser.error("loops have a table of their own")
        rows = [row for row in REDUCTIONS if not {row.group, "reductions"}.isdisjoint(options.group)]
    options.threads = options.threads or ([1] if rows is RECURRENCES else [1, 2])
    options.workloads = [row for row in rows if options.workloads is None or row.name in options.workloads]
    if not options.workloads:
        parser.error("no such workload; rows of reductions and loops need --group")
    if options.peers is None:
        left_out = ("numba_svml", "numba_fast", "gcc_vectors", "lfilter")
        options.peers = [peer for peer in PEERS if peer not in left_out]
        if options.group:
            options.peers = LOOP_PEERS if rows is RECURRENCES else REDUCTION_PEERS
    if options.svml:
        options.peers = [*options.peers, "numba_svml"]
    return options


def main() -> None:
    """Reads the arguments, times, prints, and writes the page."""
    options = arguments()
    ours = ["engine", "vectorize", "jit"] if options.group == ["loops"] else ["engine", "contract", "evaluate", "jit"]
    columns = [*ours, *options.peers]
    lines = [
        f"| workload | dtype | n | threads | {' | '.join(columns)} | best peer / engine |",
        "|---" * (5 + len(columns)) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    ratios, folder = Ratios(), tempfile.TemporaryDirectory()
    check = Path(folder.name, "expected.npy")
    for threads in options.threads:
        peers = {
            name: Peer(name, threads, options.svml if name == "numba_svml" else sys.executable, options.vector_width)
            for name in options.peers
        }
        # Groups are compared with the fastest peer, whatever its arithmetic.
        contracts = {} if options.group else {name: contracts_products(peer, check) for name, peer in peers.items()}
        for workload in options.workloads:
            for dtype in (d for d in workload.dtypes if d in (options.dtypes or workload.dtypes)):
                ieee = {
                    name
                    for name, peer in peers.items()
                    if not (workload.adds_products and contracts[name])
                    and (not workload.has_exact_bits or has_exact_bits(peer, workload, dtype, check))
                }
                for size in sizes_of(workload, options.sizes):
                    n = extents(size)
                    arrays = arrays_of(workload.name, dtype, n)
                    np.save(check, result_of(workload, arrays))
                    timers = our_timers(workload, arrays, threads, options.vector_width)
                    for name, peer in peers.items():
                        fault = peer.begin(workload.name, dtype, n, check).get("error")
                        if fault is None:
                            timers[name] = peer.timer()
                        elif fault != "not offered":
                            print(f"{workload.name} {dtype} {size}, {name}: {fault}", file=sys.stderr)
                    took = measured(timers, options.rounds, options.least)
                    ratio = ratios.note(workload, dtype, size, threads, took, ieee)
                    cells = " | ".join(shown(took, name) for name in columns)
                    lines.append(f"| {workload.name} | {dtype} | {size} | {threads} | {cells} | {ratio} |")
                    print(lines[-1], flush=True)
        for peer in peers.values():
            peer.close()
    lines = [*ratios.summary(), "", *lines]
    print(*ratios.summary(), sep="\n")
    if options.write:
        write(options.write, lines, options.vector_width, options.svml)


def write(path: Path, lines: Sequence[str], width: int | None, svml: str | None) -> None:
    """Replaces the table of a page."""
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numexpr", "numba", "jax", "scipy") if version(name)
    )
    given = " ".join("PYTHON" if word == svml else word for word in sys.argv[1:])
    head = (
        f"{date.today()}, {cpu(width)}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}.\n"
        f"`python python/bench/compare.py {given}`\n"
    )
    page, begin = path.read_text(), BEGIN.format(cpu=cpu(width))
    if begin not in page:
        begin = BEGIN_ONLY
    before, rest = page.split(begin)
    _, after = rest.split(END, 1)
    path.write_text(before + begin + "\n\n" + head + "\n" + "\n".join(lines) + "\n\n" + END + after)


if __name__ == "__main__":
    main()
