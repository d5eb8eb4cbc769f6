"""Tests NumPy's own functions on broadloom's arrays: the expected results are those for NumPy's arrays."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _numpy_protocols
from broadloom._core import Handle, Kernel
from broadloom._numpy_functions import FUNCTIONS
from broadloom._ufuncs import UFUNCS

DTYPES = ("?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8")
NUMBERS: dict[str, Any] = {"int": 3, "float": 1.5}
PLAIN_UFUNCS = [
    value for _, value in sorted(vars(np).items()) if isinstance(value, np.ufunc) and value.signature is None
]

Operand = Any


@pytest.fixture(autouse=True)
def _no_warnings_of_numpy() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def sample(dtype: str, shape: int | tuple[int, ...] = 7) -> np.ndarray:
    random = np.random.default_rng(7)
    to = np.dtype(dtype)
    if to.kind == "b":
        return random.random(shape) < 0.5
    if to.kind == "f":
        values = (random.standard_normal(shape) * 3).astype(to)
        if values.size:
            values.reshape(-1)[:1] = 0
        return values
    return random.integers(0, 12, shape).astype(to) - (to.type(3) if to.kind == "i" else to.type(0))


def shared(value: Any) -> Any:
    """The argument with its arrays replaced by broadloom's arrays."""
    if isinstance(value, np.ndarray | np.float64):
        return bl.asarray(np.asarray(value))
    if isinstance(value, list | tuple):
        return type(value)(map(shared, value))
    return value


def assert_same(ours: Any, theirs: Any, tolerance: float = 0.0) -> None:
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, tolerance)
        return
    if isinstance(theirs, np.ndarray | np.generic):
        own = isinstance(ours, bl.Array)
        assert own or theirs.dtype.kind in "cUO" or theirs.dtype == np.longdouble, type(ours)
        values = np.asarray(ours)
        assert values.dtype == theirs.dtype
        assert values.shape == theirs.shape
        if theirs.dtype.kind in "fc":
            np.testing.assert_allclose(values, theirs, rtol=tolerance, atol=0)
        else:
            np.testing.assert_array_equal(values, theirs)
        return
    assert type(ours) is type(theirs) and ours == theirs


def tolerance_of(*operands: Any) -> float:
    """Errors of functions are less than an ulp in broadloom, and several ulps in NumPy, the largest in float16."""
    return (
        4e-3 if any(getattr(x, "dtype", None) in (np.float16, np.bool, np.int8, np.uint8) for x in operands) else 3e-6
    )


