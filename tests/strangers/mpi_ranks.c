/* SPDX-License-Identifier: MIT */
/*
 * An MPI program of which each rank is a client of the device: mpi_ranks host|nccl|device. What every rank made in a kernel is summed up
 * by MPI in the host's memory, by NCCL on the device (its id by MPI_Bcast), or by MPI with the device's own pointers. Prints "rank R of N: ok".
 */
#include <cuda.h>
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N (1 << 18)
#define CHECK(x) do { if (x) { printf("rank %d: line %d: %s\n", rank, __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

/* p[i] = i * factor */
static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry fill(.param .u64 p, .param .u32 f){ .reg .b32 %r<6>;"
	" .reg .b64 %d<4>; .reg .f32 %f; ld.param.u64 %d1,[p]; ld.param.u32 %r1,[f]; mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x; mov.u32 %r4,%tid.x;"
	" mad.lo.u32 %r5,%r2,%r3,%r4; mul.wide.u32 %d2,%r5,4; add.u64 %d3,%d1,%d2; mul.lo.u32 %r5,%r5,%r1; cvt.rn.f32.u32 %f,%r5;"
	" st.global.f32 [%d3],%f; ret; }";

static float host[N], sum[N];

int main(int argc, char **argv)
{
	int rank = -1, ranks, f;
	CUdevice d;
	CUcontext c;
	CUmodule m;
	CUfunction fill;
	CUdeviceptr a, b;
	void *args[] = { &a, &f };

	CHECK(argc != 2 || MPI_Init(&argc, &argv));
	CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) || MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	CHECK(cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d));
	CHECK(cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&fill, m, "fill") || cuMemAlloc(&a, sizeof(host)) || cuMemAlloc(&b, sizeof(host)));
	f = rank + 1;
	CHECK(cuLaunchKernel(fill, N / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL) || cuCtxSynchronize());
	if (!strcmp(argv[1], "host")) {
		CHECK(cuMemcpyDtoH(host, a, sizeof(host)) || MPI_Allreduce(host, sum, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
	} else if (!strcmp(argv[1], "nccl")) {
		ncclUniqueId id;
		ncclComm_t comm;

		CHECK(rank == 0 && ncclGetUniqueId(&id));
		CHECK(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD) || ncclCommInitRank(&comm, ranks, id, rank));
		CHECK(ncclAllReduce((void *)a, (void *)b, N, ncclFloat, ncclSum, comm, NULL) || cuCtxSynchronize());
		CHECK(cuMemcpyDtoH(sum, b, sizeof(sum)) || ncclCommDestroy(comm));
	} else {
		/* a ring: what I have goes to the next one, so that in the end each has seen every other's; no sums, which MPI makes on the host */
		int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

		for (int step = 0; step < ranks; step++) {
			CHECK(cuMemcpyDtoH(host, a, sizeof(host)));
			for (int i = 0; i < N; i++)
				sum[i] += host[i];
			CHECK(MPI_Sendrecv((void *)a, N, MPI_FLOAT, next, step, (void *)b, N, MPI_FLOAT, before, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
			CHECK(cuMemcpyDtoD(a, b, sizeof(host)) || cuCtxSynchronize());
		}
	}
	for (int i = 0; i < N; i++) {
		float want = 0;

		for (int r = 0; r < ranks; r++)
			want += (float)((unsigned)i * (unsigned)(r + 1));
		CHECK(sum[i] != want);
	}
	printf("rank %d of %d: ok\n", rank, ranks);
	fflush(stdout);
	return MPI_Finalize();
}
