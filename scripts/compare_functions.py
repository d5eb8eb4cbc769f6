#!/usr/bin/env python3
"""Compares the speed of the functions that are not computed exactly with that of other vector libraries.

    python3 scripts/compare_functions.py [--svml FOLDER] [--write docs/generated/performance.md]

Builds broadloom's C library and scripts/compare_functions.c, which alternately times broadloom's functions, through the
C ABI (machine code of 256 and 512 bits), and those of the other libraries, on 100 000 elements in cache: SLEEF's with
errors below one ulp, gcc's libmvec, and the accurate versions of Intel's SVML. Missing libraries are skipped. `--svml`
names the folder with libsvml.so, which is in the PyPI package icc_rt. --write replaces the table for this class of
processors in a page, and keeps the table for the other class. Needs gcc.
"""

import argparse
import datetime
import math
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_suffix(".c")

# The timed functions, with the ranges of their arguments.
UNARY = {
    "exp": (-10, 10), "exp2": (-10, 10), "expm1": (-5, 5),
    "log": (0.01, 100), "log2": (0.01, 100), "log10": (0.01, 100), "log1p": (-0.9, 10),
    "sin": (-10, 10), "cos": (-10, 10), "tan": (-10, 10),
    "asin": (-1, 1), "acos": (-1, 1), "atan": (-10, 10),
    "sinh": (-5, 5), "cosh": (-5, 5), "tanh": (-5, 5),
    "asinh": (-10, 10), "acosh": (1, 100), "atanh": (-1, 1),
    "cbrt": (-100, 100), "erf": (-3, 3), "erfc": (-3, 6),
}  # fmt: skip
BINARY = {
    "pow": ((0.01, 10), (-5, 5)), "atan2": ((-10, 10), (-10, 10)), "hypot": ((-10, 10), (-10, 10)),
}  # fmt: skip
# The other libraries lack logaddexp; it is compared with the two functions from which it is composed.
LOGADDEXP = ((-5, 5), (-5, 5))

PEERS = ("SLEEF", "libmvec", "SVML")
# The error in tenths of an ulp, as in SLEEF's names, for functions without a version for 1.0 ulp.
SLEEF_ERRORS = {"erfc": "u15", "hypot": "u05"}

MARKS = {True: "### A processor with AVX-512", False: "### A processor with AVX2"}
HEAD = """\
`python3 scripts/compare_functions.py` builds the C library and times every function that is not computed exactly, as machine code of 256
and 512 bits, by turns with those of others: one thread, {elements} elements in cache, ns for an element, the least of many rounds. SLEEF's are the
versions for errors below one ulp (`u10`; `u15` of `erfc`), SVML's the accurate ones (`_ha`) for the instructions of that width, whatever it would pick on
this processor, and those of libmvec are good to 4 ulp; ours are below one ulp ([accuracy](../accuracy.md)). A ratio is ours by theirs.

"""


def symbols(name, dtype, bits, arguments, svml):
    """The functions of other libraries, as PATH=SYMBOL, in the order of PEERS."""
    single, wide = dtype == "float32", bits == 512
    lanes = bits // (32 if single else 64)
    suffix = "f" if single else ""
    error = SLEEF_ERRORS.get(name, "u10")
    target = "avx512f" if wide else "avx2"
    sleef = f"libsleef.so.3=Sleef_{name}{'f' if single else 'd'}{lanes}_{error}{target}"
    libmvec = f"libmvec.so.1=_ZGV{'e' if wide else 'd'}N{lanes}{'v' * arguments}_{name}{suffix}"
    accurate = f"__svml_{name}{suffix}{lanes}_ha"
    own = f"{accurate}_{'z0' if wide else 'l9'}"
    return [sleef, libmvec, f"{svml}={own if own in exported(svml) else accurate}"]


def exported(library, known={}):  # noqa: B006 (the cache)
    """The names that a library exports."""
    if library not in known:
        done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=False)
        known[library] = {line.split()[-1] for line in done.stdout.splitlines()}
    return known[library]


def wide_vectors():
    """Whether the processor supports vectors of 512 bits."""
    info = Path("/proc/cpuinfo")
    return info.is_file() and " avx512f " in info.read_text()


