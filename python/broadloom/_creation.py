"""Arrays from NumPy's arrays, from values, and from nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from broadloom._array import Array
from broadloom._core import Handle


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Array:
    """An array of what `obj` has.

    The memory of a NumPy array is shared where that is possible, and read when a value is computed: a write in between is
    seen. With `copy=True` the values are those of now.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.array([1.0, 2.0]))
    >>> float((x + x)[1])
    4.0
    """
    if isinstance(obj, Array):
        return obj
    values = np.array(obj, dtype=dtype, copy=copy)
    return Array._of(Handle.from_numpy(values), values)
