# SPDX-License-Identifier: MIT
"""JAX on the device, widely: jax.numpy's functions against numpy's by the same name, and lax, nn, random, scipy.special, products in all pairs of
types, small floats, gradients, vmap, scan, pmap against JAX's own CPU. FAIL lines, and a sum.

No cuSOLVER, cuFFT, cuSPARSE or cuDNN: no linalg but products, no fft, no convolution.
"""
import functools
import sys
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

right = wrong = 0
rng = np.random.default_rng(11)
jax.config.update("jax_default_matmul_precision", "float32")
cpu = jax.devices("cpu")[0]


def leaves(v):
    return [np.asarray(t) for t in jax.tree_util.tree_leaves(v)]


def check(name, got, want, tol=2e-5):
    global right, wrong
    try:
        want = leaves(want())
    except Exception as e:      # no such call: of numpy's or of the CPU's
        print("skip", name, " ".join(str(e).split())[:120])
        return
    try:
        got = leaves(got())
        assert len(got) == len(want), f"{len(got)} results, not {len(want)}"
        for g, w in zip(got, want):
            assert g.shape == w.shape, f"shape {g.shape}, not {w.shape}"
            if w.dtype.kind in "iub":
                assert np.array_equal(g.astype(w.dtype), w), f"differs in {int((g.astype(w.dtype) != w).sum())} of {w.size}"
                continue
            g, w = g.astype(np.complex128), w.astype(np.complex128)
            assert np.array_equal(np.isnan(g), np.isnan(w)), "NaN elsewhere"
            same = (g == w) | np.isnan(w)
            scale = np.abs(w[np.isfinite(w)]).max() + 1e-30 if np.isfinite(w).any() else 1
            err = np.abs(np.where(same, 0, g - w)).max() / scale if w.size else 0
            assert err <= tol, f"off by {err:.2g}"
        right += 1
    except Exception as e:      # the next case may still be right
        wrong += 1
        print("FAIL", name, " ".join(str(e).split())[:300])
    sys.stdout.flush()


def on_cpu(f):
    with jax.default_device(cpu):
        return leaves(f())


def both(name, f, tol=2e-5):
    """f of no arguments, made of numpy's arrays: on the device, and on JAX's CPU."""
    check(name, f, lambda: on_cpu(f), tol)


assert jax.default_backend() in ("gpu", "cuda"), jax.default_backend()
x = rng.standard_normal((24, 36)).astype(np.float32)
y = rng.standard_normal((24, 36)).astype(np.float32)
p = np.abs(x) + np.float32(0.1)
u = (rng.random((24, 36)).astype(np.float32) - 0.5) * np.float32(1.9)
v = rng.standard_normal(48).astype(np.float32)
i = rng.integers(-100, 100, (24, 36)).astype(np.int32)
j = rng.integers(1, 20, (24, 36)).astype(np.int32)
b, c = i > 0, j > 9
z = (x + 1j * y).astype(np.complex64)
edge = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-40, 3e38], np.float32)


def numpys(name, *args, tol=2e-5, wide=True, **keywords):
    """Of jax.numpy against numpy, which computes in double precision where wide."""
    widen = [a.astype(np.float64 if a.dtype == np.float32 else np.complex128 if a.dtype == np.complex64 else a.dtype)
             if wide and isinstance(a, np.ndarray) else a for a in args]
    check(f"jnp.{name} {[getattr(a, 'dtype', a) for a in args]} {keywords or ''}",
          lambda: getattr(jnp, name)(*[jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args], **keywords),
          lambda: getattr(np, name)(*widen, **keywords), tol)


for f in "sin cos tan sinh cosh tanh arctan arcsinh exp expm1 exp2 abs fabs floor ceil trunc rint sign square negative positive cbrt degrees radians deg2rad rad2deg sinc signbit isnan isinf isfinite nan_to_num i0".split():
    numpys(f, x)
for f in "sqrt log log2 log10 log1p reciprocal".split():
    numpys(f, p)
