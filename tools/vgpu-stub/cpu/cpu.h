/* SPDX-License-Identifier: MIT */
/*
 * The cpu engine's inside: modules, functions, warp IR and run-time state.
 *
 * Road of a kernel: module.c indexes the text -> compile.c and parse.c read one body into statements,
 * checked by check.c -> lower*.c emit warp IR -> cfg.c orders blocks and gives registers their frame slots ->
 * interp.c runs warps of it, rt.c runs blocks and grids of warps.
 */
#ifndef VGPU_CPU_H
#define VGPU_CPU_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>

#include "../engine.h"
#include "gemm.h"
#include "ahead.h"
#include "../../../fw-protocol/vgpu_status.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* ---- types, modifiers, ops ------------------------------------------------------------- */

enum type {
	T_NONE, T_PRED, T_B8, T_B16, T_B32, T_B64, T_U8, T_U16, T_U32, T_U64, T_S8, T_S16, T_S32,
	T_S64, T_F16, T_F16X2, T_BF16, T_BF16X2, T_F32, T_F64, T_U16X2, T_S16X2, T_B128, T_TF32,
	/* of operands only: parts of a register, see gen.h */
	T_F32X2, T_E4M3X2, T_E5M2X2, T_E2M1X2, T_E2M3X2, T_E3M2X2, T_UE8M0X2, T_U4, T_S4, T_U2, T_S2, T_B1, T_E4M3, T_E5M2, T_COUNT
};

u32 type_bytes(enum type t);
const char *type_name(enum type t);
static inline bool type_is_float(enum type t) { return t >= T_F16 && t <= T_F64; }
static inline bool type_is_signed(enum type t)
{
	return (t >= T_S8 && t <= T_S64) || t == T_S16X2;
}

enum modclass {
	MC_RND, MC_FTZ, MC_SAT, MC_APX, MC_HLW, MC_CMP, MC_BOOL, MC_SPACE, MC_VEC, MC_SEM, MC_CACHE,
	MC_SCOPE, MC_CC, MC_SHF, MC_CLAMP, MC_PRMT, MC_SHFL, MC_SYNC, MC_VOTE, MC_ATOM, MC_TO,
	MC_UNI, MC_ALIGNED, MC_BAR, MC_RED, MC_NOFTZ, MC_TESTP, MC_SHIFTAMT, MC_NAN, MC_IDX,
	MC_RELU, MC_PACK, MC_GRIDDEP, MC_XORSIGN, MC_ABS, MC_MSHAPE, MC_ROW, MC_COL, MC_TRANS, MC_MNUM, MC_CP,
	MC_HINT, MC_POLICY, MC_PROXY, MC_SATF, MC_OOB, MC_SCALE, MC_PO, MC_WMMA, MC_FRAG, MC_MBAR, MC_MBARM, MC_BULK, MC_FROM,
	MC_GEOM, MC_LEVEL, MC_SURF, MC_EDGE, MC_TLD, MC_TXQ, MC_COUNT
};

enum { RND_RN = 1, RND_RZ, RND_RM, RND_RP, RND_RNA, RND_RNI, RND_RZI, RND_RMI, RND_RPI, RND_RS };
enum { HLW_LO = 1, HLW_HI, HLW_WIDE };
enum { CMP_EQ = 1, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU,
       CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN };
enum { BOOL_AND = 1, BOOL_OR, BOOL_XOR };
#define MXCSR_BASE 0x1f80u      /* all exceptions masked, to nearest even */
#define MXCSR_FLUSH 0x8040u     /* FTZ and DAZ */
enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_PARAM };
enum { BAR_SYNC = 1, BAR_ARRIVE, BAR_RED, BAR_WAIT };     /* the last of clusters only */
enum { RED_POPC = 1, RED_AND, RED_OR };
enum { ATOM_ADD = 1, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR,
       ATOM_EXCH, ATOM_CAS,
       ATOM_MBAR_ARRIVE, ATOM_MBAR_DROP, ATOM_MBAR_TX };       /* on an mbarrier, see mem.c */
