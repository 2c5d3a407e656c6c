/* SPDX-License-Identifier: MIT */
/*
 * The cpu engine's inside: what runs, and what its files ask of each other. Text and instructions: lex.h, isa.h; modules and warp IR: ir.h.
 *
 * Road of a kernel: module.c indexes the text -> compile.c and parse.c read one body into statements,
 * checked by check.c -> lower*.c emit warp IR -> cfg.c orders blocks and gives registers their frame slots ->
 * interp.c runs warps of it, rt.c runs blocks and grids of warps.
 */
#ifndef VGPU_CPU_H
#define VGPU_CPU_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>

#include "gemm.h"
#include "ahead.h"
#include "ir.h"
#include "../../../fw-protocol/vgpu_status.h"

struct frame {                          /* one activation of a function by a warp */
	struct frame *up;
	struct func *fn;
	char *base[2];                  /* registers, constants */
	u32 lanes, entered;             /* neither returned nor exited; at the start */
	u32 waiting;                    /* runnable, not in the running mask; pc in lane_pc[] */
	u32 barred;                     /* at a barrier of the block, bar_id says which */
	bool bar_all;                   /* all lanes came to the barrier together */
	u32 parked;                     /* at shfl.sync and the like, waiting for lanes of this warp */
	u32 next_wait;                  /* lowest pc of waiting lanes */
	u32 pc, mask;                   /* of the running lanes when the warp is suspended */
	u32 loff;                       /* this activation's .local variables start here */
	u32 spin, boost, boost_pc;
	u32 spin_pc;                    /* where strips' code was entered last with others waiting */
	bool turn;                      /* those that run were chosen by frame_turn() */
	const struct jit *jit;          /* code for this activation, or NULL */
	struct frame *callee, *next;    /* pc and mask are its call; of those set aside. apart.c */
	bool outside;                   /* who spins gives its turn to another activation, the next time to lanes of its own */
	bool apart;                     /* the caller knows nothing of it: its call was call_pc */
	u32 call_pc, away, napart;      /* away: its lanes in activations that are apart, napart of them */
	u64 ran;                        /* when it was the top last */
	u32 bytes;
	u32 lane_pc[LANES];
};

struct warp {
	struct cta *cta;
	struct frame *top;
	struct frame *spare;            /* finished activations to reuse */
	struct frame *aside;            /* leaves other than top. apart.c */
	u64 turns;                      /* how often another activation has had its turn */
	u32 slices;                     /* turns of the warp since */
	u32 index, live, depth;
	u8 bar_id[LANES];
	char *jp;                       /* the JIT's private area */
	u32 jheld, jheld_mask;          /* pc and lanes whose values are still there, 0: none */
	u32 jto;
	u8 jresume;                     /* JR_*: how warp_run goes on, once */
	u32 jended;
	const struct insn *polled;      /* the last strong load of global memory, and what it got */
	u64 polled_was;
	struct frame main;
};

#define PARAM_WINDOW 32768u     /* bytes of parameters that a launch may have */
#define MAX_CLUSTER 16          /* blocks */
#define FAR_RANK 24             /* an address in .shared::cluster: of the block of rank r, offset | (r + 1) << 24; of the own, the offset */
#define CTA_BARRIERS 16
#define CLUSTER_BARRIER 16      /* that of barrier.cluster, behind the numbered ones */
#define GROUP_BARRIERS 17       /* and eight of warpgroups, four warps each */
#define ALL_BARRIERS (GROUP_BARRIERS + 8)
struct barrier { u32 arrived[32]; u32 first, count, any, popc, all_bad, again; };   /* first: all warps below it are there */

