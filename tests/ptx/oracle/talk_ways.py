# SPDX-License-Identifier: MIT
"""The ways in which the lanes of talk.py talk to one another: each writes its instructions, and is what a thread of the model does."""
from talk_emit import (M32, Word, access, address, atom, block_sync, condition, emit_condition, fence, give_back_off, holds, is_lane, leader, load, meet,
                       signal, space, spin_load, store, sync, wait_until)


class Left(Exception):
    """A thread has come to its end."""


class Statement:
    """needs: does it use the group's mask?"""
    needs = False

    def kids(self):
        return []


def spoken(s, mask):
    """The lane that a statement has chosen."""
    return (mask & -mask).bit_length() - 1 if isinstance(s.lane, str) else s.lane


def chosen(s, g, group):
    """Chooses the lane of a statement; the predicate that is its."""
    if not s.block:
        s.lane = leader(g, group)
        return is_lane(g, s.lane)
    s.lane = g.r.randrange(g.threads)
    p = g.new("p")
    g.e("setp.eq.u32 %s, %%me, %d;" % (p, s.lane))
    return p


class Calc(Statement):
    def __init__(self, g, group):
        self.c = g.r.randrange(1, 99)
        self.d = g.r.randrange(2)

    def emit(self, g, group):
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % ("%d" if self.d else self.c))

    def run(self, m, t):
        t.mix(t.d if self.d else self.c)
        return
        yield


class Look(Statement):
    """A shuffle or a vote."""
    needs = True

    def __init__(self, g, group):
        self.kind = g.r.choice(("shfl", "ballot", "any"))
        self.c = condition(g)

    def emit(self, g, group):
        self.group = group
        x = g.new("r")
        if self.kind == "shfl":
            self.lane = leader(g, group)
            g.e("shfl.sync.idx.b32 %s, %%a, %s, 31, %s;" % (x, self.lane, group.text()))
        else:
            p = emit_condition(g, self.c)
            if self.kind == "ballot":
                g.e("vote.sync.ballot.b32 %s, %s, %s;" % (x, p, group.text()))
            else:
                q = g.new("p")
                g.e("vote.sync.any.pred %s, %s, %s;" % (q, p, group.text()), "selp.u32 %s, 1, 0, %s;" % (x, q))
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % x)

    def run(self, m, t):
        mask = t.mask(self.group)
        if self.kind == "shfl":
            got = yield ("warp", mask, t.a, id(self))
            lane = spoken(self, mask)
            t.mix(got[lane])
        else:
            got = yield ("warp", mask, holds(self.c, t), id(self))
            b = sum(v << i for i, v in got.items())
            t.mix(b if self.kind == "ballot" else b != 0)


class Tell(Statement):
    """A leader says something, the others read it. twice: two words, by two leaders."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.r.randrange(3) == 0
        self.w = Word(g, 2, self.block)
        self.again = group.depth > 0 or g.r.randrange(2)
        self.side = g.r.randrange(3)
        self.plus = g.r.randrange(1, 99)

    def emit(self, g, group):
        self.group = group
        p = chosen(self, g, group)
        over, x, y = g.label(), g.new("r"), g.new("r")
        if self.side == 0:
            g.e("@!%s bra %s;" % (p, over), "add.u32 %s, %%a, %d;" % (x, self.plus))
            store(g, self.w, x)
            g.put(over)
        elif self.side == 1:
            a = address(g, self.w)
            g.e("add.u32 %s, %%a, %d;" % (x, self.plus), "@%s st%s%s.u32 %s, %s;" % (p, access(g, self.w), space(self.w), a, x))
        else:
            # the others do something meanwhile
            behind = g.label()
            g.e("@%s bra %s;" % (p, over), "mad.lo.u32 %%a, %%a, 5, %d;" % self.plus, "bra %s;" % behind)
            g.put(over)
            g.e("add.u32 %s, %%a, %d;" % (x, self.plus))
            store(g, self.w, x)
            g.put(behind)
        self.first = self.meet(g, group)
        load(g, self.w, y)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        self.last = self.meet(g, group) if self.again else None

    def meet(self, g, group):
        if self.block:
            block_sync(g)
            return ("bar", 0)
        return sync(g, group)

    def run(self, m, t):
        if self.block:
            mine = t.tid == self.lane
        else:
            mask = t.mask(self.group)
            mine = t.lane == spoken(self, mask)
        if mine:
            m.mem[self.w.key(t)] = t.a + self.plus & M32
            yield
        elif self.side == 2:
            t.mix(self.plus)
        yield from meet(t, self.first, self.group)
        t.mix(m.mem.get(self.w.key(t), 0))
        if self.last:
            yield from meet(t, self.last, self.group)


class Swap(Statement):
    """Each lane writes its word and reads another's."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.r.randrange(3) == 0
        self.n = g.threads if self.block else 32
        self.w = Word(g, self.n, self.block)
        self.by = g.r.randrange(1, self.n)
        self.again = group.depth > 0 or g.r.randrange(2)

    def emit(self, g, group):
        self.group = group
        me = "%me" if self.block else "%lane"
        store(g, self.w, "%a", me)
        self.first = Tell.meet(self, g, group)
        x, y = g.new("r"), g.new("r")
        g.e("add.u32 %s, %s, %d;" % (x, me, self.by))
        if self.n & (self.n - 1):
            g.e("rem.u32 %s, %s, %d;" % (x, x, self.n))
        else:
            g.e("and.b32 %s, %s, %d;" % (x, x, self.n - 1))
        load(g, self.w, y, x)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        self.last = Tell.meet(self, g, group) if self.again else None

    def run(self, m, t):
        me = t.tid if self.block else t.lane
        m.mem[self.w.key(t, me)] = t.a
        yield from meet(t, self.first, self.group)
        other = (me + self.by) % self.n
        t.mix(m.mem.get(self.w.key(t, other), 0))
        if self.last:
            yield from meet(t, self.last, self.group)


