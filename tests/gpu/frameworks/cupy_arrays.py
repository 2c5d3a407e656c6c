# SPDX-License-Identifier: MIT
"""CuPy's wheel as it is, against numpy: its own kernels, CUB's, Thrust's, a program's by NVRTC, streams, graphs. "ok NAME = DIGEST" or
"FAIL NAME why" a line. Called by python.sh."""
import hashlib
import sys

import cupy as cp
import numpy as np

bad = 0
rng = np.random.default_rng(7)
x, y = rng.standard_normal((60, 77)).astype(np.float32), rng.standard_normal((60, 77)).astype(np.float32)
n = rng.integers(0, 50, 3000).astype(np.int32)
X, Y, N = (cp.asarray(a) for a in (x, y, n))

CODE = r'''
template <typename T> struct pair { T a, b; };
__constant__ float factors[4];
extern "C" __global__ void scale(const float *a, float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i] * factors[i % 4]; }
extern "C" __global__ void fold(const float *a, float *out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += a[i];
    s[t] = v;
    for (int k = blockDim.x / 2; k; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
    if (!t) atomicAdd(out, s[0]);
}
'''


def module():
    m = cp.RawModule(code=CODE, options=("-std=c++17",))
    f = cp.ndarray(4, cp.float32, m.get_global("factors"))
    f[...] = cp.asarray([1, 2, 3, 4], cp.float32)
    out, total = cp.zeros_like(X), cp.zeros(1, cp.float32)
    m.get_function("scale")((X.size // 128 + 1,), (128,), (X, out, np.int32(X.size)))
    m.get_function("fold")((4,), (256,), (out, total, np.int32(X.size)), shared_mem=1024)
    return cp.concatenate([out.ravel(), total])


def streams():
    a = cp.zeros(1000)
    with cp.cuda.Stream(non_blocking=True) as s:
        for _ in range(20):
            a += 1
        s.synchronize()
    return a


def graph():
    a = cp.zeros(1000, cp.float32)
    with cp.cuda.Stream() as s:
        a += 1
        s.begin_capture()
        a += 1
        a *= 2
        g = s.end_capture()
        for _ in range(3):
            g.launch(s)
        s.synchronize()
    return a[:1]


@cp.fuse()
def fused(a, b):
    return cp.sum(cp.exp(-a * a) + b, axis=1)


scaled = (x.ravel() * np.resize(np.arange(1, 5), x.size)).astype(np.float32)
CASES = {       # name: (got, wanted, tolerance, whether the bits are always the same)
    "arithmetic": (lambda: X * 2 + Y / 3 - 1, x * 2 + y / 3 - 1, 1e-6, 1), "functions": (lambda: cp.exp(X) + cp.sin(Y) + cp.log1p(abs(X)), np.exp(x) + np.sin(y) + np.log1p(abs(x)), 1e-4, 1),
    "sum": (lambda: X.sum(), x.sum(dtype="d"), 1e-3, 0), "mean var": (lambda: X.mean(0) + X.var(0), x.mean(0) + x.var(0), 1e-4, 0),
    "argmax": (lambda: X.argmax(1), x.argmax(1), 0, 1), "cumsum": (lambda: cp.cumsum(N), np.cumsum(n), 0, 1), "sort": (lambda: cp.sort(N), np.sort(n), 0, 1),
    "argsort": (lambda: N[cp.argsort(N)], np.sort(n), 0, 1), "unique": (lambda: cp.unique(N), np.unique(n), 0, 1), "bincount": (lambda: cp.bincount(N), np.bincount(n), 0, 1),
    "nonzero": (lambda: cp.nonzero(N > 25)[0], np.nonzero(n > 25)[0], 0, 1), "matmul": (lambda: X @ Y.T, x.astype("d") @ y.T, 1e-3, 0),
    "matmul double": (lambda: X.astype("d") @ Y.T.astype("d"), x.astype("d") @ y.T.astype("d"), 1e-9, 0), "take": (lambda: X[:, cp.asarray([3, 1])], x[:, [3, 1]], 0, 1),
    "ElementwiseKernel": (lambda: cp.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = a * b + 1", "mad")(X, Y), x * y + 1, 1e-6, 1),
    "ReductionKernel": (lambda: cp.ReductionKernel("float32 a", "float32 r", "a * a", "a + b", "r = a", "0", "sq")(X, axis=1), (x * x).sum(1), 1e-4, 1),
    "RawModule": (module, np.append(scaled, scaled.sum(dtype="d")), 1e-2, 0), "fuse": (lambda: fused(X, Y), (np.exp(-x * x) + y).sum(1), 1e-3, 1),
    "streams": (streams, np.full(1000, 20.0), 0, 1), "graph": (graph, np.array([22.0]), 0, 1),
    "random": (lambda: (cp.random.default_rng(3).random(10000) - 0.5).mean() * 0 + 1, np.array(1.0), 0, 1),
}
for name, (run, want, tolerance, same) in CASES.items():
    try:
        got = cp.asnumpy(run())
        err = np.max(np.abs(got.astype(np.float64) - np.asarray(want, np.float64)))
        if got.shape != np.shape(want) or not err <= tolerance:
            raise ValueError(f"off by {err}, {tolerance} allowed")
        print(f"ok {name}" + (" = " + hashlib.sha1(np.ascontiguousarray(got).tobytes()).hexdigest()[:10] if same else ""))
    except Exception as e:      # the next one may still be right
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[-300:])
    sys.stdout.flush()
sys.exit(bad)
