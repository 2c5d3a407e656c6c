/* SPDX-License-Identifier: MIT */
/*
 * Cooperative groups for vgpu cc, as the CUDA programming guide describes them: blocks, tiles of a warp, lanes that came together, the grid
 * (cudaLaunchCooperativeKernel). match_any and match_all want compute capability 7.0 (-arch=sm_70), as on hardware.
 * Not here: tiles larger than a warp, clusters, several devices.
 */
#ifndef CUDA_LITE_COOPERATIVE_GROUPS_H
#define CUDA_LITE_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#if defined(__CUDA__) && defined(__cplusplus)

namespace cooperative_groups {

namespace cuda_lite {

CUDA_LITE_DEV unsigned int lane(void) { return __nvvm_read_ptx_sreg_laneid(); }
CUDA_LITE_DEV unsigned int below(unsigned int mask) { return __builtin_popcount(mask & ((1u << lane()) - 1)); }
CUDA_LITE_DEV unsigned int thread_of_block(void)
{
	return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
CUDA_LITE_DEV unsigned int threads_of_block(void) { return blockDim.x * blockDim.y * blockDim.z; }

/* The rank-th lane of a mask. */
CUDA_LITE_DEV unsigned int nth(unsigned int mask, unsigned int rank)
{
	while (rank--)
		mask &= mask - 1;
	return __builtin_ctz(mask);
}

/* A value of any type, word by word; by reference, for not every lane has set its own (cuda_lite_device.h). */
template <typename T> struct words { enum { n = (sizeof(T) + 3) / 4 }; unsigned int w[n]; };
template <typename T, typename F> __device__ __forceinline__ T each_word(const T &v, F shuffle)
{
	words<T> in = {}, out;
	T r;

	__builtin_memcpy(&in, &v, sizeof(T));
	for (int i = 0; i < words<T>::n; i++)
		out.w[i] = shuffle(in.w[i]);
	__builtin_memcpy(&r, &out, sizeof(T));
	return r;
}

/*
 * All blocks of a cooperative launch: the driver's workspace is zeroes behind its size (%envreg1, %envreg2). The last to come lets the
 * others go, by the number of the round.
 */
CUDA_LITE_DEV unsigned int *workspace(void)
{
	unsigned int hi, lo;

	asm("mov.u32 %0, %%envreg1;" : "=r"(hi));
	asm("mov.u32 %0, %%envreg2;" : "=r"(lo));
	return (unsigned int *)((unsigned long long)hi << 32 | lo);
}
CUDA_LITE_DEV void sync_blocks(void)
{
	unsigned int *w = workspace();

	__syncthreads();
	if (thread_of_block() == 0) {
		volatile unsigned int *round = w + 3;
		unsigned int was = *round;

		__threadfence();
		if (atomicAdd(w + 2, 1u) == gridDim.x * gridDim.y * gridDim.z - 1) {
			atomicExch(w + 2, 0u);
			__threadfence();
			atomicAdd(w + 3, 1u);
		} else {
			while (*round == was)
				;
		}
		__threadfence();
	}
	__syncthreads();
}

} // namespace cuda_lite

/* ---- groups ------------------------------------------------------------------------------------ */

/* Any of them: what tiled_partition(group, n) gives, and functions that take whatever they get. */
class thread_group {
public:
	enum what { block, grid, lanes };
	__device__ __forceinline__ thread_group(what kind, unsigned int mask) : kind(kind), mask(mask) {}
	__device__ __forceinline__ unsigned long long size(void) const
	{
		return kind == block ? cuda_lite::threads_of_block() :
		       kind == grid ? (unsigned long long)gridDim.x * gridDim.y * gridDim.z * cuda_lite::threads_of_block() : (unsigned long long)__builtin_popcount(mask);
	}
	__device__ __forceinline__ unsigned long long num_threads(void) const { return size(); }
	__device__ __forceinline__ unsigned long long thread_rank(void) const
	{
		return kind == lanes ? cuda_lite::below(mask) : kind == block ? cuda_lite::thread_of_block() :
		       (((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * cuda_lite::threads_of_block() + cuda_lite::thread_of_block();
	}
	__device__ __forceinline__ bool is_valid(void) const { return kind != grid || cuda_lite::workspace() != nullptr; }
	__device__ __forceinline__ void sync(void) const
	{
		if (kind == block)
			__syncthreads();
		else if (kind == grid)
			cuda_lite::sync_blocks();
		else
			__syncwarp(mask);
	}
	__device__ __forceinline__ unsigned int cuda_lite_mask(void) const { return mask; }
	__device__ __forceinline__ bool cuda_lite_block(void) const { return kind == block; }

protected:
	what kind;
	unsigned int mask;
};

class thread_block : public thread_group {
public:
	__device__ __forceinline__ thread_block(void) : thread_group(block, 0) {}
	static __device__ __forceinline__ void sync(void) { __syncthreads(); }
	static __device__ __forceinline__ unsigned int thread_rank(void) { return cuda_lite::thread_of_block(); }
	static __device__ __forceinline__ unsigned int size(void) { return cuda_lite::threads_of_block(); }
	static __device__ __forceinline__ unsigned int num_threads(void) { return cuda_lite::threads_of_block(); }
	static __device__ __forceinline__ dim3 group_index(void) { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
	static __device__ __forceinline__ dim3 thread_index(void) { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
	static __device__ __forceinline__ dim3 group_dim(void) { return dim3(blockDim.x, blockDim.y, blockDim.z); }
	static __device__ __forceinline__ dim3 dim_threads(void) { return dim3(blockDim.x, blockDim.y, blockDim.z); }
};
CUDA_LITE_DEV thread_block this_thread_block(void) { return thread_block(); }

class grid_group : public thread_group {
public:
	__device__ __forceinline__ grid_group(void) : thread_group(grid, 0) {}
	static __device__ __forceinline__ dim3 group_dim(void) { return dim3(gridDim.x, gridDim.y, gridDim.z); }
	static __device__ __forceinline__ dim3 dim_blocks(void) { return dim3(gridDim.x, gridDim.y, gridDim.z); }
	static __device__ __forceinline__ dim3 block_index(void) { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
	static __device__ __forceinline__ unsigned long long num_blocks(void) { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
	static __device__ __forceinline__ unsigned long long block_rank(void)
	{
		return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	}
};
CUDA_LITE_DEV grid_group this_grid(void) { return grid_group(); }

/* What tiles and coalesced lanes have in common: a mask of lanes of one warp. */
class cuda_lite_lanes : public thread_group {
public:
	__device__ __forceinline__ cuda_lite_lanes(unsigned int m) : thread_group(lanes, m) {}
	__device__ __forceinline__ unsigned int size(void) const { return __builtin_popcount(mask); }
	__device__ __forceinline__ unsigned int num_threads(void) const { return __builtin_popcount(mask); }
	__device__ __forceinline__ unsigned int thread_rank(void) const { return cuda_lite::below(mask); }
	__device__ __forceinline__ void sync(void) const { __syncwarp(mask); }
	__device__ __forceinline__ int any(int p) const { return __any_sync(mask, p); }
	__device__ __forceinline__ int all(int p) const { return __all_sync(mask, p); }
	__device__ __forceinline__ unsigned int ballot(int p) const { return pack(__ballot_sync(mask, p)); }
	template <typename T> __device__ __forceinline__ T shfl(const T &v, unsigned int rank) const
	{
		unsigned int m = mask, from = cuda_lite::nth(m, rank % size());

		return cuda_lite::each_word(v, [m, from](const unsigned int &w) { return __shfl_sync(m, w, (int)from); });
	}
	/* Out of the group's range the lane's own value stays, as shfl.sync has it. */
	template <typename T> __device__ __forceinline__ T shfl_up(const T &v, unsigned int delta) const
	{
		unsigned int r = thread_rank();

		return shfl(v, r >= delta ? r - delta : r);
	}
	template <typename T> __device__ __forceinline__ T shfl_down(const T &v, unsigned int delta) const
	{
		unsigned int r = thread_rank(), n = size();

		return shfl(v, delta < n - r ? r + delta : r);
	}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
	template <typename T> __device__ __forceinline__ unsigned int match_any(T v) const { return pack(__match_any_sync(mask, v)); }
	template <typename T> __device__ __forceinline__ unsigned int match_all(T v, int &yes) const { return pack(__match_all_sync(mask, v, &yes)); }
#endif

private:
	/* Bits of lanes as bits of ranks. */
	__device__ __forceinline__ unsigned int pack(unsigned int bits) const
	{
		unsigned int r = 0, n = 0, m;

		for (m = mask; m; m &= m - 1, n++)
			r |= (bits >> __builtin_ctz(m) & 1) << n;
		return r;
	}
};

class coalesced_group : public cuda_lite_lanes {
public:
	__device__ __forceinline__ coalesced_group(unsigned int m, unsigned int rank = 0, unsigned int groups = 1) : cuda_lite_lanes(m), rank(rank), groups(groups) {}
	__device__ __forceinline__ unsigned int meta_group_rank(void) const { return rank; }
	__device__ __forceinline__ unsigned int meta_group_size(void) const { return groups; }

private:
	unsigned int rank, groups;
};
CUDA_LITE_DEV coalesced_group coalesced_threads(void) { return coalesced_group(__activemask()); }

template <unsigned int Size, typename Parent = void> class thread_block_tile : public cuda_lite_lanes {
	static_assert(Size && Size <= 32 && !(Size & (Size - 1)), "tiles of 1, 2, 4, 8, 16 or 32 threads");

public:
	__device__ __forceinline__ thread_block_tile(void)
	    : cuda_lite_lanes((unsigned int)((1ull << Size) - 1) << (cuda_lite::thread_of_block() % 32 & ~(Size - 1))) {}
	template <typename Other> __device__ __forceinline__ thread_block_tile(const thread_block_tile<Size, Other> &t) : cuda_lite_lanes(t.cuda_lite_mask()) {}
	static __device__ __forceinline__ unsigned int thread_rank(void) { return cuda_lite::thread_of_block() % Size; }
	static constexpr __device__ __forceinline__ unsigned int size(void) { return Size; }
	static constexpr __device__ __forceinline__ unsigned int num_threads(void) { return Size; }
	__device__ __forceinline__ unsigned int meta_group_rank(void) const { return rank_in((const Parent *)nullptr); }
	__device__ __forceinline__ unsigned int meta_group_size(void) const { return count_in((const Parent *)nullptr); }
	template <typename T> __device__ __forceinline__ T shfl(const T &v, int rank) const
	{
		unsigned int m = mask;

		return cuda_lite::each_word(v, [m, rank](const unsigned int &w) { return __shfl_sync(m, w, rank, Size); });
	}
	template <typename T> __device__ __forceinline__ T shfl_up(const T &v, unsigned int delta) const
	{
		unsigned int m = mask;

		return cuda_lite::each_word(v, [m, delta](const unsigned int &w) { return __shfl_up_sync(m, w, (int)delta, Size); });
	}
	template <typename T> __device__ __forceinline__ T shfl_down(const T &v, unsigned int delta) const
	{
		unsigned int m = mask;

		return cuda_lite::each_word(v, [m, delta](const unsigned int &w) { return __shfl_down_sync(m, w, (int)delta, Size); });
	}
	template <typename T> __device__ __forceinline__ T shfl_xor(const T &v, unsigned int bits) const
	{
		unsigned int m = mask;

		return cuda_lite::each_word(v, [m, bits](const unsigned int &w) { return __shfl_xor_sync(m, w, (int)bits, Size); });
	}

private:
	template <typename P> static __device__ __forceinline__ unsigned int rank_in(const P *) { return cuda_lite::thread_of_block() / Size; }
	template <typename P> static __device__ __forceinline__ unsigned int count_in(const P *) { return (cuda_lite::threads_of_block() + Size - 1) / Size; }
	template <unsigned int N, typename P> static __device__ __forceinline__ unsigned int rank_in(const thread_block_tile<N, P> *)
	{
		return cuda_lite::thread_of_block() % N / Size;
	}
	template <unsigned int N, typename P> static __device__ __forceinline__ unsigned int count_in(const thread_block_tile<N, P> *) { return N / Size; }
};

/* ---- partitions --------------------------------------------------------------------------------- */

template <unsigned int Size, typename Parent> __device__ __forceinline__ thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
	return thread_block_tile<Size, Parent>();
}

/* Neighbours in the parent's order, n at a time; the last may have fewer. */
CUDA_LITE_DEV coalesced_group cuda_lite_neighbours(unsigned int lanes, unsigned int n)
{
	unsigned int rank = cuda_lite::below(lanes), first = rank / n * n, m = 0, i = 0, w;

	for (w = lanes; w; w &= w - 1, i++)
		if (i >= first && i - first < n)
			m |= w & (0u - w);
	return coalesced_group(m, rank / n, (__builtin_popcount(lanes) + n - 1) / n);
}
CUDA_LITE_DEV coalesced_group tiled_partition(const coalesced_group &g, unsigned int n) { return cuda_lite_neighbours(g.cuda_lite_mask(), n); }
CUDA_LITE_DEV thread_group tiled_partition(const thread_group &g, unsigned int n)
{
	unsigned int at = cuda_lite::thread_of_block() % 32, last = cuda_lite::threads_of_block() - cuda_lite::thread_of_block() / 32 * 32;
	unsigned int all = last >= 32 ? 0xffffffffu : (1u << last) - 1;

	(void)at;
	return cuda_lite_neighbours(g.cuda_lite_block() ? all : g.cuda_lite_mask(), n);
}
template <typename Group> __device__ __forceinline__ coalesced_group binary_partition(const Group &g, bool yes)
{
	unsigned int m = g.cuda_lite_mask(), with = __ballot_sync(m, yes), without = m & ~with;

	return yes ? coalesced_group(with, 0, without ? 2 : 1) : coalesced_group(without, with ? 1 : 0, with ? 2 : 1);
}
/* Label by label: hardware from 7.0 on does that in an instruction, others have none. */
template <typename Group, typename Label> __device__ __forceinline__ coalesced_group labeled_partition(const Group &g, Label label)
{
	unsigned int m = g.cuda_lite_mask(), left = m, mine = 0, rank = 0, n = 0;

	while (left) {
		unsigned int from = __builtin_ctz(left);
		Label l = cuda_lite::each_word(label, [m, from](const unsigned int &w) { return __shfl_sync(m, w, (int)from); });
		unsigned int same = __ballot_sync(m, l == label);

		if (l == label) {
			mine = same;
			rank = n;
		}
		left &= ~same;
		n++;
	}
	return coalesced_group(mine, rank, n);
}

/* ---- by any group --------------------------------------------------------------------------------- */

template <typename Group> __device__ __forceinline__ void sync(const Group &g) { g.sync(); }
template <typename Group> __device__ __forceinline__ auto thread_rank(const Group &g) -> decltype(g.thread_rank()) { return g.thread_rank(); }
template <typename Group> __device__ __forceinline__ auto group_size(const Group &g) -> decltype(g.size()) { return g.size(); }

template <typename Group, typename F, typename... Args> __device__ __forceinline__ void invoke_one(const Group &g, F &&f, Args &&...args)
{
	if (g.thread_rank() == 0)
		f(static_cast<Args &&>(args)...);
}
template <typename Group, typename F, typename... Args>
__device__ __forceinline__ auto invoke_one_broadcast(const Group &g, F &&f, Args &&...args) -> decltype(f(static_cast<Args &&>(args)...))
{
	decltype(f(static_cast<Args &&>(args)...)) r{};

	if (g.thread_rank() == 0)
		r = f(static_cast<Args &&>(args)...);
	return g.shfl(r, 0);
}

} // namespace cooperative_groups

#endif
#endif
