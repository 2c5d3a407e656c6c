/* SPDX-License-Identifier: MIT */
/* The driver probe: copies and fills of every shape, batches. */
#include "driver.h"

#include <sys/mman.h>

static char host[1 << 16], host2[1 << 16];

GROUP(copies)
{
	CUdeviceptr p, q, m = 0, h;
	void *pin = NULL;
	CUcontext c = start();
	CUstream s = stream(0);
	CUarray a = NULL;
	CUDA_ARRAY_DESCRIPTOR ad = { 64, 0, CU_AD_FORMAT_FLOAT, 1 };

	p = alloc(4096);
	q = alloc(4096);
	h = (CUdeviceptr)(uintptr_t)host;
	cuMemAllocHost_v2(&pin, 4096);
	cuMemAllocManaged(&m, 4096, 1);
	R(cuMemcpyHtoD_v2(p, host, 0));
	R(cuMemcpyHtoD_v2(0, host, 0));
	R(cuMemcpyHtoD_v2(WILD, host, 0));
	R(cuMemcpyHtoD_v2(p, NULL, 0));
	R(cuMemcpyHtoD_v2(0, host, 16));
	R(cuMemcpyHtoD_v2(WILD, host, 16));
	R(cuMemcpyHtoD_v2(p, NULL, 16));
	R(cuMemcpyHtoD_v2(p, host, 4096));
	R(cuMemcpyHtoD_v2(p, host, 4097));
	R(cuMemcpyHtoD_v2(p + 4000, host, 97));
	R(cuMemcpyHtoD_v2(p, host, 1 << 16));
	R(cuMemcpyHtoD_v2(p, P(q), 16));
	R(cuMemcpyHtoD_v2(p, pin, 16));
	R(cuMemcpyHtoD_v2(p, pin, 8192));
	R(cuMemcpyHtoD_v2(h, host2, 16));
	R(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)pin, host2, 16));
	R(cuMemcpyHtoD_v2(m, host, 16));
	R(cuMemcpyDtoH_v2(host, p, 0));
	R(cuMemcpyDtoH_v2(host, 0, 0));
	R(cuMemcpyDtoH_v2(NULL, p, 0));
	R(cuMemcpyDtoH_v2(host, 0, 16));
	R(cuMemcpyDtoH_v2(host, WILD, 16));
	R(cuMemcpyDtoH_v2(NULL, p, 16));
	R(cuMemcpyDtoH_v2(host, p, 4096));
	R(cuMemcpyDtoH_v2(host, p, 4097));
	R(cuMemcpyDtoH_v2(P(q), p, 16));
	R(cuMemcpyDtoH_v2(host, h, 16));
	R(cuMemcpyDtoH_v2(host2, h, 16));
	R(cuMemcpyDtoD_v2(p, q, 0));
	R(cuMemcpyDtoD_v2(0, 0, 0));
	R(cuMemcpyDtoD_v2(p, 0, 16));
	R(cuMemcpyDtoD_v2(p, WILD, 16));
	R(cuMemcpyDtoD_v2(WILD, p, 16));
	R(cuMemcpyDtoD_v2(p, p, 16));
	R(cuMemcpyDtoD_v2(p + 8, p, 64));
	R(cuMemcpyDtoD_v2(p, q, 4097));
	R(cuMemcpyDtoD_v2(p, h, 16));
	R(cuMemcpyDtoD_v2(h, p, 16));
	R(cuMemcpyDtoD_v2(m, (CUdeviceptr)(uintptr_t)pin, 16));
	R(cuMemcpy(p, q, 0));
	R(cuMemcpy(p, q, 16));
	R(cuMemcpy(p, h, 16));
	R(cuMemcpy(h, p, 16));
	R(cuMemcpy(h, (CUdeviceptr)(uintptr_t)host2, 16));
	R(cuMemcpy(m, h, 16));
	R(cuMemcpy(0, p, 16));
	R(cuMemcpy(p, 0, 16));
	R(cuMemcpy(p, q, 8192));
	R(cuMemcpyAsync(p, q, 16, s));
	R(cuMemcpyAsync(p, h, 16, s));
	R(cuMemcpyAsync(p, q, 8192, s));
	R(cuMemcpyAsync(0, p, 0, s));
	R(cuMemcpyAsync(p, q, 16, P(0x1234)));
	R(cuMemcpyHtoDAsync_v2(p, host, 0, s));
	R(cuMemcpyHtoDAsync_v2(p, host, 16, s));
	R(cuMemcpyHtoDAsync_v2(p, host, 4097, s));
	R(cuMemcpyHtoDAsync_v2(WILD, host, 16, s));
	R(cuMemcpyHtoDAsync_v2(p, NULL, 16, s));
	R(cuMemcpyDtoHAsync_v2(host, p, 16, s));
	R(cuMemcpyDtoHAsync_v2(host, p, 4097, s));
	R(cuMemcpyDtoHAsync_v2(pin, p, 16, CU_STREAM_PER_THREAD));
	R(cuMemcpyDtoDAsync_v2(p, q, 16, CU_STREAM_LEGACY));
	R(cuMemcpyDtoDAsync_v2(p, q, 4097, s));
	R(cuMemcpyPeer(p, c, q, c, 16));
	R(cuMemcpyPeer(p, c, q, c, 0));
	R(cuMemcpyPeer(p, NULL, q, NULL, 16));
	R(cuMemcpyPeer(p, c, h, c, 16));
	R(cuMemcpyPeer(p, P(0x1234), q, c, 16));
	R(cuMemcpyPeerAsync(p, c, q, c, 16, s));
	R(cuMemcpyPeerAsync(p, c, q, c, 8192, s));
	cuArrayCreate_v2(&a, &ad);
	tag("a row of an array");
	R(cuMemcpyHtoA_v2(a, 0, host, 256));
	R(cuMemcpyHtoA_v2(a, 4, host, 256));
	R(cuMemcpyHtoA_v2(a, 1, host, 3));
	R(cuMemcpyHtoA_v2(a, 0, host, 0));
	R(cuMemcpyHtoA_v2(a, 256, host, 0));
	R(cuMemcpyHtoA_v2(NULL, 0, host, 4));
	R(cuMemcpyHtoA_v2(a, 0, NULL, 4));
	R(cuMemcpyAtoH_v2(host, a, 0, 256));
	R(cuMemcpyAtoH_v2(host, a, 0, 257));
	R(cuMemcpyAtoH_v2(NULL, a, 0, 16));
	R(cuMemcpyDtoA_v2(a, 0, p, 256));
	R(cuMemcpyDtoA_v2(a, 0, WILD, 256));
	R(cuMemcpyAtoD_v2(p, a, 0, 256));
	R(cuMemcpyAtoD_v2(p, a, 252, 8));
	R(cuMemcpyAtoA_v2(a, 0, a, 128, 128));
	R(cuMemcpyAtoA_v2(a, 0, a, 0, 128));
	R(cuMemcpyAtoA_v2(a, 0, NULL, 0, 128));
	R(cuMemcpyHtoAAsync_v2(a, 0, host, 256, s));
	R(cuMemcpyAtoHAsync_v2(host, a, 0, 300, s));
	tag("freed");
	cuMemFree_v2(q);
	R(cuMemcpyDtoD_v2(p, q, 16));
	R(cuMemcpyDtoH_v2(host, q, 16));
	R(cuMemcpy(p, q, 16));
	R(cuCtxSynchronize());
}

