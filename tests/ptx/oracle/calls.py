# SPDX-License-Identifier: MIT
"""Random programs of functions that call each other and themselves, and what each of their threads leaves.

Functions have parameters and results of all widths, in registers and in memory, variables of their own, ways on which different values
are read, guarded instructions, loops and early returns. They call each other by name, under guards and through pointers, with arguments in
any order, their own among them. Some go deeper than code's stack reaches, some have more variables than become code. In the kernel lanes
call as deep as each one's number says, also between barriers. A model runs each thread by itself (Machine, threads()); NaNs keep their bits
where they are moved, and operations make 0x7fffffff.
"""
import os
import random
import struct
import sys
import threading

M32, M64, M16 = (1 << 32) - 1, (1 << 64) - 1, (1 << 16) - 1
BITS = {"r": 32, "q": 64, "h": 16, "f": 32}
DECL = {"r": "b32", "q": "b64", "h": "b16", "f": "f32", "p": "pred"}
COUNT = {"r": 5, "q": 3, "f": 2, "h": 2, "p": 3}
STACK = 16384           # bytes that a thread's calls may have for variables
NANS = [0x7f812345, 0xffc00001, 0x7fffffff, 0xff800001, 0x7fc00000]
STEPS = 150000          # of a program


class TooLong(Exception):
    pass


def f32(bits):
    return struct.unpack("f", struct.pack("I", bits))[0]


def f32_bits(x):
    if x != x:
        return 0x7fffffff
    try:
        return struct.unpack("I", struct.pack("f", x))[0]
    except OverflowError:
        return 0x7f800000 | (x < 0) << 31


# destination, text, operands, function
OPS = [
    ("r", "add.u32 {d}, {0}, {1};", "rr", lambda a, b: a + b),
    ("r", "sub.u32 {d}, {0}, {1};", "rr", lambda a, b: a - b),
    ("r", "xor.b32 {d}, {0}, {1};", "rr", lambda a, b: a ^ b),
    ("r", "mad.lo.u32 {d}, {0}, {1}, {2};", "rrr", lambda a, b, c: a * b + c),
    ("r", "shr.u32 {d}, {0}, 3;", "r", lambda a: a >> 3),
    ("r", "selp.b32 {d}, {0}, {1}, {2};", "rrp", lambda a, b, p: a if p else b),
    ("r", "cvt.u32.u64 {d}, {0};", "q", lambda a: a),
    ("r", "cvt.u32.u16 {d}, {0};", "h", lambda a: a),
    ("r", "mov.b32 {d}, {0};", "f", lambda a: a),
    ("q", "add.u64 {d}, {0}, {1};", "qq", lambda a, b: a + b),
    ("q", "xor.b64 {d}, {0}, {1};", "qq", lambda a, b: a ^ b),
    ("q", "mul.wide.u32 {d}, {0}, {1};", "rr", lambda a, b: a * b),
    ("q", "mov.b64 {d}, {{{0}, {1}}};", "rr", lambda a, b: a | b << 32),
    ("q", "selp.b64 {d}, {0}, {1}, {2};", "qqp", lambda a, b, p: a if p else b),
    ("h", "add.u16 {d}, {0}, {1};", "hh", lambda a, b: a + b),
    ("h", "cvt.u16.u32 {d}, {0};", "r", lambda a: a),
    ("f", "mov.b32 {d}, {0};", "r", lambda a: a),
    ("f", "mov.f32 {d}, {0};", "f", lambda a: a),
    ("f", "add.rn.f32 {d}, {0}, {1};", "ff", lambda a, b: f32_bits(f32(a) + f32(b))),
    ("f", "mul.rn.f32 {d}, {0}, {1};", "ff", lambda a, b: f32_bits(f32(a) * f32(b))),
    ("f", "selp.f32 {d}, {0}, {1}, {2};", "ffp", lambda a, b, p: a if p else b),
    ("p", "setp.lt.u32 {d}, {0}, {1};", "rr", lambda a, b: a < b),
    ("p", "setp.gt.u64 {d}, {0}, {1};", "qq", lambda a, b: a > b),
    ("p", "setp.lt.u16 {d}, {0}, {1};", "hh", lambda a, b: a < b),
    ("p", "xor.pred {d}, {0}, {1};", "pp", lambda a, b: a != b),
    ("p", "not.pred {d}, {0};", "p", lambda a: not a),
] + [("f", "mov.b32 {d}, 0x%x;" % n, "", lambda n=n: n) for n in NANS]


