#!/usr/bin/env python3
"""Derives the constants of the normal quantile function and writes them as Rust.

    pip install mpmath==1.3.0
    python3 scripts/quantile_coefficients.py > crates/broadloom-math/src/functions/quantile_coefficients.rs

The values of the quantile function come from Newton's method for mpmath's erfc, with 50 digits. A rational function is
the solution of the linearised least-squares problem, with the denominator of the step before as weight (C. K. Sanathanan
and J. Koerner, 1963), and weights that grow where the error is large (C. L. Lawson, 1961). Its coefficients are rounded
at the end. The bound beside a table is the maximum error of the rounded rational function at 200 points.
"""

import struct
import subprocess
import sys

from mpmath import mp, mpf

mp.dps = 50
ROOT2 = mp.sqrt(2)
# The quantile less r at the seam, approximately: the quotient is smallest where the quantile is.
TAIL_OFFSET = mpf(-11) / 16


def upper(x):
    """The probability of a value above x."""
    return mp.erfc(x / ROOT2) / 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def newton(step, x):
    for _ in range(80):
        s = step(x)
        x -= s
        if abs(s) < mpf(10) ** -46 * x:
            break
    return x


def of_root(r):
    """The quantile of a tail of probability exp(−r²/2)."""
    level = mpf(r) ** 2 / 2
    start = r - (mp.log(r) + mpf("0.92")) / r
    return newton(lambda x: (-mp.log(upper(x)) - level) * upper(x) / density(x), start)


def factor(v):
    """The quantile divided by a = 1 − 2q, where v is log(4q(1 − q)), which is log(1 − a²)."""
    if v == 0:
        return mp.sqrt(mp.pi / 2)
    a = mp.sqrt(-mp.expm1(v))
    start = a * mp.sqrt(mp.pi / 2) if a < 0.7 else of_root(mp.sqrt(-2 * mp.log((1 - a) / 2)))
    return newton(lambda x: (mp.erf(x / ROOT2) - a) / (2 * density(x)), start) / a


def chebyshev(count):
    return [-mp.cos(mp.pi * (k + mpf(1) / 2) / count) for k in range(count)]


def rational(points, target, weight, numerator, denominator, steps=26):
    """The coefficients of the given powers that minimise |weight · (target − N/D)|. The first of D is 1."""
    unknowns = len(numerator) + len(denominator) - 1
    below = [x ** denominator[0] for x in points]
    shares = [mpf(1)] * len(points)
    best = None
    for step in range(steps):
        with mp.workdps(110):
            normal, side = mp.matrix(unknowns, unknowns), mp.matrix(unknowns, 1)
            for x, f, w, d, share in zip(points, target, weight, below, shares):
                s = share * (w / d) ** 2
                row = [x**k for k in numerator] + [-f * x**k for k in denominator[1:]]
                right = f * x ** denominator[0]
                for i in range(unknowns):
                    scaled = s * row[i]
                    side[i] += scaled * right
                    for j in range(unknowns):
                        normal[i, j] += scaled * row[j]
            solution = list(mp.lu_solve(normal, side))
        n, d = solution[: len(numerator)], [mpf(1)] + solution[len(numerator) :]
        below = [sum(c * x**k for c, k in zip(d, denominator)) for x in points]
        error = [
            abs(w * (f - sum(c * x**k for c, k in zip(n, numerator)) / b))
            for x, f, w, b in zip(points, target, weight, below)
        ]
        worst = max(error)
        if best is None or worst < best[0]:
            best = worst, n, d
        if step >= 2:
            shares = [share * (e / worst + mpf("0.02")) for share, e in zip(shares, error)]
            mean = sum(shares) / len(shares)
            shares = [share / mean for share in shares]
    return best[1], best[2]


class Regions:
    """The two regions and their samples, for constants rounded by `rounding`. They meet where the tail's probability is
    `seam`."""

    def __init__(self, seam, rounding, bits):
        self.seam, self.rounding = seam, rounding
        self.tail_start = mp.sqrt(-2 * mp.log(seam))
        self.centre_start = mp.log(4 * seam * (1 - seam))
        self.centre, self.value, self.slope = self.near_floats(bits)

    def near_floats(self, bits):
        """A number of `bits` fraction bits near the middle of the central region at which the value of `factor` and its
        derivative are almost floats, with them."""
        middle = mp.nint(self.centre_start / 2 * 2**8) / 2**8
        terms = mp.taylor(factor, middle, 12)
        slopes = [k * c for k, c in enumerate(terms)][1:]
        lost = lambda x: abs(x - self.rounding(x))
        at = lambda d: (mp.polyval(terms[::-1], d), mp.polyval(slopes[::-1], d))
        best = min((mpf(k) / 2**bits for k in range(4096)), key=lambda d: sum(map(lost, at(d))))
        print("lost at the centre", mp.nstr(mp.log(sum(map(lost, at(best))), 2), 5), file=sys.stderr)
        return middle + best, *map(self.rounding, at(best))

    def centre_samples(self, count):
        points = [self.centre_start / 2 * (1 - t) for t in chebyshev(count)]
        values = [factor(v) for v in points]
        ds = [v - self.centre for v in points]
        rest = [(p - self.value - d * self.slope) / d**2 for p, d in zip(values, ds)]
        return ds, rest, [d**2 / p for p, d in zip(values, ds)]

    def tail_samples(self, end, count):
        middle = mp.sqrt(self.tail_start * end)
        k = (end - middle) / (end + middle)
        points = [middle * (1 + k * t) / (1 - k * t) for t in chebyshev(count)]
        values = [of_root(r) for r in points]
        return points, [x - r - TAIL_OFFSET for x, r in zip(values, points)], [1 / x for x in values]


