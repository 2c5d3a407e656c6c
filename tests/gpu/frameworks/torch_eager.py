# SPDX-License-Identifier: MIT
"""PyTorch as its wheel is, its own kernels in machine code, against its CPU. "ok NAME = DIGEST" or "FAIL NAME why" a line; the digest is of the
result's bits where the same kernels give the same ones, so that two runs on one GPU can be compared. Called by python.sh."""
import contextlib
import hashlib
import io
import sys
import time

import torch
import torch.nn.functional as F

bad = 0
began = time.monotonic()
torch.backends.cudnn.enabled = False            # convolutions by torch's own way: columns and products
dev = torch.device("cuda")


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x.detach().cpu().resolve_conj()]
    return [t for y in x for t in leaves(y)] if isinstance(x, (tuple, list)) else [torch.tensor(x)]


def digest(parts):
    h = hashlib.sha1()
    for t in parts:
        t = t.contiguous()
        h.update((t.view(torch.uint8) if t.dim() else t.reshape(1).view(torch.uint8)).numpy().tobytes())
    return h.hexdigest()[:10]


def say(name, f):
    global bad
    try:
        word = f()
        print(f"ok {name} = {word}" if word else f"ok {name}")
    except Exception as e:      # the next one may still be right
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[:300])
    sys.stdout.flush()


def check(name, f, *args, tol=1e-5, bits=True):
    """f on the GPU as on the CPU, of the same arguments; bits: no library of products is in it, nor an order that may be another."""
    def run():
        want = leaves(f(*args))
        got = leaves(f(*[a.to(dev) if isinstance(a, torch.Tensor) else a for a in args]))
        assert len(got) == len(want), f"{len(got)} results, not {len(want)}"
        for g, w in zip(got, want):
            assert g.shape == w.shape and g.dtype == w.dtype, f"{g.dtype} {tuple(g.shape)}, not {w.dtype} {tuple(w.shape)}"
            if g.dtype.is_floating_point or g.dtype.is_complex:
                wide = torch.complex128 if g.dtype.is_complex else torch.float64
                assert torch.equal(g.isnan(), w.isnan()), "other NaNs"
                g, w = g.to(wide).nan_to_num(), w.to(wide).nan_to_num()
                off = ((g - w).abs().max() / (w.abs().max() + 1e-30)).item() if g.numel() else 0
                assert off <= tol, f"off by {off:.2g}"
            else:
                assert torch.equal(g, w), f"{int((g != w).sum())} differ"
        return digest(got) if bits else ""
    say(name, run)


def test(f):
    say(f.__name__, f)


g = torch.Generator().manual_seed(5)
def R(*s, dtype=torch.float32):
    return torch.randn(*s, generator=g).to(dtype)
def I(high, *s):
    return torch.randint(0, high, s, generator=g)


x, y, v = R(300, 257), R(300, 257), R(257)
h, b = R(200, 128, dtype=torch.float16), R(200, 128, dtype=torch.bfloat16)
n = I(1000, 20000)

