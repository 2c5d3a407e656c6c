/* SPDX-License-Identifier: MIT */
/*
 * The outside of native.h: a CUDA program whose context does the attack, and that says what came of it.
 *
 *   native --list      NAME, what is wanted, and what it does; a line each
 *   native NAME        prints "died", "refused ERRNO", "done VALUE" or "unfinished"; exit 0. 3: the context does not do what it is
 *                      told, because the device is not the one of the tests
 */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>

#define LONGEST_S 100           /* an emulated machine, and a flood to its end */
#define ANSWER_S  3             /* for the stream's end, once the context has done it: who took its queue block away never tells of it */

static const struct { const char *name, *want, *what; } attacks[NATIVE_COUNT] = {
#define X(name, want, what) [NATIVE_##name] = { #name, #want, what },
	NATIVE_ATTACKS(X)
	NATIVE_BEYOND(X)
	NATIVE_CGROUP(X)
#undef X
#define X(name) [NATIVE_CALL_##name] = { "call_" #name, "died", "the system call " #name },
	NATIVE_CALLS(X)
#undef X
};

static void ck(CUresult r, const char *what)
{
	const char *name = "?";

	if (r == CUDA_SUCCESS)
		return;
	cuGetErrorName(r, &name);
	printf("cannot begin: %s: %s\n", what, name);
	exit(2);
}

static int attack(unsigned n)
{
	volatile struct native_outcome *o;
	CUcontext ctx;
	CUdevice dev;
	CUstream s;
	CUresult r = CUDA_ERROR_NOT_READY;
	time_t until, done = 0;
	void *p;

	ck(cuInit(0), "cuInit");
	ck(cuDeviceGet(&dev, 0), "cuDeviceGet");
	ck(cuCtxCreate(&ctx, NULL, 0, dev), "cuCtxCreate");
	ck(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	ck(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	memset(p, 0, 4096);
	o = p;
	ck(cuStreamWriteValue64(s, (CUdeviceptr)(uintptr_t)p, (uint64_t)NATIVE_MAGIC << 32 | n, 0), "cuStreamWriteValue64");
	until = time(NULL) + (n == NATIVE_endless ? 1 : LONGEST_S);
	while (time(NULL) < until && (r = cuStreamQuery(s)) == CUDA_ERROR_NOT_READY) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		if (o->state > 1 && !done)
			until = (done = time(NULL)) + ANSWER_S;
	}
	if (!o->state) {
		printf("the context did nothing\n");
		return 3;
	}
	if (o->state == 1)
		printf(r == CUDA_ERROR_NOT_READY ? "unfinished\n" : "died\n");
	else if (o->value < 0)
		printf("refused %s\n", strerror((int)-o->value));
	else
		printf("done %lld\n", (long long)o->value);
	return 0;
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc == 2 && i < NATIVE_COUNT; i++) {
		if (!strcmp(argv[1], attacks[i].name))
			return attack(i);
		if (!strcmp(argv[1], "--list"))
			printf("%s\t%s\t%s\n", attacks[i].name, attacks[i].want, attacks[i].what);
	}
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return 0;
	fprintf(stderr, "usage: native --list | NAME\n");
	return 2;
}
