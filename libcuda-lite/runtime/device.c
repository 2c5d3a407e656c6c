/* SPDX-License-Identifier: MIT */
/*
 * What a device is and how it is set up: attributes, flags, limits, peers, PCI identity.
 *
 * Called by programs; every answer is the driver's. cudaGetDeviceProperties has its own file.
 */
#include "rt.h"

cudaError_t cudaDriverGetVersion(int *version)
{
	return rt_cu(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return rt_set(cudaErrorInvalidValue);
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	const void *caller = __builtin_return_address(0);
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	error = rt_cu(cuDeviceGetAttribute(value, (CUdevice_attribute)attr, rt_devices[device].handle));
	rt_asked(value, attr, error, caller);
	return error;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	unsigned int f;
	CUresult result;
	cudaError_t error;
	int active;

	if (!flags)
		return rt_set(cudaErrorInvalidValue);
	error = rt_init();
	if (error != cudaSuccess)
		return rt_set(error);
	result = cuDevicePrimaryCtxGetState(rt_devices[rt_self.device].handle, &f, &active);
	/* The runtime always maps host memory, and says so. */
	if (result == CUDA_SUCCESS)
		*flags = f | cudaDeviceMapHost;
	return rt_cu(result);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	cudaError_t error = rt_init();

	if (error != cudaSuccess)
		return rt_set(error);
	if (flags & ~(unsigned int)cudaDeviceMask)
		return rt_set(cudaErrorInvalidValue);
	/* MapHost is implied and no flag of a primary context. */
	return rt_cu(cuDevicePrimaryCtxSetFlags_v2(rt_devices[rt_self.device].handle,
						   flags & ~(unsigned int)cudaDeviceMapHost));
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int len, int device)
{
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceGetPCIBusId(bus_id, len, rt_devices[device].handle));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus_id)
{
	CUdevice dev;
	CUresult result;
	cudaError_t error = rt_init();
	int i;

	if (error != cudaSuccess)
		return rt_set(error);
	if (!device)
		return rt_set(cudaErrorInvalidValue);
	result = cuDeviceGetByPCIBusId(&dev, bus_id);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	i = rt_index(dev);
	if (i < 0)
		return rt_set(cudaErrorInvalidDevice);
	*device = i;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	RT_ENTER();
	return rt_cu(cuCtxGetLimit(value, (CUlimit)limit));
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	RT_ENTER();
	return rt_cu(cuCtxSetLimit((CUlimit)limit, value));
}

/* A preference and the question for it; the runtime's enumeration has the driver's values. */
#define CONFIG(name, type, cu_type) \
	cudaError_t cudaDeviceGet##name(type *config) \
	{ \
		cu_type c; \
		CUresult result; \
		if (!config) \
			return rt_set(cudaErrorInvalidValue); \
		RT_ENTER(); \
		result = cuCtxGet##name(&c); \
		if (result == CUDA_SUCCESS) \
			*config = (type)c; \
		return rt_cu(result); \
	} \
	cudaError_t cudaDeviceSet##name(type config) \
	{ \
		RT_ENTER(); \
		return rt_cu(cuCtxSet##name((cu_type)config)); \
	}
CONFIG(CacheConfig, enum cudaFuncCache, CUfunc_cache)
CONFIG(SharedMemConfig, enum cudaSharedMemConfig, CUsharedconfig)

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	RT_ENTER();
	return rt_cu(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	RT_ENTER();
	return rt_cu(cuCtxResetPersistingL2Cache());
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	cudaError_t error = rt_check_device(device);

	if (error == cudaSuccess)
		error = rt_check_device(peer);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceCanAccessPeer(can, rt_devices[device].handle, rt_devices[peer].handle));
}

static cudaError_t rt_peer(int peer, CUcontext *ctx)
{
	cudaError_t error = rt_check_device(peer);

	if (error == cudaSuccess && peer == rt_self.device)
		error = cudaErrorInvalidDevice;
	if (error == cudaSuccess)
		error = rt_primary(peer, ctx);
	return error;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext ctx;
	cudaError_t error;

	RT_ENTER();
	error = rt_peer(peer, &ctx);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuCtxEnablePeerAccess(ctx, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext ctx;
	cudaError_t error;

	RT_ENTER();
	error = rt_peer(peer, &ctx);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuCtxDisablePeerAccess(ctx));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int src, int dst)
{
	cudaError_t error = rt_check_device(src);

	if (error == cudaSuccess)
		error = rt_check_device(dst);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, rt_devices[src].handle,
					     rt_devices[dst].handle));
}

cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int *caps, const enum cudaAtomicOperation *ops, unsigned int n, int device)
{
	cudaError_t error = rt_check_device(device);

	return error != cudaSuccess ? rt_set(error) :
	       rt_cu(cuDeviceGetHostAtomicCapabilities(caps, (const CUatomicOperation *)ops, n, rt_devices[device].handle));
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int *caps, const enum cudaAtomicOperation *ops, unsigned int n, int src, int dst)
{
	cudaError_t error = rt_check_device(src);

	if (error == cudaSuccess)
		error = rt_check_device(dst);
	return error != cudaSuccess ? rt_set(error) :
	       rt_cu(cuDeviceGetP2PAtomicCapabilities(caps, (const CUatomicOperation *)ops, n, rt_devices[src].handle, rt_devices[dst].handle));
}

/*
 * CUDA documents these two as requests to an attached profiling tool; no tool can be attached here, so
 * there is nothing to do and nothing to fail.
 */
cudaError_t cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	return cudaSuccess;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
	struct cudaChannelFormatDesc d = { x, y, z, w, f };

	return d;
}

#if CUDART_MAJOR < 13
/* The names of CUDA 3, still exported by CUDA 12. */
cudaError_t cudaThreadExit(void)
{
	return cudaDeviceReset();
}

cudaError_t cudaThreadSynchronize(void)
{
	return cudaDeviceSynchronize();
}

cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
	return cudaDeviceGetLimit(value, limit);
}

cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return cudaDeviceSetLimit(limit, value);
}

cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
	return cudaDeviceGetCacheConfig(config);
}

cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
	return cudaDeviceSetCacheConfig(config);
}
#endif
