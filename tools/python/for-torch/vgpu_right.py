# SPDX-License-Identifier: MIT
"""vgpu run --torch: where FlagGems 5.0.2 answers something else than torch, in silence.

Called by vgpu_rest.py around each operator of FlagGems', and by sitecustomize.py for those that are made anew here: bounds and extremes by
which NaN is seen, as torch has it. All of it was found by torch's own samples (tests/languages/torch_samples.py) in many forms of arguments.
"""
import functools
import math
import torch
import triton
import triton.language as tl
from flag_gems.utils import pointwise_dynamic
from flag_gems.utils.triton_lang_extension import div_rn, fmod, trunc
from triton.language.extra import libdevice



# ---- arguments that an operator is not made for

def element_wise(f):
    """True for what takes tensors element by element, wherever they lie: FlagGems makes its code for their strides. The others count on dense ones."""
    seen, left, by_element = set(), [f], type(f).__name__ == "PointwiseDynamicFunction"
    while left:
        g = left.pop()
        if id(g) in seen or not hasattr(g, "__code__"):
            continue
        seen.add(id(g))
        for name in g.__code__.co_names:
            used = g.__globals__.get(name)
            if isinstance(used, triton.KernelInterface):
                return False
            by_element |= type(used).__name__ == "PointwiseDynamicFunction"
            if getattr(used, "__module__", None) == g.__module__:
                left.append(used)
    return by_element


def scattered(values):
    return any(isinstance(v, torch.Tensor) and v.is_cuda and not v.is_contiguous() or isinstance(v, (list, tuple)) and scattered(v) for v in values)


def dense(value):
    if isinstance(value, torch.Tensor):
        return value.contiguous() if value.is_cuda and value.layout == torch.strided else value
    return type(value)(dense(v) for v in value) if type(value) in (list, tuple) else value


# in torch 2.12 and newer, by its other name, as far as it is known
in_one_piece = getattr(torch._prims_common, "is_non_overlapping_and_dense", None) or torch._prims_common.is_non_overlapping_and_dense_or_false


def _without_elements(value):
    if isinstance(value, torch.Tensor):
        # of halves torch says what it would make of copies as floats; a GPU makes none
        kind = torch.float32 if value.dtype in (torch.float16, torch.bfloat16) else value.dtype
        return torch.empty_strided(value.shape, value.stride(), dtype=kind, device="meta")
    return type(value)(_without_elements(v) for v in value) if type(value) in (list, tuple) else value


def _placed(result, wanted, args):
    if isinstance(result, (list, tuple)):
        return type(result)(_placed(r, w, args) for r, w in zip(result, wanted)) if isinstance(wanted, (list, tuple)) else result
    if not isinstance(result, torch.Tensor) or not isinstance(wanted, torch.Tensor) or result.shape != wanted.shape or result.stride() == wanted.stride() or \
       not in_one_piece(wanted) or any(isinstance(a, torch.Tensor) and torch._C._is_alias_of(result, a) for a in args):
        return result
    return torch.empty_strided(wanted.shape, wanted.stride(), dtype=result.dtype, device=result.device).copy_(result)


def placed(op, args, keywords, result):
    """A result with its elements where op of torch has them: behind each other as the arguments' are (channels_last, a transposed matrix), where what was computed
    has them in rows. Extensions count on that, by strides that they do not look at."""
    try:
        keywords = {n: torch.device("meta") if isinstance(v, torch.device) else _without_elements(v) for n, v in keywords.items()}
        wanted = op(*_without_elements(tuple(args)), **keywords)
    except Exception:       # there is no form of it without elements
        return result
    return _placed(result, [wanted] if isinstance(wanted, torch.Tensor) and isinstance(result, list) else wanted, args)


