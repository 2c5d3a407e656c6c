/* SPDX-License-Identifier: MIT */
/* Modules and functions as they were read, and the warp IR that functions become. */
#ifndef VGPU_CPU_IR_H
#define VGPU_CPU_IR_H

#include "alone.h"
#include "tally.h"
#include "../engine.h"
#include "lex.h"

/* ---- modules --------------------------------------------------------------------------- */

#define MAX_VAR_BYTES (4ull << 30)      /* of a module, so that an image cannot eat the host */
#define MAX_LOCAL (1u << 19)            /* bytes of .local variables of a thread */
#define STACK_BYTES 16384u              /* what a thread has for calls that nobody can foresee, where the context's limit does not say more: front.h, stack_bytes() */
#define MAX_STACK (1u << 18)            /* ... and the most */
#define MAX_LOCAL_TOTAL (MAX_LOCAL + 2 * MAX_STACK)     /* calls included */
#define VARIADIC_BYTES 1024u            /* of unnamed arguments that a function takes */
enum { LINK_NONE, LINK_VISIBLE, LINK_EXTERN, LINK_WEAK, LINK_COMMON };
enum { OPAQUE_TEXTURE = 1, OPAQUE_SAMPLER, OPAQUE_SURFACE };       /* PTX ISA 5.3 */
enum { V_REG = 1, V_VAR, V_FUNC, V_LABEL, V_PROTO, V_TARGETS };

struct sym {
	u8 what;                /* V_* */
	u8 type;                /* register or element type */
	u8 space;               /* of a variable */
	bool ext, dyn;          /* .extern; extern .shared without a size */
	bool managed;           /* .attribute(.managed): the host sees it too */
	u8 opaque;              /* OPAQUE_*: a variable that is a struct vgpu_texture, which the host fills; its address is the handle */
	bool fixed;             /* module's .local: one place in every kernel's frame */
	u8 link;                /* LINK_* */
	u32 ndims;              /* of the variable, a vector's elements last */
	u64 *dims;
	bool formal;            /* kernel parameter */
	u32 family;             /* number of registers declared by name<n>, 0: a single one */
	u32 reg;                /* first virtual register */
	u32 vec;                /* elements of a .v2 or .v4 register, 0: a scalar; two of .b64 are a .b128 */
	bool quad;              /* that */
	u32 align;
	u64 addr;               /* absolute (global, const) or offset in its space */
	u64 bytes;
	u32 scope;              /* depth at which it was declared, to undo it */
	struct sym *shadow, *chain;
	const char *name;
	struct func *fn;
	void *extra;            /* label, prototype, target list */
	bool defined;
	u32 ref_line, ref_col;
	bool used;              /* counted as shared memory of the function being read */
	bool fam;               /* a family: comp.families has it */
};

struct fparam {
	u8 type, is_reg, vec;   /* vec: the first of so many registers of a vector */
	bool opaque, open;      /* open: an incomplete array, which has VARIADIC_BYTES of room */
	u32 align, off, bytes;
	const char *name;
};

struct reach;

struct module {
	u32 id;
	struct engine *e;
	const char *text, *end;
	char *owned;            /* text that came out of a fatbin */
	struct pool pool;
	struct map syms;        /* name -> struct sym */
	struct sym **list;      /* exported order */
	u32 nlist, list_cap;
	struct func **funcs;
	u32 nfuncs, funcs_cap;
	u32 version, target;    /* 84, 61 */
	u32 max_regs;           /* ptxas's -maxrregcount, by our container; 0: not given */
	u64 var_base, var_bytes, var_cap;
	u64 const_lo, const_hi;         /* addresses of the .const variables */
	u64 managed_va, managed_bytes;  /* where the managed ones are */
	u8 *managed_image;              /* their first values, until the module is whole */
	struct late { struct late *next; u64 addr, cap; } *late;        /* variables of functions */
	struct init *inits;
	struct alias *aliases;
	u64 const_bytes;
	u64 local_bytes;        /* of .local variables of the module */
	u32 func_shared;        /* shared memory handed out to .func bodies: up to there */
	struct reach *reach;    /* reach.c: which of it may be in use together; NULL: not looked at yet */
	u32 inlined;            /* instructions that calls became */
};

/* ---- warp IR --------------------------------------------------------------------------- */

#define LANES 32
#define OPND_CONST 0x80000000u          /* operand lives in the constant pool */
#define OPND_NONE 0x7fffffffu
#define NO_PC 0xffffffffu

