"""Compares the distributions of `broadloom.random` with SciPy's, by 10⁸ draws of each. It takes some minutes.

    python python/tests/random_statistics.py --write docs/generated/random-statistics.md
    python python/tests/random_statistics.py --draws 1e7 --only gamma

For each row of the table, draws are counted in bins that end at quantiles, which gives a chi-square test and the distance of
Kolmogorov and Smirnov at the ends of the bins; and the mean and the variance are compared with those of the distribution. Draws
are made in chunks, so that memory does not depend on their number. Seeds, bins and thresholds are fixed here: a run fails if a
p-value is below `LEAST_P`, or a moment is further than `MOST_DEVIATIONS` of its own standard deviations from its value. By
chance, one of the tests of correct draws fails in one run of some five thousand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats

import broadloom as bl

LEAST_P = 1e-6
MOST_DEVIATIONS = 5.0
SEED = 350_000
#: The number of elements that are drawn at a time.
CHUNK = 2**20
#: The probabilities at which bins end: a thousand equal ones, of which the first and the last are divided.
TAIL = np.array([1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4])
LEVELS = np.concatenate([TAIL, np.arange(1, 1000) / 1000, 1 - TAIL[::-1]])
#: The least number of draws that are expected in a bin.
LEAST_EXPECTED = 20.0
COMMAND = "python python/tests/random_statistics.py --write docs/generated/random-statistics.md"
ABOUT = f"""# Distributions of random numbers

<!-- Made by `{COMMAND}`. -->

[Draws](../random.md) compared with SciPy's distributions: the p-values of a chi-square test and of the distance of Kolmogorov
and Smirnov at the ends of bins, and the deviations of the mean and the variance, in standard deviations of their own. Seeds, bins
and thresholds are fixed in the command, which fails if a p-value is below {LEAST_P:g} or a deviation beyond {MOST_DEVIATIONS:g}.

"""


@dataclass
class Row:
    """A draw, as a function of a key and a number of elements, and its distribution. The moments of distributions without a
    fourth moment are not compared."""

    name: str
    draw: Callable[[Any, int], Any]
    distribution: Any
    has_moments: bool = True
    #: The largest probability below which no bin ends. It is larger where numbers near an end of the interval are coarse.
    tail: float = 0.0


@dataclass
class Counts:
    """What is kept of the draws: the numbers in bins, and the sums of the first two powers of the deviation from the mean."""

    ends: np.ndarray
    mean: float
    total: int = 0
    bins: np.ndarray = field(init=False)
    sums: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.bins, self.sums = np.zeros(self.ends.size + 1, np.int64), np.zeros(2)

    def add(self, values: np.ndarray) -> None:
        self.total += values.size
        below = np.searchsorted(np.sort(values), self.ends, side="right")
        self.bins += np.diff(np.concatenate([[0], below, [values.size]]))
        deviations = values.astype(np.float64) - self.mean
        self.sums += deviations.sum(), np.square(deviations).sum()


def draws(name: str, *parameters: Any, **options: Any) -> Callable[[Any, int], Any]:
    function = getattr(bl.random, name)
    return lambda key, n: function(key, *parameters, n, **options)


class Integers:
    """The uniform distribution of integers, with exact ends of bins."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def ppf(self, levels: np.ndarray) -> np.ndarray:
        extent = self.high - self.low
        return np.array([self.low + extent * round(level * 10**7) // 10**7 for level in levels.tolist()])

    def cdf(self, ends: np.ndarray) -> np.ndarray:
        # An end belongs to its bin.
        return np.array([(end + 1 - self.low) / (self.high - self.low) for end in ends.tolist()])

    def stats(self, moments: str) -> tuple[float, float, float]:
        n = self.high - self.low
        return (self.low + self.high - 1) / 2, (n * n - 1) / 12, -1.2


def of_scipy(name: str, *parameters: Any) -> Any:
    return getattr(stats, name)(*parameters)


def rows() -> list[Row]:
    """The table. A row's key is that of `SEED` and its number."""
    made = []
    floats = {"float32": bl.float32, "float64": bl.float64}
    symmetric = {"normal": "norm", "laplace": "laplace", "logistic": "logistic", "gumbel": "gumbel_r"}
    for dtype, kind in floats.items():
        coarse = 1e-4 if dtype == "float32" else 0.0
        for name, of in symmetric.items():
            made.append(Row(f"{name}, {dtype}", draws(name, dtype=kind), of_scipy(of)))
        made.append(Row(f"cauchy, {dtype}", draws("cauchy", dtype=kind), stats.cauchy(), has_moments=False))
        for name in ("uniform", "uniform_open"):
            made.append(Row(f"{name}, {dtype}", draws(name, dtype=kind), stats.uniform(), tail=coarse))
        made.append(Row(f"exponential, {dtype}", draws("exponential", dtype=kind), stats.expon(), tail=coarse))
    parametric: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...]]] = [
        ("lognormal", (0.5,), "lognorm", (0.5,)),
        *(("gamma", (a,), "gamma", (a,)) for a in (0.3, 1.0, 2.5, 40.0)),
        *(("beta", ab, "beta", ab) for ab in ((0.5, 0.5), (2.0, 5.0))),
        ("chisquare", (3.0,), "chi2", (3.0,)),
        ("student_t", (9.0,), "t", (9.0,)),
        *(("poisson", (lam,), "poisson", (lam,)) for lam in (0.5, 4.0, 11.0, 1000.0)),
        *(("binomial", np_, "binom", np_) for np_ in ((20, 0.3), (100, 0.4), (10**6, 0.7))),
        *(("geometric", (p,), "geom", (p,)) for p in (0.3, 0.001)),
        ("bernoulli", (0.3,), "bernoulli", (0.3,)),
    ]
    for name, ours, of, theirs in parametric:
        shown = ", ".join(map(str, ours))
        made.append(Row(f"{name}({shown})", draws(name, *ours), of_scipy(of, *theirs)))
    for low, high in ((0, 1000), (-5, 2**31 - 4), (-(2**62) - 1, 2**62)):
        made.append(Row(f"integers({low}, {high})", draws("integers", low, high), Integers(low, high)))
    for width in (32, 64):
        kind = getattr(bl, f"uint{width}")
        made.append(Row(f"bits, uint{width}", draws("bits", dtype=kind), Integers(0, 2**width)))
    made.append(Row("student_t(2.5)", draws("student_t", 2.5), of_scipy("t", 2.5), has_moments=False))
    return made