def fits(t, v):
    return bool(v) if t == "p" else v & ((1 << BITS[t]) - 1)


class Func:
    """sig: formals (type, "reg" or "param"), the first is how deep calls may still go; type s: 24 bytes. ret: likewise."""

    def __init__(self, name, sig, ret, r):
        self.name, self.sig, self.ret, self.r = name, sig, ret, r
        self.room = r.choice((0, 0, 16, 16, 64, 272, 1600, 2400)) if name else r.choice((0, 32, 512))
        self.vars = {t: ["%%%s%d" % (t, i) for i in range(n)] for t, n in COUNT.items()}
        self.formals, self.fixed, self.code, self.labels = [], {"n"}, [], 0
        self.fresh = {"r": 0, "q": 0, "p": 0}
        self.early = False      # some threads may return here
        self.next = None        # whom its first call is of
        for i, (t, space) in enumerate(sig):
            name = "n" if i == 0 else "a%d" % i
            if t == "s":
                self.formals.append((t, space, name, self.vars["q"][:3]))
            else:
                self.formals.append((t, space, name, name if space == "reg" else "n" if i == 0 else self.vars[t][i % 2]))
                if space == "reg" and i:
                    self.vars[t].append(name)
        if ret and ret[1] == "reg":
            self.vars[ret[0]].append("rv")

    def pick(self, t):
        own = self.vars[t][COUNT[t]:]
        return self.r.choice(own if own and self.r.randrange(3) == 0 else self.vars[t])

    def dest(self, t):
        return self.r.choice([v for v in self.vars[t] if v not in self.fixed])

    def new(self, t):
        self.fresh[t] += 1
        return "%%x%s%d" % (t, self.fresh[t])

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def bytes(self):
        """Of a frame: what stands in memory, one behind the other."""
        n = 0
        for f in [self] + [s[2] for s in every(self.code) if s[0] == "call"]:
            for t, space in [f.ret] + f.sig:
                size = 0 if space == "reg" else 24 if t == "s" else BITS[t] // 8
                n = size and (n + min(size, 8) - 1) // min(size, 8) * min(size, 8) + size or n
            n = (n + 15) // 8 * 8           # res comes last in calls
        return (n + self.room + 15) // 16 * 16


def block(g, f, size, depth, calls):
    return [statement(g, f, depth, calls) for _ in range(size)]