enum { MBAR_INIT = 1, MBAR_INVAL, MBAR_ARRIVE, MBAR_DROP, MBAR_TEST, MBAR_TRY, MBAR_COMPLETE, MBAR_PENDING };
enum { MBARM_EXPECT = 1, MBARM_NO_COMPLETE, MBARM_PARITY, MBARM_NOINC };
enum { BULK_COPY = 1, BULK_MBARRIER, BULK_TX, BULK_GROUP, BULK_PREFETCH };
enum { VOTE_ALL = 1, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
#define SHFL_WITHIN 1           /* sub2 in jit_src.code: strip/within.c */
enum { SHFL_UP = 1, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { MSHAPE_M8N8 = 1, MSHAPE_M8N8K16, MSHAPE_M16N8K4, MSHAPE_M16N8K8, MSHAPE_M16N8K16, MSHAPE_M16N8K32,
       MSHAPE_M16N8K64, MSHAPE_M16N8K128, MSHAPE_M16N8K256, MSHAPE_M8N8K4, MSHAPE_M8N8K32, MSHAPE_M8N8K128, MSHAPE_M16N16K16,
       MSHAPE_M8N32K16, MSHAPE_M32N8K16, MSHAPE_M16N16K8 };
enum { SEM_VOLATILE = 1, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL, SEM_SC, SEM_MMIO, SEM_WEAK };
enum { SCOPE_CTA = 1, SCOPE_GPU, SCOPE_SYS, SCOPE_CLUSTER };
enum { LAYOUT_A = 1, LAYOUT_B };         /* of mma: by bits in .row and .col which matrix lies so */
enum { CP_ASYNC = 1, CP_COMMIT, CP_WAIT, CP_WAIT_ALL };

enum opid {
	OPID_NONE,
#define OP(id, name, x, lop, shape, mods, types) OPID_##id,
#include "ops.def"
	OPID_COUNT
};

enum xclass {
	X_NOP, X_LANE, X_ARITH, X_CARRY, X_BFI, X_DP, X_TESTP, X_SETP, X_SET, X_SLCT, X_LOGIC, X_LOP3,
	X_SHF, X_PRMT, X_MOV, X_LD, X_ST, X_ISSPACEP, X_CVTA, X_CVT, X_BRA, X_BRX, X_CALL, X_RET,
	X_EXIT, X_TRAP, X_BAR, X_MEMBAR, X_ATOM, X_VOTE, X_MATCH, X_ACTIVEMASK, X_ELECT, X_REDUX, X_SHFL,
	X_NANOSLEEP, X_MMA, X_LDMATRIX, X_MOVMATRIX, X_CPASYNC, X_POLICY, X_VIDEO, X_WMMA,
	X_STMATRIX, X_MBAR, X_MAPA, X_TEX, X_STACK
};

struct opdesc {
	const char *name;
	u16 id;
	u8 x;                   /* enum xclass */
	u16 lop;                /* enum lop */
	const char *shape;
	u64 mods;               /* bit per modclass */
	u64 types;              /* bit per type; bit 0: no type at all */
};
extern const struct opdesc op_table[OPID_COUNT];
const struct opdesc *op_find(const char *s, size_t n);
bool op_known_unsupported(const char *s, size_t n);
/* Value of modifier s in the first class that the op permits; -1 if there is none. */
int mod_find(const struct opdesc *od, const char *s, size_t n, enum modclass *cls);
enum type type_find(const char *s, size_t n);
/* The other way round: how the table spells value val of the class, NULL: not at all; and all that the op permits. */
const char *mod_name(enum modclass cls, u32 val);
const char *mod_nth(const struct opdesc *od, u32 i);
const char *sreg_name(u32 sr);
u32 sreg_bytes(u32 sr);                 /* 0: %gridid, which had 32 bits and has 64 */
/* A legal modifier of an instruction that we have, in a form that we have not. */
bool mod_known_unsupported(const struct opdesc *od, const char *s, size_t n);

/* ---- lexer (lex.c) --------------------------------------------------------------------- */

enum { TK_EOF = 256, TK_ID, TK_DIR, TK_INT, TK_F32, TK_F64, TK_STR };

/* Where an error leaves to, and with what status. Of all copies of a lexer that look ahead: one of them may meet the error. */
struct bail {
	jmp_buf at;
	u32 status;             /* set by lex_fail */
};

struct lex {
	const char *p, *end;    /* p: just behind the current token */
	const char *line_start;
	u32 line;
	int tok;
	const char *s;          /* token text; TK_DIR without its dot */
	u32 n;
	u64 ival;               /* TK_INT value, TK_F32/TK_F64 bits */
	bool is_unsigned;       /* TK_INT with a U */
	u32 named;              /* variables that came by families, see parse_family() */
	u32 tline, tcol;
	struct bail *bail;
	char *log;
	size_t log_bytes;
};

void lex_init(struct lex *lx, const char *p, const char *end, u32 line, struct bail *bail,
	      char *log, size_t log_bytes);
int lex_next(struct lex *lx);
bool lex_suffix(struct lex *lx);        /* ".name" glued to the last token: s, n */
_Noreturn void lex_fail(struct lex *lx, u32 status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void lex_skip_to(struct lex *lx, int tok);      /* over everything up to it */
static inline bool lex_is(const struct lex *lx, const char *word)
{
	size_t i;

	for (i = 0; i < lx->n && word[i]; i++)
		if (lx->s[i] != word[i])
			return false;
	return i == lx->n && !word[i];
}
void lex_expect(struct lex *lx, int tok);
bool lex_accept(struct lex *lx, int tok);
/* expr.c: CV_F32 is a 0f constant, which stands alone */
enum { CV_S64, CV_U64, CV_F64, CV_F32 };
struct cval { u8 kind; u64 bits; };
struct cval const_value(struct lex *lx);
s64 const_expr(struct lex *lx);         /* an integer */
void lex_skip_braces(struct lex *lx);   /* at '{': stops behind the matching '}' */

/* ---- memory pools and symbol tables (util.c) ------------------------------------------- */

struct pool { struct chunk *head; };
void *pool_alloc(struct pool *p, size_t bytes);         /* zeroed; NULL when out of memory */
char *pool_str(struct pool *p, const char *s, size_t n);
void pool_free(struct pool *p);

struct map { struct map_ent **tab; u32 cap, n; struct pool *pool; };
struct map_ent { struct map_ent *next; const char *s; u32 n; u32 hash; void *val; };
struct map_ent *map_find(struct map *m, const char *s, size_t n);
/* The same for a hash that was made byte by byte from MAP_HASH: that of every prefix comes by the way. */
struct map_ent *map_find_hash(const struct map *m, const char *s, size_t n, u32 h);
#define MAP_HASH 2166136261u
static inline u32 map_hash(u32 h, char c) { return (h ^ (u8)c) * 16777619u; }
int map_put(struct map *m, const char *s, size_t n, void *val);
void map_free(struct map *m);

/* ---- modules --------------------------------------------------------------------------- */

#define MAX_VAR_BYTES (4ull << 30)      /* of a module, so that an image cannot eat the host */
#define MAX_LOCAL (1u << 19)            /* bytes of .local a thread, calls included */
#define VARIADIC_BYTES 1024u            /* of unnamed arguments that a function takes */
enum { LINK_NONE, LINK_VISIBLE, LINK_EXTERN, LINK_WEAK, LINK_COMMON };
enum { V_REG = 1, V_VAR, V_FUNC, V_LABEL, V_PROTO, V_TARGETS };

struct sym {
	u8 what;                /* V_* */
	u8 type;                /* register or element type */
	u8 space;               /* of a variable */
	bool ext, dyn;          /* .extern; extern .shared without a size */
	bool managed;           /* .attribute(.managed): the host sees it too */
	bool tex;               /* .texref, .surfref, .samplerref: known by name only */
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
	bool none;              /* name<0>: there is no such register */
};

struct fparam {
	u8 type, is_reg, vec;   /* vec: the first of so many registers of a vector */
	bool tex, open;         /* open: an incomplete array, which has VARIADIC_BYTES of room */
	u32 align, off, bytes;
	const char *name;
};

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
	u32 func_shared;        /* shared memory handed out to .func bodies */
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
	K_LANE, K_SETP, K_PRED, K_SREG, K_LADDR, K_CARRY, K_BFI, K_LOP3, K_CVT, K_CVTA, K_ISSPACEP,
	K_LD, K_LDPARAM, K_ST, K_ATOM, K_SHFL, K_VOTE, K_MATCH, K_REDUX, K_ACTIVEMASK, K_WARPSYNC,
	K_TENSOR, K_GEN, K_BAR, K_MEMBAR, K_NANOSLEEP, K_JMP, K_CBRA, K_BRX, K_CALL, K_RET, K_EXIT, K_TRAP, K_NOP,
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
	u32 taken, fall;        /* block numbers, after cfg.c pcs */
};

enum { REDUX_NAN = 1, REDUX_ABS };       /* sub2 of K_REDUX of .f32 */
#define INF_CNEG 1              /* predicate operand c (or a) is inverted */
#define INF_SPIN 1              /* a jump back in a short loop that looks at what others write: a round costs SPIN_COST more */
#define SPIN_COST 512           /* of a turn of 16384: who spins lets those go on whom it waits for */
#define INF_SAT 2
#define INF_CLUSTER 2           /* barrier: that of the cluster */
#define INF_FTZ 4
#define INF_COUNT 8             /* barrier with an explicit thread count */
#define INF_SATFINITE 8         /* cvt: what is too large becomes the largest */
#define INF_SIGNED 16
#define INF_SYNC 32              /* a load or store that others are ordered by: volatile, relaxed, acquire, release */
#define INF_ALIGNED 32          /* barrier: all lanes of a warp come together */
#define INF_BNEG 64
#define INF_ONCE 128            /* a load that a warp does at once, by whatever engine: its lanes work as one thread */
#define INF_VOLATILE 64         /* a load or store, INF_SYNC too */
#define INF_RELU 128

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
enum { BUILTIN_NONE, BUILTIN_VPRINTF, BUILTIN_ASSERTFAIL, BUILTIN_MALLOC, BUILTIN_FREE,
       BUILTIN_DEVRT };         /* and from there on the functions of vgpu_devrt.def */

struct vreg { u8 type; u8 w; };         /* w as in struct arg */

enum { FN_NEW, FN_PARSING, FN_READY, FN_BAD };

struct jit;
struct jit_src;
struct fnames;
struct fbody;

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
	u32 dyn_align, regs;
	bool calls, calls_ptr, indirect, cyclic, launches;
	bool prints;            /* it or what it calls, or may call */
	u32 uses;               /* ENGINE_USES_*: the same */
	bool anywhere;          /* it or what it calls jumps to functions of any module */
	u32 param_reg_base;     /* frame offsets of formal registers: parg[], pret[] */
	u32 *parg, *pret;       /* of formals that are registers */
	struct func **callees;
	u32 ncallees, callees_cap;
	u32 called_by;          /* id of the function whose body, the one that is read, has called it already */

