/* SPDX-License-Identifier: MIT */
/*
 * Places for the JIT's values: one linear scan over live ranges in the order of the code. A value has
 * one place for its whole life, so that no edge of the flow graph needs moves. Vectors take 24 zmm in pairs
 * (a 64-bit one two neighbouring pairs), scalars eight general registers; what does not fit, or is
 * used less, has its home in P and is an instruction's memory operand.
 */
#include "jit.h"
#include "lanes.h"

const u8 jit_gprs[8] = { RSI, RDI, R8, R9, R10, R11, R15, RBP };
#define PAIRS 12

static void range(struct jcomp *c, u32 v, u32 pos)
{
	struct jreg *r = &c->r[v];

	if (r->first > pos)
		r->first = pos;
	if (r->last < pos + 1)
		r->last = pos + 1;
}

static void range_set(struct jcomp *c, const u64 *set, u32 pos)
{
	u32 w;

	for (w = 0; w < c->s->words; w++) {
		u64 b = set[w];

		while (b) {
			range(c, w * 64 + (u32)__builtin_ctzll(b), pos);
			b &= b - 1;
		}
	}
}

static void range_border(struct jcomp *c, const u64 *set, u32 pos)
{
	for (u32 w = 0; w < c->s->bwords; w++)
		for (u64 b = set[w]; b; b &= b - 1)
			range(c, c->s->border[w * 64 + (u32)__builtin_ctzll(b)], pos);
}

static void touch(struct jcomp *c, u32 o, u32 pos, u64 weight)
{
	if (o == OPND_NONE || (o & OPND_CONST))
		return;
	range(c, o, pos);
	c->r[o].weight += weight;
}

/* A scalar among vectors: from memory it is part of their instruction, from a register one more for each half. */
static bool spreads(const struct jcomp *c, const struct insn *in)
{
	return (in->kind == K_LANE || in->kind == K_SETP || in->kind == K_CVT) && !jit_scalar(c, in);
}

static void ranges(struct jcomp *c)
{
	u32 b, i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].first = NO_PC;
	for (b = 0; b < c->s->nb; b++) {
		struct jblock *jb = &c->s->b[b];
		u64 w = 1ull << (3 * (jb->depth > 8 ? 8 : jb->depth));

		for (i = jb->start; i < jb->end; i++) {
			struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++)
				if ((in->def | in->use) >> k & 1) {
					touch(c, in->o[k], i, w);
					if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && spreads(c, in))
						c->r[in->o[k]].spread += w;
				}
			touch(c, in->guard, i, w);
			k = jit_half(c, i);
			if (k != OPND_NONE)
				range(c, k, i);
			for (k = 0; c->merged[i].kind && k < c->merged[i].vec; k++)
				if (!(c->merged[i].o[k] & OPND_CONST))
					range(c, c->merged[i].o[k], i);
			/* the slow way does all of it where it begins */
			for (k = 0; c->merged[i].kind == K_LD && !c->merged[i].vec && k < (in->kind == K_LD ? in->vec : 1u); k++)
				range(c, in->o[k], (u32)c->merged[i].imm);
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nargs + in->u.call->nrets; k++) {
					struct arg *a = k < in->u.call->nargs ? &in->u.call->args[k] :
							&in->u.call->rets[k - in->u.call->nargs];

					if (a->is_reg)
						touch(c, a->opnd, i, 1);
				}
		}
		if (jb->start < jb->end) {
			range_border(c, c->s->live_in + (size_t)b * c->s->bwords, jb->start);
			range_border(c, c->s->live_out + (size_t)b * c->s->bwords, jb->end - 1);
		}
	}
	/* an index and its base stay as long as there are addresses made of them */
	for (i = 0; i < c->s->nregs; i++)
		if (c->sym[i].to) {
			touch(c, c->sym[i].index, c->sym[i].to, 1);
			touch(c, c->sym[i].base, c->sym[i].to, 1);
		}
	for (i = 0; i < c->s->nregs; i++)
		if (c->stay[i].to)
			touch(c, c->stay[i].addr, c->stay[i].to, 1);
	/* what lanes that wait will read stays while the others run */
	for (i = 0; i < c->nregions; i++) {
		const struct jregion *r = &c->regions[i];

		for (k = 0; k < 2; k++) {
			u32 pc = k ? r->second : r->join;

			if (pc == NO_PC)
				continue;
			range_set(c, c->live_at + (size_t)pc * c->s->words, r->lo);
			range_set(c, c->live_at + (size_t)pc * c->s->words, r->hi - 1);
		}
	}
}