@pytest.mark.parametrize("ufunc", PLAIN_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_a_universal_function_has_the_dtypes_and_values_of_numpy(ufunc: np.ufunc) -> None:
    kinds = (*DTYPES, *NUMBERS)
    for given in itertools.product(kinds, repeat=ufunc.nin):
        operands = [NUMBERS[kind] if kind in NUMBERS else sample(kind) for kind in given]
        if ufunc is np.power:
            operands[1] = np.abs(operands[1])
        if not any(isinstance(x, np.ndarray) for x in operands):
            continue
        try:
            theirs = ufunc(*operands)
        except TypeError:
            with pytest.raises(TypeError):
                ufunc(*map(shared, operands))
            continue
        assert_same(ufunc(*map(shared, operands)), theirs, tolerance_of(*operands))


X, Y, B, INTS = sample("f8", (3, 4)), sample("f4", (3, 4)), sample("?", (3, 4)), sample("i4", (3, 4))
U = sample("u1", (2, 3, 4))
N = np.where(sample("f8", (3, 4)) > 1, np.nan, X)
V = sample("f8", 5)
ZEROS = np.array([[0.0, -0.0, np.nan, 0.0], [1.0, np.copysign(np.nan, -1), -0.0, np.inf]])

#: The functions that are called, and their arguments, which are the same for broadloom and for NumPy.
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    *(
        (function, (x,), {**dims})
        for function in (np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std, np.count_nonzero)
        for x in (X, Y, B, INTS, U)
        for dims in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)})
    ),
    *(
        (function, (x,), {"axis": axis})
        for function in (np.argmax, np.argmin)
        for x in (X, B, INTS)
        for axis in (None, 1)
    ),
    *(
        (function, (x,), {"axis": axis})
        for function in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
        for x in (X, B, INTS)
        for axis in (None, 1)
    ),
    *((function, (N,), {"axis": axis}) for function in (np.nancumsum, np.nancumprod) for axis in (None, 0, 1)),
    *(
        (getattr(np, f"nan{name}"), (x,), {"axis": axis})
        for name in ("sum", "prod", "max", "min", "mean", "var", "std", "median", "argmax")
        for x in (X, N[:, :1], INTS)
        for axis in (None, 1)
        if name != "argmax" or x is not N
    ),
    (np.sum, (INTS,), {"dtype": np.float32}),
    (np.sum, (X,), {"where": B}),
    (np.sum, (X,), {"initial": 2.5}),
    (np.max, (X,), {"where": B, "initial": -100.0}),
    (np.max, (np.zeros((0, 3)),), {"axis": 1}),
    (np.max, (np.zeros(0),), {"initial": 3.0}),
    (np.mean, (INTS,), {"dtype": np.float32}),
    (np.mean, (X,), {"where": B}),
    (np.lib.stride_tricks.sliding_window_view, (X, 2), {"axis": 0}),
    (np.var, (X,), {"ddof": 1, "axis": 0}),
    (np.std, (X,), {"correction": 1, "axis": 0}),
    (np.ptp, (INTS,), {"axis": 0}),
    (np.where, (B, X, Y), {}),
    (np.where, (B, INTS, 2.5), {}),
    (np.where, (B, 1, 0), {}),
    (np.where, (INTS, X, 0), {}),
    (np.where, (B,), {}),
    (np.clip, (X, -1, 1), {}),
    (np.clip, (INTS, None, 4), {}),
    (np.clip, (INTS, 0.5, 4), {}),
    (np.clip, (Y, X, None), {}),
    (np.round, (X,), {}),
    (np.round, (X, 2), {}),
    (np.round, (X, -1), {}),
    (np.round, (INTS, 1), {}),
    (np.round, (INTS, -1), {}),
    (np.nan_to_num, (N,), {}),
    (np.nan_to_num, (np.array([np.inf, -np.inf, np.nan, 1.0]),), {"posinf": 5.0}),
    (np.isclose, (X, X + 1e-9), {}),
    (np.isclose, (N, N), {"equal_nan": True}),
    (np.isclose, (INTS, INTS + 1), {"atol": 1}),
    (np.isclose, (U, U + 1), {"atol": 1}),
    (np.isclose, (np.array([np.inf, -np.inf, np.inf, 1.0]), np.array([np.inf, np.inf, 1.0, np.inf])), {}),
    (np.allclose, (X, X), {}),
    (np.array_equal, (X, X), {}),
    (np.array_equal, (X, V), {}),
    (np.array_equal, (N, N), {"equal_nan": True}),
    (np.diff, (X,), {}),
    (np.diff, (X,), {"axis": 0}),
    (np.diff, (B,), {}),
    (np.diff, (X,), {"n": 2}),
    (np.shape, (X,), {}),
    (np.ndim, (X,), {}),
    (np.size, (X,), {}),
    (np.size, (X, 1), {}),
    (np.result_type, (X, INTS, "f4"), {}),
    (np.can_cast, (np.dtype("f8"), "f4"), {}),
    (np.iscomplexobj, (X,), {}),
    (np.isrealobj, (X,), {}),
    (np.real, (X,), {}),
    (np.imag, (X,), {}),
    (np.fix, (X,), {}),
    (np.isposinf, (X,), {}),
    (np.zeros_like, (INTS,), {}),
    (np.zeros_like, (INTS,), {"dtype": float, "shape": (2, 2)}),
    (np.ones_like, (X,), {"dtype": bool}),
    (np.full_like, (X, 2), {}),
    (np.full_like, (INTS, 2.75), {}),
    (np.full_like, (X, sample("f8", 4)), {}),
    (np.copy, (X,), {}),
    (np.broadcast_to, (V, (2, 5)), {}),
    (np.broadcast_arrays, (X, X[:1], 2.5), {}),
    (np.reshape, (X, (4, -1)), {}),
    (np.reshape, (X, 12), {}),
    (np.reshape, (X, (2, 6)), {"order": "F"}),
    (np.ravel, (X,), {}),
    (np.ravel, (X, "F"), {}),
    (np.transpose, (U,), {}),
    (np.transpose, (U, (0, 2, 1)), {}),
    (np.swapaxes, (U, 0, -1), {}),
    (np.moveaxis, (U, 0, -1), {}),
    (np.moveaxis, (U, (0, 1), (-1, 0)), {}),
    (np.rollaxis, (U, 2), {}),
    (np.rollaxis, (U, 0, 3), {}),
    (np.squeeze, (X.reshape(1, 3, 1, 4),), {}),
    (np.squeeze, (X.reshape(1, 3, 1, 4), 2), {}),
    (np.expand_dims, (X, 1), {}),
    (np.expand_dims, (X, (0, -1)), {}),
    (np.flip, (X,), {}),
    (np.flip, (X, 1), {}),
    (np.flipud, (X,), {}),
    (np.fliplr, (X,), {}),
    *(
        (function, (x,), {})
        for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d)
        for x in (X[0, :1], V, X, U, X[0].sum())
    ),
    (np.atleast_1d, (V, X), {}),
    (np.concatenate, ([X, Y],), {}),
    (np.concatenate, ([X, INTS],), {"axis": 1}),
    (np.concatenate, ([X, V],), {"axis": None}),
    (np.concatenate, ([X, INTS],), {"dtype": "f4"}),
    (np.stack, ([X, Y],), {"axis": -1}),
    (np.vstack, ([V, V],), {}),
    (np.hstack, ([V, V],), {}),
    (np.hstack, ([X, X],), {}),
    (np.dstack, ([X, X],), {}),
    (np.roll, (X, 1), {}),
    (np.roll, (X, 1, 0), {}),
    (np.tile, (X, (2, 1)), {}),
    (np.repeat, (X, 2), {}),
    (np.repeat, (X, 2, 1), {}),
    (np.repeat, (V, [1, 0, 2, 1, 1]), {}),
    (np.take, (X, 1), {}),
    (np.take, (X, 1, 1), {}),
    (np.take, (X, [2, 0], 0), {}),
    (np.dot, (V, V), {}),
    (np.matmul, (X, X.T), {}),
    (np.tensordot, (X, X.T), {"axes": 1}),
    (np.einsum, ("ij,kj->ik", X, X), {}),
    (np.isin, (INTS, [1, 2]), {}),
    (np.unique, (INTS,), {}),
    (np.unique, (INTS,), {"return_counts": True}),
    (np.sort, (X,), {}),
    (np.argsort, (X,), {}),
    (np.searchsorted, (np.sort(V), 0.5), {}),
    (np.searchsorted, (np.sort(INTS[0]), U[0]), {"side": "right"}),
    (np.searchsorted, (V, X), {"sorter": np.argsort(V)}),
    *(
        (function, (x,), arguments)
        for function in (np.sort, np.argsort)
        for x in (X, INTS, B, ZEROS)
        for arguments in ({"axis": None}, {"axis": 0, "kind": "stable"}, {"stable": True})
    ),
    (np.lexsort, ((INTS[0], ZEROS[1], U[0, 0] % 3),), {}),
    (np.lexsort, ((INTS[:2], ZEROS),), {}),
    (np.lexsort, ((INTS % 2, INTS % 3),), {"axis": 0}),
    (np.digitize, (X, np.sort(V)), {}),
    (np.digitize, (INTS, [9, 4, 4, 0]), {"right": True}),
    (np.nonzero, (INTS,), {}),
    (np.flatnonzero, (INTS,), {}),
    (np.argwhere, (INTS,), {}),
    (np.compress, ([True, False, True], X), {"axis": 0}),
    (np.compress, (INTS[0], X), {}),
    (np.extract, (B, X), {}),
    (np.take_along_axis, (X, np.argsort(X, axis=0)), {"axis": 0}),
    (np.take_along_axis, (X, np.array([5, -1])), {"axis": None}),
    (np.select, ([X > 1, B], [X, 2]), {}),
    (np.select, ([X > 1, INTS > 0], [1, INTS]), {"default": 2.5}),
    (np.amax, (X,), {"axis": 0}),
    (np.amin, (INTS,), {}),
    *((np.unique, (INTS,), {f"return_{what}": True}) for what in ("index", "inverse")),
    (np.unique, (ZEROS,), {"return_index": True, "return_inverse": True, "return_counts": True}),
    (np.unique, (N,), {}),
    (np.unique, (N,), {"equal_nan": False}),
    (np.unique, (INTS,), {"axis": 0}),
    *((function, (ZEROS,), {}) for function in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values)),
    *((function, (INTS, U), {}) for function in (np.union1d, np.intersect1d, np.setxor1d, np.setdiff1d)),
    *((function, (N, X), {}) for function in (np.union1d, np.intersect1d, np.setxor1d, np.setdiff1d)),
    (np.intersect1d, (INTS, U), {"return_indices": True}),
    (np.setdiff1d, (INTS, [INTS[0, 0]]), {"assume_unique": True}),
    (np.isin, (X, X[0]), {"invert": True}),
    (np.bincount, (U[0, 0] % 5,), {"minlength": 7}),
    (np.bincount, (U[0, 0] % 5, X[0]), {}),
    (np.histogram, (X, 4), {"range": (-1, 1)}),
    (np.histogram, (INTS, [0, 3, 3, 9]), {}),
    (np.histogram, (X, 4), {"density": True}),
    (np.median, (X,), {"axis": 0}),
    *((np.median, (x,), {"axis": axis}) for x in (Y, INTS, U, N) for axis in (None, (0, -1))),
    (np.percentile, (X, [10, 90]), {}),
    (np.percentile, (U, 12.5), {"axis": (0, 2), "keepdims": True}),
    (np.percentile, (Y, 12.5), {}),
    (np.quantile, (N, [[0.1], [0.9]]), {"axis": 1}),
    (np.quantile, (INTS, 1), {}),
    (np.quantile, (X, 0.3), {"method": "lower"}),
    (np.append, (X, V), {}),
    (np.append, (X, INTS), {"axis": 0}),
    (np.delete, (X, [0, 2]), {"axis": 1}),
    (np.delete, (X, slice(None, None, 5)), {}),
    (np.delete, (X, 1, 0), {}),
    (np.diff, (INTS,), {"prepend": 0.5, "append": X[:, :2]}),
    (np.triu, (X, 1), {}),
    (np.tril, (V,), {}),
    (np.meshgrid, (V, INTS), {"indexing": "ij"}),
    (np.meshgrid, (V, V), {"sparse": True}),
    (np.interp, (X, np.sort(V), V), {"left": 2, "right": -1.0}),
    (np.interp, (X, np.sort(V), V), {"period": 3}),
    (np.average, (X,), {"weights": X[0] ** 2 + 1, "axis": 1}),
    (np.block, ([[X, X], [X, X]],), {}),
    (np.split, (X, 2, 1), {}),
    (np.tril, (X,), {}),
    (np.pad, (V, 2), {}),
    (np.interp, (V, np.sort(V), V), {}),
    (np.linalg.norm, (X,), {}),
    (np.linalg.svd, (X,), {}),
    (np.fft.fft, (V,), {}),
    (np.array_repr, (X,), {}),
    (np.array_str, (INTS,), {}),
    (np.shares_memory, (X, Y), {}),
    (np.histogram, (X,), {}),
    (np.meshgrid, (V, V), {}),
    (np.add.reduce, (X,), {}),
    (np.add.reduce, (B,), {"axis": None}),
    (np.multiply.reduce, (INTS,), {"axis": 1, "keepdims": True}),
    (np.maximum.reduce, (X,), {"axis": (0, 1)}),
    (np.maximum.reduce, (X,), {"axis": None, "initial": 100.0}),
    (np.logical_and.reduce, (B,), {"axis": 1}),
    (np.bitwise_or.reduce, (INTS,), {"axis": 1}),
    (np.add.reduce, (X,), {"where": B, "axis": 1}),
    (np.add.accumulate, (X,), {"axis": 1}),
    (np.maximum.accumulate, (X,), {}),
    (np.add.reduceat, (V, [0, 2]), {}),
    (np.multiply.outer, (V, V), {}),
    (np.subtract.outer, (V, 2), {}),
    (np.add, (X, Y), {"dtype": "f4"}),
    (np.add, (INTS, 1), {"dtype": "f8"}),
    (np.add, (INTS, INTS), {"signature": "dd->d"}),
    (np.add, (X, [1, 2, 3, 4]), {}),
    (np.add, (X, np.float32(1)), {}),
    (np.less, (U, 300), {}),
    (np.less, (sample("i8"), sample("u8") + np.uint64(2**63)), {}),
    (np.equal, (np.array([2**53 + 1]), np.array([2**53], "u8")), {}),
    (np.multiply, (Y, 1e300), {}),
]


