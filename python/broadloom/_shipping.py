"""Pickling of kernels and of functions compiled by `jit`.

A kernel is pickled as its text and options. A function that can be imported is pickled as its name. Any other function
is pickled as the kernels traced so far, since its code and the names that it uses can't be found in the other process.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

from broadloom._core import Kernel
from broadloom._introductions import introduce
from broadloom._jit import JitFunction, jit
from broadloom._registry import registered
from broadloom._traces import Traced


def kernel_of_text(text: str, options: dict[str, Any]) -> Kernel:
    """Unpickles a kernel."""
    return Kernel.parse(text, **options)


def function_of_source(function: Callable[..., Any], static: tuple[str, ...], options: dict[str, Any]) -> JitFunction:
    """Unpickles a function from the Python function that it was compiled from."""
    return jit(function, static_argnames=static, **options)


def function_of_kernels(
    name: str,
    static: tuple[str, ...],
    options: dict[str, Any],
    signature: inspect.Signature | None,
    traced: list[Traced],
) -> JitFunction:
    """Unpickles a function from its kernels."""
    made = JitFunction(None, static, options, signature, name)
    made._shipped = tuple(traced)
    return made


def _found(module: str | None, name: str) -> Any:
    """The object that a qualified name in a module refers to, by pickle's rules."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _traces(function: JitFunction) -> list[Traced]:
    """The traces of a function, one for each signature and form of its calls."""
    return list({x.conditions: x for x in function._known()}.values())


@registered("pickled function")
def reduced(function: JitFunction) -> Any:
    """The data that a function compiled by `jit` is pickled as.

    Raises pickle.PicklingError if the function can't be imported and was not called yet.
    """
    static, source = tuple(sorted(function._static)), function._function
    if source is not None:
        module, name = getattr(source, "__module__", None), getattr(source, "__qualname__", "")
        found = _found(module, name)
        if found is function:
            return name
        if found is source:
            return function_of_source, (source, static, function._options)
    traced = _traces(function)
    if not traced:
        raise pickle.PicklingError(
            f"{function.__name__} can't be pickled: it can't be imported by its name, and no kernel of it was traced that could be "
            f"shipped instead; define it at the top of a module, or call it before"
        )
    return function_of_kernels, (function.__name__, static, function._options, _bare(function._signature), traced)


def reduced_by_value(function: JitFunction) -> Any:
    """The data for cloudpickle, which can pickle functions by their code: those of scripts and notebooks, and nested
    functions, which pickle would look up by a name that is missing in the other process."""
    source = function._function
    module, name = getattr(source, "__module__", None), getattr(source, "__qualname__", "")
    if source is None or (module != "__main__" and _found(module, name) is function):
        return reduced(function)
    return function_of_source, (source, tuple(sorted(function._static)), function._options)


@registered("token of function")
def token(function: JitFunction) -> Any:
    """A hash that identifies a function for Dask: equal for equal code and options, in every process."""
    from dask.tokenize import normalize_token

    introduce()
    source = function._function
    texts = None if source is not None else [one.kernel.text for one in _traces(function)]
    return normalize_token(("broadloom.jit", source, texts, sorted(function._static), function._options))


@registered("teach cloudpickle")
def teach_cloudpickle() -> None:
    """Makes cloudpickle, which Dask uses for functions, call `reduced_by_value`."""
    from cloudpickle import CloudPickler

    CloudPickler.dispatch_table[JitFunction] = reduced_by_value


def _bare(signature: inspect.Signature | None) -> inspect.Signature | None:
    """The signature without annotations and with placeholders for defaults, since both may be arbitrary objects."""
    if signature is None:
        return None
    bare = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None)
        for p in signature.parameters.values()
    ]
    return inspect.Signature(bare)
