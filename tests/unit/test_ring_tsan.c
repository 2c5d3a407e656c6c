/* SPDX-License-Identifier: MIT */
/*
 * The ring primitives of vgpu_ring.h under ThreadSanitizer: three producers, one consumer, payload
 * slots, many laps; timelines beside it.
 *
 * Sources: tests/unit/test_ring_tsan.c -lpthread, built with -fsanitize=thread (and once without).
 *
 * The producers do what a client's threads do: claim slots with one fetch_add on a private tail,
 * wait for room, write payload slots, then the header, its seq last. The consumer does what agent and context
 * do. The sleeping handshake is not here: ThreadSanitizer does not model fences.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../../fw-protocol/vgpu_ring.h"

#define PRODUCERS 3u
#define COMMANDS 6000u
#define MAX_BYTES 500u

struct ring {
	union vgpu_slot *slot;
	unsigned size;
	uint64_t tail;          /* producers' private word */
	uint64_t head;          /* W: consumer */
	struct vgpu_timeline timeline[PRODUCERS];
	uint8_t memory[PRODUCERS][64];
};

struct producer {
	struct ring *r;
	unsigned id;
	unsigned bad;
};

static unsigned payload_bytes(unsigned id, unsigned i)
{
	return (i * 37u + id * 101u) % MAX_BYTES;
}

static uint8_t payload_byte(unsigned id, unsigned i, unsigned at)
{
	return (uint8_t)(id * 31u + i * 7u + at * 3u);
}

static uint64_t produce(struct ring *r, unsigned id, unsigned i)
{
	unsigned bytes = payload_bytes(id, i), n = vgpu_payload_slots(bytes);
	uint64_t index = __atomic_fetch_add(&r->tail, n + 1, __ATOMIC_RELAXED);
	union vgpu_slot *s = &r->slot[index % r->size];
	struct vgpu_cmd c = { .op = VGPU_OP_COPY_INLINE, .slots = (uint8_t)(n + 1), .stream = id,
			      .ticket = index + 1, .wait_value = i, .u.copy.bytes = bytes };

	while (!vgpu_ring_room(&r->head, index, n + 1, r->size))
		sched_yield();
	for (unsigned k = 0; k < n; k++) {
		struct vgpu_payload_slot *p = &r->slot[(index + 1 + k) % r->size].payload;

		/* seq of a slot is only ever touched atomically: a reader may be looking at it */
		vgpu_store_relaxed32(&p->seq, (uint32_t)(index + 2 + k));
		p->zero = 0;
		for (unsigned b = 0; b < VGPU_SLOT_PAYLOAD && k * VGPU_SLOT_PAYLOAD + b < bytes; b++)
			p->bytes[b] = payload_byte(id, i, k * VGPU_SLOT_PAYLOAD + b);
	}
	memcpy((char *)&s->cmd + sizeof(c.seq), (char *)&c + sizeof(c.seq), sizeof(c) - sizeof(c.seq));
	vgpu_slot_publish(s, index);
	return index + 1;
}

static void *producer(void *arg)
{
	struct producer *p = arg;

	for (unsigned i = 0; i < COMMANDS; i++) {
		uint64_t ticket = produce(p->r, p->id, i);

		if (i % 500)
			continue;
		/* Now and then wait, and read what the command wrote: that is what the acquire is for. */
		while (!vgpu_timeline_reached(&p->r->timeline[p->id], ticket))
			sched_yield();
		if (payload_bytes(p->id, i) && p->r->memory[p->id][0] != payload_byte(p->id, i, 0))
			p->bad++;
	}
	return NULL;
}

static unsigned consume(struct ring *r, unsigned total, uint64_t index)
{
	unsigned next[PRODUCERS] = { 0 }, bad = 0;

	for (unsigned done = 0; done < total; done++) {
		union vgpu_slot *s = &r->slot[index % r->size];
		uint8_t data[VGPU_MAX_PARAM_BYTES];
		struct vgpu_cmd c;
		unsigned n;

		while (!vgpu_slot_ready(s, index))
			sched_yield();
		memcpy((char *)&c + sizeof(c.seq), (char *)&s->cmd + sizeof(c.seq), sizeof(c) - sizeof(c.seq));
		n = c.slots - 1u;
		bad += c.ticket != index + 1 || c.stream >= PRODUCERS || n > 74;
		if (bad)
			break;
		for (unsigned k = 0; k < n; k++) {
			const struct vgpu_payload_slot *p = &r->slot[(index + 1 + k) % r->size].payload;

			bad += vgpu_load_relaxed32(&p->seq) != (uint32_t)(index + 2 + k) || p->zero;
			memcpy(data + k * VGPU_SLOT_PAYLOAD, p->bytes, VGPU_SLOT_PAYLOAD);
		}
		index += n + 1;
		vgpu_ring_consumed(&r->head, index);
		/* order within a producer, contents */
		bad += c.wait_value != next[c.stream]++ || c.u.copy.bytes != payload_bytes(c.stream, (unsigned)c.wait_value);
		for (unsigned b = 0; b < c.u.copy.bytes; b++)
			bad += data[b] != payload_byte(c.stream, (unsigned)c.wait_value, b);
		if (c.wait_value % 500 == 0)
			r->memory[c.stream][0] = data[0];
		vgpu_store_release64(&r->timeline[c.stream].value, c.ticket);
	}
	return bad;
}

static unsigned run(unsigned size, uint64_t first)
{
	static union vgpu_slot slots[1024];
	static struct ring r;
	struct producer p[PRODUCERS];
	pthread_t t[PRODUCERS];
	unsigned bad;

	memset(slots, 0, sizeof(slots));
	memset(&r, 0, sizeof(r));
	r.slot = slots;
	r.size = size;
	r.head = r.tail = first;
	for (unsigned i = 0; i < PRODUCERS; i++) {
		p[i] = (struct producer){ &r, i, 0 };
		if (pthread_create(&t[i], NULL, producer, &p[i]))
			return 1;
	}
	bad = consume(&r, PRODUCERS * COMMANDS, first);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		pthread_join(t[i], NULL);
		bad += p[i].bad;
	}
	return bad + (r.head != r.tail);
}

int main(void)
{
	/* The third passes the place where the 32-bit sequence word wraps. */
	unsigned small = run(16, 0), large = run(1024, 0), wrap = run(16, 0xfffff000u);

	printf("%s: 16 slots: %u bad, 1024 slots: %u bad, wrap: %u bad\n",
	       small || large || wrap ? "FAIL" : "ok", small, large, wrap);
	return small || large || wrap;
}
