/* SPDX-License-Identifier: MIT */
/*
 * cuGetProcAddress: the right variant for each version and stream flag, NULL where symbolStatus is
 * not wanted, and the three ways not to find something.
 */
#include "drv.h"

#include <stdlib.h>

/* cuda.h may map the plain names to versioned ones; this file means what it writes. */
#undef cuGetProcAddress
#undef cuGetProcAddress_v2
extern CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status);

struct row {
	const char *symbol;
	int version;
	cuuint64_t flags;
	const char *want;	/* exported name that must come, "" for none */
	CUdriverProcAddressQueryResult status;
};

#define OK_ CU_GET_PROC_ADDRESS_SUCCESS
#define NONE_ CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
#define OLD_ CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
#define LEGACY_ CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define PTDS_ CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static const struct row rows[] = {
	{ "cuInit", 2000, 0, "cuInit", OK_ },
	{ "cuInit", 13000, PTDS_, "cuInit", OK_ },
	{ "cuMemAlloc", 2000, 0, "cuMemAlloc", OK_ },
	{ "cuMemAlloc", 3010, 0, "cuMemAlloc", OK_ },
	{ "cuMemAlloc", 3020, 0, "cuMemAlloc_v2", OK_ },
	{ "cuMemAlloc", 12040, LEGACY_, "cuMemAlloc_v2", OK_ },
	{ "cuCtxCreate", 2000, 0, "cuCtxCreate", OK_ },
	{ "cuCtxCreate", 11030, 0, "cuCtxCreate_v2", OK_ },
	{ "cuCtxCreate", 11040, 0, "cuCtxCreate_v3", OK_ },
	{ "cuCtxCreate", 12050, 0, "cuCtxCreate_v4", OK_ },
	{ "cuStreamSynchronize", 12000, LEGACY_, "cuStreamSynchronize", OK_ },
	{ "cuStreamSynchronize", 12000, PTDS_, "cuStreamSynchronize_ptsz", OK_ },
	{ "cuMemcpyHtoD", 12000, 0, "cuMemcpyHtoD_v2", OK_ },
	{ "cuMemcpyHtoD", 12000, PTDS_, "cuMemcpyHtoD_v2_ptds", OK_ },
	{ "cuLaunchKernel", 12000, PTDS_, "cuLaunchKernel_ptsz", OK_ },
	{ "cuEventRecord", 7000, PTDS_, "cuEventRecord_ptsz", OK_ },
	{ "cuGetProcAddress", 11030, 0, "cuGetProcAddress", OK_ },
	{ "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", OK_ },
	{ "cuGraphInstantiateWithParams", 12000, 0, "cuGraphInstantiateWithParams", OK_ },
	{ "cuGraphLaunch", 10000, PTDS_, "cuGraphLaunch_ptsz", OK_ },
	{ "cuGraphKernelNodeGetParams", 11080, 0, "cuGraphKernelNodeGetParams", OK_ },
	{ "cuGraphKernelNodeGetParams", 12000, 0, "cuGraphKernelNodeGetParams_v2", OK_ },
	{ "cuStreamBeginCapture", 10010, LEGACY_, "cuStreamBeginCapture_v2", OK_ },
	/* Not implemented, but there: the caller hears NOT_SUPPORTED when it calls. */
	{ "cuGraphConditionalHandleCreate", 12030, 0, "cuGraphConditionalHandleCreate", OK_ },
	{ "cuLibraryLoadData", 11080, 0, "", OLD_ },
	{ "cuMemAllocAsync", 10000, 0, "", OLD_ },
	{ "cuNoSuchFunction", 13000, 0, "", NONE_ },
	{ "cuInitialise", 13000, 0, "", NONE_ },
};

/*
 * The exported symbols above without dlsym, which static programs have not: C names of our own for
 * the linker's names, so that no macro of cuda.h touches them. Never called.
 */
