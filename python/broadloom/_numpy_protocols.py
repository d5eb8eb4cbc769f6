"""`__array_ufunc__` and `__array_function__`: NumPy's own functions accept our arrays and return such arrays.

A function that can be expressed becomes an expression with the dtype that NumPy gives it. For any other function, the
operands are evaluated and NumPy computes the result, so that no NumPy function is missing. Such results are arrays
again if the engine supports their dtype.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from broadloom import _core, _elementwise, _options, _ufuncs
from broadloom._array import Array, check_device
from broadloom._buffer import array_over
from broadloom._core import Handle
from broadloom._generated import elementwise
from broadloom._hints import ELSEWHERE
from broadloom._numpy_handlers import arguments_of, array, operand, reduced
from broadloom._numpy_manipulation import FUNCTIONS
from broadloom._numpy_reductions import REDUCED, cumulative, only_axis
from broadloom._operands import has_mask
from broadloom._registry import found, registered
from broadloom._signatures import fits, signature_of
from broadloom._tracing import known, name_of_numpys, refuse
from broadloom._ufuncs import BOOL, DTYPES, Casting, Unsupported, converted
from broadloom._views import read_only, view_by, view_of

_ACCUMULATED: dict[np.ufunc, str] = {np.add: "cumulative_sum", np.multiply: "cumulative_prod"}

#: Functions that modify their first argument.
_CHANGING = frozenset({np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis})

#: Functions whose results, one or a sequence, are views of their first argument in NumPy.
_VIEWS = frozenset(
    getattr(np, name)
    for name in (
        "array_split dsplit expand_dims flip fliplr flipud hsplit matrix_transpose moveaxis ravel real real_if_close reshape "
        "rollaxis rot90 split squeeze swapaxes transpose unstack vsplit"
    ).split()
)

#: Functions whose result can't be set in NumPy, or only so that several elements change.
_READ_ONLY = frozenset({np.broadcast_to, np.imag, np.lib.stride_tricks.sliding_window_view})

#: The maximum number of items in a list of arguments that are searched for arrays with NumPy's promotion.
_LOOKED_INTO = 1024

#: The maximum nesting of containers that are searched in arguments, which is NumPy's own limit.
_NESTING = 64


# Functions that NumPy computes.


def to_numpy(value: Any, depth: int = 0) -> Any:
    """The argument with every array in it evaluated."""
    if isinstance(value, Array):
        return np.asarray(value)
    if type(value) in (list, tuple) and depth < _NESTING:
        return type(value)(to_numpy(item, depth + 1) for item in value)
    if type(value) is dict and depth < _NESTING:
        return {key: to_numpy(item, depth + 1) for key, item in value.items()}
    return value


def from_numpy(value: Any, name: str, operands: list[np.ndarray]) -> Any:
    """Converts a result of a NumPy function: arrays and numbers of supported dtypes become our arrays, and everything else is
    kept. A view of an operand can't be set, since the place of its elements in the operand is not known."""
    if isinstance(value, np.ndarray | np.generic):
        is_plain = isinstance(value, np.generic) or type(value) is np.ndarray
        if not is_plain or value.dtype not in DTYPES:
            return value
        values = np.asarray(value)
        if values.base is None:
            return Array._of(_ufuncs.lend(values))
        made = Array._of(_options.evaluated(_ufuncs.lend(values)))
        return read_only(made, name) if any(np.may_share_memory(values, x) for x in operands) else made
    if isinstance(value, tuple | list):
        return _in_the_same(value, [from_numpy(item, name, operands) for item in value])
    return value


def _in_the_same(container: Any, items: Iterable[Any]) -> Any:
    """A list or tuple of the same class, which may have named fields, with other items."""
    return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)


def _by_numpy(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(x, Array) and x._handle.is_symbolic for x in (*args, *kwargs.values())):
        refuse(f"`{name_of_numpys(function)}`, which computes at once,", advice="call it outside of the function")
    given = to_numpy(args)
    operands = [x for x, old in zip(given, args, strict=True) if isinstance(old, Array)]
    return from_numpy(function(*given, **to_numpy(kwargs)), function.__name__, operands)


# Results that are written to `out`.


def _check_cast(made: np.dtype[Any], out: np.dtype[Any], casting: Casting) -> None:
    """Raises NumPy's TypeError if `out` can't take a result of this dtype."""
    if not np.can_cast(made, out, casting):
        raise TypeError(f"Cannot cast output from {made!r} to {out!r} with casting rule '{casting}'")


