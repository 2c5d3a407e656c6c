/* SPDX-License-Identifier: MIT */
/*
 * What is known before a strip's code is made: its blocks, which registers are one scalar for eight lanes, where lanes
 * may wait while others run.
 *
 * In: code with virtual registers, blocks and what lives between them (cfg.c). Out: scomp.b with sync instructions at the ends
 * of blocks; a class for each register. The classes are an optimistic data flow over all definitions, of lanes that are together.
 * Lanes part at a branch whose predicate varies, and from then on some may wait at a block's start while others run. What those that
 * wait will read, and a block that runs meanwhile writes, cannot be a scalar: it is written under a mask. So classes and
 * places to wait are found in turns until nothing changes.
 */
#include "strip.h"

bool s_sync(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_SHFL: case K_WARPSYNC:
		return !in->sub2;       /* within.c */
	case K_VOTE: case K_MATCH: case K_REDUX: case K_ACTIVEMASK: case K_TENSOR: case K_GEN:
	case K_BAR: case K_CALL: case K_LATER: case K_BRX: case K_TRAP: case K_STEP:
	case K_MC_LD: case K_MC_ST: case K_MC_ATOM: case K_MC_BAR: case K_VF_ST: case K_VF_ATOM:
		return true;
	case K_LD: case K_ST:
		if (in->flags & INF_ONCE)
			return true;
		/*
		 * Code without __syncwarp() counts on a warp's volatile accesses to shared memory being in step. On global memory they are
		 * flags and locks: who holds one must not wait here for those that spin on it.
		 */
		return (in->flags & INF_VOLATILE) && (in->space == SPACE_SHARED || in->space == SPACE_GENERIC);
	default:
		return false;
	}
}

static void use(u64 *set, u32 o)
{
	if (o != OPND_NONE && !(o & OPND_CONST))
		set[o >> 6] |= 1ull << (o & 63);
}

void s_before(u64 *set, const struct insn *in)
{
	bool all = in->guard == OPND_NONE;
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE) {
			if (all)
				set[in->o[k] >> 6] &= ~(1ull << (in->o[k] & 63));
			else
				use(set, in->o[k]);
		}
	if (in->kind == K_CALL)
		for (k = 0; k < in->u.call->nrets; k++)
			if (in->u.call->rets[k].is_reg) {
				u32 o = in->u.call->rets[k].opnd;

				if (all)
					set[o >> 6] &= ~(1ull << (o & 63));
				else
					use(set, o);
			}
	for (k = 0; k < 6; k++)
		if (in->use >> k & 1)
			use(set, in->o[k]);
	use(set, in->guard);
	if (in->kind == K_CALL)
		for (k = 0; k < in->u.call->nargs; k++)
			if (in->u.call->args[k].is_reg)
				use(set, in->u.call->args[k].opnd);
}

