"""Random Python functions for `vectorize`, whose results agree bit for bit with CPython's, element by element.

Each function terminates and raises nothing for the arguments below. It uses operations that are exactly rounded:
functions of the C library need not be.

    python tests/random_functions.py 100000      compares this many functions
    python tests/random_functions.py 1 --seed 7  prints one function, and compares it
"""

from __future__ import annotations

import argparse
import linecache
import math
import random
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import broadloom as bl

FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, -7.25, 1e300, -1e-310, math.inf, -math.inf, math.nan, 3.0, 12345.678, 2.0**53]
INTS = [0, 1, -1, 2, 7, -8, 13, 100, -333, 500, 64, 31, -2, 5, 6]


class Generator:
    """Writes one function of two floats, x and y, and two ints, n and m."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.floats, self.ints, self.bools = ["x", "y"], ["n", "m"], []
        self.lines: list[str] = []
        self.names = 0
        self.returns = self.random.choice(["f", "i", "fi", "fib"])

    def pick(self, *choices: Callable[[], str]) -> str:
        return self.random.choice(choices)()

    # Expressions. Ints stay within ±500 in names, and are products of at most four of them elsewhere.

    def float(self, depth: int) -> str:
        r = self.random
        if depth == 0:
            return r.choice(
                [*self.floats, *self.floats, r.choice(["0.5", "2.0", "-0.0", "3.25", "1e10", "-1.0", "0.1"])]
            )
        a, b = (lambda: self.float(depth - 1)), (lambda: self.float(r.randrange(depth)))
        clamped = lambda: f"max(-1e6, min(1e6, {a()}))"  # noqa: E731
        sign = b()
        return self.pick(
            lambda: f"({a()} {r.choice('+-*')} {b()})",
            lambda: f"({a()} {r.choice('+-*')} {b()})",
            lambda: f"({a()} {r.choice('+-*')} {self.int(depth - 1)})",
            lambda: f"({a()} {r.choice(['/', '//', '%'])} (abs({b()}) + 0.5))",
            lambda: f"({clamped()} {r.choice(['/', '//', '%'])} {r.choice(['2.0', '-0.75', '3', '0.1', '-7'])})",
            lambda: f"({self.int(depth - 1)} / {r.choice(['4', '3', '-7', '2.5'])})",
            lambda: f"math.sqrt(abs({a()}))",
            lambda: f"{r.choice(['math.fabs', 'abs', 'float'])}({a()})",
            # The sign of a computed NaN depends on the processor.
            lambda: f"math.copysign({a()}, {sign} if {sign} == {sign} else 1.0)",
            lambda: f"math.fmod({clamped()}, {r.choice(['2.0', '-0.75', '0.3'])})",
            lambda: f"{r.choice(['min', 'max'])}({a()}, {b()})",
            lambda: f"{r.choice(['min', 'max'])}({a()}, {b()}, {self.float(0)})",
            lambda: f"({a()} if {self.bool(depth - 1)} else {b()})",
            lambda: f"float({self.int(depth - 1)})",
            lambda: f"({a()} {r.choice(['and', 'or'])} {b()})",
            lambda: f"-{a()}",
            lambda: f"({a()}, {b()})[{r.choice(['0', '1', '-1'])}]",
        )

    def int(self, depth: int) -> str:
        r = self.random
        if depth == 0:
            return r.choice([*self.ints, *self.ints, str(r.randrange(9)), "-3"])
        a, b = (lambda: self.int(min(depth - 1, 1))), (lambda: self.int(0))
        divisor = f"(abs({b()}) % 7 + 1)" if r.random() < 0.7 else r.choice(["3", "-4", "10"])
        guarded = b()
        return self.pick(
            lambda: f"({a()} {r.choice('+-*')} {b()})",
            lambda: f"({a()} {r.choice('+-*')} {b()})",
            lambda: f"({a()} {r.choice(['//', '%'])} {divisor})",
            lambda: f"({a()} {r.choice(['//', '%'])} {guarded} if {guarded} else {b()})",
            lambda: f"({guarded} and {a()} {r.choice(['//', '%'])} {guarded})",
            lambda: f"({a()} {r.choice('&|^')} {b()})",
            lambda: f"({a()} {r.choice(['<<', '>>'])} ({b()} & 7))",
            lambda: (
                f"{r.choice(['int', 'math.floor', 'math.ceil', 'round', 'math.trunc'])}(max(-1e6, min(1e6, {self.float(depth - 1)})))"
            ),
            lambda: f"{r.choice(['min', 'max'])}({a()}, {b()})",
            lambda: f"({a()} if {self.bool(depth - 1)} else {b()})",
            lambda: f"({a()} + {self.bool(depth - 1)})",
            lambda: f"({a()} {r.choice(['and', 'or'])} {b()})",
            lambda: f"{r.choice(['abs', '-', '~', '+', 'int'])}({a()})",
            lambda: f"({b()} ** {r.choice('0123')})",
            lambda: f"divmod({a()}, {divisor})[{r.randrange(2)}]",
        )

    def bool(self, depth: int) -> str:
        r = self.random
        if depth <= 0:
            names = [f"{self.float(0)} < {self.float(0)}", f"{self.int(0)} > {self.int(0)}", *self.bools]
            return f"({r.choice(names)})"
        compare = r.choice(["<", "<=", ">", ">=", "==", "!="])
        either = lambda: r.choice([self.float, self.int])(depth - 1)  # noqa: E731
        guarded = self.int(0)
        return self.pick(
            lambda: f"({either()} {compare} {either()})",
            lambda: f"({either()} {compare} {either()})",
            lambda: f"({either()} {compare} {either()} {r.choice(['<', '>=', '!='])} {either()})",
            lambda: f"({self.bool(depth - 1)} {r.choice(['and', 'or'])} {self.bool(depth - 1)})",
            lambda: f"(not {either()})",
            lambda: f"({guarded} != 0 and {self.int(0)} // {guarded} > 1)",
            lambda: f"({guarded} == 0 or {self.int(0)} % {guarded} == 1)",
            lambda: f"bool({either()})",
            lambda: f"math.{r.choice(['isnan', 'isinf', 'isfinite'])}({self.float(depth - 1)})",
        )

    # Statements.

    def function(self) -> str:
        r = self.random
        self.lines = ["def f(x, y, n, m):"]
        for kind in "ffiib"[: r.randrange(2, 6)]:
            self.assign(kind, 1)
        for _ in range(r.randrange(1, 4)):
            self.statement(1, 0, False)
        self.result(1)
        return "\n".join(self.lines) + "\n"

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def expression(self, kind: str, depth: int = 2) -> str:
        if kind == "i":
            return f"({self.int(depth)}) % 1001 - 500"
        return self.float(depth) if kind == "f" else self.bool(depth)

    def assign(self, kind: str, indent: int) -> None:
        """Assigns a new name."""
        self.names += 1
        made = f"{kind}{self.names}"
        self.add(indent, f"{made} = {self.expression(kind)}")
        {"f": self.floats, "i": self.ints, "b": self.bools}[kind].append(made)

    def statement(self, indent: int, loops: int, in_loop: bool) -> None:
        r = self.random
        deep = indent >= 4
        kinds = ["set", "set", "augment", "swap", "new", *([] if deep else ["if", "if", "while", "for", "while"])]
        kinds += ["exit", "exit"] if in_loop else ["return"] if indent > 1 and r.random() < 0.5 else []
        kind = r.choice(kinds)
        if kind == "set":
            which = r.choice(["f", "f", "i", "b"])
            names = {"f": self.floats, "i": self.ints, "b": self.bools}[which]
            free = [name for name in names if not name.startswith("k")]
            if free:
                self.add(indent, f"{r.choice(free)} = {self.expression(which)}")
        elif kind == "augment":
            self.add(indent, f"{r.choice(self.floats)} {r.choice('+-*')}= {self.float(1)}")
        elif kind == "swap":
            self.add(indent, f"{self.floats[0]}, {self.floats[-1]} = {self.float(1)}, {self.float(1)}")
        elif kind == "new":
            self.assign(r.choice("fib"), indent)
        elif kind == "if":
            self.add(indent, f"if {self.bool(2)}:")
            self.body(indent + 1, loops, in_loop)
            if r.random() < 0.3:
                self.add(indent, f"elif {self.bool(1)}:")
                self.body(indent + 1, loops, in_loop)
            if r.random() < 0.5:
                self.add(indent, "else:")
                self.body(indent + 1, loops, in_loop)
        elif kind == "exit":
            self.add(indent, f"if {self.bool(1)}:")
            if r.random() < 0.3:
                self.result(indent + 1)
            else:
                self.add(indent + 1, r.choice(["break", "continue"]))
        elif kind == "return":
            self.add(indent, f"if {self.bool(1)}:")
            self.result(indent + 1)
        elif loops < 3:
            self.loop(kind, indent, loops)

    def loop(self, kind: str, indent: int, loops: int) -> None:
        r = self.random
        self.names += 1
        counter = f"k{self.names}"
        if kind == "while":
            trips = r.randrange(1, 7)
            self.add(indent, f"{counter} = 0")
            if r.random() < 0.3:
                self.add(indent, "while True:")
                self.add(indent + 1, f"{counter} += 1")
                self.add(indent + 1, f"if {counter} > {trips}{r.choice(['', f' or {self.bool(1)}'])}:")
                self.add(indent + 2, "break")
            else:
                self.add(indent, f"while {counter} < {trips}{r.choice(['', f' and {self.bool(2)}'])}:")
                self.add(indent + 1, f"{counter} += 1")
        else:
            guard = self.int(0)
            few = lambda: r.choice([str(r.randrange(-3, 6)), f"{self.int(0)} % 5", f"{self.int(0)} % 7 - 3"])  # noqa: E731
            step = r.choice(["1", "2", "-1", "-3", f"({self.int(0)} % 3 + 1)"])
            if r.random() < 0.2:
                self.names += 1
                self.add(indent, f"i{self.names} = 0")
                self.add(indent, f"for {counter} in range(3 if {guard} else 0):")
                self.add(indent + 1, f"i{self.names} += {self.int(0)} {r.choice(['//', '%'])} {guard}")
                self.ints.append(f"i{self.names}")
                return
            bounds = r.choice([few(), f"{few()}, {few()}", f"{few()}, {few()}, {step}"])
            self.add(indent, f"{counter} = 0")
            self.add(indent, f"for {counter} in range({bounds}):")
        self.ints.append(counter)
        self.body(indent + 1, loops + 1, True)
        if r.random() < 0.2:
            self.add(indent, "else:")
            self.body(indent + 1, loops, False)

    def body(self, indent: int, loops: int, in_loop: bool) -> None:
        """Statements, whose new names are not used after them."""
        before = list(self.floats), list(self.ints), list(self.bools)
        count = len(self.lines)
        for _ in range(self.random.randrange(1, 4)):
            self.statement(indent, loops, in_loop)
        if len(self.lines) == count:
            self.add(indent, "pass")
        self.floats, self.ints, self.bools = before

    def result(self, indent: int) -> None:
        parts = [self.expression(kind, 1) for kind in self.returns]
        self.add(indent, f"return {', '.join(parts)}")


def compiled(seed: int, text: str) -> Any:
    """The function of a text, whose source `inspect` finds."""
    name = f"<random {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"math": math}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def bits(value: Any) -> Any:
    """A number as bits; all NaNs are one, since CPython's depend on the processor."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def compare(seed: int) -> str | None:
    """Compares one function. Returns what differs; None if nothing does."""
    text = Generator(seed).function()
    function = compiled(seed, text)
    order = random.Random(seed)
    rows = [(x, order.choice(FLOATS), n, order.choice(INTS)) for x, n in zip(FLOATS, order.sample(INTS, len(INTS)))]
    expected = []
    for row in rows:
        made = function(*row)
        expected.append(made if isinstance(made, tuple) else (made,))
    columns = [np.array(column, dtype) for column, dtype in zip(zip(*rows), ("f8", "f8", "i8", "i8"), strict=True)]
    try:
        # Elements that do not perform a division must not raise its error.
        found = bl.vectorize(function, int_division="error")(*columns)
    except Exception as error:
        return f"seed {seed}: {type(error).__name__}: {error}\n{text}"
    finally:
        del linecache.cache[f"<random {seed}>"]
    results = [result.tolist() for result in (found if isinstance(found, tuple) else (found,))]
    for at, row in enumerate(rows):
        got = tuple(result[at] for result in results)
        if tuple(map(bits, got)) != tuple(map(bits, expected[at])) or list(map(type, got)) != list(
            map(type, expected[at])
        ):
            return f"seed {seed}: f{row} is {expected[at]}, not {got}\n{text}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for seed in range(given.seed, given.seed + given.count):
        if given.count == 1:
            print(Generator(seed).function())
        found = compare(seed)
        if found is not None:
            sys.exit(found)
        if (seed + 1) % 1000 == 0:
            print(seed + 1 - given.seed, flush=True)


if __name__ == "__main__":
    main()