static void home(struct jcomp *c, struct jreg *r)
{
	(void)c;
	r->loc = LOC_MEM;
}

static u32 home_class(const struct jreg *r)
{
	return r->w == 2 ? 0 : r->cls != JC_VARY ? 1 : r->w ? 3 : 2;
}

/* Homes in P, used again when a life has ended; head and next list registers by their first position. */
static bool homes(struct jcomp *c, const u32 *head, const u32 *next)
{
	static const u32 bytes[4] = { 4, 8, 128, 256 };
	u32 *end = pool_alloc(&c->mem, (c->n + 2) * sizeof(u32)), *enext, *freel[4], nfree[4] = { 0 }, i, v, k;

	enext = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	for (k = 0; k < 4; k++)
		freel[k] = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	if (!end || !enext || !freel[0] || !freel[1] || !freel[2] || !freel[3])
		return false;
	c->home_next = JP_HOMES;
	for (i = 0; i < c->n; i++) {
		for (v = end[i]; v; v = enext[v - 1]) {
			k = home_class(&c->r[v - 1]);
			freel[k][nfree[k]++] = c->r[v - 1].home;
		}
		for (v = head[i]; v; v = next[v - 1]) {
			struct jreg *r = &c->r[v - 1];

			if (r->loc != LOC_MEM)
				continue;
			k = home_class(r);
			if (nfree[k]) {
				r->home = freel[k][--nfree[k]];
			} else {
				u32 align = bytes[k] > 64 ? 64 : bytes[k];

				c->home_next = (c->home_next + align - 1) & ~(align - 1);
				r->home = c->home_next;
				c->home_next += bytes[k];
			}
			if (r->last <= c->n) {
				enext[v - 1] = end[r->last];
				end[r->last] = v;
			}
		}
	}
	return true;
}


struct active { u32 pair[PAIRS], gpr[8]; };     /* register + 1 */

#define NGPR(c) ((c)->pin ? 7u : 8u)    /* the last is rbp */

/* Is where shared memory begins worth a register? From so many accesses by scalars or patterns on, those in loops counted as eight each. */
#define PIN_LEAST 8u

static void pin(struct jcomp *c)
{
	u32 b, i, w = 0;

	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if ((in->kind == K_LD || in->kind == K_ST) && in->space == SPACE_SHARED && jit_val(c, in->o[4], in->aw).cls != JC_VARY)
				w += c->s->b[b].depth ? 8 : 1;
		}
	c->pin = w >= PIN_LEAST;
}

/*
 * The source whose place the result of the instruction at pc may take, because it is wanted there for the last time; 0: none,
 * else register + 1. Code for these operations has read all of a part before it writes that, and leaves before it writes.
 */
static u32 handed_on(const struct jcomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	const struct jreg *d = &c->r[in->o[0]];
	u32 i;

	if (in->kind != K_LANE || in->guard != OPND_NONE || in->o[0] == OPND_NONE || d->first != pc)
		return 0;
	switch (in->lop) {
	case LOP_MOV: case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_AND: case LOP_OR: case LOP_XOR:
	case LOP_SHL: case LOP_SHR: case LOP_MIN: case LOP_MAX: case LOP_BFE: case LOP_XTR:
		break;
	default:
		return 0;
	}
	for (i = 0; i < 3; i++) {
		/* a sum is added to where its addend is */
		u32 k = in->lop == LOP_MAD && d->cls == JC_VARY ? 3 - i : 1 + i, o = in->o[k];
		const struct jreg *r;

		if (!(in->use >> k & 1) || o == OPND_NONE || (o & OPND_CONST))
			continue;
		r = &c->r[o];
		if (r->last != pc + 1 || r->first >= pc || r->w != d->w || (r->cls == JC_VARY) != (d->cls == JC_VARY))
			continue;
		/* scalar code computes from left to right */
		if (d->cls != JC_VARY && k > 1 && !(k == 2 && in->lop == LOP_ADD))
			continue;
		if (r->loc == (d->cls == JC_VARY ? LOC_ZMM : LOC_GPR))
			return o + 1;
	}
	return 0;
}

