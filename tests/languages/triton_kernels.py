# SPDX-License-Identifier: MIT
"""Kernels as Triton's tutorials have them, and tl's operations, against numpy; "ok NAME" or "FAIL NAME why" a line."""
import sys
import numpy as np
import triton
import triton.language as tl
from triton_bare import Array, capability

rng = np.random.default_rng(1)
bad = 0


def check(name, run):
    global bad
    try:
        got, want, tolerance = run()
        err = np.max(np.abs(got.astype(np.float64) - want.astype(np.float64))) if got.size else 0
        if not (err <= tolerance):
            raise ValueError(f"off by {err}, {tolerance} allowed")
        print("ok", name)
    except Exception as e:
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[-400:])
    sys.stdout.flush()


def f32(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


def add():
    n = 98431
    x, y = f32(n), f32(n)
    out = Array(np.zeros(n, np.float32))
    add_kernel[(triton.cdiv(n, 1024),)](Array(x), Array(y), out, n, BLOCK=1024)
    return out.host(), x + y, 0


@triton.jit
def softmax_kernel(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < n)


def softmax():
    x = f32(37, 781)
    out = Array(np.zeros_like(x))
    softmax_kernel[(37,)](out, Array(x), 781, 781, BLOCK=1024, num_warps=8)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return out.host(), e / e.sum(1, keepdims=True), 1e-6


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                  HOW: tl.constexpr):
    pid = tl.program_id(0)
    pm, pn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = GROUP * pn
    first = pid // group * GROUP
    size = min(pm - first, GROUP)
    m, n = first + pid % group % size, pid % group // size
    rm, rn, rk = (m * BM + tl.arange(0, BM)) % M, (n * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=HOW)
        pa += BK
        pb += BK * N
    rm, rn = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul(kind, stages, how, tolerance):
    def run():
        M, N, K = 150, 130, 200
        a, b = f32(M, K).astype(kind), f32(K, N).astype(kind)
        c = Array(np.zeros((M, N), np.float32))
        matmul_kernel[(triton.cdiv(M, 64) * triton.cdiv(N, 32),)](Array(a), Array(b), c, M, N, K, 64, 32, 32, 4, how,
                                                                 num_stages=stages, num_warps=4)
        return c.host(), a.astype(np.float64) @ b.astype(np.float64), tolerance
    return run


@triton.jit
def layer_norm_kernel(x, y, w, b, mean, rstd, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0)
    m = tl.sum(v, axis=0) / n
    d = tl.where(at < n, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    tl.store(y + row * n + at, d * r * tl.load(w + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


def layer_norm():
    x, w, b = f32(19, 500), f32(500), f32(500)
    y, m, r = Array(np.zeros_like(x)), Array(np.zeros(19, np.float32)), Array(np.zeros(19, np.float32))
    layer_norm_kernel[(19,)](Array(x), y, Array(w), Array(b), m, r, 500, 1e-5, BLOCK=512)
    x = x.astype(np.float64)
    return y.host(), (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b, 1e-5


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=at < n) / (1 - p), 0.0), mask=at < n)


def philox(seed, at):
    """Philox 4x32-10 as Random123 has it, first word; tl.rand makes its float of it."""
    c = [at.astype(np.uint64), np.zeros_like(at, np.uint64), np.zeros_like(at, np.uint64), np.zeros_like(at, np.uint64)]
    k0, k1, low = seed & 0xffffffff, seed >> 32, np.uint64(0xffffffff)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    i = c[0].astype(np.uint32).view(np.int32)
    return np.where(i < 0, -i - 1, i).astype(np.float32) * np.float32(4.6566127342e-10)


def dropout():
    n = 5000
    x = f32(n)
    out = Array(np.zeros(n, np.float32))
    dropout_kernel[(5,)](Array(x), out, n, 0.4, 123, BLOCK=1024)
    return out.host(), np.where(philox(123, np.arange(n)) > np.float32(0.4), x / np.float32(0.6), 0), 1e-6


@triton.jit
def attention_kernel(q, k, v, out, n, scale, N: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                     CAUSAL: tl.constexpr):
    base = tl.program_id(1) * n * D
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    top = tl.zeros([BM], tl.float32) - float("inf")
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for at in range(0, N, BN):
        rn = at + tl.arange(0, BN)
        s = tl.dot(x, tl.trans(tl.load(k + base + rn[:, None] * D + rd[None, :]))) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -1e30)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(v + base + rn[:, None] * D + rd[None, :]), acc)
        top = new
    tl.store(out + base + rm[:, None] * D + rd[None, :], acc / total[:, None])


