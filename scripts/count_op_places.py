#!/usr/bin/env python3
"""Counts the files that have to name a function of the op table.

    python3 scripts/count_op_places.py cbrt fdim

A file names a function if it contains the public name or the variant of `Op` as a whole word. Generated files are
listed separately. docs/add-an-op.md, which describes this count, and this file are excluded.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = "crates/broadloom-ir/src/op.rs"
GENERATED = {
    "crates/broadloom-math/src/functions/coefficients.rs": "python3 scripts/coefficients.py",
    "crates/broadloom-testkit/src/reference/mpmath.txt": "python3 crates/broadloom-testkit/src/reference/mpmath.py",
    "tests/hashes.txt": "fingerprint functions --write",
}
# All files in this folder are generated.
GENERATED_PAGES = "docs/generated/"
LEFT_OUT = {"docs/add-an-op.md", "scripts/count_op_places.py"}


def words(name):
    """The public name, and the variant of `Op` if the op table has the function."""
    row = re.search(rf'\((\w+), "{re.escape(name)}",', (ROOT / TABLE).read_text())
    return [name] + ([row.group(1)] if row else [])


def places(name):
    """The files that name the function, each with the number of lines that do."""
    pattern = "|".join(rf"\b{re.escape(word)}\b" for word in words(name))
    found = {f"tests/cases/spec/{name}.txt": 0} if (ROOT / f"tests/cases/spec/{name}.txt").exists() else {}
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in files.stdout.splitlines():
        file = ROOT / path
        if path in LEFT_OUT or not file.is_file() or file.suffix == ".lock":
            continue
        try:
            lines = file.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        count = sum(1 for line in lines if re.search(pattern, line))
        if count:
            found[path] = count
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        found = places(name)
        made = sorted(path for path in found if path in GENERATED or path.startswith(GENERATED_PAGES))
        by_hand = sorted(found.keys() - set(made))
        print(f"{name}: {len(by_hand)} files by hand, {len(made)} made by commands")
        for path in by_hand:
            print(f"  {found[path]:4}  {path}")
        for path in made:
            command = GENERATED.get(path, "a page that a command writes")
            print(f"  {found[path]:4}  {path}  ({command})")


if __name__ == "__main__":
    main()
