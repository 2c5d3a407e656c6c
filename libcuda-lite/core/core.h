/* SPDX-License-Identifier: MIT */
/*
 * Everything core/ shares with driver/: the session, contexts, streams and the calls between files.
 *
 * core/ speaks the client contract (fw-protocol/vgpu_client.h) and knows no CUDA signature; driver/
 * is the ABI and knows no shared memory. Calls here return 0 or an enum vgpu_status unless they
 * say otherwise; the translation to CUresult is vg_result() in status.c, nowhere else.
 *
 * Sections follow the files. Hot fields stand first; "cold" marks what no launch touches.
 */
#ifndef VG_CORE_H
#define VG_CORE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../fw-protocol/vgpu_client.h"
#include "../../fw-protocol/vgpu_fence.h"
#include "../../fw-protocol/vgpu_ring.h"
#include "handle.h"
#include "lock.h"
#include "tls.h"

#define VG_LIKELY(x) __builtin_expect(!!(x), 1)
#define VG_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- connect.c: the one session of the process --------------------------------------------- */

struct vg_session {
	/* hot: every submission */
	const struct vgpu_agent_page *agent;
	int kick;
	int asym;                       /* the agent answered ASYM_FENCE */
	int may_own;                    /* membarrier can reach our own threads (queue.h) */
	uint64_t span;                  /* base of the address span, of the window too */
	uint64_t window_span;           /* that much of the span may be window: VGPU_WINDOW_SPAN, less in a small one (span.c) */
	uint8_t *seg0;

	/* control queue (ctl.c) */
	_Alignas(64) uint64_t ctl_tail;
	_Alignas(64) uint64_t replies_busy; /* bit per reply slot */

	/* cold */
	_Alignas(64) int sock, pidfd;
	uint32_t lost;                  /* enum vgpu_status: AGENT_LOST once the agent is gone */
	uint32_t session;               /* grows when a session is over: what is learnt of an old one is of no other */
	struct vg_lock lost_lock;       /* who finds it lost tells its contexts before there is another */
	struct vg_lock sock_lock;
	uint64_t features, window_quota, memory_quota;
	uint32_t client_id;
	uint32_t agent_devices;         /* all there are */
	uint32_t ndev;                  /* CUDA_VISIBLE_DEVICES */
	uint32_t map[VGPU_MAX_DEVICES]; /* ordinal -> device */
	uint32_t place;                 /* VGPU_SPAN: of device 0 in the span */
	struct vgpu_device_info info[VGPU_MAX_DEVICES]; /* by ordinal */
	char agent_version[96];
	unsigned cores;                 /* this process may run on */
	bool blocking;                  /* CUDA_LAUNCH_BLOCKING: a launch returns when its kernel has ended */
};
extern struct vg_session vg;

/*
 * 1 while the session lives. The word is in a page that the kernel wipes in a forked child
 * (MADV_WIPEONFORK): there it reads 0 and every call answers NOT_INITIALIZED.
 */
extern const uint32_t *vg_alive;

/* cuInit: find the agent, HELLO, map. 0, or a CUresult as int (it has printed why). With VGPU_REQUIRED a missing agent is 0 too: */
/* span.c: the addresses of vg.span; false after a line that says why not */
bool vg_span_reserve(void);
void vg_span_leave(uint64_t window);    /* the session is over that had so much of the window */
int vg_connect(void);
/* ... then this is true: there is a device, and nothing of it can be had yet. */
bool vg_absent(void);
/* What it is like is known, from an agent that is gone: vg.ndev and vg.info hold it. */
bool vg_described(void);
/* Of cuDriverGetVersion: ours, or what is lower of a driver that a device is */
#define VG_DRIVER_VERSION VGPU_CUDA_VERSION
uint32_t vg_driver_version(void);
/* What a call answers while *vg_alive is 0, as CUresult; 0: there is a session now. */
int vg_not_ready(void);
/* One request and its answer on the socket; fds may be NULL. Returns a status. */
uint32_t vg_request(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int *fds,
		    unsigned nfds);
/* ... with a descriptor that goes along; it stays the caller's. */
uint32_t vg_request_lending(void *msg, uint32_t bytes, void *answer, uint32_t answer_bytes, int fd);
/* The last word of that session's agent, read in an answer's place: vg.lost is set. */
struct vgpu_msg_bye;
void vg_bye(uint32_t session, struct vgpu_msg_bye *m);
/* Foreign bytes for a terminal, in place: printable ones only, one line, ended by 0. text has n + 1 bytes; the new n. */
uint32_t vg_printable(char *text, uint32_t n);
/* True if the agent's process is gone; then vg.lost is set. */
bool vg_agent_lost(void);
/*
 * After the agent was lost and every context of that session is destroyed: finds an agent anew. Called when a context is to be
 * created; true: there is a session. What the program still holds of the old one names nothing any more.
 */
