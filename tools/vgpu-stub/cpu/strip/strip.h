/* SPDX-License-Identifier: MIT */
/*
 * The strip compiler: machine code for processors with AVX2 (and no AVX-512, for which there is jit*.c).
 *
 * A strip is eight neighbouring lanes of a warp. Between two places where lanes of a warp or a block look at each other (barriers,
 * shuffles, votes, volatile accesses to shared memory: `sync`), each strip runs by itself, start to end, with its values in registers; run.c takes the
 * strips of a warp and the warps of a block there one after the other. At such a place, and wherever code is left, every value that is
 * still wanted lies in its slot of the interpreter's frame, so the interpreter can go on from any of them.
 *
 *   facts.c   one scalar for the strip (and a step from lane to lane), or eight lanes; where lanes may wait while others run
 *   whole.c   warps that are whole, in kernels that go straight on; round.c: in rounds of loops; warp.c (warp_code.c): between barriers; far.c: how strips' scalars differ
 *   within.c  shuffles that stay in a strip
 *   quad.c    words side by side
 *   raw.c     floats as the processor made them
 *   order.c   stores that are everybody's before the next
 *   guess.c   branches that lanes take together
 *   step.c    loops in which strips take turns
 *   place.c   registers and homes
 *   code.c    blocks, branches, lanes that part and meet, the finished code
 *   ways.c    in and out, and one instruction by the interpreter in between; stubs.c: in and out of each block
 *   meet.c    where the strips of a warp or the warps of a block look at each other, without leaving code
 *   between.c what lies between two such places, for all strips at once
 *   park.c    scalars of strips that are not running
 *   address.c addresses lane by lane; index.c: those that are a scalar and an index
 *   hold.c    vectors that stay in registers where strips meet; stay.c: those of all strips of a warp while a loop goes round
 *   row.c     rows that show when code runs
 *   some.c    rows of shared memory of which some lanes have their places in it
 *   fold.c    rows that arithmetic reads itself
 *   bound.c   addresses within a known distance of a scalar
 *   dot.c     sums of dot products
 *   vote.c    votes where strips meet; shuffle.c: what lanes take from each other there
 *   bits.c    leading zeros and bits in reverse order
 *   call8.c   instructions by C functions of eight lanes
 *   value.c   operands and results; lane.c, wide.c, half.c, approx.c, setp.c, scalar.c, mem.c (column.c, pair.c), atom.c (reduce.c): instructions
 *   run.c     the other side: strips, warps, blocks
 *
 * Values: a scalar u stands for u + C[lane], a pattern of eight numbers that is known now. Vectors of 32 bits are one ymm, of 64 bits two (lanes 0-3, 4-7), predicates one ymm of
 * ones and zeros. Lanes that are at one place are the strip's current mask (r12 as bits, ymm15 as a vector); others wait at block
 * starts, a word on the stack for each block where some may. The lowest block runs first, as in interp.c.
 *
 *   rbx frame slots   rbp 32 * strip   r12 mask   r13 constant pool   r14 struct tstate   r15 struct sprivate
 *   rax rcx rdx r11, ymm0-3 temporaries; ymm14 a guarded instruction's mask, ymm15 the current one
 */
#ifndef VGPU_STRIP_H
#define VGPU_STRIP_H

#include "../jit.h"
#include "../lanes.h"

#define STRIP 8u
#define STRIPS (LANES / STRIP)
#define S_MAX_BLOCKS 4096u              /* of a function: where lanes may wait takes blocks * blocks bits */
#define S_MAX_WAITS 64u                 /* blocks where lanes wait at one exit */
#define S_MAX_CODE (32u << 20)          /* of a function; flash attention has 2 MiB, most of it ways in and out (stubs.c) */
#define S_AREA (48u << 10)             /* of a warp's private area, for vectors */

enum { SC_NONE, SC_SCALAR, SC_VARY };

struct sval {
	u8 cls;
	u8 ual;                         /* the scalar is a multiple of 1 << ual */
	bool known;                     /* without a pattern, and the value k */
	bool all;                       /* of the pool: the same for all strips */
	bool made;                      /* of the pool: known, and not as a constant of the program */
	u8 far;                         /* whole.c: how the strips of a warp differ; 0: not known there */
	u16 pat;                        /* scomp.pats; 0: the same in all lanes */
	u64 k;
};

