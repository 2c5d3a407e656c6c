# SPDX-License-Identifier: MIT
"""vgpu run --torch: eager PyTorch by FlagGems.

PyTorch's own kernels are machine code in every wheel, so not one of them runs on a device that takes PTX. FlagGems (pip install flag_gems)
has many of the same operators in Triton; when a program has imported torch they are registered in their places, by its own
flag_gems.enable(). Those that it has not: vgpu_cells.py, vgpu_rest.py; those that it has wrong: vgpu_right.py; what its start need not do: vgpu_quick.py.
Nothing of torch is changed on disk. Python imports this file by itself when its folder is on PYTHONPATH.
"""
import contextlib
import importlib
import importlib.machinery
import os
import sys


# Products that torch has from cuBLAS, which needs no kernel of torch's and is faster than a search among Triton's.
CUBLAS = ["mm", "mm_out", "bmm", "bmm_out", "addmm", "addmm_out", "baddbmm"]

# Wrong in FlagGems 5.0.2, by torch's own samples: layer_norm's rows (below), batch_norm of a model that does not train, groups, ties
# and indices of running extremes, windows over the edge, infinities, what is broadcast, an index twice. topk of a row with -inf or NaN, or of
# integers, finds elements beyond the row.
WRONG = ["layer_norm", "layer_norm_backward", "softmax_backward", "batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward", "cummax",
         "cummin", "avg_pool2d", "avg_pool2d_backward", "logaddexp", "logaddexp_out", "masked_scatter", "masked_scatter_", "index_add_", "topk",
         "_upsample_nearest_exact1d"]

_kept = []      # registrations last as long as their library object


def _enable():
    import vgpu_quick
    try:
        _no_search()
        with _as_ampere(), vgpu_quick.importing():
            import flag_gems
    except ImportError as e:
        print(f"vgpu run --torch: eager operators need FlagGems, and it cannot be imported ({e}): pip install flag_gems==5.0.2",
              file=sys.stderr)
        return
    vgpu_quick.imported()
    import vgpu_cells
    import vgpu_rest
    import vgpu_right
    vgpu_right.types_in_keys()
    flag_gems._FULL_CONFIG = tuple(entry for entry in vgpu_right.operators(flag_gems._FULL_CONFIG, vgpu_rest.or_host)
                                   if not _loses_its_gradient(entry[0]))
    flag_gems.enable(unused=CUBLAS + WRONG)
    _in_place(flag_gems)
    _given_out(flag_gems)
    _layer_norm_by_rows()
    _batch_norm_beside_its_input()
    _softmax_in_order()
    _products_and_sums()
    _attention_in_parts()
    _signs()
    _one_by_one()
    _without_cudnn()
    _kept.append(vgpu_cells.register())
    _kept.append(vgpu_rest.register([flag_gems.aten_lib, *_kept]))


@contextlib.contextmanager
def _as_ampere():
    """FlagGems 5.0.2 has forms of its own for 9.0, of which mul reads what is broadcast as if it were dense: other memory, multiplied in silence.
    It asks ARCH, when it is imported, before the device; those for 8.0 are right there too."""
    import torch
    ours = not os.environ.get("ARCH") and torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9
    if ours:
        os.environ["ARCH"] = "sm_80"
    try:
        yield
    finally:
        if ours:
            del os.environ["ARCH"]


def _no_search():
    """FlagGems tries up to some forty forms of a kernel for each new shape, timed, in seconds each: the form with the fewest stages does.
    What the program's own kernels or torch.compile try is their own matter."""
    from triton.runtime import autotuner
    tuned = autotuner.Autotuner.__init__

    def init(self, fn, names, configs, *a, **k):
        innermost = fn
        while hasattr(innermost, "fn"):
            innermost = innermost.fn
        file = getattr(getattr(innermost, "__code__", None), "co_filename", "")
        if configs and ("/flag_gems/" in file or "/.flaggems/" in file):
            configs = [min(configs, key=lambda c: c.num_stages or 0)]
        tuned(self, fn, names, configs, *a, **k)

    autotuner.Autotuner.__init__ = init


def _loses_its_gradient(name):
    """Autograd knows the derivative of the parts of an operator that torch makes of others, not its own: registered for a device, as
    FlagGems does with some fifty of them (square, pad, var, prelu, conv2d in torch.compile, ...), its gradient is lost, with no word. Torch's way stays."""
    import torch
    if name.endswith("_backward"):
        return False
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CompositeImplicitAutograd")
    except RuntimeError:        # torch has none of this name
        return False


def _takes_tensor(operator):
    """True where what comes behind the operator's first argument is a tensor."""
    return len(operator._schema.arguments) > 1 and str(operator._schema.arguments[1].type) == "Tensor"


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

        def in_place(first, *a, operator=operator, **k):
            number = _takes_tensor(operator) and a and isinstance(a[0], (bool, int, float))     # another form takes it
            return first.copy_((operator.overloadpacket if number else operator)(first, *a, **k))

        library.impl(form, in_place, "CUDA")
    _kept.append(library)


