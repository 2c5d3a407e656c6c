/* SPDX-License-Identifier: MIT */
/*
 * The hot path: claim slots, fill them, publish, look whether the agent sleeps.
 *
 *   claim    slots and ticket from the private tail; last ticket and credit count of the stream. The stream's command
 *            VGPU_STREAM_CREDITS before this one must be complete, or we wait for it before anything is claimed: a
 *            stalled stream blocks its callers, not the queue
 *   fill     straight into the shared slots, payload first
 *   publish  the header's sequence word, release
 *   kick     only when the agent said that it sleeps
 *
 * No lock, no hash, no allocation, no syscall. A claimed slot is always published: between claim
 * and publish nothing may fail or return.
 *
 * The owner. A locked instruction costs little by itself, but it waits for all stores before it, and those to
 * the slots of the last command take a cache miss each: the line was the agent's. So the thread that
 * submits owns the queue and claims with plain loads and stores. Another thread that comes takes it over:
 *
 *   owner                                 who takes over (queue.c, a lock held)
 *   vg_enter: busy[tenure] = 1            owner = MOVING
 *             compiler barrier            membarrier(2), which puts a fence there
 *             owner still the same?       busy[old tenure] still 1? wait for 0
 *   vg_take:  claim                       owner = itself
 *   vg_leave: busy[tenure] = 0
 *
 * Either the old owner sees MOVING, or the new one sees busy. A thread has its tenure, and so its busy word, for good:
 * somebody may be preempted on the way into a tenure that has ended, and finds out only after it has said busy.
 *
 * A change of hands costs some microseconds. When threads take the queue from each other so often that it does not
 * pay, or there are more of them than tenures, the queue is shared from then on, and claims are atomic. So it is from
 * the start where there is no membarrier.
 */
#ifndef VG_QUEUE_H
#define VG_QUEUE_H

#include <string.h>

#include "core.h"

/* Who this thread is: its thread pointer, the same word in glibc and musl. Never 0. */
static inline uint64_t vg_me(void)
{
#if defined(__x86_64__)
	uint64_t p;

	__asm__("movq %%fs:0, %0" : "=r"(p));
	return p;
#else
	return (uint64_t)(uintptr_t)__builtin_thread_pointer();
#endif
}

/* The calling thread owns the queue afterwards, or nobody does any more. */
void vg_queue_own(struct vg_queue *q);
/* It does not any more, and stands in no command: the next who claims is the owner. */
void vg_queue_give(struct vg_queue *q);

/* The tenure in an owner word that is this thread's; of any other word VG_TENURES or more. */
static inline uint64_t vg_tenure(uint64_t owner)
{
#if defined(__x86_64__)
	__asm__("xorq %%fs:0, %0" : "+r"(owner));
#else
	owner ^= vg_me();
#endif
	return owner << 16 | owner >> 48;
}

/*
 * The owner's way, step by step, because a launch has something to look at between them. vg_enter: from here on
 * nobody takes the queue over. False: it is not this thread's.
 */
