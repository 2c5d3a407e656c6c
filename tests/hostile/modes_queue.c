/* SPDX-License-Identifier: MIT */
/* Misbehaviour in the queues: every field of a command, forged, alone and together. */
#include "raw.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A session with one context, made anew whenever the last one was thrown out. */
static struct raw r;
static int ctx = -1;
static unsigned sessions;

static int session(void)
{
	if (ctx >= 0 && r.seg0) {
		/* Thrown out? The socket tells, and the context's error word. */
		if (!raw_closed(r.sock) && !vgpu_load_acquire32(&raw_head(&r, (unsigned)ctx)->error))
			return 0;
		raw_close(&r);
	}
	ctx = -1;
	while (raw_time_left(0.3)) {
		if (!raw_open(&r)) {
			ctx = raw_context(&r);
			if (ctx >= 0) {
				sessions++;
				return 0;
			}
			raw_close(&r);
		}
		raw_nap_ms(5);
	}
	if (!sessions)
		raw_miss("no session with a context");
	return -1;
}

/* Publishes one I/O command and gives the other side time to look at it. */
static void one(struct vgpu_cmd *c, const void *payload, size_t bytes, int keep)
{
	if (session())
		return;
	raw_io(&r, (unsigned)ctx, c, payload, bytes, keep);
	raw_nap_ms(1);
}

static void one_ctl(struct vgpu_cmd *c)
{
	struct vgpu_reply a;

	if (session())
		return;
	c->u.ctl.context = c->u.ctl.context ? c->u.ctl.context : (uint16_t)ctx;
	raw_ctl(&r, c, &a, 20);
}

static struct vgpu_cmd nop(void)
{
	struct vgpu_cmd c = { .op = VGPU_OP_NOP, .slots = 1 };

	return c;
}

/* Sequence words: the future, the past, all ones; payload slots that do not belong to their header. */
static void sequence(void)
{
	for (unsigned i = 0; raw_time_left(0.4) && i < 300; i++) {
		struct vgpu_cmd c = nop();
		uint64_t index;

		if (session())
			return;
		index = r.io_index[ctx];
		switch (i % 6) {
		case 0: c.seq = (uint32_t)index + 2; break;
		case 1: c.seq = (uint32_t)index; break;
		case 2: c.seq = ~0u; break;
		case 3: c.seq = raw_rand(); break;
		case 4: c.seq = (uint32_t)index + 1 + VGPU_IOQ_SLOTS; break;
		case 5:
			/* A header of four slots whose payload slots were never published. */
			c.op = VGPU_OP_COPY_INLINE;
			c.slots = 4;
			c.u.copy.bytes = 150;
			c.u.copy.dst = raw_va(&r, VGPU_STAGING_OFFSET);
			c.ticket = index + 1;
			c.seq = (uint32_t)index + 1;
			memcpy(raw_io_slot(&r, (unsigned)ctx, index), &c, sizeof c);
			for (unsigned k = 1; k < 4; k++)
				raw_io_slot(&r, (unsigned)ctx, index + k)->payload.seq = raw_rand();
			raw_kick(&r);
			raw_nap_ms(2);
			raw_context_destroy(&r, (unsigned)ctx);
			ctx = raw_context(&r);
			continue;
		}
		c.ticket = index + 1;
		one(&c, NULL, 0, 1);
		/* What was not accepted leaves the queue where it stood: a new context for the next try. */
		if (i % 6 != 5 && r.seg0 && ctx >= 0) {
			raw_context_destroy(&r, (unsigned)ctx);
			ctx = raw_context(&r);
			if (ctx < 0)
				raw_close(&r);
		}
	}
	/* The control queue as well. */
	for (unsigned i = 0; raw_time_left(0.3) && i < 50 && !session(); i++) {
		union vgpu_slot *s = raw_ctl_slot(&r, r.ctl_index);

		s->cmd = nop();
		s->cmd.op = VGPU_OP_PING;
		s->cmd.ticket = r.ctl_index + 1;
		vgpu_store_release32(&s->cmd.seq, raw_rand());
		raw_kick(&r);
		raw_nap_ms(1);
	}
}

