"""Elements that masks select, and the indices of elements that are not 0, by the engine. The operands are evaluated, since the
extents of the results depend on values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom import _core
from broadloom._array import Array
from broadloom._buffer import of_rule
from broadloom._core import Handle
from broadloom._gathers import axes_of, completed, is_mask, of_slices, part_of, selected
from broadloom._operands import one_axis
from broadloom._signatures import take_numpys_arguments
from broadloom._through_numpy import values_of

__all__: list[str] = ["compress", "nonzero"]


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The indices, as int64, of the elements that are not 0, in row-major order: one array for each axis. Evaluates
    its operand.

    Raises ValueError for an array of rank 0.

    >>> bl.nonzero(bl.asarray([0, 5, 0, 7]))[0]
    Array([1, 3], dtype=int64)
    """
    values = values_of(x)
    if values.ndim == 0:
        raise ValueError("nonzero: an array of rank 0 has no indices")
    return tuple(Array._of(of_rule(found, x)) for found in _core.nonzero(Handle.from_numpy(values)))


def compress(condition: Array, x: Array, /, axis: int | None = None) -> Array:
    """The elements along an axis, or in row-major order without one, at which a condition is true. Evaluates its operands.

    The condition has one axis. If it has fewer elements than the axis, those beyond are not selected.

    Raises ValueError for a condition of another rank or of more elements, and if there is no such axis.

    >>> bl.compress(bl.asarray([True, False, True]), bl.asarray([[1, 2, 3], [4, 5, 6]]), axis=1)
    Array([[1, 3],
           [4, 6]], dtype=int64)
    """
    mask, values = values_of(condition), values_of(x)
    if mask.ndim != 1:
        raise ValueError(f"compress: the condition has one axis, this one has {mask.ndim}")
    if axis is None:
        values, axis = values.reshape(-1), 0
    axis = one_axis("compress", axis, values.ndim)
    if len(mask) > values.shape[axis]:
        raise ValueError(f"compress: a condition of {len(mask)} elements for an axis of {values.shape[axis]}")
    values = values[(slice(None),) * axis + (slice(len(mask)),)]
    handle, chosen = Handle.from_numpy(values), Handle.from_numpy(mask.astype(np.bool_, copy=False))
    return Array._of(of_rule(_core.compress(handle, chosen, axis), x))


def masked(array: Array, key: Any) -> Array | None:
    """The elements at a key that contains masks, by NumPy's rules; None if it contains none, or one without axes.

    Raises IndexError for a mask whose shape is not that of its axes."""
    parts = [part_of(part) for part in (key if isinstance(key, tuple) else (key,))]
    masks = [part for part in parts if is_mask(part)]
    if not masks or any(mask.ndim == 0 for mask in masks):
        return None
    values = values_of(array)
    handle = of_rule(Handle.from_numpy(values), array)
    whole = completed(parts, values.ndim)
    axis = 0
    chosen = []
    for part in whole:
        if is_mask(part):
            extents, mask = values.shape[axis : axis + part.ndim], values_of(part)
            # As in NumPy, an empty mask selects nothing of any axes.
            if any(n not in (0, extent) for n, extent in zip(mask.shape, extents, strict=True)):
                raise IndexError(f"a mask of shape {part.shape} for axes of shape {extents}")
            chosen.append(mask if mask.shape == extents else np.zeros(extents, np.bool_))
        axis += axes_of(part)
    arrays = [place for place, part in enumerate(whole) if not (part is None or isinstance(part, slice))]
    if len(arrays) == 1:
        (place,), (mask,) = arrays, chosen
        view = of_slices(handle, [*whole[:place], *[slice(None)] * mask.ndim, *whole[place + 1 :]])
        return Array._of(_core.compress(view, Handle.from_numpy(mask), place))
    # Beside other arrays, a mask is as many arrays of indices as it has axes.
    indices = [nonzero(part) if is_mask(part) else (part,) for part in parts]
    return selected(Array._of(handle), tuple(part for several in indices for part in several))


take_numpys_arguments(globals(), __all__)