struct export { const char *name; void *at; };
#define E(n) extern CUresult n##_e2e(void) __asm__(#n)
E(cuInit); E(cuMemAlloc); E(cuMemAlloc_v2); E(cuCtxCreate); E(cuCtxCreate_v2); E(cuCtxCreate_v3);
E(cuCtxCreate_v4); E(cuStreamSynchronize); E(cuStreamSynchronize_ptsz); E(cuMemcpyHtoD_v2);
E(cuMemcpyHtoD_v2_ptds); E(cuLaunchKernel_ptsz); E(cuEventRecord_ptsz); E(cuGetProcAddress);
E(cuGetProcAddress_v2); E(cuGraphInstantiateWithParams);
E(cuGraphLaunch_ptsz); E(cuGraphKernelNodeGetParams); E(cuGraphKernelNodeGetParams_v2); E(cuStreamBeginCapture_v2);
E(cuGraphConditionalHandleCreate);
#undef E

int main(void)
{
#define E(n) { #n, (void *)n##_e2e }
	const struct export exports[] = {
		E(cuInit), E(cuMemAlloc), E(cuMemAlloc_v2), E(cuCtxCreate), E(cuCtxCreate_v2),
		E(cuCtxCreate_v3), E(cuCtxCreate_v4), E(cuStreamSynchronize), E(cuStreamSynchronize_ptsz),
		E(cuMemcpyHtoD_v2), E(cuMemcpyHtoD_v2_ptds), E(cuLaunchKernel_ptsz), E(cuEventRecord_ptsz),
		E(cuGetProcAddress), E(cuGetProcAddress_v2), E(cuGraphInstantiateWithParams),
		E(cuGraphLaunch_ptsz), E(cuGraphKernelNodeGetParams), E(cuGraphKernelNodeGetParams_v2),
		E(cuStreamBeginCapture_v2), E(cuGraphConditionalHandleCreate),
	};
#undef E
	static const struct { const char *text; int answer; } asked[] = {
		{ "13.4", 13040 }, { "13.5", 13050 }, { "13.2", 13020 }, { "13.1", 13010 }, { "12.8", 13010 }, { "13.6", 13010 }, { "14.0", 13010 },
		{ "13", 13010 }, { "13.4x", 13010 }, { "13.", 13010 }, { "", 13010 }, { "new", 13010 },
	};
	const unsigned n_rows = sizeof rows / sizeof rows[0];
	CUresult (*get_v1)(const char *, void **, int, cuuint64_t);
	CUdriverProcAddressQueryResult status;
	CUresult (*version)(int *);
	void *fn, *same;
	int v = 0;

	/* Works before cuInit: a runtime asks for cuInit itself this way. */
	e2e_begin("procaddr");
	for (unsigned i = 0; i < n_rows; i++) {
		const struct row *r = &rows[i];
		void *want = NULL;

		for (unsigned k = 0; k < sizeof exports / sizeof exports[0]; k++)
			if (!strcmp(exports[k].name, r->want))
				want = exports[k].at;
		fn = same = (void *)&v;
		status = (CUdriverProcAddressQueryResult)99;
		if (cuGetProcAddress_v2(r->symbol, &fn, r->version, r->flags, &status) != CUDA_SUCCESS)
			e2e_fail("%s %d: no success", r->symbol, r->version);
		if (fn != want || status != r->status)
			e2e_fail("%s, version %d, flags %d: %p status %d, want %s (%p) status %d", r->symbol,
				r->version, (int)r->flags, fn, (int)status, r->want, want, (int)r->status);
		/* Without a place for the status. */
		cuGetProcAddress_v2(r->symbol, &same, r->version, r->flags, NULL);
		EXPECT(same == fn);
	}
	CK(cuGetProcAddress_v2("cuGetProcAddress", &fn, 11030, 0, NULL));
	*(void **)&get_v1 = fn;
	CK(get_v1("cuDriverGetVersion", &fn, 11030, 0));
	*(void **)&version = fn;
	CK(version(&v));
	EXPECT(v >= 13010);
	/* the version that the environment asks for, if its names are here; anything else asks for nothing */
	for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		int answer = asked[i].answer;

		setenv("VGPU_CUDA_VERSION", asked[i].text, 1);
		CK(version(&v));
		if (v != answer)
			e2e_fail("VGPU_CUDA_VERSION=%s: %d", asked[i].text, v);
		CK(cuGetProcAddress_v2("cuInit", &fn, answer, 0, NULL));
		WANT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &fn, answer + 1, 0, NULL));
	}
	unsetenv("VGPU_CUDA_VERSION");
	CK(version(&v));
	EXPECT(v == 13010);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", NULL, 12000, 0, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &fn, 12000, 0, NULL));
	return e2e_end("%u requests", n_rows);
}
