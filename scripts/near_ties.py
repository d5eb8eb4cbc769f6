"""Computes the nearest float32 of functions at the arguments where the exact value is closest to the midpoint of two
float32 numbers.

    pip install mpmath==1.3.0
    python3 scripts/near_ties.py > new.txt && mv new.txt crates/broadloom-testkit/src/reference/near_ties.txt

A row is a function, an argument and the float32 nearest to its value, both as float32 bits. The arguments are taken
from the file unchanged, and the values are computed. Of all 2^32 arguments, these are the ones whose value is within a
relative distance of about 2^-51 of a tie: functions computed in float64 round some of them in the wrong direction. For
even and odd functions, the positive argument covers both signs.
"""
import pathlib
import struct

from mpmath import mp, mpf

mp.dps = 120
ROWS = pathlib.Path(__file__).parent.parent / "crates/broadloom-testkit/src/reference/near_ties.txt"
NAMES = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1", "log", "log1p",
         "sin", "sinh", "tan", "tanh"]
F = {name: getattr(mp, name) for name in NAMES}
F["exp2"] = lambda x: mpf(2) ** x
F["log2"] = lambda x: mp.log(x) / mp.log(2)
F["log10"] = lambda x: mp.log(x) / mp.log(10)


def single(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def nearest(value):
    """The bits of the nearest float32, ties to even."""
    magnitude = abs(value)
    _, exponent = mp.frexp(magnitude)
    ulp = max(exponent - 24, -149)
    scaled = magnitude * mpf(2) ** -ulp
    integer = int(mp.floor(scaled))
    rest = scaled - integer
    if rest > mpf(1) / 2 or (rest == mpf(1) / 2 and integer & 1):
        integer += 1
    rounded = float(mpf(integer) * mpf(2) ** ulp)
    return struct.unpack("<I", struct.pack("<f", -rounded if value < 0 else rounded))[0]


print("# Made by scripts/near_ties.py.")
for row in ROWS.read_text().splitlines():
    if not row.startswith("#"):
        name, argument = row.split(" ")[:2]
        print(name, argument, f"{nearest(F[name](mpf(single(int(argument, 16))))):08x}")