	u64 work;               /* steps that hoisting, liveness and regions took */
	u64 est;                /* clock ticks of a block, as last seen; rt.c */
	struct fnames *names;   /* what people call its registers and labels; NULL: nobody knows */
	bool stepped;           /* optrace.c: a K_STEP before every instruction */
	bool apart;             /* each register has a slot of its own: debug.c */
	bool vf_told;           /* verify.c has said that it cannot be compared */
	struct fbody *inlined;  /* inline.c: what callers take over, NULL: they call */
	struct jit_src *jsrc;   /* what the JIT compiles from, NULL: nothing */
	struct jit *jits;       /* one per shape of block */
	bool jit_failed;
};

/* ---- run time -------------------------------------------------------------------------- */

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
	bool turn;                      /* those that run were chosen by frame_turn() */
	const struct jit *jit;          /* code for this activation, or NULL */
	u32 bytes;
	u32 lane_pc[LANES];
};

struct warp {
	struct cta *cta;
	struct frame *top;
	struct frame *spare;            /* finished activations to reuse */
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

#define CTA_BARRIERS 16
#define CLUSTER_BARRIER 16      /* that of barrier.cluster, behind the numbered ones */
struct barrier { u32 arrived[32]; u32 first, count, any, popc, all_bad, again; };   /* first: all warps below it are there */

struct cta {                            /* a block; between blocks of a grid it keeps its memory */
	struct cta *next;
	struct grid *g;
	u64 gridid;                     /* of the grid that its memory was fitted to */
	const struct jit *jit;          /* the code that it was fitted to */
	u32 nwarps, done_warps, next_warp;
	u32 id[3];
	u64 linear;
	u32 slices;
	u32 regs_bytes, frame_bytes;    /* registers of a warp; with the JIT's area behind them */
	u64 win;                        /* arena block: shared window, then local windows */
	u64 win_bytes, win_commit;
	u64 shared, local;              /* addresses */
	char *mem;                      /* register frames */
	size_t mem_bytes;
	struct warp warps[32];
	struct barrier bar[CTA_BARRIERS + 1];
	bool bar_used;
	bool pristine;                  /* the last block left its warps as it found them */
	u32 parted;                     /* how often lanes went apart in this block where code does not do that */
	bool met;                       /* a barrier has just let all of it go on: jit_again() may take it from there */
	u8 astray;                      /* how often in a row that was no use */
	struct race_cell *shadow;       /* memcheck.c: one for each byte of shared memory; race.h */
	u32 shadow_bytes;
	u64 phase, phase_first;         /* now, and at the block's start; never 0 */
	u32 *errs;                      /* last errors of the device runtime by thread, NULL: none yet; devrt.c */
	bool err_used;
};

struct range { u64 at, end; };
#define GRID_RESTS 128

struct grid {
	/* written by the launch, read by every block; status: the first fault */
	struct engine *e;
	struct func *fn;
	u32 dim[3], block[3], threads, nwarps;
	struct jit *jit;        /* code for this shape of block, or NULL; may become other code (jit_part()), for blocks to come */
	u32 parted;             /* branches that lanes were guessed to take together, and did not */
	u32 shared_bytes, dyn_off, shared_total, local_stride;
	u32 param_bytes, status;
	u32 errors, races;              /* found by memcheck.c; races are errors too */
	u64 pwin;                       /* arena block that holds the parameters */
	u64 coop_win;                   /* workspace behind %envreg1/2, 0 unless cooperative */
	const u32 (*tid)[1024];         /* of the block's shape, see shape_tids() */
	u64 nblocks, gridid, cookie;
	u32 max_resident;
	bool cooperative;
	bool native;                    /* no kernel: its blocks are tiles of the job */
	bool small;                     /* native: runs in place */
	bool over;                      /* all that is left to do is to print vtext */
	bool waits;                     /* for others, as it seems: verify.c */
	struct vtext *vtext;            /* of verify.c, NULL: nothing */
	struct kin *kin;                /* devrt.h; NULL: the host has launched it, and it has launched nothing */
	u32 pool_bytes;
	char *pool;                     /* constants and uniform values, if fn has a prologue */
	u32 pool_fn;                    /* id of the function whose constants they are */
	u32 (*own_tid)[1024];           /* a shape that did not fit into the engine's table */
	struct gemm_job job;