def bins_of(row: Row, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of bins and their levels, with enough expected draws between them."""
    least = max(row.tail, LEAST_EXPECTED / n)
    levels = LEVELS[(least * 0.999 <= LEVELS) & (least * 0.999 <= 1 - LEVELS)]
    ends = np.unique(row.distribution.ppf(levels))
    levels = row.distribution.cdf(ends)
    kept, last = [], 0.0
    for i, level in enumerate(levels):
        if n * (level - last) >= LEAST_EXPECTED and n * (1 - level) >= LEAST_EXPECTED:
            kept.append(i)
            last = level
    return ends[kept], levels[kept]


def judge(counts: Counts, levels: np.ndarray, row: Row) -> tuple[float, float, list[float]]:
    """The p-values of the chi-square test and of Kolmogorov's and Smirnov's, and the deviations of the moments."""
    n = counts.total
    expected = n * np.diff(np.concatenate([[0], levels, [1]]))
    chi_square = float(special.chdtrc(levels.size, np.sum((counts.bins - expected) ** 2 / expected)))
    distance = np.max(np.abs(np.cumsum(counts.bins[:-1]) / n - levels))
    smirnov = float(special.kolmogorov(np.sqrt(n) * distance))
    if not row.has_moments:
        return chi_square, smirnov, []
    _, variance, kurtosis = map(float, row.distribution.stats(moments="mvk"))
    first, second = counts.sums / n
    # The variance of squared deviations is the fourth moment less the square of the variance.
    deviations = [first / np.sqrt(variance / n), (second - variance) / (variance * np.sqrt((kurtosis + 2) / n))]
    return chi_square, smirnov, [float(x) for x in deviations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=float, default=1e8, help="the number of draws of each row")
    parser.add_argument("--only", default="", help="a part of the names of rows")
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args()
    n, failures, began = int(options.draws), 0, time.monotonic()
    lines = [
        f"| {n:.0e} draws of | bins | chi-square | Kolmogorov | mean | variance |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    print(*lines, sep="\n")
    for number, row in enumerate(rows()):
        if options.only not in row.name:
            continue
        ends, levels = bins_of(row, n)
        mean = float(row.distribution.stats(moments="mvk")[0]) if row.has_moments else 0.0
        counts = Counts(ends, mean)
        key = bl.random.key(SEED + number)
        whole = row.draw(key, n)
        for first in range(0, n, CHUNK):
            counts.add(np.asarray(whole[first : first + CHUNK]))
        chi_square, smirnov, deviations = judge(counts, levels, row)
        is_good = min(chi_square, smirnov) >= LEAST_P and all(abs(x) <= MOST_DEVIATIONS for x in deviations)
        failures += not is_good
        moments = [f"{x:+.2f} σ" for x in deviations] or ["–", "–"]
        cells = [row.name, levels.size + 1, f"{chi_square:.4f}", f"{smirnov:.4f}", *moments]
        lines.append(f"| {' | '.join(map(str, cells))} |{'' if is_good else ' FAILED'}")
        print(lines[-1], flush=True)
    if options.write is not None:
        options.write.write_text(ABOUT + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{failures} of the rows failed, in {time.monotonic() - began:.0f} s")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
