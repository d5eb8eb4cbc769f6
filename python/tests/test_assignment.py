"""Makes random sequences of assignments to arrays that are built from each other. Each array must have the elements of
a NumPy copy; arrays that NumPy has received, and memory that is shared, must not change."""

import random
import threading
from copy import copy
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _indexing

LENGTH = 5
STEPS = 30


def random_key(choice: random.Random) -> Any:
    start, stop = choice.randrange(-LENGTH, LENGTH), choice.randrange(-LENGTH, LENGTH + 1)
    return choice.choice(
        [
            start,
            slice(start, stop, choice.choice([1, 2, -1, -3])),
            slice(None, None, -1),
            ...,
            np.array([choice.random() < 0.5 for _ in range(LENGTH)]),
            np.array(choice.sample(range(LENGTH), 2)),
        ]
    )


class Pairs:
    """Arrays of broadloom, each with a NumPy array of the expected elements."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice
        self.memory = [np.array([choice.randrange(100) for _ in range(LENGTH)]) for _ in range(2)]
        self.pairs = [(bl.asarray(memory), memory.copy()) for memory in self.memory]
        self.shared = [memory.copy() for memory in self.memory]
        self.given: list[tuple[np.ndarray, np.ndarray]] = []

    def assign(self) -> None:
        (x, x_copy), (y, y_copy) = self.choice.choice(self.pairs), self.choice.choice(self.pairs)
        key = random_key(self.choice)
        count = x_copy[key].size
        number = self.choice.randrange(100)
        values, expected = self.choice.choice(
            [
                (number, number),
                (y[0], y_copy[0]),
                (y[:count], y_copy[:count]),
                (y[:count] * 2 + 1, y_copy[:count] * 2 + 1),
            ]
        )
        if np.ndim(x_copy[key]) == 0 and np.ndim(expected) != 0:
            values, expected = y[1] + 1, y_copy[1] + 1
        x_copy[key] = np.copy(expected)
        x[key] = values

    def build(self) -> None:
        (x, x_copy), (y, y_copy) = self.choice.choice(self.pairs), self.choice.choice(self.pairs)
        shift = self.choice.randrange(LENGTH)
        made = [
            (x + y, x_copy + y_copy),
            # Arrays that share memory, unchanged and reversed. They are not made by indexing, since writes to them
            # would reach the other array.
            (bl.astype(x, x.dtype), x_copy.copy()),
            (bl.Array._of(bl.flip(x)._handle), x_copy[::-1].copy()),
            (bl.asarray(x, copy=True), x_copy.copy()),
            (bl.roll(x, shift), np.roll(x_copy, shift)),
            (bl.asarray(np.asarray(x)) * 1, x_copy.copy()),
        ]
        self.pairs.append(self.choice.choice(made))

    def give(self) -> None:
        x, x_copy = self.choice.choice(self.pairs)
        values = self.choice.choice([np.asarray, np.from_dlpack])(x)[self.choice.choice([0, 1]) :]
        self.given.append((values, x_copy[LENGTH - len(values) :].copy()))

    def drop(self) -> None:
        if len(self.pairs) > 3:
            del self.pairs[self.choice.randrange(len(self.pairs))]

    def check(self) -> None:
        for x, expected in self.pairs:
            assert np.array_equal(np.asarray(x), expected)
        for values, expected in self.given:
            assert np.array_equal(values, expected)
        for memory, expected in zip(self.memory, self.shared, strict=True):
            assert np.array_equal(memory, expected)


@pytest.mark.parametrize("seed", range(200))
def test_assignments_change_one_array(seed: int) -> None:
    choice = random.Random(seed)
    pairs = Pairs(choice)
    for _ in range(STEPS):
        choice.choice([pairs.assign, pairs.assign, pairs.assign, pairs.build, pairs.give, pairs.drop])()
    pairs.check()


KEYS: list[Any] = [0, slice(1, 3), np.array([0, 2])]


def own(length: int = LENGTH) -> bl.Array:
    """An array that owns its memory, since elements of it were set before. Further elements are set in place."""
    x = bl.asarray(np.arange(float(length))) + 1
    x[0] = 10.0
    return x


@pytest.mark.parametrize("key", KEYS)
def test_an_interrupt_while_elements_are_set_leaves_all_elements(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = own()
    y = x + 1 if isinstance(key, slice) else None
    before = x.tolist()
    taken = _indexing.taken

    def interrupted(array: bl.Array) -> Any:
        taken(array)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(_indexing, "taken", interrupted)
        x[key] = 77.0
    assert x.tolist() == before and (x + 0).tolist() == before
    x[key] = 77.0
    expected = np.array(before)
    expected[key] = 77.0
    assert x.tolist() == expected.tolist() and (x + 0).tolist() == expected.tolist()
    assert y is None or y.tolist() == [value + 1 for value in before]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shared", [False, True])
def test_who_reads_while_elements_are_set_sees_the_others(
    key: Any, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = own()
    other = x + 1 if shared else None
    before = x.tolist()
    taken, seen = _indexing.taken, []

    def read() -> None:
        seen.append((x.tolist(), (x + 0).tolist(), np.asarray(x[1:]).tolist()))

    def watched(array: bl.Array) -> Any:
        made = taken(array)
        reader = threading.Thread(target=read)
        reader.start()
        reader.join()
        return made

    monkeypatch.setattr(_indexing, "taken", watched)
    x[key] = 77.0
    assert seen and all(one == (before, before, before[1:]) for one in seen)
    expected = np.array(before)
    expected[key] = 77.0
    assert x.tolist() == expected.tolist()
    assert other is None or other.tolist() == [value + 1 for value in before]


@pytest.mark.parametrize("key", KEYS)
def test_what_another_thread_sets_meanwhile_is_not_lost(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = own()
    expected = np.array(x.tolist())
    taken, derived = _indexing.taken, []

    def set_another(array: bl.Array) -> Any:
        made = taken(array)
        monkeypatch.setattr(_indexing, "taken", taken)
        derived.append(x + 0)
        x[4] = 55.0
        return made

    monkeypatch.setattr(_indexing, "taken", set_another)
    x[key] = 77.0
    expected[key] = 77.0
    expected[4] = 55.0
    assert x.tolist() == expected.tolist() and (x + 0).tolist() == expected.tolist()
    assert derived[0].tolist()[4] == 5.0


def test_a_value_that_can_not_be_computed_leaves_all_elements() -> None:
    x = bl.asarray(np.arange(LENGTH))
    x[0] = 10
    before = x.tolist()
    value = bl.asarray(np.arange(4))
    stop = Stopped(value._handle)
    value._handle, value._origin = stop, None  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        x[1:] = value
    assert x.tolist() == before and (x + 0).tolist() == before


class Stopped:
    """A substitute for a handle whose evaluation is interrupted."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    is_evaluated = False

    def evaluate(self, *_: Any) -> Any:
        raise KeyboardInterrupt

    evaluate_into = to_numpy = evaluate


