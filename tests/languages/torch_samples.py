# SPDX-License-Identifier: MIT
"""PyTorch's own samples of its operators (torch.testing's op_db) on the device by vgpu run --torch, against the CPU: results and gradients.

Up to four samples an operator, in float32, float64 and int64, or the types that are named. Prints a line for each that is not right, and the sum for
each type. Bounds: the largest difference is 1e-4 of the largest value in float32, 1e-9 in float64; integers are equal. Halves are asked twice: what the CPU makes of
them, then what it makes of the same values in float32; one of the two is met within 4 units of the last place.
Usage: torch_samples.py [TYPE[/EVERY][:FORM[,FORM]...]]...        float16/3: every third operator; float32:turned: with arguments that lie otherwise in memory;
float32:in-place, float32:out: the forms that write to their first argument, or to what they are given
"""
import sys
import warnings
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo
from torch.utils._pytree import tree_flatten, tree_map

warnings.simplefilter("ignore")
# Random by what they are, or empty.
RANDOM = ("empty", "rand", "dropout", "bernoulli", "multinomial", "normal", "exponential", "uniform", "cauchy", "geometric", "fractional",
          "rrelu", "lowrank", "sparse")
# Known to differ, and how.
KNOWN = {"nn.functional.multi_head_attention_forward": "its second sample has dropout"}
BOUND = {torch.float32: 1e-4, torch.float64: 1e-9, torch.int64: 1e-5, torch.int32: 1e-5, torch.uint8: 1e-5, torch.bool: 1e-5, torch.complex64: 1e-4,
         torch.float16: 4e-3, torch.bfloat16: 3e-2}
HALVES = (torch.float16, torch.bfloat16)


_compiled = None


def use(compiled):
    """What makes a function of an operator, which then runs on the device in its place."""
    global _compiled
    _compiled = compiled


def left_out(op):
    return any(r in op.name for r in RANDOM) or op.name in KNOWN


def tensors(values):
    return [t for t in tree_flatten(values)[0] if isinstance(t, torch.Tensor)]


def wide(value):
    return value.detach().float() if isinstance(value, torch.Tensor) and value.dtype in HALVES else value


def difference(got, want, bound):
    got, want = tensors(got), tensors(want)
    want = [b.to(a.dtype) if a.dtype in HALVES and b.dtype == torch.float32 else b for a, b in zip(got, want)] + want[len(got):]
    if len(got) != len(want):
        return f"{len(got)} tensors, not {len(want)}"
    for a, b in zip(got, want):
        a, b = a.detach().cpu(), b.detach()
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype} {tuple(a.shape)}, not {b.dtype} {tuple(b.shape)}"
        if b.layout != torch.strided or not (b.is_floating_point() or b.is_complex()):
            if b.layout == torch.strided and not torch.equal(a, b):
                return "differs"
            continue
        finite = b[b.isfinite()]
        scale = finite.abs().max().item() if finite.numel() else 1.0
        if not torch.allclose(a, b, rtol=bound, atol=bound * max(scale, 1.0), equal_nan=True):
            return f"off by {(a - b).abs().max().item():.2g} of {scale:.2g}"
    return None


def gradient(outputs, x):
    return torch.autograd.grad(sum((t * t).sum() for t in outputs), x, allow_unused=True)[0]


def there(value):
    """On the device as it lies on the host."""
    if not isinstance(value, torch.Tensor):
        return "cuda" if isinstance(value, str) and value == "cpu" else value
    if value.layout != torch.strided or not value.numel():
        return value.cuda()
    if value.untyped_storage().nbytes() != value.numel() * value.element_size() and not value.is_conj() and not value.is_neg():      # a part of what as_strided sees whole
        whole = value.detach().new_empty(0).set_(value.untyped_storage())
        return torch.as_strided(whole.cuda(), value.shape, value.stride(), value.storage_offset())
    if torch._prims_common.is_non_overlapping_and_dense(value):
        return value.cuda()
    span = 1 + sum((n - 1) * step for n, step in zip(value.shape, value.stride()))
    flat = torch.as_strided(value.detach(), (span,), (1,), value.storage_offset())
    return torch.as_strided(flat.clone().cuda(), value.shape, value.stride())


def spread(t):
    """Every second element of a tensor twice as wide."""
    return t.new_zeros(*t.shape[:-1], t.shape[-1] * 2)[..., ::2].copy_(t)


def turned(t):
    return t.transpose(0, -1).contiguous().transpose(0, -1)


def expanded(t):
    """The first along a dimension in all places of it."""
    return t[:1].clone().expand(t.shape)


