"""Messages about arguments that a function does not take: they name the function, the argument, and what it takes.

Nothing is checked beforehand. When a call has failed, its arguments are compared with the annotations of the function's
signature. If one does not fit, the error that the user sees is about that argument. It would otherwise be about a step
inside the function, such as `'str' object cannot be interpreted as an integer`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from operator import index
from typing import Any, ForwardRef

import numpy as np

from broadloom import _options
from broadloom._array import Array
from broadloom._errors import Error, InternalError, NoValuesError
from broadloom._operators import OverArrays, accepted
from broadloom._options import EvaluationOptions
from broadloom._registry import registered
from broadloom._tracing import PACKAGE, TracerError

_NUMPY = os.path.dirname(np.__file__)

#: How errors print whose text is their only argument.
_PLAIN = (BaseException.__str__, AttributeError.__str__)

#: The types of arguments of NumPy's functions, by their names, and of results.
_NUMPYS = {
    "a_max": "Array | Number | None",
    "a_min": "Array | Number | None",
    "axes": "int | tuple[int, ...] | None",
    "axis": "int | tuple[int, ...] | None",
    "axis1": "int",
    "axis2": "int",
    "casting": "Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe']",
    "correction": "Number",
    "ddof": "Number",
    "decimals": "int",
    "destination": "int | tuple[int, ...]",
    "dtype": "DTypeLike | None",
    "indices": "int | Array",
    "initial": "Number | None",
    "k": "int",
    "keepdims": "bool",
    "max": "Array | Number | None",
    "method": (
        "Literal['linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf', 'averaged_inverted_cdf', "
        "'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased', 'normal_unbiased']"
    ),
    "min": "Array | Number | None",
    "minlength": "int",
    "n": "int | None",
    "nan": "Number",
    "neginf": "Number | None",
    "out": "Out | None",
    "period": "Number | None",
    "posinf": "Number | None",
    "range": "tuple[float, float] | None",
    "repeats": "int | Array",
    "reps": "int | tuple[int, ...]",
    "shape": "int | tuple[int, ...] | None",
    "shift": "int | tuple[int, ...]",
    "side": "Literal['left', 'right']",
    "sorter": "Array | None",
    "source": "int | tuple[int, ...]",
    "weights": "Array | None",
    "where": "Array | bool",
    "window_shape": "int | tuple[int, ...]",
} | dict.fromkeys(
    (
        "a append ar1 ar2 arr atol b condition default element fill_value fp mean prepend q rtol test_elements v values x x1 x2 xp y"
    ).split(),
    "Array | Number",
)
#: In these functions a name has another meaning, or only in them it has this one.
_NUMPYS_IN: dict[tuple[str, str], str] = {
    ("argsort", "order"): "None",
    ("argsort", "kind"): "Literal['quicksort', 'mergesort', 'heapsort', 'stable'] | None",
    ("delete", "obj"): "int | slice | Array",
    ("digitize", "bins"): "Array",
    ("digitize", "right"): "bool",
    ("histogram", "bins"): (
        "int | Array | Literal['auto', 'doane', 'fd', 'rice', 'scott', 'sqrt', 'stone', 'sturges']"
    ),
    ("interp", "left"): "Number | None",
    ("interp", "right"): "Number | None",
    ("isin", "kind"): "Literal['sort', 'table'] | None",
    ("ravel", "order"): "Literal['C', 'F', 'A', 'K']",
    ("rollaxis", "start"): "int",
    ("sort", "order"): "None",
    ("sort", "kind"): "Literal['quicksort', 'mergesort', 'heapsort', 'stable'] | None",
    ("take", "mode"): "Literal['raise', 'wrap', 'clip']",
    ("tensordot", "axes"): "Any",
}


def _is_int(value: Any) -> bool:
    try:
        index(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic)) or getattr(value, "ndim", None) == 0


def _is_operand(value: Any) -> bool:
    try:
        return isinstance(value, OverArrays) or accepted(value) is not NotImplemented
    except (TypeError, ValueError):
        return isinstance(value, (np.ndarray, np.generic))


def _is_dtype(value: Any) -> bool:
    if value is None or isinstance(value, (dict, list, tuple)):
        return False
    try:
        return np.dtype(value).kind in "biufc"
    except TypeError:
        return False


def _equals(one: str | int, value: Any) -> bool:
    return isinstance(value, type(one)) and value == one


def _is_out(value: Any) -> bool:
    several = value if isinstance(value, (list, tuple)) else (value,)
    return all(one is None or isinstance(one, (Array, np.ndarray)) for one in several)


#: For each part of an annotation: the words for it, and a function that tells whether it describes a value. Parts that are
#: not in the table describe every value.
_PARTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Array": ("an array", _is_operand),
    "DTypeLike": ("a dtype of numbers", _is_dtype),
    "NullableArray": ("", lambda value: isinstance(value, OverArrays) or hasattr(value, "__arrow_c_stream__")),
    "NoValue": ("", lambda value: value is np._NoValue),
    "None": ("None", lambda value: value is None),
    "Number": ("a number", _is_number),
    "Out": ("an array", _is_out),
    "bool": ("True or False", lambda value: isinstance(value, (bool, int, np.bool))),
    "float": ("a number", _is_number),
    "int": ("an int", _is_int),
    "ndarray": ("an array", lambda value: isinstance(value, np.ndarray)),
    "slice": ("a slice", lambda value: isinstance(value, slice)),
    "str": ("a str", lambda value: isinstance(value, str)),
    "tuple": ("a tuple", lambda value: isinstance(value, (tuple, list))),
}
#: The words for several values of a part.
_SEVERAL = {"int": "ints", "Array": "arrays", "float": "numbers"}


def _parts(annotation: str, names: dict[str, Any]) -> list[tuple[str, Callable[[Any], bool]]]:
    """The parts of an annotation, with their words and functions. `names` contains the module's names for types."""
    found = []
    parts = re.split(r" \| (?![^\[]*\])", re.sub(r"\b\w+\.(?=\w)", "", annotation))
    for part in parts:
        of_several = re.fullmatch(r"(tuple|Sequence)\[(\w+)(?:, \.\.\.)?\]", part)
        if part == "Array" and "int" in parts:
            found.append(("an array", lambda value: _is_operand(value) and not isinstance(value, float)))
        elif part in _PARTS:
            found.append(_PARTS[part])
        elif of_several and of_several[2] in _SEVERAL:
            found.append(_several(*of_several.groups()))
        elif part.startswith("tuple["):
            found.append(_PARTS["tuple"])
        elif part.startswith("Callable["):
            found.append(("a function", callable))
        elif part.startswith("Literal["):
            values = ast.literal_eval(f"[{part[len('Literal[') : -1]}]")
            found += [(repr(value), functools.partial(_equals, value)) for value in values]
        elif part in names and not isinstance(names[part], type):
            found += _parts(str(names[part]), names)
        elif part in names and names[part].__name__ in _PARTS:
            found.append(_PARTS[names[part].__name__])
        else:
            found.append(("", lambda value: True))
    return found


