/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench WHAT: the table of benches, the clock and the histogram.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vgpu.h"

void hist_add(struct hist *h, double ns)
{
	uint64_t v = ns > 0 ? (uint64_t)(ns * 16) : 0;  /* sixteenths: small values keep their steps */
	unsigned top = v ? 63 - (unsigned)__builtin_clzll(v) : 0;
	unsigned step = top > 5 ? (unsigned)(v >> (top - 5)) & (HIST_STEPS - 1)
				: (unsigned)(v << (5 - top)) & (HIST_STEPS - 1);

	h->count[top * HIST_STEPS + step]++;
	h->total++;
}

double hist_quantile(const struct hist *h, double q)
{
	uint64_t want = (uint64_t)(q * (double)h->total), seen = 0;

	if (!h->total)
		return NAN;
	for (unsigned i = 0; i < 64 * HIST_STEPS; i++) {
		seen += h->count[i];
		if (seen > want)
			return ldexp(1.0 + (i % HIST_STEPS + 0.5) / HIST_STEPS, (int)(i / HIST_STEPS)) / 16;
	}
	return NAN;
}

double tsc_ghz(void)
{
	static double ghz;
	struct timespec a, b;
	uint64_t t0, t1;
	double ns;

	if (ghz > 0)
		return ghz;
	clock_gettime(CLOCK_MONOTONIC, &a);
	t0 = tsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		t1 = tsc();
		ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	} while (ns < 50e6);
	ghz = (double)(t1 - t0) / ns;
	return ghz;
}

void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int cpus_online(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int cmd_bench(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "launch"))
		return bench_launch(argc - 1, argv + 1);
	if (argc >= 2 && !strcmp(argv[1], "engine"))
		return bench_engine(argc - 1, argv + 1);
	fputs("usage: vgpu bench launch [-j]\n"
	      "       vgpu bench engine [-j] [-t SECONDS] [--binary FILE]\n", argc >= 2 && !strcmp(argv[1], "--help") ? stdout : stderr);
	return argc >= 2 && !strcmp(argv[1], "--help") ? 0 : 2;
}
