/* SPDX-License-Identifier: MIT */
/*
 * Which modifiers and types go together, as the sections of PTX ISA 9.7 say it in words: rounding that must or must not
 * stand, orders and scopes, cache operators. Called by check.c; ops.def says what may stand at all.
 * Here is what NVIDIA's assembler refuses too (tests/ptx/legal); running such code would tell its author nothing.
 */
#include "front.h"

static bool is_int(enum type t)
{
	return t != T_NONE && t != T_PRED && !type_is_float(t) && t != T_TF32 && t != T_F32X2;
}

static bool is_half(enum type t)
{
	return t >= T_F16 && t <= T_BF16X2;
}

static bool brain(enum type t)
{
	return t == T_BF16 || t == T_BF16X2;
}

#define NEED(cond, ...) do { if (!(cond)) FAIL_AT(c, st, __VA_ARGS__); } while (0)

static void arithmetic(struct comp *c, struct stmt *st)
{
	const char *name = st->od->name;
	enum type t = st->type[0];
	u8 rnd = st->mod[MC_RND], apx = st->mod[MC_APX];
	bool single = t == T_F32 || t == T_F64 || t == T_F32X2, modern = c->m->version >= 14;

	switch (st->od->id) {
	case OPID_ADD: case OPID_SUB: case OPID_MUL: case OPID_MAD: case OPID_FMA:
		NEED(!rnd || rnd <= RND_RP, "%s: a rounding of conversions", name);
		NEED(!rnd || type_is_float(t) || t == T_F32X2, "%s does not round .%s", name, type_name(t));
		/* the ISA has .rn alone; NVIDIA's assembler takes the others of .bf16, and makes arithmetic of .f16 of them */
		if (rnd > RND_RN && brain(t) && st->od->id == OPID_FMA)
			UNSUPPORTED(c, st, "a rounding of %s.%s other than .rn is not supported", name, type_name(t));
		NEED(rnd <= RND_RN || single, "%s.%s rounds to nearest only", name, type_name(t));
		NEED(!st->mod[MC_SAT] || !brain(t), "%s.sat does not take .%s", name, type_name(t));
		NEED(!st->mod[MC_CC] || (is_int(t) && type_bytes(t) >= 4 && t != T_U16X2 && t != T_S16X2), "%s.cc does not take .%s", name,
		     type_name(t));
		NEED(rnd || !single || c->m->target < 20 || (st->od->id != OPID_MAD && st->od->id != OPID_FMA), "%s.%s needs a rounding", name,
		     type_name(t));
		NEED(rnd || st->od->id != OPID_FMA || !is_half(t), "%s.%s needs a rounding", name, type_name(t));
		break;
	case OPID_ADDC: case OPID_SUBC: case OPID_MADC:
		NEED(!st->mod[MC_CC] || type_bytes(t) >= 4, "%s.cc does not take .%s", name, type_name(t));
		NEED(st->od->id != OPID_MADC || st->mod[MC_HLW] == HLW_LO || st->mod[MC_HLW] == HLW_HI, "%s needs .lo or .hi", name);
		/* not in the ISA either; what NVIDIA's assembler makes of it is the upper half of another product */
		if (st->mod[MC_HLW] == HLW_HI && type_bytes(t) == 2)
			UNSUPPORTED(c, st, "%s.hi.%s is not supported", name, type_name(t));
		break;
	case OPID_MUL24: case OPID_MAD24: case OPID_DP2A:
		NEED(st->mod[MC_HLW] == HLW_LO || st->mod[MC_HLW] == HLW_HI, "%s needs .lo or .hi", name);
		break;
	case OPID_DIV: case OPID_RCP: case OPID_SQRT:
		if (is_int(t))
			NEED(!rnd && !apx && !st->mod[MC_FTZ], "%s does not round .%s", name, type_name(t));
		else
			NEED((rnd != 0) != (apx != 0) || !modern, "%s.%s needs one of .rn, .rz, .rm, .rp, .approx", name, type_name(t));
		NEED(!apx || t != T_F64 || (st->od->id == OPID_RCP && st->mod[MC_FTZ]), "%s.approx does not take .f64", name);
		NEED(apx != 2 || st->od->id == OPID_DIV, "%s does not take .full", name);
		break;
	case OPID_RSQRT: case OPID_SIN: case OPID_COS: case OPID_LG2: case OPID_EX2: case OPID_TANH:
		NEED(apx == 1 || (!apx && !modern), "%s needs .approx", name);
		NEED(!brain(t) || st->od->id != OPID_EX2 || st->mod[MC_FTZ], "ex2.%s needs .ftz", type_name(t));
		NEED(!is_half(t) || brain(t) || !st->mod[MC_FTZ], "%s.ftz does not take .%s", name, type_name(t));
		break;
	case OPID_MIN: case OPID_MAX:
		NEED(!st->mod[MC_ABS] || st->mod[MC_XORSIGN] || st->nops == 4, "%s: .abs goes with .xorsign", name);
		NEED(!st->mod[MC_RELU] || !is_half(t), "%s.relu does not take .%s", name, type_name(t));
		break;
	case OPID_BMSK: case OPID_SZEXT: case OPID_SHF:
		NEED(st->mod[MC_CLAMP], "%s needs .clamp or .wrap", name);
		NEED(st->od->id != OPID_SHF || st->mod[MC_SHF], "shf needs .l or .r");
		break;
	}
	NEED(!st->mod[MC_FTZ] || !is_int(t) || st->od->x == X_SLCT || st->od->x == X_SET || st->od->x == X_CVT, "%s.ftz does not take .%s", name,
	     type_name(t));
	/* of rcp.f64, which rounds, it says nothing: the assembler's code is the same */
	NEED(!st->mod[MC_FTZ] || (t != T_F64 && !(brain(t) && st->od->id != OPID_EX2)) || apx == 1 || (st->od->id == OPID_RCP && t == T_F64) ||
	     st->od->x == X_SET || st->od->x == X_CVT || st->od->x == X_SLCT, "%s.ftz does not take .%s", name, type_name(t));
	if (st->od->x == X_DP)
		NEED(st->ntype == 2, "%s: a second type is missing", name);
}