for f in "arcsin arccos arctanh".split():
    numpys(f, u)
numpys("arccosh", p + 1)
for f in "add subtract multiply maximum minimum fmax fmin arctan2 hypot copysign nextafter logaddexp logaddexp2 greater greater_equal less less_equal equal not_equal heaviside".split():
    numpys(f, x, y, wide=f not in ("nextafter",))
for f in "divide true_divide floor_divide remainder mod fmod power float_power divmod".split():
    numpys(f, p, np.abs(y) + np.float32(0.5), wide=f not in ("floor_divide", "remainder", "mod", "fmod", "divmod"))
for f in "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor floor_divide remainder mod fmod gcd lcm equal less divmod".split():
    numpys(f, i, j)
for f in "bitwise_not invert abs sign negative square bitwise_count".split():
    numpys(f, i)
numpys("left_shift", i, j % 8)
numpys("right_shift", i, j % 8)
numpys("ldexp", x, j % 8)
numpys("power", j, j % 4)
for f in "logical_and logical_or logical_xor".split():
    numpys(f, b, c)
numpys("logical_not", b)
for f in "real imag conj conjugate angle abs exp sin cos sqrt sinh cosh tanh log square".split():
    numpys(f, z)
for f in "frexp modf spacing".split():
    numpys(f, x, wide=False)
for f in "sqrt exp log sin abs floor ceil isnan isinf isfinite isposinf isneginf signbit nan_to_num sign".split():
    with np.errstate(all="ignore"):
        numpys(f, edge, wide=False)
for f in "sum prod max min mean std var any all argmax argmin cumsum cumprod median ptp nansum nanmean nanmax nanmin nanstd nanvar nanprod nanargmax nanargmin nancumsum nanmedian count_nonzero average sort argsort flip".split():
    for axis in (0, 1):
        numpys(f, x, axis=axis, tol=1e-4)
for f in "sum prod max min mean std var argmax argmin median count_nonzero ravel trace diagonal diag nonzero flatnonzero unique amax amin size ndim shape".split():
    numpys(f, x, tol=1e-4)
for f in "sum max min argmax argmin cumsum sort unique count_nonzero".split():
    numpys(f, i)
for f in "percentile quantile nanpercentile nanquantile".split():
    numpys(f, x, 30 if "percentile" in f else 0.3, axis=1)
for f in "transpose fliplr flipud rot90 tril triu atleast_1d atleast_2d atleast_3d squeeze copy zeros_like ones_like array asarray".split():
    numpys(f, x)
for f, *a in [("roll", 5), ("repeat", 3), ("tile", (2, 3)), ("reshape", (36, 24)), ("expand_dims", 1), ("swapaxes", 0, 1), ("moveaxis", 0, 1), ("rollaxis", 1),
              ("array_split", 5), ("split", 3), ("hsplit", 4), ("vsplit", 4), ("pad", 3), ("delete", 4), ("resize", (30, 20)), ("broadcast_to", (5, 24, 36)),
              ("clip", -0.5, 0.5), ("round", 2), ("around", 1), ("diff",), ("gradient",), ("ediff1d",), ("full_like", 3), ("append", 7.0), ("insert", 2, 5.0),
              ("trapezoid",), ("unwrap",), ("corrcoef",), ("cov",), ("histogram", 12), ("digitize", np.linspace(-2, 2, 9).astype(np.float32)),
              ("isclose", y), ("allclose", x), ("array_equal", x), ("array_equiv", x), ("vander",), ("interp", np.arange(9.0, dtype=np.float32), np.arange(9.0, dtype=np.float32) ** 2),
              ("polyval",), ("take", np.array([1, 5, 9])), ("searchsorted", v), ("extract", x)]:
    if f == "polyval":
        numpys(f, v[:5], x, tol=1e-4)
    elif f == "searchsorted":
        numpys(f, np.sort(v), x)
    elif f == "vander":
        numpys(f, v[:6], tol=1e-4)
    elif f == "extract":
        numpys(f, b, x)
    else:
        numpys(f, x, *a, tol=1e-4)
