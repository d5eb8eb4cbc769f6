"""The time of elements at computed indices, of sorts, searches, selections, sums by label and histograms, beside NumPy and, if they
are installed, a loop by Numba, or numpy_groupies for sums by label: the least of several rounds in which they take turns, on one
thread. All results are in memory when the time ends.

    python python/bench/indices.py
    python python/bench/indices.py --n 1e6 --rounds 3 --rows sort segment_sum
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import broadloom as bl

try:
    from numpy_groupies import aggregate_np as grouped
except ImportError:
    grouped = None

Call = Callable[[], Any]


def rows(n: int, rng: np.random.Generator) -> dict[str, tuple[Call, Call, Call | None]]:
    """For each row our call, NumPy's, and that of a loop or of numpy_groupies."""
    loops = numba_loops()
    made: dict[str, tuple[Call, Call, Call | None]] = {}
    for name, extent in [("of 1e3 float64", 10**3), ("of 1e5 float64", 10**5), (f"of {n:.0e} float64", n)]:
        table, at = rng.random(extent), rng.integers(0, extent, n)
        ours, indices, out = bl.asarray(table), bl.asarray(at), np.empty(n)
        made[f"take {n:.0e} {name}"] = (
            lambda ours=ours, indices=indices, out=out: bl.evaluate(ours[indices], out=out),
            lambda table=table, at=at, out=out: np.take(table, at, out=out, mode="clip"),
            (lambda table=table, at=at, out=out: loops["take"](table, at, out)) if loops else None,
        )
    codes, levels = rng.integers(0, 256, n).astype(np.uint8), rng.random(256).astype(np.float32)
    x = rng.random(n).astype(np.float32)
    weighed = bl.sum(bl.asarray(levels)[bl.asarray(codes)] * bl.asarray(x))
    made["uint8 looked up, times float32, summed"] = (
        lambda: np.asarray(weighed + 0),
        lambda: (levels[codes] * x).sum(),
        (lambda: loops["lookup"](levels, codes, x)) if loops else None,
    )
    side = int((1.6 * n) ** 0.5)
    image, out = rng.random((side, side)).astype(np.float32), np.empty((side, side), np.float32)
    blurred = neighbours(bl.pad(bl.asarray(image), 1, mode="edge"))
    made[f"nine neighbours with padded edges, {side}² float32"] = (
        lambda: bl.evaluate(blurred, out=out),
        lambda: neighbours(np.pad(image, 1, mode="edge")),
        (lambda: loops["neighbours"](image, out)) if loops else None,
    )
    floats, ints = rng.standard_normal(n), rng.integers(-(2**31), 2**31, n).astype(np.int32)
    mask = floats > 0
    ordered, queries = np.sort(rng.random(n // 10)), rng.random(n // 10)
    f, i, o, q = (bl.asarray(values) for values in (floats, ints, ordered, queries))
    m = bl.asarray(mask)
    made |= {
        "sort float64": (lambda: bl.sort(f), lambda: np.sort(floats), None),
        "sort int32": (lambda: bl.sort(i), lambda: np.sort(ints), None),
        "argsort float64": (lambda: bl.argsort(f), lambda: np.argsort(floats, stable=True), None),
        f"searchsorted, {n // 10:.0e} in as many": (
            lambda: bl.searchsorted(o, q),
            lambda: np.searchsorted(ordered, queries),
            None,
        ),
        "float64 selected by a mask, half": (lambda: f[m], lambda: floats[mask], None),
        "nonzero, half": (lambda: bl.nonzero(m), lambda: np.nonzero(mask), None),
        "the first 100 of float64": (lambda: bl.topk(f, 100), lambda: np.partition(floats, n - 100), None),
        "unique int32": (lambda: bl.unique_values(i), lambda: np.unique(ints), None),
        "median of float64": (lambda: bl.median(f), lambda: np.median(floats), None),
        "isin, int32 in a tenth": (lambda: bl.isin(i, ints[::10]), lambda: np.isin(ints, ints[::10]), None),
    }
    for groups in (10, 1000, 10**6):
        for order in ("random", "sorted"):
            by = rng.integers(0, groups, n) if order == "random" else np.sort(rng.integers(0, groups, n))
            labels = bl.asarray(by)
            made[f"segment_sum of float64, {groups:.0e} {order} labels"] = (
                lambda labels=labels, groups=groups: bl.segment_sum(f, labels, groups),
                lambda by=by, groups=groups: np.bincount(by, floats, groups),
                (lambda by=by, groups=groups: grouped(by, floats, "sum", size=groups)) if grouped else None,
            )
    single = bl.asarray(x)
    made["histogram of float32, 100 bins"] = (
        lambda: bl.histogram(single, 100),
        lambda: np.histogram(x, 100),
        None,
    )
    return made


def neighbours(padded: Any) -> Any:
    """The sum of each element and its eight neighbours, in a fixed order."""
    rows, columns = padded.shape[0] - 2, padded.shape[1] - 2
    parts = [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def numba_loops() -> dict[str, Callable[..., Any]]:
    """Loops compiled by Numba, that for the lookup with reassociated sums; empty without Numba."""
    try:
        from numba import njit
    except ImportError:
        return {}

    @njit
    def take(table: Any, at: Any, out: Any) -> None:
        for i in range(len(at)):
            out[i] = table[at[i]]

    @njit(fastmath=True)
    def lookup(levels: Any, codes: Any, x: Any) -> Any:
        total = np.float32(0)
        for i in range(len(codes)):
            total += levels[codes[i]] * x[i]
        return total

    @njit
    def neighbours(x: Any, out: Any) -> None:
        rows, columns = x.shape
        for i in range(rows):
            a, b, c = x[max(i - 1, 0)], x[i], x[min(i + 1, rows - 1)]
            for j in range(1, columns - 1):
                upper = a[j - 1] + a[j] + a[j + 1]
                out[i, j] = upper + b[j - 1] + b[j] + b[j + 1] + c[j - 1] + c[j] + c[j + 1]
            for j in (0, columns - 1):
                before, after = max(j - 1, 0), min(j + 1, columns - 1)
                upper = a[before] + a[j] + a[after]
                out[i, j] = upper + b[before] + b[j] + b[after] + c[before] + c[j] + c[after]

    return {"take": take, "lookup": lookup, "neighbours": neighbours}


def wait_for(result: Any) -> None:
    """Computes a result that is an expression, or those of a tuple."""
    for part in result if isinstance(result, tuple) else (result,):
        np.asarray(part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=float, default=1e7, help="the number of elements")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", nargs="+", default=[""], help="parts of the names of rows")
    options = parser.parse_args()
    bl.set_options(threads=options.threads)
    print(
        "| row, in ms | broadloom | NumPy | ratio | Numba or numpy_groupies | ratio |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, calls in rows(int(options.n), np.random.default_rng(1)).items():
        if not any(part in name for part in options.rows):
            continue
        best = [float("inf")] * len(calls)
        for _ in range(options.rounds):
            for i, call in enumerate(calls):
                if call is None:
                    continue
                begun = time.perf_counter()
                wait_for(call())
                best[i] = min(best[i], time.perf_counter() - begun)
        cells = [f"{best[0] * 1e3:.1f}"]
        for other in best[1:]:
            known = other < float("inf")
            cells += [f"{other * 1e3:.1f}" if known else "–", f"{other / best[0]:.2f}" if known else "–"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