static void tickets(void)
{
	static const uint64_t evil[] = { 0, 2, ~0ull, 1ull << 63, 0xffffffff };

	for (unsigned i = 0; raw_time_left(0.3) && i < 100 && !session(); i++) {
		struct vgpu_cmd c = nop();

		c.ticket = i % 6 < 5 ? evil[i % 6] : raw_rand64();
		c.seq = (uint32_t)r.io_index[ctx] + 1;
		one(&c, NULL, 0, 1);
	}
	/* Waits for what never comes, for contexts that are not there, for itself. */
	for (unsigned i = 0; raw_time_left(0.3) && i < 60 && !session(); i++) {
		struct vgpu_cmd c = nop();
		static const uint32_t tl[] = { VGPU_WAIT_TL(0, 0), VGPU_WAIT_TL(7, 1023), VGPU_WAIT_TL(8, 0),
			VGPU_WAIT_TL(0x7fff, 0), VGPU_WAIT_TL(0, 1024), VGPU_WAIT_TL(0, 0xffff), 1, 0x7fffffff, ~0u };

		c.stream = i % 3 ? i : 0;
		c.wait_tl = tl[i % 9];
		c.wait_value = raw_evil64();
		one(&c, NULL, 0, 0);
	}
}

static void lengths(void)
{
	static const uint8_t slots[] = { 0, 2, 75, 76, 128, 255 };
	uint8_t payload[4200];

	memset(payload, 0xcc, sizeof payload);
	for (unsigned i = 0; raw_time_left(0.3) && i < 400; i++) {
		struct vgpu_cmd c = nop();

		if (session())
			return;
		c.op = (uint8_t)(1 + i % 12);
		switch (i / 12 % 4) {
		case 0:		/* slot counts that do not fit the operation */
			c.slots = slots[raw_rand() % 6];
			break;
		case 1:		/* payload lengths that do not fit the slots */
			c.op = i & 1 ? VGPU_OP_LAUNCH : VGPU_OP_COPY_INLINE;
			c.slots = (uint8_t)(1 + raw_rand() % 4);
			c.u.launch.param_bytes = (uint16_t)raw_evil64();
			if (!(i & 1)) {
				c.u.copy.dst = raw_va(&r, VGPU_STAGING_OFFSET);
				c.u.copy.bytes = raw_evil64();
			}
			break;
		case 2:		/* ranges that wrap or leave the client's memory */
			c.op = i & 1 ? VGPU_OP_COPY : VGPU_OP_FILL;
			c.u.w[0] = raw_evil64();
			c.u.w[1] = raw_evil64();
			c.u.w[2] = raw_evil64();
			c.u.w[3] = i & 1 ? 0 : raw_evil64();
			break;
		case 3: {	/* three dimensions' worth of overflow */
			uint64_t p[7];

			c.op = VGPU_OP_COPY3D;
			c.slots = 2;
			c.u.copy.dst = raw_va(&r, VGPU_STAGING_OFFSET);
			c.u.copy.src = raw_va(&r, VGPU_STAGING_OFFSET + 4096);
			c.u.copy.bytes = raw_rand() % 2 ? 16 : raw_evil64();
			for (int k = 0; k < 6; k++)
				p[k] = raw_rand() % 2 ? 4 : raw_evil64();
			p[6] = raw_rand() % 4 ? 0 : 1;
			one(&c, p, sizeof p, 0);
			continue;
		}
		}
		one(&c, payload, sizeof payload, 0);
	}
}

/* Every operation number in either queue, every flag bit, every stream number that is none. */
static void opcodes(void)
{
	for (unsigned op = 0; op < 256 && raw_time_left(0.3); op++) {
		struct vgpu_cmd c = nop();

		c.op = (uint8_t)op;
		one(&c, NULL, 0, 0);
		c = nop();
		c.op = (uint8_t)op;
		one_ctl(&c);
	}
	for (unsigned bit = 0; bit < 16 && raw_time_left(0.2); bit++) {
		struct vgpu_cmd c = nop();

		/* of the priority's bits, a number that is none */
		c.flags = (uint16_t)(1u << bit & VGPU_CMD_PRIORITY ? VGPU_PRIORITIES << VGPU_CMD_PRIORITY_SHIFT : 1u << bit);
		one(&c, NULL, 0, 0);
		c.op = VGPU_OP_PING;
		one_ctl(&c);
	}
	for (unsigned bit = 10; bit < 32 && raw_time_left(0.2); bit++) {
		struct vgpu_cmd c = nop();

		c.stream = 1u << bit;
		one(&c, NULL, 0, 0);
	}
}

