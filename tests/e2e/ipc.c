/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of another process: what one writes the other sees, in the order of their streams; handles are refused
 * where they mean nothing; who has opened memory keeps it when its owner dies.
 *
 * The other process is this program again: `ipc peer`, which does what comes on its standard input, a struct order each.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

struct order {
	char what;              /* o open, m multiply by 3 and add 1, e open the event, w wait for it and multiply, r record, c close, q quit */
	int which, n;
	CUipcMemHandle mem;
	CUipcEventHandle event;
};
struct answer {
	CUresult r;
	uint32_t first, last;
};

static CUfunction affine;

static void times(CUdeviceptr d, int n, CUstream s)
{
	uint32_t mul = 3, add = 1;

	LAUNCH(affine, (n + 127) / 128, 128, 0, s, &d, &mul, &add, &n);
}

static int peer(void)
{
	CUdeviceptr d[4] = { 0 };
	struct answer a;
	struct order o;
	CUevent event = NULL;
	CUstream s;

	drv_start("ipc peer");
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	while (read(0, &o, sizeof o) == sizeof o && o.what != 'q') {
		CUdeviceptr *p = &d[o.which & 3];

		memset(&a, 0, sizeof a);
		switch (o.what) {
		case 'o':
			a.r = cuIpcOpenMemHandle(p, o.mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
			break;
		case 'e':
			a.r = cuIpcOpenEventHandle(&event, o.event);
			break;
		case 'm':
			times(*p, o.n, NULL);
			break;
		case 'w':       /* behind the other's work, without a look by the processor */
			a.r = cuStreamWaitEvent(s, event, 0);
			times(*p, o.n, s);
			break;
		case 'r':
			a.r = cuEventRecord(event, s);
			break;
		case 'c':
			a.r = cuIpcCloseMemHandle(*p);
			break;
		}
		if (o.what == 'm' && *p) {
			CK(cuMemcpyDtoH(&a.first, *p, 4));
			CK(cuMemcpyDtoH(&a.last, *p + 4 * ((size_t)o.n - 1), 4));
		}
		if (write(1, &a, sizeof a) != sizeof a)
			return 1;
	}
	CK(cuCtxSynchronize());
	return 0;
}

static int to[2], from[2];

static pid_t start(const char *self)
{
	pid_t pid;

	if (pipe(to) || pipe(from))
		e2e_skip("no pipe");
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int i = 3; i < 64; i++)
			close(i);
		execl(self, self, "peer", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	return pid;
}

static struct answer ask(struct order o)
{
	struct answer a = { .r = CUDA_ERROR_UNKNOWN };

	if (write(to[1], &o, sizeof o) != sizeof o || read(from[0], &a, sizeof a) != sizeof a)
		e2e_fail("the other process does not answer to %c", o.what);
	return a;
}

static volatile int go;

static void CUDA_CB stand_still(void *arg)
{
	(void)arg;
	while (!go)
		e2e_sleep_ms(1);
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1000, 1300000 };
	struct order o = { 0 }, bad;
	CUdeviceptr d[2], again;
	unsigned int capable;
	struct answer a;
	CUevent event, no;
	uint32_t v, *host;
	int supported = 0, st = -1;
	CUcontext ctx;
	CUresult r;
	CUstream s;
	pid_t pid;

	if (argc > 1)
		return peer();
	ctx = drv_start("ipc");
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
	if (!supported)
		e2e_skip("IPC_EVENT_SUPPORTED is 0");
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	pid = start(argv[0]);
	for (int i = 0; i < 2; i++) {
		host = e2e_malloc((size_t)sizes[i] * 4);
		for (int k = 0; k < sizes[i]; k++)
			host[k] = (uint32_t)k;
		d[i] = drv_upload(host, (size_t)sizes[i] * 4);
		CK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, d[i]));
		EXPECT_EQ(capable, 1);
		times(d[i], sizes[i], s);
		r = cuIpcGetMemHandle(&o.mem, d[i] + 8);        /* of any place in it: the whole */
		if (r == CUDA_ERROR_NOT_SUPPORTED && i == 0) {
			CK(cuMemcpyDtoH(&v, d[i] + 4 * ((size_t)sizes[i] - 1), 4));
			EXPECT_EQ(v, (uint32_t)(sizes[i] - 1) * 3 + 1);
			o.what = 'q';
			if (write(to[1], &o, sizeof o) != sizeof o)
				return 1;
			waitpid(pid, &st, 0);
			if (e2e_failures)
				return 1;
			e2e_skip("this device's memory is not shared");
		}
		CK(r);
		/* what was there is there still, at the same address */
		times(d[i], sizes[i], s);
		CK(cuStreamSynchronize(s));
		CK(cuMemcpyDtoH(&v, d[i] + 4 * ((size_t)sizes[i] - 1), 4));
		EXPECT_EQ(v, (uint32_t)(sizes[i] - 1) * 9 + 4);
		o.what = 'o';
		o.which = i;
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'm';
		o.n = sizes[i];
		a = ask(o);
		EXPECT_EQ(a.first, 13);
		EXPECT_EQ(a.last, (uint32_t)(sizes[i] - 1) * 27 + 13);
		CK(cuMemcpyDtoH(host, d[i], (size_t)sizes[i] * 4));
		for (int k = 0; k < sizes[i]; k++)
			if (host[k] != (uint32_t)k * 27 + 13) {
				e2e_fail("size %d: element %d is %u", sizes[i], k, host[k]);
				break;
			}
		/* opened twice it is counted, closed too often it is an error */
		o.what = 'o';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'c';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'm';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		WANT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&again, o.mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		bad = o;
		bad.what = 'o';
		bad.which = 3;
		bad.mem.reserved[12] ^= 1;      /* a bit of the name */
		EXPECT_EQ(ask(bad).r, CUDA_ERROR_INVALID_HANDLE);
		memset(&bad.mem, 0xff, sizeof bad.mem);
		EXPECT_EQ(ask(bad).r, CUDA_ERROR_INVALID_HANDLE);
		free(host);
	}
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&o.mem, 4096));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(d[0]));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(NULL, d[0]));

	/* events: the other one's work starts behind ours, and ours goes on behind his */
	CK(cuEventCreate(&no, CU_EVENT_DISABLE_TIMING));
	WANT(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle(&o.event, no));
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
	CK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	CK(cuIpcGetEventHandle(&o.event, event));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenEventHandle(&no, o.event));
	CK(cuEventQuery(event));
	o.what = 'e';
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	CK(cuMemsetD32(d[0], 1, sizes[0]));
	CK(cuCtxSynchronize());
	for (int round = 0; round < 3; round++) {
		go = 0;
		CK(cuLaunchHostFunc(s, stand_still, NULL));
		CK(cuMemsetD32Async(d[0], 10 + round, sizes[0], s));
		CK(cuEventRecord(event, s));
		WANT(CUDA_ERROR_NOT_READY, cuEventQuery(event));
		o.which = 0;
		o.n = sizes[0];
		o.what = 'w';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		o.what = 'r';
		EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
		CK(cuStreamWaitEvent(s, event, 0));
		times(d[0], sizes[0], s);
		go = 1;
		CK(cuEventSynchronize(event));
		CK(cuStreamSynchronize(s));
		CK(cuMemcpyDtoH(&v, d[0], 4));
		EXPECT_EQ(v, (uint32_t)(10 + round) * 9 + 4);
	}
	CK(cuEventDestroy(event));
	/* freed and allocated again: the same pages, its own address */
	CK(cuMemFree(d[0]));
	again = drv_alloc((size_t)sizes[0] * 4);
	EXPECT(again == d[0]);
	CK(cuMemsetD32(again, 7, sizes[0]));
	CK(cuMemcpyDtoH(&v, again + 4 * ((size_t)sizes[0] - 1), 4));
	EXPECT_EQ(v, 7);
	o.what = 'c';
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	EXPECT_EQ(ask(o).r, CUDA_ERROR_INVALID_VALUE);
	/* the owner's context ends: what the other one has opened is there still */
	CK(cuCtxDestroy(ctx));
	o.what = 'm';
	o.which = 1;
	o.n = sizes[1];
	EXPECT_EQ(ask(o).r, CUDA_SUCCESS);
	o.what = 'q';
	if (write(to[1], &o, sizeof o) != sizeof o)
		e2e_fail("pipe");
	waitpid(pid, &st, 0);
	EXPECT_EQ(st, 0);
	return e2e_end("memory and events of two processes");
}
