/* SPDX-License-Identifier: MIT */
/*
 * libcublasLt: handles, statuses, algorithms (there is one, which needs no workspace), and the names that answer
 * CUBLAS_STATUS_NOT_SUPPORTED and say so once.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lt.h"

#define VERSION (CUBLAS_MAJOR == 12 ? 120800 : 130000)

cublasStatus_t lt_unsupported(atomic_uint *said, const char *name)
{
	char line[160];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu libcublasLt: %s is not supported\n", name);
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
			return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

#define UNSUPPORTED(fn) \
	PUBLIC int fn(void); \
	int fn(void) \
	{ \
		static atomic_uint said; \
		return (int)lt_unsupported(&said, #fn); \
	}
#include "unsupported.def"

cublasStatus_t lt_status(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS: return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_INVALID_VALUE: return CUBLAS_STATUS_INVALID_VALUE;
	case CUDA_ERROR_OUT_OF_MEMORY: return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT: return CUBLAS_STATUS_NOT_INITIALIZED;
	case CUDA_ERROR_NOT_SUPPORTED: return CUBLAS_STATUS_NOT_SUPPORTED;
	default: return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

/* cuBLAS's statuses by number, of which this library answers some. */
static const char *const texts[17][2] = {
	[0] = { "CUBLAS_STATUS_SUCCESS", "success" }, [1] = { "CUBLAS_STATUS_NOT_INITIALIZED", "no live handle, or no context" },
	[3] = { "CUBLAS_STATUS_ALLOC_FAILED", "out of memory" }, [7] = { "CUBLAS_STATUS_INVALID_VALUE", "invalid argument" },
	[8] = { "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature" },
	[11] = { "CUBLAS_STATUS_MAPPING_ERROR", "device memory could not be mapped" },
	[13] = { "CUBLAS_STATUS_EXECUTION_FAILED", "the device failed" }, [14] = { "CUBLAS_STATUS_INTERNAL_ERROR", "internal error" },
	[15] = { "CUBLAS_STATUS_NOT_SUPPORTED", "not supported" }, [16] = { "CUBLAS_STATUS_LICENSE_ERROR", "license error" },
};

static const char *text(int status, int which)
{
	return status >= 0 && status < 17 && texts[status][which] ? texts[status][which] : "unknown status";
}

PUBLIC size_t cublasLtGetVersion(void);
PUBLIC size_t cublasLtGetCudartVersion(void);
PUBLIC const char *cublasLtGetStatusName(int status);
PUBLIC const char *cublasLtGetStatusString(int status);
PUBLIC cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value);
PUBLIC cublasStatus_t cublasLtCreate(void **handle);
PUBLIC cublasStatus_t cublasLtDestroy(void *handle);
PUBLIC cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity);
PUBLIC cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity);

size_t cublasLtGetVersion(void) { return VERSION; }
size_t cublasLtGetCudartVersion(void) { return CUBLAS_MAJOR == 12 ? 12080 : 13000; }
const char *cublasLtGetStatusName(int status) { return text(status, 0); }
const char *cublasLtGetStatusString(int status) { return text(status, 1); }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == MAJOR_VERSION ? VERSION / 10000 : type == MINOR_VERSION ? VERSION / 100 % 100 : VERSION % 100;
	return CUBLAS_STATUS_SUCCESS;
}

/* Nothing is kept by handle: cuBLAS's own handle is taken for one too, as documented, so none is looked into. */
static char handles[4096];
static atomic_uint made;

