"""Tests graphs of very many nodes: they are built, evaluated, printed, copied, pickled and dropped without recursion.

`BROADLOOM_NODES` is their number; 20 000 by default.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom._array import Array
from broadloom._core import Handle

NODES = int(os.environ.get("BROADLOOM_NODES", "20000"))

F8 = np.dtype("f8")


def chain(start: Handle, nodes: int = NODES) -> Array:
    """A chain of additions as one graph. It is not built by arrays of the namespace, which are evaluated every
    hundred operations."""
    one, made = Handle.full([], 1.0, F8), start
    for _ in range(nodes):
        made = _core.apply("add", made, one)
    return Array._of(made)


def lent_chain() -> Array:
    return chain(Handle.from_numpy(np.arange(3.0)))


EXPECTED = [NODES + 0.0, NODES + 1.0, NODES + 2.0]

USES: dict[str, Callable[[Array], Any]] = {
    "tolist": lambda x: x.tolist(),
    "evaluate": lambda x: bl.evaluate(x).tolist(),
    "deepcopy": lambda x: copy.deepcopy(x).tolist(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).tolist(),
    "an element": lambda x: [float(x[i]) for i in range(3)],
}


@pytest.mark.parametrize("name", USES)
def test_a_long_chain_has_its_values(name: str) -> None:
    assert USES[name](lent_chain()) == EXPECTED


def test_a_long_chain_is_printed_and_explained() -> None:
    assert repr(lent_chain()) == f"Array([{NODES}., {NODES + 1}., {NODES + 2}.], dtype=float64)"
    text = lent_chain()._handle.text()
    assert text.count("+") == NODES
    assert len(bl.explain(lent_chain()).__str__()) > 1000
    assert "an expression, not computed yet" in lent_chain()._repr_html_()


def test_a_long_chain_that_reads_no_memory_is_pickled() -> None:
    made = pickle.loads(pickle.dumps(chain(Handle.arange(0, 3, 1, F8))))
    assert made.tolist() == EXPECTED


def test_arrays_that_build_on_their_own_results() -> None:
    x = bl.asarray(np.zeros(3))
    for _ in range(NODES):
        x = x + 1
    assert x.tolist() == [NODES] * 3


def test_a_tree_of_many_lent_arrays() -> None:
    leaves = [bl.asarray(np.full(2, float(i))) for i in range(4096)]
    while len(leaves) > 1:
        leaves = [x + y for x, y in zip(leaves[::2], leaves[1::2])]
    assert leaves[0].tolist() == [4095 * 2048.0] * 2


def test_doubling_is_not_exponential() -> None:
    x = bl.asarray(np.ones(2))
    for _ in range(900):
        x = (x + x) * 0.5
    made = x._handle
    for _ in range(90):
        made = _core.apply("add", made, made)
    assert Array._of(made).tolist() == [2.0**90] * 2


def test_chains_fit_small_stacks() -> None:
    code = (
        "import threading; threading.stack_size(256 * 1024)\n"
        "from test_large_graphs import EXPECTED, USES, lent_chain\n"
        "def run():\n"
        "    for use in USES.values(): assert use(lent_chain()) == EXPECTED\n"
        "    repr(lent_chain()); lent_chain()._handle.text(); print('done')\n"
        "thread = threading.Thread(target=run); thread.start(); thread.join()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert ran.stdout == "done\n", ran.stdout + ran.stderr
