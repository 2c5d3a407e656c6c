/* SPDX-License-Identifier: MIT */
/*
 * Copies and memsets in every form: pageable, pinned, device to device, unified cuMemcpy, odd sizes
 * and offsets, larger than any staging buffer, 2D and 3D with pitches, asynchronous, ordered in their stream.
 */
#include "drv.h"

E2E_PTX(misc);

static void fill_random(void *p, size_t n, uint32_t seed)
{
	unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		c[i] = (unsigned char)(e2e_rand(&seed) >> 9);
}

/* Host to device to device to host, with an offset that breaks every alignment. */
static void check_round_trip(size_t n, size_t off, int pinned)
{
	unsigned char *src, *dst;
	CUdeviceptr a = drv_alloc(n + off), b = drv_alloc(n + off + 3);

	if (pinned) {
		CK(cuMemAllocHost((void **)&src, n + off));
		CK(cuMemHostAlloc((void **)&dst, n + off, CU_MEMHOSTALLOC_PORTABLE));
	} else {
		src = e2e_malloc(n + off);
		dst = e2e_malloc(n + off);
	}
	fill_random(src, n + off, (uint32_t)(n + 1));
	CK(cuMemcpyHtoD(a + off, src + off, n));
	CK(cuMemcpyDtoD(b + off + 3, a + off, n));
	CK(cuMemcpyDtoH(dst + off, b + off + 3, n));
	e2e_same_bytes(pinned ? "pinned" : "pageable", dst + off, src + off, n);
	/* cuMemcpy finds out by itself which side is which. */
	memset(dst, 0, n + off);
	CK(cuMemsetD8(a, 0, n + off));
	CK(cuMemcpy(a, (CUdeviceptr)(uintptr_t)(src + off), n));
	CK(cuMemcpy((CUdeviceptr)(uintptr_t)dst, a, n));
	e2e_same_bytes("cuMemcpy", dst, src + off, n);
	CK(cuMemFree(a));
	CK(cuMemFree(b));
	if (pinned) {
		CK(cuMemFreeHost(src));
		CK(cuMemFreeHost(dst));
	} else {
		free(src);
		free(dst);
	}
}

/* In one stream: memset, kernel, copies both ways; the results tell the order. */
static void check_async(int pinned)
{
	enum { N = 3001 };
	uint32_t *in, *out, *want = e2e_malloc(N * 4), mul = 5, add = 3;
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	CUdeviceptr a = drv_alloc(N * 4), b = drv_alloc(N * 4);
	CUstream s;
	int n = N;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	if (pinned) {
		CK(cuMemAllocHost((void **)&in, N * 4));
		CK(cuMemAllocHost((void **)&out, N * 4));
	} else {
		in = e2e_malloc(N * 4);
		out = e2e_malloc(N * 4);
	}
	for (int i = 0; i < N; i++) {
		in[i] = i * 77;
		want[i] = (in[i] * 5 + 3) * 5 + 3;
	}
	CK(cuMemsetD32Async(a, 0xffffffff, N, s));
	CK(cuMemcpyHtoDAsync(a, in, N * 4, s));
	LAUNCH(f, 4, 96, 0, s, &a, &mul, &add, &n);
	CK(cuMemcpyDtoDAsync(b, a, N * 4, s));
	LAUNCH(f, 4, 96, 0, s, &b, &mul, &add, &n);
	CK(cuMemcpyDtoHAsync(out, b, N * 4, s));
	/* Overwrites its source only after the copy out, since the stream is in order. */
	CK(cuMemsetD8Async(b, 0, N * 4, s));
	CK(cuStreamSynchronize(s));
	e2e_same_u32(pinned ? "async pinned" : "async pageable", out, want, N);
	CK(cuStreamDestroy(s));
	CK(cuMemFree(a));
	CK(cuMemFree(b));
	if (pinned) {
		CK(cuMemFreeHost(in));
		CK(cuMemFreeHost(out));
	} else {
		free(in);
		free(out);
	}
	free(want);
}

