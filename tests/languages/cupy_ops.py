# SPDX-License-Identifier: MIT
"""CuPy's own wheel, whose cudart is inside, against numpy: its elementwise, reduction, CUB, thrust and user's kernels."""
import sys
import cupy as cp
import numpy as np

bad = 0
rng = np.random.default_rng(7)
x, y = rng.standard_normal((60, 77)).astype(np.float32), rng.standard_normal((60, 77)).astype(np.float32)
n = rng.integers(0, 50, 3000).astype(np.int32)
p = np.abs(x) + np.float32(0.1)
X, Y, N, P = (cp.asarray(a) for a in (x, y, n, p))


def raw():
    k = cp.RawKernel(r'extern "C" __global__ void k(const float *a, float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;'
                     " if (i < n) b[i] = a[i] * 2 + 1; }", "k")
    out = cp.zeros_like(X)
    k((X.size // 128 + 1,), (128,), (X, out, np.int32(X.size)))
    return out


CASES = {
    "add": (lambda: X + Y, x + y, 0), "exp": (lambda: cp.exp(X), np.exp(x), 1e-4), "sin": (lambda: cp.sin(X), np.sin(x), 1e-6),
    "log": (lambda: cp.log(P), np.log(p), 1e-6), "power": (lambda: P ** 1.5, p ** 1.5, 1e-5), "where": (lambda: cp.where(X > 0, X, Y), np.where(x > 0, x, y), 0),
    "sum": (lambda: X.sum(), x.sum(dtype=np.float64), 1e-3), "sum_rows": (lambda: X.sum(1), x.sum(1), 1e-4), "mean": (lambda: X.mean(0), x.mean(0), 1e-5),
    "var": (lambda: X.var(1), x.var(1), 1e-5), "max": (lambda: X.max(), x.max(), 0), "argmax": (lambda: X.argmax(1), x.argmax(1), 0),
    "cumsum": (lambda: cp.cumsum(N), np.cumsum(n), 0), "sort": (lambda: cp.sort(N), np.sort(n), 0), "argsort": (lambda: N[cp.argsort(N)], np.sort(n), 0),
    "unique": (lambda: cp.unique(N), np.unique(n), 0), "bincount": (lambda: cp.bincount(N), np.bincount(n), 0), "nonzero": (lambda: cp.nonzero(N > 25)[0], np.nonzero(n > 25)[0], 0),
    "matmul": (lambda: X @ Y.T, x.astype(np.float64) @ y.T, 1e-3), "dot64": (lambda: X.astype("d") @ Y.T.astype("d"), x.astype("d") @ y.T.astype("d"), 1e-9),
    "transpose": (lambda: cp.ascontiguousarray(X.T), x.T, 0), "take": (lambda: X[:, cp.asarray([3, 1])], x[:, [3, 1]], 0),
    "concatenate": (lambda: cp.concatenate([X, Y]), np.concatenate([x, y]), 0), "half": (lambda: (X.astype("e") + Y.astype("e")).astype("f"), (x.astype("e") + y.astype("e")), 0),
    "elementwise": (lambda: cp.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = a * b + 1", "mad")(X, Y), x * y + 1, 1e-6),
    "reduction": (lambda: cp.ReductionKernel("float32 a", "float32 r", "a * a", "a + b", "r = a", "0", "sq")(X, axis=1), (x * x).sum(1), 1e-4),
    "raw": (raw, x * 2 + 1, 0), "median": (lambda: cp.median(X), np.median(x), 0), "histogram": (lambda: cp.histogram(N, 10)[0], np.histogram(n, 10)[0], 0),
}
def smoothed():
    import cupyx.scipy.signal       # which imports sparse matrices, and uses none here
    return cupyx.scipy.signal.convolve2d(X, X[:2, :2], mode="valid")


def filtered():
    import cupyx.scipy.ndimage
    return cupyx.scipy.ndimage.maximum_filter(X, 3)


def refused():
    import cupyx.scipy.sparse
    try:
        cupyx.scipy.sparse.csr_matrix(X) @ Y.T
    except Exception as e:
        return cp.asarray("libcusparse is vgpu's" in str(e))
    return cp.asarray(False)


def by_hand(a, k):
    h, w = a.shape
    return sum(a[1 - i:h - i, 1 - j:w - j].astype("d") * k[i, j] for i in range(2) for j in range(2))


def largest(a):
    p = np.pad(a, 1, mode="symmetric")
    return np.max([p[i:i + a.shape[0], j:j + a.shape[1]] for i in range(3) for j in range(3)], axis=0)


@cp.fuse()
def fused(a, b):
    return cp.sum(cp.exp(-a * a) + b, axis=1)


def not_there(f):
    """Whether f is an error that says so, and not one about a file."""
    def run():
        try:
            f()
        except Exception as e:
            return np.array("NOT_SUPPORTED" in str(e))
        return np.array(False)
    return run


CASES.update({
    "signal": (smoothed, by_hand(x, x[:2, :2]), 1e-4), "ndimage": (filtered, largest(x), 0), "fuse": (lambda: fused(X, Y), (np.exp(-x * x) + y).sum(1), 1e-3),
    "a sparse matrix is refused by name": (refused, True, 0), "a transform is refused by name": (not_there(lambda: cp.fft.fft(X)), True, 0),
    "a factorisation is refused by name": (not_there(lambda: cp.linalg.cholesky(cp.eye(3))), True, 0),
})
for name, (run, want, tolerance) in CASES.items():
    try:
        got = cp.asnumpy(run()).astype(np.float64)
        err = np.max(np.abs(got - np.asarray(want, np.float64)))
        if got.shape != np.shape(want) or not err <= tolerance:
            raise ValueError(f"off by {err}, {tolerance} allowed")
        print("ok", name)
    except Exception as e:
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[-300:])
    sys.stdout.flush()
sys.exit(bad)
