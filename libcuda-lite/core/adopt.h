/* SPDX-License-Identifier: MIT */
/* Registered memory (adopt.c). */
#ifndef VG_ADOPT_H
#define VG_ADOPT_H

#include "core.h"

enum vg_adopt_result {
	VG_ADOPT_OK,
	VG_ADOPT_TWICE,                 /* it overlaps a registration */
	VG_ADOPT_UNMAPPED,              /* not all of it is there, readable, and writable unless it is to be read only */
	VG_ADOPT_MEMORY,
	VG_ADOPT_SHARED,                /* MAP_SHARED: others see these pages */
	VG_ADOPT_KIND,                  /* huge pages, code */
	VG_ADOPT_STACK,
	VG_ADOPT_APART,                 /* its edge pages belong to registrations that the device sees elsewhere */
	VG_ADOPT_PROC,                  /* /proc/self/maps cannot be read */
	VG_ADOPT_AGENT,                 /* the agent, or this process's kind of session, has no such memory */
};

enum vg_adopt_result vg_adopt(struct vg_ctx *c, uint64_t ptr, uint64_t bytes, uint32_t flags, bool read_only);
bool vg_adopt_end(uint64_t ptr);        /* false: nothing was registered at this address */
void vg_adopt_drop_ctx(struct vg_ctx *c);

extern uint32_t vg_adoptions;
uint64_t vg_adopted_slow(uint64_t addr, uint64_t bytes);
/* Where the device sees [addr, addr + bytes): its window address, or addr itself where that is no registered memory. */
static inline uint64_t vg_adopted(uint64_t addr, uint64_t bytes)
{
	return VG_LIKELY(!__atomic_load_n(&vg_adoptions, __ATOMIC_ACQUIRE)) ? addr : vg_adopted_slow(addr, bytes);
}

#endif
