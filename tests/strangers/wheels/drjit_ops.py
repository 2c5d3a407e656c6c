# SPDX-License-Identifier: MIT
"""Dr.Jit's CUDA back end, whose PTX is its own, against numpy: arithmetic, reductions, scans, gathers, scatters, loops, calls, gradients,
textures that have a view of their own format."""
import math

import drjit as dr
import numpy as np
from drjit.cuda import Array2f, Float, Float16, Float64, Int, Int64, Matrix4f, TensorXf, Texture2f, UInt
from drjit.cuda.ad import Float as FloatAD

from check import check, end

r = np.random.default_rng(3)
ones = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "exp2": np.exp2, "tanh": np.tanh, "sinh": np.sinh, "atan": np.arctan, "cbrt": np.cbrt,
        "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "erf": np.vectorize(math.erf)}
positive = {"log": np.log, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v), "rcp": lambda v: 1 / v, "asinh": np.arcsinh}
for n in (1, 7, 1000, 100003):
    x, y = r.uniform(-4, 4, n).astype(np.float32), r.uniform(0.1, 4, n).astype(np.float32)
    X, Y = Float(x), Float(y)
    for f, want in ones.items():
        check(f"{f} of {n}", getattr(dr, f)(X), want(x.astype(np.float64)), 3e-5)
    for f, want in positive.items():
        check(f"{f} of {n}", getattr(dr, f)(Y), want(y.astype(np.float64)), 2e-5)
    check(f"atan2 of {n}", dr.atan2(X, Y), np.arctan2(x, y), 1e-5)
    check(f"power of {n}", dr.power(Y, X), np.power(y.astype(np.float64), x), 1e-5)
    check(f"sum of {n}", dr.sum(X), [x.astype(np.float64).sum()], 1e-4 * n ** 0.5)
    check(f"least and most of {n}", [dr.min(X)[0], dr.max(X)[0]], [x.min(), x.max()])
    i = r.integers(0, 1000, n).astype(np.uint32)
    I = UInt(i)
    check(f"sums before of {n}", dr.cumsum(I), np.cumsum(i, dtype=np.uint32))
    check(f"where of {n}", dr.compress(X > 0), np.nonzero(x > 0)[0].astype(np.uint32))
    p = r.permutation(n).astype(np.uint32)
    check(f"gather of {n}", dr.gather(Float, X, UInt(p)), x[p])
    t = dr.zeros(Float, n)
    dr.scatter(t, X, UInt(p))
    check(f"scatter of {n}", np.asarray(t)[p], x)
    h = dr.zeros(UInt, 64)
    dr.scatter_reduce(dr.ReduceOp.Add, h, UInt(1), I % 64)
    check(f"histogram of {n}", h, np.bincount(i % 64, minlength=64).astype(np.uint32))
    h = dr.zeros(Float, 64)
    dr.scatter_reduce(dr.ReduceOp.Add, h, X, I % 64, mode=dr.ReduceMode.Local)
    check(f"sums by key of {n}", h, np.bincount(i % 64, weights=x, minlength=64), 1e-4)
    for op, want in ((dr.ReduceOp.Min, np.minimum), (dr.ReduceOp.Max, np.maximum)):
        h, w = dr.zeros(Int, 64), np.zeros(64, np.int32)
        dr.scatter_reduce(op, h, Int(x * 100), I % 64)
        want.at(w, i % 64, (x * 100).astype(np.int32))
        check(f"{op} by key of {n}", h, w)
    if n > 1:
        slots = np.asarray(dr.scatter_inc(UInt(0), UInt(0) * I, X > 0))[x > 0]
        check(f"places of {n}", np.sort(slots), np.arange((x > 0).sum(), dtype=np.uint32))
    a = i.astype(np.int64) * (1 << 33) + 7
    check(f"64 bits of {n}", (Int64(a) * 3 - Int64(5)) >> Int64(2), (a * 3 - 5) >> 2)
    check(f"quotients of 64 bits of {n}", Int64(a) // Int64(12345), a // 12345)
    check(f"bits of {n}", dr.popcnt(I) * 100 + dr.lzcnt(I), np.array([bin(v).count("1") * 100 + 32 - int(v).bit_length() for v in i], np.uint32))
    check(f"bits reversed of {n}", dr.brev(I), np.array([int(f"{v:032b}"[::-1], 2) for v in i], np.uint32))
    check(f"high words of {n}", dr.mul_hi(I, UInt(3000000019)), (i.astype(np.uint64) * 3000000019 >> 32).astype(np.uint32))
    check(f"halves of {n}", Float16(X) * 2 + 1, x.astype(np.float16) * np.float16(2) + np.float16(1), 2e-3)
    check(f"doubles of {n}", dr.sin(Float64(x.astype(np.float64))), np.sin(x.astype(np.float64)), 1e-12)


@dr.syntax
def steps(x):
    n = UInt(0) * x
    while x != 1:
        if x & 1 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        n += 1
    return n


def collatz(v):
    n = 0
    while v != 1:
        v = 3 * v + 1 if v & 1 else v // 2
        n += 1
    return n


v = np.arange(1, 3001, dtype=np.uint32)
check("loop", steps(UInt(v)), np.array([collatz(int(k)) for k in v], np.uint32))
index, x = r.integers(0, 3, 5000).astype(np.uint32), r.uniform(-1, 1, 5000).astype(np.float32)
calls = [lambda a: a * 2, dr.sin, lambda a: a + 10]
for symbolic in (True, False):
    with dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, symbolic):
        check(f"calls, symbolic: {symbolic}", dr.switch(UInt(index), calls, Float(x)), np.choose(index, [x * 2, np.sin(x), x + 10]), 1e-6)
a = FloatAD(x)
dr.enable_grad(a)
dr.backward(dr.sum(dr.sin(a) * dr.exp(a)))
check("gradient", dr.grad(a), (np.cos(x) + np.sin(x)) * np.exp(x), 1e-5)
a = FloatAD(x)
dr.enable_grad(a)
g = dr.gather(FloatAD, a, UInt(index) * 7)
dr.backward(dr.sum(g * g))
want = np.zeros(5000)
np.add.at(want, index * 7, 2 * x[index * 7])
check("gradient of a gather", dr.grad(a), want, 1e-4)
t = r.normal(size=(30, 40)).astype(np.float32)
check("sums of a tensor", dr.sum(TensorXf(t), axis=0), t.sum(0), 1e-5)
check("part of a tensor", TensorXf(t)[3:20:2, 1:7], t[3:20:2, 1:7])
m = (r.normal(size=(4, 4, 100)) + 4 * np.eye(4)[:, :, None]).astype(np.float32)
check("inverse matrices", dr.rcp(Matrix4f(m)) @ Matrix4f(m), np.broadcast_to(np.eye(4)[:, :, None], (4, 4, 100)), 1e-4)
texels, at = TensorXf(r.normal(size=(16, 16, 3)).astype(np.float32)), Array2f(Float(r.random(2000)), Float(r.random(2000)))
check("texture by the hardware's units", Texture2f(texels, use_accel=True).eval(at), Texture2f(texels, use_accel=False).eval(at), 2e-2)
end()