class Count(Statement):
    """Atomics by some, what they come to read by all."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.r.randrange(3) == 0
        self.w = Word(g, 1, self.block)
        self.c = condition(g)
        self.op = g.r.choice(("add", "xor", "max", "inc"))
        self.again = group.depth > 0 or g.r.randrange(2)

    def emit(self, g, group):
        self.group = group
        p, over = emit_condition(g, self.c), g.label()
        g.e("@!%s bra %s;" % (p, over))
        x = g.new("r") if g.r.randrange(2) or self.op == "inc" else None
        how = {"add": "add.u32", "xor": "xor.b32", "max": "max.u32", "inc": "inc.u32"}[self.op]
        atom(g, self.w, how, x, "%a" if self.op != "inc" else 0xffff)
        g.put(over)
        self.first = Tell.meet(self, g, group)
        y = g.new("r")
        load(g, self.w, y)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        self.last = Tell.meet(self, g, group) if self.again else None

    def run(self, m, t):
        k = self.w.key(t)
        if holds(self.c, t):
            v = m.mem.get(k, 0)
            m.mem[k] = (v + t.a & M32 if self.op == "add" else v ^ t.a if self.op == "xor" else max(v, t.a) if self.op == "max"
                        else 0 if v >= 0xffff else v + 1)
            yield
        yield from meet(t, self.first, self.group)
        t.mix(m.mem.get(k, 0))
        if self.last:
            yield from meet(t, self.last, self.group)


class Tickets(Statement):
    """Each takes a number and writes its word there; all add up what is there."""
    needs = True

    def __init__(self, g, group):
        self.w = Word(g, 33)
        self.c = condition(g)

    def emit(self, g, group):
        self.group = group
        p, over, top, x = emit_condition(g, self.c), g.label(), g.label(), g.new("r")
        i, y, q = g.new("r"), g.new("r"), g.new("p")
        g.e("@!%s bra %s;" % (p, over))
        how = g.r.choice((("add.u32", 1), ("inc.u32", 0xffff)))
        atom(g, self.w, how[0], x, how[1])
        store(g, self.w, "%a", x, 1)
        g.put(over)
        self.first = sync(g, group)
        n, sum_ = g.new("r"), g.new("r")
        load(g, self.w, n)
        g.e("mov.u32 %s, 0;" % i, "mov.u32 %s, 0;" % sum_)
        g.put(top)
        end = g.label()
        g.e("setp.ge.u32 %s, %s, %s;" % (q, i, n), "@%s bra %s;" % (q, end))
        load(g, self.w, y, i, 1)
        g.e("add.u32 %s, %s, %s;" % (sum_, sum_, y), "add.u32 %s, %s, 1;" % (i, i), "bra %s;" % top)
        g.put(end)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % sum_)
        self.last = sync(g, group)
        # and the count is none again
        self.lane = leader(g, group)
        z = is_lane(g, self.lane)
        a = address(g, self.w)
        g.e("mov.u32 %s, 0;" % y, "@%s st%s.u32 %s, %s;" % (z, space(self.w), a, y))
        self.end = sync(g, group)

    def run(self, m, t):
        k = self.w.key(t)
        if holds(self.c, t):
            v = m.mem.get(k, 0)
            m.mem[k] = v + 1
            yield
            m.mem[self.w.key(t, 1 + v)] = t.a
            yield
        yield from meet(t, self.first, self.group)
        t.mix(sum(m.mem[self.w.key(t, 1 + i)] for i in range(m.mem.get(k, 0))) & M32)
        yield from meet(t, self.last, self.group)
        mask = t.mask(self.group)
        if t.lane == spoken(self, mask):
            m.mem[k] = 0
        yield from meet(t, self.end, self.group)


class Wait(Statement):
    """Lanes spin until one has said so: it comes before them in the text, behind them, or on the other side of their branch."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.r.randrange(2) == 0
        self.w = Word(g, 2, self.block)
        self.side = g.r.randrange(4)
        self.plus = g.r.randrange(1, 99)

    def emit(self, g, group):
        self.group = group
        p = chosen(self, g, group)
        x, y, over, out = g.new("r"), g.new("r"), g.label(), g.label()

        def say():
            g.e("add.u32 %s, %%a, %d;" % (x, self.plus))
            store(g, self.w, x)
            v = g.new("r")
            g.e("mov.u32 %s, 1;" % v)
            signal(g, self.w, v, imm=1)

        def hear():
            wait_until(g, self.w, "eq", 1, imm=1)
            load(g, self.w, y)
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        if self.side == 0:
            g.e("@!%s bra %s;" % (p, over))
            say()
            g.put(over)
            hear()
        elif self.side == 1:
            g.e("@%s bra %s;" % (p, over))
            hear()
            g.e("bra %s;" % out)
            g.put(over)
            say()
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % x)
            g.put(out)
        elif self.side == 2:
            g.e("@%s bra %s;" % (p, over))
            hear()
            g.put(over)
            g.e("@!%s bra %s;" % (p, out))
            say()
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % x)
            g.put(out)
        else:
            g.e("@!%s bra %s;" % (p, over))
            say()
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % x, "bra %s;" % out)
            g.put(over)
            hear()
            g.put(out)
        self.first = Tell.meet(self, g, group)
        a = address(g, self.w, imm=1)
        g.e("mov.u32 %s, 0;" % y, "@%s st%s.u32 %s, %s;" % (p, space(self.w), a, y))
        self.last = Tell.meet(self, g, group)

    def run(self, m, t):
        if self.block:
            mine = t.tid == self.lane
        else:
            mask = t.mask(self.group)
            mine = t.lane == spoken(self, mask)
        k = self.w.key(t, 1)
        if mine:
            m.mem[self.w.key(t)] = t.a + self.plus & M32
            yield
            m.mem[k] = 1
            yield
        else:
            while m.mem.get(k, 0) != 1:
                yield ("spin",)
        t.mix(m.mem[self.w.key(t)])
        yield from meet(t, self.first, self.group)
        if mine:
            m.mem[k] = 0
        yield from meet(t, self.last, self.group)


