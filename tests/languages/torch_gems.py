# SPDX-License-Identifier: MIT
"""FlagGems' operators (vgpu run --torch) as its own tests judge them, which its packages do not bring: each in float16, float32 and bfloat16 where it takes
those, against the CPU in double precision, within FlagGems' own bounds (its accuracy_utils: 1e-4 for each element that is summed, and 1e-3, 1.3e-6 or 0.016 of
the result), in shapes as its tests have, smaller. Integers, bits and orders are to be the same. ok and FAIL lines, and a count.
Usage: torch_gems.py [PART PARTS [WORDS]]        PART of PARTS, from 0 on; of these the cases whose names WORDS match"""
import re
import sys
import torch
import torch.nn.functional as F

BOUNDS = {torch.float16: 1e-3, torch.float32: 1.3e-6, torch.bfloat16: 0.016}
SHAPES = [(1,), (64, 96), (4, 20, 15), (3, 16, 8, 6)]
MATRICES = [(15, 17, 31), (64, 48, 160)]
torch.manual_seed(11)
ran = wrong = 0
part, parts = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 1)
only = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
cases = []


def leaves(x):
    return [t for y in x for t in leaves(y)] if isinstance(x, (tuple, list)) else [x]


def to(x, how):
    if isinstance(x, (tuple, list)):
        return type(x)(to(y, how) for y in x)
    return how(x) if isinstance(x, torch.Tensor) else x


def close(got, want, dtype, reduced):
    for g, w in zip(leaves(got), leaves(want), strict=True):
        if not isinstance(w, torch.Tensor):
            assert g == w, f"{g}, not {w}"
            continue
        g = g.detach().cpu()
        assert g.shape == w.shape, f"shape {tuple(g.shape)}, not {tuple(w.shape)}"
        if w.is_floating_point() or w.is_complex():
            torch.testing.assert_close(g, w.detach().to(g.dtype), atol=1e-4 * reduced, rtol=BOUNDS.get(dtype, 1.3e-6), equal_nan=True)
        else:
            assert torch.equal(g, w), "differs"


def run(name, f, args, dtype, reduced, exact, backward):
    """exact: the reference has the type itself, as where results are whole numbers or elements of what came in."""
    global ran, wrong
    ran += 1
    try:
        here = to(args, lambda t: t.cuda())
        there = to(args, (lambda t: t) if exact else lambda t: t.double() if t.is_floating_point() else t)
        if backward:
            here, there = (to(x, lambda t: t.requires_grad_() if t.is_floating_point() else t) for x in (here, there))
        got, want = f(*here), f(*there)
        close(got, want, dtype, reduced)
        if backward:
            grad = torch.randn(want.shape).to(dtype)
            ins = [[t for t in leaves(x) if isinstance(t, torch.Tensor) and t.requires_grad] for x in (here, there)]
            close(torch.autograd.grad(got, ins[0], grad.cuda()), torch.autograd.grad(want, ins[1], grad.double()), dtype, reduced)
    except Exception as e:      # the next one may still be right
        wrong += 1
        print(f"FAIL {name}: {type(e).__name__}: {' '.join(str(e).split())[:160]}", flush=True)


def case(name, f, *make, reduced=1, exact=False, backward=False, types=tuple(BOUNDS), shapes=SHAPES):
    cases.append((name, f, make, reduced, exact, backward, types, shapes))


# what makes an argument of a shape and a type
def normal(s, t):
    return torch.randn(s).to(t)


def positive(s, t):
    return (torch.rand(s) + 0.1).to(t)


def unit(s, t):
    return (torch.rand(s) * 1.8 - 0.9).to(t)


def whole(s, t):
    return torch.randint(-100, 100, s).to(t)


def bits(s, t):
    return torch.rand(s) > 0.5


def special(s, t):
    x = torch.randn(s)
    return torch.where(x > 1, torch.tensor(float("nan")), torch.where(x < -1, torch.tensor(float("-inf")), x)).to(t)


for name in "abs neg relu sign ceil floor trunc round square".split():
    case(name, getattr(torch, name), normal, exact=True)
for name in "cos sin tan exp exp2 expm1 tanh sigmoid erf sinh cosh atan asinh".split():
    case(name, getattr(torch, name), normal)
for name in "log log2 log10 log1p sqrt rsqrt reciprocal lgamma".split():
    case(name, getattr(torch, name), positive)
for name in "acos asin atanh erfinv".split():
    case(name, getattr(torch, name), unit)
for name in "isnan isinf isfinite signbit".split():
    case(name, getattr(torch, name), special, exact=True)
case("nan_to_num", torch.nan_to_num, special, exact=True)
for name in "gelu silu elu celu selu logsigmoid softplus hardsigmoid hardswish leaky_relu relu6 hardtanh mish".split():
    case(name, getattr(F, name), normal, backward=name in ("gelu", "silu", "elu", "logsigmoid"))
