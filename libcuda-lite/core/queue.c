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

void vg_queue_give(struct vg_queue *q)
{
	if (vg_tenure(__atomic_load_n(&q->owner, __ATOMIC_RELAXED)) >= VG_TENURES)
		return;
	vg_lock(&q->owner_lock);
	/* not another's, who has taken it meanwhile */
	if (vg_tenure(__atomic_load_n(&q->owner, __ATOMIC_RELAXED)) < VG_TENURES)
		__atomic_store_n(&q->owner, 0, __ATOMIC_RELEASE);
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

/* Nobody claims in the stream with plain loads and stores meanwhile: the calling thread owns the queue, or nobody does. */
void vg_park(struct vg_stream *s)
{
	struct vg_queue *q = &s->ctx->queue;
	uint8_t *busy;

	for (;;) {
		if (vg_enter(q, &busy)) {
			s->left -= VG_PARKED;
			vg_leave(busy);
			return;
		}
		if (__atomic_load_n(&q->owner, __ATOMIC_ACQUIRE) == VG_QUEUE_SHARED) {
			__atomic_fetch_sub(&s->left, VG_PARKED, __ATOMIC_RELAXED);
			return;
		}
		vg_queue_own(q);
	}
}

/* No claim changes a parked stream's credits but by locked instructions or its owner's; so this takes the queue too. */
void vg_unpark(struct vg_stream *s)
{
	struct vg_queue *q = &s->ctx->queue;
	uint8_t *busy;

	for (;;) {
		if (vg_enter(q, &busy)) {
			s->left += VG_PARKED;
			vg_leave(busy);
			return;
		}
		if (__atomic_load_n(&q->owner, __ATOMIC_ACQUIRE) == VG_QUEUE_SHARED) {
			__atomic_fetch_add(&s->left, VG_PARKED, __ATOMIC_RELAXED);
			return;
		}
		vg_queue_own(q);
	}
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
				if (took && __atomic_load_n(&s->left, __ATOMIC_RELAXED) > -VG_PARKED / 2)
					continue;
				/* Somebody began to capture meanwhile, but the call came before that: the credit is there, and hidden. */
				if (took) {
					__atomic_fetch_sub(&s->left, 1, __ATOMIC_RELAXED);
					vg_number_shared(q, s, n, &i);
				}
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

/* What a run takes at once: the agent begins with the first while the next are filled, and nobody waits long for the queue. */
#define RUN 16u

/* The commands at the start of the image for which there are slots and credits, as one claim; 0: there are none. */
static inline uint32_t take_run(struct vg_queue *q, struct vg_stream *s, const union vgpu_slot *image, uint32_t commands,
				uint64_t *at)
{
	uint64_t i = q->tail, room = __atomic_load_n(&q->room, __ATOMIC_ACQUIRE);
	uint32_t k = 0, n = 0, last = 0;

	if (commands > RUN)
		commands = RUN;
	if (s->left < (int32_t)commands)
		commands = s->left > 0 ? (uint32_t)s->left : 0;
	/* The tail may lie behind room: somebody has claimed, and waits for it. */
	for (; k < commands && i + n + image[n].cmd.slots <= room; k++) {
		last = n;
		n += image[n].cmd.slots;
	}
	if (!k)
		return 0;
	*at = i;
	s->left -= (int32_t)k;
	__atomic_store_n(&q->tail, i + n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->last, i + last + 1, __ATOMIC_RELEASE);
	return k;
}

/* Two words in one store: what a burst waits for is how many stores its command takes (vg_publish_slot()). */
typedef uint64_t pair __attribute__((vector_size(16), may_alias));

/* One command into its slots, and published. Returns how many it has. */
static inline unsigned put_command(union vgpu_slot *slots, const struct vg_stream *s, const union vgpu_slot *image, uint64_t i)
{
	union vgpu_slot *h = &slots[i % VGPU_IOQ_SLOTS];
	const pair *from = (const pair *)image;
	unsigned n = image->cmd.slots;
	pair *to = (pair *)h;

	/* Payload: its first word is the sequence number, and nobody reads it before the header's. */
	for (unsigned k = 1; k < n; k++) {
		pair *p = (pair *)&slots[(i + k) % VGPU_IOQ_SLOTS];
		const pair *f = from + 4 * k;

		p[0] = (pair){ (uint32_t)(i + k + 1), f[0][1] };
		p[1] = f[1];
		p[2] = f[2];
		p[3] = f[3];
	}
	((uint64_t *)h)[1] = s->index;
	to[1] = (pair){ i + 1, 0 };
	to[2] = from[2];
	to[3] = from[3];
	vgpu_store_release64((uint64_t *)h, (uint32_t)(i + 1) | (from[0][0] & ~0xffffffffull) | s->flags_word);
	vg_prefetch(slots, i, n);
	return n;
}

const union vgpu_slot *vg_submit_run(struct vg_stream *s, const union vgpu_slot *image, uint32_t commands)
{
	struct vg_ctx *c = s->ctx;
	struct vg_queue *q = &c->queue;

	while (commands) {
		uint32_t took = 0;
		uint8_t *busy;
		uint64_t i;

		if (VG_LIKELY(vg_enter(q, &busy))) {
			took = take_run(q, s, image, commands, &i);
			vg_leave(busy);
		}
		if (!took) {
			i = vg_claim_slow(c, s, image->cmd.slots);
			took = 1;
		}
		commands -= took;
		while (took--) {
			unsigned n = put_command(q->slots, s, image, i);

			i += n;
			image += n;
		}
		vg_kick();
	}
	return image;
}
