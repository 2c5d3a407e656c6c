# SPDX-License-Identifier: MIT
"""Kernels of several lines for triton_wide.py: CASES has a function a name, which gives (result, what numpy has, tolerance) of each result."""
import numpy as np
import triton
import triton.language as tl
from triton_bare import Array, capability

rng = np.random.default_rng(11)
CASES = {}


def case(name):
    def keep(f):
        CASES[name] = f
        return f
    return keep


def floats(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def whole(*shape, low=-50, high=50):
    return rng.integers(low, high, shape).astype(np.int32)


@triton.jit
def total(a, b):
    return a + b


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def fold_kernel(x, out, at_out, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr, AXIS: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + i[:, None] * C + j[None, :])
    k = j if AXIS == 0 else i
    if HOW == "sum":
        r = tl.sum(v, AXIS)
    if HOW == "max":
        r = tl.max(v, AXIS)
    if HOW == "min":
        r = tl.min(v, AXIS)
    if HOW == "argmax":
        r = tl.argmax(v, AXIS)
    if HOW == "argmin":
        r = tl.argmin(v, AXIS)
    if HOW == "xor":
        r = tl.xor_sum(v, AXIS)
    if HOW == "or":
        r = tl.reduce_or(v, AXIS)
    if HOW == "reduce":
        r = tl.reduce(v, AXIS, larger)
    if HOW == "max and where":
        r, w = tl.max(v, AXIS, return_indices=True)
        tl.store(at_out + k, w)
    tl.store(out + k, r)


def fold(kind, how, axis, shape, warps):
    def run():
        x = (rng.permutation(shape[0] * shape[1]).reshape(shape) - 100).astype(kind)
        f = {"sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "xor": np.bitwise_xor.reduce, "or": np.bitwise_or.reduce,
             "reduce": np.max, "max and where": np.max}[how]
        want = f(x.astype(np.float64) if how == "sum" and x.dtype.kind == "f" else x, axis=axis)
        out = Array(np.zeros(want.shape, np.int32 if how.startswith("arg") else x.dtype))
        at = Array(np.zeros(want.shape, np.int32))
        fold_kernel[(1,)](Array(x), out, at, *shape, how, axis, num_warps=warps)
        results = [(out.host(), want.astype(out.kind), 2e-3 if kind == "float16" else 1e-5 if x.dtype.kind == "f" else 0)]
        return results + ([(at.host(), np.argmax(x, axis), 0)] if how == "max and where" else [])
    return run


for kind in ("int32", "int64", "float32", "float64", "float16", "uint32"):
    for how in ("sum", "max", "min", "argmax", "argmin", "reduce", "max and where") + (("xor", "or") if "int" in kind else ()):
        for axis in 0, 1:
            shape = (16, 32) if kind == "float16" else (32, 64)
            CASES[f"{how} along {axis} {kind}"] = fold(kind, how, axis, shape, 4 if axis else 2)


@triton.jit
def scan_kernel(x, y, out, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr, AXIS: tl.constexpr, BACK: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    at = i[:, None] * C + j[None, :]
    v = tl.load(x + at)
    if HOW == "cumsum":
        v = tl.cumsum(v, AXIS, reverse=BACK)
    if HOW == "cumprod":
        v = tl.cumprod(v, AXIS, reverse=BACK)
    if HOW == "maximum":
        v = tl.associative_scan(v, AXIS, larger, reverse=BACK)
    if HOW == "recurrence":
        a, v = tl.associative_scan((v, tl.load(y + at)), AXIS, linear)
    tl.store(out + at, v)


def scan(how, axis, back, kind):
    def run():
        x = (np.exp(floats(16, 64) * 0.1) if how in ("cumprod", "recurrence") else floats(16, 64) * 10).astype(kind)
        y = (floats(16, 64)).astype(kind)
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        turned = np.flip(wide, axis) if back else wide
        if how == "recurrence":
            want, h = np.zeros(x.shape), np.zeros(np.delete(x.shape, axis))
            for t in range(x.shape[axis]):
                h = np.take(wide, t, axis) * h + np.take(y.astype(np.float64), t, axis)
                want[(slice(None),) * axis + (t,)] = h
        else:
            want = {"cumsum": np.cumsum, "cumprod": np.cumprod, "maximum": np.maximum.accumulate}[how](turned, axis=axis)
        want = np.flip(want, axis) if back else want
        out = Array(np.zeros_like(x))
        scan_kernel[(1,)](Array(x), Array(y), out, 16, 64, how, axis, back)
        return [(out.host(), want.astype(x.dtype), 2e-5 if x.dtype.kind == "f" else 0)]
    return run


for how in ("cumsum", "cumprod", "maximum", "recurrence"):
    for axis in 0, 1:
        for back in (False, True) if how != "recurrence" else (False,):
            for kind in ("float32",) if how in ("cumprod", "recurrence") else ("float32", "int32"):
                CASES[f"scan {how} along {axis}{' backwards' * back} {kind}"] = scan(how, axis, back, kind)


@triton.jit
def order_kernel(x, out, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr, K: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + i[:, None] * C + j[None, :])
    if HOW == "sort":
        tl.store(out + i[:, None] * C + j[None, :], tl.sort(v))
    if HOW == "down":
        tl.store(out + i[:, None] * C + j[None, :], tl.sort(v, descending=True))
    if HOW == "topk":
        tl.store(out + i[:, None] * K + tl.arange(0, K)[None, :], tl.topk(v, K))
    if HOW == "flip":
        tl.store(out + i[:, None] * C + j[None, :], tl.flip(v, 1))


def order(how, kind):
    def run():
        x = whole(8, 64, low=-30, high=30).astype(kind) if kind != "float32" else floats(8, 64)
        want = {"sort": lambda: np.sort(x, 1), "down": lambda: -np.sort(-x, 1), "topk": lambda: -np.sort(-x, 1)[:, :8], "flip": lambda: x[:, ::-1]}[how]()
        out = Array(np.zeros(want.shape, x.dtype))
        order_kernel[(1,)](Array(x), out, 8, 64, how, 8)
        return [(out.host(), want, 0)]
    return run


for how in ("sort", "down", "topk", "flip"):
    for kind in ("float32", "int32", "int64", "float16", "int8"):
        CASES[f"{how} {kind}"] = order(how, kind)


@triton.jit
def shape_kernel(x, y, out, A: tl.constexpr, B: tl.constexpr, HOW: tl.constexpr):
    i, j = tl.arange(0, A), tl.arange(0, B)
    at = i[:, None] * B + j[None, :]
    v, w = tl.load(x + at), tl.load(y + at)
    flat = tl.arange(0, A * B)
    if HOW == "trans":
        tl.store(out + j[:, None] * A + i[None, :], tl.trans(v))
    if HOW == "reshape":
        tl.store(out + flat, tl.reshape(v, (A * B,)))
    if HOW == "ravel":
        tl.store(out + flat, tl.ravel(v))
    if HOW == "view":
        tl.store(out + tl.arange(0, B)[:, None] * A + tl.arange(0, A)[None, :], tl.reshape(v, (B, A)))
    if HOW == "permute":
        t = tl.permute(tl.reshape(v, (A, 2, B // 2)), (2, 0, 1))
        tl.store(out + flat, tl.reshape(t, (A * B,)))
    if HOW == "join":
        tl.store(out + tl.arange(0, 2 * A * B), tl.reshape(tl.join(v, w), (2 * A * B,)))
    if HOW == "interleave":
        tl.store(out + i[:, None] * (2 * B) + tl.arange(0, 2 * B)[None, :], tl.interleave(v, w))
    if HOW == "split":
        one, other = tl.split(tl.reshape(v, (A, B // 2, 2)))
        tl.store(out + tl.arange(0, A * B // 2), tl.reshape(one - other, (A * B // 2,)))
    if HOW == "cat":
        tl.store(out + tl.arange(0, 2 * A * B), tl.sort(tl.cat(tl.ravel(v), tl.ravel(w), can_reorder=True)))
    if HOW == "expand":
        tl.store(out + at, tl.broadcast_to(tl.expand_dims(tl.sum(v, 1), 1), (A, B)) + v * 0)
    if HOW == "broadcast":
        a, b = tl.broadcast(i[:, None], j[None, :])
        tl.store(out + at, (a * 3 + b).to(tl.float32))
    if HOW == "gather":
        tl.store(out + at, tl.gather(v, (at * 7 + i[:, None]) % B, 1))
    if HOW == "gather 0":
        tl.store(out + at, tl.gather(v, (at * 5 + j[None, :]) % A, 0))
    if HOW == "full":
        tl.store(out + at, tl.full((A, B), 2.5, tl.float32) + tl.zeros((A, B), tl.float32) + tl.zeros_like(v))
    if HOW == "swizzle":
        a, b = tl.swizzle2d(i[:, None], j[None, :], A, B, 4)
        tl.store(out + at, (a * B + b).to(tl.float32))
    if HOW == "two sums":
        s, m = tl.reduce((v, w), 1, pair)
        tl.store(out + i, s * m)


@triton.jit
def pair(a, b, c, d):
    return a + c, tl.maximum(b, d)


def shape(how):
    def run():
        A, B = 16, 32
        x, y = floats(A, B), floats(A, B)
        i, j = np.arange(A)[:, None], np.arange(B)[None, :]
        at = i * B + j

        def swizzled():
            group = at // (4 * B)
            size = np.minimum(A - group * 4, 4)
            left = at % (4 * B)
            return ((group * 4 + left % size) * B + left // size).astype(np.float32)

        want = {"trans": lambda: x.T, "reshape": x.ravel, "ravel": x.ravel, "view": lambda: x.reshape(B, A), "permute": lambda: x.reshape(A, 2, B // 2).transpose(2, 0, 1).ravel(),
                "join": lambda: np.stack([x, y], -1).ravel(), "interleave": lambda: np.stack([x, y], -1).reshape(A, 2 * B),
                "split": lambda: (x.reshape(A, B // 2, 2)[..., 0] - x.reshape(A, B // 2, 2)[..., 1]).ravel(), "cat": lambda: np.sort(np.concatenate([x.ravel(), y.ravel()])),
                "expand": lambda: np.repeat(x.sum(1, dtype=np.float64, keepdims=True), B, 1).astype(np.float32), "broadcast": lambda: (i * 3 + j).astype(np.float32),
                "gather": lambda: np.take_along_axis(x, (at * 7 + i) % B, 1), "gather 0": lambda: np.take_along_axis(x, (at * 5 + j) % A, 0),
                "full": lambda: np.full((A, B), 2.5, np.float32), "swizzle": swizzled,
                "two sums": lambda: (x.sum(1, dtype=np.float64) * y.max(1)).astype(np.float32)}[how]()
        out = Array(np.zeros(want.shape, np.float32))
        shape_kernel[(1,)](Array(x), Array(y), out, A, B, how)
        return [(out.host(), want, 1e-5 if how in ("expand", "two sums") else 0)]
    return run


for how in ("trans", "reshape", "ravel", "view", "permute", "join", "interleave", "split", "cat", "expand", "broadcast", "gather", "gather 0", "full", "swizzle", "two sums"):
    CASES[f"shape {how}"] = shape(how)


@triton.jit
def atomic_kernel(out, old, HOW: tl.constexpr, N: tl.constexpr, SEM: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    p, v, keep = out + at % 16, (at % 61 + 1).to(out.dtype.element_ty), at % 3 != 0
    if HOW == "add":
        tl.atomic_add(p, v, mask=keep, sem=SEM)
    if HOW == "max":
        tl.atomic_max(p, v, mask=keep, sem=SEM)
    if HOW == "min":
        tl.atomic_min(p, v, mask=keep, sem=SEM)
    if HOW == "and":
        tl.atomic_and(p, v | 3, mask=keep, sem=SEM)
    if HOW == "or":
        tl.atomic_or(p, v, mask=keep, sem=SEM)
    if HOW == "xor":
        tl.atomic_xor(p, v, mask=keep, sem=SEM)
    if HOW == "xchg":
        tl.store(old + at, tl.atomic_xchg(out + at, v, mask=keep, sem=SEM))
    if HOW == "cas":
        tl.store(old + at, tl.atomic_cas(out + at, (at % 2 + 5).to(out.dtype.element_ty), v, sem=SEM))


def atomic(how, kind, sem):
    def run():
        N, blocks = 128, 4
        at = np.arange(N * blocks)
        v, keep = (at % 61 + 1).astype(kind), at % 3 != 0
        many = how in ("xchg", "cas")
        out = np.full(N * blocks if many else 16, 5, kind)
        there, old = Array(out), Array(np.zeros(N * blocks, kind))
        atomic_kernel[(blocks,)](there, old, how, N, sem)
        if how == "xchg":
            want, was = np.where(keep, v, out), out
            return [(there.host(), want, 0), (old.host()[keep], was[keep], 0)]
        if how == "cas":
            return [(there.host(), np.where(at % 2 == 0, v, out), 0), (old.host(), out, 0)]
        f = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[how]
        f.at(out, at[keep] % 16, v[keep] | 3 if how == "and" else v[keep])
        return [(there.host(), out, 0)]
    return run


for kind, hows in (("int32", "add max min and or xor xchg cas"), ("uint32", "add max min and or xor"), ("int64", "add max min and or xor xchg cas"), ("uint64", "max min"),
                   ("float32", "add max min xchg"), ("float64", "add max min"), ("float16", "add")):
    for how in hows.split():
        CASES[f"atomic {how} {kind}"] = atomic(how, kind, "acq_rel" if kind != "int32" else "relaxed")


@triton.jit
def block_kernel(x, out, M, N, R: tl.constexpr, C: tl.constexpr, PAD: tl.constexpr):
    a = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * R, 0), (R, C), (1, 0))
    b = tl.make_block_ptr(out, (M, N), (N, 1), (tl.program_id(0) * R, 0), (R, C), (1, 0))
    for k in range(0, N, C):
        v = tl.load(a, boundary_check=(0, 1), padding_option=PAD)
        tl.store(b, v * 2 + 1, boundary_check=(0, 1))
        a, b = tl.advance(a, (0, C)), tl.advance(b, (0, C))


for pad in ("zero", "nan"):
    @case(f"pointers to blocks, {pad} behind the edge")
    def blocks(pad=pad):
        x = floats(37, 75)
        out = Array(np.zeros_like(x))
        block_kernel[(3,)](Array(x), out, 37, 75, 16, 32, pad)
        return [(out.host(), x * 2 + 1, 0)]


@triton.jit
def masked_kernel(x, out, n, N: tl.constexpr, CACHE: tl.constexpr, EVICT: tl.constexpr):
    at = tl.max_contiguous(tl.multiple_of(tl.arange(0, N), 16), 16)
    tl.assume(n > 0)
    v = tl.load(x + at, mask=at < n, other=-7, cache_modifier=CACHE, eviction_policy=EVICT)
    tl.store(out + at, v, cache_modifier=".cs")


for cache, evict in (("", ""), (".ca", "evict_last"), (".cg", "evict_first"), (".cv", "")):
    @case(f"masked load {cache} {evict}")
    def masked(cache=cache, evict=evict):
        x = whole(128)
        out = Array(np.zeros_like(x))
        masked_kernel[(1,)](Array(x), out, 101, 128, cache, evict)
        return [(out.host(), np.where(np.arange(128) < 101, x, -7), 0)]


@triton.jit
def flow_kernel(x, out, n, HOW: tl.constexpr):
    v = tl.load(x)
    if HOW == "while":
        k = 0
        while v > 1:
            v = tl.where(v % 2 == 0, v // 2, 3 * v + 1)
            k += 1
        tl.store(out, k)
    if HOW == "for":
        s = 0
        for i in range(n, 0, -2):
            s += i * v
        tl.store(out, s)
    if HOW == "range":
        s = 0
        for i in tl.range(0, n, 3, num_stages=2):
            s += i
        tl.store(out, s)
    if HOW == "static_range":
        s = 0
        for i in tl.static_range(5):
            s += (v + i) * (i + 1)
        tl.store(out, s)
    if HOW == "nested":
        s = 0
        for i in range(n):
            if i % 3 == 0:
                for j in range(i):
                    s += j
            elif i % 3 == 1:
                s -= i
            else:
                s = s * 2 % 1009
        tl.store(out, s)
    if HOW == "return":
        if tl.load(x) > 5:
            tl.store(out, 1)
            return
        tl.store(out, 2)
    if HOW == "tuple":
        a, b = swap((v, n))
        tl.store(out, a * 100 + b)
    if HOW == "grid":
        tl.atomic_add(out, tl.program_id(0) + 10 * tl.program_id(1) + 100 * tl.program_id(2) + 1000 * tl.num_programs(1))


@triton.jit
def swap(t):
    return t[1], t[0]


def flow(how):
    def run():
        v, n = 27, 21
        s = 0
        if how == "while":
            while v > 1:
                v, s = v // 2 if v % 2 == 0 else 3 * v + 1, s + 1
        elif how == "nested":
            for i in range(n):
                s = s + sum(range(i)) if i % 3 == 0 else s - i if i % 3 == 1 else s * 2 % 1009 if s >= 0 else -(-s * 2 % 1009)
        else:
            s = {"for": sum(i * v for i in range(n, 0, -2)), "range": sum(range(0, n, 3)), "static_range": sum((v + i) * (i + 1) for i in range(5)), "return": 1,
                 "tuple": n * 100 + v, "grid": sum(i + 10 * j + 100 * k + 3000 for i in range(2) for j in range(3) for k in range(4))}[how]
        out = Array(np.zeros(1, np.int32))
        flow_kernel[(2, 3, 4) if how == "grid" else (1,)](Array(np.array([27], np.int32)), out, n, how)
        return [(out.host(), np.array([s], np.int32), 0)]
    return run


for how in ("while", "for", "range", "static_range", "nested", "return", "tuple", "grid"):
    CASES[f"flow {how}"] = flow(how)


@triton.jit
def random_kernel(out, seed, HOW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    if HOW == "randint":
        tl.store(out + at, tl.randint(seed, at))
    if HOW == "randint4x":
        a, b, c, d = tl.randint4x(seed, at)
        tl.store(out + at, a)
        tl.store(out + N + at, b)
        tl.store(out + 2 * N + at, c)
        tl.store(out + 3 * N + at, d)
    if HOW == "rand":
        tl.store(out + at, tl.rand(seed, at))
    if HOW == "randn":
        tl.store(out + at, tl.randn(seed, at))
    if HOW == "rand4x":
        a, b, c, d = tl.rand4x(seed, at)
        tl.store(out + at, a + b + c + d)


def philox(seed, at):
    """Philox 4x32-10 as Random123 has it, four words."""
    c = [at.astype(np.uint64)] + [np.zeros_like(at, np.uint64)] * 3
    k0, k1, low = seed & 0xffffffff, seed >> 32, np.uint64(0xffffffff)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    return [w.astype(np.uint32) for w in c]


def uniform(word):
    i = word.view(np.int32).astype(np.int64)
    return np.where(i < 0, -i - 1, i) * 4.6566127342e-10


def random(how):
    def run():
        seed, N = 0x123456789, 512
        w = philox(seed, np.arange(N))
        if how == "randint":
            want = w[0].view(np.int32)
        elif how == "randint4x":
            want = np.concatenate(w).view(np.int32)
        elif how == "rand":
            want = uniform(w[0]).astype(np.float32)
        elif how == "randn":
            u, v = np.maximum(uniform(w[0]), 1e-7), uniform(w[1])
            want = (np.sqrt(-2 * np.log(u)) * np.cos(6.283185307179586 * v)).astype(np.float32)
        else:
            want = sum(uniform(x) for x in w).astype(np.float32)
        out = Array(np.zeros_like(want))
        random_kernel[(1,)](out, seed, how, N)
        return [(out.host(), want, 0 if want.dtype == np.int32 else 1e-5)]
    return run


for how in ("randint", "randint4x", "rand", "randn", "rand4x"):
    CASES[f"random {how}"] = random(how)


@triton.jit
def dot_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr, TURN: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + i[:, None] * K + k[None, :])
    b = tl.trans(tl.load(y + j[:, None] * K + k[None, :])) if TURN else tl.load(y + k[:, None] * N + j[None, :])
    if HOW == "bf16":
        a, b = a.to(tl.bfloat16), b.to(tl.bfloat16)
    if HOW == "e5m2":
        a, b = a.to(tl.float8e5), b.to(tl.float8e5)
    tl.store(out + i[:, None] * N + j[None, :], tl.dot(a, b, input_precision=HOW if HOW == "tf32" or HOW == "tf32x3" else "ieee", out_dtype=out.dtype.element_ty))


def dot(kind, how, M, N, K, turn, warps):
    def run():
        a, b = (rng.integers(-4, 5, s).astype(kind) for s in ((M, K), (K, N)))
        out = Array(np.zeros((M, N), np.int32 if kind == "int8" else np.float16 if how == "f16" else np.float32 if kind != "float64" else np.float64))
        dot_kernel[(1,)](Array(a), Array(np.ascontiguousarray(b.T) if turn else b), out, M, N, K, how, turn, num_warps=warps)
        return [(out.host(), (a.astype(np.float64) @ b.astype(np.float64)).astype(out.kind), 0)]
    return run


for kind, how in (("float32", "ieee"), ("float32", "tf32"), ("float32", "tf32x3"), ("float16", ""), ("float16", "f16"), ("float32", "bf16"), ("int8", ""), ("float16", "e5m2"),
                  ("float64", "ieee")):
    for M, N, K, warps in ((16, 16, 32, 1), (64, 32, 64, 4), (128, 64, 32, 8)):
        for turn in (False, True) if kind != "int8" or capability() >= (8, 0) else ():      # Triton's own compiler has no product of bytes below
            CASES[f"dot {kind} {how} {M} x {N} x {K}{' turned' * turn}"] = dot(kind, how, M, N, K, turn, warps)


@triton.jit
def histogram_kernel(x, out, n, N: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n))


@case("histogram of some")
def histogram():
    x = whole(512, low=0, high=64)
    out = Array(np.zeros(64, np.int32))
    histogram_kernel[(1,)](Array(x), out, 333, 512, 64)
    return [(out.host(), np.bincount(x[:333], minlength=64).astype(np.int32), 0)]


@triton.jit
def attention_back_kernel(q, k, v, go, dq, dk, dv, scale, N: tl.constexpr, D: tl.constexpr):
    """The gradients of attention for one head whose rows fit a block."""
    i, d = tl.arange(0, N), tl.arange(0, D)
    at = i[:, None] * D + d[None, :]
    Q, K, V, G = tl.load(q + at), tl.load(k + at), tl.load(v + at), tl.load(go + at)
    s = tl.where(i[:, None] >= i[None, :], tl.dot(Q, tl.trans(K)) * scale, -1e30)
    e = tl.exp(s - tl.max(s, 1)[:, None])
    p = e / tl.sum(e, 1)[:, None]
    dp = tl.dot(G, tl.trans(V))
    ds = p * (dp - tl.sum(p * dp, 1)[:, None]) * scale
    tl.store(dv + at, tl.dot(tl.trans(p).to(V.dtype), G))
    tl.store(dq + at, tl.dot(ds.to(K.dtype), K))
    tl.store(dk + at, tl.dot(tl.trans(ds).to(Q.dtype), Q))


@case("attention backwards")
def attention_back():
    n, d = 64, 32
    q, k, v, g = (floats(n, d).astype(np.float16) for _ in range(4))
    outs = [Array(np.zeros((n, d), np.float32)) for _ in range(3)]
    attention_back_kernel[(1,)](Array(q), Array(k), Array(v), Array(g), *outs, d ** -0.5, n, d)
    Q, K, V, G = (t.astype(np.float64) for t in (q, k, v, g))
    s = np.where(np.arange(n)[:, None] >= np.arange(n), Q @ K.T * d ** -0.5, -1e30)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    dp = G @ V.T
    ds = p * (dp - (p * dp).sum(1, keepdims=True)) * d ** -0.5
    return [(o.host(), w.astype(np.float32), 5e-3) for o, w in zip(outs, (ds @ K, ds.T @ Q, p.T @ G))]


@triton.jit
def grouped_kernel(pa, pb, pc, sizes, count, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of several sizes by one grid, their addresses in memory."""
    tile, last = tl.program_id(0), 0
    for g in range(count):
        m, n, k = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= last and tile < last + tiles:
            a, b, c = tl.load(pa + g).to(tl.pointer_type(tl.float16)), tl.load(pb + g).to(tl.pointer_type(tl.float16)), tl.load(pc + g).to(tl.pointer_type(tl.float32))
            i, j = (tile - last) // across * BM + tl.arange(0, BM), (tile - last) % across * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for at in range(0, k, BK):
                r = at + tl.arange(0, BK)
                acc = tl.dot(tl.load(a + i[:, None] * k + r[None, :], mask=(i[:, None] < m) & (r[None, :] < k), other=0.0),
                             tl.load(b + r[:, None] * n + j[None, :], mask=(r[:, None] < k) & (j[None, :] < n), other=0.0), acc)
            tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))
            tile += tl.num_programs(0)
        last += tiles


@case("grouped products")
def grouped():
    sizes = [(40, 70, 33), (100, 20, 64), (17, 130, 50)]
    a, b = ([rng.integers(-3, 4, s).astype(np.float16) for s in shapes] for shapes in ([(m, k) for m, n, k in sizes], [(k, n) for m, n, k in sizes]))
    A, B = [Array(v) for v in a], [Array(v) for v in b]
    C = [Array(np.zeros((m, n), np.float32)) for m, n, k in sizes]
    p = [Array(np.array([v.data_ptr() for v in vs], np.int64)) for vs in (A, B, C)]
    grouped_kernel[(3,)](*p, Array(np.array(sizes, np.int32)), 3, 32, 32, 32)
    return [(c.host(), x.astype(np.float32) @ y.astype(np.float32), 0) for c, x, y in zip(C, a, b)]


@triton.jit
def norm_back_kernel(x, w, g, mean, rstd, dx, dw, db, n, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    keep = at < n
    xv, wv, gv = tl.load(x + row * n + at, mask=keep, other=0.0), tl.load(w + at, mask=keep, other=0.0), tl.load(g + row * n + at, mask=keep, other=0.0)
    m, r = tl.load(mean + row), tl.load(rstd + row)
    h = tl.where(keep, (xv - m) * r, 0.0)
    wg = wv * gv
    tl.store(dx + row * n + at, (wg - h * tl.sum(h * wg) / n - tl.sum(wg) / n) * r, mask=keep)
    tl.atomic_add(dw + at, gv * h, mask=keep)
    tl.atomic_add(db + at, gv, mask=keep)


@case("layer norm backwards")
def norm_back():
    M, n = 24, 100
    x, w, g = floats(M, n), floats(n), floats(M, n)
    X = x.astype(np.float64)
    m, r = X.mean(1), 1 / np.sqrt(X.var(1) + 1e-5)
    outs = [Array(np.zeros(s, np.float32)) for s in ((M, n), (n,), (n,))]
    norm_back_kernel[(M,)](Array(x), Array(w), Array(g), Array(m.astype(np.float32)), Array(r.astype(np.float32)), *outs, n, 128)
    h = (X - m[:, None]) * r[:, None]
    wg = g * w.astype(np.float64)
    dx = (wg - h * (h * wg).mean(1, keepdims=True) - wg.mean(1, keepdims=True)) * r[:, None]
    return [(o.host(), v.astype(np.float32), 2e-5) for o, v in zip(outs, (dx, (g * h).sum(0), g.sum(0, dtype=np.float64)))]


@triton.jit
def two_of_each(a, b):
    return (a + b, a - b) if a.dtype == tl.float32 else (a, b)


@triton.jit
def map_kernel(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    s, d = tl.map_elementwise(two_of_each, tl.load(x + at), tl.load(y + at))
    tl.store(out + at, s * d)


@case("map_elementwise")
def mapped():
    x, y = floats(128), floats(128)
    out = Array(np.zeros(128, np.float32))
    map_kernel[(1,)](Array(x), Array(y), out, 128)
    return [(out.host(), (x + y) * (x - y), 1e-6)]


@triton.jit
def assert_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.static_assert(N == 64)
    v = tl.load(x + at)
    tl.device_assert(v < 1000, "too large")
    tl.debug_barrier()
    tl.store(out + at, v)


@case("device_assert that holds")
def asserted():
    x = whole(64)
    out = Array(np.zeros_like(x))
    assert_kernel[(1,)](Array(x), out, 64, debug=True)
    return [(out.host(), x, 0)]
