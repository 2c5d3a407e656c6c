# SPDX-License-Identifier: MIT
"""CuPy where its wheel's CUB has no PTX for the device: sums, extremes and scans are its own kernels', not what lay in memory; sorts refuse."""
import sys
import cupy
import numpy

bad = False
a = numpy.random.default_rng(1).standard_normal((200, 300)).astype("f")
x = cupy.asarray(a)
for name in ("sum", "max", "min", "argmax", "argmin", "mean", "std", "amax", "count_nonzero"):
    for axis in (None, 0, 1):
        got, want = getattr(cupy, name)(x, axis=axis), getattr(numpy, name)(a.astype("d"), axis=axis)
        wrong = not numpy.allclose(cupy.asnumpy(got), want, rtol=1e-4, atol=1e-4)
        bad |= wrong
        print("FAIL" if wrong else "ok", f"{name}/{axis}")
for name in ("cumsum", "cumprod"):
    wrong = not numpy.allclose(cupy.asnumpy(getattr(cupy, name)(x[0] * 0 + 1)), getattr(numpy, name)(a[0] * 0 + 1))
    bad |= wrong
    print("FAIL" if wrong else "ok", name)
try:
    cupy.sort(x.ravel())
    print("FAIL sort says nothing")
    bad = True
except RuntimeError as e:
    print("ok" if "NoKernelImage" in str(e) else "FAIL", "sort")
sys.exit(bad)
