/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management as llama.cpp's pool uses it: a reservation of 32 GiB that is filled piece by piece,
 * used across the seams, emptied and given back.
 */
#include "drv.h"

E2E_PTX(misc);

int main(void)
{
	enum { PIECES = 3 };
	const size_t reserve = (size_t)32 << 30;
	CUcontext ctx = drv_start("vmm");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp prop;
	CUmemAccessDesc access;
	CUdeviceptr base = 0, at;
	size_t gran = 0, piece, free_before, total;
	uint32_t *got, *want, mul = 3, add = 9;
	int supported = 0, n;

	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
	if (!supported)
		e2e_skip("the device has no virtual memory management");
	memset(&prop, 0, sizeof prop);
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = 0;
	CK(cuMemGetAllocationGranularity(&gran, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	if (!gran || (gran & (gran - 1)))
		e2e_fail("granularity %zu is no power of two", gran);
	piece = 4 * gran;
	CK(cuMemGetInfo(&free_before, &total));
	CK(cuMemAddressReserve(&base, reserve, 0, 0, 0));
	for (int i = 0; i < PIECES; i++) {
		CK(cuMemCreate(&h, piece, &prop, 0));
		EXPECT(cuMemMap(base + i * piece, gran, gran, h, 0) == CUDA_ERROR_INVALID_VALUE);       /* "offset: must be zero" */
		CK(cuMemMap(base + i * piece, piece, 0, h, 0));
		/* The mapping keeps the memory; the handle is no longer needed. */
		CK(cuMemRelease(h));
		memset(&access, 0, sizeof access);
		access.location = prop.location;
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		CK(cuMemSetAccess(base + i * piece, piece, &access, 1));
	}

	/* 1000 words around each seam. */
	n = 1000;
	got = e2e_malloc(n * 4);
	want = e2e_malloc(n * 4);
	for (int s = 1; s < PIECES; s++) {
		at = base + s * piece - 500 * 4;
		CK(cuMemsetD32(at, s, n));
		LAUNCH(f, 3, 128, 0, NULL, &at, &mul, &add, &n);
		CK(cuMemcpyDtoH(got, at, n * 4));
		for (int i = 0; i < n; i++)
			want[i] = s * 3 + 9;
		e2e_same_u32("seam", got, want, n);
	}
	/* Past the mapped part there is address space but no memory. */
	EXPECT(cuMemcpyDtoH(got, base + PIECES * piece, 64) != CUDA_SUCCESS);
	EXPECT(cuMemMap(base + reserve, piece, 0, 0, 0) != CUDA_SUCCESS);

	for (int i = 0; i < PIECES; i++)
		CK(cuMemUnmap(base + i * piece, piece));
	CK(cuMemAddressFree(base, reserve));
	EXPECT(drv_free_again(free_before));
	/* a context goes before what was mapped: it is unmapped all the same, once */
	CK(cuMemAddressReserve(&base, 2 * piece, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		CK(cuMemCreate(&h, piece, &prop, 0));
		CK(cuMemMap(base + i * piece, piece, 0, h, 0));
		CK(cuMemRelease(h));
	}
	CK(cuMemSetAccess(base, 2 * piece, &access, 1));
	CK(cuCtxDestroy(ctx));
	CK(cuMemUnmap(base, piece));
	EXPECT(cuMemUnmap(base, piece) == CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemUnmap(base + piece, gran) == CUDA_ERROR_INVALID_VALUE);
	CK(cuMemUnmap(base + piece, piece));
	CK(cuMemAddressFree(base, 2 * piece));
	free(got);
	free(want);
	return e2e_end("32 GiB reserved, %d pieces of %zu KiB, seams crossed", PIECES, piece >> 10);
}
