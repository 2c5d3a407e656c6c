/* SPDX-License-Identifier: MIT */
/* cuBLAS's calls without a handle: see cublas_legacy.h. cublas_v2.h has the same names for others, so a file takes one of the two. */
#ifndef CUBLAS_H_
#define CUBLAS_H_

#ifdef CUBLAS_V2_H_
#error "cublas.h and cublas_v2.h give the same names to different calls: include one of them"
#endif
#ifdef __cplusplus
#include "cuda_runtime.h"
#else
#include "cuda_runtime_api.h"
#endif
#include "cublas_api.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define cublasStatus cublasStatus_t

/* In the context that is current, or the first device's. */
cublasStatus_t cublasInit(void);
cublasStatus_t cublasShutdown(void);
/* The status of the last call that had one but SUCCESS; it is SUCCESS again behind this. */
cublasStatus_t cublasGetError(void);
cublasStatus_t cublasGetVersion(int *version);
/* n elements of size bytes */
cublasStatus_t cublasAlloc(int n, int size, void **device);
cublasStatus_t cublasFree(void *device);
cublasStatus_t cublasSetKernelStream(cudaStream_t stream);

#define CALL(name, parameters, arguments) void cublas##name parameters;
#define VALUE(type, name, parameters, arguments) type cublas##name parameters;
#include "cublas_legacy.h"
#undef CALL
#undef VALUE

#if defined(__cplusplus)
}
#endif
#endif