# element by element
check("add", lambda a, c: a + c * 2 - 1, x, y)
check("functions", lambda a: (a.exp(), a.sin(), a.tanh(), a.erf(), a.abs().log1p(), a.sigmoid(), a.abs().rsqrt(), torch.lgamma(a.abs() + 1)), x)
check("broadcast", lambda a, c: (a * c).pow(2).clamp(0.1, 3), x, v)
check("where", lambda a, c: torch.where(a > c, a, -c), x, y)
check("integers", lambda a: (a * 7 // 3, a % 11, a << 2, a ^ 5, a.bitwise_and(6), a == 7), n)
check("half", lambda a: (a + 1, a * a, F.gelu(a)), h, tol=2e-3)
check("bfloat16", lambda a: (a + 1, a * a, F.silu(a)), b, tol=1e-2)
check("double", lambda a: (a.exp(), a.sqrt(), a.atan2(a + 1)), x.double().abs(), tol=1e-13)
check("complex", lambda a, c: torch.complex(a, c) * torch.complex(c, a).conj(), x, y)
check("float8", lambda a: a.to(torch.float8_e4m3fn).float(), x)
check("casts", lambda a: (a.int(), a.half(), a.bfloat16().float(), a.abs().byte(), a.bool()), x)
# sums and their like
check("sum", lambda a: (a.sum(), a.sum(0), a.sum(1), a.double().sum()), x, tol=1e-4)
check("mean var std", lambda a: (a.mean(1), a.var(1), a.std(0), a.norm(), a.norm(dim=1)), x, tol=1e-4)
check("extremes", lambda a: (a.max(), a.min(0).values, a.max(1).values, a.argmax(1), a.argmin(0), a.amax((0, 1))), x)
check("logic", lambda a: ((a > 2).any(1), (a > -9).all(), (a > 0).sum(0), a.count_nonzero()), x)
check("logsumexp prod", lambda a: (a.logsumexp(1), (a * 0.01 + 1).prod(1)), x, tol=1e-4)
check("cumsum", lambda a, c: (a.cumsum(1), c.cumsum(0), a.cumprod(1), a.cummax(1).values, torch.logcumsumexp(a, 1)), x, n, tol=1e-4)
# order
check("sort rows", lambda a: a.sort(1), x)
check("sort long", lambda a: (a.sort(stable=True), a.argsort(descending=True, stable=True)), n)
check("sort 300000", lambda a: a.sort().values, R(300000))
check("topk", lambda a: a.topk(9, 1), x)
check("kthvalue median", lambda a: (a.kthvalue(5, 1).values, a.median(1).values, a.quantile(0.3, dim=1)), x)
check("unique", lambda a: a.unique(return_inverse=True, return_counts=True), n)
check("searchsorted bincount histc", lambda a, c: (torch.searchsorted(a.sort(1).values, c), torch.histc(a, 20, -3, 3)), x, y)
check("bincount", lambda a: a.bincount(minlength=1000), n)
# places
check("nonzero masks", lambda a: (a.nonzero(), a[a > 1], a.masked_fill(a > 0, 7)), x)
check("gather", lambda a, i: (a.gather(1, i), a.take_along_dim(i, 1)), x, I(257, 300, 40))
check("scatter", lambda a, i: (torch.zeros_like(a).scatter_reduce(1, i, a[:, :40].contiguous(), "amax"),), x, I(257, 300, 40))
check("scatter_add", lambda a, i: torch.zeros_like(a).scatter_add_(1, i, a[:, :40].contiguous()), x, I(257, 300, 40), bits=False)
check("index", lambda a, i: (a[i], a[:, i], a.index_select(0, i)), x, I(257, 50))
check("index_put", lambda a, i: a.clone().index_put_((i,), torch.ones(50, 257, device=a.device), accumulate=True), x, I(300, 50), bits=False)
check("shapes", lambda a, c: (torch.cat([a, c], 1), torch.stack([a, c]), a.roll(3, 1), a.flip(0), a.t().contiguous(), a.unfold(1, 5, 3).contiguous(),
                              F.pad(a, (2, 3)), a.repeat(2, 2), a.tril(), torch.meshgrid(a[0], c[0], indexing="ij")), x, y)
check("embedding", lambda w, i: (F.embedding(i, w), F.embedding_bag(i.view(50, 20), w, mode="sum")), x, I(300, 1000))
# products: cuBLAS's names, whoever computes them
check("mm", lambda a, c: a @ c.t(), x, y, bits=False)
check("mm half", lambda a: a @ a.t(), h, tol=3e-3, bits=False)
check("mm bfloat16", lambda a: a @ a.t(), b, tol=2e-2, bits=False)
check("mm double", lambda a, c: a.double() @ c.t().double(), x, y, tol=1e-12, bits=False)
check("mm complex", lambda a, c: torch.complex(a, c) @ torch.complex(c, a).t(), x, y, tol=1e-4, bits=False)
check("mv dot", lambda a, c: (a @ c, c @ c), x, v, bits=False)
check("bmm", lambda a: (torch.bmm(a, a.transpose(1, 2)), torch.baddbmm(a[:, :, :20], a, a.transpose(1, 2)[:, :, :20])), R(12, 40, 40), tol=1e-4, bits=False)
check("linear", lambda a, w, c: (F.linear(a, w, c), torch.addmm(c, a, w.t(), beta=0.5)), x, R(64, 257), R(64), tol=1e-4, bits=False)
check("linear gelu half", lambda a, w, c: F.gelu(F.linear(a, w, c)), h, R(64, 128, dtype=torch.float16), R(64, dtype=torch.float16), tol=5e-3, bits=False)
check("einsum", lambda a, c: torch.einsum("bik,bjk->bij", a, c), R(5, 30, 20), R(5, 40, 20), tol=1e-4, bits=False)
# layers
check("softmax", lambda a: (a.softmax(1), a.log_softmax(1), a.softmax(0)), x)
check("cross_entropy", lambda a, i: F.cross_entropy(a, i, label_smoothing=0.1), x, I(257, 300))
check("norms", lambda a, c: (F.layer_norm(a, (257,), c, c), F.group_norm(a[:, :256].reshape(30, 10, 256), 5), F.rms_norm(a, (257,), c),
                             F.batch_norm(a, None, None, c, c, True)), x, v, tol=1e-4)
check("pools", lambda a: (F.max_pool2d(a, 3, 2), F.avg_pool2d(a, 2), F.adaptive_avg_pool2d(a, 5), F.interpolate(a, scale_factor=2, mode="bilinear")), R(2, 3, 32, 30), tol=1e-5)
check("conv2d", lambda a, w: F.conv2d(a, w, stride=2, padding=1), R(4, 8, 32, 32), R(16, 8, 3, 3), tol=1e-4, bits=False)
check("conv2d depthwise", lambda a, w: F.conv2d(a, w, padding=1, groups=8), R(4, 8, 32, 32), R(8, 1, 3, 3), tol=1e-4, bits=False)
check("conv_transpose conv1d conv3d", lambda a, w, c, u, d, e: (F.conv_transpose2d(a, w, stride=2), F.conv1d(c, u), F.conv3d(d, e)),
      R(2, 6, 12, 12), R(6, 4, 3, 3), R(2, 5, 60), R(7, 5, 4), R(2, 3, 8, 9, 10), R(4, 3, 3, 3, 3), tol=1e-4, bits=False)


def lstm(a):
    torch.manual_seed(3)
    m = torch.nn.LSTM(20, 30, 2).to(a.device)
    return m(a)[0]


check("lstm", lstm, R(15, 4, 20), tol=1e-4, bits=False)


def attention(backend, dtype, tol):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, w = (R(2, 4, 130, 64) for _ in range(3))

    def run():
        ref = [t.clone().requires_grad_() for t in (q, k, w)]
        own = [t.to(dev, dtype).requires_grad_() for t in (q, k, w)]
        with sdpa_kernel(SDPBackend.MATH):
            want = F.scaled_dot_product_attention(*ref, is_causal=True)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            got = F.scaled_dot_product_attention(*own, is_causal=True)
        want.sum().backward()
        got.float().sum().backward()
        for a, c in [(got, want), *[(o.grad, r.grad) for o, r in zip(own, ref)]]:
            off = ((a.detach().cpu().float() - c.detach()).abs().max() / c.detach().abs().max()).item()
            assert off <= tol, f"off by {off:.2g}"
        return digest(leaves(got)) if backend == "FLASH_ATTENTION" else ""
    return run


say("attention math", attention("MATH", torch.float32, 1e-4))
say("attention flash", attention("FLASH_ATTENTION", torch.bfloat16, 3e-2))
say("attention efficient", attention("EFFICIENT_ATTENTION", torch.float32, 2e-3))


# random numbers: the generator's own, so the same in each run
@test
def random_numbers():
    torch.manual_seed(11)
    u, w, p = torch.rand(100000, device=dev), torch.randn(100000, device=dev), torch.randperm(5000, device=dev)
    k = torch.multinomial(torch.ones(10, device=dev), 1000, True)
    assert abs(u.mean().item() - 0.5) < 0.01 and abs(w.std().item() - 1) < 0.02 and torch.equal(p.sort().values.cpu(), torch.arange(5000))
    return digest(leaves((u, w, p, k)))


@test
def dropout():
    torch.manual_seed(12)
    d = F.dropout(torch.ones(100000, device=dev), 0.3)
    kept = (d > 0).float().mean().item()
    assert abs(kept - 0.7) < 0.01 and abs(d.max().item() - 1 / 0.7) < 1e-5, kept
    return digest(leaves(d))


# learning
def train(device, steps, **how):
    torch.manual_seed(1)
    m = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 1)).to(device)
    o = torch.optim.Adam(m.parameters(), 1e-2, **how)
    a = torch.linspace(-1, 1, 2048).view(128, 16).to(device)
    t = a.sin().sum(1, keepdim=True)
    losses = []
    for _ in range(steps):
        o.zero_grad()
        loss = F.mse_loss(m(a), t)
        loss.backward()
        o.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()


