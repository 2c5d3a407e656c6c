/* SPDX-License-Identifier: MIT */
/*
 * From a host address to a kernel, a function or a variable on the device, at first use.
 *
 * Called by launches, attribute queries and symbol copies, with a context entered. What is found is
 * kept in the symbol's record, so that rt_function() (rt.h) does not come here twice.
 */
#include "rt.h"

cudaError_t rt_kernel_slow(struct rt_symbol *sym, CUkernel *kernel)
{
	CUlibrary library;
	CUresult result;

	*kernel = atomic_load_explicit(&sym->kernel, memory_order_acquire);
	if (*kernel)
		return cudaSuccess;
	result = rt_library(sym->fatbin, &library);
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	result = cuLibraryGetKernel(kernel, library, sym->name);
	if (result == CUDA_ERROR_NOT_FOUND)
		return cudaErrorInvalidDeviceFunction;
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	atomic_store_explicit(&sym->kernel, *kernel, memory_order_release);
	return cudaSuccess;
}

cudaError_t rt_function_slow(struct rt_symbol *sym, CUfunction *fn)
{
	struct rt_thread *t = &rt_self;
	CUkernel kernel;
	CUresult result;
	cudaError_t error = rt_kernel_slow(sym, &kernel);

	if (error != cudaSuccess)
		return error;
	result = cuKernelGetFunction(fn, kernel);
	if (result != CUDA_SUCCESS)
		return rt_translate(result);
	/* A function belongs to one context: keep only those of primary contexts, which we know to last. */
	if (t->bound && t->device < RT_FN_CACHED)
		atomic_store_explicit(&sym->fn[t->device], *fn, memory_order_release);
	return cudaSuccess;
}

/* Address and size of a registered variable in the current context. */
cudaError_t rt_variable(const void *symbol, CUdeviceptr *ptr, size_t *size)
{
	struct rt_symbol *sym = rt_find(symbol);
	CUlibrary library;
	CUresult result;

	if (!sym)
		sym = rt_find_managed(symbol);
	if (!sym || (sym->kind != RT_SYMBOL_VARIABLE && sym->kind != RT_SYMBOL_MANAGED))
		return cudaErrorInvalidSymbol;
	result = rt_library(sym->fatbin, &library);
	if (result == CUDA_SUCCESS && sym->kind == RT_SYMBOL_MANAGED)
		result = cuLibraryGetManaged(ptr, size, library, sym->name);
	else if (result == CUDA_SUCCESS)
		result = cuLibraryGetGlobal(ptr, size, library, sym->name);
	if (result == CUDA_ERROR_NOT_FOUND)
		return cudaErrorInvalidSymbol;
	return rt_translate(result);
}

cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol)
{
	CUdeviceptr address;
	cudaError_t error;
	size_t size;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	error = rt_variable(symbol, &address, &size);
	if (error == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_set(error);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr address;
	size_t bytes;
	cudaError_t error;

	if (!size)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	error = rt_variable(symbol, &address, &bytes);
	if (error == cudaSuccess)
		*size = bytes;
	return rt_set(error);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	CUfunction fn;
	cudaError_t error;

	if (!function)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	error = rt_function(symbol, &fn);
	if (error == cudaSuccess)
		*function = fn;
	return rt_set(error);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *symbol)
{
	struct rt_symbol *sym;
	CUkernel k;
	cudaError_t error;

	if (!kernel)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	sym = rt_find(symbol);
	if (!sym || sym->kind != RT_SYMBOL_KERNEL)
		return rt_set(cudaErrorInvalidDeviceFunction);
	error = rt_kernel_slow(sym, &k);
	/* The handle may come back as the func of a launch. */
	if (error == cudaSuccess)
		error = rt_adopt_kernel(k, sym);
	if (error == cudaSuccess)
		*kernel = k;
	return rt_set(error);
}
