# SPDX-License-Identifier: MIT
"""Video instructions, scalar and SIMD (PTX ISA 9.7.20), from the text of the ISA."""
import random

from emit import Form
from integer import clamp, compare, sx


def select(v, sel, t):
    """partSelectSignExtend."""
    if not sel:
        return sx(v, 32) if t == "s32" else v
    w = 8 if sel[1] == "b" else 16
    x = v >> w * int(sel[2]) & ((1 << w) - 1)
    return sx(x, w) if t == "s32" else x


def saturated(x, sat, dt, dsel=""):
    w = {"": 32, "b": 8, "h": 16}[dsel[1:2]]
    return clamp(x, dt[0] + str(w)) if sat else x


def merged(x, dsel, c):
    w, at = (8 if dsel[1] == "b" else 16), int(dsel[2])
    m = ((1 << w) - 1) << w * at
    return c & ~m | x << w * at & m


OPS = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max}


def second(o2, x, c, dt):
    x, c = (sx(x, 32), sx(c, 32)) if dt == "s32" else (x & 0xffffffff, c)
    return {"add": x + c, "min": min(x, c), "max": max(x, c)}[o2] & 0xffffffff


def scalar():
    r = random.Random(20)
    sels = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]
    for o in list(OPS) + ["vshl", "vshr"]:
        for at in ("u32", "s32"):
            for bt in ("u32", "s32") if o in OPS else ("u32",):
                for dt in ("u32", "s32"):
                    for sat in ("", ".sat"):
                        for tail in ("", "add", "min", "max", "merge"):
                            asel, bsel, dsel = r.choice(sels), r.choice(sels), r.choice(sels[1:])
                            mode = r.choice((".clamp", ".wrap")) if o not in OPS else ""

                            def fn(a, b, c=0, o=o, at=at, bt=bt, dt=dt, sat=sat, tail=tail, asel=asel, bsel=bsel, dsel=dsel, mode=mode):
                                x, y = select(a, asel, at), select(b, bsel, bt)
                                if o in OPS:
                                    x = OPS[o](x, y)
                                else:
                                    y = min(y, 32) if mode == ".clamp" else y & 31
                                    x = x << y if o == "vshl" else x >> y
                                x = saturated(x, sat, dt, dsel if tail == "merge" else "")
                                if tail == "merge":
                                    return merged(x, dsel, c)
                                return second(tail, x, c, dt) if tail else x & 0xffffffff
                            text = "%s.%s.%s.%s%s%s%s {d}%s, {a}%s, {b}%s%s;" % (
                                o, dt, at, bt, sat, mode, "." + tail if tail in ("add", "min", "max") else "",
                                dsel if tail == "merge" else "", asel, bsel, ", {c}" if tail else "")
                            yield Form(text, "b32", "b32 b32 b32" if tail else "b32 b32", fn)
    for at in ("u32", "s32"):
        for bt in ("u32", "s32"):
            for cmp in ("eq", "ne", "lt", "le", "gt", "ge"):
                for tail in ("", "add", "min", "max", "merge"):
                    asel, bsel, dsel = r.choice(sels), r.choice(sels), r.choice(sels[1:])

                    def fn(a, b, c=0, at=at, bt=bt, cmp=cmp, tail=tail, asel=asel, bsel=bsel, dsel=dsel):
                        x = compare(cmp, select(a, asel, at), select(b, bsel, bt), "s64")
                        return merged(x, dsel, c) if tail == "merge" else second(tail, x, c, "u32") if tail else x
                    yield Form("vset.%s.%s.%s%s {d}%s, {a}%s, {b}%s%s;" % (at, bt, cmp, "." + tail if tail in ("add", "min", "max") else "",
                               dsel if tail == "merge" else "", asel, bsel, ", {c}" if tail else ""),
                               "b32", "b32 b32 b32" if tail else "b32 b32", fn)


