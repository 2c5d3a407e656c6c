# SPDX-License-Identifier: MIT
"""cupy.random of CuPy for CUDA 13, by NVIDIA's libcurand and by CuPy's own kernels: moments of the distributions, against the theory's."""
import cupy as cp
import numpy as np

from check import check, end

N = 20000
cp.random.seed(42)


def moments(name, x, mean, deviation):
    x = cp.asnumpy(x).astype(float).ravel()
    # six standard errors of the mean; those of the deviation are at most 2.5 times as large (Poisson, exponential)
    check(name, [x.mean(), x.std()], [mean, deviation], 6 * 2.5 * deviation / len(x) ** 0.5 / max(1, abs(mean), deviation))


moments("rand", cp.random.rand(N), 0.5, 12 ** -0.5)
moments("random_f32", cp.random.random(N, dtype=cp.float32), 0.5, 12 ** -0.5)
moments("randn", cp.random.randn(N), 0, 1)
moments("normal", cp.random.normal(3, 2, N), 3, 2)
moments("standard_normal_f32", cp.random.standard_normal(N, dtype=cp.float32), 0, 1)
moments("randint", cp.random.randint(0, 10, N), 4.5, (99 / 12) ** 0.5)
moments("uniform", cp.random.uniform(-1, 3, N), 1, 4 / 12 ** 0.5)
moments("lognormal", cp.log(cp.random.lognormal(1, 0.5, N)), 1, 0.5)
moments("exponential", cp.random.exponential(2, N), 2, 2)
moments("gamma", cp.random.gamma(2, 1, N), 2, 2 ** 0.5)
moments("poisson", cp.random.poisson(4, N), 4, 2)
moments("choice", cp.random.choice(5, N), 2, 2 ** 0.5)
for kind in (cp.random.XORWOW, cp.random.Philox4x3210, cp.random.MRG32k3a):
    moments("Generator/" + kind.__name__, cp.random.Generator(kind(3)).random(N), 0.5, 12 ** -0.5)

check("permutation", cp.asnumpy(cp.sort(cp.random.permutation(1000))), np.arange(1000))
a = cp.arange(500)
cp.random.shuffle(a)
check("shuffle moves", bool((cp.asnumpy(a) != np.arange(500)).any()), True)
check("shuffle", np.sort(cp.asnumpy(a)), np.arange(500))
cp.random.seed(7)
a = cp.asnumpy(cp.random.rand(10))
cp.random.seed(7)
check("the same seed", cp.asnumpy(cp.random.rand(10)), a)
check("another one", bool((cp.asnumpy(cp.random.rand(10)) == a).any()), False)
end()