def attention(causal):
    def run():
        H, N, D = 2, 128, 32
        q, k, v = (f32(H, N, D).astype(np.float16) for _ in range(3))
        out = Array(np.zeros((H, N, D), np.float32))
        attention_kernel[(N // 64, H)](Array(q), Array(k), Array(v), out, N, D ** -0.5, N, D, 64, 32, causal, num_stages=2)
        s = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) * D ** -0.5
        if causal:
            s = np.where(np.arange(N)[:, None] >= np.arange(N), s, -1e30)
        p = np.exp(s - s.max(2, keepdims=True))
        return out.host(), p / p.sum(2, keepdims=True) @ v.astype(np.float64), 4e-3
    return run


@triton.jit
def unary_kernel(x, out, OP: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    if OP == "exp": v = tl.exp(v)
    if OP == "exp2": v = tl.exp2(v)
    if OP == "log": v = tl.log(v)
    if OP == "log2": v = tl.log2(v)
    if OP == "sin": v = tl.sin(v)
    if OP == "cos": v = tl.cos(v)
    if OP == "sqrt": v = tl.sqrt(v)
    if OP == "rsqrt": v = tl.rsqrt(v)
    if OP == "abs": v = tl.abs(v)
    if OP == "floor": v = tl.floor(v)
    if OP == "ceil": v = tl.ceil(v)
    if OP == "sigmoid": v = tl.sigmoid(v)
    if OP == "erf": v = tl.erf(v)
    if OP == "cumsum": v = tl.cumsum(v, 0)
    if OP == "flip": v = tl.flip(v, 0)
    if OP == "sort": v = tl.sort(v)
    if OP == "half": v = v.to(tl.float16).to(tl.float32)
    if OP == "bfloat": v = v.to(tl.bfloat16).to(tl.float32)
    if OP == "int": v = v.to(tl.int32).to(tl.float32)
    if OP == "argmax": v = v * 0 + tl.argmax(v, 0)
    if OP == "argmin": v = v * 0 + tl.argmin(v, 0)
    if OP == "sum": v = v * 0 + tl.sum(v, 0)
    if OP == "max": v = v * 0 + tl.max(v, 0)
    tl.store(out + tl.arange(0, N), v)


def bfloat(x):
    i = x.view(np.uint32).astype(np.uint64)
    return ((i + 0x7fff + (i >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


UNARY = {
    "exp": (np.exp, 4e-4), "exp2": (np.exp2, 1e-4), "log": (np.log, 1e-5), "log2": (np.log2, 1e-5), "sin": (np.sin, 1e-5),
    "cos": (np.cos, 1e-5), "sqrt": (np.sqrt, 1e-5), "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-4), "abs": (np.abs, 0),
    "floor": (np.floor, 0), "ceil": (np.ceil, 0), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 1e-6),
    "erf": (lambda x: np.vectorize(__import__("math").erf)(x), 1e-6), "cumsum": (np.cumsum, 2e-3), "flip": (lambda x: x[::-1], 0),
    "sort": (np.sort, 0), "half": (lambda x: x.astype(np.float16), 0), "bfloat": (bfloat, 0), "int": (np.trunc, 0),
    "argmax": (lambda x: x * 0 + x.argmax(), 0), "argmin": (lambda x: x * 0 + x.argmin(), 0),
    "sum": (lambda x: x * 0 + x.sum(dtype=np.float64), 1e-3), "max": (lambda x: x * 0 + x.max(), 0),
}


def unary(op):
    def run():
        x = (rng.random(512, np.float32) * 6 + np.float32(0.1)).astype(np.float32)
        out = Array(np.zeros(512, np.float32))
        unary_kernel[(1,)](Array(x), out, op, 512)
        f, tolerance = UNARY[op]
        wide = x if op == "bfloat" else x.astype(np.float64) if tolerance else x
        return out.host(), np.asarray(f(wide)), tolerance
    return run


@triton.jit
def histogram_kernel(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


def histogram():
    x = rng.integers(0, 32, 1024).astype(np.int32)
    out = Array(np.zeros(32, np.int32))
    histogram_kernel[(1,)](Array(x), out, 1024, 32)
    return out.host(), np.bincount(x, minlength=32), 0


@triton.jit
def atomic_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    tl.atomic_add(out + at % 8, v)
    tl.atomic_max(out + 8 + at % 8, v)


def atomics():
    x = rng.integers(0, 1000, 1024).astype(np.int32)
    out = Array(np.zeros(16, np.int32))
    atomic_kernel[(4,)](Array(x), out, 256)
    x = x.reshape(-1, 8)
    return out.host(), np.concatenate([x.sum(0), x.max(0)]), 0


print("triton", triton.__version__, "on", capability())
check("add", add)
check("softmax", softmax)
for kind, how, tolerance in (np.float32, "ieee", 1e-4), (np.float32, "tf32", 0.2), (np.float16, "tf32", 1e-2):
    for stages in 1, 3:
        check(f"matmul_{np.dtype(kind).name}_{how}_{stages}", matmul(kind, stages, how, tolerance))
check("layer_norm", layer_norm)
check("dropout", dropout)
check("attention", attention(False))
check("attention_causal", attention(True))
for op in UNARY:
    check(op, unary(op))
check("histogram", histogram)
check("atomics", atomics)
sys.exit(bad)
