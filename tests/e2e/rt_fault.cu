/* SPDX-License-Identifier: MIT */
/*
 * Errors of kernels over the runtime API: sticky until the process ends; and fork, whose child has no device while
 * the parent goes on. printf comes out as well.
 */
#include <sys/wait.h>

#include "rt.h"

#include "kernels/misc.cu"

static int victim(void)
{
	uint32_t *good = rt_alloc<uint32_t>(256), *p, word;

	poke<<<4, 64>>>(good, (uint32_t *)16, 3, 63);
	RWANT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
	RWANT(cudaErrorIllegalAddress, cudaGetLastError());
	RWANT(cudaErrorIllegalAddress, cudaMalloc((void **)&p, 4));
	RWANT(cudaErrorIllegalAddress, cudaMemcpy(&word, good, 4, cudaMemcpyDeviceToHost));
	return e2e_failures ? 1 : 0;
}

static void wait_ok(pid_t pid, const char *what)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		e2e_fail("%s ended with status 0x%x", what, (unsigned)status);
}

int main(int argc, char **argv)
{
	uint32_t got[99], want[99], *d;
	pid_t pid;

	rt_start("rt_fault");
	if (argc == 2)
		return victim();
	d = rt_alloc<uint32_t>(99);
	fill<<<2, 64>>>(d, 5u, 99);
	LAUNCHED();
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "victim", (char *)NULL);
		_exit(127);
	}
	wait_ok(pid, "the victim");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* No device in a forked child; NVIDIA's runtime says initialization error. */
		RWANT(cudaErrorInitializationError, cudaDeviceSynchronize());
		RWANT(cudaErrorInitializationError, cudaMemset(d, 0, 4));
		_exit(e2e_failures ? 1 : 0);
	}
	wait_ok(pid, "the forked child");
	rt_download(got, d, 99);
	for (int i = 0; i < 99; i++)
		want[i] = 5;
	e2e_same_u32("after the neighbour's fault and a fork", got, want, 99);
	RK(cudaFree(d));
	return e2e_end("illegal address sticky there, unnoticed here; fork");
}
