"""Runs ONNX models on this package's engine: a backend with the interface of `onnx.backend.base`.

Models of element-wise operators, reductions, views, softmax and constants run as fused kernels, and so do the bodies of
`If`, `Loop` and `Scan`; a model that needs anything else is rejected before it runs, with a list of the unsupported
operators. Importing this module imports the package `onnx`, which must be installed.
"""

from broadloom.onnx._backend import Backend, Prepared
from broadloom.onnx._errors import InvalidModelError, Unsupported, UnsupportedModelError

__all__ = [
    "Backend",
    "InvalidModelError",
    "Prepared",
    "Unsupported",
    "UnsupportedModelError",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]

is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
