/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of other processes.
 *
 * Called by programs; the handles are the driver's, byte for byte.
 */
#include "rt.h"

#include <string.h>

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) && sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle),
	       "one layout");

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr)
{
	RT_ENTER();
	return rt_cu(cuIpcGetMemHandle((CUipcMemHandle *)(void *)handle, rt_dptr(ptr)));
}

cudaError_t cudaIpcOpenMemHandle(void **ptr, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle h;
	CUdeviceptr d = 0;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	memcpy(&h, &handle, sizeof h);
	return rt_give(ptr, d, cuIpcOpenMemHandle_v2(&d, h, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *ptr)
{
	RT_ENTER();
	return rt_cu(cuIpcCloseMemHandle(rt_dptr(ptr)));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	RT_ENTER();
	return rt_cu(cuIpcGetEventHandle((CUipcEventHandle *)(void *)handle, event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle h;

	RT_ENTER();
	memcpy(&h, &handle, sizeof h);
	return rt_cu(cuIpcOpenEventHandle(event, h));
}

cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuMemPoolExportToShareableHandle(handle, pool, (CUmemAllocationHandleType)type, flags));
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuMemPoolImportFromShareableHandle(pool, handle, (CUmemAllocationHandleType)type, flags));
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *ptr)
{
	RT_ENTER();
	return rt_cu(cuMemPoolExportPointer((CUmemPoolPtrExportData *)(void *)data, rt_dptr(ptr)));
}

cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data)
{
	CUdeviceptr d = 0;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	return rt_give(ptr, d, cuMemPoolImportPointer(&d, pool, (CUmemPoolPtrExportData *)(void *)data));
}
