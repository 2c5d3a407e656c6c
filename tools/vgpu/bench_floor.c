/* SPDX-License-Identifier: MIT */
/*
 * The floors of this machine, measured in the same run as ours: what a cache line and a bare ring push cost here, now.
 * Called by bench launch. The peers' transports are in bench_peer.c.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../fw-protocol/vgpu_ring.h"

#define ROUNDS 20000
#define RING 1024
#define BURST (RING / 2)
#define PUSHES 300

static struct shared {
	_Alignas(64) uint64_t ping;
	_Alignas(64) uint64_t pong;
	_Alignas(64) uint64_t head;
	_Alignas(64) uint32_t stop;
	_Alignas(64) union vgpu_slot ring[RING];
} *sh;

/* A thread that begins on the other CPU: ours it would get only after a time slice. */
static int start(pthread_t *t, void *(*fn)(void *arg))
{
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cores()->other, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	err = pthread_create(t, &attr, fn, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

static void *ponger(void *arg)
{
	(void)arg;
	for (uint64_t want = 1; want <= ROUNDS; want++) {
		while (vgpu_load_acquire64(&sh->ping) != want)
			vgpu_cpu_relax();
		vgpu_store_release64(&sh->pong, want);
	}
	return NULL;
}

static void line_rtt(struct hist *h)
{
	pthread_t t;

	sh->ping = sh->pong = 0;
	if (start(&t, ponger))
		return;
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t t0 = tsc();

		vgpu_store_release64(&sh->ping, i);
		while (vgpu_load_acquire64(&sh->pong) != i)
			vgpu_cpu_relax();
		hist_add(h, tsc_ns(t0, tsc()));
	}
	pthread_join(t, NULL);
}

/* The consumer reads every slot, as an agent must, and gives the room back. */
static void *drain(void *arg)
{
	uint64_t sum = 0;

	(void)arg;
	for (uint64_t i = 0; !vgpu_load_relaxed32(&sh->stop);) {
		union vgpu_slot *s = &sh->ring[i % RING];
		unsigned n;

		if (!vgpu_slot_ready(s, i)) {
			vgpu_cpu_relax();
			continue;
		}
		n = s->cmd.slots;
		for (unsigned k = 0; k < n; k++)
			sum += *(volatile uint64_t *)&sh->ring[(i + k) % RING].cmd.u.w[0];
		i += n;
		vgpu_ring_consumed(&sh->head, i);
	}
	return (void *)(uintptr_t)sum;
}

/* Bursts of half the ring, drained between: the cost of a push, not of a full queue. ns a record, the median. */
static double push(unsigned slots)
{
	struct hist *h = calloc(1, sizeof(*h));
	uint64_t index = 0;
	pthread_t t;
	double r;

	memset(sh, 0, sizeof(*sh));
	if (!h || start(&t, drain)) {
		free(h);
		return NAN;
	}
	for (int round = 0; round < PUSHES; round++) {
		uint64_t t0 = tsc();

		for (unsigned i = 0; i < BURST / slots; i++) {
			union vgpu_slot *s = &sh->ring[index % RING];

			for (unsigned p = 1; p < slots; p++) {
				union vgpu_slot *q = &sh->ring[(index + p) % RING];

				memset(q->payload.bytes, (int)i, sizeof(q->payload.bytes));
				vgpu_store_relaxed32(&q->payload.seq, (uint32_t)(index + p + 1));
			}
			s->cmd.slots = (uint8_t)slots;
			memset(s->cmd.u.body, (int)i, sizeof(s->cmd.u.body));
			vgpu_slot_publish(s, index);
			index += slots;
		}
		hist_add(h, tsc_ns(t0, tsc()) / (BURST / slots));
		while (vgpu_load_acquire64(&sh->head) != index)
			vgpu_cpu_relax();
	}
	vgpu_store_relaxed32(&sh->stop, 1);
	pthread_join(t, NULL);
	r = hist_quantile(h, 0.5);
	free(h);
	return r;
}

void measure_floors(struct floors *f)
{
	static const unsigned params[NPARAMS] = PARAM_COUNTS;
	cpu_set_t was;
	uint64_t t0 = tsc();

	for (int i = 0; i < 1000; i++)
		tsc();
	f->clock = tsc_ns(t0, tsc()) / 1000;
	for (int i = 0; i < NPARAMS; i++)
		f->push[i] = NAN;
	if (cores()->other < 0)         /* the floors between two CPUs are not there to be measured */
		return;
	/* 2 MiB and aligned, so that it may become a huge page, as the queues are */
	sh = aligned_alloc(2 << 20, 2 << 20);
	if (!sh)
		return;
	madvise(sh, 2 << 20, MADV_HUGEPAGE);
	memset(sh, 0, sizeof(*sh));
	sched_getaffinity(0, sizeof(was), &was);
	pin_to(cores()->client);
	line_rtt(&f->line);
	for (int i = 0; i < NPARAMS; i++)
		f->push[i] = push(launch_slots(params[i]));
	sched_setaffinity(0, sizeof(was), &was);
	free(sh);
	sh = NULL;
}
