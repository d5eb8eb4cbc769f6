#!/usr/bin/env python3
"""Counts measures of the code's structure.

    scripts/count_structure.py [ROOT] [--edges] [--check]

For each crate: lines of code outside of tests (all lines, and lines that are neither blank nor only a comment), `pub`
items, functions of more than 80 lines, and cycles between modules. Test code is code under `#[cfg(test)]`, in the file
or in a separate one. Programs of the crates that only serve tests and measurements are counted separately.

A module is a file; `a.rs` (or `a/mod.rs`) and `a/b.rs` are two modules. A module has an edge to another if it names
something that is defined there: in an import, or by a path in its code. Re-exports and imports are followed to where
the thing is defined. `mod child;` and `pub use child::Thing;` alone are no edges, but naming `Thing` in the parent's
own code is one. A cycle is a strongly connected component of more than one module. Cycles are counted among files, and
among folders: modules with the same parent, each taken together with all modules below it. Methods are not followed.
The test `architecture` applies the same rules.

Lines of Python are those of the package that are written by hand, and of the generator of the others, with its data.

The last list contains the names that more than two files of the workspace, tests included, define as types. With --check,
the status is 1 unless they are the exceptions that CONTRIBUTING.md lists, which are at most 30.
"""

import argparse
import re
import sys
from pathlib import Path

LONGEST = 80
# The maximum number of names with more than two types.
MOST_NAMES = 30
# Crates whose programs only serve tests and measurements.
TOOLS = {"broadloom-testkit", "broadloom-bench"}
TOKEN = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*|::|[^\sA-Za-z_]")
TYPE = re.compile(r"^( *)(?:pub(?:\([a-z: ]+\))? )?(?:unsafe )?(struct|enum|union|trait|type) ([A-Z]\w*)", re.MULTILINE)
DEFINES = {"fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"}
LITERAL = re.compile(
    r"//[^\n]*|/\*"
    r'|(?<!\w)[bc]?r(\#*)"(?:.|\n)*?"\1'
    r'|[bc]?"(?:\\(?:.|\n)|[^"\\])*"'
    r"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'"
)


def blank(text):
    """The text with comments and the contents of literals removed, keeping line breaks."""
    out, at = [], 0
    while found := LITERAL.search(text, at):
        out.append(text[at : found.start()])
        end = found.end()
        if found.group().startswith("/*"):
            depth = 1
            while depth and (mark := re.compile(r"/\*|\*/").search(text, end)):
                depth += 1 if mark.group() == "/*" else -1
                end = mark.end()
        kept = "" if found.group().startswith("/") else '""'
        out.append(kept + "\n" * text.count("\n", found.start(), end))
        at = end
    return "".join(out) + text[at:]


def tokens(text):
    """The tokens, each with its line number from 1."""
    for number, line in enumerate(blank(text).split("\n"), 1):
        for found in TOKEN.finditer(line):
            yield found.group(), number


def closing(code, at):
    """The position after the bracket that closes the bracket at `at`."""
    depth = 0
    while at < len(code):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at][0], 0)
        at += 1
        if depth == 0:
            break
    return at


def item_end(code, at):
    """The position after the item, field or statement that begins at `at`, including its attributes."""
    while code[at][0] == "#":
        at = closing(code, at + 1)
    if code[at][0] == "pub":
        at = closing(code, at + 1) if code[at + 1][0] == "(" else at + 1
    is_use, is_field = code[at][0] == "use", code[at + 1][0] == ":"
    while at < len(code) and code[at][0] not in (",}" if is_field else ";"):
        if code[at][0] in "([{":
            is_body = code[at][0] == "{"
            at = closing(code, at)
            if is_body and not is_use and not is_field:
                return at
        else:
            at += 1
    return at if is_field and code[at][0] == "}" else at + 1


def without_tests(code):
    """The tokens outside of `#[cfg(test)]`, the numbers of the lines inside, and the modules that are test files."""
    kept, lines, files, at = [], set(), set(), 0
    while at < len(code):
        words = [word for word, _ in code[at : at + 7]]
        if words[:5] == ["#", "[", "cfg", "(", "test"] or words == ["#", "[", "cfg", "(", "all", "(", "test"]:
            end = item_end(code, at)
            lines.update(range(code[at][1], code[min(end, len(code)) - 1][1] + 1))
            words = [word for word, _ in code[at:end]]
            if "mod" in words and words[-1] == ";":
                files.add(words[words.index("mod") + 1])
            at = end
        else:
            kept.append(code[at])
            at += 1
    return kept, lines, files


