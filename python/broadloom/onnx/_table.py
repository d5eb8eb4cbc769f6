"""The table of operators, which has one row for each. A new operator is a row in the module of its kind, and nothing
else has to be changed."""

from __future__ import annotations

from broadloom.onnx import _activations, _constants, _elementwise, _normalization, _reductions, _shapes
from broadloom.onnx._row import Row

#: The rows of each module, by what the docs call their kind.
KINDS: dict[str, tuple[Row, ...]] = {
    "Element by element": _elementwise.ROWS,
    "Activations": _activations.ROWS,
    "Reductions": _reductions.ROWS,
    "Softmax": _normalization.SOFTMAX,
    "Normalisations": _normalization.ROWS,
    "Shapes": _shapes.ROWS,
    "Constants": _constants.ROWS,
}

#: The rows by the operators' names; all operators are of ONNX's own domain.
TABLE: dict[str, Row] = {row.name: row for rows in KINDS.values() for row in rows}

assert len(TABLE) == sum(map(len, KINDS.values()))