def _store(result: Any, out: Any, casting: Casting = "same_kind") -> Any:
    """Stores a result in `out`, converted as `casting` allows. NumPy memory is written in one pass, and one of our
    arrays takes the result as its expression. After an error or a cancelled run, the contents of `out` are unspecified."""
    made = array(result)
    if not isinstance(out, Array | np.ndarray):
        raise TypeError("return arrays must be of ArrayType")
    _check_cast(made.dtype, out.dtype, casting)
    if made.shape != out.shape:
        if made.ndim > len(out.shape):
            raise ValueError(f"the output has shape {out.shape}, the result {made.shape}")
        made = made.broadcast_to(known(out.shape))
    if isinstance(out, Array):
        out._overwrite(converted(made, out.dtype))
        return out
    try:
        _options.evaluate_into(converted(made, out.dtype), out)
    except (TypeError, ValueError):
        # The engine lacks the dtype, can't share the memory, or the array is read-only.
        np.copyto(out, _options.evaluated(made).to_numpy(), casting=casting)
    return out


# Universal functions.


def _is_known(value: Any) -> bool:
    """Whether an operand can be handled here. Otherwise, its class may have a protocol of its own, which comes next."""
    if isinstance(value, Array | np.generic | bool | int | float | complex | list | tuple):
        return True
    if isinstance(value, np.ndarray):
        return not has_mask(type(value))
    return not hasattr(type(value), "__array_ufunc__") and hasattr(value, "__array__")


@registered("array_ufunc")
def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `Array.__array_ufunc__`."""
    given = dict(kwargs)
    try:
        return _by_ufunc(ufunc, method, inputs, kwargs)
    except Exception as error:
        _refuse(error, f"{ufunc.__name__}.{method}" if method != "__call__" else ufunc.__name__, given, inputs)
        raise


def _refuse(error: Exception, name: str, arguments: dict[str, Any], operands: tuple[Any, ...] = ()) -> None:
    """Raises an error that names the function and the argument, if an argument is to blame for an error."""
    said = found("refusal_of_numpys")(error, name, arguments, operands)
    if said is not error:
        raise said from None


def _by_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if method == "__call__" and not kwargs:
        # PERF: most calls have no arguments besides operands.
        try:
            operands = tuple(map(operand, inputs))
            if not _options.by_numpy(*(x for x in operands if isinstance(x, Handle))):
                _check_by_standard(ufunc, inputs)
            made = _ufuncs.call(ufunc, operands)
        except Unsupported:
            pass
        else:
            return Array._of(made[0]) if len(made) == 1 else tuple(map(Array._of, made))
    out = kwargs.pop("out", None)
    outs = out if isinstance(out, tuple) else (out,) * (out is not None)
    unknown = [value for value in (*inputs, *outs) if value is not None and not _is_known(value)]
    if any(hasattr(type(value), "__array_ufunc__") for value in unknown):
        return NotImplemented
    if unknown:
        # No other class would be asked.
        raise TypeError(f"{ufunc.__name__} takes arrays and numbers, not {type(unknown[0]).__name__}")
    casting = kwargs.get("casting", "same_kind")
    if method == "at":
        return _at(ufunc, inputs)
    try:
        if method not in _METHODS:
            raise Unsupported
        made = _METHODS[method](ufunc, inputs, outs, dict(kwargs))
    except Unsupported:
        if method == "__call__" and "where" in kwargs:
            kwargs["out"] = (None,) * ufunc.nout  # NumPy warns of `where` without it.
        made = _by_numpy(getattr(ufunc, method), inputs, kwargs)
        made = _with_rule(made) if _has_rule(inputs) else made
        if kwargs.get("where", True) is not True and outs:
            made = _kept_elsewhere(made, outs, kwargs["where"], casting)
    several = made if isinstance(made, tuple) else (made,)
    if outs:
        several = tuple(
            _wrapped(x) if to is None else _store(_wrapped(x), to, casting) for x, to in zip(several, outs, strict=True)
        )
    else:
        several = tuple(_wrapped(x) for x in several)
    return several[0] if len(several) == 1 else several


def _check_by_standard(ufunc: np.ufunc, operands: tuple[Any, ...]) -> None:
    """Raises TypeError for operands that do not promote by the standard's rule. The namespace's function for the
    universal function checks them, so that an operator has the same rule whether the NumPy array is its left or its
    right operand."""
    function = _own(ufunc)
    if function is not None:
        function(*operands)


@cache
def _own(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function of the namespace that corresponds to a universal function; None if there is none."""
    for module in (elementwise, _elementwise):
        for name in module.__all__:
            if getattr(np, name, None) is ufunc:
                function: Callable[..., Any] = getattr(module, name)
                return function
    return None