def _several(kind: str, part: str) -> tuple[str, Callable[[Any], bool]]:
    each = _PARTS[part][1]

    def fits(value: Any) -> bool:
        is_several = isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))
        return is_several and not (isinstance(value, Array) and value.ndim == 0) and all(map(each, value))

    return f"a {kind.lower()} of {_SEVERAL[part]}", fits


def _listed(words: Iterable[str]) -> str:
    *rest, last = dict.fromkeys(filter(None, words))
    return f"{', '.join(rest)} or {last}" if rest else last


def _shown(value: Any) -> str:
    if isinstance(value, (Array, np.ndarray)):
        return f"an array of {value.dtype} with {value.ndim} axes"
    text = repr(value)
    if "\n" in text:
        return f"of the class {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unfitting(parameter: inspect.Parameter, value: Any, names: dict[str, Any]) -> str | None:
    """What is wrong with an argument; None if it fits its annotation."""
    annotation = parameter.annotation
    if annotation is parameter.empty or parameter.name == "out":
        annotation = _NUMPYS.get(parameter.name, "Any")
    parts = _parts(str(annotation), names)
    for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
        if one is not parameter.default and not any(fits(one) for _, fits in parts):
            advice = "; see asarray" if "Array" in annotation else ""
            return f"`{parameter.name}` is {_shown(one)}, expected {_listed(words for words, _ in parts)}{advice}"
    return None


def _unfitting_option(options: dict[str, Any], said: str) -> str | None:
    """What is wrong with keywords that are options of an evaluation; None if they fit. `said` is the message of an error, which
    may say it."""
    for name, annotation in EvaluationOptions.__annotations__.items():
        if name not in options:
            continue
        value = options[name]
        text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)
        wrong = _unfitting(_parameter(name, text), value, vars(_options))
        if wrong is None and "bool" in text and not isinstance(value, bool | None):
            wrong = f"`{name}` is {_shown(value)}, expected True or False"
        if wrong is not None:
            return said if re.match(rf"{name} is .*, expected ", said) else wrong
    return None


