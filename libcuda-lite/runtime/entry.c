/* SPDX-License-Identifier: MIT */
/*
 * Entry points of the driver for programs that link only against the runtime.
 *
 * Called by programs. The driver's own table answers; a name that it does not have is not an error of
 * the call when the program asked for the reason.
 */
#include "rt.h"

static cudaError_t rt_entry_point(const char *symbol, void **fn, int version, unsigned long long flags,
				  enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult s = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult result;

	if (!symbol || !fn)
		return rt_set(cudaErrorInvalidValue);
	result = cuGetProcAddress_v2(symbol, fn, version, flags, &s);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)s;
	if (s != CU_GET_PROC_ADDRESS_SUCCESS && (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND)) {
		*fn = NULL;
		return status ? cudaSuccess : rt_set(cudaErrorSymbolNotFound);
	}
	return rt_cu(result);
}

/* Flags 0 means: the streams that this entry point was compiled for. */
static unsigned long long rt_entry_flags(unsigned long long flags)
{
	return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *status)
{
	return rt_entry_point(symbol, fn, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return rt_entry_point(symbol, fn, CUDART_VERSION, rt_entry_flags(flags), status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **fn, unsigned int version,
					     unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *status)
{
	return rt_entry_point(symbol, fn, (int)version, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **fn, unsigned int version,
						  unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *status)
{
	return rt_entry_point(symbol, fn, (int)version, rt_entry_flags(flags), status);
}
