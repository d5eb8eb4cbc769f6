"""Tests Dask arrays whose chunks are broadloom's arrays: what a task evaluates, with how many threads, and by which
promotion rule."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core, _options

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
diagnostics = pytest.importorskip("dask.diagnostics")

VALUES = np.random.default_rng(5).uniform(0.5, 2.0, (400, 400)).astype(np.float32)
COUNTS = np.random.default_rng(6).integers(1, 4000, (40, 40)).astype(np.int32)

#: A recorded evaluation: the number of operations behind each result, the number of threads, and the thread that
#: evaluates.
Evaluation = tuple[list[int], int | None, threading.Thread]


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Evaluation]]:
    """Records every evaluation of an expression that `chain` builds, as it is requested from the engine."""
    seen: list[Evaluation] = []
    evaluated, evaluate_into, evaluate_many = _options.evaluated, _options.evaluate_into, _core.evaluate_many

    def note(handles: list[Any], threads: int | None) -> None:
        # Only the chain computes an absolute value. The arrays from which Dask infers types have no elements.
        if any("abs(" in handle.text() and "[0" not in handle.text() for handle in handles):
            seen.append(([handle.depth for handle in handles], threads, threading.current_thread()))

    def one(handle: Any) -> Any:
        note([handle], _options.threads())
        return evaluated(handle)

    def into(handle: Any, out: Any) -> None:
        note([handle], _options.threads())
        evaluate_into(handle, out)

    def many(handles: list[Any], *args: Any, **options: Any) -> Any:
        note(handles, options.get("threads"))
        return evaluate_many(handles, *args, **options)

    monkeypatch.setattr(_options, "evaluated", one)
    monkeypatch.setattr(_options, "evaluate_into", into)
    monkeypatch.setattr(_core, "evaluate_many", many)
    yield seen


def chunks(values: np.ndarray = VALUES, size: int = 200) -> da.Array:
    return bl.dask.from_array(values, chunks=(size, size))


def chain(x: Any) -> Any:
    """Seven operations, each of them exactly rounded."""
    return np.sqrt(abs((x - 1) / (x + 1) * 2 + x))


def bits(x: Any) -> np.ndarray:
    values = np.asarray(x)
    return values.view(f"u{values.dtype.itemsize}")


# One evaluation per block.


def test_a_blocks_chain_is_one_evaluation(evaluations: list[Evaluation]) -> None:
    x = chain(chunks())
    made = x.compute(num_workers=2)
    # Each of the four blocks is evaluated once, with the six operations of its longest path; then the finished blocks
    # are joined.
    assert [depths for depths, _, _ in evaluations] == [[6]] * 4
    np.testing.assert_array_equal(bits(made), bits(chain(VALUES)))


@pytest.mark.parametrize(
    ("reduce", "results"),
    [
        (lambda x: x.mean(), 1),
        (lambda x: x.sum(axis=0), 1),
        (lambda x: x.max(), 1),
        (lambda x: (x > 1).sum(), 1),
        (lambda x: da.nanmean(x), 2),
        (lambda x: x.std(), 2),
        (lambda x: x.var(axis=1), 2),
    ],
)
def test_a_blocks_part_of_a_reduction_is_one_evaluation(
    reduce: Callable[[Any], Any], results: int, evaluations: list[Evaluation]
) -> None:
    made = reduce(chain(chunks())).compute(num_workers=2)
    assert [len(depths) for depths, _, _ in evaluations] == [results] * 4
    with np.errstate(all="ignore"):
        expected = reduce(da.from_array(chain(VALUES).astype("f8"), chunks=(200, 200))).compute()
    np.testing.assert_allclose(np.asarray(made, "f8"), expected, rtol=4e-6)


def test_a_block_that_several_tasks_read_is_evaluated_once(evaluations: list[Evaluation]) -> None:
    x = chain(chunks())
    dask.compute(x.mean(), x.max(), x.rechunk((100, 400)))
    assert len(evaluations) == 4


def test_the_tasks_are_as_many_as_with_chunks_of_numpy() -> None:
    def count(x: Any) -> int:
        return len(dict(dask.optimize(x)[0].dask))

    theirs = da.from_array(VALUES, chunks=(200, 200))
    for built in (chain, lambda x: chain(x).mean(), lambda x: chain(x).std(axis=0)):
        assert count(built(chunks())) == count(built(theirs)) < len(built(chunks()).dask)


def test_tasks_that_fail_say_why() -> None:
    x = chunks().map_blocks(lambda block: block.reshape(7), dtype="f4", chunks=(7,), drop_axis=1)
    with pytest.raises(ValueError, match="reshape"):
        x.compute()


def test_another_optimization_that_is_set_stays() -> None:
    def own(graph: Any, keys: Any, **options: Any) -> Any:
        return graph

    with dask.config.set(array_optimize=own):
        bl.dask.register()
        assert dask.config.get("array_optimize") is own
    assert isinstance(dask.config.get("array_optimize"), bl.dask.Setting)


def test_the_setting_can_be_sent_to_other_machines(evaluations: list[Evaluation]) -> None:
    # Dask passes its configuration to clusters over SSH in this way.
    there = dask.config.deserialize(dask.config.serialize(dask.config.global_config))
    with dask.config.set(array_optimize=there["array_optimize"]):
        bl.dask.register()
        chain(chunks()).compute()
    assert [depths for depths, _, _ in evaluations] == [[6]] * 4


# The module.


def test_arrays_are_made_over_what_dask_takes() -> None:
    values = np.arange(12.0).reshape(3, 4)
    for source in (values, bl.asarray(values), bl.asarray(values) + 0, da.from_array(values, chunks=2)):
        made = bl.dask.from_array(source, chunks=2)
        assert isinstance(made._meta, bl.Array) and made.dtype == values.dtype
        np.testing.assert_array_equal(np.asarray((made + 1).compute()), values + 1)
    assert bl.dask.from_array(made) is made
    with pytest.raises(TypeError, match="complex128"):
        bl.dask.from_array(np.ones(3, complex))


def test_a_chain_ends_in_numpys_chunks(evaluations: list[Evaluation]) -> None:
    made = bl.dask.to_numpy(chain(chunks()))
    assert type(made._meta) is np.ndarray
    values = made.compute()
    assert type(values) is np.ndarray and len(evaluations) == 4
    np.testing.assert_array_equal(bits(values), bits(chain(VALUES)))


def test_chunks_are_stored_as_numpys(evaluations: list[Evaluation]) -> None:
    class Target:
        def __init__(self) -> None:
            self.values = np.zeros(VALUES.shape, np.float32)
            self.kinds: list[type] = []

        def __setitem__(self, key: Any, value: Any) -> None:
            self.kinds.append(type(value))
            self.values[key] = value

    target = Target()
    chain(chunks()).store(target, lock=True)
    assert target.kinds == [np.ndarray] * 4 and len(evaluations) == 4
    np.testing.assert_array_equal(bits(target.values), bits(chain(VALUES)))


def test_zarr_goes_in_and_out(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    da.from_array(COUNTS, chunks=(10, 20)).to_zarr(str(tmp_path / "in"))
    x = bl.dask.from_zarr(str(tmp_path / "in")).astype("f4")
    with diagnostics.ProgressBar(out=open(tmp_path / "bar", "w")):
        (x / (x + 1)).to_zarr(str(tmp_path / "out"))
    made = zarr.open_array(str(tmp_path / "out"), mode="r")
    values = COUNTS.astype("f4")
    assert made.chunks == (10, 20)
    np.testing.assert_array_equal(bits(made[:]), bits(values / (values + 1)))
    assert "100% Completed" in (tmp_path / "bar").read_text()


def test_dask_counts_the_bytes_of_the_values() -> None:
    from dask.sizeof import sizeof

    assert 8000 <= sizeof(bl.asarray(np.ones(1000)) + 1) < 8200


def test_names_of_tasks_say_what_they_do() -> None:
    from dask.utils import key_split

    class Names(diagnostics.Callback):
        seen: set[str] = set()

        def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
            self.seen.add(key_split(key))

    with Names():
        (bl.dask.from_array(VALUES, chunks=200) + 1).mean().compute()
    assert {"mean_chunk", "mean_agg-aggregate"} <= Names.seen


# Promotion.


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_tasks_promote_as_numpy(scheduler: str) -> None:
    x, theirs = chunks(COUNTS, 20), da.from_array(COUNTS, chunks=20)
    bl.set_options(promotion="strict")
    for built in (
        lambda x: x * 2.5,
        lambda x: np.exp(x / 4000),
        lambda x: (x > 5) + (x > 7),
        lambda x: x.astype("u8") - x,
        lambda x: x.map_blocks(lambda block: block * 0.5, dtype="f8"),
        lambda x: x.map_blocks(bl.jit(lambda block: block * 0.5), dtype="f8"),
    ):
        made, expected = built(x).compute(scheduler=scheduler), built(theirs).compute(scheduler=scheduler)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(made, "f8"), np.asarray(expected, "f8"), rtol=1e-14)
    assert isinstance((x * 2.5)._meta, bl.Array) and (x * 2.5)._meta.dtype == np.float64
    # Outside of tasks, the rule is the standard's, which the fixture has set.
    with pytest.raises(TypeError, match="astype"):
        bl.asarray(COUNTS) * 2.5
    with pytest.raises(TypeError, match="astype"):
        bl.jit(lambda x: x * 0.5)(COUNTS)


def test_tasks_promote_as_numpy_whatever_made_their_chunks() -> None:
    x = da.from_array(COUNTS, chunks=20).map_blocks(bl.asarray)
    made = (x * 2.5 + (x > 9)).compute()
    assert isinstance(made, bl.Array) and made.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(made), COUNTS * 2.5 + (COUNTS > 9))


# Threads.


def test_an_evaluation_in_a_worker_thread_has_one_thread(evaluations: list[Evaluation]) -> None:
    here = threading.current_thread()
    x = chain(chunks())
    for pool in (None, ThreadPoolExecutor(2)):
        evaluations.clear()
        x.compute(pool=pool)
        assert [threads for _, threads, _ in evaluations] == [1] * 4
        assert all(thread is not here for _, _, thread in evaluations)
    evaluations.clear()
    # The synchronous scheduler runs all tasks on this thread.
    x.compute(scheduler="sync")
    np.asarray(chain(bl.asarray(VALUES)))
    assert [(threads, thread) for _, threads, thread in evaluations] == [(None, here)] * 5


def test_the_configuration_and_the_call_say_other_numbers(evaluations: list[Evaluation]) -> None:
    x = chain(chunks())
    for setting in (3, None):
        evaluations.clear()
        with dask.config.set({"broadloom.threads": setting}):
            x.compute()
        assert {threads for _, threads, _ in evaluations} == {setting}
    evaluations.clear()
    x.map_blocks(lambda block: bl.evaluate(block, threads=2)).compute()
    assert {threads for _, threads, _ in evaluations} == {2}


PROGRAM = """
import os, sys
import numpy as np
import dask.array as da
import broadloom as bl
from concurrent.futures import ThreadPoolExecutor

