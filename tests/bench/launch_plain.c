/* SPDX-License-Identifier: MIT */
/*
 * launch_plain [-j]: what a launch costs its caller, measured by a plain C program that knows nothing but <cuda.h> and
 * clock_gettime(). `vgpu bench launch -j` has the same keys; tests/bench/plain.sh runs both and compares.
 *
 * No histogram, no TSC, no pinning but the first CPU: bursts are timed as a whole and sorted. A burst holds at most
 * half of a queue of 1,024 64-byte records, so that the figure is a submission and not a wait for room; one launch goes
 * before it, so that it is not a wake-up either.
 *
 * A benchmark, not a test: it fails only when a call does.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BURSTS 400
#define SYNCS 3000
#define STREAMED 200000

static void check(CUresult r, const char *what)
{
	const char *name = "?";

	if (r == CUDA_SUCCESS)
		return;
	cuGetErrorName(r, &name);
	fprintf(stderr, "launch_plain: %s: %s\n", what, name);
	exit(1);
}
#define CHECK(call) check(call, #call)

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *v, int n, double q)
{
	qsort(v, (size_t)n, sizeof(*v), less);
	return v[(int)(q * (n - 1))];
}

/* .entry kN(N parameters of 64 bits): returns at once. */
static CUfunction kernel(unsigned params)
{
	char ptx[8192];
	size_t n = (size_t)snprintf(ptx, sizeof(ptx), ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k(");
	CUmodule mod;
	CUfunction fn;

	for (unsigned i = 0; i < params; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, "%s.param .u64 p%u", i ? ", " : "", i);
	snprintf(ptx + n, sizeof(ptx) - n, ")\n{\n\tret;\n}\n");
	CHECK(cuModuleLoadData(&mod, ptx));
	CHECK(cuModuleGetFunction(&fn, mod, "k"));
	return fn;
}

static unsigned long long values[64];
static void *params[64];

static void launch(CUfunction fn, CUstream s)
{
	CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

/* ns a launch, the bursts' medians and 99th percentiles. */
static void submit(unsigned count, CUstream s, double *p50, double *p99)
{
	static double v[BURSTS];
	unsigned slots = 1 + (count * 8 + 55) / 56;
	int room = 512 / (int)slots - 1, burst = room < 192 ? room : 192;
	CUfunction fn = kernel(count);

	launch(fn, s);
	CHECK(cuStreamSynchronize(s));
	for (int b = 0; b < BURSTS; b++) {
		double t0;

		launch(fn, s);
		t0 = now_ns();
		for (int i = 0; i < burst; i++)
			launch(fn, s);
		v[b] = (now_ns() - t0) / burst;
		CHECK(cuStreamSynchronize(s));
	}
	*p50 = quantile(v, BURSTS, 0.5);
	*p99 = quantile(v, BURSTS, 0.99);
}

int main(int argc, char **argv)
{
	static const unsigned counts[] = { 0, 4, 16, 64 };
	static double v[SYNCS];
	int json = argc > 1 && !strcmp(argv[1], "-j");
	double p50, p99, t0, rate;
	CUfunction fn;
	CUstream s;
	CUcontext ctx;
	CUdevice dev;
	cpu_set_t cpu;

	if (argc > 1 && !json) {
		fputs("usage: launch_plain [-j]\n", stderr);
		return 2;
	}
	for (int i = 0; i < 64; i++)
		params[i] = &values[i];
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	printf(json ? "{" : "plain C program, ns            median      p99\n");
	for (int k = 0; k < 4; k++) {
		submit(counts[k], s, &p50, &p99);
		if (json && counts[k] == 4)
			printf("\"submit_ns\":{\"p50\":%.1f,\"p99\":%.1f},", p50, p99);
		else if (json)
			printf("\"submit%u_ns\":{\"p50\":%.1f,\"p99\":%.1f},", counts[k], p50, p99);
		else
			printf("  launch, %2u parameters   %10.1f %8.1f\n", counts[k], p50, p99);
	}
	fn = kernel(4);
	for (int i = 0; i < SYNCS; i++) {
		t0 = now_ns();
		launch(fn, s);
		CHECK(cuStreamSynchronize(s));
		v[i] = now_ns() - t0;
	}
	p50 = quantile(v, SYNCS, 0.5);
	p99 = quantile(v, SYNCS, 0.99);
	t0 = now_ns();
	for (int i = 0; i < STREAMED; i++)
		launch(fn, s);
	CHECK(cuStreamSynchronize(s));
	rate = STREAMED / (now_ns() - t0) * 1e9;
	if (json)
		printf("\"sync_ns\":{\"p50\":%.1f,\"p99\":%.1f},\"launch_per_s\":%.0f}\n", p50, p99, rate);
	else
		printf("  launch + synchronize    %10.1f %8.1f\n  launches a second       %10.0f\n", p50, p99, rate);
	return 0;
}
