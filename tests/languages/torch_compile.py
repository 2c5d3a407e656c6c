# SPDX-License-Identifier: MIT
"""torch.compile with Triton (vgpu run --torch) against the CPU: an MLP, a transformer and a convolutional network, forwards, backwards,
three optimiser steps with their losses; scaled_dot_product_attention, eager and compiled."""
import copy
import os
import sys
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
bad = 0
torch.manual_seed(5)


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 32), torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


class Transformer(torch.nn.Module):
    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.qkv, self.out = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)

    def forward(self, x):
        s, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(s, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5).softmax(-1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(s, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class CNN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4 * 25, 4)

    def forward(self, x):
        return self.out(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1))


def check(name, got, want, tol):
    global bad
    err = ((got.detach().cpu().double() - want.detach().double()).abs().max() / want.detach().double().abs().max()).item()
    print("ok" if err <= tol else "FAIL", name, f"{err:.1e}")
    bad |= not err <= tol
    sys.stdout.flush()


def flat(tensors):
    return torch.cat([t.detach().flatten().cpu() for t in tensors])


for name, model, x, y in (("MLP", MLP(), torch.randn(8, 16), torch.randn(8, 4)), ("transformer", Transformer(), torch.randn(2, 10, 32), torch.randn(2, 10, 32)),
                         ("CNN", CNN(), torch.randn(4, 1, 12, 12), torch.randn(4, 4))):
    try:
        there, here = copy.deepcopy(model).cuda(), model
        X, Y = x.cuda(), y.cuda()
        run = torch.compile(there)
        check(f"{name} forwards", run(X), here(x), 1e-5)
        for make in (lambda p: torch.optim.SGD(p, lr=0.05), lambda p: torch.optim.Adam(p, lr=1e-3, eps=1e-5)):
            # eps: a bias of keys has no gradient but rounding, which Adam would make steps of
            o, p = make(there.parameters()), make(here.parameters())
            losses = {there: [], here: []}
            for step in range(3):
                for m, opt, f, a, b in ((there, o, run, X, Y), (here, p, here, x, y)):
                    opt.zero_grad()
                    loss = ((f(a) - b) ** 2).mean()
                    loss.backward()
                    losses[m].append(loss.detach())
                if step == 0:
                    check(f"{name}, {type(o).__name__}: gradients", flat(q.grad for q in there.parameters()), flat(q.grad for q in here.parameters()), 1e-4)
                o.step()
                p.step()
            check(f"{name}, 3 steps of {type(o).__name__}", flat(there.parameters()), flat(here.parameters()), 1e-4)
            check(f"{name}, {type(o).__name__}: losses", torch.stack([t.cpu() for t in losses[there]]), torch.stack(losses[here]), 1e-4)
    except Exception as e:
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[:300])


def attention(q, k, v, mask, causal):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


for name, mask, causal in (("attention", None, False), ("causal attention", None, True), ("masked attention", torch.rand(16, 16) > 0.5, False)):
    mask = None if mask is None else mask | torch.eye(16).bool()
    here = [torch.randn(2, 4, 16, 8).requires_grad_() for _ in range(3)]
    want = attention(*here, mask, causal)
    want.square().sum().backward()
    for way, f in (("eager", attention), ("compiled", torch.compile(attention))):
        try:
            there = [t.detach().cuda().requires_grad_() for t in here]
            got = f(*there, None if mask is None else mask.cuda(), causal)
            got.square().sum().backward()
            check(f"{name}, {way}", got, want, 1e-5)
            check(f"{name}, {way}: gradients", flat(t.grad for t in there), flat(t.grad for t in here), 1e-4)
        except Exception as e:
            bad = 1
            print("FAIL", name, way, " ".join(str(e).split())[:300])
sys.exit(bad)
