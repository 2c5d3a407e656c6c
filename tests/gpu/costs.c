/* SPDX-License-Identifier: MIT */
/*
 * What single calls of a driver cost, and how soon the host learns of the end of work by each way that there is: the engine that hands on to
 * a driver (tools/vgpu-stub/cuda) chooses by these. One line each, "NAME VALUE UNIT"; of a latency the best and the middle one ("-mid").
 * By the driver API alone. A part that the driver refuses says so and the next one goes on; nothing waits without an end.
 *
 *   costs [-q] [-s SECONDS]        -q: little of everything; -s: ends after that long, whatever is missing then (20)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry nothing()\n{\n\tret;\n}\n"
	".visible .entry eight(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h)\n"
	"{\n\tret;\n}\n"
	".visible .entry tell(.param .u64 p, .param .u64 v)\n{\n\t.reg .b64 %rd<3>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u64 %rd2, [v];\n\tst.volatile.global.u64 [%rd1], %rd2;\n\tret;\n}\n";

static int quick;
static CUdevice dev;
static CUcontext ctx;
static CUfunction nothing, eight, tell;
static CUstream stream, stream2;
static uint64_t count;          /* goes up with each round: what a word is waited to be */

#define LIMIT_S 0.5

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 1: it failed, and has been told */
static int failed(CUresult r, const char *what)
{
	const char *s = "?";

	if (!r)
		return 0;
	cuGetErrorName(r, &s);
	fprintf(stderr, "%s: %s\n", what, s);
	return 1;
}
#define TRY(x) do { if (failed(x, #x)) return 1; } while (0)

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void told(const char *name, double *v, int n)
{
	if (!n)
		return;
	qsort(v, (size_t)n, sizeof(*v), by_value);
	printf("%s %.3f us\n%s-mid %.3f us\n", name, v[0] * 1e6, name, v[n / 2] * 1e6);
}

/* ---- calls ----------------------------------------------------------------------------------------- */