static void check_memsets(void)
{
	enum { N = 1000, ROW = 37, ROWS = 11 };
	static unsigned char got[N * 4], want[N * 4];
	CUdeviceptr d = drv_alloc(sizeof got), pitched;
	size_t pitch;

	memset(want, 0x11, sizeof want);
	CK(cuMemsetD8(d, 0x11, sizeof got));
	memset(want + 5, 0xab, 1001);
	CK(cuMemsetD8(d + 5, 0xab, 1001));
	for (int i = 0; i < 333; i++)
		memcpy(want + 2002 + 2 * i, "\x34\x12", 2);
	CK(cuMemsetD16(d + 2002, 0x1234, 333));
	for (int i = 0; i < 99; i++)
		memcpy(want + 3000 + 4 * i, "\xef\xbe\xad\xde", 4);
	CK(cuMemsetD32(d + 3000, 0xdeadbeef, 99));
	CK(cuMemcpyDtoH(got, d, sizeof got));
	e2e_same_bytes("memset", got, want, sizeof got);

	CK(cuMemAllocPitch(&pitched, &pitch, ROW * 4, ROWS, 4));
	if (pitch < ROW * 4 || pitch % 4)
		e2e_fail("pitch %zu for rows of %d bytes", pitch, ROW * 4);
	CK(cuMemsetD8(pitched, 0x22, pitch * ROWS));
	CK(cuMemsetD2D32(pitched, pitch, 0x01020304, ROW, ROWS));
	CK(cuMemsetD2D16(pitched, pitch, 0x7777, 3, 2));
	CK(cuMemsetD2D8(pitched + pitch * 5, pitch, 0x99, 7, 3));
	for (int y = 0; y < ROWS; y++) {
		unsigned char row[ROW * 4 + 16], good[ROW * 4 + 16];
		size_t whole = pitch < sizeof row ? pitch : sizeof row;

		memset(good, 0x22, sizeof good);
		for (int x = 0; x < ROW; x++)
			memcpy(good + 4 * x, "\x04\x03\x02\x01", 4);
		if (y < 2)
			memset(good, 0x77, 6);
		if (y >= 5 && y < 8)
			memset(good, 0x99, 7);
		CK(cuMemcpyDtoH(row, pitched + pitch * y, whole));
		e2e_same_bytes("2D memset", row, good, whole);
	}
	CK(cuMemFree(d));
	CK(cuMemFree(pitched));
}

static void check_2d(int async)
{
	enum { W = 45, H = 23, HP = 64 };	/* width, rows, host pitch in bytes */
	static unsigned char src[HP * (H + 2)], dst[HP * (H + 2)], want[HP * (H + 2)];
	CUDA_MEMCPY2D c;
	CUdeviceptr d, e;
	size_t pitch, epitch;

	fill_random(src, sizeof src, 5);
	memset(dst, 0x55, sizeof dst);
	memset(want, 0x55, sizeof want);
	CK(cuMemAllocPitch(&d, &pitch, W + 10, H + 4, 4));
	CK(cuMemAllocPitch(&e, &epitch, W + 200, H, 16));

	/* A W x H piece, at another place on every side. */
	memset(&c, 0, sizeof c);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = src;
	c.srcPitch = HP;
	c.srcXInBytes = 3;
	c.srcY = 1;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = d;
	c.dstPitch = pitch;
	c.dstXInBytes = 9;
	c.dstY = 2;
	c.WidthInBytes = W;
	c.Height = H;
	if (async)
		CK(cuMemcpy2DAsync(&c, NULL));
	else
		CK(cuMemcpy2D(&c));

	memset(&c, 0, sizeof c);
	c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = d;
	c.srcPitch = pitch;
	c.srcXInBytes = 9;
	c.srcY = 2;
	c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c.dstDevice = e;
	c.dstPitch = epitch;
	c.dstXInBytes = 100;
	c.WidthInBytes = W;
	c.Height = H;
	if (async)
		CK(cuMemcpy2DAsync(&c, NULL));
	else
		CK(cuMemcpy2DUnaligned(&c));

	memset(&c, 0, sizeof c);
	c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = e;
	c.srcPitch = epitch;
	c.srcXInBytes = 100;
	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.dstHost = dst;
	c.dstPitch = HP;
	c.dstXInBytes = 7;
	c.dstY = 2;
	c.WidthInBytes = W;
	c.Height = H;
	if (async)
		CK(cuMemcpy2DAsync(&c, NULL));
	else
		CK(cuMemcpy2D(&c));
	CK(cuCtxSynchronize());
	for (int y = 0; y < H; y++)
		memcpy(want + (y + 2) * HP + 7, src + (y + 1) * HP + 3, W);
	e2e_same_bytes(async ? "2D async" : "2D", dst, want, sizeof dst);
	/* Wider than the pitch: refused, nothing written. */
	c.WidthInBytes = HP + 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));
	CK(cuMemFree(d));
	CK(cuMemFree(e));
}