static inline __attribute__((always_inline)) bool vg_enter(struct vg_queue *q, uint8_t **busy)
{
	uint64_t owner = __atomic_load_n(&q->owner, __ATOMIC_RELAXED), tenure = vg_tenure(owner);

	if (VG_UNLIKELY(tenure >= VG_TENURES))
		return false;
	*busy = &q->busy[tenure];
	__atomic_store_n(*busy, 1, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");      /* the fence is the other's: see "The owner" */
	if (VG_LIKELY(__atomic_load_n(&q->owner, __ATOMIC_RELAXED) == owner))
		return true;
	__atomic_store_n(*busy, 0, __ATOMIC_RELAXED);
	return false;
}

/* Release; partner: the acquire in vg_queue_own(), which finds tail and state complete. */
static inline void vg_leave(uint8_t *busy) { __atomic_store_n(busy, 0, __ATOMIC_RELEASE); }

/*
 * n slots for a command of the stream, *at the first; the command's ticket is that + 1. All or nothing: false where a
 * credit or room must be waited for, or looked for again.
 */
static inline __attribute__((always_inline)) bool vg_take(struct vg_queue *q, struct vg_stream *s, unsigned n, uint64_t *at)
{
	uint64_t i = q->tail;

	/* room was stored with release by a thread that read *head with acquire (vg_wait_room). */
	if (VG_UNLIKELY(i + n > __atomic_load_n(&q->room, __ATOMIC_ACQUIRE) || s->left <= 0))
		return false;
	s->left--;
	__atomic_store_n(&q->tail, i + n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->last, i + 1, __ATOMIC_RELEASE);
	*at = i;
	return true;
}

/*
 * A stream that captures owes so many credits: no launch finds one, and asks why. The stream is nobody else's while
 * it changes: see queue.c.
 */
#define VG_PARKED (1 << 20)
void vg_park(struct vg_stream *s);
void vg_unpark(struct vg_stream *s);

/* What vg_take() missed, if it is to be had without waiting: then true, and the next try succeeds. The owner only. */
bool vg_refill(struct vg_queue *q, struct vg_stream *s, unsigned n);

/* Slots and ticket, of a credit that the caller has. */
static inline __attribute__((always_inline)) void vg_number_shared(struct vg_queue *q, struct vg_stream *s, unsigned n,
								   uint64_t *at)
{
	uint64_t last;

	*at = __atomic_fetch_add(&q->tail, n, __ATOMIC_RELAXED);
	/* Tickets may come in any order, and the largest stays. */
	last = __atomic_load_n(&s->last, __ATOMIC_RELAXED);
	while (last < *at + 1 &&
	       !__atomic_compare_exchange_n(&s->last, &last, *at + 1, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* vg_take() where the queue is shared, and false only for want of a credit: see that there is room. */
static inline __attribute__((always_inline)) bool vg_take_shared(struct vg_queue *q, struct vg_stream *s, unsigned n,
								 uint64_t *at)
{
	if (VG_UNLIKELY(__atomic_fetch_sub(&s->left, 1, __ATOMIC_RELAXED) <= 0)) {
		__atomic_fetch_add(&s->left, 1, __ATOMIC_RELAXED);
		return false;
	}
	vg_number_shared(q, s, n, at);
	return true;
}

/* vg_take() for whoever may wait for credit and room, and for whom the queue does not belong to. Returns the first slot. */
uint64_t vg_claim_slow(struct vg_ctx *c, struct vg_stream *s, unsigned n);

/* n slots for a command of the stream; returns the index of the first. Its ticket is that + 1. */
static inline __attribute__((always_inline)) uint64_t vg_claim(struct vg_ctx *c, struct vg_stream *s, unsigned n)
{
	struct vg_queue *q = &c->queue;
	uint8_t *busy;
	uint64_t i;

	if (VG_LIKELY(vg_enter(q, &busy))) {
		bool took = vg_take(q, s, n, &i);

		vg_leave(busy);
		if (VG_LIKELY(took))
			return i;
	}
	return vg_claim_slow(c, s, n);
}

static inline union vgpu_slot *vg_slot(const struct vg_ctx *c, uint64_t index)
{
	return &c->queue.slots[index % VGPU_IOQ_SLOTS];
}

/* Payload slots carry sequence words too, so no parameter can stand where a header is looked for. */
static inline void vg_payload_header(union vgpu_slot *s, uint64_t index)
{
	uint64_t word = (uint32_t)(index + 1);  /* seq, then the zero word */

	memcpy(s, &word, sizeof word);
}

/*
 * Slots that the next commands will fill, so that their stores find the lines here. The agent read them a lap
 * ago, and neither it nor its hardware prefetcher (some 20 lines) looks so far ahead.
 */
#define VG_AHEAD 32u
static inline void vg_prefetch(const union vgpu_slot *slots, uint64_t index, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		vgpu_prefetch_write(&slots[(index + VG_AHEAD + k) % VGPU_IOQ_SLOTS]);
}

/*
 * The header, word by word, and with its first word the publication: eight stores where the fields one by one would be
 * twenty. What waits in the store buffer for lines that the agent has is what a burst of commands waits for.
 * Release; partner: vgpu_slot_ready(). body: four words.
 */
static inline void vg_publish_slot(union vgpu_slot *slot, uint8_t op, unsigned slots, const struct vg_stream *s,
				   uint64_t index, uint32_t wait_tl, uint64_t wait_value, const uint64_t *body)
{
	uint64_t *w = (uint64_t *)slot;

	_Static_assert(offsetof(struct vgpu_cmd, op) == 4 && offsetof(struct vgpu_cmd, slots) == 5 &&
		       offsetof(struct vgpu_cmd, flags) == 6 && offsetof(struct vgpu_cmd, stream) == 8 &&
		       offsetof(struct vgpu_cmd, wait_tl) == 12 && offsetof(struct vgpu_cmd, ticket) == 16 &&
		       offsetof(struct vgpu_cmd, wait_value) == 24 && offsetof(struct vgpu_cmd, u) == 32,
		       "the words below");
	w[1] = s->index | (uint64_t)wait_tl << 32;
	w[2] = index + 1;
	w[3] = wait_value;
	for (int i = 0; i < 4; i++)
		w[4 + i] = body[i];
	vgpu_store_release64(w, (uint32_t)(index + 1) | (uint64_t)op << 32 | (uint64_t)slots << 40 |
				s->flags_word);
}

void vg_kick_slow(void);

static inline void vg_kick(void)
{
	/* Partner: the agent's vgpu_sleeper_fence() between need_wakeup = 1 and its last look. */
	vgpu_publisher_fence(vg.asym);
	if (VG_UNLIKELY(vgpu_load_relaxed32(&vg.agent->need_wakeup)))
		vg_kick_slow();
}

/* The same for who owns the queue: there are owners only where no fence is wanted (vg.may_own). */
static inline __attribute__((always_inline)) bool vg_asleep(const struct vg_queue *q)
{
	vgpu_publisher_fence(1);
	return VG_UNLIKELY(vgpu_load_relaxed32(q->need_wakeup));
}

/*
 * Any command but a launch. body: 32 bytes or NULL; payload goes into the slots behind. Returns the
 * ticket.
 */
uint64_t vg_submit(struct vg_stream *s, uint8_t op, const void *body, const void *payload, unsigned bytes);
/*
 * Many commands that lie ready, header and payload slots one behind the other: in a header are op, slots and body, the rest
 * is filled in on the way. Cheaper than one by one: credits and slots are taken for several at a time. Returns
 * what lies behind them.
 */
const union vgpu_slot *vg_submit_run(struct vg_stream *s, const union vgpu_slot *image, uint32_t commands);
/* NOP that waits for another timeline of this client. */
uint64_t vg_submit_wait(struct vg_stream *s, uint32_t wait_tl, uint64_t value);

#endif