	/* with the engine's lock held */
	_Alignas(64) struct grid *next;
	struct grid *prev;
	u64 next_block;                 /* blocks from here on were never given to anybody */
	u64 done_blocks;
	u32 resident;                   /* blocks that run or are suspended */
	u32 running;                    /* turns that are out */
	u64 est;                        /* clock ticks of a block, as last seen; 0: unknown */
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
	u32 chain_exit;                 /* ... when one leaves by this exit, ... */
	const u8 *chain_at;             /* ... and where */
	u32 blocks;                     /* that ran here in code */
	s32 row;                        /* further blocks that it starts by itself after the last warp ... */
	s32 block_chain;                /* ... with chain, budget, first warp and its P set to these */
	s64 block_budget;
	struct frame *block_f;
	char *block_p;
	void *scratch;                  /* of native tiles */
	size_t scratch_bytes;
	struct ahead ahead;             /* what the next block will read */
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

#define ARENA_CLASSES 40
/*
 * Functions by id: its low bits are the place in a table that never moves, the high ones say whose life there it is, so that an
 * id comes back after millions of functions only.
 */
#define MAX_FUNCS (1u << 20)
#define FUNC_LIVES (1u << 12)
#define FUNCS_SPAN 4096u                /* places that are gone through before one is used again, at least */
#define SHAPES 64
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
	u32 shape[SHAPES];              /* block shapes whose thread numbers are known, packed */
	u32 (*shape_tid[SHAPES])[1024];

