"""The time of random draws beside NumPy's generator (PCG64) and, if it is installed, JAX: nanoseconds per element into memory,
the least of several rounds in which the three take turns, on one thread.

    python python/bench/random_numbers.py
    python python/bench/random_numbers.py --n 1e7 --rounds 5
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import broadloom as bl

STEPS = 12


def asian_option(normals: Any, of: Any, axis: int) -> Any:
    """The mean payoff of an option on the average of twelve prices, from normal variates for each step along an axis."""
    paths = of.exp(of.cumulative_sum(0.05 * normals - 0.00125, axis=axis))
    return of.mean(of.maximum(of.mean(paths, axis=axis) - 1.0, 0.0))


def rows(n: int, rng: np.random.Generator) -> dict[str, tuple[int, Callable[[], Any], Callable[[], Any]]]:
    """For each row its number of elements, our draw and NumPy's."""
    r, key = bl.random, bl.random.key(1)
    first, second = r.split(key)
    paths = n // 10

    def pi(x: Any, y: Any, mean: Callable[[Any], Any]) -> Any:
        return 4 * mean((x * x + y * y < 1) * 1.0)

    return {
        "uniform float32": (n, lambda: r.uniform(key, n, bl.float32), lambda: rng.random(n, np.float32)),
        "uniform float64": (n, lambda: r.uniform(key, n), lambda: rng.random(n)),
        "normal float32": (n, lambda: r.normal(key, n, bl.float32), lambda: rng.standard_normal(n, np.float32)),
        "normal float64": (n, lambda: r.normal(key, n), lambda: rng.standard_normal(n)),
        "integers below 1000": (n, lambda: r.integers(key, 0, 1000, n), lambda: rng.integers(0, 1000, n)),
        "gamma(2.5)": (n, lambda: r.gamma(key, 2.5, n), lambda: rng.standard_gamma(2.5, n)),
        "poisson(4)": (n, lambda: r.poisson(key, 4, n), lambda: rng.poisson(4, n)),
        "an Asian option of 12 steps": (
            paths,
            lambda: asian_option(r.normal(key, (STEPS, paths)), bl, 0),
            lambda: asian_option(rng.standard_normal((STEPS, paths)), np, 0),
        ),
        "π by counting": (
            n,
            lambda: pi(r.uniform(first, n), r.uniform(second, n), bl.mean),
            lambda: pi(rng.random(n), rng.random(n), np.mean),
        ),
    }


def jax_rows(n: int) -> dict[str, Callable[[], Any]]:
    """JAX's draws for the rows that have one; empty without JAX."""
    try:
        import jax
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    key = jax.random.key(1)
    draws = {
        f"{name} {dtype}": jax.jit(lambda key, draw=draw, dtype=dtype: draw(key, (n,), dtype))
        for name, draw in {"uniform": jax.random.uniform, "normal": jax.random.normal}.items()
        for dtype in ("float32", "float64")
    }
    return {name: lambda draw=draw: draw(key).block_until_ready() for name, draw in draws.items()}


def stored(draw: Callable[[], Any]) -> Callable[[], Any]:
    """A call that writes a draw's elements to memory."""
    return lambda: np.asarray(draw())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=float, default=1e7, help="the number of elements")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    bl.set_options(threads=1)
    n = int(options.n)
    others = jax_rows(n)
    print("| draw | broadloom | NumPy | ratio | JAX | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for name, (count, ours, numpys) in rows(n, np.random.default_rng(1)).items():
        calls = [stored(ours), numpys, *([others[name]] if name in others else [])]
        best = [float("inf")] * len(calls)
        for _ in range(options.rounds):
            for i, call in enumerate(calls):
                begun = time.perf_counter()
                call()
                best[i] = min(best[i], time.perf_counter() - begun)
        cells = [f"{best[0] / count * 1e9:.2f}"]
        cells += [x for other in best[1:] for x in (f"{other / count * 1e9:.2f}", f"{other / best[0]:.2f}")]
        print(f"| {name} | {' | '.join(cells + ['–', '–'] * (3 - len(calls)))} |", flush=True)


if __name__ == "__main__":
    main()
