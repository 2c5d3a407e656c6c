/* SPDX-License-Identifier: MIT */
/*
 * The runtime's library API: images that the program loads itself.
 *
 * Called by programs. cudaLibrary_t is CUlibrary and cudaKernel_t is CUkernel; a kernel that is handed
 * out here is made known to rt_find(), because programs launch it through cudaLaunchKernel.
 */
#include "rt.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
				void **jit_values, unsigned int n_jit,
				enum cudaLibraryOption *lib_options, void **lib_values, unsigned int n_lib)
{
	RT_ENTER();
	return rt_cu(cuLibraryLoadData(library, code, (CUjit_option *)jit_options, jit_values, n_jit,
				       (CUlibraryOption *)lib_options, lib_values, n_lib));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fname,
				    enum cudaJitOption *jit_options, void **jit_values, unsigned int n_jit,
				    enum cudaLibraryOption *lib_options, void **lib_values,
				    unsigned int n_lib)
{
	RT_ENTER();
	return rt_cu(cuLibraryLoadFromFile(library, fname, (CUjit_option *)jit_options, jit_values, n_jit,
					   (CUlibraryOption *)lib_options, lib_values, n_lib));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	RT_ENTER();
	return rt_cu(cuLibraryUnload(library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	CUkernel k;
	CUresult result;
	cudaError_t error;

	if (!kernel)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuLibraryGetKernel(&k, library, name);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	error = rt_adopt_kernel(k, NULL);
	if (error == cudaSuccess)
		*kernel = k;
	return rt_set(error);
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library)
{
	RT_ENTER();
	return rt_cu(cuLibraryGetKernelCount(count, library));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int n, cudaLibrary_t library)
{
	unsigned int i, have = 0;
	CUresult result;
	cudaError_t error = cudaSuccess;

	RT_ENTER();
	result = cuLibraryGetKernelCount(&have, library);
	if (result == CUDA_SUCCESS)
		result = cuLibraryEnumerateKernels(kernels, n, library);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	for (i = 0; i < n && i < have && error == cudaSuccess; i++)
		error = rt_adopt_kernel(kernels[i], NULL);
	return rt_set(error);
}

cudaError_t cudaLibraryGetGlobal(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUdeviceptr d = 0;
	CUresult result;

	RT_ENTER();
	result = cuLibraryGetGlobal(ptr ? &d : NULL, bytes, library, name);
	if (result == CUDA_SUCCESS && ptr)
		*ptr = (void *)(uintptr_t)d;
	return rt_cu(result);
}

cudaError_t cudaLibraryGetManaged(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUdeviceptr d = 0;
	CUresult result;

	RT_ENTER();
	result = cuLibraryGetManaged(ptr ? &d : NULL, bytes, library, name);
	if (result == CUDA_SUCCESS && ptr)
		*ptr = (void *)(uintptr_t)d;
	return rt_cu(result);
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fn, cudaLibrary_t library, const char *symbol)
{
	RT_ENTER();
	return rt_cu(cuLibraryGetUnifiedFunction(fn, library, symbol));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
					    int device)
{
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	RT_ENTER();
	return rt_cu(cuKernelSetAttribute((CUfunction_attribute)attr, value, kernel,
					  rt_devices[device].handle));
}
