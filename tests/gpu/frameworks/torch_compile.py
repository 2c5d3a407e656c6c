# SPDX-License-Identifier: MIT
"""Triton's kernels on torch's tensors, tensor cores and descriptors among them, and torch.compile. "ok NAME = DIGEST" or "FAIL NAME why" a line.
Called by python.sh."""
import hashlib
import sys

import torch
import triton
import triton.language as tl

bad = 0
dev = torch.device("cuda")
torch.manual_seed(0)


def digest(t):
    return hashlib.sha1(t.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()[:10]


def test(f):
    global bad
    try:
        word = f()
        print(f"ok {f.__name__} = {word}" if word else f"ok {f.__name__}")
    except Exception as e:      # the next one may still be right
        bad = 1
        print("FAIL", f.__name__, type(e).__name__, " ".join(str(e).split())[-300:])
    sys.stdout.flush()


def near(got, want, tol):
    off = ((got.double() - want.double()).abs().max() / want.double().abs().max()).item()
    assert got.shape == want.shape and off <= tol, f"off by {off:.2g}"


@triton.jit
def softmax_kernel(out, x, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + at, e / tl.sum(e, axis=0), mask=at < n)


@test
def softmax():
    x = torch.randn(37, 781).to(dev)
    out = torch.empty_like(x)
    softmax_kernel[(37,)](out, x, 781, BLOCK=1024, num_warps=8)
    near(out.cpu(), x.cpu().double().softmax(1), 1e-6)
    return digest(out)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(a + m[:, None] * K + (i * BK + k)[None, :]), tl.load(b + (i * BK + k)[:, None] * N + n[None, :]), total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@test
def matmul():                   # wgmma, more than 48 KiB of shared memory
    a, b = torch.randn(256, 512).half().to(dev), torch.randn(512, 256).half().to(dev)
    c = torch.empty(256, 256, device=dev)
    matmul_kernel[(2, 2)](a, b, c, 256, 256, 512, 128, 128, 64, num_stages=4, num_warps=8)
    near(c.cpu(), a.cpu().double() @ b.cpu().double(), 1e-3)
    return digest(c)


@triton.jit
def boxes_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total.to(tl.float16))


@test
def tensor_maps():
    from triton.tools.tensor_descriptor import TensorDescriptor
    a, b = torch.randn(256, 256).half().to(dev), torch.randn(256, 256).half().to(dev)
    c = torch.empty(256, 256, device=dev, dtype=torch.float16)
    boxes = [TensorDescriptor.from_tensor(t, s) for t, s in ((a, [128, 64]), (b, [128, 64]), (c, [128, 128]))]
    boxes_kernel[(2, 2)](*boxes, 256, 128, 128, 64, num_warps=8)
    near(c.cpu(), a.cpu().double() @ b.cpu().double().T, 2e-3)
    return digest(c)


@triton.jit
def made_kernel(a, out, M, N, BM: tl.constexpr, BN: tl.constexpr):      # a descriptor that the kernel makes, in global memory
    d = tl.make_tensor_descriptor(a, [M, N], [N, 1], [BM, BN])
    v = d.load([tl.program_id(0) * BM, 0])
    tl.store(out + tl.program_id(0) * BM + tl.arange(0, BM), tl.sum(v.to(tl.float32), axis=1))


@test
def tensor_maps_by_the_kernel():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device=dev, dtype=torch.int8))
    a, out = torch.randn(128, 64).half().to(dev), torch.empty(128, device=dev)
    made_kernel[(2,)](a, out, 128, 64, 64, 64)
    near(out.cpu(), a.cpu().double().sum(1), 1e-3)
    return digest(out)


@triton.jit
def count_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@test
def atomics():
    x = torch.randint(0, 50, (10000,)).to(dev)
    out = torch.zeros(50, dtype=torch.int32).to(dev)
    count_kernel[(10,)](x, out, 10000, BLOCK=1024)
    assert torch.equal(out.cpu().long(), x.cpu().bincount(minlength=50))
    return digest(out)


@triton.jit
def say_kernel(x):
    tl.device_print("kernel says", tl.load(x + tl.arange(0, 2)))


@test
def printing():
    say_kernel[(1,)](torch.tensor([41, 42]).to(dev), num_warps=1)
    torch.cuda.synchronize()


def model(a, w, c, u):
    h = torch.nn.functional.gelu(a @ w + c)
    h = torch.nn.functional.layer_norm(h, h.shape[-1:]) * u.softmax(0)
    return (h.cos() + h.sum(1, keepdim=True)).mean()


@test
def compiled():
    args = [torch.randn(*s).requires_grad_() for s in ((64, 32), (32, 96), (96,), (96,))]
    own = [t.detach().to(dev).requires_grad_() for t in args]
    want = model(*args)
    got = torch.compile(model)(*own)
    want.backward()
    got.backward()
    near(got.detach().cpu().view(1), want.detach().view(1), 1e-4)
    for g, w in zip(own, args):
        near(g.grad.cpu(), w.grad, 1e-3)


@test
def compiled_in_a_graph():
    f = torch.compile(lambda a, b: (a * b + 1).relu().sum(0), mode="reduce-overhead")
    a, b = torch.randn(100, 50), torch.randn(100, 50)
    for i in range(4):
        near(f(a.to(dev) + i, b.to(dev)).cpu(), ((a + i) * b + 1).relu().sum(0), 1e-5)


sys.stdout.flush()
import os               # noqa: E402
os._exit(bad)
