/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench launch: what a launch costs its caller, and the way there and back.
 *
 * The client is a plain program: it finds libcuda.so.1 by dlopen and calls the public driver API;
 * no path of the library exists for it alone. Floors come from the same run (bench_floor.c).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_ring.h"
#include "../../libcuda-lite/include/cuda.h"
#include "bench.h"
#include "vgpu.h"

#define API(X) \
	X(cuInit, (unsigned)) X(cuDeviceGet, (CUdevice *, int)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) X(cuCtxSetCurrent, (CUcontext)) \
	X(cuCtxSynchronize, (void)) X(cuModuleLoadData, (CUmodule *, const void *)) \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
	X(cuStreamCreate, (CUstream *, unsigned)) X(cuStreamSynchronize, (CUstream)) \
	X(cuEventCreate, (CUevent *, unsigned)) X(cuEventRecord, (CUevent, CUstream)) \
	X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, CUstream, void **, void **)) \
	X(cuGetErrorName, (CUresult, const char **))

static struct {
#define FIELD(name, args) CUresult (*name) args;
	API(FIELD)
#undef FIELD
} cu;

static const unsigned param_counts[] = { 0, 4, 16, 64 };
#define NKERNELS (sizeof(param_counts) / sizeof(param_counts[0]))
#define BURST 128               /* well below a stream's credits */
#define BURSTS 400
#define SYNCS 2000

struct result {
	struct floors floor;
	struct hist submit[NKERNELS], sync, complete, event;
	double launches_per_s, empty_loop;
};

static int load_api(void)
{
	char path[PATH_MAX];
	void *lib = NULL;

	if (!tool_path(path, sizeof(path), "lib", "libcuda.so.1"))
		lib = dlopen(path, RTLD_NOW);
	if (!lib)
		lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		complain("bench: %s", dlerror());
		return -1;
	}
