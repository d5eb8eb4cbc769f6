"""Lazy arrays: whole expressions as one fused loop, with every special case right."""

from broadloom._array import Array
from broadloom._core import CancelledError, Kernel, LimitError, TextError
from broadloom._creation import asarray

from broadloom import linalg
from broadloom._dlpack import from_dlpack
from broadloom._joining import concat, roll, stack
from broadloom._manipulation import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    squeeze,
    tile,
    unstack,
)
from broadloom._through_numpy import (
    argsort,
    matmul,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    tensordot,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

__all__ = ["Array", "CancelledError", "Kernel", "LimitError", "TextError", "asarray"]
