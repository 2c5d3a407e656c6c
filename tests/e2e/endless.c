/* SPDX-License-Identifier: MIT */
/*
 * A kernel that never ends: other streams and calls go on beside it, destroying its context ends it, a new
 * context in the same process works; and a process that just exits leaves nothing behind.
 *
 * The kill tests use it as their victim: "hang" prints "running" and waits to be killed; "fork" does so
 * with a child that lives on for some seconds; "wait" waits for the kernel, so that whoever ends the
 * device or the agent is told: it prints the error's name and exits 0.
 */
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

/* Starts the kernel and waits until it is seen to run. */
static void start(volatile uint32_t **alive)
{
	CUmodule mod = drv_module(ptx_misc);
	CUdeviceptr d;
	double end = e2e_now_s() + 5;
	CUstream s;

	CK(cuMemHostAlloc((void **)alive, 64, 0));
	**alive = 0;
	d = (CUdeviceptr)(uintptr_t)*alive;
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	LAUNCH(drv_kernel(mod, "endless"), 1, 1, 0, s, &d);
	while (**alive < 1000 && e2e_now_s() < end)
		e2e_sleep_ms(1);
	if (**alive < 1000)
		e2e_fail("the endless kernel does not run");
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
}

static void check_works(void)
{
	CUfunction f = drv_kernel(drv_module(ptx_misc), "fill");
	uint32_t got[50], want[50], value = 12345;
	CUdeviceptr d = drv_alloc(sizeof got);
	CUstream s;
	int n = 50;

	for (int i = 0; i < 50; i++)
		want[i] = value;
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	LAUNCH(f, 1, 64, 0, s, &d, &value, &n);
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(got, d, sizeof got));
	e2e_same_u32("beside the endless kernel", got, want, 50);
}

static int victim(const char *how)
{
	CUdeviceptr d = drv_alloc(32 << 20);
	CUresult r;

	CK(cuMemsetD8Async(d, 1, 1 << 20, CU_STREAM_PER_THREAD));
	if (!strcmp(how, "exit"))
		exit(e2e_failures ? 1 : 0);	/* leaves by exit() with the kernel running */
	if (!strcmp(how, "fork")) {
		pid_t child = fork();

		if (child == 0) {
			/* Holds what a child inherits: the socket, the memory files, stdout not. Until it is killed. */
			close(1);
			close(2);
			sleep(120);
			_exit(0);
		}
		printf("child %d\n", (int)child);
	}
	printf("running\n");
	if (!strcmp(how, "wait")) {
		r = cuCtxSynchronize();
		printf("%s\n", drv_err(r));
		fflush(stdout);
		_exit(r == CUDA_SUCCESS);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	volatile uint32_t *alive;
	CUcontext ctx = drv_start("endless"), next;
	int status = 0;
	double t;
	pid_t pid;

	start(&alive);
	if (argc == 2)
		return victim(argv[1]);
	check_works();
	t = e2e_now_s();
	CK(cuCtxDestroy(ctx));
	t = e2e_now_s() - t;
	/* What a normal kernel would still have to say may be waited for, but not for long: on a busy machine too. */
	if (t > 20)
		e2e_fail("cuCtxDestroy took %.1f s", t);
	CK(cuCtxCreate_v2(&next, 0, 0));
	check_works();
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "exit", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		e2e_fail("exit with an endless kernel: status 0x%x", (unsigned)status);
	check_works();
	CK(cuCtxDestroy(next));
	return e2e_end("ended by cuCtxDestroy and by exit");
}
