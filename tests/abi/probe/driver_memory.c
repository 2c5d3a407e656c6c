/* SPDX-License-Identifier: MIT */
/* The driver probe: memory of every kind, pools, virtual memory, what a pointer is, handles for other processes. */
#include "driver.h"

#include <sys/mman.h>

GROUP(alloc)
{
	CUdeviceptr p = 7, q = 7, base = 7;
	size_t z = 7, total = 7;
	static const size_t sizes[] = { 1, 3, 255, 256, 257, 511, 512, 513, 4096, 65536, 1 << 20, (1 << 20) + 1, 2 << 20, (2 << 20) + 1, 5 << 20 };

	start();
	R(cuMemAlloc_v2(&p, 0));
	SAY("%s", p == 7 ? "untouched" : p ? "set" : "null");
	R(cuMemAlloc_v2(NULL, 16));
	R(cuMemAlloc_v2(NULL, 0));
	R(cuMemAlloc_v2(&p, (size_t)1 << 46));
	SAY("%s", p == 7 ? "untouched" : p ? "set" : "null");
	R(cuMemAlloc_v2(&p, SIZE_MAX));
	R(cuMemAlloc_v2(&p, SIZE_MAX - 4096));
	for (size_t i = 0; i < NEL(sizes); i++) {
		tag("%zu bytes", sizes[i]);
		RV(cuMemAlloc_v2(&p, sizes[i]), "aligned 256 %d, 512 %d", !(p & 255), !(p & 511));
		RV(cuMemGetAddressRange_v2(&base, &z, p), "base same %d, %zu bytes", base == p, z);
		R(cuMemGetAddressRange_v2(&base, &z, p + sizes[i] - 1));
		R(cuMemFree_v2(p + 1));
		R(cuMemsetD8_v2(p, 0, sizes[i]));
		R(cuMemFree_v2(p));
		R(cuMemFree_v2(p));
	}
	tag("%s", "");
	R(cuMemFree_v2(0));
	R(cuMemFree_v2(1));
	R(cuMemFree_v2(WILD));
	R(cuMemFree_v2(~0ull));
	R(cuMemFree_v2((CUdeviceptr)(uintptr_t)&p));
	p = alloc(1024);
	q = alloc(1024);
	SAY("differ %d", p != q);
	RV(cuMemGetAddressRange_v2(&base, &z, p + 1000), "base %d, %zu bytes", base == p, z);
	R(cuMemGetAddressRange_v2(&base, NULL, p));
	R(cuMemGetAddressRange_v2(NULL, &z, p));
	R(cuMemGetAddressRange_v2(NULL, NULL, p));
	R(cuMemGetAddressRange_v2(&base, &z, 0));
	R(cuMemGetAddressRange_v2(&base, &z, WILD));
	R(cuMemGetAddressRange_v2(&base, &z, p + (1 << 30)));
	RV(cuMemGetInfo_v2(&z, &total), "free less %d", z < total);
	R(cuMemGetInfo_v2(NULL, &total));
	R(cuMemGetInfo_v2(&z, NULL));
	R(cuMemGetInfo_v2(NULL, NULL));
	static const struct { size_t w, h; unsigned int e; } pitches[] = { { 1, 1, 4 }, { 100, 10, 4 }, { 512, 4, 4 }, { 513, 4, 4 }, { 1000, 7, 8 }, { 4096, 2, 16 },
		{ 100, 10, 1 }, { 100, 10, 2 }, { 100, 10, 0 }, { 100, 10, 3 }, { 100, 10, 32 }, { 0, 10, 4 }, { 100, 0, 4 }, { 0, 0, 4 }, { 70000, 3, 4 }, { SIZE_MAX, 2, 4 },
		{ (size_t)1 << 31, 1, 4 }, { ((size_t)1 << 31) - 1, 1, 4 } };
	for (size_t i = 0; i < NEL(pitches); i++) {
		tag("%zu by %zu of %u", pitches[i].w, pitches[i].h, pitches[i].e);
		p = 7, z = 7;
		RV(cuMemAllocPitch_v2(&p, &z, pitches[i].w, pitches[i].h, pitches[i].e), "pitch %zu, aligned 512 %d", z, !(p & 511));
		RV(cuMemGetAddressRange_v2(&base, &z, p), "%zu bytes", z);
		if (p != 7)
			cuMemFree_v2(p);
	}
	tag("%s", "");
	R(cuMemAllocPitch_v2(NULL, &z, 100, 10, 4));
	R(cuMemAllocPitch_v2(&p, NULL, 100, 10, 4));
}