def run(command, **options):
    done = subprocess.run([str(part) for part in command], text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    return done.stdout


def build(folder, library):
    """Builds the timing program, linked with broadloom's library."""
    if library is None:
        run(["cargo", "build", "--release", "-p", "broadloom-capi", "--lib"], cwd=ROOT)
        library = ROOT / "target" / "release" / "libbroadloom_capi.a"
    program = Path(folder) / "compare_functions"
    include = ROOT / "crates" / "broadloom-capi" / "include"
    run(["gcc", "-O2", "-Wall", f"-I{include}", SOURCE, library, "-lpthread", "-lm", "-ldl", "-o", program])
    return program


def comparisons(names, widths, svml):
    """The input lines for the timing program, with a description of each."""
    for name in names:
        for dtype in ("float32", "float64"):
            for bits in widths:
                head = f"{dtype} {bits}"
                if name == "logaddexp":
                    (a, b), (c, d) = LOGADDEXP
                    contenders = ["ours=logaddexp(x,y)", "ours=log1p(exp(x-y))"]
                    line = f"{head} 2 {a} {b} {c} {d} {' '.join(contenders)}"
                elif name in BINARY:
                    (a, b), (c, d) = BINARY[name]
                    contenders = [f"ours={name}(x,y)", *symbols(name, dtype, bits, 2, svml)]
                    line = f"{head} 2 {a} {b} {c} {d} {' '.join(contenders)}"
                else:
                    a, b = UNARY[name]
                    contenders = [f"ours={name}(x)", *symbols(name, dtype, bits, 1, svml)]
                    line = f"{head} 1 {a} {b} 0 1 {' '.join(contenders)}"
                yield (name, dtype, bits), line


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tables(results):
    """The Markdown tables of the results: one for functions that other libraries have, and one for logaddexp."""
    lines = ["| function | dtype | bits | ours | " + " | ".join(f"{peer} | ours / {peer}" for peer in PEERS) + " |"]
    lines.append("| --- | --- | ---: | ---: |" + " ---: |" * (2 * len(PEERS)))
    groups = {}
    for (name, dtype, bits), times in results.items():
        if name == "logaddexp":
            continue
        ours, *others = times
        cells = ["– | –" if other is None else f"{other:.3f} | {ours / other:.2f}" for other in others]
        lines.append(f"| `{name}` | {dtype} | {bits} | {ours:.3f} | {' | '.join(cells)} |")
        for peer, other in zip(PEERS, others, strict=True):
            if other is not None:
                groups.setdefault((dtype, bits), {}).setdefault(peer, []).append(ours / other)
    for (dtype, bits), by_peer in groups.items():
        cells = [f" | {mean(by_peer[peer]):.2f}" if peer in by_peer else "– | –" for peer in PEERS]
        lines.append(f"| geometric mean | {dtype} | {bits} | | {' | '.join(cells)} |")
    own = {key: times for key, times in results.items() if key[0] == "logaddexp"}
    if own:
        lines += ["", "| function | dtype | bits | ns | `log1p(exp(x - y))` | ratio |", "| --- | --- | ---: | ---: | ---: | ---: |"]
        for (name, dtype, bits), (ours, both) in own.items():
            lines.append(f"| `{name}` | {dtype} | {bits} | {ours:.3f} | {both:.3f} | {ours / both:.2f} |")
    return lines


def processor():
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    found = re.search(r"model name\s*:\s*(.*)", info)
    family = re.search(r"cpu family\s*:\s*(.*)", info)
    name = found[1] if found else platform.machine()
    return f"{name} (family {family[1]})" if family else name


TITLE = "## Functions of other libraries"


def write(page, mark, lines):
    """Replaces the table below a heading."""
    text = page.read_text()
    if TITLE not in text:
        text = f"{text.rstrip()}\n\n{TITLE}\n"
    before, rest = text.split(TITLE, 1)
    section, heading, after = rest.partition("\n## ")
    parts = re.split(r"\n(?=### )", section)
    body = "\n".join([mark, "", *lines, ""])
    parts = [part for part in parts[1:] if not part.startswith(mark + "\n")] + [body]
    parts = [part.strip("\n") + "\n" for part in sorted(parts, reverse=True)]
    section = "\n\n" + HEAD.format(elements="100 000") + "\n".join(parts)
    page.write_text(before + TITLE + section + heading + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="functions; by default all")
    parser.add_argument("--library", type=Path, help="a libbroadloom_capi.a that is built already")
    parser.add_argument("--svml", type=Path, metavar="FOLDER", help="the folder with libsvml.so")
    parser.add_argument("--rounds", type=int, default=200, help="how often each is run")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page whose table is replaced")
    args = parser.parse_args()
    every = [*UNARY, *BINARY, "logaddexp"]
    names = args.names or every
    unknown = [name for name in names if name not in every]
    if unknown:
        parser.error(f"no function {unknown[0]}; there are {', '.join(every)}")
    if args.write and args.names:
        parser.error("--write is for the table of all functions")
    is_wide = wide_vectors()
    svml = str((args.svml or Path("libsvml.so-is-not-given")) / "libsvml.so")
    environment = {"LD_LIBRARY_PATH": str(args.svml.resolve())} if args.svml else {}
    every_line = list(comparisons(names, (256, 512) if is_wide else (256,), svml))
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, args.library)
        text = "".join(f"{line}\n" for _, line in every_line)
        out = run([program, args.rounds], input=text, stdout=subprocess.PIPE, env=environment or None)
    rows = [[None if word == "-" else float(word) for word in line.split()] for line in out.splitlines()]
    results = dict(zip((key for key, _ in every_line), rows, strict=True))
    lines = [f"{processor()}, {datetime.date.today():%Y-%m-%d}.", "", *tables(results)]
    print("\n".join(lines))
    if args.write:
        write(args.write, MARKS[is_wide], lines)


if __name__ == "__main__":
    main()
