/* SPDX-License-Identifier: MIT */
/*
 * The submission path with many threads: real queue.c and wait.c, a ring in plain memory, and a consumer
 * that checks every command as the agent does and completes streams late and in bursts.
 *
 * Proved: no slot is lost or seen twice, payloads arrive whole, each thread's commands keep their
 * order within a stream, a stream has no more commands in flight than its credits (plus the
 * threads that passed the check at the same moment), and the last ticket is the largest; commands one by one and in runs. Every round begins with
 * a queue that nobody owns, so that its threads take it from each other until it is shared.
 *
 * Sources: tests/unit/test_core_queue.c; includes queue.c, wait.c and vgpu_check.c
 * Flags: -Ilibcuda-lite/include      Sanitizers: TSan
 */
#define _GNU_SOURCE
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
/* Fences only decide who sleeps here; data is handed over by acquire and release alone. */
#pragma GCC diagnostic ignored "-Wtsan"
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_check.c"
#include "../../libcuda-lite/core/queue.c"
#include "../../libcuda-lite/core/wait.c"

#define THREADS 4u
#define STREAMS 3u
#define ROUNDS 24u
#define PER_ROUND 250u
#define PER_THREAD (ROUNDS * PER_ROUND)
#define TOTAL (THREADS * PER_THREAD)

struct vg_session vg;
static struct vgpu_agent_page page;
static struct vgpu_ctx_head head;
static struct vgpu_timeline timelines[STREAMS];
static _Alignas(64) union vgpu_slot ring[VGPU_IOQ_SLOTS];
static struct vg_ctx ctx;
static struct vg_stream streams[STREAMS];
static uint32_t failed, round_no;
static pthread_barrier_t start;

void vg_say(const char *fmt, ...)
{
	printf("FAIL %s\n", fmt);
	__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
}

/* nobody says farewell here */
uint32_t vg_printable(char *text, uint32_t n)
{
	(void)text;
	printf("FAIL the agent was taken for gone\n");
	__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
	return n;
}

struct vg_ctx *vg_ctx_by_number(uint32_t number)
{
	return number ? NULL : &ctx;
}

void vg_printf_drain(struct vg_ctx *c)
{
	(void)c;
}

#define CHECK(x) \
	do { \
		if (!(x) && __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED) < 20) \
			printf("FAIL line %d: %s\n", __LINE__, #x); \
	} while (0)

struct payload {
	uint32_t thread, n, bytes;
	uint8_t fill[300];
};

#define RUN_MAX 24u

/* Command i of a thread, as it lies in the image of a run. Returns its slots. */
static unsigned image_of(union vgpu_slot *to, const struct payload *p)
{
	struct vgpu_body_copy b = { .dst = VGPU_SPAN_BASE_DEFAULT, .bytes = p->bytes };
	unsigned slots = 1 + vgpu_payload_slots(p->bytes);

	memset(to, 0, slots * sizeof *to);
	to->cmd.op = VGPU_OP_COPY_INLINE;
	to->cmd.slots = (uint8_t)slots;
	memcpy(to->cmd.u.body, &b, sizeof b);
	for (unsigned k = 1; k < slots; k++) {
		uint32_t at = (k - 1) * VGPU_SLOT_PAYLOAD, left = p->bytes - at;

		memcpy(to[k].payload.bytes, (const uint8_t *)p + at, left < VGPU_SLOT_PAYLOAD ? left : VGPU_SLOT_PAYLOAD);
	}
	return slots;
}

/* Up to RUN_MAX commands at once, as a graph's launch has them. Returns how many. */
static uint32_t produce_run(struct payload *p, uint32_t i, uint32_t end, uint32_t r)
{
	static _Thread_local union vgpu_slot image[RUN_MAX * 8];
	uint32_t n = 1 + (r >> 4) % RUN_MAX, at = 0;

	if (n > end - i)
		n = end - i;
	for (uint32_t k = 0; k < n; k++) {
		p->n = i + k;
		p->bytes = 12 + (r >> (k % 16)) % sizeof p->fill;
		memset(p->fill, (int)(p->thread * 31 + p->n), sizeof p->fill);
		at += image_of(image + at, p);
	}
	CHECK(vg_submit_run(&streams[(r >> 20) % STREAMS], image, n) == image + at);
	return n;
}