def poisoned(t):
    """Every third element is NaN, an infinity, zero of either sign, or far away."""
    odd = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e4, -1e4, 1e-5], dtype=t.dtype if t.is_floating_point() else torch.float32)
    flat = t.clone().flatten()
    if t.is_floating_point():
        flat[1::3] = odd.repeat(flat.numel() // 8 + 1)[:flat[1::3].numel()]
    return flat.view(t.shape)


def in_place(op):
    return op.inplace_variant and (lambda x, *args, **keywords: op.inplace_variant(x.clone(), *args, **keywords))


def given_out(op):
    """op that writes to tensors of the right size, and to empty ones."""
    def run(*args, **keywords):
        asked = op(*args, **keywords)
        if isinstance(asked, torch.Tensor):
            whole, grown = torch.zeros_like(asked), asked.new_empty(0)
        else:
            whole, grown = tuple(map(torch.zeros_like, asked)), tuple(t.new_empty(0) for t in asked)
        return op(*args, **keywords, out=whole), op(*args, **keywords, out=grown), whole, grown
    return run if op.supports_out else None


def large(t):
    """Whole numbers that floats have not, all different."""
    return t if t.is_floating_point() or t.dtype is torch.bool else t * (16777259 if t.dtype is torch.int32 else 1125899906842679) + torch.arange(t.numel()).view(t.shape).to(t.dtype)


WRITTEN = {"in-place": in_place, "out": given_out}
FORMS = {"": None, "in-place": None, "out": None, "spread": spread, "turned": turned, "expanded": expanded, "poisoned": poisoned, "large": large}
# What reads memory beside its elements, which another form of them does not have; what torch's CPU has wrong of expanded tensors; factors of what is singular
# then; where CUDA's gradient at NaN is another; and NaN as a whole number
NOT_FORMED = ("as_strided", "view_as_complex", "median", "cholesky", "pinverse", "linalg", "max", "min", "lu", "svd", "ormqr", "geqrf",
              "short", "char", "byte", "int", "long")


def formed(value, form):
    return form(value.detach()) if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel() > 1 and value.dim() else value


def sample_differs(op, s, kind, bound):
    why = sample_differs_from(op, s, kind, bound, lambda value: value)
    # the CPU's sums of halves are halves in places
    return sample_differs_from(op, s, kind, bound, wide) if why and kind in HALVES else why


def sample_differs_from(op, s, kind, bound, asked):
    slopes = op.supports_autograd and kind.is_floating_point and isinstance(s.input, torch.Tensor) and s.input.is_floating_point()
    x = tree_map(asked, s.input)
    x = x.detach().clone().requires_grad_() if slopes else x
    y = tree_map(there, s.input)
    y = y.detach().requires_grad_() if slopes else y
    args, keywords = tree_map(there, s.args), tree_map(there, s.kwargs)
    try:
        want = op(x, *tree_map(asked, s.args), **tree_map(asked, s.kwargs))
    except Exception:           # no operator of the CPU's
        return None
    f = op
    if _compiled:
        torch._dynamo.reset()
        f = _compiled(lambda *a, **k: op(*a, **k))
    got = f(y, *args, **keywords)
    why = difference(got, want, bound)
    if why or not slopes:
        return why
    a, b = ([t for t in tensors(v) if t.is_floating_point() and t.requires_grad] for v in (got, want))
    if len(a) != len(b):
        return "its gradient is lost"
    if not b:
        return None
    try:
        want = gradient(b, x)
    except RuntimeError:
        return None
    got = gradient(a, y)
    if (got is None) != (want is None):
        return "its gradient is lost"
    why = difference(got, want, bound)
    return why and f"gradient {why}"


def written(op, s, form, kind):
    """Why the form of op that writes differs, or nothing. What the CPU refuses is not asked."""
    f = WRITTEN[form](op)
    try:
        want = f(s.input, *s.args, **s.kwargs)
    except Exception:
        return None
    why = difference(f(*tree_map(there, (s.input, *s.args)), **tree_map(there, s.kwargs)), want, BOUND[kind])
    if why and kind in HALVES and form == "out":    # the CPU's sums of halves are halves in places
        return sample_differs(op, s, kind, BOUND[kind])
    return why


def run(kind, ops=op_db, samples=4, form=None, writes=None):
    right, wrong = 0, 0
    for op in ops:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if form and op.name.startswith(NOT_FORMED) or writes and not WRITTEN[writes](op):
            continue
        if kind not in op.dtypes or left_out(op):
            continue
        why = None
        try:
            for k, s in enumerate(op.sample_inputs("cpu", kind, requires_grad=False)):
                if k == samples or why:
                    break
                if s.kwargs.get("dropout_p"):       # random
                    continue
                if form is large and isinstance(op, BinaryUfuncInfo) and "shift" in op.name:
                    continue
                if op.name in ("sort", "argsort"):      # what is alike comes in any order, unless it is asked not to
                    s = type(s)(s.input, kwargs={**dict(zip(("dim", "descending"), s.args)), **s.kwargs, "stable": True})
                if form is large:       # what stands behind may be an index
                    both = isinstance(op, BinaryUfuncInfo)
                    s = type(s)(*tree_map(lambda v: formed(v, form), (s.input,)), args=tree_map(lambda v: formed(v, form), s.args) if both else s.args, kwargs=s.kwargs)
                elif form:
                    given, args, keywords = tree_map(lambda v: formed(v, form), (s.input, s.args, s.kwargs))
                    s = type(s)(given, args=args, kwargs=keywords)
                why = written(op, s, writes, kind) if writes else sample_differs(op, s, kind, BOUND[kind])
                why = why and f"sample {k}: {why}"
        except NotImplementedError:         # torch has it for the CPU alone
            continue
        except RuntimeError as e:
            why = None if "to be on cpu" in str(e) else f"{type(e).__name__} " + " ".join(str(e).split())[:200]
        except Exception as e:
            why = f"{type(e).__name__} " + " ".join(str(e).split())[:200]
        if why:
            print("FAIL", kind, name, why)
            sys.stdout.flush()
        right, wrong = right + (not why), wrong + bool(why)
    print("ok" if not wrong and right else "FAIL", f"{kind}: {right} of {right + wrong} operators right")
    sys.stdout.flush()
    return wrong or not right


if __name__ == "__main__":
    for name, why in KNOWN.items():
        print("skip", f"{name}: {why}")
    wrong = False
    for asked in sys.argv[1:] or ("float32", "float64", "int64"):
        which, _, forms = asked.partition(":")
        kind, _, every = which.partition("/")
        for form in forms.split(","):
            wrong |= bool(run(getattr(torch, kind), op_db[::int(every or 1)], form=FORMS[form], writes=form if form in WRITTEN else None))
    sys.exit(wrong)