typedef void lane_fn(void *d, const void *a, const void *b, const void *c);
typedef u32 mask_fn(const void *a, const void *b);
struct insn;
struct frame;
struct tstate;
/* One whole instruction for the lanes m, with MXCSR at its default: gen.h. */
typedef void gen_fn(struct tstate *ts, struct frame *f, const struct insn *in, u32 m);

enum kind {
	K_LANE, K_SETP, K_PRED, K_SREG, K_LADDR, K_LOP3, K_CVT, K_CVTA, K_ISSPACEP,
	K_LD, K_LDPARAM, K_ST, K_ATOM, K_SHFL, K_VOTE, K_MATCH, K_REDUX, K_ACTIVEMASK, K_WARPSYNC,
	K_TENSOR, K_GEN, K_BAR, K_MEMBAR, K_NANOSLEEP, K_LATER, K_JMP, K_CBRA, K_BRX, K_CALL, K_RET, K_EXIT, K_TRAP, K_NOP,
	K_MC_LD, K_MC_ST, K_MC_ATOM, K_MC_BAR,  /* the same with memcheck.c in front */
	K_VF_ST, K_VF_ATOM,                     /* with verify.c */
	K_STEP                                  /* the next instruction is shown, see optrace.c */
};

enum { PRED_MOV, PRED_NOT, PRED_AND, PRED_OR, PRED_XOR };

/* K_TENSOR, see tensor.c: the address that a lane loads from for matrix sub2 of ldmatrix; a transposed matrix; a product */
enum { TENSOR_ROW, TENSOR_ROW_LO, TENSOR_ROW_HI, TENSOR_TRANS, TENSOR_MMA };
#define TENSOR_ODD 1            /* sub2 of TENSOR_MMA: which columns of the result ... */
enum { QUARTER_PAIRS = 1, QUARTER_A_COL = 2, QUARTER_B_ROW = 4 };        /* sub2 of gen_quarter */
#define TENSOR_BOTH 2           /* ... or, in halves of one word, both */

struct insn {
	union {
		lane_fn *lane;
		mask_fn *mask;
		struct callinfo *call;
		u32 *targets;           /* K_BRX: count, then pcs */
		gen_fn *gen;            /* K_GEN: lop is its opid, imm and sub are its own */
	} u;
	u32 o[6];               /* virtual registers, after cfg.c frame offsets; destinations first */
	u32 guard;              /* predicate, OPND_NONE: none */
	u32 line;
	s64 imm;
	u32 mxcsr;              /* wanted rounding and flush bits; 0: does not care */
	u8 kind;
	u8 gneg;
	u8 dw;                  /* destination: 0 = 32-bit slots, 1 = 64-bit slots, 2 = predicate */
	u8 def, use;            /* bits over o[] */
	u8 type, stype;         /* enum type */
	u8 space, vec, size;    /* memory ops: element bytes */
	u8 sub, sub2;           /* op of its kind */
	u8 flags;
	u8 aw;                  /* address operand has 64 bits */
	u8 plain;               /* a lane operation without a guard */
	u8 lop;                 /* enum lop; of a comparison its CMP_ */
	u8 twin;                /* 1: the further block's, of a function that does the work of two (coarsen.c) */
	u32 taken, fall;        /* block numbers, after cfg.c pcs */
};

/* Is v an operand that it reads, its guard among them? One that it writes? */
static inline bool insn_reads(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && in->o[k] == v)
			return true;
	return in->guard == v;
}

static inline bool insn_writes(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] == v)
			return true;
	return false;
}

/* The same operation, of whatever operands */
static inline bool insn_same_op(const struct insn *a, const struct insn *b)
{
	return a->kind == b->kind && a->lop == b->lop && a->u.lane == b->u.lane && a->imm == b->imm && a->mxcsr == b->mxcsr && a->dw == b->dw &&
	       a->def == b->def && a->use == b->use && a->type == b->type && a->stype == b->stype && a->space == b->space && a->vec == b->vec &&
	       a->size == b->size && a->sub == b->sub && a->sub2 == b->sub2 && a->flags == b->flags && a->aw == b->aw;
}

