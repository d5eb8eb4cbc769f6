"""Arrays in notebooks, and the facts for a report of a problem.

All HTML that is made here consists of escaped text and of pictures as images, which run no script and leave a
notebook's own style alone. Its length is bounded whatever the expression is.
"""

from __future__ import annotations

import base64
import platform
import re
from html import escape
from importlib import metadata
from typing import Any

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._registry import registered

#: Longer pictures and texts are left out of a cell's output, which then says so.
MAX_PICTURE = 200_000
MAX_TEXT = 20_000

#: A background for the picture, for which its colours are made, so that it can be read in light and in dark notebooks.
_PAPER = (
    "<style>.graph { background: #ffffff; border-radius: 8px; }"
    "@media (prefers-color-scheme: dark) { .graph { background: #14181d; } }</style></svg>"
)


def _picture(page: str) -> str | None:
    """The picture in a page that the engine made, as an HTML image; None if there is none or it is too long."""
    found = re.search(r"<svg\b.*?</svg>", page, re.DOTALL)
    if found is None or len(found[0]) > MAX_PICTURE:
        return None
    svg = found[0].removesuffix("</svg>") + _PAPER
    data = base64.b64encode(svg.encode()).decode()
    style = "max-width: 100%; height: auto; max-height: 32em"
    return f'<img alt="the plan of the expression" style="{style}" src="data:image/svg+xml;base64,{data}"/>'


def _shape(x: Array) -> str:
    return "[" + ", ".join(x._handle.dims) + "]"


def _head(x: Array, what: str) -> str:
    return f"<div><code>broadloom.Array {x.dtype}{escape(_shape(x))}</code> {escape(what)}</div>"


@registered("html")
def html(x: Array) -> str:
    """The result of `Array._repr_html_`: the plan of an expression, which is not computed for this, or the values of an
    array in memory.
    """
    if x._handle.is_symbolic:
        return _head(x, "in a function that is being traced")
    if x._handle.is_evaluated or x._origin is not None:
        values = np.array2string(np.asarray(x), threshold=200, edgeitems=3, max_line_width=100)
        size = f"{x.nbytes or 0:,} bytes"
        return f"<div>{_head(x, size)}<pre>{escape(values)}</pre></div>"
    picture = _picture(x._handle.explain_html(code=False)) or "<div>The plan is too large to be drawn here.</div>"
    hint = "<code>bl.evaluate(x)</code> computes it, <code>bl.explain(x)</code> says how"
    return f"<div>{_head(x, 'an expression, not computed yet')}{picture}<div><small>{hint}</small></div></div>"


class Explanation:
    """How an expression would be computed: prints as text, and shows as a picture in a notebook. Made by `explain`."""

    __slots__ = ("_text", "_page")

    def __init__(self, text: str, page: str | None) -> None:
        self._text = text
        self._page = page

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    @property
    def page(self) -> str | None:
        """A whole page of HTML, to be saved and opened in a browser; None of what has no picture."""
        return self._page

    def _repr_html_(self) -> str:
        text = self._text
        if len(text) > MAX_TEXT:
            text = f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT} characters more: print(bl.explain(x))"
        whole = f"<pre>{escape(text)}</pre>"
        picture = _picture(self._page) if self._page is not None else None
        if picture is None:
            return whole
        return f"<div>{picture}<details><summary>the plan as text</summary>{whole}</details></div>"


def explain(x: Any, *, code: bool = False, **options: Any) -> Explanation:
    """How an expression would be computed: its graph, what is rewritten, the kernels and their estimated times.

    Nothing is computed. `code` adds the machine code of each kernel; options are those of `evaluate`, of which the text
    takes account. Kernels and functions of `jit` are explained as they explain themselves. Raises TypeError for
    anything else.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.arange(4.0))
    >>> print(str(bl.explain(x * 2 + 1)).splitlines()[0])
    typed graph (5 nodes; result n4):
    """
    if isinstance(x, Array):
        handle = x._handle
        if handle.is_symbolic:
            return Explanation(handle.text(), None)
        return Explanation(handle.explain(code, **options), handle.explain_html(code=code))
    if hasattr(x, "explain"):
        return Explanation(str(x.explain()), None)
    raise TypeError(f"explain takes an array, a Kernel or a function of jit, not {type(x).__name__}")


#: Packages whose versions a report lists if they are installed.
_OPTIONAL = ("numexpr", "pandas", "dask", "xarray", "scipy", "numba", "jax", "tqdm")


def show_versions(as_dict: bool = False) -> dict[str, Any] | None:
    """Prints what a report of a problem should say: versions, the CPU, threads, and whether there is a compiler.

    With `as_dict=True` nothing is printed, and a dictionary is given.

    >>> import broadloom as bl
    >>> sorted(bl.show_versions(as_dict=True))[:4]
    ['broadloom', 'compiler', 'dependencies', 'machine']
    """
    version, width, no_compiler = _core.engine_info()
    dependencies: dict[str, str | None] = {}
    for name in _OPTIONAL:
        try:
            dependencies[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            dependencies[name] = None
    report: dict[str, Any] = {
        "broadloom": version,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "vector_width": width,
        "threads": _options.threads() or _core.default_threads(),
        "compiler": "available" if no_compiler is None else no_compiler,
        "dependencies": dependencies,
    }
    if as_dict:
        return report
    lines = [(name, value) for name, value in report.items() if name != "dependencies"]
    lines += [(name, found or "not installed") for name, found in dependencies.items()]
    print("\n".join(f"{name + ':':<14}{value}" for name, value in lines), flush=True)
    return None
