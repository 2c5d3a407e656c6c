# SPDX-License-Identifier: MIT
"""Kernel Tuner, by CuPy and by CUDA's own bindings (argument 1): each configuration's results are compared by itself, against numpy's."""
import sys

import numpy as np
from kernel_tuner import run_kernel, tune_kernel

from check import check, end

add = """extern "C" __global__ void add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * block_size_x * per_thread + threadIdx.x;
    for (int k = 0; k < per_thread; k++, i += block_size_x) if (i < n) c[i] = a[i] + b[i];
}"""
product = """extern "C" __global__ void product(float *c, const float *a, const float *b) {
    __shared__ float p[block_size_y][block_size_x], q[block_size_y][block_size_x];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * block_size_x + x, j = blockIdx.y * block_size_y + y;
    float s = 0;
    for (int k = 0; k < 128; k += block_size_x) {
        __syncthreads(); p[y][x] = a[j * 128 + k + x]; q[y][x] = b[(k + y) * 128 + i]; __syncthreads();
        for (int l = 0; l < block_size_x; l++) s += p[y][l] * q[l][x];
    }
    c[j * 128 + i] = s;
}"""
r, how, n = np.random.default_rng(1), {"lang": sys.argv[1], "quiet": True}, np.int32(100003)
a, b = r.random(n, np.float32), r.random(n, np.float32)
got, _ = tune_kernel("add", add, int(n), [np.zeros_like(a), a, b, n], {"block_size_x": [32, 128, 1024], "per_thread": [1, 3]}, grid_div_x=["block_size_x", "per_thread"], answer=[a + b, None, None, None], **how)
check("sums in six configurations", sorted((x["block_size_x"], x["per_thread"]) for x in got if x["time"] > 0), [(x, k) for x in (32, 128, 1024) for k in (1, 3)])
a, b = r.random((128, 128), np.float32), r.random((128, 128), np.float32)
got, _ = tune_kernel("product", product, (128, 128), [np.zeros_like(a), a, b], {"block_size_x": [8, 16, 32], "block_size_y": [8, 16, 32]}, restrictions=["block_size_x==block_size_y"], answer=[a @ b, None, None], atol=1e-3, **how)
check("products in three", sorted(x["block_size_x"] for x in got if x["time"] > 0), [8, 16, 32])
del how["quiet"]
check("a kernel by itself", run_kernel("product", product, (128, 128), [np.zeros_like(a), a, b], {"block_size_x": 16, "block_size_y": 16}, **how)[0], a @ b, 1e-5)
end()
