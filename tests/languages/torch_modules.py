# SPDX-License-Identifier: MIT
"""torch.nn's modules and torch.optim's optimisers on the device by vgpu run --torch, by torch's own samples (module_db, optim_db), against the CPU.

A module: what it gives, the gradients of its input and of its parameters, and its buffers afterwards, training and not. An optimiser: parameters after four
steps, in each of its samples' settings, by schedulers too. Prints a line for each that is not right, and the sums. What is drawn at random is compared by the
share that is kept. Usage: torch_modules.py [NAME...]     names of modules and optimisers, as torch.nn.GRU or Adam
"""
import copy
import sys
import warnings
import torch
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.utils._pytree import tree_flatten, tree_map
from torch_samples import difference

warnings.simplefilter("ignore")
BOUND = {torch.float32: 1e-4, torch.float64: 1e-9, torch.float16: 4e-3, torch.bfloat16: 3e-2}
# A window is drawn for each call.
RANDOM = ("FractionalMaxPool",)


def there(value):
    if isinstance(value, torch.Tensor) or isinstance(value, torch.nn.utils.rnn.PackedSequence):
        moved = value.cuda()
        return moved.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else moved
    return value


def apart(value):
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def leaves(value):
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]


def step(module, args, keywords):
    """What a module gives, and every gradient then."""
    out = module(*args, **keywords)
    parts = [t for t in leaves(out) if t.is_floating_point()]
    if any(t.requires_grad for t in parts):
        sum((t.double() * t.double()).sum() for t in parts if t.requires_grad).backward()
    slopes = [t.grad for t in leaves((args, keywords)) if t.is_floating_point() and t.requires_grad] + [p.grad for p in module.parameters()]
    return leaves(out), slopes, [b for b in module.buffers()]


def module_differs(info, kind, training):
    asked = 0
    for k, sample in enumerate(info.module_inputs_func(info, device="cpu", dtype=kind, requires_grad=True, training=training)):
        if sample.forward_input is None:
            continue
        args, keywords = sample.constructor_input.args, dict(sample.constructor_input.kwargs)
        torch.manual_seed(k)
        module = info.module_cls(*args, **keywords).to(kind)
        if any(isinstance(m, torch.nn.Dropout) and m.p for m in module.modules()) and training or any(getattr(m, "dropout", 0.0) for m in module.modules()) and training:
            continue        # random
        module.train(training)
        if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
            module(*sample.forward_input.args, **sample.forward_input.kwargs)      # has its parameters from then on
        other = copy.deepcopy(module).cuda()
        given = sample.forward_input.args, sample.forward_input.kwargs
        try:
            want = step(module, *tree_map(apart, given))
        except (RuntimeError, NotImplementedError):     # not for the CPU
            continue
        got = step(other, *tree_map(there, given))
        asked += 1
        for what, a, b in zip(("result", "gradients", "buffers"), got, want):
            if [t is None for t in a] != [t is None for t in b]:
                return asked, f"sample {k} {sample.desc}: {what}: one is lost"
            why = difference([t for t in a if t is not None], [t for t in b if t is not None], BOUND[kind])
            if why:
                return asked, f"sample {k} {sample.desc} {keywords}: {what}: {why}"
    return asked, None


def modules(names):
    right, wrong, none = 0, 0, []
    for info in module_db:
        name = info.module_cls.__module__.split(".modules")[0] + "." + info.module_cls.__name__
        if names and name not in names or any(r in name for r in RANDOM):
            continue
        total, why = 0, None
        for training in (True, False) if info.train_and_eval_differ else (True,):
            for kind in (torch.float32, torch.float64):
                if kind not in info.dtypes or why:
                    continue
                try:
                    asked, why = module_differs(info, kind, training)
                    total += asked
                except Exception as e:
                    why = f"{type(e).__name__} " + " ".join(str(e).split())[:300]
                why = why and f"{kind} {'training' if training else 'in use'}: {why}"
        if not total and not why:
            none.append(name)
            continue
        if why:
            print("FAIL", name, why)
            sys.stdout.flush()
        right, wrong = right + (not why), wrong + bool(why)
    if none:
        print("skip", *none, "have no sample that the CPU takes")
    print("ok" if not wrong else "FAIL", f"modules: {right} of {right + wrong} right")
    sys.stdout.flush()
    return wrong


