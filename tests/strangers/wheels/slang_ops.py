# SPDX-License-Identifier: MIT
"""Slang (slangpy) on its CUDA device, by NVRTC, against numpy. Its library keeps the driver's functions in variables of their names."""
import pathlib
import tempfile

import numpy as np
import slangpy

from check import check, end

SOURCE = """
import slangpy;
float wave(float x, float y) { return sin(x) * y + sqrt(abs(x)); }
int steps(int x) { int n = 0; while (x != 1 && n < 1000) { x = x % 2 == 0 ? x / 2 : 3 * x + 1; n++; } return n; }
uint bits(uint x) { return countbits(x) * 100 + (reversebits(x) & 7); }
double square(double x) { return x * x; }
int64_t wide(int64_t x) { return x * 1000003 + (x >> 3); }
"""


def collatz(v):
    n = 0
    while v != 1 and n < 1000:
        v = 3 * v + 1 if v & 1 else v // 2
        n += 1
    return n


folder = tempfile.TemporaryDirectory()
pathlib.Path(folder.name, "m.slang").write_text(SOURCE)
device = slangpy.create_device(type=slangpy.DeviceType.cuda, include_paths=[folder.name])
m = slangpy.Module.load_from_file(device, "m.slang")
r = np.random.default_rng(2)
for n in (1, 77, 10000):
    x, y, k = r.uniform(-3, 3, n).astype(np.float32), r.uniform(-3, 3, n).astype(np.float32), r.integers(1, 3000, n).astype(np.int32)
    u, d, w = r.integers(0, 2 ** 32, n, dtype=np.uint32), r.normal(size=n), r.integers(-2 ** 40, 2 ** 40, n)
    check(f"floats, {n}", m.wave(x, y, _result="numpy"), np.sin(x) * y + np.sqrt(np.abs(x)), 1e-5)
    check(f"a loop, {n}", m.steps(k, _result="numpy"), np.array([collatz(int(v)) for v in k]))
    check(f"bits, {n}", m.bits(u, _result="numpy"), np.array([bin(v).count("1") * 100 + (int(f"{v:032b}"[::-1], 2) & 7) for v in u], np.uint32))
    check(f"doubles, {n}", m.square(d, _result="numpy"), d * d, 1e-15)
    check(f"64 bits, {n}", m.wide(w, _result="numpy"), w * 1000003 + (w >> 3))
end()
