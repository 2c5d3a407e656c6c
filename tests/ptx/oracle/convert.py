# SPDX-License-Identifier: MIT
"""cvt of all pairs of types, packed and narrow formats, cvt.pack (PTX ISA 9.7.9.21), from the text of the ISA."""
from fractions import Fraction

from emit import WIDTH, Form
from floats import Halves
from floats import finish as float_finish
from integer import clamp, val
from number import FORMATS, NAN, decode, encode, floor_log2, is_inf, magnitude, number, sign_of, to_integral

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
IRND = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def contains(big, small):
    """Whether every value of the integer type small is one of big."""
    if small[0] == "s":
        return big[0] == "s" and WIDTH[big] >= WIDTH[small]
    return WIDTH[big] > WIDTH[small] or (big[0] == "u" and WIDTH[big] == WIDTH[small])


def ints():
    for dt in INTS:
        for at in INTS:
            for sat in ("", ".sat") if not contains(dt, at) else ("",):
                for reg in {32, 64, max(16, WIDTH[dt])} if WIDTH[dt] < 64 else {64}:
                    if reg < WIDTH[dt]:
                        continue        # the register may be wider: sign- or zero-extended as the type says

                    def fn(a, dt=dt, at=at, sat=sat, reg=reg):
                        v = val(a, at)
                        return val(clamp(v, dt) if sat else v, dt) & ((1 << reg) - 1)
                    yield Form("cvt%s.%s.%s {d}, {a};" % (sat, dt, at), "b%d" % reg, at if WIDTH[at] > 8 else "b16", fn)


def to_int(a, f, t, mode, ftz):
    v = decode(f, a, ftz)
    if v is None:
        return (-1 if t[0] == "s" else 1) << (WIDTH[t] - 1) if f.bits == 64 or WIDTH[t] == 64 else 0
    lo, hi = (0, (1 << WIDTH[t]) - 1) if t[0] == "u" else (-(1 << WIDTH[t] - 1), (1 << WIDTH[t] - 1) - 1)
    if is_inf(v):
        return lo if v[1] else hi
    n = to_integral(v[1], magnitude(mode, v[0]))
    return min(max(-n if v[0] else n, lo), hi)


def floats_ints():
    for ft in ("f16", "bf16", "f32", "f64"):
        f = FORMATS[ft]
        for it in INTS:
            reg = max(32, WIDTH[it])
            for rnd, mode in IRND.items():
                for ftz in ("", ".ftz") if ft == "f32" else ("",):
                    yield Form("cvt.%s%s.%s.%s {d}, {a};" % (rnd, ftz, it, ft), "b%d" % reg, ft,
                               lambda a, f=f, it=it, mode=mode, z=bool(ftz), reg=reg: to_int(a, f, it, mode, z) & ((1 << reg) - 1))
            for mode in ("rn", "rz", "rm", "rp"):
                for sat in ("", ".sat") if ft != "bf16" else ("",):
                    yield Form("cvt.%s%s.%s.%s {d}, {a};" % (mode, sat, ft, it), ft, it if WIDTH[it] > 8 else "b16",
                               lambda a, f=f, it=it, mode=mode, s=bool(sat): float_finish(f, number(Fraction(val(a, it))), mode, False, s))


def floats():
    for dt in ("f16", "bf16", "f32", "f64"):
        for at in ("f16", "bf16", "f32", "f64"):
            f, g = FORMATS[at], FORMATS[dt]
            zs = ("", ".ftz") if "f32" in (at, dt) and "bf16" not in (at, dt) else ("",)
            for ftz in zs:
                zi, zo = bool(ftz) and at == "f32", bool(ftz) and dt == "f32"
                for sat in ("", ".sat") if "bf16" not in (at, dt) else ("",):
                    if dt == at:
                        for rnd, mode in IRND.items() if dt != "bf16" else ():
                            def integral(a, f=f, mode=mode, z=zi, s=bool(sat)):
                                v = decode(f, a, z)
                                if v is not None and not is_inf(v):
                                    v = (v[0], Fraction(to_integral(v[1], magnitude(mode, v[0]))))
                                return float_finish(f, v, "rn", z, s)
                            yield Form("cvt.%s%s%s.%s.%s {d}, {a};" % (rnd, ftz, sat, dt, at), dt, at, integral)
                        continue
                    down = g.m < f.m or g.e < f.e
                    for mode in ("rn", "rz", "rm", "rp") if down else ("",):
                        yield Form("cvt%s%s%s.%s.%s {d}, {a};" % ("." + mode if mode else "", ftz, sat, dt, at), dt, at,
                                   lambda a, f=f, g=g, m=mode or "rn", zi=zi, zo=zo, s=bool(sat):
                                   float_finish(g, decode(f, a, zi), m, zo, s))


def narrow(g, v, mode="rn", finite=True, relu=False):
    """To a format with .satfinite and .relu; a NaN is the format's canonical one, or its largest number where it has none."""
    if v is None:
        return g.top if g.kind == "finite" else g.sign - 1
    if relu and sign_of(v):
        return 0
    return encode(g, v, mode, finite=finite)


