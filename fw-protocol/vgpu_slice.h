/* SPDX-License-Identifier: MIT */
/*
 * A short slice for a thread that passes work on and sleeps again: the scheduler (EEVDF, Linux >= 6.12) lets it in before who computes,
 * at once and not when that one's slice is over. Its share of the processor is the same. Older kernels take no notice.
 */
#ifndef VGPU_SLICE_H
#define VGPU_SLICE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* sched_setattr(2): struct sched_attr of its first version. */
struct vgpu_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Of the calling thread; one that is scheduled by other rules, or that may not, stays as it is. */
static inline void vgpu_short_slice(void)
{
	struct vgpu_sched_attr a = { .size = 0 };

	if (syscall(SYS_sched_getattr, 0, &a, (unsigned)sizeof(a), 0u) || a.policy)
		return;
	a.size = sizeof(a);
	a.runtime_ns = 100000;
	syscall(SYS_sched_setattr, 0, &a, 0u);
}

#endif
