/* SPDX-License-Identifier: MIT */
/*
 * Shares of the device by weight and priority, and those that are upper limits, on a machine of the test's own: its clock, its processors, and contexts that use them up. So
 * what is measured is what was decided, whatever else this computer does; and the machine can be one that others load.
 *
 * Sources: tests/unit/test_fair.c tools/vgpu-stub/fair.c tools/vgpu-stub/hold.c tools/vgpu-stub/cap.c      Flags: -D_GNU_SOURCE
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
	cap_turn(&dev);
	while (m.now < until) {
		due = fair_next() ? fair_next() : until;
		due = (cap_next() && cap_next() < due ? cap_next() : due) + any(m.late + 1) * MS;
		do {
			work(MS);
			m.now += MS;
		} while (m.now < until && m.now < due);
		fair_turn(&dev);
		cap_turn(&dev);
	}
}

/* A machine of its own for each scenario: contexts with these weights, 0: none. */
static void machine(unsigned cores, unsigned others, unsigned late, const unsigned *weight)
{
	memset(&m, 0, sizeof(m));
	memset(&dev, 0, sizeof(dev));
	/* whatever was before is forgotten where there is nothing to see to */
	fair_turn(&dev);
	cap_turn(&dev);
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

/* While one of a higher priority works others have one tick of eight, whatever their weights; these hold within a priority. */
static void priorities(void)
{
	for (unsigned cores = 1; cores <= 16; cores *= 4)
		for (unsigned others = 0; others <= 950; others += 950) {
			machine(cores, others, 0, (const unsigned[HAS]){ 1000, 10 });
			dev.ctx[1].priority = VGPU_PRIORITY_HIGH;
			go(2000);
			measure(20000);
			CHECK(share(1) > 0.8 && share(0) > 0.03, "high beside normal: %.3f, %.3f", share(1), share(0));

			machine(cores, others, 0, (const unsigned[HAS]){ 100, 300, 50 });
			dev.ctx[0].priority = dev.ctx[1].priority = VGPU_PRIORITY_LOW;
			go(2000);
			measure(20000);
			CHECK(share(2) > 0.8 && share(0) > 0.01, "normal beside two low ones: %.3f", share(2));
			m.c[2].hungry = 0;
			go(2000);
			measure(20000);
			CHECK(share(0) > 0.23 && share(0) < 0.27, "weights among the low: %.3f of 0.25", share(0));
		}
	/* one that wants little holds nobody up */
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 100 });
	dev.ctx[1].priority = VGPU_PRIORITY_HIGH;
	m.c[1].permille = 40;
	go(1000);
	measure(10000);
	CHECK(took[0] > 17000 * MS, "beside a high one that wants little: %llu ms of 20000", (unsigned long long)(took[0] / MS));
	/* cgroups, which know the weights, know nothing of this */
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 100 });
	dev.ctx[0].in_cgroup = dev.ctx[1].in_cgroup = 1;
	go(10);
	CHECK(!fair_next(), "in cgroups, and a clock");
	dev.ctx[1].priority = VGPU_PRIORITY_HIGH;
	go(2000);
	measure(10000);
	CHECK(share(1) > 0.8, "high, in cgroups: %.3f", share(1));
}

