# SPDX-License-Identifier: MIT
"""Random programs of warps in step, as code of before __syncwarp() was written, and what each of their threads leaves.

A leader of a warp changes words of shared memory, by volatile accesses and atomics, and the others look at them, in loops that lanes leave or skip the rest of, with no
barrier in between. CUDA has not promised since sm_70 that lanes stay together; hardware keeps them so where nobody waits for anybody, and the engine does for
volatile accesses to shared memory. The model does each statement for all lanes that are there, and lanes that part meet behind what they parted at.
"""
import os
import random

from talk_emit import M32, condition_of

WORDS = 2               # of a warp
MOST = 6                # rounds of a loop that ends by a word: as long as nobody is taken to wait


def condition(r):
    return condition_of(r, ("eq", "eq", "eq", "and", "lt", "ge", "data", "bit", "acc"), (0, 0, 0, 3, 7, 8, 9, 15, 16, 24, 31))


def changes(r, depth=0):
    """What some lanes do: statements that have no loops."""
    out = []
    for _ in range(r.randint(1, 2)):
        k = r.choice(("store", "add", "add", "if", "calc"))
        if k == "store":
            out.append((k, r.randrange(WORDS), r.randrange(1, 50)))
        elif k == "add":
            out.append((k, r.randrange(WORDS), r.choice((1, 2, -1))))
        elif k == "if" and depth < 2:
            out.append((k, condition(r), changes(r, depth + 1), []))
        else:
            out.append(("calc", r.randrange(1, 99)))
    return out


def loop(r, depth, words):
    ends = "word" if r.random() < words else "count"
    return ("loop", ends, r.randint(1, 5 if depth < 2 else 3), r.randrange(WORDS), body(r, depth, True), r.choice(("while", "do")))


def body(r, depth, inside):
    out = []
    for _ in range(r.randint(1, 3)):
        k = r.choice(("read", "read", "if", "if", "if", "skip", "break", "loop", "shfl", "ballot", "calc", "else"))
        if k == "read":
            out.append((k, r.randrange(WORDS)))
        elif k == "if":
            out.append((k, condition(r), changes(r), []))
        elif k == "else":
            out.append(("if", condition(r), changes(r), [("calc", r.randrange(1, 99))]))
        elif k == "skip" and inside:
            out += [(k, condition(r), r.choice(("head", "join"))), ("calc", r.randrange(1, 99))]
        elif k == "break" and inside and r.randrange(2):
            out.append((k, r.choice((("data", r.randrange(8)), ("and", 16, r.choice((0, 16))), ("eq", 5), ("eq", 0)))))
        elif k == "loop" and depth < 2:
            out.append(loop(r, depth + 1, .5))
        elif k == "shfl":
            out.append((k, r.randrange(32)))
        elif k == "ballot":
            out.append((k, condition(r), changes(r)))
        else:
            out.append(("calc", r.randrange(1, 99)))
    return out


