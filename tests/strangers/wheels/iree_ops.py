# SPDX-License-Identifier: MIT
"""IREE's CUDA driver, which opens libcuda.so.1 by itself and brings PTX of LLVM's, against XLA's CPU: JAX writes the StableHLO.
   iree_ops.py TARGET [NAME...]
What IREE does not compile is skipped with its word. Not here, since the kernels themselves read beyond their buffers: products of batches whose rows
fill no tile (48 of 64), by sm_80's tensor cores."""
import os
import sys
import time
os.environ['JAX_PLATFORMS'] = 'cpu'
import numpy as np, jax, jax.numpy as jnp
from jax import lax
import iree.compiler as ic, iree.runtime as ir
target = sys.argv[1] if len(sys.argv) > 1 else 'sm_80'
only = sys.argv[2:]
jax.config.update('jax_enable_x64', True)
config = ir.Config('cuda')
rng = np.random.default_rng(3)
f = lambda *s: rng.standard_normal(s).astype(np.float32)
i = lambda *s: rng.integers(-50, 50, s).astype(np.int32)
b = lambda *s: rng.integers(-128, 127, s).astype(np.int8)
cases = {}
def case(fn, *args, tol=1e-4, name=None):
    cases[name or fn.__name__] = (fn, args, tol)
h = lambda x: x.astype(np.float16)
import ml_dtypes
bf = lambda x: x.astype(ml_dtypes.bfloat16)
def matmul(a, b): return a @ b
case(matmul, f(96, 64), f(64, 80))
case(matmul, f(128, 128), f(128, 256), name='matmul_aligned', tol=2e-2)
case(matmul, f(37, 51), f(51, 29), name='matmul_odd')
case(matmul, f(1, 512), f(512, 300), name='vecmat')
case(matmul, f(300, 512), f(512), name='matvec')
case(matmul, f(5, 33, 64), f(5, 64, 48), name='batch')
case(matmul, h(f(128, 64)), h(f(64, 128)), name='matmul_f16', tol=2e-2)
case(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), h(f(256, 128)), h(f(128, 256)), name='matmul_f16_f32', tol=1e-2)
case(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), bf(f(128, 64)), bf(f(64, 128)), name='matmul_bf16', tol=1e-2)
case(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), b(128, 64), b(64, 128), name='matmul_i8', tol=0)
case(matmul, f(64, 64).astype(np.float64), f(64, 64).astype(np.float64), name='matmul_f64', tol=1e-10)
case(matmul, i(40, 50), i(50, 30), name='matmul_i32', tol=0)
case(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f(2, 20, 20, 8), f(3, 3, 8, 16), name='conv_nhwc', tol=1e-2)
case(lambda x, w: lax.conv_general_dilated(x, w, (2, 2), 'VALID', dimension_numbers=('NCHW', 'OIHW', 'NCHW')), f(2, 6, 21, 21), f(12, 6, 3, 3), name='conv_nchw_s2', tol=1e-2)
case(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=8), f(1, 16, 16, 8), f(3, 3, 1, 8), name='depthwise')
case(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), lhs_dilation=(2, 2), dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f(1, 9, 9, 4), f(3, 3, 4, 4), name='conv_transposed')
case(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), f(2, 20, 20, 5), name='max_pool')
for op in 'sum prod max min mean var'.split():
    case(lambda x, op=op: getattr(jnp, op)(x, axis=-1), f(33, 257) * np.float32(.5 if op != 'prod' else 1.1), name=op + '_rows', tol=1e-3)
    case(lambda x, op=op: getattr(jnp, op)(x, axis=0), f(129, 65), name=op + '_columns', tol=1e-3)
