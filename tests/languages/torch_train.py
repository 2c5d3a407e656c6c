# SPDX-License-Identifier: MIT
"""What programs around a model do with PyTorch, on the device by vgpu run --torch, against the CPU: mixed precision with a scaler, checkpointed activations,
pinned batches of several workers, streams and events, captured graphs, states that cross devices, schedulers, averaged weights, hooks, functional gradients.
Usage: torch_train.py [NAME...]
"""
import copy
import io
import sys
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.prune
from torch.utils.data import DataLoader, Dataset, TensorDataset

warnings.simplefilter("ignore")
bad = 0


def verdict(name, ok, *said):
    global bad
    bad |= not ok
    print("ok" if ok else "FAIL", name, *said)
    sys.stdout.flush()


def off(a, b):
    a, b = a.detach().cpu().double(), b.detach().cpu().double()
    return ((a - b).abs().max() / (b.abs().max() + 1e-12)).item() if a.shape == b.shape and bool(a.isfinite().all()) else 9.0


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def batch(seed=1):
    torch.manual_seed(seed)
    return torch.randn(16, 12), torch.randint(0, 4, (16,))


def trained(device, kind=None, scaler=None, steps=4, wrap=lambda m: m, clip=None):
    m, (x, y) = net().to(device), batch()
    x, y, run = x.to(device), y.to(device), wrap(m)
    optimiser = torch.optim.AdamW(m.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        with torch.autocast(device, dtype=kind, enabled=kind is not None):
            loss = F.cross_entropy(run(x), y)
        losses.append(loss.item())
        if scaler:
            scaler.scale(loss).backward()
            if clip:
                scaler.unscale_(optimiser)
                nn.utils.clip_grad_norm_(m.parameters(), clip)
            scaler.step(optimiser)
            scaler.update()
        else:
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(m.parameters(), clip)
            optimiser.step()
    return m, losses


def mixed():
    want = trained("cpu")[1]
    for kind in (torch.float16, torch.bfloat16):
        m, got = trained("cuda", kind, torch.amp.GradScaler("cuda") if kind is torch.float16 else None, clip=1.0)
        verdict(f"mixed/{str(kind)[6:]}", max(abs(a - b) for a, b in zip(got, trained("cpu", clip=1.0)[1])) < 0.03, got, want)
        with torch.autocast("cuda", dtype=kind):
            x = batch()[0].cuda()
            kinds = (net().cuda()(x).dtype, (x @ x.T).dtype, x.softmax(-1).dtype, F.layer_norm(x, (12,)).dtype, (x @ x.T + x.sum()).dtype)
        verdict(f"mixed/types of {str(kind)[6:]}", kinds == (kind, kind, torch.float32, torch.float32, kind), kinds)    # what has no dimension has no say
    scaler = torch.amp.GradScaler("cuda", init_scale=4.0, growth_interval=2)
    p = nn.Parameter(torch.ones(3, device="cuda"))
    optimiser = torch.optim.SGD([p], lr=1.0)
    scales = []
    for v in (1.0, float("inf"), 2.0, 3.0, float("nan")):
        optimiser.zero_grad()
        scaler.scale((p * v).sum()).backward()
        scaler.step(optimiser)
        scaler.update()
        scales.append(scaler.get_scale())
    verdict("mixed/scaler", scales == [4.0, 2.0, 2.0, 4.0, 2.0] and p.tolist() == [-5.0] * 3, scales, p.tolist())


def checkpointed():
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential
    for reentrant in (False, True):
        want, got = trained("cpu")[0], trained("cuda", wrap=lambda m: lambda x: checkpoint(m, x.requires_grad_() if reentrant else x, use_reentrant=reentrant))[0]
        verdict(f"checkpoint/{'reentrant' if reentrant else 'not'}", max(off(a, b) for a, b in zip(got.parameters(), want.parameters())) < 1e-3)
    got = trained("cuda", wrap=lambda m: lambda x: checkpoint_sequential(m, 2, x, use_reentrant=False))[0]
    verdict("checkpoint/sequential", max(off(a, b) for a, b in zip(got.parameters(), trained("cpu")[0].parameters())) < 1e-3)
    torch.manual_seed(4)
    x = torch.ones(1000, device="cuda", requires_grad=True)
    y = checkpoint(lambda t: F.dropout(t * 2, 0.5), x, use_reentrant=False)
    y.sum().backward()
    verdict("checkpoint/same dropout again", torch.equal((y > 0), (x.grad > 0)))


class Squares(Dataset):
    def __len__(self):
        return 37

    def __getitem__(self, i):
        return {"x": torch.full((3,), float(i)), "y": i * i}


def loaded():
    for workers in (0, 2):
        for pinned in (False, True):
            got = []
            for b in DataLoader(Squares(), batch_size=5, num_workers=workers, pin_memory=pinned, persistent_workers=workers > 0):
                if pinned and not b["x"].is_pinned():
                    verdict("loaded/pinned", False, "is not pinned")
                got += (b["x"].to("cuda", non_blocking=True).sum(1) / 3 - b["y"].cuda(non_blocking=True)).cpu().tolist()
            verdict(f"loaded/{workers} workers{', pinned' if pinned else ''}", got == [float(i - i * i) for i in range(37)], got[:3])
    torch.manual_seed(0)
    seen = torch.cat([x for x, in DataLoader(TensorDataset(torch.arange(20)), batch_size=3, shuffle=True, pin_memory=True)])
    verdict("loaded/shuffled", seen.sort()[0].tolist() == list(range(20)))


def streams():
    a, b = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    x = torch.arange(100000.0, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(a):
        y = x * 2
        e = a.record_event()
    with torch.cuda.stream(b):
        b.wait_event(e)
        z = y + 1
        z.record_stream(b)
    torch.cuda.current_stream().wait_stream(b)
    verdict("streams/order", torch.equal(z.cpu(), torch.arange(100000.0) * 2 + 1))
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(10):
        z = z * 1.0001
    end.record()
    end.synchronize()
    verdict("streams/events", end.query() and start.elapsed_time(end) > 0)
    host = torch.empty(100000, pin_memory=True)
    host.copy_(x, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    verdict("streams/pinned copy", torch.equal(host, torch.arange(100000.0)))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    big = torch.empty(1 << 22, device="cuda")
    grown = torch.cuda.memory_allocated() - before
    del big
    verdict("streams/memory", grown >= 1 << 24 and torch.cuda.memory_allocated() == before and torch.cuda.max_memory_allocated() >= before + grown and torch.cuda.mem_get_info()[1] > 0)


def graphs():
    m, (x, y) = net().cuda(), batch()
    given = x.cuda()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            m(given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.no_grad(), torch.cuda.graph(graph):
            out = m(given)
    except RuntimeError as e:
        verdict("graphs/refused by name", "captur" in str(e).lower(), str(e)[:200])
        return
    wrong = []
    for seed in (3, 4):
        x = batch(seed)[0]
        given.copy_(x)
        graph.replay()
        wrong.append(off(out, net()(x)))
    verdict("graphs/replayed", max(wrong) < 1e-4, wrong)
    try:        # what the host computes cannot be in a graph
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            given.cumprod(0)
        verdict("graphs/by the host", False, "captured")
    except RuntimeError as e:
        verdict("graphs/by the host", "captur" in str(e), str(e)[:100])


def saved():
    m, losses = trained("cuda")
    place = io.BytesIO()
    torch.save({"m": m.state_dict(), "t": torch.arange(5, device="cuda"), "half": torch.ones(3, device="cuda").half(), "view": torch.arange(12, device="cuda").view(3, 4)[:, 1]}, place)
    for where in ("cpu", "cuda", None):
        place.seek(0)
        got = torch.load(place, map_location=where)
        other = net(9).to(where or "cuda")
        other.load_state_dict(got["m"])
        x = batch()[0]
        verdict(f"saved/to {where}", off(other(x.to(where or "cuda")), m(x.cuda())) < 1e-5 and got["t"].device.type == (where or "cuda") and got["view"].cpu().tolist() == [1, 5, 9])
    optimiser = torch.optim.Adam(m.parameters(), lr=0.1)
    F.cross_entropy(m(batch()[0].cuda()), batch()[1].cuda()).backward()
    optimiser.step()
    place = io.BytesIO()
    torch.save(optimiser.state_dict(), place)
    place.seek(0)
    here = copy.deepcopy(m).cpu()
    back = torch.optim.Adam(here.parameters(), lr=0.1)
    back.load_state_dict(torch.load(place, map_location="cpu"))
    for model, opt, d in ((m, optimiser, "cuda"), (here, back, "cpu")):
        opt.zero_grad()
        F.cross_entropy(model(batch()[0].to(d)), batch()[1].to(d)).backward()
        opt.step()
    verdict("saved/optimiser goes on", max(off(a, b) for a, b in zip(m.parameters(), here.parameters())) < 1e-3)
    t = copy.deepcopy(torch.ones(3, device="cuda"))
    import pickle
    verdict("saved/pickle", pickle.loads(pickle.dumps(t)).is_cuda)


def around():
    """Schedulers, averages, hooks, functional gradients, weight norm, parametrizations, pruning, anomaly detection, profiler."""
    out = {}
    for d in ("cpu", "cuda"):
        m, (x, y) = net().to(d), batch()
        x, y = x.to(d), y.to(d)
        nn.utils.parametrizations.weight_norm(m[0])
        nn.utils.parametrizations.spectral_norm(m[3])
        pruned = net(5)[5].to(d)
        nn.utils.prune.l1_unstructured(pruned, "weight", amount=0.3)
        ema = torch.optim.swa_utils.AveragedModel(m, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
        optimiser = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=5)
        seen = []
        m[3].register_full_backward_hook(lambda module, gin, gout: seen.append(gout[0].norm().item()))
        for _ in range(4):
            optimiser.zero_grad()
            with torch.autograd.detect_anomaly(check_nan=True):
                F.cross_entropy(m(x), y, label_smoothing=0.1).backward()
            optimiser.step()
            schedule.step()
            ema.update_parameters(m)
        f = net(2).to(d)
        params = dict(f.named_parameters())
        loss = lambda p, a, b: F.cross_entropy(torch.func.functional_call(f, p, (a[None],)), b[None])     # noqa: E731
        each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(params, x, y)
        hessian = torch.autograd.functional.hessian(lambda t: (t ** 3).sum() + t.prod(), x[0, :4])
        jacobian = torch.func.jacfwd(lambda t: torch.sin(t) * t.sum())(x[0, :4])
        out[d] = [ema(x), torch.tensor(seen), each["3.weight"], hessian, jacobian, pruned.weight]
    for name, got, want in zip(("averaged", "hooks", "gradients by sample", "hessian", "jacobian forwards", "pruned"), out["cuda"], out["cpu"]):
        verdict(f"around/{name}", off(got, want) < 2e-3, f"{off(got, want):.1g}")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
        net().cuda()(batch()[0].cuda())
    verdict("around/profiler", any("linear" in e.key for e in p.key_averages()))


def recurrent():
    for make in (lambda: nn.LSTM(5, 7, 2, batch_first=True, bidirectional=True), lambda: nn.GRU(5, 7, 1), lambda: nn.RNN(5, 7, 1, nonlinearity="relu")):
        torch.manual_seed(1)
        m, x = make(), torch.randn(3, 6, 5)
        d = copy.deepcopy(m).cuda()
        outs = []
        for model, t in ((d, x.cuda()), (m, x)):
            y = model(t)[0]
            (y ** 2).sum().backward()
            outs.append([y] + [p.grad for p in model.parameters()])
        verdict(f"recurrent/{type(m).__name__}", max(off(a, b) for a, b in zip(*outs)) < 1e-4)
    packed = []
    for dev in ("cuda", "cpu"):
        torch.manual_seed(2)
        m = nn.LSTM(5, 7, batch_first=True).to(dev)
        y, _ = m(nn.utils.rnn.pack_padded_sequence(torch.arange(75.0).view(3, 5, 5).sin().to(dev), [5, 3, 2], batch_first=True))
        packed.append(nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0])
    verdict("recurrent/packed", off(*packed) < 1e-4)


PARTS = {f.__name__: f for f in (mixed, checkpointed, loaded, streams, graphs, saved, around, recurrent)}
if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        try:
            PARTS[part]()
        except Exception as e:
            import traceback
            traceback.print_exc()
            verdict(part, False, type(e).__name__, " ".join(str(e).split())[:300])
    sys.exit(bad)
