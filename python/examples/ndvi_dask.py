"""Computes the vegetation index (NDVI) and its mean with Dask, for a zarr store that is larger than the memory of
the workers.

    python python/examples/ndvi_dask.py                       2.3 GB of pictures, two processes with 500 MB each
    python python/examples/ndvi_dask.py --side 600 --chunk 200      the same in small

Two bands of a satellite image, uint16, are written to a folder that is removed at the end. The index is computed in
four ways: by one chain of operations on Dask's arrays, whose chunks are arrays of broadloom or of NumPy, and by
functions of `bl.jit` and of numexpr in `map_blocks`. Each way has a cluster of its own. The results are compared bit
for bit, and a table shows the cost of each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import zarr
from dask._task_spec import Task
from distributed import Client, LocalCluster

import broadloom as bl
import broadloom.dask

# What is computed.


def index(nir: Any, red: Any) -> Any:
    """The vegetation index, written for arrays of any library."""
    nir, red = nir.astype(np.float32), red.astype(np.float32)
    return (nir - red) / (nir + red)


def index_by_numexpr(nir: np.ndarray, red: np.ndarray) -> np.ndarray:
    import numexpr

    numexpr.set_num_threads(1)
    nir, red = nir.astype(np.float32), red.astype(np.float32)
    return numexpr.evaluate("(nir - red) / (nir + red)")


jitted = bl.jit(index)

#: The ways to compute the index from two Dask arrays with chunks of NumPy. Each returns a Dask array.
WAYS: dict[str, Callable[[da.Array, da.Array], da.Array]] = {
    "chunks of NumPy": index,
    "numexpr in map_blocks": lambda nir, red: da.map_blocks(index_by_numexpr, nir, red, dtype=np.float32),
    "chunks of broadloom": lambda nir, red: index(bl.dask.from_array(nir), bl.dask.from_array(red)),
    "bl.jit in map_blocks": lambda nir, red: da.map_blocks(jitted, nir, red, dtype=np.float32),
}


# The store.


def make_store(path: Path, side: int, chunk: int) -> None:
    """Writes both bands block by block."""
    for number, band in enumerate(("nir", "red")):
        made = zarr.create_array(
            str(path / band), shape=(side, side), chunks=(chunk, chunk), dtype="uint16", compressors=None
        )
        random = np.random.default_rng(number)
        for row in range(0, side, chunk):
            for column in range(0, side, chunk):
                shape = (min(chunk, side - row), min(chunk, side - column))
                block = random.integers(200, 6000, shape, dtype=np.uint16)
                made[row : row + chunk, column : column + chunk] = block


def bands(path: Path) -> tuple[da.Array, da.Array]:
    return da.from_zarr(str(path / "nir")), da.from_zarr(str(path / "red"))


# The measurement.


class Cost(NamedTuple):
    """The cost of a computation on two processes: the time, the processor time, and the peak memory of the larger
    process."""

    seconds: float
    cpu_seconds: float
    peak: int


class Row(NamedTuple):
    """The result and the cost of one way."""

    way: str
    mean: float
    tasks: int
    of_mean: Cost
    of_store: Cost


def task_count(x: da.Array) -> int:
    """The number of tasks that are left after Dask has fused them."""
    (optimized,) = dask.optimize(x)
    return sum(isinstance(node, Task) for node in dict(optimized.dask).values())


def peak_bytes() -> int:
    """The peak memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def measured(client: Client, compute: Callable[[], Any], repeat: int) -> tuple[Any, Cost]:
    """The result of a computation, and the minimum costs over its repetitions."""
    seconds, cpu_seconds = [], []
    for _ in range(repeat):
        before = sum(client.run(time.process_time).values())
        start = time.perf_counter()
        made = compute()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(sum(client.run(time.process_time).values()) - before)
    return made, Cost(min(seconds), min(cpu_seconds), max(client.run(peak_bytes).values()))


def run(way: str, path: Path, options: argparse.Namespace) -> Row:
    """Computes the mean, and then stores the index, as `path / way`, on a new cluster."""
    made = WAYS[way](*bands(path))
    mean, to = made.mean(dtype="f8"), str(path / way)
    zarr.create_array(to, shape=made.shape, chunks=made.chunksize, dtype=made.dtype, compressors=None)
    cluster = LocalCluster(
        n_workers=2,
        processes=True,
        threads_per_worker=1,
        memory_limit=options.memory_limit,
        dashboard_address=options.dashboard,
        local_directory=str(path),
    )
    with cluster, Client(cluster) as client:
        value, of_mean = measured(client, lambda: float(mean.compute()), options.repeat)
        _, of_store = measured(client, lambda: made.to_zarr(zarr.open_array(to)), options.repeat)
    return Row(way, value, task_count(mean), of_mean, of_store)


def same_bits(path: Path, way: str, other: str) -> bool:
    """Whether two ways stored the same bits."""
    one, two = (da.from_zarr(str(path / name)).view(np.uint32) for name in (way, other))
    return bool((one == two).all().compute(scheduler="threads", num_workers=1))


def table(rows: list[Row]) -> str:
    """The rows as a table of Markdown."""
    head = ["", "tasks of the mean", "mean", "processors", "peak", "to zarr", "processors", "peak"]
    lines = [head, ["---"] + ["--:"] * (len(head) - 1)]
    for row in rows:
        costs = [
            cell
            for cost in (row.of_mean, row.of_store)
            for cell in (f"{cost.seconds:.1f} s", f"{cost.cpu_seconds:.1f} s", f"{cost.peak / 1e6:.0f} MB")
        ]
        lines.append([row.way, str(row.tasks), *costs])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description="NDVI by Dask over a zarr store.")
    add = parser.add_argument
    add("--side", type=int, default=24_000, help="pixels along a side (24000: 2.3 GB)")
    add("--chunk", type=int, default=3_000, help="pixels along the side of a block (3000)")
    add("--memory-limit", default="500MB", help="of each of the two processes (500MB)")
    add("--repeat", type=int, default=1, help="computations, of which the shortest time counts (1)")
    add("--ways", nargs="*", default=list(WAYS), choices=list(WAYS), help="all, unless some are named")
    add("--dashboard", default=None, help="the address of Dask's dashboard, such as :8787 (none)")
    add("--folder", default=None, help="where the store is made (the system's temporary folder)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder)
        make_store(path, options.side, options.chunk)
        rows = [run(way, path, options) for way in options.ways]
        for way in options.ways[1:]:
            assert same_bits(path, options.ways[0], way), f"{way}: other bits than {options.ways[0]}"
    print(table(rows))
    return rows


if __name__ == "__main__":
    main()
