/* SPDX-License-Identifier: MIT */
/*
 * A bench's client: a plain program that finds libcuda.so.1 (and libcudart.so.12) by dlopen and calls the public API.
 * No path of the libraries exists for it alone. Used in the children that bench_rig.c starts.
 */
#ifndef VGPU_BENCH_GPU_H
#define VGPU_BENCH_GPU_H

#include "../../libcuda-lite/include/cuda.h"
#include "bench.h"

#define CU_API(X) \
	X(cuInit, (unsigned)) X(cuDeviceGet, (CUdevice *, int)) \
	X(cuDevicePrimaryCtxSetFlags_v2, (CUdevice, unsigned)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) X(cuCtxSetCurrent, (CUcontext)) \
	X(cuCtxSynchronize, (void)) X(cuModuleLoadData, (CUmodule *, const void *)) \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
	X(cuStreamCreate, (CUstream *, unsigned)) X(cuStreamSynchronize, (CUstream)) X(cuStreamQuery, (CUstream)) \
	X(cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode)) X(cuStreamEndCapture, (CUstream, CUgraph *)) \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) X(cuGraphLaunch, (CUgraphExec, CUstream)) \
	X(cuEventCreate, (CUevent *, unsigned)) X(cuEventRecord, (CUevent, CUstream)) \
	X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, CUstream, void **, void **)) \
	X(cuMemGetInfo_v2, (size_t *, size_t *)) X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemFree_v2, (CUdeviceptr)) \
	X(cuMemAllocHost_v2, (void **, size_t)) X(cuMemFreeHost, (void *)) \
	X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuGetErrorName, (CUresult, const char **))

struct cu_api {
#define FIELD(name, args) CUresult (*name) args;
	CU_API(FIELD)
#undef FIELD
};
extern struct cu_api cu;

#define TRY(call) do { \
	CUresult r_ = (call); \
	if (r_ != CUDA_SUCCESS) { \
		const char *n_ = "?"; \
		cu.cuGetErrorName(r_, &n_); \
		complain("bench: %s: %s", #call, n_); \
		return -1; \
	} \
} while (0)

struct gpu {
	CUdevice dev;
	CUstream stream;                /* does not take part in the legacy barrier */
	CUfunction fn[NPARAMS];         /* empty kernels with PARAM_COUNTS parameters, each launched once */
	void *params[64];
};
/* Opens the device; ctx_flags: CU_CTX_SCHED_*. Afterwards pins the thread to the client's CPU. 0 or -1, said. */
int gpu_open(struct gpu *g, unsigned ctx_flags);
static inline CUresult gpu_launch(struct gpu *g, CUfunction fn, CUstream s)
{
	return cu.cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, g->params, NULL);
}

/* The same empty kernel as a <<<>>> call of libcudart 12. 0, or -1: there is none (not said: it is one row less). */
int cudart_open(void);
/* What a compiler emits for kernel<<<1, 1, 0, stream>>>(4 parameters). 0: launched. */
int cudart_launch(struct gpu *g, CUstream stream);

#endif
