/* SPDX-License-Identifier: MIT */
/*
 * Many operations by one call: copies between pointers and of boxes, with arrays; prefetches; waits and writes of words; pools by place.
 * The headers are NVIDIA's, so layouts and signatures are theirs; values are computed here, errors are those of the documentation.
 */
#include <cuda.h>
#include <cuda_runtime.h>

#include "wrong.h"

template <class F> static F entry(const char *name, unsigned version)
{
	cudaDriverEntryPointQueryResult r;
	void *f = nullptr;

	CUDA(cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &r));
	WANT_OF(name, r == cudaDriverEntryPointSuccess && f);
	return (F)f;
}

static cudaMemcpyAttributes stream_order()
{
	cudaMemcpyAttributes a = {};

	a.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	return a;
}

static void copies(cudaStream_t s)
{
	const int n = 7;
	std::vector<uint32_t> host(n * 1000), back(n * 1000);
	cudaMemcpyAttributes a[2] = { stream_order(), stream_order() };
	size_t idx[2] = { 0, 4 }, sizes[n], bad[2] = { 4, 0 }, fail;
	const void *srcs[n];
	void *dsts[n];
	uint32_t *d;

	for (uint32_t &x : host)
		x = (uint32_t)rng();
	CUDA(cudaMalloc(&d, n * 4000));
	for (int i = 0; i < n; i++) {
		dsts[i] = d + (n - 1 - i) * 1000;
		srcs[i] = &host[i * 1000];
		sizes[i] = 4 * (size_t)(100 + 150 * i);
	}
	CUDA(cudaMemset(d, 0, n * 4000));
	CUDA(cudaMemcpyBatchAsync(dsts, srcs, sizes, n, a, idx, 2, s));
	CUDA(cudaMemcpyAsync(back.data(), d, n * 4000, cudaMemcpyDeviceToHost, s));
	CUDA(cudaStreamSynchronize(s));
	for (int i = 0; i < n; i++)
		for (int j = 0; j < 1000; j++)
			WANT_OF("copied", back[(n - 1 - i) * 1000 + j] == (j < 100 + 150 * i ? host[i * 1000 + j] : 0));

	/* sources that end with the call */
	uint32_t *pinned;

	CUDA(cudaMallocHost(&pinned, 4000));
	for (int i = 0; i < 1000; i++)
		pinned[i] = i;
	srcs[0] = pinned;
	sizes[0] = 4000;
	a[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
	CUDA(cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, a, idx, 1, s));
	memset(pinned, 0xff, 4000);
	CUDA(cudaMemcpy(back.data(), dsts[0], 4000, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1000; i++)
		WANT_OF("of before", back[i] == (uint32_t)i);
	a[0] = stream_order();

	/* errors */
	WANT_OF("the legacy stream", cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, a, idx, 1, 0) == cudaErrorInvalidValue);
	WANT_OF("more attributes than copies", cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, a, idx, 2, s) == cudaErrorInvalidValue);
	WANT_OF("not from 0 on", cudaMemcpyBatchAsync(dsts, srcs, sizes, n, a, bad, 2, s) == cudaErrorInvalidValue);
	a[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
	WANT_OF("no order", cudaMemcpyBatchAsync(dsts, srcs, sizes, n, a, idx, 2, s) == cudaErrorInvalidValue);
	a[1] = stream_order();
	auto first = entry<CUresult (*)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream)>(
		"cuMemcpyBatchAsync", 12080);
	fail = 99;
	sizes[3] = 1 << 20;
	WANT_OF("beyond the allocation", first((CUdeviceptr *)dsts, (CUdeviceptr *)srcs, sizes, n, (CUmemcpyAttributes *)a, idx, 2, &fail, s) ==
					      CUDA_ERROR_INVALID_VALUE);
	WANT_OF("which one", fail == 3);
	WANT_OF("none of them", first((CUdeviceptr *)dsts, (CUdeviceptr *)srcs, sizes, n, (CUmemcpyAttributes *)a, bad, 2, &fail, s) ==
				     CUDA_ERROR_INVALID_VALUE && fail == SIZE_MAX);
	CUDA(cudaStreamSynchronize(s));
	CUDA(cudaFree(d));
	CUDA(cudaFreeHost(pinned));
	done("copies of pointers");
}

