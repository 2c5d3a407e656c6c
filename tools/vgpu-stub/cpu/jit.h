/* SPDX-License-Identifier: MIT */
/*
 * The AVX-512 JIT. A kernel is compiled for a shape of block (spec) on its first launch; the code runs a
 * group of lanes that are at one place, with values in registers, and hands everything it does not do
 * itself to the interpreter.
 *
 * Values live in three ways (jit_scan.c decides, for all lanes of the running group):
 *   uniform   one scalar
 *   pattern   a scalar plus a vector known when compiling: tid.x is 32 * warp + {0, 1, ... 31}
 *   varying   32 lanes: 2 zmm (32-bit) or 4 zmm (64-bit)
 * Registers that are not in zmm or general registers have a home in the warp's private area P.
 *
 *   r12 constant pool   r13 struct frame (of a struct warp)   r14 struct tstate   rbx P
 *   zmm0-7, rax, rcx, rdx, k5-k7 temporaries      k1-k4 the group's mask, shifted by 0, 8, 16, 24
 *   k5 is a guarded instruction's mask. Fetching an operand may write k7 (jv_canon), asking for a mask k6 (jv_mask): a mask
 *   that must outlive that is held (k_hold), which is checked when code is emitted
 *
 * Code leaves at numbered exits. P then holds every register; jit_run.c writes what is live into the
 * interpreter's frame (or keeps it in P across a barrier or a single interpreted instruction).
 */
#ifndef VGPU_JIT_H
#define VGPU_JIT_H

#include "jit_asm.h"

enum { JC_NONE, JC_UNI, JC_PAT, JC_VARY };
enum { LOC_NONE, LOC_ZMM, LOC_GPR, LOC_MEM };

#define JPATS 512
#define JMAX_UNKNOWN (~0ull)

struct jval {
	u8 cls, ual;            /* ual: the scalar is a multiple of 1 << ual */
	bool known;             /* uniform with value k */
	bool made;              /* by the prologue: its place in the pool is filled at launch */
	bool sk;                /* uniform or pattern whose scalar is s */
	u16 pat;
	u64 max;                /* unsigned bound of every lane's value, JMAX_UNKNOWN: none */
	u64 k, s;
};

struct jreg {
	u8 w, cls, ual, loc;
	bool rawf;              /* f32 whose NaNs may not be canonical */
	bool ghost;             /* on the way to what a merged load loads: only the interpreter ever has it */
	bool quiet, flushed;    /* f32: never a signalling NaN; never a denormal */
	bool summed, unflushed; /* f32 that arithmetic alone reads, for which all NaNs are one; and that takes a denormal for 0 itself */
	bool sk;                /* the scalar is s, always */
	bool sure;              /* ... and no guess is behind that: so it is whoever computed it */
	u16 pat;
	u64 max, s;
	u32 home;               /* offset in P; in LOC_ZMM and LOC_GPR that of the dump */
	u8 reg;                 /* first zmm, or general register */
	u32 slot;               /* frame offset */
	u32 first, last;
	u64 weight, density, spread;    /* spread: uses by vectors, for which every lane has it */
};

/* What of it the finished code's other side needs. */
struct jplace {
	bool ghost;             /* its value is that of struct jsym; its base's number is a constant's or a register's */
	bool stay;              /* that of struct jstay: index is addr */
	bool sg;
	u8 shift;
	s32 disp;
	u32 base, index;
	u32 home, slot;
	u16 pat;
	u8 w, cls;
	bool rawf;
	bool sk;                /* as in struct jreg: what the code takes for granted of a scalar */
	u8 ual;
	u64 max, s;
};

/* jit_src.parted; strips: also of the first instruction of a loop that some strips leave before others; of 32 bits that are widened: lanes wrap */
enum { PARTED_LANES = 1, PARTED_TURNS = 2, PARTED_WIDE = 4 };

struct jblock { u32 start, end, nsucc, *succ; u32 depth; u8 tells; };    /* tells: jit_tells() at its start */

/* What cfg.c leaves for the JIT: code with virtual registers, in its final order. One allocation. */
struct jit_src {
	struct pool pool;
	struct insn *code;
	u32 n, nb, nregs, words;
	struct jblock *b;
	u64 *live_in, *live_out;        /* nb * bwords, a bit for each of border[]; ask jit_live_behind() */
	u32 bwords, *border, *no;       /* as in struct cfg */
	struct vreg *regs;
	u32 *slot;
	bool steps;             /* no barrier, of warps either; loops in loops load and store global memory, which may be the same (roots.c) */
	u32 mxcsr, mxcsr_home;  /* the one value wanted, 0: none; ~0: several, most of them this */
	bool told;              /* jblock.tells is there */
	bool noguess;           /* guesses have been wrong */
	u32 anew;               /* how often lanes that wrap were worth other code: jit_wraps() */
	u8 *parted;             /* by pc: branches where lanes did not stay together; of a strip, or of a warp and often */
	u64 *shared_at;         /* where the variables in shared memory begin that the kernel names itself */
	u32 nshared;
	u32 *def;               /* per register: its only definition + 1, ~0: several, or a call's result; NULL: no member mask is in a register */
	u64 *varies;            /* registers that are no scalars because of the latter: jit_region.c adds to it, with jit_lock() held */
};