def call_id(call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> str:
    return getattr(call[0], "__name__", str(call[0]))


@pytest.mark.parametrize("call", CALLS, ids=call_id)
def test_a_function_gives_what_it_gives_for_numpys_arrays(call: Any) -> None:
    function, args, kwargs = call
    ours = function(*map(shared, args), **{name: shared(value) for name, value in kwargs.items()})
    assert_same(ours, function(*args, **kwargs), 1e-6 if any(x is Y for x in args) else 1e-12)


@pytest.mark.parametrize(
    "function", sorted(FUNCTIONS, key=lambda function: function.__name__), ids=lambda f: f.__name__
)
def test_every_function_of_the_table_is_called_by_these_tests(function: Any) -> None:
    called = {call[0] for call in CALLS} | {np.isneginf, np.empty_like, np.common_type, np.around}
    younger = ("astype", "cumulative_sum", "cumulative_prod", "matrix_transpose", "unstack")
    called |= {getattr(np, name, None) for name in younger}
    assert function in called


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_zeros_are_equal_and_nans_too_in_stable_sorts(dtype: str) -> None:
    values = ZEROS.ravel().astype(dtype)[::-1].copy()
    x = bl.asarray(values)
    assert np.argsort(x).tolist() == np.argsort(values, kind="stable").tolist() == x.argsort().tolist()
    for arguments in ({"kind": "mergesort"}, {"stable": True}):
        theirs = values.copy()
        theirs.sort(**arguments)
        assert np.asarray(np.sort(x, **arguments)).tobytes() == theirs.tobytes()
        y = x.copy()
        y.sort(**arguments)
        assert np.asarray(y).tobytes() == theirs.tobytes()


def test_arguments_of_sorts_that_numpy_refuses() -> None:
    for call in (
        lambda x: np.sort(x, kind="bubble"),
        lambda x: np.sort(x, kind="stable", stable=True),
        lambda x: np.argsort(x, order="f"),
        lambda x: np.searchsorted(x, 1, side="middle"),
        lambda x: np.compress([False, False, False, False, True], x),
        lambda x: np.delete(x, 7, axis=0),
        lambda x: np.digitize(x, [1, 3, 2]),
        lambda x: np.bincount(x),
        lambda x: np.isin(x, x, kind="table"),
        lambda x: np.select([x], [x]),
        lambda x: np.quantile(x, 2.0),
    ):
        errors = []
        for x in (V[:3], bl.asarray(V[:3])):
            with pytest.raises((TypeError, ValueError, IndexError)) as caught:
                call(x)
            errors.append(caught)
        assert any(issubclass(errors[1].type, kind) for kind in errors[0].type.__mro__[:2]), errors


#: Calls that the engine computes, besides those of functions that stay expressions.
BY_THE_ENGINE: dict[str, Callable[[Any], Any]] = {
    "argsort": lambda x: x.argsort(),
    "bincount": lambda x: np.bincount(np.argsort(x), x),
    "compress": lambda x: np.compress([True], x),
    "histogram": lambda x: np.histogram(x, [0.0, 1.0]),
    "nonzero": lambda x: x.nonzero(),
    "searchsorted": lambda x: x.searchsorted(0.5),
    "setdiff1d": lambda x: np.setdiff1d(x, [0.5]),
    "sort": lambda x: x.sort(kind="stable"),
    "unique": lambda x: np.unique(x, return_inverse=True),
    "where": lambda x: np.where(x),
}


@pytest.mark.parametrize("name", BY_THE_ENGINE)
def test_numpy_computes_nothing_that_the_engine_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_numpy_protocols, "_by_numpy", lambda *given: pytest.fail(f"NumPy computes {given[0]}"))
    BY_THE_ENGINE[name](bl.asarray(np.sort(V)) + 0)


