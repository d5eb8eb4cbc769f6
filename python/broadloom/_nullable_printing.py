"""Arrays with nulls as text, laid out as NumPy lays out its arrays, and shortened as other arrays are."""

from __future__ import annotations

import numpy as np

from broadloom._array import Array
from broadloom._nullable import with_none
from broadloom._printing import corners


def nullable(values: Array, mask: Array | None) -> str:
    """The text of an array with nulls: its elements, the dtype, and the shape if the elements do not show it."""
    options = np.get_printoptions()
    threshold, edge = int(options["threshold"]), max(int(options["edgeitems"]), 1)
    is_summary = (values.size or 0) > threshold
    shown, valid = (
        None if array is None else corners(array, edge) if is_summary else np.asarray(array) for array in (values, mask)
    )
    assert shown is not None
    elements = shown.astype(object) if valid is None else with_none(shown, valid)
    prefix = "NullableArray("
    text = np.array2string(
        np.asarray(elements),
        separator=", ",
        prefix=prefix,
        threshold=0 if is_summary else threshold,
        edgeitems=edge,
        formatter={"all": lambda x: "null" if x is None else str(x)},
    )
    shape = f"shape={values.shape}, " if is_summary or values.size == 0 else ""
    return f"{prefix}{text}, {shape}dtype={values.dtype})"
