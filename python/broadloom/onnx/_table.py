"""The table of operators, with one row for each. A new operator only needs a row in the module of its category. Operators
with bodies have a table of their own, and so do those whose results have a shape that depends on values.
"""

from __future__ import annotations

from broadloom.onnx import (
    _activations,
    _constants,
    _elementwise,
    _gradients,
    _indices,
    _losses,
    _normalization,
    _random,
    _reductions,
    _scatters,
    _shapes,
)
from broadloom.onnx._control import CONTROLS, Control
from broadloom.onnx._row import Row
from broadloom.onnx._selections import SELECTIONS, Selection

#: The modules with rows, by their category in the documentation.
KINDS: dict[str, tuple[Row, ...]] = {
    "Element by element": _elementwise.ROWS,
    "Activations": _activations.ROWS,
    "Reductions": _reductions.ROWS,
    "Softmax": _normalization.SOFTMAX,
    "Normalisations": _normalization.ROWS,
    "Losses": _losses.ROWS,
    "Shapes": _shapes.ROWS,
    "Indices and pads": _indices.ROWS,
    "Scatters, orders and selections": _scatters.ROWS,
    "Constants": _constants.ROWS,
    "Random numbers": _random.ROWS,
    "Gradients": _gradients.ROWS,
}

#: The rows by name. All but those with a domain are in ONNX's own.
TABLE: dict[str, Row] = {row.name: row for rows in KINDS.values() for row in rows}

assert len(TABLE) == sum(map(len, KINDS.values()))

#: The operators with bodies, by name. All are in ONNX's own domain.
CONTROL: dict[str, Control] = {control.name: control for control in CONTROLS}

#: The operators whose results have a shape that depends on values, by name. All are in ONNX's own domain.
SELECTION: dict[str, Selection] = {selection.name: selection for selection in SELECTIONS}