def statement(g, f, depth, calls):
    r = f.r
    x = r.randrange(100)
    guard = (f.pick("p"), r.randrange(2)) if r.randrange(4) == 0 else None
    if calls and x < 30:
        return call(g, f, guard)
    if depth and x < 42:
        other = block(g, f, r.randint(1, 3), depth - 1, calls) if r.randrange(4) else []
        return ("if", f.pick("p"), r.randrange(2), block(g, f, r.randint(1, 3), depth - 1, calls), other)
    if depth and x < 48:
        return ("loop", f.new("r"), f.new("r"), f.new("p"), f.pick("r"), block(g, f, r.randint(1, 3), depth - 1, calls and not f.name))
    if f.early and x < 53:
        return ("ret", f.pick("p"), r.randrange(2))
    if f.room and x < 66:
        return (r.choice(("ld", "st")), f.new("r"), f.new("q"), f.pick("r"), f.dest("r"), r.randrange(f.room // 16) * 16)
    d, text, ins, fn = r.choice(OPS)
    return ("op", guard, f.dest(d), d, text, [f.pick(t) for t in ins], fn)


def result(f):
    return "rv" if f.ret[1] == "reg" else f.vars[f.ret[0]][0]


def into_result(f):
    t, d = f.ret[0], result(f)
    if t == "f":
        text, ins, fn = "selp.f32 {d}, {0}, {1}, {2};", "ffp", lambda a, b, p: a if p else b
    else:
        text, ins, fn = "add.u%d {d}, {0}, {1};" % BITS[t], t * 2, lambda a, b: a + b
    return ("op", None, d, t, text, [d] + [f.pick(x) for x in ins[1:]], fn)


def call(g, f, guard):
    r = f.r
    to = f.next or r.choice(g)
    alike = [x for x in g if x.sig == to.sig and x.ret == to.ret]
    other = r.choice(alike) if r.randrange(3) == 0 else None
    own = {t: [x[3] for x in f.formals if x[:2] == (t, "reg") and x[3] != "n"] for t in BITS}
    args = [[f.pick("q") for _ in range(3)] if t == "s" else r.choice(own[t]) if own[t] and r.randrange(3) else f.pick(t) for t, _ in to.sig[1:]]
    extra = (f.pick("p"), f.new("q"), f.new("q"), f.new("q")) if other else None
    return ("call", guard, to, other, extra, f.new("r"), args, f.dest(to.ret[0]))


# ---- text ----------------------------------------------------------------------------------------

def width(t):
    return "b%d" % BITS[t] if t != "f" else "f32"


def declared(t, space, name):
    if space == "reg":
        return ".reg .%s %s" % (DECL[t], name)
    return ".param .align 8 .b8 %s[24]" % name if t == "s" else ".param .%s %s" % (width(t), name)


def at(g):
    return "" if not g else "@%s%s " % ("!" if g[1] else "", g[0])


def leave(f, guard=None):
    o = []
    if f.ret[1] == "param":
        o.append("%sst.param.%s [rv], %s;" % (at(guard), width(f.ret[0]), f.vars[f.ret[0]][0]))
    return o + [at(guard) + "ret;"]


def text(f, s):
    kind = s[0]
    if kind == "op":
        _, guard, d, _, t, ins, _ = s
        return [at(guard) + t.format(*ins, d=d)]
    if kind in ("ld", "st"):
        _, x, y, i, d, off = s
        return ["and.b32 %s, %s, 3;" % (x, i), "mul.wide.u32 %s, %s, 4;" % (y, x), "add.u64 %s, %s, %%mem;" % (y, y),
                "ld.local.u32 %s, [%s+%d];" % (d, y, off) if kind == "ld" else "st.local.u32 [%s+%d], %s;" % (y, off, d)]
    if kind == "if":
        _, p, neg, then, other = s
        a, b = f.label(), f.label()
        o = ["@%s%s bra %s;" % ("" if neg else "!", p, a)] + [x for y in then for x in text(f, y)]
        return o + ["bra %s;" % b, a + ":"] + [x for y in other for x in text(f, y)] + [b + ":"]
    if kind == "loop":
        _, c, m, p, src, body = s
        a = f.label()
        o = ["and.b32 %s, %s, 3;" % (m, src), "mov.u32 %s, 0;" % c, a + ":"] + [x for y in body for x in text(f, y)]
        return o + ["add.u32 %s, %s, 1;" % (c, c), "setp.le.u32 %s, %s, %s;" % (p, c, m), "@%s bra %s;" % (p, a)]
    if kind == "ret":
        return leave(f, (s[1], s[2]))
    if kind == "round":
        _, t, y, v, by, n = s
        return ["st.shared.u32 [%mine], {0};".format(v), "bar.sync 0;", "add.u32 %s, %%tid0, %d;" % (t, by), "rem.u32 %s, %s, %d;" % (t, t, n),
                "mul.wide.u32 %s, %s, 4;" % (y, t), "add.u64 %s, %s, %%sh;" % (y, y), "ld.shared.u32 %s, [%s];" % (v, y), "bar.sync 0;"]
    _, guard, to, other, extra, x, args, d = s
    o, names = ["{", "sub.u32 %s, n, 1;" % x], []
    for i, ((t, space), a) in enumerate(zip(to.sig, [x] + args)):
        if space == "reg":
            names.append(a)
            continue
        names.append("p%d" % i)
        o.append(declared(t, space, names[-1]) + ";")
        for k, v in enumerate(a if t == "s" else [a]):
            o.append("st.param.%s [p%d+%d], %s;" % (width("q" if t == "s" else t), i, 8 * k, v))
    t, space = to.ret
    if space == "param":
        o.append(declared(t, space, "res") + ";")
    name, behind = to.name, ""
    if other:
        proto = f.label()
        o += ["mov.u64 %s, %s;" % (extra[1], to.name), "mov.u64 %s, %s;" % (extra[2], other.name),
              "selp.b64 %s, %s, %s, %s;" % (extra[3], extra[1], extra[2], extra[0]),
              "%s: .callprototype (%s) _ (%s);" % (proto, declared(*to.ret, "_"), ", ".join(declared(a, b, "_") for a, b in to.sig))]
        name, behind = extra[3], ", " + proto
    if space == "reg":
        return o + ["%scall (%s), %s, (%s)%s;" % (at(guard), d, name, ", ".join(names), behind), "}"]
    over = f.label()            # ld.param of a result takes no guard
    if guard:
        o.append("%sbra %s;" % (at((guard[0], not guard[1])), over))
    return o + ["call (res), %s, (%s)%s;" % (name, ", ".join(names), behind), "ld.param.%s %s, [res];" % (width(t), d), over + ":", "}"]


def body(f, o):
    lines = ["\t" + x if not x.endswith(":") else x for x in o + [x for s in f.code for x in text(f, s)]]
    regs = ["\t.reg .%s %%%s<%d>;" % (DECL[t], t, n) for t, n in COUNT.items()]
    regs += ["\t.reg .%s %%x%s<%d>;" % (DECL[t], t, n + 1) for t, n in f.fresh.items()]
    return regs, lines


def initial(f, x):
    """Registers that no parameter sets, from a number: (register, type, value, what the number is added to)"""
    have = {v for a in f.formals for v in (a[3] if a[0] == "s" else [a[3]])}
    o = [(v, t, i * 0x9e3779b1 + 12345 * k & M32) for k, t in enumerate("rqfh") for i, v in enumerate(f.vars[t]) if v not in have]
    return [(v, t, (c + x * 0x85ebca6b) & (M16 if t == "h" else M32), c) for v, t, c in o]


def initial_text(f, x):
    o = ["mul.lo.u32 %%xr0, %s, 0x85ebca6b;" % x]
    for v, t, _, c in initial(f, 0):
        o.append("add.u32 %%y, %%xr0, 0x%x;" % c)
        o.append({"r": "mov.b32 %s, %%y;", "q": "cvt.u64.u32 %s, %%y;", "f": "mov.b32 %s, %%y;", "h": "cvt.u16.u32 %s, %%y;"}[t] % v)
    return o


def words(f):
    """All that a function was given: (register, type)"""
    return [(v, "q" if a[0] == "s" else a[0]) for a in f.formals for v in (a[3] if a[0] == "s" else [a[3]])]


def gather_text(f):
    """What it was given, into its result."""
    o = ["mov.u32 %y, 1;"]
    for v, t in words(f):
        o += [{"r": "mov.b32 %%xr0, %s;", "q": "cvt.u32.u64 %%xr0, %s;", "f": "mov.b32 %%xr0, %s;", "h": "cvt.u32.u16 %%xr0, %s;"}[t] % v,
              "mad.lo.u32 %y, %y, 5, %xr0;"]
    return o + [{"r": "mov.b32 %s, %%y;", "q": "cvt.u64.u32 %s, %%y;", "f": "mov.b32 %s, %%y;", "h": "cvt.u16.u32 %s, %%y;"}[f.ret[0]] % result(f)]


def gather(f, e):
    y = 1
    for v, _ in words(f):
        y = y * 5 + e[v] & M32
    e[result(f)] = fits(f.ret[0], y)


def function(f):
    o = []
    for t, space, name, var in f.formals:
        for k, v in enumerate(var if t == "s" else [var]):
            if space == "param":
                o.append("ld.param.%s %s, [%s+%d];" % (width("q" if t == "s" else t), v, name, 8 * k))
    o += initial_text(f, "n")
    o += ["setp.lt.u32 %s, %s, %s;" % (v, f.vars["r"][0], f.vars["r"][i + 1]) for i, v in enumerate(f.vars["p"])]
    if f.room:
        o.append("mov.u64 %mem, m;")
        o += ["st.local.u32 [m+%d], %s;" % (i, f.vars["r"][i // 4 % 4]) for i in cells(f)]
    o += gather_text(f) + ["setp.eq.u32 %xp0, n, 0;"] + leave(f, ("%xp0", 0))
    regs, lines = body(f, o)
    head = ".func (%s) %s(%s)" % (declared(*f.ret, "rv"), f.name, ", ".join(declared(t, s, n) for t, s, n, _ in f.formals))
    regs += ["\t.reg .b64 %mem;\n\t.reg .b32 %y;"] + (["\t.local .align 8 .b8 m[%d];" % f.room] if f.room else [])
    if f.sig[0][1] == "param":  # its variable is called otherwise
        regs.append("\t.reg .b32 %n0;")
        lines = [x.replace("ld.param.b32 n, [n+0]", "ld.param.b32 %n0, [n]") for x in lines]
        lines = [x if "[n]" in x else word(x, "n", "%n0") for x in lines]
    return head, "%s\n{\n%s\n%s\n\t%s\n}\n" % (head, "\n".join(regs), "\n".join(lines), "\n\t".join(leave(f)))


def word(line, a, b):
    return " ".join(b + x[len(a):] if x in (a, a + ",", a + ";") else x for x in line.split(" "))


def cells(f):
    """What of a function's variables is used."""
    return sorted({16 * s + 4 * k for s in {0, f.room // 16 - 1} | {x[5] // 16 for x in every(f.code) if x[0] in ("ld", "st")} for k in range(4)})


def every(code):
    for s in code:
        yield s
        for part in s[3:5] if s[0] == "if" else s[5:6] if s[0] == "loop" else ():
            yield from every(part)


# ---- the model ------------------------------------------------------------------------------------

class Left(Exception):
    """An early return."""


class Machine:
    def __init__(self):
        self.steps = 0

    def run(self, f, vals):
        e = {}
        for (t, _, _, var), v in zip(f.formals, vals):
            e.update(zip(var, v) if t == "s" else [(var, v)])
        e.update((v, k) for v, _, k, _ in initial(f, e["n"]))
        self.begin(f, e)
        gather(f, e)
        if e["n"]:
            try:
                for _ in self.code(f, f.code, e):
                    pass
            except Left:
                pass
        return e[result(f)]

    def begin(self, f, e):
        v = f.vars["r"]
        e.update((p, e[v[0]] < e[v[i + 1]]) for i, p in enumerate(f.vars["p"]))
        e["m"] = {i: e[v[i // 4 % 4]] for i in cells(f)} if f.room else {}

    def code(self, f, code, e):
        """A generator: it stops at barriers."""
        for s in code:
            self.steps += 1
            if self.steps > STEPS:
                raise TooLong
            kind = s[0]
            if kind in ("op", "call") and s[1] and bool(e[s[1][0]]) == bool(s[1][1]):
                continue
            if kind == "op":
                e[s[2]] = fits(s[3], s[6](*(e[x] for x in s[5])))
            elif kind == "ld":
                e[s[4]] = e["m"][(e[s[3]] & 3) * 4 + s[5]]
            elif kind == "st":
                e["m"][(e[s[3]] & 3) * 4 + s[5]] = e[s[4]]
            elif kind == "if":
                yield from self.code(f, s[3] if bool(e[s[1]]) != bool(s[2]) else s[4], e)
            elif kind == "loop":
                for _ in range((e[s[4]] & 3) + 1):      # read once
                    yield from self.code(f, s[5], e)
            elif kind == "ret":
                if bool(e[s[1]]) != bool(s[2]):
                    raise Left
            elif kind == "round":
                yield ("give", e[s[3]])
                e[s[3]] = yield ("take", s[4])
            else:
                _, _, to, other, extra, _, args, d = s
                if other and not e[extra[0]]:
                    to = other
                e[d] = self.run(to, [e["n"] - 1] + [[e[x] for x in a] if t == "s" else e[a] for (t, _), a in zip(to.sig[1:], args)])


def threads(k, n, mode):
    """All threads of the kernel, from barrier to barrier."""
    m, envs, live = Machine(), [], []
    for tid in range(n):
        e = start(k, tid, mode)
        m.begin(k, e)
        envs.append(e)
        live.append(m.code(k, k.code, e))
    said = [next(t, None) for t in live]
    while any(said):
        assert all(said)
        shared = [x[1] for x in said]
        said = [next(t) for t in live]
        said = [resume(t, shared[(i + said[i][1]) % n]) for i, t in enumerate(live)]
    return envs


def resume(t, v):
    try:
        return t.send(v)
    except StopIteration:
        return None


# ---- kernels --------------------------------------------------------------------------------------

def start(k, tid, mode):
    low, step, some = mode
    e = {v: c for v, _, c, _ in initial(k, tid)}
    e["n"] = low + tid % some * step
    return e


def kernel(k, n, mode):
    low, step, some = mode
    o = ["mov.u32 %tid0, %tid.x;"] + initial_text(k, "%tid0")
    o += ["rem.u32 n, %%tid0, %d;" % some, "mad.lo.u32 n, n, %d, %d;" % (step, low)]
    o += ["setp.lt.u32 %s, %s, %s;" % (v, k.vars["r"][0], k.vars["r"][i + 1]) for i, v in enumerate(k.vars["p"])]
    o += ["mov.u64 %sh, words;", "mul.wide.u32 %mine, %tid0, 4;", "add.u64 %mine, %mine, %sh;"]
    if k.room:
        o.append("mov.u64 %mem, m;")
        o += ["st.local.u32 [m+%d], %s;" % (i, k.vars["r"][i // 4 % 4]) for i in cells(k)]
    regs, lines = body(k, o)
    out = [(v, t) for t in COUNT for v in k.vars[t]]
    end = ["ld.param.u64 %w, [out];", "mul.wide.u32 %%z, %%tid0, %d;" % (8 * len(out)), "add.u64 %w, %w, %z;"]
    for i, (v, t) in enumerate(out):
        end.append({"r": "cvt.u64.u32 %%z, %s;", "q": "mov.b64 %%z, %s;", "f": "mov.b32 %%y, %s; cvt.u64.u32 %%z, %%y;",
                    "h": "cvt.u64.u16 %%z, %s;", "p": "selp.b64 %%z, 1, 0, %s;"}[t] % v)
        end.append("st.global.u64 [%%w+%d], %%z;" % (8 * i))
    regs += ["\t.reg .b64 %mem, %sh, %mine, %w, %z;\n\t.reg .b32 n, %tid0, %y;"]
    regs += ["\t.shared .align 4 .b8 words[%d];" % (4 * n)] + (["\t.local .align 8 .b8 m[%d];" % k.room] if k.room else [])
    text = ".visible .entry k(.param .u64 out)\n{\n%s\n%s\n\t%s\n\tret;\n}\n" % ("\n".join(regs), "\n".join(lines), "\n\t".join(end))
    return text, out


def program(seed):
    """The text, how many threads, what they leave; None: too long for a model."""
    r = random.Random(seed)
    deep = seed % 3 == 0
    sigs = []
    for _ in range(r.randint(1, 3)):
        ways, types = r.choice((["reg"], ["reg"], ["param"], ["reg", "param"])), r.choice(("rrqqfhs", "rq", "r", "rrf", "qh", "rrrs"))
        sig = [("r", r.choice(ways))] + [(t, "param" if t == "s" else r.choice(ways)) for t in (r.choice(types) for _ in range(r.randint(1, 7)))]
        while [t for t, _ in sig].count("s") > 1:
            sig.remove(next(x for x in sig if x[0] == "s"))
        sigs.append((sig, (r.choice("rrqfh"), r.choice(ways))))
    g = [Func("f%d" % i, *r.choice(sigs), r) for i in range(r.randint(1, 5))]
    if r.randrange(2):          # a ring, and one that calls itself
        for f, to in zip(g, g[1:-1] + g[:1] + g[-1:]):
            f.next = to
    for f in g:
        if deep and f.room > 64:
            f.room = r.choice((0, 16, 32))
        before, after = r.randint(1, 6), r.randint(3, 9)
        f.code = block(g, f, before, 1, False) + [call(g, f, None)]
        f.early, f.next = True, None
        f.code += block(g, f, after, 1, False)
        if not deep and r.randrange(2):
            f.code += [call(g, f, (f.pick("p"), r.randrange(2)))] + block(g, f, 3, 1, False)
        f.code += [into_result(f) for _ in range(3)]
    n = r.choice((32, 40, 64)) if not deep else r.choice((8, 33))
    k = Func("", [], None, r)
    k.code = block(g, k, 3, 1, False)
    for i in range(1 if deep else r.randint(1, 3)):
        k.code += [call(g, k, None if r.randrange(2) else (k.pick("p"), r.randrange(2)))] + block(g, k, 2, 1, False)
        if r.randrange(2):
            v = k.dest("r")
            k.code.append(("round", k.new("r"), k.new("q"), v, r.randint(1, 31), n))
    most = max(f.bytes() for f in g)
    low = min(1000, STACK // max(most, 1) - 2) if deep else max(1, min(r.randint(1, 5), STACK // max(most, 1) - 4))
    mode = (low, 1, min(r.randint(1, 4), 4)) if not deep else (low - 4, 1, 4)
    try:
        envs = threads(k, n, mode)
    except TooLong:
        return None
    parts = [function(f) for f in g]
    code, out = kernel(k, n, mode)
    head = "".join(h + ";\n" for h, _ in parts)
    return head + "\n" + "\n".join(t for _, t in parts) + "\n" + code, n, [int(e[v]) for e in envs for v, _ in out]


def write(folder, first, count):
    """Programs first and on, as cases; how many."""
    done, wrong = [0], []

    def all_of_them():
        try:
            some_of_them()
        except BaseException as e:
            wrong.append(e)

    def some_of_them():
        for seed in range(first, first + count):
            made = program(seed)
            if not made:
                continue
            code, n, want = made
            with open(os.path.join(folder, "calls_%04d.ptx" % seed), "w") as f:
                f.write("// calls %d, by the oracle (tests/ptx/oracle).\n// stack: 32768\n// launch: k grid=1 block=%d args=out:u64[%d]\n" % (seed, n, len(want)))
                f.write("// expect: out = %s\n" % ", ".join("0x%x" % v for v in want))
                f.write(".version 8.8\n.target sm_90\n.address_size 64\n\n" + code)
            done[0] += 1

    sys.setrecursionlimit(100000)       # the model's calls are Python's
    threading.stack_size(512 << 20)
    t = threading.Thread(target=all_of_them)
    t.start()
    t.join()
    if wrong:
        raise wrong[0]
    assert done[0] * 2 > count, "most programs are too long for the model"
    return done[0]


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print("%d programs" % write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
