# SPDX-License-Identifier: MIT
"""Random programs whose lanes part and talk to one another through memory, and what each of their threads leaves.

What they leave is the same however threads are interleaved: that is all that CUDA promises of threads that run by themselves (sm_70 and on).
Words are written by one thread and read by others behind __syncwarp(), a barrier, or a flag that is released and acquired; changed by
atomics whose order does not matter; changed in an order that a counter gives out; or changed under a lock. Lanes spin for others of
their own warp, in front of them and behind them, in loops that lanes leave, skip the rest of, or go round as often as each one's number says.

The model runs threads one at a time, in an order drawn by chance (Machine). `talk.py FOLDER FIRST COUNT -c` runs each program in several of them, which must agree.
"""
import os
import random
import sys

from talk_emit import M32, Group, condition, emit_condition, holds, static
from talk_block import Arrive, Gone, Grid, Last, Queue, Sides
from talk_ways import Calc, Chain, Count, Left, Lock, Look, Pairs, Statement, Swap, Tell, Tickets, Wait

STEPS = 60000           # of a program, in the model


class TooLong(Exception):
    pass


def needs(code):
    return any(s.needs or needs(s.kids()) for s in code)


class If(Statement):
    """skip: not an `if`, but the rest of a loop's round, which others do not do."""

    def __init__(self, g, group, skip=None):
        r = g.r
        self.c, self.skip = condition(g), skip
        m = static(self.c)
        # sync of those of both sides needs masks; sometimes there are none
        if isinstance(group.mask, str) or m is None:
            one, two = "%m", "%m"
        else:
            one, two = group.mask & m, group.mask & ~m
        self.then = block(g, Group(one, False, None, group.depth + 1), r.randint(1, 2)) if one else [Calc(g, group)]
        self.other = block(g, Group(two, False, None, group.depth + 1), r.randint(1, 2)) if not skip and two and r.randrange(2) else []

    def kids(self):
        return self.then + self.other

    def emit(self, g, group):
        self.group = group
        p = emit_condition(g, self.c)
        m = static(self.c)
        self.masks = None
        if needs(self.kids()):
            if isinstance(group.mask, str) or m is None:
                one, two, full = g.new("m"), g.new("m"), group.text()
                self.masks = (one, two)
                g.e("vote.sync.ballot.b32 %s, %s, %s;" % (one, p, full), "not.b32 %s, %s;" % (two, one), "and.b32 %s, %s, %s;" % (two, two, full))
            else:
                one, two = group.mask & m, group.mask & ~m
        else:
            one = two = 0
        end, alt = g.label(), g.label()
        inner = lambda mask: Group(mask, False, None, group.depth + 1)
        if self.skip:
            g.e("@!%s bra %s;" % (p, self.skip))
            emit(g, inner(one), self.then)
            return
        if self.other and g.r.randrange(2):
            g.e("@%s bra %s;" % (p, alt))
            emit(g, inner(two), self.other)
            g.e("bra %s;" % end)
            g.put(alt)
            emit(g, inner(one), self.then)
        else:
            g.e("@!%s bra %s;" % (p, alt if self.other else end))
            emit(g, inner(one), self.then)
            if self.other:
                g.e("bra %s;" % end)
                g.put(alt)
                emit(g, inner(two), self.other)
        g.put(end)

    def run(self, m, t):
        yes = holds(self.c, t)
        if self.masks:
            mask = t.mask(self.group)
            got = yield ("warp", mask, yes, id(self))
            t.masks[self.masks[0]] = sum(v << i for i, v in got.items())
            t.masks[self.masks[1]] = mask & ~t.masks[self.masks[0]]
        yield from run(m, t, self.then if yes else self.other)