def out_of_range(args, keywords):
    """Numbers that the type of the tensors beside them has not: torch makes them that type's, or refuses; FlagGems computes with the number as it is."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    numbers = [a for a in (*args, *keywords.values()) if isinstance(a, (int, float))]
    if not tensors or not numbers:
        return False
    kind = tensors[0].dtype
    if kind.is_floating_point:
        most = torch.finfo(kind).max
        return kind in (torch.float16, torch.bfloat16) and any(math.isfinite(n) and abs(n) > most for n in numbers)
    if kind is torch.bool and keywords.get("alpha") is not None:
        return True
    if kind is torch.bool or kind.is_complex:
        return any(isinstance(n, float) and not math.isfinite(n) for n in numbers)
    limits = torch.iinfo(kind)
    return any(not limits.min <= n <= limits.max if isinstance(n, int) else not math.isfinite(n) for n in numbers)


# Whose number is of the tensor's type; in sums and products torch for CUDA leaves it wide.
NARROW = {"eq", "ne", "lt", "le", "gt", "ge", "remainder", "isin"}


def narrowed(args):
    """Numbers beside halves, as halves: x == 0.1 is true of the half next to it."""
    kind = next((a.dtype for a in args if isinstance(a, torch.Tensor)), None)
    if kind not in (torch.float16, torch.bfloat16):
        return args
    return [torch.tensor(a, dtype=kind).item() if isinstance(a, float) else a for a in args]


def of_one_type(args):
    """Tensors of several types as the one that torch computes in."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    kind = tensors[0].dtype
    for t in tensors[1:]:
        kind = torch.result_type(torch.empty((0,) if kind is not tensors[0].dtype or tensors[0].dim() else (), dtype=kind), t)
    return [a.to(kind) if isinstance(a, torch.Tensor) and a.dtype is not kind else a for a in args]


def types_in_keys():
    """FlagGems keeps a compiled kernel by its arguments, for which True, 1 and 1.0 are one: what was made for x + True served x + 2, too."""
    from flag_gems.utils.libentry import LibEntry
    whole = LibEntry.key

    def key(self, spec_args, dns_args, const_args):
        return (*whole(self, spec_args, dns_args, const_args), *(type(a) for a in (*dns_args, *const_args) if isinstance(a, (bool, int, float))))

    LibEntry.key = key


# ---- indices

@triton.jit(debug=True, do_not_specialize=["low", "high", "ignored", "n"])
def _within(index, low, high, ignored, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + at, mask=at < n, other=low)
    tl.device_assert((i >= low) & (i < high) | (i == ignored), "index out of bounds")


def check(index, low, high, ignored=None):
    """Asserts on the device that indices are low or more and less than high, or what is ignored, as torch's kernels do: else the context ends with the error of
    an assertion, at the next call that waits."""
    if index.numel() and index.dtype in (torch.int64, torch.int32):
        index = index.contiguous()
        _within[(triton.cdiv(index.numel(), 1024),)](index, low, high, low if ignored is None else ignored, index.numel(), 1024)


def _each_index(t, indices, *rest, **keywords):
    at = 0
    for index in indices:
        if index is None:
            at += 1
        elif index.dtype in (torch.bool, torch.uint8):
            at += index.dim()
        else:
            check(index, -t.shape[at], t.shape[at])
            at += 1


def _along(t, dim, index, *rest, **keywords):
    size = t.shape[dim] if t.dim() else 1
    check(index, 0, size)


def _rows(weight, indices, *rest, **keywords):
    check(indices, 0, weight.shape[0])


def _classes(values, target, weight=None, reduction=1, ignore_index=-100, *rest):
    check(target, 0, values.shape[1 if values.dim() > 1 else 0], ignore_index)


# What looks at the indices of an operator before it runs. Those that are not here are checked by torch's kernels for the host.
INDICES = {"index": _each_index, "index_put": _each_index, "index_put_": _each_index, "_index_put_impl_": _each_index, "index_select": _along, "gather": _along,
           "scatter": _along, "scatter_": _along, "scatter_add_": _along, "embedding": _rows, "nll_loss_forward": _classes, "nll_loss2d_forward": _classes}


# ---- bounds and extremes: NaN is the largest and the smallest there is

@triton.jit
def _wide(x):
    return x.to(tl.float32) if x.dtype == tl.bfloat16 or x.dtype == tl.float16 else x