def halves_of():
    """Two f32 to f16x2 and bf16x2, one to f16 and bf16 with .relu and .satfinite, and tf32."""
    f32 = FORMATS["f32"]
    for t in ("f16", "bf16"):
        g = FORMATS[t]
        for mode in ("rn", "rz"):
            for relu in ("", ".relu"):
                for sat in ("", ".satfinite"):
                    one = lambda a, g=g, m=mode, r=bool(relu), s=bool(sat): narrow(g, decode(f32, a), m, s, r)
                    mods = "cvt.%s%s%s" % (mode, relu, sat)
                    yield Form("%s.%sx2.f32 {d}, {a}, {b};" % (mods, t), t + "x2", "f32 f32", lambda a, b, f=one: Halves(f(b), f(a)))
                    if relu or sat:
                        yield Form("%s.%s.f32 {d}, {a};" % (mods, t), t, "f32", one)

    def tf32(a, mode, relu, finite):
        v = decode(f32, a)
        if v is None:
            return 0x7fffe000
        if relu and sign_of(v):
            return 0
        if is_inf(v) or v[1] == 0:
            return (0x7f7fe000 if finite and is_inf(v) else a & 0x7fffffff) | a & 1 << 31
        m, low = a & 0x7fffffff, a & 0x1fff
        up = {"rz": 0, "rna": low >= 0x1000, "rn": low > 0x1000 or (low == 0x1000 and m >> 13 & 1)}[mode]
        m = (m & ~0x1fff) + (up << 13)
        if finite and m >= 0x7f800000:
            m = 0x7f7fe000
        return m | a & 1 << 31
    for mode, relus, sats in (("rna", ("",), ("", ".satfinite")), ("rn", ("", ".relu"), ("",)), ("rz", ("", ".relu"), ("",))):
        for relu in relus:
            for sat in sats:
                yield Form("cvt.%s%s%s.tf32.f32 {d}, {a}; and.b32 {d}, {d}, 0xffffe000;" % (mode, sat, relu), "b32", "f32",
                           lambda a, m=mode, r=bool(relu), s=bool(sat): tf32(a, m, r, s))


def eights(names, width):
    """Pairs of 8-, 6- and 4-bit numbers from f32 and f16x2, and back to f16x2."""
    f32, f16 = FORMATS["f32"], FORMATS["f16"]
    near = lambda r: r.choice((0, 1 << 31)) | r.randrange(0x38000000, 0x48000000) if r.randrange(4) else r.choice(
        (0, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x3f800000, 0x43e80000, 0x43e00000, 0x43f00000, 0x47600000, 0x47700000,
         0x40e00000, 0x40c00000, 0x40d00000, 0x3e800000, 0x3f400000, 0xbe800000, 0x3d000000, 0x3a800000, 0x37800000, 0x36800000, 0x7f7fffff))
    for t in names:
        g = FORMATS[t]
        wide = 4 if g.bits == 4 else 8
        for relu in ("", ".relu"):
            one = lambda v, g=g, r=bool(relu): narrow(g, v, "rn", True, r)

            def pair(hi, lo, f, one=one, wide=wide):
                return one(decode(f, hi)) << wide | one(decode(f, lo))
            text = "cvt.rn.satfinite%s.%sx2.%s %s, {a}%s;"
            if wide == 4:
                wrap = lambda x: "{{ .reg .b8 %%q; %s mov.b32 {d}, {{%%q, %%q, %%q, %%q}}; }}" % x
                yield Form(wrap(text % (relu, t, "f32", "%q", ", {b}")), "b32", "f32 f32",
                           lambda a, b, p=pair: p(a, b, f32) * 0x01010101, [near, near])
                yield Form("{{ .reg .b8 %%q, %%z; mov.b32 {{%%q, %%z, %%z, %%z}}, {a}; cvt.rn%s.f16x2.%sx2 {d}, %%q; }}" % (relu, t), "f16x2", "b32",
                           lambda a, g=g, r=bool(relu): Halves(*(narrow(f16, decode(g, a >> s & 15), "rn", False, r) for s in (0, 4))))
                continue
            yield Form(text % (relu, t, "f32", "{d}", ", {b}"), "b16", "f32 f32", lambda a, b, p=pair: p(a, b, f32), [near, near])
            for h in ("f16",) if width == 8 else ("f16", "bf16"):
                yield Form(text % (relu, t, h + "x2", "{d}", ""), "b16", h + "x2", lambda a, p=pair, h=h: p(a >> 16, a & 0xffff, FORMATS[h]))
            m = (1 << g.bits) - 1
            yield Form("cvt.rn%s.f16x2.%sx2 {d}, {a};" % (relu, t), "f16x2", "b16",
                       lambda a, g=g, r=bool(relu), m=m: Halves(*(narrow(f16, decode(g, a >> s & m), "rn", False, r) for s in (0, 8))),
                       [lambda r, m=m: r.getrandbits(16) & (m << 8 | m)])


