/* SPDX-License-Identifier: MIT */
/*
 * What lowered instructions are called. Called by disasm.c.
 *
 * Mnemonics come from ops.def and lanes.def: a lane operation is the row of the op table whose name it begins with, and
 * what is left of its own name are modifiers of that row (MULWIDE: mul.wide; SHFLW: shf.l.wrap). Operations that PTX does
 * not have (flush, pack, xtr) are called as lanes.h calls them. What the engine ignores (caches, scopes) is not there
 * any more.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "disasm.h"
#include "lanes.h"
#include "memcheck.h"

static const char *const lop_names[LOP_COUNT] = {
#define LOP_NAME(n) [LOP_##n] = #n,
	LOP_LIST(LOP_NAME)
#undef LOP_NAME
};

/* How lanes.def loads and stores the lanes of each operation; c32, h, bf and pm as it says. */
enum { AS__ = T_NONE, AS_u16 = T_U16, AS_u32 = T_U32, AS_u64 = T_U64, AS_s16 = T_S16, AS_s32 = T_S32, AS_s64 = T_S64,
       AS_f32 = T_F32, AS_f64 = T_F64, AS_c32 = T_F32, AS_h = T_F16, AS_bf = T_BF16, AS_pm = T_PRED };
static const struct lane_row lane_rows[] = {
#define L(lop, type, D, A, B, C, expr) { LOP_##lop, T_##type, { AS_##D, AS_##A, AS_##B, AS_##C } },
#define S(cmp, type, A, expr)
#include "lanes.def"
#undef L
#undef S
};

/* The row that lower.c took: a type without one uses a wider notion of it. */
const struct lane_row *disasm_lane(u32 lop, u32 type)
{
	u32 likes[3] = { type, T_NONE, T_NONE }, k, i;

	if (type >= T_S8 && type <= T_S64)
		likes[1] = type - T_S8 + T_U8;
	else if (type >= T_B8 && type <= T_B64)
		likes[1] = type - T_B8 + T_U8;
	else if (type_is_float(type) || type_bytes(type) == 4)
		likes[1] = type_bytes(type) == 8 ? T_U64 : type_bytes(type) == 4 ? T_U32 : T_U16;
	for (k = 0; k < 2; k++)
		for (i = 0; i < sizeof(lane_rows) / sizeof(lane_rows[0]); i++)
			if (lane_rows[i].lop == lop && lane_rows[i].type == likes[k])
				return &lane_rows[i];
	return NULL;
}

static size_t begins(const char *s, const char *word)
{
	size_t n = strlen(word);

	return n && !strncasecmp(s, word, n) ? n : 0;
}

/* The row of the op table that the lane operation belongs to; *rest: what its name says beyond that. */
static const struct opdesc *lane_op(u32 lop, u32 type, const char **rest)
{
	const u64 classes = 1ull << X_LANE | 1ull << X_ARITH | 1ull << X_LOGIC | 1ull << X_SHF | 1ull << X_PRMT | 1ull << X_DP |
			    1ull << X_SLCT | 1ull << X_MOV | 1ull << X_CVT;
	const struct opdesc *best = NULL;
	const char *s = lop_names[lop];
	size_t most = 0;
	u32 i;

	for (i = 1; i < OPID_COUNT; i++) {
		const struct opdesc *od = &op_table[i];
		size_t n = begins(s, od->name), whole;

		if (!(classes >> od->x & 1))
			continue;
		whole = od->lop ? begins(s, lop_names[od->lop]) : 0;
		whole = whole > n ? whole : n;
		/* fma and mad are one operation: the one that has the type, and of two that do the later */
		if (!whole || whole < most || (whole == most && !(od->types >> type & 1)))
			continue;
		best = od;
		most = whole;
		*rest = s + (n ? n : whole);
	}
	return best;
}

static void say_type(struct dtext *t, u32 type)
{
	if (type)
		dt_say(t, ".%s", type_name(type));
}

static void say_mod(struct dtext *t, enum modclass cls, u32 val)
{
	const char *s = val ? mod_name(cls, val) : NULL;

	if (s)
		dt_say(t, ".%s", s);
}

/* Rounding and flushing, as MXCSR will be. */
static void say_mxcsr(struct dtext *t, const struct opdesc *od, const struct insn *in)
{
	static const u8 modes[] = { RND_RN, RND_RM, RND_RP, RND_RZ };

	if (in->mxcsr && od->mods >> MC_RND & 1)
		say_mod(t, MC_RND, modes[in->mxcsr >> 13 & 3]);
	if (in->mxcsr & 0x8000)
		say_mod(t, MC_FTZ, 1);
}

