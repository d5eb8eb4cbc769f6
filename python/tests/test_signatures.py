"""Tests NumPy's arguments in the namespace's functions: a call that NumPy accepts returns NumPy's result."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import broadloom as bl

MEMORY = np.arange(6.0).reshape(2, 3)
MASK = MEMORY > 2

CALLS = """
sum(x, 0)  sum(x, (0, 1))  sum(x, 0, np.float32)  sum(x, 0, initial=10)  sum(x, where=mask)  sum(x, keepdims=True)  sum([1, 2], 0)
prod(x, 1)  max(x, 0, initial=3, where=mask)  min(x, 1)  mean(x, where=mask)  mean(x, 0, np.float32)  std(x, 0)  std(x, axis=0, ddof=1)
std(x, 0, correction=1)  var(x, 1)  any(x, 0, where=mask)  all(x, 0)  argmax(x, 0)  argmin(x, 1)  nansum(x, 0)  count_nonzero(x, 0)
round(x / 7, 2)  round(x / 7, decimals=1)  squeeze(x[None])  squeeze(x[None], axis=None)  take(x, [1, 2])  take(x, 1)
take(x, [7], axis=1, mode="clip")  take(x, [[0, 1], [1, 0]], 0)  take_along_axis(x, np.array([1]), axis=None)
sort(x, 0)  sort(x, axis=None)  argsort(x, 0)  argsort(x, axis=None)  searchsorted(x[0], 1.5)  searchsorted(x[0], [1.5], "right")
flip(x, 0)  roll(x, 1, 0)  expand_dims(x, axis=0)  moveaxis(x, 0, 1)  permute_dims(x)  tril(x, 1)  triu(x, 1)  repeat(x, 2, 0)  repeat(x, 2)
diff(x, 1, 0)  reshape(x, (3, 2), "F")  concat([x, x], 1)  concat([x, x], axis=None)  stack([x, x], 1)  clip(x, 1, 2)
clip(x, 1, a_max=2)  where(x > 2)[0]  matmul(x, x.T)  sqrt(x, dtype=np.float32)  add(x, 1, dtype=np.float32)  logical_and(x, x)
zeros((2,), np.int8)  ones_like(x, np.int8)  full((2,), 1, np.float32)  linspace(0, 1)  eye(2, 2, 1)  asarray([1, 2], np.float32)
broadcast_to(x, (2, 2, 3), subok=True)
"""


@pytest.mark.parametrize("call", [call for line in CALLS.strip().split("\n") for call in line.split("  ")])
def test_a_call_that_numpy_takes(call: str) -> None:
    names: dict[str, Any] = {"np": np, "mask": MASK}
    made = eval(f"bl.{call}", {"bl": bl, "x": bl.asarray(MEMORY), **names})
    expected = eval(f"np.{call}", {"x": MEMORY, **names})
    assert isinstance(made, bl.Array) and made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-15)


def test_results_are_written_to_out() -> None:
    out = np.zeros((2, 3))
    assert bl.add(bl.asarray(MEMORY), 1, out=out, where=MASK) is out  # type: ignore[call-arg]
    assert np.array_equal(out, np.where(MASK, MEMORY + 1, 0))


def test_an_argument_that_nobody_takes_is_refused_by_name() -> None:
    x = bl.asarray(MEMORY)
    calls: dict[str, Any] = {
        "sum: there is no argument `along`; the arguments are x, axis, dtype, out, keepdims, initial, where": lambda: (
            bl.sum(
                x,
                along=0,  # type: ignore[call-arg]
            )
        ),
        "sum: there is no argument `along`; the arguments are axis, dtype, out, keepdims, initial, where": lambda: (
            x.sum(
                along=0  # type: ignore[call-arg]
            )
        ),
        "exp: there is no argument `base`; the arguments are x, out, where": lambda: bl.exp(x, base=2),  # type: ignore[call-arg]
        "add: the argument `x2` is missing; the arguments are x1, x2": lambda: bl.add(x),  # type: ignore[call-arg]
        "zeros: the argument `shape` is missing": lambda: bl.zeros(),  # type: ignore[call-arg]
        "reshape: the argument `x` is passed by its position": lambda: bl.reshape(x=x, shape=(6,)),  # type: ignore[call-arg]
        "item: there is no argument `index`; the arguments are args": lambda: x.item(index=0),  # type: ignore[call-arg]
    }
    for words, call in calls.items():
        with pytest.raises(TypeError, match=f"^{words}"):
            call()


def test_what_a_function_refuses_is_refused_in_its_own_words() -> None:
    with pytest.raises(TypeError, match="sum: does not take bool"):
        bl.sum(bl.asarray(MASK), dtype=bl.bool)
    with pytest.raises(ValueError, match="5"):
        bl.sum(bl.asarray(MEMORY), axis=5)


def test_expressions_stay_expressions() -> None:
    x = bl.asarray(MEMORY)
    for made in (bl.sum(x, 0), bl.round(x, 2), bl.mean(x, where=MASK)):
        assert not made._handle.is_evaluated
    assert bl.jit(lambda x: bl.sum(x, 0))(MEMORY).tolist() == [3.0, 5.0, 7.0]


def test_an_array_without_axes_is_rounded_as_a_number() -> None:
    x = bl.asarray(2.71828)
    assert round(x, 3) == 2.718 and round(x) == 3 and type(round(x)) is int
    assert round(bl.asarray(MEMORY) / 7, 2).tolist() == np.round(MEMORY / 7, 2).tolist()


def test_functions_are_pickled_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(bl.sum)) is bl.sum