/* Functions, modules, allocations, contexts and reply slots of others or of nobody. */
static void handles(void)
{
	static const uint32_t ids[] = { 0, 1, 2, 3, 1000, 0x7fffffff, 0x80000000, ~0u };

	for (unsigned i = 0; raw_time_left(0.3) && i < 600; i++) {
		struct vgpu_cmd c = nop();

		if (session())
			return;
		if (i % 3 == 0) {
			uint64_t params[8];

			for (int k = 0; k < 8; k++)
				params[k] = raw_evil64();
			c.op = VGPU_OP_LAUNCH;
			c.slots = 3;
			c.u.launch.fn = ids[raw_rand() % 8];
			c.u.launch.param_bytes = 64;
			for (int k = 0; k < 3; k++) {
				c.u.launch.grid[k] = raw_rand() % 2 ? 1 : (uint32_t)raw_evil64();
				c.u.launch.block[k] = (uint16_t)(raw_rand() % 2 ? 1 : raw_evil64());
			}
			c.u.launch.shared_bytes = raw_rand() % 2 ? 0 : (uint32_t)raw_evil64();
			c.u.launch.attrs = raw_rand() % 2 ? 0 : raw_rand();
			one(&c, params, sizeof params, 0);
			continue;
		}
		c.op = (uint8_t)(64 + raw_rand() % 14);
		c.u.ctl.id = ids[raw_rand() % 8];
		c.u.ctl.a = raw_evil64();
		c.u.ctl.b = raw_evil64();
		c.u.ctl.c = raw_evil64();
		c.u.ctl.context = raw_rand() % 4 ? (uint16_t)ctx : (uint16_t)raw_evil64();
		c.u.ctl.reply = raw_rand() % 4 ? (uint16_t)(raw_rand() % VGPU_REPLIES) : (uint16_t)raw_evil64();
		one_ctl(&c);
	}
}

/* Noise in every field but those that make the reader look. */
static void noise(void)
{
	unsigned n = 0;

	while (raw_time_left(0.3) && !session()) {
		struct vgpu_cmd c;
		uint8_t payload[300];

		for (size_t k = 0; k < sizeof c; k += 4)
			memcpy((char *)&c + k, &(uint32_t){ raw_rand() }, 4);
		for (size_t k = 0; k < sizeof payload; k += 4)
			memcpy(payload + k, &(uint32_t){ raw_rand() }, 4);
		/* Half of it near enough to the truth to get past the first check. */
		if (n & 1) {
			c.op = (uint8_t)(1 + raw_rand() % 12);
			c.flags &= VGPU_CMD_FLAGS;
			c.stream %= VGPU_MAX_STREAMS;
			c.wait_tl = 0;
			c.wait_value = 0;
			c.slots = (uint8_t)(1 + raw_rand() % 3);
		}
		if (n % 7 == 0) {
			c.op = (uint8_t)(64 + raw_rand() % 14);
			c.slots = 1;
			c.flags = 0;
			c.stream = c.wait_tl = 0;
			c.wait_value = 0;
			one_ctl(&c);
		} else {
			one(&c, payload, sizeof payload, 0);
		}
		n++;
	}
	raw_say("%u commands", n);
}

/* Rings overrun without a look at the head, heads and replies overwritten, publication torn under the reader. */
/*
 * Commands that are in order when they are published, and whose every word others of our threads change while agent and context read
 * them: header, body, payload, of the control queue as well. What was checked must be what is done.
 */
static volatile int flicker_on;

static void *flicker_slots(void *seed)
{
	uint32_t x = (uint32_t)(uintptr_t)seed;

	while (flicker_on) {
		uint64_t index = __atomic_load_n(&r.io_index[ctx], __ATOMIC_RELAXED), at = index + x % 8 - 4;
		union vgpu_slot *slot = x & 1 << 20 ? raw_ctl_slot(&r, __atomic_load_n(&r.ctl_index, __ATOMIC_RELAXED) - x % 2) : raw_io_slot(&r, (unsigned)ctx, at);
		volatile uint32_t *word = (volatile uint32_t *)(void *)slot + 1 + (x >> 8) % 15;
		uint32_t was = *word;

		x = x * 1664525u + 1013904223u;
		/* now something else, now the truth again: so that it is the truth for whoever checks, and not for whoever acts */
		*word = x & 2 ? was ^ 1u << (x >> 27) : x;
		if (x & 4)
			*word = was;
	}
	return NULL;
}