enum { REDUX_NAN = 1, REDUX_ABS };       /* sub2 of K_REDUX of .f32 */
#define INF_CNEG 1              /* predicate operand c (or a) is inverted */
#define INF_SPIN 1              /* a jump back in a short loop that looks at what others write: a round costs SPIN_COST more */
#define SPIN_COST 512           /* of a turn of 16384: who spins lets those go on whom it waits for */
#define INF_POLL 2              /* INF_SPIN too: it does nothing else, but for counting; POLL_COST. Programs that give up after some thousand rounds count on others' running meanwhile */
#define POLL_COST (8 * SPIN_COST)
static inline s32 spin_cost_of(u8 flags) { return flags & INF_SPIN ? flags & INF_POLL ? POLL_COST : SPIN_COST : 0; }
#define INF_SAT 2
#define INF_CLUSTER 2           /* barrier: that of the cluster */
#define INF_FTZ 4
#define INF_FOURS 4             /* a load of words: those of four lanes in a row are 16 bytes in a row */
#define INF_COUNT 8             /* barrier with an explicit thread count */
#define INF_ORDER 8             /* a load, store or atomic that acquires or releases: to the memory checker a fence */
#define INF_SATFINITE 8         /* cvt: what is too large becomes the largest */
#define INF_SIGNED 16
#define INF_SYNC 32              /* a load or store that others are ordered by: volatile, relaxed, acquire, release */
#define INF_ALIGNED 32          /* barrier: all lanes of a warp come together */
#define INF_BNEG 64
#define INF_SMALL 1             /* dp4a: the first factor's bytes are below 128 */
#define INF_PLAIN 1             /* prmt: bytes themselves are wanted, never their signs */
#define INF_STAYS 16            /* prmt: each byte is that of one word or the other, at its own place; INF_PLAIN, too */
#define INF_MEET 1               /* K_NOP, where a round of a loop ends: strips may have to meet there (strip/order.c) */
#define INF_ONCE 128            /* a load or store that a warp does at once, by whatever engine: its lanes work as one thread, or one of them on what another has there */
#define INF_VOLATILE 64         /* a load or store, INF_SYNC too */
#define INF_RELU 128

/*
 * The least or the greatest, once it is there, mostly stays: who would leave it as it is has read it, and is done. A locked instruction that writes nothing new takes the
 * line from others all the same. What orders other accesses is done in any case.
 */
static inline bool atom_may_stay(const struct insn *in)
{
	return (in->sub == ATOM_MIN || in->sub == ATOM_MAX) && !(in->flags & INF_ORDER);
}

struct arg {                    /* one call argument or result */
	u8 is_reg, w;           /* w: 0 = 32-bit, 1 = 64-bit, 2 = predicate */
	u32 opnd;               /* register form */
	u32 off, bytes;         /* parameter form: offset in the caller's local frame */
};

struct callinfo {
	struct func *fn;        /* NULL: indirect through o[0] */
	struct arg *args, *rets;
	u32 nargs, nrets;
	u32 builtin;
	const char *name;       /* of the function, NULL: indirect */
};
enum { BUILTIN_NONE, BUILTIN_VPRINTF, BUILTIN_ASSERTFAIL, BUILTIN_MALLOC, BUILTIN_ALIGNED_MALLOC, BUILTIN_FREE,
       BUILTIN_DEVRT };         /* and from there on the functions of vgpu_devrt.def */

struct vreg { u8 type; u8 w; };         /* w as in struct arg */

enum { FN_NEW, FN_PARSING, FN_READY, FN_BAD };

struct jit;
struct jit_src;
struct fnames;
struct fbody;

/* coarsen.c: bytes of shared memory of a block, in all, that may be one of several if its launch asks for some */
#define COARSE_DYNAMIC (16u << 10)

#define TUNED (1u << 25)        /* tune.c: clock ticks that a kernel takes before the first trial */

/* tune.c: is it run by its ordinary function, or by the coarse one? */
enum { TUNE_UNTRIED, TUNE_TRIED, TUNE_CHOSEN, TUNE_KEPT };
struct tune {
	u32 state;
	u32 launches;           /* before the first */
	bool due;               /* it is time for that */
	bool held;              /* it was the other one before this trial */
	u64 spent, again;       /* clock ticks of its blocks; when there are so many, there is another trial, 0: never */
	u64 pair[2], sum[2];    /* ticks of a block, by the ordinary one and by the other: of a launch each that has no partner yet, 0: none; of all pairs */
	u32 pairs, won;         /* of these, those in which the other one was faster */
};

