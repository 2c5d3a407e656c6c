# SPDX-License-Identifier: MIT
"""JAX on the device against numpy: jax.numpy, lax, nn, grad, vmap, scan, attention, a training loop. Prints ok and FAIL lines."""
import os
import sys
import tempfile
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import near
from near import check

rng = np.random.default_rng(7)
jax.config.update("jax_default_matmul_precision", "float32")

assert jax.default_backend() in ("gpu", "cuda"), jax.default_backend()
x = rng.standard_normal((64, 48)).astype(np.float32)
y = rng.standard_normal((48, 32)).astype(np.float32)
v = rng.standard_normal(48).astype(np.float32)
n = rng.integers(0, 1000, 777).astype(np.int32)

for f in "exp sin cos tanh abs floor sign arctan sinh expm1 cbrt".split():
    check(f, lambda f=f: getattr(jnp, f)(jnp.asarray(x)), getattr(np, f)(x.astype(np.float64)))
check("sqrt log", lambda: jnp.log(jnp.sqrt(jnp.abs(x)) + 1), np.log(np.sqrt(np.abs(x)) + 1))
check("broadcast", lambda: jnp.asarray(x) * jnp.asarray(v) + 1, x * v + 1)
for f in "sum mean max min std prod argmax".split():
    check(f, lambda f=f: getattr(jnp, f)(jnp.asarray(x), axis=1), getattr(np, f)(x.astype(np.float64), axis=1))
