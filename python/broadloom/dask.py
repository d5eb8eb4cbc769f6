"""Our arrays as the chunks of `dask.array`: conversion to such arrays, and back to chunks of NumPy arrays.

Dask fuses the functions of a block into one task, in which a chunk is a growing expression. Each task ends by
evaluating everything that it made in one pass. A block is therefore computed once, by the worker that has its inputs,
and only values are kept or sent. No part of Dask is replaced: the graph optimization is a setting (`array_optimize`),
and chunk types are registered. Both are set up when this module is imported, or at the first call of
`broadloom.asarray` in a process that has imported `dask.array`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dask
import dask.array
import numpy as np
from dask._task_spec import Task, convert_legacy_graph
from dask.array.core import load_store_chunk
from dask.array.optimization import optimize as optimize_arrays
from dask.sizeof import sizeof
from dask.utils import ensure_dict

from broadloom import Array, asarray, evaluate
from broadloom._options import of_task
from broadloom._registry import registered

#: Typed as `Any`, since Dask's functions have few annotations, some of which are not meant for callers.
_da: Any = dask.array
_optimize: Any = optimize_arrays
_sizeof: Any = sizeof

#: The maximum nesting of graphs in fused tasks that is searched; Dask makes two levels.
_NESTING = 8

__all__ = ["draw", "from_array", "from_zarr", "optimize", "register", "run", "store", "to_numpy"]


def from_array(x: Any, chunks: Any = "auto", **options: Any) -> dask.array.Array:
    """A Dask array whose chunks are our arrays, made from anything that `dask.array.from_array` accepts, or from
    another Dask array, whose chunks are kept.

    `chunks` and the options are those of `dask.array.from_array`. One of our expressions is evaluated, since Dask names
    arrays by their values.

    Raises TypeError for an unsupported dtype.

    >>> import broadloom.dask
    >>> d = bl.dask.from_array(np.arange(6.0), chunks=3)
    >>> ((d - 1) / (d + 1)).sum().compute()
    Array(1.1, dtype=float64)
    """
    if isinstance(x, dask.array.Array):
        return _over(x)
    if isinstance(x, Array):
        made: dask.array.Array = _da.from_array(x.promoting_by_numpy(), chunks, **({"asarray": False} | options))
        return made
    return _over(_da.from_array(x, chunks, **options))


def from_zarr(url: Any, *args: Any, **options: Any) -> dask.array.Array:
    """A Dask array whose chunks are our arrays, read from zarr. The arguments are those of `dask.array.from_zarr`.

    Raises TypeError for an unsupported dtype.
    """
    return _over(_da.from_zarr(url, *args, **options))


def draw(
    function: Callable[..., Array], key: Array, *arguments: Any, chunks: Any = "auto", **options: Any
) -> dask.array.Array:
    """A Dask array of random numbers: each block draws its part of `function(key, *arguments, **options)`, where the function
    is one of `broadloom.random`. Its elements are those of the undivided draw, whatever the chunks are.

    `chunks` are those of `dask.array.from_array`. The key and other arrays are parts of each task.

    >>> import broadloom.dask
    >>> key = bl.random.key(5)
    >>> d = bl.dask.draw(bl.random.normal, key, (1000, 3), chunks=(100, 3))
    >>> bool((d.compute() == bl.random.normal(key, (1000, 3))).all())
    True
    """
    arguments = tuple(np.asarray(x) if isinstance(x, Array) else x for x in (key, *arguments))
    whole = function(asarray(arguments[0]), *arguments[1:], **options)
    blocks = _da.core.normalize_chunks(chunks, whole.shape, dtype=whole.dtype)
    meta = chunk(np.empty((0,) * whole.ndim, whole.dtype))
    made: dask.array.Array = _da.map_blocks(
        _part, function, arguments, options, chunks=blocks, dtype=whole.dtype, meta=meta, token="draw"
    )
    return made


def _part(
    function: Callable[..., Array], arguments: tuple[Any, ...], options: Mapping[str, Any], block_info: Any = None
) -> Array:
    """The part of a draw at the place of a block."""
    place = tuple(slice(*bounds) for bounds in block_info[None]["array-location"])
    return chunk(function(asarray(arguments[0]), *arguments[1:], **options)[place])


def to_numpy(x: dask.array.Array) -> dask.array.Array:
    """This array with NumPy arrays as its chunks, each of which is evaluated once. It ends a block's chain of
    operations, for code that accepts only NumPy arrays.

    >>> import broadloom.dask
    >>> d = bl.dask.from_array(np.arange(4.0), chunks=2) * 10
    >>> bl.dask.to_numpy(d).compute()
    array([ 0., 10., 20., 30.])
    """
    meta = np.empty((0,) * x.ndim, x.dtype)
    made: dask.array.Array = _da.map_blocks(np.asarray, x, dtype=x.dtype, meta=meta, token="numpy")
    return made


def _over(x: dask.array.Array) -> dask.array.Array:
    if isinstance(x._meta, Array):
        return x
    meta = chunk(np.empty((0,) * x.ndim, x.dtype))
    made: dask.array.Array = _da.map_blocks(chunk, x, dtype=x.dtype, meta=meta, token="broadloom")
    return made


def chunk(values: Any) -> Array:
    """A chunk: an array with NumPy's promotion, which Dask's functions expect."""
    return asarray(values).promoting_by_numpy()


# The end of a task.


class Setting(str):
    """The optimization function, as a value of `array_optimize` in Dask's configuration. Dask calls it, but also
    serialises it as JSON for processes on other machines, where it is a plain string until `register` is called."""

    __slots__ = ()

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Mapping[Any, Any]:
        return optimize(graph, keys, **options)


def optimize(graph: Any, keys: Any, **options: Any) -> Mapping[Any, Any]:
    """Applies Dask's own graph optimization. Then makes each task end by evaluating the arrays that it made, and makes
    tasks that store chunks store NumPy arrays."""
    tasks = convert_legacy_graph(ensure_dict(_optimize(graph, keys, **options)))
    stored: dict[int, Mapping[Any, Any]] = {}
    return {key: _ended(_storing(task, stored)) for key, task in tasks.items()}


def _ended(task: Any) -> Any:
    if type(task) is not Task or task.func is run or task.is_coro:
        return task
    return _calling(task, run, task.func, *task.args)


def _calling(task: Task, function: Callable[..., Any], *args: Any) -> Task:
    return Task(task.key, function, *args, _data_producer=task.data_producer, **task.kwargs)


def _storing(task: Any, known: dict[int, Mapping[Any, Any]], depth: int = 0) -> Any:
    """The task with the function that stores chunks replaced by `store`, also within the graphs of fused tasks. `known`
    caches these graphs by id, since the tasks of all blocks share one."""
    if type(task) is not Task:
        return task
    if task.func is load_store_chunk:
        return _calling(task, store, *task.args)
    if depth > _NESTING or not task.has_subgraph():
        return task
    graph: Mapping[Any, Any] = task.args[0]
    made = known.get(id(graph))
    if made is None:
        made = {key: _storing(inner, known, depth + 1) for key, inner in graph.items()}
        if all(made[key] is graph[key] for key in graph):
            made = graph
        known[id(graph)] = made
    return task if made is graph else _calling(task, task.func, made, *task.args[1:])


def store(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Stores a chunk in an object that accepts NumPy arrays, such as a zarr or HDF5 dataset or a NumPy array."""
    return load_store_chunk(np.asarray(x) if isinstance(x, Array) else x, *args, **kwargs)