bool s_blocks(struct scomp *c)
{
	const struct jit_src *s = c->s;
	u32 b, i, k, n = 0, *first;

	for (b = 0, k = s->nb; b < s->nb; b++)
		for (i = s->b[b].start; i + 1 < s->b[b].end; i++)
			k += s_sync_at(c, i);
	c->words = s->words;
	c->bwords = (k + 63) / 64;
	if (k > S_MAX_BLOCKS || (u64)k * c->words > 1u << 22)
		return false;
	c->b = pool_alloc(&c->mem, (k + 1) * sizeof(*c->b));
	first = pool_alloc(&c->mem, (s->nb + 1) * sizeof(u32));
	if (!c->b || !first)
		return false;
	for (b = 0; b < s->nb; b++) {
		const struct jblock *jb = &s->b[b];

		first[b] = n;
		c->b[n].start = jb->start;
		for (i = jb->start; i < jb->end; i++)
			if (s_sync_at(c, i) && i + 1 < jb->end) {
				c->b[n].end = i + 1;
				c->b[n].sync = true;
				c->b[n++].depth = jb->depth;
				c->b[n].start = i + 1;
			}
		c->b[n].end = jb->end;
		c->b[n].sync = jb->end > jb->start && s_sync_at(c, jb->end - 1);
		c->b[n++].depth = jb->depth;
	}
	first[s->nb] = c->nb = n;
	for (b = 0; b < s->nb; b++) {
		const struct jblock *jb = &s->b[b];
		const u64 *out = NULL;

		for (k = first[b + 1]; k-- > first[b];) {
			struct sblock *sb = &c->b[k];

			sb->live_out = pool_alloc(&c->mem, (s->words + 1) * 8);
			sb->live_in = pool_alloc(&c->mem, (s->words + 1) * 8);
			sb->wait = pool_alloc(&c->mem, (c->bwords + 1) * 8);
			sb->word = -1;
			if (!sb->live_out || !sb->live_in || !sb->wait)
				return false;
			if (out)
				memcpy(sb->live_out, out, s->words * 8);
			else    /* pools are zero */
				spread_set(sb->live_out, s->live_out + (size_t)b * s->bwords, s->bwords, s->border);
			memcpy(sb->live_in, sb->live_out, s->words * 8);
			for (i = sb->end; i-- > sb->start;)
				s_before(sb->live_in, &c->code[i]);
			out = sb->live_in;
			if (sb->sync)
				continue;
			sb->nsucc = jb->nsucc;
			sb->succ = pool_alloc(&c->mem, (jb->nsucc + 1) * sizeof(u32));
			if (!sb->succ)
				return false;
			for (i = 0; i < jb->nsucc; i++)
				sb->succ[i] = first[jb->succ[i]];
		}
	}
	return true;
}

/* ---- classes -------------------------------------------------------------------------------- */

static u8 low(u8 a, u8 b) { return a < b ? a : b; }

#define MAX_PATTERN 0x1fffffff

static struct sval vary(u8 ual) { return (struct sval){ .cls = SC_VARY, .ual = ual }; }
static struct sval uni(u32 ual) { return (struct sval){ .cls = SC_SCALAR, .ual = (u8)(ual > 63 ? 63 : ual) }; }

/* The scalar keeps its alignment, v says how the lanes differ. */
static struct sval pattern(struct scomp *c, const s64 *v, u32 ual)
{
	struct sval r = uni(ual);
	u32 i, l;

	for (l = 0; l < STRIP; l++)
		if (v[l] - v[0] > MAX_PATTERN || v[l] - v[0] < -MAX_PATTERN)
			return vary(0);
	for (i = 0; i < c->npats; i++) {
		for (l = 0; l < STRIP && c->pats[i][l] == v[l] - v[0]; l++)
			;
		if (l == STRIP) {
			r.pat = (u16)i;
			return r;
		}
	}
	if (i == S_MAX_PATS)
		return vary(0);
	for (l = 0; l < STRIP; l++)
		c->pats[i][l] = (s32)(v[l] - v[0]);
	c->npats++;
	r.pat = (u16)i;
	return r;
}

static struct sval row_of(struct scomp *c, s64 step, u32 ual)
{
	s64 v[STRIP];
	u32 l;

	for (l = 0; l < STRIP; l++)
		v[l] = step * (s64)l;
	return pattern(c, v, ual);
}

void s_range(const struct scomp *c, struct sval v, s32 *lo, s32 *hi)
{
	u32 l;

	*lo = *hi = 0;
	for (l = 1; l < STRIP; l++) {
		s32 x = c->pats[v.pat][l];

		*lo = x < *lo ? x : *lo;
		*hi = x > *hi ? x : *hi;
	}
	if (c->stage)
		s_whole_range(c, v, lo, hi);
}

bool s_linear(const struct scomp *c, struct sval v, s32 step)
{
	u32 l;

	for (l = 0; l < STRIP; l++)
		if (c->pats[v.pat][l] != step * (s32)l)
			return false;
	return true;
}

static struct sval konst(u64 k)
{
	return (struct sval){ .cls = SC_SCALAR, .known = true, .k = k, .ual = (u8)(k ? __builtin_ctzll(k) : 63) };
}

struct sval s_val(const struct scomp *c, u32 o, u8 w)
{
	const struct sval *p;
	const void *at;