cublasStatus_t cublasLtCreate(void **handle)
{
	CUdevice dev;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&dev, 0) != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = &handles[atomic_fetch_add(&made, 1) % sizeof handles];
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(void *handle)
{
	return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* No result of a search is kept: there is nothing to search. */
static size_t capacity_wanted = 8192;
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
	if (!capacity)
		return CUBLAS_STATUS_INVALID_VALUE;
	*capacity = __atomic_load_n(&capacity_wanted, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
	__atomic_store_n(&capacity_wanted, capacity, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the one algorithm ---- */

PUBLIC cublasStatus_t cublasLtMatmulAlgoGetHeuristic(void *handle, const struct lt_product *p, const struct lt_layout *a,
	const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d, const struct lt_preference *preference, int wanted,
	struct lt_heuristic *results, int *found);
PUBLIC cublasStatus_t cublasLtMatmulAlgoCheck(void *handle, const struct lt_product *p, const struct lt_layout *a,
	const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d, const struct lt_algo *algo, struct lt_heuristic *result);
PUBLIC cublasStatus_t cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c, int d, int wanted, int *ids, int *found);
PUBLIC cublasStatus_t cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id, struct lt_algo *algo);
PUBLIC cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(struct lt_algo *algo, unsigned int number, const void *value, size_t bytes);
PUBLIC cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const struct lt_algo *algo, unsigned int number, void *value, size_t bytes,
	size_t *written);

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(void *handle, const struct lt_product *p, const struct lt_layout *a,
	const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d, const struct lt_preference *preference, int wanted,
	struct lt_heuristic *results, int *found)
{
	cublasStatus_t st;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!p || !a || !b || !c || !d || !preference || wanted < 1 || !results || !found)
		return CUBLAS_STATUS_INVALID_VALUE;
	*found = 0;
	st = lt_check(p, a, b, c, d);
	if (st != CUBLAS_STATUS_SUCCESS)
		return st;
	*results = (struct lt_heuristic){ .state = CUBLAS_STATUS_SUCCESS, .waves = 1 };
	/* none is needed; but what is captured can be part of another graph only where it allocates nothing */
	if (lt_room(p, a, b, c, d) <= preference->workspace)
		results->workspace = lt_room(p, a, b, c, d);
	*found = 1;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(void *handle, const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b,
	const struct lt_layout *c, const struct lt_layout *d, const struct lt_algo *algo, struct lt_heuristic *result)
{
	cublasStatus_t st;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!p || !a || !b || !c || !d || !algo || !result)
		return CUBLAS_STATUS_INVALID_VALUE;
	st = algo->config[0] ? CUBLAS_STATUS_INVALID_VALUE : lt_check(p, a, b, c, d);
	*result = (struct lt_heuristic){ .algo = *algo, .state = st, .waves = 1 };
	return st;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c, int d, int wanted, int *ids, int *found)
{
	unsigned int in, out, scalar;

	(void)scale;
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (wanted < 1 || !ids || !found)
		return CUBLAS_STATUS_INVALID_VALUE;
	*found = c == d && blas_types((cudaDataType)a, (cudaDataType)b, (cudaDataType)d, (cublasComputeType_t)compute, &in, &out, &scalar);
	if (!*found)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	ids[0] = 0;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id, struct lt_algo *algo)
{
	int ids, found;
	cublasStatus_t st = cublasLtMatmulAlgoGetIds(handle, compute, scale, a, b, c, d, 1, &ids, &found);

	if (st != CUBLAS_STATUS_SUCCESS)
		return st;
	if (id || !algo)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(algo, 0, sizeof *algo);
	return CUBLAS_STATUS_SUCCESS;
}

/* Tiles, stages and splits choose nothing here: they are kept for who reads them back. 7 and 8 are 16 bits wide. */
static size_t config_bytes(unsigned int number)
{
	return number > 8 ? 0 : number >= 7 ? 2 : 4;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(struct lt_algo *algo, unsigned int number, const void *value, size_t bytes)
{
	if (!algo || !value || !bytes || !number || bytes != config_bytes(number))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&algo->config[number], value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const struct lt_algo *algo, unsigned int number, void *value, size_t bytes,
	size_t *written)
{
	size_t is = config_bytes(number);

	if (!algo || !is || (bytes ? !value || bytes != is : !written))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes)
		memcpy(value, &algo->config[number], bytes);
	if (written)
		*written = is;
	return CUBLAS_STATUS_SUCCESS;
}
