"""Arrays as text, laid out as NumPy lays out its arrays.

If an array is larger than NumPy's threshold, only its corners are shown, and no other element is computed: the corners
are evaluated as slices, and put into a small array that NumPy shortens to the same text.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from broadloom._array import Array
from broadloom._registry import registered


def corners(array: Array, edge: int) -> np.ndarray:
    """The corners of an array: the first and last elements along each axis, with one element of any value between them
    if others are left out."""
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
    shown = np.zeros(shape, dtype=array.dtype)
    # Corners are evaluated one by one: evaluated together, they would first compute the whole array, which they share,
    # into memory.
    for block in product(*parts):
        corner = array._handle.slice([source for source, _ in block])
        shown[tuple(target for _, target in block)] = corner.evaluate().to_numpy()
    return shown


def _layout(array: Array, separator: str, prefix: str) -> tuple[str, bool]:
    """The text of the elements, and whether some elements are left out."""
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
    """The text of the elements, as `str` of a NumPy array gives it."""
    if array._handle.is_symbolic:
        return representation(array)
    if array.ndim == 0:
        return str(array.item())
    return _layout(array, " ", "")[0]


@registered("representation")
def representation(array: Array) -> str:
    """The text of an array: its elements, the dtype, and the shape if the elements do not show it."""
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
