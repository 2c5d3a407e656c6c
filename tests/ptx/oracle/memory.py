# SPDX-License-Identifier: MIT
"""Loads and stores of narrow types and vectors, atomics on every type (PTX ISA 9.7.9, 9.7.13), from the text of the ISA.
Each lane has eight bytes of its own: {s} in a form's text is the address register."""
import number as nm
from emit import WIDTH, Form
from floats import Halves, finish
from integer import sx, val
from number import FORMATS, decode


class Placed(Form):
    """A form whose lanes have a place in memory: in scratch global or shared memory."""

    def __init__(self, text, out, ins, fn, space, **kw):
        size = 32
        var = "{scratch}" if space == "global" else "%sq"
        decl = ".reg .b64 %s; " if space == "global" else ".shared .align 32 .b8 %%sq[%d]; .reg .b64 %%s; " % (64 * size)
        addr = "mov.u64 %%s, %s; mad.wide.u32 %%s, %s, %d, %%s; " % (var, "%i" if space == "global" else "%l", size)
        lane = ".reg .b32 %l; mov.u32 %l, %tid.x; "
        super().__init__("{{ " + decl + lane + addr + text.replace("{s}", "%s") + " }}", out, ins, fn, **kw)
        self.scratch, self.kinds = 64 * size, "vg"


