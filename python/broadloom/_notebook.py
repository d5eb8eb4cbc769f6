"""The display of arrays in notebooks, and the version report for bug reports.

The generated HTML contains escaped text, and pictures as images. It runs no script and doesn't affect a notebook's
style. Its length is bounded for every expression.
"""

from __future__ import annotations

import base64
import math
import platform
import re
from html import escape
from importlib import metadata
from typing import Any, Unpack

import numpy as np

from broadloom import _core, _options
from broadloom._array import Array
from broadloom._options import EvaluationOptions
from broadloom._printing import blocks, corners
from broadloom._registry import registered
from broadloom._tracebacks import shows_users_lines

__all__: list[str] = ["Explanation", "explain", "show_versions"]

#: The maximum length of a picture and of a text in a cell's output. Longer ones are replaced by a note.
MAX_PICTURE = 200_000
MAX_TEXT = 20_000

#: Arrays with more elements than `THRESHOLD` are summarised by `EDGE` elements at both ends of each axis, as by NumPy.
THRESHOLD = 200
EDGE = 3

#: The maximum number of elements in a summary, and the maximum cost of computing them: the number of operations plus an
#: eighth of the moved bytes. It takes some milliseconds.
MAX_SHOWN = 2_500
MAX_COST = 5_000_000

#: Values are aligned by spaces, so the font is monospaced regardless of the notebook's own style.
_FONT = "style=\"font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\""

#: The background that the picture's colours are made for, so that it can be read in a light and in a dark notebook.
_PAPER = (
    "<style>.graph { background: #ffffff; border-radius: 8px; }"
    "@media (prefers-color-scheme: dark) { .graph { background: #14181d; } }</style></svg>"
)


def _picture(page: str) -> str | None:
    """The picture in an HTML page of the engine, as an image."""
    found = re.search(r"<svg\b.*?</svg>", page, re.DOTALL)
    if found is None or len(found[0]) > MAX_PICTURE:
        return None
    svg = found[0].removesuffix("</svg>") + _PAPER
    data = base64.b64encode(svg.encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    # The picture keeps its own size, since the text of a large picture that is scaled to fit can't be read.
    image = f'<img alt="the plan of the expression" style="max-width: none" src="{source}"/>'
    return f'<div style="overflow: auto; max-height: 32em">{image}</div>'


def _shape(x: Array) -> str:
    return "[" + ", ".join(x._handle.dims) + "]"


def _head(x: Array, what: str) -> str:
    return f"<div><code {_FONT}>broadloom.Array {x.dtype}{escape(_shape(x))}</code>: {escape(what)}</div>"


def _bytes(n: float) -> str:
    """A number of bytes in the format of `explain`."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} EB"


def _edge(x: Array) -> int | None:
    """The number of elements to show at both ends of each axis; None if the array has too many axes for a short
    summary."""
    shape = [extent or 0 for extent in x.shape]
    for edge in range(EDGE, 0, -1):
        if (x.size or 0) <= THRESHOLD or math.prod(min(extent, 2 * edge + 1) for extent in shape) <= MAX_SHOWN:
            return edge
    return None


def _values(x: Array) -> tuple[str | None, str]:
    """The elements as text, or None and the reason. If there are many, only the first and last ones along each axis are
    shown. The array is not changed."""
    edge, threshold = _edge(x), THRESHOLD
    if edge is None:
        return None, "It has too many axes to be shown here."
    is_small = (x.size or 0) <= THRESHOLD
    if x._handle.is_evaluated or x._origin is not None:
        values = np.asarray(x)
    else:
        parts = [x._handle] if is_small else [x._handle.slice(source) for source, _ in blocks(x, edge)[1]]
        if sum(operations + moved // 8 for operations, moved in (part.cost() for part in parts)) > MAX_COST:
            return None, "Its values take a while: <code>print(x)</code> computes them."
        if is_small:
            values = x._handle.evaluate().to_numpy()
        else:
            values, threshold = corners(x, edge), 0
    if values.ndim == 0:
        return str(values), ""
    return np.array2string(values, threshold=threshold, edgeitems=edge, max_line_width=100), ""


@registered("html")
def html(x: Array) -> str:
    """`Array._repr_html_`: its type, its values if they are in memory or cheap to compute, and the plan."""
    if x._handle.is_symbolic:
        return _head(x, "in a function that is being traced")
    size = _bytes(x.nbytes or 0)
    if x._handle.is_evaluated or x._origin is not None:
        head, plan = f"{size} in memory", "<div>Its values are in memory: nothing would run.</div>"
    else:
        head = f"{size}, an expression, not computed yet"
        picture = _picture(x._handle.explain_html(code=False)) or "<div>The plan is too large to be drawn here.</div>"
        hint = "<code>bl.evaluate(x)</code> computes and keeps all values, <code>bl.explain(x)</code> says how"
        plan = f"{picture}<div><small>{hint}</small></div>"
    values, why = _values(x)
    shown = f"<div>{why}</div>" if values is None else f"<pre {_FONT}>{escape(values)}</pre>"
    return f"<div>{_head(x, head)}{shown}<details><summary>the plan</summary>{plan}</details></div>"


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
        """A whole page of HTML, to be saved and opened in a browser; None if there is no picture."""
        return self._page

    def _repr_html_(self) -> str:
        text = self._text
        if len(text) > MAX_TEXT:
            text = f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT} characters more: print(bl.explain(x))"
        whole = f"<pre {_FONT}>{escape(text)}</pre>"
        picture = _picture(self._page) if self._page is not None else None
        if picture is None:
            return whole
        return f"<div>{picture}<details><summary>the plan as text</summary>{whole}</details></div>"


@shows_users_lines
def explain(x: Any, *, code: bool = False, **options: Unpack[EvaluationOptions]) -> Explanation:
    """Describes how an expression would be computed: its graph, the rewriting, the kernels and their estimated times.

    Nothing is computed. `code` adds the machine code of each kernel. The options are those of `evaluate`, and the
    description takes account of them. Kernels and functions made by `jit` are described by their own methods `explain`.
    Raises TypeError for any other object.

    >>> import numpy as np, broadloom as bl
    >>> x = bl.asarray(np.arange(4.0))
    >>> print(str(bl.explain(x * 2 + 1)).splitlines()[0])
    typed graph (5 nodes; result n4):
    """
    _options.check_names("explain", options, ("code",))
    if isinstance(x, Array):
        handle = x._handle
        if handle.is_symbolic:
            return Explanation(handle.text(), None)
        return Explanation(handle.explain(code, **options), handle.explain_html(code=code))
    if hasattr(x, "explain"):
        return Explanation(str(x.explain()), None)
    raise TypeError(f"explain takes an array, a Kernel or a function of jit, not {type(x).__name__}")


#: Optional packages whose versions are reported.
_OPTIONAL = ("numexpr", "pandas", "dask", "xarray", "scipy", "numba", "jax", "tqdm")


@shows_users_lines
def show_versions(as_dict: bool = False) -> dict[str, Any] | None:
    """Prints what a report of a problem should contain: versions, the CPU, threads, and whether there is a compiler.

    With `as_dict=True`, nothing is printed, and a dictionary is returned.

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
