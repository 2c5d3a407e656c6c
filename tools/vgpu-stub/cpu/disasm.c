/* SPDX-License-Identifier: MIT */
/*
 * Warp IR as text, and the names that are kept for it.
 *
 * Mnemonics come from ops.def and lanes.def: a lane operation is the row of the op table whose name it begins with, and
 * what is left of its own name are modifiers of that row (MULWIDE: mul.wide; SHFLW: shf.l.wrap). Operations that PTX does
 * not have (flush, pack, xtr) are called as lanes.h calls them. What the engine ignores (caches, scopes) is not there
 * any more.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "front.h"
#include "jit.h"
#include "memcheck.h"

void dt_say(struct dtext *t, const char *fmt, ...)
{
	size_t room = t->room - t->n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->n, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- names ------------------------------------------------------------------------------- */

void names_reg(struct comp *c, const struct sym *v, const char *s, u32 n, u32 count)
{
	if (!count)
		return;
	c->rnames = cneed(c, xgrow(c->rnames, &c->rnames_cap, c->nrnames + 1, sizeof(*c->rnames)));
	c->rnames[c->nrnames++] = (struct regname){ .first = v->reg, .count = count, .n = n, .type = v->type,
						    .vec = (u8)v->vec, .family = v->family != 0, .s = s };
}

/* Before registers become slots. Without memory for it there are no names. */
void names_keep(struct comp *c, const struct insn *code, u32 ncode)
{
	struct pool *p = &c->m->pool;
	struct fnames *f = pool_alloc(p, sizeof(*f));
	struct insn *copy;
	u32 i;

	if (!f)
		return;
	f->reg = pool_alloc(p, c->nrnames * sizeof(*f->reg) + 1);
	f->label = pool_alloc(p, c->nlabels * sizeof(*f->label) + 1);
	f->uni = pool_alloc(p, c->nunames * sizeof(*f->uni) + 1);
	if (!f->reg || !f->label || !f->uni)
		return;
	if (c->nrnames)
		memcpy(f->reg, c->rnames, c->nrnames * sizeof(*f->reg));
	if (c->nunames)
		memcpy(f->uni, c->unames, c->nunames * sizeof(*f->uni));
	f->nreg = c->nrnames;
	f->nuni = c->nunames;
	f->konst_bytes = c->konst_bytes;
	c->fn->names = f;
	if (c->fn->jsrc)
		return;
	copy = pool_alloc(p, ncode * sizeof(*copy));
	if (!copy)
		return;
	memcpy(copy, code, ncode * sizeof(*copy));
	for (i = 0; i < ncode; i++) {
		struct callinfo *ci = copy[i].u.call;
		struct arg *list;

		if (copy[i].kind != K_CALL)
			continue;
		/* one that has its own lists: cfg.c puts slots into the others */
		copy[i].u.call = pool_alloc(p, sizeof(*ci));
		list = pool_alloc(p, (ci->nargs + ci->nrets) * sizeof(*list) + 1);
		if (!copy[i].u.call || !list)
			return;
		*copy[i].u.call = *ci;
		memcpy(list, ci->args, ci->nargs * sizeof(*list));
		memcpy(list + ci->nargs, ci->rets, ci->nrets * sizeof(*list));
		copy[i].u.call->args = list;
		copy[i].u.call->rets = list + ci->nargs;
	}
	f->code = copy;
}

void names_label(struct func *fn, const struct label *l, u32 pc)
{
	fn->names->label[fn->names->nlabel++] = (struct labelname){ pc, l->ntext, l->text };
}

u32 disasm_pc(const struct func *fn, const struct insn *in)
{
	u32 pc = (u32)(in - fn->code);

	return fn->stepped ? pc / 2 : pc;
}

const struct insn *disasm_virtual(const struct func *fn, const struct insn *in)
{
	const struct insn *code = fn->jsrc ? fn->jsrc->code : fn->names ? fn->names->code : NULL;

	/* the prologue's operands are places in the pool, as they were */
	if (fn->npro && in >= fn->pro && in < fn->pro + fn->npro)
		return in;
	return code && in >= fn->code && in < fn->code + fn->ncode ? code + disasm_pc(fn, in) : NULL;
}

