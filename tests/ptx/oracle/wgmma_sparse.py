# SPDX-License-Identifier: MIT
"""wgmma.mma_async.sp (PTX ISA 9.7.15.6): half of A's elements stored, in shared memory or in registers, metadata in the lanes as the figures there have
them, B with 64 bytes along k, and the whole product in Python's integers."""
import random

from sparse import CHUNK, PAIRS, nibble
from wgmma import BITS, FLOATS, Memory, code, layout, number


def one(rng, name, d, a, b, n, regs, across, modes, bases, scale, signs, sat, selector):
    kk, half = 512 // BITS[a], 256 // BITS[a]
    dense = [[0] * kk for _ in range(64)]
    stored, meta = [[] for _ in range(64)], [[] for _ in range(64)]
    for r in range(64):
        for k in range(kk // CHUNK[a]):
            places = sorted(rng.sample(range(CHUNK[a]), CHUNK[a] // 2)) if CHUNK[a] == 2 else list(rng.choice(PAIRS))
            meta[r].append(nibble(a, places[0], places[-1]))
            for p in places:
                v = number(rng, a)
                dense[r][CHUNK[a] * k + p] = v
                stored[r].append(v)
    mb = [[number(rng, b) for _ in range(kk)] for _ in range(n)]
    small, edge = 3 if d == "f16" else 1000, (1 << 31) - 1
    mc = [[rng.randrange(-small, small + 1) if not sat else rng.choice((edge, -edge - 1, 5)) for _ in range(n)] for _ in range(64)]
    md = []
    for i in range(64):
        row = []
        for j in range(n):
            s = sum(x * y for x, y in zip(dense[i], mb[j])) * signs[0] * signs[1] + (mc[i][j] if scale else 0)
            if d == "s32":
                s = min(max(s, -edge - 1), edge) if sat else (s + edge + 1) % (1 << 32) - edge - 1
            row.append(s)
        md.append(row)
    mem = Memory()
    da = None if regs else layout(rng, mem, a, 64, half, stored, across[0], modes[0], bases[0])
    db = layout(rng, mem, b, n, kk, mb, across[1], modes[1], bases[1], 4)
    words = (mem.end + 3) // 4
    image = [sum(mem.bytes.get(4 * i + j, 0) << 8 * j for j in range(4)) for i in range(words)]
    nd = n // 2 if d != "f16" else n // 4
    aregs, rc, rd = [], [], []
    for t in range(128):
        w, lane = divmod(t, 32)
        g, q = divmod(lane, 4)
        for r in range(4):
            row, bit, word = 16 * w + g + 8 * (r % 2), (r // 2 * 16 + q * 4) * 8, 0
            for e in range(32 // BITS[a]):
                word |= code(a, stored[row][bit // BITS[a] + e]) << e * BITS[a]
            aregs.append(word)
        word, top = rng.getrandbits(32), 16 * w + g         # of lanes that contribute nothing
        if BITS[a] == 8:
            word = sum(meta[top + 8 * (q % 2)][8 * (q // 2) + i] << 4 * i for i in range(8))
        elif q // 2 == selector:
            word = sum(meta[top][4 * (q % 2) + i] << 4 * i | meta[top + 8][4 * (q % 2) + i] << 16 + 4 * i for i in range(4))
        aregs.append(word)
        for m, out in ((mc, rc), (md, rd)):
            one_of = [code(d, m[top + 8 * (i // 2 % 2)][8 * (i // 4) + q * 2 + i % 2]) for i in range(n // 2)]
            out += [one_of[2 * i] | one_of[2 * i + 1] << 16 for i in range(n // 4)] if d == "f16" else one_of
    text = ["mov.u64 %%db, %d;" % db[1], "mov.u32 %%r1, sm; shr.u32 %%r1, %%r1, 4; add.u32 %%r2, %%r1, %d; cvt.u64.u32 %%x, %%r2; or.b64 %%db, %%db, %%x;" % db[0]]
    if not regs:
        text.append("mov.u64 %%da, %d; add.u32 %%r2, %%r1, %d; cvt.u64.u32 %%x, %%r2; or.b64 %%da, %%da, %%x;" % (da[1], da[0]))
    text.append("mul.lo.u32 %r3, %t, 20; cvt.u64.u32 %x, %r3; add.u64 %x, %x, %pa; ld.global.b32 %e, [%x+16];")
    text += ["ld.global.b32 %%a%d, [%%x+%d];" % (i, 4 * i) for i in range(4)]
    rt = "b32" if d == "f16" else d
    text += ["ld.global.%s %%d%d, [%%pc+%d];" % (rt, i, 4 * i) for i in range(nd)]
    ops = "{%s}, %s, %%db, %%e, %d, %%p" % (", ".join("%%d%d" % i for i in range(nd)), "{%a0, %a1, %a2, %a3}" if regs else "%da", selector)
    if a in FLOATS:
        ops += ", %d, %d" % signs
    if BITS[a] == 16:
        ops += (", %d" % across[1]) if regs else ", %d, %d" % across
    text += ["wgmma.fence.sync.aligned;",
             "wgmma.mma_async.sp.sync.aligned.m64n%dk%d.%s.%s.%s%s %s;" % (n, kk, d, a, b, ".satfinite" if sat else "", ops),
             "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    text += ["st.global.%s [%%po+%d], %%d%d;" % (rt, 4 * i, i) for i in range(nd)]
    body = """.visible .entry %s()
{
.shared .align 1024 .b8 sm[%d];
.reg .pred %%p, %%q;
.reg .b32 %%t, %%i, %%r1, %%r2, %%r3, %%v, %%e, %%a<4>;
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
setp.%s.s32 %%p, %%t, %%t;
%s
ret;
}
""" % (name, 4 * words, rt, nd, words, 4 * nd, "eq" if scale else "ne", "\n".join(text))
    data = "".join(".global .align 16 .b32 %s[%d] = {%s};\n" % (v, len(w), ", ".join("0x%x" % x for x in w))
                   for v, w in (("image", image), ("ra", aregs), ("rc", rc))) + ".global .align 16 .b32 out[%d];\n" % (128 * nd)
    want = "// launch: %s block=128\n// expect: @out:u32[%d] = %s\n" % (name, 128 * nd, ", ".join("0x%x" % x for x in rd))
    return data + body, want


TYPES = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e4m3"), ("f16", "e5m2", "e4m3"),
         ("f32", "e4m3", "e5m2"), ("f32", "e5m2", "e5m2"), ("s32", "s8", "s8"), ("s32", "u8", "s8"), ("s32", "s8", "u8"), ("s32", "u8", "u8")]


def forms():
    rng = random.Random(91)
    some = []
    for d, a, b in TYPES:
        ints = d == "s32"
        for regs in (False, True):
            for across in [(0, 0), (0, 1), (1, 0), (1, 1)] if BITS[a] == 16 else [(0, 0)]:
                if regs and across[0]:
                    continue
                for selector in (0, 1) if BITS[a] > 8 else (0,):
                    # 32 bytes of a swizzled row do not hold 64 of k
                    modes = rng.randrange(4), rng.choice((0, 1, 2, 3) if across[1] else (0, 1, 2))
                    bases = tuple(rng.randrange(8) if m == 1 and rng.random() < .3 else 0 for m in modes)
                    some.append((d, a, b, rng.choice((8, 16, 24, 64, 96)), regs, across, modes, bases, rng.random() < .7,
                                 (1, 1) if ints else (rng.choice((1, -1)), rng.choice((1, -1))), ints and rng.random() < .5, selector))
    return some


def write(folder, each):
    some = forms()[::each]
    for i, f in enumerate(some):
        body, lines = one(random.Random(i), "w%d" % i, *f)
        with open("%s/wgmmasp_%03d.ptx" % (folder, i), "w") as out:
            out.write("// %s\n" % (f,) + lines + ".version 8.4\n.target sm_90a\n.address_size 64\n" + body)
    return len(some)
