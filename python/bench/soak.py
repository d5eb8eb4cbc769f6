#!/usr/bin/env python3
"""Calls each part of the package's interface many times, and prints by how much the process's memory grew after a
warm-up.

    python/bench/soak.py [--calls 1000000] [--only NAME…]

The warm-up is a tenth of the calls, since caches of plans and kernels fill first. Parts that plan or compile at each
call get a hundredth of the calls. Exit status 1 means that memory grew by more than `--most` MiB for one of them.
Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import copy
import gc
import itertools
import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import broadloom as bl
import broadloom.numexpr as ne

Call = Callable[[int], object]

#: The parts of the interface that plan or compile at each call.
SLOW = 100

A, B = np.linspace(0.0, 1.0, 100), np.linspace(1.0, 2.0, 100)
OUT = np.empty(100)
MANY = [np.linspace(0.0, 1.0, n) for n in range(1, 1001)]


def rss() -> int:
    """The resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def _eager(_: int) -> object:
    return np.asarray(bl.asarray(A) * 2 + bl.asarray(B))


def _eager_shapes(i: int) -> object:
    return np.asarray(bl.sqrt(bl.asarray(MANY[i % len(MANY)])) + 1)


def _reduced(_: int) -> object:
    return float(bl.sum(bl.asarray(A) * bl.asarray(B)))


def _evaluate(_: int) -> object:
    return bl.evaluate(bl.asarray(A) + bl.asarray(B), out=OUT)


def _evaluate_many(_: int) -> object:
    x = bl.asarray(A)
    return bl.evaluate(x + 1, bl.sum(x))


def _by_numpy(_: int) -> object:
    return np.asarray(np.add(bl.asarray(A), B).mean(axis=0))


def _elements(i: int) -> object:
    x = bl.asarray(A)
    x[i % 100] = 2.0
    return float(x[i % 100])


def _pickled(_: int) -> object:
    return pickle.loads(pickle.dumps(copy.deepcopy(bl.asarray(A) + 1)))


def _exported(_: int) -> object:
    x = bl.asarray(A)
    return np.from_dlpack(x), memoryview(x), x.__arrow_c_array__()


def _refused(_: int) -> object:
    try:
        return bl.asarray(A) + bl.asarray(MANY[2])
    except ValueError as error:
        return str(error)


def _numexpr(_: int) -> object:
    return ne.evaluate("a * 2 + b", {"a": A, "b": B})


def _numexpr_again(_: int) -> object:
    return ne.re_evaluate({"a": A, "b": B})


def _numexpr_texts(i: int) -> object:
    return ne.evaluate(f"a * {i} + b", {"a": A, "b": B})


def faces() -> dict[str, tuple[Call, int]]:
    """The functions that are called, and the divisor of their number of calls."""
    # `re_evaluate` repeats the last call.
    _numexpr(0)
    jitted = bl.jit(lambda x, y: x * 2 + y)
    number = bl.jit(lambda x, s: bl.exp(x) * s)
    shaped = bl.jit(lambda x: x.reshape((-1, 1)) + 1)
    kernel = bl.Kernel.parse("x: float64[n]; y: float64[n]; return x * 2 + y")
    names = itertools.count()

    def _kernels(_: int) -> object:
        return bl.Kernel.parse(f"x: float64[n]; return x * 2 + {next(names)}").run([A])

    def _functions(_: int) -> object:
        return bl.jit(lambda x: x + next(names))(A)

    return {
        "eager": (_eager, 1),
        "eager, many shapes": (_eager_shapes, 1),
        "reduction": (_reduced, 1),
        "evaluate with out": (_evaluate, 1),
        "evaluate of several": (_evaluate_many, 1),
        "functions of NumPy": (_by_numpy, 1),
        "elements set and read": (_elements, 1),
        "pickle and deepcopy": (_pickled, 1),
        "DLPack, buffer, Arrow": (_exported, 1),
        "an error": (_refused, 1),
        "jit": (lambda _: jitted(A, B), 1),
        "jit with a number": (lambda i: number(A, i), 1),
        "jit with out": (lambda _: jitted(A, B, out=OUT), 1),
        "jit, many shapes": (lambda i: shaped(MANY[i % len(MANY)]), SLOW),
        "jit of new functions": (_functions, SLOW),
        "Kernel": (lambda _: kernel.run([A, B]), 1),
        "Kernel with out": (lambda _: kernel.run([A, B], out=OUT), 1),
        "Kernel of new texts": (_kernels, SLOW),
        "numexpr": (_numexpr, 1),
        "numexpr.re_evaluate": (_numexpr_again, 1),
        "numexpr, new texts": (_numexpr_texts, SLOW),
    }


def grown(call: Call, calls: int) -> int:
    """The bytes by which the process grew over all calls except the first tenth."""
    warm = max(calls // 10, 1)
    for i in range(warm):
        call(i)
    gc.collect()
    before = rss()
    for i in range(warm, calls):
        call(i)
    gc.collect()
    return rss() - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", help="names of faces")
    parser.add_argument("--most", type=float, default=8.0, help="MiB that a face may grow by (8)")
    given = parser.parse_args()
    # The warm-up uses every shape, so that everything that is cached for a shape exists before memory is measured.
    del MANY[max(given.calls // 10, 1) :]
    too_much = 0
    print(f"{'face':<24} {'calls':>9} {'seconds':>8} {'grown, KiB':>11}")
    for name, (call, fewer) in faces().items():
        if given.only and name not in given.only:
            continue
        calls, start = max(given.calls // fewer, 10), time.perf_counter()
        more = grown(call, calls)
        too_much += more > given.most * (1 << 20)
        print(f"{name:<24} {calls:>9} {time.perf_counter() - start:>8.1f} {more / 1024:>11.0f}", flush=True)
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