void disasm_label(const struct func *fn, u32 pc, struct dtext *t)
{
	u32 i;

	if (fn->stepped)
		pc /= 2;
	for (i = 0; fn->names && i < fn->names->nlabel; i++)
		if (fn->names->label[i].pc == pc) {
			dt_say(t, "%.*s", (int)(fn->names->label[i].n < 80 ? fn->names->label[i].n : 80), fn->names->label[i].s);
			return;
		}
	dt_say(t, "L%u", pc);
}

static const struct regname *regname(const struct func *fn, u32 v)
{
	u32 lo = 0, hi = fn->names ? fn->names->nreg : 0;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		const struct regname *r = &fn->names->reg[mid];

		if (v < r->first)
			hi = mid;
		else if (v >= r->first + r->count)
			lo = mid + 1;
		else
			return r;
	}
	return NULL;
}

/* A register of the text, or one that lowering took for itself. */
static void say_reg(const struct func *fn, u32 v, struct dtext *t)
{
	const struct regname *r = regname(fn, v);
	u32 i = r ? v - r->first : 0;

	if (!r) {
		dt_say(t, "%%tmp%u", v);
		return;
	}
	dt_say(t, "%.*s", (int)(r->n < 80 ? r->n : 80), r->s);
	if (r->family)
		dt_say(t, "%u", r->vec ? i / r->vec : i);
	if (r->vec)
		dt_say(t, ".%c", "xyzw"[i % r->vec & 3]);
}

/* The register that a place in the pool was, OPND_NONE: it is a constant. */
static u32 pool_reg(const struct func *fn, u32 o)
{
	u32 i;

	if (!fn->names || (o & ~OPND_CONST) < fn->names->konst_bytes)
		return OPND_NONE;
	for (i = 0; i < fn->names->nuni; i++)
		if (fn->names->uni[i][0] == o)
			return fn->names->uni[i][1];
	return OPND_NONE;
}

/* ---- values ------------------------------------------------------------------------------ */

