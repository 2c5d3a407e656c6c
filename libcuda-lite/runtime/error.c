/* SPDX-License-Identifier: MIT */
/*
 * Errors: the one place where a CUresult becomes a cudaError_t, the thread's last error, names and texts.
 *
 * Called by every other file of the runtime. Invariant: an error that killed the context stays the
 * thread's last error until cudaDeviceReset, as CUDA documents it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt.h"

VGPU_TLS_HERE(struct rt_thread, vgpu_rt_self);
atomic_uint rt_resets;

cudaError_t rt_translate(CUresult result)
{
	/* The two lists share their numbers, except where the runtime never had the driver's code. */
	switch (result) {
	case CUDA_ERROR_INVALID_CONTEXT:
		return cudaErrorDeviceUninitialized;
	case CUDA_ERROR_CONTEXT_ALREADY_CURRENT:
	case CUDA_ERROR_KEY_ROTATION:
		return cudaErrorUnknown;
	default:
		break;
	}
	switch ((int)result) {
#define RT_CASE(name, value, text) case value:
	CUDA_LITE_RUNTIME_ERROR_LIST(RT_CASE)
#undef RT_CASE
		return (cudaError_t)result;
	}
	return cudaErrorUnknown;
}

/* Errors after which the context can do nothing more (CUDA runtime API, "cudaError_t"). */
static int rt_sticky(cudaError_t error)
{
	switch (error) {
	case cudaErrorECCUncorrectable:
	case cudaErrorNvlinkUncorrectable:
	case cudaErrorContained:
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
	case cudaErrorTensorMemoryLeak:
	case cudaErrorExternalDevice:
		return 1;
	default:
		return 0;
	}
}

cudaError_t rt_set(cudaError_t error)
{
	/* The programming guide ("Error Checking"): NotReady is an answer and never the last error. */
	if (__builtin_expect(error != cudaSuccess && error != cudaErrorNotReady, 0)) {
		rt_self.last = error;
		rt_self.last_reset = atomic_load_explicit(&rt_resets, memory_order_relaxed);
	}
	return error;
}

cudaError_t rt_cu(CUresult result)
{
	if (__builtin_expect(result == CUDA_SUCCESS, 1))
		return cudaSuccess;
	return rt_set(rt_translate(result));
}

cudaError_t cudaPeekAtLastError(void)
{
	struct rt_thread *t = &rt_self;

	/* A reset of the device by any thread ends what was sticky before it. */
	if (rt_sticky(t->last) && t->last_reset != atomic_load_explicit(&rt_resets, memory_order_relaxed))
		t->last = cudaSuccess;
	return t->last;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = cudaPeekAtLastError();

	if (!rt_sticky(error))
		rt_self.last = cudaSuccess;
	return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
	switch ((int)error) {
#define RT_NAME(name, value, text) case value: return #name;
	CUDA_LITE_RUNTIME_ERROR_LIST(RT_NAME)
#undef RT_NAME
	}
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch ((int)error) {
#define RT_TEXT(name, value, text) case value: return text;
	CUDA_LITE_RUNTIME_ERROR_LIST(RT_TEXT)
#undef RT_TEXT
	}
	return "unrecognized error code";
}

static void rt_say(const char *line, size_t len)
{
	/* One write, so that lines of several threads do not mix; a closed stderr is not our problem. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

/* An entry point that exists only so that programs load. */
/* The error log is the driver's. */

cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t fn, void *user, cudaLogsCallbackHandle *callback)
{
	return rt_cu(cuLogsRegisterCallback((CUlogsCallback)fn, user, callback));
}

cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
	return rt_cu(cuLogsUnregisterCallback(callback));
}

cudaError_t cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags)
{
	return rt_cu(cuLogsCurrent(iterator, flags));
}

cudaError_t cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned int flags)
{
	return rt_cu(cuLogsDumpToFile(iterator, path, flags));
}

cudaError_t cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	return rt_cu(cuLogsDumpToMemory(iterator, buffer, size, flags));
}

cudaError_t rt_unsupported(atomic_uint *said, const char *name)
{
	char line[160];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu libcudart: %s is not supported\n", name);
		if (n > 0)
			rt_say(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	}
	return rt_set(cudaErrorNotSupported);
}

/* For failures that have no caller to return to. */
void rt_complain(const char *what, const char *name, CUresult result)
{
	char line[320];
	int n = snprintf(line, sizeof(line), "vgpu libcudart: %s %s: %s\n", what, name,
			 cudaGetErrorString(rt_translate(result)));

	if (n > 0)
		rt_say(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
