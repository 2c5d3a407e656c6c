# SPDX-License-Identifier: MIT
"""Packages of CUDA C++ for PyTorch, built from their sources (tests/languages/run.sh BUILD torch-packages), on the device by vgpu run --torch against their own
code for the CPU: torch_scatter (reductions by index, sorted and not, by atomics and by segments; their gradients), torchsort (ranks and sorts that have gradients)."""
import itertools
import sys
import torch
import torch_scatter
import torchsort

bad = 0
FLOAT = {torch.float16: 2e-2, torch.float32: 1e-4, torch.float64: 1e-10, torch.bfloat16: 1e-1}
KINDS = {**FLOAT, torch.int32: 0, torch.int64: 0}


def check(name, forms):
    """Each of forms(device), a list of tensors, here as on the CPU."""
    global bad
    try:
        for at, (got, want, bound) in enumerate(zip(forms("cuda"), forms("cpu"), BOUNDS)):
            if want.is_floating_point():
                assert torch.allclose(got.detach().cpu().double(), want.detach().double(), rtol=bound, atol=bound), (at, (got.cpu().double() - want.double()).abs().max().item())
            else:
                assert torch.equal(got.cpu(), want), (at, "differs")
        print("ok", name)
    except Exception as e:      # the next case may still be right
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[:300])
    sys.stdout.flush()


def with_gradient(f, x, device, slope):
    x = x.detach().to(device).requires_grad_()
    y = f(x)
    (y * slope.to(device)).sum().backward()
    return [y, x.grad]


SHAPES = [((1000,), 0), ((37, 65), 0), ((37, 65), 1), ((5, 333, 7), 0), ((5, 333, 7), 2)]
for reduce, (shape, dim) in itertools.product(("sum", "mean", "min", "max", "mul"), SHAPES):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64)
    x = x.sign() * (x.abs() * 0.1 + 0.9) if reduce == "mul" else x * 4
    index = torch.randint(0, 13, (shape[dim],))
    every = index.view([-1 if d == dim else 1 for d in range(len(shape))]).expand(shape).contiguous()
    slope = torch.randn_like(torch_scatter.scatter(x, every, dim, reduce=reduce))
    BOUNDS = [10 * b for b in KINDS.values()]
    check(f"scatter {reduce} {shape} along {dim}", lambda device: [torch_scatter.scatter(x.to(k).to(device), every.to(device), dim, reduce=reduce) for k in KINDS])
    BOUNDS = [1e-9] * 2
    check(f"gradient of scatter {reduce} {shape} along {dim}",
          lambda device: with_gradient(lambda t: torch_scatter.scatter(t, every.to(device), dim, reduce=reduce), x, device, slope))
    if dim or reduce == "mul":
        continue
    index = index.sort()[0]
    ends = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(index, minlength=13).cumsum(0)])
    # of whole numbers' mean the CPU cuts the fraction off, and CUDA goes down
    kinds = FLOAT if reduce == "mean" else KINDS
    BOUNDS = [10 * b for b in kinds.values()]
    check(f"segment_coo {reduce} {shape}", lambda device: [torch_scatter.segment_coo(x.to(k).to(device), index.to(device), dim_size=13, reduce=reduce) for k in kinds])
    check(f"segment_csr {reduce} {shape}", lambda device: [torch_scatter.segment_csr(x.to(k).to(device), ends.to(device), reduce=reduce) for k in kinds])
    BOUNDS = [0] * 2
    sums = torch_scatter.segment_csr(x, ends, reduce=reduce)
    check(f"gather {reduce} {shape}", lambda device: [torch_scatter.gather_csr(sums.to(device), ends.to(device)), torch_scatter.gather_coo(sums.to(device), index.to(device))])

x, index = torch.randn(5000, 16), torch.randint(0, 300, (5000,))
BOUNDS = [1e-4]
for name in ("scatter_softmax", "scatter_log_softmax", "scatter_logsumexp", "scatter_std"):
    check(name, lambda device: [getattr(torch_scatter, name)(x.to(device), index.to(device), dim=0)])

for way, strength, shape in itertools.product(("l2", "kl"), (0.1, 1.0, 10.0), ((4, 17), (1, 300), (33, 64))):
    x = torch.randn(shape, dtype=torch.float64)
    BOUNDS = [2e-3] * 2 + [1e-8] * 2
    for f in (torchsort.soft_rank, torchsort.soft_sort):
        slope = torch.linspace(0, 1, x.numel(), dtype=torch.float64).view(shape)
        check(f"{f.__name__} {way} {strength} {shape}",
              lambda device: [r for k in (torch.float32, torch.float64)
                              for r in with_gradient(lambda t: f(t, regularization=way, regularization_strength=strength), x.to(k), device, slope.to(k))])
sys.exit(bad)
