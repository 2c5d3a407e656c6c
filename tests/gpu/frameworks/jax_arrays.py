# SPDX-License-Identifier: MIT
"""JAX's wheels as they are, against numpy and JAX's CPU. "ok NAME" or "FAIL NAME why" a line. Called by python.sh."""
import sys

import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

bad = 0
rng = np.random.default_rng(7)
jax.config.update("jax_default_matmul_precision", "float32")
cpu = jax.devices("cpu")[0]
x, y = rng.standard_normal((64, 48)).astype(np.float32), rng.standard_normal((48, 32)).astype(np.float32)
n = rng.integers(0, 1000, 777).astype(np.int32)


def check(name, f, *args, tol=2e-5):
    """f on the device as on the CPU, compiled."""
    global bad
    try:
        with jax.default_device(cpu):
            want = jax.tree.leaves(jax.jit(f)(*args))
        got = jax.tree.leaves(jax.jit(f)(*args))
        for g, w in zip(got, want):
            g, w = np.asarray(g), np.asarray(w)
            off = np.abs(g.astype("d") - w.astype("d")).max() / (np.abs(w.astype("d")).max() + 1e-30)
            assert g.shape == w.shape and off <= tol, f"off by {off:.2g}"
        print("ok", name)
    except Exception as e:      # the next one may still be right
        bad = 1
        print("FAIL", name, type(e).__name__, " ".join(str(e).split())[:300])
    sys.stdout.flush()


assert jax.default_backend() in ("gpu", "cuda"), jax.default_backend()
check("functions", lambda a: (jnp.exp(a), jnp.sin(a), jnp.tanh(a), jnp.log1p(abs(a))), x)
check("reductions", lambda a: (a.sum(1), a.mean(0), a.max(1), a.argmax(1), jnp.cumsum(a, 1)), x)
check("sort", lambda a: (jnp.sort(a), jnp.argsort(a, stable=True)), n)
check("scatter", lambda a: jnp.zeros(50, jnp.int32).at[a % 50].add(1), n)
check("gather", lambda a, i: a[i % 64], x, n)
check("dot", lambda a, b: a @ b, x, y)
check("half dot", lambda a, b: (a.astype(jnp.float16) @ b.astype(jnp.float16)).astype(jnp.float32), x, y, tol=3e-3)
check("bfloat16 dot", lambda a, b: (a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16)).astype(jnp.float32), x, y, tol=2e-2)
check("softmax gelu", lambda a: (jax.nn.softmax(a), jax.nn.gelu(a)), x)
check("random", lambda: (jax.random.uniform(jax.random.PRNGKey(3), (4096,)), jax.random.normal(jax.random.PRNGKey(4), (1000,))))
check("scan", lambda a: lax.scan(lambda c, r: (c * 0.5 + r, c.sum()), jnp.zeros(48), a), x)
check("while cond", lambda a: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, lax.cond(s[0] % 2 == 0, lambda t: t * 2, lambda t: t - 1, s[1])), (0, a))[1], x)
check("gradient", jax.grad(lambda a: jnp.sum(jnp.tanh(a @ y) ** 2)), x, tol=1e-4)
check("vmap", jax.vmap(lambda r: jnp.outer(r, r).sum(0)), x, tol=1e-4)


def train(p):
    a = jnp.linspace(-1, 1, 128 * 8).reshape(128, 8)
    b = jnp.sin(a.sum(1, keepdims=True))

    def loss(q):
        return jnp.mean((jax.nn.gelu(a @ q[0] + q[1]) @ q[2] - b) ** 2)

    def step(q, _):
        l, g = jax.value_and_grad(loss)(q)
        return [t - 0.05 * u for t, u in zip(q, g)], l
    return lax.scan(step, p, None, length=30)[1]


check("training", train, [rng.standard_normal(s).astype(np.float32) * 0.3 for s in ((8, 32), (32,), (32, 1))], tol=1e-3)
sys.exit(bad)