for f, *a in [("dot", x, y.T), ("matmul", x, y.T), ("vdot", v, v), ("inner", x, y), ("outer", v, v), ("tensordot", x, y.T, 1), ("kron", x[:3, :4], y[:4, :3]), ("cross", x[:, :3], y[:, :3]),
              ("where", b, x, y), ("select", [b, c], [x, y]), ("take_along_axis", x, np.argsort(x, 1), 1), ("bincount", j.ravel()), ("hstack", [x, y]), ("vstack", [x, y]),
              ("dstack", [x, y]), ("column_stack", [x, y]), ("concatenate", [x, y]), ("stack", [x, y]), ("block", [[x, y], [y, x]]), ("meshgrid", v[:5], v[:7]), ("einsum", "ij,kj->ik", x, y),
              ("lexsort", [j[0], i[0]]), ("intersect1d", i[0], i[1]), ("union1d", i[0], i[1]), ("setdiff1d", i[0], i[1]), ("setxor1d", i[0], i[1]), ("isin", i, i[0]), ("histogram2d", v, v, 5),
              ("unravel_index", np.arange(30), (5, 6)), ("ravel_multi_index", [np.arange(5), np.arange(5)], (5, 6)), ("packbits", b), ("unpackbits", j.astype(np.uint8)), ("choose", j % 2, [x, y]),
              ("compress", b[0], x, 1), ("apply_along_axis", lambda t: t.sum(), 0, x), ("piecewise", x, [x < 0, x >= 0], [-1.0, 1.0]), ("argwhere", b), ("diag_indices", 4), ("tri", 5), ("eye", 6),
              ("identity", 5), ("arange", 3, 30, 4), ("linspace", 0, 1, 11), ("logspace", 0, 2, 11), ("geomspace", 1, 100, 11), ("zeros", (3, 4)), ("ones", (3, 4)), ("full", (3, 4), 2.5),
              ("indices", (3, 4)), ("hamming", 9), ("hanning", 9), ("bartlett", 9), ("blackman", 9), ("kaiser", 9, 5.0), ("polyadd", v[:4], v[:6]), 
              ("polyder", v[:6]), ("polyint", v[:6])]:
    numpys(f, *a, tol=1e-4)