static cudaMemcpy3DOperand at(void *p, size_t row, size_t layer)
{
	cudaMemcpy3DOperand o = {};

	o.type = cudaMemcpyOperandTypePointer;
	o.op.ptr.ptr = p;
	o.op.ptr.rowLength = row;
	o.op.ptr.layerHeight = layer;
	return o;
}

static cudaMemcpy3DOperand in(cudaArray_t array, size_t x, size_t y, size_t z)
{
	cudaMemcpy3DOperand o = {};

	o.type = cudaMemcpyOperandTypeArray;
	o.op.array.array = array;
	o.op.array.offset = { x, y, z };
	return o;
}

static void boxes(cudaStream_t s)
{
	const size_t w = 13, h = 7, d = 5;
	std::vector<float2> a(w * h * d), back(w * h * d);
	cudaChannelFormatDesc f2 = cudaCreateChannelDesc<float2>();
	cudaMemcpy3DBatchOp op[3] = {};
	cudaArray_t array, other;
	float2 *dev;

	for (size_t i = 0; i < a.size(); i++)
		a[i] = make_float2((float)i, -(float)i);
	CUDA(cudaMalloc3DArray(&array, &f2, make_cudaExtent(w, h, d)));
	CUDA(cudaMalloc3DArray(&other, &f2, make_cudaExtent(w, h, d)));
	CUDA(cudaMalloc(&dev, a.size() * 8));
	for (cudaMemcpy3DBatchOp &o : op)
		o.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	/* into an array; an inner box of it to another; out again, into the same places */
	op[0].src = at(a.data(), w, h);
	op[0].dst = in(array, 0, 0, 0);
	op[0].extent = make_cudaExtent(w, h, d);
	CUDA(cudaMemcpy3DBatchAsync(1, op, 0, s));
	op[1].src = in(array, 2, 1, 1);
	op[1].dst = in(other, 3, 2, 2);
	op[1].extent = make_cudaExtent(6, 4, 3);
	op[2].src = in(array, 2, 1, 1);
	op[2].dst = at(dev, 0, 0);
	op[2].extent = make_cudaExtent(6, 4, 3);
	CUDA(cudaMemcpy3DBatchAsync(2, op + 1, 0, s));
	op[0].src = in(other, 3, 2, 2);
	op[0].dst = at(&back[(2 * h + 2) * w + 3], w, h);
	op[0].extent = make_cudaExtent(6, 4, 3);
	CUDA(cudaMemcpy3DBatchAsync(1, op, 0, s));
	CUDA(cudaStreamSynchronize(s));
	std::vector<float2> packed(72);

	CUDA(cudaMemcpy(packed.data(), dev, 72 * 8, cudaMemcpyDeviceToHost));
	for (size_t z = 0; z < 3; z++)
		for (size_t y = 0; y < 4; y++)
			for (size_t x = 0; x < 6; x++) {
				float2 want = a[((z + 1) * h + y + 1) * w + x + 2], got = back[((z + 2) * h + y + 2) * w + x + 3];

				WANT_OF("by way of another array", got.x == want.x && got.y == want.y);
				got = packed[(z * 4 + y) * 6 + x];
				WANT_OF("packed", got.x == want.x && got.y == want.y);
			}
	/* between pointers an element is a byte */
	op[0].src = at(dev, 48, 4);
	op[0].dst = at(back.data(), 0, 0);
	op[0].extent = make_cudaExtent(48, 4, 3);
	CUDA(cudaMemcpy3DBatchAsync(1, op, 0, s));
	CUDA(cudaStreamSynchronize(s));
	WANT_OF("bytes", !memcmp(back.data(), packed.data(), 72 * 8));
	op[0].src = at(dev, 47, 4);
	WANT_OF("rows too short", cudaMemcpy3DBatchAsync(1, op, 0, s) == cudaErrorInvalidValue);
	op[0].src = at(dev, 48, 4);
	op[0].extent.depth = 0;
	WANT_OF("no depth", cudaMemcpy3DBatchAsync(1, op, 0, s) == cudaErrorInvalidValue);
	op[0].extent.depth = 3;
	WANT_OF("flags", cudaMemcpy3DBatchAsync(1, op, 1, s) == cudaErrorInvalidValue);
	WANT_OF("the legacy stream", cudaMemcpy3DBatchAsync(1, op, 0, 0) == cudaErrorInvalidValue);
	CUDA(cudaFreeArray(array));
	CUDA(cudaFreeArray(other));
	CUDA(cudaFree(dev));
	done("copies of boxes");
}

