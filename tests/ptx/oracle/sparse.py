# SPDX-License-Identifier: MIT
"""mma.sp (PTX ISA 9.7.14.6): a matrix A half of whose elements are zeros, in chunks of the granularity of its type, packed with metadata as the
figures there have them; B of small whole numbers, infinities where no stored element meets them, and the whole product in Python's integers."""
import random

from wgmma import BITS, FLOATS, code

BITS = dict(BITS, s4=4, u4=4)
# shape by K, selectors; chunk: columns that have four bits of metadata
CHUNK = {"f16": 4, "bf16": 4, "tf32": 2, "s8": 4, "u8": 4, "s4": 8, "u4": 8, "e4m3": 4, "e5m2": 4}
SHAPES = {"f16": ((16, 4), (32, 2)), "bf16": ((16, 4), (32, 2)), "tf32": ((8, 4), (16, 2)), "s8": ((32, 2), (64, 1)), "u8": ((32, 2), (64, 1)),
          "s4": ((64, 2), (128, 1)), "u4": ((64, 2), (128, 1)), "e4m3": ((64, 1),), "e5m2": ((64, 1),)}
PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def value(rng, t):
    if t in ("s8", "u8", "s4", "u4"):
        n = 1 << BITS[t]
        return rng.randrange(-n // 2, n // 2) if t[0] == "s" else rng.randrange(n)
    return rng.randrange(-4, 5)


def bits(t, v):
    if v == "inf":
        return {"f16": 0x7c00, "bf16": 0x7f80, "tf32": 0x7f800000, "e4m3": 0x7f, "e5m2": 0x7c}[t]
    return v & ((1 << BITS[t]) - 1) if t not in FLOATS else code(t, v)


def nibble(t, first, second):
    """The metadata of a chunk: two positions; of .tf32, which has one of two, four bits for both of its halves."""
    return first | second << 2 if t != "tf32" else (0b0100, 0b1110)[first]


def one(rng, number, d, a, b, kk, selector, ordered, sat):
    per = 32 // BITS[a]
    chunks = kk // CHUNK[a]
    dense = [[0] * kk for _ in range(16)]
    stored = [[] for _ in range(16)]
    meta = [[] for _ in range(16)]
    met = [set() for _ in range(kk)]
    for r in range(16):
        for k in range(chunks):
            if a == "tf32":
                at = rng.randrange(2)
                places, four = [2 * k + at], nibble(a, at, 0)
            else:
                i, j = rng.choice(PAIRS)
                four = nibble(a, i, j)
                if CHUNK[a] == 8:
                    places = [8 * k + 2 * i, 8 * k + 2 * i + 1, 8 * k + 2 * j, 8 * k + 2 * j + 1]
                else:
                    places = [4 * k + i, 4 * k + j]
            meta[r].append(four)
            for p in places:
                dense[r][p] = value(rng, a)
                met[p].add(r)
                stored[r].append(dense[r][p])
    small = 3 if d == "f16" else 1000
    edge = (1 << 31) - 1
    mb = [[value(rng, b) for _ in range(8)] for _ in range(kk)]
    # what no row of A stores is infinite or no number: that is met by nobody
    alone = [k for k in range(kk) if not met[k]] if b in FLOATS else []
    mc = [[rng.choice((edge, -edge - 1, 5)) if sat else rng.randrange(-small, small + 1) for _ in range(8)] for _ in range(16)]
    md = []
    for r in range(16):
        row = []
        for n in range(8):
            s = sum(dense[r][k] * mb[k][n] for k in range(kk)) + mc[r][n]
            if d == "s32":
                s = min(max(s, -edge - 1), edge) if sat else (s + edge + 1) % (1 << 32) - edge - 1
            row.append(s)
        md.append(row)
    for k in alone:
        mb[k] = ["inf"] * 8
    wide = BITS[a] < 16
    words = kk // 2 // (4 * per)                # of a row of stored elements
    large = words == 2
    lanes = []
    for lane in range(32):
        g, t = divmod(lane, 4)
        ra = []
        for w in range(words):
            for r in (g, g + 8):
                ra.append(sum(bits(a, stored[r][w * 4 * per + t * per + e]) << e * BITS[a] for e in range(per)))
        rb = [sum(bits(b, mb[w * 4 * per + t * per + e][g]) << e * BITS[b] for e in range(per)) for w in range(2 * words)]
        word = rng.getrandbits(32)              # of lanes that contribute nothing
        if wide:
            if large or t // 2 == selector:
                r = g + 8 * (t % 2)
                first = 8 * (t // 2) if large else 0
                word = sum(meta[r][first + i] << 4 * i for i in range(8))
        else:
            mine = t // 2 == selector if large else t == selector
            if mine:
                first = 4 * (t % 2) if large else 0
                word = sum(meta[g][first + i] << 4 * i | meta[g + 8][first + i] << 16 + 4 * i for i in range(4))
        rc, rd = [], []
        for m, to in ((mc, rc), (md, rd)):
            regs = [code(d, m[g + 8 * (i // 2)][2 * t + i % 2]) for i in range(4)]
            to += [regs[0] | regs[1] << 16, regs[2] | regs[3] << 16] if d == "f16" else regs
        lanes.append((ra, rb, word, rc, rd))
    na, nb, nd = 2 * words, 2 * words, 2 if d == "f16" else 4
    stride = na + nb + 1 + nd
    image = [x for ra, rb, word, rc, _ in lanes for x in ra + rb + [word] + rc]
    rt = "b32" if d == "f16" else d
    name = "s%d" % number
    text = ["ld.global.b32 %%a%d, [%%pi+%d];" % (i, 4 * i) for i in range(na)]
    text += ["ld.global.b32 %%b%d, [%%pi+%d];" % (i, 4 * (na + i)) for i in range(nb)]
    text += ["ld.global.b32 %%e, [%%pi+%d];" % (4 * (na + nb))]
    text += ["ld.global.%s %%d%d, [%%pi+%d];" % (rt, i, 4 * (na + nb + 1 + i)) for i in range(nd)]
    vec = lambda p, n: "{%s}" % ", ".join("%%%s%d" % (p, i) for i in range(n))
    text.append("mma.sp%s.sync.aligned.m16n8k%d.row.col%s.%s.%s.%s.%s %s, %s, %s, %s, %%e, %d;" % (
        "::ordered_metadata" if ordered else "", kk, ".satfinite" if sat else "", d, a, b, d, vec("d", nd), vec("a", na), vec("b", nb), vec("d", nd),
        selector))
    text += ["st.global.%s [%%po+%d], %%d%d;" % (rt, 4 * i, i) for i in range(nd)]
    body = """.visible .entry %s()
{
.reg .b32 %%t, %%e, %%a<4>, %%b<4>;
.reg .%s %%d<4>;
.reg .b64 %%x, %%pi, %%po;
mov.u64 %%pi, image; mov.u64 %%po, out;
mov.u32 %%t, %%tid.x;
mul.wide.u32 %%x, %%t, %d; add.u64 %%pi, %%pi, %%x; mul.wide.u32 %%x, %%t, %d; add.u64 %%po, %%po, %%x;
%s
ret;
}
""" % (name, rt, 4 * stride, 4 * nd, "\n".join(text))
    data = ".global .align 16 .b32 image[%d] = {%s};\n.global .align 16 .b32 out[%d];\n" % (len(image), ", ".join("0x%x" % x for x in image), 32 * nd)
    want = [x for lane in lanes for x in lane[4]]
    return data + body, "// launch: %s block=32\n// expect: @out:u32[%d] = %s\n" % (name, 32 * nd, ", ".join("0x%x" % x for x in want))


TYPES = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("s32", "s8", "s8"), ("s32", "u8", "s8"),
         ("s32", "s8", "u8"), ("s32", "u8", "u8"), ("s32", "s4", "s4"), ("s32", "u4", "s4"), ("s32", "s4", "u4"), ("s32", "u4", "u4"),
         ("f32", "e4m3", "e4m3"), ("f32", "e5m2", "e4m3"), ("f32", "e4m3", "e5m2"), ("f32", "e5m2", "e5m2")]


def forms(each):
    rng = random.Random(80)
    some = []
    for d, a, b in TYPES:
        for kk, selectors in SHAPES[a]:
            for selector in range(selectors):
                for sat in (False, True) if d == "s32" else (False,):
                    some.append((d, a, b, kk, selector, rng.random() < .5, sat))
    return some[::each]


def write(folder, each):
    some = forms(each)
    for i, f in enumerate(some):
        body, lines = one(random.Random(i), i, *f)
        with open("%s/sparse_%03d.ptx" % (folder, i), "w") as out:
            out.write("// %s\n" % (f,) + lines + ".version 8.6\n.target sm_89\n.address_size 64\n" + body)
    return len(some)
