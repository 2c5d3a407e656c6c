/* SPDX-License-Identifier: MIT */
/*
 * What a traced process has in common with vgpu trace.
 *
 * The page: DIR/<pid>, mapped by both. Counts by function and result, and the calls that are in progress, so that both are known of a
 * process that hung or was killed. Written by the process only (but for `stop`); the reader takes it as a stranger's bytes.
 *
 * The door: a structure in each library, which a note of its file leads to, by which vgpu trace -p finds the table of slots in a
 * running process, and the struct trace_shared in which it says where calls are to be reported.
 */
#ifndef VGPU_TRACE_PAGE_H
#define VGPU_TRACE_PAGE_H

#include <stddef.h>
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
	_Atomic uint32_t stop;          /* by vgpu trace -p: nobody reads any more */
	uint32_t reserved;
	char comm[16];
	struct trace_flight flight[TRACE_FLIGHTS];
	struct trace_count count[TRACE_COUNTS];
};

struct trace_thread;

/*
 * What the libraries of one process share: the stream of lines and the depth of calls, so that a driver call inside
 * a runtime call is known as such. libcuda has it; libraries that find no libcuda (libnvidia-ml) have their own.
 */
struct trace_shared {
	uint32_t version;               /* TRACE_VERSION */
	uint32_t flags;                 /* TRACE_TOP ... */
	struct trace_thread *(*thread)(void);
	_Atomic uint32_t pid;           /* of the process that the destination is open in; 0: in none */
	_Atomic uint32_t lock;          /* pid of the holder */
	int fd;                         /* -1: no lines */
	int socket;
	uint64_t cookie;                /* of the socket, to know it again */
	struct trace_page *page;        /* NULL: nobody counts */
	_Atomic uint32_t attached;      /* by vgpu trace -p, which increments it; 0: what VGPU_TRACE says holds */
	_Atomic uint32_t over;          /* the value of attached that is over: nobody reads */
	char to[128], filter[256];      /* by vgpu trace -p: its folder, as this process sees it; what to trace */
	size_t (*callers)(char *to, size_t room);       /* of who calls, frames with tabs before each; NULL: no libcuda */
};
#define TRACE_VERSION 3u
enum { TRACE_TOP = 1, TRACE_ERRORS = 2, TRACE_DEVICE = 4, TRACE_CALLERS = 8 };

struct trace_door {
	uint32_t magic, version;        /* TRACE_MAGIC, TRACE_VERSION */
	uint32_t calls;
	_Atomic uint32_t turning;       /* the library itself is turning slots: not now */
	void **slots;
	const int32_t *bodies;          /* self-relative: where a slot leads while nobody traces */
	const int32_t *wrappers;        /* the same; 0: not traced */
	const char *descriptions;       /* one per slot, each ends in NUL */
	struct trace_shared *shared;
};
#define TRACE_NOTE "vgpu-trace"         /* type 1; what it holds: the door's place, relative to itself (int32) */

#endif
