# SPDX-License-Identifier: MIT
"""bitsandbytes' library (nvcc -rdc=true: its PTX is linked here) by its C interface, without torch: quantised blocks against numpy."""
import ctypes
import importlib.util
import os

import numpy as np

from check import check, end

folder = importlib.util.find_spec("bitsandbytes").submodule_search_locations[0]
lib, rt = ctypes.CDLL(os.path.join(folder, "libbitsandbytes_cuda124.so")), ctypes.CDLL("libcudart.so.12")
r = np.random.default_rng(1)


def there(a):
    p = ctypes.c_void_p()
    assert not rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(a.nbytes)) and not rt.cudaMemcpy(p, ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes), 1)
    return p


def back(p, n, dtype):
    a = np.zeros(n, dtype)
    assert not rt.cudaMemcpy(ctypes.c_void_p(a.ctypes.data), p, ctypes.c_size_t(a.nbytes), 2)
    return a


i32, none = ctypes.c_int32, ctypes.c_void_p(0)
n = 4096 * 3
x = r.normal(size=n).astype(np.float32)
code = np.sort(np.concatenate([-np.linspace(0, 1, 128)[1:], np.linspace(0, 1, 129)])).astype(np.float32)
nf4 = np.array([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
                0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1], np.float32)
for block in (4096, 1024, 256, 64):
    most, q, out = there(np.zeros(n // block, np.float32)), there(np.zeros(n, np.uint8)), there(np.zeros(n, np.float32))
    lib.cquantize_blockwise_fp32(there(code), there(x), most, q, i32(block), i32(n))
    want = np.abs(x.reshape(-1, block)).max(1)
    check(f"largest of {block}", back(most, n // block, np.float32), want)
    scaled = (x.reshape(-1, block) / want[:, None]).ravel()
    got = code[back(q, n, np.uint8)]
    check(f"nearest codes of {block}", np.abs(got - scaled) <= np.abs(code - scaled[:, None]).min(1) + 1e-7, np.ones(n, bool))
    lib.cdequantize_blockwise_fp32(there(code), q, most, out, i32(block), i32(n), none)
    check(f"and back of {block}", back(out, n, np.float32), (got.reshape(-1, block) * want[:, None]).ravel(), 1e-7)
    lib.cquantize_blockwise_fp32_nf4(none, there(x), most, q, i32(block), i32(n))
    codes = back(q, n // 2, np.uint8)
    got = nf4[np.stack([codes >> 4, codes & 15], 1).ravel()]
    check(f"4 bits of {block}", np.abs(got - scaled) <= np.abs(nf4 - scaled[:, None]).min(1) + 1e-6, np.ones(n, bool))
    lib.cdequantize_blockwise_fp32_nf4(none, q, most, out, i32(block), i32(n), none)
    check(f"and back of 4 bits of {block}", back(out, n, np.float32), (got.reshape(-1, block) * want[:, None]).ravel(), 1e-6)
end()