bool vg_reconnect(void);
bool vg_ctx_any(void);                    /* a context lives (context.c) */
void vg_agent_silent(uint32_t session);   /* a request was given up: no later answer can be trusted */

/* ---- queue.h / queue.c ---------------------------------------------------------------------- */

#define VG_TENURES 32u                  /* threads that may own a queue */
#define VG_QUEUE_SHARED ~0ull           /* several threads: claims are atomic from here on */
#define VG_QUEUE_MOVING (~0ull - 1)     /* for the moment nobody's */

struct vg_queue {
	union vgpu_slot *slots;
	const uint32_t *need_wakeup;    /* the agent's */
	const uint64_t *head;           /* shared: what the agent has consumed */
	uint32_t size;
	struct vg_stream *last;         /* that the owner used last: of this context once, and never NULL */
	_Alignas(64) uint64_t tail;     /* private: claims slots and numbers the command */
	_Alignas(64) uint64_t room;     /* *head + size when last seen: spares the shared line a look */
	uint64_t owner;                 /* VG_QUEUE_SHARED, or tenure << 48 | thread: see queue.h */
	uint8_t busy[VG_TENURES];       /* W: the thread of that tenure, while it claims */
	/* cold, under owner_lock */
	_Alignas(64) struct vg_lock owner_lock;
	uint32_t debt;                  /* changes of hands that did not pay */
	uint64_t moved_at;              /* tail at the last one */
	uint64_t moves;
	uint64_t tenant[VG_TENURES];    /* the thread whose tenure is that */
};

/* ---- streams --------------------------------------------------------------------------------- */

struct vg_ctx;

/* Credits are given a batch at a time; of a stream's VGPU_STREAM_CREDITS / VG_BATCH last batches all may be in flight. */
#define VG_BATCH 64u
#define VG_BATCHES (VGPU_STREAM_CREDITS / VG_BATCH)

struct vg_stream {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	struct vgpu_timeline *tl;
	uint64_t flags_word;            /* as in a header's first word: VGPU_CMD_LEGACY or _BLOCKING or 0, and its _PRIORITY, << 48 */
	uint32_t index;                 /* timeline number */
	int32_t left;                   /* commands that may be submitted before the next batch of credits */
	uint64_t last;                  /* ticket of the last command */
	struct vg_capturing *capture;   /* driver/capture.c; NULL: what is submitted is done */
	/* the second line: once in a batch */
	_Alignas(64) uint64_t marks[VG_BATCHES]; /* of the last batches: the ticket before the first of each */
	uint64_t batches;               /* ever */
	struct vg_lock credit_lock;     /* of both, while the queue is shared */
	/* cold */
	uint32_t cu_flags;
	bool sleeps_at_once;            /* waits for it do not spin: its synchronization policy */
	uint64_t attrs[8];              /* driver/stream.c: what was set and is answered back */
	uint64_t id;
	uint64_t green;                 /* handle of the green context that it was made in, or 0 */
	uint64_t host_issued;           /* host functions ever (hostfn.c) */
	struct vg_gate *gate;
	struct vg_lock host_lock;       /* keeps mark and gate command of one host function together */
};

/* ---- contexts ---------------------------------------------------------------------------------- */