def _wrapped(x: Any) -> Any:
    return Array._of(x) if isinstance(x, Handle) else x


def _call(ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    where, casting = kwargs.pop("where", True), kwargs.pop("casting", None)
    signature = kwargs.pop("signature", kwargs.pop("sig", None))
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("order", None), kwargs.pop("subok", None)
    if kwargs:
        raise Unsupported
    made = _ufuncs.call(ufunc, tuple(operand(x) for x in inputs), dtype, signature, casting)
    return made if where is True else _kept_elsewhere(made, outs, where, casting or "same_kind")


def _kept_elsewhere(made: Any, outs: tuple[Any, ...], where: Any, casting: Casting) -> tuple[Handle, ...]:
    """The results where the mask is true, in the dtype of `out`. Elsewhere the elements of `out` are kept; without
    `out`, where NumPy's elements would be uninitialised, they are zero."""
    mask = converted(array(where), BOOL)
    several = [array(x) for x in (made if isinstance(made, tuple) else (made,))]
    kept = []
    for i, x in enumerate(several):
        old = array(outs[i]) if outs and outs[i] is not None else Handle.full((), 0, x.dtype)
        _check_cast(x.dtype, old.dtype, casting)
        kept.append(_core.apply("where", mask, converted(x, old.dtype), old))
    return tuple(kept)


def _reduce(ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], kwargs: dict[str, Any]) -> Handle:
    name = REDUCED.get(ufunc)
    if name is None or len(inputs) != 1 or kwargs.keys() - {"axis", "dtype", "keepdims", "initial", "where"}:
        raise Unsupported
    return reduced(name, inputs[0], **{"axis": 0, "keepdims": False, **kwargs})


def _accumulate(ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], kwargs: dict[str, Any]) -> Handle:
    name = _ACCUMULATED.get(ufunc)
    if name is None or len(inputs) != 1 or kwargs.keys() - {"axis", "dtype"}:
        raise Unsupported
    x = array(inputs[0])
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    return cumulative(name, x, only_axis("accumulate", kwargs.get("axis", 0), x.ndim), kwargs.get("dtype"))


