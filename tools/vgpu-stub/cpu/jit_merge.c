/* SPDX-License-Identifier: MIT */
/*
 * Narrow loads next to each other become one: compilers read a 34-byte block of quants as pairs of 16-bit
 * loads, a padded tile of floats two by two. The first of a group loads for all of it; jit.c emits nothing for the others. Called by
 * jit.c between jit_scan and jit_alloc.
 *
 * What is loaded early is alive from there (live sets and ranges say so), and the interpreter may not
 * enter between: it would not have it.
 *
 * So do stores to neighbouring fields of each lane's own structure, the last of which does those before it: nobody looks at memory in between,
 * and nothing there leaves code.
 */
#include "jit_mem.h"
#include "lanes.h"

#define REACH 40
#define GROUP 4            /* as many become one, at most */

static bool alike(const struct insn *a, const struct insn *b)
{
	return b->kind == K_LD && b->vec == a->vec && !(b->flags & INF_SYNC) && b->guard == OPND_NONE && !b->dw &&
	       b->space == a->space && b->size == a->size && b->aw == a->aw && !((a->flags ^ b->flags) & INF_SIGNED) && b->o[0] != OPND_NONE &&
	       (b->vec == 1 || (b->vec == 2 && b->size == 4 && b->space == SPACE_SHARED && b->o[1] != OPND_NONE && b->o[0] != b->o[1]));
}

static bool touches(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if (((in->use | in->def) >> k & 1) && in->o[k] == v)
			return true;
	return in->guard == v;
}

static bool stops(const struct insn *in)
{
	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_LOP3: case K_CVT: case K_CVTA:
	case K_LDPARAM: case K_NOP:
		return false;
	case K_LD:              /* nothing moves ahead of an acquire */
		return in->flags & INF_SYNC;
	}
	return true;
}

/* May register d, which the load at k has the result in, be written at i? It must be free all the way. */
static bool early(const struct jcomp *c, u32 i, u32 k, u32 d)
{
	u32 p;

	if (c->r[d].cls != JC_VARY || d == c->code[i].o[0] || (c->code[i].vec > 1 && d == c->code[i].o[1]) || d == c->code[i].o[4])
		return false;
	if (c->live_at[(size_t)(i + 1) * c->s->words + (d >> 6)] >> (d & 63) & 1)
		return false;
	for (p = i + 1; p < k; p++)
		if (touches(&c->code[p], d))
			return false;
	return true;
}

/* Code of in may leave for good, and the interpreter would miss halves that were not loaded. */
static bool may_leave(const struct jcomp *c, const struct insn *in)
{
	if (in->kind != K_LANE)
		return in->kind != K_LD && in->kind != K_NOP;
	return c->r[in->o[0]].cls != JC_VARY && in->lop != LOP_ADD && in->lop != LOP_SUB && in->lop != LOP_MOV && in->lop != LOP_SHL &&
	       in->lop != LOP_OR;
}

/* The one instruction behind from that uses v, which is loaded at i or made of that; 0: it is not alone, or of no use. */
static u32 user_of(const struct jcomp *c, u32 i, u32 end, u32 from, u32 v)
{
	u32 k;

	for (k = from + 1; k + 1 < end && k < i + REACH; k++) {
		const struct insn *in = &c->code[k];

		if (c->merged[k].kind == K_LD && !c->merged[k].vec && c->merged[k].imm == i)
			continue;       /* done at i */
		if (may_leave(c, in))
			return 0;
		if (!touches(in, v))
			continue;
		if (in->kind != K_LANE || in->guard != OPND_NONE || insn_writes(in, v) || c->r[in->o[0]].cls != JC_VARY || c->r[in->o[0]].w ||
		    c->merged[k].kind == K_LD)
			return 0;
		return c->live_at[(size_t)(k + 1) * c->s->words + (v >> 6)] >> (v & 63) & 1 ? 0 : k;
	}
	return 0;
}

#define PACK_STEPS 4

