/* SPDX-License-Identifier: MIT */
/*
 * libcublasLt: the names exist, so that programs which link it load; all but the version and the texts of
 * statuses answer CUBLAS_STATUS_NOT_SUPPORTED and say so once. Our libcublas does not need it.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define NOT_SUPPORTED 15

static int unsupported(atomic_uint *said, const char *name)
{
	char line[160];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu libcublasLt: %s is not supported\n", name);
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
			return NOT_SUPPORTED;
	}
	return NOT_SUPPORTED;
}

#define UNSUPPORTED(fn) \
	__attribute__((visibility("default"))) int fn(void); \
	int fn(void) \
	{ \
		static atomic_uint said; \
		return unsupported(&said, #fn); \
	}
#include "unsupported.def"

#define PUBLIC __attribute__((visibility("default")))
PUBLIC size_t cublasLtGetVersion(void);
PUBLIC size_t cublasLtGetCudartVersion(void);
PUBLIC const char *cublasLtGetStatusName(int status);
PUBLIC const char *cublasLtGetStatusString(int status);

size_t cublasLtGetVersion(void) { return CUBLAS_MAJOR == 12 ? 120800 : 130000; }
size_t cublasLtGetCudartVersion(void) { return CUBLAS_MAJOR == 12 ? 12080 : 13000; }

/* What this library answers, and no more. */
const char *cublasLtGetStatusName(int status)
{
	return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : status ? "unknown status" : "CUBLAS_STATUS_SUCCESS";
}

const char *cublasLtGetStatusString(int status)
{
	return status == NOT_SUPPORTED ? "not supported" : status ? "unknown status" : "success";
}
