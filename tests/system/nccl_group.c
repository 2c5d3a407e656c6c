/* SPDX-License-Identifier: MIT */
/*
 * All devices of one process by one thread, as nccl-tests' -g has it: a communicator each, in groups, by ncclCommInitAll and by
 * ncclCommInitRank; sums, gathers and a ring of sends, checked on every device. Prints "ok" or what is wrong.
 *
 *   nccl_group DEVICES
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 4
#define N 30000
#define CK(call) do { int r_ = (int)(call); if (r_) { printf("%d: %s: %d (%s)\n", __LINE__, #call, r_, ncclGetLastError(NULL)); exit(1); } } while (0)

static int n;
static ncclComm_t comm[MOST];
static cudaStream_t stream[MOST];
static float *in[MOST], *out[MOST], *host;

static float value(int rank, int i) { return (float)(i % 1000 + 7 * rank); }

/* What rank has at i, by each operation. */
static float summed(int rank, int i)
{
	float v = 0;

	(void)rank;
	for (int r = 0; r < n; r++)
		v += value(r, i);
	return v;
}
static float gathered(int rank, int i) { return (void)rank, value(i / N, i % N); }
static float passed_on(int rank, int i) { return value((rank + n - 1) % n, i); }

static void look(const char *what, float (*want)(int, int), int count)
{
	for (int d = 0; d < n; d++) {
		CK(cudaSetDevice(d));
		CK(cudaStreamSynchronize(stream[d]));
		CK(cudaMemcpy(host, out[d], (size_t)count * 4, cudaMemcpyDeviceToHost));
		CK(cudaMemset(out[d], 0, (size_t)count * 4));
		for (int i = 0; i < count; i++)
			if (host[i] != want(d, i)) {
				printf("%s: device %d has %g at %d, not %g\n", what, d, (double)host[i], i, (double)want(d, i));
				exit(1);
			}
	}
}

static void work(void)
{
	for (int round = 0; round < 3; round++) {
		CK(ncclGroupStart());
		for (int d = 0; d < n; d++)
			CK(ncclAllReduce(in[d], out[d], N, ncclFloat, ncclSum, comm[d], stream[d]));
		CK(ncclGroupEnd());
	}
	look("AllReduce", summed, N);
	CK(ncclGroupStart());
	for (int d = 0; d < n; d++)
		CK(ncclAllGather(in[d], out[d], N, ncclFloat, comm[d], stream[d]));
	CK(ncclGroupEnd());
	look("AllGather", gathered, n * N);
	CK(ncclGroupStart());
	for (int d = 0; d < n; d++) {
		CK(ncclSend(in[d], N, ncclFloat, (d + 1) % n, comm[d], stream[d]));
		CK(ncclRecv(out[d], N, ncclFloat, (d + n - 1) % n, comm[d], stream[d]));
	}
	CK(ncclGroupEnd());
	look("a ring", passed_on, N);
	for (int d = 0; d < n; d++)
		CK(ncclCommDestroy(comm[d]));
}

int main(int argc, char **argv)
{
	ncclUniqueId id;

	CK(cudaGetDeviceCount(&n));
	host = malloc(MOST * N * sizeof(*host));
	if (argc != 2 || n != atoi(argv[1]) || n > MOST || !host) {
		printf("%d devices\n", n);
		return 1;
	}
	for (int d = 0; d < n; d++) {
		CK(cudaSetDevice(d));
		CK(cudaStreamCreate(&stream[d]));
		CK(cudaMalloc((void **)&in[d], N * 4));
		CK(cudaMalloc((void **)&out[d], (size_t)n * N * 4));
		for (int i = 0; i < N; i++)
			host[i] = value(d, i);
		CK(cudaMemcpy(in[d], host, N * 4, cudaMemcpyHostToDevice));
	}
	CK(ncclCommInitAll(comm, n, NULL));
	work();
	CK(ncclGetUniqueId(&id));
	CK(ncclGroupStart());
	for (int d = 0; d < n; d++) {
		CK(cudaSetDevice(d));
		CK(ncclCommInitRank(&comm[d], n, id, d));
	}
	CK(ncclGroupEnd());
	work();
	puts("ok");
	return 0;
}
