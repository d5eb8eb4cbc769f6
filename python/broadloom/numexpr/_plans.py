"""Plans of texts: the Python code that the extension module calls for a new text, or for a new combination of dtypes
and ranks.

A plan contains the names of a text's variables and, for each combination, a compiled kernel, which `Builder` makes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import broadloom.numexpr._threads  # noqa: F401  (sets how many threads there are)
from broadloom._bounded import Bounded
from broadloom._core import Entry, Handle, Kernel, Plan
from broadloom.numexpr import _kinds, _nodes, _text
from broadloom.numexpr._kinds import DTYPES, Kind
from broadloom.numexpr._nodes import ExpressionNode
from broadloom.numexpr._translate import KeptDtypes, Translation, Value

#: An argument as the extension module describes it: `("array", dtype, dims)` or `("scalar", kind)`.
Argument = tuple[Any, ...]

#: The maximum number of plans in the cache.
MAX_PLANS: Final = 256

#: The plans of texts. The key is the text, which the extension module looks up here, or a tuple if some options are not
#: the defaults.
PLANS: Final[Bounded[str | tuple[Any, ...], Plan]] = Bounded(MAX_PLANS)

_SCALARS: Final = {"bool": np.dtype(np.bool_), "int": np.dtype(np.int64), "float": np.dtype(np.float64)}


def plan(ex: str, sanitize: bool | None, keep_dtypes: bool, disable_cache: bool, **options: Any) -> Plan:
    """The plan of a text, from the cache or new."""
    optimization = optimization_of(options)
    is_default = not keep_dtypes and optimization == "aggressive" and _text.sanitizes(sanitize)
    key = ex if is_default else (ex, _text.sanitizes(sanitize), keep_dtypes, optimization)
    if not disable_cache and isinstance(ex, str) and (known := PLANS.get(key)) is not None:
        return known
    root = _text.parse(ex, sanitize)
    names = _nodes.variables(root)
    translation = KeptDtypes() if keep_dtypes else Translation(optimization)
    made = Plan(names, Builder(root, names, translation), _nodes.is_elementwise(root))
    if not disable_cache:
        PLANS[key] = made
    return made


def optimization_of(options: dict[str, Any]) -> str:
    """The value of the keyword argument `optimization`. Raises `ValueError` for an unknown keyword or value."""
    known: dict[str, tuple[Any, ...]] = {
        "optimization": ("none", "moderate", "aggressive"),
        "truediv": (False, True, "auto"),
    }
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"Unknown keyword argument '{name}'")
        if value not in known[name]:
            raise ValueError(f"'{name}' must be one of {known[name]}")
    return str(options.get("optimization", "aggressive"))


class Builder:
    """Builds the kernels of a plan. `signature` fixes the kinds of the variables; without it, they follow from the
    values."""

    def __init__(
        self,
        root: ExpressionNode,
        names: list[str],
        translation: Translation,
        signature: dict[str, Kind] | None = None,
    ) -> None:
        self._root = root
        self._names = names
        self._translation = translation
        self._signature = signature

    def build(self, pattern: tuple[Argument, ...], out: np.dtype[Any] | None, threads: int, casting: str) -> Entry:
        """Builds the entry for a combination of arguments. Raises an error for the first cast that the rule does not
        allow."""
        inputs, value = self._translated(pattern)
        for source, target, what in self._casts(pattern, value, out):
            check_cast(source, target, casting, what)
        handle = value.of
        if not isinstance(handle, Handle):
            handle = Handle.full([], _kinds.converted(handle, value.kind), DTYPES[value.kind])
        if out is not None and handle.dtype != out:
            handle = handle.astype(out)
        kernel = Kernel([("result", handle)], inputs, threads=threads)
        return Entry(kernel, list(range(len(inputs))))

    def _translated(self, pattern: tuple[Argument, ...]) -> tuple[list[Handle], Value]:
        inputs: list[Handle] = []
        typed: dict[str, Handle] = {}
        for i, (name, argument) in enumerate(zip(self._names, pattern, strict=True)):
            handle = Handle.input(f"v{i}", _dtype(argument), list(argument[2]) if argument[0] == "array" else [])
            inputs.append(handle)
            typed[name] = handle if self._signature is None else handle.astype(DTYPES[self._signature[name]])
        return inputs, self._translation(self._root, typed)

    def _casts(
        self, pattern: tuple[Argument, ...], value: Value, out: np.dtype[Any] | None
    ) -> list[tuple[np.dtype[Any], np.dtype[Any], str]]:
        casts = []
        if not isinstance(self._translation, KeptDtypes):
            for i, (name, argument) in enumerate(zip(self._names, pattern, strict=True)):
                kind = _kinds.of_dtype(_dtype(argument)) if self._signature is None else self._signature[name]
                casts.append((_dtype(argument), DTYPES[kind], f"the variable {name} (operand {i + 1})"))
        if out is not None:
            result = value.of.dtype if isinstance(value.of, Handle) else DTYPES[value.kind]
            casts.append((result, out, "the operand 0"))
        return casts


def _dtype(argument: Argument) -> np.dtype[Any]:
    dtype: np.dtype[Any] = argument[1] if argument[0] == "array" else _SCALARS[argument[1]]
    return dtype


def check_cast(source: np.dtype[Any], target: np.dtype[Any], casting: Any, what: str) -> None:
    """Raises `TypeError` if a rule does not allow a cast."""
    if not np.can_cast(source, target, casting):
        raise TypeError(
            f"Iterator requested dtype could not be cast from {source!r} to {target!r}, {what} dtype, "
            f"according to the rule '{casting}'"
        )


def as_operand(value: Any, casting: str) -> np.ndarray:
    """The value of a variable as an array whose memory can be shared: aligned, in native byte order, and with a
    supported dtype.

    >>> as_operand([1, 2], "safe")
    array([1, 2])
    """
    array = np.asarray(value)
    kind = _kinds.of_dtype(array.dtype)
    dtype = array.dtype.newbyteorder("=")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        dtype = DTYPES[kind]
    check_cast(array.dtype, dtype, casting, "an operand")
    size = dtype.itemsize
    is_aligned = array.flags.aligned and all(stride % size == 0 for stride in array.strides)
    if array.dtype == dtype and array.dtype.isnative and is_aligned:
        return array
    return np.array(array, dtype=dtype, order="K", copy=True)


def copy_to(out: np.ndarray, result: np.ndarray, casting: Any) -> None:
    """Copies a result to an array to whose shape it broadcasts. Raises `TypeError` for a cast that is not allowed, and
    `ValueError` for a shape that does not fit."""
    if out.dtype.hasobject:
        raise TypeError(f"out: the array has Python objects (dtype {out.dtype})")
    check_cast(result.dtype, out.dtype, casting, "the operand 0")
    np.copyto(out, result, casting=casting)
