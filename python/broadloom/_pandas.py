"""`jit` as an engine of pandas: `df.apply(f, engine=bl.jit)` and `series.map(f, engine=bl.jit)`.

pandas passes such a call to `engine.__pandas_udf__`. A function of a column becomes a kernel that runs on each column.
A function of a row, which accesses elements by label, becomes one kernel on whole columns. This module does not import
pandas unless pandas calls it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from broadloom._bounded import Bounded
from broadloom._jit import jit

#: A cache of compiled functions, by function, engine and kinds of arguments.
_compiled: Bounded[Any, Callable[..., Any]] = Bounded()


class Engine:
    """The object that pandas calls for `engine=broadloom.jit`."""

    @staticmethod
    def map(
        data: Any,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        decorator: Callable[..., Any],
        skip_na: bool,
    ) -> Any:
        """Applies a function of an element to all elements of a Series at once. With `skip_na`, NaN is kept."""
        values = _values(data)
        made = np.broadcast_to(_jitted(func, decorator)(values, *args, **kwargs), values.shape)
        return np.where(np.isnan(values), values, made) if skip_na and values.dtype.kind == "f" else made

    @staticmethod
    def apply(
        data: Any,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        decorator: Callable[..., Any],
        axis: int | str,
    ) -> Any:
        """Applies a function to each column (`axis` 0) or row (1) of a frame, or of a matrix if `raw` is set."""
        along_rows = axis in (1, "columns")
        if isinstance(data, np.ndarray):
            compiled = _jitted(func, decorator)
            made = [compiled(np.ascontiguousarray(part), *args, **kwargs) for part in (data if along_rows else data.T)]
            return np.stack(made, axis=0 if along_rows or np.ndim(made[0]) == 0 else 1)
        return (_by_row if along_rows else _by_column)(data, func, args, kwargs, decorator)


def _by_column(data: Any, func: Any, args: Any, kwargs: Any, decorator: Any) -> Any:
    pandas = sys.modules["pandas"]
    compiled = _jitted(func, decorator)
    made = [compiled(_values(column), *args, **kwargs) for _, column in data.items()]
    if all(np.ndim(one) == 0 for one in made):
        return pandas.Series([np.asarray(one)[()] for one in made], index=data.columns)
    index = data.index if len(made[0]) == len(data) else None
    frame = pandas.concat([pandas.Series(np.asarray(one), index=index) for one in made], axis=1)
    frame.columns = data.columns
    return frame


def _by_row(data: Any, func: Any, args: Any, kwargs: Any, decorator: Any) -> Any:
    pandas = sys.modules["pandas"]
    labels = tuple(data.columns)
    columns = {label: column.to_numpy() for label, column in data.items()}
    numbers = tuple(label for label in labels if columns[label].dtype.kind in "biuf")

    def of_columns(*given: Any, **named: Any) -> Any:
        row = Row(labels, dict(zip(numbers, given, strict=False)))
        return func(row, *given[len(numbers) :], **named)

    compiled = _jitted(func, decorator, of_columns, ("rows", labels, numbers))
    made = compiled(*(columns[label] for label in numbers), *args, **kwargs)
    if isinstance(made, (Row, dict)):
        raise TypeError(
            f"the function returns a {type(made).__name__.lower()}; return an element, or a tuple or list of them"
        )
    if isinstance(made, tuple | list):
        frame = pandas.DataFrame({number: np.broadcast_to(one, len(data)) for number, one in enumerate(made)})
        return frame.set_axis(data.index)
    return pandas.Series(np.broadcast_to(made, len(data)), index=data.index)


_ADVICE = "a row of a function that is compiled has its elements alone, as row['a'] or row.a"
_SUMS = "for sums and the like of rows, see DataFrame.sum(axis=1)"


class Row:
    """The argument passed to a function of a row: the columns, by label."""

    def __init__(self, labels: tuple[Any, ...], columns: dict[Any, Any]) -> None:
        self._labels, self._columns = labels, columns

    def __getitem__(self, label: Any) -> Any:
        if label in self._columns:
            return self._columns[label]
        if label in self._labels:
            raise TypeError(
                f"the column {label!r} is of objects, of which broadloom has no arrays; convert it with astype"
            )
        raise KeyError(label)

    def __getattr__(self, name: str) -> Any:
        if name in self._labels:
            return self[name]
        raise AttributeError(f"{_ADVICE}, and no {name!r}; {_SUMS}")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{_ADVICE}, and is no array; {_SUMS}")

    def __len__(self) -> int:
        return len(self._labels)

    def __iter__(self) -> Any:
        raise TypeError(f"{_ADVICE}, and can't be iterated over; {_SUMS}")


def _jitted(
    func: Callable[..., Any], decorator: Callable[..., Any], of: Callable[..., Any] | None = None, key: Any = None
) -> Callable[..., Any]:
    """The compiled function, which is kept for later calls."""
    made = _compiled.get((func, decorator, key))
    if made is None:
        of = func if of is None else of
        if isinstance(of, np.ufunc | type(np.sum)):
            # NumPy's functions have parameters, such as `out`, that a compiled function can't have.
            of = functools.partial(_called, of)
        made = _compiled[func, decorator, key] = decorator(of)
    return made


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _values(column: Any) -> np.ndarray:
    values: np.ndarray = column.to_numpy()
    if values.dtype.kind not in "biuf":
        name = getattr(column, "name", None)
        which = "the Series" if name is None else f"the column {name!r}"
        raise TypeError(f"{which} is {column.dtype}, of which broadloom has no arrays; convert it with astype")
    return values


# pandas looks for this attribute on the object passed as `engine`.
vars(jit)["__pandas_udf__"] = Engine
# A pickle names the namespace, whose `jit` has the attribute in every process.
jit.__module__ = "broadloom"
