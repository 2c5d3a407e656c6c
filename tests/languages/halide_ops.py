# SPDX-License-Identifier: MIT
"""Halide on the device, whose PTX is LLVM's: each pipeline by its CPU schedule and by its CUDA one. Lines "ok NAME" and "FAIL NAME why".
Usage: halide_ops.py CC, as in 7.5: what its kernels are made for"""
import sys
import warnings
import halide as hl
import numpy as np

warnings.simplefilter("ignore")
CAPABILITY = getattr(hl.TargetFeature, "CUDACapability" + sys.argv[1].replace(".", ""))
x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))
image = np.random.default_rng(3).random((130, 201), dtype=np.float32)
left, right = image[:96, :80].copy(), image[:80, 20:116].copy()
A, B = hl.Buffer(left), hl.Buffer(right)        # kept: a pipeline does not hold what it reads
source = hl.Buffer(image)
edge = hl.BoundaryConditions.repeat_edge(source)
bad = 0


def tiled(f, gpu):
    return f.gpu_tile(x, y, xi, yi, 16, 8) if gpu else f


def scale(gpu):
    f = hl.Func("f")
    f[x, y] = hl.f32(x * 3 + y) * 0.5
    tiled(f, gpu)
    return f


def blur(gpu):
    b, f = hl.Func("b"), hl.Func("f")
    b[x, y] = (edge[x - 1, y] + edge[x, y] + edge[x + 1, y]) / 3
    f[x, y] = (b[x, y - 1] + b[x, y] + b[x, y + 1]) / 3
    if gpu:                     # what lies between is in shared memory
        f.gpu_tile(x, y, xi, yi, 32, 8)
        b.compute_at(f, x)
        b.gpu_threads(x, y)
    return f


def maths(gpu):
    f, v = hl.Func("f"), edge[x, y]
    f[x, y] = hl.exp(v) + hl.log(v + 1) + hl.sin(v * 9) + hl.sqrt(v) + hl.tanh(v) + hl.pow(v + 0.5, hl.f32(2.3)) + hl.atan2(v, v + 1)
    tiled(f, gpu)
    return f


def histogram(gpu):
    f, r = hl.Func("f"), hl.RDom([(0, 201), (0, 130)])
    f[x] = 0
    f[hl.i32(hl.clamp(edge[r.x, r.y] * 32, 0, 31))] += 1
    if gpu:
        f.compute_root()
        f.gpu_tile(x, xi, 16)
        f.update().atomic().gpu_tile(r.x, r.y, hl.RVar("rxi"), hl.RVar("ryi"), 16, 8)
    return f


def product(gpu):
    f, k = hl.Func("f"), hl.RDom([(0, 80)])
    f[x, y] = 0.0
    f[x, y] += A[k, y] * B[x, k]
    if gpu:
        f.gpu_tile(x, y, xi, yi, 16, 16)
        f.update().gpu_tile(x, y, xi, yi, 16, 16)
    return f


def sums(gpu):
    p, f, r = hl.Func("p"), hl.Func("f"), hl.RDom([(0, 201)])
    p[y] = 0.0
    p[y] += edge[r, y]
    f[y] = p[y] * p[y]
    if gpu:
        f.gpu_tile(y, yi, 32)
        p.compute_root().gpu_tile(y, yi, 32)
        p.update().gpu_tile(y, yi, 32)
    return f


def bytes_(gpu):
    f = hl.Func("f")
    f[x, y] = hl.u8(((x * 7) ^ (y * 13)) & 255) + hl.u8(hl.min(x // 3, 200))
    tiled(f, gpu)
    return f


def doubles(gpu):
    f = hl.Func("f")
    f[x, y] = hl.f64(edge[x, y]) / hl.f64(3.0) + hl.sqrt(hl.f64(x))
    tiled(f, gpu)
    return f


def vectors(gpu):
    f = hl.Func("f")
    f[x, y] = edge[x, y] * 2 + edge[x + 1, y]
    if gpu:
        f.gpu_tile(x, y, xi, yi, 32, 8).vectorize(xi, 4)
    return f


def median(gpu):
    f = hl.Func("f")
    a, b, c = edge[x - 1, y], edge[x, y], edge[x + 1, y]
    f[x, y] = hl.max(hl.min(a, b), hl.min(hl.max(a, b), c))
    tiled(f, gpu)
    return f


for build, shape, kind in ((scale, (130, 201), np.float32), (blur, (128, 192), np.float32), (maths, (130, 201), np.float32), (histogram, (32,), np.int32),
                           (product, (96, 96), np.float32), (sums, (130,), np.float32), (bytes_, (130, 201), np.uint8), (doubles, (130, 201), np.float64),
                           (vectors, (128, 192), np.float32), (median, (130, 201), np.float32)):
    name = build.__name__.strip("_")
    try:
        got = []
        for gpu in (False, True):
            target = hl.get_host_target()
            if gpu:
                target = target.with_feature(hl.TargetFeature.CUDA).with_feature(CAPABILITY)
            out = hl.Buffer(np.full(shape, 77, kind))
            build(gpu).realize(out, target)
            out.copy_to_host()
            got.append(np.array(out).astype(np.float64))
        err = np.abs(got[0] - got[1]).max() / max(1, np.abs(got[0]).max())
        assert err <= (1e-5 if kind == np.float32 else 0 if kind != np.float64 else 1e-15), f"off by {err:.2g}"
        print("ok", name, flush=True)
    except Exception as e:      # the next pipeline may still be right
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[:300], flush=True)
sys.exit(bad)
