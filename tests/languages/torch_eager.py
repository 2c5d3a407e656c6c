# SPDX-License-Identifier: MIT
"""Eager PyTorch by FlagGems (vgpu run --torch) against the CPU: operators, a small GPT, training by SGD and Adam. ok and FAIL lines."""
import copy
import io
import sys
import torch
import torch.nn.functional as F

bad = 0
torch.manual_seed(5)


def check(name, got, want, tol=2e-5):
    global bad
    try:
        got = got() if callable(got) else got
        got, want = torch.as_tensor(got).detach().cpu(), torch.as_tensor(want).detach()
        assert got.shape == want.shape, f"shape {tuple(got.shape)}, not {tuple(want.shape)}"
        if want.is_floating_point():
            err = ((got.double() - want.double()).abs().max() / (want.double().abs().max() + 1e-30)).item()
            assert err <= tol, f"off by {err:.2g}"
        else:
            assert torch.equal(got, want), "differs"
        print("ok", name)
    except Exception as e:      # the next case may still be right
        bad = 1
        print("FAIL", name, " ".join(str(e).split())[:200])
    sys.stdout.flush()


# The start: what is not needed for a first result is not imported, and Triton's cache has the name that Triton gives it
first = (torch.ones(4, device="cuda") + 1).sum() + torch.arange(3, device="cuda").sum()
check("first result", first, torch.tensor(11.0))
from triton.runtime import cache    # noqa: E402
# (2.15 has them from its own libraries)
if torch.__version__.startswith("2.9."):
    check("start without sympy or a database", torch.tensor([name in sys.modules for name in ("sympy", "sqlalchemy")]), torch.tensor([False, False]))
check("name of Triton's cache", torch.tensor(cache.triton_key() == cache.triton_key.whole()), torch.tensor(True))
PAIRS = [(torch.int32, 2), (torch.int32, 2.5), (torch.bool, True), (torch.bool, 1), (torch.float16, 3.5), (torch.int64, True), (torch.bfloat16, 7)]
check("types of results", torch.tensor([(torch.ones(2, dtype=t, device="cuda") + v).dtype == (torch.ones(2, dtype=t) + v).dtype for t, v in PAIRS]),
      torch.ones(len(PAIRS), dtype=torch.bool))



def rounded(f, *values):
    """Whether f of halves, each below 16, is off by more than one rounding."""
    halves = [v.bfloat16() for v in values]
    return torch.tensor([(f(*halves).cpu().double() - f(*(h.cpu().double() for h in halves))).abs().max() > 0.035])


