/* SPDX-License-Identifier: MIT */
/*
 * What libcublas.so.11 and libcublasLt.so.11 say they are: 11.11.3, the last of CUDA 11. All else of theirs is 12's (gen.awk).
 *
 * Called by programs of CUDA 11 that ask.
 */
#include <stddef.h>

#define MAJOR 11
#define MINOR 11
#define PATCH 3
#define CUDART 11080
#define PUBLIC __attribute__((visibility("default")))

enum { OK = 0, INVALID_VALUE = 7 };     /* of cublasStatus_t */

static int property(int type, int *value)
{
	static const int is[] = { MAJOR, MINOR, PATCH };

	if (!value || type < 0 || type > 2)
		return INVALID_VALUE;
	*value = is[type];
	return OK;
}

#ifdef ELEVEN_LT
PUBLIC size_t cublasLtGetVersion(void);
PUBLIC size_t cublasLtGetCudartVersion(void);
PUBLIC int cublasLtGetProperty(int type, int *value);

size_t cublasLtGetVersion(void) { return MAJOR * 10000 + MINOR * 100 + PATCH; }
size_t cublasLtGetCudartVersion(void) { return CUDART; }
int cublasLtGetProperty(int type, int *value) { return property(type, value); }
#else
PUBLIC int cublasGetVersion_v2(void *handle, int *version);
PUBLIC size_t cublasGetCudartVersion(void);
PUBLIC int cublasGetProperty(int type, int *value);

int cublasGetVersion_v2(void *handle, int *version)
{
	(void)handle;
	if (!version)
		return INVALID_VALUE;
	*version = MAJOR * 10000 + MINOR * 100 + PATCH;
	return OK;
}

size_t cublasGetCudartVersion(void) { return CUDART; }
int cublasGetProperty(int type, int *value) { return property(type, value); }
#endif
