/* SPDX-License-Identifier: MIT */
/*
 * fork: every call of the child answers CUDA_ERROR_NOT_INITIALIZED, whatever the parent was doing; the parent goes
 * on, also when the child ends; a child that execs is a new client.
 */
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

static int child(CUcontext ctx, CUstream s, CUfunction f, CUdeviceptr d, int n)
{
	uint32_t value = 666, word;
	void *args[] = { &d, &value, &n };
	CUdeviceptr p;
	int count;

	WANT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&p, 100));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuCtxSetCurrent(ctx));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, s, args, NULL));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(s));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuMemcpyDtoH(&word, d, 4));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
	return e2e_failures ? 1 : 0;
}

int main(void)
{
	CUcontext ctx = drv_start("forks");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "fill");
	uint32_t got[99], want[99];
	CUdeviceptr d = drv_alloc(sizeof got);
	int n = 99, status;
	CUstream s;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t round = 0; round < 4; round++) {
		uint32_t value = 70 + round;
		pid_t pid;

		LAUNCH(f, 2, 64, 0, s, &d, &value, &n);
		pid = fork();
		if (pid == 0) {
			/* exit() runs the library's handlers in the child; they must touch nothing of the parent's. */
			int bad = child(ctx, s, f, d, n);

			if (round & 1)
				exit(bad);
			_exit(bad);
		}
		if (round < 2) {
			/* Work beside the living child. */
			value += 1000;
			LAUNCH(f, 2, 64, 0, s, &d, &value, &n);
		}
		status = -1;
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
			e2e_fail("the child ended with status 0x%x", (unsigned)status);
		CK(cuStreamSynchronize(s));
		CK(cuMemcpyDtoH(got, d, sizeof got));
		for (int i = 0; i < n; i++)
			want[i] = value;
		e2e_same_u32("parent after fork", got, want, n);
	}
	CK(cuCtxDestroy(ctx));
	return e2e_end("child NOT_INITIALIZED, parent goes on, 4 times");
}
