#!/usr/bin/env python3
"""Follows docs/add-an-op.md to add its functions to a copy of the tree, and counts the files that change.

    python3 scripts/add_op_trial.py                 both functions, in a temporary folder
    python3 scripts/add_op_trial.py --in FOLDER     in a folder that is kept, and may contain a target directory
    python3 scripts/add_op_trial.py --edit-only     without the commands

A block of the page that names a file is inserted into that file, and a command of the page, `$ …`, is run. The status
is 1 if a command fails, or if the blocks change more files than the page promises. PYTHON names the interpreter of
Python's tests, which need NumPy, pytest and mpmath.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/add-an-op.md"
#: The heading with which the second function begins.
SECOND = "\n## An approximate function\n"
#: The maximum number of files changed by hand, for each function.
MOST = {"exact": 9, "approximate": 11}

FENCE = re.compile(
    r"(?P<indent> *)```(?P<language>[\w,]*)(?: (?P<path>[\w./-]+) (?:new|(?P<side>before|after) (?P<anchor>.+)))?"
)


@dataclass
class Block:
    """A fenced block, and the place where it is inserted if it names one."""

    lines: list[str]
    path: str | None
    side: str | None
    anchor: str | None


def blocks(text: str) -> list[Block]:
    """The fenced blocks, without the indentation of a list."""
    found: list[Block] = []
    opened: tuple[re.Match[str], list[str]] | None = None
    for line in text.splitlines():
        fence = FENCE.fullmatch(line)
        if opened is None and fence:
            opened = fence, []
        elif opened is not None and fence and not fence["language"]:
            start, lines = opened
            found.append(Block(lines, start["path"], start["side"], start["anchor"]))
            opened = None
        elif opened is not None:
            opened[1].append(line.removeprefix(opened[0]["indent"]))
    if opened is not None:
        sys.exit(f"error: {PAGE} has a block without an end")
    return found


def insert(block: Block, tree: Path) -> None:
    """Inserts a block next to the one line that begins with its anchor, with the indentation of that line."""
    assert block.path is not None
    file = tree / block.path
    if block.anchor is None:
        file.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        return
    lines = file.read_text(encoding="utf-8").splitlines()
    at = [i for i, line in enumerate(lines) if line.lstrip().startswith(block.anchor)]
    if len(at) != 1:
        sys.exit(f"error: {len(at)} lines of {block.path} begin with {block.anchor}")
    indent = lines[at[0]][: len(lines[at[0]]) - len(lines[at[0]].lstrip())]
    place = at[0] + (block.side == "after")
    lines[place:place] = [indent + line if line else line for line in block.lines]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True).stdout


def copy(tree: Path) -> None:
    """Copies the files of the working tree that git tracks or would add to a new repository with one commit."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    files = [path for path in listed if path and (ROOT / path).is_file()]
    names = "\0".join(files).encode()
    # Keeps modification times, so that cargo recognises what an existing target directory already contains.
    packed = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=ROOT, input=names, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=tree, input=packed.stdout, check=True)
    git(tree, "init", "--quiet")
    commit(tree, "before")


def commit(tree: Path, title: str) -> None:
    git(tree, "add", "--all")
    who = ["-c", "user.name=trial", "-c", "user.email=trial@localhost"]
    git(tree, *who, "commit", "--quiet", "--message", title)


def environment(tree: Path) -> dict[str, str]:
    """The environment of the commands: `python3` is the interpreter that PYTHON names, and Python imports the tree's
    package."""
    python = os.environ.get("PYTHON", sys.executable)
    path = f"{Path(python).absolute().parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PYTHONPATH": str(tree / "python"), "CARGO_TARGET_DIR": str(tree / "target")}


def run(command: str, tree: Path) -> bool:
    print(f"\n$ {command}", flush=True)
    status = subprocess.run(["bash", "-ec", command], cwd=tree, env=environment(tree), check=False).returncode
    if status:
        print(f"failed with status {status}: {command}", flush=True)
    return status == 0


def add(text: str, tree: Path, runs: bool) -> tuple[set[str], list[str]]:
    """Follows a part of the page. Returns the files of its blocks, and the commands that failed."""
    all_blocks = blocks(text)
    inserted = [block for block in all_blocks if block.path is not None]
    for block in inserted:
        insert(block, tree)
    commands = [line.removeprefix("$ ") for block in all_blocks for line in block.lines if line.startswith("$ ")]
    failed = [command for command in ["cargo fmt", *commands] if not run(command, tree)] if runs else []
    return {block.path for block in inserted if block.path is not None}, failed


def stat(tree: Path, paths: list[str]) -> str:
    return git(tree, "diff", "--cached", "--stat=110", "--", *paths) if paths else "none\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in", dest="folder", type=Path, help="the folder of the copy")
    parser.add_argument("--edit-only", action="store_true", help="insert the blocks and run nothing")
    options = parser.parse_args()
    temporary = None if options.folder else tempfile.TemporaryDirectory(prefix="add-op-")
    tree = (options.folder or Path(temporary.name)).absolute()
    tree.mkdir(parents=True, exist_ok=True)
    copy(tree)
    parts = (tree / PAGE).read_text(encoding="utf-8").split(SECOND)
    report, is_good = "", True
    for (kind, most), part in zip(MOST.items(), parts, strict=True):
        by_hand, failed = add(part, tree, not options.edit_only)
        git(tree, "add", "--all")
        changed = git(tree, "diff", "--cached", "--name-only").splitlines()
        written = [path for path in changed if path not in by_hand]
        report += f"\n== the {kind} function: {len(by_hand)} files by hand, of at most {most}\n"
        report += stat(tree, sorted(by_hand)) + "written by commands:\n" + stat(tree, written)
        report += "".join(f"failed: {command}\n" for command in failed)
        is_good &= not failed and len(by_hand) <= most
        commit(tree, f"the {kind} function")
    print(report, end="")
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
