/* SPDX-License-Identifier: MIT */
/*
 * Ring primitives: every memory barrier of the project stands here, next to the name of its partner.
 *
 * Words in shared memory are plain integers in the structs (the wire headers stay C89-simple and
 * C++-clean) and are touched only through these functions. Shared memory is hostile: a value is
 * read once into a local, then checked, then used.
 */
#ifndef VGPU_RING_H
#define VGPU_RING_H

#include <stdint.h>

#include "vgpu_cmd.h"

static inline uint32_t vgpu_load_acquire32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline uint64_t vgpu_load_acquire64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline uint32_t vgpu_load_relaxed32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint64_t vgpu_load_relaxed64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline void vgpu_store_relaxed32(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static inline void vgpu_store_relaxed64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static inline void vgpu_store_release32(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline void vgpu_store_release64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline uint32_t vgpu_exchange32(uint32_t *p, uint32_t v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
static inline uint64_t vgpu_exchange64(uint64_t *p, uint64_t v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
static inline uint64_t vgpu_or64(uint64_t *p, uint64_t v) { return __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL); }
static inline void vgpu_full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static inline void vgpu_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * The line to this processor, for writing. By name: without -mprfchw compilers make a prefetch for reading of
 * __builtin_prefetch(p, 1), and then the store still has to ask for the line. A no-op where there is no prefetchw.
 */
static inline void vgpu_prefetch_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/*
 * Publication. The store is a release: payload slots and the header's other fields are visible
 * before it. Partner: the acquire in vgpu_slot_ready().
 */
static inline void vgpu_slot_publish(union vgpu_slot *s, uint64_t index)
{
	vgpu_store_release32(&s->cmd.seq, (uint32_t)(index + 1));
}

/* True once slot `index` of the ring holds a published header. Acquire; partner: vgpu_slot_publish(). */
static inline int vgpu_slot_ready(const union vgpu_slot *s, uint64_t index)
{
	return vgpu_load_acquire32(&s->cmd.seq) == (uint32_t)(index + 1);
}

/*
 * Consumption: the reader stores how many slots it has taken. Release: its reads of the slots
 * come before the writer may overwrite them. Partner: the acquire in vgpu_ring_room().
 */
static inline void vgpu_ring_consumed(uint64_t *head, uint64_t index)
{
	vgpu_store_release64(head, index);
}

/* True if slots [index, index + n) may be written, given the reader's head word. */
static inline int vgpu_ring_room(const uint64_t *head, uint64_t index, unsigned n, unsigned size)
{
	return index + n - vgpu_load_acquire64(head) <= size;
}

/*
 * Is the other side asleep? (io_uring's NEED_WAKEUP, NVMe's shadow doorbells.)
 *
 *   publisher                         sleeper
 *   ---------                         -------
 *   publish (release store)           flag = 1
 *   [A] vgpu_publisher_fence          [B] vgpu_sleeper_fence
 *   if flag: wake it                  look at the ring again; nothing there: sleep
 *
 * A store followed by a load of another word needs a full fence on both sides, or both may miss
 * each other. With asymmetric fences the sleeper runs membarrier(2) GLOBAL_EXPEDITED, which puts that
 * fence into the publisher's instruction stream at that moment; A is then a compiler barrier only.
 * Measured: publish + look costs 23 ns so, 101 ns with a fence. Both processes must have registered
 * (vgpu_fence.h), and both must run on one kernel: between a guest and a device outside, asym is 0.
 */
static inline void vgpu_publisher_fence(int asym)
{
	if (asym)
		__asm__ volatile("" ::: "memory");
	else
		vgpu_full_fence();
}

/*
 * Timeline: the device stores error (if any), then value with release. Partner: the acquire here;
 * after it all memory the completed commands wrote is visible.
 */
static inline int vgpu_timeline_reached(const struct vgpu_timeline *t, uint64_t ticket)
{
	return vgpu_load_acquire64(&t->value) >= ticket;
}

/* What stands in waiter for a ticket. 0 means nobody, so a ticket whose low word is 0 asks for the one before it. */
static inline uint32_t vgpu_timeline_word(uint64_t ticket)
{
	return (uint32_t)ticket ? (uint32_t)ticket : ~0u;
}

/*
 * Sleeper: ask to be woken at ticket. The earliest of several sleepers stands there: all are woken, and ask again. What the
 * device takes away between load and exchange it also wakes for, after the sleeper read wake.
 */
static inline void vgpu_timeline_want(struct vgpu_timeline *t, uint64_t ticket)
{
	uint32_t mine = vgpu_timeline_word(ticket), w = vgpu_load_relaxed32(&t->waiter);

	while ((!w || (int32_t)(mine - w) < 0) &&
	       !__atomic_compare_exchange_n(&t->waiter, &w, mine, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/*
 * Publisher, behind its fence: is a sleeper to be woken now that value is there? Tickets in flight span less than 2^31, but
 * the word may be as old as it likes: what a sleeper lets stand, vgpu_timeline_want(), is due when its own ticket is there.
 */
static inline int vgpu_timeline_due(const struct vgpu_timeline *t, uint64_t value)
{
	uint32_t w = vgpu_load_relaxed32(&t->waiter);

	return w && (int32_t)(vgpu_timeline_word(value) - w) >= 0;
}

/* Payload bytes in and out of slots: 56 a slot, first slot behind the header. */
static inline unsigned vgpu_payload_slots(unsigned bytes)
{
	return (bytes + VGPU_SLOT_PAYLOAD - 1) / VGPU_SLOT_PAYLOAD;
}

#endif