GROUP(host)
{
	void *p = P(7), *q;
	CUdeviceptr d = 7;
	unsigned int f = 7;
	char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char statics[8192];
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	start();
	R(cuMemAllocHost_v2(&p, 0));
	SAY("%s", p == P(7) ? "untouched" : p ? "set" : "null");
	R(cuMemAllocHost_v2(NULL, 16));
	R(cuMemHostAlloc(&p, 0, 0));
	R(cuMemHostAlloc(NULL, 16, 0));
	R(cuMemHostAlloc(&p, (size_t)1 << 50, 0));
	R(cuMemFreeHost(NULL));
	R(cuMemFreeHost(page));
	R(cuMemFreeHost(P(WILD)));
	for (unsigned int i = 0; i < 20; i++) {
		tag("flags %u", i);
		p = NULL;
		RV(cuMemHostAlloc(&p, 100, i), "aligned 512 %d", !((uintptr_t)p & 511));
		if (p) {
			RV(cuMemHostGetFlags(&f, p), "%u", f);
			RV(cuMemHostGetFlags(&f, (char *)p + 50), "%u", f);
			RV(cuMemHostGetDevicePointer_v2(&d, p, 0), "same %d", d == (CUdeviceptr)(uintptr_t)p);
			R(cuMemHostUnregister(p));
			R(cuMemFreeHost(p));
			R(cuMemFreeHost(p));
		}
	}
	tag("AllocHost");
	R(cuMemAllocHost_v2(&p, 100));
	RV(cuMemHostGetFlags(&f, p), "%u", f);
	RV(cuMemHostGetDevicePointer_v2(&d, p, 0), "same %d", d == (CUdeviceptr)(uintptr_t)p);
	RV(cuMemHostGetDevicePointer_v2(&d, (char *)p + 10, 0), "same %d", d == (CUdeviceptr)(uintptr_t)p + 10);
	R(cuMemHostGetDevicePointer_v2(&d, (char *)p + 100000, 0));
	R(cuMemHostGetDevicePointer_v2(&d, p, 1));
	R(cuMemHostGetDevicePointer_v2(NULL, p, 0));
	R(cuMemHostGetDevicePointer_v2(&d, NULL, 0));
	R(cuMemHostGetDevicePointer_v2(&d, page, 0));
	R(cuMemHostGetFlags(NULL, p));
	R(cuMemHostGetFlags(&f, NULL));
	R(cuMemHostGetFlags(&f, page));
	R(cuMemFree_v2((CUdeviceptr)(uintptr_t)p));
	R(cuMemFreeHost((char *)p + 1));
	R(cuMemHostRegister_v2(p, 100, 0));
	R(cuMemFreeHost(p));
	d = alloc(64);
	R(cuMemFreeHost(P(d)));
	R(cuMemHostRegister_v2(P(d), 64, 0));
	for (unsigned int i = 0; i < 20; i++) {
		tag("register, flags %u", i);
		if (i != 4 && i != 12) {
			R(cuMemHostRegister_v2(page, 8192, i));
			RV(cuMemHostGetFlags(&f, page), "%u", f);
			RV(cuMemHostGetDevicePointer_v2(&d, page, 0), "same %d", d == (CUdeviceptr)(uintptr_t)page);
			R(cuMemHostUnregister(page));
		}
	}
	tag("register");
	R(cuMemHostRegister_v2(NULL, 4096, 0));
	R(cuMemHostRegister_v2(page, 0, 0));
	R(cuMemHostRegister_v2(P(WILD), 4096, 0));
	R(cuMemHostRegister_v2(page + 1, 100, 0));
	R(cuMemHostRegister_v2(page + 1, 100, 0));
	R(cuMemHostRegister_v2(page + 200, 100, 0));
	R(cuMemHostRegister_v2(page, 4096, 0));
	R(cuMemHostUnregister(page));
	R(cuMemHostUnregister(page + 2));
	R(cuMemHostUnregister(page + 1));
	R(cuMemHostUnregister(page + 1));
	R(cuMemHostUnregister(page + 200));
	R(cuMemHostUnregister(page));
	R(cuMemHostRegister_v2(page, 8192, 0));
	R(cuMemHostRegister_v2(page + 4096, 8192, 0));
	R(cuMemHostRegister_v2(page, 8192, 0));
	R(cuMemHostRegister_v2(page + 8192, 4096, 0));
	R(cuMemHostRegister_v2(page + 4096, 100, 0));
	R(cuMemFreeHost(page));
	R(cuMemHostUnregister(page + 4096));
	R(cuMemHostUnregister(page));
	R(cuMemHostUnregister(NULL));
	R(cuMemHostUnregister(P(WILD)));
	R(cuMemHostRegister_v2(statics, sizeof statics, 0));
	R(cuMemHostUnregister(statics));
	R(cuMemHostRegister_v2(ro, 8192, 0));
	R(cuMemHostUnregister(ro));
	R(cuMemHostRegister_v2(ro, 8192, CU_MEMHOSTREGISTER_READ_ONLY));
	R(cuMemHostUnregister(ro));
	R(cuMemHostRegister_v2(page, (size_t)1 << 40, 0));
	q = malloc(100);
	R(cuMemHostRegister_v2(q, 100, 0));
	RV(cuMemHostGetDevicePointer_v2(&d, q, 0), "same %d", d == (CUdeviceptr)(uintptr_t)q);
	R(cuMemHostUnregister(q));
}

