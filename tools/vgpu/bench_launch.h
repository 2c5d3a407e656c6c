/* SPDX-License-Identifier: MIT */
/*
 * The figures of bench launch: bench_launch.c measures them, bench_report.c prints them.
 */
#ifndef VGPU_BENCH_LAUNCH_H
#define VGPU_BENCH_LAUNCH_H

#include "bench.h"

#define STREAM_COUNTS { 1, 2, 4, 8, 16 }
#define NSTREAMS 5
#define CLIENT_COUNTS { 1, 2, 4, 8, 16, 32 }
#define NCLIENTS 6
enum mode { MODE_SPIN, MODE_ADAPTIVE, MODE_SLEEP, MODES };
extern const char *const mode_names[MODES];

/* In memory that children share with their parent. ns unless said otherwise; a histogram with no values: not measured. */
struct launch_result {
	struct floors floor;
	double empty_loop;
	struct hist submit[NPARAMS];            /* means of bursts */
	struct hist runtime;                    /* means of bursts of <<<>>> with 4 parameters */
	struct hist event, timed_event, copy;   /* means of bursts */
	struct hist graph, no_graph;            /* a launch of many of one graph; the same by themselves, in turn */
	struct hist one;                        /* single launches, the clock's cost in it */
	struct hist sync, wait, complete;       /* launch + sync; the sync of it; a sync that finds all done */
	struct hist first;                      /* after 20 ms of idleness, polling */
	double noop_per_s, launch_per_s;
	struct hist stream_submit[NSTREAMS];
	double stream_per_s[NSTREAMS];
	double client_per_s[NCLIENTS];          /* all of them together */
	struct hist mode_sync[MODES];
	double mode_per_s[MODES];
	double idle_s;
	long idle_wakeups;                      /* voluntary switches of the agent in idle_s; -1: not measured */
	int own;                                /* private device and agent, off the client's CPU */
};

void launch_table(const struct launch_result *r);
void launch_json(const struct launch_result *r);
/* DIR/NAME.hgrm for each distribution and DIR/launch.svg. 0 or -errno, said. */
int launch_files(const struct launch_result *r, const char *dir);

#endif