struct cta {                            /* a block; between blocks of a grid it keeps its memory */
	struct cta *next;
	struct grid *g;
	u64 gridid;                     /* of the grid that its memory was fitted to */
	const struct jit *jit;          /* the code that it was fitted to */
	u32 nwarps, done_warps, next_warp;
	u32 id[3], at[3], rank;         /* in the grid; in its cluster: code has them by their order */
	u64 linear;
	u32 slices;
	u64 spent;                      /* clock ticks of the turns that its block did not end in */
	struct cta **team;              /* the blocks of its cluster by rank, which share a worker; NULL: it is alone. cluster.c */
	u32 nteam;                      /* of the first one, which owns the others: how many there are */
	bool fresh, over;
	u32 regs_bytes, frame_bytes;    /* registers of a warp; with the JIT's area behind them */
	u64 win;                        /* arena block: shared window, then local windows */
	u64 win_bytes, win_commit;
	u64 lazy, lazy_bytes, lazy_step;        /* the part of it that is committed where it is touched, so many bytes at a time; 0: none */
	u64 shared, local;              /* addresses */
	char *mem;                      /* register frames */
	size_t mem_bytes;
	struct warp warps[32];
	struct barrier bar[ALL_BARRIERS];
	bool bar_used;
	bool pristine;                  /* the last block left its warps as it found them */
	u32 parted;                     /* how often lanes went apart in this block where code does not do that */
	bool met;                       /* a barrier has just let all of it go on: jit_again() may take it from there */
	u8 astray;                      /* how often in a row that was no use */
	struct race_cell *shadow;       /* memcheck.c: of its shared memory; race.h */
	u32 shadow_bytes;
	u32 part;                       /* of a joined block: that it has been made to fit */
	u64 phase, phase_first;         /* now, and at the block's start; never 0 */
	u32 *errs;                      /* last errors of the device runtime by thread, NULL: none yet; devrt.c */
	bool err_used;
};

struct range { u64 at, end; };
#define GRID_RESTS 128

/* n blocks of a row as one of that size, whose threads have parts turns, cut in dimension split; turned: of a column, threads being numbered along it */
struct join { u32 n, parts, size[3], split, turned, single; };

struct grid {
	/* written by the launch, read by every block; status: the first fault */
	struct engine *e;
	struct func *fn;
	u32 dim[3], block[3], threads, nwarps;
	u32 cluster[3], team;   /* blocks of a cluster; of those without, which are one block each, 1 */
	bool clusters;          /* the launch, or the kernel, asked for them */
	struct jit *jit;        /* code for this shape of block, or NULL; may become other code (jit_part()), for blocks to come */
	u32 parted;             /* branches that lanes were guessed to take together, and did not */
	u32 ragged;             /* how often strips did not go round a loop in turns equally often (strip/run.c) */
	u32 shared_bytes, dyn_off, shared_total, local_stride;
	u32 reserved;           /* of a kernel that asks for it: offset of the shared memory that is the system's, behind the block's own */
	u32 param_bytes, status;
	u32 errors, races;              /* found by memcheck.c; races are errors too */
	const void *args;               /* parameters, before they are there */
	u64 pwin;                       /* arena block that holds the parameters, PARAM_WINDOW bytes */
	u64 coop_win;                   /* workspace behind %envreg1/2, 0 unless cooperative */
	const u32 (*tid)[1024];         /* of the block's shape, see shape_tids() */
	u64 nblocks, gridid, cookie;    /* nblocks: what workers are given, clusters where there are such */
	u32 max_resident, priority;
	bool cooperative;
	u32 tally_bytes;                /* so much memory whose sums workers keep (tally.c); 0: none */
	u64 tally_lo;                   /* from there on */
	bool tunes;                     /* its blocks may be several in one: tune.c */
	struct join join;       /* join.c: blocks that are one, and the shape of that one, by which threads are numbered; block[] is what they are told */
	u32 part;               /* of it */
	u32 step;               /* so many of the launch's blocks, in a row, does each do the work of; ... */
	u32 rows;               /* ... and of so many rows */
	u32 first, wide, left;          /* of a row: its first block, of how many; what is left to its right, where as many as are one do not divide it, for the ordinary function */
	bool native;                    /* no kernel: its blocks are tiles of the job */
	bool small;                     /* native: runs in place */
	bool over;                      /* all that is left to do is to print vtext */
	bool waits;                     /* for others, as it seems: verify.c */
	struct vtext *vtext;            /* of verify.c, NULL: nothing */
	struct kin *kin;                /* devrt.h; NULL: the host has launched it, and it has launched nothing */
	u32 pool_bytes;
	char *pool;                     /* constants and uniform values, if fn has a prologue */
	u64 pool_fn;                    /* id of the function whose constants they are; above it, of a coarse one, how many it has further, and of what stack */
	u32 (*own_tid)[1024];           /* a shape that did not fit into the engine's table */
	struct gemm_job job;

