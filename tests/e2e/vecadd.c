/* SPDX-License-Identifier: MIT */
/*
 * Vector add, saxpy and the geometry registers, sizes that are no multiple of a block.
 *
 * With "loop SECONDS [PAUSE_US]" it repeats vecadd for that long, or until SIGTERM and a few rounds more, checking each result,
 * and prints how often: the honest client that the hostile-client tests run beside an attacker.
 */
#include "drv.h"

#include <signal.h>
#include <unistd.h>

E2E_PTX(vecadd);

static CUfunction f_vecadd, f_saxpy, f_geometry;

#define LAST_ROUNDS 100
static volatile sig_atomic_t asked_to_end;

static void end_soon(int sig)
{
	(void)sig;
	asked_to_end = 1;
}

/* kept, when not null: three buffers for n floats that live on, so that a round allocates nothing. */
static void check_vecadd(int n, unsigned block, uint32_t seed, const CUdeviceptr *kept)
{
	float *a = e2e_malloc(n * 4), *b = e2e_malloc(n * 4);
	float *c = e2e_malloc(n * 4), *want = e2e_malloc(n * 4);
	CUdeviceptr da, db, dc;

	for (int i = 0; i < n; i++) {
		a[i] = (float)(e2e_rand(&seed) >> 8) * 0.001f;
		b[i] = (float)(int)(e2e_rand(&seed) & 0xffff) - 32768.0f;
		want[i] = a[i] + b[i];
	}
	da = kept ? kept[0] : drv_alloc(n * 4);
	db = kept ? kept[1] : drv_alloc(n * 4);
	dc = kept ? kept[2] : drv_alloc(n * 4);
	CK(cuMemcpyHtoD(da, a, n * 4));
	CK(cuMemcpyHtoD(db, b, n * 4));
	LAUNCH(f_vecadd, (n + block - 1) / block, block, 0, NULL, &da, &db, &dc, &n);
	CK(cuMemcpyDtoH(c, dc, n * 4));
	e2e_same_f32("vecadd", c, want, n);
	if (!kept) {
		CK(cuMemFree(da));
		CK(cuMemFree(db));
		CK(cuMemFree(dc));
	}
	free(a);
	free(b);
	free(c);
	free(want);
}

/* A grid much smaller than n, and the same arguments as one packed buffer. */
static void check_saxpy(int n)
{
	float *x = e2e_malloc(n * 4), *y = e2e_malloc(n * 4), *want = e2e_malloc(n * 4);
	float alpha = 3.0f;
	uint32_t seed = 99;
	CUdeviceptr dx, dy;

	for (int i = 0; i < n; i++) {
		/* Integers: exact with and without a fused multiply-add. */
		x[i] = (float)(e2e_rand(&seed) & 0xfff);
		y[i] = (float)(e2e_rand(&seed) & 0xfff);
		want[i] = 9.0f * x[i] + 3.0f * x[i] + y[i];
	}
	dx = drv_upload(x, n * 4);
	dy = drv_upload(y, n * 4);
	LAUNCH(f_saxpy, 3, 96, 0, NULL, &alpha, &dx, &dy, &n);
	{
		struct { float alpha; CUdeviceptr x, y; int n; } packed = { 9.0f, dx, dy, n };
		size_t size = 28;
		void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };

		CK(cuLaunchKernel(f_saxpy, 2, 1, 1, 50, 1, 1, 0, NULL, NULL, extra));
	}
	CK(cuMemcpyDtoH(y, dy, n * 4));
	e2e_same_f32("saxpy", y, want, n);
	CK(cuMemFree(dx));
	CK(cuMemFree(dy));
	free(x);
	free(y);
	free(want);
}

static void check_geometry(void)
{
	enum { GX = 3, GY = 2, GZ = 2, BX = 5, BY = 3, BZ = 4, PER = BX * BY * BZ };
	enum { N = GX * GY * GZ * PER };
	static uint32_t out[N], want[N];
	CUdeviceptr d = drv_alloc(sizeof out);
	void *args[] = { &d };

	for (unsigned i = 0; i < N; i++)
		want[i] = (i / PER) << 16 | i % PER;
	CK(cuMemsetD32(d, 0xdeadbeef, N));
	CK(cuLaunchKernel(f_geometry, GX, GY, GZ, BX, BY, BZ, 0, NULL, args, NULL));
	CK(cuMemcpyDtoH(out, d, sizeof out));
	e2e_same_u32("geometry", out, want, N);
	CK(cuMemFree(d));
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1, 31, 33, 1000, 4097, 100003 };
	CUcontext ctx = drv_start("vecadd");
	CUmodule mod = drv_module(ptx_vecadd);
	unsigned rounds = 0;

	f_vecadd = drv_kernel(mod, "vecadd");
	f_saxpy = drv_kernel(mod, "saxpy");
	f_geometry = drv_kernel(mod, "geometry");
	if (argc >= 3 && !strcmp(argv[1], "loop")) {
		double end = e2e_now_s() + atof(argv[2]);
		useconds_t pause_us = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
		CUdeviceptr kept[3] = { drv_alloc(4400), drv_alloc(4400), drv_alloc(4400) };
		unsigned left = LAST_ROUNDS;

		signal(SIGTERM, end_soon);
		printf("running\n");
		do {
			check_vecadd(1000 + (int)(rounds % 77), 128, 1 + rounds, kept);
			if (pause_us && !asked_to_end)
				usleep(pause_us);
		} while (++rounds, !e2e_failures && e2e_now_s() < end && (!asked_to_end || left--));
		CK(cuCtxDestroy(ctx));
		return e2e_end("%u rounds", rounds);
	}
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		check_vecadd(sizes[i], i & 1 ? 256 : 100, 7 + i, NULL);
	check_saxpy(1237);
	check_geometry();
	CK(cuModuleUnload(mod));
	CK(cuCtxDestroy(ctx));
	return e2e_end("%d sizes up to %d, saxpy, 3D geometry", 6, sizes[5]);
}