	/* lock: the list, what struct grid says, the pools */
	_Alignas(64) pthread_mutex_t lock;
	pthread_cond_t work;
	struct grid grids;              /* list head: grids with work, round robin */
	u32 sleepers;
	struct grid *grid_pool;
	struct cta *cta_pool;
	u32 ncta_pool;

	_Alignas(64) pthread_mutex_t arena_lock;
	u64 arena_next, arena_end;
	struct arena_free *arena_free[ARENA_CLASSES];
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

/* util.c */
void *xgrow(void *p, u32 *cap, u32 want, size_t elem);  /* NULL when out of memory */

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
void arena_forget(struct engine *e, u32 cls);         /* at close: drops a free list */
void fault_init(void);
struct tstate *tstate_get(struct engine *e);
void tstate_thread_exit(void);
_Noreturn void fault_raise(u32 status, int lane, u64 addr, const char *what);
void mem_ld(struct tstate *ts, const struct insn *in, u32 m);
void mem_ldparam(struct tstate *ts, const struct insn *in, u32 m);
void mem_st(struct tstate *ts, const struct insn *in, u32 m);
void mem_atom(struct tstate *ts, const struct insn *in, u32 m);
void mem_describe(struct tstate *ts);
u32 mem_copy(struct engine *e, void *dst, const void *src, size_t bytes);
u32 mem_fill(struct engine *e, void *dst, u32 value, unsigned elem, size_t count);
/* Reads n bytes (or a C string, when n is the buffer's size) that a kernel points to. */
void mem_read(struct tstate *ts, int lane, u64 addr, void *dst, size_t n);
/* The same the other way. */
void mem_write(struct tstate *ts, int lane, u64 addr, const void *src, size_t n);
size_t mem_read_str(struct tstate *ts, int lane, u64 addr, char *dst, size_t cap);

/* interp.c */
void exec_one(struct tstate *ts, struct frame *f, const struct insn *in, u32 m);
enum run warp_run(struct tstate *ts, struct warp *w);
void frame_start(struct frame *f, struct func *fn, char *regs, u32 lanes);
void frame_resched(struct frame *f);
void frame_turn(struct frame *f);
static inline void *opnd(const struct frame *f, u32 o)
{
	return f->base[o >> 31] + (o & ~OPND_CONST);
}

/* warpops.c: cross-lane operations; barrier.c: barriers */
void warp_shfl(struct frame *f, const struct insn *in, u32 m);
void warp_vote(struct frame *f, const struct insn *in, u32 m);
void warp_match(struct frame *f, const struct insn *in, u32 m);
void warp_redux(struct frame *f, const struct insn *in, u32 m);
void warp_tensor(struct frame *f, const struct insn *in, u32 m);
u32 tensor_group(const struct insn *in, u32 most);
void warp_products(struct frame *f, const struct insn *in, u32 n, u32 m);
void lane_carry(struct frame *f, const struct insn *in, u32 m);
void lane_bfi(struct frame *f, const struct insn *in, u32 m);
void lane_lop3(struct frame *f, const struct insn *in, u32 m);
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

/* uniform.c */
bool uniform_run(struct engine *e, struct grid *g);

/* call.c */
bool call_enter(struct tstate *ts, struct warp *w, const struct insn *in, u32 m);
void call_return(struct warp *w, u32 m);
void call_leave(struct warp *w);

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
};
void turn_run(struct tstate *ts, struct turn *t);
struct cta *cta_new(void);
void cta_free(struct engine *e, struct cta *c);

/* heap.c */
void dev_heap(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m);
u64 heap_take(struct engine *e, u64 bytes);       /* 0: there is no room */
bool heap_give(struct engine *e, u64 addr);      /* false: there is no such block */
u64 heap_bytes(struct engine *e);
void heap_close(struct engine *e);
u32 heap_place(struct engine *e, u64 va, u64 bytes);

/* special registers, in the order of sreg_names[] */
enum sreg {
	SR_TID_X, SR_TID_Y, SR_TID_Z, SR_NTID_X, SR_NTID_Y, SR_NTID_Z, SR_CTAID_X, SR_CTAID_Y,
	SR_CTAID_Z, SR_NCTAID_X, SR_NCTAID_Y, SR_NCTAID_Z, SR_LANEID, SR_WARPID, SR_NWARPID,
	SR_LANEMASK_EQ, SR_LANEMASK_LE, SR_LANEMASK_LT, SR_LANEMASK_GE, SR_LANEMASK_GT, SR_SMID,
	SR_NSMID, SR_GRIDID, SR_CLOCK, SR_CLOCK_HI, SR_CLOCK64, SR_GLOBALTIMER, SR_GLOBALTIMER_LO,
	SR_GLOBALTIMER_HI, SR_DYNAMIC_SMEM, SR_TOTAL_SMEM, SR_ENVREG0, SR_WARPSZ = SR_ENVREG0 + 32,
	SR_ZERO32, SR_ZERO64, SR_ONE32, SR_COUNT
};
int sreg_find(const char *s, size_t n);

#endif