	/* with the engine's lock held */
	_Alignas(64) struct grid *next;
	struct grid *prev;
	u64 next_block;                 /* blocks from here on were never given to anybody */
	u64 done_blocks;
	u32 resident;                   /* blocks that run or are suspended */
	u32 running;                    /* turns that are out */
	u32 keepers;                    /* workers that keep sums, with a turn or without: tally.c */
	u64 est;                        /* clock ticks of a block, as last seen; 0: unknown */
	u64 took, took_blocks;          /* clock ticks of so many blocks: tune.c */
	struct cta *suspended, **tail;
	u32 nrest;
	struct range rest[GRID_RESTS];  /* given to a turn and given back */
};

enum run { RUN_DONE, RUN_BLOCKED, RUN_BUDGET, RUN_FAULT };

/* Per-thread execution state; the signal handler finds it. */
struct tstate {
	sigjmp_buf jmp;
	volatile int armed;             /* 1: an access may fault and jmp is valid */
	volatile u64 fault_addr;
	struct engine *e;
	const struct cta *cta;          /* whose turn it is; NULL: between turns */
	bool starved;                   /* there was no memory for a page of its window */
	struct warp *w;
	struct frame *f;
	const struct insn *in;
	u32 mask;
	u32 mxcsr;
	s64 budget;
	struct engine_fault rep;        /* set by fault_raise */
	int rep_lane;
	u64 quad[LANES][2];             /* what an atomic compare of 16 bytes compares with */
	char what[64], code[160], source[256];  /* of the report: what was done, the instruction, its line in the program */
	const struct jit *jit;          /* whose code runs */
	const struct jit *held;         /* whose code waits for an instruction that the interpreter does: registers are where it has them */
	u32 held_mask;                  /* ... for these lanes */
	s32 chain;                      /* further warps that code goes on with by itself ... */
	u32 chain_exit;                 /* ... when one leaves by this exit (that by which the first one of a whole block does), ... */
	const u8 *chain_at;             /* ... and where */
	u32 blocks;                     /* that ran here in code */
	s32 row;                        /* further blocks that it starts by itself after the last warp ... */
	s32 block_chain;                /* ... with chain, budget, first warp and its P, and place set to these; ... */
	s64 block_budget;
	struct frame *block_f;
	char *block_p;
	const u8 *block_at;
	u32 block_entry;
	bool turns;                     /* ... and take turns in loops (jit_turn.c) ... */
	bool whole;                     /* ... all warps do the same, so behind a barrier code goes on with the first of them ... */
	u32 phases, entry;              /* ... as it did so often, and where they began the last time */
	s64 left, phase_budget;         /* ... as long as the block's budget has something for them: at most so much */
	void *scratch;                  /* of native tiles */
	size_t scratch_bytes;
	struct ahead ahead;             /* what the next block will read */
	u32 bare;                       /* an atomic without a lock is at work: alone.c */
	struct tally tally;
	u32 sides;                      /* how often lanes parted in code whose sides have scalars of their own (jit_region.c), in this turn */
};
extern __thread struct tstate *cpu_ts;

