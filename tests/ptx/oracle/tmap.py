# SPDX-License-Identifier: MIT
"""Copies by tensor maps (PTX ISA 5.5, 9.7.9.27): boxes of tensors of one to five dimensions into shared memory and back, with strides of
elements, swizzling, what lies outside, and reductions. The maps are made by the kernels themselves, with tensormap.replace (9.7.9.28)."""
import itertools
import random
import struct

# type: number of tensormap.replace, bytes, what memory.py would call it
TYPES = {"u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "s32": (3, 4), "u64": (4, 8), "s64": (5, 8), "f16": (6, 2), "f32": (7, 4), "f64": (9, 8), "bf16": (10, 2)}
FORMAT = {"f16": "<e", "f32": "<f", "f64": "<d"}
WIDE = {0: 0, 1: 32, 2: 64, 3: 128}


def bits(t, v):
    if t in FORMAT:
        return int.from_bytes(struct.pack(FORMAT[t], v), "little")
    if t == "bf16":
        return int.from_bytes(struct.pack("<f", v), "little") >> 16     # small numbers: exact
    return v & ((1 << 8 * TYPES[t][1]) - 1)


def swizzled(at, mode):
    """Pieces of 16 bytes of a row of 128 change places by the row's number among eight."""
    if not mode:
        return at
    chunk = at // 16 % 8 ^ at // 128 % 8 % (WIDE[mode] // 16)
    return at // 128 * 128 + chunk * 16 + at % 16


class Tensor:
    def __init__(self, rng, t, dims, pads):
        self.t, self.dims, self.es = t, dims, TYPES[t][1]
        self.strides, size = [], dims[0] * self.es
        for i, d in enumerate(dims[1:]):
            size = (size + 15) // 16 * 16 + 16 * pads[i]
            self.strides.append(size)
            size *= d
        self.bytes = (size + 15) // 16 * 16
        self.memory = bytearray(rng.randrange(256) for _ in range(self.bytes))
        for at in self.places():
            self.put(at, bits(t, rng.randrange(-9, 10) if t[0] != "u" else rng.randrange(100)))

    def where(self, at):
        return at[0] * self.es + sum(i * s for i, s in zip(at[1:], self.strides))

    def places(self):
        return itertools.product(*(range(d) for d in self.dims))

    def inside(self, at):
        return all(0 <= i < d for i, d in zip(at, self.dims))

    def get(self, at):
        w = self.where(at)
        return int.from_bytes(self.memory[w:w + self.es], "little")

    def put(self, at, v):
        w = self.where(at)
        self.memory[w:w + self.es] = v.to_bytes(self.es, "little")


def box_places(box, steps, start):
    """Elements of a box in the order that shared memory has them: dimension 0 first; it has no step."""
    counts = [box[0]] + [(b + s - 1) // s for b, s in zip(box[1:], steps[1:])]
    for i in itertools.product(*(range(n) for n in reversed(counts))):
        i = i[::-1]
        yield tuple(c + k * (s if d else 1) for d, (c, k, s) in enumerate(zip(start, i, steps)))


def number(t, v):
    """The value of bits, for reductions."""
    if t in FORMAT:
        return struct.unpack(FORMAT[t], v.to_bytes(TYPES[t][1], "little"))[0]
    if t == "bf16":
        return struct.unpack("<f", (v << 16).to_bytes(4, "little"))[0]
    w = 8 * TYPES[t][1]
    return v - (1 << w) if t[0] == "s" and v >> (w - 1) else v


OPS = {"add": lambda a, b: a + b, "min": min, "max": max, "inc": lambda a, b: 0 if a >= b else a + 1,
       "dec": lambda a, b: b if a == 0 or a > b else a - 1, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def words(b):
    return [int.from_bytes(b[i:i + 4], "little") for i in range(0, len(b), 4)]


def one(rng, i, way, t, dims, pads, box, steps, start, mode, nan, op):
    tensor = Tensor(rng, t, dims, pads)
    es = tensor.es
    places = list(box_places(box, steps, start))
    n = len(places) * es
    room = (n + 1023) // 1024 * 1024
    before = bytes(tensor.memory)
    image = bytearray(rng.randrange(256) for _ in range(room))
    if way != "load":
        for k, at in enumerate(places):
            w = swizzled(k * es, mode)
            image[w:w + es] = bits(t, rng.randrange(-9, 10) if t[0] != "u" else rng.randrange(100)).to_bytes(es, "little")
    after = bytearray(image)
    ignore = set()
    for k, at in enumerate(places):
        w = swizzled(k * es, mode)
        if way == "load":
            if tensor.inside(at):
                after[w:w + es] = tensor.get(at).to_bytes(es, "little")
            elif nan:
                ignore.add(w)
            else:
                after[w:w + es] = bytes(es)
        elif tensor.inside(at):
            v = int.from_bytes(image[w:w + es], "little")
            tensor.put(at, bits(t, OPS[op](number(t, tensor.get(at)), number(t, v))) if op else v)
    rank = len(dims)
    put = ["global_address.shared::cta.b1024.b64 [map], %g;", "rank.shared::cta.b1024.b32 [map], %d;" % (rank - 1),
           "elemtype.shared::cta.b1024.b32 [map], %d;" % TYPES[t][0], "interleave_layout.shared::cta.b1024.b32 [map], 0;",
           "swizzle_mode.shared::cta.b1024.b32 [map], %d;" % mode, "fill_mode.shared::cta.b1024.b32 [map], %d;" % nan]
    for d in range(rank):
        put += ["box_dim.shared::cta.b1024.b32 [map], %d, %d;" % (d, box[d]), "global_dim.shared::cta.b1024.b32 [map], %d, %d;" % (d, dims[d]),
                "element_stride.shared::cta.b1024.b32 [map], %d, %d;" % (d, steps[d])]
        if d:
            put.append("global_stride.shared::cta.b1024.b64 [map], %d, %d;" % (d - 1, tensor.strides[d - 1]))
    replace = "\n".join("@%p tensormap.replace.tile." + p for p in put)
    at = "[%%m, {%s}]" % ", ".join("%%c%d" % d for d in range(rank))
    coords = "\n".join("mov.b32 %%c%d, %d;" % (d, start[d]) for d in range(rank))
    if way == "load":
        go = """@%%p mbarrier.init.shared::cta.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
bar.sync 0;
@%%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %d;
@%%p cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], %s, [bar];
wait: mbarrier.try_wait.parity.shared::cta.b64 %%q, [bar], 0; @!%%q bra wait;""" % (n, rank, at)
    else:
        go = """fence.proxy.async.shared::cta; bar.sync 0;
@%%p cp%s.async.bulk.tensor.%dd.global.shared::cta%s.tile.bulk_group %s, [box];
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
bar.sync 0;""" % (".reduce" if op else "", rank, "." + op if op else "", at)
    lst = lambda b: ", ".join("0x%x" % x for x in words(b))
    body = """.version 8.6
.target sm_90a
.address_size 64
.global .align 16 .b32 tensor[%d] = {%s};
.global .align 16 .b32 image[%d] = {%s};
.global .align 16 .b32 out[%d];
.global .align 64 .b8 gmap[128];
.visible .entry k()
{
.shared .align 1024 .b8 box[%d];
.shared .align 128 .b8 map[128];
.shared .align 8 .b64 bar;
.reg .pred %%p, %%q;
.reg .b32 %%t, %%i, %%v, %%r, %%c<5>;
.reg .b64 %%g, %%m, %%x, %%y;
mov.u32 %%t, %%tid.x;
setp.eq.u32 %%p, %%t, 0;
shl.b32 %%r, %%t, 2; mov.u32 %%v, map; add.u32 %%r, %%r, %%v; st.shared.b32 [%%r], 0;
mov.u32 %%i, %%t;
copy: mul.wide.u32 %%x, %%i, 4; mov.u64 %%y, image; add.u64 %%y, %%y, %%x; ld.global.b32 %%v, [%%y];
shl.b32 %%r, %%i, 2; st.shared.b32 [%%r], %%v;
add.u32 %%i, %%i, 32; setp.lt.u32 %%q, %%i, %d; @%%q bra copy;
bar.sync 0;
mov.u64 %%g, tensor; mov.u64 %%m, gmap;
%s
bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%%m], [map], 128;
fence.proxy.tensormap::generic.acquire.gpu [%%m], 128;
%s
%s
mov.u32 %%i, %%t;
back: mul.wide.u32 %%x, %%i, 4; mov.u64 %%y, out; add.u64 %%y, %%y, %%x; shl.b32 %%r, %%i, 2; ld.shared.b32 %%v, [%%r]; st.global.b32 [%%y], %%v;
add.u32 %%i, %%i, 32; setp.lt.u32 %%q, %%i, %d; @%%q bra back;
ret;
}
""" % (len(before) // 4, lst(before), room // 4, lst(image), room // 4, room, room // 4, replace, coords, go, room // 4)
    body = body.replace("shl.b32 %r, %i, 2; st.shared", "shl.b32 %r, %i, 2; mov.u32 %c0, box; add.u32 %r, %r, %c0; st.shared")
    body = body.replace("shl.b32 %r, %i, 2; ld.shared", "shl.b32 %r, %i, 2; mov.u32 %c0, box; add.u32 %r, %r, %c0; ld.shared")
    if nan:
        want = []
        unit = {2: "f16", 4: "f32", 8: "f64"}[es]
        for w in range(0, room, es):
            want.append("nan" if w in ignore else "0x%x" % int.from_bytes(after[w:w + es], "little"))
        if t == "bf16":
            return body, None
        out = "// expect: @out:%s[%d] = %s\n" % (unit, room // es, ", ".join(want))
    else:
        out = "// expect: @out:u32[%d] = %s\n" % (room // 4, lst(after))
    return body, "// launch: k block=32\n" + out + "// expect: @tensor:u32[%d] = %s\n" % (len(before) // 4, lst(bytes(tensor.memory)))


def forms():
    rng = random.Random(13)
    some = []

    def shape(t, rank, mode):
        es = TYPES[t][1]
        least = 16 // min(es, 16) if es < 16 else 1
        inner = rng.choice([k for k in (1, 2, 3, 4, 8) if not mode or k * 16 <= WIDE[mode]]) * least
        inner = min(inner, 256)
        box, dims, steps, start = [inner], [], [1], []
        for d in range(1, rank):
            box.append(rng.randrange(1, (40, 9, 4, 3)[rank - 2] + 1))
            steps.append(rng.choice((1, 1, 1, 2, 3)))
        for d in range(rank):
            size = rng.randrange(max(box[d] // 2, 1), 2 * box[d] + 3)
            dims.append(size)
            start.append(rng.choice((0, rng.randrange(-2, size + 1), rng.randrange(-box[d], size + 1))))
        return dims, [rng.randrange(3) for _ in range(rank)], box, steps, start

    for t in TYPES:
        for mode in range(4):
            for rank in range(1, 6):
                if rng.random() < .55:
                    some.append(("load", t) + tuple(shape(t, rank, mode)) + (mode, 1 if t[0] == "f" and rng.random() < .4 else 0, None))
                if rng.random() < .3:
                    some.append(("store", t) + tuple(shape(t, rank, mode)) + (mode, 0, None))
    for op in OPS:
        for t in TYPES:
            word, two, small = t in ("u32", "s32"), t in ("u64", "s64"), t in ("f16", "bf16")
            legal = (word or small or t in ("u64", "f32", "f64")) if op == "add" else (word or two or small) if op in ("min", "max") else \
                t == "u32" if op in ("inc", "dec") else word or two
            if legal:
                some.append(("reduce", t) + tuple(shape(t, rng.randrange(1, 4), 0)) + (0, 0, op))
    return some


def write(folder, each):
    n = 0
    for i, f in enumerate(forms()[::each]):
        body, lines = one(random.Random(i), i, *f)
        if lines:
            n += 1
            with open("%s/tmap_%03d.ptx" % (folder, i), "w") as out:
                out.write("// %s\n" % (f,) + lines + body)
    return n
