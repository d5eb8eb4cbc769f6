"""`vectorize`: a Python function of numbers, compiled to a kernel over arrays.

The statements of the function are run once over lazy arrays, which records a loop of the engine for each loop of the
function. This takes the place of the call by which `jit` traces a function, so that kernels are kept and found as
there.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, Unpack, overload

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle, Kernel
from broadloom._errors import VectorizeError
from broadloom._introductions import introduce
from broadloom._jit import JitFunction
from broadloom._operators import operand
from broadloom._options import EvaluationOptions, check_names
from broadloom._scalars import Scalar, in_dtype
from broadloom._structure import mapped
from broadloom._tracebacks import shows_users_lines
from broadloom._vectorize_expressions import Path, arguments_of
from broadloom._vectorize_source import Source
from broadloom._vectorize_statements import Statements
from broadloom._vectorize_values import BOOL, FLOAT, INT, Kind, Refused, Value, Var, cast, kind_of

__all__: list[str] = ["vectorize"]

_DTYPES = {
    name: np.dtype(name)
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
}
#: Numba's short names.
_SHORT = {"boolean": BOOL, "float_": np.dtype("f4"), "double": FLOAT, "intp": INT, "i8": INT, "i4": np.dtype("i4")}
_SHORT |= {"f8": FLOAT, "f4": np.dtype("f4"), "b1": BOOL, "u1": np.dtype("u1"), "u4": np.dtype("u4")}
_WEAK = {bool: BOOL, int: INT, float: FLOAT}


class OneSignature(NamedTuple):
    """The dtypes of the arguments, and of the result; None if the result's follows from the function."""

    arguments: tuple[np.dtype[Any], ...]
    result: np.dtype[Any] | None


