"""A workload as a loop over elements: as a function for Numba, and in C.

Numba and a C compiler are fastest with loops. These loops write into memory that is reused, as broadloom's do. Literals
have the dtype of the operands in both languages, since a float64 literal would convert the operands that it is combined
with to float64.
"""

from __future__ import annotations

import ast
import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from workloads import Workload

#: The names of types in C.
C_TYPES = {
    **{"float32": "float", "float64": "double", "bool": "bool"},
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Gt: ">", ast.NotEq: "!="}


class _Writer:
    """Writes expressions and statements of a loop's body, in one of two languages."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def number(self, value: float) -> str:
        raise NotImplementedError

    def choice(self, condition: str, yes: str, no: str) -> str:
        raise NotImplementedError

    def cast(self, value: str, dtype: str) -> str:
        raise NotImplementedError

    def call(self, function: str, arguments: list[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value):
                return self.number(value)
            case ast.Name(name):
                return name
            case ast.UnaryOp(ast.USub(), ast.Constant(value)):
                return self.number(-value)
            case ast.UnaryOp(ast.USub(), operand):
                return f"(-{self.expression(operand)})"
            case ast.BinOp(base, ast.Pow(), ast.Constant(2)):
                inner = self.expression(base)
                return self.call("square", [inner])
            case ast.BinOp(left, ast.Pow() | ast.FloorDiv() | ast.Mod() as op, right):
                name = {ast.Pow: "pow", ast.FloorDiv: "floor_divide", ast.Mod: "remainder_of"}[type(op)]
                return self.call(name, [self.expression(left), self.expression(right)])
            case ast.BinOp(left, op, right):
                return f"({self.expression(left)} {_OPERATORS[type(op)]} {self.expression(right)})"
            case ast.Compare(left, [op], [right]):
                return f"({self.expression(left)} {_OPERATORS[type(op)]} {self.expression(right)})"
            case ast.IfExp(test, body, orelse):
                return self.choice(*(self.expression(part) for part in (test, body, orelse)))
            case ast.Call(ast.Name("where"), args):
                return self.choice(*map(self.expression, args))
            case ast.Call(ast.Name("astype"), [value, ast.Name(dtype)]):
                return self.cast(self.expression(value), dtype)
            case ast.Call(ast.Name(function), args):
                return self.call(function, list(map(self.expression, args)))
        raise ValueError(f"no translation of {ast.unparse(node)}")


class _Python(_Writer):
    def number(self, value: float) -> str:
        return f"T({value})"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({yes} if {condition} else {no})"

    def cast(self, value: str, dtype: str) -> str:
        return f"{dtype}({value})"

    def call(self, function: str, arguments: list[str]) -> str:
        match function, arguments:
            case "square", [x]:
                return f"({x}*{x})"
            case "pow", [x, y]:
                return f"({x}**{y})"
            case "floor_divide", [x, y]:
                return f"({x}//{y})"
            case "remainder_of", [x, y]:
                return f"({x}%{y})"
        return super().call(function, arguments)


class _C(_Writer):
    def number(self, value: float) -> str:
        return f"((T){value})" if self.dtype.kind == "f" else str(value)

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def cast(self, value: str, dtype: str) -> str:
        return f"(({C_TYPES[dtype]}){value})"

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "floor_divide" and self.dtype.kind == "u":
            return f"({arguments[0]} / {arguments[1]})"
        return super().call(function, arguments)


def _body(workload: Workload, writer: _Writer, assign: Callable[[str, str], list[str]], end: str) -> list[str]:
    """The statements of the body, each on a line, except the statements that load."""
    lines: list[str] = []
    for statement in ast.parse(_as_function(workload.of_elements or "")).body[0].body:  # type: ignore[attr-defined]
        match statement:
            case ast.Assign([ast.Name(name)], value):
                lines += assign(name, writer.expression(value))
            case ast.For(_, ast.Call(_, [ast.Constant(times)]), [ast.Assign([ast.Name(name)], value)]):
                lines += times * [f"{name} = {writer.expression(value)}{end}"]
            case ast.Return(value) if value is not None:
                lines.append(f"result = {writer.expression(value)}{end}")
            case other:
                raise ValueError(f"no translation of {ast.unparse(other)}")
    return lines


def _as_function(body: str) -> str:
    return "def element():\n" + "".join(f"    {line}\n" for line in body.splitlines())


def _places(workload: Workload, count: int) -> list[str]:
    return list(workload.places or ["i"] * count)


def computed_in(arrays: Sequence[np.ndarray]) -> np.dtype[Any]:
    """The dtype of a loop's literals and variables: that of the float operands, or of all operands if none is a float."""
    floats = [x.dtype for x in arrays if x.dtype.kind == "f"]
    return np.result_type(*(floats or [arrays[0].dtype]))


