/* SPDX-License-Identifier: MIT */
/*
 * The floors of this machine, measured in the same run as ours: what a cache line and a bare ring push cost here, now;
 * the push in turn with launches. Called by bench launch. The peers' transports are in bench_peer.c.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../fw-protocol/vgpu_ring.h"

#define ROUNDS 20000
#define RING 1024
#define STOP 1u
#define END 2u

static struct shared {
	_Alignas(64) uint64_t ping;
	_Alignas(64) uint64_t pong;
	_Alignas(64) uint64_t head;
	_Alignas(64) uint32_t live, stop;
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

static struct {
	pthread_t reader;
	sem_t go, parked;
	uint64_t index;
	int open;
} ring;

/* The consumer reads every slot, as an agent must, and gives the room back. It sleeps between two calls of push_bursts(). */
static void *drain(void *arg)
{
	uint64_t i = 0, sum = 0;

	(void)arg;
	for (;;) {
		sem_wait(&ring.go);
		vgpu_store_release32(&sh->live, 1);
		for (uint32_t stop;;) {
			union vgpu_slot *s = &sh->ring[i % RING];
			unsigned n;

			if (!vgpu_slot_ready(s, i)) {
				stop = vgpu_load_relaxed32(&sh->stop);
				if (stop)
					break;
				vgpu_cpu_relax();
				continue;
			}
			n = s->cmd.slots;
			for (unsigned k = 0; k < n; k++)
				sum += *(volatile uint64_t *)&sh->ring[(i + k) % RING].cmd.u.w[0];
			i += n;
			vgpu_ring_consumed(&sh->head, i);
		}
		vgpu_store_release32(&sh->live, 0);
		if (vgpu_load_relaxed32(&sh->stop) == END)
			return (void *)(uintptr_t)sum;
		sem_post(&ring.parked);
	}
}

void push_open(void)
{
	if (cores()->other < 0)
		return;
	/* 2 MiB and aligned, so that it may become a huge page, as the queues are */
	sh = aligned_alloc(2 << 20, 2 << 20);
	if (!sh)
		return;
	madvise(sh, 2 << 20, MADV_HUGEPAGE);
	memset(sh, 0, sizeof(*sh));
	ring.index = 0;
	sem_init(&ring.go, 0, 0);
	sem_init(&ring.parked, 0, 0);
	ring.open = !start(&ring.reader, drain);
}

void push_close(void)
{
	if (ring.open) {
		vgpu_store_relaxed32(&sh->stop, END);
		sem_post(&ring.go);
		pthread_join(ring.reader, NULL);
	}
	ring.open = 0;
	free(sh);
	sh = NULL;
}

/* The ring is drained after each burst: the cost of a push, not of a full ring. */
void push_bursts(unsigned slots, unsigned records, unsigned bursts, struct hist *h)
{
	uint64_t index = ring.index;

	if (!ring.open)
		return;
	vgpu_store_relaxed32(&sh->stop, 0);
	sem_post(&ring.go);
	while (!vgpu_load_acquire32(&sh->live))
		vgpu_cpu_relax();
	for (unsigned round = 0; round < bursts; round++) {
		uint64_t t0 = tsc();

		for (unsigned i = 0; i < records; i++) {
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
		hist_add(h, tsc_ns(t0, tsc()) / records);
		while (vgpu_load_acquire64(&sh->head) != index)
			vgpu_cpu_relax();
	}
	ring.index = index;
	vgpu_store_relaxed32(&sh->stop, STOP);
	sem_wait(&ring.parked);
}

void measure_floors(struct floors *f)
{
	cpu_set_t was;
	uint64_t t0 = tsc();

	for (int i = 0; i < 1000; i++)
		tsc();
	f->clock = tsc_ns(t0, tsc()) / 1000;
	if (cores()->other < 0)         /* the floors between two CPUs are not there to be measured */
		return;
	sh = aligned_alloc(64, sizeof(*sh));
	if (!sh)
		return;
	sched_getaffinity(0, sizeof(was), &was);
	pin_to(cores()->client);
	line_rtt(&f->line);
	sched_setaffinity(0, sizeof(was), &was);
	free(sh);
	sh = NULL;
}
