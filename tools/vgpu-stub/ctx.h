/* SPDX-License-Identifier: MIT */
/*
 * Context process, private to ctx_*.c: one process, one client context, one engine.
 *
 *   context.c      boot, in order; context_main()
 *   ctx_loop.c     the dispatcher: both rings, the parent's socket, sleeping
 *   ctx_stream.c   per-stream lists, waits, the legacy barrier, completion
 *   ctx_exec.c     what each I/O command does
 *   ctx_ctl.c      control ops and modules
 *   ctx_watch.c    the thread that watches the dispatcher, with a host's driver
 *   ctx_work.c     what it does now, and how long things took: for people
 *   ctx_job.c      the compiler thread, for those that take long
 *   ctx_mem.c      device memory, VMM, guarded access to single words
 *   ctx_report.c   faults, error words, printf ring, log lines
 *   ctx_walls.c    an empty root, a user of its own, no rights: before threads
 *   ctx_files.c    device nodes that a host's driver may open again
 *   ctx_sandbox.c  limits and the seccomp filter
 *
 * Threads: everything here belongs to the dispatcher, except what stands under "any thread".
 * The process holds one struct ctx; it is passed along so that tests and readers see who uses it.
 */
#ifndef VGPU_STUB_CTX_H
#define VGPU_STUB_CTX_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "ctx_proto.h"
#include "engine.h"
#include "../../fw-protocol/vgpu_check.h"
#include "../../fw-protocol/vgpu_ring.h"

/*
 * Commands that wait in the context. Honest clients keep at most VGPU_STREAM_CREDITS a stream in
 * flight, so the node pool never runs dry for them; when it does, the I/O ring is left standing.
 * All pools are address space first: a page is touched when it is needed.
 */
#define CTX_NODES (VGPU_MAX_STREAMS * VGPU_STREAM_CREDITS)
#define CTX_MIDS 65536u                 /* payloads up to CTX_MID_BYTES */
#define CTX_BIGS 16384u                 /* larger ones */
#define CTX_MID_BYTES 640u
#define CTX_BIG_BYTES 4160u
#define CTX_INLINE 144u                 /* payload inside the node */
#define CTX_PHASES (2u * CTX_NODES)     /* a power of two above all commands in flight */
#define CTX_PIECE (256u << 10)          /* bytes copied at one go before others get a look */
#define CTX_SEGMENTS 1024u
#define CTX_MODULES 16384u
#define CTX_LOG_BYTES 16384u
#define CTX_RANGES (1u << 20)

/* How far a copy or fill has come. */
struct ctx_progress {
	uint64_t y, z, x;               /* row, slice, byte of the row */
};

struct ctx_node {
	struct ctx_node *next;
	uint8_t *payload;               /* own[], or a block of the mid or big pool */
	struct vgpu_cmd cmd;
	struct ctx_progress at;
	uint32_t phase;
	uint32_t payload_bytes;         /* of one that is out: its status, once that is known (CTX_ENDED: success) */
	uint8_t own[CTX_INLINE];
};
_Static_assert(sizeof(struct ctx_node) == 256, "four lines");

/* Fixed-size blocks; a free one holds the link. Never grows beyond max, never shrinks. */
struct ctx_pool {
	void *free;
	uint8_t *base;
	uint32_t item, used, max;
};

enum ctx_where { STREAM_IDLE, STREAM_READY, STREAM_RUNNING, STREAM_WAIT_PHASE, STREAM_WAIT_TL, STREAM_WAIT_POLL };

struct ctx_stream {
	struct ctx_node *head, *tail;
	struct ctx_node *out, *out_tail;        /* with an engine that queues: what it was given, in order */
	uint64_t taken, done;           /* last ticket taken from the ring; last one complete */
	uint64_t running;               /* ticket of the launch the engine has, 0 = none */
	uint64_t began;                 /* ticks, of that launch ... */
	uint64_t began_held;            /* ... and of others' turns until then, ns */
	uint32_t fn;                    /* its function, 0: a matrix product */
	uint32_t phase;                 /* of that launch */
	uint32_t error;
	enum ctx_where where;
	uint32_t done_status;           /* engine thread writes it before it links done_link */
	struct ctx_stream *link;        /* in the one list `where` names */
	struct ctx_stream *done_link;
	struct ctx_stream *waiters;     /* streams in STREAM_WAIT_TL for this one's timeline */
};