# lax, nn, special functions: the CPU's own are another compiler's
L = {
    "erf": lambda: lax.erf(x), "erfc": lambda: lax.erfc(x), "erf_inv": lambda: lax.erf_inv(u * 0.9), "lgamma": lambda: lax.lgamma(p), "digamma": lambda: lax.digamma(p), "rsqrt": lambda: lax.rsqrt(p),
    "logistic": lambda: lax.logistic(x), "igamma": lambda: lax.igamma(p, np.abs(y)), "igammac": lambda: lax.igammac(p, np.abs(y)), "bessel_i0e": lambda: lax.bessel_i0e(x), "bessel_i1e": lambda: lax.bessel_i1e(x),
    "betainc": lambda: lax.betainc(p, p, np.clip(np.abs(u), 0, 1)), "clz": lambda: lax.clz(j), "population_count": lambda: lax.population_count(i), "nextafter": lambda: lax.nextafter(x, y), "integer_pow": lambda: lax.integer_pow(x, 5),
    "reduce_precision": lambda: lax.reduce_precision(x, 5, 6), "round": lambda: lax.round(x), "top_k": lambda: lax.top_k(x, 7), "approx_max_k": lambda: lax.approx_max_k(v, 5)[0].shape, "sort of two": lambda: lax.sort((i[0], i[1]), num_keys=1),
    "sort stable": lambda: lax.sort((j, i), dimension=1, is_stable=True, num_keys=1), "cumsum": lambda: lax.cumsum(x, 1), "cumsum reverse": lambda: lax.cumsum(i, 0, reverse=True), "cumprod": lambda: lax.cumprod(u, 1), "cummax": lambda: lax.cummax(x, 1),
    "cummin": lambda: lax.cummin(i, 0), "cumlogsumexp": lambda: lax.cumlogsumexp(x, 1), "reduce": lambda: lax.reduce(x, np.float32(0), lax.add, (1,)), "reduce_and": lambda: lax.reduce_and(b, (0,)), "reduce_or": lambda: lax.reduce_or(b, (1,)),
    "reduce_xor": lambda: lax.reduce_xor(i, (0,)), "argmax": lambda: lax.argmax(x, 1, np.int32), "reduce_window sum": lambda: lax.reduce_window(x, np.float32(0), lax.add, (3, 3), (1, 1), "SAME"), "reduce_window min": lambda: lax.reduce_window(x, np.float32(np.inf), lax.min, (2, 3), (2, 2), "VALID"),
    "gather": lambda: jnp.asarray(x)[j % 24, j % 36], "scatter": lambda: jnp.zeros((24, 36)).at[j[0], np.arange(36) % 36].set(1), "scatter add": lambda: jnp.zeros(20, np.float32).at[j].add(1.0), "scatter max": lambda: jnp.full(20, -np.inf).at[j].max(x), "scatter min": lambda: jnp.full(20, np.inf).at[j].min(x),
    "scatter mul": lambda: jnp.ones(20).at[j].mul(np.where(j % 2, 1.01, 0.99).astype(np.float32)), "segment_sum": lambda: jax.ops.segment_sum(x.ravel(), j.ravel(), 20), "segment_max": lambda: jax.ops.segment_max(x.ravel(), j.ravel(), 20), "segment_min": lambda: jax.ops.segment_min(i.ravel(), j.ravel(), 20),
    "segment_prod": lambda: jax.ops.segment_prod(u.ravel() * 0.1 + 1, j.ravel(), 20), "dynamic_update_slice": lambda: lax.dynamic_update_slice(x, y[:4, :5], (3, 30)), "dynamic_index": lambda: lax.dynamic_index_in_dim(x, 5), "pad, negative too": lambda: lax.pad(x, np.float32(7), ((1, -2, 1), (-3, 2, 0))),
    "rev": lambda: lax.rev(x, (0, 1)), "concatenate": lambda: lax.concatenate([x, y], 1), "broadcast_in_dim": lambda: lax.broadcast_in_dim(v, (3, 48, 2), (1,)), "select_n": lambda: lax.select_n(b, x, y), "clamp": lambda: lax.clamp(np.float32(-1), x, np.float32(0.5)), "iota": lambda: lax.iota(np.int32, 100),
    "bitcast": lambda: lax.bitcast_convert_type(x, np.int32), "bitcast to bytes": lambda: lax.bitcast_convert_type(x, np.uint8), "shift_right_logical": lambda: lax.shift_right_logical(i, j), "complex": lambda: lax.complex(x, y), "batch_matmul": lambda: lax.batch_matmul(np.stack([x, y]), np.stack([y.T, x.T])),
    "switch": lambda: lax.switch(2, [lambda a: a, lambda a: a * 2, lambda a: a * 3], x), "map": lambda: lax.map(lambda r: r.sum() * 2, x), "scan": lambda: lax.scan(lambda s, a: (jnp.tanh(s + a), s.sum()), jnp.zeros(36), x), "associative_scan": lambda: lax.associative_scan(jnp.add, x, axis=1),
    "while_loop": lambda: lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] * 0.9), (0, jnp.asarray(x))), "fori_loop": lambda: lax.fori_loop(0, 9, lambda k, a: a + jnp.roll(a, k), jnp.asarray(x)), "linalg-free solve by CG": lambda: jax.scipy.sparse.linalg.cg(lambda t: 3 * t + jnp.roll(t, 1) + jnp.roll(t, -1), jnp.asarray(v))[0],
    "one_hot": lambda: jax.nn.one_hot(j, 20), "logsumexp": lambda: jax.nn.logsumexp(x, 1), "standardize": lambda: jax.nn.standardize(x), "glu": lambda: jax.nn.glu(x), "logit": lambda: jax.scipy.special.logit(np.abs(u) * 0.9 + 0.01), "entr": lambda: jax.scipy.special.entr(p), "xlogy": lambda: jax.scipy.special.xlogy(p, p),
    "xlog1py": lambda: jax.scipy.special.xlog1py(p, p), "zeta": lambda: jax.scipy.special.zeta(p + 1, p), "polygamma": lambda: jax.scipy.special.polygamma(2, p + 1), "i0": lambda: jax.scipy.special.i0(x), "i1": lambda: jax.scipy.special.i1(x), "ndtr": lambda: jax.scipy.special.ndtr(x), "ndtri": lambda: jax.scipy.special.ndtri(np.abs(u) * 0.9 + 0.02),
    "expi": lambda: jax.scipy.special.expi(p), "gammaln": lambda: jax.scipy.special.gammaln(p), "factorial": lambda: jax.scipy.special.factorial(j % 7), "norm.logpdf": lambda: jax.scipy.stats.norm.logpdf(x), "rankdata": lambda: jax.scipy.stats.rankdata(v), "map_coordinates": lambda: jax.scipy.ndimage.map_coordinates(x, [np.abs(u[0]) * 20, np.abs(u[1]) * 30], 1),
    "image.resize": lambda: jax.image.resize(x, (48, 20), "bilinear"), "resize nearest": lambda: jax.image.resize(x, (11, 50), "nearest"), "dot_product_attention": lambda: jax.nn.dot_product_attention(*(t.reshape(1, 24, 2, 18) for t in (x, y, x)), is_causal=True),
}
for f in "relu relu6 sigmoid softplus soft_sign silu swish log_sigmoid leaky_relu hard_sigmoid hard_silu hard_tanh elu celu selu gelu softmax log_softmax mish squareplus".split():
    L[f] = lambda f=f: getattr(jax.nn, f)(jnp.asarray(x))