static void rows(cudaStream_t s)
{
	cudaChannelFormatDesc u1 = cudaCreateChannelDesc<unsigned>();
	std::vector<unsigned> v(40), got(40);
	cudaArray_t a, b;

	std::iota(v.begin(), v.end(), 7u);
	CUDA(cudaMallocArray(&a, &u1, 40, 0));
	CUDA(cudaMallocArray(&b, &u1, 40, 0));
	auto put = entry<CUresult (*)(CUarray, size_t, const void *, size_t, CUstream)>("cuMemcpyHtoAAsync", 12000);
	auto get = entry<CUresult (*)(void *, CUarray, size_t, size_t, CUstream)>("cuMemcpyAtoHAsync", 12000);

	WANT_OF("into it", put((CUarray)a, 20, v.data(), 100, s) == CUDA_SUCCESS);
	CUDA(cudaStreamSynchronize(s));
	CUDA(cudaMemcpyArrayToArray(b, 0, 0, a, 20, 0, 100, cudaMemcpyDeviceToDevice));
	WANT_OF("out of it", get(got.data(), (CUarray)b, 0, 100, s) == CUDA_SUCCESS);
	CUDA(cudaStreamSynchronize(s));
	for (int i = 0; i < 25; i++)
		WANT_OF("values", got[i] == v[i]);
	WANT_OF("beyond the row", put((CUarray)a, 80, v.data(), 100, s) == CUDA_ERROR_INVALID_VALUE);
	CUDA(cudaFreeArray(a));
	CUDA(cudaFreeArray(b));
	size_t wide = 0;

	CUDA(cudaDeviceGetTexture1DLinearMaxWidth(&wide, &u1, 0));
	WANT_OF("a linear texture", wide >= 1u << 27);
	done("rows of arrays");
}

__global__ void raise_to(unsigned *p, unsigned v) { *p = v; }

static void words(cudaStream_t s)
{
	auto ops = entry<CUresult (*)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned)>("cuStreamBatchMemOp", 12000);
	CUstreamBatchMemOpParams p[4] = {};
	cudaStream_t other;
	unsigned *w;

	CUDA(cudaMallocHost(&w, 4096));
	memset(w, 0, 64);
	CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	p[0].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	p[0].waitValue.address = (CUdeviceptr)w;
	p[0].waitValue.value = 5;
	p[0].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
	p[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	p[1].writeValue.address = (CUdeviceptr)(w + 2);
	p[1].writeValue.value64 = 0x123456789abcdefull;
	p[2].operation = CU_STREAM_MEM_OP_BARRIER;
	p[3].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	p[3].writeValue.address = (CUdeviceptr)(w + 4);
	p[3].writeValue.value = 77;
	WANT_OF("asked", ops(s, 4, p, 0) == CUDA_SUCCESS);
	WANT_OF("it waits", cudaStreamQuery(s) == cudaErrorNotReady && !w[2] && !w[4]);
	raise_to<<<1, 1, 0, other>>>(w, 6);
	CUDA(cudaStreamSynchronize(s));
	WANT_OF("written", *(unsigned long long *)(w + 2) == 0x123456789abcdefull && w[4] == 77);
	WANT_OF("flags", ops(s, 4, p, 1) == CUDA_ERROR_INVALID_VALUE);
	WANT_OF("too many", ops(s, 257, p, 0) == CUDA_ERROR_INVALID_VALUE);
	p[0].operation = (CUstreamBatchMemOpType)9;
	WANT_OF("no operation", ops(s, 1, p, 0) == CUDA_ERROR_INVALID_VALUE);
	CUDA(cudaStreamDestroy(other));
	CUDA(cudaFreeHost(w));
	done("waits and writes of words");
}

