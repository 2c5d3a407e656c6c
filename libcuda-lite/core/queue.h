/* SPDX-License-Identifier: MIT */
/*
 * The hot path: claim slots, fill them, publish, look whether the agent sleeps.
 *
 *   credit   the stream's command VGPU_STREAM_CREDITS before this one must be complete, or we wait
 *            here, before anything is claimed: a stalled stream blocks its callers, not the queue
 *   claim    one fetch_add on the private tail gives the slots and the ticket
 *   note     last ticket and credit count of the stream, one compare-and-swap on a private line; before
 *            the fill, since a locked instruction waits for all stores to shared lines before it
 *   fill     straight into the shared slots, payload first
 *   publish  the header's sequence word, release
 *   kick     only when the agent said that it sleeps
 *
 * No lock, no hash, no allocation, no syscall. A claimed slot is always published: between claim
 * and publish nothing may fail or return.
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

static inline uint64_t vg_claim(struct vg_ctx *c, unsigned n)
{
	struct vg_queue *q = &c->queue;
	uint64_t i = __atomic_fetch_add(&q->tail, n, __ATOMIC_RELAXED);

	/* head_seen was stored with release by a thread that read *head with acquire (vg_wait_room). */
	if (VG_UNLIKELY(i + n - __atomic_load_n(&q->head_seen, __ATOMIC_ACQUIRE) > q->size))
		vg_wait_room(c, q, i, n);
	return i;
}

static inline union vgpu_slot *vg_slot(struct vg_ctx *c, uint64_t index)
{
	return &c->queue.slots[index % VGPU_IOQ_SLOTS];
}

/* Payload slots carry sequence words too, so no parameter can stand where a header is looked for. */
static inline void vg_payload_header(union vgpu_slot *s, uint64_t index)
{
	uint64_t word = (uint32_t)(index + 1);  /* seq, then the zero word */

	memcpy(s, &word, sizeof word);
}

/* Everything of the header but seq. */
static inline void vg_header(struct vgpu_cmd *h, uint8_t op, unsigned slots, const struct vg_stream *s,
			     uint64_t index)
{
	h->op = op;
	h->slots = (uint8_t)slots;
	h->flags = s->flags;
	h->stream = s->index;
	h->wait_tl = 0;
	h->ticket = index + 1;
	h->wait_value = 0;
}

static inline void vg_note(struct vg_stream *s, uint64_t ticket)
{
	uint64_t old = __atomic_load_n(&s->state, __ATOMIC_RELAXED), new;

	do {
		uint64_t last = old >> 16;

		new = (last > ticket ? last : ticket) << 16 | (uint16_t)(old + 1);
	} while (!__atomic_compare_exchange_n(&s->state, &old, new, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	__atomic_store_n(&s->ring[old % VGPU_STREAM_CREDITS], ticket, __ATOMIC_RELAXED);
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
