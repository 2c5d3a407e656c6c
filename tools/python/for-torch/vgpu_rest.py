# SPDX-License-Identifier: MIT
"""vgpu run --torch: the operators that FlagGems has not, by torch's own kernels for the CPU.

Called once by sitecustomize.py after FlagGems' operators are registered. What then still has a kernel of torch's own for CUDA, which
is machine code and cannot run here, gets one that takes its tensors to the host, asks the same operator there, and brings back what
it returns and what it wrote. Said once on stderr; vgpu run -v names each. Views, empty tensors, copies and cuBLAS's products need no
kernel of torch's and stay as they are.
"""
import functools
import os
import sys
import threading
import torch
import vgpu_right

# No kernel of torch's own, or none that the CPU has in its meaning.
LEAVE = {"mm", "bmm", "addmm", "_int_mm", "_scaled_mm", "_addmm_activation", "copy_", "_copy_from", "_copy_from_and_resize", "_local_scalar_dense",
         "empty", "empty_strided", "_efficientzerotensor", "resize_", "set_", "_fused_sdp_choice", "is_pinned", "_pin_memory"}
LEAVE_BEGINNINGS = ("cudnn", "_cudnn", "miopen", "_sparse", "sparse", "_nested", "_cslt", "_flash", "_scaled_dot_product", "_efficient_attention",
                    "quantize", "_fake_quantize", "fake_quantize", "_triton")

# Of integers FlagGems makes integers here where torch makes floats, or takes them, or their factors, by way of floats.
FLOATS_ONLY = {"log", "addmv", "addmv.out", "atan2", "erf", "special_i1", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow_.Scalar",
               "pow_.Tensor", "addcmul", "addcdiv", "upsample_bicubic2d"}

# What FlagGems makes of whole numbers by way of floats, or of unsigned ones below 0; of halves it adds up rounded steps, and of doubles floats.
_NOT_FLOATS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64)
STEPS = {"linspace": _NOT_FLOATS, "logspace": _NOT_FLOATS, "arange": (torch.uint8, torch.float64)}

# What writes truths of anything: Triton stores them by way of bytes, so that 0.3, NaN and 256 were false.
TRUTHS = {"_to_copy", "copy_", "fill", "fill_", "masked_fill", "masked_fill_", "full", "full_like"}

# Of whole numbers torch makes wide ones here, so that nothing overflows.
WIDE = {"sum", "prod", "cumsum"}

# What is of another type when it is summed is so before: FlagGems takes what it has summed as that.
OF_TYPE = WIDE | {"mean"}

# Whose whole numbers FlagGems takes by way of floats, which have not all of these; of triu those of up to 16 bits are right; mean refuses them.
BY_FLOATS = {"dot", "vdot", "mv", "prod", "ceil", "triu", "triu_", "mean"}

# What leaves numbers as they are, and serves what crosses to the host itself.
COPIES = {"copy_", "_to_copy", "clone", "contiguous", "zero_", "zeros", "resolve_conj", "resolve_neg"}

# Of bytes torch makes bytes here.
BYTES = {"any", "all"}

# Written by what does not say so: batch_norm's in training, update_stats'.
UNSAID = {"running_mean", "running_var"}

# Whose results the CPU's kernels lay out in another order than CUDA's.
ORDERED = {"_fft_r2c", "_fft_c2r", "_fft_c2c", "_linalg_svd"}

# Of sparse tensors: what says how they are made, or makes them of parts. All else is by the host.
PARTS_OF_SPARSE = {"_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "_dimI", "_dimV", "is_coalesced", "indices", "values", "_coalesced_", "crow_indices", "col_indices",
                   "ccol_indices", "row_indices", "empty", "empty_like", "_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "copy_",
                   "copy_sparse_to_sparse_", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "resize_", "clone", "permute", "unsqueeze", "select", "zero_"}

_said = set()


def _say(name):
    if os.environ.get("VGPU_TURN") == "1" and name not in _said:
        print(f"vgpu run --torch: {name}: by torch's CPU kernel", file=sys.stderr)
    elif not _said:
        print(f"vgpu run --torch: {name}, and what else FlagGems has not, is computed by torch's CPU kernels (vgpu run -v names each)",
              file=sys.stderr)
    _said.add(name)


def _flat(t):
    """What lies from t's first element to its last, in memory's order: one piece, so copies of it need no kernel."""
    span = 1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride())) if t.numel() else 0
    return torch.as_strided(t, (span,), (1,), t.storage_offset())


