# SPDX-License-Identifier: MIT
"""Random reductions (PTX ISA, atom and red) and what they leave in memory.

Each statement has the threads of a block reduce into a table in shared or in global memory, by every operation and type, to one place that the code names, to one that turns out to
be everybody's, to rows, to places of their own or of some; by all threads, some, one of each warp or none; a number that is the same for all, or not. Barriers stand between them. The
model does one thread after the other. Queues: threads take places from a counter, and each place is taken once, whoever has it. Numbers are such that no order of them matters: sums of floats are exact, or infinite, or no number, or of subnormals alone; in global
memory .f32 flushes these, in shared memory it does not. Grids have several blocks where they add to global memory alone, by operations that commute.
"""
import os
import random
import struct
from fractions import Fraction

from number import F32, F64, decode

THREADS, PLACES, DATA, SLOTS = 64, 64, 192, 128
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
INTS = [("add", "u32"), ("add", "s32"), ("add", "u64"), ("and", "b32"), ("or", "b32"), ("xor", "b32"), ("and", "b64"), ("or", "b64"), ("xor", "b64"),
        ("min", "u32"), ("max", "u32"), ("min", "s32"), ("max", "s32"), ("min", "u64"), ("max", "u64"), ("min", "s64"), ("max", "s64")]
FLOATS = [("add", "f32"), ("add", "f64")]
SHAPES = ("named", "everybody's", "row", "own", "some", "warp's", "beside")
GUARDS = (None, None, None, "%r1 < 21", "odd", "bit", "leader", "nobody")
# as bits: a NaN, infinities, subnormals of either sign, numbers whose sums are exact
F32S = [0x7fc00001, 0x7f800000, 0xff800000, 1, 0x80000001, 0x00000400] + [0] * 3
NAN32 = 0x7fffffff


def size(t):
    return 8 if t.endswith("64") else 4


def signed(v, n):
    return v - (1 << 8 * n) if v >> (8 * n - 1) else v


def bits32(q, negative):
    """The bits of a number of F32 that is exact; what is 0 has the sign."""
    if not q:
        return negative << 31
    s, q = (1, -q) if q < 0 else (0, q)
    e = 0
    while q >= 2:
        q, e = q / 2, e + 1
    while q < 1 and e > -126:
        q, e = q * 2, e - 1
    m = q * (1 << 23)
    assert m.denominator == 1
    m = int(m)
    return s << 31 | (m if q < 1 else (e + 127) << 23 | (m & 0x7fffff))


def add32(a, b, ftz):
    """Exact, or the assertion in bits32() says that the numbers were ill chosen; but what is lost beside a number of 1 or more is lost."""
    x, y = decode(F32, a, ftz), decode(F32, b, ftz)
    if x is None or y is None or (x[0] == "inf" and y[0] == "inf" and x[1] != y[1]):
        return NAN32
    if x[0] == "inf" or y[0] == "inf":
        return 0x7f800000 | (x if x[0] == "inf" else y)[1] << 31
    p, q = (-v[1] if v[0] else v[1] for v in (x, y))
    if abs(p) >= 1 or abs(q) >= 1:
        p, q = (v if abs(v) > Fraction(1, 1 << 120) else Fraction(0) for v in (p, q))
    return bits32(p + q, x[0] & y[0])


def add64(a, b):
    x, y = decode(F64, a), decode(F64, b)
    q = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    return int.from_bytes(struct.pack("<d", float(q)), "little")


