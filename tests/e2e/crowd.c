/* SPDX-License-Identifier: MIT */
/*
 * A crowd: P processes of T threads, every thread running the whole computing suite (vector add, reduction, matrix
 * product, histogram, scan) in a stream of its own against the reference, all at once.
 * Arguments: [processes [threads [rounds]]], "child" in front of the last two inside.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(vecadd);
E2E_PTX(reduce);
E2E_PTX(matmul);
E2E_PTX(hist);
E2E_PTX(scan);

#define MAX_THREADS 32
#define N 3001

static CUcontext ctx;
static CUfunction f_vecadd, f_sum, f_matmul, f_hist, f_scan;
static int rounds = 2;

struct room {		/* what a thread works with */
	CUstream s;
	CUdeviceptr a, b, c, small;
	uint32_t in[N], out[N], want[N];
};

static void get(struct room *r, CUdeviceptr from, size_t bytes)
{
	CK(cuMemcpyDtoHAsync(r->out, from, bytes, r->s));
	CK(cuStreamSynchronize(r->s));
}

static void one_round(struct room *r, uint32_t seed)
{
	float *fin = (float *)r->in, *fwant = (float *)r->want;
	uint32_t sum = 0;
	int n = N, dim = 20, blocks = 5;
	void *args[] = { &r->a, &r->b, &r->c, &dim, &dim, &dim };

	for (int i = 0; i < N; i++) {
		fin[i] = (float)(e2e_rand(&seed) % 1000);
		fwant[i] = fin[i] + fin[i];
	}
	CK(cuMemcpyHtoDAsync(r->a, r->in, sizeof r->in, r->s));
	CK(cuMemcpyDtoDAsync(r->b, r->a, sizeof r->in, r->s));
	LAUNCH(f_vecadd, (N + 127) / 128, 128, 0, r->s, &r->a, &r->b, &r->c, &n);
	get(r, r->c, sizeof r->in);
	e2e_same_f32("vecadd", (float *)r->out, fwant, N);

	/* a and b hold the same 20 x 20 matrix of integers below 1000: sums are exact. */
	for (int i = 0; i < dim; i++)
		for (int j = 0; j < dim; j++) {
			fwant[i * dim + j] = 0;
			for (int k = 0; k < dim; k++)
				fwant[i * dim + j] += fin[i * dim + k] * fin[k * dim + j];
		}
	CK(cuLaunchKernel(f_matmul, 2, 2, 1, 16, 16, 1, 0, r->s, args, NULL));
	get(r, r->c, dim * dim * 4);
	e2e_same_f32("matmul", (float *)r->out, fwant, dim * dim);

	for (int i = 0; i < N; i++) {
		r->in[i] = e2e_rand(&seed);
		sum += r->in[i];
	}
	CK(cuMemcpyHtoDAsync(r->a, r->in, sizeof r->in, r->s));
	LAUNCH(f_sum, blocks, 128, 0, r->s, &r->a, &r->small, &n);
	LAUNCH(f_sum, 1, 32, 0, r->s, &r->small, &r->c, &blocks);
	get(r, r->c, 4);
	e2e_same_u32("reduce", r->out, &sum, 1);

	n = N * 4;
	memset(r->want, 0, 1024);
	for (int i = 0; i < n; i++)
		r->want[((unsigned char *)r->in)[i]]++;
	CK(cuMemsetD32Async(r->c, 0, 256, r->s));
	LAUNCH(f_hist, 3, 128, 0, r->s, &r->a, &r->c, &n);
	get(r, r->c, 1024);
	e2e_same_u32("hist", r->out, r->want, 256);

	n = N;
	sum = 0;
	for (int i = 0; i < N; i++) {
		sum += r->in[i];
		r->want[i] = sum;
	}
	CK(cuMemsetD8Async(r->b, 0, 1024, r->s));
	LAUNCH(f_scan, (N + 127) / 128, 128, 0, r->s, &r->a, &r->c, &r->b, &n);
	get(r, r->c, sizeof r->in);
	e2e_same_u32("scan", r->out, r->want, N);
}

static void *work(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	struct room *r = e2e_malloc(sizeof *r);

	CK(cuCtxSetCurrent(ctx));
	CK(cuStreamCreate(&r->s, CU_STREAM_NON_BLOCKING));
	r->a = drv_alloc(sizeof r->in);
	r->b = drv_alloc(sizeof r->in);
	r->c = drv_alloc(sizeof r->in);
	r->small = drv_alloc(1024);
	for (int i = 0; i < rounds; i++)
		one_round(r, id * 1000003u + i + 1);
	CK(cuMemFree(r->a));
	CK(cuMemFree(r->b));
	CK(cuMemFree(r->c));
	CK(cuMemFree(r->small));
	CK(cuStreamDestroy(r->s));
	free(r);
	return NULL;
}

static int child(unsigned id, int threads)
{
	pthread_t t[MAX_THREADS];

	ctx = drv_start("crowd");
	f_vecadd = drv_kernel(drv_module(ptx_vecadd), "vecadd");
	f_sum = drv_kernel(drv_module(ptx_reduce), "reduce_sum");
	f_matmul = drv_kernel(drv_module(ptx_matmul), "matmul");
	f_hist = drv_kernel(drv_module(ptx_hist), "histogram");
	f_scan = drv_kernel(drv_module(ptx_scan), "scan_chained");
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(id * MAX_THREADS + i)))
			drv_die(__FILE__, __LINE__, "pthread_create", CUDA_ERROR_UNKNOWN);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	CK(cuCtxDestroy(ctx));
	return e2e_failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	int procs = 16, threads = 4, started = 0, status;

	e2e_begin("crowd");
	if (argc == 5 && !strcmp(argv[1], "child")) {
		rounds = atoi(argv[4]);
		return child((unsigned)atoi(argv[2]), atoi(argv[3]));
	}
	if (argc > 1)
		procs = atoi(argv[1]);
	if (argc > 2)
		threads = atoi(argv[2]);
	if (argc > 3)
		rounds = atoi(argv[3]);
	if (procs < 1 || procs > 256 || threads < 1 || threads > MAX_THREADS || rounds < 1)
		e2e_skip("usage: crowd [processes [threads [rounds]]]");
	for (int i = 0; i < procs; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char id[16], t[16], r[16];

			snprintf(id, sizeof id, "%d", i);
			snprintf(t, sizeof t, "%d", threads);
			snprintf(r, sizeof r, "%d", rounds);
			execl("/proc/self/exe", argv[0], "child", id, t, r, (char *)NULL);
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
			e2e_fail("a process ended with status 0x%x", (unsigned)status);
	}
	return e2e_end("%d processes x %d threads x %d rounds of 5 programs", procs, threads, rounds);
}
