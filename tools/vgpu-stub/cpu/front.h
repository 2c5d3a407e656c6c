/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of the front end: statements as parse.c reads them, and the code under
 * construction that lower.c appends to. Nothing here lives longer than func_compile.
 */
#ifndef VGPU_FRONT_H
#define VGPU_FRONT_H

#include "cpu.h"
#include "disasm.h"
#include "lanes.h"

enum okind { O_NONE, O_REG, O_INT, O_FLT, O_SYM, O_VEC, O_SREG, O_ADDR, O_SINK, O_LIST, O_LABEL };

struct operand {
	u8 kind;
	u8 type;                /* of a register; T_F32/T_F64 of a float constant */
	bool neg;               /* !p */
	u32 reg;                /* virtual register, special register number */
	u32 second;             /* register behind '|', OPND_NONE: none */
	s64 imm;                /* integer, float bits, offset behind a symbol or register */
	struct sym *sym;
	u32 n;                  /* vector or list */
	struct operand *elem;
	u32 col;
	bool element;           /* name[…]; index: of the register in it, OPND_NONE: imm says it all */
	u8 index_type;
	u32 index;
	/* of video instructions: "-r.b0" */
	bool minus;
	u32 nsel;
	const char *sel;
};

#define MAX_OPS 10
struct stmt {
	const struct opdesc *od;
	u8 mod[MC_COUNT];
	u8 type[4];
	u32 ntype;
	u32 guard;              /* register, OPND_NONE */
	bool gneg;
	bool unsigned_cmp;      /* .lo, .ls, .hi, .hs */
	bool far;               /* .shared::cluster is among its state spaces */
	u32 line, col;
	u32 nops;
	struct operand op[MAX_OPS];
	struct operand *ret, *args;     /* call */
};

struct label {
	u32 id;                 /* index into comp.labels */
	u32 at;                 /* instruction it stands before */
	bool defined;
	u32 ref_line, ref_col;
	const char *name;
	const char *text;       /* the same in the module's text, of ntext characters, once it is defined */
	u32 ntext;
	struct label *alias;    /* the label of an outer scope that it turned out to be */
};

struct konst { u64 bits; struct sym *sym; u32 off; u8 w; };

#define MAX_MOVES 64
/* Several blocks as one: coarsen.c */
enum pays { COARSE_NOT, COARSE_MAY, COARSE_PAYS };

struct comp {
	struct lex lx;
	struct bail bail;
	struct func *fn;
	struct module *m;
	struct pool pool;
	struct map syms, families;
	struct sym *scope_syms; /* declared, innermost first */
	u32 depth;
	struct insn *code;
	u32 ncode, code_cap;
	struct vreg *regs;
	u32 nregs, regs_cap;
	struct konst *k;
	u32 nk, k_cap;
	u32 *khash;
	u32 khash_cap;
	u32 cpool_bytes;
	struct label **labels;
	u32 nlabels, labels_cap;
	struct sym **shared;    /* shared variables that the body uses */
	u32 nshared, shared_cap;
	u64 local_bytes;
	u32 line, guard;        /* of the statement being lowered */
	bool gneg;
	bool in_call;           /* '(' opens a list, not an expression */
	struct call_move { u32 reg, off; u8 type; bool load; } moves[MAX_MOVES];        /* behind the call being read */
	u32 nmoves;
	bool video;             /* registers have selectors and signs */
	bool texture;           /* coordinates stand in an address */
	bool texels;            /* there are such instructions */
	bool late;              /* the body has variables of its own in memory */
	bool far, far_known;    /* lower_async.c: generic addresses may be of other blocks of the cluster */
	enum pays coarse;
	u32 nest;               /* operands inside operands: one level */
	const char *op_name;    /* of the statement being read */
	u32 stack, stack_off, stack_room;       /* lower_stack.c: where alloca goes on; OPND_NONE: the body has none; its area */
	u32 cc;                 /* carry flags, a predicate; OPND_NONE until used */
	struct sym *pending_label;      /* label of .callprototype and .branchtargets */
	u32 edges;                      /* of brx.idx: its lists may be named again and again */
	struct regname *rnames; /* registers as the text calls them */
	u32 nrnames, rnames_cap;
	u32 *rsame, rsame_first;        /* registers from that one on are called like these: versions.c */
	u32 nrsame, rsame_cap;
	u32 *others, nothers;   /* coarsen.c's, as struct fnames has them */
	u32 (*unames)[2];       /* values of the grid: place in the pool, register */
	u32 nunames, unames_cap;
	u32 konst_bytes;        /* of the pool, before these */
};

