# SPDX-License-Identifier: MIT
"""Every digit of PyTorch's element-wise operators under vgpu run --torch, against the CPU: over all magnitudes and pairs of them, where torch's own samples
lie about 1; whole numbers that floats have not; results that are given a place of another size or type; sums of another type.

A number is right where it is within some units of the last place of what the CPU makes of it, or of what the CPU makes of it in double precision. Subnormal
numbers are not asked: Triton's functions flush them. Usage: torch_digits.py [PART...]
"""
import sys
import warnings
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

warnings.simplefilter("ignore")
inf, nan = float("inf"), float("nan")
MAGNITUDES = [2e-38, 1e-30, 1e-20, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0, 1.01, 1.5, 2.0, 3.0, 4.0, 5.5, 7.0, 10.0, 15.0, 20.0, 30.0,
              50.0, 80.0, 88.0, 100.0, 300.0, 1e3, 1e4, 1e5, 1e7, 1e10, 1e20, 1e38]
FEW = [1e-30, 1e-9, 1e-4, 0.1, 0.5, 0.75, 1.0, 1.01, 2.0, 2.5, 3.0, 7.0, 10.0, 33.0, 100.0, 1e4, 16777216.0, 1e10, 1e20, 1e38]
ODD = [0.0, -0.0, inf, -inf, nan]
# What is left of a difference of two nearly alike, by torch's own formula.
CANCELS = {"nn.functional.gelu", "nn.functional.tanhshrink", "special.i0e", "special.i1e", "special.log_ndtr"}
RANDOM = ("dropout", "rrelu", "softm", "gumbel", "norm")
DIGITS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-9}
bad = 0


def verdict(name, wrong):
    global bad
    bad |= bool(wrong)
    print("FAIL" if wrong else "ok", name, *wrong[:4])
    sys.stdout.flush()


def function(name):
    f = torch
    for part in name.split("."):
        f = getattr(f, part, None)
    return f


def wrong_places(got, *wants):
    """Where got is none of these."""
    if got.dtype is not wants[0].dtype or got.shape != wants[0].shape:
        return torch.ones((), dtype=torch.bool)
    if not got.is_floating_point():
        return got != wants[0]
    close = [torch.isclose(got.double(), w.double(), rtol=DIGITS[got.dtype], atol=1e-36, equal_nan=True) for w in wants]
    return ~torch.stack(close).any(0)


def said(form, wrong, values, got, want):
    at = wrong.nonzero()[:1].squeeze(-1).tolist() if wrong.dim() else []
    return [f"{form}: of {[v[at[0]].item() for v in values]} {got[at[0]].item()}, not {want[at[0]].item()}"] if at else [f"{form}: {got.dtype} {tuple(got.shape)}"]


def differs(form, f, values, wide):
    """f of these on the device against f here; wide: f in double precision, or nothing."""
    try:
        want = f(*values)
        if not isinstance(want, torch.Tensor) or want.is_complex() or want.shape != values[0].shape:
            return []
        wants = [want] if wide is None else [want, wide(*[v.double() for v in values]).to(want.dtype)]
    except Exception:       # not for the CPU
        return []
    try:
        got = f(*[v.cuda() for v in values]).cpu()
    except Exception as e:
        return [f"{form}: {type(e).__name__} " + " ".join(str(e).split())[:100]]
    wrong = wrong_places(got, *wants)
    return said(form, wrong, values, got, want) if wrong.any() else []


def unary():
    v = torch.tensor([s * m for m in MAGNITUDES for s in (1, -1)] + ODD)
    right = 0
    for name in sorted({o.name for o in op_db if isinstance(o, UnaryUfuncInfo) or o.name.startswith("nn.functional.")} - CANCELS):
        f, own = function(name), getattr(torch.Tensor, name + "_", None)
        if f is None or name == "frexp" or any(r in name for r in RANDOM):
            continue
        wrong = differs("result", f, [v], f)
        wrong += differs("inplace", lambda x: f(x.clone(), inplace=True), [v], f) if name.startswith("nn.") else []
        wrong += differs("in place", lambda x: own(x.clone()), [v], f) if own else []
        wrong += differs("out", lambda x: f(x, out=torch.empty_like(x)), [v], f) if not name.startswith("nn.") else []

        def slope(x):
            x = x.detach().requires_grad_()
            return torch.autograd.grad(f(x).sum(), x)[0]
        wrong += differs("gradient", slope, [v], slope)
        right += not wrong
        if wrong:
            verdict(f"unary/{name}", wrong)
    verdict(f"unary: {right} operators", [] if right > 80 else ["too few"])


