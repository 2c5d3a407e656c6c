/* SPDX-License-Identifier: MIT */
/*
 * The floors of this machine, measured in the same run as ours: what a cache line, a bare ring
 * push and a socket cost here, now.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_ring.h"
#include "bench.h"

#define ROUNDS 20000
#define RING 1024
#define BURST (RING / 2)

static struct {
	_Alignas(64) uint64_t ping;
	_Alignas(64) uint64_t pong;
	_Alignas(64) uint64_t head;
	_Alignas(64) uint32_t stop;
	_Alignas(64) union vgpu_slot ring[RING];
} *sh;

static void *ponger(void *arg)
{
	(void)arg;
	pin_to(1);
	for (uint64_t want = 1; want <= ROUNDS; want++) {
		while (vgpu_load_acquire64(&sh->ping) != want)
			vgpu_cpu_relax();
		vgpu_store_release64(&sh->pong, want);
	}
	return NULL;
}

static double line_rtt(void)
{
	struct hist *h = calloc(1, sizeof(*h));
	pthread_t t;
	double r;

	sh->ping = sh->pong = 0;
	if (!h || pthread_create(&t, NULL, ponger, NULL))
		return NAN;
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t t0 = tsc();

		vgpu_store_release64(&sh->ping, i);
		while (vgpu_load_acquire64(&sh->pong) != i)
			vgpu_cpu_relax();
		hist_add(h, (double)(tsc() - t0) / tsc_ghz());
	}
	pthread_join(t, NULL);
	r = hist_quantile(h, 0.5);
	free(h);
	return r;
}

/* The consumer reads the header and the payload, as an agent must, and gives the room back. */
static void *drain(void *arg)
{
	(void)arg;
	pin_to(1);
	for (uint64_t i = 0; !vgpu_load_relaxed32(&sh->stop);) {
		union vgpu_slot *s = &sh->ring[i % RING];

		if (!vgpu_slot_ready(s, i)) {
			vgpu_cpu_relax();
			continue;
		}
		(void)*(volatile uint64_t *)&s->cmd.u.w[0];
		i += s->cmd.slots;
		vgpu_ring_consumed(&sh->head, i);
	}
	return NULL;
}

/* Bursts of half the ring, drained between: the cost of a push, not of a full queue. */
static double push(unsigned slots)
{
	struct hist *h = calloc(1, sizeof(*h));
	uint64_t index = 0;
	pthread_t t;
	double r;

	memset(sh, 0, sizeof(*sh));
	if (!h || pthread_create(&t, NULL, drain, NULL))
		return NAN;
	for (int round = 0; round < 200; round++) {
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
		hist_add(h, (double)(tsc() - t0) / tsc_ghz() / (BURST / slots));
		while (vgpu_load_acquire64(&sh->head) != index)
			vgpu_cpu_relax();
	}
	vgpu_store_relaxed32(&sh->stop, 1);
	pthread_join(t, NULL);
	r = hist_quantile(h, 0.5);
	free(h);
	return r;
}

static double unix_rtt(void)
{
	struct hist *h = calloc(1, sizeof(*h));
	char buf[64] = { 0 };
	double r = NAN;
	int fd[2];
	pid_t pid;

	if (!h || socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		return NAN;
	pid = fork();
	if (!pid) {
		close(fd[0]);
		pin_to(1);
		while (read(fd[1], buf, sizeof(buf)) == sizeof(buf))
			if (write(fd[1], buf, sizeof(buf)) != sizeof(buf))
				break;
		_exit(0);
	}
	close(fd[1]);
	for (int i = 0; i < 3000; i++) {
		uint64_t t0 = tsc();

		if (write(fd[0], buf, sizeof(buf)) != sizeof(buf) || read(fd[0], buf, sizeof(buf)) != sizeof(buf))
			goto out;
		hist_add(h, (double)(tsc() - t0) / tsc_ghz());
	}
	r = hist_quantile(h, 0.5);
out:
	close(fd[0]);
	waitpid(pid, NULL, 0);
	free(h);
	return r;
}

void measure_floors(struct floors *f)
{
	cpu_set_t was;
	uint64_t t0;

	f->line = f->push1 = f->push2 = f->unix_rtt = NAN;
	t0 = tsc();
	for (int i = 0; i < 1000; i++)
		tsc();
	f->clock = (double)(tsc() - t0) / tsc_ghz() / 1000;
	if (cpus_online() < 2)          /* the floors between two CPUs are not there to be measured */
		return;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		return;
	sched_getaffinity(0, sizeof(was), &was);
	pin_to(0);
	f->line = line_rtt();
	f->push1 = push(1);
	f->push2 = push(2);
	f->unix_rtt = unix_rtt();
	sched_setaffinity(0, sizeof(was), &was);
	munmap(sh, sizeof(*sh));
}