def _copy(to, of):
    """Both flat and of one kind, one of them on the host: bytes, so that no operator asks what they mean."""
    if of.numel():
        to.view(torch.uint8).copy_(of.view(torch.uint8))


def _expanded(value):
    if isinstance(value, (list, tuple)):
        return any(_expanded(v) for v in value)
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and 0 in value.stride() and value.numel() > 1


def _own_places(value):
    """What is expanded, element by element: torch's median for the CPU sorts what it takes for its own copy of it."""
    if isinstance(value, (list, tuple)):
        return [_own_places(v) for v in value]
    return value.contiguous() if _expanded(value) else value


def _host_generator(generator):
    """Numbers that follow from the device's generator, whose place in its sequence moves on."""
    if generator is None:
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
    if generator.device.type != "cuda":
        return generator
    at = generator.get_offset()
    generator.set_offset(at + 4)
    return torch.Generator().manual_seed((generator.initial_seed() * 0x9E3779B97F4A7C15 + at) % 2 ** 63)


class _Call:
    """One call on its way to the host and back."""

    def __init__(self):
        self.flats, self.tensors, self.device = {}, {}, None

    def to_host(self, value):
        if isinstance(value, torch.Tensor) and value.is_cuda:
            if id(value) not in self.tensors:
                self.device = value.device
                if value.layout != torch.strided:
                    self.tensors[id(value)] = (value, None, value.cpu())
                    return self.tensors[id(value)][2]
                conj, neg = value.is_conj(), value.is_neg()     # bits of a view, which says nothing of what lies in memory
                there = value.conj() if conj else value
                there = torch._neg_view(there) if neg else there
                flat = torch.empty_like(_flat(there), device="cpu")
                _copy(flat, _flat(there))
                here = torch.as_strided(flat, there.shape, there.stride(), 0)
                here = torch._neg_view(here) if neg else here
                self.tensors[id(value)] = (there, flat, here.conj() if conj else here)
            return self.tensors[id(value)][2]
        if isinstance(value, (list, tuple)):
            return [self.to_host(v) for v in value]
        if isinstance(value, torch.device) and value.type == "cuda":
            self.device = value
            return torch.device("cpu")
        return value

    def written(self, value):
        if isinstance(value, (list, tuple)):
            for v in value:
                self.written(v)
        elif id(value) in self.tensors:
            there, flat, here = self.tensors[id(value)]
            if flat is None:
                there.copy_(here.to(self.device))
            elif here.shape != there.shape:     # an operator gives its "out" the size that it needs
                _copy(_flat(there.resize_(here.shape)), here.flatten())
            else:
                _copy(_flat(there), flat)

    def to_device(self, value):
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided:
                return value.to(self.device or "cuda")
            # in the order that it has on the host, which Inductor counts on: a factorisation's is by columns
            value = value.resolve_conj().resolve_neg()
            if vgpu_right.in_one_piece(value):
                there = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=self.device or "cuda")
                _copy(_flat(there), _flat(value))
            else:
                there = torch.empty(value.shape, dtype=value.dtype, device=self.device or "cuda")
                _copy(_flat(there), value.flatten())
            return there
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_device(v) for v in value) if type(value) in (list, tuple) else tuple(self.to_device(v) for v in value)
        return value


