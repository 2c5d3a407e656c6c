/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the interpreter: loads the bytes as PTX and launches each kernel that compiles with
 * a buffer in every parameter that can hold an address. A mutated kernel may do anything a
 * hostile client's may: fault, trap, print, never end. Only a crash of the engine is a failure.
 *
 * A kernel that does not end cannot be taken from its engine, so each input gets a child process
 * of its own, which leaves after a short wait. fuzz_ptx is the fast one; this one is thorough.
 *
 * Build and run: as fuzz_ptx.c says.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ptx/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WAIT_S 0.2
#define MAX_KERNELS 4u

static void launch_all(struct rig *r, uint32_t module)
{
	static unsigned char params[4096];
	struct engine_symbol sym;
	struct engine_func_info fi;
	char log[200];

	for (uint32_t i = 0, n = 0; n < MAX_KERNELS; i++) {
		struct engine_launch l = { .grid = { 2, 1, 1 }, .block = { 40, 1, 1 },
					   .shared_bytes = 256, .params = params };
		unsigned index = 0;

		if (engine_cpu.module_symbol(r->engine, module, i, &sym))
			return;
		if (sym.kind != ENGINE_SYM_FUNC ||
		    engine_cpu.func_info(r->engine, sym.id, &fi, log, sizeof(log)) ||
		    fi.param_bytes > sizeof(params))
			continue;
		n++;
		memset(params, 0, sizeof(params));
		for (uint32_t p = 0; p < fi.nparams; p++)
			if (fi.params[p].bytes == 8) {
				void *buffer = rig_alloc(r, 4096);

				memcpy(params + fi.params[p].offset, &buffer, 8);
			}
		l.fn = sym.id;
		l.param_bytes = fi.param_bytes;
		if (fi.reqntid[0])
			memcpy(l.block, fi.reqntid, sizeof(l.block));
		if (rig_launch(r, &l, &index) == ENGINE_PENDING &&
		    rig_wait(r, index, WAIT_S) == RIG_TIMEOUT)
			return;
		if (r->faults)
			return;
	}
}

static void child(const uint8_t *data, size_t size)
{
	struct rig r;
	char log[200];
	uint32_t module;

	rig_watch_buffers = 0;
	if (rig_open(&r, 1, 9, 0))
		_exit(0);
	if (engine_cpu.module_load(r.engine, data, size, &module, log, sizeof(log)) == VGPU_ST_OK)
		launch_all(&r, module);
	_exit(canary_check(&r.canaries) != 0);
}

/* Where clang counts the edges that were taken: what a child took shall guide its parent. Not there without -fsanitize=fuzzer. */
extern char __start___sancov_cntrs[] __attribute__((weak)), __stop___sancov_cntrs[] __attribute__((weak));

static void share_counters(void)
{
	uintptr_t from = ((uintptr_t)__start___sancov_cntrs + 4095) & ~4095ul, to = (uintptr_t)__stop___sancov_cntrs & ~4095ul;
	static int done;
	void *kept;

	if (done || from >= to)
		return;
	done = 1;
	kept = malloc(to - from);
	memcpy(kept, (void *)from, to - from);
	if (mmap((void *)from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	memcpy((void *)from, kept, to - from);
	free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int status = 0;
	pid_t pid;

	share_counters();
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(data, size);
	if (pid < 0)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) || WEXITSTATUS(status)) {
		printf("fuzz_launch: the child ended with status 0x%x\n", status);
		abort();
	}
	return 0;
}
