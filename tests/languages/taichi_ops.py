# SPDX-License-Identifier: MIT
"""Taichi's CUDA back end, whose PTX is its own, against numpy: fields, reductions, atomics, a stencil, autodiff."""
import sys
import numpy as np
import taichi as ti

ti.init(arch=ti.cuda, offline_cache=False, log_level=ti.ERROR)
bad = 0
rng = np.random.default_rng(4)


def check(name, got, want, tolerance):
    global bad
    err = np.max(np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64)))
    bad |= not err <= tolerance
    print("ok" if err <= tolerance else "FAIL", name, f"off by {err:.2g}")


x = rng.random(1000, np.float32)
field, out, total = ti.field(ti.f32, 1000, needs_grad=True), ti.field(ti.f32, 1000), ti.field(ti.f32, (), needs_grad=True)
bins = ti.field(ti.i32, 8)
field.from_numpy(x)


@ti.kernel
def each():
    for i in field:
        out[i] = ti.sin(field[i]) * 2 + ti.sqrt(field[i])


@ti.kernel
def squares():
    for i in field:
        total[None] += field[i] ** 2


@ti.kernel
def histogram():
    for i in field:
        bins[int(field[i] * 8)] += 1


@ti.kernel
def heat(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i, j in ti.ndrange((1, 31), (1, 31)):
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


print("ok" if ti.lang.impl.current_cfg().arch == ti.cuda else "FAIL", "on CUDA")
bad |= ti.lang.impl.current_cfg().arch != ti.cuda
each()
check("each", out.to_numpy(), np.sin(x) * 2 + np.sqrt(x), 1e-5)
histogram()
check("histogram", bins.to_numpy(), np.bincount((x * 8).astype(int), minlength=8), 0)
with ti.ad.Tape(total):
    squares()
check("sum of squares", total[None], (x.astype(np.float64) ** 2).sum(), 1e-2)
check("autodiff", field.grad.to_numpy(), 2 * x, 1e-6)
a = rng.random((32, 32)).astype(np.float32)
b = np.zeros_like(a)
heat(a, b)
check("heat", b[1:-1, 1:-1], (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4, 1e-6)
sys.exit(bad)