/*
 * How the halves lo and hi, loaded at i, are put together: by mov {lo, hi}, or as clang writes it, (u32)hi << 16 | (u32)lo.
 * The instructions, the last one's result is the whole. 0: not that.
 */
static u32 pack_of(const struct jcomp *c, u32 i, u32 end, u32 lo, u32 hi, u32 addr, u32 *at)
{
	const struct insn *code = c->code;
	u32 l = user_of(c, i, end, i, lo), h = user_of(c, i, end, i, hi), n, d, k;

	if (!l || !h)
		return 0;
	if (l == h) {
		if (code[l].lop != LOP_PACK || code[l].dw || code[l].o[1] != lo || code[l].o[2] != hi)
			return 0;
		at[0] = l;
		n = 1;
	} else {
		struct jval by;

		if (code[l].lop != LOP_CVT_SEXT || code[l].type != T_U16 || code[h].lop != LOP_CVT_SEXT ||
		    (code[h].type != T_U16 && code[h].type != T_S16))
			return 0;
		at[0] = l;
		at[1] = h;
		at[2] = user_of(c, i, end, h, code[h].o[0]);
		if (!at[2] || code[at[2]].lop != LOP_SHL || code[at[2]].o[1] != code[h].o[0] || type_bytes(code[at[2]].type) != 4)
			return 0;
		by = jit_val(c, code[at[2]].o[2], 0);
		at[3] = user_of(c, i, end, at[2], code[at[2]].o[0]);
		if (!by.known || by.k != 16 || !at[3] || code[at[3]].lop != LOP_OR || type_bytes(code[at[3]].type) != 4 ||
		    at[3] != user_of(c, i, end, l, code[l].o[0]))
			return 0;
		n = 4;
	}
	k = at[n - 1];
	d = code[k].o[0];
	return d == addr || d == lo || d == hi || !early(c, i, k, d) ? 0 : n;
}

/* What k does is done at i. */
static void done_at(struct jcomp *c, u32 k, u32 i)
{
	c->merged[k].kind = K_LD;
	c->merged[k].vec = 0;
	c->merged[k].imm = i;
}

/* 16-bit elements that are only wanted in pairs are loaded as 32 bits. last: up to where the interpreter stays out. */
static u32 pairs(struct jcomp *c, u32 i, u32 end, struct insn *m, u32 last)
{
	u32 at[2][PACK_STEPS], steps[2], d[2] = { 0 }, n = m->vec / 2, e, k;

	if (m->size != 2)
		return last;
	for (e = 0; e < n; e++) {
		steps[e] = pack_of(c, i, end, m->o[2 * e], m->o[2 * e + 1], m->o[4], at[e]);
		if (!steps[e] || steps[e] * n + m->vec - 1 > sizeof(c->exits->more))
			return last;
		d[e] = c->code[at[e][steps[e] - 1]].o[0];
	}
	if (n == 2 && d[0] == d[1])
		return last;
	for (e = 0; e < m->vec; e++)
		c->r[m->o[e]].ghost = true;
	for (e = 0; e < n; e++)
		for (k = 0; k + 1 < steps[e]; k++)
			c->r[c->code[at[e][k]].o[0]].ghost = true;
	m->size = 4;
	m->vec = (u8)n;
	m->type = T_U32;
	m->flags &= (u8)~INF_SIGNED;
	m->def = (u8)((1u << n) - 1);
	for (e = 0; e < n; e++) {
		m->o[e] = d[e];
		for (k = 0; k < steps[e]; k++) {
			done_at(c, at[e][k], i);
			last = at[e][k] > last ? at[e][k] : last;
		}
		for (k = at[e][steps[e] - 1]; k > i; k--)
			c->live_at[(size_t)k * c->s->words + (d[e] >> 6)] |= 1ull << (d[e] & 63);
	}
	for (; e < 4; e++)
		m->o[e] = OPND_NONE;
	return last;
}

/* An address as a sum, made at `at`: root + off and a pattern. */
struct origin { u32 root, at; s64 off; u16 pat; };