class Signatures:
    """The signatures that a function was given, in their order."""

    def __init__(self, known: tuple[OneSignature, ...]) -> None:
        self._known = known

    def chosen(self, name: str, kinds: list[Kind]) -> OneSignature:
        """The first signature that arguments fit by a safe conversion; VectorizeError if there is none."""
        for one in self._known:
            if len(one.arguments) == len(kinds) and all(map(_fits, kinds, one.arguments)):
                return one
        have = "; ".join(f"({', '.join(map(str, one.arguments))})" for one in self._known)
        raise VectorizeError(
            f"{name}: no signature takes ({', '.join(str(kind.dtype) for kind in kinds)}) by a safe conversion; there are "
            f"{have}"
        )

    def fitted(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are values, converted to the dtypes of the signature that they fit."""
        one = self.chosen(name, [kind_of(value) for value in arguments.values()])
        return {key: Var(cast(x, to)) for (key, x), to in zip(arguments.items(), one.arguments, strict=True)}

    def result(self, name: str, kinds: list[Kind], value: Value) -> Value:
        """The result in the dtype of the signature."""
        to = self.chosen(name, kinds).result
        if to is None:
            return value
        if isinstance(value, tuple):
            raise VectorizeError(
                f"{name}: returns {len(value)} values; leave the dtype of the result out of the signature"
            )
        return Var(cast(value, to))


def _fits(kind: Kind, to: np.dtype[Any]) -> bool:
    if not kind.weak:
        return np.can_cast(kind.dtype, to, "safe")
    return to.kind in ("iuf" if kind.dtype == INT else "f")


class Elements:
    """The function over arrays: called with arrays and numbers, it returns expressions."""

    def __init__(self, source: Source, signatures: Signatures | None) -> None:
        functools.update_wrapper(self, source.function)
        self._source, self._signatures = source, signatures

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        source, name = self._source, self._source.name
        try:
            given = arguments_of(source, list(args), kwargs)
        except Refused as error:
            raise TypeError(error.what) from None
        values = {key: _value(name, key, x) for key, x in given.items()}
        kinds = [kind_of(value) for value in values.values()]
        if self._signatures is not None:
            one = self._signatures.chosen(name, kinds)
            values = {key: Var(_in_dtype(given[key], x, to)) for (key, x), to in zip(values.items(), one.arguments)}
        try:
            made = Compiler(source).inlined(source, dict(values), Path({}, None))
        except RecursionError:
            raise VectorizeError(
                f"{name}: an expression or statement is nested too deeply; assign parts of it to names"
            ) from None
        if self._signatures is not None:
            made = self._signatures.result(name, kinds, made)
        arrays = [value.handle for value in values.values() if isinstance(value, Var)]
        return mapped(made, lambda value: _result(value, arrays))


class Compiler(Statements):
    """Runs a function, and the functions made by `vectorize` that it calls."""

    def called(self, function: Any) -> tuple[Source, Signatures | None] | None:
        elements = function._function if isinstance(function, JitFunction) else None
        return (elements._source, elements._signatures) if isinstance(elements, Elements) else None


def _value(function: str, name: str, x: Any) -> Value:
    """An argument as a value."""
    if isinstance(x, Scalar):
        dtype = _WEAK[{"bool": bool, "int": int, "float": float}[x._kind]]
        return Var(x._handle.astype(dtype), dtype != BOOL)
    try:
        made = operand(x)
    except TypeError as error:
        raise TypeError(f"{function}: `{name}`: {error}") from None
    return Var(made) if isinstance(made, Handle) else made


def _in_dtype(given: Any, value: Value, dtype: np.dtype[Any]) -> Handle:
    """An argument in the dtype of a signature. A number that the dtype can't represent is an error at the call."""
    if isinstance(given, Scalar) and dtype != BOOL:
        return in_dtype(given, dtype, by_numpy=True)
    return cast(value, dtype)


def _result(value: Any, arguments: list[Handle]) -> Array:
    """A result as an array of the shape to which the arguments broadcast."""
    handle = value.handle if isinstance(value, Var) else cast(value, kind_of(value).dtype)
    dims = _broadcast([handle.dims, *(argument.dims for argument in arguments)])
    for argument in arguments:
        if handle.dims == dims:
            break
        # The condition always holds, and has the shape of the argument.
        always = _core.apply("logical_or", _core.apply("equal", argument, argument), True)
        handle = _core.apply("where", always, handle, handle)
    return Array._of(handle)


def _broadcast(shapes: list[list[str]]) -> list[str] | None:
    """The extents to which shapes broadcast, by their names; None if some differ."""
    made = ["1"] * max(map(len, shapes))
    for shape in shapes:
        for at, extent in enumerate(reversed(shape), 1):
            if extent != "1" and made[-at] not in ("1", extent):
                return None
            made[-at] = made[-at] if extent == "1" else extent
    return made


class VectorizedFunction(JitFunction):
    """The result of `broadloom.vectorize`, which is called like the function, with arrays."""

    def __repr__(self) -> str:
        return f"<vectorize of {self.__name__}>"

    @shows_users_lines
    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        given = dict(kwargs or {})
        if "out" in given or not any(isinstance(x, Array) for x in (*args, *given.values())):
            return super()._general(args, given)
        assert self._function is not None
        return self._function(*args, **given)

    def __reduce__(self) -> Any:
        """The function by its name, if that is not the name of the vectorized one; otherwise as functions of `jit`."""
        plain = self.__wrapped__
        if plain is None or getattr(sys.modules.get(plain.__module__), plain.__qualname__, None) is not plain:
            return super().__reduce__()
        assert isinstance(self._function, Elements)
        return _made, (plain, self._function._signatures, self._options)


Function = Callable[..., Any]


@overload
def vectorize(function: Function, /, **options: Unpack[EvaluationOptions]) -> VectorizedFunction: ...
@overload
def vectorize(
    signatures: str | list[Any] | tuple[Any, ...] | None = None, /, **options: Unpack[EvaluationOptions]
) -> Callable[[Function], VectorizedFunction]: ...
@shows_users_lines
def vectorize(
    function: Function | str | list[Any] | tuple[Any, ...] | None = None, /, **options: Unpack[EvaluationOptions]
) -> VectorizedFunction | Callable[[Function], VectorizedFunction]:
    """Compiles a function of numbers to a function of arrays, as Numba's decorator of that name does: `@vectorize`, or
    `@vectorize(["float64(float64, int64)"])`, or `@vectorize(threads=1)`.

    The function is called with arrays and numbers, which broadcast, and computes each element as the Python function
    computes it from numbers. It is not run: its source is read, and becomes one kernel for each combination of dtypes,
    as by `jit`. NumPy arrays as arguments give NumPy arrays; with an Array among them, the results are lazy Arrays.

    - Statements: assignments to names, also of tuples, `if`, `while`, `for` over a `range`, `break`, `continue`, `else`
      of loops, `return` anywhere, of one value or several. Everything else is refused, and so is the
      use of a name that some path to it does not assign.
    - Functions: `int`, `float`, `bool`, `abs`, `min`, `max`, `round`, `divmod`, `pow`, those of `math`, the element-wise
      ones of broadloom and NumPy, NumPy's dtypes as conversions, other vectorized functions, and Python functions that
      could be vectorized.
    - Dtypes follow from the arguments. Python's numbers take the dtype of what they are combined with, and so do the
      integers of `range`, `round` and `math.floor`. `int` and `float` give int64 and float64. A name that has several
      dtypes, in a loop or after a branch, has the one to which they promote.
    - A signature has the dtypes of the arguments, and may have the result's. The first is taken whose dtypes the
      arguments can be converted to safely.
    - Numbers and tuples outside of the function are constants, with the values that they have when a kernel is compiled.
    - Operations raise nothing, where Python's raise or have results beyond int64: the page on loops lists them. An
      iteration, branch or operand that an element does not reach raises nothing under `int_division="error"`.
      `while` is limited to a million iterations, as in `while_loop`.

    The options are those of `evaluate`, for calls with NumPy arrays. Raises VectorizeError, with the file, line and
    column, for what can't be compiled, and for a function without source in Python: when the function is decorated if
    syntax is to blame, and at the first call otherwise.

    >>> @bl.vectorize
    ... def steps(n):
    ...     count = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         count += 1
    ...     return count
    >>> steps(np.array([1, 6, 27]))
    array([  0,   8, 111])
    >>> @bl.vectorize(["float64(float64)"])
    ... def root(a):
    ...     x = a
    ...     for _ in range(100):
    ...         better = (x + a / x) / 2
    ...         if better == x:
    ...             break
    ...         x = better
    ...     return x
    >>> root(bl.asarray([4, 9]))
    Array([2., 3.], dtype=float64)
    """
    check_names("vectorize", options)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    # Raises an error for an invalid option.
    Kernel.parse("true", **given)
    if callable(function):
        return _made(function, None, given)
    signatures = None if function is None else _signatures(function)

    def decorate(function: Function) -> VectorizedFunction:
        return _made(function, signatures, given)

    return decorate


def _made(function: Function, signatures: Signatures | None, options: dict[str, Any]) -> VectorizedFunction:
    if not callable(function):
        raise TypeError(f"vectorize: `function` is {type(function).__name__}, expected a function")
    source = Source(function)
    if "out" in source.parameters:
        raise ValueError(f"{source.name} has a parameter `out`, which is the array that a call writes to")
    introduce()
    made = VectorizedFunction(Elements(source, signatures), (), options, inspect.signature(function), source.name)
    made.__wrapped__ = function
    return made


def _signatures(given: Any) -> Signatures:
    """Signatures as Numba writes them: a text or a tuple of dtypes, or several in a list."""
    several = given if isinstance(given, list) else [given]
    if not several:
        raise ValueError("vectorize: the list of signatures is empty; leave it out")
    return Signatures(tuple(_signature(one) for one in several))


def _signature(one: Any) -> OneSignature:
    if isinstance(one, tuple) and one:
        return OneSignature(tuple(_dtype(part, one) for part in one), None)
    if not isinstance(one, str):
        _refuse(one)
    result, bracket, rest = one.partition("(")
    arguments, closed, after = rest.rpartition(")")
    if not bracket or not closed or after.strip() or not arguments.strip():
        _refuse(one)
    to = _dtype(result.strip(), one) if result.strip() else None
    return OneSignature(tuple(_dtype(part.strip(), one) for part in arguments.split(",") if part.strip()), to)


def _dtype(given: Any, signature: Any) -> np.dtype[Any]:
    if isinstance(given, str):
        made = _DTYPES.get(given) or _SHORT.get(given)
    else:
        try:
            made = _DTYPES.get(np.dtype(given).name)
        except TypeError:
            made = None
    return _refuse(signature) if made is None else made


def _refuse(signature: Any) -> NoReturn:
    raise TypeError(
        f"vectorize: `function` is {signature!r:.60}, expected a function, or signatures: a text such as "
        f"'float64(float64, int64)', a tuple of the arguments' dtypes, or a list of them"
    )