	if (o == OPND_NONE)
		return konst(0);
	if (!(o & OPND_CONST))
		return c->r[o].v;
	p = &c->pool[(o & ~OPND_CONST) / 128];
	at = c->fn->cpool + (o & ~OPND_CONST);
	return p->known && !p->made ? konst(w == 1 ? *(const u64 *)at : *(const u32 *)at) : *p;
}

u32 s_lane_ops(u32 lop)
{
	switch (lop) {
	case LOP_MOV: case LOP_NOT: case LOP_NEG: case LOP_ABS: case LOP_CVT_SEXT: case LOP_CVT_TRUNC:
		return 1;
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_SHL: case LOP_SHR: case LOP_AND: case LOP_OR: case LOP_XOR:
	case LOP_MULHI: case LOP_MULWIDE: case LOP_MIN: case LOP_MAX: case LOP_PACK: case LOP_DIV: case LOP_REM:
		return 2;
	case LOP_MAD: case LOP_MADWIDE: case LOP_SELP: case LOP_XTR: case LOP_BFE:
		return 3;
	}
	return 0;
}

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/* f of each lane's part, where those lie in bits that the scalar has as zeros; within: k does, and f is or or xor of it */
static struct sval of_parts(struct scomp *c, struct sval v, u32 lop, u32 k, u32 ual, bool within)
{
	s64 out[STRIP];
	s32 lo, hi;
	u32 l, x, zeros;

	s_range(c, v, &lo, &hi);
	if (v.ual > 63 || (!within && (lo < 0 || (v.ual < 31 && hi >= 1 << v.ual))))
		return vary(0);
	zeros = v.ual < 31 ? (1u << v.ual) - 1 : ~0u;
	for (l = 0; l < STRIP; l++) {
		x = (u32)c->pats[v.pat][l];
		if (within) {
			x &= zeros;
			out[l] = (s64)c->pats[v.pat][l] - x + (lop == LOP_OR ? x | k : x ^ k) - k;
			continue;
		}
		out[l] = lop == LOP_SHR ? x >> k : lop == LOP_AND ? x & k : lop == LOP_OR ? (s64)(x | k) - k : (s64)(x ^ k) - k;
	}
	return pattern(c, out, ual);
}

static struct sval times(struct scomp *c, struct sval v, s64 k, u32 ual)
{
	s64 out[STRIP];
	u32 l;

	if (k > 1 << 30 || k < -(1 << 30))
		return v.pat ? vary(0) : uni(ual);
	for (l = 0; l < STRIP; l++)
		out[l] = c->pats[v.pat][l] * k;
	return pattern(c, out, ual);
}

static struct sval product(struct scomp *c, struct sval a, struct sval b, bool w, bool sg)
{
	s64 ka = w ? (s64)a.k : sg ? (s64)(s32)a.k : (s64)(u32)a.k, kb = w ? (s64)b.k : sg ? (s64)(s32)b.k : (s64)(u32)b.k;
	u32 ual = (u32)a.ual + b.ual;

	if (!a.pat && !b.pat)
		return uni(ual);
	if (b.known)
		return times(c, a, kb, ual);
	if (a.known)
		return times(c, b, ka, ual);
	return vary(0);
}

static struct sval sum(struct scomp *c, struct sval a, struct sval b, s64 sign)
{
	s64 v[STRIP];
	u32 l;

	for (l = 0; l < STRIP; l++)
		v[l] = c->pats[a.pat][l] + sign * c->pats[b.pat][l];
	return pattern(c, v, low(a.ual, b.ual));
}

struct sval s_with_step(struct scomp *c, struct sval v, u32 step)
{
	return sum(c, v, row_of(c, step, 63), 1);
}