/* The modifiers in what is left of a lane operation's name; the letters U, S and F are types, which come last. */
static bool say_rest(struct dtext *t, const struct opdesc *od, const char **rest)
{
	const char *s = *rest, *mod, *best;
	bool half = false;

	while (*s && od->x != X_SLCT) {
		size_t n, k, most = 0;
		u32 i;

		for (i = 0, best = NULL; (mod = mod_nth(od, i)); i++) {
			n = strlen(mod);
			for (k = 0; s[k] && mod[k] && tolower((u8)s[k]) == tolower((u8)mod[k]); k++)
				;
			if (k > most || (k == most && k == n && best && strlen(best) > n)) {
				most = k;
				best = mod;
			}
		}
		if (!best)
			break;
		dt_say(t, ".%s", best);
		half |= begins(best, "lo") || begins(best, "hi") || begins(best, "wide");
		s += most;
	}
	*rest = s;
	return half;
}

static void say_lane(struct dtext *t, const struct insn *in)
{
	const struct lane_row *row = disasm_lane(in->lop, in->type);
	const char *rest = "", *p;
	const struct opdesc *od = lane_op(in->lop, in->type, &rest);
	bool half;

	if (!od) {
		for (p = lop_names[in->lop]; *p; p++)
			dt_say(t, "%c", tolower((u8)*p));
		say_type(t, in->type);
		return;
	}
	dt_say(t, "%s", od->name);
	if (od->x == X_CVT) {
		if (row && !(type_is_float(row->as[1]) && type_bytes(row->as[1]) < type_bytes(row->as[0])))
			say_mxcsr(t, od, in);
		say_type(t, row ? row->as[0] : in->type);
		say_type(t, row ? row->as[1] : in->type);
		return;
	}
	say_mxcsr(t, od, in);
	half = say_rest(t, od, &rest);
	if ((od->mods >> MC_HLW & 1) && !half && !type_is_float(in->type))
		say_mod(t, MC_HLW, HLW_LO);
	if (od->x != X_DP)
		say_type(t, in->type);
	for (; *rest; rest++)
		say_type(t, *rest == 'U' ? T_U32 : *rest == 'S' ? T_S32 : T_F32);
}

static const u8 pred_ops[] = { [PRED_MOV] = OPID_MOV, [PRED_NOT] = OPID_NOT, [PRED_AND] = OPID_AND, [PRED_OR] = OPID_OR,
			       [PRED_XOR] = OPID_XOR };

static void say_op(struct dtext *t, u32 id)
{
	dt_say(t, "%s", op_table[id].name);
}

