# SPDX-License-Identifier: MIT
"""Random programs that take numbers apart, and what each of their threads leaves.

Masks, shifts, fields, signs of bytes, halves of words, conversions between widths, dot products: what compilers write around a few bytes that lie in a word, in an order
and with masks that often leave nothing to do. Registers are written once, or several times: behind a guard, in branches, in loops. The model does each
statement for one thread after the other, as the PTX ISA says it.
"""
import os
import random
import struct

from integer import prmt, sx

THREADS = 64
WORDS = THREADS + 1
MASKS = (0xff, 0xffff, 0xffff0000, 0x0f0f0f0f, 0xf0f0f0f0, 0x3f3f3f3f, 0x3f3f, 0xc0c0, 0x80808080, 0x7f7f7f7f, 0x03030303, 0x0f0f, 0x7fffffff, 63, 31, 15, 1, 0x30303030,
         0x20202020, 0x8080, 0x7f7f, 0xfffffff0, 0x1ff, 0x7fff, 0x80008000, 0x01010101)
WIDTH = {"r": 32, "h": 16, "d": 64}
SIGNS = (0xba98, 0x9898, 0xdc98, 0xfb80, 0x8888)
PICKS = (0x3210, 0x4140, 0x5410, 0x7632, 0x0123, 0x4440, 0x4443)
M32 = (1 << 32) - 1


def half(h):
    v = struct.unpack("e", struct.pack("H", h))[0]
    return 0x7fffffff if v != v else struct.unpack("I", struct.pack("f", v))[0]


def field(a, at, n, signed):
    at, n = at & 255, n & 255
    out = sum((a >> min(at + i, 31) & 1 if signed or at + i < 32 else 0) << i for i in range(min(n, 32)))
    if signed and 0 < n:
        top = a >> min(at + n - 1, 31) & 1
        out |= top * (M32 ^ ((1 << min(n, 32)) - 1))
    return out & M32