@bl.jit
def jitted(x):
    return np.exp(x) * 2 + 1

def threads():
    return len(os.listdir("/proc/self/task"))

values = np.ones((8, 500_000))
x = da.from_array(values, chunks=(2, 500_000))
jitted(values[0, :10])
with ThreadPoolExecutor(2) as pool:
    [*pool.map(str, range(9))]
    if sys.argv[1] == "chunks":
        (np.exp(x.map_blocks(bl.asarray)) + 1).mean().compute(pool=pool)
    elif sys.argv[1] == "jit":
        x.map_blocks(jitted).compute(pool=pool)
    else:
        bl.evaluate(bl.asarray(values) * 2 + 1)
        jitted(values)
    print(threads() - 2)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux lists them")
def test_no_threads_are_started_beside_those_of_dask() -> None:
    import os

    def count(how: str) -> int:
        environment = os.environ | {"RAYON_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True, env=environment
        )
        return int(done.stdout)

    # An evaluation outside of tasks starts three more threads. Evaluations within tasks start none.
    assert count("here") - 3 == count("chunks") == count("jit")


# Functions made by `jit`.


def test_a_jitted_function_keeps_its_class() -> None:
    program = """
import numpy as np, broadloom as bl
f = bl.jit(lambda x: x * 2)
kind = type(f)
import dask.array as da
f(np.ones(3))
d = da.from_array(np.ones(4), chunks=2).map_blocks(f)
assert d.compute().tolist() == [2.0] * 4
assert type(f) is kind is type(bl.jit(lambda x: x))
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_jitted_functions_are_those_of_blocks() -> None:
    @bl.jit
    def scaled(x: Any, factor: float = 2.0) -> Any:
        return (x - 1) / (x + 1) * factor

    expected = (VALUES - 1) / (VALUES + 1)
    for x in (chunks(), da.from_array(VALUES, chunks=(200, 200))):
        made = x.map_blocks(scaled, dtype=np.float32)
        np.testing.assert_array_equal(bits(made.compute()), bits(expected * 2))
        made = x.map_blocks(scaled, factor=4.0, dtype=np.float32)
        np.testing.assert_array_equal(bits(made.compute()), bits(expected * 4))
        rows = x.rechunk((200, 400))
        made = da.apply_gufunc(scaled, "(i)->(i)", rows, output_dtypes=np.float32)
        np.testing.assert_array_equal(bits(made.compute()), bits(expected * 2))
    x = da.from_array(VALUES.astype("f8"), chunks=(100, 400))
    norm = bl.jit(lambda x: bl.max(abs(x), axis=-1))
    made = da.apply_gufunc(norm, "(i)->()", x, output_dtypes=np.float64)
    np.testing.assert_array_equal(bits(made.compute()), bits(VALUES.astype("f8").max(axis=1)))


def test_a_function_that_was_pickled_by_its_kernels_runs_in_tasks() -> None:
    function = bl.jit(lambda x: x * 2)
    function(VALUES)
    there = pickle.loads(pickle.dumps(function))
    made = da.from_array(VALUES, chunks=(200, 200)).map_blocks(there, dtype=np.float32)
    np.testing.assert_array_equal(bits(made.compute()), bits(VALUES * 2))


def test_a_jitted_function_has_a_token_of_its_code() -> None:
    from dask.tokenize import tokenize

    def double(x: Any) -> Any:
        return x * 2

    def triple(x: Any) -> Any:
        return x * 3

    same = {tokenize(bl.jit(double)), tokenize(bl.jit(double))}
    others = {tokenize(f) for f in (bl.jit(triple), bl.jit(double, contract=True), bl.jit(double, static_argnames="x"))}
    assert len(same) == 1 and len(same | others) == 4


# Reductions over chunks.


def sums(size: int, **options: Any) -> Any:
    values = VALUES.astype("f8") * 1e3 - 777.7
    return bl.dask.from_array(values, chunks=(size, 400)).sum(split_every=2).compute(**options)


def test_a_sum_over_chunks_has_the_same_bits_wherever_it_runs() -> None:
    made = {
        bits(sums(100, **options)).item() for options in ({"scheduler": "sync"}, {"num_workers": 1}, {"num_workers": 4})
    }
    assert len(made) == 1


@pytest.mark.parametrize("size", [7, 100, 400])
def test_a_sum_over_chunks_is_near_the_exact_one(size: int) -> None:
    values = VALUES.astype("f8") * 1e3 - 777.7
    exact, magnitude = math.fsum(values.flat), math.fsum(np.abs(values).flat)
    # Sums are pairwise within a block and a tree over blocks, so an element takes part in at most 2 * log2(n) additions
    # for n elements.
    assert abs(float(sums(size)) - exact) <= magnitude * 40 / 2**53


@pytest.mark.parametrize("size", [7, 10, 40])
def test_what_has_no_rounding_is_the_same_for_all_chunks(size: int) -> None:
    x = chunks(COUNTS, size)
    assert int(x.sum()) == COUNTS.sum() and int(x.max()) == COUNTS.max() and int((x > 9).sum()) == (COUNTS > 9).sum()
    assert int(x.prod()) == COUNTS.prod() and bool((x > 0).all()) and int(x.argmax()) == COUNTS.argmax()
