/* SPDX-License-Identifier: MIT */
/*
 * Submission of commands that are not launches; see queue.h for the steps. Called by copies, fills,
 * events and stream memory operations.
 */
#include "queue.h"

#include <time.h>
#include <unistd.h>

#define PAYS 128u       /* slots between two changes of hands that are worth one */
#define DEBT_MAX 32u

/* The thread's tenure, VG_TENURES when all are others'. */
static uint64_t tenure_of(struct vg_queue *q, uint64_t me)
{
	for (uint64_t i = 0; i < VG_TENURES; i++) {
		if (!q->tenant[i])
			q->tenant[i] = me;
		if (q->tenant[i] == me)
			return i;
	}
	return VG_TENURES;
}

/*
 * See "The owner" in queue.h. membarrier worked when the session began (vg.may_own); should a filter that the
 * program installed later refuse it, 10 ms stand for it: no processor keeps a store to itself for so long.
 */
void vg_queue_own(struct vg_queue *q)
{
	uint64_t me = vg_me(), old, tail, tenure;

	vg_lock(&q->owner_lock);
	old = __atomic_load_n(&q->owner, __ATOMIC_RELAXED);
	if (old == VG_QUEUE_SHARED || (old & VG_ADDRESS_MASK) == me)
		goto out;
	if (old) {
		__atomic_store_n(&q->owner, VG_QUEUE_MOVING, __ATOMIC_SEQ_CST);
		if (vgpu_private_fence())
			nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		/* Acquire; partner: vg_leave(). */
		for (unsigned turn = 0; __atomic_load_n(&q->busy[old >> 48], __ATOMIC_ACQUIRE); turn++)
			vg_backoff(turn);
		q->moves++;
		tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
		q->debt -= (tail - q->moved_at) / PAYS < q->debt ? (uint32_t)((tail - q->moved_at) / PAYS) : q->debt;
		q->debt++;
		q->moved_at = tail;
	}
	tenure = tenure_of(q, me);
	if (!vg.may_own || tenure >= VG_TENURES || q->debt > DEBT_MAX || me & ~VG_ADDRESS_MASK)
		__atomic_store_n(&q->owner, VG_QUEUE_SHARED, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&q->owner, tenure << 48 | me, __ATOMIC_RELEASE);
out:
	vg_unlock(&q->owner_lock);
}

/*
 * The next batch of credits. VG_BATCHES batches ago is where the stream must have come to: until then no, and *until is
 * that ticket. Only one thread at a time: the owner, or who holds credit_lock.
 */
static bool next_batch(struct vg_stream *s, uint64_t *until)
{
	*until = s->marks[(s->batches + 1) % VG_BATCHES];
	if (!vgpu_timeline_reached(s->tl, *until) && !vg_ctx_failed(s->ctx))
		return false;
	s->marks[s->batches++ % VG_BATCHES] = vg_stream_last(s);
	__atomic_fetch_add(&s->left, (int32_t)VG_BATCH, __ATOMIC_RELAXED);
	return true;
}

bool vg_refill(struct vg_queue *q, struct vg_stream *s, unsigned n)
{
	uint64_t end = q->tail + n, head, until;

	if (s->left <= 0 && !next_batch(s, &until))
		return false;
	if (end <= __atomic_load_n(&q->room, __ATOMIC_RELAXED))
		return true;
	/* Acquire, and release: see vg_wait_room(). */
	head = vgpu_load_acquire64(q->head);
	if (end - head > q->size)
		return false;
	__atomic_store_n(&q->room, head + q->size, __ATOMIC_RELEASE);
	return true;
}

uint64_t vg_claim_slow(struct vg_ctx *c, struct vg_stream *s, unsigned n)
{
	struct vg_queue *q = &c->queue;
	uint64_t i = 0, until;
	uint8_t *busy;
	bool took;

	for (;;) {
		if (vg_enter(q, &busy)) {
			took = s->left > 0 || next_batch(s, &until);
			if (took) {
				i = q->tail;
				s->left--;
				__atomic_store_n(&q->tail, i + n, __ATOMIC_RELAXED);
				__atomic_store_n(&s->last, i + 1, __ATOMIC_RELEASE);
			}
			vg_leave(busy);
		} else if (__atomic_load_n(&q->owner, __ATOMIC_ACQUIRE) == VG_QUEUE_SHARED) {
			took = vg_take_shared(q, s, n, &i);
			if (!took) {
				vg_lock(&s->credit_lock);
				took = __atomic_load_n(&s->left, __ATOMIC_RELAXED) > 0 || next_batch(s, &until);
				vg_unlock(&s->credit_lock);
				if (took)
					continue;
			}
		} else {
			vg_queue_own(q);
			continue;
		}
		if (took)
			break;
		vg_wait_flow(s, until);
	}
	if (i + n > __atomic_load_n(&q->room, __ATOMIC_ACQUIRE))
		vg_wait_room(c, q, i, n);
	return i;
}

void vg_kick_slow(void)
{
	uint64_t one = 1;

	/* EAGAIN cannot lose anything: the counter is not zero then. */
	if (write(vg.kick, &one, sizeof one) < 0)
		(void)vg_agent_lost();
}

static uint64_t submit(struct vg_stream *s, uint8_t op, uint32_t wait_tl, uint64_t value, const uint64_t *body,
		       const uint8_t *payload, unsigned bytes)
{
	static const uint64_t none[4];
	unsigned slots = 1 + vgpu_payload_slots(bytes);
	struct vg_ctx *c = s->ctx;
	uint64_t i;

	i = vg_claim(c, s, slots);
	for (unsigned k = 1; k < slots; k++) {
		union vgpu_slot *p = vg_slot(c, i + k);
		unsigned part = bytes < VGPU_SLOT_PAYLOAD ? bytes : VGPU_SLOT_PAYLOAD;

		vg_payload_header(p, i + k);
		memcpy(p->payload.bytes, payload, part);
		memset(p->payload.bytes + part, 0, VGPU_SLOT_PAYLOAD - part);
		payload += part;
		bytes -= part;
	}
	vg_publish_slot(vg_slot(c, i), op, slots, s, i, wait_tl, value, body ? body : none);
	vg_kick();
	vg_prefetch(c->queue.slots, i, slots);
	return i + 1;
}

uint64_t vg_submit(struct vg_stream *s, uint8_t op, const void *body, const void *payload, unsigned bytes)
{
	return submit(s, op, 0, 0, body, payload, bytes);
}

uint64_t vg_submit_wait(struct vg_stream *s, uint32_t wait_tl, uint64_t value)
{
	return submit(s, VGPU_OP_NOP, wait_tl, value, NULL, NULL, 0);
}