#define S_MAX_PATS 1024u

struct sregister {
	struct sval v;
	u8 w, loc, reg, reg2;           /* loc: LOC_ZMM (ymm), LOC_GPR, LOC_MEM */
	bool must_vary, rawf, live, wild, uneven;        /* guess.c: of loaded values or floats; not the same in all lanes */
	bool number;                    /* a float, and no NaN: raw.c */
	bool summed, unflushed;         /* a float that arithmetic alone reads, for which all NaNs are one; and that takes a denormal for 0 itself: raw.c */
	bool kept;                      /* a vector without a machine register that is alive where strips meet: its home is in the private area, too */
	s32 home;                       /* of a vector: on the stack; of a scalar: in the private area, a place for each strip (park.c) */
	u32 slot, first, last;
	u32 from, into;                 /* and 1: the sum that this one goes on with, in its place; the one that goes on with this: place.c */
	u64 weight;
};

struct sblock {
	u32 start, end;
	u32 nsucc, *succ;
	bool sync;                      /* its last instruction is one, and it has no successors */
	bool split;                     /* lanes may part at its end */
	bool turn, within;              /* strips take turns at it: step.c; within: in a loop where they do */
	u32 depth, at, in, next;        /* at: its code; in: the way into it; next: that of a strip behind another */
	u64 *live_in, *live_out;
	u64 *wait;                      /* blocks where lanes may wait while it runs */
	u64 *keep;                      /* registers that those will read; NULL: none wait */
	u64 *clean;                     /* registers whose slots hold them, at its start */
	s32 word;                       /* of the lanes that wait for it, on the stack; -1: none ever do */
	s32 rounds;                     /* with turn: how many a strip has left, a place in the private area */
	u32 warp_in, *warp_exit;        /* warp.c: where a warp's first strip comes to it; where a strip's fault leads, NULL: there is no such code */
	u32 turn_at, round, round_exit[STRIPS], plain;  /* where a warp's turn ends; round.c: where rounds of whole warps begin, 0: there are none, and end; next, without them */
};

#define S_ENDED 0xfffffffeu             /* sprivate.spc, sphase.at: their lanes have ended */
#define S_ROUNDS_LOG2 1                 /* rounds of a turn, few enough that their loads lie in the caches until the others have been there */
#define S_WARP_ROUNDS_LOG2 3            /* ... of a whole warp's turn: each reads whole lines; those of a far step may all lie in one set of the caches */
#define S_TURN 0x80000000u              /* in spc and at: before the block that begins there, where strips take turns */
#define ALL_WARPS 1u
#define S_HELD 8u

struct sexit { u32 pc, nwaits, *waits; bool wrong, parted, spins, away; };       /* pc NO_PC: no lane is left; waits: blocks, then pcs, in the order of sprivate.wait;
						   wrong: a guess was; parted: that lanes stay together; away: all of the strip has been put away; spins: a loop that may wait for others went on for long */

/* A scalar of which a warp that stands at such a place has the first strip's alone: the others' are that far from it. Those of a place: park.c */
struct sbehind { s32 home, by[STRIPS]; u8 w; };

/* What the finished code's other side needs beyond struct jit. */
struct strip_code {
	struct sexit *exits;
	const struct insn *code;        /* with virtual registers */
	u32 nexits;
	s32 (*pats)[STRIP];
	const u32 *next;                /* per entry: where a strip enters behind another one */
	const struct spark *parks;      /* by pc */
	u32 nparks, area;               /* area: bytes of a warp's private area */
	const struct spark *lags;       /* by pc: of behind */
	const struct sbehind *behind;
	u32 nlags;
	bool spins;                     /* it has loops that may wait for others */
};

/* Scalars that are alive where strips stand, a value of spc: jit.lives. */
struct spark { u32 pc, live, n; };

/* A store of one of n words side by side: the last one does it. */
struct squad { u8 n; bool last; u32 first; };

/* A block's warps in one phase between barriers, run by code one after the other. */
struct sphase {
	u64 seg;                        /* where a warp's first strip begins it */
	u32 start, at;                  /* the instruction there; where the warps before this one stand, NO_PC: it is the first */
	s64 least;                      /* of the budget, to go on with another phase */
	struct sprivate *first;
};