/*
 * What a block's shared memory is rounded up to, static and dynamic together (%total_smem_size, PTX ISA 10; the table of the
 * occupancy calculator): up to there accesses are well on hardware, and compilers' vector loads rely on it.
 */
static inline u32 shared_rounded(const struct engine_env *env, u32 bytes)
{
	u32 unit = env->cc_major >= 3 && env->cc_major < 8 ? 256 : 128;

	return (bytes + unit - 1) & ~(unit - 1);
}

/*
 * What a block has besides, from 8.0 on: cooperative groups keep there what tiles of several warps need, 288 bytes from the second place on
 * (%reserved_smem_offset_1, PTX ISA 10; cudaDevAttrReservedSharedMemoryPerBlock).
 */
#define SHARED_RESERVED 1024
#define SHARED_RESERVED_1 512

#define ARENA_CLASSES 40
/*
 * Functions by id: its low bits are the place in a table that never moves, the high ones say whose life there it is, so that an
 * id comes back after millions of functions only.
 */
#define MAX_FUNCS (1u << 20)
#define FUNC_LIVES (1u << 12)
#define FUNCS_SPAN 4096u                /* places that are gone through before one is used again, at least */
#define SHAPES 64

/* Where a worker sleeps. */
struct bed {
	struct engine *e;
	pthread_cond_t wake;
	bool asleep;
	int cpu;                /* the only one it runs on; -1: any */
};

struct engine {
	/* read by everybody, hardly ever written */
	struct engine_env env;
	const struct lane_table *lanes;
	struct devrt *dr;               /* devrt.h; NULL until a kernel calls the device runtime */
	struct memcheck *mc;            /* NULL unless accesses are checked */
	struct optrace *ops;            /* NULL unless a warp is shown at work */
	struct verify *vf;              /* NULL unless launches are compared */
	struct debug *dbg;              /* NULL unless vgpu debug looks on */
	struct func **funcs;            /* MAX_FUNCS, by func_get() */
	u32 sticky;
	u32 nthreads;
	bool stop;
	pthread_t *threads;

	/* the dispatcher's own */
	_Alignas(64) struct grid *home; /* the grid of the next launch, with nothing started */
	struct cta *home_cta;           /* runs blocks in place */
	struct module **modules;        /* by id - 1; NULL: free */
	u32 nmodules;
	u32 funcs_span, funcs_next, funcs_live;         /* the part of funcs in use: module.c, register_funcs() */
	u16 *funcs_life;
	u32 nshapes;
	bool managed_told;              /* engine_ops.managed was called: */
	u64 managed_va, managed_bytes;  /* for the next module */
	u64 managed_wanted;             /* by the latest */
	u64 next_gridid;
	u64 shape[SHAPES];              /* block shapes whose thread numbers are known, packed */
	u32 (*shape_tid[SHAPES])[1024];
	struct alone alone;

	/* lock: the list, what struct grid says, the pools */
	_Alignas(64) pthread_mutex_t lock;
	struct bed *beds;               /* of the workers */
	struct grid grids;              /* list head: grids with work, round robin */
	u32 urgent, rounds;             /* of them with a priority; turns that were asked for */
	u32 sleepers;
	int here;                       /* the dispatcher's processor while it takes turns, -1: it does not ... */
	int stays_on;                   /* ... when it did last, -1: it never did */
	struct grid *grid_pool;
	struct cta *cta_pool;
	u32 ncta_pool;

	/* looked at without the lock by workers that wait awake */
	_Alignas(64) u32 news;          /* grids that came, and grids that went */
	u32 awake;                      /* of those workers */
	u64 moved;                      /* when the dispatcher had a grid last that nobody else heard of: ticks */

