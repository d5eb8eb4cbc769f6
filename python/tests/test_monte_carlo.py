"""Tests that a simulation is one pass in constant memory: the mean of a function of a draw, with the same bits on any number of
threads. As a script it measures longer ones:

    python python/tests/test_monte_carlo.py 1e9
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import NormalDist

import numpy as np
import pytest

import broadloom as bl

#: The variates of the test, whose elements would take 80 MB.
MANY = 10**7
#: The most that the peak of memory may grow by, beyond that of an evaluation of a few elements.
MOST_GROWTH = 8 * 2**20


def price(seed: int, n: int) -> bl.Array:
    """The mean payoff of a call option at its end, over n paths."""
    z = bl.random.normal(bl.random.key(seed), n)
    return bl.mean(bl.maximum(100 * bl.exp(0.2 * z - 0.02) - 105, 0.0))


def peak() -> int:
    """The largest resident memory that this process has had, in bytes."""
    resource = pytest.importorskip("resource")
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def measure(n: int, threads: int) -> None:
    """Prints the value as its bits, the growth of memory, and the seconds."""
    with bl.set_options(threads=threads):
        float(price(1, 10**5))
        before, began = peak(), time.perf_counter()
        value = float(price(42, n))
        print(value.hex(), peak() - before, time.perf_counter() - began)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of the peak of memory")
def test_a_simulation_takes_constant_memory_and_has_the_same_bits_on_two_threads() -> None:
    found = []
    for threads in (1, 2):
        # The peak of a process of its own, since that of this one has been reached by other tests.
        command = [sys.executable, "-W", "error", __file__, str(MANY), str(threads)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        bits, growth, _ = run.stdout.split()
        assert int(growth) < MOST_GROWTH
        found.append(bits)
    assert found[0] == found[1]
    # Six standard deviations of the mean: the variance of a payoff is below 13².
    above, ndtr = np.log(100 / 105) / 0.2, NormalDist().cdf
    expected = 100 * ndtr(above + 0.1) - 105 * ndtr(above - 0.1)
    assert abs(float.fromhex(found[0]) - expected) < 6 * 13 / np.sqrt(MANY)


if __name__ == "__main__":
    measure(int(float(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