/* A warp's private area. */
struct sprivate {
	u64 table;                      /* 256 vectors of masks */
	u64 span_lo, span_lim;          /* as code has them for AVX-512 (jit.h) */
	u64 shared, shared_total, pwin, local;  /* local: of lane 0 of the warp */
	u64 frame;
	u64 shared_ends[5];             /* last places, by log2 of the size of an access */
	u64 tidv[3], ctaid;             /* addresses */
	u32 tid[3], dim[3], warp;
	u64 warp_at, slots;             /* struct warp; its registers' slots */
	u64 next, phase;                /* the next warp's area, ALL_WARPS: this is the last one, 0: code does not go on to it; struct sphase, 0: none */
	u64 seg;                        /* meet.c */
	u32 seg_pc, spc, at;            /* at: 32 * the strip that left code */
	u32 m, first, done;             /* lanes of the strip that enter; the lowest; those that have ended */
	u32 met;                        /* strips have come to the instruction before this one by warp.c, and stand there since, with scalars of the first one's alone; 0: not so */
	u32 born, last;                 /* lanes that there are, 0xffffffff if code for SPEC_PART does not ask; 32 * the last strip that has any */
	u32 apart;                      /* lanes that want another mode (s_mode_begin()) */
	u32 step;                       /* lanes of an instruction that the interpreter does */
	u32 wait[S_MAX_WAITS];
	_Alignas(32) u8 lanes[8 * 64];
	struct { u32 m, pad[7]; } own[STRIPS];          /* born, of each strip: what r12 is while all of its lanes run */
};

struct sslow { u32 pc, back, njump, jump[12], at, twin[3]; bool guarded, leaves, pair, whole, base, lanes; u8 strip, ntwins; struct sblock *block; };

/*
 * What lies from from to to behind register o is in the span, or in shared memory; o and at more is a multiple of 1 << ual. In
 * the span what is checked has JIT_SLACK behind it, and JIT_BELOW before it.
 */
struct snear { u32 o, slow; s32 from, to, at; u8 ual; bool shared; };
#define S_NEAR 6u

/* A register of 64 bits that is not computed (ghost): base + (index << shift), base OPND_NONE: without. from, to: where the index is extended, the last access. index.c */
struct sindex { u32 index, base, from, to; u8 shift; bool sg, ghost; };

/* A row, register o, that the instruction at pc reads from memory itself; what is done if it is not there. */
struct sfold { u32 pc, o, slow; struct rm m; };

struct sjump { u32 at, block; };
enum { STUB_IN, STUB_NEXT, STUB_PLAIN };
struct sstub_jump { u32 at, block, where; };