struct vg_ctx {
	uint64_t handle, handle_next;
	struct vgpu_ctx_head *head;     /* shared */
	struct vgpu_timeline *timelines;
	uint32_t error;                 /* our own sticky error: agent gone, context destroyed */
	uint32_t number;                /* 0..7, the agent's */
	struct vg_queue queue;
	struct vg_stream *legacy;
	uint32_t max_grid[3], max_block[3], max_threads;
	/* cold */
	_Alignas(64) struct vg_lock lock;
	uint32_t ordinal;               /* of the device */
	uint32_t cu_flags;
	uint32_t stream_top;            /* numbers from here on were never used */
	bool blocking_ever;             /* a stream with VGPU_CMD_BLOCKING was created */
	bool sleeps_at_once;            /* waits do not spin: the application asked for it */
	uint32_t reported;              /* the fault's text was printed */
	uint64_t id;
	uint64_t born_ns;               /* by the agent's clock; 0: nobody has asked (ipc_event.c) */
	int refs;                       /* primary: retains; cuCtxAttach */
	bool primary;
	uint32_t api_version;
	uint32_t cache_config, shared_config;
	struct vg_lock limits_lock;
	uint64_t limits[8];             /* 0: nobody has asked */
	uint64_t heap;                  /* device malloc's memory, 0: no kernel that calls it is here yet */
	bool prints;                    /* a kernel that calls printf is here */
	uint64_t peers;                 /* peer access switched on, bit per context number */
	struct vg_stream *streams[VGPU_MAX_STREAMS]; /* by timeline number */
	uint64_t dying[VGPU_MAX_STREAMS]; /* last ticket of a destroyed stream: 0 free */
	bool dying_blocks[VGPU_MAX_STREAMS]; /* ... and the legacy stream waits for it */
	struct vg_module *modules;
	uint32_t captures, captures_blocking; /* streams that capture; those of them that the legacy stream waits for */
	struct vg_stream *host_stream;  /* internal: its commands wake the device after a host function */
	struct vg_stream *all_stream;   /* internal: events of all streams (driver/green.c) */
	struct vg_stream *body_stream;  /* internal: what conditional nodes do (driver/graph_cond.c) */
	struct vg_lock print_lock;
};

/* CTX_CREATE and the library's side of it. A status; *out is published. */
uint32_t vg_ctx_create(uint32_t ordinal, struct vg_ctx **out);
/* Gives its work half a second to end, then kills it; frees everything it owned. */
void vg_ctx_destroy(struct vg_ctx *c);
/* All work submitted so far is complete. Returns the sticky status. */
uint32_t vg_ctx_sync(struct vg_ctx *c);
uint32_t vg_ctx_sync_for(struct vg_ctx *c, uint64_t limit_ns);  /* BUSY: not complete by then */
/* Every context of the process, for calls that must order after all work. */
void vg_sync_all(void);
struct vg_ctx *vg_ctx_by_number(uint32_t number);

uint32_t vg_stream_create(struct vg_ctx *c, uint16_t cmd_flags, struct vg_stream **out);
void vg_stream_destroy(struct vg_stream *s);
/* The ticket whose completion means: everything in the stream so far. 0: nothing to wait for. */
uint64_t vg_stream_mark(struct vg_stream *s);
uint32_t vg_stream_sync(struct vg_stream *s);
/* Waits until it is the turn of what would be submitted now: behind the legacy barrier too, unlike vg_stream_sync(). */
uint32_t vg_stream_reach(struct vg_stream *s);
/* Is all of that complete now? Submits nothing, so that polling comes to an end. */
bool vg_stream_idle(struct vg_stream *s);
void vg_capture_drop(struct vg_stream *s, bool with_ctx);       /* driver/capture.c: a stream that captures goes away */
void vg_module_drop_ctx(struct vg_ctx *c);       /* driver/module.c */
void vg_vmm_drop_ctx(struct vg_ctx *c);          /* driver/vmm.c */
void vg_pool_drop_ctx(struct vg_ctx *c);         /* driver/pool_cache.c */
void vg_event_drop_ctx(struct vg_ctx *c);        /* driver/event.c */
void vg_array_drop_ctx(struct vg_ctx *c);        /* driver/texture.c */
void vg_ref_drop_ctx(struct vg_ctx *c);          /* driver/texref.c: those of no module */
struct vg_mem;
void vg_pool_lost(const struct vg_mem *m);       /* one of a pool's allocations is gone, and not to the pool (driver/pool.c) */
bool vg_pools_spare(void);                       /* memory runs out: gives back what pools keep; false: nothing */
static inline uint64_t vg_stream_last(const struct vg_stream *s)
{
	return __atomic_load_n(&s->last, __ATOMIC_ACQUIRE);
}

/* ---- thread.c ------------------------------------------------------------------------------------ */

#define VG_STACK 64
struct vg_thread {
	struct vg_ctx *ctx;             /* current; checked against ctx_handle */
	uint64_t ctx_handle;
	uint64_t green;                 /* that is current, converted; or 0 */
	unsigned depth;                 /* of the stack below; entry depth - 1 is the current one */
	uint64_t stack[VG_STACK];       /* contexts, and green ones */
	uint64_t stream[VGPU_MAX_CONTEXTS]; /* its own default stream, per context number */
	uint32_t tid;
	int capture_mode;
	bool in_host;                   /* a host function runs on it */
	struct vg_thread *next;
};
/* Thread state is one pointer. A launch on a created stream never looks at it. */
VGPU_TLS(struct vg_thread *, vg_self_slot);
#define vg_self (*vg_self_slot_at())
struct vg_thread *vg_thread_make(void);  /* never NULL but when memory is out */
static inline struct vg_thread *vg_thread(void)
{
	return VG_LIKELY(vg_self != NULL) ? vg_self : vg_thread_make();
}
/* Streams of threads that have ended are handed back; called when streams run out. */
void vg_thread_sweep(void);
void vg_thread_set(struct vg_thread *t, struct vg_ctx *c);

