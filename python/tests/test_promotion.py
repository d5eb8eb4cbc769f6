"""The rule of promotion that is set for the process, and the names that the namespace has of NumPy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core

VALUES = np.random.default_rng(3).standard_normal((60, 40))


def assert_close(ours: Any, theirs: Any) -> None:
    values, expected = np.asarray(ours), np.asarray(theirs)
    assert values.dtype == expected.dtype and values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_promotion_is_the_standards_unless_set() -> None:
    x = bl.asarray(np.array([1, 2]))
    with pytest.raises(TypeError, match="astype"):
        x * 2.5
    with bl.set_options(promotion="numpy"):
        assert (x * 2.5).tolist() == [2.5, 5.0]
        assert (x / bl.asarray(np.array([2.0, 4.0], "f4"))).dtype == np.float64
        assert bl.sum(x > 1).item() == 1
        assert bl.exp(x).dtype == np.float64
        assert bl.result_type(bl.int64, bl.float32) == np.float64
        assert bl.concat([x, bl.asarray([0.5])]).tolist() == [1, 2, 0.5]
        assert bl.where(x > 1, x, 0.5).tolist() == [0.5, 2]
        assert (bl.asarray([True]) + bl.asarray([True])).tolist() == [True]
        with pytest.raises(OverflowError):
            bl.asarray(np.array([1], "u1")) + 300
    with pytest.raises(TypeError):
        x * 2.5
    before = bl.set_options(promotion="numpy")
    assert (x * 2.5).dtype == np.float64
    bl.set_options(promotion="strict")
    with pytest.raises(TypeError):
        x * 2.5
    with pytest.raises(ValueError, match="expected 'strict' or 'numpy'"):
        bl.set_options(promotion="loose")  # type: ignore[arg-type]
    del before


def test_in_place_operators_keep_the_dtype_as_numpy_does() -> None:
    x = bl.asarray(np.array([1, 2], "i4"))
    with pytest.raises(TypeError, match="in place"):
        x += bl.asarray(np.array([1, 2]))
    with bl.set_options(promotion="numpy"):
        x += bl.asarray(np.array([1, 2]))
        assert x.dtype == np.int32 and x.tolist() == [2, 4]
        with pytest.raises(TypeError, match="float64"):
            x += bl.asarray([0.5, 0.5])
    assert x.tolist() == [2, 4]


def test_the_namespace_has_numpys_other_functions() -> None:
    x = bl.asarray(VALUES)
    assert_close(bl.median(x, axis=0), np.median(VALUES, axis=0))
    assert_close(bl.transpose(x), VALUES.T)
    assert_close(bl.fmax(x, 0.0), np.fmax(VALUES, 0.0))
    assert bl.lib is np.lib
    for name in ("ndarray", "complex64", "random", "nothing", "_core_of_nothing"):
        assert not hasattr(bl, name)


def test_a_block_of_options_acts_when_it_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    x = bl.asarray(np.array([1, 2]))
    entered = []

    def interrupted(self: Any) -> None:
        # As an interrupt that comes between the call and the block.
        entered.append(_core.set_semantics())
        with pytest.raises(TypeError):
            x * 2.5
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bl.set_options, "__enter__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            with bl.set_options(promotion="numpy", accuracy="nearest", contract=True):
                pytest.fail("entered")
        with pytest.raises(KeyboardInterrupt), bl.set_options(promotion="numpy") as _, bl.set_options():
            pytest.fail("entered")
    assert entered == [("fast", False)] * 2 == [_core.set_semantics()] * 2
    with pytest.raises(TypeError):
        x * 2.5


def test_options_are_given_back_however_a_block_is_entered() -> None:
    x = bl.asarray(np.array([1, 2]))

    def of_a_function() -> Any:
        return bl.set_options(promotion="numpy", contract=True)

    with of_a_function():
        assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(bl.set_options(promotion="numpy", contract=True))
        assert (x * 2.5).tolist() == [2.5, 5.0] and _core.set_semantics()[1]
    with bl.set_options(promotion="numpy"):
        with bl.set_options(promotion="strict"), pytest.raises(TypeError):
            x * 2.5
        assert (x * 2.5).tolist() == [2.5, 5.0]
    for wrong in ({"accuracy": "high"}, {"promotion": "loose"}):
        with pytest.raises(ValueError, match="expected"):
            bl.set_options(contract=True, **wrong)
    assert _core.set_semantics() == ("fast", False)
    with pytest.raises(TypeError):
        x * 2.5
