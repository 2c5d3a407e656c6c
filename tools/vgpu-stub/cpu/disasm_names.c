/* SPDX-License-Identifier: MIT */
/*
 * What instructions as text are made of: names of registers and labels, which compilation keeps for that, and values.
 * Called by the front end and by disasm.c.
 */
#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "jit.h"

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
/* The register that was made last is called like this one. */
void names_same(struct comp *c, u32 made, u32 like)
{
	if (!c->nrsame)
		c->rsame_first = made;
	while (like >= c->rsame_first && like - c->rsame_first < c->nrsame)
		like = c->rsame[like - c->rsame_first];
	c->rsame = cneed(c, xgrow(c->rsame, &c->rsame_cap, made - c->rsame_first + 1, sizeof(*c->rsame)));
	/* whatever else has been made in between has no name */
	while (c->rsame_first + c->nrsame < made)
		c->rsame[c->nrsame++] = OPND_NONE;
	c->rsame[c->nrsame++] = like;
}

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
	f->same = pool_alloc(p, c->nrsame * sizeof(*f->same) + 1);
	if (c->nrsame && f->same) {
		memcpy(f->same, c->rsame, c->nrsame * sizeof(*f->same));
		f->same_first = c->rsame_first;
		f->nsame = c->nrsame;
	}
	f->others = c->others ? pool_alloc(p, (size_t)c->nothers * c->fn->further * sizeof(*f->others)) : NULL;
	if (f->others) {
		memcpy(f->others, c->others, (size_t)c->nothers * c->fn->further * sizeof(*f->others));
		f->nothers = c->nothers;
	}
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

static u32 named(const struct func *fn, u32 v)
{
	const struct fnames *f = fn->names;

	return f && v >= f->same_first && v - f->same_first < f->nsame && f->same[v - f->same_first] != OPND_NONE ? f->same[v - f->same_first] : v;
}

const struct regname *disasm_regname(const struct func *fn, u32 reg)
{
	u32 v = named(fn, reg);
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
void disasm_reg(const struct func *fn, u32 v, struct dtext *t)
{
	const struct regname *r = disasm_regname(fn, v);
	u32 i = r ? named(fn, v) - r->first : 0;

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
u32 disasm_pool_reg(const struct func *fn, u32 o)
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
void disasm_pool(const struct func *fn, u32 o, enum type type, struct dtext *t)
{
	u32 was = disasm_pool_reg(fn, o), off = o & ~OPND_CONST;
	u64 v = 0;

	if (was != OPND_NONE) {
		disasm_reg(fn, was, t);
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
