"""Errors about models: unsupported operators and types, all listed before anything runs, and invalid models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def printable(text: str) -> str:
    """The text with characters escaped that a terminal would interpret, since names in a model may contain any. Line
    breaks are kept."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(shown)


@dataclass(frozen=True)
class Unsupported:
    """An unsupported operator or type in a model.

    `name` is the name of the operator, or of a value whose type is unsupported. If the operator is not in the model's
    own graph, `within` is the model's operator or function whose body contains it. `node` is the node of the model's
    graph. `path` is the place in bodies of `If`, `Loop` and `Scan`.
    """

    name: str
    reason: str
    domain: str = ""
    since_version: int | None = None
    node: str = ""
    within: str = ""
    path: str = ""

    def __str__(self) -> str:
        shown = f"{self.domain}.{self.name}" if self.domain else self.name
        if self.since_version is not None:
            shown += f"-{self.since_version}"
        place = [f"node `{self.node}`"] if self.node else []
        place += [f"in the body of {self.within}"] if self.within else []
        place += [f"in {self.path}"] if self.path else []
        shown = f"{shown} ({', '.join(place)}): {self.reason}" if place else f"{shown}: {self.reason}"
        return printable(shown).replace("\n", "\\n")


class UnsupportedModelError(NotImplementedError):
    """A model needs operators or types that this backend does not support. `findings` lists all of them, and nothing
    has run.

    `operators` are the sorted names of the unsupported operators in the model's own graph and the bodies in it.
    """

    __module__ = "broadloom.onnx"

    def __init__(self, findings: Sequence[Unsupported]) -> None:
        self.findings = tuple(dict.fromkeys(findings))
        shown = "\n".join(f"- {finding}" for finding in self.findings[:50])
        rest = f"\n… and {len(self.findings) - 50} more" if len(self.findings) > 50 else ""
        super().__init__(f"the model is not supported:\n{shown}{rest}")

    def __reduce__(self) -> tuple[type[UnsupportedModelError], tuple[tuple[Unsupported, ...]]]:
        return type(self), (self.findings,)

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the unsupported operators in the model's own graph and the bodies in it."""
        named = (x.within or x.name for x in self.findings if x.within or x.since_version is not None)
        return tuple(sorted(set(named)))


class InvalidModelError(ValueError):
    """A model breaks a rule of ONNX: a value that nothing defines, a cycle, a missing attribute, types that do not agree."""

    __module__ = "broadloom.onnx"

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))
