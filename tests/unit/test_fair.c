/* SPDX-License-Identifier: MIT */
/*
 * Shares of the device by weight, on a machine of the test's own: its clock, its processors, and contexts that use them up. So
 * what is measured is what was decided, whatever else this computer does; and the machine can be one that others load.
 *
 * Sources: tests/unit/test_fair.c tools/vgpu-stub/fair.c      Flags: -D_GNU_SOURCE
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "../../tools/vgpu-stub/stub.h"

#define MS 1000000ull
#define HAS 4

static unsigned failed, checks;
#define CHECK(x, ...) \
	do { \
		checks++; \
		if (!(x)) { \
			failed++; \
			printf("FAIL line %d: %s: ", __LINE__, #x); \
			printf(__VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

static struct device dev;
static struct machine {
	uint64_t now, idle;
	unsigned cores;
	unsigned others;        /* permille of the machine that strangers have, at most: another part of it at each look */
	unsigned late;          /* ms, at most, that the parent comes after its time */
	struct ctx_run run[HAS];
	struct {
		int hungry;
		int deaf;               /* works on although held, until it is stopped */
		unsigned permille;      /* of one processor: all that it wants; 0: as much as there is */
		int stopped;
		uint64_t took;
		unsigned bells, stops;
	} c[HAS];
} m;
static uint32_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return n ? (uint32_t)((uint64_t)(seed >> 8) * n >> 24) : 0;
}

/* What fair.c asks. */
uint64_t clock_ns(void) { return m.now; }
uint64_t usage_ns(const struct context *c) { return 1 + m.c[c->qid].took; }
uint64_t usage_idle_ns(void) { return 1 + m.idle; }
int usage_wants(const struct context *c) { return m.c[c->qid].hungry && !m.c[c->qid].permille; }
void bell_ring(int fd) { m.c[fd].bells++; }

/* pidfds are numbers of contexts here */
int pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned flags)
{
	(void)info, (void)flags;
	m.c[fd].stopped = sig == SIGSTOP;
	m.c[fd].stops += sig == SIGSTOP;
	return 0;
}

static int runs(int i)
{
	return m.c[i].hungry && !m.c[i].stopped && (m.c[i].deaf || !(m.run[i].run & CTX_RUN_HELD));
}

/* The kernel's scheduler: a millisecond of those that run, even among them. */
static void work(uint64_t ns)
{
	uint64_t left = ns * m.cores * (1000 - any(m.others + 1)) / 1000;
	int want[HAS], n = 0;

	for (int i = 0; i < HAS; i++)
		n += want[i] = runs(i);
	/* who wants little has it first, the rest is shared */
	for (int small = 1; small >= 0; small--)
		for (int i = 0; i < HAS; i++) {
			uint64_t part;

			if (!want[i] || !!m.c[i].permille != small)
				continue;
			part = left / (unsigned)n--;
			if (small && part > ns * m.c[i].permille / 1000)
				part = ns * m.c[i].permille / 1000;
			m.c[i].took += part;
			left -= part;
		}
	m.idle += left;
}

static void go(uint64_t ms)
{
	uint64_t until = m.now + ms * MS, due;

	fair_turn(&dev);
	while (m.now < until) {
		due = fair_next() ? fair_next() + any(m.late + 1) * MS : until;
		do {
			work(MS);
			m.now += MS;
		} while (m.now < until && m.now < due);
		fair_turn(&dev);
	}
}

/* A machine of its own for each scenario: contexts with these weights, 0: none. */
static void machine(unsigned cores, unsigned others, unsigned late, const unsigned *weight)
{
	memset(&m, 0, sizeof(m));
	memset(&dev, 0, sizeof(dev));
	/* whatever was before is forgotten where there is nothing to see to */
	fair_turn(&dev);
	m.now = 1000 * MS;
	m.cores = dev.config.cores = cores;
	m.others = others;
	m.late = late;
	for (uint32_t i = 0; i < HAS && weight[i]; i++) {
		struct context *c = &dev.ctx[i];

		c->dev = &dev;
		c->qid = i;
		c->pidfd = (int)i;
		c->state = CTX_RUNNING;
		c->run = &m.run[i];
		c->create.weight = weight[i];
		dev.doorbell[1 + i] = (int)i;
		dev.live++;
		m.c[i].hungry = 1;
	}
}