/* Is register v read behind block b? */
static inline bool jit_live_behind(const struct jit_src *s, u32 b, u32 v)
{
	u32 at = s->no[v] - 1;

	return s->no[v] && (s->live_out[(size_t)b * s->bwords + (at >> 6)] >> (at & 63) & 1);
}

/* Is it read from the beginning of block b on? */
static inline bool jit_live_before(const struct jit_src *s, u32 b, u32 v)
{
	u32 at = s->no[v] - 1;

	return s->no[v] && (s->live_in[(size_t)b * s->bwords + (at >> 6)] >> (at & 63) & 1);
}

/* QUIT: what was guessed is not so; WALK: some instructions one by one, then to; TURN: a JUMP at which the next warp may have its round (jit_turn.c) */
enum { JX_LEAVE, JX_JUMP, JX_STEP, JX_DONE, JX_QUIT, JX_WALK, JX_TURN };

struct jexit {
	u8 kind;
	u32 pc, to;             /* JX_JUMP, JX_TURN: from pc to to */
	u32 live, nlive;        /* in lives[]: of the lanes that run */
	u32 resume;             /* JX_STEP: entry number */
	u32 walk, nwalk;        /* JX_WALK: which, in lives[] */
	u8 nmore, nbefore;
	u8 more[11];            /* what was merged into the load at pc: how far behind it */
	u8 before[6];           /* ... into the store at pc: how far before it */
	u64 rin, rfirst;        /* regions around it; those in whose first side it is */
};

#define JIT_REGIONS 64          /* a function; a bit each */
#define JIT_REGION_STEPS (1ull << 23)   /* instructions looked at, all branches of a function together */
#define JIT_REGION_LEAST 4096u          /* of a branch, however many there are */

/* Lanes that part at a branch and meet again, see jit_region.c. */
struct jregion {
	u32 at, join, first, second;
	u32 lo, hi;             /* its first instruction and behind its last */
	u32 size, depth;
	u32 head;               /* of the loop in whose rounds it lies, a block; NO_PC: as control goes, whatever is around it */
	bool loops;             /* the first side comes back to the branch, the second does not */
	u32 live_join, njoin, live_second, nsecond;     /* in lives[] */
	bool apart;             /* the sides have scalars of their own ... */
	u32 saved, nsaved, save_at;     /* ... which, in lives[], the first one writes and the second one reads; where they wait in P, eight bytes each */
};

enum { JIT_UNTRIED, JIT_TRIED, JIT_CHOSEN, JIT_KEPT };

struct jentry { u32 code, live, nlive; };

struct jfix { u32 at, entry; };

struct jsite { u32 at, exit; };         /* an instruction that may fault */

struct jit {
	struct jit *next;
	u32 spec;
	struct func *fn;
	const u8 *code;         /* executable view */
	u32 bytes, p_bytes;
	u32 *entry_at;          /* per pc: entry number + 1 */
	struct jentry *entries;
	struct jexit *exits;
	u32 *stubs;             /* per exit: its code */
	struct jsite *sites;
	u32 nentries, nexits, nsites, nregions;
	u32 *lives;
	struct jplace *regs;
	struct jregion *regions;
	s32 (*pats)[LANES];
	u32 mxcsr, mxcsr_home;
	bool guessed;           /* about alignment or sign */
	u32 quits;              /* wrong guesses */
	u32 wrapped;            /* jit_wraps() */
	bool turns;             /* some of its loops are taken in turns (jit_turn.c) ... */
	u32 uneven;             /* ... unless that parted warps often */
	u32 parted;             /* jit_part() */
	bool walks;             /* gathers or scatters in a loop */
	bool due;               /* ... and has run for so long that strips are worth a trial: jit_walked() */
	u64 spent, again;       /* clock ticks of all blocks; when there are so many, of this and of newer, the trial is made again */
	bool trying;            /* newer is being made, or is there */
	u32 trial;              /* of what is behind newer: JIT_TRIED while it lasts, then how it ended */
	const struct jit *older;        /* what this is tried against */
	u64 pair[2], sum[2];    /* ticks a block, of older and this: of a turn each that have no partner yet, 0: none; of all pairs */
	u32 pairs, won, vast;   /* of these, those in which this was faster; in which one of the two was, by far */
	u64 of, of_ticks, of_blocks;    /* the grid whose turns are counted, 0: none; what they took, for how many blocks */
	u32 of_turns;
	bool of_newer;          /* they are this one's */
	u64 ticks, ran;         /* clock ticks of some blocks of late, and how many */
	struct jit *newer;      /* strips: code that knows more; of this launch on. For AVX-512: code for blocks whose lanes go apart */
	u8 age;                 /* how many came before it */
	const struct strip_code *strip; /* made by the strip compiler (strip/), NULL: by this one */
	void *mem;
};

