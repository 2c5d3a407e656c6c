/* SPDX-License-Identifier: MIT */
/* Histogram with shared and global atomics; maximum, minimum, or, compare-and-swap, float and 64-bit atomics. */
#include "drv.h"

E2E_PTX(hist);

static void check_histogram(CUfunction f, int n, unsigned grid, unsigned block)
{
	unsigned char *in = e2e_malloc(n);
	uint32_t bins[256], want[256] = { 0 }, seed = 1 + n;
	CUdeviceptr din, dbins;

	for (int i = 0; i < n; i++) {
		/* Skewed: many threads hit the same bin. */
		in[i] = (unsigned char)(e2e_rand(&seed) & e2e_rand(&seed) & 0xff);
		want[in[i]]++;
	}
	din = drv_upload(in, n);
	dbins = drv_alloc(sizeof bins);
	CK(cuMemsetD8(dbins, 0, sizeof bins));
	LAUNCH(f, grid, block, 0, NULL, &din, &dbins, &n);
	CK(cuMemcpyDtoH(bins, dbins, sizeof bins));
	e2e_same_u32("bin", bins, want, 256);
	CK(cuMemFree(din));
	CK(cuMemFree(dbins));
	free(in);
}

static void check_atomics(CUfunction f, int n)
{
	uint32_t *in = e2e_malloc(n * 4), r[4] = { 0x80000000u, 0xffffffffu, 0, 5 }, got[4], seed = 77;
	CUdeviceptr din, dr = drv_upload(r, sizeof r), df = drv_alloc(4), dw = drv_alloc(8);
	uint64_t w = 0, got_w;
	float sum = 0, got_f;

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		r[0] = (int32_t)in[i] > (int32_t)r[0] ? in[i] : r[0];
		r[1] = in[i] < r[1] ? in[i] : r[1];
		r[2] |= in[i] & 0x0f0f0f0fu;
		r[3] += in[i] & 255;
		sum += (float)(in[i] & 7);
		w += (uint64_t)in[i] << 16;
	}
	din = drv_upload(in, n * 4);
	CK(cuMemsetD32(df, 0, 1));
	CK(cuMemsetD32(dw, 0, 2));
	LAUNCH(f, (n + 95) / 96, 96, 0, NULL, &din, &dr, &df, &dw, &n);
	CK(cuMemcpyDtoH(got, dr, sizeof got));
	CK(cuMemcpyDtoH(&got_f, df, 4));
	CK(cuMemcpyDtoH(&got_w, dw, 8));
	e2e_same_u32("max/min/or/cas", got, r, 4);
	e2e_same_f32("float sum", &got_f, &sum, 1);
	EXPECT(got_w == w);
	CK(cuMemFree(din));
	CK(cuMemFree(dr));
	CK(cuMemFree(df));
	CK(cuMemFree(dw));
	free(in);
}

int main(void)
{
	CUcontext ctx = drv_start("hist");
	CUmodule mod = drv_module(ptx_hist);
	CUfunction f = drv_kernel(mod, "histogram");

	check_histogram(f, 1, 1, 32);
	check_histogram(f, 10007, 5, 128);
	check_histogram(f, 65537, 8, 250);
	check_atomics(drv_kernel(mod, "atomics"), 2003);
	CK(cuCtxDestroy(ctx));
	return e2e_end("65537 bytes, 8 blocks; 6 kinds of atomics");
}