struct scomp {
	struct as a;
	struct func *fn;
	struct jit_src *s;
	struct insn *code;
	struct pool mem;
	u32 n, spec, nb, words, bwords;
	struct sblock *b;
	struct sregister *r;
	struct sval *pool;              /* by pool offset / 128 */
	u32 npool;
	s32 (*pats)[STRIP];             /* the first lane has 0 */
	u32 npats;
	struct sexit *exits;
	u32 nexits, exits_cap;
	u32 *lives, nlives, lives_cap;  /* of entries: scalars */
	struct sjump *jumps, *xjumps;   /* to blocks, to exits */
	u32 njumps, jumps_cap, nxjumps, xjumps_cap;
	struct sstub_jump *sjumps;      /* to the ways in */
	u32 nsjumps, sjumps_cap, *next, next_cap;
	struct sslow *slow;
	u32 nslow, slow_cap;
	u8 *pair;                       /* per pc: PAIR_ */
	s32 *twin;                      /* per pc: where the word behind another one waits for it, a place in the private area; below 0: it does not, the place is free (s_comes()) */
	struct squad *quad;             /* per pc: quad.c; n 0: none */
	u8 *whole;                      /* per pc: a store, or a load, of all lanes at once */
	u8 *strict;                     /* per pc: in a loop that lanes go round in step, by what others write: order.c */
	u32 *entry_at;
	struct jentry *entries;
	u32 nentries, entries_cap;
	struct jsite *sites;
	u32 nsites, sites_cap;
	s32 stack, save_ymm, save_gpr, gbits, old_rsp;
	s32 kept_at;
	u32 p_bytes, nhomes, most;      /* most: of p_bytes, for vectors */
	struct ahead_code ahead[AHEAD_SITES];
	u32 nahead;
	struct spark *parks;
	u32 nparks, parks_cap;
	struct spark *lags;
	struct sbehind *behind;
	u32 nlags, lags_cap, nbehind, behind_cap;
	struct snear near[S_NEAR];      /* what this block has checked */
	u32 nnear;
	struct sindex *index;           /* by register */
	u32 mx;                         /* MXCSR now, 0: unknown */
	struct sblock *cur;
	u32 pc;
	u8 fused;                       /* 16 and a condition: of the branch that ends the block */
	bool later;                     /* the comparison for that branch is done there: s_ends() */
	bool dynamic;                   /* shared memory of the launch's is named */
	bool guess, guessed;            /* indices are not negative: facts.c may suppose it, and has */
	struct swhole *whole_way;       /* whole.c */
	u8 stage;                       /* what is emitted is its: WHOLE_ */
	u32 whole_strip, whole_end, whole_end_pc;       /* for this strip; the jump to the end, which is that instruction; 0: none */
	u32 *waiting;                   /* by block: where who waits for it is put away; 0: there is no such code yet */
	u32 end_at, end_last;           /* code behind a strip's end; 0: none yet; behind that of a warp's last one */
	const struct sblock *some;      /* warp.c: some lanes go on, and meet the others there; NULL: all do */
	s32 roots_at, rounds_at;        /* its scalars, on the stack; those of rounds */
	bool guarded;                   /* by a mask in ymm14; its bits in the stack word gbits, but for arithmetic (s_bits()) */
	struct sfold fold;              /* pc 0: none */
	struct { u32 at, pc; bool kept; } base;         /* in code at `at` rax is where shared memory begins; the access that asked; it left rax alone */
	struct { u32 v; u8 strip; } held[S_HELD];       /* v: a register and 1; hold.c */
	u32 before;                     /* the guarded instruction before this one, with its mask there; NO_PC: none */
	bool loose;                     /* the vector at hand is of words that are aligned each for itself: quad.c */
	u32 dot_at, dot_end;            /* dot.c: what has been made from the first one on, as one sum */
	bool bad;
};

/* facts.c */
bool s_blocks(struct scomp *c);
bool s_facts(struct scomp *c);
bool s_pool(struct scomp *c);
bool s_sync(const struct insn *in);
/* Of those: a volatile access to shared memory, which lanes in step take turns at. */
static inline bool s_looks(const struct insn *in) { return (in->kind == K_LD || in->kind == K_ST) && s_sync(in); }
void s_before(u64 *set, const struct insn *in);  /* what is alive behind it becomes what is before */
struct sval s_val(const struct scomp *c, u32 o, u8 w);
static inline bool s_varies(struct sval v) { return v.cls != SC_SCALAR; }
static inline bool bit_of(const u64 *set, u32 i) { return set[i >> 6] >> (i & 63) & 1; }
void s_range(const struct scomp *c, struct sval v, s32 *lo, s32 *hi);   /* of the pattern */
bool s_linear(const struct scomp *c, struct sval v, s32 step);
struct sval s_with_step(struct scomp *c, struct sval v, u32 step);
bool s_guess_sign(const struct scomp *c, const struct insn *in);        /* the sign of a scalar, spread, is taken for 0 */
u32 s_lane_ops(u32 lop);                        /* how many operands */

/* raw.c */
void s_raw_floats(struct scomp *c);
bool s_is_number(const struct scomp *c, u32 o);          /* is it no NaN in any lane? */

/* order.c */
bool s_order(struct scomp *c);
static inline bool s_sync_at(const struct scomp *c, u32 pc) { return s_sync(&c->code[pc]) || c->whole[pc]; }

/* within.c */
void s_within(struct scomp *c);
bool s_shuffle(struct scomp *c, const struct insn *in);
bool s_warpsync(struct scomp *c, const struct insn *in);

/* guess.c */
void s_splits(struct scomp *c);

/* step.c */
void s_steps(struct scomp *c);

/* place.c */
bool s_place(struct scomp *c);

