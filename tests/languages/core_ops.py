# SPDX-License-Identifier: MIT
"""cuda.core without torch: programs in CUDA C++ and PTX, linking of PTX and of LTO-IR, launches, streams, events, graphs, and each of its memory
resources: of the device, pinned (a pool of host memory), managed, the older pinned one, all against what the host computes."""
import ctypes
import sys

import numpy as np
from cuda.core import (Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions,
                       ManagedMemoryResource, ManagedMemoryResourceOptions, PinnedMemoryResource, PinnedMemoryResourceOptions, Program, ProgramOptions, launch)

N = 5000
CODE = r"""
extern "C" __global__ void affine(float *y, const float *x, float a, float b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + b;
}
template<typename T> __global__ void twice(T *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = x[i] + x[i];
}
"""
CALLER = 'extern __device__ float other(float);\nextern "C" __global__ void calls(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = other(x[i]); }'
CALLED = "__device__ float other(float v) { return v * v + 3; }"
CONFIG = LaunchConfig(grid=(N + 127) // 128, block=128)

dev = Device()
dev.set_current()
stream = dev.create_stream()
arch = f"sm_{dev.arch}"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAIL'} {name} {why}".rstrip(), flush=True)


def tried(f):
    try:
        f()
    except Exception as e:
        check(f.__name__, False, f"{type(e).__name__}: {e}".replace("\n", " ")[:200])


def array(buffer, dtype=np.float32, n=N):
    """A view of memory that the host reaches."""
    at = (ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(int(buffer.handle))
    return np.frombuffer(at, dtype)


def kernel(name, code=CODE, kind="c++", **more):
    return Program(code, kind, ProgramOptions(arch=arch, **more)).compile("cubin", name_expressions=(name,) if "<" in name else ()).get_kernel(name)


def works(buffers, k):
    """Host writes, kernel computes, host reads."""
    x, y = buffers.allocate(N * 4, stream=stream), buffers.allocate(N * 4, stream=stream)
    stream.sync()
    hx, hy = array(x), array(y)
    hx[:] = np.arange(N)
    hy[:] = -1
    launch(stream, CONFIG, k, y, x, np.float32(2), np.float32(1), np.int32(N))
    stream.sync()
    good = np.array_equal(hy, np.arange(N, dtype=np.float32) * 2 + 1)
    x.close(stream)
    y.close(stream)
    stream.sync()
    return good


@tried
def program():
    check("program", works(LegacyPinnedMemoryResource(), kernel("affine")))


@tried
def template():
    k = kernel("twice<double>")
    pinned = LegacyPinnedMemoryResource().allocate(N * 8)
    h = array(pinned, np.float64)
    h[:] = np.arange(N)
    launch(stream, CONFIG, k, pinned, np.int32(N))
    stream.sync()
    check("template", np.array_equal(h, 2.0 * np.arange(N)))


@tried
def ptx():
    text = Program(CODE, "c++", ProgramOptions(arch=f"compute_{dev.arch}")).compile("ptx")
    k = Program(text.code.decode(), "ptx", ProgramOptions(arch=arch)).compile("cubin").get_kernel("affine")
    check("ptx", works(LegacyPinnedMemoryResource(), k))


def linked(kind, **more):
    parts = [Program(c, "c++", ProgramOptions(arch=arch, relocatable_device_code=True, **more)).compile(kind) for c in (CALLER, CALLED)]
    k = Linker(*parts, options=LinkerOptions(arch=arch, **more)).link("cubin").get_kernel("calls")
    pinned = LegacyPinnedMemoryResource().allocate(N * 4)
    h = array(pinned)
    h[:] = np.arange(N) % 100
    launch(stream, CONFIG, k, pinned, np.int32(N))
    stream.sync()
    return np.array_equal(h, (np.arange(N) % 100).astype(np.float32) ** 2 + 3)


@tried
def link_ptx():
    check("link_ptx", linked("ptx"))


@tried
def link_lto():
    check("link_lto", linked("ltoir", link_time_optimization=True))


@tried
def device_memory():
    mr = DeviceMemoryResource(dev, DeviceMemoryResourceOptions())
    host = LegacyPinnedMemoryResource()
    a, h = mr.allocate(N * 4, stream=stream), host.allocate(N * 4)
    array(h)[:] = np.arange(N)
    h.copy_to(a, stream=stream)
    launch(stream, CONFIG, kernel("twice<float>"), a, np.int32(N))
    a.copy_to(h, stream=stream)
    stream.sync()
    check("device_memory", np.array_equal(array(h), 2.0 * np.arange(N)) and mr.is_device_accessible and not mr.is_host_accessible)
    a.close(stream)


@tried
def pinned_memory():
    mr = PinnedMemoryResource(PinnedMemoryResourceOptions())
    check("pinned_memory", works(mr, kernel("affine")) and mr.is_host_accessible and mr.is_device_accessible)
    used = mr.attributes.used_mem_current
    check("pinned_memory_given_back", used == 0, f"{used} bytes are used")


@tried
def managed_memory():
    mr = ManagedMemoryResource(ManagedMemoryResourceOptions())
    check("managed_memory", works(mr, kernel("affine")) and mr.is_host_accessible and mr.is_device_accessible)
    mr = ManagedMemoryResource(ManagedMemoryResourceOptions(preferred_location=dev.device_id))
    check("managed_memory_of_a_device", works(mr, kernel("affine")))


@tried
def events():
    k = kernel("twice<float>")
    other = dev.create_stream()
    h = LegacyPinnedMemoryResource().allocate(N * 4)
    array(h)[:] = 1
    first = stream.record(options=EventOptions(timing_enabled=True))
    for _ in range(5):
        launch(stream, CONFIG, k, h, np.int32(N))
        other.wait(stream.record())
        launch(other, CONFIG, k, h, np.int32(N))
        stream.wait(other.record())
    last = stream.record(options=EventOptions(timing_enabled=True))
    last.sync()
    check("events", bool((array(h) == 1024).all()) and last - first > 0)


@tried
def graph():
    k = kernel("twice<float>")
    h = LegacyPinnedMemoryResource().allocate(N * 4)
    array(h)[:] = 1
    builder = dev.create_graph_builder().begin_building()
    for _ in range(3):
        launch(builder, CONFIG, k, h, np.int32(N))
    done = builder.end_building().complete()
    done.launch(stream)
    done.launch(stream)
    stream.sync()
    check("graph", bool((array(h) == 64).all()))


sys.exit(failed > 0)
