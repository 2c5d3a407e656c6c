# SPDX-License-Identifier: MIT
"""What PyTorch's everyday things cost: "NAME NUMBER UNIT" a line. Called by python.sh, natively and here."""
import time

import torch
import torch.nn.functional as F

dev = torch.device("cuda")
torch.manual_seed(0)


def timed(f, times):
    best = None
    for _ in range(4):
        torch.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(times):
            f()
        torch.cuda.synchronize()
        t = (time.perf_counter() - t) / times
        best = t if best is None else min(best, t)
    return best


def say(name, seconds, scale=1e6, unit="us"):
    print(f"{name} {seconds * scale:.2f} {unit}", flush=True)


a = torch.zeros(1000, device=dev)
say("small_operator", timed(lambda: a.add_(1), 2000))
say("operator_and_item", timed(lambda: a.add_(1)[0].item(), 300))
m = torch.randn(4096, 4096, device=dev, dtype=torch.bfloat16)
say("product_4096_bfloat16", 2 * 4096 ** 3 / timed(lambda: m @ m, 20) / 1e12, 1, "TFLOP/s")
m = torch.randn(4096, 4096, device=dev)
say("product_4096_float32", 2 * 4096 ** 3 / timed(lambda: m @ m, 5) / 1e12, 1, "TFLOP/s")
s = torch.randn(256, 256, device=dev, dtype=torch.bfloat16)
say("product_256_bfloat16", timed(lambda: s @ s, 500))
p, d = torch.empty(64 << 20, pin_memory=True), torch.empty(64 << 20, device=dev)
say("copy_in_pinned", p.nbytes / timed(lambda: d.copy_(p, non_blocking=True), 4) / 1e9, 1, "GB/s")
say("copy_out_pinned", p.nbytes / timed(lambda: p.copy_(d, non_blocking=True), 4) / 1e9, 1, "GB/s")
u = torch.empty(16 << 20)
say("copy_in_pageable", u.nbytes / timed(lambda: d[:16 << 20].copy_(u), 2) / 1e9, 1, "GB/s")
say("softmax_64_MiB", timed(lambda: d[:16 << 20].view(4096, 4096).softmax(1), 20))
net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) if i % 2 == 0 else torch.nn.GELU() for i in range(9)]).to(dev)
o = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
x = torch.randn(256, 512, device=dev)


def step():
    o.zero_grad()
    net(x).pow(2).mean().backward()
    o.step()


say("training_step", timed(step, 50))
q = torch.randn(4, 16, 1024, 64, device=dev, dtype=torch.bfloat16)
say("flash_attention", timed(lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True), 20))
stream = torch.cuda.Stream()
with torch.cuda.stream(stream), torch.no_grad():
    net(x)
torch.cuda.synchronize()
g = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(g):
    net(x)
say("graph_of_a_network", timed(g.replay, 200))
