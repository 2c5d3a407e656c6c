# SPDX-License-Identifier: MIT
"""Random programs of loops in loops, and what each of their threads leaves.

Much of what a round makes is the same in each: indices of threads' numbers and parameters, widened and scaled for addresses. Loops are entered by one way or by several, left at
their beginning, their end or in between, after as many rounds for all threads or for each its own, often after none. Registers are written once, behind a branch,
under a guard, or several times, and read in the round after. Where a loop has been unrolled, what is left over has one of its own before it, with as many rounds for each thread
as it wants, and the numbers that both step through memory by go on from where that left them. The model does each statement for one thread after the other, as the PTX ISA says it.
"""
import os
import random

from integer import sx

THREADS = 64
WORDS = 64
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
SHAPES = ((64, 1), (16, 4), (8, 8), (32, 2), (64, 1))
GUARDED = .12


class Break(Exception):
    pass


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.shape = r.choice(SHAPES)
        self.n, self.m = r.choice((0, 1, 3, 5, 17)), r.choice((1, 2, 7, 64, 0x10001))
        self.data = [r.getrandbits(32) for _ in range(WORDS)]
        self.last = {"r": 0, "d": 0, "p": 0}
        self.here = {"r": ["%r1", "%r2", "%r3", "%r4"], "d": [], "p": []}
        self.last["r"] = 4
        self.loops, self.labels, self.steps = 0, 0, 0
        self.prog = [self.wide(), self.compare(), *self.body(0, r.randint(4, 12)), *self.loop(0), *self.body(0, r.randint(1, 5))]

    # ---- what it is
    def any(self, k):
        return self.r.choice(self.here[k][-6:] if self.r.random() < .6 else self.here[k])

    def dest(self, k):
        """A new register; now and then one that has a value, which has two definitions from then on."""
        old = [x for x in self.here[k] if x not in ("%r1", "%r2", "%r3", "%r4") and x[1] not in "nis"]
        if len(old) > 2 and self.r.random() < .12:
            return self.r.choice(old)
        self.last[k] += 1
        name = "%%%s%d" % ({"d": "v"}.get(k, k), self.last[k])
        self.here[k].append(name)
        return name

    def op(self, k, text, f, *srcs):
        d, mask = self.dest(k), M64 if k == "d" else M32

        def run(t):
            t[d] = f(*[t[s] if isinstance(s, str) else s for s in srcs]) & mask

        # most of the time of all oracles is here
        def one(t):
            t[d] = f(t[a]) & mask

        def both(t):
            t[d] = f(t[a], t[b]) & mask

        def number(t):
            t[d] = f(t[a], b) & mask
        a, b = (*srcs, None)[:2]
        shape = [isinstance(s, str) for s in srcs]
        run = {(True,): one, (True, True): both, (True, False): number}.get(tuple(shape), run)
        return ("do", text.format(*srcs, d=d) + ";", run)

    def wide(self):
        r, a = self.r, self.any("r")
        k = r.randrange(7 if self.here["d"] else 4)
        if k == 0:
            return self.op("d", "mul.wide.s32 {d}, {0}, {1}", lambda a, b: sx(a, 32) * sx(b, 32), a, r.choice((4, 8, 36, M32, self.any("r"))))
        if k == 1:
            return self.op("d", "mul.wide.u32 {d}, {0}, {1}", lambda a, b: a * b, a, r.choice((4, 8, 34, self.any("r"))))
        if k == 2:
            return self.op("d", "cvt.s64.s32 {d}, {0}", lambda a: sx(a, 32), a)
        if k == 3:
            return self.op("d", "cvt.u64.u32 {d}, {0}", lambda a: a, a)
        b = self.any("d")
        if k == 4:
            return self.op("d", "shl.b64 {d}, {0}, {1}", lambda a, b: a << b, b, r.choice((1, 2, 3, 33)))
        if k == 5:
            return self.op("d", "mad.lo.s64 {d}, {0}, {1}, {2}", lambda a, b, c: a * b + c, b, r.choice((3, 36, self.any("d"))), self.any("d"))
        return self.op("d", "add.s64 {d}, {0}, {1}", lambda a, b: a + b, b, self.any("d"))

    def compare(self):
        a, b = self.any("r"), self.r.choice((0, 5, 31, self.any("r")))
        o, f = self.r.choice((("eq.u32", lambda a, b: a == b), ("lt.u32", lambda a, b: a < b), ("gt.s32", lambda a, b: sx(a, 32) > sx(b, 32)), ("ge.s32", lambda a, b: sx(a, 32) >= sx(b, 32))))
        return self.op("p", "setp." + o + " {d}, {0}, {1}", lambda a, b: int(f(a, b)), a, b)

    def load(self):
        """From a place that an index names: &data[(index & 63)]"""
        narrow = self.r.random() < .5
        a = self.any("r" if narrow else "d")
        d = self.dest("r")
        if narrow:
            lines = "and.b32 %%x0, %s, 63;\n\tmul.wide.u32 %%a0, %%x0, 4;\n\tadd.s64 %%a1, %%rd2, %%a0;\n\tld.global.u32 %s, [%%a1]" % (a, d)
        else:
            lines = "and.b64 %%a0, %s, 63;\n\tshl.b64 %%a0, %%a0, 2;\n\tadd.s64 %%a1, %%a0, %%rd2;\n\tld.global.u32 %s, [%%a1]" % (a, d)
        for x in ("%x0", "%a0", "%a1"):         # registers of their own: each is written once
            self.steps += 1
            lines = lines.replace(x + ",", "%s_%d," % (x, self.steps)).replace(x + ";", "%s_%d;" % (x, self.steps)).replace(x + "]", "%s_%d]" % (x, self.steps))

        def run(t):
            t[d] = self.data[t[a] & 63]
        return ("do", lines + ";", run)

    def one(self):
        r, a, b = self.r, self.any("r"), self.any("r")
        k = r.choice(("add", "add", "sub", "mul", "mul", "mad", "mad", "and", "or", "xor", "shl", "shr", "sar", "wide", "wide", "wide", "load", "load", "compare", "selp", "mov", "down", "div",
                      "rem", "sreg", "not", "min", "float"))
        c = r.choice((1, 4, 7, 31, 0xfffffff0, M32, b, b))
        two = {"add": ("add.s32", lambda a, b: a + b), "sub": ("sub.s32", lambda a, b: a - b), "mul": ("mul.lo.s32", lambda a, b: a * b), "and": ("and.b32", lambda a, b: a & b),
               "or": ("or.b32", lambda a, b: a | b), "xor": ("xor.b32", lambda a, b: a ^ b), "min": ("min.u32", min)}
        if k in two:
            return self.op("r", two[k][0] + " {d}, {0}, {1}", two[k][1], a, c)
        if k == "mad":
            return self.op("r", "mad.lo.s32 {d}, {0}, {1}, {2}", lambda a, b, c: a * b + c, a, c, self.any("r"))
        if k in ("shl", "shr", "sar"):
            o = {"shl": ("shl.b32", lambda a, b: a << b), "shr": ("shr.u32", lambda a, b: a >> b), "sar": ("shr.s32", lambda a, b: sx(a, 32) >> b)}[k]
            return self.op("r", o[0] + " {d}, {0}, {1}", o[1], a, r.choice((1, 2, 5, 31)))
        if k in ("div", "rem"):
            return self.op("r", k + ".u32 {d}, {0}, {1}", (lambda a, b: a // b) if k == "div" else (lambda a, b: a % b), a, r.choice((3, 16, 7)))
        if k == "wide":
            return self.wide()
        if k == "load":
            return self.load()
        if k == "compare":
            return self.compare()
        if k == "selp":
            return self.op("r", "selp.b32 {d}, {0}, {1}, {2}", lambda a, b, p: a if p else b, a, c, self.any("p"))
        if k == "down":
            return self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, self.any("d"))
        if k == "not":
            return self.op("r", "not.b32 {d}, {0}", lambda a: ~a, a)
        if k == "sreg":
            return self.op("r", *r.choice((("mov.u32 {d}, %tid.x", lambda x: x), ("mov.u32 {d}, %tid.y", lambda x: x), ("mov.u32 {d}, %ntid.x", lambda x: x))), "")
        if k == "float":                # the same in each round, and no whole number
            d = self.dest("r")
            text = "and.b32 %%f0_%d, %s, 1023;\n\tcvt.rn.f32.u32 %%g0_%d, %%f0_%d;\n\tadd.rn.f32 %%g1_%d, %%g0_%d, 0f3F800000;\n\tcvt.rzi.u32.f32 %s, %%g1_%d;" % (
                self.steps, a, self.steps, self.steps, self.steps, self.steps, d, self.steps)
            self.steps += 1

            def run(t):
                t[d] = (t[a] & 1023) + 1
            return ("do", text, run)
        return self.op("r", "mov.u32 {d}, {0}", lambda a: a, r.choice((0, 4, a)))

    def sregs(self, s):
        """What a statement reads of a thread's number"""
        text, run = s[1], s[2]
        name = next((n for n in ("%tid.x", "%tid.y", "%ntid.x") if n in text), None)
        if not name:
            return s
        d = text.split()[1].rstrip(",")

        def get(t):
            t[d] = t[name]
        return ("do", text, get)

    def inside(self, depth, n):
        """What is new in there is nobody's behind it: on some way it is not defined."""
        were = {k: len(v) for k, v in self.here.items()}
        out = self.body(depth, n)
        for k in self.here:
            del self.here[k][were[k]:]
        return out

    def loop(self, depth):
        r = self.r
        self.loops += 1
        kind = r.choice(("down", "down", "while", "while", "two ways", "middle", "early"))
        rounds = r.choice(("2", "3", "n", "n", "m & 3", "lane"))
        n = r.randint(2, 9 if depth else 14)
        self.here["r"].append("%%n%d" % self.loops)
        at = self.loops
        were = {k: len(v) - (k == "r") for k, v in self.here.items()}
        if kind in ("down", "early"):
            # its body is done once at least: what it makes is there behind it
            b = self.body(depth + 1, n)
            if kind == "early":
                p = self.any("p")
                b.insert(r.randrange(len(b) + 1) if p in self.here["p"][:were["p"]] else len(b), ("break", p, at))
                for k in self.here:     # what comes behind the way out need not have been done
                    del self.here[k][were[k]:]
        elif kind == "middle":
            b = [("if", None, 0, self.inside(depth + 1, n // 2 + 1)), *self.inside(depth + 1, n // 2 + 1)]
        else:
            b = self.inside(depth + 1, n)
        if "%%n%d" % at in self.here["r"]:
            self.here["r"].remove("%%n%d" % at)
        return [("loop", at, kind, rounds, b)]

    def unrolled(self, depth):
        """Two loops that one number of a thread goes through, and its place in memory with it: first what is left over, then the rest."""
        r = self.r
        self.loops += 1
        at, start = self.loops, r.choice((0, 0, 2))
        step, few, many = r.choice((32, 32, 4)), r.choice(("lane", "eighth", "half", "m & 3")), r.choice((24, 70, 200))
        i, s = "%%i%d" % at, "%%s%d" % at
        self.here["r"].append(i)
        self.here["d"].append(s)
        bodies = [[("mix", i), *self.inside(depth + 1, r.randint(1, 4))] for _ in range(2)]
        self.here["r"].remove(i)
        self.here["d"].remove(s)
        return [("unrolled", at, start, step, few, many, bodies), *([("mix", i)] if r.random() < .2 else [])]

    def body(self, depth, n):
        r, out = self.r, []
        for _ in range(n):
            k = r.random()
            if k < .07 and depth < 3:
                out.append(("if", self.any("p"), r.randrange(2), self.inside(depth + 1, r.randint(1, 5))))
            elif k < .12 and depth < 3 and self.loops < 6:
                out += self.loop(depth)
            elif k < .15 and depth < 3 and self.loops < 6:
                out += self.unrolled(depth)
            elif k < .15 + GUARDED and self.here["p"]:
                # a register that has a value already: what the others keep
                d, a = self.r.choice(self.here["r"][4:] or ["%r4"]), self.any("r")
                if d not in ("%r1", "%r2", "%r3", "%r4") and d[1] not in "nis":
                    def run(t, d=d, a=a):
                        t[d] = t[a] * 3 + 1 & M32
                    out.append(("guard", self.any("p"), ("do", "mad.lo.u32 %s, %s, 3, 1;" % (d, a), run)))
            else:
                out.append(self.sregs(self.one()))
                if r.random() < .3:
                    out.append(("mix", self.any("r")))
        return out

    # ---- its text
    def label(self):
        self.labels += 1
        return "$L%d" % self.labels

    def count(self, at, rounds, o):
        """How many rounds are left, in %c"""
        o.append({"n": "\tmov.u32 %%c%d, %%r3;", "m & 3": "\tand.b32 %%c%d, %%r4, 3;", "lane": "\tand.b32 %%c%d, %%r1, 3;"}.get(rounds, "\tmov.u32 %%c%d, " + rounds + ";") % at)

    def text(self, prog, o, out=None):
        for s in prog:
            if s[0] == "do":
                o.append("\t" + s[1])
            elif s[0] == "guard":
                o.append("\t@%s %s" % (s[1], s[2][1]))
            elif s[0] == "mix":
                o.append("\tmad.lo.u32 %%acc, %%acc, 31, %s;" % s[1])
            elif s[0] == "break":
                o.append("\t@%s bra %s;" % (s[1], out[s[2]]))
            elif s[0] == "if":
                at = self.label()
                o.append("\t@%s%s bra %s;" % ("!" if s[2] else "", s[1], at))
                self.text(s[3], o, out)
                o.append(at + ":")
            elif s[0] == "unrolled":
                _, n, start, step, few, many, (first, second) = s
                i, v, c = "%%i%d" % n, "%%s%d" % n, "%%c%d" % n
                left, rest, main, end = (self.label() for _ in range(4))
                o += ["\tshr.u32 %s, %%r1, %d;" % (i, start), "\tmul.wide.u32 %s, %s, 4;" % (v, i)]
                if few == "half":
                    o += ["\tshr.u32 %s, %%r1, 4;" % c, "\tand.b32 %s, %s, 1;" % (c, c)]
                elif few == "eighth":
                    o += ["\tshr.u32 %s, %%r1, 3;" % c, "\tand.b32 %s, %s, 3;" % (c, c)]
                else:
                    self.count(n, few, o)
                o += ["\tsetp.eq.u32 %%pl, %s, 0;" % c, "\t@%pl bra " + rest + ";", left + ":"]
                self.text(first, o, out)
                forward = ["\tadd.u32 %s, %s, %d;" % (i, i, step), "\tadd.s64 %s, %s, %d;" % (v, v, 4 * step)]
                o += [*forward, "\tsub.u32 %s, %s, 1;" % (c, c), "\tsetp.ne.u32 %%pl, %s, 0;" % c, "\t@%pl bra " + left + ";", rest + ":",
                      "\tsetp.gt.u32 %%pl, %s, %d;" % (i, many), "\t@%pl bra " + end + ";", main + ":"]
                self.text(second, o, out)
                o += [*forward, "\tsetp.lt.u32 %%pl, %s, %d;" % (i, many), "\t@%pl bra " + main + ";", end + ":"]
            else:
                _, n, kind, rounds, b = s
                top, end = self.label(), self.label()
                ends = {**(out or {}), n: end}
                self.count(n, rounds, o)
                o.append("\tmov.u32 %%n%d, 0;" % n)
                if kind == "two ways":
                    two = self.label()
                    o += ["\tsetp.lt.u32 %pb, %r1, 7;", "\t@%pb bra " + two + ";", "\txor.b32 %acc, %acc, 5;", "\tbra " + top + ";", two + ":", "\txor.b32 %acc, %acc, 9;", top + ":"]
                else:
                    o.append(top + ":")
                if kind in ("while", "two ways"):
                    o += ["\tsetp.ge.u32 %%pl, %%n%d, %%c%d;" % (n, n), "\t@%pl bra " + end + ";"]
                if kind == "middle":
                    # some come to the loop behind its first part
                    middle = self.label()
                    o[-1:] = ["\tsetp.lt.u32 %pb, %r1, 11;", "\t@%pb bra " + middle + ";", top + ":"]
                    self.text(b[0][3], o, ends)
                    o.append(middle + ":")
                    self.text(b[1:], o, ends)
                else:
                    self.text(b, o, ends)
                o.append("\tadd.u32 %%n%d, %%n%d, 1;" % (n, n))
                if kind in ("while", "two ways"):
                    o.append("\tbra " + top + ";")
                else:
                    o += ["\tsetp.lt.u32 %%pl, %%n%d, %%c%d;" % (n, n), "\t@%pl bra " + top + ";"]
                o.append(end + ":")

    # ---- what it does
    def run(self, prog, t):
        for s in prog:
            if s[0] == "do":
                s[2](t)
            elif s[0] == "guard":
                if t[s[1]]:
                    s[2][2](t)
            elif s[0] == "mix":
                t["%acc"] = t["%acc"] * 31 + t[s[1]] & M32
            elif s[0] == "break":
                if t[s[1]]:
                    raise Break(s[2])
            elif s[0] == "if":
                if bool(t[s[1]]) == bool(s[2]):
                    self.run(s[3], t)
            elif s[0] == "unrolled":
                _, n, start, step, few, many, (first, second) = s
                i, v = "%%i%d" % n, "%%s%d" % n
                t[i] = t["%r1"] >> start
                t[v] = 4 * t[i]

                def rounds_of(b):
                    self.run(b, t)
                    t[i] += step
                    t[v] += 4 * step
                for _ in range({"lane": t["%r1"] & 3, "half": t["%r1"] >> 4 & 1, "eighth": t["%r1"] >> 3 & 3, "m & 3": self.m & 3}[few]):
                    rounds_of(first)
                if t[i] <= many:
                    rounds_of(second)
                    while t[i] < many:
                        rounds_of(second)
            else:
                _, n, kind, rounds, b = s
                c = {"n": self.n, "m & 3": self.m & 3, "lane": t["%r1"] & 3}.get(rounds, int(rounds) if rounds.isdigit() else 0)
                i = t["%%n%d" % n] = 0
                if kind == "two ways":
                    t["%acc"] ^= 9 if t["%r1"] < 7 else 5
                while kind in ("down", "early", "middle") and i == 0 or i < c:
                    try:
                        if kind == "middle":
                            self.run(b[0][3] if i or t["%r1"] >= 11 else [], t)
                        self.run(b[kind == "middle":], t)
                    except Break as out:
                        if out.args[0] != n:
                            raise
                        break
                    i = t["%%n%d" % n] = i + 1

    def case(self, seed):
        self.prog += [("mix", x) for x in self.here["r"][-12:]]
        for d in self.here["d"][-6:]:
            self.prog += [self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, d), ("mix", self.here["r"][-1])]
            self.prog += [self.op("d", "shr.u64 {d}, {0}, {1}", lambda a, b: a >> b, d, 32), self.op("r", "cvt.u32.u64 {d}, {0}", lambda a: a, self.here["d"][-1]), ("mix", self.here["r"][-1])]
        want = []
        for tid in range(THREADS):
            x, y = tid % self.shape[0], tid // self.shape[0]
            t = {"%r1": x, "%r2": y, "%r3": self.n, "%r4": self.m, "%tid.x": x, "%tid.y": y, "%ntid.x": self.shape[0], "%acc": 0}
            self.run(self.prog, t)
            want.append(t["%acc"])
        code = []
        self.text(self.prog, code)
        block = str(THREADS) if self.shape[1] == 1 else "%d,%d" % self.shape
        o = ["// loops %d, by a model of the statements (tests/ptx/oracle/loops.py)." % seed,
             "// launch: k block=%s args=out:u32[%d],data:u32[%d]={%s},u32:%d,u32:%d" % (block, THREADS, WORDS, ",".join(map(str, self.data)), self.n, self.m),
             "// expect: out = " + " ".join(map(str, want)),
             ".version 7.0", ".target sm_61", ".address_size 64", "", ".visible .entry k(.param .u64 out, .param .u64 data, .param .u32 n, .param .u32 m)", "{",
             "\t.reg .pred %%p<%d>, %%pl, %%pb;" % (self.last["p"] + 1), "\t.reg .b32 %%r<%d>, %%n<8>, %%i<8>, %%c<8>, %%acc, %%x0_<%d>, %%f0_<%d>, %%at;" % (self.last["r"] + 1, self.steps + 1, self.steps + 1),
             "\t.reg .f32 %%g0_<%d>, %%g1_<%d>;" % (self.steps + 1, self.steps + 1),
             "\t.reg .b64 %%s<8>, %%v<%d>, %%a0_<%d>, %%a1_<%d>, %%rd<4>;" % (self.last["d"] + 1, self.steps + 1, self.steps + 1)]
        o += ["\t" + x for x in ("ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [data];", "ld.param.u32 %r3, [n];", "ld.param.u32 %r4, [m];", "mov.u32 %r1, %tid.x;", "mov.u32 %r2, %tid.y;",
                                 "mov.u32 %acc, %ntid.x;", "mad.lo.u32 %at, %r2, %acc, %r1;", "mad.wide.u32 %rd1, %at, 4, %rd1;", "mov.u32 %acc, 0;")]
        return "\n".join(o + code + ["\tst.global.u32 [%rd1], %acc;", "\tret;", "}", ""])


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "loops_%04d.ptx" % seed), "w") as f:
            f.write(Program(seed).case(seed))
    return count
