#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains licences.gguf, a small llama-architecture model, on the processor.

  train.py [-s STEPS] [-c CHECKPOINT] [-x] OUT.gguf      -x: only write the checkpoint out as a model

Needs Debian's python3-torch; with libopenblas0-pthread it is some sixty times faster than with the reference BLAS.
Every step takes pieces of the text, each behind a <s>, as a prompt is when the model is used; they are short
at first, which is cheaper. The state is saved every 50 steps and taken up again. Same versions, same
processor kind: same model.
"""
import argparse
import math
import os
import time

import numpy
import torch
import torch.nn.functional as F

import gguf
import text

VOCAB, DIM, LAYERS, HEADS, KV_HEADS, HEAD, FFN = 1024, 192, 4, 3, 1, 64, 512
CONTEXT, TOKENS = 512, 2048             # a step reads TOKENS, in pieces of at most CONTEXT
ADAM_RATE, MATRIX_RATE, WARM_UP = 4e-3, 0.02, 20
ROPE_BASE, EPSILON = 10000.0, 1e-5


def rope_table(n):
    """llama turns neighbouring pairs (2i, 2i+1) of a head by position * base^(-2i/HEAD)."""
    a = torch.arange(n)[:, None] * ROPE_BASE ** (-torch.arange(0, HEAD, 2) / HEAD)[None, :]
    return torch.cos(a), torch.sin(a)


def rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


class Model:
    """The weights by their GGUF names; one set of them is the embedding and the output."""

    def __init__(self, seed=1):
        g = torch.Generator().manual_seed(seed)

        def matrix(rows, columns, scale=1.0):
            return torch.randn(rows, columns, generator=g) * scale / math.sqrt(columns)

        deep = 1 / math.sqrt(2 * LAYERS)        # what adds to the residual stream starts small
        self.w = {"token_embd.weight": torch.randn(VOCAB, DIM, generator=g) * 0.05,
                  "output_norm.weight": torch.ones(DIM)}
        for i in range(LAYERS):
            b = f"blk.{i}."
            self.w[b + "attn_norm.weight"] = torch.ones(DIM)
            self.w[b + "ffn_norm.weight"] = torch.ones(DIM)
            self.w[b + "attn_q.weight"] = matrix(HEADS * HEAD, DIM)
            self.w[b + "attn_k.weight"] = matrix(KV_HEADS * HEAD, DIM)
            self.w[b + "attn_v.weight"] = matrix(KV_HEADS * HEAD, DIM)
            self.w[b + "attn_output.weight"] = matrix(DIM, HEADS * HEAD, deep)
            self.w[b + "ffn_gate.weight"] = matrix(FFN, DIM)
            self.w[b + "ffn_up.weight"] = matrix(FFN, DIM)
            self.w[b + "ffn_down.weight"] = matrix(DIM, FFN, deep)
        self.cos, self.sin = rope_table(CONTEXT)

    def norm(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * self.w[name]

    def __call__(self, tokens):
        b, n = tokens.shape
        cos, sin = self.cos[:n], self.sin[:n]
        later = torch.full((n, n), -math.inf).triu(1)
        x = F.embedding(tokens, self.w["token_embd.weight"])
        for i in range(LAYERS):
            p = f"blk.{i}."
            y = self.norm(x, p + "attn_norm.weight")
            q = F.linear(y, self.w[p + "attn_q.weight"]).view(b, n, HEADS, HEAD).transpose(1, 2)
            k = F.linear(y, self.w[p + "attn_k.weight"]).view(b, n, KV_HEADS, HEAD).transpose(1, 2)
            v = F.linear(y, self.w[p + "attn_v.weight"]).view(b, n, KV_HEADS, HEAD).transpose(1, 2)
            q, k = rope(q, cos, sin), rope(k, cos, sin)
            k, v = (t.repeat_interleave(HEADS // KV_HEADS, dim=1) for t in (k, v))
            a = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(HEAD) + later, -1)
            x = x + F.linear((a @ v).transpose(1, 2).reshape(b, n, -1), self.w[p + "attn_output.weight"])
            y = self.norm(x, p + "ffn_norm.weight")
            y = F.silu(F.linear(y, self.w[p + "ffn_gate.weight"])) * F.linear(y, self.w[p + "ffn_up.weight"])
            x = x + F.linear(y, self.w[p + "ffn_down.weight"])
        return F.linear(self.norm(x, "output_norm.weight"), self.w["token_embd.weight"])


def export(path, model, tokenizer, kind=gguf.Q8_0):
    k, s = gguf.key, gguf.STRING
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + tokenizer.words
    types = [2, 3, 3] + [6] * 256 + [1] * len(tokenizer.words)         # unknown, control, byte, normal
    keys = [
        k("general.architecture", s, "llama"), k("general.name", s, "vgpu licences"),
        k("general.file_type", gguf.U32, 7 if kind == gguf.Q8_0 else 1), k("general.quantization_version", gguf.U32, 2),
        k("llama.block_count", gguf.U32, LAYERS), k("llama.context_length", gguf.U32, CONTEXT),
        k("llama.embedding_length", gguf.U32, DIM), k("llama.feed_forward_length", gguf.U32, FFN),
        k("llama.attention.head_count", gguf.U32, HEADS), k("llama.attention.head_count_kv", gguf.U32, KV_HEADS),
        k("llama.attention.layer_norm_rms_epsilon", gguf.FLOAT, EPSILON),
        k("llama.rope.dimension_count", gguf.U32, HEAD), k("llama.rope.freq_base", gguf.FLOAT, ROPE_BASE),
        k("llama.vocab_size", gguf.U32, VOCAB),
        k("tokenizer.ggml.model", s, "llama"), k("tokenizer.ggml.tokens", s, names),
        k("tokenizer.ggml.scores", gguf.FLOAT, tokenizer.scores()), k("tokenizer.ggml.token_type", gguf.I32, types),
        k("tokenizer.ggml.bos_token_id", gguf.U32, text.BOS), k("tokenizer.ggml.eos_token_id", gguf.U32, text.EOS),
        k("tokenizer.ggml.unknown_token_id", gguf.U32, text.UNK),
    ]
    gguf.write(path, keys, [(n, t.detach().numpy()) for n, t in model.w.items()], kind)


class Orthogonal:
    """The optimizer of the inner matrices ("Muon"): momentum, made near orthogonal by a Newton-Schulz iteration,
    so that every direction of a matrix moves equally far. Needs about half the steps of Adam here."""

    def __init__(self, weights):
        self.weights = weights
        self.momentum = [torch.zeros_like(w) for w in weights]

    @torch.no_grad()
    def step(self, rate):
        for w, m in zip(self.weights, self.momentum):
            m.mul_(0.95).add_(w.grad)
            x = w.grad + 0.95 * m
            tall = x.shape[0] > x.shape[1]
            x = x.T if tall else x
            x = x / (x.norm() + 1e-7)
            for _ in range(5):
                y = x @ x.T
                x = 3.4445 * x + (-4.7750 * y + 2.0315 * y @ y) @ x
            x = x.T if tall else x
            w.mul_(1 - 0.05 * rate).sub_(x, alpha=rate * math.sqrt(max(1, w.shape[0] / w.shape[1])) * 0.5)


def batch(stream, starts, length, rng):
    at = rng.choice(starts, TOKENS // length)
    piece = numpy.stack([numpy.concatenate(([text.BOS], stream[i:i + length])) for i in at])
    return torch.from_numpy(piece[:, :-1]), torch.from_numpy(piece[:, 1:])


def train(model, tokenizer, docs, steps, checkpoint):
    ids = [t for d in docs for t in tokenizer.encode(d) + [text.EOS]]
    stream = numpy.array(ids, numpy.int64)
    # where a word begins
    first = numpy.array([t >= text.FIRST_WORD and tokenizer.words[t - text.FIRST_WORD][0] == text.BLANK for t in ids])
    starts = numpy.flatnonzero(first[:len(ids) - CONTEXT])
    for t in model.w.values():
        t.requires_grad_(True)
    inner = Orthogonal([t for n, t in model.w.items() if t.ndim == 2 and n.startswith("blk.")])
    adam = torch.optim.Adam([t for n, t in model.w.items() if t.ndim == 1 or not n.startswith("blk.")], betas=(0.9, 0.95))
    done = 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        done, inner.momentum = state["step"], state["inner"]
        adam.load_state_dict(state["adam"])
        with torch.no_grad():
            for n, t in model.w.items():
                t.copy_(state["w"][n])
    mean, began = None, time.process_time()
    print(f"{len(ids)} tokens, {sum(t.numel() for t in model.w.values())} weights, from step {done}", flush=True)
    for step in range(done, steps):
        rate = min(1, (step + 1) / WARM_UP, 0.02 + 2 * (1 - step / steps))      # the second half goes down
        length = 128 if step < steps // 4 else 256 if step < steps * 2 // 3 else CONTEXT
        x, y = batch(stream, starts, length, numpy.random.default_rng(step))
        loss = F.cross_entropy(model(x).view(-1, VOCAB), y.reshape(-1))
        adam.zero_grad()
        for t in inner.weights:
            t.grad = None
        loss.backward()
        adam.param_groups[0]["lr"] = ADAM_RATE * rate
        adam.step()
        inner.step(MATRIX_RATE * rate)
        mean = loss.item() if mean is None else 0.9 * mean + 0.1 * loss.item()
        if step % 20 == 19:
            print(f"step {step + 1} loss {mean:.3f} {(time.process_time() - began) / (step + 1 - done):.2f} s/step", flush=True)
        if step % 50 == 49 or step + 1 == steps:
            torch.save({"step": step + 1, "adam": adam.state_dict(), "inner": inner.momentum,
                        "w": {n: t.detach() for n, t in model.w.items()}}, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-s", "--steps", type=int, default=800)
    p.add_argument("-c", "--checkpoint", default="licences.pt")
    p.add_argument("-x", "--export", action="store_true")
    p.add_argument("out")
    a = p.parse_args()
    torch.set_num_threads(1)
    docs = text.documents()
    tokenizer = text.Tokenizer(text.train_vocab(docs, VOCAB))
    model = Model()
    if a.export:
        model.w = torch.load(a.checkpoint)["w"]
    else:
        train(model, tokenizer, docs, a.steps, a.checkpoint)
    export(a.out, model, tokenizer)


if __name__ == "__main__":
    main()