#define LOAD(name, args) \
	*(void **)&cu.name = dlsym(lib, #name); \
	if (!cu.name) { \
		complain("bench: libcuda.so.1 lacks " #name); \
		return -1; \
	}
	API(LOAD)
#undef LOAD
	return 0;
}

#define TRY(call) do { \
	CUresult r_ = (call); \
	if (r_ != CUDA_SUCCESS) { \
		const char *n_ = "?"; \
		cu.cuGetErrorName(r_, &n_); \
		complain("bench: " #call ": %s", n_); \
		return -1; \
	} \
} while (0)

/* Kernels that do nothing but take their parameters. */
static char *empty_kernels(void)
{
	size_t bytes = 16384, n = 0;
	char *p = malloc(bytes);

	if (!p)
		return NULL;
	n += (size_t)snprintf(p + n, bytes - n, ".version 6.0\n.target sm_50\n.address_size 64\n");
	for (size_t k = 0; k < NKERNELS; k++) {
		n += (size_t)snprintf(p + n, bytes - n, ".visible .entry empty%u(", param_counts[k]);
		for (unsigned i = 0; i < param_counts[k]; i++)
			n += (size_t)snprintf(p + n, bytes - n, "%s.param .u64 p%u_%u", i ? ", " : "", param_counts[k], i);
		n += (size_t)snprintf(p + n, bytes - n, ")\n{\n\tret;\n}\n");
	}
	return p;
}

static int measure(struct result *r)
{
	uint64_t values[64] = { 0 }, t0, t1;
	void *params[64];
	CUfunction fn[NKERNELS];
	CUmodule mod;
	CUcontext ctx;
	CUdevice dev;
	CUstream s;
	CUevent ev;
	double ghz = tsc_ghz();
	char *ptx = empty_kernels();

	for (int i = 0; i < 64; i++)
		params[i] = &values[i];
	TRY(cu.cuInit(0));
	TRY(cu.cuDeviceGet(&dev, 0));
	TRY(cu.cuDevicePrimaryCtxRetain(&ctx, dev));
	TRY(cu.cuCtxSetCurrent(ctx));
	TRY(cu.cuModuleLoadData(&mod, ptx));
	TRY(cu.cuStreamCreate(&s, 1));
	TRY(cu.cuEventCreate(&ev, 2));
	free(ptx);
	for (size_t k = 0; k < NKERNELS; k++) {
		char name[16];

		snprintf(name, sizeof(name), "empty%u", param_counts[k]);
		TRY(cu.cuModuleGetFunction(&fn[k], mod, name));
		TRY(cu.cuLaunchKernel(fn[k], 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	}
	TRY(cu.cuCtxSynchronize());
	pin_to(0);      /* the agent keeps to the last CPU by default */

	t0 = tsc();
	for (volatile int i = 0; i < 100000; i++)
		;
	r->empty_loop = (double)(tsc() - t0) / ghz / 100000;

	for (size_t k = 0; k < NKERNELS; k++) {
		/* at most half the queue: the cost of a submission, not of waiting for room */
		int room = (int)(VGPU_IOQ_SLOTS / 2 / (1 + vgpu_payload_slots(param_counts[k] * 8)));
		int burst = room < BURST ? room : BURST;

		for (int b = 0; b < BURSTS; b++) {
			t0 = tsc();
			for (int i = 0; i < burst; i++)
				cu.cuLaunchKernel(fn[k], 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
			t1 = tsc();
			hist_add(&r->submit[k], (double)(t1 - t0) / ghz / burst);
			TRY(cu.cuStreamSynchronize(s));
		}
	}
	for (int i = 0; i < SYNCS; i++) {
		t0 = tsc();
		cu.cuLaunchKernel(fn[1], 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
		t1 = tsc();
		TRY(cu.cuStreamSynchronize(s));
		hist_add(&r->sync, (double)(tsc() - t0) / ghz);
		hist_add(&r->complete, (double)(tsc() - t1) / ghz);
	}
	for (int i = 0; i < 20000; i++) {
		t0 = tsc();
		cu.cuEventRecord(ev, s);
		hist_add(&r->event, (double)(tsc() - t0) / ghz);
	}
	t0 = tsc();
	for (int i = 0; i < 100000; i++)
		cu.cuLaunchKernel(fn[1], 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
	TRY(cu.cuStreamSynchronize(s));
	r->launches_per_s = 100000 / ((double)(tsc() - t0) / ghz) * 1e9;
	return 0;
}

static void row(const char *name, const struct hist *h)
{
	printf("  %-42s %9.0f %9.0f %9.0f\n", name, hist_quantile(h, 0.5), hist_quantile(h, 0.99),
	       hist_quantile(h, 0.999));
}

static void print_table(const struct result *r)
{
	char name[64];

	printf("launch latency, ns (%d CPUs, TSC %.2f GHz, clock read %.0f ns, empty loop %.1f ns)\n",
	       cpus_online(), tsc_ghz(), r->floor.clock, r->empty_loop);
	printf("  %-42s %9s %9s %9s\n", "", "median", "p99", "p99.9");
	printf("  %-42s %9.0f\n", "floor: cache line there and back", r->floor.line);
	printf("  %-42s %9.0f\n", "floor: ring push, one 64-byte slot", r->floor.push1);
	printf("  %-42s %9.0f\n", "floor: ring push, two slots", r->floor.push2);
	printf("  %-42s %9.0f\n", "peer:  UNIX socket there and back", r->floor.unix_rtt);
	for (size_t k = 0; k < NKERNELS; k++) {
		snprintf(name, sizeof(name), "cuLaunchKernel, %u parameters, submit only", param_counts[k]);
		row(name, &r->submit[k]);
	}
	row("cuEventRecord", &r->event);
	row("cuLaunchKernel + cuStreamSynchronize", &r->sync);
	row("  of that: cuStreamSynchronize", &r->complete);
	printf("  %-42s %9.3f M/s\n", "launches through the whole chain", r->launches_per_s / 1e6);
}

static void print_json(const struct result *r)
{
	struct json j = { .out = stdout };

	json_open(&j, NULL, '{');
	json_u64(&j, "cpus", (uint64_t)cpus_online());
	json_f(&j, "tsc_ghz", tsc_ghz());
	json_f(&j, "clock_ns", r->floor.clock);
	json_f(&j, "line_ns", r->floor.line);
	json_f(&j, "push_ns", r->floor.push1);
	json_f(&j, "push2_ns", r->floor.push2);
	json_f(&j, "unix_ns", r->floor.unix_rtt);
	for (size_t k = 0; k < NKERNELS; k++) {
		char key[32];

		if (param_counts[k] == 4)
			strcpy(key, "submit_ns");
		else
			snprintf(key, sizeof(key), "submit%u_ns", param_counts[k]);
		json_open(&j, key, '{');
		json_f(&j, "p50", hist_quantile(&r->submit[k], 0.5));
		json_f(&j, "p99", hist_quantile(&r->submit[k], 0.99));
		json_close(&j, '}');
	}
	json_open(&j, "sync_ns", '{');
	json_f(&j, "p50", hist_quantile(&r->sync, 0.5));
	json_f(&j, "p99", hist_quantile(&r->sync, 0.99));
	json_close(&j, '}');
	json_f(&j, "event_ns", hist_quantile(&r->event, 0.5));
	json_f(&j, "submit_over_push", hist_quantile(&r->submit[1], 0.5) / r->floor.push2);
	json_f(&j, "sync_over_unix", hist_quantile(&r->sync, 0.5) / r->floor.unix_rtt);
	/* client, agent and device each want a CPU of their own before this ratio says anything */
	json_f(&j, "sync_over_line", cpus_online() >= 4 ? hist_quantile(&r->sync, 0.5) / r->floor.line : NAN);
	json_f(&j, "launch_per_s", r->launches_per_s);
	json_close(&j, '}');
}

int bench_launch(int argc, char **argv)
{
	struct private_gpu gpu = { .dir = "" };
	struct result *r = calloc(1, sizeof(*r));
	char buf[128];
	int json = 0, status = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-j")) {
			fputs("usage: vgpu bench launch [-j]\n", stderr);
			free(r);
			return 2;
		}
		json = 1;
	}
	if (!r || load_api())
		goto out;
	if (!agent_find(buf, sizeof(buf))) {
		if (private_start(&gpu, NULL, 0))
			goto out;
		setenv("VGPU_AGENT", gpu.agent, 1);
	}
	measure_floors(&r->floor);
	if (measure(r))
		goto out;
	if (json)
		print_json(r);
	else
		print_table(r);
	status = 0;
out:
	private_stop(&gpu);
	free(r);
	return status;
}
