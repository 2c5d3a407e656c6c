# SPDX-License-Identifier: MIT
"""Floating-point arithmetic with fixed results (PTX ISA 9.7.3 to 9.7.5), from the text of the ISA."""
from fractions import Fraction

import number as nm
from emit import NAMES, Form
from number import ANY, FORMATS, NAN, decode, encode, is_inf, sign_of

ONE = (0, Fraction(1))


def finish(f, v, mode, ftz, sat=False, relu=False):
    """From the exact result to bits: .sat to [0, 1] and NaN to +0, .relu: negative to 0 and NaN canonical."""
    if sat:
        if v is None or (sign_of(v) and not (v[1] == 0 and not is_inf(v))):
            return 0
        if is_inf(v) or v[1] >= 1:
            return f.bias << f.m
    r = encode(f, v, mode, ftz)
    if sat and r == f.sign:
        return ANY              # a negative zero: [0, 1] has one, the ISA does not say which
    if relu:
        if r == NAN:
            return f.sign - 1
        if r != ANY and r & f.sign:
            return 0
    return r


def least_most(big, a, b, f, ftz=False, nan=False, xor=False, absolute=False, relu=False):
    """min and max: -0 below +0; a NaN gives the other operand, or with .NaN the canonical NaN."""
    x, y = decode(f, a, ftz), decode(f, b, ftz)
    s = (a ^ b) & f.sign if xor else 0
    if xor or absolute:
        x, y = (v if v is None else (v[0], 0) if is_inf(v) else (0, v[1]) for v in (x, y))
    if x is None or y is None:
        if nan or (x is None and y is None):
            return NAN if f.bits == 64 else f.sign - 1        # "canonical NaN"
        v = y if x is None else x
    else:
        key = lambda v: (1 - 2 * v[1], 0, 0) if is_inf(v) else (0, nm.signed(v), 1 - v[0])
        v = (max if big else min)(x, y, key=key)
    r = encode(f, v)
    if r == NAN:
        return r
    r |= s
    return 0 if relu and r & f.sign else r


def all_of(name, t, n, fn, mods):
    """The form on t, and packed on its x2."""
    ops = ", ".join("{%s}" % k for k in "abc"[:n])
    yield Form("%s%s.%s {d}, %s;" % (name, mods, t, ops), t, " ".join([t] * n), fn)
    if t in ("f16", "bf16"):
        yield Form("%s%s.%sx2 {d}, %s;" % (name, mods, t, ops), t + "x2", " ".join([t + "x2"] * n),
                   lambda *v, g=fn: Halves(g(*(x & 0xffff for x in v)), g(*(x >> 16 for x in v))))


class Halves(list):
    """Results of two halves, each with an openness of its own."""

    def __init__(self, lo, hi):
        super().__init__((lo, hi))


def arithmetic():
    for t in ("f32", "f64", "f16", "bf16"):
        f = FORMATS[t]
        modes = ("", ".rn", ".rz", ".rm", ".rp") if f.bits > 16 else ("", ".rn")
        for mode in modes:
            for ftz in ("", ".ftz") if t in ("f32", "f16") else ("",):
                for sat in ("", ".sat") if t in ("f32", "f16") else ("",):
                    m, z, s = mode[1:] or "rn", bool(ftz), bool(sat)
                    mods = mode + ftz + sat
                    d = lambda v, f=f, z=z: decode(f, v, z)
                    end = lambda v, f=f, m=m, z=z, s=s: finish(f, v, m, z, s)
                    yield from all_of("add", t, 2, lambda a, b, d=d, e=end, m=m: e(nm.add(d(a), d(b), m)), mods)
                    yield from all_of("sub", t, 2, lambda a, b, d=d, e=end, m=m: e(nm.add(d(a), nm.neg(d(b)), m)), mods)
                    yield from all_of("mul", t, 2, lambda a, b, d=d, e=end: e(nm.mul(d(a), d(b))), mods)
                    if mode:
                        fma = lambda a, b, c, d=d, e=end, m=m: e(nm.add(nm.mul(d(a), d(b)), d(c), m))
                        yield from all_of("fma", t, 3, fma, mods)
                        if f.bits > 16:
                            yield from all_of("mad", t, 3, fma, mods)
                        if f.bits > 16 and not sat:
                            yield from all_of("div", t, 2, lambda a, b, d=d, e=end: e(nm.div(d(a), d(b))), mods)
                            yield from all_of("rcp", t, 1, lambda a, d=d, e=end: e(nm.div(ONE, d(a))), mods)
                            yield from all_of("sqrt", t, 1, lambda a, d=d, e=end: e(nm.sqrt(d(a))), mods)
        for ftz in ("", ".ftz") if t == "f16" else ("",) if t == "bf16" else ():
            z = bool(ftz)
            d = lambda v, f=f, z=z: decode(f, v, z)
            yield from all_of("fma", t, 3, lambda a, b, c, d=d, f=f, z=z: finish(f, nm.add(nm.mul(d(a), d(b)), d(c), "rn"), "rn", z, relu=True),
                              ".rn" + ftz + ".relu")
        for ftz in ("", ".ftz") if t in ("f32", "f16") else ("",):
            z = bool(ftz)
            for name, clear, flip in (("abs", f.sign, 0), ("neg", 0, f.sign)):
                def sign(a, f=f, z=z, clear=clear, flip=flip):
                    v = decode(f, a, z)
                    if v is None:
                        return NAN
                    return (encode(f, v) & ~clear) ^ flip
                yield from all_of(name, t, 1, sign, ftz)