def _as_traced(op, args, keywords, parts):
    """parts in the order in memory that Inductor counts on: what torch says of this operator on a device, of no data."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_map
    with FakeTensorMode() as mode:
        fake = tree_map(lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, (args, keywords))
        shapes = op(*fake[0], **fake[1])
    shapes = [shapes] if isinstance(shapes, torch.Tensor) else shapes
    # what it says of a transform of all dimensions of a transposed tensor has elements that lie on each other
    fits = [p.stride() != s.stride() and vgpu_right.in_one_piece(s) for p, s in zip(parts, shapes)]
    return [torch.empty_strided(p.shape, s.stride(), dtype=p.dtype).copy_(p) if fit else p for p, s, fit in zip(parts, shapes, fits)]


def _number(value, given):
    """A number in a tensor's place, as that of x ^ 5 comes here, has no say in the result's type beyond its kind."""
    first = next((v for v in given if isinstance(v, torch.Tensor)), None)
    return torch.tensor(value) if first is None else torch.tensor(value, dtype=torch.result_type(first, value))


def _by_host(name, op):
    arguments, returns = op._schema.arguments, op._schema.returns
    writes = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write or a.name in UNSAID and "backward" not in name]
    random = any(a.name == "generator" for a in arguments)
    takes_tensor = {a.name for a in arguments if str(a.type) in ("Tensor", "Optional[Tensor]")}

    def run(*args, **keywords):
        _say(op.name())
        given = {a.name: v for a, v in zip(arguments, args)} | keywords
        numbers = [n for n, v in given.items() if n in takes_tensor and isinstance(v, (bool, int, float, complex))]
        call = _Call()
        values = {n: call.to_host(v) for n, v in given.items()}
        values = {n: v if n in writes else _own_places(v) for n, v in values.items()}
        if random:
            values["generator"] = _host_generator(given.get("generator"))
        positional = [a.name for a in arguments[:len(args)]]

        def asked(operator):
            return operator(*[values[n] for n in positional], **{n: v for n, v in values.items() if n not in positional})

        try:        # a number in a tensor's place: another form of the operator takes it
            result = asked(op.overloadpacket if numbers else op)
        except (RuntimeError, TypeError):
            if not numbers:
                raise
            values |= {n: _number(values[n], given.values()) for n in numbers}
            result = asked(op)
        for n in writes:
            call.written(given.get(n))
        if not returns:
            return None
        # what comes back by name of what was written is the caller's own tensor
        own = {frozenset(a.alias_info.before_set): given.get(a.name) for a in arguments if a.alias_info is not None}
        parts = [result] if len(returns) == 1 else list(result)
        if name in ORDERED:
            parts = _as_traced(op, args, keywords, parts)
        elif any(_expanded(v) for n, v in given.items() if n not in writes):        # in places of its own it had a say in the result's order
            parts = vgpu_right.placed(op, args, keywords, parts)
        asked = given.get("device")
        stays = asked is not None and torch.device(asked).type == "cpu"
        parts = [own[frozenset(r.alias_info.before_set)] if r.alias_info is not None else p if stays else call.to_device(p)
                 for r, p in zip(returns, parts)]
        return parts[0] if len(returns) == 1 else tuple(parts)

    return run


def _padded(nested, padding, size=None):
    """torch launches its own kernel for it, and does not ask whether that ran."""
    parts = nested.unbind()
    least = [max(t.shape[d] for t in parts) for d in range(parts[0].dim())]
    size = [len(parts), *least] if size is None else list(size)
    if len(size) != len(least) + 1 or size[0] < len(parts) or any(a < b for a, b in zip(size[1:], least)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    padded = torch.full(size, padding, dtype=parts[0].dtype, device=nested.device)
    for i, t in enumerate(parts):
        padded[(i, *(slice(n) for n in t.shape))].copy_(t)
    return padded


def _operator(name, space="aten"):
    packet, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")


STRANGE = (torch.float64, torch.uint16, torch.uint32, torch.uint64)


def _strange(values):
    """Tensors that FlagGems' operators are not made for: complex numbers, nothing at all, and doubles and wide unsigned ones, which many take by way of others."""
    return any(v.is_complex() or not v.numel() or v.dtype in STRANGE if isinstance(v, torch.Tensor) else isinstance(v, (list, tuple)) and _strange(v) for v in values)


def _as_truths(args, keywords):
    """Of arguments for a result of truths, each its truth."""
    if (keywords.get("dtype") or getattr(args[0], "dtype", None)) is not torch.bool:
        return args
    return [a != 0 if isinstance(a, torch.Tensor) and a.dtype is not torch.bool or isinstance(a, (int, float, complex)) else a for a in args]


def _of_default(values):
    """What is made of whole numbers is of torch's default type then, where FlagGems has floats first."""
    return torch.get_default_dtype() is not torch.float32 and not any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)


def _overlap(to, of):
    """A copy within one tensor, which FlagGems hands on to torch's own kernel."""
    return isinstance(of, torch.Tensor) and to.is_cuda and of.is_cuda and torch._C._is_alias_of(to, of)