def run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Runs a task, with NumPy's promotion and the threads of a task, and evaluates the arrays in its result in one
    pass."""
    with of_task(threads_of_tasks()):
        made = function(*args, **kwargs)
        pending = [x for x in _arrays(made) if not x._handle.is_evaluated]
        if pending:
            evaluate(*pending)
    return made


def threads_of_tasks() -> int | None:
    """The maximum number of threads for an evaluation in a task on this thread; None if there is no limit.

    Several worker threads compute at the same time, so an evaluation runs on its worker thread alone, or on as many
    threads as the entry `broadloom.threads` in Dask's configuration states. The application's main thread is not a
    worker: the synchronous scheduler runs its tasks there, one after the other.
    """
    if threading.get_ident() == threading.main_thread().ident:
        # A worker process is a child of another process; its main thread may run tasks concurrently with other workers.
        process = sys.modules.get("multiprocessing.process")
        if process is None or process.parent_process() is None:
            return None
    limit: int | None = dask.config.get("broadloom.threads", 1)
    return limit


def _arrays(made: Any) -> Iterator[Array]:
    """Our arrays in the result of a task. Partial results of a reduction are dicts, and lists of dicts."""
    pending = [made]
    while pending:
        one = pending.pop()
        if isinstance(one, Array):
            yield one
        elif type(one) in (list, tuple):
            pending.extend(one)
        elif type(one) is dict:
            pending.extend(one.values())


# The interface that Dask requires.


def _bytes_of(x: Array) -> int:
    return int(x.nbytes or 0) + object.__sizeof__(x)


@registered("introduce to Dask")
def register() -> None:
    """Registers our arrays with Dask: they are valid chunks with the size of their values, and tasks end as described
    for `optimize`, unless `array_optimize` is already set otherwise. It may be called repeatedly."""
    _da.register_chunk_type(Array)
    _sizeof.register(Array, _bytes_of)
    setting = Setting("broadloom.dask.optimize")
    if dask.config.get("array_optimize", None) in (None, setting):
        dask.config.set(array_optimize=setting)


register()
