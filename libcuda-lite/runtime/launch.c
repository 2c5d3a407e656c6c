/* SPDX-License-Identifier: MIT */
/*
 * Launches: the runtime's hot path.
 *
 * Called by the stubs that compilers emit for kernel<<<...>>>(). A warm launch is: is our context still
 * current, host address to record (no lock), record to CUfunction, cuLaunchKernel.
 */
#include "rt.h"

#include <stdlib.h>

static struct rt_call_config *pushed(struct rt_thread *t, unsigned int n)
{
	return n < RT_NEAR_PUSHED ? &t->pushed[n] : &t->deeper[n - RT_NEAR_PUSHED];
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	struct rt_thread *t = &rt_self;
	struct rt_call_config *c;

	/* Non-zero makes the emitted code skip the launch. */
	if (t->n_pushed == RT_MAX_PUSHED)
		return (unsigned int)rt_set(cudaErrorLaunchMaxDepthExceeded);
	if (t->n_pushed == RT_NEAR_PUSHED && !t->deeper) {
		t->deeper = calloc(RT_MAX_PUSHED - RT_NEAR_PUSHED, sizeof(*c));
		if (!t->deeper)
			return (unsigned int)rt_set(cudaErrorMemoryAllocation);
	}
	c = pushed(t, t->n_pushed++);
	c->grid = grid;
	c->block = block;
	c->shared = shared;
	c->stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	struct rt_thread *t = &rt_self;
	struct rt_call_config *c;

	if (!t->n_pushed)
		return rt_set(cudaErrorMissingConfiguration);
	c = pushed(t, --t->n_pushed);
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*(cudaStream_t *)stream = c->stream;
	if (t->n_pushed == RT_NEAR_PUSHED) {
		free(t->deeper);
		t->deeper = NULL;
	}
	return cudaSuccess;
}

/* Is a launch of these dimensions beyond what the thread's device can do at all? */
static __attribute__((noinline)) int rt_impossible(dim3 grid, dim3 block)
{
	static const CUdevice_attribute limit[] = {
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
	};
	const uint64_t asked[] = { grid.x, grid.y, grid.z, block.x, block.y, block.z,
				   (uint64_t)block.x * block.y * block.z };
	int i, most;

	for (i = 0; i < 7; i++)
		if (!asked[i] || (cuDeviceGetAttribute(&most, limit[i], rt_devices[rt_self.device].handle) == CUDA_SUCCESS &&
				  asked[i] > (uint64_t)most))
			return 1;
	return 0;
}

/* The driver says INVALID_VALUE where the runtime has a code of its own for bad dimensions. */
static cudaError_t rt_launch_result(CUresult result, dim3 grid, dim3 block)
{
	if (__builtin_expect(result == CUDA_SUCCESS, 1))
		return cudaSuccess;
	if (result == CUDA_ERROR_INVALID_VALUE && rt_impossible(grid, block))
		return rt_set(cudaErrorInvalidConfiguration);
	return rt_cu(result);
}

static inline cudaError_t rt_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
				    cudaStream_t stream)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	if (__builtin_expect(shared > UINT32_MAX, 0))
		return rt_set(cudaErrorInvalidValue);
	return rt_launch_result(cuLaunchKernel(fn, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					       (unsigned int)shared, stream, args, NULL), grid, block);
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
			     cudaStream_t stream)
{
	return rt_launch(func, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
				  cudaStream_t stream)
{
	return rt_launch(func, grid, block, args, shared, rt_per_thread(stream));
}

/*
 * nvcc 13's stubs ask for a handle once, keep it in a static whatever came back, and launch by it. So the
 * handle is our own record, which needs no driver and cannot fail early: what is wrong with the module or
 * the device is said by each launch. rt_find() knows the record by its own address.
 */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host_fn)
{
	struct rt_symbol *sym = rt_find(host_fn);
	cudaError_t error;

	if (!kernel)
		return rt_set(cudaErrorInvalidValue);
	if (!sym || sym->kind != RT_SYMBOL_KERNEL)
		return rt_set(cudaErrorInvalidDeviceFunction);
	error = rt_adopt_kernel((CUkernel)sym, sym);
	if (error == cudaSuccess)
		*kernel = (cudaKernel_t)sym;
	return rt_set(error);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream)
{
	return rt_launch(kernel, grid, block, args, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
				    cudaStream_t stream)
{
	return rt_launch(kernel, grid, block, args, shared, rt_per_thread(stream));
}

static cudaError_t rt_launch_cooperative(const void *func, dim3 grid, dim3 block, void **args,
					 size_t shared, cudaStream_t stream)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	if (shared > UINT32_MAX)
		return rt_set(cudaErrorInvalidValue);
	return rt_launch_result(cuLaunchCooperativeKernel(fn, grid.x, grid.y, grid.z, block.x, block.y,
							  block.z, (unsigned int)shared, stream, args),
				grid, block);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
					cudaStream_t stream)
{
	return rt_launch_cooperative(func, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
					     size_t shared, cudaStream_t stream)
{
	return rt_launch_cooperative(func, grid, block, args, shared, rt_per_thread(stream));
}

/* The driver's launch attributes have the runtime's numbers and layout, so the array goes through as it is. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
	       offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value), "launch attributes");

static cudaError_t rt_driver_config(const cudaLaunchConfig_t *in, CUlaunchConfig *out)
{
	if (!in || in->dynamicSmemBytes > UINT32_MAX || (in->numAttrs && !in->attrs))
		return cudaErrorInvalidValue;
	out->gridDimX = in->gridDim.x;
	out->gridDimY = in->gridDim.y;
	out->gridDimZ = in->gridDim.z;
	out->blockDimX = in->blockDim.x;
	out->blockDimY = in->blockDim.y;
	out->blockDimZ = in->blockDim.z;
	out->sharedMemBytes = (unsigned int)in->dynamicSmemBytes;
	out->hStream = in->stream;
	out->attrs = (CUlaunchAttribute *)in->attrs;
	out->numAttrs = in->numAttrs;
	return cudaSuccess;
}

static cudaError_t rt_described(const cudaLaunchConfig_t *in, const void *func, CUlaunchConfig *out, CUfunction *fn)
{
	cudaError_t error = rt_driver_config(in, out);

	return error == cudaSuccess ? rt_function(func, fn) : error;
}

static cudaError_t rt_launch_ex(const cudaLaunchConfig_t *config, const void *func, void **args, int ptsz)
{
	CUlaunchConfig c;
	CUfunction fn;
	cudaError_t error;

	RT_ENTER();
	error = rt_described(config, func, &c, &fn);
	if (error != cudaSuccess)
		return rt_set(error);
	if (ptsz)
		c.hStream = rt_per_thread(c.hStream);
	return rt_launch_result(cuLaunchKernelEx(&c, fn, args, NULL), config->gridDim, config->blockDim);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	return rt_launch_ex(config, func, args, 0);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	return rt_launch_ex(config, func, args, 1);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *func,
						 const cudaLaunchConfig_t *config)
{
	CUlaunchConfig c;
	CUfunction fn;
	cudaError_t error;

	RT_ENTER();
	error = rt_described(config, func, &c, &fn);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuOccupancyMaxPotentialClusterSize(size, fn, &c));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *func,
					   const cudaLaunchConfig_t *config)
{
	CUlaunchConfig c;
	CUfunction fn;
	cudaError_t error;

	RT_ENTER();
	error = rt_described(config, func, &c, &fn);
	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuOccupancyMaxActiveClusters(clusters, fn, &c));
}