/* What a varying result is a multiple of, as far as addresses need it. */
static u8 varying_ual(const struct insn *in, struct sval a, struct sval b, struct sval d)
{
	u32 u = 0;

	if (!is32(in->type) && !is64(in->type))
		return 0;
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT: u = a.ual; break;
	case LOP_ADD: case LOP_SUB: u = low(a.ual, b.ual); break;
	case LOP_MUL: case LOP_MULWIDE: u = a.ual + b.ual; break;
	case LOP_MAD: case LOP_MADWIDE: u = a.ual + b.ual; u = u < d.ual ? u : d.ual; break;
	case LOP_SHL: u = b.known ? a.ual + (u32)(b.k & 63) : a.ual; break;
	case LOP_AND: u = a.ual > b.ual ? a.ual : b.ual; break;
	}
	return (u8)(u > 16 ? 16 : u);
}

static u8 lane_ual(const struct scomp *c, struct sval v)
{
	u8 u = v.ual;
	u32 l;

	for (l = 1; v.cls == SC_SCALAR && l < STRIP; l++)
		if (c->pats[v.pat][l])
			u = low(u, (u8)__builtin_ctz((u32)c->pats[v.pat][l]));
	return u;
}

bool s_guess_sign(const struct scomp *c, const struct insn *in)
{
	bool w = is64(in->type);
	struct sval a = s_val(c, in->o[1], w), b = s_val(c, in->o[2], 0);
	s32 lo, hi;

	if (!c->guess || in->kind != K_LANE || in->lop != LOP_SHR || (!is32(in->type) && !w) || in->guard != OPND_NONE ||
	    a.cls != SC_SCALAR || a.known || !b.known || (u32)b.k != (w ? 63u : 31u))
		return false;
	s_range(c, a, &lo, &hi);
	return lo >= 0 && a.ual < 31 && hi < 1 << a.ual;        /* one sign for all lanes */
}

static struct sval lane_value(struct scomp *c, const struct insn *in)
{
	u32 n = s_lane_ops(in->lop);
	struct sval a = s_val(c, in->o[1], jit_src_w(in, 1)), b = s_val(c, in->o[2], jit_src_w(in, 2));
	struct sval d = s_val(c, in->o[3], jit_src_w(in, 3));
	bool w = is64(in->type), ints = is32(in->type) || w, flat, sg = type_is_signed(in->type);
	u32 bits = w ? 64 : 32;

