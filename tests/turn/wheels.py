# SPDX-License-Identifier: MIT
"""wheels.py PART: what a wheel computes on the device, against numpy or its own CPU path. Prints ok and FAIL lines."""
import sys
import numpy as np

bad = 0


def check(name, got, want, tol=1e-5):
    global bad
    try:
        got, want = np.asarray(got()), np.asarray(want())
        right = got.shape == want.shape and np.allclose(got, want, rtol=tol, atol=tol)
        reason = "" if right else f" {got.ravel()[:4]} want {want.ravel()[:4]}"
    except Exception as e:
        right, reason = False, " " + repr(e)[:200]
    bad += not right
    print(("ok " if right else "FAIL ") + name + reason, flush=True)


def cupy():
    import cupy as cp
    rng = np.random.default_rng(1)
    a = rng.standard_normal(100003).astype(np.float32)
    m, n = rng.standard_normal((64, 70)).astype(np.float32), rng.standard_normal((70, 33)).astype(np.float32)
    d, get = cp.asarray(a), cp.asnumpy
    check("cupy: elementwise", lambda: get(d * 2 + 1), lambda: a * 2 + 1)
    check("cupy: sin", lambda: get(cp.sin(d)), lambda: np.sin(a))
    check("cupy: sum", lambda: get(d.sum(dtype=cp.float64)), lambda: a.sum(dtype=np.float64))
    check("cupy: sum over an axis", lambda: get(cp.asarray(m).sum(0)), lambda: m.sum(0), 1e-4)
    check("cupy: max", lambda: get(d.max()), lambda: a.max())
    check("cupy: cumsum", lambda: get(cp.cumsum(d, dtype=cp.float64)), lambda: np.cumsum(a, dtype=np.float64), 1e-4)
    check("cupy: dot", lambda: get(cp.asarray(m) @ cp.asarray(n)), lambda: m @ n, 1e-4)
    check("cupy: histogram", lambda: get(cp.histogram(d, 20, range=(-4, 4))[0]), lambda: np.histogram(a, 20, range=(-4, 4))[0])
    check("cupy: bincount", lambda: get(cp.bincount((cp.abs(d) * 3).astype(cp.int32))), lambda: np.bincount((np.abs(a) * 3).astype(np.int32)))
    check("cupy: selection", lambda: get(d[d > 0]), lambda: a[a > 0])
    x = cp.random.default_rng(5).random(200000)
    check("cupy: random", lambda: [get(x.mean()), get(x.std()), float(x.min() >= 0), float(x.max() < 1)], lambda: [.5, 12 ** -.5, 1, 1], 1e-2)
    # last: a fault takes the context with it
    check("cupy: sort", lambda: get(cp.sort(d)), lambda: np.sort(a))
    check("cupy: argsort", lambda: get(d[cp.argsort(d)]), lambda: np.sort(a))


def ctranslate2():
    import ctranslate2 as ct
    check("ctranslate2: devices", lambda: ct.get_cuda_device_count(), lambda: 1)
    check("ctranslate2: compute types", lambda: "float16" in ct.get_supported_compute_types("cuda"), lambda: True)
    a = np.arange(60, dtype=np.float32).reshape(5, 12)
    check("ctranslate2: to the device and back", lambda: np.array(ct.StorageView.from_array(a).to_device(ct.Device.cuda).to_device(ct.Device.cpu)), lambda: a)


def xgboost():
    import xgboost as xgb
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 8)).astype(np.float32)
    y = (x[:, 0] * 2 + x[:, 1] ** 2 + 0.1 * rng.standard_normal(2000)).astype(np.float32)
    error, model = {}, {}
    for device in "cpu", "cuda":
        model[device] = xgb.train({"device": device, "tree_method": "hist", "max_depth": 4}, xgb.DMatrix(x, y), 10)
        error[device] = float(np.mean((model[device].predict(xgb.DMatrix(x)) - y) ** 2))
    # The two sketch their quantiles differently, so trees differ; the fit does not. Untrained it would be 7.
    check("xgboost: trained on the device, error against the CPU's", lambda: error["cuda"], lambda: error["cpu"], 0.1)
    p = model["cuda"].predict(xgb.DMatrix(x))
    model["cuda"].set_param({"device": "cpu"})
    check("xgboost: predicted on the device and on the CPU", lambda: p, lambda: model["cuda"].predict(xgb.DMatrix(x)), 1e-5)


def both():
    import ctranslate2 as ct
    import cupy as cp
    a = np.arange(1000, dtype=np.float32)
    check("two majors in one process: CUDA 12", lambda: np.array(ct.StorageView.from_array(a).to_device(ct.Device.cuda).to_device(ct.Device.cpu)), lambda: a)
    check("two majors in one process: CUDA 13", lambda: cp.asnumpy(cp.asarray(a) * 3), lambda: a * 3)
    maps = open("/proc/self/maps").read()
    check("two majors in one process: both ours", lambda: [all(f"libcudart.so.{v}" in maps for v in (12, 13))], lambda: [True])


globals()[sys.argv[1]]()
sys.stdout.flush()