def randoms():
    """cvt.rs: the magnitude in units of the last place, and the random bits as a fraction of one, rounded down. rbits of the ISA's tables: of f16x2
    bits 28 to 16 are a's and 12 to 0 b's; of bf16x2 each has a half; of four numbers a and b have the upper half, e and f the lower: the second of
    a pair as it stands, the first in reverse (measured on hardware, and published with a software model, by others)."""
    f32 = FORMATS["f32"]

    def one(g, a, r, bits, finite, relu):
        v = decode(f32, a)
        if v is None or is_inf(v) or v[1] == 0 or (relu and sign_of(v)):
            return narrow(g, v, "rn", finite, relu)
        q = abs(v[1])
        unit = Fraction(2) ** (max(floor_log2(q), 1 - g.bias) - g.m)
        q = (q / unit + Fraction(r % (1 << bits), 1 << bits)) // 1 * unit
        return narrow(g, (v[0], q), "rn", finite, relu)

    def turned(h):
        return int("{:016b}".format(h)[::-1], 2)

    bits = lambda r: r.choice((0, 0xffffffff, 0x1fff1fff, 0x00010001, 0x80008000, 0x10001000, r.getrandbits(32), r.getrandbits(32), r.getrandbits(32)))
    for t, n in (("f16", 13), ("bf16", 16)):
        for relu in ("", ".relu"):
            for sat in ("", ".satfinite"):
                def pair(a, b, r, g=FORMATS[t], n=n, relu=bool(relu), sat=bool(sat)):
                    return Halves(one(g, b, r & 0xffff, n, sat, relu), one(g, a, r >> 16, n, sat, relu))
                yield Form("cvt.rs%s%s.%sx2.f32 {d}, {a}, {b}, {c};" % (relu, sat, t), t + "x2", "f32 f32 b32", pair, [None, None, bits])
    near = lambda r: r.choice((0, 1 << 31)) | r.randrange(0x37000000, 0x48000000)
    for t in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"):
        g = FORMATS[t]
        wide = 4 if g.bits == 4 else 8
        for relu in ("", ".relu"):
            def four(a, b, e, f, r, g=g, wide=wide, relu=bool(relu)):
                parts = (turned(r >> 16), r >> 16, turned(r & 0xffff), r & 0xffff)
                got = 0
                for x, h in zip((a, b, e, f), parts):
                    got = got << wide | one(g, x, h, 16, True, relu)
                return got
            yield Form("cvt.rs%s.satfinite.%sx4.f32 {d}, {{{a}, {b}, {c}, {e}}}, {h};" % (relu, t), "b16" if wide == 4 else "b32", "f32 f32 f32 f32 b32",
                       four, [near, None, near, near, bits])


def packs():
    for t in ("u16", "s16"):
        for at in ("s32",):
            yield Form("cvt.pack.sat.%s.%s {d}, {a}, {b};" % (t, at), "b32", "%s %s" % (at, at),
                       lambda a, b, t=t, at=at: (clamp(val(a, at), t) & 0xffff) << 16 | clamp(val(b, at), t) & 0xffff)
    for t, w in (("u8", 8), ("s8", 8), ("u4", 4), ("s4", 4), ("u2", 2), ("s2", 2)):
        lo, hi = (0, (1 << w) - 1) if t[0] == "u" else (-(1 << w - 1), (1 << w - 1) - 1)

        def fn(a, b, c, lo=lo, hi=hi, w=w):
            x, y = (min(max(val(v, "s32"), lo), hi) & ((1 << w) - 1) for v in (a, b))
            return (c << 2 * w | x << w | y) & 0xffffffff
        yield Form("cvt.pack.sat.%s.s32.b32 {d}, {a}, {b}, {c};" % t, "b32", "s32 s32 b32", fn)


def ue8m0():
    f32 = FORMATS["f32"]

    def one(a, mode):
        e, m = a >> 23 & 255, a & 0x7fffff
        return min(e + (1 if mode == "rp" and m else 0), 254)
    plain = lambda r: r.randrange(1, 255) << 23 | r.choice((0, 1, 0x400000, 0x7fffff, r.getrandbits(23)))
    for mode in ("rz", "rp"):
        yield Form("cvt.%s.satfinite.ue8m0x2.f32 {d}, {a}, {b};" % mode, "b16", "f32 f32",
                   lambda a, b, m=mode: one(a, m) << 8 | one(b, m), [plain, plain])
    bf = lambda e: NAN if e == 255 else 0x40 if e == 0 else e << 7
    yield Form("cvt.rn.bf16x2.ue8m0x2 {d}, {a};", "bf16x2", "b16", lambda a: Halves(bf(a & 255), bf(a >> 8)))


def forms(full):
    yield from ints()
    yield from floats_ints()
    yield from floats()
    yield from halves_of()
    yield from eights(("e4m3", "e5m2"), 8)
    yield from packs()


def forms100(full):
    yield from eights(("e2m3", "e3m2", "e2m1"), 6)
    yield from ue8m0()
    yield from randoms()
