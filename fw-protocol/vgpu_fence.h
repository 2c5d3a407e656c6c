/* SPDX-License-Identifier: MIT */
/*
 * The asymmetric fence of vgpu_ring.h: raw membarrier(2), so that libraries need no libc wrapper.
 */
#ifndef VGPU_FENCE_H
#define VGPU_FENCE_H

#include <sys/syscall.h>
#include <unistd.h>

#include "vgpu_ring.h"

#define VGPU_MEMBARRIER_GLOBAL_EXPEDITED 2           /* linux/membarrier.h, since 4.16 */
#define VGPU_MEMBARRIER_REGISTER_GLOBAL_EXPEDITED 4
#define VGPU_MEMBARRIER_PRIVATE_EXPEDITED 8          /* since 4.14 */
#define VGPU_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED 16

/* Makes this process reachable by others' membarrier. 0, or -1: then offer no ASYM_FENCE. */
static inline int vgpu_asym_register(void)
{
	return syscall(SYS_membarrier, VGPU_MEMBARRIER_REGISTER_GLOBAL_EXPEDITED, 0) == 0 ? 0 : -1;
}

/* [B] of the handshake: after flag = 1, before the last look. Partner: vgpu_publisher_fence(). */
static inline void vgpu_sleeper_fence(int asym)
{
	vgpu_full_fence();
	if (asym)
		syscall(SYS_membarrier, VGPU_MEMBARRIER_GLOBAL_EXPEDITED, 0);
}

/* A full fence in every running thread of this process. 0, or -1: not here (or not registered). */
static inline int vgpu_private_fence(void)
{
	return syscall(SYS_membarrier, VGPU_MEMBARRIER_PRIVATE_EXPEDITED, 0) == 0 ? 0 : -1;
}
static inline int vgpu_private_register(void)
{
	return syscall(SYS_membarrier, VGPU_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0) == 0 ? vgpu_private_fence() : -1;
}

#endif