def integers(*more, kind):
    return torch.tensor(more, dtype=kind)


def pairs():
    few = torch.tensor([s * m for m in FEW for s in (1, -1)] + ODD)
    small = (0, 1, -1, 2, -2, 3, -3, 5, 7, -7, 10, 16, 31, 32, 33, 100, -100, 127, 128, 255, 256, 32767, 65536, 10 ** 6, 2 ** 24 + 1, -(2 ** 24 + 1), 2 ** 31 - 1, -2 ** 31, -2 ** 31 + 1)
    sets = [few, few.half(), few.bfloat16(), integers(*small, kind=torch.int32),
            integers(*small, 2 ** 31, 2 ** 32, 2 ** 53 + 1, -(2 ** 53 + 1), 2 ** 63 - 1, -2 ** 63, kind=torch.int64),
            integers(0, 1, 2, 3, 5, 7, 8, 100, 127, 128, 200, 254, 255, kind=torch.uint8), integers(0, 1, -1, 2, -2, 3, 5, 7, 8, 100, 127, -127, -128, kind=torch.int8),
            torch.tensor([False, True])]
    forms = {o.name: function(o.name) for o in op_db if isinstance(o, BinaryUfuncInfo)} | {"fmin": torch.fmin, "fmax": torch.fmax, "gcd": torch.gcd, "isclose": torch.isclose}
    forms |= {f"div {mode}": (lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode)) for mode in ("trunc", "floor")}
    right = 0
    for name, f in sorted(forms.items()):
        own, wrong = getattr(torch.Tensor, name + "_", None), []
        for s in sets:
            if f is None or s.dtype.is_floating_point and "shift" in name:
                continue
            a, b = (t.reshape(-1).clone() for t in torch.meshgrid(s, s, indexing="ij"))
            if not s.dtype.is_floating_point and s.dtype is not torch.bool:    # what C has no answer to
                keep = b == b
                if any(w in name for w in ("div", "mod", "remainder")):
                    keep = (b != 0) & ((b != -1) | (a != torch.iinfo(s.dtype).min))
                elif "pow" in name:
                    keep = b >= 0
                elif "shift" in name:
                    keep = (b >= 0) & (b.long() < s.element_size() * 8)
                a, b = a[keep], b[keep]
            wide = f if s.dtype.is_floating_point else None
            wrong += differs(str(s.dtype), f, [a, b], wide)
            wrong += differs(f"{s.dtype} in place", lambda x, y: own(x.clone(), y), [a, b], wide) if own else []
        right += not wrong
        if wrong:
            verdict(f"pairs/{name}", wrong)
    verdict(f"pairs: {right} operators", [] if right > 40 else ["too few"])


def outcome(f, device):
    try:
        return f(device)
    except Exception as e:
        return type(e).__name__


def alike(name, f):
    want, got = outcome(f, "cpu"), outcome(f, "cuda")
    if isinstance(want, str) or isinstance(got, str):
        return [] if want == got else [f"{name}: {got}, not {want}"]
    got = got.cpu()
    return [] if got.dtype is want.dtype and got.shape == want.shape and not wrong_places(got, want).any() else [f"{name}: {got} not {want}".replace("\n", " ")]


