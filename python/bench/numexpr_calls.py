"""Compares the time of a call of `evaluate` and of `re_evaluate` on short arrays, by numexpr, NumPy and broadloom.

    python python/bench/numexpr_calls.py

Calls alternate. Prints the minimum time of a call of each over some rounds, and the ratios, which are more reliable
on a shared machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numexpr as theirs
import numpy as np

import broadloom.numexpr as ours


def calls(n: int) -> dict[str, Callable[[], np.ndarray]]:
    """The ways to compute 2*a + 3*b on arrays of n elements."""
    x, y = np.arange(float(n)), np.ones(n)

    # Each function has the arrays as default values, so that they are local variables.
    def numpy(a: np.ndarray = x, b: np.ndarray = y) -> np.ndarray:
        return 2 * a + 3 * b

    def numexpr(a: np.ndarray = x, b: np.ndarray = y) -> np.ndarray:
        return theirs.evaluate("2*a + 3*b")

    def broadloom(a: np.ndarray = x, b: np.ndarray = y) -> np.ndarray:
        return ours.evaluate("2*a + 3*b")

    def numexpr_again(a: np.ndarray = x, b: np.ndarray = y) -> np.ndarray:
        return theirs.re_evaluate()

    def broadloom_again(a: np.ndarray = x, b: np.ndarray = y) -> np.ndarray:
        return ours.re_evaluate()

    return {
        "2*a + 3*b": numpy,
        "numexpr.evaluate": numexpr,
        "broadloom.numexpr.evaluate": broadloom,
        "numexpr.re_evaluate": numexpr_again,
        "broadloom.numexpr.re_evaluate": broadloom_again,
    }


def least(ways: dict[str, Callable[[], np.ndarray]], rounds: int, runs: int) -> dict[str, float]:
    """The minimum time of a call of each way, in microseconds."""
    took = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            way()
            start = perf_counter()
            for _ in range(runs):
                way()
            took[name] = min(took[name], (perf_counter() - start) / runs * 1e6)
    return took


def main() -> None:
    """Reads the arguments, times, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=1000, help="calls in a round")
    options = parser.parse_args()
    ours.set_num_threads(theirs.get_num_threads())
    took = least(calls(options.elements), options.rounds, options.runs)
    for name, time in took.items():
        print(f"{name:32}{time:8.2f} us")
    evaluate = took["broadloom.numexpr.evaluate"]
    print(
        f"evaluate: {evaluate / took['numexpr.evaluate']:.3f} of numexpr's, {evaluate / took['2*a + 3*b']:.2f} of NumPy's"
    )
    again = took["broadloom.numexpr.re_evaluate"]
    print(f"re_evaluate: {again / took['numexpr.re_evaluate']:.2f} of numexpr's")


if __name__ == "__main__":
    main()
