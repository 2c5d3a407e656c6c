# SPDX-License-Identifier: MIT
"""What NVIDIA's other libraries compute for torch: cuDNN, cuFFT, cuSOLVER, cuSPARSE, cuRAND's host side, the profiler. They are not ours, and are
not counted: "ok" or "no" a line. Called by python.sh."""
import faulthandler
import sys

import torch
import torch.nn.functional as F

faulthandler.enable()
dev = torch.device("cuda")
torch.manual_seed(0)


def near(got, want, tol=1e-3):
    off = ((got.cpu() - want).abs().max() / want.abs().max()).item()
    assert off <= tol, f"off by {off:.2g}"


def fft():
    a = torch.randn(16, 1000)
    near(torch.fft.fft(a.to(dev)), torch.fft.fft(a))
    near(torch.fft.irfft(torch.fft.rfft(a.to(dev))), a)


def cudnn():
    a, w = torch.randn(4, 8, 32, 32), torch.randn(16, 8, 3, 3)
    print("cudnn", torch.backends.cudnn.version())
    near(F.conv2d(a.to(dev), w.to(dev), padding=1), F.conv2d(a, w, padding=1), 1e-2)


def cudnn_half():
    a, w = torch.randn(4, 8, 32, 32), torch.randn(16, 8, 3, 3)
    near(F.conv2d(a.to(dev).half(), w.to(dev).half(), padding=1).float(), F.conv2d(a, w, padding=1), 1e-2)


def linalg():
    a = torch.randn(40, 40) + 10 * torch.eye(40)
    b = torch.randn(40, 3)
    near(torch.linalg.solve(a.to(dev), b.to(dev)), torch.linalg.solve(a, b))
    near(torch.linalg.cholesky((a @ a.T).to(dev)), torch.linalg.cholesky(a @ a.T))
    near(torch.linalg.svdvals(a.to(dev)), torch.linalg.svdvals(a))


def sparse():
    a = torch.randn(50, 40).relu()
    near(a.to(dev).to_sparse_csr() @ torch.ones(40, 3, device=dev), a @ torch.ones(40, 3))


def profiler():
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        (torch.ones(1000, device=dev) + 1).sum().item()
    assert any(e.device_time > 0 for e in p.key_averages())


for name in sys.argv[1:] or ["fft", "sparse", "linalg", "cudnn", "cudnn_half", "profiler"]:
    try:
        globals()[name]()
        torch.cuda.synchronize()
        print("ok", name)
    except Exception as e:
        print("no", name, type(e).__name__, " ".join(str(e).split())[:300])
    sys.stdout.flush()
