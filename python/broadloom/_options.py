"""The options of expressions and evaluations: the promotion rule, the number of threads, accuracy and contraction.

Expressions promote as in NumPy by default. Under `promotion="strict"`, an expression follows the standard's rule,
unless one of its arrays requires NumPy's: the chunks of Dask's arrays do, and so do arrays made from such arrays.

The promotion rule, accuracy and contraction are set for the process, since libraries call from their own threads. The
number of threads is set for a context (`contextvars`), and applies to everything that runs in a copy of that context.
So does NumPy's promotion in a Dask task.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Literal, Never, TypedDict

import numpy as np

from broadloom import _core
from broadloom._core import Context, Handle
from broadloom._tracebacks import shows_users_lines

Rule = Literal["strict", "numpy"]
Accuracy = Literal["fast", "nearest"]


class EvaluationOptions(TypedDict, total=False):
    """The options of an evaluation, which `evaluate` describes. None is the default of each."""

    threads: int | None
    executor: Literal["auto", "interp", "jit"] | None
    vector_width: Literal[128, 256, 512] | None
    int_division: Literal["zero", "error"] | None
    accuracy: Accuracy | None
    contract: bool | None
    max_bytes: int | None
    max_time: float | None


def check_names(function: str, options: Iterable[str], others: tuple[str, ...] = ()) -> None:
    """Raises TypeError for a keyword that is no option of an evaluation, nor one of `others`."""
    known = (*others, *EvaluationOptions.__annotations__)
    for name in options:
        if name not in known:
            raise TypeError(f"{function}: there is no option `{name}`; there are {', '.join(known)}")


_context: ContextVar[Context | None] = ContextVar("broadloom", default=None)
_core.set_context_variable(_context)

by_numpy = _core.by_numpy


#: Applies a function of the op table under the promotion rule of its operands.
apply = _core.promoted


def threads() -> int | None:
    """The maximum number of threads for an evaluation that specifies none; None if there is no limit."""
    context = _context.get()
    return None if context is None else context.threads


@contextlib.contextmanager
def of_task(threads: int | None) -> Iterator[None]:
    """The settings for a task that another library runs: NumPy's promotion, and a maximum number of threads (None for
    no limit)."""
    token = _context.set(Context(True, threads))
    try:
        yield
    finally:
        _context.reset(token)


def options() -> dict[str, Any]:
    """The options that are set for the evaluations of this context, as keywords."""
    limit = threads()
    return {} if limit is None else {"threads": limit}


def evaluated(handle: Handle) -> Handle:
    """The handle of the computed values, in memory."""
    return handle.evaluate(**options())


def evaluate_into(handle: Handle, out: np.ndarray) -> None:
    """Computes the values directly into a NumPy array."""
    handle.evaluate_into(out, **options())


#: The state that `set_options` sets: the promotion rule, the accuracy and contraction, and the context's options.
Settings = tuple[bool, tuple[Any, bool], Context | None]


def _settings() -> Settings:
    return _core.set_promotion(), _core.set_semantics(), _context.get()


def get_options() -> dict[str, Any]:
    """The current options, by their names in `set_options`. The number of threads is used by evaluations that do not
    specify one. It is the number that was set, or else the number in the environment variable `BROADLOOM_NUM_THREADS`
    (or `OMP_NUM_THREADS`), or else the number of processors.

    >>> bl.get_options()["promotion"]
    'numpy'
    """
    accuracy, contract = _core.set_semantics()
    return {
        "promotion": "numpy" if by_numpy() else "strict",
        "accuracy": accuracy,
        "contract": contract,
        "threads": threads() or _core.default_threads(),
    }


class set_options:  # noqa: N801  a function to its callers, and a context
    """Sets the promotion rule, the accuracy and contraction of evaluations, and the maximum number of threads. The
    settings apply from now on, or after `with` until the end of the block. Omitted options are not changed.

    `promotion="numpy"`, the default, is NumPy 2's rule, for operators and for the functions of this namespace: `int64 *
    2.5` is float64. `promotion="strict"` is the Array API standard's rule: combining operands of different kinds
    (bools, integers, floats), or uint64 with a signed integer, raises a TypeError that states the cast to write. Arrays
    that are chunks of Dask arrays always follow NumPy's rule, and so do arrays made from them.

    `accuracy` ("fast" or "nearest") and `contract` (whether a product that is added is rounded once, together with the
    sum) are the defaults for all evaluations of arrays. Functions made by `jit`, and numexpr's, have their own options.

    These options are set for the whole process. `threads`, the maximum number of threads for an evaluation and for a
    call of a function made by `jit`, is set for the current context, like variables of `contextvars`: for this thread,
    and for code that runs in a copy of its context.

    Raises TypeError for an unknown option, and ValueError for an unknown rule or accuracy, and for less than one
    thread.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.array([1, 2]))
    >>> (x * 2.5).tolist()
    [2.5, 5.0]
    >>> with bl.set_options(promotion="strict"):
    ...     x * 2.5
    Traceback (most recent call last):
        ...
    broadloom.DTypeError: multiply: int64 with the literal 2.5; write astype(x, float64), or promote as NumPy does (set_options(promotion="numpy")); int64 holds no 2.5
    >>> y = bl.asarray(np.array([0.1, 3.0]))
    >>> with bl.set_options(contract=True):
    ...     (y * y - y * y).tolist()
    [-8.326672684688674e-19, 0.0]
    """

    @shows_users_lines
    def __init__(
        self,
        *unnamed: Never,
        promotion: Rule | None = None,
        accuracy: Accuracy | None = None,
        contract: bool | None = None,
        threads: int | None = None,
        **others: Any,
    ) -> None:
        known = ", ".join(get_options())
        if unnamed:
            raise TypeError(f"set_options: options are passed by name, as in set_options(threads=2); there are {known}")
        if others:
            raise TypeError(f"there is no option `{next(iter(others))}`; there are {known}")
        if promotion not in ("strict", "numpy", None):
            raise ValueError(f"promotion is {promotion!r}, expected 'strict' or 'numpy'")
        if accuracy not in ("fast", "nearest", None):
            raise ValueError(f'accuracy is "{accuracy}", expected "fast" or "nearest"')
        if threads is not None:
            Context(False, threads)
        self._wanted = (promotion, accuracy, contract, threads)
        #: For each block that was entered, the settings to restore; for the first, those before the call.
        self._outside: list[Settings] = []
        self._before: Settings | None = _settings()
        self._act()

    def _act(self) -> None:
        promotion, accuracy, contract, threads = self._wanted
        _core.set_semantics(accuracy, contract)
        if promotion is not None:
            _core.set_promotion(promotion == "numpy")
        if threads is not None:
            context = _context.get()
            _context.set(Context(context is not None and context.by_numpy, threads))

    def __enter__(self) -> None:
        if self._before is not None:
            self._outside.append(self._before)
            self._before = None
            return
        self._outside.append(_settings())
        try:
            self._act()
        except BaseException:
            # A signal handler has raised an exception. Python does not call `__exit__` for a block that was not
            # entered, so the settings are restored here.
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        promotion, semantics, context = self._outside.pop()
        _core.set_semantics(*semantics)
        _core.set_promotion(promotion)
        _context.set(context)