def whole():
    """Whole numbers above 2 ** 24, and above 2 ** 53."""
    i = torch.tensor([[2 ** 24 + 1, 2 ** 31 - 1, -2 ** 31], [2 ** 24, 7, -2 ** 31 + 1], [3, 2 ** 30 + 1, 5]])
    for kind in (torch.int32, torch.int64):
        x = i.to(kind) if kind is torch.int32 else i * 2 ** 31 + 1
        forms = {"eq by number": lambda d: x.to(d) == x[0, 1].item(), "lt by number": lambda d: x.to(d) < x[0, 1].item() - 1, "equal": lambda d: torch.tensor(torch.equal(x.to(d), x.to(d) + 1)),
                 "dot": lambda d: torch.dot(x[0].to(d), x[1].to(d)), "mv": lambda d: torch.mv(x.to(d), x[0].to(d)), "prod": lambda d: x.to(d).prod(1), "ceil": lambda d: x.to(d).ceil(),
                 "triu": lambda d: x.to(d).triu(), "triu_": lambda d: x.to(d).clone().triu_(), "tril": lambda d: x.to(d).tril(), "cumsum": lambda d: x.to(d).cumsum(0),
                 "sum": lambda d: x.to(d).sum(0), "unique": lambda d: x.to(d).unique(), "max": lambda d: x.to(d).max(), "isin": lambda d: torch.isin(x.to(d), x[1].to(d) + 1),
                 "searchsorted": lambda d: torch.searchsorted(x.flatten().sort()[0].to(d), x.to(d)), "masked_fill": lambda d: x.to(d).masked_fill(x.to(d) > 0, 2 ** 31 - 1),
                 "clamp": lambda d: x.to(d).clamp(-2 ** 31 + 1, 2 ** 24 + 1), "index": lambda d: x.to(d)[x.to(d) == x[0, 0].item()], "where": lambda d: torch.where(x.to(d) > 5, x.to(d), 2 ** 24 + 1),
                 "cat": lambda d: torch.cat([x.to(d), x.to(d)]), "flip": lambda d: x.to(d).flip(0), "diff": lambda d: x.to(d).diff(), "abs": lambda d: (x + 1).to(d).abs()}
        verdict(f"whole/{str(kind)[6:]}", [why for name, f in forms.items() for why in alike(name, f)])


def given():
    """A place for the result: empty, too small, too large, of other types, the argument itself."""
    x = torch.tensor([[0.3, -1.7, 2.5, 4.1, -0.2], [1.9, 0.7, -3.3, 0.6, 0.6]])
    forms = {"add": lambda x, o: torch.add(x, x, out=o), "cumsum": lambda x, o: torch.cumsum(x, 1, out=o), "sum": lambda x, o: torch.sum(x, 1, out=o), "mul": lambda x, o: torch.mul(x, x, out=o),
             "maximum": lambda x, o: torch.maximum(x, x * 2, out=o), "sub": lambda x, o: torch.sub(x, 3, out=o), "gt": lambda x, o: torch.gt(x, 0.1, out=o),
             "eye": lambda x, o: torch.eye(4, out=o), "full": lambda x, o: torch.full((3,), 2.5, out=o), "prod": lambda x, o: torch.prod(x, 1, out=o), "sort": lambda x, o: torch.add(o.resize_(x.shape).copy_(x), 1, out=o)}
    for name, f in forms.items():
        verdict(f"given/{name}", [why for kind in (torch.float32, torch.float64, torch.int32) for shape in ((0,), (2,), (9, 9))
                                  for why in alike(f"{kind} {shape}", lambda d: f(x.to(d), torch.zeros(shape, dtype=kind, device=d)))])


def types():
    x = torch.tensor([0.3, -1.7, 2.5, 4.1, -0.2, 1.9, 0.7])
    wrong = [why for name in ("sum", "prod", "cumsum", "cumprod", "nansum", "mean") for kind in (torch.int32, torch.int64, torch.uint8, torch.float16, torch.float64)
             for why in alike(f"{name} as {kind}", lambda d: getattr(torch, name)(x.abs().to(d), dtype=kind, **({"dim": 0} if "cum" in name else {})))]
    verdict("types/sums", wrong)
    y = torch.full((70000,), 1.0).half()
    verdict("types/sums of halves", alike("sum", lambda d: y.to(d).sum(dtype=torch.float32)))


def kept():
    """Running statistics, which batch_norm writes without a word of it."""
    for kind in (torch.float32, torch.float64):
        torch.manual_seed(1)
        x, layer = torch.randn(8, 3, 5, dtype=kind), torch.nn.BatchNorm1d(3, dtype=kind)
        there = torch.nn.BatchNorm1d(3, dtype=kind).cuda()
        for m, v in ((layer, x), (there, x.cuda())):
            m(v), m(v * 2 + 1)
        verdict(f"kept/{str(kind)[6:]}", [f"{a} not {b}" for a, b in zip(there.buffers(), layer.buffers()) if wrong_places(a.cpu(), b).any()])


