# SPDX-License-Identifier: MIT
"""Triton's kernels as its later tutorials have them, with torch's tensors (vgpu run --torch): a product of groups, persistent blocks by tensor
descriptors, with and without warps of their own for copies, factors a block (dot_scaled), clusters of two blocks. ok and FAIL lines."""
import sys

import torch
import triton
import triton.language as tl

bad = 0


def check(name, f, tol=2e-3):
    global bad
    try:
        torch.manual_seed(0)
        got, want = f()
        got = got.cpu().float()
        err = ((got - want).abs().max() / want.abs().max()).item()
        assert got.shape == want.shape and err <= tol, f"off by {err:.2g}"
        print("ok", name)
    except Exception as e:      # the next case may still be right
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[-200:])
    sys.stdout.flush()


@triton.jit
def groups_kernel(a_ptrs, b_ptrs, c_ptrs, sizes, strides, GROUPS: tl.constexpr, BLOCKS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                  K: tl.constexpr):
    tile = tl.program_id(0)
    last = 0
    for g in range(GROUPS):
        m, n, k = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * across
        while tile >= last and tile < last + tiles:
            a = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            rows = (tile - last) // across * M + tl.arange(0, M)
            cols = (tile - last) % across * N + tl.arange(0, N)
            ks = tl.arange(0, K)
            la, lb, lc = tl.load(strides + g * 3), tl.load(strides + g * 3 + 1), tl.load(strides + g * 3 + 2)
            at_a, at_b = a + rows[:, None] * la + ks[None, :], b + ks[:, None] * lb + cols[None, :]
            total = tl.zeros((M, N), dtype=tl.float32)
            for _ in range(0, tl.cdiv(k, K)):
                total += tl.dot(tl.load(at_a), tl.load(at_b))
                at_a += K
                at_b += K * lb
            tl.store(c + rows[:, None] * lc + cols[None, :], total.to(tl.float16))
            tile += BLOCKS
        last += tiles


def groups():
    a, b, c, sizes, strides = [], [], [], [], []
    for m in (128, 64, 192):
        a.append(torch.randn(m, 128).half().cuda())
        b.append(torch.randn(128, m).half().cuda())
        c.append(torch.empty(m, m, dtype=torch.float16, device="cuda"))
        sizes += [m, m, 128]
        strides += [t[-1].stride(0) for t in (a, b, c)]

    def pointers(ts):
        return torch.tensor([t.data_ptr() for t in ts]).cuda()

    groups_kernel[(4,)](pointers(a), pointers(b), pointers(c), torch.tensor(sizes, dtype=torch.int32).cuda(),
                        torch.tensor(strides, dtype=torch.int32).cuda(), 3, 4, 64, 64, 32)
    return torch.cat([t.cpu().flatten() for t in c]), torch.cat([(x.cpu().float() @ y.cpu().float()).flatten() for x, y in zip(a, b)])


@triton.jit
def persistent_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCKS: tl.constexpr, APART: tl.constexpr):
    from_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    from_b = tl.make_tensor_descriptor(b, [n, k], [k, 1], [N, K])
    to_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, BLOCKS, flatten=True, warp_specialize=APART):
        row, col = tile // across * M, tile % across * N
        total = tl.zeros((M, N), tl.float32)
        for i in range(tl.cdiv(k, K)):
            total = tl.dot(from_a.load([row, i * K]), from_b.load([col, i * K]).T, total)
        to_c.store([row, col], total.to(tl.float16))


def persistent(apart):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    a, b = torch.randn(256, 128).half(), torch.randn(192, 128).half()
    c = torch.empty(256, 192, dtype=torch.float16, device="cuda")
    persistent_kernel[(3,)](a.cuda(), b.cuda(), c, 256, 192, 128, 64, 64, 64, 3, apart, num_warps=4, num_stages=3)
    return c, a.float() @ b.float().T


@triton.jit
def scaled_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    sx, sy = tl.load(sa + m[:, None] * (K // 32) + s[None, :]), tl.load(sb + n[:, None] * (K // 32) + s[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, sx, "e4m3", y, sy, "e4m3"))


def scaled():
    n = 128
    a, b = torch.randn(n, n).to(torch.float8_e4m3fn), torch.randn(n, n).to(torch.float8_e4m3fn)
    sa, sb = (torch.randint(125, 130, (n, n // 32)).to(torch.uint8) for _ in range(2))
    c = torch.empty(n, n, device="cuda")
    there = [t.view(torch.uint8).cuda().view(torch.float8_e4m3fn) for t in (a, b)]
    scaled_kernel[(1,)](there[0], sa.cuda(), there[1], sb.cuda(), c, n, n, n)
    by = [torch.pow(2.0, s.float() - 127).repeat_interleave(32, 1) for s in (sa, sb)]
    return c, (a.float() * by[0]) @ (b.float() * by[1].T)


@triton.jit
def product_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols, ks = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for q in range(0, k, K):
        total = tl.dot(tl.load(a + rows[:, None] * k + (q + ks)[None, :]), tl.load(b + (q + ks)[:, None] * n + cols[None, :]), total)
    tl.store(c + rows[:, None] * n + cols[None, :], total)


def two_blocks():
    a, b, c = torch.randn(256, 128).half(), torch.randn(128, 256).half(), torch.empty(256, 256).cuda()
    product_kernel[(2, 2)](a.cuda(), b.cuda(), c, 256, 128, 128, 128, 64, num_ctas=2)
    return c, a.float() @ b.float()


check("groups", groups)
check("persistent", lambda: persistent(False))
check("persistent, copies by warps of their own", lambda: persistent(True))
check("dot_scaled", scaled)
check("clusters of two", two_blocks)
sys.exit(bad)
