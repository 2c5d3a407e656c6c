/* SPDX-License-Identifier: MIT */
/*
 * The device runtime: kernels that launch kernels. devrt.c is what they call, devrt_run.c what becomes of it; both share this.
 *
 *   kin       a grid and what it has launched. It is complete when its blocks are done, all that it has launched is complete, and
 *             then, one after the other, what stands in its tail stream
 *   work      a launch, copy, fill, record or wait that has not begun; the parameter buffer of a launch is one from the start
 *   dstream   works in their order: a stream that the grid has made, or the NULL stream of one of its blocks
 *   devent    a point in a stream
 *
 *     K_CALL ── work ──► dstream ──► ready ──► a worker makes its grid ──► engine.grids
 *                  └──► kin.tail ─────┘ once the rest of the family is complete
 *
 * Everything here is guarded by engine.lock. Bounded are: works (from GetParameterBuffer to the grid's start), streams and events
 * together, grids that run at once, and nesting; a grid that waits for its children is a struct kin and nothing else.
 */
#ifndef VGPU_CPU_DEVRT_H
#define VGPU_CPU_DEVRT_H

#include "cpu.h"

#define MAX_DEPTH 24u           /* of nesting below the host's launch (guide, "Nesting Depth") */
#define MAX_RUNNING 128u        /* grids of kernels' own that run at once, as on hardware */

/* parameter buffers of three sizes */
#define WORK_KINDS 3u
#define LARGE_BYTES 32768u      /* more than any launch may have */
#define SMALL_WORKS 65536u
#define HANDLES 65536u          /* streams and events */

/* Numbers of cudaError_t that programs compare with. */
enum { DE_OK = 0, DE_VALUE = 1, DE_MEMORY = 2, DE_CONFIGURATION = 9, DE_POINTER = 17, DE_DEPTH = 65, DE_PENDING = 69, DE_FUNCTION = 98,
       DE_DEVICE = 101, DE_HANDLE = 400, DE_RESOURCES = 701, DE_NOT_SUPPORTED = 801 };

enum { WORK_FREE, WORK_BUFFER, WORK_QUEUED };
enum { DO_KERNEL, DO_COPY, DO_FILL, DO_RECORD, DO_WAIT };

struct box { u64 dst, src, dst_pitch, src_pitch, dst_slice, src_slice, width, height, depth; };

struct work {
	struct work *next, *prev;       /* free, or in its stream, or ready; prev: among its grid's buffers */
	struct kin *by;
	struct dstream *s;              /* NULL: nothing comes behind it */
	u64 params;                     /* its buffer, in the arena */
	u8 state, what, kind;
	u32 fn, grid[3], block[3], shared_bytes;
	struct box box;                 /* of a copy, of a fill; at: bytes that are done */
	u64 at;
	u32 value;
	struct devent *ev;              /* that is recorded, or waited for, ... */
	u64 count;                      /* ... the record of this number */
};

struct dstream {
	struct kin *by;
	struct dstream *next, *prev;    /* of by */
	struct dstream *chain;          /* NULL streams, by grid and block */
	struct dstream *upnext;           /* among those that may go on, or that wait for one event */
	u64 handle, block;
	bool null, gone, busy, waits;
	struct work *first, **last;
};

struct devent {
	struct kin *by;
	struct devent *next, *prev;
	struct dstream *waiters;
	u64 handle, recorded, done;
	u32 refs;                       /* works that name it */
	bool gone;
};

struct kin {
	struct kin *up;                 /* of the grid that has launched this one; NULL: the host has */
	struct kin *next, *prev;        /* all there are */
	struct dstream *s;              /* of up, where it stands */
	u64 cookie;
	u32 depth, status;
	u32 kids;                       /* works and grids that are not complete, without those in tail */
	bool over;                      /* its own blocks are done */
	struct work *tail, **tail_end, *buffers;
	struct dstream *streams;
	struct devent *events;
};

struct pool_of_works {
	struct work **chunk, *free;
	u64 base;                       /* of the buffers */
	u32 made, most, bytes, committed;
};

enum { HANDLE_NONE, HANDLE_STREAM, HANDLE_EVENT };
struct handle { void *what; u32 life, next; u8 kind; };

#define NULL_CHAINS 1024u
struct devrt {
	struct work *ready;             /* the latest first: families end before others begin */
	struct kin *kins;
	u32 running;
	u64 launched;
	struct pool_of_works works[WORK_KINDS];
	struct dstream *null[NULL_CHAINS];
	struct handle *handles;
	u32 nhandles, handles_cap, free_handle;         /* + 1; 0: none */
	u64 texts, texts_at[2];         /* of errors: names and what they say, in the arena */
};

/* The end of a grid that the host has launched, with all that it launched: to be told without the lock. */
struct ended { bool tell; u64 cookie; u32 status; };

/* devrt.c: a call by the lanes of m. False: it has to be made once more, when others have run. */
bool devrt_call(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m);
/* Which function of vgpu_devrt.def that is, as a BUILTIN_; 0: none of them. fits: the parameters that a call has are as they should be. */
u32 devrt_find(const char *name);
bool devrt_fits(u32 builtin, const struct callinfo *ci);
u32 devrt_error(struct cta *c, u32 thread, u32 error);  /* becomes the thread's last one, if it is one; returns it */

/* devrt_run.c, all with the lock held */
struct devrt *devrt_get(struct engine *e);      /* NULL: no memory */
struct kin *kin_get(struct engine *e, struct grid *g);
struct work *work_new(struct engine *e, struct kin *k, u32 bytes);      /* NULL: as many as there may be */
struct work *work_of_buffer(struct engine *e, u64 addr);
void work_give(struct engine *e, struct work *w);
u32 work_queue(struct engine *e, struct work *w, u64 block, u64 stream);        /* DE_*; only then it is still the caller's */
u32 stream_new(struct engine *e, struct kin *k, u64 *handle);
u32 stream_destroy(struct engine *e, struct kin *k, u64 handle);
u32 event_new(struct engine *e, struct kin *k, u64 *handle);
u32 event_destroy(struct engine *e, struct kin *k, u64 handle);
u32 event_record(struct engine *e, struct kin *k, u64 event, u64 block, u64 stream);
u32 event_wait(struct engine *e, struct kin *k, u64 event, u64 block, u64 stream);
static inline bool devrt_busy(const struct engine *e) { return e->dr && e->dr->kins; }
static inline bool devrt_can_start(const struct engine *e) { return e->dr && e->dr->ready && e->dr->running < MAX_RUNNING; }
/* A worker begins what is ready; the lock is given away meanwhile. */
void devrt_start(struct engine *e, struct ended *x);
/* The grid's blocks are done. */
void kin_over(struct engine *e, struct grid *g, u32 status, struct ended *x);
void devrt_close(struct engine *e);             /* no lock, no threads any more */

#endif