def numba_loop(
    workload: Workload, arrays: Sequence[np.ndarray], out: np.ndarray, threads: int
) -> Callable[[], np.ndarray]:
    """The loop as a Numba function. Its outer loop is parallel if more than one thread is requested."""
    import math

    import numba

    names, places = "abc"[: len(arrays)], _places(workload, len(arrays))
    dtype = computed_in(arrays)
    lines = _body(workload, _Python(dtype), lambda name, value: [f"{name} = {value}"], "")
    loads = [f"{name} = {name}_in[{place}]" for name, place in zip(names, places)]
    heads = ["for i in prange(out.shape[0]):"] + (["    for j in range(out.shape[1]):"] if out.ndim == 2 else [])
    place = "i, j" if out.ndim == 2 else "i"
    indent = "    " * (1 + len(heads))
    text = f"def loop({', '.join(f'{name}_in' for name in names)}, out):\n    n = out.shape[0]\n"
    text += "".join(f"    {head}\n" for head in heads)
    text += "".join(f"{indent}{line}\n" for line in [*loads, *lines, f"out[{place}] = result"])
    scope: dict[str, Any] = {name: getattr(math, name) for name in ("sin", "cos", "exp", "log1p", "tanh")}
    scope |= {"prange": numba.prange if threads > 1 else range, "T": dtype.type}
    scope |= {name: getattr(np, name) for name in ("uint8", "uint16", "float32")}
    exec(text, scope)
    numba.set_num_threads(threads)
    compiled = numba.njit(parallel=threads > 1, fastmath=False, error_model="numpy")(scope["loop"])

    def run() -> np.ndarray:
        compiled(*arrays, out)
        return out

    return run


def numba_fast_loop(
    loop: Callable[..., None], arrays: Sequence[np.ndarray], out: np.ndarray
) -> Callable[[], np.ndarray]:
    """The loops of a reduction, compiled by Numba with the permission to reorder and contract operations."""
    import numba

    compiled = numba.njit(fastmath=True, error_model="numpy")(loop)

    def run() -> np.ndarray:
        compiled(*arrays, out)
        return out

    return run


_HEAD = """
#include <math.h>
#include <tgmath.h>
#include <stdbool.h>
#include <stdint.h>
#define square(x) ((x)*(x))
static inline int32_t floor_divide(int32_t a, int32_t b) { int32_t q = a/b, r = a%b; return q - (r != 0 && (r < 0) != (b < 0)); }
static inline int32_t remainder_of(int32_t a, int32_t b) { int32_t r = a%b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }
"""


def c_source(workload: Workload, arrays: Sequence[np.ndarray], out: np.ndarray) -> str:
    """The loop in C, over one axis or over two. Its inputs are contiguous."""
    names, places = "abc"[: len(arrays)], _places(workload, len(arrays))
    dtype = computed_in(arrays)
    types = [C_TYPES[x.dtype.name] for x in arrays]
    declared = "T" if dtype.kind == "f" else "int32_t"
    lines = _body(workload, _C(dtype), lambda name, value: [f"{declared} {name} = {value};"], ";")
    lines[-1] = f"{C_TYPES[out.dtype.name]} {lines[-1]}"

    def at(place: str, x: np.ndarray) -> str:
        row, _, column = place.partition(", ")
        return f"({row})*{x.shape[1]}L + {column}" if column else row

    loads = [f"{t} {name} = {name}_in[{at(p, x)}];" for t, name, p, x in zip(types, names, places, arrays)]
    store = f"out[{at('i, j' if out.ndim == 2 else 'i', out)}] = result;"
    inner = " ".join([*loads, *lines, store])
    parameters = ", ".join(f"const {t} *restrict {name}_in" for t, name in zip(types, names))
    # In a loop that a user writes for short rows, such as rows of three, the number of columns is a constant.
    columns = str(out.shape[1]) if out.ndim == 2 and out.shape[1] < 10 else "columns"
    loop = f"for (long j = 0; j < {columns}; j++) {{ {inner} }}" if out.ndim == 2 else inner
    return (
        f"{_HEAD}\n#define T {C_TYPES[dtype.name]}\n"
        f"void loop({parameters}, {C_TYPES[out.dtype.name]} *restrict out, long n, long columns, int threads) {{\n"
        f"    #pragma omp parallel for num_threads(threads) if(threads > 1)\n"
        f"    for (long i = 0; i < n; i++) {{ {loop} }}\n}}\n"
    )


def compiled_by_gcc(source: str, flags: Sequence[str]) -> ctypes.CDLL:
    """The library that gcc makes of a source."""
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder, "loop.c"), Path(folder, "loop.so")
        path.write_text(source)
        command = ["gcc", "-O3", *flags, "-fopenmp", "-fPIC", "-shared", str(path), "-o", str(library), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))


def run_in_c(loop: Any, arrays: Sequence[np.ndarray], out: np.ndarray, threads: int = 1) -> Callable[[], np.ndarray]:
    """Calls a function of a library with the addresses of the arrays, the extents of the first and the last axis of
    `out`, and the number of threads."""
    # `run` keeps these arrays alive, since the loop contains only their addresses.
    kept = (*arrays, out)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in kept]
    extents = [ctypes.c_long(out.shape[0]), ctypes.c_long(out.shape[-1]), ctypes.c_int(threads)]

    def run() -> np.ndarray:
        loop(*pointers, *extents)
        return kept[-1]

    return run


def c_loop(
    workload: Workload, arrays: Sequence[np.ndarray], out: np.ndarray, threads: int, flags: Sequence[str]
) -> Callable[[], np.ndarray]:
    """The loop as gcc compiles it."""
    loop = compiled_by_gcc(c_source(workload, arrays, out), flags).loop
    return run_in_c(loop, arrays, out, threads)