for name, f in L.items():
    both(name, f, 1e-4)

# products in all pairs of types
TYPES = [jnp.float32, jnp.float16, jnp.bfloat16, jnp.int8, jnp.int32, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.complex64]
small = rng.integers(-4, 5, (2, 40, 40)).astype(np.float32)
for s in TYPES:
    for t in TYPES:
        both(f"dot of {s.__name__} and {t.__name__}", lambda s=s, t=t: jnp.dot(jnp.asarray(small[0]).astype(s), jnp.asarray(small[1]).astype(t)).astype(jnp.complex64), 1e-2)
    # XLA has those from cublasLt, or from Triton by a search that is off here; into other types of fewer bits cublasLt has none
    for out in [s] if s in (jnp.int32, jnp.complex64) else [jnp.float32, jnp.bfloat16, jnp.float16] if "float8" in s.__name__ else [jnp.float32, jnp.int32, s]:
        both(f"dot_general of {s.__name__} into {out.__name__}",
             lambda s=s, out=out: lax.dot_general(jnp.asarray(small[0]).astype(s), jnp.asarray(small[1]).astype(s), (((1,), (0,)), ((), ())), preferred_element_type=out).astype(jnp.complex64), 1e-2)
for dims in ((((2,), (1,)), ((0,), (0,))), (((1,), (1,)), ((0,), (0,))), (((1, 2), (1, 2)), ((), ()))):
    both(f"dot_general over {dims}", lambda d=dims: lax.dot_general(small, small + 1, d))