	_Alignas(64) pthread_mutex_t arena_lock;
	u64 arena_next, arena_end;
	struct arena_free *arena_free[ARENA_CLASSES];
	u32 stack;                      /* stack_bytes(): front.h */
	pthread_mutex_t compile_lock;   /* over the functions of all modules that are not ready yet */
	u32 mode;                       /* ENGINE_MODE_*, not AUTO */
	pthread_mutex_t heap_lock;
	u32 core_taken;                 /* snap.c: a fault has been there */
	u8 *core;                       /* what it left, NULL: nothing */
	u64 core_bytes;
	struct heap *heap;              /* heap.c; NULL until it has its place, or a kernel calls malloc */
	u8 *code_rw, *code_rx;          /* compiled code, written and run; NULL: no JIT */
	u64 code_used;          /* from here on it was never used, or is free again */
	struct range *code_free;        /* below that, in order of address, no two touching */
	u32 ncode_free, code_free_cap;
};

/* The function of that id, NULL when there is none (any more). Any thread. */
struct func *func_get(const struct engine *e, u32 id);

void *xgrow(void *p, u32 *cap, u32 want, size_t elem);  /* util.c; NULL when out of memory */

/* module.c */
u32 module_open(struct engine *e, const void *image, size_t bytes, struct module **out, char *log,
		size_t log_bytes);
u32 module_bodies(struct module *m, char *log, size_t log_bytes);       /* compiles all of them */
void module_close(struct module *m);
void module_late_var(struct lex *lx, struct module *m, struct sym *v);
/* decl.c: each begins at the token that names it, or behind '(' or '=', and ends behind what it reads */
void *lex_need(struct lex *lx, void *p);        /* p, which must not be NULL */
#define PARAMS_ENTRY 1u
#define PARAMS_RET 2u
void parse_params(struct lex *lx, struct module *m, u32 flags, struct fparam **out, u32 *n, u32 *total);
void parse_attribute(struct lex *lx, struct sym *v);
void parse_var_type(struct lex *lx, struct sym *v);
void parse_var_name(struct lex *lx, struct sym *v, struct pool *pool, u32 *n);
/* "name<n>": name0 to name(n-1) (5.4.5). In a loop around what reads one name; family_next() is false behind the last of them. */
struct family { struct lex behind; const char *s; u32 n, count, at; };
void parse_family(struct lex *lx, struct family *f);
bool family_next(struct lex *lx, struct family *f, struct pool *pool);
void parse_init(struct lex *lx, struct module *m, const struct sym *v, char *mem);
u64 skip_init(struct lex *lx);
void parse_pragma(struct lex *lx);
void parse_file(struct lex *lx);
void parse_loc(struct lex *lx);
void parse_section(struct lex *lx);
void parse_func_directives(struct lex *lx, struct func *fn);

/* compile.c: compiles a function and what it calls; log as in engine_ops.module_load */
u32 func_compile(struct func *fn, char *log, size_t log_bytes);        /* with compile_lock held */
bool func_coarse(struct func *fn);      /* the same of fn->coarse, of a kernel that is ready: is that? */
struct func *func_roomy(struct func *fn);       /* of a kernel that is ready: with no smaller stacks than the context has now. Any thread; NULL: no memory */
void func_free(struct func *fn);        /* what compilation left; the function itself is its module's */
u32 func_ready(struct func *fn, char *log, size_t log_bytes);          /* any thread: compiles it if need be */
/* Acquire: what compilation left is there to be read. Partner: the store of FN_READY. */
static inline bool func_is_ready(const struct func *fn)
{
	return __atomic_load_n(&fn->state, __ATOMIC_ACQUIRE) == FN_READY;
}