static void *produce(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, r = me * 77 + 1;
	struct payload p = { .thread = me };
	uint64_t last = 0;

	/* All four live at once, so that none has the thread pointer of one that has ended. */
	pthread_barrier_wait(&start);
	for (uint32_t i = round_no * PER_ROUND; i < (round_no + 1) * PER_ROUND; i++) {
		struct vgpu_body_copy b = { .dst = VGPU_SPAN_BASE_DEFAULT };
		uint64_t ticket;

		r = r * 1664525 + 1013904223;
		if (r >> 28 == 5) {
			i += produce_run(&p, i, (round_no + 1) * PER_ROUND, r) - 1;
			continue;
		}
		p.n = i;
		p.bytes = 12 + (r >> 8) % sizeof p.fill;
		memset(p.fill, (int)(me * 31 + i), sizeof p.fill);
		b.bytes = p.bytes;
		ticket = vg_submit(&streams[(r >> 20) % STREAMS], VGPU_OP_COPY_INLINE, &b, &p, p.bytes);
		/* One thread's commands are numbered in the order of its calls, whatever the stream. */
		CHECK(ticket > last);
		last = ticket;
	}
	return NULL;
}

/* Puts a command's payload together; every slot must carry its own sequence word. */
static void take_payload(uint64_t index, const struct vgpu_cmd *c, struct payload *out)
{
	uint32_t left = (uint32_t)c->u.copy.bytes;

	for (unsigned k = 1; k < c->slots; k++) {
		const struct vgpu_payload_slot *s = &ring[(index + k) % VGPU_IOQ_SLOTS].payload;
		uint32_t n = left < VGPU_SLOT_PAYLOAD ? left : VGPU_SLOT_PAYLOAD;

		CHECK(s->seq == (uint32_t)(index + k + 1) && s->zero == 0);
		memcpy((uint8_t *)out + (k - 1) * VGPU_SLOT_PAYLOAD, s->bytes, n);
		left -= n;
	}
}

/* Device and agent in one: value, then whoever sleeps is woken. */
static void complete(struct vgpu_timeline *t, uint64_t value)
{
	vgpu_store_release64(&t->value, value);
	vgpu_publisher_fence(0);
	if (vgpu_load_relaxed32(&t->waiter) && vgpu_exchange32(&t->waiter, 0)) {
		__atomic_add_fetch(&t->wake, 1, __ATOMIC_RELEASE);
		vg_futex(&t->wake, FUTEX_WAKE, INT_MAX, NULL);
	}
}