struct ctx_list {
	struct ctx_stream *head, *tail;
};

/* Mapped memory, sorted by va (phys: by offset, in va). */
enum ctx_kind { CTX_ALLOC, CTX_VMM, CTX_PHYSICAL, CTX_SHARED /* window memory at an address of the device */ };
struct ctx_range {
	uint64_t va, bytes, offset;
	uint32_t kind, rsvd;
};
/* An allocation that is being committed; bytes 0: none. */
struct ctx_commit {
	uint64_t va, bytes, at;
	uint64_t ticket;                /* of the control command */
	uint64_t asked;                 /* bytes that the program asked for, <= bytes */
	enum ctx_kind kind;
};
#define CTX_ENDED 0x10002u              /* beside enum vgpu_status: of a node that is out */
#define CTX_COMMITTING 0x10001u         /* beside enum vgpu_status: not over yet */

struct ctx_ranges {
	struct ctx_range *r;
	uint32_t n;
	uint64_t units;                 /* of VGPU_HUGE addresses in which some range is: a page table each */
};

struct ctx_module {
	uint8_t *image;                 /* NULL: free entry */
	uint64_t bytes, variables;
	uint64_t managed_va, managed_bytes;     /* MODULE_MANAGED */
	uint32_t id;                    /* generation << 14 | index: stale ids do not come back soon */
	uint32_t engine_id;
	int committed;
};

/* A control command that takes long: the dispatcher's, but while the compiler thread has it (ctx_job.c). */
struct ctx_job {
	struct vgpu_cmd cmd;
	struct ctx_module *m;           /* MODULE_COMMIT */
	uint32_t status;                /* of loading, of describing */
	uint32_t check;                 /* of reading all bodies, where that was asked for */
	int known;                      /* it was only looked up */
	uint64_t took;                  /* ticks */
	struct engine_func_info info;
	char log[CTX_LOG_BYTES];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t given;
	int state;
};

struct ctx {
	/* hot: looked at in every round */
	const struct engine_ops *ops;
	struct engine *engine;
	union vgpu_slot *io_ring, *ctl_ring;
	uint64_t io_index, ctl_index;
	const struct ctx_run *run;
	struct vgpu_qb_head *qb;
	struct vgpu_qb_work *work;
	uint64_t *shadow;
	struct vgpu_timeline *timelines;
	struct ctx_list ready, poll, phase_wait;
	uint32_t error;                 /* sticky */
	uint32_t messages_seen, rounds;
	int asym_publish, asym_client;  /* no fence needed before the look whether the agent, the client sleeps */
	int asym_sleep;
	int io_broken;                  /* a malformed slot: where the next one starts nobody knows */
	uint32_t launches_out;
	uint32_t patient;               /* what the dispatcher does takes long (ctx_watch.c) */
	uint64_t beat;                  /* its rounds */
	uint64_t commands_done, launches_done;
	struct ctx_stream *streams;     /* VGPU_MAX_STREAMS */
	uint32_t streams_used;
	/* The legacy barrier, see ctx_stream.c */
	uint32_t *phase_open;
	uint32_t phase_first, phase_last;
	int phase_legacy;
	struct ctx_pool nodes, mids, bigs;
	int deaf;                       /* a test wants a context that works on in others' turn, as hostile code would */
	uint64_t shuffle;               /* not 0: a test wants another order where there is a choice */

	/* any thread: completed launches, newest first; `asleep` pairs with it (ctx_loop.c) */
	struct ctx_stream *done_list __attribute__((aligned(64)));
	uint32_t asleep;
	/* any thread: first fault wins; 0 none, 1 being written, 2 text valid */
	uint32_t fault_state;
	uint32_t fault_status;
	char fault_text[1024];
	pthread_mutex_t print_lock;
	pthread_t dispatcher;