class Chain(Statement):
    """One after the other, in an order of the lanes': each changes a word that the one before has left."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.nw > 1 and g.r.randrange(2) == 0
        self.n = g.threads if self.block else 32
        self.w = Word(g, 2, self.block)
        self.order = g.r.choice(("up", "down", "mix"))
        self.one_loop = g.r.randrange(2)

    def place(self, me):
        return me if self.order == "up" else self.n - 1 - me if self.order == "down" else me ^ 5 if self.n % 8 == 0 else me

    def emit(self, g, group):
        self.group = group
        me = "%me" if self.block else "%lane"
        x, y, z = g.new("r"), g.new("r"), g.new("r")
        if self.order == "down":
            g.e("sub.u32 %s, %d, %s;" % (x, self.n - 1, me))
        elif self.order == "mix":
            g.e("xor.b32 %s, %s, 5;" % (x, me))
        else:
            g.e("mov.u32 %s, %s;" % (x, me))
        n = g.new("r")
        if not self.block and (isinstance(group.mask, str) or group.mask != M32):
            # its number among those who are here
            i, m_, q, top = g.new("r"), g.new("r"), g.new("p"), g.label()
            g.e("mov.u32 %s, 0;" % n, "mov.u32 %s, 0;" % i)
            g.put(top)
            b = g.new("r")
            if self.order == "down":
                g.e("sub.u32 %s, 31, %s;" % (b, i))
            elif self.order == "mix":
                g.e("xor.b32 %s, %s, 5;" % (b, i))
            else:
                g.e("mov.u32 %s, %s;" % (b, i))
            g.e("shr.u32 %s, %s, %s;" % (m_, group.text() if isinstance(group.mask, str) else self.mask_register(g, group), b),
                "and.b32 %s, %s, 1;" % (m_, m_), "setp.ge.u32 %s, %s, %s;" % (q, i, x), "selp.u32 %s, 0, %s, %s;" % (m_, m_, q),
                "add.u32 %s, %s, %s;" % (n, n, m_), "add.u32 %s, %s, 1;" % (i, i), "setp.lt.u32 %s, %s, 32;" % (q, i), "@%s bra %s;" % (q, top))
        else:
            g.e("mov.u32 %s, %s;" % (n, x))

        def mine():
            load(g, self.w, y)
            g.e("mad.lo.u32 %s, %s, 3, %%a;" % (y, y))
            store(g, self.w, y)
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y, "add.u32 %s, %s, 1;" % (z, n))
            signal(g, self.w, z, imm=1)
        if self.one_loop:
            # what is to be done lies within the loop that waits
            top, out, again, p = g.label(), g.label(), g.label(), g.new("p")
            g.put(top)
            v, ordered = spin_load(g, self.w, imm=1)
            g.e("setp.ne.u32 %s, %s, %s;" % (p, v, n), "@%s bra %s;" % (p, again))
            if not ordered:
                fence(g)
            mine()
            g.e("bra %s;" % out)
            g.put(again)
            give_back_off(g)
            g.e("bra %s;" % top)
            g.put(out)
        else:
            wait_until(g, self.w, "eq", n, imm=1)
            mine()
        self.first = Tell.meet(self, g, group)
        p = g.new("p")
        if self.block:
            g.e("setp.eq.u32 %s, %%me, 0;" % p)
        else:
            self.lane = leader(g, group)
            p = is_lane(g, self.lane)
        a = address(g, self.w, imm=1)
        load(g, self.w, y)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y, "mov.u32 %s, 0;" % y, "@%s st%s.u32 %s, %s;" % (p, space(self.w), a, y))
        self.last = Tell.meet(self, g, group)

    def mask_register(self, g, group):
        x = g.new("r")
        g.e("mov.u32 %s, %s;" % (x, group.text()))
        return x

    def run(self, m, t):
        me = t.tid if self.block else t.lane
        mask = t.mask(self.group)
        n = self.place(me)
        if not self.block:
            n = sum(1 for i in range(32) if mask >> i & 1 and self.place(i) < self.place(me))
        k, c = self.w.key(t), self.w.key(t, 1)
        while m.mem.get(c, 0) != n:
            yield ("spin",)
        m.mem[k] = m.mem.get(k, 0) * 3 + t.a & M32
        t.mix(m.mem[k])
        yield
        m.mem[c] = n + 1
        yield from meet(t, self.first, self.group)
        t.mix(m.mem[k])
        if t.tid == 0 if self.block else t.lane == spoken(self, mask):
            m.mem[c] = 0
        yield from meet(t, self.last, self.group)


class Lock(Statement):
    """A lock of each warp's or the block's; what is done under it does not ask for an order."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.r.randrange(2) == 0
        self.w = Word(g, 3, self.block)
        self.form = g.r.randrange(4)
        self.c = condition(g)

    def emit(self, g, group):
        self.group = group
        x, y, p = g.new("r"), g.new("r"), g.new("p")
        over, top, out, busy = g.label(), g.label(), g.label(), g.label()
        only = emit_condition(g, self.c)
        g.e("@!%s bra %s;" % (only, over))
        ordered = g.r.randrange(2)

        def take():
            a = address(g, self.w)
            g.e("atom%s%s.cas.b32 %s, %s, 0, 1;" % (".acquire.cta" if ordered else "", space(self.w), x, a), "setp.ne.u32 %s, %s, 0;" % (p, x))

        def inside():
            if not ordered:
                fence(g)
            for i in (1, 2):
                load(g, self.w, y, imm=i)
                g.e("%s %s, %s, %%a;" % (("add.u32", "xor.b32")[i - 1], y, y))
                store(g, self.w, y, imm=i)
            if ordered:
                z = g.new("r")
                g.e("mov.u32 %s, 0;" % z)
                store(g, self.w, z, how=".release.cta")
            else:
                fence(g)
                atom(g, self.w, "exch.b32", g.new("r"), 0)
        if self.form == 0:      # while (cas); do it
            g.put(top)
            take()
            give_back_off(g)
            g.e("@%s bra %s;" % (p, top))
            inside()
        elif self.form == 1:    # for (;;) if (!cas) { do it; break; }
            g.put(top)
            take()
            g.e("@%s bra %s;" % (p, busy))
            inside()
            g.e("bra %s;" % out)
            g.put(busy)
            give_back_off(g)
            g.e("bra %s;" % top)
            g.put(out)
        elif self.form == 2:    # done = 0; while (!done) if (!cas) { do it; done = 1; }
            done, q = g.new("r"), g.new("p")
            g.e("mov.u32 %s, 0;" % done)
            g.put(top)
            take()
            g.e("@%s bra %s;" % (p, busy))
            inside()
            g.e("mov.u32 %s, 1;" % done)
            g.put(busy)
            g.e("setp.eq.u32 %s, %s, 0;" % (q, done), "@%s bra %s;" % (q, top))
        else:                   # looks before it tries
            g.put(top)
            v, _ = spin_load(g, self.w)
            q = g.new("p")
            g.e("setp.ne.u32 %s, %s, 0;" % (q, v), "@%s bra %s;" % (q, top))
            take()
            g.e("@%s bra %s;" % (p, top))
            inside()
        g.put(over)
        self.first = Tell.meet(self, g, group)
        for i in (1, 2):
            load(g, self.w, y, imm=i)
            g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y)
        self.last = Tell.meet(self, g, group)

    def run(self, m, t):
        k = [self.w.key(t, i) for i in range(3)]
        if holds(self.c, t):
            while m.mem.get(k[0], 0):
                yield ("spin",)
            m.mem[k[0]] = 1
            yield
            m.mem[k[1]] = m.mem.get(k[1], 0) + t.a & M32
            yield
            m.mem[k[2]] = m.mem.get(k[2], 0) ^ t.a
            yield
            m.mem[k[0]] = 0
        yield from meet(t, self.first, self.group)
        for i in (1, 2):
            t.mix(m.mem.get(k[i], 0))
        yield from meet(t, self.last, self.group)