/* value.c */
#define SPM(f) rm_mem(R15, (s32)offsetof(struct sprivate, f))
static inline struct rm stack_rm(s32 off) { return rm_mem(RSP, off); }
void vx(struct as *a, u32 op, int L, int reg, int v, struct rm m, u32 tail);
static inline void vy(struct as *a, u32 op, int reg, int v, struct rm m) { vx(a, op, 1, reg, v, m, 0); }
static inline void vr(struct as *a, u32 op, int reg, int v, int m) { vx(a, op, 1, reg, v, rm_reg(m), 0); }
static inline void vyi(struct as *a, u32 op, int reg, int v, struct rm m, u32 imm) { vx(a, op, 1, reg, v, m, 1); b1(a, imm); }
static inline void vx_x(struct as *a, u32 op, int reg, int v, struct rm m) { vx(a, op, 0, reg, v, m, 0); }
u32 s_lit(struct scomp *c, const void *bytes, u32 n);
struct rm s_splat32(struct scomp *c, u32 v);
struct rm s_splat64(struct scomp *c, u64 v);
int sv(struct scomp *c, u32 o, u8 w, u32 part, int tmp);        /* the ymm that holds it: tmp or its own */
int sv_obs(struct scomp *c, u32 o, u8 w, u32 part, int tmp);    /* the bits of a float, NaNs made canonical */
struct rm sv_rm(struct scomp *c, u32 o, u8 w, u32 part, int tmp);
struct rm sv_rm_obs(struct scomp *c, u32 o, u8 w, u32 part, int tmp);
bool s_is_raw(const struct scomp *c, u32 o);
void s_canon(struct scomp *c, int d, int s, int tmp);           /* d = s, tmp is lost */
int sdst(struct scomp *c, u32 v, u32 part, int tmp);            /* where to compute it */
void sput(struct scomp *c, u32 v, u32 part, int r);             /* r is its value for those that run; ymm3 may be lost */
int sg(struct scomp *c, u32 o, u8 w, int tmp);                  /* the scalar, in a general register */
struct rm sg_rm(struct scomp *c, u32 o, u8 w, int tmp);
void sg_put(struct scomp *c, u32 v, int gpr);
void s_to_gpr(struct scomp *c, u32 o, u8 w, int gpr);           /* the scalar, in this register */
void s_wide_mask(struct scomp *c, int mask, int lo, int hi);    /* 32-bit lanes to 64 */
void s_mask_vector(struct scomp *c, int ymm, int gpr);          /* bits in gpr, which is lost, with rcx */
bool s_blends(const struct scomp *c, u32 v);                    /* lanes that do not run keep what they have in it */
int s_mask(const struct scomp *c);                              /* ymm of those that execute this instruction */
void s_mask_bits(struct scomp *c, int gpr);
void s_bits(struct scomp *c);                    /* what is called next wants the guard's: rax is lost */
static inline bool s_all_run(const struct scomp *c) { return c->stage && !c->guarded && !c->some; }
u32 s_unless_all(struct scomp *c);
u32 s_if_all(struct scomp *c);