/* set: pairs make pairs or integers, integers of 16 bits come from halves only (9.7.6.1, 9.7.7.1) */
static bool set_types(enum type d, enum type s)
{
	bool pair = s == T_F16X2 || s == T_BF16X2;

	if (d == T_F16X2 || d == T_BF16X2)
		return d == s;
	if (type_bytes(d) == 4)
		return pair ? is_int(d) : d != T_F32 || s != T_F16;
	return !pair && (is_half(d) || is_half(s));
}

static void compare(struct comp *c, struct stmt *st)
{
	enum type t = st->od->x == X_SET ? st->type[1] : st->type[0];
	u8 cmp = st->mod[MC_CMP];

	NEED(st->od->x != X_SET || set_types(st->type[0], t), "set does not take .%s and .%s", type_name(st->type[0]), type_name(t));
	NEED((t != T_F16 && t != T_BF16) || st->op[0].second == OPND_NONE, "%s.%s has one predicate", st->od->name, type_name(t));
	NEED(!st->mod[MC_BOOL] || st->nops == 4, "%s: the predicate of .and, .or or .xor is missing", st->od->name);
	NEED(!(t >= T_B8 && t <= T_B64) || cmp == CMP_EQ || cmp == CMP_NE || !cmp, "%s: .%s is equal or not", st->od->name, type_name(t));
	NEED(!st->unsigned_cmp || (t >= T_U8 && t <= T_U64), "%s: this comparison is of unsigned numbers", st->od->name);
	NEED(!st->mod[MC_FTZ] || (t != T_F64 && !brain(t) && !is_int(t)), "%s.ftz does not take .%s", st->od->name, type_name(t));
}