def test_functions_that_sort_and_search_are_compiled() -> None:
    @bl.jit
    def function(x: Any, y: Any) -> Any:
        return np.searchsorted(np.sort(x), y) + np.where(np.isin(y, x), 100, 0), np.median(x), x.argsort(stable=True)

    for one, other in ((V, V * 2), (X[0], X[1])):
        searched = np.searchsorted(np.sort(one), other) + np.where(np.isin(other, one), 100, 0)
        assert_same(
            [bl.asarray(made) for made in function(one, other)],
            (searched, np.median(one), one.argsort(stable=True)),
        )


def test_rows_that_the_table_of_calls_leaves_out() -> None:
    x = bl.asarray(X)
    assert np.empty_like(x).shape == X.shape
    assert_same(np.isneginf(x), np.isneginf(X))
    assert np.common_type(x, INTS) is np.float64
    assert_same(np.around(x), np.around(X))


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="NumPy 2.0 has no such functions")
def test_functions_of_younger_numpy() -> None:
    x, v = bl.asarray(X), bl.asarray(V)
    assert_same(np.astype(x, np.float32), np.astype(X, np.float32))
    assert_same(np.matrix_transpose(x), np.matrix_transpose(X))
    assert_same(np.cumulative_sum(v, include_initial=True), np.cumulative_sum(V, include_initial=True), 1e-14)
    assert_same(np.cumulative_prod(x, axis=1), np.cumulative_prod(X, axis=1), 1e-14)
    assert_same(np.unstack(x, axis=1), np.unstack(X, axis=1))
    with pytest.raises(ValueError, match="axis"):
        np.cumulative_sum(x)


