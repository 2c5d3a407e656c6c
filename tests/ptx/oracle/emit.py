# SPDX-License-Identifier: MIT
"""Writes forms as cases in ptxrun's language: each form as four kernels (lanes apart, lanes alike, guarded, constants)."""
import random
import zlib

import number as nm
from number import ANY, FORMATS

WIDTH = {"u8": 8, "s8": 8, "b8": 8, "u16": 16, "s16": 16, "b16": 16, "f16": 16, "bf16": 16, "u32": 32, "s32": 32, "b32": 32,
         "f32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "u64": 64, "s64": 64, "b64": 64, "f64": 64, "pred": 32,
         "e4m3x2": 16, "e5m2x2": 16}
NAMES = "abcehij"          # not the letters of the kernels: f0g is one
SENTINEL = 0x5a5a5a5a5a5a5a5a


class Form:
    """text: instructions with {d} {d1} for results and {a} {b} {c} {e} for operands; fn(*bits) gives the result or results.
    out and ins name types; sets: one function of a random.Random for an operand that wants values of its own."""

    def __init__(self, text, out, ins, fn, sets=None, ulp=None, key=""):
        self.text, self.fn, self.ins, self.ulp = text, fn, ins.split(), ulp
        self.out = out.split()
        self.sets = sets or [None] * len(self.ins)
        self.kinds, self.group, self.scratch = "vugk", None, 0
        self.seed = zlib.crc32((text + key).encode())