static uint64_t took[HAS];

static void measure(uint64_t ms)
{
	for (int i = 0; i < HAS; i++)
		took[i] = m.c[i].took;
	go(ms);
	for (int i = 0; i < HAS; i++)
		took[i] = m.c[i].took - took[i];
}

static double share(int i)
{
	return (double)took[i] / (double)(took[0] + took[1] + took[2] + took[3]);
}

static void by_weight(unsigned cores, unsigned others, unsigned late, const unsigned *weight, double slack)
{
	double sum = 0;

	machine(cores, others, late, weight);
	go(2000);
	measure(20000);
	for (int i = 0; i < HAS; i++)
		sum += weight[i];
	for (int i = 0; i < HAS && weight[i]; i++)
		CHECK(share(i) > weight[i] / sum - slack && share(i) < weight[i] / sum + slack, "%u of %.0f, %u cores, others %u, late %u: %.4f",
		      weight[i], sum, cores, others, late, share(i));
}

static void shares(void)
{
	static const unsigned weights[][HAS] = { { 100, 300 }, { 100, 100, 200 }, { 100, 1000 }, { 1, 2, 3, 4 }, { 1000, 999 }, { 50, 100, 100, 800 } };

	for (size_t w = 0; w < sizeof(weights) / sizeof(weights[0]); w++)
		for (unsigned cores = 1; cores <= 64; cores *= 4) {
			by_weight(cores, 0, 0, weights[w], 0.02);
			by_weight(cores, 950, 0, weights[w], 0.02);     /* strangers have up to 95 % of it */
			by_weight(cores, 500, 30, weights[w], 0.03);    /* and the parent comes late */
		}
}

/* Nobody is held for one who has enough, or who stopped; who comes back has his share, and nothing that he saved up. */
static void needs(void)
{
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 900 });
	m.c[1].permille = 40;
	go(1000);
	measure(10000);
	CHECK(took[0] > 18500 * MS, "beside one that wants little: %llu ms of 20000", (unsigned long long)(took[0] / MS));

	machine(2, 0, 0, (const unsigned[HAS]){ 100, 300 });
	go(1000);
	m.c[1].hungry = 0;
	go(2000);
	measure(10000);
	CHECK(took[0] == 20000 * MS, "alone: %llu ms of 20000", (unsigned long long)(took[0] / MS));
	m.c[1].hungry = 1;
	go(400);
	measure(400);
	CHECK(share(0) > 0.15 && share(0) < 0.35, "after a rest of the other: %.3f of 0.25", share(0));
}

/* Contexts that do not listen are stopped by signal and go on when it is their turn. */
static void deaf(void)
{
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 300 });
	m.c[0].deaf = m.c[1].deaf = 1;
	go(2000);
	measure(20000);
	CHECK(share(0) > 0.2 && share(0) < 0.3, "deaf: %.3f of 0.25", share(0));
	CHECK(m.c[0].stops > 10, "%u stops", m.c[0].stops);
	/* one that is asked something is not stopped while the answer is due */
	dev.ctx[0].deadline_ns = dev.ctx[1].deadline_ns = UINT64_MAX;
	go(1000);
	CHECK(!m.c[0].stopped && !m.c[1].stopped, "stopped while an answer is due");
}

/* Equal weights, or one context: nothing to see to, no timer; who was held is let go, and its bell rings. */
static void equals(void)
{
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 300 });
	while (!(m.run[0].run & CTX_RUN_HELD) && m.now < 3000 * MS)
		go(1);
	CHECK(m.run[0].run & CTX_RUN_HELD, "the smaller weight is never held");
	m.c[0].bells = 0;
	dev.ctx[1].create.weight = 100;
	fair_turn(&dev);
	CHECK(!(m.run[0].run & CTX_RUN_HELD) && m.c[0].bells == 1 && !fair_next(), "equal weights: held %u, bells %u, next %llu", m.run[0].run, m.c[0].bells,
	      (unsigned long long)fair_next());
	measure(1000);
	CHECK(took[0] == took[1], "equals");
}

int main(void)
{
	shares();
	needs();
	deaf();
	equals();
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