class Loop(Statement):
    """As often as a number says, or each lane's datum; with lanes that skip the rest of a round, or leave."""

    def __init__(self, g, group):
        r = g.r
        self.own = r.randrange(3) == 0
        self.times = r.randint(1, 4)
        inner = Group("%m" if self.own or isinstance(group.mask, str) else group.mask, group.whole and not self.own, None, group.depth + 1)
        self.leave = condition(g) if r.randrange(4) == 0 else None
        if self.leave:
            inner = Group("%m", False, None, group.depth + 1)
        self.before = block(g, inner, r.randint(1, 2))
        self.after = block(g, inner, r.randint(0, 1)) if self.leave else []
        self.rest = None
        if r.randrange(2):
            self.rest = If(g, inner, "later")
        self.form = r.randrange(3)

    def kids(self):
        return self.before + self.after + ([self.rest] if self.rest else [])

    def emit(self, g, group):
        self.group = group
        i, p, n = g.new("r"), g.new("p"), g.new("r")
        head, latch, end = g.label(), g.label(), g.label()
        self.masked = needs(self.kids()) and (self.own or self.leave is not None)
        inner = Group(group.mask, group.whole and not self.masked and not self.own and not self.leave, None, group.depth + 1)
        self.mask = None
        if self.masked:
            self.mask = g.new("m")
            g.e("mov.b32 %s, %s;" % (self.mask, group.text()))
            inner.mask = self.mask
        g.e("mov.u32 %s, 0;" % i)
        if self.own:
            g.e("and.b32 %s, %%d, 3;" % n)
        else:
            g.e("mov.u32 %s, %d;" % (n, self.times))

        def test(leaving):
            g.e("setp.ge.u32 %s, %s, %s;" % (p, i, n))
            if self.own and self.masked:
                x, q = g.new("m"), g.new("p")
                g.e("not.pred %s, %s;" % (q, p), "vote.sync.ballot.b32 %s, %s, %s;" % (x, q, self.mask), "@!%s mov.b32 %s, %s;" % (p, self.mask, x))
            g.e("@%s%s bra %s;" % ("" if leaving else "!", p, end if leaving else head))
        self.tested = self.form != 2
        if self.form != 2:
            g.put(head)
            test(True)
            g.e("add.u32 %s, %s, 1;" % (i, i))
        else:
            g.put(head)
            g.e("add.u32 %s, %s, 1;" % (i, i))
        emit(g, inner, self.before)
        if self.leave:
            q = emit_condition(g, self.leave)
            if self.masked:
                x = g.new("m")
                g.e("vote.sync.ballot.b32 %s, %s, %s;" % (x, q, self.mask), "not.b32 %s, %s;" % (x, x), "@!%s and.b32 %s, %s, %s;" % (q, self.mask, self.mask, x))
            g.e("@%s bra %s;" % (q, end))
        emit(g, inner, self.after)
        if self.rest:
            # jumps right to the loop's beginning, or to where its round ends
            self.rest.skip = head if self.form == 0 else latch
            self.rest.emit(g, inner)
        g.put(latch)
        if self.form != 2:
            g.e("bra %s;" % head)
        else:
            test(False)
        g.put(end)
        if self.masked:         # nobody comes here again while others are still at it
            g.e("bar.warp.sync %s;" % group.text())

    def run(self, m, t):
        n = t.d & 3 if self.own else self.times
        mask = None
        if self.masked:
            t.masks[self.mask] = t.mask(self.group)
        i = 0

        def test():
            if self.own and self.masked:
                got = yield ("warp", t.masks[self.mask], i < n, id(self))
                if i < n:
                    t.masks[self.mask] = sum(v << k for k, v in got.items())
        while True:
            if self.form != 2:
                yield from test()
                if i >= n:
                    break
            i += 1
            yield from run(m, t, self.before)
            if self.leave:
                out = holds(self.leave, t)
                if self.masked:
                    got = yield ("warp", t.masks[self.mask], out, id(self) + 1)
                    if not out:
                        t.masks[self.mask] &= ~sum(v << k for k, v in got.items())
                if out:
                    break
            yield from run(m, t, self.after)
            if self.rest:
                yield from self.rest.run(m, t)
            if self.form == 2:
                yield from test()
                if i >= n:
                    break
        if self.masked:
            yield ("warp", t.mask(self.group), None, 0)


TALK = [Tell, Tell, Swap, Count, Count, Tickets, Wait, Wait, Chain, Lock, Lock, Pairs, Queue, Last, Sides, Arrive, Grid, Look, Look]


def block(g, group, size):
    out = []
    for _ in range(size):
        x = g.r.randrange(100)
        if x < 15 and group.depth < 3:
            out.append(Loop(g, group))
        elif x < 40 and group.depth < 3:
            out.append(If(g, group))
        elif x < 50:
            out.append(Calc(g, group))
        else:
            kind = g.r.choice(TALK)
            # these have all lanes, or all threads, take part
            if kind in (Queue, Last, Sides, Arrive, Grid) and not (group.whole and group.depth < 2):
                kind = Count
            if kind is Grid and g.nb < 2 or kind is Arrive and g.nw < 2:
                kind = Sides
            if kind is Pairs and (isinstance(group.mask, str) or group.mask != M32 or group.depth > 1):
                kind = Wait
            if kind is Swap and (isinstance(group.mask, str) or group.mask != M32):
                kind = Tell
            out.append(kind(g, group))
    return out