def parts(code):
    """Do lanes part in it, so that not all of them are there for a shuffle?"""
    return any(s[0] in ("skip", "break") for s in code)


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.warps, self.code, self.labels, self.fresh, self.parted = r.choice((1, 1, 1, 2, 3)), [], 0, {"p": 0, "r": 19}, False
        self.threads = 32 * self.warps
        self.by_name = self.warps == 1 and r.randrange(2)       # words by their name, or by a register
        self.data = [r.randrange(8) for _ in range(self.threads)]
        self.first = [r.randrange(6) for _ in range(WORDS)]
        self.prog = []
        for _ in range(r.choice((1, 1, 2))):
            if r.random() < .3:
                self.prog += body(r, 1, False)
            self.prog.append(loop(r, 0, .6))
            if r.random() < .3:
                self.prog.append(("bar",))
        if r.randrange(2):
            self.prog.append(("read", 0))
        self.text(self.prog, None)

    # ---- text

    def e(self, *lines):
        self.code += ["\t" + x for x in lines]

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def new(self, kind):
        self.fresh[kind] += 1
        return "%%%s%d" % (kind, self.fresh[kind])

    def word(self, i):
        return "[words+%d]" % (4 * i) if self.by_name else "[%%r5+%d]" % (4 * i)

    def condition(self, c):
        p, x = self.new("p"), {"data": "%r3", "bit": "%r3", "acc": "%r4"}.get(c[0], "%r2")
        if c[0] in ("and", "bit", "acc"):
            t = self.new("r")
            self.e("and.b32 %s, %s, %d;" % (t, x, c[1]))
            x = t
        how, y = {"lt": ("lt", c[1]), "ge": ("ge", c[1]), "and": ("eq", c[-1]), "bit": ("ne", 0), "acc": ("ne", 0)}.get(c[0], ("eq", c[-1]))
        self.e("setp.%s.u32 %s, %s, %s;" % (how, p, x, y))
        return p

    def branch(self, s, at):
        p, end = self.condition(s[1]), self.label()
        if s[3]:
            other = self.label()
            self.e("@!%s bra %s;" % (p, other))
            self.text(s[2], at)
            self.e("bra %s;" % end)
            self.code.append(other + ":")
            self.text(s[3], at)
        else:
            self.e("@!%s bra %s;" % (p, end))
            self.text(s[2], at)
        self.code.append(end + ":")

    def rounds(self, s):
        _, ends, n, w, code, form = s
        head, join, end, count = self.label(), self.label(), self.label(), self.new("r")
        at = {"head": head if form == "while" else join, "join": join, "end": end}
        was, self.parted = self.parted, self.parted or parts(code)
        self.e("mov.u32 %s, 0;" % count)
        self.code.append(head + ":")
        if form == "while":
            self.e("@%s bra %s;" % (self.over(count, ends, n, w), end))
        self.text(code, at)
        self.code.append(join + ":")
        self.e("bra %s;" % head if form == "while" else "@!%s bra %s;" % (self.over(count, ends, n, w), head))
        self.code.append(end + ":")
        self.parted = was

    def over(self, count, ends, n, w):
        p = self.new("p")
        self.e("add.u32 %s, %s, 1;" % (count, count), "setp.gt.u32 %s, %s, %d;" % (p, count, n if ends == "count" else MOST))
        if ends == "word":
            t, q = self.new("r"), self.new("p")
            self.e("ld.volatile.shared.u32 %s, %s;" % (t, self.word(w)), "mad.lo.u32 %%r4, %%r4, 3, %s;" % t, "setp.ge.s32 %s, %s, %d;" % (q, t, n * 4),
                   "or.pred %s, %s, %s;" % (p, p, q))
        return p

    def text(self, code, at):
        for s in code:
            k = s[0]
            t = self.new("r")
            if k == "calc" or k in ("shfl", "ballot") and self.parted:
                self.e("mad.lo.u32 %%r4, %%r4, 5, %d;" % (s[1] if k == "calc" else 1))
            elif k == "read":
                self.e("ld.volatile.shared.u32 %s, %s;" % (t, self.word(s[1])), "mad.lo.u32 %%r4, %%r4, 3, %s;" % t)
            elif k == "store":
                self.e("mov.u32 %s, %d;" % (t, s[2]), "st.volatile.shared.u32 %s, %s;" % (self.word(s[1]), t))
            elif k == "add":
                self.e("atom.shared.add.u32 %s, %s, %d;" % (t, self.word(s[1]), s[2]))
            elif k == "bar":
                self.e("bar.sync 0;")
            elif k == "shfl":
                self.e("shfl.sync.idx.b32 %%r4, %%r4, %d, 31, -1;" % s[1])
            elif k == "ballot":
                u = self.new("r")
                self.e("vote.sync.ballot.b32 %s, %s, -1;" % (t, self.condition(s[1])), "neg.s32 %s, %s;" % (u, t), "and.b32 %s, %s, %s;" % (u, u, t),
                       "bfind.u32 %%r6, %s;" % u)
                self.branch((0, ("leader", "%r6"), s[2], []), at)
            elif k == "if":
                self.branch(s, at)
            elif k == "loop":
                self.rounds(s)
            else:
                self.e("@%s bra %s;" % (self.condition(s[1]), at["end"] if k == "break" else at[s[2]]))

    def case(self, seed):
        want = [x for w in range(self.warps) for x in Warp(self, w).acc]
        o = ["// step %d, by a model of warps in step (tests/ptx/oracle/step.py)." % seed, "// unless: memcheck: it tells the races",
             "// launch: k block=%d args=out:u32[%d],data:u32[%d]={%s}" % (self.threads, self.threads, self.threads, ",".join(map(str, self.data))),
             "// expect: out = " + " ".join(map(str, want)), ".version 7.0", ".target sm_70", ".address_size 64", "",
             ".visible .entry k(.param .u64 out, .param .u64 data)", "{", "\t.reg .pred %%p<%d>;" % (self.fresh["p"] + 1),
             "\t.reg .b32 %%r<%d>;" % (self.fresh["r"] + 1), "\t.reg .b64 %rd<4>;", "\t.shared .align 4 .b8 words[%d];" % (4 * WORDS * self.warps)]
        o += ["\t" + x for x in (
            "ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [data];", "mov.u32 %r1, %tid.x;", "and.b32 %r2, %r1, 31;", "mul.wide.u32 %rd3, %r1, 4;",
            "add.s64 %rd1, %rd1, %rd3;", "add.s64 %rd2, %rd2, %rd3;", "ld.global.u32 %r3, [%rd2];", "shr.u32 %r7, %r1, 5;", "add.u32 %r4, %r2, %r7;",
            "mov.u32 %r5, words;", "mad.lo.u32 %%r5, %%r7, %d, %%r5;" % (4 * WORDS), "setp.ne.u32 %p0, %r2, 0;", "@%p0 bra BEGIN;")]
        for i, v in enumerate(self.first):
            o += ["\tmov.u32 %%r10, %d;" % v, "\tst.shared.u32 %s, %%r10;" % self.word(i)]
        return "\n".join(o + ["BEGIN:", "\tbar.sync 0;"] + self.code + ["\tst.global.u32 [%rd1], %r4;", "\tret;", "}", ""])