/* The fixed part of P; offsets are used by generated code. */
struct jprivate {
	u32 m, one;                     /* one: the block has no other warp */
	u64 span_lo, span_lim;          /* limit: span_bytes - JIT_SLACK */
	u64 shared, shared_total;
	u64 pwin;
	u64 local;              /* of lane 0 of this warp */
	u32 tid[3], guard;              /* tid of lane 0; k5 over a call */
	u64 tidv[3];                    /* addresses of the tids of this warp */
	u64 lims[5];                    /* of the span, by log2 of the size of an access */
	u32 dim[3], apart;              /* lanes that want another mode (jit_mode.c) */
	u64 gpr[8];
	u64 value;                      /* of the lane whose atomic is at work */
	u32 wait[JIT_REGIONS], other[JIT_REGIONS];      /* lanes that wait at a region's join, at its second side */
	/* 24 zmm follow, room for a value's lanes (or 32 addresses) and for 16 bytes of each lane, then homes */
};
#define JP_ZMM 832
_Static_assert(sizeof(struct jprivate) <= JP_ZMM, "P");
#define JP_LANES (JP_ZMM + 24 * 64)
#define JP_WIDE (JP_LANES + 4 * 64)
#define JP_RESULT (JP_WIDE + 8 * 64)   /* a call's; its operands in the two before */
#define JP_PRODUCT (JP_RESULT + 4 * 64)        /* ten registers (lanes.h: product_fn) */
#define JP_HOMES (JP_PRODUCT + 20 * 64)
#define JIT_SLACK 65536u                /* no pattern access spans more, unless ... */
#define JIT_WIDEST (1u << 28)           /* nor this, where both of its ends are looked at */
#define JIT_BELOW 4096                  /* what is read in front of an address that was checked (a client's first page is not its program's) */
#define JZ_FIRST 8
#define JK_GROUP 0x1eu           /* k1-k4 */

/* block shapes */
#define SPEC_LINEAR 1u          /* ntid.x a multiple of 32: tid.x = 32 * w + lane, tid.y and tid.z the same in a warp */
#define SPEC_LINE 2u            /* the same for any ntid.x, if the others are 1 */
#define SPEC_POW2 3u            /* | log2(ntid.x) << 8: tid.x = lane mod ntid.x */
#define SPEC_ANY 4u
#define SPEC_TURNED 0x40000u     /* with SPEC_LINEAR and SPEC_JOINED: lanes along y */
#define SPEC_PART 0x80000u       /* with SPEC_LINE and SPEC_ANY, for strips: the last warp of a block lacks lanes */
#define SPEC_STRIDES 0x100000u   /* and three bits more: the function's strides are what one takes them for (upper.c) */
#define STRIDES 4u
#define SPEC_JOINED 0x20000u     /* with SPEC_LINEAR: 1 << (spec >> 24 & 7) blocks as one (join.c), whose ntid.x is a multiple of 1 << (spec >> 8 & 255) */
#define SPEC_SINGLE 0x20000000u  /* with SPEC_JOINED: those are of one thread each; ctaid.x goes from lane to lane, tid.x is 0 */
#define SPEC_STEP 0x10000u      /* with SPEC_LINEAR: blocks of one warp, whose lanes may count on being in step (jit_src.steps) */

struct jx { u32 at, exit; };            /* a jump to an exit's stub */

/* A register's value: that of some number plus off, in the block of code that stamp says. */
struct jvn { u32 id, stamp; s64 off; };
#define JSUMS 16u               /* sums of two numbers that are remembered */

/*
 * A checked address: from lo on, with JIT_SLACK behind it and JIT_BELOW before it, value number id is in the span; or from lo to hi in shared memory, and
 * aligned at `at`. By which exit one leaves if not.
 */
#define JMEMOS 8
struct jmemo { u32 id, align, exit; bool shared; s64 lo, hi, at, asked_lo, asked_hi, loaded_lo, loaded_hi; };

/*
 * A register of 64 bits that is base (OPND_NONE: 0) + (index << shift), index one of 32 bits, extended: from behind `from` up to `to` (0: no such).
 * ghost: it is not computed, only the interpreter ever has it. jit_index.c
 */
struct jsym { u32 base, index, from, to; u8 shift; bool sg, ghost; };

/* A scalar that stays in shared memory, at the register addr (OPND_NONE: 0) + disp, up to `to`. on: its load has been emitted so. jit_stay.c */
struct jstay { u32 addr, to; s32 disp; bool on; };

/* Code that is out of the way: of ahead(), or (lanes) of check_shared(): from where and to where, what the running lanes' places must be in. */
struct jlate {
	u32 at, back;
	struct ahead_code ahead;
	bool lanes;
	u8 gk, base;
	u32 at_too, exit, pat;
	s32 first, room, cmin, limit;   /* limit: of first; -1: in rdx */
};

#define MAX_PRIVATE (192u << 10)        /* bytes of P */
#define JDOTS 16u               /* a power of two */