def _unbound(signature: inspect.Signature, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What is wrong with a call that does not fit a signature. `names` are those of all arguments that are taken."""
    listed = f"the arguments are {', '.join(names)}"
    for name in kwargs:
        if name not in names:
            return f"there is no argument `{name}`; {listed}"
    parameters = list(signature.parameters.values())
    missing = [p.name for p in parameters[len(args) :] if p.default is p.empty and p.name not in kwargs]
    if missing:
        return f"the argument `{missing[0]}` is missing; {listed}"
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in kwargs]
    if by_position:
        return f"the argument `{by_position[0]}` is passed by its position, without its name"
    return f"the call has more arguments by position than the function takes, or an argument twice; {listed}"


def _is_of_others(error: Exception) -> bool:
    """Whether code of others raised an error, which a function called, such as a callback or a method of an operand."""
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith((PACKAGE, _NUMPY)):
            return True
        at = at.tb_next
    return False


def _is_about_arguments(error: Exception) -> bool:
    """Whether an argument may be to blame for an error, by its class and by the code that raised it."""
    is_about_values = isinstance(error, (TracerError, InternalError, NoValuesError))
    may_be = isinstance(error, (TypeError, ValueError, AttributeError, LookupError))
    return may_be and not is_about_values and not _is_of_others(error)


@registered("refusal")
def refusal(
    error: Exception,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    of_numpys: Callable[..., Any] | None = None,
) -> Exception:
    """The error of a failed call, or one about an argument that the function does not take. `of_numpys` is a function of
    NumPy whose arguments are taken too."""
    if not _is_about_arguments(error):
        return error
    name, own = function.__name__, inspect.signature(function)
    signatures = [own]
    if of_numpys is not None:
        try:
            signatures.append(inspect.signature(of_numpys))
        except ValueError:
            return error
    wrong = None
    for signature in signatures:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            continue
        # None is a null among arrays with nulls, whose functions have their own words for it.
        has_nulls = any(isinstance(value, OverArrays) for value in bound.arguments.values())
        for argument, value in bound.arguments.items():
            if value is None and has_nulls:
                continue
            parameter = own.parameters.get(argument, signature.parameters[argument])
            if parameter.kind is parameter.VAR_KEYWORD:
                wrong = wrong or _unfitting_option(value, str(error))
            else:
                wrong = wrong or _unfitting(parameter, value, function.__globals__)
        break
    else:
        if any(p.kind is p.VAR_KEYWORD for p in own.parameters.values()):
            return error
        # The names of NumPy's operands differ from the standard's.
        of_numpy = [name for name, p in signatures[-1].parameters.items() if p.default is not p.empty]
        taken = [argument for argument in (*own.parameters, *of_numpy) if argument != "self"]
        wrong = _unbound(own, list(dict.fromkeys(taken)), args, kwargs)
    if wrong is not None:
        return (ValueError if isinstance(error, ValueError) else TypeError)(f"{name}: {wrong}")
    is_named = re.search(rf"\b{name}\b", str(error)) or (isinstance(error, Error) and error.operation is not None)
    if not is_named and type(error).__str__ in _PLAIN and len(error.args) == 1:
        error.args = (f"{name}: {error}",)
    return error


@registered("refusal_of_numpys")
def refusal_of_numpys(error: Exception, name: str, arguments: dict[str, Any], operands: tuple[Any, ...]) -> Exception:
    """The error of a failed call of a NumPy function with our arrays, or one about an argument that the function does not
    take: one in the table of NumPy's arguments, or an operand of a universal function. `arguments` are those that the call
    gives, by their names."""
    if not _is_about_arguments(error):
        return error
    named = [
        (argument, value, _NUMPYS_IN.get((name, argument)) or _NUMPYS.get(argument, "Any"))
        for argument, value in arguments.items()
    ]
    numbered = [f"x{number}" for number in range(1, len(operands) + 1)] if len(operands) > 1 else ["x"]
    named += [(argument, value, "Array | Number") for argument, value in zip(numbered, operands)]
    found = (_unfitting(_parameter(argument, annotation), value, {}) for argument, value, annotation in named)
    wrong = next(filter(None, found), None)
    axis = arguments.get("axis")
    if wrong is None and isinstance(axis, list) and type(error) is TypeError:
        # Some of NumPy's functions take a list of axes, so that it is to blame only if nothing else is.
        wrong = f"`axis` is {_shown(axis)}, expected an int, a tuple of ints or None"
    if wrong is not None:
        return (ValueError if isinstance(error, ValueError) else TypeError)(f"{name}: {wrong}")
    return error


def _parameter(name: str, annotation: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