/* stubs.c */
bool s_ways(struct scomp *c);
/* ways.c */
u32 s_exit(struct scomp *c, u32 pc);
void s_exit_jump(struct scomp *c, u32 at, u32 exit);
void s_stub_jump(struct scomp *c, u32 at, u32 block, bool next);      /* next: of a strip behind another */
const u64 *s_live_before(struct scomp *c, u32 pc);
void s_spill_set(struct scomp *c, const u64 *set, int mask, bool all);
u32 s_lives(struct scomp *c, const u64 *set, u32 *n);    /* the scalars of a set, in scomp.lives */
void s_plain_jump(struct scomp *c, u32 at, u32 block);           /* ... without rounds of whole warps */
void s_entry(struct scomp *c, u32 block);                /* what a strip behind another one gets there */
void s_fill(struct scomp *c, u32 v);
void s_fill_scalar(struct scomp *c, u32 v);              /* of the lane whose number is in ecx */
void s_way_out(struct scomp *c);
void s_leave(struct scomp *c, u32 pc);
void s_leave_if(struct scomp *c, u32 cc, u32 pc);
void s_parted_if(struct scomp *c, u32 cc);       /* lanes do not stay together at the branch that is emitted */
void s_wrong_if(struct scomp *c, u32 cc);       /* what was guessed of the instruction that is emitted is not so */
void s_slow_if(struct scomp *c, u32 cc);        /* the instruction that is emitted goes to the interpreter */
void s_site(struct scomp *c);                   /* what is emitted next may fault */
void s_call(struct scomp *c, u32 pc);
void s_call_at(struct scomp *c, u32 pc, u32 at);         /* instruction pc where at is emitted */
void s_way_in(struct scomp *c);
void s_slow_ways(struct scomp *c);
struct sslow *s_slow_now(struct scomp *c);
struct sslow *s_slow_new(struct scomp *c);
void s_ldmxcsr(struct scomp *c, u32 v);
void s_mxcsr(struct scomp *c, u32 want);
void s_mxcsr_rounds(struct scomp *c, u32 want);
void s_mode_home(struct scomp *c);
bool s_mode_begin(struct scomp *c, const struct insn *in);
void s_mode_end(struct scomp *c);
void s_mode_met(struct scomp *c, u32 other);
void s_saved(struct scomp *c, u32 pc, bool load);        /* registers that are alive around pc, on the stack */
/* meet.c */
bool s_clean(struct scomp *c);
void s_clean_before(const struct scomp *c, u32 pc, u64 *set);
bool s_enters(const struct scomp *c, u32 block);         /* has it a way in? */
bool s_behind_meeting(const struct scomp *c, u32 block); /* do strips that have met in code go on with it? */
void s_meet(struct scomp *c, u32 pc);
void s_meet_end(struct scomp *c);
void s_by_interpreter(struct scomp *c, u32 pc, u32 n);  /* n instructions, all strips' slots; ymm15 is all ones */
static inline bool s_part(const struct scomp *c) { return c->spec & SPEC_PART; }
void s_cmp_whole(struct scomp *c);                       /* flags: do all lanes run that the strip has? */
void s_cmp_last(struct scomp *c);                        /* flags: is it the warp's last strip? */
void s_own_lanes(struct scomp *c);                       /* r12 and ymm15: all that the strip has */
void s_cmp_born(struct scomp *c);                        /* flags: has the warp all lanes? For SPEC_PART */
bool s_meets_as_one(const struct scomp *c, u32 pc);     /* does warp.c know what strips have to have ready there? */
void s_meet_operands(struct scomp *c, u32 pc, u32 n);
void s_meet_warp(struct scomp *c, u32 pc, bool lags);    /* all strips stand there, put away; lags: but for scalars */
bool s_meets_block(const struct scomp *c, u32 pc);      /* do all of the block's warps meet there, in code? */
void s_lea_next(struct scomp *c, u32 block);             /* rax = where it begins behind another strip */
void s_turn(struct scomp *c, u32 t);
void s_rounds(struct scomp *c, u32 t);
/* vote.c */
#define S_GUARDED 11                    /* and three more: ymm registers of a guard's masks */
bool s_vote_all(struct scomp *c, u32 pc);
/* Not all 32 lanes do it */
static inline bool s_guarded(const struct scomp *c, const struct insn *in) { return in->guard != OPND_NONE || s_part(c); }
void s_guarded_masks(struct scomp *c, const struct insn *in);
void s_guarded_put(struct scomp *c, const struct insn *in, u32 s, int r);       /* strip s's result of a guard's lanes, o[0], into its slot; ymm2 is lost */
void s_guarded_bits(struct scomp *c, const struct insn *in, u32 o, int old);    /* a predicate, in eax; old: its register before, for other lanes */
/* between.c */
bool s_between(struct scomp *c, u32 from, u32 to, u32 n);