static void flicker(void)
{
	unsigned n = 0;

	while (raw_time_left(0.3) && !session()) {
		pthread_t t[2];

		flicker_on = 1;
		for (uintptr_t i = 0; i < 2; i++)
			if (pthread_create(&t[i], NULL, flicker_slots, (void *)(i * 77777 + raw_rand()))) {
				raw_miss("no thread");
				return;
			}
		/* one at least, however late it is */
		for (unsigned k = 0; k < 3000 && (!n || raw_time_left(0.2)) && !vgpu_load_acquire32(&raw_head(&r, (unsigned)ctx)->error); k++, n++) {
			struct vgpu_cmd c = nop();
			uint8_t payload[2 * VGPU_SLOT_PAYLOAD];
			struct vgpu_reply a;

			memset(payload, (int)k, sizeof payload);
			if (k % 4 == 1) {
				c.op = VGPU_OP_COPY;
				c.u.copy.dst = raw_va(&r, VGPU_STAGING_OFFSET);
				c.u.copy.src = raw_va(&r, VGPU_STAGING_OFFSET + 4096);
				c.u.copy.bytes = 64;
			} else if (k % 4 == 2) {
				c.op = VGPU_OP_LAUNCH;
				c.slots = 3;
			} else if (k % 4 == 3) {
				c.op = VGPU_OP_PING;
				c.u.ctl.context = (uint16_t)ctx;
				raw_ctl(&r, &c, &a, 2);
				continue;
			}
			if (raw_io(&r, (unsigned)ctx, &c, payload, sizeof payload, 0))
				break;
		}
		flicker_on = 0;
		for (unsigned i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	}
	raw_say("%u commands in %u sessions", n, sessions);
}

static void overrun(void)
{
	while (raw_time_left(0.5) && !session()) {
		for (unsigned i = 0; i < 20 * VGPU_IOQ_SLOTS; i++) {
			union vgpu_slot *s = raw_io_slot(&r, (unsigned)ctx, r.io_index[ctx]);

			s->cmd = nop();
			s->cmd.ticket = ++r.io_index[ctx];
			vgpu_store_release32(&s->cmd.seq, (uint32_t)s->cmd.ticket);
			/* The header changes while it is being copied. */
			s->cmd.slots = (uint8_t)i;
			s->cmd.op = (uint8_t)(i >> 3);
		}
		raw_kick(&r);
		/* Words that others own. */
		vgpu_store_release64(&raw_head(&r, (unsigned)ctx)->io_head, raw_rand64());
		raw_head(&r, (unsigned)ctx)->printf_tail = raw_rand64();
		((struct vgpu_session *)raw_at(&r, 0))->ctl_head = raw_rand64();
		raw_nap_ms(2);
	}
}

/* Calls whose replies nobody reads, all into the same reply slot; more than the queue holds. */
static void never_drained(void)
{
	unsigned n = 0;

	while (raw_time_left(0.5) && !session()) {
		for (unsigned i = 0; i < 2 * VGPU_CTLQ_SLOTS; i++, n++) {
			union vgpu_slot *s = raw_ctl_slot(&r, r.ctl_index);

			memset((char *)s + 4, 0, sizeof *s - 4);
			s->cmd.op = i & 1 ? VGPU_OP_PING : VGPU_OP_AGENT_PING;
			s->cmd.slots = 1;
			s->cmd.u.ctl.context = (uint16_t)ctx;
			s->cmd.ticket = r.ctl_index + 1;
			vgpu_slot_publish(s, r.ctl_index++);
		}
		raw_kick(&r);
		raw_nap_ms(1);
		/* And an I/O queue filled to the brim, again and again. */
		for (unsigned i = 0; i < VGPU_IOQ_SLOTS; i++) {
			struct vgpu_cmd c = nop();

			c.stream = i % VGPU_MAX_STREAMS;
			if (raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0))
				break;
		}
	}
	raw_say("%u unread replies", n);
}

/* Everybody pretends to sleep: waiter flags on all timelines and replies, wake words in motion. */
static void waiters(void)
{
	while (raw_time_left(0.5) && !session()) {
		for (unsigned s = 0; s < VGPU_MAX_STREAMS; s++) {
			struct vgpu_timeline *t = raw_timeline(&r, (unsigned)ctx, s);

			vgpu_store_relaxed32(&t->waiter, raw_rand());
			vgpu_store_relaxed32(&t->wake, raw_rand());
			vgpu_store_relaxed64(&t->value, raw_rand64());
		}
		for (unsigned i = 0; i < VGPU_REPLIES; i++)
			raw_reply(&r, i)->waiter = 1;
		for (unsigned i = 0; i < 500; i++) {
			struct vgpu_cmd c = nop();

			c.stream = raw_rand() % VGPU_MAX_STREAMS;
			if (raw_io(&r, (unsigned)ctx, &c, NULL, 0, 0))
				break;
		}
		raw_nap_ms(1);
	}
}

const struct mode queue_modes[] = {
	{ "sequence", sequence, "forged sequence words" },
	{ "tickets", tickets, "forged tickets, waits for what never comes" },
	{ "lengths", lengths, "slot counts, lengths, ranges and pitches that lie" },
	{ "opcodes", opcodes, "every operation, flag bit and stream number" },
	{ "handles", handles, "functions, modules, memory, contexts, replies of others" },
	{ "noise", noise, "random commands" },
	{ "flicker", flicker, "every word of commands changed while they are read" },
	{ "overrun", overrun, "rings overrun, torn commands, others' words overwritten" },
	{ "never-drained", never_drained, "replies never read, queues always full" },
	{ "waiters", waiters, "waiter flags left set everywhere" },
	{ NULL, NULL, NULL }
};
