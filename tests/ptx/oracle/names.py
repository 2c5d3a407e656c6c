# SPDX-License-Identifier: MIT
"""Random loops in which lanes name each other, other ones in each round, and what each of their threads leaves.

Votes, matches, sums and shuffles with a membermask that is computed or loaded in the round. Only lanes that are in it come to them; who is not passes by, skips the
rest of the round or has the other names of an else. The PTX ISA has who is named wait for the others (9.7.9 and 9.7.13), so it is not for the engine to choose who is
there: the model has no order, each round is done for all lanes. Or tiles go round as often as they like, each by itself, and all lanes meet in a round that is the last for
each, at the same instructions by wider names.
"""
import os
import random

M32 = (1 << 32) - 1
SETS = {
    "below": lambda lane, i, bits: lane < i, "above": lambda lane, i, bits: lane >= i & 31, "table": lambda lane, i, bits: bits[i & 7] >> lane & 1,
    "half": lambda lane, i, bits: lane >> 4 == i & 1, "stride": lambda lane, i, bits: lane & 3 == i & 3, "window": lambda lane, i, bits: (lane - i) & 31 < 12,
}
OPS = ("ballot", "ballot", "any", "all", "match.all", "match.any", "idx", "redux", "fence", "share")


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.threads, self.blocks = r.choice((32, 32, 64, 128, 20, 52)), r.choice((1, 3))
        self.bits = [r.getrandbits(32) | 1 for _ in range(8)]
        self.data = [r.randrange(4) for _ in range(self.threads)]
        self.first, self.step = r.randrange(4), r.choice((1, 1, 1, 2, 3))
        self.rounds = r.choice((5, 13, 30, 40))
        self.inner = r.choice((0, 0, 0, 2, 3))
        self.set = r.choice(tuple(SETS))
        self.other = r.random() < .4                    # those that are not named name each other
        self.skip = r.choice((None, None, 1, 4, 16))    # these lanes go on with the next round first, by turns
        self.ops = [[(r.choice(OPS), r.randrange(4)) for _ in range(r.randint(1, 3))] for _ in range(2)]
        self.body, self.labels = [], 0

    # ---- the model
    def op(self, op, m, acc, i):
        k, c = op
        mask = sum(1 << t for t in m)
        i = i if isinstance(i, dict) else dict.fromkeys(m, i)
        v = {t: (self.warp[t] + i[t] * c) & 3 for t in m}
        p = {t: v[t] > c - 1 for t in m}
        got = {}
        if k == "ballot":
            got = dict.fromkeys(m, sum(1 << t for t in m if p[t]))
        elif k in ("any", "all"):
            got = dict.fromkeys(m, int((any if k == "any" else all)(p.values())))
        elif k == "match.all":
            same = len(set(v.values())) == 1
            got = dict.fromkeys(m, mask * 2 + 1 & M32 if same else 0)
        elif k == "match.any":
            got = {t: sum(1 << o for o in m if v[o] == v[t]) for t in m}
        elif k in ("idx", "share"):
            got = dict.fromkeys(m, acc[min(m)])
        elif k == "redux":
            got = dict.fromkeys(m, sum(acc[t] for t in m) & M32)
        for t in m:
            acc[t] = (acc[t] * 31 + got.get(t, c) + i[t]) & M32

    def run(self, warp, first):
        self.warp = self.data[first:first + 32]
        lanes = range(len(self.warp))
        acc = {t: first + t for t in lanes}
        i = self.first
        for _ in range(self.rounds):
            come = [t for t in lanes if not (self.skip and (t ^ i) & self.skip)]
            named = [t for t in come if SETS[self.set](t, i, self.bits)]
            sides = [named, [t for t in come if t not in named] if self.other else []]
            for side, ops in zip(sides, self.ops):
                for j in range(self.inner or 1):
                    for o in ops if side else ():
                        self.op(o, side, acc, i + j)
            for t in lanes:
                acc[t] = (acc[t] + 1) & M32
            i += self.step
        return [acc[t] for t in lanes]

    # ---- its text
    def emit(self, *lines):
        self.body += ["\t" + x if not x.endswith(":") else x for x in lines]

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def text_op(self, op):
        k, c = op
        self.emit("mul.lo.u32 %%r20, %%r8, %d;" % c, "add.u32 %r20, %r20, %r3;", "and.b32 %r20, %r20, 3;", "setp.ge.s32 %%p3, %%r20, %d;" % c, "mov.u32 %%r21, %d;" % c)
        if k == "ballot":
            self.emit("vote.sync.ballot.b32 %r21, %p3, %r10;")
        elif k in ("any", "all"):
            self.emit("vote.sync.%s.pred %%p4, %%p3, %%r10;" % k, "selp.u32 %r21, 1, 0, %p4;")
        elif k == "match.all":
            self.emit("match.all.sync.b32 %r21|%p4, %r20, %r10;", "selp.u32 %r22, 1, 0, %p4;", "shl.b32 %r21, %r21, 1;", "add.u32 %r21, %r21, %r22;")
        elif k == "match.any":
            self.emit("match.any.sync.b32 %r21, %r20, %r10;")
        elif k == "idx":
            self.emit("brev.b32 %r22, %r10;", "clz.b32 %r22, %r22;", "shfl.sync.idx.b32 %r21, %r4, %r22, 31, %r10;")
        elif k == "redux":
            self.emit("redux.sync.add.u32 %r21, %r4, %r10;")
        elif k == "share":
            self.emit("st.shared.u32 [%r14], %r4;", "bar.warp.sync %r10;", "brev.b32 %r22, %r10;", "clz.b32 %r22, %r22;", "sub.u32 %r22, %r22, %r2;", "shl.b32 %r22, %r22, 2;",
                      "add.u32 %r22, %r22, %r14;", "ld.shared.u32 %r21, [%r22];", "bar.warp.sync %r10;")
        else:
            self.emit("bar.warp.sync %r10;")
        self.emit("mad.lo.u32 %r4, %r4, 31, %r21;", "add.u32 %r4, %r4, %r8;")

    def side(self, ops):
        again = self.label()
        if self.inner:
            self.emit("mov.u32 %r9, 0;", again + ":")
        self.emit("add.u32 %%r8, %%r5, %s;" % ("%r9" if self.inner else "0"))
        for o in ops:
            self.text_op(o)
        if self.inner:
            self.emit("add.u32 %r9, %r9, 1;", "setp.lt.u32 %%p5, %%r9, %d;" % self.inner, "@%%p5 bra %s;" % again)

    def text(self):
        top, end, other = self.label(), self.label(), self.label()
        # %r2 lane, %r3 data, %r4 acc, %r5 i, %r6 round, %r7 lanes that there are, %r10 names, %r11 who comes
        self.emit("mov.u32 %%r5, %d;" % self.first, "mov.u32 %r6, 0;", top + ":", "add.u32 %r6, %r6, 1;", "mov.u32 %r11, %r7;")
        if self.skip:
            low = sum(1 << t for t in range(32) if not t & self.skip)
            self.emit("and.b32 %%r12, %%r5, %d;" % self.skip, "setp.ne.u32 %p1, %r12, 0;", "selp.b32 %%r11, %d, %d, %%p1;" % (M32 ^ low, low), "and.b32 %r11, %r11, %r7;",
                      "xor.b32 %r12, %r2, %r5;", "and.b32 %%r12, %%r12, %d;" % self.skip, "setp.ne.u32 %p1, %r12, 0;", "@%%p1 bra %s;" % end)
        if self.set == "below":
            self.emit("shl.b32 %r10, -1, %r5;", "not.b32 %r10, %r10;")
        elif self.set == "above":
            self.emit("and.b32 %r12, %r5, 31;", "shl.b32 %r10, -1, %r12;")
        elif self.set == "table":
            self.emit("and.b32 %r12, %r5, 7;", "mul.wide.u32 %rd3, %r12, 4;", "add.u64 %rd3, %rd3, %rd2;", "ld.global.u32 %r10, [%rd3];")
        elif self.set == "half":
            self.emit("and.b32 %r12, %r5, 1;", "shl.b32 %r12, %r12, 4;", "shl.b32 %r10, 65535, %r12;")
        elif self.set == "stride":
            self.emit("and.b32 %r12, %r5, 3;", "shl.b32 %r10, 286331153, %r12;")
        else:
            self.emit("shf.l.wrap.b32 %r10, 4095, 4095, %r5;")
        self.emit("and.b32 %r10, %r10, %r11;", "shr.u32 %r12, %r10, %r2;", "and.b32 %r12, %r12, 1;", "setp.eq.u32 %p2, %r12, 0;", "@%%p2 bra %s;" % (other if self.other else end))
        self.side(self.ops[0])
        if self.other:
            self.emit("bra %s;" % end, other + ":", "not.b32 %r10, %r10;", "and.b32 %r10, %r10, %r11;")
            self.side(self.ops[1])
        self.emit(end + ":", "add.u32 %r4, %r4, 1;", "add.u32 %%r5, %%r5, %d;" % self.step, "setp.ne.u32 %%p1, %%r6, %d;" % self.rounds, "@%%p1 bra %s;" % top)

    def case(self, seed):
        want = [x for b in range(self.blocks) for w in range(0, self.threads, 32) for x in self.run(None, w)]
        self.text()
        data, bits = ",".join(map(str, self.data)), ",".join(map(str, self.bits))
        head = ["// names %d, by a model without an order (tests/ptx/oracle/names.py)." % seed]
        for k in range(3):
            n = self.blocks * self.threads
            head += ["// launch: k grid=%d block=%d args=%s" % (self.blocks, self.threads, "&out,&data,&bits" if k else "out:u32[%d],data:u32[%d]={%s},bits:u32[8]={%s}" % (n, self.threads, data, bits)),
                     "// expect: out = " + " ".join(map(str, want))]
        return "\n".join(head + [".version 7.0", ".target sm_80", ".address_size 64", "", ".visible .entry k(.param .u64 out, .param .u64 data, .param .u64 bits)", "{",
            "\t.reg .pred %p<6>;", "\t.reg .b32 %r<24>;", "\t.reg .b64 %rd<6>;", "\tld.param.u64 %rd0, [out];", "\tld.param.u64 %rd1, [data];", "\tld.param.u64 %rd2, [bits];",
            "\tmov.u32 %r0, %tid.x;", "\tmul.wide.u32 %rd3, %r0, 4;", "\tadd.u64 %rd1, %rd1, %rd3;", "\tld.global.u32 %r3, [%rd1];", "\tand.b32 %r2, %r0, 31;", "\tmov.u32 %r4, %r0;",
            "\t.shared .align 4 .b8 s[512];", "\tmov.u32 %r14, s;", "\tmad.lo.u32 %r14, %r0, 4, %r14;", "\tmov.u32 %r12, %ntid.x;", "\tsub.u32 %r13, %r0, %r2;", "\tsub.u32 %r12, %r12, %r13;", "\tmin.u32 %r12, %r12, 32;", "\tsub.u32 %r12, 32, %r12;", "\tshr.u32 %r7, -1, %r12;"] + self.body + [
            "\tmov.u32 %r12, %ctaid.x;", "\tmov.u32 %r13, %ntid.x;", "\tmad.lo.u32 %r12, %r12, %r13, %r0;", "\tmul.wide.u32 %rd3, %r12, 4;", "\tadd.u64 %rd0, %rd0, %rd3;",
            "\tst.global.u32 [%rd0], %r4;", "\tret;", "}", ""])