static void managed(cudaStream_t s)
{
	cudaMemLocation where[2] = {};
	size_t sizes[3], idx[2] = { 0, 2 };
	void *p[3], *d;

	where[0].type = cudaMemLocationTypeDevice;
	where[1].type = cudaMemLocationTypeHost;
	for (int i = 0; i < 3; i++) {
		sizes[i] = 8192;
		CUDA(cudaMallocManaged(&p[i], sizes[i]));
		memset(p[i], i + 1, sizes[i]);
	}
	CUDA(cudaMemPrefetchBatchAsync(p, sizes, 3, where, idx, 2, 0, s));
	CUDA(cudaStreamSynchronize(s));
	for (int i = 0; i < 3; i++) {
		int last = 99;

		WANT_OF("kept", ((char *)p[i])[8191] == i + 1);
		CUDA(cudaMemRangeGetAttribute(&last, sizeof(last), cudaMemRangeAttributeLastPrefetchLocation, p[i], sizes[i]));
		WANT_OF("where", last == (i < 2 ? 0 : cudaCpuDeviceId));
	}
	CUDA(cudaMemDiscardBatchAsync(p, sizes, 3, 0, s));
	CUDA(cudaMemDiscardAndPrefetchBatchAsync(p, sizes, 3, where, idx, 2, 0, s));
	CUDA(cudaStreamSynchronize(s));
	CUDA(cudaMalloc(&d, 4096));
	sizes[0] = 4096;
	WANT_OF("not managed", cudaMemDiscardBatchAsync(&d, sizes, 1, 0, s) == cudaErrorInvalidValue);
	WANT_OF("not managed", cudaMemPrefetchBatchAsync(&d, sizes, 1, where, idx, 1, 0, s) == cudaErrorInvalidValue);
	CUDA(cudaFree(d));
	for (void *q : p)
		CUDA(cudaFree(q));
	done("managed memory");
}

static void pools()
{
	cudaMemLocation device = { cudaMemLocationTypeDevice, 0 }, none = { cudaMemLocationTypeDevice, 77 };
	cudaMemPool_t a, b, mine, now;
	cudaMemPoolProps props = {};

	CUDA(cudaMemGetDefaultMemPool(&a, &device, cudaMemAllocationTypePinned));
	CUDA(cudaDeviceGetDefaultMemPool(&b, 0));
	WANT_OF("the device's", a == b);
	props.allocType = cudaMemAllocationTypePinned;
	props.location = device;
	CUDA(cudaMemPoolCreate(&mine, &props));
	CUDA(cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, mine));
	CUDA(cudaDeviceGetMemPool(&now, 0));
	WANT_OF("set", now == mine);
	CUDA(cudaMemGetMemPool(&now, &device, cudaMemAllocationTypePinned));
	WANT_OF("told", now == mine);
	WANT_OF("no device", cudaMemGetMemPool(&now, &none, cudaMemAllocationTypePinned) == cudaErrorInvalidDevice);
	CUDA(cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, a));
	CUDA(cudaMemPoolDestroy(mine));
	done("pools by place");
}

int main()
{
	cudaStream_t s;

	CUDA(cudaStreamCreate(&s));
	copies(s);
	boxes(s);
	rows(s);
	words(s);
	managed(s);
	pools();
	CUDA(cudaStreamDestroy(s));
	return failures != 0;
}
