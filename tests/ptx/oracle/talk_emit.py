# SPDX-License-Identifier: MIT
"""What the statements of talk.py are made of: words in memory, groups of lanes, conditions, loads, stores, waiting and telling."""

M32 = (1 << 32) - 1


class Word:
    """An array of words of a warp's or of the block's, in shared or in global memory."""

    def __init__(self, g, n=1, block=False):
        r = g.r
        self.block, self.n = block, n
        self.space = r.choice(g.spaces)
        self.form = r.choice(("direct", "reg", "reg", "generic"))
        key = (self.space, block)
        self.at = g.used.get(key, 0)
        g.used[key] = self.at + n

    def key(self, t, i=0):
        return (self.space, t.blk, None if self.block else t.warp, self.at + i)


class Group:
    """Who comes here: mask, a number if it is the same for all warps, else a register; all: the whole block, in one go."""

    def __init__(self, mask, whole, loop=None, depth=0):
        self.mask, self.whole, self.loop, self.depth = mask, whole, loop, depth

    def text(self):
        return self.mask if isinstance(self.mask, str) else "0x%x" % self.mask


# ---- conditions: of a lane's number or its datum ----------------------------------------------------

def condition_of(r, kinds, lanes):
    """lanes: those that "eq" asks for, beside any"""
    k = r.choice(kinds)
    if k == "eq":
        return (k, r.choice(lanes + (r.randrange(32),)))
    if k == "and":
        m = r.choice((1, 2, 3, 7, 8, 16))
        return (k, m, r.choice((0, m)))
    if k in ("lt", "ge"):
        return (k, r.choice((1, 4, 8, 12, 16, 30)))
    return (k, r.randrange(8) if k == "data" else r.choice((1, 2, 4)))


def condition(g):
    return condition_of(g.r, ("eq", "eq", "and", "lt", "ge", "data", "bit", "acc"), (0, 0, 3, 7, 8, 15, 16, 24, 31))


def holds(c, t):
    k = c[0]
    return (t.lane == c[1] if k == "eq" else t.lane & c[1] == c[2] if k == "and" else t.lane < c[1] if k == "lt" else t.lane >= c[1] if k == "ge"
            else t.d == c[1] if k == "data" else t.d & c[1] != 0 if k == "bit" else t.a >> 3 & c[1] != 0)


def static(c):
    """The lanes that it holds for; None: that is data."""
    class T:
        d = a = 0
    if c[0] in ("data", "bit", "acc"):
        return None
    m = 0
    for T.lane in range(32):
        m |= holds(c, T) << T.lane
    return m


def emit_condition(g, c):
    p, x = g.new("p"), "%lane"
    if c[0] in ("and", "bit", "acc"):
        x = g.new("r")
        if c[0] == "acc":
            g.e("shr.u32 %s, %%a, 3;" % x)
        g.e("and.b32 %s, %s, %d;" % (x, {"and": "%lane", "bit": "%d", "acc": x}[c[0]], c[1]))
    how, y = {"eq": ("eq", c[1]), "and": ("eq", c[-1]), "lt": ("lt", c[1]), "ge": ("ge", c[1]), "data": ("eq", c[1])}.get(c[0], ("ne", 0))
    g.e("setp.%s.u32 %s, %s, %d;" % (how, p, "%d" if c[0] == "data" else x, y))
    return p


# ---- what is common to statements -------------------------------------------------------------------

def leader(g, group):
    """A lane of the group: a number, or a register that has it."""
    if not isinstance(group.mask, str):
        return g.r.choice([i for i in range(32) if group.mask >> i & 1])
    x, y = g.new("r"), g.new("r")
    g.e("neg.s32 %s, %s;" % (x, group.mask), "and.b32 %s, %s, %s;" % (x, x, group.mask), "bfind.u32 %s, %s;" % (y, x))
    return y


def is_lane(g, lane):
    p = g.new("p")
    g.e("setp.eq.u32 %s, %%lane, %s;" % (p, lane))
    return p


