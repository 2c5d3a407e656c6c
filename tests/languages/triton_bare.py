# SPDX-License-Identifier: MIT
"""Triton without torch: its driver on libcuda by ctypes, arrays of numpy on the device. Used by triton_kernels.py."""
import ctypes
import numpy as np
import triton
from triton.backends.nvidia import driver as nv
from triton.backends.driver import DriverBase

cu = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    r = getattr(cu, name)(*args)
    if r:
        raise RuntimeError(f"{name}: {r}")


call("cuInit", 0)
_ctx = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(_ctx), 0)
call("cuCtxSetCurrent", _ctx)


def capability(device=0):
    v = []
    for attribute in (75, 76):
        i = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(i), attribute, 0)
        v.append(i.value)
    return tuple(v)


class Driver(nv.CudaDriver):
    def __init__(self):         # GPUDriver's own asks torch
        self.utils = nv.CudaUtils()
        self.launcher_cls = nv.CudaLauncher
        DriverBase.__init__(self)
        self.get_device_capability = capability
        self.get_current_stream = lambda device: 0
        self.get_current_device = lambda: 0
        self.set_current_device = lambda device: None

    @staticmethod
    def is_active():
        return True


triton.runtime.driver.set_active(Driver())


class Array:
    """numpy's on the device: data_ptr and dtype are all that Triton asks for."""

    def __init__(self, host):
        host = np.ascontiguousarray(host)
        self.shape, self.kind = host.shape, host.dtype
        self.dtype = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "int8": "i8", "int16": "i16", "int32": "i32",
                      "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1"}[str(host.dtype)]
        self.p, self.bytes = ctypes.c_uint64(), host.nbytes
        call("cuMemAlloc_v2", ctypes.byref(self.p), ctypes.c_size_t(max(self.bytes, 1)))
        call("cuMemcpyHtoD_v2", self.p, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.bytes))

    def data_ptr(self):
        return self.p.value

    def host(self):
        out = np.empty(self.shape, self.kind)
        call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), self.p, ctypes.c_size_t(self.bytes))
        return out

    def __del__(self):
        cu.cuMemFree_v2(self.p)