struct jcomp {
	bool much, again, last;         /* much: jit_src.varies may grow; again: it has; last: no more */
	struct as a;
	struct jit *j;
	struct func *fn;
	struct jit_src *s;
	struct insn *code;
	u32 n, spec;
	struct jreg *r;
	struct jval *pool;      /* by pool offset / 128 */
	u32 npool;
	struct pool mem;
	s32 (*pats)[LANES];
	u32 npats, pats_cap;
	u32 *lives;
	u32 nlives, lives_cap;
	struct jexit *exits;
	u32 nexits, exits_cap, done;    /* done: JX_DONE's + 1 */
	struct jentry *entries;
	u32 nentries, entries_cap;
	struct jsite *sites;
	u32 nsites, sites_cap;
	struct jx *jx;
	u32 njx, jx_cap;
	struct jx *bj;          /* jumps to blocks: exit holds the pc */
	u32 nbj, bj_cap;
	u32 *code_at;           /* per pc of a block start */
	u32 home_next, nahead, ahead_from;      /* ahead_from: the first of this code's sites (ahead.h) */
	u32 *asked_for;         /* per register: jcomp.stamp where a load before has asked for the row that lies there, too */
	u64 *live_at;           /* before every instruction: n + 1 sets */
	u32 *live_idx;          /* per pc: its list in lives[] + 1, and its length */
	u32 *entry_at;
	struct jregion *regions;
	u32 nregions;
	u64 *rin, *rfirst, *rsecond;    /* per block: the regions it is in; in whose first side, second one */
	u64 **keep;             /* per block: registers of lanes that wait, NULL: none do */
	u32 block;              /* that is emitted */
	struct insn *merged;    /* per pc: vec > 1: the load that starts here, the store that ends here; vec 0 and kind K_LD: done before, K_ST: done behind */
	u8 *inside;             /* per pc: between merged loads, where only our own code may be entered */
	struct jsym *sym;       /* per register */
	struct jstay *stay;     /* the same */
	u8 *sealed;             /* per pc: in reach of such registers: only our own code may be entered, too */
	u32 *def_of;            /* per register: its only definition + 1; ~0: several */
	struct jvn *vn;         /* per register: jit_number.c */
	u32 stamp, next_vn;
	u32 *idom;              /* per block */
	u8 *of_block;           /* per register: another one may stand in it in another block */
	u8 *turn, *within;      /* per block: the first of a loop that is taken in turns; in one (jit_turn.c) */
	u32 *rounds, *around;   /* ... of the first: where its rounds are counted, in P; where its back edge leads to */
	struct { u32 x, y, id; } sums[JSUMS];
	u32 nsums;
	struct jmemo memo[JMEMOS];
	u32 nmemo, memo_at;
	struct jlate *late;
	u32 nlate, late_cap;
	/* jumps from a comparison straight to where the branch behind it goes if all lanes say yes, or no */
	u32 yes[2], no[2];
	u8 nyes, nno;
	bool decided;           /* there is no other case */
	u32 rax_pred, rax_at;   /* a predicate that is in eax, if code ends there, too */
	u32 passed;             /* so many instructions that follow have been emitted: copies between a comparison and its branch */
	bool pin;               /* rbp is where shared memory begins */
	u32 half, after_half;   /* what the load that is emitted may fill (jit_half()); its jump behind the conversion, 0: none */
	u32 half_mx;            /* the mode there */
	u32 dot, ndot;          /* dot products that were emitted as one sum, from which pc on, and how many */
	struct jdots { u32 stamp, pc, n, f, home; } dots[JDOTS];   /* sums of other factors that wait in P (jit_dot.c): the first one's place in the code */
	u32 ndots;
	u8 *level;              /* per register: supposed to be the same in each half's lanes (jit_level.c) */
	u8 *twin;               /* per register, in a run: both halves have the same numbers (jit_twin.c) ... */
	u32 run_to, run_out, run_mx, sum;       /* ... behind it; its jump over what follows, 0: none; the mode there; who reads a half that was exchanged */
	bool one_half;          /* of 32 bits a lane, the lower half's lanes are computed alone */
	bool all_here;          /* this block of code has seen that all living lanes run */
	bool full;              /* ... that 32 lanes run, and others go elsewhere: jit_full.c */
	bool some;              /* what is emitted is that elsewhere */
	bool keeps_lits;        /* nothing jumps over the code that is emitted */
	struct jsome { u32 at, pc, mx; } *somes;
	u32 nsomes, somes_cap, first_exit;      /* first_exit: exits before it are others' */
	u32 lits, lit_regs, lit_of[32]; /* zmm that hold literals now, that ever do, and which */
	u32 product, nproduct;  /* registers of one statement's product that were computed together: from which pc on, and how many */
	struct jloop **loop;            /* per block: a loop whose rounds are counted before they begin (jit_loop.c) */
	const struct jloop *sure;       /* whose copy is emitted now, which begins at sure_at */
	u32 sure_at;
	u32 pc, mx;
	u8 gk;                  /* write under a mask: 1: k5; 2: the group's, for others wait */
	bool bad, guess, guessed;
	bool walks;             /* gathers or scatters in a loop */
};

/* How far emission has come, to take back an attempt. */
struct jmark { u32 n, nfix, nsites, njx, nlate, lits; };
static inline struct jmark j_mark(const struct jcomp *c)
{
	return (struct jmark){ c->a.n, c->a.nfix, c->nsites, c->njx, c->nlate, c->lits };
}
static inline void j_undo(struct jcomp *c, struct jmark m)
{
	c->a.n = m.n;
	c->a.nfix = m.nfix;
	c->nsites = m.nsites;
	c->njx = m.njx;
	c->nlate = m.nlate;
	c->lits = m.lits;
	c->rax_at = 0;
}

#define JIT_SPIN 512                    /* back edges with others waiting before those get a turn */
/* A loop that looks at what others write is so many at once: its lanes give way after 32 rounds, which is its warp's turn, too. A swap that all
 * lanes of a warp do in one place has no more of them. */