x, y, w, b = torch.randn(24, 40), torch.randn(24, 40), torch.randn(30, 40), torch.randn(30)
n = torch.randint(0, 50, (77,))
X, Y, W, B, N = (t.cuda() for t in (x, y, w, b, n))
CASES = {
    "add": lambda x, y, w, b, n: x + y * 2 + 1, "compare": lambda x, y, w, b, n: x > y, "where": lambda x, y, w, b, n: torch.where(x > 0, x, y),
    "exp": lambda x, y, w, b, n: x.exp(), "tanh": lambda x, y, w, b, n: x.tanh(), "sqrt": lambda x, y, w, b, n: x.abs().sqrt(),
    "pow": lambda x, y, w, b, n: x.pow(2), "div": lambda x, y, w, b, n: x / (y.abs() + 1), "neg": lambda x, y, w, b, n: -x,
    "sum": lambda x, y, w, b, n: x.sum(), "sum of rows": lambda x, y, w, b, n: x.sum(1), "mean": lambda x, y, w, b, n: x.mean(),
    "max": lambda x, y, w, b, n: x.max(), "argmax": lambda x, y, w, b, n: x.argmax(1), "softmax": lambda x, y, w, b, n: x.softmax(-1),
    "log_softmax": lambda x, y, w, b, n: x.log_softmax(-1), "layer_norm": lambda x, y, w, b, n: F.layer_norm(x, (40,)),
    "gelu": lambda x, y, w, b, n: F.gelu(x), "relu": lambda x, y, w, b, n: F.relu(x), "silu": lambda x, y, w, b, n: F.silu(x),
    "mm": lambda x, y, w, b, n: x @ y.T, "linear with bias": lambda x, y, w, b, n: F.linear(x, w, b), "cat": lambda x, y, w, b, n: torch.cat([x, y]),
    "embedding": lambda x, y, w, b, n: F.embedding(n % 30, w), "cumsum": lambda x, y, w, b, n: x.cumsum(1),
    "triu": lambda x, y, w, b, n: x.triu(), "masked_fill": lambda x, y, w, b, n: x.masked_fill(x > 0, -1.0),
    "index_select": lambda x, y, w, b, n: x.index_select(0, n % 24), "gather": lambda x, y, w, b, n: x.gather(1, (n[:24] % 40).reshape(24, 1)),
    "contiguous": lambda x, y, w, b, n: x.t().contiguous(), "to float64": lambda x, y, w, b, n: x.double(), "to half": lambda x, y, w, b, n: x.half().float(),
    "cross_entropy": lambda x, y, w, b, n: F.cross_entropy(x, n[:24] % 40), "mse_loss": lambda x, y, w, b, n: F.mse_loss(x, y),
    "arange": lambda x, y, w, b, n: torch.arange(9, device=x.device), "zeros": lambda x, y, w, b, n: torch.zeros(5, device=x.device),
    "topk": lambda x, y, w, b, n: x.topk(3)[0], "topk of -inf": lambda x, y, w, b, n: x.masked_fill(x < 2, -float("inf")).topk(3)[1] < 40,
    "topk of NaN": lambda x, y, w, b, n: (x / (x > 0)).topk(2)[0].isnan(), "topk of integers": lambda x, y, w, b, n: torch.stack([n, -n]).topk(5)[0],
    "addmv of integers by fractions": lambda x, y, w, b, n: torch.addmv(n[:7], n[:70].reshape(7, 10), n[:10], beta=0.2, alpha=1.6),
    # of a layer that keeps no statistics; and its input is what it was
    "batch_norm": lambda x, y, w, b, n: torch.cat([F.batch_norm(x[:, :, None], None, None, training=True).flatten(), x.flatten()]),
    "instance_norm": lambda x, y, w, b, n: torch.cat([F.instance_norm(x.reshape(2, 3, 160)).flatten(), x.flatten()]),
    "sort": lambda x, y, w, b, n: x.sort(1)[0], "norm": lambda x, y, w, b, n: torch.linalg.vector_norm(x),
    # what is added is no bias of one row that cuBLAS takes with the product
    "linear of one output": lambda x, y, w, b, n: F.linear(x, w[:1], b[:1]), "bias with a stride": lambda x, y, w, b, n: F.linear(x, w, w[:, 0]),
    "addmm": lambda x, y, w, b, n: torch.addmm(y[:, :24], x, y.T, beta=0.5, alpha=2), "addmm_": lambda x, y, w, b, n: x[:, :24].clone().addmm_(x, y.T),
    "addmm of NaN by 0": lambda x, y, w, b, n: torch.addmm(y[:, :24] / 0 * 0, x, y.T, beta=0),
    "truths": lambda x, y, w, b, n: torch.cat([(x / 9).bool(), (x.half() / 9).bool(), (x - x).bool(), (n[:40] * 256).bool()[None], (x[:1] / 0 * 0).bool()]),
    "truths by a copy": lambda x, y, w, b, n: torch.zeros(24, 40, dtype=torch.bool, device=x.device).copy_(x / 9),
    "truths by a mask": lambda x, y, w, b, n: torch.zeros(24, 40, dtype=torch.bool, device=x.device).masked_fill(x > 0, 0.3).masked_fill_(x < -1, 256),
    "sums of small whole numbers": lambda x, y, w, b, n: torch.stack([n.to(torch.int8).sum(), (n.int() << 25).sum(), n[:70].reshape(7, 10).to(torch.uint8).sum(1).max()]),
    "products of small whole numbers": lambda x, y, w, b, n: torch.stack([n[:9].int().prod(), (n > -1).prod()]), "log of whole numbers": lambda x, y, w, b, n: (n.int() + 1).log(),
    "any of bytes": lambda x, y, w, b, n: torch.stack([n.to(torch.uint8).any(), n.to(torch.uint8).all()]),
    # by the host, of a number in a tensor's place
    "xor of a number": lambda x, y, w, b, n: torch.cat([n ^ 5, 5 ^ n.int(), (n > 9) ^ 6]), "fmod by a number": lambda x, y, w, b, n: torch.cat([x.fmod(.3), n.fmod(.3)[None, :40]]),
    "fmod_ by a number": lambda x, y, w, b, n: x.double().fmod_(.3),
    "addmm of halves": lambda x, y, w, b, n: rounded(lambda y, x, z: torch.addmm(y, x, z, beta=-0.2, alpha=0.6), y[:, :24], x, y.T),
    "baddbmm of halves": lambda x, y, w, b, n: rounded(lambda y, x, z: torch.baddbmm(y, x, z, beta=-0.2, alpha=0.6), y[None, :, :24], x[None], y.T[None]),
    "baddbmm": lambda x, y, w, b, n: torch.baddbmm(b[:24], x[None], y.T[None], beta=2),
    "attention": lambda x, y, w, b, n: F.scaled_dot_product_attention(*(t.reshape(1, 2, 24, 20) for t in (x, y, x)), is_causal=True),
}
for name, f in CASES.items():
    check(name, lambda f=f: f(X, Y, W, B, N), f(x, y, w, b, n))