/* ---- wait.c ---------------------------------------------------------------------------------------- */

/* timeline >= ticket. A status: OK, or the context's sticky error. */
uint32_t vg_wait_timeline(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket);
/* As above but sleeps without spinning first when `sleep` is set. */
uint32_t vg_wait_timeline_how(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket, bool sleep);
/* As the first but gives up after limit_ns: BUSY. */
uint32_t vg_wait_timeline_for(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket, uint64_t limit_ns);
void vg_wait_flow(struct vg_stream *s, uint64_t ticket); /* the same for a credit: patient with a device that works */
void vg_wait_room(struct vg_ctx *c, struct vg_queue *q, uint64_t index, unsigned n);
void vg_wait_reply(struct vgpu_reply *r, uint32_t seq);
uint64_t vg_now_ns(void);

/* Pauses of growing length for words that have no futex: `turn` counts from 0. */
uint32_t vg_asked_again(struct vg_ctx *c); /* a poller is told to wait; or the error that ends its waiting */
void vg_backoff(unsigned turn);

static inline bool vg_ctx_failed(const struct vg_ctx *c)
{
	return (vgpu_load_relaxed32(&c->head->error) | __atomic_load_n(&c->error, __ATOMIC_RELAXED)) != 0;
}

/* Sticky error of a context as a status, 0 while it lives well. */
static inline uint32_t vg_ctx_error(const struct vg_ctx *c)
{
	return VG_LIKELY(!vg_ctx_failed(c)) ? 0 : c->error ? c->error : vgpu_load_acquire32(&c->head->error);
}

/* What a call of c (NULL: of none) answers once the agent is lost: c's own end, when that came first. */
static inline uint32_t vg_lost_status(const struct vg_ctx *c)
{
	uint32_t e = c ? vg_ctx_error(c) : 0;

	return e ? e : VGPU_ST_AGENT_LOST;
}

/*
 * The agent takes the window of a client that it ends, error words and all. Its word goes first: what was read in the window
 * before this look, and it is false, was there.
 */
static inline bool vg_window_gone(void)
{
	struct vgpu_session *s = (struct vgpu_session *)vg.seg0;        /* NULL: there is none, and contexts say why */

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return VG_UNLIKELY(s && vgpu_load_relaxed32(&s->magic) != VGPU_SESSION_MAGIC);
}

/* The status of a call that has read what it was to read: the context's error, or that its memory was taken away meanwhile. */
static inline uint32_t vg_ctx_whole(const struct vg_ctx *c)
{
	uint32_t e = vg_ctx_error(c);

	return VG_LIKELY(!e && !vg_window_gone()) ? VGPU_ST_OK : vg_lost_status(c);
}

/* ---- ctl.c ------------------------------------------------------------------------------------------ */

/* One control call and its answer; v[5] may be NULL. */
uint32_t vg_ctl(struct vg_ctx *c, uint8_t op, uint32_t id, uint64_t a, uint64_t b, uint64_t cc, uint64_t *v);

/* ---- extents.c --------------------------------------------------------------------------------------- */

/* Free ranges of some number space, sorted, never touching. */
struct vg_extents {
	struct vg_extent { uint64_t start, bytes; } *v;
	size_t n, cap;
};
/* First fit; start aligned (a power of two). False: no room. Nothing is lost when memory is out. */
bool vg_extents_take(struct vg_extents *e, uint64_t bytes, uint64_t align, uint64_t *start);
bool vg_extents_take_at(struct vg_extents *e, uint64_t start, uint64_t bytes);
bool vg_extents_give(struct vg_extents *e, uint64_t start, uint64_t bytes);

/* ---- holes.c: a window that is taken back while it is read ---------------------------------------------------- */

/* A part of this session's window has been mapped: if its pages are hugetlb's, a hole in it becomes zeroes to who touches it. */
void vg_holes_watch(int fd, const void *p, uint64_t bytes);
void vg_holes_forget(void);             /* the session is over */

/* ---- window.c ----------------------------------------------------------------------------------------- */

