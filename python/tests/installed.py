"""Tests an installed package in an environment that has only NumPy. `scripts/release.sh install` runs it.

It is not one of pytest's files, since a user's environment has no pytest.
"""

import sys
import threading
from pathlib import Path

import numpy as np

import broadloom as bl


def check(condition, what):
    """Ends the program unless the condition holds."""
    if not condition:
        sys.exit(f"error: {what}")


def main():
    folder = Path(bl.__file__).parent
    check(Path(sys.prefix) in folder.parents, f"broadloom was imported from {folder}, not from the environment")
    rng = np.random.default_rng(1)
    x, y = rng.random(100_003), rng.random(100_003)

    lazy = bl.where(bl.asarray(x) > 0.5, bl.asarray(x) * y + 1, -y)
    check(np.array_equal(np.asarray(lazy), np.where(x > 0.5, x * y + 1, -y)), "where differs from NumPy's")

    distance = bl.jit(lambda a, b: bl.sqrt(a * a + b * b))
    expected = np.sqrt(x * x + y * y)
    check(np.array_equal(distance(x, y), expected), "a jitted function differs from NumPy's")
    check("runs on the jit" in str(bl.explain(bl.asarray(x) * 2 + 1, executor="jit")), "there is no machine code")

    wrong = []

    def call():
        for _ in range(20):
            if not np.array_equal(distance(x, y), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not wrong, "a jitted function differs between threads")

    is_free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    print(
        f"broadloom {bl.__version__}, Python {sys.version.split()[0]}{' without the GIL' * is_free_threaded}: installed and runs"
    )


if __name__ == "__main__":
    main()