def sparse():
    """Sparse gradients and products."""
    i = torch.tensor([1, 2, 2, 9])

    def table(d, bag=False, optimiser=None):
        torch.manual_seed(3)
        m = (torch.nn.EmbeddingBag(10, 3, sparse=True, mode="sum") if bag else torch.nn.Embedding(10, 3, sparse=True)).to(d)
        (m(i.to(d), *([torch.tensor([0, 2], device=d)] if bag else [])) ** 2).sum().backward()
        if optimiser:
            optimiser(m.parameters(), lr=0.1).step()
            return m.weight.detach()
        return m.weight.grad.coalesce().to_dense()
    s = torch.eye(4)[[0, 2, 2]]
    forms = {"embedding": table, "bag": lambda d: table(d, True), "SparseAdam": lambda d: table(d, False, torch.optim.SparseAdam), "SGD": lambda d: table(d, False, torch.optim.SGD),
             "mm": lambda d: torch.sparse.mm(s.to(d).to_sparse(), torch.ones(4, 2, device=d)), "csr": lambda d: s.to(d).to_sparse_csr() @ torch.ones(4, 2, device=d),
             "sum": lambda d: (s.to(d).to_sparse() * 2 + s.to(d).to_sparse()).to_dense(), "softmax": lambda d: torch.sparse.softmax(s.to(d).to_sparse(), 1).to_dense()}
    verdict("sparse", [why for name, f in forms.items() for why in alike(name, f)])


def close(got, want, rough):
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(close(a, b, rough) for a, b in zip(got, want))
    got = got.cpu()
    if got.dtype is not want.dtype or got.shape != want.shape:
        return False
    return torch.equal(got, want) if not want.is_floating_point() else torch.allclose(got, want, rtol=rough, atol=rough * max(want.abs().max().item(), 1.0) if want.numel() else 0.0)