# small floats
for t in (jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3b11fnuz, jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz, jnp.int4, jnp.uint4):
    wide = np.concatenate([x.ravel(), edge, x.ravel() * 300]) if jnp.issubdtype(t, jnp.floating) else np.clip(i.ravel(), 0 if t is jnp.uint4 else -8, 7).astype(np.float32)
    both(f"to {t.__name__} and back", lambda t=t, w=wide: jnp.asarray(w).astype(t).astype(jnp.float32), 0)
    if t in (jnp.bfloat16, jnp.float16):
        for f in "exp tanh sqrt log sin".split():
            both(f"{f} in {t.__name__}", lambda f=f, t=t: getattr(jnp, f)(jnp.asarray(p).astype(t)).astype(jnp.float32), 1e-2)
    if "int4" in t.__name__:        # XLA's own verifier refuses what its sort becomes
        continue
    both(f"sort of {t.__name__}", lambda t=t: jnp.sort(jnp.asarray(x).astype(t), axis=1).astype(jnp.float32), 0)
    both(f"max of {t.__name__}", lambda t=t: jnp.asarray(x).astype(t).max(1).astype(jnp.float32), 0)

# gradients, and what maps and batches functions
G = {
    "tanh": jnp.tanh, "softmax": lambda t: jax.nn.softmax(t) * y, "logsumexp": lambda t: jax.nn.logsumexp(t, 1), "sort": lambda t: jnp.sort(t, 1) * y, "max": lambda t: t.max(1), "cumsum": lambda t: jnp.cumsum(t, 1) * y,
    "cumprod": lambda t: jnp.cumprod(t * 0.1 + 1, 1), "matmul": lambda t: t @ y.T, "gather": lambda t: t[j % 24, j % 36], "segment_sum": lambda t: jax.ops.segment_sum(t.ravel(), j.ravel(), 20) ** 2, "scan": lambda t: lax.scan(lambda s, a: (jnp.tanh(s + a), s), jnp.zeros(36), t)[1],
    "layer norm": lambda t: (t - t.mean(1, keepdims=True)) / jnp.sqrt(t.var(1, keepdims=True) + 1e-5) * y, "gelu": jax.nn.gelu, "norm": lambda t: jnp.sqrt((t * t).sum(1)), "where": lambda t: jnp.where(t > 0, t, 0.1 * t), "median": lambda t: jnp.median(t, 1), "top_k": lambda t: lax.top_k(t, 5)[0],
    "reduce_window": lambda t: lax.reduce_window(t, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), "checkpoint": jax.checkpoint(lambda t: jnp.sin(jnp.sin(t))), "pad": lambda t: jnp.pad(t, 2, mode="reflect") ** 2, "concatenate": lambda t: jnp.concatenate([t, t * t]), "einsum": lambda t: jnp.einsum("ij,kj,kl->il", t, y, y),
}
for name, f in G.items():
    both(f"gradient of {name}", lambda f=f: jax.jit(jax.grad(lambda t: (f(t) ** 2).sum()))(jnp.asarray(x)), 1e-4)
both("hessian", lambda: jax.hessian(lambda t: (jnp.sin(t) * t[::-1]).sum())(jnp.asarray(v[:9])))
both("jacrev", lambda: jax.jacrev(lambda t: jnp.outer(t, t))(jnp.asarray(v[:6])))
both("jvp", lambda: jax.jvp(jnp.sin, (jnp.asarray(x),), (jnp.asarray(y),)))
both("vjp", lambda: jax.vjp(lambda s, t: s @ t.T, jnp.asarray(x), jnp.asarray(y))[1](jnp.ones((24, 24))))
both("linearize", lambda: jax.linearize(jnp.tanh, jnp.asarray(x))[1](jnp.asarray(y)))
both("vmap of vmap", lambda: jax.vmap(jax.vmap(lambda s, t: s * t + 1))(jnp.asarray(x), jnp.asarray(y)))
both("vmap of a product", lambda: jax.vmap(jnp.dot, (0, None))(jnp.asarray(small), jnp.asarray(small[0])))
both("vmap of a gradient", lambda: jax.vmap(jax.grad(lambda t: jnp.sum(jnp.sin(t) ** 2)))(jnp.asarray(x)))
both("vmap of scan", lambda: jax.vmap(lambda r: lax.scan(lambda s, a: (s * 0.5 + a, s), 0.0, r)[1])(jnp.asarray(x)))
both("vmap of while_loop", lambda: jax.vmap(lambda t: lax.while_loop(lambda s: s < 100, lambda s: s * 2 + 1, t))(jnp.asarray(j)))
both("vmap of sort", lambda: jax.vmap(jnp.sort)(jnp.asarray(x)))
check("pmap on one device", lambda: jax.pmap(lambda t: t * 2 + lax.psum(t, "i"), "i")(jnp.asarray(x)[None]), lambda: x[None] * 3)
check("donated arguments", lambda: jax.jit(lambda t: t + 1, donate_argnums=0)(jnp.asarray(x) * 1), lambda: x + 1)
check("a callback", lambda: jax.jit(lambda t: jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), t) + 1)(jnp.asarray(x)), lambda: x * 2 + 1)
check("to the host and back", lambda: jax.device_put(jax.device_get(jnp.asarray(x) + 1)), lambda: x + 1)
check("aot", lambda: jax.jit(lambda t: t * 3).lower(jax.ShapeDtypeStruct(x.shape, x.dtype)).compile()(jnp.asarray(x)), lambda: x * 3)

