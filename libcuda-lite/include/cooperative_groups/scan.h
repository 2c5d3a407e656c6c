/* SPDX-License-Identifier: MIT */
/* Scans over a tile or coalesced lanes, in the order of their ranks: cooperative_groups.h. */
#ifndef CUDA_LITE_COOPERATIVE_GROUPS_SCAN_H
#define CUDA_LITE_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

#if defined(__CUDA__) && defined(__cplusplus)

namespace cooperative_groups {

template <typename Group, typename T, typename Op> __device__ __forceinline__ T inclusive_scan(const Group &g, T v, Op &&op)
{
	unsigned int rank = g.thread_rank(), n = g.size(), d;

	for (d = 1; d < n; d *= 2) {
		T before = g.shfl(v, rank >= d ? rank - d : rank);

		if (rank >= d)
			v = op(before, v);
	}
	return v;
}
template <typename Group, typename T> __device__ __forceinline__ T inclusive_scan(const Group &g, T v) { return inclusive_scan(g, v, plus<T>()); }

/* The first has T(), as the guide has it for sums; of other operations its value is nobody's. */
template <typename Group, typename T, typename Op> __device__ __forceinline__ T exclusive_scan(const Group &g, T v, Op &&op)
{
	unsigned int rank = g.thread_rank();
	T all = inclusive_scan(g, v, op), before = g.shfl(all, rank ? rank - 1 : 0);

	return rank ? before : T();
}
template <typename Group, typename T> __device__ __forceinline__ T exclusive_scan(const Group &g, T v) { return exclusive_scan(g, v, plus<T>()); }

} // namespace cooperative_groups

#endif
#endif
