"""Compares the times of float32 functions with `accuracy="nearest"` and with `"fast"`, and prints the ratios.

    python python/bench/nearest.py

Both are machine code, and run alternately over elements in the first-level cache. The minimum time of each counts.
"""

from __future__ import annotations

import math

import numpy as np

import broadloom as bl
from broadloom import _core

ELEMENTS, ROUNDS, CALLS = 16_384, 25, 40
#: The functions, with the interval of their arguments if it is not from -5 to 5.
FUNCTIONS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2"),
    *("expm1", "log", "log1p", "log2", "log10", "sin", "sinh", "tan", "tanh", "hypot"),
)
DOMAINS = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 50), "log1p": (-0.5, 50)}
DOMAINS |= dict.fromkeys(("log", "log2", "log10"), (0.01, 50))


def ratio(name: str, width: int) -> float:
    """The time for the nearest results, divided by the time for the fast results."""
    function, (low, high) = getattr(bl, name), DOMAINS.get(name, (-5, 5))
    random = np.random.default_rng(0)
    arguments = [random.uniform(low, high, ELEMENTS).astype(np.float32) for _ in range(1 + (name == "hypot"))]
    result = np.empty(ELEMENTS, np.float32)
    kernels = {}
    for accuracy in ("nearest", "fast"):
        options = {"executor": "jit", "vector_width": width, "threads": 1, "accuracy": accuracy}
        jitted = bl.jit(lambda *x: function(*x), **options)
        jitted(*arguments)
        kernels[accuracy] = jitted.entries()[-1].kernel
    least = dict.fromkeys(kernels, math.inf)
    for _ in range(ROUNDS):
        for accuracy, kernel in kernels.items():
            took = _core.engine_seconds(kernel, arguments, [result], CALLS)
            least[accuracy] = min(least[accuracy], took)
    return least["nearest"] / least["fast"]


def main() -> None:
    """Prints the geometric mean and the largest ratios at each width of vectors."""
    for width in (512, 256):
        ratios = sorted(((ratio(name, width), name) for name in FUNCTIONS), reverse=True)
        mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
        print(f"{width} bits: {mean:.2f} in the geometric mean;", ", ".join(f"{n} {r:.2f}" for r, n in ratios[:5]))


if __name__ == "__main__":
    main()
