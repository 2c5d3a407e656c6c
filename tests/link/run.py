# SPDX-License-Identifier: MIT
"""Every case by cuLink, and by libnvJitLink of ours; NVIDIA's own gives its verdict where it is. run.py LIB [NVIDIA'S]"""
import ctypes
import os
import struct
import subprocess
import sys
import tempfile
from cases import CASES

lib, theirs = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
c, u64 = ctypes.c_void_p, ctypes.c_uint64
cu = ctypes.CDLL("libcuda.so.1")


def must(r, what):
    if r:
        raise RuntimeError(f"{what}: {r}")


must(cu.cuInit(0), "cuInit")
ctx, mem = c(), u64()
must(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0), "retain")
must(cu.cuCtxSetCurrent(ctx), "current")
must(cu.cuMemAlloc_v2(ctypes.byref(mem), ctypes.c_size_t(64)), "alloc")


def value(cubin):
    m, f, out = c(), c(), ctypes.c_uint32()
    must(cu.cuModuleLoadData(ctypes.byref(m), cubin), "load")
    must(cu.cuModuleGetFunction(ctypes.byref(f), m, b"k"), "function")
    must(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, (c * 1)(ctypes.cast(ctypes.byref(mem), c)), None), "launch")
    must(cu.cuMemcpyDtoH_v2(ctypes.byref(out), mem, ctypes.c_size_t(4)), "copy")
    must(cu.cuModuleUnload(m), "unload")
    return out.value


def by_driver(texts):
    state, image, size = c(), c(), ctypes.c_size_t()
    log = ctypes.create_string_buffer(2000)
    options, values = (ctypes.c_int * 2)(5, 6), (c * 2)(ctypes.cast(log, c), 2000)
    must(cu.cuLinkCreate_v2(2, options, values, ctypes.byref(state)), "create")
    try:
        for i, t in enumerate(texts):
            must(cu.cuLinkAddData_v2(state, 1, t.encode() + b"\0", ctypes.c_size_t(len(t) + 1), b"file%d" % i, 0, None, None), "add")
        r = cu.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size))
        if r:
            return None, log.value.decode()
        return value(ctypes.string_at(image, size.value)), ""
    finally:
        must(cu.cuLinkDestroy(state), "destroy")


def by_jitlink(jl, texts, run=True):
    h, size = c(), ctypes.c_size_t()
    must(jl.nvJitLinkCreate(ctypes.byref(h), 1, (ctypes.c_char_p * 1)(b"-arch=sm_75")), "create")
    r = 0
    for i, t in enumerate(texts):
        r = r or jl.nvJitLinkAddData(h, 2, t.encode() + b"\0", ctypes.c_size_t(len(t) + 1), b"file%d" % i)
    r = r or jl.nvJitLinkComplete(h)
    if r:
        must(jl.nvJitLinkGetErrorLogSize(h, ctypes.byref(size)), "log")
        log = ctypes.create_string_buffer(size.value + 1)
        must(jl.nvJitLinkGetErrorLog(h, log), "log")
        out = None, log.value.decode()
    elif not run:
        out = True, ""
    else:
        must(jl.nvJitLinkGetLinkedCubinSize(h, ctypes.byref(size)), "size")
        cubin = ctypes.create_string_buffer(size.value)
        must(jl.nvJitLinkGetLinkedCubin(h, cubin), "cubin")
        out = value(cubin.raw), ""
    must(jl.nvJitLinkDestroy(ctypes.byref(h)), "destroy")
    return out


def tell(ok, name, why=""):
    print("ok" if ok else "FAIL", name, "" if ok else why)
    return ok


good = True
ours = {v: ctypes.CDLL(f"{lib}/libnvJitLink.so.{v}") for v in (12, 13)}
real = ctypes.CDLL(theirs) if theirs else None
for name, texts, want, *aside in CASES:
    try:
        got, log = by_driver(texts)
        good &= tell(got == want and (want is not None or "error" in log), f"driver/{name}", f"{got}, {want} expected; {log}")
        for v, jl in ours.items():
            got, log = by_jitlink(jl, texts)
            good &= tell(got == want and (want is not None or "error" in log), f"nvjitlink{v}/{name}", f"{got}, {want} expected; {log}")
        if real and not aside:
            got, log = by_jitlink(real, texts, False)
            good &= tell((got is None) == (want is None), f"nvidia/{name}", f"{got}, {want} expected; {log}")
    except Exception as e:
        good = tell(False, name, str(e))


def packed(text):
    """A fatbin as nvcc has it for -gencode arch=...,code=sm_61 alone: what our ptxas -c wrote, packed (LZ4, literals only), and no PTX."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/k.ptx", "w") as f:
            f.write(text)
        subprocess.run([f"{lib}/vgpu/bin/ptxas", "-c", "-arch=sm_61", f"{d}/k.ptx", "-o", f"{d}/k.cubin"], check=True)
        with open(f"{d}/k.cubin", "rb") as f:
            cubin = f.read()
    more, last = divmod(len(cubin) - 15, 255)
    block = b"\xf0" + b"\xff" * more + bytes([last]) + cubin
    payload = block + bytes(-len(block) % 8)
    entry = struct.pack("<HHIQIIIIQQQQ", 2, 0x101, 64, len(payload), len(block), 0, 0, 61, 0, 0x2011, 0, len(cubin))
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(entry) + len(payload)) + entry + payload


def by_fatbins(fatbins):
    state, image, size = c(), c(), ctypes.c_size_t()
    must(cu.cuLinkCreate_v2(0, None, None, ctypes.byref(state)), "create")
    for i, f in enumerate(fatbins):
        must(cu.cuLinkAddData_v2(state, 2, f, ctypes.c_size_t(len(f)), b"file%d" % i, 0, None, None), "add")
    must(cu.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size)), "complete")
    out = value(ctypes.string_at(image, size.value))
    must(cu.cuLinkDestroy(state), "destroy")
    return out


for name, texts, want, *aside in CASES:
    if name not in ("extern_function", "own_variables", "constant"):
        continue
    try:
        got = by_fatbins([packed(t) for t in texts])
        good &= tell(got == want, f"packed/{name}", f"{got}, {want} expected")
    except Exception as e:
        good = tell(False, f"packed/{name}", str(e))
jl, h = ours[12], c()
arch = (ctypes.c_char_p * 1)
good &= tell(jl.nvJitLinkCreate(ctypes.byref(h), 1, arch(b"-O3")) == 2, "options/missing_arch")
good &= tell(jl.nvJitLinkCreate(ctypes.byref(h), 0, None) == 10, "options/null")         # as NVIDIA's says
good &= tell(jl.nvJitLinkCreate(ctypes.byref(h), 1, arch(b"-no-such")) == 1, "options/unknown")
good &= tell(jl.__getattr__("__nvJitLinkCreate_12_4")(ctypes.byref(h), 1, arch(b"-arch=sm_75")) == 0, "options/versioned_name")
good &= tell(jl.nvJitLinkAddData(h, 3, b"\xed\x43\x4e\x7f1234", 8, b"x") == 18, "options/lto_not_enabled")
good &= tell(jl.nvJitLinkAddData(h, 1, b"\x7fELF" + b"\2" + bytes(13) + b"\xbe\0" + bytes(100), 120, b"x") != 0, "cubin_refused")
sys.exit(not good)
