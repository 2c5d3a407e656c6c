/* SPDX-License-Identifier: MIT */
/* Blocks that work together: grids and clusters, each other's shared memory, copies in the background and the barriers that wait for them, matrices. */
#include "show.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <mma.h>
namespace cg = cooperative_groups;

__global__ void grid_sums(unsigned *o, int rounds)
{
	cg::grid_group g = cg::this_grid();
	unsigned i = g.thread_rank(), n = g.size();

	o[i] = mixed(i);
	for (int r = 0; r < rounds; r++) {
		g.sync();
		unsigned v = o[(i + 1 + r * 37) % n] + o[(i * 7) % n];
		g.sync();
		o[i] = v * 3 + r;
	}
}
__global__ void __cluster_dims__(4, 1, 1) neighbours(unsigned *o)
{
	__shared__ unsigned s[64];
	cg::cluster_group c = cg::this_cluster();
	unsigned *there = c.map_shared_rank(s, (c.block_rank() + 1) % c.num_blocks());

	s[threadIdx.x] = mixed(blockIdx.x * 64 + threadIdx.x);
	c.sync();
	o[blockIdx.x * 64 + threadIdx.x] = there[63 - threadIdx.x] + c.block_rank() * 1000 + c.thread_rank() + c.dim_blocks().x + c.query_shared_rank(there);
	c.sync();
	atomicAdd(there + threadIdx.x % 4, c.block_rank() + 1);
	c.sync();
	if (threadIdx.x < 4)
		o[blockIdx.x * 64 + threadIdx.x] ^= s[threadIdx.x];
}
__global__ void pipes(unsigned *o, const unsigned *in)
{
	__shared__ alignas(16) unsigned s[2][256];
	auto block = cg::this_thread_block();
	cuda::pipeline<cuda::thread_scope_thread> p = cuda::make_pipeline();
	unsigned sum = 0;

	for (int k = 0; k < 9; k++) {
		if (k < 8) {
			p.producer_acquire();
			cuda::memcpy_async(&s[k & 1][threadIdx.x * 4], in + k * 256 + threadIdx.x * 4, cuda::aligned_size_t<16>(16), p);
			p.producer_commit();
		}
		if (k) {
			if (k < 8)
				cuda::pipeline_consumer_wait_prior<1>(p);
			else
				cuda::pipeline_consumer_wait_prior<0>(p);
			__syncthreads();
			sum = sum * 5 + s[(k - 1) & 1][threadIdx.x * 4 ^ 4 * k];
			__syncthreads();
			p.consumer_release();
		}
	}
	o[threadIdx.x] = sum;
	block.sync();
}
__global__ void barriers(unsigned *o, const unsigned *in)
{
	__shared__ alignas(128) unsigned s[512];
	__shared__ cuda::barrier<cuda::thread_scope_block> b;
	unsigned sum = 0;

	if (threadIdx.x == 0)
		init(&b, blockDim.x);
	__syncthreads();
	for (int k = 0; k < 4; k++) {
		cuda::barrier<cuda::thread_scope_block>::arrival_token t;
		if (threadIdx.x == 0) {
			cuda::memcpy_async(s, in + 512 * k, cuda::aligned_size_t<16>(sizeof(s)), b);
			t = b.arrive();
		} else {
			t = b.arrive();
		}
		b.wait(std::move(t));
		sum += s[(threadIdx.x * 5 + k) & 511] * (k + 1);
		b.arrive_and_wait();
	}
	o[threadIdx.x] = sum;
}
template<class A, class C, int M, int N, int K, class LA, class LB> __global__ void product(const A *a, const A *b, const C *c, C *d)
{
	using namespace nvcuda;
	wmma::fragment<wmma::matrix_a, M, N, K, A, LA> fa;
	wmma::fragment<wmma::matrix_b, M, N, K, A, LB> fb;
	wmma::fragment<wmma::accumulator, M, N, K, C> fc;

	wmma::load_matrix_sync(fa, a, std::is_same<LA, wmma::row_major>::value ? K : M);
	wmma::load_matrix_sync(fb, b, std::is_same<LB, wmma::row_major>::value ? N : K);
	wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(d, fc, N, wmma::mem_row_major);
}
template<class A, class C, int M, int N, int K, class LA, class LB> static void products(const char *name)
{
	A *a, *b;
	C *c, *d;

	CUDA(cudaMallocManaged(&a, sizeof(A) * M * K));
	CUDA(cudaMallocManaged(&b, sizeof(A) * K * N));
	CUDA(cudaMallocManaged(&c, sizeof(C) * M * N));
	CUDA(cudaMallocManaged(&d, sizeof(C) * M * N));
	for (int i = 0; i < M * K; i++)
		a[i] = (A)(float)((int)(mixed(i) % 17) - 8);
	for (int i = 0; i < K * N; i++)
		b[i] = (A)(float)((int)(mixed(i + 999) % 15) - 7);
	for (int i = 0; i < M * N; i++)
		c[i] = (C)(float)(mixed(i + 5555) % 100);
	product<A, C, M, N, K, LA, LB><<<1, 32>>>(a, b, c, d);
	CUDA(cudaDeviceSynchronize());
	show(name, d, sizeof(C) * M * N / 4);
}

int main()
{
	unsigned *o, *in;
	int rounds = 9;
	void *args[] = { &o, &rounds };

	CUDA(cudaMalloc(&o, 65536));
	CUDA(cudaMalloc(&in, 65536));
	each<1><<<128, 128>>>(16384, in, [] __device__ (int i, unsigned *p) { *p = mixed(i + 321); });
	CUDA(cudaLaunchCooperativeKernel((void *)grid_sums, 16, 96, args, 0, 0));
	show("grid", o, 16 * 96);
	neighbours<<<16, 64>>>(o);
	CUDA(cudaGetLastError());
	show("cluster", o, 1024);
	pipes<<<1, 64>>>(o, in);
	CUDA(cudaGetLastError());
	show("pipeline", o, 64);
	barriers<<<1, 128>>>(o, in);
	CUDA(cudaGetLastError());
	show("barrier", o, 128);
	using namespace nvcuda;
	products<__half, float, 16, 16, 16, wmma::row_major, wmma::col_major>("half.float");
	products<__half, __half, 32, 8, 16, wmma::col_major, wmma::row_major>("half.half");
	products<__nv_bfloat16, float, 8, 32, 16, wmma::row_major, wmma::row_major>("bf16.float");
	products<signed char, int, 16, 16, 16, wmma::row_major, wmma::col_major>("s8.int");
	products<unsigned char, int, 32, 8, 16, wmma::col_major, wmma::col_major>("u8.int");
	products<double, double, 8, 8, 4, wmma::row_major, wmma::col_major>("double");
	return 0;
}