def _outer(ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if ufunc.nin != 2 or ufunc.signature is not None:
        raise Unsupported
    # NumPy converts numbers to arrays here, so they are not weakly typed.
    first, second = (array(x) for x in inputs)
    for _ in range(second.ndim):
        first = first.expand_dims(first.ndim)
    wrapped = tuple(_wrapped(x) for x in (first, second))
    return _call(ufunc, wrapped, outs, kwargs)


def _at(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> None:
    target, *rest = inputs
    if isinstance(target, Array):
        values = np.array(target)
        ufunc.at(values, *to_numpy(tuple(rest)))
        target._overwrite(_ufuncs.lend(values))
    else:
        ufunc.at(target, *to_numpy(tuple(rest)))


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}


# Functions.


@cache
def _before_out(function: Callable[..., Any]) -> int:
    """The number of positional arguments that a function in the table takes before `out`."""
    names = list(signature_of(function).parameters)
    return names.index("out") if "out" in names else sys.maxsize


def _built(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The result of a function in the table, and the argument `out`. Raises `Unsupported` also for arguments that the
    function in the table lacks."""
    try:
        # PERF: binding the arguments takes longer than the function itself.
        if "out" not in kwargs and len(args) <= _before_out(build):
            return build(*args, **kwargs), None
    except TypeError:
        # The TypeError is due to arguments that the function lacks, or to dtypes that NumPy rejects as well.
        if fits(build, args, kwargs):
            raise
        raise Unsupported from None
    if not fits(build, args, kwargs):
        raise Unsupported
    bound = signature_of(build).bind(*args, **kwargs)
    out = bound.arguments.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    return build(*bound.args, **bound.kwargs), out


@registered("array_function")
def array_function(function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `Array.__array_function__`. The results use NumPy's promotion if an argument does."""
    try:
        return _by_function(function, types, args, kwargs)
    except Exception as error:
        _refuse(error, function.__name__, arguments_of(function, args, kwargs))
        raise


def _by_function(function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    made = _made_by(function, types, args, kwargs)
    is_view = function in _VIEWS and not kwargs.get("copy")
    if is_view and args and isinstance(args[0], Array) and made is not args[0]:
        made = view_by(function, args, kwargs, made)
    elif function in _READ_ONLY and isinstance(made, Array):
        read_only(made, function.__name__)
    is_given = made is kwargs.get("out") or any(made is x for x in args)
    return made if is_given or not _has_rule(args) else _with_rule(made)


def _has_rule(x: Any) -> bool:
    """Whether an argument is an array that uses NumPy's promotion, or a list that contains one."""
    if isinstance(x, Array):
        return x._handle.by_numpy
    return type(x) in (list, tuple) and any(map(_has_rule, x[:_LOOKED_INTO]))


def _with_rule(x: Any) -> Any:
    """The result with NumPy's promotion."""
    if isinstance(x, Array) and not x._handle.by_numpy and not x._handle.is_symbolic:
        return x.promoting_by_numpy()
    if isinstance(x, list | tuple) and any(isinstance(item, Array) for item in x):
        return _in_the_same(x, map(_with_rule, x))
    return x


def _made_by(function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for kind in types:
        if not issubclass(kind, Array | np.ndarray) and hasattr(kind, "__array_function__"):
            return NotImplemented
        if has_mask(kind):
            return NotImplemented
    if function in _CHANGING and isinstance(args[0], Array):
        values = np.array(args[0])
        function(values, *to_numpy(args[1:]), **to_numpy(kwargs))
        args[0]._overwrite(_ufuncs.lend(values))
        return None
    # Most calls need no function of the modules that sort and search, which take a quarter of the time of the first call.
    build = FUNCTIONS.get(function) or found("search_of_numpy")(function)
    if build is not None:
        try:
            made, out = _built(build, args, kwargs)
        except Unsupported:
            pass
        else:
            return _wrapped_all(made) if out is None else _store(made, out)
    out = kwargs.get("out")
    if isinstance(out, Array):
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        return _store(_by_numpy(function, args, rest), out)
    return _by_numpy(function, args, kwargs)


# Methods of NumPy arrays that are not functions.


@registered("astype")
def astype(x: Array, dtype: np.dtype[Any], casting: Any, copy: bool, device: str | None) -> Any:
    """Implements `Array.astype`."""
    check_device(device)
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {dtype!r} according to the rule '{casting}'")
    if dtype not in DTYPES:
        return np.asarray(x).astype(dtype)
    if dtype == x.dtype and not copy:
        return x
    return Array._of(converted(x._operand(), dtype))


@registered("view")
def view(x: Array, dtype: Any) -> Any:
    """Implements `Array.view`."""
    values = np.asarray(x)
    made = values.view() if dtype is None else values.view(dtype)
    is_class = isinstance(dtype, type) and issubclass(dtype, np.ndarray)
    if is_class or made.dtype not in DTYPES:
        return made
    if made.dtype.itemsize != values.dtype.itemsize:
        return read_only(array_over(made), "view")
    return view_of(x, array_over(made), lambda memory: memory.view(made.dtype))


def _wrapped_all(made: Any) -> Any:
    if isinstance(made, Handle):
        return Array._of(made)
    return _in_the_same(made, map(_wrapped, made)) if isinstance(made, list | tuple) else made


@registered("of_numpy")
def of_numpy(name: str) -> Any:
    """A NumPy function that accepts our arrays, for the namespace; or the module `numpy.lib`, which contains more
    functions. AttributeError for any other name."""
    if name == "lib":
        return np.lib
    function = getattr(np, name, None)
    if not isinstance(function, np.ufunc | type(np.sum)):
        advice = ELSEWHERE.get(name)
        if advice is None and name in np.__all__ and callable(function):
            advice = f"numpy.{name} is NumPy's alone; see asarray"
        shown = f"; {advice}" if advice else ""
        raise AttributeError(f"module 'broadloom' has no attribute {name!r}{shown}")
    return function


@registered("names_of_numpy")
def names_of_numpy() -> list[str]:
    """The names of the NumPy functions in the namespace."""
    kinds = (np.ufunc, type(np.sum))
    return ["lib", *(name for name in np.__all__ if isinstance(getattr(np, name), kinds))]