def is_lazy(x: bl.Array) -> bool:
    return not x._handle.is_evaluated and x._origin is None


def test_functions_of_the_table_compute_nothing() -> None:
    x = bl.asarray(X)
    for made in (np.exp(x), np.sum(x, axis=0), np.where(np.greater(x, 0), x, 0), X + x):
        assert is_lazy(made)
    memory = np.ones(3)
    y = np.mean(np.add(bl.asarray(memory), 1))
    memory[:] = 5.0
    assert float(y) == 6.0


def test_out_is_written_in_the_dtype_that_it_has() -> None:
    out = np.zeros((3, 4), np.float32)
    assert np.add(bl.asarray(X), 1, out=out) is out
    np.testing.assert_array_equal(out, (X + 1).astype(np.float32))
    with pytest.raises(TypeError, match="same_kind"):
        np.add(bl.asarray(X), 1, out=np.zeros((3, 4), int))
    spread = np.zeros((4, 6))
    np.add(bl.asarray(X), 1, out=spread[::-1, ::2].T)
    np.testing.assert_array_equal(spread[::-1, ::2].T, X + 1)
    big = np.zeros((2, 3, 4))
    np.add(bl.asarray(X), 1, out=big)
    np.testing.assert_array_equal(big, np.broadcast_to(X + 1, big.shape))
    with pytest.raises(ValueError):
        np.add(bl.asarray(X), 1, out=np.zeros(4))
    swapped = np.zeros((3, 4), ">f8")
    np.add(bl.asarray(X), 1, out=swapped)
    np.testing.assert_array_equal(swapped, X + 1)
    total = np.zeros(4)
    assert np.sum(bl.asarray(X), 0, None, total) is total
    np.testing.assert_allclose(total, X.sum(0))
    ints = np.zeros((3, 4), int)
    assert np.floor(bl.asarray(X), out=ints, casting="unsafe") is ints
    np.testing.assert_array_equal(ints, np.floor(X))


