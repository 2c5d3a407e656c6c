/* SPDX-License-Identifier: MIT */
/*
 * A library to preload before libcudart: waits for every kernel behind its launch, and at exit prints per kernel how often it ran
 * and how long that took, on processors and by the clock, the most expensive first. For speed.sh -p. What the device's idle threads do while they
 * look for work counts as well: microseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proc.h"

struct dim { unsigned x, y, z; };       /* cudart's dim3: by value, as its ABI has it */
#define KERNELS 512

static struct kernel {
	const void *func;
	const char *name;
	unsigned long launches;
	double s, clock_s, longest;
	struct dim grid, block;         /* of the longest */
} table[KERNELS];
static unsigned kernels;
static struct proc_set beside;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cudaLaunchKernel(const void *func, struct dim grid, struct dim block, void **args, size_t shared, void *stream);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int cudaLaunchKernel(const void *func, struct dim grid, struct dim block, void **args, size_t shared, void *stream)
{
	static int (*launch)(const void *, struct dim, struct dim, void **, size_t, void *);
	static int (*wait)(void *), (*name)(const char **, const void *);
	struct kernel *k;
	double t, cpu;
	int err;

	pthread_mutex_lock(&lock);
	if (!launch) {
		launch = (int (*)(const void *, struct dim, struct dim, void **, size_t, void *))dlsym(RTLD_NEXT, "cudaLaunchKernel");
		wait = (int (*)(void *))dlsym(RTLD_NEXT, "cudaStreamSynchronize");
		proc_beside(&beside);
		name = (int (*)(const char **, const void *))dlsym(RTLD_NEXT, "cudaFuncGetName");
	}
	wait(stream);                   /* what was queued before is not this kernel's time */
	cpu = proc_seconds(&beside);
	t = now();
	err = launch(func, grid, block, args, shared, stream);
	wait(stream);
	t = now() - t;
	cpu = proc_seconds(&beside) - cpu;
	for (k = table; k < table + kernels && k->func != func; k++)
		;
	if (k == table + kernels && kernels < KERNELS) {
		kernels++;
		k->func = func;
		if (!name || name(&k->name, func))
			k->name = "?";
	}
	if (k < table + kernels) {
		k->launches++;
		k->s += cpu;
		k->clock_s += t;
		if (cpu > k->longest) {
			k->longest = cpu;
			k->grid = grid;
			k->block = block;
		}
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static int by_time(const void *a, const void *b)
{
	double x = ((const struct kernel *)a)->s, y = ((const struct kernel *)b)->s;

	return (x < y) - (x > y);
}

__attribute__((destructor)) static void report(void)
{
	double sum = 0;

	qsort(table, kernels, sizeof(table[0]), by_time);
	for (unsigned i = 0; i < kernels; i++)
		sum += table[i].s;
	if (!kernels)
		return;
	fprintf(stderr, "%6s %9s %9s %9s %10s  %s\n", "share", "launches", "CPU s", "clock s", "CPU us", "kernel {grid} {block} of its most expensive run");
	for (unsigned i = 0; i < kernels; i++) {
		const struct kernel *k = &table[i];

		fprintf(stderr, "%5.1f%% %9lu %9.3f %9.3f %10.1f  %s {%u,%u,%u} {%u,%u,%u} %.1f us\n", 100 * k->s / sum, k->launches, k->s,
			k->clock_s, 1e6 * k->s / (double)k->launches, k->name, k->grid.x, k->grid.y, k->grid.z, k->block.x, k->block.y,
			k->block.z, 1e6 * k->longest);
	}
}