# Views.


def write_elements(x: Any) -> None:
    x[0][1] = 99


def write_a_transpose(x: Any) -> None:
    x.T[0] = 5


def write_rows(x: Any) -> None:
    for row in x:
        row[2] = -1


def write_views_of_views(x: Any) -> None:
    x[0][::2][1] = 3
    x.T.T[1][0] = 4
    x[None][0, 0, 0] = 13


def write_with_arrays_as_keys(x: Any) -> None:
    x[0][x[0] > 1] = 1
    x[1][[0, 2]] = [7, 8]


def write_what_methods_give(x: Any) -> None:
    x.reshape(-1)[3] = 8
    x.ravel()[4] = 9
    x.swapaxes(0, 1)[2] = 11
    x[None].squeeze()[0, 1] = 12
    x.transpose()[1, 1] = 14


def write_in_place(x: Any) -> None:
    x[1].fill(2)
    x[:, 1].sort()


def write_a_view_twice(x: Any) -> None:
    row = x[1]
    row[0] = 21
    row[1:] = row[:2] + 1
    assert row.tolist() == x[1].tolist()


def write_to_a_copy(x: Any) -> None:
    x[[0, 1]][0] = 100
    x[x > 2][0] = 100
    x[0].copy()[0] = 100
    x.flatten()[0] = 100