class Sums:
    def __init__(self, seed):
        self.r = r = random.Random(seed ^ 0x5005)
        self.blocks = r.choice((1, 1, 3, 8))
        self.data = [r.getrandbits(32) for _ in range(DATA)]
        self.n = r.randint(0, 63)
        self.tables = {"g": bytearray(r.randbytes(8 * PLACES)), "s": bytearray(r.randbytes(8 * PLACES)), "f": bytearray(4 * PLACES), "sf": bytearray(4 * PLACES),
                       "d": bytearray(8 * PLACES), "sd": bytearray(8 * PLACES)}
        for name in ("f", "sf"):
            for i in range(PLACES):
                self.tables[name][4 * i:4 * i + 4] = bits32(Fraction(r.choice((0, r.randint(-9, 9)))), 0).to_bytes(4, "little")
        self.first = {k: bytes(v) for k, v in self.tables.items()}
        self.statements, self.queues = [], []
        for _ in range(r.randint(3, 7)):
            op, t = r.choice(INTS if r.random() < .65 else FLOATS)
            # one operation in a grid of several blocks, whose statements may overtake each other
            if self.blocks > 1 and self.statements:
                op, t = self.statements[0][:2]
            shared = self.blocks == 1 and r.random() < .5
            same = r.random() < .35
            v = r.choice((1, 1, 0, 3, r.getrandbits(32)))
            self.statements.append((op, t, shared, r.choice(("", "generic")) if r.random() < .3 else "space", r.choice(SHAPES), r.choice(GUARDS), same, v, r.randint(1, 3), r.randint(0, DATA - THREADS - 1),
                                    r.random() < .25))

        for k in range(r.choice((0, 1, 2))):
            # t, in shared memory, guard, what a place takes (0: 1, from a parameter), rounds, where its guard's bits are
            self.queues.append((r.choice(("u32", "u64")), r.random() < .4, r.choice(GUARDS), r.choice((0, 1, 2)), r.randint(1, 3), r.randint(0, DATA - THREADS - 1)))
        self.slots = [0] * SLOTS

    def value(self, s, tid):
        op, t, same, v, at = s[0], s[1], s[6], s[7], s[9]
        x = v if same else self.data[at + tid]
        if t == "f32":
            # of a statement all are numbers, or some are what numbers are not
            k = x >> 8 & 31
            if s[10] and at & 2:
                return F32S[3 + k % 3]
            return F32S[k] if k < len(F32S) and s[10] else bits32(Fraction(signed(x & 63, 1) - 32), 0)
        if t == "f64":
            return int.from_bytes(struct.pack("<d", float((x & 1023) - 512)), "little")
        return x | (x ^ 0x5a5a5a5a) << 32 if size(t) == 8 else x

    def place(self, s, tid):
        shape, at, v = s[4], s[9], s[7]
        if shape == "named":
            return v % PLACES
        if shape == "everybody's":
            return self.data[at] % PLACES
        if shape == "row":
            return tid
        if shape == "own":
            return self.data[at + tid] % PLACES
        if shape == "some":
            return self.data[at + tid] % 3
        if shape == "warp's":
            return tid >> 5
        return (tid + self.n) % PLACES

    def runs(self, s, tid):
        g = s[5]
        return g is None or (g == "%r1 < 21" and tid < 21) or (g == "odd" and tid & 1) or (g == "bit" and self.data[s[9] + tid] >> 5 & 1) or (g == "leader" and not tid & 31)

    def table(self, s):
        return ("s" if s[2] else "") + {"f32": "f", "f64": "d"}.get(s[1], "" if s[2] else "g")

    def take(self):
        for q in self.queues:
            some = q[4] * sum(1 for tid in range(THREADS) if self.runs((0, 0, 0, 0, 0, q[2], 0, 0, 0, q[5]), tid))
            for k in [j for _ in range(self.blocks) for j in range(some)] if q[1] else range(some * self.blocks):
                self.slots[k % SLOTS] += 1

    def play(self):
        for _ in range(self.blocks):
            for s in self.statements:
                op, t, n, mem = s[0], s[1], size(s[1]), self.tables[self.table(s)]
                for tid in [i for _ in range(s[8]) for i in range(THREADS)]:
                    if not self.runs(s, tid):
                        continue
                    at = n * self.place(s, tid)
                    old, v = int.from_bytes(mem[at:at + n], "little"), self.value(s, tid)
                    if t == "f32":
                        new = add32(old, v, not s[2])
                    elif t == "f64":
                        new = add64(old, v)
                    elif op == "add":
                        new = old + v & (1 << 8 * n) - 1
                    elif op in ("min", "max"):
                        key = (lambda x, n=n: signed(x, n)) if t[0] == "s" else (lambda x: x)
                        new = (min if op == "min" else max)(old, v, key=key)
                    else:
                        new = {"and": old & v, "or": old | v, "xor": old ^ v}[op]
                    mem[at:at + n] = new.to_bytes(n, "little")

    def queue(self, at_q, q):
        k = len(self.statements) + at_q
        t, shared, guard, by, rounds, at = q
        n, c, o = size(t), "%%c%d" % k, []
        if shared:
            where = ".shared.add.%s %s, [t_q+%d]" % (t, "%%u%d" % k if n == 4 else "%%uw%d" % k, 8 * at_q)
        else:
            where = ".global.add.%s %s, [%%t_q+%d]" % (t, "%%u%d" % k if n == 4 else "%%uw%d" % k, 8 * at_q)
        val = str(by)
        if not by:
            o.append("ld.param.u32 %s, [one];" % c)
            val = c
            if n == 8:
                o.append("cvt.u64.u32 %%w%d, %s;" % (k, c))
                val = "%%w%d" % k
        o += self.guard(k, guard, at)
        body = ["%satom%s, %s;" % ("@%%p%d " % k if guard else "", where, val)]
        if n == 8:
            body.append("cvt.u32.u64 %%u%d, %%uw%d;" % (k, k))
        if by == 2:
            body.append("shr.u32 %%u%d, %%u%d, 1;" % (k, k))
        body += ["and.b32 %%u%d, %%u%d, %d;" % (k, k, SLOTS - 1), "mul.wide.u32 %%a%d, %%u%d, 4;" % (k, k), "add.s64 %%a%d, %%t_o, %%a%d;" % (k, k),
                 "%sred.global.add.u32 [%%a%d], 1;" % ("@%%p%d " % k if guard else "", k)]
        return o + self.again(k, body, rounds) + ["bar.sync 0;"]

    @staticmethod
    def guard(k, guard, at):
        return {None: [], "%r1 < 21": ["setp.lt.u32 %%p%d, %%r1, 21;" % k], "odd": ["and.b32 %%z%d, %%r1, 1;" % k, "setp.ne.u32 %%p%d, %%z%d, 0;" % (k, k)],
                "bit": ["ld.global.u32 %%z%d, [%%rd2+%d];" % (k, 4 * at), "and.b32 %%z%d, %%z%d, 32;" % (k, k), "setp.ne.u32 %%p%d, %%z%d, 0;" % (k, k)],
                "leader": ["and.b32 %%z%d, %%r1, 31;" % k, "setp.eq.u32 %%p%d, %%z%d, 0;" % (k, k)], "nobody": ["setp.gt.u32 %%p%d, %%r1, 9999;" % k]}[guard]

    @staticmethod
    def again(k, body, rounds):
        if rounds == 1:
            return body
        return ["mov.u32 %%n%d, 0;" % k, "ROUND%d:" % k, *body, "add.u32 %%n%d, %%n%d, 1;" % (k, k), "setp.lt.u32 %%q%d, %%n%d, %d;" % (k, k, rounds), "@%%q%d bra ROUND%d;" % (k, k)]

    def code(self, k, s):
        """%r1 is the thread, %rd1 the data; what a value is made of is in %x."""
        op, t, shared, how, shape, guard, same, v, rounds, at, odd = s
        n, o = size(t), []
        o.append("mov.u32 %%x%d, %d;" % (k, v) if same else "ld.global.u32 %%x%d, [%%rd2+%d];" % (k, 4 * at))
        if t == "f64":
            o += ["and.b32 %%y%d, %%x%d, 1023;" % (k, k), "sub.s32 %%y%d, %%y%d, 512;" % (k, k), "cvt.rn.f64.s32 %%d%d, %%y%d;" % (k, k)]
            val = "%%d%d" % k
        elif t == "f32":
            o += ["and.b32 %%y%d, %%x%d, 63;" % (k, k), "sub.s32 %%y%d, %%y%d, 32;" % (k, k), "cvt.rn.f32.s32 %%f%d, %%y%d;" % (k, k)]
            if odd and at & 2:
                o += ["bfe.u32 %%y%d, %%x%d, 8, 5;" % (k, k), "rem.u32 %%y%d, %%y%d, 3;" % (k, k), "mul.wide.u32 %%v%d, %%y%d, 4;" % (k, k), "add.s64 %%v%d, %%rd3, %%v%d;" % (k, k),
                      "ld.global.f32 %%f%d, [%%v%d+12];" % (k, k)]
            elif odd:
                o += ["bfe.u32 %%y%d, %%x%d, 8, 5;" % (k, k), "setp.lt.u32 %%q%d, %%y%d, %d;" % (k, k, len(F32S)), "mul.wide.u32 %%v%d, %%y%d, 4;" % (k, k),
                      "add.s64 %%v%d, %%rd3, %%v%d;" % (k, k), "@%%q%d ld.global.f32 %%f%d, [%%v%d];" % (k, k, k)]
            val = "%%f%d" % k
        elif n == 8:
            o += ["xor.b32 %%y%d, %%x%d, 0x5a5a5a5a;" % (k, k), "mov.b64 %%w%d, {%%x%d, %%y%d};" % (k, k, k)]
            val = "%%w%d" % k
        else:
            val = "%%x%d" % k
        i = "%%i%d" % k
        o += {"named": [], "everybody's": ["ld.global.u32 %s, [%%rd1+%d];" % (i, 4 * at), "and.b32 %s, %s, %d;" % (i, i, PLACES - 1)], "row": ["mov.u32 %s, %%r1;" % i],
              "own": ["ld.global.u32 %s, [%%rd2+%d];" % (i, 4 * at), "and.b32 %s, %s, %d;" % (i, i, PLACES - 1)],
              "some": ["ld.global.u32 %s, [%%rd2+%d];" % (i, 4 * at), "rem.u32 %s, %s, 3;" % (i, i)], "warp's": ["shr.u32 %s, %%r1, 5;" % i],
              "beside": ["add.u32 %s, %%r1, %%r2;" % i, "and.b32 %s, %s, %d;" % (i, i, PLACES - 1)]}[shape]
        space, off = ".shared" if shared else ".global", 0
        base = "t_" + self.table(s) if shared else "%%t_%s" % self.table(s)
        a = "%%a%d" % k
        if shape == "named":
            off = n * (v % PLACES)
            o.append("mov.u64 %s, %s;" % (a, base))
        else:
            o.append("mul.wide.u32 %s, %s, %d;" % (a, i, n))
            if shared:
                o += ["mov.u64 %%b%d, %s;" % (k, base)]
                base = "%%b%d" % k
            o.append("add.s64 %s, %s, %s;" % (a, base, a))
        if how == "generic" or not how:
            o.append("cvta%s.u64 %s, %s;" % (space, a, a))
            space = ""
        o += self.guard(k, guard, at)
        red = "red%s.%s.%s [%s+%d], %s;" % (space, op, t, a, off, val)
        if odd and t[0] != "f":         # an atomic whose result nobody reads
            red = "atom%s.%s.%s %%u%s%d, [%s+%d], %s;" % (space, op, t, "w" if n == 8 else "", k, a, off, val)
        jump = guard and at & 1
        body = (["@!%%p%d bra PAST%d;" % (k, k), red, "PAST%d:" % k] if jump else ["@%%p%d %s" % (k, red)] if guard else [red])
        return o + self.again(k, body, rounds) + ["bar.sync 0;"]

    def case(self, seed):
        self.play()
        self.take()
        m = len(self.statements) + len(self.queues)
        def words(b, n=4):
            return ",".join(hex(int.from_bytes(b[i:i + n], "little")) for i in range(0, len(b), n))

        # one worker is alone with global memory, and needs no locks
        o = ["// sums %d, by a model of the statements (tests/ptx/oracle/sums.py)." % seed, "// workers: %d" % (1 + seed % 2),
             "// launch: k grid=%d block=%d args=g:u32[%d]={%s},f:u32[%d]={%s},d:u64[%d]={%s},data:u32[%d]={%s},v:u32[%d]={%s},init:u32[%d]={%s},out:u32[%d],u32:%d,q:u64[2],slots:u32[%d],u32:1" % (
                 self.blocks, THREADS, 2 * PLACES, words(self.first["g"]), PLACES, words(self.first["f"]), PLACES, words(self.first["d"], 8), DATA, ",".join(map(str, self.data)),
                 len(F32S), ",".join(map(hex, F32S)), 5 * PLACES, words(self.first["s"] + self.first["sf"] + self.first["sd"]), 5 * PLACES, self.n, SLOTS)]
        shown = {"g": words(self.tables["g"]), "f": words(self.tables["f"]), "d": words(self.tables["d"], 8)}
        if self.blocks == 1:
            shown["out"] = words(self.tables["s"] + self.tables["sf"] + self.tables["sd"])
        shown["slots"] = ",".join(map(str, self.slots))
        o += ["// expect: %s = %s" % (k, v) for k, v in shown.items()]
        o += [".version 7.0", ".target sm_61", ".address_size 64", "",
              ".visible .entry k(.param .u64 g, .param .u64 f, .param .u64 d, .param .u64 data, .param .u64 v, .param .u64 init, .param .u64 out, .param .u32 n, .param .u64 q, .param .u64 slots, .param .u32 one)", "{",
              "\t.reg .pred %%p<%d>, %%q<%d>, %%l;" % (m, m), "\t.reg .b32 %%x<%d>, %%y<%d>, %%z<%d>, %%i<%d>, %%n<%d>, %%u<%d>, %%c<%d>, %%r<8>;" % (m, m, m, m, m, m, m),
              "\t.reg .b64 %%w<%d>, %%a<%d>, %%b<%d>, %%v<%d>, %%uw<%d>, %%rd<12>, %%t_q, %%t_o, %%t_g, %%t_f, %%t_d;" % (m, m, m, m, m), "\t.reg .f32 %%f<%d>;" % m, "\t.reg .f64 %%d<%d>;" % m,
              "\t.shared .align 8 .b8 t_s[%d];" % (8 * PLACES), "\t.shared .align 8 .b8 t_sf[%d];" % (4 * PLACES), "\t.shared .align 8 .b8 t_sd[%d];" % (8 * PLACES), "\t.shared .align 8 .u64 t_q[2];"]
        o += ["\t" + x for x in (
            "ld.param.u64 %t_g, [g];", "ld.param.u64 %t_f, [f];", "ld.param.u64 %t_d, [d];", "ld.param.u64 %t_q, [q];", "ld.param.u64 %t_o, [slots];", "ld.param.u64 %rd1, [data];", "ld.param.u64 %rd3, [v];",
            "ld.param.u64 %rd5, [init];", "ld.param.u64 %rd6, [out];", "ld.param.u32 %r2, [n];", "mov.u32 %r1, %tid.x;", "mul.wide.u32 %rd2, %r1, 4;",
            "add.s64 %rd8, %rd5, %rd2;", "add.s64 %rd9, %rd6, %rd2;", "add.s64 %rd2, %rd1, %rd2;", "shl.b32 %r3, %r1, 2;",
            "mov.u32 %r4, t_s;", "mov.u32 %r5, t_sf;", "mov.u32 %r6, t_sd;", "add.u32 %r4, %r4, %r3;", "add.u32 %r5, %r5, %r3;", "add.u32 %r6, %r6, %r3;")]
        rows = (("%r4", 0, 0), ("%r4", 256, 256), ("%r5", 0, 512), ("%r6", 0, 768), ("%r6", 256, 1024))
        o += ["\tld.global.u32 %%r7, [%%rd8+%d];\n\tst.shared.u32 [%s+%d], %%r7;" % (at, a, d) for a, d, at in rows]
        o += ["\tsetp.eq.u32 %l, %r1, 0;", "\tmov.u64 %rd11, 0;", "\t@%l st.shared.u64 [t_q], %rd11;", "\t@%l st.shared.u64 [t_q+8], %rd11;", "\tbar.sync 0;"]
        for k, s in enumerate(self.statements):
            o += ["\t" + x for x in self.code(k, s)]
        for j, q in enumerate(self.queues):
            o += ["\t" + x for x in self.queue(j, q)]
        o += ["\tld.shared.u32 %%r7, [%s+%d];\n\tst.global.u32 [%%rd9+%d], %%r7;" % (a, d, at) for a, d, at in rows]
        return "\n".join(o + ["\tret;", "}", ""])


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "sums_%04d.ptx" % seed), "w") as f:
            f.write(Sums(seed).case(seed))
    return count
