/* SPDX-License-Identifier: MIT */
/*
 * __managed__ variables: one address for the host and for kernels, with their first values, by the driver API and as
 * nvcc's host code has them (a pointer that __cudaInitModule fills).
 */
#include <cuda_runtime_api.h>

#include "drv.h"

static const char ptx[] =
	".version 6.4\n.target sm_61\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 4 .u32 counter = 40;\n"
	".visible .global .attribute(.managed) .align 8 .u64 table[3] = { 1, 2, generic(counter) };\n"
	".visible .global .align 8 .u64 place = generic(counter);\n"
	".visible .global .align 4 .u32 plain = 9;\n"
	".global .attribute(.managed) .align 16 .b8 zeros[5000];\n"
	".visible .entry bump(.param .u32 by)\n{\n"
	"	.reg .u32 %r<4>;\n	.reg .u64 %d<4>;\n"
	"	ld.param.u32 %r1, [by];\n"
	"	mov.u64 %d1, counter;\n"
	"	atom.global.add.u32 %r2, [%d1], %r1;\n"
	"	ld.global.u64 %d2, [table + 8];\n"
	"	st.global.u64 [table], %d2;\n"
	"	mov.u32 %r3, 7;\n"
	"	st.global.u8 [zeros + 4999], %r3;\n"
	"	ret;\n}\n";

static void by_driver(void)
{
	CUdeviceptr counter, again, table, zeros, place, base;
	CUmodule m, second;
	CUfunction f;
	size_t bytes;
	uint32_t by = 3, managed = 0;
	uint64_t where = 0;

	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "bump"));
	CK(cuModuleGetGlobal(&counter, &bytes, m, "counter"));
	EXPECT_EQ(bytes, 4);
	CK(cuModuleGetGlobal(&table, &bytes, m, "table"));
	EXPECT_EQ(bytes, 24);
	CK(cuModuleGetGlobal(&zeros, &bytes, m, "zeros"));
	EXPECT_EQ(bytes, 5000);
	CK(cuModuleGetGlobal(&place, NULL, m, "place"));
	volatile uint32_t *c = (uint32_t *)(uintptr_t)counter;
	volatile uint64_t *t = (uint64_t *)(uintptr_t)table;
	volatile uint8_t *z = (uint8_t *)(uintptr_t)zeros;

	EXPECT_EQ(*c, 40);
	EXPECT_EQ(t[0], 1);
	EXPECT_EQ(t[1], 2);
	EXPECT(t[2] == counter);
	for (int i = 0; i < 5000; i++)
		if (z[i])
			e2e_fail("zeros[%d] is %u", i, z[i]);
	CK(cuMemcpyDtoH(&where, place, 8));     /* an ordinary variable that names a managed one */
	EXPECT(where == counter);
	LAUNCH(f, 2, 32, 0, NULL, &by);
	CK(cuCtxSynchronize());
	EXPECT_EQ(*c, 40 + 64 * 3);
	EXPECT_EQ(t[0], 2);
	EXPECT_EQ(z[4999], 7);
	*c = 1000;
	t[1] = 77;
	LAUNCH(f, 1, 32, 0, NULL, &by);
	CK(cuCtxSynchronize());
	EXPECT_EQ(*c, 1000 + 32 * 3);
	EXPECT_EQ(t[0], 77);
	CK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, counter));
	EXPECT(managed);
	CK(cuModuleGetGlobal(&base, NULL, m, "plain"));
	CK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, base));
	EXPECT(!managed);
	/* only its module gives it back; every module has its own, with first values again */
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree(counter & ~4095ull));
	CK(cuModuleLoadData(&second, ptx));
	CK(cuModuleGetGlobal(&again, NULL, second, "counter"));
	EXPECT(again != counter);
	EXPECT_EQ(*(volatile uint32_t *)(uintptr_t)again, 40);
	EXPECT_EQ(*c, 1000 + 32 * 3);
	CK(cuModuleUnload(second));
	CK(cuModuleUnload(m));
	for (int i = 0; i < 40; i++) {          /* the place is dirty by now */
		CK(cuModuleLoadData(&m, ptx));
		CK(cuModuleGetGlobal(&counter, NULL, m, "counter"));
		CK(cuModuleGetGlobal(&zeros, NULL, m, "zeros"));
		EXPECT_EQ(*(volatile uint32_t *)(uintptr_t)counter, 40);
		EXPECT_EQ(*(volatile uint8_t *)(uintptr_t)(zeros + 4999), 0);
		memset((void *)(uintptr_t)zeros, 0xff, 5000);
		CK(cuModuleUnload(m));
	}
}

/* ---- as nvcc's host code: a container with one entry, a pointer for each managed variable ---- */

static struct { uint32_t magic, version; const void *data; void *name; } wrapper = { 0x466243b1u, 1, NULL, NULL };
static struct __attribute__((packed)) {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
	uint16_t kind, unknown;
	uint32_t entry_size;
	uint64_t payload_size;
	uint32_t compressed_size, options;
	uint16_t minor, major;
	uint32_t arch, name_off, name_len;
	uint64_t flags, zero, uncompressed_size;
	char text[(sizeof ptx + 7) & ~7ul];
} image = {
	.magic = 0xba55ed50u, .version = 1, .header_size = 16, .size = sizeof image - 16, .kind = 1, .unknown = 0x101, .entry_size = 64,
	.payload_size = sizeof image.text, .minor = 4, .major = 6, .arch = 61, .flags = 0x11,
};
static void **handle;
static uint32_t *counter_pointer;
static char bump_stub;

static void by_runtime(void)
{
	uint32_t by = 5, read = 0, *address = NULL;
	void *args[] = { &by };
	dim3 one = { 1, 1, 1 }, block = { 10, 1, 1 };

	memcpy(image.text, ptx, sizeof ptx);
	wrapper.data = &image;
	handle = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(handle, &bump_stub, (char *)"bump", "bump", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterManagedVar(handle, (void **)&counter_pointer, (char *)"counter", "counter", 0, 4, 0, 0);
	__cudaRegisterFatBinaryEnd(handle);
	EXPECT(__cudaInitModule(handle));
	EXPECT(counter_pointer);
	if (!counter_pointer)
		return;
	EXPECT_EQ(*counter_pointer, 40);
	*counter_pointer = 100;
	EXPECT_EQ(cudaLaunchKernel(&bump_stub, one, block, args, 0, NULL), cudaSuccess);
	EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
	EXPECT_EQ(*(volatile uint32_t *)counter_pointer, 150);
	EXPECT_EQ(cudaGetSymbolAddress((void **)&address, &counter_pointer), cudaSuccess);
	EXPECT(address == counter_pointer);
	EXPECT_EQ(cudaMemcpyFromSymbol(&read, &counter_pointer, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT_EQ(read, 150);
	__cudaUnregisterFatBinary(handle);
}

int main(void)
{
	CUcontext ctx = drv_start("managed_vars");

	by_driver();
	CK(cuCtxDestroy(ctx));
	by_runtime();
	return e2e_end("driver API, and as nvcc %d's host code", CUDART_VERSION / 1000);
}