def attention_gradient(x):
    q = x.detach().reshape(2, 24, 20).requires_grad_()
    return torch.autograd.grad(F.scaled_dot_product_attention(q, q, q, is_causal=True).square().sum(), q)[0]


def gradient(f, x):
    t = x.detach().clone().requires_grad_()
    return torch.autograd.grad((f(t) * 0.5).sum(), t)[0]


GRADIENTS = {
    "square": torch.square, "absolute": torch.absolute, "clip": lambda t: torch.clip(t, -0.5, 0.5), "diag": lambda t: torch.diag(t[:, :24]) * t[0, :24],
    "hstack": lambda t: torch.hstack([t, t * t]), "vstack": lambda t: torch.vstack([t, t * t]), "kron": lambda t: torch.kron(t[:3, :3], t[:2, :2]),
    "pad": lambda t: F.pad(t * t, (1, 2)), "tile": lambda t: torch.tile(t * t, (2, 1)), "var": torch.var, "var of rows": lambda t: torch.var(t, 1), "selu": F.selu,
}
# what the host computes keeps its order in memory
check("a factorisation's strides", lambda: torch.tensor(torch.linalg.lu_factor_ex(X)[0].stride()), torch.tensor(torch.linalg.lu_factor_ex(x)[0].stride()))
check("a factorisation", lambda: torch.linalg.lu_factor_ex(X)[0], torch.linalg.lu_factor_ex(x)[0])
check("a transform", lambda: torch.view_as_real(torch.fft.rfftn(X)), torch.view_as_real(torch.fft.rfftn(x)))
check("a transform's order, as torch traces it", lambda: torch.tensor(torch.ops.aten._fft_r2c(X.reshape(4, 6, 40), [0, 1, 2], 0, True).stride()),
      torch.tensor(torch.ops.aten._fft_r2c(x.reshape(4, 6, 40).to("meta"), [0, 1, 2], 0, True).stride()))
check("singular values and vectors", lambda: (lambda u, s, v: u * s @ v)(*torch.linalg.svd(X, full_matrices=False)), x)
for name, f in GRADIENTS.items():
    check(f"{name}'s gradient", lambda f=f: gradient(f, X), gradient(f, x))
check("l1_loss's gradient", lambda: gradient(lambda t: F.l1_loss(t, Y), X), gradient(lambda t: F.l1_loss(t, y), x))
# of a result that does not lie in memory as it is read
check("_safe_softmax's gradient, along another dimension", lambda: gradient(lambda t: torch.ops.aten._safe_softmax(t, 0) * Y, X),
      gradient(lambda t: torch.ops.aten._safe_softmax(t, 0) * y, x))
LAYERS = {"LayerNorm": torch.nn.LayerNorm(40), "GroupNorm": torch.nn.GroupNorm(4, 24), "Linear": torch.nn.Linear(40, 3), "Embedding": torch.nn.Embedding(50, 8)}


def of_each(layer, x):
    """The gradients of each sample by itself, by vmap of grad."""
    values = {k: p.detach() for k, p in layer.named_parameters()}

    def loss(values, x):
        return torch.func.functional_call(layer, values, (x[None],)).square().mul(0.3).cos().sum()

    return torch.cat([g.flatten(1) for g in torch.func.vmap(torch.func.grad(loss), (None, 0))(values, x).values()], 1)


for name, layer in LAYERS.items():
    many, MANY = (n[:70].reshape(7, 10), N[:70].reshape(7, 10)) if name == "Embedding" else (torch.stack([x, y]), torch.stack([X, Y]))
    check(f"gradients by sample of {name}", lambda: of_each(copy.deepcopy(layer).cuda(), MANY), of_each(layer, many))
check("attention's gradient", lambda: attention_gradient(X), attention_gradient(x), 1e-4)
check("printing", lambda: torch.tensor("3.5000" in str(torch.full((3,), 3.5, device="cuda"))), torch.tensor(True))