case("gelu, tanh", lambda x: F.gelu(x, approximate="tanh"), normal, backward=True)
# gradients that are computed of the result are asked for with one: a rounded one makes them less than the bounds want
case("sigmoid_backward", torch.ops.aten.sigmoid_backward, normal, unit)
case("tanh_backward", torch.ops.aten.tanh_backward, normal, unit)
case("threshold", lambda x: F.threshold(x, 0.1, 20.0), normal)
for name in "add sub mul maximum minimum atan2 hypot fmin fmax logaddexp copysign".split():
    case(name, getattr(torch, name), normal, normal)
case("add, alpha", lambda x, y: torch.add(x, y, alpha=-9), normal, normal)
case("add, scalar", lambda x: torch.add(x, 111.111, alpha=4), normal)
case("rsub", lambda x: torch.rsub(x, 2.5, alpha=2), normal)
for name in "div floor_divide remainder".split():
    case(name, getattr(torch, name), normal, positive, exact=name != "div")
case("div, trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), normal, positive, exact=True)
case("pow", torch.pow, positive, normal)
case("pow, scalar", lambda x: 2.5**x, normal)
case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), normal, normal, normal)
case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), normal, normal, positive)
case("lerp", torch.lerp, normal, normal, positive)
case("clamp", lambda x: torch.clamp(x, -0.5, 0.7), normal, exact=True)
case("clamp, tensors", torch.clamp, normal, unit, positive, exact=True)
case("where", torch.where, bits, normal, normal, exact=True)
case("masked_fill", lambda x, m: x.masked_fill(m, 1024), normal, bits, exact=True)
case("masked_select", torch.masked_select, normal, bits, exact=True)
for name in "eq ne lt le gt ge".split():
    case(name, getattr(torch, name), normal, normal, exact=True)
for name in "bitwise_and bitwise_or bitwise_xor".split():
    case(name, getattr(torch, name), whole, whole, exact=True, types=(torch.int16, torch.int32, torch.int64))
case("bitwise_not", torch.bitwise_not, whole, exact=True, types=(torch.int16, torch.int32, torch.bool))
for name in "logical_and logical_or logical_xor".split():
    case(name, getattr(torch, name), whole, bits, exact=True, types=(torch.int32, torch.int64))
case("isclose", torch.isclose, normal, normal, exact=True)

for dim in (0, -1):
    for name in "sum mean prod".split():
        case(f"{name}, {dim}", lambda x, n=name, d=dim: getattr(x, n)(d), unit, reduced=96)
    for name in "amax amin argmax argmin".split():
        case(f"{name}, {dim}", lambda x, n=name, d=dim: getattr(x, n)(d), normal, exact=True)
    for name in "max min".split():
        case(f"{name}, {dim}", lambda x, n=name, d=dim: tuple(getattr(x, n)(d))[:1], normal, exact=True)
    for name in "softmax log_softmax".split():
        case(f"{name}, {dim}", lambda x, n=name, d=dim: getattr(x, n)(d), normal, reduced=2)
        case(f"_{name}_backward_data, {dim}", lambda g, y, n=name, d=dim: getattr(torch.ops.aten, f"_{n}_backward_data")(g, y, d, y.dtype), normal,
             unit if name == "softmax" else lambda s, t: -positive(s, t), reduced=16)
    case(f"cumsum, {dim}", lambda x, d=dim: x.cumsum(d), normal, reduced=96)
    case(f"cummax, {dim}", lambda x, d=dim: tuple(x.cummax(d))[:1], normal, exact=True)
    case(f"cummin, {dim}", lambda x, d=dim: tuple(x.cummin(d))[:1], normal, exact=True)
    case(f"sort, {dim}", lambda x, d=dim: x.sort(dim=d, stable=True), normal, exact=True)
    case(f"all, {dim}", lambda x, d=dim: x.all(d), bits, exact=True, types=(torch.bool,))
    case(f"any, {dim}", lambda x, d=dim: x.any(d), bits, exact=True, types=(torch.bool,))
    case(f"vector_norm, {dim}", lambda x, d=dim: torch.linalg.vector_norm(x, 2, d), normal, reduced=96)
    case(f"flip, {dim}", lambda x, d=dim: x.flip(d), normal, exact=True)
    case(f"cat, {dim}", lambda x, y, d=dim: torch.cat((x, y, x), d), normal, normal, exact=True)
    case(f"stack, {dim}", lambda x, y, d=dim: torch.stack((x, y), d), normal, normal, exact=True)