static float float_of(u32 bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static double double_of(u64 bits)
{
	double d;

	memcpy(&d, &bits, 8);
	return d;
}

void disasm_value(enum type type, u64 v, struct dtext *t)
{
	u32 bytes = type_bytes(type), digits;
	char s[40];

	if (bytes < 8)
		v &= (1ull << 8 * bytes) - 1;
	switch (type) {
	case T_PRED:
		dt_say(t, "%u", (u32)v & 1);
		return;
	case T_F32:
	case T_TF32:
		/* as short as it can be told from its neighbours */
		for (digits = 6; digits < 10; digits++) {
			snprintf(s, sizeof(s), "%.*g", (int)digits, (double)float_of((u32)v));
			if (strtof(s, NULL) == float_of((u32)v))
				break;
		}
		if (digits == 10)
			dt_say(t, "0f%08X", (u32)v);
		else
			dt_say(t, "%s%s", s, strpbrk(s, ".ein") ? "" : ".0");
		return;
	case T_F64:
		for (digits = 6; digits < 18; digits++) {
			snprintf(s, sizeof(s), "%.*g", (int)digits, double_of(v));
			if (strtod(s, NULL) == double_of(v))
				break;
		}
		if (digits == 18)
			dt_say(t, "0d%016llX", (unsigned long long)v);
		else
			dt_say(t, "%s%s", s, strpbrk(s, ".ein") ? "" : ".0");
		return;
	case T_S8: dt_say(t, "%d", (s8)v); return;
	case T_S16: dt_say(t, "%d", (s16)v); return;
	case T_S32: dt_say(t, "%d", (s32)v); return;
	case T_S64:
		/* far from 0 it is an address */
		if (v + (1ull << 40) < 1ull << 41) {
			dt_say(t, "%lld", (long long)v);
			return;
		}
		break;
	case T_U8: case T_U16: case T_U32:
		dt_say(t, "%llu", (unsigned long long)v);
		return;
	default:
		break;
	}
	if (v < 65536 && !type_is_float(type))
		dt_say(t, "%llu", (unsigned long long)v);
	else
		dt_say(t, "0x%llx", (unsigned long long)v);
}

/* A variable of the module and where in it. */
static bool say_variable(const struct func *fn, u64 a, struct dtext *t)
{
	const struct module *m = fn->m;
	u32 i;

	for (i = 0; i < m->nlist; i++) {
		const struct sym *s = m->list[i];

		if (s->what != V_VAR || s->ext || (s->space != SPACE_GLOBAL && s->space != SPACE_CONST) || a - s->addr >= s->bytes)
			continue;
		dt_say(t, "%s", s->name);
		if (a != s->addr)
			dt_say(t, "+%llu", (unsigned long long)(a - s->addr));
		return true;
	}
	return false;
}

/* A place in the constant pool. */
static void say_pool(const struct func *fn, u32 o, enum type type, struct dtext *t)
{
	u32 was = pool_reg(fn, o), off = o & ~OPND_CONST;
	u64 v = 0;

	if (was != OPND_NONE) {
		say_reg(fn, was, t);
		return;
	}
	if (!fn->cpool || off + (type_bytes(type) == 8 ? 8 : 4) > fn->cpool_bytes) {
		dt_say(t, "pool+%u", off);
		return;
	}
	memcpy(&v, fn->cpool + off, type_bytes(type) == 8 ? 8 : 4);
	if (type_bytes(type) == 8 && !type_is_float(type) && v >= 65536 && say_variable(fn, v, t))
		return;
	disasm_value(type, v, t);
}

/* ---- mnemonics --------------------------------------------------------------------------- */

static const char *const lop_names[LOP_COUNT] = {
#define LOP_NAME(n) [LOP_##n] = #n,
	LOP_LIST(LOP_NAME)
#undef LOP_NAME
};

/* How lanes.def loads and stores the lanes of each operation; c32, h, bf and pm as it says. */
enum { AS__ = T_NONE, AS_u16 = T_U16, AS_u32 = T_U32, AS_u64 = T_U64, AS_s16 = T_S16, AS_s32 = T_S32, AS_s64 = T_S64,
       AS_f32 = T_F32, AS_f64 = T_F64, AS_c32 = T_F32, AS_h = T_F16, AS_bf = T_BF16, AS_pm = T_PRED };
static const struct lane_row { u8 lop, type, as[4]; } lane_rows[] = {
#define L(lop, type, D, A, B, C, expr) { LOP_##lop, T_##type, { AS_##D, AS_##A, AS_##B, AS_##C } },
#define S(cmp, type, A, expr)
#include "lanes.def"
#undef L
#undef S
};

/* The row that lower.c took: a type without one uses a wider notion of it. */
static const struct lane_row *lane_row(u32 lop, u32 type)
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
	const struct lane_row *row = lane_row(in->lop, in->type);
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

static void say_carry(struct dtext *t, const struct insn *in)
{
	static const u8 ops[3][2] = { { OPID_ADD, OPID_ADDC }, { OPID_SUB, OPID_SUBC }, { OPID_MAD, OPID_MADC } };

	dt_say(t, "%s", op_table[ops[in->sub < 2 ? in->sub : 2][in->sub2 & 1]].name);
	if (in->sub >= 2)
		say_mod(t, MC_HLW, in->sub == 3 ? HLW_HI : HLW_LO);
	if (in->sub2 & 2)
		say_mod(t, MC_CC, 1);
	say_type(t, in->type);
}

static void say_op(struct dtext *t, u32 id)
{
	dt_say(t, "%s", op_table[id].name);
}

/* What the instruction is called, with its modifiers and types. */
static void mnemonic(const struct insn *in, struct dtext *t)
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
	case K_CARRY:
		say_carry(t, in);
		return;
	case K_BFI:
	case K_LOP3:
		say_op(t, in->kind == K_BFI ? OPID_BFI : OPID_LOP3);
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
	}
	dt_say(t, "nop");
}

/* ---- operands ---------------------------------------------------------------------------- */

struct dis {
	const struct func *fn;
	const struct insn *in, *v;      /* v: with virtual registers, or NULL */
	struct dtext *t;
	const char *sep;                /* before the next operand */
};