	/* cold */
	struct vgpu_check_env env __attribute__((aligned(64)));
	struct ctx_init init;
	struct vgpu_ctx_head *head;
	char *printf_ring;
	uint8_t *seg0;
	char why[512];                  /* text for the error that is about to be found */
	uint64_t memory_bytes;
	uint32_t grant_id;              /* of the GRANT sent last */
	struct ctx_ranges mem, phys;
	uint32_t phys_blocks;           /* of the file, VGPU_HUGE each */
	uint8_t *phys_used;             /* of each block: somebody's */
	uint32_t *phys_at;              /* of each huge page of offsets: its block */
	struct ctx_commit commit;
	struct ctx_job job;
	struct ctx_segment { uint64_t va, bytes; } segment[CTX_SEGMENTS];
	uint32_t segments;
	struct ctx_module *modules;
	uint32_t modules_used, module_generation;
	uint64_t image_bytes;           /* of all modules */
	uint64_t engine_bytes;          /* code, and what the engine has allocated, at the last look */
	uint32_t logged;
	int irq_by_parent, phys_by_parent;
	int code_fd;                    /* until the engine has it */
	/* time: ticks are TSC where there is one */
	uint64_t boot_ticks, boot_ns, busy_since, busy_ticks, last_tick;
	double ns_per_tick;
	uint32_t fn_last, fn_told;      /* launched last; as the agent was told by name */
	int named;                      /* it was told some */
	uint8_t scratch[VGPU_MAX_PARAM_BYTES + 2 * VGPU_SLOT_PAYLOAD] __attribute__((aligned(64)));
	uint8_t large[VGPU_MAX_LARGE_BYTES] __attribute__((aligned(64)));       /* parameters out of the window, for one launch */
};

/* context.c */
int context_main(void);
/* One message to the parent, with an fd or -1. 0 or -1. Any thread. */
int ctx_send(const struct ctx_msg *m, int fd, int flags);
/* Messages after START. 0, or -1: the parent is gone. */
int ctx_messages(struct ctx *c);

/* ctx_loop.c */
int ctx_loop(struct ctx *c);
void ctx_wake(struct ctx *c);                                   /* any thread */
int ctx_wanted(void *owner);                                     /* the dispatcher: does somebody wait for an answer? */
void ctx_irq(struct ctx *c);
uint64_t ctx_now_ns(void);

static inline uint64_t ctx_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return ctx_now_ns();
#endif
}

/* ctx_stream.c */
int ctx_stream_init(struct ctx *c);
int ctx_stream_room(const struct ctx *c);                       /* may one more command be taken? */
/* A checked command; its payload slots begin at ring index `first`. Releases them (io_head). */
void ctx_stream_submit(struct ctx *c, const struct vgpu_cmd *cmd, uint64_t first);
unsigned ctx_stream_drain(struct ctx *c);                       /* launches the engine has ended */
unsigned ctx_stream_run(struct ctx *c, unsigned budget);
unsigned ctx_stream_poll(struct ctx *c);                        /* memory and foreign timelines */
void ctx_stream_flush(struct ctx *c);                           /* all complete with c->error */
int ctx_stream_queues(const struct ctx *c, const struct vgpu_cmd *cmd);         /* may the engine have it behind others of its stream? */
void ctx_stream_done(void *owner, uint64_t cookie, uint32_t status);  /* any thread */

/* ctx_exec.c */
enum ctx_result { CTX_DONE, CTX_PENDING, CTX_AGAIN, CTX_POLL };
enum ctx_result ctx_exec(struct ctx *c, struct ctx_stream *s, const struct vgpu_cmd *cmd,
			 const uint8_t *payload, struct ctx_progress *at, uint32_t *status);

/* ctx_ctl.c */
void ctx_control(struct ctx *c, const struct vgpu_cmd *cmd);
void ctx_control_go_on(struct ctx *c);                          /* the next step of c->commit */

void ctx_control_work(struct ctx *c);                           /* the engine's part of c->job: any thread */
void ctx_control_end(struct ctx *c);                            /* the rest of it, and the reply */

/* ctx_job.c */
void ctx_job_init(struct ctx *c);                               /* before the sandbox */
int ctx_job_give(struct ctx *c);                                /* 0: there is no thread, it is the caller's to do */
int ctx_job_busy(const struct ctx *c);
int ctx_job_done(struct ctx *c);
void ctx_job_end(struct ctx *c);                                /* taken note of: the next one may come */

