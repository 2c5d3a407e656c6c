/* SPDX-License-Identifier: MIT */
/*
 * Warp IR as text: an instruction with its guard and operands, its results. Mnemonics: disasm_op.c; names and values:
 * disasm_names.c.
 */
#include <string.h>

#include "disasm.h"
#include "lanes.h"
#include "memcheck.h"

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
		disasm_pool(d->fn, slot, type, d->t);
	else if (d->v)
		disasm_reg(d->fn, reg, d->t);
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
	size_t own = strlen(fn->name);
	const char *name;
	u32 i;

	dt_say(d->t, ", [");
	for (i = fn->nparams; i-- > 0;)
		if (fn->params[i].off <= (u64)d->in->imm)
			break;
	if (i < fn->nparams) {
		name = fn->params[i].name;
		/* compilers put the kernel's name in front, and of C++ that is long */
		if (strlen(name) > 40 && !strncmp(name, fn->name, own) && name[own] == '_')
			name += own + 1;
		dt_say(d->t, "%.80s", name);
	}
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
	const struct lane_row *row = disasm_lane(d->in->lop, d->in->type);
	enum type type = row ? row->as[i] : d->in->type;
	const struct regname *r;
	u32 was = d->in->o[0];

	if (type == T_PRED || type_is_float(type) || (d->in->lop >= LOP_CVT_SEXT && d->in->lop <= LOP_CVT_TRUNC))
		return type;
	if (d->in->lop != LOP_MOV && d->in->lop != LOP_SELP)
		return type_bytes(type) == type_bytes(d->in->type) ? (enum type)d->in->type : type;
	was = was & OPND_CONST ? disasm_pool_reg(d->fn, was) : d->v ? d->v->o[0] : OPND_NONE;
	r = was == OPND_NONE ? NULL : disasm_regname(d->fn, was);
	return r && type_bytes(r->type) == type_bytes(type) ? (enum type)r->type : type;
}

static void lane_operands(struct dis *d)
{
	const struct lane_row *row = disasm_lane(d->in->lop, d->in->type);
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
	case K_LOP3:
		for (i = 0; i < 4; i++)
			o(d, i, type);
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
	case K_GEN:
		for (i = 0; i < 6; i++)
			if (((in->def | in->use) >> i & 1) && in->o[i] != OPND_NONE)
				o(d, i, T_B32);
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
	disasm_op(in, t);
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
	reg = in->o[i] & OPND_CONST ? disasm_pool_reg(fn, in->o[i]) : d.v ? d.v->o[i] : OPND_NONE;
	if (reg != OPND_NONE)
		r = disasm_regname(fn, reg);
	switch (mc_plain_kind(in->kind)) {
	case K_SETP:
	case K_PRED:
	case K_ISSPACEP:
		*type = T_PRED;
		return true;
	case K_SHFL:
	case K_MATCH:
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
		*type = in->dw == 2 ? T_PRED : in->dw ? T_U64 : T_U32;
	}
	/* bits, or a register of floats: as it was declared */
	if (r && *type != T_PRED && !type_is_float(*type) && type_is_float(r->type) && type_bytes(r->type) == type_bytes(*type))
		*type = r->type;
	/* narrow results are wider in their registers, and their sign is there */
	return true;
}