/* from: handed_on() */
static void place_zmm(struct jcomp *c, u32 v, u32 from, struct active *act)
{
	struct jreg *r = &c->r[v];
	u32 i, best = NO_PC, n = r->w ? 2 : 1, k;
	u64 cost, low = r->density;

	if (from) {
		best = (c->r[from - 1].reg - JZ_FIRST) / 2;
		for (k = 0; k < n; k++)
			act->pair[best + k] = 0;
	}
	for (i = 0; !from && i + n <= PAIRS; i += n) {
		u32 last = 0;

		cost = 0;
		for (k = 0; k < n; k++) {
			u32 u = act->pair[i + k];

			if (u && u != last)
				cost += c->r[u - 1].density;
			last = u;
			/* half of a quad would cost all of it, which the sum says */
		}
		if (cost < low || (!cost && best == NO_PC)) {
			low = cost;
			best = i;
			if (!cost)
				break;
		}
	}
	if (best == NO_PC) {
		home(c, r);
		return;
	}
	for (k = 0; k < n; k++) {
		u32 u = act->pair[best + k], q;

		if (!u)
			continue;
		for (q = 0; q < PAIRS; q++)
			if (act->pair[q] == u)
				act->pair[q] = 0;
		home(c, &c->r[u - 1]);
	}
	for (k = 0; k < n; k++)
		act->pair[best + k] = v + 1;
	r->loc = LOC_ZMM;
	r->reg = (u8)(JZ_FIRST + best * 2);
	r->home = JP_ZMM + best * 128;
}

static void place_gpr(struct jcomp *c, u32 v, u32 from, struct active *act)
{
	struct jreg *r = &c->r[v];
	u32 i, best = NO_PC;
	u64 low = r->density;

	for (i = 0; from && i < NGPR(c); i++)
		if (act->gpr[i] == from) {
			act->gpr[i] = 0;
			best = i;
		}
	for (i = 0; !from && i < NGPR(c); i++) {
		u64 cost = act->gpr[i] ? c->r[act->gpr[i] - 1].density : 0;

		if (!act->gpr[i] || cost < low) {
			low = cost;
			best = i;
			if (!act->gpr[i])
				break;
		}
	}
	if (best == NO_PC) {
		home(c, r);
		return;
	}
	if (act->gpr[best])
		home(c, &c->r[act->gpr[best] - 1]);
	act->gpr[best] = v + 1;
	r->loc = LOC_GPR;
	r->reg = jit_gprs[best];
	r->home = PSZ(gpr) + best * 8;
}

bool jit_alloc(struct jcomp *c)
{
	struct active act;
	u32 i, v, *head, *next;

	ranges(c);
	pin(c);
	head = pool_alloc(&c->mem, (c->n + 1) * sizeof(u32));
	next = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	if (!head || !next)
		return false;
	for (v = c->s->nregs; v-- > 0;)
		if (c->r[v].first != NO_PC) {
			c->r[v].density = c->r[v].weight * 64 / (c->r[v].last - c->r[v].first + 4);
			next[v] = head[c->r[v].first];
			head[c->r[v].first] = v + 1;
		}
	memset(&act, 0, sizeof(act));
	for (i = 0; i < c->n; i++) {
		u32 k;

		if (!head[i])
			continue;
		for (k = 0; k < PAIRS; k++)
			if (act.pair[k] && c->r[act.pair[k] - 1].last <= i)
				act.pair[k] = 0;
		for (k = 0; k < 8; k++)
			if (act.gpr[k] && c->r[act.gpr[k] - 1].last <= i)
				act.gpr[k] = 0;
		for (v = head[i]; v; v = next[v - 1]) {
			struct jreg *r = &c->r[v - 1];
			u32 from = v - 1 == c->code[i].o[0] ? handed_on(c, i) : 0;

			if (c->sym[v - 1].ghost)
				r->loc = LOC_NONE;
			else if (r->w == 2 || r->ghost || (r->cls == JC_UNI && 2 * r->spread >= r->weight))
				home(c, r);
			else if (r->cls == JC_VARY)
				place_zmm(c, v - 1, from, &act);
			else
				place_gpr(c, v - 1, from, &act);
		}
	}
	if (!homes(c, head, next))
		return false;
	for (i = 0; i < c->nregions; i++) {
		c->home_next = (c->home_next + 7) & ~7u;
		c->regions[i].save_at = c->home_next;
		c->home_next += 8 * c->regions[i].nsaved;
	}
	return true;
}