case(lambda x: jnp.sum(x), f(100000), name='sum_all', tol=1e-2)
case(lambda x: jnp.sum(x), i(100000), name='sum_all_int', tol=0)
case(lambda x: jnp.argmax(x, axis=1), f(40, 300), name='argmax', tol=0)
case(lambda x: jnp.argmin(x, axis=0), i(40, 300), name='argmin_int', tol=0)
case(lambda x: jax.nn.softmax(x), f(64, 1000), name='softmax')
case(lambda x: jax.nn.softmax(x, axis=0), f(65, 33), name='softmax_columns')
case(lambda x: jax.nn.log_softmax(x), h(f(16, 100)), name='log_softmax_f16', tol=2e-2)
case(lambda x, g, c: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + c, f(32, 384), f(384), f(384), name='layer_norm')
def attention(q, k, v): return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 8.) @ v
case(attention, f(4, 64, 64), f(4, 64, 64), f(4, 64, 64), tol=1e-2)
case(attention, h(f(2, 64, 64)), h(f(2, 64, 64)), h(f(2, 64, 64)), name='attention_f16', tol=2e-2)
def causal(q, k, v):
    s = q @ jnp.swapaxes(k, -1, -2) / 8.
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e9)) @ v
case(causal, f(2, 37, 32), f(2, 37, 32), f(2, 37, 32))
case(lambda x: jnp.cumsum(x, axis=1), f(20, 100), name='cumsum', tol=1e-3)
case(lambda x: jnp.cumprod(x), np.float32(1) + f(200) * np.float32(.01), name='cumprod')
case(lambda x: lax.associative_scan(jnp.maximum, x), f(300), name='cummax_associative')
case(lambda x: jnp.sort(x), f(17, 100), name='sort', tol=0)
case(lambda x: jnp.sort(x, axis=0), i(60, 9), name='sort_int_columns', tol=0)
case(lambda x: jnp.argsort(x), f(200), name='argsort', tol=0)
case(lambda k, v: lax.sort((k, v), num_keys=1)[1], i(300), f(300), name='sort_by_key', tol=0)
case(lambda x: lax.top_k(x, 7)[0], f(12, 100), name='top_k', tol=0)
case(lambda x, k, v: x.at[k].add(v), f(50), np.abs(i(400)) % 50, f(400), name='scatter_add', tol=1e-3)
case(lambda x, k, v: x.at[k].set(v), f(50, 6), rng.permutation(50)[:20].astype(np.int32), f(20, 6), name='scatter_set', tol=0)
case(lambda x, k, v: x.at[k].max(v), i(50), np.abs(i(400)) % 50, i(400), name='scatter_max', tol=0)
case(lambda x, k: x[k], f(100, 32), np.abs(i(70)), name='gather', tol=0)
case(lambda x, k: jnp.take_along_axis(x, k, axis=1), f(30, 40), np.abs(i(30, 11)) % 40, name='take_along', tol=0)
case(lambda x, k: lax.dynamic_slice(x, (k[0], k[1]), (5, 7)), f(30, 40), np.array([3, 9], np.int32), name='dynamic_slice', tol=0)
case(lambda x, y, k: lax.dynamic_update_slice(x, y, (k[0], k[1])), f(30, 40), f(5, 7), np.array([3, 9], np.int32), name='dynamic_update', tol=0)
for n in 'sin cos tan exp log log1p expm1 sqrt rsqrt tanh sinh cosh asin acos atan asinh acosh atanh erf logistic cbrt ceil floor round sign abs digamma lgamma erf_inv'.split():
    fn = getattr(lax, n, None) or getattr(jnp, n)
    x = np.abs(f(1000)) + np.float32(.01)
    if n in ('asin', 'acos', 'atanh', 'erf_inv'): x = np.tanh(x)
    if n == 'acosh': x = x + 1
    case(fn, x, name=n, tol=2e-4)
    if n not in ('lgamma', 'digamma', 'erf_inv'): case(fn, x.astype(np.float64), name=n + '_f64', tol=1e-6)
case(lambda x, y: jnp.atan2(x, y), f(500), f(500), name='atan2')
case(lambda x, y: jnp.power(jnp.abs(x), y), f(500), f(500), name='power', tol=1e-3)
case(lambda x, y: jnp.remainder(x, y), i(500), np.abs(i(500)) + 1, name='rem_int', tol=0)
case(lambda x, y: x // y, i(500), np.abs(i(500)) + 1, name='floordiv_int', tol=0)
case(lambda x: lax.population_count(x), i(500), name='popcnt', tol=0)
case(lambda x: lax.clz(x), i(500), name='clz', tol=0)
case(lambda x, s: lax.shift_right_arithmetic(x, s), i(500), np.abs(i(500)) % 31, name='sra', tol=0)
case(lambda x: lax.bitcast_convert_type(x, jnp.int32) ^ 0x55, f(500), name='bitcast', tol=0)
case(lambda x: x.astype(jnp.int8).astype(jnp.float32), np.clip(f(500) * 30, -120, 120), name='cast_i8', tol=0)
case(lambda x: x.astype(jnp.float16).astype(jnp.float32), f(500), name='cast_f16', tol=0)
case(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), f(500), name='cast_bf16', tol=0)
case(lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), f(500), name='cast_e4m3', tol=0)
case(lambda x: x.astype(jnp.float8_e5m2).astype(jnp.float32), f(500), name='cast_e5m2', tol=0)
case(lambda x: jnp.transpose(x, (2, 0, 1)) * 2, f(17, 33, 5), name='transpose', tol=0)
case(lambda x: jnp.pad(x, ((1, 2), (3, 0)), constant_values=7), f(10, 11), name='pad', tol=0)
case(lambda x: x[::-1, ::2], f(10, 11), name='reverse_stride', tol=0)
case(lambda x, y: jnp.concatenate([x, y, x], 1), f(10, 11), f(10, 3), name='concat', tol=0)
case(lambda x: jnp.roll(x, 3, 0), f(10, 11), name='roll', tol=0)
case(lambda x: lax.fori_loop(0, 10, lambda k, a: jnp.sin(a) + k, x), f(100), name='fori')
case(lambda x: lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, c[1] * 1.01 + c[0]), (0, x))[1], f(100), name='while', tol=1e-3)
case(lambda h0, xs, w: lax.scan(lambda h, x: (jnp.tanh(h @ w + x),) * 2, h0, xs)[1], f(4, 16), f(12, 4, 16), f(16, 16) * np.float32(.3), name='scan_rnn', tol=1e-3)
case(lambda x, p: lax.cond(p[0] > 0, lambda a: a + 1, lambda a: a * 2, x), f(50), np.array([1], np.int32), name='cond', tol=0)
case(lambda x: jnp.fft.fft(x).real, f(8, 64).astype(np.complex64), name='fft', tol=1e-3)
case(lambda x: jnp.linalg.norm(x), f(40, 40), name='norm', tol=1e-3)
case(lambda x: jax.random.uniform(jax.random.wrap_key_data(x), (1000,)), np.array([3, 7], np.uint32), name='threefry', tol=0)
case(lambda x: jax.random.normal(jax.random.wrap_key_data(x), (1000,), jnp.float32), np.array([3, 7], np.uint32), name='normal')
def mlp(w1, w2, x, y): return jnp.mean((jax.nn.gelu(x @ w1) @ w2 - y) ** 2)
case(jax.grad(mlp, (0, 1)), f(16, 32) * np.float32(.2), f(32, 4) * np.float32(.2), f(64, 16), f(64, 4), name='mlp_grad', tol=1e-3)
def train(w1, w2, x, y):
    def step(w, _):
        g = jax.grad(lambda w: mlp(*w, x, y))(w)
        return tuple(a - .1 * c for a, c in zip(w, g)), mlp(*w, x, y)
    return lax.scan(step, (w1, w2), None, length=20)[1]
