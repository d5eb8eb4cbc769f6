"""Makes many calls of each part of the interface in one process, and checks that its memory does not grow.
`bench/soak.py` makes a million calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent / "bench" / "soak.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_process_does_not_grow_with_its_calls() -> None:
    # A leak of an array of 100 float64 at each call would be 1.4 MB in 2000 calls.
    ran = subprocess.run([sys.executable, str(SOAK), "--calls", "2000", "--most", "1"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(ran.stdout.splitlines()) == 22, ran.stdout
