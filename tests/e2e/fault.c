/* SPDX-License-Identifier: MIT */
/*
 * A kernel that stores to a bad address, or traps: the error comes at the next synchronisation, stays for
 * every later call in that context, and a process beside it (and a new context) works on.
 */
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

enum kind { HOST_POINTER, UNMAPPED, NEAR_NULL, UNBOUND, TRAP };

static const char *const kinds[] = { "host pointer", "unmapped", "near null", "a reference to a texture that is bound to nothing", "trap" };

static const char texture[] =
	".version 6.4\n.target sm_61\n.address_size 64\n.global .texref t;\n"
	".visible .entry fetch(.param .u64 o)\n{\n	.reg .b32 %r<2>;\n	.reg .f32 %f<5>;\n	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [o];\n	mov.u32 %r1, 0;\n	tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\n"
	"	st.global.f32 [%rd1], %f1;\n	ret;\n}\n";

/* In a child process: dies by the given error and checks that it is sticky. */
static int victim(enum kind k)
{
	CUcontext ctx = drv_start("fault");
	CUresult want = k == TRAP ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_ADDRESS;
	CUmodule mod = drv_module(ptx_misc);
	CUfunction die = drv_kernel(mod, "die"), poke = drv_kernel(mod, "poke");
	CUdeviceptr good = drv_alloc(4 * 64 * 4), bad = 0, d;
	unsigned where = 2, who = 33;
	uint32_t word = 0;
	int doit = 1;

	switch (k) {
	case HOST_POINTER:
		bad = (CUdeviceptr)(uintptr_t)&word;
		break;
	case UNMAPPED:
		bad = good + ((size_t)1 << 36);
		break;
	case NEAR_NULL:
		bad = 16;
		break;
	case UNBOUND:
	case TRAP:
		break;
	}
	if (k == UNBOUND)
		LAUNCH(drv_kernel(drv_module(texture), "fetch"), 1, 32, 0, NULL, &good);
	else if (k == TRAP)
		LAUNCH(die, 1, 32, 0, NULL, &doit);
	else
		LAUNCH(poke, 4, 64, 0, NULL, &good, &bad, &where, &who);
	if (k == TRAP) {
		CUresult r = cuCtxSynchronize();

		/* NVIDIA's driver says LAUNCH_FAILED for trap; ILLEGAL_INSTRUCTION is what newer ones say. */
		if (r != CUDA_ERROR_LAUNCH_FAILED && r != CUDA_ERROR_ILLEGAL_INSTRUCTION)
			e2e_fail("trap gave %s", drv_err(r));
		want = r;
	} else {
		WANT(want, cuCtxSynchronize());
	}
	if (word)
		e2e_fail("a kernel wrote into host memory");
	/* Sticky: whatever is asked of this context now gives the same. */
	WANT(want, cuCtxSynchronize());
	WANT(want, cuMemAlloc(&d, 16));
	WANT(want, cuMemcpyDtoH(&word, good, 4));
	WANT(want, cuStreamQuery(NULL));
	WANT(want, cuLaunchKernel(die, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &doit }, NULL));
	(void)ctx;
	return e2e_failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	CUfunction f;
	CUmodule mod;
	CUcontext ctx;
	CUdeviceptr d;
	uint32_t got[100], want[100], value = 1;
	int n = 100;

	e2e_begin("fault");
	if (argc == 2)
		return victim((enum kind)atoi(argv[1]));
	ctx = drv_start("fault");
	mod = drv_module(ptx_misc);
	f = drv_kernel(mod, "fill");
	d = drv_alloc(sizeof got);
	for (int k = HOST_POINTER; k <= TRAP; k++) {
		int status = 0;
		char arg[8];
		pid_t pid;

		/* Something of ours is there before, during and after the neighbour's death. */
		value = 1000 + k;
		LAUNCH(f, 2, 32, 0, NULL, &d, &value, &n);
		snprintf(arg, sizeof arg, "%d", k);
		pid = fork();
		if (pid == 0) {
			execl("/proc/self/exe", argv[0], arg, (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
			e2e_fail("%s: the child ended with status 0x%x", kinds[k], (unsigned)status);
		CK(cuMemcpyDtoH(got, d, sizeof got));
		for (int i = 0; i < n; i++)
			want[i] = value;
		e2e_same_u32("the neighbour's memory", got, want, n);
	}
	CK(cuCtxDestroy(ctx));
	return e2e_end("3 bad addresses, a texture, trap: sticky there, unnoticed here");
}
