# SPDX-License-Identifier: MIT
"""Integer, logic, compare and select instructions (PTX ISA 9.7.1, 9.7.2, 9.7.6 to 9.7.8), from the text of the ISA."""
from emit import WIDTH, Form
from number import ANY, F16, F32, FORMATS, decode, is_inf, signed as fsigned

CMP = ("eq", "ne", "lt", "le", "gt", "ge")


def sx(v, w):
    v &= (1 << w) - 1
    return v - (1 << w) if v >> (w - 1) else v


def val(v, t):
    return sx(v, WIDTH[t]) if t[0] == "s" else v & ((1 << WIDTH[t]) - 1)


def limits(t):
    w = WIDTH[t]
    return (-(1 << (w - 1)), (1 << (w - 1)) - 1) if t[0] == "s" else (0, (1 << w) - 1)


def clamp(v, t):
    lo, hi = limits(t)
    return min(max(v, lo), hi)


def quot(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def small(hi, lo=0):
    return lambda r: r.choice((r.randint(lo, hi), r.randint(lo, hi), 255, 256, 32, 64, 0xffffffff, 0x80000000, hi, 0x100 + r.randint(lo, hi)))


def wrapped(text, out, ins, t, fn, **kw):
    m = (1 << WIDTH[out]) - 1
    return Form(text, out, ins, lambda *v: fn(*(val(x, t) for x in v)) & m, **kw)


def arithmetic():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        w = WIDTH[t]
        two, three = "%s %s" % (t, t), "%s %s %s" % (t, t, t)

        def op(name, fn, n=2, out=t, tail="", suffix="", **kw):
            ins = " ".join([t] * n) + tail
            ops = ", ".join("{%s}" % k for k in "abce"[:n + len(tail.split())])
            return wrapped("%s.%s%s {d}, %s;" % (name, t, suffix, ops), out, ins, t, fn, **kw)

        yield op("add", lambda a, b: a + b)
        yield op("sub", lambda a, b: a - b)
        yield op("min", min)
        yield op("max", max)
        yield op("mul.lo", lambda a, b: a * b)
        yield op("mul.hi", lambda a, b, w=w: a * b >> w)
        yield op("mad.lo", lambda a, b, c: a * b + c, 3)
        yield op("mad.hi", lambda a, b, c, w=w: (a * b >> w) + c, 3)
        if w < 64:
            wide = t[0] + str(2 * w)
            yield Form("mul.wide.%s {d}, {a}, {b};" % t, wide, two,
                       lambda a, b, t=t, w=w: val(a, t) * val(b, t) & ((1 << 2 * w) - 1))
            yield Form("mad.wide.%s {d}, {a}, {b}, {c};" % t, wide, two + " " + wide,
                       lambda a, b, c, t=t, w=w: val(a, t) * val(b, t) + c & ((1 << 2 * w) - 1))
        yield op("sad", lambda a, b, c: c + abs(a - b), 3)
        nonzero = [None, lambda r, w=w: r.choice((1, 2, 3, 7, 10, (1 << w) - 1, 1 << (w - 1), r.getrandbits(w) | 1, r.getrandbits(w // 2) | 1))]
        yield op("div", quot, sets=nonzero)
        yield op("rem", lambda a, b: a - b * quot(a, b), sets=nonzero)
        if t[0] == "s":
            yield op("neg", lambda a: -a, 1)
            yield op("abs", abs, 1)
        shift = [None, small(w + 2)]
        yield Form("shr.%s {d}, {a}, {b};" % t, t, t + " u32",
                   lambda a, b, t=t, w=w: (val(a, t) >> min(b, w)) & ((1 << w) - 1), shift)
        if w >= 32:
            pos = [None, small(w), small(w)]

            def bfe(a, p, n, t=t, w=w):
                p, n = p & 255, n & 255
                bits = val(a, "u" + t[1:])
                sign = 0 if t[0] == "u" or n == 0 else bits >> min(p + n - 1, w - 1) & 1
                return sum((bits >> (p + i) & 1 if i < n and p + i < w else sign) << i for i in range(w))
            yield Form("bfe.%s {d}, {a}, {b}, {c};" % t, t, t + " u32 u32", bfe, pos)

            def bfind(a, t=t, w=w):
                if t[0] == "s" and a >> (w - 1):
                    a ^= (1 << w) - 1
                return a.bit_length() - 1 & 0xffffffff
            yield Form("bfind.%s {d}, {a};" % t, "u32", t, bfind)
            yield Form("bfind.shiftamt.%s {d}, {a};" % t, "u32", t,
                       lambda a, f=bfind, w=w: f(a) if f(a) == 0xffffffff else w - 1 - f(a))
        if w == 32:
            yield op("mul24.lo", lambda a, b, t=t: m24(a, t) * m24(b, t))
            yield op("mul24.hi", lambda a, b, t=t: m24(a, t) * m24(b, t) >> 16)
            yield op("mad24.lo", lambda a, b, c, t=t: m24(a, t) * m24(b, t) + c, 3)
            yield op("mad24.hi", lambda a, b, c, t=t: (m24(a, t) * m24(b, t) >> 16) + c, 3)
    for o, f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b)):
        yield Form(o + ".sat.s32 {d}, {a}, {b};", "s32", "s32 s32",
                   lambda a, b, f=f: clamp(f(sx(a, 32), sx(b, 32)), "s32") & 0xffffffff)
    yield Form("mad.hi.sat.s32 {d}, {a}, {b}, {c};", "s32", "s32 s32 s32",
               lambda a, b, c: clamp((sx(a, 32) * sx(b, 32) >> 32) + sx(c, 32), "s32") & 0xffffffff)
    yield Form("mad24.hi.sat.s32 {d}, {a}, {b}, {c};", "s32", "s32 s32 s32",
               lambda a, b, c: clamp((m24(a, "s32") * m24(b, "s32") >> 16) + sx(c, 32), "s32") & 0xffffffff)
    for o, f in (("min", min), ("max", max)):
        yield Form(o + ".relu.s32 {d}, {a}, {b};", "s32", "s32 s32", lambda a, b, f=f: max(f(sx(a, 32), sx(b, 32)), 0))
        for t in ("u16x2", "s16x2"):
            yield Form("%s.%s {d}, {a}, {b};" % (o, t), t, t + " " + t, lambda a, b, f=f, t=t: halves(f, a, b, t))
        yield Form("%s.relu.s16x2 {d}, {a}, {b};" % o, "s16x2", "s16x2 s16x2",
                   lambda a, b, f=f: halves(lambda x, y: max(f(x, y), 0), a, b, "s16x2"))
    for t in ("u16x2", "s16x2"):
        yield Form("add.%s {d}, {a}, {b};" % t, t, t + " " + t, lambda a, b, t=t: halves(lambda x, y: x + y, a, b, t))


def m24(v, t):
    return sx(v, 24) if t[0] == "s" else v & 0xffffff


def halves(f, a, b, t):
    h = t[:3]
    return (f(val(a, h), val(b, h)) & 0xffff) | (f(val(a >> 16, h), val(b >> 16, h)) & 0xffff) << 16


def carries():
    """CC.CF is a carry after add, and no borrow's opposite after sub: sub.cc's carry is *not borrow* on hardware."""
    for t in ("u32", "s32", "u64", "s64"):
        m = (1 << WIDTH[t]) - 1
        w = WIDTH[t]

        def chain(a, b, c, e, add, w=w, m=m):
            x = a | c << w
            y = b | e << w
            z = x + y if add else x - y
            return z & m, z >> w & m, (z >> 2 * w) & m if add else (z >> 2 * w) & m
        yield Form("add.cc.%s {d}, {a}, {b}; addc.cc.%s {d1}, {c}, {e}; addc.%s {d2}, 0, 0;" % (t, t, t),
                   "%s %s %s" % (t, t, t), " ".join([t] * 4), lambda *v, f=chain: f(*v, True))
        yield Form("sub.cc.%s {d}, {a}, {b}; subc.cc.%s {d1}, {c}, {e}; subc.%s {d2}, 0, 0;" % (t, t, t),
                   "%s %s %s" % (t, t, t), " ".join([t] * 4), lambda *v, f=chain: f(*v, False))

        def mads(a, b, c, e, t=t, w=w, m=m):
            p = val(a, t) * val(b, t)
            lo = (p & m) + c
            hi = (p >> w & m) + e + (lo >> w)
            return lo & m, hi & m, hi >> w
        yield Form("mad.lo.cc.%s {d}, {a}, {b}, {c}; madc.hi.cc.%s {d1}, {a}, {b}, {e}; addc.%s {d2}, 0, 0;" % (t, t, t),
                   "%s %s %s" % (t, t, t), " ".join([t] * 4), mads)

        def mads2(a, b, c, e, t=t, w=w, m=m):
            p = val(a, t) * val(b, t)
            hi = (p >> w & m) + c
            lo = (p & m) + e + (hi >> w)
            return hi & m, lo & m, lo >> w
        yield Form("mad.hi.cc.%s {d}, {a}, {b}, {c}; madc.lo.cc.%s {d1}, {a}, {b}, {e}; addc.%s {d2}, 0, 0;" % (t, t, t),
                   "%s %s %s" % (t, t, t), " ".join([t] * 4), mads2)


def bits():
    for t in ("b16", "b32", "b64", "pred"):
        m = 1 if t == "pred" else (1 << WIDTH[t]) - 1
        for o, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
            yield Form("%s.%s {d}, {a}, {b};" % (o, t), t, t + " " + t, f)
        yield Form("not.%s {d}, {a};" % t, t, t, lambda a, m=m: a ^ m)
        if t != "pred":
            yield Form("cnot.%s {d}, {a};" % t, t, t, lambda a: int(a == 0))
            yield Form("shl.%s {d}, {a}, {b};" % t, t, t + " u32", lambda a, b, m=m: a << min(b, 64) & m, [None, small(WIDTH[t] + 2)])
    for t in ("b32", "b64"):
        w = WIDTH[t]
        yield Form("popc.%s {d}, {a};" % t, "u32", t, lambda a: bin(a).count("1"))
        yield Form("clz.%s {d}, {a};" % t, "u32", t, lambda a, w=w: w - a.bit_length())
        yield Form("brev.%s {d}, {a};" % t, t, t, lambda a, w=w: int(format(a, "0%db" % w)[::-1], 2))

        def bfi(a, b, p, n, w=w):
            p, n = p & 255, n & 255
            m = sum(1 << (p + i) for i in range(n) if p + i < w)
            return b & ~m | a << p & m
        yield Form("bfi.%s {d}, {a}, {b}, {c}, {e};" % t, t, t + " " + t + " u32 u32", bfi, [None, None, small(w), small(w)])
    for lut in (0, 0x80, 0xe8, 0x96, 0xca, 0x1b, 0xfe, 0x01, 0x3c, 0xac, 0xff, 0x5a):
        def lop(a, b, c, k=lut):
            return sum((k >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))
        yield Form("lop3.b32 {d}, {a}, {b}, {c}, %d;" % lut, "b32", "b32 b32 b32", lop)
        yield Form("lop3.and.b32 {d}|{d1}, {a}, {b}, {c}, %d, {e};" % lut, "b32 pred", "b32 b32 b32 pred",
                   lambda a, b, c, p, f=lop: (f(a, b, c), int(f(a, b, c) != 0) & p))
        yield Form("lop3.or.b32 _|{d}, {a}, {b}, {c}, %d, !{e};" % lut, "pred", "b32 b32 b32 pred",
                   lambda a, b, c, p, f=lop: int(f(a, b, c) != 0) | (1 - p))
    for d in "lr":
        for mode in ("wrap", "clamp"):
            def shf(a, b, n, d=d, mode=mode):
                n = n & 31 if mode == "wrap" else min(n, 32)
                both = b << 32 | a
                return (both << n >> 32 if d == "l" else both >> n) & 0xffffffff
            yield Form("shf.%s.%s.b32 {d}, {a}, {b}, {c};" % (d, mode), "b32", "b32 b32 u32", shf, [None, None, small(40)])
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Form("prmt.b32%s {d}, {a}, {b}, {c};" % mode, "b32", "b32 b32 b32", lambda a, b, c, k=mode: prmt(a, b, c, k))
    for mode in ("wrap", "clamp"):
        for t in ("u32", "s32"):
            def szext(a, n, mode=mode, t=t):
                n = n & 31 if mode == "wrap" else min(n, 32)
                v = a & ((1 << n) - 1)
                return (sx(v, n) if t[0] == "s" and n else v) & 0xffffffff
            yield Form("szext.%s.%s {d}, {a}, {b};" % (mode, t), t, t + " u32", szext, [None, small(40)])

        def bmsk(p, n, mode=mode):
            p, n = (p & 31, n & 31) if mode == "wrap" else (min(p, 32), min(n, 32))
            return ((1 << n) - 1) << p & 0xffffffff
        yield Form("bmsk.%s.b32 {d}, {a}, {b};" % mode, "b32", "u32 u32", bmsk, [small(40), small(40)])

    def fns(mask, base, off):
        off = sx(off, 32)
        if off == 0:
            return base if mask >> base & 1 else 0xffffffff
        step, at, left = (1, base, off) if off > 0 else (-1, base, -off)
        while 0 <= at < 32:
            left -= mask >> at & 1
            if left == 0:
                return at
            at += step
        return 0xffffffff
    yield Form("fns.b32 {d}, {a}, {b}, {c};", "b32", "b32 u32 s32", fns,
               [None, lambda r: r.randrange(32), lambda r: r.randint(-9, 9) & 0xffffffff])


def prmt(a, b, c, mode):
    both = b << 32 | a

    def byte(i):
        return both >> 8 * i & 255
    if not mode:
        out = 0
        for i in range(4):
            s = c >> 4 * i & 15
            v = byte(s & 7)
            out |= ((255 if v >> 7 else 0) if s & 8 else v) << 8 * i
        return out
    k = c & 3
    pick = {".f4e": [k, k + 1, k + 2, k + 3], ".b4e": [k, k - 1 & 7, k - 2 & 7, k - 3 & 7], ".rc8": [k] * 4,
            ".ecl": [max(i, k) for i in range(4)], ".ecr": [min(i, k) for i in range(4)],
            ".rc16": [(k & 1) * 2, (k & 1) * 2 + 1] * 2}[mode]
    return sum(byte(p) << 8 * i for i, p in enumerate(pick))


def dots():
    for at in ("u32", "s32"):
        for bt in ("u32", "s32"):
            def part(v, w, i, t):
                x = v >> w * i & ((1 << w) - 1)
                return sx(x, w) if t[0] == "s" else x
            yield Form("dp4a.%s.%s {d}, {a}, {b}, {c};" % (at, bt), "b32", "b32 b32 b32", lambda a, b, c, at=at, bt=bt, p=part:
                       c + sum(p(a, 8, i, at) * p(b, 8, i, bt) for i in range(4)) & 0xffffffff)
            for h in (0, 1):
                yield Form("dp2a.%s.%s.%s {d}, {a}, {b}, {c};" % (("lo", "hi")[h], at, bt), "b32", "b32 b32 b32",
                           lambda a, b, c, at=at, bt=bt, h=h, p=part:
                           c + sum(p(a, 16, i, at) * p(b, 8, i + 2 * h, bt) for i in range(2)) & 0xffffffff)


def compare(o, a, b, t, ftz=False):
    if t in FORMATS:
        x, y = decode(FORMATS[t], a, ftz), decode(FORMATS[t], b, ftz)
        if o in ("num", "nan"):
            return int((x is not None and y is not None) == (o == "num"))
        if x is None or y is None:
            return int(o[-1] == "u")
        if o in ("equ", "neu", "ltu", "leu", "gtu", "geu"):
            o = o[:2]
        key = lambda v: (1 - 2 * v[1], 0) if is_inf(v) else (0, fsigned(v))
        x, y = key(x), key(y)
    else:
        if o in ("lo", "ls", "hi", "hs"):
            t, o = "u" + t[1:], {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[o]
        x, y = val(a, t), val(b, t)
    return int({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[o])


def compares(full):
    fcmp = CMP + tuple(c + "u" for c in CMP) + ("num", "nan")
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64", "f16", "bf16"):
        ops = ("eq", "ne") if t[0] == "b" and t != "bf16" else fcmp if t in FORMATS else \
            CMP + (("lo", "ls", "hi", "hs") if t[0] == "u" else ())
        for n, o in enumerate(ops):
            for ftz in ((False, True) if t == "f32" else (False,)):
                z = ".ftz" if ftz else ""
                two = t + " " + t

                def one(a, b, o=o, t=t, ftz=ftz):
                    return compare(o, a, b, t, ftz)
                yield Form("setp.%s%s.%s {d}, {a}, {b};" % (o, z, t), "pred", two, one)
                if t not in ("f16", "bf16"):
                    yield Form("setp.%s%s.%s {d}|{d1}, {a}, {b};" % (o, z, t), "pred pred", two,
                           lambda a, b, f=one: (f(a, b), 1 - f(a, b)))
                for k, (bo, bf) in enumerate((("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y))):
                    if not full and (n + k) % 3:
                        continue
                    for inv in ("", "!"):
                        if t in ("f16", "bf16"):
                            yield Form("setp.%s.%s.%s {d}, {a}, {b}, %s{c};" % (o, bo, t, inv), "pred", two + " pred",
                                       lambda a, b, c, f=one, g=bf, i=inv: g(f(a, b), c ^ int(i != "")))
                            continue
                        yield Form("setp.%s.%s%s.%s {d}|{d1}, {a}, {b}, %s{c};" % (o, bo, z, t, inv), "pred pred", two + " pred",
                                   lambda a, b, c, f=one, g=bf, i=inv: (g(f(a, b), c ^ int(i != "")), g(1 - f(a, b), c ^ int(i != ""))))
                    if t in ("f16", "bf16"):
                        continue
                    for dt in ("u32", "s32", "f32"):
                        yes = 0x3f800000 if dt == "f32" else 0xffffffff
                        yield Form("set.%s.%s%s.%s.%s {d}, {a}, {b}, {c};" % (o, bo, z, dt, t), "b32", two + " pred",
                                   lambda a, b, c, f=one, g=bf, y=yes: y * g(f(a, b), c))
                if t in ("f16", "bf16"):
                    for dt, yes in (("u16", 0xffff), ("s16", 0xffff), ("u32", 0xffffffff), ("s32", 0xffffffff)) + ((("f16", 0x3c00),) if t == "f16" else (("bf16", 0x3f80),)):
                        yield Form("set.%s.%s.%s {d}, {a}, {b};" % (o, dt, t), "b%d" % WIDTH[dt], two, lambda a, b, f=one, y=yes: y * f(a, b))
                    x2 = t + "x2"

                    def pair(a, b, f=one):
                        return f(a & 0xffff, b & 0xffff), f(a >> 16, b >> 16)
                    yield Form("setp.%s.%s {d}|{d1}, {a}, {b};" % (o, x2), "pred pred", x2 + " " + x2, pair)
                    yield Form("setp.%s.and.%s {d}|{d1}, {a}, {b}, {c};" % (o, x2), "pred pred", x2 + " " + x2 + " pred",
                               lambda a, b, c, f=pair: tuple(v & c for v in f(a, b)))
                    for dt, yes in ((x2, 0x3c00 if t == "f16" else 0x3f80), ("u32", 0xffff), ("s32", 0xffff)):
                        yield Form("set.%s.%s.%s {d}, {a}, {b};" % (o, dt, x2), "b32", x2 + " " + x2,
                                   lambda a, b, f=pair, y=yes: f(a, b)[0] * y | f(a, b)[1] * y << 16)
                else:
                    for dt in ("u32", "s32", "f32"):
                        yes = 0x3f800000 if dt == "f32" else 0xffffffff
                        yield Form("set.%s%s.%s.%s {d}, {a}, {b};" % (o, z, dt, t), "b32", two, lambda a, b, f=one, y=yes: y * f(a, b))
    for t in ("b16", "u16", "b32", "s32", "b64", "u64", "f32", "f64"):
        r = "b%d" % WIDTH[t]
        yield Form("selp.%s {d}, {a}, {b}, {c};" % t, r, r + " " + r + " pred", lambda a, b, c: a if c else b)
        yield Form("slct.%s.s32 {d}, {a}, {b}, {c};" % t, r, r + " " + r + " s32", lambda a, b, c: b if c >> 31 else a)
        for z in ("", ".ftz"):
            yield Form("slct%s.%s.f32 {d}, {a}, {b}, {c};" % (z, t), r, r + " " + r + " f32",
                       lambda a, b, c, z=z: a if compare("ge", c, 0, "f32", bool(z)) else b)


def forms(full):
    for f in (arithmetic, carries, bits, dots):
        yield from f()
    yield from compares(full)