case(train, f(16, 32) * np.float32(.2), f(32, 4) * np.float32(.2), f(64, 16), f(64, 4), tol=1e-3)
case(jax.grad(lambda w, x: jnp.sum(jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))) ** 2)), f(3, 3, 3, 8), f(2, 12, 12, 3), name='conv_grad', tol=1e-2)
case(lambda a: jnp.einsum('bij,bkj->bik', a, a), f(3, 20, 30), name='einsum')
def block(x, wq, wk, wv, wo, w1, w2):
    n = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    sp = lambda y: y.reshape(x.shape[0], x.shape[1], 4, -1).transpose(0, 2, 1, 3)
    y = n(x); y = causal(sp(y @ wq), sp(y @ wk), sp(y @ wv)).transpose(0, 2, 1, 3).reshape(x.shape)
    x = x + y @ wo
    return x + jax.nn.gelu(n(x) @ w1) @ w2
case(block, f(2, 24, 64), *(f(64, 64) * np.float32(.1) for _ in range(4)), f(64, 256) * np.float32(.1), f(256, 64) * np.float32(.1), tol=5e-3)
bad = 0
for name, (fn, args, tol) in cases.items():
    if only and name not in only: continue
    t0 = time.time()
    want = jax.tree.leaves(jax.jit(fn)(*args))
    text = jax.jit(fn).lower(*args).as_text()
    try:
        code = ic.compile_str(text, input_type='stablehlo', extra_args=['--iree-hal-target-device=cuda', '--iree-cuda-target=' + target, '--iree-input-demote-i64-to-i32=false', '--iree-input-demote-f64-to-f32=false'])
    except Exception as e:
        lines = [l for l in str(e).splitlines() if 'error' in l]
        print('skip', name, 'IREE does not compile it:', (lines or ['?'])[0][:160], flush=True); continue
    t1 = time.time()
    try:
        ctx = ir.SystemContext(config=config)
        ctx.add_vm_module(ir.VmModule.copy_buffer(ctx.instance, code))
        got = ctx.modules[next(m for m in ctx.modules.keys() if m.startswith('jit'))].main(*args)
        got = [np.asarray(g) for g in (got if isinstance(got, (tuple, list)) else [got])]
    except Exception as e:
        print('FAIL', name, 'run:', str(e)[:300].replace('\n', ' '), flush=True); bad += 1; continue
    t2 = time.time()
    worst = 0
    for g, w in zip(got, want):
        w = np.asarray(w)
        g = g.view(w.dtype) if g.dtype.itemsize == w.dtype.itemsize and g.dtype.kind == 'V' else g
        w, g = w.astype(np.float64), g.astype(np.float64)
        if w.shape != g.shape or (np.isnan(w) != np.isnan(g)).any(): worst = np.inf; break
        scale = max(1., float(np.nanmax(np.abs(w))) if tol > 1e-7 else 1.)
        d = np.abs(g - w) / np.maximum(1, np.abs(w)) if tol < 1e-6 else np.abs(g - w) / scale
        worst = max(worst, float(np.nanmax(d)) if d.size else 0)
    print('ok' if worst <= tol else 'FAIL', name, '%.2g' % worst, 'compile %.2f run %.2f' % (t1 - t0, t2 - t1), flush=True)
    bad += worst > tol
# its own threads wait for host functions of a context that is lost
sys.stdout.flush()
os._exit(bad > 0)