	if (!n || in->dw == 2)
		return vary(0);
	if (a.cls == SC_NONE || (n > 1 && b.cls == SC_NONE) || (n > 2 && d.cls == SC_NONE))
		return (struct sval){ 0 };
	if (a.cls == SC_VARY || (n > 1 && b.cls == SC_VARY) || (n > 2 && d.cls == SC_VARY)) {
		a.ual = lane_ual(c, a);
		b.ual = lane_ual(c, b);
		d.ual = lane_ual(c, d);
		return vary(varying_ual(in, a, b, d));
	}
	flat = !a.pat && (n < 2 || !b.pat) && (n < 3 || !d.pat);
	switch (in->lop) {
	case LOP_MOV:
		return a;
	case LOP_CVT_TRUNC:
		return times(c, a, 1, low(a.ual, 31));
	case LOP_PACK: case LOP_XTR:
		return flat && (in->lop == LOP_PACK ? in->dw == 1 : b.known && d.known) ? uni(0) : vary(0);
	case LOP_SELP:
		if (d.pat || a.pat != b.pat || type_is_float(in->type))
			return vary(0);
		return times(c, a, 1, low(a.ual, b.ual));
	}
	if (!ints)
		return vary(0);
	switch (in->lop) {
	case LOP_CVT_SEXT:
		return w && !(a.pat && jit_wrapped(c->s, in)) ? times(c, a, 1, low(a.ual, 31)) : vary(0);
	case LOP_ADD: return sum(c, a, b, 1);
	case LOP_SUB: return sum(c, a, b, -1);
	case LOP_MUL: return product(c, a, b, w, sg);
	case LOP_MULWIDE: return w || ((a.pat || b.pat) && jit_wrapped(c->s, in)) ? vary(0) : product(c, a, b, false, sg);
	case LOP_MAD: case LOP_MADWIDE:
		if (in->lop == LOP_MADWIDE && (w || ((a.pat || b.pat) && jit_wrapped(c->s, in))))
			return vary(0);
		a = product(c, a, b, w, sg || in->lop == LOP_MAD);
		return a.cls == SC_VARY ? a : sum(c, a, d, 1);
	case LOP_MULHI:
		return flat ? uni(0) : vary(0);
	case LOP_BFE:
		return flat && b.known && d.known && (u32)b.k < 32 && (u32)d.k && (u32)b.k + (u32)d.k <= 32 && !w ? uni(0) : vary(0);
	case LOP_NEG: case LOP_NOT:
		return times(c, a, -1, in->lop == LOP_NEG ? a.ual : 0);
	case LOP_SHL:
		if (b.known)
			return (u32)b.k >= bits ? konst(0) : (u32)b.k > 30 && a.pat ? vary(0) :
				times(c, a, 1ll << ((u32)b.k & 31), a.ual + (u32)b.k);
		return flat ? uni(a.ual) : vary(0);
	case LOP_SHR:
		if (s_guess_sign(c, in)) {
			c->guessed = true;
			return konst(0);
		}
		if (flat)
			return uni(b.known && a.ual > (u32)b.k ? a.ual - (u32)b.k : 0);
		return b.known && (u32)b.k < 32 ? of_parts(c, a, LOP_SHR, (u32)b.k, a.ual > (u32)b.k ? a.ual - (u32)b.k : 0, false) : vary(0);
	case LOP_AND: case LOP_OR: case LOP_XOR: {
		struct sval k = b.known ? b : a, v = b.known ? a : b;
		u8 ual = in->lop == LOP_AND ? (v.ual > k.ual ? v.ual : k.ual) : low(v.ual, k.ual);

		if (flat)
			return uni(ual);
		if (!k.known)
			return vary(0);
		/* what of the scalar is left below its zeros is the constant's */
		return of_parts(c, v, in->lop, (u32)k.k & (u32)((1ull << v.ual) - 1), ual, in->lop != LOP_AND && v.ual < 31 && !(k.k >> v.ual));
	}
	case LOP_MIN: case LOP_MAX:
		return flat ? uni(low(a.ual, b.ual)) : vary(0);
	case LOP_DIV: case LOP_REM:
		if (w)
			return vary(0);
		if (flat)
			return uni(0);
		if (sg || !b.known || !(u32)b.k || ((u32)b.k & ((u32)b.k - 1)))
			return vary(0);
		return in->lop == LOP_DIV ? of_parts(c, a, LOP_SHR, (u32)__builtin_ctz((u32)b.k), 0, false) :
					    of_parts(c, a, LOP_AND, (u32)b.k - 1, a.ual, false);
	}
	return vary(0);
}

/* What SPEC_POW2 says of a row that is shorter than a strip: several rows of a block lie in one. */
static struct sval short_row(struct scomp *c, u32 x, bool of_x)
{
	s64 v[STRIP];
	u32 l;

	for (l = 0; l < STRIP; l++)
		v[l] = of_x ? l % x : l / x;
	return pattern(c, v, of_x ? 20 : (u32)__builtin_ctz(STRIP / x));
}

static struct sval sreg_value(struct scomp *c, u8 sr)
{
	u32 shape = c->spec & 255, x = 1u << spec_log2(c->spec);
	bool whole = shape == SPEC_LINEAR || shape == SPEC_LINE || (shape == SPEC_POW2 && x >= STRIP);