def emit(g, group, code):
    for s in code:
        s.emit(g, group)


def run(m, t, code):
    for s in code:
        yield from s.run(m, t)


def without(code, cut, number):
    """The statements, by their numbers, that are not cut."""
    out = []
    for s in code:
        number[0] += 1
        here = number[0]
        for part in ("then", "other", "before", "after"):
            if hasattr(s, part):
                setattr(s, part, without(getattr(s, part), cut, number))
        if isinstance(s, Loop) and s.rest:
            s.rest = (without([s.rest], cut, number) or [None])[0]
        if isinstance(s, Loop) and -here in cut:
            s.times = 1
        if here not in cut:
            out.append(s)
    return out


class Thread:
    def __init__(self, blk, tid, d):
        self.blk, self.tid, self.lane, self.warp, self.d = blk, tid, tid % 32, tid // 32, d
        self.a = tid
        self.masks = {}

    def mix(self, x):
        self.a = self.a * 5 + int(x) & M32

    def mask(self, group):
        return self.masks[group.mask] if isinstance(group.mask, str) else group.mask


class Machine:
    """Threads, one at a time for as long as chance says, or until they wait."""

    def __init__(self, g, order, far):
        self.g, self.r, self.far, self.mem = g, random.Random(order), far, {}

    def run(self):
        g = self.g
        ts = [Thread(b, i, g.data[i]) for b in range(g.nb) for i in range(g.threads)]
        gens = [run(self, t, g.prog) for t in ts]
        send = [None] * len(ts)
        ready = list(range(len(ts)))
        places, steps = {}, 0
        while ready:
            at = self.r.randrange(len(ready))
            k = ready[at]
            for _ in range(self.r.randint(1, self.far)):
                steps += 1
                if steps > STEPS:
                    raise TooLong
                try:
                    said = gens[k].send(send[k])
                except (StopIteration, Left):
                    ready[at] = ready[-1]
                    ready.pop()
                    break
                send[k] = None
                if said is None:
                    continue
                if said[0] == "spin":
                    break
                t = ts[k]
                key = (t.blk, "bar") if said[0] == "bar" else said if said[0] == "grid" else (t.blk, t.warp, said[1], said[3])
                here = places.setdefault(key, [])
                here.append((k, said))
                ready[at] = ready[-1]
                ready.pop()
                if len(here) == (g.threads if said[0] == "bar" else g.threads * g.nb if said[0] == "grid" else bin(said[1]).count("1")):
                    del places[key]
                    got = {ts[i].lane: x[2] for i, x in here} if said[0] == "warp" else None
                    for i, x in here:
                        send[i] = got
                        ready.append(i)
                break
        assert not places, "threads that wait for ever"
        return [t.a for t in ts]


