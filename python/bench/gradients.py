"""The time of gradients beside JAX's jitted ones of the same functions on the same arrays: the least of several rounds in which
they take turns, on one thread. `of the function` is the time of the gradient divided by that of the function itself.

    python python/bench/gradients.py
    python python/bench/gradients.py --rounds 3 --rows rosenbrock
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# JAX reads these once, when it is imported.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np

import broadloom as bl

STEPS, COLUMNS = 10_000, 256


class Row(NamedTuple):
    """A function and its derivative, written once for both libraries."""

    #: What is derived from the function: a call of the library with the function.
    derivative: Callable[[Any, Callable[..., Any]], Callable[..., Any]]
    #: The function of arrays, given the library.
    function: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]


def gradient(of: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """The value and the gradient of the first argument."""
    return of.value_and_grad(f)


def all_gradients(of: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of all five arguments."""
    return of.grad(f, argnums=(0, 1, 2, 3, 4))


def gamma(of: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """The second derivative in the first argument, element by element, forward over reverse."""
    first = of.grad(f)
    lib = bl if of is bl else jnp
    return lambda x, *rest: of.jvp(lambda y: first(y, *rest), (x,), (lib.ones_like(x),))[1]


def rosenbrock(of: Any, x: Any) -> Any:
    return of.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def black_scholes(of: Any, s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """The sum of the prices of calls, so that its gradients are the Greeks of each."""
    erf = bl.erf if of is bl else jsp.erf
    root = v * of.sqrt(t)
    d1 = (of.log(s / k) + (r + v * v * 0.5) * t) / root
    d2 = d1 - root

    def normal(d: Any) -> Any:
        return 0.5 * (1.0 + erf(d * 0.7071067811865476))

    return of.sum(s * normal(d1) - k * of.exp(-r * t) * normal(d2))


def cross_entropy(of: Any, logits: Any, labels: Any) -> Any:
    stop = bl.stop_gradient if of is bl else jax.lax.stop_gradient
    shifted = logits - stop(of.max(logits, axis=1, keepdims=True))
    picked = of.sum(of.where(labels[:, None] == of.arange(logits.shape[1]), shifted, 0.0), axis=1)
    return of.mean(of.log(of.sum(of.exp(shifted), axis=1)) - picked)


def logistic(of: Any, w: Any, x: Any, y: Any) -> Any:
    z = of.sum(x * w, axis=1)
    return of.mean(of.logaddexp(z * 0.0, z) - y * z)


def chain(of: Any, x: Any) -> Any:
    """A hundred operations."""
    for i in range(25):
        x = of.sqrt(x * x + (0.5 + i)) - 0.25
    return of.sum(x)


def recurrence(of: Any, x: Any) -> Any:
    """A state of 256 columns over 10 000 steps. No output is used, so that neither library computes any."""
    if of is bl:
        last, _ = bl.scan(lambda s, v: (0.9 * s + v * v * s * 0.01 + v, s), bl.zeros(COLUMNS, dtype=x.dtype), x)
    else:
        last, _ = jax.lax.scan(lambda s, v: (0.9 * s + v * v * s * 0.01 + v, None), jnp.zeros(COLUMNS, x.dtype), x)
    return of.sum(last)


def rows(rng: np.random.Generator) -> dict[str, Row]:
    """The rows of the table."""
    made = {}
    n = 1_000_000
    made["rosenbrock float32, 1e6"] = Row(gradient, rosenbrock, (rng.random(n, np.float32),))
    for dtype in (np.float32, np.float64):
        s, k, t, r, v = (
            low + rng.random(n) * wide for low, wide in ((80, 40), (80, 40), (0.2, 1), (0.01, 0.05), (0.1, 0.3))
        )
        arrays = tuple(a.astype(dtype) for a in (s, k, t, r, v))
        made[f"black–scholes, five Greeks, {np.dtype(dtype)}, 1e6"] = Row(all_gradients, black_scholes, arrays)
        made[f"black–scholes, gamma, {np.dtype(dtype)}, 1e6"] = Row(gamma, black_scholes, arrays)
    logits, labels = rng.standard_normal((1000, 1000)).astype(np.float32), rng.integers(0, 1000, 1000).astype(np.int32)
    made["cross-entropy float32, 1000²"] = Row(gradient, cross_entropy, (logits, labels))
    w, x = rng.standard_normal(32) * 0.1, rng.standard_normal((100_000, 32))
    y = (rng.random(100_000) < 0.5).astype(np.float64)
    made["logistic regression float64, 1e5 × 32"] = Row(gradient, logistic, (w, x, y))
    made["chain of 100 operations, float32, 1e6"] = Row(gradient, chain, (rng.random(n, np.float32),))
    for dtype in (np.float32, np.float64):
        steps = (rng.standard_normal((STEPS, COLUMNS)) * 0.1).astype(dtype)
        made[f"scan of 1e4 steps, 256 columns, {np.dtype(dtype)}"] = Row(gradient, recurrence, (steps,))
    return made


def least(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The least seconds of each call over rounds in which they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begun)
    return best


def flat(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree of tuples."""
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, tuple) else [np.asarray(tree)]


def first_call(of: Any, jit: Any, f: Callable[..., Any], x: np.ndarray) -> float:
    """The seconds to trace, differentiate, compile and run a function for the first time."""
    begun = time.perf_counter()
    flat(jit(of.value_and_grad(f))(x))
    return time.perf_counter() - begun


def print_first_calls() -> None:
    """Prints the time of the first call of a new function of 20 operations."""
    x = np.random.default_rng(1).random(1000)
    best = [float("inf")] * 2
    for round_number in range(5):
        for i, (of, lib, jit) in enumerate(((bl, bl, lambda f: bl.jit(f, threads=1)), (jax, jnp, jax.jit))):

            def twenty(x: Any, lib: Any = lib, shift: float = 0.5 + round_number) -> Any:
                for step in range(5):
                    x = lib.sqrt(x * x + (shift + step)) - 0.25
                return lib.sum(x)

            best[i] = min(best[i], first_call(of, jit, twenty, x))
    print(f"\nfirst call, 20 operations, 1000 elements: {best[0] * 1e3:.2f} ms, JAX {best[1] * 1e3:.1f} ms")


def measured(row: Row, rounds: int) -> list[float]:
    """The least seconds of our gradient, of JAX's and of our function, after the gradients were compared."""

    def of(lib: Any) -> Callable[..., Any]:
        return lambda *arrays: row.function(lib, *arrays)

    ours, function = (bl.jit(f, threads=1) for f in (row.derivative(bl, of(bl)), of(bl)))
    theirs = jax.jit(row.derivative(jax, of(jnp)))
    arrays = [jax.device_put(array) for array in row.arrays]
    found, expected = flat(ours(*row.arrays)), flat(theirs(*arrays))
    tolerance = 1e-3 if found[-1].dtype == np.float32 else 1e-9
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * float(np.abs(b).max()))
    calls = [
        lambda: ours(*row.arrays),
        lambda: jax.block_until_ready(theirs(*arrays)),
        lambda: function(*row.arrays),
    ]
    return least(calls, rounds)


def main() -> None:
    """Measures the rows and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", nargs="+", default=[""], help="parts of the names of rows")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print("| gradient | broadloom, ms | JAX, ms | JAX / broadloom | of the function |\n| --- | --- | --- | --- | --- |")
    for name, row in rows(np.random.default_rng(1)).items():
        if any(part in name for part in options.rows):
            ours, theirs, alone = measured(row, options.rounds)
            cells = f"{ours * 1e3:.2f} | {theirs * 1e3:.2f} | {theirs / ours:.2f} | {ours / alone:.2f}"
            print(f"| {name} | {cells} |", flush=True)
    print_first_calls()


if __name__ == "__main__":
    main()
