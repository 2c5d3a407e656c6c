# SPDX-License-Identifier: MIT
"""vgpu run: what a Python package needs around it, when a program imports it.

Which packages a program has is known in its interpreter only: behind a shell, uv run, torchrun or a process pool vgpu run sees none of
that. So what is for one package is done when that is imported, before its first line runs: variables, where the user has set none,
and libraries that it opens by name. Other programs see nothing of it, and nothing of a package is changed on disk. Python imports this
file by itself: its folder is on PYTHONPATH. vgpu run -v has it say what it does.
"""
import glob
import importlib.machinery
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CUBINS = os.environ.get("VGPU_CUBINS", "0") not in ("", "0")        # the device is NVIDIA's, and runs what NVIDIA's compilers make


def _installed(pattern):
    """The first match of a pattern below the folders that packages come from, or None."""
    return next((found for folder in sys.path if folder for found in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))), None)


def _say(whom, what):
    if os.environ.get("VGPU_TURN"):
        print(f"vgpu: {whom}: {what}", file=sys.stderr)


def _set(whom, name, value):
    if not os.environ.get(name):
        os.environ[name] = value
        _say(whom, f"{name}={value}")


def _append(whom, name, folder):
    """To a list of folders, behind the user's own."""
    have = [p for p in os.environ.get(name, "").split(os.pathsep) if p]
    if folder not in have:
        os.environ[name] = os.pathsep.join([*have, folder])
        _say(whom, f"{name}={os.environ[name]}")


def _open(whom, *names):
    """What is open already is taken by everybody who opens a file of its soname, wherever that lies."""
    import ctypes
    for name in names:
        path = os.path.join(os.path.dirname(HERE), "xla", name)
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            _say(whom, f"opened {path}")
        except OSError as e:
            print(f"vgpu: {whom}: {e}: build it with 'make', or reinstall", file=sys.stderr)


def _xla(whom):
    # its search runs tens of Triton's kernels for each product, in seconds each
    _set(whom, "XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false")
    # XLA compiles nothing without a cuDNN handle: ours has handles, and refuses the rest by name. TensorFlow takes no device unless
    # the three others can be opened, too; without them JAX speaks of an internal error where they say what is not there.
    _open(whom, "libcudnn.so.9", "libcufft.so.11", "libcufft.so.12", "libcusparse.so.12", "libcusolver.so.11", "libcusolver.so.12")        # CUDA 12, 13