class Program:
    def __init__(self, seed, cut=()):
        self.r = r = random.Random(seed)
        self.seed, self.nw, self.nb = seed, r.choice((1, 1, 2)), r.choice((1, 1, 2))
        self.threads = 32 * self.nw
        self.spaces = r.choice((("shared",), ("shared",), ("global",), ("shared", "global")))
        self.how = r.choice((("",), (".volatile",), (".relaxed.cta",), ("", ".volatile", ".relaxed.gpu")))
        self.used, self.code, self.labels, self.fresh = {}, [], 0, {"r": 0, "p": 0, "q": 0, "m": 0}
        self.data = [r.randrange(8) for _ in range(self.threads)]
        self.grid_words, self.coop = 0, False
        whole = Group(M32, True)
        self.prog = block(self, whole, r.randint(1, 3))
        if r.randrange(6) == 0:
            self.prog += [Gone(self, whole)] + block(self, Group("%m", False), r.randint(1, 2))
        self.prog = without(self.prog, cut, [0])
        gone = next((i for i, x in enumerate(self.prog) if isinstance(x, Gone)), len(self.prog))
        emit(self, whole, self.prog[:gone + 1])
        if gone < len(self.prog):
            emit(self, Group(self.prog[gone].mask, False), self.prog[gone + 1:])

    def e(self, *lines):
        self.code += ["\t" + x for x in lines]

    def put(self, label):
        self.code.append(label + ":")

    def new(self, kind):
        self.fresh[kind] += 1
        return "%%%s%d" % ({"r": "r", "p": "p", "q": "q", "m": "m"}[kind], self.fresh[kind])

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def block_words(self):
        return self.used.get(("shared", True), 0)

    def words(self, space):
        b, w = self.used.get((space, True), 0), self.used.get((space, False), 0)
        return b, w, max(1, b + w * self.nw)

    def text(self, want):
        sb, sw, sn = self.words("shared")
        gb, gw, gn = self.words("global")
        head = ["// talk %d, by a model of its own (tests/ptx/oracle/talk.py)." % self.seed,
                "// launch: k grid=%d block=%d %sargs=out:u32[%d],data:u32[%d]={%s},g:u32[%d]" % (
                    self.nb, self.threads, "coop " if self.coop else "", len(want), self.threads, ",".join(map(str, self.data)), gn * self.nb + self.grid_words),
                "// expect: out = %s" % " ".join(map(str, want)),
                ".version 7.0", ".target sm_70", ".address_size 64", "",
                ".visible .entry k(.param .u64 out, .param .u64 data, .param .u64 g)", "{"]
        head += ["\t.reg .%s %%%s<%d>;" % (t, k, self.fresh[k] + 1) for k, t in (("p", "pred"), ("r", "b32"), ("q", "b64"), ("m", "b32"))]
        head += ["\t.reg .b32 %me, %lane, %warp, %a, %d, %sb, %sw, %i, %blk;", "\t.reg .b64 %gb, %gw, %xb, %xw, %out, %in, %o, %all;", "\t.reg .pred %z;",
                 "\t.shared .align 4 .b8 words[%d];" % (4 * sn)]
        o = ["mov.u32 %me, %tid.x;", "and.b32 %lane, %me, 31;", "shr.u32 %warp, %me, 5;", "mov.u32 %blk, %ctaid.x;", "mov.u32 %a, %me;",
             "ld.param.u64 %in, [data];", "mul.wide.u32 %o, %me, 4;", "add.u64 %in, %in, %o;", "ld.global.u32 %d, [%in];",
             "ld.param.u64 %gb, [g];", "add.u64 %%all, %%gb, %d;" % (4 * gn * self.nb), "mul.wide.u32 %%o, %%blk, %d;" % (4 * gn), "add.u64 %gb, %gb, %o;",
             "mul.wide.u32 %%o, %%warp, %d;" % (4 * gw), "add.u64 %gw, %gb, %o;", "add.u64 %%gw, %%gw, %d;" % (4 * gb),
             "mov.u32 %sb, words;", "mad.lo.u32 %%sw, %%warp, %d, %%sb;" % (4 * sw), "add.u32 %%sw, %%sw, %d;" % (4 * sb),
             "cvt.u64.u32 %xb, %sb;", "cvta.shared.u64 %xb, %xb;", "cvt.u64.u32 %xw, %sw;", "cvta.shared.u64 %xw, %xw;",
             "ld.param.u64 %out, [out];", "mad.lo.u32 %%i, %%blk, %d, %%me;" % self.threads, "mul.wide.u32 %o, %i, 4;", "add.u64 %out, %out, %o;",
             "mov.u32 %i, %me;"]
        head += ["\t" + x for x in o]
        # its words are none
        head += ["ZERO:", "\tsetp.ge.u32 %%z, %%i, %d;" % sn, "\t@%z bra BEGIN;", "\tmad.lo.u32 %r0, %i, 4, %sb;", "\tmov.u32 %m0, 0;",
                 "\tst.shared.u32 [%r0], %m0;", "\tadd.u32 %%i, %%i, %d;" % self.threads, "\tbra ZERO;", "BEGIN:", "\tbar.sync 0;"]
        return "\n".join(head + self.code + ["\tst.global.u32 [%out], %a;", "\tret;", "}", ""])


def program(seed, check=False, cut=()):
    """The text; None: too long for a model."""
    g = Program(seed, cut)
    try:
        want = Machine(g, seed, 12).run()
        for i, far in enumerate((1, 3, 1000, 1000) if check else ()):
            assert Machine(g, seed + 1 + i, far).run() == want, "what program %d leaves depends on the order" % seed
    except TooLong:
        return None
    return g.text(want)


def write(folder, first, count, check=False):
    """Programs first and on, as cases; how many."""
    done = 0
    for seed in range(first, first + count):
        text = program(seed, check)
        if text:
            with open(os.path.join(folder, "talk_%04d.ptx" % seed), "w") as f:
                f.write(text)
            done += 1
    assert done * 2 > count, "most programs are too long for the model"
    return done


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print("%d programs" % write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "-c" in sys.argv))
