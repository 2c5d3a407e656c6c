/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench scale: launches a second of many processes with many streams, and what clients cost that only are there.
 *
 * Every client is a process that launches an empty kernel for a while; all begin together. The clients share all
 * processors with agent and device, as they would.
 */
#define _GNU_SOURCE
#include "bench_gpu.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_ring.h"

#define CLIENT_NS 150000000ull
#define READY_NS 30000000000ull
#define IDLE 31
#define PAIRS 9                 /* rounds with and without idle clients, in turn */
#define PAIRS_QUICK 3
#define LOOKS 3                 /* in each of them; their median */

struct crowd {
	uint32_t ready, go;
	int streams, pinned;
	uint64_t launches[CLIENTS_MAX], ns[CLIENTS_MAX];
	struct member {
		struct crowd *crowd;
		int me;
	} member[CLIENTS_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static int one_of_many(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	CUstream s[STREAMS_MAX];
	uint64_t start, n = 0;
	cpu_set_t all;
	struct gpu g;

	if (gpu_open(&g, 0))
		return -1;
	memset(&all, 0xff, sizeof(all));
	if (!c->pinned)
		sched_setaffinity(0, sizeof(all), &all);
	for (int i = 0; i < c->streams; i++)
		TRY(cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	__atomic_add_fetch(&c->ready, 1, __ATOMIC_RELEASE);
	while (!vgpu_load_acquire32(&c->go))
		nanosleep(&(struct timespec){ 0, 500000 }, NULL);
	start = now_ns();
	do {
		for (int i = 0; i < 256; i++)
			TRY(gpu_launch(&g, g.fn[P4], s[i % c->streams]));
		n += 256;
	} while (now_ns() - start < CLIENT_NS);
	TRY(cu.cuCtxSynchronize());
	c->ns[m->me] = now_ns() - start;
	c->launches[m->me] = n;
	return 0;
}

static double rate(const struct rig *rig, int clients, int streams, int pinned)
{
	struct crowd *c = bench_shared(sizeof(*c));
	uint64_t launches = 0, longest = 1, begin = now_ns();
	pid_t pid[CLIENTS_MAX];
	int n = 0, bad = !c;

	if (c) {
		c->streams = streams;
		c->pinned = pinned;
	}
	for (; c && n < clients; n++) {
		c->member[n] = (struct member){ c, n };
		pid[n] = rig_spawn(rig, one_of_many, &c->member[n]);
		if (pid[n] <= 0)
			break;
	}
	bad |= n < clients;
	while (!bad && (int)vgpu_load_acquire32(&c->ready) < clients) {
		nap_ms(1);
		bad = now_ns() - begin > READY_NS;
	}
	if (c)
		vgpu_store_release32(&c->go, 1);
	while (n--) {
		if (bad)
			kill(pid[n], SIGKILL);
		bad |= rig_wait(pid[n]) != 0;
		launches += c->launches[n];
		longest = c->ns[n] > longest ? c->ns[n] : longest;
	}
	if (c)
		munmap(c, sizeof(*c));
	return bad ? NAN : (double)launches / (double)longest * 1e9;
}

double crowd_rate(const struct rig *rig, int clients, int streams)
{
	return rate(rig, clients, streams, 0);
}

static int idle_client(void *arg)
{
	uint32_t *ready = arg;
	struct gpu g;

	if (gpu_open(&g, 0))
		return -1;
	__atomic_add_fetch(ready, 1, __ATOMIC_RELEASE);
	pause();
	return 0;
}

int idle_clients(const struct rig *rig, pid_t *child, int n)
{
	uint32_t *ready = bench_shared(64);
	uint64_t begin = now_ns();
	int have;

	for (int i = 0; i < n; i++)
		child[i] = ready ? rig_spawn(rig, idle_client, ready) : -1;
	while (ready && (int)vgpu_load_acquire32(ready) < n && now_ns() - begin < READY_NS)
		nap_ms(1);
	have = ready ? (int)vgpu_load_acquire32(ready) : 0;
	if (ready)
		munmap(ready, 64);
	return have == n ? 0 : -1;
}

void idle_end(pid_t *child, int n)
{
	for (int i = 0; i < n; i++)
		if (child[i] > 0)
			kill(child[i], SIGTERM);
	for (int i = 0; i < n; i++)
		if (child[i] > 0)
			waitpid(child[i], NULL, 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const int client_counts[] = { 1, 2, 4, 8, 16, 32 }, stream_counts[] = { 1, 4, 16 };
#define NC (sizeof(client_counts) / sizeof(client_counts[0]))
#define NS (sizeof(stream_counts) / sizeof(stream_counts[0]))

struct scale {
	double rate[NC][NS], alone, beside, idle_cost, cost_low, cost_high;
};

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), less);
	return v[n / 2];
}

/* One client, where the bench's clients are: what others cost it is asked, not where the scheduler puts it. */
static double one_rate(const struct rig *rig)
{
	double v[LOOKS];

	for (int i = 0; i < LOOKS; i++) {
		v[i] = rate(rig, 1, 1, 1);
		if (!isfinite(v[i]))
			return NAN;
	}
	return median(v, LOOKS);
}

/* In turn, and each first every other time, so that what else the machine does meets both alike. */
static int measure_idle_cost(const struct rig *rig, struct scale *s, int pairs)
{
	double alone[PAIRS], beside[PAIRS], cost[PAIRS];
	pid_t child[IDLE];

	for (int i = 0; i < pairs; i++) {
		int err;

		if (i % 2 == 0)
			alone[i] = one_rate(rig);
		err = idle_clients(rig, child, IDLE);
		if (!err)
			beside[i] = one_rate(rig);
		idle_end(child, IDLE);
		if (i % 2 == 1)
			alone[i] = one_rate(rig);
		if (err || !isfinite(alone[i]) || !isfinite(beside[i]))
			return -1;
		cost[i] = 1 - beside[i] / alone[i];
	}
	s->alone = median(alone, pairs);
	s->beside = median(beside, pairs);
	s->idle_cost = median(cost, pairs);
	s->cost_low = cost[0];
	s->cost_high = cost[pairs - 1];
	return 0;
}

static void print_scale(const struct scale *s, int json)
{
	struct json j = { .out = stdout };

	if (!json) {
		printf("launches of an empty kernel, million a second, %d CPUs\n  %-16s", cores()->n, "");
		for (size_t k = 0; k < NS; k++)
			printf("  %2d stream%s", stream_counts[k], stream_counts[k] > 1 ? "s" : " ");
		putchar('\n');
		for (size_t i = 0; i < NC && isfinite(s->rate[i][0]); i++) {
			printf("  %2d client%-8s", client_counts[i], client_counts[i] > 1 ? "s" : "");
			for (size_t k = 0; k < NS; k++)
				printf("  %10.3f", s->rate[i][k] / 1e6);
			putchar('\n');
		}
		printf("  one client alone %.3f, beside %d idle ones %.3f: they cost %.1f %% (the median of rounds; %.1f to %.1f)\n",
		       s->alone / 1e6, IDLE, s->beside / 1e6, s->idle_cost * 100, s->cost_low * 100, s->cost_high * 100);
		return;
	}
	json_open(&j, NULL, '{');
	json_u64(&j, "cpus", (uint64_t)cores()->n);
	json_open(&j, "rates", '[');
	for (size_t i = 0; i < NC; i++)
		for (size_t k = 0; k < NS; k++) {
			json_open(&j, NULL, '{');
			json_u64(&j, "clients", (uint64_t)client_counts[i]);
			json_u64(&j, "streams", (uint64_t)stream_counts[k]);
			json_f(&j, "launch_per_s", s->rate[i][k]);
			json_close(&j, '}');
		}
	json_close(&j, ']');
	json_f(&j, "alone_per_s", s->alone);
	json_f(&j, "beside_idle_per_s", s->beside);
	json_u64(&j, "idle_clients", IDLE);
	json_f(&j, "idle_cost", s->idle_cost);
	json_f(&j, "idle_cost_least", s->cost_low);
	json_f(&j, "idle_cost_most", s->cost_high);
	json_close(&j, '}');
}

int bench_scale(int argc, char **argv)
{
	struct scale s;
	struct rig rig;
	int json = 0, quick = 0, opt, status = 1;

	while ((opt = getopt(argc, argv, "jq")) != -1) {
		if (opt == 'j')
			json = 1;
		else if (opt == 'q')
			quick = 1;
		else
			return 2;
	}
	if (optind < argc) {
		complain("bench scale: %s: no such argument", argv[optind]);
		return 2;
	}
	if (rig_open(&rig, 0, NULL))
		return 1;
	for (size_t i = 0; i < NC; i++)
		for (size_t k = 0; k < NS; k++) {
			/* quick: one client, with and without idle ones */
			s.rate[i][k] = quick ? NAN : crowd_rate(&rig, client_counts[i], stream_counts[k]);
			if (!quick && !isfinite(s.rate[i][k]))
				goto out;
		}
	if (measure_idle_cost(&rig, &s, quick ? PAIRS_QUICK : PAIRS))
		goto out;
	print_scale(&s, json);
	status = 0;
out:
	rig_close(&rig);
	return status;
}
