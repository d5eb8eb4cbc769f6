"""Arrays of ours as the chunks of `dask.array`: made, and handed back as NumPy's.

Dask fuses the functions of a block into one task, in which a chunk of ours is an expression that grows. Each task ends with the
evaluation of what it made, all of it in one pass: so that a block is computed once, by the worker that has its inputs, and
nothing of it but values is kept or sent. Nothing of Dask is replaced: its optimization of graphs is a setting (`array_optimize`), and
so are the types of chunks. They are set when this module is imported, or when `broadloom.asarray` is first called beside `dask.array`.
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

#: Functions of Dask, most of them without types, and some of them not meant for callers of Dask.
_da: Any = dask.array
_optimize: Any = optimize_arrays
_sizeof: Any = sizeof

#: How deep graphs of fused tasks within graphs of fused tasks are looked into; Dask makes two levels.
_NESTING = 8

__all__ = ["from_array", "from_zarr", "optimize", "register", "run", "store", "to_numpy"]


def from_array(x: Any, chunks: Any = "auto", **options: Any) -> dask.array.Array:
    """An array of Dask's whose chunks are arrays of ours, over anything that `dask.array.from_array` takes, or over another array
    of Dask's, whose chunks it keeps.

    `chunks` and the options are those of `dask.array.from_array`. An expression of ours is evaluated, since Dask names arrays by
    their values.

    Raises TypeError for a dtype that there is not.

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
    """An array of Dask's whose chunks are arrays of ours, read from zarr; the arguments are those of `dask.array.from_zarr`.

    Raises TypeError for a dtype that there is not.
    """
    return _over(_da.from_zarr(url, *args, **options))


def to_numpy(x: dask.array.Array) -> dask.array.Array:
    """This array with NumPy's chunks, of which each is evaluated once: the end of a block's chain, for what takes none but those.

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
    """A chunk as an array of broadloom with NumPy's rule of promotion, for which Dask's functions are written."""
    return asarray(values).promoting_by_numpy()


# The end of a task.


class Setting(str):
    """The value of `array_optimize` in Dask's configuration: Dask calls it as the optimization, and writes it as JSON
    for the processes of other machines, where it is only a text until `register` is called."""

    __slots__ = ()

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Mapping[Any, Any]:
        return optimize(graph, keys, **options)


def optimize(graph: Any, keys: Any, **options: Any) -> Mapping[Any, Any]:
    """Dask's own optimization of graphs, changed in two ways: each task ends with the evaluation of the broadloom
    arrays that it made, and NumPy's arrays are stored."""
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
    """The task with `store` in the place of Dask's function that stores chunks, also within the graphs of fused tasks.
    Graphs that were rewritten are `known` by their ids, since the tasks of all blocks share one graph."""
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
    """Stores a chunk as a NumPy array in something that takes these: zarr, HDF5, NumPy's memory."""
    return load_store_chunk(np.asarray(x) if isinstance(x, Array) else x, *args, **kwargs)


def run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Runs a task, and evaluates the broadloom arrays in its result in one pass. It runs by NumPy's rule of promotion,
    and with the threads that a task may use."""
    with of_task(threads_of_tasks()):
        made = function(*args, **kwargs)
        pending = [x for x in _arrays(made) if not x._handle.is_evaluated]
        if pending:
            evaluate(*pending)
    return made


def threads_of_tasks() -> int | None:
    """The most threads of an evaluation in a task that runs in this thread; None if there is no such limit.

    A worker thread is one of several that compute at the same time, so that an evaluation has that thread alone, or as many as
    the entry `broadloom.threads` of Dask's configuration says. The thread that the application began with is no worker: in it the
    synchronous scheduler runs tasks, one after the other.
    """
    if threading.get_ident() == threading.main_thread().ident:
        # A process that was started for tasks is another process's child, and has the module `multiprocessing.process`
        # from its beginning.
        process = sys.modules.get("multiprocessing.process")
        if process is None or process.parent_process() is None:
            return None
    limit: int | None = dask.config.get("broadloom.threads", 1)
    return limit


def _arrays(made: Any) -> Iterator[Array]:
    """The broadloom arrays in the result of a task: the parts of a reduction are dicts, and lists of dicts."""
    pending = [made]
    while pending:
        one = pending.pop()
        if isinstance(one, Array):
            yield one
        elif type(one) in (list, tuple):
            pending.extend(one)
        elif type(one) is dict:
            pending.extend(one.values())


# Functions that Dask calls for broadloom's arrays.


def _bytes_of(x: Array) -> int:
    return int(x.nbytes or 0) + object.__sizeof__(x)


@registered("introduce to Dask")
def register() -> None:
    """Tells Dask about broadloom's arrays: they are chunks, of the size of their values, and tasks end as `optimize`
    says, unless `array_optimize` is set to something else already. It may be called again.
    """
    _da.register_chunk_type(Array)
    _sizeof.register(Array, _bytes_of)
    setting = Setting("broadloom.dask.optimize")
    if dask.config.get("array_optimize", None) in (None, setting):
        dask.config.set(array_optimize=setting)


register()