/* reach.c: where so much shared memory of a function, or of a variable of the module that functions name, lies */
u32 reach_place(struct module *m, const void *who, u32 bytes, u32 align);

#define FAIL(c, ...) lex_fail(&(c)->lx, VGPU_ST_INVALID_PTX, __VA_ARGS__)
#define FAIL_AT(c, st, ...) \
	do { (c)->lx.tline = (st)->line; (c)->lx.tcol = (st)->col; FAIL(c, __VA_ARGS__); } while (0)
#define UNSUPPORTED(c, st, ...) \
	do { \
		(c)->lx.tline = (st)->line; (c)->lx.tcol = (st)->col; \
		lex_fail(&(c)->lx, VGPU_ST_NOT_SUPPORTED, __VA_ARGS__); \
	} while (0)

/* What an acquire or a release is to the memory checker. */
static inline u8 sem_orders(u32 sem) { return sem >= SEM_ACQUIRE && sem <= SEM_ACQ_REL ? INF_ORDER : 0; }

static inline u8 type_w(enum type t)
{
	return t == T_PRED ? 2 : type_bytes(t) > 4 ? 1 : 0;
}

/*
 * What may grow faster than the text does has a bound, whoever wrote the text; beyond it a function is refused as too
 * large, or its code is less good.
 */
#define MAX_EDGES (1u << 18)    /* of all brx.idx of a function */
#define MAX_TREE_WORK (1ull << 29)      /* the same, of a function and all that it calls, or of a module that is read */
#define MAX_WORK (1ull << 28)   /* steps of liveness: looks at a block's successors, words of sets */
#define COARSE 4u               /* coarsen.c: blocks in one; two take a quarter less of a product with a vector, four two fifths, eight hardly more */
#define HOIST_ROUNDS 8u         /* of uniform_hoist(); one is enough where definitions come before uses */

/* parse.c */
struct sym *declare(struct comp *c, const char *s, u32 n, u8 what);
void parse_body(struct comp *c);
void *cneed(struct comp *c, void *p);
struct label *label_get(struct comp *c, const char *s, u32 n);
/* check.c */
void check_stmt(struct comp *c, struct stmt *st);
void check_source(struct comp *c, const struct stmt *st, const struct operand *o, enum type t);
/* rules.c */
void check_rules(struct comp *c, struct stmt *st);
/* lower.c */
u32 new_reg(struct comp *c, enum type t);
u32 new_reg_like(struct comp *c, u32 o);        /* of its type, and called like it */
u32 konst(struct comp *c, u64 bits, u8 w);
u64 const_high(const struct comp *c);
u32 konst_sym(struct comp *c, struct sym *s, u64 add, u8 w);
const struct konst *konst_at(const struct comp *c, u32 o);       /* NULL: a register, or a place that holds none of the text's */
struct insn *emit(struct comp *c, u8 kind);
/* What an operation computes on a type, or NULL. */
lane_fn *lane_find(u32 lop, enum type t);
void emit_lane(struct comp *c, const struct stmt *st, u32 lop, enum type t, u8 dw, u32 d, u32 a, u32 b,
	       u32 cc);
u32 src(struct comp *c, const struct stmt *st, const struct operand *o, enum type t);
void lower_stmt(struct comp *c, struct stmt *st);
u32 mxcsr_for(const struct stmt *st, enum type t);
struct insn *emit_pred(struct comp *c, u8 op, u32 d, u32 a, bool aneg, u32 b, bool bneg);
/* p = (a cmp b), and where more is not OPND_NONE, bool more; p is written under the guard that is set. */
struct insn *emit_cmp(struct comp *c, const struct stmt *st, u32 cmp, enum type t, u32 p, u32 a, u32 b, u8 op, u32 more, bool neg);
static inline u32 dst(const struct operand *o)
{
	return o->kind == O_REG ? o->reg : OPND_NONE;
}
/* lower_mov.c; and the divisor that div.approx.f32 divides by */
void lower_mov(struct comp *c, struct stmt *st);
u32 divisor_of_approx(struct comp *c, const struct stmt *st, u32 b);
/* lower_carry.c */
void lower_cc(struct comp *c, struct stmt *st);