/* mem.c */
u64 arena_alloc(struct engine *e, u64 bytes, u64 *got);  /* 0: no space */
void arena_release(struct engine *e, u64 addr, u64 bytes);
int arena_commit(u64 addr, u64 bytes);
bool arena_touch(struct tstate *ts, u64 addr);  /* in a signal handler: was it a page of its block's window that is there now? */
void arena_forget(struct engine *e, u32 cls);         /* at close: drops a free list */
void fault_init(void);
struct tstate *tstate_get(struct engine *e);
void tstate_thread_exit(void);
_Noreturn void fault_raise(u32 status, int lane, u64 addr, const char *what);
void mem_ld(struct tstate *ts, const struct insn *in, u32 m);
void mem_ldparam(struct tstate *ts, const struct insn *in, u32 m);
void mem_st(struct tstate *ts, const struct insn *in, u32 m);
u32 mem_addresses(struct tstate *ts, const struct insn *in, u32 m, u64 *addr);  /* of the lanes of m, checked */
void mem_atom(struct tstate *ts, const struct insn *in, u32 m);         /* atoms.c */
void mem_reduce(const struct insn *in, u64 a, u64 v);    /* as by one lane, in global memory */
void mem_describe(struct tstate *ts);
u32 mem_copy(struct engine *e, void *dst, const void *src, size_t bytes);
u32 mem_fill(struct engine *e, void *dst, u32 value, unsigned elem, size_t count);
/* Reads n bytes (or a C string, when n is the buffer's size) that a kernel points to. */
void mem_read(struct tstate *ts, int lane, u64 addr, void *dst, size_t n);
/* The same the other way. */
void mem_write(struct tstate *ts, int lane, u64 addr, const void *src, size_t n);
size_t mem_read_str(struct tstate *ts, int lane, u64 addr, char *dst, size_t cap);

void exec_one(struct tstate *ts, struct frame *f, const struct insn *in, u32 m);        /* interp.c */
enum run warp_run(struct tstate *ts, struct warp *w);
void frame_start(struct frame *f, struct func *fn, char *regs, u32 lanes);
void frame_wait(struct frame *f, u32 m, u32 pc);         /* lanes m do, for a turn at pc */
void frame_resched(struct frame *f);
void frame_turn(struct frame *f);
static inline void *opnd(const struct frame *f, u32 o)
{
	return f->base[o >> 31] + (o & ~OPND_CONST);
}

/* warpops.c: cross-lane operations; barrier.c: barriers */
bool warp_named_alike(const struct frame *f, const struct insn *in, u32 m);
u32 warp_gather(struct frame *f, u32 m, u32 e, u32 pc);  /* who of them, and of those parked, goes on */
void warp_shfl(struct frame *f, const struct insn *in, u32 m);
void warp_vote(struct frame *f, const struct insn *in, u32 m);
void warp_match(struct frame *f, const struct insn *in, u32 m);
u32 warp_match_one(const struct insn *in, u32 *d, const void *a, u32 who, u32 g);
u32 warp_by_lane(const struct insn *in, u32 *d, const void *a, const u32 *masks, u32 m);
void warp_redux(struct frame *f, const struct insn *in, u32 m);
void warp_tensor(struct frame *f, const struct insn *in, u32 m);
u32 tensor_group(const struct insn *in, u32 most);
void warp_products(struct frame *f, const struct insn *in, u32 n, u32 m);
void lane_lop3(struct frame *f, const struct insn *in, u32 m);
void lane_setp(struct frame *f, const struct insn *in, u32 m);
void lane_pred(struct frame *f, const struct insn *in, u32 m);
void lane_sreg(struct tstate *ts, struct frame *f, const struct insn *in, u32 m);
void bar_arrive(struct tstate *ts, struct warp *w, const struct insn *in, u32 m, u32 pc);
u32 bar_wait(struct warp *w, u32 m, u32 pc);
void bar_exited(struct cta *c);

/* cvt.c */
void lane_cvt(const struct insn *in, void *d, const void *a, const void *b);
void lane_cvt_n(const struct insn *in, void *d, const void *a, const void *b, u32 lanes);      /* of that many */

/* jit_run.c */
void jit_fit(struct engine *e, struct warp *w);
void jit_drop(struct warp *w);
enum run jit_block(struct tstate *ts, struct cta *c, s64 *left_over, u32 *more);
bool jit_again(struct tstate *ts, struct cta *c, s64 *left_over, enum run *r);
const u8 *jit_fault(const struct jit *j, const u8 *ip);