GROUP(managed)
{
	CUdeviceptr p = 7, h;
	int v[4];
	CUdevice by[3];
	size_t sizes[2] = { 4, 4 };
	void *outs[2] = { &v[0], &v[1] };
	CUmem_range_attribute at[2] = { 1, 2 };
	CUmemLocation dev = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
	char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr a;

	start();
	R(cuMemAllocManaged(&p, 0, 1));
	R(cuMemAllocManaged(NULL, 16, 1));
	for (unsigned int i = 0; i < 9; i++) {
		tag("flags %u", i);
		RV(cuMemAllocManaged(&p, 100, i), "aligned 512 %d", !(p & 511));
	}
	tag("%s", "");
	R(cuMemAllocManaged(&p, (size_t)1 << 50, 1));
	R(cuMemAllocManaged(&p, 1 << 16, 1));
	a = alloc(4096);
	h = (CUdeviceptr)(uintptr_t)page;
	for (int i = 0; i < 9; i++) {
		tag("advice %d", i);
		R(cuMemAdvise_v2(p, 1 << 16, (CUmem_advise)i, dev));
		R(cuMemAdvise_v2(p, 1 << 16, (CUmem_advise)i, host));
		R(cuMemAdvise(p, 1 << 16, (CUmem_advise)i, 0));
		R(cuMemAdvise(p, 1 << 16, (CUmem_advise)i, CU_DEVICE_CPU));
		R(cuMemAdvise(p, 1 << 16, (CUmem_advise)i, 77));
	}
	tag("%s", "");
	R(cuMemAdvise_v2(p, 0, 1, dev));
	R(cuMemAdvise_v2(p + 1, 100, 1, dev));
	R(cuMemAdvise_v2(p, 1 << 20, 1, dev));
	R(cuMemAdvise_v2(0, 100, 1, dev));
	R(cuMemAdvise_v2(WILD, 100, 1, dev));
	R(cuMemAdvise_v2(a, 100, 1, dev));
	R(cuMemAdvise_v2(h, 1 << 16, 1, dev));
	for (int t = 0; t < 6; t++) {
		CUmemLocation l = { (CUmemLocationType)t, 0 }, l9 = { (CUmemLocationType)t, 9 };

		tag("location %d", t);
		R(cuMemPrefetchAsync_v2(p, 1 << 16, l, 0, NULL));
		R(cuMemPrefetchAsync_v2(p, 1 << 16, l9, 0, NULL));
		R(cuMemAdvise_v2(p, 1 << 16, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, l));
		R(cuMemAdvise_v2(p, 1 << 16, CU_MEM_ADVISE_SET_ACCESSED_BY, l));
	}
	tag("prefetch");
	R(cuMemPrefetchAsync_v2(p, 0, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(p, 100, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(p + 1, 100, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(p, 1 << 20, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(p, 100, dev, 1, NULL));
	R(cuMemPrefetchAsync_v2(0, 100, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(WILD, 100, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(a, 4096, dev, 0, NULL));
	R(cuMemPrefetchAsync_v2(a, 4096, host, 0, NULL));
	R(cuMemPrefetchAsync_v2(h, 4096, dev, 0, NULL));
	R(cuMemPrefetchAsync(p, 1 << 16, 0, NULL));
	R(cuMemPrefetchAsync(p, 1 << 16, -1, NULL));
	R(cuMemPrefetchAsync(p, 1 << 16, 77, NULL));
	for (int i = -1; i < 10; i++) {
		tag("range attribute %d", i);
		v[0] = -7, v[1] = -7;
		RV(cuMemRangeGetAttribute(v, 4, (CUmem_range_attribute)i, p, 1 << 16), "%d", v[0]);
		R(cuMemRangeGetAttribute(v, 3, (CUmem_range_attribute)i, p, 1 << 16));
		R(cuMemRangeGetAttribute(v, 0, (CUmem_range_attribute)i, p, 1 << 16));
		R(cuMemRangeGetAttribute(v, 8, (CUmem_range_attribute)i, p, 1 << 16));
	}
	tag("range");
	RV(cuMemRangeGetAttribute(by, 12, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 1 << 16), "%d %d %d", by[0], by[1], by[2]);
	R(cuMemRangeGetAttribute(NULL, 4, 1, p, 1 << 16));
	R(cuMemRangeGetAttribute(v, 4, 1, p, 0));
	R(cuMemRangeGetAttribute(v, 4, 1, p, 1 << 20));
	R(cuMemRangeGetAttribute(v, 4, 1, 0, 16));
	R(cuMemRangeGetAttribute(v, 4, 1, a, 16));
	R(cuMemRangeGetAttribute(v, 4, 1, h, 16));
	R(cuMemRangeGetAttribute(v, 4, 1, WILD, 16));
	R(cuMemRangeGetAttributes(outs, sizes, at, 2, p, 1 << 16));
	R(cuMemRangeGetAttributes(outs, sizes, at, 0, p, 1 << 16));
	R(cuMemRangeGetAttributes(NULL, sizes, at, 2, p, 1 << 16));
	for (unsigned int f = 0; f < 9; f++) {
		tag("attach, flags %u", f);
		R(cuStreamAttachMemAsync(NULL, p, 0, f));
	}
	tag("attach");
	CUstream s = stream(0);
	R(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_SINGLE));
	R(cuStreamAttachMemAsync(s, p, 100, CU_MEM_ATTACH_SINGLE));
	R(cuStreamAttachMemAsync(s, p, 1 << 16, CU_MEM_ATTACH_GLOBAL));
	R(cuStreamAttachMemAsync(s, p + 8, 0, CU_MEM_ATTACH_GLOBAL));
	R(cuStreamAttachMemAsync(s, a, 0, CU_MEM_ATTACH_GLOBAL));
	R(cuStreamAttachMemAsync(s, 0, 0, CU_MEM_ATTACH_GLOBAL));
	R(cuStreamAttachMemAsync(s, h, 0, CU_MEM_ATTACH_GLOBAL));
	R(cuMemFree_v2(p));
	R(cuMemFree_v2(p));
}

static void pointer(const char *what, CUdeviceptr p, CUdeviceptr base)
{
	unsigned long long v[8];
	CUpointer_attribute at[3] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	void *outs[3] = { &v[0], &v[1], &v[2] };
	unsigned int one = 1;

	for (int i = 0; i < 23; i++) {
		tag("%s, attribute %d", what, i);
		memset(v, 0, sizeof v);
		if (i == 5)
			continue;
		if (i == 1 || i == 17)
			RV(cuPointerGetAttribute(v, (CUpointer_attribute)i, p), "%s", *v ? "set" : "null");
		else if (i == 3 || i == 4 || i == 11 || i == 19)
			RV(cuPointerGetAttribute(v, (CUpointer_attribute)i, p), "%s", !*v ? "null" : *v == p ? "same" : *v == base ? "base" : "another");
		else if (i == 7 || i == 20)
			RV(cuPointerGetAttribute(v, (CUpointer_attribute)i, p), "%s", *v ? "positive" : "zero");
		else
			RV(cuPointerGetAttribute(v, (CUpointer_attribute)i, p), "%lld", i == 9 ? (long long)(int)*v : (long long)*v);
	}
	tag("%s", what);
	memset(v, 0x77, sizeof v);
	RV(cuPointerGetAttributes(3, at, outs, p), "type %d, managed %d, device pointer %s", (int)v[0], (unsigned char)v[1], v[2] == p ? "same" : v[2] ? "another" : "null");
	R(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
	R(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	one = 0;
	R(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
}

GROUP(pointers)
{
	CUdeviceptr p = 0, g = 0;
	void *h = NULL;
	char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t z;
	int v;
	CUpointer_attribute at = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	void *out = &v;

	start();
	p = alloc(4096);
	pointer("device memory", p, p);
	pointer("inside it", p + 100, p);
	cuMemFree_v2(p);
	pointer("freed", p, p);
	pointer("null", 0, 0);
	pointer("wild", WILD, 0);
	pointer("host's own", (CUdeviceptr)(uintptr_t)page, 0);
	cuMemAllocHost_v2(&h, 4096);
	pointer("pinned", (CUdeviceptr)(uintptr_t)h, 0);
	pointer("inside pinned", (CUdeviceptr)(uintptr_t)h + 8, (CUdeviceptr)(uintptr_t)h);
	cuMemHostRegister_v2(page, 8192, 0);
	pointer("registered", (CUdeviceptr)(uintptr_t)page, 0);
	pointer("behind registered", (CUdeviceptr)(uintptr_t)page + 8192, 0);
	cuMemAllocManaged(&p, 4096, 1);
	pointer("managed", p, 0);
	cuMemAllocAsync(&p, 4096, NULL);
	cuStreamSynchronize(NULL);
	pointer("of a pool", p, 0);
	cuModuleGetGlobal_v2(&g, &z, module(), "counter");
	pointer("a global", g, 0);
	tag("%s", "");
	R(cuPointerGetAttribute(NULL, 2, p));
	R(cuPointerGetAttributes(0, &at, &out, p));
	R(cuPointerGetAttributes(1, NULL, &out, p));
	R(cuPointerGetAttributes(1, &at, NULL, p));
	R(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
}

GROUP(pools)
{
	CUmemoryPool pool = NULL, own = NULL, q = NULL;
	CUmemPoolProps pr = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	unsigned long long v = 0;
	CUdeviceptr p = 7, p2 = 7;
	CUmemAccessDesc ad = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAccess_flags fl = 7;
	CUmemLocation l = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUmemPoolPtrExportData ex;
	int fd = -1;
	CUstream s;

	start();
	s = stream(0);
	R(cuDeviceGetDefaultMemPool(&pool, 0));
	for (int i = 0; i < 12; i++) {
		tag("default, attribute %d", i);
		v = 0;
		RV(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)i, &v), "%llu", v);
		v = 0;
		R(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)i, &v));
		v = 1;
		R(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)i, &v));
		RV(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)i, &v), "%llu", v);
		v = 12345678;
		R(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)i, &v));
		RV(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)i, &v), "%llu", v);
	}
	tag("%s", "");
	R(cuMemPoolGetAttribute(pool, 4, NULL));
	R(cuMemPoolSetAttribute(pool, 4, NULL));
	R(cuMemPoolGetAttribute(NULL, 4, &v));
	R(cuMemPoolDestroy(pool));
	R(cuMemPoolDestroy(NULL));
	for (int t = 0; t < 4; t++)
		for (int h = 0; h < 10; h += h ? h == 4 ? 4 : h : 1)
			for (int k = 0; k < 5; k++) {
				CUmemPoolProps x = pr;

				if (k && (t != 1 || h))
					continue;
				x.allocType = (CUmemAllocationType)t;
				x.handleTypes = (CUmemAllocationHandleType)h;
				x.location.type = (CUmemLocationType)(k ? k - 1 : 1);
				x.location.id = k == 4 ? 3 : 0;
				tag("type %d, handle %d, location %d", t, h, x.location.type);
				q = NULL;
				if (k == 4)
					x.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
				R(cuMemPoolCreate(&q, &x));
			}
	tag("%s", "");
	R(cuMemPoolCreate(NULL, &pr));
	R(cuMemPoolCreate(&own, NULL));
	pr.reserved[10] = 1;
	R(cuMemPoolCreate(&own, &pr));
	pr.reserved[10] = 0;
	pr.usage = 99;
	R(cuMemPoolCreate(&own, &pr));
	pr.usage = 0;
	pr.maxSize = 1000;
	R(cuMemPoolCreate(&own, &pr));
	tag("limited");
	R(cuMemAllocFromPoolAsync(&p, 64 << 20, own, s));
	R(cuMemAllocFromPoolAsync(&p, 100, own, s));
	R(cuMemPoolDestroy(own));
	tag("own");
	pr.maxSize = 0;
	R(cuMemPoolCreate(&own, &pr));
	for (int i = 1; i < 9; i++) {
		tag("own, attribute %d", i);
		v = 0;
		RV(cuMemPoolGetAttribute(own, (CUmemPool_attribute)i, &v), "%llu", v);
	}
	tag("own");
	RV(cuMemAllocFromPoolAsync(&p, 1000, own, s), "aligned 512 %d", !(p & 511));
	R(cuMemAllocFromPoolAsync(&p2, 0, own, s));
	R(cuMemAllocFromPoolAsync(&p2, 16, NULL, s));
	R(cuMemAllocFromPoolAsync(NULL, 16, own, s));
	R(cuMemAllocFromPoolAsync(&p2, (size_t)1 << 46, own, s));
	R(cuStreamSynchronize(s));
	for (int i = 5; i < 9; i++) {
		tag("own with 1000 bytes, attribute %d", i);
		RV(cuMemPoolGetAttribute(own, (CUmemPool_attribute)i, &v), "%llu", v);
		v = 0;
		R(cuMemPoolSetAttribute(own, (CUmemPool_attribute)i, &v));
		RV(cuMemPoolGetAttribute(own, (CUmemPool_attribute)i, &v), "%llu", v);
	}
	tag("own");
	R(cuMemPoolSetAccess(own, &ad, 1));
	R(cuMemPoolSetAccess(own, &ad, 0));
	R(cuMemPoolSetAccess(own, NULL, 1));
	ad.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	R(cuMemPoolSetAccess(own, &ad, 1));
	ad.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	R(cuMemPoolSetAccess(own, &ad, 1));
	ad.flags = 2;
	R(cuMemPoolSetAccess(own, &ad, 1));
	ad.flags = 3;
	ad.location.id = 9;
	R(cuMemPoolSetAccess(own, &ad, 1));
	ad.location.type = CU_MEM_LOCATION_TYPE_HOST;
	R(cuMemPoolSetAccess(own, &ad, 1));
	RV(cuMemPoolGetAccess(&fl, own, &l), "%d", fl);
	l.id = 9;
	R(cuMemPoolGetAccess(&fl, own, &l));
	l.type = CU_MEM_LOCATION_TYPE_HOST;
	RV(cuMemPoolGetAccess(&fl, own, &l), "%d", fl);
	R(cuMemPoolGetAccess(NULL, own, &l));
	R(cuMemPoolExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemPoolExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_NONE, 0));
	R(cuMemPoolExportPointer(&ex, p));
	R(cuMemPoolTrimTo(own, 0));
	R(cuMemPoolTrimTo(NULL, 0));
	R(cuMemFreeAsync(p + 1, s));
	R(cuMemFreeAsync(0, s));
	R(cuMemFreeAsync(WILD, s));
	R(cuMemFreeAsync(p, s));
	R(cuMemFreeAsync(p, s));
	R(cuStreamSynchronize(s));
	for (int i = 5; i < 9; i++) {
		tag("own after the free, attribute %d", i);
		RV(cuMemPoolGetAttribute(own, (CUmemPool_attribute)i, &v), "%llu", v);
	}
	tag("own");
	R(cuMemPoolTrimTo(own, 0));
	RV(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &v), "%llu", v);
	R(cuDeviceSetMemPool(0, own));
	RV(cuDeviceGetMemPool(&q, 0), "own %d", q == own);
	R(cuMemAllocAsync(&p, 100, s));
	R(cuMemPoolDestroy(own));
	RV(cuDeviceGetMemPool(&q, 0), "own %d, default %d", q == own, q == pool);
	R(cuMemFree_v2(p));
	R(cuMemPoolDestroy(own));
	tag("default");
	R(cuMemAllocAsync(&p, 0, s));
	R(cuMemAllocAsync(NULL, 10, s));
	R(cuMemAllocAsync(&p, (size_t)1 << 46, s));
	R(cuMemAllocAsync(&p, 100, NULL));
	R(cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
	R(cuMemAllocAsync(&p, 100, CU_STREAM_LEGACY));
	R(cuMemFree_v2(p));
	R(cuMemFree_v2(p));
	p = alloc(100);
	R(cuMemFreeAsync(p, s));
	R(cuStreamSynchronize(s));
	R(cuMemFree_v2(p));
	R(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemPoolExportPointer(&ex, p));
	tag("shareable");
	pr.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	R(cuMemPoolCreate(&own, &pr));
	R(cuMemPoolExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
	RV(cuMemPoolExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), "a descriptor %d", fd > 2);
	R(cuMemPoolExportToShareableHandle(NULL, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemAllocFromPoolAsync(&p, 100, own, s));
	R(cuStreamSynchronize(s));
	R(cuMemPoolExportPointer(&ex, p));
	R(cuMemPoolExportPointer(NULL, p));
	RV(cuMemPoolImportFromShareableHandle(&q, P((size_t)fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), "differs %d", q != own);
	R(cuMemPoolImportPointer(&p2, q, &ex));
	R(cuMemAllocFromPoolAsync(&p2, 100, q, s));
	R(cuMemPoolImportFromShareableHandle(&q, P(9999), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	for (int t = 0; t < 5; t++)
		for (int k = 0; k < 3; k++) {
			CUmemLocation at = { (CUmemLocationType)t, 0 };

			tag("by place %d, type %d", t, k);
			R(cuMemGetDefaultMemPool(&q, &at, (CUmemAllocationType)k));
			R(cuMemGetMemPool(&q, &at, (CUmemAllocationType)k));
		}
}

GROUP(vmm)
{
	CUmemAllocationProp pr = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }, out;
	CUmemAccessDesc ad = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	size_t z = 7, G = 2 << 20;
	CUdeviceptr p = 7, q = 7;
	CUmemGenericAllocationHandle h = 7, h2 = 7;
	unsigned long long fl = 7;
	int fd = -1;

	start();
	for (int o = -1; o < 3; o++) {
		tag("option %d", o);
		RV(cuMemGetAllocationGranularity(&z, &pr, (CUmemAllocationGranularity_flags)o), "%zu", z);
	}
	tag("%s", "");
	R(cuMemGetAllocationGranularity(NULL, &pr, 0));
	R(cuMemGetAllocationGranularity(&z, NULL, 0));
	for (int t = 0; t < 4; t++)
		for (int l = 0; l < 5; l++)
			for (int k = 0; k < 10; k += k ? k : 1) {
				CUmemAllocationProp x = pr;

				if (k && l != 1)
					continue;
				x.type = (CUmemAllocationType)t;
				x.location.type = (CUmemLocationType)l;
				x.requestedHandleTypes = (CUmemAllocationHandleType)k;
				tag("type %d, location %d, handle %d", t, l, k);
				RV(cuMemGetAllocationGranularity(&z, &x, 0), "%zu", z);
				R(cuMemCreate(&h, G, &x, 0));
			}
	tag("properties");
	CUmemAllocationProp x = pr;
	x.location.id = 9;
	R(cuMemCreate(&h, G, &x, 0));
	x.location.id = -1;
	R(cuMemCreate(&h, G, &x, 0));
	x = pr;
	x.allocFlags.compressionType = 1;
	R(cuMemCreate(&h, G, &x, 0));
	x.allocFlags.compressionType = 7;
	R(cuMemCreate(&h, G, &x, 0));
	x = pr;
	x.allocFlags.gpuDirectRDMACapable = 1;
	R(cuMemCreate(&h, G, &x, 0));
	x = pr;
	x.allocFlags.usage = 1;
	R(cuMemCreate(&h, G, &x, 0));
	x.allocFlags.usage = 99;
	R(cuMemCreate(&h, G, &x, 0));
	x = pr;
	x.allocFlags.reserved[1] = 1;
	R(cuMemCreate(&h, G, &x, 0));
	x = pr;
	x.win32HandleMetaData = &x;
	R(cuMemCreate(&h, G, &x, 0));
	static const size_t sizes[] = { 0, 1, 4096, 65536, 1 << 20, 2 << 20, 3 << 20, 4 << 20, (2 << 20) + 4096, (size_t)1 << 46 };
	for (size_t i = 0; i < NEL(sizes); i++) {
		tag("%zu bytes", sizes[i]);
		RV(cuMemCreate(&h, sizes[i], &pr, 0), "%s", h ? "set" : "null");
		R(cuMemAddressReserve(&p, sizes[i], 0, 0, 0));
	}
	tag("%s", "");
	R(cuMemCreate(&h, G, &pr, 1));
	R(cuMemCreate(NULL, G, &pr, 0));
	R(cuMemCreate(&h, G, NULL, 0));
	static const size_t aligns[] = { 1, 3, 4096, 65536, 1 << 20, 2 << 20, 4 << 20, 3 << 20, 1 << 30, (size_t)1 << 40 };
	for (size_t i = 0; i < NEL(aligns); i++) {
		tag("aligned %zu", aligns[i]);
		RV(cuMemAddressReserve(&p, G, aligns[i], 0, 0), "aligned %d", !(p & (aligns[i] - 1)));
	}
	tag("reserve");
	R(cuMemAddressReserve(&p, G, 0, 0, 1));
	R(cuMemAddressReserve(NULL, G, 0, 0, 0));
	R(cuMemAddressReserve(&p, G, 0, 12345, 0));
	R(cuMemAddressReserve(&p, 4 * G, 0, 0, 0));
	SAY("aligned 2 MiB %d", !(p & (G - 1)));
	R(cuMemAddressReserve(&q, 4 * G, 0, p, 0));
	SAY("another %d", p != q);
	tag("map");
	R(cuMemCreate(&h, 2 * G, &pr, 0));
	R(cuMemMap(p, 2 * G, 0, h, 1));
	R(cuMemMap(p, G, 0, h, 0));
	R(cuMemMap(p, 2 * G, G, h, 0));
	R(cuMemMap(p, 0, 0, h, 0));
	R(cuMemMap(p, 3 * G, 0, h, 0));
	R(cuMemMap(p + 4096, 2 * G, 0, h, 0));
	R(cuMemMap(p, 2 * G, 0, 0, 0));
	R(cuMemMap(p, 2 * G, 0, 0x1234, 0));
	R(cuMemMap(0, 2 * G, 0, h, 0));
	R(cuMemMap(WILD, 2 * G, 0, h, 0));
	R(cuMemMap(p + 3 * G, 2 * G, 0, h, 0));
	R(cuMemGetAccess(&fl, &ad.location, p));
	R(cuMemSetAccess(p, 2 * G, &ad, 1));
	R(cuMemsetD8_v2(p, 0, 16));
	R(cuMemMap(p, 2 * G, 0, h, 0));
	R(cuMemMap(p, 2 * G, 0, h, 0));
	RV(cuMemGetAccess(&fl, &ad.location, p), "%llu", fl);
	R(cuMemsetD8_v2(p, 0, 16));
	RV(cuMemGetAddressRange_v2(&q, &z, p + 5), "base %d, %zu bytes", q == p, z);
	R(cuMemSetAccess(p, G, &ad, 1));
	R(cuMemSetAccess(p, 2 * G, &ad, 1));
	R(cuMemSetAccess(p, 4 * G, &ad, 1));
	R(cuMemSetAccess(p + 4096, G, &ad, 1));
	R(cuMemSetAccess(p, 2 * G, &ad, 0));
	R(cuMemSetAccess(p, 2 * G, NULL, 1));
	R(cuMemSetAccess(p, 0, &ad, 1));
	RV(cuMemGetAccess(&fl, &ad.location, p), "%llu", fl);
	RV(cuMemGetAccess(&fl, &ad.location, p + 100), "%llu", fl);
	R(cuMemGetAccess(NULL, &ad.location, p));
	R(cuMemGetAccess(&fl, NULL, p));
	R(cuMemGetAccess(&fl, &ad.location, p + 3 * G));
	R(cuMemGetAccess(&fl, &ad.location, WILD));
	R(cuMemsetD8_v2(p, 0, 2 * G));
	R(cuMemsetD8_v2(p, 0, 3 * G));
	CUmemAccessDesc bad = ad;
	bad.flags = 2;
	R(cuMemSetAccess(p, 2 * G, &bad, 1));
	bad.flags = 1;
	R(cuMemSetAccess(p, 2 * G, &bad, 1));
	RV(cuMemGetAccess(&fl, &ad.location, p), "%llu", fl);
	bad.flags = 0;
	R(cuMemSetAccess(p, 2 * G, &bad, 1));
	RV(cuMemGetAccess(&fl, &ad.location, p), "%llu", fl);
	bad = ad;
	bad.location.id = 9;
	R(cuMemSetAccess(p, 2 * G, &bad, 1));
	bad.location.type = CU_MEM_LOCATION_TYPE_HOST;
	R(cuMemSetAccess(p, 2 * G, &bad, 1));
	tag("handles");
	RV(cuMemGetAllocationPropertiesFromHandle(&out, h), "type %d, handle %d, location %d %d", out.type, out.requestedHandleTypes, out.location.type, out.location.id);
	R(cuMemGetAllocationPropertiesFromHandle(NULL, h));
	R(cuMemGetAllocationPropertiesFromHandle(&out, 0));
	RV(cuMemRetainAllocationHandle(&h2, P(p + 100)), "same %d", h == h2);
	R(cuMemRetainAllocationHandle(&h2, P(p + 3 * G)));
	R(cuMemRetainAllocationHandle(&h2, NULL));
	R(cuMemRetainAllocationHandle(NULL, P(p)));
	R(cuMemRetainAllocationHandle(&h2, P(alloc(16))));
	R(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_NONE, 0));
	R(cuMemImportFromShareableHandle(&h2, P(9999), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	R(cuMemImportFromShareableHandle(&h2, P(0), CU_MEM_HANDLE_TYPE_NONE));
	x = pr;
	x.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	R(cuMemCreate(&h2, G, &x, 0));
	R(cuMemExportToShareableHandle(&fd, h2, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
	R(cuMemExportToShareableHandle(&fd, h2, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemExportToShareableHandle(NULL, h2, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	R(cuMemExportToShareableHandle(&fd, h2, CU_MEM_HANDLE_TYPE_FABRIC, 0));
	RV(cuMemImportFromShareableHandle(&h2, P((size_t)fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), "%s", h2 ? "set" : "null");
	tag("end");
	R(cuMemRelease(0));
	R(cuMemRelease(0x1234));
	R(cuMemFree_v2(p));
	R(cuMemAddressFree(p, 4 * G));
	R(cuMemUnmap(p, G));
	R(cuMemUnmap(p, 4 * G));
	R(cuMemUnmap(p + G, G));
	R(cuMemUnmap(0, G));
	R(cuMemUnmap(p, 0));
	R(cuMemUnmap(p, 2 * G));
	R(cuMemUnmap(p, 2 * G));
	R(cuMemRelease(h));
	R(cuMemRelease(h));
	R(cuMemRelease(h));
	R(cuMemAddressFree(p, G));
	R(cuMemAddressFree(p + G, G));
	R(cuMemAddressFree(p, 0));
	R(cuMemAddressFree(p, 4 * G));
	R(cuMemAddressFree(p, 4 * G));
	R(cuMemAddressFree(0, 0));
	R(cuMemAddressFree(WILD, G));
}

GROUP(ipc)
{
	CUipcMemHandle mh = { { 0 } };
	CUipcEventHandle eh = { { 0 } };
	CUevent e = NULL, e2 = NULL;
	CUdeviceptr p, q = 7;
	void *h = NULL;

	start();
	p = alloc(4096);
	R(cuIpcOpenMemHandle_v2(&q, mh, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	R(cuIpcOpenEventHandle(&e2, eh));
	R(cuIpcGetMemHandle(NULL, p));
	R(cuIpcGetMemHandle(&mh, 0));
	R(cuIpcGetMemHandle(&mh, WILD));
	R(cuIpcGetMemHandle(&mh, p));
	R(cuIpcGetMemHandle(&mh, p + 100));
	R(cuIpcOpenMemHandle_v2(&q, mh, 0));
	R(cuIpcOpenMemHandle_v2(&q, mh, 2));
	R(cuIpcOpenMemHandle_v2(NULL, mh, 1));
	R(cuIpcOpenMemHandle_v2(&q, mh, 1));
	R(cuIpcCloseMemHandle(p));
	R(cuIpcCloseMemHandle(0));
	R(cuIpcCloseMemHandle(WILD));
	cuMemAllocHost_v2(&h, 4096);
	R(cuIpcGetMemHandle(&mh, (CUdeviceptr)(uintptr_t)h));
	cuMemAllocManaged(&q, 4096, 1);
	R(cuIpcGetMemHandle(&mh, q));
	cuMemAllocAsync(&q, 4096, NULL);
	R(cuIpcGetMemHandle(&mh, q));
	cuEventCreate(&e, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	R(cuIpcGetEventHandle(&eh, e));
	R(cuIpcGetEventHandle(NULL, e));
	R(cuIpcGetEventHandle(&eh, NULL));
	R(cuIpcOpenEventHandle(&e2, eh));
	R(cuIpcOpenEventHandle(NULL, eh));
	cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
	R(cuIpcGetEventHandle(&eh, e));
}