/* Of the address that the load at pc has. */
static struct origin origin_of(const struct jcomp *c, u32 pc)
{
	u32 o = c->code[pc].o[4], d = o & OPND_CONST ? 0 : c->def_of[o], k;
	struct origin own = { .root = o, .at = pc };
	const struct insn *in;

	if (!d || d == ~0u || d > pc || jit_block_at(c, d - 1) != jit_block_at(c, pc))
		return own;
	in = &c->code[d - 1];
	if (in->kind != K_LANE || in->lop != LOP_ADD || in->guard != OPND_NONE || type_bytes(in->type) != 8 || in->type == T_F64)
		return own;
	for (k = 1; k < 3; k++) {
		struct jval v = jit_val(c, in->o[k], 1);

		if ((v.cls == JC_UNI || v.cls == JC_PAT) && v.sk && jn_sure(c, in->o[k], d - 1))
			return (struct origin){ .root = in->o[3 - k], .at = d - 1, .off = (s64)v.s, .pat = v.pat };
	}
	return own;
}

/*
 * The loads at i and k, further down, have addresses that are *d apart in every lane. Where the second one is only made in between, nobody else
 * reads it: it is made where the loads are one by one.
 */
static bool apart_by(const struct jcomp *c, u32 i, u32 k, s64 *d)
{
	u32 v = c->code[k].o[4], p, lo, hi;
	struct origin x, y;

	*d = 0;
	if (v == c->code[i].o[4])
		return true;
	if (!c->code[i].aw)
		return false;
	x = origin_of(c, i);
	y = origin_of(c, k);
	if (x.root != y.root || x.pat != y.pat || (x.root & OPND_CONST) || y.at == k)
		return false;
	lo = x.at < y.at ? x.at : y.at;
	hi = x.at < y.at ? y.at : x.at;
	for (p = lo; p < hi; p++)
		if (insn_writes(&c->code[p], x.root))
			return false;
	*d = y.off - x.off;
	if (*d > 64 || *d < -64)
		return false;
	if (y.at < i)
		return true;
	if (c->merged[y.at].kind || (c->live_at[(size_t)(k + 1) * c->s->words + (v >> 6)] >> (v & 63) & 1))
		return false;
	for (p = y.at + 1; p < k && !touches(&c->code[p], v); p++)
		;
	return p == k;
}

/* most: bytes of a lane, altogether */
static void merge_at(struct jcomp *c, u32 i, u32 end, u32 most)
{
	const struct insn *in = &c->code[i];
	u32 at[7] = { 0 }, k, n, e, lo, last = i, bytes = (u32)in->size * in->vec;      /* at[3 + d]: the load d such ones away, + 1 */
	struct insn *m;

	at[3] = i + 1;
	for (k = i + 1; k < end && k < i + REACH && !stops(&c->code[k]); k++) {
		const struct insn *b = &c->code[k];
		s64 off = 0, d = alike(in, b) && apart_by(c, i, k, &off) ? (b->imm + off - in->imm) / bytes : 9;

		if (d >= -3 && d <= 3 && (b->imm + off - in->imm) % bytes == 0 && !at[3 + d] && c->merged[k].kind != K_LD && early(c, i, k, b->o[0]) &&
		    (b->vec == 1 || early(c, i, k, b->o[1])))
			at[3 + d] = k + 1;
		if (insn_writes(b, in->o[4]))
			break;
	}
	for (n = most / bytes > 4 ? 4 : most / bytes; n >= 2; n /= 2) {
		for (lo = 4 - n; lo <= 3; lo++) {
			for (e = 0; e < n && at[lo + e]; e++)
				;
			if (e == n)
				goto found;
		}
	}
	return;
found:
	m = &c->merged[i];
	*m = *in;
	m->vec = (u8)(n * in->vec);
	m->imm = in->imm + ((s64)lo - 3) * bytes;
	m->sub2 = (u8)bytes;            /* aligned as its parts */
	m->def = (u8)((1u << m->vec) - 1);
	for (e = 0; e < m->vec; e++) {
		k = at[lo + e / in->vec] - 1;
		m->o[e] = c->code[k].o[e % in->vec];
		if (k == i)
			continue;
		done_at(c, k, i);
		if (c->code[k].o[4] != in->o[4] && origin_of(c, k).at > i) {
			done_at(c, origin_of(c, k).at, i);
			c->r[c->code[k].o[4]].ghost = true;
		}
		last = k > last ? k : last;
		for (; k > i; k--)
			c->live_at[(size_t)k * c->s->words + (m->o[e] >> 6)] |= 1ull << (m->o[e] & 63);
	}
	last = pairs(c, i, end, m, last);
	for (k = i + 1; k <= last; k++)
		c->inside[k] = 1;
}

