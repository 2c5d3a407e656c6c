/* SPDX-License-Identifier: MIT */
/*
 * What every bench shares: a calibrated TSC, a log-bucket histogram with its outputs, processors, and the rig: a device
 * and an agent, and child processes that use them.
 */
#ifndef VGPU_BENCH_H
#define VGPU_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "vgpu.h"

/* ---- bench_hist.c ---- */

/*
 * Histogram of nanoseconds in the manner of HdrHistogram: 64 powers of two, 32 linear steps in
 * each, so every value is kept within 1/32.
 */
#define HIST_STEPS 32
struct hist {
	uint64_t count[64 * HIST_STEPS], total;
	double sum, squares, max;
};
void hist_add(struct hist *h, double ns);
double hist_quantile(const struct hist *h, double q);   /* NaN when empty */

struct series {
	const char *name;
	const struct hist *h;
};
/* The percentile distribution as text, as HdrHistogram's plotters read it. 0 or -errno, said. */
int hist_hgrm(const struct hist *h, const char *path);
/* bench_svg.c: nanoseconds over percentiles, both logarithmic. 0 or -errno, said. */
int svg_write(const char *path, const char *title, const struct series *s, unsigned n);

/* ---- bench.c: clock and processors ---- */

double tsc_ghz(void);                   /* calibrated once against CLOCK_MONOTONIC */
static inline uint64_t tsc(void)
{
	unsigned aux;

	return __builtin_ia32_rdtscp(&aux);
}
static inline double tsc_ns(uint64_t from, uint64_t to) { return (double)(to - from) / tsc_ghz(); }
void pin_to(int cpu);                   /* no-op where not allowed, and for -1 */
int cpus_online(void);
/* The two processors that every bench uses: the client's, and the first other one (-1: there is none). */
struct cores {
	int n, client, other;
};
const struct cores *cores(void);

/* ---- bench_floor.c, bench_peer.c: baselines measured beside ours, in the same run. ns ---- */

/* Kernels with so many 64-bit parameters, and the 64-byte slots that a launch of each takes. */
#define PARAM_COUNTS { 0, 4, 16, 64 }
#define NPARAMS 4
enum { P0, P4, P16, P64 };
static inline unsigned launch_slots(unsigned params) { return 1 + (params * 8 + 55) / 56; }

enum peer { PEER_UNIX, PEER_TCP, PEER_EVENTFD, PEER_FUTEX, PEERS };
struct floors {
	double clock;                   /* one read of the clock */
	struct hist line;               /* cache line there and back, two threads on two CPUs */
	struct hist push[NPARAMS];      /* a record of as many slots into a live ring, means of bursts */
	struct hist peer[PEERS];        /* 64 bytes there and back, two processes */
	struct hist futex_cold;         /* the same after 20 ms of sleep on the other side */
};
extern const char *const peer_names[PEERS], *const peer_keys[PEERS];
void measure_floors(struct floors *f);  /* what two CPUs are needed for stays empty on one */
void measure_peers(struct floors *f);

/*
 * Floors that are measured in turn with ours, in one process, because what else the machine does changes by the second.
 * Nothing happens where there is one CPU. The ring's reader and the peer's other side are on the other CPU, and asleep
 * in between.
 */
void push_open(void);
void push_bursts(unsigned slots, unsigned records, unsigned bursts, struct hist *h);
void push_close(void);
struct pair;
struct pair *pair_open(enum peer kind); /* a child process, so before CUDA is there; NULL: none */
/* cold: the other side has slept for 20 ms before each round. */
void pair_rounds(struct pair *p, struct hist *h, int rounds, int cold);
void pair_close(struct pair *p);

/* ---- bench_rig.c ---- */

struct rig {
	struct private_gpu gpu;
	int own;                        /* a private device and agent, kept off the client's CPU where there are two */
	char agent[160];
};
/* The agent that answers, else private ones; `fresh`: private ones always, the agent with these arguments. */
int rig_open(struct rig *r, int fresh, char *const agent_args[]);
void rig_close(struct rig *r);
/*
 * CUDA is per process: each measurement runs in a child that has its agent. What it finds goes into memory from
 * bench_shared(). 0: fn returned 0.
 */
void *bench_shared(size_t bytes);       /* zeroed; NULL and said when there is none */
pid_t rig_spawn(const struct rig *r, int (*fn)(void *arg), void *arg);
int rig_wait(pid_t child);
static inline int rig_run(const struct rig *r, int (*fn)(void *arg), void *arg)
{
	pid_t child = rig_spawn(r, fn, arg);

	return child > 0 ? rig_wait(child) : -1;
}

/* ---- bench_scale.c: many clients ---- */

#define CLIENTS_MAX 32
#define STREAMS_MAX 16
/* Launches a second of so many processes together, each round and round over so many streams. NaN: it failed. */
double crowd_rate(const struct rig *r, int clients, int streams);
/* Clients that have worked once and do nothing now. 0 when all are there; idle_end() ends them in any case. */
int idle_clients(const struct rig *r, pid_t *child, int n);
void idle_end(pid_t *child, int n);

/* ---- the benches: exit status ---- */

int bench_launch(int argc, char **argv);
int bench_copy(int argc, char **argv);
int bench_scale(int argc, char **argv);
int bench_fair(int argc, char **argv);
int bench_engine(int argc, char **argv);
int bench_kernels(int argc, char **argv);

#endif