/* Memory both sides see. NULL: quota, pool or address space is exhausted. align: a power of two. */
void *vg_window_alloc(uint64_t bytes, uint64_t align);
void vg_window_free(void *p, uint64_t bytes);
uint64_t vg_window_bytes(void);         /* mapped behind segment 0 */
/* The same for whole pages that stay this process's own when the agent is gone. */
bool vg_pages_take(uint64_t bytes, uint64_t *at);
bool vg_pages_take_at(uint64_t at, uint64_t bytes);
void vg_pages_give(uint64_t at, uint64_t bytes);
/* Pages that other processes may be let into (share.c); and somebody else's segment, mapped. */
bool vg_shared_take(uint64_t bytes, uint64_t *at);
void vg_shared_give(uint64_t at, uint64_t bytes);
uint32_t vg_window_own(uint64_t bytes, uint64_t *at, int *fd);  /* a whole segment, and its file */
uint32_t vg_window_open(const uint8_t token[16], uint64_t *at, uint64_t *bytes);
void vg_window_forget(void);            /* the session is over, and with it all of this */
static inline bool vg_in_window(uint64_t a) { return a - vg.span < vg.window_span; }

/* ---- devmem.c -------------------------------------------------------------------------------------------- */

#define VG_MEM_IS_SHARED (1u << 30)     /* in flags: its pages are the window's (share.c); other: where there */
#define VG_MEM_OF_POOL (1u << 29)       /* opened from another process's pool: freed as pools' memory is */
#define VG_MEM_OF_MODULE (1u << 31)     /* in flags: managed variables, which only their module frees */
enum vg_mem_kind { VG_MEM_DEVICE = 1, VG_MEM_HOST, VG_MEM_MANAGED, VG_MEM_RESERVED, VG_MEM_ASYNC,
		   VG_MEM_HEAP /* of device malloc: no host call takes it */,
		   VG_MEM_OPENED /* device memory of another process, in the window (share.c) */,
		   VG_MEM_ADOPTED /* registered host memory: one entry by the caller's address, one by the window's (adopt.c) */ };

struct vg_mem {
	uint64_t start, bytes;          /* as asked for */
	uint64_t span_bytes;            /* as taken, guard included */
	uint64_t mapped_bytes;          /* as committed */
	enum vg_mem_kind kind;
	uint32_t flags;                 /* of cuMemHostAlloc, cuMemAllocManaged */
	uint32_t ordinal;
	struct vg_ctx *ctx;             /* owner; NULL: a reserved range belongs to nobody */
	uint64_t id;
	struct vg_pool *pool;
	struct vg_graph_mem *graph;     /* of a graph's allocation node (driver/graph_mem.c) */
	uint32_t sync_memops;
	uint64_t other;                 /* of VG_MEM_ADOPTED: start on the other side; of a pool's: bytes as the device knows them */
};

uint32_t vg_mem_alloc(struct vg_ctx *c, uint64_t bytes, enum vg_mem_kind kind, uint64_t *va);
uint32_t vg_mem_alloc_host(struct vg_ctx *c, uint64_t bytes, enum vg_mem_kind kind, uint32_t flags, void **p);
uint32_t vg_mem_reserve(uint32_t ordinal, uint64_t bytes, uint64_t align, uint64_t hint, uint64_t *va);
/* Copies the entry that holds addr. */
bool vg_mem_find(uint64_t addr, struct vg_mem *out);
bool vg_mem_update(const struct vg_mem *m);
bool vg_mem_add(const struct vg_mem *m);
/* Takes the entry that starts at addr and has one of the kinds (bit per kind) out of the table. */
bool vg_mem_take(uint64_t start, unsigned kinds, struct vg_mem *out);
/* Gives back what vg_mem_take took: device memory, window and address space. What the device refuses to free is in the table again. */
uint32_t vg_mem_release(const struct vg_mem *m);
/* The same where the owner's process is gone, and the memory with it. */
void vg_mem_forget(const struct vg_mem *m);
void vg_mem_drop_ctx(struct vg_ctx *c);
void vg_mem_forget_all(void);           /* the session is over */
extern uint64_t vg_committed;           /* bytes of device memory that this process holds; atomic */
bool vg_phys_take(uint32_t ordinal, uint64_t bytes, uint64_t *offset);
void vg_phys_give(uint32_t ordinal, uint64_t offset, uint64_t bytes);
static inline uint64_t vg_device_base(uint32_t ordinal)
{
	return VGPU_DEVICE_BASE(vg.span, vg.map[ordinal] + vg.place);
}
static inline bool vg_in_device(uint64_t a)
{
	return a - VGPU_DEVICE_BASE(vg.span, vg.place) < (VGPU_MAX_DEVICES - vg.place) * VGPU_DEVICE_SPAN;
}