bool uniform_run(struct engine *e, struct grid *g);     /* uniform.c */
static inline u64 pool_id(const struct func *fn) { return (u64)(fn->stack / 16) << 40 | (u64)fn->further << 32 | fn->id; }

/* call.c */
bool call_enter(struct tstate *ts, struct warp *w, const struct insn *in, u32 m);
void call_return(struct warp *w, u32 m);
void call_leave(struct warp *w);
void call_results(struct warp *w, struct frame *g, u32 m);

/* apart.c */
bool apart_can(const struct warp *w);
bool apart_turn(struct warp *w);
void apart_back(struct warp *w, struct frame *c, u32 m);
void apart_leave(struct warp *w);
bool apart_wake(struct cta *c);
u32 apart_pc(const struct warp *w, const struct frame *f, u32 lane);
bool apart_spins(const struct func *fn, u32 at, u32 pc);
void lanes_gone(struct frame *f, u32 m);
void exit_lanes(struct warp *w, u32 m);
/* The leaf behind leaf t of the warp's activations: each is in some leaf's .up, the outer ones in several. */
static inline struct frame *apart_next(const struct warp *w, const struct frame *t)
{
	return t == w->top ? w->aside : t->next;
}

/* printf.c */
void dev_printf(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m);
_Noreturn void dev_assertfail(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m);

/* block.c: what a thread runs between two looks at the list of grids */
struct turn {
	struct engine *e;
	struct grid *g;
	struct cta *c;                  /* one block after another */
	bool started;                   /* c holds a block that has begun */
	bool listed;                    /* other threads may take what is given back */
	u64 at, end;                    /* blocks that the turn may start */
	u64 done;                       /* blocks it has finished */
	u32 row;                        /* further blocks that code may start without asking whether to go on */
	u64 limit, ticks;               /* time to start blocks in; time spent */
	s64 budget;                     /* of one block */
	enum run r;                     /* how the last block fared */
	bool solo, beside;              /* nobody else has one; somebody has who counts on that (alone.c) */
};
void turn_run(struct tstate *ts, struct turn *t);
void turn_lost(struct tstate *ts, struct grid *g);      /* a fault where sums of g were brought to memory: tells that */
struct cta *cta_new(void);
void cta_free(struct engine *e, struct cta *c);
int block_fit(struct engine *e, struct cta *c, struct grid *g);        /* one block's memory */
void block_start(struct cta *c);                                        /* at its first instruction: id and linear are set */
enum run block_turns(struct tstate *ts, struct cta *c, s64 *left);     /* RUN_BLOCKED: all of it waits for other blocks of its cluster */

/* cluster.c */
int cluster_fit(struct engine *e, struct cta *c, struct grid *g);
void cluster_start(struct cta *c, u64 nth);
enum run cluster_run(struct tstate *ts, struct cta *c, s64 left);
void cluster_free(struct engine *e, struct cta *c);
/* Where [a, a + bytes) of .shared::cluster is, as block c names it; 0: nowhere. */
u64 cluster_place(const struct cta *c, u64 a, u64 bytes);
/* Whose shared memory that is, of several blocks, and where in it; a: generic, or of .shared::cluster. NULL: no block's. */
struct cta *cluster_block(const struct cta *c, bool generic, u64 a, u64 bytes, u64 *off);

/* heap.c */
void dev_heap(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m);
u64 heap_take(struct engine *e, u64 bytes, u64 align);    /* align: a power of two; 0: there is no room */
bool heap_give(struct engine *e, u64 addr);      /* false: there is no such block */
u64 heap_bytes(struct engine *e);
void heap_close(struct engine *e);
u32 heap_place(struct engine *e, u64 va, u64 bytes);

#endif
