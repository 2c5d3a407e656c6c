# SPDX-License-Identifier: MIT
"""What is asked at the edges of PyTorch's operators under vgpu run --torch, against the CPU: numbers that a type has not, NaN and infinities, tensors
that lie scattered in memory, nested ones, indices out of range.

Where torch for CUDA answers something else than torch for the CPU, as for gelu(inf), it is not asked.
"""
import subprocess
import sys
import warnings
import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
nan, inf = float("nan"), float("inf")
bad = 0


def verdict(name, wrong):
    global bad
    bad |= bool(wrong)
    print("FAIL" if wrong else "ok", name, *wrong[:4])
    sys.stdout.flush()


def same(got, want, exact=False):
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(same(a, b, exact) for a, b in zip(got, want))
    got = got.detach().cpu()
    return got.dtype == want.dtype and got.shape == want.shape and torch.allclose(got.double(), want.detach().double(), rtol=1e-13 if exact and got.dtype == torch.float64 else 1e-5, atol=1e-30, equal_nan=True)


def asked(f, *tensors, exact=False):
    """Why f of these is another on the device, or nothing; exact: doubles to their last digits. What the CPU refuses is not asked."""
    try:
        want = f(*tensors)
    except RuntimeError:
        return None
    try:
        got = f(*[there(t) for t in tensors])
    except RuntimeError as e:
        return f"refused: {str(e)[:90]}"
    return None if same(got, want, exact) else f"{got} not {want}".replace("\n", " ")


def there(t):
    """On the device as it lies on the host."""
    if not t.numel() or t.is_contiguous():
        return t.cuda()
    span = 1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride()))
    return torch.as_strided(torch.as_strided(t, (span,), (1,)).clone().cuda(), t.shape, t.stride())


def numbers():
    forms = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "ge": torch.ge, "div": torch.div, "fmod": torch.fmod, "remainder": torch.remainder,
             "floor_divide": torch.floor_divide, "bitwise_xor": torch.bitwise_xor, "copysign": torch.copysign, "xlogy": torch.xlogy, "isin": torch.isin,
             "clamp_min": torch.clamp_min, "clamp": lambda x, s: torch.clamp(x, s, 100), "clamp max": lambda x, s: x.clamp(max=s), "pow_": lambda x, s: x.clone().pow_(s),
             "pow": torch.pow, "remainder_": lambda x, s: x.clone().remainder_(s), "floor_divide_": lambda x, s: x.clone().floor_divide_(s),
             "trunc": lambda x, s: torch.div(x, s, rounding_mode="trunc"), "addcmul": lambda x, s: torch.addcmul(x, x, x, value=s),
             "add alpha": lambda x, s: torch.add(x, x, alpha=s), "full": lambda x, s: torch.full((3,), s, dtype=x.dtype, device=x.device),
             "maximum": lambda x, s: torch.maximum(x, torch.tensor(s, device=x.device)), "minimum": lambda x, s: torch.minimum(x, torch.tensor(s, device=x.device))}
    for name, f in forms.items():
        wrong = []
        for kind in (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32):
            x = torch.tensor([0, 1, 2, 3, 5, 100, 127, 128, 200, 255, 2 ** 24 + 1]).to(kind)
            # True first: what is compiled for it must not serve 2
            for s in (True, 2, 3, 7, 1, -1, -2, 255, 256, 300, -300, 0.5, 2.5, 1e10):
                if name == "addcmul" and kind is torch.bool or s == 1e10 and not kind.is_floating_point:
                    continue
                why = asked(lambda t, s=s: f(t, s), x)
                if why:
                    wrong.append(f"{kind} by {s!r}: {why}")
        verdict(f"numbers/{name}", wrong)
    halves = torch.tensor([0.0, 0.1, 0.3, 1.0, 5.0, 7.0, 100.0])
    verdict("numbers/halves", [f"{f.__name__} {kind} by {s}: {why}" for f in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge, torch.remainder, torch.isin)
                               for kind in (torch.float16, torch.bfloat16) for s in (0.1, 0.3, -0.1) if (why := asked(lambda t, f=f, s=s: f(t, s), halves.to(kind)))])
    verdict("numbers/types", list(filter(None, (asked(torch.fmin, torch.tensor([3, -2], dtype=torch.uint8), torch.tensor(-1)),
                                               asked(torch.lerp, halves, halves + 1, torch.tensor(3, dtype=torch.uint8))))))
    verdict("numbers/steps", list(filter(None, (asked(lambda d: torch.arange(0.0, -8.000001, -4.0, dtype=torch.uint8, device=d.device), torch.zeros(1)),
                                               asked(lambda d: torch.linspace(4.3, 0, 50, dtype=torch.uint8, device=d.device), torch.zeros(1))))))
    verdict("numbers/bincount", list(filter(None, (asked(lambda i, w: torch.bincount(i, w), torch.tensor([0, 1, 1, 0]), torch.tensor([5, 5, 7, 6])),))))