/* ---- deferred.c: things to give back when a stream has come so far ------------------------------------------ */

enum vg_deferred_kind { VG_DEFER_WINDOW, VG_DEFER_MEM, VG_DEFER_EVENT };
void vg_defer(enum vg_deferred_kind kind, struct vg_ctx *c, uint16_t stream, uint64_t ticket, void *p,
	      uint64_t bytes);
void vg_deferred_reap(void);
bool vg_deferred_wait(void);            /* waits for the oldest; false: there is none */
void vg_deferred_drop_ctx(struct vg_ctx *c);
void vg_retained_reap(void);            /* user objects of graphs (driver/graph_object.c), without the graphs' lock */

/* ---- staging.c: copies that touch ordinary memory ------------------------------------------------------------ */

struct vg_copy {                        /* depth slices of height rows of width bytes */
	uint64_t dst, src;
	uint64_t width, height, depth;
	uint64_t dst_pitch, dst_slice, src_pitch, src_slice;
	bool dst_pageable, src_pageable;
};
/* The one command that such a copy is where the device sees both sides: operation, body, and bytes of payload. */
uint8_t vg_copy_command(const struct vg_copy *k, uint64_t body[4], struct vgpu_copy3d *payload, unsigned *bytes);
/* async: may return before the copy is done where both sides are memory the device sees. */
uint32_t vg_copy(struct vg_stream *s, const struct vg_copy *k, bool async);

/* ---- hostfn.c --------------------------------------------------------------------------------------------------- */

typedef void (*vg_host_fn)(void *user);
typedef void (*vg_host_callback)(uint64_t stream, uint32_t status, void *user);
/* Runs fn (or cb) when the stream gets there; the stream goes on when it has returned. */
uint32_t vg_host_call(struct vg_stream *s, uint64_t handle, vg_host_fn fn, vg_host_callback cb, void *user);
/* The same for what the library does itself, and may wait in; cb is called for a failed context too. */
uint32_t vg_between(struct vg_stream *s, vg_host_callback cb, void *user);
void vg_host_drain(struct vg_ctx *c);    /* all of the context's have run, or it is dead */
void vg_host_forget(struct vg_stream *s); /* the stream goes away; what it has pending still runs */
bool vg_on_executor(void);
/* A host function runs, somewhere; vg_is_host() says whether it is the caller: one may not make calls (cuStreamAddCallback, cuLaunchHostFunc). */
extern uint32_t vg_host_runs;
bool vg_is_host(void);

/* ---- printf.c, report.c, status.c ----------------------------------------------------------------------------------- */

void vg_printf_drain(struct vg_ctx *c);

/* leaks.c: device memory as the program asks for it and gives it back. caller: where, if no more is known */
void vg_leak_alloc(uint64_t va, size_t bytes, void *caller);
void vg_leak_free(uint64_t va);
size_t vg_leak_callers(char *to, size_t room);
void vg_report(struct vg_ctx *c);       /* the fault's text, once */
/* CUresult of a status, as int: the one place. */
int vg_result(uint32_t status);

/* One line on stderr: "libcuda-lite: ...". */
__attribute__((format(printf, 1, 2))) void vg_say(const char *fmt, ...);
void vg_log(const char *text, size_t n);        /* driver/logs.c: what is said, for programs that ask */
/* The same, once per bit: unsupported calls name themselves. */
void vg_unsupported_line(const char *what);

/* ---- objects of driver/ (arenas need their sizes) ---------------------------------------------------------------- */

struct vg_event {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle;
	uint64_t mark;                  /* 1 << 63 | context << 58 | stream << 48 | ticket; 0: never recorded */
	struct vgpu_event_record *record; /* NULL: no timing */
	uint32_t cu_flags;
	struct vg_shared_event *shared; /* between processes (driver/ipc_event.c) */
	uint64_t look_ns;               /* of those: when to ask next whether who recorded lives */
	bool opened, told;              /* ... and another one's; its handle was asked for */
	struct vg_captured *captured;   /* its last recording was in a capture (driver/capture.c) */
};

