/* SPDX-License-Identifier: MIT */
/*
 * Processes side by side: starts itself M times, each a client of its own with the same pattern of
 * allocations (so that a mix-up of two clients' memory shows), and checks every exit status.
 * Arguments: [processes], or "child ID" inside.
 */
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

#define N 2049

static int child(unsigned id)
{
	CUcontext ctx = drv_start("procs");
	CUmodule mod = drv_module(ptx_misc);
	CUfunction f = drv_kernel(mod, "affine");
	uint32_t *got = e2e_malloc(N * 4), *want = e2e_malloc(N * 4);
	CUdeviceptr d = drv_alloc(N * 4);
	uint32_t x = id * 2654435761u + 1, add = id;
	int n = N;

	CK(cuMemsetD32(d, x, N));
	for (unsigned r = 0; r < 10; r++) {
		uint32_t mul = 2 * r + 3;

		LAUNCH(f, 3, 128, 0, NULL, &d, &mul, &add, &n);
		x = x * mul + add;
		e2e_sleep_ms(1);
		for (int i = 0; i < N; i++)
			want[i] = x;
		CK(cuMemcpyDtoH(got, d, N * 4));
		e2e_same_u32("child's memory", got, want, N);
	}
	CK(cuCtxDestroy(ctx));
	return e2e_failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	int procs = argc > 1 ? atoi(argv[1]) : 6, started = 0, status;

	e2e_begin("procs");
	if (argc == 3 && !strcmp(argv[1], "child"))
		return child((unsigned)atoi(argv[2]));
	for (int i = 0; i < procs; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char id[16];

			snprintf(id, sizeof id, "%d", i);
			execl("/proc/self/exe", argv[0], "child", id, (char *)NULL);
			_exit(127);
		}
		if (pid < 0)
			e2e_fail("fork");
		else
			started++;
	}
	while (started > 0 && wait(&status) > 0) {
		started--;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			e2e_fail("a child ended with status 0x%x", (unsigned)status);
	}
	return e2e_end("%d processes at once", procs);
}