case("sum, all", torch.sum, normal, reduced=1500)
case("mean, all", torch.mean, normal)
case("max, all", torch.max, normal, exact=True)
case("count_nonzero", torch.count_nonzero, bits, exact=True, types=(torch.bool,))
case("nonzero", torch.nonzero, bits, exact=True, types=(torch.bool,))
deep = SHAPES[1:]
case("var", lambda x: torch.var(x, -1), normal, reduced=96, shapes=deep)
case("std", lambda x: torch.std(x, -1), normal, reduced=96, shapes=deep)
case("var_mean", lambda x: torch.var_mean(x, -1), normal, reduced=96, shapes=deep)
case("topk", lambda x: x.topk(3, -1)[0], normal, exact=True, shapes=deep)
case("layer_norm", lambda x: F.layer_norm(x, x.shape[-1:]), normal, reduced=96, backward=True, shapes=deep[:1])
case("rms_norm", lambda x: F.rms_norm(x, x.shape[-1:]), normal, reduced=16, shapes=deep)
case("group_norm", lambda x: F.group_norm(x, 4), normal, reduced=16, shapes=[(2, 16, 8, 6), (4, 8, 10)])
case("triu", lambda x: x.triu(1), normal, exact=True, shapes=deep)
case("tril", lambda x: x.tril(-1), normal, exact=True, shapes=deep)
case("repeat", lambda x: x.repeat(2, *[3] * (x.dim() - 1)), normal, exact=True)
case("tile", lambda x: x.tile((2, 2)), normal, exact=True)
case("repeat_interleave", lambda x: x.repeat_interleave(3, 0), normal, exact=True)
case("roll", lambda x: x.roll(3, -1), normal, exact=True)
case("pad", lambda x: F.pad(x, (1, 2), value=3.0), normal, exact=True)
case("pad, reflect", lambda x: F.pad(x, (2, 1), mode="reflect"), normal, exact=True, shapes=[(3, 20, 15)])
case("index_select", lambda x: x.index_select(0, torch.tensor([0, 0], device=x.device)), normal, exact=True)
case("gather", lambda x: x.gather(-1, torch.zeros(x.shape, dtype=torch.int64, device=x.device)), normal, exact=True)
case("scatter", lambda x: x.scatter(0, torch.zeros(x.shape, dtype=torch.int64, device=x.device)[:1], x[:1] * 2), normal, exact=True)
case("embedding", lambda w: F.embedding(torch.arange(w.shape[0], device=w.device).flip(0), w), normal, exact=True, shapes=[(30, 16)])
case("diag_embed", torch.diag_embed, normal, exact=True)
case("kron", torch.kron, normal, normal, shapes=[(3, 4), (5, 2)])
case("unique", lambda x: x.unique(), whole, exact=True, types=(torch.int32,))
case("mse_loss", lambda x, y: F.mse_loss(x, y), normal, normal, reduced=16)
case("dropout, none", lambda x: F.dropout(x, 0.0, True), normal)
for reduction in ("mean", "sum"):
    case(f"cross_entropy, {reduction}", lambda x, r=reduction: F.cross_entropy(x, torch.arange(x.shape[0], device=x.device) % x.shape[1], reduction=r), normal,
         reduced=64, backward=True, shapes=[(64, 96)])
case("bmm", lambda x: torch.bmm(x, x.transpose(1, 2)), normal, reduced=32, shapes=[(3, 17, 31)])
case("dot", lambda x, y: torch.dot(x, y), normal, normal, reduced=500, shapes=[(500,)])
for m, n, k in MATRICES:
    a, b = (m, k), (k, n)
    case(f"mm {m}", lambda x, y: x.double().mm(y.double()) if x.device.type == "cpu" and x.dtype == torch.float64 else x.mm(y),
         lambda s, t, a=a: normal(a, t), lambda s, t, b=b: normal(b, t), reduced=k, shapes=[()])
    case(f"addmm {m}", lambda c, x, y: torch.addmm(c, x, y, alpha=0.5, beta=2), lambda s, t, n=n: normal((n,), t), lambda s, t, a=a: normal(a, t),
         lambda s, t, b=b: normal(b, t), reduced=k, shapes=[()])
    case(f"mv {m}", torch.mv, lambda s, t, a=a: normal(a, t), lambda s, t, k=k: normal((k,), t), reduced=k, shapes=[()])
case("outer", torch.outer, lambda s, t: normal((60,), t), lambda s, t: normal((70,), t), shapes=[()])
case("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), normal, normal, normal, reduced=40, shapes=[(1, 2, 64, 32)])

for name, f, make, reduced, exact, backward, types, shapes in cases[part::parts]:
    if not only.search(name):
        continue
    before = wrong
    for dtype in types:
        for shape in shapes:
            run(f"{name} {str(dtype)[6:]} {tuple(shape)}", f, tuple(m(shape, dtype) for m in make), dtype, reduced, exact, backward)
    if wrong == before:
        print("ok", name, flush=True)
print(f"ran {ran} failed {wrong}", flush=True)
sys.exit(wrong * 10 > ran)
