# SPDX-License-Identifier: MIT
"""Triton at compute capability 9.0: tensor maps that the host makes and that kernels make, products by wgmma of what they bring, persistent
and by specialised warps, as its tutorial 09 has them; results against numpy. Prints "ok NAME" or "FAIL NAME why"."""
import sys
import numpy as np
import triton
import triton.language as tl
from triton_bare import Array, capability
from triton.tools.tensor_descriptor import TensorDescriptor

bad = 0
rng = np.random.default_rng(9)


class Kind(str):
    pass


def array(host, name=None):
    """With what TensorDescriptor asks of a tensor."""
    a = Array(host)
    a.dtype = Kind(name or a.dtype)
    a.dtype.itemsize = host.itemsize
    a.itemsize = host.itemsize
    return a


def descriptor(a, block):
    strides = [int(np.prod(a.shape[i + 1:])) for i in range(len(a.shape))]
    return TensorDescriptor(a, list(a.shape), strides, list(block))


def scratch(size, alignment, stream):
    scratch.kept.append(Array(np.zeros(size + alignment, np.uint8)))
    return scratch.kept[-1]


scratch.kept = []
triton.set_allocator(scratch)


def check(name, run):
    global bad
    try:
        got, want, tolerance = run()
        err = np.max(np.abs(got.astype(np.float64) - want.astype(np.float64)))
        if not err <= tolerance:
            raise ValueError(f"off by {err}, {tolerance} allowed")
        print("ok", name)
    except Exception as e:
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[-400:])
    sys.stdout.flush()


@triton.jit
def copy_kernel(x, y, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([m, n], x.load([m, n]) * 2)


def copied(kind, shape, block):
    def run():
        h = rng.integers(-50, 50, shape).astype(kind)
        x, y = array(h), array(np.zeros(shape, kind))
        copy_kernel[(triton.cdiv(shape[0], block[0]), triton.cdiv(shape[1], block[1]))](descriptor(x, block), descriptor(y, block), *block)
        return y.host(), h * 2, 0
    return run


@triton.jit
def product_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANS: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a.load([m, k])
        if TRANS:
            y = b.load([n, k]).T
        else:
            y = b.load([k, n])
        acc = tl.dot(x, y, acc)
    c.store([m, n], acc.to(tl.float16))


def product(M, N, K, blocks, trans, warps, stages):
    def run():
        a, b = rng.integers(-4, 5, (M, K)).astype(np.float16), rng.integers(-4, 5, (K, N)).astype(np.float16)
        c = array(np.zeros((M, N), np.float16))
        BM, BN, BK = blocks
        bd = descriptor(array(np.ascontiguousarray(b.T)), (BN, BK)) if trans else descriptor(array(b), (BK, BN))
        product_kernel[(triton.cdiv(M, BM), triton.cdiv(N, BN))](descriptor(array(a), (BM, BK)), bd, descriptor(c, (BM, BN)), K, BM, BN, BK, trans,
                                                                 num_warps=warps, num_stages=stages)
        return c.host(), a.astype(np.float64) @ b.astype(np.float64), .5
    return run


@triton.jit
def persistent_kernel(pa, pb, pc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIAL: tl.constexpr):
    a = tl.make_tensor_descriptor(pa, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(pb, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(pc, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True, warp_specialize=SPECIAL):
        m, n = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
        c.store([m, n], acc.to(tl.float16))


def persistent(special):
    def run():
        M, N, K = 328, 200, 136
        a, b = rng.integers(-4, 5, (M, K)).astype(np.float16), rng.integers(-4, 5, (N, K)).astype(np.float16)
        c = Array(np.zeros((M, N), np.float16))
        persistent_kernel[(3,)](Array(a), Array(b), c, M, N, K, 128, 64, 64, special, num_warps=4, num_stages=3)
        return c.host(), a.astype(np.float64) @ b.astype(np.float64).T, .5
    return run


@triton.jit
def add_kernel(out, x, B: tl.constexpr):
    at = [0, tl.program_id(0) * B]
    out.atomic_add(at, x.load(at))


def added():
    x, out = rng.integers(0, 9, (16, 128)).astype(np.float32), array(np.ones((16, 128), np.float32))
    add_kernel[(4,)](descriptor(out, (16, 32)), descriptor(array(x), (16, 32)), 32)
    return out.host(), x + 1, 0


print("triton", triton.__version__, "on", capability())
for kind in (np.float32, np.float16, np.int32, np.uint8):
    check(f"copy_{np.dtype(kind).name}", copied(kind, (70, 144), (32, 32)))
check("copy_wide", copied(np.float16, (40, 528), (16, 256)))
check("product", product(256, 128, 128, (128, 64, 64), False, 4, 3))
check("product_trans", product(256, 128, 128, (128, 64, 64), True, 4, 3))
check("product_borders", product(200, 136, 72, (64, 128, 32), False, 4, 2))
check("product_8_warps", product(256, 256, 128, (128, 256, 64), True, 8, 3))
check("persistent", persistent(False))
check("persistent_specialized", persistent(True))
check("atomic_add", added)
sys.exit(bad)
