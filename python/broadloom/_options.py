"""The options of expressions and of their evaluation: the rule of promotion, the number of threads, accuracy and
contraction.

Expressions promote as NumPy does. If `promotion="strict"` sets the standard's rule, an expression still has NumPy's
rule if one of its arrays has it: an array that was made with the rule, as chunks of Dask's are, or that is made of such
an array.

The rule, accuracy and contraction are set for the process, since libraries call from threads of their own. Threads are
set for a context (`contextvars`), and so hold in code that runs in a copy of it. For a task of Dask's, NumPy's rule is
set for a context too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np

from broadloom import _core
from broadloom._core import Context, Handle

Rule = Literal["strict", "numpy"]

_context: ContextVar[Context | None] = ContextVar("broadloom", default=None)
_core.set_context_variable(_context)

by_numpy = _core.by_numpy


#: Applies a function of the op table under the rule of promotion of its operands.
apply = _core.promoted


def threads() -> int | None:
    """The most threads of an evaluation that is given no number itself; None if there is no such limit."""
    context = _context.get()
    return None if context is None else context.threads


@contextlib.contextmanager
def of_task(threads: int | None) -> Iterator[None]:
    """Sets what holds in a task that another library runs: NumPy's rule of promotion, and a limit of threads, or None
    for no limit."""
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
    """Computes the values of a handle straight into a NumPy array."""
    handle.evaluate_into(out, **options())


#: What `set_options` sets: the rule of promotion; accuracy and contraction; the options of the context.
Settings = tuple[bool, tuple[Any, bool], Context | None]


def _settings() -> Settings:
    return _core.set_promotion(), _core.set_semantics(), _context.get()


def get_options() -> dict[str, Any]:
    """The options that hold here, by their names in `set_options`: the number of threads is that of an evaluation which is given no
    other, from the environment variable `BROADLOOM_NUM_THREADS` (or `OMP_NUM_THREADS`) or the number of processors unless it was set.

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
    """Sets how dtypes promote, what evaluations of arrays mean, and how many threads they take: from now on, or after `with` to the
    end of the block. What is not given stays as it is.

    `promotion="numpy"`, the default, is NumPy 2's, for operators and for the functions of this namespace: `int64 * 2.5` is float64.
    `promotion="strict"` is the Array API standard's: operands of different kinds (bools, integers, floats), and uint64 with a
    signed integer, are a TypeError that says which cast to write. Arrays that are chunks of Dask's have NumPy's rule whatever is
    set, and so has what is made of them.

    `accuracy` ("fast" or "nearest") and `contract` (whether products that are added are rounded once, with their sum) are
    options of every evaluation of arrays that is not given its own. Functions made by `jit`, and numexpr's, have their own.

    These are set for the whole process. `threads`, the most threads of an evaluation and of a call of a function made by `jit`, is set
    for the context at hand, as variables of `contextvars` are: for this thread, and for what runs in a copy of its context.

    Raises TypeError for another option, ValueError for another rule or accuracy, and for no threads.

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

    def __init__(
        self,
        *,
        promotion: Rule | None = None,
        accuracy: Literal["fast", "nearest"] | None = None,
        contract: bool | None = None,
        threads: int | None = None,
        **others: Any,
    ) -> None:
        if others:
            known = ", ".join(get_options())
            raise TypeError(f"there is no option `{next(iter(others))}`; there are {known}")
        if promotion not in ("strict", "numpy", None):
            raise ValueError(f"promotion is {promotion!r}, expected 'strict' or 'numpy'")
        if accuracy not in ("fast", "nearest", None):
            raise ValueError(f'accuracy is "{accuracy}", expected "fast" or "nearest"')
        if threads is not None:
            Context(False, threads)
        self._wanted = (promotion, accuracy, contract, threads)
        #: The settings to return to at the end of each entered block; the first are those from before the call.
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
            # A signal handler has raised an exception, and Python does not call `__exit__` of a block that was not
            # entered.
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        promotion, semantics, context = self._outside.pop()
        _core.set_semantics(*semantics)
        _core.set_promotion(promotion)
        _context.set(context)
