"""Tests writes through views: a write to the result of indexing, `.T`, iteration or a function on shapes changes the
array that it was taken from, or raises an error. No write is lost silently."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import Array, _indexing


def grid() -> np.ndarray:
    return np.arange(12.0).reshape(3, 4)


def first_rows(x: Any) -> None:
    for row in x:
        row[:] = 0


def nested_loop(x: Any) -> None:
    for i, row in enumerate(x):
        for j in range(len(row)):
            row[j] = 10 * i + j


def rows_of_a_list(x: Any) -> None:
    rows = list(x)
    rows[2][:] = rows[0] * 2
    rows[0][1:] = 5
    rows[0][1:] = 6


def unpacked(x: Any) -> None:
    a, b, c = x
    c[0], a[-1], b[...] = 1, 2, 3


def kept(x: Any) -> None:
    row = x[1]
    part = row[1:]
    part[0] = 7
    row[0] = 8
    part[::2] += 1
    assert np.asarray(row).tolist() == np.asarray(x[1]).tolist()


def set_item(*keys: Any) -> Callable[[Any], None]:
    def write(x: Any) -> None:
        for key in keys[:-1]:
            x = x[key]
        x[keys[-1]] = 99

    return write


WRITES: dict[str, Callable[[Any], None]] = {
    "element of a row": set_item(0, 1),
    "three deep": set_item(slice(1, None), 0, slice(None, None, -2), 0),
    "new axis": set_item((None, ..., slice(1, 3)), 0, 2),
    "whole": set_item(..., 0),
    "by a mask": set_item(1, np.array([True, False, True, False])),
    "by indices": set_item(slice(None, None, -1), np.array([0, 2])),
    "by indices and a slice": set_item((slice(None), slice(1, 3)), (np.array([0, 2]), 1)),
    "T": lambda x: x.T.__setitem__(0, 5),
    "element of T": lambda x: x.T[1].__setitem__(2, 5),
    "mT": lambda x: x.mT.__setitem__(0, [1, 2, 3]),
    "rows": first_rows,
    "elements of rows": nested_loop,
    "a list of rows": rows_of_a_list,
    "unpacked rows": unpacked,
    "kept views": kept,
    "transpose": lambda x: x.transpose(1, 0)[0].__setitem__(0, 5),
    "swapaxes": lambda x: x.swapaxes(0, 1).__setitem__(slice(0, 2), 5),
    "reshape": lambda x: x.reshape(2, 6)[1].__setitem__(0, 5),
    "ravel": lambda x: x.ravel().__setitem__(slice(None, None, 5), 5),
    "squeeze": lambda x: x[:1].squeeze().__setitem__(0, 5),
    "real": lambda x: x.real[0].__setitem__(0, 5),
    "fill": lambda x: x[1].fill(4),
    "sort": lambda x: x[::-1].sort(axis=0),
    "out": lambda x: np.add(x[0], 1, out=x[2]),
    "at": lambda x: np.add.at(x[0], [1, 1, 2], 1),
    "copyto": lambda x: np.copyto(x[1], 3),
    "put": lambda x: np.put(x.T, [0, 1], 3),
    "np.transpose": lambda x: np.transpose(x)[0].__setitem__(0, 5),
    "np.reshape": lambda x: np.reshape(x, (4, 3))[0].__setitem__(0, 5),
    "np.flip": lambda x: np.flip(x, 0)[0].__setitem__(0, 5),
    "np.split": lambda x: np.split(x, 2, axis=1)[1].__setitem__(0, 5),
    "np.rot90": lambda x: np.rot90(x).__setitem__(0, 5),
    "np.expand_dims": lambda x: np.expand_dims(x, 1)[0].__setitem__(0, 5),
    "np.atleast_3d": lambda x: np.atleast_3d(x).__setitem__(0, 5),
    "several of np.atleast_2d": lambda x: np.atleast_2d(x[0], x[1])[1].__setitem__((0, 1), 99),
    "np.real_if_close": lambda x: np.real_if_close(x).__setitem__(0, 5),
    "np.nan_to_num": lambda x: (x.__setitem__(0, np.nan), np.nan_to_num(x, copy=False, nan=5))[-1],
    "view": lambda x: x.T.view().__setitem__(0, 5),
    "view as another dtype": lambda x: x[1:].view(np.int64).__setitem__(0, 5),
    "broadcast_arrays, of this shape": lambda x: np.broadcast_arrays(x, np.zeros(4))[0].__setitem__(0, 5),
    "augmented item": lambda x: x.T.__setitem__(1, x.T[1] + 1),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_through_views_are_numpys(write: Callable[[Any], None]) -> None:
    expected, memory = grid(), grid()
    x, lazy = bl.asarray(memory), bl.asarray(grid()) * 2 / 2
    before = x + 0
    write(expected)
    assert not np.array_equal(expected, grid())
    for made in (x, lazy):
        write(made)
        assert np.asarray(made).tolist() == expected.tolist()
    # Other arrays that share memory, and expressions that were built before, keep their elements.
    assert np.array_equal(memory, grid())
    assert np.array_equal(np.asarray(before), grid())


NAMESPACE: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: bl.permute_dims(x, (1, 0)), lambda x: x.T),
    (lambda x: bl.matrix_transpose(x), lambda x: x.T),
    (lambda x: bl.flip(x, axis=1), lambda x: x[:, ::-1]),
    (lambda x: bl.moveaxis(x, 0, 1), lambda x: x.T),
    (lambda x: bl.reshape(x, (6, 2)), lambda x: x.reshape(6, 2)),
    (lambda x: bl.expand_dims(x, axis=0)[0], lambda x: x),
    (lambda x: bl.squeeze(bl.expand_dims(x, axis=0), axis=0), lambda x: x),
    (lambda x: bl.unstack(x, axis=1)[2:], lambda x: x.T[2:]),
    (lambda x: bl.real(x), lambda x: x),
    (lambda x: bl.from_dlpack(x), lambda x: x),
    (lambda x: bl.broadcast_arrays(x, bl.zeros(4))[0], lambda x: x),
    (lambda x: bl.atleast_3d(x)[:, :, 0], lambda x: x),
    (lambda x: x.promoting_by_numpy(), lambda x: x),
]


@pytest.mark.parametrize(("view", "numpy_view"), NAMESPACE)
def test_views_of_the_namespace_are_written_through(
    view: Callable[[Any], Any], numpy_view: Callable[[Any], Any]
) -> None:
    expected, x = grid(), bl.asarray(grid())
    view(x)[1][...] = 50
    numpy_view(expected)[1][...] = 50
    assert np.asarray(x).tolist() == expected.tolist()


def test_elements_are_views() -> None:
    x = bl.asarray(grid())
    x[0, 1][...] = 99
    x[2][3][()] = 98
    assert (float(x[0, 1]), float(x[2, 3])) == (99.0, 98.0)


def test_copies_are_no_views() -> None:
    x = bl.asarray(grid())
    for copied in (
        x.copy(),
        x[0].copy(),
        bl.asarray(x, copy=True),
        x.flatten(),
        x.reshape(2, 6, copy=True),
        np.reshape(x, (2, 6), copy=True),
        np.reshape(x, (2, 6), order="F", copy=True),
        bl.reshape(x, (2, 6), copy=True),
        x[[0, 1]],
        x[x > 3],
        x + 0,
        x.reshape(2, 6) * 1,
    ):
        copied[...] = -1
    assert np.asarray(x).tolist() == grid().tolist()


READ_ONLY: dict[str, Callable[[Any], Any]] = {
    "broadcast_to": lambda x: bl.broadcast_to(x, (2, 3, 4)),
    "broadcast_to, of numpy": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_to, of a row": lambda x: np.broadcast_to(x[0], (3, 4)),
    "broadcast_to, a view of it": lambda x: bl.broadcast_to(x, (2, 3, 4))[1].T,
    "broadcast_arrays": lambda x: bl.broadcast_arrays(x, bl.zeros((2, 3, 4)))[0],
    "broadcast_arrays, of numpy": lambda x: np.broadcast_arrays(x, np.zeros((2, 3, 4)))[0],
    "imag": lambda x: bl.imag(x),
    "imag, a property": lambda x: x.imag,
    "diagonal": lambda x: x.diagonal(),
    "diagonal, of linalg": lambda x: bl.linalg.diagonal(x),
    "diag": lambda x: np.diag(x),
    "sliding_window_view": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
    "sliding_window_view, writeable": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1, writeable=True),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], copy=False)[0],
    "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "einsum": lambda x: np.einsum("ij->ji", x),
    "view": lambda x: x.view(np.float32),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_what_cannot_be_written_through_says_what_to_write(name: str) -> None:
    for x in (bl.asarray(grid()), bl.asarray(grid()) + 0):
        view = READ_ONLY[name](x)
        values = np.array(view)
        words = rf"what `{name.split(',')[0]}` returned can't be set.*x\[key\] = value.*x\.copy\(\)"
        with pytest.raises(ValueError, match=words):
            view[0] = 99
        with pytest.raises(ValueError, match=words):
            np.copyto(view, 99)
        assert np.array_equal(np.asarray(x), grid()) and np.array_equal(np.asarray(view), values)
        copied = view.copy()
        copied[0] = 99
        view *= 2
        view[0] = 98
        assert (copied[0] == 99).all() and (view[0] == 98).all() and np.array_equal(np.asarray(x), grid())


def test_a_view_is_written_if_only_other_elements_of_its_array_changed() -> None:
    x = bl.asarray(grid())
    y = x[1:]
    x[0] = 7
    y[0] = 3
    assert x.tolist() == [[7.0] * 4, [3.0] * 4, [8.0, 9.0, 10.0, 11.0]]


def test_in_place_operators_rebind_a_name() -> None:
    x = bl.asarray(grid())
    row = x[0]
    row *= 2
    row[0] = 50
    assert np.asarray(x).tolist() == grid().tolist()
    x[0] *= 2
    x.T[1] += 1
    expected = grid()
    expected[0] *= 2
    expected.T[1] += 1
    assert np.asarray(x).tolist() == expected.tolist()


def test_a_view_whose_array_has_changed_is_not_written() -> None:
    x = bl.asarray(grid())
    row = x[0]
    x[0, 1] = 50
    with pytest.raises(ValueError, match=r"take the view again.*x\[key\] = value.*copy"):
        row[0] = 1
    assert float(x[0, 0]) == 0.0 and row.tolist() == [0.0, 1.0, 2.0, 3.0]
    other = x[1]
    x += 1
    with pytest.raises(ValueError, match="take the view again"):
        other.fill(0)
    # The array may have changed in other elements, or may have been assigned the same elements.
    row, other = x[0], x[1]
    x[2] = 0
    x[0] = row * 1
    row[0], other[0] = 70, 80
    assert x[:, 0].tolist() == [70.0, 80.0, 0.0]


def test_evaluation_is_no_change() -> None:
    x = bl.asarray(grid()) * 2
    row = x[1]
    bl.evaluate(x)
    row[0] = 9
    x.tolist()
    row[1] = 9
    assert x[1].tolist() == [9.0, 9.0, 12.0, 14.0]


def test_views_of_traced_arrays_are_refused() -> None:
    def write(x: Any) -> Any:
        row = x[1:]
        row[row > 1] = 0.0
        return x

    with pytest.raises(bl.TracerError, match=r"elements of a view.*where.*x\[mask\] = value"):
        bl.jit(write)(np.arange(3.0))

    def copied(x: Any) -> Any:
        row = x[1:].copy()
        row[row > 1] = 0.0
        return row

    assert bl.jit(copied)(np.arange(3.0)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda x: x[0].__setitem__(9, 1), IndexError),
        (lambda x: x[0].__setitem__(slice(None), [1.0, 2.0]), ValueError),
        (lambda x: x[0].__setitem__(0, 1j), TypeError),
        (lambda x: x.T.__setitem__((0, 0, 0), 1), IndexError),
        (lambda x: x.diagonal().__setitem__(0, 1), ValueError),
    ],
)
def test_errors_leave_both_as_they_were(write: Callable[[Any], None], kind: type[Exception]) -> None:
    x = bl.asarray(grid())
    with pytest.raises(kind):
        write(x)
    assert np.asarray(x).tolist() == grid().tolist()


def test_an_interrupt_leaves_a_view_and_its_array_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    x = bl.asarray(grid())
    row = x[0]
    setting = _indexing._set

    def interrupted(array: Array, *rest: Any) -> None:
        if array is x:
            raise KeyboardInterrupt
        setting(array, *rest)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(_indexing, "_set", interrupted)
        row[1] = 50
    assert row.tolist() == x[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    row[1] = 50
    assert row.tolist() == x[0].tolist() == [0.0, 50.0, 2.0, 3.0]


def test_a_loop_over_rows_copies_the_array_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []
    new_buffer = _indexing.new_buffer

    def counted(shape: Any, dtype: Any) -> Any:
        made.append(tuple(shape))
        return new_buffer(shape, dtype)

    monkeypatch.setattr(_indexing, "new_buffer", counted)
    x = bl.asarray(np.zeros((100, 5)))
    for i, row in enumerate(x):
        row[1:] = i
        row[0] = row[1] + 1
    assert made.count((100, 5)) == 1
    assert np.asarray(x)[:, :2].tolist() == [[i + 1, i] for i in range(100)]


def test_a_view_keeps_no_array_alive() -> None:
    x = bl.asarray(grid())
    chain = x
    for _ in range(3):
        chain = chain[...]
    row = x[0]
    del x
    gc.collect()
    assert all(reference() is None for reference, _, _ in row._views)
    row[0] = 1
    assert row.tolist() == [1.0, 1.0, 2.0, 3.0] and row._views == ()


def test_a_long_chain_of_views() -> None:
    x = bl.asarray(np.arange(3000.0))
    rest = x
    for _ in range(2000):
        rest = rest[1:]
    rest[0] = -1
    assert float(x[2000]) == -1.0


@pytest.mark.parametrize("seed", range(100))
def test_random_writes_are_numpys_or_refused(seed: int) -> None:
    choice = random.Random(seed)
    expected = np.arange(24.0).reshape(2, 3, 4)
    pairs: list[tuple[Any, np.ndarray]] = [(bl.asarray(expected.copy()), expected)]
    for _ in range(40):
        x, numpy_x = choice.choice(pairs)
        axis = choice.randrange(max(numpy_x.ndim, 1))
        if choice.random() < 0.5 and numpy_x.ndim:
            key = choice.choice([0, -1, slice(1, None), slice(None, None, -1), ..., (..., 0), (None, 0)])
            view: Callable[[Any], Any] = choice.choice(
                [
                    lambda y, k=key: y[k] if y.shape[0] else y[...],
                    lambda y, a=axis: y.swapaxes(0, a),
                    lambda y: y[..., ::-1],
                ]
            )
            one, other = view(x), view(numpy_x)
            if isinstance(other, np.ndarray):
                pairs.append((one, other))
            continue
        key = choice.choice([..., 0, slice(0, 1), slice(None, None, -2)]) if numpy_x.ndim else ...
        if numpy_x.ndim and not numpy_x.shape[0]:
            continue
        if np.asarray(x).tolist() != numpy_x.tolist():
            with pytest.raises(ValueError, match="take the view again"):
                x[key] = 0
        else:
            number = choice.randrange(1000)
            x[key] = number
            numpy_x[key] = number
            assert np.asarray(x).tolist() == numpy_x.tolist()
        assert np.asarray(pairs[0][0]).tolist() == expected.tolist()