def test_out_may_be_what_is_read() -> None:
    memory = np.arange(10.0)
    x = bl.asarray(memory)
    np.add(np.flip(x), x, out=memory)
    np.testing.assert_array_equal(memory, np.full(10, 9.0))


def test_an_array_of_ours_as_out_takes_the_expression() -> None:
    out = bl.asarray(np.zeros((3, 4), np.float32))
    assert np.multiply(X, 2, out=out) is out
    assert out.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(out), (X * 2).astype("f4"))
    np.sort(bl.asarray(V))
    np.copyto(out, 3)
    np.testing.assert_array_equal(np.asarray(out), np.full((3, 4), 3, "f4"))
    np.add.at(out, (0, 0), 1)
    assert float(out[0, 0]) == 4.0
    total = bl.asarray(np.zeros(()))
    np.linalg.norm(V)
    np.median(bl.asarray(V), out=total)
    assert float(total) == np.median(V)


def test_where_leaves_elements_of_out() -> None:
    out = np.full((3, 4), 7.0)
    np.sqrt(bl.asarray(np.abs(X)), out=out, where=B)
    np.testing.assert_array_equal(out, np.where(B, np.sqrt(np.abs(X)), 7.0))
    made = np.asarray(np.negative(bl.asarray(X), where=B))
    np.testing.assert_array_equal(made[B], -X[B])
    out = np.full((3, 4), 7.0)
    np.spacing(bl.asarray(X), out=out, where=B)
    np.testing.assert_array_equal(out, np.where(B, np.spacing(X), 7.0))


def test_a_mask_without_out_is_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = np.asarray(np.spacing(bl.asarray(X), where=B))
    np.testing.assert_array_equal(made[B], np.spacing(X)[B])