/* Operand that stands in the code as slot and in the virtual code as reg. */
static void say_opnd(struct dis *d, u32 slot, u32 reg, enum type type)
{
	dt_say(d->t, "%s", d->sep);
	d->sep = ", ";
	if (slot == OPND_NONE)
		dt_say(d->t, "_");
	else if (slot & OPND_CONST)
		say_pool(d->fn, slot, type, d->t);
	else if (d->v)
		say_reg(d->fn, reg, d->t);
	else
		dt_say(d->t, "%%slot%u", slot);
}

static void o(struct dis *d, u32 i, enum type type)
{
	say_opnd(d, d->in->o[i], d->v ? d->v->o[i] : 0, type);
}

/* The i-th operand with the one behind a |. */
static void pair(struct dis *d, u32 i, u32 second, enum type type)
{
	o(d, i, type);
	if (d->in->o[second] == OPND_NONE)
		return;
	d->sep = "|";
	o(d, second, T_PRED);
}

static void negated(struct dis *d, u32 i, bool neg)
{
	dt_say(d->t, "%s%s", d->sep, neg ? "!" : "");
	d->sep = "";
	o(d, i, T_PRED);
}

static void vector(struct dis *d, u32 i, u32 n, enum type type)
{
	u32 k;

	if (n == 1) {
		o(d, i, type);
		return;
	}
	dt_say(d->t, "%s{", d->sep);
	d->sep = "";
	for (k = 0; k < n; k++)
		o(d, i + k, type);
	dt_say(d->t, "}");
}

static void offset(struct dis *d, s64 off)
{
	if (off)
		dt_say(d->t, "%s%lld", off > 0 ? "+" : "", (long long)off);
}

static void address(struct dis *d)
{
	dt_say(d->t, "%s[", d->sep);
	d->sep = "";
	o(d, 4, d->in->aw ? T_U64 : T_U32);
	offset(d, d->in->imm);
	dt_say(d->t, "]");
	d->sep = ", ";
}

static void param(struct dis *d)
{
	const struct func *fn = d->fn;
	u32 i;

	dt_say(d->t, ", [");
	for (i = fn->nparams; i-- > 0;)
		if (fn->params[i].off <= (u64)d->in->imm)
			break;
	if (i < fn->nparams)
		dt_say(d->t, "%.80s", fn->params[i].name);
	offset(d, d->in->imm - (i < fn->nparams ? fn->params[i].off : 0));
	dt_say(d->t, "]");
}

static void args(struct dis *d, const struct arg *slot, const struct arg *reg, u32 n)
{
	u32 i;

	dt_say(d->t, "%s(", d->sep);
	d->sep = "";
	for (i = 0; i < n; i++) {
		if (slot[i].is_reg) {
			say_opnd(d, slot[i].opnd, reg ? reg[i].opnd : 0, slot[i].w == 2 ? T_PRED : slot[i].w ? T_U64 : T_U32);
		} else {
			dt_say(d->t, "%s[local+%u]", d->sep, slot[i].off);
			d->sep = ", ";
		}
	}
	dt_say(d->t, ")");
	d->sep = ", ";
}

static void call(struct dis *d)
{
	const struct callinfo *ci = d->in->u.call, *v = d->v ? d->v->u.call : NULL;

	if (ci->nrets)
		args(d, ci->rets, v ? v->rets : NULL, ci->nrets);
	if (ci->name)
		dt_say(d->t, "%s%.200s", d->sep, ci->name);
	else
		o(d, 0, T_U64);
	d->sep = ", ";
	args(d, ci->args, v ? v->args : NULL, ci->nargs);
}

static void targets(struct dis *d)
{
	u32 n = d->in->u.targets[0], i;

	o(d, 0, T_U32);
	dt_say(d->t, ", {");
	for (i = 1; i <= n && i <= 16; i++) {
		dt_say(d->t, "%s", i > 1 ? ", " : "");
		disasm_label(d->fn, d->in->u.targets[i], d->t);
	}
	if (n > 16)
		dt_say(d->t, " and %u more", n - 16);
	dt_say(d->t, "}");
}