struct vg_piece {                       /* parameters in a row, or a part of one; all in one slot */
	uint16_t at;                    /* bytes from the start of the command */
	uint16_t param;                 /* the first */
	uint16_t kind;                  /* VG_WORDS(n): n of 8 bytes; VG_HALVES(n): n of 4; 0: a part of one */
	uint16_t from, bytes;           /* that part */
};
#define VG_PIECE_MAX 7u                 /* parameters; as many of 8 bytes fill a slot */
#define VG_WORDS(n) (n)
#define VG_HALVES(n) (VG_PIECE_MAX + (n))

#define VG_NOT_PLAIN 8u

struct vg_func {
	uint64_t handle, handle_next;
	struct vg_ctx *ready;           /* its context, once everything here is valid (release); else NULL */
	uint64_t word0;                 /* operation and slots as in a header's first word */
	/* What was launched last and found good: the body of its command. Whoever owns the queue has these, and block. */
	uint64_t body[4];
	/* the second line */
	uint32_t block[3];
	uint32_t max_dynamic;           /* bytes of dynamic shared memory a launch may ask for */
	uint16_t plain;                 /* all it has is so many parameters of 8 bytes; VG_NOT_PLAIN: ask pieces */
	uint16_t nslots;
	uint64_t fn;
	struct vg_piece *pieces;
	uint32_t npieces;
	uint32_t loaded;                /* 1: described (release) */
	struct vg_ctx *ctx;
	uint32_t param_bytes;
	uint32_t max_threads;
	uint32_t reqntid[3];
	uint32_t cluster;               /* as vgpu_fn_info has it: launches of it are looked at more closely */
	uint32_t required;              /* by attribute: VGPU_LAUNCH_CLUSTER of every launch */
	/* cold */
	struct vg_module *module;
	const char *name;
	struct vgpu_fn_info *info;
	struct vg_lock lock;
	uint32_t load_status;           /* sticky result of FUNC_INFO */
	int carveout, cluster_policy, nonportable;
	int required_dim[3];            /* of required, as they were set */
	uint32_t legacy_block[3], legacy_shared, legacy_bytes; /* cuFuncSetBlockShape and friends */
	uint8_t *legacy_params;
};

struct vg_module {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint32_t id;
	uint32_t nsyms;
	struct vgpu_symtab *table;      /* private, checked copy */
	uint32_t *hash;                 /* symbol index + 1, open addressing */
	uint32_t hash_mask;
	struct vg_func **funcs;         /* by symbol, made on demand */
	struct vg_lock lock;
	struct vg_module *next, **prev;
	struct vg_library *library;
	void *managed;                  /* its managed variables, or NULL */
	struct vg_ref *refs;            /* those that were asked for (driver/texref.c) */
};

struct vg_library {
	uint64_t handle, handle_next;
	struct vg_lock lock;
	void *image;                    /* own copy, or the caller's (BINARY_IS_PRESERVED) */
	uint64_t bytes;
	bool own;
	uint32_t told;                  /* the status with which it was last said that it cannot be loaded: each launch asks again */
	struct { uint64_t ctx_handle; struct vg_module *module; } in[VGPU_MAX_CONTEXTS];
	struct vg_kernel *kernels;
};

struct vg_jit {                         /* a caller's JIT options, as far as they are looked at */
	char *info, *error;
	size_t info_bytes, error_bytes;
	int info_size_at, error_size_at, wall_at;      /* where the answers go, -1: not wanted */
};

struct ptxlink;
struct vg_link {
	uint64_t handle, handle_next;
	struct vg_lock lock;
	unsigned cc;
	struct ptxlink *linker;
	struct vg_jit jit;
	void **values;
	void *image;                    /* the result, once there is one */
	uint64_t bytes;
};

struct vg_kernel {
	uint64_t handle, handle_next;
	struct vg_library *library;
	struct vg_kernel *next;
	char *name;
	struct { uint64_t ctx_handle; struct vg_func *func; } in[VGPU_MAX_CONTEXTS];
	int max_dynamic;                /* set before a context saw it; -1: not */
	int carveout;
};

struct vg_pool {
	uint64_t handle, handle_next;
	enum vg_mem_kind kind;          /* of its memory: VG_MEM_ASYNC (a device's), VG_MEM_HOST, VG_MEM_MANAGED */
	uint32_t slot;                  /* the place whose default or current pool it can be (pool.c) */
	uint32_t ordinal;               /* of VG_MEM_ASYNC */
	uint32_t access;                /* of VG_MEM_HOST: a bit for each device that was given access */
	bool is_default;
	bool shareable, imported;       /* pool_ipc.c */
	int fd;                         /* its name for other processes; -1: none yet */
	uint64_t at;                    /* of fd, in the window of this session */
	uint32_t session;
	bool dead;                      /* destroyed: keeps nothing any more, and goes with the last of its memory */
	uint64_t release_threshold, used, used_high, reserved, reserved_high, max_bytes;
	int reuse[3];
	struct vg_lock lock;
};