def sizes():
    """One element, a block less one, one more, many blocks: where torch's own samples have a few elements."""
    rows = {"sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1), "var": lambda x: x.var(-1, correction=0), "max": lambda x: x.max(-1), "argmin": lambda x: x.argmin(-1),
            "cumsum": lambda x: x.cumsum(-1), "cumprod": lambda x: (1 + x / 1e4).cumprod(-1), "cummax": lambda x: x.cummax(-1), "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
            "logsumexp": lambda x: x.logsumexp(-1), "sort": lambda x: x.sort(dim=-1, stable=True), "topk": lambda x: x.topk(min(5, x.shape[-1]), -1), "prod": lambda x: (1 + x / 1e5).prod(-1),
            "norm": lambda x: x.norm(dim=-1), "median": lambda x: x.median(-1)[0], "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
            "rms_norm": lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:]), "all": lambda x: (x > -9).all(-1), "any": lambda x: (x > 3.5).any(-1), "count_nonzero": lambda x: (x > 1).count_nonzero(-1),
            "flip": lambda x: x.flip(-1), "roll": lambda x: x.roll(3, -1), "diff": lambda x: x.diff(dim=-1), "pad": lambda x: torch.nn.functional.pad(x, (3, 2)), "triu": lambda x: x.triu(1),
            "glu": lambda x: torch.nn.functional.glu(torch.cat([x, x], -1)), "repeat": lambda x: x[..., :300].repeat(2, 3), "stack": lambda x: torch.stack([x, -x], 1), "tile": lambda x: x[..., :300].tile(3),
            "cross_entropy": lambda x: torch.nn.functional.cross_entropy(x, torch.arange(x.shape[0], device=x.device) * 7 % x.shape[-1]), "amax": lambda x: x.amax(-1), "std": lambda x: x.std(0),
            "mse": lambda x: torch.nn.functional.mse_loss(x, x * 2), "quantile": lambda x: x[..., :4000].quantile(0.3, -1), "dot": lambda x: torch.dot(x[0], x[-1]), "mv": lambda x: torch.mv(x, x[0])}
    flat = {"nonzero": lambda x: (x > 1).nonzero(), "masked_select": lambda x: x[x > 0], "unique": lambda x: (x * 50).int().unique(return_counts=True, return_inverse=True),
            "sum of all": lambda x: x.sum(), "max of all": lambda x: (x.max(), x.argmax()), "where": lambda x: torch.where(x > 0)[0], "index": lambda x: x[torch.arange(x.numel() - 1, -1, -1, device=x.device)],
            "index_put": lambda x: x.clone().index_put_(((torch.arange(x.numel(), device=x.device) * 7) % 11 % x.numel(),), torch.ones_like(x), accumulate=True),
            "scatter_add": lambda x: torch.zeros(13, device=x.device).scatter_add_(0, torch.arange(x.numel(), device=x.device) % 13, x), "bincount": lambda x: (x.abs() * 9).int().bincount(),
            "index_add": lambda x: torch.zeros(13, device=x.device).index_add_(0, torch.arange(x.numel(), device=x.device) % 13, x), "isin": lambda x: torch.isin((x * 99).int(), torch.arange(0, 200, 3, device=x.device)),
            "gather": lambda x: x.gather(0, torch.arange(x.numel(), device=x.device) * 3 % x.numel()), "repeat_interleave": lambda x: x.repeat_interleave((x * 2).abs().int()), "histc": lambda x: x.histc(20, -2, 2),
            "embedding": lambda x: torch.nn.functional.embedding(torch.arange(x.numel(), device=x.device) % 17, torch.ones(17, 8, device=x.device)), "searchsorted": lambda x: torch.searchsorted(x.sort()[0], x[:50]),
            "one_hot": lambda x: torch.nn.functional.one_hot((x.abs() * 2).long()[:5000]), "dropout": lambda x: ((torch.nn.functional.dropout(torch.ones_like(x), 0.25) > 0).float().mean() - 0.75).abs() < 2.5 / x.numel() ** 0.5,
            "randperm": lambda x: torch.randperm(x.numel(), device=x.device).sort()[0], "cat": lambda x: torch.cat([x, x[:3], x]), "eye": lambda x: torch.eye(min(x.numel(), 600), device=x.device)}
    sweep = [1, 2, 31, 33, 1023, 1025, 4097, 70001]
    for forms, make in ((rows, lambda n: torch.randn(3, n)), (flat, lambda n: torch.randn(n * 4 + 1))):
        for name, f in forms.items():
            wrong = []
            for n in sweep if name not in ("dot", "mv", "triu", "stack") else sweep[:-1]:
                torch.manual_seed(n)
                x = make(n)
                try:
                    want = f(x)
                except (RuntimeError, IndexError):
                    continue
                try:
                    wrong += [] if close(f(x.cuda()), want, 2e-4) else [f"{n}"]
                except Exception as e:
                    wrong.append(f"{n}: {type(e).__name__} " + " ".join(str(e).split())[:100])
            verdict(f"sizes/{name}", wrong)
    slopes = {"embedding": (lambda w: torch.nn.functional.embedding(torch.arange(50000, device=w.device) * 31 % 97 % w.shape[0], w), (97, 16)), "softmax": (lambda w: w.softmax(-1) ** 2, (3, 9001)),
              "layer_norm": (lambda w: torch.nn.functional.layer_norm(w, w.shape[-1:]) ** 3, (65, 5003)), "cross_entropy": (lambda w: torch.nn.functional.cross_entropy(w, torch.arange(w.shape[0], device=w.device)), (33, 50257)),
              "cumsum": (lambda w: w.cumsum(1) ** 2, (5, 3001)), "index": (lambda w: w[torch.arange(30000, device=w.device) % 7] ** 2, (7, 5)), "sort": (lambda w: w.sort(1)[0] * torch.arange(w.shape[1], device=w.device), (3, 2049)),
              "max": (lambda w: w.max(1)[0], (9, 4097)), "expand": (lambda w: (w.expand(3000, -1) * 2), (1, 301)), "pad": (lambda w: torch.nn.functional.pad(w, (3, 4)) ** 2, (3, 1025)), "rms_norm": (lambda w: torch.nn.functional.rms_norm(w, w.shape[-1:]) ** 3, (65, 5003)),
              "batch_norm": (lambda w: torch.nn.functional.batch_norm(w, None, None, training=True) ** 3, (700, 33)), "group_norm": (lambda w: torch.nn.functional.group_norm(w, 3) ** 3, (5, 9, 401))}
    for name, (f, shape) in slopes.items():
        torch.manual_seed(2)
        w = torch.randn(shape)
        got, want = (torch.autograd.grad(f(v).sum(), v)[0] for v in (w.cuda().requires_grad_(), w.clone().requires_grad_()))
        verdict(f"sizes/gradient of {name}", [] if close(got, want, 5e-4) else [f"off by {(got.cpu() - want).abs().max():.2g} of {want.abs().max():.2g}"])


PARTS = {f.__name__: f for f in (whole, given, types, kept, sparse, sizes, unary, pairs)}
for part in sys.argv[1:] or PARTS:
    PARTS[part]()
sys.exit(bad)
