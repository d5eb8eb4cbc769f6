"""Fits a model to measurements with SciPy: the gradient is compiled together with the value.

python fit_model.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize

import broadloom as bl

rng = np.random.default_rng(7)
time = np.linspace(0.0, 4.0, 1000)
measured = 2.5 * np.exp(-1.3 * time) + 0.5 + 0.01 * rng.standard_normal(time.size)


def model(parameters: Any, time: Any) -> Any:
    """An exponential decay to a constant."""
    return parameters[0] * bl.exp(-parameters[1] * time) + parameters[2]


@bl.jit
@bl.value_and_grad
def loss(parameters: Any, time: Any, measured: Any) -> Any:
    """The mean of the squared residuals, and its gradient with respect to the parameters."""
    return bl.mean((model(parameters, time) - measured) ** 2)


def residuals(parameters: Any, time: Any, measured: Any) -> Any:
    """The residual of each measurement."""
    return model(parameters, time) - measured


start = np.array([1.0, 1.0, 0.0])
fitted = minimize(loss, start, args=(time, measured), jac=True, method="BFGS")
print("minimize:     ", np.round(fitted.x, 2))

jacobian = bl.jit(bl.jacfwd(residuals))
fitted = least_squares(bl.jit(residuals), start, jac=jacobian, args=(time, measured))
print("least_squares:", np.round(fitted.x, 2))
assert np.allclose(fitted.x, [2.5, 1.3, 0.5], atol=0.02)