def multiply():
    r = random.Random(21)
    sels = ["", ".b0", ".b3", ".h0", ".h1", ".b1"]
    for at in ("u32", "s32"):
        for bt in ("u32", "s32"):
            for sat in ("", ".sat"):
                for scale in ("", ".shr7", ".shr15"):
                    for na, nb, nc, po in ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)):
                        asel, bsel = r.choice(sels), r.choice(sels)
                        inner = "s" if "s32" in (at, bt) or na or nb else "u"
                        dt = "s32" if inner == "s" or nc else "u32"

                        def fn(a, b, c, at=at, bt=bt, sat=sat, scale=scale, neg=na ^ nb, nc=nc, po=po, asel=asel, bsel=bsel, inner=inner, dt=dt):
                            p = select(a, asel, at) * select(b, bsel, bt)
                            c = sx(c, 32) if dt == "s32" else c       # signedFinal of the pseudo-code
                            x = (-p if neg else p) + (-c if nc else c) + po
                            x >>= int(scale[4:] or 0)
                            return saturated(x, sat, dt) & 0xffffffff
                        yield Form("vmad.%s.%s.%s%s%s%s {d}, %s{a}%s, %s{b}%s, %s{c};" % (
                            dt, at, bt, ".po" if po else "", sat, scale, "-" if na else "", asel, "-" if nb else "", bsel, "-" if nc else ""),
                            "b32", "b32 b32 b32", fn)


def simd():
    r = random.Random(22)
    for n in (2, 4):
        w = 32 // n
        masks = [".h0", ".h1", ".h10", ""] if n == 2 else [".b" + k for k in "0 1 10 2 20 21 210 3 30 31 310 32 320 321 3210".split()] + [""]

        def pick(a, b, sel, t, n=n, w=w):
            both = b << 32 | a
            out = []
            for k in reversed(sel):
                x = both >> w * int(k) & ((1 << w) - 1)
                out.append(sx(x, w) if t == "s32" else x)
            return out

        def finish(t, mask, acc, c, dt, n=n, w=w):
            on = [i for i in range(n) if not mask or str(i) in mask[2:]]
            if acc:
                return c + sum(t[i] for i in on) & 0xffffffff
            for i in on:
                c = c & ~(((1 << w) - 1) << w * i) | (t[i] & ((1 << w) - 1)) << w * i
            return c & 0xffffffff
        dfa, dfb = ("10", "32") if n == 2 else ("3210", "7654")
        for o in list(OPS) + ["vavrg", "vset"]:
            for at in ("u32", "s32"):
                for bt in ("u32", "s32"):
                    for dt in ("u32", "s32") if o != "vset" else ("u32",):
                        for tail in ("", ".sat", ".add", "mask"):
                            if o == "vset" and tail == ".sat":
                                continue
                            asel = bsel = ""
                            if r.randrange(3):
                                asel, bsel = ("".join(str(r.randrange(2 * n)) for _ in range(n)) for _ in range(2))
                                # to NVIDIA's assembler .b1024 is a type
                                asel, bsel = asel.replace("1024", "1025"), bsel.replace("1024", "1025")
                            mask = r.choice(masks) if tail in ("mask", ".add") else ""
                            cmp = r.choice(("eq", "ne", "lt", "le", "gt", "ge"))

                            def fn(a, b, c, o=o, at=at, bt=bt, dt=dt, tail=tail, asel=asel, bsel=bsel, mask=mask, cmp=cmp,
                                   pick=pick, finish=finish, dfa=dfa, dfb=dfb, w=w):
                                t = []
                                for x, y in zip(pick(a, b, asel or dfa, at), pick(a, b, bsel or dfb, bt)):
                                    if o == "vset":
                                        z = compare(cmp, x, y, "s64")
                                    elif o == "vavrg":
                                        z = x + y
                                        z = (z + 1 if z >= 0 else z) >> 1
                                    else:
                                        z = OPS[o](x, y)
                                    t.append(clamp(z, dt[0] + str(w)) if tail == ".sat" else z)
                                return finish(t, mask, tail == ".add", c, dt)
                            k = "h" if n == 2 else "b"
                            types = "%s.%s.%s" % (at, bt, cmp) if o == "vset" else "%s.%s.%s" % (dt, at, bt)
                            yield Form("%s%d.%s%s {d}%s, {a}%s, {b}%s, {c};" % (
                                o, n, types, tail if tail != "mask" else "", mask, "." + k + asel if asel else "", "." + k + bsel if bsel else ""),
                                "b32", "b32 b32 b32", fn)


def forms(full):
    yield from scalar()
    yield from multiply()
    yield from simd()