def specials():
    v = torch.tensor([nan, inf, -inf, 1e4, -1e4, 0.0, -0.0, 1e-5, 30.0, -30.0])
    m = torch.tensor([[1.0, nan, 3.0], [-inf, -inf, -inf], [inf, 1.0, 2.0], [-inf, 1.0, 2.0], [5.0, 5.0, 7.0], [inf, inf, 1.0]])
    target = torch.tensor([0, 1, 2, 0, 1, 2])
    forms = {"relu": (F.relu, v), "relu_": (lambda x: F.relu_(x.clone()), v), "hardsigmoid": (F.hardsigmoid, v), "threshold": (lambda x: F.threshold(x, 1.0, 7.0), v),
             "angle": (torch.angle, v), "expm1": (torch.expm1, v), "sqrt by pow": (lambda x: x ** 0.5, v), "rsqrt by pow": (lambda x: x ** -0.5, v),
             "clamp": (lambda x: x.clamp(-1, 1), v), "clamp by NaN": (lambda x: x.clamp(max=nan), v), "maximum": (lambda x: torch.maximum(x, x.flip(0)), v),
             "minimum": (lambda x: torch.minimum(x, x.flip(0)), v), "hypot": (lambda x: torch.hypot(x, x.flip(0)), v), "remainder": (lambda x: torch.remainder(x, 3.0), v),
             "log_softmax": (lambda x: F.log_softmax(x, -1), m), "log_softmax 0": (lambda x: F.log_softmax(x, 0), m), "softmax": (lambda x: F.softmax(x, -1), m),
             "cross_entropy": (lambda x, t: F.cross_entropy(x, t, reduction="none"), m, target), "max_pool2d": (lambda x: F.max_pool2d(x[None], 2, 1), m),
             "max": (lambda x: x.max(), m), "min": (lambda x: x.min(), m), "max dim": (lambda x: tuple(x.max(1)), m), "min dim": (lambda x: tuple(x.min(0)), m),
             "amax": (lambda x: x.amax((0, 1)), m), "amin": (lambda x: x.amin(1), m), "aminmax": (lambda x: tuple(x.aminmax(dim=0)), m),
             "argmax": (lambda x: x.argmax(1), m), "argmin": (lambda x: x.argmin(1), m), "argmin of all": (lambda x: x.argmin(), m),
             "addr": (lambda x: torch.addr(x[:1, 1:2], x[0, :1], x[0, :1], beta=0.0), m),
             "var": (lambda x: torch.var_mean(x, 1), 1000 + torch.arange(64.0).reshape(2, 32) / 32), "std": (lambda x: torch.std(x, ()), m[4:5]),
             "logsumexp": (lambda x: torch.logsumexp(x, ()), m[2:5]),
             "norm": (lambda x: [torch.linalg.vector_norm(x, p) for p in (0, 0.5, 1, 2, 3, inf, -inf, -1)], m[4:5]), "logit": (torch.logit, m / 9),
             "norm by inf": (lambda x: torch.linalg.vector_norm(x, inf, 1), m), "scatter": (lambda x, i: x.scatter(0, i, x.flip(0), reduce="multiply"), v, torch.arange(10) // 2)}
    for name, (f, *tensors) in forms.items():
        verdict(f"specials/{name}", list(filter(None, (asked(f, *tensors), asked(f, *[t.half() if t.is_floating_point() and name not in ("expm1", "var") else t
                                                                                     for t in tensors]) if name in ("relu", "clamp", "maximum") else None))))
    def alone(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad((F.layer_norm(x, (1,), x.detach() * 0 + 2, x.detach()) ** 2).sum(), x)[0]
    verdict("specials/layer_norm of one", list(filter(None, (asked(alone, torch.tensor([-4.3228044509887695])),))))
    big = torch.arange(20000.0).sin()
    big[[7, 15000]] = 2.0
    verdict("specials/first of many", list(filter(None, (asked(lambda x: (x.max(), x.argmax(), x.argmin(), x.flip(0).argmax()), big),))))


def drawn():
    """Bounds and seeds of random numbers, and orders in which zeros are equal."""
    g = torch.Generator(device="cuda")
    for name, f in {"normal_": lambda: torch.empty(50, device="cuda").normal_(generator=g), "randn": lambda: torch.randn(50, device="cuda", generator=g),
                    "rand": lambda: torch.rand(50, device="cuda", generator=g), "bernoulli_": lambda: torch.empty(50, device="cuda").bernoulli_(0.5, generator=g)}.items():
        g.manual_seed(3)
        first, second = f().tolist(), f().tolist()
        g.manual_seed(3)
        verdict(f"drawn/{name}", ["its generator is not asked"] if f().tolist() != first or first == second else [])
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        x, y = torch.rand(100003, device="cuda", dtype=kind).cpu(), torch.empty(100003, device="cuda", dtype=kind).uniform_(-3, 5).cpu()
        verdict(f"drawn/below {kind}", [f"{x.max()} {y.max()}"] if not (x < 1).all() or not (y < 5).all() or (y < -3).any() else [])
    normal = lambda m, s: lambda x: 0.5 * (1 + torch.erf((x - m) / s / 2 ** 0.5))       # noqa: E731
    n, device = 50000, "cuda"
    laws = {"exponential_": (lambda: torch.empty(n, device=device).exponential_(0.5), lambda x: 1 - torch.exp(-x / 2)), "randn": (lambda: torch.randn(n, device=device), normal(0, 1)),
            "normal_": (lambda: torch.empty(n, device=device).normal_(2, 3), normal(2, 3)), "rand": (lambda: torch.rand(n, device=device), lambda x: x),
            "cauchy_": (lambda: torch.empty(n, device=device).cauchy_(), lambda x: torch.atan(x) / torch.pi + 0.5), "gumbel": (lambda: -torch.empty(n, device=device).exponential_().log(), lambda x: torch.exp(-torch.exp(-x))),
            "log_normal_": (lambda: torch.empty(n, device=device).log_normal_(0, 1), lambda x: normal(0, 1)(x.log()))}
    for name, (draw, law) in laws.items():       # Kolmogorov's distance, with a seed: it is the same every time
        torch.manual_seed(1)
        x = draw().cpu().double().sort()[0]
        far = (law(x) - torch.arange(1, n + 1).double() / n).abs().max().item() * n ** 0.5
        verdict(f"drawn/law of {name}", [f"{far:.1f}"] if far > 2 else [])
    torch.manual_seed(1)
    places = torch.stack([torch.randperm(200, device=device) for _ in range(300)]).cpu().argsort(1)
    later = sum((places[:, i:i + 1] < places[:, i + 1:]).sum().item() for i in range(199)) / (300 * 199 * 100) - 0.5
    verdict("drawn/law of randperm", [f"{later:.4f}"] if abs(later) > 0.0012 else [])
    x = torch.tensor([3.0, nan, inf, -0.0, 0.0, -inf, -0.0, 5.0, -torch.tensor(nan), 0.0])
    verdict("drawn/sort", list(filter(None, (asked(lambda t, d=d: tuple(t.sort(stable=True, descending=d)), x) for d in (False, True)))))
    one = torch.ones(3, 1, device="cuda", dtype=torch.int64)
    one.sort(dim=1)[0].zero_()
    verdict("drawn/sort of one", [] if one.sum() == 3 else ["writes to what was sorted"])


def scattered():
    a = torch.randn(4, 5, 6)
    ways = {"transposed": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1), "every second": lambda t: t.repeat_interleave(2, -1)[..., ::2],
            "expanded": lambda t: t[:1].expand(t.shape)}
    forms = {"dot": lambda x: torch.dot(x[0, 0], x[0, 1]), "argmax": torch.argmax, "select_scatter": lambda x: torch.select_scatter(x, x[0], 0, 1),
             "slice_scatter": lambda x: torch.slice_scatter(x, x[:2], 0, 2, 4), "nearest": lambda x: F.interpolate(x, size=(3,), mode="nearest"),
             "linear": lambda x: F.interpolate(x, size=(9,), mode="linear"), "rfftn": lambda x: torch.view_as_real(torch.fft.rfftn(x)),
             "median": lambda x: (x if x.is_cuda else x.contiguous()).median(0)[0],
             "var_mean": lambda x: torch.var_mean(x, 1), "std": torch.std, "repeats": lambda x: x.repeat_interleave((x[:, 0, 0] * 0 + 2).long(), 0),
             "index": lambda x: x[(x[:, 0, 0] > 0)], "sort": lambda x: x.sort(dim=1, stable=True)[0], "cumsum": lambda x: x.cumsum(1), "roll": lambda x: x.roll(2, 1),
             "pad": lambda x: F.pad(x, (1, 2)), "triu": torch.triu, "unfold": lambda x: torch.ops.aten.unfold_backward(x, [4, 10], 1, 6, 1)}
    for name, f in forms.items():
        verdict(f"scattered/{name}", [f"{w}: {why}" for w, way in ways.items() if (why := asked(f, way(a)))])


def nested():
    for layout in (torch.strided, torch.jagged):
        def padded(a, b):
            return torch.nested.to_padded_tensor(torch.nested.nested_tensor([a, b], device=a.device, layout=layout), -1.0)
        verdict(f"nested/{str(layout)[6:]}", list(filter(None, (asked(padded, torch.randn(2, 3), torch.randn(1, 3)),))))


def made():
    """Of no tensor: what is not said of type, ends and steps follows from the numbers that are given."""
    ends = ((7.0,), (0, 5.0), (0.0, 5), (0, 5, 0.5), (5, 0, -0.5), (0, 10, 2.0), (7,), (3, 9), (9, 3, -2), (True,), (-1.5, 4), (0, 1, 0.1), (2 ** 40, 2 ** 40 + 3), (0, 0), (0.0, 0.0))
    forms = {f"arange {a}": lambda t, a=a: torch.arange(*a, device=t.device) for a in ends}
    forms |= {f"arange {a} of {k}": lambda t, a=a, k=k: torch.arange(*a, dtype=k, device=t.device) for a in ends for k in (torch.float16, torch.float64, torch.int32)}
    forms |= {"arange by name": lambda t: torch.arange(start=1, end=4, step=0.25, device=t.device), "arange out": lambda t: torch.arange(0, 3, 0.5, out=torch.empty(0, device=t.device)),
              "arange whole out": lambda t: torch.arange(0, 6, 2, out=torch.empty(0, dtype=torch.int64, device=t.device)), "range": lambda t: torch.range(0, 3, 0.5, device=t.device)}
    forms |= {f"{n} {a} of {k}": lambda t, a=a, k=k, f=f: f(*a, dtype=k, device=t.device) for a in ((0, 1, 5), (5, -5, 7)) for n, f in (("linspace", torch.linspace), ("logspace", torch.logspace))
              for k in (torch.float16, torch.bfloat16, torch.float64, torch.int32)}
    forms |= {f"linspace {a}": lambda t, a=a: torch.linspace(*a, device=t.device) for a in ((0, 1, 5), (0, 10, 4), (3, 3, 1), (-1.5, 2, 0), (5, -5, 7))}
    forms |= {f"full {v}": lambda t, v=v: torch.full((3,), v, device=t.device) for v in (1, 1.5, True, 2 ** 40, inf, 1j)}
    forms |= {f"{n} like {k}": lambda t, f=f, k=k: f(torch.empty(3, dtype=k, device=t.device)) for k in (torch.int32, torch.bool, torch.float16)
              for n, f in (("ones", torch.ones_like), ("zeros", torch.zeros_like), ("full", lambda x: torch.full_like(x, 1)), ("new_full", lambda x: x.new_full((2,), 1.5)),
                           ("new_ones", lambda x: x.new_ones(2)), ("new_tensor", lambda x: x.new_tensor([1.5])), ("fill", lambda x: x.fill_(1.5)))}
    forms |= {"eye": lambda t: torch.eye(3, 4, device=t.device), "ones": lambda t: torch.ones(2, device=t.device), "logspace": lambda t: torch.logspace(0, 3, 4, device=t.device),
              "tril_indices": lambda t: torch.tril_indices(3, 4, 1, device=t.device), "triu_indices": lambda t: torch.triu_indices(3, 4, -1, device=t.device),
              "scalar_tensor": lambda t: torch.scalar_tensor(2.5, device=t.device), "hann": lambda t: torch.hann_window(8, device=t.device), "kaiser": lambda t: torch.kaiser_window(8, device=t.device),
              "combinations": lambda t: torch.combinations(torch.arange(4, device=t.device)), "meshgrid": lambda t: torch.meshgrid(*2 * [torch.arange(3.0, device=t.device)], indexing="ij"),
              "one_hot": lambda t: F.one_hot(torch.arange(3, device=t.device)), "where": lambda t: torch.where(torch.tensor([True, False], device=t.device), 1.5, 2),
              "vander": lambda t: torch.vander(torch.arange(1, 4, device=t.device)), "bucketize": lambda t: torch.bucketize(torch.arange(0, 3, 0.5, device=t.device), torch.arange(3.0, device=t.device)),
              "fftfreq": lambda t: torch.fft.fftfreq(6, device=t.device), "tensor": lambda t: torch.tensor([[1, 2.5], [3, 4]], device=t.device), "as_tensor": lambda t: torch.as_tensor([1, 2], device=t.device)}
    whole = {"mean": lambda x: x.float().mean(), "sqrt": torch.sqrt, "exp": torch.exp, "sigmoid": torch.sigmoid, "/": lambda x: x / 2, "* 1.5": lambda x: x * 1.5, "** 0.5": lambda x: x ** 0.5,
             "** -1.0": lambda x: x ** -1.0, "2 **": lambda x: 2 ** x, "2.5 **": lambda x: 2.5 ** x, "+ 0.5": lambda x: x + 0.5, "1.5 -": lambda x: 1.5 - x, "// 2.0": lambda x: x // 2.0,
             "% 1.5": lambda x: x % 1.5, "clamp": lambda x: x.clamp(min=1.5), "atan2": lambda x: torch.atan2(x, x + 1), "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt, "tanh": torch.tanh,
             "lerp": lambda x: torch.lerp(x.float(), 2.0 * x, 0.25), "addcdiv": lambda x: torch.addcdiv(x.float(), x, x + 1, value=0.5), "sum": lambda x: x.sum(), "cumsum": lambda x: x.cumsum(0),
             "prod": lambda x: x.prod(), "> 1.5": lambda x: x > 1.5, "== 1.0": lambda x: x == 1.0, "mul bool": lambda x: x * (x > 1), "- bool": lambda x: x + True, "where": lambda x: torch.where(x > 1, x, 0.5),
             "masked_fill": lambda x: x.float().masked_fill(x > 1, 2), "maximum": lambda x: torch.maximum(x, x * 0.5), "half *": lambda x: x.half() * x, "half + float of none": lambda x: x.half() + torch.tensor(1.5, device=x.device),
             "max of a row and a number": lambda x: torch.maximum(x.float(), torch.tensor(2, device=x.device)), "logical": lambda x: torch.logical_xor(x, x - 1), "abs": lambda x: (-x).abs(), "neg": torch.neg}
    kept = torch.get_default_dtype()
    for default in (torch.float32, torch.float64, torch.bfloat16):
        torch.set_default_dtype(default)
        verdict(f"made/{str(default)[6:]}", [f"{name}: {why}" for name, f in forms.items() if (why := asked(f, torch.zeros(1), exact=True))])
        for kind in (torch.int64, torch.int32, torch.uint8, torch.int16):
            x = torch.tensor([1, 2, 3, 200 if kind is torch.uint8 else 4], dtype=kind)
            verdict(f"made/{str(default)[6:]}/{str(kind)[6:]}", [f"{name}: {why}" for name, f in whole.items() if (why := asked(f, x, exact=True))])
    torch.set_default_dtype(kept)


# Each ends its context, so each is a process of its own.
OUTSIDE = {"index": "e[torch.tensor([12], device='cuda')]", "index of -11": "e[torch.tensor([-11], device='cuda')]",
           "gather": "e.gather(0, torch.tensor([[12]], device='cuda'))",
           "embedding": "torch.nn.functional.embedding(torch.tensor([10], device='cuda'), e)", "index_select": "e.index_select(0, torch.tensor([-1], device='cuda'))",
           "index_put": "e.index_put_((torch.tensor([12], device='cuda'),), e[0])", "scatter_add": "e.scatter_add_(0, torch.tensor([[12]], device='cuda'), e[:1, :1])",
           "cross_entropy": "torch.nn.functional.cross_entropy(e, torch.full((10,), 3, device='cuda'))", "take": "e.take(torch.tensor([30], device='cuda'))",
           "multinomial": "torch.multinomial(torch.tensor([-1.0, 2.0], device='cuda'), 1)", "bincount": "torch.bincount(torch.tensor([-1], device='cuda'))"}
INSIDE = ("torch.nn.functional.cross_entropy(e, torch.tensor([0, 1, 2, -100] + [0] * 6, device='cuda')); e[torch.tensor([-10, 9], device='cuda')]; "
          "torch.nn.functional.embedding(torch.tensor([9], device='cuda'), e); e.gather(1, torch.tensor([[2]], device='cuda'))")


def outside():
    start = "import torch; e = torch.zeros(10, 3, device='cuda'); "
    for name, text in OUTSIDE.items():
        p = subprocess.run([sys.executable, "-W", "ignore", "-c", start + text + "; torch.cuda.synchronize(); print('silent')"], capture_output=True, text=True)
        said = p.stderr.strip().split("\n")
        wrong = p.returncode == 0 or "silent" in p.stdout or not any("device-side assert" in s or "IndexError" in s or "RuntimeError" in s for s in said)
        verdict(f"outside/{name}", [said[-1]] if wrong else [])
    p = subprocess.run([sys.executable, "-W", "ignore", "-c", start + INSIDE + "; torch.cuda.synchronize()"], capture_output=True, text=True)
    verdict("outside/none is", [p.stderr[-200:]] if p.returncode else [])


torch.manual_seed(0)
for part in (numbers, specials, drawn, scattered, nested, made, outside):
    if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
        part()
sys.exit(bad)
