"""Errors about models: what is not supported, listed by name before anything runs, and what breaks ONNX's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def printable(text: str) -> str:
    """The text with escapes for characters that a terminal would obey, since a model's names may contain any
    characters. Line breaks stay."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(shown)


@dataclass(frozen=True)
class Unsupported:
    """One thing of a model that does not run here.

    `name` is an operator's, or that of a value whose type is the reason. `within` is the operator, or function, of the
    model whose body has it, if it is not in the model's own graph; `node` is the node of the model's graph.
    """

    name: str
    reason: str
    domain: str = ""
    since_version: int | None = None
    node: str = ""
    within: str = ""

    def __str__(self) -> str:
        shown = f"{self.domain}.{self.name}" if self.domain else self.name
        if self.since_version is not None:
            shown += f"-{self.since_version}"
        place = [f"node `{self.node}`"] if self.node else []
        place += [f"in the body of {self.within}"] if self.within else []
        shown = f"{shown} ({', '.join(place)}): {self.reason}" if place else f"{shown}: {self.reason}"
        return printable(shown).replace("\n", "\\n")


class UnsupportedModelError(NotImplementedError):
    """A model needs what this backend has not; `findings` has all of it, and nothing has run.

    `operators` are the names of the operators of the model's own graph that are concerned, sorted.
    """

    __module__ = "broadloom.onnx"

    def __init__(self, findings: Sequence[Unsupported]) -> None:
        """An error about these findings."""
        self.findings = tuple(dict.fromkeys(findings))
        shown = "\n".join(f"- {finding}" for finding in self.findings[:50])
        rest = f"\n… and {len(self.findings) - 50} more" if len(self.findings) > 50 else ""
        super().__init__(f"the model is not supported:\n{shown}{rest}")

    def __reduce__(self) -> tuple[type[UnsupportedModelError], tuple[tuple[Unsupported, ...]]]:
        return type(self), (self.findings,)

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that are concerned."""
        named = (x.within or x.name for x in self.findings if x.within or x.since_version is not None)
        return tuple(sorted(set(named)))


class InvalidModelError(ValueError):
    """A model breaks a rule of ONNX: a value that nothing defines, a cycle, a missing attribute, types that do not agree."""

    __module__ = "broadloom.onnx"

    def __init__(self, message: str) -> None:
        """An error of these words."""
        super().__init__(printable(message))