	switch (spec_sreg(c->spec, sr)) {
	case SR_TID_X:
		return whole ? row_of(c, 1, 3) : shape == SPEC_POW2 ? short_row(c, x, true) : vary(0);
	case SR_TID_Y:
		return whole ? uni(0) : shape == SPEC_POW2 ? short_row(c, x, false) : vary(0);
	case SR_TID_Z:
		return whole || shape == SPEC_POW2 ? uni(0) : vary(0);
	case SR_LANEID:
		return row_of(c, 1, 3);
	case SR_NTID_X:
		if (shape == SPEC_POW2)
			return konst(x);
		return uni((c->spec & SPEC_JOINED) ? spec_log2(c->spec) : shape == SPEC_LINEAR ? 5 : 0);
	case SR_NTID_Y: case SR_NTID_Z: case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z:
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z: case SR_WARPID: case SR_NWARPID: case SR_DYNAMIC_SMEM:
	case SR_TOTAL_SMEM: case SR_COUNT: case SR_RESERVED_BEGIN: case SR_RESERVED_1: case SR_RESERVED_END: case SR_RESERVED_CAP:
	case SR_CLUSTER_CTAID_X: case SR_CLUSTER_CTAID_Y: case SR_CLUSTER_CTAID_Z: case SR_CLUSTER_CTARANK:
	case SR_CLUSTERID_X: case SR_CLUSTERID_Y: case SR_CLUSTERID_Z: case SR_NCLUSTERID_X: case SR_NCLUSTERID_Y: case SR_NCLUSTERID_Z:
	case SR_CLUSTER_NCTAID_X: case SR_CLUSTER_NCTAID_Y: case SR_CLUSTER_NCTAID_Z: case SR_CLUSTER_NCTARANK: case SR_CLUSTER_EXPLICIT:
		return uni(0);
	}
	return vary(0);
}

static struct sval value(struct scomp *c, const struct insn *in)
{
	struct sval a, b;

	switch ((enum kind)in->kind) {
	case K_LANE:
		return lane_value(c, in);
	case K_SREG:
		return sreg_value(c, in->sub);
	case K_LADDR:
		return uni(in->imm ? (u32)__builtin_ctzll((u64)in->imm) : 63);
	case K_LDPARAM:
		return type_is_float(in->type) || in->vec > 4 ? vary(0) : uni(0);
	case K_CVTA:
		a = s_val(c, in->o[1], 1);
		if (a.cls != SC_SCALAR)
			return a;
		if (in->space == SPACE_SHARED || in->space == SPACE_PARAM)
			return times(c, a, 1, low(a.ual, 7));
		return sum(c, a, row_of(c, (in->sub ? -1 : 1) * (s64)jit_local_stride(c->fn), 4), 1);
	case K_LD:
		a = s_val(c, in->o[4], in->aw);
		if (a.cls == SC_NONE)
			return a;
		if (a.cls == SC_SCALAR && !a.pat && !(in->flags & INF_SYNC) && !type_is_float(in->type) && in->vec == 1 && in->space != SPACE_LOCAL && in->space != SPACE_PARAM)
			return uni(0);
		return vary(0);
	case K_SETP:
		if (!is32(in->type) && !is64(in->type))
			return vary(0);
		a = s_val(c, in->o[2], is64(in->type));
		b = s_val(c, in->o[3], is64(in->type));
		if (a.cls == SC_NONE || b.cls == SC_NONE)
			return (struct sval){ 0 };
		if (a.cls == SC_VARY || b.cls == SC_VARY || a.pat || b.pat)
			return vary(0);
		if (in->sub) {
			a = s_val(c, in->o[4], 2);
			return a.cls == SC_SCALAR ? uni(0) : a;
		}
		return uni(0);
	case K_PRED:
		a = s_val(c, in->o[1], 2);
		b = in->sub >= PRED_AND ? s_val(c, in->o[2], 2) : a;
		if (a.cls == SC_NONE || b.cls == SC_NONE)
			return (struct sval){ 0 };
		return a.cls == SC_VARY || b.cls == SC_VARY ? vary(0) : uni(0);
	default:
		return vary(0);
	}
}

static bool join(const struct scomp *c, struct sregister *r, struct sval n)
{
	struct sval old = r->v;

	if (n.cls == SC_NONE)
		return false;
	if (r->must_vary || r->w > 2)
		n = vary(n.cls == SC_SCALAR ? lane_ual(c, n) : n.ual);
	if (r->v.cls == SC_NONE) {
		r->v = n;
		return true;
	}
	if (old.cls == SC_SCALAR && n.cls == SC_SCALAR && old.pat == n.pat) {
		r->v.ual = low(old.ual, n.ual);
		r->v.known = old.known && n.known && old.k == n.k;
		return r->v.ual != old.ual || r->v.known != old.known;
	}
	r->v = vary(low(lane_ual(c, old), lane_ual(c, n)));
	return old.cls != SC_VARY || r->v.ual != old.ual;
}