# numbers at random: the same as the CPU's
k = functools.partial(jax.random.key, 5)
for f, *a in [("uniform", (999,)), ("normal", (999,)), ("bits", (999,)), ("randint", (999,), 0, 50), ("bernoulli", 0.3, (999,)), ("permutation", 300), ("choice", 50, (99,)), ("categorical", v), ("exponential", (999,)), ("laplace", (999,)),
              ("gumbel", (999,)), ("cauchy", (999,)), ("logistic", (999,)), ("truncated_normal", -1.0, 1.0, (999,)), ("gamma", 2.0, (99,)), ("beta", 2.0, 3.0, (99,)), ("poisson", 4.0, (99,)), ("dirichlet", np.ones(4, np.float32), (20,)),
              ("pareto", 2.0, (99,)), ("rademacher", (99,)), ("maxwell", (99,)), ("weibull_min", 1.0, 2.0, (99,)), ("rayleigh", 1.0, (99,)), ("chisquare", 3.0, (99,)), ("t", 3.0, (99,)), ("split", 5), ("ball", 3, 2.0, (20,))]:
    if f == "split":
        both("random.split", lambda: jax.random.key_data(jax.random.split(k(), 5)))
    else:
        both(f"random.{f}", lambda f=f, a=a: getattr(jax.random, f)(k(), *a), 1e-3 if f == "cauchy" else 1e-4)
for name in ("rbg", "unsafe_rbg"):
    check(f"random bits by {name} are many", lambda n=name: np.unique(np.asarray(jax.random.bits(jax.random.key(1, impl=n), (4096,)))).size > 4000, lambda: True)
both("threefry, partitioned", lambda: jax.random.bits(jax.random.fold_in(k(), 77), (7, 33)))

jax.config.update("jax_enable_x64", True)
d = x.astype(np.float64)
for f in "sin exp tanh log1p sum cumsum".split():
    check(f"{f} in float64", lambda f=f: getattr(jnp, f)(jnp.asarray(np.abs(d))), lambda f=f: getattr(np, f)(np.abs(d)), 1e-12)
check("dot in float64", lambda: jnp.asarray(d) @ jnp.asarray(d.T), lambda: d @ d.T, 1e-12)
check("int64", lambda: (jnp.asarray(i.astype(np.int64)) << 33) // 7 % 1000003, lambda: (i.astype(np.int64) << 33) // 7 % 1000003)
check("sort of float64", lambda: jnp.sort(jnp.asarray(d), 1), lambda: np.sort(d, 1), 0)
check("complex128", lambda: jnp.exp(jnp.asarray(d * (1 + 2j))), lambda: np.exp(d * (1 + 2j)), 1e-12)
check("uint64", lambda: jnp.asarray(j.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(7), lambda: j.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(7))
print("ok" if not wrong and right else "FAIL", f"{right} of {right + wrong} right")
sys.exit(bool(wrong) or not right)
