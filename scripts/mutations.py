#!/usr/bin/env python3
"""Injects faults into the sources, one at a time, and checks that a test suite notices each.

scripts/mutations.toml lists the mutations of the sources, each with the suite that must catch it. The script prints a
line for each, stores the results in a JSON file in the target directory, and with --write writes a page with a table.
The exit status is 1 if a mutation survives, can't be applied or does not compile.

Only a copy of the source tree is changed: TARGET/tree, which contains the files that git tracks or would track. Needs
Python 3.11 and cargo.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).with_suffix(".toml")
CAUGHT, SURVIVED, BROKEN = "caught", "survived", "does not compile"

HEAD = """\
# Mutations

`scripts/mutations.toml` lists {count} faults, each a small change in one part of the
sources, and the suite that has to notice it. `scripts/mutations.py` first runs each suite unchanged, which has to pass, then puts
the faults one by one into a copy of the tree and runs the fault's suite alone. This command writes the result:

```text
python3 scripts/mutations.py --write docs/generated/mutations.md
```

{run} of them were run, the last on {date}, and {caught} were caught; {rest} were not, {lacking} of them for want of a CPU that runs their
code. The suite column has the arguments of
`cargo test`; "caught by" is the first failed test by name, or how the process of the tests ended. Seconds
cover the build and the run, on two shared cores. A run of some of the faults keeps the rows of the others; the commit is the one
that a fault was last run on or that recorded the result.

"""


class Suite:
    """A cargo test invocation."""

    def __init__(self, key, row):
        self.key, self.args, self.env = key, row["cargo"], row.get("env", {})
        self.module = row.get("module")

    def names(self, tests):
        """Substrings of the names of the tests to be run. By default, all tests of the module or of the program are
        run."""
        return tests or ([f"{self.module}::"] if self.module else [])

    def shown(self, tests):
        return " ".join([*(f"{k}={v}" for k, v in self.env.items()), self.args, *self.names(tests)])


class Mutation:
    """A fault: texts of a file, and their replacements."""

    def __init__(self, row, suites):
        self.name, self.part, self.file = row["name"], row["part"], row["file"]
        self.suite, self.tests = suites[row["suite"]], row.get("tests", [])
        #: The flag of the CPU without which the suite does not run the code, if there is one.
        self.needs = row.get("needs")
        self.edits = [(e["old"], e["new"], e.get("nth")) for e in [row, *row.get("also", [])]]
        words = json.dumps([self.file, self.edits, self.suite.args, self.suite.env, self.suite.names(self.tests)])
        self.digest = hashlib.sha256(words.encode()).hexdigest()[:16]

    def apply(self, text):
        """The text with the fault; ValueError if an old text does not occur the expected number of times."""
        for old, new, nth in self.edits:
            count = text.count(old)
            if (count != 1) if nth is None else (count < nth):
                raise ValueError(f"{count} places in {self.file} for: {old.strip().splitlines()[0]}")
            at = -1
            for _ in range(nth or 1):
                at = text.index(old, at + 1)
            text = text[:at] + new + text[at + len(old) :]
        return text


def cpu_flags():
    """The flags of this machine's CPU, as Linux names them; none on other systems."""
    path = Path("/proc/cpuinfo")
    flags = re.search(r"^flags\s*:(.*)$", path.read_text() if path.is_file() else "", re.M)
    return set(flags[1].split()) if flags else set()


def load():
    data = tomllib.loads(DATA.read_text())
    suites = {key: Suite(key, row) for key, row in data["suite"].items()}
    mutations = [Mutation(row, suites) for row in data["mutation"]]
    names = [m.name for m in mutations]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        sys.exit(f"names that stand twice: {', '.join(sorted(twice))}")
    return mutations


