"""`Kernel.parse` as a Python function, whose errors name the argument that is to blame, as those of other functions do."""

from __future__ import annotations

from typing import Unpack

from broadloom._core import Kernel
from broadloom._options import EvaluationOptions, Rule
from broadloom._tracebacks import shows_users_lines

__all__ = ["Kernel"]

_parse = Kernel.parse


def parse(text: str, *, promotion: Rule | None = None, **options: Unpack[EvaluationOptions]) -> Kernel:
    """Compiles a program in broadloom's text language. The options are those of `evaluate`, and `promotion`
    ("strict" or "numpy").

    Raises TextError for an invalid program, with the place in the text, and TypeError or ValueError for an invalid
    option.

    >>> bl.Kernel.parse("x: float64[n]\\nreturn 2 * x")(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if promotion is not None:
        return _parse(text, promotion=promotion, **options)
    return _parse(text, **options)


# Errors say `Kernel.parse: …`.
parse.__name__ = parse.__qualname__ = "Kernel.parse"
setattr(Kernel, "parse", staticmethod(shows_users_lines(parse)))  # noqa: B010  a class of the extension module