/* The type as which an operand is read: a register's own where the operation only moves bits. */
static enum type lane_type(const struct dis *d, u32 i)
{
	const struct lane_row *row = lane_row(d->in->lop, d->in->type);
	enum type type = row ? row->as[i] : d->in->type;
	const struct regname *r;
	u32 was = d->in->o[0];

	if (type == T_PRED || type_is_float(type) || (d->in->lop >= LOP_CVT_SEXT && d->in->lop <= LOP_CVT_TRUNC))
		return type;
	if (d->in->lop != LOP_MOV && d->in->lop != LOP_SELP)
		return type_bytes(type) == type_bytes(d->in->type) ? (enum type)d->in->type : type;
	was = was & OPND_CONST ? pool_reg(d->fn, was) : d->v ? d->v->o[0] : OPND_NONE;
	r = was == OPND_NONE ? NULL : regname(d->fn, was);
	return r && type_bytes(r->type) == type_bytes(type) ? (enum type)r->type : type;
}

static void lane_operands(struct dis *d)
{
	const struct lane_row *row = lane_row(d->in->lop, d->in->type);
	u32 i;

	for (i = 0; i < 4; i++)
		if (!row || row->as[i])
			o(d, i, lane_type(d, i));
}

static void operands(struct dis *d)
{
	const struct insn *in = d->in;
	enum type type = in->type;
	u32 i;

	switch (mc_plain_kind(in->kind)) {
	case K_LANE:
		lane_operands(d);
		return;
	case K_SETP:
		pair(d, 0, 1, T_PRED);
		d->sep = ", ";
		o(d, 2, type);
		if (in->lop <= CMP_NAN)
			o(d, 3, type);
		if (in->sub)
			negated(d, 4, in->flags & INF_CNEG);
		return;
	case K_PRED:
		o(d, 0, T_PRED);
		negated(d, 1, in->flags & INF_CNEG);
		if (in->sub >= PRED_AND)
			negated(d, 2, in->flags & INF_BNEG);
		return;
	case K_SREG:
		o(d, 0, T_U32);
		dt_say(d->t, ", %s", sreg_name(in->sub));
		if (in->sub >= SR_ENVREG0 && in->sub < SR_WARPSZ)
			dt_say(d->t, "%u", in->sub - SR_ENVREG0);
		return;
	case K_LADDR:
		o(d, 0, T_U64);
		dt_say(d->t, ", local");
		offset(d, in->imm);
		return;
	case K_CARRY:
		o(d, 0, type);
		for (i = 2; i < (in->sub < 2 ? 4 : 5); i++)
			o(d, i, type);
		return;
	case K_BFI:
	case K_LOP3:
		for (i = 0; i < 5; i++)
			if (in->kind == K_BFI || i < 4)
				o(d, i, i < 3 || in->kind == K_LOP3 ? type : T_U32);
		if (in->kind == K_LOP3)
			dt_say(d->t, ", 0x%02x", (u32)in->imm);
		return;
	case K_CVT:
		o(d, 0, type);
		o(d, 1, in->stype);
		if (type == T_F16X2 || type == T_BF16X2)
			o(d, 2, in->stype);
		return;
	case K_CVTA:
	case K_ISSPACEP:
		o(d, 0, T_U64);
		o(d, 1, T_U64);
		return;
	case K_LD:
		vector(d, 0, in->vec, type);
		address(d);
		return;
	case K_LDPARAM:
		vector(d, 0, in->vec, type);
		param(d);
		return;
	case K_ST:
		address(d);
		vector(d, 0, in->vec, type);
		return;
	case K_ATOM:
		if (in->def)
			o(d, 0, type);
		address(d);
		o(d, 1, type);
		if (in->o[2] != OPND_NONE)
			o(d, 2, type);
		return;
	case K_SHFL:
		pair(d, 0, 1, T_B32);
		d->sep = ", ";
		for (i = 3; i < 6; i++)
			o(d, i, T_B32);
		if (in->o[2] != OPND_NONE)
			o(d, 2, T_B32);
		return;
	case K_VOTE:
		o(d, 0, T_B32);
		negated(d, 1, in->flags & INF_CNEG);
		if (in->o[2] != OPND_NONE)
			o(d, 2, T_B32);
		return;
	case K_MATCH:
		pair(d, 0, 1, T_B32);
		d->sep = ", ";
		if (in->sub)
			o(d, 3, in->aw ? T_B64 : T_B32);
		o(d, 2, T_B32);
		return;
	case K_REDUX:
		for (i = 0; i < 3; i++)
			o(d, i, i < 2 ? type : T_B32);
		return;
	case K_ACTIVEMASK:
		o(d, 0, T_B32);
		return;
	case K_WARPSYNC:
		o(d, 2, T_B32);
		return;
	case K_TENSOR:
		o(d, 0, in->aw ? T_U64 : T_B32);
		if (in->sub != TENSOR_MMA) {
			o(d, 1, in->aw ? T_U64 : T_B32);
			if (in->sub != TENSOR_TRANS)
				dt_say(d->t, ", %u", in->sub2);
			return;
		}
		vector(d, 1, in->o[2] != OPND_NONE ? 2 : 1, T_B32);
		vector(d, 3, in->o[4] != OPND_NONE ? 2 : 1, T_B32);
		o(d, 5, T_B32);
		dt_say(d->t, ", %u", in->sub2);
		return;
	case K_BAR:
		if (in->sub == BAR_RED)
			o(d, 0, T_U32);
		o(d, 1, T_U32);
		if (in->o[2] != OPND_NONE)
			o(d, 2, T_U32);
		if (in->o[3] != OPND_NONE)
			negated(d, 3, in->flags & INF_CNEG);
		return;
	case K_NANOSLEEP:
		o(d, 0, T_U32);
		return;
	case K_JMP:
	case K_CBRA:
		dt_say(d->t, "%s", d->sep);
		disasm_label(d->fn, in->taken, d->t);
		return;
	case K_BRX:
		targets(d);
		return;
	case K_CALL:
		call(d);
		return;
	}
}