class Tree:
    """The copy of the source tree, and its build settings."""

    def __init__(self, target, jobs, timeout):
        self.path, self.target, self.jobs, self.timeout = target / "tree", target, jobs, timeout

    def sync(self):
        """Updates the copy. Unchanged files keep their modification times, so that they are not rebuilt."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True,
        ).stdout.decode()
        wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        self.path.mkdir(parents=True, exist_ok=True)
        for old in [p for p in self.path.rglob("*") if p.is_file()]:
            if str(old.relative_to(self.path)) not in wanted:
                old.unlink()
        for name in wanted:
            to, content = self.path / name, (ROOT / name).read_bytes()
            if not to.is_file() or to.read_bytes() != content:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(content)

    def cargo(self, suite, tests, build_only, timeout):
        """Runs cargo test. Returns the exit status (None after a timeout) and the output."""
        command = ["cargo", "test", "--quiet" if build_only else "--no-fail-fast", *shlex.split(suite.args)]
        command += ["-j", str(self.jobs)] if self.jobs else []
        # Unvectorised loops give the same results, and are built in a fraction of the time.
        command += ["--config", "profile.dev.package.broadloom-interp.opt-level=1"]
        command += ["--no-run"] if build_only else ["--", *suite.names(tests)]
        env = os.environ | {"CARGO_TARGET_DIR": str(self.target), "CARGO_TERM_COLOR": "never"} | suite.env
        process = subprocess.Popen(
            command, cwd=self.path, env=env, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
        try:
            out, _ = process.communicate(timeout=timeout)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise

    def outcome(self, suite, tests):
        """The outcome, and the test that caught the fault or the reason why it does not compile."""
        status, out = self.cargo(suite, tests, True, None)
        if status != 0:
            return BROKEN, first_error(out)
        status, out = self.cargo(suite, tests, False, self.timeout)
        if status is None:
            return CAUGHT, f"the time limit of {self.timeout} s"
        passed = sum(int(n) for n in re.findall(r"^test result: ok\. (\d+) passed", out, re.M))
        if status == 0:
            return (SURVIVED, "") if passed else (BROKEN, "no test has such a name")
        failed = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", out, re.M)
        ended = re.search(r"signal: \d+, (SIG\w+)", out)
        if failed:
            return CAUGHT, f"`{min(failed)}`"
        return CAUGHT, f"the process ended by {ended[1]}" if ended else "the process ended early"


def first_error(out):
    lines = [line for line in out.splitlines() if line.startswith("error") or line.lstrip().startswith("-->")]
    return "; ".join(line.strip() for line in lines[:4]) or out[-300:]


def say(text):
    print(text, flush=True)


def baselines(tree, mutations, done):
    """Runs each suite once without a fault; exits if one fails."""
    runs = {m.suite.shown(m.tests): m for m in mutations}
    for shown, m in runs.items():
        if done.get(shown) is not None:
            continue
        start = time.monotonic()
        outcome, by = tree.outcome(m.suite, m.tests)
        if outcome != SURVIVED:
            sys.exit(f"without a mutation: {shown}: {outcome} {by}")
        done[shown] = round(time.monotonic() - start, 1)
        say(f"passes    {done[shown]:7.1f} s  {shown}")
        yield


def now():
    """The date and the commit that a result is of."""
    commit = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit.stdout.strip()}


def attempt(tree, m):
    path = tree.path / m.file
    original = path.read_text()
    start = time.monotonic()
    try:
        try:
            path.write_text(m.apply(original))
        except ValueError as error:
            return {"outcome": BROKEN, "by": str(error), "seconds": 0.0} | now()
        outcome, by = tree.outcome(m.suite, m.tests)
    finally:
        path.write_text(original)
    return {"outcome": outcome, "by": by, "seconds": round(time.monotonic() - start, 1)} | now()


def table(mutations, results):
    rows = ["| mutation | part | suite | caught by | seconds | last run | commit |", "| --- | --- | --- | --- | ---: | --- | --- |"]
    for m in mutations:
        r = results.get(m.name)
        missing = "not run" if m.needs is None else f"not run: needs {m.needs}"
        by = missing if r is None else r["by"] if r["outcome"] == CAUGHT else f"**{r['outcome']}** {r['by']}"
        last = " |  | " if r is None else f"{r['seconds']:.0f} | {r['date']} | {r['commit']}"
        rows.append(f"| {m.name.replace('|', chr(92) + '|')} | {m.part} | `{m.suite.shown(m.tests)}` | {by} | {last} |")
    return "\n".join(rows) + "\n"


def of_page(path):
    """The results in an existing page."""
    text = path.read_text() if path.is_file() else ""
    known = {}
    for row in re.findall(r"^\| (.*?) \| [\w ]+ \| `.*?` \| (.*?) \| (\d+) \| (\S+) \| (\S+) \|$", text, re.M):
        name, by, seconds, date, commit = row
        outcome = re.match(r"\*\*(.*?)\*\* ?(.*)", by)
        result = {"outcome": CAUGHT, "by": by} if outcome is None else {"outcome": outcome[1], "by": outcome[2]}
        known[name.replace("\\|", "|")] = result | {"seconds": float(seconds), "date": date, "commit": commit}
    return known


def write(path, every, results):
    """Writes the page with the new results, and with existing results for mutations that were not run."""
    known = of_page(path) | results
    known = {m.name: known[m.name] for m in every if m.name in known}
    date = max((r["date"] for r in known.values()), default="never")
    caught = sum(r["outcome"] == CAUGHT for r in known.values())
    counts = {"count": len(every), "run": len(known), "caught": caught, "rest": len(every) - len(known)}
    counts["lacking"] = sum(m.needs is not None and m.name not in known for m in every)
    path.write_text(HEAD.format(date=date, **counts) + table(every, known))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="mutations whose name, part or suite has this text")
    parser.add_argument("--list", action="store_true", help="list them, and check that each can be applied")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run has caught")
    parser.add_argument("--jobs", type=int, default=0, help="cargo's jobs")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a suite's run, the build apart")
    parser.add_argument("--target-dir", type=Path, default=ROOT / "target" / "mutations")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page to write; with --list only new mutations are added to it")
    args = parser.parse_args()

    # On SIGTERM, the script also ends the processes that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted; --resume goes on from here"))
    every = load()
    wanted = [m for m in every if any(args.only in text for text in (m.name, m.part, m.suite.args))]
    if args.list:
        bad = 0
        for m in wanted:
            try:
                m.apply((ROOT / m.file).read_text())
                note = ""
            except (ValueError, OSError) as error:
                note, bad = f"  NOT APPLICABLE: {error}", bad + 1
            say(f"{m.part:12} {m.name}  [{m.suite.shown(m.tests)}]{note}")
        say(f"{len(wanted)} mutations, {bad} not applicable")
        if args.write:
            write(args.write, every, {})
        return int(bad > 0)

    target = args.target_dir.resolve()
    tree = Tree(target, args.jobs, args.timeout)
    tree.sync()
    store = target / "mutations.json"
    state = {"baselines": {}, "results": {}}
    if (args.resume or args.only) and store.is_file():
        state = json.loads(store.read_text())

    def save():
        part = store.with_suffix(".part")
        part.write_text(json.dumps(state, indent=1))
        part.replace(store)

    def kept(m):
        r = state["results"].get(m.name)
        return args.resume and r is not None and r["digest"] == m.digest and r["outcome"] == CAUGHT

    flags = cpu_flags()
    lacking = [m for m in wanted if m.needs is not None and m.needs not in flags]
    for m in lacking:
        state["results"].pop(m.name, None)
        say(f"left out: this CPU has no {m.needs}: {m.name}")
    wanted = [m for m in wanted if m not in lacking]
    todo = [m for m in wanted if not kept(m)]
    for _ in baselines(tree, todo, state["baselines"]):
        save()
    for i, m in enumerate(todo, 1):
        result = attempt(tree, m)
        state["results"][m.name] = result | {"digest": m.digest}
        save()
        say(f"[{i}/{len(todo)}] {result['outcome']:9} {result['seconds']:6.1f} s  {m.part}: {m.name}: {result['by']}")

    known = {m.name: state["results"][m.name] for m in every if m.name in state["results"]}
    say("\n" + table(wanted, known))
    if args.write:
        write(args.write, every, known)
    bad = [m.name for m in wanted if known[m.name]["outcome"] != CAUGHT]
    say(f"{len(wanted) - len(bad)} of {len(wanted)} caught" + "".join(f"\nNOT CAUGHT: {name}" for name in bad))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
