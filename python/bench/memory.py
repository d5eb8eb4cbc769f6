"""Measures the peak memory of the rows of reductions, scans and pipelines of `compare.py`, beyond the memory of
operands and results.

    python python/bench/memory.py [--group GROUP ...] [--threads N]

Each row is evaluated in a process of its own, first on a few elements, so that code that is loaded once is not
measured. Then the peak of the resident memory is reset, and the first call on the arrays of the row is measured. Linux
only: other systems cannot reset the peak. If `PYTHONPATH` names the package of another build, that build is measured.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from compare import extents  # noqa: E402
from peers import arrays_of  # noqa: E402
from reductions import GROUPS, REDUCTIONS  # noqa: E402


def resident(peak: bool) -> int:
    """The resident memory of the process in KiB, or its peak since it was reset."""
    name = "VmHWM:" if peak else "VmRSS:"
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def of_row(name: str, dtype: str, size: str, threads: int) -> int:
    """The peak memory of a first call in KiB, less the memory in use before the call and the size of the results."""
    import broadloom as bl

    row = next(row for row in REDUCTIONS if row.name == name)
    arrays = arrays_of(name, dtype, extents(size))
    few = [np.ascontiguousarray(array[tuple(slice(8) for _ in array.shape)]) for array in arrays]
    jitted = bl.jit(row.function(bl, len(arrays)), threads=threads)
    jitted(*few)
    before = resident(peak=False)
    Path("/proc/self/clear_refs").write_text("5")
    result = np.asarray(jitted(*arrays))
    return max(0, resident(peak=True) - before - result.nbytes // 1024)


def main() -> None:
    """Measures each row in a process of its own and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--row", nargs=3, metavar=("NAME", "DTYPE", "SIZE"), help="measures one row in this process")
    options = parser.parse_args()
    if options.row:
        print(of_row(*options.row, options.threads))
        return
    print("| row | dtype | n | peak, KiB |", "| --- | --- | --- | ---: |", sep="\n")
    for row in (row for row in REDUCTIONS if row.group in options.group):
        for dtype in row.dtypes:
            for size in row.sizes:
                command = [sys.executable, __file__, "--threads", str(options.threads), "--row", row.name, dtype, size]
                took = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
                print(f"| {row.name} | {dtype} | {size} | {took} |", flush=True)


if __name__ == "__main__":
    main()
