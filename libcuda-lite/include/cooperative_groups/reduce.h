/* SPDX-License-Identifier: MIT */
/* Reductions of a tile or of coalesced lanes: cooperative_groups.h. */
#ifndef CUDA_LITE_COOPERATIVE_GROUPS_REDUCE_H
#define CUDA_LITE_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

#if defined(__CUDA__) && defined(__cplusplus)

namespace cooperative_groups {

#define CUDA_LITE_CG_OP(name, value) \
	template <typename T> struct name { __device__ __forceinline__ T operator()(T a, T b) const { return value; } };
CUDA_LITE_CG_OP(plus, a + b)
CUDA_LITE_CG_OP(less, b < a ? b : a)
CUDA_LITE_CG_OP(greater, a < b ? b : a)
CUDA_LITE_CG_OP(bit_and, a & b)
CUDA_LITE_CG_OP(bit_or, a | b)
CUDA_LITE_CG_OP(bit_xor, a ^ b)
#undef CUDA_LITE_CG_OP

/* Every thread has the result; halves are put together, whatever the group's size. */
template <typename Group, typename T, typename Op> __device__ __forceinline__ T reduce(const Group &g, T v, Op &&op)
{
	unsigned int rank = g.thread_rank(), n = g.size(), d = 1;

	for (; d < n; d *= 2) {
		T other = g.shfl(v, rank + d < n ? rank + d : rank);

		if (rank + d < n && rank % (2 * d) == 0)
			v = op(v, other);
	}
	return g.shfl(v, 0);
}
template <typename Group, typename T> __device__ __forceinline__ T reduce(const Group &g, T v) { return reduce(g, v, plus<T>()); }

} // namespace cooperative_groups

#endif
#endif
