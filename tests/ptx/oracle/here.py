# SPDX-License-Identifier: MIT
"""Random programs of lanes that part and ask who is here, and what each of their threads leaves.

activemask, votes, shuffles and matches of those who are there, by masks or, as before sm_70, without; counters that a leader of those who are here changes; in branches,
switches and loops that lanes leave, skip the rest of and end in. In between lie accesses for which code makes guesses that are wrong for some lanes: addresses that
wrap when they are widened, that are of another space, that are no row. The model does each statement for all lanes that are there, and lanes that part meet behind
what they parted at: that is where hardware has them meet, if CUDA does not promise it.
"""
import functools
import operator
import os
import random

M32 = (1 << 32) - 1
WRAP = 1 << 34
FAR = 20                # of 32 lanes' sums with -FAR those of the first FAR wrap


def cond(r):
    k = r.choice(("eq", "and", "and", "lt", "lt", "data", "bit", "acc", "round", "round"))
    return (k,) + {"eq": lambda: (r.randrange(32),), "and": lambda: (lambda m: (m, r.choice((0, m))))(r.choice((1, 2, 3, 7, 8, 16, 24))),
                   "lt": lambda: (r.choice((1, 4, 8, 12, 16, 17, 24, 30)),), "data": lambda: (r.randrange(8),), "bit": lambda: (r.choice((1, 2, 4)),),
                   "acc": lambda: (r.choice((1, 2, 8)),), "round": lambda: (r.choice((0, 2, 3)), r.choice((1, 3)))}[k]()


TESTS = {"eq": lambda a: lambda t: t.lane == a, "and": lambda a, b: lambda t: t.lane & a == b, "lt": lambda a: lambda t: t.lane < a, "data": lambda a: lambda t: t.d == a,
         "bit": lambda a: lambda t: t.d & a != 0, "acc": lambda a: lambda t: t.acc >> 3 & a != 0, "round": lambda a, b: lambda t: t.count[-1] > (t.lane >> a & b)}


