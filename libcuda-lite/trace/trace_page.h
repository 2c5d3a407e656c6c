/* SPDX-License-Identifier: MIT */
/*
 * The file that a traced process shares with vgpu trace: DIR/<pid>, mapped by both. Counts by function and result, and
 * the calls that are in progress, so that both are known of a process that hung or was killed. Written by
 * the process only; the reader takes it as a stranger's bytes.
 */
#ifndef VGPU_TRACE_PAGE_H
#define VGPU_TRACE_PAGE_H

#include <stdint.h>

#define TRACE_MAGIC 0x65636172u
#define TRACE_COUNTS 4096u
#define TRACE_FLIGHTS 256u

enum { TRACE_FREE, TRACE_CLAIMED, TRACE_READY };

struct trace_count {
	_Atomic uint32_t state;
	int32_t error;                  /* the result says that the call failed */
	char name[64], result[56];      /* end in NUL */
	_Atomic uint64_t calls;         /* made by the program */
	_Atomic uint64_t inner;         /* made by our libraries inside another call */
	_Atomic uint64_t ns, max_ns;    /* of both */
};
/* A thread's outermost call; name[0] == 0: none. */
struct trace_flight {
	_Atomic uint32_t tid;
	uint32_t reserved;
	_Atomic uint64_t since_ns;      /* CLOCK_MONOTONIC; 0: none in progress */
	char name[64];
};
struct trace_page {
	_Atomic uint32_t magic;         /* last, when the rest is there */
	uint32_t pid;
	_Atomic uint64_t lost;          /* calls that found no free count */
	char comm[16];
	struct trace_flight flight[TRACE_FLIGHTS];
	struct trace_count count[TRACE_COUNTS];
};

#endif
