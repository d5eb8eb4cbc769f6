"""Examples in docstrings have NumPy as `np` and the package as `bl`."""

from typing import Any

import numpy as np
import pytest

import broadloom as bl


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["np"] = np
    doctest_namespace["bl"] = bl