enum how { PLAIN, PARAMS, BUFFER, EX, TELL };
static uint64_t eight_values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static CUresult launch(enum how how, CUdeviceptr word, CUstream s)
{
	void *params[8], *two[2] = { &word, &count };
	size_t bytes = sizeof(eight_values);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, eight_values, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, NULL };
	CUlaunchConfig c = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s };

	if (how == PLAIN)
		return cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	if (how == TELL)
		return cuLaunchKernel(tell, 1, 1, 1, 1, 1, 1, 0, s, two, NULL);
	if (how == BUFFER)
		return cuLaunchKernel(eight, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra);
	for (int i = 0; i < 8; i++)
		params[i] = &eight_values[i];
	return how == EX ? cuLaunchKernelEx(&c, eight, params, NULL) : cuLaunchKernel(eight, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

/* A burst of n: what a call costs, and what one costs to the end of all. */
static int bursts(const char *name, enum how how, int n)
{
	double give = 1e9, all = 1e9;

	for (int round = 0; round < (quick ? 1 : 15); round++) {
		double t = now_s(), u;

		for (int i = 0; i < n; i++)
			TRY(launch(how, 0, stream));
		u = now_s() - t;
		TRY(cuStreamSynchronize(stream));
		t = now_s() - t;
		give = u < give ? u : give;
		all = t < all ? t : all;
	}
	printf("%s-call-of-%d %.3f us\n%s-row-of-%d %.3f us\n", name, n, give * 1e6 / n, name, n, all * 1e6 / n);
	return 0;
}

static int part_launch(void)
{
	static const struct { const char *name; enum how how; } a[] = { { "launch", PLAIN }, { "launch-8-params", PARAMS }, { "launch-8-buffer", BUFFER },
									{ "launch-8-ex", EX } };
	int st = 0;

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		for (int n = quick ? 10 : 100; n <= (quick ? 10 : 1000); n *= 10)
			st |= bursts(a[i].name, a[i].how, n);
	return st;
}

/* ---- words ------------------------------------------------------------------------------------------ */

/* A word that the device writes: page-locked memory of the driver's, and a mapped file that is registered, as the client's window is. */
static struct word {
	const char *name;
	volatile uint64_t *host;
	CUdeviceptr dev;
} words[2];
static int nwords;

static int make_words(void)
{
	int fd = memfd_create("costs", MFD_CLOEXEC);
	void *p = NULL, *q;

	TRY(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	TRY(cuMemHostGetDevicePointer_v2(&words[0].dev, p, 0));
	words[0].name = "alloc";
	words[0].host = p;
	nwords = 1;
	if (fd < 0 || ftruncate(fd, 2 << 20))
		return 1;
	q = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (q == MAP_FAILED)
		return 1;
	TRY(cuMemHostRegister_v2(q, 2 << 20, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	TRY(cuMemHostGetDevicePointer_v2(&words[1].dev, q, 0));
	words[1].name = "registered";
	words[1].host = q;
	nwords = 2;
	return 0;
}

static int sees(const struct word *w)
{
	double end = now_s() + LIMIT_S;

	for (unsigned i = 0; *w->host != count; i++) {
		if (!(i & 0xfff) && now_s() > end) {
			fprintf(stderr, "a word is not written\n");
			return 0;
		}
		__builtin_ia32_pause();
	}
	return 1;
}

static CUresult write_word(const struct word *w, unsigned flags, int batch)
{
	CUstreamBatchMemOpParams op[4];

	if (!batch)
		return cuStreamWriteValue64_v2(stream, w->dev, count, flags);
	memset(op, 0, sizeof(op));
	for (int i = 0; i < batch; i++) {
		op[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
		op[i].writeValue.address = w->dev + 64 * (CUdeviceptr)(batch - 1 - i);
		op[i].writeValue.value64 = count;
		op[i].writeValue.flags = flags;
	}
	return cuStreamBatchMemOp_v2(stream, (unsigned)batch, op, 0);
}

static int part_writes(void)
{
	static const struct { const char *name; unsigned flags; int batch; } a[] = {
		{ "write", 0, 0 }, { "write-no-barrier", CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, 0 }, { "batch-of-1", 0, 1 }, { "batch-of-4", 0, 4 } };
	int n = quick ? 10 : 200;

	for (int k = 0; k < nwords; k++)
		for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++) {
			double give = 1e9, all = 1e9;

			for (int round = 0; round < (quick ? 1 : 10); round++) {
				double t = now_s(), u;

				for (int j = 0; j < n; j++) {
					count++;
					TRY(write_word(&words[k], a[i].flags, a[i].batch));
				}
				u = now_s() - t;
				if (!sees(&words[k]))
					return 1;
				t = now_s() - t;
				give = u < give ? u : give;
				all = t < all ? t : all;
			}
			printf("%s-%s-call %.3f us\n%s-%s-row %.3f us\n", a[i].name, words[k].name, give * 1e6 / n, a[i].name, words[k].name,
			       all * 1e6 / n);
		}
	return 0;
}

/* A burst of launches with a write behind every so many of them, to the end of all. 0: one, behind all. */
static int part_every(void)
{
	static const int every[] = { 0, 64, 16, 4, 1 };
	int n = quick ? 20 : 1000;

	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++)
		for (unsigned flags = 0; flags < 2; flags++) {
			double give = 1e9, all = 1e9;

			for (int round = 0; round < (quick ? 1 : 8); round++) {
				double t = now_s(), u;

				for (int j = 1; j <= n; j++) {
					TRY(launch(PLAIN, 0, stream));
					if (j == n || (every[i] && !(j % every[i]))) {
						count++;
						TRY(write_word(&words[0], flags, 0));
					}
				}
				u = now_s() - t;
				if (!sees(&words[0]))
					return 1;
				t = now_s() - t;
				give = u < give ? u : give;
				all = t < all ? t : all;
			}
			printf("write-every-%d%s-call %.3f us\nwrite-every-%d%s-row %.3f us\n", every[i], flags ? "-no-barrier" : "", give * 1e6 / n, every[i],
			       flags ? "-no-barrier" : "", all * 1e6 / n);
		}
	return 0;
}

/* ---- how soon the host knows -------------------------------------------------------------------------- */

static CUevent event;
static volatile uint64_t by_host;

static void CUDA_CB host_says(void *user)
{
	(void)user;
	__atomic_store_n(&by_host, count, __ATOMIC_RELEASE);
}

enum know { BY_KERNEL, BY_SECOND_KERNEL, BY_WRITE, BY_WRITE_NO_BARRIER, BY_BATCH, BY_QUERY, BY_SYNC, BY_EVENT, BY_EVENT_SYNC, BY_HOSTFN, BY_MEMSET };

/* call: seconds until what is to be given has been given */
static int once(enum know how, const struct word *w, double *call)
{
	double t = now_s(), end = t + LIMIT_S;
	CUresult r = CUDA_SUCCESS;

	count++;
	TRY(launch(how == BY_KERNEL ? TELL : PLAIN, w->dev, stream));
	switch (how) {
	case BY_SECOND_KERNEL: r = launch(TELL, w->dev, stream); break;
	case BY_WRITE: case BY_WRITE_NO_BARRIER: r = write_word(w, how == BY_WRITE_NO_BARRIER, 0); break;
	case BY_BATCH: r = write_word(w, 0, 1); break;
	case BY_EVENT: case BY_EVENT_SYNC: r = cuEventRecord(event, stream); break;
	case BY_HOSTFN: r = cuLaunchHostFunc(stream, host_says, NULL); break;
	case BY_MEMSET: r = cuMemsetD32Async(w->dev, (unsigned)count, 1, stream); break;
	default: break;
	}
	*call = now_s() - t;
	TRY(r);
	switch (how) {
	case BY_QUERY:
		while ((r = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && now_s() < end)
			;
		TRY(r);
		return 0;
	case BY_EVENT:
		while ((r = cuEventQuery(event)) == CUDA_ERROR_NOT_READY && now_s() < end)
			;
		TRY(r);
		return 0;
	case BY_EVENT_SYNC:
		TRY(cuEventSynchronize(event));
		return 0;
	case BY_SYNC:
		TRY(cuStreamSynchronize(stream));
		return 0;
	case BY_HOSTFN:
		while (__atomic_load_n(&by_host, __ATOMIC_ACQUIRE) != count && now_s() < end)
			__builtin_ia32_pause();
		return by_host != count;
	default:
		return !sees(w);
	}
}

static int latency(const char *name, enum know how, const struct word *w, const char *which)
{
	int n = quick ? 5 : 400;
	double v[400], c[400];
	char line[80];

	for (int i = -3; i < n; i++) {
		double t = now_s(), call;

		if (once(how, w, &call))
			return 1;
		if (i < 0)
			continue;
		v[i] = now_s() - t;
		c[i] = call;
	}
	TRY(cuStreamSynchronize(stream));
	snprintf(line, sizeof(line), "know-%s%s%s", name, *which ? "-" : "", which);
	told(line, v, n);
	qsort(c, (size_t)n, sizeof(*c), by_value);
	printf("%s-given %.3f us\n", line, c[n / 2] * 1e6);
	return 0;
}

static int part_know(const char *suffix)
{
	static const struct { const char *name; enum know how; int each; } a[] = {
		{ "by-write", BY_WRITE, 1 }, { "by-write-no-barrier", BY_WRITE_NO_BARRIER, 1 }, { "by-batch", BY_BATCH, 0 }, { "by-query", BY_QUERY, 0 }, { "by-sync", BY_SYNC, 0 },
		{ "by-event", BY_EVENT, 0 }, { "by-event-sync", BY_EVENT_SYNC, 0 }, { "by-hostfn", BY_HOSTFN, 0 }, { "by-memset", BY_MEMSET, 1 },
		/* last: where kernels do not reach the host's memory this is the context's end */
		{ "by-second-kernel", BY_SECOND_KERNEL, 1 }, { "by-kernel", BY_KERNEL, 1 } };
	size_t n = sizeof(a) / sizeof(a[0]) - (*suffix ? 2 : 0);
	int st = 0;

	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < (a[i].each && !*suffix ? nwords : 1); k++) {
			char which[40];

			snprintf(which, sizeof(which), "%s%s", a[i].each && !*suffix ? words[k].name : "", suffix);
			st |= latency(a[i].name, a[i].how, &words[k], which);
		}
	return st;
}

/* ---- beside another thread that asks ------------------------------------------------------------------ */

static int asking;
static CUstream asked;

static void *ask(void *unused)
{
	(void)unused;
	if (cuCtxSetCurrent(ctx))
		return NULL;
	while (__atomic_load_n(&asking, __ATOMIC_RELAXED))
		cuStreamQuery(asked);
	return NULL;
}

static int beside(CUstream which, const char *suffix)
{
	pthread_t t;
	char name[40];
	int st;

	asked = which;
	asking = 1;
	if (pthread_create(&t, NULL, ask, NULL))
		return 1;
	usleep(1000);
	st = part_know(suffix);
	snprintf(name, sizeof(name), "launch-%s", suffix);
	st |= bursts(name, PLAIN, quick ? 10 : 100);
	__atomic_store_n(&asking, 0, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	return st;
}

/* ---- graphs ------------------------------------------------------------------------------------------- */

static int graph_of(int nodes)
{
	int n = quick ? 3 : 50, st = 1;
	double call[50], end[50], row, t, one, each = 0;
	CUDA_KERNEL_NODE_PARAMS p;
	void *params[8];
	CUgraphNode *node = calloc((size_t)nodes, sizeof(*node));
	CUgraphExec exec = NULL;
	CUgraph g = NULL;
	size_t got = (size_t)nodes;
	char name[64];

	for (int i = 0; i < 8; i++)
		params[i] = &eight_values[i];
	if (!node || failed(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "capture"))
		goto out;
	for (int i = 0; i < nodes; i++)
		if (failed(launch(PARAMS, 0, stream), "captured launch"))
			goto out;
	if (failed(cuStreamEndCapture(stream, &g), "end of capture"))
		goto out;
	t = now_s();
	if (failed(cuGraphInstantiateWithFlags(&exec, g, 0), "instantiate"))
		goto out;
	one = now_s() - t;
	for (int i = -2; i < n; i++) {
		double u;

		t = now_s();
		if (failed(cuGraphLaunch(exec, stream), "graph launch"))
			goto out;
		u = now_s();
		if (failed(cuStreamSynchronize(stream), "graph end"))
			goto out;
		if (i >= 0) {
			call[i] = u - t;
			end[i] = now_s() - t;
		}
	}
	t = now_s();
	for (int i = 0; i < 10; i++)
		if (failed(cuGraphLaunch(exec, stream), "graph launch"))
			goto out;
	if (failed(cuStreamSynchronize(stream), "graphs in a row"))
		goto out;
	row = (now_s() - t) / 10;
	printf("graph-of-%d-instantiate %.2f us\n", nodes, one * 1e6);
	snprintf(name, sizeof(name), "graph-of-%d-call", nodes);
	told(name, call, n);
	snprintf(name, sizeof(name), "graph-of-%d-end", nodes);
	told(name, end, n);
	printf("graph-of-%d-in-a-row %.2f us\n", nodes, row * 1e6);
	/* with a word behind it, which is how ours learns of the end */
	for (int i = -2; i < n; i++) {
		t = now_s();
		count++;
		if (failed(cuGraphLaunch(exec, stream), "graph launch") || failed(write_word(&words[0], 0, 0), "write") || !sees(&words[0]))
			goto out;
		if (i >= 0)
			end[i] = now_s() - t;
	}
	snprintf(name, sizeof(name), "graph-of-%d-and-write", nodes);
	told(name, end, n);
	if (failed(cuGraphGetNodes(g, node, &got), "nodes") || failed(cuGraphKernelNodeGetParams_v2(node[0], &p), "parameters"))
		goto out;
	p.kernelParams = params;
	p.extra = NULL;
	for (int k = 0; k < 3; k++) {           /* none but one, and all of them are changed before each launch */
		int many = k == 0 ? 1 : k == 1 ? nodes / 10 : nodes;

		if (!many)
			continue;
		for (int i = 0; i < n; i++) {
			double u;

			t = now_s();
			eight_values[0] = (uint64_t)i;
			for (int j = 0; j < many; j++)
				if (failed(cuGraphExecKernelNodeSetParams_v2(exec, node[j], &p), "set parameters"))
					goto out;
			u = now_s();
			each = i ? (u - t < each ? u - t : each) : u - t;
			if (failed(cuGraphLaunch(exec, stream), "changed graph"))
				goto out;
			if (failed(cuStreamSynchronize(stream), "changed graph's end"))
				goto out;
			end[i] = now_s() - t;
		}
		printf("graph-of-%d-set-%d-params %.3f us\n", nodes, many, each * 1e6);
		snprintf(name, sizeof(name), "graph-of-%d-changed-%d-end", nodes, many);
		told(name, end, n);
	}
	st = 0;
out:
	if (exec)
		cuGraphExecDestroy(exec);
	if (g)
		cuGraphDestroy(g);
	free(node);
	return st;
}

/* ---- copies --------------------------------------------------------------------------------------------- */

static int copy_small(const char *name, int out, void *host, CUdeviceptr d, size_t bytes)
{
	int n = quick ? 5 : 200;
	double c[200], v[200];
	char line[80];

	for (int i = 0; i < n; i++) {
		double t = now_s();

		TRY(out ? cuMemcpyDtoHAsync_v2(host, d, bytes, stream) : cuMemcpyHtoDAsync_v2(d, host, bytes, stream));
		c[i] = now_s() - t;
		TRY(cuStreamSynchronize(stream));
		v[i] = now_s() - t;
	}
	snprintf(line, sizeof(line), "copy-%s-%s-%zu-call", out ? "out" : "in", name, bytes);
	told(line, c, n);
	snprintf(line, sizeof(line), "copy-%s-%s-%zu-end", out ? "out" : "in", name, bytes);
	told(line, v, n);
	return 0;
}

static int copy_large(const char *name, int out, uint8_t *host, CUdeviceptr d, size_t bytes, int parts, int streams)
{
	double best = 1e9;

	for (int round = 0; round < (quick ? 1 : 6); round++) {
		double t = now_s();

		for (int i = 0; i < parts; i++) {
			size_t part = bytes / (size_t)parts, at = part * (size_t)i;
			CUstream s = streams > 1 && i % 2 ? stream2 : stream;

			TRY(out ? cuMemcpyDtoHAsync_v2(host + at, d + at, part, s) : cuMemcpyHtoDAsync_v2(d + at, host + at, part, s));
		}
		TRY(cuStreamSynchronize(stream));
		TRY(cuStreamSynchronize(stream2));
		t = now_s() - t;
		best = t < best ? t : best;
	}
	printf("copy-%s-%s-%zuM-in-%d-by-%d %.2f GB/s\n", out ? "out" : "in", name, bytes >> 20, parts, streams, (double)bytes / best * 1e-9);
	return 0;
}

static int part_copies(void)
{
	static const size_t small[] = { 4, 1024, 16 << 10, 64 << 10, 1 << 20 };
	size_t bytes = quick ? 2 << 20 : 64 << 20;
	int fd = memfd_create("copies", MFD_CLOEXEC), st = 0;
	struct { const char *name; void *p; } m[3] = { { "alloc", NULL }, { "registered", NULL }, { "pageable", NULL } };
	CUdeviceptr d;

	TRY(cuMemAlloc_v2(&d, bytes));
	TRY(cuMemHostAlloc(&m[0].p, bytes, CU_MEMHOSTALLOC_PORTABLE));
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return 1;
	m[1].p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	m[2].p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m[1].p == MAP_FAILED || m[2].p == MAP_FAILED)
		return 1;
	TRY(cuMemHostRegister_v2(m[1].p, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	for (int k = 0; k < 3; k++)
		for (int out = 0; out < 2; out++) {
			for (size_t i = 0; i < sizeof(small) / sizeof(small[0]) - (size_t)quick; i++)
				st |= copy_small(m[k].name, out, m[k].p, d, small[i]);
			st |= copy_large(m[k].name, out, m[k].p, d, bytes, 1, 1);
			if (k == 2)
				continue;
			st |= copy_large(m[k].name, out, m[k].p, d, bytes, 2, 1);
			st |= copy_large(m[k].name, out, m[k].p, d, bytes, 2, 2);
			st |= copy_large(m[k].name, out, m[k].p, d, bytes, 32, 1);
		}
	cuMemHostUnregister(m[1].p);
	munmap(m[1].p, bytes);
	munmap(m[2].p, bytes);
	cuMemFreeHost(m[0].p);
	cuMemFree_v2(d);
	return st;
}

/* ---- the small change ------------------------------------------------------------------------------------ */

#define TIMES(name, call) do { \
	double t_ = now_s(); \
	int n_ = quick ? 5 : 500; \
	CUresult r_ = CUDA_SUCCESS; \
	for (int i_ = 0; i_ < n_ && !r_; i_++) \
		r_ = call; \
	t_ = now_s() - t_; \
	if (!failed(r_, name)) \
		printf("%s %.3f us\n", name, t_ * 1e6 / n_); \
} while (0)

static CUresult alloc_and_free(void)
{
	CUdeviceptr d;
	CUresult r = cuMemAlloc_v2(&d, 2 << 20);

	return r ? r : cuMemFree_v2(d);
}

static int part_small(void)
{
	CUcontext c;

	TIMES("idle-query", cuStreamQuery(stream));
	TIMES("idle-sync", cuStreamSynchronize(stream));
	TIMES("set-current", cuCtxSetCurrent(ctx));
	TIMES("get-current", cuCtxGetCurrent(&c));
	TIMES("event-record", cuEventRecord(event, stream));
	TIMES("event-query", cuEventQuery(event) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuEventQuery(event));
	TIMES("wait-event", cuStreamWaitEvent(stream2, event, 0));
	TRY(cuStreamSynchronize(stream2));
	TIMES("fill-call", cuMemsetD32Async(words[0].dev, 0, 1, stream));
	TRY(cuStreamSynchronize(stream));
	TIMES("alloc-and-free-2M", alloc_and_free());
	return 0;
}

/* ---- contexts ---------------------------------------------------------------------------------------------- */

static int open_context(unsigned flags)
{
	CUmodule m;

	TRY(cuCtxCreate_v2(&ctx, flags, dev));
	TRY(cuModuleLoadData(&m, ptx));
	TRY(cuModuleGetFunction(&nothing, m, "nothing"));
	TRY(cuModuleGetFunction(&eight, m, "eight"));
	TRY(cuModuleGetFunction(&tell, m, "tell"));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	TRY(cuStreamCreate(&stream2, CU_STREAM_NON_BLOCKING));
	TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	return launch(PLAIN, 0, stream) || cuStreamSynchronize(stream);
}

static void late(int signal)
{
	static const char text[] = "error: the time is up\n";

	(void)signal;
	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

int main(int argc, char **argv)
{
	static const struct { unsigned flags; const char *name; } ways[] = { { CU_CTX_SCHED_SPIN, "spin" }, { CU_CTX_SCHED_YIELD, "yield" },
									     { CU_CTX_SCHED_BLOCKING_SYNC, "blocking" } };
	unsigned seconds = 20;
	char name[128];
	int o, st = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((o = getopt(argc, argv, "qs:")) != -1)
		switch (o) {
		case 'q': quick = 1; break;
		case 's': seconds = (unsigned)atoi(optarg); break;
		default: return 2;
		}
	signal(SIGALRM, late);
	alarm(seconds);
	if (failed(cuInit(0), "cuInit") || failed(cuDeviceGet(&dev, 0), "cuDeviceGet") || failed(cuDeviceGetName(name, sizeof(name), dev), "name"))
		return 1;
	printf("device %s\n", name);
	if (open_context(0))
		return 1;
	st |= make_words();
	st |= part_launch();
	st |= part_writes();
	st |= part_every();
	st |= part_small();
	for (int nodes = quick ? 10 : 1; nodes <= (quick ? 10 : 1000); nodes *= 10)
		st |= graph_of(nodes);
	st |= part_copies();
	st |= beside(stream2, "beside-idle");
	st |= beside(stream, "beside-same");
	st |= part_know("");
	/* how the driver's own waits spend their time is a context's affair */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		cuCtxDestroy_v2(ctx);
		if (open_context(ways[i].flags) || make_words())
			return 1;
		st |= latency("by-sync", BY_SYNC, &words[0], ways[i].name);
		st |= latency("by-event-sync", BY_EVENT_SYNC, &words[0], ways[i].name);
		st |= latency("by-write", BY_WRITE, &words[0], ways[i].name);
		st |= latency("by-hostfn", BY_HOSTFN, &words[0], ways[i].name);
	}
	cuCtxDestroy_v2(ctx);
	printf("end %d\n", st);
	return 0;
}
