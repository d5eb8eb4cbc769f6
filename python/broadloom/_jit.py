"""`jit`: a Python function over arrays, traced once per signature and compiled to one kernel.

A signature consists of the dtypes and ranks of the arguments, and of which of their extents are equal or 1. The
extension module runs the kernel without calling Python code, unless the signature is new or some arguments are not
positional NumPy arrays and numbers.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Unpack, cast, overload

import numpy as np

from broadloom import _core
from broadloom._arguments import Form, Slot, Static, argument, in_order
from broadloom._array import Array
from broadloom._bounded import Bounded
from broadloom._core import Entry, Handle, Kernel
from broadloom._introductions import introduce
from broadloom._options import EvaluationOptions, check_names
from broadloom._registry import found
from broadloom._structure import mapped
from broadloom._tracebacks import shows_users_lines
from broadloom._traces import Conditions, Signature, Traced, shown, trace

#: The maximum time, in seconds, that a thread waits for another thread's trace to finish before it traces concurrently.
#: It ends a deadlock between traces that wait for other threads.
_PATIENCE = 10.0

_functions: weakref.WeakSet[JitFunction] = weakref.WeakSet()


def _renew_locks() -> None:
    # A lock may have been held by a thread that does not exist in the forked child.
    for function in list(_functions):
        function._lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_locks)


class JitFunction(_core.Dispatch):
    """The result of `broadloom.jit`, which is called like the function.

    It is pickled as a reference to the function if that can be imported. For a lambda or a nested function, the kernels
    traced so far are pickled.
    """

    __name__: str
    __wrapped__: Callable[..., Any] | None

    def __init__(
        self,
        function: Callable[..., Any] | None,
        static_argnames: tuple[str, ...],
        options: dict[str, Any],
        signature: inspect.Signature | None,
        name: str,
    ) -> None:
        if function is not None:
            functools.update_wrapper(self, function)
        else:
            self.__wrapped__ = None
        if not hasattr(function, "__name__"):
            self.__name__ = self.__qualname__ = name
        self._function = function
        self._static = frozenset(static_argnames)
        self._options = options
        self._signature = signature
        #: The traces that the function was pickled with.
        self._shipped: tuple[Traced, ...] = ()
        #: The last trace, also for threads that wait for it before it is in the table.
        self._last: Traced | None = None
        #: The numbers assigned to the forms of calls with static arguments or keywords. No number is used twice.
        self._forms: Bounded[Form, int] = Bounded()
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        if self._static:
            self._see_all()
        _functions.add(self)

    def __repr__(self) -> str:
        return f"<jit of {self.__name__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        # For a method, the first argument is the instance, which must be static.
        return self if instance is None else types.MethodType(self, instance)

    # Calls.

    @shows_users_lines
    def _build(
        self,
        signature: Signature,
        shapes: list[tuple[int, ...]],
        number: int = 0,
        by_numpy: bool = True,
        threads: int | None = None,
        by_shape: bool = False,
    ) -> Entry:
        introduce()
        form = self._form_of(number, len(signature))
        if number == 0 and self._signature is not None:
            # Raises TypeError for a wrong number of arguments.
            self._bound((None,) * len(signature), {})
        lock = self._lock
        held = lock.acquire(timeout=_PATIENCE)
        try:
            traced = self._trace_of(Conditions(form, by_numpy, signature, tuple(shapes)), by_shape)
        finally:
            if held:
                lock.release()
        threads = None if "threads" in self._options else threads
        if traced.threads == threads:
            return traced
        options = self._options if threads is None else {**self._options, "threads": threads}
        return traced.with_kernel(Kernel.parse(traced.kernel.text, **options), threads)

    @shows_users_lines
    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        given = dict(kwargs or {})
        out = given.pop("out", None)
        if any(isinstance(x, Array) and x._handle.is_symbolic for x in (*args, *given.values())):
            if out is not None:
                raise TypeError(f"{self.__name__}: out= is not for calls within a function that is being traced")
            if self._function is None:
                raise TypeError(
                    f"{self.__name__} was pickled without its function: it can't be traced within another one"
                )
            return self._function(*args, **given)
        number, values, ours = self._arranged(args, given)
        by_numpy = any(x._handle.by_numpy for x in ours)
        made = self._call(number, by_numpy, tuple(values), out)
        if not ours or out is not None:
            return made
        return mapped(made, _numpys if by_numpy else _ours)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        assert self._signature is not None
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}(): {error}") from None

    def _arranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, list[Any], list[Array]]:
        """The number of a call's form, its non-static arguments, and those among them that are `Array` objects."""
        if self._signature is None:
            positional: list[tuple[str, Any]] = [("", x) for x in args]
            keywords = list(kwargs.items())
        else:
            positional, keywords = in_order(self._bound(args, kwargs), self._signature)
        values: list[Any] = []
        ours: list[Array] = []

        def slot(name: str, value: Any) -> Slot:
            if name in self._static:
                try:
                    return ("static", Static(value))
                except TypeError:
                    raise TypeError(
                        f"{self.__name__}: the static argument `{name}` is {type(value).__name__}, which can't be hashed"
                    ) from None
            if isinstance(value, Array):
                ours.append(value)
            values.append(argument(self.__name__, name, value))
            return ("given", len(values) - 1)

        form = Form(
            tuple(slot(name, value) for name, value in positional),
            tuple((name, slot(name, value)) for name, value in keywords),
        )
        if not self._static and not form.keywords:
            return 0, values, ours
        number = self._forms.get(form)
        if number is None:
            number = self._forms.setdefault(form, next(self._numbers))
        return number, values, ours

    def _form_of(self, number: int, arguments: int) -> Form:
        """The form with a number. Form 0 has only positional arguments."""
        if number == 0:
            return Form(tuple(("given", i) for i in range(arguments)), ())
        for form, known in list(self._forms.items()):
            if known == number:
                return form
        raise RuntimeError(f"{self.__name__}: other threads called it in too many forms at once; call it again")

    # Traces.

    def _known(self) -> list[Traced]:
        """All existing traces, the last one at the end."""
        last = () if self._last is None else (self._last,)
        return [*cast("list[Traced]", self.entries()), *self._shipped, *last]

    def _trace_of(self, wanted: Conditions, by_shape: bool) -> Traced:
        # A pickled function's kernels for the standard's promotion can be used for NumPy's too, since they have the
        # same results.
        rules = (True, False) if self._function is None and wanted.by_numpy else (wanted.by_numpy,)
        of_shapes = (wanted.shapes,) if by_shape and self._function is not None else (None, wanted.shapes)
        fitting = [wanted._replace(by_numpy=rule, shapes=shapes) for rule in rules for shapes in of_shapes]
        known = self._known()
        for traced in known:
            if traced.conditions in fitting:
                return traced
        if self._function is None:
            there = "; ".join(dict.fromkeys(shown(traced.conditions.signature) for traced in known))
            raise TypeError(
                f"{self.__name__} was pickled without its function, with the kernels for {there}; there is none for "
                f"{shown(wanted.signature)}"
            )
        made = trace(self._function, self._signature, wanted, self._options, by_shape)
        self._last = made
        return made

    def _entry_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        known = self._known()
        if args or kwargs or not known:
            number, values, ours = self._arranged(args, kwargs)
            return self.entry(*values, form=number, by_numpy=any(x._handle.by_numpy for x in ours))
        return known[-1]

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Describes how the kernel for these arguments runs, as text. The function is traced if necessary. Without
        arguments, the last trace is described.

        >>> @bl.jit
        ... def f(x):
        ...     return 2 * x + 1
        >>> "multiply" in f.explain(np.ones(3))
        True
        """
        return self._entry_of(args, kwargs).kernel.explain()

    def text(self, *args: Any, **kwargs: Any) -> str:
        """The kernel for these arguments in broadloom's text language. The function is traced if necessary. Without
        arguments, the kernel of the last trace.

        >>> f = bl.jit(lambda x, y: x * y + 1)
        >>> print(f.text(np.ones(3, "f4"), np.ones((2, 3), "f4")))
        x: float32[d0]
        y: float32[d1,d0]
        t0: float32[d1,d0] = x * y
        result: float32[d1,d0] = t0 + float32(1.0)
        return result
        <BLANKLINE>
        """
        return self._entry_of(args, kwargs).kernel.text

    def __reduce__(self) -> Any:
        return found("pickled function")(self)

    def __dask_tokenize__(self) -> Any:
        return found("token of function")(self)


@overload
def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    **options: Unpack[EvaluationOptions],
) -> JitFunction: ...
@overload
def jit(
    *,
    static_argnames: str | Iterable[str] = (),
    **options: Unpack[EvaluationOptions],
) -> Callable[[Callable[..., Any]], JitFunction]: ...
@shows_users_lines
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    **options: Unpack[EvaluationOptions],
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Compiles a function over arrays: `jit(f)`, or `@jit`, or `@jit(threads=1)`.

    The function is traced, which means that it is called with arrays that have no values, once for each signature: the
    dtypes and ranks of the arguments, and which of their extents are equal or 1. Its operations on them become one
    kernel, which all later calls run. If it uses the values of extents (by `reshape`, or arithmetic with `x.shape`), it
    is traced for each shape instead. It is also traced for each shape that the kernel refuses, since the operations may
    be valid for that shape: a slice of one element is broadcast, for example.

    - Arguments are NumPy arrays, Arrays, and objects that `numpy.asarray` accepts. Results are NumPy arrays, or Arrays
      if an argument was one. They may be contained in tuples, named tuples, lists and dicts. Any other object is
      returned as it was in the trace.
    - A Python bool, int or float is passed to the kernel at each call. Combined with an array, it takes the array's
      dtype, like a literal; a number that the dtype can't represent raises ValueError. Operations among numbers follow
      Python's arithmetic. Defaults of omitted arguments are constants. Arguments named in `static_argnames` are
      constants too, and may be any hashable object. There is a kernel for each value, where 1, 1.0 and True are three
      values, and 0.0 and -0.0 two, also within tuples and frozensets.
    - `out=` takes the arrays to write to: one, or a tuple with one for each result. They may be arguments. After an
      error or KeyboardInterrupt, their contents are unspecified.
    - NumPy arrays that the function uses without being arguments are inputs of the kernel: their memory is read at each
      call. An Array that is not just NumPy memory keeps the values that it had during the trace. Other variables and
      side effects belong to the trace: `print` prints once, or twice if the function uses the values of extents.
    - A request for a traced value (`if x > 0`, `float(x)`, `numpy.asarray(x)`, iteration, and functions that compute at
      once, such as `sort`) raises `TracerError`, which names the line.
    - Functions made by `jit` that are called within another one become a part of its kernel.

    Dtypes promote by the rule that applies when the function is called (see `set_options`), or by NumPy's if an
    argument is an Array that requires it; each rule has its own kernels.

    The options of each run are those of `evaluate`. Raises TypeError or ValueError for invalid options, for a name in
    `static_argnames` that is not a parameter, and for a parameter named `out`. For a method, `static_argnames="self"`
    compiles a kernel for each instance.

    >>> @bl.jit
    ... def scaled(x, y, factor=2.0):
    ...     return (x + y) * factor, x.shape
    >>> scaled(np.array([1.0, 2.0]), 10.0)
    (array([22., 24.]), (d0,))
    >>> scaled(np.array([1, 2], "i1"), 100, factor=1)
    (array([101, 102], dtype=int8), (d0,))
    >>> scaled(np.array([1, 2], "i1"), 1000, factor=1)
    Traceback (most recent call last):
    ...
    broadloom.LiteralError: 1000 cannot be represented as int8
    """
    check_names("jit", options, ("static_argnames",))
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if not isinstance(static_argnames, Iterable):
        raise TypeError(f"jit: `static_argnames` is {static_argnames!r}, expected a name, or several")
    static = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    # Raises an error for an invalid option.
    Kernel.parse("true", **given)
    if function is None:

        def decorate(function: Callable[..., Any]) -> JitFunction:
            return _made(function, static, given)

        # The decorator with options is also an engine for pandas.
        vars(decorate).update(vars(jit))
        return decorate
    return _made(function, static, given)


def _made(function: Callable[..., Any], static: tuple[str, ...], options: dict[str, Any]) -> JitFunction:
    if not callable(function):
        raise TypeError(f"jit: `function` is {type(function).__name__}, expected a function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    name = getattr(function, "__name__", type(function).__name__)
    if signature is not None:
        takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        unknown = [x for x in static if x not in signature.parameters]
        if unknown and not takes_any:
            raise ValueError(f"static_argnames: {name} has no parameter `{unknown[0]}`")
        if "out" in signature.parameters:
            raise ValueError(f"{name} has a parameter `out`, which is jit's own: the array that a call writes to")
    introduce()
    return JitFunction(function, static, options, signature, name)


def _ours(x: Any) -> Any:
    return Array._of(Handle.from_numpy(x), x) if isinstance(x, np.ndarray) else x


def _numpys(x: Any) -> Any:
    return Array._of(Handle.from_numpy(x).promoting_by_numpy(), x) if isinstance(x, np.ndarray) else x