/* across.c: which threads lie side by side in memory, those that are neighbours in x, as a rule, in y, or some in x and some in y? */
enum way { WAY_X, WAY_Y, WAY_BOTH };
enum way across(struct comp *c);
/* join.c: may narrow blocks be one? */
void join_find(struct comp *c);
/* lower_bits.c; lower_bfe(), lower_simple() false: nothing done */
bool lower_bfe(struct comp *c, struct stmt *st);
void lower_bfi(struct comp *c, struct stmt *st);
bool lower_simple(struct comp *c, struct stmt *st, u32 lop, enum type t, u32 d, const u32 *s);
void lower_lop3(struct comp *c, struct stmt *st);
void lower_copysign(struct comp *c, struct stmt *st);
/* lower_cvt.c */
void lower_cvt(struct comp *c, struct stmt *st);
/* lower2.c: memory, control, cross-lane */
void lower_mem(struct comp *c, struct stmt *st);
void lower_control(struct comp *c, struct stmt *st);
void lower_warp(struct comp *c, struct stmt *st);
void lower_address(struct comp *c, struct stmt *st, const struct operand *o, struct insn *tmpl);
/* lower_atom.c */
void lower_atom(struct comp *c, struct stmt *st);
/* video.c */
void lower_video(struct comp *c, struct stmt *st);
/* lower_tex.c */
void lower_tex(struct comp *c, struct stmt *st);
/* Bytes of .local memory that a thread has for calls that go round or through pointers, and for alloca, in a function that is compiled now: what cuCtxSetLimit asked for (func_roomy()). */
static inline u32 stack_bytes(const struct comp *c) { return __atomic_load_n(&c->m->e->stack, __ATOMIC_RELAXED); }

/* lower_stack.c: alloca; in front of a body, and a statement. Does the body say that? */
bool body_names(const struct comp *c, const char *what);
void stack_begin(struct comp *c);
void lower_stack(struct comp *c, struct stmt *st);
/* lower_async.c: cp.async, createpolicy */
bool far_shared(struct comp *c);
void lower_async(struct comp *c, struct stmt *st);
/* st.async, red.async: false for a plain one; else what they write is written by `write`, and the mbarrier is told */
bool lower_behind(struct comp *c, struct stmt *st, void (*write)(struct comp *c, struct stmt *st));
/* lower_tmap.c: cp.async.bulk.tensor and its like; changes of maps. lower_async.c: the mbarrier at operand i learns of minus, -bytes << 32 */
void lower_tmap(struct comp *c, struct stmt *st);
void lower_tensormap(struct comp *c, struct stmt *st);
void tell_mbarrier(struct comp *c, struct stmt *st, u32 i, u32 bytes);
u32 sum_of(struct comp *c, struct stmt *st, const struct insn *at, bool wide);
u32 blocks_of(struct comp *c, struct stmt *st, u32 i);
void tell_blocks(struct comp *c, struct stmt *st, u32 i, u32 bytes, u32 blocks);
/* lower_tensor.c: ldmatrix, stmatrix, movmatrix; and for lower_mma.c and lower_wmma.c: register i of n of an operand, all lanes
 * together, one instruction of that kind */
u32 tensor_part(struct comp *c, struct stmt *st, const struct operand *o, u32 i, u32 n, enum type t, bool dest);
void tensor_together(struct comp *c, struct stmt *st);
struct insn *tensor_insn(struct comp *c, u8 sub, u32 d, u32 a, u8 aw);
/* lower_mma.c: a product of matrices whose blocks of 8 rows (of b: columns) lie in words of 4 lanes a row, see there */
struct product { enum type d, a, b; u32 rows, cols, words; bool sat; u8 op; };
void emit_product(struct comp *c, struct stmt *st, const struct product *p, const u32 *a, const u32 *b, const u32 *acc, const u32 *d);
u32 product_results(const struct product *p);
void lower_mma(struct comp *c, struct stmt *st);
/* lower_wmma.c */
void lower_wmma(struct comp *c, struct stmt *st);
void lower_tensor(struct comp *c, struct stmt *st);
/* lower_wgmma.c; and its shapes, of which there are too many for a table */
void lower_wgmma(struct comp *c, struct stmt *st);
bool wgmma_shape(struct stmt *st, const char *s, u32 len);
/* uniform.c */
void uniform_hoist(struct comp *c);
/* inline.c: calls become bodies; a function's body, for those */
void inline_calls(struct comp *c);
void keep_body(struct comp *c, const struct insn *code, u32 n);
/* calls.c: a kernel's other calls become jumps */
void resolve_calls(struct comp *c);
/* cfg.c; each_opnd: f for every register operand, definitions last */
void each_opnd(struct insn *in, void (*f)(void *, u32 *, bool is_def), void *arg);
void cfg_finish(struct comp *c);
/* together.c: a block's shuffles and votes that do not wait for one another follow each other */
void together(struct insn *code, u32 n, u32 nregs);

/* compile.c: more steps than a function, or all that is compiled for one request, may take */
bool compile_too_much(const struct func *fn);
/* From here on what is compiled counts as one request; is its bound reached? */
void compile_batch(bool on);
bool compile_full(void);

#endif
