"""Computes values of each function with mpmath, to 200 bits, with which the references of the accuracy command are
tested.

    python3 mpmath_values.py > mpmath.txt        (mpmath 1.3.0)

A row is the function, its arguments as float64 bits, and the value: sign, integer, and exponent of two.
"""
import math, random, struct
from mpmath import mp, mpf

random.seed(20250101)
mp.prec = 4000

def f64(bits): return struct.unpack("<d", struct.pack("<Q", bits))[0]
def bits(x): return struct.unpack("<Q", struct.pack("<d", x))[0]
def logaddexp(a, b):
    a, b = max(a, b), min(a, b)
    return a + mp.log1p(mp.exp(b - a))

ONE = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p",
       "log10", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "cbrt", "erf", "erfc", "exp2", "erfinv", "ndtri"]
F = {name: getattr(mp, name) for name in ONE if name not in ("cbrt", "exp2", "log2", "ndtri")}
F["cbrt"] = lambda x: mp.sign(x) * mp.cbrt(abs(x))
F["exp2"] = lambda x: mpf(2) ** x
F["log2"] = lambda x: mp.log(x) / mp.log(2)
F["log10"] = lambda x: mp.log(x) / mp.log(10)
F |= {"atan2": mp.atan2, "pow": lambda x, y: x ** y, "hypot": mp.hypot, "logaddexp": logaddexp}

F["ndtri"] = lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1)

TINY, LEAST, MAX = 2.0**-1022, 5e-324, 1.7976931348623157e308
ANY = [LEAST, 3e-320, TINY, 1e-300, 1e-160, 2.0**-60, 2.0**-30, 2.0**-26, 1e-5, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.1, 1.5, 2.0,
       math.e, 3.0, math.pi, math.pi / 2, math.pi / 4, 5.5, 10.0, 20.0, 22.18, 37.0, 100.0, 700.0]
WIDE = ANY + [1e4, 1e10, 2.0**53 - 1, 1e22, 1e100, 1e300, MAX]
NEAR1 = [1 - 2.0**-k for k in (53, 52, 40, 27, 20, 10, 5, 2)]
OVER1 = [1 + 2.0**-k for k in (52, 40, 27, 20, 10, 5, 2)]
# The float64 number nearest to a multiple of pi/2 (Muller, Elementary Functions), and others that are close to one.
TRIG = [6381956970095103 * 2.0**797, 5.319372648326541e255, 2.0**1000, 2.0**500 * 1.2345]
signed = lambda xs: [s * x for x in xs for s in (1, -1)]
EXPS = [709.0, 709.78, 710.47, 745.0, 708.4, 0.6931471805599453]

DOMAIN = {
    "acos": signed([x for x in ANY if x <= 1] + NEAR1), "acosh": [x for x in WIDE if x >= 1] + OVER1,
    "asin": signed([x for x in ANY if x <= 1] + NEAR1), "asinh": signed(WIDE), "atan": signed(WIDE),
    "atanh": signed([x for x in ANY if x < 1] + NEAR1), "cos": WIDE + TRIG, "cosh": ANY + EXPS,
    "exp": signed(ANY + EXPS), "expm1": signed(ANY + EXPS), "log": WIDE + NEAR1 + OVER1,
    "log1p": WIDE + [-x for x in ANY if x < 1] + [-x for x in NEAR1], "log2": WIDE + NEAR1 + OVER1,
    "log10": WIDE + NEAR1 + OVER1, "sin": signed(WIDE + TRIG), "sinh": signed(ANY + EXPS), "sqrt": WIDE,
    "tan": signed(WIDE + TRIG), "tanh": signed(ANY),
    "cbrt": signed(WIDE + [27.0, 1e3, 0.125]), "exp2": signed([x for x in ANY if x < 600] + [1023.5, 1074.0, 1075.0]),
    "erf": signed([x for x in ANY if x < 39]), "erfc": signed([x for x in ANY if x < 39] + [9.39, 9.41, 26.6, 27.2]),
    "erfinv": signed([x for x in ANY if x < 1] + NEAR1),
    "ndtri": [x for x in ANY if x < 1 and x != 0.5] + NEAR1 + [0.5 - 2.0**-54, 0.5 + 2.0**-53, 0.49, 2.0**-6, 2.0**-27],
}
some = [LEAST, 1e-300, 1e-20, 0.3, 1.0, 2.5, 1e20, 1e300]
pairs = [(x, y) for x in some for y in some]
def solving(scale, steps):
    """exp(x1) + exp(x2) is nearly 1."""
    y = math.log1p(-math.exp(-scale))
    for _ in range(steps): y = math.nextafter(y, 0)
    return (-scale, y)
PAIRS = {
    "atan2": [(s * y, t * x) for y, x in pairs for s in (1, -1) for t in (1, -1)],
    "hypot": pairs + [(3.0, 4.0), (5e-324, 5e-324), (1.0, 2.0**-27), (1.7e308, 1e307)],
    "pow": [(x, y) for x in NEAR1 + OVER1 + [LEAST, 1e-300, 0.3, 0.999, 2.0, 10.0, 1e300]
            for y in (1e-300, -0.5, 0.3, 3.0, -7.25, 1e5, 1e15, 123456.789) if abs(y * math.log(x)) < 800]
           + [(-2.0, 3.0), (-3.5, 4.0), (-1.25, -33.0), (10.0, -308.0), (0.5, 1074.0)],
    "logaddexp": [(x, y) for x in (-1e300, -800.0, -1.0, -1e-20, 1e-5, 0.7, 40.0, 1e10) for y in (-700.5, -0.7, -1e-5, 0.3, 800.0)]
           + [solving(s, k) for s in (0.1, 0.5, 0.6931471805599453, 1.0, 2.0, 5.0, 20.0, 36.0, 40.0) for k in (0, 1, 2)],
}

def row(name, args):
    value = F[name](*map(mpf, args))
    if value == 0 or not mp.isfinite(value): return
    with mp.workprec(200): value = +value
    sign, man, exp, _ = value._mpf_
    print(name, *(f"{bits(a):016x}" for a in args), "-" if sign else "+", f"{int(man):x}", exp)

def in_range(name, x):
    if name in ("acos", "asin", "atanh"): return abs(x) <= 1
    if name == "erfinv": return abs(x) < 1
    if name == "ndtri": return 0 < x < 1 and x != 0.5
    if name in ("log", "log2", "log10", "sqrt"): return x > 0
    if name == "log1p": return x > -1
    if name == "acosh": return x >= 1
    if name in ("erf", "erfc"): return abs(x) < 39
    if name in ("exp", "exp2", "expm1", "sinh", "cosh"): return abs(x) < 745
    return True

for name in ONE:
    points = list(DOMAIN[name])
    while len(points) < len(DOMAIN[name]) + 12:
        x = random.choice((1, -1)) * random.uniform(0, 2) * 2.0 ** random.randint(-12, 11)
        if in_range(name, x): points.append(x)
    for x in points: row(name, [x])
for name, points in PAIRS.items():
    for args in points: row(name, args)
