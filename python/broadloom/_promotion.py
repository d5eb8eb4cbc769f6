"""Which rule the operators, and the functions of the namespace, promote dtypes by: the standard's, or NumPy's; and the
setting of what evaluations mean.

Settings are for the process, since libraries call from threads of their own. NumPy's own functions promote by NumPy's
rules whatever it is, and so does everything within a task of Dask's, whose functions are written for NumPy's arrays: there
what would be an error by the standard has NumPy's result.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable
from typing import Any, Literal

from broadloom import _core, _tasks
from broadloom._core import Handle
from broadloom._registry import found

Rule = Literal["strict", "numpy"]

_by_numpy = False

#: Called when the rule has changed.
when_changed: list[Callable[[], None]] = []


def is_set_to_numpy() -> bool:
    """Whether promotion was set to be NumPy's."""
    return _by_numpy


def by_numpy() -> bool:
    """Whether promotion is NumPy's here."""
    return _by_numpy or _tasks.in_dask()


def apply(op: str, *operands: Handle | bool | float) -> Handle:
    """A function of the op table under the rule that is set."""
    if not _by_numpy:
        try:
            return _core.apply(op, *operands)
        except TypeError:
            # PERF: what the standard allows has the same result by NumPy's rule, so that nobody else asks for Dask.
            if not _tasks.in_dask():
                raise
    made: Handle = found("apply by NumPy's rule")(op, operands)
    return made


def _set(by_numpy: bool) -> None:
    global _by_numpy
    if by_numpy != _by_numpy:
        _by_numpy = by_numpy
        for function in when_changed:
            function()


#: Whether promotion is NumPy's; accuracy and contraction.
Settings = tuple[bool, tuple[Any, bool]]


def _settings() -> Settings:
    return _by_numpy, _core.set_semantics()


#: The instructions by which a block after `with` is entered, in CPython 3.10, from 3.11 and from 3.14 on; and those that may come before.
_ENTERING = frozenset(("SETUP_WITH", "BEFORE_WITH", "LOAD_SPECIAL"))
_BETWEEN = frozenset(("CACHE", "COPY", "NOP"))


def _is_entered_next(frame: types.FrameType | None) -> bool:
    """Whether a frame enters a block with the result of the call that it is in: the instruction after the call tells. A context that
    is kept in a variable, or given to `ExitStack`, counts as a statement."""
    if frame is None:
        return False
    code = frame.f_code.co_code
    following = (dis.opname[code[at]] for at in range(frame.f_lasti + 2, len(code), 2))
    return next((name for name in following if name not in _BETWEEN), "") in _ENTERING


class set_options:  # noqa: N801  a function to its callers, and a context
    """Sets how dtypes promote, and what evaluations of arrays mean, for the whole process: as a statement from now on, after
    `with` for a block. What is not given stays as it is. After `with` it acts when the block is entered, so that an interrupt
    before that changes nothing.

    `promotion="strict"`, the default, is the Array API standard's: operands of different kinds (bools, integers,
    floats), and uint64 with a signed integer, are a TypeError that says which cast to write. `promotion="numpy"` is
    NumPy's, for operators and for the functions of this namespace: `int64 * 2.5` is float64, bools are added up.
    Libraries that were written for NumPy's arrays, such as xarray, expect it. Within tasks of Dask's it is NumPy's, in
    worker threads and in worker processes.

    `accuracy` ("fast" or "nearest") and `contract` (whether products that are added are rounded once, with their sum) are
    options of every evaluation of arrays that is not given its own. Functions made by `jit`, and numexpr's, have their own.

    Raises ValueError for another rule or accuracy.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.array([1, 2]))
    >>> with bl.set_options(promotion="numpy"):
    ...     (x * 2.5).tolist()
    [2.5, 5.0]
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
    ) -> None:
        if promotion not in ("strict", "numpy", None):
            raise ValueError(f"promotion is {promotion!r}, expected 'strict' or 'numpy'")
        if accuracy not in ("fast", "nearest", None):
            raise ValueError(f'accuracy is "{accuracy}", expected "fast" or "nearest"')
        self._wanted = (promotion, accuracy, contract)
        #: What holds outside of each block that was entered; for the first one what held before a statement.
        self._outside: list[Settings] = []
        self._before: Settings | None = None
        if not _is_entered_next(sys._getframe().f_back):
            self._before = _settings()
            self._act()

    def _act(self) -> None:
        promotion, accuracy, contract = self._wanted
        _core.set_semantics(accuracy, contract)
        if promotion is not None:
            _set(promotion == "numpy")

    def __enter__(self) -> None:
        self._outside.append(self._before or _settings())
        self._before = None
        try:
            self._act()
        except BaseException:
            # The handler of a signal has raised, and Python does not call `__exit__` of a block that was not entered.
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        promotion, semantics = self._outside.pop()
        _core.set_semantics(*semantics)
        _set(promotion)