def address(g, w, index=None, imm=0):
    """Of the word behind index words more."""
    off = 4 * (w.at + imm)
    shared = w.space == "shared"
    if index is None and shared and w.form == "direct" and (w.block or g.nw == 1):
        return "[words+%d]" % (off if w.block else off + 4 * g.block_words())
    base = {"shared": "%s", "global": "%g"}[w.space] + ("b" if w.block else "w")
    if w.form == "generic":
        base = {"%sb": "%xb", "%sw": "%xw"}.get(base, base)
    if index is None:
        return "[%s+%d]" % (base, off)
    x = g.new("r" if shared and w.form != "generic" else "q")
    if x[1] == "r":
        g.e("mad.lo.u32 %s, %s, 4, %s;" % (x, index, base))
    else:
        g.e("mad.wide.u32 %s, %s, 4, %s;" % (x, index, base))
    return "[%s+%d]" % (x, off)


def space(w):
    return "" if w.form == "generic" else "." + w.space


def access(g, w, spin=False):
    how = g.r.choice(g.how)
    if spin and how == "":
        how = ".volatile"
    return how


def load(g, w, d, index=None, imm=0, how=None):
    a = address(g, w, index, imm)
    g.e("ld%s%s.u32 %s, %s;" % (access(g, w) if how is None else how, space(w), d, a))


def store(g, w, v, index=None, imm=0, how=None):
    a = address(g, w, index, imm)
    g.e("st%s%s.u32 %s, %s;" % (access(g, w) if how is None else how, space(w), a, v))


def atom(g, w, op, d, v, index=None, order=""):
    a = address(g, w, index)
    if d is None:
        g.e("red%s%s.%s %s, %s;" % (order, space(w), op, a, v))
    else:
        g.e("atom%s%s.%s %s, %s, %s;" % (order, space(w), op, d, a, v))


def fence(g):
    g.e(g.r.choice(("membar.cta;", "membar.gl;", "fence.acq_rel.cta;", "fence.sc.gpu;")))


def sync(g, group):
    """All of the group, with what they have written."""
    if group.whole and g.r.randrange(3) == 0:
        g.e(g.r.choice(("bar.sync 0;", "barrier.sync 0;")))
        return ("bar", 0)
    g.e("bar.warp.sync %s;" % group.text())
    return ("warp",)


def block_sync(g):
    g.e(g.r.choice(("bar.sync 0;", "barrier.sync 0;", "barrier.sync 1, %d;" % g.threads)))


def meet(t, what, group):
    if what[0] == "bar":
        yield ("bar", 0)
    else:
        yield ("warp", t.mask(group), None, 0)


def spin_load(g, w, index=None, imm=0):
    """What a loop that waits looks at, in a new register; is an acquire of its own?"""
    x = g.new("r")
    k = g.r.randrange(6)
    if k == 0 and not imm:
        atom(g, w, "add.u32", x, 0, index)
    elif k == 1 and not imm:
        atom(g, w, "or.b32", x, 0, index)
    elif k == 2:
        load(g, w, x, index, imm, ".acquire.cta")
    else:
        load(g, w, x, index, imm, access(g, w, True))
    return x, k == 2


def give_back_off(g):
    if g.r.randrange(5) == 0:
        g.e("nanosleep.u32 %d;" % g.r.choice((20, 100)))


def wait_until(g, w, test, y, index=None, imm=0):
    """Spins until the word is as wanted; with what others wrote before."""
    top, out = g.label(), g.label()
    form = g.r.randrange(3)
    g.put(top)
    x, ordered = spin_load(g, w, index, imm)
    p = g.new("p")
    g.e("setp.%s.u32 %s, %s, %s;" % (test, p, x, y))
    if form == 0:
        give_back_off(g)
        g.e("@!%s bra %s;" % (p, top))
    elif form == 1:
        g.e("@%s bra %s;" % (p, out))
        give_back_off(g)
        g.e("bra %s;" % top)
        g.put(out)
    else:
        g.e("@%s bra %s;" % (p, out), "bra %s;" % top)
        g.put(out)
    if not ordered:
        fence(g)
    return x


def signal(g, w, v, index=None, imm=0):
    """What waits may see is written after all before it."""
    k = g.r.randrange(4)
    if k == 0:
        store(g, w, v, index, imm, ".release.cta")
        return
    fence(g)
    if k == 1 and not imm:
        x = g.new("r")
        atom(g, w, "exch.b32", x, v, index)
    else:
        store(g, w, v, index, imm, access(g, w, True))