/* So far from each other that each lane's access is one of its own (jit_piece.c). */
static bool apart(const s32 *pat)
{
	u32 l, i;

	for (l = 0; l < LANES; l++)
		for (i = 0; i < l; i++)
			if (l / 16 == i / 16 && pat[l] - pat[i] < 64 && pat[i] - pat[l] < 64)
				return false;
	return true;
}

/* ---- stores ------------------------------------------------------------------------------------------------------------------- */

static bool plain_store(const struct jcomp *c, u32 k)
{
	const struct insn *in = &c->code[k];

	return in->kind == K_ST && in->vec == 1 && in->size <= 4 && !in->dw && in->guard == OPND_NONE && !(in->flags & INF_SYNC) &&
	       (in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC || in->space == SPACE_SHARED) && !(in->o[4] & OPND_CONST) && !c->merged[k].kind;
}

/* The least distance of two lanes, 0: not known. */
static s64 between(const struct jcomp *c, const struct insn *in)
{
	struct jval v = jit_val(c, in->o[4], in->aw);
	s64 least = JIT_SLACK, d;
	u32 l, i;

	if (v.cls != JC_PAT)
		return 0;
	for (l = 0; l < LANES; l++)
		for (i = 0; i < l; i++) {
			d = (s64)c->pats[v.pat][l] - c->pats[v.pat][i];
			d = d < 0 ? -d : d;
			least = d < least ? d : least;
		}
	return least;
}

/* What the store at k stores is there up to the one at last, too. */
static bool lasts(const struct jcomp *c, u32 k, u32 last)
{
	u32 v = c->code[k].o[0], i;

	if (v & OPND_CONST)
		return true;
	if (c->sym[v].to || c->stay[v].to)
		return false;
	for (i = k + 1; i < last; i++)
		if (insn_writes(&c->code[i], v))
			return false;
	return true;
}

/* n stores side by side, the last one in the code is *last. */
static bool together(const struct jcomp *c, const u32 *at, u32 n, u32 *last)
{
	u32 e;

	for (e = *last = 0; e < n; e++) {
		if (!at[e])
			return false;
		*last = at[e] - 1 > *last ? at[e] - 1 : *last;
	}
	for (e = 0; e < n; e++)
		if (!lasts(c, at[e] - 1, *last))
			return false;
	return true;
}

