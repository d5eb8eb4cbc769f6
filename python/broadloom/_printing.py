"""Formats arrays as text with NumPy's layout.

For an array above NumPy's threshold only the corners are shown, and no other element is computed: the corners are
evaluated as slices and copied into a small array, which NumPy summarises to the same text.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from broadloom._array import Array
from broadloom._registry import registered

#: A block of an array, and its place in a summary.
Corner = tuple[tuple[slice, ...], tuple[slice, ...]]


def blocks(array: Array, edge: int) -> tuple[list[int], list[Corner]]:
    """The shape of a summary of the first and last elements along each axis, and the blocks that it consists of."""
    parts: list[list[tuple[slice, slice]]] = []
    shape = []
    for extent in array.shape:
        assert extent is not None
        if extent > 2 * edge:
            shape.append(2 * edge + 1)
            parts.append(
                [(slice(0, edge), slice(0, edge)), (slice(extent - edge, extent), slice(edge + 1, 2 * edge + 1))]
            )
        else:
            shape.append(extent)
            parts.append([(slice(0, extent), slice(0, extent))])
    pairs = product(*parts)
    return shape, [(tuple(source for source, _ in block), tuple(target for _, target in block)) for block in pairs]


def corners(array: Array, edge: int) -> np.ndarray:
    """The first and last elements along each axis, with one element of any value between them where others are left out."""
    shape, parts = blocks(array, edge)
    shown = np.zeros(shape, dtype=array.dtype)
    # The blocks are evaluated one by one. Evaluated together, they would share the whole array, which would then be
    # computed in memory.
    for source, target in parts:
        shown[target] = array._handle.slice(source).evaluate().to_numpy()
    return shown


def _layout(array: Array, separator: str, prefix: str) -> tuple[str, bool]:
    """The elements as text, and whether some are omitted."""
    options = np.get_printoptions()
    threshold, edge = int(options["threshold"]), max(int(options["edgeitems"]), 1)
    size = array.size or 0
    if size <= threshold or array._handle.is_evaluated or array._origin is not None:
        values = np.asarray(array)
        return np.array2string(values, separator=separator, prefix=prefix), size > threshold
    values = corners(array, edge)
    text = np.array2string(values, separator=separator, prefix=prefix, threshold=0, edgeitems=edge)
    return text, True


@registered("elements")
def elements(array: Array) -> str:
    """The elements, formatted as by `str` for a NumPy array."""
    if array._handle.is_symbolic:
        return representation(array)
    if array.ndim == 0:
        return str(array.item())
    return _layout(array, " ", "")[0]


@registered("representation")
def representation(array: Array) -> str:
    """The elements, the dtype, and the shape if the elements do not show it."""
    prefix = "Array("
    if array._handle.is_symbolic:
        dims = array._handle.dims
        return f"{prefix}traced, shape=({', '.join(dims)}{',' if len(dims) == 1 else ''}), dtype={array.dtype})"
    if array.size == 0:
        text, is_summary = "[]", array.shape != (0,)
    else:
        text, is_summary = _layout(array, ", ", prefix)
    about = f"shape={array.shape}, dtype={array.dtype})" if is_summary else f"dtype={array.dtype})"
    last_line = len(text) - (text.rfind("\n") + 1) + (0 if "\n" in text else len(prefix))
    fits = last_line + 2 + len(about) <= int(np.get_printoptions()["linewidth"])
    return f"{prefix}{text},{' ' if fits else chr(10) + ' ' * len(prefix)}{about}"
