# SPDX-License-Identifier: MIT
"""vgpu run --torch: what FlagGems and Triton do before their first result, and need not.

FlagGems opens a database for what a search among kernels has found (there is no search
here: sitecustomize.py), and has torch import sympy for one question about a type; Triton reads 400 MB of its own to name its cache. Together
that is a second of processor time. Called by sitecustomize.py, before flag_gems is imported; each part
leaves things as they are where it does not find what it knows.
"""
import builtins
import contextlib
import gc
import hashlib
import json
import os
import sys
import tempfile
import threading
import types


@contextlib.contextmanager
def importing():
    """While flag_gems is imported nothing is looked for that could be thrown away: all of it stays."""
    _without_database()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Memory:
    """What FlagGems asks of its database, for as long as the process lives."""

    def __init__(self, url, *args, **kwargs):
        self.lock, self.configs, self.times = threading.Lock(), {}, {}

    @staticmethod
    def _plain(config):
        return config if isinstance(config, dict) else config.all_kwargs()

    def _of(self, name, keys, config):
        return (name, tuple(keys), json.dumps(self._plain(config), sort_keys=True, default=str))

    def get_config(self, name, key):
        with self.lock:
            return self.configs.get((name, tuple(key)))

    def put_config(self, name, keys, config):
        import triton
        if isinstance(config, dict):
            known = {k: config[k] for k in ("num_warps", "num_stages", "num_ctas", "maxnreg") if k in config}
            config = triton.Config({k: v for k, v in config.items() if k not in known}, **known)
        with self.lock:
            self.configs[name, tuple(keys)] = config

    def get_benchmark(self, name, keys, config):
        with self.lock:
            return self.times.get(self._of(name, keys, config))

    def put_benchmark(self, name, keys, config, benchmark):
        with self.lock:
            self.times[self._of(name, keys, config)] = benchmark


def _without_database():
    name = "flag_gems.utils.models.sql"
    if name not in sys.modules and "flag_gems" not in sys.modules:
        sys.modules[name] = types.ModuleType(name, "vgpu run --torch: in memory")
        sys.modules[name].SQLPersistantModel = _Memory


def imported():
    """Once flag_gems is there."""
    _types_without_sympy()
    _known_key()


def _types_without_sympy():
    """torch's rule for the types of results imports sympy, half a second of it, to ask whether a number is a symbol. While nobody
    else has imported sympy there are no symbols."""
    try:
        import flag_gems.utils.type_utils as used
        rule = used.elementwise_dtypes
        code, closure = rule.__code__, rule.__closure__
    except (ImportError, AttributeError):
        return
    if "sympy" not in code.co_names:
        return
    stands_in = types.SimpleNamespace(Basic=type("Basic", (), {}))

    def load(name, *args):
        if name == "sympy" and "sympy" not in sys.modules:
            return stands_in
        return builtins.__import__(name, *args)

    known = {**rule.__globals__, "__builtins__": {**vars(builtins), "__import__": load}}
    quick = types.FunctionType(code, known, rule.__name__, rule.__defaults__, closure)
    quick.__kwdefaults__ = rule.__kwdefaults__
    used.elementwise_dtypes = quick


def _known_key():
    """Triton names its cache by a hash of all that it is made of. It is kept, with the sizes and times of these files."""
    try:
        from triton.runtime import cache
        whole = cache.triton_key
        root = os.path.dirname(os.path.dirname(os.path.abspath(cache.__file__)))
    except (ImportError, AttributeError):
        return

    def files():
        for folder in ("_C", "backends", "compiler", "language", "runtime"):
            for at, folders, names in os.walk(os.path.join(root, folder)):
                folders[:] = sorted(f for f in folders if f not in ("__pycache__", "bin", "include"))
                for name in sorted(names):
                    if name.endswith((".py", ".so")):
                        yield os.path.join(at, name)

    def key():
        if made:
            return made[0]
        seen = hashlib.sha256(repr([(f, (s := os.stat(f)).st_size, s.st_mtime_ns, s.st_ino) for f in files()]).encode()).hexdigest()
        folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vgpu")
        kept = os.path.join(folder, "triton-" + seen)
        try:
            with open(kept) as f:
                made.append(f.read())
        except OSError:
            made.append(whole())
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
                with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as f:
                    f.write(made[0])
                os.replace(f.name, kept)
        return made[0]

    made = []
    key.whole = whole
    cache.triton_key = key
    for name in ("triton.compiler.compiler", "triton.runtime.jit"):
        if getattr(sys.modules.get(name), "triton_key", None) is whole:
            sys.modules[name].triton_key = key