/* ctx_work.c */
void ctx_work_took(const struct ctx *c, struct vgpu_times *t, uint64_t ticks);
void ctx_work_now(struct ctx *c);                               /* what is out longest */
void ctx_work_began(const struct ctx *c, struct ctx_stream *s);
uint64_t ctx_work_ns(const struct ctx *c, const struct ctx_stream *s);  /* how long its launch runs, others' turns apart */
uint64_t ctx_work_limit(const struct ctx *c);                   /* ns that a kernel may take, 0: as long as it likes */

/* ctx_watch.c */
void ctx_watch_init(struct ctx *c);                             /* before the sandbox */

/* ctx_mem.c */
int ctx_mem_init(struct ctx *c);
/* The two allocations may return CTX_COMMITTING: then ctx_commit_step() until it says something else. */
uint32_t ctx_commit_step(struct ctx *c);
uint32_t ctx_mem_alloc(struct ctx *c, uint64_t va, uint64_t bytes, uint64_t asked);
uint32_t ctx_mem_free(struct ctx *c, uint64_t va, uint64_t bytes);
/* Window memory will lie there as well: false where something is, or the device's memory is not ours to place. */
/* Of owner, a struct ctx: engine_env.allocation */
uint64_t ctx_mem_at(void *owner, uint64_t address, uint64_t *base, int *plain);
int ctx_mem_may_share(struct ctx *c, uint64_t va, uint64_t bytes);
void ctx_mem_shared(struct ctx *c, uint64_t va, uint64_t bytes);
uint32_t ctx_mem_heap(struct ctx *c, uint64_t va, uint64_t bytes);
uint32_t ctx_phys_alloc(struct ctx *c, uint64_t offset, uint64_t bytes);
uint32_t ctx_phys_free(struct ctx *c, uint64_t offset, uint64_t bytes);
uint32_t ctx_vmm_map(struct ctx *c, uint64_t va, uint64_t bytes, uint64_t offset);
uint32_t ctx_vmm_unmap(struct ctx *c, uint64_t va, uint64_t bytes);
void ctx_account(struct ctx *c, int64_t bytes);
int ctx_account_engine(struct ctx *c);                          /* asks the engine; is the grant exceeded? */
int ctx_over_limit(struct ctx *c, uint64_t bytes);              /* with so much more, and has the device that? */
int ctx_image_room(struct ctx *c, uint64_t bytes);
int ctx_none(uint64_t va, uint64_t bytes);                      /* back to PROT_NONE; 0 or -errno */
/* One aligned word of 4 or 8 bytes, atomically where the memory is known to be there. */
uint32_t ctx_store(struct ctx *c, uint64_t addr, uint64_t value, unsigned bytes);
uint32_t ctx_load(struct ctx *c, uint64_t addr, uint64_t *value, unsigned bytes);
void *ctx_anon(uint64_t bytes);                                 /* lazily backed, NULL on failure */

/* ctx_report.c */
void ctx_log(struct ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ctx_why(struct ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ctx_die(struct ctx *c, uint32_t status);
void ctx_engine_died(struct ctx *c);                            /* is it so? Then the context dies of it */
void ctx_fault(void *owner, const struct engine_fault *f);      /* any thread */
int ctx_print_room(void *owner, size_t bytes);
void ctx_print(void *owner, const char *text, size_t bytes);    /* any thread */

/* ctx_files.c: device nodes that are open now. How many; kept for a new root; put there; allowed */
unsigned ctx_files_find(void);
void ctx_files_take(void);
void ctx_files_place(void);
void ctx_files_rules(int rules, uint64_t rights);

/* ctx_walls.c: before threads. 0, or the VGPU_WALL_* that does not stand, with the reason. */
/* Before a host's driver is opened, and before those. */
uint32_t ctx_walls_driver(uint32_t walls, char *why, size_t room);
uint32_t ctx_walls(uint32_t walls, uint32_t uid, int driver, char *why, size_t room);
int ctx_walls_trial(uint32_t walls, uint32_t uid, int driver);

/* ctx_sandbox.c */
/* Closes the sandbox over all threads. Returns the listener's fd, or -errno. */
#define CTX_DRIVER 1u                   /* the host's runs in here */
#define CTX_DRIVER_OPENS 2u             /* ... and a wall leaves nothing but its own files to open */
#define CTX_DRIVER_LOOKS 4u             /* ... and to look at */
int ctx_sandbox(uint32_t driver);

#endif