/* hold.c */
#define S_RENAMED 12u
struct srename { struct { u32 v; u8 reg; bool raw; } of[S_RENAMED]; u32 n; };
bool s_shuffle_all(struct scomp *c, u32 pc);
struct rm s_of_strip(const struct scomp *c, u32 o, u32 s);
bool s_constant(const struct scomp *c, u32 o, u32 *k);
void s_hold_none(struct scomp *c);
int s_held(const struct scomp *c, u32 o, u32 s);
void s_unhold(struct scomp *c, u32 o, u32 s);
int s_hold(struct scomp *c, u32 o, u32 s, const u64 *live, u32 but);
bool s_hold_rename(struct scomp *c, u32 from, u32 to, const u64 *reads, u32 s, struct srename *old);
void s_hold_back(struct scomp *c, struct srename *old);
void s_hold_made(struct scomp *c, u32 from, u32 to, const u64 *out, const u64 *live, u32 s);
/* park.c: scalars of strips that are not running */
void s_parks(struct scomp *c);                           /* gives them places; behind place.c */
bool s_keep_vectors(struct scomp *c, u64 *live);
bool s_parked(const struct sregister *r);                /* has it a place there? then its slot is not up to date */
struct rm s_vector_home(const struct sregister *r, u32 part);
s32 s_kept_at(const struct sregister *r, u32 strip);     /* of a kept one: where that strip's home lies, behind r15 */
void s_kept_results(struct scomp *c, u32 pc, u32 n);     /* what n instructions from pc on have left in slots, of all strips */
s32 s_new_home(struct scomp *c);
s32 s_new_vector_home(struct scomp *c);                 /* of 32 bytes */
struct rm s_home(const struct sregister *r);             /* of the running strip */
void s_park(struct scomp *c, u32 v);
void s_unpark(struct scomp *c, u32 v);
void s_park_list(struct scomp *c, u32 pc, const u64 *live);      /* what is alive at that place */
void strip_catch_up(const struct jit *j, struct warp *w);        /* scalars of all strips, where a warp stands with the first one's alone */
void strip_park(const struct jit *j, struct warp *w, u32 n);    /* what entry n takes for granted, of all strips */
void strip_unpark(const struct jit *j, struct warp *w, u32 strips, u32 n);       /* into the slots again */
void strip_unpark_at(const struct jit *j, struct warp *w, u32 strips, u32 pc);   /* ... of strips that stand at pc */

/* whole.c */
#define S_ROOTS 24u
#define S_CARRIED 12u                   /* scalars that a round hands to the next one: round.c */
#define ROUND_BYTES (16 * (s32)S_CARRIED + 8)
enum { WHOLE_NOT, WHOLE_SCALARS, WHOLE_CHECKS, WHOLE_STRIPS, WHOLE_STUB };
void s_whole(struct scomp *c);
struct rm s_whole_rm(struct scomp *c, u32 o, u8 w, int tmp);
struct rm s_whole_first(struct scomp *c, u32 o, s32 *by);
struct rm s_whole_row(struct scomp *c, const struct insn *in);
void s_whole_range(const struct scomp *c, struct sval v, s32 *lo, s32 *hi);
void s_whole_not_if(struct scomp *c, u32 cc);
void s_whole_slow(struct scomp *c, u32 pc, bool guarded);

/* warp.c */
void s_warps(struct scomp *c);

/* round.c */
void s_round(struct scomp *c, struct sblock *b);

/* bits.c */
bool s_bits_lane(struct scomp *c, const struct insn *in);

/* call8.c */
bool s_lane_call(struct scomp *c, const struct insn *in);
bool s_compare_call(struct scomp *c, const struct insn *in);
bool s_cvt_call(struct scomp *c, const struct insn *in);

/* pair.c: loads that belong together, or to what is made of them */
void s_pairs(struct scomp *c);
bool s_pair(struct scomp *c, u32 pc);
/* No load behind it is done before it. */
static inline bool s_is_fence(const struct insn *in) { return in->kind == K_LD && (in->flags & INF_SYNC); }
static inline bool s_comes(const struct scomp *c, u32 pc) { return c->twin[pc] > 0; }    /* with another word */
s32 s_twin_home(struct scomp *c, u32 pc);                /* it does from now on */
void s_pair_slow(struct scomp *c, u32 pc);

/* fold.c: loads and arithmetic that follow each other closely */
bool s_fold(struct scomp *c, const struct insn *in, struct rm m);
u32 s_folded(const struct scomp *c, const struct insn *in);
struct rm s_fold_row(struct scomp *c, u32 part);
void s_keep_base(struct scomp *c, const struct insn *in, bool before, u32 mx);

/* dot.c: dot products of bytes */
bool s_dot(struct scomp *c, const struct insn *in);

/* index.c: addresses that are a scalar and an index */
bool s_indices(struct scomp *c);
const struct sindex *s_index_of(const struct scomp *c, u32 o);  /* NULL: o is computed */
void s_index_part(struct scomp *c, const struct sindex *s, u32 part, int d, int tmp);

/* bound.c */
bool s_made_small(const struct scomp *c, u32 o);       /* what is made once a launch: small numbers in all lanes, far from where 32 bits wrap */
const struct insn *s_made_once(const struct scomp *c, u32 o);    /* what is done once a launch (uniform.c) and makes o; NULL: nothing is */
bool s_bounded(const struct scomp *c, const struct insn *in, u32 *base, u64 *max);