static void *consume(void *arg)
{
	static uint32_t next[THREADS][STREAMS], seen[THREADS];
	const struct vgpu_check_env env = { .window_base = VGPU_SPAN_BASE_DEFAULT, .window_bytes = VGPU_WINDOW_SPAN };
	uint64_t index = 0, value[STREAMS] = { 0 };
	uint32_t flight[STREAMS] = { 0 }, worst = 0;

	(void)arg;
	for (uint32_t got = 0; got < TOTAL;) {
		struct payload p;
		struct vgpu_cmd c;
		unsigned s;

		if (!vgpu_slot_ready(&ring[index % VGPU_IOQ_SLOTS], index)) {
			/* Nothing new: the "device" completes what it has, so that credits come back. */
			for (s = 0; s < STREAMS; s++) {
				flight[s] = 0;
				complete(&timelines[s], value[s]);
			}
			sched_yield();
			continue;
		}
		c = ring[index % VGPU_IOQ_SLOTS].cmd;
		CHECK(vgpu_check_cmd(&c, VGPU_Q_IO, index, &env) == VGPU_ST_OK);
		if (failed)
			exit(1);
		memset(&p, 0, sizeof p);
		take_payload(index, &c, &p);
		CHECK(p.thread < THREADS && p.bytes == c.u.copy.bytes);
		for (uint32_t i = 0; i < p.bytes - 12; i++)
			CHECK(p.fill[i] == (uint8_t)(p.thread * 31 + p.n));
		s = c.stream;
		CHECK(p.n >= next[p.thread][s]);
		next[p.thread][s] = p.n + 1;
		seen[p.thread]++;
		index += c.slots;
		vgpu_ring_consumed(&head.io_head, index);
		value[s] = c.ticket;
		if (++flight[s] > worst)
			worst = flight[s];
		got++;
	}
	for (unsigned s = 0; s < STREAMS; s++) {
		complete(&timelines[s], value[s]);
		CHECK(vg_stream_last(&streams[s]) <= value[s]);
	}
	for (unsigned t = 0; t < THREADS; t++)
		CHECK(seen[t] == PER_THREAD);
	CHECK(worst <= VGPU_STREAM_CREDITS + THREADS);
	return NULL;
}

/* A word that has changed before one sleeps, a sleep that ends by the clock: both are the library's own, and the program's errno is not. */
static void waits_leave_errno(void)
{
	const struct timespec soon = { 0, 1 };
	uint32_t word = 1;

	errno = 77;
	CHECK(vg_futex(&word, FUTEX_WAIT, 0, NULL) == -EAGAIN);
	CHECK(vg_futex(&word, FUTEX_WAIT, 1, &soon) == -ETIMEDOUT);
	CHECK(vg_futex(&word, FUTEX_WAKE, 1, NULL) == 0);
	CHECK(errno == 77);
}

int main(void)
{
	pthread_t t[THREADS], c;
	uint64_t moves = 0;

	pthread_barrier_init(&start, NULL, THREADS);
	waits_leave_errno();
	vg.may_own = vgpu_private_register() == 0;
	vg.agent = &page;
	vg.kick = vg.sock = vg.pidfd = -1;
	vg.cores = 2;
	ctx.head = &head;
	ctx.timelines = timelines;
	ctx.queue = (struct vg_queue){ .slots = ring, .head = &head.io_head, .size = VGPU_IOQ_SLOTS };
	for (unsigned s = 0; s < STREAMS; s++) {
		streams[s].ctx = &ctx;
		streams[s].tl = &timelines[s];
		streams[s].index = (uint16_t)s;
		streams[s].flags_word = (uint64_t)(s ? VGPU_CMD_BLOCKING : VGPU_CMD_LEGACY) << 48;
	}
	pthread_create(&c, NULL, consume, NULL);
	for (round_no = 0; round_no < ROUNDS; round_no++) {
		ctx.queue.owner = ctx.queue.debt = 0;
		ctx.queue.moves = 0;
		memset(ctx.queue.tenant, 0, sizeof ctx.queue.tenant);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_create(&t[i], NULL, produce, (void *)(uintptr_t)i);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		moves += ctx.queue.moves;
		for (unsigned i = 0; i < VG_TENURES; i++)
			CHECK(!ctx.queue.busy[i]);
	}
	pthread_join(c, NULL);
	/* All that was numbered has been seen, and each stream knows its last ticket. */
	for (unsigned s = 0; s < STREAMS; s++)
		CHECK(vg_stream_last(&streams[s]) == timelines[s].value);
	CHECK(ctx.queue.tail == head.io_head);
	/* a thread never finds another one's queue its own, so each took it at least once */
	CHECK(!vg.may_own || moves >= ROUNDS * (THREADS - 1));
	printf("core_queue: %u commands of %u threads, queue taken over %llu times%s, %u failed\n", TOTAL, THREADS,
	       (unsigned long long)moves, vg.may_own ? "" : " (no membarrier: always shared)", failed);
	return failed != 0;
}