static void convert(struct comp *c, struct stmt *st)
{
	enum type d = st->type[0], s = st->type[1];
	u8 rnd = st->mod[MC_RND];
	bool to_int = rnd >= RND_RNI, narrow;

	if (st->ntype != 2 || st->mod[MC_PACK] || d >= T_TF32 || s >= T_TF32 || st->nops != 2)
		return;
	NEED(rnd != RND_RNA, "cvt.rna is to .tf32");
	if (is_int(d) && is_int(s)) {
		NEED(!rnd, "cvt from integer to integer does not round");
	} else if (is_int(d)) {
		NEED(to_int, "cvt from .%s to .%s needs .rni, .rzi, .rmi or .rpi", type_name(s), type_name(d));
	} else if (is_int(s)) {
		NEED(rnd && !to_int, "cvt from .%s to .%s needs .rn, .rz, .rm or .rp", type_name(s), type_name(d));
	} else {
		narrow = type_bytes(d) < type_bytes(s) || (type_bytes(d) == type_bytes(s) && d != s);
		/* of the two formats of 16 bits to nearest where nothing is said, as NVIDIA's assembler has it */
		if (narrow && !rnd && type_bytes(s) == 2)
			rnd = st->mod[MC_RND] = RND_RN;
		NEED(!narrow || (rnd && !to_int), "cvt from .%s to .%s needs .rn, .rz, .rm or .rp", type_name(s), type_name(d));
		/* that of a .bf16 to a wider type may be said, and changes nothing */
		if (s == T_BF16 && !narrow && d != s && rnd <= RND_RP)
			rnd = st->mod[MC_RND] = 0;
		NEED(!rnd || narrow || (d == s && to_int), "cvt from .%s to .%s does not round so", type_name(s), type_name(d));
	}
	NEED(!st->mod[MC_FTZ] || d == T_F32 || s == T_F32, "cvt.ftz is of .f32");
	NEED(!st->mod[MC_SAT] || (!brain(d) && !brain(s)), "cvt.sat does not take .bf16");
}

enum { CACHE_ST = 2, CACHE_NC };         /* operators of stores only; read-only data */

static void memory(struct comp *c, struct stmt *st)
{
	const char *name = st->od->name;
	u8 sem = st->mod[MC_SEM], scope = st->mod[MC_SCOPE], space = st->mod[MC_SPACE], op = st->mod[MC_ATOM];
	bool load = st->od->x == X_LD, ordered = sem == SEM_RELAXED || sem == SEM_ACQUIRE || sem == SEM_RELEASE;
	enum type t = st->type[0];

	if (st->od->x == X_ATOM) {
		NEED(!st->mod[MC_CP] || st->mod[MC_BULK] != BULK_TX || (sem == SEM_RELAXED && st->mod[MC_SCOPE] == SCOPE_CLUSTER),
		     "%s.async is .relaxed.cluster", name);
		NEED(sem != SEM_SC && (st->od->id == OPID_ATOM || (sem != SEM_ACQUIRE && sem != SEM_ACQ_REL)), "%s: this order is not permitted", name);
		NEED(!sem || sem == SEM_RELAXED || ordered || sem == SEM_ACQ_REL, "%s: this order is not permitted", name);
		NEED(space <= SPACE_SHARED, "%s is of global and shared memory", name);
		NEED(op != ATOM_ADD || t != T_S64 || st->mod[MC_CP], "%s.add takes .u64", name);
		NEED(!st->mod[MC_NOFTZ] || is_half(t), "%s.noftz does not take .%s", name, type_name(t));
		NEED(op != ATOM_EXCH || t != T_B16, "%s.exch does not take .b16", name);
		NEED(!is_half(t) || st->mod[MC_NOFTZ], "%s.%s needs .noftz", name, type_name(t));
		NEED((op != ATOM_CAS && op != ATOM_EXCH) || (t >= T_B8 && t <= T_B64) || t == T_B128, "%s: exchanges take .b32 and the like", name);
		return;
	}
	NEED(!ordered || scope, "%s: .relaxed, .acquire and .release have a scope", name);
	NEED(!scope || ordered || sem == SEM_MMIO, "%s: a scope without an order", name);
	NEED(load ? sem != SEM_RELEASE : sem != SEM_ACQUIRE, "%s: this order is not permitted", name);
	NEED(sem != SEM_ACQ_REL && sem != SEM_SC, "%s: this order is not permitted", name);
	NEED(!ordered || space <= SPACE_SHARED, "%s: nobody else sees .local memory", name);
	NEED(!sem || sem == SEM_WEAK || space <= SPACE_LOCAL, "%s: there is no order in this state space", name);
	NEED(st->mod[MC_CACHE] != CACHE_ST || !load, "ld takes no .wb or .wt");
	NEED(st->mod[MC_CACHE] != CACHE_NC || (load && space == SPACE_GLOBAL), "%s: .nc is for loads of global memory", name);
	NEED(st->od->id != OPID_LDU || space <= SPACE_GLOBAL, "ldu is of global memory");
}

