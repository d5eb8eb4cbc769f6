#!/usr/bin/env python3
"""Compares the speed of two builds by alternating their runs.

    scripts/compare_speed.py BASE NEW [options]

BASE and NEW are folders with the release binaries `broadloom-bench` and `overheads` of two commits (a target folder will do):

    cargo build --release -p broadloom-bench --bin broadloom-bench
    cargo build --release -p broadloom-bench --features overheads --bin overheads

Two parts are measured; `--only` picks one.

  rows       `broadloom-bench`: each workload at each size, with the executor `auto` on one thread.
  overheads  `overheads`: compiling 10, 100 and 500 operations at each width, first and cached evaluations, reading text; and
             the first evaluation of a process.

The builds alternate for each workload and size, so that a slow phase of the machine affects both; which one is first
alternates too. A ratio is NEW's time divided by BASE's, computed both from the medians of all rounds and from the
minimum times. `--by` selects which of the two the limits apply to. A row above its limit is measured again for the same
number of rounds, and counts as slower only if the ratio over all rounds is still above. The command fails if a row is
slower. Compare a build with itself first, to see the machine's noise.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = ["1e3", "1e4", "1e5", "1e6", "1e7"]
PROCESS = "process/8_ops/"


def binary(folder, name):
    for path in (folder / name, folder / "release" / name, folder / "target" / "release" / name):
        if path.is_file():
            return path.resolve()
    sys.exit(f"error: there is no {name} in {folder}, nor in its release folder")


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def objects(command):
    return [json.loads(line) for line in run(command).splitlines()]


class Rows:
    """The part `rows`, measured by `broadloom-bench`."""

    program, unit = "broadloom-bench", "ns/element"

    def __init__(self, args):
        self.args = args

    def turns(self, sides):
        """The units that alternate: a workload and a size."""
        names = self.args.workload or workloads(sides[0])
        return [(name, size) for name in names for size in self.args.size or SIZES]

    def measure(self, side, turn):
        name, size = turn
        command = [side, "--json", "--executor", "auto", "--threads", "1", "-w", name, "-n", size]
        command += [part for dtype in self.args.dtype for part in ("--dtype", dtype)]
        found = objects(command + (["--quick"] if self.args.quick else []))
        return {
            f"{row['workload']} {row['dtype']} {row['n']}": (row["ns_per_elem"], row["ns_per_elem"], row["executor"])
            for row in found
        }

    def turn_of(self, name):
        workload, _, n = name.split(" ")
        return next(turn for turn in self.all_turns if turn[0] == workload and float(turn[1]) == float(n))


def workloads(program):
    """The names of the workloads, taken from the error message for a wrong name."""
    done = subprocess.run([program, "-w", "?"], capture_output=True, text=True, check=False)
    _, found, names = done.stderr.partition("there are ")
    if not found:
        sys.exit(f"error: {program} lists no workloads: {done.stderr.strip()}")
    return names.split("\n", 1)[0].split(", ")


class Overheads:
    """The part `overheads`, and the first evaluation of a process."""

    program, unit = "overheads", "µs"

    def __init__(self, args):
        self.args = args

    def turns(self, sides):
        names = sorted({figure["name"] for side in sides for figure in objects([side])})
        # All names with the same prefix before the slash are measured by one process.
        groups = dict.fromkeys(name.split("/")[0] + "/" for name in names)
        return list(groups) + [PROCESS + name for name in ("auto", "interp", "jit")]

    def measure(self, side, turn):
        if turn.startswith(PROCESS):
            times = [float(run([side, "first", turn.removeprefix(PROCESS)])) / 1e3 for _ in range(15)]
            return {turn: (min(times), statistics.median(times), "")}
        return {
            figure["name"]: (figure["min_ns"] / 1e3, figure["median_ns"] / 1e3, "") for figure in objects([side, turn])
        }

    def turn_of(self, name):
        return name if name.startswith(PROCESS) else name.split("/")[0] + "/"


class Table:
    """The measurements of both builds, by name."""

    def __init__(self):
        self.least = [{}, {}]
        self.middle = [{}, {}]
        self.who = [{}, {}]

    def add(self, side, found):
        for name, (least, middle, who) in found.items():
            self.least[side].setdefault(name, []).append(least)
            self.middle[side].setdefault(name, []).append(middle)
            if who:
                self.who[side].setdefault(name, set()).add(who)

    def names(self):
        return [name for name in self.least[0] if name in self.least[1]]

    def missing(self):
        return sorted(set(self.least[0]) ^ set(self.least[1]))

    def times(self, name, by):
        """The times of both builds."""
        if by == "min":
            return tuple(min(side[name]) for side in self.least)
        return tuple(statistics.median(side[name]) for side in self.middle)

    def ratio(self, name, by):
        base, new = self.times(name, by)
        return new / base


def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def take_turns(part, sides, turns, rounds, table):
    for number in range(rounds):
        for place, turn in enumerate(turns):
            if sys.stderr.isatty():
                print(f"\r\033[Kround {number + 1}/{rounds}: {turn}", end="", file=sys.stderr)
            order = (0, 1) if (number + place) % 2 == 0 else (1, 0)
            for side in order:
                table.add(side, part.measure(sides[side], turn))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def compare(part, args, mean_limit, limit):
    """Measures a part and prints the results. Returns whether all are within the limits."""
    with tempfile.TemporaryDirectory() as folder:
        # Both binaries are copied, so that both are laid out in the page cache in the same way. The layout of a file
        # written by a linker is different, which changes the time that a process takes to start by a factor of up to
        # 1.4.
        sides = [Path(folder) / side for side in ("base", "new")]
        for side, given in zip(sides, (args.base, args.new)):
            side.write_bytes(binary(given, part.program).read_bytes())
            side.chmod(0o755)
        return compare_sides(part, sides, args, mean_limit, limit)


def compare_sides(part, sides, args, mean_limit, limit):
    part.all_turns = part.turns(sides)
    table = Table()
    take_turns(part, sides, part.all_turns, args.rounds, table)
    slow = lambda: [name for name in table.names() if table.ratio(name, args.by) > limit]
    again = list(dict.fromkeys(part.turn_of(name) for name in slow()))
    take_turns(part, sides, again, args.rounds, table)
    report(part, args, table, again)
    mean = geometric_mean([table.ratio(name, args.by) for name in table.names()])
    too_slow = slow()
    print(f"limits: mean {mean:.4f} of {mean_limit}, {len(too_slow)} above {limit}: {', '.join(too_slow) or 'none'}\n")
    if args.out:
        kept = {"least": table.least, "median": table.middle, "unit": part.unit}
        path = args.out.with_name(f"{args.out.name}-{part.program}.json")
        path.write_text(json.dumps(kept, indent=1))
    return mean <= mean_limit and not too_slow


def report(part, args, table, again):
    names = table.names()
    width = max(map(len, names))
    heading = f"{'':{width}}  {'base':>11}  {'new':>11}  {'medians':>8}  {'least':>8}"
    print(f"{part.program}: {len(names)} rows, {args.rounds} rounds, {len(again)} turns measured again; {part.unit}")

    def line(name):
        base, new = table.times(name, args.by)
        who = [",".join(sorted(side.get(name, ()))) for side in table.who]
        changed = "" if who[0] == who[1] else f"  {who[0]} -> {who[1]}"
        ratios = [table.ratio(name, by) for by in ("median", "min")]
        return f"{name:{width}}  {base:11.4f}  {new:11.4f}  {ratios[0]:8.3f}  {ratios[1]:8.3f}{changed}"

    print(heading)
    if args.all or part.program == "overheads":
        print("\n".join(map(line, names)))
    else:
        ordered = sorted(names, key=lambda name: table.ratio(name, args.by), reverse=True)
        print("\n".join(map(line, ordered[: args.worst])))
        print("…")
        print("\n".join(map(line, ordered[max(args.worst, len(ordered) - 5) :])))
    for by in ("median", "min"):
        ratios = [table.ratio(name, by) for name in names]
        print(f"geometric mean, {by}: {geometric_mean(ratios):.4f}")
    if table.missing():
        print("of one side only:", ", ".join(table.missing()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", choices=["rows", "overheads"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--by", choices=["median", "min"], default="median", help="what the limits are for")
    parser.add_argument("-w", "--workload", action="append", help="only this workload")
    parser.add_argument("--dtype", action="append", default=[], help="only this dtype")
    parser.add_argument("-n", "--size", action="append", help=f"a size [default: {' '.join(SIZES)}]")
    parser.add_argument("--worst", type=int, default=20, help="how many of the worst rows are printed")
    parser.add_argument("--all", action="store_true", help="print all rows")
    parser.add_argument("--quick", action="store_true", help="as little time as possible: for trying this script")
    parser.add_argument("--out", type=Path, help="write all times to files that begin with this path")
    args = parser.parse_args()
    held = True
    if args.only != "overheads":
        held &= compare(Rows(args), args, 1.01, 1.08)
    if args.only != "rows":
        held &= compare(Overheads(args), args, 1.03, 1.03)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