def or_host(name, f):
    """f, an operator of FlagGems, where it takes what it is given: some have forms that are not made yet, or call the operator that they
    are, for ever. What is no fault of FlagGems' is an error on the host too, in torch's own words."""
    inside = threading.local()
    packet = name.partition(".")[0]
    indices, anyhow = vgpu_right.INDICES.get(packet), vgpu_right.element_wise(f)
    in_place = packet.endswith("_") and not name.startswith("__")

    @functools.wraps(f)
    def run(*args, **keywords):
        if packet in TRUTHS:
            args = _as_truths(args, keywords)
        if packet in vgpu_right.NARROW:
            args = vgpu_right.narrowed(args)
        if packet in WIDE and keywords.get("dtype") is None and args[0].dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32):
            args = (args[0].long(), *args[1:])
        if packet in OF_TYPE and keywords.get("dtype") not in (None, args[0].dtype):
            args = (args[0].to(keywords["dtype"]), *args[1:])
        fractions = packet == "arange" and any(isinstance(v, float) for v in (*args, *(keywords.get(n) for n in ("start", "end", "step"))))
        if packet == "arange" and keywords.get("dtype") is None:        # FlagGems' are whole numbers then, of any steps
            keywords["dtype"] = torch.get_default_dtype() if fractions else torch.int64
        foreign = fractions and not keywords["dtype"].is_floating_point or packet not in COPIES and _of_default(args) or packet in BY_FLOATS and not args[0].is_floating_point() and (not packet.startswith("triu") or args[0].element_size() > 2) or \
            name in FLOATS_ONLY and not any(isinstance(a, torch.Tensor) and a.is_floating_point() for a in args) or \
            name == "copy_" and _overlap(*args[:2]) or packet in BYTES and args[0].dtype == torch.uint8 or \
            packet in STEPS and keywords.get("dtype") in STEPS[packet] or vgpu_right.out_of_range(args, keywords) or \
            keywords.get("generator") is not None       # FlagGems' own goes on, whatever generator is asked
        if not foreign and not getattr(inside, "itself", False) and not _strange(args):
            inside.itself = True
            try:
                if indices:
                    indices(*args, **keywords)
                taken, named, strewn = args, keywords, vgpu_right.scattered((*args, *keywords.values()))
                if strewn and not anyhow:
                    if "out" in keywords:
                        raise NotImplementedError
                    taken, named = vgpu_right.dense(tuple(args)), {n: vgpu_right.dense(v) for n, v in keywords.items()}
                result = f(*taken, **named)
                if in_place:
                    result = result if isinstance(result, torch.Tensor) else taken[0]
                    if result.data_ptr() != args[0].data_ptr():
                        args[0].copy_(result)   # scatter_add_ computes in a copy, and leaves it at that
                if in_place:
                    return args[0]
                return vgpu_right.placed(_operator(name), args, keywords, result) if strewn and "out" not in keywords else result
            except (torch.AcceleratorError, torch.OutOfMemoryError):
                raise
            except Exception:   # by a check or Triton's compiler, before anything ran
                pass
            finally:
                inside.itself = False
        return _by_host(name, _operator(name))(*args, **keywords)

    return run


def _registered(libraries):
    return {key.split("/")[1] for library in libraries for key in getattr(library, "_op_impls", ()) if key.endswith("/CUDA")}


def register(libraries):
    """libraries: those whose operators stay. Returns the one with the rest."""
    taken, rest = _registered(libraries), torch.library.Library("aten", "IMPL")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        packet = name.partition(".")[0]
        if space != "aten" or name in taken or packet in LEAVE or packet.startswith(LEAVE_BEGINNINGS) or not has(full, "CUDA") or \
           not any(has(full, key) for key in ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")):
            continue
        op = _operator(name)
        if any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns):
            continue            # a view
        rest.impl(name, _by_host(name, op), "CUDA")
    for key in ("SparseCUDA", "SparseCsrCUDA"):
        for full in torch._C._dispatch_get_all_op_names():
            space, _, name = full.partition("::")
            if space == "aten" and name.partition(".")[0] not in PARTS_OF_SPARSE and has(full, key) and has(full, key.replace("CUDA", "CPU")):
                rest.impl(name, _by_host(name, _operator(name)), key)
    rest.impl("to_padded_tensor", _padded, "NestedTensorCUDA")
    # made of kernels of torch's own, the backward step with one for CUDA: as a whole it crosses to the host and back once
    rest.impl("convolution", _by_host("convolution", _operator("convolution")), "CUDA")
    return rest


def register_of(space):
    """The operators of a package beside torch (torchvision's nms, roi_align, ...), whose kernels are machine code in its wheel too. Returns the library."""
    rest, has = torch.library.Library(space, "IMPL"), torch._C._dispatch_has_kernel_for_dispatch_key
    for full in torch._C._dispatch_get_all_op_names():
        whose, _, name = full.partition("::")
        if whose == space and has(full, "CUDA") and has(full, "CPU"):
            rest.impl(name, _by_host(name, _operator(name, space)), "CUDA")
    return rest
