/* SPDX-License-Identifier: MIT */
/*
 * Clusters as CUDA C++ has them: __cluster_dims__, cudaLaunchKernelEx, cooperative groups' cluster_group with distributed shared memory (the programming
 * guide's histogram over the blocks of a cluster), and tiles of several warps, against sums on the host. Compiled by nvcc with NVIDIA's headers, for 9.0.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

static int wrong;
static void check(const char *what, bool right)
{
	printf("%s %s\n", right ? "ok" : "FAIL", what);
	wrong += !right;
}
#define CK(call) do { cudaError_t e_ = (call); if (e_) { printf("FAIL %s: %s\n", #call, cudaGetErrorString(e_)); return 1; } } while (0)

/* bins are spread over the blocks of the cluster */
__global__ void histogram(int *bins, int nbins, int per_block, const int *in, size_t n)
{
	extern __shared__ int mine[];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned rank = cluster.block_rank();
	int size = cluster.dim_blocks().x;

	for (int i = threadIdx.x; i < per_block; i += blockDim.x)
		mine[i] = 0;
	cluster.sync();
	for (size_t i = cg::this_grid().thread_rank(); i < n; i += blockDim.x * gridDim.x) {
		int bin = in[i] < 0 ? 0 : in[i] >= nbins ? nbins - 1 : in[i];
		int *far = cluster.map_shared_rank(mine, bin / per_block);

		atomicAdd(far + bin % per_block, 1);
	}
	cluster.sync();
	(void)size;
	for (int i = threadIdx.x; i < per_block; i += blockDim.x)
		if (rank * per_block + i < (unsigned)nbins)
			atomicAdd(bins + rank * per_block + i, mine[i]);
}

/* Tiles of four warps meet in shared memory that the hardware has beside the block's own. */
__global__ void large_tiles(int *out)
{
	__shared__ int own[256];
	__shared__ cg::block_tile_memory<256> room;
	auto block = cg::this_thread_block(room);
	auto tile = cg::tiled_partition<128>(block);
	int sum = 0;

	own[threadIdx.x] = threadIdx.x * 3 + 1;
	block.sync();
	for (int i = 0; i < 5; i++) {
		sum += cg::reduce(tile, (int)threadIdx.x + i, cg::plus<int>());
		tile.sync();
	}
	out[threadIdx.x] = own[threadIdx.x] == (int)threadIdx.x * 3 + 1 ? sum : -1;
}

/* out[thread of the grid] = what the thread opposite in the cluster has, by arrive and wait that stand apart */
__global__ void __cluster_dims__(2, 2, 1) opposite(unsigned *out)
{
	__shared__ unsigned mine[64];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned other = cluster.num_blocks() - 1 - cluster.block_rank();

	mine[threadIdx.x] = cluster.thread_rank();
	auto token = cluster.barrier_arrive();
	unsigned *far = cluster.map_shared_rank(mine, other);
	bool right = cluster.query_shared_rank(far) == other && __isShared(mine) && cluster.num_threads() == 256;

	cluster.barrier_wait(cg::cluster_group::arrival_token(token));
	out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = right ? far[blockDim.x - 1 - threadIdx.x] : ~0u;
	cluster.sync();
}

int main()
{
	const int nbins = 1000, n = 100000;
	std::vector<int> in(n), want(nbins), got(nbins);
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attr;
	int *din, *dbins, most = 0, active = 0;

	for (int i = 0; i < n; i++) {
		in[i] = (int)((unsigned)i * 2654435761u >> 20) - 1024;
		want[in[i] < 0 ? 0 : in[i] >= nbins ? nbins - 1 : in[i]]++;
	}
	CK(cudaMalloc(&din, n * sizeof(int)));
	CK(cudaMalloc(&dbins, nbins * sizeof(int)));
	CK(cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
	for (int size : { 1, 2, 4, 8, 16 }) {
		int per_block = (nbins + size - 1) / size;
		char name[40];

		CK(cudaMemset(dbins, 0, nbins * sizeof(int)));
		config.gridDim = 32;
		config.blockDim = 128;
		config.dynamicSmemBytes = per_block * sizeof(int);
		attr.id = cudaLaunchAttributeClusterDimension;
		attr.val.clusterDim = { (unsigned)size, 1, 1 };
		config.attrs = &attr;
		config.numAttrs = 1;
		if (size == 16) {
			check("sixteen are refused first", cudaLaunchKernelEx(&config, histogram, dbins, nbins, per_block, (const int *)din, (size_t)n) == cudaErrorInvalidClusterSize);
			cudaGetLastError();
			CK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
		}
		CK(cudaLaunchKernelEx(&config, histogram, dbins, nbins, per_block, (const int *)din, (size_t)n));
		CK(cudaMemcpy(got.data(), dbins, nbins * sizeof(int), cudaMemcpyDeviceToHost));
		snprintf(name, sizeof(name), "histogram over %d blocks", size);
		check(name, got == want);
	}
	CK(cudaOccupancyMaxPotentialClusterSize(&most, histogram, &config));
	CK(cudaOccupancyMaxActiveClusters(&active, histogram, &config));
	check("occupancy", most == 16 && active >= 1);

	std::vector<unsigned> o(6 * 64 * 4);
	unsigned *dout;
	bool right = true;

	CK(cudaMalloc(&dout, o.size() * 4));
	opposite<<<dim3(6, 4), 64>>>(dout);
	CK(cudaMemcpy(o.data(), dout, o.size() * 4, cudaMemcpyDeviceToHost));
	for (unsigned y = 0; y < 4; y++)
		for (unsigned x = 0; x < 6; x++)
			for (unsigned t = 0; t < 64; t++)
				right = right && o[(y * 6 + x) * 64 + t] == 255 - ((y % 2 * 2 + x % 2) * 64 + t);
	check("the opposite thread", right);
	right = true;
	large_tiles<<<1, 256>>>((int *)dout);
	CK(cudaMemcpy(o.data(), dout, 256 * 4, cudaMemcpyDeviceToHost));
	for (unsigned t = 0; t < 256; t++)
		right = right && o[t] == 5 * (t / 128 * 128 * 128 + 127 * 64) + 10 * 128;
	check("tiles of four warps, beside shared variables", right);
	opposite<<<dim3(5, 4), 64>>>(dout);
	check("a grid that does not divide", cudaGetLastError() != cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
	return wrong != 0;
}
