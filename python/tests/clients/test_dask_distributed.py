"""Tests Dask's `distributed` with broadloom's functions and chunks on two worker processes, one of which is killed
during the test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

VALUES = np.random.default_rng(5).uniform(0.5, 2.0, (400, 400)).astype(np.float32)
COUNTS = np.random.default_rng(6).integers(1, 4000, (40, 40)).astype(np.int32)
EXAMPLE = Path(__file__).parents[2] / "examples" / "ndvi_dask.py"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = {
        "n_workers": 2,
        "processes": True,
        "threads_per_worker": 1,
        "memory_limit": "1GB",
        "dashboard_address": "127.0.0.1:0",
        "local_directory": str(tmp_path_factory.mktemp("workers")),
    }
    # A killed worker doesn't answer requests, and the other workers should not wait long for it.
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


def bits(x: Any) -> np.ndarray:
    values = np.asarray(x)
    return values.view(f"u{values.dtype.itemsize}")


def index(nir: Any, red: Any) -> Any:
    return (nir - red) / (nir + red)


#: The same formula in NumPy, whose operations are rounded as broadloom's are.
EXPECTED = index(VALUES, VALUES.T)


@bl.jit
def jitted(nir: Any, red: Any) -> Any:
    return index(nir, red)


def two(values: np.ndarray = VALUES, size: int = 100) -> tuple[da.Array, da.Array]:
    return bl.dask.from_array(values, chunks=size), bl.dask.from_array(values.T.copy(), chunks=size)


def test_blocks_have_the_bits_of_one_machine(client: Any) -> None:
    nir, red = two()
    made = index(nir, red).compute()
    assert isinstance(made, bl.Array)
    np.testing.assert_array_equal(bits(made), bits(EXPECTED))
    np.testing.assert_array_equal(bits(made), bits(index(bl.asarray(VALUES), bl.asarray(VALUES.T))))
    # The results of a function that is not exactly rounded depend on the engine, but not on the machine.
    np.testing.assert_array_equal(bits(np.exp(nir).compute()), bits(bl.exp(bl.asarray(VALUES))))


def test_workers_keep_values_that_are_sent_as_buffers(client: Any) -> None:
    nir, red = two()
    kept = client.persist(index(nir, red))
    distributed.wait(kept)

    def states(dask_worker: Any) -> list[tuple[bool, int]]:
        arrays = [x for x in dask_worker.data.values() if type(x).__name__ == "Array"]
        return [(x._handle.is_evaluated, x.nbytes) for x in arrays]

    found = [state for states_of_one in client.run(states).values() for state in states_of_one]
    assert found == [(True, 40_000)] * 16
    # The sum combines blocks of both workers.
    np.testing.assert_array_equal(bits((kept + kept.T).compute()), bits(EXPECTED + EXPECTED.T))


def test_sums_have_the_bits_of_threads(client: Any) -> None:
    nir, red = two()
    for built in (lambda x: x.sum(), lambda x: x.mean(axis=0), lambda x: x.std(), lambda x: x.max(axis=1)):
        x = built(index(nir, red))
        np.testing.assert_array_equal(bits(x.compute()), bits(x.compute(scheduler="threads")))


def test_workers_promote_as_numpy(client: Any) -> None:
    x, theirs = bl.dask.from_array(COUNTS, chunks=20), da.from_array(COUNTS, chunks=20)
    for built in (lambda x: x * 2.5, lambda x: x.std(), lambda x: (x > 9).sum(), lambda x: (x > 9) + (x > 2000)):
        made, expected = built(x).compute(), built(theirs).compute()
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(made, "f8"), np.asarray(expected, "f8"), rtol=1e-14)


def test_workers_evaluate_with_one_thread(client: Any) -> None:
    def asked(x: Any) -> tuple[Any, str]:
        import threading

        from broadloom import _options

        return _options.threads(), threading.current_thread().name

    threads, name = client.submit(bl.dask.run, asked, 1, pure=False).result()
    assert threads == 1 and "MainThread" not in name


def threads_of_a_task(block: Any) -> Any:
    from broadloom import _options

    return np.array([_options.threads() or 0])


def test_the_multiprocessing_scheduler_has_one_thread_for_each_process() -> None:
    bl.dask.register()
    x = da.from_array(np.ones(4), chunks=2).map_blocks(threads_of_a_task, dtype=int, chunks=(1,))
    assert x.compute(scheduler="processes", num_workers=1).tolist() == [1, 1]


def test_functions_are_shipped(client: Any) -> None:
    offset = 3.0

    @bl.jit
    def local(x: Any, factor: float = 2.0) -> Any:
        return x * factor + offset

    nir, red = (da.from_array(x, chunks=(100, 100)) for x in (VALUES, VALUES.T.copy()))
    for function in (jitted, bl.jit(lambda nir, red: index(nir, red))):
        made = da.map_blocks(function, nir, red, dtype=np.float32).compute()
        np.testing.assert_array_equal(bits(made), bits(EXPECTED))
    rows = (x.rechunk((100, 400)) for x in (nir, red))
    made = da.apply_gufunc(jitted, "(i),(i)->(i)", *rows, output_dtypes=np.float32).compute()
    np.testing.assert_array_equal(bits(made), bits(EXPECTED))
    made = client.submit(local, VALUES, factor=4.0).result()
    np.testing.assert_array_equal(bits(made), bits(VALUES * 4 + np.float32(3)))


def test_expressions_are_shipped(client: Any) -> None:
    lazy = bl.asarray(VALUES) * 2
    made = client.submit(lambda x: x + 1, lazy).result()
    np.testing.assert_array_equal(bits(made), bits(VALUES * 2 + 1))
    scattered = client.scatter(lazy)
    np.testing.assert_array_equal(bits(client.submit(lambda x: x - 1, scattered).result()), bits(VALUES * 2 - 1))
    # An expression that reads no memory is sent as its text. Its thousand million elements would not fit.
    ones = bl.sum(bl.ones((100_000, 10_000), dtype=bl.int8))
    assert client.submit(lambda x: int(x), ones).result() == 10**9


def test_zarr_goes_in_and_out(client: Any, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    for name, values in (("nir", VALUES), ("red", VALUES.T.copy())):
        da.from_array(values, chunks=(100, 200)).to_zarr(str(tmp_path / name))
    nir, red = (bl.dask.from_zarr(str(tmp_path / name)) for name in ("nir", "red"))
    index(nir, red).to_zarr(str(tmp_path / "index"))
    np.testing.assert_array_equal(bits(zarr.open_array(str(tmp_path / "index"), mode="r")[:]), bits(EXPECTED))


def test_diagnostics_name_the_tasks(client: Any, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    report = tmp_path / "report.html"
    with distributed.performance_report(str(report)), distributed.get_task_stream() as stream:
        nir, red = two()
        index(nir, red).mean().compute()
    names = {distributed.utils.key_split(task["key"]) for task in stream.data}
    assert {"mean_chunk", "mean_agg-aggregate"} <= names
    assert "mean_chunk" in report.read_text()
    with urllib.request.urlopen(client.dashboard_link, timeout=30) as page:
        assert page.status == 200


def killing(block: Any, mark: str) -> Any:
    """Kills the first worker that calls this function."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block * 2
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_loses_nothing(client: Any, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    before = set(client.run(os.getpid).values())
    nir, red = two()
    # Half of these blocks are in the memory of the worker that dies.
    kept = client.persist(index(nir, red))
    distributed.wait(kept)
    made = kept.map_blocks(killing, str(mark), dtype=np.float32, meta=kept._meta)
    np.testing.assert_array_equal(bits((made + red).compute()), bits(EXPECTED * 2 + VALUES.T))
    client.wait_for_workers(2)
    assert mark.exists() and len(before - set(client.run(os.getpid).values())) == 1


def test_the_example_computes_what_it_says() -> None:
    pytest.importorskip("zarr")
    # The functions are pickled from a script, so they are in no module that a worker could import.
    ways = ["chunks of NumPy", "chunks of broadloom", "bl.jit in map_blocks"]
    command = [sys.executable, str(EXAMPLE), "--side", "300", "--chunk", "100", "--ways", *ways]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [row for row in done.stdout.splitlines() if row.startswith("| ")][2:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == ways
    # Each of the nine blocks has a task, and the reduction tree over them has some more. The number is the same for all
    # kinds of chunks.
    (tasks,) = {int(re.findall(r"\d+", row)[0]) for row in rows}
    assert 9 < tasks < 18