def learns(**how):
    def run():
        got, want = train(dev, 20, **how), train("cpu", 20)
        off = ((got - want).abs().max() / want.abs().max()).item()
        assert off < 1e-3 and got[-1] < got[0], f"off by {off:.2g}, the loss from {got[0]:.3f} to {got[-1]:.3f}"
    return run


say("adam foreach", learns(foreach=True))
say("adam fused", learns(fused=True))


@test
def autocast():
    m, a = torch.nn.Linear(64, 64).to(dev), torch.randn(32, 64, device=dev)
    scaler = torch.amp.GradScaler("cuda")
    o = torch.optim.SGD(m.parameters(), 0.1)
    before = m.weight.detach().clone()
    with torch.autocast("cuda", torch.float16):
        out = m(a)
        loss = out.float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(o)
    scaler.update()
    assert out.dtype == torch.float16 and not torch.equal(before, m.weight) and m.weight.isfinite().all()


def conv_gradients(device):
    torch.manual_seed(2)
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                            torch.nn.Linear(8 * 64, 10)).to(device)
    a = torch.linspace(-1, 1, 4 * 3 * 256).view(4, 3, 16, 16).sin().to(device)
    m(a).logsumexp(1).sum().backward()
    return [p.grad.cpu() for p in m.parameters()]


