# SPDX-License-Identifier: MIT
"""tinygrad on CUDA (by NVRTC, or by its PTX renderer where CUDA_PTX is set) against numpy; a training step against its gradient."""
import os
import sys
os.environ["CUDA"] = "1"
import numpy as np
from tinygrad import Tensor, Device, dtypes

bad = 0
rng = np.random.default_rng(5)
x, y = rng.standard_normal((65, 70)).astype(np.float32), rng.standard_normal((65, 70)).astype(np.float32)
p = np.abs(x) + np.float32(0.1)
w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
img = rng.standard_normal((2, 3, 12, 12)).astype(np.float32)


def conv():
    win = np.lib.stride_tricks.sliding_window_view(img, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", win, w)


def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def gradient():
    t = Tensor(x, requires_grad=True)
    (t * t * Tensor(y)).sum().backward()
    return t.grad


T = Tensor
CASES = {
    "add": (lambda: T(x) + T(y), x + y, 0), "where": (lambda: (T(x) > 0).where(T(x), T(y)), np.where(x > 0, x, y), 0),
    "exp": (lambda: T(x).exp(), np.exp(x), 1e-4), "log": (lambda: T(p).log(), np.log(p), 1e-5), "sin": (lambda: T(x).sin(), np.sin(x), 1e-5),
    "sqrt": (lambda: T(p).sqrt(), np.sqrt(p), 1e-5), "sum": (lambda: T(x).sum(), x.sum(dtype=np.float64), 1e-3),
    "sum_rows": (lambda: T(x).sum(1), x.sum(1), 1e-4), "max": (lambda: T(x).max(0), x.max(0), 0), "argmax": (lambda: T(x).argmax(1), x.argmax(1), 0),
    "cumsum": (lambda: T(x).cumsum(1), x.cumsum(1), 1e-4), "softmax": (lambda: T(x).softmax(1), softmax(x), 1e-6),
    "matmul": (lambda: T(x) @ T(y).T, x.astype(np.float64) @ y.T, 1e-3), "conv2d": (lambda: T(img).conv2d(T(w)), conv(), 1e-4),
    "half": (lambda: (T(x).half() + T(y).half()).float(), (x.astype(np.float16) + y.astype(np.float16)), 0),
    "int": (lambda: T(x).cast(dtypes.int32) * 3, np.trunc(x) * 3, 0), "transpose": (lambda: T(x).T.contiguous(), x.T, 0),
    "pad": (lambda: T(x).pad(((1, 2), (3, 4))), np.pad(x, ((1, 2), (3, 4))), 0), "sort": (lambda: T(x).sort(1)[0], np.sort(x, 1), 0),
    "gather": (lambda: T(x)[T([3, 1, 2])], x[[3, 1, 2]], 0), "gradient": (gradient, 2 * x * y, 1e-5),
}
if Device.DEFAULT != "CUDA":
    print("FAIL device", Device.DEFAULT)
    bad = 1
for name, (run, want, tolerance) in CASES.items():
    try:
        got = np.asarray(run().numpy(), np.float64)
        err = np.max(np.abs(got - np.asarray(want, np.float64)))
        if got.shape != np.shape(want) or not err <= tolerance:
            raise ValueError(f"off by {err}, {tolerance} allowed")
        print("ok", name)
    except Exception as e:
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[-300:])
sys.exit(bad)