static void check_3d(int async)
{
	enum { W = 21, H = 6, D = 4, SP = 32, SH = 9, DP = 24, DH = 7 };
	static unsigned char src[SP * SH * (D + 1)], dst[DP * DH * (D + 1)], want[sizeof dst];
	CUDA_MEMCPY3D c;
	CUdeviceptr d = drv_alloc(DP * DH * (D + 1));

	fill_random(src, sizeof src, 6);
	memset(want, 0x44, sizeof want);
	CK(cuMemsetD8(d, 0x44, sizeof dst));
	memset(&c, 0, sizeof c);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = src;
	c.srcPitch = SP;
	c.srcHeight = SH;
	c.srcXInBytes = 2;
	c.srcY = 3;
	c.srcZ = 1;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = d;
	c.dstPitch = DP;
	c.dstHeight = DH;
	c.dstXInBytes = 1;
	c.dstY = 1;
	c.WidthInBytes = W;
	c.Height = H;
	c.Depth = D;
	if (async)
		CK(cuMemcpy3DAsync(&c, NULL));
	else
		CK(cuMemcpy3D(&c));
	for (int z = 0; z < D; z++)
		for (int y = 0; y < H; y++)
			memcpy(want + (z * DH + y + 1) * DP + 1,
				src + ((z + 1) * SH + y + 3) * SP + 2, W);
	CK(cuMemcpyDtoH(dst, d, sizeof dst));
	e2e_same_bytes(async ? "3D async" : "3D", dst, want, sizeof dst);
	CK(cuMemFree(d));
}

static void check_refusals(void)
{
	CUdeviceptr d = drv_alloc(1000);
	char host[16];
	size_t size;
	CUdeviceptr base;

	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, 16, sizeof host));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree(d + 1));
	CK(cuMemGetAddressRange(&base, &size, d + 500));
	EXPECT(base == d && size >= 1000);
	CK(cuMemcpyHtoD(d, host, 0));
	CK(cuMemFree(d));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree(d));
}

/* One by its attributes (CUDA 13.2), in the NULL stream too. */
static void check_attributes(void)
{
	enum { N = 5000 };
	uint8_t *h = e2e_malloc(N), *back = e2e_malloc(N);
	CUmemcpyAttributes attr = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	CUDA_MEMCPY3D_BATCH_OP op = { .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER }, .dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
				      .extent = { 100, 25, 2 }, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUdeviceptr d = drv_alloc(N), e = drv_alloc(N);
	CUstream s;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < N; i++)
		h[i] = (uint8_t)(i * 7 + 1);
	CK(cuMemcpyWithAttributesAsync(d, (CUdeviceptr)(uintptr_t)h, N, &attr, s));
	memset(h, 0, N);        /* the call has read it */
	op.src.op.ptr.ptr = d;
	op.dst.op.ptr.ptr = e;
	CK(cuMemcpy3DWithAttributesAsync(&op, 0, s));
	CK(cuStreamSynchronize(s));
	attr.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	CK(cuMemcpyWithAttributesAsync((CUdeviceptr)(uintptr_t)back, e, N, &attr, NULL));
	CK(cuStreamSynchronize(NULL));
	for (int i = 0; i < N; i++)
		if (back[i] != (uint8_t)(i * 7 + 1)) {
			e2e_fail("by attributes: byte %d is %u", i, back[i]);
			break;
		}
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyWithAttributesAsync(d, e, N, NULL, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&op, 1, s));
	CK(cuStreamDestroy(s));
	CK(cuMemFree(d));
	CK(cuMemFree(e));
	free(h);
	free(back);
}

int main(void)
{
	static const size_t sizes[] = { 1, 7, 63, 4096, 65537, (5 << 20) + 13 };
	CUcontext ctx = drv_start("copies");

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int pinned = 0; pinned < 2; pinned++)
			check_round_trip(sizes[i], i * 3, pinned);
	check_async(0);
	check_async(1);
	check_memsets();
	check_attributes();
	check_2d(0);
	check_2d(1);
	check_3d(0);
	check_3d(1);
	check_refusals();
	CK(cuCtxDestroy(ctx));
	return e2e_end("pageable, pinned, 2D, 3D, async, memsets, up to 5 MiB");
}