def to_double(x):
    return mpf(float(x))


def to_single(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def literal(x, kind="f64"):
    text = repr(float(x))
    if kind == "f32":
        # The shortest decimal that parses to the same float32.
        text = next(t for t in (f"{float(x):.{k}g}" for k in range(1, 12)) if to_single(mpf(t)) == x)
        text = repr(float(text))
    return text if any(c in text for c in ".e") else text + ".0"


def constant(name, doc, value, kind="f64"):
    return f"/// {doc}\npub const {name}: {kind} = {literal(value, kind)};"


def table(name, doc, coefficients, kind):
    body = "".join(f"    {literal(c, kind)},\n" for c in coefficients)
    return f"/// {doc}\npub const {name}: [{kind}; {len(coefficients)}] = [\n{body}];\n"


def fitted(name, variant, rounding, form, interval, samples, numerator, denominator):
    n, d = rational(*samples(64), numerator, denominator)
    n, d = list(map(rounding, n)), list(map(rounding, d))
    worst = max(
        abs(w * (f - sum(c * x**k for c, k in zip(n, numerator)) / sum(c * x**k for c, k in zip(d, denominator))))
        for x, f, w in zip(*samples(200))
    )
    bound = float(mp.ceil(mp.log(worst, 2) * 100) / 100)
    print(name, variant, bound, file=sys.stderr)
    kind = "f32" if variant == "SINGLE" else "f64"
    return [
        table(f"{name}_NUMERATOR_{variant}", f"{form}, {interval}; error below 2^{bound:.2f} of the result. N:", n, kind),
        table(f"{name}_DENOMINATOR_{variant}", "D of the same.", d, kind),
    ]


CENTRE_FORM = "quantile/(1 − 2q) ≈ CENTRE_VALUE + d·CENTRE_SLOPE + d²·N(d)/D(d), d = log(4q(1 − q)) − CENTRE"
TAIL_FORM = "quantile ≈ r + TAIL_OFFSET + N(r)/(r·D(r)), r = √(−2·log q)"


def main():
    out = [
        "//! Constants of the normal quantile function. Made by `scripts/quantile_coefficients.py` (mpmath); not edited by hand.",
        "//!",
        "//! The format is that of `functions::coefficients`. N and D are the numerators and denominators of rational functions.",
        '#![expect(clippy::approx_constant, reason = "they are what they look like, to the digits that count")]',
        "",
    ]
    double, single = Regions(mpf(1) / 64, to_double, 25), Regions(mpf(1) / 32, to_single, 20)
    for regions, suffix, kind in (double, "", "f64"), (single, "_SINGLE", "f32"):
        out += [
            constant("SEAM" + suffix, "The probability q below which the formula of the tail applies.", regions.seam, kind),
            constant("CENTRE" + suffix, f"About the middle of the interval of log(4q(1 − q)) for q from [`SEAM{suffix}`] to 1/2.", regions.centre, kind),
            constant("CENTRE_VALUE" + suffix, f"The quantile divided by 1 − 2q at [`CENTRE{suffix}`].", regions.value, kind),
            constant("CENTRE_SLOPE" + suffix, f"The derivative of the quantile divided by 1 − 2q at [`CENTRE{suffix}`].", regions.slope, kind),
            constant("TAIL_OFFSET" + suffix, f"About the quantile less r at [`SEAM{suffix}`].", TAIL_OFFSET, kind),
        ]
    root = 1 / ROOT2
    pair = [to_double(root), to_double(root - to_double(root))]
    out.append(f"/// √½ as a double-double.\npub const ROOT_HALF: [f64; 2] = [{literal(pair[0])}, {literal(pair[1])}];")
    pair = [to_single(root), to_single(root - to_single(root))]
    text = ", ".join(literal(x, "f32") for x in pair)
    out.append(f"/// √½ as the sum of two float32.\npub const ROOT_HALF_SINGLE: [f32; 2] = [{text}];\n")
    for variant, regions, n, d in ("FULL", double, 6, 6), ("SHORT", double, 3, 3), ("SINGLE", single, 2, 2):
        interval = f"1/{int(1 / regions.seam)} ≤ q ≤ 1/2"
        out += fitted("CENTRE", variant, regions.rounding, CENTRE_FORM, interval, regions.centre_samples, range(n + 1), range(d + 1))
    far, near = ("38.61", "2^-1074"), ("14.4", "2^-149")
    for variant, regions, (end, least), n in ("FULL", double, far, 11), ("SHORT", double, near, 5), ("SINGLE", single, near, 4):
        interval = f"{least} ≤ q ≤ 1/{int(1 / regions.seam)}"
        samples = lambda count: regions.tail_samples(mpf(end), count)
        out += fitted("TAIL", variant, regions.rounding, TAIL_FORM, interval, samples, range(n + 1), range(1, n + 1))
    text = "\n".join(out) + "\n"
    command = ["rustfmt", "--edition", "2024", "--config", "max_width=110"]
    formatted = subprocess.run(command, input=text, capture_output=True, text=True)
    sys.stdout.write(formatted.stdout if formatted.returncode == 0 else text)


if __name__ == "__main__":
    main()