class Module:
    """A module's file: what it declares, imports, defines and names."""

    def __init__(self, path, name, text):
        self.path, self.name, self.text = path, name, text
        self.code, self.test_lines, self.test_files = without_tests(list(tokens(text)))
        self.children, self.defined, self.macros, self.public = [], set(), set(), 0
        # Imported names with their paths; paths of glob imports; and used paths, each with whether it is a re-export.
        self.imports, self.globs, self.uses = {}, [], []
        self.named, self.paths, self.long = set(), [], []
        self.read()

    def read(self):
        words = [word for word, _ in self.code]
        inline, depth, at = [], 0, 0
        while at < len(words):
            word = words[at]
            after = words[at + 1] if at + 1 < len(words) else ""
            if word in "{}":
                depth += 1 if word == "{" else -1
                if inline and inline[-1] > depth:
                    inline.pop()
            if word == "mod" and words[at + 2] == ";":
                self.children.append(after)
            elif word == "mod" and words[at + 2] == "{":
                inline.append(depth + 1)
            if word == "use" and re.match(r"[\w:${]", after) and (at == 0 or words[at - 1] in ";})]{pub"):
                end = words.index(";", at)
                self.use(words[at + 1 : end], is_public=is_public(words, at), depth=len(inline))
                at = end
                continue
            if word in DEFINES and re.match(r"\w", after):
                self.defined.add(after)
                self.public += words[at - 1] == "pub" or words[at - 1] in ("const", "unsafe") and words[at - 2] == "pub"
                if word == "fn":
                    self.measure(at)
            elif word == "macro_rules":
                self.defined.add(words[at + 2])
                self.macros.add(words[at + 2])
            if re.match(r"\$?[A-Za-z_]", word) and (at == 0 or words[at - 1] not in ("::", ".")):
                path = [word]
                while at + 2 < len(words) and words[at + 1] == "::" and re.match(r"[A-Za-z_]", words[at + 2]):
                    path.append(words[at + 2])
                    at += 2
                self.named.add(word)
                if len(path) > 1:
                    self.paths.append(inner(path, len(inline)))
            at += 1

    def use(self, words, is_public, depth):
        """Parses an import, which is a tree of paths."""
        leaves, stack, path, last = [], [], [], None
        for word in words + [","]:
            if word == "{":
                stack.append(list(path))
            elif word in ",}":
                if last:
                    leaves.append((path, last))
                path, last = list(stack[-1]) if stack else [], None
                if word == "}":
                    stack.pop()
            elif word == "as" or word == "::":
                continue
            else:
                # The word after `as` is a new name and not part of the path.
                if last and words[words.index(word) - 1] == "as":
                    last = word
                else:
                    path, last = path + [word], word
        for path, name in leaves:
            path = inner(path, depth)
            if path[-1] == "self":
                path, name = path[:-1], path[-2]
            if path[-1] == "*":
                self.globs.append(path[:-1])
                self.uses.append((path[:-1], is_public, None))
            else:
                self.imports[name] = path
                self.uses.append((path, is_public, name))

    def measure(self, at):
        """Records a function that is too long."""
        first, name = self.code[at][1], self.code[at + 1][0]
        while self.code[at][0] not in "{;":
            at = closing(self.code, at) if self.code[at][0] in "([" else at + 1
        if self.code[at][0] == "{":
            lines = self.code[closing(self.code, at) - 1][1] - first + 1
            if lines > LONGEST:
                self.long.append((lines, f"{self.path}:{first} {name}"))


def is_public(words, at):
    """Whether `pub` or `pub(…)` precedes the item."""
    if words[at - 1] == ")":
        at = len(words) - 1 - words[::-1].index("(", len(words) - at)
    return at > 0 and words[at - 1] == "pub"


def inner(path, depth):
    """Converts a path written inside of `depth` nested modules of the file to the path from the top of the file."""
    while depth and path[0] == "super" and len(path) > 1:
        path, depth = path[1:], depth - 1
        if not depth and path[0] != "super":
            path = ["self"] + path
    return path