static void others(struct comp *c, struct stmt *st)
{
	const char *name = st->od->name;
	bool new_target = c->m->target >= 70;
	u8 space = st->mod[MC_SPACE];

	switch (st->od->id) {
	case OPID_DISCARD:
		NEED(!space || space == SPACE_GLOBAL, "%s is of global memory", name);
		break;
	case OPID_APPLYPRIORITY:
		NEED(!space || space == SPACE_GLOBAL, "%s is of global memory", name);
		break;
	case OPID_PREFETCH:
		NEED(space != SPACE_SHARED && st->mod[MC_CACHE], "prefetch is of a cache level, and not of shared memory");
		break;
	case OPID_MAPA: case OPID_GETCTARANK:
		NEED(!space || space == SPACE_SHARED, "%s is of shared memory", name);
		break;
	case OPID_MEMBAR:
		NEED(st->mod[MC_SCOPE] != SCOPE_CLUSTER, "membar needs .cta, .gl or .sys");
		NEED(st->mod[MC_SCOPE] || st->mod[MC_PROXY], "membar needs .cta, .gl or .sys");
		break;
	case OPID_FENCE:
		/* without an order it is .acq_rel */
		NEED(st->mod[MC_PROXY] || (st->mod[MC_SCOPE] && (!st->mod[MC_SEM] || (st->mod[MC_SEM] >= SEM_ACQUIRE && st->mod[MC_SEM] <= SEM_SC))),
		     "fence needs a scope");
		break;
	case OPID_VOTE: case OPID_SHFL:
		/* without .sync nobody says which lanes take part, and since sm_70 nothing else does */
		NEED(st->mod[MC_SYNC] || !new_target, "%s without .sync is not for sm_70 and later", name);
		break;
	case OPID_MATCH:
		NEED(st->mod[MC_VOTE] != VOTE_ANY || st->op[0].second == OPND_NONE, "match.any has no predicate");
		break;
	case OPID_ELECT:
		NEED(st->op[0].second != OPND_NONE || st->nops < 2, "elect needs a predicate behind '|'");
		break;
	case OPID_BAR: case OPID_BARRIER:
		NEED(st->od->id != OPID_BAR || st->mod[MC_ALIGNED] != 1, "bar takes no .aligned, it is");
		if (st->nops == 2 && st->op[1].kind == O_INT && st->mod[MC_BAR] != BAR_RED)
			NEED(st->op[1].imm > 0 && st->op[1].imm % LANES == 0, "%s: threads come by warps, of %u", name, LANES);
		break;
	case OPID_MMA:
		NEED(!st->mod[MC_SPARSE] || c->m->target >= 80, "mma.sp is for sm_80 and later");
		break;
	case OPID_WGMMA:
		NEED(c->m->target >= 90 && c->m->target < 100, "wgmma is of sm_90a alone");
		break;
	case OPID_GRIDDEP:
		NEED(st->mod[MC_GRIDDEP], "griddepcontrol needs .wait or .launch_dependents");
		break;
	}
}

void check_rules(struct comp *c, struct stmt *st)
{
	switch (st->od->x) {
	case X_LANE: case X_ARITH: case X_CARRY: case X_SHF: case X_DP:
		arithmetic(c, st);
		break;
	case X_SETP: case X_SET:
		compare(c, st);
		break;
	case X_CVT:
		convert(c, st);
		break;
	case X_LD: case X_ST: case X_ATOM:
		memory(c, st);
		break;
	default:
		others(c, st);
	}
}