GROUP(copies2d)
{
	CUdeviceptr p;
	CUarray a = NULL, b = NULL, one = NULL;
	CUDA_ARRAY_DESCRIPTOR ad = { 64, 16, CU_AD_FORMAT_FLOAT, 1 }, bd = { 64, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1 }, od = { 64, 0, CU_AD_FORMAT_FLOAT, 1 };
	static const struct { int st, dt; size_t sx, sy, sp, dx, dy, dp, w, h; } t[] = {
		{ 1, 2, 0, 0, 256, 0, 0, 256, 256, 16 }, { 1, 2, 0, 0, 0, 0, 0, 0, 256, 1 }, { 1, 2, 0, 0, 0, 0, 0, 0, 256, 16 }, { 1, 2, 0, 0, 255, 0, 0, 256, 256, 16 },
		{ 1, 2, 0, 0, 256, 0, 0, 255, 256, 16 }, { 1, 2, 0, 0, 255, 0, 0, 255, 256, 1 }, { 1, 2, 1, 0, 256, 0, 0, 256, 256, 16 }, { 1, 2, 0, 0, 256, 1, 0, 256, 256, 16 },
		{ 1, 2, 0, 0, 256, 0, 0, 256, 0, 16 }, { 1, 2, 0, 0, 256, 0, 0, 256, 256, 0 }, { 1, 2, 0, 0, 100, 0, 0, 256, 0, 0 }, { 1, 2, 0, 1, 256, 0, 2, 256, 256, 4 },
		{ 1, 2, 0, 0, 256, 0, 0, 256, 256, 10000 }, { 1, 2, 0, 0, (size_t)1 << 31, 0, 0, 256, 256, 1 }, { 1, 2, 0, 0, (size_t)1 << 31, 0, 0, 256, 256, 2 },
		{ 1, 2, 0, 0, ((size_t)1 << 31) - 1, 0, 0, 256, 256, 1 }, { 1, 2, 0, 0, 256, 0, 0, (size_t)1 << 32, 256, 1 },
		{ 2, 1, 0, 0, 256, 0, 0, 256, 256, 16 }, { 2, 2, 0, 0, 256, 0, 100, 256, 256, 4 }, { 2, 2, 0, 0, 256, 0, 1, 256, 256, 8 }, { 1, 1, 0, 0, 256, 0, 0, 256, 256, 16 },
		{ 4, 4, 0, 0, 256, 0, 50, 256, 256, 4 }, { 4, 1, 0, 0, 256, 0, 0, 256, 256, 4 }, { 4, 3, 0, 0, 256, 0, 0, 0, 256, 4 },
		{ 1, 3, 0, 0, 256, 0, 0, 0, 256, 16 }, { 1, 3, 0, 0, 256, 0, 0, 7, 256, 16 }, { 1, 3, 0, 0, 256, 4, 0, 0, 256, 16 }, { 1, 3, 0, 0, 256, 0, 1, 0, 256, 16 },
		{ 1, 3, 0, 0, 256, 2, 0, 0, 4, 1 }, { 1, 3, 0, 0, 256, 0, 0, 0, 5, 1 }, { 1, 3, 0, 0, 256, 0, 0, 0, 0, 1 }, { 1, 3, 0, 0, 256, 256, 0, 0, 0, 0 }, { 1, 3, 0, 0, 256, 300, 20, 0, 0, 0 },
		{ 3, 1, 0, 0, 0, 0, 0, 256, 256, 16 }, { 3, 1, 0, 0, 0, 0, 0, 255, 256, 16 }, { 3, 2, 0, 8, 0, 0, 0, 256, 256, 8 }, { 3, 2, 0, 8, 0, 0, 0, 256, 256, 9 },
		{ 3, 3, 0, 0, 0, 0, 8, 0, 256, 8 }, { 3, 3, 0, 0, 0, 0, 4, 0, 256, 8 }, { 0, 2, 0, 0, 256, 0, 0, 256, 256, 16 }, { 5, 2, 0, 0, 256, 0, 0, 256, 256, 16 }, { 1, 0, 0, 0, 256, 0, 0, 256, 256, 16 },
		{ 1, 9, 0, 0, 256, 0, 0, 256, 256, 16 }, { 9, 9, 0, 0, 256, 0, 0, 256, 0, 0 }, { 2, 2, 0, 0, 256, 0, 0, 256, 256, 16 }, { 2, 2, 3, 0, 300, 5, 17, 301, 77, 3 },
	};

	start();
	p = alloc(1 << 16);
	cuArrayCreate_v2(&a, &ad);
	cuArrayCreate_v2(&b, &bd);
	cuArrayCreate_v2(&one, &od);
	for (size_t i = 0; i < NEL(t); i++) {
		CUDA_MEMCPY2D c = { t[i].sx, t[i].sy, (CUmemorytype)t[i].st, host, p, a, t[i].sp, t[i].dx, t[i].dy, (CUmemorytype)t[i].dt, host2, p, a, t[i].dp, t[i].w, t[i].h };

		tag("%d to %d, from %zu %zu pitch %zu to %zu %zu pitch %zu, %zu by %zu", t[i].st, t[i].dt, t[i].sx, t[i].sy, t[i].sp, t[i].dx, t[i].dy, t[i].dp, t[i].w, t[i].h);
		R(cuMemcpy2D_v2(&c));
		R(cuMemcpy2DUnaligned_v2(&c));
		R(cuMemcpy2DAsync_v2(&c, NULL));
	}
	CUDA_MEMCPY2D c = { 0, 0, 1, host, p, a, 256, 0, 0, 2, host2, p, a, 256, 256, 4 }, d;
	tag("%s", "");
	R(cuMemcpy2D_v2(NULL));
	R(cuMemcpy2DAsync_v2(NULL, NULL));
	R(cuMemcpy2DAsync_v2(&c, P(0x1234)));
	d = c, d.srcHost = NULL;
	tag("null host");
	R(cuMemcpy2D_v2(&d));
	d = c, d.dstDevice = 0;
	tag("null device");
	R(cuMemcpy2D_v2(&d));
	d = c, d.dstDevice = WILD;
	tag("wild device");
	R(cuMemcpy2D_v2(&d));
	R(cuMemcpy2DUnaligned_v2(&d));
	d = c, d.dstMemoryType = 3, d.dstArray = NULL;
	tag("null array");
	R(cuMemcpy2D_v2(&d));
	d = c, d.dstMemoryType = 3, d.dstArray = one, d.Height = 1;
	tag("array of one dimension");
	R(cuMemcpy2D_v2(&d));
	d.Height = 0;
	R(cuMemcpy2D_v2(&d));
	d.Height = 2;
	R(cuMemcpy2D_v2(&d));
	d = c, d.srcMemoryType = 3, d.srcArray = b, d.dstMemoryType = 3, d.WidthInBytes = 64;
	tag("arrays of other texels");
	R(cuMemcpy2D_v2(&d));
	d = c, d.srcMemoryType = 4, d.srcDevice = (CUdeviceptr)(uintptr_t)host;
	tag("unified of host");
	R(cuMemcpy2D_v2(&d));
	d = c, d.srcMemoryType = 2, d.srcDevice = (CUdeviceptr)(uintptr_t)host;
	tag("device that is host's");
	R(cuMemcpy2D_v2(&d));
	d = c, d.srcHost = P(p);
	tag("host that is device's");
	R(cuMemcpy2D_v2(&d));
}

