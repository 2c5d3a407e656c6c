# SPDX-License-Identifier: MIT
"""thinc's operators by CuPy and its own kernels against its CPU's, and spaCy: a tagger, an entity recogniser and a text classifier with the
same weights on both, what they say and how they learn."""
import random

import cupy
import numpy as np
import spacy
from spacy.training import Example
from thinc.api import CupyOps, NumpyOps, fix_random_seed, require_cpu, require_gpu

from check import check, end

cpu, gpu, r = NumpyOps(), CupyOps(), np.random.default_rng(1)
there = lambda a: cupy.asarray(a) if isinstance(a, np.ndarray) else a


def both(name, *arguments, near=1e-6, **named):
    got = getattr(gpu, name)(*(there(a) for a in arguments), **{k: there(v) for k, v in named.items()})
    want = getattr(cpu, name)(*arguments, **named)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        check(name, cupy.asnumpy(g), w, near)


x, lengths = r.normal(size=(50, 24)).astype("f"), np.array([5, 1, 20, 24], "i")
for name in "relu gelu mish swish hard_swish hard_swish_mobilenet hard_sigmoid hard_tanh dish clipped_linear gelu_approx sigmoid softmax".split():
    both(name, x.copy())
for name in "relu gelu dish hard_swish gelu_approx clipped_linear hard_sigmoid hard_tanh mish".split():
    both("backprop_" + name, x, x)
for name in ("sum", "mean", "max", "first", "last"):
    both("reduce_" + name, x, lengths)
both("backprop_reduce_sum", x[:4], lengths)
both("backprop_reduce_mean", x[:4], lengths)
both("maxout", r.normal(size=(40, 8, 3)).astype("f"))
both("backprop_maxout", *cpu.maxout(r.normal(size=(40, 8, 3)).astype("f")), 3)
both("seq2col", x, 2, lengths=lengths)
both("backprop_seq2col", r.normal(size=(50, 72)).astype("f"), 1)
both("hash", r.integers(0, 2**63, 100).astype("u8"), 3)
both("gemm", x, x.T.copy())
both("adam", *(r.random(300).astype("f") for _ in range(4)), 0.9, 0.99, 1e-8, 0.01)

data = [("I like London and Berlin.", [(7, 13, "LOC"), (18, 24, "LOC")], "NVNCNP", 1.0), ("Who is Anna Smith?", [(7, 17, "PER")], "NVNNP", 0.0), ("She saw Paris.", [(8, 13, "LOC")], "NVNP", 1.0)]
losses, said, weights = {}, {}, None
for where in (require_cpu, require_gpu):
    where()
    fix_random_seed(1)
    random.seed(1)
    nlp = spacy.blank("en")
    for pipe in ("tagger", "ner", "textcat"):
        nlp.add_pipe(pipe)
    examples = [Example.from_dict(nlp.make_doc(t), {"entities": e, "tags": list(g), "cats": {"A": c, "B": 1 - c}}) for t, e, g, c in data]
    nlp.initialize(lambda: examples)
    # drawn by another generator on each: the CPU's for both
    weights = weights or nlp.to_bytes()
    nlp.from_bytes(weights)
    optimizer, losses[where] = nlp.create_optimizer(), []
    for _ in range(8):
        loss = {}
        nlp.update(examples, sgd=optimizer, losses=loss, drop=0.0)
        losses[where].append([float(loss[p]) for p in ("tagger", "ner", "textcat")])
    doc = nlp("I like London and Berlin.")
    said[where] = [(e.text, e.label_) for e in doc.ents], [t.tag_ for t in doc], round(doc.cats["A"], 2)
got, want = np.array(losses[require_gpu]), np.array(losses[require_cpu])
check("losses of eight steps", got[:, [0, 2]], want[:, [0, 2]], 1e-4)
# where a step is as good as another, the CPU's parser, which is in C, takes another one
check("losses of the recogniser", got[:, 1], want[:, 1], 5e-2)
check("entities, tags, class", said[require_gpu] == said[require_cpu], True)
end()