check("sum of all", lambda: jnp.asarray(x).sum(), x.astype(np.float64).sum())
check("cumsum", lambda: jnp.cumsum(jnp.asarray(x), axis=1), np.cumsum(x.astype(np.float64), axis=1))
check("sort", lambda: jnp.sort(jnp.asarray(n)), np.sort(n))
check("argsort", lambda: jnp.asarray(n)[jnp.argsort(jnp.asarray(n))], np.sort(n))
check("where", lambda: jnp.where(jnp.asarray(x) > 0, x, 0), np.where(x > 0, x, 0))
check("concatenate", lambda: jnp.concatenate([jnp.asarray(x), jnp.asarray(x)[:3]]), np.concatenate([x, x[:3]]))
check("transpose", lambda: jnp.asarray(x).T.copy(), x.T)
check("take", lambda: jnp.take(jnp.asarray(v), jnp.asarray(n) % 48), v[n % 48])
check("scatter add", lambda: jnp.zeros(50, jnp.int32).at[jnp.asarray(n) % 50].add(1), np.bincount(n % 50, minlength=50).astype(np.int32))
check("unique", lambda: jnp.unique(jnp.asarray(n)), np.unique(n))
check("integers", lambda: (jnp.asarray(n) * 7 // 3) ^ (jnp.asarray(n) << 2), (n * 7 // 3) ^ (n << 2))
check("dot", lambda: jnp.asarray(x) @ jnp.asarray(y), x.astype(np.float64) @ y)
check("dot with vector", lambda: jnp.asarray(x) @ jnp.asarray(v), x.astype(np.float64) @ v)
check("outer", lambda: jnp.outer(v, v), np.outer(v, v))
check("large dot", lambda: jnp.ones((256, 300)) @ jnp.full((300, 200), 0.5), np.full((256, 200), 150.0))
check("half dot", lambda: (jnp.asarray(x, jnp.float16) @ jnp.asarray(y, jnp.float16)).astype(jnp.float32),
      x.astype(np.float16).astype(np.float64) @ y.astype(np.float16), 2e-3)
check("bfloat16 dot", lambda: (jnp.asarray(x, jnp.bfloat16) @ jnp.asarray(y, jnp.bfloat16)).astype(jnp.float32), x.astype(np.float64) @ y, 2e-2)
b3 = rng.standard_normal((5, 16, 24)).astype(np.float32)
c3 = rng.standard_normal((5, 24, 8)).astype(np.float32)
check("einsum", lambda: jnp.einsum("bik,bkj->bij", b3, c3), np.einsum("bik,bkj->bij", b3.astype(np.float64), c3))
check("reduce_window", lambda: lax.reduce_window(jnp.asarray(x), -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), x.reshape(32, 2, 24, 2).max((1, 3)))
check("dynamic_slice", lambda: lax.dynamic_slice(jnp.asarray(x), (3, 4), (5, 6)), x[3:8, 4:10])
check("scan", lambda: lax.scan(lambda c, a: (c * 0.5 + a, c), jnp.zeros(48), jnp.asarray(x))[0],
      __import__("functools").reduce(lambda c, a: c * 0.5 + a, x.astype(np.float64), np.zeros(48)))
check("fori_loop", lambda: lax.fori_loop(0, 20, lambda i, a: a + i, jnp.int32(0)), np.int32(190))
check("while_loop", lambda: lax.while_loop(lambda s: s < 1000, lambda s: s * 3, jnp.int32(1)), np.int32(2187))
check("cond", lambda: lax.cond(jnp.asarray(v).sum() > 0, lambda: 1, lambda: 2), np.int32(1 if v.sum() > 0 else 2))
check("top_k", lambda: lax.top_k(jnp.asarray(v), 5)[0], np.sort(v)[::-1][:5])
check("vmap", lambda: jax.vmap(lambda a, b: jnp.dot(a, b))(jnp.asarray(x), jnp.asarray(x)), (x.astype(np.float64) ** 2).sum(1))
check("grad", lambda: jax.grad(lambda a: jnp.sum(jnp.tanh(a) ** 2))(jnp.asarray(v)), 2 * np.tanh(v) * (1 - np.tanh(v) ** 2))
check("jacobian", lambda: jax.jacfwd(lambda a: a ** 3)(jnp.asarray(v[:4])), np.diag(3 * v[:4] ** 2))
check("softmax", lambda: jax.nn.softmax(jnp.asarray(x)), np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(1, keepdims=True))
check("relu gelu silu", lambda: jax.nn.relu(x) + jax.nn.silu(jnp.asarray(x)), np.maximum(x, 0) + x / (1 + np.exp(-x.astype(np.float64))))
check("one_hot", lambda: jax.nn.one_hot(jnp.asarray(n[:9]) % 5, 5), np.eye(5, dtype=np.float32)[n[:9] % 5])
with jax.default_device(jax.devices("cpu")[0]):
    want = np.asarray(jax.random.uniform(jax.random.PRNGKey(3), (4096,)))
check("random uniform, as on the CPU", lambda: jax.random.uniform(jax.random.PRNGKey(3), (4096,)), want)
assert abs(want.mean() - 0.5) < 0.03 and want.std() > 0.25, "the CPU's own numbers are not uniform"
k = jax.random.PRNGKey(3)
with jax.default_device(jax.devices("cpu")[0]):
    want = np.asarray(jax.random.normal(jax.random.PRNGKey(3), (1000,)))
check("random normal, as on the CPU", lambda: jax.random.normal(k, (1000,)), want)


def attention(q, k, v):
    s = jnp.einsum("hqd,hkd->hqk", q, k) / np.sqrt(16).astype(np.float32)
    s = jnp.where(jnp.tril(jnp.ones((20, 20), bool)), s, -1e9)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(s, -1), v)


q3 = [rng.standard_normal((4, 20, 16)).astype(np.float32) for _ in range(3)]
with jax.default_device(jax.devices("cpu")[0]):
    want = np.asarray(attention(*q3))
    slopes = np.asarray(jax.grad(lambda q: attention(q, q3[1], q3[2]).sum())(q3[0]))
check("attention", lambda: jax.jit(attention)(*map(jnp.asarray, q3)), want)
check("attention, backwards", lambda: jax.jit(jax.grad(lambda q: attention(q, q3[1], q3[2]).sum()))(jnp.asarray(q3[0])), slopes, 1e-4)


# two layers that learn a function of their input, by Adam: the same steps as on the CPU
def loss(p, a, b):
    h = jax.nn.gelu(a @ p[0] + p[1])
    return jnp.mean((h @ p[2] + p[3] - b) ** 2)


def train(steps):
    r = np.random.default_rng(1)
    p = [jnp.asarray(r.standard_normal(s).astype(np.float32) * 0.3) for s in ((8, 32), (32,), (32, 1), (1,))]
    a = jnp.asarray(r.standard_normal((128, 8)).astype(np.float32))
    b = jnp.sin(a.sum(1, keepdims=True))
    m, s = [jnp.zeros_like(t) for t in p], [jnp.zeros_like(t) for t in p]

    @jax.jit
    def step(p, m, s, i):
        l, g = jax.value_and_grad(loss)(p, a, b)
        m = [0.9 * t + 0.1 * u for t, u in zip(m, g)]
        s = [0.999 * t + 0.001 * u * u for t, u in zip(s, g)]
        p = [t - 0.01 * (u / (1 - 0.9 ** i)) / (jnp.sqrt(w / (1 - 0.999 ** i)) + 1e-8) for t, u, w in zip(p, m, s)]
        return p, m, s, l

    losses = []
    for i in range(1, steps + 1):
        p, m, s, l = step(p, m, s, jnp.float32(i))
        losses.append(float(l))
    return np.array(losses)


with jax.default_device(jax.devices("cpu")[0]):
    want = train(60)
check("training loop", lambda: train(60), want, 1e-3)
print("ok" if want[-1] < want[0] / 4 else "FAIL", f"the loss goes from {want[0]:.3f} to {want[-1]:.3f}")


def said(f):
    """What appears on the file of errors, libraries' own words too, while f runs and fails; None: it did not fail."""
    sys.stderr.flush()
    kept, failed = os.dup(2), False
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            np.asarray(f())
        except Exception:
            failed = True
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace") if failed else None


# what NVIDIA's other libraries do is refused in a line that names the library, the call and the way out
for name, library, f in (("fft", "libcufft", lambda: jnp.fft.fft(jnp.ones(8))), ("svd", "libcusolver", lambda: jnp.linalg.svd(jnp.ones((3, 3)))[1])):
    words = said(f)
    right = words is not None and f"vgpu {library}: " in words and "jax.default_device" in words
    near.failed |= not right
    print("ok" if right else "FAIL", name, "is refused by name" if right else words and words[:200])
    with jax.default_device(jax.devices("cpu")[0]):
        near.failed |= not np.isfinite(np.abs(np.asarray(f()))).all()
sys.exit(near.failed)