#define SPIN_STEP 16
#define PATIENCE 8              /* func.patience, where it is not 0 */
const struct jblock *jit_block_at(const struct jcomp *c, u32 pc);
static inline u32 block_no(const struct jcomp *c, u32 pc) { return (u32)(jit_block_at(c, pc) - c->s->b); }

/* Bytes of local memory a thread, as rt.c sets them. */
/*
 * From a thread's local memory to the next one's. Not a multiple of 1 KiB: what all lanes have in one place of an array would fall into a few sets of the first cache, and
 * push each other out (float a[1024]: four times as slow).
 */
static inline u32 jit_local_stride(const struct func *fn)
{
	u32 n = local_room(fn);

	return n && !(n & 1023) ? n + 64 : n;
}

#define PSZ(f) ((s32)offsetof(struct jprivate, f))
#define PM(f) rm_mem(RBX, PSZ(f))

/* JIT_SPIN, for tests: what comes out otherwise with fewer is up to the order of lanes. The interpreter alone looks at it. */
extern u32 interp_spin;
/* For tests: where lanes part, those of the further side go first, and on; 2: those nearest behind the branch, who have left a loop, say. What comes out otherwise then is up to the order of sides: code takes the one
 * first that reads what the other one writes. The interpreter alone looks at it. */
extern u32 interp_upper;
/* For tests: the byte that registers without a value consist of where a function begins, 0: what was there. Calls' memory moves by it,
 * and of lanes that call different functions others go first. */
extern u32 interp_garbage;

/*
 * For tests, which set it before a kernel is compiled: a seed of places where code hands an instruction to the interpreter,
 * leaves, may be entered, so that every kernel has blocks that are partly interpreted; and whatever an operand's way may
 * overwrite is overwritten. 0: none of it.
 */