WRITES = [value for name, value in sorted(globals().items()) if name.startswith("write_")]


@pytest.mark.parametrize("write", WRITES)
def test_writes_to_views_reach_the_array_as_numpys_do(write: Any) -> None:
    memory = np.arange(6.0).reshape(2, 3)
    expected = memory.copy()
    write(expected)
    for x in (bl.asarray(memory), bl.asarray(memory - 1) + 1):
        before = x * 1
        write(x)
        assert x.tolist() == expected.tolist()
        assert before.tolist() == np.arange(6.0).reshape(2, 3).tolist()
    assert memory.tolist() == np.arange(6.0).reshape(2, 3).tolist()


def test_an_operator_in_place_gives_a_view_values_of_its_own() -> None:
    x = bl.asarray([[1, 2], [3, 4]])
    row = x[0]
    row *= 2
    row[0] = 9
    assert row.tolist() == [9, 4] and x.tolist() == [[1, 2], [3, 4]]


def test_elements_of_traced_arrays_are_not_set_through_views() -> None:
    with pytest.raises(bl.TracerError, match="setting elements"):
        bl.jit(lambda x: x[0].__setitem__(0, 1))(np.ones((2, 2)))


@pytest.mark.parametrize(
    "key", [2, -1, slice(1, 4), slice(None, None, -2), [0, 3], np.array([True, False] * 3)], ids=repr
)
def test_elements_of_flat_are_set(key: Any) -> None:
    theirs = np.arange(6.0).reshape(2, 3)
    ours = bl.asarray(theirs.copy())
    for x in (ours, theirs):
        x.flat[key] = 9
        x.T.flat[0] = 7
    assert np.array_equal(np.asarray(ours), theirs)
    assert np.array_equal(np.asarray(ours.flat[key]), theirs.flat[key])


@pytest.mark.parametrize("key", [[0, 3], [True, False] * 3], ids=["indices", "mask"])
def test_keys_of_flat_may_be_broadlooms_arrays(key: list[int]) -> None:
    theirs = np.arange(6.0).reshape(2, 3)
    x = bl.asarray(theirs.copy()) + 0
    assert x.flat[bl.asarray(key)].tolist() == theirs.flat[np.asarray(key)].tolist()
    x.flat[bl.asarray(key)] = theirs.flat[np.asarray(key)] = 9
    assert np.array_equal(np.asarray(x), theirs)


def test_flat_is_numpys_iterator() -> None:
    theirs = np.arange(6.0).reshape(2, 3)
    ours = bl.asarray(theirs.copy()) + 0
    flat = ours.flat
    assert next(flat) == 0.0 and next(flat) == 1.0 and list(flat) == [2.0, 3.0, 4.0, 5.0]
    assert len(ours.flat) == 6 and np.array_equal(np.asarray(ours.flat), theirs.flat)
    assert ours.flat.copy().tolist() == list(range(6))
    for x in (ours, theirs):
        x.flat = [1, 2]
    assert np.array_equal(np.asarray(ours), theirs)
    # An assignment begins the iteration again.
    for x in (ours, theirs):
        elements = x.flat
        first = next(elements)
        elements[1] = 8.0
        assert (first, next(elements), next(elements)) == (1.0, 1.0, 8.0)
    with pytest.raises(IndexError):
        ours.flat[9] = 1
    assert list(copy(ours.flat)) == list(theirs.flat)
