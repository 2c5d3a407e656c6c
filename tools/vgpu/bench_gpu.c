/* SPDX-License-Identifier: MIT */
/* See bench_gpu.h. */
#define _GNU_SOURCE
#include "bench_gpu.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct cu_api cu;

static const unsigned counts[NPARAMS] = PARAM_COUNTS;
static uint64_t values[64];

/* Ours, beside this tool; else whatever the loader finds. */
static void *open_lib(const char *name)
{
	char path[PATH_MAX];
	void *lib = NULL;

	if (!tool_path(path, sizeof(path), "lib", name))
		lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	return lib ? lib : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

static int load_api(void)
{
	void *lib = open_lib("libcuda.so.1");

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
	CU_API(LOAD)
#undef LOAD
	return 0;
}

/* Kernels that do nothing but take their parameters. */
static const char *empty_kernels(void)
{
	static char p[16384];
	size_t n = 0;

	n += (size_t)snprintf(p + n, sizeof(p) - n, ".version 6.0\n.target sm_50\n.address_size 64\n");
	for (size_t k = 0; k < NPARAMS; k++) {
		n += (size_t)snprintf(p + n, sizeof(p) - n, ".visible .entry empty%u(", counts[k]);
		for (unsigned i = 0; i < counts[k]; i++)
			n += (size_t)snprintf(p + n, sizeof(p) - n, "%s.param .u64 p%u_%u", i ? ", " : "", counts[k], i);
		n += (size_t)snprintf(p + n, sizeof(p) - n, ")\n{\n\tret;\n}\n");
	}
	return p;
}

int gpu_open(struct gpu *g, unsigned ctx_flags)
{
	CUcontext ctx;
	CUmodule mod;

	if (load_api())
		return -1;
	for (int i = 0; i < 64; i++)
		g->params[i] = &values[i];
	TRY(cu.cuInit(0));
	TRY(cu.cuDeviceGet(&g->dev, 0));
	if (ctx_flags)
		TRY(cu.cuDevicePrimaryCtxSetFlags_v2(g->dev, ctx_flags));
	TRY(cu.cuDevicePrimaryCtxRetain(&ctx, g->dev));
	TRY(cu.cuCtxSetCurrent(ctx));
	TRY(cu.cuModuleLoadData(&mod, empty_kernels()));
	TRY(cu.cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING));
	for (size_t k = 0; k < NPARAMS; k++) {
		char name[16];

		snprintf(name, sizeof(name), "empty%u", counts[k]);
		TRY(cu.cuModuleGetFunction(&g->fn[k], mod, name));
		TRY(gpu_launch(g, g->fn[k], g->stream));
	}
	TRY(cu.cuCtxSynchronize());
	pin_to(cores()->client);
	return 0;
}

/* ---- libcudart, as compiled code uses it ------------------------------------------------------- */

struct dim3_arg {
	unsigned x, y, z;
};
static struct {
	void **(*register_binary)(void *wrapper);
	void (*register_end)(void **handle);
	void (*register_function)(void **handle, const char *stub, char *device_fn, const char *name, int limit, void *, void *,
				  void *, void *, int *);
	unsigned (*push)(struct dim3_arg grid, struct dim3_arg block, size_t shared, void *stream);
	int (*pop)(struct dim3_arg *grid, struct dim3_arg *block, size_t *shared, void **stream);
	int (*launch)(const void *stub, struct dim3_arg grid, struct dim3_arg block, void **args, size_t shared, void *stream);
} rt;

/* The stub: what the host "calls"; its address names the kernel. */
static int stub(void **args)
{
	struct dim3_arg grid, block;
	size_t shared;
	void *stream;

	if (rt.pop(&grid, &block, &shared, &stream))
		return -1;
	return rt.launch((const void *)(uintptr_t)stub, grid, block, args, shared, stream);
}

/* One PTX entry in NVIDIA's container: header, then the entry's own, then text with its NUL, padded to 8. */
static const void *fat_binary(void)
{
	static struct __attribute__((packed, aligned(8))) {
		uint32_t magic;
		uint16_t version, header_size;
		uint64_t size;
		struct __attribute__((packed)) {
			uint16_t kind, unknown;
			uint32_t header_size;
			uint64_t payload_size;
			uint32_t compressed_size, options;
			uint16_t minor, major;
			uint32_t arch, name_off, name_len;
			uint64_t flags, zero, uncompressed_size;
		} e;
		char text[512];
	} f = { .magic = 0xba55ed50u, .version = 1, .header_size = 16 };
	size_t n;

	n = (size_t)snprintf(f.text, sizeof(f.text), ".version 6.0\n.target sm_50\n.address_size 64\n"
			     ".visible .entry by_runtime(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n\tret;\n}\n");
	f.e.kind = 1;
	f.e.unknown = 0x101;
	f.e.header_size = sizeof(f.e);
	f.e.payload_size = (n + 8) & ~(size_t)7;
	f.e.major = 6;
	f.e.arch = 50;
	f.e.flags = 0x11;
	f.size = sizeof(f.e) + f.e.payload_size;
	return &f;
}

int cudart_open(void)
{
	static struct {
		uint32_t magic, version;
		const void *data;
		void *name;
	} wrapper = { 0x466243b1u, 1, NULL, NULL };
	void *lib = open_lib("libcudart.so.12");
	void **handle;

	if (!lib)
		return -1;
#define RT(field, name) \
	*(void **)&rt.field = dlsym(lib, name); \
	if (!rt.field) \
		return -1
	RT(register_binary, "__cudaRegisterFatBinary");
	RT(register_end, "__cudaRegisterFatBinaryEnd");
	RT(register_function, "__cudaRegisterFunction");
	RT(push, "__cudaPushCallConfiguration");
	RT(pop, "__cudaPopCallConfiguration");
	RT(launch, "cudaLaunchKernel");
#undef RT
	wrapper.data = fat_binary();
	handle = rt.register_binary(&wrapper);
	rt.register_function(handle, (const char *)(uintptr_t)stub, (char *)"by_runtime", "by_runtime", -1, NULL, NULL, NULL, NULL,
			     NULL);
	rt.register_end(handle);
	return 0;
}

int cudart_launch(struct gpu *g, CUstream stream)
{
	struct dim3_arg one = { 1, 1, 1 };

	return rt.push(one, one, 0, stream) ? -1 : stub(g->params);
}