# ---- the model ------------------------------------------------------------------------------------

class Warp:
    """m: the lanes that are there. What run() returns are those that come to the end of the code."""

    def __init__(self, g, w):
        self.data, self.acc, self.words, self.lead, self.parted = g.data[32 * w:32 * w + 32], [i + w for i in range(32)], list(g.first), [0] * 32, False
        self.run(g.prog, M32, None)

    def holds(self, c, i):
        k, d = c[0], self.data[i]
        return (i == c[1] if k == "eq" else i & c[1] == c[2] if k == "and" else i < c[1] if k == "lt" else i >= c[1] if k == "ge" else d == c[1] if k == "data"
                else d & c[1] != 0 if k == "bit" else i == self.lead[i] if k == "leader" else self.acc[i] & c[1] != 0)

    def those(self, c, m):
        return sum(1 << i for i in range(32) if m >> i & 1 and self.holds(c, i))

    def mix(self, m, by, x):
        for i in range(32):
            if m >> i & 1:
                self.acc[i] = self.acc[i] * by + x & M32

    def run(self, code, m, left):
        for s in code:
            k = s[0]
            if not m:
                return 0
            if k == "calc" or k in ("shfl", "ballot") and self.parted:
                self.mix(m, 5, s[1] if k == "calc" else 1)
            elif k == "read":
                self.mix(m, 3, self.words[s[1]])
            elif k == "store":
                self.words[s[1]] = s[2]
            elif k == "add":
                self.words[s[1]] = self.words[s[1]] + s[2] * bin(m).count("1") & M32
            elif k == "shfl":
                self.acc = [self.acc[s[1]] if m >> i & 1 else a for i, a in enumerate(self.acc)]
            elif k == "ballot":
                b = self.those(s[1], m)
                self.lead = [(b & -b).bit_length() - 1 if b else M32] * 32
                self.run(s[2], self.those(("leader",), m), left)
            elif k == "if":
                t = self.those(s[1], m)
                self.run(s[2], t, left)
                self.run(s[3], m & ~t, left)
            elif k == "loop":
                self.rounds(s, m)
            elif k in ("skip", "break"):
                t = self.those(s[1], m)
                m &= ~t
                if k == "break":
                    left[0] |= t
        return m

    def rounds(self, s, m):
        _, ends, n, w, code, form = s
        was, self.parted = self.parted, self.parted or parts(code)
        count, left = 0, [0]
        while m:
            for at in (0, 1):
                if at == (form == "do"):
                    count += 1
                    over = count > (n if ends == "count" else MOST)
                    if ends == "word":
                        v = self.words[w]
                        self.mix(m, 3, v)
                        over |= n * 4 <= v < 1 << 31
                    m = 0 if over else m
                elif m:
                    self.run(code, m, left)
                    m &= ~left[0]
                if not m:
                    break
        self.parted = was


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "step_%04d.ptx" % seed), "w") as f:
            f.write(Program(seed).case(seed))
    return count