class Pairs(Statement):
    """Lanes that give their neighbours something, more than once, through one place."""
    needs = True

    def __init__(self, g, group):
        self.block = group.whole and g.nw > 1 and g.r.randrange(2) == 0
        self.n = g.threads if self.block else 32
        self.w = Word(g, self.n * 2, self.block)
        self.by = g.r.choice((1, 2, 4, 8, 16) + ((32,) if self.block and g.threads == 64 else ()))
        if self.block and g.threads % (2 * self.by):
            self.by = 1
        self.times = g.r.randrange(1, 4)
        self.turn = g.r.randrange(2)

    def emit(self, g, group):
        me = "%me" if self.block else "%lane"
        x, y, i, v, p, q = g.new("r"), g.new("r"), g.new("r"), g.new("r"), g.new("p"), g.new("p")
        top, other, back = g.label(), g.label(), g.label()
        # of a pair both use the first one's place: full, what
        g.e("or.b32 %s, %s, %d;" % (x, me, self.by), "shl.b32 %s, %s, 1;" % (x, x), "and.b32 %s, %s, %d;" % (y, me, self.by))
        g.e("setp.%s.u32 %s, %s, 0;" % ("ne" if self.turn else "eq", p, y), "mov.u32 %s, 0;" % i)
        g.put(top)
        g.e("@%s bra %s;" % (p, other))
        wait_until(g, self.w, "eq", 0, x)
        store(g, self.w, "%a", x, 1)
        g.e("mad.lo.u32 %a, %a, 5, 7;", "mov.u32 %s, 1;" % v)
        signal(g, self.w, v, x)
        g.e("bra %s;" % back)
        g.put(other)
        wait_until(g, self.w, "eq", 1, x)
        load(g, self.w, y, x, 1)
        g.e("mad.lo.u32 %%a, %%a, 5, %s;" % y, "mov.u32 %s, 0;" % v)
        signal(g, self.w, v, x)
        g.put(back)
        g.e("add.u32 %s, %s, 1;" % (i, i), "setp.lt.u32 %s, %s, %d;" % (q, i, self.times), "@%s bra %s;" % (q, top))

    def run(self, m, t):
        me = t.tid if self.block else t.lane
        full, what = self.w.key(t, (me | self.by) * 2), self.w.key(t, (me | self.by) * 2 + 1)
        takes = bool(me & self.by) == bool(self.turn)
        for _ in range(self.times):
            while m.mem.get(full, 0) != int(takes):
                yield ("spin",)
            if takes:
                t.mix(m.mem[what])
            else:
                m.mem[what] = t.a
                t.mix(7)
            yield
            m.mem[full] = int(not takes)
            yield
