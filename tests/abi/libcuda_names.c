/* SPDX-License-Identifier: MIT */
/*
 * Asks libcuda.so.1 for every name of tests/abi/libcuda.txt (on stdin) by dlsym and by cuGetProcAddress, and
 * then for what must not be found. Compiled and run by test_libcuda_names.sh; needs no agent.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*get_proc)(const char *, void **, int, unsigned long long, int *);

static int failed;
#define CHECK(x, ...) \
	do { \
		if (!(x)) { \
			failed++; \
			printf(__VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

/* Base name and kind of default stream of an exported name. */
static int split(const char *name, char *base)
{
	int per_thread = 0;
	size_t n;

	strcpy(base, name);
	n = strlen(base);
	if (n > 5 && (!strcmp(base + n - 5, "_ptsz") || !strcmp(base + n - 5, "_ptds"))) {
		base[n -= 5] = 0;
		per_thread = 1;
	}
	if (n > 3 && base[n - 3] == '_' && base[n - 2] == 'v' && base[n - 1] >= '2' && base[n - 1] <= '9')
		base[n - 3] = 0;
	return per_thread;
}

int main(int argc, char **argv)
{
	void *lib = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *fn;
	char name[128], base[128];
	unsigned n = 0, unsupported = 0;
	int (*init)(unsigned), status;
	get_proc get, old;

	if (!lib) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	*(void **)&old = dlsym(lib, "cuGetProcAddress");
	*(void **)&init = dlsym(lib, "cuInit");
	if (!get || !old || !init)
		return 1;
	while (scanf("%127s", name) == 1) {
		int per_thread = split(name, base);

		n++;
		CHECK(dlsym(lib, name), "%s: not exported", name);
		fn = NULL;
		status = -1;
		CHECK(get(base, &fn, 13010, per_thread ? 2 : 0, &status) == 0 && fn && status == 0,
		      "%s: no entry point (status %d)", base, status);
		fn = NULL;
		CHECK(get(base, &fn, 13010, 0, NULL) == 0 && fn, "%s: NULL status is not taken", base);
		if (strcmp(name, base))
			CHECK(get(name, &fn, 13010, 0, NULL) == 0 && fn == dlsym(lib, name), "%s: full name", name);
	}
	/* Versions choose signatures. */
	CHECK(!get("cuMemAlloc", &fn, 3020, 0, &status) && fn == dlsym(lib, "cuMemAlloc_v2"), "cuMemAlloc 3020");
	CHECK(!get("cuCtxCreate", &fn, 13010, 0, &status) && fn == dlsym(lib, "cuCtxCreate_v4"), "cuCtxCreate 13010");
	CHECK(!get("cuCtxCreate", &fn, 12000, 0, &status) && fn == dlsym(lib, "cuCtxCreate_v3"), "cuCtxCreate 12000");
	CHECK(!get("cuCtxCreate", &fn, 3020, 0, &status) && fn == dlsym(lib, "cuCtxCreate_v2"), "cuCtxCreate 3020");
	CHECK(!get("cuStreamGetCaptureInfo", &fn, 12030, 2, &status) &&
	      fn == dlsym(lib, "cuStreamGetCaptureInfo_v3_ptsz"), "cuStreamGetCaptureInfo 12030");
	CHECK(!get("cuLaunchKernel", &fn, 7000, 2, &status) && fn == dlsym(lib, "cuLaunchKernel_ptsz"), "cuLaunchKernel 2");
	CHECK(!get("cuLaunchKernel", &fn, 7000, 1, &status) && fn == dlsym(lib, "cuLaunchKernel"), "cuLaunchKernel 1");
	/* What is not there is said, and the pointer is NULL. */
	fn = lib;
	CHECK(!get("cuCtxCreate", &fn, 1000, 0, &status) && !fn && status == 2, "too old a version: %d", status);
	fn = lib;
	CHECK(!get("cuNoSuchCall", &fn, 13010, 0, &status) && !fn && status == 1, "unknown name: %d", status);
	fn = lib;
	CHECK(!get("", &fn, 13010, 0, &status) && !fn && status == 1, "empty name: %d", status);
	CHECK(get("cuInit", &fn, 99999, 0, &status) == 1, "a version beyond the driver's");
	CHECK(get(NULL, &fn, 13010, 0, &status) == 1 && get("cuInit", NULL, 13010, 0, &status) == 1, "NULL arguments");
	CHECK(old("cuNoSuchCall", &fn, 13010, 0, NULL) == 500, "the first form answers NOT_FOUND");
	/* Before cuInit every call says so, and a call nobody wrote says what it is. */
	{
		int (*count)(int *), c = 7, (*graph)(void *, unsigned);

		*(void **)&count = dlsym(lib, "cuDeviceGetCount");
		CHECK(count(&c) == 3 && c == 7, "cuDeviceGetCount before cuInit");
		*(void **)&graph = dlsym(lib, "cuCheckpointProcessLock");
		unsupported = (unsigned)graph(NULL, 0);
		CHECK(unsupported == 801, "cuCheckpointProcessLock: %u", unsupported);
		CHECK(init(1) == 1, "cuInit with flags");
	}
	if (!failed)
		printf("%u names\n", n);
	return failed != 0;
}