extern u32 jit_stress;
/* Tests: so many further blocks for each (coarsen.c), wherever that may be; 0: where it pays. How many grids ran so. */
extern u32 jit_coarse;
extern u64 launch_coarse, launch_joined, join_least;
enum { JS_STEP, JS_LEAVE, JS_ENTRY };
bool jit_stressed(const struct jcomp *c, u32 pc, u32 what);
/* jit_scan.c */
bool jit_scan(struct jcomp *c);
bool jit_guess_align(const struct jcomp *c, const struct insn *in, u32 *need);
bool jit_guess_sign(const struct jcomp *c, const struct insn *in);
struct jval jit_val(const struct jcomp *c, u32 o, u8 w);
bool jit_scalar(const struct jcomp *c, const struct insn *in);  /* its results are uniform or patterns */
u8 jit_src_w(const struct insn *in, u32 i);
u32 jit_pat(struct jcomp *c, const s64 *v);                     /* ~0: does not fit */
bool jit_exact(struct jcomp *c, u32 lop, struct jval a, u64 k, bool sg, u32 bits, struct jval *v);     /* jit_exact.c */
static inline bool j_int64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
/* A constant's mask of v, 64 bits of it: nvcc's leaves out the sign, too, of what is not negative. */
static inline u64 j_whole_mask(struct jval v, u64 m, u32 bits)
{
	if (v.max < 1ull << (bits - 1))
		m |= 1ull << (bits - 1);
	return bits == 32 ? (u64)(s64)(s32)(u32)m : m;
}
/* jit_root.c: in is x - (x & ~low bits), whose scalar is 0 */
bool jit_same_scalar(const struct jcomp *c, const struct insn *in, u32 bits);
bool jit_guesses(const struct jcomp *c, const struct insn *in);
/* jit_nan.c */
void jit_nans(struct jcomp *c);
bool jit_makes_raw(const struct insn *in);
bool jit_any_mode(const struct jcomp *c, const struct insn *in);        /* MXCSR as it is now serves: flushing makes no difference */
/* jit_index.c, jit_stay.c */
bool jit_index(struct jcomp *c);
bool jit_goes_on(const struct insn *in);
bool jit_stays(const struct jcomp *c, u32 v, u32 from, u32 last, u32 end);
void jit_stay(struct jcomp *c, const u32 *uses);
struct rm js_rm(const struct jcomp *c, u32 v);
void jx_part(struct jcomp *c, u32 v, u32 part, int t);
/* jit_merge.c */
bool jit_merge(struct jcomp *c);
/* jit_unpack.c: the store at s, in a block that begins at start */
void jit_unpack(struct jcomp *c, u32 start, u32 s);
/* jit_region.c */
bool jit_regions(struct jcomp *c);
/* jit_turn.c, for both compilers: the step of a loop that counts as far */
#define JIT_FAR (1 << 16)
struct jit_steps { const struct func *fn; const struct insn *code; u32 n; bool (*known)(const void *of, u32 o); const void *of; };
/* Is o the size of a block, or that times a number? Then a block's threads read side by side, mostly a row that caches hold. */
bool jit_by_block(const struct jit_steps *s, u32 o, u32 depth);
bool jit_turns(struct jcomp *c);
void jit_turn_begin(struct jcomp *c, u32 b);
void jit_turn_around(struct jcomp *c, u32 b, u32 x);
void jit_ask_next_turn(struct jcomp *c, int base, s32 disp, u32 bytes);
/* jit_loop.c */
void jit_loop_begin(struct jcomp *c, u32 b);
bool jit_loop_back(struct jcomp *c, u32 at, u32 b);
void jit_loop_test(struct jcomp *c, u32 pc);
bool jit_loop_sure(const struct jcomp *c);
bool jit_loop_asked(const struct jcomp *c);
void jit_loops(struct jcomp *c);
/* jit_alloc.c */
extern const u8 jit_gprs[8];                                    /* place i is saved in jprivate.gpr[i] */
bool jit_alloc(struct jcomp *c);
/* instructions; false: not done natively. jit_scalar.c, where not said */
bool jit_lane(struct jcomp *c, const struct insn *in);   /* jit_lane.c */
void ju_alu(struct jcomp *c, u32 op, int t, u32 o, u8 w);       /* t = t op o */
void ju_wide(struct jcomp *c, int gpr, u32 o, bool sg);          /* gpr = o, 32 bits extended to 64 */
void ju_float(struct jcomp *c, int x, u32 o);                   /* xmm x = o */
/* A pattern is widened to 64 bits, and a lane of it may wrap in 32: the code of in leaves then. */
bool jit_guess_wide(const struct jcomp *c, const struct insn *in);
void jit_range(const struct jcomp *c, struct jval v, s32 *lo, s32 *hi);
/* jit_setp.c */
bool jit_setp_scalar(struct jcomp *c, const struct insn *in);
bool jit_setp(struct jcomp *c, const struct insn *in);
void jit_setp_ahead(struct jcomp *c, const struct insn *in, bool taken_if);
u32 jit_copies_ahead(const struct jcomp *c, const struct insn *in, u32 pc);
void jit_setp_copies(struct jcomp *c, const struct insn *in, u32 pc, u32 n);
bool jit_pred(struct jcomp *c, const struct insn *in);
bool jit_scalar_op(struct jcomp *c, const struct insn *in);
bool jit_sreg(struct jcomp *c, const struct insn *in);
/* jit_emit.c */
void jit_mxcsr(struct jcomp *c, u32 want);
void jit_mxcsr_home(struct jcomp *c);
bool jit_mode_free(const struct insn *in);      /* it can do with either mode */
enum { EX2_PLAIN, EX2_FLUSH, EX2_KEEP };
bool jit_mode_seldom(const struct insn *in);
bool jit_mode_other(u32 now, const struct insn *in);
int jit_ex2_mode(u32 now, const struct insn *in);
void jit_ex2(struct jcomp *c, int x, int how);
bool jit_mode_begin(struct jcomp *c, const struct insn *in);
void jit_mode_end(struct jcomp *c);
/* That (MXCSR_BASE: to nearest, nothing flushed) for one instruction; true: jit_mxcsr_back() has to follow it. */
bool jit_mxcsr_for(struct jcomp *c, u32 want);
void jit_mxcsr_back(struct jcomp *c);
void jit_ldmxcsr(struct jcomp *c, u32 v);
/* operands; part: 16 lanes of 32 bits or 8 of 64 */
int jv_reg(struct jcomp *c, u32 o, u8 w, u32 part, int tmp);
int jv_canon(struct jcomp *c, int r, int tmp);
int jv_obs(struct jcomp *c, u32 o, u8 w, u32 part, int tmp);    /* NaNs made canonical */
struct rm jv_rm(struct jcomp *c, u32 o, u8 w, u32 part, int tmp, int *bc);
struct rm jv_rm_obs(struct jcomp *c, u32 o, u8 w, u32 part, int tmp, int *bc);
int jv_dst(struct jcomp *c, u32 v, u32 part, int tmp);
int jv_mask(struct jcomp *c, u8 w, u32 part);                   /* mask register for the part, 0: none */
void jv_put(struct jcomp *c, u32 v, u32 part, int r);
void ju_load(struct jcomp *c, int gpr, u32 o, u8 w);            /* a scalar (of a pattern: lane 0) */
void ju_store(struct jcomp *c, u32 v, int gpr);
struct rm ju_rm(struct jcomp *c, u32 o);
u32 j_lit(struct jcomp *c, const void *bytes, u32 n);
u32 j_lit32(struct jcomp *c, u32 v);
u32 j_lit64(struct jcomp *c, u64 v);
u32 j_exit(struct jcomp *c, u8 kind, u32 pc, u32 to);
void j_leave_if(struct jcomp *c, u32 cc, u32 exit);
void j_exit_at(struct jcomp *c, u32 at, u32 exit);      /* a jump that has been emitted */
void j_need_all(struct jcomp *c);               /* leaves unless all living lanes are here */
void j_need_members(struct jcomp *c, const struct insn *in);    /* jit_warp.c: or those that in names */
struct jlate *j_late(struct jcomp *c);
void j_leave(struct jcomp *c, u32 exit);
void j_walk(struct jcomp *c, u32 exit);
void j_site(struct jcomp *c, u32 exit);                         /* the next instruction may fault */
/* jit_lane.c: d = x shifted by a constant; eight 32-bit lanes of o as 64 bits */
void jl_shift(struct jcomp *c, u32 lop, bool sg, u8 w, int d, int x, u32 n);
void jl_widen(struct jcomp *c, u32 o, u32 part, int d, bool sg, bool obs);
/* jit_cvt.c */
bool jit_lop3(struct jcomp *c, const struct insn *in);
bool jit_cvt(struct jcomp *c, const struct insn *in);
void jl_extend(struct jcomp *c, int d, int x, enum type t);
bool jit_cvt_float(struct jcomp *c, const struct insn *in);     /* jit_cvtf.c */
void jit_to_half(struct jcomp *c, bool bf, int d, int x, bool cut);
void jit_half_wide(struct jcomp *c, bool bf, u32 o, u32 p, int d);
void jit_divide(struct jcomp *c, const struct insn *in);       /* jit_int.c: of 32 bits */
bool jit_halves(const struct insn *in);         /* jit_half.c: arithmetic of f16 and bf16 */
bool jit_half_op(struct jcomp *c, const struct insn *in);
/* jit_call.c: by C functions */
bool jit_lane_call(struct jcomp *c, const struct insn *in);
bool jit_cvt_call(struct jcomp *c, const struct insn *in);
void jit_call_keep(struct jcomp *c);
void jit_call_done(struct jcomp *c, u64 f);
bool jit_tensor(struct jcomp *c, const struct insn *in);        /* jit_tensor.c */
bool jit_dot(struct jcomp *c, const struct insn *in);           /* jit_dot.c */
bool jit_short(struct jcomp *c, const struct insn *in);         /* jit_int.c */
bool jit_funnel(struct jcomp *c, const struct insn *in);
bool jit_high(struct jcomp *c, const struct insn *in);
bool jit_bits(struct jcomp *c, const struct insn *in);          /* jit_bits.c */
bool jit_prmt(struct jcomp *c, const struct insn *in);        /* jit_prmt.c */
void jit_bits_scalar(struct jcomp *c, const struct insn *in);
/* jit_level.c */
bool jit_levels(struct jcomp *c);
u32 j_level(const struct jcomp *c, u32 o);      /* so many neighbouring lanes are supposed to have the same: 16, 8, 4; 0 */
u32 j_tile(const struct jcomp *c);      /* lanes of one row of a narrow block, 4 or 8; 0: rows are longer, or nothing known */

