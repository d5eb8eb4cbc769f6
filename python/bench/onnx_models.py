"""Compares the times of two ONNX models on broadloom, on onnx's own reference evaluator and, if its interpreter is
named, on onnxruntime.

    python python/bench/onnx_models.py --onnxruntime PYTHON

The input of both models is 1 000 rows of 1 000 float32. `chain` is element-wise: a normalisation by constants, Gelu and
a scale. In `rows`, each row is first standardised by its own mean and standard deviation. The runtimes alternate, and
the minimum over the rounds counts. Since the machine is shared, only ratios are reliable, not milliseconds. Results are
compared first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, parser, save
from onnx.reference import ReferenceEvaluator

MODELS = {
    "chain": """
        <ir_version: 9, opset_import: ["" : 20]>
        chain (float[N, M] x) => (float[N, M] y) {
            mean = Constant <value_float = 0.25> ()
            deviation = Constant <value_float = 1.5> ()
            scale = Constant <value_float = 2.0> ()
            centred = Sub (x, mean)
            normal = Div (centred, deviation)
            active = Gelu (normal)
            y = Mul (active, scale) }""",
    "rows": """
        <ir_version: 9, opset_import: ["" : 20]>
        rows (float[N, M] x) => (float[N, M] y) {
            axis = Constant <value_ints = [1]> ()
            small = Constant <value_float = 0.00001> ()
            scale = Constant <value_float = 2.0> ()
            mean = ReduceMean (x, axis)
            centred = Sub (x, mean)
            squares = Mul (centred, centred)
            variance = ReduceMean (squares, axis)
            more = Add (variance, small)
            deviation = Sqrt (more)
            normal = Div (centred, deviation)
            active = Gelu (normal)
            y = Mul (active, scale) }""",
}

#: The program for the other interpreter. It reads a model and its input, and answers each line with a time.
ORT = """
import sys, time, numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = int(sys.argv[3])
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = np.load(sys.argv[2])
np.save(sys.argv[4], session.run(None, {"x": x})[0])
print(ort.__version__, flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    session.run(None, {"x": x})
    print(time.perf_counter() - begin, flush=True)
"""


def seconds_of(call: Callable[[], Any]) -> float:
    """The time of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(name: str, model: ModelProto, threads: int, rounds: int, interpreter: str | None) -> dict[str, float]:
    """The minimum time of each runtime, in milliseconds."""
    import broadloom.onnx

    x = np.random.default_rng(1).standard_normal((1000, 1000)).astype(np.float32)
    prepared, reference = broadloom.onnx.prepare(model, threads=threads), ReferenceEvaluator(model)
    calls: dict[str, Callable[[], float]] = {
        "broadloom": lambda: seconds_of(lambda: prepared.run([x])),
        "reference": lambda: seconds_of(lambda: reference.run(None, {"x": x})),
    }
    expected = reference.run(None, {"x": x})[0]
    np.testing.assert_allclose(prepared.run([x])[0], expected, rtol=1e-4, atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        process = None
        if interpreter is not None:
            paths = [str(Path(folder, part)) for part in ("model.onnx", "x.npy", "y.npy")]
            save(model, paths[0])
            np.save(paths[1], x)
            command = [interpreter, "-c", ORT, *paths[:2], str(threads), paths[2]]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdin is not None and process.stdout is not None
            to, answers = process.stdin, process.stdout
            print(f"onnxruntime {answers.readline().strip()}")
            np.testing.assert_allclose(np.load(paths[2]), expected, rtol=1e-4, atol=1e-5)

            def ask() -> float:
                to.write("\n")
                to.flush()
                return float(answers.readline())

            calls["onnxruntime"] = ask
        least = dict.fromkeys(calls, float("inf"))
        for number in range(rounds):
            for runtime, call in calls.items():
                if runtime != "reference" or number < 3:
                    least[runtime] = min(least[runtime], call())
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
    return {runtime: 1000 * seconds for runtime, seconds in least.items()}


def main() -> int:
    """Prints a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--onnxruntime", metavar="PYTHON", help="an interpreter that has onnxruntime")
    options.add_argument("--rounds", type=int, default=100)
    given = options.parse_args()
    for name, text in MODELS.items():
        for threads in (1, 2):
            found = measure(name, parser.parse_model(text), threads, given.rounds, given.onnxruntime)
            print(f"{name}, threads {threads}: " + ", ".join(f"{key} {value:.2f} ms" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
