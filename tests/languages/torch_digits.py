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
        wants = [want] if wide is None else [want, wide(*[v.double() for v in values]).to(want.dtype)]
    except (RuntimeError, TypeError, NotImplementedError):
        return []
    if not isinstance(want, torch.Tensor) or want.is_complex() or want.shape != values[0].shape:
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
        if f is None or any(r in name for r in RANDOM):
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
    forms = {"add": lambda x, o: torch.add(x, x, out=o), "cumsum": lambda x, o: torch.cumsum(x, 1, out=o), "sum": lambda x, o: torch.sum(x, 1, out=o), "neg": lambda x, o: torch.neg(x, out=o),
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


PARTS = {f.__name__: f for f in (whole, given, types, kept, unary, pairs)}
for part in sys.argv[1:] or PARTS:
    PARTS[part]()
sys.exit(bad)