/* What the instruction is called, with its modifiers and types. */
void disasm_op(const struct insn *in, struct dtext *t)
{
	switch (mc_plain_kind(in->kind)) {
	case K_LANE:
		say_lane(t, in);
		return;
	case K_SETP:
		say_op(t, in->lop > CMP_NAN ? OPID_TESTP : OPID_SETP);
		say_mod(t, in->lop > CMP_NAN ? MC_TESTP : MC_CMP, in->lop > CMP_NAN ? in->lop - CMP_NAN : in->lop);
		say_mod(t, MC_BOOL, in->sub);
		if (in->mxcsr & 0x8000)
			say_mod(t, MC_FTZ, 1);
		say_type(t, in->type);
		return;
	case K_PRED:
		say_op(t, pred_ops[in->sub]);
		say_type(t, T_PRED);
		return;
	case K_SREG:
	case K_LADDR:
		say_op(t, OPID_MOV);
		say_type(t, in->dw ? T_U64 : T_U32);
		return;
	case K_LOP3:
		say_op(t, OPID_LOP3);
		say_type(t, in->type);
		return;
	case K_CVT:
		say_op(t, OPID_CVT);
		say_mod(t, MC_RND, in->sub);
		say_mod(t, MC_FTZ, in->flags & INF_FTZ ? 1 : 0);
		say_mod(t, MC_SAT, in->flags & INF_SAT ? 1 : 0);
		say_mod(t, MC_RELU, in->flags & INF_RELU ? 1 : 0);
		say_type(t, in->type);
		say_type(t, in->stype);
		return;
	case K_CVTA:
		say_op(t, OPID_CVTA);
		say_mod(t, MC_TO, in->sub);
		say_mod(t, MC_SPACE, in->space);
		say_type(t, T_U64);
		return;
	case K_ISSPACEP:
		say_op(t, OPID_ISSPACEP);
		say_mod(t, MC_SPACE, in->space);
		return;
	case K_LD:
	case K_LDPARAM:
	case K_ST:
		say_op(t, in->def ? OPID_LD : OPID_ST);
		say_mod(t, MC_SPACE, in->kind == K_LDPARAM ? SPACE_PARAM : in->space);
		say_mod(t, MC_VEC, in->vec > 1 ? in->vec : 0);
		say_type(t, in->type);
		return;
	case K_ATOM:
		say_op(t, in->def ? OPID_ATOM : OPID_RED);
		say_mod(t, MC_SPACE, in->space);
		say_mod(t, MC_ATOM, in->sub);
		say_type(t, in->type);
		return;
	case K_SHFL:
		say_op(t, OPID_SHFL);
		say_mod(t, MC_SYNC, in->o[2] != OPND_NONE);
		say_mod(t, MC_SHFL, in->sub);
		say_type(t, T_B32);
		return;
	case K_VOTE:
		say_op(t, OPID_VOTE);
		say_mod(t, MC_SYNC, in->o[2] != OPND_NONE);
		say_mod(t, MC_VOTE, in->sub);
		say_type(t, in->sub == VOTE_BALLOT ? T_B32 : T_PRED);
		return;
	case K_MATCH:
		say_op(t, in->sub ? OPID_MATCH : OPID_ELECT);
		say_mod(t, MC_VOTE, in->sub);
		say_mod(t, MC_SYNC, 1);
		if (in->sub)
			say_type(t, in->aw ? T_B64 : T_B32);
		return;
	case K_REDUX:
		say_op(t, OPID_REDUX);
		say_mod(t, MC_SYNC, 1);
		say_mod(t, MC_ATOM, in->sub);
		say_type(t, in->type);
		return;
	case K_ACTIVEMASK:
		say_op(t, OPID_ACTIVEMASK);
		say_type(t, T_B32);
		return;
	case K_WARPSYNC:
		say_op(t, OPID_BAR);
		say_mod(t, MC_ALIGNED, 2);
		say_mod(t, MC_BAR, BAR_SYNC);
		return;
	case K_TENSOR:
		/* parts of these: the address of a row; the matrix transposed; one register of a product */
		say_op(t, in->sub == TENSOR_MMA ? OPID_MMA : in->sub == TENSOR_TRANS ? OPID_MOVMATRIX : OPID_LDMATRIX);
		if (in->sub == TENSOR_TRANS)
			say_mod(t, MC_TRANS, 1);
		else if (in->sub != TENSOR_MMA)
			say_mod(t, MC_ROW, 1);
		if (in->sub == TENSOR_ROW_LO || in->sub == TENSOR_ROW_HI)
			say_mod(t, MC_HLW, in->sub == TENSOR_ROW_LO ? HLW_LO : HLW_HI);
		say_type(t, in->sub == TENSOR_MMA ? in->type : in->sub == TENSOR_TRANS ? T_B16 : in->aw ? T_U64 : T_U32);
		if (in->sub == TENSOR_MMA)
			say_type(t, in->stype);
		return;
	case K_GEN:
		say_op(t, in->lop);
		say_type(t, in->type);
		say_type(t, in->stype);
		return;
	case K_BAR:
		say_op(t, in->flags & INF_ALIGNED ? OPID_BAR : OPID_BARRIER);
		say_mod(t, MC_BAR, in->sub);
		say_mod(t, MC_RED, in->sub == BAR_RED ? in->sub2 : 0);
		if (in->sub == BAR_RED)
			say_type(t, in->sub2 == RED_POPC ? T_U32 : T_PRED);
		return;
	case K_MEMBAR: say_op(t, OPID_MEMBAR); return;
	case K_NANOSLEEP:
		say_op(t, OPID_NANOSLEEP);
		say_type(t, T_U32);
		return;
	case K_JMP:
	case K_CBRA: say_op(t, OPID_BRA); return;
	case K_BRX:
		say_op(t, OPID_BRX);
		say_mod(t, MC_IDX, 1);
		return;
	case K_CALL: say_op(t, OPID_CALL); return;
	case K_RET: say_op(t, OPID_RET); return;
	case K_EXIT: say_op(t, OPID_EXIT); return;
	case K_TRAP: say_op(t, in->sub ? OPID_BRKPT : OPID_TRAP); return;
	case K_STEP: dt_say(t, "step"); return;
	case K_LATER: dt_say(t, "later"); return;
	}
	dt_say(t, in->flags & INF_MEET ? "meet" : "nop");
}