/* jit_full.c; j_rest: jit.c */
bool j_steps_by(const s32 *p, u32 n, s32 step);         /* each of n is as much more than the one before it */
void jit_all_lanes(struct jcomp *c, u32 pc);
int j_lit_reg(struct jcomp *c, u32 lit, int tmp);
void j_lit_to(struct jcomp *c, int t, u32 lit);
void jit_somes(struct jcomp *c);
void j_rest(struct jcomp *c, u32 b, u32 pc);
/* jit_twin.c; j_keeps: jit.c */
void jit_twins(struct jcomp *c, u32 pc);
void jit_twins_end(struct jcomp *c, u32 pc);
bool j_keeps(const struct jcomp *c, const struct insn *in);
/* jit_mem.c */
bool jit_ld(struct jcomp *c, const struct insn *in);
u32 jit_half(const struct jcomp *c, u32 pc);
bool jit_st(struct jcomp *c, const struct insn *in);    /* jit_st.c */
bool jit_atom(struct jcomp *c, const struct insn *in);  /* jit_atom.c */
/* jit_warp.c */
bool jit_shfl(struct jcomp *c, const struct insn *in);
bool jit_vote(struct jcomp *c, const struct insn *in);
/* jit_match.c */
bool jit_match(struct jcomp *c, const struct insn *in);
bool jit_together(const struct insn *in);       /* lanes wait for each other here; the interpreter keeps account of that */
void j_put_bits(struct jcomp *c, u32 o);        /* the predicate o is eax's bits; where lanes wait, what was there */
bool jit_redux(struct jcomp *c, const struct insn *in);
bool jit_activemask(struct jcomp *c, const struct insn *in);
bool jit_cvta(struct jcomp *c, const struct insn *in);
/* jit_ways.c; jit_live_all and j_run_lanes: jit.c */
void jit_way_in(struct jcomp *c);
bool jit_ways(struct jcomp *c, u32 *stubs);                     /* false: no memory */
u32 jit_lives(struct jcomp *c, const u32 *list, u32 n);           /* these registers: where in lives[] (jit.c) */
u32 jit_live_all(struct jcomp *c, u32 pc, u32 b, u32 *n);       /* before pc of block b, for lanes that wait too: in lives[] */
void j_run_lanes(struct jcomp *c, int gpr);
void j_edge(struct jcomp *c, u32 pc, u32 to);

/* jit_part.c */
const struct jregion *jit_region_at(const struct jcomp *c, u32 pc, u32 *no);
void j_jump(struct jcomp *c, u32 pc, u32 to);
void j_part(struct jcomp *c, const struct insn *in, u32 pc, const struct jregion *r, u32 no);
                     /* those in gpr run now */
