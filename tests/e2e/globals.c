/* SPDX-License-Identifier: MIT */
/*
 * Module globals and constants: initial values, sizes, writing and reading them; two loads of one module
 * have separate ones. And kernel parameters of every size and alignment.
 */
#include "drv.h"

E2E_PTX(misc);

struct mixed {
	char c;
	short s;
	double d;
	int arr[5];
	unsigned char tail[3];
};

static void check_params(CUmodule mod)
{
	unsigned char a = 200;
	unsigned short b = 60000;
	unsigned c = 4000000000u;
	unsigned long long d = 1ull << 40;
	float e = 0.25f;
	double f = -1e6, want, got = 0;
	struct mixed g = { -5, -3000, 1.5, { 1, -2, 3, -4, 500000 }, { 9, 255, 1 } };
	CUdeviceptr out = drv_alloc(8);

	want = (double)a + b + c + (double)d + (double)e + f + g.c + g.s + g.d + 499998.0 + 265.0;
	LAUNCH(drv_kernel(mod, "params"), 1, 1, 0, NULL, &a, &b, &c, &d, &e, &f, &g, &out);
	CK(cuMemcpyDtoH(&got, out, 8));
	if (got != want)
		e2e_fail("parameters add up to %.17g, want %.17g", got, want);
	CK(cuMemFree(out));
}

/* Beyond a variable there is nothing that a copy or a fill may touch: an error of the call, and the context lives. */
static void bounds(CUdeviceptr at, size_t bytes)
{
	static char host[1 << 16];

	if (bytes >= sizeof host)
		return;
	CK(cuMemcpyDtoH(host, at, bytes));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, at, bytes + 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(at + 1, host, bytes));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 0, (size_t)1 << 30));
	CK(cuCtxSynchronize());
}

int main(void)
{
	CUcontext ctx = drv_start("globals");
	CUmodule mod = drv_module(ptx_misc), twin = drv_module(ptx_misc);
	CUdeviceptr counter, other, table, scratch, coeff, out = drv_alloc(1000 * 4);
	int got[1000], want[1000], value, c[4] = { 2, 20, 200, 2000 };
	float t[5], init[5] = { 1, 2, 4, 8, 16 }, set[5] = { 5, 6, 7, 8, 9 };
	unsigned char bytes[1000];
	size_t size;

	CK(cuModuleGetGlobal(&counter, &size, mod, "counter"));
	EXPECT_EQ(size, 4);
	CK(cuModuleGetGlobal(&table, &size, mod, "table"));
	EXPECT_EQ(size, 20);
	CK(cuModuleGetGlobal(&scratch, &size, mod, "scratch"));
	bounds(scratch, size);
	EXPECT_EQ(size, 1000);
	CK(cuModuleGetGlobal(&coeff, NULL, mod, "coeff"));
	CK(cuModuleGetGlobal(&other, NULL, twin, "counter"));
	EXPECT(other != counter);
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&other, NULL, mod, "no_such_symbol"));
	CK(cuModuleGetGlobal(&other, NULL, twin, "counter"));

	CK(cuMemcpyDtoH(t, table, sizeof t));
	e2e_same_f32("initial table", t, init, 5);
	CK(cuMemcpyDtoH(bytes, scratch, sizeof bytes));
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(bytes[i], 0);

	for (int round = 0; round < 2; round++) {
		LAUNCH(drv_kernel(mod, "use_globals"), 1, 1000, 0, NULL, &out);
		CK(cuMemcpyDtoH(got, out, sizeof got));
		for (int i = 0; i < 1000; i++) {
			int k = round ? c[i % 4] : (int[]){ 1, 10, 100, 1000 }[i % 4];

			want[i] = (int)(round ? set : init)[i % 5] + k;
		}
		e2e_same_u32(round ? "changed globals" : "globals", (uint32_t *)got, (uint32_t *)want, 1000);
		CK(cuMemcpyHtoD(table, set, sizeof set));
		CK(cuMemcpyHtoD(coeff, c, sizeof c));
	}
	CK(cuMemcpyDtoH(&value, counter, 4));
	EXPECT_EQ(value, 44);
	CK(cuMemcpyDtoH(&value, other, 4));
	EXPECT_EQ(value, 40);
	CK(cuMemcpyDtoH(bytes, scratch, sizeof bytes));
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(bytes[i], (unsigned char)(i ^ 0x5a));
	check_params(mod);
	CK(cuModuleUnload(mod));
	CK(cuModuleUnload(twin));
	CK(cuMemFree(out));
	CK(cuCtxDestroy(ctx));
	return e2e_end("4 symbols, 2 instances; 8 parameters");
}
