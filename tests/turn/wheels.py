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


def small_translator(where, d=64, ffn=256, heads=4, layers=2, words=120):
    """A whole encoder and decoder with weights by chance, large enough that the best word is clearly the best."""
    from ctranslate2.specs import TransformerSpec
    r = np.random.default_rng(3)

    def w(*shape, scale=None):
        return (r.standard_normal(shape) * (scale or 1.5 / shape[-1] ** .5)).astype(np.float32)

    def linear(layer, n, m):
        layer.weight, layer.bias = w(n, m), w(n, scale=.1)

    def norm(layer):
        layer.gamma, layer.beta = 1 + w(d, scale=.1), w(d, scale=.1)

    spec = TransformerSpec.from_config((layers, layers), heads, pre_norm=True)
    for side in spec.encoder, spec.decoder:
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = w(words, d, scale=1)
        side.position_encodings.encodings = w(64, d, scale=.3)
        norm(side.layer_norm)
        for layer in side.layer:
            norm(layer.self_attention.layer_norm)
            linear(layer.self_attention.linear[0], 3 * d, d)
            linear(layer.self_attention.linear[1], d, d)
            if side is spec.decoder:
                norm(layer.attention.layer_norm)
                for part, n in zip(layer.attention.linear, (d, 2 * d, d)):
                    linear(part, n, d)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, ffn, d)
            linear(layer.ffn.linear_1, d, ffn)
    linear(spec.decoder.projection, words, d)
    tokens = ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(words - 3)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.save(where)


def ctranslate2():
    import ctranslate2 as ct
    import tempfile
    check("ctranslate2: devices", lambda: ct.get_cuda_device_count(), lambda: 1)
    check("ctranslate2: compute types", lambda: "float16" in ct.get_supported_compute_types("cuda"), lambda: True)
    a = np.arange(60, dtype=np.float32).reshape(5, 12)
    check("ctranslate2: to the device and back", lambda: np.array(ct.StorageView.from_array(a).to_device(ct.Device.cuda).to_device(ct.Device.cpu)), lambda: a)
    where = tempfile.mkdtemp()
    small_translator(where)
    r = np.random.default_rng(5)
    source = [[f"t{i}" for i in r.integers(0, 117, n)] for n in (5, 9, 1, 14)]
    target = [[f"t{i}" for i in r.integers(0, 117, n)] for n in (7, 4, 11, 2)]
    said = {}
    # half the precision is a thousandth and a hundred and twenty-eighth of each step; eight bits are compared with the CPU's eight
    for kind, tolerance in ("float32", 1e-5), ("float16", 5e-3), ("bfloat16", 5e-2), ("int8_float32", 2e-3):
        try:
            for device in "cpu", "cuda":
                compute = kind if device == "cuda" or kind.startswith("int8") else "float32"
                t = ct.Translator(where, device=device, compute_type=compute)
                said[device] = (t.translate_batch(source, beam_size=1, max_decoding_length=20, return_scores=True),
                                t.translate_batch(source, beam_size=4, num_hypotheses=2, max_decoding_length=20, return_scores=True),
                                t.score_batch(source, target))
        except RuntimeError as e:
            check(f"ctranslate2: {kind}: {e}", lambda: 0, lambda: 1)
            continue
        if kind == "float32":
            for i, how in enumerate(("greedy", "beams")):
                check(f"ctranslate2: translation, {how}: the CPU's words", lambda: [x.hypotheses == y.hypotheses for x, y in zip(said["cuda"][i], said["cpu"][i])],
                      lambda: [True] * len(source))
                check(f"ctranslate2: translation, {how}: scores", lambda: [x.scores for x in said["cuda"][i]], lambda: [x.scores for x in said["cpu"][i]], tolerance)
        # another rounding may choose another word, and all words behind it; a given text's words have scores of their own
        check(f"ctranslate2: {kind}: scores of a given text", lambda: np.concatenate([x.log_probs for x in said["cuda"][2]]),
              lambda: np.concatenate([x.log_probs for x in said["cpu"][2]]), tolerance)


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
    # classes, values that are missing, weights
    x[rng.random(x.shape) < .2] = np.nan
    kind, weight = (y > 1).astype(np.float32), rng.random(2000).astype(np.float32)
    for device in "cpu", "cuda":
        model[device] = xgb.train({"device": device, "tree_method": "hist", "max_depth": 4, "objective": "binary:logistic"}, xgb.DMatrix(x, kind, weight=weight), 10)
        error[device] = float(np.mean((model[device].predict(xgb.DMatrix(x)) > .5) != kind))
    check("xgboost: classes, missing values, weights: error against the CPU's", lambda: error["cuda"], lambda: error["cpu"], 0.02)


def catboost():
    from catboost import CatBoostRegressor
    from catboost.utils import get_gpu_device_count
    check("catboost: devices", get_gpu_device_count, lambda: 1)
    rng = np.random.default_rng(0)
    x = rng.random((2000, 8)).astype(np.float32)
    y = (np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(2000)).astype(np.float32)
    error = {}
    for kind in "CPU", "GPU":
        m = CatBoostRegressor(iterations=20, depth=4, learning_rate=0.2, task_type=kind, devices="0", random_seed=1, verbose=False,
                              bootstrap_type="No", boosting_type="Plain", border_count=32, allow_writing_files=False)
        error[kind] = float(np.sqrt(np.mean((m.fit(x, y).predict(x) - y) ** 2)))
    # The two build their trees differently. The noise alone is 0.1, untrained it would be 0.4.
    check("catboost: trained on the device, error against the CPU's", lambda: error["GPU"], lambda: error["CPU"], 0.1)


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
