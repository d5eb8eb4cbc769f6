"""Element-wise operators that networks use between layers (activation functions).

They are composed of the engine's functions. ONNX's own function bodies are not used where they lose digits: `expm1`
replaces exp(x) - 1, `erfc` replaces 1 + erf, and log(1 + exp(x)) is computed without overflow.
"""

from __future__ import annotations

import math

from broadloom._core import Handle
from broadloom.onnx._literals import apply, as_float, back, like, literal, select, widened
from broadloom.onnx._row import Call, Row


def _celu(call: Call, x: Handle) -> Handle:
    alpha, zero = like(x, call.attribute("alpha", 1.0)), like(x, 0)
    below = apply("multiply", alpha, apply("expm1", apply("divide", x, alpha)))
    return apply("add", apply("maximum", zero, x), apply("minimum", zero, below))


def _elu(call: Call, x: Handle) -> Handle:
    below = apply("multiply", like(x, call.attribute("alpha", 1.0)), apply("expm1", x))
    return select(apply("less", x, like(x, 0)), below, x)


def _gelu(call: Call, given: Handle) -> Handle:
    x = widened(given)
    half = apply("multiply", x, like(x, 0.5))
    if call.attribute("approximate", "none") == "tanh":
        cubed = apply("multiply", like(x, 0.044715), apply("pow", x, like(x, 3)))
        inner = apply("multiply", like(x, math.sqrt(2 / math.pi)), apply("add", x, cubed))
        made = apply("multiply", half, apply("add", apply("tanh", inner), like(x, 1)))
    else:
        made = apply("multiply", half, apply("erfc", apply("multiply", x, like(x, -math.sqrt(0.5)))))
    return back(made, given)


def _hard_sigmoid(call: Call, x: Handle) -> Handle:
    alpha, beta = like(x, call.attribute("alpha", 0.2)), like(x, call.attribute("beta", 0.5))
    return apply("clip", apply("add", apply("multiply", alpha, x), beta), like(x, 0), like(x, 1))


def _hard_swish(call: Call, x: Handle) -> Handle:
    line = apply("add", apply("multiply", like(x, 1 / 6), x), like(x, 0.5))
    return apply("multiply", x, apply("clip", line, like(x, 0), like(x, 1)))


def _leaky_relu(call: Call, x: Handle) -> Handle:
    below = apply("multiply", like(x, call.attribute("alpha", 0.01)), x)
    return select(apply("less", x, like(x, 0)), below, x)


def _softplus_of(x: Handle) -> Handle:
    return apply("logaddexp", x, like(x, 0))


def _mish(call: Call, given: Handle) -> Handle:
    x = widened(given)
    return back(apply("multiply", x, apply("tanh", _softplus_of(x))), given)


def _prelu(call: Call, x: Handle, slope: Handle) -> Handle:
    if call.version < 7 and slope.ndim == 1 and slope.size != 1 and x.ndim > 1:
        # Before opset 7, the slopes belong to the channels, which are axis 1.
        slope = slope.reshape([slope.size or 0, *[1] * (x.ndim - 2)])
    elif call.version < 7 and slope.size == 1:
        slope = slope.reshape([])
    slope = slope.broadcast_to([extent or 0 for extent in x.shape])
    return select(apply("less", x, like(x, 0)), apply("multiply", slope, x), x)


def _selu(call: Call, x: Handle) -> Handle:
    alpha, gamma = like(x, call.attribute("alpha", 1.67326)), like(x, call.attribute("gamma", 1.0507))
    below = apply("multiply", alpha, apply("expm1", x))
    return apply("multiply", gamma, select(apply("greater", x, like(x, 0)), x, below))


def _shrink(call: Call, given: Handle) -> Handle:
    x = as_float(given)
    threshold, bias = call.attribute("lambd", 0.5), like(x, call.attribute("bias", 0.0))
    above = select(apply("greater", x, like(x, threshold)), apply("subtract", x, bias), like(x, 0))
    return back(select(apply("less", x, like(x, -threshold)), apply("add", x, bias), above), given)


def _sigmoid_of(x: Handle) -> Handle:
    # The exponent is negative, so that nothing overflows and small results keep their digits.
    one, small = like(x, 1), apply("exp", apply("negative", apply("abs", x)))
    above = select(apply("less", x, like(x, 0)), small, one)
    return apply("divide", above, apply("add", one, small))


def _sigmoid(call: Call, given: Handle) -> Handle:
    return back(_sigmoid_of(widened(given)), given)


def _softsign(call: Call, given: Handle) -> Handle:
    x = widened(given)
    return back(apply("divide", x, apply("add", like(x, 1), apply("abs", x))), given)


def _swish(call: Call, given: Handle) -> Handle:
    x = widened(given)
    scaled = apply("multiply", like(x, call.attribute("alpha", 1.0)), x)
    return back(apply("multiply", x, _sigmoid_of(scaled)), given)


def _thresholded_relu(call: Call, x: Handle) -> Handle:
    alpha = literal(call.attribute("alpha", 1.0), x.dtype)
    return select(apply("greater", x, alpha), x, like(x, 0))


ROWS = (
    Row("Celu", _celu),
    Row("Elu", _elu),
    Row("Gelu", _gelu),
    Row("HardSigmoid", _hard_sigmoid),
    Row("HardSwish", _hard_swish),
    Row("LeakyRelu", _leaky_relu),
    Row("Mish", _mish),
    Row("PRelu", _prelu),
    Row("Relu", lambda call, x: apply("maximum", x, like(x, 0)), note="NaN stays"),
    Row("Selu", _selu),
    Row("Shrink", _shrink, note="integers as float64, without the fraction"),
    Row("Sigmoid", _sigmoid),
    Row("Softplus", lambda call, x: _softplus_of(x), note="without overflow"),
    Row("Softsign", _softsign),
    Row("Swish", _swish),
    Row("ThresholdedRelu", _thresholded_relu),
)
