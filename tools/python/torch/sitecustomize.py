# SPDX-License-Identifier: MIT
"""vgpu run --torch: eager PyTorch by FlagGems.

PyTorch's own kernels are machine code in every wheel, so not one of them runs on a device that takes PTX. FlagGems (pip install flag_gems)
has the same operators in Triton; when a program has imported torch they are registered in their places, by its own flag_gems.enable().
Nothing of torch is changed on disk. Python imports this file by itself when its folder is on PYTHONPATH.
"""
import importlib
import importlib.machinery
import os
import sys


# Products that torch has from cuBLAS, which needs no kernel of torch's and is faster than a search among Triton's.
CUBLAS = ["mm", "mm_out", "bmm", "bmm_out", "addmm", "addmm_out", "baddbmm"]

# FlagGems registers these below autograd, where torch makes them of others: their gradient was lost, with no word. Torch's way stays.
MADE_OF_OTHERS = ["square", "square_", "square_out", "absolute", "clip", "clip_", "diag", "hstack", "vstack", "kron", "pad", "tile", "var",
                  "var_dim", "selu"]


_kept = []      # registrations last as long as their library object


def _enable():
    try:
        import flag_gems
    except ImportError as e:
        print(f"vgpu run --torch: eager operators need FlagGems, and it cannot be imported ({e}): pip install flag_gems==5.0.2",
              file=sys.stderr)
        return
    flag_gems.enable(unused=CUBLAS + MADE_OF_OTHERS + ["layer_norm_backward"])
    _in_place(flag_gems)
    _layer_norm_by_rows()
    _products_and_sums()
    _attention_in_parts()
    _signs()
    _one_by_one()


def _in_place(flag_gems):
    """Where FlagGems has an operator and not its form that writes to its first argument, that is the operator and a copy."""
    import torch
    have = {entry[0] for entry in getattr(flag_gems, "_FULL_CONFIG", ())}
    library = torch.library.Library("aten", "IMPL")
    for entry in sorted(have):
        name, _, overload = entry.partition(".")
        form = f"{name}_.{overload}" if overload else f"{name}_"
        packet = getattr(torch.ops.aten, name + "_", None)
        if name.startswith("_") or name in CUBLAS or form in have or packet is None or (overload or "default") not in packet.overloads() or \
           not torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + form, "CUDA"):
            continue
        operator = getattr(getattr(torch.ops.aten, name), overload or "default")
        library.impl(form, lambda first, *a, operator=operator, **k: first.copy_(operator(first, *a, **k)), "CUDA")
    _kept.append(library)


def _layer_norm_by_rows():
    """FlagGems 5.0.2 takes the first dimension for the rows in layer_norm's backward step: wrong where there are three or more."""
    import math
    import torch
    from flag_gems.ops.layernorm import layer_norm_backward

    def backward(grad, x, shape, mean, rstd, weight=None, bias=None, mask=None):
        rows = (-1, math.prod(shape))
        flat = [t if t is None else t.reshape(-1) for t in (weight, bias)]
        gx, gw, gb = layer_norm_backward(grad.reshape(rows), x.reshape(rows), shape, mean.reshape(-1), rstd.reshape(-1), *flat, mask)
        return (gx if gx is None else gx.reshape(x.shape), *(g if g is None else g.reshape(shape) for g in (gw, gb)))

    library = torch.library.Library("aten", "IMPL")
    library.impl("native_layer_norm_backward", backward, "CUDA")
    _kept.append(library)


