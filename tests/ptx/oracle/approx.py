# SPDX-License-Identifier: MIT
"""Approximate functions by the ISA's bounds (PTX ISA 9.7.3), against values of 60 digits; what their tables of special
operands say is exact. The distance is between the result and the nearest f32, so a bound of n units stands as it is."""
from decimal import Decimal, getcontext
from fractions import Fraction

import number as nm
from emit import Form
from floats import finish
from number import FORMATS, NAN, decode, encode, is_inf, number, signed

getcontext().prec = 80
getcontext().Emax, getcontext().Emin = 99999, -99999
F32 = FORMATS["f32"]
LN2 = Decimal(2).ln()
ONE = (0, Fraction(1))
INF = (("inf", 0), ("inf", 1))


def dec(q):
    return Decimal(q.numerator) / Decimal(q.denominator)


def frac(d):
    n, m = d.as_integer_ratio()
    return Fraction(n, m)


def pi():
    """Machin's formula."""
    def arctan(n):
        x = term = Decimal(1) / n
        k = 1
        while abs(term) > Decimal(10) ** -78:
            term = -term / (n * n)
            k += 2
            x += term / k
        return x
    return 4 * (4 * arctan(5) - arctan(239))


PI = pi()


def sine(x):
    x = x % (2 * PI)
    term = total = x
    k = 1
    while abs(term) > Decimal(10) ** -70 and term:
        term = -term * x * x / ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


def small_range(r):
    """|x| <= 2 pi: where the bounds of sin and cos hold."""
    return r.choice((r.randrange(0x3a000000, 0x40c90fdb), r.randrange(0x3f000000, 0x40c90fdb))) | r.choice((0, 1 << 31))


def ranged(lo, hi, signs=True):
    return lambda r: r.randrange(lo, hi) | (r.choice((0, 1 << 31)) if signs else 0)


def unary(name, special, value, ulp, sets=None, t="f32"):
    """special(v) gives a value or NAN for the table's operands, or ... for the others."""
    f = FORMATS[t]
    for ftz in ("", ".ftz") if t == "f32" else ("",):
        def fn(a, z=bool(ftz)):
            v = decode(f, a, z)
            if v is None:
                return NAN
            s = special(v)
            v = s if s is not ... else value(v)
            r = encode(f, v, "rn", z)
            if z and v is not None and not is_inf(v) and abs(v[1] - f.least) <= f.least / 2 ** 20:
                return nm.ANY           # near the smallest normal number: flushed or not
            return r
        text = name % ftz if "%s" in name else name
        yield Form("%s.%s {d}, {a};" % (text, t), t, t, fn, [sets] if sets else None, ulp, key=str(ulp))


def exp2(v):
    x = signed(v)
    if x > 2000 or x < -2000:
        return INF[0] if x > 0 else (0, Fraction(0))
    return (0, frac((dec(x) * LN2).exp()))


def forms(full):
    zero = lambda v: not is_inf(v) and v[1] == 0
    yield from unary("rcp.approx%s", lambda v: (v[1], Fraction(0)) if is_inf(v) else ("inf", v[0]) if zero(v) else ..., lambda v: nm.div(ONE, v), 1)
    yield from unary("sqrt.approx%s", lambda v: nm.sqrt(v) if is_inf(v) or zero(v) or v[0] else ..., nm.sqrt, 2)
    yield from unary("rsqrt.approx%s", lambda v: (None if v[1] else (0, Fraction(0))) if is_inf(v) else ("inf", v[0]) if zero(v) else None if v[0] else ...,
                     lambda v: nm.div(ONE, nm.sqrt(v)), 2)
    yield from unary("ex2.approx%s", lambda v: (INF[0] if not v[1] else (0, Fraction(0))) if is_inf(v) else ONE if zero(v) else ..., exp2, 4)
    yield from unary("ex2.approx%s", lambda v: ..., exp2, 4, ranged(0x3c000000, 0x43140000))
    lg2 = lambda v: number(frac(dec(v[1]).ln() / LN2))
    special = lambda v: (None if v[1] else INF[0]) if is_inf(v) else INF[1] if zero(v) else None if v[0] else ...
    yield from unary("lg2.approx%s", special, lg2, 4, ranged(0x40000000, 0x7f800000, False))
    yield from unary("lg2.approx%s", special, lg2, 4, ranged(0x00800000, 0x3f000000, False))
    yield from unary("lg2.approx%s", special, lg2, 2.0 ** -22, ranged(0x3f000000, 0x40000000, False))
    yield from unary("lg2.approx%s", special, lg2, 4, lambda r: r.choice((0, 1 << 31, 0x7f800000, 0xff800000, 0xbf800000, 0x7fc00000, 0x40800000)))
    yield from unary("sin.approx%s", lambda v: ..., lambda v: number(frac(sine(dec(signed(v))))), 2.0 ** -20.5, small_range)
    yield from unary("cos.approx%s", lambda v: ..., lambda v: number(frac(sine(dec(signed(v)) + PI / 2))), 2.0 ** -20.5, small_range)
    wide = ranged(0x40c90fdb, 0x439d1463)
    yield from unary("sin.approx%s", lambda v: ..., lambda v: number(frac(sine(dec(signed(v))))), 2.0 ** -14.7, wide)
    yield from unary("cos.approx%s", lambda v: ..., lambda v: number(frac(sine(dec(signed(v)) + PI / 2))), 2.0 ** -14.7, wide)
    odd = lambda r: r.choice((0, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00000))
    yield from unary("sin.approx%s", lambda v: None if is_inf(v) else v if zero(v) else ..., None, 0, odd)
    yield from unary("cos.approx%s", lambda v: None if is_inf(v) else ONE if zero(v) else ..., None, 0, odd)

    def tanh(v):
        if v[1] > 60:
            return (v[0], Fraction(1))
        if v[1] < Fraction(1, 2 ** 40):
            return v
        e = (2 * dec(v[1])).exp()
        return (v[0], frac((e - 1) / (e + 1)))
    yield from list(unary("tanh.approx", lambda v: (v[1], Fraction(1)) if is_inf(v) else v if zero(v) else ..., tanh, 8193))[:1]
    for ftz in ("", ".ftz"):
        d = lambda a, z=bool(ftz): decode(F32, a, z)
        end = lambda v, z=bool(ftz): finish(F32, v, "rn", z)
        yield Form("div.full%s.f32 {d}, {a}, {b};" % ftz, "f32", "f32 f32", lambda a, b, d=d, e=end: e(nm.div(d(a), d(b))), ulp=2)
        yield Form("div.approx%s.f32 {d}, {a}, {b};" % ftz, "f32", "f32 f32", lambda a, b, d=d, e=end: e(nm.div(d(a), d(b))),
                   [None, ranged(0x00800000, 0x7e800000)], ulp=2)