def loads():
    for space in ("global", "shared"):
        for t in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32"):
            w = WIDTH[t]
            for reg in (16, 32, 64):
                if reg < w:
                    continue
                for at in (0, w // 8, 8 - w // 8):
                    yield Placed("st.%s.b64 [{s}], {a}; ld.%s.%s {d}, [{s}+%d];" % (space, space, t, at), "b%d" % reg, "b64",
                                 lambda a, t=t, at=at, reg=reg: val(a >> 8 * at, t) & ((1 << reg) - 1), space)
                    mask = ((1 << w) - 1) << 8 * at
                    yield Placed("st.%s.b64 [{s}], {a}; st.%s.%s [{s}+%d], {b}; ld.%s.b64 {d}, [{s}];" % (space, space, t, at, space),
                                 "b64", "b64 b%d" % reg, lambda a, b, m=mask, at=at: a & ~m | b << 8 * at & m, space)
            for n in (2, 4):
                for reg in (32, 64):
                    outs = ["d" if i == 0 else "d%d" % i for i in range(n)]
                    if n * w > 64:
                        continue
                    vec = "{{" + ", ".join("{%s}" % k for k in outs) + "}}"
                    yield Placed("st.%s.b64 [{s}], {a}; ld.%s.v%d.%s %s, [{s}];" % (space, space, n, t, vec), " ".join(["b%d" % reg] * n), "b64",
                                 lambda a, t=t, w=w, n=n, reg=reg: [val(a >> w * i, t) & ((1 << reg) - 1) for i in range(n)], space)
                    ins = "{{" + ", ".join("{%s}" % k for k in "abce"[:n]) + "}}"
                    yield Placed("st.%s.v%d.%s [{s}], %s; ld.%s.b%d {d}, [{s}];" % (space, n, t, ins, space, n * w), "b%d" % (n * w),
                                 " ".join(["b%d" % reg] * n),
                                 lambda *v, w=w: sum((x & ((1 << w) - 1)) << w * i for i, x in enumerate(v)), space)


def atomics():
    ops = [("add", t, lambda a, b, w=WIDTH[t]: a + b & ((1 << w) - 1)) for t in ("u32", "s32", "u64")]
    for t in ("u32", "s32", "u64", "s64"):
        for o, f in (("min", min), ("max", max)):
            ops.append((o, t, lambda a, b, f=f, t=t: f(val(a, t), val(b, t)) & ((1 << WIDTH[t]) - 1)))
    for t in ("b32", "b64"):
        ops += [("and", t, lambda a, b: a & b), ("or", t, lambda a, b: a | b), ("xor", t, lambda a, b: a ^ b), ("exch", t, lambda a, b: b)]
    ops += [("inc", "u32", lambda a, b: 0 if a >= b else a + 1), ("dec", "u32", lambda a, b: b if a == 0 or a > b else a - 1)]
    for space in ("global", "shared"):
        for generic in (False, True):
            where = "" if generic else "." + space
            conv = "cvta.%s.u64 {s}, {s}; " % space if generic else ""

            def forms_of(o, t, fn, more="", ins=2, sem=""):
                regs = "b%d" % WIDTH[t]
                letters = ", ".join("{%s}" % k for k in "bc"[:ins - 1])
                text = "st.%s.%s [{s}], {a}; %satom%s%s.%s%s.%s {d}, [{s}], %s; ld%s.%s {d1}, [{s}];" % (
                    space, regs, conv, sem, where, o, more, t, letters, where, regs)
                return text, regs
            for o, t, fn in ops:
                text, regs = forms_of(o, t, fn)
                yield Placed(text, regs + " " + regs, "%s %s" % (t, t), lambda a, b, f=fn: (a, f(a, b)), space)
                if o != "exch":
                    yield Placed(text.replace("atom", "red").replace("{d}, [", "[").replace("{d1}", "{d}"), regs, "%s %s" % (t, t), fn, space)
            for t in ("b16", "b32", "b64"):
                text, regs = forms_of("cas", t, None, "", 3, ".acq_rel.gpu" if t == "b32" else "")
                same = lambda r: r.randrange(3)
                yield Placed(text, regs + " " + regs, "%s %s %s" % (t, t, t), lambda a, b, c: (a, c if a == b else a), space, sets=[same, same, None])
            for t in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2"):
                f = FORMATS[t.replace("x2", "")]
                ftz = t == "f32" and space == "global" and not generic
                if t == "f32" and generic:
                    continue
                one = lambda a, b, f=f, z=ftz: finish(f, nm.add(decode(f, a, z), decode(f, b, z), "rn"), "rn", z)
                text, regs = forms_of("add", t, None, ".noftz" if "16" in t else "")
                fn = lambda a, b, f=one: (a, f(a, b))
                outs = regs + " " + t
                if t.endswith("x2"):
                    fn = lambda a, b, f=one: (a, Halves(f(a & 0xffff, b & 0xffff), f(a >> 16, b >> 16)))
                yield Placed(text, outs, t + " " + t, fn, space)


class Warp(Form):
    """fn takes the rows of one warp and which lanes take part, and gives a result for each lane ({m}: the member mask)."""

    def __init__(self, text, out, ins, fn, **kw):
        super().__init__(text, out, ins, None, **kw)
        self.group, self.kinds = fn, "vg"


def warps():
    few = lambda r: r.randrange(3)
    flag = lambda r: int(r.randrange(8) > 0)

    def same(f):
        return lambda rows, on: [(f([r[0] for r, o in zip(rows, on) if o]),)] * len(rows)

    def bits(rows, on):
        return sum(1 << i for i, (r, o) in enumerate(zip(rows, on)) if o and r[0])
    for sets in ([flag], [lambda r: 1], [lambda r: 0], None):
        for o, f in (("all", lambda v: int(all(v))), ("any", lambda v: int(any(v))), ("uni", lambda v: int(len(set(v)) == 1))):
            key = str(sets and sets[0](__import__("random").Random(1)))
            yield Warp("vote.sync.%s.pred {d}, {a}, {m};" % o, "pred", "pred", same(f), sets=sets, key=key)
            yield Warp("vote.sync.%s.pred {d}, !{a}, {m};" % o, "pred", "pred", same(lambda v, f=f: f([1 - x for x in v])), sets=sets, key=key)
        yield Warp("vote.sync.ballot.b32 {d}, {a}, {m};", "b32", "pred", lambda rows, on: [(bits(rows, on),)] * len(rows), sets=sets)
    yield Warp("activemask.b32 {d};", "b32", "b32", lambda rows, on: [(sum(o << i for i, o in enumerate(on)),)] * len(rows))
    for t in ("b32", "b64"):
        for sets in ([few], [lambda r: 7], None):
            yield Warp("match.any.sync.%s {d}, {a}, {m};" % t, "b32", t, lambda rows, on: [
                (sum(1 << i for i, (x, o) in enumerate(zip(rows, on)) if o and x[0] == r[0]),) for r in rows], sets=sets)

            def whole(rows, on):
                v = {r[0] for r, o in zip(rows, on) if o}
                return [(sum(o << i for i, o in enumerate(on)), 1) if len(v) == 1 else (0, 0)] * len(rows)
            yield Warp("match.all.sync.%s {d}|{d1}, {a}, {m};" % t, "b32 pred", t, whole, sets=sets)

    def folded(f):
        def fn(v):
            x = v[0]
            for y in v[1:]:
                x = f(x, y)
            return x & 0xffffffff
        return fn
    for t in ("u32", "s32"):
        for o, f in (("add", lambda a, b: a + b), ("min", min), ("max", max)):
            yield Warp("redux.sync.%s.%s {d}, {a}, {m};" % (o, t), "b32", t, same(lambda v, f=folded(f), t=t: f([val(x, t) for x in v])))
    for o, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        yield Warp("redux.sync.%s.b32 {d}, {a}, {m};" % o, "b32", "b32", same(folded(f)))
    segments = (0x1f, 0, 0x181f, 0x1c1f, 0x1800, 0x1e1f, 0x101f, 0x0f, 0x1007, 0x1f1f)

    def shuffled(mode, c):
        """c: None where it is a lane's own operand"""
        def fn(rows, on):
            out = []
            for lane, row in enumerate(rows):
                k = row[2] if c is None else c
                b, cv, seg = row[1] & 31, k & 31, k >> 8 & 31
                most, least = (lane & seg) | (cv & ~seg & 31), lane & seg
                j = {"idx": least | (b & ~seg), "up": lane - b, "down": lane + b, "bfly": lane ^ b}[mode]
                p = j >= most if mode == "up" else j <= most
                j = j if p else lane
                out.append((rows[j][0] if 0 <= j < 32 and on[j] else nm.ANY, int(p)))
            return out
        return fn
    for mode in ("idx", "up", "down", "bfly"):
        for c in segments:
            for key, sets in (("own", [None, lambda r: r.randrange(40)]), ("one", [None, lambda r: 1]), ("two", [None, lambda r: 2])):
                yield Warp("shfl.sync.%s.b32 {d}|{d1}, {a}, {b}, %d, {m};" % (mode, c), "b32 pred", "b32 u32", shuffled(mode, c), sets=sets, key=key)
            yield Warp("shfl.sync.%s.b32 {d}|{d1}, {a}, {b}, {c}, {m};" % mode, "b32 pred", "b32 u32 u32", shuffled(mode, None), sets=[None, lambda r: r.randrange(40), lambda r, c=c: c], key="segment %d" % c)
        yield Warp("shfl.sync.%s.b32 {d}|{d1}, {a}, {b}, {c}, {m};" % mode, "b32 pred", "b32 u32 u32", shuffled(mode, None),
                   sets=[None, lambda r: r.randrange(40), lambda r: r.choice(segments)], key="segments")


def forms(full):
    for part in (loads, atomics, warps):
        yield from part()
