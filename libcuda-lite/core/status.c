/* SPDX-License-Identifier: MIT */
/*
 * From wire status to CUresult (the one place), and the one way this library speaks to people: a line
 * on stderr.
 */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

int vg_result(uint32_t status)
{
	static const uint16_t map[VGPU_ST_COUNT] = {
		[VGPU_ST_OK] = CUDA_SUCCESS,
		[VGPU_ST_INVALID] = CUDA_ERROR_INVALID_VALUE,
		[VGPU_ST_OUT_OF_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
		[VGPU_ST_NOT_FOUND] = CUDA_ERROR_NOT_FOUND,
		[VGPU_ST_NOT_SUPPORTED] = CUDA_ERROR_NOT_SUPPORTED,
		[VGPU_ST_BAD_HANDLE] = CUDA_ERROR_INVALID_HANDLE,
		[VGPU_ST_INVALID_IMAGE] = CUDA_ERROR_INVALID_IMAGE,
		[VGPU_ST_INVALID_PTX] = CUDA_ERROR_INVALID_PTX,
		[VGPU_ST_NO_BINARY] = CUDA_ERROR_NO_BINARY_FOR_GPU,
		[VGPU_ST_PTX_VERSION] = CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
		[VGPU_ST_INVALID_CONFIG] = CUDA_ERROR_INVALID_VALUE,
		[VGPU_ST_LAUNCH_RESOURCES] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
		[VGPU_ST_LIMIT] = CUDA_ERROR_OUT_OF_MEMORY,
		[VGPU_ST_BUSY] = CUDA_ERROR_NOT_READY,
		[VGPU_ST_PROTOCOL] = CUDA_ERROR_UNKNOWN,
		[VGPU_ST_ILLEGAL_ADDRESS] = CUDA_ERROR_ILLEGAL_ADDRESS,
		[VGPU_ST_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
		[VGPU_ST_ILLEGAL_INSTRUCTION] = CUDA_ERROR_ILLEGAL_INSTRUCTION,
		[VGPU_ST_TRAP] = CUDA_ERROR_LAUNCH_FAILED,
		[VGPU_ST_ASSERT] = CUDA_ERROR_ASSERT,
		[VGPU_ST_TIMEOUT] = CUDA_ERROR_LAUNCH_TIMEOUT,
		[VGPU_ST_CONTEXT_DEAD] = CUDA_ERROR_LAUNCH_FAILED,
		[VGPU_ST_DEVICE_LOST] = CUDA_ERROR_DEVICE_UNAVAILABLE,
		[VGPU_ST_AGENT_LOST] = CUDA_ERROR_DEVICE_UNAVAILABLE,
		[VGPU_ST_INTERNAL] = CUDA_ERROR_UNKNOWN,
		[VGPU_ST_IN_FLIGHT] = CUDA_ERROR_OPERATING_SYSTEM,
	};

	if (status >= VGPU_ST_COUNT)
		return vgpu_status_known(status) ? (int)(status - VGPU_ST_CUDA) : CUDA_ERROR_UNKNOWN;
	return map[status];
}

void vg_say(const char *fmt, ...)
{
	char line[1400];
	va_list ap;
	int n, m;

	n = snprintf(line, sizeof line, "libcuda-lite: ");
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	vg_log(line + 14, (size_t)n - 14);
	line[n++] = '\n';
	/* One write: lines of threads do not mix. Nothing can be done when stderr is closed. */
	if (write(2, line, (size_t)n) < 0)
		return;
}

/* Remembers what was said: 256 names are more than any program tries. */
void vg_unsupported_line(const char *what)
{
	static const char *said[256];
	static struct vg_lock lock;
	char line[200];
	unsigned i;
	int n;

	vg_lock(&lock);
	for (i = 0; i < 256 && said[i]; i++)
		if (!strcmp(said[i], what))
			break;
	if (i < 256 && !said[i]) {
		said[i] = what;
		vg_unlock(&lock);
		vg_say("%s is not supported", what);
		return;
	}
	vg_unlock(&lock);
	/* the log has it each time */
	n = snprintf(line, sizeof line, "%s is not supported", what);
	vg_log(line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}
