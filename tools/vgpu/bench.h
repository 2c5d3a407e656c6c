/* SPDX-License-Identifier: MIT */
/*
 * What every bench shares: a calibrated TSC, a log-bucket histogram, CPU pinning.
 */
#ifndef VGPU_BENCH_H
#define VGPU_BENCH_H

#include <stdint.h>

/*
 * Histogram of nanoseconds in the manner of HdrHistogram: 64 powers of two, 32 linear steps in
 * each, so every value is kept within 1/32.
 */
#define HIST_STEPS 32
struct hist {
	uint64_t count[64 * HIST_STEPS], total;
};
void hist_add(struct hist *h, double ns);
double hist_quantile(const struct hist *h, double q);   /* NaN when empty */

double tsc_ghz(void);                   /* calibrated once against CLOCK_MONOTONIC */
static inline uint64_t tsc(void)
{
	unsigned aux;

	return __builtin_ia32_rdtscp(&aux);
}
void pin_to(int cpu);                   /* no-op where not allowed */
int cpus_online(void);

/* Baselines measured beside ours, in the same run (bench_floor.c). ns. */
struct floors {
	double clock;                   /* one pair of reads of the clock */
	double line;                    /* cache line there and back, two threads on two CPUs */
	double push1, push2;            /* one 64-byte / one 128-byte record into a live ring */
	double unix_rtt;                /* 64 bytes there and back over a UNIX socket, two processes */
};
void measure_floors(struct floors *f);

int bench_launch(int argc, char **argv);
int bench_engine(int argc, char **argv);

#endif
