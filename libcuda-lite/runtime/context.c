/* SPDX-License-Identifier: MIT */
/*
 * Start-up, devices of threads, primary contexts: everything behind RT_ENTER().
 *
 * Called by every public function. Invariant: rt_self.bound is the primary context that is current on this
 * thread while the driver still has it current, else NULL (the program brought its own).
 */
#include "rt.h"

struct rt_device rt_devices[RT_MAX_DEVICES];

static struct rt_lock init_lock;
static atomic_int n_devices;	/* 0: not initialised */

/* A failed start is not remembered: an agent may come up between two calls. */
cudaError_t rt_init(void)
{
	CUresult result;
	CUdevice dev;
	int count = 0, i;

	if (atomic_load_explicit(&n_devices, memory_order_acquire))
		return cudaSuccess;
	rt_lock(&init_lock);
	if (atomic_load_explicit(&n_devices, memory_order_relaxed)) {
		rt_unlock(&init_lock);
		return cudaSuccess;
	}
	result = cuInit(0);
	if (result == CUDA_SUCCESS)
		result = cuDeviceGetCount(&count);
	if (result == CUDA_SUCCESS && count <= 0)
		result = CUDA_ERROR_NO_DEVICE;
	if (count > RT_MAX_DEVICES)
		count = RT_MAX_DEVICES;
	for (i = 0; result == CUDA_SUCCESS && i < count; i++) {
		result = cuDeviceGet(&dev, i);
		rt_devices[i].handle = dev;
	}
	if (result == CUDA_SUCCESS)
		atomic_store_explicit(&n_devices, count, memory_order_release);
	rt_unlock(&init_lock);
	return rt_translate(result);
}

int rt_device_count(void)
{
	return atomic_load_explicit(&n_devices, memory_order_acquire);
}

cudaError_t rt_check_device(int device)
{
	cudaError_t error = rt_init();

	if (error != cudaSuccess)
		return error;
	return device >= 0 && device < rt_device_count() ? cudaSuccess : cudaErrorInvalidDevice;
}

/* The primary context of a device, retained once for the process. */
cudaError_t rt_primary(int device, CUcontext *ctx)
{
	struct rt_device *d = &rt_devices[device];
	CUresult result = CUDA_SUCCESS;

	*ctx = atomic_load_explicit(&d->primary, memory_order_acquire);
	if (*ctx)
		return cudaSuccess;
	rt_lock(&init_lock);
	*ctx = atomic_load_explicit(&d->primary, memory_order_relaxed);
	if (!*ctx) {
		result = cuDevicePrimaryCtxRetain(ctx, d->handle);
		if (result == CUDA_SUCCESS)
			atomic_store_explicit(&d->primary, *ctx, memory_order_release);
	}
	rt_unlock(&init_lock);
	return rt_translate(result);
}

static cudaError_t rt_bind(int device)
{
	CUcontext ctx;
	CUresult result;
	cudaError_t error = rt_primary(device, &ctx);

	if (error != cudaSuccess)
		return error;
	result = cuCtxSetCurrent(ctx);
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	rt_self.device = device;
	rt_self.bound = ctx;
	return cudaSuccess;
}

/* The index of a driver device, or -1. */
int rt_index(CUdevice dev)
{
	int i, n = rt_device_count();

	for (i = 0; i < n; i++)
		if (rt_devices[i].handle == dev)
			return i;
	return -1;
}

/*
 * Is this the primary context of the device, which the program has retained itself? Then we retain it too, as for any
 * thread that brought none, and find it by one comparison from here on.
 */
static int rt_is_primary(int device, CUcontext current)
{
	CUcontext primary = NULL;
	unsigned int flags;
	int active = 0;

	if (cuDevicePrimaryCtxGetState(rt_devices[device].handle, &flags, &active) != CUDA_SUCCESS || !active ||
	    cuDevicePrimaryCtxRetain(&primary, rt_devices[device].handle) != CUDA_SUCCESS)
		return 0;
	active = primary == current && rt_primary(device, &primary) == cudaSuccess;
	cuDevicePrimaryCtxRelease(rt_devices[device].handle);
	return active;
}

