/* SPDX-License-Identifier: MIT */
/*
 * Loads and arithmetic that follow each other closely.
 *
 * A row of floats, or of doubles in shared memory, whose only use is the next instruction, a sum or a product, is read by that one from memory itself (another operand from a known place of
 * shared memory may be loaded between them):
 *
 *     ld.shared.f32 %f2, [%rd1+64]        checks alone
 *     fma.rn.f32 %f3, %f1, %f2, %f0       vfmadd231ps ymm6, ymm5, [rax + r8 + 64]
 *
 * If the row is not there, or not as the load wants it, the load is done as ever, by the interpreter, and code is left behind it: the sum has changed
 * nothing that the load or anybody behind it reads, for it is one instruction, but for a copy into its own result.
 *
 * Where shared memory begins stays in rax from one access to the next one, as long as nothing but such loads and such arithmetic is between them.
 *
 * In: classes and places, code as it is emitted. Out: scomp.fold, scomp.base.
 */
#include "mem.h"

static bool is_plain_float(const struct insn *in)
{
	return in->kind == K_LANE && (in->type == T_F32 || in->type == T_F64) && in->guard == OPND_NONE &&
	       (in->lop == LOP_ADD || in->lop == LOP_SUB || in->lop == LOP_MUL || in->lop == LOP_MAD);
}

/* Does operand o ask for no general register? */
static bool is_vector(const struct scomp *c, u32 o, u8 w)
{
	return s_val(c, o, w).known || (o & OPND_CONST) || (o != OPND_NONE && c->r[o].v.cls == SC_VARY);
}

static bool are_vectors(const struct scomp *c, const struct insn *in)
{
	u8 w = in->type == T_F64;

	return c->r[in->o[0]].v.cls == SC_VARY && is_vector(c, in->o[1], w) && is_vector(c, in->o[2], w) && (in->lop != LOP_MAD || is_vector(c, in->o[3], w));
}

/* A load from a place that is known now, into all lanes alike: it leaves rax where shared memory begins, and cannot fail. */
static bool is_constant_place(const struct scomp *c, const struct insn *in)
{
	struct sval v;

	return c->pc + 2 < c->cur->end && in->kind == K_LD && in->vec == 1 && in->size == 4 && !in->dw && in->guard == OPND_NONE && !(in->flags & INF_SYNC) &&
	       !c->pair[c->pc + 1] && !c->quad[c->pc + 1].n && !s_comes(c, c->pc + 1) && in->o[0] != OPND_NONE && c->r[in->o[0]].v.cls == SC_VARY &&
	       in[-1].space == SPACE_SHARED && in->o[0] != in[-1].o[0] && in->o[0] != in[-1].o[4] && s_mem_row(c, in, &v) && !v.pat && s_in_static(c, in);
}

/* ---- rows that arithmetic reads -------------------------------------------------------------------- */

/* The row of load in lies at m, and has been checked. True: the next instruction reads it there. */
bool s_fold(struct scomp *c, const struct insn *in, struct rm m)
{
	u32 o = in->o[0], gap = is_constant_place(c, in + 1) ? 1 : 0, pc = c->pc + 1 + gap;
	const struct insn *next = in + 1 + gap;
	struct sslow *s;

	/* of doubles, which are two rows, the second must not fail when the first sum has been made: no page of shared memory is missing */
	if (in->dw ? in->size != 8 || in->space != SPACE_SHARED : in->size != 4)
		return false;
	if (c->stage || in->guard != OPND_NONE || in->vec != 1 || (in->flags & INF_SYNC) || pc >= c->cur->end ||
	    c->pair[c->pc] || c->pair[pc] || c->pair[c->pc + 1] || c->quad[c->pc].n || s_comes(c, c->pc) || !is_plain_float(next) || (next->type == T_F64) != in->dw)
		return false;
	if ((next->o[1] == o) == (next->o[2] == o) || (next->lop == LOP_SUB && next->o[1] == o) || (next->lop == LOP_MAD && next->o[3] == o) || next->o[0] == o)
		return false;
	/* what is between them is found from where shared memory begins, as the row is */
	if (gap && c->base.pc != c->pc)
		return false;
	/* nobody else reads it, nobody waits who did */
	if (c->r[o].v.cls != SC_VARY || c->r[o].last != pc + 1 || bit_of(c->cur->live_out, o) || s_blends(c, o) || !are_vectors(c, next))
		return false;
	/* what the load goes back to is its own mode */
	if (c->s->mxcsr == ~0u && next->mxcsr && (c->mx != next->mxcsr || c->s->mxcsr_home != c->mx))
		return false;
	s = s_slow_now(c);
	if (!s || s->lanes)
		return false;
	s->leaves = true;
	c->fold = (struct sfold){ pc, o, (u32)(s - c->slow), m };
	return true;
}

/* Which operand of in, the instruction at hand, is read so; 0: none. */
u32 s_folded(const struct scomp *c, const struct insn *in)
{
	if (!c->fold.pc || c->fold.pc != c->pc || c->stage)
		return 0;
	return in->o[1] == c->fold.o ? 1 : 2;
}

/* What is emitted next reads it; of doubles, half `part`. */
struct rm s_fold_row(struct scomp *c, u32 part)
{
	struct jsite *t = xgrow(c->sites, &c->sites_cap, c->nsites + 1, sizeof(*t));

	if (!t) {
		c->bad = true;
		return c->fold.m;
	}
	c->sites = t;
	t[c->nsites++] = (struct jsite){ c->a.n, c->fold.slow };
	return s_off(c->fold.m, 32 * (s32)part);
}

/* ---- where shared memory begins --------------------------------------------------------------------- */

/* Instruction in has been emitted; `before` it rax was where shared memory begins. Is it still? Who comes back from the other way of a load has it, too. */
void s_keep_base(struct scomp *c, const struct insn *in, bool before, u32 mx)
{
	bool kept = false;

	if (c->guarded || in->guard != OPND_NONE || mx != c->mx)
		;
	else if (in->kind == K_LD)
		kept = c->base.pc == c->pc && c->base.kept;
	else if (is_plain_float(in))
		kept = before && are_vectors(c, in);
	if (kept && c->nslow && c->slow[c->nslow - 1].pc == c->pc)
		c->slow[c->nslow - 1].base = true;
	c->base.at = kept ? c->a.n : 0;
	c->base.kept = false;
}
