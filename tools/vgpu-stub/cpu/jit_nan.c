/* SPDX-License-Identifier: MIT */
/*
 * What is known of the f32 in registers: whether their NaNs have bits of the processor's making, which are made canonical
 * when somebody looks at them; whether one may be a signalling NaN; whether one may be a denormal. Called by jit_scan.c.
 */
#include "jit.h"
#include "lanes.h"

/* The operation makes an f32 as the processor does, NaNs with it. */
bool jit_makes_raw(const struct insn *in)
{
	if (in->kind != K_LANE || in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_DIV: case LOP_RCP: case LOP_SQRT:
	case LOP_RSQRT: case LOP_MIN: case LOP_MAX: case LOP_CVT_F_H: case LOP_EX2:
		return true;
	}
	return false;
}

static bool raw_source(const struct jcomp *c, u32 o)
{
	struct jval v = jit_val(c, o, 0);

	if (!(o & OPND_CONST))
		return c->r[o].rawf;
	return v.known && ((u32)v.k & 0x7fffffffu) <= 0x7f800000u;
}

/* An f32 rounded to an integer; an f32 of one. */
static bool rounds(const struct insn *in)
{
	return in->kind == K_CVT && in->type == T_F32 && in->stype == T_F32 && in->sub >= RND_RNI && in->sub <= RND_RPI &&
	       !(in->flags & (INF_SAT | INF_RELU)) && !in->dw;
}

static bool from_int(const struct insn *in)
{
	return in->kind == K_CVT && in->type == T_F32 && !type_is_float(in->stype) && !in->dw;
}

/*
 * Registers that hold only what float operations made: their NaNs are made canonical when their bits
 * are looked at, not every time they are written.
 */
static void find_raw(struct jcomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].rawf = c->r[i].cls == JC_VARY && c->r[i].w == 0;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++) {
				bool raw = jit_makes_raw(in);

				if (!(in->def >> k & 1) || in->o[k] == OPND_NONE || !c->r[in->o[k]].rawf)
					continue;
				if (in->kind == K_LANE && in->lop == LOP_MOV && !in->dw)
					raw = raw_source(c, in->o[1]);
				if (in->kind == K_LANE && in->lop == LOP_SELP && !in->dw)
					raw = raw_source(c, in->o[1]) && raw_source(c, in->o[2]);
				if (in->kind == K_LANE && in->type == T_F32 && (in->lop == LOP_FLUSH || in->lop == LOP_ABS))
					raw = raw_source(c, in->o[1]);
				if (in->kind == K_SHFL)
					raw = k == 0 && raw_source(c, in->o[3]);
				if (in->kind == K_CVT)
					raw = rounds(in) || from_int(in);
				if (!raw) {
					c->r[in->o[k]].rawf = false;
					more = true;
				}
			}
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						c->r[in->u.call->rets[k].opnd].rawf = false;
		}
	}
}

/* Somebody who reads operand k: is it arithmetic, and if it is to be so, of the kind that flushes what it reads? */
static bool sums(const struct jcomp *c, const struct insn *in, u32 k, bool flushes)
{
	const struct jreg *d;

	if (in->kind != K_LANE || in->dw || in->o[0] == OPND_NONE)
		return false;
	d = &c->r[in->o[0]];
	if ((in->lop == LOP_MOV || (in->lop == LOP_SELP && k != 3)) && in->type != T_F16 && in->type != T_BF16)
		return flushes ? d->unflushed : d->summed;
	if (in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD:
		return !flushes || (in->mxcsr & 0x40);
	case LOP_FLUSH: case LOP_NEG:
		return flushes ? d->unflushed : d->summed;
	case LOP_MIN: case LOP_MAX:
		return !flushes;
	}
	return false;
}

/*
 * neg.ftz is a flush and a sign (lower2.c), and what compilers negate so goes into a sum: there NaNs need not be canonical, nor
 * denormals gone, for the sum sees to that.
 */
