/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench WHAT: the table of benches, the clock, the processors.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vgpu.h"

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

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int cpus_online(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

const struct cores *cores(void)
{
	static struct cores c = { .client = -1, .other = -1 };
	cpu_set_t set;

	if (c.n)
		return &c;
	if (sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET((unsigned)i, &set))
			continue;
		c.n++;
		if (c.client < 0)
			c.client = i;
		else if (c.other < 0)
			c.other = i;
	}
	return &c;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage, *help;
} benches[] = {
	{ "launch", bench_launch, "[-jq] [-d DIR]", "  What a launch costs its caller, launch and wait, streams, clients, sleep, beside the floors of the machine.\n"
	  "  -j JSON   -q the costs alone, in seconds   -d DIR: histograms and curves as files there\n" },
	{ "copy", bench_copy, "[-j] [-m SIZE]", "  Copies by size and kind of memory.\n  -j JSON   -m SIZE: the largest, like 64M\n" },
	{ "scale", bench_scale, "[-jq]", "  Clients and threads beside each other.\n  -j JSON   -q fewer\n" },
	{ "fair", bench_fair, "[-jq]", "  What hogs get done against their weights; a small client alone and beside a hog.\n  -j JSON   -q fewer\n" },
	{ "engine", bench_engine, "[-j] [-t SECONDS] [-k KERNEL] [--binary FILE]", "  Kernels on the engine beside the same in C.\n"
	  "  -j JSON   -t how long each   -k only this one   --binary FILE: run launches from there\n" },
	{ "kernels", bench_kernels, "[-jn] [-c CORES] [-t SECONDS] [-k KERNEL]", "  Everyday kernels on the engine beside the same algorithms in C.\n"
	  "  -j JSON   -n compare results only   -c on so many cores   -t how long each   -k those whose name has this in it\n" },
};

int cmd_bench(int argc, char **argv)
{
	int help = argc >= 2 && !strcmp(argv[1], "--help");
	FILE *to = help ? stdout : stderr;

	for (size_t i = 0; argc >= 2 && i < sizeof(benches) / sizeof(benches[0]); i++) {
		if (strcmp(argv[1], benches[i].name))
			continue;
		if (argc == 2 || (strcmp(argv[2], "--help") && strcmp(argv[2], "-h")))
			return benches[i].run(argc - 1, argv + 1);
		printf("usage: vgpu bench %s %s\n%s", benches[i].name, benches[i].usage, benches[i].help);
		return 0;
	}
	if (argc >= 2 && !help)
		return misused("bench", argv[1]);
	for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
		fprintf(to, "%s vgpu bench %s %s\n", i ? "      " : "usage:", benches[i].name, benches[i].usage);
	return help ? 0 : 2;
}