/* Called with what cuCtxGetCurrent said. */
cudaError_t rt_enter_slow(CUresult result, CUcontext current)
{
	struct rt_thread *t = &rt_self;
	cudaError_t error;
	CUdevice dev;
	int i;

	if (!rt_device_count()) {
		error = rt_init();
		if (error != cudaSuccess)
			return error;
		/* The driver may have been started by the program, with a context of its own. */
		result = cuCtxGetCurrent(&current);
	}
	/* Includes a child after fork(): the driver answers NOT_INITIALIZED there, for ever. */
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	if (current && current == t->own) {
		t->device = t->own_device;
		t->bound = NULL;
		return cudaSuccess;
	}
	/* Nothing current, or what we bound was reset since by another thread. */
	if (!current || current == t->bound)
		return rt_bind(t->device);
	for (i = 0; i < rt_device_count(); i++) {
		if (current == atomic_load_explicit(&rt_devices[i].primary, memory_order_acquire)) {
			t->device = i;
			t->bound = current;
			return cudaSuccess;
		}
	}
	/* A context of the program's own: use it, and follow it to its device. */
	result = cuCtxGetDevice(&dev);
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	i = rt_index(dev);
	if (i < 0)
		return cudaErrorIncompatibleDriverContext;
	t->device = i;
	t->bound = rt_is_primary(i, current) ? current : NULL;
	if (!t->bound) {
		t->own = current;
		t->own_device = i;
	}
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error;

	if (!count)
		return rt_set(cudaErrorInvalidValue);
	*count = 0;
	error = rt_init();
	if (error != cudaSuccess)
		return rt_set(error);
	/* Asked again each time: in a child after fork() the driver must say that it is not initialised. */
	error = rt_translate(cuDeviceGetCount(count));
	if (*count > RT_MAX_DEVICES)
		*count = RT_MAX_DEVICES;
	return rt_set(error);
}

cudaError_t cudaGetDevice(int *device)
{
	CUcontext current = NULL;
	cudaError_t error;

	if (!device)
		return rt_set(cudaErrorInvalidValue);
	error = rt_init();
	if (error != cudaSuccess)
		return rt_set(error);
	/* Asking must not create a context, but must see one that the program made current. */
	error = rt_translate(cuCtxGetCurrent(&current));
	if (error == cudaSuccess && current && current != rt_self.bound)
		error = rt_enter_slow(CUDA_SUCCESS, current);
	if (error != cudaSuccess)
		return rt_set(error);
	*device = rt_self.device;
	return cudaSuccess;
}

/* Since CUDA 12 this also starts the device's primary context. */
cudaError_t cudaSetDevice(int device)
{
	cudaError_t error = rt_check_device(device);

	if (error == cudaSuccess)
		error = rt_bind(device);
	return rt_set(error);
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	CUcontext ctx;
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	if (flags & ~(unsigned int)cudaInitDeviceFlagsAreValid ||
	    (flags && (device_flags & ~(unsigned int)cudaDeviceMask)))
		return rt_set(cudaErrorInvalidValue);
	if (flags & cudaInitDeviceFlagsAreValid) {
		/* MapHost is implied and no flag of a primary context. */
		CUresult result = cuDevicePrimaryCtxSetFlags_v2(rt_devices[device].handle,
								device_flags & ~(unsigned int)cudaDeviceMapHost);
		if (result != CUDA_SUCCESS)
			return rt_cu(result);
	}
	return rt_set(rt_primary(device, &ctx));
}

cudaError_t cudaDeviceSynchronize(void)
{
	RT_ENTER();
	return rt_cu(cuCtxSynchronize());
}

/*
 * Destroys the primary context of the thread's device. Registered modules stay registered and load
 * again when they are next used.
 */
cudaError_t cudaDeviceReset(void)
{
	struct rt_thread *t = &rt_self;
	struct rt_device *d;
	CUresult result;
	CUcontext old, current = NULL;
	cudaError_t error = rt_init();
	int here;

	if (error != cudaSuccess)
		return rt_set(error);
	d = &rt_devices[t->device];
	/* Also where a library made it current, before the thread called us: what is destroyed below must not stay in its way. */
	here = cuCtxGetCurrent(&current) == CUDA_SUCCESS && current && (current == t->bound || rt_is_primary(t->device, current));
	rt_lock(&init_lock);
	old = atomic_exchange_explicit(&d->primary, NULL, memory_order_acq_rel);
	rt_forget_functions(t->device);
	result = cuDevicePrimaryCtxReset_v2(d->handle);
	/* INVALID_CONTEXT: nobody retains it any more, which is what we are after. */
	if (old && result == CUDA_SUCCESS) {
		result = cuDevicePrimaryCtxRelease_v2(d->handle);
		if (result == CUDA_ERROR_INVALID_CONTEXT)
			result = CUDA_SUCCESS;
	}
	if (here) {
		cuCtxSetCurrent(NULL);
		t->bound = NULL;
	}
	rt_unlock(&init_lock);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	atomic_fetch_add_explicit(&rt_resets, 1, memory_order_relaxed);
	t->last = cudaSuccess;
	return cudaSuccess;
}