class Crate:
    """The modules of a crate, from its root file."""

    def __init__(self, root, base):
        self.modules, self.tests = {}, []
        waiting = [(root, ())]
        while waiting:
            path, name = waiting.pop()
            module = Module(path.relative_to(base), name, path.read_text())
            self.modules[name] = module
            folder = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") or path == root else path.with_suffix("")
            for child in module.children:
                for file in (folder / f"{child}.rs", folder / child / "mod.rs"):
                    if file.is_file():
                        waiting.append((file, (*name, child)))
        self.macros = {macro: name for name, module in self.modules.items() for macro in module.macros}

    def resolve(self, start, path, hops=0):
        """The module that defines the item at a path; None if it is in another crate."""
        if hops > 20:
            return None
        at, path = start, list(path)
        if path[0] in ("crate", "$crate"):
            at, path = (), path[1:]
        else:
            module = self.modules[start]
            head = path[0]
            if head == "super" or head == "self":
                while path and path[0] in ("super", "self"):
                    at = at[:-1] if path[0] == "super" else at
                    path = path[1:]
            elif (*start, head) not in self.modules and head not in module.imports:
                return start if head in module.defined else None
        while path:
            module, head = self.modules[at], path[0]
            if (*at, head) in self.modules:
                at, path = (*at, head), path[1:]
                continue
            if head in module.imports and module.imports[head] != path[:1]:
                return self.resolve(at, module.imports[head] + path[1:], hops + 1)
            if head not in module.defined:
                for glob in module.globs:
                    there = self.resolve(at, glob, hops + 1)
                    if there is not None and there != at and self.has(there, head):
                        return self.resolve(there, ["self"] + path, hops + 1)
                if head in self.macros:
                    return self.macros[head]
            return at
        return at

    def has(self, name, item):
        module = self.modules[name]
        return item in module.defined or item in module.imports or (*name, item) in self.modules

    def edges(self):
        """For each module, the modules from which it names items."""
        found = {}
        for name, module in self.modules.items():
            for path, is_public, alias in module.uses:
                if not is_public or alias in module.named:
                    self.edge(found, name, path)
            for path in module.paths:
                self.edge(found, name, path)
        return found

    def edge(self, found, name, path):
        to = self.resolve(name, path)
        if to is not None and to != name:
            found.setdefault(name, {}).setdefault(to, set()).add("::".join(path))


def of_folders(edges):
    """The edges between sibling modules, each taken together with the modules below it."""
    found = {}
    for name, targets in edges.items():
        for to, paths in targets.items():
            same = next((i for i, (a, b) in enumerate(zip(name, to)) if a != b), None)
            if same is not None:
                found.setdefault(name[: same + 1], {}).setdefault(to[: same + 1], set()).update(paths)
    return found


def cycles(edges):
    """The strongly connected components with more than one module."""
    reach = {}
    for name in edges:
        seen, waiting = set(), [name]
        while waiting:
            for to in edges.get(waiting.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    waiting.append(to)
        reach[name] = seen
    components = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach if a in reach[a]}
    return sorted(map(sorted, components))