@test
def convolution_gradients():
    for a, c in zip(conv_gradients(dev), conv_gradients("cpu")):
        off = ((a - c).abs().max() / (c.abs().max() + 1e-3)).item()
        assert off < 1e-3, f"off by {off:.2g}"


# the device's own things
@test
def graph():
    a, w = torch.randn(64, 64, device=dev), torch.randn(64, 64, device=dev)
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            F.relu(a @ w) + torch.rand(64, 64, device=dev)
    torch.cuda.current_stream().wait_stream(s)
    c = torch.cuda.CUDAGraph()
    with torch.cuda.graph(c):
        out = F.relu(a @ w).sum(1)
        noise = torch.rand(1000, device=dev)
    drawn = []
    for i in range(5):
        a.fill_(i)
        c.replay()
        torch.cuda.synchronize()
        want = F.relu(a @ w).sum(1)
        assert torch.allclose(out, want, rtol=1e-3, atol=1e-2), f"replay {i}"
        drawn.append(noise.clone())
    assert not any(torch.equal(drawn[0], d) for d in drawn[1:]), "the same random numbers"


@test
def graphed_training():
    m = torch.nn.Linear(32, 32).to(dev)
    o = torch.optim.Adam(m.parameters(), 1e-2, capturable=True)
    a = torch.randn(16, 32, device=dev)
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for _ in range(3):
            o.zero_grad(set_to_none=True)
            m(a).pow(2).mean().backward()
            o.step()
    torch.cuda.synchronize()
    c = torch.cuda.CUDAGraph()
    o.zero_grad(set_to_none=True)
    with torch.cuda.graph(c):
        loss = m(a).pow(2).mean()
        loss.backward()
        o.step()
    first = None
    for _ in range(30):
        c.replay()
        first = loss.item() if first is None else first
    assert loss.item() < first * 0.9, (first, loss.item())


@test
def streams_events():
    one, two = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    a, e, f = torch.zeros(1 << 20, device=dev), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    with torch.cuda.stream(one):
        e.record()
        for _ in range(50):
            a.add_(1)
        f.record()
    with torch.cuda.stream(two):
        two.wait_event(f)
        c = a * 2
    two.synchronize()
    assert c.sum().item() == 100 * (1 << 20) and 0 < e.elapsed_time(f) < 1000 and f.query()


