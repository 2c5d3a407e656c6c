# SPDX-License-Identifier: MIT
"""Statements of talk.py in which all threads of a block, or of the grid, take part."""
import copy

from talk_emit import (M32, Word, atom, address, block_sync, condition, emit_condition, fence, give_back_off, holds, is_lane, leader, load, space,
                       store)
from talk_ways import Left, Statement


class Queue(Statement):
    """Warps fetch work by their leaders, until there is none; what it comes to is added up."""
    needs = True

    def __init__(self, g, group):
        self.w = Word(g, 2, True)
        self.said = Word(g, 1)
        self.jobs = g.r.randrange(1, 7)
        self.by = g.r.choice(("shfl", "word"))

    def emit(self, g, group):
        self.group = group
        x, y, q, lane = g.new("r"), g.new("r"), g.new("p"), leader(g, group)
        p = is_lane(g, lane)
        top, end, over = g.label(), g.label(), g.label()
        g.put(top)
        g.e("@!%s bra %s;" % (p, over))
        atom(g, self.w, "add.u32", x, 1)
        if self.by == "word":
            store(g, self.said, x)
        g.put(over)
        if self.by == "shfl":
            g.e("shfl.sync.idx.b32 %s, %s, %s, 31, %s;" % (x, x, lane, group.text()))
        else:
            g.e("bar.warp.sync %s;" % group.text())
            load(g, self.said, x)
            g.e("bar.warp.sync %s;" % group.text())
        g.e("setp.ge.u32 %s, %s, %d;" % (q, x, self.jobs), "@%s bra %s;" % (q, end), "mad.lo.u32 %s, %s, %d, %%lane;" % (y, x, 77))
        atom(g, self.total(), "add.u32", None, y)
        g.e("bra %s;" % top)
        g.put(end)
        block_sync(g)
        load(g, self.total(), y)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        block_sync(g)
        z, a = g.new("p"), address(g, self.w)
        g.e("setp.eq.u32 %s, %%me, 0;" % z, "mov.u32 %s, 0;" % y, "@%s st%s.u32 %s, %s;" % (z, space(self.w), a, y))
        block_sync(g)

    def total(self):
        w = copy.copy(self.w)
        w.at += 1
        return w

    def run(self, m, t):
        k, total, said = self.w.key(t), self.w.key(t, 1), ("said", id(self), t.blk, t.warp)
        while True:
            if t.lane == 0:
                m.mem[said] = m.mem.get(k, 0)
                m.mem[k] = m.mem[said] + 1
            yield ("warp", M32, None, id(self))
            x = m.mem[said]
            yield ("warp", M32, None, id(self) + 1)
            if x >= self.jobs:
                break
            m.mem[total] = m.mem.get(total, 0) + x * 77 + t.lane & M32
            yield
        yield ("bar", 0)
        t.mix(m.mem.get(total, 0))
        yield ("bar", 0)
        if t.tid == 0:
            m.mem[k] = 0
        yield ("bar", 0)


class Last(Statement):
    """Whoever comes last adds up what all have left."""
    needs = True

    def __init__(self, g, group):
        self.w = Word(g, g.threads, True)
        self.n = Word(g, 2, True)

    def emit(self, g, group):
        x, y, i, p, q = g.new("r"), g.new("r"), g.new("r"), g.new("p"), g.new("p")
        top, out = g.label(), g.label()
        store(g, self.w, "%a", "%me")
        fence(g)
        atom(g, self.n, "inc.u32", x, g.threads - 1)
        g.e("setp.ne.u32 %s, %s, %d;" % (p, x, g.threads - 1), "@%s bra %s;" % (p, out))
        fence(g)
        s = g.new("r")
        g.e("mov.u32 %s, 0;" % i, "mov.u32 %s, 0;" % s)
        g.put(top)
        load(g, self.w, y, i)
        g.e("mad.lo.u32 %s, %s, 3, %s;" % (s, s, y), "add.u32 %s, %s, 1;" % (i, i), "setp.lt.u32 %s, %s, %d;" % (q, i, g.threads), "@%s bra %s;" % (q, top))
        store(g, self.n, s, imm=1)
        g.put(out)
        block_sync(g)
        load(g, self.n, y, imm=1)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        block_sync(g)

    def run(self, m, t):
        m.mem[self.w.key(t, t.tid)] = t.a
        yield
        k = self.n.key(t)
        v = m.mem.get(k, 0)
        m.mem[k] = (v + 1) % m.g.threads
        if v == m.g.threads - 1:
            s = 0
            for i in range(m.g.threads):
                s = s * 3 + m.mem[self.w.key(t, i)] & M32
            m.mem[self.n.key(t, 1)] = s
        yield ("bar", 0)
        t.mix(m.mem[self.n.key(t, 1)])
        yield ("bar", 0)


