"""Evaluates several arrays in one pass, and monitors long runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Unpack, overload

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._operators import OverArrays
from broadloom._options import EvaluationOptions
from broadloom._shared_work import sharing
from broadloom._tracebacks import shows_users_lines

Progress = Callable[[int, int], object]


@overload
def evaluate(
    x: Array, /, *, out: None = None, progress: bool | Progress | None = None, **options: Unpack[EvaluationOptions]
) -> Array: ...
@overload
def evaluate(
    x: Array, /, *, out: np.ndarray, progress: bool | Progress | None = None, **options: Unpack[EvaluationOptions]
) -> np.ndarray: ...
@overload
def evaluate(
    x: Array,
    y: Array,
    /,
    *more: Array,
    out: None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[EvaluationOptions],
) -> tuple[Array, ...]: ...
@overload
def evaluate(
    *arrays: Array,
    out: Sequence[np.ndarray],
    progress: bool | Progress | None = None,
    **options: Unpack[EvaluationOptions],
) -> tuple[np.ndarray, ...]: ...
@shows_users_lines
def evaluate(
    *arrays: Array | OverArrays,
    out: np.ndarray | Sequence[np.ndarray] | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> Any:
    """Computes arrays, which keep their values. Common subexpressions are computed once.

    Returns the array, or a tuple of several. An array that shares a NumPy array's memory is not changed. `out` is a
    NumPy array for each array, with the same shape and dtype, which receives the values instead and is returned; it may
    overlap memory that is read. For an array with nulls, values and mask are computed; `out` is not supported for it,
    see its `to_numpy`.

    `progress` is called as `progress(done, total)` from time to time during a run, and at its end with `done == total`.
    An exception that it raises cancels the run and is propagated. True shows a progress bar of tqdm if tqdm is
    installed, or else a line of text.

    Signals are handled about every 50 ms during a run. An exception of a signal handler, such as KeyboardInterrupt for
    Ctrl-C, cancels the run; so does an exception that another thread has set (`PyThreadState_SetAsyncExc`). After an
    error, an exception of `progress` or an interrupt, the arrays are unchanged, and the contents of `out` are
    unspecified.

    The options are `threads` (the maximum number; 1 in a Dask task unless set otherwise), `executor` ("auto", "interp"
    or "jit"), `vector_width` (128, 256 or 512 bits), `int_division` ("zero", or "error" for a ZeroDivisionError),
    `accuracy` ("fast", or "nearest" for the nearest float32 of functions such as `exp`), `contract` (True: a product
    that is added is rounded once, together with the sum), `max_bytes` and `max_time` (limits in bytes and in seconds,
    which raise LimitError and TimeLimitError).

    Raises TypeError or ValueError if `out` has another dtype or shape, or for an invalid option.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.arange(4.0))
    >>> y, z = bl.evaluate(x * 2, x + 1)
    >>> y.tolist(), z.tolist()
    ([0.0, 2.0, 4.0, 6.0], [1.0, 2.0, 3.0, 4.0])
    >>> bl.evaluate(x * 2, out=np.zeros(4))
    array([0., 2., 4., 6.])
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"evaluate: `progress` is {progress!r}, expected True, False, None or a function")
    plain: list[Array] = []
    for x in arrays:
        if isinstance(x, Array):
            plain.append(x)
        elif not isinstance(x, OverArrays):
            raise TypeError(f"evaluate takes arrays of broadloom, not {type(x).__name__}")
        elif out is not None:
            raise TypeError(f"evaluate: out takes no nulls, which {type(x).__name__} may have; see its to_numpy")
        else:
            plain += x._arrays()
    if not arrays:
        raise TypeError("evaluate takes at least one array")
    _options.check_names("evaluate", options)
    if options.get("threads") is None:
        options |= _options.options()
    with _Watch(progress) as watch:
        if out is None:
            _evaluate(plain, watch, options)
            return arrays if len(arrays) > 1 else arrays[0]
        outs = [out] if isinstance(out, np.ndarray) else list(out)
        _evaluate_into(plain, outs, watch, options)
        return out if isinstance(out, np.ndarray) else tuple(outs)


def _evaluate(arrays: Sequence[Array], watch: Progress | None, options: dict[str, Any]) -> None:
    # An array that represents shared memory unchanged needs no computation.
    pending = [x for x in arrays if x._lender() is None and not x._handle.is_evaluated]
    pending += sharing(pending)
    handles = [x._handle for x in pending]
    made = _core.evaluate_many(handles, watch, **options)
    for x, old, values in zip(pending, handles, made, strict=True):
        x._keep(values, old)


def _evaluate_into(
    arrays: Sequence[Array], outs: Sequence[np.ndarray], watch: Progress | None, options: dict[str, Any]
) -> None:
    if len(outs) != len(arrays):
        raise ValueError(f"out: {len(outs)} arrays for {len(arrays)} results")
    for x, to in zip(arrays, outs, strict=True):
        if not isinstance(to, np.ndarray):
            raise TypeError(f"out: expected an array of NumPy's, not {type(to).__name__}")
        if x.dtype != to.dtype:
            raise TypeError(f"out: the result is {x.dtype}, the array {to.dtype}")
        if x.shape != to.shape:
            raise ValueError(f"out: the result has shape {x.shape}, the array {to.shape}")
    if len(arrays) == 1:
        arrays[0]._handle.evaluate_into(outs[0], watch, **options)
        return
    # Evaluating the results together, with common subexpressions computed once, is worth the copies.
    made = _core.evaluate_many([x._handle for x in arrays], watch, **options)
    for values, to in zip(made, outs, strict=True):
        values.evaluate_into(to, **options)


class _Watch:
    """The callback of a run, for each kind of `progress`."""

    def __init__(self, progress: bool | Progress | None) -> None:
        self._progress = progress
        self._bar: Any = None
        self._percent = -1

    def __enter__(self) -> Progress | None:
        if self._progress is None or self._progress is False:
            return None
        if self._progress is not True:
            return self._progress
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return self._print
        self._bar = tqdm(desc="broadloom", unit="el", unit_scale=True)
        return self._update

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._percent >= 0:
            print(file=sys.stderr, flush=True)

    def _update(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def _print(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent != self._percent:
            self._percent = percent
            print(f"\rbroadloom: {percent} %", end="", file=sys.stderr, flush=True)
