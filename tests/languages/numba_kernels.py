# SPDX-License-Identifier: MIT
"""numba-cuda: what a user writes, against numpy. "ok NAME" or "FAIL NAME why" a line."""
import math
import sys
import numpy as np
from numba import cuda, float32, vectorize

bad = 0
rng = np.random.default_rng(3)


def check(run):
    global bad
    try:
        got, want, tolerance = run()
        err = np.max(np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64)))
        if not err <= tolerance:
            raise ValueError(f"off by {err}")
        print("ok", run.__name__)
    except Exception as e:
        bad = 1
        print("FAIL", run.__name__, " ".join(str(e).split())[-300:])


@cuda.jit
def axpy_kernel(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * math.sin(x[i])


def axpy():
    x, y = rng.random(5000), rng.random(5000)
    d = cuda.to_device(y)
    axpy_kernel[40, 128](2.0, x, d)
    return d.copy_to_host(), y + 2 * np.sin(x), 1e-12


@cuda.jit
def matmul_kernel(a, b, c):
    s, t = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for k in range(a.shape[1] // 16):
        s[i, j], t[i, j] = a[x, k * 16 + j], b[k * 16 + i, y]
        cuda.syncthreads()
        for m in range(16):
            acc += s[i, m] * t[m, j]
        cuda.syncthreads()
    c[x, y] = acc


def matmul():
    a, b = rng.random((64, 96), np.float32), rng.random((96, 48), np.float32)
    c = cuda.device_array((64, 48), np.float32)
    matmul_kernel[(4, 3), (16, 16)](a, b, c)
    return c.copy_to_host(), a.astype(np.float64) @ b, 1e-4


@cuda.jit
def atomics_kernel(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, x[i] % 8, 1)


def atomics():
    x = rng.integers(0, 100, 4096)
    out = np.zeros(8, np.int64)
    atomics_kernel[32, 128](x, out)
    return out, np.bincount(x % 8, minlength=8), 0


@cuda.reduce
def total(a, b):
    return a + b


def reduction():
    x = rng.random(10000)
    return total(x), x.sum(), 1e-8


@vectorize(["float32(float32, float32)"], target="cuda")
def hypot(a, b):
    return math.sqrt(a * a + b * b)


def ufunc():
    a, b = rng.random(3000, np.float32), rng.random(3000, np.float32)
    return hypot(a, b), np.hypot(a, b), 1e-6


@cuda.jit
def grid_kernel(m):
    g = cuda.cg.this_grid()
    col = cuda.grid(1)
    for row in range(1, m.shape[0]):
        m[row, col] = m[row - 1, m.shape[1] - col - 1] + 1
        g.sync()


def grid_sync():
    d = cuda.to_device(np.zeros((40, 512), np.int32))
    grid_kernel[4, 128](d)
    return d.copy_to_host(), np.arange(40)[:, None] * np.ones((1, 512)), 0


@cuda.jit
def shuffle_kernel(x, out):
    v = x[cuda.threadIdx.x]
    for d in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xffffffff, v, d)
    if cuda.threadIdx.x == 0:
        out[0] = v


def shuffle():
    x = rng.integers(0, 1000, 32)
    out = np.zeros(1, np.int64)
    shuffle_kernel[1, 32](x, out)
    return out, [x.sum()], 0


for run in axpy, matmul, atomics, reduction, ufunc, grid_sync, shuffle:
    check(run)
sys.exit(bad)
