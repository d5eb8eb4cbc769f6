"""What is pickled of kernels: their texts and options, from which the other side builds the same kernels."""

from __future__ import annotations

from typing import Any

from broadloom._core import Kernel


def kernel_of_text(text: str, options: dict[str, Any]) -> Kernel:
    """The kernel that was pickled."""
    return Kernel.parse(text, **options)
