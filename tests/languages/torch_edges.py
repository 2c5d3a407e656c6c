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


def same(got, want):
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(map(same, got, want))
    got = got.detach().cpu()
    return got.dtype == want.dtype and got.shape == want.shape and torch.allclose(got.double(), want.detach().double(), rtol=1e-5, atol=1e-30, equal_nan=True)


def asked(f, *tensors):
    """Why f of these is another on the device, or nothing. What the CPU refuses is not asked."""
    try:
        want = f(*tensors)
    except RuntimeError:
        return None
    try:
        got = f(*[there(t) for t in tensors])
    except RuntimeError as e:
        return f"refused: {str(e)[:90]}"
    return None if same(got, want) else f"{got} not {want}".replace("\n", " ")


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
for part in (numbers, specials, drawn, scattered, nested, outside):
    if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
        part()
sys.exit(bad)
