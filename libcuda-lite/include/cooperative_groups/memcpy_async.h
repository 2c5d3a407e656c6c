/* SPDX-License-Identifier: MIT */
/* Copies by all threads of a group: cooperative_groups.h. Done by the time memcpy_async returns to a thread; wait() makes all see it. */
#ifndef CUDA_LITE_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define CUDA_LITE_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

#if defined(__CUDA__) && defined(__cplusplus)

namespace cooperative_groups {

template <typename Group> __device__ __forceinline__ void memcpy_async(const Group &g, void *to, const void *from, size_t bytes)
{
	size_t n = g.size(), i;

	if (!(((size_t)to | (size_t)from | bytes) & 3)) {
		for (i = g.thread_rank(); i < bytes / 4; i += n)
			((unsigned int *)to)[i] = ((const unsigned int *)from)[i];
		return;
	}
	for (i = g.thread_rank(); i < bytes; i += n)
		((char *)to)[i] = ((const char *)from)[i];
}
/* Elements: as many as both have room for. */
template <typename Group, typename T>
__device__ __forceinline__ void memcpy_async(const Group &g, T *to, size_t to_n, const T *from, size_t from_n)
{
	memcpy_async(g, (void *)to, (const void *)from, (to_n < from_n ? to_n : from_n) * sizeof(T));
}
template <typename Group> __device__ __forceinline__ void wait(const Group &g) { g.sync(); }
template <unsigned int Stages, typename Group> __device__ __forceinline__ void wait_prior(const Group &g) { g.sync(); }

} // namespace cooperative_groups

#endif
#endif
