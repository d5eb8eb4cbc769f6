"""The standard's inspection functions, which report the capabilities of the namespace."""

from __future__ import annotations

from typing import Any

from broadloom import _dtypes as dtypes
from broadloom._array import check_device

#: The dtypes of the standard, which has no float16.
STANDARD = tuple(dtype for dtype in dtypes.ALL if dtype != dtypes.float16)

#: The most axes that an array may have.
MAX_RANK = 64


class NamespaceInfo:
    """The capabilities of the namespace: the object that `__array_namespace_info__` returns."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Indexing by a mask and shapes that depend on values are there: they evaluate.

        >>> bl.__array_namespace_info__().capabilities()["max dimensions"]
        64
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self) -> str:
        """The device of new arrays: "cpu"."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices: "cpu"."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, dtypes.DType]:
        """The dtypes of new arrays by their kind. There are no complex numbers, so no "complex floating".

        >>> bl.__array_namespace_info__().default_dtypes()["integral"]
        dtype('int64')
        """
        check_device(device)
        return {"real floating": dtypes.float64, "integral": dtypes.int64, "indexing": dtypes.int64}

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, dtypes.DType]:
        """The standard's dtypes of a kind, or of several, by their names; all of them by default.

        ValueError for a kind that there is not.

        >>> list(bl.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        check_device(device)
        wanted: Any = tuple(dtypes.KINDS) if kind is None else kind
        return {str(dtype): dtype for dtype in STANDARD if dtypes.isdtype(dtype, wanted)}


def __array_namespace_info__() -> NamespaceInfo:
    """The namespace's inspection functions: capabilities, devices, default_device, dtypes, default_dtypes."""
    return NamespaceInfo()
