/* SPDX-License-Identifier: MIT */
/*
 * The hot path: claim slots, fill them, publish, look whether the agent sleeps.
 *
 *   credit   the stream's command VGPU_STREAM_CREDITS before this one must be complete, or we wait
 *            here, before anything is claimed: a stalled stream blocks its callers, not the queue
 *   claim    slots and ticket from the private tail; last ticket and credit count of the stream
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
 *   busy[tenure] = 1                      owner = MOVING
 *   compiler barrier                      membarrier(2), which puts a fence there
 *   owner still the same?                 busy[old tenure] still 1? wait for 0
 *     yes: claim                          owner = itself
 *     no: busy[tenure] = 0, begin again
 *
 * Either the old owner sees MOVING, or the new one sees busy. Each tenure has a busy word of its own, because
 * somebody may be preempted on the way into a tenure that is long over. When the tenures are used up, several
 * threads submit for good: the queue is shared, and claims are a fetch_add and a compare-and-swap. So it is
 * from the start where there is no membarrier.
 */
#ifndef VG_QUEUE_H
#define VG_QUEUE_H

#include <string.h>

#include "core.h"

static inline void vg_credit(struct vg_stream *s)
{
	uint64_t state = __atomic_load_n(&s->state, __ATOMIC_RELAXED);
	uint64_t oldest = __atomic_load_n(&s->ring[state % VGPU_STREAM_CREDITS], __ATOMIC_RELAXED);

	if (VG_UNLIKELY(oldest > __atomic_load_n(&s->done_seen, __ATOMIC_RELAXED)))
		vg_wait_credit(s, oldest);
}

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

/* Remembers a command of the stream: its last ticket, one credit. */
static inline void vg_note(struct vg_stream *s, uint64_t ticket)
{
	uint64_t old = __atomic_load_n(&s->state, __ATOMIC_RELAXED);

	__atomic_store_n(&s->state, ticket << 16 | (uint16_t)(old + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&s->ring[old % VGPU_STREAM_CREDITS], ticket, __ATOMIC_RELAXED);
}

/* The same among others: tickets may come in any order, and the largest stays. */
static inline void vg_note_shared(struct vg_stream *s, uint64_t ticket)
{
	uint64_t old = __atomic_load_n(&s->state, __ATOMIC_RELAXED), new;

	do {
		uint64_t last = old >> 16;

		new = (last > ticket ? last : ticket) << 16 | (uint16_t)(old + 1);
	} while (!__atomic_compare_exchange_n(&s->state, &old, new, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	__atomic_store_n(&s->ring[old % VGPU_STREAM_CREDITS], ticket, __ATOMIC_RELAXED);
}

/* n slots for a command of the stream; returns the index of the first. Its ticket is that + 1. */
static inline __attribute__((always_inline)) uint64_t vg_claim(struct vg_ctx *c, struct vg_stream *s, unsigned n)
{
	struct vg_queue *q = &c->queue;
	uint64_t owner = __atomic_load_n(&q->owner, __ATOMIC_RELAXED), i;

	while (VG_UNLIKELY((owner & VG_ADDRESS_MASK) != vg_me()) && owner != VG_QUEUE_SHARED) {
again:
		vg_queue_own(q);
		owner = __atomic_load_n(&q->owner, __ATOMIC_ACQUIRE);
	}
	if (VG_LIKELY(owner != VG_QUEUE_SHARED)) {
		uint8_t *busy = &q->busy[owner >> 48];

		__atomic_store_n(busy, 1, __ATOMIC_RELAXED);
		__asm__ volatile("" ::: "memory");      /* the fence is the other's: see "The owner" */
		if (VG_UNLIKELY(__atomic_load_n(&q->owner, __ATOMIC_RELAXED) != owner)) {
			__atomic_store_n(busy, 0, __ATOMIC_RELAXED);
			goto again;
		}
		i = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
		__atomic_store_n(&q->tail, i + n, __ATOMIC_RELAXED);
		vg_note(s, i + 1);
		/* Release; partner: the acquire in vg_queue_own(), which finds tail and state complete. */
		__atomic_store_n(busy, 0, __ATOMIC_RELEASE);
	} else {
		i = __atomic_fetch_add(&q->tail, n, __ATOMIC_RELAXED);
		vg_note_shared(s, i + 1);
	}
	/* head_seen was stored with release by a thread that read *head with acquire (vg_wait_room). */
	if (VG_UNLIKELY(i + n - __atomic_load_n(&q->head_seen, __ATOMIC_ACQUIRE) > q->size))
		vg_wait_room(c, q, i, n);
	return i;
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
				(uint64_t)s->flags << 48);
}

void vg_kick_slow(void);

static inline void vg_kick(void)
{
	/* Partner: the agent's vgpu_sleeper_fence() between need_wakeup = 1 and its last look. */
	vgpu_publisher_fence(vg.asym);
	if (VG_UNLIKELY(vgpu_load_relaxed32(&vg.agent->need_wakeup)))
		vg_kick_slow();
}

/*
 * Any command but a launch. body: 32 bytes or NULL; payload goes into the slots behind. Returns the
 * ticket.
 */
uint64_t vg_submit(struct vg_stream *s, uint8_t op, const void *body, const void *payload, unsigned bytes);
/* NOP that waits for another timeline of this client. */
uint64_t vg_submit_wait(struct vg_stream *s, uint32_t wait_tl, uint64_t value);

#endif
