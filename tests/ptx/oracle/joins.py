# SPDX-License-Identifier: MIT
"""Random kernels of narrow blocks, whose threads know their place in a row by ctaid.x * ntid.x + tid.x, and what each of them leaves.

An engine may run neighbouring blocks as one that is as wide as a warp if nobody can tell. So: all that compilers write for that sum, with constants in it as well, of 32 and 64 bits;
loops and branches by x, y, z; strides by the size of the grid; rows that are no multiple of what is one. A quarter of them has something that tells threads of a block from those of
its neighbour, and must not be run so: a file says which it is (`joined`). The model does one thread after the other, as the PTX ISA says it.
"""
import os
import random

M32 = (1 << 32) - 1
SHAPES = ((16, 16, 1), (8, 8, 1), (16, 4, 1), (8, 4, 4), (8, 8, 8), (16, 8, 8), (4, 8, 2), (24, 2, 1), (12, 4, 1), (10, 10, 1), (20, 3, 1), (2, 16, 1), (1, 8, 1), (16, 1, 1), (8, 1, 1),
          (48, 2, 1), (100, 1, 1), (16, 64, 1), (3, 5, 2), (32, 4, 1), (16, 16, 2))
DATA = 64
SPOILERS = ("tid", "ctaid", "first", "twice", "lane", "barrier", "shared", "minus", "width", "vote", "volatile", "warp", "product", "wrap", "double", "rows")

TURNED_SPOILERS = ("tidy", "ctaidy", "lane", "barrier", "shared", "vote", "volatile", "warp")