static void flow(struct scomp *c)
{
	bool more = true;
	u32 i, k;

	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];
			struct sval n = value(c, in), g = s_val(c, in->guard, 2);

			if (in->guard != OPND_NONE && in->kind != K_CBRA) {
				if (g.cls == SC_NONE)
					continue;
				if (g.cls == SC_VARY)
					n = vary(n.cls == SC_SCALAR ? lane_ual(c, n) : n.ual);
			}
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
					more |= join(c, &c->r[in->o[k]], n);
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						more |= join(c, &c->r[in->u.call->rets[k].opnd], vary(0));
		}
	}
}

/* The same of the same in all lanes, whatever is made of it. */
static bool of_one(const struct scomp *c, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++) {
		struct sval v = s_val(c, in->o[k], 0);

		if ((in->use >> k & 1) && (v.cls != SC_SCALAR || v.pat))
			return false;
	}
	return in->use;
}

/* Everything of the pool lies there as vectors; these are the scalars behind them. */
static bool pool_values(struct scomp *c)
{
	const struct func *fn = c->fn;
	u32 i, k;
	u64 stride;

	c->npool = fn->cpool_bytes / 128 + 2;
	c->pool = pool_alloc(&c->mem, c->npool * sizeof(*c->pool));
	if (!c->pool)
		return false;
	for (i = 0; i < c->npool; i++) {
		c->pool[i] = konst(0);
		c->pool[i].all = true;
	}
	for (i = 0; i < fn->npro; i++)
		for (k = 0; k < 6; k++)
			if ((fn->pro[i].def >> k & 1) && fn->pro[i].o[k] != OPND_NONE)
				c->pool[(fn->pro[i].o[k] & ~OPND_CONST) / 128] = vary(0);
	for (i = 0; i < fn->npro; i++) {
		const struct insn *in = &fn->pro[i];
		struct sval n = value(c, in);

		/* one scalar in memory serves whoever reads it, a float too */
		if (in->kind == K_LDPARAM && strides_known(fn, c->spec, in, &stride))
			n = konst(stride);
		else if (in->kind == K_LDPARAM || in->kind == K_SETP || in->kind == K_PRED)
			n = uni(0);     /* comparisons: uniform.c moves those of scalars alone */
		else if ((in->kind == K_LANE || in->kind == K_CVT || in->kind == K_LOP3) && n.cls == SC_VARY && of_one(c, in))
			n = uni(0);
		/* A widened pattern has no check there (scalar.c) of whether a lane wraps. */
		for (k = 1; k < 3 && n.pat && in->kind == K_LANE && (in->lop == LOP_CVT_SEXT || in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE); k++)
			if ((k == 1 || in->lop != LOP_CVT_SEXT) && s_val(c, in->o[k], 0).pat && !s_made_small(c, in->o[k]))
				n = vary(0);
		/* a sign that is guessed is not: nobody looks there */
		n.made = n.known = n.known && (in->kind == K_SREG || in->kind == K_LDPARAM || (in->kind == K_LANE && in->lop == LOP_MOV));
		n.all = in->kind != K_SREG || sreg_value(c, in->sub).cls == SC_SCALAR;
		if (in->kind == K_SREG && in->sub == SR_LANEID)
			n.all = false;
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !c->pool[(in->o[k] & ~OPND_CONST) / 128].all)
				n.all = false;
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
				c->pool[(in->o[k] & ~OPND_CONST) / 128] = n;
	}
	return true;
}

/* ---- lanes that wait ------------------------------------------------------------------------ */

static bool add_waits(struct sblock *n, const u64 *p, u32 from, u32 words)
{
	bool more = false;
	u32 w;

	for (w = from >> 6; w < words; w++) {
		u64 x = p[w];

		if (w == from >> 6)
			x &= (from & 63) == 63 ? 0 : ~0ull << ((from & 63) + 1);
		more |= (x & ~n->wait[w]) != 0;
		n->wait[w] |= x;
	}
	return more;
}