def _form_with_out(packet, operator):
    """The overload that takes what operator takes, and writes to "out"; or nothing."""
    wanted = [(a.name, str(a.type)) for a in operator._schema.arguments]
    for overload in packet.overloads():
        form = getattr(packet, overload)
        if [a.name for a in form._schema.arguments if a.is_out] == ["out"] and [(a.name, str(a.type)) for a in form._schema.arguments if not a.is_out] == wanted:
            return form
    return None


def _given_out(flag_gems):
    """What FlagGems writes to tensors that it is given, it writes beyond their end where they are too small; torch gives them the size that it needs."""
    import torch
    library = torch.library.Library("aten", "IMPL")
    for name in sorted({entry[0] for entry in flag_gems._FULL_CONFIG}):
        packet, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, packet, None)
        if name.startswith("_") or name in CUBLAS or packet is None or (overload or "default") not in packet.overloads():
            continue
        operator = getattr(packet, overload or "default")
        form = _form_with_out(packet, operator)
        if form is None or len(operator._schema.returns) != 1 or not torch._C._dispatch_has_kernel_for_dispatch_key(form.name(), "CUDA"):
            continue
        typed = any(a.name == "dtype" for a in operator._schema.arguments)

        def run(*a, out, operator=operator, typed=typed, **k):
            if typed and k.get("dtype") is None:
                k["dtype"] = out.dtype
            result = operator(*a, **k)
            if not torch.can_cast(result.dtype, out.dtype):
                raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
            return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)

        library.impl(form.name().removeprefix("aten::"), run, "CUDA")
    _kept.append(library)


def _layer_norm_by_rows():
    """FlagGems 5.0.2 takes the first dimension for the rows in layer_norm's backward step: wrong where there are three or more. And it hands out the
    statistics in a row, where torch has them in the input's own shape, which vmap counts on."""
    import math
    import torch
    import vgpu_rest
    from flag_gems.ops.layernorm import layer_norm, layer_norm_backward

    def one(shape):
        if math.prod(shape) == 1:       # its mean is not quite the number itself, and that is divided by nearly nothing
            raise NotImplementedError

    def forward(x, shape, weight=None, bias=None, eps=1e-5):
        one(shape)
        y, *statistics = layer_norm(x, shape, weight, bias, eps)
        kept = (*x.shape[:x.dim() - len(shape)], *(1 for _ in shape))
        kind = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
        return (y, *(t.to(kind).reshape(kept) for t in statistics))

    def backward(grad, x, shape, mean, rstd, weight=None, bias=None, mask=None):
        one(shape)
        rows = (-1, math.prod(shape))
        flat = [t if t is None else t.reshape(-1) for t in (weight, bias)]
        gx, gw, gb = layer_norm_backward(grad.reshape(rows), x.reshape(rows), shape, mean.reshape(-1), rstd.reshape(-1), *flat, mask)
        return (gx if gx is None else gx.reshape(x.shape), *(g if g is None else g.reshape(shape) for g in (gw, gb)))

    library = torch.library.Library("aten", "IMPL")
    library.impl("native_layer_norm", vgpu_rest.or_host("native_layer_norm", forward), "CUDA")
    library.impl("native_layer_norm_backward", vgpu_rest.or_host("native_layer_norm_backward", backward), "CUDA")
    _kept.append(library)


def _batch_norm_beside_its_input():
    """FlagGems 5.0.2 writes the running mean and variance into its input where a layer keeps none, as instance_norm does: the first values of it were others
    then, in silence. The statistics of a batch are for who trains; else torch has none."""
    import torch
    import vgpu_rest
    from flag_gems.ops.batch_norm import batch_norm

    def forward(x, weight=None, bias=None, mean=None, var=None, training=False, momentum=0.1, eps=1e-5):
        if mean is None or var is None:
            mean, var = x.new_zeros(x.shape[1], dtype=torch.float32), x.new_ones(x.shape[1], dtype=torch.float32)
        y, *statistics = batch_norm(x, weight, bias, mean, var, training, momentum, eps)
        return (y, *statistics) if training else (y, *(t.new_empty(0) for t in statistics))

    library = torch.library.Library("aten", "IMPL")
    library.impl("native_batch_norm", vgpu_rest.or_host("native_batch_norm", forward), "CUDA")
    _kept.append(library)


def _softmax_in_order():
    """FlagGems 5.0.2 reads softmax's result backwards as if it were dense, whatever its strides."""
    import torch
    import vgpu_rest
    from flag_gems.ops.softmax import softmax_backward

    def backward(grad, result, dim, dtype):
        return softmax_backward(grad, result.contiguous(), dim, dtype)

    library = torch.library.Library("aten", "IMPL")
    library.impl("_softmax_backward_data", vgpu_rest.or_host("_softmax_backward_data", backward), "CUDA")
    _kept.append(library)