GROUP(copies3d)
{
	CUdeviceptr p;
	CUarray a = NULL, l = NULL;
	CUDA_ARRAY3D_DESCRIPTOR ad = { 16, 8, 4, CU_AD_FORMAT_FLOAT, 1, 0 }, ld = { 16, 8, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED };
	CUcontext ctx = start();
	static const struct { int st, dt; size_t sx, sy, sz, sp, sh, dx, dy, dz, dp, dh, w, h, d; } t[] = {
		{ 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 4 }, { 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 8, 4 }, { 1, 2, 0, 0, 0, 64, 0, 0, 0, 0, 64, 0, 64, 8, 4 },
		{ 1, 2, 0, 0, 0, 64, 7, 0, 0, 0, 64, 8, 64, 8, 4 }, { 1, 2, 0, 0, 0, 63, 8, 0, 0, 0, 64, 8, 64, 8, 4 }, { 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 7, 64, 8, 4 },
		{ 1, 2, 0, 0, 0, 64, 7, 0, 0, 0, 64, 7, 64, 8, 1 }, { 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 1, 1 }, { 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 8, 1 },
		{ 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 0, 8, 4 }, { 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 0, 4 }, { 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 0 },
		{ 1, 2, 4, 1, 1, 64, 8, 0, 0, 0, 64, 8, 60, 7, 3 }, { 1, 2, 8, 1, 1, 64, 8, 0, 0, 0, 64, 8, 60, 7, 3 }, { 1, 2, 0, 1, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 3 },
		{ 1, 3, 0, 0, 0, 64, 8, 0, 0, 0, 0, 0, 64, 8, 4 }, { 1, 3, 0, 0, 0, 64, 8, 0, 0, 1, 0, 0, 64, 8, 4 }, { 1, 3, 0, 0, 0, 64, 8, 4, 0, 0, 0, 0, 64, 8, 4 },
		{ 1, 3, 0, 0, 0, 64, 8, 0, 1, 0, 0, 0, 64, 8, 4 }, { 1, 3, 0, 0, 0, 64, 8, 0, 0, 0, 0, 0, 62, 8, 4 }, { 1, 3, 0, 0, 0, 64, 8, 0, 0, 3, 0, 0, 64, 8, 1 },
		{ 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 64, 8, 64, 8, 4 }, { 3, 2, 0, 0, 2, 0, 0, 0, 0, 0, 64, 8, 64, 8, 2 }, { 3, 2, 0, 0, 3, 0, 0, 0, 0, 0, 64, 8, 64, 8, 2 },
		{ 3, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 64, 8, 2 }, { 2, 2, 0, 0, 0, 64, 8, 0, 0, 8, 64, 8, 64, 8, 4 }, { 1, 1, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 4 },
		{ 4, 4, 0, 0, 0, 64, 8, 0, 0, 8, 64, 8, 64, 8, 4 }, { 0, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 4 }, { 7, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 4 },
		{ 1, 2, 0, 0, 0, 64, 8, 0, 0, 0, 64, 8, 64, 8, 4000 }, { 1, 2, 0, 0, 0, (size_t)1 << 31, 8, 0, 0, 0, 64, 8, 64, 1, 1 }, { 1, 2, 0, 0, 0, (size_t)1 << 31, 8, 0, 0, 0, 64, 8, 64, 1, 2 },
	};

	p = alloc(1 << 16);
	cuArray3DCreate_v2(&a, &ad);
	cuArray3DCreate_v2(&l, &ld);
	for (size_t i = 0; i < NEL(t); i++) {
		CUDA_MEMCPY3D c = { t[i].sx, t[i].sy, t[i].sz, 0, (CUmemorytype)t[i].st, host, p, a, NULL, t[i].sp, t[i].sh,
			t[i].dx, t[i].dy, t[i].dz, 0, (CUmemorytype)t[i].dt, host2, p, a, NULL, t[i].dp, t[i].dh, t[i].w, t[i].h, t[i].d };
		CUDA_MEMCPY3D_PEER e;

		tag("%zu: %d to %d, %zu by %zu by %zu", i, t[i].st, t[i].dt, t[i].w, t[i].h, t[i].d);
		R(cuMemcpy3D_v2(&c));
		R(cuMemcpy3DAsync_v2(&c, NULL));
		memcpy(&e, &c, sizeof e);
		e.srcContext = e.dstContext = ctx;
		R(cuMemcpy3DPeer(&e));
		if (t[i].st == 1 && t[i].dt == 3) {
			c.dstArray = l;
			tag("%zu, layers: %d to %d, %zu by %zu by %zu", i, t[i].st, t[i].dt, t[i].w, t[i].h, t[i].d);
			R(cuMemcpy3D_v2(&c));
		}
	}
	CUDA_MEMCPY3D c = { 0, 0, 0, 0, 1, host, p, a, NULL, 64, 8, 0, 0, 0, 0, 2, host2, p, a, NULL, 64, 8, 64, 8, 4 };
	tag("%s", "");
	R(cuMemcpy3D_v2(NULL));
	c.srcLOD = 1;
	tag("source's level 1");
	R(cuMemcpy3D_v2(&c));
	c.srcLOD = 0;
	c.reserved0 = P(1);
	tag("reserved set");
	R(cuMemcpy3D_v2(&c));
	c.reserved0 = NULL;
	c.srcHost = NULL;
	tag("null host");
	R(cuMemcpy3D_v2(&c));
	c.srcHost = host;
	c.dstDevice = WILD;
	tag("wild device");
	R(cuMemcpy3D_v2(&c));
	R(cuMemcpy3DPeer(NULL));
}