@test
def pinned():
    a = torch.arange(1 << 20, dtype=torch.float32).pin_memory()
    assert a.is_pinned()
    d = a.to(dev, non_blocking=True)
    back = torch.empty(1 << 20, pin_memory=True)
    back.copy_(d * 2, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, a * 2)


@test
def memory():
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    a = torch.empty(64 << 20, dtype=torch.uint8, device=dev)
    assert torch.cuda.memory_allocated() - before == 64 << 20 and torch.cuda.max_memory_allocated() >= 64 << 20
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total
    del a
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < 64 << 20 or torch.cuda.memory_allocated() > 0
    assert "Allocated memory" in torch.cuda.memory_summary()
    try:
        torch.empty(total * 2, dtype=torch.uint8, device=dev)
        raise AssertionError("more than there is")
    except torch.OutOfMemoryError:
        pass
    p = torch.cuda.get_device_properties(0)
    return f"{p.name}/{p.multi_processor_count}/{p.major}.{p.minor}".replace(" ", "_")


@test
def printing():
    a = torch.tensor([[1.5, -2.25e7], [float("nan"), 0.125]], device=dev)
    with contextlib.redirect_stdout(io.StringIO()) as s:
        print(a, a.int().tolist()[0][0], a[0, 0].item())
    assert "nan" in s.getvalue() and "device='cuda:0'" in s.getvalue(), s.getvalue()


@test
def dlpack():
    import torch.utils.dlpack as dl
    a = torch.arange(10, device=dev)
    c = dl.from_dlpack(dl.to_dlpack(a))
    c += 1
    assert a.tolist() == list(range(1, 11)) and c.data_ptr() == a.data_ptr()
    s = a.clone().untyped_storage()
    assert s.nbytes() == 80 and a.__cuda_array_interface__["shape"] == (10,)


@test
def jiterator():
    a = torch.linspace(0.1, 5, 100)
    got = torch.special.bessel_j0(a.to(dev)).cpu()          # compiled by NVRTC when it is called
    f = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T a) { return a * 2 + 1; }")
    assert torch.allclose(got, torch.special.bessel_j0(a), atol=1e-5) and torch.allclose(f(a.to(dev)).cpu(), a * 2 + 1)


@test
def torchvision():
    try:
        import torchvision.ops as ops
    except ImportError:
        return "none"
    c = R(200, 2).abs() * 50
    boxes, scores = torch.cat([c, c + 20 + 10 * R(200, 2).abs()], 1), R(200)
    assert torch.equal(ops.nms(boxes.to(dev), scores.to(dev), 0.4).cpu(), ops.nms(boxes, scores, 0.4))
    a = R(1, 4, 32, 32)
    rois = torch.tensor([[0, 2.0, 3.0, 20.0, 25.0], [0, 0.0, 0.0, 9.0, 30.0]])
    got, want = ops.roi_align(a.to(dev), rois.to(dev), 5).cpu(), ops.roi_align(a, rois, 5)
    assert torch.allclose(got, want, atol=1e-4)
    return digest([got])


@test
def expandable_segments():
    torch.cuda.empty_cache()
    set_to = getattr(torch.cuda.memory, "_set_allocator_settings", None) or torch._C._accelerator_setAllocatorSettings
    set_to("expandable_segments:True")
    parts = [torch.full((i << 18,), float(i), device=dev) for i in range(1, 40)]
    assert sum(p.sum().item() for p in parts[::7]) == sum((i * i) << 18 for i in range(1, 40, 7))
    del parts
    torch.cuda.empty_cache()
    set_to("expandable_segments:False")


print(f"seconds {time.monotonic() - began:.1f}")
sys.stdout.flush()


# the last: what it says ends the context
@test
def assertion():
    try:
        a = torch.arange(3, device=dev)[torch.tensor([5], device=dev)]
        torch.cuda.synchronize()
        a.cpu()
        raise ValueError("no error")
    except RuntimeError as e:
        assert "device-side assert" in str(e), str(e)[:200]


sys.stdout.flush()
import os           # noqa: E402
os._exit(bad)       # the context is gone: nothing to tear down