def _products_and_sums():
    """addmm and baddbmm begin with a copy of what is added, by a kernel of torch's own. Only a bias of one row travels with cuBLAS's
    product, and by torch's rules not where the product has a side of 1: a last layer of one output, say."""
    import torch
    aten, library = torch.ops.aten, torch.library.Library("aten", "IMPL")
    with_bias = {form: torch.library.get_kernel("aten::" + form, "CUDA") for form in ("addmm", "addmm.out")}

    def travels(added, b, beta):
        return added.dim() == 1 and added.is_contiguous() and added.shape[0] == b.shape[1] and min(b.shape) > 1 and beta == 1 and \
            added.dtype == b.dtype and added.dtype.is_floating_point

    def total(product, added, beta, alpha):
        product = product if alpha == 1 else product * alpha
        if beta == 0:       # what is added is not looked at then, NaN or not
            return product
        return product + (added if beta == 1 else added * beta)

    def addmm(keys, added, a, b, *, beta=1, alpha=1):
        if travels(added, b, beta):
            return with_bias["addmm"].call_boxed(keys, added, a, b, beta=beta, alpha=alpha)
        return total(aten.mm(a, b), added, beta, alpha)

    def addmm_out(keys, added, a, b, *, beta=1, alpha=1, out):
        if travels(added, b, beta) and out.is_contiguous() and out.shape == (a.shape[0], b.shape[1]):
            return with_bias["addmm.out"].call_boxed(keys, added, a, b, beta=beta, alpha=alpha, out=out)
        return out.resize_(a.shape[0], b.shape[1]).copy_(total(aten.mm(a, b), added, beta, alpha))

    library.impl("addmm", addmm, "CUDA", with_keyset=True)
    library.impl("addmm.out", addmm_out, "CUDA", with_keyset=True)
    library.impl("addmm_", lambda added, a, b, *, beta=1, alpha=1: added.copy_(total(aten.mm(a, b), added, beta, alpha)), "CUDA")
    library.impl("baddbmm", lambda added, a, b, *, beta=1, alpha=1: total(aten.bmm(a, b), added, beta, alpha), "CUDA")
    library.impl("baddbmm_", lambda added, a, b, *, beta=1, alpha=1: added.copy_(total(aten.bmm(a, b), added, beta, alpha)), "CUDA")
    library.impl("baddbmm.out", lambda added, a, b, *, beta=1, alpha=1, out:
                 out.resize_(a.shape[0], a.shape[1], b.shape[2]).copy_(total(aten.bmm(a, b), added, beta, alpha)), "CUDA")
    _kept.append(library)


def _attention_in_parts():
    """scaled_dot_product_attention has three fused forms, all of torch's own kernels; the fourth is made of operators that are here."""
    import torch
    for form in ("flash", "mem_efficient", "cudnn"):
        switch = getattr(torch.backends.cuda, f"enable_{form}_sdp", None)
        if switch:
            switch(False)


def _signs():
    """sgn, which abs and l1_loss use backwards, and FlagGems lacks; 0 for NaN, as torch has it. Complex numbers stay torch's own matter."""
    import torch
    if not torch._C._dispatch_has_kernel_for_dispatch_key("aten::sgn", "CUDA"):
        return
    kept, library = torch.library.get_kernel("aten::sgn", "CUDA"), torch.library.Library("aten", "IMPL")

    def sgn(keys, t):
        return kept.call_boxed(keys, t) if t.is_complex() else (t > 0).to(t.dtype) - (t < 0).to(t.dtype)

    library.impl("sgn", sgn, "CUDA", with_keyset=True)
    _kept.append(library)


def _one_by_one():
    """Optimisers and gradient clipping take parameters one by one: the kernels that take lists of them are torch's own only."""
    for name in ("torch.utils._foreach_utils", "torch.optim.optimizer"):
        module = importlib.import_module(name)
        ask = getattr(module, "_get_foreach_kernels_supported_devices", None)
        if ask:
            module._get_foreach_kernels_supported_devices = lambda ask=ask: [d for d in ask() if d != "cuda"]


class _AfterTorch:
    """Stands before the other finders until torch has been imported once."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _enable()

        spec.loader.exec_module = exec_module
        return spec


def _next_sitecustomize():
    """The one that this file hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec and spec.loader:
        module = type(sys)(spec.name)
        module.__spec__, module.__file__ = spec, spec.origin
        spec.loader.exec_module(module)


if os.environ.get("VGPU_TORCH") == "1":
    sys.meta_path.insert(0, _AfterTorch())
_next_sitecustomize()