class Block(torch.nn.Module):
    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.qkv, self.out = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)

    def forward(self, x):
        s, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(s, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        a = a.masked_fill(torch.ones(t, t, device=x.device).triu(1) > 0, -1e9).softmax(-1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(s, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(torch.nn.Module):
    def __init__(self, words=40, d=32, length=12):
        super().__init__()
        self.word, self.place = torch.nn.Embedding(words, d), torch.nn.Embedding(length, d)
        self.blocks, self.norm = torch.nn.ModuleList(Block(d) for _ in range(2)), torch.nn.LayerNorm(d)
        self.head = torch.nn.Linear(d, words)

    def forward(self, n):
        x = self.word(n) + self.place(torch.arange(n.shape[1], device=n.device))
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


text = torch.randint(0, 40, (3, 12))
model = GPT()
there = copy.deepcopy(model).cuda()
check("GPT forwards", lambda: there(text.cuda()), model(text), 1e-4)


def train(m, text, make, steps=3):
    o = make(m.parameters())
    losses = []
    for _ in range(steps):
        o.zero_grad()
        out = m(text)
        loss = F.cross_entropy(out[:, :-1].reshape(-1, 40), text[:, 1:].reshape(-1))
        loss.backward()
        o.step()
        losses.append(loss.item())
    return torch.tensor(losses)


for name, make in (("SGD", lambda p: torch.optim.SGD(p, lr=0.1)), ("Adam", lambda p: torch.optim.Adam(p, lr=1e-3))):
    a, c = copy.deepcopy(model), copy.deepcopy(model).cuda()
    want = train(a, text, make)
    check(f"GPT, 3 steps of {name}: losses", lambda: train(c, text.cuda(), make), want, 1e-4)
    check(f"GPT, 3 steps of {name}: weights", lambda: torch.cat([p.detach().flatten().cpu() for p in c.parameters()]),
          torch.cat([p.detach().flatten() for p in a.parameters()]), 1e-3)
f = io.BytesIO()


def saved():
    torch.save(there.state_dict(), f)
    f.seek(0)
    return torch.load(f, map_location="cuda")["head.weight"]


check("save and load", saved, model.head.weight)

# Where elements lie: as torch says for tensors without any. Extensions read channels_last and transposed results by strides that they do not look at.
t, image = torch.randn(2, 3, 64, device="cuda").transpose(1, 2), torch.randn(2, 8, 5, 5, device="cuda").to(memory_format=torch.channels_last)
spread = torch.ones((), device="cuda").expand(2, 64, 3)
aten = torch.ops.aten
PLACES = {
    "add": lambda t, i, g: t + t, "number": lambda t, i, g: 1 - t, "compare": lambda t, i, g: t > 0, "where": lambda t, i, g: torch.where(t > 0, t, -t), "half": lambda t, i, g: t.half(),
    "exp": lambda t, i, g: t.exp(), "pow": lambda t, i, g: t ** 2, "clamp": lambda t, i, g: t.clamp(min=0), "gelu": lambda t, i, g: F.gelu(t), "maximum": lambda t, i, g: torch.maximum(t, t),
    "masked_fill": lambda t, i, g: t.masked_fill(t > 0, 0), "clone": lambda t, i, g: t.clone(), "zeros_like": lambda t, i, g: torch.zeros_like(t), "ones_like": lambda t, i, g: torch.ones_like(t),
    "full_like": lambda t, i, g: torch.full_like(t, 2), "rand_like": lambda t, i, g: torch.rand_like(t), "randn_like": lambda t, i, g: torch.randn_like(t), "sort": lambda t, i, g: t.sort(-1)[0],
    "cumsum": lambda t, i, g: t.cumsum(-1), "softmax": lambda t, i, g: t.softmax(-1), "layer_norm": lambda t, i, g: F.layer_norm(t, (3,)), "expanded": lambda t, i, g: g * t,
    "sigmoid's gradient": lambda t, i, g: aten.sigmoid_backward(g, t), "silu's gradient": lambda t, i, g: aten.silu_backward(g, t), "tanh's gradient": lambda t, i, g: aten.tanh_backward(g, t),
    "image": lambda t, i, g: i.relu() + i, "cat": lambda t, i, g: torch.cat([i, i], 1), "batch_norm": lambda t, i, g: F.batch_norm(i, i.new_zeros(8), i.new_ones(8)),
    "larger": lambda t, i, g: F.interpolate(i, scale_factor=2.0), "pool": lambda t, i, g: F.max_pool2d(i, 2), "mean pool": lambda t, i, g: F.avg_pool2d(i, 2),
}
for name, f in PLACES.items():
    empty = [torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device="meta") for a in (t, image, spread)]
    wanted = torch.tensor(f(*empty).stride())
    check(f"places: {name}", torch.tensor(f(t, image, spread).stride()), wanted)
    check(f"places of halves: {name}", torch.tensor(f(t.half(), image.half(), spread[0, 0, 0].half().expand(spread.shape)).stride()), wanted)
sys.exit(bad)
