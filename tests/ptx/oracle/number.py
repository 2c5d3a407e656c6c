# SPDX-License-Identifier: MIT
"""Exact numbers: floating-point formats decoded to fractions, and fractions rounded to formats.

A value is None (NaN), ("inf", sign) or (sign, Fraction); the sign of a zero is kept.
A result is an int (bits), NAN (any NaN), or ANY (the ISA leaves it open).
"""
from fractions import Fraction
from math import isqrt

NAN, ANY = "nan", "_"


class Format:
    """kind: "ieee" has infinities; "fn" has one NaN and no infinity (e4m3); "finite" has neither."""

    def __init__(self, e, m, kind="ieee"):
        self.e, self.m, self.kind, self.bits = e, m, kind, 1 + e + m
        self.bias = (1 << (e - 1)) - 1
        self.emin = 1 - self.bias
        self.sign = 1 << (e + m)
        self.inf = ((1 << e) - 1) << m
        self.top = self.inf - 1 if kind == "ieee" else self.sign - (2 if kind == "fn" else 1)
        self.quiet = self.inf | 1 << (m - 1) if kind == "ieee" else self.sign - 1
        self.least = Fraction(2) ** self.emin           # smallest normal number


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
E4M3, E5M2 = Format(4, 3, "fn"), Format(5, 2)
E2M1, E2M3, E3M2 = (Format(e, m, "finite") for e, m in ((2, 1), (2, 3), (3, 2)))
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "e4m3": E4M3, "e5m2": E5M2,
           "e2m1": E2M1, "e2m3": E2M3, "e3m2": E3M2}


def decode(f, bits, ftz=False):
    s, b = bits >> (f.e + f.m) & 1, bits & (f.sign - 1)
    if f.kind == "ieee" and b >= f.inf:
        return ("inf", s) if b == f.inf else None
    if f.kind == "fn" and b == f.sign - 1:
        return None
    e, m = b >> f.m, b & ((1 << f.m) - 1)
    if e == 0:
        return (s, Fraction(0) if ftz else Fraction(m) * Fraction(2) ** (f.emin - f.m))
    return (s, Fraction(m | 1 << f.m) * Fraction(2) ** (e - f.bias - f.m))


def is_inf(v):
    return v is not None and v[0] == "inf"


def signed(v):
    return -v[1] if v[0] else v[1]


def to_integral(q, mode):
    """A non-negative fraction to an integer; mode as seen from its magnitude: n, z, up, a (ties away)."""
    n, r = divmod(q.numerator, q.denominator)
    r *= 2
    if mode == "up":
        return n + (r > 0)
    if mode == "n":
        return n + (r > q.denominator or (r == q.denominator and n & 1))
    if mode == "a":
        return n + (r >= q.denominator)
    return n


def magnitude(mode, s):
    """rn rz rm rp rna seen from the magnitude of a number with sign s."""
    return {"rn": "n", "rz": "z", "rna": "a", "rm": "up" if s else "z", "rp": "z" if s else "up"}[mode]


def floor_log2(x):
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if x >= Fraction(2) ** e else e - 1


def encode(f, v, mode="rn", ftz=False, finite=False):
    """Rounds; with finite, what is too large becomes the largest number."""
    if v is None:
        return NAN
    if is_inf(v):
        return (f.top if finite or f.kind != "ieee" else f.inf) | v[1] * f.sign
    s, x = v
    sign, how = s * f.sign, magnitude(mode, s)
    if x == 0:
        return sign
    e = max(floor_log2(x), f.emin)
    n = to_integral(x / Fraction(2) ** (e - f.m), how)
    bits = ((e - f.emin) << f.m) + n        # the leading one of a normal number adds 1 to the exponent
    if bits > f.top:
        bits = f.top if finite or how == "z" or f.kind != "ieee" else f.inf
    if ftz and x < f.least:
        return sign if bits < 1 << f.m else ANY    # flushed before or after rounding: open
    return bits | sign


def root(x):
    """The square root of a fraction, exact or with a sticky end that no rounding can mistake."""
    k = 1200
    n = isqrt(x.numerator * x.denominator << 2 * k)
    exact = n * n == x.numerator * x.denominator << 2 * k
    return Fraction(2 * n + (not exact), x.denominator << (k + 1))


def number(q, zero=0):
    """A signed fraction as a value; zero: the sign it takes when it is nothing."""
    return (zero if q == 0 else int(q < 0), abs(q))


def add(a, b, mode):
    if a is None or b is None:
        return None
    if is_inf(a) or is_inf(b):
        if is_inf(a) and is_inf(b):
            return a if a[1] == b[1] else None
        return a if is_inf(a) else b
    zero = a[0] if a[0] == b[0] else int(mode == "rm")
    return number(signed(a) + signed(b), zero)


def neg(a):
    return None if a is None else ("inf", 1 - a[1]) if is_inf(a) else (1 - a[0], a[1])


def sign_of(a):
    return a[1] if is_inf(a) else a[0]


def mul(a, b):
    if a is None or b is None:
        return None
    s = sign_of(a) ^ sign_of(b)
    if is_inf(a) or is_inf(b):
        other = b if is_inf(a) else a
        return None if not is_inf(other) and other[1] == 0 else ("inf", s)
    return (s, a[1] * b[1])


def div(a, b):
    if a is None or b is None:
        return None
    s = sign_of(a) ^ sign_of(b)
    if is_inf(a):
        return None if is_inf(b) else ("inf", s)
    if is_inf(b):
        return (s, Fraction(0))
    if b[1] == 0:
        return None if a[1] == 0 else ("inf", s)
    return (s, a[1] / b[1])


def sqrt(a):
    if a is None:
        return None
    if is_inf(a):
        return None if a[1] else a
    if a[1] == 0:
        return a
    return None if a[0] else (0, root(a[1]))