def limits():
    for t in ("f32", "f64", "f16", "bf16"):
        f = FORMATS[t]
        for big, name in ((False, "min"), (True, "max")):
            for ftz in ("", ".ftz") if t in ("f32", "f16") else ("",):
                for nan in ("", ".NaN") if t != "f64" else ("",):
                    for xor in ("", ".xorsign.abs") if t != "f64" else ("",):
                        yield from all_of(name, t, 2, lambda a, b, big=big, f=f, z=ftz, n=nan, x=xor:
                                          least_most(big, a, b, f, bool(z), bool(n), bool(x)), ftz + nan + xor)


def three():
    """min and max of three (sm_100)."""
    f = FORMATS["f32"]
    for big, name in ((False, "min"), (True, "max")):
        for ftz in ("", ".ftz"):
            for nan in ("", ".NaN"):
                for ab in ("", ".abs"):
                    def fn(a, b, c, big=big, z=bool(ftz), n=bool(nan), ab=bool(ab)):
                        x = least_most(big, a, b, f, z, n, absolute=ab)
                        x = f.quiet if x == NAN else x
                        return least_most(big, x, c, f, z, n, absolute=ab)
                    yield Form("%s%s%s%s.f32 {d}, {a}, {b}, {c};" % (name, ftz, nan, ab), "f32", "f32 f32 f32", fn)


def others():
    for t in ("f32", "f64"):
        f = FORMATS[t]
        for name, test in (("finite", lambda v: v is not None and not is_inf(v)), ("infinite", is_inf), ("number", lambda v: v is not None),
                           ("notanumber", lambda v: v is None),
                           ("normal", lambda v, f=f: v is not None and not is_inf(v) and (v[1] == 0 or v[1] >= f.least)),
                           ("subnormal", lambda v, f=f: v is not None and not is_inf(v) and 0 < v[1] < f.least)):
            yield Form("testp.%s.%s {d}, {a};" % (name, t), "pred", t, lambda a, f=f, test=test: int(test(decode(f, a))))
        yield Form("copysign.%s {d}, {a}, {b};" % t, "b%d" % f.bits, "%s %s" % (t, t),
                   lambda a, b, f=f: (b & (f.sign - 1)) | (a & f.sign))


def mixed():
    """add, sub and fma of f32 with f16 or bf16 operands (sm_100)."""
    f = FORMATS["f32"]
    for t in ("f16", "bf16"):
        g = FORMATS[t]
        for mode in ("", ".rn", ".rz", ".rm", ".rp"):
            for sat in ("", ".sat"):
                m = mode[1:] or "rn"
                for name, turn in (("add", lambda v: v), ("sub", nm.neg)):
                    yield Form("%s%s%s.f32.%s {d}, {a}, {b};" % (name, mode, sat, t), "f32", t + " f32",
                               lambda a, b, g=g, m=m, s=bool(sat), turn=turn: finish(f, nm.add(decode(g, a), turn(decode(f, b)), m), m, False, s))
                if mode:
                    yield Form("fma%s%s.f32.%s {d}, {a}, {b}, {c};" % (mode, sat, t), "f32", t + " " + t + " f32",
                               lambda a, b, c, g=g, m=m, s=bool(sat): finish(f, nm.add(nm.mul(decode(g, a), decode(g, b)), decode(f, c), m), m, False, s))


def f32x2():
    """Packed single precision in a 64-bit register (sm_100)."""
    f = FORMATS["f32"]
    for mode in (".rn", ".rz", ".rm", ".rp"):
        for ftz in ("", ".ftz"):
            d = lambda v, z=bool(ftz): decode(f, v, z)
            end = lambda v, m=mode[1:], z=bool(ftz): finish(f, v, m, z)
            for name, n, one in (("add", 2, lambda a, b, d=d, e=end, m=mode[1:]: e(nm.add(d(a), d(b), m))),
                                 ("sub", 2, lambda a, b, d=d, e=end, m=mode[1:]: e(nm.add(d(a), nm.neg(d(b)), m))),
                                 ("mul", 2, lambda a, b, d=d, e=end: e(nm.mul(d(a), d(b)))),
                                 ("fma", 3, lambda a, b, c, d=d, e=end, m=mode[1:]: e(nm.add(nm.mul(d(a), d(b)), d(c), m)))):
                ks = "abc"[:n]
                # operands: n low halves, then n high halves
                names = NAMES[:2 * n]
                text = "{{ .reg .b64 " + ", ".join("%q" + k for k in ks) + ", %qd; "
                text += " ".join("mov.b64 %%q%s, {{{%s}, {%s}}};" % (k, names[i], names[n + i]) for i, k in enumerate(ks))
                text += " %s%s%s.f32x2 %%qd, %s; mov.b64 {{{d}, {d1}}}, %%qd; }}" % (name, mode, ftz, ", ".join("%q" + k for k in ks))
                yield Form(text, "f32 f32", " ".join(["f32"] * 2 * n), lambda *v, n=n, g=one: (g(*v[:n]), g(*v[n:])))


def forms(full):
    for part in (arithmetic, limits, others):
        yield from part()


def forms100(full):
    for part in (three, mixed, f32x2):
        yield from part()