class Tiles(Program):
    def __init__(self, seed):
        super().__init__(seed)
        self.g = self.r.choice((1, 2, 4, 8, 8, 16, 16))
        if self.r.random() < .25:                       # nothing else has them meet
            self.ops[0] = [("share", 0)]
        self.least, self.more, self.by = self.r.randrange(3), self.r.choice((1, 2, 5)), self.r.choice((1, 3, 31))

        self.flip = self.r.choice((0, 31))              # who goes round more often: the higher, or the lower

    def most(self, lane):
        return self.least + ((lane ^ self.flip) // self.g & self.by) * self.more

    def run(self, warp, first):
        self.warp = self.data[first:first + 32]
        lanes = range(len(self.warp))
        acc = {t: first + t for t in lanes}
        for b in range(0, len(lanes), self.g):
            tile = [t for t in lanes if t // self.g == b // self.g]
            for i in range(self.most(b)):
                for o in self.ops[0]:
                    self.op(o, tile, acc, i)
        for o in self.ops[0]:
            self.op(o, list(lanes), acc, {t: self.most(t) for t in lanes})
        return [acc[t] for t in lanes]

    def text(self):
        top = self.label()
        # %r9 rounds, %r13 the tile's names
        self.emit("xor.b32 %%r12, %%r2, %d;" % self.flip, "div.u32 %%r12, %%r12, %d;" % self.g, "and.b32 %%r12, %%r12, %d;" % self.by, "mul.lo.u32 %%r9, %%r12, %d;" % self.more, "add.u32 %%r9, %%r9, %d;" % self.least,
                  "and.b32 %%r12, %%r2, %d;" % (32 - self.g), "shl.b32 %%r13, %d, %%r12;" % ((1 << self.g) - 1), "and.b32 %r13, %r13, %r7;", "mov.u32 %r8, 0;", top + ":",
                  "setp.lt.u32 %p1, %r8, %r9;", "selp.b32 %r10, %r13, %r7, %p1;")
        for o in self.ops[0]:
            self.text_op(o)
        self.emit("add.u32 %r8, %r8, 1;", "setp.le.u32 %p1, %r8, %r9;", "@%%p1 bra %s;" % top)


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "names_%04d.ptx" % seed), "w") as f:
            f.write((Tiles if seed % 3 == 0 else Program)(seed).case(seed))
    return count