/* driver/texture.c */
struct vg_array {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle;            /* of ctx when this was made: it may be gone */
	uint8_t format, channels;
	uint32_t flags, texel;          /* texel: bytes */
	uint64_t width, height, depth;  /* as they were asked for */
	uint64_t va, pitch, slice, bytes;
	struct vg_mipmap *mipmap;       /* whose level it is; NULL: it has its own memory */
};

#define VG_LEVELS 28u
struct vg_mipmap {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle, va, bytes;
	uint32_t levels;
	struct vg_array *level[VG_LEVELS];
};

/* driver/texref.c */
struct vg_ref {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle;
	uint64_t va;                    /* its descriptor, in its module; 0: of none */
	struct vg_ref *next;            /* of the module's, or of those that are no module's */
	struct vg_bound *bound;         /* to what, and how it is read */
};

/* driver/green.c */
struct vg_green {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;             /* the primary one */
	uint64_t ctx_handle, id;
	uint32_t first, sms, align;     /* multiprocessors */
	bool converted;                 /* its handle is a CUcontext too */
};

/* driver/graph.h has what these are for */
struct vg_edges {
	struct vg_node **to;
	uint32_t n, room;
};

struct vg_node {
	uint64_t handle, handle_next;
	struct vg_graph *graph;
	struct vg_work *work;
	struct vg_edges before, after;  /* what it depends on, and what depends on it */
	uint64_t origin;                /* in a copy of a graph: the handle of the node that this one was made from */
	uint32_t at;                    /* place in its graph */
	uint32_t local;                 /* cuGraphNodeGetLocalId */
	uint32_t mark;                  /* of whoever walks the graph */
	bool disabled;                  /* in an exec only */
};

struct vg_graph {
	uint64_t handle, handle_next;
	uint32_t id, last_local;        /* cuGraphGetId, and what its last node is called */
	struct vg_node **nodes;         /* in the order in which they came */
	uint32_t n, room;
	struct vg_node *owner;          /* of a child graph; NULL: the program's own */
	uint64_t origin;                /* the graph that this one is a copy of */
	bool capturing;                 /* a capture adds to it */
	bool private;                   /* of an exec: no handle is one of it or of its nodes */
	uint32_t mems;                  /* allocation and free nodes */
	uint32_t conditions;            /* conditional nodes */
	uint32_t execs;                 /* made of it, while it has such nodes */
	struct vg_conditional *handles; /* for conditional nodes, its own or of graphs in it (driver/graph_cond.c) */
	struct vg_retained *retained;   /* user objects */
};

/* What a graph comes to: commands in a row, and what cannot be one in between. */
struct vg_program {
	union vgpu_slot *image;
	struct vg_step *steps;
	uint32_t nsteps, nslots, image_room, steps_room;
};

struct vg_exec {
	uint64_t handle, handle_next;
	uint32_t id;
	struct vg_lock lock;            /* held while it is launched, also where that waits for the device */
	bool dirty;                     /* the program below is not that of the graph any more */
	struct vg_graph *graph;         /* a copy of its own */
	struct vg_ctx *ctx;             /* of its work; NULL: has none */
	uint64_t ctx_handle;
	uint64_t flags;
	uint64_t seen;                  /* vg_func_deaths when its functions were alive */
	struct vg_program program, *to; /* to: the one that is being made, of the graph or of a conditional node's body */
	struct vg_staged *staged;
	/* its last launch */
	uint64_t last;                  /* ticket; 0: none */
	struct vg_ctx *last_ctx;
	uint64_t last_ctx_handle;
	uint16_t last_stream;
	uint64_t source;                /* handle of the graph that it was made from */
};

struct vg_user_object {
	uint64_t handle, handle_next;
	vg_host_fn destroy;
	void *user;
	uint32_t refs;
};

struct vg_phys {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle;
	uint32_t ordinal;
	uint64_t offset, bytes;
	uint32_t refs, maps;
	uint64_t shared;                /* where it lies in the window; 0: it is its context's alone */
	bool opened;                    /* ... and came as a file */
	bool exported;                  /* ... and went as one: others may have it for ever */
	int fd;                         /* of the whole of it, where it is ours */
	struct vg_lock lock;
};

#endif