GROUP(memsets)
{
	CUdeviceptr p, m = 0;
	void *pin = NULL;
	char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUstream s;

	start();
	s = stream(0);
	p = alloc(4096);
	cuMemAllocHost_v2(&pin, 4096);
	cuMemAllocManaged(&m, 4096, 1);
	R(cuMemsetD8_v2(p, 1, 0));
	R(cuMemsetD8_v2(0, 1, 0));
	R(cuMemsetD8_v2(0, 1, 16));
	R(cuMemsetD8_v2(WILD, 1, 0));
	R(cuMemsetD8_v2(WILD, 1, 16));
	R(cuMemsetD8_v2(p, 1, 4096));
	R(cuMemsetD8_v2(p, 1, 4097));
	R(cuMemsetD8_v2(p + 4000, 1, 97));
	R(cuMemsetD8_v2(p, 1, SIZE_MAX));
	R(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)pin, 1, 16));
	R(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)pin, 1, 5000));
	R(cuMemsetD8_v2(m, 1, 16));
	R(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)page, 1, 16));
	for (unsigned int o = 0; o < 5; o++) {
		tag("offset %u", o);
		R(cuMemsetD8_v2(p + o, 1, 3));
		R(cuMemsetD16_v2(p + o, 1, 3));
		R(cuMemsetD32_v2(p + o, 1, 3));
		R(cuMemsetD16_v2(p + o, 1, 0));
		R(cuMemsetD32_v2(p + o, 1, 0));
		R(cuMemsetD16Async(p + o, 1, 3, s));
		R(cuMemsetD32Async(p + o, 1, 3, s));
		R(cuMemsetD2D8_v2(p + o, 64, 1, 3, 3));
		R(cuMemsetD2D16_v2(p + o, 64, 1, 3, 3));
		R(cuMemsetD2D32_v2(p + o, 64, 1, 3, 3));
	}
	static const struct { size_t pitch, w, h; } t[] = { { 0, 0, 0 }, { 0, 4, 1 }, { 0, 4, 2 }, { 3, 4, 1 }, { 3, 4, 2 }, { 5, 4, 2 }, { 6, 4, 2 }, { 8, 4, 2 }, { 16, 4, 2 },
		{ 18, 4, 2 }, { 17, 4, 2 }, { 64, 0, 2 }, { 64, 4, 0 }, { 64, 16, 64 }, { 64, 16, 65 }, { 64, 17, 64 }, { (size_t)1 << 31, 4, 1 }, { (size_t)1 << 31, 4, 2 }, { SIZE_MAX, 4, 2 } };
	for (size_t i = 0; i < NEL(t); i++) {
		tag("pitch %zu, %zu by %zu", t[i].pitch, t[i].w, t[i].h);
		R(cuMemsetD2D8_v2(p, t[i].pitch, 1, t[i].w, t[i].h));
		R(cuMemsetD2D16_v2(p, t[i].pitch, 1, t[i].w, t[i].h));
		R(cuMemsetD2D32_v2(p, t[i].pitch, 1, t[i].w, t[i].h));
		R(cuMemsetD2D8Async(p, t[i].pitch, 1, t[i].w, t[i].h, s));
	}
	tag("%s", "");
	R(cuMemsetD2D8_v2(WILD, 64, 1, 4, 4));
	R(cuMemsetD2D8_v2(0, 64, 1, 0, 0));
	R(cuMemsetD8Async(p, 1, 16, P(0x1234)));
	R(cuMemsetD8Async(p, 1, 4097, s));
	R(cuCtxSynchronize());
	cuMemFree_v2(p);
	R(cuMemsetD8_v2(p, 1, 16));
	R(cuMemsetD8Async(p, 1, 16, s));
	R(cuCtxSynchronize());
}