void disasm(const struct func *fn, const struct insn *in, struct dtext *t)
{
	struct dis d = { fn, in, disasm_virtual(fn, in), t, " " };

	if (in->guard != OPND_NONE) {
		d.sep = in->gneg ? "@!" : "@";
		say_opnd(&d, in->guard, d.v ? d.v->guard : 0, T_PRED);
		dt_say(t, " ");
		d.sep = " ";
	}
	mnemonic(in, t);
	operands(&d);
}

bool disasm_result(const struct func *fn, const struct insn *in, u32 i, struct dtext *name, enum type *type)
{
	struct dis d = { fn, in, disasm_virtual(fn, in), name, "" };
	const struct regname *r = NULL;
	u32 reg;

	if (i >= 6 || !(in->def >> i & 1) || in->o[i] == OPND_NONE)
		return false;
	o(&d, i, T_U32);
	reg = in->o[i] & OPND_CONST ? pool_reg(fn, in->o[i]) : d.v ? d.v->o[i] : OPND_NONE;
	if (reg != OPND_NONE)
		r = regname(fn, reg);
	switch (mc_plain_kind(in->kind)) {
	case K_SETP:
	case K_PRED:
	case K_ISSPACEP:
		*type = T_PRED;
		return true;
	case K_SHFL:
	case K_MATCH:
	case K_CARRY:
		*type = i ? T_PRED : in->dw ? T_U64 : T_U32;
		break;
	case K_VOTE:
	case K_BAR:
		*type = in->dw == 2 ? T_PRED : T_U32;
		return true;
	case K_LANE:
		*type = lane_type(&d, 0);
		break;
	case K_CVT:
	case K_LD:
	case K_LDPARAM:
	case K_ATOM:
		*type = in->type;
		break;
	default:
		*type = in->dw ? T_U64 : T_U32;
	}
	/* bits, or a register of floats: as it was declared */
	if (r && *type != T_PRED && !type_is_float(*type) && type_is_float(r->type) && type_bytes(r->type) == type_bytes(*type))
		*type = r->type;
	/* narrow results are wider in their registers, and their sign is there */
	return true;
}