def dot(a, b, c, ta, tb):
    return c + sum((sx(a >> s & 255, 8) if ta == "s" else a >> s & 255) * (sx(b >> s & 255, 8) if tb == "s" else b >> s & 255) for s in (0, 8, 16, 24)) & M32


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.data = [r.choice((r.getrandbits(32), r.getrandbits(32) & r.choice(MASKS), 0x80808080, 0)) for _ in range(WORDS)]
        self.last = {"r": 0, "h": 0, "d": 0, "p": 0}
        self.here = {k: [] for k in self.last}
        self.trips, self.labels, self.recent, self.to = 0, 0, 0x0f0f0f0f, {}
        self.prog = [self.load("r"), self.load("h"), self.load("r"), self.wide(), self.compare(), *self.body(0, r.randint(12, 40))]

    # ---- what it is: (text, dest, function of the registers), ("if", p, sense, body), ("loop", n, body), guarded ones with @
    def any(self, k):
        return self.r.choice(self.here[k][-6:] if self.r.random() < .7 else self.here[k])

    def dest(self, k):
        if self.to.get(k):
            return self.to.pop(k)
        if self.here[k] and self.r.random() < .2:
            return self.any(k)
        self.last[k] += 1
        name = "%%%s%d" % ({"d": "v", "h": "rs"}.get(k, k), self.last[k])
        self.here[k].append(name)
        return name

    def op(self, k, text, f, *srcs):
        """text has {d} and {0}, {1}, ...; a source is a register or a number"""
        d, mask = self.dest(k), (1 << WIDTH.get(k, 1)) - 1

        def run(t):
            t[d] = f(*[t[s] if isinstance(s, str) else s for s in srcs]) & mask
        return ("do", text.format(*srcs, d=d) + ";", run)

    def load(self, k):
        at = self.r.randrange(4) * (1 if self.r.random() < .5 else 0)
        kind = {"r": ("u32", "u8", "s8", "u16", "s16", "b32"), "h": ("u16", "u8", "s8", "b16"), "d": ("u32", "u8", "s32")}[k]
        kind = self.r.choice(kind)
        n = int(kind[1:]) // 8
        at -= at % n
        raw = b"".join(struct.pack("<I", w) for w in self.data)
        d = self.dest(k)

        def run(t):
            v = int.from_bytes(raw[4 * t["tid"] + at:4 * t["tid"] + at + n], "little")
            t[d] = (sx(v, 8 * n) if kind[0] == "s" else v) & ((1 << WIDTH[k]) - 1)
        return ("do", "ld.global.%s %s, [%%rd2+%d];" % (kind, d, at), run)

    def mask(self):
        """Often one that was used just before, or what that leaves"""
        k = self.r.random()
        self.recent = self.recent if k < .25 else ~self.recent & M32 if k < .35 else self.r.choice(MASKS)
        return self.recent

    def wide(self):
        r = self.r
        if not self.here["d"] or r.random() < .4:
            a = self.any("r")
            return r.choice((lambda: self.op("d", "cvt.u64.u32 {d}, {0}", lambda a: a, a), lambda: self.op("d", "cvt.s64.s32 {d}, {0}", lambda a: sx(a, 32), a),
                             lambda: self.op("d", "mov.b64 {d}, {{{0}, {1}}}", lambda a, b: b << 32 | a, a, self.any("r"))))()
        a, n, m = self.any("d"), r.randrange(64), r.choice(MASKS) << r.choice((0, 0, 32, 16))
        return r.choice((lambda: self.op("d", "and.b64 {d}, {0}, {1}", lambda a, b: a & b, a, m & (1 << 64) - 1), lambda: self.op("d", "shl.b64 {d}, {0}, {1}", lambda a, b: a << b, a, n),
                         lambda: self.op("d", "shr.u64 {d}, {0}, {1}", lambda a, b: a >> b, a, n), lambda: self.op("d", "shr.s64 {d}, {0}, {1}", lambda a, b: sx(a, 64) >> b, a, n),
                         lambda: self.op("d", "or.b64 {d}, {0}, {1}", lambda a, b: a | b, a, self.any("d")), lambda: self.op("d", "add.s64 {d}, {0}, {1}", lambda a, b: a + b, a, self.any("d")),
                         lambda: self.op("d", "not.b64 {d}, {0}", lambda a: ~a, a)))()

    def compare(self):
        a, b = self.any("r"), self.r.choice((0, 1, 5, 128, 0xffff))
        o, f = self.r.choice((("eq.u32", lambda a, b: a == b), ("ne.u32", lambda a, b: a != b), ("lt.u32", lambda a, b: a < b), ("gt.s32", lambda a, b: sx(a, 32) > b)))
        return self.op("p", "setp." + o + " {d}, {0}, {1}", lambda a, b: int(f(a, b)), a, b)

    def logic(self, k, a):
        r, w = self.r, WIDTH[k]
        o = r.choice(("and", "and", "and", "or", "xor"))
        b = self.any(k) if r.random() < .3 else self.mask() & ((1 << w) - 1)
        f = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}[o]
        swap = o == "or" and r.random() < .2
        return self.op(k, "%s.b%d {d}, {%d}, {%d}" % (o, w, swap, not swap), f, a, b)

    def shift(self, k, a):
        r, w = self.r, WIDTH[k]
        n = r.choice((r.randrange(w), 8, 4, w // 2, w - 1, w, w + 3))
        o = r.choice(("shl.b", "shr.u", "shr.u", "shr.s", "shr.b"))
        f = {"shl.b": lambda a, b: a << b, "shr.s": lambda a, b: sx(a, w) >> min(b, w - 1)}.get(o, lambda a, b: a >> b)
        return self.op(k, "%s%d {d}, {0}, {1}" % (o, w), f, a, n)

    def sum(self, k, a):
        r, w = self.r, WIDTH[k]
        if r.random() < .3:
            a = self.here[k][-1]
        b = self.any(k) if r.random() < .6 else r.choice((0, 1, 3, -32 & ((1 << w) - 1), 100))
        o = r.choice(("add.s", "sub.s", "mul.lo.s", "min.u", "max.u", "max.s", "add.u"))
        f = {"add.s": lambda a, b: a + b, "add.u": lambda a, b: a + b, "sub.s": lambda a, b: a - b, "mul.lo.s": lambda a, b: a * b, "min.u": min, "max.u": max,
             "max.s": lambda a, b: max(sx(a, w), sx(b, w))}[o]
        return self.op(k, "%s%d {d}, {0}, {1}" % (o, w), f, a, b)

    def rest(self):
        """What is left of a number without some of its bits, as the rest of a division has it: of itself or of a copy, and now and then it has changed meanwhile"""
        r, wide = self.r, bool(self.here["d"]) and self.r.random() < .3
        k, w = ("d", 64) if wide else ("r", 32)
        a, m = self.any(k), r.choice((-8, -16, -32, -2, ~0xff0)) & ((1 << w) - 1)
        x = a if r.random() < .5 else self.dest(k)
        y, change = self.dest(k), r.random() < .2
        d = self.dest(k)
        lines = ["mov.b%d %s, %s" % (w, x, a)] * (x != a) + ["and.b%d %s, %s, %d" % (w, y, x, m)] + ["add.s%d %s, %s, 3" % (w, a, a)] * change + ["sub.s%d %s, %s, %s" % (w, d, a, y)]

        def run(t):
            t[x] = t[a]
            t[y] = t[x] & m
            if change:
                t[a] = t[a] + 3 & (1 << w) - 1
            t[d] = t[a] - t[y] & (1 << w) - 1
        return ("do", ";\n\t".join(lines) + ";", run)

    def one(self):
        r = self.r
        a, b, h, p = self.any("r") if r.random() < .7 else self.here["r"][-1], self.any("r"), self.any("h"), self.any("p")
        k = r.choice(("logic", "logic", "logic", "shift", "shift", "sum", "not", "bfe", "bfe", "prmt", "prmt", "selp", "widen", "widen", "widen", "narrow", "narrow", "byte", "byte",
                      "count", "dot", "dot", "halves", "join", "hlogic", "hshift", "hsum", "hselp", "float", "float", "load", "hload", "wide", "down", "compare", "copy", "lop3", "bfi", "mad",
                      "word", "signs", "dload", "first", "rest"))
        if k == "rest":
            return self.rest()
        if k in ("logic", "shift", "sum"):
            return getattr(self, k)("r", a)
        if k in ("hlogic", "hshift", "hsum"):
            return getattr(self, k[1:])("h", h)
        if k == "not":
            return self.op("r", "not.b32 {d}, {0}", lambda a: ~a, a)
        if k == "bfe":
            s = r.randrange(2)
            return self.op("r", "bfe.%s {d}, {0}, {1}, {2}" % ("us"[s] + "32"), lambda a, x, y: field(a, x, y, s), a, r.choice((0, 4, 8, 16, 24, 31, 40)), r.choice((0, 1, 4, 8, 16, 31, 32, 40)))
        if k in ("prmt", "signs"):
            s = r.choice(SIGNS if k == "signs" else SIGNS + PICKS)
            b = b if r.random() < .5 else r.choice((0, 0xffffffff))
            return self.op("r", "prmt.b32 {d}, {0}, {1}, {2}", lambda a, b, c: prmt(a, b, c, ""), a, b, s)
        if k == "selp":
            b = b if r.random() < .5 else self.mask()
            return self.op("r", "selp.b32 {d}, {0}, {1}, {2}", lambda a, b, p: a if p else b, a, b, p)
        if k == "hselp":
            return self.op("h", "selp.b16 {d}, {0}, {1}, {2}", lambda a, b, p: a if p else b, h, self.any("h"), p)
        if k == "widen":
            return self.op("r", *r.choice((("cvt.u32.u16 {d}, {0}", lambda a: a), ("cvt.s32.s16 {d}, {0}", lambda a: sx(a, 16)), ("cvt.u32.u8 {d}, {0}", lambda a: a & 255),
                                           ("cvt.s32.s8 {d}, {0}", lambda a: sx(a & 255, 8)))), h)
        if k == "narrow":
            return self.op("h", *r.choice((("cvt.u16.u32 {d}, {0}", lambda a: a), ("cvt.u16.u8 {d}, {0}", lambda a: a & 255), ("cvt.s16.s8 {d}, {0}", lambda a: sx(a & 255, 8)))), a)
        if k == "byte":
            return self.op("r", *r.choice((("cvt.u32.u8 {d}, {0}", lambda a: a & 255), ("cvt.s32.s8 {d}, {0}", lambda a: sx(a & 255, 8)), ("cvt.u32.u16 {d}, {0}", lambda a: a & 0xffff),
                                           ("cvt.s32.s16 {d}, {0}", lambda a: sx(a & 0xffff, 16)))), a)
        if k == "count":
            return self.op("r", *r.choice((("popc.b32 {d}, {0}", lambda a: bin(a).count("1")), ("clz.b32 {d}, {0}", lambda a: 32 - a.bit_length()))), a)
        if k == "dot":
            ta, tb = r.choice("us"), r.choice("us")
            b = b if r.random() < .7 else r.choice(MASKS)
            return self.op("r", "dp4a.%s32.%s32 {d}, {0}, {1}, {2}" % (ta, tb), lambda a, b, c: dot(a, b, c, ta, tb), a, b, self.any("r") if r.random() < .6 else 0)
        if k == "halves":
            d = e = self.dest("h")
            while e == d:
                e = self.dest("h")

            def run(t):
                t[d], t[e] = t[a] & 0xffff, t[a] >> 16
            return ("do", "mov.b32 {%s, %s}, %s;" % (d, e, a), run)
        if k == "join":
            return self.op("r", "mov.b32 {d}, {{{0}, {1}}}", lambda a, b: b << 16 | a, h, self.any("h"))
        if k == "float":
            return self.op("r", "cvt.f32.f16 {d}, {0}", half, h)
        if k in ("load", "hload", "dload"):
            return self.load({"load": "r", "hload": "h", "dload": "d"}[k])
        if k == "wide":
            return self.wide()
        if k == "down":
            return self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, self.any("d")) if r.random() < .6 else self.op("h", "cvt.u16.u64 {d}, {0}", lambda a: a, self.any("d"))
        if k == "compare":
            return self.compare()
        if k == "copy":
            return self.op("r", "mov.b32 {d}, {0}", lambda a: a, a) if r.random() < .5 else self.op("h", "mov.b16 {d}, {0}", lambda a: a, h)
        if k == "lop3":
            n = r.choice((0x80, 0xf8, 0x96, 0xe8, 0x6a))
            return self.op("r", "lop3.b32 {d}, {0}, {1}, {2}, %d" % n, lambda a, b, c: sum((n >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)), a, b, self.any("r"))
        if k == "bfi":
            x, y = r.choice((0, 4, 8, 16)), r.choice((4, 8, 16))
            return self.op("r", "bfi.b32 {d}, {0}, {1}, %d, %d" % (x, y), lambda a, b: b & ~(((1 << y) - 1) << x) | (a & ((1 << y) - 1)) << x, a, b)
        if k == "mad":
            return self.op("r", "mad.lo.u32 {d}, {0}, {1}, {2}", lambda a, b, c: a * b + c, a, r.choice((1, 3, 36, 256)), b)
        if k == "first":
            return self.op("r", "mov.u32 {d}, {0}", lambda a: a, "tid")
        return self.op("r", "mov.u32 {d}, {0}", lambda a: a, r.choice(MASKS + (0,)))

    def several(self):
        """Statements that belong together: bits that are set and turned, a half of a word that is another by the time it becomes a float."""
        r = self.r
        if r.random() < .4:
            m, out = self.mask(), [self.logic("r", self.any("r"))]
            for o in r.choice((("or", "xor"), ("or", "xor", "and"), ("and", "xor"), ("xor", "or"))):
                f = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}[o]
                out.append(self.op("r", o + ".b32 {d}, {0}, {1}", f, self.here["r"][-1], m if r.random() < .7 else self.mask()))
            return out
        a, h = self.any("r"), self.any("h")
        self.to["h"] = h
        low = self.op("h", *r.choice((("cvt.u16.u32 {d}, {0}", lambda a: a), ("cvt.u16.u8 {d}, {0}", lambda a: a & 255))), a)
        out = [low] if r.random() < .6 else [("if", self.any("p"), r.randrange(2), [low])]
        if r.random() < .5:
            self.to["r"] = a
            out.append(self.op("r", "add.u32 {d}, {0}, {1}", lambda a, b: a + b, a, 0x1234))
        return out + [self.op("r", "cvt.f32.f16 {d}, {0}", half, h)]

    def inside(self, depth, n):
        """What is new in there is nobody's behind it: on some way it is not defined."""
        were = {k: len(v) for k, v in self.here.items()}
        out = self.body(depth, n)
        for k in self.here:
            del self.here[k][were[k]:]
        return out

    def body(self, depth, n):
        r, out = self.r, []
        for _ in range(n):
            k = r.random()
            if k < .06 and depth < 2:
                p = self.any("p")
                out.append(("if", p, r.randrange(2), self.inside(depth + 1, r.randint(1, 8))))
            elif k < .1 and depth < 2 and self.trips < 3:
                self.trips += 1
                out.append(("loop", self.trips, r.randint(2, 5), self.inside(depth + 1, r.randint(2, 10))))
            elif k < .2:
                # a register that has a value already: what the others keep
                p, was = self.any("p"), {k: len(v) for k, v in self.here.items()}
                last = dict(self.last)
                s = self.one()
                fresh = any(len(self.here[k]) > was[k] for k in was)
                for k in was:
                    del self.here[k][was[k]:]
                if fresh:
                    self.last = last
                elif "{" not in s[1].split(",")[0]:
                    out.append(("guard", p, s))
            elif k < .3:
                out += self.several()
            else:
                out.append(self.one())
                if r.random() < .15 and self.here["r"]:
                    out.append(("mix", self.any("r")))
        return out

    # ---- its text
    def text(self, prog, o):
        for s in prog:
            if s[0] == "do":
                o.append("\t" + s[1].replace("tid;", "%tid.x;"))
            elif s[0] == "guard":
                o += ["\t@%s %s" % (s[1], line) for line in s[2][1].replace("tid;", "%tid.x;").split("\n\t")]
            elif s[0] == "mix":
                o.append("\tmad.lo.u32 %%r0, %%r0, 31, %s;" % s[1])
            else:
                self.labels += 1
                at = "$L%d" % self.labels
                if s[0] == "if":
                    o.append("\t@%s%s bra %s;" % ("!" if s[2] else "", s[1], at))
                    self.text(s[3], o)
                    o.append(at + ":")
                else:
                    o += ["\tmov.u32 %%n%d, 0;" % s[1], at + ":"]
                    self.text(s[3], o)
                    o += ["\tadd.u32 %%n%d, %%n%d, 1;" % (s[1], s[1]), "\tsetp.lt.u32 %%p0, %%n%d, %d;" % (s[1], s[2]), "\t@%p0 bra " + at + ";"]

    # ---- what it does
    def run(self, prog, t):
        for s in prog:
            if s[0] == "do":
                s[2](t)
            elif s[0] == "guard":
                if t[s[1]]:
                    s[2][2](t)
            elif s[0] == "mix":
                t["acc"] = t["acc"] * 31 + t[s[1]] & M32
            elif s[0] == "if":
                if bool(t[s[1]]) == bool(s[2]):
                    self.run(s[3], t)
            else:
                for _ in range(s[2]):
                    self.run(s[3], t)

    def case(self, seed):
        self.prog += [("mix", x) for x in self.here["r"][-12:]]
        for h in self.here["h"][-6:]:
            self.prog += [self.op("r", "cvt.u32.u16 {d}, {0}", lambda a: a, h)]
            self.prog += [("mix", self.here["r"][-1])]
        for d in self.here["d"][-4:]:
            self.prog += [self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, d), self.op("d", "shr.u64 {d}, {0}, {1}", lambda a, b: a >> b, d, 32)]
            self.prog += [self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, self.here["d"][-1]), ("mix", self.here["r"][-1]), ("mix", self.here["r"][-2])]
        want = []
        for tid in range(THREADS):
            t = {"tid": tid, "acc": 0}
            self.run(self.prog, t)
            want.append(t["acc"])
        o = ["// fields %d, by a model of the statements (tests/ptx/oracle/fields.py)." % seed,
             "// launch: k block=%d args=out:u32[%d],data:u32[%d]={%s}" % (THREADS, THREADS, WORDS, ",".join(map(str, self.data))),
             "// expect: out = " + " ".join(map(str, want)),
             ".version 7.0", ".target sm_61", ".address_size 64", "", ".visible .entry k(.param .u64 out, .param .u64 data)", "{",
             "\t.reg .pred %%p<%d>;" % (self.last["p"] + 1), "\t.reg .b32 %%r<%d>, %%n<4>;" % (self.last["r"] + 1), "\t.reg .b16 %%rs<%d>;" % (self.last["h"] + 1),
             "\t.reg .b64 %%rd<%d>;" % (self.last["d"] + 1)]
        o = [x.replace("%rd<", "%v<") for x in o] + ["\t.reg .b64 %rd<4>;"] + ["\t" + x for x in (
            "ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [data];", "mov.u32 %r0, %tid.x;", "mad.wide.u32 %rd1, %r0, 4, %rd1;", "mad.wide.u32 %rd2, %r0, 4, %rd2;", "mov.u32 %r0, 0;")]
        code = []
        self.text(self.prog, code)
        return "\n".join(o + code + ["\tst.global.u32 [%rd1], %r0;", "\tret;", "}", ""])


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "fields_%04d.ptx" % seed), "w") as f:
            f.write(Program(seed).case(seed))
    return count
