//! Rows of gradients over generated arrays: one for each way in which adjoints are computed, moved and added.

/// A name and a program for each row.
pub const GRADIENTS: [(&str, &str); 12] = [
    (
        "grad rosenbrock float32",
        "x = sin(linspace(0, 900, 70001, dtype=float32)) * 1.5
         y = sum(100 * square(x[1:] - square(x[:-1])) + square(1 - x[:-1]))
         return y, g = grad(y, x)",
    ),
    (
        "grad rosenbrock float64",
        "x = sin(linspace(0, 900, 70001)) * 1.5
         y = sum(100 * square(x[1:] - square(x[:-1])) + square(1 - x[:-1]))
         return y, g = grad(y, x)",
    ),
    (
        "grad black-scholes float32",
        "s = linspace(60, 140, 20011, dtype=float32)
         v = linspace(0.1, 0.5, 20011, dtype=float32)
         t = linspace(0.2, 2, 20011, dtype=float32)
         d = (log(s / 100) + (0.02 + v * v / 2) * t) / (v * sqrt(t))
         y = sum(s * erfc(d * -0.7071067811865476) / 2 - 100 * exp(t * -0.02) * erfc((d - v * sqrt(t)) * -0.7071067811865476) / 2)
         return y, delta = grad(y, s), vega = grad(y, v), theta = grad(y, t)",
    ),
    (
        "grad black-scholes float64",
        "s = linspace(60, 140, 20011)
         v = linspace(0.1, 0.5, 20011)
         t = linspace(0.2, 2, 20011)
         d = (log(s / 100) + (0.02 + v * v / 2) * t) / (v * sqrt(t))
         y = sum(s * erfc(d * -0.7071067811865476) / 2 - 100 * exp(t * -0.02) * erfc((d - v * sqrt(t)) * -0.7071067811865476) / 2)
         delta = grad(y, s)
         total = sum(delta)
         return delta, gamma = grad(total, s), vanna = grad(total, v)",
    ),
    (
        "grad cross-entropy float32",
        "l = reshape(sin(linspace(0, 900, 70000, dtype=float32)) * 4, [200, 350])
         t = astype(indices(l, axis=1) == indices(l, axis=0), float32)
         s = l - max(l, axis=1, keepdims=true)
         y = -mean(sum(t * (s - log(sum(exp(s), axis=1, keepdims=true))), axis=1))
         return y, g = grad(y, l)",
    ),
    (
        "grad logistic float32",
        "x = reshape(sin(linspace(0, 900, 96000, dtype=float32)), [3000, 32])
         w = linspace(-1, 1, 32, dtype=float32)
         z = sum(x * w, axis=1)
         y = mean(logaddexp(z, 0.0) - where(z > 0.3, z, 0.0))
         return y, of_w = grad(y, w), of_x = grad(y, x)",
    ),
    (
        "grad norms float64",
        "x = reshape(round(sin(linspace(0, 900, 20000)) * 2), [5000, 4])
         n = vector_norm(x, axis=1)
         y = sum(n) + sum(hypot(x[:, 0], x[:, 1])) + sum(std(x, axis=1)) + sum(abs(x) ** 1.5)
         return y, g = grad(y, x)",
    ),
    (
        "grad scan float64",
        "x = reshape(sin(linspace(0, 500, 70000)), [250, 280])
         k = linspace(0.2, 0.9, 280)
         last, y = scan (m = 0.5; v in x, axis=0) { m = tanh(m * k + v); y = m * v }
         total = sum(y) + sum(last)
         return total, of_x = grad(total, x), of_k = grad(total, k)",
    ),
    (
        "grad products float64",
        "x = reshape(round(sin(linspace(0, 900, 20000)) * 8) / 4, [2500, 8])
         y = sum(prod(x, axis=1)) + sum(cumulative_prod(x, axis=1) * x) + sum(cumulative_sum(x, axis=0) / 100)
         return y, g = grad(y, x)",
    ),
    (
        "grad windows float64",
        "x = sin(linspace(0, 500, 20003))
         w = sliding_window(x, 5, axis=0)
         y = sum(max(w, axis=1) * sum(w * w, axis=1)) + sum(x[::3] * exp(x[::-3]))
         return y, g = grad(y, x)",
    ),
    (
        "grad ties float32",
        "x = reshape(round(sin(linspace(0, 900, 70000, dtype=float32)) * 3), [700, 100])
         y = sum(max(x, axis=1)) + sum(min(x, axis=0)) + sum(maximum(x, 0.0)) + sum(clip(x, -1.0, 2.0) * x)
         return y, g = grad(y, x)",
    ),
    (
        "grad branches float64",
        "x = sin(linspace(0, 900, 70001)) * 3
         y = sum(where(x > 0, sqrt(x) * log(x), where(x < -1, x ** 3, asin(x))))
         g = grad(y, x)
         z = sum(g * x)
         return g, second = grad(z, x)",
    ),
];