static void merge_stores(struct jcomp *c, u32 i, u32 end)
{
	const struct insn *in = &c->code[i];
	u32 at[2 * GROUP - 1] = { 0 }, k, n, e, lo, last = i;   /* at[GROUP - 1 + d]: the store d such ones away, + 1 */
	s64 room = between(c, in), low = in->imm, high = in->imm;
	struct insn *m;

	if (room < 2 * in->size)
		return;
	at[GROUP - 1] = i + 1;
	for (k = i + 1; k < end && k < i + REACH; k++) {
		const struct insn *b = &c->code[k];
		s64 d;

		if (b->kind != K_ST) {
			if (b->kind == K_LD || may_leave(c, b) || insn_writes(b, in->o[4]))
				break;
			continue;
		}
		if (!plain_store(c, k) || b->o[4] != in->o[4] || b->aw != in->aw || b->size != in->size || b->space != in->space || (b->imm - in->imm) % in->size)
			break;
		low = b->imm < low ? b->imm : low;
		high = b->imm > high ? b->imm : high;
		/* no lane's fields among another's: their order is nobody's business */
		if (high + in->size - low > room)
			break;
		d = (b->imm - in->imm) / in->size;
		if (d <= -GROUP || d >= GROUP)
			continue;
		if (at[GROUP - 1 + d])
			break;
		at[GROUP - 1 + d] = k + 1;
	}
	for (n = GROUP; n >= 2; n /= 2)
		for (lo = GROUP - n; lo < GROUP; lo++)
			if (together(c, at + lo, n, &last))
				goto found;
	return;
found:
	m = &c->merged[last];
	*m = *in;
	m->vec = (u8)n;
	m->imm = in->imm + ((s64)lo - (GROUP - 1)) * in->size;
	m->sub2 = in->size;             /* aligned as its parts */
	for (e = 0; e < n; e++) {
		u32 from = at[lo + e] - 1, v = c->code[from].o[0];

		m->o[e] = v;
		m->use |= (u8)(1u << e);
		if (from != last) {
			c->merged[from].kind = K_ST;
			c->merged[from].vec = 0;
			c->merged[from].imm = last;
		}
		for (k = from + 1; !(v & OPND_CONST) && k <= last; k++)
			c->live_at[(size_t)k * c->s->words + (v >> 6)] |= 1ull << (v & 63);
	}
	for (k = i + 1; k <= last; k++)
		c->inside[k] = 1;
}

bool jit_merge(struct jcomp *c)
{
	u32 b, i, l;

	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
			const struct insn *in = &c->code[i];
			struct jval v;

			if (!alike(in, in) || in->size > 4 || (in->vec == 2 && (c->r[in->o[1]].cls != JC_VARY || in->o[1] == in->o[4])) || c->merged[i].kind == K_LD || c->r[in->o[0]].cls != JC_VARY ||
			    in->space == SPACE_LOCAL || in->space == SPACE_PARAM || in->o[0] == in->o[4])
				continue;
			v = jit_val(c, in->o[4], in->aw);
			if (v.cls == JC_UNI)
				continue;
			/* a row is one load already */
			for (l = 0; v.cls == JC_PAT && l < LANES && c->pats[v.pat][l] == (s32)(l * in->size * in->vec); l++)
				;
			if (v.cls == JC_PAT && l == LANES)
				continue;
			merge_at(c, i, c->s->b[b].end, v.cls == JC_PAT && apart(c->pats[v.pat]) ? 16 : 8);
		}
	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++)
			if (plain_store(c, i))
				merge_stores(c, i, c->s->b[b].end);
	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++)
			jit_unpack(c, c->s->b[b].start, i);
	return true;
}

/*
 * The f32 register that the load at pc may fill by itself: the conversion of its half stands behind it and is all that the
 * half is wanted for. It takes a third of the work of extending, narrowing and converting, and leaves a NaN as the processor
 * makes it: a register that holds other things at other times is not filled so. OPND_NONE: there is none.
 */
u32 jit_half(const struct jcomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc], *cvt = in + 1;
	u32 d = in->o[0], e;

	if (in->kind != K_LD || in->size != 2 || in->vec != 1 || in->dw || in->guard != OPND_NONE || d == OPND_NONE ||
	    c->merged[pc].kind == K_LD || pc + 1 >= jit_block_at(c, pc)->end)
		return OPND_NONE;
	e = cvt->o[0];
	if (cvt->kind != K_LANE || cvt->lop != LOP_CVT_F_H || cvt->guard != OPND_NONE || cvt->o[1] != d || e == d || e == OPND_NONE ||
	    e == in->o[4] || c->r[d].cls != JC_VARY || c->r[e].cls != JC_VARY || c->r[e].w || !c->r[e].rawf)
		return OPND_NONE;
	return c->live_at[(size_t)(pc + 2) * c->s->words + (d >> 6)] >> (d & 63) & 1 ? OPND_NONE : e;
}