def boundaries(t):
    w = WIDTH[t]
    if t == "pred":
        return [0, 1]
    if t in ("f16x2", "bf16x2"):
        return None
    if t in FORMATS:
        f = FORMATS[t]
        one = f.bias << f.m
        v = [0, one, one + 1, one - 1, one + (1 << f.m), one - (1 << f.m), one | 1 << (f.m - 1), 1, (1 << f.m) - 1, 1 << f.m,
             (1 << f.m) + 1, f.top, f.top - 1, f.inf, f.quiet, f.inf | 1, f.sign - 1, f.inf | 5 << (f.m // 3),
             (f.bias + f.m) << f.m, (f.bias + f.m) << f.m | 1, (f.bias + f.m - 1) << f.m | 1, (f.bias + 1) << f.m | 1 << (f.m - 2)]
        return v + [x | f.sign for x in v]
    top = (1 << w) - 1
    return [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, top, top - 1, top >> 1, (top >> 1) + 1, (top >> 1) + 2, 1 << (w // 2),
            (1 << (w // 2)) - 1, 0x55 * (top // 255), 0xaa * (top // 255), 255, 128, 127, top - 127, top - 128]


def value(t, r, other=None):
    w = WIDTH[t]
    if t in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        half = t[:-2]
        o = (other & 0xffff, other >> 16) if other is not None else (None, None)
        return value(half, r, o[0]) | value(half, r, o[1]) << 16
    how = r.randrange(8)
    if how < 3 or t == "pred":
        return r.choice(boundaries(t)) & ((1 << w) - 1)
    bits = r.getrandbits(w)
    if t in FORMATS:
        f = FORMATS[t]
        if how < 6:             # near the other operand, few digits: ties and cancellation
            e = (other >> f.m & ((1 << f.e) - 1)) if other is not None and r.randrange(4) else f.bias
            e = min(max(e + r.randint(-f.m - 3, f.m + 3) // r.choice((1, 2, 8)), 0), (1 << f.e) - 2)
            m = bits & ((1 << f.m) - 1)
            if r.randrange(2):
                m = m >> r.randrange(f.m) << r.randrange(f.m) & ((1 << f.m) - 1)
            return (bits & f.sign) | e << f.m | m
        return bits
    return bits >> r.randrange(w) if how < 6 else bits


def operands(form, n):
    r = random.Random(form.seed)
    rows = []
    for i in range(n):
        row = []
        for t, own in zip(form.ins, form.sets):
            b = boundaries(t) if own is None and len(form.ins) == 1 else None
            if own:
                row.append(own(r))
            elif b and i < len(b):
                row.append(b[i] & ((1 << WIDTH[t]) - 1))
            else:
                row.append(value(t, r, row[-1] if row and t == form.ins[len(row) - 1] else None))
        rows.append(row)
    return rows


def reg(t):
    return "b16" if WIDTH[t] <= 16 else t if t in ("f32", "f64") else "b%d" % WIDTH[t]


def shown(t):
    """The type in which a result is compared, and how many of them there are in one."""
    if t in ("f16x2", "bf16x2"):
        return "f16", 2
    return ("f16" if t == "bf16" else t if t in ("f16", "f32", "f64") else "b%d" % WIDTH[t]), 1


def literal(v, t, part=0):
    if t.endswith("16x2") and t[0] in "fb":
        v = v[part] if isinstance(v, (tuple, list)) else (v if isinstance(v, str) else v >> 16 * part & 0xffff)
    return v if isinstance(v, str) else "0x%x" % v


def warp_results(form, rows, kind):
    """Of forms between lanes: 32 rows are a warp, of which kind g has the odd lanes."""
    want = []
    for i in range(0, len(rows), 32):
        on = [kind != "g" or lane & 1 for lane in range(32)]
        want += form.group(rows[i:i + 32], on)
    return want


def results(form, row):
    got = form.fn(*row)
    return [got] if len(form.out) == 1 else list(got)


def kernel(name, form, n, kind, rows):
    """kind: v lanes apart, u lanes alike (index: the block's), g every other thread guarded off, k constants."""
    o = [".visible .entry %s()\n{\n\t.reg .pred %%p<8>, %%go;\n\t.reg .b32 %%i, %%o, %%u;\n\t.reg .b64 %%x, %%y, %%t;" % name]
    names = NAMES[:len(form.ins)]
    regs = {k: "%" + k + "v" for k in names}
    for k, t in zip(names, form.ins):
        o.append("\t.reg .%s %s;" % ("pred" if t == "pred" else reg(t), regs[k]))
    outs = ["%%d%d" % i for i in range(len(form.out))]
    for k, t in zip(outs, form.out):
        o.append("\t.reg .%s %s;" % ("pred" if t == "pred" else reg(t), k))
    o.append("\tmov.u32 %%i, %%%s.x;" % ("ctaid" if kind == "u" else "tid"))
    if kind in "vg":
        o.append("\tmov.u32 %u, %ctaid.x;\n\tmov.u32 %o, %ntid.x;\n\tmad.lo.u32 %i, %u, %o, %i;")
        o.append("\tsetp.ge.u32 %%go, %%i, %d;\n\t@%%go ret;" % n)
    base = name[:-1]
    body = form.text
    if kind == "g":
        o.append("\tand.b32 %u, %i, 1;\n\tsetp.eq.u32 %go, %u, 1;")
        o += ["\tsetp.ne.u32 %s, 1, 1;" % k if t == "pred" else "\tmov.b%d %s, 0x%x;" % (max(WIDTH[t], 16), k, SENTINEL & ((1 << max(WIDTH[t], 16)) - 1))
              for k, t in zip(outs, form.out)]
        body = "\n".join("@%go " + x.strip() if x.strip() and x.strip()[0] not in "{}." else x for x in body.replace("; ", ";\n").split("\n"))
    regs["m"], regs["scratch"] = "0xaaaaaaaa" if kind == "g" else "0xffffffff", base + "sc"
    ids = {"d" + (str(i) if i else ""): k for i, k in enumerate(outs)}

    def store(i):
        for k, (d, t) in enumerate(zip(outs, form.out)):
            w = WIDTH[t]
            o.append("\tmov.u64 %%y, %s%s%d;" % (base, kind, k))
            o.append("\tmad.wide.u32 %%y, %s, %d, %%y;" % (i, w // 8))
            if t == "pred":
                o.append("\tselp.u32 %%u, 1, 0, %s;\n\tst.global.u32 [%%y], %%u;" % d)
            else:
                o.append("\tst.global.b%d [%%y], %s;" % (w, d))

    if kind == "k":
        for i, row in enumerate(rows):
            for k, t, v in zip(names, form.ins, row):
                if t == "pred":
                    o.append("\tsetp.ne.u32 %s, 1, %d;" % (regs[k], 1 - v))
                else:
                    o.append("\tmov.b%d %s, 0x%x;" % (max(16, WIDTH[t]), regs[k], v))
            o.append("\t" + body.format(**regs, **ids))
            store(str(i))
    else:
        for k, t in zip(names, form.ins):
            w = WIDTH[t]
            o.append("\tmov.u64 %%x, %s%s;\n\tmad.wide.u32 %%x, %%i, %d, %%x;" % (base, k, w // 8))
            if t == "pred":
                o.append("\tld.global.u32 %%u, [%%x];\n\tsetp.ne.u32 %s, %%u, 0;" % regs[k])
            else:
                o.append("\tld.global.b%d %s, [%%x];" % (w, regs[k]))
        o.append("\t" + body.format(**regs, **ids))
        store("%i")
    o.append("\tret;\n}")
    return "\n".join(o)




def write(path, title, forms, n=64, version="8.8", target="sm_90", cc=None, constants=6):
    head, code = ["// %s, by the oracle (tests/ptx/oracle)." % title], []
    if cc:
        head.append("// cc: " + cc)
    for at, form in enumerate(forms):
        base = "f%d" % at
        rows = operands(form, n)
        want = None if form.group else [results(form, row) for row in rows]
        code.append("// %s: %s" % (base, form.text.replace("\n", " ")))
        for j, (k, t) in enumerate(zip(NAMES, form.ins)):
            code.append(".global .align 8 .b%d %s%s[%d] = {%s};" % (WIDTH[t], base, k, n, ", ".join("0x%x" % r[j] for r in rows)))
        if form.scratch:
            code.append(".global .align 32 .b8 %ssc[%d];" % (base, form.scratch))
        for kind in form.kinds:
            if form.group:
                want = warp_results(form, rows, kind)
            rs = rows[:constants] if kind == "k" else rows
            for j, t in enumerate(form.out):
                code.append(".global .align 8 .b%d %s%s%d[%d];" % (WIDTH[t], base, kind, j, len(rs)))
            code.append(kernel(base + kind, form, n, kind, rs))
            grid, block = {"v": ((n + 63) // 64, 64), "u": (n, 32), "g": ((n + 63) // 64, 64) if form.group else ((n + 47) // 48, 48), "k": (1, 1)}[kind]
            head.append("// launch: %s%s grid=%d block=%d" % (base, kind, grid, block))
            for j, t in enumerate(form.out):
                ty, parts = shown(t)
                keep = 0 if t == "pred" else SENTINEL & ((1 << WIDTH[t]) - 1)
                vals = [keep if kind == "g" and not i & 1 else w[j] for i, w in enumerate(want[:len(rs)])]
                text = " ".join(literal(v, t, p) for v in vals for p in range(parts))
                head.append("// expect: @%s%s%d:%s[%d] = %s%s" % (base, kind, j, ty, len(rs) * parts, text,
                                                                    "" if not form.ulp else " ulp=%g" % form.ulp if form.ulp >= 1 else " ~%g" % form.ulp))
    with open(path, "w") as f:
        f.write("\n".join(head) + "\n.version %s\n.target %s\n.address_size 64\n\n" % (version, target) + "\n".join(code) + "\n")