@functools.lru_cache(maxsize=None)
def holds(c):
    """Of a condition: what says whether it holds for a lane."""
    return TESTS[c[0]](*c[1:])


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.legacy = r.randrange(3) == 0
        self.threads = r.choice((32, 32, 32, 64, 96, 128, 40, 20, 256))
        self.blocks = r.choice((1, 3, 20))
        self.launches = r.choice((1, 2, 4))
        self.data = [r.randrange(8) for _ in range(self.threads)]
        self.code, self.labels, self.fresh, self.counts, self.agg = [], 0, {"p": 0, "r": 19, "q": 9}, ["%r8"], 0
        self.prog = self.body(0, False, True, r.randint(2, 4))
        if not any(s[0] == "loop" for s in self.prog):
            self.prog.append(self.loop(0, True))
        self.text(self.prog, None)

    # ---- what it is
    def ask(self, ordered):
        r = self.r
        k = r.choice(("here", "here", "ballot", "ballot", "first", "idx", "updown", "any", "match", "agg" if ordered else "here"))
        return {"here": lambda: (k,), "ballot": lambda: (k, cond(r)), "first": lambda: (k,), "idx": lambda: (k, r.randrange(32)), "any": lambda: (k, cond(r), r.randrange(2)),
                "updown": lambda: (k, r.choice(("up", "down", "bfly")), r.choice((1, 2, 8, 16))), "match": lambda: (k, r.choice((1, 3))), "agg": lambda: (k,)}[k]()

    def body(self, depth, inside, ordered, n=None):
        r, out = self.r, []
        for _ in range(n or r.randint(1, 4)):
            k = r.choice(("ask", "ask", "ask", "if", "if", "else", "switch", "skip", "break", "ret", "loop", "loop", "calc", "odd", "odd", "bar"))
            if k == "ask":
                out.append(self.ask(ordered))
            elif k == "if" and depth < 4:
                out.append(("if", cond(r), self.body(depth + 1, inside, ordered), []))
            elif k == "else" and depth < 4:
                out.append(("if", cond(r), self.body(depth + 1, inside, False), self.body(depth + 1, inside, False)))
            elif k == "switch" and depth < 3:
                out.append((k, r.choice((1, 3)), [(self.body(depth + 2, inside, False, 1), r.random() < .7) for _ in range(r.choice((2, 4)))]))
            elif k == "skip" and inside:
                out += [(k, cond(r)), self.ask(ordered)]
            elif k == "break" and inside:
                out.append((k, cond(r)))
            elif k == "ret" and r.random() < .2:
                out.append((k, cond(r)))
            elif k == "loop" and depth < 3:
                out.append(self.loop(depth + 1, ordered))
            elif k == "odd":
                out.append((r.choice(("wrap", "ahead", "ahead", "space", "signed", "stray", "local")), cond(r), r.randrange(32)))
            elif k == "bar" and not depth and not inside and r.random() < .4:
                out.append((k,))
            else:
                out.append(("calc", r.randrange(1, 99)))
        return out

    def loop(self, depth, ordered):
        r = self.r
        n = r.choice((("const", r.randint(1, 5)), ("data", r.choice((3, 7))), ("lane", r.choice((0, 2, 3)), r.choice((1, 3))), ("param", r.randint(1, 5))))
        if depth < 2 and r.random() < .03:
            return ("loop", ("const", 400), [("if", cond(r), [("calc", 7)], []), self.ask(ordered)], r.choice(("while", "do")))
        return ("loop", n, self.body(depth, True, ordered), r.choice(("while", "do")))

    # ---- text
    def e(self, *lines):
        self.code += ["\t" + x for x in lines]

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def new(self, kind):
        self.fresh[kind] += 1
        return "%%%s%d" % ({"q": "rd"}.get(kind, kind), self.fresh[kind])

    def mix(self, x, by=3):
        self.e("mad.lo.u32 %%r4, %%r4, %d, %s;" % (by, x))

    def condition(self, c):
        k, p = c[0], self.new("p")
        if k in ("and", "bit", "acc"):
            t = self.new("r")
            if k == "acc":
                self.e("shr.u32 %s, %%r4, 3;" % t)
            self.e("and.b32 %s, %s, %d;" % (t, {"and": "%r2", "bit": "%r3", "acc": t}[k], c[1]))
            self.e("setp.eq.u32 %s, %s, %d;" % (p, t, c[2]) if k == "and" else "setp.ne.u32 %s, %s, 0;" % (p, t))
        elif k == "round":
            t = self.new("r")
            self.e("shr.u32 %s, %%r2, %d;" % (t, c[1]), "and.b32 %s, %s, %d;" % (t, t, c[2]), "setp.gt.u32 %s, %s, %s;" % (p, self.counts[-1], t))
        else:
            self.e("setp.%s.u32 %s, %s, %d;" % ("lt" if k == "lt" else "eq", p, "%r3" if k == "data" else "%r2", c[1]))
        return p

    def here(self):
        m = self.new("r")
        if self.legacy and self.r.randrange(2):
            self.e("vote.ballot.b32 %s, 1;" % m)
        else:
            self.e("activemask.b32 %s;" % m)
        return m

    def warp(self, op, d, rest):
        """shfl and vote by who is here: named, or not"""
        if self.legacy:
            self.e("%s %s, %s;" % (op, d, rest))
        else:
            m = self.here()
            self.e("%s %s, %s, %s;" % (op.replace(".", ".sync.", 1), d, rest, m))

    def count_of(self, n):
        if n[0] == "const":
            return str(n[1])
        t = self.new("r")
        if n[0] == "param":
            self.e("add.u32 %s, %%r9, %d;" % (t, n[1]))
        elif n[0] == "data":
            self.e("and.b32 %s, %%r3, %d;" % (t, n[1]))
        else:
            self.e("shr.u32 %s, %%r2, %d;" % (t, n[1]), "and.b32 %s, %s, %d;" % (t, t, n[2]), "add.u32 %s, %s, 1;" % (t, t))
        return t

    def rounds(self, s):
        _, n, code, form = s
        head, join, end, count, p = self.label(), self.label(), self.label(), self.new("r"), self.new("p")
        most = self.count_of(n)
        self.e("mov.u32 %s, 0;" % count)
        self.counts.append(count)
        self.code.append(head + ":")
        if form == "while":
            self.e("add.u32 %s, %s, 1;" % (count, count), "setp.gt.u32 %s, %s, %s;" % (p, count, most), "@%s bra %s;" % (p, end))
        self.text(code, {"skip": head if form == "while" else join, "end": end})
        self.code.append(join + ":")
        if form == "while":
            self.e("bra %s;" % head)
        else:
            self.e("add.u32 %s, %s, 1;" % (count, count), "setp.le.u32 %s, %s, %s;" % (p, count, most), "@%s bra %s;" % (p, head))
        self.code.append(end + ":")
        self.counts.pop()

    def odd(self, s):
        """A load of datum s[2] of those that all threads have in reach, in a way that a guess has not foreseen for some"""
        k, c, i = s
        a, v, t, x = self.new("q"), self.new("r"), self.new("q"), self.new("r")
        if k == "wrap":
            p = self.new("p")
            self.e("sub.u32 %s, %%r2, %%r10;" % x, "cvt.u64.u32 %s, %s;" % (t, x), "shl.b64 %s, %s, 2;" % (t, t), "setp.lt.u32 %s, %%r2, %d;" % (p, FAR),
                   "add.s64 %s, %%rd6, %s;" % (a, t), "mov.u64 %s, %d;" % (t, WRAP), "@%s sub.s64 %s, %s, %s;" % (p, a, a, t), "ld.global.u32 %s, [%s+%d];" % (v, a, 4 * FAR))
        elif k == "ahead":
            p = self.new("p")
            self.e("sub.u32 %s, %%r2, %%r10;" % x, "mov.u32 %s, 0;" % v, "setp.ge.u32 %s, %%r2, %d;" % (p, FAR), "mul.wide.u32 %s, %s, 4;" % (t, x),
                   "add.s64 %s, %%rd6, %s;" % (a, t), "@%s ld.global.u32 %s, [%s+%d];" % (p, v, a, 4 * FAR))
        elif k == "signed":
            self.e("sub.s32 %s, %%r2, %%r10;" % x, "mul.wide.s32 %s, %s, 4;" % (t, x), "add.s64 %s, %%rd6, %s;" % (a, t), "ld.global.u32 %s, [%s+%d];" % (v, a, 4 * FAR))
        elif k == "space":
            self.e("mul.wide.u32 %s, %%r2, 4;" % t, "selp.b64 %s, %%rd7, %%rd6, %s;" % (a, self.condition(c)), "add.s64 %s, %s, %s;" % (a, a, t), "ld.u32 %s, [%s];" % (v, a))
        elif k == "local":
            self.e("selp.b64 %s, %%rd8, %%rd6, %s;" % (a, self.condition(c)), "ld.u32 %s, [%s];" % (v, a), "ld.u32 %s, [%s];" % (x, a), "add.u32 %s, %s, %s;" % (v, v, x))
        else:
            self.e("add.u32 %s, %%r3, %d;" % (x, i), "mul.lo.u32 %s, %s, 5;" % (x, x), "and.b32 %s, %s, 31;" % (x, x), "mad.wide.u32 %s, %s, 4, %%rd6;" % (a, x), "ld.global.u32 %s, [%s];" % (v, a))
        self.mix(v)

    def aggregate(self):
        m, low, old, x, p, n, end = self.here(), self.new("r"), self.new("r"), self.new("r"), self.new("p"), self.new("r"), self.label()
        self.e("neg.s32 %s, %s;" % (low, m), "and.b32 %s, %s, %s;" % (low, low, m), "bfind.u32 %s, %s;" % (low, low), "popc.b32 %s, %s;" % (n, m), "mov.u32 %s, 0;" % old,
               "setp.ne.u32 %s, %%r2, %s;" % (p, low), "@%s bra %s;" % (p, end), "atom.shared.add.u32 %s, [%%r5], %s;" % (old, n))
        self.code.append(end + ":")
        if self.legacy:
            self.e("shfl.idx.b32 %s, %s, %s, 31;" % (old, old, low))
        else:
            self.e("shfl.sync.idx.b32 %s, %s, %s, 31, %s;" % (old, old, low, m))
        self.e("and.b32 %s, %s, %%r11;" % (x, m), "popc.b32 %s, %s;" % (x, x), "add.u32 %s, %s, %s;" % (x, x, old))
        self.mix(x)

    def text(self, code, at):
        for s in code:
            k = s[0]
            if k == "calc":
                self.mix(str(s[1]), 5)
            elif k == "here":
                self.mix(self.here())
            elif k in ("ballot", "any"):
                p, t = self.condition(s[1]), self.new("r")
                if k == "ballot":
                    self.warp("vote.ballot.b32", t, p)
                else:
                    q = self.new("p")
                    self.warp("vote.%s.pred" % ("all" if s[2] else "any"), q, p)
                    self.e("selp.u32 %s, 77, 5, %s;" % (t, q))
                self.mix(t)
            elif k == "first":
                m, t = self.here(), self.new("r")
                self.e("neg.s32 %s, %s;" % (t, m), "and.b32 %s, %s, %s;" % (t, t, m), "bfind.u32 %s, %s;" % (t, t))
                u = self.new("r")
                self.warp("shfl.idx.b32", u, "%%r4, %s, 31" % t)
                self.mix(u)
            elif k == "idx":
                u = self.new("r")
                self.warp("shfl.idx.b32", u, "%%r4, %d, 31" % s[1])
                self.mix(u)
            elif k == "updown":
                u = self.new("r")
                self.warp("shfl.%s.b32" % s[1], u, "%%r4, %d, %d" % (s[2], 0 if s[1] == "up" else 31))
                self.mix(u)
            elif k == "match":
                if self.legacy:
                    self.mix("9")
                else:
                    t, u, m = self.new("r"), self.new("r"), self.here()
                    self.e("and.b32 %s, %%r3, %d;" % (t, s[1]), "match.any.sync.b32 %s, %s, %s;" % (u, t, m))
                    self.mix(u)
            elif k == "agg":
                self.aggregate()
            elif k == "bar":
                self.e("bar.sync 0;")
            elif k == "if":
                p, end = self.condition(s[1]), self.label()
                other = self.label() if s[3] else end
                self.e("@!%s bra %s;" % (p, other))
                self.text(s[2], at)
                if s[3]:
                    self.e("bra %s;" % end)
                    self.code.append(other + ":")
                    self.text(s[3], at)
                self.code.append(end + ":")
            elif k == "switch":
                t, end, at_ = self.new("r"), self.label(), [self.label() for _ in s[2]]
                table = self.label()
                self.e("and.b32 %s, %%r3, %d;" % (t, s[1]), "min.u32 %s, %s, %d;" % (t, t, len(at_) - 1))
                self.code.append("%s: .branchtargets %s;" % (table, ", ".join(at_)))
                self.e("brx.idx %s, %s;" % (t, table))
                for name, (code_, leaves) in zip(at_, s[2]):
                    self.code.append(name + ":")
                    self.text(code_, at)
                    if leaves:
                        self.e("bra %s;" % end)
                self.code.append(end + ":")
            elif k == "loop":
                self.rounds(s)
            elif k in ("skip", "break"):
                self.e("@%s bra %s;" % (self.condition(s[1]), at["skip" if k == "skip" else "end"]))
            elif k == "ret":
                p, end = self.condition(s[1]), self.label()
                self.e("@!%s bra %s;" % (p, end), "st.global.u32 [%rd1], %r4;", "ret;")
                self.code.append(end + ":")
            else:
                self.odd(s)

    def case(self, seed):
        n, line = self.threads * self.blocks, "// launch: k grid=%d block=%d args=" % (self.blocks, self.threads)
        # what distinguishes blocks is b & 7 (Lane)
        kinds = [[x for w in range((self.threads + 31) // 32) for x in Warp(self, b, w).left()] for b in range(min(8, self.blocks))]
        want = [x for b in range(self.blocks) for x in kinds[b & 7]]
        o = ["// here %d, by a model of warps in step (tests/ptx/oracle/here.py)." % seed,
             line + "out:u32[%d],data:u32[%d]={%s},u32:0,u32:%d" % (n, self.threads + 32, ",".join(map(str, self.data + [i * 7 for i in range(32)])), FAR)]
        o += ["// expect: out = " + " ".join(map(str, want))] + [line + "&out,&data,u32:0,u32:%d" % FAR, "// expect: out = " + " ".join(map(str, want))] * (self.launches - 1)
        o += [".version 6.3", ".target %s" % ("sm_60" if self.legacy else "sm_70"), ".address_size 64", "",
              ".visible .entry k(.param .u64 out, .param .u64 data, .param .u32 zero, .param .u32 far)", "{", "\t.reg .pred %%p<%d>;" % (self.fresh["p"] + 1),
              "\t.reg .b32 %%r<%d>;" % (self.fresh["r"] + 1), "\t.reg .b64 %%rd<%d>;" % (self.fresh["q"] + 1), "\t.shared .align 4 .b8 words[128];", "\t.shared .align 4 .b8 copy[128];",
              "\t.local .align 4 .b8 own[4];"]
        o += ["\t" + x for x in (
            "ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [data];", "ld.param.u32 %r9, [zero];", "ld.param.u32 %r10, [far];", "mov.u32 %r1, %tid.x;", "and.b32 %r2, %r1, 31;",
            "mov.u32 %r6, %ctaid.x;", "mov.u32 %r7, %ntid.x;", "mad.lo.u32 %r12, %r6, %r7, %r1;", "mad.wide.u32 %rd1, %r12, 4, %rd1;", "mad.wide.u32 %rd3, %r1, 4, %rd2;",
            "ld.global.u32 %r3, [%rd3];", "and.b32 %r13, %r6, 7;", "xor.b32 %r3, %r3, %r13;", "shr.u32 %r14, %r1, 5;", "add.u32 %r4, %r2, %r14;", "mul.lo.u32 %r14, %r14, 4;",
            "mov.u32 %r5, words;", "add.u32 %r5, %r5, %r14;", "mov.u32 %r11, %lanemask_lt;", "mov.u32 %r8, 1;",
            "add.s64 %%rd6, %%rd2, %d;" % (4 * self.threads), "mov.u32 %r15, copy;", "cvt.u64.u32 %rd7, %r15;", "cvta.shared.u64 %rd7, %rd7;", "mov.u64 %rd8, own;", "cvta.local.u64 %rd8, %rd8;",
            "st.u32 [%rd8], %r1;", "mad.lo.u32 %r15, %r2, 4, %r15;", "mad.lo.u32 %r16, %r2, 3, 1;", "st.shared.u32 [%r15], %r16;", "mov.u32 %r16, 0;", "st.shared.u32 [%r5], %r16;", "bar.sync 0;")]
        if "\tbar.sync 0;" in self.code and "\tret;" in self.code:
            o.insert(1, "// unless: memcheck: it tells barriers that are complete because others have ended")
        return "\n".join(o + self.code + ["\tst.global.u32 [%rd1], %r4;", "\tret;", "}", ""])


# ---- the model ------------------------------------------------------------------------------------

class Lane:
    def __init__(self, g, b, w, i):
        self.lane, self.tid, self.acc, self.count = i, 32 * w + i, i + w, [1]
        self.d = g.data[self.tid] ^ (b & 7)


LANE = operator.attrgetter("lane")


class Warp:
    """Lists of lanes: those that are there. run() returns those that come to the end of the code."""

    def __init__(self, g, b, w):
        self.lanes, self.g, self.word = [Lane(g, b, w, i) for i in range(min(32, g.threads - 32 * w))], g, 0
        self.run(g.prog, self.lanes, None)

    def left(self):
        return [t.acc for t in self.lanes]

    @staticmethod
    def mix(t, x, by=3):
        t.acc = t.acc * by + x & M32

    def run(self, code, m, way):
        for s in code:
            k = s[0]
            if not m:
                break
            if k == "calc":
                for t in m:
                    self.mix(t, s[1], 5)
            elif k == "here":
                mask = sum(1 << t.lane for t in m)
                for t in m:
                    self.mix(t, mask)
            elif k == "ballot":
                h = holds(s[1])
                v = sum(1 << t.lane for t in m if h(t))
                for t in m:
                    self.mix(t, v)
            elif k == "any":
                v = (all if s[2] else any)(map(holds(s[1]), m))
                for t in m:
                    self.mix(t, 77 if v else 5)
            elif k in ("first", "idx", "updown"):
                acc = {t.lane: t.acc for t in m}
                for t in m:
                    src = m[0].lane if k == "first" else s[1] if k == "idx" else {"up": t.lane - s[2], "down": t.lane + s[2], "bfly": t.lane ^ s[2]}[s[1]]
                    self.mix(t, acc.get(src if 0 <= src < 32 else t.lane, 0))
            elif k == "match":
                for t in m:
                    self.mix(t, 9 if self.g.legacy else sum(1 << u.lane for u in m if u.d & s[1] == t.d & s[1]))
            elif k == "agg":
                for i, t in enumerate(m):
                    self.mix(t, self.word + i)
                self.word += len(m)
            elif k == "if":
                a, b, h = [], [], holds(s[1])
                for t in m:
                    (a if h(t) else b).append(t)
                m = sorted(self.run(s[2], a, way) + self.run(s[3], b, way), key=LANE)
            elif k == "switch":
                cases, here, out = [[] for _ in s[2]], [], []
                for t in m:
                    cases[min(t.d & s[1], len(cases) - 1)].append(t)
                for c, (code_, leaves) in zip(cases, s[2]):
                    here = self.run(code_, sorted(here + c, key=LANE), way)
                    if leaves:
                        out, here = out + here, []
                m = sorted(out + here, key=LANE)
            elif k == "loop":
                m = self.rounds(s, m)
            elif k in ("skip", "break", "ret"):
                gone, stay, h = [], [], holds(s[1])
                for t in m:
                    (gone if h(t) else stay).append(t)
                m = stay
                if k != "ret":
                    way[k] += gone
            elif k in ("wrap", "signed", "ahead"):
                for t in m:
                    self.mix(t, 0 if k == "ahead" and t.lane < FAR else t.lane * 7)
            elif k == "space":
                h = holds(s[1])
                for t in m:
                    self.mix(t, t.lane * 3 + 1 if h(t) else t.lane * 7)
            elif k == "local":
                h = holds(s[1])
                for t in m:
                    self.mix(t, 2 * t.tid if h(t) else 0)
            elif k == "stray":
                for t in m:
                    self.mix(t, ((t.d + s[2]) * 5 & 31) * 7)
        return m

    def rounds(self, s, m):
        _, n, code, form = s
        out = []

        most = (lambda t: n[1]) if n[0] in ("const", "param") else (lambda t: t.d & n[1]) if n[0] == "data" else lambda t: (t.lane >> n[1] & n[2]) + 1
        for t in m:
            t.count.append(0)
        first = True
        while m:
            if form == "while" or not first:
                for t in m:
                    t.count[-1] += 1
                out += [t for t in m if t.count[-1] > most(t)]
                m = [t for t in m if t.count[-1] <= most(t)]
            first = False
            way = {"skip": [], "break": []}
            m = self.run(code, m, way)
            m = sorted(m + way["skip"], key=LANE)
            out += way["break"]
        for t in out:
            t.count.pop()
        return sorted(out, key=LANE)


def write(folder, first, count):
    for seed in range(first, first + count):
        with open(os.path.join(folder, "here_%04d.ptx" % seed), "w") as f:
            f.write(Program(seed).case(seed))
    return count