static void find_summed(struct jcomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].summed = c->r[i].unflushed = c->r[i].cls == JC_VARY && c->r[i].w == 0;
	for (i = 0; i < c->n; i++)
		for (k = 0; c->code[i].kind == K_CALL && k < c->code[i].u.call->nargs; k++) {
			const struct arg *a = &c->code[i].u.call->args[k];

			if (a->is_reg && !(a->opnd & OPND_CONST))
				c->r[a->opnd].summed = c->r[a->opnd].unflushed = false;
		}
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++) {
				struct jreg *r;

				if (!(in->use >> k & 1) || in->o[k] == OPND_NONE || (in->o[k] & OPND_CONST))
					continue;
				r = &c->r[in->o[k]];
				if (r->summed && !sums(c, in, k, false)) {
					r->summed = false;
					more = true;
				}
				if (r->unflushed && !sums(c, in, k, true)) {
					r->unflushed = false;
					more = true;
				}
			}
		}
	}
}

static bool quiet_source(const struct jcomp *c, u32 o, bool flushed)
{
	struct jval v = jit_val(c, o, 0);
	u32 e = (u32)v.k >> 23 & 255;

	if (!(o & OPND_CONST))
		return flushed ? c->r[o].flushed : c->r[o].quiet;
	return v.known && e != 255 && (!flushed || e || !((u32)v.k << 1));
}

/* What in leaves is no signalling NaN; is no denormal. */
static bool makes_quiet(const struct jcomp *c, const struct insn *in, u32 k, bool flushed)
{
	if (in->kind == K_SHFL)
		return k == 0 && quiet_source(c, in->o[3], flushed);
	if (rounds(in) || from_int(in))
		return true;
	if (in->kind != K_LANE)
		return false;
	if ((in->lop == LOP_MOV || in->lop == LOP_SELP) && !in->dw && in->type != T_F16 && in->type != T_BF16)
		return quiet_source(c, in->o[1], flushed) && (in->lop == LOP_MOV || quiet_source(c, in->o[2], flushed));
	if (in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_DIV:
		return !flushed || (in->mxcsr & 0x8000);
	case LOP_CVT_F_S32: case LOP_CVT_F_U32:
		return true;
	case LOP_FLUSH:
		return (flushed && !c->r[in->o[0]].unflushed) || quiet_source(c, in->o[1], flushed);
	case LOP_RCP:
		return !flushed || (in->mxcsr & 0x8000);
	case LOP_RSQRT:
		return true;            /* 2^-64 at the least, or 0 */
	case LOP_SQRT:
		return !flushed || (in->mxcsr & 0x8000) || quiet_source(c, in->o[1], true);
	case LOP_ABS: case LOP_NEG:
		return quiet_source(c, in->o[1], flushed);
	case LOP_MIN: case LOP_MAX:
		return !flushed || (quiet_source(c, in->o[1], true) && quiet_source(c, in->o[2], true));
	}
	return false;
}

/*
 * Compilers leave a square root without .ftz in kernels that flush: to go back and forth for it costs more than the root. Of what is no
 * denormal it is none, in either mode.
 */
bool jit_any_mode(const struct jcomp *c, const struct insn *in)
{
	if (in->type != T_F32 || !c->mx || ((in->mxcsr | c->mx) & 0x6000) || !quiet_source(c, in->o[1], true))
		return false;
	return in->lop == LOP_SQRT || in->lop == LOP_RSQRT ||
	       ((in->lop == LOP_MIN || in->lop == LOP_MAX) && quiet_source(c, in->o[2], true));
}

static void find_quiet(struct jcomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].quiet = c->r[i].flushed = c->r[i].cls == JC_VARY && c->r[i].w == 0;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];
			struct jreg *r;

			for (k = 0; k < 6; k++) {
				if (!(in->def >> k & 1) || in->o[k] == OPND_NONE)
					continue;
				r = &c->r[in->o[k]];
				if (r->quiet && !makes_quiet(c, in, k, false)) {
					r->quiet = false;
					more = true;
				}
				if (r->flushed && !makes_quiet(c, in, k, true)) {
					r->flushed = false;
					more = true;
				}
			}
			for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
				if (in->u.call->rets[k].is_reg) {
					r = &c->r[in->u.call->rets[k].opnd];
					more |= r->quiet || r->flushed;
					r->quiet = r->flushed = false;
				}
		}
	}
}

void jit_nans(struct jcomp *c)
{
	find_raw(c);
	find_summed(c);
	find_quiet(c);
}