def _products_and_sums():
    """addmm and baddbmm begin with a copy of what is added, by a kernel of torch's own. Only a bias of one row travels with cuBLAS's
    product, and by torch's rules not where the product has a side of 1: a last layer of one output, say. Of halves the sum is made in floats, and rounded
    once, as by cuBLAS."""
    import torch
    aten, library = torch.ops.aten, torch.library.Library("aten", "IMPL")
    with_bias = {form: torch.library.get_kernel("aten::" + form, "CUDA") for form in ("addmm", "addmm.out")}

    def travels(added, b, beta):
        return added.dim() == 1 and added.is_contiguous() and added.shape[0] == b.shape[1] and min(b.shape) > 1 and beta == 1 and \
            added.dtype == b.dtype and added.dtype in (torch.float32, torch.float16, torch.bfloat16)

    def total(form, added, a, b, beta, alpha):
        wide = a.dtype in (torch.float16, torch.bfloat16) and not (alpha == 1 and beta == 0)
        product = form.dtype(a, b, torch.float32) if wide else form(a, b)
        product = product if alpha == 1 else product * alpha
        if beta != 0:       # else what is added is not looked at, NaN or not
            added = added.float() if wide else added
            product = product + (added if beta == 1 else added * beta)
        return product.to(a.dtype) if wide else product

    def addmm(keys, added, a, b, *, beta=1, alpha=1):
        if travels(added, b, beta):
            return with_bias["addmm"].call_boxed(keys, added, a, b, beta=beta, alpha=alpha)
        return total(aten.mm, added, a, b, beta, alpha)

    def addmm_out(keys, added, a, b, *, beta=1, alpha=1, out):
        if travels(added, b, beta) and out.is_contiguous() and out.shape == (a.shape[0], b.shape[1]):
            return with_bias["addmm.out"].call_boxed(keys, added, a, b, beta=beta, alpha=alpha, out=out)
        return out.resize_(a.shape[0], b.shape[1]).copy_(total(aten.mm, added, a, b, beta, alpha))

    library.impl("addmm", addmm, "CUDA", with_keyset=True)
    library.impl("addmm.out", addmm_out, "CUDA", with_keyset=True)
    library.impl("addmm_", lambda added, a, b, *, beta=1, alpha=1: added.copy_(total(aten.mm, added, a, b, beta, alpha)), "CUDA")
    library.impl("baddbmm", lambda added, a, b, *, beta=1, alpha=1: total(aten.bmm, added, a, b, beta, alpha), "CUDA")
    library.impl("baddbmm_", lambda added, a, b, *, beta=1, alpha=1: added.copy_(total(aten.bmm, added, a, b, beta, alpha)), "CUDA")
    library.impl("baddbmm.out", lambda added, a, b, *, beta=1, alpha=1, out:
                 out.resize_(a.shape[0], a.shape[1], b.shape[2]).copy_(total(aten.bmm, added, a, b, beta, alpha)), "CUDA")
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


def _without_cudnn():
    """Batch normalisation, recurrent layers and transposed convolutions have a way of torch's own beside cuDNN's, which cannot start."""
    import torch
    torch.backends.cudnn.enabled = False


def _no_flushing(benchmarking):
    """Inductor fills a buffer of the size of the second cache two hundred times for each form of a kernel that it times, so that the cache
    is cold. What is cold there is the host's cache; the filling took minutes for a model of two layers."""
    benchmarker = getattr(benchmarking, "InductorBenchmarker", None)
    if benchmarker is not None and hasattr(benchmarker, "L2_cache_size"):
        benchmarker.L2_cache_size = 4096


def _of_package(module):
    """A package's operators in machine code, those that have a form for the CPU."""
    if "vgpu_rest" in sys.modules:      # not where FlagGems is missing, which has been said
        _kept.append(sys.modules["vgpu_rest"].register_of(module.__name__))


# What is done once a module has been imported: by the sitecustomize of vgpu run that this one is passed on to.
BEHIND = {"torch": lambda module: _enable(), "torch._inductor.runtime.benchmarking": _no_flushing, "torchvision": _of_package, "torchaudio": _of_package} \
    if os.environ.get("VGPU_TORCH") == "1" else {}


def _next_sitecustomize():
    """The one that this file hides, if there is one: of the folders behind the last that is this one."""
    here, at = os.path.dirname(os.path.abspath(__file__)), [os.path.abspath(p or ".") for p in sys.path]
    behind = sys.path[len(at) - at[::-1].index(here):] if here in at else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec and spec.loader:
        module = type(sys)(spec.name)
        module.__spec__, module.__file__ = spec, spec.origin
        spec.loader.exec_module(module)


_next_sitecustomize()
