"""Loops of elements and recurrences along an axis, for `compare.py --group loops`.

Each row is computed by `while_loop`, `fori_loop` or `scan`, and a loop of elements by `vectorize`, too. The peers are
Numba, whose decorator `vectorize` compiles the same Python functions, `scipy.signal.lfilter`, and the loops of
`recurrences.c`: one element at a time, and vectors of AVX2. All of them perform the same operations in the same order,
and round each. So results, among them the numbers of iterations, are compared bit for bit, except volatilities, whose
functions come from several libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from loops import C_TYPES, compiled_by_gcc, run_in_c
from workloads import Workload

Run = Callable[[], np.ndarray]
Function = Callable[..., Any]
#: A type such as float or numpy.float32, which makes the constants of a function. With Python's floats, Numba would
#: compute float32 in float64.
Number = Callable[[float], Any]

#: The maximum number of iterations of a point of the Mandelbrot set, and of Newton's method for a volatility.
LIMIT = 1000
STEPS = 50
ADDITIONS = 100
#: A low-pass filter of the second order at a tenth of the Nyquist frequency, by `scipy.signal.butter(2, 0.1)`.
B0, B1, B2 = 0.020083365564211236, 0.04016673112842247, 0.020083365564211236
A1, A2 = -1.5610180758007182, 0.6413515380575631
#: The interest rate, the factor 1/√(2π) of the normal distribution's density, and √½. The spot price is 100.
RATE = 0.02
DENSITY = 0.3989422804014327
ROOT_OF_HALF = 0.7071067811865476
#: The names of constants that the source in C is given.
CONSTANTS = ("LIMIT", "STEPS", "ADDITIONS", "B0", "B1", "B2", "A1", "A2", "RATE", "DENSITY", "ROOT_OF_HALF")
SOURCE = Path(__file__).parent / "recurrences.c"


@dataclass(frozen=True)
class Aim:
    """The speed that broadloom should have at least, relative to the fastest of some peers."""

    ratio: float
    peers: tuple[str, ...]
    dtypes: tuple[str, ...] = ("float32", "float64")


@dataclass(frozen=True, kw_only=True)
class Recurrence(Workload):
    """A computation that repeats a step. Its name is that of its function in C; the function with vectors, if there is
    one, has `_vectors` behind it."""

    #: The computation as a function of arrays, with the functions of a namespace.
    loop: Callable[[Any], Function]
    #: The computation as a Python function of numbers. None for a recurrence along an axis.
    numbers: Callable[[Number], Function] | None = None
    #: A recurrence as the loops that Numba compiles: a function of the input and of the array to write to.
    along: Function | None = None
    #: The coefficients of a filter, for `scipy.signal.lfilter`.
    coefficients: tuple[Sequence[float], Sequence[float]] | None = None
    #: Whether the result is a number of iterations.
    counts: bool = False
    aims: tuple[Aim, ...] = ()

    def memory(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """An array for the result."""
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        return np.empty(shape, np.int64 if self.counts else arrays[0].dtype)


# The rows: arrays, a function of numbers, a loop of broadloom, and loops for Numba.


def _plane(dtype: np.dtype[Any], shape: tuple[int, int]) -> Sequence[np.ndarray]:
    """The coordinates of the picture of the Mandelbrot set: a row and a column."""
    rows, columns = shape
    x, y = (2.5 * np.arange(n) / n for n in (columns, rows))
    return [(x - 2.0).astype(dtype), (y - 1.25).astype(dtype)[:, None]]


def _escape(number: Number) -> Function:
    zero, four = number(0), number(4)

    def escape(cx: Any, cy: Any) -> Any:
        x = y = zero
        n = 0
        while n < LIMIT and x * x + y * y <= four:
            # The product of 2 and x*y, which Numba would compute in float64.
            xy = x * y
            x, y = x * x - y * y + cx, xy + xy + cy
            n += 1
        return n

    return escape


def _mandelbrot(bl: Any) -> Function:
    def mandelbrot(cx: Any, cy: Any) -> Any:
        def body(z: Any) -> Any:
            x, y = z
            return x * x - y * y + cx, 2 * x * y + cy

        _, n = bl.while_loop(lambda z: z[0] * z[0] + z[1] * z[1] <= 4, body, (0.0, 0.0), limit=LIMIT, counts=True)
        return n

    return mandelbrot


def _integers(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    return [np.arange(1, n + 1).astype(dtype)]


def _root(number: Number) -> Function:
    small, half = number(1e-14), number(0.5)

    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > a * small:
            x = (x + a / x) * half
        return x

    return root


def _root_loop(bl: Any) -> Function:
    def root(a: Any) -> Any:
        return bl.while_loop(lambda x: abs(x * x - a) > a * 1e-14, lambda x: (x + a / x) * 0.5, a)

    return root


def _options(dtype: np.dtype[Any], n: int) -> Sequence[np.ndarray]:
    """Prices of call options by Black and Scholes, strikes, and years to maturity.

    The derivative of each price by its volatility is at least 5, so that a difference of 1e-10 between prices is less
    than 1e-10 between volatilities.
    """
    random = np.random.default_rng(0)
    strike, years, sigma = random.uniform(80, 120, n), random.uniform(0.5, 2, n), random.uniform(0.2, 0.6, n)
    root, discounted = np.sqrt(years), strike * np.exp(-RATE * years)
    d1 = np.log(100 / discounted) / (sigma * root) + 0.5 * sigma * root
    normal = [np.array([0.5 * math.erfc(-d * ROOT_OF_HALF) for d in ds]) for ds in (d1, d1 - sigma * root)]
    return [x.astype(dtype) for x in (100 * normal[0] - discounted * normal[1], strike, years)]


def _volatility(number: Number) -> Function:
    def volatility(price: Any, strike: Any, years: Any) -> Any:
        root, discounted = math.sqrt(years), strike * math.exp(-RATE * years)
        forward = math.log(100 / discounted)
        sigma = math.sqrt(2 * abs(forward) / years)  # From here, Newton's method converges.
        for _ in range(STEPS):
            d1 = forward / (sigma * root) + 0.5 * sigma * root
            d2 = d1 - sigma * root
            error = 50 * math.erfc(-d1 * ROOT_OF_HALF) - 0.5 * discounted * math.erfc(-d2 * ROOT_OF_HALF) - price
            if abs(error) < 1e-10:
                break
            sigma -= error / (100 * root * math.exp(-0.5 * d1 * d1) * DENSITY)
        return sigma

    return volatility


def _volatility_loop(bl: Any) -> Function:
    def volatility(price: Any, strike: Any, years: Any) -> Any:
        root, discounted = bl.sqrt(years), strike * bl.exp(-RATE * years)
        forward = bl.log(100 / discounted)

        def repriced(sigma: Any) -> tuple[Any, Any]:
            d1 = forward / (sigma * root) + 0.5 * sigma * root
            d2 = d1 - sigma * root
            error = 50 * bl.erfc(-d1 * ROOT_OF_HALF) - 0.5 * discounted * bl.erfc(-d2 * ROOT_OF_HALF) - price
            return error, 100 * root * bl.exp(-0.5 * d1 * d1) * DENSITY

        def body(sigma: Any) -> Any:
            error, slope = repriced(sigma)
            return sigma - error / slope

        begun = bl.sqrt(2 * abs(forward) / years)
        return bl.while_loop(lambda sigma: abs(repriced(sigma)[0]) >= 1e-10, body, begun, limit=STEPS)

    return volatility


def _additions(number: Number) -> Function:
    zero = number(0)

    def additions(a: Any) -> Any:
        total = zero
        for _ in range(ADDITIONS):
            total += a
        return total

    return additions


def _additions_loop(bl: Any) -> Function:
    return lambda a: bl.fori_loop(0, ADDITIONS, lambda _, total: total + a, 0.0)


def _readings(dtype: np.dtype[Any], shape: int | tuple[int, ...]) -> Sequence[np.ndarray]:
    return [np.random.default_rng(0).standard_normal(shape).astype(dtype)]


def _average_loop(bl: Any) -> Function:
    def step(mean: Any, x: Any) -> Any:
        mean = 0.9 * mean + 0.1 * x
        return mean, mean

    return lambda x: bl.scan(step, 0.0, x)[1]


def _average(x: np.ndarray, out: np.ndarray) -> None:
    mean = 0.0
    for i in range(x.size):
        mean = 0.9 * mean + 0.1 * x[i]
        out[i] = mean


def _average_columns(x: np.ndarray, out: np.ndarray) -> None:
    for j in range(x.shape[1]):
        out[0, j] = 0.1 * x[0, j]
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = 0.9 * out[i - 1, j] + 0.1 * x[i, j]


def _biquad_loop(bl: Any) -> Function:
    """A filter of two states, in the transposed direct form II."""

    def step(state: Any, x: Any) -> Any:
        first, second = state
        y = B0 * x + first
        return (second + B1 * x - A1 * y, B2 * x - A2 * y), y

    return lambda x: bl.scan(step, (0.0, 0.0), x)[1]


def _biquad(x: np.ndarray, out: np.ndarray) -> None:
    first = second = 0.0
    for i in range(x.size):
        y = B0 * x[i] + first
        first = second + B1 * x[i] - A1 * y
        second = B2 * x[i] - A2 * y
        out[i] = y


def _biquad_columns(x: np.ndarray, out: np.ndarray) -> None:
    first, second = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y = B0 * x[i, j] + first[j]
            first[j] = second[j] + B1 * x[i, j] - A1 * y
            second[j] = B2 * x[i, j] - A2 * y
            out[i, j] = y


def _row(name: str, size: str, inputs: Callable[..., Sequence[np.ndarray]], *aims: Aim, **row: Any) -> Recurrence:
    """A row of float64, unless it names other dtypes, at one size."""
    row = {"dtypes": ("float64",), "element": None, "has_text": False, "has_exact_bits": False} | row
    return Recurrence(name, "", inputs, group="loops", sizes=(size,), aims=aims, **row)


_NUMBA, _VECTORS = ("numba", "numba_svml"), ("gcc_vectors",)
_OF_THE_SET = Aim(5, _NUMBA, ("float32",)), Aim(3, _NUMBA, ("float64",)), Aim(0.8, _VECTORS)
_SET = {"loop": _mandelbrot, "numbers": _escape, "counts": True, "dtypes": ("float32", "float64")}
_AVERAGE = {"loop": _average_loop, "coefficients": ((0.1,), (1.0, -0.9))}
_BIQUAD = {"loop": _biquad_loop, "coefficients": ((B0, B1, B2), (1.0, A1, A2))}
#: The rows. The tolerance of volatilities is 1e-10, in ulp of the largest one.
RECURRENCES = (
    _row("mandelbrot", "1024x1024", _plane, *_OF_THE_SET, **_SET),
    _row("root", "1e6", _integers, Aim(3, _NUMBA), loop=_root_loop, numbers=_root),
    _row("volatility", "1e6", _options, Aim(3, _NUMBA), loop=_volatility_loop, numbers=_volatility, ulps=1 << 20),
    _row("additions", "1e6", _integers, Aim(1 / 1.2, _VECTORS), loop=_additions_loop, numbers=_additions),
    _row("average", "1e6", _readings, Aim(0.95, (*_NUMBA, "lfilter")), along=_average, **_AVERAGE),
    _row("average_columns", "10000x256", _readings, Aim(0.9, _NUMBA), along=_average_columns, **_AVERAGE),
    _row("biquad", "1e6", _readings, Aim(0.9, _NUMBA), along=_biquad, **_BIQUAD),
    _row("biquad_columns", "10000x256", _readings, Aim(0.9, _NUMBA), along=_biquad_columns, **_BIQUAD),
)


def in_c(
    given: Recurrence, arrays: Sequence[np.ndarray], out: np.ndarray, flags: Sequence[str], kind: str = ""
) -> Run | None:
    """The loop of `recurrences.c`, which is given the type and this module's constants. None if it has no such kind."""
    constants = {"T": C_TYPES[arrays[0].dtype.name]} | {
        name: value for name, value in globals().items() if name in CONSTANTS
    }
    library = compiled_by_gcc(SOURCE.read_text(), [*flags, *(f"-D{name}={value}" for name, value in constants.items())])
    loop = getattr(library, given.name + kind, None)
    return loop and run_in_c(loop, arrays, out)


def by_numba(given: Recurrence, arrays: Sequence[np.ndarray], out: np.ndarray) -> Run:
    """The loop compiled by Numba on one thread: by `vectorize`, or as loops along the axis by `njit`."""
    import numba

    if given.along is not None:
        loops = numba.njit(error_model="numpy")(given.along)

        def run() -> np.ndarray:
            loops(*arrays, out)
            return out

        return run
    assert given.numbers is not None
    signature = f"{out.dtype}({', '.join(x.dtype.name for x in arrays)})"
    compiled = numba.vectorize([signature])(given.numbers(arrays[0].dtype.type))
    return lambda: compiled(*arrays, out=out)


def by_lfilter(given: Recurrence, arrays: Sequence[np.ndarray], out: np.ndarray) -> Run | None:
    """The filter by SciPy, which allocates its results. None if the row is no filter."""
    if given.coefficients is None:
        return None
    from scipy.signal import lfilter

    (x,), (b, a) = arrays, given.coefficients
    return lambda: lfilter(b, a, x, axis=0)