/* Those in p are where lanes may stand now: any of them may be the lowest, then the others wait. */
static bool next_of(struct scomp *c, const u64 *p, u32 max)
{
	bool more = false;
	u32 w, b;

	for (w = 0; w < c->bwords; w++) {
		u64 x;

		for (x = p[w]; x; x &= x - 1) {
			b = w * 64 + (u32)__builtin_ctzll(x);
			if (b > max)
				return more;
			more |= add_waits(&c->b[b], p, b, c->bwords);
		}
	}
	return more;
}

static void waits(struct scomp *c)
{
	u64 p[S_MAX_BLOCKS / 64];
	bool more = true;
	u32 b, i, max;

	for (b = 0; b < c->nb; b++)
		memset(c->b[b].wait, 0, c->bwords * 8);
	while (more) {
		more = false;
		for (b = 0; b < c->nb; b++) {
			struct sblock *sb = &c->b[b];

			memcpy(p, sb->wait, c->bwords * 8);
			if (!sb->nsucc) {       /* ended, or gone with all that wait */
				if (!sb->sync)
					more |= next_of(c, p, c->nb);
				continue;
			}
			for (i = 0; i < sb->nsucc; i++) {
				u64 saved[S_MAX_BLOCKS / 64];

				memcpy(saved, p, c->bwords * 8);
				if (sb->split) {
					u32 k;

					for (k = 0; k < sb->nsucc; k++)
						p[sb->succ[k] >> 6] |= 1ull << (sb->succ[k] & 63);
				} else {
					p[sb->succ[i] >> 6] |= 1ull << (sb->succ[i] & 63);
				}
				max = sb->succ[i];
				more |= next_of(c, p, max);
				memcpy(p, saved, c->bwords * 8);
			}
		}
	}
}

/* A scalar that lanes who wait will read, and those who run write: it is none. */
static bool torn(struct scomp *c)
{
	bool found = false;
	u32 b, i, k, w;

	for (b = 0; b < c->nb; b++) {
		struct sblock *sb = &c->b[b];

		sb->keep = NULL;
		for (w = 0; w < c->bwords; w++) {
			u64 x;

			for (x = sb->wait[w]; x; x &= x - 1) {
				const struct sblock *n = &c->b[w * 64 + (u32)__builtin_ctzll(x)];

				if (!sb->keep)
					sb->keep = pool_alloc(&c->mem, (c->words + 1) * 8);
				if (!sb->keep) {
					c->bad = true;
					return false;
				}
				for (k = 0; k < c->words; k++)
					sb->keep[k] |= n->live_in[k];
			}
		}
		for (i = sb->start; sb->keep && i < sb->end; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].v.cls == SC_SCALAR &&
				    bit_of(sb->keep, in->o[k])) {
					c->r[in->o[k]].must_vary = true;
					found = true;
				}
		}
	}
	return found;
}

/* ---- floats whose NaNs are the processor's --------------------------------------------------- */

/* Constants, before anything else. */
bool s_pool(struct scomp *c)
{
	c->pats = pool_alloc(&c->mem, S_MAX_PATS * sizeof(*c->pats));
	if (!c->pats)
		return false;
	c->npats = 1;           /* none: all zeros */
	return pool_values(c);
}

bool s_facts(struct scomp *c)
{
	u32 i;
	bool none;

	do {
		for (i = 0; i < c->s->nregs; i++)
			c->r[i].v = (struct sval){ 0 };
		do {
			flow(c);
			/* registers without a definition, and those that wait for one in vain */
			none = false;
			for (i = 0; i < c->s->nregs; i++)
				if (c->r[i].v.cls == SC_NONE) {
					c->r[i].v = vary(0);
					none = true;
				}
		} while (none);
		s_splits(c);
		waits(c);
	} while (torn(c) && !c->bad);
	s_raw_floats(c);
	return !c->bad;
}