SIGNED = np.array([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1])
UNSIGNED = np.array([0, 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_signed_and_unsigned_integers_are_compared_exactly(name: str) -> None:
    compare = getattr(np, name)
    for a, b in ((SIGNED[:, None], UNSIGNED), (UNSIGNED[:, None], SIGNED)):
        exact = [[getattr(operator, NAMES[name])(int(x), int(y)) for y in b] for x in a[:, 0]]
        made = compare(bl.asarray(a), bl.asarray(b))
        assert is_lazy(made) and made.tolist() == exact


NAMES = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def test_functions_with_two_results() -> None:
    quotient, rest = np.divmod(bl.asarray(INTS), 4)
    assert is_lazy(quotient) and is_lazy(rest)
    assert_same((quotient, rest), np.divmod(INTS, 4))
    first, second = np.zeros((3, 4)), np.zeros((3, 4))
    np.modf(bl.asarray(X), out=(first, second))
    np.testing.assert_array_equal(first, np.modf(X)[0])


class Other:
    """An array of another library."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> str:
        return "theirs"

    def __array_function__(self, *_: Any) -> str:
        return "theirs"


def test_other_libraries_get_their_turn() -> None:
    x = bl.asarray(X)
    assert np.add(x, Other()) == "theirs"
    assert np.concatenate([x, Other()]) == "theirs"
    with pytest.raises(TypeError):
        np.add(x, np.ma.masked_array(X, B))
    with pytest.raises(TypeError):
        np.concatenate([x, np.ma.masked_array(X, B)])


def test_numbers_that_a_dtype_does_not_hold() -> None:
    with pytest.raises(OverflowError):
        np.add(bl.asarray(U), 300)
    with pytest.raises(ValueError, match="negative integer powers"):
        np.power(bl.asarray(INTS), -1)
    with pytest.raises(TypeError):
        np.negative(bl.asarray(B))


def test_numpys_operators_are_the_functions() -> None:
    x = bl.asarray(X)
    for made in (Y + x, np.float32(2) * x, INTS - x):
        assert isinstance(made, bl.Array)
        assert made.dtype == np.float64
    y = np.array(X)
    y += x
    np.testing.assert_array_equal(y, X + X)


def test_like_makes_arrays_of_ours() -> None:
    x = bl.asarray(X)
    assert_same(np.asarray([1.0, 2.0], like=x), np.array([1.0, 2.0]))
    assert_same(np.arange(3, like=x), np.arange(3))
    assert_same(np.zeros((2, 2), like=x), np.zeros((2, 2)))


METHODS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(
        (name, (), {"axis": axis})
        for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
        for axis in (None, 1)
    ),
    ("sum", (0,), {"keepdims": True, "dtype": np.float32}),
    ("var", (), {"ddof": 1}),
    ("argmax", (1,), {}),
    ("argmin", (), {}),
    ("cumsum", (0,), {}),
    ("cumprod", (), {}),
    ("astype", ("f4",), {}),
    ("astype", ("c16",), {}),
    ("astype", (bool,), {"copy": False}),
    ("clip", (-1, 1), {}),
    ("clip", (), {"max": 1.0}),
    ("round", (1,), {}),
    ("conj", (), {}),
    ("conjugate", (), {}),
    ("reshape", (4, 3), {}),
    ("reshape", ((2, -1),), {}),
    ("ravel", (), {}),
    ("flatten", ("F",), {}),
    ("transpose", (), {}),
    ("transpose", (1, 0), {}),
    ("transpose", ((1, 0),), {}),
    ("swapaxes", (0, 1), {}),
    ("squeeze", (), {}),
    ("repeat", (2, 0), {}),
    ("take", ([1, 0], 1), {}),
    ("dot", (X.T,), {}),
    ("argsort", (), {}),
    ("nonzero", (), {}),
    ("diagonal", (), {}),
    ("trace", (), {}),
    ("copy", (), {}),
    ("item", (5,), {}),
    ("item", (1, 2), {}),
    ("item", ((1, 2),), {}),
    ("tolist", (), {}),
    ("tobytes", (), {}),
    ("view", ("u1",), {}),
    ("view", ("i8",), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), METHODS)
def test_methods_are_numpys(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert_same(getattr(bl.asarray(X), name)(*args, **kwargs), getattr(X, name)(*args, **kwargs), 1e-6)


def test_methods_that_change_the_array_and_properties() -> None:
    x = bl.asarray(X) + 0
    x.sort()
    np.testing.assert_array_equal(np.asarray(x), np.sort(X))
    x.fill(2)
    np.testing.assert_array_equal(np.asarray(x), np.full((3, 4), 2.0))
    assert (x.itemsize, x.nbytes) == (8, 96)
    assert bl.asarray(np.sort(V)).searchsorted(0.5).item() == np.sort(V).searchsorted(0.5)
    assert_same(bl.asarray(X).real, X)
    assert_same(bl.asarray(X).imag, X * 0)
    assert list(bl.asarray(INTS).flat) == list(INTS.flat)
    assert bl.asarray(np.array([3.5])).item() == 3.5
    with pytest.raises(ValueError, match="one element"):
        x.item()
    with pytest.raises(TypeError, match="safe"):
        x.astype(int, casting="safe")


#: The functions that compute when they are called.
AT_ONCE = {
    np.allclose,
    np.argwhere,
    np.array_equal,
    np.bincount,
    np.compress,
    np.copy,
    np.extract,
    np.flatnonzero,
    np.histogram,
    np.intersect1d,
    np.nonzero,
    np.setdiff1d,
    np.setxor1d,
    np.union1d,
    np.unique,
    np.unique_all,
    np.unique_counts,
    np.unique_inverse,
    np.unique_values,
}

#: Calls of listed functions with arguments that no expression represents.
BY_NUMPY = {
    ("max", 1, "initial"),
    ("mean", 1, "where"),
    ("round", 2, ""),
    ("diff", 1, "n"),
    ("take", 3, ""),
    ("percentile", 2, ""),
    ("quantile", 2, ""),
    ("quantile", 2, "method"),
    ("tril", 1, ""),
    ("meshgrid", 2, "sparse"),
    ("interp", 3, "period"),
}


@pytest.mark.parametrize("call", CALLS, ids=call_id)
def test_what_is_listed_as_lazy_computes_nothing(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    function, args, kwargs = call
    name = getattr(function, "__name__", "")
    if function not in FUNCTIONS or function in AT_ONCE or (function is np.where and len(args) == 1):
        return
    through: list[Any] = []
    monkeypatch.setattr(_numpy_protocols, "_by_numpy", lambda *given: through.append(given))
    made = function(*map(shared, args), **{name: shared(value) for name, value in kwargs.items()})
    if through:
        assert (name, len(args), "".join(kwargs)) in BY_NUMPY
    for x in made if isinstance(made, list | tuple) else (made,):
        assert not isinstance(x, bl.Array) or is_lazy(x)


def test_the_page_lists_the_functions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "generated" / "numpy-functions.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- listing -->\n")[2].partition("<!-- end of listing -->")[0]
    kinds: dict[str, Any] = {
        "Universal functions that stay expressions": UFUNCS.keys(),
        "Other functions that stay expressions": FUNCTIONS.keys() - AT_ONCE,
        "Functions that the engine computes when they are called": AT_ONCE,
    }
    sections = []
    for kind, functions in kinds.items():
        names = sorted({function.__name__ for function in functions})
        sections.append(f"{kind}: {', '.join(f'`{name}`' for name in names)}.")
    assert listed.strip() == "\n\n".join(sections), "put these paragraphs in the page"


def test_functions_of_traced_arrays_are_expressions() -> None:
    x = bl.Array._of(Handle.input("x", "f4", ["n", 3]))
    made = np.where(np.isnan(x), 0, np.exp(x) + np.sum(x, axis=1, keepdims=True)) * np.ones_like(x)
    kernel = Kernel([("y", made._operand())], [x._operand()])
    for n in (2, 5):
        values = sample("f4", (n, 3))
        (ours,) = kernel.run([values])
        theirs = np.where(np.isnan(values), 0, np.exp(values) + np.sum(values, axis=1, keepdims=True))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises((TypeError, ValueError), match="traced|no values"):
        np.nanmedian(x)


def test_numbers_of_a_traced_function_promote_as_numbers() -> None:
    @bl.jit
    def scaled(x: Any, s: Any) -> Any:
        return np.clip(np.where(x > 0, np.multiply(x, s), s), -s, s) + np.power(x, 2)

    @bl.jit
    def root(s: Any) -> Any:
        return np.sqrt(s)

    x = sample("f4")
    for s in (2.5, 3):
        theirs = np.clip(np.where(x > 0, np.multiply(x, s), s), -s, s) + np.power(x, 2)
        made = scaled(x, s)
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made, theirs)
    assert root(2.0) == np.sqrt(2.0) and root(2) == np.sqrt(2)
    with bl.set_options(promotion="numpy"):
        mixed = bl.jit(lambda x, s: x * s + np.add(x, 1.5))
        assert mixed(sample("i4"), 2).dtype == np.float64
        np.testing.assert_array_equal(mixed(sample("i4"), 2.5), sample("i4") * 2.5 + (sample("i4") + 1.5))


def test_out_keeps_what_a_mask_leaves_out_in_its_own_dtype() -> None:
    mask = np.array([True, False, True])
    x = bl.asarray(np.ones(3, np.int16))
    out = np.full(3, 100000.5)
    np.add(x, np.int16(1), out=out, where=mask)
    assert out.tolist() == [2.0, 100000.5, 2.0]
    large = np.full(3, 2**62 + 1)
    np.isnan(bl.asarray(np.ones(3)), out=large, where=mask)
    assert large.tolist() == [0, 2**62 + 1, 0]
    with pytest.raises(TypeError, match="Cannot cast output"):
        np.add(bl.asarray(np.ones(3)), 1.0, out=np.zeros(3, np.int64), where=mask)


def test_outer_makes_arrays_of_numbers() -> None:
    for first, second in ((np.array([200], "u1"), 200), (np.array([100], "i1"), 3), (np.array([1], "u1"), 300)):
        expected = np.add.outer(first, second)
        made = np.add.outer(bl.asarray(first), second)
        assert made.dtype == expected.dtype and made.tolist() == expected.tolist()


def test_divmod_is_the_quotient_and_the_remainder() -> None:
    values = np.array([7, -7, 8])
    for made, expected in zip(divmod(bl.asarray(values), 3), divmod(values, 3), strict=True):
        assert made.tolist() == expected.tolist()
    for made, expected in zip(divmod(20, bl.asarray(values)), divmod(20, values), strict=True):
        assert made.tolist() == expected.tolist()


def test_sliding_windows_share_the_memory_of_the_operand() -> None:
    values = np.arange(10.0)
    windows = np.lib.stride_tricks.sliding_window_view(bl.asarray(values), 3)
    assert type(windows) is bl.Array and windows.shape == (8, 3) and not windows._handle.is_evaluated
    values[1] = 100.0
    expected = np.lib.stride_tricks.sliding_window_view(values, 3)
    assert_same(bl.mean(windows, axis=1), expected.mean(axis=1), 1)
    assert np.asarray(windows + 1).tobytes() == (expected + 1).tobytes()


def test_any_and_all_take_out_as_numpy_does() -> None:
    x = bl.asarray(np.array([[True, False], [True, True]]))
    out = np.zeros(2, bool)
    assert bl.all(x, axis=1, out=out) is out and out.tolist() == [False, True]
    assert bl.any(x, axis=0, out=None).tolist() == [True, True]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.zeros_like(x, device="gpu"),
        lambda x: np.ones_like(x, device="gpu"),
        lambda x: np.full_like(x, 1, device="gpu"),
        lambda x: np.astype(x, np.float32, device="gpu"),
        lambda x: x.astype(np.float32, device="gpu"),
    ],
)
def test_a_device_that_there_is_not_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="device"):
        call(bl.asarray(X))