def written(name):
    return "::".join(name) or "crate"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--edges", action="store_true", help="print the edges of all modules, not only of cycles")
    parser.add_argument("--check", action="store_true", help="compare the names of types with the exceptions")
    args = parser.parse_args()
    base = args.root.resolve()
    rows, long, found_cycles = [], [], {"files": [], "folders": []}
    for crate in sorted((base / "crates").iterdir()):
        source = crate / "src"
        bins = [source / "main.rs", *source.glob("bin/*.rs"), *source.glob("bin/*/main.rs")]
        for root in [source / "lib.rs", *sorted(bins)]:
            if not root.is_file():
                continue
            found = Crate(root, base)
            is_tool = root.parent != source and crate.name in TOOLS
            name = f"{crate.name} (programs)" if is_tool else crate.name
            modules = found.modules.values()
            lines = [[line for n, line in enumerate(blanked(m), 1) if n not in m.test_lines] for m in modules]
            rows.append((name, sum(map(len, lines)), sum(1 for part in lines for line in part if line.strip()),
                         sum(m.public for m in modules)))
            long += [entry for m in modules for entry in m.long]
            edges = found.edges()
            for kind, graph in (("files", edges), ("folders", of_folders(edges))):
                found_cycles[kind] += [(root.relative_to(base), component, graph) for component in cycles(graph)]
            if args.edges:
                for name, to in sorted(edges.items()):
                    print(f"{root.relative_to(base)}: {written(name)} -> {', '.join(map(written, sorted(to)))}")
    report(rows, long, found_cycles)
    print(f"\nPython by hand: {', '.join(f'{lines} {what}' for what, lines in python_lines(base).items())}")
    names = {name: sorted(files) for name, files in type_names(base).items() if len(files) > 2}
    print(f"\nnames of more than two types: {len(names)}")
    for name, files in sorted(names.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        print(f"  {name}: {', '.join(files)}")
    if args.check:
        sys.exit(wrong_names(set(names), excepted(base)))


def excepted(base):
    """The names that CONTRIBUTING.md allows more than two types."""
    text = (base / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rule = text[text.index("- A type's name has at most two definitions") :]
    return set(re.findall(r"`([A-Z]\w*)`", rule[: rule.index("\n- ")]))


def wrong_names(found, allowed):
    """What is wrong with the names of types; None if nothing is."""
    if len(found) > MOST_NAMES:
        return f"error: {len(found)} names have more than two types, at most {MOST_NAMES} may"
    if found - allowed:
        return f"error: names with more than two types that CONTRIBUTING.md does not list: {', '.join(sorted(found - allowed))}"
    if allowed - found:
        return f"error: exceptions of CONTRIBUTING.md that have two types at most: {', '.join(sorted(allowed - found))}"
    return None


def python_lines(base):
    """The lines of the Python package's sources."""
    package = [path.read_text(encoding="utf-8") for path in (base / "python" / "broadloom").rglob("*.py")]
    generator = base / "scripts" / "generate_python.py"
    return {
        "in the package": sum(text.count("\n") for text in package if not text.startswith("# Written by")),
        "in the generator": generator.read_text(encoding="utf-8").count("\n"),
        "in its data": generator.with_suffix(".toml").read_text(encoding="utf-8").count("\n"),
        "of Rust": sum(path.read_text(encoding="utf-8").count("\n") for path in (base / "python" / "src").rglob("*.rs")),
    }


def type_names(base):
    """The files that define a type, by its name. Several definitions in one file count once, since they are
    alternatives for different targets."""
    names = {}
    for path in sorted(base.rglob("*.rs")):
        place = path.relative_to(base)
        if place.parts[0] == "target":
            continue
        for indent, kind, name in TYPE.findall(path.read_text(encoding="utf-8")):
            # An indented `type` is an associated one.
            if not (indent and kind == "type"):
                names.setdefault(name, set()).add(str(place))
    return names


def blanked(module):
    lines = blank(module.text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def report(rows, long, found_cycles):
    total = {}
    for name, *counts in rows:
        total[name] = [a + b for a, b in zip(total.get(name, [0, 0, 0]), counts)]
    print(f"{'crate':<32} {'lines':>7} {'code':>7} {'pub':>6}")
    for name, (lines, code, public) in total.items():
        print(f"{name:<32} {lines:>7} {code:>7} {public:>6}")
    product = [counts for name, counts in total.items() if name.split(" ")[0] not in TOOLS]
    for label, some in (("product", product), ("all but programs for tests", [c for n, c in total.items() if " " not in n])):
        lines, code, public = map(sum, zip(*some))
        print(f"{label:<32} {lines:>7} {code:>7} {public:>6}")
    print(f"\nfunctions of more than {LONGEST} lines: {len(long)}")
    for lines, place in sorted(long, reverse=True):
        print(f"  {lines:>4} {place}")
    for kind, found in found_cycles.items():
        print(f"\ncycles between {kind}: {len(found)}, of {sum(len(c) for _, c, _ in found)} modules")
        for root, component, edges in found:
            print(f"  {root}: {', '.join(map(written, component))}")
            for name in component:
                for to in sorted(edges[name]):
                    if to in component:
                        print(f"    {written(name)} -> {written(to)}  ({', '.join(sorted(edges[name][to]))})")


if __name__ == "__main__":
    main()
