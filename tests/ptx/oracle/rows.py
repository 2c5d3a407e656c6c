# SPDX-License-Identifier: MIT
"""Random kernels whose blocks differ by %ctaid.x alone, and what each of their threads leaves.

Neighbouring blocks of a row go the same way where no loop asks for %ctaid.x, and an engine may have one block do the work of several. So: numbers that are the same in all blocks
and numbers that are not, each made of both; loads from places that all share and from places of a block's own; branches on a block's own numbers, one in another; shared memory
that a block's threads hand numbers through, with barriers; shuffles, votes, sums by atomics, in loops as well. The rounds of loops are the same for all blocks. The model does each
statement for one thread after the other, as the PTX ISA says it.
"""
import os
import random
import re

from loops import M32, Program, sx, THREADS, WORDS

BLOCKS = (4, 6, 8)
START = 0x1234567     # of %acc, which is a block's own: a register that holds the same is one with it to who looks for what is made twice
LONG = 360            # lines: strips' code of four blocks in one may be more than they take
SHIFTS = (1, 2, 5, 16, 31)


class Rows(Program):
    """Statements are those of loops.py; what is between threads stands on the outermost level, where all of a block's are."""

    def __init__(self, seed):
        self.blocks = random.Random(seed ^ 0x5eed).choice(BLOCKS)
        self.same_p, self.same = [], True
        self.keeps, self.mixes = seed % 3 == 0, seed % 7 == 0
        self.before = set()
        super().__init__(seed)
        r = self.r
        # %r5 is the block's number; from here on what is made may be a block's own
        self.same, self.same_p = False, list(self.here["p"])
        self.before = {x for v in self.here.values() for x in v}
        self.last["r"] = max(self.last["r"], 5)
        first, self.prog, self.here["r"] = self.prog, [], [*self.here["r"], "%r5", "%r5"]
        self.parts = [("all", first)]
        for _ in range(r.randint(2, 4)):
            part = [("all", self.body(1, r.randint(3, 9))), self.between()]
            self.parts += [("rounds", r.choice((2, 3)), part)] if r.random() < .35 else part
        self.parts.append(("all", self.body(1, r.randint(2, 6)) + [("mix", x) for x in self.here["r"][-10:]]))

    def dest(self, k):
        """%r5 is the block's number, and nothing else is written there."""
        if k == "r" and self.last["r"] == 4:
            self.last["r"] = 5
        while True:
            d = super().dest(k)
            if d != "%r5" and (d not in self.before or self.mixes):
                return d

    def loop(self, depth):
        """A way out of the middle asks for what is the same in all blocks, and so do rounds."""
        return [("mix", "%r1")] if not self.same else super().loop(depth)

    def unrolled(self, depth):
        return [("mix", "%r2")] if not self.same else super().unrolled(depth)

    def kept(self):
        """A word of an array of the thread's own, written or read at a place that a number names, directly or by a generic address."""
        r, a, i = self.r, self.any("r"), self.any("r")
        generic = r.random() < .4
        head = "and.b32 %%y1, %s, 7;\n\tmul.wide.u32 %%y2, %%y1, 4;\n\tadd.u64 %%y2, %%y2, %s;\n\t" % (i, "%y0" if generic else "%y3")
        space = "" if generic else ".local"
        if r.random() < .5:
            def run(t):
                t["%kept"][t[i] & 7] = t[a]
            return ("do", head + "st%s.u32 [%%y2], %s;" % (space, a), run)
        d = self.dest("r")

        def run(t):
            t[d] = t["%kept"][t[i] & 7]
        return ("do", head + "ld%s.u32 %s, [%%y2];" % (space, d), run)

    def one(self):
        return super().one() if self.same or self.r.random() < .9 or not self.keeps else self.kept()

    def body(self, depth, n):
        out = [s for s in super().body(depth, n) if s[0] != "guard" or self.mixes or s[2][1].split()[1].rstrip(",") not in self.before]
        if not self.same and depth == 1 and self.r.random() < .5:
            out += self.chosen()
        if not self.same and depth == 1 and self.r.random() < .5:
            out.append(self.counted(depth, self.r.randint(2, 6)))
        if not self.same and depth == 1 and self.r.random() < .4:
            out += self.guarded()
        return out

    def guarded(self):
        """Loops for those threads that have something to do, as `if (x < w) for ...` says it: for all of a row's but the last ones', for none, for a few."""
        r = self.r
        most = r.choice((0, 7, THREADS, THREADS * self.blocks, r.randrange(THREADS * self.blocks)))
        self.last["r"] += 1
        self.last["p"] += 1
        d, p = "%%r%d" % self.last["r"], "%%p%d" % self.last["p"]
        changed = [x for x in self.here["r"] if x not in self.before and x[1] == "r" and x != "%r5"][-3:]

        def place(t):
            t[d] = (t["%r5"] * THREADS + t["%tid.y"] * self.shape[0] + t["%tid.x"]) & M32

        def asked(t):
            t[p] = int(t[d] < most)
        self.here["r"].append(d)
        were = {k: len(v) for k, v in self.here.items()}
        b = [self.sregs(self.one()) for _ in range(r.randrange(3))]
        b.append(self.counted(1, r.randint(1, 4)))
        if r.random() < .4:
            b.append(self.counted(1, r.randint(1, 3)))
        for x in changed if r.random() < .6 else ():
            def more(t, x=x):
                t[x] = t[x] + t[d] & M32
            b.append(("do", "add.u32 %s, %s, %s;" % (x, x, d), more))
        b.append(("mix", self.any("r")))
        for k in self.here:
            del self.here[k][were[k]:]
        self.here["p"].append(p)
        return [("do", "mad.lo.u32 %s, %%r5, %d, %%at;" % (d, THREADS), place), ("do", "setp.lt.u32 %s, %s, %d;" % (p, d, most), asked), ("if", p, 0, b), *[("mix", x) for x in changed]]

    def chosen(self):
        """One of two numbers that are the same for all blocks, as a block's own branch has it."""
        a, b = (self.r.choice(sorted(x for x in self.before if x[1] == "r")) for _ in "ab")
        k = self.r.randrange(self.blocks)
        self.last["r"] += 1
        self.last["p"] += 1
        d, p = "%%r%d" % self.last["r"], "%%p%d" % self.last["p"]
        self.here["r"].append(d)
        self.here["p"].append(p)

        def asked(t):
            t[p] = int(t["%r5"] > k)

        def first(t):
            t[d] = t[a]

        def then(t):
            t[d] = t[b] ^ 5
        return [("do", "setp.gt.u32 %s, %%r5, %d;" % (p, k), asked), ("do", "mov.u32 %s, %s;" % (d, a), first), ("if", p, self.r.randrange(2), [("do", "xor.b32 %s, %s, 5;" % (d, b), then)]), ("mix", d)]

    def counted(self, depth, n):
        """A loop of as many rounds for all blocks, in which what is a block's own is summed."""
        self.loops += 1
        at = self.loops
        self.here["r"].append("%%n%d" % at)
        b = [self.sregs(self.one()) for _ in range(n)]
        k = self.r.random()
        if k < .4:
            b.append(("if", self.any("p"), self.r.randrange(2), self.some()))
        b.append(("mix", self.any("r")))
        self.here["r"].remove("%%n%d" % at)
        return ("loop", at, "down", self.r.choice(("2", "3", "m & 3", "lane")), b)

    def some(self):
        """For some of the threads: nobody reads it behind that."""
        were = {k: len(v) for k, v in self.here.items()}
        out = [self.sregs(self.one()), ("mix", self.any("r"))]
        for k in self.here:
            del self.here[k][were[k]:]
        return out

    def between(self):
        r, k = self.r, self.r.choice(("shared", "shared", "shared", "shfl", "shfl", "vote", "count", "sum", "warps"))
        if k == "warps":
            return self.warps()
        d = None
        if k in ("shared", "shfl", "vote", "count"):
            self.last["r"] += 1
            d = "%%r%d" % self.last["r"]
            self.here["r"].append(d)
        s = self.any("r") if k != "vote" else self.any("p")
        return (k, d, s if s != d else "%acc", r.choice((1, 3, 16, 31, 40)), self.any("r") if k == "sum" else None)

    def warps(self):
        """For those warps that have something to do, as `if (row < n) for ...` says it where each has a row: a loop at times, and a sum by shuffles."""
        r, most = self.r, self.r.choice((0, 1, 2 * self.blocks, self.r.randrange(2 * self.blocks)))
        were = {k: len(v) for k, v in self.here.items()}
        b = [*([self.counted(1, r.randint(1, 4))] if r.random() < .7 else []), *[self.sregs(self.one()) for _ in range(r.randrange(2))]]
        s = self.any("r")
        for k in self.here:
            del self.here[k][were[k]:]
        self.last["p"] += 1
        return ("warps", "%%p%d" % self.last["p"], s, r.choice((1, 8, 16)), b, most)

    # ---- its text
    def part(self, p, o):
        k = p[0]
        if k == "all":
            self.text(p[1], o)
        elif k == "rounds":
            self.loops += 1
            top, n = self.label(), self.loops
            o += ["\tmov.u32 %%o%d, 0;" % n, top + ":"]
            for x in p[2]:
                self.part(x, o)
            o += ["\tadd.u32 %%o%d, %%o%d, 1;" % (n, n), "\tsetp.lt.u32 %%pl, %%o%d, %d;" % (n, p[1]), "\t@%pl bra " + top + ";"]
        elif k == "shared":
            o += ["\tst.shared.u32 [%mine], " + p[2] + ";", "\tbar.sync 0;", "\tadd.u32 %%x1, %%at, %d;" % p[3], "\tand.b32 %%x1, %%x1, %d;" % (THREADS - 1),
                  "\tshl.b32 %x1, %x1, 2;", "\tadd.u32 %x1, %x1, %base;", "\tld.shared.u32 " + p[1] + ", [%x1];", "\tbar.sync 0;"]
        elif k == "warps":
            out = self.label()
            o += ["\tmov.u32 %x1, %ctaid.x;", "\tshl.b32 %x1, %x1, 1;", "\tshr.u32 %y1, %at, 5;", "\tadd.u32 %x1, %x1, %y1;", "\tsetp.ge.u32 %s, %%x1, %d;" % (p[1], p[5]), "\t@%s bra %s;" % (p[1], out)]
            self.text(p[4], o)
            o += ["\tshfl.sync.bfly.b32 %%x1, %s, %d, 31, -1;" % (p[2], p[3]), "\tmad.lo.u32 %acc, %acc, 31, %x1;", out + ":"]
        elif k == "shfl":
            o.append("\tshfl.sync.bfly.b32 %s, %s, %d, 31, -1;" % (p[1], p[2], p[3] & 31))
        elif k == "vote":
            o.append("\tvote.sync.ballot.b32 %s, %s, -1;" % (p[1], p[2]))
        elif k == "count":
            o += ["\tand.b32 %%x1, %s, 7;" % p[2], "\tred.shared.add.u32 [count], %x1;", "\tbar.sync 0;", "\tld.shared.u32 %s, [count];" % p[1], "\tbar.sync 0;"]
        else:
            o += ["\tand.b32 %%x1, %s, 3;" % p[4], "\tmad.wide.u32 %x2, %x1, 4, %rd3;", "\tred.global.add.u32 [%%x2], %s;" % p[2]]

    # ---- what it does
    def play(self, p, threads, block, sums):
        k = p[0]
        if k == "all":
            for t in threads:
                self.run(p[1], t)
        elif k == "rounds":
            for _ in range(p[1]):
                for x in p[2]:
                    self.play(x, threads, block, sums)
        elif k == "warps":
            for w in range(THREADS // 32):
                mine = threads[32 * w:32 * w + 32] if 2 * block["at"] + w < p[5] else []
                for t in threads[32 * w:32 * w + 32]:
                    t[p[1]] = int(not mine)
                for t in mine:
                    self.run(p[4], t)
                v = [t[p[2]] for t in mine]
                for i, t in enumerate(mine):
                    t["%acc"] = t["%acc"] * 31 + v[i ^ p[3]] & M32
        elif k == "sum":
            for t in threads:
                sums[t[p[4]] & 3] = sums[t[p[4]] & 3] + t[p[2]] & M32
        else:
            v = [t[p[2]] for t in threads]
            if k == "shared":
                got = [v[(i + p[3]) % THREADS] for i in range(THREADS)]
            elif k == "shfl":
                got = [v[i ^ (p[3] & 31)] for i in range(THREADS)]
            elif k == "vote":
                got = [sum(bool(v[i & ~31 | l]) << l for l in range(32)) for i in range(THREADS)]
            else:
                block["count"] = block["count"] + sum(x & 7 for x in v) & M32
                got = [block["count"]] * THREADS
            for t, x in zip(threads, got):
                t[p[1]] = x

    @staticmethod
    def written(code):
        """The registers that instructions write, which these name first."""
        return {m.group(1) for x in code for m in re.finditer(r"^\s*(?:@!?%\w+ )?[a-z][\w.]* (%[rpv]\d+),", x, re.M)}

    def case(self, seed):
        want, sums = [], [0] * 4
        for b in range(self.blocks):
            threads, block = [], {"count": 0, "at": b}
            for tid in range(THREADS):
                x, y = tid % self.shape[0], tid // self.shape[0]
                threads.append({"%r1": x, "%r2": y, "%r3": self.n, "%r4": self.m, "%r5": b, "%tid.x": x, "%tid.y": y, "%ntid.x": self.shape[0], "%acc": START, "%kept": [0] * 8})
            for p in self.parts:
                self.play(p, threads, block, sums)
            want += [t["%acc"] for t in threads]
        code, first = [], 0
        for p in self.parts:
            self.part(p, code)
            first = first or len(code)
        # who looks at registers alone takes one that the loops have counted by, and a block's own number has been written to since, for a block's own
        mixed = self.written(code[:first]) & self.written(code[first:])
        block = str(THREADS) if self.shape[1] == 1 else "%d,%d" % self.shape
        further = 3 if self.blocks % 4 == 0 and seed % 2 else 1
        o = ["// rows %d, by a model of the statements (tests/ptx/oracle/rows.py)." % seed, "// coarse: %d%s" % (further, " perhaps" if mixed or "\n".join(code).count("\n") > LONG else ""),
             "// launch: k grid=%d block=%s args=out:u32[%d],data:u32[%d]={%s},sums:u32[4]={0,0,0,0},u32:%d,u32:%d" % (
                 self.blocks, block, THREADS * self.blocks, WORDS, ",".join(map(str, self.data)), self.n, self.m),
             "// expect: out = " + " ".join(map(str, want)), "// expect: sums = " + " ".join(map(str, sums)),
             ".version 7.0", ".target sm_61", ".address_size 64", "", ".visible .entry k(.param .u64 out, .param .u64 data, .param .u64 sums, .param .u32 n, .param .u32 m)", "{",
             "\t.reg .pred %%p<%d>, %%pl, %%pb;" % (self.last["p"] + 1),
             "\t.reg .b32 %%r<%d>, %%n<%d>, %%i<8>, %%c<%d>, %%o<%d>, %%acc, %%x0_<%d>, %%f0_<%d>, %%at, %%mine, %%base, %%x1, %%y1, %%none;" % (
                 self.last["r"] + 1, self.loops + 1, self.loops + 1, self.loops + 1, self.steps + 1, self.steps + 1),
             "\t.reg .f32 %%g0_<%d>, %%g1_<%d>;" % (self.steps + 1, self.steps + 1),
             "\t.reg .b64 %%s<8>, %%v<%d>, %%a0_<%d>, %%a1_<%d>, %%rd<6>, %%x2, %%y0, %%y2, %%y3;" % (self.last["d"] + 1, self.steps + 1, self.steps + 1),
             "\t.shared .align 4 .b8 room[%d];" % (4 * THREADS), "\t.shared .align 4 .u32 count;"]
        o += ["\t" + x for x in ("ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [data];", "ld.param.u64 %rd3, [sums];", "ld.param.u32 %r3, [n];", "ld.param.u32 %r4, [m];",
                                 "mov.u32 %r1, %tid.x;", "mov.u32 %r2, %tid.y;", "mov.u32 %r5, %ctaid.x;", "mov.u32 %acc, %ntid.x;", "mad.lo.u32 %at, %r2, %acc, %r1;",
                                 "mov.u32 %base, room;", "shl.b32 %mine, %at, 2;", "add.u32 %mine, %mine, %base;", "mov.u32 %acc, " + str(START) + ";", "mov.u32 %none, 0;", "st.shared.u32 [count], %none;", "bar.sync 0;",
                                 "mad.lo.u32 %x1, %r5, 64, %at;", "mad.wide.u32 %rd1, %x1, 4, %rd1;")]
        if self.keeps:
            o += ["\t.local .align 16 .b8 kept[32];", "\tmov.u64 %y3, kept;", "\tcvta.local.u64 %y0, %y3;", *["\tst.local.u32 [kept+%d], %%none;" % (4 * i) for i in range(8)]]
        return "\n".join(o + code + ["\tst.global.u32 [%rd1], %acc;", "\tret;", "}", ""])


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "rows_%04d.ptx" % seed), "w") as f:
            f.write(Rows(seed).case(seed))
    return count