def trained(info, keywords, kind, device, schedule=None):
    torch.manual_seed(7)
    first = [torch.randn(6, 5, dtype=kind), torch.randn(3, 4, dtype=kind)] if info.optim_cls.__name__ == "Muon" else \
        [torch.randn(6, 5, dtype=kind), torch.randn(5, dtype=kind), torch.randn((), dtype=kind)]
    slopes = [[torch.randn_like(p) for p in first] for _ in range(4)]
    params = [p.to(device).requires_grad_() for p in first]
    keywords = {n: v.to(device) if isinstance(v, torch.Tensor) and device == "cuda" and keywords.get("capturable") else v for n, v in keywords.items()}
    optimiser = info.optim_cls(params, **keywords)
    turned = schedule and schedule(optimiser)
    for round_ in slopes:
        def closure():
            optimiser.zero_grad()
            if info.only_supports_sparse_grads:
                for p, g in zip(params, round_):
                    p.grad = (g if g.dim() else g.reshape(())).to(device).to_sparse()
                return torch.zeros(())
            loss = sum((p * g.to(device)).sum() + (p * p).sum() for p, g in zip(params, round_))
            loss.backward()
            return loss
        if info.step_requires_closure:
            optimiser.step(closure)
        else:
            closure()
            optimiser.step()
        if turned is not None:
            turned.step(1.0) if "Plateau" in type(turned).__name__ else turned.step()
    state = [v for p in params for v in optimiser.state[p].values() if isinstance(v, torch.Tensor) and v.layout == torch.strided and v.numel() == p.numel()]
    return params, state


def optimisers(names):
    right, wrong = 0, 0
    for info in optim_db:
        name, bad, ran = info.optim_cls.__name__, [], 0
        if names and name not in names:
            continue
        for kind in (torch.float32, torch.float64):
            for sample in info.optim_inputs_func(device="cuda") + info.optim_inputs_func(device="cpu"):
                for schedule in (None, *(s[0] for s in info.scheduler_inputs)):
                    for way in ({}, {"foreach": True}, {"foreach": False}, {"fused": True}):
                        flag = next(iter(way), None)
                        if flag == "fused" and "cuda" not in info.supports_fused_on or flag == "foreach" and "foreach" not in info.supported_impls or \
                           flag and (schedule or "differentiable" in sample.kwargs or kind is torch.float64):
                            continue
                        keywords = {n: v for n, v in sample.kwargs.items()}
                        try:
                            cpu = {n: v for n, v in keywords.items() if n != "capturable"}
                            want = trained(info, cpu, kind, "cpu", schedule)
                        except Exception:       # settings that are for a device, or an error in themselves
                            continue
                        ran += 1
                        try:
                            got = trained(info, keywords | way, kind, "cuda", schedule)
                            why = difference(got[0], want[0], BOUND[kind])
                        except Exception as e:
                            why = f"{type(e).__name__} " + " ".join(str(e).split())[:200]
                        if why:
                            bad.append(f"{kind} {keywords | way}: {why}")
        for why in sorted(set(bad))[:6]:
            print("FAIL", name, why)
        print("ok" if not bad else "FAIL", f"{name}: {ran - len(bad)} of {ran} settings right")
        sys.stdout.flush()
        right, wrong = right + (not bad), wrong + bool(bad)
    print("ok" if not wrong else "FAIL", f"optimisers: {right} of {right + wrong} right")
    return wrong


if __name__ == "__main__":
    asked = set(sys.argv[1:])
    wrong = modules(asked) if not asked or any(n.startswith("torch.") for n in asked) else 0
    wrong += optimisers(asked) if not asked or any("." not in n for n in asked) else 0
    sys.exit(bool(wrong))