/* jit_frame.c: between P and the frame, on processors with AVX-512 alone; false: it is not what the code was compiled for */
void jit_spill_one(const struct jit *j, const char *p, struct frame *f, u32 v, u32 m);
void jit_spill(const struct jit *j, const char *p, struct frame *f, u32 live, u32 n, u32 m);
bool jit_fill(const struct jit *j, char *p, const struct frame *f, u32 v, u32 m);
bool jit_fill_any(const struct jit *j, char *p, const struct frame *f, u32 v, u32 m);
void jit_fill_def(const struct jit *j, char *p, const struct frame *f, u32 v, u32 e);
/* jit_run.c */
bool jit_barrier(const struct insn *in);       /* a whole warp's values may stay in P over it */
bool jit_meets(const struct cta *c, const struct insn *in);        /* complete when each warp has come once */
/* LANES: the frame says who stands where; those of warp.jended have ended */
enum { JR_REFUSED, JR_AT, JR_JUMP, JR_DONE, JR_LANES };
int jit_run(struct tstate *ts, struct warp *w, struct frame *f);
/* jit.c, jit_src.c */
struct jit *jit_compile(struct func *fn, u32 spec);         /* for AVX-512 (jit.c) */
struct jit *jit_finish(struct jcomp *c, const u32 *stubs);   /* jit_finish.c */
struct jit *jit_compile_apart(struct func *fn, u32 spec);
void jit_drop_code(struct jit *j);                          /* of one that nobody has */
struct jit *jit_get(struct func *fn, u32 spec);
extern u32 jit_patience;                                    /* 8; tests have 1 */
void jit_part(struct cta *c, const struct jit *j);
void jit_walked(struct cta *c);
/* Lanes wrap where a pattern is widened, at pc: code to come has vectors there. */
void jit_wraps(struct grid *g, const struct jit *j, u32 pc);
void jit_took(struct grid *g, const struct jit *ran, u64 ticks, u64 done);
u32 jit_spec(const struct func *fn, const u32 *block);
/* Which of a thread's numbers goes from lane to lane as %tid.x otherwise does, and what is as that is then */
static inline u8 spec_sreg(u32 spec, u8 sub)
{
	if (spec & SPEC_SINGLE)
		return sub == SR_CTAID_X ? SR_TID_X : sub == SR_TID_X ? SR_TID_Z : sub;
	return !(spec & SPEC_TURNED) || (sub != SR_TID_X && sub != SR_TID_Y) ? sub : sub == SR_TID_X ? SR_TID_Y : SR_TID_X;
}
static inline u32 spec_log2(u32 spec) { return spec >> 8 & 255; }       /* what SPEC_POW2 and SPEC_JOINED have there */
/* So many blocks of a row does code have in one. */
static inline u32 jit_step(const struct func *fn, u32 spec) { return spec & SPEC_JOINED ? 1u << (spec >> 24 & 7) : 1 + fn->further; }
void jit_free(struct func *fn);
struct jit_src *jit_src_new(const struct insn *code, u32 n, const struct vreg *regs, u32 nregs);
void jit_src_free(struct jit_src *s);
void body_free(struct func *fn);        /* inline.c */
void jit_loop_depths(struct jit_src *s);
/* upper.c: the bits of SPEC_STRIDES for these parameters, NULL: not known; is what `in` loads known by them? */
u32 strides_of(const struct func *fn, const void *args);
bool strides_known(const struct func *fn, u32 spec, const struct insn *in, u64 *v);
const struct jblock *jit_src_block(const struct jit_src *s, u32 pc);
/* A multiplication or conversion to twice the bits; has it been found that its lanes wrap? */
bool jit_widens(const struct insn *in);
bool jit_wrapped(const struct jit_src *s, const struct insn *in);
/* Is it asked who is here, with nobody named? */
bool jit_asks(const struct insn *in);
/* Does each lane's member mask o stay what it is in every round, made of its number and the launch's, or told to all who name each other? */
bool jit_names_stay(const struct jit_src *s, u32 o);
static inline bool jit_named(const struct insn *in) { return in->kind == K_WARPSYNC || jit_together(in); }
/* May lanes at pc write shared memory before a barrier, or ask who is here? Strips ask, for which it is found out when they are made first. */
enum { J_TELLS = 1, J_ASKS = 2 };
void jit_who_tells(struct jit_src *s);
u8 jit_tells(const struct jit_src *s, u32 pc);
bool jit_live_sets(struct jcomp *c);
u64 jit_code_take(struct engine *e, u64 bytes);
u8 *jit_code_put(struct engine *e, u64 at, const struct as *a);
void jit_code_give(struct engine *e, u64 at, u64 bytes);
int jit_open(struct engine *e);
void jit_close(struct engine *e);

/* Of the thread's struct tally, for both compilers. */
static inline struct rm tally_at(size_t field) { return rm_mem(R14, (s32)(offsetof(struct tstate, tally) + field)); }

/* rcx = how much more than one element of so many bytes there is from rax on, in memory whose sums the worker keeps; no: the jumps that are taken if it is none. Overwrites rdx. */
static inline void tally_reach(struct as *a, u32 bytes, u32 no[2])
{
	g_load(a, 1, RDX, rm_reg(RAX));
	g_alu(a, 1, G_SUB, RDX, tally_at(offsetof(struct tally, lo)));
	g_load(a, 1, RCX, tally_at(offsetof(struct tally, bytes)));
	g_alu(a, 1, G_SUB, RCX, rm_reg(RDX));
	no[0] = g_jcc(a, CC_BE);
	g_alui(a, 1, G_SUB, rm_reg(RCX), (s32)bytes);
	no[1] = g_jcc(a, CC_B);
}

#endif
