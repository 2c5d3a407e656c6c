# SPDX-License-Identifier: MIT
# A kernel of Mojo's.
from max.gpu.host import DeviceContext
from max.gpu import thread_idx, block_idx, block_dim


def mix(a: Pointer[Float32, MutAnyOrigin], b: Pointer[Float32, MutAnyOrigin], n: Int32):
    var i = Int(block_idx.x * block_dim.x + thread_idx.x)
    if Int32(i) < n:
        a[i] = a[i] * 2 + b[i]


def main() raises:
    var ctx = DeviceContext()
    comptime n = 1000
    var a = ctx.enqueue_create_buffer[DType.float32](n)
    var b = ctx.enqueue_create_buffer[DType.float32](n)
    with a.map_to_host() as h:
        for i in range(n):
            h[i] = Float32(i)
    with b.map_to_host() as h:
        for i in range(n):
            h[i] = Float32(i % 7)
    ctx.enqueue_function[mix](a.unsafe_ptr(), b.unsafe_ptr(), Int32(n), grid_dim=8, block_dim=128)
    ctx.synchronize()
    var wrong = 0
    with a.map_to_host() as h:
        for i in range(n):
            if h[i] != Float32(2 * i + i % 7):
                wrong += 1
    if wrong != 0:
        raise Error("numbers are wrong")
    print("ok an element-wise kernel on", ctx.name())
