# SPDX-License-Identifier: MIT
"""NVIDIA Warp, whose library carries a stripped cudart and a compiler that is newer than our driver says it is (sitecustomize.py), against its own CPU
back end and numpy, and some of its own tests."""
import importlib
import unittest

import numpy as np
import warp as wp

from check import check, end

wp.config.quiet = True
wp.init()


@wp.kernel
def waves(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.sin(x[i]) * 2.0 + wp.noise(wp.rand_init(7, i), x[i])


@wp.kernel
def fall(place: wp.array(dtype=wp.vec3), speed: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    i = wp.tid()
    v = speed[i] + wp.vec3(0.0, -9.81, 0.0) * 0.01
    q = wp.quat_from_axis_angle(wp.normalize(v), 0.1)
    place[i] = wp.quat_rotate(q, place[i] + v * 0.01)
    speed[i] = v
    wp.atomic_add(total, 0, wp.length(v))


r = np.random.default_rng(2)
n = 5000
x, places, speeds = r.uniform(-3, 3, n).astype(np.float32), r.normal(size=(n, 3)).astype(np.float32), r.normal(size=(n, 3)).astype(np.float32)
got = {}
for device in ("cpu", "cuda"):
    a, out = wp.array(x, dtype=float, device=device), wp.zeros(n, dtype=float, device=device)
    p, v, total = wp.array(places, dtype=wp.vec3, device=device), wp.array(speeds, dtype=wp.vec3, device=device), wp.zeros(1, dtype=float, device=device)
    wp.launch(waves, n, inputs=[a, out], device=device)
    for _ in range(10):
        wp.launch(fall, n, inputs=[p, v, total], device=device)
    keys, values = wp.array(np.resize(r.permutation(n), 2 * n).astype(np.int32), dtype=int, device=device), wp.array(np.arange(2 * n, dtype=np.int32), dtype=int, device=device)
    got[device] = out.numpy(), p.numpy(), total.numpy()
    if device == "cuda":
        wp.utils.radix_sort_pairs(keys, values, n)
        check("sort", keys.numpy()[:n], np.arange(n, dtype=np.int32))
        check("scan", (wp.utils.array_scan(a, out, True), out.numpy())[1], np.cumsum(x.astype(np.float64)), 1e-4)
for k, name in enumerate(("waves", "places", "sum of atomics")):
    check(name, got["cuda"][k], got["cpu"][k], 1e-4)
with wp.ScopedCapture(device="cuda") as capture:
    wp.launch(fall, n, inputs=[p, v, total], device="cuda")
wp.capture_launch(capture.graph)
wp.launch(fall, n, inputs=[p.to("cpu"), v.to("cpu"), total.to("cpu")], device="cpu")
wp.synchronize()
check("a graph", np.isfinite(p.numpy()).all(), True)

for name in ("test_bool", "test_conditional", "test_dense", "test_rounding", "test_struct"):
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("warp.tests." + name))
    result = unittest.TextTestRunner(stream=open("/dev/null", "w")).run(suite)
    check(f"its own {name}, {result.testsRun}: {[str(t[0]) for t in result.failures + result.errors]}", len(result.failures + result.errors), 0)
end()
