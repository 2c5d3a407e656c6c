# SPDX-License-Identifier: MIT
"""KeOps, which writes a kernel for each formula and has NVRTC compile it, against numpy."""
import numpy as np
from pykeops.numpy import Genred, LazyTensor

from check import check, end

r = np.random.default_rng(4)
m, n = 700, 1100
for dtype, near in ((np.float32, 2e-5), (np.float64, 1e-12)):
    t = dtype.__name__
    x, y, b = r.random((m, 3)).astype(dtype), r.random((n, 3)).astype(dtype), r.normal(size=(n, 2)).astype(dtype)
    X, Y, B = LazyTensor(x[:, None, :]), LazyTensor(y[None, :, :]), LazyTensor(b[None, :, :])
    d = ((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1)
    D = ((X - Y) ** 2).sum(-1)
    k = np.exp(-d)
    check(t + " kernel product", ((-D).exp() * B).sum(1, backend="GPU"), k @ b, near)
    check(t + " by threads of two dimensions", ((-D).exp() * B).sum(1, backend="GPU_2D"), k @ b, near)
    check(t + " sum over i", (-D).exp().sum(0, backend="GPU"), k.sum(0)[:, None], near)
    check(t + " logsumexp", (-D).logsumexp(1, backend="GPU"), np.log(k.sum(1))[:, None], near)
    check(t + " nearest", D.argmin(1, backend="GPU").ravel(), d.argmin(1))
    check(t + " least", D.min(1, backend="GPU").ravel(), d.min(1), near)
    check(t + " five nearest", D.argKmin(5, dim=1, backend="GPU"), np.argsort(d, axis=1)[:, :5])
    check(t + " farthest", D.argmax(1, backend="GPU").ravel(), d.argmax(1))
    if dtype is np.float64:
        check(t + " a system", ((-D).exp() + 0).T.sum(1, backend="GPU").ravel(), k.sum(0), near)
x, y, b, e = (r.random(s).astype(np.float32) for s in ((m, 3), (n, 3), (n, 2), (m, 2)))
k = np.exp(-((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1))
gradient = Genred("Grad(Exp(-SqDist(x,y))*b, x, e)", ["x=Vi(3)", "y=Vj(3)", "b=Vj(2)", "e=Vi(2)"], reduction_op="Sum", axis=1)
check("gradient", gradient(x, y, b, e, backend="GPU"), np.einsum("ij,ijk->ik", -2 * k * (e @ b.T), x[:, None] - y[None]), 2e-5)
soft = Genred("SqDist(x,y)", ["x=Vi(3)", "y=Vj(3)", "b=Vj(2)"], reduction_op="SumSoftMaxWeight", axis=1, formula2="b")
w = np.exp(((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1))
check("softmax", soft(x, y, b, backend="GPU"), (w / w.sum(1, keepdims=True)) @ b, 2e-5)
wide, other = r.normal(size=(200, 150)).astype(np.float32), r.normal(size=(300, 150)).astype(np.float32)
check("vectors in chunks", ((LazyTensor(wide[:, None]) - LazyTensor(other[None])) ** 2).sum(-1).min(1, backend="GPU").ravel(), ((wide[:, None] - other[None]) ** 2).sum(-1).min(1), 2e-5)
ranges = (np.array([[0, 300], [300, 700]], np.int32), np.array([2, 3], np.int32), np.array([[0, 200], [500, 900], [100, 1100]], np.int32), np.array([[0, 500], [500, 1100]], np.int32), np.array([1, 2], np.int32), np.array([[0, 300], [300, 700]], np.int32))
mask = np.zeros((m, n), bool)
mask[:300, 0:200] = mask[:300, 500:900] = mask[300:, 100:1100] = True
K = (-((LazyTensor(x[:, None]) - LazyTensor(y[None])) ** 2).sum(-1)).exp()
K.ranges = ranges
check("blocks of a sparse one", K.sum(1, backend="GPU").ravel(), (k * mask).sum(1), 2e-5)
z = (r.normal(size=(m, 1)) + 1j * r.normal(size=(m, 1))).astype(np.complex64)
v = (r.normal(size=(n, 1)) + 1j * r.normal(size=(n, 1))).astype(np.complex64)
got = (LazyTensor(z[:, None]) * LazyTensor(v[None])).exp().sum(1, backend="GPU")
want = np.exp(z.astype(np.complex128) * v.T).sum(1, keepdims=True)
check("complex", np.stack([got.real, got.imag]), np.stack([want.real, want.imag]), 2e-5)
end()
