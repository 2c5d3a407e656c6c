# SPDX-License-Identifier: MIT
"""wgmma.mma_async (PTX ISA 9.7.15): matrices of small numbers, laid out in shared memory as the ISA's canonical layouts say, and the
whole product in Python's integers. Every type, major-ness, swizzling mode, sign, base offset; n at random, all of them in turn."""
import random

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
PITCH = {0: 16, 1: 128, 2: 64, 3: 32}          # by the descriptor's swizzling mode: bytes of a row


def code(t, v):
    """The bits of a small whole number."""
    if t not in FLOATS:
        return v & ((1 << (BITS.get(t) or 32)) - 1)
    e, f = FLOATS[t]
    if v == 0:
        return 0
    s, v = (1, -v) if v < 0 else (0, v)
    x = v.bit_length() - 1
    assert x <= f
    return s << (e + f) | (x + (1 << (e - 1)) - 1) << f | (v - (1 << x)) << (f - x)


def place(mode, across, lead, stride, start, base, bits, mn, k):
    """Byte and bit of an element: canonical layouts of 9.7.15.5.1.2.1, then the swizzle of 128-byte rows by their number."""
    if not across:
        byte = k * bits // 8
        at = mn % 8 * PITCH[mode] + mn // 8 * stride + byte // 16 * (16 if mode else lead) + byte % 16
    else:
        byte = mn * bits // 8
        wide = PITCH[mode]
        groups = (lead, stride) if mode else (stride, lead)
        at = byte % wide + byte // wide * groups[0] + k % 8 * wide + k // 8 * groups[1]
    at += start
    if mode:
        row = (at // 128 - base) % 8    # of the pattern of eight rows of 128 bytes that starts at `base`
        chunk = at // 16 % 8 ^ row % (PITCH[mode] // 16)
        at = at // 128 * 128 + chunk * 16 + at % 16
    return at, k * bits % 8 if bits < 8 else 0


class Memory:
    def __init__(self):
        self.bytes = {}
        self.end = 0

    def put(self, at, shift, bits, value):
        for i in range(max(bits // 8, 1)):
            self.bytes[at + i] = self.bytes.get(at + i, 0) | (value >> 8 * i & 255) << shift
        self.end = max(self.end, at + 4)


def layout(rng, mem, t, rows, kk, matrix, across, mode, base, pieces=2):
    """Puts a matrix behind what is there; its descriptor without the address of shared memory. pieces: of 16 bytes along k, or of 8 rows of k."""
    bits = BITS[t]
    pitch = PITCH[mode]
    start = (mem.end + 1023) // 1024 * 1024 + 128 * base + (0 if mode else rng.choice((0, 16, 48)))
    span = 8 * pitch
    if not across:
        if mode and pitch >= 16 * pieces + 32 and not base and rng.random() < .4:
            start += 32             # k goes on within the row, as when it is cut into pieces of 32 bytes
        if mode:
            stride, lead = span * rng.choice((1, 2)), 16
        elif rng.random() < .5:
            lead = span * rng.choice((1, 3))
            stride = pieces * lead
        else:
            stride = span
            lead = (rows // 8) * span + rng.choice((0, 16))
    elif mode:
        atoms = (rows * bits // 8 + pitch - 1) // pitch
        if rng.random() < .5:
            lead, stride = span, span * atoms
        else:
            stride, lead = span, pieces * span
    else:
        if rng.random() < .5:
            stride, lead = span, span * (rows // 8)
        else:
            lead, stride = span, pieces * span
    for mn in range(rows):
        for k in range(kk):
            at, shift = place(mode, across, lead, stride, start, base, bits, mn, k)
            mem.put(at, shift, bits, code(t, matrix[mn][k]))
    return (start & 0x3ffff) >> 4, (lead & 0x3ffff) >> 4 << 16 | (stride & 0x3ffff) >> 4 << 32 | base << 49 | mode << 62


def number(rng, t):
    if t == "b1":
        return rng.randrange(2)
    if t in ("s8", "u8"):
        return rng.randrange(-128, 128) if t == "s8" else rng.randrange(256)
    return rng.randrange(-4, 5)


def one(rng, number_of, d, a, b, n, regs, across, modes, bases, scale, signs, sat):
    kk = 256 // BITS[a]
    ma = [[number(rng, a) for _ in range(kk)] for _ in range(64)]
    mb = [[number(rng, b) for _ in range(kk)] for _ in range(n)]
    small = 3 if d == "f16" else 1000
    edge = (1 << 31) - 1
    mc = [[rng.randrange(-small, small + 1) if not sat else rng.choice((edge, -edge - 1, 5)) for _ in range(n)] for _ in range(64)]
    mem = Memory()
    da = None if regs else layout(rng, mem, a, 64, kk, ma, across[0], modes[0], bases[0])
    db = layout(rng, mem, b, n, kk, mb, across[1], modes[1], bases[1])
    words = (mem.end + 3) // 4
    image = [sum(mem.bytes.get(4 * i + j, 0) << 8 * j for j in range(4)) for i in range(words)]
    md = []
    for i in range(64):
        row = []
        for j in range(n):
            s = sum((x & y) if a == "b1" else x * y for x, y in zip(ma[i], mb[j])) * signs[0] * signs[1] + (mc[i][j] if scale else 0)
            if d == "s32":
                s = min(max(s, -edge - 1), edge) if sat else (s + edge + 1) % (1 << 32) - edge - 1
            row.append(s)
        md.append(row)

    def spread(m):
        """Registers of the result: 9.7.15.5.2"""
        out = []
        for t in range(128):
            w, lane = divmod(t, 32)
            regs_of = []
            for i in range(n // 2):
                r = 16 * w + lane // 4 + 8 * (i // 2 % 2)
                c = 8 * (i // 4) + lane % 4 * 2 + i % 2
                regs_of.append(code(d, m[r][c]))
            if d == "f16":
                regs_of = [regs_of[2 * i] | regs_of[2 * i + 1] << 16 for i in range(n // 4)]
            out += regs_of
        return out

    nd = n // 2 if d != "f16" else n // 4
    aregs = []
    for t in range(128):
        w, lane = divmod(t, 32)
        for r in range(4):
            row, bit, word = 16 * w + lane // 4 + 8 * (r % 2), (r // 2 * 16 + lane % 4 * 4) * 8, 0
            for e in range(32 // BITS[a]):
                word |= code(a, ma[row][bit // BITS[a] + e]) << e * BITS[a]
            aregs.append(word)
    floats = a in FLOATS
    text = ["mov.u64 %%db, %d;" % db[1], "mov.u32 %%r1, sm; shr.u32 %%r1, %%r1, 4; add.u32 %%r2, %%r1, %d; cvt.u64.u32 %%x, %%r2; or.b64 %%db, %%db, %%x;" % db[0]]
    if not regs:
        text.append("mov.u64 %%da, %d; add.u32 %%r2, %%r1, %d; cvt.u64.u32 %%x, %%r2; or.b64 %%da, %%da, %%x;" % (da[1], da[0]))
    else:
        text += ["mul.lo.u32 %r3, %t, 16; cvt.u64.u32 %x, %r3; add.u64 %x, %x, %pa; ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x];"]
    for i in range(nd):
        text.append("ld.global.%s %%d%d, [%%pc+%d];" % ("b32" if d == "f16" else d, i, 4 * i))
    rt = "b32" if d == "f16" else d
    ops = "{%s}, %s, %%db, %s" % (", ".join("%%d%d" % i for i in range(nd)), "{%a0, %a1, %a2, %a3}" if regs else "%da", "%p")
    if floats:
        ops += ", %d, %d" % signs
    if a in ("f16", "bf16"):
        ops += (", %d" % across[1]) if regs else ", %d, %d" % across
    text += ["wgmma.fence.sync.aligned;",
             "wgmma.mma_async.sync.aligned.m64n%dk%d%s.%s.%s.%s%s %s;" % (n, kk, "", d, a, b, ".satfinite" if sat else ".and.popc" if a == "b1" else "", ops),
             "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    for i in range(nd):
        text.append("st.global.%s [%%po+%d], %%d%d;" % (rt, 4 * i, i))
    name = "w%d" % number_of
    body = """.visible .entry %s()
{
.shared .align 1024 .b8 sm[%d];
.reg .pred %%p, %%q;
.reg .b32 %%t, %%i, %%r1, %%r2, %%r3, %%v, %%a0, %%a1, %%a2, %%a3;
.reg .%s %%d<%d>;
.reg .b64 %%x, %%pi, %%pa, %%pc, %%po, %%da, %%db;
mov.u64 %%pi, image; mov.u64 %%pa, ra; mov.u64 %%pc, rc; mov.u64 %%po, out;
mov.u32 %%t, %%tid.x;
mov.u32 %%i, %%t;
copy: setp.ge.u32 %%q, %%i, %d; @%%q bra copied;
mul.wide.u32 %%x, %%i, 4; add.u64 %%x, %%x, %%pi; ld.global.b32 %%v, [%%x];
shl.b32 %%r2, %%i, 2; mov.u32 %%r1, sm; add.u32 %%r2, %%r2, %%r1; st.shared.b32 [%%r2], %%v;
add.u32 %%i, %%i, 128; bra copy;
copied: fence.proxy.async; bar.sync 0;
mul.wide.u32 %%x, %%t, %d; add.u64 %%pc, %%pc, %%x; add.u64 %%po, %%po, %%x;
setp.ne.s32 %%p, %%t, %d;
%s
ret;
}
""" % (name, 4 * words, rt, nd, words, 4 * nd, 2000 if scale else 0, "\n".join(text))
    if not scale:               # the same for the whole warpgroup
        body = body.replace("setp.ne.s32 %p, %t, 0;", "setp.ne.s32 %p, %t, %t;")

    data = "".join(".global .align 16 .b32 %s[%d] = {%s};\n" % (v, len(w), ", ".join("0x%x" % x for x in w))
                   for v, w in (("image", image), ("ra", aregs), ("rc", spread(mc)))) + ".global .align 16 .b32 out[%d];\n" % (128 * nd)
    want = "// launch: %s block=128\n// expect: @out:u32[%d] = %s\n" % (name, 128 * nd, ", ".join("0x%x" % x for x in spread(md)))
    return data + body, want


TYPES = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e4m3"),
         ("f32", "e5m2", "e4m3"), ("f16", "e4m3", "e5m2"), ("f32", "e5m2", "e5m2"), ("s32", "s8", "s8"), ("s32", "u8", "s8"), ("s32", "s8", "u8"),
         ("s32", "u8", "u8"), ("s32", "b1", "b1")]


def forms(each):
    """(arguments of one()) of all forms, each EACH-th."""
    rng = random.Random(90)
    sizes = [8 * i for i in range(1, 33)]
    turn = 0
    some = []
    for d, a, b in TYPES:
        ints = d == "s32"
        for regs in (False, True):
            for mode in range(4):
                for across in ([(0, 0), (0, 1), (1, 0), (1, 1)] if BITS[a] == 16 else [(0, 0)]):
                    if regs and across[0]:
                        continue
                    if rng.random() < .5:
                        n = rng.choice((8, 16, 24))
                    else:
                        turn = (turn + 1) % len(sizes)
                        n = sizes[turn]
                    if ints and n > 32 and n % 16:
                        n += 8
                    other = rng.randrange(4)
                    modes = (mode, other) if rng.random() < .5 else (other, mode)
                    bases = tuple(rng.randrange(8) if m == 1 and rng.random() < .3 else 0 for m in modes)
                    some.append((d, a, b, n, regs, across, modes, bases, rng.random() < .7, (1, 1) if ints else (rng.choice((1, -1)), rng.choice((1, -1))),
                                 ints and a != "b1" and rng.random() < .5))
    return some[::each]


def write(folder, each):
    some = forms(each)
    for i, f in enumerate(some):
        body, lines = one(random.Random(i), i, *f)
        with open("%s/wgmma_%03d.ptx" % (folder, i), "w") as out:
            out.write("// %s\n" % (f,) + lines + ".version 8.4\n.target sm_90a\n.address_size 64\n" + body)
    return len(some)