def _jax():
    if not _installed("jax_plugins/xla_cuda1[23]"):
        return
    # before the ptxas of a wheel; JAX hands it to XLA as its data dir
    if not CUBINS:
        _set("JAX", "CUDA_ROOT", os.path.dirname(HERE))
    # of the libraries that its check wants, only the ones that it uses need to be there
    _set("JAX", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
    # three quarters of a device's memory at its start, else: that is the machine's here
    _set("JAX", "XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    _xla("JAX")


def _tensorflow():
    # there are wheels with and without CUDA under this name
    if not _installed("tensorflow/libtensorflow_cc.so.2"):
        return
    # it takes all of a device's memory at its start, which is the machine's here
    _set("TensorFlow", "TF_FORCE_GPU_ALLOW_GROWTH", "true")
    _xla("TensorFlow")


def _oldest_ptx(path):
    """The least compute capability, as 75, that a library's first fatbin has PTX for; 0 where it has none (tools/vgpu-stub/cpu/fatbin.h says how these are made)."""
    import mmap
    import struct
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        at = m.find(b"\x50\xed\x55\xba")
        if at < 0:
            return 0
        header, size = struct.unpack_from("<HQ", m, at + 6)
        at, end, found = at + header, min(at + header + size, len(m) - 64), []
        while at < end:
            kind, _, header, size = struct.unpack_from("<HHIQ", m, at)
            if kind == 1:
                found.append(struct.unpack_from("<I", m, at + 28)[0])
            at += header + size
        return min(found, default=0)


def _device_has():
    """The compute capability of the first device, as 75, or 0. By NVML: CUDA is the program's to begin with, which may fork before."""
    import ctypes
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    device, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    if nvml.nvmlInit_v2():
        return 0
    wrong = nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) or \
        nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
    nvml.nvmlShutdown()
    return 0 if wrong else major.value * 10 + minor.value


def _cupy():
    # its signals and splines import its sparse matrices, whether they use any or not; of transforms and factorisations it says what has them
    _open("CuPy", "libcusparse.so.12", "libcufft.so.11", "libcusolver.so.11")


def _cupy_core():
    # it does not look whether its CUB ran: sums and extremes were what lay there before. Where CUB is for newer devices only, CuPy's own kernels do these.
    cub = _installed("cupy/cuda/cub.*.so")
    if cub and "CUPY_ACCELERATORS" not in os.environ and _oldest_ptx(cub) > _device_has() > 0:
        _set("CuPy", "CUPY_ACCELERATORS", "")
    _cupy_headers()


def _cupy_headers():
    # headers beside NVRTC: its own wheel's, conda's, the system's; else ours, which clang compiles with
    if _installed("nvidia/*/include/cuda_runtime.h") or any(os.path.exists(os.path.join(p, "include/cuda_runtime.h")) for p in (
            os.environ.get("CONDA_PREFIX") or "/nowhere", sys.prefix, "/usr/local/cuda", "/usr")):
        return
    folder = os.path.dirname(HERE)              # installed; in a build it lies one above
    sdk = [p for p in (os.path.join(folder, "sdk"), os.path.join(os.path.dirname(folder), "sdk")) if os.path.exists(os.path.join(p, "include"))]
    if sdk:
        _set("CuPy", "CUDA_PATH", sdk[0])


def _tinygrad():
    # files, by tinygrad's own rule for these two names: it looks into no LD_LIBRARY_PATH and no wheel; CuPy has a rule of its own for the first
    if not _installed("cupy/_core"):
        folder = os.path.dirname(HERE)          # installed; in a build the libraries lie one above
        libcuda = [p for p in (os.path.join(folder, "libcuda.so.1"), os.path.join(os.path.dirname(folder), "libcuda.so.1")) if os.path.exists(p)]
        if libcuda:
            _set("tinygrad", "CUDA_PATH", libcuda[0])
    nvrtc = _installed("nvidia/*/lib/libnvrtc.so.1[23]")
    if nvrtc:
        _set("tinygrad", "NVRTC_PATH", os.path.realpath(nvrtc))


def _warp():
    # its library carries a compiler that is newer than a driver of 13.1, and makes machine code for one that could not read its PTX: ours reads any
    if not CUBINS:
        _set("Warp", "VGPU_CUDA_VERSION", "13.5")


def _torch_extension():
    # CUDA sources of a program's own. A toolkit of wheels has nvcc, and neither lib64 nor a libcudart.so to link with; one of vgpu toolkit has not
    # the headers of libraries that torch's own ask for (cusparse.h), which come with torch's wheels.
    import shutil
    wheel = _installed("nvidia/cu13")
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = wheel and os.path.join(wheel, "bin/nvcc")
    found = shutil.which("nvcc")
    if wheel is None or not home and (os.path.realpath(found) != os.path.realpath(nvcc) if found else os.path.exists("/usr/local/cuda")):
        return
    if not home and os.path.exists(nvcc):
        home = wheel
        _set("torch", "CUDA_HOME", wheel)
    if home and os.path.realpath(home) == os.path.realpath(wheel):
        folder = os.path.dirname(HERE)          # installed; in a build it lies one above
        libraries = [p for p in (os.path.join(folder, "dev-13"), os.path.join(os.path.dirname(folder), "dev-13")) if os.path.exists(p)]
        if libraries and not os.path.exists(os.path.join(wheel, "lib/libcudart.so")):
            _append("torch", "LIBRARY_PATH", libraries[0])
        if not CUBINS:
            BEHIND["torch.utils.cpp_extension"] = _torch_ptx
    elif home and os.path.exists(os.path.join(home, ".vgpu-toolkit")):
        _append("torch", "CPLUS_INCLUDE_PATH", os.path.join(wheel, "include"))


def _torch_ptx(module):
    # a setup.py that lists machines of its own (-gencode arch=compute_80,code=sm_80) asks for machine code alone: PTX for this device goes in beside it
    flags = getattr(module, "_get_cuda_arch_flags", None)

    def with_ptx(cflags=None):
        wanted, device = flags(cflags), _device_has()
        own = f"-gencode=arch=compute_{device},code=compute_{device}"
        if device < 75 or own in wanted or own in (cflags or []):       # 75: the least that this nvcc knows
            return wanted
        _say("torch", f"extensions are compiled with {own}, too")
        return [*wanted, own]

    if flags:
        module._get_cuda_arch_flags = with_ptx


# What is done before a package's first line; and behind a module's last, that of --torch, too (for-torch, which passes on to this file, is the interpreter's own then).
BEFORE = {"jax": _jax, "torch.utils.cpp_extension": _torch_extension, "tensorflow": _tensorflow, "cupy": _cupy_core, "cupyx": _cupy, "tinygrad": _tinygrad,
          "warp": _warp}
BEHIND = dict(getattr(sys.modules.get("sitecustomize"), "BEHIND", {}))


class _Before:
    """Stands before the finders of modules, finds nothing itself but what has something to be done behind it, and is quick: it is asked for each import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        do = BEFORE.pop(name, None)
        if do:
            do()
        do = BEHIND.pop(name, None)
        spec = do and importlib.machinery.PathFinder.find_spec(name, path, target)
        if not spec or not spec.loader:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            do(module)
        spec.loader.exec_module = exec_module
        return spec


def _next_sitecustomize():
    """The one that this file hides, if there is one: of the folders behind the last that is this one."""
    at = [os.path.abspath(p or ".") for p in sys.path]
    behind = sys.path[len(at) - at[::-1].index(HERE):] if HERE in at else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec and spec.loader:
        module = type(sys)(spec.name)
        module.__spec__, module.__file__ = spec, spec.origin
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Before)
_next_sitecustomize()
