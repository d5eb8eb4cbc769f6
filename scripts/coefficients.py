#!/usr/bin/env python3
"""Derives the constants of the transcendental functions and writes them as Rust.

    pip install mpmath==1.3.0
    python3 scripts/coefficients.py > crates/broadloom-math/src/functions/coefficients.rs
    python3 scripts/coefficients.py near > crates/broadloom-math/src/functions/near_coefficients.rs
    python3 scripts/coefficients.py LOG_SINGLE     # only this table, for inspection

Each polynomial is the minimax polynomial for its weight (Remez exchange on a Chebyshev grid, 60 digits). Its
coefficients are rounded, lowest first, to the arithmetic in which they are used, and after each the remaining ones are
fitted again. The bound beside a table is the maximum error of the rounded polynomial, evaluated exactly at 4,000
points.
"""

import struct
import subprocess
import sys

from mpmath import mp, mpf

mp.dps = 60
GRID = 600


def to_double(x):
    return mpf(float(x))  # mpmath rounds to nearest even


def to_single(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def grid(lo, hi, n):
    """Chebyshev points, including both ends."""
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * k / (n - 1)) for k in range(n)]


def remez(target, weight, points, powers):
    """The coefficients of the given powers that minimise the maximum of |weight · (target − polynomial)| at the points."""
    n = len(powers)
    at = [round(k * (len(points) - 1) / n) for k in range(n + 1)]
    for _ in range(30):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, k in enumerate(at):
            for j, power in enumerate(powers):
                rows[i, j] = points[k] ** power
            rows[i, n] = (-1) ** i / weight[k]
            right[i] = target[k]
        solution = mp.lu_solve(rows, right)
        coefficients = list(solution)[:n]
        error = [
            w * (t - sum(c * x**p for c, p in zip(coefficients, powers)))
            for x, t, w in zip(points, target, weight)
        ]
        # Takes one extremum from each run of equal signs, and then the n + 1 adjacent extrema whose minimum magnitude
        # is largest.
        runs = []
        for k, e in enumerate(error):
            if runs and (error[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[runs[-1]]):
                    runs[-1] = k
            else:
                runs.append(k)
        if len(runs) < n + 1:
            break
        best = max(
            range(len(runs) - n), key=lambda s: min(abs(error[k]) for k in runs[s : s + n + 1])
        )
        following = runs[best : best + n + 1]
        if following == at:
            break
        at = following
    return coefficients


def lawson(target, weight, points, powers):
    """A fit with weights that grow where the error is large (C. L. Lawson, 1961). It is slower than Remez exchange, but
    also works if the points include 0."""
    n = len(powers)
    rows = [[w * x**p for p in powers] for x, w in zip(points, weight)]
    right = [w * t for w, t in zip(weight, target)]
    shares = [mpf(1) / len(points)] * len(points)
    best = None
    for _ in range(80):
        normal = mp.matrix(n, n)
        side = mp.matrix(n, 1)
        for row, value, share in zip(rows, right, shares):
            for i in range(n):
                scaled = share * row[i]
                side[i] += scaled * value
                for j in range(n):
                    normal[i, j] += scaled * row[j]
        coefficients = list(mp.lu_solve(normal, side))
        error = [abs(value - sum(c * r for c, r in zip(coefficients, row))) for row, value in zip(rows, right)]
        worst = max(error)
        if best is None or worst < best[0]:
            best = (worst, coefficients)
        shares = [share * e for share, e in zip(shares, error)]
        total = sum(shares)
        shares = [share / total for share in shares]
    return best[1]


def polish(function, lo, hi, weight, coefficients):
    """Changes the rounded float32 coefficients by powers of two of their last bits, one or two at a time, as long as
    the maximum error decreases. Float64 arithmetic is accurate enough for that."""
    points = [x for x in grid(mpf(lo), mpf(hi), 300) if weight(x) != 0]
    xs = [float(x) for x in points]
    weights = [float(weight(x)) for x in points]
    powers = [[w * x**k for w, x in zip(weights, xs)] for k in range(len(coefficients))]
    now = [float(c) for c in coefficients]
    error = [
        w * (float(function(p)) - sum(c * x**k for k, c in enumerate(now))) for p, x, w in zip(points, xs, weights)
    ]
    worst = max(map(abs, error))
    steps = [sign << k for k in range(14) for sign in (1, -1)]

    def moved(c, step):
        (bits,) = struct.unpack("i", struct.pack("f", c))
        return struct.unpack("f", struct.pack("i", bits + step))[0]

    def falls(moves):
        nonlocal error, worst
        by = [(powers[k], moved(now[k], step) - now[k]) for k, step in moves]
        tried = []
        for i, e in enumerate(error):
            e -= sum(power[i] * change for power, change in by)
            if abs(e) >= worst * 0.9999:
                return False
            tried.append(e)
        error, worst = tried, max(map(abs, tried))
        for k, step in moves:
            now[k] = moved(now[k], step)
        return True

    any_falls = True
    while any_falls:
        any_falls = False
        for k in range(len(now)):
            for step in steps:
                while falls([(k, step)]):
                    any_falls = True
        for k in range(len(now)):
            for other in range(k + 1, len(now)):
                for step in steps:
                    for and_step in steps:
                        any_falls |= falls([(k, step), (other, and_step)])
    return [mpf(c) for c in now]


def fit(function, lo, hi, degree, weight, rounding, singly=99, solve=remez, count=GRID):
    """The rounded coefficients of x^0 … x^degree, lowest first, and the maximum weighted error.

    If 0 is inside the interval and the degree is high, the remainder to be fitted is almost 0 around 0 after a few
    coefficients. All but the first `singly` coefficients are then rounded at once, which loses a bit or two.
    """
    points = [x for x in grid(mpf(lo), mpf(hi), count) if weight(x) != 0]
    target = [function(x) for x in points]
    weights = [weight(x) for x in points]
    fixed = []
    while len(fixed) <= degree:
        first = len(fixed)
        free = solve(target, weights, points, list(range(first, degree + 1)))
        rounded = [rounding(c) for c in (free[:1] if first < singly else free)]
        target = [t - sum(c * x ** (first + k) for k, c in enumerate(rounded)) for t, x in zip(target, points)]
        fixed += rounded
    return fixed, largest_error(function, lo, hi, weight, fixed)


def largest_error(function, lo, hi, weight, coefficients):
    """The maximum weighted error of the polynomial at 4,000 points."""
    return max(
        abs(weight(x) * (function(x) - sum(c * x**k for k, c in enumerate(coefficients))))
        for x in grid(mpf(lo), mpf(hi), 4000)
    )


def near(x, function, series):
    """The function itself or, where it suffers from cancellation, its Taylor series."""
    return series(x) if abs(x) < mpf("1e-4") else function(x)


def taylor(terms):
    return lambda x: sum(c * x**k for k, c in enumerate(terms))


fact = mp.factorial
TANH_R_2 = mpf("0.17930") ** 2  # ln 2 / 4, plus an allowance for the error of the multiple
HALF_LN2 = mpf("0.34658")  # ln 2 / 2, plus an allowance for rounding the multiple
SQRT2 = mp.sqrt(2)

exp_tail = lambda r: near(r, lambda r: (mp.exp(r) - 1 - r) / r**2, taylor([1 / fact(k + 2) for k in range(12)]))
cosh_tail = lambda u: near(u, lambda u: (mp.cosh(mp.sqrt(u)) - 1) / u, taylor([1 / fact(2 * k + 2) for k in range(8)]))
sinh_tail = lambda u: near(
    u, lambda u: (mp.sinh(mp.sqrt(u)) / mp.sqrt(u) - 1) / u, taylor([1 / fact(2 * k + 3) for k in range(8)])
)
atanh_tail = lambda z: near(
    z, lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, taylor([mpf(2) / (2 * k + 3) for k in range(14)])
)
# The terms of atanh_tail after 2/3.
atanh_rest = lambda z: near(
    z,
    lambda z: ((2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z - mpf(2) / 3) / z,
    taylor([mpf(2) / (2 * k + 5) for k in range(14)]),
)
log_tail = lambda f: near(
    f, lambda f: (mp.log(1 + f) - f + f**2 / 2) / f**3, taylor([(-1) ** k / mpf(k + 3) for k in range(16)])
)
sin_tail = lambda u: near(
    u, lambda u: (mp.sin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u, taylor([(-1) ** (k + 1) / fact(2 * k + 3) for k in range(8)])
)
cos_tail = lambda u: near(
    u, lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2, taylor([(-1) ** k / fact(2 * k + 4) for k in range(8)])
)
atan_tail = lambda z: near(
    z, lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, taylor([(-1) ** (k + 1) / mpf(2 * k + 3) for k in range(14)])
)
asin_tail = lambda z: near(
    z,
    lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    taylor([fact(2 * k + 2) / (4 ** (k + 1) * fact(k + 1) ** 2 * (2 * k + 3)) for k in range(14)]),
)
# The tail of the series of 2·tan(x/2).
half_tan_tail = lambda u: near(
    u,
    lambda u: (2 * mp.tan(mp.sqrt(u) / 2) / mp.sqrt(u) - 1) / u,
    taylor([c / mpf(4) ** (k + 1) for k, c in enumerate([mpf(1) / 3, mpf(2) / 15, mpf(17) / 315, mpf(62) / 2835])]),
)
tanh_tail = lambda z: near(
    z,
    lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    taylor([-mpf(1) / 3, mpf(2) / 15, -mpf(17) / 315, mpf(62) / 2835]),
)
exp2_tail = lambda f: near(f, lambda f: (2**f - 1) / f, taylor([mp.log(2) ** (k + 1) / fact(k + 1) for k in range(9)]))

# The starting approximation of the cube root of 1/m.
cbrt_start = lambda f: (1 + f) ** (-mpf(1) / 3)
ERF_SLOPE = 2 / mp.sqrt(mp.pi) - 1
erf_tail = lambda u: near(
    u,
    lambda u: (mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1 - ERF_SLOPE) / u,
    taylor([2 / mp.sqrt(mp.pi) * (-1) ** (k + 1) / (fact(k + 1) * (2 * k + 3)) for k in range(14)]),
)
# erfc(a) without its exponential factor, so that it decreases slowly.
scaled_erfc = lambda a: mp.exp(a * a) * mp.erfc(a)
# log2(erfc) is expanded around this point, at which its value is almost exactly a float32 of 23 bits.
ERFC_LOG_POINT = mpf(1871) / 2048
ERFC_LOG_THERE = mp.nint(mp.log(mp.erfc(ERFC_LOG_POINT), 2) * 2**21) / 2**21
erfc_log_rest = lambda v: (mp.log(mp.erfc(ERFC_LOG_POINT + v), 2) - ERFC_LOG_THERE) / v
# The inverse of t = (a − c)/(a + c).
from_centre = lambda c, t: c * (1 + t) / (1 - t)
to_centre = lambda c, a: (mpf(a) - c) / (mpf(a) + c)
ERF_CENTRE = scaled_erfc(mpf(2))
erf_far = lambda t: (scaled_erfc(from_centre(2, t)) - ERF_CENTRE) / t
flat_erfc = lambda t: (1 + mpf(9) / 8 * from_centre(4, t)) * scaled_erfc(from_centre(4, t))
ERFC_CENTRE = flat_erfc(0)
flat_erfc_rest = lambda t: (flat_erfc(t) - ERFC_CENTRE) / t
# scaled_erfc(a) / w as a function of w = 1/(1 + a). Its value at a point where it is almost a float32 is subtracted.
ERFC_SINGLE_POINT = mpf(1232) / 4096
over_reciprocal = lambda w: scaled_erfc(1 / w - 1) / w
ERFC_SINGLE_THERE = mp.nint(over_reciprocal(ERFC_SINGLE_POINT) * 2**24) / 2**24
over_reciprocal_rest = lambda t: (over_reciprocal(ERFC_SINGLE_POINT + t) - ERFC_SINGLE_THERE) / t

# log2((1+s)/(1−s))/s and (2^r − 1)/r.
power_log2 = lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) if z else mpf(2)) / mp.log(2)
power_exp2 = lambda r: near(
    r, lambda r: (mpf(2) ** r - 1) / r, taylor([mp.log(2) ** (k + 1) / fact(k + 1) for k in range(12)])
)

S_MAX = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mpf("1.001")
QUARTER_PI_2 = (mp.pi / 4) ** 2 * mpf("1.001")
# The maximum remainder, squared, when angles up to 2^17 are reduced with the float32 nearest to 2/π.
SINGLE_R_2 = mpf("0.7908") ** 2
TAN_PI_8_2 = (SQRT2 - 1) ** 2 * mpf("1.001")

# name, function, interval, degree, weight, rounding, comment
TABLES = [
    ("EXP", exp_tail, -HALF_LN2, HALF_LN2, {"full": 10, "short": 5}, lambda r: r**2 / mp.exp(r),
     "exp(r) ≈ 1 + r + r²·P(r)", "|r| ≤ 0.34658", "of the result"),
    ("COSH", cosh_tail, 0, HALF_LN2**2, {"full": 5, "short": 2}, lambda u: u,
     "cosh(r) ≈ 1 + u·P(u), u = r²", "|r| ≤ 0.34658", "of 1"),
    ("SINH", sinh_tail, 0, HALF_LN2**2, {"full": 4, "short": 2}, lambda u: u,
     "sinh(r) ≈ r + r·u·P(u), u = r²", "|r| ≤ 0.34658", "of r"),
    ("TANH", tanh_tail, 0, TANH_R_2, {"full": 5, "short": 2}, lambda z: z,
     "tanh(r) ≈ r + r·z·P(z), z = r²", "|r| ≤ 0.17929", "of r"),
    ("ATANH", atanh_tail, 0, S_MAX, {"full": 6}, lambda z: z / 2,
     "log((1+s)/(1−s)) ≈ 2s + s·z·P(z), z = s²", "|s| ≤ 0.1717", "of 2s"),
    ("ATANH_REST", atanh_rest, 0, S_MAX, {"full": 7}, lambda z: z**2 / 2,
     "log((1+s)/(1−s)) ≈ 2s + s·z·(2/3 + z·P(z)), z = s²", "|s| ≤ 0.1717", "of 2s"),
    ("LOG", log_tail, 1 / SQRT2 - 1, SQRT2 - 1, {"short": 10},
     lambda f: f**2 * (f / mp.log(1 + f) if f else 1),
     "log(1+f) ≈ f − f²/2 + f³·P(f)", "√½ − 1 ≤ f ≤ √2 − 1", "of the result"),
    ("SIN", sin_tail, 0, QUARTER_PI_2, {"full": 6, "short": 3}, lambda u: u,
     "sin(r) ≈ r + r·u·P(u), u = r²", "|r| ≤ 0.7858", "of r"),
    ("COS", cos_tail, 0, QUARTER_PI_2, {"full": 5, "short": 2}, lambda u: u**2,
     "cos(r) ≈ 1 − u/2 + u²·P(u), u = r²", "|r| ≤ 0.7858", "of 1"),
    ("ATAN", atan_tail, 0, TAN_PI_8_2, {"full": 11, "short": 6}, lambda z: z,
     "atan(t) ≈ t + t·z·P(z), z = t²", "|t| ≤ 0.4144", "of t"),
    ("ASIN", asin_tail, 0, mpf("0.2501"), {"full": 12, "short": 7}, lambda z: z,
     "asin(x) ≈ x + x·z·P(z), z = x²", "|x| ≤ 0.5001", "of x"),
    ("CBRT", cbrt_start, 1 / SQRT2 - 1, SQRT2 - 1, {"start": 4}, lambda f: 1 / cbrt_start(f),
     "1/∛(1+f) ≈ P(f)", "√½ − 1 ≤ f ≤ √2 − 1", "of the result"),
    ("ERF", erf_tail, 0, 1, {"full": 12, "short": 6}, lambda u: u / mp.erf(mp.sqrt(u)) * mp.sqrt(u) if u else mpf(0),
     "erf(x) ≈ x + x·(ERF_SLOPE + u·P(u)), u = x²", "|x| ≤ 1", "of the result"),
    ("ERF_FAR", erf_far, to_centre(2, 1), to_centre(2, 6), {"full": 12, "short": 7}, lambda t: t * mp.exp(-from_centre(2, t) ** 2),
     "erf(x) ≈ 1 − exp(−x²)·(ERF_CENTRE + t·P(t)), t = (x−2)/(x+2)", "1 ≤ x ≤ 6", "of 1"),
    ("ERFC", flat_erfc_rest, to_centre(4, 0), to_centre(4, 28), {"full": 25}, lambda t: t / flat_erfc(t),
     "erfc(x) ≈ exp(−x²)·(ERFC_CENTRE + t·P(t))/(1 + 9x/8), t = (x−4)/(x+4)", "0 ≤ x ≤ 28", "of the result"),
    ("ERFC", flat_erfc_rest, to_centre(4, 0), to_centre(4, "10.5"), {"short": 12}, lambda t: t / flat_erfc(t),
     "erfc(x) ≈ exp(−x²)·(ERFC_CENTRE + t·P(t))/(1 + 9x/8), t = (x−4)/(x+4)", "0 ≤ x ≤ 10.5", "of the result"),
    ("EXP_SINGLE", exp_tail, -HALF_LN2, HALF_LN2, {"single": 4}, lambda r: r**2 / mp.exp(r),
     "exp(r) ≈ 1 + r + r²·P(r)", "|r| ≤ 0.34658", "of the result"),
    ("EXPM1_SINGLE", exp_tail, -HALF_LN2, HALF_LN2, {"single": 5}, lambda r: abs(r**2 / mp.expm1(r)) if r else mpf(0),
     "expm1(r) ≈ r + r²·P(r)", "|r| ≤ 0.34658", "of the result"),
    ("COSH_SINGLE", cosh_tail, 0, HALF_LN2**2, {"single": 2}, lambda u: u,
     "cosh(r) ≈ 1 + u·P(u), u = r²", "|r| ≤ 0.34658", "of 1"),
    ("SINH_SINGLE", sinh_tail, 0, HALF_LN2**2, {"single": 2}, lambda u: u,
     "sinh(r) ≈ r + r·u·P(u), u = r²", "|r| ≤ 0.34658", "of r"),
    ("TANH_SINGLE", tanh_tail, 0, TANH_R_2, {"single": 2}, lambda z: z,
     "tanh(r) ≈ r + r·z·P(z), z = r²", "|r| ≤ 0.17929", "of r"),
    ("LOG_SINGLE", log_tail, mpf(-1) / 4, mpf(1) / 2, {"single": 7},
     lambda f: f**2 * (f / mp.log(1 + f) if f else 1),
     "log(1+f) ≈ f − f²/2 + f³·P(f)", "−1/4 ≤ f ≤ 1/2", "of the result"),
    ("LOG_CENTRED_SINGLE", log_tail, mpf(-1) / 3, mpf(1) / 3, {"single": 7},
     lambda f: f**2 * (f / mp.log(1 + f) if f else 1),
     "log(1+f) ≈ f − f²/2 + f³·P(f)", "|f| ≤ 1/3", "of the result"),
    ("ATANH_SINGLE", atanh_tail, 0, mpf("0.0376"), {"single": 3}, lambda z: z / 2,
     "log((1+s)/(1−s)) ≈ 2s + s·z·P(z), z = s²", "|s| ≤ 0.1939", "of 2s"),
    ("SIN_SINGLE", sin_tail, 0, SINGLE_R_2, {"single": 2}, lambda u: u,
     "sin(r) ≈ r + r·u·P(u), u = r²", "|r| ≤ 0.7908", "of r"),
    ("COS_SINGLE", cos_tail, 0, SINGLE_R_2, {"single": 2}, lambda u: u**2,
     "cos(r) ≈ 1 − u/2 + u²·P(u), u = r²", "|r| ≤ 0.7908", "of 1"),
    ("POWER_LOG2", power_log2, 0, S_MAX, {"short": 4}, lambda z: 1 / power_log2(z),
     "log2((1+s)/(1−s)) ≈ s·P(z), z = s²", "|s| ≤ 0.1717", "of the result"),
    ("POWER_EXP2", power_exp2, -mpf("0.5"), mpf("0.5"), {"short": 5}, lambda r: r / mpf(2) ** r,
     "2^r ≈ 1 + r·P(r)", "|r| ≤ 0.5", "of the result"),
    ("TAN_SINGLE", half_tan_tail, 0, SINGLE_R_2, {"single": 3}, lambda u: u,
     "2·tan(r/2) ≈ r + r·u·P(u), u = r²", "|r| ≤ 0.7908", "of the result"),
    ("ATAN_SINGLE", atan_tail, 0, mpf("0.25"), {"single": 4}, lambda z: z,
     "atan(t) ≈ t + t·z·P(z), z = t²", "|t| ≤ 1/2", "of t"),
    ("ASIN_SINGLE", asin_tail, 0, mpf("0.25"), {"single": 4}, lambda z: z,
     "asin(x) ≈ x + x·z·P(z), z = x²", "|x| ≤ 1/2", "of x"),
    ("CBRT_SINGLE", lambda h: (1 - h) ** (-mpf(2) / 3), mpf("-0.1035"), mpf("0.1035"), {"single": 3}, lambda h: (1 - h) ** (mpf(2) / 3),
     "(1 − h)^(−2/3) ≈ P(h)", "|h| ≤ 0.1035", "of the result"),
    ("ERF_SINGLE", erf_tail, 0, mpf("0.663"), {"single": 4}, lambda u: u / mp.erf(mp.sqrt(u)) * mp.sqrt(u) if u else mpf(0),
     "erf(x) ≈ x + x·(ERF_SLOPE + u·P(u)), u = x²", "|x| ≤ 0.814", "of the result"),
    ("ERFC_LOG_SINGLE", erfc_log_rest, mpf("0.81") - ERFC_LOG_POINT, 4 - ERFC_LOG_POINT, {"single": 5},
     lambda v: v * mp.erfc(ERFC_LOG_POINT + v) * mp.log(2),
     "erf(x) ≈ 1 − 2^(ERFC_LOG_THERE + v·P(v)), v = x − ERFC_LOG_POINT", "0.81 ≤ x ≤ 4", "of 1"),
    ("ERFC_SINGLE", over_reciprocal_rest, 1 / mpf("11.2") - ERFC_SINGLE_POINT, 1 / mpf("1.59") - ERFC_SINGLE_POINT, {"single": 9},
     lambda t: t / over_reciprocal(ERFC_SINGLE_POINT + t),
     "erfc(x) ≈ exp(−x²)·w·(ERFC_SINGLE_THERE + t·P(t)), w = 1/(1 + x), t = w − ERFC_SINGLE_POINT", "0.59 ≤ x ≤ 10.2", "of the result"),
    ("EXP2_SINGLE", exp2_tail, mpf(-1) / 2, mpf(1) / 2, {"single": 5}, lambda f: f / 2**f,
     "2^f ≈ 1 + f·P(f)", "|f| ≤ 1/2", "of the result"),
]

# The number of coefficients that are rounded one at a time, for tables in which not all are; see `fit`.
SINGLY = {"ERFC": 2, "ERF_SINGLE": 3}

# Tables whose coefficients are all rounded at once and then improved; see `polish`.
POLISHED = {"EXPM1_SINGLE", "COSH_SINGLE", "SINH_SINGLE", "LOG_SINGLE", "LOG_CENTRED_SINGLE", "ATANH_SINGLE"}

# Tables around 0 that use the slower fit, at fewer points.
LAWSON = {"CBRT_SINGLE", "ERFC_LOG_SINGLE", "ERFC_SINGLE", "EXP2_SINGLE"}


# The degrees of the polynomials for functions that return the nearest float32, for an error of at most 2^-43.
NEAR = {
    "EXP": 7, "COSH": 3, "SINH": 3, "TANH": 4, "LOG": 13, "SIN": 4, "COS": 3, "ATAN": 7, "ASIN": 8, "ERF": 8,
}
# The degree of erfc for the interval where the result is not a float64.
NEAR_OF_SHORT_INTERVAL = {"ERFC": 16}


def near_tables():
    """The tables with the degrees in `NEAR`, without duplicates."""
    left = dict(NEAR)
    for name, function, lo, hi, variants, *rest in TABLES:
        degree = left.pop(name, None) or ("short" in variants and NEAR_OF_SHORT_INTERVAL.get(name))
        if degree:
            yield (name, function, lo, hi, {"near": degree}, *rest)


def literal(x, single=False):
    text = repr(float(x))
    if single:
        # The shortest decimal that parses to the same float32.
        for digits in range(1, 12):
            text = f"{float(x):.{digits}g}"
            if to_single(mpf(text)) == x:
                break
        text = repr(float(text))
    return text if any(c in text for c in ".e") else text + ".0"


def bits_below(x, count):
    """x truncated to `count` significant bits."""
    _, e = mp.frexp(x)
    scale = mpf(2) ** (count - e)
    return mp.floor(x * scale) / scale


def split(value, *counts):
    """The value as an unevaluated sum: parts with the given numbers of bits, and the double nearest to the rest."""
    parts = []
    for count in counts:
        parts.append(bits_below(value, count) if value > 0 else -bits_below(-value, count))
        value -= parts[-1]
    return parts + [to_double(value)]


def double_double(value):
    return [to_double(value), to_double(value - to_double(value))]


def constant(name, doc, values):
    kind = "f64" if len(values) == 1 else f"[f64; {len(values)}]"
    text = literal(values[0]) if len(values) == 1 else "[" + ", ".join(map(literal, values)) + "]"
    return f"/// {doc}\npub const {name}: {kind} = {text};\n"


def polynomials(tables, out):
    for name, function, lo, hi, variants, weight, form, interval, relative in tables:
        for variant, degree in variants.items():
            single = variant == "single"
            rounding = to_single if single else to_double
            how = {"solve": lawson, "count": 120} if name in LAWSON else {}
            if name in POLISHED:
                how["singly"] = 0
            how.setdefault("singly", SINGLY.get(name, 99))
            coefficients, worst = fit(function, lo, hi, degree, weight, rounding, **how)
            if name in POLISHED:
                coefficients = polish(function, lo, hi, weight, coefficients)
                worst = largest_error(function, lo, hi, weight, coefficients)
            name_of = name if single else f"{name}_{variant.upper()}"
            kind = "f32" if single else "f64"
            out.append(f"/// {form}, {interval}; error below 2^{float(mp.ceil(mp.log(worst, 2) * 100) / 100):.2f} {relative}.")
            out.append(f"pub const {name_of}: [{kind}; {degree + 1}] = [")
            out += [f"    {literal(c, single)}," for c in coefficients]
            out.append("];\n")
            print(name_of, mp.nstr(mp.log(worst, 2), 5), file=sys.stderr)


def main_near():
    out = [
        "//! Polynomials of the correctly rounded float32 functions. Made by `scripts/coefficients.py near` (mpmath); not edited by hand.",
        "//!",
        "//! The format is that of `functions::coefficients`, whose tables for the same functions have other error bounds.",
        "",
    ]
    polynomials(near_tables(), out)
    write(out)


def write(out):
    text = "\n".join(out) + "\n"
    formatted = subprocess.run(["rustfmt", "--edition", "2024", "--config", "max_width=110"], input=text, capture_output=True, text=True)
    sys.stdout.write(formatted.stdout if formatted.returncode == 0 else text)


def main():
    out = [
        "//! Constants of the transcendental functions. Made by `scripts/coefficients.py` (mpmath); not edited by hand.",
        "//!",
        "//! The coefficients of a polynomial are listed lowest power first. `FULL` tables are for float64 results, `SHORT`",
        "//! tables for float64 arithmetic whose result is rounded to float32 or float16, `SINGLE` tables for float32 arithmetic.",
        "//! The error bounds hold for the rounded coefficients and leave out the rounding errors of the evaluation.",
        "#![expect(clippy::approx_constant, reason = \"they are what they look like, to the digits that count\")]",
        "",
    ]
    polynomials([table for table in TABLES if len(sys.argv) == 1 or table[0] in sys.argv[1:]], out)
    ln2 = mp.log(2)
    out.append(constant("LN2", "ln 2 as a sum of 32 bits, 32 bits and the rest; products of the first two with integers of up to 21 bits are exact.", split(ln2, 32, 32)))
    out.append(constant("LN2_DD", "ln 2 as a double-double.", double_double(ln2)))
    out.append(constant("LOG2_E", "1/ln 2 as a double-double.", double_double(1 / ln2)))
    out.append(constant("LOG10_E", "1/ln 10 as a double-double.", double_double(1 / mp.log(10))))
    out.append(constant("LOG10_2", "log10 2 as a sum of 32 bits, 32 bits and the rest.", split(mp.log10(2), 32, 32)))
    single = lambda x: to_single(x)
    head16 = bits_below(ln2, 16)
    values = [single(ln2), single(ln2 - single(ln2)), head16, single(ln2 - head16)]
    out.append("/// ln 2 as the sum of two float32, and as the sum of a 16-bit number, whose products with exponents are exact, and the rest.")
    out.append("pub const LN2_SINGLE: [f32; 4] = [" + ", ".join(literal(v, True) for v in values) + "];\n")
    inverse = 1 / ln2
    out.append("/// 1/ln 2 as the sum of two float32.")
    out.append("pub const LOG2_E_SINGLE: [f32; 2] = [" + ", ".join(literal(v, True) for v in [single(inverse), single(inverse - single(inverse))]) + "];\n")
    log10_2, log10_e = mp.log10(2), 1 / mp.log(10)
    head16 = bits_below(log10_2, 16)
    out.append("/// log10 2 as a sum of two float32; the first has 16 bits, so that its products with exponents are exact.")
    out.append("pub const LOG10_2_SINGLE: [f32; 2] = [" + ", ".join(literal(v, True) for v in [head16, single(log10_2 - head16)]) + "];\n")
    out.append("/// 1/ln 10 as the sum of two float32.")
    out.append("pub const LOG10_E_SINGLE: [f32; 2] = [" + ", ".join(literal(v, True) for v in [single(log10_e), single(log10_e - single(log10_e))]) + "];\n")
    out.append(constant("TWO_OVER_PI", "2/π.", [to_double(2 / mp.pi)]))
    out.append("/// 2/π as float32.")
    out.append(f"pub const TWO_OVER_PI_SINGLE: f32 = {literal(single(2 / mp.pi), True)};\n")
    half_pi = mp.pi / 2
    parts = []
    rest = half_pi
    for _ in range(3):
        parts.append(single(rest))
        rest -= parts[-1]
    out.append("/// π/2 as an unevaluated sum of three float32.")
    out.append("pub const HALF_PI_SINGLE: [f32; 3] = [" + ", ".join(literal(v, True) for v in parts) + "];\n")
    parts = []
    rest = half_pi
    for _ in range(3):
        parts.append(to_double(rest))
        rest -= parts[-1]
    out.append(constant("HALF_PI", "π/2 as an unevaluated sum of three doubles.", parts))
    out.append(constant("CBRT_HALF", "∛½, ∛2.", [to_double(mp.cbrt(mpf(1) / 2)), to_double(mp.cbrt(2))]))
    out.append(constant("ERF_SLOPE", "2/√π − 1.", [to_double(ERF_SLOPE)]))
    out.append("/// 2/√π − 1 as float32.")
    out.append(f"pub const ERF_SLOPE_SINGLE: f32 = {literal(single(ERF_SLOPE), True)};\n")
    out.append("/// The argument around which log2(erfc(x)) is approximated; its value there is close to a float32.")
    out.append(f"pub const ERFC_LOG_POINT: f32 = {literal(ERFC_LOG_POINT, True)};\n")
    out.append("/// log2(erfc(x)) at [`ERFC_LOG_POINT`] as a float32, which differs from the exact value by 2^-29.")
    out.append(f"pub const ERFC_LOG_THERE: f32 = {literal(ERFC_LOG_THERE, True)};\n")
    out.append("/// The point 1/(1 + x) around which erfc(x)·exp(x²)·(1 + x) is approximated; its value there is close to a float32.")
    out.append(f"pub const ERFC_SINGLE_POINT: f32 = {literal(ERFC_SINGLE_POINT, True)};\n")
    out.append("/// erfc(x)·exp(x²)·(1 + x) at [`ERFC_SINGLE_POINT`] as a float32, which differs from the exact value by 2^-31.")
    out.append(f"pub const ERFC_SINGLE_THERE: f32 = {literal(ERFC_SINGLE_THERE, True)};\n")
    out.append(constant("ERF_CENTRE", "exp(4)·erfc(2).", [to_double(ERF_CENTRE)]))
    out.append(constant("ERFC_CENTRE", "11/2·exp(16)·erfc(4) as a double-double.", double_double(ERFC_CENTRE)))
    third = mpf(2) / 3
    out.append(constant("TWO_THIRDS", "2/3 as a double-double.", double_double(third)))
    # 2/π in base 2^64 for Payne–Hanek reduction, with 1280 fraction bits.
    words = 20
    mp.dps = 500
    digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * words)))
    out.append(f"/// The first {64 * words} bits of 2/π behind the binary point, most significant word first.")
    out.append(f"pub const TWO_OVER_PI_BITS: [u64; {words}] = [")
    for k in range(words):
        out.append(f"    0x{(digits >> (64 * (words - 1 - k))) & (2**64 - 1):016x},")
    out.append("];")
    write(out)


if __name__ == "__main__":
    main_near() if sys.argv[1:] == ["near"] else main()