GROUP(batches)
{
	CUdeviceptr d[3], s[3], m = 0;
	size_t n[3] = { 16, 16, 16 }, at[3] = { 0, 1, 2 }, fail = 7;
	CUmemcpyAttributes a[3] = { { .srcAccessOrder = 1 }, { .srcAccessOrder = 1 }, { .srcAccessOrder = 1 } };
	CUmemLocation loc = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUstream st;

	start();
	st = stream(0);
	for (int i = 0; i < 3; i++)
		d[i] = alloc(256), s[i] = alloc(256);
	RV(cuMemcpyBatchAsync(d, s, n, 3, a, at, 1, &fail, st), "%s", fail == 7 ? "untouched" : fail == SIZE_MAX ? "none" : "some");
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 3, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 0, a, at, 1, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 0, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 4, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, NULL, at, 1, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, NULL, 1, st));
	R(cuMemcpyBatchAsync_v2(NULL, s, n, 3, a, at, 1, st));
	R(cuMemcpyBatchAsync_v2(d, s, NULL, 3, a, at, 1, st));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, NULL));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, CU_STREAM_LEGACY));
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, CU_STREAM_PER_THREAD));
	for (int o = 0; o < 5; o++)
		for (unsigned int f = 0; f < 3; f++) {
			a[0].srcAccessOrder = (CUmemcpySrcAccessOrder)o;
			a[0].flags = f;
			tag("order %d, flags %u", o, f);
			R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
		}
	a[0] = a[1];
	tag("an index that is not increasing");
	at[1] = 0;
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 2, st));
	at[1] = 1, at[0] = 1;
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
	at[0] = 0;
	tag("a size of 0");
	n[1] = 0;
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
	n[1] = 16;
	tag("a wild one");
	d[1] = WILD;
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
	d[1] = d[0];
	tag("too long a one");
	n[2] = 1 << 24;
	fail = 7;
	R(cuMemcpyBatchAsync(d, s, n, 3, a, at, 1, &fail, st));
	SAY("%s", fail == 7 ? "untouched" : fail == SIZE_MAX ? "none" : fail == 2 ? "it" : "another");
	n[2] = 16;
	tag("a null one");
	s[0] = 0;
	R(cuMemcpyBatchAsync_v2(d, s, n, 3, a, at, 1, st));
	tag("%s", "");
	cuMemAllocManaged(&m, 1 << 16, 1);
	d[0] = m;
	n[0] = 1 << 16;
	R(cuMemPrefetchBatchAsync(d, n, 1, &loc, at, 1, 0, st));
	R(cuMemPrefetchBatchAsync(d, n, 1, &loc, at, 1, 1, st));
	R(cuMemPrefetchBatchAsync(d, n, 0, &loc, at, 1, 0, st));
	R(cuMemPrefetchBatchAsync(d, n, 2, &loc, at, 1, 0, st));
	R(cuMemDiscardBatchAsync(d, n, 1, 0, st));
	R(cuMemDiscardBatchAsync(d, n, 1, 1, st));
	R(cuMemDiscardBatchAsync(d, n, 0, 0, st));
	R(cuMemDiscardAndPrefetchBatchAsync(d, n, 1, &loc, at, 1, 0, st));
	CUDA_MEMCPY3D_BATCH_OP op = { .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { s[1], 0, 0, loc } },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { s[2], 0, 0, loc } }, .extent = { 16, 2, 2 }, .srcAccessOrder = 1 };
	R(cuMemcpy3DBatchAsync_v2(1, &op, 0, st));
	R(cuMemcpy3DBatchAsync_v2(1, &op, 1, st));
	R(cuMemcpy3DBatchAsync_v2(0, &op, 0, st));
	R(cuMemcpy3DBatchAsync_v2(1, NULL, 0, st));
	op.extent.depth = 0;
	R(cuMemcpy3DBatchAsync_v2(1, &op, 0, st));
	op.extent.depth = 2;
	op.src.op.ptr.rowLength = 8;
	R(cuMemcpy3DBatchAsync_v2(1, &op, 0, st));
	op.src.op.ptr.rowLength = 16;
	op.src.op.ptr.layerHeight = 1;
	R(cuMemcpy3DBatchAsync_v2(1, &op, 0, st));
	op.src.op.ptr.layerHeight = 2;
	op.src.type = 7;
	R(cuMemcpy3DBatchAsync_v2(1, &op, 0, st));
	R(cuCtxSynchronize());
}