@triton.jit
def _larger(x, y):
    return tl.where((x > y) | (x != x), x, y)


@triton.jit
def _smaller(x, y):
    return tl.where((x < y) | (x != x), x, y)


@pointwise_dynamic(is_tensor=[True, True], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _maximum(x, y):
    return _larger(_wide(x), _wide(y))


@pointwise_dynamic(is_tensor=[True, True], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _minimum(x, y):
    return _smaller(_wide(x), _wide(y))


@pointwise_dynamic(is_tensor=[True, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _maximum_number(x, y):
    return _larger(_wide(x), y)


@pointwise_dynamic(is_tensor=[True, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _minimum_number(x, y):
    return _smaller(_wide(x), y)


def _limited(x, bound, by_tensor, by_number):
    if bound is None:
        return x
    if isinstance(bound, torch.Tensor):
        return by_tensor(*of_one_type([x, bound]))
    kind = torch.result_type(x, bound)
    return by_number(x if x.dtype is kind else x.to(kind), bound)


def clamp(x, least=None, most=None):
    if least is None and most is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if any(isinstance(bound, float) and bound != bound for bound in (least, most)):     # a bound that is NaN does not bind, unless there are two
        if least is not None and most is not None:
            return torch.full_like(x, math.nan, dtype=torch.result_type(x, math.nan))
        return x.to(torch.result_type(x, math.nan), copy=True)
    for bound in (least, most):     # of all three, before the first is applied
        if bound is not None:
            kind = torch.result_type(x, bound)
            x = x if x.dtype is kind else x.to(kind)
    return _limited(_limited(x, least, _maximum, _maximum_number), most, _minimum, _minimum_number)


def maximum(x, y):
    return _maximum(*of_one_type([x, y]))


def minimum(x, y):
    return _minimum(*of_one_type([x, y]))


@triton.jit
def _before_max(a, i, b, j):
    first = (a > b) | (a != a) & (b == b) | ((a == b) | (a != a) & (b != b)) & (i < j)
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def _before_min(a, i, b, j):
    first = (a < b) | (a != a) & (b == b) | ((a == b) | (a != a) & (b != b)) & (i < j)
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def _extreme(x, values, places, n, rest, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    """One program for each row: n elements, `rest` apart. Elements of no row are the row's first again, which comes before them."""
    row = tl.program_id(0).to(tl.int64)
    start = x + row // rest * n * rest + row % rest
    lane = tl.arange(0, BLOCK)
    best = tl.load(start + lane * 0)
    at = lane.to(tl.int64) * 0
    for first in range(0, n, BLOCK):
        i = first + lane.to(tl.int64)
        i = tl.where(i < n, i, 0)
        v = tl.load(start + i * rest)
        if LARGEST:
            best, at = _before_max(best, at, v, i)
        else:
            best, at = _before_min(best, at, v, i)
    if LARGEST:
        best, at = tl.reduce((best, at), 0, _before_max)
    else:
        best, at = tl.reduce((best, at), 0, _before_min)
    tl.store(values + row, best)
    tl.store(places + row, at)


def extreme(x, dim, keepdim, largest):
    """The largest or smallest along dim, and where it is first."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    dim = dim % x.dim() if -x.dim() <= dim < x.dim() else x.shape[dim]
    shape = list(x.shape)
    n, shape[dim] = shape[dim], 1
    values = torch.empty(shape, dtype=x.dtype, device=x.device)
    places = torch.empty(shape, dtype=torch.int64, device=x.device)
    raw = [t.view(torch.uint8) if t.dtype is torch.bool else t for t in (x.contiguous(), values)]
    with torch.cuda.device(x.device):
        _extreme[(values.numel(),)](*raw, places, n, math.prod(shape[dim + 1:]), largest, min(1024, triton.next_power_of_2(n)))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _all_of(x, largest):
    """Of all of x: by rows of four thousand first."""
    x = x.reshape(-1)
    n = x.numel()
    if n > 8192:
        rows = n // 4096
        values, places = extreme(x[:rows * 4096].view(rows, 4096), 1, False, largest)
        first = torch.arange(rows, device=x.device) * 4096
        values, places = torch.cat([values, x[rows * 4096:]]), torch.cat([places + first, torch.arange(rows * 4096, n, device=x.device)])
        value, at = extreme(values, 0, False, largest)
        return value, places.index_select(0, at.view(1)).view(())
    return extreme(x, 0, False, largest)


def _values_of(x, dims, keepdim, largest):
    dims = sorted({d % max(x.dim(), 1) for d in ([dims] if isinstance(dims, int) else dims or range(x.dim()))}, reverse=True)
    if any(d >= x.dim() for d in dims):
        raise IndexError("Dimension out of range")
    if len(dims) == x.dim():
        value = _all_of(x, largest)[0]
        return value.view([1] * x.dim()) if keepdim else value
    for d in dims:
        x = extreme(x, d, keepdim, largest)[0]
    return x


def _place_of(x, dim, keepdim, largest):
    if dim is None:
        at = _all_of(x, largest)[1]
        return at.view([1] * x.dim()) if keepdim else at
    return extreme(x, dim, keepdim, largest)[1]


# ---- comparisons of whole numbers: FlagGems has them by way of floats, to which 2 ** 31 - 1 is 2 ** 31

@triton.jit
def _eq(x, y):
    return x.to(tl.int64) == y.to(tl.int64)


@triton.jit
def _ne(x, y):
    return x.to(tl.int64) != y.to(tl.int64)


@triton.jit
def _lt(x, y):
    return x.to(tl.int64) < y.to(tl.int64)


@triton.jit
def _le(x, y):
    return x.to(tl.int64) <= y.to(tl.int64)


@triton.jit
def _gt(x, y):
    return x.to(tl.int64) > y.to(tl.int64)


@triton.jit
def _ge(x, y):
    return x.to(tl.int64) >= y.to(tl.int64)


COMPARED = {"eq": _eq, "ne": _ne, "lt": _lt, "le": _le, "gt": _gt, "ge": _ge}


def _whole(value):
    return isinstance(value, int) if not isinstance(value, torch.Tensor) else not value.is_floating_point()


def comparing_by(name, of_floats, by_number):
    of_whole = pointwise_dynamic(is_tensor=[True, not by_number], promotion_methods=[(0, 1, "ALWAYS_BOOL")])(COMPARED[name])

    def compare(x, y):
        if _whole(x) and _whole(y):
            return of_whole(x, y)
        return of_floats(*of_one_type([x, y]))
    return compare


def equal(x, y):
    if x.dtype is not y.dtype:
        raise NotImplementedError
    return x.shape == y.shape and bool((x == y).all())


# ---- what else

@triton.jit
def _rest(x, y):
    if x.dtype.is_floating() or y.dtype.is_floating():
        r = fmod(x.to(tl.float32), y.to(tl.float32))    # quotients of any size
    else:
        r = x % y
    return tl.where((r != 0) & ((r < 0) ^ (y < 0)), r + y, r)


@pointwise_dynamic(promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _remainder(x, y):
    return _rest(x, y)


@pointwise_dynamic(is_tensor=[True, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _remainder_number(x, y):
    return _rest(x, y)


@pointwise_dynamic(is_tensor=[False, True], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _remainder_of_number(x, y):
    return _rest(x, y)


@triton.jit
def _whole_quotient(x, y):
    q = div_rn(x.to(tl.float32), y.to(tl.float32))
    return trunc((q.to(tl.bfloat16) if x.dtype == tl.bfloat16 else q.to(tl.float16) if x.dtype == tl.float16 else q).to(tl.float32))


@pointwise_dynamic(promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _quotient(x, y):
    return _whole_quotient(x, y)


@pointwise_dynamic(is_tensor=[True, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _quotient_by_number(x, y):
    return _whole_quotient(x, y)


def divide_by(f):
    """FlagGems rounds a quotient to 0 before it cuts it off: 1 / 0.1 was 9."""
    @functools.wraps(f)
    def div(x, y, *, rounding_mode=None):
        if rounding_mode != "trunc" or _whole(x) or _whole(y) and not isinstance(y, int):
            return f(x, y, rounding_mode=rounding_mode)
        return _quotient(*of_one_type([x, y])) if isinstance(y, torch.Tensor) else _quotient_by_number(x, y)
    return div


def var_mean(x, dim=None, *, correction=None, keepdim=False):
    """By what is left of each element without the mean: the mean of squares less the square of the mean has no digits left where the mean is large."""
    dims = [d % max(x.dim(), 1) for d in (dim if dim else range(x.dim()))]
    y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    mean = y.mean(dims, True)
    left = y - mean
    n = math.prod(x.shape[d] for d in dims) if x.dim() else 1
    var = (left * left).sum(dims, keepdim) / float(max(n - (1 if correction is None else correction), 0))
    return var.to(x.dtype), (mean if keepdim or not x.dim() else mean.squeeze(dims)).to(x.dtype)


@pointwise_dynamic(promotion_methods=[(0, "DEFAULT")])
@triton.jit
def relu(x):
    return tl.where(x <= 0, 0, x)


@pointwise_dynamic(is_tensor=[True, False, False], promotion_methods=[(0, "DEFAULT")])
@triton.jit
def threshold(x, least, value):
    return tl.where(x <= least, value, x)


@pointwise_dynamic(is_tensor=[True, True, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def threshold_backward(grad, x, least):
    return tl.where(x <= least, 0, grad)


@pointwise_dynamic(promotion_methods=[(0, "DEFAULT")])
@triton.jit
def hardsigmoid(x):
    y = x.to(tl.float32) / 6 + 0.5
    return tl.where(y <= 0, 0.0, tl.where(y >= 1, 1.0, y))


@pointwise_dynamic(promotion_methods=[(0, "INT_TO_FLOAT")])
@triton.jit
def expm1(x):
    return libdevice.expm1(x.to(tl.float32))


@pointwise_dynamic(is_tensor=[True, False, False], promotion_methods=[(0, "DEFAULT")])
@triton.jit
def softplus(x, beta, threshold):
    y = x.to(tl.float32) * beta
    return tl.where(y > threshold, x.to(tl.float32), libdevice.log1p(tl.exp(y)) / beta)


@pointwise_dynamic(promotion_methods=[(0, "INT_TO_FLOAT")])
@triton.jit
def log1p(x):
    return libdevice.log1p(x.to(tl.float32))


@pointwise_dynamic(promotion_methods=[(0, "INT_TO_FLOAT")])
@triton.jit
def sinh(x):
    return libdevice.sinh(x.to(tl.float32))


@pointwise_dynamic(promotion_methods=[(0, "INT_TO_FLOAT")])
@triton.jit
def asinh(x):
    return libdevice.asinh(x.to(tl.float32))


@pointwise_dynamic(is_tensor=[True, False, False, False], promotion_methods=[(0, "DEFAULT")])
@triton.jit
def elu(x, alpha, scale, inside):
    y = x.to(tl.float32)
    return tl.where(y <= 0, libdevice.expm1(y * inside) * (alpha * scale), y * scale)


@pointwise_dynamic(is_tensor=[True, True, False, False, False, False], promotion_methods=[(0, 1, "DEFAULT")])
@triton.jit
def _elu_backward(grad, x, alpha, scale, inside, of_result):
    y, g = x.to(tl.float32), grad.to(tl.float32)
    slope = tl.where(of_result, y + alpha * scale, alpha * scale * tl.exp(y * inside))
    return tl.where(y <= 0, g * inside * slope, g * scale)


@pointwise_dynamic(promotion_methods=[(0, "INT_TO_FLOAT")])
@triton.jit
def angle(x):
    return tl.where(x != x, x, tl.where(x < 0, 3.141592653589793, 0.0))


@triton.jit
def _log_softmax(x, result, n, BLOCK: tl.constexpr):
    row, lane = tl.program_id(0).to(tl.int64) * n, tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, n, BLOCK):
        v = tl.load(x + row + first + lane, mask=first + lane < n, other=float("-inf")).to(tl.float32)
        most = _larger(most, v)
    top = tl.reduce(most, 0, _larger)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        v = tl.load(x + row + first + lane, mask=first + lane < n, other=float("-inf")).to(tl.float32)
        total += tl.where(first + lane < n, tl.exp(v - top), 0.0)
    log = tl.log(tl.sum(total))
    for first in range(0, n, BLOCK):
        v = tl.load(x + row + first + lane, mask=first + lane < n, other=0.0).to(tl.float32)
        tl.store(result + row + first + lane, v - top - log, mask=first + lane < n)


def log_softmax(x, dim, half_to_float=False):
    if not x.dim():
        return log_softmax(x.view(1), 0, half_to_float).view(())
    rows = x.movedim(dim, -1)
    result = torch.empty(rows.shape, dtype=torch.float32 if half_to_float else x.dtype, device=x.device)
    n = rows.shape[-1]
    with torch.cuda.device(x.device):
        _log_softmax[(result.numel() // n,)](rows.contiguous(), result, n, min(1024, triton.next_power_of_2(n)))
    return result.movedim(-1, dim).contiguous()


def sort_by(f):
    """By bits -0 comes before 0, and NaN of a sign before all; to torch zeros are equal, and NaN is the last."""
    def sort(x, *order, **keywords):
        if not x.is_floating_point():
            values, places = f(x, *order, **keywords)
            return values.clone() if values is x else values, places
        dim = keywords.get("dim", order[-2] if len(order) > 1 else order[0] if order and not isinstance(order[0], bool) else -1)
        places = f(torch.where(x != x, math.nan, x + 0), *order, **keywords)[1]
        return (x.gather(dim, places) if x.dim() else x.clone()), places
    return sort


def below_by(f):
    """Numbers up to 1, without it: halves just below it are rounded to it."""
    def rand(*args, **keywords):
        x = f(*args, **keywords)
        return x.masked_fill_(x == 1, 0) if x.dtype in (torch.float16, torch.bfloat16) else x
    return rand


def uniform_by(f):
    def uniform_(x, least=0, most=1, **keywords):
        y = f(x, least, most, **keywords)
        return y.masked_fill_(y >= most, least) if y.dtype in (torch.float16, torch.bfloat16) and most > least else y
    return uniform_


def exponential_(x, rate=1.0, **keywords):
    """FlagGems takes a logarithm of four terms, which is off by a tenth below 1: not one number was below 0.1."""
    if not rate > 0:
        raise NotImplementedError
    u = torch.rand(x.shape, dtype=torch.float32, device=x.device).clamp_(min=2.0 ** -25)
    return x.copy_(torch.log1p(-u).mul_(-1.0 / rate)).clamp_(min=torch.finfo(x.dtype).tiny)


def power_by(f):
    """A root is torch's own operator there, which -inf and -0 tell from a power."""
    def power(x, exponent):
        if x.is_floating_point() and exponent in (0.5, -0.5):
            return x.sqrt() if exponent > 0 else x.rsqrt()
        return f(x, exponent)
    return power


# In the place of FlagGems' own, or beside them.
MADE = {
    "pow_.Scalar": lambda x, exponent: x.copy_(torch.pow(x, exponent)),
    "remainder.Tensor": lambda x, y: _remainder(*of_one_type([x, y])),
    "remainder.Scalar": _remainder_number,
    "remainder.Scalar_Tensor": _remainder_of_number,
    "var.correction": lambda x, dim=None, **keywords: var_mean(x, dim, **keywords)[0],
    "std.correction": lambda x, dim=None, **keywords: var_mean(x, dim, **keywords)[0].sqrt(),
    "var_mean.correction": var_mean,
    "relu": relu,
    "threshold": threshold,
    "threshold_backward": threshold_backward,
    "hardsigmoid": hardsigmoid,
    "expm1": expm1,
    "log1p": log1p,
    "softplus": lambda x, beta=1, threshold=20: softplus(x, beta, threshold),
    "equal": equal,
    "exponential_": exponential_,
    "sinh": sinh,
    "asinh": asinh,
    "elu": lambda x, alpha=1.0, scale=1.0, inside=1.0: elu(x, alpha, scale, inside),
    "elu_backward": lambda grad, alpha, scale, inside, of_result, x: _elu_backward(grad, x, alpha, scale, inside, of_result),
    "celu": lambda x, alpha=1.0: elu(x, alpha, 1.0, 1 / alpha),
    "angle": angle,
    "_log_softmax": log_softmax,
    "max": lambda x: _all_of(x, True)[0],
    "min": lambda x: _all_of(x, False)[0],
    "max.dim": lambda x, dim, keepdim=False: extreme(x, dim, keepdim, True),
    "min.dim": lambda x, dim, keepdim=False: extreme(x, dim, keepdim, False),
    "amax": lambda x, dim=(), keepdim=False: _values_of(x, dim, keepdim, True),
    "amin": lambda x, dim=(), keepdim=False: _values_of(x, dim, keepdim, False),
    "aminmax": lambda x, *, dim=None, keepdim=False: tuple(_values_of(x, () if dim is None else dim, keepdim, largest) for largest in (False, True)),
    "argmax": lambda x, dim=None, keepdim=False: _place_of(x, dim, keepdim, True),
    "argmin": lambda x, dim=None, keepdim=False: _place_of(x, dim, keepdim, False),
    "maximum": maximum,
    "minimum": minimum,
    "clamp": clamp,
    "clamp.Tensor": clamp,
    "clamp_min": lambda x, least: clamp(x, least),
    "clamp_max": lambda x, most: clamp(x, None, most),
    "clamp_min.Tensor": lambda x, least: clamp(x, least),
    "clamp_max.Tensor": lambda x, most: clamp(x, None, most),
}

# In torch's own way, or by the host, which sees NaN: what is scattered over a tensor that is not dense; weights, and what is below 0; chances below 0; what is
# unique along a dimension; a product at places, which FlagGems tries for ever where it is NaN; several types; norms. Forms in place of what is made above are that and a copy:
# FlagGems' log1p_ and sinh_ were 0 near 0, asinh_(-1e4) minus infinity, digamma_ had three digits, and none at its poles.
LEFT = {"addr", "div_.Tensor_mode", "div_.Scalar_mode", "fmin", "lerp.Tensor", "lerp_.Tensor", "linalg_vector_norm", "logit", "logit_",
        "scatter.reduce", "scatter_.reduce", "select_scatter", "slice_scatter", "bincount",
        "multinomial", "unique_consecutive", "clamp_", "clamp_.Tensor", "clamp_min_", "remainder_.Scalar", "remainder_.Tensor", "relu_", "threshold_",
        "expm1_", "elu_", "celu_", "log1p_", "sinh_", "asinh_", "digamma_", "hardswish_",
        "sgn_", "hypot", "max_pool2d_with_indices", "max_pool2d_backward", "_safe_softmax"}


def operators(config, wrapped):
    """FlagGems' table of operators, as it should be; wrapped(NAME, FUNCTION) is what is registered."""
    table = {name: (f, when) for name, f, *when in config if name not in LEFT and not name.endswith("out")}      # what is given for a result may be of any size
    table.update({name: (f, ()) for name, f in MADE.items()})
    for name in COMPARED:
        for form in ("Tensor", "Scalar"):
            f, when = table[f"{name}.{form}"]
            table[f"{name}.{form}"] = (functools.wraps(f)(comparing_by(name, f, form == "Scalar")), when)
    around = {"div.Tensor_mode": divide_by, "div.Scalar_mode": divide_by, "pow.Tensor_Scalar": power_by, "sort": sort_by, "sort.stable": sort_by, "rand": below_by, "rand_like": below_by, "uniform_": uniform_by}
    for name, mended in around.items():
        f, when = table[name]
        table[name] = (functools.wraps(f)(mended(f)), when)
    return tuple((name, wrapped(name, f), *when) for name, (f, when) in table.items())