struct func {
	u32 id;
	const char *name;
	struct module *m;
	struct sym *sym;
	bool entry, has_body;
	const char *body, *head;        /* '{' of the body */
	const char *end;                /* of the text that it stands in, where that is not the module's */
	u32 body_line, body_col;
	struct fparam *params, *rets;
	u32 nparams, nrets, param_bytes;
	struct engine_param *eparams;
	u32 max_threads, reqntid[3];
	u32 reqcluster[3], max_cluster;         /* .reqnctapercluster, .maxclusterrank; 0: none */
	bool explicit_cluster;
	u32 max_regs;           /* .maxnreg; 0: none */
	u32 min_blocks;         /* .minnctapersm; 0: none */
	const char *refused;    /* legal, but nothing that we can do: why */
	u8 link;
	u64 unique_ptr;         /* the number that stands for it in a function pointer */

	/* after compilation */
	int state;
	u32 status;             /* of FN_BAD */
	char *why;
	struct insn *code;
	u32 ncode;
	struct insn *pro;       /* uniform.c: run once a grid */
	u32 npro;
	char *cpool;            /* constants, each splatted over its lanes */
	u32 cpool_bytes, frame_bytes;
	u32 shared_bytes, local_bytes, local_total;
	u32 stack;              /* what it, or what it calls, has for calls that go round or through pointers, and for alloca; 0: no such */
	u32 dyn_align, regs;
	bool calls, calls_ptr, indirect, cyclic, launches;
	bool fixed_shared;      /* names no shared memory but variables with a size */
	/*
	 * Log 2 of how many times as many rounds a loop has before lanes that wait behind it get a turn: it is asked here who is here, and who has been
	 * sent ahead is not, so that this is for those alone who would wait for ever.
	 */
	u8 patience;
	bool prints;            /* it or what it calls, or may call */
	bool reserved;          /* asks for the shared memory that is reserved for the system: the same */
	u32 uses;               /* ENGINE_USES_*: the same */
	bool anywhere;          /* it or what it calls jumps to functions of any module */
	u32 param_reg_base;     /* frame offsets of formal registers: parg[], pret[] */
	u32 *parg, *pret;       /* of formals that are registers */
	struct func **callees;
	u32 ncallees, callees_cap;
	u32 at;                 /* in m->funcs[]: reach.c */
	u32 called_by;          /* id of the function whose body, the one that is read, has called it already */

	/* coarsen.c: the same kernel, which does the work of so many blocks more besides its own in each; NULL: it may not be. Where it is likely to be no faster, not compiled before tune.c wants it */
	struct func *coarse, *of;       /* of: of that one, the ordinary one */
	struct func *roomy;     /* the same, compiled after the context's limit of stacks was raised; NULL: it was not, or not launched since */
	struct tune tune;
	u32 further;            /* of that one: how many, to the right of its own in a row; 0: an ordinary function; ... */
	u32 next_shared, next_local;    /* ... bytes from one's shared memory to the next's; from one's part of a thread's local memory to the next's */
	u64 work;               /* steps that hoisting, liveness and regions took */
	u64 est;                /* clock ticks of a block, as last seen; rt.c */
	struct solo solo;       /* alone.c */
	struct tally_plan tally;        /* roots.c */
	struct stride { u32 off, bytes, size; } strides[4];     /* upper.c: parameters of that size that are mostly so much; how many */
	u32 nstrides;
	bool one_way;           /* roots.c: it does not load from where it stores to, unless two of its parameters lead to one place */
	bool singles;           /* join.c: blocks of one thread may be a warp's lanes */
	bool joins[2];          /* join.c: narrow blocks that are neighbours in x, or in y, may be one wider block; ... */
	u16 joins_width[2];     /* ... if they are so wide; 0: whatever they are */
	bool turns;             /* across.c: lanes had better lie along y */
	struct fnames *names;   /* what people call its registers and labels; NULL: nobody knows */
	bool stepped;           /* optrace.c: a K_STEP before every instruction */
	bool apart;             /* each register has a slot of its own: debug.c */
	bool vf_told;           /* verify.c has said that it cannot be compared */
	struct fbody *inlined;  /* inline.c: what callers take over, NULL: they call */
	struct jit_src *jsrc;   /* what the JIT compiles from, NULL: nothing */
	struct jit *jits;       /* one per shape of block */
	bool jit_failed;
};

/* What a thread has of local memory: an access beyond that is a fault */
static inline u32 local_room(const struct func *fn) { return (fn->local_total + 15) & ~15u; }

/* A set of registers from one of places in border[]: cfg.h. */
static inline void spread_set(u64 *set, const u64 *places, u32 words, const u32 *border)
{
	for (u32 w = 0; w < words; w++)
		for (u64 b = places[w]; b; b &= b - 1) {
			u32 v = border[w * 64 + (u32)__builtin_ctzll(b)];

			set[v >> 6] |= 1ull << (v & 63);
		}
}

#endif