class Sides(Statement):
    """Both sides of a branch come to the same barrier, each to an instruction of its own."""
    needs = True

    def __init__(self, g, group):
        self.c, self.plus = condition(g), g.r.randrange(1, 99)
        self.w = Word(g, g.threads, True)
        self.by = g.r.randrange(1, g.threads)

    def emit(self, g, group):
        p, other, out, x, y = emit_condition(g, self.c), g.label(), g.label(), g.new("r"), g.new("r")
        g.e("@%s bra %s;" % (p, other), "add.u32 %%a, %%a, %d;" % self.plus)
        store(g, self.w, "%a", "%me")
        g.e("barrier.sync 0;", "bra %s;" % out)
        g.put(other)
        store(g, self.w, "%a", "%me")
        g.e("barrier.sync 0;")
        g.put(out)
        g.e("add.u32 %s, %%me, %d;" % (x, self.by), "and.b32 %s, %s, %d;" % (x, x, g.threads - 1))
        load(g, self.w, y, x)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        block_sync(g)

    def run(self, m, t):
        if not holds(self.c, t):
            t.a = t.a + self.plus & M32
        m.mem[self.w.key(t, t.tid)] = t.a
        yield ("bar", 0)
        t.mix(m.mem[self.w.key(t, (t.tid + self.by) % m.g.threads)])
        yield ("bar", 0)


class Arrive(Statement):
    """A warp says that its words are there, without waiting; the others wait for it."""
    needs = True

    def __init__(self, g, group):
        self.w = Word(g, 32, True)
        self.warp = g.r.randrange(g.nw)

    def emit(self, g, group):
        p, other, out, y = g.new("p"), g.label(), g.label(), g.new("r")
        g.e("setp.ne.u32 %s, %%warp, %d;" % (p, self.warp), "@%s bra %s;" % (p, other))
        store(g, self.w, "%a", "%lane")
        fence(g)
        g.e("barrier.arrive 2, %d;" % g.threads, "bra %s;" % out)
        g.put(other)
        g.e("barrier.sync 2, %d;" % g.threads)
        load(g, self.w, y, "%lane")
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        g.put(out)
        block_sync(g)

    def run(self, m, t):
        said = ("arrived", id(self), t.blk)
        if t.warp == self.warp:
            m.mem[self.w.key(t, t.lane)] = t.a
            m.mem[said] = m.mem.get(said, 0) + 1
        else:
            while m.mem.get(said, 0) % 32 or not m.mem.get(said, 0):
                yield ("spin",)
            t.mix(m.mem[self.w.key(t, t.lane)])
        yield ("bar", 0)
        m.mem[said] = 0
        yield ("bar", 0)


class Grid(Statement):
    """The blocks wait for each other and read what the others have left."""
    needs = True

    def __init__(self, g, group):
        g.coop = True
        self.at = g.grid_words
        g.grid_words += 1 + g.nb
        self.by = g.r.choice(("all", "one"))

    def emit(self, g, group):
        p, over, x, y = g.new("p"), g.label(), g.new("r"), g.new("r")
        a = "[%%all+%d]" % (4 * self.at)
        g.e("setp.ne.u32 %s, %%me, 0;" % p)
        g.e("mad.wide.u32 %o, %blk, 4, %all;", "@!%s st.global.u32 [%%o+%d], %%a;" % (p, 4 * self.at + 4))
        self.wait(g, p, a)
        g.e("xor.b32 %s, %%blk, %d;" % (x, g.nb - 1), "mad.wide.u32 %%o, %s, 4, %%all;" % x, "ld%s.global.u32 %s, [%%o+%d];" % (
            g.r.choice((".volatile", ".relaxed.gpu")), y, 4 * self.at + 4), "mad.lo.u32 %%a, %%a, 5, %s;" % y)
        self.wait(g, p, a)

    def wait(self, g, p, a):
        over, top, x, y, q = g.label(), g.label(), g.new("r"), g.new("r"), g.new("p")
        g.e("bar.sync 0;", "@%s bra %s;" % (p, over), "membar.gl;", "atom.global.add.u32 %s, %s, 1;" % (x, a))
        g.e("or.b32 %s, %s, %d;" % (x, x, g.nb - 1))
        g.put(top)
        g.e("ld%s.global.u32 %s, %s;" % (g.r.choice((".volatile", ".relaxed.gpu", ".acquire.gpu")), y, a), "setp.le.u32 %s, %s, %s;" % (q, y, x))
        give_back_off(g)
        g.e("@%s bra %s;" % (q, top), "membar.gl;")
        g.put(over)
        g.e("bar.sync 0;")

    def run(self, m, t):
        for half in range(2):
            if not half and t.tid == 0:
                m.mem["grid", self.at, t.blk] = t.a
            yield ("grid", id(self))
            if not half:
                t.mix(m.mem["grid", self.at, t.blk ^ (m.g.nb - 1)])


class Gone(Statement):
    """Some threads are through. What comes behind it is for the others alone."""
    needs = True

    def __init__(self, g, group):
        self.c = condition(g)

    def emit(self, g, group):
        self.group = group
        p, self.mask = emit_condition(g, self.c), g.new("m")
        g.e("vote.sync.ballot.b32 %s, %s, %s;" % (self.mask, p, group.text()), "not.b32 %s, %s;" % (self.mask, self.mask),
            "and.b32 %s, %s, %s;" % (self.mask, self.mask, group.text()), "@%s st.global.u32 [%%out], %%a;" % p, "@%s ret;" % p)

    def run(self, m, t):
        mask, out = t.mask(self.group), holds(self.c, t)
        got = yield ("warp", mask, out, id(self))
        t.masks[self.mask] = mask & ~sum(v << i for i, v in got.items())
        if out:
            raise Left
