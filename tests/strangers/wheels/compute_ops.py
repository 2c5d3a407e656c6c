# SPDX-License-Identifier: MIT
"""cuda.compute (cuda-cccl), whose CUB kernels NVRTC compiles as it runs, and cuda.bindings.runtime, against numpy. Both carry a stripped
cudart, which is turned over."""
import numpy as np
from cuda.bindings import runtime as rt
from cuda.compute import (CountingIterator, OpKind, SortOrder, TransformIterator, binary_transform, exclusive_scan, histogram_even,
                          inclusive_scan, lower_bound, merge_sort, radix_sort, reduce_into, segmented_reduce, select, unary_transform,
                          unique_by_key)

from check import check, end


def ok(answer):
    if int(answer[0]):
        raise RuntimeError(answer[0])
    return answer[1] if len(answer) > 1 else None


class Array:
    def __init__(self, a):
        self.host = np.ascontiguousarray(a)
        self.dtype, self.shape, self.size = self.host.dtype, self.host.shape, self.host.size
        self.at = ok(rt.cudaMalloc(max(1, self.host.nbytes)))
        ok(rt.cudaMemcpy(self.at, self.host.ctypes.data, self.host.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice))

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (int(self.at), False), "version": 3, "strides": None}

    def __len__(self):
        return self.size

    def get(self):
        out = np.empty_like(self.host)
        ok(rt.cudaDeviceSynchronize())
        ok(rt.cudaMemcpy(out.ctypes.data, self.at, out.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost))
        return out


def zeros(n, dtype):
    return Array(np.zeros(n, dtype))


r = np.random.default_rng(1)
for n in (100, 100003):
    for dtype, tolerance in ((np.int32, 0), (np.float32, 1e-5), (np.uint8, 0)):
        x = r.integers(0, 100, n).astype(dtype)
        X, nothing, of = Array(x), np.zeros(1, dtype), f"of {n} {np.dtype(dtype).name}"
        out = zeros(1, dtype)
        reduce_into(d_in=X, d_out=out, op=OpKind.PLUS, num_items=n, h_init=nothing)
        check(f"sum {of}", out.get(), [x.sum(dtype=dtype)], tolerance)
        out = zeros(n, dtype)
        inclusive_scan(d_in=X, d_out=out, op=OpKind.PLUS, init_value=None, num_items=n)
        check(f"sums up to {of}", out.get(), np.cumsum(x, dtype=dtype), tolerance)
        exclusive_scan(d_in=X, d_out=out, op=OpKind.PLUS, init_value=nothing, num_items=n)
        check(f"sums before {of}", out.get(), np.concatenate([[0], np.cumsum(x, dtype=dtype)[:-1]]).astype(dtype), tolerance)
        keys, values, order = zeros(n, dtype), zeros(n, np.int32), np.argsort(x, kind="stable")
        radix_sort(d_in_keys=X, d_out_keys=keys, d_in_values=Array(np.arange(n, dtype=np.int32)), d_out_values=values,
                   order=SortOrder.ASCENDING, num_items=n)
        check(f"sorted keys {of}", keys.get(), x[order])
        check(f"sorted values {of}", values.get(), order.astype(np.int32))
    x = r.integers(0, 100, n).astype(np.int32)
    X, of = Array(x), f"of {n}"
    keys, values, order = zeros(n, np.int32), zeros(n, np.int32), np.argsort(x, kind="stable")
    merge_sort(d_in_keys=X, d_in_values=Array(np.arange(n, dtype=np.int32)), d_out_keys=keys, d_out_values=values, op=OpKind.LESS, num_items=n)
    check(f"merged keys {of}", keys.get(), x[order])
    out = zeros(1, np.int32)
    reduce_into(d_in=X, d_out=out, op=lambda a, b: a if a > b else b, num_items=n, h_init=np.zeros(1, np.int32))
    check(f"most, in Python, {of}", out.get(), [x.max()])
    out, many = zeros(n, np.int32), zeros(1, np.int64)
    select(d_in=X, d_out=out, d_num_selected_out=many, cond=lambda a: a % 2 == 0, num_items=n)
    check(f"even ones {of}", out.get()[:many.get()[0]], x[x % 2 == 0])
    keys, values, many = zeros(n, np.int32), zeros(n, np.int32), zeros(1, np.int64)
    unique_by_key(d_in_keys=Array(np.sort(x)), d_in_items=X, d_out_keys=keys, d_out_items=values, d_out_num_selected=many, op=OpKind.EQUAL_TO,
                  num_items=n)
    check(f"unique ones {of}", keys.get()[:many.get()[0]], np.unique(x))
    unary_transform(d_in=X, d_out=out, op=lambda a: a * a + 1, num_items=n)
    check(f"each {of}", out.get(), x * x + 1)
    binary_transform(d_in1=X, d_in2=X, d_out=out, op=OpKind.MULTIPLIES, num_items=n)
    check(f"each two {of}", out.get(), x * x)
    first = np.arange(0, n, 50, dtype=np.int32)
    last = np.minimum(first + 50, n).astype(np.int32)
    sums = zeros(len(first), np.int32)
    segmented_reduce(d_in=X, d_out=sums, start_offsets_in=Array(first), end_offsets_in=Array(last), op=OpKind.PLUS, h_init=np.zeros(1, np.int32),
                     num_segments=len(first))
    check(f"sums of parts {of}", sums.get(), [x[a:b].sum() for a, b in zip(first, last)])
    bins = zeros(10, np.int32)
    histogram_even(d_samples=Array(x.astype(np.float32)), d_histogram=bins, num_output_levels=11, lower_level=np.float32(0),
                   upper_level=np.float32(100), num_samples=n)
    check(f"histogram {of}", bins.get(), np.histogram(x, 10, (0, 100))[0].astype(np.int32))
    total = zeros(1, np.int64)
    reduce_into(d_in=TransformIterator(CountingIterator(np.int64(0)), lambda a: a * 2), d_out=total, op=OpKind.PLUS, num_items=n,
                h_init=np.zeros(1, np.int64))
    check(f"iterators {of}", total.get(), [n * (n - 1)])
    wanted, places = r.integers(0, 100, 50).astype(np.int32), zeros(50, np.uint64)
    lower_bound(d_data=Array(np.sort(x)), num_items=n, d_values=Array(wanted), num_values=50, d_out=places)
    check(f"places {of}", places.get(), np.searchsorted(np.sort(x), wanted).astype(np.uint64))

# the runtime by itself: a graph of a capture, an event, an error
stream, event, data = ok(rt.cudaStreamCreate()), ok(rt.cudaEventCreate()), Array(np.ones(1000, np.float32))
ok(rt.cudaStreamBeginCapture(stream, rt.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
ok(rt.cudaMemsetAsync(data.at, 0, 4000, stream))
graph = ok(rt.cudaGraphInstantiate(ok(rt.cudaStreamEndCapture(stream)), 0))
ok(rt.cudaGraphLaunch(graph, stream))
ok(rt.cudaEventRecord(event, stream))
ok(rt.cudaEventSynchronize(event))
check("a graph by the runtime", data.get(), np.zeros(1000, np.float32))
check("an error by its number", int(rt.cudaSetDevice(77)[0]), 101)
end()