class Joins:
    def __init__(self, seed):
        self.r = r = random.Random(seed ^ 0x10195)
        self.block = r.choice(SHAPES)
        bx, by, bz = self.block
        self.n = 32 // (32 & -32 if bx % 32 == 0 else bx & -bx) if bx % 32 else 1
        self.turned = r.random() < .35
        self.n2 = 32 // (32 if by % 32 == 0 else by & -by)
        most = max(1, 3000 // (bx * by * bz))
        gx = r.randint(1, max(1, min(most, 3 * self.n + 2)))
        gy = r.randint(1, max(1, min(most // gx, 3)))
        if self.turned:
            gx, gy = r.randint(1, 3), self.n2 * r.randint(1, 2) if r.random() < .8 else r.randint(1, 5)
        self.grid = (gx, gy, r.randint(1, 2) if most // gx // gy > 1 else 1)
        self.w, self.h, self.d = bx * gx, by * gy, bz * self.grid[2]
        self.data = [r.getrandbits(32) if r.random() < .6 else r.randrange(100) for _ in range(DATA)]
        self.param = r.randrange(1, 3 * self.w)
        self.spoiler = r.choice(TURNED_SPOILERS if self.turned else SPOILERS) if r.random() < .25 else None
        self.lines, self.last, self.labels, self.preds = [], 0, 0, 0
        self.pool = []

    # ---- statements: text, and what it does to a thread t, a dict of registers
    def reg(self):
        self.last += 1
        return "%%r%d" % self.last

    def label(self):
        self.labels += 1
        return "$L%d" % self.labels

    def pred(self):
        self.preds += 1
        return "%%p%d" % self.preds

    def out(self, text):
        self.lines.append("\t" + text)

    def place(self):
        """%x, in one of the ways that there are"""
        bx, form = self.block[0], self.r.randrange(9)
        add = self.r.choice((0, 0, 1, 5, M32))
        self.out("mov.u32 %tx, %tid.x;")
        self.out("mov.u32 %cx, %ctaid.x;")
        self.out("mov.u32 %nx, %ntid.x;")
        if form == 1 and bx & bx - 1 == 0:
            self.out("shl.b32 %%q0, %%cx, %d;" % (bx.bit_length() - 1))
            self.out("add.s32 %x, %q0, %tx;")
        elif form == 2:
            self.out("mul.lo.s32 %%q0, %%cx, %d;" % bx)
            self.out("add.s32 %x, %tx, %q0;")
        elif form == 3:
            self.out("mul.lo.u32 %q0, %nx, %cx;")
            self.out("add.u32 %%q1, %%q0, %d;" % add)
            self.out("add.u32 %q2, %q1, %tx;")
            self.out("sub.u32 %%x, %%q2, %d;" % add)
        elif form == 4:
            self.out("add.u32 %%q0, %%tx, %d;" % add)
            self.out("mad.lo.u32 %q1, %nx, %cx, %q0;")
            self.out("sub.u32 %%x, %%q1, %d;" % add)
        elif form == 5:
            self.out("mul.wide.u32 %e0, %cx, %nx;")
            self.out("cvt.u64.u32 %e1, %tx;")
            self.out("add.s64 %e2, %e0, %e1;")
            self.out("cvt.u32.u64 %x, %e2;")
        elif form == 6:
            self.out("cvt.u64.u32 %e1, %tx;")
            self.out("mad.wide.u32 %e0, %nx, %cx, %e1;")
            self.out("cvt.u32.u64 %x, %e0;")
        elif form == 7:
            self.out("mov.u32 %q1, %cx;")
            self.out("mad.lo.s32 %%q0, %%q1, %d, 0;" % bx)
            self.out("mov.b32 %q2, %q0;")
            self.out("add.s32 %x, %q2, %tx;")
        else:
            self.out("mad.lo.s32 %x, %cx, %nx, %tx;")
        for k, c, n, i in (("%y", "%ctaid.y", "%ntid.y", "%tid.y"), ("%z", "%ctaid.z", "%ntid.z", "%tid.z")):
            self.out("mov.u32 %s0, %s;" % (k, c))
            self.out("mov.u32 %s1, %s;" % (k, n))
            self.out("mov.u32 %s2, %s;" % (k, i))
            self.out("mad.lo.s32 %s, %s0, %s1, %s2;" % (k, k, k, k))
        self.out("mov.u32 %gx, %nctaid.x;")
        self.out("mov.u32 %ty, %tid.y;")
        self.pool = ["%x", "%x", "%y", "%z", "%gx", "%nx", "%n"] + (["%tx", "%cx", "%tx"] if self.turned else ["%ty"])

    def any(self):
        r = self.r
        if r.random() < .2:
            k = r.choice((1, 3, 7, 31, 255, 0x10001, M32))
            return str(k), lambda t: k
        o = r.choice(self.pool[-8:] if r.random() < .5 else self.pool)
        return o, lambda t: t[o]

    def expr(self, into=None):
        r = self.r
        op, f = r.choice((("add.u32", lambda a, b: a + b), ("sub.u32", lambda a, b: a - b), ("mul.lo.u32", lambda a, b: a * b), ("xor.b32", lambda a, b: a ^ b), ("and.b32", lambda a, b: a & b),
                          ("min.u32", min), ("max.u32", max), ("shr.u32", lambda a, b: a >> b if b < 32 else 0)))
        a, b, d = self.any(), self.any(), into or self.reg()
        self.out("%s %s, %s, %s;" % (op, d, a[0], b[0]))
        self.pool += [d] * (into is None)

        def run(t):
            t[d] = f(a[1](t), b[1](t)) & M32
        return run

    def load(self):
        a, d = self.any(), self.reg()
        self.out("and.b32 %%t0, %s, %d;" % (a[0], DATA - 1))
        self.out("mad.wide.u32 %d0, %t0, 4, %data;")
        self.out("ld.global.u32 %s, [%%d0];" % d)
        self.pool.append(d)
        data = self.data
        return lambda t: t.__setitem__(d, data[a[1](t) & DATA - 1])

    def count(self):
        a = self.any()
        self.out("and.b32 %%t0, %s, 7;" % a[0])
        self.out("mad.wide.u32 %d0, %t0, 4, %sums;")
        b = self.any()
        self.out("red.global.add.u32 [%%d0], %s;" % b[0])

        def run(t):
            t["sums"][a[1](t) & 7] += b[1](t)
        return run

    def compare(self):
        a, b, p = self.any(), self.any(), self.pred()
        o, f = self.r.choice((("lt", lambda a, b: a < b), ("ge", lambda a, b: a >= b), ("eq", lambda a, b: a == b), ("ne", lambda a, b: a != b)))
        self.out("setp.%s.u32 %s, %s, %s;" % (o, p, a[0], b[0]))
        return p, lambda t: f(a[1](t), b[1](t))

    def inside(self, n):
        were, acc = len(self.pool), []
        acc = [self.one(False) for _ in range(n)]
        acc.append(self.expr("%acc"))
        del self.pool[were:]
        return lambda t: [f(t) for f in acc]

    def branch(self):
        (p, test), at = self.compare(), self.label()
        self.out("@!%s bra %s;" % (p, at))
        body = self.inside(self.r.randint(1, 3))
        self.lines.append(at + ":")
        return lambda t: test(t) and body(t)

    def loop(self):
        a, i, at, p = self.any(), self.reg(), self.label(), self.pred()
        self.out("and.b32 %s, %s, 3;" % (i, a[0]))
        self.lines.append(at + ":")
        self.pool.append(i)
        body = self.inside(self.r.randint(1, 2))
        self.pool.remove(i)
        self.out("add.u32 %s, %s, 1;" % (i, i))
        self.out("setp.lt.u32 %s, %s, 4;" % (p, i))
        self.out("@%s bra %s;" % (p, at))

        def run(t):
            t[i] = a[1](t) & 3
            while True:
                body(t)
                t[i] += 1
                if t[i] >= 4:
                    return
        return run

    def stride(self):
        """for (j = x; j < n; j += gridDim.x * blockDim.x)"""
        j, at, end, p, s, data, w = self.reg(), self.label(), self.label(), self.pred(), self.reg(), self.data, self.w
        self.out("mov.u32 %s, %%x;" % j)
        self.out("mul.lo.u32 %s, %%gx, %%nx;" % s)
        self.lines.append(at + ":")
        self.out("setp.ge.u32 %s, %s, %%n;" % (p, j))
        self.out("@%s bra %s;" % (p, end))
        self.out("and.b32 %%t0, %s, %d;" % (j, DATA - 1))
        self.out("mad.wide.u32 %d0, %t0, 4, %data;")
        self.out("ld.global.u32 %t0, [%d0];")
        self.out("mad.lo.u32 %acc, %acc, 31, %t0;")
        self.out("add.u32 %s, %s, %s;" % (j, j, s))
        self.out("bra %s;" % at)
        self.lines.append(end + ":")

        def run(t):
            for k in range(t["%x"], t["%n"], w):
                t["%acc"] = t["%acc"] * 31 + data[k & DATA - 1] & M32
        return run

    def one(self, outer=True):
        k = self.r.choice(("expr", "expr", "expr", "load", "load", "count", "mix", "branch", "branch", "loop", "stride") if outer else ("expr", "expr", "load", "count", "mix"))
        if k == "mix":
            a = self.any()
            self.out("mad.lo.u32 %%acc, %%acc, 31, %s;" % a[0])
            return lambda t: t.__setitem__("%acc", t["%acc"] * 31 + a[1](t) & M32)
        return getattr(self, k)()

    def spoil(self):
        k, bx, d = self.spoiler, self.block[0], self.reg()
        lane = lambda t: (t["tx"] + bx * (t["ty"] + self.block[1] * t["tz"])) % 32
        text, f = {
            "tid": (["and.b32 {d}, %tx, 3;"], lambda t: t["tx"] & 3),
            "tidy": (["and.b32 {d}, %ty, 3;"], lambda t: t["ty"] & 3),
            "ctaidy": (["mov.u32 {d}, %ctaid.y;", "and.b32 {d}, {d}, 1;"], lambda t: t["cy"] & 1),
            "ctaid": (["and.b32 {d}, %cx, 1;"], lambda t: t["cx"] & 1),
            "first": (["setp.eq.u32 %p0, %tx, 0;", "selp.b32 {d}, 5, 9, %p0;"], lambda t: 5 if t["tx"] == 0 else 9),
            "twice": (["mad.lo.u32 %t0, %cx, %nx, %tx;", "add.u32 {d}, %t0, %tx;"], lambda t: t["cx"] * bx + 2 * t["tx"]),
            "lane": (["mov.u32 {d}, %laneid;"], lane),
            "barrier": (["bar.sync 0;", "mov.u32 {d}, 3;"], lambda t: 3),
            "shared": (["mov.u32 %t0, all;", "mov.u32 {d}, 4;", "st.shared.u32 [%t0], {d};"], lambda t: 4),
            "minus": (["mul.lo.u32 %q3, %cx, %nx;", "sub.u32 {d}, %q3, %tx;"], lambda t: t["cx"] * bx - t["tx"] & M32),
            "width": (["mad.lo.u32 {d}, %%cx, %d, %%tx;" % (bx + 1)], lambda t: t["cx"] * (bx + 1) + t["tx"]),
            "vote": (["setp.ne.u32 %p0, %nx, 0;", "vote.any.pred %p0, %p0;", "selp.b32 {d}, 1, 0, %p0;"], lambda t: 1),
            "volatile": (["ld.volatile.global.u32 {d}, [%data];"], lambda t: self.data[0]),
            "warp": (["mov.u32 {d}, %warpid;", "and.b32 {d}, {d}, 0;"], lambda t: 0),
            "double": (["add.u32 {d}, %tx, %tx;"], lambda t: 2 * t["tx"]),
            "rows": (["mul.lo.u32 %q3, %cx, %nx;", "add.u32 {d}, %q3, %q3;"], lambda t: 2 * t["cx"] * bx & M32),
            "product": (["mul.lo.u32 {d}, %tx, %cx;"], lambda t: t["tx"] * t["cx"]),
            "wrap": (["mad.lo.u32 %q3, %cx, %nx, -3;", "cvt.u64.u32 %f0, %q3;", "cvt.u64.u32 %f1, %tx;", "add.u64 %f2, %f0, %f1;", "shr.u64 %f3, %f2, 32;", "cvt.u32.u64 {d}, %f3;"],
                     lambda t: ((t["cx"] * bx - 3 & M32) + t["tx"]) >> 32),
        }[k]
        for x in text:
            self.out(x.replace("{d}", d))
        self.pool += [d] * 3
        return lambda t: t.__setitem__(d, f(t))

    def case(self, seed):
        r, (bx, by, bz), (gx, gy, gz) = self.r, self.block, self.grid
        self.place()
        a, b, n = ("%x", "%y", (self.w, self.h)) if self.turned else ("%y", "%x", (self.h, self.w))
        self.out("mad.lo.u32 %%i0, %%z, %d, %s;" % (n[0], a))
        self.out("mad.lo.u32 %%i, %%i0, %d, %s;" % (n[1], b))
        self.out("mov.u32 %acc, 7;")
        steps = [self.one() for _ in range(r.randint(2, 6))]
        if self.spoiler:
            steps.append(self.spoil())
            # a vote is of all that are there
            self.out("mad.lo.u32 %%acc, %%acc, 31, %s;" % self.pool[-1])
            last = self.pool[-1]
            steps.append(lambda t: t.__setitem__("%acc", t["%acc"] * 31 + t[last] & M32))
        steps += [self.one() for _ in range(r.randint(1, 5))]
        some = r.random() < .5
        if some:
            (p, test), end = self.compare(), self.label()
            self.out("@%s bra %s;" % (p, end))
        self.out("mad.wide.u32 %to, %i, 4, %out;")
        self.out("st.global.u32 [%to], %acc;")
        if some:
            self.lines.append(end + ":")
        want, sums = [0] * (self.w * self.h * self.d), [0] * 8
        for z in range(self.d):
            for y in range(self.h):
                for x in range(self.w):
                    t = {"tx": x % bx, "cx": x // bx, "%tx": x % bx, "%cx": x // bx, "ty": y % by, "cy": y // by, "tz": z % bz, "%x": x, "%y": y, "%z": z, "%gx": gx, "%nx": bx, "%n": self.param, "%ty": y % by, "%acc": 7, "sums": sums}
                    for f in steps:
                        f(t)
                    if not some or not test(t):
                        want[(z * self.w + x) * self.h + y if self.turned else (z * self.h + y) * self.w + x] = t["%acc"]
        parts, d = 1, bz if bz > 1 else by
        while bx * by * bz * self.n // parts > 1024:
            parts *= 2
        joined = not self.spoiler and self.n > 1 and gx >= self.n and parts <= 4 and d % parts == 0
        if self.turned:
            joined = not self.spoiler and bx > 1 and bx * by * bz * self.n2 <= 1024 and gy % self.n2 == 0
        o = ["// joins %d, by a model of the statements (tests/ptx/oracle/joins.py)%s." % (seed, ": " + self.spoiler if self.spoiler else ""),
             *["// joined: %d" % joined] * (not self.turned or 4 * self.h > 64),        # else it does not know which way memory goes
             "// launch: k grid=%d,%d,%d block=%d,%d,%d args=out:u32[%d],data:u32[%d]={%s},sums:u32[8],u32:%d" %
             (*self.grid, *self.block, len(want), DATA, ",".join(map(str, self.data)), self.param)]
        o += ["// expect: out[%d..%d] = %s" % (i, min(i + 63, len(want) - 1), " ".join(map(str, want[i:i + 64]))) for i in range(0, len(want), 64)]
        o += ["// expect: sums = " + " ".join(str(s & M32) for s in sums), ".version 7.0", ".target sm_61", ".address_size 64", "",
              ".visible .entry k(.param .u64 out, .param .u64 data, .param .u64 sums, .param .u32 n)", "{",
              "\t.reg .pred %%p<%d>;" % (self.preds + 1), "\t.reg .b32 %%r<%d>, %%t<3>, %%q<4>, %%tx, %%ty, %%cx, %%nx, %%gx, %%x, %%y, %%y0, %%y1, %%y2, %%z, %%z0, %%z1, %%z2, %%i, %%i0, %%n, %%acc;" % (self.last + 1),
              "\t.reg .b64 %d<2>, %e<3>, %f<4>, %to, %out, %data, %sums;"]
        o += ["\t.shared .align 4 .b32 all;"] * (self.spoiler == "shared")
        o += ["\t" + x for x in ("ld.param.u64 %out, [out];", "ld.param.u64 %data, [data];", "ld.param.u64 %sums, [sums];", "ld.param.u32 %n, [n];")]
        return "\n".join(o + self.lines + ["\tret;", "}", ""])


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "joins_%04d.ptx" % seed), "w") as f:
            f.write(Joins(seed).case(seed))
    return count