/* quad.c: words side by side */
bool s_quads(struct scomp *c);
bool s_quad_load(struct scomp *c, const struct insn *in);
bool s_quad_store(struct scomp *c, const struct insn *in);
void s_quad_slow(struct scomp *c, u32 pc);
/* instructions; false: not done */
bool s_lane(struct scomp *c, const struct insn *in);
bool s_wide(struct scomp *c, const struct insn *in);
bool s_approx(struct scomp *c, const struct insn *in);
bool s_setp(struct scomp *c, const struct insn *in);
bool s_setp_call(struct scomp *c, const struct insn *in);
void s_ends(struct scomp *c, const struct insn *in, u32 *holds, u32 *fails);
bool s_pred(struct scomp *c, const struct insn *in);
bool s_scalar(struct scomp *c, const struct insn *in);
bool s_sreg(struct scomp *c, const struct insn *in);
bool s_count64(struct scomp *c, const struct insn *in);
void s_byte_ones(struct scomp *c, int x);
bool s_cvt(struct scomp *c, const struct insn *in);
void s_extend(struct scomp *c, int d, int x, enum type t);      /* the value of type t in a 32-bit register, extended */
bool s_lop3(struct scomp *c, const struct insn *in);
bool s_ld(struct scomp *c, const struct insn *in);
bool s_st(struct scomp *c, const struct insn *in);
bool s_atom(struct scomp *c, const struct insn *in);
bool s_addresses(struct scomp *c, const struct insn *in);
u32 s_reduce_row(struct scomp *c, const struct insn *in, u32 values);   /* reduce.c */
/* May values of lanes that reduce into one place come together before that? And do so, in lane 0's place; same: r11 is that of each */
bool s_reduces_one(const struct insn *in);
void s_reduce_one(struct scomp *c, const struct insn *in, u32 values, bool same);
bool s_ranked(const struct scomp *c, const struct insn *in);
void s_rank_sum(struct scomp *c, const struct insn *in);
void s_rank_spread(struct scomp *c, const struct insn *in, u32 at, u32 values);
u32 s_each_lane(struct scomp *c);
void s_next_lane(struct scomp *c, u32 top);

/* run.c */
void strip_step(struct tstate *ts, struct sprivate *p, u32 pc, u32 strip);       /* called by code */
void strip_meet(struct tstate *ts, struct sprivate *p, u32 pc, u32 n);  /* called by code: n instructions by all lanes of the warp */
bool s_together(const struct insn *in);         /* is it done by the whole warp at once, and nothing else? */
void strip_fit(struct engine *e, struct warp *w);
void strip_free(struct jit *j);                  /* what came after it */
int strip_run(struct tstate *ts, struct warp *w, struct frame *f);
enum run strip_block(struct tstate *ts, struct cta *c, s64 *left_over, u32 *more);
bool strip_again(struct tstate *ts, struct cta *c, s64 *left_over, enum run *r);
/* code.c */
u32 s_block_at(const struct scomp *c, u32 pc);
bool s_has_bits(const struct insn *in);          /* of its guard, in the stack word */
void s_guard_begin(struct scomp *c, const struct insn *in, u32 skip[2]);
void s_guard_end(struct scomp *c, const u32 skip[2], u32 mx);
bool s_native(struct scomp *c, const struct insn *in);   /* code for it; false: there is none */
struct jit *strip_compile(struct func *fn, u32 spec, u32 most);  /* most: bytes of a private area that vectors may take it to */

/* The registers that in writes, one after the other, a call's results behind the others; *k: 0 before the first one. OPND_NONE: there are no more. */
static inline u32 s_next_def(const struct insn *in, u32 *k)
{
	for (; *k < 6; ++*k)
		if ((in->def >> *k & 1) && in->o[*k] != OPND_NONE && !(in->o[*k] & OPND_CONST))
			return in->o[(*k)++];
	for (; in->kind == K_CALL && *k - 6 < in->u.call->nrets; ++*k)
		if (in->u.call->rets[*k - 6].is_reg)
			return in->u.call->rets[(*k)++ - 6].opnd;
	return OPND_NONE;
}

#endif