/* Whoever has a share together, of a machine that nobody else wants. */
static void caps(void)
{
	static const struct { unsigned cores, others, permille; } cases[] = { { 1, 0, 250 }, { 2, 0, 250 }, { 16, 0, 10 }, { 2, 0, 900 }, { 4, 500, 100 }, { 2, 0, 1000 } };
	double all;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int deaf_too = 0; deaf_too < 2; deaf_too++) {
			machine(cases[i].cores, cases[i].others, 0, (const unsigned[HAS]){ 100 });
			m.c[0].deaf = deaf_too;
			cap_set(&dev.ctx[0], 0, cases[i].permille, 7);
			go(4000);
			measure(20000);
			all = (double)took[0] / MS / 20000 / cases[i].cores * 1000;
			CHECK(all > cases[i].permille * 0.9 && all < cases[i].permille * 1.1 + (deaf_too ? 60 : 0), "%u permille of %u cores, deaf %d: %.1f",
			      cases[i].permille, cases[i].cores, deaf_too, all);
		}
	/* two of a user's, who has half; one of them, a fifth of the device; a stranger has the rest */
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 100, 100 });
	cap_set(&dev.ctx[0], 2, 500, 1);
	cap_set(&dev.ctx[1], 2, 500, 1);
	cap_set(&dev.ctx[1], 0, 200, 2);
	go(4000);
	measure(20000);
	CHECK(share(0) + share(1) > 0.45 && share(0) + share(1) < 0.52, "a user's two: %.3f of 0.5", share(0) + share(1));
	CHECK(share(1) < 0.21, "one of them: %.3f of 0.2", share(1));
	CHECK(took[0] + took[1] + took[2] > 38500 * MS, "the rest is the stranger's: %.3f", share(2));
	/* taken back: all of it, and no clock */
	for (int i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 3; k++)
			cap_set(&dev.ctx[i], k, 0, 0);
	m.c[2].hungry = 0;
	go(20);
	measure(1000);
	CHECK(took[0] + took[1] == 2000 * MS && !cap_next(), "without: %llu ms of 2000", (unsigned long long)((took[0] + took[1]) / MS));
	/* taken back while it is held, as one of a hundredth is nearly always */
	machine(2, 0, 0, (const unsigned[HAS]){ 100 });
	cap_set(&dev.ctx[0], 0, 10, 3);
	go(4000);
	CHECK(m.run[0].run & CTX_RUN_HELD, "a hundredth, and not held");
	cap_set(&dev.ctx[0], 0, 0, 0);
	go(20);
	measure(1000);
	CHECK(took[0] == 2000 * MS, "held, and taken back: %llu ms of 2000", (unsigned long long)(took[0] / MS));
	/* less, while it runs: what holds is what was said last */
	cap_set(&dev.ctx[0], 0, 900, 3);
	go(4000);
	cap_set(&dev.ctx[0], 0, 100, 3);
	go(4000);
	measure(20000);
	CHECK(took[0] > 3600 * MS && took[0] < 4400 * MS, "of nine tenths, now a tenth: %llu ms of 40000", (unsigned long long)(took[0] / MS));
	/* what a rest saves up is a burst, and no more */
	m.c[0].hungry = 0;
	go(20000);
	m.c[0].hungry = 1;
	measure(1000);
	CHECK(took[0] > 180 * MS && took[0] < 450 * MS, "a tenth, after twenty seconds of rest: %llu ms of 2000", (unsigned long long)(took[0] / MS));
	/* thousands of users, one after the other */
	for (uint64_t i = 0; i < 3000; i++) {
		cap_set(&dev.ctx[0], 0, 100, 1000 + i);
		go(170);
	}
	measure(10000);
	CHECK(took[0] > 1800 * MS && took[0] < 2200 * MS, "the three-thousandth's tenth: %llu ms of 20000", (unsigned long long)(took[0] / MS));
	/* by weight beside one that is held back: what that one may not have is not kept for it */
	machine(2, 0, 0, (const unsigned[HAS]){ 100, 300, 100 });
	cap_set(&dev.ctx[1], 1, 100, 9);
	go(4000);
	measure(20000);
	CHECK(share(1) > 0.08 && share(1) < 0.115, "three quarters by weight, a tenth at most: %.3f", share(1));
	CHECK(took[0] + took[1] + took[2] > 38000 * MS, "others wait for it: %llu ms of 40000", (unsigned long long)((took[0] + took[1] + took[2]) / MS));
}

/* A small client, which wants less than its share, beside endless hogs: from when it wants something until it has had it, two slices at most. */
static void soon(void)
{
	static const unsigned weights[][HAS] = { { 100, 100 }, { 1000, 100 }, { 100, 1000 }, { 100, 300, 40 } };

	for (size_t w = 0; w < sizeof(weights) / sizeof(weights[0]); w++)
		for (unsigned cores = 1; cores <= 16; cores *= 4) {
			int small = weights[w][2] ? 2 : 1;
			uint64_t worst = 0;

			machine(cores, 0, 0, weights[w]);
			m.c[small].hungry = 0;
			m.c[small].permille = 1000;
			go(1000);
			for (int round = 0; round < 500; round++) {
				uint64_t from = m.now, had = m.c[small].took;

				m.c[small].hungry = 1;
				while (m.c[small].took < had + MS && m.now < from + 1000 * MS)
					go(1);
				m.c[small].hungry = 0;
				worst = m.now - from > worst ? m.now - from : worst;
				go(1 + any(60));
			}
			CHECK(worst <= 8 * MS, "a small client of weight %u beside %u, %u cores: %llu ms", weights[w][small], weights[w][0], cores, (unsigned long long)(worst / MS));
		}
}

int main(void)
{
	shares();
	soon();
	needs();
	deaf();
	equals();
	priorities();
	caps();
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
