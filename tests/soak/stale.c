/* SPDX-License-Identifier: MIT */
/*
 * A thread that looks at its agent, finds it gone, and is then kept from the processor until the process has a session with the next
 * agent: what it tells then is of the old one, and must not end the new one. poll() is ours, so that it can be kept right there.
 *
 *   stale          says "running PID", "held" when the thread is; at a line on stdin it makes a new session, lets the thread go on, and
 *                  computes: "went on"
 */
#include <cuda.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int armed, held, go;             /* atomics */
static _Thread_local int watched;

static void nap(void)
{
	usleep(1000);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	int got = (int)syscall(SYS_ppoll, fds, n, ms < 0 ? NULL : &t, NULL, 0);

	if (watched && got == 1 && n == 1 && ms == 0 && fds[0].events == POLLIN && __atomic_load_n(&armed, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
			nap();
	}
	return got;
}

static CUcontext ctx;
static CUstream stream;

static void *asks(void *unused)
{
	CUresult r;

	(void)unused;
	if (cuCtxSetCurrent(ctx))
		return NULL;
	watched = 1;
	do
		r = cuStreamQuery(stream);
	while (r == CUDA_ERROR_NOT_READY);
	printf("the thread was told %d\n", (int)r);
	return NULL;
}

#define DO(call) do { CUresult r_ = (call); if (r_) { printf("%s: %d\n", #call, (int)r_); return 1; } } while (0)

int main(void)
{
	uint32_t *word, value = 0;
	pthread_t t;
	CUdeviceptr p;
	char line[16];
	CUresult r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&ctx, 0));
	DO(cuCtxSetCurrent(ctx));
	DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	DO(cuMemAllocHost((void **)&word, 4096));
	*word = 0;
	DO(cuStreamWaitValue32(stream, (CUdeviceptr)(uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_EQ));
	__atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
	if (pthread_create(&t, NULL, asks, NULL))
		return 1;
	printf("running %d\n", (int)getpid());
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		nap();
	printf("held\n");
	if (!fgets(line, sizeof line, stdin))
		return 1;
	r = cuCtxSynchronize();
	if (!r) {
		printf("the main thread was told nothing\n");
		return 1;
	}
	DO(cuDevicePrimaryCtxReset(0));
	DO(cuDevicePrimaryCtxRetain(&ctx, 0));
	DO(cuCtxSetCurrent(ctx));
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	DO(cuMemAlloc(&p, 4096));
	DO(cuMemsetD32(p, 0x12345678, 1024));
	DO(cuMemcpyDtoH(&value, p + 4092, 4));
	if (value != 0x12345678)
		return 1;
	printf("went on\n");
	return 0;
}
